//! Every end-to-end test, in one binary: one link step, and one place that says what there is.

// Programs, their trees, and waiting for the end of a process.
mod process;
// What the tests of processes stand on: scratch folders, looks at `/proc`, tests in a process of their own.
mod process_scene;
// The process of a session: shown, logged, ended.
mod session_process;
