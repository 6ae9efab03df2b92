//! Stage 4: what was computed of a call becomes its verdict, and the object that reports show.

use std::{borrow::Cow, mem, ops::Range};

use crate::{
    config::{QuestionPolicies, Settings},
    engines::{
        Assessment, Detail, Finding, Question, Signal, Tier,
        check::{
            Checks,
            expect::{Measure, Quantity, Share},
        },
        language::refusal,
        runtime::{health, outcome},
    },
    hash,
    history::{Chart, Observation, Shift, spc::ControlPoint},
    input::Place,
    record::{Kind, Note, Prompt, Record, json::Json},
    redact::Names,
    report::{
        Measures, RejectedUnit, VerdictRecord,
        aggregate::STREAMS_MAX,
        coverage::Holds,
        prices::{Charge, PriceTable},
        summary::Event,
        verdict_record::{Identity, Judged, Problem, QUOTE_RULE, bounded, rfc3339},
        waterfall::{Explained, ShownText},
    },
    text::{
        excerpt::{excerpt, quote, shown, unredacted, unredacted_quote, whole},
        lexicon::REQUESTS,
    },
    verdict::{Calibration, Decision, Verdict, expectation::Sample, judge::judge, verifiers::Verifiers},
};

use super::analyse::{Call, UNKNOWN_STREAM, charge, counted_tokens};

/// Signals that most records have room for.
const SIGNALS_USUAL: usize = 16;

/// Why a question has no answer, when no signal bears on it.
const ABSENCE: &str = "no signal applies to this record";

/// Why a question of texts has no answer, when the log has none of the call.
const NO_TEXT: &str = "the log holds no text of this call";

