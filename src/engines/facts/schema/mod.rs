//! Does structured output have the shape that was agreed on?
//!
//! Checked are: the answer, or the JSON in it, against the record's own `expected_schema`, else against the schema or
//! pattern that the configuration has for the model; and the arguments of tool calls against the schema that the record
//! or the configuration declares for the tool, whether the calls are fields of the log or written as text ([`calls`]).
//!
//! **Formula**: value = things that break their schema / things that were checked. One breach fires the signal; it is a
//! proof where the record itself declares the schema; not so an answer that declines or is empty, nor an unknown tool in
//! what only may be a call.
//!
//! **Range**: 0 (all as agreed) to 1 (nothing is). Without a schema, or without anything to hold against it, the engine is
//! not assessed.
//!
//! **Source**: seed 003, verifier 07 (Schema Validator); JSON Schema 2020-12 by the crate `jsonschema`.
//!
//! **Limits**: those of [`compile`]; [`FINDINGS_MAX`] findings of one record, [`CACHE_MAX`] compiled schemas at a time.
//! Arguments that a tool does not declare are unexpected, although JSON Schema would allow them: a function has no place
//! for them. `.` and `_` in the name of a tool are one, for interfaces rewrite them.

pub mod calls;
pub mod compile;
pub mod locate;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use compile::{Compiled, Refusal};

use crate::{
    engines::{
        About, Assessment, Class, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout,
        Status, Tier, View, language::refusal,
    },
    hash,
    record::{Kind, Record, json::Json},
    text::excerpt::name,
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: NAME,
    summary: "Checks answers and the arguments of tool calls against their JSON Schema or pattern.",
    formula: "things that break their schema / things that were checked",
    range: "0 (all as agreed) to 1 (nothing is); a breach of a schema that the record declares blocks",
    source: "seed 003, verifier 07; JSON Schema 2020-12",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "The output violates the schema that it must follow.",
        owasp: "LLM05",
        help: "Look at the path in the evidence; validate outputs before use.",
    }],
};

/// The engine.
pub const NAME: &str = "schema";
/// The signal.
pub const SIGNAL: &str = "schema_violated";
/// Ours, that of seed 002 for a tool's answer without its fields.
pub const LIKELIHOOD_RATIO: f64 = 12.0;
/// The ratio with which what is as agreed speaks against fabrication: hardly.
const ABSENT_RATIO: f64 = 1.5;
/// Findings of one record.
pub const FINDINGS_MAX: usize = 20;
/// Compiled schemas of records that are kept.
pub const CACHE_MAX: usize = 256;
/// The name in `[schemas]` that stands for every model.
const ANY: &str = "*";

/// Settings of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether a breach of a schema that the record declares blocks by itself.
    pub block: bool,
    /// Whether calls that are written as text are looked for where tools are declared.
    pub calls_in_text: bool,
    /// P(fires | fabricated) / P(fires | not).
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { block: true, calls_in_text: true, likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

/// What the answers of one model must look like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Agreement {
    /// A file with a JSON Schema, relative to the configuration file.
    pub file: String,
    /// The JSON Schema itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// A regular expression that the answer must match somewhere.
    pub pattern: String,
    /// Whether the whole answer must be the JSON, and not only hold it.
    pub whole: bool,
}

/// The schemas of the configuration, compiled.
#[derive(Debug, Default)]
pub struct Schemas {
    models: BTreeMap<String, Agreed>,
    tools: BTreeMap<String, Compiled>,
}

#[derive(Debug)]
struct Agreed {
    schema: Option<Compiled>,
    pattern: Option<Regex>,
    whole: bool,
}

impl Schemas {
    /// Compiles what the configuration has for `models` and `tools`; `read` gives the text of a file.
    ///
    /// # Errors
    /// When a schema or pattern cannot be used; says which and why.
    pub fn new<'s>(
        models: &BTreeMap<String, Agreement>,
        tools: impl Iterator<Item = (&'s String, &'s Value)>,
        read: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Schemas, String> {
        let mut schemas = Schemas::default();
        for (name, agreement) in models {
            let agreed = Agreed::new(agreement, &read).map_err(|why| format!("[schemas.{name}]: {why}"))?;
            schemas.models.insert(name.clone(), agreed);
        }
        for (name, definition) in tools {
            let compiled = Compiled::new(&compile::of_arguments(definition));
            let compiled = compiled.map_err(|why| format!("[tools.{name}] args_schema: {why}"))?;
            schemas.tools.insert(normalised(name).into_owned(), compiled);
        }
        Ok(schemas)
    }

