//! `llmverify doctor`: what this installation is, what it found, and whether it can work.

use std::io::{self, IsTerminal as _, Write as _};

use llmverify::{
    history,
    pipeline::{self, Auditor},
    report::{aggregate, issues, terminal::safe},
    verdict::gate::ExitStatus,
};

use super::{
    inputs::{SettingsArgs, thread_count},
    style::{ERROR, FAINT},
};

/// Shows version, configuration, calibration, rules, limits and terminal, and says what is wrong with them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify doctor
  llmverify doctor --config llmverify.toml

Exit status: 0 when everything can be used, 2 when something cannot.")]
pub struct Args {
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Prints what it finds.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut page = Page { faults: 0 };
    page.say("version", env!("CARGO_PKG_VERSION"))?;
    page.say("platform", &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH))?;
    page.say("allocator", if cfg!(feature = "mimalloc") { "mimalloc" } else { "system" })?;
    page.say("threads", &thread_count(None).to_string())?;
    let stdout = if io::stdout().is_terminal() { "a terminal" } else { "no terminal" };
    let colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let width = terminal_size::terminal_size().map_or_else(String::new, |(width, _)| format!(", {} columns", width.0));
    page.say("standard output", &format!("{stdout}{width}, {}", if colours { "colours" } else { "no colours" }))?;
    page.settings(args)?;
    Ok(if page.faults == 0 { ExitStatus::Ok } else { ExitStatus::Usage })
}

struct Page {
    faults: u32,
}

impl Page {
    fn say(&self, what: &str, text: &str) -> io::Result<()> {
        writeln!(anstream::stdout().lock(), "{what:<16} {}", safe(text))
    }

    fn fault(&mut self, what: &str, error: &anyhow::Error) -> io::Result<()> {
        self.faults += 1;
        let text = format!("{error:#}");
        writeln!(anstream::stdout().lock(), "{what:<16} {ERROR}cannot be used:{ERROR:#} {}", safe(&text))
    }

    fn settings(&mut self, args: &Args) -> io::Result<()> {
        let layers = match args.settings.layers() {
            Ok(layers) => layers,
            Err(error) => return self.fault("configuration", &error),
        };
        let found =
            layers.path.as_ref().map_or("no llmverify.toml here or above".into(), |path| path.display().to_string());
        self.say("configuration", &found)?;
        let settings = match layers.settings() {
            Ok(settings) => settings,
            Err(error) => return self.fault("settings", &error.into()),
        };
        let file = &settings.calibration.file;
        self.say("calibration", if file.is_empty() { "built in" } else { file })?;
        self.say("compat", if settings.compat == llmverify::config::Compat::Seed { "seed" } else { "llmverify" })?;
        let prices = settings.prices.len();
        self.say(
            "prices",
            &if prices == 0 { "none: tokens cost nothing".to_owned() } else { format!("{prices} patterns") },
        )?;
        let limits = [
            ("record", format!("{} bytes", settings.input.max_record_bytes)),
            ("streams", settings.history.streams_max.to_string()),
            ("streams listed", aggregate::STREAMS_MAX.to_string()),
            ("issues listed", issues::ISSUES_MAX.to_string()),
            ("charts", history::CHARTS_MAX.min(settings.history.charts_max).to_string()),
        ];
        let auditor = match Auditor::new(settings) {
            Ok(auditor) => auditor,
            Err(error) => return self.fault("audit", &error),
        };
        self.say("engines", &pipeline::engine_names().len().to_string())?;
        self.say("rules", &auditor.library().rules().len().to_string())?;
        let mut out = anstream::stdout().lock();
        for (index, (name, limit)) in limits.iter().enumerate() {
            let what = if index == 0 { "limits" } else { "" };
            writeln!(out, "{what:<16} {name} {FAINT}{limit}{FAINT:#}")?;
        }
        Ok(())
    }
}