/// A call with its verdict and all that led to it.
pub struct Opinion<'a> {
    pub(super) place: Place,
    /// The call, whose signals and assessments have moved into the opinion.
    pub call: Box<Call<'a>>,
    pub(super) verdict: Verdict,
    pub(super) signals: Vec<Signal>,
    /// From which posterior on each question is flagged.
    pub(super) flag_from: [f64; 4],
    pub(super) assessments: Vec<(&'static str, Assessment)>,
    verifiers: Option<Verifiers>,
    health: Option<(f64, &'static str)>,
    tier_reached: Tier,
    streams_before: Option<usize>,
    number: Option<u64>,
    is_backwards: bool,
    points: [Option<ControlPoint>; 2],
    prices: &'a PriceTable,
    pub(super) names: Names<'a>,
}

impl<'a> Opinion<'a> {
    /// Judges one call by what was computed of it alone and what history said.
    pub fn new(
        place: Place,
        mut call: Box<Call<'a>>,
        mut observation: Observation,
        settings: &Settings,
        calibration: &Calibration,
        prices: &'a PriceTable,
        names: Names<'a>,
    ) -> Opinion<'a> {
        let mut policies = settings.policies(&call.stream);
        let fabricated = &mut policies[Question::Fabricated as usize];
        // Feedback moves these three, so history knows better than the settings.
        fabricated.prior = observation.prior;
        fabricated.flag_from = observation.flag_from;
        fabricated.block_from = observation.block_from;

        let mut assessments = mem::take(&mut call.assessments);
        assessments.append(&mut observation.assessments);
        let mut signals: Vec<Signal> = Vec::with_capacity(SIGNALS_USUAL);
        for (_, said) in &mut assessments {
            signals.append(&mut said.signals);
        }
        let Observation { tier_reached, streams_before, number, is_backwards, points, .. } = observation;
        let tier0 = mem::take(&mut call.row.tier0);
        let others = observation.into_signals(tier0, &|index| field_name(&call.record, index));
        signals.extend(others.into_iter().filter(|signal| settings.runs(signal.id)));

        if call.record.notes.has(Note::HealthOnly) {
            // No text, no verdict: that nothing was found where nothing stands is no finding.
            signals.retain(|signal| signal.fired || signal.question == Question::Degraded);
        }
        calibration.apply(&call.stream, &mut signals, &mut policies, &QuestionPolicies::default().all());
        let verifiers = Verifiers::of(&assessments, &signals, &settings.verifiers);
        let absence = if call.record.notes.has(Note::HealthOnly) { NO_TEXT } else { ABSENCE };
        let verdict = judge(&signals, &policies, &[absence; 4]);
        let values = assessments.iter().filter_map(|(name, said)| Some((*name, said.value?)));
        let health = health::score(values, &settings.engines.health);
        Opinion {
            place,
            call,
            verdict,
            verifiers,
            signals,
            flag_from: policies.map(|policy| policy.flag_from),
            assessments,
            health,
            tier_reached,
            streams_before,
            number,
            is_backwards,
            points,
            prices,
            names,
        }
    }

    /// What is decided.
    pub fn decision(&self) -> Decision {
        self.verdict.decision
    }

    /// Who the record is.
    pub fn identity(&self) -> Identity<'_> {
        let record = &self.call.record;
        Identity {
            source: &self.place.source,
            line: self.place.line,
            item: self.place.item,
            byte: self.place.byte,
            id: record.id.as_deref(),
            kind: record.kind.as_str(),
            model: record.model.as_deref(),
            tool: record.tool.as_deref(),
            session_id: record.session_id.as_deref(),
            timestamp_ms: record.timestamp_ms,
            label: record.label.as_deref(),
        }
    }

    /// What was computed of it.
    pub fn judged(&self) -> Judged<'_> {
        let problems = self.call.record.problems.iter();
        Judged {
            verdict: &self.verdict,
            signals: &self.signals,
            assessments: &self.assessments,
            verifiers: self.verifiers.as_ref(),
            health: self.health,
            tier_reached: self.tier_reached,
            problems: problems
                .map(|problem| {
                    let [field, reason] =
                        [&problem.field, &problem.reason].map(|text| self.names.shown(text).into_owned());
                    Problem { field, reason }
                })
                .collect(),
        }
    }

    /// The object that reports show.
    pub fn record(&self) -> VerdictRecord {
        let excerpt = |finding: &Finding| excerpt_of(&self.call, finding, self.names);
        let mut record = VerdictRecord::new(self.identity(), self.judged(), excerpt);
        hide_names(&mut record, self.names);
        record
    }

    /// Indices of the suppressions that took a hit out.
    pub fn suppressed(&self) -> &[usize] {
        &self.call.suppressed
    }

    /// Rule and fingerprint of what is shown of a flagged or blocked call, while suppressions are drafted.
    pub fn drafts(&self) -> impl Iterator<Item = &(String, String)> {
        let is_shown = |rule: &str| {
            let findings = self.assessments.iter().flat_map(|(_, said)| &said.findings);
            self.verdict.decision >= Decision::Flag && findings.into_iter().any(|finding| finding.rule == rule)
        };
        self.call.fingerprints.iter().filter(move |(rule, _)| is_shown(rule))
    }

    /// What the report counts of the call besides its verdict.
    pub fn measures(&self) -> Measures<'_> {
        let (call, record) = (&self.call, &self.call.record);
        Measures {
            stream: (call.stream != UNKNOWN_STREAM).then_some(call.stream.as_str()),
            is_beyond_limit: self.streams_before.is_none_or(|streams| streams >= STREAMS_MAX),
            is_backwards: self.is_backwards,
            is_error: self.has_failed(),
            latency_ms: if record.kind == Kind::Llm { record.latency_ms } else { record.execution_time_ms },
            unit_is_doubtful: record.notes.has(Note::UnitDoubtful),
            ttft_ms: record.ttft_ms,
            prompt_tokens: record.prompt_tokens,
            response_tokens: counted_tokens(record),
            timestamp_ms: record.timestamp_ms,
            charge: self.charge(),
            is_harmful: self.has_declined()
                && record.prompt.last_of_user().is_some_and(|text| REQUESTS.is_harmful(text)),
            number: self.number,
            points: self.points,
            is_fabricated: record.label.as_deref().and_then(truth),
            holds: holds(record),
        }
    }

    /// What the call adds to what is expected of many: number of the check, group and sample.
    pub fn samples(&self, checks: &Checks) -> Vec<(usize, Option<String>, Sample)> {
        let record = &self.call.record;
        let about = checks.of_many.iter().enumerate();
        let about = about.filter(|(_, check)| check.takes(record, &self.place.source, &checks.pointers));
        about
            .map(|(index, check)| {
                let group = check.group_by.of(record, &checks.pointers).map(|group| bounded(&group));
                (index, group, self.sample(&check.expectation.measure))
            })
            .collect()
    }

    fn sample(&self, measure: &Measure) -> Sample {
        let decision = self.verdict.decision;
        match measure {
            Measure::Records => Sample::Nothing,
            Measure::Quantile(_, quantity) | Measure::Mean(quantity) | Measure::Total(quantity) => {
                self.quantity(*quantity).map_or(Sample::Nothing, Sample::Number)
            }
            Measure::Rate(Share::Error) => Sample::Event(self.has_failed()),
            Measure::Rate(Share::Flagged) if decision == Decision::NotAssessed => Sample::Nothing,
            Measure::Rate(Share::Blocked) if decision == Decision::NotAssessed => Sample::Nothing,
            Measure::Rate(Share::Flagged) => Sample::Event(decision >= Decision::Flag),
            Measure::Rate(Share::Blocked) => Sample::Event(decision == Decision::Block),
            Measure::Rate(Share::Question(question)) => {
                let answer = &self.verdict.answers[*question as usize];
                let is_assessed = answer.not_assessed.is_none();
                if is_assessed { Sample::Event(answer.decision >= Decision::Flag) } else { Sample::Nothing }
            }
            Measure::Rate(Share::Signal(id)) => {
                let mut fired = self.signals.iter().filter(|signal| signal.id == id).map(|signal| signal.fired);
                fired.next().map_or(Sample::Nothing, |first| Sample::Event(first || fired.any(|fired| fired)))
            }
        }
    }

    fn quantity(&self, quantity: Quantity) -> Option<f64> {
        let record = &self.call.record;
        let latency_ms = if record.kind == Kind::Llm { record.latency_ms } else { record.execution_time_ms };
        let tokens = counted_tokens(record).map(|tokens| tokens as f64);
        match quantity {
            Quantity::LatencyMs => latency_ms,
            Quantity::TtftMs => record.ttft_ms,
            Quantity::TokensPerSecond => {
                let seconds = latency_ms.filter(|latency| *latency > 0.0)? / 1000.0;
                Some(tokens? / seconds)
            }
            Quantity::PromptTokens => record.prompt_tokens.map(|tokens| tokens as f64),
            Quantity::ResponseTokens => tokens,
            Quantity::Cost => self.charge().amount(),
            Quantity::Trust => {
                let grounding = self.assessments.iter().find_map(|(_, said)| said.grounding.as_ref());
                grounding.filter(|grounding| grounding.is_compared()).map(|grounding| grounding.trust_score)
            }
            Quantity::Health => self.health.map(|(score, _)| score),
            Quantity::Words => record.response.as_deref().map(|text| text.split_whitespace().count() as f64),
        }
    }

    /// Whether the call ended with an error, or with the text of one for an answer.
    fn has_failed(&self) -> bool {
        let has_told = || self.signals.iter().any(|signal| signal.fired && signal.id == outcome::FAILED);
        self.call.record.error.is_some() || self.call.row.is_error || has_told()
    }

    fn has_declined(&self) -> bool {
        self.signals.iter().any(|signal| signal.fired && signal.id == refusal::SIGNAL)
    }

    /// What the tokens of the call cost.
    fn charge(&self) -> Charge<'a> {
        charge(&self.call.record, self.prices)
    }

    /// A hash of who the record is, the same in every run over any log that holds it: of its own id, else of what was
    /// said and when.
    pub fn identity_hash(&self) -> u64 {
        let record = &self.call.record;
        if let Some(id) = &record.id {
            return hash::name(id);
        }
        let texts = record.prompt.texts().map(|(_, text)| text).chain(record.response.as_deref());
        let of_texts = texts.fold(hash::name(&self.call.stream), |sum, text| hash::combine(sum, hash::name(text)));
        let numbers = [
            record.timestamp_ms.unwrap_or_default() as u64,
            self.call.row.session.unwrap_or_default(),
            self.call.row.args.unwrap_or_default(),
            record.execution_time_ms.unwrap_or_default().to_bits(),
        ];
        numbers.into_iter().fold(of_texts, hash::combine)
    }

    /// A level of the call's stream that has moved, as it was noticed with this record.
    pub fn event(&self, shift: &Shift) -> Event {
        let (call, identity) = (&self.call, self.identity());
        let unit = match shift.chart {
            Chart::Latency => "ms",
            Chart::TokensPerSecond => "1/s",
            Chart::Size => "code points",
            Chart::Style | Chart::Field(_) => "",
        };
        Event {
            stream: (call.stream != UNKNOWN_STREAM).then(|| self.names.shown(&call.stream).into_owned()),
            kind: identity.kind,
            chart: self.names.shown(&shift.chart.name(&|index| field_name(&call.record, index))).into_owned(),
            from: shift.from,
            to: shift.to,
            unit,
            began: shift.began_ms.and_then(rfc3339),
            source: identity.source.to_owned(),
            line: identity.line,
            record: self.names.shown(&identity.own_id()).into_owned(),
            timestamp: identity.timestamp_ms.and_then(rfc3339),
        }
    }
}

