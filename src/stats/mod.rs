//! Numbers become estimates, each with a lawful merge where parts meet.
//!
//! - [`log_odds`]: the Bayesian combiner of seed 002
//! - [`welford`]: running mean and variance, with a cap on the weight of history
//! - [`ema`]: exponential moving average
//! - [`normal`]: tail and quantile of the standard normal distribution
//! - [`histogram`]: fixed logarithmic bins of 1% relative error, mergeable; percentiles
//! - [`wilson`]: the Wilson score interval of a rate
//! - [`two_rates`]: whether two rates differ, exactly or by score, with an interval
//! - [`random`]: reproducible random numbers, for resampling
//! - [`fit`]: labels → monotone likelihood ratios and the weights with which they add up
//! - [`metrics`]: how well scores tell the classes apart, and how far probabilities can be believed

pub mod ema;
pub mod fit;
pub mod histogram;
pub mod log_odds;
pub mod metrics;
pub mod normal;
pub mod random;
pub mod two_rates;
pub mod welford;
pub mod wilson;
