//! `llmverify redact`: a log without its personal data and secrets.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::PathBuf,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use clap::{ValueEnum, ValueHint};

use llmverify::{
    input::{
        Limits,
        compression::Decompressed,
        paths::{self, Origin, Resolved, Source},
    },
    pipeline,
    redact::{Mode, Redactor, Selection, Summary, Values, values::KEY_BYTES_MIN},
    report::terminal::safe,
    rules::Scanner,
    verdict::gate::ExitStatus,
};

use super::{
    inputs::{SettingsArgs, thread_count},
    outputs::{WholeFile, leave_nothing_at_interrupt},
    style::{FAINT, WARNING},
};

/// Rewrites a log without its personal data and secrets; everything else stays, byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify redact logs.jsonl > clean.jsonl            jo@example.org becomes [EMAIL_1]
  zcat logs.jsonl.gz | llmverify redact - -o clean.jsonl
  llmverify redact logs.jsonl --only secret            keys, tokens and passwords only
  llmverify redact logs.jsonl --mode hash --key-file key.bin
                                                       [EMAIL_9f86d081]: the same in every log with this key

Every string is searched, object keys included, and every number; a number that is replaced becomes
a string. Strings that hold JSON are opened, and stay JSON. A line that is no JSON is searched as text
and passed on. What no rule knows stays, and what audits ignore by default: dates and web addresses.

Exit status: 0 all of it was JSON, 2 wrong usage, 3 some of it was not, or could not be read.")]
pub struct Args {
    /// Files, folders, globs, or `-` for standard input; gzip, zstd, bzip2 and xz are recognised, the output is plain.
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    paths: Vec<OsString>,
    /// Write to this file, not to standard output.
    #[arg(long, short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// What stands for a value.
    #[arg(long, value_name = "MODE", default_value = "placeholder")]
    mode: ModeName,
    /// The key of `--mode hash`: all bytes of this file, at least 16.
    #[arg(long, value_name = "FILE", required_if_eq("mode", "hash"), value_hint = ValueHint::FilePath)]
    key_file: Option<PathBuf>,
    /// Only these: `pii`, `secret`, or rules by their ids.
    #[arg(long, value_name = "RULE,...", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    settings: SettingsArgs,
    /// A line above this size is taken in parts, and left out where one string is longer.
    #[arg(long, value_name = "BYTES")]
    max_record_bytes: Option<u64>,
    /// Threads; all cores when not given. The output does not depend on it.
    #[arg(long, short = 'j', value_name = "N")]
    threads: Option<usize>,
    /// No summary and no warnings.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeName {
    /// Type and number: [EMAIL_1]
    Placeholder,
    /// Asterisks, by the class of the length
    Mask,
    /// Type and keyed hash: [EMAIL_9f86d081]
    Hash,
}

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Rewrites every source, in order.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let Resolved { sources, .. } = paths::resolve(&args.paths)?;
    let settings = args.settings.layers()?.settings()?;
    let library = pipeline::library(&settings)?;
    let scanner = Arc::new(Scanner::new(library));
    let selection = Selection::new(&args.only, &settings.engines.pii.ignore, &scanner)
        .map_err(|reason| anyhow::anyhow!("--only: {reason}"))?;
    let mut redactor = Redactor::new(scanner, selection, Values::new(args.mode()?));
    if args.out.is_some() {
        leave_nothing_at_interrupt()?;
    }
    let file = args.file(&sources)?;
    let mut out: Box<dyn Write + Send> = match &file {
        None => Box::new(BufWriter::new(io::stdout())),
        Some(file) => Box::new(BufWriter::new(file.writer()?)),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(thread_count(args.threads)).build()?;
    let limit = args.max_record_bytes.unwrap_or(Limits::default().max_record_bytes).max(1);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);

    let mut unread = Vec::new();
    for source in &sources {
        let result = pool.install(|| rewrite(source, limit, &mut redactor, &mut out));
        match result {
            Ok(()) => {}
            Err(Fault::Write(error)) => return Err(error).context("cannot write the output"),
            Err(Fault::Read(error)) => unread.push(format!("{}: {error}", source.name)),
        }
        redactor.end();
    }
    out.flush().context("cannot write the output")?;
    drop(out);
    file.map_or(Ok(()), WholeFile::settle)?;
    if !args.quiet {
        say(redactor.summary(), &unread);
    }
    let is_whole = redactor.summary().is_whole() && unread.is_empty();
    Ok(if is_whole { ExitStatus::Ok } else { ExitStatus::CouldNotAudit })
}

