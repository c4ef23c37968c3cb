//! `watchdog notify test`: every receiver at once, and a line that says what is wrong with each.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{Receiver, Reply, TestEnv};

fn config(env: &TestEnv, rules: &Value) -> String {
    let path = env.write(
        "config/completion.json",
        json!({"version": 1, "notify": rules}).to_string(),
    );
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_test_notice_goes_to_every_receiver_once() {
    let mut env = TestEnv::new();
    env.set("MAIL_AT", env.root().join("mail").into_os_string());
    let repo = env.repo();
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let own = |path: &str| format!("{}/{path}", receiver.url());
    let mail = env.write("programs/sendmail", "#!/bin/sh\ncat > \"$MAIL_AT\"\n");
    std::fs::set_permissions(&mail, std::fs::Permissions::from_mode(0o755))
        .expect("a mode can be set");
    env.install("sendmail", &mail);
    let config = config(
        &env,
        &json!([
            {"on": ["review"], "url": own("slack"), "template": "slack"},
            {"on": ["failed"], "url": own("slack"), "template": "slack"},
            {"on": ["review"], "url": own("bare")},
            {"on": ["review"], "command": ["sh", "-c", "cat > ../told"]},
            {"on": ["review"], "mail": "me@example.org"},
        ]),
    );
    let out = repo
        .watchdog(&["notify", "test", "--config", &config])
        .expect(0);
    let host = format!("http://127.0.0.1:{}", receiver.port);
    assert_eq!(
        out.stdout.lines().collect::<Vec<_>>(),
        [
            format!("ok      {host} (slack)"),
            format!("ok      {host} (url)"),
            "ok      sh (command)".into(),
            "ok      mail to me@example.org (mail)".into(),
        ],
        "{out}"
    );
    let got = receiver.got();
    assert_eq!(got.len(), 2, "the same receiver has one");
    assert!(
        got[0].body["text"].as_str().is_some_and(
            |text| text.starts_with("watchdog: main in repo: test\nthis is a test notice")
        ),
        "{:?}",
        got[0].text
    );
    assert_eq!(
        (&got[1].body["kind"], &got[1].body["data"]["test"]),
        (&json!("test"), &json!(true))
    );
    assert!(env.root().join("told").exists() && env.root().join("mail").exists());
    let nothing = repo.watchdog(&["events", "--json"]).expect(0);
    assert_eq!(nothing.stdout, "", "a test leaves nothing in the journal");
}

#[test]
fn failure_tells_its_reason_and_its_remedy() {
    let mut env = TestEnv::new();
    env.set("DISPLAY", ":7");
    let repo = env.repo();
    let missing = Receiver::start(&[Reply::Says(404, "no_service")]);
    let rules = json!([
        {"on": ["review"], "url": format!("{}/SECRET-PATH", missing.url()), "template": "slack", "retries": 9},
        {"on": ["review"], "command": ["no-such-program"]},
        {"on": ["review"], "command": ["sh", "-c", "echo no bus >&2; exit 3"]},
    ]);
    let config = config(&env, &rules);
    let out = repo
        .watchdog(&["notify", "test", "--config", &config])
        .expect(16);
    let lines: Vec<&str> = out.stdout.lines().collect();
    assert_eq!(
        lines[0],
        format!(
            "failed  http://127.0.0.1:{} (slack): the answer was HTTP 404: no_service",
            missing.port
        )
    );
    assert_eq!(lines[1], "        check the address and the token in it");
    assert!(
        lines[2].starts_with("failed  no-such-program (command): cannot run 'no-such-program'"),
        "{out}"
    );
    assert_eq!(
        lines[3],
        "failed  sh (command): it ended with exit code 3: no bus"
    );
    assert!(out.stderr.contains("0 test notices sent, 3 not"), "{out}");
    assert_eq!(missing.got().len(), 1, "one attempt");
    let json = repo
        .watchdog(&["notify", "test", "--json", "--config", &config])
        .expect(16);
    json.assert_values(json!({"failed": 3, "/receivers/0/delivered": false}));
    assert!(!format!("{out}{json}").contains("SECRET"), "{out}{json}");
}

#[test]
fn a_word_chooses_receivers_and_sends_a_sample() {
    let env = TestEnv::new();
    let repo = env.repo();
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let rules = json!([
        {"on": ["review", "failed"], "url": receiver.url(), "template": "{title}|{status}"},
        {"on": ["complete"], "command": ["false"]},
    ]);
    let config = config(&env, &rules);
    repo.watchdog(&["notify", "test", "--on", "failed", "--config", &config])
        .expect(0);
    assert_eq!(
        receiver.got()[0].text,
        "watchdog: main in repo: failed (verify_unrunnable)|failed"
    );
    let none = repo
        .watchdog(&["notify", "test", "--on", "timeout", "--config", &config])
        .expect(2);
    none.assert_told(&[
        "no receiver of `notify` is told about 'timeout'",
        "complete, failed, review",
    ]);
    let unknown = repo
        .watchdog(&["notify", "test", "--on", "reviews", "--config", &config])
        .expect(2);
    assert!(unknown.stderr.contains("review"), "{unknown}");
}

#[test]
fn missing_receivers_trust_or_repository_name_the_remedy() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo.watchdog(&["notify", "test"]).expect(2);
    out.assert_told(&["has no `notify`", "\"desktop\": true"]);
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let text = json!({"version": 1, "notify": [{"on": ["review"], "url": receiver.url(), "template": "slack"}]}).to_string();
    repo.write("completion.json", &text);
    let out = repo.watchdog(&["notify", "test"]).expect(12);
    out.assert_told(&["watchdog -C ", " trust\n"]);
    assert!(receiver.got().is_empty(), "an untrusted file sends nothing");
    repo.watchdog(&["trust"]).expect(0);
    repo.watchdog(&["notify", "test"]).expect(0);
    assert_eq!(receiver.got().len(), 1);
    let elsewhere = env.root().join("home");
    env.watchdog(&elsewhere, &["notify", "test"]).expect(16);
    let named = env.write("config/named.json", &text);
    env.watchdog(
        &elsewhere,
        &["notify", "test", "--config", named.to_str().expect("UTF-8")],
    )
    .expect(0);
    assert_eq!(
        receiver.got().len(),
        2,
        "a configuration that is named needs no repository"
    );
    let wrong = env.write("config/wrong.json", text.replace("slack", "slak"));
    let out = env
        .watchdog(
            &elsewhere,
            &["notify", "test", "--config", wrong.to_str().expect("UTF-8")],
        )
        .expect(2);
    out.assert_told(&[
        "notify[0].template: no ready template has this name, did you mean `slack`?",
    ]);
    let unborn = env.unborn_repo("unborn");
    unborn
        .watchdog(&["notify", "test", "--config", named.to_str().expect("UTF-8")])
        .expect(0);
}
