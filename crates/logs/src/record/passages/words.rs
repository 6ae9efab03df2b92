//! The words by which prompts name their material, hand it over and ask about it.
//!
//! English, and the commonest of German, French, Spanish, Portuguese and Italian. A word may belong to several groups.

use std::{ops::Range, sync::LazyLock};

/// What a retriever hands over: context, documents, passages, sources.
pub(super) const HANDED: u64 = 1;
/// Of these, what people also call their own situation, or the end of a paper: context, facts, references.
pub(super) const SITUATION: u64 = 1 << 1;
/// Writings that are pasted to be read: an article, a report, a text.
pub(super) const TEXTUAL: u64 = 1 << 2;
/// Parts of any prompt that are material only where the task says so: data, description, notes.
pub(super) const LOOSE: u64 = 1 << 3;
/// Of writings, what is said by turns: a transcript.
pub(super) const SPOKEN: u64 = 1 << 4;
/// `results` are material behind one of [`SEARCHED`] only.
pub(super) const RESULTS: u64 = 1 << 5;
/// What results are of: a search.
pub(super) const SEARCHED: u64 = 1 << 6;
/// What comes is material: the following text.
pub(super) const FOLLOWING: u64 = 1 << 7;
/// The same, on either side of its noun: the text below.
pub(super) const BELOW: u64 = 1 << 8;
/// Here: what the user hands over in person.
pub(super) const HERE: u64 = 1 << 9;
/// What was there is material: above.
pub(super) const BEHIND: u64 = 1 << 10;
/// Provided, given, retrieved.
pub(super) const GIVEN: u64 = 1 << 11;
/// This, these.
pub(super) const THIS: u64 = 1 << 12;
/// The.
pub(super) const THE: u64 = 1 << 13;
/// What an answer does with its sources: based on, using, according to.
pub(super) const RESTING: u64 = 1 << 14;
/// Of these, the verbs.
pub(super) const USES: u64 = 1 << 35;
/// Words of a task that is about its material, wherever they stand: answer, question, summarize.
pub(super) const ASKS: u64 = 1 << 15;
/// Of these, what needs nothing but the text: summarize.
pub(super) const SUMS: u64 = 1 << 16;
/// Verbs of a task that is about its material, where they lead a sentence: explain, list, what.
pub(super) const LEADS: u64 = 1 << 17;
/// Verbs that change a text instead of telling what it says: translate, rewrite. They lead a sentence.
pub(super) const CHANGES: u64 = 1 << 18;
/// What is done to a text, where it stands anywhere.
pub(super) const EDITS: u64 = 1 << 36;
/// Verbs that make something new: create, draft. They lead a sentence.
pub(super) const MAKES: u64 = 1 << 19;
/// What instructions begin with.
pub(super) const ORDERS: u64 = 1 << 20;
/// What instructions begin with, and prose too.
pub(super) const CONDITIONS: u64 = 1 << 21;
/// What stands before the verb of a request and says nothing.
pub(super) const POLITE: u64 = 1 << 22;
/// The user speaks of themselves.
pub(super) const OWN: u64 = 1 << 23;
/// Names of a part that holds what is asked.
pub(super) const QUESTION: u64 = 1 << 24;
/// Names of a part that holds, or will hold, the answer.
pub(super) const ANSWER: u64 = 1 << 25;
/// Of an answer that is there already.
pub(super) const EARLIER: u64 = 1 << 26;
/// Names of other parts of a prompt: instructions, rules, history.
pub(super) const PART: u64 = 1 << 27;
/// Who speaks: user, assistant.
pub(super) const SPEAKER: u64 = 1 << 28;
/// What announces a model of what to do.
pub(super) const EXAMPLE: u64 = 1 << 29;
/// What may stand behind the noun of a heading.
pub(super) const TRAILS: u64 = 1 << 30;
/// What separates the noun of a heading from what it is of.
pub(super) const LINKS: u64 = 1 << 31;
/// What holds a number of things: list of, pieces of.
pub(super) const HOLDS: u64 = 1 << 32;
/// What one document among several is called before its number.
pub(super) const NUMBERED: u64 = 1 << 33;
/// Names of what is said about a document: title, source, url.
pub(super) const ABOUT: u64 = 1 << 34;

