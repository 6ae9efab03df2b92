//! The report for people: whether it passed, what was found, where to look.
//!
//! It fits the width that it is given (from [`WIDTH_MIN`]); below [`WIDE_FROM`] it leaves columns out rather than break
//! numbers. Text from the log is made safe and cut before it is laid out, every finished line is guarded
//! ([`terminal`](super::terminal)), and colours are put in last.

use std::{borrow::Cow, cmp::Reverse};

use anstyle::Style;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, presets};

use super::{
    checks,
    format::Format,
    prices::{Cost, Unpriced},
    summary::{Event, Input, QuestionSummary, Report, StreamSummary, Top},
    terminal::{Styles, clip, clip_place, guard_line},
    timeline::{Bucket, Decisions, WIDTHS_MS},
    verdict_record::place,
};
use crate::{engines::Severity, verdict::Decision};

/// Narrower than this, nothing sensible fits; the table is laid out as if there were this much room.
pub const WIDTH_MIN: u16 = 50;
/// From this width on, all columns are shown.
pub const WIDE_FROM: u16 = 80;
/// No table shows more streams than this; the report object holds more.
pub const STREAMS_SHOWN_MAX: usize = 12;
/// No table shows more events, signals or rules than this.
pub const ROWS_SHOWN_MAX: usize = 10;

const NAME_CHARS_MAX: usize = 48;
const STREAM_CHARS_MAX: usize = 20;
const PLACE_CHARS_MAX: usize = 80;
const REASON_CHARS_MAX: usize = 240;
const BAR_CHARS_WIDE: usize = 20;
const BAR_CHARS_NARROW: usize = 8;
const DAY_MS: i64 = WIDTHS_MS[4];

/// The table format.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Columns of the terminal.
    pub width: u16,
    /// How our own words are coloured.
    pub styles: Styles,
}

impl Format for Table {
    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        let mut page = Page { width: self.width.max(WIDTH_MIN), styles: self.styles, text: String::new() };
        opening(report, &mut page);
        comparison(report, &mut page);
        verdicts(report, &mut page);
        questions(report, &mut page);
        checks(report, &mut page);
        streams(report, &mut page);
        events(report, &mut page);
        timeline(report, &mut page);
        signals(report, &mut page);
        findings(report, &mut page);
        worst(report, &mut page);
        rejected(report, &mut page);
        limits(report, &mut page);
        out.extend_from_slice(page.text.as_bytes());
    }
}

fn opening(report: &Report, page: &mut Page) {
    let input = &report.input;
    page.paragraph(&format!(
        "{} {} audited {} in {} ({})",
        report.tool.name,
        report.tool.version,
        counted(input.audited, "record", "records"),
        counted(input.files, "source", "sources"),
        size(input.bytes),
    ));
    let fault =
        if input.ledger_adds_up { String::new() } else { format!("; {}", Mark::Bad.on("this does not add up")) };
    page.paragraph(&format!("{}{fault}", ledger(input)));
    report.notices().iter().for_each(|notice| page.paragraph(notice));
    if report.suppressions.hits > 0 {
        page.paragraph(&format!("{} suppressed", counted(report.suppressions.hits, "finding", "findings")));
    }
    for cost in &report.cost {
        let of = counted(cost.records, "record", "records");
        page.paragraph(&format!("tokens of {of} cost {}", cost.shown()));
    }
    if let Some(unpriced) = unpriced(report) {
        page.paragraph(&unpriced);
    }
    page.gap();
    let exit = report.gate.exit.code();
    let (mark, word) = if report.gate.passed { (Mark::Good, "PASSED") } else { (Mark::Bad, "NOT PASSED") };
    page.paragraph(&format!("{} (exit status {exit})", mark.on(word)));
    let blocked = report.verdicts.decisions.block;
    if report.gate.passed && blocked > 0 {
        page.paragraph(&format!(
            "  with {}; `--fail-on block` would fail",
            counted(blocked, "blocked record", "blocked records")
        ));
    }
    let reasons = report.gate.reasons.iter();
    page.grid(
        &[Column::text(""), Column::flexible("")],
        reasons.map(|reason| [reason.rule.to_owned(), reason.message.clone()]),
    );
}

