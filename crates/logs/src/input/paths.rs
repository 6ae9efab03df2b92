//! Arguments → an ordered list of sources.
//!
//! - a file is read whatever its name is
//! - a folder is walked through, sorted by name on each level, for files that end in one of [`LOG_EXTENSIONS`], alone or
//!   with one of [`COMPRESSED_EXTENSIONS`] behind it; hidden files and folders are passed over, symbolic links followed
//! - a pattern (`*`, `?`, `[...]`, `{a,b}`, `**` across folders) stands for the files that match, in the same order,
//!   whatever their extension is; it matches no hidden name unless a part of it begins with a dot. What exists under
//!   exactly this name is no pattern
//! - `-` is standard input, at most once
//!
//! The order of the arguments is kept. A file that several arguments lead to is read once, at the first of them, unless
//! it is named itself more than once.
//!
//! **Limits**: whether a file is the same is told by its canonical path. What cannot be listed (no permission) is a
//! source that cannot be opened, so that it shows in the report.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use globset::{GlobBuilder, GlobMatcher};
use walkdir::WalkDir;

/// Extensions of logs.
pub const LOG_EXTENSIONS: [&str; 6] = ["jsonl", "ndjson", "json", "log", "csv", "tsv"];

/// Extensions that may follow those of logs.
pub const COMPRESSED_EXTENSIONS: [&str; 2] = ["gz", "zst"];

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
}

/// Resolves the arguments. An error is a wrong use: nothing there, nothing that matches, `-` twice.
pub fn resolve(arguments: &[String]) -> Result<Vec<Source>> {
    if arguments.is_empty() {
        bail!("nothing to read: name a file, a folder, a pattern, or `-` for standard input");
    }
    let mut found = Found::default();
    for argument in arguments {
        let path = Path::new(argument);
        if argument == "-" {
            found.add_standard_input()?;
            continue;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                let files = files_in(path);
                if files.is_empty() {
                    bail!("no logs in the folder `{argument}` (looked for {})", extensions());
                }
                files.into_iter().for_each(|file| found.add(file, false));
            }
            Ok(_) => found.add(path.to_owned(), true),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot read `{argument}`"));
            }
            Err(_) if is_pattern(argument) => {
                let files = files_matching(argument)?;
                if files.is_empty() {
                    bail!("no file matches the pattern `{argument}`");
                }
                files.into_iter().for_each(|file| found.add(file, false));
            }
            Err(_) => bail!("no such file or folder: `{argument}`"),
        }
    }
    Ok(found.sources)
}

/// The sources so far.
#[derive(Default)]
struct Found {
    sources: Vec<Source>,
    /// Canonical path → whether the file was named itself.
    seen: BTreeMap<PathBuf, bool>,
    has_standard_input: bool,
}

impl Found {
    fn add_standard_input(&mut self) -> Result<()> {
        if self.has_standard_input {
            bail!("standard input (`-`) can be read only once");
        }
        self.has_standard_input = true;
        self.sources.push(Source { name: "-".into(), origin: Origin::StandardInput, bytes_on_disk: None });
        Ok(())
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
        self.sources.push(Source { name, origin: Origin::File(path), bytes_on_disk });
    }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    walk(folder, usize::MAX, false, is_log)
}

/// Files below `folder` that are `wanted`, sorted by name on each level.
fn walk(folder: &Path, max_depth: usize, with_hidden: bool, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let shown = |path: &Path, depth: usize| depth == 0 || with_hidden || !is_hidden(path);
    let entries = WalkDir::new(folder).max_depth(max_depth).follow_links(true).sort_by_file_name().into_iter();
    let mut files = Vec::new();
    for entry in entries.filter_entry(|entry| shown(entry.path(), entry.depth())) {
        match entry {
            Ok(entry) if !entry.file_type().is_dir() && wanted(entry.path()) => files.push(entry.into_path()),
            Ok(_) => {}
            // A link that leads back to a folder above holds nothing new.
            Err(error) if error.loop_ancestor().is_some() => {}
            Err(error) => {
                let unreadable = error.path().filter(|path| shown(path, error.depth()));
                files.extend(unreadable.filter(|path| path.is_dir() || wanted(path)).map(Path::to_owned));
            }
        }
    }
    files
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn is_log(path: &Path) -> bool {
    let extension = |path: &Path| path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension(path) {
        Some(last) if COMPRESSED_EXTENSIONS.contains(&last.as_str()) => {
            extension(&path.with_extension("")).is_some_and(|inner| LOG_EXTENSIONS.contains(&inner.as_str()))
        }
        Some(last) => LOG_EXTENSIONS.contains(&last.as_str()),
        None => false,
    }
}

fn extensions() -> String {
    format!(".{}, also with .{}", LOG_EXTENSIONS.join(" ."), COMPRESSED_EXTENSIONS.join(" ."))
}

fn is_pattern(argument: &str) -> bool {
    argument.contains(['*', '?', '[', '{'])
}

fn files_matching(pattern: &str) -> Result<Vec<PathBuf>> {
    let (folder, pattern) = split_pattern(pattern);
    let matcher = matcher(pattern)?;
    let max_depth = if pattern.contains("**") { usize::MAX } else { pattern.split(is_separator).count() };
    let with_hidden = pattern.split(is_separator).any(|part| part.starts_with('.'));
    let start = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    if !start.is_dir() {
        return Ok(Vec::new());
    }
    let wanted = |path: &Path| path.strip_prefix(start).is_ok_and(|below| matcher.is_match(below));
    let mut files = walk(start, max_depth, with_hidden, wanted);
    if folder.is_empty() {
        for file in &mut files {
            *file = file.strip_prefix(start).map(Path::to_owned).unwrap_or_default();
        }
    }
    Ok(files)
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
        let sources = resolve(&arguments)?;
        Ok(sources.iter().map(|source| source.name.replace(&format!("{root}/"), "")).collect())
    }

    const TREE: [&str; 10] = [
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
        check(&["@"], &["a/x/deep.NDJSON", "a/z.log.gz", "b.jsonl", "c.json.zst"]);
        check(&["@/c.json.zst", "@/a"], &["c.json.zst", "a/x/deep.NDJSON", "a/z.log.gz"]);
        check(&["@/.git"], &[".git/config.json"]);
    }

    #[test]
    fn patterns_match_in_order() {
        check(&["@/*.jsonl"], &["b.jsonl"]);
        check(&["@/*"], &["archive.gz", "b.jsonl", "c.json.zst", "d.jsonl.bak", "e.parquet", "notes.txt"]);
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
        check_error(&["@/missing.jsonl"], "no such file or folder");
        check_error(&["@/b.jsonl/x"], "cannot read");
        check_error(&["@/*.csv"], "no file matches the pattern");
        check_error(&["@/missing/*.jsonl"], "no file matches the pattern");
        check_error(&["@/a[.jsonl"], "not a valid pattern");
        check_error(&["-", "-"], "only once");
        let empty = folder(&["readme.txt"]);
        assert!(names(&empty, &["@"]).is_err_and(|error| error.to_string().contains("no logs in the folder")));
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
        let expected = ["a.jsonl", "dangling.jsonl", "\u{FFFD}odd.jsonl"].map(str::to_owned).to_vec();
        assert_eq!(names(&folder, &["@"]).ok(), Some(expected));
    }
}
