//! The command line as files: each file under `tests/cmd` is a command, what it prints, and its exit status.
//!
//! `TRYCMD=overwrite cargo test --test cli` writes what the commands print now; read what changed. A line `...` stands
//! for any number of lines, and stays. The `console` blocks of README.md and
//! docs/checks.md are such commands too.

#[test]
fn commands_print_what_their_files_say() {
    let cases = trycmd::TestCases::new();
    cases.env("NO_COLOR", "1").env("COLUMNS", "100");
    cases.insert_var("[VERSION]", env!("CARGO_PKG_VERSION")).unwrap();
    cases.case("tests/cmd/*.trycmd").case("tests/cmd/*.toml").run();
}

#[test]
fn the_readme_shows_what_is_printed() {
    trycmd::TestCases::new().env("NO_COLOR", "1").case("README.md").case("docs/checks.md").run();
}
