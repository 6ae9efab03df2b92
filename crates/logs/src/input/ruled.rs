//! Tables as terminals and pages show them: columns between bars, and a rule below the names.
//!
//! ```text
//!  prompt | response      +--------+----------+      | prompt | response |
//! --------+----------     | prompt | response |      |--------|----------|
//!  a      | b             +--------+----------+      | a      | b        |
//! (1 row)                 | a      | b        |
//!                         +--------+----------+
//! psql                    mysql                      Markdown
//! ```
//!
//! **Limits**: names and rule take at most [`HEAD_BYTES_MAX`]; there are two columns or more. A bar inside of a cell that looks like one
//! between two makes a row of too many cells, which is rejected. psql marks a cell that goes on in the next line (`+`), and such rows are
//! put together; mysql does not, and its rows with line breaks are rejected.

use memchr::memrchr;

use super::header::Header;

/// Bytes of the lines down to the rule below the names, at most.
pub const HEAD_BYTES_MAX: usize = 1 << 20;

/// How the columns of such a table are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruled {
    style: Style,
    /// Whether each row stands between two bars.
    is_framed: bool,
    /// Whether there are blanks around each bar.
    is_spaced: bool,
    /// Characters of the last column.
    last_width: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Psql,
    Mysql,
    Markdown,
}

/// What the first lines of a source are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// Perhaps the beginning of a table: more lines will tell.
    Open,
    /// The names and the rule of a table, down to the end of the last line.
    Table(Header),
    /// No table.
    None,
}

/// What `text` begins with; `is_whole` says whether its last line is.
pub fn head(text: &[u8], is_whole: bool) -> Head {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.next().unwrap_or_default();
    let is_box = rule_of(first, b'+', true).is_some();
    let may_be_names = is_box || (first.contains(&b'|') && !first.starts_with(b"{") && !first.starts_with(b"["));
    if !may_be_names || text.len() > HEAD_BYTES_MAX {
        return Head::None;
    }
    let names = if is_box { lines.next() } else { Some(first) };
    let (Some(names), Some(rule)) = (names, lines.next()) else { return Head::Open };
    if !is_whole {
        let may_be_rule = rule.iter().all(|byte| b"-+|: ".contains(byte));
        return if may_be_rule { Head::Open } else { Head::None };
    }
    header(names, rule, is_box).map_or(Head::None, Head::Table)
}

fn header(names: &[u8], rule: &[u8], is_box: bool) -> Option<Header> {
    let (style, columns) = match is_box {
        true => (Style::Mysql, rule_of(rule, b'+', true)?),
        false => rule_of(rule, b'+', false)
            .map(|columns| (Style::Psql, columns))
            .or_else(|| Some((Style::Markdown, rule_of(rule, b'|', names.starts_with(b"|"))?)))?,
    };
    let is_framed = names.starts_with(b"|") && names.ends_with(b"|") && style != Style::Psql;
    let is_spaced = bars(names).all(|at| is_bar_in_blanks(names, at));
    let ruled =
        Ruled { style, is_framed, is_spaced, last_width: rule.len() - memrchr(b'+', rule).map_or(0, |at| at + 1) };
    let names = ruled.cells(names).ok()?.into_iter().map(|cell| cell.text).collect::<Vec<String>>();
    let is_table = names.len() == columns && columns > 1 && names.iter().all(|name| !name.is_empty());
    is_table.then_some(Header { names, delimiter: b'|', ruled: Some(ruled), is_copied: false })
}

/// How many columns a rule has, if the line is one.
fn rule_of(line: &[u8], cross: u8, is_framed: bool) -> Option<usize> {
    let line = match is_framed {
        true => line.strip_prefix(&[cross])?.strip_suffix(&[cross])?,
        false => line,
    };
    let is_dashes = |part: &[u8]| {
        let part = part.trim_ascii();
        let part = part.strip_prefix(b":").unwrap_or(part);
        let part = part.strip_suffix(b":").unwrap_or(part);
        !part.is_empty() && part.iter().all(|&byte| byte == b'-')
    };
    let mut columns = 0;
    for part in line.split(|&byte| byte == cross) {
        if !is_dashes(part) {
            return None;
        }
        columns += 1;
    }
    Some(columns)
}

