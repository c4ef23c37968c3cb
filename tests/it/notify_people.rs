//! What people are told: by services, on the desktop, by mail. Friendly and hostile texts, and receivers that fail.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{CommandOutput, Receiver, Reply, Repo, TestEnv, assert_parts, wait_until};

/// A token in the path of an address, as Telegram's is.
const TOKEN: &str = "bot7777777:SECRET-TOKEN";

/// What a check says that wants to do harm.
const HOSTILE: &str =
    "<!channel> @everyone {title} \"q\" *b* 🙂 é \u{1b}[31mred\u{202e}\r\nBcc: x@y";

fn told(repo: &Repo<'_>) -> Vec<Value> {
    let out = repo
        .watchdog(&["events", "--json", "--kind", "notify"])
        .expect(0);
    out.stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a JSON line")["data"].clone())
        .collect()
}

/// A repository whose check fails with this feedback, and a commit to judge.
fn failing<'env>(env: &'env TestEnv, feedback: &str, rules: Value) -> (Repo<'env>, String) {
    let repo = env.repo();
    repo.watchdog(&["snapshot", "--spec", "auth"]).expect(0);
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    let said = env.write("said.txt", feedback);
    let check = json!({"type": "command", "name": "tests", "run": format!("cat '{}'; exit 1", said.display())});
    let config = env.write(
        "config/completion.json",
        json!({"version": 1, "checks": [check], "notify": rules}).to_string(),
    );
    (repo, config.to_str().expect("UTF-8").to_owned())
}

fn judge(repo: &Repo<'_>, config: &str) -> CommandOutput {
    repo.watchdog(&["check", "--no-probe", "--config", config])
        .expect(10)
}

/// Installs a program of our own under this name.
fn scripted(env: &TestEnv, name: &str, script: &str) {
    env.install_script(name, format!("#!/bin/sh\n{script}\n"));
}

fn read(env: &TestEnv, name: &str) -> String {
    wait_until(
        &format!("{name} is written"),
        Duration::from_secs(60),
        || env.root().join(name).exists(),
    );
    std::fs::read_to_string(env.root().join(name)).expect("it was written")
}

#[test]
fn each_service_gets_hostile_text_safely_encoded() {
    let env = TestEnv::new();
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let at = |path: &str| format!("http://127.0.0.1:{}/{path}", receiver.port);
    let rules = json!([
        {"on": ["incomplete"], "url": at("slack"), "template": "slack"},
        {"on": ["incomplete"], "url": at("discord"), "template": "discord"},
        {"on": ["incomplete"], "url": at(&format!("{TOKEN}/sendMessage?chat_id=%40me&message_thread_id=5")), "template": "telegram"},
        {"on": ["incomplete"], "url": at("ntfy?auth=QUERY-SECRET"), "template": "ntfy"},
        {"on": ["incomplete"], "url": at("own"), "template": "{title}|{spec}|{status}|{reason}|{feedback}|{command}"},
        {"on": ["incomplete"], "url": at("json"), "template": "{\"summary\": \"{title}\", \"inner\": {\"text\": [\"{text}\"]}}"},
        {"on": ["incomplete"], "url": at("bare")},
    ]);
    let (repo, config) = failing(&env, HOSTILE, rules);
    judge(&repo, &config);
    let got = receiver.wait_for(7);
    let of = |path: &str| {
        got.iter()
            .find(|got| got.head.starts_with(&format!("POST /{path}")))
            .unwrap_or_else(|| panic!("no {path}"))
    };
    let head = |path: &str| of(path).head.to_ascii_lowercase();

    let slack = of("slack").body["text"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(
        slack.starts_with("watchdog: auth in repo: incomplete (checks_unmet)\n"),
        "{slack}"
    );
    assert!(
        slack.contains("&lt;!channel&gt; @everyone {title} \"q\" *b* 🙂 é") && !slack.contains('<'),
        "{slack}"
    );
    assert_parts(&slack, &["check --spec auth", "\nin /"]);
    assert!(head("slack").contains("content-type: application/json"));

    let discord = &of("discord").body;
    let content = discord["content"].as_str().expect("a content");
    assert_parts(content, &["\\<!channel\\> \\@everyone", "\\*b\\*"]);
    assert_eq!(discord["allowed_mentions"], json!({"parse": []}));

    let telegram = of(TOKEN);
    assert!(
        telegram.head.starts_with(&format!(
            "POST /{TOKEN}/sendMessage?message_thread_id=5 HTTP"
        )),
        "{}",
        telegram.head
    );
    assert_eq!(telegram.body["chat_id"], "@me");
    assert_parts(
        telegram.body["text"].as_str().unwrap(),
        &["<!channel> @everyone {title}"],
    );

    let ntfy = of("ntfy");
    assert_parts(
        &head("ntfy"),
        &["\r\ntitle: watchdog: auth in repo: incomplete (checks_unmet)\r\n"],
    );
    assert_parts(
        &head("ntfy"),
        &["\r\npriority: default\r\n", "content-type: text/plain"],
    );
    assert_parts(&ntfy.text, &["<!channel> @everyone {title}"]);

    let own = &of("own").text;
    assert!(
        own.starts_with(
            "watchdog: auth in repo: incomplete (checks_unmet)|auth|incomplete|checks_unmet|"
        ),
        "{own}"
    );
    assert_parts(
        own,
        &["@everyone {title}", "|watchdog -C ", " --state-dir "],
    );
    let inner = of("json").body["inner"]["text"][0]
        .as_str()
        .expect("JSON with a text")
        .to_owned();
    assert!(inner.contains("@everyone {title} \"q\""), "{inner}");
    assert_eq!(
        of("bare").body["kind"],
        "verdict",
        "a bare address gets the event as ever"
    );
    for text in [&slack, &telegram.text, &ntfy.text, own] {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\r') && !text.contains("\nBcc"),
            "{text:?}"
        );
    }
    let records = [
        serde_json::to_string(&told(&repo)).expect("JSON"),
        repo.watchdog(&["events", "--json"]).expect(0).stdout,
    ];
    assert!(
        told(&repo).iter().all(|told| told["delivered"] == true),
        "{records:?}"
    );
    assert!(
        records.iter().all(|text| !text.contains("SECRET")),
        "{records:?}"
    );
}

