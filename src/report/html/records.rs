//! The worst records of the page: a row each, and the data that the script opens a row with.

use std::fmt::Write as _;

use serde::Serialize;

use super::{
    super::{
        safe_json,
        summary::Report,
        table::grouped,
        terminal::clip,
        verdict_record::{FindingEntry, GroundingEntry, QuestionAnswer, State, VerdictRecord},
    },
    clipped, text,
};
use crate::engines::{Class, Question, RatioSource, Severity, Tier};

/// No page shows more records than this.
pub const ROWS_MAX: usize = 300;
/// The data of the records shown takes no more bytes than this.
pub const BYTES_MAX: usize = 1_200_000;
/// No record of the page shows more findings, or more claims, than this.
pub const PARTS_MAX: usize = 40;

const NAME_CHARS_MAX: usize = 64;
const EXPLANATION_CHARS_MAX: usize = 150;
const DETAIL_CHARS_MAX: usize = 600;

/// The records that a page shows, with their data.
pub struct Worst<'r> {
    records: Vec<&'r VerdictRecord>,
    json: String,
}

impl<'r> Worst<'r> {
    /// As many of `records` as there is room for.
    pub fn new(records: &'r [Box<VerdictRecord>]) -> Worst<'r> {
        let mut shown = Vec::new();
        let mut json = String::from("[");
        for record in records.iter().take(ROWS_MAX) {
            let mut entry = Vec::new();
            safe_json::compact(&Entry::new(record), &mut entry);
            let entry = within_script(&String::from_utf8_lossy(&entry));
            if json.len() + entry.len() + ",]".len() > BYTES_MAX {
                break;
            }
            if !shown.is_empty() {
                json.push(',');
            }
            json.push_str(&entry);
            shown.push(&**record);
        }
        json.push(']');
        Worst { records: shown, json }
    }

    /// The data, which may stand in a script element.
    pub fn json(&self) -> String {
        self.json.clone()
    }

    /// A row per record.
    pub fn rows(&self) -> String {
        let mut out = String::new();
        for (index, record) in self.records.iter().enumerate() {
            let name = record.model.as_deref().or(record.tool.as_deref()).unwrap_or("(unknown)");
            let questions: Vec<&str> = Question::ALL
                .into_iter()
                .filter(|question| record.questions.get(*question).verdict >= crate::verdict::Decision::Flag)
                .map(Question::as_str)
                .collect();
            let verdict = record.verdict.as_str();
            let posterior = record.deciding_posterior();
            let time = record.timestamp.as_deref().unwrap_or("");
            let shown_time = time.get(.."2000-01-01T00:00:00".len()).unwrap_or(time).replace('T', " ");
            let _ = write!(
                out,
                "<tr class=\"record\" data-index=\"{index}\" data-verdict=\"{verdict}\" data-questions=\"{}\">\
                 <td><button type=\"button\" class=\"open\" aria-expanded=\"false\"><span class=\"verdict {verdict}\">{verdict}</span></button></td>\
                 <td class=\"n\" data-value=\"{posterior:.6}\">{posterior:.3}</td><td>{}</td><td>{}</td><td>{}</td>\
                 <td class=\"time\">{}</td><td class=\"wide\">{}</td></tr>",
                questions.join(" "),
                questions.join(", "),
                clipped(name, NAME_CHARS_MAX),
                super::clipped_place(&record.place()),
                text(&shown_time),
                clipped(&record.explanation, EXPLANATION_CHARS_MAX),
            );
        }
        out
    }

    /// How many of how many are shown.
    pub fn note(&self, report: &Report) -> String {
        let shown = self.records.len() as u64;
        let decisions = &report.verdicts.decisions;
        let all = decisions.flag + decisions.block;
        let which = match (shown, all) {
            (_, 0) => return "<p class=\"none\">No record is flagged or blocked.</p>".to_owned(),
            (1, 1) => "The one record that is flagged or blocked.".to_owned(),
            _ if shown < all => {
                format!("The worst {} of {} records that are flagged or blocked.", grouped(shown), grouped(all))
            }
            _ => format!("All {} records that are flagged or blocked.", grouped(all)),
        };
        format!(
            "<p class=\"note\">{} Open a row for the evidence: what each signal added to the log odds, and the redacted \
             places in the text.</p>",
            text(&which)
        )
    }
}

/// JSON that cannot end a script element, nor begin a comment in it.
fn within_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[derive(Serialize)]
struct Entry<'r> {
    place: String,
    source: &'r str,
    line: u64,
    id: &'r str,
    session: Option<&'r str>,
    explanation: &'r str,
    label: Option<&'r str>,
    questions: Vec<Answer<'r>>,
    findings: Vec<Finding<'r>>,
    findings_total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    grounding: Option<Grounding>,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct Answer<'r> {
    question: &'static str,
    verdict: &'static str,
    reason: Option<&'static str>,
    prior: f64,
    posterior: f64,
    class: Class,
    signals: Vec<Signal<'r>>,
    /// Signals that were looked for and not found, together.
    absent: Vec<&'r str>,
    absent_log_odds: f64,
}

#[derive(Serialize)]
struct Signal<'r> {
    id: &'r str,
    score: f64,
    ratio: f64,
    fitted: bool,
    tier: u8,
    log_odds: f64,
    detail: String,
}

