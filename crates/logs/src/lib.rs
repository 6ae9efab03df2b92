//! Reads the logs of LLM and tool calls that clients, tracers and gateways write, in one normal form.
//!
//! Bytes become units ([`input`]), units become records ([`reader`], by what wrote them: [`writers`]) in the normal form
//! ([`record`]), and what several units hold together is put together ([`assemble`]). Nothing here judges a record: the crate is for everybody who has logs of calls.
//!
//! The modules below stand in the order in which the data flows, and a module imports only modules above it. The
//! library does not print, read the clock, exit, or touch the network.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod hash;
pub mod input;
pub mod record;
pub mod assemble;
pub mod writers;
pub mod reader;
