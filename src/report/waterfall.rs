//! Why one record was judged as it was, for people: a waterfall of log odds per question, then the evidence, then the texts
//! of the record with the evidence marked in them.

use std::fmt::Write as _;

use super::{
    table::grouped,
    terminal::{Styles, clip, guard_line, safe},
    verdict_record::{QuestionAnswer, SignalEntry, State, VerdictRecord},
};
use crate::{
    engines::{Class, Question, RatioSource, grounding::trust::ClaimVerdict},
    stats::log_odds,
    text::excerpt::Stretch,
    verdict::Decision,
};

/// Log odds that fill the bar.
const BAR_LOG_ODDS: f64 = 4.0;
/// Characters of the bar.
const BAR_CHARS: usize = 16;
/// Characters of a detail.
const DETAIL_CHARS_MAX: usize = 300;

/// What stands before and behind a marked place, also where nothing is coloured.
const MARKS: [&str; 2] = ["»", "«"];

/// A text of the record, safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownText {
    /// JSON pointer, as findings have it: `/response`, `/prompt/2/text`.
    pub field: String,
    /// Who says it, where it is a message; else empty.
    pub role: String,
    /// As much of it as is shown, with what was found in stretches of its own.
    pub stretches: Vec<Stretch>,
    /// Bytes of the whole.
    pub bytes: usize,
    /// Whether more follows than is shown.
    pub is_cut: bool,
}

/// A verdict, and the texts that it is on.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The verdict.
    pub record: VerdictRecord,
    /// The texts, in the order of the conversation.
    pub texts: Vec<ShownText>,
}

/// The whole explanation of a record.
pub fn render(explained: &Explained, styles: &Styles) -> String {
    let Explained { record, texts } = explained;
    let mut text = String::new();
    head(record, styles, &mut text);
    for (question, answer) in record.questions.iter() {
        waterfall(record, question, answer, styles, &mut text);
    }
    evidence(record, styles, &mut text);
    grounding(record, styles, &mut text);
    engines(record, styles, &mut text);
    verifiers(record, styles, &mut text);
    said(texts, styles, &mut text);
    for problem in &record.problems {
        line(&mut text, &format!("problem: {} {}", safe(&problem.field), safe(&problem.reason)));
    }
    text
}

/// Appends a line. Writing to a string does not fail.
fn line(text: &mut String, line: &str) {
    text.push_str(&guard_line(line.trim_end()));
    text.push('\n');
}

fn head(record: &VerdictRecord, styles: &Styles, text: &mut String) {
    let name = record.model.as_deref().or(record.tool.as_deref()).unwrap_or("(unknown)");
    let heading = styles.heading;
    let place = record.place();
    line(text, &format!("{heading}{}{heading:#}  {}", safe(&place), safe(&record.id)));
    let mut facts = format!("{} {}", record.kind, safe(name));
    for fact in [&record.session_id, &record.timestamp].into_iter().flatten() {
        let _ = write!(facts, "  {}", safe(fact));
    }
    line(text, &facts);
    let style = of_decision(record.verdict, styles);
    line(text, &format!("{style}{}{style:#}  {}", record.verdict.as_str(), record.explanation));
}

fn of_decision(decision: Decision, styles: &Styles) -> anstyle::Style {
    match decision {
        Decision::Accept => styles.good,
        Decision::Flag => styles.warning,
        Decision::Block => styles.bad,
        Decision::NotAssessed => styles.dim,
    }
}

fn waterfall(record: &VerdictRecord, question: Question, answer: &QuestionAnswer, styles: &Styles, text: &mut String) {
    let (heading, dim) = (styles.heading, styles.dim);
    text.push('\n');
    if answer.state == State::NotAssessed {
        let reason = answer.reason.unwrap_or_default();
        line(text, &format!("{heading}{}{heading:#}  {dim}not assessed: {reason}{dim:#}", question.as_str()));
        return;
    }
    let style = of_decision(answer.verdict, styles);
    line(
        text,
        &format!(
            "{heading}{}{heading:#}  P = {:.4}  {style}{}{style:#}",
            question.as_str(),
            answer.posterior,
            answer.verdict.as_str()
        ),
    );
    line(text, &format!("  {dim}{:<26} {:>5} {:>8} {:>6} {:>9}{dim:#}", "", "tier", "ratio", "score", "log odds"));
    let prior = log_odds::prior_log_odds(answer.prior);
    line(text, &format!("  {:<26} {:>5} {:>8} {:>6} {prior:>+9.3}", format!("prior {:.4}", answer.prior), "", "", ""));
    let mut sum = prior;
    for signal in record.signals.iter().filter(|signal| signal.question == question) {
        sum += signal.log_odds;
        contribution(signal, styles, text);
    }
    let posterior = format!("posterior {:.4}", answer.posterior);
    let proven = match answer.class {
        Class::Evidence => "",
        Class::Fact => "  by a fact",
        Class::Proof => "  proven",
    };
    line(text, &format!("  {posterior:<26} {:>5} {:>8} {:>6} {sum:>+9.3}{proven}", "", "", ""));
}

