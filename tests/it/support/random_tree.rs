//! Random changes of a work tree and its index: the same ones for the same seed, everywhere.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A small generator (xorshift), so that a failing round can be had again.
pub struct Dice(u64);

impl Dice {
    /// The same rolls for the same seed.
    pub fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    /// True once in `sides` times.
    pub fn once_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }

    /// Bytes that do not compress.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            self.roll(2);
            bytes.extend_from_slice(&self.0.to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}

/// Names that people and programs use.
pub const NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"c.txt",
    b"d e",
    "ü".as_bytes(),
    b"new\nline",
    b"-x",
    b"a.b",
    b"a-b",
    b"A",
    b"sub",
    b"sub.x",
];

/// A random path of one to three of the names.
pub fn path(dice: &mut Dice, names: &[&[u8]]) -> OsString {
    let depth = dice.roll(3) + 1;
    let parts: Vec<&[u8]> = (0..depth).map(|_| *dice.pick(names)).collect();
    OsString::from_vec(parts.join(&b'/'))
}

/// Makes room for a file at `root`/`name`: files become folders and folders become files.
pub fn make_way(root: &Path, name: &OsStr) {
    let target = root.join(name);
    let mut at = root.to_owned();
    for part in Path::new(name).parent().unwrap() {
        at.push(part);
        if at.symlink_metadata().is_ok_and(|m| !m.is_dir()) {
            std::fs::remove_file(&at).unwrap();
        }
    }
    if target.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        std::fs::remove_dir_all(&target).unwrap();
    } else {
        std::fs::remove_file(&target).ok();
    }
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
}

/// Changes one random thing in the work tree, or the index, or both, and says what. `git` may fail.
pub fn change(
    root: &Path,
    dice: &mut Dice,
    names: &[&[u8]],
    git: &dyn Fn(&[&OsStr]),
) -> &'static str {
    let name = path(dice, names);
    let target = root.join(&name);
    let run = |args: &[&str]| {
        let args: Vec<&OsStr> = ["--literal-pathspecs"]
            .iter()
            .chain(args)
            .map(OsStr::new)
            .chain([OsStr::new("--"), &name])
            .collect();
        git(&args);
    };
    match dice.roll(10) {
        0..=4 => {
            make_way(root, &name);
            if dice.once_in(5) {
                std::os::unix::fs::symlink(
                    OsStr::from_bytes(names[dice.roll(names.len())]),
                    &target,
                )
                .unwrap();
                return "symlink";
            }
            std::fs::write(
                &target,
                vec![b'a' + dice.roll(4) as u8; [0, 1, 3, 3, 20_000][dice.roll(5)]],
            )
            .unwrap();
            std::fs::set_permissions(
                &target,
                std::fs::Permissions::from_mode([0o644, 0o755][dice.roll(2)]),
            )
            .unwrap();
            "write"
        }
        5 => {
            std::fs::remove_file(&target).ok();
            "delete"
        }
        6 if target.symlink_metadata().is_ok_and(|m| m.is_dir()) => {
            std::fs::remove_dir_all(&target).unwrap();
            "delete a folder"
        }
        7 => {
            run(&["add"]);
            "stage"
        }
        8 => {
            run(&["add", "-N"]);
            "intent to add"
        }
        9 => {
            run(&["rm", "-rfq", "--cached"]);
            "unstage"
        }
        _ => "nothing",
    }
}
