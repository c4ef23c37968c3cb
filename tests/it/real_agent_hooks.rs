//! The hooks of the real Codex, Gemini, Qwen, Copilot and opencode CLIs, as `watchdog hook install --agent` names them: a session that leaves
//! a check unmet is held once and goes on, and its begin and end are recorded.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::real_agents::installed;
use crate::support::{
    CommandOutput, Repo, Run, Running, SCRIPT, ScriptedModel, TestEnv, fill_line, wait_until,
};

/// What each session says first, and after it was held.
const FIRST: &str = "All done.";
const SECOND: &str = "Now it is done.";

/// An agent in front of a model that leaves its work undone until it is told what is missing.
struct HookedAgent {
    env: TestEnv,
    model: ScriptedModel,
}

impl HookedAgent {
    /// Installs the CLI, the hooks of the person, and criteria that want a file.
    fn new(name: &str) -> Self {
        let agent = HookedAgent::answering(name, |body, done| {
            let newest = body["input"].as_array().and_then(|input| input.last());
            if newest.is_some_and(|newest| newest.to_string().contains("ASK THE JUDGE")) {
                let call = "text(JSON.stringify(await tools.mcp__watchdog__check_work({})))";
                return format!("{SCRIPT}{call}");
            }
            if !body.to_string().contains("missing files: done.txt") {
                return FIRST.into();
            }
            // The work of a tool, without the tool.
            fs::write(done, "x").expect("the repository is there");
            SECOND.into()
        });
        let repo = agent.repo();
        repo.write(
            "completion.json",
            json!({"checks": [{"type": "files", "paths": ["done.txt"]}]}).to_string(),
        );
        repo.commit_all("chore: criteria");
        repo.watchdog(&["trust"]).expect(0);
        agent
    }

    /// Installs the CLI and the hooks of the person, before a model that gives these answers and may write `done.txt`.
    fn answering(name: &str, answer: fn(&Value, &Path) -> String) -> Self {
        let mut env = TestEnv::new();
        let done = env.root().join("repo/done.txt");
        let model = ScriptedModel::answering(move |body| answer(body, &done));
        env.install(name, &installed(name));
        env.install("node", &installed("node"));
        env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
        for (variable, value) in [
            ("OPENAI_API_KEY", "scripted-api-key".to_owned()),
            ("OPENAI_BASE_URL", format!("{}/v1", model.url())),
            ("OPENAI_MODEL", "scripted".to_owned()),
            ("GEMINI_API_KEY", "scripted-api-key".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", model.url()),
            ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", model.url())),
            ("COPILOT_PROVIDER_API_KEY", "scripted-api-key".to_owned()),
            ("COPILOT_MODEL", "scripted".to_owned()),
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
            // Nothing answers there, which is quicker than a name that nobody resolves: opencode asks for a package of its own.
            ("npm_config_registry", "http://127.0.0.1:9".to_owned()),
            ("npm_config_fetch_retries", "0".to_owned()),
        ] {
            env.set(variable, value);
        }
        for (file, text) in settings(&model.url()) {
            env.write(&format!("home/{file}"), text);
        }
        let agent = HookedAgent { env, model };
        let repo = agent.env.repo();
        let installed = repo
            .watchdog(&["hook", "install", "--user", "--agent", name])
            .expect(0);
        assert!(installed.stdout.contains("changed "), "{installed}");
        agent
    }

    fn repo(&self) -> Repo<'_> {
        Repo::new(&self.env, self.env.root().join("repo"))
    }

    fn command(&self, name: &str, args: &[&str]) -> Run {
        self.env.command(name, self.repo().path()).args(args)
    }

    /// What hooks were answered, as `answer status`, and the kinds of all other events.
    fn recorded(&self) -> (Vec<String>, Vec<String>) {
        let out = self.repo().watchdog(&["events", "--json"]).expect(0);
        let events: Vec<Value> = out
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let hooks = events
            .iter()
            .filter(|event| event["kind"] == "hook")
            .map(|event| &event["data"]);
        let answers = hooks
            .map(|data| format!("{} {}", word(&data["answer"]), word(&data["status"])))
            .collect();
        (
            answers,
            events
                .iter()
                .map(|event| word(&event["kind"]))
                .filter(|kind| kind != "hook")
                .collect(),
        )
    }

