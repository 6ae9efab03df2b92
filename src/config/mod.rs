//! Every constant of the audit in one tree of settings: defaults, then `llmverify.toml`, then the command line.
//!
//! - [`Settings`]: the tree; each engine's part is defined beside the engine
//! - [`layers`]: which layer set what, and how the layers are merged
//! - [`template`]: the commented file that `llmverify init` writes
//!
//! Nothing inherits from anything but the defaults: one file counts, the nearest one upward from the working
//! directory. Unknown keys are errors, with a suggestion.

pub mod layers;
pub mod template;

use std::{collections::BTreeMap, mem};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    assemble,
    engines::{Effect, Question, check, facts, grounding, language, runtime, security, tools},
    history, input,
    reader::RecordReader,
    record::mapping::Mapping,
    report::prices::Price,
    verdict::{Decision, gate, judge::Policy, verifiers},
    writers::Writer,
};

pub use crate::text::nearest::nearest;
pub use layers::{ConfigError, Layers, Origin};

/// The name of the configuration file.
pub const FILE_NAME: &str = "llmverify.toml";

/// Whose constants are the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    /// Ours: the seeds', with what simulation and real logs showed to be better.
    #[default]
    Llmverify,
    /// The letter of the seeds or, where they are silent, what their programs do.
    Seed,
}

/// What groups records into streams, each with its own history and its own line in the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// The model of an LLM call, the tool of a tool call.
    #[default]
    Model,
    /// The provider, then the model or tool.
    Provider,
    /// The session, then the model or tool.
    Session,
    /// The label, then the model or tool.
    Label,
}

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whose constants are the defaults: `llmverify`, or `seed` for the letter of the specification.
    pub compat: Compat,
    /// What groups records into streams: `model` (or tool), `provider`, `session`, `label`.
    pub group_by: GroupBy,
    /// Engines to run, by name; empty for all.
    pub only: Vec<String>,
    /// Where a home-made log keeps each field: `latency_ms = "/meta/latency_s:s"`.
    pub map: Mapping,
    /// Limits of the reader.
    pub input: InputSettings,
    /// Limits of what is put together from several units.
    pub assemble: assemble::Limits,
    /// Rules of your own, and which rules are looked for.
    pub rules: RuleSettings,
    /// Constants of the engines.
    pub engines: EngineSettings,
    /// Constants of the ordered memory.
    pub history: history::Settings,
    /// What answers are held against: facts.
    pub knowledge: facts::knowledge::Files,
    /// What answers are held against: when facts hold.
    pub temporal: facts::temporal::Files,
    /// What the answers of a model must look like, by the model's name; `*` for every other.
    pub schemas: BTreeMap<String, facts::schema::Agreement>,
    /// Mode, weights and thresholds of the verifiers.
    pub verifiers: verifiers::Settings,
    /// Prior, thresholds and ceiling of each question.
    pub questions: QuestionPolicies,
    /// Priors and thresholds that differ for one stream (model or tool), by its name.
    pub streams: BTreeMap<String, StreamOverrides>,
    /// What agents may do.
    pub agents: tools::agent::Settings,
    /// What a real result of each tool looks like, by the tool's name.
    pub tools: BTreeMap<String, tools::profile::ToolProfile>,
    /// Ratios, priors and thresholds that were fitted on labelled records.
    pub calibration: CalibrationSettings,
    /// Checks of your own: what must hold of every record, and what is expected of many.
    pub check: Vec<check::Check>,
    /// What tokens cost, by model; the first pattern that matches counts.
    pub prices: Vec<Price>,
    /// What makes an audit fail.
    pub gate: gate::Policy,
}

impl Settings {
    /// The defaults of `compat`.
    pub fn preset(compat: Compat) -> Settings {
        let mut settings = Settings { compat, ..Settings::default() };
        if compat == Compat::Seed {
            settings.engines = EngineSettings::seed();
            settings.history = history::Settings::seed();
            settings.questions.attacked = Policy::default();
            // The policy has the say; `history_settings` hands it on.
            settings.questions.fabricated.needs_evidence = mem::replace(&mut settings.history.needs_evidence, true);
        }
        settings
    }

    /// Whether the engine `name` runs.
    pub fn runs(&self, name: &str) -> bool {
        self.verifiers.mode.runs(name) && (self.only.is_empty() || self.only.iter().any(|only| only == name))
    }

    /// What reads the records: with the mapping, and in the container that was asked for.
    pub fn reader(&self) -> RecordReader {
        RecordReader::new(self.map.clone()).with_writer(Writer::named(&self.input.format).ok())
    }

    /// The settings of the ordered memory, with the thresholds that feedback moves.
    pub fn history_settings(&self) -> history::Settings {
        let usual = self.questions.fabricated;
        let own = |stream: &StreamOverrides| {
            let PolicyOverride { prior, flag_from, block_from, .. } = stream.fabricated;
            history::Override { prior, flag_from, block_from }
        };
        history::Settings {
            fabricated: history::Cuts { prior: usual.prior, flag_from: usual.flag_from, block_from: usual.block_from },
            streams: self.streams.iter().map(|(name, stream)| (name.clone(), own(stream))).collect(),
            needs_evidence: usual.needs_evidence,
            fingerprint: self.engines.fingerprint.weights,
            behaviour: self.engines.identity.behaviour.clone(),
            agents: self.agents.clone(),
            ..self.history.clone()
        }
    }

