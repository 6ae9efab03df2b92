//! The list of engines. Adding one is a file beside the others and a line here.

use std::sync::Arc;

use anyhow::{Result, bail};

use crate::{
    config::{Settings, nearest},
    engines::{
        self, About, BaselineEngine, Engine, Question, facts, grounding, language, runtime, security, tools,
        tools::agent::Policy,
    },
    history,
    rules::Scanner,
    verdict::{Calibration, signal_names},
};

/// The engines that judge a record by itself, in the order of reports.
fn all_engines(
    settings: &Settings,
    scanner: &Arc<Scanner>,
    sources: &facts::Sources,
    agents: &Arc<Policy>,
) -> Vec<Box<dyn Engine>> {
    let engines = settings.engines.clone();
    vec![
        Box::new(runtime::outcome::Outcome::new(engines.outcome)),
        Box::new(runtime::structure::Structure::new(engines.structure)),
        Box::new(language::intent::IntentDetection::new(engines.intent)),
        Box::new(language::hallucination::HallucinationRisk::new(engines.hallucination)),
        Box::new(language::compliance::Compliance::new(engines.compliance)),
        Box::new(language::json_repair::JsonRepair::new(engines.json_repair)),
        Box::new(language::refusal::RefusalEngine::new(engines.refusal)),
        Box::new(language::truncation::Truncation::new(engines.truncation)),
        Box::new(language::repetition::RepetitionEngine::new(engines.repetition)),
        Box::new(language::gibberish::Gibberish::new(engines.gibberish)),
        Box::new(language::echo::Echo::new(engines.echo)),
        Box::new(language::template::Template::new(engines.template)),
        Box::new(language::other_language::OtherLanguage::new(engines.other_language)),
        Box::new(facts::arithmetic::Arithmetic::new(engines.arithmetic)),
        Box::new(facts::knowledge::Knowledge::new(engines.knowledge, sources.knowledge.clone())),
        Box::new(facts::temporal::Temporal::new(engines.temporal, sources.recency.clone())),
        Box::new(facts::schema::SchemaValidator::new(engines.schema, sources.schemas.clone())),
        Box::new(facts::identity::Identity::new(engines.identity)),
        Box::new(grounding::GroundingEngine::new(engines.grounding)),
        Box::new(tools::contradiction::ContradictionEngine::new(engines.tool_contradiction)),
        Box::new(tools::agent::AllowList::new(settings.agents.clone(), agents.clone())),
        Box::new(security::injection::Injection::new(engines.prompt_injection, scanner.clone())),
        Box::new(security::indirect::Indirect::new(engines.indirect_injection, scanner.clone())),
        Box::new(security::pii::Pii::new(engines.pii, scanner.clone())),
        Box::new(security::secrets::Secrets::new(engines.secrets, scanner.clone())),
        Box::new(security::exfiltration::Exfiltration::new(engines.exfiltration, scanner.clone())),
        Box::new(security::active_content::ActiveContent::new(engines.active_content, scanner.clone())),
        Box::new(security::prompt_leak::PromptLeak::new(engines.system_prompt_leak)),
    ]
}

/// The engines that compare a record with its stream's baseline, in the order of reports.
fn all_baseline_engines(settings: &Settings) -> Vec<Arc<dyn BaselineEngine>> {
    let engines = settings.engines.clone();
    vec![
        Arc::new(runtime::latency::Latency::new(engines.latency)),
        Arc::new(runtime::token_rate::TokenRate::new(engines.token_rate)),
        Arc::new(runtime::fingerprint::FingerprintDrift::new(engines.fingerprint)),
        Arc::new(language::compression::ReasoningCompression::new(engines.compression)),
    ]
}

/// The engines that judge a record by itself, of those that `settings` ask for.
pub fn engines(
    settings: &Settings,
    scanner: &Arc<Scanner>,
    sources: &facts::Sources,
    agents: &Arc<Policy>,
) -> Vec<Box<dyn Engine>> {
    let mut engines = all_engines(settings, scanner, sources, agents);
    engines.retain(|engine| settings.runs(engine.about().name));
    engines
}

