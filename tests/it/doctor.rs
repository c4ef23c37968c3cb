//! `watchdog doctor`: a healthy machine, each thing that can be wrong with the command beside it, and what `--fix` mends.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv, assert_parts, fill_line};

fn install(env: &TestEnv, name: &str, script: &str) {
    let path = env.write(
        &format!("programs/{name}"),
        format!("#!/bin/sh\n{script}\n"),
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    env.install(name, &path);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The findings about one thing.
#[track_caller]
fn about(out: &CommandOutput, what: &str) -> Vec<Value> {
    let found = out.json()["findings"].as_array().expect("findings").clone();
    found
        .into_iter()
        .filter(|finding| finding["what"] == what)
        .collect()
}

/// The one finding about a thing: its state, what was found and how to mend it.
#[track_caller]
fn the_one(out: &CommandOutput, what: &str) -> (String, String, String) {
    let found = about(out, what);
    assert_eq!(found.len(), 1, "{what}: {out}");
    let text = |key: &str| found[0][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        found[0]["ok"],
        json!(found[0]["state"] != "wrong" || found[0]["fixed"].is_string()),
        "{out}"
    );
    (text("state"), text("detail"), text("mend"))
}

fn doctor(repo: &Repo<'_>) -> CommandOutput {
    repo.watchdog(&["doctor", "--json"])
}

/// Runs a command that the doctor printed, as it stands.
#[track_caller]
fn type_in(env: &TestEnv, repo: &Repo<'_>, line: &str) {
    let command = line.rsplit_once(": ").map_or(line, |(_, command)| command);
    env.command("sh", repo.path())
        .args(["-c", command])
        .run()
        .expect(0);
}

#[test]
fn closed_folder_of_watchdog_is_wrong() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["run", "--no-probe", "--", "true"]);
    let state = |name: &str| env.state().join(name);
    // Locks that are closed keep the records closed, which has a finding of its own.
    let places = [
        ("state", state("logs")),
        ("repository", repo.path().join(".git/refs/watchdog")),
    ];
    for (what, folder) in places {
        let rights = fs::metadata(&folder)
            .expect("the run made it")
            .permissions();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).expect("our own folder");
        // Root reads every folder, unless it gives up the capability.
        let without_rights = fill_line(
            "--bounding-set=-all --inh-caps=-all {} doctor --json",
            &[env!("CARGO_BIN_EXE_watchdog")],
        );
        let out = env
            .command("setpriv", repo.path())
            .args(without_rights)
            .run();
        fs::set_permissions(&folder, rights).expect("our own folder");
        let detail = format!("cannot read and write {}: ", folder.display());
        let is_named = |finding: &Value| {
            finding["detail"]
                .as_str()
                .is_some_and(|text| text.starts_with(&detail))
        };
        assert!(
            about(&out, what).iter().any(is_named),
            "{}: {out}",
            folder.display()
        );
    }
}

