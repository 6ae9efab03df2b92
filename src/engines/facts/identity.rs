//! Did the model answer that was asked?
//!
//! Where the log names both, the model that was asked for is compared with the one that answered. Else, and besides, the
//! form of the provider's id, a word for why the model stopped that only one of them has, and whose model the answer says
//! that it is, must fit the name of the model. What only the
//! stream's history can tell, a version that changed and an answer unlike the model's usual ones, is asked in the ordered
//! stage ([`Behaviour`]).
//!
//! **Formula**: both names are cut into family, version, words for the size, and what is left. Provider prefixes, suffixes
//! behind a colon, how a version is spelled (`3-5`, `35`), `latest`, `preview`, `thinking`, `prod` and the like name no other
//! model. Another family, version or size is another model; what is left on one side only tells nothing. value = 1 for
//! another model or pinned version; [`ALIAS_SCORE`] where the name that was asked for has a word that whoever deployed it
//! chose, and only its family is that of the answer; else signs that do not fit / signs that were looked at.
//!
//! **Range**: 0 (as declared) to 1 (another model). A log that does not tell is not assessed, which is no pass.
//!
//! **Source**: seed 003, verifier 01 (Model Fingerprinter): substitution, version drift, undisclosed changes; a mismatch is
//! deterministic. It flags, and blocks with `strict`: another model's answer need not be made up. The forms of ids are those of the providers' own references.
//!
//! **Limits**: a name of no family that is known ([`FAMILIES`]) is an alias and may stand for anything. Deployments of Azure
//! are called freely (`gpt-4-prod` before GPT-4o): one with a word that no model has ([`VARIANTS`]) is no proof within its
//! family, one without (`gpt-4` before GPT-4o) cannot be told from a model; `aliases` says what it stands for. Models with open
//! weights have many names: only another family or another size is another model. Everyone speaks the OpenAI dialect, so
//! that `chatcmpl-` and `stop` say nothing of others; gateways rewrite ids, so that a wrong sign is evidence and no proof.
//! What an answer says of itself counts in English, of the models of OpenAI, Anthropic and Google, and where nothing that the
//! model was given names who it says it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    engines::{
        About, Assessment, Class, Detail, Effect, Engine, Finding, Question, RatioSource, Severity, Signal,
        SignalAbout, Status, Tier, View, row::ModelNames,
    },
    hash,
    record::{Kind, Record},
    text::{excerpt::name, sentence},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: NAME,
    summary: "Answers of another model than the one that was asked for.",
    formula: "1 for another model or version; else signs (form of the id, finish reason, what the answer says of itself) that do not fit / signs looked at",
    range: "0 (as declared) to 1 (another model); not assessed when the log cannot tell",
    source: "seed 003, verifier 01",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "Another model answered than the one that was asked for.",
        owasp: "LLM03",
        help: "Look at routing, fallbacks and aliases.",
    }],
};

/// What is known of [`DRIFT_SIGNAL`].
pub const DRIFT_ABOUT: About = About {
    name: DRIFT_SIGNAL,
    summary: "Finds the first answer of another version behind the same name of a model.",
    formula: "1 when the name that answered is new for the name that was asked for, which others answered before",
    range: "0 (known) or 1 (new)",
    source: "seed 003, verifier 01",
    signals: &[SignalAbout {
        id: DRIFT_SIGNAL,
        question: Question::Degraded,
        title: "Another version answers behind the same name.",
        owasp: "LLM03",
        help: "Pin the version, or accept the new one and evaluate it.",
    }],
};

/// What is known of [`BEHAVIOUR_SIGNAL`].
pub const BEHAVIOUR_ABOUT: About = About {
    name: BEHAVIOUR_SIGNAL,
    summary: "Finds answers unlike the model's usual ones in style and in pace at once.",
    formula: "style beyond 3 sigma of its chart: 0.5 for each of latency and speed that is beyond 3 sigma of its own",
    range: "0 (as usual) to 1 (style, latency and speed are unusual)",
    source: "seed 003, verifier 01",
    signals: &[SignalAbout {
        id: BEHAVIOUR_SIGNAL,
        question: Question::Fabricated,
        title: "The answer is unlike the model's usual ones in style and in pace at once.",
        owasp: "LLM03",
        help: "Find out which model really answered.",
    }],
};

/// The engine.
pub const NAME: &str = "identity";
/// The signal of names and signs.
pub const SIGNAL: &str = "model_mismatch";
/// The signal of a version that changed.
pub const DRIFT_SIGNAL: &str = "model_version_drift";
/// The signal of an answer unlike the model's usual ones.
pub const BEHAVIOUR_SIGNAL: &str = "model_behaviour";
/// Another model than the one that was asked for: which one answered says little of what it says.
pub const LIKELIHOOD_RATIO: f64 = 2.0;
/// Signs that do not fit: gateways rewrite them.
pub const SIGN_RATIO: f64 = 3.0;
/// A version that changed is news and hardly a fault.
pub const DRIFT_RATIO: f64 = 1.5;
/// An answer that is unusual in two ways at once.
pub const BEHAVIOUR_RATIO: f64 = 2.0;
/// Sigmas beyond which a measure is unusual: seed 002's limit.
pub const BEHAVIOUR_SIGMAS: f64 = 3.0;
/// Score of a name that whoever deployed the model chose, and that sounds like another one of the family.
pub const ALIAS_SCORE: f64 = 0.5;
/// The ratio with which names that agree speak against fabrication.
const ABSENT_RATIO: f64 = 1.2;
/// Bytes of a name that are read.
const NAME_BYTES_MAX: usize = 256;

