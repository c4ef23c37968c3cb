//! `watchdog init --cron`: a crontab line and a systemd timer that sweep, ready to be used as they stand.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use crate::judge::command_env::CommandEnv;
use crate::wire::setup_json::cron_json;
use watchdog_facts::verdict::Reason;

/// What a sweep of everything needs, and where.
struct CronJob {
    program: String,
    state: String,
    paths: Vec<String>,
    /// cron and systemd begin with a short one, in which neither git nor an agent may be.
    search_path: String,
}

/// Prints them.
pub fn cron(command_env: &CommandEnv, terminal: &CommandTerminal, paths: &[PathBuf]) -> Result<u8, CommandFailure> {
    let named = if paths.is_empty() { vec![command_env.worktree.clone()] } else { paths.to_vec() };
    let mut found = Vec::new();
    for path in &named {
        let path = std::fs::canonicalize(path)
            .map_err(|error| CommandFailure::new(Reason::NotARepository, format!("{} cannot be swept: {error}", path.display())))?;
        found.push(text(&path)?);
    }
    let program = std::env::current_exe()
        .map_err(|error| CommandFailure::new(Reason::StoreError, format!("where this program lies cannot be found out: {error}")))?;
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let job = CronJob {
        program: text(&program)?,
        state: text(command_env.state.root())?,
        paths: found,
        search_path: text(Path::new(&search_path)).unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into()),
    };
    let (line, service, timer) = (job.crontab(), job.service(), TIMER.to_string());
    if terminal.json {
        terminal.value(&cron_json(&line, &service, &timer));
        return Ok(0);
    }
    let folder = "${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user";
    let here = |name: &str, content: &str| format!("cat > \"{folder}/{name}\" <<'END'\n{content}END\n");
    let service = here("watchdog-sweep.service", &service);
    let timer = here("watchdog-sweep.timer", &timer);
    terminal.line(&format!(
        "# With cron: add this line to your crontab, with 'crontab -e'.\n\n{line}\n\n\
         # With systemd: paste this into a shell instead.\n\n\
         mkdir -p \"{folder}\"\n{service}{timer}systemctl --user daemon-reload\nsystemctl --user enable --now watchdog-sweep.timer\n\n\
         # A user's timers stop when the user logs out, unless: loginctl enable-linger\n\
         # What the last sweep said: journalctl --user -u watchdog-sweep.service"
    ));
    Ok(0)
}

/// What calls for a person.
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
        ["--state-dir", &self.state, "sweep"].into_iter().chain(self.paths.iter().map(String::as_str))
    }

    /// A sweep that overlaps the next one does no harm: each worktree has its own lock.
    fn crontab(&self) -> String {
        let words: Vec<String> = [self.program.as_str()].into_iter().chain(self.arguments()).map(for_shell).collect();
        // Only what calls for a person is printed, because cron mails whatever is.
        let command = format!("PATH={} {} -q --news --only {CALLS}", for_shell(&self.search_path), words.join(" "));
        // cron takes a percent sign for the end of the command.
        format!("*/10 * * * * {}", command.replace('%', "\\%"))
    }

    fn service(&self) -> String {
        let words: Vec<String> = self.arguments().map(for_systemd).collect();
        format!(
            "[Unit]\nDescription=watchdog looks at every worktree once\n\n\
             [Service]\nType=oneshot\nEnvironment={}\nExecStart={} {}\n\
             # What calls for a person is in the output, and no failure of the sweep.\nSuccessExitStatus=12 13 14 15\nNice=10\n",
            // Variables are not resolved there, so a dollar sign stands for itself.
            for_systemd(&format!("PATH={}", self.search_path)).replace("$$", "$"),
            for_systemd(&self.program),
            words.join(" ")
        )
    }
}

fn text(path: &Path) -> Result<String, CommandFailure> {
    let of = |path: &OsStr| path.to_str().filter(|text| !text.contains(char::is_control)).map(str::to_owned);
    of(path.as_os_str()).ok_or_else(|| {
        CommandFailure::usage(format!("'{}' cannot stand in a crontab or a unit: its name is not plain text", path.display()))
            .hint("name a folder above it")
    })
}

/// One word for a shell.
fn for_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,=@".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// One word for systemd, which has quotes, specifiers and variables of its own.
fn for_systemd(word: &str) -> String {
    let escaped = word.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,=@".contains(c);
    if escaped.chars().all(plain) && !escaped.is_empty() { escaped } else { format!("\"{escaped}\"") }
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
        }
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
        let line = r#"ExecStart="/opt/my tools/watchdog" --state-dir /s sweep "/p/50%% $$HOME \"x\"""#;
        assert!(service.lines().any(|found| found == line), "{service}");
    }
}