#[test]
fn number_searched_in_output_is_a_note() {
    let env = TestEnv::new();
    let repo = env.repo();
    let command = |success: &str| json!({"type": "command", "name": "tests", "run": "make test", "success": success});
    for (success, is_named) in [
        ("contains:0 failed", true),
        ("contains:all passed", false),
        ("exit:0", false),
    ] {
        repo.write(
            "completion.json",
            json!({"checks": [{"mode": "any", "checks": [command(success)]}]}).to_string(),
        );
        repo.watchdog(&["trust"]).expect(0);
        let found = about(&doctor(&repo), "configuration");
        let noted = found.iter().any(|finding| {
            finding["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("'tests' passes where"))
        });
        assert_eq!(noted, is_named, "{success}: {found:?}");
    }
}

#[test]
fn missing_program_of_a_check_is_wrong() {
    let env = TestEnv::new();
    let repo = env.repo();
    install(&env, "there", "exit 0");
    for (run, missing) in [
        ("nowhere -q test", Some("install nowhere")),
        ("there -B && CI=1 nowhere test", Some("install nowhere")),
        ("vendor/bin/phpunit", Some("type: composer install")),
        ("test -d . && there x", None),
        ("cd web && ./run", None),
        ("nowhere || there", None),
        ("PATH=/opt/bin nowhere", None),
    ] {
        repo.write(
            "completion.json",
            json!({"checks": [{"type": "command", "name": "tests", "run": run}]}).to_string(),
        );
        repo.watchdog(&["trust"]).expect(0);
        let out = doctor(&repo).expect(if missing.is_some() { 16 } else { 0 });
        let wrong = about(&out, "configuration")
            .into_iter()
            .find(|finding| finding["state"] == "wrong");
        let mend = wrong.as_ref().and_then(|finding| finding["mend"].as_str());
        match missing {
            Some(words) => assert!(
                mend.is_some_and(|mend| mend.starts_with(words))
                    && wrong.is_some_and(|finding| finding["detail"]
                        .as_str()
                        .is_some_and(|detail| detail.contains("'tests'"))),
                "{run}: {out}"
            ),
            None => assert_eq!(mend, None, "{run}: {out}"),
        }
    }
}

#[test]
fn healthy_machine_needs_no_config_agent_or_repository() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = doctor(&repo).expect(0);
    assert_eq!(out.json()["healthy"], true, "{out}");
    let (state, detail, mend) = the_one(&out, "agent");
    assert!(
        state == "note" && detail.contains("claude") && mend.contains("agent.preset"),
        "{out}"
    );
    assert_eq!(the_one(&out, "configuration").0, "ok");
    let outside = env.watchdog(&env.root(), &["doctor", "--json"]).expect(0);
    assert_eq!(the_one(&outside, "worktree").0, "note", "{outside}");
    let people = repo.watchdog(&["doctor"]).expect(0).stdout;
    assert_parts(
        &people,
        &["ok     git", "note   agent", "mend: install claude"],
    );
    install(&env, "codex", "echo 1.2.3");
    assert_parts(
        &the_one(&doctor(&repo).expect(0), "agent").2,
        &["\"preset\": \"codex\""],
    );
    install(&env, "claude", "echo 9.9.9 scripted");
    assert_eq!(
        the_one(&doctor(&repo).expect(0), "agent").1,
        "9.9.9 scripted"
    );
}

#[test]
fn doctor_checks_everything_that_the_configuration_names() {
    let env = TestEnv::new();
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = env.repo();
    repo.write("completion.json", "{\"agent\": {\"preset\": \"gemini\"}}");
    let out = doctor(&repo).expect(16);
    let (state, _, mend) = the_one(&out, "trust");
    assert_eq!(
        (state.as_str(), mend.as_str()),
        (
            "wrong",
            format!("read it, then: watchdog -C {} trust", repo.path().display()).as_str()
        )
    );
    assert_eq!(
        the_one(&out, "agent").0,
        "note",
        "an untrusted file names nobody"
    );
    type_in(&env, &repo, &mend);
    let out = doctor(&repo).expect(16);
    assert!(about(&out, "trust").is_empty());
    let (state, detail, _) = the_one(&out, "agent");
    assert!(state == "wrong" && detail.contains("gemini"), "{out}");
    install(&env, "gemini", "echo 0.61");
    doctor(&repo).expect(0);
    repo.write("completion.json", "{\"chekcs\": 1}");
    let (state, detail, mend) = the_one(&doctor(&repo).expect(16), "configuration");
    assert!(
        state == "wrong"
            && detail.contains("did you mean `checks`")
            && mend.contains("then: watchdog -C ")
            && mend.ends_with(" trust"),
        "{detail}"
    );
    repo.write(
        "completion.json",
        "{\"agent\": {\"probe\": [\"./ask\"]}, \"checks\": []}",
    );
    repo.watchdog(&["trust"]).expect(0);
    let out = doctor(&repo).expect(16);
    assert!(the_one(&out, "agent").1.contains("./ask"), "{out}");
    let notes: Vec<Value> = about(&out, "configuration")
        .into_iter()
        .map(|found| found["state"].clone())
        .collect();
    assert_eq!(
        notes,
        [json!("ok"), json!("note")],
        "an empty list of checks is worth a note: {out}"
    );
    repo.write("ask", "");
    doctor(&repo).expect(0);
}

