//! `watchdog demo`: the whole flow, live, in a scratch repository. The sessions are the small shell scripts of `demo_sessions`, the agent
//! that is asked is a script too; everything else is the program as its users run it, as processes of its own.

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_judge::judge::spawn_io::spawn_io;
use watchdog_process::CancelFlag;

use super::demo_stage::{DemoStage, print_heading};
use super::runtime::in_runtime;

/// An example: a session's actions, and the verdict that watchdog must reach on it.
pub struct DemoExample {
    title: &'static str,
    /// The point to look at.
    shows: &'static str,
    /// The name of the work, and of the script.
    pub spec: &'static str,
    /// The session, as a shell script.
    pub session: &'static str,
    /// The agent's answer when it is asked.
    pub reply: &'static str,
    /// Options of `watchdog run` beside those of every example.
    pub options: &'static [&'static str],
    /// The exit code.
    pub expected: u8,
}

const EXAMPLES: [DemoExample; 5] = [
    DemoExample {
        title: "A session that commits",
        shows: "Git shows the commit, so nobody is asked: complete.",
        spec: "commits",
        session: include_str!("demo_sessions/commits.sh"),
        reply: "",
        options: &[],
        expected: 0,
    },
    DemoExample {
        title: "A session that forgets to commit",
        shows: "The agent is asked and says that it is done; its work is rescued into a commit, the secret is not: complete.",
        spec: "forgets",
        session: include_str!("demo_sessions/forgets.sh"),
        reply: r#"{"status": "complete", "message": "logout is implemented", "agents_active": false, "tasks_pending": []}"#,
        options: &["--probe-interval", "10s"],
        expected: 0,
    },
    DemoExample {
        title: "A session that leaves work running in the background",
        shows: "watchdog sees that it runs, asks nobody and waits; the commit cuts the pause short: complete.",
        spec: "background",
        session: include_str!("demo_sessions/background.sh"),
        reply: "",
        options: &["--probe-interval", "10s", "--child-wait", "0s"],
        expected: 0,
    },
    DemoExample {
        title: "A session that takes too long",
        shows: "Its timeout ends the whole process tree; its work is rescued, and more is wanted: incomplete.",
        spec: "slow",
        session: include_str!("demo_sessions/slow.sh"),
        reply: "",
        options: &["--timeout", "2s", "--grace", "1s"],
        expected: 10,
    },
    DemoExample {
        title: "A session that stalls",
        shows: "Every probe is spent and nothing moved: a genuine timeout, which is a strike.",
        spec: "stalls",
        session: include_str!("demo_sessions/stalls.sh"),
        reply: r#"{"status": "waiting", "message": "the other machine does not answer", "should_continue": true}"#,
        options: &["--probe-interval", "1s"],
        expected: 13,
    },
];

/// Runs the flow and says what it shows. Fails if a verdict is not the expected one. A signal ends it, and nothing stays behind.
pub fn run_demo_command(terminal: &CommandTerminal) -> Result<u8, CommandFailure> {
    let cancel = CancelFlag::new();
    let (played, signal) = in_runtime(async |signals| {
        let (terminal, raised) = (*terminal, cancel.clone());
        let playing = spawn_io(move || play_demo(&terminal, raised));
        (signals.cancelling(&cancel, playing).await, signals.last())
    })?;
    if cancel.is_cancelled() {
        return Err(CommandFailure::from_signal(
            signal,
            "the demo was interrupted; it left nothing behind",
        ));
    }
    played.map(|()| 0)
}

fn play_demo(terminal: &CommandTerminal, cancel: CancelFlag) -> Result<(), CommandFailure> {
    let stage = DemoStage::new_in_temp(cancel)?;
    let examples = EXAMPLES.len() + 2;
    terminal.line("The demo plays seven examples in a scratch repository, in about 20 seconds. It needs git, but no agent and no network.");
    stage.prepare(terminal)?;
    for (number, example) in (1..).zip(&EXAMPLES) {
        print_heading(
            terminal,
            &format!("{number}/{examples}  {}", example.title),
            example.shows,
        );
        stage.show_session(terminal, example);
        stage.run(terminal, example, example.expected)?;
    }
    let stalls = &EXAMPLES[EXAMPLES.len() - 1];
    let title = format!("{}/{examples}  Two more stalled sessions", examples - 1);
    print_heading(
        terminal,
        &title,
        "The third strike opens the breaker: the next session is refused at once, and costs nothing.",
    );
    for expected in [13, 13, 14] {
        stage.run(terminal, stalls, expected)?;
    }
    stage.watchdog(terminal, &["breaker", "--spec", stalls.spec], 0)?;
    let title = format!("{examples}/{examples}  What is kept");
    print_heading(
        terminal,
        &title,
        "Everything that was uncommitted is in a snapshot as well, and all of it is in the journal.",
    );
    stage.watchdog(terminal, &["rescue", "list"], 0)?;
    stage.watchdog(terminal, &["events", "-n", "5"], 0)?;
    print_heading(
        terminal,
        "That was the whole flow",
        "In a repository of your own, type: watchdog run -- YOUR-AGENT …",
    );
    Ok(())
}
