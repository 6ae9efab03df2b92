//! The commented configuration that `llmverify init` writes, made from the settings and their documentation.

use std::fmt::Write as _;

use serde_json::Value as Json;
use toml::{Table, Value};

use super::Settings;

/// The JSON Schema of the configuration file.
pub fn config_schema() -> Json {
    let mut schema = schemars::schema_for!(Settings).to_value();
    schema["$id"] = "llmverify.config/1".into();
    schema["title"] = "llmverify.toml".into();
    schema
}

const HEAD: &str = "\
# Settings of llmverify. Every line that is commented out shows the default.
# `llmverify config show` prints what is in force and where it comes from.
";

const EXAMPLES: &str = r#"
# Where a home-made log keeps a field, as a JSON Pointer; `:s` converts seconds to milliseconds.
# [map]
# latency_ms = "/meta/latency_s:s"
# model = "/meta/model"

# What a real result of a tool looks like. One table per tool.
# [tools.get_weather]
# expected_latency_ms = [100, 5000]
# required_fields = ["temperature", "humidity"]
# forbidden_fields = ["mock"]
# response_patterns = ['"temperature":\s*-?\d+']
# min_response_length = 20
# max_response_length = 10000
# has_network_io = true

# The JSON Schema of its arguments, against which calls are checked.
# args_schema = { properties = { city = { type = "string" } }, required = ["city"] }

# What is known, and when facts hold; see docs/verifiers.md for the files.
# [knowledge]
# files = ["facts.jsonl"]
# [temporal]
# files = ["recency.csv"]

# What the answers of a model must look like: file, schema or pattern.
# [schemas."gpt-4o"]
# file = "answer.schema.json"

# Rules that every response must follow when its record brings none.
# [[engines.compliance.rules]]
# id = "no-apology"
# type = "exclude"
# params = { terms = ["as an AI language model"] }

# Checks of your own: what must hold of every record, and what is expected of many; see docs/checks.md.
# [[check]]
# name = "cites"
# model = "rag-*"                       # also kind, tool, session, path, where
# must_match = '\[\d+\]'                # also must_not_match, not_empty, json_schema, language, max_words, max_latency_ms, max_cost
# effect = "flag"                       # or "block"
# [[check]]
# name = "errors"
# expect = "error_rate < 2%"            # also p95_latency_ms < 5000, refusal_rate < 2%, mean_trust > 0.8
# group_by = "session"

# What tokens cost, for a sum per model and in total; the first pattern that matches counts.
# [[prices]]
# model = "gpt-4o-mini*"
# input_per_million = 0.15
# output_per_million = 0.60
# cached_input_per_million = 0.075
# currency = "USD"

# Priors and thresholds that differ for one model or tool.
# [streams."gpt-4o".fabricated]
# prior = 0.1
"#;

/// The text of a new configuration file: every key with its meaning and its default, commented out.
pub fn template() -> String {
    let mut text = String::from(HEAD);
    let schema = config_schema();
    if let Ok(table) = Table::try_from(Settings::default()) {
        write_table(&mut text, &schema, &schema, &table, &mut Vec::new());
    }
    text.push_str(EXAMPLES);
    text
}

fn write_table(text: &mut String, root: &Json, schema: &Json, table: &Table, path: &mut Vec<String>) {
    let properties = &resolve(root, schema)["properties"];
    let is_open_map = properties.is_null();
    if is_open_map {
        return;
    }
    let leaves: Vec<_> = table.iter().filter(|(_, value)| !value.is_table()).collect();
    if !path.is_empty() && !leaves.is_empty() {
        let _ = write!(text, "\n[{}]\n", path.join("."));
    } else if !leaves.is_empty() {
        text.push('\n');
    }
    for (key, value) in leaves {
        for line in description(root, &properties[key]).lines() {
            // Links mean something in the code's documentation only.
            let _ = writeln!(text, "# {}", line.replace("[`", "`").replace("`]", "`"));
        }
        let _ = writeln!(text, "# {key} = {}", inline(value));
    }
    for (key, value) in table {
        if let Value::Table(inner) = value {
            path.push(key.clone());
            write_table(text, root, &properties[key], inner, path);
            path.pop();
        }
    }
}

/// A value on one line, as TOML writes it.
pub fn inline(value: &Value) -> String {
    value.to_string().replace('\n', " ")
}

fn resolve<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    match reference.and_then(|reference| root.pointer(reference.trim_start_matches('#'))) {
        Some(target) => target,
        None => schema,
    }
}

fn description<'s>(root: &'s Json, schema: &'s Json) -> &'s str {
    let own = schema["description"].as_str();
    own.or_else(|| resolve(root, schema)["description"].as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Layers;

    #[test]
    fn the_template_changes_nothing() {
        let layers = Layers::parse(&template(), Path::new("llmverify.toml")).unwrap();
        assert_eq!(layers.settings().unwrap(), Settings::default());
    }

    #[test]
    fn every_default_in_the_template_is_valid_when_uncommented() {
        let text = template();
        let generated = &text[..text.find("\n# Where a home-made log").unwrap()];
        let uncommented: String = generated
            .lines()
            .filter_map(|line| match line.strip_prefix("# ") {
                Some(rest)
                    if rest
                        .split(" = ")
                        .next()
                        .is_some_and(|key| key.chars().all(|c| c.is_ascii_lowercase() || c == '_')) =>
                {
                    Some(format!("{rest}\n"))
                }
                Some(_) => None,
                None => Some(format!("{line}\n")),
            })
            .collect();
        let layers = Layers::parse(&uncommented, Path::new("llmverify.toml")).unwrap();
        assert_eq!(layers.settings().unwrap(), Settings::default());
    }

    #[test]
    fn every_key_is_explained() {
        let text = template();
        let lines: Vec<_> = text.lines().collect();
        for pair in lines.windows(2) {
            let is_key = |line: &str| line.starts_with("# ") && line.contains(" = ") && !line.ends_with('.');
            if is_key(pair[1]) && text.find(pair[1]) < text.find("# Where a home-made") {
                assert!(pair[0].starts_with("# ") && !pair[0].contains(" = "), "no explanation above {:?}", pair[1]);
            }
        }
    }

    #[test]
    fn the_schema_names_itself() {
        assert_eq!(config_schema()["$id"], "llmverify.config/1");
    }
}