    fn of_model(&self, model: Option<&str>) -> Option<&Agreed> {
        model.and_then(|model| self.models.get(model)).or_else(|| self.models.get(ANY))
    }
}

impl Agreed {
    fn new(agreement: &Agreement, read: &impl Fn(&str) -> Result<String, String>) -> Result<Agreed, String> {
        let mut schema = agreement.schema.clone();
        if !agreement.file.is_empty() {
            let text = read(&agreement.file)?;
            let parsed = serde_json::from_str(&text);
            schema = Some(parsed.map_err(|error| format!("{} is no JSON: {error}", agreement.file))?);
        }
        let schema = schema.as_ref().map(|schema| Compiled::new(declared(schema))).transpose()?;
        let pattern = (!agreement.pattern.is_empty()).then(|| Regex::new(&agreement.pattern)).transpose();
        let pattern = pattern.map_err(|error| format!("the pattern cannot be used: {error}"))?;
        if schema.is_none() && pattern.is_none() {
            return Err("has neither file, schema nor pattern".to_owned());
        }
        Ok(Agreed { schema, pattern, whole: agreement.whole })
    }
}

/// A breach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    /// Where in the instance, as a JSON Pointer.
    pub pointer: String,
    /// `schema/NAME`.
    pub rule: &'static str,
    /// What is the case, as a clause.
    pub detail: String,
}

/// Steps of a check up to which all breaches are listed. They are gathered before the first can be looked at, some hundred bytes
/// each; of what takes more, the first is told.
pub const LISTED_STEPS_MAX: f64 = 1e5;

/// The breaches of `schema` by `instance`, in a fixed order, at most [`FINDINGS_MAX`].
///
/// # Errors
/// When the check would take too long.
pub fn breaches(schema: &Compiled, instance: &Value) -> Result<Vec<Breach>, Refusal> {
    let (validator, steps) = schema.for_instance(instance)?;
    if steps > LISTED_STEPS_MAX {
        return Ok(validator.validate(instance).map_or_else(|error| of_error(&error), |()| Vec::new()));
    }
    if validator.is_valid(instance) {
        return Ok(Vec::new());
    }
    let mut found: Vec<Breach> =
        validator.iter_errors(instance).take(FINDINGS_MAX).flat_map(|error| of_error(&error)).collect();
    found.sort();
    found.dedup();
    found.truncate(FINDINGS_MAX);
    Ok(found)
}