fn bars(line: &[u8]) -> impl Iterator<Item = usize> {
    line.iter().enumerate().filter(|(_, byte)| **byte == b'|').map(|(at, _)| at)
}

fn is_bar_in_blanks(line: &[u8], at: usize) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    is_edge(at.checked_sub(1).and_then(|before| line.get(before))) && is_edge(line.get(at + 1))
}

impl Ruled {
    /// Whether a line of the table is one between rows, or the last one.
    pub fn is_rule(&self, line: &[u8]) -> bool {
        self.style == Style::Mysql && rule_of(line.trim_ascii(), b'+', true).is_some()
    }

    /// Whether a line counts the rows of the table, as in `(3 rows)` and `3 rows in set (0.01 sec)`.
    pub fn is_end(&self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        let counted = match self.style {
            Style::Psql => line.strip_prefix(b"(").and_then(|line| line.strip_suffix(b")")),
            Style::Mysql => Some(line),
            Style::Markdown => None,
        };
        let Some(counted) = counted else { return false };
        let digits = counted.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && counted.get(digits) == Some(&b' ') && !line.contains(&b'|')
    }

    /// Whether a cell of the line goes on in the next one.
    pub fn goes_on(&self, line: &[u8]) -> bool {
        let line = line.trim_ascii_end();
        let last = &line[memrchr(b'|', line).map_or(0, |at| at + 1)..];
        self.style == Style::Psql && (line.windows(2).any(|pair| pair == b"+|") || self.is_marked(last, true))
    }

    /// The cells of a row, of which there must be as many as there are `columns`; the reason when it is none.
    pub fn row(&self, row: &[u8], columns: usize) -> Result<Vec<String>, String> {
        let mut lines = row.split(|&byte| byte == b'\n').map(|line| {
            let cells = self.cells(line)?;
            match cells.len() == columns {
                true => Ok(cells),
                false => Err(format!("a row of {} cells where the header has {columns}", cells.len())),
            }
        });
        let mut cells = lines.next().transpose()?.unwrap_or_default();
        for line in lines {
            for (cell, piece) in cells.iter_mut().zip(line?) {
                if cell.goes_on {
                    cell.text.extend(["\n", &piece.text]);
                }
                cell.goes_on = piece.goes_on;
            }
        }
        Ok(cells.into_iter().map(|cell| cell.text).collect())
    }

    /// The cells of one line.
    fn cells(&self, line: &[u8]) -> Result<Vec<Cell>, String> {
        let line = line.trim_ascii();
        let inner = match self.is_framed {
            true => line.strip_prefix(b"|").and_then(|rest| rest.strip_suffix(b"|")).ok_or(NO_FRAME)?,
            false => line,
        };
        let mut begin = 0;
        let cell = |at: usize| {
            let cell = &inner[begin..at];
            begin = at + 1;
            self.cell(cell, at == inner.len())
        };
        Ok(bars(inner).filter(|&at| self.is_bar(inner, at)).chain([inner.len()]).map(cell).collect())
    }

    fn cell(&self, cell: &[u8], is_last: bool) -> Cell {
        let goes_on = self.is_marked(cell, is_last);
        let text = cell.strip_suffix(b"+").filter(|_| goes_on).unwrap_or(cell);
        let text = String::from_utf8_lossy(text.trim_ascii());
        let text = match self.style {
            Style::Mysql if text == "NULL" => String::new(),
            Style::Markdown => text.replace("\\|", "|"),
            _ => text.into_owned(),
        };
        Cell { text, goes_on }
    }

    /// Whether psql says that the cell, whose blanks are its own, goes on.
    fn is_marked(&self, cell: &[u8], is_last: bool) -> bool {
        let is_full = || String::from_utf8_lossy(cell).chars().count() == self.last_width;
        self.style == Style::Psql && cell.ends_with(b"+") && (!is_last || is_full())
    }

    fn is_bar(&self, line: &[u8], at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| line.get(before));
        match self.style {
            Style::Markdown if before == Some(&b'\\') => false,
            Style::Psql if before == Some(&b'+') => true,
            _ => !self.is_spaced || is_bar_in_blanks(line, at),
        }
    }
}

struct Cell {
    text: String,
    /// Whether the next line has more of it.
    goes_on: bool,
}

const NO_FRAME: &str = "a row that does not stand between bars (a cell with a line break?)";