#[test]
fn doctor_checks_the_agent_that_is_asked() {
    let env = TestEnv::new();
    let repo = env.repo();
    install(&env, "agent-7", "echo 7.0 of PATH");
    let own = repo.path().join("tools/agent");
    repo.write("tools/agent", "#!/bin/sh\necho 8.0 of its own\n");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let asked = |args: &[&str], variable: &str| {
        let line = [&["doctor", "--json"], args].concat();
        the_one(
            &repo
                .watchdog_command(&line)
                .env("WATCHDOG_AGENT_PROGRAM", variable)
                .run(),
            "agent",
        )
    };
    for (args, variable, state, detail) in [
        (
            &["--agent-program", "agent-7"][..],
            "",
            "ok",
            "7.0 of PATH (agent-7)",
        ),
        (&[], "agent-7", "ok", "7.0 of PATH (agent-7)"),
        (
            &["--agent-program", "tools/agent"],
            "agent-7",
            "ok",
            "tools/agent)",
        ),
        (
            &["--agent-program", "/no/such/agent"],
            "agent-7",
            "wrong",
            "/no/such/agent",
        ),
        (&[], "no-such-agent", "wrong", "no-such-agent"),
    ] {
        let found = asked(args, variable);
        assert!(
            found.0 == state && found.1.contains(detail),
            "{args:?} {variable}: {found:?}"
        );
        assert_eq!(
            found
                .2
                .contains("--agent-program or WATCHDOG_AGENT_PROGRAM"),
            state == "wrong",
            "{found:?}"
        );
    }
    // A probe of one's own is asked whatever the agent's program is called.
    repo.write(
        "completion.json",
        json!({"agent": {"probe": ["sh", "ask.sh"]}}).to_string(),
    );
    repo.watchdog(&["trust"]).expect(0);
    assert_eq!(
        asked(&["--agent-program", "/no/such/agent"], "").1,
        "sh (agent.probe)"
    );
}