fn of_error(error: &ValidationError<'_>) -> Vec<Breach> {
    let pointer = error.instance_path().as_str();
    let at = if pointer.is_empty() { "the value".to_owned() } else { name(pointer) };
    let breach = |rule, detail: String| vec![Breach { pointer: pointer.to_owned(), rule, detail }];
    let is = type_of(error.instance());
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            breach("schema/missing", format!("{at} lacks `{}`", name(property.as_str().unwrap_or_default())))
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
            let one = |key: &String| Breach {
                pointer: format!("{pointer}/{}", escaped(key)),
                rule: "schema/unexpected",
                detail: format!("`{}` of {at} is not in the schema", name(key)),
            };
            unexpected.iter().take(FINDINGS_MAX).map(one).collect()
        }
        ValidationErrorKind::FalseSchema => breach("schema/unexpected", format!("{at} must not be there")),
        ValidationErrorKind::AdditionalItems { .. } | ValidationErrorKind::UnevaluatedItems { .. } => {
            breach("schema/unexpected", format!("{at} has more items than the schema"))
        }
        ValidationErrorKind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(kind) => kind.to_string(),
                TypeKind::Multiple(kinds) => kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or "),
            };
            breach("schema/type", format!("{at} is {is}, not {wanted}"))
        }
        ValidationErrorKind::Enum { .. } => {
            breach("schema/enum", format!("{at} is none of the values that are allowed"))
        }
        ValidationErrorKind::Constant { .. } => {
            breach("schema/enum", format!("{at} is not the value that is required"))
        }
        ValidationErrorKind::Pattern { .. } | ValidationErrorKind::PropertyNames { .. } => {
            breach("schema/pattern", format!("{at} does not have the form that is required"))
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let is_type = |errors: &Vec<ValidationError<'_>>| {
                let here = |error: &ValidationError<'_>| error.instance_path().as_str() == pointer;
                errors.iter().any(|error| here(error) && matches!(error.kind(), ValidationErrorKind::Type { .. }))
            };
            if context.iter().all(is_type) {
                breach("schema/type", format!("{at} is {is}, which no alternative allows"))
            } else {
                breach("schema/alternative", format!("{at} satisfies none of the alternatives"))
            }
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            breach("schema/alternative", format!("{at} satisfies more than one alternative"))
        }
        other => breach("schema/limit", format!("{at} breaks `{}`", other.keyword())),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The schema in what a request says of the form of its response: `{"type": "json_schema", "json_schema": {"schema"}}`.
fn declared(schema: &Value) -> &Value {
    let inner = schema.get("json_schema").unwrap_or(schema);
    let is_schema =
        ["properties", "$ref", "anyOf", "oneOf", "allOf", "items"].iter().any(|key| inner.get(key).is_some());
    inner.get("schema").filter(|inner| !is_schema && inner.is_object()).unwrap_or(inner)
}

/// The tools that a record declares, each with the schema of its arguments.
#[derive(Debug, Default)]
struct Toolset {
    tools: HashMap<String, Result<Compiled, Refusal>>,
}

impl Toolset {
    fn new(tools: &Value) -> Toolset {
        let mut set = Toolset::default();
        set.add(tools);
        set
    }

    fn add(&mut self, tools: &Value) {
        let list: &[Value] = match tools {
            Value::Array(list) => list,
            one @ Value::Object(_) => std::slice::from_ref(one),
            _ => return,
        };
        for tool in list {
            let tool = tool.get("function").filter(|function| function.is_object()).unwrap_or(tool);
            for key in ["functionDeclarations", "function_declarations"] {
                if let Some(inner) = tool.get(key).filter(|inner| inner.is_array()) {
                    self.add(inner);
                }
            }
            let Some(name) = tool["name"].as_str() else { continue };
            let keys = ["parameters", "input_schema", "inputSchema", "args_schema", "schema"];
            let schema = keys.iter().find_map(|key| tool.get(*key)).filter(|schema| schema.is_object());
            let schema = schema.map_or(Value::Bool(true), compile::of_arguments);
            self.tools.insert(normalised(name).into_owned(), Compiled::new(&schema));
        }
    }
}

/// The name of a tool, as interfaces that allow no `.` write it.
fn normalised(name: &str) -> Cow<'_, str> {
    if name.contains('.') { name.replace('.', "_").into() } else { name.into() }
}

/// Compiled schemas of records, by the hash of their text. What is compiled does not depend on who compiles it.
#[derive(Debug)]
struct Cache<T> {
    compiled: RwLock<HashMap<u64, Arc<T>>>,
}

impl<T> Cache<T> {
    fn new() -> Cache<T> {
        Cache { compiled: RwLock::new(HashMap::new()) }
    }

    fn get(&self, json: &Json<'_>, compile: impl Fn(&Value) -> T) -> Arc<T> {
        let key = hash::name(&json.to_compact_string());
        if let Some(known) = self.compiled.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let fresh = Arc::new(compile(&json.to_value()));
        let mut compiled = self.compiled.write().unwrap_or_else(PoisonError::into_inner);
        if compiled.len() >= CACHE_MAX {
            compiled.clear();
        }
        compiled.insert(key, fresh.clone());
        fresh
    }
}