enum Fault {
    Read(io::Error),
    Write(io::Error),
}

/// Redacts one source, line by line, in memory bounded by `limit`.
fn rewrite(source: &Source, limit: usize, redactor: &mut Redactor, out: &mut impl Write) -> Result<(), Fault> {
    let input: Box<dyn io::Read + Send> = match &source.origin {
        Origin::StandardInput => Box::new(io::stdin()),
        Origin::File(path) => Box::new(File::open(path).map_err(Fault::Read)?),
        Origin::Missing(reason) => return Err(Fault::Read(io::Error::new(io::ErrorKind::NotFound, reason.clone()))),
    };
    let mut input = Decompressed::open(input).map_err(Fault::Read)?;
    let (mut buffer, mut clean) = (Vec::new(), Vec::new());
    let mut skips_line = false;
    loop {
        let read = input.fill(&mut buffer, CHUNK_BYTES);
        let is_end = !matches!(read, Ok(count) if count == CHUNK_BYTES);
        if skips_line {
            let rest = memchr::memchr(b'\n', &buffer);
            buffer.drain(..rest.unwrap_or(buffer.len()));
            skips_line = rest.is_none();
        }
        let whole = if is_end { buffer.len() } else { memchr::memrchr(b'\n', &buffer).map_or(0, |last| last + 1) };
        redactor.lines(&buffer[..whole], &mut clean);
        buffer.drain(..whole);
        if buffer.len() > limit {
            let taken = redactor.part(&buffer, &mut clean);
            buffer.drain(..taken);
            if taken == 0 {
                redactor.leave_out();
                buffer.clear();
                skips_line = true;
            }
        }
        out.write_all(&clean).map_err(Fault::Write)?;
        clean.clear();
        if is_end {
            return read.map(drop).map_err(Fault::Read);
        }
    }
}

impl Args {
    fn mode(&self) -> anyhow::Result<Mode> {
        match (self.mode, &self.key_file) {
            (ModeName::Placeholder, None) => Ok(Mode::Placeholder),
            (ModeName::Mask, None) => Ok(Mode::Mask),
            (ModeName::Hash, Some(path)) => {
                let key = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                if key.len() < KEY_BYTES_MIN {
                    bail!("{}: a key has at least {KEY_BYTES_MIN} bytes, this one has {}", path.display(), key.len());
                }
                Ok(Mode::Hash(key))
            }
            (_, Some(_)) => bail!("--key-file belongs to --mode hash"),
            (ModeName::Hash, None) => bail!("--mode hash needs --key-file"),
        }
    }

    fn file(&self, sources: &[Source]) -> anyhow::Result<Option<WholeFile>> {
        let Some(path) = &self.out else { return Ok(None) };
        if sources.iter().any(|source| source.origin.is_at(path)) {
            bail!("--out {} would overwrite an input", path.display());
        }
        WholeFile::create(path).map(Some)
    }
}

/// What was done, on standard error.
fn say(summary: &Summary, unread: &[String]) {
    let mut err = anstream::stderr().lock();
    let mut warn = |text: &str| {
        let _ = writeln!(err, "{WARNING}warning:{WARNING:#} {text}");
    };
    for reason in unread {
        warn(&safe(reason));
    }
    if summary.text_lines.0 > 0 {
        warn(&format!("{} not JSON, searched as text: {}", lines(summary.text_lines.0), numbers(&summary.text_lines)));
    }
    if summary.lines_left_out.0 > 0 {
        let (count, named) = (lines(summary.lines_left_out.0), numbers(&summary.lines_left_out));
        warn(&format!("{count} longer than max_record_bytes, not written to the end: {named}"));
    }
    if summary.ends_open {
        warn("the log ends inside of a value");
    }
    if summary.partly_searched > 0 {
        warn(&format!(
            "{} strings hold more encoded text than is decoded; they were searched in part",
            summary.partly_searched
        ));
    }
    let rules: Vec<String> = summary.by_rule.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
    let colon = if rules.is_empty() { "" } else { ": " };
    let _ = writeln!(
        err,
        "replaced {} values in {} lines{colon}{FAINT}{}{FAINT:#}",
        summary.replaced(),
        summary.lines,
        rules.join(", ")
    );
}

fn lines(count: u64) -> String {
    if count == 1 { "1 line is".to_owned() } else { format!("{count} lines are") }
}

fn numbers((count, first): &(u64, Vec<u64>)) -> String {
    let listed: Vec<String> = first.iter().map(u64::to_string).collect();
    let more = if *count > first.len() as u64 { ", ..." } else { "" };
    listed.join(", ") + more
}
