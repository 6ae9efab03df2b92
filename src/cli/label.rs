//! `llmverify label`: a person says of records, the most open first, what the answer is.

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    io::{self, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::ValueHint;

use llmverify::{
    engines::Question,
    pipeline::{
        Auditor,
        labels::{LabelEntry, LabelSchema},
        study::Card,
    },
    report::{
        terminal::{clip, guard_line, safe},
        verdict_record::{Identity, place},
    },
    verdict::gate::ExitStatus,
};

use super::{
    inputs::Inputs,
    labelled::QuestionName,
    outputs::write_whole,
    style::{FAINT, STRONG, WARNING},
};

/// Shows records, the most open first, and writes down what you say of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify label log.jsonl -o labels.jsonl
  llmverify label log.jsonl -o labels.jsonl --question attacked
  llmverify calibrate log.jsonl --labels labels.jsonl -o calibration.toml

Keys: y yes, n no, s skip, u undo, q quit. Run it again to go on. The file holds ids, places and
labels, and no text of the log; personal data and secrets are not shown either.")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// The file to write, or to go on with.
    #[arg(long, short = 'o', value_name = "FILE", required = true, help_heading = "Output", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// The question to answer.
    #[arg(long, value_name = "QUESTION", default_value = "fabricated", help_heading = "Labels")]
    question: QuestionName,
    /// Take the keys from this file, not from the terminal.
    #[arg(long, value_name = "FILE", help_heading = "Labels", value_hint = ValueHint::FilePath)]
    answers: Option<PathBuf>,
}

/// Characters of a text that are shown.
const TEXT_CHARS_MAX: usize = 1_500;
/// Characters of an explanation that are shown.
const EXPLANATION_CHARS_MAX: usize = 400;

/// Audits, then asks.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut keys = args.keys()?;
    let question: Question = args.question.into();
    let mut session = Session::open(&args.out)?;
    let layers = args.inputs.layers()?;
    let settings = layers.settings()?;
    let mut reader = args.inputs.open(&settings)?;
    if reader.will_read(&args.out) {
        bail!("--out {} would overwrite an input", args.out.display());
    }
    let filter = args.inputs.filter(&settings)?;
    let auditor = Auditor::new(settings)?.show_sensitive(args.inputs.show_sensitive);
    let suppressions = args.inputs.suppressions(&layers, &auditor)?;
    let auditor = auditor.with_suppressions(suppressions);
    args.inputs.warn_of_sensitive();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.inputs.thread_count()).build()?;
    let done = session.done(question);
    let is_done = |record: &Identity<'_>| done.contains(&key(record.source, record.line, record.item));
    let cards = pool.install(|| auditor.cards(&mut reader, &filter, question, is_done))?;
    let status = Inputs::tell_unreadable(&reader);
    ask(&cards, question, &mut session, &mut keys)?;
    session.say(question)?;
    Ok(status)
}

/// Where keys come from.
enum Keys {
    Terminal,
    File(VecDeque<char>),
}

