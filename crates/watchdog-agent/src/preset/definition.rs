//! The form of a preset's file, and how it is read. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::capability::AgentCapability;
use super::own_home::OwnHome;
use super::problem::PresetProblem;
use super::refusal::RefusalAdvice;
use super::template::{TemplateArg, find_placeholders};
use crate::local_api::LocalApi;
use crate::stream::StreamFormat;
use watchdog_core::config::{PresetName, nearest_hint};

/// The largest file that is read, in bytes.
pub const MAX_PRESET_BYTES: usize = 256 * 1024;

/// The placeholders of a session's arguments.
const SESSION_PLACES: [&str; 5] = ["conversation", "defaults", "user", "prompt", "prompt_file"];
/// The placeholders of a question's arguments.
const QUESTION_PLACES: [&str; 4] = ["conversation", "model", "schema", "prompt"];

/// An agent, as watchdog knows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentPreset {
    /// Its word: that of the file, without `.json`.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its program: a name in `PATH`, or a path.
    pub program: String,
    /// The packages that hold it, for command lines such as `npx PACKAGE`.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The version that it was tried with; `None` = it follows documentation, and was not run.
    #[serde(default)]
    pub tested: Option<String>,
    /// How a session is started.
    pub session: SessionTemplate,
    /// How a session goes on in an earlier conversation; empty = it cannot.
    #[serde(default)]
    pub resume: ResumeTemplate,
    /// How a question is put; `None` = never.
    #[serde(default)]
    pub question: Option<QuestionTemplate>,
    /// How its output is read.
    #[serde(default)]
    pub stream: Option<StreamFormat>,
    /// The folder of its sessions.
    #[serde(default)]
    pub transcripts: Option<TranscriptLocation>,
    /// The files of a repository that it reads or runs, and how a question turns them off.
    #[serde(default)]
    pub repository: Vec<RepositoryInput>,
    /// Its capabilities.
    #[serde(default)]
    pub capabilities: Vec<AgentCapability>,
    /// The options that allow tools that it was refused.
    #[serde(default)]
    pub refusals: Option<RefusalAdvice>,
    /// How one logs in.
    #[serde(default)]
    pub login: Option<LoginAdvice>,
    /// How it is pointed at a model API on this machine, for trials.
    #[serde(default)]
    pub local_api: Option<LocalApi>,
}

/// How a session is started. The prompt is on stdin, unless an argument has `{prompt}` or `{prompt_file}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionTemplate {
    /// The arguments. `{conversation}` stands for those of `resume`, `{defaults}` for the default permissions and `{user}` for the
    /// user's own arguments.
    pub args: Vec<TemplateArg>,
    /// The default permissions, left out where the user names some.
    #[serde(default)]
    pub defaults: DefaultArgs,
    /// Variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Arguments that a user's own replace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultArgs {
    /// The arguments.
    pub args: Vec<String>,
    /// They are left out where the user gives one of these options. `-c key` is the option `-c` with a value that begins with `key`.
    pub unless: Vec<String>,
}

/// How an earlier conversation is named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeTemplate {
    /// By its id.
    #[serde(default)]
    pub by_id: Option<Vec<TemplateArg>>,
    /// The latest of this folder, by the agent's own rule.
    #[serde(default)]
    pub latest: Option<Vec<TemplateArg>>,
}

