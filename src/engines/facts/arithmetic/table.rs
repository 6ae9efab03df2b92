//! Sums and products of Markdown tables and lists against the totals that they state.
//!
//! **Lists**: a line "Total: $15" below lines of a label and an amount, against their sum. All have the same indentation and
//! the same sign of money; a label with a number, or that speaks of what is no addend ([`NO_ADDENDS`]), leaves it out.
//!
//! **Columns**: the last row, when its first cell says "total" or "sum" and no other row does, against the sum of the rows
//! above. **Rows**: a last column whose header says "total", against the sum, or the product of the two, of the numbers
//! before it, whichever holds in most of the rows ([`ROWS_AGREE_MIN`] at least): what holds there and not here is false.
//!
//! **Limits**: [`ROWS_MAX`] rows and [`COLUMNS_MAX`] columns. Columns with a percent sign, an empty cell, or a header that
//! speaks of a rate, a mean or a name ([`NO_SUMS`]) are left out. Decimals may each be rounded, and whole numbers from
//! [`ROUNDED_FROM`] on.

use std::ops::Range;

use super::{
    Report,
    number::{self, Exact},
};

/// Rows of a table.
pub const ROWS_MAX: usize = 500;
/// Columns of a table.
pub const COLUMNS_MAX: usize = 30;
/// Rows in which a relation must hold before a row in which it does not is false.
pub const ROWS_AGREE_MIN: usize = 2;
/// Whole numbers from here on may be rounded.
pub const ROUNDED_FROM: f64 = 1_000.0;

/// Words of headers of columns that have no sum.
pub const NO_SUMS: [&str; 24] = [
    "avg",
    "average",
    "mean",
    "median",
    "rate",
    "price",
    "unit",
    "per",
    "ratio",
    "percent",
    "percentage",
    "share",
    "year",
    "id",
    "no",
    "rank",
    "score",
    "age",
    "date",
    "time",
    "max",
    "min",
    "cumulative",
    "running",
];

/// Words of a line of a list that is no addend, or of which the amount is that of one piece.
pub const NO_ADDENDS: [&str; 26] = [
    "subtotal",
    "sub-total",
    "total",
    "tax",
    "vat",
    "tip",
    "discount",
    "less",
    "minus",
    "refund",
    "credit",
    "saving",
    "savings",
    "paid",
    "deposit",
    "optional",
    "each",
    "per",
    "average",
    "balance",
    "change",
    "included",
    "off",
    "rate",
    "price",
    "unit",
];
/// Lines of a list.
const ITEMS_MAX: usize = 60;

/// A number in a cell.
struct Cell {
    value: Exact,
    last_place: Exact,
    is_decimal: bool,
    span: Range<usize>,
}

/// A row: its cells, by their bytes in the text.
type Row = Vec<Range<usize>>;

/// Checks every table of `text`.
pub fn examine(text: &str, report: &mut Report) {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(found) = memchr::memchr(b'|', &bytes[from..]) {
        let start = memchr::memrchr(b'\n', &bytes[..from + found]).map_or(0, |end| end + 1);
        let (rows, end) = rows(text, start);
        from = end.max(from + found + 1);
        if (4..=ROWS_MAX).contains(&rows.len()) && is_rule(text, &rows[1]) {
            check(text, &rows, report);
        }
        if from >= bytes.len() {
            break;
        }
    }
}

/// Checks every list of `text` with a total below.
pub fn examine_lists(text: &str, report: &mut Report) {
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| memchr::memmem::find(rest.as_bytes(), b"otal")) {
        let at = from + found;
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
        from = end.max(at + 4);
        if let Some(line) = amount(text, start..end).filter(|line| is_total(text, &line.label)) {
            check_list(text, start, &line, report);
        }
    }
}

/// A line of a label and an amount.
struct Amount {
    indent: usize,
    label: Range<usize>,
    sign: Option<char>,
    cell: Cell,
}

