//! The command of a question: its arguments, environment and input, as a preset says. Pure.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::definition::{AgentPreset, QuestionTemplate};
use super::template::{TemplateArg, fill_placeholders};
use crate::plan_prompt::PLAN_SCHEMA;
use crate::prompt::REPLY_SCHEMA;
use crate::session_id::is_session_id;
use watchdog_core::config::settings::AgentSettings;

/// The invocation of an agent for a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeInvocation {
    /// The program and what follows, option by option.
    words: Vec<InvocationArg>,
    /// Variables to set, or to remove (`None`).
    pub env: BTreeMap<OsString, Option<OsString>>,
    /// The input on stdin.
    pub stdin: Vec<u8>,
    /// Options of which one must stay.
    one_of: Vec<String>,
}

/// An option with its value, or a positional word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct InvocationArg {
    text: OsString,
    values: Vec<OsString>,
    /// Whether the probe could do harm without it.
    safety: bool,
}

impl ProbeInvocation {
    /// Everything as one argument vector.
    pub fn argv(&self) -> Vec<OsString> {
        self.words
            .iter()
            .flat_map(|word| {
                std::iter::once(&word.text)
                    .cloned()
                    .chain(word.values.iter().cloned())
            })
            .collect()
    }

    /// The same without an option that the program does not know.
    /// `None`: it is not there, or the probe could do harm without it.
    pub fn without(&self, option: &str) -> Option<Self> {
        let index = self
            .words
            .iter()
            .position(|word| word.text == option && !word.safety)?;
        let mut fewer = self.clone();
        fewer.words.remove(index);
        if self.one_of.iter().any(|alternative| alternative == option) {
            for word in fewer.words.iter_mut().filter(|word| {
                self.one_of
                    .iter()
                    .any(|alternative| word.text == alternative.as_str())
            }) {
                word.safety = true;
            }
        }
        Some(fewer)
    }

    fn new(program: OsString, asking: &InvocationInputs<'_>) -> Self {
        let env = BTreeMap::from([
            (
                "WATCHDOG_PROBE".into(),
                Some(asking.number.to_string().into()),
            ),
            (
                "WATCHDOG_QUESTION".into(),
                Some(asking.question.as_str().into()),
            ),
        ]);
        let words = vec![InvocationArg {
            text: program,
            values: Vec::new(),
            safety: true,
        }];
        ProbeInvocation {
            words,
            env,
            stdin: Vec::new(),
            one_of: Vec::new(),
        }
    }
}

/// The kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuestionKind {
    /// Its own state.
    #[default]
    Probe,
    /// Commits for the work that is there.
    Plan,
    /// A free-form answer to a self-contained question. It resumes no session.
    Judge,
}

impl QuestionKind {
    /// The word in `WATCHDOG_QUESTION`.
    fn as_str(self) -> &'static str {
        match self {
            QuestionKind::Probe => "probe",
            QuestionKind::Plan => "plan",
            QuestionKind::Judge => "judge",
        }
    }

    /// The schema of the answer; `None` = prose.
    pub fn schema(self) -> Option<&'static str> {
        match self {
            QuestionKind::Probe => Some(REPLY_SCHEMA),
            QuestionKind::Plan => Some(PLAN_SCHEMA),
            QuestionKind::Judge => None,
        }
    }
}

/// The inputs of an invocation.
#[derive(Debug, Clone)]
pub struct InvocationInputs<'a> {
    /// Whom to ask.
    pub settings: &'a AgentSettings,
    /// The agent's preset; no part in a configured `agent.probe`.
    pub preset: Option<&'a AgentPreset>,
    /// Another file than the preset's own name in `PATH`.
    pub program: Option<OsString>,
    /// The session to resume. Only the id of one counts; anything else is unknown.
    pub session_id: Option<&'a str>,
    /// The kind of question.
    pub question: QuestionKind,
    /// Which one of its kind it is, from 1.
    pub number: u32,
    /// The question.
    pub prompt: &'a str,
    /// How long it may take.
    pub timeout: Duration,
    /// Files that the question needs.
    pub places: QuestionPlaces<'a>,
}

