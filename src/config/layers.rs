//! Defaults, file and command line, merged key by key, each value with its origin.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{Compat, FILE_NAME, Settings, nearest};
use crate::{engines::check::Checks, verdict::signal_names};

/// Which layer set a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// Built in, under `compat = "seed"`.
    Seed,
    /// The configuration file.
    File,
    /// The command line.
    CommandLine,
}

/// A configuration that cannot be used; the message names the file, the place and what to do.
#[derive(Debug)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// The layers above the defaults.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The file that was read, if any.
    pub path: Option<PathBuf>,
    file: Table,
    command_line: Table,
}

impl Layers {
    /// Reads the file at `path`, or no file.
    ///
    /// # Errors
    /// When the file cannot be read, is not TOML, holds an unknown key or a value of the wrong type.
    pub fn read(path: Option<&Path>) -> Result<Layers, ConfigError> {
        let Some(path) = path else { return Ok(Layers::default()) };
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError(format!("cannot read the configuration {}: {error}", path.display())))?;
        Layers::parse(&text, path)
    }

    /// Parses `text`, which was read from `path`.
    ///
    /// # Errors
    /// As [`Layers::read`].
    pub fn parse(text: &str, path: &Path) -> Result<Layers, ConfigError> {
        let describe = |error: toml::de::Error| ConfigError(describe(&error, text, path));
        // Parsed alone first: only the text itself can say on which line the fault stands.
        let settings = toml::from_str::<Settings>(text).map_err(describe)?;
        check_checks(&settings, text, path)?;
        let mut file = toml::from_str::<Table>(text).map_err(describe)?;
        anchor_paths(&mut file, path.parent().unwrap_or(Path::new("")));
        Ok(Layers { path: Some(path.to_owned()), file, command_line: Table::new() })
    }

    /// The nearest [`FILE_NAME`] in `directory` or above it.
    pub fn find(directory: &Path) -> Option<PathBuf> {
        directory.ancestors().map(|ancestor| ancestor.join(FILE_NAME)).find(|path| path.is_file())
    }

    /// Sets one key from the command line: `set("gate.fail_on", "block")`.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) {
        let mut table = &mut self.command_line;
        let mut keys = path.split('.').peekable();
        while let Some(key) = keys.next() {
            if keys.peek().is_none() {
                table.insert(key.to_owned(), value.into());
                return;
            }
            let entry = table.entry(key.to_owned()).or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(inner) = entry else { return };
            table = inner;
        }
    }

    /// The merged settings.
    ///
    /// # Errors
    /// When a value of the command line has the wrong type.
    pub fn settings(&self) -> Result<Settings, ConfigError> {
        let table = self.merged()?;
        validate(&table)?;
        Value::Table(table).try_into::<Settings>().map_err(|error| ConfigError(format!("invalid setting: {error}")))
    }

    /// Every key with its value and origin, in the order of the settings tree.
    ///
    /// # Errors
    /// As [`Layers::settings`].
    pub fn explain(&self) -> Result<Vec<(Vec<String>, Value, Origin)>, ConfigError> {
        // Through the typed settings, so that what is shown is what runs.
        let table = to_table(&self.settings()?)?;
        let (default, preset) = (to_table(&Settings::default())?, to_table(&Settings::preset(self.compat()?))?);
        let mut rows = Vec::new();
        flatten(&table, &mut Vec::new(), &mut |path, value| {
            let origin = if lookup(&self.command_line, path).is_some() {
                Origin::CommandLine
            } else if lookup(&self.file, path).is_some() {
                Origin::File
            } else if lookup(&preset, path).is_some_and(|preset| lookup(&default, path) != Some(preset)) {
                Origin::Seed
            } else {
                Origin::Default
            };
            rows.push((path.to_vec(), value.clone(), origin));
        });
        Ok(rows)
    }

    fn compat(&self) -> Result<Compat, ConfigError> {
        match self.command_line.get("compat").or_else(|| self.file.get("compat")) {
            Some(value) => value.clone().try_into().map_err(|error| ConfigError(format!("compat: {error}"))),
            None => Ok(Compat::default()),
        }
    }

    fn merged(&self) -> Result<Table, ConfigError> {
        let mut table = to_table(&Settings::preset(self.compat()?))?;
        merge(&mut table, &self.file);
        merge(&mut table, &self.command_line);
        Ok(table)
    }
}

