//! `docs/algorithms.md` is made from the code: the documentation of each module, its constants and its settings.
//!
//! `UPDATE_DOCS=1 cargo test --test docs` rewrites it.

use std::{fmt::Write as _, fs, path::Path};

use llmverify::config::{Compat, Settings, template::config_schema};
use toml::{Table, Value};

/// What the page says, in its order: heading, source file, and where the settings are.
const SECTIONS: &[(&str, &[(&str, &str)])] = &[
    (
        "From signals to a verdict",
        &[("stats/log_odds.rs", ""), ("verdict/judge.rs", "questions"), ("verdict/gate.rs", "gate")],
    ),
    (
        "Runtime engines",
        &[
            ("engines/runtime/latency.rs", "engines.latency"),
            ("engines/runtime/token_rate.rs", "engines.token_rate"),
            ("engines/runtime/fingerprint.rs", "engines.fingerprint"),
            ("engines/runtime/structure.rs", "engines.structure"),
            ("engines/runtime/outcome.rs", "engines.outcome"),
            ("engines/runtime/health.rs", "engines.health"),
        ],
    ),
    (
        "Language engines",
        &[
            ("engines/language/intent.rs", "engines.intent"),
            ("engines/language/hallucination.rs", "engines.hallucination"),
            ("engines/language/compression.rs", "engines.compression"),
            ("engines/language/compliance.rs", "engines.compliance"),
            ("engines/language/json_repair.rs", "engines.json_repair"),
        ],
    ),
    (
        "Tool calls, from the call alone (tier 0)",
        &[
            ("engines/tools/profile.rs", ""),
            ("engines/tools/schema.rs", "engines.tools.schema"),
            ("engines/tools/latency.rs", "engines.tools.latency"),
            ("engines/tools/pattern.rs", "engines.tools.pattern"),
            ("engines/tools/length.rs", "engines.tools.length"),
            ("engines/tools/error.rs", "engines.tools.error"),
        ],
    ),
    (
        "History, in the order of the input (tier 1)",
        &[
            ("history/baseline.rs", "history.baseline"),
            ("history/spc.rs", "history.spc"),
            ("history/plausibility.rs", "history.plausibility"),
            ("history/presence.rs", "history.presence"),
            ("history/latency.rs", "history.latency"),
            ("history/shift.rs", "history.shift"),
            ("history/consistency.rs", "history.consistency"),
            ("history/adaptive.rs", "history.adaptive"),
        ],
    ),
    (
        "Statistics",
        &[
            ("stats/welford.rs", ""),
            ("stats/normal.rs", ""),
            ("stats/histogram.rs", ""),
            ("stats/wilson.rs", ""),
            ("stats/hash.rs", ""),
        ],
    ),
    ("Texts", &[("text/words.rs", ""), ("text/lines.rs", ""), ("text/entropy.rs", ""), ("text/excerpt.rs", "")]),
];

const HEAD: &str = "\
<!-- Generated from the code by `UPDATE_DOCS=1 cargo test --test docs`. Do not edit. -->

# Algorithms

Every formula and constant, as it runs. Each section is the documentation of one source file, its constants, and the
settings that change it (`llmverify config show` prints what is in force; the column *seed* is what `--compat seed` sets
instead). Seeds 000 to 004 are the documents that llmverify implements: 001 for the runtime and language engines, 002 for
the verification engine.
";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The `//!` lines of a file. Links to items become code; a rustdoc link means nothing on this page.
fn module_docs(source: &str) -> String {
    let lines = source.lines().take_while(|line| line.starts_with("//!"));
    let text: Vec<&str> =
        lines.map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or_default()).collect();
    unlink(&text.join("\n"))
}

/// ``[`NAME`]`` and ``[`NAME`](path)`` become `` `NAME` ``.
fn unlink(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("[`") {
        let Some(length) = rest[at..].find("`]") else { break };
        out.push_str(&rest[..at]);
        out.push_str(&rest[at + 1..=at + length]);
        rest = &rest[at + length + 2..];
        if let Some(end) = rest.strip_prefix('(').and_then(|link| link.find(')')) {
            rest = &rest[end + 2..];
        }
    }
    out + rest
}

