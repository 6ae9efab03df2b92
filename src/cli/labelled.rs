//! The arguments that `eval` and `calibrate` share: which question, and where the labels are.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum, ValueHint};

use llmverify::{
    config::Settings,
    engines::Question,
    pipeline::{
        Auditor,
        labels::{LabelEntry, LabelFields, Labels},
        study::Study,
    },
    verdict::gate::ExitStatus,
};

use super::{CouldNotAudit, inputs::Inputs, outputs::refuse_overwriting, style::WARNING};

/// What to read, which question, and where the labels are.
#[derive(Debug, Args)]
pub struct LabelledInputs {
    #[command(flatten)]
    pub inputs: Inputs,
    /// The question that the labels answer.
    #[arg(long, value_name = "QUESTION", default_value = "fabricated", help_heading = "Labels")]
    pub question: QuestionName,
    /// The member that holds the label (0 or 1, false or true): a name, a path such as `meta.wrong`, or a JSON Pointer.
    #[arg(long, value_name = "FIELD", default_value = "label", help_heading = "Labels")]
    pub label: String,
    /// Labels in a file beside the log, as `llmverify label` writes it.
    #[arg(long, value_name = "FILE", conflicts_with = "label", help_heading = "Labels", value_hint = ValueHint::FilePath)]
    pub labels: Option<PathBuf>,
    /// What records must not be parted by, such as `meta.source`: folds, splits and intervals keep them together.
    #[arg(long, value_name = "FIELD,...", value_delimiter = ',', conflicts_with = "labels", help_heading = "Labels")]
    pub group: Vec<String>,
}

/// `--question`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum QuestionName {
    /// Is the content made up?
    Fabricated,
    /// Does the input try to subvert the model?
    Attacked,
    /// Does the output give away what it must not?
    Leaking,
    /// Is the service unwell?
    Degraded,
}

impl From<QuestionName> for Question {
    fn from(name: QuestionName) -> Question {
        match name {
            QuestionName::Fabricated => Question::Fabricated,
            QuestionName::Attacked => Question::Attacked,
            QuestionName::Leaking => Question::Leaking,
            QuestionName::Degraded => Question::Degraded,
        }
    }
}

impl LabelledInputs {
    /// Audits the log, and keeps what has a label; also the exit status that follows from sources that could not be read.
    pub fn study(&self, by: &[String], within: &[String]) -> anyhow::Result<(Study, ExitStatus)> {
        let layers = self.inputs.layers()?;
        let settings = layers.settings()?;
        let question = self.question.into();
        let labels = match &self.labels {
            Some(path) => {
                let file = path.display().to_string();
                let text = fs::read_to_string(path).with_context(|| format!("cannot read the labels {file}"))?;
                Labels::of_entries(&LabelEntry::parse_lines(&file, &text)?, question)
            }
            None => {
                match self.inputs.unrepeatable().as_deref() {
                    None => {}
                    Some("-") => bail!("a labelled log is read twice, which standard input cannot; name a file"),
                    Some(path) => bail!("a labelled log is read twice, which {path} cannot; name a file"),
                }
                let fields = LabelFields {
                    label: self.label.clone(),
                    by: by.to_vec(),
                    group: self.group.clone(),
                    within: within.to_vec(),
                };
                Labels::of_log(&mut self.inputs.open(&settings)?, &fields)?
            }
        };
        let mut reader = self.inputs.open(&settings)?;
        let filter = self.inputs.filter(&settings)?;
        let auditor = Auditor::new(settings)?.show_sensitive(self.inputs.show_sensitive);
        self.inputs.warn_of_sensitive();
        let suppressions = self.inputs.suppressions(&layers, &auditor)?;
        let auditor = auditor.with_suppressions(suppressions);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.inputs.thread_count()).build()?;
        let study = pool.install(|| auditor.study(&mut reader, &filter, question, &labels))?;
        for (count, what) in [
            (labels.answered_again, "labels are of a record that was labelled again: the last one counts"),
            (study.ambiguous, "records have the id of a label that other records or labels have too: it was not used"),
        ] {
            if count > 0 {
                anstream::eprintln!("{WARNING}note:{WARNING:#} {count} {what}");
            }
        }
        let status = Inputs::tell_unreadable(&reader);
        if status != ExitStatus::Ok && study.labelled.is_empty() {
            let why = "no record with a label in what could be read".to_owned();
            return Err(anyhow::Error::new(CouldNotAudit(why)));
        }
        Ok((study, status))
    }

    /// Refuses to write to a file that is read: an input, the labels, the settings, and the `others`.
    pub fn refuse_overwriting<'p>(
        &self,
        outs: impl IntoIterator<Item = &'p PathBuf>,
        others: impl Fn(&Settings) -> Vec<String>,
    ) -> anyhow::Result<()> {
        let layers = self.inputs.layers()?;
        let settings = layers.settings()?;
        let reader = self.inputs.open(&settings)?;
        let mut read: Vec<(&str, PathBuf)> = Vec::new();
        read.extend(self.labels.clone().map(|path| ("the labels", path)));
        read.extend(self.inputs.files_read(&layers, &settings));
        read.extend(others(&settings).into_iter().map(|file| ("a file of the settings", PathBuf::from(file))));
        refuse_overwriting(outs, &reader, &read)
    }
}
