//! HTML: one self-contained page, made for reading.
//!
//! - `page.html`, `page.css`, `page.js`: the template, its style and its script
//! - [`charts`]: inline SVG, each chart with a title and its numbers as a table
//! - [`records`]: the worst records, as rows and as the data that the script opens them with
//!
//! The page loads nothing: a content security policy allows its own style and script, by their hashes, and nothing else.
//! Text of the log is made safe to show and escaped ([`text`]); the script puts it into the page as text only.
//!
//! **Limits**: [`records::ROWS_MAX`] records and [`records::BYTES_MAX`] bytes of them, [`STREAMS_SHOWN_MAX`] streams, so
//! that a page stays below 2 MB whatever the log.

mod charts;
pub mod records;

use std::fmt::Write as _;

use data_encoding::BASE64;
use sha2::{Digest as _, Sha256};

use super::{
    catalogue,
    format::Format,
    prices::Cost,
    summary::{Report, StreamSummary, Top},
    table::{self, counted, dash, decimal, grouped, percent, size, width_name},
    terminal::safe,
    verdict_record::place,
};
use crate::engines::{Question, Severity};

/// No page shows more streams than this.
pub const STREAMS_SHOWN_MAX: usize = 60;
/// No page shows more rows of rules, findings or events than this.
pub const ROWS_SHOWN_MAX: usize = 20;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The HTML format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Html;

impl Format for Html {
    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        let worst = records::Worst::new(&report.details.worst);
        let parts = [
            ("policy", policy()),
            ("style", STYLE.to_owned()),
            ("script", SCRIPT.to_owned()),
            ("version", text(report.tool.version)),
            ("state", if report.gate.passed { "passed" } else { "failed" }.to_owned()),
            ("headline", headline(report)),
            ("reasons", reasons(report)),
            ("ledger", ledger(report)),
            ("verdicts", charts::verdicts(report)),
            ("comparison", comparison(report)),
            ("timeline", timeline(report)),
            ("questions", questions(report)),
            ("checks", checks(report)),
            ("streams", streams(report)),
            ("distributions", charts::distributions(report)),
            ("control", charts::control(report)),
            ("events", events(report)),
            ("calibration", charts::calibration(report)),
            ("rules", rules(report)),
            ("findings", findings(report)),
            ("records", worst.rows()),
            ("records_note", worst.note(report)),
            ("records_hidden", if report.details.worst.is_empty() { " hidden" } else { "" }.to_owned()),
            ("data", worst.json()),
            ("rest", rest(report)),
        ];
        fill(&parts, out);
    }
}

/// The template with its parts; what a part holds is not looked into again.
fn fill(parts: &[(&str, String)], out: &mut Vec<u8>) {
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        let part = parts.iter().find(|(known, _)| *known == name).map(|(_, part)| part);
        debug_assert!(part.is_some(), "the template names {name}");
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(part.map_or(&[][..], |part| part.as_bytes()));
        rest = after;
    }
    out.extend_from_slice(rest.as_bytes());
}

