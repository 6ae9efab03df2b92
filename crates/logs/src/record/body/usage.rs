//! Token counts, as the providers report them, under one meaning: tokens in the prompt with those of the cache, tokens
//! in the response with those of the reasoning.
//!
//! - OpenAI and Gemini count what came from the cache among the prompt's tokens; Anthropic and Bedrock count it beside
//!   them (`cache_read_input_tokens`, `cache_creation_input_tokens`), so that it is added here. A total that is already
//!   reached without it says that it was counted in.
//! - Langfuse keeps kinds of tokens apart (`input`, `input_cached_tokens`, `output`, `output_reasoning_tokens`), so that
//!   they are added as well, unless the total says that they were counted in.
//! - Gemini counts thoughts beside the candidates (`thoughtsTokenCount`), the others among the response's tokens.
//!
//! **Source**: the usage objects of the API references of OpenAI, Anthropic, Google and AWS.

use crate::record::{
    Problem, Record,
    fields::{self, Field, Scope},
    json::Json,
    values::{self, Refusal},
};

/// The counts of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub prompt: Option<u64>,
    pub response: Option<u64>,
    pub cached: Option<u64>,
    pub reasoning: Option<u64>,
    /// What cannot be used.
    pub refused: Vec<(Field, Refusal)>,
}

impl Usage {
    /// Reads a usage object.
    pub fn of(usage: &Json<'_>) -> Usage {
        let mut read = Usage::default();
        let (mut beside, mut thoughts, mut total) = (0, 0, None);
        let mut ranks = [u16::MAX; 2];
        for (key, value) in usage.as_object().unwrap_or_default() {
            match key.as_ref() {
                "cache_creation_input_tokens" | "cacheWriteInputTokens" | "cacheWriteInputTokenCount" => {
                    beside += values::count(value).unwrap_or(0);
                }
                "cache_read_input_tokens"
                | "cacheReadInputTokens"
                | "cacheReadInputTokenCount"
                | "input_cached_tokens" => {
                    let count = values::count(value).unwrap_or(0);
                    beside += count;
                    read.cached = Some(count);
                }
                "thoughtsTokenCount" | "thoughts_token_count" | "output_reasoning_tokens" => {
                    thoughts = values::count(value).unwrap_or(0);
                    read.reasoning = Some(thoughts);
                }
                "cachedContentTokenCount" | "cached_content_token_count" | "cached_tokens" | "cached_input_tokens" => {
                    read.cached = read.cached.or(values::count(value).ok());
                }
                "reasoning_tokens" | "reasoningTokens" | "reasoning_output_tokens" => {
                    read.reasoning = read.reasoning.or(values::count(value).ok());
                }
                "total_tokens" | "totalTokens" | "totalTokenCount" | "total_token_count" | "total" => {
                    total = values::count(value).ok()
                }
                "prompt_tokens_details" | "input_tokens_details" | "input_token_details" => {
                    read.cached = read.cached.or(count_at(value, &["cached_tokens", "cache_read"]));
                }
                "completion_tokens_details" | "output_tokens_details" | "output_token_details" => {
                    read.reasoning = read.reasoning.or(count_at(value, &["reasoning_tokens", "reasoning"]));
                }
                "input" | "prompt" if !matches!(value, Json::Object(_)) => {
                    read.take(Field::PromptTokens, u16::MAX - 1, value, &mut ranks)
                }
                "output" | "completion" | "candidatesTokenCount" | "candidates_token_count"
                    if !matches!(value, Json::Object(_)) =>
                {
                    read.take(Field::ResponseTokens, u16::MAX - 1, value, &mut ranks);
                }
                _ => {
                    for target in fields::meanings(key) {
                        if target.scope == Scope::Llm
                            && matches!(target.field, Field::PromptTokens | Field::ResponseTokens)
                        {
                            read.take(target.field, target.rank, value, &mut ranks);
                        }
                    }
                }
            }
        }
        let apart = read.prompt.unwrap_or(0) + beside + read.response.unwrap_or(0) + thoughts;
        if read.response.is_none() || total.is_none_or(|total| apart <= total) {
            read.response = read.response.map(|count| count + thoughts).or((thoughts > 0).then_some(thoughts));
        }
        if let Some(prompt) = read.prompt.filter(|_| beside > 0) {
            let is_counted_in = total.is_some_and(|total| prompt + read.response.unwrap_or(0) >= total);
            read.prompt = Some(if is_counted_in { prompt } else { prompt + beside });
        }
        read
    }

    /// These counts, or others where there are none.
    pub fn or(self, other: Option<Usage>) -> Usage {
        if self.prompt.is_some() || self.response.is_some() { self } else { other.unwrap_or(self) }
    }

