//! What is known of one call from two places, in one record.

use std::collections::HashSet;

use super::{Kind, LatencySource, Passage, Record};
use crate::hash;

impl<'a> Record<'a> {
    /// Takes what another record of the same call has and this one lacks.
    pub(crate) fn fill(&mut self, other: Record<'a>) {
        macro_rules! fill {
            ($($field:ident),*) => { $(self.$field = self.$field.take().or(other.$field);)* };
        }
        fill!(
            id,
            timestamp_ms,
            session_id,
            model,
            declared_model,
            response_id,
            provider,
            host,
            level,
            system,
            response
        );
        fill!(ttft_ms, prompt_tokens, response_tokens, cached_tokens, reasoning_tokens, finish_reason, error, rules);
        fill!(expected_schema, tools, tool, call_id, args, result, label, feedback);
        if self.prompt.is_absent() {
            self.prompt = other.prompt;
        }
        if self.tool_calls.is_empty() {
            self.tool_calls = other.tool_calls;
        }
        self.add_context(other.context);
        if self.latency_ms.is_none() && self.execution_time_ms.is_none() {
            (self.latency_ms, self.execution_time_ms) = (other.latency_ms, other.execution_time_ms);
            self.latency_source = other.latency_source;
        }
        self.format.dialect = self.format.dialect.or(other.format.dialect);
        self.notes.merge(other.notes);
        self.problems.extend(other.problems);
        if let (Some(span), Some(other)) = (&mut self.span, other.span) {
            span.start_ns = span.start_ns.or(other.start_ns);
            span.end_ns = span.end_ns.or(other.end_ns);
            if let (Some(start), Some(end)) = (span.start_ns, span.end_ns)
                && self.latency_ms.is_none()
                && self.execution_time_ms.is_none()
                && end >= start
            {
                let ms = (end - start) as f64 / 1e6;
                *(if self.kind == Kind::Llm { &mut self.latency_ms } else { &mut self.execution_time_ms }) = Some(ms);
                self.latency_source = Some(LatencySource::StartAndEnd);
            }
        }
    }

    /// Takes the documents that it does not have yet.
    pub(crate) fn add_context(&mut self, documents: Vec<Passage<'a>>) {
        let known: HashSet<u64> = self.context.iter().map(|passage| hash::name(&passage.text)).collect();
        let new = documents.into_iter().filter(|document| !known.contains(&hash::name(&document.text)));
        self.context.extend(new);
    }
}