/// What the page may do: show its own style and run its own script.
fn policy() -> String {
    let hash = |source: &str| format!("'sha256-{}'", BASE64.encode(&Sha256::digest(source)));
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// Text as HTML: what acts on a reader is an escape, what acts on a browser an entity.
fn text(text: &str) -> String {
    let safe = safe(text);
    let mut out = String::with_capacity(safe.len());
    for c in safe.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn clipped(value: &str, chars_max: usize) -> String {
    text(&super::terminal::clip(value, chars_max))
}

/// The same of a place, whose end stays.
fn clipped_place(place: &str) -> String {
    text(&super::terminal::clip_place(place, NAME_CHARS_MAX))
}

const NAME_CHARS_MAX: usize = 64;
const TEXT_CHARS_MAX: usize = 400;

fn headline(report: &Report) -> String {
    let input = &report.input;
    let mut line = format!(
        "{} in {}, {}",
        counted(input.audited, "record", "records"),
        counted(input.files, "source", "sources"),
        size(input.bytes)
    );
    for cost in &report.cost {
        let _ = write!(line, ", tokens for {}", cost.shown());
    }
    text(&line)
}

fn reasons(report: &Report) -> String {
    let reason = |rule: &str, message: &str| format!("<li><code>{}</code> {}</li>", text(rule), text(message));
    let items: String = report.gate.reasons.iter().map(|of| reason(of.rule, &of.message)).collect();
    if items.is_empty() { String::new() } else { format!("<ul class=\"reasons\">{items}</ul>") }
}

fn ledger(report: &Report) -> String {
    let mut parts = vec![text(&table::ledger(&report.input))];
    if report.suppressions.hits > 0 {
        parts.push(format!("{} suppressed", counted(report.suppressions.hits, "finding", "findings")));
    }
    parts.extend(report.notices().into_iter().chain(table::unpriced(report)).map(|notice| text(&notice)));
    if !report.input.ledger_adds_up {
        parts.push("<strong>this does not add up</strong>".to_owned());
    }
    parts.join("; ")
}

fn comparison(report: &Report) -> String {
    let Some(comparison) = &report.comparison else { return String::new() };
    let mut out = String::from("<section id=\"comparison\"><h2>Against the baseline</h2>");
    for (title, rows) in comparison.sections() {
        let _ = write!(out, "<h3>{}</h3><div class=\"scroll\"><table>", text(&title));
        for (index, row) in rows.iter().enumerate() {
            let tag = if index == 0 { "th" } else { "td" };
            let cell = |(column, cell): (usize, &String)| {
                let class = if (1..5).contains(&column) { " class=\"n\"" } else { "" };
                format!("<{tag}{class}>{}</{tag}>", text(cell))
            };
            let cells: String = row.iter().enumerate().map(cell).collect();
            let _ = write!(out, "<tr>{cells}</tr>");
        }
        out.push_str("</table></div>");
    }
    out.push_str("</section>");
    out
}

fn timeline(report: &Report) -> String {
    let timeline = &report.timeline;
    if timeline.buckets.is_empty() {
        return "<p class=\"none\">No record has a time.</p>".to_owned();
    }
    let untimed = if timeline.untimed > 0 {
        format!("; {} no time", counted(timeline.untimed, "record has", "records have"))
    } else {
        String::new()
    };
    let note = format!("UTC, per {}{untimed}. Spans without records are left out.", width_name(timeline.bucket_ms));
    format!("{}<p class=\"note\">{}</p>", charts::timeline(report), text(&note))
}

/// What a question asks, for a reader who meets it first here.
fn asks(question: Question) -> &'static str {
    match question {
        Question::Fabricated => "Is the content made up?",
        Question::Attacked => "Does the input try to subvert the model?",
        Question::Leaking => "Does the output give away what it must not?",
        Question::Degraded => "Is the service unwell?",
    }
}

fn questions(report: &Report) -> String {
    let highest = report.questions.iter().filter_map(|(_, of)| of.wilson_high).fold(0.0, f64::max);
    let mut out = String::from("<div class=\"cards\">");
    for (question, of) in report.questions.iter() {
        let rate = of.rate.map_or_else(dash, percent);
        let interval = of.wilson_low.zip(of.wilson_high);
        let (range, chart) = match (interval, of.rate) {
            (Some((low, high)), Some(rate)) => (
                format!("95% interval {} to {}", percent(low), percent(high)),
                charts::interval(question.as_str(), low, rate, high, highest),
            ),
            _ => ("not assessed on any record".to_owned(), String::new()),
        };
        let _ = write!(
            out,
            "<article class=\"card\"><h3>{}</h3><p class=\"asks\">{}</p><p class=\"figure\">{}</p>{chart}\
             <p class=\"note\">{}</p><dl><dt>blocked</dt><dd>{}</dd><dt>flagged</dt><dd>{}</dd><dt>assessed</dt><dd>{}</dd>\
             <dt>not assessed</dt><dd>{}</dd></dl></article>",
            question.as_str(),
            asks(question),
            text(&rate),
            text(&range),
            grouped(of.blocked),
            grouped(of.flagged),
            grouped(of.assessed),
            grouped(of.not_assessed),
        );
    }
    out.push_str("</div>");
    out
}

fn streams(report: &Report) -> String {
    let all: Vec<&StreamSummary> = report.streams.iter().take(STREAMS_SHOWN_MAX).chain(&report.other_streams).collect();
    if all.is_empty() {
        return "<p class=\"none\">No stream.</p>".to_owned();
    }
    let slowest = all.iter().filter_map(|stream| stream.latency_ms.p99).fold(0.0, f64::max);
    let has_cost = !report.cost.is_empty();
    let mut out = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>name</th><th class=\"n\">calls</th><th class=\"n\">errors</th>\
         <th>latency, ms (log scale: p50, p95, p99)</th><th class=\"n\">p50</th><th class=\"n\">p95</th><th class=\"n\">p99</th>\
         <th class=\"n\">tokens/s</th><th class=\"n\">flagged</th><th class=\"n\">blocked</th><th>health</th>",
    );
    out.push_str(if has_cost { "<th class=\"n\">cost</th></tr></thead>" } else { "</tr></thead>" });
    for stream in &all {
        let name = if stream.kind.is_none() { "(others)" } else { stream.name.as_deref().unwrap_or("(no name)") };
        let number = |value: Option<f64>| text(&value.map_or_else(dash, decimal));
        let quantiles = stream.latency_ms;
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}<span class=\"kind\">{}</span></th><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n{}\">{}</td><td class=\"n{}\">{}</td><td>{}</td>",
            clipped(name, NAME_CHARS_MAX),
            stream.kind.unwrap_or(""),
            grouped(stream.requests),
            grouped(stream.errors),
            charts::quantiles(&quantiles, slowest),
            number(quantiles.p50),
            number(quantiles.p95),
            number(quantiles.p99),
            number(stream.tokens_per_second),
            mark(stream.verdicts.flag, " flag"),
            grouped(stream.verdicts.flag),
            mark(stream.verdicts.block, " block"),
            grouped(stream.verdicts.block),
            charts::health(stream.health.as_ref(), stream.condition()),
        );
        if has_cost {
            let costs: Vec<String> = stream.cost.iter().map(Cost::shown).collect();
            let _ = write!(out, "<td class=\"n\">{}</td>", text(&costs.join(", ")));
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div>");
    more(&mut out, report.streams.len(), STREAMS_SHOWN_MAX);
    out
}

