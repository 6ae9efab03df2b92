//! Files that a command writes: beside their place, and into it when they are whole; never over what it reads.
//!
//! A reader of the file sees the older one or the new one, whole, whenever the process ends: the bytes go into a file of
//! a fresh name in the same folder, are flushed to the disk, and take the name in one step. What is no file (a device, a
//! named pipe) is written to as it is.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, bail};
use tempfile::TempPath;

use llmverify::input::Reader;

/// What a shell says of a process that was interrupted.
pub const INTERRUPTED: i32 = 130;

/// Files that have not taken their place yet.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file that takes its place when it is whole; dropped before, it leaves everything as it was.
pub struct WholeFile {
    file: File,
    path: PathBuf,
    /// Where it is written, and the name that it takes; `None` for what is no file.
    waits: Option<(TempPath, PathBuf)>,
}

impl WholeFile {
    /// A file that will stand at `path`.
    pub fn create(path: &Path) -> anyhow::Result<WholeFile> {
        WholeFile::beside(path).with_context(|| format!("cannot write {}", path.display()))
    }

    fn beside(path: &Path) -> io::Result<WholeFile> {
        let older = fs::metadata(path).ok();
        if older.as_ref().is_some_and(|older| !older.is_file()) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(WholeFile { file, path: path.to_owned(), waits: None });
        }
        // The target of a link is replaced, not the link.
        let target = if older.is_some() { path.canonicalize()? } else { path.to_owned() };
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_string_lossy().into_owned();
        let mut builder = tempfile::Builder::new();
        let prefix = format!(".{name}.");
        builder.prefix(&prefix).suffix(".tmp");
        // As a file that is made anew has them: what the mask of the process leaves.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let (file, temporary) = builder.tempfile_in(folder)?.into_parts();
        if let Some(older) = older {
            file.set_permissions(older.permissions())?;
        }
        unfinished(|all| all.insert(temporary.to_path_buf()));
        Ok(WholeFile { file, path: path.to_owned(), waits: Some((temporary, target)) })
    }

    /// What is written into it.
    pub fn writer(&self) -> anyhow::Result<File> {
        self.file.try_clone().with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Gives it its place.
    pub fn settle(mut self) -> anyhow::Result<()> {
        let Some((temporary, target)) = self.waits.take() else { return Ok(()) };
        let written = temporary.to_path_buf();
        let settle = || {
            self.file.sync_all()?;
            temporary.persist(&target)?;
            // Not every system can flush a folder; the name is taken all the same.
            if let Some(folder) = target.parent() {
                let _ = File::open(folder).and_then(|folder| folder.sync_all());
            }
            Ok::<(), io::Error>(())
        };
        let settled = settle().with_context(|| format!("cannot write {}", self.path.display()));
        unfinished(|all| all.remove(&written));
        settled
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.waits {
            unfinished(|all| all.remove(&temporary.to_path_buf()));
        }
    }
}

fn unfinished<T>(change: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    change(&mut UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Removes what has not taken its place: the process ends.
pub fn remove_unfinished() {
    unfinished(|all| all.iter().for_each(|path| drop(fs::remove_file(path))));
}

/// Lets the first Ctrl-C, or the signal to terminate, end the process without half a file.
pub fn leave_nothing_at_interrupt() -> anyhow::Result<()> {
    #[allow(clippy::exit, reason = "the process was asked to end")]
    let handler = || {
        remove_unfinished();
        std::process::exit(INTERRUPTED);
    };
    ctrlc::set_handler(handler).context("cannot wait for Ctrl-C")
}

/// Writes a whole file.
pub fn write_whole(path: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let file = WholeFile::create(path)?;
    file.writer()?.write_all(bytes.as_ref()).with_context(|| format!("cannot write {}", path.display()))?;
    file.settle()
}

/// Refuses to write to what is read: an input, or one of `others`, each with what it is.
pub fn refuse_overwriting<'p>(
    outs: impl IntoIterator<Item = &'p PathBuf>,
    reader: &Reader,
    others: &[(&str, PathBuf)],
) -> anyhow::Result<()> {
    for out in outs {
        if reader.will_read(out) {
            bail!("--out {} would overwrite an input", out.display());
        }
        let is_out = |(_, path): &&(&str, PathBuf)| same_file::is_same_file(path, out).unwrap_or(false);
        if let Some((what, _)) = others.iter().find(is_out) {
            bail!("--out {} would overwrite {what}", out.display());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_the_older_one_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        fs::write(&path, "older").unwrap();
        let file = WholeFile::create(&path).unwrap();
        file.writer().unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "older");
        file.settle().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["report.json"]);
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let file = WholeFile::create(&path).unwrap();
        file.writer().unwrap().write_all(b"half").unwrap();
        assert_eq!(names(folder.path()).len(), 1);
        drop(file);
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay_and_no_planted_link_is_followed() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("real.json"), "older").unwrap();
        fs::set_permissions(at("real.json"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink(at("real.json"), at("link.json")).unwrap();
        write_whole(&at("link.json"), "new").unwrap();
        assert_eq!(fs::read_to_string(at("real.json")).unwrap(), "new");
        assert!(fs::symlink_metadata(at("link.json")).unwrap().is_symlink());
        assert_eq!(fs::metadata(at("real.json")).unwrap().permissions().mode() & 0o777, 0o640);
        // A link to nowhere is replaced: what it names is not made.
        symlink(at("elsewhere"), at("dangling.json")).unwrap();
        write_whole(&at("dangling.json"), "new").unwrap();
        assert!(!at("elsewhere").exists() && fs::read_to_string(at("dangling.json")).unwrap() == "new");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_to_as_it_is() {
        write_whole(Path::new("/dev/null"), "text").unwrap();
        assert!(write_whole(Path::new("/dev/full"), "text").is_err());
    }
}
