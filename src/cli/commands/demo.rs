//! `watchdog demo`: the whole flow, live, in a scratch repository. The sessions are small shell scripts, the agent that is
//! asked is one too; everything else is the program as its users run it, as processes of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::evidence::ProcessExit;
use watchdog_facts::verdict::Reason;
use watchdog_process::{CancelFlag, OutputMirror, SessionProcess, SessionSpec};

/// One scene: what a session does, and what watchdog must make of it.
struct DemoExample {
    title: &'static str,
    spec: &'static str,
    session: &'static str,
    /// What the agent answers when it is asked.
    reply: &'static str,
    expected: u8,
}

const EXAMPLES: [DemoExample; 5] = [
    DemoExample {
        title: "A session that commits. Git shows it; nobody is asked.",
        spec: "commits",
        session: "echo 'fn login() {}' > login.rs && git add login.rs && git commit -qm 'feat: log in' && echo 'I committed the login.'",
        reply: "",
        expected: 0,
    },
    DemoExample {
        title: "A session that forgets to commit. The agent is asked, says that it is done, and its work is rescued.",
        spec: "forgets",
        session: "echo 'fn logout() {}' > logout.rs && echo 'SECRET=1' > .env && echo 'All done!'",
        reply: r#"{"status": "complete", "message": "logout is implemented", "agents_active": false, "tasks_pending": []}"#,
        expected: 0,
    },
    DemoExample {
        title: "A session that ends while work goes on in the background. The wait is cut short by the commit.",
        spec: "background",
        session: "(sleep 3; echo 'fn audit() {}' > audit.rs; git add audit.rs; git commit -qm 'feat: audit') >/dev/null 2>&1 & \
                  echo 'Started the audit in the background.'",
        reply: r#"{"status": "waiting", "message": "the audit still runs", "agents_active": true}"#,
        expected: 0,
    },
    DemoExample {
        title: "A session that is cut short by its timeout. Its whole process tree ends; its work is rescued; more is wanted.",
        spec: "slow",
        session: "echo 'fn half() {}' > half.rs; echo 'Working on it ...'; tail -f /dev/null",
        reply: "",
        expected: 10,
    },
    DemoExample {
        title: "A session that stalls. Every probe is spent, nothing moved: that is a genuine timeout, a strike.",
        spec: "stalls",
        session: "echo 'Thinking about it.'",
        reply: r#"{"status": "waiting", "message": "the other machine does not answer", "should_continue": true}"#,
        expected: 13,
    },
];

/// Runs the flow and says what it shows. Fails if a verdict is not the expected one.
pub fn demo(terminal: &CommandTerminal) -> Result<u8, CommandFailure> {
    let stage =
        DemoStage::set().map_err(|error| CommandFailure::new(Reason::StoreError, format!("failed to prepare the demo: {error}")))?;
    stage.prepare(terminal)?;
    for example in &EXAMPLES {
        stage.play(terminal, example)?;
    }
    let stalls = &EXAMPLES[4];
    heading(terminal, "Two more stalled sessions, and the breaker opens: the next one is refused at once, and costs nothing.");
    for expected in [13, 13, 14] {
        stage.run(terminal, &DemoExample { expected, ..*stalls })?;
    }
    stage.watchdog(terminal, &["breaker", "--spec", "stalls"], 0)?;
    heading(terminal, "Everything that was uncommitted is in a snapshot as well, and all of it is in the journal.");
    stage.watchdog(terminal, &["rescue", "list"], 0)?;
    stage.watchdog(terminal, &["events", "-n", "5"], 0)?;
    heading(terminal, "That was the whole flow. Wrap a session of your own with: watchdog run -- YOUR-AGENT …");
    Ok(0)
}

/// The scratch folder with its repository; removed when dropped.
struct DemoStage {
    folder: PathBuf,
    program: PathBuf,
}

impl DemoStage {
    fn set() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("watchdog-demo-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let stage = DemoStage { folder: folder.canonicalize()?, program: std::env::current_exe()? };
        fs::create_dir(stage.repository())?;
        Ok(stage)
    }

    fn repository(&self) -> PathBuf {
        self.folder.join("repository")
    }

