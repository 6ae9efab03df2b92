//! Knowledge files: statements out of JSON Lines, CSV, N-Triples and Turtle.
//!
//! - `.jsonl`: `{"subject", "predicate", "object"}` and, if wanted, `aliases` (of the subject), `predicate_aliases`,
//!   `object_aliases`, `valid_from`, `valid_to`, `replaced_by`. A line with aliases and without an object only names things
//! - `.csv`: the same names in the first line, several aliases divided by `|`; without such a line subject, predicate, object
//! - `.nt`, `.ttl`: triples. `rdfs:label`, `schema:name`, `skos:prefLabel` and `skos:altLabel` name what their IRI stands
//!   for; an IRI without a label goes by the end of its path
//!
//! **Limits**: of Turtle the part without blank nodes in brackets, collections and numbers with exponents. [`LINE_BYTES_MAX`]
//! bytes of a line, [`STATEMENTS_MAX`] statements in all.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use crate::engines::facts::date;

/// Statements of all files.
pub const STATEMENTS_MAX: usize = 1_000_000;
/// Bytes of a line, or of a statement in Turtle.
pub const LINE_BYTES_MAX: usize = 1 << 16;

/// One statement of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statement {
    /// What it is about.
    pub subject: String,
    /// Other names of the subject.
    pub aliases: Vec<String>,
    /// The relation.
    pub predicate: String,
    /// Other words for the relation.
    pub predicate_aliases: Vec<String>,
    /// What is the case; empty in a line that only names things.
    pub object: String,
    /// Other names of the object.
    pub object_aliases: Vec<String>,
    /// First day on which it holds, counted from 1970.
    pub valid_from: Option<i64>,
    /// First day on which it no longer holds.
    pub valid_to: Option<i64>,
    /// What holds instead.
    pub replaced_by: Option<String>,
}

/// A line that cannot be used: its number, from 1, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The line.
    pub line: usize,
    /// Why, as a clause.
    pub reason: String,
}

impl BadLine {
    fn new(line: usize, reason: impl Into<String>) -> BadLine {
        BadLine { line, reason: reason.into() }
    }
}

/// The statements of the file `name`, whose ending says what it is.
///
/// # Errors
/// With the first line that cannot be used.
pub fn statements(name: &str, text: &str) -> Result<Vec<Statement>, BadLine> {
    let lower = name.to_ascii_lowercase();
    if let Some(index) = text.lines().position(|line| line.len() > LINE_BYTES_MAX) {
        return Err(BadLine::new(index + 1, format!("is longer than {LINE_BYTES_MAX} bytes")));
    }
    let statements = match lower.rsplit_once('.').map(|(_, ending)| ending) {
        Some("jsonl" | "ndjson" | "json") => json_lines(text),
        Some("csv") => csv_rows(text),
        Some("nt" | "ttl" | "turtle") => triples(text),
        _ => Err(BadLine::new(1, "the ending of the file must be .jsonl, .csv, .nt or .ttl")),
    }?;
    if statements.len() > STATEMENTS_MAX {
        return Err(BadLine::new(STATEMENTS_MAX, format!("more than {STATEMENTS_MAX} statements")));
    }
    Ok(statements)
}

/// A line of JSON Lines, as it is written.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Line {
    subject: String,
    aliases: Vec<String>,
    predicate: String,
    predicate_aliases: Vec<String>,
    object: Value,
    object_aliases: Vec<String>,
    valid_from: Option<String>,
    valid_to: Option<String>,
    replaced_by: Option<Value>,
}

