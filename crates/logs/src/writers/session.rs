//! What was said to a model since it spoke last.
//!
//! Sessions of agents have one line per thing said, and none for a call. What no answer follows is a call all the same when
//! the user or a tool said something: one that was interrupted. Frames that a client writes for itself are no reason for
//! one: texts in a tag (`<environment_context>…</environment_context>`), its instructions, its note of an interruption.
//!
//! Where a tool was stopped by the user, its result was not sent: nothing that was said up to there waits for an answer. A
//! session that is continued in another file says again what it said in the first; it waits in one of the two only.

use crate::{
    assemble::{Joined, Step},
    input::Place,
    record::{Record, json::Json},
};

/// How texts begin that are none of the user's, beside those in tags.
const FRAMES: [&str; 2] = ["# AGENTS.md", "[Request interrupted"];

/// What is to follow something said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Nothing: a client frames the conversation.
    Nothing,
    /// An answer, which is that to the line of this name.
    Answer(u64),
    /// Nothing, nor to what was said before: a tool was stopped.
    Stopped,
}

/// What was said, in order.
#[derive(Debug, Default)]
pub struct Inputs {
    items: Vec<Json<'static>>,
    /// Where and when the first stands.
    begun: Option<(Place, Option<i64>)>,
    /// What they took in the input.
    bytes: u64,
    /// What was said last that wants an answer.
    waits: Option<u64>,
}

impl Inputs {
    /// Adds what the piece at hand says.
    pub fn push(&mut self, step: &Step, item: Json<'static>, time_ms: Option<i64>, wants: Wants) {
        self.begun.get_or_insert_with(|| (step.place.clone(), time_ms));
        self.bytes += step.bytes;
        match wants {
            Wants::Nothing => {}
            Wants::Answer(name) => self.waits = Some(name),
            Wants::Stopped => self.waits = None,
        }
        self.items.push(item);
    }

    /// What they took in the input.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Waits no longer when the line of this name is the last that wants an answer; whether it was.
    pub fn leave(&mut self, name: u64) -> bool {
        self.waits.take_if(|waits| *waits == name).is_some()
    }

    /// What was said.
    pub fn into_items(self) -> Vec<Json<'static>> {
        self.items
    }

    /// The call that has no answer, when there is one; `record` makes it of the items and the time.
    pub fn unanswered(self, record: impl FnOnce(Vec<Json<'static>>, Option<i64>) -> Record<'static>) -> Option<Joined> {
        let (place, time_ms) = self.begun.filter(|_| self.waits.is_some())?;
        let mut joined = Joined::record(place, record(self.items, time_ms)).unanswered();
        // Its lines are counted as merged, as those of a call with an answer are.
        (joined.is_further, joined.is_paired) = (true, true);
        Some(joined)
    }
}

/// Whether a text is what a user says.
pub fn is_users(text: &str) -> bool {
    let text = text.trim();
    let is_tagged = text.starts_with('<') && text.ends_with('>');
    !text.is_empty() && !is_tagged && !FRAMES.iter().any(|frame| text.starts_with(frame))
}

/// The milliseconds of a time, where it can be read.
pub fn time_ms(value: Option<&Json<'_>>) -> Option<i64> {
    crate::record::values::moment_ms(value?)
}

/// The text of a key, owned.
pub fn text(value: &Json<'_>, key: &str) -> Option<String> {
    value.get(key).and_then(Json::as_str).map(str::to_owned)
}

/// An object of these entries.
pub fn object(entries: impl IntoIterator<Item = (&'static str, Json<'static>)>) -> Json<'static> {
    Json::Object(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// A string.
pub fn string(text: impl Into<String>) -> Json<'static> {
    Json::String(text.into().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_clients_are_no_questions() {
        for (text, expected) in [
            ("Where are the tests?", true),
            ("<div> or <p>?", true),
            ("", false),
            ("<environment_context>\n<cwd>/</cwd>\n</environment_context>", false),
            ("<command-name>/exit</command-name>", false),
            ("# AGENTS.md instructions for /srv", false),
            ("[Request interrupted by user]", false),
        ] {
            assert_eq!(is_users(text), expected, "{text}");
        }
    }
}
