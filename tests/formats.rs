//! Every sample of a log format is read as what it is, field by field; and no mutation of one makes a panic.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::LazyLock};

use llmverify::{
    assemble::{self, Fate, Joined, Whole, is_part},
    input::{Content, Limits, Place, Reader},
    reader::{Parsed, RecordReader},
    record::{Entry, Ignored, Prompt, Record, ToolCall, mapping::Mapping},
    writers::{WRITERS, Writer},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Numbers agree to this share: times are differences of floats in some formats.
const TOLERANCE: f64 = 1e-6;

fn folder() -> PathBuf {
    PathBuf::from("fixtures/formats")
}

static EXPECTED: LazyLock<BTreeMap<String, Value>> =
    LazyLock::new(|| serde_json::from_str(&fs::read_to_string(folder().join("expected.json")).unwrap()).unwrap());

/// All that a file holds, in the form of `expected.json`.
fn entries(file: &str) -> Vec<Value> {
    let path = folder().join(file).display().to_string();
    let mut input = Reader::open(&[path], Limits::default()).unwrap();
    let mut assembler = RecordReader::assembler(&assemble::Limits::default());
    let mut shown: Vec<((u64, Option<u32>), Value)> = Vec::new();
    while let Some(batch) = input.next_batch() {
        for unit in &batch.units {
            let at = (unit.line, unit.item);
            let Content::Text(range) = &unit.content else {
                shown.push((at, json!({ "rejected": "ends inside of a string" })));
                continue;
            };
            let bytes = &batch.bytes[range.clone()];
            let parsed = match &batch.header {
                Some(header) => RecordReader::default().read_row(header, bytes),
                None => RecordReader::default().read(bytes),
            };
            let items = match parsed {
                Parsed::One(outcome) => vec![(unit.item, outcome)],
                Parsed::Many(items) => items.into_iter().map(|item| (Some(item.item), item.outcome)).collect(),
            };
            for (item, outcome) in items {
                let at = (unit.line, item);
                match outcome {
                    Ok(entry) if is_part(&entry) => {
                        let place = Place { source: batch.source.clone(), line: unit.line, item, byte: unit.byte };
                        let pushed = assembler.push(place, bytes.len(), entry.into_owned());
                        shown.extend(pushed.records.into_iter().filter_map(joined));
                        shown.extend(fate(pushed.fate).map(|value| (at, value)));
                    }
                    Ok(Entry::Record(record)) => shown.push((at, record_as_value(&record))),
                    Ok(Entry::Ignored(ignored)) => shown.push((at, ignored_as_value(&ignored))),
                    Ok(Entry::Fragment(_)) => {}
                    Err(rejected) => shown.push((at, json!({ "rejected": rejected.reason }))),
                }
            }
        }
    }
    shown.extend(assembler.finish().into_iter().filter_map(joined));
    shown.sort_by_key(|(at, _)| *at);
    shown.into_iter().map(|(_, value)| value).collect()
}

/// What became of a unit that is counted by itself.
fn fate(fate: Fate) -> Option<Value> {
    match fate {
        Fate::Held | Fate::Merged => None,
        Fate::Ignored(ignored) => Some(ignored_as_value(&ignored)),
        Fate::Rejected(reason) => Some(json!({ "rejected": reason })),
    }
}

fn joined(joined: Joined) -> Option<((u64, Option<u32>), Value)> {
    let at = (joined.place.line, joined.place.item);
    let value = match &joined.whole {
        Whole::Record(_) => record_as_value(&joined.into_record()?),
        Whole::Ignored(ignored) => ignored_as_value(ignored),
        Whole::Rejected(reason) => json!({ "rejected": reason }),
        Whole::Merged => return None,
    };
    Some((at, value))
}

fn ignored_as_value(ignored: &Ignored<'_>) -> Value {
    let kind = if ignored.is_parent { "parent" } else { "ignored" };
    json!({ "format": ignored.format.to_string(), kind: ignored.what })
}

fn record_as_value(record: &Record<'_>) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() && value != json!([]) && value != json!([null, null]) {
            out.insert(key.to_owned(), value);
        }
    };
    put("format", json!(record.format.to_string()));
    put("id", json!(record.id));
    put("kind", if record.kind.as_str() == "llm" { Value::Null } else { json!(record.kind.as_str()) });
    put("timestamp", json!(record.timestamp_ms.map(|ms| jiff::Timestamp::from_millisecond(ms).unwrap().to_string())));
    put("session", json!(record.session_id));
    put("model", json!(record.model));
    put("declared", json!(record.declared_model));
    put("system", json!(record.system));
    put("prompt", prompt(&record.prompt));
    put("context", json!(record.context.iter().map(|passage| passage.text.as_ref()).collect::<Vec<_>>()));
    put("response", json!(record.response));
    put("calls", json!(record.tool_calls.iter().map(call).collect::<Vec<_>>()));
    put("tokens", json!([record.prompt_tokens, record.response_tokens]));
    put("cached", json!(record.cached_tokens.filter(|count| *count > 0)));
    put("reasoning", json!(record.reasoning_tokens.filter(|count| *count > 0)));
    put("latency_ms", json!(record.latency_ms));
    put("ttft_ms", json!(record.ttft_ms));
    put("finish", json!(record.finish_reason));
    put("error", json!(record.error));
    put("tool", json!(record.tool));
    put("args", json!(record.args.as_ref().map(|args| args.to_compact_string())));
    put("result", json!(record.result.as_ref().map(|result| result.to_compact_string())));
    put("execution_time_ms", json!(record.execution_time_ms));
    put("notes", json!(record.notes.iter().map(|note| note.as_str()).collect::<Vec<_>>()));
    let problems = record.problems.iter().map(|problem| format!("{} {}", problem.field, problem.reason));
    put("problems", json!(problems.collect::<Vec<_>>()));
    Value::Object(out)
}

