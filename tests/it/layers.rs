//! The rules of `ARCHITECTURE.md` that a compiler does not enforce: who imports whom, which crate is used where,
//! what is banned in which room, and what every file must look like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::import_graph::circles;
use crate::layer_lists::{ON_THE_EVENT_LOOP, OTHER_SHAPES, PURE_FILES};
use crate::source_files::{Source, sources};

/// The rooms by height. A room may import rooms that lie strictly lower; what lies level does not know each other.
const HEIGHTS: &[(&str, u8)] = &[
    ("facts", 0),
    ("system", 0),
    ("config", 1),
    ("decision", 2),
    ("checks", 3),
    ("git", 3),
    ("process", 3),
    ("store", 3),
    ("watch", 3),
    ("clock", 3),
    ("agent", 4),
    ("wire", 4),
    ("rescue", 5),
    ("session", 5),
    ("tasks", 5),
    ("hooks", 5),
    ("notify", 5),
    ("judge", 6),
    ("modes", 7),
    ("conformance", 5),
    ("fleet", 8),
    ("view", 8),
    ("embed", 8),
    ("cli", 9),
    ("fuzz", 10),
];

/// External crates that only these rooms may use.
const CRATES: &[(&str, &[&str])] = &[
    ("gix", &["git"]),
    ("duct", &["process"]),
    ("os_pipe", &["process"]),
    ("rusqlite", &["store"]),
    ("notify", &["watch"]),
    ("ureq", &["notify"]),
    ("rustls", &["notify", "fleet"]),
    ("rustls_platform_verifier", &["fleet"]),
    ("tokio_rustls", &["fleet"]),
    ("tokio_postgres", &["fleet"]),
    (
        "tokio",
        &["judge", "modes", "notify", "fleet", "embed", "cli"],
    ),
    ("backoff", &["clock"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("roff", &["cli"]),
    ("pulldown_cmark", &["checks", "cli"]),
    ("inquire", &["cli"]),
    ("httparse", &["conformance"]),
    ("ratatui", &["view"]),
    ("crossterm", &["view"]),
    ("tracing_subscriber", &["cli"]),
    ("jsonc_parser", &["config", "hooks"]),
    ("saphyr_parser", &["config"]),
];

/// The rooms that compute and never look outside: no files, processes, clock, environment, threads or logging.
const PURE: &[&str] = &["facts", "config", "decision"];

/// What is banned in a pure room.
const IMPURE: &[&str] = &[
    r"\bstd::(fs|env|process|net|thread)\b",
    r"\b(Instant|SystemTime|Timestamp|Zoned)::now\b",
    r"\b(tokio|tracing|rustix)::",
    r"\.(exists|is_file|is_dir|metadata|canonicalize|read_dir)\(\)",
];

/// What is banned outside the rooms that own it.
const OWNED: &[(&str, &[&str])] = &[
    (r"\bCommand::new\b", &[]),
    (
        r"\bstd::fs\b",
        &[
            "git",
            "agent",
            "process",
            "store",
            "fleet",
            "watch",
            "rescue",
            "session",
            "tasks",
            "hooks",
            "judge",
            "modes",
            "notify",
            "cli",
            "conformance",
            "system",
            "fuzz",
        ],
    ),
    (
        r"\benv::vars?(_os)?\b",
        &[
            "agent",
            "process",
            "git",
            "store",
            "rescue",
            "embed",
            "cli",
            "conformance",
            "fuzz",
        ],
    ),
    (
        r"\bSystemTime::now\b",
        &["clock", "git", "agent", "process", "store"],
    ),
    (
        r"\bTimestamp::now\b",
        &[
            "clock",
            "store",
            "fleet",
            "rescue",
            "agent",
            "process",
            "judge",
            "modes",
            "notify",
            "session",
            "cli",
            "conformance",
        ],
    ),
    (
        r"\bInstant::now\b",
        &[
            "git",
            "agent",
            "process",
            "store",
            "fleet",
            "watch",
            "rescue",
            "session",
            "judge",
            "modes",
            "notify",
            "cli",
            "conformance",
            "view",
        ],
    ),
];

/// Words that say nothing about what is in a file.
const CATCH_ALL: &[&str] = &[
    "util",
    "utils",
    "helper",
    "helpers",
    "manager",
    "misc",
    "common",
    "service",
    "processor",
    "handler",
    "stuff",
    "lib2",
    "tools",
];

/// Calls that touch files, git or the database, or that wait for something that does.
const BLOCKING: &str = r"(?x)
    \bfs:: | \.(?:exists|metadata|symlink_metadata|is_dir|is_file|trace|is_busy|ensure)\( | \bstore\.\w+\(
    | \b(?:OpenWorktree|Worktree|WorktreeLock|WatchedFolders|FolderWatch|EventTail|FsEvents)::(?:open|try_acquire|start|new)\(
    | \b(?:open_store|find_worktrees|recorded|effective|wait_for_pid|look_at_session|still_runs)\(
    | \b(?:check_here|evaluate_here|judge_here|judge_place|drive_to_the_end|look_here|sweep_now)\(
    | \b(?:open_sources|scan_heads|still_there|watch_folder)\(";

/// No circle of imports has more files than this.
const MOST_IN_A_CIRCLE: usize = 3;

/// But these, each known by one of its files, with the most that it may have. `docs/ARCHITECTURE.md` says why they are left.
const CIRCLES_LEFT: &[(&str, usize)] = &[
    ("crates/watchdog-agent/src/stream/reply_event.rs", 8),
    ("crates/watchdog-process/src/program.rs", 4),
];

#[track_caller]
fn assert_none(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// The rooms that a text names, be it in a path or in a group such as `use crate::{git, store}`. In a crate that is one room, `crate` is
/// that room.
fn imported(text: &str, one_room: bool) -> Vec<String> {
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?:crate|watchdog_core|watchdog_judge)::(\{[^;]*?\}\s*;|[a-z_]+)")
            .expect("a fixed pattern")
    });
    static OTHER_CRATE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\bwatchdog_(agent|conformance|facts|fleet|git|process|store|system|view)\b")
            .expect("a fixed pattern")
    });
    static OUTERMOST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?:^\{|,)\s*([a-z_]+)").expect("a fixed pattern"));
    let mut rooms: Vec<String> = OTHER_CRATE
        .captures_iter(text)
        .map(|found| found[1].to_string())
        .collect();
    for found in PATH
        .captures_iter(text)
        .filter(|found| !one_room || !found[0].starts_with("crate"))
    {
        if found[1].starts_with('{') {
            rooms.extend(
                OUTERMOST
                    .captures_iter(&without_inner_groups(&found[1]))
                    .map(|one| one[1].to_string()),
            );
        } else {
            rooms.push(found[1].to_string());
        }
    }
    rooms
}

/// `{a::{b, c}, d}` as `{a::, d}`: only the outermost names are rooms.
fn without_inner_groups(group: &str) -> String {
    let mut depth = 0;
    let mut kept = String::new();
    for c in group.chars() {
        depth -= i32::from(c == '}');
        if depth <= 1 && !(c == '}' && depth == 1) && !(c == '{' && depth == 1) {
            kept.push(c);
        }
        depth += i32::from(c == '{');
    }
    kept
}

#[test]
fn groups_of_imports_are_understood() {
    let text = "use crate::{rescue::{history, open}, tasks, hooks::Fact};\nuse watchdog_core::config::settings;\nwatchdog_git::x();";
    assert_eq!(
        imported(text, false),
        ["git", "rescue", "tasks", "hooks", "config"]
    );
    assert_eq!(
        imported(text, true),
        ["git", "config"],
        "the crate itself is one room"
    );
}

#[test]
fn rooms_import_only_what_lies_below_them() {
    let height = |room: &str| {
        HEIGHTS
            .iter()
            .find(|(name, _)| *name == room)
            .map(|(_, height)| *height)
    };
    let has_rooms = |name: &str| {
        ["crates/watchdog-core/", "crates/watchdog-judge/"]
            .iter()
            .any(|crate_of_rooms| name.starts_with(crate_of_rooms))
    };
    let mut faults = Vec::new();
    for source in sources(&["src", "crates"]) {
        let Some(room) = source.room() else { continue };
        let Some(own) = height(room) else {
            faults.push(format!(
                "{}: the room {room} has no height in tests/it/layers.rs",
                source.name
            ));
            continue;
        };
        for other in imported(
            &source.shipped,
            source.name.starts_with("crates/") && !has_rooms(&source.name),
        ) {
            if other != room && height(&other).is_none_or(|height| height >= own) {
                faults.push(format!("{}: {room} must not know {other}", source.name));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn judge_files_form_no_import_circle() {
    let named =
        Regex::new(r"\b(?:crate::judge|super)::(\{[^}]*\}|[a-z_]+)").expect("a fixed pattern");
    let word = Regex::new(r"(?:^\{|,)\s*([a-z_]+)").expect("a fixed pattern");
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources(&["crates/watchdog-judge/src/judge"]) {
        // What lies in a folder is one part.
        let part = source
            .name
            .trim_start_matches("crates/watchdog-judge/src/judge/")
            .split(['/', '.'])
            .next()
            .unwrap_or_default()
            .to_owned();
        for found in named.captures_iter(&source.shipped).filter(|found| {
            !source.name.contains("/capabilities/") || found[0].starts_with("crate")
        }) {
            let others = if found[1].starts_with('{') {
                word.captures_iter(&found[1])
                    .map(|one| one[1].to_owned())
                    .collect()
            } else {
                vec![found[1].to_owned()]
            };
            imports
                .entry(part.clone())
                .or_default()
                .extend(others.into_iter().filter(|other| *other != part));
        }
    }
    assert!(
        imports["judgement_run"].contains("driver"),
        "imports are found: {imports:?}"
    );
    // Whatever imports nothing that is left is no part of a circle.
    let mut left: BTreeSet<String> = imports.keys().cloned().collect();
    while let Some(free) = left
        .iter()
        .find(|part| imports[*part].is_disjoint(&left))
        .cloned()
    {
        left.remove(&free);
    }
    assert!(
        left.is_empty(),
        "these import each other, or what does: {left:?}"
    );
}

#[test]
fn only_documented_import_circles_exceed_three_files() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ARCHITECTURE.md"))
            .expect("docs/ARCHITECTURE.md");
    let reasons = page
        .split("## Circles left\n")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the reasons");
    let files = sources(&["src", "crates"]);
    let mut large = circles(
        files
            .iter()
            .filter(|source| !source.shipped.is_empty())
            .map(|source| (source.name.as_str(), &*source.shipped)),
    );
    large.retain(|circle| circle.len() > MOST_IN_A_CIRCLE);
    let mut faults = Vec::new();
    for (file, most) in CIRCLES_LEFT {
        match large
            .iter()
            .position(|circle| circle.contains(file))
            .map(|at| large.remove(at))
        {
            Some(circle) if circle.len() > *most => faults.push(format!(
                "{file}: more than {most} files: {}",
                circle.join(" ")
            )),
            Some(_) if !reasons.contains(&format!("`{file}`")) => faults.push(format!(
                "docs/ARCHITECTURE.md does not say why {file} is left"
            )),
            Some(_) => {}
            None => faults.push(format!(
                "{file} is in no large circle any more: take it off the list"
            )),
        }
    }
    faults.extend(
        large
            .iter()
            .map(|circle| format!("a circle of {} files: {}", circle.len(), circle.join(" "))),
    );
    assert_none(&faults);
}

#[test]
fn external_crates_stay_in_their_rooms() {
    let mut faults = Vec::new();
    let files = sources(&["src", "crates"]);
    for (name, rooms) in CRATES {
        let used = Regex::new(&format!(r"(^|[^:\w]){name}::|\buse {name}\b"))
            .expect("a crate's name is no pattern");
        for source in &files {
            let room = source.room().unwrap_or("the root");
            if !rooms.contains(&room) && used.is_match(&source.shipped) {
                faults.push(format!("{}: {name} is for {rooms:?}", source.name));
            }
        }
    }
    assert_none(&faults);
}

/// The part of a text from an opening bracket to its closing one; the whole rest where that is missing.
fn bracketed(text: &str) -> &str {
    let mut depth = 0;
    let end = text.char_indices().find(|(_, c)| {
        depth += i32::from("({".contains(*c)) - i32::from(")}".contains(*c));
        depth == 0
    });
    end.map_or(text, |(end, _)| &text[..=end])
}

/// What of a shipped text runs on the thread of an event loop: nothing that is handed to a thread of its own.
fn on_the_event_loop(text: &str, whole: bool) -> String {
    let begins = Regex::new(r"\basync fn\b").expect("a fixed pattern");
    let bodies = begins.find_iter(text).filter_map(|found| {
        Some(bracketed(
            &text[found.end() + text[found.end()..].find('{')?..],
        ))
    });
    let mut left = if whole {
        text.to_owned()
    } else {
        bodies.collect()
    };
    let handed_over = Regex::new(r"\b(?:spawn_io|spawn_blocking)\(").expect("a fixed pattern");
    while let Some(found) = handed_over
        .find(&left)
        .map(|found| found.start()..found.end() - 1)
    {
        let length = bracketed(&left[found.end..]).len();
        left.replace_range(found.start..found.end + length, "handed_over");
    }
    left
}

#[test]
fn event_loop_thread_never_touches_files() {
    let blocking = Regex::new(BLOCKING).expect("a fixed pattern");
    let sample = "async fn a() { if x { spawn_io(move || open_store(&(s))).await; } }\nfn b() { open_store(s) }";
    assert!(
        !blocking.is_match(&on_the_event_loop(sample, false)),
        "what is handed to a thread may block"
    );
    assert!(
        blocking.is_match(&on_the_event_loop(sample, true))
            && blocking.is_match(&on_the_event_loop("async fn a() { open_store(s) }", false))
    );
    let files = sources(&[
        "crates/watchdog-judge/src/judge",
        "crates/watchdog-judge/src/modes/watching",
        "crates/watchdog-judge/src/modes/sweep",
        "crates/watchdog-judge/src/notify",
    ]);
    let more = sources(&["crates/watchdog-judge/src/modes"])
        .into_iter()
        .filter(|source| {
            [
                "crates/watchdog-judge/src/modes/check.rs",
                "crates/watchdog-judge/src/modes/evaluate.rs",
            ]
            .contains(&source.name.as_str())
        });
    let mut faults = Vec::new();
    let mut whole = 0;
    for source in files.into_iter().chain(more) {
        let is_whole = ON_THE_EVENT_LOOP.contains(&source.name.as_str());
        whole += usize::from(is_whole);
        for found in blocking.find_iter(&on_the_event_loop(&source.shipped, is_whole)) {
            faults.push(format!(
                "{}: {} blocks the event loop: spawn_io(…)",
                source.name,
                found.as_str()
            ));
        }
    }
    assert_eq!(
        whole,
        ON_THE_EVENT_LOOP.len(),
        "every file that is named is there"
    );
    assert_none(&faults);
}

#[test]
fn backoff_stands_behind_one_module() {
    let files = sources(&["src", "crates"]);
    let users: Vec<&str> = files
        .iter()
        .filter(|source| source.shipped.contains("backoff::"))
        .map(|source| source.name.as_str())
        .collect();
    assert_eq!(
        users,
        ["crates/watchdog-judge/src/clock/pauses.rs"],
        "backoff is unmaintained and must be replaceable in one place"
    );
}

#[test]
fn pure_rooms_never_look_outside() {
    let banned: Vec<Regex> = IMPURE
        .iter()
        .map(|pattern| Regex::new(pattern).expect("a fixed pattern"))
        .collect();
    let mut faults = Vec::new();
    let is_pure = |source: &&Source| {
        PURE_FILES.contains(&source.name.as_str())
            || source.room().is_some_and(|room| PURE.contains(&room))
    };
    let files = sources(&["src", "crates"]);
    for name in PURE_FILES {
        assert!(
            files.iter().any(|source| source.name == *name),
            "{name} is gone"
        );
    }
    for source in files.iter().filter(is_pure) {
        for found in banned.iter().filter_map(|pattern| {
            pattern
                .find(&source.shipped)
                .map(|found| found.as_str().to_string())
        }) {
            faults.push(format!("{}: {found} in a pure room", source.name));
        }
    }
    assert_none(&faults);
}

#[test]
fn json_is_shaped_in_wire_alone() {
    let shape = Regex::new(r"\bjson!|\bSerialize\b").expect("a fixed pattern");
    let shaped: Vec<String> = sources(&[
        "src",
        "crates/watchdog-judge/src",
        "crates/watchdog-fleet/src",
        "crates/watchdog-view/src",
    ])
    .into_iter()
    .filter(|source| !source.name.contains("/src/wire/") && shape.is_match(&source.shipped))
    .map(|source| source.name)
    .collect();
    let is_named = |name: &String| OTHER_SHAPES.iter().any(|(other, _)| other == name);
    let faults = shaped
        .iter()
        .filter(|name| !is_named(name))
        .map(|name| format!("{name}: a JSON shape belongs into a room wire"));
    let needless = OTHER_SHAPES
        .iter()
        .filter(|(name, _)| !shaped.iter().any(|shaped| shaped == name));
    let needless = needless
        .map(|(name, why)| format!("{name} makes no JSON any more ({why}): take it off the list"));
    assert_none(&faults.chain(needless).collect::<Vec<_>>());
}

#[test]
fn outside_access_stays_in_its_owning_rooms() {
    let mut faults = Vec::new();
    let files = sources(&["src", "crates"]);
    for (pattern, owners) in OWNED {
        let pattern = Regex::new(pattern).expect("a fixed pattern");
        for source in &files {
            let room = source.room().unwrap_or("the root");
            let found = pattern.find(&source.shipped).map(|found| found.as_str());
            if let Some(found) = found.filter(|_| !owners.contains(&room)) {
                faults.push(format!("{}: {found} is for {owners:?}", source.name));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn every_file_says_what_it_is_for() {
    let lacks_purpose = |source: &&Source| {
        !source
            .text
            .lines()
            .next()
            .is_some_and(|first| first.starts_with("//! ") && first.len() > 20)
    };
    let faults: Vec<_> = sources(&["src", "crates", "tests"])
        .iter()
        .filter(lacks_purpose)
        .map(|source| format!("{}: does not open with //! and its purpose", source.name))
        .collect();
    assert_none(&faults);
}

#[test]
fn no_name_is_a_catch_all() {
    let named = Regex::new(r"\b(?:mod|struct|enum|trait)\s+(\w+)").expect("a fixed pattern");
    let words = Regex::new(r"[A-Z]?[a-z0-9]+").expect("a fixed pattern");
    let vague = |name: &str| {
        words
            .find_iter(name)
            .any(|word| CATCH_ALL.contains(&word.as_str().to_ascii_lowercase().as_str()))
    };
    let mut faults = Vec::new();
    for source in sources(&["src", "crates", "tests"]) {
        if vague(source.name.trim_end_matches(".rs")) {
            faults.push(format!("{}: a name that says nothing", source.name));
        }
        let shipped = &source.shipped;
        let names = named
            .captures_iter(shipped)
            .map(|found| found[1].to_string());
        faults.extend(
            names
                .filter(|name| vague(name))
                .map(|name| format!("{}: {name} is a name that says nothing", source.name)),
        );
    }
    assert_none(&faults);
}

#[test]
fn nothing_unfinished_or_unexplained_is_shipped() {
    let banned = [
        (r"\.unwrap\(\)", "say why it holds: expect(\"…\")"),
        (r"\.unwrap_err\(\)", "say why it holds: expect_err(\"…\")"),
        (r"\b(todo|unimplemented|dbg)!", "finish it"),
        (r"#!?\[allow\(", "#[expect(…, reason = \"…\")] instead"),
        (r"#!?\[expect\([^\]]*\]", "an expectation needs a reason"),
        // They panic where the system has no further thread.
        (
            r"\bthread::spawn\(|\bscope\.spawn\(",
            "thread::Builder, and fewer do the work or an error says it",
        ),
    ];
    let mut faults = Vec::new();
    for source in sources(&["src", "crates"]) {
        let shipped = &source.shipped;
        for (pattern, instead) in banned {
            let pattern = Regex::new(pattern).expect("a fixed pattern");
            let found = pattern
                .find_iter(shipped)
                .find(|found| !found.as_str().contains("reason"));
            faults.extend(
                found.map(|found| format!("{}: {}: {instead}", source.name, found.as_str())),
            );
        }
    }
    assert_none(&faults);
}

#[test]
fn mod_files_hold_docs_and_re_exports_only() {
    let item = Regex::new(
        r"(?m)^\s*(pub(\([a-z]+\))? )?(fn|struct|enum|trait|impl|const|static|macro_rules!)\b",
    )
    .expect("a fixed pattern");
    let files = sources(&["src", "crates"]);
    let faults = files
        .iter()
        .filter(|source| source.name.ends_with("/mod.rs") && item.is_match(&source.shipped));
    assert_none(
        &faults
            .map(|source| format!("{}: logic belongs into a file with a name", source.name))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn files_named_by_architecture_exist() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(top.join("docs/ARCHITECTURE.md")).expect("docs/ARCHITECTURE.md");
    let named = Regex::new(r"`([\w./-]+/[\w./-]+\.(?:rs|json|md|toml))`").expect("a fixed pattern");
    let paths: Vec<&str> = named
        .captures_iter(&page)
        .map(|name| name.extract::<1>().1[0])
        .collect();
    assert!(paths.len() > 20, "the names are found: {}", paths.len());
    let missing = paths.iter().filter(|path| !top.join(path).exists());
    assert_none(
        &missing
            .map(|path| format!("docs/ARCHITECTURE.md names {path}, which is not there"))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn every_end_to_end_file_is_documented() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = fs::read_to_string(top.join("main.rs")).expect("this very binary");
    let lines: Vec<&str> = main.lines().collect();
    let mut faults = Vec::new();
    for entry in fs::read_dir(&top).expect("this very folder").flatten() {
        let path = entry.path();
        let name = path
            .file_stem()
            .expect("an entry has a name")
            .to_string_lossy()
            .into_owned();
        let holds_code = path.join("mod.rs").is_file()
            || path.extension().is_some_and(|extension| extension == "rs");
        if name == "main" || !holds_code {
            continue;
        }
        match lines
            .iter()
            .position(|line| *line == format!("mod {name};"))
        {
            None => faults.push(format!(
                "tests/it/{name} never runs: main.rs does not declare it"
            )),
            Some(at) if at == 0 || !lines[at - 1].starts_with("// ") => {
                faults.push(format!("main.rs does not say what {name} is for"))
            }
            Some(_) => {}
        }
    }
    assert_none(&faults);
}

#[test]
fn every_test_named_in_security_docs_exists() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md"))
        .expect("a page of this repository");
    let name = Regex::new(r"`([a-z0-9]+(?:_[a-z0-9]+){4,})`").expect("a fixed pattern");
    let files = sources(&["src", "crates", "tests"]);
    let named: Vec<&str> = name
        .captures_iter(&page)
        .filter_map(|found| found.get(1))
        .map(|found| found.as_str())
        .collect();
    assert!(named.len() > 50, "the names are found: {}", named.len());
    let missing = named.iter().filter(|name| {
        !files
            .iter()
            .any(|source| source.text.contains(&format!("fn {name}(")))
    });
    assert_none(
        &missing
            .map(|name| format!("docs/security.md names {name}, and there is no such test"))
            .collect::<Vec<_>>(),
    );
}
