//! Events of GenAI conventions up to 1.36, joined with their spans by trace and span id.
//!
//! The texts of a call stand in log records of their own, mostly in another file than the span with its times, model and
//! token counts. Whichever comes first waits: events for their span, a span for its `gen_ai.choice`. A span that ended with
//! an error has none and waits for nothing. Events whose span is not in the log are audited alone; a span whose events are
//! not in the log is audited without texts.

use crate::{
    hash,
    input::Place,
    record::{
        Format, Record,
        json::{Json, Number},
        piece::otel_event::{Event, Said},
    },
};

use super::{Assembler, Body, Fate, Joined, Key, Step, Whole, object, string};

/// What the events of one span said so far.
#[derive(Debug, Default)]
pub struct Events {
    messages: Vec<Json<'static>>,
    choices: Vec<Json<'static>>,
    time_ms: Option<i64>,
    span: Option<Box<Record<'static>>>,
}

impl Events {
    /// What is known when no more comes.
    pub fn join_alone(mut self, place: Place, format: Format) -> Joined {
        if let Some(span) = self.span.take() {
            return self.complete(span, place, format);
        }
        let time = self.time_ms.and_then(|ms| u64::try_from(ms).ok());
        let time = time.map(|ms| ("timestamp", Json::Number(Number::Unsigned(ms))));
        let tree = object(time.into_iter().chain(self.bodies()));
        Joined::new(place, format, Whole::Tree(tree)).without_half()
    }

    fn complete(self, span: Box<Record<'static>>, place: Place, format: Format) -> Joined {
        let tree = object(self.bodies());
        Joined::new(place, format, Whole::Completed(span, tree))
    }

    fn bodies(self) -> impl Iterator<Item = (&'static str, Json<'static>)> {
        let Events { messages, choices, .. } = self;
        let request = (!messages.is_empty()).then(|| ("request", object([("messages", Json::Array(messages))])));
        let response = (!choices.is_empty()).then(|| {
            let body = object([("object", string("chat.completion")), ("choices", Json::Array(choices))]);
            ("response", body)
        });
        request.into_iter().chain(response)
    }

    fn take(&mut self, event: Event) {
        self.time_ms = self.time_ms.or(event.time_ms);
        match event.said {
            Said::Message(message) => self.messages.push(message),
            Said::Choice(choice) => self.choices.push(choice),
        }
    }

    fn is_whole(&self) -> bool {
        self.span.as_ref().is_some_and(|span| !self.choices.is_empty() || span.error.is_some())
    }
}

impl Assembler {
    pub(super) fn push_otel_event(&mut self, step: &mut Step, event: Event) -> Fate {
        let Some((trace, span)) = &event.span else {
            let mut events = Events::default();
            events.take(event);
            step.records.push(events.join_alone(step.place.clone(), step.format));
            return Fate::Held;
        };
        let name = hash::combine(hash::name(trace), hash::name(span));
        self.push_otel(step, name, |events| events.take(event))
    }

    pub(super) fn push_otel_span(&mut self, step: &mut Step, span: Record<'static>) -> Fate {
        let ids = span.span.as_ref().and_then(|ids| ids.trace_id.as_deref().zip(ids.id.as_deref()));
        let Some((trace, id)) = ids else {
            step.records.push(Joined::new(step.place.clone(), step.format, Whole::Record(Box::new(span))));
            return Fate::Held;
        };
        let [trace, id] = [trace, id].map(|id| hash::name(&id.to_ascii_lowercase()));
        let format = span.format;
        let fate = self.push_otel(step, hash::combine(trace, id), |events| events.span = Some(Box::new(span)));
        step.records.iter_mut().for_each(|joined| joined.format = format);
        fate
    }

    fn push_otel(&mut self, step: &mut Step, name: u64, add: impl FnOnce(&mut Events)) -> Fate {
        let key = Key::Events(name);
        let (number, fate) = match self.waiting(key) {
            Some(number) => {
                self.grow(number, step.bytes);
                (number, Fate::Merged)
            }
            None if self.late.contains(&name) => return Fate::Merged,
            None => (self.begin(step, key, Body::Events(Events::default())), Fate::Held),
        };
        let Some(Body::Events(events)) = self.body(number) else { return fate };
        add(events);
        if events.is_whole() {
            self.late.put(name, ());
            if let Some(open) = self.take(number) {
                step.records.extend(open.join());
            }
        }
        fate
    }
}
