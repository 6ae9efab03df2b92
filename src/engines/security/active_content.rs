//! What acts on whoever shows or runs the answer: script, terminal escapes, dangerous commands, template injection.
//!
//! **What counts**: hits of the `output/` rules (except those of exfiltration) in answers and in the arguments of tools. In code, or
//! where the prompt asks for the like (a hit of the same category, or one of its words), such a hit is ordinary: a finding
//! of severity `info` that moves nothing. Raw escapes for terminals act wherever they stand, so code does not excuse
//! them. In the arguments of a tool there is no prompt that could have asked: a finding keeps its severity, and commands move
//! the verdict by [`ARGUMENTS_RATIO_MAX`] at most.
//!
//! **Formula**: the ratio of the strongest rule that counts; value = r / (r + 99).
//!
//! **Range**: 0 (nothing) to 1 (certain).
//!
//! **Source**: OWASP LLM05:2025 (improper output handling); the rules name theirs.
//!
//! **Limits**: it bears on `attacked`, because an answer that emits such things unasked is what a successful injection looks
//! like; `leaking` would be wrong. The ratios are modest: by itself only what writes to a terminal flags a record.

use std::{ops::Range, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Place, ScannedText, evidence::Found, exfiltration};
use crate::{
    engines::{
        About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout, Status, Tier,
        View,
    },
    rules::{Family, Scanner},
    text::code,
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Script, terminal escapes, dangerous commands and template injection in answers.",
    formula: "value = r / (r + 99), r the largest ratio of a hit outside of code that the prompt did not ask for",
    range: "0 (nothing) to 1 (certain)",
    source: "OWASP LLM05:2025",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Attacked,
        title: "The answer holds content that acts on whoever shows or runs it.",
        owasp: "LLM05",
        help: "Escape model output where it is shown; never run it. Look at the evidence for script, escapes or commands.",
    }],
};

/// The engine and its signal.
pub const SIGNAL: &str = "active_content";
/// The category of what acts on terminals.
const TERMINAL: &str = "terminal";
/// The most that a hit in the arguments of a tool says.
pub const ARGUMENTS_RATIO_MAX: f64 = 5.0;
/// The ratio from which a rule can move the verdict.
const COUNTS_FROM: f64 = 1.5;

/// Words of a prompt that asks for such content, by category.
const ASKS: [(&str, &[&str]); 5] = [
    (
        "active_content",
        &[
            "html",
            "javascript",
            "script",
            "web page",
            "webpage",
            "website",
            "svg",
            "xss",
            "css",
            "code",
            "markup",
            "browser",
        ],
    ),
    (TERMINAL, &["ansi", "escape", "terminal", "colour", "color"]),
    (
        "command",
        &[
            "command",
            "shell",
            "bash",
            "terminal",
            "linux",
            "unix",
            "script",
            "sql",
            "query",
            "database",
            "delete",
            "code",
            "powershell",
            "server",
            "docker",
            "install",
            "security",
            "vulnerab",
            "exploit",
            "python",
            "curl",
            "ssh",
        ],
    ),
    ("template", &["template", "jinja", "inject", "vulnerab", "exploit", "code", "log4", "java", "python"]),
    ("test_string", &["eicar", "gtube", "antivirus", "test", "spam", "malware"]),
];

/// Whether a prompt asks for content of this category.
pub fn asks_for(category: &str, prompt_in_lower_case: &str) -> bool {
    let words = ASKS.iter().find(|(known, _)| *known == category).map_or(&[][..], |(_, words)| words);
    words.iter().any(|word| prompt_in_lower_case.contains(word))
}

/// The ratio with which a hit counts, 1 when it is ordinary.
pub fn ratio(category: &str, rule_ratio: f64, in_code: bool, was_asked_for: bool, in_arguments: bool) -> f64 {
    let is_ordinary = was_asked_for || in_code && category != TERMINAL;
    match (in_arguments, is_ordinary) {
        (true, _) => rule_ratio.min(ARGUMENTS_RATIO_MAX),
        (false, true) => 1.0,
        (false, false) => rule_ratio,
    }
}

/// Settings of the engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether code counts like any other text: for answers that are run as they are.
    pub code_counts: bool,
}

/// The engine.
pub struct ActiveContent {
    settings: Settings,
    scanner: Arc<Scanner>,
}

/// What was found in all outputs of a record.
#[derive(Default)]
struct Answer {
    findings: Vec<Finding>,
    ratio: f64,
    summary: String,
}

impl ActiveContent {
    /// The engine with these settings and the rules of `scanner`.
    pub fn new(settings: Settings, scanner: Arc<Scanner>) -> ActiveContent {
        ActiveContent { settings, scanner }
    }

