//! Requests and answers of batch files, joined by their `custom_id`, in either order and across the files of a run.
//!
//! Each line is read as a record of its own, with the id for its id. Where an id comes more than once, requests and answers
//! are paired in their order. An answer without a request is audited alone, and a request without an answer too; both are
//! noted.
//!
//! **Limits**: a batch has no times (it may take a day), so that nothing is known of latency.

use crate::{
    hash,
    input::Place,
    record::{Format, Record},
};

use super::{Assembler, Body, Fate, Joined, Key, Step, Whole};

/// A line that waits for the other half of its call.
#[derive(Debug)]
pub struct Half {
    record: Box<Record<'static>>,
    is_answer: bool,
}

impl Half {
    pub fn join_alone(self, place: Place, format: Format) -> Joined {
        Joined::new(place, format, Whole::Record(self.record)).without_half()
    }

    /// Request and answer as one call.
    fn join(self, other: Half) -> Box<Record<'static>> {
        let (request, answer) = if self.is_answer { (other, self) } else { (self, other) };
        let (mut record, asked) = (answer.record, *request.record);
        record.prompt = asked.prompt;
        record.system = asked.system;
        record.tools = asked.tools;
        record.expected_schema = asked.expected_schema;
        record.rules = asked.rules;
        record.context.splice(0..0, asked.context);
        record.notes.merge(asked.notes);
        match &record.model {
            Some(_) => record.declared_model = asked.model,
            None => record.model = asked.model,
        }
        record
    }
}

impl Assembler {
    pub(super) fn push_half(&mut self, step: &mut Step, record: Record<'static>) -> Fate {
        let is_answer = record.response.is_some() || !record.tool_calls.is_empty() || record.error.is_some();
        let half = Half { is_answer, record: Box::new(record) };
        let Some(id) = half.record.id.as_deref().map(hash::name) else {
            step.records.push(half.join_alone(step.place.clone(), step.format));
            return Fate::Held;
        };
        let [own, other] = if is_answer { [true, false] } else { [false, true] };
        let Some(open) = self.take_waiting(Key::Batch(id, other)) else {
            self.begin(step, Key::Batch(id, own), Body::Batch(half));
            return Fate::Held;
        };
        let (place, format) = (open.place, open.format);
        if let Body::Batch(waiting) = open.body {
            step.records.push(Joined::new(place, format, Whole::Record(waiting.join(half))));
        }
        Fate::Merged
    }
}