/// What an LLM call holds of what is judged.
pub(super) fn holds(record: &Record<'_>) -> Option<Holds> {
    let is_blank = record.response.as_deref().map(|text| text.trim().is_empty());
    (record.kind == Kind::Llm).then(|| Holds {
        prompt: !record.prompt.is_absent(),
        response: is_blank == Some(false),
        is_empty: is_blank == Some(true),
        model: record.model.is_some(),
        latency: record.latency_ms.is_some(),
        context: !record.context.is_empty(),
        health_only: record.notes.has(Note::HealthOnly),
        is_excused: record.error.is_some() || !record.tool_calls.is_empty(),
    })
}

/// What a label says: yes or no, in the words that labels are written in; `None` for any other word.
fn truth(label: &str) -> Option<bool> {
    match label.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "hallucinated" | "fabricated" => Some(true),
        "0" | "false" | "no" | "genuine" | "faithful" => Some(false),
        _ => None,
    }
}

/// Characters of a text that an explanation shows.
const EXPLAINED_CHARS_MAX: usize = 4_000;

impl Opinion<'_> {
    /// The verdict, and the texts that it is on: redacted, with every finding marked.
    pub fn explained(&self) -> Explained {
        let record = &self.call.record;
        let mut texts = Vec::new();
        let mut push = |field: String, role: &str, text: &str| {
            let of_field =
                self.assessments.iter().flat_map(|(_, said)| &said.findings).filter(|one| one.field == field);
            let marks: Vec<Range<usize>> = of_field.map(|finding| finding.span.clone()).collect();
            let sensitive = self.call.sensitive.iter().filter(|(name, _)| *name == field).map(|(_, span)| span.clone());
            let sensitive: Vec<Range<usize>> = sensitive.collect();
            let sensitive = (!self.names.shows_sensitive()).then_some(&sensitive[..]);
            let stretches = whole(text, EXPLAINED_CHARS_MAX, &marks, sensitive);
            let is_cut = text.chars().nth(EXPLAINED_CHARS_MAX).is_some();
            texts.push(ShownText { field, role: role.to_owned(), stretches, bytes: text.len(), is_cut });
        };
        if let Some(system) = &record.system {
            push("/system".to_owned(), "", system);
        }
        match &record.prompt {
            Prompt::Absent => {}
            Prompt::Text(text) => push("/prompt".to_owned(), "", text),
            Prompt::Messages(messages) => {
                for (index, message) in messages.iter().enumerate() {
                    push(format!("/prompt/{index}/text"), &message.role, &message.text);
                }
            }
        }
        for (index, passage) in record.context.iter().enumerate() {
            push(format!("/context/{index}"), "", &passage.text);
        }
        if let Some(response) = &record.response {
            push("/response".to_owned(), "", response);
        }
        if let Some(error) = &record.error {
            push("/error".to_owned(), "", &self.names.shown(error));
        }
        // What the rules find in a value has its place in a text of the value, and not in the whole.
        for (field, value) in [("/args", &record.args), ("/result", &record.result)] {
            if let Some(value) = value {
                push(field.to_owned(), "", &self.names.shown(&value.to_compact_string()));
            }
        }
        Explained { record: self.record(), texts }
    }
}