fn prompt(prompt: &Prompt<'_>) -> Value {
    match prompt {
        Prompt::Absent => Value::Null,
        Prompt::Text(text) => json!(text),
        Prompt::Messages(messages) => {
            let shown = messages.iter().map(|message| {
                let calls: String = message.tool_calls.iter().map(|of| " ".to_owned() + &call(of)).collect();
                format!("{}: {}{calls}", message.role, message.text)
            });
            json!(shown.collect::<Vec<_>>())
        }
    }
}

fn call(call: &ToolCall<'_>) -> String {
    format!("{}({})", call.name, call.args.to_compact_string())
}

fn agree(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(expected), Value::Number(got)) => {
            let (expected, got) = (expected.as_f64().unwrap(), got.as_f64().unwrap());
            (expected - got).abs() <= TOLERANCE * expected.abs()
        }
        (Value::Object(expected), Value::Object(got)) => {
            let is_told = |key: &String| key != "id" || expected.contains_key("id");
            expected
                .keys()
                .chain(got.keys())
                .filter(|key| is_told(key))
                .all(|key| matches!((expected.get(key), got.get(key)), (Some(left), Some(right)) if agree(left, right)))
        }
        (Value::String(expected), Value::String(got)) => {
            let moment = |text: &str| text.parse::<jiff::Timestamp>().ok();
            expected == got || (moment(expected).is_some() && moment(expected) == moment(got))
        }
        _ => expected == got,
    }
}

fn check(file: &str) {
    let expected = &EXPECTED[file];
    let got = entries(file);
    let (expected, got) = match expected.get("first").and_then(Value::as_array) {
        Some(first) => (first, &got[..first.len()]),
        None => (expected.as_array().unwrap(), &got[..]),
    };
    assert_eq!(expected.len(), got.len(), "{file}: {got:#?}");
    for (index, (expected, got)) in expected.iter().zip(got).enumerate() {
        assert!(agree(expected, got), "{file}, entry {index}:\nexpected {expected}\ngot      {got}");
    }
}

macro_rules! samples {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            check($file);
        })*

        #[test]
        fn every_sample_is_checked() {
            let checked = [$($file),*];
            for file in EXPECTED.keys() {
                assert!(checked.contains(&file.as_str()), "{file} has expected values and no test");
            }
            for path in fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()) {
                let name = path.file_name().unwrap().to_str().unwrap();
                assert!(checked.contains(&name) || ["README.md", "expected.json"].contains(&name), "{name} has no test");
            }
        }
    };
}

