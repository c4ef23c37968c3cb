//! Every system call fails once: commands of watchdog under strace, where the K-th call of one family, in each process and
//! thread, ends in an error or in a kill, once or from there on, while the session, the check or the hook throws the work away.
//!
//! A point is one command with one fault. [`calls`] says which calls can fail how, [`scene`] what is called in which
//! repository, [`point`] plays one, [`proof`] judges what is left by a manifest that git has no part in, and [`points`] is the test. [`causes`] has every command, those that only read included, meet records and
//! a repository that are damaged, locked, full, read-only or unreadable.

mod calls;
mod causes;
mod ground;
mod point;
mod points;
mod proof;
mod scene;