/// Settings of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether another model than the one that was asked for blocks by itself.
    pub strict: bool,
    /// What another model counts as, where that is not strict: `fact`, `evidence`, `off`.
    pub effect: Effect,
    /// Names of your own for models: `prod-chat = "gpt-4o"`.
    pub aliases: BTreeMap<String, String>,
    /// P(another model | fabricated) / P(another model | not).
    pub likelihood_ratio: f64,
    /// The same for signs that do not fit.
    pub sign_likelihood_ratio: f64,
    /// Constants of what only history can tell.
    pub behaviour: Behaviour,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            strict: false,
            effect: Effect::Fact,
            aliases: BTreeMap::new(),
            likelihood_ratio: LIKELIHOOD_RATIO,
            sign_likelihood_ratio: SIGN_RATIO,
            behaviour: Behaviour::default(),
        }
    }
}

/// Constants of what only history can tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Behaviour {
    /// Whether latency, speed and style together are held against the model's usual ones.
    pub detect: bool,
    /// Sigmas beyond which a measure is unusual.
    pub sigmas: f64,
    /// P(two unusual measures | fabricated) / P(two | not).
    pub likelihood_ratio: f64,
    /// P(the version changed | degraded) / P(it changed | not).
    pub drift_likelihood_ratio: f64,
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            detect: true,
            sigmas: BEHAVIOUR_SIGMAS,
            likelihood_ratio: BEHAVIOUR_RATIO,
            drift_likelihood_ratio: DRIFT_RATIO,
        }
    }
}

/// Score of distances (in sigmas) from what is usual: the style must be beyond `sigmas`, and latency or speed with it,
/// which by themselves only tell a slow service.
pub fn behaviour_score(style: Option<f64>, pace: [Option<f64>; 2], sigmas: f64) -> Option<f64> {
    let is_beyond = |distance: f64| distance.abs() > sigmas;
    let style = style?;
    let known = pace.into_iter().flatten();
    known.clone().next()?;
    let unusual = known.filter(|distance| is_beyond(*distance)).count();
    Some(if is_beyond(style) { 0.5 * unusual as f64 } else { 0.0 })
}

/// Who makes a family of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// OpenAI.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini.
    Google,
    /// Models whose weights anyone may serve.
    Open,
}

/// The first word of a name, the family and its maker.
pub const FAMILIES: [(&str, Maker); 22] = [
    ("gpt", Maker::OpenAi),
    ("chatgpt", Maker::OpenAi),
    ("o1", Maker::OpenAi),
    ("o3", Maker::OpenAi),
    ("o4", Maker::OpenAi),
    ("claude", Maker::Anthropic),
    ("gemini", Maker::Google),
    ("llama", Maker::Open),
    ("llama2", Maker::Open),
    ("llama3", Maker::Open),
    ("mistral", Maker::Open),
    ("mixtral", Maker::Open),
    ("qwen", Maker::Open),
    ("qwen2", Maker::Open),
    ("qwen3", Maker::Open),
    ("deepseek", Maker::Open),
    ("gemma", Maker::Open),
    ("phi", Maker::Open),
    ("falcon", Maker::Open),
    ("yi", Maker::Open),
    ("command", Maker::Open),
    ("granite", Maker::Open),
];

/// Words that tell no model from another: how far it is, how hard it thinks, how it is billed, where it runs.
const WORDS_WITHOUT_MEANING: [&str; 25] = [
    "latest",
    "preview",
    "exp",
    "experimental",
    "beta",
    "ga",
    "chat",
    "hf",
    "thinking",
    "reasoning",
    "high",
    "low",
    "minimal",
    "prod",
    "production",
    "staging",
    "dev",
    "test",
    "free",
    "extended",
    "nitro",
    "floor",
    "online",
    "exacto",
    "0",
];
/// Words that stand in names of deployments and in no name of a model.
const DEPLOYMENT_WORDS: [&str; 5] = ["prod", "production", "staging", "dev", "test"];
/// Words of variants in the names that OpenAI, Anthropic and Google give; any other word is one of a deployment.
pub const VARIANTS: [&str; 22] = [
    "vision",
    "audio",
    "realtime",
    "search",
    "transcribe",
    "tts",
    "image",
    "instruct",
    "codex",
    "deep",
    "research",
    "chatgpt",
    "oss",
    "live",
    "native",
    "dialog",
    "computer",
    "use",
    "max",
    "text",
    "embedding",
    "spark",
];
/// Words for the size of a model within its family and version.
const SIZES: [&str; 14] = [
    "nano", "mini", "turbo", "pro", "ultra", "flash", "lite", "haiku", "sonnet", "opus", "instant", "small", "medium",
    "large",
];
/// Snapshots of `gpt-4` that are `gpt-4-turbo`: "GPT-4 Turbo preview models" in OpenAI's list of models.
const TURBO_SNAPSHOTS: [&str; 2] = ["1106", "0125"];

/// What models of the large providers call themselves: the maker, its name, and those of its models.
const OWN_WORDS: [(Maker, &str, &[&str]); 3] = [
    (Maker::Anthropic, "Anthropic", &["Claude"]),
    (Maker::OpenAi, "OpenAI", &["ChatGPT", "GPT"]),
    (Maker::Google, "Google", &["Gemini", "Bard"]),
];
/// Places of a maker's name that are looked at.
const CLAIMS_MAX: usize = 4;

/// A name of a model, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelName {
    /// Its maker.
    pub maker: Maker,
    /// Its family, without a version.
    pub family: &'static str,
    /// The version, `3.5` for `3-5` and `35`, and `4` for `4.0`.
    pub version: Option<String>,
    /// Words for its size.
    pub sizes: BTreeSet<String>,
    /// What is left over, and may be a variant or a word of whoever serves it.
    pub words: BTreeSet<String>,
    /// The version that it is pinned to: a date or a number of a snapshot.
    pub snapshot: Option<String>,
    /// Whether a word in it is one of a deployment, and of no model.
    pub is_alias: bool,
}

