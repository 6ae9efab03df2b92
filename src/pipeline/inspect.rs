//! How a log is understood: formats, fields and where they stand, what is missing for which engine.
//!
//! Where a field stands is not told by the readers but looked up in the unit: `places`.
//!
//! **Limits**: places are looked up for the first [`PLACES_MAX`] records, in units of up to [`PLACE_BYTES_MAX`] bytes;
//! records that are made of several units have none.

use std::collections::BTreeMap;

use crate::{
    assemble::{
        self, Assembler, Fate, Joined, Pushed,
        duplicates::{Answers, Mark},
        tool_calls::{self, Pairer, Traffic},
    },
    config::Settings,
    input::{Batch, Content, Cut, Place, Reader},
    record::{Aside, Container, Entry, Kind, LatencySource, Parsed, Prompt, Record, RecordReader, json::Json},
    redact::Names,
    report::{
        formats::Formats,
        inspection::{Counted, FieldFound, FieldPlace, Inspection, Missing},
    },
    rules::Scanner,
    text::excerpt,
};

use super::{
    analyse::{REST_OF_DOCUMENT, record_of},
    places::{Found, Sought, places_of, value_of},
};

/// Records of which places are looked up.
pub const PLACES_MAX: u64 = 200;
/// The largest unit in which places are looked up.
pub const PLACE_BYTES_MAX: usize = 1 << 20;
/// Reasons and problems that are told apart.
const REASONS_MAX: usize = 20;
/// Characters of a text that the first record shows.
const EXCERPT_BYTES: usize = 120;
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
    tool("result", &["result", "output", "response"], &["tool_schema", "tool_pattern", "tool_length", "spc"]),
    tool("execution_time_ms", &["latenc", "duration", "execution", "time"], &["tool_latency"]),
    tool("session_id", &["session", "thread", "conversation", "trace"], &["session consistency"]),
];

/// Reads all of `input` and says how it is understood.
pub fn inspect(input: &mut Reader, settings: &Settings, scanner: &Scanner, show_sensitive: bool) -> Inspection {
    let mut state = State::new(settings, Names::new(scanner, show_sensitive));
    while let Some(batch) = input.next_batch() {
        state.batch(&batch);
    }
    state.joined(None);
    let held = state.pairer.finish();
    state.joined(Some(held));
    state.finish(input)
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
    reader: RecordReader,
    names: Names<'s>,
    seen: Inspection,
    formats: Formats,
    /// By position in [`WANTED`]: records, and places with their units.
    fields: BTreeMap<usize, (u64, Places)>,
    /// Records of LLM calls and of tool calls.
    of_kind: [u64; 2],
    /// Records that have no response for a good reason: an error, a call of tools.
    excused: u64,
    /// Entries beyond the first of their unit.
    further: u64,
    pieces: Counts,
    assembler: Assembler,
    pairer: Pairer,
    answers: Answers,
    latencies: Counts,
    rejections: Counts,
    problems: Counts,
}