#[cfg(test)]
mod tests {
    use super::*;

    const PSQL: &str = " prompt | response\n--------+----------";
    const MYSQL: &str = "+--------+----------+\n| prompt | response |\n+--------+----------+";
    const MARKDOWN: &str = "| prompt | response |\n|:-------|---------:|";

    fn table(text: &str) -> Option<Header> {
        match head(text.as_bytes(), true) {
            Head::Table(header) => Some(header),
            _ => None,
        }
    }

    #[test]
    fn a_head_is_names_above_a_rule() {
        for text in [PSQL, MYSQL, MARKDOWN, "prompt|response\r\n---|---", "|prompt|response|\n|--|--|"] {
            let header = table(text);
            assert_eq!(header.map(|header| header.names), Some(vec!["prompt".into(), "response".into()]), "{text}");
            for end in text.find('\n').unwrap() + 1..text.len() {
                assert_ne!(head(&text.as_bytes()[..end], false), Head::None, "{}", &text[..end]);
            }
        }
        for text in
            ["a | b\nc | d", "a b\n---", "a | b\n---", "a | b\n---+---+---", "{\"a\": 1 | 2}\n---+---", " | b\n---+---"]
        {
            assert_eq!(table(text), None, "{text}");
            assert_ne!(head(text.as_bytes(), true), Head::Open, "{text}");
        }
        assert_eq!(head(b"a | b\n---+--x", false), Head::None);
        assert_eq!(head(&[b"a | b\n", &b"-".repeat(HEAD_BYTES_MAX)[..]].concat(), false), Head::None);
    }

    #[test]
    fn rows_are_cells_between_bars() {
        #[track_caller]
        fn check(head: &str, row: &str, expected: Result<[&str; 2], &str>) {
            let header = table(head).unwrap();
            let got = header.cells(row.as_bytes());
            let got = got.map(|cells| cells.into_iter().map(|(_, cell)| cell).collect::<Vec<_>>());
            match expected {
                Ok(cells) => assert_eq!(got, Ok(cells.map(str::to_owned).to_vec()), "{row}"),
                Err(reason) => assert!(got.as_ref().is_err_and(|got| got.starts_with(reason)), "{got:?}"),
            }
        }
        check(PSQL, " a      | b", Ok(["a", "b"]));
        check(PSQL, "a||c   | b", Ok(["a||c", "b"]));
        check(PSQL, "| b", Ok(["", "b"]));
        check(PSQL, "a |", Ok(["a", ""]));
        check(PSQL, "a | b | c", Err("a row of 3 cells where the header has 2"));
        check(PSQL, "Time: 3 ms", Err("a row of 1 cells"));
        check(PSQL, "line 1+| b\n line 2 |", Ok(["line 1\nline 2", "b"]));
        check(PSQL, "a      | line 1  +\n        | line 2", Ok(["a", "line 1\nline 2"]));
        check(PSQL, "a      | C+", Ok(["a", "C+"]));
        check(MYSQL, "| a     | NULL     |", Ok(["a", ""]));
        check(MYSQL, "| line 1", Err("a row that does not stand between bars"));
        check(MARKDOWN, "| a \\| b | c |", Ok(["a | b", "c"]));
        check("|prompt|response|\n|--|--|", "|a|b|", Ok(["a", "b"]));
    }

    #[test]
    fn some_lines_are_no_rows() {
        let ruled = |text| table(text).and_then(|header| header.ruled).unwrap();
        let (psql, mysql, markdown) = (ruled(PSQL), ruled(MYSQL), ruled(MARKDOWN));
        assert!(psql.is_end(b"(3 rows)") && psql.is_end(b"(1 Zeile)\r") && !psql.is_end(b"(3) | b"));
        assert!(mysql.is_end(b"3 rows in set (0.01 sec)") && !mysql.is_end(b"| 3 rows | b |"));
        assert!(!markdown.is_end(b"(3 rows)") && !psql.is_end(b"3 a"));
        assert!(mysql.is_rule(b"+--------+----------+") && !psql.is_rule(b"------+-----"));
        assert!(psql.goes_on(b" line 1+| b") && psql.goes_on(b" a      | line 1  +"));
        assert!(!psql.goes_on(b" a      | C+") && !mysql.goes_on(b"| a+|"));
    }
}
