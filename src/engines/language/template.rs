//! Was the answer filled in? A placeholder or an empty variable where a value belongs.
//!
//! **Formula**: 1 when the prose of the answer holds one of
//! - a variable of a template (`{{order_id}}`, `${name}`, `<%= name %>`, `{order_id}`)
//! - a placeholder (`[Customer Name]`, `<INSERT DATE>`), or "lorem ipsum"
//! - an empty value in the place of a name, a number or an amount ("Dear undefined", "order #null", "$NaN",
//!   `[object Object]`), the same one twice, or nothing but such a value
//!
//! else 0.
//!
//! **Range**: 0 (filled in) or 1 (not).
//!
//! **Source**: ours; the values are how JavaScript, Python, Java and Ruby write what is not there.
//!
//! **Limits**: code is not looked into. A user who asks for a text with gaps (a draft, a letter, a template:
//! `text/lexicon/requests.toml`), or who gave the placeholder, gets one. [`FOUND_MAX`] places are shown.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{degraded, of_response};
use crate::{
    engines::{About, Assessment, Detail, Effect, Engine, Finding, Question, Severity, SignalAbout, Status, View},
    text::{code, lexicon::REQUESTS},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "template",
    summary: "Answers with placeholders or empty variables where values belong.",
    formula: "1 when the prose of the answer holds a placeholder or an empty value that nobody asked for, else 0",
    range: "0 (filled in) or 1 (not)",
    source: "ours",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer holds a placeholder that was never filled.",
        owasp: "",
        help: "Look at the code that fills the template, and at what it was given.",
    }],
};

/// The signal.
pub const SIGNAL: &str = "unfilled_template";
/// Modest until it is fitted.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Bytes of the longest placeholder.
const PLACEHOLDER_BYTES_MAX: usize = 200;
/// Places that are shown.
pub const FOUND_MAX: usize = 5;

/// What no finished text holds.
static PLACEHOLDERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:\{\{\s*[\w.\- ]{1,40}\s*\}\}|\{%-?\s*(?:if|for|end)\w*[^%]{0,60}%\}",
        r"|\$\{[A-Za-z_][\w.]{0,40}\}|<%=?\s*[\w.]{1,40}\s*%>|%\([a-z_]{2,40}\)s",
        r"|(?P<braces>\{(?:[a-z][a-z0-9]*(?:_[a-z0-9]+)+|(?:user|customer|client|first|last|order|product|company)?(?:[Nn]ame|[Dd]ate|[Ii]d|[Nn]umber))\})",
        // "[Order History]" may be a button; what is to be inserted, and fields of a form, are none.
        r"|(?i:\[(?:(?:your|insert|enter)[ _-][\w' /-]{1,40}",
        r"|(?:customer|client|recipient|company|user|agent|first|last|full|order|tracking|account|ticket|invoice|product)(?:'s)?[ _-](?:(?:first|last|full) )?(?:name|number|no|id|date|address|e-?mail|phone|amount|code|link|total|price|position|reference|details|status|here)",
        r"|customer|your|name|date|company|amount|placeholder|link here)\])",
        r"|<(?:(?:INSERT|ENTER|YOUR|CUSTOMER|CLIENT|COMPANY|USER|ORDER|ACCOUNT|NAME|DATE|AMOUNT)(?:[ _-][A-Z _-]{1,40})?|(?:insert|enter|your|customer)[ _-][a-z _-]{1,40})>",
        r"|<<[A-Za-z_][\w ]{1,40}>>|%(?:CUSTOMER|CLIENT|ORDER|INVOICE|TICKET|FIRST_?NAME|LAST_?NAME|FNAME|LNAME|AMOUNT)[A-Z_]{0,20}%",
        r"|(?i:lorem ipsum\b)|(?:TODO|FIXME|TBD)\b|%s[^%\n]{0,120}%[sd]\b)",
    ))
    .expect("a pattern of this crate")
});

