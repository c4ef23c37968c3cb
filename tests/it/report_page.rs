//! `watchdog report --html`: the page in a real browser, and the file that it is written to.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestEnv, assert_parts, fill_line};

/// A name that would end the data of the page, were it not escaped.
const HOSTILE: &str = "</script><b>x";

/// Two worktrees: sessions that complete, one that runs out of time, and looks at what they left.
fn lived(env: &TestEnv) {
    let (shop, site) = (env.repo_named("shop"), env.repo_named("site"));
    for n in 0..2 {
        let commit = format!("echo {n} > f{n}; git add -A; git commit -qm 'feat: {n}'");
        shop.watchdog(&["run", "--spec", "auth", "--", "sh", "-c", &commit])
            .expect(0);
    }
    shop.watchdog(&["sweep", "--no-probe"]).expect(0);
    site.watchdog_line(
        "run --spec {} --no-probe --timeout 1s -- sleep 600",
        &[HOSTILE],
    )
    .expect(13);
}

fn look(env: &TestEnv, page: &Path) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let modules = root.join("target/browser");
    assert!(
        modules.join("node_modules/playwright-core").exists(),
        "the browser's driver is missing; scripts/test --install-only installs it"
    );
    assert!(
        Path::new("/usr/bin/chromium").exists(),
        "chromium is missing; scripts/test --install-only installs it"
    );
    let seen = env.root().join("seen");
    fs::create_dir_all(&seen).unwrap();
    let script = root.join("tests/browser/page.mjs");
    let args = [
        script.as_os_str(),
        "look".as_ref(),
        modules.as_os_str(),
        page.as_os_str(),
        seen.as_os_str(),
    ];
    env.command("node", &env.root())
        .args(args)
        .timeout(Duration::from_secs(120))
        .run()
        .expect(0)
        .json()
}

fn texts(of: &Value) -> Vec<&str> {
    of.as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect()
}

