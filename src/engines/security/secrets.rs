//! Keys, tokens and passwords that the answer gives away, or that the log itself holds.
//!
//! What gives access is looked for in every text of the record, by the rules of the family `secret/`. Where several
//! rules hit the same characters, the strongest stays: one that is proven, then one that names a vendor, then the
//! larger likelihood ratio.
//!
//! **Formula**: the likelihood ratio of a finding is that of its rule; the signal has the largest. It is held down to
//! [`INPUT_RATIO_MAX`], so that the finding can flag but not block, where the model did not bring the secret up: in
//! system prompt, prompt, context and tool results, where it is the log that gives it away, and in an answer that only
//! repeats what stood there. A secret that proves itself (a checksum, a decoded structure) in what the model brought up
//! is a proof; `block_proven_input` makes it one everywhere.
//!
//! **Range**: 0 (nothing found) to 1; a placeholder or an example of documentation is shown as `info` and counts for
//! nothing.
//!
//! **Source**: seed 000 (secrets in prompts and outputs); OWASP LLM02:2025; CWE-798.
//!
//! **Limits**: a proof shows that a key was made by its vendor, not that it still opens anything: nothing is looked up.

use std::{borrow::Cow, collections::BTreeSet, ops::Range};

use serde::{Deserialize, Serialize};

use crate::{
    engines::{
        About, Assessment, Class, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout,
        Status, Tier, View,
    },
    rules::{
        Family, Scanner,
        check::{placeholder, token},
    },
};

use super::evidence::{Found, Place, ScannedText};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: NAME,
    summary: "Keys, tokens and passwords that the answer or the log gives away.",
    formula: "largest likelihood ratio of the findings; held down where the model did not bring the secret up",
    range: "0 (nothing found) to 1",
    source: "seed 000",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Leaking,
        title: "The answer or the log gives away a key, token or password.",
        owasp: "LLM02",
        help: "Revoke the secret now, then find out how it got there.",
    }],
};

/// The name of the engine.
pub const NAME: &str = "secrets";
/// The signal.
pub const SIGNAL: &str = "secret";
/// The largest ratio of a secret that the model did not bring up: flags by itself, does not block.
pub const INPUT_RATIO_MAX: f64 = 60.0;
/// The ratio with which the absence of secrets speaks against a leak: hardly, most leaks are of other kinds.
const ABSENT_RATIO: f64 = 2.0;
/// From this ratio on a finding counts as a secret; below it is an identifier that is shown, as a client id is.
const SECRET_RATIO_MIN: f64 = 10.0;
/// Secrets of the input that are remembered, to tell what an answer only repeats.
const REPEATED_MAX: usize = 1_000;

/// Settings of the engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether a secret that proves itself blocks in prompts, context and tool results too.
    pub block_proven_input: bool,
}

/// The engine.
pub struct Secrets {
    settings: Settings,
    scanner: std::sync::Arc<Scanner>,
}

/// A finding before it is written down.
struct Secret<'e> {
    found: Found<'e>,
    span: Range<usize>,
    value: &'e str,
}

impl Secrets {
    /// The engine with the rules of `scanner`.
    pub fn new(settings: Settings, scanner: std::sync::Arc<Scanner>) -> Secrets {
        Secrets { settings, scanner }
    }

    /// The secrets of one text, the strongest rule for each place, in order.
    fn secrets<'e>(&'e self, text: &'e ScannedText<'_>) -> Vec<Secret<'e>> {
        let mut secrets: Vec<Secret<'e>> = Vec::new();
        for found in text.found(&self.scanner, Family::Secret) {
            let Some(span) = found.span() else { continue };
            let whole: &'e str = found.view.map_or(&text.text, |view| view.text.as_str());
            let value = whole.get(found.hit.span.clone()).unwrap_or_default();
            secrets.push(Secret { found, span, value });
        }
        strongest(secrets)
    }
}