/// `pub const NAME: TYPE = VALUE;` with the first sentence of its documentation.
fn constants(source: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut docs: Vec<&str> = Vec::new();
    for line in source.lines() {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.trim());
            continue;
        }
        if let Some((name, value)) = line.strip_prefix("pub const ").and_then(|rest| rest.split_once(':')) {
            let is_plain = !name.contains('(');
            if let (true, Some((_, value))) = (is_plain, value.split_once(" = ")) {
                let value = value.trim_end_matches(';');
                if !value.ends_with('[') && !value.ends_with('{') {
                    found.push((name.to_owned(), value.to_owned(), unlink(&docs.join(" "))));
                }
            }
        }
        docs.clear();
    }
    found
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn lookup<'t>(table: &'t Table, path: &str) -> Option<&'t Value> {
    let mut parts = path.split('.');
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |value, key| value.get(key))
}

fn resolve<'s>(root: &'s serde_json::Value, schema: &'s serde_json::Value) -> &'s serde_json::Value {
    let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.trim_start_matches('#')));
    target.unwrap_or(schema)
}

/// Rows of key, default, seed and meaning.
fn settings(path: &str, rows: &mut Vec<[String; 4]>, prefix: &str) {
    let table = |compat| Table::try_from(Settings::preset(compat)).unwrap();
    let (default, seed) = (table(Compat::Llmverify), table(Compat::Seed));
    let schema = config_schema();
    let of_path = path.split('.').fold(&schema, |at, key| resolve(&schema, &resolve(&schema, at)["properties"][key]));
    let Some(Value::Table(entries)) = lookup(&default, path) else { panic!("no settings at {path}") };
    for (key, value) in entries {
        if value.is_table() {
            settings(&format!("{path}.{key}"), rows, &format!("{prefix}{key}."));
            continue;
        }
        let about = &of_path["properties"][key];
        let meaning = about["description"].as_str().or_else(|| resolve(&schema, about)["description"].as_str());
        let seeds = lookup(&seed, &format!("{path}.{key}")).filter(|seed| *seed != value);
        rows.push([
            format!("`{prefix}{key}`"),
            format!("`{value}`"),
            seeds.map_or_else(String::new, |seed| format!("`{seed}`")),
            meaning.unwrap_or_default().to_owned(),
        ]);
    }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (heading, files) in SECTIONS {
        let _ = write!(page, "\n## {heading}\n");
        for (file, settings_path) in *files {
            let source = fs::read_to_string(root().join("src").join(file)).unwrap();
            let title = Path::new(file).file_stem().unwrap().to_string_lossy();
            let _ = write!(page, "\n### {title}\n\n`src/{file}`\n\n{}\n", module_docs(&source));
            let constants = constants(&source);
            if !constants.is_empty() {
                page.push_str("\n| constant | value | meaning |\n|---|---|---|\n");
                for (name, value, meaning) in constants {
                    let _ = writeln!(page, "| `{name}` | `{}` | {} |", cell(&value), cell(&meaning));
                }
            }
            let mut rows = Vec::new();
            if !settings_path.is_empty() {
                settings(settings_path, &mut rows, "");
            }
            if !rows.is_empty() {
                let _ = write!(
                    page,
                    "\n`[{settings_path}]`\n\n| setting | default | seed | meaning |\n|---|---|---|---|\n"
                );
                for row in rows {
                    let _ = writeln!(page, "| {} |", row.map(|text| cell(&text)).join(" | "));
                }
            }
        }
    }
    page
}

#[test]
fn the_algorithms_page_is_what_runs() {
    let path = root().join("docs/algorithms.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/algorithms.md is stale: run UPDATE_DOCS=1 cargo test --test docs");
}

#[test]
fn every_engine_file_is_on_the_page() {
    let listed: Vec<&str> = SECTIONS.iter().flat_map(|(_, files)| files.iter().map(|(file, _)| *file)).collect();
    for family in ["engines/runtime", "engines/language", "engines/tools", "history"] {
        for entry in fs::read_dir(root().join("src").join(family)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let file = format!("{family}/{name}");
            // The order in which a row is asked, and words for reasons, are no algorithms.
            let order_and_words = ["history/tool_calls.rs", "history/llm_calls.rs", "history/reason.rs"];
            let is_engine = name != "mod.rs" && !order_and_words.contains(&file.as_str());
            assert!(!is_engine || listed.contains(&file.as_str()), "{file} is missing in docs/algorithms.md");
        }
    }
}

#[test]
fn links_become_code() {
    assert_eq!(unlink("[`A`] and [`b`](c::d), [x]"), "`A` and `b`, [x]");
}
