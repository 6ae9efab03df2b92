//! Is the answer in the language that was asked for?
//!
//! **Formula**: 1 when the answer is surely in another language than the one that is due, else 0. Due is the language that
//! the prompt or the system prompt names ("Reply in German"), where they name one; else that of the user's last message.
//! Judged are answers of at least [`LETTERS_MIN`] letters and messages of [`ASKED_LETTERS_MIN`]. In Latin script a language is sure
//! when at least [`FUNCTION_WORDS_MIN`] of the words are its function words (`text/lexicon/function_words.toml`), clearly more
//! than those of any other, and trigrams are not sure of another one; the answer may hold less than [`OTHERS_WORDS_MAX`] of the
//! language that is due. In other scripts it is sure when trigrams tell it with a confidence of [`SURE_FROM`]. Languages that
//! are mixed up ([`ALIKE`]) count as one.
//!
//! **Range**: 0 (as asked for) or 1 (another).
//!
//! **Source**: the crate `whatlang` (trigrams after Cavnar and Trenkle, 1994).
//!
//! **Limits**: code is left out, and the first [`BYTES_MAX`] bytes count. Where nothing is asked for by name, a message that
//! speaks of languages or of translating, and one that quotes text, is not judged by its own language.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whatlang::{Lang, Script, detect, detect_script};

use super::{degraded, of_response};
use crate::{
    engines::{About, Assessment, Detail, Effect, Engine, Question, SignalAbout, Status, View},
    text::{
        code,
        lexicon::{FUNCTION_WORDS, REQUESTS, function_word_share, function_word_shares},
    },
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "other_language",
    summary: "Answers in another language than the one that was asked for.",
    formula: "1 when the answer is surely in another language than the one named, else than the user's message; else 0",
    range: "0 (as asked for) or 1 (another)",
    source: "whatlang, trigrams",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer is in another language than was asked for.",
        owasp: "",
        help: "Name the language in the system prompt; look at the language of its examples and documents.",
    }],
};

/// The signal.
pub const SIGNAL: &str = "other_language";
/// Modest until it is fitted.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Letters of the shortest message whose script says something.
pub const SCRIPT_LETTERS_MIN: usize = 10;
/// Confidence from which a language is sure.
pub const SURE_FROM: f64 = 0.9;
/// Letters of the shortest answer that is judged.
pub const LETTERS_MIN: usize = 40;
/// Letters of the shortest message that says by itself which language is due.
pub const ASKED_LETTERS_MIN: usize = 30;
/// Letters in scripts that write a syllable or a word as one; they weigh as much as this many others.
const DENSE_WEIGHT: usize = 3;
/// The share of function words that a text in Latin script has at least.
pub const FUNCTION_WORDS_MIN: f64 = 0.15;
/// How many function words of another language a text has at most, as a share of those of its own.
pub const RIVAL_SHARE: f64 = 0.7;
/// The share of function words of the language that is due that an answer in another one has at most.
pub const OTHERS_WORDS_MAX: f64 = 0.08;
/// Bytes that are looked at.
pub const BYTES_MAX: usize = 1_500;

/// Languages that trigrams mix up in short texts.
pub const ALIKE: &[&[Lang]] = &[
    &[Lang::Nob, Lang::Dan, Lang::Swe],
    &[Lang::Spa, Lang::Por, Lang::Cat],
    &[Lang::Ind, Lang::Jav],
    &[Lang::Hrv, Lang::Srp, Lang::Slv],
    &[Lang::Ces, Lang::Slk],
    &[Lang::Rus, Lang::Ukr, Lang::Bel, Lang::Bul, Lang::Mkd, Lang::Srp],
    &[Lang::Hin, Lang::Mar, Lang::Nep],
    &[Lang::Nld, Lang::Afr, Lang::Deu],
    &[Lang::Tur, Lang::Aze, Lang::Tuk, Lang::Uzb],
    &[Lang::Lav, Lang::Lit],
    &[Lang::Fin, Lang::Est],
    &[Lang::Cmn, Lang::Jpn],
    &[Lang::Pes, Lang::Urd, Lang::Ara],
];