impl Line {
    fn check(self) -> Result<Statement, String> {
        let object = plain(&self.object).ok_or("the object is neither text, number nor boolean")?;
        let names_only = !self.aliases.is_empty() || !self.predicate_aliases.is_empty();
        if object.is_empty() && !names_only {
            return Err("has no object".to_owned());
        }
        if !object.is_empty() && (self.subject.trim().is_empty() || self.predicate.trim().is_empty()) {
            return Err("has no subject or no predicate".to_owned());
        }
        let valid_from = day("valid_from", self.valid_from.as_deref())?.map(|(first, _)| first);
        let valid_to = day("valid_to", self.valid_to.as_deref())?.map(|(_, after)| after);
        if valid_from.zip(valid_to).is_some_and(|(from, to)| from >= to) {
            return Err("ends before it begins".to_owned());
        }
        let replaced_by = self.replaced_by.as_ref().map(|by| plain(by).ok_or("replaced_by is neither text nor number"));
        let replaced_by = replaced_by.transpose()?.filter(|by| !by.is_empty());
        Ok(Statement {
            subject: self.subject.trim().to_owned(),
            aliases: self.aliases,
            predicate: self.predicate.trim().to_owned(),
            predicate_aliases: self.predicate_aliases,
            object,
            object_aliases: self.object_aliases,
            valid_from,
            valid_to,
            replaced_by,
        })
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// A date of a file, when there is one.
pub(crate) fn day(name: &str, text: Option<&str>) -> Result<Option<(i64, i64)>, String> {
    match text.map(str::trim).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => date::parse(text).map(Some).ok_or_else(|| format!("{name} is no date: {text:?}")),
    }
}

fn json_lines(text: &str) -> Result<Vec<Statement>, BadLine> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let line: Result<Line, _> = serde_json::from_str(line);
            line.map_err(|error| error.to_string()).and_then(Line::check).map_err(|why| BadLine::new(index + 1, why))
        })
        .collect()
}

fn csv_rows(text: &str) -> Result<Vec<Statement>, BadLine> {
    const COLUMNS: [&str; 9] = [
        "subject",
        "predicate",
        "object",
        "aliases",
        "predicate_aliases",
        "object_aliases",
        "valid_from",
        "valid_to",
        "replaced_by",
    ];
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut columns: Vec<usize> = vec![0, 1, 2];
    let mut statements = Vec::new();
    for (index, row) in reader.records().enumerate() {
        let row = row.map_err(|error| BadLine::new(index + 1, error.to_string()))?;
        let line = row.position().map_or(index + 1, |position| position.line() as usize);
        if index == 0 && row.iter().any(|cell| cell.eq_ignore_ascii_case("subject")) {
            let column = |cell: &str| COLUMNS.iter().position(|name| name.eq_ignore_ascii_case(cell));
            let unknown = |cell: &str| BadLine::new(line, format!("unknown column {cell:?}"));
            columns = row.iter().map(|cell| column(cell).ok_or_else(|| unknown(cell))).collect::<Result<_, _>>()?;
            continue;
        }
        if row.len() != columns.len() {
            return Err(BadLine::new(line, format!("has {} columns, not {}", row.len(), columns.len())));
        }
        let cell = |column: usize| {
            let at = columns.iter().position(|known| *known == column);
            at.and_then(|at| row.get(at)).unwrap_or_default().to_owned()
        };
        let list = |column| {
            cell(column).split('|').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
        };
        let filled = |column| Some(cell(column)).filter(|text| !text.is_empty());
        let statement = Line {
            subject: cell(0),
            predicate: cell(1),
            object: Value::String(cell(2)),
            aliases: list(3),
            predicate_aliases: list(4),
            object_aliases: list(5),
            valid_from: filled(6),
            valid_to: filled(7),
            replaced_by: filled(8).map(Value::String),
        };
        statements.push(statement.check().map_err(|why| BadLine::new(line, why))?);
    }
    Ok(statements)
}

/// A term of a triple.
#[derive(Clone, Debug, PartialEq)]
enum Term {
    Iri(String),
    Literal(String),
}

/// Predicates whose object is the name of their subject; the first ones are the name that is shown.
const LABELS: [&str; 4] = [
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
];
/// A further name.
const ALIAS: &str = "http://www.w3.org/2004/02/skos/core#altLabel";
const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

