//! The text of a command's long help below its options: how it decides, in a sentence or two, and
//! examples to type.

use watchdog_facts::page_address;

pub const SNAPSHOT: &str = "\
What is uncommitted now is recorded as inherited: kept, and never counted as the work that comes. `run` and `loop` do this themselves.

Examples:
  B=$(watchdog snapshot); ./my-session.sh; watchdog check --baseline \"$B\"
  watchdog snapshot --accept-criteria  accept changed criteria";

pub const CHECK: &str = "\
Commits that were made here since the baseline decide, and the configured checks where there are some. Only where neither does, the agent is \
asked, at most --max-probes times; what it left uncommitted is rescued into commits. The status is the exit code: watchdog help exit-codes.

Examples:
  watchdog check                               against the recorded baseline
  watchdog check --baseline HEAD~3 --no-probe  git alone; costs nothing
  watchdog check --once --json                 one look, for cron and programs
  watchdog check --pid 4711                    first wait for its end";

pub const RUN: &str = "\
What is uncommitted is kept in a snapshot before CMD is started. CMD's output passes through; its end, and that of its children, is waited for.

Examples:
  watchdog run -- claude -p \"Fix the login\" --allowedTools Bash Edit
  watchdog run -p \"Fix the login\" --agent claude -- --allowedTools Bash Edit
  watchdog run --spec auth --timeout 2h --idle-timeout 30m -- ./session.sh
  watchdog run --adopt -- claude -p \"Finish what I began\"";

pub const PROBE: &str = "\
Examples:
  watchdog probe                         ask the last session
  some-agent | watchdog probe --parse -  read a reply, and ask nobody";

pub const BREAKER: &str = "\
It opens after breaker.limit strikes: genuine timeouts, and sessions that came to nothing. While it is open no session is started.

Examples:
  watchdog breaker        its state and its strikes
  watchdog breaker reset  close it";

pub const TRUST: &str = "\
A configuration names commands, and whoever may write it could run anything: it counts once you allowed it, with the content that it has now.

Examples:
  watchdog trust                  completion.json of this worktree
  watchdog trust .watchdog/tasks  every task in that folder
  watchdog trust --list";

pub const INIT: &str = "\
It looks for build files of fourteen ecosystems, lists of work, CI files and agents, and proposes checks and guards. In a terminal it asks which of \
them to write, and which commands to run once; elsewhere it writes the checks, runs nothing and trusts what it wrote. Without a check to write it \
shows a line to paste.

Examples:
  watchdog init                    look, ask, write
  watchdog init --dry-run          print the file, write nothing
  watchdog init --yes --try        write, and run each check once
  watchdog init --dry-run --try tests   write nothing, and run that one
  watchdog init --cron ~/projects  a timer that sweeps";

pub const DOCTOR: &str = "\
It looks at git, the worktree, watchdog's state, locks, hooks, configuration, trust and the agent. What is wrong has a command beside it. The exit \
code is 0 where nothing is wrong, else 16.

Examples:
  watchdog doctor
  watchdog doctor --fix      mend what is safe
  watchdog doctor --rebuild  records back from git's refs";

pub const EVENTS: &str = "\
One line for each event, in the order in which they were written, with local times; a terminal has the day where it changes, and cuts \
sentences that it has no room for (-v shows them whole). Times that go back are said. With --json, whole objects, in UTC.

Examples:
  watchdog events --follow
  watchdog events --since 2h --kind verdict,rescue
  watchdog events --all --json | jq .kind
  watchdog events --fleet --follow --kind review,failed";

pub const LOGS: &str = concat!(
    "\
Tools are folded, secrets masked. A log has at most 50 MiB, its middle left out, and is kept for 30 days.
",
    page_address!("logs.md"),
    "

Examples:
  watchdog logs                      the last session of this worktree
  watchdog logs auth --follow        that of a spec, as it comes
  watchdog logs --list               which there are
  watchdog logs --raw | tail -n 20   the end of it, as the agent printed it"
);

pub const EXPLAIN: &str = concat!(
    "\
From the journal alone: no git, no agent, also where the worktree is gone.
",
    page_address!("explain.md"),
    "

Examples:
  watchdog explain                   the last verdict of this worktree
  watchdog explain auth              the last one of a spec
  watchdog explain 000656a1          that of an event, by how its id begins
  watchdog explain --json | jq '.would_change[].sentence'"
);

pub const SCHEMA: &str = "\
Example:
  watchdog schema config > completion.schema.json";

pub const COMPLETIONS: &str = "\
Example:
  watchdog completions bash >> ~/.bash_completion";

pub const MAN: &str = "\
Examples:
  watchdog man check | man -l -
  watchdog man completion.json | man -l -
  watchdog man --dir ~/.local/share/man";

pub const MCP: &str = "\
An agent asks for the verdict (check_work), for what is missing (what_is_missing), or says that it needs a person (report_blocked). It is judged by \
commits and checks alone: nobody is asked, nothing is committed or recorded. Without a recorded baseline the commits since the start count.

Examples:
  claude mcp add watchdog -- watchdog mcp
  codex mcp add watchdog -- watchdog mcp
  claude mcp add watchdog -- watchdog -C /path/to/repo mcp  another worktree";
