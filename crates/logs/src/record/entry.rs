//! What a value of a log turned out to be.
//!
//! - a [`Record`]: one call, whole
//! - a [`Fragment`]: a part of a record whose other parts stand in other units; `assemble` puts them together
//! - [`Ignored`]: recognised, and known to hold no call of its own
//! - [`Rejected`]: not understood, with the byte and the reason

use super::{Container, Format, Passage, Record, Span, json::Json, json::ParseError};

/// What was read.
#[expect(clippy::large_enum_variant, reason = "a record is the rule, and should cost no allocation")]
#[derive(Clone, Debug, PartialEq)]
pub enum Entry<'a> {
    /// A record.
    Record(Record<'a>),
    /// A part of a record whose other parts stand in other units.
    Fragment(Fragment<'a>),
    /// Recognised, and known to hold no call of its own.
    Ignored(Ignored<'a>),
}

impl<'a> Entry<'a> {
    /// The record, when this is one.
    pub fn record(self) -> Option<Record<'a>> {
        if let Entry::Record(record) = self { Some(record) } else { None }
    }

    /// The same entry, owning its text.
    pub fn into_owned(self) -> Entry<'static> {
        match self {
            Entry::Record(record) => Entry::Record(record.into_owned()),
            Entry::Fragment(fragment) => Entry::Fragment(fragment.into_owned()),
            Entry::Ignored(ignored) => Entry::Ignored(ignored.into_owned()),
        }
    }

    /// The record, borrowed, when this is one.
    pub fn as_record(&self) -> Option<&Record<'a>> {
        if let Entry::Record(record) = self { Some(record) } else { None }
    }
}

/// A part of a record: a chunk of a stream, half of a pair, a line of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment<'a> {
    /// The writer whose joiner puts it together with others.
    pub joiner: Container,
    /// What it was written by.
    pub format: Format,
    /// What it holds.
    pub content: Content<'a>,
}

/// What a fragment holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<'a> {
    /// A value that only its joiner understands.
    Value(Json<'a>),
    /// A record that lacks something.
    Record(Box<Record<'a>>),
}

impl<'a> Fragment<'a> {
    /// A value for the joiner of its own container.
    pub fn of_value(format: Format, value: Json<'a>) -> Fragment<'a> {
        Fragment { joiner: format.container, format, content: Content::Value(value) }
    }

    /// The same fragment, owning its text.
    pub fn into_owned(self) -> Fragment<'static> {
        let content = match self.content {
            Content::Value(value) => Content::Value(value.into_owned()),
            Content::Record(record) => Content::Record(Box::new(record.into_owned())),
        };
        Fragment { joiner: self.joiner, format: self.format, content }
    }
}

/// A value that holds no call of its own, and is counted by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Ignored<'a> {
    /// What it was written by.
    pub format: Format,
    /// What it is, as a noun ("a span of a framework").
    pub what: &'static str,
    /// Whether it repeats what its children say; it is counted as `parent` then, else as `skipped`.
    pub is_parent: bool,
    /// What it tells the calls around it, where a tracer recorded it among them.
    pub around: Option<Box<Around<'a>>>,
}

/// What a span without a call tells the calls of its trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Around<'a> {
    /// Where it stands.
    pub span: Span<'a>,
    /// The session of the trace, where it names it.
    pub session_id: Option<std::borrow::Cow<'a, str>>,
    /// Documents that it retrieved.
    pub documents: Vec<Passage<'a>>,
}

impl<'a> Ignored<'a> {
    /// Something recognised that holds no call.
    pub fn skipped(format: Format, what: &'static str) -> Ignored<'a> {
        Ignored { format, what, is_parent: false, around: None }
    }

    /// Something recognised that repeats its children.
    pub fn parent(format: Format, what: &'static str) -> Ignored<'a> {
        Ignored { format, what, is_parent: true, around: None }
    }

    /// The same, owning its text.
    pub fn into_owned(self) -> Ignored<'static> {
        let around = self.around.map(|around| {
            let Around { span, session_id, documents } = *around;
            let documents = documents.into_iter().map(Passage::into_owned).collect();
            Box::new(Around { span: span.into_owned(), session_id: session_id.map(super::json::owned), documents })
        });
        Ignored { format: self.format, what: self.what, is_parent: self.is_parent, around }
    }
}

/// A unit, or a part of one, that is not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Offset of the fault in the unit (not in the item).
    pub byte: usize,
    /// What is wrong, as a clause; shows no text of the record beyond names of keys.
    pub reason: String,
}

impl From<ParseError> for Rejected {
    fn from(ParseError { byte, reason }: ParseError) -> Rejected {
        Rejected { byte, reason }
    }
}