/// Refuses checks that cannot be used, with the line of the fault. Files that they name are read later.
fn check_checks(settings: &Settings, text: &str, path: &Path) -> Result<(), ConfigError> {
    #[derive(serde::Deserialize)]
    struct Places {
        #[serde(default)]
        check: Vec<toml::Spanned<std::collections::BTreeMap<String, toml::Spanned<Value>>>>,
    }
    let any_schema = |_: &str| Ok("{}".to_owned());
    let Err(fault) = Checks::new(&settings.check, &signal_names(), any_schema) else { return Ok(()) };
    let places = toml::from_str::<Places>(text).ok();
    let entry = places.as_ref().and_then(|places| places.check.get(fault.index));
    let at = entry.map(|entry| entry.get_ref().get(fault.key).map_or(entry.span().start, |value| value.span().start));
    let line = at.map_or(1, |at| 1 + text[..at.min(text.len())].matches('\n').count());
    Err(ConfigError(format!("{}:{line}: {fault}", path.display())))
}

/// Makes the paths of a configuration file relative to that file, wherever the command runs.
fn anchor_paths(file: &mut Table, folder: &Path) {
    let anchor = |value: &mut Value| {
        if let Value::String(path) = value
            && !path.is_empty()
        {
            *path = folder.join(&*path).display().to_string();
        }
    };
    if let Some(Value::Table(calibration)) = file.get_mut("calibration")
        && let Some(path) = calibration.get_mut("file")
    {
        anchor(path);
    }
    for section in ["rules", "knowledge", "temporal"] {
        if let Some(Value::Array(files)) = file.get_mut(section).and_then(|section| section.get_mut("files")) {
            files.iter_mut().for_each(anchor);
        }
    }
    if let Some(suppressions) = file.get_mut("rules").and_then(|rules| rules.get_mut("suppressions")) {
        anchor(suppressions);
    }
    if let Some(Value::Array(checks)) = file.get_mut("check") {
        let schemas = checks.iter_mut().filter_map(|check| check.get_mut("json_schema"));
        schemas.filter(|schema| schema.is_str()).for_each(anchor);
    }
    if let Some(Value::Table(schemas)) = file.get_mut("schemas") {
        schemas.iter_mut().filter_map(|(_, agreement)| agreement.get_mut("file")).for_each(anchor);
    }
}

/// Refuses numbers that no constant can be, so that a typo cannot switch a gate off: anything that is not finite,
/// probabilities outside of [0, 1], negative ratios.
fn validate(table: &Table) -> Result<(), ConfigError> {
    let mut fault = None;
    flatten(table, &mut Vec::new(), &mut |path, value| {
        let number = match value {
            Value::Float(number) => *number,
            Value::Integer(number) => *number as f64,
            _ => return,
        };
        let key = path.last().map(String::as_str).unwrap_or_default();
        let must = match key {
            _ if !number.is_finite() => "be a finite number",
            "prior" | "flag_from" | "block_from" | "pass_from" | "alpha" if !(0.0..=1.0).contains(&number) => {
                "lie between 0 and 1"
            }
            _ if path.first().is_some_and(|section| section == "verifiers") && number < 0.0 => "not be negative",
            _ if key.ends_with("likelihood_ratio") && number < 0.0 => "not be negative",
            _ => return,
        };
        fault.get_or_insert_with(|| ConfigError(format!("{} must {must}, not {number}", path.join("."))));
    });
    let limit = |key: &str| {
        let value = lookup(table, &["verifiers".to_owned(), key.to_owned()])?;
        value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
    };
    if let Some((pass, flag)) = limit("pass_from").zip(limit("flag_from")).filter(|(pass, flag)| pass < flag) {
        let order = format!("verifiers.pass_from ({pass}) must not be below verifiers.flag_from ({flag})");
        fault.get_or_insert_with(|| ConfigError(format!("{order}: what passes would be flagged")));
    }
    fault.map_or(Ok(()), Err)
}

fn to_table(settings: &Settings) -> Result<Table, ConfigError> {
    Table::try_from(settings).map_err(|error| ConfigError(format!("settings cannot be written as TOML: {error}")))
}

/// Lays `over` onto `base`: tables key by key, everything else as a whole.
fn merge(base: &mut Table, over: &Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

fn lookup<'t>(table: &'t Table, path: &[String]) -> Option<&'t Value> {
    let (first, rest) = path.split_first()?;
    let value = table.get(first)?;
    match value {
        Value::Table(inner) if !rest.is_empty() => lookup(inner, rest),
        _ if rest.is_empty() => Some(value),
        _ => None,
    }
}