/// Words with which a placeholder in square brackets begins.
const IN_BRACKETS: [&str; 23] = [
    "your",
    "insert",
    "enter",
    "customer",
    "client",
    "recipient",
    "company",
    "user",
    "agent",
    "first",
    "last",
    "full",
    "order",
    "tracking",
    "account",
    "ticket",
    "invoice",
    "product",
    "name",
    "date",
    "amount",
    "placeholder",
    "link here",
];
/// The same in angle brackets.
const IN_ANGLES: [&str; 12] =
    ["insert", "enter", "your", "customer", "client", "company", "user", "order", "account", "name", "date", "amount"];

/// Whether [`PLACEHOLDERS`] may match at the beginning of `rest`. The pattern takes long to build, and most texts with brackets
/// hold no placeholder.
fn may_begin(rest: &[u8]) -> bool {
    /// Bytes of the longest word that begins one.
    const WORD_BYTES_MAX: usize = 11;
    let begins = |inner: &[u8], word: &str| {
        inner.get(..word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word.as_bytes()))
    };
    // Words and what may stand between them, to the bracket.
    let is_closed = |inner: &[u8], close: u8| {
        let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b" _-'/".contains(byte) || !byte.is_ascii();
        inner.get(inner.iter().take_while(is_word).count()) == Some(&close)
    };
    // Letters of other scripts that are the same in another case are left to the pattern.
    let is_foreign = |inner: &[u8]| !inner[..inner.len().min(WORD_BYTES_MAX)].is_ascii();
    match rest {
        [b'{', b'{' | b'%', ..] | [b'$', b'{', ..] | [b'<', b'%' | b'<', ..] => true,
        [b'%', b'(' | b's' | b'A'..=b'Z', ..] => true,
        [b'{', inner @ ..] => {
            let length = inner.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            let name = &inner[..length];
            let is_name =
                name.contains(&b'_') || ["ame", "ate", "d", "ber"].iter().any(|end| name.ends_with(end.as_bytes()));
            is_name && inner.get(length) == Some(&b'}')
        }
        [b'[', inner @ ..] => {
            is_foreign(inner) || is_closed(inner, b']') && IN_BRACKETS.iter().any(|word| begins(inner, word))
        }
        [b'<', inner @ ..] => is_closed(inner, b'>') && IN_ANGLES.iter().any(|word| begins(inner, word)),
        _ => [&b"TODO"[..], b"FIXME", b"TBD"].iter().any(|word| rest.starts_with(word)),
    }
}

/// Empty values where names, numbers and amounts stand.
static EMPTY: LazyLock<Regex> = LazyLock::new(|| {
    const NOTHING: &str = "(?:undefined|null|NULL|None|NaN|nil)";
    Regex::new(&format!(
        concat!(
            r"(?P<object>\[object (?:Object|Promise|Array|Undefined)\]|<[A-Za-z_][\w.]{{0,60}} object at 0x[0-9a-fA-F]+>|\bInvalid [Dd]ate\b|\bNaN:NaN\b)",
            r"|\b(?i:dear|hello|hi|hey|hallo|liebe[r]?|bonjour|hola|ciao|mr\.?|mrs\.?|ms\.?|dr\.?|prof\.?|herr|frau|monsieur|madame|señora?)[ ,]+(?P<name>{nothing})\b",
            r"|\b(?i:order|ticket|invoice|account|tracking|customer|booking|reservation|reference|confirmation|case|policy|parcel|bestellung|rechnung|commande|pedido)(?i: (?:number|no\.?|id|code|nummer))?(?i: is)?[ :]*#? ?(?P<number>{nothing})\b",
            r"|[$€£¥] ?(?P<amount>{nothing})\b",
            r"|\b(?P<unit>NaN|undefined|null)(?: ?%| ?/ ?\d| (?:out of|EUR|USD|GBP|CHF|euros?|dollars?|pounds?|days?|hours?|minutes?|items?|points?|stars?|km|miles)\b)",
        ),
        nothing = NOTHING,
    ))
    .expect("a pattern of this crate")
});

