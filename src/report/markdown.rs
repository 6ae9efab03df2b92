//! Markdown (GitHub's flavour), for pull requests, step summaries and wikis.
//!
//! Text of the log stands in code spans, where nothing is a link, a mention, an image or HTML ([`code`]); our own text is
//! escaped where it quotes ([`inline`]).
//!
//! **Limits**: [`BYTES_MAX`] bytes, then a line that says so; a step summary of GitHub may have 1 MiB.

use std::{borrow::Cow, fmt::Write as _};

use super::{
    catalogue,
    format::Format,
    summary::Report,
    table::{self, counted, dash, decimal, grouped, percent, start, width_name},
    terminal::{clip, clip_place},
    verdict_record::place,
};

/// Bytes of a report; a step summary of GitHub may have 1,048,576.
pub const BYTES_MAX: usize = 900 * 1024;
/// Rows of a table.
pub const ROWS_MAX: usize = 20;

const NAME_CHARS_MAX: usize = 80;
const TEXT_CHARS_MAX: usize = 400;
const UNPRICED_CHARS_MAX: usize = 1200;

/// The Markdown format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Markdown;

impl Format for Markdown {
    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        out.extend_from_slice(bounded(page(report)).as_bytes());
    }
}

/// Whole lines up to [`BYTES_MAX`].
fn bounded(mut page: String) -> String {
    if page.len() > BYTES_MAX {
        let mut end = BYTES_MAX;
        while !page.is_char_boundary(end) {
            end -= 1;
        }
        page.truncate(page[..end].rfind('\n').map_or(0, |at| at + 1));
        page.push_str("\n*The report is truncated here; the JSON report holds all of it.*\n");
    }
    page
}

fn page(report: &Report) -> String {
    let mut page = String::new();
    opening(report, &mut page);
    comparison(report, &mut page);
    questions(report, &mut page);
    checks(report, &mut page);
    issues(report, &mut page);
    streams(report, &mut page);
    timeline(report, &mut page);
    events(report, &mut page);
    worst(report, &mut page);
    rejected(report, &mut page);
    limits(report, &mut page);
    page
}

fn opening(report: &Report, page: &mut String) {
    let (decisions, input) = (&report.verdicts.decisions, &report.input);
    let state = if report.gate.passed { "passed" } else { "**not passed**" };
    let _ = write!(page, "## llmverify: {state}\n\n");
    let _ = write!(
        page,
        "{} in {}: **{} blocked**, {} flagged, {} accepted, {} not assessed.",
        counted(input.audited, "record", "records"),
        counted(input.files, "source", "sources"),
        grouped(decisions.block),
        grouped(decisions.flag),
        grouped(decisions.accept),
        grouped(decisions.not_assessed),
    );
    for cost in &report.cost {
        let _ =
            write!(page, " Tokens of {} cost {}.", counted(cost.records, "record", "records"), inline(&cost.shown()));
    }
    page.push_str("\n\n");
    for notice in report.notices().into_iter().chain(table::unpriced(report)) {
        let _ = write!(page, "{}\n\n", code(&notice, UNPRICED_CHARS_MAX));
    }
    for reason in &report.gate.reasons {
        let _ = writeln!(page, "- `{}`: {}", reason.rule, inline(&clip(&reason.message, TEXT_CHARS_MAX)));
    }
    if !report.gate.reasons.is_empty() {
        page.push('\n');
    }
    if !input.ledger_adds_up {
        page.push_str("**The units do not add up: something that was read is not accounted for.**\n\n");
    }
}

fn comparison(report: &Report, page: &mut String) {
    if let Some(comparison) = &report.comparison {
        page.push_str(&comparison.to_markdown());
    }
}

fn questions(report: &Report, page: &mut String) {
    page.push_str("### Questions\n\n");
    head(page, &["question", "assessed", "flagged", "blocked", "rate", "95% interval"]);
    for (question, of) in report.questions.iter() {
        let interval = of.wilson_low.zip(of.wilson_high);
        row(
            page,
            &[
                question.as_str().to_owned(),
                grouped(of.assessed),
                grouped(of.flagged),
                grouped(of.blocked),
                of.rate.map_or_else(dash, percent),
                interval.map_or_else(dash, |(low, high)| format!("{} to {}", percent(low), percent(high))),
            ],
        );
    }
    page.push('\n');
}