    /// Holds what every agent that can be held shows.
    #[track_caller]
    fn assert_was_held_once(&self, out: &CommandOutput) {
        assert!(
            self.repo().has("done.txt"),
            "nobody told the agent what is missing\n{out}"
        );
        let asked = self.model.asked();
        assert_eq!(
            asked.len(),
            2,
            "one turn, and one that it was held for\n{out}"
        );
        assert!(
            asked[0].to_string().contains("Done means"),
            "the agent was not told what done means: {}",
            asked[0]
        );
        let (answers, kinds) = self.recorded();
        assert_eq!(answers, ["held incomplete", "let_go complete"], "{out}");
        assert!(
            kinds.iter().any(|kind| kind == "session_started"),
            "{kinds:?}"
        );
    }

    #[track_caller]
    fn assert_end_is_recorded(&self) {
        // An agent may not wait for the hook of its end.
        wait_until("the end is recorded", Duration::from_secs(60), || {
            self.recorded().1.iter().any(|kind| kind == "session_ended")
        });
    }
}

/// The settings of each agent that make it talk to the model alone, from the home folder.
fn settings(url: &str) -> Vec<(&'static str, String)> {
    let quiet = json!({"usageStatisticsEnabled": false});
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": {"baseURL": format!("{url}/v1"), "apiKey": "k"},
                          "models": {"m": {"name": "m"}}});
    vec![
        (
            ".codex/config.toml",
            format!(
                "model_provider=\"fake\"\n[model_providers.fake]\nname=\"fake\"\nbase_url=\"{url}/v1\"\nenv_key=\"OPENAI_API_KEY\"\n\
                 wire_api=\"responses\"\nrequest_max_retries=0\nstream_max_retries=0\n[analytics]\nenabled=false\n"
            ),
        ),
        (
            ".gemini/settings.json",
            json!({"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": quiet, "model": {"name": "gemini-2.5-flash"},
                   "general": {"enableAutoUpdate": false}})
            .to_string(),
        ),
        (
            ".qwen/settings.json",
            json!({"security": {"auth": {"selectedType": "openai"}}, "privacy": quiet, "general": {"enableAutoUpdate": false}}).to_string(),
        ),
        (
            ".config/opencode/opencode.json",
            json!({"$schema": "https://opencode.ai/config.json", "model": "fake/m", "small_model": "fake/m", "provider": {"fake": provider}})
                .to_string(),
        ),
    ]
}

/// Runs an agent twice without criteria: its false claim holds it, and it hears the facts at a later prompt.
#[track_caller]
fn assert_hears_facts(name: &str, calls: [(&[&str], &str); 2]) {
    let agent = HookedAgent::answering(name, |body, done| {
        let body = body.to_string();
        if body.contains("SECOND TASK") {
            let may_run = body.contains("\"name\":\"bash\"") && !body.contains("pytest --gone");
            return if may_run {
                format!("{SCRIPT}pytest --gone")
            } else {
                "It is as it was.".into()
            };
        }
        if body.contains("You said") {
            return "There is no such file.".into();
        }
        fs::write(done, "x").expect("the repository is there");
        "I created `src/gone.py`.".into()
    });
    let served = (name == "opencode").then(|| serve_opencode(&agent));
    let run = |(args, stdin): (&[&str], &str)| {
        let url = served.as_ref().map(|(url, _)| ["--attach", url]);
        let args = [args, url.as_ref().map_or(&[], |url| &url[..])].concat();
        agent.command(name, &args).stdin(stdin).run().expect(0)
    };
    let heard = |words: &str| {
        let asked = agent.model.asked();
        asked.iter().any(|body| body.to_string().contains(words))
    };
    let [first, second] = calls;
    run(first);
    wait_until("its claim holds it", Duration::from_secs(60), || {
        heard("there is no src/gone.py")
    });
    let out = run(second);
    let line = "watchdog: 0 commits since the baseline; 1 file not committed";
    let asked = agent.model.asked();
    assert!(heard(line), "it heard no facts: {out}\n{:?}", asked.last());
    if ["copilot", "opencode"].contains(&name) {
        let outcome = format!("{line}; last test command 'pytest --gone' failed (exit code ");
        assert!(heard(&outcome), "it heard no end: {:?}", asked.last());
    }
}

