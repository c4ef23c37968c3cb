//! Every end-to-end test, in one binary: one link step, and one place that says what there is.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start the programs that they test, and git"
)]

// What the tests stand on.
mod support;
// Criteria that hold from session to session.
mod anchor;
// What an agent may cost: its session is ended, the next one takes over, and where nobody is left the loop stops.
mod agent_budgets;
// Where the anchor goes by a person's word, and where it stays.
mod anchor_moves;
// Loops and tasks with more than one agent: who is asked, and who takes over at a limit.
mod another_agent;
// Suites that were red before, whose owner lets that stand.
mod baseline_failures;
// The documentation as Markdown: its links, its summary, its fences.
mod book_links;
// Facts beside a git that packs refs and objects.
mod beside_gc;
// Branches that are switched within the work of one spec.
mod branch_switches;
// Strikes and trusted files, from call to call.
mod breaker_and_trust;
// Suites whose tests the session changed, tried as they were and without the work.
mod changed_tests;
// What judging costs: remembered passes, checks side by side.
mod check_cost;
// Claims of last words at a stop without criteria.
mod claim_hooks;
// The two commands for a fresh machine, in a clean clone.
mod clean_clone;
// Commands as a newcomer types them.
mod commands;
// Checks that ask programs, GitHub and models.
mod check_types;
// Completions in real shells.
mod completions;
// The configuration as users write it.
mod config;
// Sessions that crash, and watchdog with them.
mod crashed_sessions;
// Checks in a real repository, and what an agent may try.
mod criteria;
// Judgements and rescues beside sessions that live.
mod beside_sessions;
// What a cron line finds in a week: quiet states, commits, people.
mod cron_week;
// Each leaf of the decision tree, with a scripted agent.
mod decision_tree;
// Records that an earlier build wrote.
mod state_format;
// What was seen and decided, and following it.
mod events;
// Machines that join a fleet on a real server.
mod fleet;
// One account of agents on several machines: whom a usage limit holds, and what may be spent.
mod fleet_account;
// What the machines of an account may spend together.
// How many questions run at a time, on one machine and on those of an account.
// Old days of events, and machines that somebody took out.
mod fleet_upkeep;
// What a machine copies to its fleet, and when.
mod fleet_copies;
// One queue of tasks for several machines.
mod fleet_tasks;
// Verdicts and their time beside a server in any state.
mod fleet_states;
// One look at all machines of a fleet: events, status, figures.
mod fleet_look;
// Repositories that a fleet shares.
mod fleet_remote;
// The work on a fleet's tasks goes from machine to machine by git.
mod fleet_tasks_travel;
// Tasks of a fleet where the remote or the repository is in no state for them.
mod fleet_tasks_unready;
// Snapshots of uncommitted work go to the machine that takes over.
// Several machines on one queue, through everything that goes wrong: nothing is done twice, nothing is lost.
mod fleet_proof;
// What watchdog left, shown and removed.
mod forget;
// False aborts in virtual time: the goals of `examples/false_abort`.
mod false_aborts;
// The front door for programs that judge by themselves: the same answers as the commands, and nothing of the host changed.
mod embedding;
// The configured checks judged alone, from any language.
mod evaluate;
// What a user can do wrong, and what can be wrong around them.
mod faults;
// Commits that bring content which was there before the session.
mod git_brought;
// What is uncommitted, against git's own answer.
mod git_changes;
// Counts on random histories, against git's own.
mod git_counts;
// Linked worktrees that are opened one after the other.
mod git_family;

