//! The command that starts a session with a prompt: the user's own program, or a known agent as its preset says. Pure.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use super::preset::definition::{AgentPreset, DefaultArgs};
use super::preset::template::{TemplateArg, fill_placeholders};
use super::session_id::is_session_id;
use super::stream::StreamFormat;
use watchdog_core::config::PresetName;
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
        /// Its name, as it was written.
        name: PresetName,
        /// How it is started.
        preset: Arc<AgentPreset>,
        /// Another file than the preset's program.
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
    /// Variables to set.
    pub env: Vec<(OsString, OsString)>,
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
    /// How its output is read, where its preset says it.
    pub fn stream(&self) -> Option<&StreamFormat> {
        match self {
            SessionAgent::Agent { preset, .. } => preset.stream.as_ref(),
            _ => None,
        }
    }

    /// Whether a session goes on in an earlier conversation. A program of the user's gets its id, and is taken to do so.
    pub fn takes_up(&self, conversation: ConversationChoice<'_>) -> bool {
        match self {
            SessionAgent::Program(_) => conversation != ConversationChoice::Fresh,
            SessionAgent::Agent { preset, .. } => resume_args(preset, conversation).is_some(),
        }
    }

    /// The command that gets this prompt: on its stdin, unless an argument contains it.
    ///
    /// # Errors
    /// When the prompt is too long for an argument.
    pub fn command(
        &self,
        prompt: &str,
        file: &Path,
        conversation: ConversationChoice<'_>,
    ) -> Result<SessionCommand, PromptTooLong> {
        let read = StdinSource::Bytes(prompt.as_bytes().to_vec());
        match self {
            SessionAgent::Program(argv) => filled_in(argv, prompt, file).map(|filled_command| {
                filled_command.unwrap_or(SessionCommand {
                    argv: argv.clone(),
                    stdin: read,
                    env: Vec::new(),
                })
            }),
            SessionAgent::Agent {
                preset,
                program,
                args,
                ..
            } => {
                let program = program
                    .clone()
                    .unwrap_or_else(|| preset.program.as_str().into());
                agent_command(preset, (program, args), (prompt, file), conversation)
            }
        }
    }

    /// The same without the prompt itself, for a person.
    pub fn display_argv(&self, file: &Path, conversation: ConversationChoice<'_>) -> Vec<String> {
        let command = self
            .command("{prompt}", file, conversation)
            .map(|command| command.argv)
            .unwrap_or_default();
        command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}

/// A program's arguments with the prompt or its file in them; `None` where they ask for neither.
fn filled_in(
    argv: &[OsString],
    prompt: &str,
    file: &Path,
) -> Result<Option<SessionCommand>, PromptTooLong> {
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
        let named = text
            .replace("{{prompt_file}}", "{prompt_file}")
            .replace("{prompt_file}", &file.to_string_lossy());
        let named = named.replace("{{prompt}}", "{prompt}");
        filled.push(if with_prompt {
            check_argument_length(&named.replace("{prompt}", prompt))?
        } else {
            named.into()
        });
    }
    Ok(has_placeholder.then_some(SessionCommand {
        argv: filled,
        stdin: StdinSource::Null,
        env: Vec::new(),
    }))
}

fn check_argument_length(text: &str) -> Result<OsString, PromptTooLong> {
    if text.len() <= LONGEST_ARGUMENT {
        Ok(text.into())
    } else {
        Err(PromptTooLong { bytes: text.len() })
    }
}

/// The command of a known agent.
fn agent_command(
    preset: &AgentPreset,
    (program, args): (OsString, &[OsString]),
    (prompt, file): (&str, &Path),
    conversation: ConversationChoice<'_>,
) -> Result<SessionCommand, PromptTooLong> {
    let id = get_session_id(conversation);
    let value = |placeholder: &str| -> Option<OsString> {
        match placeholder {
            "id" => id.map(Into::into),
            "prompt" => Some(prompt.into()),
            "prompt_file" => Some(file.into()),
            _ => None,
        }
    };
    let resumed = resume_args(preset, conversation);
    let mut argv = vec![program];
    let fill = |words: &[String]| {
        words
            .iter()
            .map(|word| fill_placeholders(word, &value))
            .collect::<Vec<_>>()
    };
    let words = || preset.session.args.iter().flat_map(TemplateArg::words);
    let (takes_prompt, takes_file) = (
        words().any(|word| word.contains("{prompt}")),
        words().any(|word| word.contains("{prompt_file}")),
    );
    if takes_prompt {
        check_argument_length(prompt)?;
    }
    for arg in &preset.session.args {
        match arg.placeholder() {
            Some("conversation") => resumed
                .unwrap_or_default()
                .iter()
                .for_each(|arg| argv.extend(fill(arg.words()))),
            // The session runs unattended: without permissions it could not even write a file.
            Some("defaults") if has_permission_args(args, &preset.session.defaults) => {}
            Some("defaults") => argv.extend(fill(&preset.session.defaults.args)),
            Some("user") => argv.extend(args.iter().cloned()),
            _ => argv.extend(fill(arg.words())),
        }
    }
    let stdin = if takes_prompt || takes_file {
        StdinSource::Null
    } else {
        StdinSource::Bytes(prompt.as_bytes().to_vec())
    };
    let env = preset
        .session
        .env
        .iter()
        .map(|(name, text)| (name.into(), text.into()))
        .collect();
    Ok(SessionCommand { argv, stdin, env })
}

