//! Stage 2: records → assessments and rows. Parallel, without memory.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use crate::{
    config::{GroupBy, Settings},
    engines::{
        Assessment, Engine, Row, View,
        check::{self, Checks},
        facts::{arithmetic, identity},
        language::compression,
        runtime::{fingerprint, token_rate},
        security::Evidence,
        tools::{self, Profile, agent},
    },
    hash,
    reader::Parsed,
    record::{Kind, Note, Record},
    report::{
        prices::{Charge, PriceTable, Tokens},
        unread::UnreadLeaf,
        verdict_record::bounded,
    },
    rules::{Scanner, Suppressions},
    text::Features,
};

use super::{
    drive::{Analyse, UnitOf},
    unread::unread,
};

/// What a stream is called when the record does not say.
pub const UNKNOWN_STREAM: &str = "(unknown)";

/// What an audit makes of a record.
pub enum Told<'a> {
    /// A call to judge.
    Call(Box<Call<'a>>),
    /// A person's label, for the ordered stage.
    Feedback(Box<Row>),
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
}

/// All that stage 2 needs, shared by its threads.
pub struct Analyst<'s> {
    pub settings: &'s Settings,
    pub engines: &'s [&'s dyn Engine],
    pub profiles: &'s HashMap<String, Profile>,
    pub agents: &'s agent::Policy,
    pub checks: &'s Checks,
    pub prices: &'s PriceTable,
    pub scanner: &'s Scanner,
    pub suppressions: &'s Suppressions,
}

impl Analyse for Analyst<'_> {
    type Read = Vec<UnreadLeaf>;
    type Out<'a> = Told<'a>;

    fn read(&self, unit: &UnitOf<'_>, parsed: &Parsed<'_>) -> Option<Vec<UnreadLeaf>> {
        unread(unit, parsed)
    }

    fn analyse<'a>(&self, mut record: Record<'a>, source: &str) -> Told<'a> {
        let stream = bounded(&stream_name(&record, self.settings.group_by));
        let mut row = row(&record, &stream);
        row.session_is_guessed = row.session.is_none() && record.scope.is_some();
        row.session = row.session.or(record.scope);
        if record.kind == Kind::Feedback {
            return Told::Feedback(Box::new(row));
        }
        let mut assessments = Vec::new();
        let evidence = Evidence::of(&record, self.scanner, self.suppressions);
        let checked = self.assess(&record, source, &evidence, &mut row, &mut assessments);
        let Evidence { sensitive, mut suppressed, mut fingerprints, mut limits, .. } = evidence;
        if assessments.iter().any(|(name, said)| *name == arithmetic::NAME && arithmetic::is_capped(said)) {
            limits.insert("equations_per_text", arithmetic::EQUATIONS_MAX);
        }
        if let Some(said) = checked {
            suppressed.extend(said.suppressed);
            fingerprints.extend(said.fingerprints);
            assessments.push((check::NAME, said.assessment));
        }
        if record.kind == Kind::Tool {
            let profile = record.tool.as_deref().and_then(|tool| self.profiles.get(tool));
            tools::fill_row(&record, profile, &self.settings.engines.tools, &mut row);
            agent::fill_row(&record, self.agents, &mut row);
            row.tier0.retain(|signal| self.settings.runs(signal.id));
            // Calls of one connection carry the same declaration; only its findings are asked for after this stage.
            let is_shown =
                assessments.iter().any(|(_, said)| said.findings.iter().any(|one| one.field.starts_with("/tools")));
            record.tools = record.tools.take().filter(|_| is_shown);
        }
        Told::Call(Box::new(Call { record, stream, assessments, row, sensitive, suppressed, fingerprints, limits }))
    }
}

impl Analyst<'_> {
    fn assess(
        &self,
        record: &Record<'_>,
        source: &str,
        evidence: &Evidence<'_>,
        row: &mut Row,
        assessments: &mut Vec<(&'static str, Assessment)>,
    ) -> Option<check::Said> {
        let prompt_text = join(record);
        let (prompt, response) =
            (Features::of_prompt(&prompt_text), Features::of(record.response.as_deref().unwrap_or("")));
        let view = View { record, response: &response, prompt: &prompt, prompt_text: &prompt_text, evidence };
        for engine in self.engines {
            if let Some(mut assessment) = engine.assess(&view) {
                row.turns.append(&mut assessment.turns);
                if record.notes.has(Note::HealthOnly) && assessment.is_of_text() {
                    assessment = Assessment::not_assessed("the log holds no text of this call");
                }
                assessments.push((engine.about().name, assessment));
            }
        }
        let checked = if self.checks.of_record.is_empty() {
            None
        } else {
            let cost = charge(record, self.prices).amount();
            self.checks.assess(&view, source, cost, self.suppressions)
        };
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
        checked
    }
}

/// What the tokens of a call cost.
pub fn charge<'p>(record: &Record<'_>, prices: &'p PriceTable) -> Charge<'p> {
    let tokens = [record.prompt_tokens, record.cached_tokens, counted_tokens(record)];
    let [prompt, cached, response] = tokens.map(Option::unwrap_or_default);
    prices.charge(record.model.as_deref(), Tokens { prompt, cached, response })
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
        row.is_error = record.error.is_some();
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