impl<'s> State<'s> {
    fn new(settings: &Settings, names: Names<'s>) -> State<'s> {
        State {
            reader: settings.reader(),
            names,
            seen: Inspection::default(),
            formats: Formats::default(),
            fields: BTreeMap::new(),
            of_kind: [0; 2],
            excused: 0,
            further: 0,
            pieces: BTreeMap::new(),
            assembler: Assembler::new(&settings.assemble),
            pairer: Pairer::new(&settings.assemble),
            answers: Answers::new(&settings.assemble),
            latencies: BTreeMap::new(),
            rejections: BTreeMap::new(),
            problems: BTreeMap::new(),
        }
    }

    fn batch(&mut self, batch: &Batch) {
        for unit in &batch.units {
            let at = At { source: &batch.source, line: unit.line };
            let bytes = match &unit.content {
                Content::Rest(_) => {
                    self.aside(&REST_OF_DOCUMENT, at);
                    continue;
                }
                Content::Rejected(cut) => {
                    self.rejected(reason_of(cut), at);
                    continue;
                }
                Content::Text(range) => &batch.bytes[range.clone()],
            };
            let parsed = match &batch.header {
                Some(header) => self.reader.read_row(header, bytes),
                None => self.reader.read(bytes),
            };
            let is_looked_up = self.seen.places_of < PLACES_MAX && bytes.len() <= PLACE_BYTES_MAX;
            let tree = match &batch.header {
                _ if !is_looked_up => None,
                Some(header) => header.cells(bytes).ok().map(row),
                None => Json::parse(bytes).ok(),
            };
            let place = Place { source: batch.source.clone(), line: unit.line, item: unit.item, byte: unit.byte };
            self.unit(parsed, tree.as_ref(), bytes.len(), at, &place);
        }
    }

    fn unit(&mut self, parsed: Parsed<'_>, tree: Option<&Json<'_>>, bytes: usize, at: At<'_>, place: &Place) {
        let entries = match parsed {
            Parsed::One(outcome) => vec![outcome],
            Parsed::Many(items) => items.into_iter().map(|item| item.outcome).collect(),
        };
        self.further += entries.len().saturating_sub(1) as u64;
        for (position, entry) in entries.into_iter().enumerate() {
            match entry {
                Err(rejected) => self.rejected(rejected.reason, at),
                Ok(Entry::Piece(piece)) => {
                    count(&mut self.pieces, piece.format.to_string(), at);
                    let pushed = self.assembler.push(place.clone(), bytes, piece.into_owned());
                    self.pushed(pushed, at);
                }
                // The lines of a batch are shown as they stand, with the places of their fields.
                Ok(Entry::Record(record)) if assemble::is_part(&record) && !is_batch(&record) => {
                    let pushed = self.assembler.push_record(place.clone(), bytes, record.into_owned());
                    self.pushed(pushed, at);
                }
                Ok(Entry::Aside(aside)) => self.aside(&aside, at),
                Ok(Entry::Record(record)) if self.is_double(&record) => self.seen.pieces += 1,
                Ok(Entry::Record(record)) => {
                    self.record(&record, tree.map(|tree| (tree, position)), at);
                    self.paired(tool_calls::traffic_of(&record, place));
                }
            }
        }
    }

    fn aside(&mut self, aside: &Aside, at: At<'_>) {
        *(if aside.is_parent { &mut self.seen.parent } else { &mut self.seen.skipped }) += 1;
        self.formats.aside(aside.format.names(), aside.what, aside.is_parent, at.source, at.line);
    }

    /// Takes what came of a piece.
    fn pushed(&mut self, pushed: Pushed, at: At<'_>) {
        match pushed.fate {
            Fate::Held => {}
            Fate::Merged => self.seen.pieces += 1,
            Fate::Aside(aside) => self.aside(&aside, at),
            Fate::Rejected(reason) => self.rejected(reason, at),
        }
        self.joined(Some(pushed.records));
        self.paired(pushed.traffic);
    }

    /// Takes records that are whole now; at the end of the input those that are not.
    fn joined(&mut self, records: Option<Vec<Joined>>) {
        for joined in records.unwrap_or_else(|| self.assembler.finish()) {
            let (place, is_paired) = (joined.place.clone(), joined.is_paired);
            self.further += u64::from(joined.is_further);
            let at = At { source: &place.source, line: place.line };
            match record_of(joined, &self.reader) {
                // A call that comes out of a conversation is one that the log has nowhere else.
                Ok(record) if !(is_paired && record.kind == Kind::Tool) && self.is_double(&record) => {
                    self.seen.pieces += 1;
                }
                Ok(record) => {
                    self.record(&record, None, at);
                    if !is_paired {
                        self.paired(tool_calls::traffic_of(&record, &place));
                    }
                }
                Err(rejected) => self.rejected(rejected.reason, at),
            }
        }
    }

    /// Takes calls of tools.
    fn paired(&mut self, traffic: impl IntoIterator<Item = Traffic>) {
        for traffic in traffic {
            let records = self.pairer.push(traffic);
            self.joined(Some(records));
        }
    }

    /// Whether a record is one that the log has already.
    fn is_double(&mut self, record: &Record<'_>) -> bool {
        Mark::of(record).is_some_and(|mark| self.answers.is_known(mark)) || self.pairer.is_done(record)
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

    /// Takes a record, with the unit that it stands in and its position there.
    fn record(&mut self, record: &Record<'_>, unit: Option<(&Json<'_>, usize)>, at: At<'_>) {
        self.seen.records += 1;
        self.of_kind[usize::from(record.kind != Kind::Llm)] += 1;
        let notes = record.notes.iter().map(|note| note.as_str());
        self.formats.record(record.format.names(), notes, at.source, at.line);
        if let Some(source) = record.latency_source {
            count(&mut self.latencies, source.as_str().to_owned(), at);
        }
        for problem in &record.problems {
            count(&mut self.problems, format!("{} {}", problem.field, self.names.shown(&problem.reason)), at);
        }
        let is_excused = record.response.is_none() && (record.error.is_some() || !record.tool_calls.is_empty());
        self.excused += u64::from(record.kind == Kind::Llm && is_excused);
        let unit = unit.filter(|_| self.seen.places_of < PLACES_MAX);
        self.seen.places_of += u64::from(unit.is_some());
        let (mut indices, mut sought) = (Vec::new(), Vec::new());
        for (index, wanted) in WANTED.iter().enumerate() {
            let is_kind = (wanted.kind == Kind::Llm) == (record.kind == Kind::Llm);
            let Some(value) = value_of(record, wanted.field).filter(|_| is_kind) else { continue };
            self.fields.entry(index).or_default().0 += 1;
            indices.push(index);
            sought.push(Sought { field: wanted.field, hints: wanted.hints, value });
        }
        if let Some((unit, position)) = unit {
            let places = places_of(unit, position, &sought, record.latency_source);
            for (index, place) in indices.into_iter().zip(places) {
                if let Some(place) = place {
                    *self.fields.entry(index).or_default().1.entry(place).or_default() += 1;
                }
            }
        }
        if self.seen.first_record.is_empty() {
            self.seen.first_record = self.first(record);
        }
    }

    fn first(&self, record: &Record<'_>) -> Vec<(String, String)> {
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, text: &str| {
            // What the names hide is looked for in more than is shown, so that no cut hides it from them.
            let is_text = TEXTS.iter().any(|field| name.starts_with(field));
            let wide = &text[..text.floor_char_boundary(2 * EXCERPT_BYTES)];
            // Only names end in this sign because they were cut.
            let said = wide.trim_end_matches(if is_text { '…' } else { '\0' });
            let wide = format!("{}{}", self.names.shown(said), &wide[said.len()..]);
            let shown = &wide[..wide.floor_char_boundary(EXCERPT_BYTES)];
            let shown_bytes = shown.len();
            let shown = match (is_text, self.names.shows_sensitive()) {
                (true, false) => excerpt::quote(&wide, 0..shown.len(), &[]),
                _ => excerpt::unredacted_quote(shown, 0..shown.len()),
            };
            let more = if shown_bytes < text.len() { format!(" … ({} bytes)", text.len()) } else { String::new() };
            rows.push((name.to_owned(), shown + &more));
        };
        row("format", &record.format.to_string());
        row("kind", record.kind.as_str());
        for wanted in WANTED.iter().filter(|wanted| (wanted.kind == Kind::Llm) == (record.kind == Kind::Llm)) {
            match (wanted.field, &record.prompt) {
                ("prompt", Prompt::Messages(messages)) => {
                    for (index, message) in messages.iter().enumerate().take(10) {
                        let calls: Vec<&str> = message.tool_calls.iter().map(|call| call.name.as_ref()).collect();
                        let calls =
                            if calls.is_empty() { String::new() } else { format!(" calls {}", calls.join(", ")) };
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

    fn finish(self, input: &Reader) -> Inspection {
        let State { mut seen, formats, fields, of_kind, excused, further, pieces, .. } = self;
        let (latencies, rejections, problems) = (self.latencies, self.rejections, self.problems);
        let totals = input.totals();
        (seen.files, seen.bytes) = (totals.files, totals.bytes);
        seen.units = totals.units + further;
        seen.ledger_adds_up = seen.units == seen.records + seen.pieces + seen.parent + seen.skipped + seen.rejected;
        seen.formats = formats.summary();
        seen.piece_formats = listed(pieces);
        seen.latency_sources = listed(latencies);
        seen.rejections = listed(rejections);
        seen.problems = listed(problems);
        for (index, wanted) in WANTED.iter().enumerate() {
            let (records, places) = fields.get(&index).cloned().unwrap_or_default();
            let of = of_kind[usize::from(wanted.kind != Kind::Llm)];
            let excused = if wanted.field == "response" { excused } else { 0 };
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

/// A row of a table as an object, so that its cells have places.
fn row<'a>(cells: Vec<(&'a str, String)>) -> Json<'a> {
    Json::Object(cells.into_iter().map(|(name, cell)| (name.into(), Json::String(cell.into()))).collect())
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

fn reason_of(cut: &Cut) -> String {
    match cut {
        Cut::TooLarge { limit, .. } => format!("larger than max_record_bytes ({limit} bytes)"),
        Cut::TooDeep { .. } => "nested too deep".to_owned(),
        Cut::Unreadable(reason) | Cut::Truncated(reason) => reason.clone(),
    }
}

fn is_batch(record: &Record<'_>) -> bool {
    matches!(record.format.container, Container::OpenAiBatch | Container::AnthropicBatch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{input::Limits, report::terminal::Styles, rules::Library};

    fn inspected(log: &'static str) -> Inspection {
        let mut input = Reader::from_stream("log", log.as_bytes(), Limits::default());
        inspect(&mut input, &Settings::default(), &Scanner::new(Library::built_in()), false)
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
        let scanner = Scanner::new(Library::built_in());
        let read = |records_lost: u64| {
            let mut input = Reader::from_stream("log", log.as_bytes(), Limits::default());
            let mut state = State::new(&Settings::default(), Names::new(&scanner, false));
            while let Some(batch) = input.next_batch() {
                state.batch(&batch);
            }
            state.seen.records -= records_lost;
            state.finish(&input)
        };
        let whole = read(0);
        assert_eq!((whole.units, whole.records, whole.rejected, whole.ledger_adds_up), (4, 3, 1, true));
        let lossy = read(1);
        assert_eq!((lossy.units, lossy.ledger_adds_up), (4, false));
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