#[test]
fn copilot_hears_facts_and_is_held_for_claims() {
    let options = ["--output-format", "json", "--allow-all-tools", "-p"];
    let begin = [&options[..], &["MAIN TASK"]].concat();
    let resume = [&["--continue"], &options[..], &["SECOND TASK"]].concat();
    assert_hears_facts("copilot", [(&begin, ""), (&resume, "")]);
}

#[test]
fn opencode_hears_facts_and_is_held_for_claims() {
    let begin = ["run", "--format", "json"];
    let resume = [&begin[..], &["--continue"]].concat();
    assert_hears_facts(
        "opencode",
        [(&begin, "MAIN TASK"), (&resume, "SECOND TASK")],
    );
}

#[test]
fn codex_hears_facts_and_is_held_for_claims() {
    let begin = fill_line(
        "exec --json --skip-git-repo-check --dangerously-bypass-hook-trust",
        &[],
    );
    let resume = [&begin[..], &["resume", "--last", "-"]].concat();
    let begin = [&begin[..], &["-"]].concat();
    assert_hears_facts("codex", [(&begin, "MAIN TASK"), (&resume, "SECOND TASK")]);
}

#[test]
fn gemini_hears_facts_and_is_held_for_claims() {
    let begin = ["--output-format", "stream-json", "--skip-trust"];
    let resume = [&begin[..], &["--resume", "latest"]].concat();
    assert_hears_facts("gemini", [(&begin, "MAIN TASK"), (&resume, "SECOND TASK")]);
}

#[test]
fn qwen_hears_facts_and_is_held_for_claims() {
    let begin = ["-o", "json", "-p", "MAIN TASK"];
    let resume = ["--continue", "-o", "json", "-p", "SECOND TASK"];
    assert_hears_facts("qwen", [(&begin, ""), (&resume, "")]);
}

#[test]
fn codex_with_trusted_hooks_is_held_until_passing() {
    let agent = HookedAgent::new("codex");
    let session = |more: &[&str]| {
        let args = [&["exec", "--json", "--skip-git-repo-check"], more, &["-"]].concat();
        agent
            .command("codex", &args)
            .stdin("MAIN TASK")
            .run()
            .expect(0)
    };
    let out = session(&["--dangerously-bypass-hook-trust"]);
    agent.assert_was_held_once(&out);
    agent.assert_end_is_recorded();
    assert!(
        !out.stdout.contains("clamping"),
        "a timeout is longer than Codex grants\n{out}"
    );
    let before = agent.recorded();
    session(&[]);
    assert_eq!(
        agent.recorded(),
        before,
        "without trust the hooks do not run, which the documentation says"
    );
    agent.env.assert_nothing_left();
}

#[test]
fn codex_asks_the_judge_by_mcp() {
    let agent = HookedAgent::new("codex");
    agent.repo().watchdog(&["snapshot"]).expect(0);
    // Codex hands few variables to a server.
    let state = agent.env.state();
    let state = state.to_str().expect("an ASCII path");
    let server = ["watchdog", "--state-dir", state, "mcp"];
    let add = ["mcp", "add", "watchdog", "--"];
    let added = agent.command("codex", &[&add[..], &server].concat());
    added.run().expect(0);
    let session = agent.command("codex", &["exec", "--json", "--skip-git-repo-check", "-"]);
    let out = session.stdin("ASK THE JUDGE").run().expect(0);
    let asked = agent.model.asked();
    assert_eq!(asked.len(), 2, "{out}");
    let heard = asked[1].to_string();
    for part in ["incomplete", "missing files: done.txt"] {
        assert!(heard.contains(part), "{heard}\n{out}");
    }
    assert_eq!(agent.recorded().0, [""; 0], "no hook was asked");
    agent.env.assert_nothing_left();
}

