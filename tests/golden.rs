//! Golden vectors of both specifications, under the preset `compat = "seed"`: the numbers of independent programs.
//!
//! What binds is `seed_expected` where a vector has it, else `expected` where it agrees with the seed. In the engines of
//! seed 002, where the seed is often silent (`agrees_with_seed` is null), the preset follows the program, and `expected`
//! binds there too, and so it does for the equations of seed 003. Every key of the binding object must be in the answer, and equal.
//!
//! Not binding:
//! - `detail`: the program's words
//! - `tier_reached`: ours is TIER_1 whenever tier 1 was evaluated
//! - `threshold` of feedback, and vectors with parameters of the program's own manager: its threshold rises with the
//!   first confirmed hallucination, which the seed rules out
//! - `total_feedback`: the program sets a prior by ten made-up feedbacks
//! - the vectors in [`OUR_RULE_STANDS`]
//!
//! The numbers of intent, hallucination and compression hang on word lists that are the program's own; nine in ten
//! primary intents and labels are asked for, and beyond that whatever is reached today: all of them.

use llmverify::{
    config::{Compat, Settings},
    probe,
};
use serde_json::Value;

/// Our rule is better, and stands.
const OUR_RULE_STANDS: [(&str, &str); 20] = [
    ("perathos/symbolic/028", "identities of trigonometry are not known"),
    ("llmverify/fingerprint_extract/008", "a decimal point ends no sentence"),
    ("llmverify/fingerprint_extract/009", "an abbreviation ends no sentence"),
    ("llmverify/fingerprint_extract/016", "a CJK full stop ends a sentence"),
    ("llmverify/structure/031", "a fence that is never closed is a block, and broken"),
    ("agentguard/consistency_historical/009", "median and MAD, not five results"),
    ("agentguard/consistency_historical/015", "median and MAD, not five results"),
    ("longtracer/claim_split/024", "a sentence ends before closing quotes"),
    ("longtracer/claim_split/027", "the number of a list belongs to its item"),
    ("longtracer/claim_split/028", "every bullet is a claim"),
    ("longtracer/claim_split/040", "a sentence ends at a line break"),
    ("longtracer/response/007", "an honest refusal alone is not assessed"),
    ("llmverify/pii/007", "\"id number\" hides no telephone number; this one is of fiction, and shown as information"),
    ("llmverify/pii/014", "nine digits with blanks behind \"code\" are no SSN: vector 015 is silent on better ones"),
    ("llmverify/pii/015", "an SSN with its dashes is one on any day; this is a specimen, and shown as information"),
    ("llmverify/pii/028", "the alphabet behind api- is a stand-in, and names in code look the same"),
    ("llmverify/pii/030", "the key of AWS's documentation is a stand-in; a random one in its place is found"),
    ("llmverify/pii/034", "the first line of a key gives nothing away, and stands in every parser of keys"),
    ("llmverify/pii/035", "the first line of a key gives nothing away, and stands in every parser of keys"),
    ("llmverify/pii/045", "a postal code is that of thousands, and names nobody"),
];

/// The types of seed 000's program, and how our rules for them end.
const PII_TYPES: [(&str, &str); 15] = [
    ("EMAIL", "email_address"),
    ("PHONE_US", "phone_number"),
    ("SSN", "us_ssn"),
    ("CREDIT_CARD", "credit_card"),
    ("ROUTING_NUMBER", "aba_routing_number"),
    ("IBAN", "iban_code"),
    ("STRIPE_KEY", "stripe_secret_key"),
    ("AWS_KEY", "aws_access_key_id"),
    ("GITHUB_TOKEN", "github_personal_access_token"),
    ("JWT_TOKEN", "json_web_token"),
    ("PASSWORD_INLINE", "password"),
    ("IP_ADDRESS", "ip_address"),
    ("MAC_ADDRESS", "mac_address"),
    ("MEDICAL_RECORD", "medical_record_number"),
    ("DATE_OF_BIRTH", "date_of_birth"),
];

/// Vectors of attacks that the program and the seed call so and that we do not, and why. They stay exceptions in the `seed`
/// preset too: that sets thresholds, and never had a rule of lone words that it could keep. User text is judged by what is
/// done to whose text, and its object exculpates.
const INJECTION_EXCEPTIONS: [(&str, &str); 11] = [
    ("llmverify/injection/005", "a new role alone: people give models roles every day"),
    ("llmverify/injection/006", "a voice for the rest of the conversation frees from no rule"),
    ("llmverify/injection/015", "what is freed is a phone, not the model"),
    ("llmverify/injection/017", "an order to a tool that a user may well give"),
    ("llmverify/injection/020", "a command alone: programmers paste them"),
    ("llmverify/injection/022", "a call of a function alone: programmers paste them"),
    ("llmverify/injection/024", "an encoding alone: what it decodes to is no attack"),
    ("llmverify/injection/025", "an escape of one letter hides nothing"),
    ("llmverify/injection/026", "an entity of one letter hides nothing"),
    ("llmverify/injection/031", "a label of a speaker alone: pasted chats have it"),
    ("llmverify/injection/032", "a sentence to complete that names neither a prompt nor instructions"),
];