/// Files that a question needs, as far as they were made or found.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuestionPlaces<'a> {
    /// The schema of the answer.
    pub schema_file: Option<&'a Path>,
    /// A home for the agent.
    pub own_home: Option<&'a Path>,
    /// The transcript of the session that is asked.
    pub transcript: Option<&'a Path>,
}

/// Why a question cannot be put.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnaskableQuestion {
    /// The agent's preset has no question of this kind.
    #[error(
        "{title} cannot be asked without a trace in the session that worked; name a program that answers with agent.probe"
    )]
    NoQuestion {
        /// The agent.
        title: String,
    },
    /// The session to ask is not known.
    #[error("no session of {title} is known here")]
    NoSession {
        /// The agent.
        title: String,
    },
}

impl UnaskableQuestion {
    /// Whether a session that is known would help.
    pub fn is_for_want_of_a_session(&self) -> bool {
        matches!(self, UnaskableQuestion::NoSession { .. })
    }
}

/// Builds what to run. A configured `agent.probe` replaces the preset: its argv, the prompt on its stdin.
///
/// # Errors
/// Fails if the agent cannot be asked this.
pub fn build_invocation(
    asking: &InvocationInputs<'_>,
) -> Result<ProbeInvocation, UnaskableQuestion> {
    // At the start of a prompt these would make it a slash command or an option.
    let marked = asking
        .prompt
        .trim_start()
        .starts_with(['/', '-'])
        .then(|| format!("STATUS PROBE. {}", asking.prompt));
    let asking = &InvocationInputs {
        prompt: marked.as_deref().unwrap_or(asking.prompt),
        ..asking.clone()
    };
    let stdin = asking.prompt.as_bytes().to_vec();
    if let Some(argv) = &asking.settings.probe {
        let mut words = argv.iter().map(|word| InvocationArg {
            text: word.into(),
            values: Vec::new(),
            safety: false,
        });
        let program = words.next().map(|word| word.text).unwrap_or_default();
        let mut custom = ProbeInvocation {
            stdin,
            ..ProbeInvocation::new(program, asking)
        };
        custom.words.extend(words);
        return Ok(custom);
    }
    let title = || {
        asking
            .preset
            .map_or_else(|| "the agent".to_owned(), |preset| preset.title.clone())
    };
    let preset = asking
        .preset
        .ok_or_else(|| UnaskableQuestion::NoQuestion { title: title() })?;
    let question = preset
        .question
        .as_ref()
        .ok_or_else(|| UnaskableQuestion::NoQuestion { title: title() })?;
    let id = asking.session_id.filter(|id| is_session_id(id));
    let conversation = match (asking.question, id) {
        (QuestionKind::Judge, _) => question.fresh.as_deref(),
        (_, Some(_)) => question.by_id.as_deref().or(question.latest.as_deref()),
        (_, None) => question.latest.as_deref(),
    };
    let by_transcript = question.asks_by_transcript() && asking.question != QuestionKind::Judge;
    let Some(conversation) =
        conversation.filter(|_| !by_transcript || asking.places.transcript.is_some())
    else {
        return Err(match question.by_id {
            Some(_) if asking.question != QuestionKind::Judge => {
                UnaskableQuestion::NoSession { title: title() }
            }
            _ => UnaskableQuestion::NoQuestion { title: title() },
        });
    };
    let program = asking
        .program
        .clone()
        .unwrap_or_else(|| preset.program.as_str().into());
    Ok(preset_invocation(
        asking,
        (program, question),
        (conversation, id),
        stdin,
    ))
}