impl ModelName {
    /// `None` for a name of no family that is known: an alias.
    pub fn of(name: &str) -> Option<ModelName> {
        let lower = name.get(..NAME_BYTES_MAX).unwrap_or(name).trim().to_ascii_lowercase();
        if lower.starts_with("ft:") || lower.starts_with("arn:") {
            return None;
        }
        // Providers and regions stand before the name: `openai/gpt-4o`, `us.anthropic.claude-3-haiku-20240307-v1:0`.
        let bare = lower.rsplit('/').next().unwrap_or(&lower);
        let bare = ["anthropic.", "meta.", "mistral.", "cohere."]
            .iter()
            .find_map(|prefix| bare.find(prefix).map(|at| &bare[at + prefix.len()..]))
            .unwrap_or(bare);
        let bare = bare.strip_prefix("meta-").unwrap_or(bare);
        let parts = bare.split(['-', '_', '@', ' ']).flat_map(|part| {
            // Bedrock's `v2:1` is one word; any other colon stands before a suffix.
            if release(part).is_some() { vec![part] } else { part.split(':').collect() }
        });
        let mut parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let first = *parts.first()?;
        let stem = first.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let known = |word: &str| FAMILIES.iter().find(|(family, _)| *family == word);
        let (family, maker) = match known(stem) {
            Some(found) => {
                parts[0] = &first[stem.len()..];
                *found
            }
            None => {
                parts[0] = "";
                *known(first)?
            }
        };
        let (sizes, words) = (BTreeSet::new(), BTreeSet::new());
        let mut name = ModelName { maker, family, version: None, sizes, words, snapshot: None, is_alias: false };
        if family == "chatgpt" {
            name.family = "gpt";
            name.words.insert(family.to_owned());
        }
        name.read(&parts);
        name.is_alias = maker != Maker::Open
            && (parts.iter().any(|part| DEPLOYMENT_WORDS.contains(part))
                || name.words.iter().any(|word| !VARIANTS.contains(&word.as_str())));
        let is_turbo = name.words.contains("vision")
            || name.snapshot.as_deref().is_some_and(|snapshot| TURBO_SNAPSHOTS.contains(&snapshot));
        if name.is_gpt_4() && is_turbo {
            name.sizes.insert("turbo".to_owned());
        }
        Some(name)
    }

    /// Reads what follows on the family; the first of `parts` is what stood in one word with it.
    fn read(&mut self, parts: &[&str]) {
        let mut index = 0;
        while let Some(part) = parts.get(index).copied() {
            let rest = &parts[index..];
            index += 1;
            if part.is_empty() {
                continue;
            }
            if let Some((date, length)) = date(rest).filter(|_| self.snapshot.is_none()) {
                self.snapshot = Some(date);
                index += length - 1;
            } else if let Some(release) = release(part) {
                // `claude-v2:1` is Claude 2.1; the `v1:0` behind a whole name is a release of the service.
                if self.version.is_none() && index <= 2 {
                    self.version = Some(release);
                }
            } else if self.version.is_none() && is_version(part) {
                let minor = rest[1..].iter().take_while(|part| is_digits(part, 1)).take(1).copied();
                let version: Vec<&str> = std::iter::once(part).chain(minor).collect();
                index += version.len() - 1;
                self.version = Some(self.written(&version.join(".")));
            } else if is_context_size(part) {
                // The one model that is sold in two sizes of context.
                if self.is_gpt_4() {
                    self.sizes.insert(part.to_owned());
                }
            } else if part == "medium" && self.maker != Maker::Open {
                // How hard it thinks; others have models of this size.
            } else if is_size(part) || SIZES.contains(&part) {
                self.sizes.insert(part.to_owned());
            } else if !WORDS_WITHOUT_MEANING.contains(&part) {
                self.words.insert(part.to_owned());
            }
        }
    }

    /// A version by one spelling: `35` is 3.5, where no family has come to 10 yet, and `4.0` is 4.
    fn written(&self, version: &str) -> String {
        let version = match version.as_bytes() {
            [major, minor] if self.maker != Maker::Open && minor.is_ascii_digit() => {
                format!("{}.{}", char::from(*major), char::from(*minor))
            }
            _ => version.to_owned(),
        };
        version.strip_suffix(".0").map(str::to_owned).unwrap_or(version)
    }

    fn is_gpt_4(&self) -> bool {
        self.family == "gpt" && self.version.as_deref() == Some("4")
    }

    /// The words for a size that count parameters, or those that do not.
    fn sizes(&self, counts_parameters: bool) -> Vec<&String> {
        self.sizes.iter().filter(|size| is_size(size) == counts_parameters).collect()
    }
}

fn is_digits(part: &str, length: usize) -> bool {
    part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// The snapshot that `parts` begin with, and how many of them it takes: `2024-05-13`, `08-2024`, `05-20`, `0613`,
/// `20250219`, and the `001` of Google's versions.
fn date(parts: &[&str]) -> Option<(String, usize)> {
    let has = |lengths: &[usize]| {
        parts.len() >= lengths.len() && lengths.iter().zip(parts).all(|(length, part)| is_digits(part, *length))
    };
    let is_month = |month: &str| ("01"..="12").contains(&month);
    if has(&[4, 2, 2]) {
        return Some((parts[..3].concat(), 3));
    }
    if has(&[2, 4]) && is_month(parts[0]) && parts[1].starts_with("20") {
        return Some((format!("{}{}", parts[1], parts[0]), 2));
    }
    if has(&[2, 2]) && is_month(parts[0]) && ("01"..="31").contains(&parts[1]) {
        return Some((parts[..2].concat(), 2));
    }
    [3, 4, 6, 8].iter().any(|length| has(&[*length])).then(|| (parts[0].to_owned(), 1))
}

/// `v2` → 2, `v2:1` → 2.1.
fn release(part: &str) -> Option<String> {
    let number = part.strip_prefix('v')?.replace(':', ".");
    let is_number = number.split('.').all(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    is_number.then(|| number.strip_suffix(".0").unwrap_or(&number).to_owned())
}

/// `4`, `3.5`, `35`, `4o`.
fn is_version(part: &str) -> bool {
    let number = part.strip_suffix('o').unwrap_or(part);
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    let is_short = |digits: &str| is_digits(digits, 1) || is_digits(digits, 2);
    is_short(major) && is_short(minor)
}

/// `16k`, `128k`.
fn is_context_size(part: &str) -> bool {
    part.strip_suffix('k').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `70b`, `8x7b`.
fn is_size(word: &str) -> bool {
    word.strip_suffix('b').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'x'))
    })
}