    fn prepare(&self, terminal: &CommandTerminal) -> Result<(), CommandFailure> {
        heading(terminal, &format!("A scratch repository in {}", self.repository().display()));
        for args in [
            vec!["init", "-q", "-b", "main"],
            vec!["config", "user.name", "Demo"],
            vec!["config", "user.email", "demo@example.org"],
            vec!["commit", "-q", "--allow-empty", "-m", "chore: start"],
        ] {
            let argv: Vec<String> = std::iter::once("git").chain(args).map(str::to_owned).collect();
            self.process(&argv, 0)?;
        }
        Ok(())
    }

    fn play(&self, terminal: &CommandTerminal, example: &DemoExample) -> Result<(), CommandFailure> {
        heading(terminal, example.title);
        self.run(terminal, example)
    }

    fn run(&self, terminal: &CommandTerminal, example: &DemoExample) -> Result<(), CommandFailure> {
        let configuration = self.folder.join(format!("{}.json", example.spec));
        let text = serde_json::json!({
            "completion_check": {"max_probes": 2, "probe_interval_seconds": 10},
            "agent": {"probe": ["sh", "-c", format!("cat >/dev/null; echo '{}'", example.reply)]},
        });
        fs::write(&configuration, text.to_string())
            .map_err(|error| CommandFailure::new(Reason::StoreError, format!("failed to write {}: {error}", configuration.display())))?;
        let configuration = configuration.display().to_string();
        let interval = if example.expected == 13 { "1s" } else { "10s" };
        let mut args = vec!["--config", &configuration, "run", "--spec", example.spec, "--probe-interval", interval, "--child-wait", "0s"];
        if example.expected == 10 {
            args.extend(["--timeout", "2s", "--grace", "1s"]);
        }
        args.extend(["--", "sh", "-c", example.session]);
        self.watchdog(terminal, &args, example.expected)
    }

    /// Runs watchdog as its users do, shows the command line, and checks the exit code.
    fn watchdog(&self, terminal: &CommandTerminal, args: &[&str], expected: u8) -> Result<(), CommandFailure> {
        let shown: Vec<String> = args.iter().map(|arg| quoted(&arg.replace(&format!("{}/", self.folder.display()), ""))).collect();
        let prompt = Style::new().bold();
        terminal.line(&format!("{prompt}$ watchdog {}{prompt:#}", shown.join(" ")));
        let mut argv = vec![self.program.display().to_string(), "--state-dir".into(), self.folder.join("state").display().to_string()];
        argv.extend(args.iter().map(|arg| (*arg).to_owned()));
        let code = self.process(&argv, expected)?;
        let dim = Style::new().dimmed();
        terminal.line(&format!("{dim}exit code {code}{dim:#}"));
        Ok(())
    }

    fn process(&self, argv: &[String], expected: u8) -> Result<u8, CommandFailure> {
        let broken = |why: String| CommandFailure::new(Reason::AgentUnrunnable, format!("the demo did not go as it should: {why}"));
        let mut spec = SessionSpec::new(argv, self.repository());
        spec.mirror = OutputMirror::Through;
        spec.child_wait = Duration::ZERO;
        // The demo shows defaults, whatever the shell that it was started from has set.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("WATCHDOG_")) {
            spec.env.insert(name, None);
        }
        let session = SessionProcess::start(&spec).map_err(|error| broken(error.to_string()))?;
        let outcome = session.wait(Some(Duration::from_secs(120)), Duration::from_secs(5), &CancelFlag::new());
        match outcome.exit {
            Some(ProcessExit::Code(code)) if code == i32::from(expected) => Ok(expected),
            Some(exit) => Err(broken(format!("'{}' ended with {exit} instead of exit code {expected}", argv[0]))),
            None => Err(broken(format!("'{}' did not end", argv[0]))),
        }
    }
}

impl Drop for DemoStage {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

fn remove(folder: &Path) {
    // What is left in the folder for temporary files harms nobody.
    let _ = fs::remove_dir_all(folder);
}

fn heading(terminal: &CommandTerminal, text: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
    terminal.line(&format!("\n{style}{text}{style:#}"));
}

/// Quotes a word as a shell would need it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
