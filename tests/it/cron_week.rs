//! A week of cron: `check --once` and `sweep` look again and again at the same few states, and people and agents move them in between.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, Step, TestEnv, WallClock, fill_line};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A worktree that cron looks at, by a clock that the test moves.
struct Week<'env> {
    repo: Repo<'env>,
    clock: WallClock,
    config: String,
    asked: PathBuf,
    mails: PathBuf,
    now: u64,
}

impl<'env> Week<'env> {
    /// The agent gives this answer to every question; whatever calls for a person, and every complete, is mailed.
    fn new(env: &'env TestEnv, answer: &Value) -> Self {
        let (asked, mails) = (env.root().join("asked"), env.root().join("mails"));
        for file in [&asked, &mails] {
            fs::write(file, "").unwrap();
        }
        let mail = format!(
            "echo \"$WATCHDOG_STATUS/$WATCHDOG_REASON\" >> {}",
            mails.display()
        );
        let more = json!({"notify": [{"on": ["complete", "review", "timeout", "stopped", "failed", "error"], "command": ["sh", "-c", mail]}]});
        let steps = [
            Step::append(asked.to_str().unwrap(), "x"),
            Step::print_json(answer),
        ];
        let config = env
            .config_asking(&steps, more)
            .to_string_lossy()
            .into_owned();
        let repo = env.repo();
        repo.watchdog(&["snapshot"]).expect(0);
        Week {
            repo,
            clock: WallClock::new(env),
            config,
            asked,
            mails,
            now: 0,
        }
    }

    /// Some time later cron looks.
    fn look(&mut self, later: u64, line: &[&str]) -> CommandOutput {
        self.now += later;
        self.clock.be_ahead_by(Duration::from_secs(self.now));
        let args = [&["--config", &self.config], line].concat();
        self.clock.read_by(self.repo.watchdog_command(&args)).run()
    }

    fn check(&mut self, later: u64) -> CommandOutput {
        self.look(later, &["check", "--once", "--json", "-q"])
    }

    fn questions(&self) -> usize {
        fs::read_to_string(&self.asked).unwrap().len()
    }

    fn mails(&self) -> Vec<String> {
        fs::read_to_string(&self.mails)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// When cron looks in a week: often at first, and every two hours then. A look is cheap, but not for a test.
fn looks() -> impl Iterator<Item = u64> {
    [10 * MINUTE]
        .into_iter()
        .cycle()
        .take(18)
        .chain([2 * HOUR].into_iter().cycle().take(83))
}

#[test]
fn quiet_week_mails_each_thing_once() {
    let env = TestEnv::new();
    let mut week = Week::new(&env, &json!({"status": "working", "message": "on it"}));
    let mut codes = Vec::new();
    for later in looks() {
        let out = week.check(later);
        let judged = out.json();
        assert!(
            matches!(
                out.verdict().as_str(),
                "incomplete/working" | "timeout/max_probes"
            ),
            "{out}"
        );
        let asked = judged["probe_usage"]["requests"] == 1;
        assert!(
            judged["strike"] == false || asked,
            "a round that reuses an answer is no strike: {out}"
        );
        codes.push(out.code.unwrap());
    }
    assert!(
        week.now >= 7 * DAY && (8..=14).contains(&week.questions()),
        "an hour at first, a day in the end: {}",
        week.questions()
    );
    assert_eq!(
        week.mails(),
        ["timeout/max_probes"],
        "one state, however long: {codes:?}"
    );
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes, [10, 13]);
}

#[test]
fn quiet_week_of_sweeps_prints_everything_once() {
    let env = TestEnv::new();
    let mut week = Week::new(&env, &json!({"status": "working", "message": "on it"}));
    let line = fill_line(
        "sweep -q --news --only review,timeout,stopped,failed,error",
        &[],
    );
    let printed: Vec<String> = looks()
        .map(|later| week.look(later, &line).stdout)
        .filter(|text| !text.is_empty())
        .collect();
    let words: Vec<&str> = printed
        .iter()
        .filter_map(|text| text.lines().nth(1)?.split_whitespace().nth(1))
        .collect();
    assert_eq!(
        words,
        ["max_probes"],
        "cron mails what is printed: {printed:?}"
    );
    assert!((8..=14).contains(&week.questions()), "{}", week.questions());
}

#[test]
fn cron_week_notices_commits_edits_and_new_work() {
    let env = TestEnv::new();
    let mut week = Week::new(&env, &json!({"status": "working", "message": "on it"}));
    // Monday: the agent is at work.
    assert_eq!(week.check(HOUR).expect(10).verdict(), "incomplete/working");
    let again = week.check(10 * MINUTE).expect(10);
    assert_eq!(
        (
            week.questions(),
            again.json()["unchanged_since"].is_string()
        ),
        (1, true),
        "{again}"
    );
    // Tuesday: its commit is there.
    week.repo.write("a.txt", "a\n");
    week.repo.commit_all("feat: a");
    for _ in 0..3 {
        assert_eq!(
            week.check(8 * HOUR).expect(0).verdict(),
            "complete/new_commits"
        );
    }
    // Wednesday: a person begins to write. That is nobody's work, asks nobody, and is committed by nobody.
    week.repo.write("README.md", "half an idea\n");
    week.repo.write("mine.txt", "mine\n");
    for line in [
        &["check", "--once", "--json", "-q"][..],
        &["sweep", "--json", "-q"],
    ] {
        let out = week.look(12 * HOUR, line).expect(0);
        assert!(
            out.stdout.contains("\"reason\":\"new_commits\"")
                || out.verdict() == "complete/new_commits",
            "{out}"
        );
    }
    assert_eq!(
        (week.questions(), week.repo.status().as_str()),
        (1, " M README.md\n?? mine.txt")
    );
    assert_eq!(week.mails(), ["complete/new_commits"]);
    // Thursday: new work begins beside what the person wrote, and the agent comes to nothing.
    week.repo.watchdog(&["snapshot"]).expect(0);
    let verdicts: Vec<String> = (0..3).map(|_| week.check(10 * MINUTE).verdict()).collect();
    assert_eq!(
        verdicts,
        [
            "incomplete/working",
            "incomplete/working",
            "timeout/max_probes"
        ]
    );
    assert_eq!(week.questions(), 2, "once about the new work");
    // Friday: the person goes on writing, which is a state that nobody was asked about.
    week.repo.write("mine.txt", "mine, and more\n");
    let out = week.check(10 * MINUTE).expect(10);
    out.assert_verdict("incomplete/working", json!({"rescued": false}));
    assert_eq!(week.questions(), 3, "{out}");
    assert_eq!(
        week.repo.subjects_since("HEAD~1"),
        ["feat: a"],
        "nobody committed what the person writes"
    );
    assert_eq!(week.mails(), ["complete/new_commits", "timeout/max_probes"]);
}
