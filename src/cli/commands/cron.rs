//! `watchdog init --cron`: a crontab line and a systemd timer that sweep, ready to be used as they stand.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::shell_word;
use watchdog_facts::verdict::Reason;
use watchdog_git::Worktree;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::configuration::config_without_anchor;
use watchdog_judge::modes::init::{CRON_PATH, is_in_path};
use watchdog_judge::wire::setup_json::CronSetup;

/// The program, folders and search path of a sweep of everything.
struct CronJob {
    program: String,
    state: String,
    paths: Vec<String>,
    /// cron and systemd begin with a short one, in which neither git nor an agent may be.
    search_path: String,
    /// This machine is in a fleet, which gets copies of what happened.
    is_in_fleet: bool,
}

/// Prints them.
pub fn run_cron_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    paths: &[PathBuf],
) -> Result<u8, CommandFailure> {
    let named = if paths.is_empty() {
        vec![command_env.worktree.clone()]
    } else {
        paths.to_vec()
    };
    let mut canonical_paths = Vec::new();
    for path in &named {
        let path = std::fs::canonicalize(path).map_err(|error| {
            CommandFailure::new(
                Reason::NotARepository,
                format!("{} cannot be swept: {error}", path.display()),
            )
        })?;
        canonical_paths.push(require_plain_text(&path)?);
    }
    let program = std::env::current_exe().map_err(|error| {
        CommandFailure::store_failure(format!(
            "where this program lies cannot be found out: {error}"
        ))
    })?;
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let job = CronJob {
        program: require_plain_text(&program)?,
        state: require_plain_text(command_env.state.root())?,
        paths: canonical_paths,
        search_path: require_plain_text(Path::new(&search_path))
            .unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into()),
        is_in_fleet: command_env.state.fleet_setting().exists(),
    };
    let (line, service, timer) = (job.crontab(), job.service(), TIMER.to_string());
    let notes = path_notes(&agents_of(command_env, &job.paths), &search_path);
    if terminal.json {
        terminal.print_answer(&CronSetup {
            crontab: &line,
            service: &service,
            timer: &timer,
            notes: &notes,
        });
        return Ok(0);
    }
    let folder = "${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user";
    let here =
        |name: &str, content: &str| format!("cat > \"{folder}/{name}\" <<'END'\n{content}END\n");
    let service = here("watchdog-sweep.service", &service);
    let timer = here("watchdog-sweep.timer", &timer);
    terminal.line(&format!(
        "# With cron: add this line to your crontab, with 'crontab -e'.\n\n{line}\n\n\
         # With systemd: paste this into a shell instead.\n\n\
         mkdir -p \"{folder}\"\n{service}{timer}systemctl --user daemon-reload\nsystemctl --user enable --now watchdog-sweep.timer\n\n\
         # A user's timers stop when the user logs out, unless: loginctl enable-linger\n\
         # What the last sweep said: journalctl --user -u watchdog-sweep.service"
    ));
    notes
        .iter()
        .for_each(|note| terminal.line(&format!("# {}", escape_to_one_line(note))));
    Ok(0)
}

/// The programs that a sweep of these folders asks: what each one's configuration names, else the usual one.
fn agents_of(command_env: &CommandEnv, paths: &[String]) -> Vec<String> {
    let settings = |path: &String| {
        let opened = Worktree::open(Path::new(path)).ok()?;
        config_without_anchor(
            &CommandEnv {
                worktree: path.into(),
                ..command_env.clone()
            },
            &opened,
        )
        .ok()
    };
    let mut agent_names: Vec<String> = paths
        .iter()
        .map(|path| {
            settings(path)
                .map_or_else(ConfigSettings::default, |effective| effective.settings)
                .agent
        })
        .map(|agent| {
            agent
                .probe
                .and_then(|argv| argv.into_iter().next())
                .unwrap_or_else(|| agent.preset.to_string())
        })
        .collect();
    agent_names.sort();
    agent_names.dedup();
    agent_names
}

/// Notes about agents that cron's own `PATH` does not have.
fn path_notes(agents: &[String], search_path: &OsStr) -> Vec<String> {
    let missing = agents
        .iter()
        .filter(|agent| !agent.contains('/') && !is_in_path(agent, OsStr::new(CRON_PATH)));
    missing
        .map(|agent| {
            if is_in_path(agent, search_path) {
                format!(
                    "{agent} is not in cron's own PATH ({CRON_PATH}): the line and the service set one that has it. In a crontab of your own, \
                     write PATH=... above the line, or name the agent by its path with --agent-program"
                )
            } else {
                format!(
                    "{agent} is not in PATH, so neither cron nor systemd finds it: put its folder into PATH and print this anew, or add \
                     --agent-program and its path to the line"
                )
            }
        })
        .collect()
}

/// The statuses that call for a person.
const CALLS: &str = "review,timeout,stopped,failed,error";

const TIMER: &str = "\
[Unit]
Description=Look at every worktree every ten minutes

