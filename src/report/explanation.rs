//! The verdict in one or two sentences, for people.
//!
//! "Blocked as fabricated (P = 0.53): the result lacks the required field humidity (LR 12, score 0.50)."
//!
//! The question that is named is the one that decided: the worst decision, then a proof, then the largest posterior.
//! At most [`CLAUSES_MAX`] signals are named, the strongest first. All text from the log is made safe to show and cut.

use std::fmt::Write;

use super::terminal::clip;
use crate::{
    engines::{Class, Question, RatioSource, Signal},
    verdict::{Answer, Decision, Verdict, judge::HIGH_RISK_FROM},
};

/// No explanation names more signals than this.
pub const CLAUSES_MAX: usize = 3;
/// No clause is longer than this many characters.
pub const CLAUSE_CHARS_MAX: usize = 160;

/// One or two sentences on `verdict`, which was judged from `signals`.
pub fn explain(verdict: &Verdict, signals: &[Signal]) -> String {
    if verdict.decision == Decision::NotAssessed {
        return not_assessed(verdict);
    }
    let Some(answer) = deciding(verdict) else {
        return String::new();
    };
    let fired = match verdict.decision {
        Decision::Accept => strongest(signals, |_| true),
        _ => strongest(signals, |question| question == answer.question),
    };
    match verdict.decision {
        Decision::Block => format!("Blocked as {}: {}.", found(answer), clauses(&fired)),
        Decision::Flag => format!("Flagged as {}: {}.", found(answer), clauses(&fired)),
        _ if fired.is_empty() => format!("Accepted: no signal fired; {}.", likeliest(answer)),
        _ => format!("Accepted, although {}; {}.", clauses(&fired), likeliest(answer)),
    }
}

/// The answer that a verdict rests on; `None` only when no question was assessed.
fn deciding(verdict: &Verdict) -> Option<&Answer> {
    let assessed = verdict.answers.iter().filter(|answer| answer.not_assessed.is_none());
    let weight = |answer: &Answer| (answer.decision, answer.class, answer.posterior);
    assessed.reduce(|best, answer| if weight(answer) > weight(best) { answer } else { best })
}

fn strongest(signals: &[Signal], is_about: impl Fn(Question) -> bool) -> Vec<&Signal> {
    let mut fired: Vec<&Signal> = signals.iter().filter(|signal| signal.fired && is_about(signal.question)).collect();
    let contribution = |signal: &Signal| signal.evidence().contribution();
    fired.sort_by(|a, b| b.class.cmp(&a.class).then(contribution(b).total_cmp(&contribution(a))));
    fired
}

fn found(answer: &Answer) -> String {
    let what = match answer.question {
        Question::Fabricated => "fabricated",
        Question::Attacked => "an attack",
        Question::Leaking => "leaking",
        Question::Degraded => "degraded",
    };
    // A fact or a proof decides whatever the posterior is, and an unlikely one beside it would only confuse.
    match answer.class {
        Class::Fact => format!("{what} (a fact)"),
        Class::Proof if answer.posterior < 0.5 => format!("{what} (proven)"),
        Class::Proof => format!("{what} (P = {:.2}, proven)", rounded(answer.posterior)),
        Class::Evidence => format!("{what} (P = {:.2})", rounded(answer.posterior)),
    }
}

fn likeliest(answer: &Answer) -> String {
    format!("the likeliest question is {} (P = {:.2})", answer.question.as_str(), rounded(answer.posterior))
}

/// To two places; never up to a threshold that was not reached.
fn rounded(posterior: f64) -> f64 {
    const THRESHOLDS: [f64; 3] = [0.2, 0.5, HIGH_RISK_FROM];
    let rounded = (posterior * 100.0).round() / 100.0;
    let misleads =
        THRESHOLDS.iter().any(|threshold| (posterior..=rounded).contains(threshold) && posterior < *threshold);
    if misleads { (posterior * 100.0).floor() / 100.0 } else { rounded }
}

