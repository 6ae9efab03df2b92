//! Arguments → plan: one file per subcommand, each with its arguments, its help and its `run`.

mod audit;
mod calibrate;
mod completions;
mod config;
mod convert;
mod diff;
mod doctor;
mod engine;
mod engines;
mod eval;
mod explain;
mod init;
mod inputs;
mod inspect;
mod label;
mod labelled;
mod man;
mod outputs;
mod progress;
mod redact;
mod rules;
mod schema;
pub mod style;
mod suppressions;

use std::io::{self, ErrorKind, Write as _};

use clap::{ColorChoice, Parser, Subcommand};

use llmverify::verdict::gate::ExitStatus;

/// Audits logs of LLM and tool calls, offline: a verdict per record, a health report per log.
#[derive(Debug, Parser)]
#[command(name = "llmverify", version, max_term_width = 100, styles = style::HELP, after_help = "\
Examples:
  llmverify audit logs.jsonl                      a report at the terminal
  llmverify audit logs/ --out report.json         and a machine-readable one beside it
  llmverify audit logs.jsonl --format jsonl       one verdict per line
  llmverify explain logs.jsonl --line 42          why record 42 was judged as it was
  llmverify inspect logs.jsonl                    how the log is understood
  llmverify convert logs/ --out calls.jsonl       the same calls in one form
  llmverify redact logs.jsonl > clean.jsonl       the log without personal data and secrets

Exit status: 0 audited and within policy, 1 policy violated, 2 wrong usage or configuration,
3 could not audit everything, 130 interrupted.")]
struct Cli {
    /// When to use colours; NO_COLOR is obeyed.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Audit(Box<audit::Args>),
    Explain(Box<explain::Args>),
    Inspect(Box<inspect::Args>),
    Convert(Box<convert::Args>),
    Redact(redact::Args),
    Eval(Box<eval::Args>),
    Calibrate(Box<calibrate::Args>),
    Label(Box<label::Args>),
    Engines(engines::Args),
    Engine(engine::Args),
    Rules(rules::Args),
    Schema(schema::Args),
    Config(config::Args),
    Init(init::Args),
    Diff(diff::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs the command line.
///
/// # Errors
/// Wrong usage, an unusable configuration, or output that cannot be written; see [`status_of`].
pub fn run() -> anyhow::Result<ExitStatus> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version are output like any other: a full disk is no success.
        Err(message) => {
            message.print()?;
            io::stdout().flush()?;
            return Ok(if message.use_stderr() { ExitStatus::Usage } else { ExitStatus::Ok });
        }
    };
    match cli.color {
        ColorChoice::Auto => {}
        ColorChoice::Always => anstream::ColorChoice::Always.write_global(),
        ColorChoice::Never => anstream::ColorChoice::Never.write_global(),
    }
    match cli.command {
        Command::Audit(args) => audit::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Redact(args) => redact::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Label(args) => label::run(&args),
        Command::Engines(args) => engines::run(&args),
        Command::Engine(args) => engine::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

/// The command line as clap knows it, for completions and manual pages.
fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Something that was not the user's mistake kept the audit from being done.
#[derive(Debug)]
pub struct CouldNotAudit(pub String);

impl std::fmt::Display for CouldNotAudit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CouldNotAudit {}

/// The exit status that belongs to an error: wrong usage, unless it says otherwise, or a disk was full.
pub fn status_of(error: &anyhow::Error) -> ExitStatus {
    let is_full = |cause: &(dyn std::error::Error + 'static)| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge))
    };
    let could_not = error.downcast_ref::<CouldNotAudit>().is_some() || error.chain().any(is_full);
    if could_not { ExitStatus::CouldNotAudit } else { ExitStatus::Usage }
}

/// Whether the reader of our output has gone, which is its right.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe))
}
