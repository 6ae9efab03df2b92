//! How a log is understood: formats, fields and where they stand, what was not read, what is missing for which engine.
//!
//! Where a field stands is not told by the readers but looked up in the unit: `places`; and so is what was not read:
//! `unread`.
//!
//! **Limits**: places are looked up in the first [`PLACES_MAX`] units, of up to [`PLACE_BYTES_MAX`] bytes each; lines of
//! sessions and pieces of streams have none.

use std::{collections::BTreeMap, ops::ControlFlow};

use anyhow::Result;

use crate::{
    config::Settings,
    input::{Place, Reader},
    reader::Parsed,
    record::{Content, Entry, Kind, LatencySource, Prompt, Record},
    redact::Names,
    report::{
        coverage::{Coverage, Holds},
        formats::Formats,
        inspection::{Counted, FieldFound, FieldPlace, Inspection, LeftOut, Missing, Shown},
        unread::{Unread, UnreadLeaf},
    },
    rules::Scanner,
    text::excerpt,
};

use super::{
    Filter,
    drive::{Analyse, Assembly, Drive, Observed, Outcome, UnitOf},
    judge::holds,
    places::{Found, Sought, places_of, value_of},
    unread::unread,
};

/// Units at the beginning of the input in which places are looked up.
pub const PLACES_MAX: u64 = 200;
/// The largest unit in which places are looked up.
pub const PLACE_BYTES_MAX: usize = 1 << 20;
/// Reasons and problems that are told apart.
const REASONS_MAX: usize = 20;
/// Bytes of a text that the first record shows.
const EXCERPT_BYTES: usize = 120;
/// Bytes of a text that a record shows which was asked for.
const TEXT_BYTES: usize = 20_000;
/// Records of one line that are shown.
const SHOWN_MAX: usize = 100;
/// What may hold anything, and is redacted more strictly than names are.
const TEXTS: [&str; 8] = ["system", "prompt", "context", "response", "error", "args", "result", "tool call"];

/// A field of LLM or tool records, what it is called in units, and the engines that need it.
struct Wanted {
    field: &'static str,
    kind: Kind,
    hints: &'static [&'static str],
    engines: &'static [&'static str],
}

