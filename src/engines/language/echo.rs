//! Does the answer only say again what the user said?
//!
//! **Formula**: 1 when the letters and digits of the answer, in any case, are those of the user's last message, or those of
//! the whole prompt, and the message has at least [`LETTERS_MIN`] of them in at least [`WORDS_MIN`] words; so does an answer
//! that goes on for at most [`MORE_SHARE`] of them, or that says them several times over; a label of who speaks may stand around
//! them. Else 0.
//!
//! **Range**: 0 (an answer) or 1 (an echo).
//!
//! **Source**: ours.
//!
//! **Limits**: a user or a system prompt that asks for the text to be handed back (repeated, corrected, translated:
//! `text/lexicon/requests.toml`) makes an echo an answer. Short messages ("Good morning!") are answered by themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{degraded, of_response};
use crate::{
    engines::{About, Assessment, Detail, Effect, Engine, Question, SignalAbout, Status, View},
    text::lexicon::REQUESTS,
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Answers that only say again what the user said.",
    formula: "1 when the letters and digits of the answer are those of the user's last message, else 0",
    range: "0 (an answer) or 1 (an echo)",
    source: "ours",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer repeats the user's message.",
        owasp: "",
        help: "Look at how the prompt is put together, and at what stands in for the model (a mock, a proxy).",
    }],
};

/// The engine and its signal.
pub const SIGNAL: &str = "echo";
/// Modest until it is fitted.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Letters and digits of the shortest message that counts.
pub const LETTERS_MIN: usize = 20;
/// Words of the shortest message that counts, in scripts with spaces between words.
pub const WORDS_MIN: usize = 4;
/// What a letter counts in scripts that write a syllable or a word as one.
const DENSE_WEIGHT: usize = 3;
/// Labels of who speaks, which an echo may put before the message.
const LABELS: [&str; 9] =
    ["user:", "human:", "question:", "q:", "prompt:", "you asked:", "you said:", "your question:", "input:"];
/// Labels of who would speak next.
const NEXT_LABELS: [&str; 5] = ["assistant:", "answer:", "a:", "response:", "ai:"];
/// How far an echo may go on after the message, as a share of it.
pub const MORE_SHARE: f64 = 0.1;

/// Whether `answer` only says again what `said` says.
pub fn is_echo(answer: &str, said: &str) -> bool {
    // Case changes the length of a text little, and most answers are told from their question by it.
    if answer.len() * 2 < said.len() {
        return false;
    }
    let weight = |c: char| if c >= '\u{2E80}' { DENSE_WEIGHT } else { usize::from(c.is_alphanumeric()) };
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).map(weight).sum::<usize>();
    let (answered, asked) = (letters(answer), letters(said));
    if asked < LETTERS_MIN || answered < asked {
        return false;
    }
    let times = (answered as f64 / asked as f64).round();
    if answered as f64 - asked as f64 * times > asked as f64 * MORE_SHARE {
        return false;
    }
    if said.is_ascii() && said.split_whitespace().count() < WORDS_MIN {
        return false;
    }
    fn folded(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
    }
    // It may be said several times, and go on a little after the last.
    let mut again = folded(said);
    let begun = folded(answer).take_while(|letter| {
        let next = again.next().or_else(|| {
            again = folded(said);
            again.next()
        });
        next == Some(*letter)
    });
    let begun: usize = begun.map(weight).sum();
    begun as f64 >= asked as f64 * times - 0.5
}

/// The numbers of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// What the fault counts as: `fact`, `evidence`, `off`.
    pub effect: Effect,
    /// P(fires | degraded) / P(fires | not), where it counts as evidence.
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { effect: Effect::Fact, likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

/// The engine.
pub struct Echo {
    settings: Settings,
}

impl Echo {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> Echo {
        Echo { settings }
    }
}

impl Engine for Echo {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let Some(said) = view.record.prompt.last_of_user() else {
                return Assessment::not_assessed("no message of a user");
            };
            let system = view.record.system.as_deref().unwrap_or_default();
            let trimmed = response.trim_start();
            let label = LABELS
                .iter()
                .find(|label| trimmed.get(..label.len()).is_some_and(|head| head.eq_ignore_ascii_case(label)));
            let answer = label.map_or(trimmed, |label| &trimmed[label.len()..]).trim_end();
            let next = NEXT_LABELS.iter().find(|next| {
                let at = answer.len().saturating_sub(next.len());
                answer.get(at..).is_some_and(|tail| tail.eq_ignore_ascii_case(next))
                    && answer[..at].ends_with(char::is_whitespace)
            });
            let answer = next.map_or(answer, |next| &answer[..answer.len() - next.len()]);
            // Whoever asks in the message itself does not ask for the asking to be said again.
            let is_echo = (is_echo(answer, said) || is_echo(answer, view.prompt_text))
                && !REQUESTS.say_again.stand_in(view.prompt_text)
                && !REQUESTS.hand_back.stand_in(system);
            let absent = degraded(SIGNAL, self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let (status, value, signal) = match is_echo {
                true => (Status::Error, 1.0, absent.fire(1.0, "the answer repeats the user's message")),
                false => (Status::Ok, 0.0, absent),
            };
            Assessment::new(status, value)
                .with("is_echo", Detail::Flag(is_echo))
                .signal(self.settings.effect.of(signal))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::testing::with_view;

    #[test]
    fn an_echo_is_told_from_an_answer() {
        let message = "Where is my order from last Tuesday?";
        for (answer, expected) in [
            (message, true),
            ("where is my order from last tuesday", true),
            ("\"Where is my order from last Tuesday?\"\n", true),
            ("Where is my order from last Tuesday? OK", true),
            ("Where is my order from last Tuesday? It left our house on Wednesday.", false),
            ("Where is my order from last Tuesday? Where is my order from last Tuesday?", true),
            ("Where is my order from last Tuesday? Where is my order from last week?", false),
            ("Where is my order", false),
            ("It is on its way.", false),
            ("", false),
        ] {
            assert_eq!(is_echo(answer, message), expected, "{answer}");
        }
        assert!(!is_echo("Good morning!", "Good morning!"));
        assert!(!is_echo("supercalifragilisticexpialidocious", "supercalifragilisticexpialidocious"));
        assert!(is_echo(
            "我的订单在哪里我上周二下的单请帮我查一下谢谢",
            "我的订单在哪里?我上周二下的单,请帮我查一下,谢谢!"
        ));
    }

    #[test]
    fn whoever_asks_for_his_words_gets_them() {
        let fired = |system: &str, prompt: &str, response: &str| {
            let record = serde_json::json!({"system": system, "prompt": prompt, "response": response});
            with_view(&record.to_string(), |view| Echo::new(Settings::default()).assess(view).unwrap().signals[0].fired)
        };
        let text = "The parcel will come on Friday before noon.";
        assert!(fired("", text, text));
        assert!(fired("", text, &format!("You asked: {text}")));
        assert!(fired("", text, &format!("User: {text}\nAssistant:")));
        assert!(fired("You are a friendly assistant.", text, text));
        assert!(!fired("Correct the spelling of the user's text.", text, text));
        let asked = "Repeat after me: the parcel will come on Friday.";
        assert!(!fired("", asked, asked));
    }
}