/// How the model that answered relates to the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same, as far as the names say.
    Same,
    /// Another model.
    Other,
    /// The same model in another version than the one that was asked for.
    OtherVersion,
    /// A model of the same family, other than the name of a deployment sounds like.
    Alias,
    /// The names do not tell.
    Unknown,
}

/// Compares two names.
pub fn relation(declared: &str, served: &str) -> Relation {
    if declared.trim().eq_ignore_ascii_case(served.trim()) {
        return Relation::Same;
    }
    let Some((asked, answered)) = ModelName::of(declared).zip(ModelName::of(served)) else { return Relation::Unknown };
    let may_be_called_so = asked.is_alias && asked.family == answered.family;
    match relation_of(asked, answered) {
        Relation::Other | Relation::OtherVersion if may_be_called_so => Relation::Alias,
        relation => relation,
    }
}

fn relation_of(asked: ModelName, answered: ModelName) -> Relation {
    if asked.maker != answered.maker || asked.family != answered.family {
        // A model that was made from another has the names of both.
        let is_made_from = asked.words.contains(answered.family) || answered.words.contains(asked.family);
        return if is_made_from { Relation::Unknown } else { Relation::Other };
    }
    if asked.maker == Maker::Open {
        let differs = |counts_parameters| {
            let (a, b) = (asked.sizes(counts_parameters), answered.sizes(counts_parameters));
            !a.is_empty() && !b.is_empty() && a != b
        };
        return if differs(true) || differs(false) { Relation::Other } else { Relation::Unknown };
    }
    if let Some(relation) = relation_of_sizes(&asked, &answered) {
        return relation;
    }
    if asked.words != answered.words {
        return Relation::Unknown;
    }
    match (asked.snapshot, answered.snapshot) {
        (Some(asked), Some(answered)) if asked.len().min(answered.len()) < 4 && asked.len() != answered.len() => {
            Relation::Unknown
        }
        (Some(asked), Some(answered)) if !is_same_snapshot(&asked, &answered) => Relation::OtherVersion,
        _ => Relation::Same,
    }
}

/// What sizes and versions say of two names of one family; `None` when they do not part them.
fn relation_of_sizes(asked: &ModelName, answered: &ModelName) -> Option<Relation> {
    let Some((a, b)) = asked.version.as_ref().zip(answered.version.as_ref()) else {
        // A name without a number stands for whatever is current.
        return match (asked.version.is_none(), asked.sizes == answered.sizes) {
            (_, true) => None,
            (true, _) if asked.sizes.is_empty() => None,
            (true, _) if asked.sizes.is_subset(&answered.sizes) => Some(Relation::Unknown),
            (false, _) if answered.sizes.is_empty() => Some(Relation::Unknown),
            _ => Some(Relation::Other),
        };
    };
    // Up to Claude 2 a whole number stood for the newest of its versions.
    let stands_for_newest = asked.maker == Maker::Anthropic && matches!(a.as_str(), "1" | "2");
    let is_same = a == b || (stands_for_newest && b.strip_prefix(a.as_str()).is_some_and(|rest| rest.starts_with('.')));
    (!is_same || asked.sizes != answered.sizes).then_some(Relation::Other)
}

/// `0613` and `20230613` are one.
fn is_same_snapshot(a: &str, b: &str) -> bool {
    a == b || (a.len() == 4 && b.len() == 8 && b.ends_with(a)) || (b.len() == 4 && a.len() == 8 && a.ends_with(b))
}

/// Who gives out ids of this form; `None` for forms that anyone uses.
pub fn maker_of_id(id: &str) -> Option<Maker> {
    let is_plain = |rest: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    if let Some(rest) = id.strip_prefix("msg_") {
        let rest = ["bdrk_", "vrtx_"].iter().find_map(|prefix| rest.strip_prefix(prefix)).unwrap_or(rest);
        return (rest.starts_with("01") && is_plain(rest, 24..=24)).then_some(Maker::Anthropic);
    }
    // Other servers write their own ids behind these prefixes: UUIDs with hyphens, or 32 hexadecimal digits.
    if let Some(rest) = id.strip_prefix("chatcmpl-") {
        return is_plain(rest, 28..=29).then_some(Maker::OpenAi);
    }
    let rest = id.strip_prefix("resp_")?;
    is_plain(rest, 32..=64).then_some(Maker::OpenAi)
}

/// Who alone stops for a reason of this name. Words that have one in every dialect (`end_turn`, `STOP`, `tool_use`) tell
/// nothing: frameworks and gateways write their own for all models.
pub fn maker_of_reason(reason: &str) -> Option<Maker> {
    match reason {
        "pause_turn" => Some(Maker::Anthropic),
        "RECITATION" => Some(Maker::Google),
        _ => None,
    }
}

