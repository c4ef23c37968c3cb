//! The command that starts a session with a prompt: the user's own program, or a known agent with its options. Pure.
//!
//! Claude Code was tried (2.1.328). The others follow their own `--help` (codex-cli 0.169, gemini 0.61, opencode 1.18); their run-time
//! behaviour was not tried.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::session_id::is_session_id;
use watchdog_core::config::settings::PresetName;
use watchdog_process::builder::StdinSource;

/// The longest prompt that an argument takes: the system has 128 KiB for one, its end included.
const LONGEST_ARGUMENT: usize = 120 * 1024;

/// The agent of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionAgent {
    /// A program with its arguments, in which `{prompt}` (or `{{prompt}}`) and `{prompt_file}` are filled in.
    Program(Vec<OsString>),
    /// A known agent.
    Agent {
        /// Which one.
        preset: PresetName,
        /// Another file than the preset's own name in `PATH`.
        program: Option<OsString>,
        /// Further arguments of the user's.
        args: Vec<OsString>,
    },
}

/// Which conversation a session takes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationChoice<'a> {
    /// A new one.
    Fresh,
    /// The last one, by its id where that is known.
    Resumed(Option<&'a str>),
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCommand {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The source of its stdin.
    pub stdin: StdinSource,
}

/// A prompt that does not fit where it should go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prompt has {bytes} bytes, and an argument takes {LONGEST_ARGUMENT}; let the program read it from its stdin or from {{prompt_file}}"
)]
pub struct PromptTooLong {
    /// Its size.
    pub bytes: usize,
}

impl SessionAgent {
    /// The command that gets this prompt: on its stdin, unless an argument contains it.
    ///
    /// # Errors
    /// When the prompt is too long for an argument.
    pub fn command(&self, prompt: &str, file: &Path, conversation: ConversationChoice<'_>) -> Result<SessionCommand, PromptTooLong> {
        let read = StdinSource::Bytes(prompt.as_bytes().to_vec());
        match self {
            SessionAgent::Program(argv) => {
                filled_in(argv, prompt, file).map(|found| found.unwrap_or(SessionCommand { argv: argv.clone(), stdin: read }))
            }
            SessionAgent::Agent { preset, program, args } => {
                let start = |name: &str| program.clone().unwrap_or_else(|| name.into());
                let (argv, stdin) = match preset.as_str() {
                    "codex" => (codex(start("codex"), args, conversation), read),
                    "gemini" => (gemini(start("gemini"), args, conversation), read),
                    "opencode" => {
                        let mut argv = opencode(start("opencode"), args, conversation);
                        argv.push(argument(prompt)?);
                        (argv, StdinSource::Null)
                    }
                    // Whatever else is named was refused where it was read.
                    _ => (claude(start("claude"), args, conversation), read),
                };
                Ok(SessionCommand { argv, stdin })
            }
        }
    }

    /// The same without the prompt itself, for a person.
    pub fn shown(&self, file: &Path, conversation: ConversationChoice<'_>) -> Vec<String> {
        let command = self.command("{prompt}", file, conversation).map(|command| command.argv).unwrap_or_default();
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

/// A program's arguments with the prompt or its file in them; `None` where they ask for neither.
fn filled_in(argv: &[OsString], prompt: &str, file: &Path) -> Result<Option<SessionCommand>, PromptTooLong> {
    let mut has_placeholder = false;
    let mut filled = Vec::with_capacity(argv.len());
    for word in argv {
        // An argument that is no text is not one that was typed with a placeholder.
        let Some(text) = word.to_str().filter(|text| text.contains("{prompt")) else {
            filled.push(word.clone());
            continue;
        };
        let (with_prompt, with_file) = (text.contains("{prompt}"), text.contains("{prompt_file}"));
        has_placeholder |= with_prompt || with_file;
        // The file first: a prompt that speaks of `{prompt_file}` keeps its words.
        let named = text.replace("{{prompt_file}}", "{prompt_file}").replace("{prompt_file}", &file.to_string_lossy());
        let named = named.replace("{{prompt}}", "{prompt}");
        filled.push(if with_prompt { argument(&named.replace("{prompt}", prompt))? } else { named.into() });
    }
    Ok(has_placeholder.then_some(SessionCommand { argv: filled, stdin: StdinSource::Null }))
}

fn argument(text: &str) -> Result<OsString, PromptTooLong> {
    if text.len() <= LONGEST_ARGUMENT { Ok(text.into()) } else { Err(PromptTooLong { bytes: text.len() }) }
}

/// Whether the user's arguments say something about a matter themselves.
fn says(args: &[OsString], options: &[&str]) -> bool {
    let named = |arg: &OsStr, option: &str| arg == option || arg.to_string_lossy().starts_with(&format!("{option}="));
    args.iter().any(|arg| options.iter().any(|option| named(arg, option)))
}

fn words(program: OsString, words: &[&str]) -> Vec<OsString> {
    std::iter::once(program).chain(words.iter().map(Into::into)).collect()
}

fn known<'a>(conversation: ConversationChoice<'a>) -> Option<&'a str> {
    match conversation {
        ConversationChoice::Resumed(id) => id.filter(|id| is_session_id(id)),
        ConversationChoice::Fresh => None,
    }
}

