//! The uncommitted work of a round: what people, agents and tools leave behind, of every kind.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::ground::Ground;
use super::manifest::{IGNORED_ENDING, IGNORED_FOLDER, manifest};
use super::nested;
use super::tally::Tally;
use crate::support::random_tree::{self, Dice, NAMES, make_way};

/// Names that break programs which do not expect them.
const ODD_NAMES: &[&[u8]] = &[
    b"\xff\xfe not UTF-8",
    b"line\nbreak",
    b"tab\tand \"quotes\"",
    b"-rf",
    b"--force",
    b" ",
    b" leading and trailing ",
    b"*",
    b"[a-z]?",
    b":(glob)x",
    b"back\\slash",
    b"$(touch x)",
    b"%41",
    "e\u{301}".as_bytes(),
    "\u{e9}".as_bytes(),
    "\u{202e}txt.exe".as_bytes(),
    b"HEAD",
    b"CON",
    b".hidden",
    b"a.lock",
    b"~",
    b"#",
];

/// Names of what is never committed.
const LEFT_OUT_NAMES: &[&str] = &[
    ".env",
    "deep/.env.local",
    "id_rsa",
    "server.pem",
    "node_modules/x/index.js",
    "target/CACHEDIR.TAG",
    "target/debug/out",
];

/// Does so much random work in the work tree.
pub fn work(ground: &Ground, dice: &mut Dice, amount: usize, tally: &mut Tally) {
    for _ in 0..amount {
        let kind = one(ground, dice);
        tally.one("change", kind);
    }
    // A round that changes nothing proves nothing.
    write(&ground.root, OsStr::new("surely-new.txt"), &dice.bytes(64));
    tally.one("change", "write");
}

fn write(root: &Path, name: &OsStr, bytes: &[u8]) {
    make_way(root, name);
    std::fs::write(root.join(name), bytes).unwrap();
}

/// A file or symlink that is there, outside of repositories inside; always the same one for the same dice.
fn existing(ground: &Ground, dice: &mut Dice) -> Option<OsString> {
    let nested = nested::NESTED.map(|name| format!("{name}/").into_bytes());
    let keep = |path: &Vec<u8>| {
        path != b".gitignore"
            && path != b".gitmodules"
            && !nested.iter().any(|folder| path.starts_with(folder))
    };
    let all: Vec<Vec<u8>> = manifest(&ground.root).into_keys().filter(keep).collect();
    (!all.is_empty()).then(|| OsString::from_vec(dice.pick(&all).clone()))
}

