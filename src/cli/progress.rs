//! A progress bar for a person at a terminal; nothing for anybody else.

use std::{io::IsTerminal as _, time::Duration};

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
        if hidden || !std::io::stderr().is_terminal() {
            return Bar { bar: ProgressBar::hidden() };
        }
        let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
        let bar = ProgressBar::with_draw_target(bytes_expected, target);
        let template = match bytes_expected {
            Some(_) => "{bar:30} {bytes}/{total_bytes}  {binary_bytes_per_sec}  {msg}  {eta} left",
            None => "{spinner} {bytes}  {binary_bytes_per_sec}  {msg}",
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
        self.bar.set_message(format!("{} records, {rate:.0}/s", progress.units));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
