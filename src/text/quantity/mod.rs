//! Quantities: numbers as they are written, in digits or in words, and what they are numbers of.
//!
//! - [`number`]: exact rationals, intervals, and the reader of digits
//! - [`spelled`]: numbers in words
//! - [`unit`]: units of measure and of money
//! - [`date`]: dates, by the parts that are written

pub mod date;
pub mod number;
pub mod spelled;
pub mod unit;