#[test]
fn doctor_names_agent_version_and_login_without_secrets() {
    let env = TestEnv::new();
    let repo = env.repo();
    // Each answers only once the other was asked: so both are asked at once.
    let (one, other) = (env.root().join("one"), env.root().join("other"));
    let waits = |own: &Path, other: &Path, says: &str| {
        format!(
            "touch {}; until [ -e {} ]; do sleep 0.05; done; echo '{says}'",
            own.display(),
            other.display()
        )
    };
    install(&env, "codex", &waits(&one, &other, "codex-cli 0.169.0"));
    install(&env, "gemini", &waits(&other, &one, "0.61.0"));
    install(&env, "qwen", "echo no such option >&2; exit 1");
    install(&env, "my-codex-viewer", "echo 1");
    repo.write("completion.json", "{\"agent\": {\"preset\": \"codex\"}}");
    repo.watchdog(&["trust"]).expect(0);
    let out = repo
        .watchdog_command(&["doctor", "--json"])
        .env("OPENAI_API_KEY", "sk-hush")
        .run()
        .expect(0);
    assert!(!out.stdout.contains("sk-hush"), "{out}");
    let agents = out.json()["agents"].clone();
    let told: Vec<Value> = agents
        .as_array()
        .expect("agents")
        .iter()
        .map(|one| json!([one["name"], one["version"], one["login"], one["asked"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["codex", "codex-cli 0.169.0", "key in OPENAI_API_KEY", true]),
            json!(["gemini", "0.61.0", null, false]),
            json!(["qwen", null, "key in OPENAI_API_KEY", false])
        ],
        "{out}"
    );
    let found = about(&out, "agents");
    let states: Vec<&Value> = found.iter().map(|finding| &finding["state"]).collect();
    assert_eq!(states, ["ok", "note", "note"], "{out}");
    assert!(
        found[0]["detail"]
            == "Codex CLI (the one that is asked): codex-cli 0.169.0; key in OPENAI_API_KEY",
        "{out}"
    );
    let (mend, failed) = (
        found[1]["mend"].as_str().unwrap_or_default(),
        found[2]["detail"].as_str().unwrap_or_default(),
    );
    assert!(
        mend.contains("or set GEMINI_API_KEY") && failed.contains("--version ended with"),
        "{out}"
    );
}

#[test]
fn agent_without_version_reply_never_blocks_the_doctor() {
    let env = TestEnv::new();
    let repo = env.repo();
    // What it started holds its output, too.
    install(&env, "codex", "sleep 600 & sleep 600");
    install(&env, "gemini", "exec 1>&- 2>&-; sleep 600");
    let began = Instant::now();
    let out = doctor(&repo).expect(0);
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    let found = about(&out, "agents");
    assert_eq!(found.len(), 2, "{out}");
    for finding in &found {
        let detail = finding["detail"].as_str().unwrap_or_default();
        assert!(
            finding["state"] == "note" && detail.contains("--version did not answer in 10 s"),
            "{out}"
        );
        assert!(
            finding["mend"]
                .as_str()
                .is_some_and(|mend| mend.starts_with("look what it says: ")),
            "{out}"
        );
    }
    env.assert_nothing_left();
}

#[test]
fn agent_version_is_one_line_or_unknown() {
    for (says, shown) in [
        ("exit 0", "claude runs, and does not tell its version"),
        ("head -c 9000 /dev/zero | tr '\\0' x", "xxx"),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        install(&env, "claude", says);
        let (state, detail, _) = the_one(&doctor(&repo), "agent");
        assert!(
            state == "ok" && detail.starts_with(shown) && detail.len() < 200,
            "{detail}"
        );
    }
}

#[test]
fn untrusted_preset_is_told_with_the_trust_command() {
    let env = TestEnv::new();
    let repo = env.repo();
    let preset = |name: &str| json!({"name": name, "title": name, "program": name, "session": {"args": ["go", "{user}"]}, "stream": {"dialect": "claude"}, "capabilities": []});
    for name in ["asked", "works"] {
        repo.write(&format!("agents/{name}.json"), preset(name).to_string());
    }
    let agents = json!([{"name": "main", "preset": "agents/works.json", "fallback": ["second"]}, {"name": "second", "preset": "claude"}]);
    repo.write(
        "completion.json",
        json!({"agent": {"preset": "agents/asked.json"}, "agents": agents}).to_string(),
    );
    repo.watchdog(&["trust"]).expect(0);
    let told = |out: &CommandOutput| {
        about(out, "trust")
            .iter()
            .map(|found| found["detail"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let out = doctor(&repo).expect(16);
    let details = told(&out);
    assert_eq!(details.len(), 2, "{out}");
    for (name, detail) in ["asked", "works"].iter().zip(&details) {
        assert!(
            detail.starts_with(&format!("agents/{name}.json is not trusted and not used")),
            "{out}"
        );
        let command = detail.split("allow it with: ").nth(1).expect("a command");
        assert!(
            command.starts_with("watchdog -C ")
                && command.ends_with(&format!(" trust agents/{name}.json")),
            "{out}"
        );
        repo.watchdog(&["trust", &format!("agents/{name}.json")])
            .expect(0);
    }
    assert_eq!(told(&doctor(&repo)), [""; 0]);
}

#[test]
fn without_home_only_the_state_check_is_skipped() {
    let env = TestEnv::new();
    let repo = env.repo();
    install(&env, "codex", "echo codex-cli 0.169.0");
    repo.write("completion.json", "{\"agent\": {\"preset\": \"codex\"}}");
    let unset = ["HOME", "XDG_STATE_HOME", "WATCHDOG_STATE_DIR"]
        .map(|variable| ["-u", variable])
        .concat();
    let out = repo
        .env_command(
            "env",
            &[
                &unset[..],
                &[env!("CARGO_BIN_EXE_watchdog"), "doctor", "--json"],
            ]
            .concat(),
        )
        .run()
        .expect(16);
    let (state, detail, mend) = the_one(&out, "state");
    assert_eq!(state, "wrong", "{out}");
    assert!(
        detail.contains("HOME") && mend.contains("--state-dir"),
        "{out}"
    );
    assert_eq!(
        (the_one(&out, "git").0, the_one(&out, "worktree").0),
        ("ok".into(), "ok".into()),
        "{out}"
    );
    assert_parts(
        &the_one(&out, "trust").1,
        &["completion.json is not trusted"],
    );
    assert_parts(&the_one(&out, "agents").1, &["codex-cli 0.169.0"]);
}

#[test]
fn git_locks_are_named_with_age_never_removed() {
    let env = TestEnv::new();
    let repo = env.repo_named("it's mine");
    let lock = repo.path().join(".git/index.lock");
    let file = fs::File::create(&lock).unwrap();
    let (state, detail, _) = the_one(&doctor(&repo).expect(0), "git lock");
    assert!(state == "note" && detail.contains("held by"), "{detail}");
    file.set_modified(SystemTime::now() - Duration::from_secs(90))
        .unwrap();
    drop(file);
    for line in [&["doctor", "--json"][..], &["doctor", "--fix", "--json"]] {
        let out = repo.watchdog(line).expect(16);
        let (state, detail, mend) = the_one(&out, "git lock");
        assert!(
            state == "wrong"
                && detail.contains("90 s old")
                && mend.starts_with("if no git works there: rm '"),
            "{out}"
        );
        assert!(lock.exists());
    }
    let mend = the_one(&doctor(&repo), "git lock").2;
    type_in(&env, &repo, &mend);
    assert!(!lock.exists());
    doctor(&repo).expect(0);
}

#[test]
fn doctor_mends_permissions_and_stale_locks_only() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let open =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let (database, logs) = (env.state().join("watchdog.db"), env.state().join("logs"));
    env.write("state/logs/x/1.log", "said");
    open(&database, 0o644);
    open(&logs, 0o755);
    open(&env.state(), 0o755);
    let now = jiff::Timestamp::now();
    let holder = |pid: u32, since: jiff::Timestamp| {
        json!({"v": 1, "pid": pid, "command": "watchdog run", "since": since, "session_active": true, "spec": null}).to_string() + "\n"
    };
    let dead = env.write(
        "state/locks/dead.lock",
        holder(4_000_000, now - jiff::SignedDuration::from_hours(1)),
    );
    let alive = env.write("state/locks/alive.lock", holder(std::process::id(), now));
    let out = doctor(&repo).expect(16);
    let (state, _, mend) = the_one(&out, "permissions");
    assert!(
        state == "wrong" && mend.starts_with("chmod -R go-rwx"),
        "{out}"
    );
    let (state, detail, mend) = the_one(&out, "locks");
    assert!(
        state == "note" && detail.contains("1 lock file") && mend.ends_with(" doctor --fix"),
        "{out}"
    );
    let fixed = repo.watchdog(&["doctor", "--fix", "--json"]).expect(0);
    assert!(
        about(&fixed, "permissions")[0]["fixed"].is_string()
            && about(&fixed, "locks")[0]["fixed"] == "removed 1 lock file",
        "{fixed}"
    );
    assert_eq!(
        (mode(&database), mode(&logs), mode(&env.state())),
        (0o600, 0o700, 0o700)
    );
    assert!(!dead.exists() && alive.exists());
    let out = doctor(&repo).expect(0);
    assert!(
        about(&out, "permissions").is_empty() && about(&out, "locks").is_empty(),
        "{out}"
    );
}

#[test]
fn doctor_rewrites_outdated_hooks_and_keeps_foreign_ones() {
    let env = TestEnv::new();
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = env.repo();
    let settings = repo.path().join(".claude/settings.json");
    repo.watchdog(&["hook", "install", "--all-sessions", "--hook-timeout", "5m"])
        .expect(0);
    let installed = fs::read_to_string(&settings).unwrap();
    assert_eq!(the_one(&doctor(&repo).expect(0), "hooks").0, "ok");
    // The plugin brings the same hooks.
    for (enabled, is_twice) in [(true, true), (false, false)] {
        let user = json!({"enabledPlugins": {"watchdog@watchdog": enabled}});
        env.write("home/.claude/settings.json", user.to_string());
        let out = doctor(&repo).expect(0);
        let disable = " hook uninstall, or claude plugin disable watchdog@watchdog";
        assert_eq!(out.to_string().contains(disable), is_twice, "{out}");
    }
    // As an earlier version wrote them: without its own deadline; and somebody else's beside it.
    let older = installed.replace(" --within 290s", "");
    assert_ne!(older, installed);
    fs::write(&settings, &older).unwrap();
    let (state, detail, mend) = the_one(&doctor(&repo).expect(0), "hooks");
    assert!(
        state == "note"
            && detail.contains("not the ones of this version")
            && mend.ends_with(" hook install"),
        "{detail}"
    );
    let fixed = repo.watchdog(&["doctor", "--fix", "--json"]).expect(0);
    assert_parts(&the_one(&fixed, "hooks").1, &["settings.json"]);
    assert_eq!(
        fs::read_to_string(&settings).unwrap(),
        installed,
        "scope and patience are kept"
    );
    fs::write(
        &settings,
        installed.replace("watchdog hook", "/no/such/watchdog hook"),
    )
    .unwrap();
    let (state, detail, _) = the_one(&doctor(&repo).expect(16), "hooks");
    assert!(
        state == "wrong" && detail.contains("/no/such/watchdog, which is not there"),
        "{detail}"
    );
    repo.watchdog(&["doctor", "--fix"]).expect(0);
    assert_eq!(fs::read_to_string(&settings).unwrap(), installed);
    // What has options of its own was written by hand.
    let by_hand = installed
        .replace("watchdog hook stop", "watchdog --state-dir /s hook stop")
        .replace(" --within 290s", "");
    fs::write(&settings, &by_hand).unwrap();
    repo.watchdog(&["doctor", "--fix"]).expect(0);
    assert_eq!(fs::read_to_string(&settings).unwrap(), by_hand);
    for (program, state, words) in [
        ("A=1 watchdog", "ok", "by hand: watchdog is there"),
        (
            "cd $CLAUDE_PROJECT_DIR && ./watchdog",
            "wrong",
            "./watchdog, which is not there",
        ),
        (
            "$HOME/x/watchdog",
            "wrong",
            "home/x/watchdog, which is not there",
        ),
        ("$NOWHERE/watchdog", "note", "because of '$NOWHERE'"),
    ] {
        let hook = json!({"type": "command", "command": format!("{program} hook stop")});
        let text = json!({"hooks": {"Stop": [{"hooks": [hook]}]}}).to_string();
        fs::write(&settings, text).unwrap();
        let out = doctor(&repo);
        let (seen, detail, _) = the_one(&out, "hooks");
        assert!(
            seen == state && detail.contains(words),
            "{program}: {detail}"
        );
    }
}

#[test]
fn doctor_tells_how_to_mend_store_or_repository() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let database = env.state().join("watchdog.db");
    rusqlite::Connection::open(&database)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let (state, detail, mend) = the_one(&doctor(&repo).expect(16), "state");
    assert!(
        state == "wrong" && detail.contains("format 99") && mend.contains("newer watchdog"),
        "{detail}"
    );
    let elsewhere = |repo: &Repo<'_>| {
        repo.watchdog_command(&["doctor", "--json"])
            .env("WATCHDOG_STATE_DIR", env.root().join("other"))
    };
    let broken = env.repo_named("broken");
    let config = broken.path().join(".git/config");
    fs::write(&config, "[core]\n[core\n").unwrap();
    let (state, detail, mend) = the_one(&elsewhere(&broken).run().expect(16), "worktree");
    let command = format!("git -C / config --file {} --edit", config.display());
    assert_eq!(
        (state.as_str(), mend.as_str()),
        ("wrong", format!("type: {command}").as_str())
    );
    let names_all = |text: &str| {
        ["bad config line 2 in file", ".git/config", "no snapshot"]
            .iter()
            .all(|words| text.contains(words))
    };
    let check = broken.watchdog(&["check"]).expect(16);
    assert!(
        names_all(&detail) && names_all(&check.stdout) && check.stdout.contains(&command),
        "{detail}\n{check}"
    );
    env.command("sh", broken.path())
        .env("GIT_EDITOR", "truncate -s 0")
        .args(["-c", &command])
        .run()
        .expect(0);
    assert_eq!(
        the_one(&elsewhere(&broken).run(), "worktree").0,
        "ok",
        "as it says"
    );
    let without_git = elsewhere(&repo)
        .env("PATH", env.root().join("nowhere"))
        .run()
        .expect(16);
    let (state, _, mend) = the_one(&without_git, "git");
    assert_eq!((state.as_str(), mend.as_str()), ("wrong", "install git"));
}

#[test]
fn notification_waiting_for_an_hour_is_stuck() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = json!({"version": 1, "notify": [{"on": ["complete"], "command": ["false"], "retries": 20}]});
    repo.write("completion.json", config.to_string());
    repo.watchdog(&["trust"]).expect(0);
    let session = "echo x > x; git add x; git commit -qm 'feat: x'";
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", session])
        .expect(0);
    let (state, detail, mend) = the_one(&doctor(&repo).expect(0), "notifications");
    assert!(
        state == "note"
            && detail.contains("1 notification")
            && mend == "watchdog events --all --kind notify",
        "{detail}"
    );
    let clock = crate::support::WallClock::new(&env);
    clock.be_ahead_by(Duration::from_secs(2 * 3600));
    let later = clock
        .read_by(repo.watchdog_command(&["doctor", "--json"]))
        .run()
        .expect(16);
    assert_eq!(the_one(&later, "notifications").0, "wrong", "{later}");
}