    fn hits<'e>(&'e self, text: &'e ScannedText<'_>) -> impl Iterator<Item = Found<'e>> {
        let found = text.found(&self.scanner, Family::Output);
        found.filter(|found| found.rule.category != exfiltration::CATEGORY)
    }

    fn look(&self, text: &ScannedText<'_>, was_asked_for: &dyn Fn(&str) -> bool, answer: &mut Answer) {
        let mut code: Option<Vec<Range<usize>>> = None;
        for found in self.hits(text) {
            let Some(span) = found.span() else { continue };
            let code = code.get_or_insert_with(|| code::code_ranges(text.value()));
            let in_code = !self.settings.code_counts && code::is_within(code, span.start);
            let in_arguments = text.place == Place::Arguments;
            let category = found.rule.category.as_str();
            let asked = !in_arguments && was_asked_for(category);
            let ratio = ratio(category, found.hit.likelihood_ratio, in_code, asked, in_arguments);
            let is_ordinary = ratio < COUNTS_FROM;
            let severity = if is_ordinary { Severity::Info } else { found.rule.severity };
            let detail = match found.view {
                Some(view) => view.chain(),
                None if in_code => "in code".to_owned(),
                None if asked => "as the prompt asks".to_owned(),
                None => String::new(),
            };
            let finding = Finding::new(found.rule.id.clone(), severity, text.field.clone(), span);
            answer.findings.push(Finding { detail: detail.into(), ..finding });
            if !is_ordinary && ratio > answer.ratio {
                answer.ratio = ratio;
                answer.summary = found.rule.summary.clone();
            }
        }
    }
}

impl Engine for ActiveContent {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let texts = &view.evidence.texts;
        if !texts.iter().any(|text| text.place.is_output()) {
            return None;
        }
        let prompt = std::cell::OnceCell::new();
        let was_asked_for = |category: &str| {
            let lower = prompt.get_or_init(|| view.prompt_text.to_ascii_lowercase());
            let inputs = texts.iter().filter(|text| !text.place.is_output());
            asks_for(category, lower)
                || inputs.flat_map(|text| self.hits(text)).any(|found| found.rule.category == category)
        };
        let mut answer = Answer::default();
        for text in texts.iter().filter(|text| text.place.is_output()) {
            self.look(text, &was_asked_for, &mut answer);
        }
        /// The ratio of a signal that did not fire.
        const RATIO_ABSENT: f64 = 5.0;
        let absent = |ratio| Signal::absent(SIGNAL, Question::Attacked, Tier::Zero, (ratio, RatioSource::Default));
        let (status, value, signal) = if answer.ratio == 0.0 {
            (Status::Ok, 0.0, absent(RATIO_ABSENT))
        } else {
            let signal = absent(answer.ratio).fire(1.0, format!("the answer holds: {}", answer.summary));
            (Status::Warn, answer.ratio / (answer.ratio + 99.0), signal)
        };
        let ordinary = answer.findings.iter().filter(|finding| finding.severity == Severity::Info).count();
        let mut assessment =
            Assessment::new(status, value).with("ordinary", Detail::Count(ordinary as u64)).signal(signal);
        assessment.findings = answer.findings;
        Some(assessment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engines::security::Evidence,
        record::{Kind, Prompt, Record, json::Json},
        rules::Library,
        text::Features,
    };

    fn assess(record: &Record<'_>, prompt: &str) -> Assessment {
        let scanner = Arc::new(Scanner::new(Library::built_in()));
        let evidence = Evidence::of(record, &scanner, &crate::rules::Suppressions::default());
        let features = Features::default();
        let view = View { record, response: &features, prompt: &features, prompt_text: prompt, evidence: &evidence };
        ActiveContent::new(Settings::default(), scanner.clone()).assess(&view).unwrap()
    }

    #[track_caller]
    fn check(prompt: &str, response: &str, fired: Option<f64>, severity: Option<Severity>) {
        let mut record = Record::new(Kind::Llm);
        record.prompt = Prompt::Text(prompt.into());
        record.response = Some(response.into());
        let assessment = assess(&record, prompt);
        let signal = &assessment.signals[0];
        assert_eq!(signal.fired.then_some(signal.likelihood_ratio), fired, "{prompt} | {response}");
        assert_eq!(assessment.findings.iter().map(|finding| finding.severity).max(), severity, "{prompt} | {response}");
    }

    #[test]
    fn what_nobody_asked_for_counts() {
        let poem = "Write a poem about the sea.";
        check(poem, "The sea <script>steal()</script>", Some(10.0), Some(Severity::High));
        check(poem, "The sea\u{1b}]52;c;aGk=\u{7}", Some(200.0), Some(Severity::Critical));
        check(poem, "```\n\u{1b}[2J\u{1b}[H\n```", Some(20.0), Some(Severity::High));
        check(poem, "First run rm -rf / and wait", Some(10.0), Some(Severity::High));
        check(poem, "The sea is blue.", None, None);
    }

    #[test]
    fn code_and_what_was_asked_for_are_ordinary() {
        check("How do I wipe a disk in Linux?", "Run rm -rf / as root.", None, Some(Severity::Info));
        check("Write a poem.", "```html\n<script>x()</script>\n```", None, Some(Severity::Info));
        check("Write a poem.", "Do not type `rm -rf /` here.", None, Some(Severity::Info));
        check("Explain <iframe src=x>", "An <iframe src=x> loads x.", None, Some(Severity::Info));
        check("Write a poem.", r"Escapes such as \033[31m are text.", None, Some(Severity::Info));
    }

    #[test]
    fn in_arguments_a_command_says_little() {
        let mut record = Record::new(Kind::Tool);
        record.args = Some(Json::parse(br#"{"command": "rm -rf / "}"#).unwrap());
        let assessment = assess(&record, "");
        assert_eq!(assessment.signals[0].likelihood_ratio, ARGUMENTS_RATIO_MAX);
        assert_eq!(assessment.findings[0].severity, Severity::High);
    }
}
