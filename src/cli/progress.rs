//! A progress bar for a person at a terminal; nothing for anybody else.

use std::{
    io::{self, IsTerminal as _, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use llmverify::pipeline::Progress;

/// Bytes, records per second and time left, on standard error.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar that shows itself only on a terminal, and not when `hidden`.
    pub fn new(bytes_expected: Option<u64>, hidden: bool) -> Bar {
        /// A bar that is drawn less often than this looks stuck, more often costs time.
        const REDRAWS_PER_SECOND: u8 = 10;
        if hidden || !io::stderr().is_terminal() {
            return Bar { bar: ProgressBar::hidden() };
        }
        let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
        let bar = ProgressBar::with_draw_target(bytes_expected, target);
        let template = match bytes_expected {
            // The message is cut to the width of the terminal: a bar of two lines cannot be removed.
            Some(_) => "{bar:20} {bytes}/{total_bytes}  {eta} left  {wide_msg}",
            None => "{spinner} {bytes}  {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar { bar }
    }

    /// Moves the bar.
    pub fn update(&self, progress: &Progress) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_position(progress.bytes_on_disk);
        let seconds = self.bar.elapsed().as_secs_f64();
        let rate = if seconds > 0.0 { progress.units as f64 / seconds } else { 0.0 };
        self.bar.set_message(format!("{} units, {rate:.0}/s", progress.units));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Standard output. Where it is the terminal that has the bar, the first text removes the bar.
    pub fn stdout(&self) -> impl Write + Send + 'static {
        let is_shared = !self.bar.is_hidden() && io::stdout().is_terminal();
        Stdout { bar: is_shared.then(|| self.bar.clone()) }
    }
}

struct Stdout {
    bar: Option<ProgressBar>,
}

impl Write for Stdout {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        io::stdout().write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}