/// Nouns of material.
pub(super) const MATERIAL: u64 = HANDED | TEXTUAL | LOOSE;
/// Cues that the material comes.
pub(super) const AHEAD: u64 = FOLLOWING | BELOW;

const GROUPS: &[(u64, &str)] = &[
    (
        HANDED,
        "context contexts document documents doc docs passage passages source sources excerpt excerpts extracts \
         snippet snippets chunk chunks evidence evidences reference references citations kb knowledgebase fact \
         facts faq faqs documentation kontext kontexts dokument dokumente dokumenten quellen textstellen auszug contexte \
         contexto contesto documentos documenti fuentes fontes fonti",
    ),
    (
        SITUATION,
        "context background information info details situation scenario case evidence reference references fact facts \
         sources citations documentation kontext kontexts contexte contexto contesto data",
    ),
    (
        TEXTUAL,
        "text texts article articles paragraph paragraphs story stories news report reports transcript transcripts \
         transcription email emails letter review reviews abstract abstracts paper papers webpage webpages website \
         contract agreement speech blog interview memo memorandum filing filings lecture announcement essay \
         advertisement artikel textes texto textos testo articolo artigo",
    ),
    (
        LOOSE,
        "conversation dialogue dialog page pages content contents information info material materials data dataset \
         details record records notes description descriptions policy policies manual manuals handbook guide post posts \
         chapter book section sections input json csv table tables profile resume cv case minutes release background",
    ),
    (SPOKEN, "transcript transcripts transcription conversation dialogue dialog interview"),
    (RESULTS, "results result hits matches base bases"),
    (SEARCHED, "search searched web retrieval retrieved query lookup google bing top internet research knowledge"),
    (
        FOLLOWING,
        "following folgende folgenden folgender folgendes suivant suivants suivante suivantes siguiente siguientes \
         seguinte seguintes seguente seguenti",
    ),
    (BELOW, "below beneath follows delimited enclosed surrounded wrapped"),
    (HERE, "here"),
    (BEHIND, "above preceding aforementioned foregoing"),
    (
        GIVEN,
        "given provided supplied retrieved attached relevant extracted accompanying available shared pasted presented \
         included gegebenen gegebene bereitgestellten fourni fournis proporcionado proporcionados fornecido",
    ),
    (THIS, "this these those"),
    (THE, "the your its our any each all"),
    (
        RESTING,
        "based using use according only solely strictly exclusively from in refer referring relying rely consult read \
         considering within against with basierend anhand selon según",
    ),
    (USES, "based using use according refer referring relying rely consult basierend anhand selon según"),
    (
        ASKS,
        "answer answers answering question questions query summarize summarise summarizes summarizing summarising \
         summarized summary summaries summarization tldr extract extracting overview synopsis beantworte frage fragen \
         réponds répondez question pregunta responde pergunta domanda rispondi zusammenfassung",
    ),
    (
        LEADS,
        "explain describe list identify find tell state determine outline highlight what who whom whose when where \
         which why how show name define discuss analyze analyse compare contrast get locate report recap quote verify \
         check give provide return read review consider",
    ),
    (
        CHANGES,
        "translate rewrite rephrase paraphrase proofread correct fix improve edit polish reword refactor debug convert \
         reformat continue finish extend expand elaborate reply classify categorize categorise rate grade score evaluate \
         critique judge transform turn modify replace optimize optimise humanize fill anonymize redact re",
    ),
    (
        EDITS,
        "modifications edits tweaks revisions rewriting editing proofreading rewrite proofread paraphrase rephrase translate \
         translation typos grammar",
    ),
    (
        SUMS,
        "summarize summarise summarizes summarizing summarising summarized summary summaries summarization tldr synopsis \
         overview",
    ),
    (
        MAKES,
        "write create generate make compose draft design develop invent build implement code craft act pretend roleplay \
         imagine brainstorm produce prepare plan",
    ),
    (
        ORDERS,
        "do don't don not never always please answer use cite keep be make ensure provide respond reply return write \
         include avoid think you your only note remember try limit format output begin stick say state quote refer \
         consider assume explain summarize summarise extract describe list give read analyze analyse focus ignore create \
         generate choose select pay act let lets",
    ),
    (CONDITIONS, "if in when where should unless given based using as"),
    (
        POLITE,
        "please can could would will you now then kindly i i'd want need like to your task is job goal role help me \
         let hi hey hello also and so next first finally should must are asked just",
    ),
    (OWN, "i i'm i've i'd i'll my mine me we we're we've our ours us"),
    (
        QUESTION,
        "claim claims hypothesis question questions query queries request asks ask frage pregunta pergunta domanda",
    ),
    (
        ANSWER,
        "answer answers response output summary overview completion headline tldr result reply \
         antwort réponse respuesta resposta risposta",
    ),
    (
        PART,
        "instruction instructions task tasks rule rules guideline guidelines requirement requirements constraint \
         constraints format steps step goal goals objective objectives role persona tone style tools tool schema \
         history conversation dialogue dialog chat options choices option choice keywords \
         thought action observation date today todays language username important warning warnings criteria \
         instructional aufgabe anweisungen instrucciones consigne code command commands procedure procedures workflow \
         capabilities limitations behavior behaviour personality identity reasoning rationale rubric structure template",
    ),
    (SPEAKER, "user human assistant system ai bot chatbot agent customer model student teacher interviewer"),
    (EXAMPLE, "example examples sample samples demonstration demonstrations shot"),
    (
        TRAILS,
        "below follows follow following here above provided given start starts begin begins beginning is are as now \
         section sections end ends only block item items number no list final helpful brief refined detailed \
         improved new markdown",
    ),
    (LINKS, "for about from to in with by on regarding that which between per und and or"),
    (
        HOLDS,
        "list set pieces piece parts part collection extract extracts section sections content contents text body start \
         beginning begin end number bits",
    ),
    (
        NUMBERED,
        "document doc passage source excerpt extract snippet chunk context article result reference text citation \
         evidence dokument quelle fuente fonte review record email",
    ),
    (
        ABOUT,
        "title source url link file filename file_name file_path name id page page_label score author date published \
         metadata doc_id document_id chunk_id href path section topic category",
    ),
    (EARLIER, "original existing previous candidate proposed student reference old initial model generated first gold"),
];

