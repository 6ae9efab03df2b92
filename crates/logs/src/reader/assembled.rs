//! Units in, records out: what belongs together, in which order, and that nothing gets lost.
//!
//! A [`Drive`] does to the units of a log what the pipeline does, without threads: it reads them, puts their parts
//! together and pairs calls of tools. Every [`Run`] is checked for its ledger, and that nothing is left behind.

mod batches;
mod events;
mod mcp;
mod merges;
mod sessions;
mod streams;
mod tool_calls;
mod traces;

use std::sync::Arc;

use proptest::prelude::*;

use super::{Outcome, Parsed, RecordReader};
use crate::{
    assemble::{
        Assembler, Fate, Joined, Limits, Whole, is_part,
        tool_calls::{self as calls, Pairer, Recorded, Traffic},
    },
    input::Place,
    record::{Entry, Kind, Note, Prompt, Record, json::Json},
};

/// What came out.
#[derive(Debug, Default)]
struct Run {
    records: Vec<Shown>,
    /// What waited and turned out to be no record: its line, and what it is.
    others: Vec<(u64, String)>,
    /// What became of each entry.
    fates: Vec<Fate>,
    /// What came out with which a unit is counted.
    counted: usize,
    notes: Vec<Note>,
    problems: Vec<String>,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shown {
    line: u64,
    /// Whether a conversation tells of it.
    is_told: bool,
    text: String,
}

impl Run {
    fn lines(&self) -> Vec<u64> {
        self.records.iter().map(|record| record.line).collect()
    }

    fn texts(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.text.as_str()).collect()
    }

    /// The texts in an order of their own.
    fn sorted(&self) -> Vec<&str> {
        let mut texts = self.texts();
        texts.sort_unstable();
        texts
    }

    /// The calls of tools that conversations tell.
    fn told(&self) -> Vec<(u64, &str)> {
        let told = self.records.iter().filter(|record| record.is_told);
        told.map(|record| (record.line, record.text.as_str())).collect()
    }

    fn times(&self, note: Note) -> usize {
        self.notes.iter().filter(|noted| **noted == note).count()
    }

    fn asides(&self) -> usize {
        self.fates.iter().filter(|fate| matches!(fate, Fate::Ignored(_))).count()
    }
}

/// A log on its way.
struct Drive {
    assembler: Assembler,
    pairer: Pairer,
    line: u64,
    run: Run,
}

impl Drive {
    fn new(limits: &Limits) -> Drive {
        Drive { assembler: RecordReader::assembler(limits), pairer: Pairer::new(limits), line: 0, run: Run::default() }
    }

    /// Takes the next unit.
    fn feed(&mut self, source: &str, text: &str) {
        self.line += 1;
        let place = Place { source: Arc::from(source), line: self.line, item: None, byte: 0 };
        match RecordReader::default().read(text.as_bytes()) {
            Parsed::One(outcome) => self.take(place, text.len(), outcome),
            Parsed::Many(items) => {
                for item in items {
                    self.take(Place { item: Some(item.item), ..place.clone() }, text.len(), item.outcome);
                }
            }
        }
    }

    /// Takes the next unit of the same source; whether a record has come out by then.
    fn gives(&mut self, text: &str) -> bool {
        self.feed("log", text);
        !self.run.records.is_empty()
    }

    fn take(&mut self, place: Place, bytes: usize, outcome: Outcome<'_>) {
        let fate = match outcome {
            Ok(entry) if is_part(&entry) => {
                let pushed = self.assembler.push(place, bytes, entry.into_owned());
                pushed.records.into_iter().for_each(|joined| self.joined(joined));
                pushed.traffic.into_iter().for_each(|traffic| self.pair(traffic));
                pushed.fate
            }
            Ok(Entry::Record(record)) => {
                self.joined(Joined::record(place, record.into_owned()));
                Fate::Held
            }
            Ok(Entry::Ignored(ignored)) => Fate::Ignored(ignored.into_owned()),
            Ok(Entry::Fragment(_)) => unreachable!("a fragment is a part"),
            Err(rejected) => Fate::Rejected(rejected.reason),
        };
        self.run.fates.push(fate);
    }

    fn joined(&mut self, joined: Joined) {
        let (place, is_paired) = (joined.place.clone(), joined.is_paired);
        self.run.counted += usize::from(!joined.is_further);
        let other = match &joined.whole {
            Whole::Record(_) => None,
            Whole::Ignored(ignored) => Some(ignored.what.to_owned()),
            Whole::Merged => Some("merged".to_owned()),
            Whole::Rejected(reason) => Some(reason.clone()),
        };
        self.run.others.extend(other.map(|what| (place.line, what)));
        let Some(record) = joined.into_record() else { return };
        let known = Recorded::of(&record).filter(|_| !is_paired);
        if known.is_some_and(|known| self.pairer.is_done(&known)) {
            return self.run.others.push((place.line, "merged".to_owned()));
        }
        self.run.notes.extend(record.notes.iter());
        self.run.problems.extend(record.problems.iter().map(|one| format!("{} {}", one.field, one.reason)));
        let is_told = is_paired && record.kind == Kind::Tool;
        self.run.records.push(Shown { line: place.line, is_told, text: show(&record) });
        if !is_paired && let Some(traffic) = calls::traffic_of(&record, &place) {
            self.pair(traffic);
        }
    }

    fn pair(&mut self, traffic: Traffic) {
        self.pairer.push(traffic).into_iter().for_each(|joined| self.joined(joined));
    }