fn claude(program: OsString, args: &[OsString], conversation: ConversationChoice<'_>) -> Vec<OsString> {
    let mut argv = words(program, &["-p", "--output-format", "stream-json", "--verbose"]);
    match (conversation, known(conversation)) {
        (_, Some(id)) => argv.extend(["--resume".into(), id.into()]),
        (ConversationChoice::Resumed(_), None) => argv.push("--continue".into()),
        (ConversationChoice::Fresh, None) => {}
    }
    let permissions =
        ["--permission-mode", "--allowedTools", "--allowed-tools", "--dangerously-skip-permissions", "--restricted", "--tools"];
    // The session runs unattended: without permissions it could not even write a file. Commands stay forbidden.
    if !says(args, &permissions) {
        argv.extend(["--permission-mode".into(), "acceptEdits".into()]);
    }
    argv.extend(args.iter().cloned());
    argv
}

fn codex(program: OsString, args: &[OsString], conversation: ConversationChoice<'_>) -> Vec<OsString> {
    let mut argv = words(program, &["exec"]);
    match (conversation, known(conversation)) {
        (_, Some(id)) => argv.extend(["resume".into(), id.into()]),
        (ConversationChoice::Resumed(_), None) => argv.extend(["resume".into(), "--last".into()]),
        (ConversationChoice::Fresh, None) => {}
    }
    argv.push("--json".into());
    if !says(args, &["-s", "--sandbox", "--full-auto", "--dangerously-bypass-approvals-and-sandbox", "-c", "--config"]) {
        argv.extend(["-c".into(), "sandbox_mode=\"workspace-write\"".into()]);
    }
    argv.extend(args.iter().cloned());
    argv.push("-".into());
    argv
}

fn gemini(program: OsString, args: &[OsString], conversation: ConversationChoice<'_>) -> Vec<OsString> {
    let mut argv = words(program, &["--output-format", "stream-json"]);
    if conversation != ConversationChoice::Fresh {
        argv.extend(["--resume".into(), "latest".into()]);
    }
    if !says(args, &["--approval-mode", "-y", "--yolo"]) {
        argv.extend(["--approval-mode".into(), "auto_edit".into()]);
    }
    argv.extend(args.iter().cloned());
    argv
}

