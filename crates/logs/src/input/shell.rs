//! What stands around the elements of a document that is too large to be one unit.
//!
//! The elements of its array are units; everything else of the document is its shell. What an element means may depend
//! on the shell (the resource of spans, the configuration of a run), so each carries it along. Shells are shared by the
//! elements of one array, and those of nested arrays share what stands outside, so that they take no more memory than the
//! bytes that were read.

use std::sync::Arc;

/// The document around a unit: what stands before the array of which the unit is an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// What stands before the element of the array around this one.
    outer: Option<Arc<Shell>>,
    /// From there to the bracket that opens the array, with it.
    before: Box<[u8]>,
    /// The brackets that close the array and everything around it.
    closing: Box<[u8]>,
    /// Bytes before the element, those of `outer` among them.
    bytes: usize,
}

impl Shell {
    pub(super) fn new(outer: Option<Arc<Shell>>, before: &[u8], closing: Vec<u8>) -> Shell {
        let bytes = before.len() + outer.as_ref().map_or(0, |outer| outer.bytes);
        Shell { outer, before: before.into(), closing: closing.into(), bytes }
    }

    /// The text of the document as if `element` were all that its arrays hold: what stands before the array, the
    /// element, and the brackets that close it. What stands behind the array is not there, and neither are the other
    /// elements of the arrays around it.
    pub fn around(&self, element: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.bytes + element.len() + self.closing.len());
        self.write_before(&mut text);
        text.extend_from_slice(element);
        text.extend_from_slice(&self.closing);
        text
    }

    /// Where in [`Shell::around`] the element begins.
    pub fn bytes_before(&self) -> usize {
        self.bytes
    }

    fn write_before(&self, text: &mut Vec<u8>) {
        if let Some(outer) = &self.outer {
            outer.write_before(text);
        }
        text.extend_from_slice(&self.before);
    }
}

/// What is left of a document when its elements are taken out: its head and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Its text, in which the array is empty; `None` above [`shell_bytes`](super::Limits::shell_bytes).
    pub text: Option<Arc<[u8]>>,
    /// Elements that were units of their own.
    pub elements: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_put_around_its_element() {
        let outer = Arc::new(Shell::new(None, b"{\"r\":[", b"]}".to_vec()));
        assert_eq!(outer.around(b"{}"), b"{\"r\":[{}]}");
        let inner = Shell::new(Some(outer), b"{\"a\":1,\"s\":[", b"]}]}".to_vec());
        assert_eq!(inner.around(b"{\"x\":2}"), b"{\"r\":[{\"a\":1,\"s\":[{\"x\":2}]}]}");
        assert_eq!(inner.bytes_before(), 18);
    }
}
