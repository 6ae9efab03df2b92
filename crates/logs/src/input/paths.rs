//! Arguments → an ordered list of sources.
//!
//! - a file is read whatever its name is, unless it is a report of ours
//! - a folder is walked through, sorted by name on each level with the pieces of rotated logs from the oldest on, for what
//!   is a log by its [name](super::names), or by its first bytes where the name says nothing. Symbolic links are followed.
//!   What is passed over is [listed](LeftOut) with the reason: hidden files and folders, what is no log, reports that an
//!   earlier run wrote, what is no regular file (a named pipe would be waited for)
//! - a pattern (`*`, `?`, `[...]`, `{a,b}`, `**` across folders) stands for the files that match, in the same order,
//!   whatever their extension is; it matches no hidden name unless a part of it begins with a dot. What exists under
//!   exactly this name is no pattern
//! - `-` is standard input, at most once
//!
//! The order of the arguments is kept. A file that several arguments lead to is read once, at the first of them, unless
//! it is named itself more than once. An argument that leads to nothing is a source that cannot be opened, and the others
//! are read. Patterns and folders that all lead to nothing are a wrong use: who named no file has no file to miss.
//!
//! **Limits**: whether a file is the same is told by its canonical path. What cannot be listed (no permission) is a
//! source that cannot be opened, so that it shows in the report. Names need not be UTF-8; patterns are.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, anyhow, bail};
use globset::{GlobBuilder, GlobMatcher};
use walkdir::{DirEntry, WalkDir};

use same_file::Handle;

use super::{
    compression::Decompressed,
    names::{self, COMPRESSED_EXTENSIONS, LOG_EXTENSIONS, Said},
};

/// The first columns of a report in CSV.
pub const REPORT_COLUMNS: &str = "type,source,line,item,byte,id,kind,model,tool,session_id,timestamp,verdict,";
/// How the names of the schemas of reports begin, in quotes as JSON has them.
const REPORT_SCHEMAS: [&str; 2] = ["\"llmverify.report/", "\"llmverify.verdict/"];

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The source as the user would write it (`-` for standard input); lossy when the name is not UTF-8.
    pub name: Arc<str>,
    /// Where its bytes come from.
    pub origin: Origin,
    /// Its size on disk; `None` when that is not known before it is read.
    pub bytes_on_disk: Option<u64>,
}

/// Where the bytes of a source come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Standard input.
    StandardInput,
    /// A file, opened when its turn comes.
    File(PathBuf),
    /// Nothing, and why.
    Missing(String),
}

impl Origin {
    /// Whether `path` is what it reads from, under whatever name: a link, another path, a redirection.
    pub fn is_at(&self, path: &Path) -> bool {
        // Two names of a device or a pipe are no file that could be lost.
        if !path.is_file() {
            return false;
        }
        match self {
            Origin::StandardInput => {
                matches!((Handle::stdin(), Handle::from_path(path)), (Ok(input), Ok(file)) if input == file)
            }
            Origin::File(file) => same_file::is_same_file(file, path).unwrap_or(false),
            Origin::Missing(_) => false,
        }
    }
}

/// A file or folder below an argument that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name, as that of a source.
    pub name: Arc<str>,
    /// Why it is not read.
    pub why: Why,
}

/// Why a file or folder is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Its name begins with a dot.
    Hidden,
    /// It is no log by its name, or by its first bytes where the name says nothing.
    NoLog,
    /// It is a copy of something, or not written to its end, by its name.
    Copy,
    /// It is a link to a folder that is walked through already.
    LinkLoop,
    /// It is a pipe, a socket or a device.
    NotRegular,
    /// It is what an earlier run wrote of the logs.
    Report,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Hidden => "hidden",
            Why::NoLog => "no log by its name or its first bytes",
            Why::Copy => "a copy or a temporary file by its name",
            Why::LinkLoop => "a link back to a folder above",
            Why::NotRegular => "no regular file",
            Why::Report => "a report of an earlier run",
        })
    }
}

/// What the arguments lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// What is read, in order.
    pub sources: Vec<Source>,
    /// What was found and is not read, in order.
    pub left_out: Vec<LeftOut>,
}