/// Keys that hold the program's words or its own way.
const FREE_KEYS: [&str; 7] =
    ["detail", "tier_reached", "total_feedback", "threshold", "typescript_sdk", "summary", "case"];

/// Numbers are equal up to this; the vectors print doubles in full, or rounded as we round.
const TOLERANCE: f64 = 1e-9;

/// Engine, and how many of its vectors bind: fewer would mean that the test has stopped looking.
const ENGINES: [(&str, usize); 33] = [
    ("latency", 19),
    ("token_rate", 20),
    ("fingerprint_extract", 10),
    ("fingerprint", 13),
    ("structure", 28),
    ("baseline", 3),
    ("health", 13),
    ("intent", 25),
    ("hallucination", 20),
    ("compression", 25),
    ("compliance", 19),
    ("json_repair", 20),
    ("signal_latency", 19),
    ("signal_schema", 8),
    ("signal_pattern", 7),
    ("signal_length", 6),
    ("signal_plausibility", 6),
    ("combiner", 12),
    ("verify", 25),
    ("sequence", 14),
    ("running_stats", 3),
    ("spc", 9),
    ("consistency_session", 12),
    ("consistency_historical", 10),
    ("calibrate", 2),
    ("symbolic", 29),
    ("aggregate", 16),
    ("canonical_json", 17),
    ("claim_split", 21),
    ("meta_statement", 15),
    ("hallucination_pattern", 19),
    ("claim_decision", 10),
    ("response", 7),
];

fn vectors(engine: &str) -> Vec<Value> {
    let file = match engine {
        "claim_split" | "meta_statement" | "hallucination_pattern" | "claim_decision" | "response" => "claims",
        engine => engine,
    };
    let path = format!("{}/fixtures/golden/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let vectors = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    vectors.filter(|vector| vector["engine"] == engine || file == engine).collect()
}

fn id(vector: &Value) -> &str {
    vector["id"].as_str().unwrap()
}

fn binding(vector: &Value) -> Option<Value> {
    if OUR_RULE_STANDS.iter().any(|(skipped, _)| *skipped == id(vector)) || vector["input"].get("params").is_some() {
        return None;
    }
    let is_followed = ["agentguard/", "perathos/symbolic/"].iter().any(|program| id(vector).starts_with(program));
    let follows_program = is_followed && vector["agrees_with_seed"].is_null();
    let mut expected = match vector.get("seed_expected") {
        Some(expected) => expected.clone(),
        None if vector["agrees_with_seed"] == true || follows_program => vector["expected"].clone(),
        None => return None,
    };
    if vector["engine"] == "intent" {
        // Which the candidates of `seed_expected` leave out.
        expected["primary"] = vector["expected"]["primary"].clone();
    }
    Some(expected)
}

/// The first place where `got` is not what is expected.
fn difference(path: &str, expected: &Value, got: &Value) -> Option<String> {
    let differ = || Some(format!("{path}: expected {expected}, got {got}"));
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => expected.iter().find_map(|(key, value)| {
            let path = format!("{path}/{key}");
            match got.get(key) {
                _ if FREE_KEYS.contains(&key.as_str()) => None,
                Some(own) => difference(&path, value, own),
                // Of the signals that did not fire, both sides list what they looked for.
                None if value["fired"] == false => None,
                None => Some(format!("{path}: missing")),
            }
        }),
        (Value::Array(expected), Value::Array(own)) if expected.len() == own.len() => {
            let mut pairs = expected.iter().zip(own).enumerate();
            pairs.find_map(|(index, (expected, own))| difference(&format!("{path}/{index}"), expected, own))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64()?, b.as_f64()?);
            if (a - b).abs() <= TOLERANCE * a.abs().max(1.0) { None } else { differ() }
        }
        // The seed does not define this number.
        (Value::Null, Value::Number(_)) => None,
        _ if expected == got => None,
        _ => differ(),
    }
}

/// Signals of the question that seed 002 asks, which fired although the vector does not list them.
fn surplus(expected: &Value, got: &Value) -> Option<String> {
    let (expected, got) = (expected.get("signals")?.as_object()?, got["signals"].as_object()?);
    let own = got.iter().find(|(id, signal)| {
        signal["fired"] == true && signal["question"] == "fabricated" && !expected.contains_key(*id)
    });
    own.map(|(id, signal)| format!("{id} fired: {signal}"))
}