/// Whose model an answer says that it is (`I am Claude, made by Anthropic`), and where; `None` where it does not say both
/// in one sentence.
pub fn maker_by_own_words(answer: &str) -> Option<(Maker, Range<usize>)> {
    let has = |name: &str| memchr::memmem::find(answer.as_bytes(), name.as_bytes()).is_some();
    if !OWN_WORDS.iter().any(|(_, maker, _)| has(maker)) {
        return None;
    }
    OWN_WORDS.iter().find_map(|(maker, company, models)| {
        let of_company = memchr::memmem::find_iter(answer.as_bytes(), company.as_bytes());
        of_company.take(CLAIMS_MAX).find_map(|at| {
            let sentence = sentence::around(answer, at..at + company.len());
            let said = &answer[sentence.start..at];
            // Who made it, and not whom it is like.
            let said = said.strip_suffix(" by ")?;
            let begin = ["I'm ", "I\u{2019}m ", "I am ", "My name is "].iter().find_map(|own| {
                let at = said.find(own)?;
                Some((at, at + own.len()))
            })?;
            let rest = &said[begin.1..];
            // `I'm Claude Dupont` is a person.
            let is_name = |rest: &str| !rest.trim_start().starts_with(char::is_uppercase);
            let is_named = models.iter().any(|model| rest.strip_prefix(model).is_some_and(is_name));
            let is_model =
                ["language model", "AI assistant", "AI model", "an AI"].iter().any(|what| rest.contains(what))
                    && ![" of ", " who ", " works ", " for "].iter().any(|other| rest.contains(other));
            // What a figure of a story says of itself is told.
            let told = answer[at + company.len()..].trim_start_matches([',', ' ', '"', '\u{201d}']);
            let is_told = ["said ", "says ", "he ", "she "].iter().any(|who| told.starts_with(who));
            let is_denied =
                rest.starts_with("not ") || said.contains(" not ") || said[..begin.0].contains(['"', '\u{201c}']);
            ((is_named || is_model) && !is_denied && !is_told)
                .then_some((*maker, sentence.start + begin.0..at + company.len()))
        })
    })
}

/// Whether anything that the model was given names this maker or its models: then the answer may only repeat it.
fn is_spoken_of(record: &Record<'_>, maker: Maker) -> bool {
    let names = OWN_WORDS.iter().filter(|(known, ..)| *known == maker);
    let names: Vec<&str> = names.flat_map(|(_, company, models)| models.iter().copied().chain([*company])).collect();
    let context = record.context.iter().map(|passage| &*passage.text);
    let given = record.system.as_deref().into_iter().chain(record.prompt.texts().map(|(_, text)| text)).chain(context);
    let holds = |text: &str, name: &str| {
        let (first, length) = (name.as_bytes()[0], name.len());
        let places = memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text.as_bytes());
        let bytes = text.as_bytes();
        places
            .into_iter()
            .any(|at| bytes.get(at..at + length).is_some_and(|part| part.eq_ignore_ascii_case(name.as_bytes())))
    };
    given.into_iter().any(|text| names.iter().any(|name| holds(text, name)))
}

/// What the ordered stage is to know of the names of a record's model.
pub fn names_for_history(record: &Record<'_>) -> Option<ModelNames> {
    let (declared, served) = record.declared_model.as_deref().zip(record.model.as_deref())?;
    Some(ModelNames { declared: hash::name(declared), served: hash::name(served), served_bytes: served.len() })
}

/// The engine.
pub struct Identity {
    settings: Settings,
}

impl Identity {
    /// The engine with these settings.
    pub fn new(settings: Settings) -> Identity {
        Identity { settings }
    }

    fn resolved<'n>(&'n self, name: &'n str) -> &'n str {
        self.settings.aliases.get(name).map_or(name, String::as_str)
    }
}

impl Engine for Identity {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let record = view.record;
        if record.kind != Kind::Llm {
            return None;
        }
        let Some(served) = record.model.as_deref() else {
            return Some(Assessment::not_assessed("the log does not name the model"));
        };
        let declared = record.declared_model.as_deref();
        let model = ModelName::of(self.resolved(served));
        // Gateways copy the name of the request into the answer; only a version says that someone looked.
        let is_echo = |declared: &str| {
            declared.eq_ignore_ascii_case(served) && model.as_ref().is_none_or(|model| model.snapshot.is_none())
        };
        let told = declared.filter(|declared| !is_echo(declared));
        let relation = told.map(|declared| relation(self.resolved(declared), self.resolved(served)));
        Some(match relation {
            Some(Relation::Same) => self.agree(),
            Some(relation @ (Relation::Other | Relation::OtherVersion)) => {
                self.differ(declared.unwrap_or_default(), served, relation)
            }
            Some(Relation::Alias) => self.alias(declared.unwrap_or_default(), served),
            Some(Relation::Unknown) | None => self.by_signs(record, model.as_ref()),
        })
    }
}

