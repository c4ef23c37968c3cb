//! `completion.json` as types, after defaults and after every dialect was lowered to one form.

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use super::criteria::*;
use super::message_template::MessageForm;
pub use super::preset_name::PresetName;

use watchdog_facts::verdict::Evidence;

/// Everything that a configuration file can say.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigSettings {
    /// How the top-level checks combine.
    pub mode: Mode,
    /// The rule where no checks are configured.
    pub on_no_criteria: OnNoCriteria,
    /// The weakest evidence that is accepted for `complete`.
    pub require_evidence: Evidence,
    /// The smart completion check.
    pub completion_check: CompletionSettings,
    /// Whom to ask.
    pub agent: AgentSettings,
    /// How uncommitted work is salvaged.
    pub rescue: RescueSettings,
    /// The circuit breaker.
    pub breaker: BreakerSettings,
    /// Paths (globs) that the session must not change.
    pub guards: Vec<String>,
    /// In which order checks run.
    pub order: CheckOrder,
    /// Limits of sessions and loops.
    pub limits: Limits,
    /// Places of task files.
    pub tasks: TaskSettings,
    /// The agents that work on tasks.
    pub agents: Vec<AgentEntry>,
    /// The receivers of verdicts.
    pub notify: Vec<NotifyRule>,
    /// The configured criteria.
    pub checks: Vec<CheckSpec>,
}

impl ConfigSettings {
    /// Lets the programs that a relative path names, and with `with_checks` those of checks, run in a folder of the worktree.
    pub fn run_below(&mut self, folder: &str, with_checks: bool) {
        if with_checks {
            (self.checks.iter_mut()).for_each(|check| check.run_below(folder));
        }
        for argv in [&mut self.agent.probe, &mut self.rescue.command] {
            name_program_below(folder, argv.as_deref_mut().unwrap_or_default());
        }
        for argv in &mut self.limits.sensors {
            name_program_below(folder, argv);
        }
    }

    /// The names of last phases that checks ask for.
    pub fn last_phases(&self) -> Vec<&str> {
        let phases = single_checks(&self.checks).into_iter();
        phases
            .filter_map(|(_, criterion)| match criterion {
                CheckKind::Phase(phase) => Some(phase.last.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// How checks of a group combine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Stops at the first that is not complete.
    #[default]
    All,
    /// Stops at the first that is.
    Any,
    /// `any` that names its winner.
    First,
}

/// The rule where no checks are configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNoCriteria {
    /// Commits decide.
    Git,
    /// A person decides.
    Review,
}

/// In which order checks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOrder {
    /// Files and git before commands and judges.
    CheapFirst,
    /// As written.
    Given,
}

/// The smart completion check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionSettings {
    /// Rounds at most.
    pub max_probes: u32,
    /// Pause between rounds.
    pub probe_interval: Duration,
    /// Deadline of one probe.
    pub probe_timeout: Duration,
    /// Whether uncommitted work is rescued after the last round.
    pub final_rescue_attempt: bool,
}

/// Whom a probe asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// The agent.
    pub preset: PresetName,
    /// The model that answers probes.
    pub model: Option<String>,
    /// Another program instead of the preset: argv, prompt on stdin.
    pub probe: Option<Vec<String>>,
}

impl AgentSettings {
    /// Whom to ask about a session that this agent ran: that agent, whatever is configured, since no other has its conversation. A
    /// configured program answers for every agent, and so does the configured agent for a session whose agent is unknown.
    #[must_use]
    pub fn about_session(&self, ran: Option<&PresetName>) -> Self {
        match ran.filter(|ran| self.probe.is_none() && **ran != self.preset) {
            // The configured model is one of another agent.
            Some(ran) => AgentSettings {
                preset: ran.clone(),
                model: Self::usual_model(ran),
                probe: None,
            },
            None => self.clone(),
        }
    }

    /// The model that answers probes of an agent where none is configured; `None` is the agent's own choice.
    pub fn usual_model(preset: &PresetName) -> Option<String> {
        (*preset == PresetName::CLAUDE).then(|| "sonnet".to_owned())
    }
}