/// How a question is put. The prompt is on stdin, unless an argument has `{prompt}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionTemplate {
    /// The arguments. `{conversation}` stands for those of `by_id`, `latest` or `fresh`, `{model}` and `{schema}` for those of the same
    /// name, where there is one.
    pub args: Vec<TemplateArg>,
    /// To a session by its id, or by its `{transcript}`.
    #[serde(default)]
    pub by_id: Option<Vec<TemplateArg>>,
    /// To the latest session of the folder, where its id is recorded and its answer names it.
    #[serde(default)]
    pub latest: Option<Vec<TemplateArg>>,
    /// To nobody who was here before.
    #[serde(default)]
    pub fresh: Option<Vec<TemplateArg>>,
    /// How a model is named.
    #[serde(default)]
    pub model: Option<Vec<String>>,
    /// Short names of models that only this agent knows.
    #[serde(default)]
    pub own_models: Vec<String>,
    /// How the schema of the answer is given: as a text (`{schema}`), or in a file (`{schema_file}`), where it names every member as
    /// required.
    #[serde(default)]
    pub schema: Option<Vec<String>>,
    /// A home of its own, for an agent that would write the question into the user's. `{own_home}` stands for it in `env`.
    #[serde(default)]
    pub own_home: Option<OwnHome>,
    /// Options without which a question could do harm. They are never left out for a version that does not know them.
    #[serde(default)]
    pub safety: Vec<String>,
    /// Options of which one is enough, so that a version may lack the others.
    #[serde(default)]
    pub safety_one_of: Vec<String>,
    /// Variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether the answer names the session that was asked, so that another one's is found out.
    #[serde(default)]
    pub answers_under_its_id: bool,
}

/// The location of an agent's sessions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TranscriptLocation {
    /// The variable that names its folder.
    #[serde(default)]
    pub variable: Option<String>,
    /// Its folder in the home folder, where the variable is not set.
    pub home: String,
    /// The folder of the files, below that: `*` is any name, `{slug}` the path of the worktree with `-` for all that is no letter or
    /// digit.
    pub folder: String,
    /// The place of the id: `name` = the name of the file without `.jsonl`, else a JSON pointer
    /// into its first line.
    pub id: String,
    /// A JSON pointer into the first line, to the folder of the session or the SHA-256 of its path.
    /// Not needed with `{slug}`.
    #[serde(default)]
    pub cwd: Option<String>,
    /// A JSON pointer into the first line, to the time of its beginning (RFC 3339).
    #[serde(default)]
    pub begun: Option<String>,
    /// The agent's list of its running sessions.
    #[serde(default)]
    pub running: Option<RunningList>,
}

/// A folder in which an agent lists its running sessions, one in a file of JSON. The places are JSON pointers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunningList {
    /// The folder, beside that of the transcripts.
    pub folder: String,
    /// The place of the process id.
    pub pid: String,
    /// The place of the session's folder.
    pub cwd: String,
    /// The place of the word for its state.
    pub status: String,
    /// The word of a session whose turn is over.
    pub idle: String,
    /// The word of a session that waits for a person.
    #[serde(default)]
    pub waiting: Option<String>,
    /// The place of that state's time, in milliseconds since 1970.
    pub since: String,
    /// The place of the session's id.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The place of the time at which the process began, as text: in clock ticks since the boot, else it is not compared.
    #[serde(default)]
    pub began: Option<String>,
}

/// Something of a repository that an agent reads or runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepositoryInput {
    /// Its path, such as `.gemini/settings.json`.
    pub path: String,
    /// Its effect.
    pub does: String,
    /// The option that turns it off in a question; without it, it stays on.
    #[serde(default)]
    pub off_in_question: Option<String>,
}

/// How one logs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginAdvice {
    /// The command to type.
    pub command: String,
    /// Variables that do as well.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Files that hold a login, to see whether there is one. They are not read.
    #[serde(default, skip_serializing)]
    pub files: Vec<LoginFile>,
}

/// A file that holds a login.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginFile {
    /// The variable that names its folder.
    #[serde(default)]
    pub variable: Option<String>,
    /// Its folder in the home folder, where the variable is not set; empty = the home folder.
    pub home: String,
    /// The file, below that.
    pub file: String,
}

impl AgentPreset {
    /// Reads a file.
    ///
    /// # Errors
    /// The first thing that is wrong with it, with its place.
    pub fn from_bytes(bytes: &[u8], file: &Path) -> Result<Self, PresetProblem> {
        if bytes.len() > MAX_PRESET_BYTES {
            return Err(PresetProblem::new(
                file,
                format!(
                    "the file is {} bytes long; at most {MAX_PRESET_BYTES} are read",
                    bytes.len()
                ),
            ));
        }
        let preset: AgentPreset = serde_json::from_slice(bytes)
            .map_err(|error| PresetProblem::of_reader(file, &error))?;
        match preset.mistake() {
            None => Ok(preset),
            Some(why) => Err(PresetProblem::new(file, why)),
        }
    }