    /// The policies of one stream, in the order of [`Question::ALL`].
    pub fn policies(&self, stream: &str) -> [Policy; 4] {
        let overrides = self.streams.get(stream);
        Question::ALL.map(|question| {
            let policy = self.questions.of(question);
            overrides.map_or(policy, |stream| stream.of(question).apply(policy))
        })
    }
}

/// Ratios, priors and thresholds that were fitted on labelled records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CalibrationSettings {
    /// A file that `llmverify calibrate` wrote, relative to this file; empty for the built-in calibration alone.
    pub file: String,
}

/// Rules of your own, and which rules are looked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RuleSettings {
    /// Files with rules of your own, in the form that `llmverify rules show ID` prints; relative to this file.
    pub files: Vec<String>,
    /// Rules that are not looked for: an id, or the beginning of ids such as `pii/` or `secret/generic_`.
    pub off: Vec<String>,
    /// Likelihood ratios other than the rule's own, by id.
    pub likelihood_ratio: BTreeMap<String, f64>,
    /// The file of suppressions, relative to this file; empty for llmverify.suppress.toml where there is one beside it.
    pub suppressions: String,
}

impl RuleSettings {
    /// Whether the rule is looked for.
    pub fn looks_for(&self, id: &str) -> bool {
        !self.off.iter().any(|off| id == off || (off.ends_with(['/', '_']) && id.starts_with(off.as_str())))
    }
}

/// Limits of the reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputSettings {
    /// Take every record for one of this container, by the names that `docs/formats.md` lists; empty to detect it.
    #[serde(deserialize_with = "container_name")]
    pub format: String,
    /// A record above this size, in bytes, is rejected by name.
    pub max_record_bytes: u64,
    /// Bytes that are read into one batch; no output depends on it.
    pub batch_bytes: usize,
    /// Only records from this time on: a date or an RFC 3339 time; empty for all.
    pub since: String,
    /// Only records before this time; empty for all.
    pub until: String,
    /// Only so many records, or a share such as `5%`; empty for all.
    pub sample: String,
}

impl Default for InputSettings {
    fn default() -> InputSettings {
        let limits = input::Limits::default();
        InputSettings {
            format: String::new(),
            max_record_bytes: limits.max_record_bytes,
            batch_bytes: limits.batch_bytes,
            since: String::new(),
            until: String::new(),
            sample: String::new(),
        }
    }
}

fn container_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if !name.is_empty() {
        Writer::named(&name).map_err(de::Error::custom)?;
    }
    Ok(name)
}

/// Constants of the engines, one table per engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EngineSettings {
    /// Latency against the stream's baseline.
    pub latency: runtime::latency::Settings,
    /// Tokens per second against the stream's baseline.
    pub token_rate: runtime::token_rate::Settings,
    /// Calls that ended with an error, or without a word.
    pub outcome: runtime::outcome::Settings,
    /// JSON, lists and code blocks in the response.
    pub structure: runtime::structure::Settings,
    /// Structure of the text against the stream's baseline.
    pub fingerprint: runtime::fingerprint::Settings,
    /// The health score.
    pub health: runtime::health::Settings,
    /// What kind of text the response is.
    pub intent: language::intent::Settings,
    /// The hallucination risk heuristic.
    pub hallucination: language::hallucination::Settings,
    /// Shallow answers to hard prompts.
    pub compression: language::compression::Settings,
    /// Instruction rules.
    pub compliance: language::compliance::Settings,
    /// Repair of broken JSON.
    pub json_repair: language::json_repair::Settings,
    /// Answers that decline.
    pub refusal: language::refusal::Settings,
    /// Answers that break off.
    pub truncation: language::truncation::Settings,
    /// Answers that say the same over and over.
    pub repetition: language::repetition::Settings,
    /// Answers that are not made of words.
    pub gibberish: language::gibberish::Settings,
    /// Does the answer only say again what the user said?
    pub echo: language::echo::Settings,
    /// Was the answer filled in?
    pub template: language::template::Settings,
    /// Is the answer in the language that was asked for?
    pub other_language: language::other_language::Settings,
    /// Equations that do not hold.
    pub arithmetic: facts::arithmetic::Settings,
    /// Statements against the knowledge files.
    pub knowledge: facts::knowledge::Settings,
    /// Facts given as current, and dates that cannot be.
    pub temporal: facts::temporal::Settings,
    /// Structured output and tool arguments against their schema.
    pub schema: facts::schema::Settings,
    /// The model that answered against the one that was asked for.
    pub identity: facts::identity::Settings,
    /// Statements that the documents do not bear out.
    pub grounding: grounding::Settings,
    /// Text that tries to subvert the model.
    pub prompt_injection: security::injection::Settings,
    /// Data that speaks to the model.
    pub indirect_injection: security::indirect::Settings,
    /// Data about persons.
    pub pii: security::pii::Settings,
    /// Keys, tokens and passwords.
    pub secrets: security::secrets::Settings,
    /// Links and images that carry data away.
    pub exfiltration: security::exfiltration::Settings,
    /// Content that acts on whoever shows or runs the answer.
    pub active_content: security::active_content::Settings,
    /// The system prompt in the answer.
    pub system_prompt_leak: security::prompt_leak::Settings,
    /// Answers against the results of their own tools.
    pub tool_contradiction: tools::contradiction::Settings,
    /// Tool results: schema, latency, pattern, length.
    pub tools: tools::Settings,
}