#[test]
fn codex_takes_the_plugin_from_a_folder() {
    let agent = HookedAgent::new("codex");
    let marketplace = env!("CARGO_MANIFEST_DIR");
    for words in [
        ["marketplace", "add", marketplace].as_slice(),
        &["add", "watchdog@watchdog"],
    ] {
        let install = [&["plugin"], words].concat();
        agent.command("codex", &install).run().expect(0);
    }
    let session = agent.command("codex", &["exec", "--json", "--skip-git-repo-check", "-"]);
    let out = session.stdin("ASK THE JUDGE").run().expect(0);
    let asked = agent.model.asked();
    for (request, words) in [
        (0, "watchdog:check-work"),
        (1, "no baseline is recorded here"),
    ] {
        let request = asked[request].to_string();
        assert!(request.contains(words), "no '{words}': {request}\n{out}");
    }
}

#[test]
fn gemini_takes_the_extension_from_a_folder() {
    let agent = HookedAgent::new("gemini");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/.claude-plugin/plugin");
    let install = ["extensions", "install", folder, "--consent"];
    let install = agent.command("gemini", &install);
    install.stdin("y\n").run().expect(0);
    let list = agent.command("gemini", &["extensions", "list"]);
    let list = list.stdin("").run().expect(0);
    let shown = format!("{}{}", list.stdout, list.stderr);
    for part in ["MCP servers:\n  watchdog", "check-work: Ask watchdog"] {
        assert!(shown.contains(part), "{list}");
    }
}

#[test]
fn gemini_is_held_until_its_checks_pass() {
    let agent = HookedAgent::new("gemini");
    let out = agent
        .command(
            "gemini",
            &["--output-format", "stream-json", "--skip-trust"],
        )
        .stdin("MAIN TASK")
        .run()
        .expect(0);
    agent.assert_was_held_once(&out);
    agent.assert_end_is_recorded();
}

#[test]
fn qwen_is_held_until_its_checks_pass() {
    let agent = HookedAgent::new("qwen");
    let out = agent
        .command("qwen", &["-o", "json", "-p", "MAIN TASK"])
        .stdin("")
        .run()
        .expect(0);
    agent.assert_was_held_once(&out);
}

#[test]
fn copilot_is_held_until_its_checks_pass() {
    let agent = HookedAgent::new("copilot");
    let out = agent
        .command(
            "copilot",
            &fill_line(
                "-p {} --output-format json --allow-all-tools",
                &["MAIN TASK"],
            ),
        )
        .stdin("")
        .run()
        .expect(0);
    agent.assert_was_held_once(&out);
    agent.assert_end_is_recorded();
}

#[test]
fn opencode_run_records_its_session_without_holding() {
    let agent = HookedAgent::new("opencode");
    let out = agent
        .command("opencode", &["run", "--format", "json"])
        .stdin("MAIN TASK")
        .run()
        .expect(0);
    let asked = agent.model.asked();
    assert_eq!(asked.len(), 1, "{out}");
    assert!(
        asked[0].to_string().contains("Done means"),
        "the agent was not told what done means: {}",
        asked[0]
    );
    agent.assert_end_is_recorded();
    let (answers, kinds) = agent.recorded();
    assert_eq!(
        answers,
        Vec::<String>::new(),
        "it was not held, and nothing says that it was"
    );
    assert_eq!(kinds[1..3], ["baseline", "session_started"], "{kinds:?}");
}

/// Starts the server of opencode, which lives on where a client of it ends, and gives its address.
fn serve_opencode(agent: &HookedAgent) -> (String, Running) {
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|free| free.local_addr())
        .expect("there is a free port")
        .port();
    let served = agent
        .command(
            "opencode",
            &[
                "serve",
                "--port",
                &port.to_string(),
                "--hostname",
                "127.0.0.1",
            ],
        )
        .spawn();
    wait_until("opencode serves", Duration::from_secs(60), || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    (format!("http://127.0.0.1:{port}"), served)
}

#[test]
fn opencode_is_held_where_it_lives_on() {
    let agent = HookedAgent::new("opencode");
    let (url, served) = serve_opencode(&agent);
    agent
        .command("opencode", &["run", "--attach", &url, "--format", "json"])
        .stdin("MAIN TASK")
        .run()
        .expect(0);
    wait_until(
        "the held session ends its work",
        Duration::from_secs(60),
        || agent.recorded().0.len() == 2,
    );
    assert_eq!(agent.recorded().0, ["held incomplete", "let_go complete"]);
    assert!(agent.repo().has("done.txt"));
    assert_eq!(agent.model.asked().len(), 2);
    drop(served);
}
