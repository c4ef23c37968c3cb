//! The system calls that fail, in families, and the faults that each can have.

use crate::support::random_tree::Dice;

/// Calls that do the same thing.
#[derive(Debug)]
pub struct CallFamily {
    pub name: &'static str,
    /// As strace lists them.
    pub calls: &'static str,
    /// What each of them can return; none where the system does its work whatever it returns.
    errors: &'static [&'static str],
}

/// All families, in the order of what hurts.
pub const FAMILIES: &[CallFamily] = &[
    CallFamily {
        name: "open",
        calls: "openat,open,openat2",
        errors: &[
            "ENOSPC", "EIO", "EMFILE", "EACCES", "EINTR", "ENOMEM", "EROFS",
        ],
    },
    CallFamily {
        name: "write",
        calls: "write,pwrite64,writev,copy_file_range,ftruncate,fallocate",
        errors: &["ENOSPC", "EIO", "EINTR", "EAGAIN"],
    },
    CallFamily {
        name: "rename",
        calls: "rename,renameat,renameat2",
        errors: &["ENOSPC", "EIO", "EACCES", "ENOMEM", "EROFS"],
    },
    CallFamily {
        name: "link",
        calls: "link,linkat,symlink,symlinkat",
        errors: &["ENOSPC", "EIO", "EACCES", "ENOMEM", "EROFS"],
    },
    CallFamily {
        name: "sync",
        calls: "fsync,fdatasync,syncfs",
        errors: &["EIO", "ENOSPC", "EINTR"],
    },
    CallFamily {
        name: "unlink",
        calls: "unlink,unlinkat,rmdir",
        errors: &["EIO", "EACCES", "ENOMEM", "EROFS"],
    },
    CallFamily {
        name: "mkdir",
        calls: "mkdir,mkdirat",
        errors: &["ENOSPC", "EIO", "EACCES", "ENOMEM", "EROFS"],
    },
    CallFamily {
        name: "list",
        calls: "getdents64",
        errors: &["EIO", "ENOMEM"],
    },
    CallFamily {
        name: "stat",
        calls: "newfstatat,fstat,statx",
        errors: &["EIO", "EACCES", "ENOMEM"],
    },
    CallFamily {
        name: "read",
        calls: "read,pread64",
        errors: &["EIO", "EINTR", "EAGAIN"],
    },
    CallFamily {
        name: "lock",
        calls: "fcntl,flock",
        errors: &["EINTR", "EAGAIN", "EIO"],
    },
    CallFamily {
        name: "mode",
        calls: "fchmod,fchmodat,chmod,utimensat",
        errors: &["EIO", "EACCES", "EROFS"],
    },
    CallFamily {
        name: "handle",
        calls: "pipe2,eventfd2,epoll_create1,inotify_init1,inotify_add_watch,dup,pidfd_open,socketpair",
        errors: &["EMFILE", "ENOMEM", "ENOSPC"],
    },
    CallFamily {
        name: "close",
        calls: "close",
        errors: &[],
    },
    CallFamily {
        name: "map",
        calls: "mmap",
        errors: &["ENOMEM"],
    },
    CallFamily {
        name: "exec",
        calls: "execve",
        errors: &["EACCES", "EIO", "ENOMEM"],
    },
    CallFamily {
        name: "process",
        calls: "clone3,clone,vfork",
        errors: &["EAGAIN", "ENOMEM"],
    },
];

/// What happens at the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFault {
    /// It returns this error and does nothing.
    Error(&'static str),
    /// Its process ends as by `kill -9`.
    Kill,
}

/// A fault at a call.
#[derive(Debug, Clone, Copy)]
pub struct Injection {
    pub family: &'static CallFamily,
    pub fault: CallFault,
    /// At which call of the family, counted in each process and thread.
    pub at: usize,
    /// Whether it happens at all later calls, too.
    pub lasting: bool,
}

impl Injection {
    /// A random one among `most` calls of a family.
    pub fn random(dice: &mut Dice, family: &'static CallFamily, most: usize) -> Self {
        let kill = family.errors.is_empty() || dice.once_in(3);
        let fault = if kill {
            CallFault::Kill
        } else {
            CallFault::Error(family.errors[dice.roll(family.errors.len())])
        };
        // A call that is interrupted is made again, as it must be: one that is interrupted for ever does not exist. Where somebody holds a
        // lock for ever, the database gives up each read after ten seconds of its own.
        let may_last = !kill && fault != CallFault::Error("EINTR") && family.name != "lock";
        Injection {
            family,
            fault,
            at: 1 + dice.roll(most.max(1)),
            lasting: may_last && dice.once_in(3),
        }
    }

    /// As strace wants it.
    pub fn strace_argument(&self) -> String {
        let what = match self.fault {
            CallFault::Error(name) => format!("error={name}"),
            CallFault::Kill => "signal=SIGKILL".to_owned(),
        };
        format!(
            "inject={}:{what}:when={}{}",
            self.family.calls,
            self.at,
            if self.lasting { "+" } else { "" }
        )
    }

    /// Whether a lock may be left: its holder died, or was not let remove it.
    pub fn may_leave_locks(&self) -> bool {
        self.fault == CallFault::Kill
            || matches!(
                self.family.name,
                "unlink" | "rename" | "map" | "exec" | "process"
            )
            || self.lasting
    }

    /// Whether a process may have no room for memory or a thread.
    pub fn takes_room(&self) -> bool {
        matches!(self.family.name, "map" | "process")
    }

    /// In words, for the tally.
    pub fn word(&self) -> String {
        match self.fault {
            CallFault::Error(name) if self.lasting => format!("{name}, from there on"),
            CallFault::Error(name) => name.to_owned(),
            CallFault::Kill => "kill -9".to_owned(),
        }
    }
}