/// The engines that need a baseline, of those that `settings` ask for.
pub fn baseline_engines(settings: &Settings) -> Vec<Arc<dyn BaselineEngine>> {
    let mut engines = all_baseline_engines(settings);
    engines.retain(|engine| settings.runs(engine.about().name));
    engines
}

/// What every engine is, in the order of reports.
pub fn abouts() -> impl Iterator<Item = &'static About> {
    engines::ABOUTS.iter().chain(history::ABOUTS)
}

/// The names of all engines.
pub fn engine_names() -> Vec<&'static str> {
    abouts().map(|about| about.name).collect()
}

/// Whether `name` is one of `known`.
///
/// # Errors
/// When it is not; the message suggests the nearest.
pub fn check_engine_name(name: &str, known: &[&'static str]) -> Result<()> {
    if known.contains(&name) {
        return Ok(());
    }
    match nearest(name, known) {
        Some(nearest) => bail!("unknown engine `{name}`; did you mean `{nearest}`?"),
        None => bail!("unknown engine `{name}`; `llmverify engines --names` lists them"),
    }
}

/// Whether all tables of `calibration`, which stands in `file`, are for signals that there are.
///
/// # Errors
/// When one is not; the message suggests the nearest.
pub fn check_signals(file: &str, calibration: &Calibration) -> Result<()> {
    let known = signal_names();
    for question in Question::ALL {
        let mut ids = calibration.of(question).signals.keys();
        let Some(id) = ids.find(|id| !known.contains(&id.as_str())) else { continue };
        let meant = nearest(id, &known).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        bail!("{file}: [{}] signals.{id}: there is no such signal{meant}", question.as_str());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_that_is_made_is_listed() {
        let (settings, listed) = (Settings::default(), engine_names());
        let nothing = Arc::new(Scanner::of_rules(crate::rules::Library::built_in(), |_| false));
        let made = all_engines(&settings, &nothing, &facts::Sources::default(), &Arc::default());
        let names = made.iter().map(|engine| engine.about().name);
        for name in names.chain(all_baseline_engines(&settings).iter().map(|engine| engine.about().name)) {
            assert!(listed.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_table_for_no_signal_is_refused_with_its_name() {
        for (id, expected) in [
            ("schema_mismatch", None),
            (
                "schema_mismach",
                Some(
                    "x.toml: [fabricated] signals.schema_mismach: there is no such signal; did you mean `schema_mismatch`?",
                ),
            ),
            ("zzz", Some("signals.zzz: there is no such signal")),
        ] {
            let text = format!("version = 1\n[fabricated.signals.{id}]\nedges = []\nlog_odds = [1.0]\n");
            let refused = check_signals("x.toml", &Calibration::parse("x.toml", &text).unwrap()).err();
            assert_eq!(refused.is_some(), expected.is_some(), "{id}");
            assert!(refused.is_none_or(|error| error.to_string().contains(expected.unwrap_or_default())), "{id}");
        }
    }

    #[test]
    fn names_are_unique_and_everything_is_said() {
        let abouts: Vec<&About> = abouts().collect();
        for (index, about) in abouts.iter().enumerate() {
            assert!(abouts[..index].iter().all(|other| other.name != about.name), "{} twice", about.name);
            assert!(about.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
            for text in [about.summary, about.formula, about.range, about.source] {
                assert!(!text.is_empty(), "{} leaves something out", about.name);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_a_suggestion() {
        let known = engine_names();
        assert!(check_engine_name("latency", &known).is_ok());
        let error = check_engine_name("latenci", &known).unwrap_err().to_string();
        assert!(error.contains("did you mean `latency`"), "{error}");
        assert!(check_engine_name("zzz", &known).unwrap_err().to_string().contains("--names"));
    }
}