/// Whether the user's arguments name permissions themselves.
fn has_permission_args(args: &[OsString], defaults: &DefaultArgs) -> bool {
    let is = |arg: &OsStr, option: &str| {
        arg == option || arg.to_string_lossy().starts_with(&format!("{option}="))
    };
    let has = |option: &String| match option.split_once(' ') {
        None => args.iter().any(|arg| is(arg, option)),
        Some((option, key)) => {
            let values = args
                .windows(2)
                .filter(|pair| pair[0] == option)
                .map(|pair| pair[1].to_string_lossy());
            let joined = args.iter().filter_map(|arg| {
                Some(
                    arg.to_str()?
                        .strip_prefix(option)?
                        .trim_start_matches('=')
                        .into(),
                )
            });
            values.chain(joined).any(|value| value.starts_with(key))
        }
    };
    defaults.unless.iter().any(has)
}

/// The arguments that name the conversation a session resumes; `None` if it begins a new one.
fn resume_args<'a>(
    preset: &'a AgentPreset,
    conversation: ConversationChoice<'_>,
) -> Option<&'a [TemplateArg]> {
    match (conversation, get_session_id(conversation)) {
        (ConversationChoice::Fresh, _) => None,
        (_, Some(_)) => preset
            .resume
            .by_id
            .as_deref()
            .or(preset.resume.latest.as_deref()),
        (_, None) => preset.resume.latest.as_deref(),
    }
}