/// Languages by their names in the commonest languages, in lower case.
const NAMES: &[(Lang, &[&str])] = &[
    (
        Lang::Eng,
        &[
            "english",
            "englisch",
            "anglais",
            "inglés",
            "inglese",
            "inglês",
            "engels",
            "英语",
            "英文",
            "英語",
            "영어",
            "по-английски",
            "английском",
        ],
    ),
    (Lang::Deu, &["german", "deutsch", "allemand", "alemán", "tedesco", "alemão", "duits", "德语", "ドイツ語"]),
    (
        Lang::Fra,
        &["french", "französisch", "français", "francés", "francese", "francês", "frans", "法语", "フランス語"],
    ),
    (
        Lang::Spa,
        &["spanish", "spanisch", "espagnol", "español", "spagnolo", "espanhol", "spaans", "西班牙语", "スペイン語"],
    ),
    (Lang::Ita, &["italian", "italienisch", "italien", "italiano", "italiaans"]),
    (Lang::Por, &["portuguese", "portugiesisch", "portugais", "portugués", "português", "portoghese"]),
    (Lang::Nld, &["dutch", "niederländisch", "néerlandais", "nederlands"]),
    (Lang::Pol, &["polish", "polnisch", "polonais", "polsku"]),
    (Lang::Rus, &["russian", "russisch", "russe", "ruso", "русском", "по-русски"]),
    (Lang::Cmn, &["chinese", "mandarin", "chinesisch", "chinois", "chino", "中文", "汉语", "中国語", "중국어"]),
    (Lang::Jpn, &["japanese", "japanisch", "japonais", "japonés", "日本語", "日语", "일본어"]),
    (Lang::Kor, &["korean", "koreanisch", "coréen", "coreano", "한국어", "韩语", "韓国語"]),
    (Lang::Ara, &["arabic", "arabisch", "arabe", "árabe", "العربية"]),
    (Lang::Hin, &["hindi", "हिंदी"]),
    (Lang::Tur, &["turkish", "türkisch", "turc", "turco", "türkçe"]),
    (Lang::Swe, &["swedish", "schwedisch", "svenska"]),
    (Lang::Nob, &["norwegian", "norwegisch", "norsk"]),
    (Lang::Dan, &["danish", "dänisch", "dansk"]),
];

/// What follows the name of a language where it is one: "in Spanish Harlem" and "in polished prose" name none.
const AFTER_NAME: &str = r#"(?:[.,;:!?)\]"'\n]|$|[ -](?:and|but|or|only|please|to|for|about|with|using|without|if|when|so|because|as|that|this|the|my|language|text|words?|sentences?|style|in|at|from|by|even|regardless|no|not|never|unless|always|whatever|be|do|keep|und|aber|bitte|nur|auch|immer|et|mais|seulement|y|pero|solo|sólo|por|e|ma|mas|apenas|s'il|svp|alstublieft|och|og|i|или|и|пожалуйста)\b| ?[(\[–—-])"#;

/// The names of all languages, as one choice of a pattern.
fn names() -> String {
    NAMES.iter().flat_map(|(_, names)| names.iter().copied()).collect::<Vec<_>>().join("|")
}

/// An order to translate into a language, with its name.
static TRANSLATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?i)^\W*(?:please )?(?:translate|übersetze?n?|traduis|traduisez|traduce|traduzca|traduci|traduza)\b[^.:\n]{{0,40}}?\b(?:to|into|ins|auf|en|in|al|para o) (?P<name>{}){AFTER_NAME}",
        names()
    ))
    .expect("a pattern of this crate")
});

/// An order to answer in a language, with its name.
static ORDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        concat!(
            // An order begins its sentence, or stands behind a word that orders; a question about languages does not.
            r"(?im)(?:(?:^|[.!?;,\n] ?)(?:you (?:will |shall |may |can |have to |are to )?(?:always |only )?|(?:only|always) )?|\b(?:please|must|should|always|and|then|(?:can|could|would|will) you(?: please)?|könn\w+ sie|kannst du|pouvez-vous|peux-tu|puedes?|bitte|immer|und|et|y|e|por favor) )(?:answer|respond|reply|write|speak|antworte[nt]?|schreib\w*|réponds|répondez|responde|responda|rispondi|antwoord|svar|svara|odpowiadaj|отвечай)(?: \w+){{0,8}}? (?:only in|in|auf|en|em|in het|na|på|po) (?P<name>{0}){1}",
            // In these the verb follows the language, and the name of the language says that it is one.
            r"|(?P<ja>日本語|英語|中国語|韓国語|フランス語|ドイツ語|スペイン語)で(?:答え|回答|返答|返信|返事|書い|書き|説明|要約|出力|お願い)",
            r"|用(?P<zh>中文|汉语|英文|英语|日语|韩语|法语|德语|西班牙语)(?:来)?(?:回答|回复|答复|作答|写|解释|说明|总结|描述|输出)",
            r"|(?P<ko>한국어|영어|일본어|중국어)로 ?(?:답|대답|응답|작성|써|쓰|설명|요약)",
            r"|\b(?:ответ\w*|напиш\w*|пиши\w*|объясн\w*)[^.!?\n]{{0,30}} (?:на )?(?P<ru>по-русски|русском|по-английски|английском)\b",
        ),
        names(),
        AFTER_NAME,
    ))
    .expect("a pattern of this crate")
});