const fn llm(field: &'static str, hints: &'static [&'static str], engines: &'static [&'static str]) -> Wanted {
    Wanted { field, kind: Kind::Llm, hints, engines }
}

const fn tool(field: &'static str, hints: &'static [&'static str], engines: &'static [&'static str]) -> Wanted {
    Wanted { field, kind: Kind::Tool, hints, engines }
}

/// The fields in the order of the normal form.
const WANTED: [Wanted; 21] = [
    llm("id", &["id"], &[]),
    llm("timestamp", &["time", "start", "created", "date", "ts"], &[]),
    llm("session_id", &["session", "thread", "conversation", "trace"], &["prompt_injection over several turns"]),
    llm("model", &["model"], &["streams and their baselines"]),
    llm("declared_model", &["model"], &["identity"]),
    llm("provider", &["provider", "system"], &[]),
    llm("system", &["system", "instruction", "content"], &["system_prompt_leak"]),
    llm("prompt", &["prompt", "content", "text", "input", "question", "value"], &["prompt_injection", "compression"]),
    llm("context", &["context", "document", "content", "text"], &["grounding"]),
    llm(
        "response",
        &["response", "completion", "output", "content", "text", "answer", "value"],
        &["all engines of language", "facts", "leaks"],
    ),
    llm(
        "latency_ms",
        &["latenc", "duration", "elapsed", "delay", "took", "time"],
        &["latency", "token_rate", "health"],
    ),
    llm("ttft_ms", &["first", "ttft"], &[]),
    llm("prompt_tokens", &["prompt", "input"], &["costs"]),
    llm("response_tokens", &["completion", "output", "response", "candidates", "generat"], &["token_rate", "costs"]),
    llm("finish_reason", &["finish", "stop", "reason"], &["truncation"]),
    llm("error", &["error", "message", "exception"], &[]),
    tool("tool", &["tool", "name", "function"], &[]),
    tool("args", &["arg", "input", "param"], &["schema"]),
    tool(
        "result",
        &["result", "output", "response"],
        &["schema_mismatch", "pattern_mismatch", "length_anomaly", "spc_anomaly"],
    ),
    tool("execution_time_ms", &["latenc", "duration", "execution", "time"], &["latency_anomaly"]),
    tool("session_id", &["session", "thread", "conversation", "trace"], &["session consistency"]),
];

/// Reads all of `input` and says how it is understood, the records that begin on `line` in full.
///
/// # Errors
/// None of its own; the drive has the type of one that writes.
pub fn inspect(
    input: &mut Reader,
    settings: &Settings,
    scanner: &Scanner,
    filter: &Filter,
    show_sensitive: bool,
    line: Option<u64>,
) -> Result<Inspection> {
    let reader = settings.reader();
    let names = Names::new(scanner, show_sensitive);
    let inspector = Inspector { names, line };
    let drive = Drive { reader: &reader, filter, analyst: &inspector };
    let mut state = State::new(names);
    let mut assembly = Assembly::new(&settings.assemble);
    let events = |units: Vec<Observed<'_, Inspector<'_>, ()>>| inspector.events(units);
    drive.run(
        input,
        &mut assembly,
        |_| (),
        events,
        |events, _| {
            events.into_iter().flatten().for_each(|event| state.take(event));
            Ok(ControlFlow::Continue(()))
        },
    )?;
    let mut seen = state.finish(input);
    seen.unmatched = reader.unmatched();
    Ok(seen)
}

/// Looks at records as they come.
struct Inspector<'s> {
    names: Names<'s>,
    /// The line whose records are shown in full.
    line: Option<u64>,
}

/// What there is to say of a unit beside its records.
struct Read {
    /// Records whose places were looked up.
    records: u64,
    /// By position in [`WANTED`].
    places: Vec<(usize, Found)>,
    /// What was not read; `None` when nobody looked.
    unread: Option<Vec<UnreadLeaf>>,
}

/// What there is to say of a unit.
struct Event {
    source: String,
    line: u64,
    is_further: bool,
    read: Option<Box<Read>>,
    what: What,
}

enum What {
    /// Nothing yet, or no more: it is counted with another.
    Part,
    Record(Box<RecordSeen>),
    Ignored {
        format: (&'static str, &'static str),
        what: &'static str,
        is_parent: bool,
    },
    Merged,
    Skipped,
    Rejected(String),
}

/// What there is to say of a record.
struct RecordSeen {
    kind: Kind,
    format: (&'static str, &'static str),
    notes: Vec<&'static str>,
    latency_source: Option<LatencySource>,
    problems: Vec<String>,
    /// What an LLM call holds.
    holds: Option<Holds>,
    /// By position in [`WANTED`].
    fields: Vec<usize>,
    /// The record as it is understood, of the first one of a batch.
    rows: Option<Vec<(String, String)>>,
    /// The record in full, where that was asked for.
    shown: Option<Shown>,
}

impl Analyse for Inspector<'_> {
    type Read = Box<Read>;
    type Out<'a> = Record<'a>;

    fn read(&self, unit: &UnitOf<'_>, parsed: &Parsed<'_>) -> Option<Box<Read>> {
        let mut read = Read { records: 0, places: Vec::new(), unread: unread(unit, parsed) };
        if unit.number < PLACES_MAX && unit.bytes.len() <= PLACE_BYTES_MAX {
            let tree = unit.tree();
            for (position, record) in records_of(parsed) {
                let (mut indices, mut sought) = (Vec::new(), Vec::new());
                for (index, wanted) in wanted_of(record) {
                    let Some(value) = value_of(record, wanted.field) else { continue };
                    indices.push(index);
                    sought.push(Sought { field: wanted.field, hints: wanted.hints, value });
                }
                let places = tree.as_ref().map(|tree| places_of(tree, position, &sought, record.latency_source));
                let places = indices.into_iter().zip(places.unwrap_or_default());
                read.places.extend(places.filter_map(|(index, place)| Some((index, place?))));
                read.records += 1;
            }
        }
        (read.records > 0 || read.unread.is_some()).then(|| Box::new(read))
    }

    fn analyse<'a>(&self, record: Record<'a>, _: &str) -> Record<'a> {
        record
    }
}