/// Resolves the arguments. An error is a wrong use: no file for any pattern or folder, `-` twice, a pattern that is none.
pub fn resolve(arguments: &[impl AsRef<OsStr>]) -> Result<Resolved> {
    if arguments.is_empty() {
        bail!("nothing to read: name a file, a folder, a pattern, or `-` for standard input");
    }
    let mut found = Found::default();
    let (mut first_missing, mut names_file) = (None, false);
    for argument in arguments {
        let argument = argument.as_ref();
        if argument == "-" {
            found.add_standard_input()?;
            continue;
        }
        match found.add_argument(argument)? {
            Ok(()) => {}
            Err(Missing::File(why)) => {
                names_file = true;
                found.add_missing(argument, &why);
            }
            Err(Missing::Matches(why)) => {
                found.add_missing(argument, &why);
                first_missing.get_or_insert(why);
            }
        }
    }
    let is_missing = |source: &Source| matches!(source.origin, Origin::Missing(_));
    match first_missing {
        Some(missing) if !names_file && found.resolved.sources.iter().all(is_missing) => Err(missing),
        _ => Ok(found.resolved),
    }
}

/// The sources so far.
#[derive(Default)]
struct Found {
    resolved: Resolved,
    /// Canonical path → whether the file was named itself.
    seen: BTreeMap<PathBuf, bool>,
    has_standard_input: bool,
}

/// Why an argument leads to nothing.
enum Missing {
    /// The file or folder that it names is not there, or cannot be looked at.
    File(anyhow::Error),
    /// Nothing matches the pattern, or the folder holds no logs.
    Matches(anyhow::Error),
}

impl Found {
    /// Adds what a file, a folder or a pattern leads to. The outer error is a wrong use.
    fn add_argument(&mut self, argument: &OsStr) -> Result<Result<(), Missing>> {
        let path = Path::new(argument);
        let shown = argument.to_string_lossy();
        let walked = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                let walked = walk(path, usize::MAX, false, said_by);
                if walked.files.is_empty() {
                    let why = anyhow!("no logs in the folder `{shown}` (looked for {})", extensions());
                    return Ok(Err(Missing::Matches(why)));
                }
                walked
            }
            Ok(metadata) if metadata.is_file() && is_report(path) => {
                let why = anyhow!("`{shown}` is a report of llmverify, not a log: name the log that it is of");
                return Ok(Err(Missing::File(why)));
            }
            Ok(_) => {
                self.add(path.to_owned(), true);
                return Ok(Ok(()));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let why = anyhow::Error::new(error).context(format!("cannot read `{shown}`"));
                return Ok(Err(Missing::File(why)));
            }
            Err(_) => match argument.to_str().filter(|argument| is_pattern(argument)) {
                None => return Ok(Err(Missing::File(anyhow!("no such file or folder: `{shown}`")))),
                Some(pattern) => {
                    let walked = files_matching(pattern)?;
                    if walked.files.is_empty() {
                        return Ok(Err(Missing::Matches(anyhow!("no file matches the pattern `{pattern}`"))));
                    }
                    walked
                }
            },
        };
        walked.files.into_iter().for_each(|file| self.add(file, false));
        self.resolved.left_out.extend(walked.left_out);
        Ok(Ok(()))
    }

    fn add_standard_input(&mut self) -> Result<()> {
        if self.has_standard_input {
            bail!("standard input (`-`) can be read only once");
        }
        self.has_standard_input = true;
        let source = Source { name: "-".into(), origin: Origin::StandardInput, bytes_on_disk: None };
        self.resolved.sources.push(source);
        Ok(())
    }

    fn add_missing(&mut self, argument: &OsStr, missing: &anyhow::Error) {
        let name = argument.to_string_lossy().into();
        let origin = Origin::Missing(format!("{missing:#}"));
        self.resolved.sources.push(Source { name, origin, bytes_on_disk: Some(0) });
    }

    fn add(&mut self, path: PathBuf, is_named: bool) {
        let canonical = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(was_named) = self.seen.get_mut(&canonical) {
            let is_named_again = is_named && *was_named;
            *was_named |= is_named;
            if !is_named_again {
                return;
            }
        } else {
            self.seen.insert(canonical, is_named);
        }
        let bytes_on_disk = match fs::metadata(&path) {
            Ok(metadata) => metadata.is_file().then_some(metadata.len()),
            Err(_) => Some(0),
        };
        let name = path.to_string_lossy().into();
        self.resolved.sources.push(Source { name, origin: Origin::File(path), bytes_on_disk });
    }
}

