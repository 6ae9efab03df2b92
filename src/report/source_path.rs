//! Paths of sources as CI systems want them: relative to the folder that the audit runs in, for that is the checkout.
//!
//! A source below the folder is named by the path from there, however it was given; any other keeps the path that it was
//! given, absolute or not. Standard input is `stdin`.
//!
//! **Source**: SARIF 2.1.0, 3.4.3 (`artifactLocation.uri`); RFC 3986 for what a path of a URI may hold; RFC 8089 for
//! absolute ones.
//!
//! **Limits**: paths are compared as they are written: a symbolic link to the folder is another folder.

use std::{borrow::Cow, path::Path};

/// The folder that the audit runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder(String);

impl Folder {
    /// The folder at this absolute path.
    pub fn new(path: &Path) -> Folder {
        Folder(slashes(&path.to_string_lossy()).trim_end_matches('/').to_owned())
    }

    /// The path of a source from here, where it is below; else as it was given.
    pub fn path_to<'s>(&self, source: &'s str) -> Cow<'s, str> {
        if source == "-" {
            return Cow::Borrowed("stdin");
        }
        let path = slashes(source);
        let own = || path.strip_prefix(self.0.as_str())?.strip_prefix('/');
        let below = if self.0.is_empty() { None } else { own() };
        let relative = below.or_else(|| path.strip_prefix("./")).unwrap_or(&path).trim_start_matches("./");
        if relative.len() == source.len() && !source.contains('\\') {
            return Cow::Borrowed(source);
        }
        Cow::Owned(relative.to_owned())
    }

    /// The same as a URI: relative where the path is, with everything escaped that is not plain.
    pub fn uri_of(&self, source: &str) -> String {
        let path = self.path_to(source);
        let is_drive = matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
        let mut out = String::with_capacity(path.len());
        if path.starts_with('/') || is_drive {
            out.push_str(if is_drive { "file:///" } else { "file://" });
        }
        for (at, byte) in path.bytes().enumerate() {
            if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) || is_drive && at == 1 {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
        out
    }
}

fn slashes(path: &str) -> Cow<'_, str> {
    if path.contains('\\') { Cow::Owned(path.replace('\\', "/")) } else { Cow::Borrowed(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_the_folder_where_it_is_below() {
        for (folder, source, path, uri) in [
            ("/ci/work", "./logs/a b.jsonl", "logs/a b.jsonl", "logs/a%20b.jsonl"),
            ("/ci/work", "/ci/work/logs/a.jsonl", "logs/a.jsonl", "logs/a.jsonl"),
            ("/ci/work/", "/ci/work/./a.jsonl", "a.jsonl", "a.jsonl"),
            ("/ci/work", "/ci/worker/a.jsonl", "/ci/worker/a.jsonl", "file:///ci/worker/a.jsonl"),
            ("/ci/work", "/var/log/x.jsonl", "/var/log/x.jsonl", "file:///var/log/x.jsonl"),
            ("/ci/work", "../x.jsonl", "../x.jsonl", "../x.jsonl"),
            ("", "/var/log/x.jsonl", "/var/log/x.jsonl", "file:///var/log/x.jsonl"),
            ("/", "/var/log/x.jsonl", "/var/log/x.jsonl", "file:///var/log/x.jsonl"),
            ("D:\\a\\repo", "D:\\a\\repo\\logs\\x.jsonl", "logs/x.jsonl", "logs/x.jsonl"),
            ("D:\\a\\repo", "C:\\x.jsonl", "C:/x.jsonl", "file:///C:/x.jsonl"),
            ("/ci/work", "logs\\a.jsonl", "logs/a.jsonl", "logs/a.jsonl"),
            ("/ci/work", "-", "stdin", "stdin"),
            ("/ci/work", "a\nb%é", "a\nb%é", "a%0Ab%25%C3%A9"),
        ] {
            let folder = Folder::new(Path::new(folder));
            assert_eq!((&*folder.path_to(source), &*folder.uri_of(source)), (path, uri), "{source}");
        }
    }
}