impl Identity {
    fn agree(&self) -> Assessment {
        let absent = Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, (ABSENT_RATIO, RatioSource::Default));
        Assessment::new(Status::Ok, 0.0).with("by", Detail::Label("names")).signal(absent)
    }

    fn differ(&self, declared: &str, served: &str, relation: Relation) -> Assessment {
        let (rule, what) = match relation {
            Relation::OtherVersion => ("identity/other_version", "another version"),
            _ => ("identity/other_model", "another model"),
        };
        let detail = format!("{} was asked for and {what} answered, {}", name(declared), name(served));
        let ratio = RatioSource::default_or_config(self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let signal = Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, ratio).fire(1.0, detail.clone());
        // Which model answered is no evidence of what it says, so that the ratio of a fact would be too much.
        let signal = match (self.settings.strict, self.settings.effect) {
            (true, _) => Some(Signal { class: Class::Proof, ..signal }),
            (false, Effect::Fact) => Some(Signal { class: Class::Fact, ..signal }),
            (false, Effect::Evidence) => Some(signal),
            (false, Effect::Off) => None,
        };
        let mut assessment = Assessment::new(Status::Error, 1.0).with("by", Detail::Label("names")).signal(signal);
        assessment
            .findings
            .push(Finding { detail: detail.into(), ..Finding::new(rule, Severity::High, "/model", 0..served.len()) });
        assessment
    }

    fn alias(&self, declared: &str, served: &str) -> Assessment {
        let detail =
            format!("{} answered under the name {}, which sounds like another model", name(served), name(declared));
        let ratio = RatioSource::default_or_config(self.settings.sign_likelihood_ratio, SIGN_RATIO);
        let signal = Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, ratio).fire(ALIAS_SCORE, detail.clone());
        let mut said = Assessment::new(Status::Warn, ALIAS_SCORE).with("by", Detail::Label("names")).signal(signal);
        let finding = Finding::new("identity/alias", Severity::Low, "/model", 0..served.len());
        said.findings.push(Finding { detail: detail.into(), ..finding });
        said
    }

    fn by_signs(&self, record: &Record<'_>, model: Option<&ModelName>) -> Assessment {
        let Some(model) = model else { return Assessment::not_assessed("the name of the model is an alias") };
        let id = record.response_id.as_deref();
        // Models with open weights are taught by answers of others, and say whose; a persona is the operator's to give.
        let may_claim = model.maker != Maker::Open && !model.is_alias;
        let claim = record.response.as_deref().filter(|_| may_claim).and_then(maker_by_own_words);
        let claim = claim.filter(|(maker, _)| !is_spoken_of(record, *maker));
        let (claimed, words) = claim.map_or((None, 0..0), |(maker, span)| (Some(maker), span));
        let signs = [
            (
                id.and_then(maker_of_id),
                "/response_id",
                0..id.map_or(0, str::len),
                "the id has the form of another provider's",
            ),
            (
                record.finish_reason.as_deref().and_then(maker_of_reason),
                "/model",
                0..record.model.as_deref().map_or(0, str::len),
                "the finish reason is another provider's word",
            ),
            (claimed, "/response", words, "the answer says that it is another provider's model"),
        ];
        // Anthropic's models are served by others too, but no one else's by Anthropic.
        let looked_at = signs.iter().filter(|(maker, ..)| maker.is_some()).count();
        if looked_at == 0 {
            return Assessment::not_assessed("the log cannot tell which model answered");
        }
        let wrong: Vec<_> =
            signs.iter().filter(|(maker, ..)| maker.is_some_and(|maker| maker != model.maker)).collect();
        let ratio = RatioSource::default_or_config(self.settings.sign_likelihood_ratio, SIGN_RATIO);
        let absent = Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, ratio);
        let value = wrong.len() as f64 / looked_at as f64;
        let Some((_, _, _, why)) = wrong.first() else {
            let absent = Signal { likelihood_ratio: ABSENT_RATIO, ..absent };
            return Assessment::new(Status::Ok, 0.0).with("by", Detail::Label("signs")).signal(absent);
        };
        let signal = absent.fire(if wrong.len() > 1 { 1.0 } else { 0.5 }, *why);
        let mut assessment = Assessment::new(Status::Warn, value).with("by", Detail::Label("signs")).signal(signal);
        assessment.findings = wrong
            .iter()
            .map(|(_, field, span, why)| Finding {
                detail: (*why).into(),
                ..Finding::new("identity/foreign_sign", Severity::Medium, *field, span.clone())
            })
            .collect();
        assessment
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engines::testing::with_view;

    #[test]
    fn names_that_are_one_and_names_that_are_not() {
        use Relation::*;
        for (declared, served, expected) in [
            ("gpt-4o", "gpt-4o-2024-05-13", Same),
            ("gpt-4o-mini", "gpt-4o-mini-2024-07-18", Same),
            ("openai/gpt-4", "gpt-4-0613", Same),
            ("gpt-4-turbo-preview", "gpt-4-0125-preview", Same),
            ("gpt-3.5-turbo", "gpt-3.5-turbo-0125", Same),
            ("gpt-3.5-turbo-16k", "gpt-3.5-turbo-0125", Same),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", Same),
            ("claude-sonnet-4-0", "claude-sonnet-4-20250514", Same),
            ("anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku-48k-20240307", Same),
            ("us.anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku-20240307", Same),
            ("gemini-1.5-pro", "models/gemini-1.5-pro-002", Same),
            ("gemini-pro", "gemini-1.0-pro-001", Same),
            ("claude-3.7-sonnet", "claude-3-7-sonnet-20250219", Same),
            ("anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet-20250219", Same),
            ("anthropic/claude-3.7-sonnet:beta", "claude-3-7-sonnet-20250219", Same),
            ("claude-3-7-sonnet-thinking", "claude-3-7-sonnet-20250219", Same),
            ("claude-4-sonnet", "claude-sonnet-4-20250514", Same),
            ("anthropic.claude-v2:1", "claude-2.1", Same),
            ("gpt-35-turbo", "gpt-3.5-turbo", Same),
            ("gpt-35-turbo-16k", "gpt-3.5-turbo-0125", Same),
            ("openai/gpt-4-turbo-preview", "gpt-4-0125-preview", Same),
            ("gpt-4-vision-preview", "gpt-4-1106-vision-preview", Same),
            ("gemini-2.5-flash", "gemini-2.5-flash-preview-05-20", Same),
            ("o3-mini-high", "o3-mini-2025-01-31", Same),
            ("o3-mini-medium", "o3-mini-2025-01-31", Same),
            ("google/gemini-2.5-pro:free", "gemini-2.5-pro", Same),
            ("openai/gpt-4o:extended", "gpt-4o-2024-05-13", Same),
            ("azure/gpt-4o-prod", "gpt-4o-2024-08-06", Same),
            ("claude-instant-1", "claude-instant-1.2", Same),
            ("claude-2", "claude-2.1", Same),
            ("gpt-4o-2024-11-20", "gpt-4o-1120", Same),
            ("azure/gpt-4o-team-a", "gpt-4o-2024-08-06", Unknown),
            ("gpt-4-prod", "gpt-4o-2024-08-06", Alias),
            ("gpt-4o-large-ctx", "gpt-4o-2024-08-06", Alias),
            ("gpt-4o-2024-05-13-prod", "gpt-4o-2024-08-06", Alias),
            ("azure/gpt-4o-prod", "gpt-4o-mini-2024-07-18", Alias),
            ("gpt-4o-prod", "claude-3-haiku-20240307", Other),
            ("gpt-4o-audio-preview", "gpt-4o-mini-2024-07-18", Other),
            ("gpt-4o", "gpt-4o-audio-preview-2024-10-01", Unknown),
            ("gpt-4o", "chatgpt-4o-latest", Unknown),
            ("gemini-flash-latest", "gemini-2.5-flash-lite", Unknown),
            ("deepseek-r1-distill-qwen-32b", "qwen2.5-32b", Unknown),
            ("llama3:8b", "llama-3.1-8b-instruct", Unknown),
            ("gpt-4", "gpt-4-32k-0613", Other),
            ("gpt-4-32k", "gpt-4-0613", Other),
            ("gpt-4", "gpt-4.1-2025-04-14", Other),
            ("gpt-4.5-preview", "gpt-5.4", Other),
            ("gpt-4", "gpt-4-1106-preview", Other),
            ("claude-sonnet-4", "claude-sonnet-4-5-20250929", Other),
            ("claude-3.7-sonnet:free", "claude-3-7-haiku", Other),
            ("gemini-2.5-flash", "gemini-2.5-flash-lite", Other),
            ("gemini-1.5-flash", "gemini-1.5-flash-8b-001", Other),
            ("llama3:8b", "llama-3.1-70b-instruct", Other),
            ("mistral-large-latest", "mistral-small-2409", Other),
            ("o3", "o4-mini", Other),
            ("o3-mini", "o3-2025-04-16", Other),
            ("gpt-4o", "gpt-4o-mini-2024-07-18", Other),
            ("gpt-4", "gpt-3.5-turbo-0125", Other),
            ("gpt-4", "gpt-4-turbo-2024-04-09", Other),
            ("gpt-4o", "claude-3-haiku-20240307", Other),
            ("claude-3-opus-20240229", "claude-3-haiku-20240307", Other),
            ("claude-3-5-sonnet", "claude-3-sonnet-20240229", Other),
            ("meta-llama/Llama-3-70b-chat-hf", "llama-3-8b-instruct", Other),
            ("mistral-large-latest", "llama-3-70b", Other),
            ("gpt-4-0613", "gpt-4-0314", OtherVersion),
            ("gpt-4o-2024-08-06", "gpt-4o-2024-05-13", OtherVersion),
            ("gemini-1.5-pro-001", "gemini-1.5-pro-002", OtherVersion),
            ("mistral-large-latest", "mistral-large-2407", Unknown),
            ("meta-llama/Llama-3-70b-chat-hf", "llama3-70b", Unknown),
            ("prod-chat", "gpt-4o", Unknown),
            ("gpt-4o", "my-deployment", Unknown),
            ("my-deployment", "My-Deployment", Same),
            ("", "", Same),
        ] {
            assert_eq!(
                relation(declared, served),
                expected,
                "{declared} {served}: {:?} {:?}",
                ModelName::of(declared),
                ModelName::of(served)
            );
        }
    }

    #[test]
    fn ids_of_the_providers_and_of_others() {
        for (id, expected) in [
            ("chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT", Some(Maker::OpenAi)),
            ("msg_01XFDUDYJgAACzvnptvVoYEL", Some(Maker::Anthropic)),
            ("msg_bdrk_01XFDUDYJgAACzvnptvVoYEL", Some(Maker::Anthropic)),
            ("chatcmpl-5d1f3c0e-1f4b-4b64-8f0a-1d9a8d5d5c6e", None),
            ("chatcmpl-7fa1c2de9b5c4f0e8d3a6b1c2d3e4f50", None),
            ("msg_17", None),
            ("4711", None),
        ] {
            assert_eq!(maker_of_id(id), expected, "{id}");
        }
    }

    fn assess(unit: &str) -> Assessment {
        let aliases = BTreeMap::from([("prod-chat".to_owned(), "gpt-4o".to_owned())]);
        let engine = Identity::new(Settings { aliases, ..Settings::default() });
        with_view(unit, |view| engine.assess(view).unwrap())
    }

    #[test]
    fn what_the_log_says_of_both_is_a_fact() {
        for (unit, rule) in [
            (r#"{"declared_model":"gpt-4o","model":"gpt-4o-mini-2024-07-18","response":"r"}"#, "identity/other_model"),
            (r#"{"model":"gpt-4-0613","served_model":"gpt-4-0314","response":"r"}"#, "identity/other_version"),
            (r#"{"model":"prod-chat","response_model":"gpt-3.5-turbo","response":"r"}"#, "identity/other_model"),
            (
                r#"{"request":{"model":"gpt-4o","messages":[]},"response":{"model":"claude-3-haiku","choices":[{"message":{"content":"r"}}]}}"#,
                "identity/other_model",
            ),
        ] {
            let said = assess(unit);
            assert!(said.signals[0].class == Class::Fact && said.findings[0].rule == rule, "{unit}: {said:?}");
        }
        let alias = assess(r#"{"declared_model":"gpt-4-prod","model":"gpt-4o-2024-08-06","response":"r"}"#);
        let signal = &alias.signals[0];
        assert_eq!(
            (signal.class == Class::Proof, signal.score, signal.likelihood_ratio),
            (false, ALIAS_SCORE, SIGN_RATIO)
        );
        assert_eq!(alias.findings[0].rule, "identity/alias");
        let same = assess(
            r#"{"request":{"model":"gpt-4o","messages":[]},"response":{"model":"gpt-4o-2024-05-13","choices":[{"message":{"content":"r"}}]}}"#,
        );
        assert_eq!((same.value, same.signals[0].fired), (Some(0.0), false));
    }

    #[test]
    fn names_of_models_stand_in_details_as_they_are() {
        for (asked, answered, expected) in [
            ("claude-3-opus-20240229", "claude-3-haiku-20240307", "claude-3-haiku-20240307"),
            ("gpt-4o-2024-08-06", "gpt-4o-mini-2024-07-18", "gpt-4o-mini-2024-07-18"),
            // What is cut is redacted.
            ("gpt-4o", "gpt-3.5-turbo-0123456789-0123456789-0123456789-0123456789-0123456789", "[redacted]"),
        ] {
            let unit = format!(r#"{{"declared_model":"{asked}","model":"{answered}","response":"r"}}"#);
            let said = assess(&unit);
            assert!(said.signals[0].detail.ends_with(expected), "{}", said.signals[0].detail);
        }
    }

    #[test]
    fn a_log_that_names_one_model_is_judged_by_signs_or_not_at_all() {
        for unit in [
            r#"{"response":"r"}"#,
            r#"{"model":"gpt-4o","response":"r"}"#,
            r#"{"declared_model":"gpt-4o","model":"gpt-4o","response":"r"}"#,
            r#"{"model":"prod-9","served_model":"gpt-4o","response":"r"}"#,
            r#"{"model":"house","response":"r","finish_reason":"end_turn"}"#,
        ] {
            assert!(matches!(assess(unit).status, Status::NotAssessed(_)), "{unit}");
        }
        let body = r#"{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","model":"MODEL","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}"#;
        let unit = |model: &str| format!(r#"{{"prompt":"p","response":{}}}"#, body.replace("MODEL", model));
        let fits = assess(&unit("claude-3-haiku-20240307"));
        assert_eq!((fits.value, fits.signals[0].fired), (Some(0.0), false));
        let foreign = assess(&unit("gpt-4o"));
        assert!(foreign.signals[0].fired && foreign.signals[0].class == Class::Evidence && foreign.findings.len() == 1);
    }

    #[test]
    fn words_that_frameworks_write_for_all_models_accuse_none() {
        for reason in
            ["end_turn", "stop_sequence", "tool_use", "STOP", "MAX_TOKENS", "stop", "tool_calls", "COMPLETE", "eos"]
        {
            for model in ["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash", "llama-3.1-70b"] {
                let unit = format!(r#"{{"model":"{model}","prompt":"p","response":"r","finish_reason":"{reason}"}}"#);
                assert!(matches!(assess(&unit).status, Status::NotAssessed(_)), "{unit}");
            }
        }
        let only_theirs = assess(r#"{"model":"gpt-4o","prompt":"p","response":"r","finish_reason":"pause_turn"}"#);
        assert!(only_theirs.signals[0].fired && only_theirs.findings[0].field == "/model");
    }

    #[test]
    fn an_answer_that_says_whose_model_it_is() {
        for (model, prompt, answer, fires) in [
            ("gpt-4o", "Who are you?", "I am Claude, an AI assistant made by Anthropic.", true),
            ("gpt-4o", "Who are you?", "Hello! I'm Claude, a model made by Anthropic. How can I help?", true),
            ("claude-sonnet-4-5", "Who are you?", "I'm a large language model trained by OpenAI.", true),
            ("gemini-2.5-pro", "hi", "As ChatGPT would say: I am ChatGPT, developed by OpenAI.", true),
            ("gpt-4o", "Who are you?", "I am ChatGPT, a language model made by OpenAI.", false),
            ("gpt-4o", "You are Claude. Who are you?", "I am Claude, an AI assistant made by Anthropic.", false),
            ("gpt-4o", "What does anthropic's bot say?", "I am Claude, an AI assistant made by Anthropic.", false),
            ("gpt-4o", "Who are you?", "I am not Claude, which is made by Anthropic.", false),
            ("gpt-4o", "Who are you?", "I'm Claude Dupont, and I like models made by Anthropic.", false),
            ("gpt-4o", "Name a lab.", "Anthropic makes Claude. I am an AI model.", false),
            ("gpt-4o", "Where is the map?", "I am looking at a map made by Google.", false),
            ("deepseek-chat", "Who are you?", "I am ChatGPT, a model made by OpenAI.", false),
            ("house-bot", "Who are you?", "I am ChatGPT, a model made by OpenAI.", false),
        ] {
            let unit = serde_json::json!({"model": model, "prompt": prompt, "response": answer}).to_string();
            let said = assess(&unit);
            let fired = said.signals.iter().any(|signal| signal.fired);
            assert_eq!(fired, fires, "{unit}: {said:?}");
            assert!(said.findings.iter().all(|finding| answer.get(finding.span.clone()).is_some()));
        }
    }

    #[test]
    fn style_and_pace_must_both_be_unusual() {
        for (style, pace, expected) in [
            (Some(9.0), [None, None], None),
            (None, [Some(9.0), Some(9.0)], None),
            (Some(1.0), [Some(9.0), Some(-9.0)], Some(0.0)),
            (Some(9.0), [Some(1.0), None], Some(0.0)),
            (Some(9.0), [Some(-4.0), Some(0.0)], Some(0.5)),
            (Some(9.0), [Some(-4.0), Some(4.0)], Some(1.0)),
        ] {
            assert_eq!(behaviour_score(style, pace, 3.0), expected);
        }
    }

    proptest! {
        #[test]
        fn no_name_makes_it_fail(a in "[a-z0-9./:@_ é-]{0,40}", b in "(gpt|claude|llama|-4|-0613|-2024-05-13|/|é){0,8}") {
            let _ = (relation(&a, &b), maker_of_id(&a));
            prop_assert_eq!(relation(&b, &b), Relation::Same);
        }
    }
}