fn checks(report: &Report, page: &mut String) {
    let rows = report.check_rows();
    if rows.is_empty() {
        return;
    }
    page.push_str("### Checks\n\n");
    head(page, &["name", "effect", "expected", "records", "measured", "95% interval", "outcome"]);
    for of in rows.iter().take(ROWS_MAX) {
        let outcome = if of.outcome == "fails" { "**fails**".to_owned() } else { of.outcome.to_owned() };
        row(
            page,
            &[
                code(&of.name, NAME_CHARS_MAX),
                of.effect.to_owned(),
                inline(&of.expect).into_owned(),
                grouped(of.records),
                inline(&of.measured).into_owned(),
                inline(&of.interval).into_owned(),
                outcome,
            ],
        );
    }
    more(page, rows.len());
}

fn issues(report: &Report, page: &mut String) {
    let mut rules: Vec<_> = report.issues.by_rule.iter().filter(|(_, rule)| rule.records > 0).collect();
    if rules.is_empty() {
        return;
    }
    rules.sort_by_key(|(_, rule)| std::cmp::Reverse(rule.records));
    page.push_str("### Rules on flagged and blocked records\n\n");
    head(page, &["rule", "records", "looked for on", "what it means"]);
    for (id, rule) in rules.iter().take(ROWS_MAX) {
        let title = inline(catalogue::title(id)).into_owned();
        row(page, &[code(id, NAME_CHARS_MAX), grouped(rule.records), grouped(rule.looked_for), title]);
    }
    more(page, rules.len());
}

fn streams(report: &Report, page: &mut String) {
    if report.streams.is_empty() {
        return;
    }
    page.push_str("### Models and tools\n\n");
    let has_cost = !report.cost.is_empty();
    let columns = ["name", "calls", "errors", "p50 ms", "p99 ms", "tokens/s", "flagged", "blocked", "health", "cost"];
    head(page, &columns[..columns.len() - usize::from(!has_cost)]);
    for stream in report.streams.iter().take(ROWS_MAX) {
        let mut cells = vec![
            code(stream.name.as_deref().unwrap_or("(no name)"), NAME_CHARS_MAX),
            grouped(stream.requests),
            grouped(stream.errors),
            stream.latency_ms.p50.map_or_else(dash, decimal),
            stream.latency_ms.p99.map_or_else(dash, decimal),
            stream.tokens_per_second.map_or_else(dash, decimal),
            grouped(stream.verdicts.flag),
            grouped(stream.verdicts.block),
            stream.condition().map_or_else(dash, |word| word.replace('_', " ")),
        ];
        if has_cost {
            let costs = stream.cost.iter().map(|cost| inline(&cost.shown()).into_owned());
            let costs: Vec<String> = costs.collect();
            cells.push(if costs.is_empty() { dash() } else { costs.join(", ") });
        }
        row(page, &cells);
    }
    more(page, report.streams.len());
}

fn timeline(report: &Report, page: &mut String) {
    let timeline = &report.timeline;
    if timeline.buckets.is_empty() {
        return;
    }
    let _ = write!(page, "### Over time (UTC, per {})\n\n", width_name(timeline.bucket_ms));
    head(page, &["from", "records", "flagged", "blocked"]);
    for bucket in &timeline.buckets {
        let decisions = &bucket.decisions;
        let cells = [
            start(bucket, timeline.bucket_ms),
            grouped(decisions.total()),
            grouped(decisions.flag),
            grouped(decisions.block),
        ];
        row(page, &cells);
    }
    page.push('\n');
}

fn events(report: &Report, page: &mut String) {
    if report.events.is_empty() {
        return;
    }
    page.push_str("### Levels that have shifted\n\n");
    head(page, &["stream", "what", "from", "to", "noticed at"]);
    for event in report.events.iter().take(ROWS_MAX) {
        let unit = event.unit;
        row(
            page,
            &[
                code(event.stream.as_deref().unwrap_or("(no name)"), NAME_CHARS_MAX),
                code(&event.chart, NAME_CHARS_MAX),
                format!("{} {unit}", decimal(event.from)),
                format!("{} {unit}", decimal(event.to)),
                code_place(&place(&event.source, event.line, None)),
            ],
        );
    }
    more(page, report.events_total as usize);
}

fn worst(report: &Report, page: &mut String) {
    if report.top.records.is_empty() {
        return;
    }
    page.push_str("### Worst records\n\n");
    head(page, &["verdict", "where", "why"]);
    for record in &report.top.records {
        let verdict = record.verdict.as_str().to_owned();
        row(page, &[verdict, code_place(&record.place()), code(&record.explanation, TEXT_CHARS_MAX)]);
    }
    page.push('\n');
}

