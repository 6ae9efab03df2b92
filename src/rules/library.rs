//! The rules of our tables and of a user's files, read and checked.
//!
//! A table is a TOML file with `[[rule]]` entries; `[defaults]` fills in what its entries leave out. A user's file has
//! the same form. A rule is refused when its id names no family, occurs twice, its pattern does not compile or matches
//! the empty string, its check is unknown, it could never be looked for (neither keywords nor digits), a ratio is no
//! ratio, or a list of examples is empty. Whether the examples do what they say is for [`super::examples`].

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

use serde::Deserialize;

use super::{Family, Rule, check, labels, scanner};
use crate::text::keywords::WORD_BYTES_MAX;

/// Rules in order, each id once. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Library {
    rules: Arc<Vec<Rule>>,
    /// Indices of the rules, by id.
    by_id: Arc<Vec<usize>>,
}

/// Why a file of rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The file.
    pub file: String,
    /// The rule's id; empty when the file cannot be read as a table of rules.
    pub rule: String,
    /// What is wrong, as a clause.
    pub reason: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleError { file, rule, reason } = self;
        if rule.is_empty() { write!(f, "{file}: {reason}") } else { write!(f, "{file}: rule `{rule}` {reason}") }
    }
}

impl std::error::Error for RuleError {}

/// Our tables, in the order of the docs.
const TABLES: &[(&str, &str)] = &[
    ("injection/override.toml", include_str!("tables/injection/override.toml")),
    ("injection/multilingual.toml", include_str!("tables/injection/multilingual.toml")),
    ("injection/extraction.toml", include_str!("tables/injection/extraction.toml")),
    ("injection/persona.toml", include_str!("tables/injection/persona.toml")),
    ("injection/forcing.toml", include_str!("tables/injection/forcing.toml")),
    ("injection/boundary.toml", include_str!("tables/injection/boundary.toml")),
    ("indirect.toml", include_str!("tables/indirect.toml")),
    ("pii_contact.toml", include_str!("tables/pii_contact.toml")),
    ("pii_financial.toml", include_str!("tables/pii_financial.toml")),
    ("pii_americas.toml", include_str!("tables/pii_americas.toml")),
    ("pii_europe.toml", include_str!("tables/pii_europe.toml")),
    ("pii_asia_africa.toml", include_str!("tables/pii_asia_africa.toml")),
    ("secret_ai.toml", include_str!("tables/secret_ai.toml")),
    ("secret_cloud.toml", include_str!("tables/secret_cloud.toml")),
    ("secret_code.toml", include_str!("tables/secret_code.toml")),
    ("secret_message.toml", include_str!("tables/secret_message.toml")),
    ("secret_payment.toml", include_str!("tables/secret_payment.toml")),
    ("secret_service.toml", include_str!("tables/secret_service.toml")),
    ("secret_key_format.toml", include_str!("tables/secret_key_format.toml")),
    ("secret_generic.toml", include_str!("tables/secret_generic.toml")),
    ("output.toml", include_str!("tables/output.toml")),
];

static BUILT_IN: LazyLock<Library> = LazyLock::new(|| {
    let mut rules = Vec::new();
    for (file, text) in TABLES {
        // A table that cannot be read is a defect of this crate, and `every_table_is_sound` names it.
        rules.extend(read(file, text).unwrap_or_default());
    }
    Library::of(rules)
});

impl Library {
    fn of(rules: Vec<Rule>) -> Library {
        let mut by_id: Vec<usize> = (0..rules.len()).collect();
        by_id.sort_by(|a, b| rules[*a].id.cmp(&rules[*b].id));
        Library { rules: Arc::new(rules), by_id: Arc::new(by_id) }
    }

    /// Our rules.
    pub fn built_in() -> Library {
        BUILT_IN.clone()
    }

    /// Our rules and those of a user's files, given as name and content.
    ///
    /// # Errors
    /// When a rule cannot be used; see the head of this file.
    pub fn with_files<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Result<Library, RuleError> {
        Library::built_in().with_more(files)
    }