/// Bytes of the longest word that is known.
const WORD_BYTES_MAX: usize = 16;
const SLOTS: usize = 2048;

struct Table {
    /// Of the words that begin with a letter, their lengths as bits: most words are told as strange by them.
    lengths: [u32; 256],
    keys: Box<[u128; SLOTS]>,
    flags: Box<[u64; SLOTS]>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { lengths: [0; 256], keys: Box::new([0; SLOTS]), flags: Box::new([0; SLOTS]) };
    for (flag, words) in GROUPS {
        for word in words.split_whitespace() {
            let key = key_of(word.as_bytes());
            let mut slot = slot_of(key);
            while table.keys[slot] != 0 && table.keys[slot] != key {
                slot = (slot + 1) % SLOTS;
            }
            table.keys[slot] = key;
            table.lengths[usize::from(word.as_bytes()[0])] |= 1 << word.len();
            table.flags[slot] |= flag;
        }
    }
    table
});

/// A word of at most [`WORD_BYTES_MAX`] bytes, in lower case, as a number.
fn key_of(word: &[u8]) -> u128 {
    word.iter().fold(0, |key, byte| key << 8 | u128::from(byte.to_ascii_lowercase()))
}

fn slot_of(key: u128) -> usize {
    /// The golden ratio in 64 bits.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(29);
    (folded.wrapping_mul(SPREAD) >> 32) as usize % SLOTS
}

/// The groups of a word, without the apostrophes around it and the `'s` behind it.
pub(super) fn groups(word: &[u8]) -> u64 {
    let word = match word {
        [head @ .., b'\'', b's'] => head,
        [b'\'', rest @ ..] => rest.strip_suffix(b"'").unwrap_or(rest),
        [head @ .., b'\''] => head,
        _ => word,
    };
    match find(word) {
        0 if !word.is_ascii() => groups_of_typographic(word),
        found => found,
    }
}

fn find(word: &[u8]) -> u64 {
    let table = &*TABLE;
    let first = word.first().map_or(0, u8::to_ascii_lowercase);
    if word.len() > WORD_BYTES_MAX || table.lengths[usize::from(first)] & (1 << word.len()) == 0 {
        return 0;
    }
    let key = key_of(word);
    let mut slot = slot_of(key);
    loop {
        match table.keys[slot] {
            0 => return 0,
            found if found == key => return table.flags[slot],
            _ => slot = (slot + 1) % SLOTS,
        }
    }
}