    /// Whether an object is one of token counts.
    pub fn is_one(value: &Json<'_>) -> bool {
        let counts = |key: &str| {
            let targets = fields::meanings(key);
            targets.iter().any(|target| matches!(target.field, Field::PromptTokens | Field::ResponseTokens))
        };
        value.as_object().is_some_and(|entries| entries.iter().any(|(key, _)| counts(key)))
    }

    /// Puts the counts where the record has none of its own.
    pub fn fill(self, record: &mut Record<'_>) {
        let own = [record.prompt_tokens.is_some(), record.response_tokens.is_some()];
        record.prompt_tokens = record.prompt_tokens.or(self.prompt);
        record.response_tokens = record.response_tokens.or(self.response);
        record.cached_tokens = record.cached_tokens.or(self.cached);
        record.reasoning_tokens = record.reasoning_tokens.or(self.reasoning);
        for (field, why) in self.refused {
            if !own[usize::from(field == Field::ResponseTokens)] {
                record.problems.push(Problem { field: field.name().to_owned(), reason: why.into_owned() });
            }
        }
    }

    fn take(&mut self, field: Field, rank: u16, value: &Json<'_>, ranks: &mut [u16; 2]) {
        let best = &mut ranks[usize::from(field == Field::ResponseTokens)];
        if value.is_null() || rank >= *best {
            return;
        }
        *best = rank;
        let slot = if field == Field::PromptTokens { &mut self.prompt } else { &mut self.response };
        self.refused.retain(|(refused, _)| *refused != field);
        match values::count(value) {
            Ok(count) => *slot = Some(count),
            Err(why) => {
                *slot = None;
                self.refused.push((field, why));
            }
        }
    }
}

fn count_at(details: &Json<'_>, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| values::count(details.get(key)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_every_provider() {
        let check = |json: &str, expected: [Option<u64>; 4]| {
            let usage = Usage::of(&Json::parse(json.as_bytes()).unwrap());
            assert_eq!([usage.prompt, usage.response, usage.cached, usage.reasoning], expected, "{json}");
        };
        let openai = r#"{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":4}}"#;
        check(openai, [Some(19), Some(10), Some(8), Some(4)]);
        let responses = r#"{"input_tokens":81,"input_tokens_details":{"cached_tokens":0},"output_tokens":1035,"output_tokens_details":{"reasoning_tokens":832},"total_tokens":1116}"#;
        check(responses, [Some(81), Some(1035), Some(0), Some(832)]);
        let anthropic = r#"{"input_tokens":5,"output_tokens":200,"cache_read_input_tokens":10000,"cache_creation_input_tokens":500}"#;
        check(anthropic, [Some(10505), Some(200), Some(10000), None]);
        let gemini = r#"{"promptTokenCount":100,"candidatesTokenCount":10,"thoughtsTokenCount":7,"cachedContentTokenCount":60,"totalTokenCount":117}"#;
        check(gemini, [Some(100), Some(17), Some(60), Some(7)]);
        check(r#"{"prompt_token_count":28,"candidates_token_count":3}"#, [Some(28), Some(3), None, None]);
        let bedrock = r#"{"inputTokens":10,"outputTokens":5,"cacheReadInputTokens":90,"totalTokens":105}"#;
        check(bedrock, [Some(100), Some(5), Some(90), None]);
        let counted_in =
            r#"{"prompt_tokens":100,"completion_tokens":5,"cache_read_input_tokens":90,"total_tokens":105}"#;
        check(counted_in, [Some(100), Some(5), Some(90), None]);
        let langsmith = r#"{"input_tokens":9,"output_tokens":9,"total_tokens":18,"input_token_details":{"cache_read":0},"output_token_details":{"reasoning":0}}"#;
        check(langsmith, [Some(9), Some(9), Some(0), Some(0)]);
        check(r#"{"input":28,"output":3,"total":31}"#, [Some(28), Some(3), None, None]);
        let langfuse = r#"{"input":50,"input_cached_tokens":40,"output":5,"output_reasoning_tokens":10,"total":105}"#;
        check(langfuse, [Some(90), Some(15), Some(40), Some(10)]);
        let counted_in = r#"{"input":90,"output":15,"output_reasoning_tokens":10,"total":105}"#;
        check(counted_in, [Some(90), Some(15), None, Some(10)]);
        check(r#"{"prompt":19,"completion":10,"cached":0}"#, [Some(19), Some(10), None, None]);
        check(r#"{"input_tokens":"39"}"#, [Some(39), None, None, None]);
        check("{}", [None; 4]);
    }
}