fn answer(vector: &Value) -> Value {
    let engine = vector["engine"].as_str().unwrap();
    let answer = probe::run(engine, &vector["input"], &Settings::preset(Compat::Seed));
    answer.unwrap_or_else(|error| panic!("{}: {error:#}", id(vector)))
}

/// What is wrong with the answer to one vector; `None` when it is right, or nothing binds.
fn check(vector: &Value) -> Option<String> {
    let (expected, got) = (binding(vector)?, answer(vector));
    let wrong =
        difference("", &expected, &got).or_else(|| match (expected["steps"].as_array(), got["steps"].as_array()) {
            (Some(expected), Some(got)) => expected.iter().zip(got).find_map(|(expected, got)| surplus(expected, got)),
            _ => surplus(&expected, &got),
        });
    wrong.map(|wrong| format!("{}: {wrong}", id(vector)))
}

#[test]
fn the_seed_preset_answers_as_the_vectors_do() {
    let mut failures = Vec::new();
    for (engine, count) in ENGINES {
        let vectors = vectors(engine);
        let bound = vectors.iter().filter(|vector| binding(vector).is_some()).count();
        if bound != count {
            failures.push(format!("{engine}: {bound} vectors bind, expected {count}"));
        }
        failures.extend(vectors.iter().filter_map(check));
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn feedback_moves_rate_and_prior_as_the_program_does() {
    let failures: Vec<String> = vectors("adaptive")
        .iter()
        .filter(|vector| vector["input"].get("params").is_none())
        .filter_map(|vector| difference("", &vector["expected"], &answer(vector)))
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn nine_in_ten_primary_intents_and_labels_agree() {
    const AGREEMENT_MIN: f64 = 0.9;
    for (engine, key) in [("intent", "primary"), ("hallucination", "label"), ("compression", "label")] {
        let vectors = vectors(engine);
        let agreeing = vectors.iter().filter(|vector| {
            let expected = vector["seed_expected"].get(key).unwrap_or(&vector["expected"][key]);
            answer(vector)[key] == *expected
        });
        let share = agreeing.count() as f64 / vectors.len() as f64;
        assert!(share >= AGREEMENT_MIN, "{engine}: {share}");
    }
}

#[test]
fn personal_data_and_secrets_are_of_the_types_of_the_vectors() {
    let mut bound = 0;
    for vector in vectors("pii") {
        let Some(expected) = binding(&vector) else { continue };
        let answer = answer(&vector);
        let found: Vec<&str> =
            answer["findings"].as_array().unwrap().iter().map(|finding| finding["type"].as_str().unwrap()).collect();
        // What documentation uses is no finding of the program's in a text that says that it is a test.
        let is_test = vector["input"]["text"].as_str().unwrap().contains("a test");
        let expected: Vec<&str> =
            expected["findings"].as_array().unwrap().iter().map(|finding| finding["type"].as_str().unwrap()).collect();
        for kind in &expected {
            let (_, name) = PII_TYPES.iter().find(|(known, _)| known == kind).unwrap();
            assert!(found.iter().any(|own| own.ends_with(name)), "{}: {kind}, got {found:?}", id(&vector));
        }
        assert!(is_test || !expected.is_empty() || found.is_empty(), "{}: {found:?}", id(&vector));
        bound += 1;
    }
    assert_eq!(bound, 24);
}

#[test]
fn attacks_of_the_vectors_are_seen_where_a_word_alone_is_none() {
    let vectors = vectors("injection");
    let differs = |vector: &&Value| answer(vector)["safe"] != vector["expected"]["safe"];
    let differing: Vec<&str> =
        vectors.iter().filter(|vector| vector["agrees_with_seed"] == true).filter(differs).map(id).collect();
    let known: Vec<&str> = INJECTION_EXCEPTIONS.iter().map(|(known, _)| *known).collect();
    assert_eq!(differing, known, "a vector that agrees is no exception, and one that differs needs a reason");
    assert!(INJECTION_EXCEPTIONS.iter().all(|(_, why)| !why.is_empty()));
}

#[test]
fn every_vector_file_is_tested() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/golden");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(engine) = name.strip_suffix(".jsonl") else { continue };
        // Those of `pii_numbers` bind in `rules::check`, of `encodings` in `text::decode`; `claims` holds five engines.
        let is_tested = matches!(engine, "adaptive" | "claims" | "encodings" | "injection" | "pii" | "pii_numbers")
            || ENGINES.iter().any(|(known, _)| *known == engine);
        assert!(is_tested, "no test reads {name}");
    }
}