/// A class for numbers that are not zero.
fn mark(n: u64, class: &'static str) -> &'static str {
    if n > 0 { class } else { "" }
}

fn more(out: &mut String, total: usize, shown_max: usize) {
    if total > shown_max {
        let _ = write!(out, "<p class=\"note\">and {} more</p>", grouped((total - shown_max) as u64));
    }
}

fn events(report: &Report) -> String {
    if report.events.is_empty() {
        return "<p class=\"none\">No level has shifted.</p>".to_owned();
    }
    let mut out = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>stream</th><th>what</th><th class=\"n\">from</th><th class=\"n\">to</th>\
         <th>since</th><th>noticed at</th></tr></thead>",
    );
    for event in report.events.iter().take(ROWS_SHOWN_MAX) {
        let level = |value: f64| text(&format!("{} {}", decimal(value), event.unit));
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
            clipped(event.stream.as_deref().unwrap_or("(no name)"), NAME_CHARS_MAX),
            clipped(&event.chart, NAME_CHARS_MAX),
            level(event.from),
            level(event.to),
            text(event.began.as_deref().unwrap_or("–")),
            clipped_place(&place(&event.source, event.line, None)),
        );
    }
    out.push_str("</table></div>");
    more(&mut out, report.events_total as usize, ROWS_SHOWN_MAX);
    out
}

fn rules(report: &Report) -> String {
    let mut rules: Vec<_> = report.issues.by_rule.iter().filter(|(_, rule)| rule.records > 0).collect();
    if rules.is_empty() {
        return "<p class=\"none\">No rule led to a flag.</p>".to_owned();
    }
    rules.sort_by_key(|(_, rule)| std::cmp::Reverse(rule.records));
    let most = rules.first().map_or(1, |(_, rule)| rule.records);
    let mut out = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>rule</th><th>question</th><th></th><th class=\"n\">records</th>\
         <th class=\"n\">looked for on</th><th>what it means</th></tr></thead>",
    );
    for (id, rule) in rules.iter().take(ROWS_SHOWN_MAX) {
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"wide\">{}</td></tr>",
            clipped(id, NAME_CHARS_MAX),
            rule.question.as_str(),
            charts::bar(rule.records, most),
            grouped(rule.records),
            grouped(rule.looked_for),
            text(catalogue::title(id)),
        );
    }
    out.push_str("</table></div>");
    more(&mut out, rules.len(), ROWS_SHOWN_MAX);
    out
}