/// The records of a unit that are known before its parts are put together, with their positions.
fn records_of<'p, 'a>(parsed: &'p Parsed<'a>) -> impl Iterator<Item = (usize, &'p Record<'a>)> {
    let outcomes = match parsed {
        Parsed::One(outcome) => vec![outcome],
        Parsed::Many(items) => items.iter().map(|item| &item.outcome).collect(),
    };
    outcomes.into_iter().enumerate().filter_map(|(position, outcome)| match outcome {
        Ok(Entry::Record(record)) => Some((position, record)),
        Ok(Entry::Fragment(fragment)) => match &fragment.content {
            Content::Record(record) => Some((position, &**record)),
            Content::Value(_) => None,
        },
        _ => None,
    })
}

/// The fields that a record of this kind may have, with their positions in [`WANTED`].
fn wanted_of(record: &Record<'_>) -> impl Iterator<Item = (usize, &'static Wanted)> {
    let is_llm = record.kind == Kind::Llm;
    WANTED.iter().enumerate().filter(move |(_, wanted)| (wanted.kind == Kind::Llm) == is_llm)
}

impl Inspector<'_> {
    fn events(&self, units: Vec<Observed<'_, Self, ()>>) -> Vec<Event> {
        let mut is_first = true;
        let mut events = Vec::with_capacity(units.len());
        for (unit, _) in units {
            let what = match unit.outcome {
                Outcome::Record(record) => {
                    What::Record(Box::new(self.seen(&record, &unit.place, std::mem::take(&mut is_first))))
                }
                Outcome::Ignored(ignored) => {
                    let (format, what, is_parent) = (ignored.format.names(), ignored.what, ignored.is_parent);
                    What::Ignored { format, what, is_parent }
                }
                Outcome::Merged => What::Merged,
                Outcome::Skipped => What::Skipped,
                Outcome::Rejected(rejected) => What::Rejected(rejected.reason),
                // The first is counted with its record, and the others have become something else by now.
                Outcome::Held | Outcome::Part(..) | Outcome::Joined(_) => What::Part,
            };
            let (source, line) = (unit.place.source.to_string(), unit.place.line);
            events.push(Event { source, line, is_further: unit.is_further, read: unit.read, what });
        }
        events
    }

    fn seen(&self, record: &Record<'_>, place: &Place, with_rows: bool) -> RecordSeen {
        let problem = |of: &crate::record::Problem| format!("{} {}", of.field, self.names.shown(&of.reason));
        let is_asked_for = self.line == Some(place.line);
        RecordSeen {
            kind: record.kind,
            format: record.format.names(),
            notes: record.notes.iter().map(|note| note.as_str()).collect(),
            latency_source: record.latency_source,
            problems: record.problems.iter().map(problem).collect(),
            holds: holds(record),
            fields: wanted_of(record)
                .filter(|(_, wanted)| value_of(record, wanted.field).is_some())
                .map(|(index, _)| index)
                .collect(),
            rows: with_rows.then(|| rows_of(record, self.names, EXCERPT_BYTES)),
            shown: is_asked_for.then(|| Shown {
                source: place.source.to_string(),
                line: place.line,
                item: place.item,
                fields: rows_of(record, self.names, TEXT_BYTES),
            }),
        }
    }
}

#[derive(Clone, Copy)]
struct At<'a> {
    source: &'a str,
    line: u64,
}

type Counts = BTreeMap<String, Counted>;

/// Records by pointer and unit.
type Places = BTreeMap<Found, u64>;

struct State<'s> {
    names: Names<'s>,
    seen: Inspection,
    formats: Formats,
    /// By position in [`WANTED`]: records, and places with their units.
    fields: BTreeMap<usize, (u64, Places)>,
    /// Records of LLM calls and of tool calls.
    of_kind: [u64; 2],
    coverage: Coverage,
    unread: Unread,
    /// Entries beyond the first of their unit.
    further: u64,
    latencies: Counts,
    rejections: Counts,
    problems: Counts,
}

