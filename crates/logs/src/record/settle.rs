//! The last look at a record that is whole, whoever wrote it.

use super::{Container, Kind, Note, Prompt, Record, passages, templates};

/// Texts with which gateways and SDKs replace what they were told not to log.
const PLACEHOLDERS: [&str; 9] = [
    "redacted-by-litellm",
    "[REDACTED]",
    "<REDACTED>",
    "REDACTED",
    "[redacted]",
    "<redacted>",
    "redacted",
    "<redacted by OpenTelemetry>",
    "[Filtered]",
];

impl Record<'_> {
    /// What [`Record::tidy`] does; a prompt that is a whole chat template is read into messages, and documents are cut out of
    /// the prompt. Of the normal form they were when it was written.
    pub(crate) fn settle(&mut self) {
        self.tidy();
        if self.format.container != Container::NORMAL {
            templates::read(self);
            passages::cut(self);
            templates::read_headed(self);
        }
    }

    /// Texts that are placeholders are absent, a call that failed has no empty answer, and one without any text is noted.
    pub(crate) fn tidy(&mut self) {
        drop_placeholders(self);
        if self.error.is_some() && self.response.as_deref().is_some_and(|text| text.trim().is_empty()) {
            self.response = None;
        }
        let is_silent = self.prompt.is_absent() && self.response.is_none() && self.tool_calls.is_empty();
        if self.kind == Kind::Llm && is_silent {
            self.notes.add(Note::HealthOnly);
        } else {
            self.notes.remove(Note::HealthOnly);
        }
    }

    /// Whether there is nothing in it to audit.
    pub(crate) fn is_empty(&self) -> bool {
        self.prompt.is_absent()
            && self.response.is_none()
            && self.error.is_none()
            && self.latency_ms.is_none()
            && self.execution_time_ms.is_none()
            && self.prompt_tokens.is_none()
            && self.tool_calls.is_empty()
            && self.args.is_none()
            && self.result.is_none()
    }
}

/// Texts that somebody put in the place of what must not be logged say nothing; they are absent, which is noted.
fn drop_placeholders(record: &mut Record<'_>) {
    let is_placeholder = |text: &str| text.len() <= 32 && PLACEHOLDERS.contains(&text.trim());
    let mut is_redacted = false;
    if record.response.as_deref().is_some_and(is_placeholder) {
        (record.response, is_redacted) = (None, true);
    }
    match &mut record.prompt {
        Prompt::Text(text) if is_placeholder(text) => (record.prompt, is_redacted) = (Prompt::Absent, true),
        Prompt::Messages(messages) => {
            let before = messages.len();
            messages.retain(|message| !is_placeholder(&message.text));
            if messages.len() < before {
                is_redacted = true;
                if messages.is_empty() {
                    record.prompt = Prompt::Absent;
                }
            }
        }
        _ => {}
    }
    if record.system.as_deref().is_some_and(is_placeholder) {
        (record.system, is_redacted) = (None, true);
    }
    if is_redacted {
        record.notes.add(Note::Redacted);
    }
}