/// What is below a folder.
#[derive(Default)]
struct Walked {
    files: Vec<PathBuf>,
    left_out: Vec<LeftOut>,
}

impl Walked {
    fn leave_out(&mut self, path: &Path, why: Why) {
        self.left_out.push(LeftOut { name: path.to_string_lossy().into(), why });
    }
}

/// Files below `folder`, sorted by name on each level. `said_by` tells of a path whether it is wanted; `None` when it is
/// not looked for at all.
fn walk(folder: &Path, max_depth: usize, with_hidden: bool, said_by: impl Fn(&Path) -> Option<Said>) -> Walked {
    let mut walked = Walked::default();
    let mut entries = WalkDir::new(folder).max_depth(max_depth).follow_links(true).sort_by(in_order).into_iter();
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            // A link that leads back to a folder above holds nothing new.
            Err(error) if error.loop_ancestor().is_some() => {
                error.path().into_iter().for_each(|path| walked.leave_out(path, Why::LinkLoop));
                continue;
            }
            Err(error) => {
                let is_shown = |path: &&Path| error.depth() == 0 || with_hidden || !is_hidden(path);
                let unreadable = error.path().filter(is_shown);
                let wanted = |path: &&Path| path.is_dir() || said_by(path) == Some(Said::Log);
                walked.files.extend(unreadable.filter(wanted).map(Path::to_owned));
                continue;
            }
        };
        let path = entry.path();
        if entry.depth() > 0 && !with_hidden && is_hidden(path) {
            if entry.file_type().is_dir() {
                entries.skip_current_dir();
            }
            walked.leave_out(path, Why::Hidden);
            continue;
        }
        if entry.file_type().is_dir() {
            continue;
        }
        match said_by(path) {
            None => {}
            Some(_) if !entry.file_type().is_file() => walked.leave_out(path, Why::NotRegular),
            Some(Said::Log | Said::Nothing) if is_report(path) => walked.leave_out(path, Why::Report),
            Some(Said::Log) => walked.files.push(entry.into_path()),
            Some(Said::Nothing) if holds_json(path) => walked.files.push(entry.into_path()),
            Some(Said::Copy) => walked.leave_out(path, Why::Copy),
            Some(Said::Nothing | Said::Other) => walked.leave_out(path, Why::NoLog),
        }
    }
    walked
}

fn in_order(a: &DirEntry, b: &DirEntry) -> std::cmp::Ordering {
    let (a_name, b_name) = (a.file_name().to_string_lossy(), b.file_name().to_string_lossy());
    if a.file_type().is_dir() || b.file_type().is_dir() {
        return a.file_name().cmp(b.file_name());
    }
    names::in_order(&a_name, &b_name).then_with(|| a.file_name().cmp(b.file_name()))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn said_by(path: &Path) -> Option<Said> {
    Some(path.file_name().map_or(Said::Other, |name| names::said_by(&name.to_string_lossy())))
}

/// Bytes that tell what a file holds whose name does not.
pub(super) const SNIFFED_BYTES: usize = 1 << 10;

/// Whether the first bytes of a file, decompressed, begin an object or an array.
fn holds_json(path: &Path) -> bool {
    let file = File::open(path).map(|file| Box::new(file.take(SNIFFED_BYTES as u64)));
    file.and_then(|file| Decompressed::open(file)).is_ok_and(|mut input| begins_json(input.peek(SNIFFED_BYTES)))
}

/// Whether a file is a report of ours: written beside the logs, it must not be read as one of them.
fn is_report(path: &Path) -> bool {
    let file = File::open(path).map(|file| Box::new(file.take(SNIFFED_BYTES as u64)));
    file.and_then(|file| Decompressed::open(file)).is_ok_and(|mut input| begins_report(input.peek(SNIFFED_BYTES)))
}

/// Whether the text begins a report in JSON, JSON Lines or CSV.
fn begins_report(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text).trim_ascii_start();
    let Some(object) = text.strip_prefix(b"{") else { return text.starts_with(REPORT_COLUMNS.as_bytes()) };
    let name = object.trim_ascii_start().strip_prefix(b"\"schema\"").map(<[u8]>::trim_ascii_start);
    let name = name.and_then(|rest| rest.strip_prefix(b":")).map(<[u8]>::trim_ascii_start);
    name.is_some_and(|name| REPORT_SCHEMAS.iter().any(|schema| name.starts_with(schema.as_bytes())))
}

