//! A call that is much faster or slower than the stream's calls have been.
//!
//! **Formula**: z = (ln(max(t, 0.001)) - mean) / sigma over at least [`CALLS_MIN`] learnt calls. Score =
//! min(1, (|z| - 3) / 3): below -3 it joins `latency_anomaly`, above 3 `slow_tool`; each counts when it weighs more than
//! what the call alone says.
//!
//! **Range**: 0 (within 3 sigma) to 1 (6 sigma).
//!
//! **Source**: seed 002's program, which counts both sides as `latency_anomaly`, on a linear scale.
//!
//! **Limits**: the mean follows what was learnt, so that a slow drift is not seen here; a level that has moved is an
//! event of the stream (`shift`).

use serde::{Deserialize, Serialize};

/// Settings of the comparison with the stream's latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Learnt calls from which a latency is compared.
    pub calls_min: u64,
    /// Distances count from here on, in sigmas.
    pub z_from: f64,
    /// Distance beyond `z_from` at which the score reaches 1, in sigmas.
    pub z_span: f64,
    /// Whether a slow call is a sign of `fabricated` too, and none of `degraded` (seed 002).
    pub slow_is_fabricated: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { calls_min: CALLS_MIN, z_from: Z_FROM, z_span: Z_SPAN, slow_is_fabricated: false }
    }
}

impl Settings {
    /// The letter of seed 002 and, where it is silent, its program.
    pub fn seed() -> Settings {
        Settings { slow_is_fabricated: true, ..Settings::default() }
    }
}

/// Seed 002: "at least 8 prior observations".
pub const CALLS_MIN: u64 = 8;
/// Seed 002: mean ± 3 sigma.
pub const Z_FROM: f64 = 3.0;
/// Seed 002's program: full score at 6 sigma.
pub const Z_SPAN: f64 = 3.0;

/// What a distance is evidence of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As usual.
    Usual,
    /// `latency_anomaly`, with this score.
    Anomaly(f64),
    /// `slow_tool`, with this score.
    Slow(f64),
}

/// What a latency `z` sigmas away from the stream's mean says.
pub fn judge(z: f64, settings: &Settings) -> Pace {
    if z.is_nan() || z.abs() <= settings.z_from {
        return Pace::Usual;
    }
    let score = ((z.abs() - settings.z_from) / settings.z_span).min(1.0);
    if z < 0.0 || settings.slow_is_fabricated { Pace::Anomaly(score) } else { Pace::Slow(score) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_and_scores() {
        let ours = Settings::default();
        for (z, expected) in [
            (0.0, Pace::Usual),
            (-3.0, Pace::Usual),
            (3.0, Pace::Usual),
            (f64::NAN, Pace::Usual),
            (-4.5, Pace::Anomaly(0.5)),
            (4.5, Pace::Slow(0.5)),
            (-60.0, Pace::Anomaly(1.0)),
            (60.0, Pace::Slow(1.0)),
        ] {
            assert_eq!(judge(z, &ours), expected, "{z}");
        }
        assert_eq!(judge(4.5, &Settings::seed()), Pace::Anomaly(0.5));
    }
}