#[test]
fn message_command_works_from_anywhere() {
    let env = TestEnv::new();
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let rules = json!([{"on": ["incomplete"], "url": receiver.url(), "template": "{command}"}]);
    let (repo, config) = failing(&env, "no", rules);
    judge(&repo, &config);
    let command = receiver.wait_for(1)[0].text.clone();
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let pasted = env
        .command("sh", Path::new("/"))
        .args(["-c", &format!("{command} --no-probe --json")])
        .run()
        .expect(0);
    assert_eq!(
        pasted.json()["spec"],
        "auth",
        "{command}: without the named configuration commits decide"
    );
}

#[test]
fn large_feedback_stays_within_the_service_bounds() {
    let env = TestEnv::new();
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let rules = json!([{"on": ["incomplete"], "url": receiver.url(), "template": "discord"}]);
    let (repo, config) = failing(&env, &"*🙂".repeat(20_000), rules);
    judge(&repo, &config);
    let content = receiver.wait_for(1)[0].body["content"]
        .as_str()
        .expect("a content")
        .to_owned();
    assert!(
        content.encode_utf16().count() <= 2000 && content.contains("check --spec auth"),
        "{content}"
    );
}

#[test]
fn failing_service_is_retried_without_leaking_its_secret() {
    let env = TestEnv::new();
    let script = [
        Reply::Says(429, "{\"ok\":false,\"description\":\"Too Many Requests\"}"),
        Reply::Status(500),
        Reply::Status(200),
    ];
    let receiver = Receiver::start(&script);
    let echo: &'static str = "no such bot: bot7777777:SECRET-TOKEN";
    let refusing = Receiver::start(&[Reply::Says(404, echo)]);
    let hanging = Receiver::start(&[Reply::Hang]);
    let url = |port: u16| format!("http://127.0.0.1:{port}/{TOKEN}/sendMessage?chat_id=1");
    let rules = json!([
        {"on": ["incomplete"], "url": url(receiver.port), "template": "telegram"},
        {"on": ["incomplete"], "url": url(refusing.port), "template": "telegram", "retries": 0},
        {"on": ["incomplete"], "url": url(hanging.port), "template": "telegram", "retries": 0, "timeout_seconds": 1},
        {"on": ["incomplete"], "url": url(1), "template": "telegram", "retries": 0},
    ]);
    let (repo, config) = failing(&env, "no", rules);
    let mut logged = judge(&repo, &config).stderr;
    wait_until("the third attempt is made", Duration::from_secs(60), || {
        logged.push_str(
            &repo
                .watchdog(&["check", "-vvv", "--no-probe", "--config", &config])
                .stderr,
        );
        told(&repo).len() == 4
    });
    let told = told(&repo);
    let why: Vec<&str> = told
        .iter()
        .filter_map(|told| told["why"].as_str())
        .collect();
    assert!(
        why.contains(&"the answer was HTTP 404: no such bot: …"),
        "{why:?}"
    );
    assert!(why.contains(&"no answer came within 1 s"), "{why:?}");
    assert!(
        told.iter()
            .any(|told| told["delivered"] == true && told["attempts"] == 3),
        "{told:?}"
    );
    assert_eq!(receiver.got().len(), 3);
    assert_eq!(
        receiver.got()[0].body,
        receiver.got()[2].body,
        "the same message each time"
    );
    assert!(
        !format!("{told:?}{logged}").contains("SECRET"),
        "{told:?}\n{logged}"
    );
}

