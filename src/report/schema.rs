//! The JSON Schemas of the output (draft 2020-12), made from the types that are written.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use super::{
    jsonl::SummaryLine,
    summary::Report,
    verdict_record::{RejectedUnit, VerdictRecord},
};

/// The schema of one line of a JSON Lines report: a record, a rejected unit, or the summary.
pub fn verdict_schema() -> Value {
    schema_of::<Line>()
}

/// The schema of a JSON report.
pub fn report_schema() -> Value {
    schema_of::<JsonReport>()
}

/// A line of a JSON Lines report.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, clippy::large_enum_variant, reason = "only its schema is used")]
enum Line {
    Record(VerdictRecord),
    Rejected(RejectedUnit),
    Summary(SummaryLine<'static>),
}

/// A JSON report: the report object with the records that were asked for.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct JsonReport {
    /// The records that were asked for.
    records: Vec<VerdictRecord>,
    #[schemars(flatten)]
    report: Report,
}

fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            format::{FormatName, Records, Renderer, Setting, Writer},
            samples,
        },
        *,
    };

    fn output(name: FormatName) -> String {
        let format = name.format(Setting::default());
        let mut writer = Writer::new(Renderer { format: &*format, records: Records::All }, Vec::new());
        let mut chunk = Vec::new();
        for record in [samples::blocked_record(1), samples::accepted_record(2), samples::hostile_record("\u{1b}")] {
            writer.renderer().record(&record, &mut chunk);
        }
        writer.renderer().rejected(&RejectedUnit::new("a", 4, Some(1), 9, "is not JSON"), &mut chunk);
        writer.head().unwrap();
        writer.chunk(&chunk).unwrap();
        String::from_utf8(writer.finish(&samples::report()).unwrap()).unwrap()
    }

    #[track_caller]
    fn check(schema: &Value, instance: &Value) {
        let validator = jsonschema::draft202012::new(schema).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }

    #[test]
    fn schemas_are_schemas() {
        for schema in [verdict_schema(), report_schema()] {
            assert!(jsonschema::meta::is_valid(&schema));
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        }
    }

    #[test]
    fn every_line_of_a_json_lines_report_is_valid() {
        let schema = verdict_schema();
        for line in output(FormatName::Jsonl).lines() {
            check(&schema, &serde_json::from_str(line).unwrap());
        }
    }

    #[test]
    fn a_json_report_is_valid() {
        check(&report_schema(), &serde_json::from_str(&output(FormatName::Json)).unwrap());
    }

    #[test]
    fn a_missing_field_or_a_wrong_type_is_noticed() {
        let validator = jsonschema::draft202012::new(&verdict_schema()).unwrap();
        let valid = serde_json::to_value(samples::blocked_record(1)).unwrap();
        assert!(validator.is_valid(&valid));
        for (field, wrong) in [("verdict", "maybe"), ("line", "1"), ("schema", "llmverify.verdict/0")] {
            let mut instance = valid.clone();
            instance[field] = wrong.into();
            assert!(!validator.is_valid(&instance), "{field}");
            instance.as_object_mut().unwrap().remove(field);
            assert!(!validator.is_valid(&instance), "{field} removed");
        }
    }
}