fn triples(text: &str) -> Result<Vec<Statement>, BadLine> {
    let mut parser = Turtle { text, at: 0, line: 1, prefixes: HashMap::new(), base: String::new() };
    let mut triples: Vec<(Term, String, Term)> = Vec::new();
    parser.document(&mut triples).map_err(|why| BadLine::new(parser.line, why))?;
    let mut names: HashMap<&str, Vec<&str>> = HashMap::new();
    for (subject, predicate, object) in &triples {
        let (Term::Iri(subject), Term::Literal(label)) = (subject, object) else { continue };
        let known = names.entry(subject).or_default();
        if LABELS.contains(&predicate.as_str()) {
            known.insert(0, label);
        } else if predicate == ALIAS {
            known.push(label);
        }
    }
    let named = |term: &Term| -> (String, Vec<String>) {
        match term {
            Term::Literal(text) => (text.clone(), Vec::new()),
            Term::Iri(iri) => match names.get(iri.as_str()).and_then(|names| names.split_first()) {
                Some((first, rest)) => ((*first).to_owned(), rest.iter().map(|name| (*name).to_owned()).collect()),
                None => (words_of(iri), Vec::new()),
            },
        }
    };
    let statement = |(subject, predicate, object): &(Term, String, Term)| {
        let ((subject, aliases), (object, object_aliases)) = (named(subject), named(object));
        let (predicate, predicate_aliases) = named(&Term::Iri(predicate.clone()));
        Statement { subject, aliases, predicate, predicate_aliases, object, object_aliases, ..Statement::default() }
    };
    let is_fact = |predicate: &str| !LABELS.contains(&predicate) && predicate != ALIAS && predicate != TYPE;
    Ok(triples.iter().filter(|(_, predicate, _)| is_fact(predicate)).map(statement).collect())
}

/// The end of an IRI's path, in words.
fn words_of(iri: &str) -> String {
    split_words(iri.trim_end_matches(['/', '#']).rsplit(['/', '#', ':']).next().unwrap_or_default())
}

/// `populationTotal`, `population_total` → `population total`.
pub(super) fn split_words(name: &str) -> String {
    let mut words = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c == '_' || c == '-' {
            words.push(' ');
        } else if c.is_uppercase() && before.is_lowercase() {
            words.push(' ');
            words.extend(c.to_lowercase());
        } else {
            words.push(c);
        }
        before = c;
    }
    words
}

/// Reads the simple part of Turtle, of which N-Triples is a part.
struct Turtle<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    prefixes: HashMap<String, String>,
    base: String,
}

impl<'t> Turtle<'t> {
    fn document(&mut self, triples: &mut Vec<(Term, String, Term)>) -> Result<(), String> {
        loop {
            self.skip();
            let rest = self.rest();
            if rest.is_empty() {
                return Ok(());
            }
            let word: String = rest
                .chars()
                .take_while(|c| c.is_ascii_alphabetic() || *c == '@')
                .collect::<String>()
                .to_ascii_lowercase();
            match word.as_str() {
                "@prefix" | "prefix" if rest[word.len()..].starts_with(char::is_whitespace) => {
                    self.prefix(word.starts_with('@'), word.len())?
                }
                "@base" | "base" if rest[word.len()..].starts_with(char::is_whitespace) => {
                    self.at += word.len();
                    self.skip();
                    self.base = self.iri()?;
                    self.end_of_directive(word.starts_with('@'))?;
                }
                _ => self.statement(triples)?,
            }
            if triples.len() > STATEMENTS_MAX {
                return Err(format!("more than {STATEMENTS_MAX} statements"));
            }
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.line += rest[..blank].matches('\n').count();
            self.at += blank;
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn takes(&mut self, sign: char) -> bool {
        self.skip();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len_utf8() } else { 0 };
        found
    }

    fn prefix(&mut self, has_stop: bool, length: usize) -> Result<(), String> {
        self.at += length;
        self.skip();
        let rest = self.rest();
        let name = rest.split(':').next().filter(|name| name.len() < rest.len() && !name.contains(char::is_whitespace));
        let name = name.ok_or("a prefix needs a name that ends with a colon")?;
        self.at += name.len() + 1;
        self.skip();
        let iri = self.iri()?;
        self.prefixes.insert(name.to_owned(), iri);
        self.end_of_directive(has_stop)
    }

    fn end_of_directive(&mut self, has_stop: bool) -> Result<(), String> {
        if has_stop && !self.takes('.') { Err("a full stop is missing".to_owned()) } else { Ok(()) }
    }

    fn statement(&mut self, triples: &mut Vec<(Term, String, Term)>) -> Result<(), String> {
        let subject = self.term()?;
        if !matches!(subject, Term::Iri(_)) {
            return Err("the subject is no IRI".to_owned());
        }
        loop {
            let predicate = self.predicate()?;
            loop {
                triples.push((subject.clone(), predicate.clone(), self.term()?));
                if !self.takes(',') {
                    break;
                }
            }
            if !self.takes(';') {
                break;
            }
            while self.takes(';') {}
            self.skip();
            if self.rest().starts_with('.') {
                break;
            }
        }
        if self.takes('.') { Ok(()) } else { Err("a full stop is missing after the statement".to_owned()) }
    }

    fn predicate(&mut self) -> Result<String, String> {
        self.skip();
        let rest = self.rest();
        if rest.starts_with('a') && rest[1..].starts_with(char::is_whitespace) {
            self.at += 1;
            return Ok(TYPE.to_owned());
        }
        match self.term()? {
            Term::Iri(iri) => Ok(iri),
            Term::Literal(_) => Err("the predicate is no IRI".to_owned()),
        }
    }

    fn term(&mut self) -> Result<Term, String> {
        self.skip();
        match self.rest().chars().next() {
            None => Err("the statement breaks off".to_owned()),
            Some('<') => self.iri().map(Term::Iri),
            Some('"' | '\'') => self.literal().map(Term::Literal),
            Some('[' | '(') => Err("blank nodes in brackets and collections are not read".to_owned()),
            Some(c) if c.is_ascii_digit() || c == '-' || c == '+' => {
                let rest = self.rest();
                let end =
                    rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).unwrap_or(rest.len());
                let number = rest[..end].trim_end_matches('.');
                self.at += number.len();
                Ok(Term::Literal(number.to_owned()))
            }
            Some(_) => self.name(),
        }
    }

