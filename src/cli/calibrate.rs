//! `llmverify calibrate`: labelled records become a calibration.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::{ValueEnum, ValueHint};

use llmverify::{
    config::QuestionPolicies,
    engines::Question,
    pipeline::check_signals,
    verdict::{
        Calibration,
        calibration::QuestionCalibration,
        fitting::{self, FOLDS, FusionKind, LABELS_PER_CLASS_MIN, Scores, Target},
        gate::{ExitStatus, parse_share},
    },
};

use super::{
    labelled::LabelledInputs,
    outputs::write_whole,
    style::{FAINT, STRONG, WARNING},
};

/// Fits likelihood ratios, weights and priors on labelled records, and says what they gain.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify calibrate labelled.jsonl -o calibration.toml
  llmverify calibrate labelled.jsonl -o calibration.toml --group meta.source_id --false-alarm-rate 5%
  llmverify calibrate log.jsonl --labels labels.jsonl -o calibration.toml --cost 10:1
  llmverify audit log.jsonl --calibration calibration.toml

What it gains is measured on records that the fit did not see, whole groups at a time. What ranks no
better than before is not written (exit status 1) without --force. A file that exists keeps what it
holds of other questions.")]
pub struct Args {
    #[command(flatten)]
    labelled: LabelledInputs,
    /// The file to write.
    #[arg(long, short = 'o', value_name = "FILE", required = true, help_heading = "Output", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Refuse below this many labels of each class.
    #[arg(long, value_name = "N", default_value_t = LABELS_PER_CLASS_MIN, help_heading = "Fit")]
    min_labels: usize,
    /// Folds of the cross-validation.
    #[arg(long, value_name = "N", default_value_t = FOLDS, value_parser = folds, help_heading = "Fit")]
    folds: usize,
    /// How signals are added up [default: what has the lower cross-validated log loss].
    #[arg(long, value_name = "HOW", help_heading = "Fit")]
    fusion: Option<FusionName>,
    /// Signals that tell against the question the more they measure; all others tell for it.
    #[arg(long, value_name = "SIGNAL,...", value_delimiter = ',', help_heading = "Fit")]
    falling: Vec<String>,
    /// Flag from the threshold with the least cost of a miss and of a false alarm, as in `10:1`.
    #[arg(long, value_name = "MISS:ALARM", value_parser = costs, help_heading = "Threshold", group = "target")]
    cost: Option<Target>,
    /// Flag from the lowest threshold at which at most this share of the records labelled 0 is flagged.
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "Threshold", group = "target")]
    false_alarm_rate: Option<f64>,
    /// Flag from the threshold with the highest F1.
    #[arg(long, help_heading = "Threshold", group = "target")]
    best_f1: bool,
    /// Write also what ranks no better than before on records that the fit did not see.
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// What the labels are, in words, for the file.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, help_heading = "Output")]
    source: String,
}

/// A prior that moves by less changes hardly a verdict.
const PRIOR_MOVES_FROM: f64 = 0.01;

/// `--fusion`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FusionName {
    /// A weight per signal
    Weights,
    /// One temperature for all
    Temperature,
}

/// Reads a number of folds, of which one is held out and the others are fitted on.
fn folds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(folds) if folds >= 2 => Ok(folds),
        Ok(_) => Err("at least 2: one part is held out, and the fit needs another".to_owned()),
        Err(_) => Err(format!("{text:?} is no number of folds")),
    }
}

/// Reads `10:1`.
fn costs(text: &str) -> Result<Target, String> {
    let expected = || format!("expected two costs above 0, as in 10:1, not {text:?}");
    let (miss, false_alarm) = text.split_once(':').ok_or_else(expected)?;
    let cost = |text: &str| text.trim().parse().ok().filter(|cost: &f64| cost.is_finite() && *cost > 0.0);
    match (cost(miss), cost(false_alarm)) {
        (Some(miss), Some(false_alarm)) => Ok(Target::Cost { miss, false_alarm }),
        _ => Err(expected()),
    }
}

/// Fits, writes the file, and shows what was gained.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    // The calibration in force may be the one that is fitted anew.
    args.labelled.refuse_overwriting([&args.out], |_| Vec::new())?;
    let mut calibration = kept(&args.out)?;
    let (study, status) = args.labelled.study(&[], &[])?;
    let question: Question = args.labelled.question.into();
    let options = fitting::Options {
        folds: args.folds,
        labels_per_class_min: args.min_labels,
        fusion: args.fusion.map(|name| match name {
            FusionName::Weights => FusionKind::Weights,
            FusionName::Temperature => FusionKind::Temperature,
        }),
        falling: args.falling.iter().cloned().collect(),
        target: args.cost.or(args.false_alarm_rate.map(Target::FalseAlarmRate)).or(args.best_f1.then_some(Target::F1)),
        source: args.source.clone(),
    };
    let fitted = match fitting::fit(question, &study.labelled, &options) {
        Ok(fitted) => fitted,
        Err(refusal) => bail!("not calibrated: {refusal}"),
    };
    if let Some(objection) = fitted.gain.objection() {
        show(question, &fitted, study.unlabelled)?;
        let word = if args.force { "warning" } else { "not written" };
        let hint = if args.force { "" } else { "; --force writes it anyway" };
        anstream::eprintln!("{WARNING}{word}:{WARNING:#} {objection}{hint}");
        if !args.force {
            return Ok(ExitStatus::PolicyViolated.merge(status));
        }
    } else {
        show(question, &fitted, study.unlabelled)?;
    }
    *calibration.of_mut(question) = fitted.calibration.of(question).clone();
    let usual = QuestionPolicies::default().of(question).prior;
    let text = format!("# Written by `llmverify calibrate`; audit with --calibration.\n{}", calibration.to_toml()?);
    write_whole(&args.out, text)?;
    writeln!(anstream::stdout().lock(), "written to {}", args.out.display())?;
    say_what_moves(usual, study.flag_from, fitted.calibration.of(question))?;
    Ok(status)
}

