//! Every end-to-end test, in one binary: one link step, and one place that says what there is.

// What the tests stand on.
mod support;
// The rules of `ARCHITECTURE.md` that a compiler does not enforce, and that this list is complete.
mod layers;
// The scripted API and the fake agent do what the other tests take for granted.
mod support_works;
