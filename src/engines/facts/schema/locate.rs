//! Where the value of a JSON Pointer stands in a text.
//!
//! **Limits**: each step parses the container that it goes through again, so that the cost is the size of the text times
//! the depth of the pointer; [`STEPS_MAX`] steps, then the container that was reached stands for the value.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use serde_json::value::RawValue;

/// Steps of one pointer that are followed.
const STEPS_MAX: usize = 16;

/// The bytes of the value at `pointer` in `text[span]`, which is JSON; of the innermost container that is there, when the
/// value is not.
pub fn locate(text: &str, span: Range<usize>, pointer: &str) -> Range<usize> {
    let mut here = span;
    for token in pointer.split('/').skip(1).take(STEPS_MAX) {
        let Some(part) = text.get(here.clone()).and_then(|json| step(json, token)) else { break };
        here = here.start + part.start..here.start + part.end;
    }
    here
}

fn step(json: &str, token: &str) -> Option<Range<usize>> {
    let found: &str = if json.trim_start().starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        items.get(token.parse::<usize>().ok()?)?.get()
    } else {
        let members: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(json).ok()?;
        members.get(token.replace("~1", "/").replace("~0", "~").as_str())?.get()
    };
    // The part is borrowed from `json`, so that its address says where it stands.
    let start = found.as_ptr().addr().checked_sub(json.as_ptr().addr())?;
    Some(start..start + found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_what_is_not_there() {
        let text = r#"It is {"a": [1, {"b/c": "x"}], "d": {}} then."#;
        let span = 6..text.len() - 6;
        for (pointer, expected) in [
            ("", r#"{"a": [1, {"b/c": "x"}], "d": {}}"#),
            ("/a/0", "1"),
            ("/a/1/b~1c", "\"x\""),
            ("/d/missing", "{}"),
            ("/a/7", r#"[1, {"b/c": "x"}]"#),
            ("/a/x/y", r#"[1, {"b/c": "x"}]"#),
        ] {
            assert_eq!(&text[locate(text, span.clone(), pointer)], expected, "{pointer}");
        }
    }
}