/// The engine.
pub struct SchemaValidator {
    settings: Settings,
    agreed: Arc<Schemas>,
    expected: Cache<Result<Compiled, Refusal>>,
    toolsets: Cache<Toolset>,
}

impl SchemaValidator {
    /// The engine with these settings and the schemas of the configuration.
    pub fn new(settings: Settings, agreed: Arc<Schemas>) -> SchemaValidator {
        SchemaValidator { settings, agreed, expected: Cache::new(), toolsets: Cache::new() }
    }
}

/// What was held against schemas.
#[derive(Debug, Default)]
struct Checked {
    checked: u64,
    broken: u64,
    /// Broken by a schema that the record declares.
    declared: bool,
    refusals: Vec<Refusal>,
    findings: Vec<Finding>,
}

impl Checked {
    /// Counts one thing with its breaches, each with the field and the place where it stands.
    fn take(
        &mut self,
        breaches: Result<Vec<Breach>, Refusal>,
        is_declared: bool,
        place: impl Fn(&Breach) -> (Cow<'static, str>, Range<usize>),
    ) {
        let breaches = match breaches {
            Ok(breaches) => breaches,
            Err(refusal) => return self.refusals.push(refusal),
        };
        self.checked += 1;
        if breaches.is_empty() {
            return;
        }
        self.broken += 1;
        self.declared |= is_declared;
        for breach in breaches {
            if self.findings.len() == FINDINGS_MAX {
                return;
            }
            let (field, span) = place(&breach);
            let detail = if breach.pointer.is_empty() {
                breach.detail
            } else {
                format!("{} (at {})", breach.detail, name(&breach.pointer))
            };
            self.findings
                .push(Finding { detail: detail.into(), ..Finding::new(breach.rule, Severity::High, field, span) });
        }
    }

    fn broken_as(
        &mut self,
        rule: &'static str,
        detail: String,
        is_declared: bool,
        field: Cow<'static, str>,
        span: Range<usize>,
    ) {
        let breach = Breach { pointer: String::new(), rule, detail };
        self.take(Ok(vec![breach]), is_declared, |_| (field.clone(), span.clone()));
    }
}

impl SchemaValidator {
    fn answer(&self, view: &View<'_, '_>, checked: &mut Checked) {
        let record = view.record;
        if record.kind != Kind::Llm || record.response.is_none() {
            return;
        }
        if let Some(schema) = &record.expected_schema {
            let compile = |schema: &Value| Compiled::new(declared(schema));
            match &*self.expected.get(schema, compile) {
                Ok(schema) => check_answer(view, schema, false, true, checked),
                Err(refusal) => checked.refusals.push(refusal),
            }
            return;
        }
        let Some(agreed) = self.agreed.of_model(record.model.as_deref()) else { return };
        if let Some(schema) = &agreed.schema {
            check_answer(view, schema, agreed.whole, false, checked);
        }
        if let Some(pattern) = &agreed.pattern {
            let text = view.response_text();
            if pattern.is_match(text) {
                checked.checked += 1;
            } else {
                let detail = "the answer does not match the pattern of the configuration".to_owned();
                checked.broken_as("schema/pattern", detail, false, "/response".into(), 0..text.len());
            }
        }
    }