samples! {
    openai_chat_pair: "openai_chat_pair.jsonl",
    openai_chat_chunks: "openai_chat_chunks.jsonl",
    chat_templates: "chat_templates.jsonl",
    context_in_prompts: "context_in_prompts.jsonl",
    openai_error: "openai_error.jsonl",
    openai_responses_pair: "openai_responses_pair.jsonl",
    openai_batch: "openai_batch.jsonl",
    anthropic_pair: "anthropic_pair.jsonl",
    anthropic_batch: "anthropic_batch.jsonl",
    gemini: "gemini.jsonl",
    bedrock_log: "bedrock_log.jsonl",
    bedrock_stream: "bedrock_stream.jsonl",
    litellm: "litellm.jsonl",
    langfuse_observations: "langfuse_observations.jsonl",
    langfuse_trace: "langfuse_trace.json",
    langfuse_blob: "langfuse_blob.jsonl",
    langsmith_ingest: "langsmith_ingest.json",
    langsmith_runs: "langsmith_runs.jsonl",
    helicone: "helicone.jsonl",
    otlp_genai: "otlp_genai.jsonl",
    otlp_genai_1_36: "otlp_genai_1_36.jsonl",
    otlp_genai_1_36_logs: "otlp_genai_1_36_logs.jsonl",
    otlp_openinference: "otlp_openinference.jsonl",
    otlp_vercel: "otlp_vercel.jsonl",
    otlp_agents: "otlp_agents.jsonl",
    otlp_traceloop_flat: "otlp_traceloop_flat.jsonl",
    otlp_langfuse: "otlp_langfuse.jsonl",
    otlp_span_events: "otlp_span_events.jsonl",
    otlp_semantic_kernel: "otlp_semantic_kernel.jsonl",
    otlp_adk: "otlp_adk.jsonl",
    otlp_logfire: "otlp_logfire.jsonl",
    otlp_twins: "otlp_twins.jsonl",
    gemini_cli_telemetry: "gemini_cli_telemetry.json",
    otlp_clients: "otlp_clients.jsonl",
    jaeger: "jaeger.json",
    zipkin: "zipkin.json",
    span_rows: "span_rows.jsonl",
    datadog: "datadog.jsonl",
    newrelic: "newrelic.jsonl",
    otel_console_js: "otel_console_js.jsonl",
    otel_console: "otel_console.json",
    phoenix_rest: "phoenix_rest.jsonl",
    phoenix_dataframe: "phoenix_dataframe.jsonl",
    mlflow: "mlflow.json",
    weave: "weave.jsonl",
    ollama: "ollama.jsonl",
    exports: "exports.jsonl",
    openrouter: "openrouter.csv",
    promptfoo: "promptfoo.json",
    inspect: "inspect.json",
    openai_evals: "openai_evals.jsonl",
    sglang: "sglang.jsonl",
    vllm_bench: "vllm_bench.json",
    sharegpt: "sharegpt.json",
    azure: "azure.jsonl",
    gemini_cli: "gemini_cli.json",
    mcp: "mcp.jsonl",
    mcp_desktop: "mcp_desktop.log",
    chatgpt: "chatgpt.json",
    open_webui: "open_webui.json",
    librechat: "librechat.json",
    claude_ai: "claude_ai.json",
    coding_copilot: "coding_copilot.json",
    adk: "adk.json",
    agent_roots: "agent_roots.jsonl",
    agent_run_openhands: "agent_run_openhands.json",
    agent_run_mini: "agent_run_mini.json",
    autogen: "autogen.jsonl",
    claude_code: "claude_code.jsonl",
    codex: "codex.jsonl",
    codex_2025: "codex_2025.jsonl",
    gemini_cli_lines: "gemini_cli_lines.jsonl",
    aider_chat: "aider_chat.md",
    llm_logs: "llm_logs.md",
    table: "table.csv",
    agentguard: "agentguard.jsonl",
    answers: "answers.jsonl",
    deepeval: "deepeval.json",
    deepeval_cases: "deepeval_cases.jsonl",
    har: "har.json",
    haystack: "haystack.jsonl",
    helm: "helm.json",
    inspect_samples: "inspect_samples.jsonl",
    kong: "kong.jsonl",
    langsmith_batches: "langsmith_batches.jsonl",
    litellm_rows: "litellm_rows.jsonl",
    lm_eval: "lm_eval.jsonl",
    longtracer: "longtracer.json",
    mlflow_rows: "mlflow_rows.jsonl",
    steps_agents: "steps_agents.jsonl",
    steps_braintrust: "steps_braintrust.jsonl",
    steps_deepeval: "steps_deepeval.json",
    weave_kinds: "weave_kinds.jsonl",
    bad: "bad.jsonl",
}

#[test]
fn a_mapping_works_on_top_of_a_container() {
    let mapping = Mapping::parse(&["session_id=/metadata/usage_object/total_tokens".to_owned()]).unwrap();
    let log = fs::read(folder().join("litellm.jsonl")).unwrap();
    let line = log.split(|byte| *byte == b'\n').next().unwrap();
    let Parsed::One(Ok(Entry::Record(record))) = RecordReader::new(mapping).read(line) else { panic!() };
    assert_eq!((record.session_id.as_deref(), record.prompt_tokens), (Some("29"), Some(19)));
}