/// What the file holds of other questions, if there is one.
fn kept(path: &Path) -> anyhow::Result<Calibration> {
    if !path.exists() {
        return Ok(Calibration { version: llmverify::verdict::calibration::VERSION, ..Calibration::default() });
    }
    let file = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {file}"))?;
    let calibration = Calibration::parse(&file, &text)?;
    check_signals(&file, &calibration)?;
    Ok(calibration)
}

/// A new prior moves every posterior; a threshold that stays then flags more or fewer records than before.
fn say_what_moves(usual: f64, flag_from: Option<f64>, fitted: &QuestionCalibration) -> anyhow::Result<()> {
    let Some(text) = what_moves(usual, flag_from, fitted) else { return Ok(()) };
    writeln!(anstream::stdout().lock(), "{text}")?;
    Ok(())
}

fn what_moves(usual: f64, flag_from: Option<f64>, fitted: &QuestionCalibration) -> Option<String> {
    let (prior, flag_from) = fitted.prior.zip(flag_from)?;
    if fitted.flag_from.is_some() || (prior - usual).abs() < PRIOR_MOVES_FROM {
        return None;
    }
    let what = if prior > usual { "more" } else { "fewer" };
    Some(format!(
        "the prior was {usual:.4}, and records are still flagged from {flag_from:.4}: {what} of them will be; \
         --best-f1, --false-alarm-rate or --cost choose a threshold for this prior"
    ))
}

fn show(question: Question, fitted: &fitting::Fitted, unlabelled: u64) -> anyhow::Result<()> {
    let of = fitted.calibration.of(question);
    let about = of.provenance.clone().unwrap_or_default();
    let mut out = anstream::stdout().lock();
    let name = question.as_str();
    writeln!(
        out,
        "{STRONG}{name}{STRONG:#}  {} labels in {} groups, {} of them yes; {unlabelled} records without a label left out",
        about.labels, about.groups, about.positives
    )?;
    writeln!(out, "cross-validated over {} folds, added up by {}\n", about.folds, about.fusion)?;
    writeln!(out, "{FAINT}{:<28} {:>8} {:>8}{FAINT:#}", "", "before", "after")?;
    type Score = fn(&Scores) -> Option<f64>;
    let rows: [(&str, Score); 5] = [
        ("auroc", |scores| scores.auroc),
        ("average_precision", |scores| scores.average_precision),
        ("brier", |scores| scores.brier),
        ("log_loss", |scores| scores.log_loss),
        ("expected_calibration_error", |scores| scores.expected_calibration_error),
    ];
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    for (name, value) in rows {
        writeln!(out, "{name:<28} {:>8} {:>8}", shown(value(&fitted.before)), shown(value(&fitted.after)))?;
    }
    for (what, interval) in [("auroc", fitted.gain.auroc), ("log_loss", fitted.gain.log_loss)] {
        let Some((low, high)) = interval else { continue };
        writeln!(out, "{FAINT}change of {what}: {low:+.3} to {high:+.3} (95% confidence){FAINT:#}")?;
    }
    writeln!(out, "\n{FAINT}{:<28} {:>8} {:>8} {:>8}{FAINT:#}", "signal", "weight", "least", "most")?;
    let temperature = of.temperature.unwrap_or(1.0);
    for (id, table) in &of.signals {
        let weight = table.weight * temperature;
        let ends = table.log_odds.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), log_odds| {
            (least.min(weight * log_odds), most.max(weight * log_odds))
        });
        writeln!(out, "{id:<28} {weight:>8.3} {:>+8.3} {:>+8.3}", ends.0, ends.1)?;
    }
    if !fitted.constant.is_empty() {
        writeln!(out, "{FAINT}the same everywhere, so not fitted: {}{FAINT:#}", fitted.constant.join(", "))?;
    }
    writeln!(out, "\nprior {:.4}", of.prior.unwrap_or_default())?;
    if let Some((threshold, confusion)) = &fitted.at_threshold {
        writeln!(
            out,
            "flag from {threshold:.4}: precision {}, recall {}, false alarms {}",
            shown(confusion.precision()),
            shown(confusion.recall()),
            shown(confusion.false_alarm_rate())
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prior_that_moves_without_the_threshold_is_told() {
        for (prior, flag_from, expected) in [
            (0.57, None, Some("more of them will be; --best-f1")),
            (0.02, None, Some("fewer of them will be; --best-f1")),
            (0.15, None, None),
            (0.57, Some(0.4), None),
        ] {
            let fitted = QuestionCalibration { prior: Some(prior), flag_from, ..QuestionCalibration::default() };
            let said = what_moves(0.15, Some(0.2), &fitted);
            assert_eq!(said.is_some(), expected.is_some(), "{prior}: {said:?}");
            assert!(said.unwrap_or_default().contains(expected.unwrap_or_default()), "{prior}");
        }
    }

    #[test]
    fn one_fold_is_none() {
        for (text, expected) in [("0", None), ("1", None), ("-3", None), ("x", None), ("2", Some(2)), ("5", Some(5))] {
            assert_eq!(folds(text).ok(), expected, "{text}");
        }
    }
}
