//! Framing: golden cases, then properties over hostile bytes.

use proptest::prelude::*;

use super::*;
use crate::input::{Rest, Shell};

const NO_LIMIT: u64 = u64::MAX;

/// A unit with its own text.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    line: u64,
    byte: u64,
    content: Result<Vec<u8>, Cut>,
}

#[derive(Clone, Debug, PartialEq)]
struct Framed {
    seen: Vec<Seen>,
    lines: u64,
    blank_lines: u64,
}

/// What is told of a unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub line: u64,
    pub item: Option<u32>,
    pub byte: u64,
    /// Its text; what is left of a document behind `=`, and a reason behind `!`.
    pub text: String,
    pub shell: Option<Arc<Shell>>,
}

/// Frames `input` as the reader does, `chunk` bytes at a time; also says how much work that was.
fn frame_in_chunks(input: &[u8], chunk: usize, max_record_bytes: u64, end: &End) -> (Framed, u64) {
    let mut framer = Framer::new(&Limits { max_record_bytes, document_bytes: NO_LIMIT, ..Limits::default() });
    framer.recognises = |_| false;
    let mut seen = Vec::new();
    drive(&mut framer, input, chunk, end, |unit, bytes| {
        let content = match unit.content {
            Content::Text(range) => Ok(bytes[range].to_vec()),
            Content::Rest(rest) => Ok(format!("{rest:?}").into_bytes()),
            Content::Rejected(cut) => Err(cut),
        };
        seen.push(Seen { line: unit.line, byte: unit.byte, content });
    });
    (Framed { seen, lines: framer.lines(), blank_lines: framer.blank_lines() }, framer.work())
}

/// As [`frame_in_chunks`], with any framer.
pub(super) fn frame_with(mut framer: Framer, input: &[u8], chunk: usize, end: &End) -> (Vec<Told>, u64) {
    let mut all = Vec::new();
    drive(&mut framer, input, chunk, end, |unit, bytes| {
        let text = match &unit.content {
            Content::Text(range) => String::from_utf8_lossy(&bytes[range.clone()]).into_owned(),
            Content::Rest(Rest { text: None, elements }) => format!("=? but {elements}"),
            Content::Rest(Rest { text: Some(text), elements }) => {
                format!("={} but {elements}", String::from_utf8_lossy(text))
            }
            Content::Rejected(Cut::TooLarge { bytes, limit }) => format!("!larger than {limit}: {bytes}"),
            Content::Rejected(Cut::TooDeep { limit }) => format!("!deeper than {limit}"),
            Content::Rejected(Cut::Truncated(reason) | Cut::Unreadable(reason)) => format!("!{reason}"),
        };
        all.push(Told { line: unit.line, item: unit.item, byte: unit.byte, text, shell: unit.shell });
    });
    (all, framer.work())
}

fn drive(framer: &mut Framer, input: &[u8], chunk: usize, end: &End, mut take: impl FnMut(Unit, &[u8])) {
    let (mut buffer, mut units) = (Vec::new(), Vec::new());
    let mut chunks = input.chunks(chunk);
    let mut end_given = None;
    loop {
        let progress = framer.frame(&buffer, end_given, &mut units);
        units.drain(..).for_each(|unit| take(unit, &buffer));
        buffer.drain(..framer.release());
        match progress {
            Progress::Finished => break,
            Progress::BatchFull => {}
            Progress::NeedsBytes => match chunks.next() {
                Some(bytes) => buffer.extend_from_slice(bytes),
                None => end_given = Some(end),
            },
        }
    }
}

fn frame(input: &[u8]) -> Vec<Seen> {
    frame_in_chunks(input, input.len().max(1), NO_LIMIT, &End::Complete).0.seen
}

/// Rejected units are written as `!` and the first words of their reason.
#[track_caller]
fn check(input: &str, expected: &[&str]) {
    let (framed, _) = frame_in_chunks(input.as_bytes(), input.len().max(1), 1000, &End::Complete);
    let told = |seen: &Seen| match &seen.content {
        Ok(text) => String::from_utf8_lossy(text).into_owned(),
        Err(Cut::TooLarge { bytes, .. }) => format!("!{bytes} bytes"),
        Err(Cut::TooDeep { limit }) => format!("!deeper than {limit}"),
        Err(Cut::Truncated(reason) | Cut::Unreadable(reason)) => format!("!{reason}"),
    };
    let got: Vec<String> = framed.seen.iter().map(told).collect();
    let agrees = |(got, expected): (&String, &&str)| match expected.strip_prefix('!') {
        Some(reason) => got.strip_prefix('!').is_some_and(|got| got.starts_with(reason)),
        None => got == expected,
    };
    let all = got.len() == expected.len() && got.iter().zip(expected).all(agrees);
    assert!(all, "{input:?}\n     got {got:?}\nexpected {expected:?}");
}