#[test]
fn crontab_path_without_the_agent_is_wrong() {
    let env = TestEnv::new();
    let repo = env.repo();
    install(&env, "claude", "echo 1");
    install(&env, "crontab", "echo '*/10 * * * * watchdog sweep /src'");
    let (state, detail, mend) = the_one(&doctor(&repo).expect(16), "cron");
    assert!(
        state == "wrong" && detail.contains("has no claude") && mend.ends_with(" init --cron"),
        "{detail}"
    );
    let out = repo
        .watchdog(&["init", "--cron", "--json"])
        .expect(0)
        .json();
    assert!(
        out["notes"][0]
            .as_str()
            .is_some_and(|note| note.starts_with("claude is not in cron's own PATH")),
        "{out}"
    );
    fs::remove_file(env.root().join("bin/claude")).unwrap();
    let people = repo.watchdog(&["init", "--cron"]).expect(0).stdout;
    let note = people.lines().last().unwrap_or_default();
    assert!(
        note.starts_with("# claude is not in PATH") && note.contains("--agent-program"),
        "{people}"
    );
}

#[test]
fn doctor_runs_beside_a_live_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let begun = env.root().join("begun");
    let script = format!("touch {}; sleep 300", begun.display());
    let running = repo.watchdog_spawn(&["run", "--json", "--no-probe", "--", "sh", "-c", &script]);
    crate::support::wait_until("the session runs", Duration::from_secs(60), || {
        begun.exists()
    });
    let out = repo.watchdog(&["doctor", "--fix", "--json"]).expect(0);
    assert!(
        about(&out, "locks").is_empty() && about(&out, "git lock").is_empty(),
        "{out}"
    );
    running.signal(rustix::process::Signal::INT);
    let _ended = running.wait();
}