/// How uncommitted work is salvaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RescueSettings {
    /// The action after the snapshot.
    pub mode: RescueMode,
    /// The user's program for [`RescueMode::Command`], as argv.
    pub command: Option<Vec<String>>,
    /// Deadline of the rescue.
    pub timeout: Duration,
    /// Names or globs that are never committed.
    pub exclude: Vec<String>,
    /// More changed files than this are not committed.
    pub max_files: u64,
    /// Larger files than this many bytes are not committed.
    pub max_bytes: u64,
    /// New files that are more than this many bytes together are left out of a snapshot, the largest first.
    pub max_snapshot_bytes: Option<u64>,
    /// Names or globs of ignored files that the snapshot before a session keeps.
    pub keep_ignored: Vec<String>,
    /// Whether a bundle of all refs is written outside of the repository before a session.
    pub bundle: bool,
    /// Branches (names or globs) that rescue never commits to.
    pub protect: Vec<String>,
    /// The last lines of each message of a rescue; `{spec}` and `{snapshot}` are filled in.
    pub trailers: Vec<String>,
    /// How long snapshots are kept.
    pub keep_days: u32,
    /// Shortest time between snapshots during a session; zero = none.
    pub snapshot_every: Duration,
    /// How long the work must stand still, and git's lock files be old, before a rescue commits.
    pub quiet: Duration,
}

/// The action of a rescue after the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RescueMode {
    /// The agent plans the commits, watchdog makes them.
    Plan,
    /// A commit of everything.
    Single,
    /// The user's command only.
    Command,
    /// Makes no commit.
    Snapshot,
    /// Not even a snapshot.
    Off,
}

/// The circuit breaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Strikes that open it.
    pub limit: u32,
    /// How long it stays open before one trial.
    pub cooldown: Duration,
}

/// Limits of sessions and loops.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Iterations of a loop at most.
    pub max_iterations: u32,
    /// Pause between iterations.
    pub cooldown: Duration,
    /// How often a stop hook may hold the agent.
    pub max_stop_blocks: u32,
    /// Wall-clock instant (RFC 3339) after which nothing is started.
    pub deadline: Option<jiff::Timestamp>,
    /// Turns of the agent at most.
    pub max_turns: Option<u64>,
    /// Tokens at most, input and output.
    pub max_total_tokens: Option<u64>,
    /// US dollars at most.
    pub max_cost_usd: Option<f64>,
    /// Wall time of a loop at most.
    pub max_wall: Option<Duration>,
    /// Wall time of one session at most.
    pub session_timeout: Option<Duration>,
    /// How long a session may be silent before it is ended; zero never ends one, `None` leaves it to the command.
    pub idle_timeout: Option<Duration>,
    /// For how long after a session's end its remaining processes hold the claim that everything is done.
    pub background: Duration,
    /// Programs that do none of a session's work when they outlive it: names or globs beside those that watchdog knows.
    pub ignore_processes: Vec<String>,
    /// Programs that may ask for a halt at each judgement, as argv.
    pub sensors: Vec<Vec<String>>,
}

/// Places of task files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSettings {
    /// A folder inside the worktree, relative to its root.
    pub dir: String,
}

/// An agent that works on tasks or in a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEntry {
    /// Unique among the agents.
    pub name: String,
    /// Which tasks it takes; `None` takes those of any role.
    pub role: Option<String>,
    /// The agent that it is.
    pub preset: PresetName,
    /// The model that it works with; `None` leaves it to the agent.
    pub model: Option<String>,
    /// Another program than the preset's: argv, in which `{prompt}` and `{prompt_file}` are filled in.
    pub command: Option<Vec<String>>,
    /// The folder of its linked worktree, from the root of the worktree that holds the tasks; `None` = one of watchdog's own.
    pub worktree: Option<String>,
    /// Other entries that take over at a limit of this one, by name, in their order.
    pub fallback: Vec<String>,
    /// US dollars that its sessions of one loop may cost.
    pub max_cost_usd: Option<f64>,
}

/// The receiver of some events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyRule {
    /// Statuses, reasons or kinds of events; any of them sets it off.
    pub on: Vec<String>,
    /// The receiver.
    pub to: NotifyTarget,
    /// The deadline of one attempt.
    pub timeout: Duration,
    /// How many further attempts follow one that failed.
    pub retries: u32,
}

