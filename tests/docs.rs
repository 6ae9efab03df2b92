//! Pages that are made from the code: `docs/algorithms.md` of the documentation of each module, its constants and its
//! settings, `docs/rules.md` of the tables of rules.
//!
//! `UPDATE_DOCS=1 cargo test --test docs` rewrites it.

use std::{fmt::Write as _, fs, path::Path};

use llmverify::{
    config::{Compat, Settings, template::config_schema},
    rules::{Family, Library, Rule, check, rule::owasp_2026},
};
use toml::{Table, Value};

/// What the page says, in its order: heading, source file, and where the settings are.
const SECTIONS: &[(&str, &[(&str, &str)])] = &[
    (
        "From signals to a verdict",
        &[
            ("stats/log_odds.rs", ""),
            ("verdict/judge.rs", "questions"),
            ("verdict/calibration.rs", "calibration"),
            ("verdict/fitting.rs", ""),
            ("verdict/verifiers.rs", "verifiers"),
            ("verdict/service.rs", ""),
            ("verdict/gate.rs", "gate"),
            ("engines/check/mod.rs", ""),
            ("engines/check/expect.rs", ""),
            ("verdict/expectation.rs", ""),
        ],
    ),
    (
        "Runtime engines",
        &[
            ("engines/runtime/latency.rs", "engines.latency"),
            ("engines/runtime/token_rate.rs", "engines.token_rate"),
            ("engines/runtime/fingerprint.rs", "engines.fingerprint"),
            ("engines/runtime/structure.rs", "engines.structure"),
            ("engines/runtime/outcome.rs", "engines.outcome"),
            ("engines/runtime/error_text.rs", ""),
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
            ("engines/language/json_repair/mod.rs", "engines.json_repair"),
            ("engines/language/json_repair/reread.rs", ""),
            ("engines/language/refusal.rs", "engines.refusal"),
            ("engines/language/truncation.rs", "engines.truncation"),
            ("engines/language/repetition.rs", "engines.repetition"),
            ("engines/language/gibberish.rs", "engines.gibberish"),
            ("engines/language/echo.rs", "engines.echo"),
            ("engines/language/template.rs", "engines.template"),
            ("engines/language/other_language.rs", "engines.other_language"),
        ],
    ),
    (
        "Facts",
        &[
            ("engines/facts/arithmetic/mod.rs", "engines.arithmetic"),
            ("engines/facts/arithmetic/claim.rs", ""),
            ("engines/facts/arithmetic/expression.rs", ""),
            ("text/quantity/number.rs", ""),
            ("text/quantity/spelled.rs", ""),
            ("text/quantity/unit.rs", ""),
            ("engines/facts/arithmetic/statement.rs", ""),
            ("engines/facts/arithmetic/linear.rs", ""),
            ("engines/facts/arithmetic/table.rs", ""),
            ("engines/facts/arithmetic/identity.rs", ""),
            ("engines/facts/knowledge/mod.rs", "engines.knowledge"),
            ("engines/facts/knowledge/load.rs", ""),
            ("engines/facts/temporal.rs", "engines.temporal"),
            ("engines/facts/schema/mod.rs", "engines.schema"),
            ("engines/facts/schema/compile.rs", ""),
            ("engines/facts/schema/calls.rs", ""),
            ("engines/facts/identity.rs", "engines.identity"),
            ("engines/facts/sentence.rs", ""),
            ("engines/facts/date.rs", ""),
        ],
    ),
    (
        "Grounding",
        &[
            ("engines/grounding/mod.rs", "engines.grounding"),
            ("engines/grounding/claims.rs", ""),
            ("engines/grounding/index.rs", ""),
            ("engines/grounding/support.rs", ""),
            ("engines/grounding/numbers.rs", ""),
            ("engines/grounding/fields.rs", ""),
            ("engines/grounding/trust.rs", ""),
            ("engines/grounding/ratios.rs", ""),
            ("engines/grounding/tokens.rs", ""),
            ("engines/grounding/idf.rs", ""),
            ("engines/grounding/polarity.rs", ""),
            ("engines/grounding/aliases.rs", ""),
            ("engines/grounding/lexicon.rs", ""),
        ],
    ),
    (
        "Security and privacy",
        &[
            ("engines/security/evidence.rs", ""),
            ("engines/security/injection/mod.rs", "engines.prompt_injection"),
            ("engines/security/indirect.rs", "engines.indirect_injection"),
            ("engines/security/pii.rs", "engines.pii"),
            ("engines/security/secrets.rs", "engines.secrets"),
            ("engines/security/exfiltration.rs", "engines.exfiltration"),
            ("engines/security/prompt_leak.rs", "engines.system_prompt_leak"),
            ("engines/security/active_content.rs", "engines.active_content"),
            ("rules/rule.rs", ""),
            ("rules/scanner.rs", ""),
            ("rules/suppress.rs", ""),
            ("text/decode/mod.rs", ""),
        ],
    ),
    (
        "Redaction",
        &[("redact/mod.rs", ""), ("redact/tokens.rs", ""), ("redact/values.rs", ""), ("redact/names.rs", "")],
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
            ("engines/tools/contradiction.rs", "engines.tool_contradiction"),
            ("engines/tools/agent.rs", "agents"),
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
            ("history/pace.rs", ""),
            ("history/shift.rs", "history.shift"),
            ("history/consistency.rs", "history.consistency"),
            ("history/turns.rs", "history.turns"),
            ("history/agent.rs", ""),
            ("history/adaptive.rs", "history.adaptive"),
        ],
    ),
    (
        "Reports",
        &[
            ("report/issues.rs", ""),
            ("report/comparison.rs", ""),
            ("report/control.rs", ""),
            ("report/timeline.rs", ""),
            ("report/prices.rs", ""),
        ],
    ),
    (
        "Statistics",
        &[
            ("stats/welford.rs", ""),
            ("stats/normal.rs", ""),
            ("stats/histogram.rs", ""),
            ("stats/wilson.rs", ""),
            ("stats/two_rates.rs", ""),
            ("crates/logs/src/hash.rs", ""),
            ("stats/fit.rs", ""),
            ("stats/metrics.rs", ""),
            ("stats/random.rs", ""),
        ],
    ),
    (
        "Texts",
        &[
            ("text/words.rs", ""),
            ("text/sentence.rs", ""),
            ("text/lines.rs", ""),
            ("text/code.rs", ""),
            ("text/entropy.rs", ""),
            ("text/excerpt.rs", ""),
        ],
    ),
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
            // Files of other crates are named from the root.
            let file = if file.starts_with("crates/") { (*file).to_owned() } else { format!("src/{file}") };
            let source = fs::read_to_string(root().join(&file)).unwrap();
            let title = Path::new(&file).file_stem().unwrap().to_string_lossy();
            let _ = write!(page, "\n### {title}\n\n`{file}`\n\n{}\n", module_docs(&source));
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

