//! Programs of the user that stand in the way of a rescue, or do harm: rescue scripts and hooks.

use super::ground::Ground;
use crate::support::random_tree::Dice;

/// Shell lines of rescue scripts, with a name for the tally. Several are combined.
const RESCUE_LINES: &[(&str, &str)] = &[
    ("reset --hard", "git reset -q --hard"),
    ("stash", "git stash -q"),
    ("stash -u and drop", "git stash -q -u; git stash drop -q"),
    ("stash clear", "git stash -q -u; git stash clear"),
    ("clean -fdx", "git clean -qfdx"),
    ("clean -ffdx", "git clean -qffdx"),
    ("checkout .", "git checkout -q -f ."),
    (
        "rm",
        "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +",
    ),
    (
        "add and commit",
        "git add -A && git commit -q -m 'by the script'",
    ),
    ("commit -a", "git commit -q -a -m 'by the script'"),
    (
        "commit --amend",
        "git add -A; git commit -q --amend -m 'by the script'",
    ),
    ("another branch", "git checkout -q -f -b elsewhere"),
    (
        "orphan branch",
        "git checkout -q -f --orphan orphan; git rm -rfq --cached .",
    ),
    ("reset to the past", "git reset -q --hard HEAD~1"),
    ("rm index", "rm -f .git/index"),
    (
        "gc",
        "git reflog expire --expire=now --all; git gc -q --prune=now",
    ),
    (
        "truncate",
        "for f in *; do [ -f \"$f\" ] && : >\"$f\"; done",
    ),
    (
        "reformat",
        "for f in *; do [ -f \"$f\" ] && echo formatted >>\"$f\"; done",
    ),
    ("fail", "exit 3"),
    ("hang", "sleep 1000"),
    ("kill watchdog", "end $PPID watchdog"),
];

/// Kills a process, provided that it is what it is taken for: who is adopted by a stranger must not kill the stranger.
const END: &str = "end() { [ \"$(cat /proc/$1/comm)\" = \"$2\" ] && kill -9 \"$1\"; }\nparent_of() { awk '{print $4}' \"/proc/$1/stat\"; }\n";

/// A random rescue script; returns its command and what it does.
pub fn rescue_script(ground: &Ground, dice: &mut Dice) -> (String, Vec<&'static str>) {
    let mut words = Vec::new();
    let mut lines = format!("#!/bin/sh\n{END}");
    for _ in 0..=dice.roll(3) {
        let (word, line) = dice.pick(RESCUE_LINES);
        words.push(*word);
        lines.push_str(line);
        lines.push('\n');
    }
    (program(ground, "rescue-script", &lines), words)
}

fn program(ground: &Ground, name: &str, text: &str) -> String {
    let path = ground.env.write(name, text);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The agent itself throws its work away; returns how.
pub fn destroy_as_the_agent(ground: &Ground, dice: &mut Dice) -> &'static str {
    let harmful: Vec<_> = RESCUE_LINES.iter().take(8).collect();
    let (word, line) = **dice.pick(&harmful);
    let out = ground
        .env
        .command("sh", &ground.root)
        .args(["-c", line])
        .run();
    // Some of them fail in some states, having done half of it.
    assert!(out.code.is_some(), "{out}");
    word
}

const HOOKS: &[&str] = &[
    "pre-commit",
    "commit-msg",
    "prepare-commit-msg",
    "post-commit",
];

/// How a hook stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// It ends with an error.
    Fails,
    /// It never ends.
    Hangs,
    /// It kills the git that called it, or the watchdog that called that.
    Kills,
    /// It throws work away.
    Destroys,
}

/// Installs a random hook; returns what it does.
pub fn hook(ground: &Ground, dice: &mut Dice, kind: Hook) -> String {
    let at = *dice.pick(HOOKS);
    let (word, line) = match kind {
        Hook::Fails => ("fails", "echo no >&2; exit 1"),
        Hook::Hangs => *dice.pick(&[("hangs", "sleep 1000"), ("hangs and ignores TERM", "trap '' TERM; while :; do sleep 1; done")]),
        Hook::Kills => *dice.pick(&[
            ("kills git", "end $PPID git"),
            ("kills watchdog", "end $(parent_of $PPID) watchdog"),
            ("kills watchdog and git", "end $(parent_of $PPID) watchdog; end $PPID git"),
        ]),
        Hook::Destroys => *dice.pick(&[
            ("formats", "for f in *.txt; do [ -f \"$f\" ] && echo formatted >>\"$f\" && git add -- \"$f\"; done; exit 0"),
            ("cleans", "git clean -qfdx; exit 0"),
            ("stashes and fails", "unset GIT_INDEX_FILE; git stash -q -u; exit 1"),
            ("resets and fails", "unset GIT_INDEX_FILE; rm -f .git/index.lock; git reset -q --hard; exit 1"),
            ("removes", "rm -rf ./*; exit 0"),
            (
                "commits by itself",
                "[ -n \"$INNER\" ] && exit 0; unset GIT_INDEX_FILE; INNER=1 git commit -q --allow-empty -m inner; exit 0",
            ),
        ]),
    };
    let path = ground.root.join(".git/hooks").join(at);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{END}{line}\n")).unwrap();
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    format!("{at} {word}")
}

/// The hooks that a round installed go.
pub fn remove_hooks(ground: &Ground) {
    for name in HOOKS {
        std::fs::remove_file(ground.root.join(".git/hooks").join(name)).ok();
    }
}
