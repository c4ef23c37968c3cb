//! Whether an agent's login or key seems to be here: by the names of variables and files alone. Nothing is sent, and no secret is read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use watchdog_agent::preset::definition::LoginAdvice;

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

/// Looks for the login of an agent. One in the system's own store of secrets is not seen.
pub(super) fn login_of(
    advice: Option<&LoginAdvice>,
    environment: &BTreeMap<OsString, OsString>,
) -> AgentLogin {
    let Some(advice) = advice else {
        return AgentLogin::Unknown;
    };
    let value = |name: &str| {
        environment
            .get(OsStr::new(name))
            .filter(|value| !value.is_empty())
    };
    if let Some(variable) = advice.variables.iter().find(|name| value(name).is_some()) {
        return AgentLogin::Seen(format!("key in {variable}"));
    }
    let home = value("HOME").map(PathBuf::from);
    let file = advice.files.iter().find_map(|login| {
        let moved = login.variable.as_deref().and_then(value).map(PathBuf::from);
        let folder = moved.or_else(|| Some(home.as_ref()?.join(&login.home)))?;
        Some(folder.join(&login.file)).filter(|path| {
            path.metadata()
                .is_ok_and(|about| about.is_file() && about.len() > 0)
        })
    });
    if let Some(file) = file {
        return AgentLogin::Seen(format!("login in {}", from_home(&file, home.as_deref())));
    }
    let variable = advice
        .variables
        .first()
        .map(|name| format!(", or set {name}"))
        .unwrap_or_default();
    AgentLogin::Unseen {
        mend: format!("where it asks for one: {}{variable}", advice.command),
    }
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
    use watchdog_agent::preset::PresetCatalog;

    #[test]
    fn a_login_is_seen_by_its_name_and_never_by_its_value() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let home = scratch.path();
        let seen = |agent: &str, variables: &[(&str, &str)]| {
            let all = variables
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)));
            let preset = PresetCatalog::built_in_named(agent);
            login_of(
                preset.as_ref().and_then(|preset| preset.login.as_ref()),
                &all.chain([("HOME".into(), home.into())]).collect(),
            )
        };
        assert_eq!(
            seen("codex", &[("OPENAI_API_KEY", "sk-hush")]),
            AgentLogin::Seen("key in OPENAI_API_KEY".into())
        );
        let unseen = |mend: &str| AgentLogin::Unseen { mend: mend.into() };
        assert_eq!(
            seen("codex", &[("OPENAI_API_KEY", "")]),
            unseen("where it asks for one: codex login, or set OPENAI_API_KEY")
        );
        std::fs::create_dir(home.join(".codex")).expect("a folder");
        std::fs::write(home.join(".codex/auth.json"), "").expect("a file");
        assert!(
            matches!(seen("codex", &[]), AgentLogin::Unseen { .. }),
            "an empty file holds no login"
        );
        std::fs::write(home.join(".codex/auth.json"), "hush").expect("a file");
        assert_eq!(
            seen("codex", &[]),
            AgentLogin::Seen("login in ~/.codex/auth.json".into())
        );
        assert!(
            matches!(
                seen("codex", &[("CODEX_HOME", "/nowhere")]),
                AgentLogin::Unseen { .. }
            ),
            "its folder is elsewhere"
        );
        assert_eq!(seen("my-agent", &[]), AgentLogin::Unknown);
    }
}