/// The groups of a word with a typographic apostrophe.
#[cold]
fn groups_of_typographic(word: &[u8]) -> u64 {
    let plain = String::from_utf8_lossy(word).replace('’', "'");
    find(plain.as_bytes())
}

/// Bytes that belong to words; what is not ASCII is taken for a letter.
const OF_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let plain = byte as u8;
        table[byte] = plain.is_ascii_alphanumeric() || plain >= 0x80 || plain == b'\'' || plain == b'_';
        byte += 1;
    }
    table
};

/// Whether a byte belongs to a word.
pub(super) fn is_of_word(byte: u8) -> bool {
    OF_WORD[usize::from(byte)]
}

/// A word and its groups.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub(super) span: Range<usize>,
    pub(super) groups: u64,
}

impl Word {
    pub(super) fn is(&self, groups: u64) -> bool {
        self.groups & groups != 0
    }
}

/// The words of a text, in order. Typographic apostrophes are taken for plain ones.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        #[cfg(test)]
        super::steps::step();
        while at < bytes.len() && !is_of_word(bytes[at]) {
            at += 1;
        }
        let start = at;
        while at < bytes.len() && is_of_word(bytes[at]) {
            at += 1;
        }
        (start < at).then(|| Word { span: start..at, groups: groups(&bytes[start..at]) })
    })
}

/// Words that are counted: all that is asked is whether there are a few, or some dozens.
const COUNTED_MAX: usize = 100;

/// Words of a text, as far as they count for its substance, and not many more than [`COUNTED_MAX`]. In scripts without
/// blanks two characters make one.
pub(super) fn count(text: &str) -> usize {
    let mut words = 0;
    let mut wide = 0;
    for word in text.split_ascii_whitespace() {
        #[cfg(test)]
        super::steps::step();
        if words + wide > COUNTED_MAX {
            break;
        }
        if word.is_ascii() {
            words += usize::from(word.bytes().any(|byte| byte.is_ascii_alphanumeric()));
            continue;
        }
        let unspaced = word.chars().filter(|c| *c >= '\u{2e80}').count();
        wide += unspaced;
        words += usize::from(unspaced == 0 && word.chars().any(char::is_alphanumeric));
    }
    words + wide / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_groups() {
        let check = |word: &str, has: u64, lacks: u64| {
            let found = groups(word.as_bytes());
            assert_eq!(found & has, has, "{word}");
            assert_eq!(found & lacks, 0, "{word}");
        };
        check("context", HANDED | SITUATION, LOOSE | PART);
        check("Documents", HANDED, SITUATION);
        check("BACKGROUND", LOOSE | SITUATION, HANDED);
        check("results", RESULTS, MATERIAL);
        check("following", FOLLOWING, GIVEN | BELOW);
        check("Summarize", ASKS, CHANGES);
        check("translate", CHANGES, ASKS);
        check("table", LOOSE, HANDED);
        check("réponds", ASKS, 0);
        check("xylophone", 0, u64::MAX);
        check("internationalization", 0, u64::MAX);
        check("", 0, u64::MAX);
    }

    #[test]
    fn no_word_is_too_long_for_the_table() {
        for (_, list) in GROUPS {
            for word in list.split_whitespace() {
                assert!(groups(word.as_bytes()) != 0, "{word}");
                assert_eq!(word, word.to_lowercase());
            }
        }
    }

    #[test]
    fn words_are_counted() {
        let check = |text: &str, expected: usize| assert_eq!(count(text), expected, "{text}");
        check("", 0);
        check(" one — two\n three! ", 3);
        check("保証は二年間です。", 4);
        check("- * ***", 0);
    }

    #[test]
    fn words_are_cut_out_of_text() {
        let found: Vec<&str> =
            words("Don’t say: 'it' (file_name).").map(|word| &"Don’t say: 'it' (file_name)."[word.span]).collect();
        assert_eq!(found, ["Don’t", "say", "'it'", "file_name"]);
        assert!(words("don’t").next().unwrap().is(ORDERS));
    }
}