/// "- Bread: $4", "**Total:** $15"
fn amount(text: &str, line: Range<usize>) -> Option<Amount> {
    const LINE_BYTES_MAX: usize = 120;
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    let said = &text[line.clone()];
    let indent = said.len() - said.trim_start().len();
    let marker = said[indent..].len() - said[indent..].trim_start_matches(['-', '*', '+', '\u{2022}', ' ']).len();
    let begin = line.start + indent + marker;
    let body = &text[begin..line.end];
    let split =
        body.rfind(':').or_else(|| [" - ", " \u{2013} ", " \u{2014} "].iter().find_map(|dash| body.rfind(dash)))?;
    let behind =
        begin + split + body[split..].find(|c: char| !matches!(c, ':' | '-' | '\u{2013}' | '\u{2014}' | ' ' | '*'))?;
    let sign = text[behind..line.end].chars().next().filter(|sign| matches!(sign, '$' | '\u{20ac}' | '\u{a3}'));
    let cell = cell(text, &(behind..line.end))?;
    Some(Amount { indent, label: begin..begin + split, sign, cell })
}

fn check_list(text: &str, start: usize, total: &Amount, report: &mut Report) {
    let is_addend = |item: &Amount| {
        let label = text[item.label.clone()].to_ascii_lowercase();
        let is_plain = !label.bytes().any(|byte| byte.is_ascii_digit());
        is_plain && !label.split(|c: char| !(c.is_alphabetic() || c == '-')).any(|word| NO_ADDENDS.contains(&word))
    };
    let mut items: Vec<Amount> = Vec::new();
    let (mut end, mut blank) = (start, 0);
    while end > 0 && items.len() <= ITEMS_MAX {
        let line_end = end - 1;
        let line_start = text[..line_end].rfind('\n').map_or(0, |before| before + 1);
        end = line_start;
        if text[line_start..line_end].trim().is_empty() {
            blank += 1;
            // One before the total; another ends the list.
            if blank > 1 || !items.is_empty() { break } else { continue }
        }
        let Some(item) = amount(text, line_start..line_end) else { break };
        let indent = items.first().map_or(item.indent, |first| first.indent);
        let is_alike = item.sign == total.sign && item.indent == indent && !item.cell.value.is_negative();
        if !is_alike || !is_addend(&item) {
            return;
        }
        items.push(item);
    }
    if !(2..=ITEMS_MAX).contains(&items.len()) {
        return;
    }
    let cells: Vec<Cell> = items.into_iter().map(|item| item.cell).collect();
    let Some(expected) = sum(&cells) else { return };
    if is_near(&expected, &total.cell, room(&cells, &total.cell)) {
        return report.hold();
    }
    let detail = format!("the list sums to {}, not {}", expected.show(), total.cell.value.show());
    report.refute("arithmetic/false_sum", total.cell.span.clone(), detail);
}

/// The rows from `start` on, and where they end.
fn rows(text: &str, start: usize) -> (Vec<Row>, usize) {
    let mut rows = Vec::new();
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        let trimmed = line.trim();
        if !trimmed.starts_with('|') {
            // A line with a bar somewhere is passed over, so that it is not looked at again.
            at += if rows.is_empty() { line.len() } else { 0 };
            break;
        }
        let offset = at + (line.len() - line.trim_start().len()) + 1;
        let inner = trimmed[1..].strip_suffix('|').unwrap_or(&trimmed[1..]);
        let mut cell_start = offset;
        let cells = inner.split('|').take(COLUMNS_MAX).map(|cell| {
            let range = cell_start..cell_start + cell.len();
            cell_start = range.end + 1;
            range
        });
        if rows.len() <= ROWS_MAX {
            rows.push(cells.collect());
        }
        at += line.len();
    }
    (rows, at)
}

fn is_rule(text: &str, row: &Row) -> bool {
    let is_dash = |cell: &Range<usize>| text[cell.clone()].bytes().all(|byte| matches!(byte, b'-' | b':' | b' '));
    row.iter().all(is_dash) && row.iter().any(|cell| text[cell.clone()].contains('-'))
}

fn plain<'t>(text: &'t str, cell: &Range<usize>) -> &'t str {
    text[cell.clone()].trim_matches([' ', '\t', '*', '_', '`', ':'])
}