/// Whether the text begins an object or an array.
pub(super) fn begins_json(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn extensions() -> String {
    format!(".{}, also with .{}", LOG_EXTENSIONS.join(" ."), COMPRESSED_EXTENSIONS.join(" ."))
}

fn is_pattern(argument: &str) -> bool {
    argument.contains(['*', '?', '[', '{'])
}

fn files_matching(pattern: &str) -> Result<Walked> {
    let (folder, pattern) = split_pattern(pattern);
    let matcher = matcher(pattern)?;
    let max_depth = if pattern.contains("**") { usize::MAX } else { pattern.split(is_separator).count() };
    let with_hidden = pattern.split(is_separator).any(|part| part.starts_with('.'));
    let start = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    if !start.is_dir() {
        return Ok(Walked::default());
    }
    let is_match = |path: &Path| path.strip_prefix(start).is_ok_and(|below| matcher.is_match(below));
    let mut walked = walk(start, max_depth, with_hidden, |path| is_match(path).then_some(Said::Log));
    // What a pattern does not match was not asked for.
    walked.left_out.retain(|left_out| is_match(Path::new(&*left_out.name)) && left_out.why != Why::Hidden);
    if folder.is_empty() {
        let below = |path: &Path| path.strip_prefix(start).map(Path::to_owned).unwrap_or_default();
        walked.files.iter_mut().for_each(|file| *file = below(file));
        for left_out in &mut walked.left_out {
            left_out.name = below(Path::new(&*left_out.name)).to_string_lossy().into();
        }
    }
    Ok(walked)
}

/// The folder that a pattern names without wildcards, and the rest.
fn split_pattern(pattern: &str) -> (&str, &str) {
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let cut = pattern[..wild].rfind(is_separator).map_or(0, |separator| separator + 1);
    pattern.split_at(cut)
}

fn matcher(pattern: &str) -> Result<GlobMatcher> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    Ok(glob.with_context(|| format!("`{pattern}` is not a valid pattern"))?.compile_matcher())
}

