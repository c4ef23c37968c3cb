//! What each service gets of friendly and of hostile texts.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use watchdog_facts::shell_line::WorktreeCommands;

fn event(message: &str, feedback: &str) -> Value {
    let data =
        json!({"status": "review", "reason": "disputed", "message": message, "feedback": feedback});
    json!({"id": "0-1", "kind": "verdict", "spec": "fix-auth", "path": "/home/me/a_b", "data": data})
}

fn posted(form: &str, message: &str, feedback: &str) -> MessagePost {
    let form = MessageForm::parse(form).unwrap();
    let url = "https://h/bot1:S/sendMessage?chat_id=%40me&silent=1";
    message_post(
        url,
        &form,
        &NoticeMessage::about(&[&event(message, feedback)], &WorktreeCommands::default()),
    )
}

fn body(post: &MessagePost) -> Value {
    serde_json::from_str(&post.body).unwrap()
}

#[test]
fn each_service_gets_its_own_form() {
    let (message, feedback) = ("<!channel> a & b *c*", "@everyone {title}\nsecond");
    let slack = posted("slack", message, feedback);
    let text = "watchdog: fix-auth in a_b: review (disputed)\n&lt;!channel&gt; a &amp; b *c*\nfeedback: @everyone {title}\nin /home/me/a_b\n\n\
                watchdog -C /home/me/a_b status";
    assert_eq!(
        (body(&slack), slack.content_type),
        (json!({"text": text, "mrkdwn": false}), "application/json")
    );

    let discord = body(&posted("discord", message, feedback));
    assert_eq!(discord["allowed_mentions"], json!({"parse": []}));
    let content = discord["content"].as_str().unwrap();
    assert!(
        content.contains("\\<!channel\\> a & b \\*c\\*\nfeedback\\: \\@everyone {title}"),
        "{content}"
    );
    assert!(
        content.ends_with("\n```\nwatchdog -C /home/me/a_b status\n```"),
        "{content}"
    );
    assert_eq!(discord_command("a `b`"), "a \\`b\\`");

    let telegram = posted("telegram", message, feedback);
    assert_eq!(
        (body(&telegram)["chat_id"].as_str(), telegram.url.as_str()),
        (Some("@me"), "https://h/bot1:S/sendMessage?silent=1")
    );
    assert!(
        body(&telegram)["text"]
            .as_str()
            .unwrap()
            .contains("<!channel> a & b *c*\nfeedback: @everyone {title}")
    );
    assert!(body(&telegram).get("parse_mode").is_none());

    let ntfy = posted("ntfy", message, feedback);
    let heads: Vec<_> = ntfy
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    assert_eq!(
        heads,
        [
            "title: watchdog: fix-auth in a_b: review (disputed)",
            "priority: high",
            "tags: warning"
        ]
    );
    assert!(
        ntfy.body
            .starts_with("<!channel> a & b *c*\nfeedback: @everyone {title}\n")
            && ntfy.content_type.starts_with("text/plain")
    );
}

#[test]
fn own_template_fills_once_and_json_stays_valid() {
    let text = posted(
        "{spec}|{status}|{reason}|{worktree}|{feedback}|{id}|{kind}|{command}",
        "m",
        "a \"b\" {title}",
    );
    assert_eq!(
        text.body,
        "fix-auth|review|disputed|/home/me/a_b|a \"b\" {title}|0-1|verdict|watchdog -C /home/me/a_b status"
    );
    assert_eq!(text.content_type, "text/plain; charset=utf-8");
    let json = posted(
        r#"{"summary": "{title}", "body": "{text}"}"#,
        "say \"x\"\\",
        "",
    );
    assert_eq!(
        (json.content_type, body(&json)["summary"].as_str()),
        (
            "application/json",
            Some("watchdog: fix-auth in a_b: review (disputed)")
        )
    );
    assert!(
        body(&json)["body"]
            .as_str()
            .unwrap()
            .starts_with("say \"x\"\\\n")
    );
}

#[test]
fn a_cut_keeps_escapes_and_characters_whole() {
    assert_eq!(cut_to_limit("a&b", 7, &UTF16, escape_slack), "a&amp;b");
    assert_eq!(cut_to_limit("a&b", 6, &UTF16, escape_slack), "a…");
    assert_eq!(cut_to_limit("🙂🙂🙂", 5, &UTF16, push_plain), "🙂🙂…");
    assert_eq!(cut_to_limit("", 0, &UTF16, push_plain), "");
}

#[test]
fn chat_id_may_be_percent_encoded() {
    for (query, chat) in [
        ("chat_id=-100", "-100"),
        ("a=b&chat_id=%40x", "@x"),
        ("chat_id=%4", "%4"),
        ("chat_id=%zz", "%zz"),
    ] {
        assert_eq!(
            telegram_chat(&format!("http://h/sendMessage?{query}")).1,
            chat
        );
    }
}

proptest! {
    #[test]
    fn text_within_bounds_keeps_the_command(message in "(?s).{0,3000}", feedback in "([<&>@`*🙂é]|[a-z]){0,9000}") {
        for (form, key, most) in [("slack", "text", 3900), ("discord", "content", 2000), ("telegram", "text", 4096)] {
            let text = body(&posted(form, &message, &feedback))[key].as_str().unwrap().to_owned();
            prop_assert!(text.chars().map(char::len_utf16).sum::<usize>() <= most);
            prop_assert!(text.trim_end_matches("\n```").ends_with("watchdog -C /home/me/a_b status"), "{}", text);
            prop_assert!(form != "slack" || !text.contains(['<', '>']), "{}", text);
        }
        let ntfy = posted("ntfy", &message, &feedback);
        prop_assert!(ntfy.body.len() <= 4000 && ntfy.headers.iter().all(|(_, value)| value.bytes().all(|b| b == b' ' || b.is_ascii_graphic())));
    }
}
