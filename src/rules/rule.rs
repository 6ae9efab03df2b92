//! What a rule is.
//!
//! A rule is an entry of a TOML table (`[[rule]]`), ours or a user's:
//!
//! ```toml
//! [[rule]]
//! id = "pii/email_address"          # family/name: injection/, indirect/, pii/, secret/, output/
//! category = "contact"              # what it is listed under
//! severity = "medium"
//! likelihood_ratio = 50.0           # P(hit | yes) / P(hit | no), when pattern and check hold
//! summary = "E-mail address"
//! why = "Names a person and a way to reach them."
//! source = "RFC 5321, RFC 5322"
//! owasp = ["LLM02"]                 # by the numbering of 2025; that of 2026 follows
//! cwe = [200]
//! keywords = ["@"]                  # one of them must stand in the text, in any case (ASCII)
//! pattern = '(?i)\b[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,255}\.[a-z]{2,24}\b'
//! check = "email"                   # by name, see `check`
//! hits = ["write to jo@example.org"]
//! misses = ["see @jo", "a@b"]
//! ```
//!
//! A table may name parts of patterns in `[phrases]`: `verb = 'ask|tell'` puts `ask|tell` wherever a pattern of that
//! file, or a later phrase, says `(?&verb)`.
//!
//! Words may come from the lists of `tables/labels.toml`, which has them by language: `@phone` among keywords and context is
//! all words of the list `phone`, and `(?&label_phone)` in a pattern is one of them.
//!
//! Patterns match bytes: `\b`, `\w`, `\d` are ASCII. The group `value`, where there is one, is the evidence; else the
//! whole match is.

use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Slightly suspicious.
    Low,
    /// Suspicious.
    Medium,
    /// Wrong in itself.
    High,
    /// Harmful in itself.
    Critical,
}

/// What a rule is about; the first part of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Text that tries to subvert a model.
    Injection,
    /// Signs that data speaks to the model.
    Indirect,
    /// Data about a person.
    Pii,
    /// What gives access.
    Secret,
    /// What an answer should not hold: exfiltration, active content, dangerous commands.
    Output,
}

impl Family {
    /// All families, in the order of docs and reports.
    pub const ALL: [Family; 5] = [Family::Injection, Family::Indirect, Family::Pii, Family::Secret, Family::Output];

    /// The name, as in rule ids.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Injection => "injection",
            Family::Indirect => "indirect",
            Family::Pii => "pii",
            Family::Secret => "secret",
            Family::Output => "output",
        }
    }

    /// The family of a rule id.
    pub fn of(id: &str) -> Option<Family> {
        let (family, name) = id.split_once('/')?;
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        Family::ALL.into_iter().find(|known| is_name && known.as_str() == family)
    }
}

/// One entry of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `family/name`.
    pub id: String,
    /// What it is listed under within its family.
    pub category: String,
    /// How bad a finding is.
    pub severity: Severity,
    /// P(hit | yes) / P(hit | no), when the pattern and the check hold.
    pub likelihood_ratio: f64,
    /// Of the labelled texts in which it finds something, the share that is an attack (`docs/accuracy.md`), where enough
    /// were found to say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// What it finds, in a few words.
    pub summary: String,
    /// Why that matters.
    pub why: String,
    /// Where pattern and check come from.
    pub source: String,
    /// OWASP Top 10 for LLM applications, by the numbering of 2025: `LLM02`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owasp: Vec<String>,
    /// Common Weakness Enumeration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cwe: Vec<u32>,
    /// One of them must stand in the text, in any case (ASCII). A rule has keywords or `digits`; one that needs context
    /// and says neither is looked for by its context words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Instead of keywords: the least and the most digits of the number that it looks for. Separators (space . - /)
    /// may stand between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<[usize; 2]>,
    /// Whether it is looked for only in a text in which another rule of its family has a hit: a hint that says nothing
    /// alone costs nothing where nothing else is.
    #[serde(default)]
    pub beside: bool,
    /// Bytes before and after a keyword or number in which the match must lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<[usize; 2]>,
    /// What must match, as bytes. Written out, or made from `token` or `assigned`.
    #[serde(default)]
    pub pattern: String,
    /// Instead of `pattern`: what a token looks like that stands by itself, with nothing of a word on either side.
    #[serde(default)]
    pub token: Option<String>,
    /// Instead of `pattern`: what a value looks like that is assigned to a name in which one of the keywords stands
    /// (`keyword_api_key = "value"`, `"keywordToken": "value"`, `keyword secret value`).
    #[serde(default)]
    pub assigned: Option<String>,
    /// The least Shannon entropy of the value, in bits per character.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min_entropy_bits: f64,
    /// The check that must hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Words of which one, near the match, makes it more likely (in lower case; phrases are words joined by blanks).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
    /// The likelihood ratio with such a word near.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_likelihood_ratio: Option<f64>,
    /// Whether there is no hit without such a word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_context: bool,
    /// With `needs_context`: words of which one, near the match, is enough and does not make it more likely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weak_context: Vec<String>,
    /// Whether a match whose check fails may end earlier, at a separator in it: a number with another behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_shorter: bool,
    /// With `needs_context`: what needs none, because it is hardly written for anything else (a pattern for the value).
    #[serde(default)]
    pub clear: Option<String>,
    /// With `needs_context`: whether a text that is nothing but the value needs none (a field of a form, a reply).
    #[serde(default)]
    pub alone: bool,
    /// Words of which none may stand near.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_context: Vec<String>,
    /// Texts that must hit. `{base62:36}` and the like stand for made-up characters, see [`super::examples`].
    pub hits: Vec<String>,
    /// Texts that must not: near misses.
    pub misses: Vec<String>,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// Bytes before and after a keyword in which a match must lie, when the rule does not say.