fn one(ground: &Ground, dice: &mut Dice) -> &'static str {
    let root = &ground.root;
    let names: &[&[u8]] = if dice.once_in(4) { ODD_NAMES } else { NAMES };
    let git = |args: &[&OsStr]| drop(ground.try_git(args));
    match dice.roll(26) {
        0..=9 => random_tree::change(root, dice, names, &git),
        10 | 11 => on_existing(ground, dice),
        12 | 13 => on_existing(ground, dice),
        14 => swap(ground, dice, names),
        15 => {
            // The same size within the same tick of the clock as it is staged: only the content tells.
            write(root, OsStr::new("racy.txt"), b"first");
            git(&["add", "racy.txt"].map(OsStr::new));
            std::fs::write(root.join("racy.txt"), b"other").unwrap();
            "edit of the same size right after staging"
        }
        16 => {
            write(root, OsStr::new("staged.txt"), &dice.bytes(30));
            git(&["add", "staged.txt"].map(OsStr::new));
            if dice.once_in(2) {
                std::fs::remove_file(root.join("staged.txt")).unwrap();
                return "delete what is staged";
            }
            std::fs::write(root.join("staged.txt"), dice.bytes(31)).unwrap();
            "edit what is staged"
        }
        17 => {
            let name = OsString::from(*dice.pick(LEFT_OUT_NAMES));
            write(root, &name, &dice.bytes(40));
            "secret or bulk"
        }
        18 => {
            let name =
                [format!("{IGNORED_FOLDER}/x"), format!("x{IGNORED_ENDING}")][dice.roll(2)].clone();
            write(root, OsStr::new(&name), b"ignored");
            "ignored"
        }
        19 if root.join("tracked.txt").is_file() => {
            let flag = ["--assume-unchanged", "--skip-worktree"][dice.roll(2)];
            git(&["update-index", flag, "tracked.txt"].map(OsStr::new));
            std::fs::write(root.join("tracked.txt"), dice.bytes(20)).unwrap();
            "edit that git was told to look away from"
        }
        20 => {
            // Above what is read in one piece, and rarely more than that: the others are what is interesting.
            let size = if dice.once_in(4) { 9 << 20 } else { 300 << 10 };
            let bytes = if dice.once_in(2) {
                dice.bytes(size)
            } else {
                vec![b'x'; size]
            };
            write(root, OsStr::new("big.bin"), &bytes);
            "big file"
        }
        21 | 22 => nested::change(ground, dice),
        23 => {
            write(
                root,
                OsStr::new("lines.crlf"),
                [&b"a\r\nb\r\nc\r\n"[..], b"a\nb\r\n", b"a\nb\n"][dice.roll(3)],
            );
            "line endings"
        }
        24 => {
            let deep = vec!["d"; 40].join("/") + "/file";
            let long = "n".repeat(250);
            write(
                root,
                OsStr::new([deep.as_str(), long.as_str()][dice.roll(2)]),
                b"x",
            );
            "deep or long path"
        }
        _ => {
            std::fs::create_dir_all(root.join("empty/folder")).unwrap();
            let pipe = root.join("pipe");
            if pipe.symlink_metadata().is_err() {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, mode, 0)
                    .unwrap();
            }
            "pipe and empty folder"
        }
    }
}

/// Something with a file that is there.
fn on_existing(ground: &Ground, dice: &mut Dice) -> &'static str {
    let Some(name) = existing(ground, dice) else {
        return "nothing";
    };
    if name.len() > 200 {
        return "nothing";
    }
    let path = ground.root.join(&name);
    let is_file = path.symlink_metadata().is_ok_and(|m| m.is_file());
    match dice.roll(6) {
        0 if is_file => {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes.extend_from_slice(b"one more line\n");
            std::fs::write(&path, bytes).unwrap();
            "append"
        }
        1 if is_file => {
            let mode = path.metadata().unwrap().permissions().mode();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode ^ 0o111)).unwrap();
            "mode"
        }
        2 => {
            let to = OsString::from_vec([name.as_bytes(), b".renamed"].concat());
            make_way(&ground.root, &to);
            std::fs::rename(&path, ground.root.join(to)).unwrap();
            "rename"
        }
        3 => {
            let to = OsString::from_vec([name.as_bytes(), b".moved"].concat());
            make_way(&ground.root, &to);
            ground.try_git(&[
                OsStr::new("--literal-pathspecs"),
                OsStr::new("mv"),
                OsStr::new("-f"),
                OsStr::new("--"),
                &name,
                &to,
            ]);
            "rename by git"
        }
        4 => {
            std::fs::remove_file(&path).unwrap();
            symlink("nowhere", &path).unwrap();
            "symlink in place of a file"
        }
        _ => {
            std::fs::remove_file(&path).unwrap();
            "delete"
        }
    }
}

/// A folder in place of a file, or a file in place of a folder; at times with the old state still staged.
fn swap(ground: &Ground, dice: &mut Dice, names: &[&[u8]]) -> &'static str {
    let name = OsStr::from_bytes(names[dice.roll(names.len())]).to_owned();
    let path = ground.root.join(&name);
    if path.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        if dice.once_in(2) {
            ground.try_git(&[
                OsStr::new("--literal-pathspecs"),
                OsStr::new("add"),
                OsStr::new("--"),
                &name,
            ]);
        }
        write(&ground.root, &name, b"was a folder\n");
        return "file in place of a folder";
    }
    let inner = OsString::from_vec([name.as_bytes(), b"/inner"].concat());
    write(&ground.root, &inner, b"was a file\n");
    "folder in place of a file"
}