fn contribution(signal: &SignalEntry, styles: &Styles, text: &mut String) {
    let dim = styles.dim;
    let style = if signal.fired { styles.warning } else { styles.dim };
    let tier = if signal.tier == crate::engines::Tier::Zero { "0" } else { "1" };
    let fired = if signal.fired { "" } else { " (absent)" };
    let name = format!("{}{fired}", signal.id);
    let source = match signal.ratio_source {
        RatioSource::Default => "*",
        RatioSource::Fitted => "+",
        RatioSource::Seed | RatioSource::Config => " ",
    };
    let row = format!(
        "  {style}{name:<26}{style:#} {tier:>5} {:>7.2}{source} {:>6.2} {:>+9.3}  {dim}{}{dim:#}",
        signal.likelihood_ratio,
        signal.score,
        signal.log_odds,
        bar(signal.log_odds)
    );
    line(text, &row);
    if !signal.detail.is_empty() {
        line(text, &format!("      {}", clip(&signal.detail, DETAIL_CHARS_MAX)));
    }
}

/// A bar as long as the share of [`BAR_LOG_ODDS`], with the sign of the contribution.
fn bar(log_odds: f64) -> String {
    let share = (log_odds.abs() / BAR_LOG_ODDS).min(1.0);
    let length = (share * BAR_CHARS as f64).round() as usize;
    let symbol = if log_odds >= 0.0 { "█" } else { "░" };
    symbol.repeat(length)
}

fn evidence(record: &VerdictRecord, styles: &Styles, text: &mut String) {
    if record.findings.is_empty() {
        return;
    }
    let heading = styles.heading;
    line(text, &format!("\n{heading}evidence{heading:#}"));
    for finding in &record.findings {
        let dim = styles.dim;
        let place = format!("{} bytes {}..{}", finding.field, finding.start, finding.end);
        line(text, &format!("  {}  {dim}{}{dim:#}", finding.rule, safe(&place)));
        line(text, &format!("      {}", safe(&finding.excerpt)));
        if !finding.detail.is_empty() {
            line(text, &format!("      {dim}{}{dim:#}", clip(&finding.detail, DETAIL_CHARS_MAX)));
        }
    }
    let more = record.findings_total.saturating_sub(record.findings.len() as u64);
    if more > 0 {
        line(text, &format!("  and {more} more"));
    }
}

/// The texts of the record, with what was found in them marked.
fn said(texts: &[ShownText], styles: &Styles, text: &mut String) {
    let (heading, dim, found) = (styles.heading, styles.dim, styles.warning);
    if !texts.is_empty() {
        line(text, &format!("\n{heading}texts{heading:#}"));
    }
    for shown in texts {
        let mut about = safe(&shown.role).into_owned();
        if shown.is_cut {
            let _ = write!(about, "  the beginning of {} bytes", grouped(shown.bytes as u64));
        }
        let about = if about.is_empty() { about } else { format!("  {dim}{about}{dim:#}") };
        line(text, &format!("  {}{about}", safe(&shown.field)));
        let mut whole = String::new();
        for stretch in &shown.stretches {
            for (index, part) in stretch.text.split('\n').enumerate() {
                if index > 0 {
                    whole.push('\n');
                }
                let _ = match (stretch.is_marked, safe(part)) {
                    (true, part) if !part.is_empty() => {
                        write!(whole, "{found}{}{part}{}{found:#}", MARKS[0], MARKS[1])
                    }
                    (_, part) => write!(whole, "{part}"),
                };
            }
        }
        whole.lines().for_each(|said| line(text, &format!("      {said}")));
    }
}

/// The answer claim by claim, with what the sources do not bear out marked and the closest sentence beside it.
fn grounding(record: &VerdictRecord, styles: &Styles, text: &mut String) {
    let Some(found) = &record.grounding else { return };
    let (heading, dim) = (styles.heading, styles.dim);
    let claims = found.supported + found.contradicted + found.unsupported + found.not_assessed;
    let source = found.source.as_str();
    let summary = match found.trust_score {
        Some(trust) => format!("trust {trust:.2}  {} of {claims} claims supported by: {source}", found.supported),
        None => format!("{claims} {}, and nothing to compare them with", if claims == 1 { "claim" } else { "claims" }),
    };
    line(text, &format!("\n{heading}grounding{heading:#}  {summary}"));
    for (index, relevance) in found.relevance.iter().enumerate() {
        line(text, &format!("  {dim}/context/{index} holds {:.0}% of the question{dim:#}", relevance * 100.0));
    }
    for claim in &found.claims {
        let (mark, style) = match claim.verdict {
            ClaimVerdict::Supported => (" ", styles.good),
            ClaimVerdict::Contradicted => ("\u{2717}", styles.bad),
            ClaimVerdict::Unsupported => ("\u{2717}", styles.warning),
            ClaimVerdict::NotAssessed => ("\u{b7}", styles.dim),
        };
        let verdict = claim.verdict.as_str();
        let reason = claim.reason.clause();
        let kind = claim.claim_type.as_str();
        let support = found.trust_score.map(|_| format!("{:.2}  ", claim.support)).unwrap_or_default();
        line(
            text,
            &format!("{mark} {:<7} {style}{verdict:<12}{style:#} {dim}{support}{kind}: {reason}{dim:#}", claim.id),
        );
        line(text, &format!("      {}", safe(&claim.text)));
        if claim.verdict == ClaimVerdict::Supported {
            continue;
        }
        if let Some(part) = &claim.part {
            line(text, &format!("      {dim}not in the sources:{dim:#} {style}{}{style:#}", safe(&part.text)));
        }
        if let Some(evidence) = &claim.evidence {
            let place = format!("{} bytes {}..{}", evidence.field, evidence.start, evidence.end);
            line(text, &format!("      {dim}closest, {}:{dim:#} {}", safe(&place), safe(&evidence.text)));
        }
    }
    let more = u64::from(claims).saturating_sub(found.claims.len() as u64);
    if more > 0 {
        line(text, &format!("  and {more} more claims"));
    }
}