// Files that define completion, compared with a commit.
mod git_guarded;
// The commits since a baseline.
mod git_history;
// Repositories that try to run programs while they are looked at.
mod git_hostile;
// Which repositories open, and how the others are refused.
mod git_open;
// Commits that a rescue made, told from the session's own.
mod git_rescued;
// The commits since a baseline that is no longer part of HEAD's history.
mod git_rewritten;
// Whose the new commits are: those of other worktrees, branches and helpers.
mod git_origin;
// What differs from the baseline, committed or not.
mod git_touched;
// What a green check proves: suites that were green before, ran no test, lost tests, or pass by what git does not have.
mod green_checks;
// The database's right to write, held by another process for ever.
mod held_database;
// Work that git does not list: index flags, new ignore rules.
mod hidden_work;
// What teaches: help, exit codes, manual pages, the version, and what `watchdog` alone says.
mod help;
// Commands that messages tell a person to type, pasted elsewhere.
mod hints;
// Begins and ends of sessions as the agent's hooks tell of them.
mod hook_sessions;
// What an agent cannot report, said before its session and in its verdict.
mod agent_gaps;
// The hooks of agents beside Claude Code: their files, their words.
mod agent_hooks;
// The scenes of an agent's program on bad days: nothing is left of them.
mod agent_test;
// The agent's hooks: held by unmet checks alone, answered whatever happens; and the settings that name them.
mod hooks;
// `watchdog on` and `off`: the hooks of every agent here, and every byte back.
mod hook_switch;
// Commits of branches that a session deleted or reset.
mod lost_branches;
// Ignored files that a session cleans away, and a repository that it replaces.
mod ignored_files;
// Floods, endless lines and escape sequences.
mod hostile_output;
// A repository that names programs to run.
mod hostile_repository;
// Why a verdict is as it is, from the journal alone.
mod explain;
// Recorded verdicts by the rules of today and by another configuration.
// What an open breaker stops, and what it does not.
mod open_breaker;
// The line of facts from turn to turn, and worktrees about to be removed.
mod turn_hooks;
// Sessions without an agent that can be asked.
mod unasked_sessions;
// The rows of a judgement: small, without a fact twice, and read as they were written.
mod verdict_rows;
// Refs that keep what was judged.
mod judged_heads;
// kill -9 at random moments.
mod kill_nine;
// Sessions that no output and no hook names.
mod known_sessions;
// Loops that are interrupted or killed, and go on where they were.
mod loop_resumed;
// The live view: keys, pages, deeds, sizes and signals in a terminal, and plain lines in a pipe.
mod live;
// Loops of scripted sessions: what ends them, and what the next session is told.
mod looped;
// What is wrong, how to mend it, and what is mended.
mod doctor;
// The first configuration: what it is made of, what a terminal asks, and what it must not touch.
mod init;
// What `init` takes over from other programs.
// Every system call of watchdog's commands fails once.
mod injection;
// Which source files import each other in a circle.
mod import_graph;
// The source files that the rules are about.
mod source_files;
// The files that the rules of the layers name.
mod layer_lists;
// The rules of `ARCHITECTURE.md` that a compiler does not enforce, and that this list is complete.
mod layers;
// The output of sessions: found, read, followed, masked, and let go.
mod logs;
// The judge as a server of the Model Context Protocol.
mod mcp;
// The log: levels, filters, formats, and what it never holds.
mod logging;
// Metrics for Prometheus: the file that is replaced whole, and the page that a watch serves.
mod metrics;
// Who is told what, and that no work waits for it.
mod notify;
// That a sweep is one message for people, whatever happens to the sweep.
mod notify_digest;
// What people are told by desktop, mail and services, byte for byte.
mod notify_people;
// The command that sends a test notice.
mod notify_test;
// What an earlier version left behind.
mod older_state;
// What Linux alone has, in one crate.
mod one_system;
// Another clone at the place of the recorded one.
mod other_clone;
// Scratch checkouts stand at the worktree's own path; what leads into the worktree otherwise; how much space they take.
mod own_path;
// Presets of the user's own, in the configuration folder and in the repository.
mod own_preset;
// People who work in the worktree between two sessions.
mod people_between;
// Snapshots while a session runs.
mod periodic_snapshots;
// Agents that print plain text and answer in prose.
mod plain_text_agents;
// Probes of real programs.
mod probe_ask;
// The lines of progress of loops, pools and sweeps in a terminal.
mod progress_lines;
// Prompts with values and phases of the user's own.
mod prompt_values;
// People who pull between two sessions.
mod pulls_between;
// Pages of the documentation that are made from the program.
mod reference_pages;
// What a period came to, in figures.
mod report;
// The page of a report, in a browser.
mod report_page;
// Replies of probed agents, read from fixtures.
mod probe_reply;
// Programs, their trees, and waiting for the end of a process.
mod process;
// What a session leaves running in its last moment.
mod process_left;
// What the tests of processes stand on: scratch folders, looks at `/proc`, tests in a process of their own.
mod process_scene;
// Real CLIs of other agents than Claude Code against a scripted API: four scenes of each.
mod real_agents;
// Sessions of the real Claude Code CLI, judged.
mod real_claude;
// Loops of the real Claude Code CLI.
mod real_claude_loop;
// The hooks of the other real CLIs: each is held once, or recorded where it cannot be held.
mod real_agent_hooks;
// The real Claude Code CLI, which asks the judge, and its plugin.
mod real_claude_mcp;
// The hooks of the real Claude Code CLI: held, let go, refused, accepted.
mod real_claude_hooks;
// The question to the real Claude Code CLI.
mod real_claude_probe;
// The plan of a rescue by the real Claude Code CLI.
mod real_claude_rescue;
// The example for the Claude Agent SDK, with the CLI that it brings.
mod real_claude_sdk;
// The real Claude Code CLI at a terminal, begun by a person and seen by its own list of sessions.
mod real_claude_sessions;
// The real Claude Code CLI when the model's stream stalls.
mod real_claude_silence;
// A queue of tasks worked on by the real Claude Code CLI.
mod real_claude_tasks;
// Repositories whose refs git itself must be asked for, and those with SHA-256 names.
mod reftable;
// Recorded outputs of real CLIs, read again.
mod recorded_agents;
// Questions to the presets' agents: their price, their files, their traces.
mod questions;
// The loop in plain shell that a recipe shows.
mod recipe_loop;
// Results that cannot be written.
mod result_output;
// Rescues: commits a person would keep, nothing lost, nothing leaked.
mod rescue;
// `rescue list`, `show`, `restore`, `drop`, and how old snapshots go.
mod rescue_cli;
// Rescues where hooks, signatures or protected branches refuse.
mod rescue_hooks;
// Rescues whose git dies between the branch and the index.
mod rescue_killed;
// Rescues by a plan of the agent, and secrets that are known by their content.
mod rescue_plan;
// Rescues beside other gits and other watchdogs.
mod rescue_races;
// The rescue command that users copy.
mod rescue_script;
// The line below a session's output in a terminal.
mod run_line;
// A system without room.
mod scarcity;
// The JSON Schemas.
mod schema;
// What a person sees: screens of commands, held as text.
mod screens;
// Secrets that checks print and that lie in copies of files.
mod secrets;
// Agents as they are seen: behind launchers, in pipelines and scripts, by what is printed.
mod seen_agents;
// Sessions that watchdog did not start, as their agent lists them.
mod seen_sessions;
// Ends of sessions: by themselves, by a timeout, with children left.
mod session_end;
// The process of a session: shown, logged, ended.
mod session_process;
// What is read from a session's output while it runs, and the budgets that it is held to.
mod session_reading;
// Two live sessions of one worktree.
mod sessions_side_by_side;
// Two users in one repository: watchdog and plain git.
mod shared_repository;
// Wall clocks that are set while a command runs.
mod set_clocks;
// Other worktrees of the repository, which a session may wipe.
mod siblings;
// Sessions that fall silent, and what outlives one.
mod silence;
// Snapshots of uncommitted work: complete, harmless, restorable.
mod snapshot;
// Snapshots where the repository, its neighbours or the file system work against them.
mod snapshot_hostile;
// Secrets and over-size files: kept, and kept apart.
mod snapshot_private;
// The way back: exact, and never over work that is in no commit.
mod snapshot_restore;
// The room that snapshots need.
mod snapshot_sizes;
// Random trees of random changes: every byte must come back.
mod snapshot_torture;
// Sessions that stalled, as whoever looks is told.
mod stalled;
// Answers that stand while nothing moves, and whom the questions go to.
mod standing_answers;
// The state directory under many processes, kill -9, damage, full and read-only disks.
mod store;
// What is going on, as the records tell it.
mod status;
// The scripted API and the fake agent do what the other tests take for granted.
mod support_works;
// Agents that change what they are judged by.
mod tamper;
// The queue of tasks as people and programs see it.
mod task_queue;
// What only a person may say.
mod from_session;
// Criteria of tasks that were seen once.
mod task_criteria;
// One look at many worktrees: each once, the bad ones beside the good ones, questions rationed.
mod sweep;
// Worktrees of one repository beside a broken one.
mod sweep_neighbours;
// Sweeps beside sessions, other sweeps and signals, and what cron starts.
mod sweep_beside;
// Agents that work on tasks, through crashes and stops.
mod task_work;
// Random trees, random faults, the real binary: whatever was in the work tree can be got back.
mod torture;
// The blocks of shell in README and the pages that claim to run.
mod typed_blocks;
// Custom checks in TypeScript, run by the real node and deno.
mod typescript_checks;
// What helpers of a session hold and HEAD lacks, and worktrees inside of a worktree.
mod unmerged_work;
// Staying, and judging as things happen.
mod watch;
// What a watch does when movements are dropped, the machine slept, the process was stopped, or the store is damaged.
mod watch_bad_days;
// Whose work uncommitted files are, and what a half-done operation of git means.
mod whose_work;
// Which worktrees are found in repositories and folders.
mod worktrees;