fn preset_invocation(
    asking: &InvocationInputs<'_>,
    (program, question): (OsString, &QuestionTemplate),
    (conversation, id): (&[TemplateArg], Option<&str>),
    stdin: Vec<u8>,
) -> ProbeInvocation {
    let mut built = ProbeInvocation {
        one_of: question.safety_one_of.clone(),
        ..ProbeInvocation::new(program, asking)
    };
    let value = |placeholder: &str| -> Option<OsString> {
        match placeholder {
            "id" => id.map(Into::into),
            "model" => choose_model(asking, question).map(Into::into),
            "schema" => asking.question.schema().map(Into::into),
            "schema_file" => asking.places.schema_file.map(Into::into),
            "own_home" => asking.places.own_home.map(Into::into),
            "transcript" => asking.places.transcript.map(Into::into),
            "prompt" => Some(asking.prompt.into()),
            "retries" => Some(claude_retries(asking.timeout).to_string().into()),
            _ => None,
        }
    };
    let mut add = |words: &[String], for_safety: bool| {
        let mut words = words.iter().map(|word| fill_placeholders(word, &value));
        let Some(text) = words.next() else { return };
        let safety = for_safety || question.safety.iter().any(|option| text == option.as_str());
        built.words.push(InvocationArg {
            text,
            values: words.collect(),
            safety,
        });
    };
    let in_an_argument = question
        .args
        .iter()
        .flat_map(TemplateArg::words)
        .any(|word| word.contains("{prompt}"));
    for arg in &question.args {
        match arg.placeholder() {
            // A question to another session than the one that worked would be of no use.
            Some("conversation") => conversation.iter().for_each(|arg| add(arg.words(), true)),
            Some("model") => choose_model(asking, question)
                .into_iter()
                .for_each(|_| add(question.model.as_deref().unwrap_or_default(), false)),
            Some("schema") => {
                asking
                    .question
                    .schema()
                    .into_iter()
                    .for_each(|_| add(question.schema.as_deref().unwrap_or_default(), false));
            }
            _ => add(arg.words(), false),
        }
    }
    let set =
        |(name, text): (&String, &String)| (name.into(), Some(fill_placeholders(text, &value)));
    // A question to nobody who was here before needs no home of its own.
    let unused = |text: &str| asking.places.own_home.is_none() && text.contains("{own_home}");
    built.env.extend(
        question
            .env
            .iter()
            .filter(|(_, text)| !unused(text))
            .map(set),
    );
    if !in_an_argument {
        built.stdin = stdin;
    }
    built
}

/// The model, unless it is one of another agent's short names: the default configuration has one of Claude's.
fn choose_model<'a>(
    asking: &'a InvocationInputs<'_>,
    question: &QuestionTemplate,
) -> Option<&'a str> {
    let foreign = |model: &&str| {
        SHORT_NAMES.contains(model) && !question.own_models.iter().any(|own| own == model)
    };
    asking
        .settings
        .model
        .as_deref()
        .filter(|model| !foreign(model) && question.model.is_some())
}

/// The short names of Claude's models.
const SHORT_NAMES: [&str; 4] = ["sonnet", "opus", "haiku", "fable"];

