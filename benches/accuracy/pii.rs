//! Accuracy of `pii`.
//!
//! Each text goes through a whole audit as the response of a record, with every rule on (dates and web addresses too).
//!
//! - Spans (`presidio_synth_v2`, `presidio_generated_large`, `pii_anon_test` English): of the types of [`MAPPED`], a
//!   label is found when a finding of its type covers more than half of it, or it more than half of the finding; every
//!   other finding of such a type is a false alarm. Micro precision, recall, F1 and F2.
//! - Records (`presidio_unit_tests`): right when the record has a finding that is, or may be, of `meta.entity` just when
//!   its label says so.
//! - False alarms (`arena_hard_answers`): findings that are no examples and above `info`, with defaults, listed to be read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use llmverify::config::Settings;

use crate::data::{self, Data};

/// Label → rules: the types with a pattern of their own that Presidio's recognizers have too.
const MAPPED: &[(&str, &str)] = &[
    ("CREDIT_CARD", "credit_card"),
    ("CREDIT_CARD_NUMBER", "credit_card"),
    ("PHONE_NUMBER", "phone_number"),
    ("PHONE_NUMBER", "ph_mobile_number"),
    ("PHONE_NUMBER", "tr_phone_number"),
    ("EMAIL_ADDRESS", "email_address"),
    ("EMAIL_ADDRESS", "email_address_spelled"),
    ("IBAN_CODE", "iban_code"),
    ("IBAN", "iban_code"),
    ("IP_ADDRESS", "ip_address"),
    ("IP_ADDRESS", "ip_address_v6"),
    ("US_SSN", "us_ssn"),
    ("SOCIAL_SECURITY_NUMBER", "us_ssn"),
    ("SOCIAL_SECURITY_NUMBER", "us_itin"),
    ("DOMAIN_NAME", "url"),
    ("URL", "url"),
    ("MAC_ADDRESS", "mac_address"),
    ("NPI_NUMBER", "us_npi"),
    ("PASSPORT_NUMBER", "us_passport"),
    ("DRIVER_LICENSE_NUMBER", "us_driver_license"),
    ("DEA_NUMBER", "medical_license"),
    ("CRYPTOCURRENCY_ADDRESS", "crypto"),
    ("VEHICLE_IDENTIFICATION_NUMBER", "vin"),
];

/// `meta.entity` → rules, where the names differ.
const ENTITIES: &[(&str, &[&str])] = &[
    ("EMAIL_ADDRESS", &["email_address", "email_address_spelled"]),
    ("IP_ADDRESS", &["ip_address", "ip_address_v6"]),
    ("DATE_TIME", &["date_time", "date_time_short"]),
    ("CRYPTO", &["crypto", "crypto_bech32", "crypto_ethereum"]),
    ("PHONE_NUMBER", &["phone_number", "ph_mobile_number", "tr_phone_number"]),
];

/// Measures and prints.
pub fn measure(data: &Data) {
    for set in ["presidio_synth_v2", "presidio_generated_large", "pii_anon_test"] {
        if let Some(items) = data.items("pii", set) {
            spans(set, &items);
        }
    }
    if let Some(items) = data.items("pii", "presidio_unit_tests") {
        records(&items);
    }
    if let Some(items) = data.items("traffic", "arena_hard_answers") {
        false_alarms(&items);
    }
}

struct Reported {
    rule: String,
    detail: String,
    severity: String,
    bytes: (usize, usize),
}

/// The findings of each text, as the report has them; with the default settings when none are given.
fn findings(texts: impl Iterator<Item = (Value, Value)>, settings: Option<Settings>) -> Vec<Vec<Reported>> {
    let records: Vec<Value> = texts
        .enumerate()
        .map(|(index, (prompt, response))| json!({"id": index.to_string(), "prompt": prompt, "response": response}))
        .collect();
    let verdicts = match settings {
        Some(settings) => data::audit_with(&records, settings),
        None => data::audit(&records),
    };
    let reported = |verdict: &Value| {
        let findings = verdict["findings"].as_array().cloned().unwrap_or_default();
        let findings = findings.iter().filter(|finding| finding["field"] == "/response");
        findings.filter_map(reported).collect()
    };
    verdicts.iter().map(reported).collect()
}

fn reported(finding: &Value) -> Option<Reported> {
    let rule = finding["rule"].as_str()?;
    let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| finding[name].as_u64().unwrap_or(0) as usize;
    Some(Reported {
        rule: rule.to_owned(),
        detail: text("detail"),
        severity: text("severity"),
        bytes: (number("start"), number("end")),
    })
}

fn everything() -> Settings {
    let mut settings = Settings::default();
    settings.engines.pii.ignore.clear();
    settings
}

fn spans(set: &str, items: &[Value]) {
    let items: Vec<&Value> = items.iter().filter(|item| item["meta"]["lang"] == "en").collect();
    let found = findings(items.iter().map(|item| (Value::Null, item["text"].clone())), Some(everything()));
    let mut by_type: BTreeMap<&str, Counts> = BTreeMap::new();
    for (item, found) in items.iter().zip(&found) {
        let text = item["text"].as_str().unwrap_or_default();
        let labels = labels(item, text);
        for (kind, label) in &labels {
            let is_found = found.iter().any(|finding| is_of(kind, &finding.rule) && overlaps(finding.bytes, *label));
            let counts = by_type.entry(kind).or_default();
            *(if is_found { &mut counts.hits } else { &mut counts.missed }) += 1;
        }
        for finding in found {
            let Some(kind) = MAPPED.iter().find(|(_, rule)| is_rule(&finding.rule, rule)).map(|(kind, _)| *kind) else {
                continue;
            };
            let is_right =
                labels.iter().any(|(kind, label)| is_of(kind, &finding.rule) && overlaps(finding.bytes, *label));
            by_type.entry(kind).or_default().false_alarms += u32::from(!is_right);
            if !is_right && std::env::var_os("SHOW").is_some() {
                println!(
                    "  false {} {:?} in {:?}",
                    finding.rule,
                    text.get(finding.bytes.0..finding.bytes.1),
                    text.get(..160)
                );
            }
        }
    }
    let mut all = Counts::default();
    for (kind, counts) in &by_type {
        println!("  {kind:32} {counts}");
        all.add(counts);
    }
    println!("{set}: {} texts, {all}\n", items.len());
}

