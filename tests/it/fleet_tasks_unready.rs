//! Tasks of a fleet where the remote or the repository is in no state for them: each ends with what is true, and nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use watchdog_git::Worktree;

use crate::fleet_tasks_travel::{Fleet, HONEST, agent, config};
use crate::support::TestEnv;

/// An `ssh` that runs the far side here, and waits for ever where it may ask; it notes its arguments.
const SSH: &str = r#"#!/bin/sh
echo "$@" >> "$0.log"
case "$*" in *BatchMode=yes*) ;; *) exec sleep 600;; esac
if [ -e "$0.denied" ]; then echo 'Permission denied (publickey,password).' >&2; exit 255; fi
for last; do :; done
exec sh -c "$last"
"#;

#[test]
fn git_over_ssh_asks_for_nothing_and_uses_the_persons_own_command() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    let ssh = env.write("own/ssh", SSH);
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let local = Worktree::open(repo.path()).unwrap().repository_id();
    let url = format!("ssh://git@host.example{}", fleet.remote.display());
    let shared = json!({"local": local, "id": "team/app", "remote": "origin", "url": url});
    let file = env.state().join("fleet-repositories.json");
    fs::write(&file, json!({"v": 1, "repositories": [shared]}).to_string()).unwrap();
    repo.git(&["config", "--global", "core.sshCommand", &format!("{} -i key", ssh.display())]);
    let denied = env.write("own/ssh.denied", "");
    let run = ["run", "T1", "--json", "--config", &config(&env)];
    let out = repo.watchdog(&agent(&run, "touch ../begun")).expect(11);
    assert!(out.json()["message"].as_str().unwrap().contains("Permission denied (publickey,password)"), "{out}");
    fs::remove_file(denied).unwrap();
    repo.watchdog(&agent(&run, HONEST)).expect(0);
    assert_eq!(fleet.git(&env, &["rev-parse", "watchdog/T1"]), repo.head());
    let log = fs::read_to_string(env.root().join("own/ssh.log")).unwrap();
    assert!(log.lines().all(|line| line.starts_with("-i key -o BatchMode=yes")), "{log}");
}
