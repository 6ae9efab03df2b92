//! `llmverify engine NAME [FILE]`: one engine over JSON Lines inputs, to check its arithmetic by hand.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write as _},
    path::PathBuf,
};

use anyhow::{Context as _, bail};

use llmverify::{probe, verdict::gate::ExitStatus};

use super::inputs::SettingsArgs;

/// Runs one engine over JSON Lines inputs and prints JSON Lines results.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  echo '{\"call\":{\"latencyMs\":3000},\"baseline\":{\"avgLatencyMs\":1000}}' | llmverify engine latency
  llmverify engine combiner fixtures/golden/combiner.jsonl --compat seed

Each line is an input object, or an object that holds one under `input`. The shapes are those of
fixtures/golden/*.jsonl. `llmverify engine --list` prints the names.")]
pub struct Args {
    /// The engine.
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// JSON Lines; standard input when not given or `-`.
    file: Option<PathBuf>,
    /// List the names.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Runs the engine over every line.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let Some(name) = args.name.as_deref().filter(|_| !args.list) else {
        for name in probe::names() {
            writeln!(out, "{name}")?;
        }
        out.flush()?;
        return Ok(ExitStatus::Ok);
    };
    if !probe::names().contains(&name) {
        bail!("unknown engine `{name}`; `llmverify engine --list` names them");
    }
    let settings = args.settings.layers()?.settings()?;
    let path = args.file.as_deref().filter(|path| *path != "-");
    let shown = path.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
    let input: Box<dyn BufRead> = match path {
        Some(path) => Box::new(BufReader::new(File::open(path).with_context(|| format!("cannot open {shown}"))?)),
        None => Box::new(io::stdin().lock()),
    };
    for (number, line) in input.lines().enumerate() {
        let line = line.with_context(|| format!("{shown}:{}", number + 1))?;
        if line.trim().is_empty() {
            continue;
        }
        let place = || format!("{shown}:{}", number + 1);
        let value: serde_json::Value = serde_json::from_str(&line).with_context(place)?;
        let input = value.get("input").unwrap_or(&value);
        if !input.is_object() {
            bail!("{}: expected a JSON object", place());
        }
        let result = probe::run(name, input, &settings).with_context(place)?;
        serde_json::to_writer(&mut out, &result)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(ExitStatus::Ok)
}