    /// The end of the log.
    fn finish(mut self) -> Run {
        self.assembler.finish().into_iter().for_each(|joined| self.joined(joined));
        let left = self.assembler.load();
        assert_eq!((left.records, left.bytes, left.oldest), (0, 0, None), "nothing is left behind");
        let held = self.run.fates.iter().filter(|fate| **fate == Fate::Held).count();
        assert_eq!(held, self.run.counted, "every unit is counted once: {:?}", self.run);
        self.run
    }
}

/// All that is known of a record, but for its latency.
fn show(record: &Record<'_>) -> String {
    if record.kind == Kind::Tool {
        return format!(
            "{}({}) = {} in {:?}",
            record.tool.as_deref().unwrap_or("?"),
            record.args.as_ref().map(Json::to_compact_string).unwrap_or_default(),
            record.result.as_ref().map_or("nothing".to_owned(), Json::to_compact_string),
            record.execution_time_ms
        );
    }
    let prompt = match &record.prompt {
        Prompt::Absent => None,
        Prompt::Text(text) => Some(text.to_string()),
        Prompt::Messages(messages) => {
            Some(messages.iter().map(|said| format!("[{}: {}]", said.role, said.text)).collect())
        }
    };
    let calls = record.tool_calls.iter().map(|call| format!("{}({})", call.name, call.args.to_compact_string()));
    let context = record.context.iter().map(|passage| format!("[{}]", passage.text));
    let tokens = record.prompt_tokens.or(record.response_tokens).map(|_| {
        let of = |tokens: Option<u64>| tokens.map_or("?".to_owned(), |tokens| tokens.to_string());
        format!("{}+{}", of(record.prompt_tokens), of(record.response_tokens))
    });
    let text = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let joined = |parts: String| Some(parts).filter(|parts| !parts.is_empty());
    let parts = [
        ("id", text(&record.id)),
        ("session", text(&record.session_id)),
        ("at", record.timestamp_ms.map(|ms| ms.to_string())),
        ("model", text(&record.model)),
        ("provider", text(&record.provider)),
        ("system", text(&record.system)),
        ("context", joined(context.collect())),
        ("asked", prompt),
        ("said", text(&record.response)),
        ("calls", joined(calls.collect())),
        ("finish", text(&record.finish_reason)),
        ("tokens", tokens),
        ("cached", number(record.cached_tokens)),
        ("reasoning", number(record.reasoning_tokens)),
        ("error", text(&record.error)),
    ];
    let parts = parts.into_iter().filter_map(|(name, part)| Some(format!("{name}={}", part?)));
    parts.collect::<Vec<_>>().join(" ")
}

fn run_with<'l>(limits: &Limits, lines: impl IntoIterator<Item = (&'l str, &'l str)>) -> Run {
    let mut drive = Drive::new(limits);
    lines.into_iter().for_each(|(source, line)| drive.feed(source, line));
    drive.finish()
}

fn run(lines: &[impl AsRef<str>]) -> Run {
    run_with(&Limits::default(), lines.iter().map(|line| ("log", line.as_ref())))
}

/// Lines of all kinds.
fn corpus() -> Vec<String> {
    let mut lines = streams::stream("a", &["x", "y"]);
    lines.extend([sessions::USER, sessions::TEXT, sessions::CALL, sessions::RESULT, sessions::DONE].map(str::to_owned));
    lines.extend(sessions::CODEX.map(str::to_owned));
    lines.extend(traces::lines());
    lines.extend(merges::lines());
    lines.extend([events::user(), events::choice(), events::span()]);
    for file in [
        include_str!("../../../../fixtures/assemble/mcp.jsonl"),
        include_str!("../../../../fixtures/assemble/mcp_desktop.log"),
        include_str!("../../../../fixtures/assemble/batch_requests.jsonl"),
        include_str!("../../../../fixtures/assemble/batch_answers.jsonl"),
        include_str!("../../../../fixtures/assemble/streams.jsonl"),
    ] {
        lines.extend(file.lines().map(str::to_owned));
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Wherever a log begins and ends, and however little room there is, every unit is counted once.
    #[test]
    fn no_cut_loses_a_unit(from in 0usize..60, length in 0usize..80, records_max in 1usize..6) {
        let corpus = corpus();
        let lines = corpus.iter().skip(from).take(length).map(|line| ("log", line.as_str()));
        run_with(&Limits { records_max, ..Limits::default() }, lines);
    }

    /// In whatever order the lines of a log stand, every unit is counted once.
    #[test]
    fn any_order_gives_each_unit_a_fate(lines in Just(corpus()).prop_shuffle(), answers_max in 1usize..4, sessions_max in 1usize..4) {
        let lines = lines.iter().map(|line| ("log", line.as_str()));
        run_with(&Limits { answers_max, sessions_max, ..Limits::default() }, lines);
    }

    /// Whatever a line holds, it gets a fate.
    #[test]
    fn damaged_lines_get_a_fate(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..60)) {
        let corpus = corpus();
        let mut lines = corpus.clone();
        for (line, key, with) in edits {
            let other = &corpus[with.index(corpus.len())];
            let text = &mut lines[line.index(corpus.len())];
            // A value is replaced by another line, by null or by a number, so that what comes out is JSON as a rule.
            let colons: Vec<usize> = text.match_indices("\":").map(|(at, _)| at + 2).collect();
            if colons.is_empty() {
                continue;
            }
            let at_colon = colons[key.index(colons.len())];
            let end = text[at_colon..].find([',', '}']).map_or(text.len(), |end| at_colon + end);
            let new = [other.as_str(), "null", "7", "[]", "{}", "\"x\""][with.index(6)].to_owned();
            text.replace_range(at_colon..end, &new);
        }
        run(&lines);
    }
}