/// A language that is named, in whatever form.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let (dense, spaced): (Vec<&str>, Vec<&str>) = NAMES
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .partition(|name| name.chars().any(|c| c >= '\u{2E80}'));
    Regex::new(&format!(r"(?i)\b(?:{})(?:e[nrsm]?|s|a|as|os|es|n)?\b|{}", spaced.join("|"), dense.join("|")))
        .expect("a pattern of this crate")
});

/// The only language that `texts` order by name; `None` where they order none, or several.
fn ordered<'t>(texts: impl IntoIterator<Item = &'t str>) -> Option<Lang> {
    let found = texts.into_iter().flat_map(|text| ORDER.captures_iter(text).chain(TRANSLATE.captures(text)));
    let mut named = found.filter_map(|found| {
        let name = ["name", "ja", "zh", "ko", "ru"].iter().find_map(|group| found.name(group));
        let name = name?.as_str().to_lowercase();
        NAMES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(lang, _)| *lang)
    });
    let first = named.next()?;
    named.all(|other| other == first).then_some(first)
}

/// The beginning of `text` outside of `code`.
pub fn prose_of(text: &str, code: &[Range<usize>]) -> String {
    let mut prose = String::new();
    for part in code::outside(text, code) {
        let room = BYTES_MAX.saturating_sub(prose.len());
        prose.push_str(&part[..part.floor_char_boundary(room.min(part.len()))]);
    }
    prose
}

/// A language of the script in which nearly all of a short text is, where that is not Latin: enough to tell it from Latin.
fn sure_script(prose: &str) -> Option<Lang> {
    let letters = prose.chars().filter(|c| c.is_alphabetic()).count();
    let latin = prose.chars().filter(|c| c.is_ascii_alphabetic()).count();
    let info = detect(prose).filter(|info| info.script() != Script::Latin)?;
    (letters >= SCRIPT_LETTERS_MIN && latin * 10 <= letters).then(|| info.lang())
}

/// The language of `prose`, when it has at least `letters_min` letters and is surely in one.
pub fn sure_language(prose: &str, letters_min: usize) -> Option<Lang> {
    let weight = |c: char| match c {
        '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' => DENSE_WEIGHT,
        c => usize::from(c.is_alphabetic()),
    };
    if prose.chars().map(weight).sum::<usize>() < letters_min {
        return None;
    }
    if detect_script(prose)? != Script::Latin {
        return detect(prose).filter(|info| info.confidence() >= SURE_FROM).map(|info| info.lang());
    }
    // Trigrams of a few sentences are seldom sure of a language; its function words are, and cost less.
    let shares = function_word_shares(prose).filter(|(_, share)| *share >= FUNCTION_WORDS_MIN);
    let shares = shares.filter_map(|(code, share)| Some((Lang::from_code(code)?, share)));
    let (lang, share) = shares.clone().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let rival = shares.filter(|(other, _)| !are_alike(*other, lang)).map(|(_, share)| share).fold(0.0, f64::max);
    (rival <= share * RIVAL_SHARE).then_some(lang)
}

/// Whether trigrams are not sure of another language.
fn is_agreed(prose: &str, lang: Lang) -> bool {
    detect(prose).is_none_or(|info| info.lang() == lang || info.confidence() < SURE_FROM)
}