/// The labels of mapped types, as bytes.
fn labels<'i>(item: &'i Value, text: &str) -> Vec<(&'i str, (usize, usize))> {
    let byte_of = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let spans = item["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let label = |span: &'i Value| {
        let kind = span[2].as_str()?;
        MAPPED.iter().find(|(known, _)| *known == kind)?;
        Some((kind, (byte_of(span[0].as_u64()? as usize), byte_of(span[1].as_u64()? as usize))))
    };
    spans.iter().filter_map(label).collect()
}

fn is_of(kind: &str, rule: &str) -> bool {
    MAPPED.iter().any(|(known, mapped)| *known == kind && is_rule(rule, mapped))
}

fn is_rule(id: &str, name: &str) -> bool {
    id.strip_prefix("pii/") == Some(name)
}

fn overlaps(a: (usize, usize), b: (usize, usize)) -> bool {
    let common = a.1.min(b.1).saturating_sub(a.0.max(b.0));
    2 * common > a.1 - a.0 || 2 * common > b.1 - b.0
}

#[derive(Default)]
struct Counts {
    hits: u32,
    missed: u32,
    false_alarms: u32,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.hits += other.hits;
        self.missed += other.missed;
        self.false_alarms += other.false_alarms;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { hits, missed, false_alarms } = self;
        let share = |part: u32, whole: u32| f64::from(part) / f64::from(whole.max(1));
        let (precision, recall) = (share(*hits, hits + false_alarms), share(*hits, hits + missed));
        let score = |beta: f64| (1.0 + beta * beta) * precision * recall / (beta * beta * precision + recall).max(1e-9);
        write!(f, "P {precision:.3} R {recall:.3} F1 {:.3} F2 {:.3}", score(1.0), score(2.0))?;
        write!(f, " ({hits} found, {missed} missed, {false_alarms} false)")
    }
}

fn records(items: &[Value]) {
    let found = findings(items.iter().map(|item| (Value::Null, item["text"].clone())), Some(everything()));
    let mut by_type: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for (item, found) in items.iter().zip(&found) {
        let Some(entity) = item["meta"]["entity"].as_str() else { continue };
        let lower = entity.to_ascii_lowercase();
        let rules = ENTITIES
            .iter()
            .find(|(known, _)| *known == entity)
            .map_or(vec![lower.as_str()], |(_, rules)| rules.to_vec());
        let is_found = found.iter().any(|finding| rules.iter().any(|rule| may_be(finding, rule)));
        let is_right = is_found == (item["label"] == 1);
        let counts = by_type.entry(entity).or_default();
        counts.0 += u32::from(is_right);
        counts.1 += 1;
        if !is_right && std::env::var_os("SHOW").is_some() {
            println!("  wrong {entity} {} {}", item["label"], item["text"]);
        }
    }
    let (right, all) = by_type.values().fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
    let good = by_type.values().filter(|(right, all)| f64::from(*right) >= 0.95 * f64::from(*all)).count();
    let mean =
        by_type.values().map(|(right, all)| f64::from(*right) / f64::from(*all)).sum::<f64>() / by_type.len() as f64;
    for (entity, (right, all)) in by_type.iter().filter(|(_, (right, all))| right < all) {
        println!("  {entity:32} {right} of {all}");
    }
    println!(
        "presidio_unit_tests: {right} of {all} records right ({:.3}), mean over types {mean:.3}, {good} of {} types at least .95\n",
        f64::from(right) / f64::from(all),
        by_type.len()
    );
}

/// Whether a finding is, or may be, of this rule.
fn may_be(finding: &Reported, rule: &str) -> bool {
    let alternatives = finding.detail.split("; ").filter_map(|part| part.strip_prefix("or "));
    is_rule(&finding.rule, rule) || alternatives.flat_map(|names| names.split(", ")).any(|name| name == rule)
}

fn false_alarms(items: &[Value]) {
    let found = findings(items.iter().map(|item| (item["prompt"].clone(), item["response"].clone())), None);
    let mut by_rule: BTreeMap<&str, u32> = BTreeMap::new();
    let mut shown = 0;
    for (item, finding) in
        items.iter().zip(&found).flat_map(|(item, found)| found.iter().map(move |finding| (item, finding)))
    {
        let is_personal = finding.rule.starts_with("pii/") || finding.rule.starts_with("secret/");
        if !is_personal || finding.severity == "info" {
            continue;
        }
        *by_rule.entry(&finding.rule).or_default() += 1;
        shown += 1;
        let response = item["response"].as_str().unwrap_or_default();
        let around = finding.bytes.0.saturating_sub(50)..(finding.bytes.1 + 30).min(response.len());
        let around = String::from_utf8_lossy(&response.as_bytes()[around]);
        println!("  {} [{}] {around:?}", finding.rule, finding.detail);
    }
    println!(
        "arena_hard_answers: {} answers, {shown} findings above info that are no examples: {by_rule:?}\n",
        items.len()
    );
}
