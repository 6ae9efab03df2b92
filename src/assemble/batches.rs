//! Requests and answers of batch files, joined by their `custom_id`, in either order and across the files of a run.
//!
//! Where an id comes more than once, requests and answers are paired in their order. An answer without a request is
//! audited alone, and a request without an answer too; both are noted.

use crate::{
    input::Place,
    record::{
        Format,
        piece::batch::{self, Line},
    },
    stats::hash,
};

use super::{Assembler, Body, Fate, Joined, Key, Step, Whole};

/// A request that waits for its answer.
#[derive(Debug)]
pub struct Request(Line);

/// An answer that waits for its request.
#[derive(Debug)]
pub struct Answer(Line);

impl Request {
    pub fn join_alone(self, place: Place, format: Format) -> Joined {
        let tree = batch::pair(Some(self.0), None);
        Joined::new(place, format, Whole::Tree(tree)).lacking("custom_id", "has no answer in the log")
    }
}

impl Answer {
    pub fn join_alone(self, place: Place, format: Format) -> Joined {
        let tree = batch::pair(None, Some(self.0));
        Joined::new(place, format, Whole::Tree(tree)).lacking("custom_id", "has no request in the log")
    }
}

impl Assembler {
    pub(super) fn push_request(&mut self, step: &mut Step, request: Line) -> Fate {
        let id = hash::name(&request.custom_id);
        let Some(open) = self.take_waiting(Key::BatchAnswer(id)) else {
            self.begin(step, Key::BatchRequest(id), Body::BatchRequest(Request(request)));
            return Fate::Held;
        };
        if let Body::BatchAnswer(Answer(answer)) = open.body {
            let tree = batch::pair(Some(request), Some(answer));
            step.records.push(Joined::new(open.place, open.format, Whole::Tree(tree)));
        }
        Fate::Merged
    }

    pub(super) fn push_answer(&mut self, step: &mut Step, answer: Line) -> Fate {
        let id = hash::name(&answer.custom_id);
        let Some(open) = self.take_waiting(Key::BatchRequest(id)) else {
            self.begin(step, Key::BatchAnswer(id), Body::BatchAnswer(Answer(answer)));
            return Fate::Held;
        };
        if let Body::BatchRequest(Request(request)) = open.body {
            let tree = batch::pair(Some(request), Some(answer));
            step.records.push(Joined::new(open.place, open.format, Whole::Tree(tree)));
        }
        Fate::Merged
    }
}
