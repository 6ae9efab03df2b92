//! Colours of messages and help.

use anstyle::{AnsiColor, Style};
use clap::builder::Styles;

/// "llmverify:" before an error.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
/// "warning:" before a warning.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// Names and headings.
pub const STRONG: Style = Style::new().bold();
/// What is less important.
pub const FAINT: Style = Style::new().dimmed();

/// The help pages.
pub const HELP: Styles = Styles::styled()
    .header(STRONG.underline())
    .usage(STRONG.underline())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(FAINT);