/// What became of the units, in a line.
pub(super) fn ledger(input: &Input) -> String {
    let parts = [
        ("audited", input.audited),
        ("feedback", input.feedback),
        ("merged", input.merged),
        ("parent", input.parent),
        ("rejected", input.rejected),
        ("skipped", input.skipped),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{} {name}", grouped(*n))).collect();
    let units = counted(input.units, "unit", "units");
    if parts.is_empty() { units } else { format!("{units}: {}", parts.join(", ")) }
}

/// Which tokens no price fits, in a sentence; `None` when there are none, and without prices.
pub(super) fn unpriced(report: &Report) -> Option<String> {
    let all = report.unpriced.as_ref()?;
    let told = |of: &Unpriced| {
        let tokens = counted(of.tokens(), "token", "tokens");
        format!("{} with {tokens}", counted(of.records, "record", "records"))
    };
    let mut streams: Vec<(&StreamSummary, &Unpriced)> =
        report.streams.iter().filter_map(|stream| Some((stream, stream.unpriced.as_ref()?))).collect();
    streams.sort_by_key(|(_, of)| Reverse(of.tokens()));
    let name =
        |stream: &StreamSummary| clip(stream.name.as_deref().unwrap_or("(no name)"), NAME_CHARS_MAX).into_owned();
    let shown = streams.iter().take(ROWS_SHOWN_MAX);
    let mut parts: Vec<String> = shown.map(|(stream, of)| format!("{} ({})", name(stream), told(of))).collect();
    if streams.len() > ROWS_SHOWN_MAX {
        parts.push(format!("and {} more", grouped((streams.len() - ROWS_SHOWN_MAX) as u64)));
    }
    Some(format!("no price for {}: {}", told(all), parts.join(", ")))
}

/// What changed against the baseline, where there is one.
fn comparison(report: &Report, page: &mut Page) {
    let Some(comparison) = &report.comparison else { return };
    for (title, rows) in comparison.sections() {
        page.heading(&title);
        let [first, before, after, difference, p, note] = ["", "before", "after", "difference", "P", ""];
        let columns = [
            Column::text(first),
            Column::number(before).wide(),
            Column::number(after),
            Column::number(difference),
            Column::number(p).wide(),
            Column::text(note),
        ];
        page.grid(&columns, rows.into_iter().skip(1).take(ROWS_SHOWN_MAX));
    }
}

fn verdicts(report: &Report, page: &mut Page) {
    let decisions = &report.verdicts.decisions;
    let total = decisions.total();
    if total == 0 {
        return;
    }
    page.heading("Verdicts");
    let row = |name: String, n: u64| [name, grouped(n), percent(n as f64 / total as f64)];
    let mut rows: Vec<[String; 3]> =
        Decision::ALL.into_iter().map(|decision| row(decided(decision), decisions.of(decision))).collect();
    rows.push(row("high risk".to_owned(), report.verdicts.high_risk));
    page.grid(&[Column::text("verdict"), Column::number("records"), Column::number("share")], rows);
}

fn questions(report: &Report, page: &mut Page) {
    page.heading("Questions");
    let columns = [
        Column::text("question"),
        Column::number("assessed"),
        Column::number("not assessed").wide(),
        Column::number("flagged"),
        Column::number("blocked"),
        Column::number("rate"),
        Column::number("95% interval").wide(),
    ];
    let row = |name: &str, question: &QuestionSummary| {
        let interval = question.wilson_low.zip(question.wilson_high);
        [
            name.to_owned(),
            grouped(question.assessed),
            grouped(question.not_assessed),
            grouped(question.flagged),
            grouped(question.blocked),
            question.rate.map_or_else(dash, percent),
            interval.map_or_else(dash, |(low, high)| format!("{} to {}", percent(low), percent(high))),
        ]
    };
    page.grid(&columns, report.questions.iter().map(|(question, summary)| row(question.as_str(), summary)));
}

fn checks(report: &Report, page: &mut Page) {
    let rows = report.check_rows();
    if rows.is_empty() {
        return;
    }
    page.heading("Checks");
    let columns = [
        Column::text("check"),
        Column::text("effect").wide(),
        Column::text("expected").wide(),
        Column::number("records"),
        Column::number("measured"),
        Column::text("95% interval").wide(),
        Column::text(""),
    ];
    let row = |row: &checks::Row| {
        let name = clip(&row.name, NAME_CHARS_MAX);
        let measured = if row.records == 0 { dash() } else { row.measured.clone() };
        let cells = [row.effect.to_owned(), row.expect.clone(), grouped(row.records), measured, row.interval.clone()];
        let [effect, expect, records, measured, interval] = cells;
        [name.into_owned(), effect, expect, records, measured, interval, row.outcome.to_owned()]
    };
    page.grid(&columns, rows.iter().map(row));
}

fn streams(report: &Report, page: &mut Page) {
    if report.streams.is_empty() {
        return;
    }
    page.heading("Models and tools (latency in ms)");
    let columns = [
        Column::text("name"),
        Column::number("calls"),
        Column::number("errors").wide(),
        Column::number("p50"),
        Column::number("p95").wide(),
        Column::number("p99"),
        Column::number("tokens/s").wide(),
        Column::number("flag").wide(),
        Column::number("block"),
        Column::text("health").wide(),
        Column::number(if report.cost.is_empty() { "" } else { "cost" }).wide(),
    ];
    let row = |name: String, stream: &StreamSummary| {
        [
            name,
            grouped(stream.requests),
            grouped(stream.errors),
            stream.latency_ms.p50.map_or_else(dash, decimal),
            stream.latency_ms.p95.map_or_else(dash, decimal),
            stream.latency_ms.p99.map_or_else(dash, decimal),
            stream.tokens_per_second.map_or_else(dash, decimal),
            grouped(stream.verdicts.flag),
            grouped(stream.verdicts.block),
            stream.condition().map_or_else(dash, label),
            stream.cost.iter().map(Cost::shown).collect::<Vec<_>>().join(" "),
        ]
    };
    let shown = report.streams.iter().take(STREAMS_SHOWN_MAX);
    let rows = shown.map(|stream| row(stream_name(stream.name.as_deref()), stream));
    let others = report.other_streams.iter().map(|stream| row("(others)".to_owned(), stream));
    page.grid(&columns, rows.chain(others));
    page.more(report.streams.len(), STREAMS_SHOWN_MAX);
    let others = report.other_streams.iter().map(|stream| ("(others)".to_owned(), stream));
    let named = report.streams.iter().map(|stream| (stream_name(stream.name.as_deref()), stream)).chain(others);
    for (name, stream) in named.filter(|(_, stream)| stream.timestamps_backwards > 0).take(ROWS_SHOWN_MAX) {
        let records = counted(stream.timestamps_backwards, "record has", "records have");
        page.note(&format!("{records} an earlier timestamp than the record before: {name}"));
    }
}

fn events(report: &Report, page: &mut Page) {
    if report.events.is_empty() {
        return;
    }
    page.heading("Levels that have shifted");
    let row = |event: &Event| {
        let chart = clip(&event.chart, NAME_CHARS_MAX);
        let (from, to, unit) = (decimal(event.from), decimal(event.to), event.unit);
        let place = place(&event.source, event.line, None);
        let seen = clip_place(&place, PLACE_CHARS_MAX);
        let since = event.began.as_deref().map_or_else(String::new, |time| format!(" since {}", minute(time)));
        [stream_name(event.stream.as_deref()), format!("{chart} {from} → {to} {unit}{since}; noticed at {seen}")]
    };
    let columns = [Column::text(""), Column::flexible("")];
    page.grid(&columns, report.events.iter().take(ROWS_SHOWN_MAX).map(row));
    page.more(report.events_total as usize, ROWS_SHOWN_MAX);
}

fn timeline(report: &Report, page: &mut Page) {
    let timeline = &report.timeline;
    if timeline.buckets.is_empty() {
        return;
    }
    let width = width_name(timeline.bucket_ms);
    page.heading(&format!("Over time (UTC, per {width})"));
    let is_wide = page.width >= WIDE_FROM;
    let (chars_max, legend) = if is_wide { (BAR_CHARS_WIDE, "█ flagged or blocked") } else { (BAR_CHARS_NARROW, "") };
    let most = timeline.buckets.iter().map(|bucket| bucket.decisions.total()).max().unwrap_or(1);
    let columns = [
        Column::text("from"),
        Column::text(legend),
        Column::number("records"),
        Column::number("flagged").wide(),
        Column::number("blocked"),
    ];
    let row = |bucket: &Bucket| {
        [
            start(bucket, timeline.bucket_ms),
            bar(&bucket.decisions, most, chars_max),
            grouped(bucket.decisions.total()),
            grouped(bucket.decisions.flag),
            grouped(bucket.decisions.block),
        ]
    };
    page.grid(&columns, timeline.buckets.iter().map(row));
    if timeline.untimed > 0 {
        page.note(&format!("{} no time", counted(timeline.untimed, "record has", "records have")));
    }
}

fn signals(report: &Report, page: &mut Page) {
    if report.top.signals.is_empty() {
        return;
    }
    page.heading("Signals that fired most");
    let columns = [
        Column::text("signal"),
        Column::text("question"),
        Column::number("records"),
        Column::number("looked for on").wide(),
    ];
    let shown = report.top.signals.iter().take(ROWS_SHOWN_MAX);
    page.grid(
        &columns,
        shown.map(|signal| {
            let (id, question) = (signal.id.to_owned(), signal.question.as_str().to_owned());
            [id, question, grouped(signal.fired), grouped(signal.applicable)]
        }),
    );
    page.more(report.top.signals.len(), ROWS_SHOWN_MAX);
}

fn findings(report: &Report, page: &mut Page) {
    let Top { categories, findings, .. } = &report.top;
    // One category says no more than its rules.
    if categories.len() > 1 {
        let rows = categories.iter().map(|of| (&*of.category, of.severity, of.findings, of.records));
        counted_findings(page, "Findings by category", "category", rows);
    }
    let rows = findings.iter().map(|of| (&*of.rule, of.severity, of.findings, of.records));
    counted_findings(page, "Findings", "rule", rows);
}

fn counted_findings<'r>(
    page: &mut Page,
    heading: &str,
    name: &'static str,
    rows: impl ExactSizeIterator<Item = (&'r str, Severity, u64, u64)>,
) {
    let total = rows.len();
    if total == 0 {
        return;
    }
    page.heading(heading);
    let columns =
        [Column::flexible(name), Column::text("severity"), Column::number("places"), Column::number("records")];
    let rows = rows.take(ROWS_SHOWN_MAX).map(|(name, severity, findings, records)| {
        [name.to_owned(), format!("{severity:?}").to_lowercase(), grouped(findings), grouped(records)]
    });
    page.grid(&columns, rows);
    page.more(total, ROWS_SHOWN_MAX);
}

fn worst(report: &Report, page: &mut Page) {
    if report.top.records.is_empty() {
        return;
    }
    page.heading("Worst records");
    let rows = report.top.records.iter().flat_map(|record| {
        let place = record.place();
        let id = if record.id == place { String::new() } else { format!("  {}", clip(&record.id, NAME_CHARS_MAX)) };
        let place = clip_place(&place, PLACE_CHARS_MAX);
        let why = clip(&record.explanation, REASON_CHARS_MAX).into_owned();
        [[decided(record.verdict), format!("{place}{id}")], [String::new(), why]]
    });
    page.grid(&[Column::text(""), Column::flexible("")], rows);
}

fn rejected(report: &Report, page: &mut Page) {
    let rejected = &report.rejected;
    if rejected.total == 0 {
        return;
    }
    page.heading("Units that are no records");
    let columns = [Column::text("where"), Column::flexible("why")];
    page.grid(
        &columns,
        rejected.first.iter().take(ROWS_SHOWN_MAX).map(|unit| {
            let place = place(&unit.source, unit.line, unit.item);
            [clip_place(&place, PLACE_CHARS_MAX).into_owned(), clip(&unit.reason, REASON_CHARS_MAX).into_owned()]
        }),
    );
    page.more(rejected.total as usize, ROWS_SHOWN_MAX);
}

fn limits(report: &Report, page: &mut Page) {
    if report.limits_reached.is_empty() {
        return;
    }
    page.heading("Limits that were reached");
    let columns = [Column::flexible("limit"), Column::number("value"), Column::number("times")];
    page.grid(
        &columns,
        report.limits_reached.iter().map(|limit| [limit.name.to_owned(), grouped(limit.limit), grouped(limit.times)]),
    );
}

/// What the table looks like in the making: lines of text with marks where colours begin and end.
struct Page {
    width: u16,
    styles: Styles,
    text: String,
}

impl Page {
    fn heading(&mut self, title: &str) {
        self.gap();
        let style = self.styles.heading;
        self.text.push_str(&format!("{style}{title}{style:#}\n"));
    }

    fn gap(&mut self) {
        self.text.push('\n');
    }

    /// Text over the whole width, wrapped between words.
    fn paragraph(&mut self, text: &str) {
        let column = Column { indent: 0, ..Column::flexible("") };
        self.grid(&[column], [[text.to_owned()]]);
    }

    fn note(&mut self, text: &str) {
        self.grid(&[Column::flexible("")], [[Mark::Dim.on(text)]]);
    }

    /// Says how many rows were left out, if any.
    fn more(&mut self, total: usize, shown_max: usize) {
        if total > shown_max {
            self.note(&format!("and {} more", grouped((total - shown_max) as u64)));
        }
    }

    fn grid<const N: usize>(&mut self, columns: &[Column; N], rows: impl IntoIterator<Item = [String; N]>) {
        let shown = |i: usize| self.width >= WIDE_FROM || !columns[i].wide_only;
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(self.width);
        if columns.iter().any(|column| !column.title.is_empty()) {
            table.set_header((0..N).filter(|i| shown(*i)).map(|i| Mark::Dim.on(columns[i].title)));
        }
        for row in rows {
            table.add_row(row.into_iter().enumerate().filter(|(i, _)| shown(*i)).map(|(_, cell)| cell));
        }
        for (column, i) in table.column_iter_mut().zip((0..N).filter(|i| shown(*i))) {
            column.set_padding((columns[i].indent, 0));
            column.set_cell_alignment(columns[i].alignment);
            if !columns[i].flexible {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        for line in table.lines() {
            let line = guard_line(line.trim_end()).into_owned();
            self.text.push_str(&self.colored(&line));
            self.text.push('\n');
        }
    }

    fn colored(&self, line: &str) -> String {
        let mut out = String::with_capacity(line.len());
        let mut open: Option<Style> = None;
        for c in line.chars() {
            match (Mark::of(c), open) {
                (Some(mark), _) => {
                    let style = mark.style(&self.styles);
                    out.push_str(&format!("{style}"));
                    open = Some(style);
                }
                (None, Some(style)) if c == Mark::END => {
                    out.push_str(&format!("{style:#}"));
                    open = None;
                }
                (None, None) if c == Mark::END => {}
                _ => out.push(c),
            }
        }
        if let Some(style) = open {
            out.push_str(&format!("{style:#}"));
        }
        out
    }
}

/// One column of a grid.
#[derive(Clone, Copy)]
struct Column {
    title: &'static str,
    alignment: CellAlignment,
    /// Whether its cells may be wrapped.
    flexible: bool,
    wide_only: bool,
    indent: u16,
}

impl Column {
    const fn text(title: &'static str) -> Column {
        Column { title, alignment: CellAlignment::Left, flexible: false, wide_only: false, indent: 2 }
    }

    const fn flexible(title: &'static str) -> Column {
        Column { flexible: true, ..Column::text(title) }
    }

    const fn number(title: &'static str) -> Column {
        Column { alignment: CellAlignment::Right, ..Column::text(title) }
    }

    const fn wide(self) -> Column {
        Column { wide_only: true, ..self }
    }
}

/// Where a colour begins: a character without width that [`safe`](super::terminal::safe) never leaves in text from a
/// log. So the layout is the same with and without colours, and no log can colour anything.
#[derive(Clone, Copy)]
enum Mark {
    Good,
    Warning,
    Bad,
    Dim,
}

impl Mark {
    const END: char = '\u{2060}';

    fn on(self, text: &str) -> String {
        if text.is_empty() { String::new() } else { format!("{}{text}{}", self.begin(), Mark::END) }
    }

    fn begin(self) -> char {
        match self {
            Mark::Good => '\u{2061}',
            Mark::Warning => '\u{2062}',
            Mark::Bad => '\u{2063}',
            Mark::Dim => '\u{2064}',
        }
    }

    fn of(c: char) -> Option<Mark> {
        [Mark::Good, Mark::Warning, Mark::Bad, Mark::Dim].into_iter().find(|mark| mark.begin() == c)
    }

    fn style(self, styles: &Styles) -> Style {
        match self {
            Mark::Good => styles.good,
            Mark::Warning => styles.warning,
            Mark::Bad => styles.bad,
            Mark::Dim => styles.dim,
        }
    }
}

fn decided(decision: Decision) -> String {
    match decision {
        Decision::Accept => Mark::Good.on("accept"),
        Decision::Flag => Mark::Warning.on("flag"),
        Decision::Block => Mark::Bad.on("block"),
        Decision::NotAssessed => "not assessed".to_owned(),
    }
}

/// The first word of a health label; it says enough in a table.
fn label(label: &str) -> String {
    label.split('_').next().unwrap_or_default().to_owned()
}

fn stream_name(name: Option<&str>) -> String {
    clip(name.unwrap_or("(no name)"), STREAM_CHARS_MAX).into_owned()
}

pub(super) fn dash() -> String {
    "–".to_owned()
}

pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// A count with commas between its thousands.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share as a percentage; one that is not zero is not shown as zero.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.01 { "<0.01%".to_owned() } else { format!("{percent:.2}%") }
}

/// A measured number with as many decimals as tell something.
pub(super) fn decimal(number: f64) -> String {
    match number.abs() {
        size if size >= 1e15 => format!("{number:.2e}"),
        size if size >= 100.0 => {
            let sign = if number < 0.0 { "-" } else { "" };
            format!("{sign}{}", grouped(size.round() as u64))
        }
        size if size >= 1.0 || size == 0.0 => format!("{number:.1}"),
        size if size >= 0.001 => format!("{number:.3}"),
        _ => format!("{number:.1e}"),
    }
}

pub(super) fn size(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if size < 1000.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{size:.1} {unit}") };
        }
        size /= 1000.0;
    }
    format!("{size:.1} TB")
}

