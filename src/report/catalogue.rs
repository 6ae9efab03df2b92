//! What is said of a rule where a report names it: a title, what to do about it, and its place in OWASP's list.
//!
//! The rules are the signals (`llmverify engines` has their formulas). A signal of an engine from outside is not in the
//! table and gets its own name as its title.
//!
//! **Source** of the tags: OWASP Top 10 for LLM Applications, numbering of 2025; that of 2026 beside it.

use crate::{
    engines::{Question, Severity},
    rules::rule::owasp_2026,
};

/// What is said of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// The signal.
    pub id: &'static str,
    /// What was found, as a sentence.
    pub title: &'static str,
    /// What to look at first.
    pub help: &'static str,
    /// OWASP's number, of 2025; empty when none fits.
    pub owasp: &'static str,
}

const fn text(id: &'static str, title: &'static str, owasp: &'static str, help: &'static str) -> RuleText {
    RuleText { id, title, help, owasp }
}

/// The built-in signals, in alphabetical order.
pub const RULES: &[RuleText] = &[
    text(
        "active_content",
        "The answer holds content that acts on whoever shows or runs it.",
        "LLM05",
        "Escape model output where it is shown; never run it. Look at the evidence for script, escapes or commands.",
    ),
    text(
        "agent_flow",
        "A tool was called that must not be called after another one of the session.",
        "LLM06",
        "Look at what the first tool read and at what the second one gave away.",
    ),
    text(
        "agent_loop",
        "The same calls of tools come again and again.",
        "LLM10",
        "Look at the results: does the agent make headway? Bound its steps.",
    ),
    text(
        "agent_repeated_call",
        "A tool is called again with the same arguments, to the same result.",
        "LLM10",
        "Look at why the agent did not use the result that it had.",
    ),
    text(
        "agent_tool_not_allowed",
        "A tool is called that is not on the allow list.",
        "LLM06",
        "Take the tool away from the agent, or put it on the list.",
    ),
    text(
        "call_failed",
        "The call ended with an error.",
        "",
        "Look at the error of the record and at the provider's status at that time.",
    ),
    text(
        "empty_response",
        "The model answered nothing.",
        "",
        "Look at finish reason and token limit; a filter may have removed the answer.",
    ),
    text(
        "exfiltration",
        "A link or image in the answer carries data of the record away.",
        "LLM02",
        "Do not render links and images of model output to foreign hosts. Find out which text asked for it.",
    ),
    text(
        "false_equation",
        "An equation, sum or identity in the answer does not hold.",
        "LLM09",
        "Recompute the marked equation; let a tool calculate where numbers matter.",
    ),
    text(
        "gibberish",
        "The answer is not made of words.",
        "",
        "Look at sampling settings and at the encoding of the log.",
    ),
    text(
        "grounding_any_claim",
        "Statements of the answer are not borne out by the documents given to the model.",
        "LLM09",
        "Compare the marked claims with their closest sentence; look at what was retrieved.",
    ),
    text(
        "grounding_bigrams",
        "Pairs of words of the answer do not stand in the documents.",
        "LLM09",
        "Compare the marked claims with their closest sentence.",
    ),
    text(
        "grounding_compression",
        "The answer says things that its documents do not hold.",
        "LLM09",
        "Compare the marked claims with their closest sentence.",
    ),
    text(
        "grounding_fields",
        "Fields that the answer names do not stand in the documents so.",
        "LLM09",
        "Compare the named fields with the source.",
    ),
    text(
        "grounding_hallucination",
        "The answer contradicts the documents given to the model.",
        "LLM09",
        "Compare the contradicted claim with the sentence beside it.",
    ),
    text(
        "grounding_hours",
        "Opening hours in the answer differ from the documents.",
        "LLM09",
        "Compare the hours with the source.",
    ),
    text(
        "grounding_names",
        "The answer names somebody or something that the documents do not.",
        "LLM09",
        "Look for the names in the documents.",
    ),
    text(
        "grounding_nulls",
        "The answer fills in what the documents leave open.",
        "LLM09",
        "Look at the empty fields of the source.",
    ),
    text(
        "grounding_number_pairs",
        "Numbers of the answer stand beside other words than in the documents.",
        "LLM09",
        "Compare the numbers with the source.",
    ),
    text(
        "grounding_numbers",
        "The answer has numbers that the documents do not.",
        "LLM09",
        "Compare the numbers with the source.",
    ),
    text(
        "grounding_run",
        "Long parts of the answer stand nowhere in the documents.",
        "LLM09",
        "Compare the marked claims with their closest sentence.",
    ),
    text(
        "grounding_share",
        "Too few claims of the answer are borne out by the documents.",
        "LLM09",
        "Compare the marked claims with their closest sentence; look at what was retrieved.",
    ),
    text(
        "grounding_window",
        "A claim of the answer has no passage that bears it out.",
        "LLM09",
        "Compare the marked claim with its closest sentence.",
    ),
    text(
        "grounding_words",
        "Words of the answer do not stand in the documents.",
        "LLM09",
        "Compare the marked claims with their closest sentence.",
    ),
    text(
        "grounding_worst_claim",
        "One claim of the answer is not borne out by the documents.",
        "LLM09",
        "Compare the marked claim with its closest sentence.",
    ),
    text(
        "hallucination_risk",
        "New names, new keys, overconfidence or contradictions in the answer.",
        "LLM09",
        "Check the names and keys of the evidence against the prompt.",
    ),
    text(
        "historical_inconsistency",
        "The tool gave numbers that contradict its earlier answers to the same arguments.",
        "LLM09",
        "Ask the tool again with these arguments; was it called at all?",
    ),
    text(
        "injection_multi_turn",
        "An attack that takes several turns.",
        "LLM01",
        "Read the conversation from its first turn; treat the session as hostile.",
    ),
    text(
        "instruction_violated",
        "The answer breaks a rule that it was given.",
        "",
        "Look at the rule and the place in the evidence; enforce formats outside of the model.",
    ),
    text(
        "knowledge_conflict",
        "The answer contradicts the knowledge files, or repeats what they say is superseded.",
        "LLM09",
        "Compare with the statement named in the evidence; which of the two is current?",
    ),
    text(
        "latency_anomaly",
        "The tool answered faster than it can work.",
        "LLM09",
        "Was the tool called at all? Look for mocks, caches and made-up results.",
    ),
    text(
        "latency_high",
        "The answer took much longer than usual.",
        "",
        "Look at the provider's status, prompt length and retries at that time.",
    ),
    text(
        "length_anomaly",
        "The tool's answer is shorter or longer than it should be.",
        "LLM09",
        "Compare with a real answer of the tool; adjust its profile when that has changed.",
    ),
    text(
        "model_behaviour",
        "The answer is unlike the model's usual ones in style and in pace at once.",
        "LLM03",
        "Find out which model really answered.",
    ),
    text(
        "model_mismatch",
        "Another model answered than the one that was asked for.",
        "LLM03",
        "Look at routing, fallbacks and aliases.",
    ),
    text(
        "model_version_drift",
        "Another version answers behind the same name.",
        "LLM03",
        "Pin the version, or accept the new one and evaluate it.",
    ),
    text(
        "pattern_mismatch",
        "The tool's answer matches none of the patterns that it should.",
        "LLM09",
        "Compare with a real answer of the tool; adjust its profile when that has changed.",
    ),
    text(
        "pii",
        "The answer gives away data about a person.",
        "LLM02",
        "Find out where the data came from; redact it in the answer and in the log.",
    ),
    text(
        "prompt_injection",
        "The input tries to subvert the model.",
        "LLM01",
        "Look at the field of the evidence: a user, a document or a tool? Separate instructions from data.",
    ),
    text(
        "reasoning_compressed",
        "The answer is too shallow for its prompt.",
        "",
        "Look at token limits and at the model that answered.",
    ),
    text("refusal", "The model declined.", "", "Was the refusal right? If not, rephrase the prompt."),
    text(
        "repetition",
        "The answer says the same over and over.",
        "LLM10",
        "Look at sampling settings; limit the tokens of an answer.",
    ),
    text(
        "schema_mismatch",
        "The tool's answer lacks a required field or has a forbidden one.",
        "LLM09",
        "Compare with a real answer of the tool; forbidden fields betray mocks.",
    ),
    text(
        "schema_violated",
        "The output violates the schema that it must follow.",
        "LLM05",
        "Look at the path in the evidence; validate outputs before use.",
    ),
    text(
        "secret",
        "The answer or the log gives away a key, token or password.",
        "LLM02",
        "Revoke the secret now, then find out how it got there.",
    ),
    text(
        "session_inconsistency",
        "The tool gave numbers that contradict its earlier answers in the session.",
        "LLM09",
        "Ask the tool again; was it called at all?",
    ),
    text("slow_tool", "The tool took longer than it should.", "", "Look at the tool's own monitoring at that time."),
    text(
        "spc_anomaly",
        "Latency, size, fields or numbers of the tool's answer leave their control charts.",
        "LLM09",
        "Compare with the tool's answers just before; has the tool changed, or was the answer made up?",
    ),
    text(
        "structure_broken",
        "JSON, lists or code blocks of the answer are broken.",
        "LLM05",
        "Use structured output, or validate and retry.",
    ),
    text(
        "style_shift",
        "The answer is shaped unlike the model's usual ones.",
        "",
        "Has the model or its system prompt changed?",
    ),
    text(
        "system_prompt_leak",
        "The system prompt, or a part of it, stands in the answer.",
        "LLM07",
        "Keep secrets out of the system prompt; look at what the user asked.",
    ),
    text(
        "temporal_conflict",
        "A fact is given as current that is outdated, or a date that cannot be.",
        "LLM09",
        "Compare with the recency index; give the model the current date.",
    ),
    text(
        "token_rate_low",
        "The answer came with far fewer tokens per second than usual.",
        "",
        "Look at the provider's status at that time.",
    ),
    text(
        "tool_contradiction",
        "The answer contradicts what a tool of the conversation has said.",
        "LLM09",
        "Compare the answer with the result of the tool beside it.",
    ),
    text(
        "tool_error",
        "The tool's answer says itself that the call failed.",
        "LLM09",
        "Did the model go on as if the call had worked?",
    ),
    text("truncation", "The answer breaks off.", "", "Raise the token limit, or ask for shorter answers."),
    text(
        "value_plausibility",
        "A number of the tool's answer is far from its last hundred values.",
        "LLM09",
        "Compare with the tool's answers just before.",
    ),
];

