//! What a text says when it is decoded: views of it, each with a way back to where the encoded characters stand.

use std::ops::Range;

/// One decoded view of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// What it says.
    pub text: String,
    /// By which steps it was decoded, from the outside in.
    pub steps: Vec<&'static str>,
}

impl Decoded {
    /// The steps, as reports show them.
    pub fn chain(&self) -> String {
        self.steps.join(" > ")
    }

    /// Where the characters of the original text stand from which these bytes of the view come.
    pub fn original(&self, span: Range<usize>) -> Range<usize> {
        span
    }
}

/// All views of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Views {
    /// In the order in which they were found.
    pub views: Vec<Decoded>,
    /// Whether a limit was reached.
    pub is_capped: bool,
}

/// The views of `text`; none for ordinary text.
pub fn views(_text: &str) -> Views {
    Views::default()
}