/// The receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyTarget {
    /// A program, as argv. The event is on its stdin.
    Command(Vec<String>),
    /// An address. The event is posted to it.
    Url(String),
    /// An address of a service that people read. A message is posted to it.
    Service {
        /// The target.
        url: String,
        /// How the message is written.
        form: MessageForm,
    },
    /// The user's desktop.
    Desktop,
    /// Addresses of mail.
    Mail(Vec<String>),
}

impl NotifyTarget {
    /// Whether people read it: then what happened at the same time is one message. A program has each event by itself.
    pub fn is_for_people(&self) -> bool {
        match self {
            NotifyTarget::Command(_) | NotifyTarget::Url(_) => false,
            NotifyTarget::Service { .. } | NotifyTarget::Desktop | NotifyTarget::Mail(_) => true,
        }
    }
}

impl NotifyRule {
    /// A rule that nothing sets off yet, with the usual limits.
    pub fn new(to: NotifyTarget) -> Self {
        NotifyRule {
            on: Vec::new(),
            to,
            timeout: Duration::from_secs(10),
            retries: 5,
        }
    }
}

impl Default for ConfigSettings {
    fn default() -> Self {
        ConfigSettings {
            mode: Mode::All,
            on_no_criteria: OnNoCriteria::Git,
            require_evidence: Evidence::None,
            completion_check: CompletionSettings {
                max_probes: 5,
                probe_interval: Duration::from_secs(30),
                probe_timeout: Duration::from_secs(60),
                final_rescue_attempt: true,
            },
            agent: AgentSettings {
                preset: PresetName::CLAUDE,
                model: Some("sonnet".into()),
                probe: None,
            },
            rescue: RescueSettings {
                mode: RescueMode::Plan,
                command: None,
                timeout: Duration::from_secs(300),
                exclude: vec![".env".into()],
                max_files: 500,
                max_bytes: 52_428_800,
                max_snapshot_bytes: None,
                keep_ignored: Vec::new(),
                bundle: false,
                protect: Vec::new(),
                trailers: vec![
                    "Watchdog-Spec: {spec}".into(),
                    "Watchdog-Snapshot: {snapshot}".into(),
                ],
                keep_days: 30,
                snapshot_every: Duration::from_secs(300),
                quiet: Duration::from_secs(600),
            },
            breaker: BreakerSettings {
                limit: 3,
                cooldown: Duration::from_secs(1800),
            },
            guards: Vec::new(),
            order: CheckOrder::CheapFirst,
            limits: Limits {
                max_iterations: 30,
                cooldown: Duration::from_secs(5),
                max_stop_blocks: 7,
                deadline: None,
                max_turns: None,
                max_total_tokens: None,
                max_cost_usd: None,
                max_wall: None,
                session_timeout: None,
                idle_timeout: None,
                background: Duration::from_secs(1800),
                ignore_processes: Vec::new(),
                sensors: Vec::new(),
            },
            tasks: TaskSettings {
                dir: ".watchdog/tasks".into(),
            },
            agents: Vec::new(),
            notify: Vec::new(),
            checks: Vec::new(),
        }
    }
}

impl RescueSettings {
    /// The default command of the mode `command`, if the worktree has it.
    pub const DEFAULT_SCRIPT: &str = "scripts/commit-rescue";

    /// The script of the worktree that a rescue runs, because the mode is `command` and no command is given.
    pub fn default_script(&self) -> Option<&'static str> {
        (self.mode == RescueMode::Command && self.command.is_none()).then_some(Self::DEFAULT_SCRIPT)
    }
}

