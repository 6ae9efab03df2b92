//! Does an agent keep to what it may do? Tools outside of an allow list, and what history needs to see flows and loops.
//!
//! **Formula**: 1 when a tool is called whose name matches no pattern of the allow list: that of the first entry in
//! `agents.models` whose pattern the model matches, else `agents.allow`. Patterns are globs; an empty list allows all. A
//! record that names no model may be of any: its tool must be on one of the lists that there are, and is allowed where a
//! model may call all.
//!
//! **Range**: 0 (allowed) or 1 (not allowed).
//!
//! **Source**: ours. OWASP LLM06:2025 (excessive agency) for the need of such a list; what it holds is the user's.
//!
//! **Limits**: names alone are compared, not arguments. A call that an answer asks for and the tool record of the same call
//! are judged each. Flows beyond [`FLOWS_MAX`] are refused when the audit is set up.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher, GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    engines::{
        About, Assessment, Class, Detail, Engine, Finding, Question, RatioSource, Row, Severity, Signal, SignalAbout,
        Status, Tier, View,
    },
    record::{Kind, Record, json::Json},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds calls of tools that the configuration does not allow.",
    formula: "1 when the name of a called tool matches no pattern of the allow list",
    range: "0 (allowed) or 1 (not allowed)",
    source: "llmverify; OWASP LLM06:2025",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Attacked,
        title: "A tool is called that is not on the allow list.",
        owasp: "LLM06",
        help: "Take the tool away from the agent, or put it on the list.",
    }],
};

/// The engine and its signal.
pub const SIGNAL: &str = "agent_tool_not_allowed";
/// The rule of its findings.
pub const RULE: &str = "agent/tool_not_allowed";
/// Ours, modest: a breach of a list that the user states is a proof, unless the user says otherwise.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Flows that can be named.
pub const FLOWS_MAX: usize = 64;
/// Findings of one record.
const FINDINGS_MAX: usize = 20;

/// What agents may do, and how the breach of it counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Tools that may be called, as globs (`get_*`); empty for all.
    pub allow: Vec<String>,
    /// Lists for single models, by a glob of the model's name; the first that matches counts, in the order of the globs.
    pub models: BTreeMap<String, ModelSettings>,
    /// Flows that must not be: after a tool of `from`, a tool of `to` in the same session.
    pub flow: Vec<Flow>,
    /// Whether a tool outside of the list, or a flow that must not be, blocks by itself.
    pub block: bool,
    /// P(fires | attacked) / P(fires | not) of a tool outside of the list.
    pub likelihood_ratio: f64,
    /// P(fires | leaking) / P(fires | not) of a flow.
    pub flow_likelihood_ratio: f64,
    /// P(fires | degraded) / P(fires | well) of the same call over and over.
    pub repeat_likelihood_ratio: f64,
    /// P(fires | degraded) / P(fires | well) of calls in a loop.
    pub loop_likelihood_ratio: f64,
    /// How often the same call must have given the same result, among the last 20 of the session.
    pub repeats_min: u32,
    /// How often a sequence of calls must have come, one after another.
    pub loops_min: u32,
    /// Sessions that are remembered.
    pub sessions_max: usize,
}

/// What one model may do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// Tools that may be called, as globs; empty for all.
    pub allow: Vec<String>,
}

/// A flow that must not be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Flow {
    /// Tools that bring something in, as globs (`read_*`).
    pub from: Vec<String>,
    /// Tools that give something away, as globs (`send_*`).
    pub to: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            allow: Vec::new(),
            models: BTreeMap::new(),
            flow: Vec::new(),
            block: true,
            likelihood_ratio: LIKELIHOOD_RATIO,
            flow_likelihood_ratio: LIKELIHOOD_RATIO,
            repeat_likelihood_ratio: LIKELIHOOD_RATIO,
            loop_likelihood_ratio: LIKELIHOOD_RATIO,
            repeats_min: 3,
            loops_min: 3,
            sessions_max: 16_384,
        }
    }
}

/// What agents may do, ready to be asked.
#[derive(Debug, Default)]
pub struct Policy {
    allow: Option<GlobSet>,
    models: Vec<(GlobMatcher, Option<GlobSet>)>,
    flows: Vec<(GlobSet, GlobSet)>,
}