/// The number of retries that Claude Code may make itself, so that it reports the fault within a quarter of the deadline.
/// It waits 0.5, 1, 2, 4, … seconds before each; by default it retries for three minutes.
fn claude_retries(timeout: Duration) -> u32 {
    let quarter = timeout.as_secs_f64() / 4.0;
    (1..=6)
        .take_while(|retries| 0.5 * (f64::from(2u32.pow(*retries)) - 1.0) <= quarter)
        .last()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::PresetCatalog;
    use watchdog_core::config::PresetName;

    const ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";

    fn built(
        preset: &str,
        model: Option<&str>,
        session_id: Option<&str>,
        question: QuestionKind,
    ) -> Result<ProbeInvocation, UnaskableQuestion> {
        let name = PresetName::parse(preset).expect("a good name");
        let settings = AgentSettings {
            preset: name,
            model: model.map(str::to_owned),
            probe: None,
        };
        let built_in = PresetCatalog::built_in_named(preset).expect("it is built in");
        let asking = InvocationInputs {
            settings: &settings,
            preset: Some(&built_in),
            program: None,
            session_id,
            question,
            number: 2,
            prompt: "STATUS",
            timeout: Duration::from_secs(60),
            places: QuestionPlaces {
                schema_file: Some(Path::new("/q/schema.json")),
                own_home: Some(Path::new("/q/home")).filter(|_| question != QuestionKind::Judge),
                transcript: session_id
                    .filter(|id| *id == ID)
                    .map(|_| Path::new("/t.jsonl")),
            },
        };
        build_invocation(&asking)
    }

    fn words(built: &ProbeInvocation) -> Vec<String> {
        built
            .argv()
            .iter()
            .map(|word| {
                word.to_string_lossy()
                    .replace(REPLY_SCHEMA, "SCHEMA")
                    .replace(ID, "ID")
            })
            .collect()
    }

    fn line(preset: &str, model: Option<&str>, session_id: Option<&str>) -> String {
        match built(preset, model, session_id, QuestionKind::Probe) {
            Ok(built) => {
                assert_eq!(
                    built.env[&OsString::from("WATCHDOG_QUESTION")],
                    Some("probe".into())
                );
                assert_eq!(
                    built.env[&OsString::from("WATCHDOG_PROBE")],
                    Some("2".into())
                );
                format!(
                    "{:?} < {}",
                    words(&built),
                    String::from_utf8_lossy(&built.stdin)
                )
            }
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn each_preset_is_asked_by_its_own_words() {
        let claude = |how: &str| {
            format!(
                r#"["claude", {how}, "--print", "--output-format", "json", "--no-session-persistence", "--tools", "", "--strict-mcp-config", "--settings", "{{\"disableAllHooks\":true}}", "--setting-sources", "", "--permission-prompts", "none", "--permission-mode", "dontAsk", "--disable-slash-commands", "--model", "sonnet", "--json-schema", "SCHEMA"] < STATUS"#
            )
        };
        assert_eq!(
            line("claude", Some("sonnet"), None),
            claude("\"--continue\"")
        );
        assert_eq!(
            line("claude", Some("sonnet"), Some(ID)),
            claude("\"--resume\", \"ID\"")
        );
        assert_eq!(
            line(
                "claude",
                Some("sonnet"),
                Some("--dangerously-skip-permissions")
            ),
            claude("\"--continue\"")
        );
        assert_eq!(
            line("codex", Some("sonnet"), Some(ID)),
            r#"["codex", "exec", "fork", "ID", "--ephemeral", "--json", "-c", "sandbox_mode=\"read-only\"", "-c", "approval_policy=\"never\"", "-c", "features.hooks=false", "-c", "features.shell_tool=false", "-c", "features.goals=false", "-c", "web_search=\"disabled\"", "-c", "notify=[]", "--output-schema", "/q/schema.json", "-"] < STATUS"#
        );
        assert_eq!(
            line("opencode", Some("a/b"), Some(ID)),
            r#"["opencode", "run", "--session", "ID", "--fork", "--format", "json", "--model", "a/b"] < STATUS"#
        );
        assert_eq!(
            line("gemini", None, Some(ID)),
            r#"["gemini", "--session-file", "/t.jsonl", "--approval-mode", "plan", "--output-format", "json"] < STATUS"#
        );
        assert_eq!(
            line("qwen", None, Some(ID)),
            r#"["qwen", "--resume", "ID", "--no-chat-recording", "--bare", "--exclude-tools", "run_shell_command,write_file,edit", "-o", "stream-json"] < STATUS"#
        );
    }

    #[test]
    fn probes_need_an_id_and_leave_no_trace() {
        for preset in ["codex", "opencode", "qwen", "gemini"] {
            assert!(
                line(preset, None, None).starts_with("no session of"),
                "{preset}"
            );
        }
        for preset in ["copilot", "cursor", "amp"] {
            for id in [None, Some(ID)] {
                let refusal = line(preset, None, id);
                assert!(
                    refusal.contains("cannot be asked without a trace")
                        && refusal.contains("agent.probe"),
                    "{refusal}"
                );
            }
        }
    }

    #[test]
    fn variables_keep_tools_and_repository_out_of_questions() {
        let opencode =
            built("opencode", None, Some(ID), QuestionKind::Probe).expect("it is asked by its id");
        let set = |name: &str| {
            opencode.env[&OsString::from(name)]
                .clone()
                .expect("it is set")
                .into_string()
                .expect("a text")
        };
        assert_eq!(
            set("OPENCODE_PERMISSION"),
            r#"{"*":"deny","edit":"deny","bash":"deny","webfetch":"deny"}"#
        );
        assert_eq!(set("OPENCODE_DISABLE_PROJECT_CONFIG"), "1");
        let gemini = |question| {
            built("gemini", None, Some(ID), question)
                .expect("it is asked")
                .env
        };
        assert_eq!(
            gemini(QuestionKind::Probe)[&OsString::from("GEMINI_CLI_HOME")],
            Some("/q/home".into())
        );
        assert_eq!(
            gemini(QuestionKind::Judge).get(&OsString::from("GEMINI_CLI_HOME")),
            None,
            "a judge stays in the user's home"
        );
        let claude = built("claude", None, None, QuestionKind::Probe).expect("it is asked");
        assert_eq!(
            claude.env[&OsString::from("CLAUDE_CODE_MAX_RETRIES")],
            Some("4".into())
        );
    }

    #[test]
    fn plan_question_is_as_harmless_as_probe() {
        let asked = |question| built("claude", None, None, question).expect("it is asked");
        let (probe, plan) = (asked(QuestionKind::Probe), asked(QuestionKind::Plan));
        let words = |built: &ProbeInvocation, schema: &str| -> Vec<OsString> {
            built
                .argv()
                .into_iter()
                .map(|word| {
                    if word == schema {
                        "SCHEMA".into()
                    } else {
                        word
                    }
                })
                .collect()
        };
        assert_eq!(words(&probe, REPLY_SCHEMA), words(&plan, PLAN_SCHEMA));
        assert_eq!(
            plan.env[&OsString::from("WATCHDOG_QUESTION")],
            Some("plan".into())
        );
    }

    #[test]
    fn judge_resumes_no_session_and_gets_no_tools() {
        for preset in ["claude", "codex", "gemini", "opencode", "qwen", "copilot"] {
            let built = built(preset, None, Some(ID), QuestionKind::Judge).expect("it judges");
            let words = words(&built);
            let resumes = [
                "--continue",
                "--resume",
                "resume",
                "--last",
                "--fork",
                "fork",
                "--session",
                "--json-schema",
                "--output-schema",
                "--session-file",
                "ID",
            ];
            assert!(
                !words.iter().any(|word| resumes.contains(&word.as_str())),
                "{words:?}"
            );
            assert_eq!(
                built.env[&OsString::from("WATCHDOG_QUESTION")],
                Some("judge".into())
            );
            assert_eq!(
                words.windows(2).any(|pair| pair == ["--tools", ""]),
                preset == "claude"
            );
        }
        for preset in ["cursor", "amp"] {
            assert!(
                built(preset, None, None, QuestionKind::Judge).is_err(),
                "{preset}"
            );
        }
    }

    #[test]
    fn unknown_option_is_dropped_unless_it_protects_probes() {
        let built = built("claude", None, None, QuestionKind::Probe).expect("it is asked");
        for option in [
            "--json-schema",
            "--permission-prompts",
            "--disable-slash-commands",
        ] {
            let fewer = built.without(option).expect("it can be left out").argv();
            assert!(!fewer.iter().any(|word| word == option || word == REPLY_SCHEMA && option == "--json-schema"));
        }
        for option in [
            "--tools",
            "--no-session-persistence",
            "--strict-mcp-config",
            "--print",
            "--continue",
            "--none",
            "claude",
        ] {
            assert_eq!(built.without(option), None, "{option}");
        }
        let no_settings = built
            .without("--settings")
            .expect("the other one still turns hooks off");
        assert!(no_settings.without("--setting-sources").is_none());
    }

    #[test]
    fn retries_fit_into_the_deadline() {
        for (seconds, retries) in [(1, 0), (2, 1), (10, 2), (60, 4), (300, 6), (3600, 6)] {
            assert_eq!(
                claude_retries(Duration::from_secs(seconds)),
                retries,
                "{seconds}"
            );
        }
    }
}