fn rejected(report: &Report, page: &mut String) {
    if report.rejected.total == 0 {
        return;
    }
    page.push_str("### Units that are no records\n\n");
    head(page, &["where", "why"]);
    for unit in report.rejected.first.iter().take(ROWS_MAX) {
        let place = place(&unit.source, unit.line, unit.item);
        row(page, &[code(&place, NAME_CHARS_MAX), code(&unit.reason, TEXT_CHARS_MAX)]);
    }
    more(page, report.rejected.total as usize);
}

fn limits(report: &Report, page: &mut String) {
    if report.limits_reached.is_empty() {
        return;
    }
    let reached: Vec<String> = report
        .limits_reached
        .iter()
        .map(|limit| format!("`{}` ({}, {} times)", limit.name, grouped(limit.limit), grouped(limit.times)))
        .collect();
    let _ = writeln!(page, "Limits that were reached: {}.", reached.join(", "));
}

fn head(page: &mut String, columns: &[&str]) {
    let _ = writeln!(page, "| {} |", columns.join(" | "));
    let is_text = ["name", "what it means", "health", "verdict", "where", "why", "stream", "what", "noticed at"];
    let rules =
        columns.iter().enumerate().map(|(i, column)| if i == 0 || is_text.contains(column) { "---" } else { "--:" });
    let _ = writeln!(page, "|{}|", rules.collect::<Vec<_>>().join("|"));
}

fn row(page: &mut String, cells: &[String]) {
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

fn more(page: &mut String, rows: usize) {
    if rows > ROWS_MAX {
        let _ = write!(page, "\nand {} more\n", grouped((rows - ROWS_MAX) as u64));
    }
    page.push('\n');
}

/// Text of the log as a code span, on one line, also within a table: nothing in it is Markdown or HTML.
pub fn code(text: &str, chars_max: usize) -> String {
    span(&clip(text, chars_max))
}

/// The same of a place, whose end stays.
fn code_place(place: &str) -> String {
    span(&clip_place(place, NAME_CHARS_MAX))
}

fn span(shown: &str) -> String {
    // A pipe ends a cell even within a code span, and no escape is possible before one that follows a backslash.
    let shown = shown.replace('|', "\u{a6}");
    if shown.trim().is_empty() {
        return dash();
    }
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if shown.starts_with('`') || shown.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{shown}{pad}{fence}")
}

/// Our own text with what Markdown would take for markup escaped.
pub fn inline(text: &str) -> Cow<'_, str> {
    let is_markup =
        |c: char| matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '~' | '#' | '@' | '!');
    if !text.contains(is_markup) && !text.contains("www.") && !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_markup(c) {
            out.push('\\');
        }
        out.push(c);
    }
    Cow::Owned(out.replace("www.", "www\\.").replace("://", "\\://"))
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    fn write(report: &Report) -> String {
        let mut out = Vec::new();
        Markdown.summary(report, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn it_says_what_was_found() {
        let page = write(&samples::report());
        for part in [
            "## llmverify: **not passed**",
            "| `schema_mismatch` | 2 | 2 |",
            "| block | `app.jsonl:22` | `Blocked as fabricated",
            "### Over time (UTC, per ",
            "| `get_weather` | 21 |",
        ] {
            assert!(page.contains(part), "{part} is missing in\n{page}");
        }
    }

    #[test]
    fn text_of_the_log_stays_in_its_code_span() {
        assert_eq!(code("a`b``c", 80), "```a`b``c```");
        assert_eq!(code("`", 80), "`` ` ``");
        assert_eq!(code("a|b\n<img>", 80), "`a\u{a6}b\\n<img>`");
        assert_eq!(code(" ", 80), "–");
        assert_eq!(inline("a_b <x> @me https://x"), "a\\_b \\<x\\> \\@me https\\://x");
        for hostile in samples::HOSTILE {
            let page = write(&samples::hostile_report(hostile));
            assert!(!page.replace('\n', "").contains(super::super::terminal::is_unsafe), "{hostile:?}");
            assert!(page.lines().all(|line| !line.trim_start().starts_with("::")), "{hostile:?}");
        }
    }

    #[test]
    fn it_is_cut_at_a_line() {
        let cut = bounded("é line\n".repeat(BYTES_MAX / 7));
        assert!(cut.len() < BYTES_MAX + 200 && cut.ends_with("holds all of it.*\n"));
        assert!(cut.lines().rev().nth(2).unwrap() == "é line");
    }
}