fn flatten(table: &Table, path: &mut Vec<String>, visit: &mut impl FnMut(&[String], &Value)) {
    // Plain values before tables, as TOML itself wants them.
    let (tables, values): (Vec<_>, Vec<_>) = table.iter().partition(|(_, value)| value.is_table());
    for (key, value) in values.into_iter().chain(tables) {
        path.push(key.clone());
        match value {
            Value::Table(inner) => flatten(inner, path, visit),
            _ => visit(path, value),
        }
        path.pop();
    }
}

/// The parser's message with file and line, and what was probably meant where a key is unknown.
fn describe(error: &toml::de::Error, text: &str, path: &Path) -> String {
    let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let place = match line {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    };
    let message = error.message();
    let suggestion = suggest(message).map(|key| format!("; did you mean `{key}`?")).unwrap_or_default();
    format!("{place}: {message}{suggestion}")
}

/// Of serde's "unknown field `x`, expected one of `a`, `b`", the name nearest to `x`.
fn suggest(message: &str) -> Option<String> {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (unknown, known) = names.split_first()?;
    if !message.starts_with("unknown") {
        return None;
    }
    nearest(unknown, known).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, String> {
        let layers = Layers::parse(text, Path::new("llmverify.toml")).map_err(|error| error.0)?;
        layers.settings().map_err(|error| error.0)
    }

    #[test]
    fn an_empty_file_gives_the_defaults() {
        assert_eq!(parse(""), Ok(Settings::default()));
    }

    #[test]
    fn the_seed_preset_gives_way_to_the_file() {
        let settings = parse("compat = \"seed\"\n[history.spc]\npoints_min = 9\n").unwrap();
        let mut expected = Settings::preset(Compat::Seed);
        expected.history.spc.points_min = 9;
        assert_eq!(settings, expected);
    }

    #[test]
    fn an_unknown_key_names_file_line_and_what_was_meant() {
        let error = parse("[gate]\nfail_no = \"block\"\n").unwrap_err();
        assert!(error.starts_with("llmverify.toml:2: unknown field `fail_no`"), "{error}");
        assert!(error.ends_with("did you mean `fail_on`?"), "{error}");
    }

    #[test]
    fn the_command_line_wins_and_says_so() {
        let mut layers = Layers::parse("[gate]\nfail_on = \"block\"\nmin_records = 7\n", Path::new("x.toml")).unwrap();
        layers.set("gate.fail_on", "flag");
        let rows = layers.explain().unwrap();
        let origin = |key: &str| rows.iter().find(|(path, ..)| path.join(".") == key).map(|(_, _, origin)| *origin);
        assert_eq!(origin("gate.fail_on"), Some(Origin::CommandLine));
        assert_eq!(origin("gate.min_records"), Some(Origin::File));
        assert_eq!(origin("questions.degraded.prior"), Some(Origin::Default));
    }

    #[test]
    fn numbers_that_cannot_be_meant_are_refused() {
        for (text, key) in [
            ("[questions.fabricated]\nprior = nan\n", "questions.fabricated.prior"),
            ("[questions.degraded]\nflag_from = inf\n", "questions.degraded.flag_from"),
            ("[streams.x.fabricated]\nblock_from = 1.5\n", "streams.x.fabricated.block_from"),
            ("[engines.latency]\nlikelihood_ratio = -1\n", "engines.latency.likelihood_ratio"),
            ("[history.baseline]\nalpha = -5.0\n", "history.baseline.alpha"),
            ("[verifiers]\npass_from = 0.1\nflag_from = 0.9\n", "verifiers.pass_from (0.1)"),
            ("[verifiers]\nflag_from = 0.95\n", "verifiers.pass_from (0.8)"),
            ("[verifiers]\npass_from = 0\n", "verifiers.pass_from (0)"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(key), "{error}");
        }
    }

    #[test]
    fn stream_overrides_change_only_what_they_name() {
        let settings = parse("[streams.gpt-4o.degraded]\nprior = 0.2\n").unwrap();
        let [.., degraded] = settings.policies("gpt-4o");
        assert_eq!((degraded.prior, degraded.flag_from), (0.2, 0.2));
        assert_eq!(settings.policies("other"), Settings::default().policies("other"));
    }
}