impl Policy {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// When one is no glob, or there are too many flows.
    pub fn new(settings: &Settings) -> Result<Policy, String> {
        let glob = |pattern: &String| Glob::new(pattern).map_err(|why| format!("`{pattern}` is no pattern: {why}"));
        let set = |patterns: &[String]| {
            let mut builder = GlobSetBuilder::new();
            for pattern in patterns {
                builder.add(glob(pattern)?);
            }
            builder.build().map_err(|why| why.to_string())
        };
        let list = |patterns: &[String]| if patterns.is_empty() { Ok(None) } else { set(patterns).map(Some) };
        if settings.flow.len() > FLOWS_MAX {
            return Err(format!("more than {FLOWS_MAX} flows"));
        }
        let model =
            |(pattern, model): (&String, &ModelSettings)| Ok((glob(pattern)?.compile_matcher(), list(&model.allow)?));
        Ok(Policy {
            allow: list(&settings.allow)?,
            models: settings.models.iter().map(model).collect::<Result<_, String>>()?,
            flows: settings
                .flow
                .iter()
                .map(|flow| Ok((set(&flow.from)?, set(&flow.to)?)))
                .collect::<Result<_, String>>()?,
        })
    }

    /// Whether a model may call a tool; `None` when no list says so.
    pub fn allows(&self, model: Option<&str>, tool: &str) -> Option<bool> {
        let Some(model) = model.filter(|model| !model.trim().is_empty()) else { return self.anyone_allows(tool) };
        let own = self.models.iter().find(|(pattern, _)| pattern.is_match(model));
        let list = own.map_or(&self.allow, |(_, list)| list).as_ref()?;
        Some(list.is_match(tool))
    }

    /// Whether a model that is not named may call a tool. A call out of a conversation names none, and is often of a model
    /// with a list of its own, so that the list for all others alone would be too strict; no list would be too lax.
    fn anyone_allows(&self, tool: &str) -> Option<bool> {
        let mut lists: Vec<&GlobSet> = self.models.iter().map(|(_, list)| list.as_ref()).collect::<Option<_>>()?;
        lists.extend(&self.allow);
        if lists.is_empty() { None } else { Some(lists.iter().any(|list| list.is_match(tool))) }
    }

    /// Whether there is a list at all.
    fn has_lists(&self) -> bool {
        self.allow.is_some() || !self.models.is_empty()
    }

    /// The flows that a tool begins, and those that it ends, as bits.
    fn flows_of(&self, tool: &str) -> (u64, u64) {
        self.flows.iter().enumerate().fold((0, 0), |(from, to), (index, (begins, ends))| {
            let bit = |is_one: bool| u64::from(is_one) << index;
            (from | bit(begins.is_match(tool)), to | bit(ends.is_match(tool)))
        })
    }
}

/// Writes into `row` what history needs to judge what an agent does.
pub fn fill_row(record: &Record<'_>, policy: &Policy, row: &mut Row) {
    let Some(tool) = record.tool.as_deref().filter(|_| record.kind == Kind::Tool) else { return };
    (row.flows_begun, row.flows_ended) = policy.flows_of(tool);
    row.tool_bytes = tool.len();
    // Calls are compared within sessions only.
    row.result = record.result.as_ref().filter(|_| row.session.is_some()).map(Json::canonical_hash);
}

/// Are all tools allowed?
pub struct AllowList {
    policy: std::sync::Arc<Policy>,
    settings: Settings,
}

impl AllowList {
    /// The engine with its list.
    pub fn new(settings: Settings, policy: std::sync::Arc<Policy>) -> AllowList {
        AllowList { policy, settings }
    }
}

