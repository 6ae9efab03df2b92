//! Stage 2: units → records → assessments and rows. Parallel, without memory.
//!
//! A unit that is a record by itself is parsed and analysed in one go. A unit that is a piece of one waits for
//! [`Assembly::run`], the ordered step between parsing and analysis: it hands the pieces of a chunk to
//! [`assemble`](crate::assemble), analyses what comes out in parallel, and then does the same with the calls of tools in
//! conversations. A chunk without pieces and calls does not pass it.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    mem,
    ops::Range,
};

use rayon::prelude::*;

use crate::{
    assemble::{
        self, Assembler, Fate, Joined, Whole,
        duplicates::{Answers, Mark},
        tool_calls::{self, Pairer, Traffic},
    },
    config::{GroupBy, Settings},
    engines::{
        Assessment, Engine, Row, View,
        facts::identity,
        language::compression,
        runtime::{fingerprint, token_rate},
        security::Evidence,
        tools::{self, Profile, agent},
    },
    hash,
    input::{Batch, Content, Cut, Place},
    record::{
        Aside, Container, Entry, Format, Kind, Note, Piece, Record,
        json::Json,
        reader::{Parsed, RecordReader, Rejected},
    },
    report::verdict_record::bounded,
    rules::{Scanner, Suppressions},
    text::Features,
};

use super::filter::Filter;

/// What a stream is called when the record does not say.
pub const UNKNOWN_STREAM: &str = "(unknown)";

/// What a large document holds beside its records.
pub const REST_OF_DOCUMENT: Aside = Aside {
    format: Format { container: Container::Native, dialect: None },
    what: "a document around its records",
    is_parent: true,
};

/// One unit, or one item of a unit, after stage 2.
pub struct Analysed<'a> {
    /// Where it stands.
    pub place: Place,
    /// Whether it is a further item of the unit that the one before it comes from.
    pub is_further: bool,
    /// What became of it.
    pub outcome: Outcome<'a>,
    /// What it says of calls of tools, until the ordered step has taken it.
    traffic: Vec<Traffic>,
}

/// A batch after stage 2.
pub struct Part<'a> {
    /// Its units, in order.
    pub units: Vec<Analysed<'a>>,
    /// Whether units wait for the ordered step.
    has_pieces: bool,
    /// Whether calls of tools, or answers that may be duplicates, wait for the ordered step.
    has_traffic: bool,
}