fn is_separator(character: char) -> bool {
    character.is_ascii() && std::path::is_separator(character)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn folder(files: &[&str]) -> TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, "{}\n").expect("a file");
        }
        folder
    }

    /// Names of the sources relative to the folder, where `@` in an argument stands for the folder.
    fn names(folder: &TempDir, arguments: &[&str]) -> Result<Vec<String>> {
        let root = folder.path().to_str().expect("a UTF-8 folder");
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace('@', root)).collect();
        let Resolved { sources, .. } = resolve(&arguments)?;
        Ok(sources.iter().map(|source| source.name.replace(&format!("{root}/"), "")).collect())
    }

    const TREE: [&str; 15] = [
        "b.jsonl",
        "a/z.log.gz",
        "a/x/deep.NDJSON",
        "c.json.zst",
        "notes.txt",
        "archive.gz",
        ".hidden.jsonl",
        ".git/config.json",
        "d.jsonl.bak",
        "e.parquet",
        "notes.md",
        "r/app.jsonl",
        "r/app.jsonl.1",
        "r/app.jsonl.2.gz",
        "r/app.log.2026-11-20",
    ];

    #[track_caller]
    fn check(arguments: &[&str], expected: &[&str]) {
        let folder = folder(&TREE);
        let got = names(&folder, arguments).map_err(|error| error.to_string());
        assert_eq!(got, Ok(expected.iter().map(|&name| name.to_owned()).collect()), "{arguments:?}");
    }

    #[track_caller]
    fn check_error(arguments: &[&str], expected: &str) {
        let error = names(&folder(&TREE), arguments).map_err(|error| format!("{error:#}"));
        assert!(error.as_ref().is_err_and(|error| error.contains(expected)), "{error:?}");
    }

    #[test]
    fn folders_are_walked_in_order() {
        let rotated = ["r/app.jsonl.2.gz", "r/app.jsonl.1", "r/app.jsonl", "r/app.log.2026-11-20"];
        let all = ["a/x/deep.NDJSON", "a/z.log.gz", "archive.gz", "b.jsonl", "c.json.zst", "e.parquet", "notes.txt"];
        check(&["@"], &[&all[..], &rotated].concat());
        check(&["@/c.json.zst", "@/a"], &["c.json.zst", "a/x/deep.NDJSON", "a/z.log.gz"]);
        check(&["@/.git"], &[".git/config.json"]);
    }

    #[test]
    fn what_a_folder_holds_beside_logs_is_listed() {
        let folder = folder(&TREE);
        fs::write(folder.path().join("prose.txt"), "No log.\n").expect("a file");
        let root = folder.path().to_str().expect("a UTF-8 folder");
        let Resolved { left_out, .. } = resolve(&[root]).expect("a folder with logs");
        let told: Vec<(String, Why)> =
            left_out.into_iter().map(|file| (file.name.replace(&format!("{root}/"), ""), file.why)).collect();
        let expected = [
            (".git", Why::Hidden),
            (".hidden.jsonl", Why::Hidden),
            ("d.jsonl.bak", Why::Copy),
            ("notes.md", Why::NoLog),
            ("prose.txt", Why::NoLog),
        ];
        assert_eq!(told, expected.map(|(name, why)| (name.to_owned(), why)));
    }

    #[test]
    fn reports_beside_the_logs_are_no_logs() {
        let folder = folder(&["a.jsonl"]);
        let csv = format!("{REPORT_COLUMNS}high_risk\n");
        for (name, text) in [
            ("lines.jsonl", "{\"schema\":\"llmverify.verdict/1\",\"type\":\"record\"}\n"),
            ("report.csv", csv.as_str()),
            ("report.json", "{\n  \"schema\": \"llmverify.report/1\",\n  \"records\": []}"),
            ("vague.out", "{\"schema\":\"llmverify.verdict/1\"}\n"),
            // The normal form is a log, and so is one that speaks of reports.
            ("normal.jsonl", "{\"schema\":\"llmverify.record/1\"}\n"),
            ("other.jsonl", "{\"prompt\":\"{\\\"schema\\\":\\\"llmverify.verdict/1\\\"}\"}\n"),
        ] {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        let expected = ["a.jsonl", "normal.jsonl", "other.jsonl"].map(str::to_owned).to_vec();
        assert_eq!(names(&folder, &["@"]).ok(), Some(expected.clone()));
        assert_eq!(names(&folder, &["@/*.{jsonl,json,csv}"]).ok(), Some(expected));
        let Resolved { left_out, .. } = resolve(&[folder.path()]).expect("a folder with logs");
        assert_eq!(left_out.iter().map(|file| file.why).collect::<Vec<_>>(), [Why::Report; 4], "{left_out:?}");
        let Resolved { sources, .. } = resolve(&[folder.path().join("report.json")]).expect("a file is named");
        let Origin::Missing(why) = &sources[0].origin else { panic!("{sources:?}") };
        assert!(why.contains("is a report of llmverify"), "{why}");
    }

    #[test]
    fn patterns_match_in_order() {
        check(&["@/*.jsonl"], &["b.jsonl"]);
        let all = ["archive.gz", "b.jsonl", "c.json.zst", "d.jsonl.bak", "e.parquet", "notes.md", "notes.txt"];
        check(&["@/*"], &all);
        check(&["@/**/*.{log.gz,NDJSON}"], &["a/x/deep.NDJSON", "a/z.log.gz"]);
        check(&["@/a/?/*"], &["a/x/deep.NDJSON"]);
        check(&["@/[bc].*"], &["b.jsonl", "c.json.zst"]);
        check(&["@/.*.jsonl"], &[".hidden.jsonl"]);
    }

    #[test]
    fn a_file_is_read_twice_only_when_it_is_named_twice() {
        check(&["@/b.jsonl", "@/b.jsonl"], &["b.jsonl", "b.jsonl"]);
        check(&["@/b.jsonl", "@/*.jsonl", "@/a/../*.jsonl"], &["b.jsonl"]);
        check(&["@/*.jsonl", "@/b.jsonl"], &["b.jsonl"]);
        check(&["@/*.jsonl", "@/b.jsonl", "@/./b.jsonl"], &["b.jsonl", "./b.jsonl"]);
        check(&["-", "@/b.jsonl"], &["-", "b.jsonl"]);
    }

    #[test]
    fn wrong_use_is_an_error() {
        check_error(&[], "nothing to read");
        check_error(&["@/*.csv"], "no file matches the pattern");
        check_error(&["@/missing/*.jsonl"], "no file matches the pattern");
        check_error(&["@/a[.jsonl"], "not a valid pattern");
        check_error(&["-", "-"], "only once");
        check_error(&["@/none/*.jsonl", "@/*.csv"], "no file matches the pattern `");
        let empty = folder(&["readme.md"]);
        assert!(names(&empty, &["@"]).is_err_and(|error| error.to_string().contains("no logs in the folder")));
    }

    #[test]
    fn what_is_missing_ends_no_run() {
        let folder = folder(&TREE);
        for (arguments, expected) in [
            (&["gone.jsonl", "b.jsonl", "none/*.jsonl"][..], &[true, false, true][..]),
            (&["gone.jsonl"], &[true]),
            (&["b.jsonl/x"], &[true]),
            (&["gone.jsonl", "none/*.jsonl"], &[true, true]),
        ] {
            let paths: Vec<PathBuf> = arguments.iter().map(|name| folder.path().join(name)).collect();
            let Resolved { sources, .. } = resolve(&paths).expect("a file is named");
            let missing: Vec<bool> =
                sources.iter().map(|source| matches!(&source.origin, Origin::Missing(_))).collect();
            assert_eq!(missing, expected, "{arguments:?}");
        }
    }

    #[test]
    fn a_name_with_wildcards_that_exists_is_no_pattern() {
        let folder = folder(&["log[1].jsonl", "log1.jsonl"]);
        assert_eq!(names(&folder, &["@/log[1].jsonl"]).ok(), Some(vec!["log[1].jsonl".to_owned()]));
    }

    #[cfg(unix)]
    #[test]
    fn odd_names_and_links_do_no_harm() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt, os::unix::fs::symlink};
        let folder = folder(&["a.jsonl"]);
        let at = |name: &str| folder.path().join(name);
        fs::write(folder.path().join(OsStr::from_bytes(b"\xFFodd.jsonl")), "{}").expect("a file");
        symlink(at("a.jsonl"), at("b.jsonl")).expect("a link");
        symlink(at("nowhere"), at("dangling.jsonl")).expect("a link");
        symlink(at("nowhere"), at("dangling.txt")).expect("a link");
        symlink(folder.path(), at("loop")).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(at("pipe.jsonl")).status().expect("mkfifo");
        assert!(made.success());
        let expected = ["a.jsonl", "dangling.jsonl", "\u{FFFD}odd.jsonl"].map(str::to_owned).to_vec();
        assert_eq!(names(&folder, &["@"]).ok(), Some(expected));
        let Resolved { left_out, .. } = resolve(&[folder.path()]).expect("a folder with logs");
        let whys: Vec<Why> = left_out.iter().map(|file| file.why).collect();
        assert_eq!(whys, [Why::LinkLoop, Why::NotRegular], "{left_out:?}");
        let odd = folder.path().join(OsStr::from_bytes(b"\xFFodd.jsonl"));
        assert_eq!(resolve(&[&odd]).expect("it is there").sources[0].origin, Origin::File(odd));
    }
}