    /// These rules and those of further files.
    ///
    /// # Errors
    /// As [`Library::with_files`].
    pub fn with_more<'f>(&self, files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Result<Library, RuleError> {
        let mut rules = self.rules.to_vec();
        for (file, text) in files {
            for rule in read(file, text)? {
                validate(&rule, &rules).map_err(|reason| RuleError {
                    file: file.to_owned(),
                    rule: rule.id.clone(),
                    reason,
                })?;
                rules.push(rule);
            }
        }
        Ok(Library::of(rules))
    }

    /// The same rules with other likelihood ratios, by id. A rule's ratio in context moves in the same proportion.
    ///
    /// # Errors
    /// When there is no such rule, or the ratio is none.
    pub fn with_ratios(&self, ratios: &BTreeMap<String, f64>) -> Result<Library, RuleError> {
        let mut rules = self.rules.to_vec();
        for (id, ratio) in ratios {
            let refuse = |reason: &str| RuleError {
                file: "rules.likelihood_ratio".into(),
                rule: id.clone(),
                reason: reason.into(),
            };
            let rule = rules.iter_mut().find(|rule| rule.id == *id).ok_or_else(|| refuse("does not exist"))?;
            if !(ratio.is_finite() && *ratio > 0.0) {
                return Err(refuse("has a likelihood ratio that is not above 0"));
            }
            let change = ratio / rule.likelihood_ratio;
            rule.likelihood_ratio = *ratio;
            rule.context_likelihood_ratio = rule.context_likelihood_ratio.map(|usual| usual * change);
        }
        Ok(Library::of(rules))
    }

    /// All rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule at this index.
    pub fn rule(&self, index: usize) -> &Rule {
        &self.rules[index]
    }

    /// The rule of this id.
    pub fn find(&self, id: &str) -> Option<&Rule> {
        let at = self.by_id.binary_search_by(|index| self.rules[*index].id.as_str().cmp(id)).ok()?;
        Some(&self.rules[self.by_id[at]])
    }

    /// What findings of this rule are counted under: `family/category`, or its family alone where it stands in no table.
    pub fn category(&self, id: &str) -> String {
        let family = id.split('/').next().unwrap_or(id);
        self.find(id).map_or_else(|| family.to_owned(), |rule| format!("{family}/{}", rule.category))
    }
}

fn read(file: &str, text: &str) -> Result<Vec<Rule>, RuleError> {
    let error = |rule: &str, reason: String| RuleError { file: file.to_owned(), rule: rule.to_owned(), reason };
    let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| error("", e.to_string()))?;
    let defaults = match table.remove("defaults") {
        Some(toml::Value::Table(defaults)) => defaults,
        _ => toml::Table::new(),
    };
    let phrases = match table.remove("phrases") {
        Some(toml::Value::Table(phrases)) => phrases,
        _ => toml::Table::new(),
    };
    let phrases = [expand_phrases(&phrases, &SHARED).as_slice(), &SHARED, &LABELS].concat();
    let entries = match table.remove("rule") {
        Some(toml::Value::Array(entries)) => entries,
        None => Vec::new(),
        Some(_) => return Err(error("", "`rule` must be a list: [[rule]]".to_owned())),
    };
    if let Some(other) = table.keys().next() {
        return Err(error(
            "",
            format!("unknown key `{other}`; a file of rules has [defaults], [phrases] and [[rule]]"),
        ));
    }
    let mut rules = Vec::with_capacity(entries.len());
    for entry in entries {
        let toml::Value::Table(mut entry) = entry else {
            return Err(error("", "a [[rule]] must be a table".to_owned()));
        };
        for (key, value) in &defaults {
            if !entry.contains_key(key) {
                entry.insert(key.clone(), value.clone());
            }
        }
        if let Some(toml::Value::String(pattern)) = entry.get_mut("pattern") {
            *pattern = with_phrases(pattern, &phrases);
        }
        let id = entry.get("id").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        let mut rule = Rule::deserialize(entry).map_err(|e| error(&id, e.message().to_owned()))?;
        for words in [&mut rule.keywords, &mut rule.context, &mut rule.weak_context, &mut rule.not_context] {
            *words = with_labels(words).map_err(|reason| error(&id, reason))?;
        }
        // They are compared with text in lower case.
        for word in rule.context.iter_mut().chain(&mut rule.weak_context).chain(&mut rule.not_context) {
            *word = labels::lower(word);
        }
        if rule.needs_context && rule.keywords.is_empty() && rule.digits.is_none() {
            rule.keywords = [rule.context.as_slice(), &rule.weak_context].concat();
        }
        rules.push(rule.written_out().map_err(|reason| error(&id, reason))?);
    }
    Ok(rules)
}

/// Each list of labels as a phrase.
static LABELS: LazyLock<Vec<(String, String)>> = LazyLock::new(labels::patterns);

/// `words`, with all words of a list in the place of its name (`@phone`).
fn with_labels(words: &[String]) -> Result<Vec<String>, String> {
    let mut all: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        let before = all.len();
        match word.strip_prefix('@').filter(|_| word.len() > 1) {
            Some(list) => all.extend(labels::words(list).map(str::to_owned)),
            None => all.push(word.clone()),
        }
        if all.len() == before {
            return Err(format!("names an unknown list of labels `{word}`"));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|word| seen.insert(word.clone()));
    Ok(all)
}

/// Phrases that several tables name.
static SHARED: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let table: toml::Table = include_str!("tables/injection/phrases.toml").parse().unwrap_or_default();
    let phrases = table.get("phrases").and_then(toml::Value::as_table);
    phrases.map(|phrases| expand_phrases(phrases, &[])).unwrap_or_default()
});

/// The phrases of a file, each with those before it and the `known` ones put in.
pub(crate) fn expand_phrases(table: &toml::Table, known: &[(String, String)]) -> Vec<(String, String)> {
    let mut phrases = Vec::with_capacity(table.len());
    for (name, pattern) in table {
        let pattern = with_phrases(&with_phrases(pattern.as_str().unwrap_or_default(), &phrases), known);
        phrases.push((format!("(?&{name})"), pattern));
    }
    phrases
}