/// The number that a cell says and nothing else.
fn cell(text: &str, range: &Range<usize>) -> Option<Cell> {
    let inner = plain(text, range);
    let digits = inner.trim_start_matches(['$', '€', '£', '+', '-', '−', ' ']);
    let sign = &inner[..inner.len() - digits.len()];
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.len() > 40 {
        return None;
    }
    let (literal, length) = number::read(digits);
    let literal = literal.ok().filter(|literal| length == digits.len() && !literal.goes_on)?;
    let is_negative = sign.contains(['-', '−']);
    let start = range.start + text[range.clone()].find(digits)?;
    Some(Cell {
        value: if is_negative { literal.value.negated() } else { literal.value.clone() },
        is_decimal: literal.places > 0,
        last_place: literal.last_place,
        span: start..start + length,
    })
}

fn is_total(text: &str, cell: &Range<usize>) -> bool {
    let label = plain(text, cell).to_ascii_lowercase();
    matches!(
        label.as_str(),
        "total" | "totals" | "sum" | "grand total" | "overall total" | "total cost" | "total price" | "total amount"
    )
}

fn names_no_sum(text: &str, header: &Range<usize>) -> bool {
    let header = plain(text, header).to_ascii_lowercase();
    header.contains(['%', '/', '#'])
        || header.split(|c: char| !c.is_ascii_alphabetic()).any(|word| NO_SUMS.contains(&word))
}

/// Words beside a table of which the total need not be the sum.
const NO_PLAIN_SUMS: [&str; 9] =
    ["both", "overlap", "unique", "distinct", "more than one", "multiple", "net of", "counted once", "excluding"];
/// Bytes beside a table that are read for them.
const BESIDE_BYTES: usize = 300;

/// Whether the text beside the table says that its total is no plain sum.
fn is_no_plain_sum(text: &str, rows: &[Row]) -> bool {
    let (Some(first), Some(last)) = (rows.first().and_then(|row| row.first()), rows.last().and_then(|row| row.last()))
    else {
        return false;
    };
    let from = text.floor_char_boundary(first.start.saturating_sub(BESIDE_BYTES));
    let to = text.floor_char_boundary(last.end + BESIDE_BYTES);
    let beside = text[from..to].to_ascii_lowercase();
    NO_PLAIN_SUMS.iter().any(|word| beside.contains(word))
}

fn check(text: &str, rows: &[Row], report: &mut Report) {
    if is_no_plain_sum(text, rows) {
        return;
    }
    let (header, body) = (&rows[0], &rows[2..]);
    let has_total = |row: &Row| {
        row.first().is_some_and(|cell| {
            plain(text, cell).to_ascii_lowercase().contains("total")
                || plain(text, cell).to_ascii_lowercase().starts_with("of which")
        })
    };
    let Some((last, items)) = body.split_last() else { return };
    let is_summed = last.first().is_some_and(|cell| is_total(text, cell));
    if is_summed && items.len() >= 2 && !items.iter().any(has_total) {
        columns(text, header, items, last, report);
    }
    let items = if is_summed { items } else { body };
    if header.last().is_some_and(|cell| is_total(text, cell)) && items.len() > ROWS_AGREE_MIN {
        across(text, header, items, report);
    }
}

/// How far a sum of these may be off because each is rounded.
fn room(cells: &[Cell], total: &Cell) -> f64 {
    let rounds = |cell: &Cell| cell.is_decimal || cell.value.to_double().abs() >= ROUNDED_FROM;
    let all = cells.iter().chain([total]);
    all.filter(|cell| rounds(cell)).map(|cell| cell.last_place.to_double() / 2.0).sum::<f64>() * (1.0 + 1e-9)
}

fn sum(cells: &[Cell]) -> Option<Exact> {
    cells.iter().try_fold(Exact::whole(0), |sum, cell| sum.add(&cell.value))
}

fn is_near(value: &Exact, total: &Cell, room: f64) -> bool {
    value.sub(&total.value).is_some_and(|distance| distance.abs().to_double() <= room)
}