    fn iri(&mut self) -> Result<String, String> {
        let inner = self.rest().strip_prefix('<').ok_or("an IRI in angle brackets is missing")?;
        let end = inner
            .find('>')
            .filter(|end| !inner[..*end].contains(char::is_whitespace))
            .ok_or("an IRI is never closed")?;
        self.at += end + 2;
        let iri = &inner[..end];
        Ok(if iri.contains(':') { iri.to_owned() } else { format!("{}{iri}", self.base) })
    }

    /// `prefix:name`, `_:name`, `true`, `false`.
    fn name(&mut self) -> Result<Term, String> {
        let rest = self.rest();
        let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '"' | '[' | ']' | '(' | ')' | '#');
        let word = rest[..rest.find(is_end).unwrap_or(rest.len())].trim_end_matches('.');
        self.at += word.len();
        if matches!(word, "true" | "false") {
            return Ok(Term::Literal(word.to_owned()));
        }
        let (prefix, local) = word
            .split_once(':')
            .ok_or_else(|| format!("{:?} is no term", word.chars().take(40).collect::<String>()))?;
        if prefix == "_" {
            return Ok(Term::Iri(word.to_owned()));
        }
        let base = self.prefixes.get(prefix).ok_or_else(|| format!("the prefix {prefix:?} is not declared"))?;
        Ok(Term::Iri(format!("{base}{}", local.replace('\\', ""))))
    }

    /// A text, whose language and type are left aside.
    fn literal(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let quote = &rest[..1];
        let long = quote.repeat(3);
        let mark = if rest.starts_with(&long) { long.as_str() } else { quote };
        self.at += mark.len();
        let mut text = String::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(mark) {
                self.at += mark.len();
                break;
            }
            let c = rest.chars().next().ok_or("a text is never closed")?;
            self.at += c.len_utf8();
            match c {
                '\\' => text.push(self.escape()?),
                '\n' if mark.len() == 1 => return Err("a text is never closed".to_owned()),
                '\n' => {
                    self.line += 1;
                    text.push(c);
                }
                c => text.push(c),
            }
        }
        if let Some(tag) = self.rest().strip_prefix('@') {
            self.at += 1 + tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(tag.len());
        } else if self.rest().starts_with("^^") {
            self.at += 2;
            self.term()?;
        }
        Ok(text)
    }

    fn escape(&mut self) -> Result<char, String> {
        let c = self.rest().chars().next().ok_or("a text is never closed")?;
        self.at += c.len_utf8();
        let digits = match c {
            'n' => return Ok('\n'),
            't' => return Ok('\t'),
            'r' => return Ok('\r'),
            '"' | '\'' | '\\' => return Ok(c),
            'u' => 4,
            'U' => 8,
            _ => return Err("an escape that Turtle does not have".to_owned()),
        };
        let code = self.rest().get(..digits).and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
        self.at += if code.is_some() { digits } else { 0 };
        code.ok_or_else(|| "an escape that is no character".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn facts(name: &str, text: &str) -> Vec<(String, String, String)> {
        let of = |fact: Statement| (fact.subject, fact.predicate, fact.object);
        statements(name, text).unwrap().into_iter().map(of).collect()
    }

    fn triple(subject: &str, predicate: &str, object: &str) -> (String, String, String) {
        (subject.to_owned(), predicate.to_owned(), object.to_owned())
    }

    #[test]
    fn the_same_fact_in_every_format() {
        let expected = [triple("Australia", "capital", "Canberra")];
        for (name, text) in [
            ("a.jsonl", "\n{\"subject\": \"Australia\", \"predicate\": \"capital\", \"object\": \"Canberra\"}\n"),
            ("a.csv", "Australia,capital,Canberra\n"),
            ("a.csv", "object,subject,predicate\nCanberra,Australia,capital\n"),
            ("a.nt", "<http://e/Australia> <http://e/capital> \"Canberra\"@en . # yes\n"),
            ("a.ttl", "@prefix e: <http://e/> .\ne:Australia a e:Country ; e:capital e:Canberra .\n"),
            (
                "a.ttl",
                "PREFIX e: <http://e/>\ne:Q1 <http://www.w3.org/2000/01/rdf-schema#label> 'Australia' ; e:capital \"\"\"Canberra\"\"\"^^e:t .",
            ),
        ] {
            assert_eq!(facts(name, text), expected, "{text}");
        }
        assert_eq!(facts("a.ttl", "<http://e/x> <http://e/populationTotal> 5, 6.5 .").len(), 2);
        assert_eq!(words_of("http://e/o#populationTotal"), "population total");
    }

    #[test]
    fn all_that_a_line_can_say() {
        let text = r#"{"subject":"X","aliases":["Y"],"predicate":"fee","predicate_aliases":["charge"],"object":5,"valid_from":"2020","valid_to":"2023-12-31","replaced_by":7}"#;
        let fact = &statements("a.jsonl", text).unwrap()[0];
        assert_eq!((fact.object.as_str(), fact.replaced_by.as_deref()), ("5", Some("7")));
        assert_eq!(fact.valid_to.map(date::shown).as_deref(), Some("2024-01-01"));
        let csv = "subject,predicate,object,aliases,valid_to\nX,fee,5,Y|Z,2023\n";
        assert_eq!(statements("a.csv", csv).unwrap()[0].aliases, ["Y", "Z"]);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (name, text, line, reason) in [
            ("a.jsonl", "{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"c\"}\n{", 2, "EOF"),
            ("a.jsonl", "{\"subject\":\"a\",\"predicate\":\"b\"}", 1, "has no object"),
            ("a.jsonl", "{\"predicate\":\"b\",\"object\":1}", 1, "no subject"),
            ("a.jsonl", "{\"subjekt\":\"a\"}", 1, "unknown field"),
            ("a.jsonl", "{\"subject\":\"a\",\"predicate\":\"b\",\"object\":[1]}", 1, "neither"),
            ("a.jsonl", "{\"subject\":\"a\",\"predicate\":\"b\",\"object\":1,\"valid_to\":\"soon\"}", 1, "no date"),
            ("a.csv", "subject,predicate,object,valid_to\na,b,c,2024\na,b,c,32767-12\n", 3, "valid_to is no date"),
            (
                "a.jsonl",
                "{\"subject\":\"a\",\"predicate\":\"b\",\"object\":1,\"valid_from\":\"2021\",\"valid_to\":\"2020\"}",
                1,
                "ends before",
            ),
            ("a.csv", "a,b,c\na,b\n", 2, "columns"),
            ("a.csv", "subject,verb\n", 1, "unknown column"),
            ("a.nt", "<http://a> <http://b> <http://c> .\n<http://a> <http://b> \"c .\n", 2, "never closed"),
            ("a.ttl", "\n\nx:a x:b x:c .", 3, "not declared"),
            ("a.ttl", "<http://a> <http://b> [ ] .", 1, "brackets"),
            ("a.ttl", "<http://a> <http://b> 1", 1, "full stop"),
            ("a.txt", "", 1, "ending"),
        ] {
            let bad = statements(name, text).unwrap_err();
            assert!(bad.line == line && bad.reason.contains(reason), "{text}: {bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[@<>:;,.\"'a-e \\n\\\\#u0-9\\[(é-]{0,60}") {
            for name in ["a.ttl", "a.csv", "a.jsonl"] {
                let _ = statements(name, &text);
            }
        }
    }
}
