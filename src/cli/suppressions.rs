//! Which suppressions count, and drafting new ones.

use std::{
    fmt::Write as _,
    fs,
    hash::{BuildHasher as _, RandomState},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args, ValueHint};

use llmverify::{
    config::{Layers, Settings},
    report::Report,
    rules::{
        Suppressions,
        suppress::{FILE_NAME, KEY_BYTES},
    },
    text::excerpt::shown,
};

use super::outputs::write_whole;

/// Where suppressions come from, and where drafts go.
#[derive(Debug, Args)]
pub struct SuppressionArgs {
    /// This file of suppressions, not the llmverify.suppress.toml beside the configuration or in the working directory.
    #[arg(long, value_name = "FILE", help_heading = "Settings", value_hint = ValueHint::FilePath)]
    pub suppressions: Option<PathBuf>,
}

impl SuppressionArgs {
    /// The file that counts, if there is one.
    pub fn path(&self, layers: &Layers, settings: &Settings, isolated: bool) -> Option<PathBuf> {
        if let Some(path) = &self.suppressions {
            return Some(path.clone());
        }
        if !settings.rules.suppressions.is_empty() {
            return Some(PathBuf::from(&settings.rules.suppressions));
        }
        let folder = layers.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let usual = folder.join(FILE_NAME);
        (!isolated && usual.is_file()).then_some(usual)
    }
}

/// Reads the file at `path`, or none.
pub fn read(path: Option<&Path>, is_known: impl Fn(&str) -> bool) -> anyhow::Result<Suppressions> {
    let Some(path) = path else { return Ok(Suppressions::default()) };
    let file = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the suppressions {file}"))?;
    #[allow(clippy::disallowed_methods, reason = "the binary knows which day it is")]
    let today = jiff::Zoned::now().date();
    Ok(Suppressions::parse(&file, &text, today, is_known)?)
}

/// Suppressions that draft: with the key of the file at `path`, or with a new one.
pub fn drafting(mut suppressions: Suppressions) -> Suppressions {
    if suppressions.key().is_empty() {
        suppressions = Suppressions::with_key(&new_key());
    }
    suppressions.drafting()
}

/// Appends what the audit found to the file at `path`, for a person to fill in reason and owner.
pub fn write_draft(path: &Path, suppressions: &Suppressions, report: &Report) -> anyhow::Result<usize> {
    let mut text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(_) => format!(
            "# Findings that were looked at and accepted. An entry without a reason and an owner is refused.\n\
             # `expires = 2027-06-30` ends it on that day.\n\nkey = \"{}\"\n",
            data_encoding::HEXLOWER.encode(suppressions.key())
        ),
    };
    let drafts = &report.suppressions.drafts;
    for ((rule, fingerprint), place) in drafts {
        let _ = write!(
            text,
            "\n# first seen in {}\n[[suppression]]\nrule = \"{rule}\"\nfingerprint = \"{fingerprint}\"\nreason = \"\"\nowner = \"\"\n",
            shown(place)
        );
    }
    write_whole(path, text)?;
    Ok(drafts.len())
}

/// The standard library's hash seeds are drawn from the operating system.
#[allow(clippy::disallowed_methods, reason = "a key must be different in every run")]
fn new_key() -> Vec<u8> {
    let words = (0..KEY_BYTES.div_ceil(8) as u64).map(|word| RandomState::new().hash_one(word));
    words.flat_map(u64::to_le_bytes).take(KEY_BYTES).collect()
}
