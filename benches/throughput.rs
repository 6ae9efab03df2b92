//! How fast an audit is, as a ratio against parsing the same bytes with serde_json in the same run.
//!
//! ```text
//! cargo bench                                    over fixtures/demo.jsonl, repeated
//! cargo bench -- LLM.jsonl [TOOL.jsonl]          over logs of your own, repeated to the same size
//! cargo bench -- --grounding LABELLED.jsonl      grounding alone, over records with `context` (a text) and `response`
//! ```
//!
//! Each figure is the best of several runs that alternate between what is compared, so that a noisy machine disturbs
//! all of them alike. The ratio to parsing uses one thread for both; the speed-up compares an audit on one thread with
//! the same audit on two.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark speaks and reads the clock")]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use serde::Deserialize;

use llmverify::{
    config::Settings,
    engines::grounding::examine,
    input::{Limits, Reader},
    pipeline::{Auditor, Filter},
};

/// As in the binary.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Bytes of each corpus, reached by repeating it.
const CORPUS_BYTES: usize = 64 << 20;
/// Alternating runs; the best counts.
const RUNS: usize = 5;

/// What a program that only parses would read: the fields of the corpus, borrowed where JSON allows it.
#[derive(Deserialize)]
struct Borrowed<'a> {
    #[serde(borrow, default)]
    id: Option<&'a str>,
    #[serde(borrow, default)]
    model: Option<&'a str>,
    #[serde(borrow, default)]
    tool: Option<&'a str>,
    #[serde(borrow, default)]
    prompt: Text<'a>,
    #[serde(borrow, default)]
    response: Text<'a>,
    #[serde(default)]
    latency_ms: Option<f64>,
    #[serde(default)]
    execution_time_ms: Option<f64>,
}

/// Text that is borrowed unless it holds escapes, whatever else may stand in its place.
#[derive(Default)]
struct Text<'a>(std::borrow::Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("any value")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(text.into()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(text.to_owned().into()))
            }
            fn visit_unit<E>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Text<'de>, A::Error> {
                while items.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut items: A) -> Result<Text<'de>, A::Error> {
                while items.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

fn parse(bytes: &[u8]) -> usize {
    let mut used = 0;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        if let Ok(record) = serde_json::from_slice::<Borrowed<'_>>(line) {
            let texts = [record.id, record.model, record.tool].map(Option::unwrap_or_default).map(str::len);
            used += texts.iter().sum::<usize>() + record.prompt.0.len() + record.response.0.len();
            used += usize::from(record.latency_ms.or(record.execution_time_ms).is_some());
        }
    }
    used
}

fn audit(path: &Path, threads: usize) -> u64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let auditor = Auditor::new(Settings::default()).expect("defaults are valid");
        let mut reader = Reader::open(&[path.display().to_string()], Limits::default()).expect("corpus");
        auditor.audit(&mut reader, &Filter::default(), &mut [], |_| {}).expect("no sink fails").input.audited
    })
}

fn timed<T>(best: &mut Duration, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    *best = (*best).min(start.elapsed());
    result
}

/// The log at `path` repeated to [`CORPUS_BYTES`], beside the build.
fn corpus(path: &str, select: impl Fn(&str) -> bool, name: &str) -> std::path::PathBuf {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines: Vec<_> = text.lines().filter(|line| select(line)).collect();
    let once = lines.join("\n") + "\n";
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&target, once.repeat(CORPUS_BYTES.div_ceil(once.len()))).expect("target folder");
    target
}

fn measure(title: &str, path: &Path) {
    let bytes = fs::read(path).expect("corpus was written");
    let [mut parsing, mut one, mut two] = [Duration::MAX; 3];
    let mut records = 0;
    for _ in 0..RUNS {
        timed(&mut parsing, || std::hint::black_box(parse(&bytes)));
        records = timed(&mut one, || audit(path, 1));
        timed(&mut two, || audit(path, 2));
    }
    let megabytes = bytes.len() as f64 / 1e6;
    let rate = |time: Duration| megabytes / time.as_secs_f64();
    println!("{title}: {megabytes:.0} MB, {records} records");
    println!("  parse only, one thread   {:>8.0} MB/s", rate(parsing));
    println!(
        "  audit, one thread        {:>8.0} MB/s   {:.2} times the time of parsing",
        rate(one),
        one.as_secs_f64() / parsing.as_secs_f64()
    );
    println!(
        "  audit, two threads       {:>8.0} MB/s   {:.2} times the speed of one",
        rate(two),
        one.as_secs_f64() / two.as_secs_f64()
    );
    println!("  per record, one thread   {:>8.2} µs", one.as_secs_f64() * 1e6 / records.max(1) as f64);
}

/// Grounding alone: every answer against its context, beside parsing the same records. Bytes are those of the texts.
fn measure_grounding(path: &str) {
    #[derive(Deserialize)]
    struct Grounded {
        #[serde(default)]
        context: String,
        response: String,
    }
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let records: Vec<Grounded> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let bytes: usize = records.iter().map(|record| record.context.len() + record.response.len()).sum();
    let rounds = CORPUS_BYTES.div_ceil(bytes.max(1));
    let [mut parsing, mut grounding] = [Duration::MAX; 2];
    for _ in 0..RUNS {
        timed(&mut parsing, || (0..rounds).map(|_| std::hint::black_box(parse(text.as_bytes()))).sum::<usize>());
        timed(&mut grounding, || {
            for record in (0..rounds).flat_map(|_| &records) {
                std::hint::black_box(examine(&record.response, &[], [&*record.context].into_iter(), "", ""));
            }
        });
    }
    let megabytes = (bytes * rounds) as f64 / 1e6;
    println!(
        "grounding of {} records, {} bytes of context and answer each",
        records.len(),
        bytes / records.len().max(1)
    );
    println!(
        "  one thread               {:>8.0} MB/s   {:.2} times the time of parsing; {:.1} µs per record",
        megabytes / grounding.as_secs_f64(),
        grounding.as_secs_f64() / parsing.as_secs_f64(),
        grounding.as_secs_f64() * 1e6 / (records.len() * rounds).max(1) as f64
    );
}

fn main() {
    let is_of_grounding = std::env::args().any(|argument| argument == "--grounding");
    let paths: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/demo.jsonl");
    let is_tool = |line: &str| line.contains("\"tool\":");
    match paths.as_slice() {
        [] => {
            measure("LLM calls of the demo", &corpus(demo, |line| !is_tool(line), "llm.jsonl"));
            measure("tool calls of the demo", &corpus(demo, is_tool, "tool.jsonl"));
        }
        paths if is_of_grounding => paths.iter().for_each(|path| measure_grounding(path)),
        paths => {
            for (number, path) in paths.iter().enumerate() {
                measure(path, &corpus(path, |_| true, &format!("corpus-{number}.jsonl")));
            }
        }
    }
}