fn field_name(record: &Record<'_>, index: u32) -> String {
    let members = record.result.as_ref().and_then(Json::as_object).unwrap_or_default();
    members.get(index as usize).map_or_else(|| format!("field {index}"), |(name, _)| shown(name))
}

/// The evidence of a finding, cut and redacted; the only way for raw text into a report.
fn excerpt_of(call: &Call<'_>, finding: &Finding, names: Names<'_>) -> String {
    /// Fields that the rules have not looked into.
    const UNSCANNED: [&str; 3] = ["/tool", "/model", "/response_id"];
    let Some(text) = call.record.text_at(&finding.field) else { return String::new() };
    let (is_quote, span) = (finding.rule == QUOTE_RULE, finding.span.clone());
    if names.shows_sensitive() {
        return if is_quote { unredacted_quote(text, span) } else { unredacted(text, span) };
    }
    if UNSCANNED.iter().any(|field| finding.field.starts_with(field)) {
        return match names.shown(text) {
            Cow::Borrowed(_) => excerpt(text, finding.span.clone(), &[]),
            Cow::Owned(shown) => excerpt(&shown, 0..shown.len(), &[]),
        };
    }
    let in_field = call.sensitive.iter().filter(|(field, _)| *field == finding.field);
    let sensitive: Vec<Range<usize>> = in_field.map(|(_, span)| span.clone()).collect();
    if is_quote { quote(text, span, &sensitive) } else { excerpt(text, span, &sensitive) }
}

/// Every text of the object that a name of the log can have got into.
fn hide_names(record: &mut VerdictRecord, names: Names<'_>) {
    let VerdictRecord { id, model, tool, session_id, label, signals, findings, engines, explanation, .. } = record;
    names.hide(id);
    [model, tool, session_id, label].into_iter().flatten().for_each(|name| names.hide(name));
    signals.iter_mut().for_each(|signal| names.hide(&mut signal.detail));
    for finding in findings {
        names.hide(&mut finding.field);
        if let Cow::Owned(detail) = &mut finding.detail {
            names.hide(detail);
        }
    }
    for (_, detail) in engines.0.iter_mut().flat_map(|(_, engine)| &mut engine.details.0) {
        if let Detail::Text(text) = detail {
            names.hide(text);
        }
    }
    names.hide(explanation);
}

/// The object for a unit that is no record.
pub fn rejected(place: &Place, fault_byte: usize, reason: &str, names: Names<'_>) -> RejectedUnit {
    RejectedUnit::new(&place.source, place.line, place.item, place.byte + fault_byte as u64, names.shown(reason))
}