fn get_session_id<'a>(conversation: ConversationChoice<'a>) -> Option<&'a str> {
    match conversation {
        ConversationChoice::Resumed(id) => id.filter(|id| is_session_id(id)),
        ConversationChoice::Fresh => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::PresetCatalog;

    const ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";

    fn line(worker: &SessionAgent, conversation: ConversationChoice<'_>) -> String {
        let command = worker
            .command("DO IT", Path::new("/state/p.md"), conversation)
            .expect("a short prompt");
        let read = if let StdinSource::Bytes(bytes) = command.stdin {
            format!(" < {}", String::from_utf8_lossy(&bytes))
        } else {
            String::new()
        };
        command
            .argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" ")
            + &read
    }

    fn new_agent(preset: &str, args: &[&str]) -> SessionAgent {
        let preset = PresetCatalog::built_in_named(preset).expect("it is built in");
        let name = PresetName::parse(&preset.name).expect("a good name");
        SessionAgent::Agent {
            name,
            preset,
            program: None,
            args: args.iter().map(Into::into).collect(),
        }
    }

    fn program(argv: &[&str]) -> SessionAgent {
        SessionAgent::Program(argv.iter().map(Into::into).collect())
    }

    #[test]
    fn prompt_goes_to_stdin_unless_argument_takes_it() {
        for (argv, expected) in [
            (vec!["a", "-p"], "a -p < DO IT"),
            (vec!["a", "{prompt}"], "a DO IT"),
            (vec!["a", "--say={{prompt}}!"], "a --say=DO IT!"),
            (vec!["a", "-f", "{prompt_file}"], "a -f /state/p.md"),
            (
                vec!["a", "-f", "{{prompt_file}}", "{prompt}"],
                "a -f /state/p.md DO IT",
            ),
            (vec!["a", "{prompts}"], "a {prompts} < DO IT"),
        ] {
            assert_eq!(line(&program(&argv), ConversationChoice::Fresh), expected);
        }
        let tricky = program(&["a", "{prompt}"]).command(
            "{prompt_file} {prompt}",
            Path::new("/x"),
            ConversationChoice::Fresh,
        );
        assert_eq!(
            tricky.expect("a short prompt").argv[1],
            "{prompt_file} {prompt}"
        );
    }

    #[test]
    fn prompt_without_argument_is_refused_with_remedy() {
        let long = "x".repeat(200_000);
        let fits = |worker: SessionAgent| {
            worker.command(&long, Path::new("/p"), ConversationChoice::Fresh)
        };
        assert!(
            fits(program(&["a", "{prompt}"]))
                .is_err_and(|error| error.to_string().contains("{prompt_file}"))
        );
        assert!(fits(new_agent("copilot", &[])).is_err());
        for worker in [
            program(&["a"]),
            program(&["a", "{prompt_file}"]),
            new_agent("claude", &[]),
            new_agent("codex", &[]),
            new_agent("opencode", &[]),
        ] {
            assert!(fits(worker).is_ok());
        }
    }

    #[test]
    fn each_agent_is_started_by_its_own_words() {
        let fresh = [
            (
                "claude",
                "claude -p --output-format stream-json --verbose --permission-mode acceptEdits < DO IT",
            ),
            (
                "codex",
                "codex exec -c sandbox_mode=\"workspace-write\" --json - < DO IT",
            ),
            (
                "gemini",
                "gemini --output-format stream-json --approval-mode auto_edit < DO IT",
            ),
            ("opencode", "opencode run --format json < DO IT"),
            (
                "qwen",
                "qwen -o stream-json --approval-mode auto-edit < DO IT",
            ),
            (
                "copilot",
                "copilot --output-format json --allow-tool write -p DO IT",
            ),
            (
                "cursor",
                "cursor-agent -p --output-format stream-json DO IT",
            ),
            ("amp", "amp -x DO IT --stream-json"),
        ];
        for (preset, expected) in fresh {
            assert_eq!(
                line(&new_agent(preset, &[]), ConversationChoice::Fresh),
                expected
            );
        }
        assert_eq!(
            fresh.map(|(name, _)| name),
            PresetCatalog::built_in()
                .map(|preset| preset.name.as_str())
                .collect::<Vec<_>>()[..]
        );
    }

    #[test]
    fn user_permission_arguments_suppress_the_default() {
        for (preset, args, default, kept) in [
            (
                "claude",
                &["--allowedTools", "Bash"][..],
                "acceptEdits",
                false,
            ),
            ("claude", &["--permission-mode=plan"], "acceptEdits", false),
            ("claude", &["--model", "opus"], "acceptEdits", true),
            ("codex", &["-s", "read-only"], "workspace-write", false),
            (
                "codex",
                &["-c", "sandbox_mode=\"danger-full-access\""],
                "workspace-write",
                false,
            ),
            (
                "codex",
                &["-csandbox_mode=read-only"],
                "workspace-write",
                false,
            ),
            (
                "codex",
                &["--config=sandbox_mode=read-only"],
                "workspace-write",
                false,
            ),
            (
                "codex",
                &["-c", "model_reasoning_effort=\"high\""],
                "workspace-write",
                true,
            ),
            ("codex", &["--add-dir", "../other"], "workspace-write", true),
            ("gemini", &["--yolo"], "auto_edit", false),
            ("gemini", &["--skip-trust"], "auto_edit", true),
            ("qwen", &["--approval-mode", "yolo"], "auto-edit", false),
            (
                "copilot",
                &["--allow-all-tools"],
                "--allow-tool write",
                false,
            ),
        ] {
            let line = line(&new_agent(preset, args), ConversationChoice::Fresh);
            assert_eq!(
                (line.contains(default), line.contains(&args.join(" "))),
                (kept, true),
                "{line}"
            );
        }
    }

    #[test]
    fn only_valid_ids_resume_a_conversation() {
        let ses = "ses_dfde5e0f2ffeKDNAhfAScDx7E4";
        for (preset, id, expected) in [
            (
                "claude",
                Some(ID),
                "claude -p --output-format stream-json --verbose --resume ID --permission-mode acceptEdits X < DO IT",
            ),
            (
                "claude",
                None,
                "claude -p --output-format stream-json --verbose --continue --permission-mode acceptEdits X < DO IT",
            ),
            // Behind `resume` codex refuses options that it takes before it.
            (
                "codex",
                Some(ID),
                "codex exec -c sandbox_mode=\"workspace-write\" X resume ID --json - < DO IT",
            ),
            (
                "codex",
                None,
                "codex exec -c sandbox_mode=\"workspace-write\" X resume --last --json - < DO IT",
            ),
            (
                "gemini",
                Some(ID),
                "gemini --output-format stream-json --resume ID --approval-mode auto_edit X < DO IT",
            ),
            (
                "gemini",
                None,
                "gemini --output-format stream-json --resume latest --approval-mode auto_edit X < DO IT",
            ),
            (
                "opencode",
                Some(ses),
                "opencode run --format json --session ID X < DO IT",
            ),
            (
                "opencode",
                None,
                "opencode run --format json --continue X < DO IT",
            ),
            (
                "qwen",
                Some(ID),
                "qwen -o stream-json --resume ID --approval-mode auto-edit X < DO IT",
            ),
            (
                "qwen",
                None,
                "qwen -o stream-json --continue --approval-mode auto-edit X < DO IT",
            ),
            (
                "copilot",
                Some(ID),
                "copilot --output-format json --resume=ID --allow-tool write X -p DO IT",
            ),
            (
                "cursor",
                Some(ID),
                "cursor-agent -p --output-format stream-json --resume ID X DO IT",
            ),
        ] {
            let command_text = line(&new_agent(preset, &["X"]), ConversationChoice::Resumed(id));
            assert_eq!(
                id.map_or(command_text.clone(), |id| command_text.replace(id, "ID")),
                expected
            );
        }
        let hostile = line(
            &new_agent("claude", &[]),
            ConversationChoice::Resumed(Some("--dangerously-skip-permissions")),
        );
        assert!(
            hostile.contains("--continue") && !hostile.contains("--dangerously"),
            "{hostile}"
        );
    }
}