    /// Whether it has a capability.
    pub fn can(&self, capability: AgentCapability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// Lists, as sentences, the side effects that a question to this agent may have and one to
    /// another does not.
    pub fn question_gaps(&self) -> Vec<&'static str> {
        let wanted = [
            AgentCapability::AsksWithoutTrace,
            AgentCapability::AsksWithoutTools,
            AgentCapability::AsksWithoutProjectCode,
        ];
        let has_question = self
            .question
            .as_ref()
            .is_some_and(|question| question.by_id.is_some() || question.latest.is_some());
        let missing = wanted
            .into_iter()
            .filter(|capability| !self.can(*capability));
        // An agent without a question lacks the way to be asked, and only that.
        missing
            .take(if has_question { wanted.len() } else { 1 })
            .map(|capability| capability.sentence(false))
            .collect()
    }

    /// The programs that it makes watchdog run, for `watchdog trust` to show.
    pub fn commands(&self) -> Vec<String> {
        let line = |args: &[TemplateArg]| {
            args.iter()
                .flat_map(TemplateArg::words)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let mut command_lines = vec![format!(
            "session: {} {}",
            self.program,
            line(&self.session.args)
        )];
        command_lines.extend(
            self.question
                .as_ref()
                .map(|question| format!("question: {} {}", self.program, line(&question.args))),
        );
        command_lines
    }

    fn mistake(&self) -> Option<String> {
        if PresetName::parse(&self.name).is_none_or(|name| name.is_path()) {
            return Some(format!(
                "name: {:?} is no word of a to z, digits and -",
                self.name.chars().take(60).collect::<String>()
            ));
        }
        if self.program.trim().is_empty() || self.program.starts_with('-') {
            return Some("program: must name a program".into());
        }
        let mut texts: Vec<(&str, &str)> = vec![("program", &self.program)];
        let of = |key: &'static str, args: &'_ [TemplateArg], allowed_names: &[&str]| {
            let words = args.iter().flat_map(TemplateArg::words);
            words
                .clone()
                .find_map(|word| unknown_placeholder(key, word, allowed_names))
                .or_else(|| {
                    // A word with a NUL cannot be an argument.
                    words
                        .clone()
                        .find(|word| word.contains('\0'))
                        .map(|_| format!("{key}: must not contain a NUL character"))
                })
        };
        let id = ["id"];
        if let Some(wrong) = of("session.args", &self.session.args, &SESSION_PLACES) {
            return Some(wrong);
        }
        for (key, by_id) in [
            ("resume.by_id", &self.resume.by_id),
            ("resume.latest", &self.resume.latest),
        ] {
            if let Some(wrong) = by_id.as_deref().and_then(|args| of(key, args, &id)) {
                return Some(wrong);
            }
        }
        let named = self
            .session
            .args
            .iter()
            .any(|arg| arg.placeholder() == Some("conversation"));
        if !named && (self.resume.by_id.is_some() || self.resume.latest.is_some()) {
            return Some("session.args: `{conversation}` is missing, which stands for the arguments of `resume`".into());
        }
        if !self
            .session
            .args
            .iter()
            .any(|arg| arg.placeholder() == Some("user"))
        {
            return Some(
                "session.args: `{user}` is missing, which stands for the user's own arguments"
                    .into(),
            );
        }
        let mut by_ids = vec![("resume.by_id", self.resume.by_id.as_deref())];
        if let Some(question) = &self.question {
            if let Some(wrong) = of("question.args", &question.args, &QUESTION_PLACES) {
                return Some(wrong);
            }
            let conversations = [
                ("question.by_id", &question.by_id),
                ("question.latest", &question.latest),
                ("question.fresh", &question.fresh),
            ];
            for (key, args) in conversations {
                if let Some(wrong) = args
                    .as_deref()
                    .and_then(|args| of(key, args, &["id", "transcript"]))
                {
                    return Some(wrong);
                }
            }
            if question.asks_by_transcript() && self.transcripts.is_none() {
                return Some(
                    "question.by_id: `{transcript}` needs `transcripts`, which says where they are"
                        .into(),
                );
            }
            if let Some(wrong) = question.own_home.as_ref().and_then(OwnHome::mistake) {
                return Some(wrong);
            }
            if !question
                .args
                .iter()
                .any(|arg| arg.placeholder() == Some("conversation"))
            {
                return Some("question.args: `{conversation}` is missing, which stands for `by_id`, `latest` or `fresh`".into());
            }
            if question.latest.is_some() && !question.answers_under_its_id {
                return Some(
                    "question.latest: without `answers_under_its_id` a new session's answer could not be told from the session's".into(),
                );
            }
            by_ids.push(("question.by_id", question.by_id.as_deref()));
            let has = |option: &String| {
                question
                    .args
                    .iter()
                    .flat_map(TemplateArg::words)
                    .any(|word| word == option)
            };
            if let Some(lost) = question
                .safety
                .iter()
                .chain(&question.safety_one_of)
                .find(|option| !has(option))
            {
                return Some(format!(
                    "question.safety: {lost:?} is none of question.args"
                ));
            }
            texts.extend(question.env.iter().flat_map(|(name, value)| {
                [("question.env", name.as_str()), ("question.env", value)]
            }));
        }
        for (key, args) in by_ids {
            if args.is_some_and(|args| {
                !args.iter().flat_map(TemplateArg::words).any(|word| {
                    find_placeholders(word).any(|name| name == "id" || name == "transcript")
                })
            }) {
                return Some(format!(
                    "{key}: `{{id}}` is missing, which stands for the session's id"
                ));
            }
        }
        texts.extend(
            self.session
                .env
                .iter()
                .flat_map(|(name, value)| [("session.env", name.as_str()), ("session.env", value)]),
        );
        let nul = texts
            .iter()
            .find(|(_, text)| text.contains('\0'))
            .map(|(key, _)| format!("{key}: must not contain a NUL character"));
        nul.or_else(|| {
            self.transcripts
                .as_ref()
                .and_then(TranscriptLocation::mistake)
        })
    }
}

impl QuestionTemplate {
    /// Whether the schema of the answer goes into a file.
    pub fn takes_schema_file(&self) -> bool {
        self.schema
            .iter()
            .flatten()
            .any(|word| word.contains("{schema_file}"))
    }

