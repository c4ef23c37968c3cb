//! Tests of task files: their content, and the errors of bad ones.

use super::super::settings::{CheckKind, CommandCriterion, CommandLine};
use super::*;

#[track_caller]
fn reads(front: &str) -> TaskFile {
    let text = format!("---\n{front}\n---\n\n# Do it\n\nAll of it.\n");
    parse_task(text.as_bytes(), Path::new("t.md")).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

#[track_caller]
fn fails(front: &str, words: &str) {
    let text = format!("---\n{front}\n---\nx\n");
    let error = parse_task(text.as_bytes(), Path::new("t.md"))
        .expect_err(&text)
        .to_string();
    assert!(
        error.starts_with("t.md:") && error.contains(words),
        "{text}\nexpected: {words}\nfound: {error}"
    );
}

const LEAST: &str = "id: T-1\ntitle: Login";

#[test]
fn smallest_task_has_id_title_and_defaults() {
    let task = reads(LEAST);
    assert_eq!(
        (task.id.as_str(), task.title.as_str(), task.priority),
        ("T-1", "Login", TaskPriority::Medium)
    );
    assert_eq!(
        (task.role, task.depends_on, task.status, task.checks),
        (None, vec![], None, vec![])
    );
    assert_eq!(task.body, "# Do it\n\nAll of it.");
}

#[test]
fn status_and_priority_accept_words_of_common_boards() {
    use TaskStatus::{Assigned, Blocked, Complete, Failed, InProgress, Pending, Review};
    let words = [
        "pending",
        "blocked",
        "assigned",
        "in_progress",
        "review",
        "failed",
        "complete",
    ];
    let statuses = [
        Pending, Blocked, Assigned, InProgress, Review, Failed, Complete,
    ];
    assert_eq!(statuses.map(TaskStatus::as_str), words);
    assert_eq!(words.map(TaskStatus::from_word), statuses.map(Some));
    assert_eq!(
        ["todo", "doing", "done", "later"].map(TaskStatus::from_word),
        [Some(Pending), Some(InProgress), Some(Complete), None]
    );
    for word in ["critical", "high", "medium", "low"] {
        assert_eq!(
            reads(&format!("{LEAST}\npriority: {word}"))
                .priority
                .as_str(),
            word
        );
    }
    for unsaid in ["priority:", "priority: ''", "priority: ' '"] {
        assert_eq!(
            reads(&format!("{LEAST}\n{unsaid}")).priority,
            TaskPriority::Medium,
            "{unsaid}"
        );
    }
}

/// Reads a text in which `«…»` encloses the status, or `‸` stands where one belongs.
#[track_caller]
fn has_status_at(marked: &str, position: impl Fn(usize, usize) -> StatusPosition) {
    let text = marked.replace(['«', '»', '‸'], "");
    let task = parse_task(text.as_bytes(), Path::new("t.md"))
        .unwrap_or_else(|error| panic!("{marked}\n{error}"));
    let start = marked.find(['«', '‸']).expect("the text has a mark");
    let end = marked.find('»').map_or(start, |end| end - '«'.len_utf8());
    assert_eq!(task.status_position, position(start, end), "{marked}");
}

#[test]
fn new_status_replaces_old_or_goes_among_keys() {
    for of in [
        "status: «review»",
        "status: '«todo»'",
        "\"status\":  \"«done»\" # now",
        "status: «~»",
        "status: «null»",
        "status: «NULL» # none",
    ] {
        for front in [format!("{LEAST}\n{of}"), format!("{of}\n{LEAST}")] {
            has_status_at(&format!("---\n{front}\n---\nx\n"), |start, end| {
                StatusPosition::At(start..end)
            });
        }
    }
    has_status_at(
        "---\n{id: T, title: ü, status: «review»}\n---\n",
        |start, end| StatusPosition::At(start..end),
    );
    for of in ["status:‸", "status:‸ # none", "'status' :‸", "\"status\":‸"] {
        for front in [format!("{LEAST}\n{of}"), format!("{of}\n{LEAST}")] {
            has_status_at(&format!("---\n{front}\n---\nx\n"), |at, _| {
                StatusPosition::Behind(at)
            });
        }
    }
    has_status_at("---\n{id: T, status:‸ , title: t}\n---\n", |at, _| {
        StatusPosition::Behind(at)
    });
    has_status_at("---\n{id: T, title: t, status:‸ }\n---\n", |at, _| {
        StatusPosition::Behind(at)
    });
    has_status_at("---\n# é\n{‸id: T, title: t}\n---\n", |at, _| {
        StatusPosition::FirstInBraces(at)
    });
    has_status_at("---\n&keys {‸id: T, title: t}\n---\n", |at, _| {
        StatusPosition::FirstInBraces(at)
    });
    has_status_at("---\nid: T\ntitle: t\n‸---\nx\n", |at, _| {
        StatusPosition::Line(at, 0)
    });
    has_status_at("---\n  id: T\n  title: t\n‸---\nx\n", |at, _| {
        StatusPosition::Line(at, 2)
    });
    has_status_at(
        "---\n# é\n‸  id: T\n  title: t\n...\n---\nx\n",
        |at, _| StatusPosition::Line(at, 2),
    );
}

#[test]
fn unwritable_status_position_is_refused() {
    let words = "t.md:4:1: status: write it as one plain word, such as `status: pending`";
    fails(&format!("{LEAST}\nstatus: \"pend\\u0069ng\""), words);
    fails(
        "&all\nid: T\ntitle: t",
        "the keys as a whole have an anchor or a tag; remove it",
    );
}

#[test]
fn every_key_is_read() {
    let task = reads(
        "id: 7\ntitle: 'Login: the form'\npriority: critical\nworkstream: backend\ndepends_on: [T-0, 6]\nstatus: review\n\
         completion:\n  verify: npm test\n  signal: DONE\n  max_iterations: 20",
    );
    assert_eq!(
        (task.id.as_str(), task.title.as_str(), task.priority),
        ("7", "Login: the form", TaskPriority::Critical)
    );
    assert_eq!(
        (task.role.as_deref(), task.status, task.max_iterations),
        (Some("backend"), Some(TaskStatus::Review), Some(20))
    );
    assert_eq!(task.depends_on, ["T-0", "6"]);
    assert_eq!(task.checks.len(), 2);
    let verify = CheckKind::Command(CommandCriterion::new(CommandLine::Shell("npm test".into())));
    assert_eq!(
        task.checks[1],
        CheckSpec::Single {
            name: "verify".into(),
            criterion: verify
        }
    );
    assert_eq!(task.commands(), ["check verify: npm test"]);
}

#[test]
fn checks_are_those_of_completion_json() {
    let task = reads(&format!(
        "{LEAST}\nmode: any\nchecks:\n  - type: command\n    name: tests\n    run: [cargo, test]\n  - {{type: files, paths: [a.txt]}}"
    ));
    assert_eq!(
        (task.mode, task.checks.len(), task.commands()),
        (Mode::Any, 2, vec!["check tests: cargo test".to_owned()])
    );
    let both = reads(&format!(
        "{LEAST}\nmode: any\nchecks: [{{type: always}}]\ncompletion: {{verify: x}}"
    ));
    assert!(
        matches!(
            &both.checks[0],
            CheckSpec::Group {
                mode: Mode::Any,
                ..
            }
        ),
        "{both:?}"
    );
    assert_eq!((both.mode, both.checks.len()), (Mode::All, 2));
    let names = |task: &TaskFile| -> Vec<String> {
        let name = |check: &CheckSpec| {
            if let CheckSpec::Single { name, .. } = check {
                name.clone()
            } else {
                "a group".into()
            }
        };
        task.checks.iter().map(name).collect()
    };
    let all = reads(&format!(
        "{LEAST}\nchecks: [{{type: always}}]\ncompletion: {{verify: x}}"
    ));
    assert_eq!(
        (all.mode, names(&all)),
        (Mode::All, vec!["always".to_owned(), "verify".to_owned()])
    );
    let block_alone = reads(&format!(
        "{LEAST}\nmode: any\ncompletion: {{verify: x, signal: D}}"
    ));
    assert_eq!(
        (block_alone.mode, names(&block_alone)),
        (Mode::Any, vec!["signal".to_owned(), "verify".to_owned()])
    );
    fails(
        &format!("{LEAST}\nchecks:\n  - type: comand"),
        "t.md:5:11: checks[0].type: no type of check is named \"comand\", did you mean `command`?",
    );
    fails(
        &format!("{LEAST}\nchecks: []"),
        "checks: an empty list of checks is never complete",
    );
    fails(
        &format!("{LEAST}\ncompletion: {{}}"),
        "t.md:4:13: completion: must not be empty",
    );
    fails(
        &format!("{LEAST}\ncompletion:\n  verfy: x"),
        "t.md:5:3: completion.verfy: unknown key, did you mean `verify`?",
    );
}

#[test]
fn missing_or_wrong_keys_are_named_with_line() {
    fails("id: T", "t.md:2:1: title: missing");
    fails("title: T", "id: missing");
    fails(
        &format!("{LEAST}\npriority: urgent"),
        "t.md:4:11: priority: unknown word \"urgent\"",
    );
    fails(
        &format!("{LEAST}\nstatus: finished"),
        "t.md:4:9: status: unknown word \"finished\"",
    );
    fails(
        &format!("{LEAST}\nstatus: later"),
        "it must be one of `pending`",
    );
    fails(
        &format!("{LEAST}\ndepends_on: T1"),
        "depends_on: expected a list",
    );
    fails(
        &format!("{LEAST}\ndepend_on: [T1]"),
        "t.md:4:1: depend_on: unknown key, did you mean `depends_on`?",
    );
    fails(
        &format!("{LEAST}\ndependencies: [T1]"),
        "did you mean `depends_on`?",
    );
    fails(
        &format!("{LEAST}\nverify: npm test"),
        "did you mean `completion.verify`?",
    );
    fails(&format!("{LEAST}\nrole: a\nworkstream: b"), "keep one");
    fails(
        &format!("{LEAST}\ntitle: twice"),
        "title: the key is given twice",
    );
    fails("id: a b\ntitle: x", "\"a b\" cannot be an id");
    fails("- a", "expected keys with their values");
    for id in ["../x", "-x", "x.lock", "a..b", "x.", "é", "a/b"] {
        assert!(why_no_id(id).is_some(), "{id}");
    }
    assert!(why_no_id(&"x".repeat(101)).is_some());
    for id in ["T1", "TASK-001", "1.2_b", &"x".repeat(100)] {
        assert_eq!(why_no_id(id), None, "{id}");
    }
}

#[test]
fn keys_of_the_project_are_its_own() {
    let task = reads(&format!(
        "{LEAST}\nestimate: L\nphase: 3\nnotes: [a]\ncreated_at: 2025-01-31T10:00:00Z\nassigned_to: be-1"
    ));
    assert_eq!(task.notes, Vec::<String>::new());
}

#[test]
fn a_file_that_is_no_task_says_why() {
    for (text, words) in [
        ("# Only markdown\n", "t.md:1:1: no front matter"),
        ("", "no front matter"),
        ("---\nid: T\ntitle: t\n", "the front matter has no end"),
        (
            "---\nid: T\ntitle: t\n  invalid:\nyaml: structure\n---\nx\n",
            "t.md:4:",
        ),
    ] {
        let error = parse_task(text.as_bytes(), Path::new("t.md"))
            .expect_err(text)
            .to_string();
        assert!(error.contains(words), "{text}\n{error}");
    }
    assert!(
        parse_task(b"---\nid: \xff", Path::new("t.md"))
            .expect_err("no UTF-8")
            .to_string()
            .contains("t.md:2:5: the file is not UTF-8")
    );
    let least = "---\nid: T\ntitle: t\n---\n";
    let with_length = |length: usize| least.to_owned() + &"x".repeat(length - least.len());
    assert!(parse_task(with_length(MAX_BYTES).as_bytes(), Path::new("t.md")).is_ok());
    let error = parse_task(with_length(MAX_BYTES + 1).as_bytes(), Path::new("t.md"))
        .expect_err("it is too long")
        .to_string();
    assert!(
        error.contains("the file is 1048577 bytes long; at most 1048576 are read"),
        "{error}"
    );
}

#[test]
fn foreign_line_endings_and_marks_are_accepted() {
    let text = "\u{feff}---\r\nid: T\r\ntitle: t\r\n---\r\n\r\nbody\r\n";
    let task = parse_task(text.as_bytes(), Path::new("t.md")).expect("it is a task");
    assert_eq!((task.id.as_str(), task.body.as_str()), ("T", "body"));
}