impl EngineSettings {
    /// The constants of the seeds. They know no facts: what is found is evidence, and what is looked for only as a fact is not.
    pub fn seed() -> EngineSettings {
        let usual = EngineSettings::default();
        let outcome = runtime::outcome::Settings {
            failed_effect: Effect::Evidence,
            empty_effect: Effect::Evidence,
            ..usual.outcome
        };
        EngineSettings {
            outcome,
            truncation: language::truncation::Settings { effect: Effect::Evidence, ..usual.truncation },
            repetition: language::repetition::Settings { effect: Effect::Evidence, ..usual.repetition },
            gibberish: language::gibberish::Settings { effect: Effect::Evidence, ..usual.gibberish },
            echo: language::echo::Settings { effect: Effect::Off, ..usual.echo },
            template: language::template::Settings { effect: Effect::Off, ..usual.template },
            other_language: language::other_language::Settings { effect: Effect::Off, ..usual.other_language },
            latency: runtime::latency::Settings::seed(),
            token_rate: runtime::token_rate::Settings::seed(),
            fingerprint: runtime::fingerprint::Settings::seed(),
            structure: runtime::structure::Settings::seed(),
            health: runtime::health::Settings::seed(),
            intent: language::intent::Settings::seed(),
            hallucination: language::hallucination::Settings::seed(),
            compression: language::compression::Settings::seed(),
            compliance: language::compliance::Settings::seed(),
            json_repair: language::json_repair::Settings::seed(),
            arithmetic: facts::arithmetic::Settings::seed(),
            tools: tools::Settings::seed(),
            ..EngineSettings::default()
        }
    }
}

/// Prior, thresholds and ceiling of each question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuestionPolicies {
    /// Is the content made up?
    pub fabricated: Policy,
    /// Does the input try to subvert the model?
    pub attacked: Policy,
    /// Does the output give away what it must not?
    pub leaking: Policy,
    /// Is the service unwell?
    pub degraded: Policy,
}

impl Default for QuestionPolicies {
    fn default() -> QuestionPolicies {
        QuestionPolicies {
            // The quick start of seed 002 answers 0.127, which follows from 0.15.
            fabricated: Policy { prior: 0.15, ..Policy::default() },
            // What became of most attacks is not known: it blocks where there is hardly any doubt that it is one.
            attacked: Policy { block_from: 0.9, ..Policy::default() },
            leaking: Policy::default(),
            degraded: Policy { prior: 0.05, ceiling: Decision::Flag, ..Policy::default() },
        }
    }
}

impl QuestionPolicies {
    /// The policies in the order of [`Question::ALL`].
    pub fn all(&self) -> [Policy; 4] {
        Question::ALL.map(|question| self.of(question))
    }

    /// The policy of one question.
    pub fn of(&self, question: Question) -> Policy {
        match question {
            Question::Fabricated => self.fabricated,
            Question::Attacked => self.attacked,
            Question::Leaking => self.leaking,
            Question::Degraded => self.degraded,
        }
    }
}

/// What differs from the general policies for one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamOverrides {
    /// Is the content made up?
    pub fabricated: PolicyOverride,
    /// Does the input try to subvert the model?
    pub attacked: PolicyOverride,
    /// Does the output give away what it must not?
    pub leaking: PolicyOverride,
    /// Is the service unwell?
    pub degraded: PolicyOverride,
}

impl StreamOverrides {
    fn of(&self, question: Question) -> &PolicyOverride {
        match question {
            Question::Fabricated => &self.fabricated,
            Question::Attacked => &self.attacked,
            Question::Leaking => &self.leaking,
            Question::Degraded => &self.degraded,
        }
    }
}

/// The parts of a [`Policy`] that differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyOverride {
    /// P(yes) before any evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<f64>,
    /// A posterior from here on is flagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag_from: Option<f64>,
    /// A posterior from here on is blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_from: Option<f64>,
    /// The worst that this question can decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Decision>,
}

impl PolicyOverride {
    fn apply(&self, policy: Policy) -> Policy {
        Policy {
            prior: self.prior.unwrap_or(policy.prior),
            flag_from: self.flag_from.unwrap_or(policy.flag_from),
            block_from: self.block_from.unwrap_or(policy.block_from),
            ceiling: self.ceiling.unwrap_or(policy.ceiling),
            needs_evidence: policy.needs_evidence,
        }
    }
}
