//! What an agent printed, against what it said: every public case, by id and name.

use serde_json::Value;
use watchdog_agent::reply::{ParsedReply, read_reply};

const CASES: &str = include_str!("fixtures/probe_status.jsonl");

#[test]
fn public_probe_cases_are_read_as_agreed() {
    let mut wrong = Vec::new();
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let stdout = case["stdout"].as_str().expect("a case has stdout");
        let reading = read_reply(stdout.as_bytes());
        let got = match &reading {
            ParsedReply::Reply(reply) => Some(reply.status.as_str()),
            ParsedReply::Empty => Some("empty"),
            ParsedReply::Unreadable { .. } => None,
        };
        let mut agrees = got == case["want"].as_str();
        if let ParsedReply::Reply(reply) = &reading {
            agrees &= case["message"]
                .as_str()
                .is_none_or(|message| reply.message == message);
            agrees &= case["commits_made"]
                .as_u64()
                .is_none_or(|commits| reply.commits_made == Some(commits));
            agrees &= reply.contradiction().is_some() == (case["contradicts"] == true);
        }
        if !agrees {
            wrong.push(format!("{} ({}): {reading:?}", case["id"], case["name"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(CASES.lines().count(), 42);
}