    /// Whether the session that worked is named by its transcript.
    pub fn asks_by_transcript(&self) -> bool {
        self.by_id
            .iter()
            .flatten()
            .flat_map(TemplateArg::words)
            .any(|word| find_placeholders(word).any(|name| name == "transcript"))
    }
}

impl TranscriptLocation {
    fn mistake(&self) -> Option<String> {
        let leaves_home = |path: &str| {
            path.starts_with('/') || path.split('/').any(|part| part == "..") || path.contains('\0')
        };
        let running = self.running.as_ref().map_or("", |list| &list.folder);
        if [self.home.as_str(), &self.folder, running]
            .into_iter()
            .any(leaves_home)
        {
            return Some(
                "transcripts: `home` and `folder` are paths below the home folder, without `..`"
                    .into(),
            );
        }
        if self.cwd.is_none() && !self.folder.contains("{slug}") {
            return Some("transcripts: needs `{slug}` in `folder`, or `cwd`, to know whose session a file is".into());
        }
        None
    }
}

fn unknown_placeholder(key: &str, word: &str, allowed_names: &[&str]) -> Option<String> {
    let unknown = find_placeholders(word).find(|name| !allowed_names.contains(name))?;
    Some(format!(
        "{key}: unknown placeholder `{{{unknown}}}`{}",
        nearest_hint(unknown, allowed_names.iter().copied())
    ))
}