/// What became of a unit.
pub enum Outcome<'a> {
    /// A call to judge.
    Call(Box<Call<'a>>),
    /// A person's label, for the ordered stage.
    Feedback(Box<Row>),
    /// Left out by the window or the sample.
    Skipped,
    /// Recognised, and no call.
    Aside(Aside),
    /// A piece of a record, on its way to the ordered step.
    Piece(Box<Piece<'static>>, usize),
    /// A record that may be a part of another, on its way to the ordered step.
    Part(Box<Record<'static>>, usize),
    /// A record out of the ordered step, on its way to be analysed.
    Joined(Box<Joined>),
    /// The first piece of a record, which is counted when that comes out.
    Held,
    /// A part of another record, or the same as one before.
    Merged,
    /// Not a record: why, and how many bytes into the unit.
    Rejected(Rejected),
}

/// An LLM or tool call with all that can be said of it alone.
pub struct Call<'a> {
    /// The record.
    pub record: Record<'a>,
    /// The stream that it belongs to.
    pub stream: String,
    /// What each stateless engine says.
    pub assessments: Vec<(&'static str, Assessment)>,
    /// What the ordered stage may know.
    pub row: Row,
    /// Where personal data and secrets stand: field and bytes. Excerpts leave them out.
    pub sensitive: Vec<(Cow<'static, str>, Range<usize>)>,
    /// Indices of the suppressions that took a hit out.
    pub suppressed: Vec<usize>,
    /// Rule and fingerprint of every hit, while suppressions are drafted.
    pub fingerprints: Vec<(String, String)>,
    /// The limits that looking for evidence reached: name and value.
    pub limits: BTreeMap<&'static str, u64>,
    /// By what the answer is known when it comes again.
    mark: Option<Mark>,
}

/// All that stage 2 needs, shared by its threads.
pub struct Analyst<'s> {
    pub settings: &'s Settings,
    pub reader: &'s RecordReader,
    pub engines: &'s [&'s dyn Engine],
    pub profiles: &'s HashMap<String, Profile>,
    pub agents: &'s agent::Policy,
    pub scanner: &'s Scanner,
    pub suppressions: &'s Suppressions,
    pub filter: &'s Filter,
}

impl Analyst<'_> {
    /// Every unit of a batch, in order.
    pub fn batch<'a>(&self, batch: &'a Batch) -> Part<'a> {
        let mut part = Part { units: Vec::with_capacity(batch.units.len()), has_pieces: false, has_traffic: false };
        for unit in &batch.units {
            let place = |item: Option<u32>, offset: usize| Place {
                source: batch.source.clone(),
                line: unit.line,
                item,
                byte: unit.byte + offset as u64,
            };
            let units_before = part.units.len();
            let is_sampled = self.filter.takes_unit(&batch.source, unit.byte);
            let bytes = match &unit.content {
                Content::Text(range) => range.len(),
                Content::Rest(_) | Content::Rejected(_) => 0,
            };
            let mut push = |place: Place, parsed| {
                let is_further = part.units.len() > units_before;
                // A piece that the sample leaves out may belong to a record that it takes.
                let outcome = match parsed {
                    Ok(Entry::Piece(piece)) => Outcome::Piece(Box::new(piece.into_owned()), bytes),
                    Ok(Entry::Record(record)) if assemble::is_part(&record) => {
                        Outcome::Part(Box::new(record.into_owned()), bytes)
                    }
                    _ if !is_sampled => Outcome::Skipped,
                    parsed => self.analyse(parsed, None),
                };
                let traffic = traffic_of(&outcome, &place);
                part.has_pieces |= matches!(outcome, Outcome::Piece(..) | Outcome::Part(..));
                part.has_traffic |= !traffic.is_empty() || mark_of(&outcome).is_some();
                part.units.push(Analysed { place, is_further, outcome, traffic });
            };
            let parsed = match &unit.content {
                Content::Rest(_) => {
                    let outcome = Outcome::Aside(REST_OF_DOCUMENT);
                    let (place, traffic) = (place(unit.item, 0), Vec::new());
                    part.units.push(Analysed { place, is_further: false, outcome, traffic });
                    continue;
                }
                Content::Rejected(cut) => {
                    let outcome = Outcome::Rejected(Rejected { byte: 0, reason: describe(cut) });
                    let (place, traffic) = (place(unit.item, 0), Vec::new());
                    part.units.push(Analysed { place, is_further: false, outcome, traffic });
                    continue;
                }
                Content::Text(range) => match &batch.header {
                    None => self.reader.read(&batch.bytes[range.clone()]),
                    Some(header) => self.reader.read_row(header, &batch.bytes[range.clone()]),
                },
            };
            match parsed {
                Parsed::One(parsed) => push(place(unit.item, 0), parsed),
                Parsed::Many(items) if !is_sampled && !items.iter().any(|item| is_piece(&item.outcome)) => {
                    let (place, outcome, traffic) = (place(unit.item, 0), Outcome::Skipped, Vec::new());
                    part.units.push(Analysed { place, is_further: false, outcome, traffic });
                }
                Parsed::Many(items) => {
                    for item in items {
                        // The offset of a fault counts from the unit, that of a record from itself.
                        let offset = if item.outcome.is_ok() { item.byte } else { 0 };
                        push(place(Some(item.item), offset), item.outcome);
                    }
                }
            }
        }
        part
    }

    /// A record out of the ordered step.
    fn analyse_joined(&self, place: &Place, joined: Joined) -> Outcome<'static> {
        if !self.filter.takes_unit(&place.source, place.byte) {
            return Outcome::Skipped;
        }
        let scope = joined.scope;
        self.analyse(record_of(joined, self.reader).map(Entry::Record), scope)
    }

    fn analyse<'a>(&self, parsed: Result<Entry<'a>, Rejected>, scope: Option<u64>) -> Outcome<'a> {
        let mut record = match parsed {
            Err(rejected) => return Outcome::Rejected(rejected),
            Ok(Entry::Piece(piece)) => return Outcome::Piece(Box::new(piece.into_owned()), 0),
            Ok(Entry::Aside(aside)) => return Outcome::Aside(aside),
            Ok(Entry::Record(record)) if !self.filter.takes_time(record.timestamp_ms) => return Outcome::Skipped,
            Ok(Entry::Record(record)) => record,
        };
        let stream = bounded(&stream_name(&record, self.settings.group_by));
        let mut row = row(&record, &stream);
        row.session_is_guessed = row.session.is_none() && scope.is_some();
        row.session = row.session.or(scope);
        if record.kind == Kind::Feedback {
            return Outcome::Feedback(Box::new(row));
        }
        let mut assessments = Vec::new();
        let evidence = Evidence::of(&record, self.scanner, self.suppressions);
        self.assess(&record, &evidence, &mut row, &mut assessments);
        let Evidence { sensitive, suppressed, fingerprints, limits, .. } = evidence;
        match record.kind {
            Kind::Tool => {
                let profile = record.tool.as_deref().and_then(|tool| self.profiles.get(tool));
                tools::fill_row(&record, profile, &self.settings.engines.tools, &mut row);
                agent::fill_row(&record, self.agents, &mut row);
                row.tier0.retain(|signal| self.settings.runs(signal.id));
            }
            Kind::Llm | Kind::Feedback => {}
        }
        let mark = Mark::of(&record);
        if record.kind == Kind::Tool {
            // Calls of one connection carry the same declaration; nothing after this stage asks for it.
            record.tools = None;
        }
        let call = Call { record, stream, assessments, row, sensitive, suppressed, fingerprints, limits, mark };
        Outcome::Call(Box::new(call))
    }

    fn assess(
        &self,
        record: &Record<'_>,
        evidence: &Evidence<'_>,
        row: &mut Row,
        assessments: &mut Vec<(&'static str, Assessment)>,
    ) {
        let prompt_text = join(record);
        let (prompt, response) =
            (Features::of_prompt(&prompt_text), Features::of(record.response.as_deref().unwrap_or("")));
        let view = View { record, response: &response, prompt: &prompt, prompt_text: &prompt_text, evidence };
        for engine in self.engines {
            if let Some(mut assessment) = engine.assess(&view) {
                row.turns.append(&mut assessment.turns);
                assessments.push((engine.about().name, assessment));
            }
        }
        if record.response.is_some() {
            if row.response_tokens.is_none() && self.settings.engines.token_rate.estimate_tokens {
                row.response_tokens = Some(token_rate::estimated_tokens(response.words));
                row.tokens_are_estimated = true;
            }
            row.fingerprint = Some(fingerprint::extract(&response, &self.settings.engines.fingerprint));
            row.style = Some(response.style());
            if !record.prompt.is_absent() {
                row.compression_base =
                    Some(compression::base_score(&prompt, &response, &self.settings.engines.compression));
            }
        }
    }
}

