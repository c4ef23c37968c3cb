//! The safe invocation of each known agent: its arguments, environment and input. Pure.
//!
//! Claude Code: no tools, no hooks, no MCP servers, nothing written to the transcript, a schema requested. Tried against 2.1.328.
//! The others follow their own `--help` (codex-cli 0.169, gemini 0.61, opencode 1.18); their run-time behaviour was not tried.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use super::plan_prompt::PLAN_SCHEMA;
use super::prompt::REPLY_SCHEMA;
use super::session_id::is_session_id;
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
}

/// One option with its value, or one positional word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct InvocationArg {
    text: OsString,
    value: Option<OsString>,
    /// Whether the probe could do harm without it.
    safety: bool,
}

impl ProbeInvocation {
    /// Everything as one argument vector.
    pub fn argv(&self) -> Vec<OsString> {
        self.words.iter().flat_map(|word| std::iter::once(word.text.clone()).chain(word.value.clone())).collect()
    }

    /// The same without an option that the program does not know.
    /// `None`: it is not there, or the probe could do harm without it.
    pub fn without(&self, option: &str) -> Option<Self> {
        let known = self.words.iter().position(|word| word.text == option && !word.safety)?;
        let mut fewer = self.clone();
        fewer.words.remove(known);
        // Either of the two turns hooks off; the one that is left must stay.
        if ["--settings", "--setting-sources"].contains(&option) {
            for word in fewer.words.iter_mut().filter(|word| word.text == "--settings" || word.text == "--setting-sources") {
                word.safety = true;
            }
        }
        Some(fewer)
    }

    fn new(program: OsString, asking: &InvocationInputs<'_>) -> Self {
        let env = BTreeMap::from([
            ("WATCHDOG_PROBE".into(), Some(asking.number.to_string().into())),
            ("WATCHDOG_QUESTION".into(), Some(asking.question.as_str().into())),
        ]);
        ProbeInvocation { words: vec![InvocationArg { text: program, value: None, safety: true }], env, stdin: Vec::new() }
    }

    fn word(mut self, text: impl Into<OsString>) -> Self {
        self.words.push(InvocationArg { text: text.into(), value: None, safety: false });
        self
    }

    fn option(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.words.push(InvocationArg { text: name.into(), value: Some(value.into()), safety: false });
        self
    }

    /// The option before this call is one that keeps the probe harmless.
    fn for_safety(mut self) -> Self {
        if let Some(last) = self.words.last_mut() {
            last.safety = true;
        }
        self
    }

    fn set(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), Some(value.into()));
        self
    }

    fn reading(mut self, stdin: &str) -> Self {
        self.stdin = stdin.as_bytes().to_vec();
        self
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
    fn schema(self) -> Option<&'static str> {
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
    /// Another file than the preset's own name in `PATH`.
    pub program: Option<OsString>,
    /// The session to resume. Only a UUID is one; anything else counts as unknown.
    pub session_id: Option<&'a str>,
    /// The kind of question.
    pub question: QuestionKind,
    /// Which one of its kind it is, from 1.
    pub number: u32,
    /// The question.
    pub prompt: &'a str,
    /// How long it may take.
    pub timeout: Duration,
}

/// Builds what to run. A configured `agent.probe` replaces the preset: its argv, the prompt on its stdin.
pub fn invocation(asking: &InvocationInputs<'_>) -> ProbeInvocation {
    // At the start of a prompt these would make it a slash command or an option.
    let marked = asking.prompt.trim_start().starts_with(['/', '-']).then(|| format!("STATUS PROBE. {}", asking.prompt));
    let asking = &InvocationInputs { prompt: marked.as_deref().unwrap_or(asking.prompt), ..asking.clone() };
    if let Some(argv) = &asking.settings.probe {
        let mut words = argv.iter().cloned();
        let custom = ProbeInvocation::new(words.next().unwrap_or_default().into(), asking).reading(asking.prompt);
        return words.fold(custom, ProbeInvocation::word);
    }
    match asking.settings.preset.as_str() {
        "codex" => codex(asking),
        "gemini" => gemini(asking),
        "opencode" => opencode(asking),
        // Whatever else is named was refused where it was read.
        _ => claude(asking),
    }
}

fn start(asking: &InvocationInputs<'_>, name: &str) -> ProbeInvocation {
    ProbeInvocation::new(asking.program.clone().unwrap_or_else(|| name.into()), asking)
}

fn known_session<'a>(asking: &InvocationInputs<'a>) -> Option<&'a str> {
    asking.session_id.filter(|id| is_session_id(id))
}

/// The model, unless it is one of Claude's short names, which the default configuration has and no other agent knows.
fn foreign_model<'a>(asking: &'a InvocationInputs<'_>) -> Option<&'a str> {
    asking.settings.model.as_deref().filter(|model| !["sonnet", "opus", "haiku", "fable"].contains(model))
}