#[test]
fn a_writer_can_be_forced() {
    let read = |name, unit: &'static str| {
        let reader = RecordReader::default().with_writer(Some(Writer::named(name).unwrap()));
        match reader.read(unit.as_bytes()) {
            Parsed::One(outcome) => outcome,
            Parsed::Many(items) => panic!("{items:?}"),
        }
    };
    let unit = r#"{"type":"GENERATION","input":"a","output":"b"}"#;
    let Ok(Entry::Record(record)) = read("langfuse", unit) else { panic!() };
    assert_eq!((record.format.to_string().as_str(), record.response.as_deref()), ("langfuse", Some("b")));
    let reason = read("helicone", r#"{"prompt":"p","response":"r"}"#).unwrap_err().reason;
    assert_eq!(reason, "read as `helicone`, it holds nothing to audit");
}

/// The table of the page is made of the writers: `UPDATE_DOCS=1 cargo test --test formats` rewrites it.
#[test]
fn the_page_has_the_table_of_the_writers() {
    const HEAD: &str = "| name | what it is | told by |\n|---|---|---|\n";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/formats.md");
    let page = fs::read_to_string(&path).unwrap();
    let rows: Vec<String> = WRITERS
        .iter()
        .map(|writer| format!("| `{}` | {} | {} |\n", writer.container.as_str(), writer.about, writer.told_by))
        .collect();
    let (before, rest) = page.split_once(HEAD).unwrap();
    let end = rest.find("\n\n").unwrap() + 1;
    let table = rows.concat();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, [before, HEAD, &table, &rest[end..]].concat()).unwrap();
        return;
    }
    assert_eq!(&rest[..end], table, "UPDATE_DOCS=1 cargo test --test formats writes it anew");
}

/// The lines of all samples (of a document the whole).
static UNITS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let files = EXPECTED.keys().map(|file| (file, fs::read(folder().join(file)).unwrap()));
    let lines = |(file, bytes): (&String, Vec<u8>)| -> Vec<Vec<u8>> {
        if file.ends_with(".json") {
            return vec![bytes];
        }
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
    };
    files.flat_map(lines).collect()
});

/// What mutations put in.
const PIECES: [&str; 14] = [
    "null",
    "[]",
    "{}",
    "\"\"",
    "-1",
    "1e400",
    "true",
    "[{}]",
    "\"{\\\"a\\\":1}\"",
    "{",
    "]",
    ",",
    "\\u0000",
    "[[[]]]",
];

proptest! {
    #[test]
    fn no_mutation_of_a_sample_panics(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..40, prop::sample::select(&PIECES[..])), 1..5),
    ) {
        let mut unit = UNITS[which.index(UNITS.len())].clone();
        for (at, length, piece) in cuts {
            let at = at.index(unit.len().max(1)).min(unit.len());
            let end = (at + length).min(unit.len());
            unit.splice(at..end, piece.bytes());
        }
        let outcomes = match RecordReader::default().read(&unit) {
            Parsed::One(outcome) => vec![outcome],
            Parsed::Many(items) => items.into_iter().map(|item| item.outcome).collect(),
        };
        prop_assert!(!outcomes.is_empty());
        for record in outcomes.into_iter().flatten().filter_map(Entry::record) {
            prop_assert!(record.latency_ms.is_none_or(|ms| ms.is_finite() && ms >= 0.0));
            prop_assert!(record.ttft_ms.is_none_or(|ms| ms.is_finite() && ms >= 0.0));
            prop_assert_eq!(&record.clone().into_owned(), &record);
        }
    }

    /// Values in the place of values: the JSON stays valid, so that the readers themselves are reached.
    #[test]
    fn no_value_in_the_place_of_another_panics(
        which in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), piece in prop::sample::select(&PIECES[..9])
    ) {
        let Ok(mut tree) = serde_json::from_slice::<Value>(&UNITS[which.index(UNITS.len())]) else { return Ok(()) };
        let mut pointers = Vec::new();
        collect(&tree, String::new(), &mut pointers);
        let pointer = &pointers[place.index(pointers.len())];
        *tree.pointer_mut(pointer).unwrap() = serde_json::from_str(piece).unwrap_or(Value::Null);
        let unit = tree.to_string();
        let _read = RecordReader::default().read(unit.as_bytes());
    }
}

fn collect(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(entries) => entries.iter().for_each(|(key, inner)| {
            collect(inner, format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), pointers)
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, inner)| collect(inner, format!("{pointer}/{index}"), pointers));
        }
        _ => {}
    }
    pointers.push(pointer);
}