const RULES_HEAD: &str = "\
<!-- Generated from the tables by `UPDATE_DOCS=1 cargo test --test docs`. Do not edit. -->

# Rules

What is looked for in texts: one entry per rule, as `llmverify rules show ID` prints it. Every example runs as a test
(`llmverify rules test`); `{base62:36}` and the like stand for made-up characters, so that nothing on this page looks like a
live secret. A ratio is P(hit | yes) / P(hit | no); in brackets with a word of the context near. A precision is the share
of attacks among the labelled texts of [accuracy.md](accuracy.md) in which the rule is shown. What an engine makes of
the hits is in [algorithms.md](algorithms.md).
";

fn rules_page() -> String {
    let library = Library::built_in();
    let mut page = RULES_HEAD.to_owned();
    page.push_str("\n| family | rules |\n|---|---|\n");
    for family in Family::ALL {
        let count = library.rules().iter().filter(|rule| rule.family() == family).count();
        let _ = writeln!(page, "| [{0}](#{0}) | {count} |", family.as_str());
    }
    for family in Family::ALL {
        let _ = write!(page, "\n## {}\n", family.as_str());
        let rules: Vec<&Rule> = library.rules().iter().filter(|rule| rule.family() == family).collect();
        let mut categories: Vec<&str> = rules.iter().map(|rule| rule.category.as_str()).collect();
        categories.dedup();
        let mut seen: Vec<&str> = Vec::new();
        for category in categories {
            if seen.contains(&category) {
                continue;
            }
            seen.push(category);
            let _ = write!(page, "\n### {}\n", category.replace('_', " "));
            rules.iter().filter(|rule| rule.category == category).for_each(|rule| write_rule(&mut page, rule));
        }
    }
    page
}