fn opencode(program: OsString, args: &[OsString], conversation: ConversationChoice<'_>) -> Vec<OsString> {
    let mut argv = words(program, &["run", "--format", "json"]);
    if conversation != ConversationChoice::Fresh {
        argv.push("--continue".into());
    }
    argv.extend(args.iter().cloned());
    argv
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";

    fn line(worker: &SessionAgent, conversation: ConversationChoice<'_>) -> String {
        let command = worker.command("DO IT", Path::new("/state/p.md"), conversation).expect("a short prompt");
        let read =
            if let StdinSource::Bytes(bytes) = command.stdin { format!(" < {}", String::from_utf8_lossy(&bytes)) } else { String::new() };
        command.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ") + &read
    }

    fn agent(preset: PresetName, args: &[&str]) -> SessionAgent {
        SessionAgent::Agent { preset, program: None, args: args.iter().map(Into::into).collect() }
    }

    fn program(argv: &[&str]) -> SessionAgent {
        SessionAgent::Program(argv.iter().map(Into::into).collect())
    }

    #[test]
    fn a_program_reads_the_prompt_unless_an_argument_asks_for_it() {
        for (argv, expected) in [
            (vec!["a", "-p"], "a -p < DO IT"),
            (vec!["a", "{prompt}"], "a DO IT"),
            (vec!["a", "--say={{prompt}}!"], "a --say=DO IT!"),
            (vec!["a", "-f", "{prompt_file}"], "a -f /state/p.md"),
            (vec!["a", "-f", "{{prompt_file}}", "{prompt}"], "a -f /state/p.md DO IT"),
            (vec!["a", "{prompts}"], "a {prompts} < DO IT"),
        ] {
            assert_eq!(line(&program(&argv), ConversationChoice::Fresh), expected);
        }
        let tricky = program(&["a", "{prompt}"]).command("{prompt_file} {prompt}", Path::new("/x"), ConversationChoice::Fresh);
        assert_eq!(tricky.expect("a short prompt").argv[1], "{prompt_file} {prompt}");
    }

    #[test]
    fn a_prompt_that_no_argument_takes_is_refused_with_the_way_out() {
        let long = "x".repeat(200_000);
        let fits = |worker: SessionAgent| worker.command(&long, Path::new("/p"), ConversationChoice::Fresh);
        assert!(fits(program(&["a", "{prompt}"])).is_err_and(|error| error.to_string().contains("{prompt_file}")));
        assert!(fits(agent(PresetName::OPENCODE, &[])).is_err());
        for worker in [program(&["a"]), program(&["a", "{prompt_file}"]), agent(PresetName::CLAUDE, &[]), agent(PresetName::CODEX, &[])] {
            assert!(fits(worker).is_ok());
        }
    }

    #[test]
    fn each_agent_is_started_by_its_own_words() {
        for (preset, fresh) in [
            (PresetName::CLAUDE, "claude -p --output-format stream-json --verbose --permission-mode acceptEdits < DO IT"),
            (PresetName::CODEX, "codex exec --json -c sandbox_mode=\"workspace-write\" - < DO IT"),
            (PresetName::GEMINI, "gemini --output-format stream-json --approval-mode auto_edit < DO IT"),
            (PresetName::OPENCODE, "opencode run --format json DO IT"),
        ] {
            assert_eq!(line(&agent(preset, &[]), ConversationChoice::Fresh), fresh);
        }
    }

    #[test]
    fn what_the_user_says_about_permissions_is_not_added_to() {
        let claude = |args: &[&str]| line(&agent(PresetName::CLAUDE, args), ConversationChoice::Fresh);
        assert_eq!(claude(&["--allowedTools", "Bash"]), "claude -p --output-format stream-json --verbose --allowedTools Bash < DO IT");
        assert!(!claude(&["--permission-mode=plan"]).contains("acceptEdits"));
        assert!(claude(&["--model", "opus"]).ends_with("--permission-mode acceptEdits --model opus < DO IT"));
        assert!(!line(&agent(PresetName::CODEX, &["-s", "read-only"]), ConversationChoice::Fresh).contains("workspace-write"));
        assert!(!line(&agent(PresetName::GEMINI, &["--yolo"]), ConversationChoice::Fresh).contains("auto_edit"));
    }

    #[test]
    fn a_conversation_is_taken_up_by_its_id_and_only_a_real_one_is_an_id() {
        let resumed = |preset, id| line(&agent(preset, &[]), ConversationChoice::Resumed(id));
        assert!(resumed(PresetName::CLAUDE, Some(ID)).contains(&format!("--verbose --resume {ID} --permission-mode")));
        assert!(resumed(PresetName::CLAUDE, None).contains("--verbose --continue --permission-mode"));
        assert!(resumed(PresetName::CLAUDE, Some("--dangerously-skip-permissions")).contains("--continue"));
        assert!(resumed(PresetName::CODEX, Some(ID)).starts_with(&format!("codex exec resume {ID} --json")));
        assert!(resumed(PresetName::CODEX, None).starts_with("codex exec resume --last --json"));
        assert!(resumed(PresetName::GEMINI, None).contains("--resume latest"));
        assert!(resumed(PresetName::OPENCODE, None).contains("--continue"));
    }
}
