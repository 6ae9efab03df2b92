//! What a coding harness tells the model beside what the user says: the machine, the open files, the rules of a project.
//!
//! Claude Code, Codex, Gemini CLI, Cursor, Cline, Roo Code and Copilot put it into elements of their own within the turns of
//! the user, and Claude Code also into the results of tools. Nothing that is asked rests on it, and its tags are no forged turn.
//!
//! **Limits**: anyone can write such a tag. What stands in it is the harness's in form only: an order against the
//! operator's rules is one there, too. What is not closed is no frame, and of frames within each other the outer one counts.

use std::ops::Range;

/// Bytes of a whole tag with its attributes.
const TAG_BYTES_MAX: usize = 200;

/// Names of the elements.
const NAMES: [&str; 22] = [
    "additional_data",
    "attached_files",
    "editorContext",
    "env",
    "environment",
    "environment_context",
    "environment_details",
    "environment_info",
    "git_status",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "open_and_recently_viewed_files",
    "project_layout",
    "reminderInstructions",
    "session_context",
    "system-reminder",
    "system_reminder",
    "user_info",
    "user_instructions",
    "user_rules",
    "workspace_info",
];

/// An element of a harness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// All of it, with its tags.
    pub span: Range<usize>,
    /// What stands in it.
    pub inner: Range<usize>,
}

/// The frames of a text, in order and without overlap.
pub fn frames(text: &str) -> Vec<Frame> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // Names that nothing closes from here to the end of the text.
    let mut unclosed = 0_u32;
    let mut from = 0;
    while let Some(at) = memchr::memchr(b'<', &bytes[from..]).map(|at| from + at) {
        from = at + 1;
        let Some((index, inner)) = opened(text, at).filter(|(index, _)| unclosed & 1 << index == 0) else { continue };
        let close = format!("</{}>", NAMES[index]);
        match memchr::memmem::find(&bytes[inner..], close.as_bytes()) {
            Some(length) => {
                from = inner + length + close.len();
                found.push(Frame { span: at..from, inner: inner..inner + length });
            }
            None => unclosed |= 1 << index,
        }
    }
    found
}

/// Which element the tag at `at` opens, and where what stands in it begins.
fn opened(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text.as_bytes()[at + 1..];
    let is_name = |byte: &&u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    let length = rest.iter().take(TAG_BYTES_MAX).take_while(is_name).count();
    let index = NAMES.iter().position(|name| name.as_bytes() == &rest[..length])?;
    let rest = &rest[length..rest.len().min(length + TAG_BYTES_MAX)];
    let end = memchr::memchr2(b'>', b'<', rest).filter(|end| rest[*end] == b'>')?;
    (end == 0 || rest[0].is_ascii_whitespace()).then_some((index, at + 1 + length + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_what_a_harness_says() {
        let check = |text: &str, expected: &[&str]| {
            let found = frames(text);
            assert_eq!(found.iter().map(|frame| &text[frame.inner.clone()]).collect::<Vec<_>>(), expected, "{text}");
            assert!(found.iter().all(|frame| text[frame.span.clone()].starts_with('<')));
        };
        check("<system-reminder>\nBe <b>brief</b>\n</system-reminder>\nHello", &["\nBe <b>brief</b>\n"]);
        check("Hi <session_context>Linux</session_context> <env os=\"x\">y</env>", &["Linux", "y"]);
        check("<env><user_info>a</user_info></env>", &["<user_info>a</user_info>"]);
        check("<context>a</context> <envy>b</envy> <env/> <ENV>c</ENV> </env>", &[]);
        check("<system-reminder>a <env>é</env>", &["é"]);
        for unit in ["<env>", "<", "<env ", "<env></env>", "<system-reminder><env>"] {
            let _ = frames(&unit.repeat(300_000 / unit.len()));
        }
    }
}
