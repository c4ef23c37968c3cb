//! Checks the plan that an agent made: every changed file in exactly one commit, nothing else, messages a person
//! would keep. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::message::wrap_text;
use super::task_list::{UncheckedBox, find_by_name};
use watchdog_facts::display::shorten_text;
use watchdog_facts::patterns::FixedPattern;
use watchdog_facts::secret_shapes;

/// A commit of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCommit {
    /// A conventional commit's first line.
    pub subject: String,
    /// The part after it; may be empty.
    pub body: String,
    /// Which of the changed files go into it, by their place in the list.
    pub files: Vec<usize>,
    /// Which of the open tasks it fulfils, by their place in the list.
    pub tasks: Vec<usize>,
}

/// The longest subject.
const SUBJECT: usize = 100;
/// The longest body, in characters.
const BODY: usize = 4000;

static CONVENTIONAL: FixedPattern =
    FixedPattern::new(r"^[a-z][a-z0-9-]{1,19}(?:\([^()\s][^()]{0,49}\))?!?: \S.*$");

/// Reads an answer as a plan for exactly these files.
///
/// # Errors
/// The defect of the answer, for its author.
pub fn check_plan(
    answer: &Map<String, Value>,
    files: &[&str],
    tasks: &[UncheckedBox],
) -> Result<Vec<PlannedCommit>, String> {
    let commits = match answer.get("commits") {
        Some(Value::Array(commits)) if !commits.is_empty() => commits,
        Some(Value::Array(_)) => return Err("commits is empty".into()),
        _ => return Err("commits is not a list".into()),
    };
    let places: BTreeMap<&str, usize> = files
        .iter()
        .enumerate()
        .map(|(at, file)| (*file, at))
        .collect();
    if places.len() < files.len() {
        return Err("two files have the same name as text".into());
    }
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut ticked = BTreeSet::new();
    let mut plan = Vec::new();
    for (n, commit) in commits.iter().enumerate() {
        let nth = n + 1;
        let Value::Object(commit) = commit else {
            return Err(format!("commit {nth} is not an object"));
        };
        let subject = parse_subject(commit.get("subject"))
            .map_err(|why| format!("the subject of commit {nth} {why}"))?;
        let body = parse_body(commit.get("body"))
            .map_err(|why| format!("the body of commit {nth} {why}"))?;
        let mut chosen = Vec::new();
        for name in parse_texts(commit.get("files"))
            .map_err(|why| format!("files of commit {nth} {why}"))?
        {
            let name = name
                .strip_prefix("./")
                .filter(|_| !places.contains_key(name))
                .unwrap_or(name);
            let Some(&at) = places.get(name) else {
                return Err(format!(
                    "commit {nth} names \"{}\", which is not one of the changed files",
                    shorten_name(name)
                ));
            };
            if let Some(earlier) = taken.insert(at, nth) {
                return Err(format!(
                    "\"{}\" is in commit {earlier} and again in commit {nth}",
                    shorten_name(name)
                ));
            }
            chosen.push(at);
        }
        if chosen.is_empty() {
            return Err(format!("commit {nth} has no files"));
        }
        let mut fulfils = Vec::new();
        for name in parse_texts(commit.get("tasks"))
            .map_err(|why| format!("tasks of commit {nth} {why}"))?
        {
            let Some(at) = find_by_name(tasks, name) else {
                return Err(format!(
                    "commit {nth} names the task \"{}\", which is not one of the open ones",
                    shorten_name(name)
                ));
            };
            if ticked.insert(at) {
                fulfils.push(at);
            }
        }
        chosen.sort_unstable();
        plan.push(PlannedCommit {
            subject,
            body,
            files: chosen,
            tasks: fulfils,
        });
    }
    let missing: Vec<&str> = files
        .iter()
        .enumerate()
        .filter(|(at, _)| !taken.contains_key(at))
        .map(|(_, file)| *file)
        .collect();
    match missing.as_slice() {
        [] => Ok(plan),
        [one] => Err(format!("\"{}\" is in no commit", shorten_name(one))),
        [first, rest @ ..] => Err(format!(
            "\"{}\" and {} more files are in no commit",
            shorten_name(first),
            rest.len()
        )),
    }
}

/// A name as far as it helps to recognise it.
fn shorten_name(name: &str) -> String {
    shorten_text(name, 120)
}

fn parse_subject(value: Option<&Value>) -> Result<String, String> {
    let Some(Value::String(subject)) = value else {
        return Err("is missing".into());
    };
    let subject = subject.trim();
    if subject.chars().any(char::is_control) {
        return Err("is more than one line".into());
    }
    if subject.chars().count() > SUBJECT {
        return Err(format!("has more than {SUBJECT} characters"));
    }
    if !CONVENTIONAL.is_match(subject) {
        return Err(format!(
            "is not of the form type(scope): text: \"{}\"",
            shorten_name(subject)
        ));
    }
    no_secret(subject)?;
    Ok(subject.to_owned())
}