/// What is said of the rule `id`.
pub fn find(id: &str) -> Option<&'static RuleText> {
    RULES.binary_search_by(|rule| rule.id.cmp(id)).ok().map(|at| &RULES[at])
}

/// The title of the rule `id`: its sentence, or its name where there is none.
pub fn title(id: &str) -> &str {
    find(id).map_or(id, |rule| rule.title)
}

/// What to look at first.
pub fn help(id: &str) -> &'static str {
    find(id).map_or("`llmverify explain` shows why a record was judged as it was.", |rule| rule.help)
}

/// Tags of the rule: its question, `security` where that is about security, and OWASP's numbers.
pub fn tags(id: &str, question: Question) -> Vec<String> {
    let mut tags = vec![question.as_str().to_owned()];
    if is_security(question) {
        tags.push("security".to_owned());
    }
    if let Some(of_2025) = find(id).map(|rule| rule.owasp).filter(|owasp| !owasp.is_empty()) {
        tags.push(format!("OWASP-{of_2025}-2025"));
        tags.extend(owasp_2026(of_2025).map(|of_2026| format!("OWASP-{of_2026}-2026")));
    }
    tags
}

/// Whether a question is about security.
pub fn is_security(question: Question) -> bool {
    matches!(question, Question::Attacked | Question::Leaking)
}

