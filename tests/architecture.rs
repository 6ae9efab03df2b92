//! The layout keeps its promises: modules import only what stands above them, and the report knows no raw record.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The sources of the crates of this workspace, this one first.
fn source_roots() -> [PathBuf; 2] {
    ["src", "crates/logs/src"].map(|root| Path::new(env!("CARGO_MANIFEST_DIR")).join(root))
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The layers of a crate in the order in which its `lib.rs` lists them.
fn layers(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("lib.rs")).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).map(str::to_owned).collect()
}

/// The files of one layer: `src/NAME/**` or `src/NAME.rs`.
fn files_of(root: &Path, layer: &str) -> Vec<PathBuf> {
    let folder = root.join(layer);
    if folder.is_dir() { rust_files(&folder) } else { vec![root.join(format!("{layer}.rs"))] }
}

/// Every module of this crate that `text` names: after `crate::`, alone or at the start of a braced list's items.
fn imported_layers(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, found) in text.match_indices("crate::") {
        let rest = &text[at + found.len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut item = String::new();
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => names.push(std::mem::take(&mut item)),
                    _ if depth == 0 => item.push(c),
                    _ => {}
                }
            }
            names.push(item);
        } else {
            names.push(rest.to_owned());
        }
    }
    let first_word =
        |name: &String| name.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    names.iter().map(first_word).filter(|name| !name.is_empty()).collect()
}

#[test]
fn a_module_imports_only_modules_above_it() {
    // Tests may look at a module from below, as its users do.
    let without_tests = |text: String| text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    for root in source_roots() {
        let layers = layers(&root);
        assert!(layers.len() > 2, "lib.rs lists its layers as `pub mod NAME;`, found {layers:?}");
        let rank = |name: &str| layers.iter().position(|layer| layer == name);
        let mut offences = Vec::new();
        for (own, layer) in layers.iter().enumerate() {
            for file in files_of(&root, layer) {
                let text = without_tests(fs::read_to_string(&file).unwrap());
                for name in imported_layers(&text) {
                    if rank(&name).is_some_and(|other| other > own) {
                        offences.push(format!("{} imports crate::{name}, which stands below {layer}", file.display()));
                    }
                }
            }
        }
        assert!(offences.is_empty(), "{}", offences.join("\n"));
    }
}

#[test]
fn the_report_never_sees_a_raw_record() {
    for file in files_of(&source_roots()[0], "report") {
        let text = fs::read_to_string(&file).unwrap();
        let forbidden = imported_layers(&text).into_iter().find(|name| name == "record" || name == "input");
        assert_eq!(forbidden, None, "{} must work on verdicts alone", file.display());
    }
}

#[test]
fn nothing_speaks_to_the_network() {
    for file in source_roots().iter().flat_map(|root| rust_files(root)) {
        let text = fs::read_to_string(&file).unwrap();
        for name in ["std::net", "TcpStream", "UdpSocket", "reqwest", "hyper::", "ureq"] {
            assert!(!text.contains(name), "{} names {name}", file.display());
        }
    }
}

#[test]
fn the_import_reader_finds_what_it_should() {
    let text = "use crate::{a::B, c::{d, e}, f};\nuse crate::g::H;\nlet x = crate::i();";
    assert_eq!(imported_layers(text), ["a", "c", "f", "g", "i"]);
}