#[derive(Serialize)]
struct Finding<'r> {
    rule: &'r str,
    severity: Severity,
    place: String,
    excerpt: &'r str,
    detail: &'r str,
}

#[derive(Serialize)]
struct Grounding {
    summary: String,
    claims: Vec<Claim>,
}

#[derive(Serialize)]
struct Claim {
    verdict: &'static str,
    support: f64,
    reason: &'static str,
    text: String,
    closest: Option<String>,
}

impl Entry<'_> {
    fn new(record: &VerdictRecord) -> Entry<'_> {
        Entry {
            place: record.place(),
            source: &record.source,
            line: record.line,
            id: &record.id,
            session: record.session_id.as_deref(),
            explanation: &record.explanation,
            label: record.label.as_deref(),
            questions: record
                .questions
                .iter()
                .map(|(question, answer)| Answer::new(record, question, answer))
                .collect(),
            findings: record.findings.iter().take(PARTS_MAX).map(Finding::new).collect(),
            findings_total: record.findings_total,
            grounding: record.grounding.as_ref().map(Grounding::new),
            problems: record.problems.iter().map(|problem| format!("{} {}", problem.field, problem.reason)).collect(),
        }
    }
}

impl Answer<'_> {
    fn new<'r>(record: &'r VerdictRecord, question: Question, answer: &QuestionAnswer) -> Answer<'r> {
        let mine = || record.signals.iter().filter(|signal| signal.question == question);
        // What did not fire counts a little each; together they are one step of the waterfall.
        let absent = || mine().filter(|signal| !signal.fired && signal.log_odds != 0.0);
        Answer {
            question: question.as_str(),
            verdict: answer.verdict.as_str(),
            reason: if answer.state == State::Assessed { None } else { answer.reason },
            prior: rounded(answer.prior),
            posterior: rounded(answer.posterior),
            class: answer.class,
            absent: absent().map(|signal| signal.id).collect(),
            absent_log_odds: rounded(absent().map(|signal| signal.log_odds).sum()),
            signals: mine()
                .filter(|signal| signal.fired)
                .map(|signal| Signal {
                    id: signal.id,
                    score: rounded(signal.score),
                    ratio: rounded(signal.likelihood_ratio),
                    fitted: signal.ratio_source == RatioSource::Fitted,
                    tier: u8::from(signal.tier == Tier::One),
                    log_odds: rounded(signal.log_odds),
                    detail: clip(&signal.detail, DETAIL_CHARS_MAX).into_owned(),
                })
                .collect(),
        }
    }
}

impl Finding<'_> {
    fn new(finding: &FindingEntry) -> Finding<'_> {
        Finding {
            rule: &finding.rule,
            severity: finding.severity,
            place: format!("{} bytes {}..{}", clip(&finding.field, NAME_CHARS_MAX), finding.start, finding.end),
            excerpt: &finding.excerpt,
            detail: &finding.detail,
        }
    }
}

impl Grounding {
    fn new(found: &GroundingEntry) -> Grounding {
        let claims = found.supported + found.contradicted + found.unsupported + found.not_assessed;
        Grounding {
            summary: match found.trust_score {
                Some(trust) => {
                    let source = found.source.as_str();
                    format!("trust {trust:.2}; {} of {claims} claims supported by: {source}", found.supported)
                }
                None => format!(
                    "{claims} {}, and nothing to compare them with",
                    if claims == 1 { "claim" } else { "claims" }
                ),
            },
            claims: found
                .claims
                .iter()
                .take(PARTS_MAX)
                .map(|claim| Claim {
                    verdict: claim.verdict.as_str(),
                    support: rounded(claim.support),
                    reason: claim.reason.clause(),
                    text: claim.text.clone(),
                    closest: claim.evidence.as_ref().map(|evidence| evidence.text.clone()),
                })
                .collect(),
        }
    }
}

/// Four digits after the point say all that is shown.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::{super::super::samples, *};

    #[test]
    fn the_data_is_json_that_cannot_end_its_script() {
        let records: Vec<_> =
            ["</script>", "<!--<script>", "\u{2028}&"].map(|text| Box::new(samples::hostile_record(text))).into();
        let worst = Worst::new(&records);
        assert!(!worst.json().contains(['<', '>', '&', '\u{2028}']));
        let data: serde_json::Value = serde_json::from_str(&worst.json()).unwrap();
        assert_eq!(data[0]["id"], "</script>");
        assert_eq!(data[1]["questions"][0]["signals"][0]["detail"], "<!--<script>");
    }

    #[test]
    fn the_page_stays_small_whatever_the_records() {
        let mut big = samples::blocked_record(1);
        big.findings = vec![big.findings[0].clone(); 100];
        big.findings.iter_mut().for_each(|finding| finding.excerpt = "<".repeat(300));
        let records: Vec<_> = (0..400).map(|_| Box::new(big.clone())).collect();
        let worst = Worst::new(&records);
        assert!(worst.json().len() <= BYTES_MAX && worst.records.len() < ROWS_MAX);
        assert!(worst.note(&samples::report()).contains("All 2 records that are flagged"));
    }
}