/// A severity as a number from 0.1 to 10, as code scanning wants it: above 9 critical, from 7 high, from 4 medium.
pub fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.0",
        Severity::Info => "0.5",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_complete() {
        assert!(RULES.is_sorted_by(|a, b| a.id < b.id));
        for rule in RULES {
            assert!(rule.title.ends_with('.') && !rule.help.is_empty(), "{}", rule.id);
            assert!(rule.owasp.is_empty() || owasp_2026(rule.owasp).is_some(), "{}", rule.id);
            assert_eq!(find(rule.id), Some(rule));
        }
    }

    #[test]
    fn every_signal_of_the_code_has_a_text() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = vec![root.join("engines"), root.join("history")];
        let mut found = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                if path.extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                for line in std::fs::read_to_string(&path).unwrap().lines() {
                    let Some(rest) = line.strip_prefix("pub const ") else { continue };
                    let Some((name, value)) = rest.split_once(": &str = \"") else { continue };
                    if name.ends_with("SIGNAL") {
                        let id = value.trim_end_matches("\";");
                        assert!(find(id).is_some(), "{id} of {} has no text", path.display());
                        found += 1;
                    }
                }
            }
        }
        assert!(found > 30, "{found}");
    }

    #[test]
    fn tags_name_question_and_owasp() {
        let injection = ["attacked", "security", "OWASP-LLM01-2025", "OWASP-LLM01-2026"];
        assert_eq!(tags("prompt_injection", Question::Attacked), injection);
        assert_eq!(tags("latency_high", Question::Degraded), ["degraded"]);
        assert_eq!(tags("of_somebody_else", Question::Leaking), ["leaking", "security"]);
    }
}