impl Keys {
    /// The next key; `None` when there are no more.
    fn next(&mut self) -> anyhow::Result<Option<char>> {
        match self {
            Keys::File(keys) => Ok(keys.pop_front()),
            Keys::Terminal => match console::Term::stderr().read_char() {
                Ok(key) => Ok(Some(key)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
                Err(error) => Err(error).context("cannot read the terminal"),
            },
        }
    }
}

impl Args {
    fn keys(&self) -> anyhow::Result<Keys> {
        if let Some(path) = &self.answers {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            return Ok(Keys::File(text.chars().filter(|key| !key.is_whitespace()).collect()));
        }
        if !io::stdin().is_terminal() {
            bail!(
                "labelling needs a person at a terminal, and standard input is none (--answers FILE takes keys from a file)"
            );
        }
        Ok(Keys::Terminal)
    }
}

/// Shows card after card until there are no more cards or keys.
fn ask(cards: &[Card], question: Question, session: &mut Session, keys: &mut Keys) -> anyhow::Result<()> {
    let (mut at, mut answered) = (0, Vec::new());
    'cards: while let Some(card) = cards.get(at) {
        show(card, at + 1, cards.len(), question)?;
        loop {
            let Some(key) = keys.next()? else { break 'cards };
            match key.to_ascii_lowercase() {
                'y' | 'n' => {
                    session.add(entry(card, question, key.eq_ignore_ascii_case(&'y')))?;
                    answered.push((at, true));
                }
                's' => answered.push((at, false)),
                'u' => {
                    let Some((before, is_labelled)) = answered.pop() else { continue };
                    if is_labelled {
                        session.undo()?;
                    }
                    at = before;
                    continue 'cards;
                }
                'q' => break 'cards,
                _ => continue,
            }
            at += 1;
            continue 'cards;
        }
    }
    Ok(())
}

fn entry(card: &Card, question: Question, is_yes: bool) -> LabelEntry {
    LabelEntry {
        schema: LabelSchema::V1,
        source: card.source.clone(),
        line: card.line,
        item: card.item,
        id: card.id.clone(),
        question,
        label: u8::from(is_yes),
    }
}

fn show(card: &Card, number: usize, count: usize, question: Question) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let at = place(&card.source, card.line, card.item);
    let id = card.id.as_deref().map(|id| format!("  {}", safe(id))).unwrap_or_default();
    writeln!(
        out,
        "\n{STRONG}{number} of {count}{STRONG:#}  {}{id}  {FAINT}P = {:.3}{FAINT:#}",
        safe(&at),
        card.posterior
    )?;
    writeln!(out, "{}", guard_line(&clip(&card.explanation, EXPLANATION_CHARS_MAX)))?;
    for (name, text) in &card.texts {
        writeln!(out, "{FAINT}{name}{FAINT:#}")?;
        for line in clip_lines(text) {
            writeln!(out, "  {}", guard_line(&safe(line)))?;
        }
    }
    for (rule, excerpt) in &card.evidence {
        writeln!(out, "{WARNING}{}{WARNING:#}  {}", safe(rule), safe(excerpt))?;
    }
    writeln!(out, "{} y yes, n no, s skip, u undo, q quit", asked(question))?;
    out.flush()
}

/// The lines of the first [`TEXT_CHARS_MAX`] characters.
fn clip_lines(text: &str) -> impl Iterator<Item = &str> {
    let end = text.char_indices().nth(TEXT_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    text[..end].lines()
}

fn asked(question: Question) -> &'static str {
    match question {
        Question::Fabricated => "Is the content made up?",
        Question::Attacked => "Does the input try to subvert the model?",
        Question::Leaking => "Does the output give away what it must not?",
        Question::Degraded => "Is the service unwell?",
    }
}

fn key(source: &str, line: u64, item: Option<u32>) -> (String, u64, Option<u32>) {
    (source.to_owned(), line, item)
}

/// The file of labels, kept in memory; written after every answer, so that nothing is lost.
struct Session {
    path: PathBuf,
    entries: Vec<LabelEntry>,
    /// Those that were there before.
    before: usize,
    /// Whether the last line has no end yet.
    is_open: bool,
}

impl Session {
    fn open(path: &Path) -> anyhow::Result<Session> {
        let file = path.display().to_string();
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {file}")),
        };
        let entries = LabelEntry::parse_lines(&file, &text)?;
        let is_open = !text.is_empty() && !text.ends_with('\n');
        Ok(Session { path: path.to_owned(), before: entries.len(), entries, is_open })
    }

    fn done(&self, question: Question) -> BTreeSet<(String, u64, Option<u32>)> {
        let about = self.entries.iter().filter(|entry| entry.question == question);
        about.map(|entry| key(&entry.source, entry.line, entry.item)).collect()
    }

    fn add(&mut self, entry: LabelEntry) -> anyhow::Result<()> {
        let write = || -> io::Result<()> {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
            let start = if self.is_open { "\n" } else { "" };
            file.write_all(format!("{start}{}\n", serde_json::to_string(&entry)?).as_bytes())
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))?;
        self.is_open = false;
        self.entries.push(entry);
        Ok(())
    }

    fn undo(&mut self) -> anyhow::Result<()> {
        self.entries.pop();
        let mut text = String::new();
        for entry in &self.entries {
            text += &serde_json::to_string(entry)?;
            text.push('\n');
        }
        self.is_open = false;
        write_whole(&self.path, text)
    }

    fn say(&self, question: Question) -> io::Result<()> {
        let about = || self.entries.iter().filter(|entry| entry.question == question);
        let yes = about().filter(|entry| entry.label == 1).count();
        let (all, new) = (about().count(), self.entries.len() - self.before);
        let mut out = anstream::stdout().lock();
        writeln!(out, "\n{new} new labels in {}; {all} of {}, {yes} yes", self.path.display(), question.as_str())
    }
}