fn parse_body(value: Option<&Value>) -> Result<String, String> {
    let body = match value {
        None | Some(Value::Null) => return Ok(String::new()),
        Some(Value::String(body)) => body.replace("\r\n", "\n"),
        Some(_) => return Err("is not a text".into()),
    };
    let body = body.trim_end().trim_start_matches('\n');
    if body.chars().count() > BODY {
        return Err(format!("has more than {BODY} characters"));
    }
    if body
        .chars()
        .any(|c| c.is_control() && c != '\n' && c != '\t')
    {
        return Err("has control characters in it".into());
    }
    no_secret(body)?;
    let body = wrap_text(body);
    // Only watchdog may write the trailers that it vouches for.
    if body.lines().any(|line| {
        line.trim_start()
            .get(..9)
            .is_some_and(|start| start.eq_ignore_ascii_case("watchdog-"))
    }) {
        return Err("has a line that begins with Watchdog-".into());
    }
    Ok(body)
}

fn no_secret(text: &str) -> Result<(), String> {
    match secret_shapes::find_added_secret(None, text.as_bytes()) {
        Some(rule) => Err(format!("holds what looks like a secret ({rule})")),
        None => Ok(()),
    }
}

/// A list of texts; nothing is an empty one.
fn parse_texts(value: Option<&Value>) -> Result<Vec<&str>, &'static str> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().ok_or("are not all texts"))
            .collect(),
        Some(_) => Err("are not a list"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const FILES: [&str; 3] = ["src/a.rs", "b", "odd \n\"name\""];

    fn tasks() -> Vec<UncheckedBox> {
        ["write a", "write b"]
            .iter()
            .enumerate()
            .map(|(at, text)| UncheckedBox {
                text: (*text).into(),
                at,
            })
            .collect()
    }

    fn checked(answer: Value) -> Result<Vec<PlannedCommit>, String> {
        check_plan(answer.as_object().expect("an object"), &FILES, &tasks())
    }

    fn commit(subject: &str, files: &[&str]) -> Value {
        json!({"subject": subject, "files": files})
    }

    #[test]
    fn a_plan_with_every_file_once_is_taken() {
        let plan = checked(json!({"commits": [
            {"subject": "feat(a)!: add a", "body": "Because.\r\n\nMore.\n", "files": ["./src/a.rs", "odd \n\"name\""], "tasks": ["T1", "write a"]},
            {"subject": " fix: b ", "body": null, "files": ["b"], "tasks": ["write b"], "extra": 1}], "note": "x"}));
        assert_eq!(
            plan,
            Ok(vec![
                PlannedCommit {
                    subject: "feat(a)!: add a".into(),
                    body: "Because.\n\nMore.".into(),
                    files: vec![0, 2],
                    tasks: vec![0]
                },
                PlannedCommit {
                    subject: "fix: b".into(),
                    body: String::new(),
                    files: vec![1],
                    tasks: vec![1]
                },
            ])
        );
    }

    #[test]
    fn every_fault_is_named() {
        let all = |subject: &str| json!({"commits": [commit(subject, &FILES)]});
        let with = |key: &str, value: Value| {
            let mut commit_json = commit("fix: x", &FILES);
            commit_json[key] = value;
            json!({"commits": [commit_json]})
        };
        let token = format!("fix: use {}{}", "ghp_", "a".repeat(36));
        for (answer, fault) in [
            (json!({}), "commits is not a list"),
            (json!({"commits": {}}), "commits is not a list"),
            (json!({"commits": []}), "commits is empty"),
            (json!({"commits": ["x"]}), "commit 1 is not an object"),
            (
                json!({"commits": [{"files": FILES}]}),
                "the subject of commit 1 is missing",
            ),
            (
                all("add things"),
                "the subject of commit 1 is not of the form type(scope): text: \"add things\"",
            ),
            (all("feat:x"), "is not of the form"),
            (all("feat(): x"), "is not of the form"),
            (all("Feat: x"), "is not of the form"),
            (all("feat: "), "is not of the form"),
            (
                all("fix: a\nb"),
                "the subject of commit 1 is more than one line",
            ),
            (
                all(&format!("fix: {}", "x".repeat(96))),
                "the subject of commit 1 has more than 100 characters",
            ),
            (
                all(&token),
                "the subject of commit 1 holds what looks like a secret (github-token)",
            ),
            (with("body", json!(3)), "the body of commit 1 is not a text"),
            (
                with("body", json!("a\u{1b}[0m")),
                "the body of commit 1 has control characters in it",
            ),
            (
                with("body", json!("x\n\nwatchdog-snapshot: y")),
                "the body of commit 1 has a line that begins with Watchdog-",
            ),
            (
                with("files", json!("b")),
                "files of commit 1 are not a list",
            ),
            (
                with("files", json!([1])),
                "files of commit 1 are not all texts",
            ),
            (with("files", json!([])), "commit 1 has no files"),
            (
                with("tasks", json!(["T3"])),
                "commit 1 names the task \"T3\", which is not one of the open ones",
            ),
            (
                json!({"commits": [commit("fix: x", &["c"])]}),
                "commit 1 names \"c\", which is not one of the changed files",
            ),
            (
                json!({"commits": [commit("fix: x", &["b"])]}),
                "\"src/a.rs\" and 1 more files are in no commit",
            ),
            (
                json!({"commits": [commit("fix: x", &FILES[1..])]}),
                "\"src/a.rs\" is in no commit",
            ),
            (
                json!({"commits": [commit("fix: x", &FILES), commit("fix: y", &["b"])]}),
                "\"b\" is in commit 1 and again in commit 2",
            ),
            (
                json!({"commits": [commit("fix: x", &["b", "b"])]}),
                "\"b\" is in commit 1 and again in commit 1",
            ),
        ] {
            let why = checked(answer.clone()).expect_err("it must be refused");
            assert!(why.contains(fault), "{answer}\n{why}");
        }
    }

    #[test]
    fn two_files_of_one_name_cannot_be_planned() {
        let answer = json!({"commits": [commit("fix: x", &["a"])]});
        let outcome = check_plan(answer.as_object().unwrap(), &["a", "a"], &[]);
        assert_eq!(outcome, Err("two files have the same name as text".into()));
    }

    #[test]
    fn a_body_of_the_longest_length_is_taken() {
        for (characters, fault) in [
            (BODY, None),
            (
                BODY + 1,
                Some("the body of commit 1 has more than 4000 characters"),
            ),
        ] {
            let answer = json!({"commits": [{"subject": "fix: x", "body": "ä".repeat(characters), "files": FILES}]});
            assert_eq!(checked(answer).err().as_deref(), fault, "{characters}");
        }
    }

    #[test]
    fn long_name_is_shown_truncated() {
        assert_eq!(shorten_name("src/a.rs"), "src/a.rs");
        assert_eq!(
            shorten_name(&"a".repeat(121)),
            format!("{}…", "a".repeat(119))
        );
    }

    proptest! {
        #[test]
        fn any_partition_of_files_is_a_plan(groups in prop::collection::vec(0usize..5, 1..30)) {
            let files: Vec<String> = (0..groups.len()).map(|n| format!("f{n}")).collect();
            let names: Vec<&str> = files.iter().map(String::as_str).collect();
            let commits: Vec<Value> = (0..5)
                .map(|group| -> Vec<&str> { names.iter().zip(&groups).filter(|(_, g)| **g == group).map(|(f, _)| *f).collect() })
                .filter(|files| !files.is_empty())
                .map(|files| commit("chore: x", &files))
                .collect();
            let plan = check_plan(json!({"commits": commits}).as_object().unwrap(), &names, &[]).unwrap();
            let mut planned: Vec<usize> = plan.iter().flat_map(|p| p.files.clone()).collect();
            planned.sort_unstable();
            prop_assert_eq!(planned, (0..names.len()).collect::<Vec<_>>());
        }

        #[test]
        fn accepted_plan_names_every_file_once(
            commits in prop::collection::vec((prop::collection::vec("[abc]", 0..4), "(fix: x|bad|feat(y): z)"), 0..4)
        ) {
            let commits: Vec<Value> = commits.iter().map(|(files, subject)| json!({"subject": subject, "files": files})).collect();
            let mut named: Vec<String> = commits.iter().flat_map(|c| c["files"].as_array().unwrap().clone()).map(|f| f.as_str().unwrap().to_owned()).collect();
            named.sort_unstable();
            let exact = named == ["a", "b", "c"];
            let taken = check_plan(json!({"commits": commits}).as_object().unwrap(), &["a", "b", "c"], &[]).is_ok();
            prop_assert!(!taken || exact);
        }

        #[test]
        fn no_answer_makes_it_panic(text in "\\PC{0,60}", n: i64) {
            for value in [json!(text), json!(n), json!([text]), json!({"subject": text, "files": [text], "tasks": [text], "body": text})] {
                let _ = checked(json!({"commits": value}));
                let _ = checked(json!({"commits": [value]}));
            }
        }
    }
}