/// What stands for nothing, as a whole answer.
const NOTHING: [&str; 9] =
    ["undefined", "null", "none", "nan", "nil", "[object object]", "(null)", "<null>", "[object promise]"];

/// Where `text` was not filled in; the whole of it when it is nothing but an empty value.
fn unfilled(text: &str, code: &[Range<usize>]) -> Vec<Range<usize>> {
    let trimmed = text.trim().trim_matches(['"', '\'', '.', '`']).trim();
    if NOTHING.iter().any(|nothing| nothing.eq_ignore_ascii_case(trimmed)) {
        return std::iter::once(0..text.len()).collect();
    }
    let mut prose = Prose { text, code, read_to: 0, is_open: false };
    let mut found: Vec<Range<usize>> = Vec::new();
    let begin = text.len() - text.trim_start().len();
    // The pattern is slow where nothing is found: it is asked only where a placeholder may begin, outside of code.
    let begins = |&(at, byte): &(usize, u8)| match byte {
        b'{' | b'[' | b'<' | b'$' | b'%' => may_begin(&text.as_bytes()[at..]) && !code::is_within(code, at),
        b'l' | b'L' => text.get(at..at + 11).is_some_and(|word| word.eq_ignore_ascii_case("lorem ipsum")),
        // An order to oneself is one where an answer begins with it.
        b'T' | b'F' => at == begin && may_begin(&text.as_bytes()[at..]),
        _ => false,
    };
    let mut after = 0;
    for (at, _) in text.bytes().enumerate().filter(begins) {
        let end = text.floor_char_boundary((at + PLACEHOLDER_BYTES_MAX).min(text.len()));
        if at < after || !text.is_char_boundary(at) {
            continue;
        }
        let Some(captured) = PLACEHOLDERS.captures(&text[at..end]) else { continue };
        let span = captured.get(0).map_or(at..at, |part| at + part.start()..at + part.end());
        // `{order_id}` stands by itself; `\frac{order_id}` does not.
        let follows = text[..at].chars().next_back();
        let stands_alone = follows.is_none_or(|c| c.is_whitespace() || "(:#$'\"".contains(c));
        // `[name](https://...)` and `[name]: ...` are links of Markdown, `</name>` ends an element.
        let is_link = text[span.start..].starts_with('[') && text[span.end..].starts_with(['(', ':', '[', '=']);
        let is_markup = text[span.start..].starts_with('<')
            && text[span.clone()].bytes().all(|byte| byte.is_ascii_lowercase() || b"<>".contains(&byte));
        // A format string in quotes is shown, and not one that nobody filled.
        let is_quoted_format = text[span.clone()].starts_with("%s") && text[..at].ends_with(['"', '\'', '`', '(', '“']);
        if !is_link && !is_markup && !is_quoted_format && (captured.name("braces").is_none() || stands_alone) {
            after = span.end;
            found.extend(prose.holds(&span).then_some(span));
            if found.len() == FOUND_MAX {
                return found;
            }
        }
    }
    // The pattern is slow where nothing is found, and most texts hold none of these.
    let may_be_empty = ["undefined", "null", "None", "NaN", "nil", "NULL", "[object", "object at 0x", "Invalid"]
        .iter()
        .any(|word| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some());
    let mut prose = Prose { text, code, read_to: 0, is_open: false };
    for captured in may_be_empty.then(|| EMPTY.captures_iter(text)).into_iter().flatten() {
        let part = ["object", "name", "number", "amount", "unit"].iter().find_map(|name| captured.name(name));
        found.extend(part.map(|part| part.range()).filter(|span| prose.holds(span)));
        if found.len() >= FOUND_MAX {
            return found;
        }
    }
    if may_be_empty {
        for nothing in ["undefined", "null", "NaN", "None"] {
            // A sentence may begin with "None", and speak of a null once.
            let begins = |at: usize| text[..at].trim_end().chars().next_back().is_none_or(|c| ".!?:\n-*".contains(c));
            let is_whole = |at: usize| {
                let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '.' && nothing != "None";
                let after = &text[at + nothing.len()..];
                !text[..at].chars().next_back().is_some_and(inside)
                    && !after.chars().next().is_some_and(char::is_alphanumeric)
            };
            // In data and calls it is a value like any other.
            let in_prose =
                |at: usize| text[..at].strip_suffix(' ').is_some_and(|head| !head.ends_with([':', '=', ',', '(', '[']));
            let places = text.match_indices(nothing).map(|(at, _)| at).filter(|at| is_whole(*at) && in_prose(*at));
            let mut prose = Prose { text, code, read_to: 0, is_open: false };
            let places = places.filter(|at| nothing != "None" || !begins(*at));
            let places: Vec<usize> =
                places.filter(|at| prose.holds(&(*at..at + nothing.len()))).take(FOUND_MAX).collect();
            if places.len() > 1 {
                found.extend(places.into_iter().map(|at| at..at + nothing.len()));
            }
        }
    }
    found.truncate(FOUND_MAX);
    found
}

