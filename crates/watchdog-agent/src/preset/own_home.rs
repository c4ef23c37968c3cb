//! A home of its own for a question, for an agent that would write the question into the user's. Pure: what is in it, and whether it will do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

/// A home of its own: the agent's program finds a few of the user's settings there, and leaves there what it records.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnHome {
    /// The variable that names it.
    pub variable: String,
    /// The user's, in the home folder, where the variable is not set; empty = the home folder.
    pub home: String,
    /// The file of settings in it, of JSON.
    pub settings: String,
    /// The user's settings to keep: JSON pointers.
    #[serde(default)]
    pub keep: Vec<String>,
    /// Settings beside them.
    #[serde(default)]
    pub set: Map<String, Value>,
    /// Variables that log in. At least one must be set: no login is copied, because one that is
    /// renewed in a copy may end the user's.
    pub login_by: Vec<String>,
    /// Files that hold a login: where one is, no variable is trusted to log in.
    #[serde(default)]
    pub unless: Vec<String>,
}

impl OwnHome {
    /// The user's home of the agent; `None` where nothing names it.
    pub fn of_the_user(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        variable(&self.variable)
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(variable("HOME")?).join(&self.home)))
    }

    /// Why a question in a home of its own would not be logged in; `None` where it would.
    pub fn lacks_login(
        &self,
        variable: &dyn Fn(&str) -> Option<OsString>,
        has_file: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        if let Some(file) = self.unless.iter().find(|file| has_file(file)) {
            return Some(format!(
                "{file} holds a login, which is not copied: one that is renewed in a copy may end the user's"
            ));
        }
        let is_set = self.login_by.iter().any(|name| variable(name).is_some());
        (!is_set).then(|| {
            format!(
                "none of {} is set, and no other login is copied",
                self.login_by.join(", ")
            )
        })
    }

    /// The settings for it, of the user's.
    ///
    /// # Errors
    /// Fails if the user's are no JSON.
    pub fn settings_of(&self, users: Option<&[u8]>) -> Result<Value, String> {
        let users: Value = match users {
            Some(bytes) => serde_json::from_slice(bytes)
                .map_err(|error| format!("{} is no plain JSON: {error}", self.settings))?,
            None => Value::Null,
        };
        let mut own = Value::Object(self.set.clone());
        for pointer in &self.keep {
            if let Some(value) = users.pointer(pointer) {
                insert_at_pointer(&mut own, pointer, value.clone());
            }
        }
        Ok(own)
    }

    pub(super) fn mistake(&self) -> Option<String> {
        let leaves = |path: &str| {
            Path::new(path)
                .components()
                .any(|part| !matches!(part, std::path::Component::Normal(_)))
        };
        let paths = [&self.home, &self.settings].into_iter().chain(&self.unless);
        if self.settings.is_empty()
            || paths
                .into_iter()
                .any(|path| leaves(path) || path.contains('\0'))
        {
            return Some("question.own_home: `home`, `settings` and `unless` are paths without `..` below a home folder".into());
        }
        (self.login_by.is_empty()
            || self.variable.is_empty()
            || self.variable.contains(['=', '\0']))
        .then(|| "question.own_home: needs a `variable`, and in `login_by` one that logs in".into())
    }
}

/// Puts a value at a pointer, and makes the objects on the way.
fn insert_at_pointer(into: &mut Value, pointer: &str, value: Value) {
    let mut node = into;
    for part in pointer.split('/').skip(1) {
        if !node.is_object() {
            *node = Value::Object(Map::new());
        }
        let Value::Object(members) = node else { return };
        node = members.entry(part).or_insert(Value::Null);
    }
    *node = value;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::preset::PresetCatalog;

    fn gemini() -> OwnHome {
        let preset = PresetCatalog::built_in_named("gemini").expect("it is built in");
        preset
            .question
            .as_ref()
            .and_then(|question| question.own_home.clone())
            .expect("it has one")
    }

    #[test]
    fn own_home_keeps_only_logins_by_variable() {
        for (set, file, works) in [
            (&["GEMINI_API_KEY"][..], None, true),
            (&["GEMINI_API_KEY"], Some(".gemini/oauth_creds.json"), false),
            (&[], Some(".gemini/oauth_creds.json"), false),
            (&[], None, false),
            (&["OTHER"], None, false),
        ] {
            let variable = |name: &str| set.contains(&name).then(|| OsString::from("x"));
            let lacks = gemini().lacks_login(&variable, &|path| Some(path) == file);
            assert_eq!(lacks.is_none(), works, "{set:?} {file:?} {lacks:?}");
        }
    }

    #[test]
    fn hooks_and_servers_of_the_user_stay_behind() {
        let users = json!({
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": true}},
            "model": {"name": "gemini-2.5-flash"}, "mcpServers": {"x": {"command": "x"}}, "hooks": {"BeforeAgent": []},
            "tools": {"core": ["run_shell_command"]},
        });
        let own = gemini()
            .settings_of(Some(users.to_string().as_bytes()))
            .expect("JSON");
        assert_eq!(
            own["security"],
            json!({"auth": {"selectedType": "gemini-api-key"}})
        );
        assert_eq!(
            (&own["model"]["name"], &own["tools"]["core"]),
            (&json!("gemini-2.5-flash"), &json!(["none"]))
        );
        assert!(
            own.get("mcpServers").is_none() && own.get("hooks").is_none(),
            "{own}"
        );
        assert!(gemini().settings_of(Some(b"{ // a comment\n}")).is_err());
        assert_eq!(
            gemini().settings_of(None).expect("none")["tools"]["core"],
            json!(["none"])
        );
    }
}
