//! The program that called this one, past the shell that a host puts between: its words, and whether a person can type to it.

/// A program as the system shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallingProgram {
    /// Its pid.
    pub pid: u32,
    /// Its command line, the program's own name first.
    pub words: Vec<String>,
    /// Whether its input is a terminal.
    pub stdin_is_terminal: bool,
}

/// The shells that run the command of a hook.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ash"];

/// The program that called this one; `None` where the system does not show it.
pub fn calling_program() -> Option<CallingProgram> {
    let mut at = std::process::id();
    // A host may wrap its shell in another one, hardly more.
    for _ in 0..3 {
        at = watchdog_system::read_one(at)?.parent;
        let ancestor = read_program(at)?;
        if !is_shell_with_command(&ancestor.words) {
            return Some(ancestor);
        }
    }
    None
}

fn read_program(pid: u32) -> Option<CallingProgram> {
    let words = watchdog_system::program_words(pid)?;
    let stdin = watchdog_system::stdin_of(pid)?;
    let stdin_is_terminal = stdin.starts_with("/dev/pts")
        || stdin.starts_with("/dev/tty")
        || stdin.as_os_str() == "/dev/console";
    Some(CallingProgram {
        pid,
        words,
        stdin_is_terminal,
    })
}

fn is_shell_with_command(words: &[String]) -> bool {
    let name = words
        .first()
        .and_then(|word| word.rsplit('/').next())
        .unwrap_or_default()
        .trim_start_matches('-');
    let runs_a_command =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    SHELLS.contains(&name) && words.iter().skip(1).any(runs_a_command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_shell_is_not_the_calling_program() {
        for (line, shell) in [
            ("sh -c exec", true),
            ("/bin/bash -lc x", true),
            ("/usr/bin/zsh -i -c x", true),
            ("bash", false),
            ("-bash", false),
            ("codex -c x", false),
            ("bash script.sh", false),
            ("", false),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(is_shell_with_command(&words), shell, "{line}");
        }
    }

    #[test]
    fn somebody_called_this_test() {
        let is_shown = watchdog_system::read_all().is_ok();
        assert_eq!(
            calling_program().is_some_and(|caller| !caller.words.is_empty()),
            is_shown
        );
    }
}