/// Whether two languages count as one.
pub fn are_alike(one: Lang, other: Lang) -> bool {
    one == other || ALIKE.iter().any(|group| group.contains(&one) && group.contains(&other))
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
pub struct OtherLanguage {
    settings: Settings,
}

impl OtherLanguage {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> OtherLanguage {
        OtherLanguage { settings }
    }
}

/// Which language is due, and whether it was named.
fn due(view: &View<'_, '_>) -> Option<(Lang, bool)> {
    let asked = view.record.prompt.last_of_user().unwrap_or_default();
    let system = view.record.system.as_deref().unwrap_or_default();
    // What the user says goes before what the system prompt says.
    if let Some(lang) = ordered([asked]).or_else(|| ordered([system, view.prompt_text])) {
        return Some((lang, true));
    }
    let speaks_of_it =
        [asked, system].iter().any(|text| REQUESTS.other_language.stand_in(text) || NAMED.is_match(text));
    let quotes = asked.contains(['"', '\u{201C}', '\u{AB}', '\u{201E}', '\u{300C}']) || asked.contains("```");
    if speaks_of_it || quotes {
        return None;
    }
    let prose = prose_of(asked, &[]);
    sure_language(&prose, ASKED_LETTERS_MIN).or_else(|| sure_script(&prose)).map(|lang| (lang, false))
}

impl Engine for OtherLanguage {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let Some((due, is_named)) = due(view) else {
                return Assessment::not_assessed("no language is asked for");
            };
            let asked = view.record.prompt.last_of_user().unwrap_or_default();
            let is_call = response.contains('=') && response.trim_end().trim_end_matches(';').ends_with(')');
            let is_data = response.trim_start().starts_with(['{', '[', '<']) || is_call;
            let prose = prose_of(response, &view.response.code);
            let Some(found) = sure_language(&prose, LETTERS_MIN).filter(|_| !is_data) else {
                return Assessment::not_assessed("the language of the answer is not sure");
            };
            let is_mixed = || function_word_share(&prose, due.code()).is_some_and(|share| share >= OTHERS_WORDS_MAX);
            // Where only the script of the message is sure, only another script is another language.
            let is_sure = || is_named || sure_language(&prose_of(asked, &[]), ASKED_LETTERS_MIN).is_some();
            let is_other_script = || FUNCTION_WORDS.languages.iter().any(|code| code == found.code());
            let is_other = !are_alike(due, found)
                && !is_mixed()
                && (is_sure() || is_other_script())
                && is_agreed(&prose, found)
                && (is_named || is_agreed(&prose_of(asked, &[]), due));
            let absent = degraded(SIGNAL, self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let (status, value, signal) = match is_other {
                true => {
                    let whose = if is_named { "asked for" } else { "of the user" };
                    let (found, due) = (found.eng_name(), due.eng_name());
                    let detail = format!("the answer is in {found}, the language {whose} is {due}");
                    (Status::Error, 1.0, absent.fire(1.0, detail))
                }
                false => (Status::Ok, 0.0, absent),
            };
            Assessment::new(status, value)
                .with("language", Detail::Label(found.code()))
                .with("due", Detail::Label(due.code()))
                .signal(self.settings.effect.of(signal))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::testing::with_view;

    const GERMAN: &str =
        "Ihre Bestellung wurde gestern verschickt und sollte spätestens am Freitag bei Ihnen ankommen.";
    const ENGLISH: &str = "Your order was sent yesterday and should reach you on Friday at the latest, before noon.";
    const FRENCH: &str = "Votre commande a été expédiée hier et devrait vous parvenir vendredi au plus tard.";
    const JAPANESE: &str =
        "ご注文の商品は昨日発送されました。遅くとも金曜日までにお届けできる予定です。もう少々お待ちください。";

    #[track_caller]
    fn check(system: &str, prompt: &str, response: &str, expected: Option<bool>) {
        let record = serde_json::json!({"system": system, "prompt": prompt, "response": response}).to_string();
        let fired = with_view(&record, |view| {
            let said = OtherLanguage::new(Settings::default()).assess(view).unwrap();
            said.signals.first().map(|signal| signal.fired)
        });
        assert_eq!(fired, expected, "{system} / {prompt} -> {response}");
    }

    #[test]
    fn the_language_that_is_named_is_due() {
        check("", "Where is my order? Reply in German.", GERMAN, Some(false));
        check("", "Where is my order? Reply in German.", ENGLISH, Some(true));
        check("Always answer in English.", "Wo ist meine Bestellung?", GERMAN, Some(true));
        check("Always answer in English.", "Bitte antworte auf Deutsch: wo ist sie?", GERMAN, Some(false));
        check("", "Wo ist meine Bestellung? Antworte bitte auf Französisch.", FRENCH, Some(false));
        check("", "Answer in English. No, answer in German!", FRENCH, None);
        check("", "Schreibe die Mail an unseren Spediteur in Lyon bitte auf Französisch: morgen.", FRENCH, Some(false));
        check("", "Wie heißt das, was Sie verkaufen, in der portugiesischen Fassung des Katalogs?", FRENCH, None);
        check("", "私の注文はどこですか?日本語で答えてください。", ENGLISH, Some(true));
        check("", "我的订单在哪里?请用中文回答。", ENGLISH, Some(true));
        check("", "Где мой заказ? Ответь, пожалуйста, по-русски.", ENGLISH, Some(true));
    }

    #[test]
    fn what_only_begins_as_the_name_of_a_language_is_none() {
        for (prompt, expected) in [
            ("Where is my order? Please answer in polished, formal prose.", Some(false)),
            // What names a language somewhere orders none, and may ask for one.
            ("Where is my order? Write it as if you lived in Spanish Harlem.", None),
            ("How long does it take? Write in Dutch oven style.", None),
        ] {
            check("", prompt, ENGLISH, expected);
        }
    }

    #[test]
    fn else_the_language_of_the_user_is() {
        let asked = "Wo bleibt meine Bestellung von letzter Woche, können Sie bitte nachsehen?";
        check("", asked, GERMAN, Some(false));
        check("", asked, ENGLISH, Some(true));
        check("", asked, JAPANESE, Some(true));
        check("You translate what the user says.", asked, ENGLISH, None);
        check("", "Wie sagt man auf Englisch, dass die Bestellung morgen ankommt?", ENGLISH, None);
        check("", "Bestellung?", ENGLISH, None);
        check("", asked, "OK", None);
    }
}