/// The record that was put together.
///
/// # Errors
/// When what was put together is none.
pub fn record_of(joined: Joined, reader: &RecordReader) -> Result<Record<'static>, Rejected> {
    let read = |tree| {
        let reason = || "holds no call that can be read".to_owned();
        reader.read_tree(tree)?.record().ok_or_else(|| Rejected { byte: 0, reason: reason() })
    };
    let Joined { whole, format, problems, notes, declaration, .. } = joined;
    let mut record = match whole {
        Whole::Record(record) => *record,
        Whole::Tree(tree) => read(tree)?,
        Whole::Continued(record, before) => match read(before) {
            Ok(before) => continued(*record, before),
            Err(_) => *record,
        },
        Whole::Completed(record, texts) => match read(texts) {
            Ok(texts) => completed(*record, texts),
            Err(_) => *record,
        },
    };
    record.format = Format { container: format.container, dialect: format.dialect.or(record.format.dialect) };
    record.problems.splice(0..0, problems);
    record.notes.merge(notes);
    record.tools = record.tools.or_else(|| Some(Json::Array(vec![declaration?.as_ref().clone()])));
    Ok(record)
}

/// The ordered step of stage 2, with what it remembers.
pub struct Assembly {
    assembler: Assembler,
    pairer: Pairer,
    answers: Answers,
}

impl Assembly {
    /// A step that has seen nothing yet.
    pub fn new(limits: &assemble::Limits) -> Assembly {
        let (assembler, pairer) = (Assembler::new(limits), Pairer::new(limits));
        Assembly { assembler, pairer, answers: Answers::new(limits) }
    }