fn engines(record: &VerdictRecord, styles: &Styles, text: &mut String) {
    let (heading, dim) = (styles.heading, styles.dim);
    if !record.engines.0.is_empty() {
        line(text, &format!("\n{heading}engines{heading:#}"));
    }
    for (name, said) in &record.engines.0 {
        let value = said.value.map_or_else(String::new, |value| format!("{value:.3}"));
        let reason = said.reason.unwrap_or_default();
        line(text, &format!("  {name:<18} {:<13} {value:>7} {dim}{reason}{dim:#}", said.status));
    }
    if let Some(health) = &record.health {
        line(text, &format!("  {:<18} {:<13} {:>7.3}", "health", health.label, health.score));
    }
    let has = |source| record.signals.iter().any(|signal| signal.ratio_source == source);
    if has(RatioSource::Default) || has(RatioSource::Fitted) {
        text.push('\n');
    }
    if has(RatioSource::Default) {
        line(text, &format!("{dim}* a default ratio, not fitted on labelled data{dim:#}"));
    }
    if has(RatioSource::Fitted) {
        line(text, &format!("{dim}+ fitted on labelled data: what was measured decides, not the score{dim:#}"));
    }
}

/// The weighted confidence, which stands beside the verdict.
fn verifiers(record: &VerdictRecord, styles: &Styles, text: &mut String) {
    let Some(verifiers) = &record.verifiers else { return };
    let (heading, dim, style) = (styles.heading, styles.dim, of_decision(verifiers.verdict, styles));
    let proven = if verifiers.proof { "  proven" } else { "" };
    let (confidence, verdict) = (verifiers.confidence, verifiers.verdict.as_str());
    line(
        text,
        &format!(
            "\n{heading}verifiers{heading:#} ({})  confidence {confidence:.3}  {style}{verdict}{style:#}{proven}",
            verifiers.mode
        ),
    );
    for (name, said) in &verifiers.results.0 {
        match (said.score, said.skipped) {
            (Some(score), _) => line(text, &format!("  {name:<24} {score:>6.2}  weight {:.2}", said.weight)),
            (None, reason) => {
                line(text, &format!("  {dim}{name:<24} {:>6}  {}{dim:#}", "skip", reason.unwrap_or_default()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    fn explained(record: VerdictRecord) -> Explained {
        Explained { record, texts: Vec::new() }
    }

    #[test]
    fn what_was_found_is_marked_in_its_text() {
        let stretch = |text: &str, is_marked| Stretch { text: text.to_owned(), is_marked };
        let texts = vec![ShownText {
            field: "/prompt/0/text".to_owned(),
            role: "user".to_owned(),
            stretches: vec![
                stretch("Good day.\nPlease ", false),
                stretch("do this\nnow", true),
                stretch(". \u{1b}[2J", false),
            ],
            bytes: 4_000,
            is_cut: true,
        }];
        let text = render(&Explained { texts, ..explained(samples::blocked_record(1)) }, &Styles::plain());
        let expected = "\ntexts\n  /prompt/0/text  user  the beginning of 4,000 bytes\n      Good day.\n      Please »do this«\n      »now«. \\x1b[2J\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn the_terms_add_up_to_the_posterior() {
        let record = samples::blocked_record(3);
        let explained = explained(record);
        let (text, record) = (render(&explained, &Styles::plain()), &explained.record);
        let answer = &record.questions.fabricated;
        assert!(text.contains(&format!("P = {:.4}", answer.posterior)), "{text}");
        assert!(text.contains(&format!("prior {:.4}", answer.prior)), "{text}");
        for signal in &record.signals {
            assert!(text.contains(signal.id), "{text}");
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(2.0).chars().count(), BAR_CHARS / 2);
        assert_eq!(bar(-40.0).chars().count(), BAR_CHARS);
        assert_ne!(bar(-1.0), bar(1.0));
    }

    #[test]
    fn hostile_names_are_shown_as_text() {
        let mut record = samples::blocked_record(1);
        record.id = "\u{1b}[2J\n::error::x".to_owned();
        record.session_id = Some("\u{202e}".to_owned());
        let text = render(&explained(record), &Styles::plain());
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
        assert!(text.lines().all(|line| !line.trim_start().starts_with("::")), "{text}");
    }
}