/// Of secrets that overlap, the strongest.
fn strongest(mut secrets: Vec<Secret<'_>>) -> Vec<Secret<'_>> {
    secrets.sort_by(|a, b| {
        let rank = |s: &Secret<'_>| (s.found.hit.is_proven, s.found.rule.category != "generic", s.found.view.is_none());
        let ratio = |s: &Secret<'_>| s.found.hit.likelihood_ratio;
        let by_rank = rank(b).cmp(&rank(a)).then(ratio(b).total_cmp(&ratio(a)));
        by_rank.then(b.span.len().cmp(&a.span.len())).then(a.span.start.cmp(&b.span.start))
    });
    // Kept spans never overlap, so that only the neighbours in order can.
    let mut kept: std::collections::BTreeMap<usize, Secret<'_>> = std::collections::BTreeMap::new();
    for secret in secrets {
        let before = kept.range(..=secret.span.start).next_back().is_some_and(|(_, s)| s.span.end > secret.span.start);
        let after = kept.range(secret.span.start..).next().is_some_and(|(start, _)| *start < secret.span.end);
        if !before && !after {
            kept.insert(secret.span.start, secret);
        }
    }
    kept.into_values().collect()
}

/// The ratio that counts at this place.
fn ratio_at(ratio: f64, is_brought_up: bool) -> f64 {
    if is_brought_up { ratio } else { ratio.min(INPUT_RATIO_MAX) }
}

/// What is said of a finding beside its rule.
fn detail_of(secret: &Secret<'_>, is_repeated: bool) -> Cow<'static, str> {
    let mut parts = Vec::new();
    if let Some(why) = secret.found.hit.example {
        parts.push(why.to_owned());
    }
    if secret.found.hit.is_proven {
        parts.push("proven by its structure".to_owned());
    }
    parts.extend(token::describe(secret.value));
    if is_repeated {
        parts.push("stood in the input".to_owned());
    }
    parts.extend(secret.found.view.map(|view| view.chain()));
    if parts.is_empty() { Cow::Borrowed("") } else { parts.join("; ").into() }
}

impl Engine for Secrets {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let mut findings = Vec::new();
        let mut of_input: BTreeSet<&str> = BTreeSet::new();
        let (mut ratio, mut is_proof, mut live) = (0.0_f64, false, 0_u64);
        let mut strongest = String::new();
        // The input stands before the answer in the evidence, so that a repetition is known when it is reached.
        for text in &view.evidence.texts {
            let is_output = text.place.is_output();
            for secret in self.secrets(text) {
                let Found { rule, hit, .. } = secret.found;
                let is_repeated = is_output && of_input.contains(secret.value);
                if text.place != Place::Arguments && !is_output && of_input.len() < REPEATED_MAX {
                    of_input.insert(secret.value);
                }
                let is_example = hit.example.is_some() || placeholder::reason(secret.value).is_some();
                let is_secret = !is_example && hit.likelihood_ratio >= SECRET_RATIO_MIN;
                if is_secret {
                    live += 1;
                    let is_brought_up = is_output && !is_repeated;
                    let may_prove = is_brought_up || self.settings.block_proven_input;
                    let counted = ratio_at(hit.likelihood_ratio, may_prove);
                    is_proof |= hit.is_proven && may_prove;
                    if counted > ratio {
                        ratio = counted;
                        strongest = format!("{} in {}", rule.summary, text.field);
                    }
                }
                findings.push(Finding {
                    rule: rule.id.clone().into(),
                    severity: if is_example { Severity::Info } else { rule.severity },
                    field: text.field.clone(),
                    span: secret.span.clone(),
                    detail: detail_of(&secret, is_repeated),
                });
            }
        }
        let has_secret = live > 0;
        let of_signal = (if has_secret { ratio } else { ABSENT_RATIO }, RatioSource::Default);
        let absent = Signal::absent(SIGNAL, Question::Leaking, Tier::Zero, of_signal);
        let mut signal = if has_secret { absent.fire(1.0, strongest) } else { absent };
        signal.class = Class::proven_if(is_proof);
        let status = if has_secret { Status::Error } else { Status::Ok };
        let mut assessment = Assessment::new(status, if has_secret { 1.0 } else { 0.0 })
            .with("findings", Detail::Count(findings.len() as u64))
            .with("secrets", Detail::Count(live))
            .signal(signal);
        assessment.findings = findings;
        Some(assessment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Hit, Library};

    #[test]
    fn what_the_model_did_not_bring_up_flags_and_does_not_block() {
        assert_eq!(ratio_at(1000.0, true), 1000.0);
        assert_eq!(ratio_at(1000.0, false), INPUT_RATIO_MAX);
        assert_eq!(ratio_at(40.0, false), 40.0);
    }

    fn scanned(text: &str, scanner: &Scanner) -> ScannedText<'static> {
        ScannedText {
            field: "/response".into(),
            place: Place::Response,
            text: Cow::Owned(text.to_owned()),
            prefix: 0,
            scan: scanner.scan(text),
            views: Vec::new(),
        }
    }

    fn ids(text: &str) -> Vec<String> {
        let scanner =
            std::sync::Arc::new(Scanner::of_rules(Library::built_in(), |rule| rule.family() == Family::Secret));
        let engine = Secrets::new(Settings::default(), scanner.clone());
        let scanned = scanned(text, &scanner);
        engine.secrets(&scanned).iter().map(|secret| secret.found.rule.id.clone()).collect()
    }

    #[test]
    fn one_finding_per_place_and_the_strongest_rule_wins() {
        let text = crate::rules::examples::expand("GITHUB_TOKEN=ghp_{base62:36}", "secret/x", 0);
        assert_eq!(ids(&text), ["secret/github_personal_access_token"]);
        let text = crate::rules::examples::expand("a: ghp_{base62:36}\nb: npm_{base62:36}\n", "secret/x", 1);
        assert_eq!(ids(&text), ["secret/github_personal_access_token", "secret/npm_access_token"]);
    }

    #[test]
    fn overlaps_are_resolved_by_proof_then_vendor_then_ratio() {
        let library = Library::built_in();
        let rule = |id: &str| library.find(id).unwrap();
        let hits: Vec<Hit> = [(false, 40.0), (false, 1000.0), (true, 10.0)]
            .map(|(is_proven, likelihood_ratio)| Hit {
                rule: 0,
                span: 0..10,
                likelihood_ratio,
                in_context: false,
                is_proven,
                example: None,
            })
            .to_vec();
        let rules = [rule("secret/generic_api_key"), rule("secret/groq_api_key"), rule("secret/generic_password")];
        let secret = |at: usize, span| Secret { found: Found::new(rules[at], &hits[at]), span, value: "" };
        let kept = strongest(vec![secret(0, 0..10), secret(1, 5..15), secret(2, 12..20)]);
        let kept: Vec<Range<usize>> = kept.into_iter().map(|secret| secret.span).collect();
        assert_eq!(kept, [0..10, 12..20]);
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let scanner = Scanner::of_rules(Library::built_in(), |rule| rule.family() == Family::Secret);
        let texts = [
            "A".repeat(300_000),
            "password=".repeat(30_000),
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE".repeat(8_000),
            "token: eyJ.eyJ.".repeat(20_000),
            "://a:b".repeat(40_000),
            "sk-".repeat(100_000),
            "key=\"".repeat(50_000),
        ];
        for text in texts {
            let scan = scanner.scan(&text);
            assert!(scan.hits.len() <= 200 * scanner.library().rules().len());
        }
    }
}
