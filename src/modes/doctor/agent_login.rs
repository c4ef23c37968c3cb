//! Whether an agent's login or key seems to be here: by the names of variables and files alone. Nothing is sent, and no secret is read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where an agent keeps its login, and how a person logs in.
struct LoginPlace {
    agent: &'static str,
    /// Variables that hold a key or choose another service.
    variables: &'static [&'static str],
    /// Files that hold a login: the variable that moves their folder, the folder in the home without it, and the file.
    files: &'static [(&'static str, &'static str, &'static str)],
    /// What a person types.
    command: &'static str,
}

/// The places of the agents that watchdog knows. A login in the system's own store of secrets is in none of them.
const PLACES: &[LoginPlace] = &[
    LoginPlace {
        agent: "claude",
        variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ],
        files: &[("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json")],
        command: "claude, then /login",
    },
    LoginPlace {
        agent: "codex",
        variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        files: &[("CODEX_HOME", ".codex", "auth.json")],
        command: "codex login",
    },
    LoginPlace {
        agent: "gemini",
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
        files: &[("GEMINI_CLI_HOME", "", ".gemini/oauth_creds.json")],
        command: "gemini, then /auth",
    },
    LoginPlace {
        agent: "opencode",
        variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"],
        files: &[("XDG_DATA_HOME", ".local/share", "opencode/auth.json")],
        command: "opencode auth login",
    },
    LoginPlace {
        agent: "qwen",
        variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
        files: &[("", "", ".qwen/oauth_creds.json")],
        command: "qwen, then /auth",
    },
    LoginPlace {
        agent: "copilot",
        variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"],
        files: &[],
        command: "copilot, then /login",
    },
    LoginPlace {
        agent: "cursor",
        variables: &["CURSOR_API_KEY"],
        files: &[("XDG_CONFIG_HOME", ".config", "cursor/auth.json")],
        command: "cursor-agent login",
    },
    LoginPlace {
        agent: "amp",
        variables: &["AMP_API_KEY"],
        files: &[("XDG_DATA_HOME", ".local/share", "amp/secrets.json")],
        command: "amp login",
    },
];

/// What was seen of an agent's login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentLogin {
    /// A key is set in this variable, or this file is there; neither is known to be valid.
    Seen(String),
    /// Neither is there.
    Unseen {
        /// What to do about it.
        mend: String,
    },
    /// It is not known where this agent keeps its login.
    Unknown,
}

/// Looks for the login of an agent.
pub(super) fn login_of(agent: &str, environment: &BTreeMap<OsString, OsString>) -> AgentLogin {
    let Some(place) = PLACES.iter().find(|place| place.agent == agent) else { return AgentLogin::Unknown };
    let value = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
    if let Some(variable) = place.variables.iter().find(|name| value(name).is_some()) {
        return AgentLogin::Seen(format!("key in {variable}"));
    }
    let home = value("HOME").map(PathBuf::from);
    let file = place.files.iter().find_map(|(moved_by, folder, file)| {
        let folder = value(moved_by).map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(folder)))?;
        Some(folder.join(file)).filter(|path| path.metadata().is_ok_and(|about| about.is_file() && about.len() > 0))
    });
    if let Some(file) = file {
        return AgentLogin::Seen(format!("login in {}", from_home(&file, home.as_deref())));
    }
    let variable = place.variables.first().map(|name| format!(", or set {name}")).unwrap_or_default();
    AgentLogin::Unseen { mend: format!("where it asks for one: {}{variable}", place.command) }
}

fn from_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_seen_by_its_name_and_never_by_its_value() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let home = scratch.path();
        let seen = |agent: &str, variables: &[(&str, &str)]| {
            let all = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
            login_of(agent, &all.chain([("HOME".into(), home.into())]).collect())
        };
        assert_eq!(seen("codex", &[("OPENAI_API_KEY", "sk-hush")]), AgentLogin::Seen("key in OPENAI_API_KEY".into()));
        let unseen = |mend: &str| AgentLogin::Unseen { mend: mend.into() };
        assert_eq!(seen("codex", &[("OPENAI_API_KEY", "")]), unseen("where it asks for one: codex login, or set OPENAI_API_KEY"));
        std::fs::create_dir(home.join(".codex")).expect("a folder");
        std::fs::write(home.join(".codex/auth.json"), "").expect("a file");
        assert!(matches!(seen("codex", &[]), AgentLogin::Unseen { .. }), "an empty file holds no login");
        std::fs::write(home.join(".codex/auth.json"), "hush").expect("a file");
        assert_eq!(seen("codex", &[]), AgentLogin::Seen("login in ~/.codex/auth.json".into()));
        assert!(matches!(seen("codex", &[("CODEX_HOME", "/nowhere")]), AgentLogin::Unseen { .. }), "its folder is elsewhere");
        assert_eq!(seen("my-agent", &[]), AgentLogin::Unknown);
    }

    #[test]
    fn every_known_agent_has_a_place() {
        for agent in crate::agent::recognition::known_agents() {
            assert_ne!(login_of(&agent.agent, &BTreeMap::new()), AgentLogin::Unknown, "{agent:?}");
        }
    }
}