pub(super) fn width_name(width_ms: i64) -> Cow<'static, str> {
    let names = ["minute", "10 minutes", "hour", "6 hours", "day", "7 days"];
    let known = WIDTHS_MS.iter().zip(names).find(|(width, _)| **width == width_ms);
    known.map_or_else(|| format!("{} days", width_ms / DAY_MS).into(), |(_, name)| name.into())
}

/// An RFC 3339 time to the minute.
pub(super) fn minute(time: &str) -> String {
    time.get(.."2000-01-01T00:00".len()).unwrap_or(time).replace('T', " ")
}

/// The beginning of a bucket, as exactly as its width asks for.
pub(super) fn start(bucket: &Bucket, width_ms: i64) -> String {
    let Some(start) = &bucket.start else { return dash() };
    let length = if width_ms >= DAY_MS { "2000-01-01".len() } else { "2000-01-01T00:00".len() };
    start.get(..length).unwrap_or(start).replace('T', " ")
}

/// Length by the number of records, filled by those that are flagged or blocked; never shorter than what it stands for.
fn bar(decisions: &Decisions, most: u64, chars_max: usize) -> String {
    let chars = |n: u64| (u128::from(n) * chars_max as u128).div_ceil(u128::from(most.max(1))) as usize;
    let length = chars(decisions.total());
    let filled = chars(decisions.flag + decisions.block).min(length);
    format!("{}{}", "█".repeat(filled), "░".repeat(length - filled))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Measures, Partial,
            format::{FormatName, Setting},
            prices::Charge,
            samples,
            summary::Totals,
            terminal::is_unsafe,
            verdict_record::RejectedUnit,
        },
        *,
    };
    use crate::{engines::runtime::health, verdict::gate};

    fn render(report: &Report, width: u16, styles: Styles) -> String {
        let mut out = Vec::new();
        Table { width, styles }.summary(report, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn hostile_report(text: &'static str) -> Report {
        let mut partial = Partial::default();
        let measures = Measures { stream: Some(text), latency_ms: Some(1.0), ..Measures::default() };
        samples::hostile(text).count(&mut partial, &measures);
        partial.rejected(&RejectedUnit::new(text, 1, None, 0, text));
        partial.event(Event {
            stream: Some(text.to_owned()),
            chart: text.to_owned(),
            source: text.to_owned(),
            ..samples::event(1)
        });
        Report::new(
            partial,
            &Totals { units: 2, ..Totals::default() },
            &gate::Policy::default(),
            &health::Settings::default(),
        )
    }

    #[test]
    fn it_says_what_was_found_and_where() {
        let text = render(&samples::report(), 100, Styles::plain());
        for line in [
            "NOT PASSED (exit status 3)",
            "25 units: 22 audited, 1 feedback, 1 rejected, 1 skipped",
            "Models and tools (latency in ms)",
            "get_weather",
            "app.jsonl:22",
            "Blocked as fabricated (P = 0.53)",
            "schema_mismatch",
            "120 → 480 ms",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn it_fits_the_width() {
        for width in [50, 60, 79, 80, 100, 140] {
            let text = render(&samples::report(), width, Styles::plain());
            for line in text.lines() {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
        }
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let colored = render(&samples::report(), 100, Styles::colored());
        let mut plain = String::new();
        let mut rest = colored.as_str();
        while let Some(at) = rest.find('\u{1b}') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            rest = &rest[rest.find('m').unwrap() + 1..];
        }
        plain.push_str(rest);
        let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert!(colored.contains("\u{1b}[1m\u{1b}[31mblock\u{1b}[0m"), "{colored:?}");
        assert_eq!(lines(&plain), lines(&render(&samples::report(), 100, Styles::plain())));
    }

    #[test]
    fn hostile_text_is_shown_and_does_nothing() {
        for hostile in samples::HOSTILE {
            for width in [50, 100] {
                let text = render(&hostile_report(hostile), width, Styles::plain());
                assert!(!text.replace('\n', "").contains(is_unsafe), "{hostile:?}");
                for line in text.lines() {
                    let start = line.trim_start();
                    assert!(!start.starts_with("::") && !start.starts_with("##["), "{line}");
                }
            }
        }
    }

    #[test]
    fn models_without_a_price_are_named() {
        let mut partial = Partial::default();
        for model in 0..12u64 {
            let (name, charge) = (format!("model-{model}"), Charge::Unpriced);
            let measures = Measures { stream: Some(&name), prompt_tokens: Some(model), charge, ..Measures::default() };
            samples::accepted(model).count(&mut partial, &measures);
        }
        let report = Report::new(partial, &Totals::default(), &gate::Policy::default(), &health::Settings::default());
        let text = unpriced(&report).unwrap();
        assert!(
            text.starts_with("no price for 12 records with 66 tokens: model-11 (1 record with 11 tokens), "),
            "{text}"
        );
        assert!(text.ends_with("model-2 (1 record with 2 tokens), and 2 more"), "{text}");
        for name in FormatName::ALL.into_iter().filter(|name| {
            matches!(name, FormatName::Table | FormatName::Html | FormatName::Markdown | FormatName::Json)
        }) {
            let mut out = Vec::new();
            name.format(Setting::default()).summary(&report, &mut out);
            let shown = String::from_utf8(out).unwrap();
            let word = if name == FormatName::Json { "\"unpriced\"" } else { "12 records with 66" };
            assert!(shown.contains(word), "{name:?}: {shown}");
        }
        assert_eq!(unpriced(&samples::report()), None);
    }

    #[test]
    fn an_empty_report_is_short() {
        let report =
            Report::new(Partial::default(), &Totals::default(), &gate::Policy::default(), &health::Settings::default());
        let text = render(&report, 100, Styles::plain());
        assert!(text.contains("0 records were audited, at least 1 needed") && text.lines().count() < 15, "{text}");
    }

    #[test]
    fn numbers_are_short_and_never_a_false_zero() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 0.00001, 0.123_45, 1.0].map(percent), ["0.00%", "<0.01%", "12.35%", "100.00%"]);
        assert_eq!([0.0, 812.5, 12.34, 0.05, -1500.0].map(decimal), ["0.0", "813", "12.3", "0.050", "-1,500"]);
        assert_eq!([0, 999, 67_800_000].map(size), ["0 B", "999 B", "67.8 MB"]);
    }

    #[test]
    fn bars_show_something_for_anything() {
        let decisions = |accept, block| Decisions { accept, block, ..Decisions::default() };
        assert_eq!(bar(&decisions(1, 0), 1_000_000, 20), "░");
        assert_eq!(bar(&decisions(999, 1), 1000, 20), format!("█{}", "░".repeat(19)));
        assert_eq!(bar(&decisions(0, 0), 10, 20), "");
    }
}