fn write_rule(page: &mut String, rule: &Rule) {
    let _ = write!(page, "\n**`{}`** {}. {}\n\n", rule.id, rule.summary.trim_end_matches('.'), rule.why);
    let severity = format!("{:?}", rule.severity).to_lowercase();
    let ratio = match rule.context_likelihood_ratio {
        Some(in_context) => format!("{} ({in_context})", rule.likelihood_ratio),
        None => rule.likelihood_ratio.to_string(),
    };
    let mut facts = vec![severity, format!("ratio {ratio}")];
    facts.extend(rule.precision.map(|precision| format!("precision {precision}")));
    facts.extend(rule.check.as_ref().map(|check| format!("check `{check}`")));
    let owasp = rule.owasp.iter().filter_map(|tag| Some(format!("OWASP {tag}:2025 = {}:2026", owasp_2026(tag)?)));
    facts.extend(owasp);
    facts.extend(rule.cwe.iter().map(|number| format!("CWE-{number}")));
    facts.push(format!("source: {}", rule.source));
    let _ = writeln!(page, "{}", cell(&facts.join("; ")));
    for (what, examples) in [("hits", &rule.hits), ("misses", &rule.misses)] {
        let examples: Vec<String> = examples.iter().map(|example| code(example)).collect();
        let _ = write!(page, "\n- {what}: {}", examples.join(", "));
    }
    page.push('\n');
}

/// Text as Markdown code, on one line, short enough to read.
fn code(text: &str) -> String {
    const CHARS_MAX: usize = 160;
    let visible = |c: char| {
        if c.is_control() || !c.is_ascii() && !c.is_alphanumeric() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    let mut shown: String = text.chars().take(CHARS_MAX).map(visible).collect();
    if text.chars().count() > CHARS_MAX {
        shown.push('…');
    }
    let fence = if shown.contains("``") {
        "```"
    } else if shown.contains('`') {
        "``"
    } else {
        "`"
    };
    let pad = if fence.len() > 1 { " " } else { "" };
    format!("{fence}{pad}{shown}{pad}{fence}")
}

/// Rewrites the page when asked to, and compares.
fn check_page(file: &str, page: &str) {
    let path = root().join(file);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "{file} is stale: run UPDATE_DOCS=1 cargo test --test docs");
}

#[test]
fn the_algorithms_page_is_what_runs() {
    check_page("docs/algorithms.md", &page());
}

#[test]
fn the_rules_page_is_what_is_looked_for() {
    check_page("docs/rules.md", &rules_page());
}

#[test]
fn every_check_has_a_rule() {
    let library = Library::built_in();
    /// Called by other checks, and bound to golden numbers by their names.
    const PARTS: [&str; 2] = ["us_npi", "in_vehicle"];
    let is_rules = |name: &str| library.rules().iter().any(|rule| rule.check.as_deref() == Some(name));
    let is_named = |name: &str| is_rules(name) || PARTS.contains(&name);
    let idle: Vec<&str> = check::all().map(|(name, _)| name).filter(|name| !is_named(name)).collect();
    assert!(idle.is_empty(), "no rule names these checks: {idle:?}");
}

#[test]
fn every_engine_file_is_on_the_page() {
    let listed: Vec<&str> = SECTIONS.iter().flat_map(|(_, files)| files.iter().map(|(file, _)| *file)).collect();
    for family in [
        "engines/runtime",
        "engines/language",
        "engines/facts",
        "engines/grounding",
        "engines/security",
        "engines/tools",
        "history",
    ] {
        for entry in fs::read_dir(root().join("src").join(family)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.contains('.') && !name.ends_with(".rs") {
                continue;
            }
            let is_folder = !name.ends_with(".rs");
            let file = if is_folder { format!("{family}/{name}/mod.rs") } else { format!("{family}/{name}") };
            // The order in which a row is asked, words for reasons, and a hash table are no algorithms.
            let others =
                ["history/tool_calls.rs", "history/llm_calls.rs", "history/reason.rs", "engines/grounding/table.rs"];
            let is_engine = name != "mod.rs" && !others.contains(&file.as_str());
            assert!(!is_engine || listed.contains(&file.as_str()), "{file} is missing in docs/algorithms.md");
        }
    }
}

#[test]
fn links_become_code() {
    assert_eq!(unlink("[`A`] and [`b`](c::d), [x]"), "`A` and `b`, [x]");
}

#[test]
fn the_examples_of_checks_are_those_that_are_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/checks.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert_eq!(blocks.join("\n"), fs::read_to_string(root.join("fixtures/cli/checks.toml")).unwrap());
}
