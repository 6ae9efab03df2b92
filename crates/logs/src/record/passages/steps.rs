//! Counts what a search looks at, so that tests can tell linear time from worse.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// One more line, or word, was looked at.
pub(super) fn step() {
    STEPS.set(STEPS.get() + 1);
}

/// The steps that `work` takes.
pub(super) fn of(work: impl FnOnce()) -> u64 {
    let before = STEPS.get();
    work();
    STEPS.get() - before
}