#[test]
fn lines_are_units_when_the_first_line_is_complete() {
    check("", &[]);
    check(" \n\t\r\n", &[]);
    check("{\"a\":1}\n{\"b\":2}\n", &[r#"{"a":1}"#, r#"{"b":2}"#]);
    check("{\"a\":1}\r\n  {\"b\":2} \r\n\r\nlast", &[r#"{"a":1}"#, r#"{"b":2}"#, "last"]);
    check("{}{}\n[1]\n{", &["{}{}", "[1]", "{"]);
    check("{\"a\":\"tru\n{\"b\":2}\n", &["{\"a\":\"tru", r#"{"b":2}"#]);
    check("{\"a\":\"tru\\\n{\"b\":2}\n", &["{\"a\":\"tru\\", r#"{"b":2}"#]);
    check("{\"a\":1]\n{\"b\":\n", &["{\"a\":1]", "!the input ends inside of a value"]);
    check("{\"a\":", &["{\"a\":"]);
    check("2026-01-01 INFO {\n\"a\n", &["2026-01-01 INFO {", "\"a"]);
    check("[2026-01-01] INFO\n[", &["[2026-01-01] INFO", "["]);
    check("[  ", &["["]);
    check("\"a\nb\"", &["\"a", "b\""]);
}

#[test]
fn an_object_among_lines_may_go_on() {
    let pretty = "{\n  \"a\": [\n    {\"b\": 1}\n  ]\n}";
    check(&format!("{{}}\n{pretty}\n{{}}"), &["{}", pretty, "{}"]);
    check(&format!("{{}}\r\n  {pretty} \r\nnoise {{\n{{}}"), &["{}", pretty, "noise {", "{}"]);
    check("{}\n{\"a\": 1,\n\"b\": 2}{}\n", &["{}", "{\"a\": 1,\n\"b\": 2}", "{}"]);
    // One that breaks is one fault, and costs no line that begins a value after it.
    let cut = "!the input ends inside of a value";
    check("{}\n{\n  \"a\": {\n    \"b\": 1\n  },\n", &["{}", cut]);
    check("{}\n{\n  \"a\": 1,\n{\"b\":2}\ntext\n", &["{}", "!a value where a key must stand", "{\"b\":2}", "text"]);
    check("{}\n{\"a\":\n{\"b\":2}\n{\"c\":3}\n", &["{}", "!a value without a comma", "{\"b\":2}", "{\"c\":3}"]);
    check("{}\n{\"a\":\n{\"b\":\n{\"c\":3}\n", &["{}", cut, "{\"b\":", "{\"c\":3}"]);
    // What only looks as if it went on is a line.
    check("{}\n{\"a\": \"cut,\n{}\n", &["{}", "{\"a\": \"cut,", "{}"]);
    check("{}\n{\"a\":1}, {\n{}\n", &["{}", "{\"a\":1}, {", "{}"]);
    check("{}\n[\n{}\n]\n", &["{}", "[", "{}", "]"]);
}

#[test]
fn values_are_units_when_the_first_one_goes_on() {
    check("{\n\"a\": 1\n}\n{\n}{}", &["{\n\"a\": 1\n}", "{\n}", "{}"]);
    check("\n {\n }, {\n },\n", &["{\n }", "{\n }"]);
    check("{\n}\n42 \n\"x\" {}\n{}", &["{\n}", "42", "\"x\" {}", "{}"]);
    check("{\n}\n]\n}\n", &["{\n}", "]", "}"]);
}

#[test]
fn top_level_arrays_are_unwrapped() {
    check("[]", &[]);
    check(" [ ]\n[\n]", &[]);
    check("[{},{}]", &["{}", "{}"]);
    check("[\n  {},\n  {},\n]\n", &["{}", "{}"]);
    check("[{}]\n[{\"a\":1}]\n{}", &["{}", "{\"a\":1}", "{}"]);
    check("[[1,2],[]]", &["[1,2]", "[]"]);
    check("[\n1 , \"a,\\\"]\", null,{}\ntrue\n]", &["1", "\"a,\\\"]\"", "null", "{}", "true"]);
    check("[\n\"cut\n{}]", &["\"cut", "{}"]);
    check(r#"[[],"a\\",{},"b\"",{}]"#, &["[]", r#""a\\""#, "{}", r#""b\"""#, "{}"]);
    check("[\n}\n:\n]", &["}", ":"]);
}

#[test]
fn a_truncated_value_does_not_swallow_its_neighbours() {
    let line_break = "!a line break inside of a string";
    check("{\n\"a\": \"x\n{\n\"b\": 2\n}\n", &[line_break, "{\n\"b\": 2\n}"]);
    check("{\n\"a\": 1,\n{\"b\":2}\n", &["!a value where a key must stand", "{\"b\":2}"]);
    check("{\n\"a\": [1,\n{\"b\":2}\n{\"c\":3}", &["!a value without a comma", "{\"b\":2}", "{\"c\":3}"]);
    check("{\n\"a\":\n{\"b\":2}", &["!the input ends inside", "{\"b\":2}"]);
    check("[\n  {\n    \"a\": \"x\n    {},\n  {\n  },\n  {}\n]", &[line_break, "{\n  }", "{}"]);
    check(
        "[{\"a\":1,\n{\"b\":2}]\n[{\"c\":\n[{}]",
        &["!a value where a key must stand", "{\"b\":2}", "!the input ends inside", "{}"],
    );
}

#[test]
fn limits_reject_by_name_and_go_on() {
    let wide = "x".repeat(1001);
    check(&format!("a\n{wide}\nb"), &["a", "!1001 bytes", "b"]);
    check(&format!("{{\"a\":\"{wide}\"}}\n{{}}"), &["!1009 bytes", "{}"]);
    check(&format!("{{\n\"a\":\"{wide}\"}}{{}}"), &["!1010 bytes", "{}"]);
    check(&format!("{{\n\"a\":\"{wide}\n{{}}"), &["!1008 bytes", "{}"]);
    check(&format!("[\"{wide}\",{wide},{{}}]"), &["!2010 bytes"]);
    check(&format!("[{{}},\"{wide}\",{wide},{{}}]"), &["{}", "!1003 bytes", "!1001 bytes", "{}"]);
    check(&format!("{}\n{{}}", " ".repeat(2000)), &["{}"]);
    check(&format!("{{\n\"a\":\"{wide}\",\n{{\"b\":2}}\n{{}}"), &["!1011 bytes", "{\"b\":2}", "{}"]);
    let deep = "[".repeat(MAX_DEPTH + 2);
    check(&format!("[{{}},{deep}\n{{}}"), &["{}", "!deeper than 128", "{}"]);
    check(&format!("[{{}},[{}{deep}\n{{}}", " ".repeat(1000)), &["{}", "!1128 bytes", "{}"]);
}

#[test]
fn the_byte_order_mark_counts_and_is_no_text() {
    let seen = frame(b"\xEF\xBB\xBF{\"a\":1}\n{}");
    assert_eq!(seen[0], Seen { line: 1, byte: 3, content: Ok(br#"{"a":1}"#.to_vec()) });
    assert_eq!(seen[1], Seen { line: 2, byte: 11, content: Ok(b"{}".to_vec()) });
    for utf_16 in [&b"\xFF\xFE{\0}\0\n\0{\0}\0"[..], b"\xFE\xFF\0{\0}", b"\xFF\xFE"] {
        let seen = frame(utf_16);
        assert!(matches!(&seen[..], [Seen { line: 1, byte: 0, content: Err(Cut::Unreadable(_)) }]), "{seen:?}");
    }
}

#[test]
fn lines_are_counted() {
    for (input, lines, blank_lines) in [
        (&b""[..], 0, 0),
        (b"\n", 1, 1),
        (b"a", 1, 0),
        (b"a\n", 1, 0),
        (b"a\n \r\n\t", 3, 2),
        (b"{\n\n}\n\n{\n}", 6, 1),
        (b"[\n{}\n\n,\n]\n", 5, 1),
    ] {
        let (framed, _) = frame_in_chunks(input, 1, NO_LIMIT, &End::Complete);
        assert_eq!((framed.lines, framed.blank_lines), (lines, blank_lines), "{input:?}");
    }
}

#[test]
fn rows_of_a_table_go_on_inside_of_quotes() {
    let input = b"prompt,response\r\n\"a\n\"\"b\",c\r\n\nd,\n\"open\nand more\n";
    let cut = Cut::Truncated("the input ends inside of a quoted cell".into());
    for chunk in [1, 3, 100] {
        let (framed, _) = frame_in_chunks(input, chunk, NO_LIMIT, &End::Complete);
        let seen: Vec<(u64, Result<&[u8], &Cut>)> =
            framed.seen.iter().map(|seen| (seen.line, seen.content.as_deref())).collect();
        assert_eq!(seen, [(2, Ok(&b"\"a\n\"\"b\",c"[..])), (5, Ok(b"d,")), (6, Err(&cut))], "{chunk}");
    }
    assert_eq!(frame(b"prompt,response\n\"a\"").len(), 1, "a quote that is closed");
    assert!(frame(b"prompt,response\n").is_empty(), "a header alone holds no row");
    let named = |text: &[u8]| {
        let (mut framer, mut units) =
            (Framer::new(&Limits { max_record_bytes: NO_LIMIT, ..Limits::default() }).of_source("x.csv"), Vec::new());
        assert_eq!(framer.frame(text, Some(&End::Complete), &mut units), Progress::Finished);
        units.len()
    };
    assert_eq!(named(b"Was ist rot?,Die Ampel.\n"), 1, "a line that names nothing is no header alone");
    assert_eq!(named(b"Was ist rot?,Die Ampel.\na,b\n"), 1, "of several, the first is the header");
    assert_eq!((named(b"frage,response\n"), named(b"")), (0, 0));
    assert_eq!((named(b"sep=;\na;b\n1;2\n"), named(b"sep=;\n"), named(b"sep=;\r\n\na;b\n1;2\n")), (1, 0, 1));
    let told = frame(b"sep=|\nprompt|response\n\"a|b\n\"|c\n");
    assert!(matches!(&told[..], [Seen { line: 3, byte: 22, content: Ok(text) }] if text == b"\"a|b\n\"|c"), "{told:?}");
    assert_eq!(frame(b"2026-01-01 INFO started\nprompt,response\n").len(), 2, "a text log is no table");
}

#[test]
fn tables_of_terminals_have_rows() {
    let psql = " prompt | response \n--------+----------\n a      | b\n line 1+| c\n line 2 | \n(2 rows)\n\n";
    let mysql =
        "+--------+----------+\n| prompt | response |\n+--------+----------+\n| a | b |\n+--------+----------+\n";
    let check = |input: &str, expected: &[(u64, &str)]| {
        for chunk in [1, 5, 1000] {
            let (framed, _) = frame_in_chunks(input.as_bytes(), chunk, 300, &End::Complete);
            let got: Vec<(u64, String)> = framed
                .seen
                .iter()
                .map(|seen| (seen.line, String::from_utf8_lossy(seen.content.as_ref().unwrap()).into_owned()))
                .collect();
            let expected: Vec<(u64, String)> =
                expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
            assert_eq!(got, expected, "{chunk}: {input}");
            assert_eq!(framed.lines, input.lines().count() as u64);
        }
    };
    check(psql, &[(3, "a      | b"), (4, "line 1+| c\n line 2 |")]);
    check(&psql[..psql.len() - 2], &[(3, "a      | b"), (4, "line 1+| c\n line 2 |")]);
    check(mysql, &[(4, "| a | b |")]);
    check(&mysql[..mysql.len() - 1], &[(4, "| a | b |")]);
    // A second table, or something else, may follow.
    check(&format!("{mysql}{mysql}"), &[(4, "| a | b |"), (9, "| a | b |")]);
    check(
        &format!("{psql}{psql}"),
        &[(3, "a      | b"), (4, "line 1+| c\n line 2 |"), (10, "a      | b"), (11, "line 1+| c\n line 2 |")],
    );
    check(&format!("{psql}{{}}\n"), &[(3, "a      | b"), (4, "line 1+| c\n line 2 |"), (8, "{}")]);
    // What only begins like one is lines.
    check("INFO a | b\nINFO c | d\n", &[(1, "INFO a | b"), (2, "INFO c | d")]);
    check("a | b\n---+--", &[]);
    check("a | b", &[(1, "a | b")]);
    check("+---+\n| a |\nb", &[(1, "+---+"), (2, "| a |"), (3, "b")]);
    check("a | b\n---\n", &[(1, "a | b"), (2, "---")]);
    let long = "-".repeat(400);
    assert_eq!(frame_in_chunks(format!("a | b\n{long}").as_bytes(), 9, 300, &End::Complete).0.seen.len(), 2);
}

#[test]
fn pieces_of_yaml_are_units() {
    let check = |input: &str, name: &str, expected: &[(u64, &str)]| {
        for chunk in [1, 2, 3, 1000] {
            let framer = Framer::new(&Limits { max_record_bytes: 60, ..Limits::default() }).of_source(name);
            let (told, _) = frame_with(framer, input.as_bytes(), chunk, &End::Complete);
            let got: Vec<(u64, &str)> = told.iter().map(|told| (told.line, told.text.as_str())).collect();
            assert_eq!(got, expected, "{chunk}: {input}");
        }
    };
    let list = "- a: 1\n  b:\n  - x\n\n- a: 2\n  c: |\n    - no element\n    ---\n# the last\n- a: 3";
    let elements =
        [(1, "- a: 1\n  b:\n  - x"), (5, "- a: 2\n  c: |\n    - no element\n    ---\n# the last"), (10, "- a: 3")];
    check(list, "-", &elements);
    check(list, "x.yml.gz", &elements);
    check(
        "# head\n%YAML 1.2\n---\na: 1\nb:\n- x\n--- # next\na: 2\n...\n---\n- a: 3\n-\n  a: 4\n",
        "x.yaml",
        &[(4, "a: 1\nb:\n- x"), (8, "a: 2"), (11, "- a: 3"), (12, "-\n  a: 4")],
    );
    check("---\na: 1\n", "-", &[(2, "a: 1")]);
    check("{\"a\": 1}\n{}", "x.yaml", &[(1, "{\"a\": 1}"), (2, "{}")]);
    check("- not a mapping\n- a: 1", "-", &[(1, "- not a mapping"), (2, "- a: 1")]);
    check(&format!("- a: {}\n- b: 2\n", "x".repeat(80)), "x.yaml", &[(1, "!larger than 60: 86"), (2, "- b: 2")]);
    check(&format!("- a: {}\n- b: 2\n", "x\n ".repeat(80)), "x.yaml", &[(1, "!larger than 60: 246"), (82, "- b: 2")]);
}

#[test]
fn quoted_quotes_are_the_same_wherever_a_batch_ends() {
    let mut input = b"id,prompt,response\n".to_vec();
    for row in 0..100_000 {
        input.extend_from_slice(format!("{row},\"say \"\"a,\nb\"\"\",\"\"\"c\"\"\"\n").as_bytes());
    }
    let whole = frame(&input);
    assert_eq!(whole.len(), 100_000);
    for chunk in [1, 7, 64 << 10] {
        let (framed, _) = frame_in_chunks(&input, chunk, NO_LIMIT, &End::Complete);
        assert!(framed.seen == whole, "{chunk} bytes at a time");
    }
}

#[test]
fn a_failure_is_told_once_at_the_unit_it_cuts() {
    let failed = End::Failed("gone".into());
    for (input, units, line, byte) in [
        (&b""[..], 1, 1, 0),
        (b"{}\n{\"a\":", 2, 2, 3),
        (b"{}\n", 2, 2, 3),
        (b"{}\n\n  ", 2, 3, 6),
        (b"{\n}\n{\n\"a\"", 2, 3, 4),
        (b"[{},\n\"a", 2, 2, 5),
    ] {
        let (framed, _) = frame_in_chunks(input, 2, NO_LIMIT, &failed);
        assert_eq!(framed.seen.len(), units, "{input:?}");
        let expected = Seen { line, byte, content: Err(Cut::Unreadable("gone".into())) };
        assert_eq!(framed.seen.last(), Some(&expected), "{input:?}");
    }
}

#[test]
fn hostile_nesting_is_linear() {
    let open_lines = "{\"a\":\n".repeat(100_000);
    let late_break = format!("{}{}]", "{\"a\":[\n".repeat(60), "{},\n".repeat(50_000));
    let alternating = format!("{}]}}]", "{\"a\":[\n{},\n".repeat(30).repeat(300));
    let never_closed = format!("[\n{}", "{\"a\":[\n{},[],\n".repeat(60));
    let among_lines = |text: &str| format!("{{}}\n{text}");
    let [open, late, other, never] =
        [&open_lines, &late_break, &alternating, &never_closed].map(|text| among_lines(text));
    for input in [open_lines, late_break, alternating, never_closed, open, late, other, never] {
        let (_, work) = frame_in_chunks(input.as_bytes(), input.len(), NO_LIMIT, &End::Complete);
        assert!(work <= 3 * input.len() as u64, "{work} for {} bytes of {:?}", input.len(), &input[..20]);
    }
}

#[test]
fn a_batch_holds_a_bounded_number_of_units() {
    let input = "1\n".repeat(MAX_UNITS_PER_BATCH + 5);
    let mut framer = Framer::new(&Limits { batch_bytes: usize::MAX, ..Limits::default() });
    let mut units = Vec::new();
    assert_eq!(framer.frame(input.as_bytes(), None, &mut units), Progress::BatchFull);
    assert_eq!(units.len(), MAX_UNITS_PER_BATCH);
    assert_eq!(framer.release(), 2 * MAX_UNITS_PER_BATCH);
    assert_eq!(frame(input.as_bytes()).len(), MAX_UNITS_PER_BATCH + 5);
}

/// Bytes that break structure often.
pub(super) fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(&b"{}[],:\"\\\n \tx1\r"[..]).prop_map(|byte| vec![byte]),
        2 => prop::sample::select(vec!["\n{", "\n[", "\n  {", "\n\"a\":", "{\"a\":", "[\n", "{}", "[]", "\"b\"", "\r\n"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    let start = prop::sample::select(vec!["", "{}\n", "{\n", "[\n", "[{", " \n  {\n", "\u{FEFF}{\n"]);
    (start, prop::collection::vec(piece, 0..120))
        .prop_map(|(start, pieces)| [start.as_bytes(), &pieces.concat()].concat())
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Complete), Just(End::Failed("gone".into()))]
}

/// Objects of several lines, as a log of pretty-printed records holds them.
pub(super) fn records() -> impl Strategy<Value = Vec<String>> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        any::<i32>().prop_map(|number| number.to_string()),
        "[a-z{}\\[\\],: ]{0,8}".prop_map(|text| format!("\"{text}\\n\\\"\"")),
    ];
    let value = scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec(inner, 1..3).prop_map(|values| object(&values, "    ")),
        ]
    });
    let record = prop::collection::vec(value, 1..4).prop_map(|values| object(&values, "  "));
    prop::collection::vec(record, 1..6)
}

fn object(values: &[String], indent: &str) -> String {
    let fields = values.iter().enumerate().map(|(i, value)| format!("{indent}\"k{i}\": {value}"));
    format!("{{\n{}\n{}}}", fields.collect::<Vec<_>>().join(",\n"), &indent[2..])
}

fn line_of(input: &[u8], byte: u64) -> u64 {
    1 + input[..byte as usize].iter().filter(|&&byte| byte == b'\n').count() as u64
}

#[test]
fn texts_and_pieces_are_units() {
    let check = |source: &str, input: &str, expected: &[(u64, &str)]| {
        for chunk in [1, 7, input.len()] {
            let framer = Framer::new(&Limits::default()).of_source(source);
            let (told, _) = frame_with(framer, input.as_bytes(), chunk, &End::Complete);
            let told: Vec<(u64, &str)> = told.iter().map(|told| (told.line, told.text.as_str())).collect();
            assert_eq!(told, expected, "{source} {chunk}");
        }
    };
    let (first, second) = ("# aider chat started at 2026\n\n#### a\n\nb", "# aider chat started at 2027\n#### c\nd");
    check("-", &format!("\n{first}\n\n{second}\n"), &[(2, first), (8, second)]);
    check(
        "-",
        "# 2026-11-20 15:06:00.123456\n+a\n+b\n\n# 2026-11-20 15:06:01.123456\n+c\n",
        &[(1, "# 2026-11-20 15:06:00.123456\n+a\n+b"), (5, "# 2026-11-20 15:06:01.123456\n+c")],
    );
    check("-", "# a comment\n{}\n", &[(1, "# a comment"), (2, "{}")]);
    check("chat.md", "# Title\n\n**User:** a\n", &[(1, "# Title\n\n**User:** a")]);
    check("chat.md", "{}\n{}\n", &[(1, "{}"), (2, "{}")]);
    let (piece, end) = ("2026-11-20T15:06:00.1Z stdout P {\"a\":", "2026-11-20T15:06:00.1Z stdout F 1}");
    check("-", &format!("{piece}\n{piece}\n{end}\n{end}\n"), &[(1, &format!("{piece}\n{piece}\n{end}")), (4, end)]);
    check("-", &format!("x\n{piece}"), &[(1, "x"), (2, piece)]);
    check("-", "\u{1e}{\n\"a\": 1\n}\n\u{1e}{}\n", &[(1, "{\n\"a\": 1\n}"), (4, "{}")]);
    check("-", "\u{1e}{\"a\":1}\n\u{1e}{\"a\":2}\n", &[(1, "{\"a\":1}"), (2, "{\"a\":2}")]);
    let copy = "COPY calls (id, prompt) FROM stdin;";
    check(
        "-",
        &format!("SET x;\n{copy}\n1\t\"a\n\\N\tb\n\\.\nSELECT 1;\n"),
        &[(1, "SET x;"), (3, "1\t\"a"), (4, "\\N\tb"), (6, "SELECT 1;")],
    );
    check("-", &format!("{copy}\n1\ta\n\\.\n"), &[(2, "1\ta")]);
}

proptest! {
    #[test]
    fn units_do_not_depend_on_the_chunks(
        input in hostile(), chunk in 1_usize..40, max in prop_oneof![Just(NO_LIMIT), 1_u64..40], end in end()
    ) {
        let whole = frame_in_chunks(&input, input.len().max(1), max, &end).0;
        prop_assert_eq!(&frame_in_chunks(&input, 1, max, &end).0, &whole);
        prop_assert_eq!(&frame_in_chunks(&input, chunk, max, &end).0, &whole);
    }

    #[test]
    fn tables_do_not_depend_on_the_chunks(
        lines in prop::collection::vec(
            prop::sample::select(vec!["a | b", "---+---", "| a | b |", "+---+---+", "(2 rows)", "x+| y", "{}", "", "2 rows in set", "|--|--|"]),
            0..12
        ),
        chunk in 1_usize..20, max in prop_oneof![Just(NO_LIMIT), 1_u64..40], end in end(), has_end in any::<bool>()
    ) {
        let input = lines.join("\n") + if has_end { "\n" } else { "" };
        let whole = frame_in_chunks(input.as_bytes(), input.len().max(1), max, &end).0;
        prop_assert_eq!(whole.lines, input.lines().count() as u64);
        prop_assert_eq!(&frame_in_chunks(input.as_bytes(), 1, max, &end).0, &whole);
        prop_assert_eq!(&frame_in_chunks(input.as_bytes(), chunk, max, &end).0, &whole);
    }

    #[test]
    fn yaml_does_not_depend_on_the_chunks(
        lines in prop::collection::vec(
            prop::sample::select(vec!["- a: 1", "---", "- ", "-", "  b: 2", "# c", "...", "", "%d", "--", "--- x", " - y", "a: |"]),
            0..12
        ),
        chunk in 1_usize..20, max_record_bytes in prop_oneof![Just(NO_LIMIT), 1_u64..40], end in end(), has_end in any::<bool>(),
        name in prop::sample::select(vec!["-", "x.yaml"])
    ) {
        let input = lines.join("\n") + if has_end { "\n" } else { "" };
        let framed = |chunk| {
            let framer = Framer::new(&Limits { max_record_bytes, ..Limits::default() }).of_source(name);
            frame_with(framer, input.as_bytes(), chunk, &end).0
        };
        let whole = framed(input.len().max(1));
        prop_assert_eq!(&framed(1), &whole);
        prop_assert_eq!(&framed(chunk), &whole);
        for told in &whole {
            prop_assert_eq!(told.line, line_of(input.as_bytes(), told.byte));
        }
    }

    #[test]
    fn rows_are_those_that_were_written(
        rows in prop::collection::vec(prop::collection::vec("[a\",\n]{1,5}", 2), 1..8), chunk in 1_usize..20
    ) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["prompt", "response"])?;
        rows.iter().try_for_each(|row| writer.write_record(row))?;
        let text = writer.into_inner()?;
        let header = Header::of_line(b"prompt,response", None).unwrap();
        let got: Vec<Vec<String>> = frame_in_chunks(&text, chunk, NO_LIMIT, &End::Complete)
            .0
            .seen
            .iter()
            .map(|seen| header.cells(seen.content.as_ref().unwrap()).unwrap().into_iter().map(|cell| cell.1).collect())
            .collect();
        prop_assert_eq!(got, rows);
    }

    #[test]
    fn every_byte_is_in_one_unit_or_separates(
        input in hostile(), max in prop_oneof![Just(NO_LIMIT), 1_u64..40], end in end()
    ) {
        let (framed, work) = frame_in_chunks(&input, input.len().max(1), max, &end);
        prop_assert!(work <= 3 * input.len() as u64);
        if input.starts_with(b"\xFF\xFE") || input.starts_with(b"\xFE\xFF") {
            return Ok(());
        }
        let breaks = input.iter().filter(|&&byte| byte == b'\n').count();
        prop_assert_eq!(framed.lines, (breaks + usize::from(!input.is_empty() && !input.ends_with(b"\n"))) as u64);
        let mut at = if input.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 };
        for (i, unit) in framed.seen.iter().enumerate() {
            prop_assert_eq!(unit.line, line_of(&input, unit.byte));
            let start = unit.byte as usize;
            prop_assert!(start >= at, "units overlap at {}", start);
            prop_assert!(is_separator(&input[at..start]), "lost: {:?}", &input[at..start]);
            at = match &unit.content {
                Ok(text) => {
                    prop_assert!(text.len() as u64 <= max && !text.is_empty());
                    prop_assert_eq!(&input[start..start + text.len()], &text[..]);
                    prop_assert!(!is_blank(text[0]) && !is_blank(text[text.len() - 1]));
                    start + text.len()
                }
                Err(Cut::TooLarge { bytes, limit }) => {
                    prop_assert!(bytes > limit);
                    next_start(&framed.seen, i).unwrap_or(input.len())
                }
                Err(_) => next_start(&framed.seen, i).unwrap_or(input.len()),
            };
        }
        prop_assert!(is_separator(&input[at..]), "lost at the end: {:?}", &input[at..]);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(input in prop::collection::vec(any::<u8>(), 0..200), chunk in 1_usize..9) {
        let whole = frame_in_chunks(&input, input.len().max(1), 50, &End::Complete).0;
        prop_assert_eq!(frame_in_chunks(&input, chunk, 50, &End::Complete).0, whole);
    }

    #[test]
    fn lines_agree_with_a_naive_reference(
        lines in prop::collection::vec("[ \\ta-c{}\\[\\]\",:]{0,12}\r?", 0..12), has_end in any::<bool>()
    ) {
        // An object that goes on in the next line is no line.
        let goes_on = |line: &String| line.contains('{') && line.trim_end().ends_with(['{', '[', ',', ':']);
        let lines: Vec<String> = lines.into_iter().filter(|line| !goes_on(line)).collect();
        let input = format!("{{}}\n{}{}", lines.join("\n"), if has_end { "\n" } else { "" });
        let mut expected = Vec::new();
        let mut byte = 0;
        for (i, line) in input.split('\n').enumerate() {
            let text = line.trim_matches([' ', '\t', '\r']);
            if !text.is_empty() {
                let start = (byte + line.len() - line.trim_start_matches([' ', '\t', '\r']).len()) as u64;
                expected.push(Seen { line: i as u64 + 1, byte: start, content: Ok(text.as_bytes().to_vec()) });
            }
            byte += line.len() + 1;
        }
        prop_assert_eq!(frame(input.as_bytes()), expected);
    }

    #[test]
    fn values_are_found_where_they_were_written(
        records in records(), separator in prop::sample::select(vec!["\n", ",\n", "", " \r\n\n", " , "]), in_array in any::<bool>()
    ) {
        let (open, close) = if in_array { ("[", "\n]") } else { ("", "\n") };
        let mut input = open.to_owned();
        let mut expected = Vec::new();
        for record in &records {
            let (line, byte) = (line_of(input.as_bytes(), input.len() as u64), input.len() as u64);
            expected.push(Seen { line, byte, content: Ok(record.as_bytes().to_vec()) });
            input += record;
            input += separator;
        }
        input += close;
        prop_assert_eq!(frame(input.as_bytes()), expected);
    }

    #[test]
    fn one_truncated_record_costs_no_other(
        records in records(), which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(), in_array in any::<bool>()
    ) {
        let records: Vec<String> = match in_array {
            true => records.iter().map(|record| record.replace('\n', "\n  ")).collect(),
            false => records,
        };
        let (open, separator, close) = if in_array { ("[\n  ", ",\n  ", "\n]\n") } else { ("", "\n", "\n") };
        let which = which.index(records.len());
        let mut broken = records.clone();
        // At least one bracket and one line break stay, so that the first record decides for values.
        broken[which].truncate(2 + cut.index(records[which].len() - 2));
        let input = format!("{open}{}{close}", broken.join(separator));
        let mut texts: Vec<Vec<u8>> = frame(input.as_bytes()).into_iter().filter_map(|seen| seen.content.ok()).collect();
        for (i, record) in records.iter().enumerate().filter(|(i, _)| *i != which) {
            let found = texts.iter().position(|text| text == record.as_bytes());
            prop_assert!(found.is_some(), "record {} is lost in {}", i, input);
            texts.remove(found.unwrap_or(0));
        }
        prop_assert!(texts.is_empty(), "made up: {:?}", texts);
    }
}

pub(super) fn is_separator(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| is_blank(byte) || matches!(byte, b'\n' | b',' | b'[' | b']'))
}

fn next_start(seen: &[Seen], i: usize) -> Option<usize> {
    seen.get(i + 1).map(|next| next.byte as usize)
}
