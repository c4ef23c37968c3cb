//! The scratch folder in which the demo plays: its repository, the scripts of its sessions, and the processes.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::evidence::ProcessExit;
use watchdog_facts::verdict::Reason;
use watchdog_process::{CancelFlag, MirrorTarget, SessionLaunch, SessionProcess, SessionTerms};

use super::demo::DemoExample;

/// The scratch folder with its repository; removed when dropped.
pub struct DemoStage {
    folder: PathBuf,
    program: PathBuf,
    cancel: CancelFlag,
}

impl DemoStage {
    /// Makes the folder. `cancel` ends whatever runs.
    pub fn new_in_temp(cancel: CancelFlag) -> Result<Self, CommandFailure> {
        let failed = |error: io::Error| {
            CommandFailure::store_failure(format!("failed to prepare the demo: {error}"))
        };
        let folder = std::env::temp_dir().join(format!("watchdog-demo-{}", std::process::id()));
        fs::create_dir(&folder).map_err(failed)?;
        let mut stage = DemoStage {
            folder,
            program: PathBuf::new(),
            cancel,
        };
        stage.folder = stage.folder.canonicalize().map_err(failed)?;
        stage.program = std::env::current_exe().map_err(failed)?;
        fs::create_dir(stage.repository()).map_err(failed)?;
        Ok(stage)
    }

    fn repository(&self) -> PathBuf {
        self.folder.join("repository")
    }

    /// Makes the repository, with one empty commit.
    pub fn prepare(&self, terminal: &CommandTerminal) -> Result<(), CommandFailure> {
        let dim = Style::new().dimmed();
        terminal.line(&format!("{dim}{}{dim:#}", self.repository().display()));
        for args in [
            vec!["init", "-q", "-b", "main"],
            vec!["config", "user.name", "Demo"],
            vec!["config", "user.email", "demo@example.org"],
            // After a commit it would run on in the background now and then, and be named as left running.
            vec!["config", "maintenance.auto", "false"],
            vec!["commit", "-q", "--allow-empty", "-m", "chore: start"],
        ] {
            let argv: Vec<String> = std::iter::once("git")
                .chain(args)
                .map(str::to_owned)
                .collect();
            self.process(&argv, 0)?;
        }
        Ok(())
    }

    /// Prints the script of a session, and what the agent will answer.
    pub fn show_session(&self, terminal: &CommandTerminal, example: &DemoExample) {
        let dim = Style::new().dimmed();
        for line in example.session.lines() {
            terminal.line(&format!("{dim}  {}.sh | {line}{dim:#}", example.spec));
        }
        if !example.reply.is_empty() {
            terminal.line(&format!(
                "{dim}  the agent, when asked: {}{dim:#}",
                example.reply
            ));
        }
    }

    /// Runs the session of a example under watch.
    pub fn run(
        &self,
        terminal: &CommandTerminal,
        example: &DemoExample,
        expected: u8,
    ) -> Result<(), CommandFailure> {
        let configuration = serde_json::json!({
            "completion_check": {"max_probes": 2},
            "agent": {"probe": ["sh", self.folder.join(format!("{}-answers.sh", example.spec))]},
        });
        for (name, text) in [
            (format!("{}.sh", example.spec), example.session.to_owned()),
            (
                format!("{}-answers.sh", example.spec),
                format!("cat >/dev/null\necho '{}'\n", example.reply),
            ),
            (format!("{}.json", example.spec), configuration.to_string()),
        ] {
            let path = self.folder.join(name);
            let failed = |error| {
                CommandFailure::store_failure(format!(
                    "failed to write {}: {error}",
                    path.display()
                ))
            };
            fs::write(&path, text).map_err(failed)?;
        }
        let (configuration, script) = (
            format!("../{}.json", example.spec),
            format!("../{}.sh", example.spec),
        );
        let mut args = vec!["--config", &configuration, "run", "--spec", example.spec];
        args.extend(example.options);
        args.extend(["--", "sh", &script]);
        self.watchdog(terminal, &args, expected)
    }

    /// Runs watchdog as its users do, shows the command line, and checks the exit code.
    pub fn watchdog(
        &self,
        terminal: &CommandTerminal,
        args: &[&str],
        expected: u8,
    ) -> Result<(), CommandFailure> {
        let prompt = Style::new().bold();
        terminal.line(&format!("{prompt}$ watchdog {}{prompt:#}", args.join(" ")));
        let mut argv = vec![
            self.program.display().to_string(),
            "--state-dir".into(),
            self.folder.join("state").display().to_string(),
        ];
        argv.extend(args.iter().map(|arg| (*arg).to_owned()));
        let code = self.process(&argv, expected)?;
        let dim = Style::new().dimmed();
        terminal.line(&format!("{dim}exit code {code}{dim:#}"));
        Ok(())
    }

    fn process(&self, argv: &[String], expected: u8) -> Result<u8, CommandFailure> {
        let broken = |why: String| {
            CommandFailure::new(
                Reason::AgentUnrunnable,
                format!("the demo did not go as it should: {why}"),
            )
        };
        if self.cancel.is_cancelled() {
            return Err(broken("it was interrupted".into()));
        }
        let mut spec = SessionLaunch::new(argv, self.repository());
        spec.mirror = MirrorTarget::Through;
        // The demo shows defaults, whatever the shell that it was started from has set.
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("WATCHDOG_"))
        {
            spec.env.insert(name, None);
        }
        let session = SessionProcess::start(&spec).map_err(|error| broken(error.to_string()))?;
        let terms = SessionTerms {
            timeout: Some(Duration::from_secs(120)),
            child_wait: Duration::ZERO,
            ..SessionTerms::default()
        };
        let outcome = session.wait(&terms, &self.cancel);
        match outcome.exit {
            Some(ProcessExit::Code(code)) if code == i32::from(expected) => Ok(expected),
            Some(exit) => Err(broken(format!(
                "'{}' ended with {exit} instead of exit code {expected}",
                argv[0]
            ))),
            None => Err(broken(format!("'{}' did not end", argv[0]))),
        }
    }
}

impl Drop for DemoStage {
    fn drop(&mut self) {
        // Files left in the folder for temporary files do no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The title of a example, and what it will show.
pub fn print_heading(terminal: &CommandTerminal, title: &str, shows: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
    terminal.line(&format!("\n{style}{title}{style:#}\n{shows}"));
}