fn claude(asking: &InvocationInputs<'_>) -> ProbeInvocation {
    let start = start(asking, "claude");
    let resumed = match (asking.question, known_session(asking)) {
        (QuestionKind::Judge, _) => start,
        (_, Some(id)) => start.option("--resume", id).for_safety(),
        (_, None) => start.word("--continue").for_safety(),
    };
    let mut invocation = resumed
        .word("--print")
        .for_safety()
        .option("--output-format", "json")
        .word("--no-session-persistence")
        .for_safety()
        // An empty list: the one form that holds against every permission mode.
        .option("--tools", "")
        .for_safety()
        .word("--strict-mcp-config")
        .for_safety()
        // Hooks off twice: either option would do, so an older version may lack one.
        .option("--settings", r#"{"disableAllHooks":true}"#)
        .option("--setting-sources", "")
        .option("--permission-prompts", "none")
        .option("--permission-mode", "dontAsk")
        .word("--disable-slash-commands");
    if let Some(model) = &asking.settings.model {
        invocation = invocation.option("--model", model);
    }
    if let Some(schema) = asking.question.schema() {
        invocation = invocation.option("--json-schema", schema);
    }
    invocation
        .set("CLAUDE_CODE_MAX_RETRIES", claude_retries(asking.timeout).to_string())
        .set("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1")
        .set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .set("DISABLE_AUTOUPDATER", "1")
        .reading(asking.prompt)
}

/// The number of retries that Claude Code may make itself, so that it reports the fault within a quarter of the deadline.
/// It waits 0.5, 1, 2, 4, … seconds before each; by default it retries for three minutes.
fn claude_retries(timeout: Duration) -> u32 {
    let quarter = timeout.as_secs_f64() / 4.0;
    (1..=6).take_while(|retries| 0.5 * (f64::from(2u32.pow(*retries)) - 1.0) <= quarter).last().unwrap_or(0)
}

fn codex(asking: &InvocationInputs<'_>) -> ProbeInvocation {
    let start = start(asking, "codex").word("exec");
    let resumed = match (asking.question, known_session(asking)) {
        // It runs in a folder without a repository.
        (QuestionKind::Judge, _) => start.word("--skip-git-repo-check"),
        (_, Some(id)) => start.word("resume").word(id),
        (_, None) => start.word("resume").word("--last"),
    };
    let mut invocation = resumed.word("--json").word("--ephemeral").for_safety();
    if let Some(model) = foreign_model(asking) {
        invocation = invocation.option("--model", model);
    }
    invocation
        .option("-c", "sandbox_mode=\"read-only\"")
        .for_safety()
        .option("-c", "approval_policy=\"never\"")
        .for_safety()
        .word("-")
        .reading(asking.prompt)
}

fn gemini(asking: &InvocationInputs<'_>) -> ProbeInvocation {
    let start = start(asking, "gemini");
    let resumed = if asking.question == QuestionKind::Judge { start } else { start.option("--resume", "latest") };
    let mut invocation = resumed.option("--approval-mode", "plan").for_safety();
    if let Some(model) = foreign_model(asking) {
        invocation = invocation.option("--model", model);
    }
    invocation.option("--output-format", "json").option("--prompt", asking.prompt)
}

fn opencode(asking: &InvocationInputs<'_>) -> ProbeInvocation {
    let start = start(asking, "opencode").word("run");
    // The fork takes the question, so that the session itself stays as it is.
    let resumed = if asking.question == QuestionKind::Judge { start } else { start.word("--continue").word("--fork").for_safety() };
    let mut invocation = resumed.option("--format", "json");
    if let Some(model) = foreign_model(asking) {
        invocation = invocation.option("--model", model);
    }
    invocation.word(asking.prompt).set("OPENCODE_PERMISSION", r#"{"*":"deny","edit":"deny","bash":"deny","webfetch":"deny"}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_core::config::settings::PresetName;

    const ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";

    fn line(preset: PresetName, model: Option<&str>, session_id: Option<&str>) -> String {
        let settings = AgentSettings { preset, model: model.map(str::to_owned), probe: None };
        let asking = InvocationInputs {
            settings: &settings,
            program: None,
            session_id,
            question: QuestionKind::Probe,
            number: 2,
            prompt: "STATUS",
            timeout: Duration::from_secs(60),
        };
        let built = invocation(&asking);
        assert_eq!(built.env[&OsString::from("WATCHDOG_QUESTION")], Some("probe".into()));
        assert_eq!(built.env[&OsString::from("WATCHDOG_PROBE")], Some("2".into()));
        let words: Vec<String> = built.argv().iter().map(|word| word.to_string_lossy().replace(REPLY_SCHEMA, "SCHEMA")).collect();
        format!("{words:?} < {}", String::from_utf8_lossy(&built.stdin))
    }

    #[test]
    fn each_preset_is_asked_by_its_own_words() {
        let claude = |how: &str| {
            format!(
                r#"["claude", {how}, "--print", "--output-format", "json", "--no-session-persistence", "--tools", "", "--strict-mcp-config", "--settings", "{{\"disableAllHooks\":true}}", "--setting-sources", "", "--permission-prompts", "none", "--permission-mode", "dontAsk", "--disable-slash-commands", "--model", "sonnet", "--json-schema", "SCHEMA"] < STATUS"#
            )
        };
        assert_eq!(line(PresetName::CLAUDE, Some("sonnet"), None), claude("\"--continue\""));
        assert_eq!(line(PresetName::CLAUDE, Some("sonnet"), Some(ID)), claude(&format!("\"--resume\", \"{ID}\"")));
        assert_eq!(line(PresetName::CLAUDE, Some("sonnet"), Some("--dangerously-skip-permissions")), claude("\"--continue\""));
        assert_eq!(
            line(PresetName::CODEX, Some("sonnet"), None),
            r#"["codex", "exec", "resume", "--last", "--json", "--ephemeral", "-c", "sandbox_mode=\"read-only\"", "-c", "approval_policy=\"never\"", "-"] < STATUS"#
        );
        assert_eq!(
            line(PresetName::GEMINI, Some("pro"), None),
            r#"["gemini", "--resume", "latest", "--approval-mode", "plan", "--model", "pro", "--output-format", "json", "--prompt", "STATUS"] < "#
        );
        assert_eq!(
            line(PresetName::OPENCODE, None, None),
            r#"["opencode", "run", "--continue", "--fork", "--format", "json", "STATUS"] < "#
        );
    }

    #[test]
    fn a_plan_is_asked_for_by_the_same_harmless_words() {
        let settings = AgentSettings { preset: PresetName::CLAUDE, model: None, probe: None };
        let asking = |question| InvocationInputs {
            settings: &settings,
            program: None,
            session_id: None,
            question,
            number: 1,
            prompt: "x",
            timeout: Duration::from_secs(9),
        };
        let (probe, plan) = (invocation(&asking(QuestionKind::Probe)), invocation(&asking(QuestionKind::Plan)));
        let words = |built: &ProbeInvocation, schema: &str| -> Vec<OsString> {
            built.argv().into_iter().map(|word| if word == schema { "SCHEMA".into() } else { word }).collect()
        };
        assert_eq!(words(&probe, REPLY_SCHEMA), words(&plan, PLAN_SCHEMA));
        assert_eq!(plan.env[&OsString::from("WATCHDOG_QUESTION")], Some("plan".into()));
    }

    #[test]
    fn a_judge_resumes_no_session_and_has_no_tools() {
        for preset in [PresetName::CLAUDE, PresetName::CODEX, PresetName::GEMINI, PresetName::OPENCODE] {
            let settings = AgentSettings { preset: preset.clone(), model: None, probe: None };
            let built = invocation(&InvocationInputs {
                settings: &settings,
                program: None,
                session_id: Some(ID),
                question: QuestionKind::Judge,
                number: 1,
                prompt: "x",
                timeout: Duration::from_secs(9),
            });
            let words: Vec<String> = built.argv().iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let resumes = ["--continue", "--resume", "resume", "--last", "--fork", "--json-schema", ID];
            assert!(!words.iter().any(|word| resumes.contains(&word.as_str())), "{words:?}");
            assert_eq!(built.env[&OsString::from("WATCHDOG_QUESTION")], Some("judge".into()));
            assert_eq!(words.windows(2).any(|pair| pair == ["--tools", ""]), preset == PresetName::CLAUDE);
        }
    }

    #[test]
    fn an_unknown_option_can_be_left_out_unless_it_keeps_the_probe_harmless() {
        let settings = AgentSettings { preset: PresetName::CLAUDE, model: None, probe: None };
        let asking = InvocationInputs {
            settings: &settings,
            program: None,
            session_id: None,
            question: QuestionKind::Probe,
            number: 1,
            prompt: "",
            timeout: Duration::from_secs(9),
        };
        let built = invocation(&asking);
        for option in ["--json-schema", "--permission-prompts", "--disable-slash-commands"] {
            let fewer = built.without(option).expect("it can be left out").argv();
            assert!(!fewer.iter().any(|word| word == option || word == REPLY_SCHEMA && option == "--json-schema"));
        }
        for option in ["--tools", "--no-session-persistence", "--strict-mcp-config", "--print", "--continue", "--none", "claude"] {
            assert_eq!(built.without(option), None, "{option}");
        }
        let no_settings = built.without("--settings").expect("the other one still turns hooks off");
        assert!(no_settings.without("--setting-sources").is_none());
    }

    #[test]
    fn retries_fit_into_the_deadline() {
        for (seconds, retries) in [(1, 0), (2, 1), (10, 2), (60, 4), (300, 6), (3600, 6)] {
            assert_eq!(claude_retries(Duration::from_secs(seconds)), retries, "{seconds}");
        }
    }
}
