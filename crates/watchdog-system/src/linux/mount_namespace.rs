//! A mount namespace for one program, in which a folder stands in the place of another.

use std::ffi::{CStr, CString, c_char, c_int, c_ulong, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::ptr;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{chdir, getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// The error of a start that failed for want of a namespace; no start of a program itself fails with it.
pub const NOT_MOUNTED: Errno = Errno::UNATCH;

// sys/mount.h.
const MS_BIND: c_ulong = 1 << 12;
const MS_REC: c_ulong = 1 << 14;
const MS_PRIVATE: c_ulong = 1 << 18;

// SAFETY: the declaration is that of sys/mount.h.
unsafe extern "C" {
    fn mount(
        source: *const c_char,
        target: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_void,
    ) -> c_int;
}

/// Has a command begin in the folder `cwd`, where `folder` stands in the place of another: for it and its children alone. The user, without a
/// capability that it had not before, stays the same.
///
/// # Errors
/// If a path holds a zero. The start fails with [`NOT_MOUNTED`] where the system makes no such namespace.
pub fn mount_folder(
    command: &mut Command,
    (folder, target): (&Path, &Path),
    cwd: &Path,
) -> io::Result<()> {
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let (folder, target, cwd) = (text(folder)?, text(target)?, text(cwd)?);
    let own = |id: u32| format!("{id} {id} 1");
    let maps = [
        (c"/proc/self/setgroups", "deny".to_owned()),
        (c"/proc/self/gid_map", own(getegid().as_raw())),
        (c"/proc/self/uid_map", own(geteuid().as_raw())),
    ];
    let enter = move || {
        leave_namespace(&maps)?;
        bind(None, c"/", MS_REC | MS_PRIVATE)?;
        bind(Some(&folder), &target, MS_REC | MS_BIND)?;
        chdir(&cwd)
    };
    // SAFETY: between fork and exec it does nothing but system calls, on memory from before.
    unsafe { command.pre_exec(move || enter().map_err(|_| NOT_MOUNTED.into())) };
    Ok(())
}

/// A namespace of mounts needs root, or a namespace of users in which this one may mount until it runs a program.
fn leave_namespace(maps: &[(&CStr, String)]) -> rustix::io::Result<()> {
    // SAFETY: no table of files is unshared.
    let unshare = |flags| unsafe { unshare_unsafe(flags) };
    if unshare(UnshareFlags::NEWNS).is_ok() {
        return Ok(());
    }
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWUSER)?;
    for (path, map) in maps {
        let file = rustix::fs::open(*path, OFlags::WRONLY, Mode::empty())?;
        rustix::io::write(file, map.as_bytes())?;
    }
    Ok(())
}

fn bind(source: Option<&CStr>, target: &CStr, flags: c_ulong) -> rustix::io::Result<()> {
    let source = source.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: each path ends with a zero, and these flags ask for neither kind nor data.
    let result = unsafe { mount(source, target.as_ptr(), ptr::null(), flags, ptr::null()) };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    }
}