fn columns(text: &str, header: &Row, items: &[Row], last: &Row, report: &mut Report) {
    for column in 1..header.len().min(last.len()) {
        if names_no_sum(text, &header[column]) {
            continue;
        }
        let Some(total) = cell(text, &last[column]) else { continue };
        let cells: Option<Vec<Cell>> =
            items.iter().map(|row| row.get(column).and_then(|range| cell(text, range))).collect();
        let Some(cells) = cells else { continue };
        let Some(expected) = sum(&cells) else { continue };
        let room = room(&cells, &total);
        if is_near(&expected, &total, room) {
            report.hold();
            continue;
        }
        // A mean, a largest value or a single one may stand there as well.
        let mean = expected.div(&Exact::whole(cells.len() as i64));
        let is_mean = mean.is_some_and(|mean| is_near(&mean, &total, total.last_place.to_double()));
        if is_mean || cells.iter().any(|cell| cell.value.compare(&total.value).is_eq()) {
            continue;
        }
        let detail = format!("the column sums to {}, not {}", expected.show(), total.value.show());
        report.refute("arithmetic/false_sum", total.span.clone(), detail);
    }
}

/// What the last column is of the ones before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Across {
    Sum,
    Product,
}

fn across(text: &str, header: &Row, items: &[Row], report: &mut Report) {
    let width = header.len();
    let rows: Vec<(Vec<Cell>, Cell)> = items
        .iter()
        .filter(|row| row.len() == width)
        .filter_map(|row| {
            let cells: Vec<Cell> = row[1..width - 1].iter().filter_map(|range| cell(text, range)).collect();
            Some((cells, cell(text, &row[width - 1])?))
                .filter(|(cells, _)| cells.len() == width - 2 && cells.len() >= 2)
        })
        .collect();
    let value = |kind: Across, cells: &[Cell]| match (kind, cells) {
        (Across::Sum, cells) => sum(cells),
        (Across::Product, [a, b]) => a.value.mul(&b.value),
        _ => None,
    };
    let holds = |kind: Across, (cells, total): &(Vec<Cell>, Cell)| {
        value(kind, cells).is_some_and(|value| is_near(&value, total, room(cells, total)))
    };
    for kind in [Across::Product, Across::Sum] {
        let agreeing = rows.iter().filter(|row| holds(kind, row)).count();
        if agreeing < ROWS_AGREE_MIN || agreeing * 3 < rows.len() * 2 {
            continue;
        }
        for row in &rows {
            if holds(kind, row) {
                report.hold();
            } else if let Some(expected) = value(kind, &row.0) {
                let name = if kind == Across::Sum { "sum" } else { "product" };
                let detail = format!("the {name} of the row is {}, not {}", expected.show(), row.1.value.show());
                report.refute("arithmetic/false_sum", row.1.span.clone(), detail);
            }
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Settings, examine};

    #[track_caller]
    fn check(text: &str, held: u64, wrong: &[&str]) {
        let report = examine(text, "", &Settings::default());
        let found: Vec<&str> = report.refuted.iter().map(|claim| &text[claim.span.clone()]).collect();
        assert_eq!((report.held, found.as_slice()), (held, wrong), "{text}");
    }

    #[test]
    fn a_list_adds_up_to_its_total() {
        check("- Apples: $3\n- Bread: $4\n- Cheese: $8\n\nTotal: $15", 1, &[]);
        check("- Apples: $3\n- Bread: $4\n- Cheese: $8\n\n**Total:** $16", 0, &["16"]);
        check("Rent - $1,000\nFood - $400\nTotal - $1,500\n", 0, &["1,500"]);
        for text in [
            "- Apples: $3\n- Bread: $4\n- Tax: $1\n\nTotal: $16",
            "- Pens (3): $3\n- Bread: $4\n\nTotal: $13",
            "- Pens: $3 each\n- Bread: $4\n\nTotal: $13",
            "- Pens: $3\n  - Red ones: $1\n\nTotal: $3",
            "- Pens: 3\n- Bread: $4\n\nTotal: $13",
            "Served: 30\n\nNew: 5\n\nTotal: 50",
            "- Goals: 3\n\nTotal: 50",
        ] {
            check(text, 0, &[]);
        }
    }
}