const WINDOW_BYTES: [usize; 2] = [64, 320];
/// The same for `assigned`: the keyword begins the match, but for one byte in front of it.
const ASSIGNED_WINDOW_BYTES: [usize; 2] = [1, 240];
/// A keyword of `assigned` up to this length is a common word too often to be the end of another (`inbox`).
const SHORT_NAME_BYTES: usize = 6;

/// What may stand in front of a token: nothing of a word, or a line break that is spelled out.
const TOKEN_START: &str = r"(?:^|[^A-Za-z0-9_]|\\[nrt])";
/// What may stand behind a token or an assigned value.
const VALUE_END: &str = r"(?:[^A-Za-z0-9_+/=\-]|$)";
/// What may stand between the vendor's name and the value: the rest of the name, up to two more words (a type), an
/// operator, and what opens the value; or, without an operator, a word such as `key`; or the query of an address.
const ASSIGNMENT: &str = concat!(
    r#"(?:[\w.-]{0,40}(?:[ \t]+[\w.]{1,16}){0,2}["'`\])>\\]{0,4}[ \t]*"#,
    r#"(?:[:?.+|]{0,3}=[>~=]{0,2}|:|,|>|\|\||->|\()[\s"'`\\(\[{=$@]{0,20}"#,
    r#"|[\w.-]{0,20}?[\s_:.-]{0,3}(?i:keys?|tokens?|secrets?|passw(?:or)?d|auth|pat|credentials?)\w{0,12}"#,
    r#"(?:[ \t]+is)?[\s:"'-]{1,6}"#,
    r#"|[^\s"'<>]{0,80}[?&][\w.-]{1,24}=)"#,
);

impl Rule {
    /// The family; [`Family::Output`] for an id that names none, which a library does not accept.
    pub fn family(&self) -> Family {
        Family::of(&self.id).unwrap_or(Family::Output)
    }

    /// Bytes before and after a keyword in which the match must lie.
    pub fn window_bytes(&self) -> [usize; 2] {
        let usual = if self.assigned.is_some() { ASSIGNED_WINDOW_BYTES } else { WINDOW_BYTES };
        self.window.unwrap_or(usual)
    }

    /// The same rule with its pattern written out.
    ///
    /// # Errors
    /// When it does not have exactly one of `pattern`, `token` and `assigned`.
    pub fn written_out(mut self) -> Result<Rule, String> {
        self.pattern = match (self.pattern.is_empty(), &self.token, &self.assigned) {
            (false, None, None) => return Ok(self),
            (true, Some(token), None) => format!("{TOKEN_START}(?P<value>{token}){VALUE_END}"),
            (true, None, Some(value)) => format!("{}{ASSIGNMENT}(?P<value>{value}){VALUE_END}", names(&self.keywords)),
            _ => return Err("needs exactly one of `pattern`, `token` and `assigned`".into()),
        };
        Ok(self)
    }

    /// The likelihood ratio with or without a context word near.
    pub fn ratio(&self, in_context: bool) -> f64 {
        let usual = self.likelihood_ratio;
        if in_context { self.context_likelihood_ratio.unwrap_or(usual) } else { usual }
    }
}

/// A pattern for any of the names, in any case; a short one begins a word or a part of a name.
fn names(keywords: &[String]) -> String {
    let names = keywords.iter().map(|keyword| {
        let start = if keyword.len() <= SHORT_NAME_BYTES { "(?:^|[^A-Za-z])" } else { "" };
        format!("{start}{}", regex::escape(keyword))
    });
    format!("(?i:{})", names.collect::<Vec<_>>().join("|"))
}

/// The tags of OWASP's Top 10 for LLM applications in the numbering of 2026, by that of 2025.
///
/// **Source**: OWASP, Top 10 for LLM Applications 2025 and 2026.
pub fn owasp_2026(tag_2025: &str) -> Option<&'static str> {
    const CROSSWALK: [(&str, &str); 10] = [
        ("LLM01", "LLM01"),
        ("LLM02", "LLM02"),
        ("LLM03", "LLM04"),
        ("LLM04", "LLM05"),
        ("LLM05", "LLM10"),
        ("LLM06", "LLM03"),
        ("LLM07", "LLM08"),
        ("LLM08", "LLM09"),
        ("LLM09", "LLM07"),
        ("LLM10", "LLM06"),
    ];
    CROSSWALK.iter().find(|(of_2025, _)| *of_2025 == tag_2025).map(|(_, of_2026)| *of_2026)
}