    /// Puts the pieces of the next parts of the input together, and pairs calls of tools with their results.
    pub fn run<'a>(&mut self, parts: &mut [Part<'a>], analyst: &Analyst<'_>) {
        if parts.iter().any(|part| part.has_pieces) {
            parts.iter_mut().filter(|part| part.has_pieces).for_each(|part| self.assemble(part));
            analyse_joined(parts, analyst);
        }
        self.pair(parts, analyst);
    }

    /// What is left at the end of the input.
    pub fn finish(&mut self, analyst: &Analyst<'_>) -> Part<'static> {
        let part = |records: Vec<Joined>| {
            let units = records.into_iter().map(of_joined).collect();
            [Part { units, has_pieces: true, has_traffic: false }]
        };
        let mut parts = part(self.assembler.finish());
        analyse_joined(&mut parts, analyst);
        self.pair(&mut parts, analyst);
        let mut held = part(self.pairer.finish());
        analyse_joined(&mut held, analyst);
        let ([mut part], [held]) = (parts, held);
        part.units.extend(held.units);
        part
    }

    /// The limits that were reached: name, value, how often.
    pub fn limits_reached(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        self.assembler.limits_reached().chain(self.pairer.limits_reached())
    }

    fn assemble(&mut self, part: &mut Part<'_>) {
        let mut units = Vec::with_capacity(part.units.len());
        for mut unit in mem::take(&mut part.units) {
            let pushed = match mem::replace(&mut unit.outcome, Outcome::Held) {
                Outcome::Piece(piece, bytes) => self.assembler.push(unit.place.clone(), bytes, *piece),
                Outcome::Part(record, bytes) => self.assembler.push_record(unit.place.clone(), bytes, *record),
                outcome => {
                    units.push(Analysed { outcome, ..unit });
                    continue;
                }
            };
            units.extend(pushed.records.into_iter().map(of_joined));
            part.has_traffic |= !pushed.traffic.is_empty();
            unit.traffic = pushed.traffic;
            unit.outcome = match pushed.fate {
                Fate::Held => Outcome::Held,
                Fate::Merged => Outcome::Merged,
                Fate::Aside(aside) => Outcome::Aside(aside),
                Fate::Rejected(reason) => Outcome::Rejected(Rejected { byte: 0, reason }),
            };
            units.push(unit);
        }
        part.units = units;
    }

    fn pair(&mut self, parts: &mut [Part<'_>], analyst: &Analyst<'_>) {
        let mut has_records = false;
        for part in parts.iter_mut().filter(|part| part.has_traffic) {
            let mut units = Vec::with_capacity(part.units.len());
            for mut unit in mem::take(&mut part.units) {
                let is_known = mark_of(&unit.outcome).is_some_and(|mark| self.answers.is_known(mark));
                if is_known || tool_record_of(&unit.outcome).is_some_and(|record| self.pairer.is_done(record)) {
                    unit.outcome = Outcome::Merged;
                    unit.traffic.clear();
                }
                let traffic = mem::take(&mut unit.traffic);
                units.push(unit);
                for traffic in traffic {
                    units.extend(self.pairer.push(traffic).into_iter().map(of_joined));
                }
            }
            has_records |= units.iter().any(|unit| matches!(unit.outcome, Outcome::Joined(_)));
            part.units = units;
        }
        if has_records {
            analyse_joined(parts, analyst);
        }
    }
}

fn of_joined<'a>(joined: Joined) -> Analysed<'a> {
    let (place, is_further) = (joined.place.clone(), joined.is_further);
    Analysed { place, is_further, outcome: Outcome::Joined(Box::new(joined)), traffic: Vec::new() }
}

/// Analyses what came out of the ordered step, in parallel.
fn analyse_joined(parts: &mut [Part<'_>], analyst: &Analyst<'_>) {
    parts.par_iter_mut().for_each(|part| {
        let mut has_traffic = false;
        part.units.par_iter_mut().for_each(|unit| {
            if !matches!(unit.outcome, Outcome::Joined(_)) {
                return;
            }
            let Outcome::Joined(joined) = mem::replace(&mut unit.outcome, Outcome::Held) else { return };
            let is_paired = joined.is_paired;
            unit.outcome = analyst.analyse_joined(&unit.place, *joined);
            if !is_paired {
                unit.traffic = traffic_of(&unit.outcome, &unit.place);
            }
        });
        for unit in &part.units {
            has_traffic |= !unit.traffic.is_empty() || mark_of(&unit.outcome).is_some();
        }
        part.has_traffic |= has_traffic;
    });
}

/// Whether a value is a part of a record.
fn is_piece(parsed: &Result<Entry<'_>, Rejected>) -> bool {
    match parsed {
        Ok(Entry::Piece(_)) => true,
        Ok(Entry::Record(record)) => assemble::is_part(record),
        _ => false,
    }
}

/// A record with the texts that it lacks.
fn completed(mut record: Record<'static>, texts: Record<'static>) -> Record<'static> {
    if record.prompt.is_absent() {
        record.prompt = texts.prompt;
    }
    record.system = record.system.or(texts.system);
    record.response = record.response.or(texts.response);
    record.finish_reason = record.finish_reason.or(texts.finish_reason);
    if record.tool_calls.is_empty() {
        record.tool_calls = texts.tool_calls;
    }
    record.notes.remove(Note::NoText);
    record
}

/// A record that is the end of an answer, with what comes before it.
fn continued(mut record: Record<'static>, before: Record<'static>) -> Record<'static> {
    if let Some(text) = before.response {
        record.response = Some((text.into_owned() + record.response.as_deref().unwrap_or_default()).into());
    }
    record.tool_calls.splice(0..0, before.tool_calls);
    record.prompt_tokens = record.prompt_tokens.or(before.prompt_tokens);
    record.response_tokens = record.response_tokens.or(before.response_tokens);
    record.model = record.model.or(before.model);
    record
}