impl Engine for AllowList {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        if !self.policy.has_lists() {
            return None;
        }
        let (record, model) = (view.record, view.record.model.as_deref());
        let asked = record.tool_calls.iter().enumerate();
        let mut called: Vec<(String, &str)> =
            asked.map(|(index, call)| (format!("/tool_calls/{index}/name"), &*call.name)).collect();
        if record.kind == Kind::Tool {
            called.extend(record.tool.as_deref().map(|tool| ("/tool".to_owned(), tool)));
        }
        let judged: Vec<(String, &str, bool)> = called
            .into_iter()
            .filter_map(|(field, tool)| Some((field, tool, self.policy.allows(model, tool)?)))
            .collect();
        if judged.is_empty() {
            return None;
        }
        let breaches = judged.iter().filter(|(_, _, is_allowed)| !is_allowed);
        let findings: Vec<Finding> = breaches
            .clone()
            .take(FINDINGS_MAX)
            .map(|(field, tool, _)| Finding::new(RULE, Severity::High, field.clone(), 0..tool.len()))
            .collect();
        let count = breaches.count();
        let ratio = RatioSource::default_or_config(self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let mut signal = Signal::absent(SIGNAL, Question::Attacked, Tier::Zero, ratio);
        let (status, value) = if count > 0 { (Status::Error, 1.0) } else { (Status::Ok, 0.0) };
        if count > 0 {
            signal = signal.fire(1.0, format!("{count} of {} called tools are not on the allow list", judged.len()));
            signal.class = Class::proven_if(self.settings.block);
        }
        let mut said = Assessment::new(status, value)
            .with("called", Detail::Count(judged.len() as u64))
            .with("not_allowed", Detail::Count(count as u64))
            .signal(signal);
        said.findings = findings;
        Some(said)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engines::testing::with_view;

    fn settings(text: &str) -> Settings {
        toml::from_str(text).unwrap()
    }

    fn engine(text: &str) -> AllowList {
        let settings = settings(text);
        AllowList::new(settings.clone(), Arc::new(Policy::new(&settings).unwrap()))
    }

    #[test]
    fn the_list_of_the_model_comes_before_that_of_all() {
        let engine = engine("allow = ['get_*']\n[models.'claude-*']\nallow = ['Bash', 'Read']\n[models.'gpt-5*']\n");
        for (model, tool, expected) in [
            // A model that is not named may be one that may call all.
            (None, "send_mail", None),
            (Some("other"), "get_weather", Some(true)),
            (Some("gpt-4o"), "send_mail", Some(false)),
            (Some("claude-sonnet-4"), "Bash", Some(true)),
            (Some("claude-sonnet-4"), "get_weather", Some(false)),
            (Some("gpt-5-mini"), "send_mail", None),
        ] {
            assert_eq!(engine.policy.allows(model, tool), expected, "{model:?} {tool}");
        }
        assert!(Policy::new(&settings("allow = ['[']")).is_err());
    }

    #[test]
    fn the_lists_hold_for_records_that_name_no_model() {
        let models = "[models.'claude-*']\nallow = ['Bash', 'Read']\n[models.'gpt-4*']\nallow = ['search']\n";
        for (lists, tool, expected) in [
            ("allow = ['get_*']", "get_weather", Some(true)),
            ("allow = ['get_*']", "rm", Some(false)),
            (models, "Bash", Some(true)),
            (models, "search", Some(true)),
            (models, "rm", Some(false)),
            (&format!("allow = ['get_*']\n{models}"), "get_weather", Some(true)),
            (&format!("allow = ['get_*']\n{models}"), "rm", Some(false)),
            (&format!("{models}[models.'free-*']\n"), "rm", None),
            ("", "rm", None),
        ] {
            let engine = engine(lists);
            for model in [None, Some(""), Some(" ")] {
                assert_eq!(engine.policy.allows(model, tool), expected, "{lists} {model:?} {tool}");
            }
            let record = format!(r#"{{"tool":"{tool}","args":{{}},"result":{{}}}}"#);
            let fired = with_view(&record, |view| engine.assess(view)).map(|said| said.signals[0].fired);
            assert_eq!(fired, expected.map(|allowed| !allowed), "{lists} {tool}");
            let asked = format!(r#"{{"prompt":"p","tool_calls":[{{"name":"{tool}","arguments":{{}}}}]}}"#);
            let fired = with_view(&asked, |view| engine.assess(view)).map(|said| said.signals[0].fired);
            assert_eq!(fired, expected.map(|allowed| !allowed), "asked {lists} {tool}");
        }
    }

    #[test]
    fn a_call_outside_of_the_list_is_a_proof_and_a_finding() {
        let engine = engine("allow = ['get_*']");
        let tool = r#"{"tool":"send_mail","args":{},"result":{}}"#;
        let said = with_view(tool, |view| engine.assess(view)).unwrap();
        assert!(said.signals[0].fired && said.signals[0].class == Class::Proof);
        assert_eq!((said.findings[0].field.as_ref(), said.findings[0].span.clone()), ("/tool", 0..9));
        let asked = r#"{"prompt":"p","tool_calls":[{"name":"get_x","arguments":{}},{"name":"rm","arguments":{}}]}"#;
        let said = with_view(asked, |view| engine.assess(view)).unwrap();
        assert_eq!(said.findings[0].field.as_ref(), "/tool_calls/1/name");
        assert!(with_view(r#"{"prompt":"p","response":"r"}"#, |view| engine.assess(view)).is_none());
        assert!(with_view(tool, |view| self::engine("").assess(view)).is_none());
    }

    #[test]
    fn flows_are_bits() {
        let policy =
            settings("[[flow]]\nfrom=['read_*']\nto=['send_*','post_*']\n[[flow]]\nfrom=['db_*']\nto=['send_*']");
        let policy = Policy::new(&policy).unwrap();
        assert_eq!(policy.flows_of("read_file"), (1, 0));
        assert_eq!(policy.flows_of("send_mail"), (0, 3));
        assert_eq!(policy.flows_of("other"), (0, 0));
    }
}