    fn calls(&self, view: &View<'_, '_>, checked: &mut Checked) {
        let record = view.record;
        let has_calls = match record.kind {
            Kind::Llm => !record.tool_calls.is_empty() || (record.tools.is_some() && record.response.is_some()),
            Kind::Tool => record.args.is_some() && record.tool.is_some(),
            Kind::Feedback => false,
        };
        if !has_calls || (record.tools.is_none() && self.agreed.tools.is_empty()) {
            return;
        }
        let offered = record.tools.as_ref().map(|tools| self.toolsets.get(tools, Toolset::new));
        let tools = Tools { agreed: &self.agreed.tools, offered: offered.as_deref() };
        if let (Kind::Tool, Some(tool), Some(args)) = (record.kind, &record.tool, &record.args) {
            let text = text_or_json(args);
            let place = |breach: &Breach| at_pointer(record, "/args", breach);
            tools.check(tool, &text, ("/tool", 0..tool.len()), true, checked, place);
            return;
        }
        for (index, call) in record.tool_calls.iter().take(calls::CALLS_MAX).enumerate() {
            let field = format!("/tool_calls/{index}/name");
            let prefix = format!("/tool_calls/{index}/args");
            let place = |breach: &Breach| at_pointer(record, &prefix, breach);
            tools.check(&call.name, &text_or_json(&call.args), (&field, 0..call.name.len()), true, checked, place);
        }
        if record.tool_calls.is_empty() && self.settings.calls_in_text {
            for call in calls::in_text(view.response_text(), |name| tools.get(name).is_some()) {
                let span = call.span.clone();
                let at = ("/response", span.clone());
                tools.check(&call.name, &call.args, at, call.is_explicit, checked, |_| {
                    ("/response".into(), span.clone())
                });
            }
        }
    }
}

/// Arguments as `serde_json` has them; those that are text are looked into once more.
fn text_or_json(args: &Json<'_>) -> Value {
    let text = args.as_str().and_then(|text| serde_json::from_str(text).ok());
    text.unwrap_or_else(|| args.to_value())
}

/// The place of a breach in a field of the record's tree, where only strings have bytes.
fn at_pointer(record: &Record<'_>, prefix: &str, breach: &Breach) -> (Cow<'static, str>, Range<usize>) {
    let field = format!("{prefix}{}", breach.pointer);
    let length = record.text_at(&field).map_or(0, str::len);
    (field.into(), 0..length)
}

/// The tools that may be called.
struct Tools<'t> {
    agreed: &'t BTreeMap<String, Compiled>,
    offered: Option<&'t Toolset>,
}

impl Tools<'_> {
    /// The schema of a tool's arguments, and whether the record declares it.
    fn get(&self, tool: &str) -> Option<(Result<&Compiled, Refusal>, bool)> {
        let name = normalised(tool);
        let offered = self.offered.and_then(|offered| offered.tools.get(&*name));
        if let Some(offered) = offered {
            return Some((offered.as_ref().map_err(|refusal| *refusal), true));
        }
        self.agreed.get(&*name).map(|compiled| (Ok(compiled), false))
    }

    /// `is_call` tells whether it is certain that this is a call: only then an unknown tool or a wrong form proves anything.
    fn check(
        &self,
        tool: &str,
        args: &Value,
        (field, span): (&str, Range<usize>),
        is_call: bool,
        checked: &mut Checked,
        place: impl Fn(&Breach) -> (Cow<'static, str>, Range<usize>),
    ) {
        let field = || Cow::Owned(field.to_owned());
        if args.is_string() {
            let detail = "the arguments of the call are no JSON".to_owned();
            return checked.broken_as("schema/not_json", detail, is_call && self.offered.is_some(), field(), span);
        }
        match self.get(tool) {
            Some((Ok(schema), is_declared)) => checked.take(breaches(schema, args), is_declared, place),
            Some((Err(refusal), _)) => checked.refusals.push(refusal),
            // A tool that only the configuration could know of need not be in it.
            None if self.offered.is_none_or(|offered| offered.tools.is_empty()) => {}
            None => {
                let detail = format!("`{}` is none of the tools that were offered", name(tool));
                checked.broken_as("schema/unknown_tool", detail, is_call, field(), span);
            }
        }
    }
}