#[test]
fn report_page_recounts_under_its_filters() {
    let env = TestEnv::new();
    lived(&env);
    let page = env.root().join("report.html");
    let out = env
        .watchdog(&env.root(), &["report", "--html", "report.html"])
        .expect(0);
    assert!(
        out.stdout.is_empty() && out.stderr.contains("wrote report.html"),
        "{out}"
    );
    let found = look(&env, &page);
    assert_eq!(
        (&found["errors"], &found["requests"]),
        (&json!([]), &json!([])),
        "it loads nothing, and its policy stops none of its own"
    );
    assert_eq!(
        (&found["light"]["violations"], &found["dark"]["violations"]),
        (&json!([]), &json!([])),
        "no barrier, contrast included"
    );

    let parts = fill_line(
        "{} {} Filters Specs {} {} Aborts Strikes Agents",
        &[
            "watchdog report",
            "At a glance",
            "Judgements by day",
            "What held completions back",
        ],
    );
    assert_eq!(
        texts(&found["light"]["parts"]),
        parts,
        "no cost was told, so its chart is left out"
    );
    let key = texts(&found["light"]["key"]).join("\n");
    for figure in [
        "Sessions judged 3 ",
        "2 of 3 judgements",
        "0 of 0 decided; 1 undecided",
        "2 of 2 known",
    ] {
        assert!(key.contains(figure), "{figure}: {key}");
    }
    let specs = texts(&found["light"]["specs"]);
    assert!(
        specs.iter().any(|row| row.starts_with("auth "))
            && specs.iter().any(|row| row.starts_with(HOSTILE)),
        "{specs:?}"
    );
    assert!(
        texts(&found["light"]["aborts"])[0].starts_with("session_timeout 1 0 0 0 1"),
        "{found:#}"
    );
    assert_eq!(found["dark"]["key"], found["light"]["key"]);
    assert_ne!(
        found["dark"]["chart"], found["light"]["chart"],
        "the chart is drawn in the colours of the night"
    );

    let filters = &found["filters"];
    assert_eq!(
        filters["worktree"]["specs"].as_array().unwrap().len(),
        1,
        "{filters:#}"
    );
    assert_ne!(filters["worktree"]["chart"], found["light"]["chart"]);
    assert!(
        filters["nothing"]["shown"]
            .as_str()
            .unwrap()
            .starts_with("0 sessions judged"),
        "{filters:#}"
    );
    assert_eq!(filters["reset"], found["light"]["shown"]);
    assert_eq!(
        filters["spec"]["specs"].as_array().unwrap().len(),
        1,
        "{filters:#}"
    );
    assert_eq!(
        texts(&filters["reasons"]),
        ["complete", "timeout", "new_commits", "session_timeout"]
    );
    assert!(
        filters["reason"]["shown"]
            .as_str()
            .unwrap()
            .starts_with("1 session judged in 1 spec"),
        "{filters:#}"
    );
    assert_eq!(
        filters["span"]["days"].as_array().unwrap().len(),
        1,
        "{filters:#}"
    );

    let steps = found["keyboard"].as_array().unwrap();
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    let mut distinct = names.clone();
    distinct.dedup();
    let order = fill_line(
        "worktree spec from to reason agent {} table-specs {}",
        &["Show all", "These figures as a table"],
    );
    assert_eq!(distinct[..order.len()], order, "{names:?}");
    let shown = |step: &&Value| {
        step["outlined"] == true || ["from", "to"].contains(&step["name"].as_str().unwrap())
    };
    assert_eq!(
        steps.iter().filter(shown).count(),
        steps.len(),
        "whatever has the focus shows it: {steps:?}"
    );
    assert_eq!(
        found["opened"], 1,
        "the table behind the chart opens by the keyboard, and has a row for the day"
    );
    let tree = found["tree"].as_str().unwrap();
    for role in [
        "- banner:",
        "- search:",
        "- main:",
        "- contentinfo:",
        "- status:",
        "heading \"At a glance\" [level=2]",
        "table \"Specs\"",
        "img \"Bars: 3 judgements by day",
    ] {
        assert!(tree.contains(role), "{role}: {tree}");
    }
    assert_eq!(found["narrow"]["overflow"], 0, "400 pixels are enough");
    assert_eq!(
        (&found["print"]["visible"], &found["print"]["back"]),
        (&json!(0), &json!("rgb(255, 255, 255)")),
        "on paper: white, no filters"
    );
    assert_eq!(found["print"]["key"], found["light"]["key"]);
}

#[test]
fn report_page_filters_usage_by_agent() {
    let mut env = TestEnv::new();
    let prints = |env: &mut TestEnv, name: &str, events: &[Value]| {
        let lines: Vec<String> = events
            .iter()
            .map(|event| format!("echo '{event}'"))
            .collect();
        let commit = "echo $$ > f.txt; git add -A; git commit -qm 'feat: f'";
        env.install_script(name, format!("#!/bin/sh\n{commit}\n{}\n", lines.join("\n")));
    };
    let usage = json!({"input_tokens": 3000, "cached_input_tokens": 0, "output_tokens": 60});
    prints(
        &mut env,
        "codex",
        &[
            json!({"type": "thread.started", "thread_id": "01a20210-5f8a-7a32-b14b-ca588022d080"}),
            json!({"type": "turn.completed", "usage": usage}),
        ],
    );
    prints(
        &mut env,
        "claude",
        &[json!({
            "type": "result", "subtype": "success", "is_error": false, "result": "done", "total_cost_usd": 0.25,
            "session_id": "97d38b7d-137f-44c8-a906-ac97e99b783f", "usage": {"input_tokens": 100, "output_tokens": 20},
        })],
    );
    let (shop, site) = (env.repo_named("shop"), env.repo_named("site"));
    shop.watchdog_line("run --spec auth -- codex exec --json {}", &["do it"])
        .expect(0);
    for _ in 0..2 {
        site.watchdog(&["run", "--spec", "pages", "--", "claude", "-p", "do it"])
            .expect(0);
    }
    let page = env.root().join("report.html");
    env.watchdog(&env.root(), &["report", "--html", "report.html"])
        .expect(0);
    let found = look(&env, &page);
    assert_eq!(
        (&found["errors"], &found["light"]["violations"]),
        (&json!([]), &json!([])),
        "{found:#}"
    );
    let (claude, codex) = ("claude 2 200 40 2 $0.50 2", "codex 1 3,000 60 1 \u{2013} 0");
    assert_eq!(
        texts(&found["light"]["agents"]),
        [claude, codex],
        "what was not told is no zero"
    );
    let of = |agent: &str| &found["filters"]["agents"][agent];
    assert_eq!(
        (
            texts(&of("=claude")["agents"]),
            texts(&of("=codex")["agents"])
        ),
        (vec![claude], vec![codex])
    );
    assert_eq!(
        (
            of("=claude")["cost"].as_str(),
            of("=codex")["cost"].as_str()
        ),
        (Some("Told by 2 of 2 sessions."), None),
        "an empty chart is left out"
    );
    let specs = |agent: &str| texts(&of(agent)["specs"]).join("\n");
    assert!(
        specs("=codex").starts_with("auth ") && !specs("=codex").contains("pages"),
        "{found:#}"
    );
    assert!(
        specs("=claude").contains("pages")
            && specs("=claude").contains("$0.50")
            && !specs("=claude").contains("auth"),
        "{found:#}"
    );
    assert_parts(
        of("=codex")["shown"].as_str().unwrap(),
        &["of the agent codex, judgements of all"],
    );
    assert_eq!(found["filters"]["reset"], found["light"]["shown"]);
}

