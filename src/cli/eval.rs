//! `llmverify eval`: how good an audit is on labelled records.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::bail;
use clap::{ValueEnum, ValueHint};

use llmverify::{
    report::{
        evaluation::{Evaluation, Options, RESAMPLES},
        terminal::Styles,
    },
    verdict::gate::{ExitStatus, parse_share},
};

use super::{labelled::LabelledInputs, outputs::write_whole};

/// Measures an audit on labelled records: precision, recall, AUROC, calibration, with intervals.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify eval labelled.jsonl
  llmverify eval labelled.jsonl --by meta.dataset --group meta.source_id --format json
  llmverify eval log.jsonl --labels labels.jsonl --question attacked
  llmverify eval labelled.jsonl --split 50%            threshold chosen on one half, reported on the other
  llmverify eval labelled.jsonl --calibration calibration.toml

Records whose label is null or missing are left out and counted. Spans (`\"spans\": [[start, end], ...]`,
code points of the response) are compared with the findings where the log has them.")]
pub struct Args {
    #[command(flatten)]
    labelled: LabelledInputs,
    /// Show results by this field too, such as `meta.dataset`.
    #[arg(
        long,
        value_name = "FIELD,...",
        value_delimiter = ',',
        conflicts_with = "labels",
        help_heading = "Evaluation"
    )]
    by: Vec<String>,
    /// Also compare only records that agree in this field: AUROC within, such as `meta.task,model`.
    #[arg(
        long,
        value_name = "FIELD,...",
        value_delimiter = ',',
        conflicts_with = "labels",
        help_heading = "Evaluation"
    )]
    within: Vec<String>,
    /// Precision, recall and F1 of posteriors from here on [default: what the audit flags from].
    #[arg(long, value_name = "P", value_parser = parse_share, help_heading = "Evaluation")]
    threshold: Option<f64>,
    /// Choose the threshold (highest F1) on this share of the groups, and report on the rest.
    #[arg(long, value_name = "SHARE", value_parser = part, conflicts_with = "threshold", help_heading = "Evaluation")]
    split: Option<f64>,
    /// Resamples for the intervals; 0 for none.
    #[arg(long, value_name = "N", default_value_t = RESAMPLES, help_heading = "Evaluation")]
    resamples: usize,
    /// What to write to standard output.
    #[arg(long, short = 'f', value_name = "FORMAT", default_value = "table", help_heading = "Output")]
    format: FormatName,
    /// Write it to this file too; its ending (.txt, .json, .csv) chooses the format. Repeatable.
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    out: Vec<PathBuf>,
}

/// `--format`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// For people
    Table,
    /// One object
    Json,
    /// One row per group and metric
    Csv,
}

impl FormatName {
    fn of(path: &Path) -> anyhow::Result<FormatName> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("txt") => Ok(FormatName::Table),
            Some("json") => Ok(FormatName::Json),
            Some("csv") => Ok(FormatName::Csv),
            _ => bail!("--out {}: the ending must be .txt, .json or .csv", path.display()),
        }
    }

    fn render(self, evaluation: &Evaluation, styles: &Styles) -> Vec<u8> {
        match self {
            FormatName::Table => evaluation.to_table(styles).into_bytes(),
            FormatName::Json => evaluation.to_json(),
            FormatName::Csv => evaluation.to_csv(),
        }
    }
}

/// Reads a share that leaves something on both sides.
fn part(text: &str) -> Result<f64, String> {
    let share = parse_share(text)?;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(format!("{text} leaves nothing on one side; half is 50%")) }
}

/// Resamples above this only cost time.
const RESAMPLES_MAX: usize = 100_000;

/// Audits, compares with the labels, and shows the numbers.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let formats: Vec<FormatName> = args.out.iter().map(|path| FormatName::of(path)).collect::<anyhow::Result<_>>()?;
    args.labelled.refuse_overwriting(&args.out, |settings| vec![settings.calibration.file.clone()])?;
    let (study, status) = args.labelled.study(&args.by, &args.within)?;
    if study.evaluated.is_empty() {
        bail!(
            "no audited record has a label ({} without one); --label names the member that holds it",
            study.unlabelled
        );
    }
    let positives = study.evaluated.iter().filter(|record| record.is_positive).count();
    if positives == 0 || positives == study.evaluated.len() {
        let label = u8::from(positives > 0);
        bail!("not evaluated: all {} labels are {label}: most figures compare two classes", study.evaluated.len());
    }
    let options = Options {
        question: args.labelled.question.into(),
        threshold: args.threshold,
        split: args.split,
        resamples: args.resamples.min(RESAMPLES_MAX),
        flag_from: study.flag_from.unwrap_or_default(),
        unlabelled: study.unlabelled,
    };
    let evaluation = Evaluation::new(&study.evaluated, &options);
    if args.split.is_some() && (evaluation.tuning_records == 0 || evaluation.all.records == 0) {
        bail!("--split: there are too few groups for that share; one side would be empty");
    }
    for (path, format) in args.out.iter().zip(formats) {
        let bytes = format.render(&evaluation, &Styles::plain());
        write_whole(path, bytes)?;
    }
    let is_colored = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let styles = if is_colored { Styles::colored() } else { Styles::plain() };
    let mut out = io::stdout().lock();
    out.write_all(&args.format.render(&evaluation, &styles))?;
    out.flush()?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_has_two_sides() {
        for (text, is_good) in
            [("50%", true), ("0.1", true), ("0", false), ("0%", false), ("100%", false), ("1", false)]
        {
            assert_eq!(part(text).is_ok(), is_good, "{text}");
        }
    }
}
