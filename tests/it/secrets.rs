//! Secrets go nowhere: tokens that checks and agents print, copies of environment files, text in UTF-16.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::looped::{config, prompts, sessions};
use crate::support::{CommandOutput, Repo, Step, TestEnv};

/// A token, put together here so that no scanner takes this file for a leak.
fn token() -> String {
    format!("{}{}", "ghp_", "a1B2".repeat(9))
}

/// Every file below a folder that holds these bytes.
fn holding(folder: &Path, wanted: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, wanted));
        } else if fs::read(&path).is_ok_and(|bytes| {
            bytes
                .windows(wanted.len())
                .any(|part| part == wanted.as_bytes())
        }) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// `rescue` in a mode that commits.
pub fn rescue_commits(env: &TestEnv, repo: &Repo<'_>) -> CommandOutput {
    let settings = json!({"rescue": {"mode": "single"}}).to_string();
    let config = env.write("config.json", settings);
    let config = config.to_str().expect("UTF-8");
    repo.watchdog(&["rescue", "--json", "--config", config])
}

#[test]
fn printed_token_is_masked_everywhere_it_is_repeated() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (token, password) = (token(), "h0rse-staple-battery");
    let notice = env.root().join("notices");
    let run = "cat ../printed; test -f ok.txt";
    env.write(
        "printed",
        format!("deploying with {token}\nDB_PASSWORD={password}\n"),
    );
    let config = config(
        &env,
        json!({"checks": [{"type": "command", "name": "deploy", "run": run}], "limits": {"cooldown_seconds": 0, "max_iterations": 2},
               "notify": [{"on": ["verdict"], "command": ["sh", "-c", "cat >> ../notices"]}]}),
    );
    let one = [
        Step::write("a.txt", "a"),
        Step::commit("a"),
        Step::print(&format!("I used {token}\n")),
    ];
    let two = [Step::write("b.txt", "b"), Step::commit("b")];
    let agent = sessions(&env, &[&one, &two]);
    let out = repo.watchdog_line(
        "loop --json --no-probe --config {} -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    let logs = repo.watchdog(&["events", "--json"]).expect(0);
    let told = prompts(&env);
    for secret in [token.as_str(), password] {
        assert!(
            !out.stdout.contains(secret) && !out.stderr.contains(secret),
            "{out}"
        );
        assert!(!logs.stdout.contains(secret), "{logs}");
        assert!(
            told.iter().all(|prompt| !prompt.contains(secret)),
            "{told:?}"
        );
        assert!(
            !fs::read_to_string(&notice)
                .unwrap_or_default()
                .contains(secret)
        );
    }
    let feedback = out.json()["checks"][0]["feedback"]
        .as_str()
        .expect("feedback")
        .to_owned();
    assert!(
        feedback.contains("deploying with [secret: github-token]")
            && feedback.contains("DB_PASSWORD=[secret: password]"),
        "{out}"
    );
    assert!(
        told[1].contains("[secret: github-token]"),
        "the rest of the feedback stays: {}",
        told[1]
    );
    // The session printed it: its log is masked as well.
    assert_eq!(holding(&env.state(), &token), Vec::<String>::new());
    let log = repo
        .watchdog(&["logs", "--list", "--json"])
        .expect(0)
        .json()["logs"][1]["path"]
        .as_str()
        .expect("a path")
        .to_owned();
    assert_eq!(
        fs::read_to_string(log).expect("the log"),
        "I used [secret: github-token]\n"
    );
}

#[test]
fn environment_copies_and_utf16_secrets_stay_out() {
    let env = TestEnv::new();
    let repo = env.repo();
    let names = [
        ".env~",
        "prod.env",
        "deploy/.env.bak",
        "secrets.toml",
        "..env.swp",
    ];
    for name in names {
        repo.write(name, "A=b\n");
    }
    let text = format!("token = \"{}\"\r\n", token());
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    repo.write("notes.txt", &wide);
    repo.write("marked.txt", [&b"\xff\xfe"[..], &wide].concat());
    repo.write("work.rs", "fn main() {}\n");
    let out = rescue_commits(&env, &repo);
    assert_eq!(repo.names_in("HEAD"), "work.rs", "{out}");
    for name in names.iter().chain(&["notes.txt", "marked.txt"]) {
        assert!(
            out.stdout.contains(name) && repo.has(name),
            "{name} is named and stays: {out}"
        );
    }
}

#[test]
fn copies_of_secrets_are_left_out() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (ignored, tracked) = (
        "DB_PASSWORD=h0rse-staple-battery\n",
        "MAIL_PASSWORD=c0rrect-h0rse\n",
    );
    repo.write(".gitignore", ".env\n");
    repo.write("deploy/prod.env", tracked);
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "a secret that is committed"]);
    repo.write(".env", ignored);
    repo.git(&["mv", "deploy/prod.env", "deploy/settings.txt"]);
    repo.write("config.txt", ignored);
    repo.write("notes.md", format!("# Setup\n\n    {ignored}\n"));
    repo.write("backup.tar", format!(".env\0\0ustar\0{ignored}\0\0"));
    repo.write("work.rs", "fn main() { connect(&env[\"DB_PASSWORD\"]) }\n");
    let out = rescue_commits(&env, &repo);
    // The removal of a moved file waits for its other half.
    assert_eq!(
        repo.git(&["show", "--format=", "--name-status", "--no-renames", "HEAD"])
            .trim(),
        "A\twork.rs",
        "{out}"
    );
    for name in [
        "deploy/settings.txt",
        "config.txt",
        "notes.md",
        "backup.tar",
    ] {
        assert!(
            out.stdout.contains(name) && repo.has(name),
            "{name} is named and stays: {out}"
        );
    }
    let shared = repo.git_line(
        "log -p --all --not --glob=refs/watchdog/private/* --glob=refs/watchdog/anchor/*",
        &[],
    );
    assert!(!shared.contains("h0rse-staple-battery"), "{shared}");
}

#[test]
fn moved_secret_is_known_by_an_earlier_snapshot() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(".env", "DB_PASSWORD=h0rse-staple-battery\n");
    let _ = rescue_commits(&env, &repo);
    std::fs::rename(repo.path().join(".env"), repo.path().join("config.txt")).expect("it is moved");
    repo.write("work.rs", "fn main() {}\n");
    let out = rescue_commits(&env, &repo);
    assert_eq!(repo.names_in("HEAD"), "work.rs", "{out}");
    assert!(
        out.stdout.contains("config.txt") && repo.has("config.txt"),
        "{out}"
    );
}