fn traffic_of(outcome: &Outcome<'_>, place: &Place) -> Vec<Traffic> {
    match outcome {
        Outcome::Call(call) => tool_calls::traffic_of(&call.record, place).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn mark_of(outcome: &Outcome<'_>) -> Option<Mark> {
    if let Outcome::Call(call) = outcome { call.mark } else { None }
}

fn tool_record_of<'o, 'a>(outcome: &'o Outcome<'a>) -> Option<&'o Record<'a>> {
    match outcome {
        Outcome::Call(call) if call.record.kind == Kind::Tool => Some(&call.record),
        _ => None,
    }
}

fn row(record: &Record<'_>, stream: &str) -> Row {
    let mut row = Row {
        is_tool: record.kind != Kind::Llm,
        stream: hash::name(stream),
        subject: Some(hash::name(own_name(record))),
        session: record.session_id.as_deref().map(hash::name),
        timestamp_ms: record.timestamp_ms,
        feedback: record.feedback,
        ..Row::default()
    };
    if record.kind == Kind::Llm {
        row.latency_ms = record.latency_ms;
        row.response_tokens = counted_tokens(record).map(|tokens| tokens as f64);
        row.models = identity::names_for_history(record);
    }
    row
}

/// The tokens of the response. Some providers write 0 for what they did not count.
pub fn counted_tokens(record: &Record<'_>) -> Option<u64> {
    let has_text = record.response.as_deref().is_some_and(|text| !text.is_empty());
    record.response_tokens.filter(|tokens| *tokens > 0 || !has_text)
}

/// The model or tool, by its own name.
fn own_name<'r>(record: &'r Record<'_>) -> &'r str {
    let own = if record.kind == Kind::Llm { &record.model } else { &record.tool };
    own.as_deref().unwrap_or(UNKNOWN_STREAM)
}

/// The key of the record's history.
pub fn stream_name<'r>(record: &'r Record<'_>, group_by: GroupBy) -> Cow<'r, str> {
    let own = own_name(record);
    let group = match group_by {
        GroupBy::Model => return Cow::Borrowed(own),
        GroupBy::Provider => &record.provider,
        GroupBy::Session => &record.session_id,
        GroupBy::Label => &record.label,
    };
    Cow::Owned(format!("{}/{own}", group.as_deref().unwrap_or(UNKNOWN_STREAM)))
}

/// The texts of the prompt, joined by newlines; borrowed where there is one.
fn join<'r>(record: &'r Record<'_>) -> Cow<'r, str> {
    let mut texts = record.prompt.texts().map(|(_, text)| text);
    let first = texts.next().unwrap_or_default();
    let Some(second) = texts.next() else { return Cow::Borrowed(first) };
    let rest = texts.fold(format!("{first}\n{second}"), |joined, text| joined + "\n" + text);
    Cow::Owned(rest)
}

fn describe(cut: &Cut) -> String {
    match cut {
        Cut::TooLarge { bytes, limit } => {
            format!("larger than max_record_bytes: at least {bytes} bytes, the limit is {limit}")
        }
        Cut::TooDeep { limit } => format!("nested deeper than {limit} brackets"),
        Cut::Unreadable(reason) | Cut::Truncated(reason) => reason.clone(),
    }
}