/// What of a text is no code, asked for places in their order.
struct Prose<'t> {
    text: &'t str,
    code: &'t [Range<usize>],
    /// Up to here backticks were counted.
    read_to: usize,
    /// Whether inline code is open there: an odd number of backticks on the line.
    is_open: bool,
}

impl Prose<'_> {
    fn holds(&mut self, span: &Range<usize>) -> bool {
        for byte in &self.text.as_bytes()[self.read_to.min(span.start)..span.start] {
            match byte {
                b'\n' => self.is_open = false,
                b'`' => self.is_open = !self.is_open,
                _ => {}
            }
        }
        self.read_to = span.start;
        !self.is_open && !code::is_within(self.code, span.start)
    }
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
pub struct Template {
    settings: Settings,
}

impl Template {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> Template {
        Template { settings }
    }
}

impl Engine for Template {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let mut found = unfilled(response, &view.response.code);
            if !found.is_empty() {
                let asked = view.record.prompt.last_of_user().unwrap_or_default();
                let is_value = |span: &Range<usize>| {
                    let found = &response[span.clone()];
                    let is_empty = found.starts_with("[object") || !found.contains(['{', '[', '<', '%']);
                    is_empty && REQUESTS.value.stands_in(asked)
                };
                let is_asked_for = REQUESTS.fill_in.stands_in(asked);
                let given = view.record.context.iter().map(|passage| passage.text.as_ref());
                let system = view.record.system.as_deref();
                let given: Vec<String> = given.chain(system).chain([view.prompt_text]).map(str::to_lowercase).collect();
                let is_given = |span: &Range<usize>| {
                    let found = response[span.clone()].trim();
                    // Of a format string with several the first is enough.
                    let placeholder = if found.starts_with("%s") { "%s" } else { found }.to_lowercase();
                    given.iter().any(|text| text.contains(&placeholder))
                };
                found.retain(|span| !is_asked_for && !is_given(span) && !is_value(span));
            }
            let absent = degraded(SIGNAL, self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let (status, value, signal) = match found.is_empty() {
                true => (Status::Ok, 0.0, absent),
                false => (Status::Error, 1.0, absent.fire(1.0, "a placeholder of the answer was never filled")),
            };
            let mut said = Assessment::new(status, value)
                .with("placeholders", Detail::Count(found.len() as u64))
                .signal(self.settings.effect.of(signal));
            let finding = |span| Finding::new("template/unfilled", Severity::Medium, "/response", span);
            said.findings.extend(found.into_iter().map(finding));
            said
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::testing::with_view;

    #[track_caller]
    fn check(prompt: &str, response: &str, expected: bool) {
        let record = serde_json::json!({"prompt": prompt, "response": response}).to_string();
        let fired =
            with_view(&record, |view| Template::new(Settings::default()).assess(view).unwrap().signals[0].fired);
        assert_eq!(fired, expected, "{prompt} -> {response}");
    }

    #[test]
    fn what_was_not_filled_in_is_found() {
        for response in [
            "Your order {{order_id}} was shipped.",
            "Hello {first_name}, how can I help?",
            "Dear [Customer Name], thank you for waiting.",
            "Thank you, <CUSTOMER NAME>!",
            "Your total is ${total}.",
            "Hello undefined, your parcel is on its way.",
            "Order #null is being prepared.",
            "The total is $NaN.",
            "You have undefined days left.",
            "Your parcel arrives on Invalid Date.",
            "The result: [object Object]",
            "None",
            "undefined",
            "null.",
            "Lorem ipsum dolor sit amet.",
            "Your appointment is with Dr. None on Monday.",
            "You rated it NaN out of 5.",
            "Hello <<FirstName>>, welcome back.",
            "Your order %ORDERNO% has left us.",
            "Booked for <User object at 0x7f3a2c>.",
        ] {
            check("Where is my parcel?", response, true);
        }
    }

    #[test]
    fn everyday_words_of_the_prompt_ask_for_no_template() {
        for prompt in ["What is your refund policy?", "I lost my card.", "Which email address do you have?"] {
            check(prompt, "Dear [Customer Name], your order {{order_id}} was shipped.", true);
        }
        check("How do I return my order?", "Your refund is $NaN.", true);
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let steps = |text: &str| unfilled(text, &[]).len();
        // Both took minutes while blanks and backticks were counted anew for each place.
        assert_eq!(steps(&(" ".repeat(400_000) + &"T".repeat(400_000))), 0);
        assert_eq!(steps(&"`{{a}}` ".repeat(100_000)), 0);
        assert_eq!(steps(&"{{a}} ".repeat(100_000)), FOUND_MAX);
    }

    #[test]
    fn what_belongs_there_is_not() {
        for (prompt, response) in [
            ("Write a letter to a customer.", "Dear [Customer Name],\n\nthank you."),
            ("How do I greet in Handlebars?", "Use `{{name}}` in the text."),
            ("Show me a loop.", "```js\nconst t = `${name}`;\n```"),
            ("What does {{order_id}} mean?", "{{order_id}} stands for the number of the order."),
            ("Who wrote it?", "See [the name](https://example.com) and [1]."),
            ("Is anything left?", "None of them is left."),
            ("What is 0/0?", "It is undefined."),
            ("Solve it.", "The fraction is \\frac{a_1}{b_2} of the whole."),
            ("What is the null hypothesis?", "The null hypothesis says that nothing has changed."),
            ("Answer with yes, no or none.", "None"),
            ("Which element holds it?", "The element <name> holds it."),
            ("Where do I see it?", "Tap [Account Settings] and then [Order History]."),
            ("How are names printed?", "With printf(\"%s is %d years old\\n\", name, age) in C."),
            ("How many passed?", "None out of the five candidates passed."),
            ("Where is that said?", "See [Product Manual, p. 3]."),
            ("Where is my home?", "Type `cd {{home}}` there, or `%ORDERNO%`."),
        ] {
            check(prompt, response, false);
        }
    }

    proptest::proptest! {
        #[test]
        fn the_pattern_is_asked_wherever_it_may_match(
            text in "[{\\[<$%]{1,2}(your|Insert|customer|ORDER|first name|name|order_id|userId|orderDate|No|%s|if|x|link here|date's| |_|-|é|1){1,4}[}\\]>%s)]{1,2}|(TODO|FIXME|TBD|TOD)[a ]?"
        ) {
            let is_match = PLACEHOLDERS.is_match(&text);
            proptest::prop_assert!(!is_match || may_begin(text.as_bytes()), "{}", text);
        }
    }
}
