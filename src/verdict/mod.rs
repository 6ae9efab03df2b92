//! Signals become four probabilities, probabilities become a verdict, verdicts meet the gate.
//!
//! - [`judge`]: signals → one [`Answer`] per question → one [`Decision`]
//! - [`calibration`]: what labelled data say of signals, as a file, in the place of stated ratios
//! - [`expectation`]: what is expected of many records, by the checks of the configuration
//! - [`fitting`]: labelled records → a calibration, and what it gains
//! - [`service`]: whole streams → what no single record shows
//! - [`gate`]: counts of decisions → passed or not, and the exit status

pub mod calibration;
pub mod expectation;
pub mod fitting;
pub mod gate;
pub mod judge;
pub mod service;
pub mod verifiers;

pub use calibration::Calibration;
pub use judge::{Answer, Decision, Verdict};

/// The names of the signals of all engines, and those of history.
pub fn signal_names() -> Vec<&'static str> {
    let abouts = crate::engines::ABOUTS.iter().chain(crate::history::ABOUTS);
    abouts.flat_map(|about| about.signals).map(|signal| signal.id).collect()
}
