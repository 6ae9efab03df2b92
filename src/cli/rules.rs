//! `llmverify rules`: what is looked for in texts, and whether it finds what it says.

use std::{io::Write as _, path::PathBuf};

use anyhow::{Context as _, bail};
use clap::{Subcommand, ValueHint};

use llmverify::{
    pipeline,
    report::terminal::safe,
    rules::{Library, Rule, Scanner, examples, rule::owasp_2026},
    verdict::gate::ExitStatus,
};

use super::{
    inputs::SettingsArgs,
    style::{ERROR, FAINT, STRONG},
};

/// Lists the rules of the security engines, shows one, or runs their examples.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify rules                              all rules, yours among them
  llmverify rules list secret/                 those of one family
  llmverify rules show pii/email_address       one rule, in the form of a file of rules
  llmverify rules list --rules my_rules.toml   with yours
  llmverify rules test my_rules.toml           whether a file's rules hit and miss what they say

A file of rules is named under [rules] in llmverify.toml, or by --rules.")]
pub struct Args {
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Every rule: id, severity, what it finds
    List {
        /// Only rules whose id begins with this.
        #[arg(value_name = "PREFIX", default_value = "")]
        prefix: String,
    },
    /// One rule, in the form of a file of rules
    Show {
        /// Its id.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Runs the examples of all rules, or of the rules in a file
    Test {
        /// Files of rules; all rules when not given.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
}

/// Does what was asked.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let settings = args.settings.layers()?.settings()?;
    let library = pipeline::library(&settings)?;
    match &args.what {
        None => list(&library, ""),
        Some(What::List { prefix }) => list(&library, prefix),
        Some(What::Show { id }) => show(&library, id),
        Some(What::Test { files }) => test(&library, files),
    }
}

fn list(library: &Library, prefix: &str) -> anyhow::Result<ExitStatus> {
    let rules: Vec<&Rule> = library.rules().iter().filter(|rule| rule.id.starts_with(prefix)).collect();
    if rules.is_empty() {
        bail!("no rule begins with `{prefix}`");
    }
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or_default();
    let mut out = anstream::stdout().lock();
    for rule in rules {
        let severity = format!("{:?}", rule.severity).to_lowercase();
        writeln!(
            out,
            "{STRONG}{:width$}{STRONG:#}  {FAINT}{severity:<8}{FAINT:#}  {}",
            safe(&rule.id),
            safe(&rule.summary)
        )?;
    }
    Ok(ExitStatus::Ok)
}

fn show(library: &Library, id: &str) -> anyhow::Result<ExitStatus> {
    let Some(rule) = library.find(id) else {
        bail!("unknown rule `{id}`; `llmverify rules` lists them, `llmverify engines` what finds without a rule")
    };
    let mut out = anstream::stdout().lock();
    write!(out, "[[rule]]\n{}", toml::to_string(rule).context("the rule cannot be written as TOML")?)?;
    let tags = rule.owasp.iter().filter_map(|tag| Some(format!("{tag}:2025 = {}:2026", owasp_2026(tag)?)));
    let tags: Vec<String> = tags.collect();
    if !tags.is_empty() {
        writeln!(out, "# OWASP {}", tags.join(", "))?;
    }
    Ok(ExitStatus::Ok)
}

fn test(library: &Library, files: &[PathBuf]) -> anyhow::Result<ExitStatus> {
    let known = library.rules().len();
    let mut texts = Vec::new();
    for path in files {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read the rules {}", path.display()))?;
        texts.push((path.display().to_string(), text));
    }
    let library = library.with_more(texts.iter().map(|(file, text)| (file.as_str(), text.as_str())))?;
    let tested = if files.is_empty() { library.rules() } else { &library.rules()[known..] };
    let scanner = Scanner::new(library.clone());
    let failures: Vec<examples::Failure> =
        tested.iter().flat_map(|rule| examples::failures(rule, &library, &scanner)).collect();
    let mut out = anstream::stdout().lock();
    for failure in &failures {
        let should = if failure.should_hit { "must hit" } else { "must not hit" };
        writeln!(out, "{ERROR}fails{ERROR:#} {} {should} {:?}", safe(&failure.rule), failure.text)?;
    }
    let examples: usize = tested.iter().map(|rule| rule.hits.len() + rule.misses.len()).sum();
    writeln!(out, "{} rules, {examples} examples, {} fail", tested.len(), failures.len())?;
    Ok(if failures.is_empty() { ExitStatus::Ok } else { ExitStatus::Usage })
}