fn clauses(fired: &[&Signal]) -> String {
    let named: Vec<String> = fired.iter().take(CLAUSES_MAX).map(|signal| clause(signal)).collect();
    let mut text = named.join("; ");
    let more = fired.len().saturating_sub(CLAUSES_MAX);
    if more > 0 {
        let written = write!(text, "; and {more} more");
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    text
}

fn clause(signal: &Signal) -> String {
    let detail = if signal.detail.is_empty() { signal.id } else { &signal.detail };
    let (detail, ratio, score) = (clip(detail, CLAUSE_CHARS_MAX), signal.likelihood_ratio, signal.score);
    if signal.class == Class::Fact {
        return detail.to_string();
    }
    if signal.ratio_source == RatioSource::Fitted {
        return format!("{detail} (fitted LR {})", brief(ratio));
    }
    format!("{detail} (LR {}, score {score:.2})", brief(ratio))
}

/// A ratio in at most three digits, and more only where it has more before the point.
fn brief(ratio: f64) -> String {
    let rounded = if ratio >= 100.0 { ratio.round() } else { (ratio * 100.0).round() / 100.0 };
    rounded.to_string()
}

fn not_assessed(verdict: &Verdict) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in verdict.answers.iter().filter_map(|answer| answer.not_assessed) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    format!("Not assessed: {}.", reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};
    use crate::engines::Tier;

    fn fired(id: &'static str, question: Question, ratio: f64, score: f64, detail: &str) -> Signal {
        Signal::absent(id, question, Tier::Zero, (ratio, RatioSource::Seed)).fire(score, detail.to_owned())
    }

    #[track_caller]
    fn check(signals: &[Signal], expected: &str) {
        assert_eq!(explain(&samples::judge(signals), signals), expected);
    }

    #[test]
    fn each_decision_has_its_sentence() {
        let schema = |score| fired("schema_mismatch", Question::Fabricated, 12.0, score, "the result lacks humidity");
        check(&[schema(0.5)], "Blocked as fabricated (P = 0.53): the result lacks humidity (LR 12, score 0.50).");
        check(&[schema(0.2)], "Flagged as fabricated (P = 0.36): the result lacks humidity (LR 12, score 0.20).");
        check(
            &[schema(0.01)],
            "Accepted, although the result lacks humidity (LR 12, score 0.01); the likeliest question is fabricated (P = 0.16).",
        );
        let absent = Signal::absent("schema_mismatch", Question::Fabricated, Tier::Zero, (12.0, RatioSource::Seed));
        check(&[absent], "Accepted: no signal fired; the likeliest question is fabricated (P = 0.13).");
        check(&[], "Not assessed: no result; no prompt; no response; no numbers.");
    }

    #[test]
    fn a_proof_is_named_first_and_as_such() {
        let mut proof = fired("equation", Question::Fabricated, 2.0, 1.0, "2 + 2 = 5 is false");
        proof.class = Class::Proof;
        let text = explain(&samples::judge(&[proof.clone()]), &[proof.clone()]);
        assert!(text.starts_with("Blocked as fabricated (proven): 2 + 2 = 5 is false (LR 2"), "{text}");
        let strong = fired("schema_mismatch", Question::Fabricated, 12.0, 1.0, "the result lacks humidity");
        let text = explain(&samples::judge(&[strong.clone(), proof.clone()]), &[strong, proof]);
        assert!(text.starts_with("Blocked as fabricated (P = 0.81, proven): 2 + 2 = 5 is false (LR 2"), "{text}");
    }

    #[test]
    fn only_the_strongest_signals_are_named() {
        let signals: Vec<Signal> = ["a", "b", "c", "d", "e"]
            .iter()
            .zip([2.0, 9.0, 4.0, 8.0, 3.0])
            .map(|(id, ratio)| fired(id, Question::Leaking, ratio, 1.0, ""))
            .collect();
        check(
            &signals,
            "Blocked as leaking (P = 0.95): b (LR 9, score 1.00); d (LR 8, score 1.00); c (LR 4, score 1.00); and 2 more.",
        );
    }

    #[test]
    fn hostile_details_are_cut_and_escaped() {
        let detail = format!("\u{1b}[31m\n::error::{}", "x".repeat(1000));
        let signals = [fired("a", Question::Attacked, 1000.0, 1.0, &detail)];
        let text = explain(&samples::judge(&signals), &signals);
        assert!(text.starts_with("Blocked as an attack (P = 0.91): \\x1b[31m\\n::error::xxx"), "{text}");
        assert!(text.len() < 300 && !text.contains(super::super::terminal::is_unsafe));
    }
}
