//! The JSON Schema of the normal form, made from the table [`FIELDS`] that also drives the reading.
//!
//! The schema says what is read without a [`Problem`](super::Problem): a record that breaks it is still audited, but
//! without the field in question. Each property lists the other names that it goes by as `x-synonyms`, and those that
//! it has only in LLM calls or tool calls as `x-synonyms-llm` and `x-synonyms-tool`.

use serde_json::{Map, Value, json};

use super::fields::{About, FIELDS, Holds, Name};

/// The JSON Schema (2020-12) of a record in the normal form.
pub fn record_schema() -> Value {
    let properties: Map<String, Value> = FIELDS.iter().map(|about| (about.name.to_owned(), property(about))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "llmverify record",
        "description": "One LLM call, tool call or feedback. Keys match without regard to case, `_` and `-`; null is absent, except for `result`.",
        "type": "object",
        "properties": properties,
        "additionalProperties": true,
    })
}

fn property(about: &About) -> Value {
    let mut schema = Map::new();
    schema.insert("description".to_owned(), about.about.into());
    if let Value::Object(constraints) = constraints(about.holds) {
        schema.extend(constraints);
    }
    let synonyms =
        [("x-synonyms", &about.names[1..]), ("x-synonyms-llm", about.llm_names), ("x-synonyms-tool", about.tool_names)];
    for (keyword, names) in synonyms {
        if !names.is_empty() {
            schema.insert(keyword.to_owned(), names.iter().map(|name| described(name, about.holds)).collect());
        }
    }
    Value::Object(schema)
}

/// A name with the unit that it stands for, where it does not say so itself: `duration_sec (in s)`.
fn described(name: &Name, holds: Holds) -> Value {
    match name.unit {
        None if holds == Holds::DurationMs => format!("{} (in ms, assumed)", name.text).into(),
        Some(unit) if !name.text.ends_with(&format!("_{}", unit.as_str())) => {
            format!("{} (in {})", name.text, unit.as_str()).into()
        }
        _ => name.text.into(),
    }
}

fn constraints(holds: Holds) -> Value {
    let numeric_text = r"^\s*\+?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?\s*$";
    let whole_text = r"^\s*\+?[0-9]+(\.0+)?\s*$";
    match holds {
        Holds::Kind => json!({ "type": ["string", "null"] }),
        Holds::Name => json!({ "type": ["string", "number", "boolean", "object", "null"] }),
        Holds::Timestamp => json!({ "type": ["string", "number", "null"], "minimum": 0 }),
        Holds::Text | Holds::Any | Holds::Rules => json!({}),
        Holds::Prompt | Holds::Context => json!({ "type": ["string", "array", "object", "null"] }),
        Holds::DurationMs => {
            json!({ "type": ["number", "string", "null"], "minimum": 0, "pattern": numeric_text, "x-unit": "ms" })
        }
        Holds::Count => {
            let integer = json!({ "type": "integer", "minimum": 0 });
            json!({ "anyOf": [integer, { "type": "string", "pattern": whole_text }, { "type": "null" }] })
        }
        Holds::Schema => json!({ "type": ["object", "boolean", "string", "null"] }),
        Holds::Flag => json!({ "type": ["boolean", "integer", "string", "null"] }),
        Holds::Fraction => {
            json!({ "type": ["number", "string", "null"], "minimum": 0, "maximum": 1, "pattern": numeric_text })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_every_record_that_reads_without_a_problem() {
        let validator = jsonschema::draft202012::new(&record_schema()).unwrap();
        let fixtures = [
            include_str!("../../../../fixtures/records/native.jsonl"),
            include_str!("../../../../fixtures/records/tools.jsonl"),
            include_str!("../../../../fixtures/records/openai_chat_pair.jsonl"),
            include_str!("../../../../fixtures/records/openai_chat_response.jsonl"),
            include_str!("../../../../fixtures/records/openai_error.jsonl"),
        ];
        for line in fixtures.iter().flat_map(|fixture| fixture.lines()) {
            let record = serde_json::from_str(line).unwrap();
            assert!(validator.is_valid(&record), "{line}");
        }
    }

    #[test]
    fn refuses_what_would_be_a_problem() {
        let validator = jsonschema::draft202012::new(&record_schema()).unwrap();
        let problems = [
            json!({ "latency_ms": -1 }),
            json!({ "latency_ms": "fast" }),
            json!({ "prompt_tokens": 1.5 }),
            json!({ "prompt_tokens": "1.5" }),
            json!({ "context": 3 }),
            json!({ "prompt": true }),
            json!({ "confidence": 2 }),
            json!({ "timestamp": [] }),
            json!({ "expected_schema": [] }),
            json!([]),
        ];
        for record in problems {
            assert!(!validator.is_valid(&record), "{record}");
        }
    }

    #[test]
    fn lists_every_field_with_its_names() {
        let schema = record_schema();
        assert_eq!(schema["properties"].as_object().unwrap().len(), FIELDS.len());
        let latency = &schema["properties"]["latency_ms"];
        assert_eq!(latency["x-synonyms"][0], "latency (in ms, assumed)");
        assert_eq!(latency["x-synonyms-llm"][0], "execution_time_ms");
        assert_eq!(latency["x-unit"], "ms");
    }
}