fn checks(report: &Report) -> String {
    let rows = report.check_rows();
    if rows.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<section id=\"checks\"><h2>Checks</h2><div class=\"scroll\"><table><thead><tr><th>check</th><th>effect</th>\
         <th>expected</th><th class=\"n\">records</th><th class=\"n\">measured</th><th>95% interval</th><th></th></tr></thead>",
    );
    for row in &rows {
        let outcome = text(row.outcome);
        let outcome = if row.outcome == "fails" { format!("<b>{outcome}</b>") } else { outcome };
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td>{}</td><td>{outcome}</td></tr>",
            clipped(&row.name, NAME_CHARS_MAX),
            row.effect,
            clipped(&row.expect, TEXT_CHARS_MAX),
            grouped(row.records),
            text(&row.measured),
            text(&row.interval),
        );
    }
    out.push_str("</table></div></section>");
    out
}

fn findings(report: &Report) -> String {
    let Top { categories, findings, .. } = &report.top;
    if findings.is_empty() {
        return "<p class=\"none\">Nothing was found in a text.</p>".to_owned();
    }
    let mut out = String::new();
    // One category says no more than its rules.
    if categories.len() > 1 {
        counted_findings(
            &mut out,
            "category",
            categories.iter().map(|of| (&*of.category, of.severity, of.findings, of.records)),
        );
    }
    counted_findings(&mut out, "rule", findings.iter().map(|of| (&*of.rule, of.severity, of.findings, of.records)));
    out
}

fn counted_findings<'r>(
    out: &mut String,
    name: &str,
    rows: impl Iterator<Item = (&'r str, Severity, u64, u64)> + Clone,
) {
    let most = rows.clone().map(|(_, _, findings, _)| findings).max().unwrap_or(1);
    let _ = write!(
        out,
        "<div class=\"scroll\"><table><thead><tr><th>{name}</th><th>severity</th><th></th><th class=\"n\">places</th>\
         <th class=\"n\">records</th></tr></thead>",
    );
    for (name, severity, findings, records) in rows {
        let severity = format!("{severity:?}").to_lowercase();
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td><span class=\"severity {severity}\">{severity}</span></td>\
             <td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            clipped(name, NAME_CHARS_MAX),
            charts::bar(findings, most),
            grouped(findings),
            grouped(records),
        );
    }
    out.push_str("</table></div>");
}