[Timer]
OnCalendar=*:0/10
RandomizedDelaySec=30
Persistent=true

[Install]
WantedBy=timers.target
";

impl CronJob {
    fn arguments(&self) -> impl Iterator<Item = &str> {
        ["--state-dir", &self.state, "sweep"]
            .into_iter()
            .chain(self.paths.iter().map(String::as_str))
    }

    /// A sweep that overlaps the next one does no harm: each worktree has its own lock.
    fn crontab(&self) -> String {
        let words: Vec<String> = [self.program.as_str()]
            .into_iter()
            .chain(self.arguments())
            .map(shell_word)
            .collect();
        // Only what calls for a person is printed, because cron mails whatever is.
        let command = format!(
            "PATH={} {} -q --news --only {CALLS}",
            shell_word(&self.search_path),
            words.join(" ")
        );
        let mut lines = format!("*/10 * * * * {command}");
        if self.is_in_fleet {
            // A server that is away is nothing to mail about: what happened waits.
            lines.push_str(&format!(
                "\n*/5 * * * * {} -q 2>/dev/null",
                self.sync_words().map(shell_word).join(" ")
            ));
        }
        // cron takes a percent sign for the end of the command.
        lines.replace('%', "\\%")
    }

    fn sync_words(&self) -> [&str; 5] {
        [&self.program, "--state-dir", &self.state, "fleet", "sync"]
    }

    fn service(&self) -> String {
        // Behind a dash: a server that is away fails nothing.
        let sync = if self.is_in_fleet {
            format!(
                "ExecStart=-{} -q\n",
                self.sync_words().map(for_systemd).join(" ")
            )
        } else {
            String::new()
        };
        let words: Vec<String> = self.arguments().map(for_systemd).collect();
        format!(
            "[Unit]\nDescription=watchdog looks at every worktree once\n\n\
             [Service]\nType=oneshot\nEnvironment={}\nExecStart={} {}\n{sync}\
             # What calls for a person is in the output, and no failure of the sweep.\nSuccessExitStatus=12 13 14 15\nNice=10\n",
            // Variables are not resolved there, so a dollar sign stands for itself.
            for_systemd(&format!("PATH={}", self.search_path)).replace("$$", "$"),
            for_systemd(&self.program),
            words.join(" ")
        )
    }
}

fn require_plain_text(path: &Path) -> Result<String, CommandFailure> {
    let of = |path: &OsStr| {
        path.to_str()
            .filter(|text| !text.contains(char::is_control))
            .map(str::to_owned)
    };
    of(path.as_os_str()).ok_or_else(|| {
        CommandFailure::usage(format!(
            "'{}' cannot stand in a crontab or a unit: its name is not plain text",
            path.display()
        ))
        .hint("name a folder above it")
    })
}

/// Escapes a word for systemd, which has quotes, specifiers and variables of its own.
fn for_systemd(word: &str) -> String {
    let escaped = word
        .replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('%', "%%")
        .replace('$', "$$");
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,=@".contains(c);
    if escaped.chars().all(plain) && !escaped.is_empty() {
        escaped
    } else {
        format!("\"{escaped}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(path: &str) -> CronJob {
        CronJob {
            program: "/opt/my tools/watchdog".into(),
            state: "/s".into(),
            paths: vec![path.into()],
            search_path: "/usr/bin:/bin".into(),
            is_in_fleet: false,
        }
    }

    #[test]
    fn fleet_machine_copies_by_the_same_timer() {
        let joined = CronJob {
            is_in_fleet: true,
            ..job("/p")
        };
        let lines = joined.crontab();
        let sync = "*/5 * * * * '/opt/my tools/watchdog' --state-dir /s fleet sync -q 2>/dev/null";
        assert_eq!(lines.lines().last(), Some(sync), "{lines}");
        assert!(
            joined.service().contains(
                "\nExecStart=-\"/opt/my tools/watchdog\" --state-dir /s fleet sync -q\n#"
            ),
            "{}",
            joined.service()
        );
        assert!(
            !job("/p").service().contains("fleet"),
            "{}",
            job("/p").service()
        );
    }

    #[test]
    fn the_line_survives_blanks_quotes_and_percent_signs() {
        assert_eq!(
            job("/home/o'neil/50% done").crontab(),
            r"*/10 * * * * PATH=/usr/bin:/bin '/opt/my tools/watchdog' --state-dir /s sweep '/home/o'\''neil/50\% done' -q --news --only review,timeout,stopped,failed,error"
        );
    }

    #[test]
    fn the_unit_survives_blanks_quotes_specifiers_and_variables() {
        let service = job(r#"/p/50% $HOME "x""#).service();
        let line =
            r#"ExecStart="/opt/my tools/watchdog" --state-dir /s sweep "/p/50%% $$HOME \"x\"""#;
        assert!(
            service.lines().any(|unit_line| unit_line == line),
            "{service}"
        );
    }
}