impl<'s> State<'s> {
    fn new(names: Names<'s>) -> State<'s> {
        State {
            names,
            seen: Inspection::default(),
            formats: Formats::default(),
            fields: BTreeMap::new(),
            of_kind: [0; 2],
            coverage: Coverage::default(),
            unread: Unread::default(),
            further: 0,
            latencies: BTreeMap::new(),
            rejections: BTreeMap::new(),
            problems: BTreeMap::new(),
        }
    }

    fn take(&mut self, event: Event) {
        let Event { source, line, is_further, read, what } = event;
        let at = At { source: &source, line };
        self.further += u64::from(is_further);
        if let Some(read) = read {
            self.read(*read);
        }
        match what {
            What::Part => {}
            What::Record(record) => self.record(*record, at),
            What::Ignored { format, what, is_parent } => {
                *(if is_parent { &mut self.seen.parent } else { &mut self.seen.skipped }) += 1;
                self.formats.aside(format, what, is_parent, at.source, at.line);
            }
            What::Merged => self.seen.pieces += 1,
            What::Skipped => self.seen.skipped += 1,
            What::Rejected(reason) => self.rejected(reason, at),
        }
    }

    fn read(&mut self, read: Read) {
        self.seen.places_of += read.records;
        for (index, place) in read.places {
            *self.fields.entry(index).or_default().1.entry(place).or_default() += 1;
        }
        if let Some(leaves) = read.unread {
            self.unread.unit(leaves);
        }
    }

    fn rejected(&mut self, reason: String, at: At<'_>) {
        self.seen.rejected += 1;
        // Offsets differ from line to line and would tell apart what is the same.
        let is_number = |word: &&str| {
            let digits = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        let words: Vec<&str> = reason.split(' ').filter(|word| !is_number(word)).collect();
        let reason = words.join(" ");
        count(&mut self.rejections, self.names.shown(&reason).into_owned(), at);
    }

    fn record(&mut self, record: RecordSeen, at: At<'_>) {
        self.seen.records += 1;
        self.of_kind[usize::from(record.kind != Kind::Llm)] += 1;
        self.formats.record(record.format, record.notes.into_iter(), at.source, at.line);
        if let Some(source) = record.latency_source {
            count(&mut self.latencies, source.as_str().to_owned(), at);
        }
        for problem in record.problems {
            count(&mut self.problems, problem, at);
        }
        if let Some(holds) = record.holds {
            self.coverage.add(holds);
        }
        for index in record.fields {
            self.fields.entry(index).or_default().0 += 1;
        }
        if self.seen.shown.len() < SHOWN_MAX {
            self.seen.shown.extend(record.shown);
        }
        if self.seen.first_record.is_empty() {
            self.seen.first_record = record.rows.unwrap_or_default();
        }
    }

    fn finish(self, input: &Reader) -> Inspection {
        let State { mut seen, formats, fields, of_kind, coverage, unread, further, .. } = self;
        let (latencies, rejections, problems) = (self.latencies, self.rejections, self.problems);
        let totals = input.totals();
        (seen.files, seen.bytes) = (totals.files, totals.bytes);
        seen.units = totals.units + further;
        seen.ledger_adds_up = seen.units == seen.records + seen.pieces + seen.parent + seen.skipped + seen.rejected;
        seen.formats = formats.summary();
        seen.coverage = coverage;
        seen.unread = unread.summary();
        for field in &mut seen.unread.fields {
            self.names.hide(&mut field.pointer);
            field.map.iter_mut().for_each(|map| self.names.hide(map));
        }
        let left_out =
            input.left_out().iter().map(|file| LeftOut { source: file.name.to_string(), reason: file.why.to_string() });
        seen.left_out = left_out.collect();
        seen.latency_sources = listed(latencies);
        seen.rejections = listed(rejections);
        seen.problems = listed(problems);
        for (index, wanted) in WANTED.iter().enumerate() {
            let (records, places) = fields.get(&index).cloned().unwrap_or_default();
            let of = of_kind[usize::from(wanted.kind != Kind::Llm)];
            let excused = if wanted.field == "response" { coverage.excused } else { 0 };
            let lacking = of.saturating_sub(records + excused);
            if lacking > 0 && !wanted.engines.is_empty() {
                let kind = wanted.kind.as_str();
                let engines = wanted.engines.to_vec();
                seen.missing.push(Missing { field: wanted.field, kind, records: lacking, of, engines });
            }
            if records == 0 {
                continue;
            }
            let mut places: Vec<FieldPlace> =
                places.into_iter().map(|((pointer, unit), records)| FieldPlace { pointer, unit, records }).collect();
            places.sort_by_key(|place| std::cmp::Reverse(place.records));
            seen.fields.push(FieldFound { field: wanted.field, records, places });
        }
        seen
    }
}

/// A record as it is understood: names and texts, safe to show, of each text so many bytes.
fn rows_of(record: &Record<'_>, names: Names<'_>, bytes_max: usize) -> Vec<(String, String)> {
    let is_full = bytes_max > EXCERPT_BYTES;
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |name: &str, text: &str| {
        // What the names hide is looked for in more than is shown, so that no cut hides it from them.
        let is_text = TEXTS.iter().any(|field| name.starts_with(field));
        let wide = &text[..text.floor_char_boundary(2 * bytes_max)];
        // Only names end in this sign because they were cut.
        let said = wide.trim_end_matches(if is_text { '…' } else { '\0' });
        let wide = format!("{}{}", names.shown(said), &wide[said.len()..]);
        let shown = &wide[..wide.floor_char_boundary(bytes_max)];
        let shown_bytes = shown.len();
        let shown = match (is_text, names.shows_sensitive()) {
            (_, sensitive) if is_full => {
                let stretches = excerpt::whole(shown, bytes_max, &[], (is_text && !sensitive).then_some(&[]));
                stretches.into_iter().map(|stretch| stretch.text).collect()
            }
            (true, false) => excerpt::quote(&wide, 0..shown.len(), &[]),
            _ => excerpt::unredacted_quote(shown, 0..shown.len()),
        };
        let more = if shown_bytes < text.len() { format!(" … ({} bytes)", text.len()) } else { String::new() };
        rows.push((name.to_owned(), shown + &more));
    };
    row("format", &record.format.to_string());
    row("kind", record.kind.as_str());
    for (_, wanted) in wanted_of(record) {
        match (wanted.field, &record.prompt) {
            ("context", _) if is_full => {
                for (index, passage) in record.context.iter().enumerate() {
                    row(&format!("context/{index}"), &passage.text);
                }
            }
            ("prompt", Prompt::Messages(messages)) => {
                for (index, message) in messages.iter().enumerate().take(if is_full { usize::MAX } else { 10 }) {
                    let calls: Vec<&str> = message.tool_calls.iter().map(|call| call.name.as_ref()).collect();
                    let calls = if calls.is_empty() { String::new() } else { format!(" calls {}", calls.join(", ")) };
                    row(&format!("prompt/{index}"), &format!("{}: {}{calls}", message.role, message.text));
                }
            }
            ("latency_ms" | "execution_time_ms", _) => {
                if let Some(value) = value_of(record, wanted.field) {
                    let source = record.latency_source.map_or("", LatencySource::as_str);
                    row(wanted.field, &format!("{} ({source})", value.text()));
                }
            }
            _ => {
                if let Some(value) = value_of(record, wanted.field) {
                    row(wanted.field, &value.text());
                }
            }
        }
    }
    for call in &record.tool_calls {
        row("tool call", &format!("{}({})", call.name, call.args.to_compact_string()));
    }
    rows
}

fn count(counts: &mut Counts, name: String, at: At<'_>) {
    let is_beyond = counts.len() >= REASONS_MAX && !counts.contains_key(&name);
    let name = if is_beyond { "others".to_owned() } else { name };
    let new = || Counted { name: name.clone(), count: 0, source: at.source.to_owned(), line: at.line };
    counts.entry(name.clone()).or_insert_with(new).count += 1;
}

fn listed(counts: Counts) -> Vec<Counted> {
    let mut list: Vec<Counted> = counts.into_values().collect();
    list.sort_by_key(|counted| std::cmp::Reverse(counted.count));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{input::Limits, report::terminal::Styles, rules::Library};

    fn inspected(log: &'static str) -> Inspection {
        let mut input = Reader::from_stream("log", log.as_bytes(), Limits::default());
        inspect(&mut input, &Settings::default(), &Scanner::new(Library::built_in()), &Filter::default(), false, None)
            .expect("nothing is written")
    }

    #[test]
    fn reasons_beyond_the_limit_are_counted_together() {
        let mut counts = Counts::default();
        for number in 0..3 * REASONS_MAX {
            count(&mut counts, format!("reason {number}"), At { source: "log", line: 1 });
        }
        let others = counts.get("others").map(|counted| counted.count);
        assert_eq!((counts.len(), others), (REASONS_MAX + 1, Some(2 * REASONS_MAX as u64)));
    }

    #[test]
    fn fields_are_found_where_they_stand() {
        let log = concat!(
            r#"{"request":{"model":"a","messages":[{"role":"user","content":"Where?"}]},"#,
            r#""response":"{\"choices\":[{\"message\":{\"content\":\"Here.\"}}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":7}}","#,
            r#""took":{"latency_s":1.25},"latency_ms":1250}"#
        );
        let seen = inspected(log);
        let places: BTreeMap<&str, &str> = seen
            .fields
            .iter()
            .map(|found| (found.field, found.places.first().map_or("", |place| place.pointer.as_str())))
            .collect();
        assert_eq!(places["model"], "/request/model");
        assert_eq!(places["prompt"], "/request/messages/*/content");
        assert_eq!(places["response"], "/response →/choices/*/message/content");
        assert_eq!(places["prompt_tokens"], "/response →/usage/prompt_tokens");
        assert_eq!(places["response_tokens"], "/response →/usage/completion_tokens");
        assert_eq!(places["latency_ms"], "/latency_ms", "of two that sound like it, the one less far down");
        assert!(seen.missing.iter().any(|missing| missing.field == "context" && missing.engines == ["grounding"]));
        assert!(seen.ledger_adds_up);
    }

    fn places(log: &'static str) -> BTreeMap<&'static str, String> {
        let seen = inspected(log);
        let first = |found: FieldFound| {
            let shown = found.places.iter().map(|place| match place.unit {
                Some(unit) => format!("{} ({unit})", place.pointer),
                None => place.pointer.clone(),
            });
            (found.field, shown.collect::<Vec<_>>().join(", "))
        };
        seen.fields.into_iter().map(first).collect()
    }

    #[test]
    fn fields_of_a_record_stand_together() {
        let rows = places(include_str!("../../fixtures/formats/promptfoo.json"));
        for (field, expected) in [
            ("model", "/results/results/*/provider/id"),
            ("latency_ms", "/results/results/*/latencyMs (ms)"),
            ("response", "/results/results/*/response/output"),
        ] {
            assert_eq!(rows[field], expected);
        }
        let columns = places(include_str!("../../fixtures/formats/vllm_bench.json"));
        for (field, expected) in [
            ("response", "/generated_texts/*"),
            ("ttft_ms", "/ttfts/* (s)"),
            ("latency_ms", "/latencies/* (s)"),
            ("prompt_tokens", "/input_lens/*"),
            ("response_tokens", "/output_lens/*"),
        ] {
            assert_eq!(columns[field], expected);
        }
    }

    #[test]
    fn a_unit_that_the_name_does_not_tell_is_shown_as_assumed() {
        let of = |log| places(log)["latency_ms"].clone();
        assert_eq!(of(r#"{"prompt":"p","response":"r","duration":1.5}"#), "/duration (ms, assumed)");
        assert_eq!(of(r#"{"prompt":"p","response":"r","duration_ms":1.5}"#), "/duration_ms (ms)");
        assert_eq!(of(r#"{"prompt":"p","response":"r","duration_s":1.5}"#), "/duration_s (s)");
        assert_eq!(inspected(r#"{"prompt":"p","elapsed":3}"#).latency_sources[0].name, "reported, unit assumed");
    }

    #[test]
    fn the_ledger_is_held_against_what_was_cut() {
        let log = "{\"prompt\":\"p\"}\n{\"prompt\":\"q\"}{\"prompt\":\"r\"}\nnoise\n";
        let whole = inspected(log);
        assert_eq!((whole.units, whole.records, whole.rejected, whole.ledger_adds_up), (4, 3, 1, true));
        let scanner = Scanner::new(Library::built_in());
        let mut input = Reader::from_stream("log", log.as_bytes(), Limits::default());
        while input.next_batch().is_some() {}
        let lossy = State::new(Names::new(&scanner, false)).finish(&input);
        assert_eq!((lossy.units, lossy.ledger_adds_up), (3, false), "nothing was taken of what was cut");
        let says_so = |seen: &Inspection| seen.page(&Styles::plain()).contains("this does not add up");
        assert!(says_so(&lossy) && !says_so(&whole));
    }

    #[test]
    fn what_is_not_understood_is_counted_and_named() {
        let seen =
            inspected("{\"prompt\":\"p\",\"response\":\"mail jo@example.org\"}\nnoise 1\nnoise 2\n{\"prompt\":\"p");
        assert_eq!((seen.units, seen.records, seen.rejected), (4, 1, 3));
        assert_eq!(seen.rejections[0].count, 2);
        assert_eq!(seen.rejections[0].line, 2);
        let first = format!("{:?}", seen.first_record);
        assert!(!first.contains("jo@example.org"), "{first}");
    }
}