#[test]
fn a_page_of_nothing_says_so() {
    let env = TestEnv::new();
    let out = env
        .watchdog(&env.root(), &["report", "--html", "-"])
        .expect(0);
    assert!(
        out.stdout.starts_with("<!doctype html>") && out.stdout.trim_end().ends_with("</html>"),
        "{}",
        out.stdout.len()
    );
    let page = env.write("empty.html", &out.stdout);
    let found = look(&env, &page);
    assert_eq!(
        (&found["errors"], &found["light"]["notes"]),
        (&json!([]), &json!(["Nothing was measured in this period."]))
    );
    assert_eq!(
        found["light"]["parts"],
        json!(["watchdog report", "At a glance"])
    );
}

#[test]
fn unwritable_report_keeps_the_old_file() {
    let env = TestEnv::new();
    lived(&env);
    let root = env.root();
    for (file, why) in [
        ("nowhere/report.html", "No such file"),
        (".", "folder"),
        ("/dev/full", "No space left"),
    ] {
        let out = env.watchdog(&root, &["report", "--html", file]).expect(16);
        assert!(
            out.stderr.contains(&format!("failed to write {file}"))
                && out.stderr.contains("a folder that exists"),
            "{why}: {out}"
        );
    }
    let full = root.join("full");
    fs::create_dir(&full).unwrap();
    // Of the file system that is full nobody else sees anything.
    let script = "mount -t tmpfs -o size=40k tmpfs full && echo old > full/report.html && { watchdog_binary=$1; \"$watchdog_binary\" report --html full/report.html; \
                  code=$?; cat full/report.html; ls -A full; exit $code; }";
    let args = fill_line(
        "-rm sh -c {} sh {}",
        &[script, env!("CARGO_BIN_EXE_watchdog")],
    );
    let out = env.command("unshare", &root).args(args).run().expect(16);
    assert_eq!(out.stdout, "old\nreport.html\n", "{out}");

    let out = env
        .watchdog(&root, &["report", "--html", "report.html", "--json"])
        .expect(2);
    assert!(out.stderr.contains("leave out --html, or --json"), "{out}");
    fs::write(root.join("report.html"), "old").unwrap();
    std::os::unix::fs::symlink("report.html", root.join("link.html")).unwrap();
    env.watchdog(&root, &["report", "--html", "link.html", "-q"])
        .expect(0);
    assert!(
        fs::read_link(root.join("link.html")).is_ok(),
        "a link stays one"
    );
    assert!(
        fs::read_to_string(root.join("report.html"))
            .unwrap()
            .starts_with("<!doctype html>")
    );
}