/// `pattern` with each phrase in the place of its name; a name that is unknown stays, and does not compile.
pub(crate) fn with_phrases(pattern: &str, phrases: &[(String, String)]) -> String {
    if !pattern.contains("(?&") {
        return pattern.to_owned();
    }
    phrases.iter().fold(pattern.to_owned(), |pattern, (name, phrase)| pattern.replace(name, phrase))
}

/// Why `rule` cannot be used beside those `before` it, as a clause.
fn validate(rule: &Rule, before: &[Rule]) -> Result<(), String> {
    if Family::of(&rule.id).is_none() {
        return Err(
            "needs an id such as `injection/name`, `indirect/name`, `pii/name`, `secret/name` or `output/name`".into(),
        );
    }
    if before.iter().any(|other| other.id == rule.id) {
        return Err("occurs twice, or is one of ours".into());
    }
    if rule.keywords.is_empty() == rule.digits.is_none() {
        return Err("needs either keywords or digits".into());
    }
    if rule.keywords.iter().any(|keyword| keyword.is_empty() || !keyword.is_ascii() && keyword.len() < 2) {
        return Err("has an empty keyword".into());
    }
    if rule.keywords.iter().any(|keyword| keyword.len() > WORD_BYTES_MAX) {
        return Err(format!("has a keyword above {WORD_BYTES_MAX} bytes"));
    }
    if rule.hits.is_empty() || rule.misses.is_empty() {
        return Err("needs examples: texts that must hit, and near misses".into());
    }
    let ratios = [Some(rule.likelihood_ratio), rule.context_likelihood_ratio];
    if ratios.into_iter().flatten().any(|ratio| !(ratio.is_finite() && ratio > 0.0)) {
        return Err("has a likelihood ratio that is not above 0".into());
    }
    if let Some(name) = &rule.check
        && check::by_name(name).is_none()
    {
        return Err(format!("names an unknown check `{name}`"));
    }
    if let Some(clear) = &rule.clear {
        scanner::compile(clear).map_err(|e| format!("has a `clear` that does not compile: {e}"))?;
    }
    scanner::compile(&rule.pattern).map_err(|e| format!("has a pattern that does not compile: {e}"))?;
    if scanner::may_match_nothing(&rule.pattern) {
        return Err("has a pattern that matches the empty string".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_sound() {
        let mut seen: Vec<Rule> = Vec::new();
        for (file, text) in TABLES {
            for rule in read(file, text).unwrap() {
                assert_eq!(validate(&rule, &seen), Ok(()), "{file} {}", rule.id);
                assert!(rule.owasp.iter().all(|tag| super::super::rule::owasp_2026(tag).is_some()), "{}", rule.id);
                // What is wrong more often than right says nothing.
                assert!(rule.precision.is_none_or(|precision| (0.5..=1.0).contains(&precision)), "{}", rule.id);
                seen.push(rule);
            }
        }
    }

    fn refused(text: &str) -> String {
        Library::with_files([("own.toml", text)]).unwrap_err().to_string()
    }

    #[test]
    fn a_rule_that_cannot_be_used_is_refused_with_file_id_and_reason() {
        let rule = |id: &str, change: (&str, &str)| {
            let usual = format!(
                "[[rule]]\nid = \"{id}\"\ncategory = \"own\"\nseverity = \"low\"\nlikelihood_ratio = 2.0\nsummary = \"s\"\n\
                 why = \"w\"\nsource = \"own\"\nkeywords = [\"own\"]\npattern = 'own'\nhits = [\"own\"]\nmisses = [\"other\"]\n"
            );
            usual.replace(change.0, change.1)
        };
        assert!(Library::with_files([("own.toml", rule("pii/own", ("", "")).as_str())]).is_ok());
        for (change, reason) in [
            (("'own'", "'(own'"), "own.toml: rule `pii/own` has a pattern that does not compile"),
            (("'own'", "'\\b'"), "own.toml: rule `pii/own` has a pattern that matches the empty string"),
            (("'own'", "'(own)?'"), "own.toml: rule `pii/own` has a pattern that matches the empty string"),
            (("pii/own", "own"), "own.toml: rule `own` needs an id"),
            (("keywords = [\"own\"]\n", ""), "needs either keywords or digits"),
            (("hits = [\"own\"]", "hits = []"), "needs examples"),
            (("= 2.0", "= 0.0"), "likelihood ratio"),
            (("why = \"w\"", "because = \"w\""), "unknown field `because`"),
            (("source", "check = \"nothing\"\nsource"), "names an unknown check `nothing`"),
        ] {
            let error = refused(&rule("pii/own", change));
            assert!(error.contains(reason), "{error} should say {reason}");
        }
        assert!(refused("rule = 3").contains("must be a list"));
        assert!(refused("[[rule").contains("own.toml"));
    }
}