fn check_answer(view: &View<'_, '_>, schema: &Compiled, whole: bool, is_declared: bool, checked: &mut Checked) {
    let text = view.response_text();
    let part = view.response.json.as_ref().filter(|part| part.valid);
    let span = part.map(|part| part.span.clone()).or_else(|| {
        // Numbers, booleans and strings in quotation marks are JSON without brackets.
        let trimmed = text.trim();
        let start = text.len() - text.trim_start().len();
        serde_json::from_str::<Value>(trimmed).is_ok().then(|| start..start + trimmed.len())
    });
    let instance = span.as_ref().and_then(|span| serde_json::from_str::<Value>(&text[span.clone()]).ok());
    let Some((span, instance)) = span.zip(instance) else {
        let plain = Value::from(text);
        match schema.for_instance(&plain) {
            Ok((validator, _)) if validator.is_valid(&plain) => checked.checked += 1,
            Ok(_) => {
                let broken = view.response.json.as_ref().map_or(0..text.len(), |part| part.span.clone());
                let detail = "a schema is declared, and the answer holds no JSON that parses".to_owned();
                // Who declines, or says nothing, makes nothing up.
                let says_nothing =
                    text.trim().is_empty() || refusal::classify(text, view.response).0 == refusal::Refusal::Whole;
                let is_declared = is_declared && !says_nothing;
                checked.broken_as("schema/not_json", detail, is_declared, "/response".into(), broken);
            }
            Err(refusal) => checked.refusals.push(refusal),
        }
        return;
    };
    if whole && span.len() != text.trim().len() {
        let detail = "the answer is more than the JSON in it".to_owned();
        return checked.broken_as("schema/not_json", detail, is_declared, "/response".into(), 0..text.len());
    }
    checked.take(breaches(schema, &instance), is_declared, |breach| {
        ("/response".into(), locate::locate(text, span.clone(), &breach.pointer))
    });
}

impl Engine for SchemaValidator {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let mut checked = Checked::default();
        self.answer(view, &mut checked);
        self.calls(view, &mut checked);
        Some(assessment(checked, &self.settings))
    }
}