/// What is left to say: units that are no records, unusable fields, limits.
fn rest(report: &Report) -> String {
    let mut out = String::new();
    if report.rejected.total > 0 {
        out.push_str("<section><h2>Units that are no records</h2><div class=\"scroll\"><table>");
        for unit in &report.rejected.first {
            let place = place(&unit.source, unit.line, unit.item);
            let (place, reason) = (clipped_place(&place), clipped(&unit.reason, TEXT_CHARS_MAX));
            let _ = write!(out, "<tr><td>{place}</td><td class=\"wide\">{reason}</td></tr>");
        }
        out.push_str("</table></div>");
        more(&mut out, report.rejected.total as usize, report.rejected.first.len());
        out.push_str("</section>");
    }
    if report.problems.total > 0 {
        out.push_str("<section><h2>Fields that could not be used</h2><div class=\"scroll\"><table>");
        for problem in &report.problems.first {
            let place = place(&problem.source, problem.line, problem.item);
            let why = format!("{} {}", problem.field, problem.reason);
            let (place, why) = (clipped_place(&place), clipped(&why, TEXT_CHARS_MAX));
            let _ = write!(out, "<tr><td>{place}</td><td class=\"wide\">{why}</td></tr>");
        }
        out.push_str("</table></div>");
        more(&mut out, report.problems.total as usize, report.problems.first.len());
        out.push_str("</section>");
    }
    if !report.limits_reached.is_empty() {
        out.push_str("<section><h2>Limits that were reached</h2><div class=\"scroll\"><table><thead><tr><th>limit</th><th class=\"n\">value</th><th class=\"n\">times</th></tr></thead>");
        for limit in &report.limits_reached {
            let (name, value, times) = (text(limit.name), grouped(limit.limit), grouped(limit.times));
            let _ = write!(out, "<tr><td>{name}</td><td class=\"n\">{value}</td><td class=\"n\">{times}</td></tr>");
        }
        out.push_str("</table></div></section>");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Measures, Partial, control::ControlPoint, samples},
        *,
    };
    use crate::{engines::runtime::health, verdict::gate};

    fn write(report: &Report) -> String {
        let mut out = Vec::new();
        Html.summary(report, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_part_of_the_template_is_filled() {
        let page = write(&samples::report());
        assert!(!page.contains("{{") && !page.contains("}}"), "{page}");
        for part in ["app.jsonl:22", "get_weather", "schema_mismatch", "Is the content made up?", "<title>"] {
            assert!(page.contains(part), "{part}");
        }
    }

    /// The page on so many records of one stream that nothing is wrong with, each a point of a chart.
    fn page_of(records: u64) -> String {
        let mut partial = Partial::default();
        for number in 0..records {
            let point = ControlPoint { number, x: 4.0 + number as f64 / 100.0, ..ControlPoint::default() };
            let measures = Measures { stream: Some("gpt"), points: [Some(point), None], ..Measures::default() };
            samples::accepted(number).count(&mut partial, &measures);
        }
        write(&Report::new(partial, &samples::totals(), &gate::Policy::default(), &health::Settings::default()))
    }

    #[test]
    fn nothing_is_drawn_where_there_is_nothing_to_see() {
        for (records, has_chart) in [(0, false), (1, false), (2, false), (3, true), (20, true)] {
            let page = page_of(records);
            assert_eq!(page.contains("Control chart of latency of gpt"), has_chart, "{records}");
            assert_eq!(page.contains("too few calls for limits"), has_chart, "{records}");
            assert!(
                page.contains("No record is flagged or blocked.") && page.contains("<div class=\"scroll\" hidden>")
            );
        }
    }

    #[test]
    fn the_policy_names_the_hashes_of_what_stands_in_the_page() {
        let page = write(&samples::report());
        for (tag, source) in [("script", SCRIPT), ("style", STYLE)] {
            let begin = page.find(&format!("<{tag}>")).unwrap() + tag.len() + 2;
            let end = begin + page[begin..].find(&format!("</{tag}>")).unwrap();
            assert_eq!(&page[begin..end], source);
            let hash = format!("'sha256-{}'", BASE64.encode(&Sha256::digest(source)));
            assert!(page.contains(&hash));
        }
        assert!(!page.contains("style=\"") && !page.contains("src=\"") && !page.contains("url("));
    }

    #[test]
    fn the_page_stays_below_two_megabytes_whatever_the_log() {
        let mut partial = Partial::default();
        let names: Vec<String> = (0..220).map(|stream| format!("{stream} {}", "<&\u{202e}".repeat(80))).collect();
        for number in 0..3000u64 {
            // The charts of the busiest streams are full; of the others there are as many as a report tells apart.
            for stream in if number < 3 { 0..200 } else { 0..12 } {
                let point = ControlPoint { number, x: 0.1, limits: Some((0.0, 0.01)), broken: [true; 4] };
                let measures = Measures {
                    stream: Some(&names[stream]),
                    latency_ms: Some(number as f64 + 0.5),
                    response_tokens: Some(number),
                    timestamp_ms: Some(number as i64 * 3_600_000),
                    points: [Some(point); 2],
                    is_fabricated: Some(number % 2 == 0),
                    ..Measures::default()
                };
                let sample =
                    if number < 30 { samples::hostile("</script>&\u{202e}") } else { samples::accepted(number) };
                sample.count(&mut partial, &measures);
            }
        }
        let totals = samples::totals();
        let report = Report::new(partial, &totals, &gate::Policy::default(), &health::Settings::default());
        let page = write(&report);
        assert!(page.len() < 2_000_000 && page.len() > 400_000, "{}", page.len());
    }

    #[test]
    fn hostile_text_is_text() {
        for hostile in samples::HOSTILE.into_iter().chain([
            "</script><script>alert(1)</script>",
            "<!--<script>",
            "\"><img src=x onerror=alert(1)>",
        ]) {
            let page = write(&samples::hostile_report(hostile));
            assert_eq!(page.matches("<script").count(), 2, "{hostile:?}");
            assert_eq!(page.matches("</script").count(), 2, "{hostile:?}");
            assert!(!page.contains("<img") && !page.contains("<!--"), "{hostile:?}");
            assert!(!page.replace('\n', "").contains(super::super::terminal::is_unsafe), "{hostile:?}");
            assert!(page.lines().all(|line| !line.trim_start().starts_with("::")), "{hostile:?}");
        }
    }
}