#[test]
fn desktop_notice_passes_plain_arguments_without_markup() {
    let mut env = TestEnv::new();
    env.set("DISPLAY", ":7");
    let shown = env.root().join("shown");
    env.set("SHOWN", shown.into_os_string());
    scripted(
        &env,
        "notify-send",
        "for word in \"$@\"; do printf '%s\\0' \"$word\"; done > \"$SHOWN.new\"; mv \"$SHOWN.new\" \"$SHOWN\"",
    );
    let (repo, config) = failing(
        &env,
        "-- <b>x</b> & $(touch ../harm)",
        json!([{"on": ["incomplete"], "desktop": true}]),
    );
    judge(&repo, &config);
    let text = read(&env, "shown");
    let words: Vec<&str> = text.trim_end_matches('\0').split('\0').collect();
    let fixed = [
        "--app-name=watchdog",
        "--urgency=normal",
        "--",
        "watchdog: auth in repo: incomplete (checks_unmet)",
    ];
    assert_eq!(words[..4], fixed, "{words:?}");
    assert!(
        words[4].contains("&lt;b&gt;x&lt;/b&gt; &amp; $(touch ../harm)") && words.len() == 5,
        "{words:?}"
    );
    assert!(!env.root().join("harm").exists());
    assert_eq!(told(&repo)[0]["to"], "desktop");
    env.assert_nothing_left();
}

#[test]
fn a_desktop_without_the_program_says_so() {
    let mut env = TestEnv::new();
    env.set("DISPLAY", ":7");
    let (repo, config) = failing(
        &env,
        "no",
        json!([{"on": ["incomplete"], "desktop": true, "retries": 0}]),
    );
    // A folder with nothing but what the judgement itself runs.
    let bin = env.root().join("only");
    std::fs::create_dir(&bin).expect("a folder");
    for program in ["sh", "git"] {
        let at = ["/bin", "/usr/bin", "/usr/local/bin"]
            .iter()
            .map(|dir| Path::new(dir).join(program))
            .find(|path| path.exists());
        std::os::unix::fs::symlink(at.expect("it is installed"), bin.join(program))
            .expect("a link");
    }
    let check = repo
        .watchdog_command(&["check", "--no-probe", "--config", &config])
        .env("PATH", &bin)
        .run();
    check.expect(10);
    let why = told(&repo)[0]["why"].as_str().expect("a reason").to_owned();
    assert!(why.contains("cannot run 'notify-send'"), "{why}");
}

#[test]
fn mail_headers_contain_hostile_text() {
    let mut env = TestEnv::new();
    let mail = env.root().join("mail");
    env.set("MAIL_AT", mail.into_os_string());
    scripted(
        &env,
        "sendmail",
        "echo \"$@\" > \"$MAIL_AT.new\"; cat >> \"$MAIL_AT.new\"; mv \"$MAIL_AT.new\" \"$MAIL_AT\"",
    );
    let rules = json!([{"on": ["incomplete"], "mail": ["me@example.org", "you@example.org"]}]);
    let (repo, config) = failing(&env, "ä\n.\nFrom me", rules);
    judge(&repo, &config);
    let text = read(&env, "mail");
    let (head, body) = text.split_once("\n\n").expect("headers and a body");
    let lines: Vec<&str> = head.lines().collect();
    assert_eq!(
        lines[..3],
        ["-t -i", "To: me@example.org,", " you@example.org"],
        "{head}"
    );
    assert!(
        lines[3].starts_with("Subject: ") && lines.contains(&"Auto-Submitted: auto-generated"),
        "{head}"
    );
    assert!(
        lines.contains(&"Content-Type: text/plain; charset=UTF-8") && !head.contains("\nFrom:"),
        "{head}"
    );
    assert_parts(head, &["\nMessage-ID: <", "\nDate: "]);
    assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
    assert!(
        body.lines().all(|line| line.len() <= 76 && line != "."),
        "{body}"
    );
    assert!(body.contains("feedback: =C3=A4"), "{body}");
    assert_eq!(
        told(&repo)[0]["to"],
        "mail to me@example.org, you@example.org"
    );
    env.assert_nothing_left();
}