impl ConfigSettings {
    /// Every program that this configuration would make watchdog run, and every address that it would post to, for
    /// `watchdog trust` to show.
    pub fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        if let Some(argv) = &self.agent.probe {
            commands.push(format!("agent.probe: {}", argv.join(" ")));
        }
        if let Some(argv) = &self.rescue.command {
            commands.push(format!("rescue.command: {}", argv.join(" ")));
        }
        if let Some(script) = self.rescue.default_script() {
            commands.push(format!(
                "rescue.command: {script} of the worktree, because none is given"
            ));
        }
        commands.extend(
            self.limits
                .sensors
                .iter()
                .map(|argv| format!("limits.sensors: {}", argv.join(" "))),
        );
        for agent in &self.agents {
            commands.extend(
                agent
                    .command
                    .iter()
                    .map(|argv| format!("agent {}: {}", agent.name, argv.join(" "))),
            );
        }
        for rule in &self.notify {
            let whom = match &rule.to {
                NotifyTarget::Command(argv) => argv.join(" "),
                NotifyTarget::Url(url) | NotifyTarget::Service { url, .. } => format!("POST {url}"),
                NotifyTarget::Desktop => "notify-send".to_owned(),
                NotifyTarget::Mail(to) => format!("sendmail, to {}", to.join(", ")),
            };
            commands.push(format!("notify on {}: {whom}", rule.on.join(", ")));
        }
        for (name, criterion) in single_checks(&self.checks) {
            let hidden = match criterion {
                CheckKind::Command(command) => command.proof.as_deref(),
                _ => None,
            };
            let lines = criterion
                .run()
                .into_iter()
                .chain(hidden.into_iter().flatten());
            commands.extend(lines.map(|run| format!("check {name}: {run}")));
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::super::message_template::MessageForm;
    use super::super::parse::testing::reads;
    use super::*;

    #[test]
    fn session_agent_answers_unless_a_program_is_configured() {
        let claude = ConfigSettings::default().agent;
        let codex = AgentSettings {
            preset: PresetName::CODEX,
            model: Some("o".into()),
            probe: None,
        };
        let program = AgentSettings {
            probe: Some(vec!["ask".into()]),
            ..codex.clone()
        };
        let default_codex = AgentSettings {
            preset: PresetName::CODEX,
            model: None,
            probe: None,
        };
        for (configured, ran, asked) in [
            (&claude, None, &claude),
            (&codex, Some(PresetName::CODEX), &codex),
            (&claude, Some(PresetName::CODEX), &default_codex),
            (&codex, Some(PresetName::CLAUDE), &claude),
            (&program, Some(PresetName::CLAUDE), &program),
            (&program, Some(PresetName::CODEX), &program),
        ] {
            assert_eq!(
                configured.about_session(ran.as_ref()),
                *asked,
                "{configured:?} of a session of {ran:?}"
            );
        }
    }

    #[test]
    fn programs_get_single_events_and_people_one_digest() {
        let url = || "http://x".to_owned();
        for (target, for_people) in [
            (NotifyTarget::Command(vec!["x".into()]), false),
            (NotifyTarget::Url(url()), false),
            (
                NotifyTarget::Service {
                    url: url(),
                    form: MessageForm::parse("slack").expect("it is a ready form"),
                },
                true,
            ),
            (NotifyTarget::Desktop, true),
            (NotifyTarget::Mail(vec!["a@b".into()]), true),
        ] {
            assert_eq!(target.is_for_people(), for_people, "{target:?}");
        }
    }

    #[test]
    fn commands_and_addresses_are_shown_before_trust() {
        let settings = reads(
            r#"{"agent": {"probe": ["ask", "me"]}, "rescue": {"mode": "command"},
                "agents": [{"name": "a", "command": ["my-agent"]}],
                "notify": [{"on": ["review", "failed"], "command": ["n"]}, {"on": ["review"], "url": "http://x"}, {"on": ["review"], "desktop": true},
                           {"on": ["review"], "mail": ["a@b", "c@d"]}],
                "checks": [{"mode": "any", "checks": [{"type": "command", "name": "t", "run": "x"}]}]}"#,
        );
        let shown = [
            "agent.probe: ask me",
            "rescue.command: scripts/commit-rescue of the worktree, because none is given",
            "agent a: my-agent",
            "notify on review, failed: n",
            "notify on review: POST http://x",
            "notify on review: notify-send",
            "notify on review: sendmail, to a@b, c@d",
            "check t: x",
        ];
        assert_eq!(settings.commands(), shown);
        let own = reads(r#"{"rescue": {"mode": "command", "command": ["./mine"]}}"#);
        assert_eq!(
            (own.commands(), own.rescue.default_script()),
            (vec!["rescue.command: ./mine".to_owned()], None)
        );
        assert_eq!(ConfigSettings::default().commands(), Vec::<String>::new());
    }

    #[test]
    fn final_phases_are_found_at_any_depth() {
        let settings = reads(
            r#"{"checks": [{"type": "phase", "final": "Shipped"}, {"type": "always"},
                           {"mode": "any", "checks": [{"type": "git"}, {"type": "phase"}]}]}"#,
        );
        assert_eq!(settings.last_phases(), ["Shipped", "complete"]);
    }
}