fn assessment(checked: Checked, settings: &Settings) -> Assessment {
    if checked.checked == 0 {
        return Assessment::not_assessed(checked.refusals.first().copied().unwrap_or("no schema to check against"));
    }
    let status = if checked.broken > 0 { Status::Error } else { Status::Ok };
    let mut assessment = Assessment::new(status, checked.broken as f64 / checked.checked as f64)
        .with("checked", Detail::Count(checked.checked))
        .with("broken", Detail::Count(checked.broken));
    if let Some(refusal) = checked.refusals.first() {
        assessment = assessment.with("not_checked", Detail::Label(refusal));
    }
    let signal = match checked.findings.first() {
        None => Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, (ABSENT_RATIO, RatioSource::Default)),
        Some(first) => {
            let ratio = RatioSource::default_or_config(settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let more = checked.findings.len() - 1;
            let detail = if more > 0 { format!("{}; {more} more", first.detail) } else { first.detail.to_string() };
            let mut signal = Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, ratio).fire(1.0, detail);
            signal.class = Class::proven_if(settings.block && checked.declared);
            signal
        }
    };
    assessment.findings = checked.findings;
    assessment.signal(signal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::testing::with_view;

    fn assess(unit: &str, agreed: Schemas) -> Assessment {
        let engine = SchemaValidator::new(Settings::default(), Arc::new(agreed));
        with_view(unit, |view| engine.assess(view).unwrap())
    }

    /// The rules that `unit` breaks, with the text at each place.
    fn found(unit: &str) -> Vec<(String, String)> {
        let said = assess(unit, Schemas::default());
        with_view(unit, |view| {
            let text = |finding: &Finding| {
                view.record.text_at(&finding.field).unwrap_or_default()[finding.span.clone()].to_owned()
            };
            said.findings.iter().map(|finding| (finding.rule.to_string(), text(finding))).collect()
        })
    }

    #[track_caller]
    fn check(unit: &str, expected: &[(&str, &str)]) {
        let found = found(unit);
        let found: Vec<(&str, &str)> = found.iter().map(|(rule, text)| (rule.as_str(), text.as_str())).collect();
        assert_eq!(found, expected, "{unit}");
    }

    #[test]
    fn of_many_breaches_the_first_is_told() {
        let names: Vec<String> = (0..100).map(|n| format!("k{n}")).collect();
        let schema = Compiled::new(&serde_json::json!({"items": {"required": names}})).unwrap();
        let told = |count: usize| breaches(&schema, &Value::Array(vec![serde_json::json!({}); count])).unwrap().len();
        assert_eq!((told(2), told(3_000)), (FINDINGS_MAX, 1));
    }

    const SCHEMA: &str = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"enum":["x","y"]},"c":{"pattern":"^z"}},"required":["a"],"additionalProperties":false}"#;

    fn answered(response: &str) -> String {
        serde_json::json!({"prompt": "p", "response": response, "expected_schema": serde_json::from_str::<Value>(SCHEMA).unwrap()}).to_string()
    }

    #[test]
    fn answers_against_the_schema_of_the_record() {
        check(&answered(r#"{"a": 1, "b": "x", "c": "zz"}"#), &[]);
        check(&answered("```json\n{\"a\": 1}\n```"), &[]);
        check(&answered(r#"Here: {"b": "x"}"#), &[("schema/missing", r#"{"b": "x"}"#)]);
        check(&answered(r#"{"a": "1"}"#), &[("schema/type", "\"1\"")]);
        check(&answered(r#"{"a": 1, "b": "q"}"#), &[("schema/enum", "\"q\"")]);
        check(&answered(r#"{"a": 1, "c": "q"}"#), &[("schema/pattern", "\"q\"")]);
        check(&answered(r#"{"a": 1, "n": [0]}"#), &[("schema/unexpected", "[0]")]);
        check(&answered(r#"{"a": 1"#), &[("schema/not_json", r#"{"a": 1"#)]);
        check(&answered("Sorry."), &[("schema/not_json", "Sorry.")]);
    }

    #[test]
    fn a_breach_of_a_declared_schema_is_a_proof() {
        let said = assess(&answered("{}"), Schemas::default());
        assert!(said.signals[0].class == Class::Proof && said.signals[0].fired && said.value == Some(1.0));
        assert_eq!(said.findings[0].detail, "the value lacks `a`");
        let fine = assess(&answered(r#"{"a": 1}"#), Schemas::default());
        assert!(!fine.signals[0].fired && fine.value == Some(0.0));
    }

    #[test]
    fn who_declines_or_says_nothing_proves_nothing() {
        for (response, is_proof) in [
            ("I'm sorry, but I can't help with that.", false),
            ("", false),
            (" \n", false),
            ("Here you are: a is 1.", true),
            (r#"{"a": 1"#, true),
        ] {
            let said = assess(&answered(response), Schemas::default());
            let signal = &said.signals[0];
            assert!(signal.fired && (signal.class == Class::Proof) == is_proof, "{response:?}: {said:?}");
        }
    }

    #[test]
    fn what_may_be_a_call_proves_nothing_of_tools_that_nobody_offered() {
        let tools: Value = serde_json::from_str(TOOLS).unwrap();
        let assess = |text: &str| {
            let unit = serde_json::json!({"prompt": "p", "response": text, "tools": tools}).to_string();
            let said = assess(&unit, Schemas::default());
            said.signals.first().map(|signal| (signal.fired, signal.class == Class::Proof))
        };
        for (text, expected) in [
            (r#"{"name":"Ada","parameters":{"x":1}}"#, None),
            (r#"[{"name":"Bob","input":"abc"}]"#, None),
            ("A call stands in <tool_call> tags, as JSON.", None),
            (r#"[{"name":"geo.area","input":{"radius":1}},{"name":"Bob","input":{}}]"#, Some((true, false))),
            ("[area(radius=1)]", Some((true, false))),
            (r#"<tool_call>{"name":"area","arguments":{}}</tool_call>"#, Some((true, true))),
            (r#"{"name":"geo.area","parameters":{"radius":"x"}}"#, Some((true, true))),
        ] {
            assert_eq!(assess(text), expected, "{text}");
        }
    }

    #[test]
    fn forms_in_which_a_schema_is_declared() {
        for schema in [
            serde_json::json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"required": ["a"]}}}),
            serde_json::json!({"name": "n", "schema": {"required": ["a"]}, "strict": true}),
        ] {
            let unit = serde_json::json!({"prompt": "p", "response": "{}", "expected_schema": schema}).to_string();
            check(&unit, &[("schema/missing", "{}")]);
        }
    }

    #[test]
    fn schemas_that_cannot_be_used_are_not_assessed() {
        for schema in [r#"{"$ref":"https://example.com/x"}"#, r##"{"$ref":"#"}"##, r#"{"type":"nonsense"}"#] {
            let unit = format!(r#"{{"prompt":"p","response":"{{}}","expected_schema":{schema}}}"#);
            let said = assess(&unit, Schemas::default());
            assert!(matches!(said.status, Status::NotAssessed(_)) && said.signals.is_empty(), "{schema}");
        }
        assert_eq!(
            assess(r#"{"prompt":"p","response":"r"}"#, Schemas::default()).status,
            Status::NotAssessed("no schema to check against")
        );
    }

    const TOOLS: &str = r#"[{"type":"function","function":{"name":"geo.area","parameters":{"type":"dict","properties":{"radius":{"type":"float"},"unit":{"type":"string","enum":["cm","m"]}},"required":["radius"]}}}]"#;

    #[test]
    fn calls_against_the_tools_that_were_offered() {
        let call = |name: &str, args: &str| {
            format!(
                r#"{{"prompt":"p","response":"","tools":{TOOLS},"tool_calls":[{{"function":{{"name":"{name}","arguments":{args}}}}}]}}"#
            )
        };
        check(&call("geo_area", r#""{\"radius\": 4}""#), &[]);
        check(&call("geo.area", r#"{"radius": 4.5, "unit": "cm"}"#), &[]);
        check(&call("geo.area", r#"{"unit": "km", "radius": 1}"#), &[("schema/enum", "km")]);
        check(&call("geo.area", r#"{"radius": "4"}"#), &[("schema/type", "4")]);
        check(&call("geo.area", "{}"), &[("schema/missing", "")]);
        check(&call("geo.area", r#"{"radius": 4, "color": "red"}"#), &[("schema/unexpected", "red")]);
        check(&call("area", r#"{"radius": 4}"#), &[("schema/unknown_tool", "area")]);
        check(&call("geo.area", r#""{radius: 4""#), &[("schema/not_json", "geo.area")]);
        let written = |text: &str| {
            serde_json::json!({"prompt": "p", "response": text, "tools": serde_json::from_str::<Value>(TOOLS).unwrap()})
                .to_string()
        };
        check(&written("[geo.area(radius='4')]"), &[("schema/type", "geo.area(radius='4')")]);
        check(&written("I cannot do that."), &[]);
        let tool = format!(r#"{{"tool":"geo.area","args":{{"unit":"m"}},"result":1,"tools":{TOOLS}}}"#);
        check(&tool, &[("schema/missing", "")]);
    }

    #[test]
    fn schemas_and_patterns_of_the_configuration() {
        let agreement = |schema: Option<Value>, pattern: &str, whole: bool| {
            let agreement = Agreement { schema, pattern: pattern.to_owned(), whole, ..Agreement::default() };
            let models = BTreeMap::from([("m".to_owned(), agreement)]);
            let tool = ("t".to_owned(), serde_json::json!({"properties": {"n": {"type": "integer"}}}));
            Schemas::new(&models, std::iter::once((&tool.0, &tool.1)), |_| Err(String::new()))
        };
        let record = |text: &str| serde_json::json!({"model": "m", "prompt": "p", "response": text}).to_string();
        let wants_a = || Some(serde_json::json!({"required": ["a"]}));
        let said = assess(&record("So: {}"), agreement(wants_a(), "", false).unwrap());
        assert_eq!((said.findings[0].rule.as_ref(), said.signals[0].class == Class::Proof), ("schema/missing", false));
        let said = assess(&record("So: {\"a\": 1}"), agreement(wants_a(), "", true).unwrap());
        assert_eq!(said.findings[0].rule, "schema/not_json");
        let said = assess(&record("12"), agreement(None, "^[A-Z]", false).unwrap());
        assert_eq!(said.findings[0].rule, "schema/pattern");
        let said = assess(r#"{"tool":"t","args":{"n":"x"},"result":1}"#, agreement(None, "x", false).unwrap());
        assert_eq!(said.findings[0].rule, "schema/type");
        assert!(agreement(None, "", false).is_err() && agreement(None, "(", false).is_err());
        assert!(
            agreement(Some(serde_json::json!({"$ref": "http://x"})), "", false).unwrap_err().contains("never fetched")
        );
    }
}
