//! The files of a question on disk: the schema of its answer, and a home of its own. Both lie
//! outside the work tree, in a folder that only
//! this user may enter, and are removed with it.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::preset::definition::QuestionTemplate;
use super::preset::own_home::OwnHome;
use super::preset::question::{QuestionKind, QuestionPlaces};
use super::transcript::ClaudeHome;

/// Bytes of the user's settings that are read.
const SETTINGS: u64 = 1 << 20;

/// The folder of one question.
#[derive(Debug)]
pub(super) struct QuestionScratch {
    folder: TempDir,
    schema_file: Option<PathBuf>,
    own_home: Option<PathBuf>,
}

impl QuestionScratch {
    /// Makes what a question of this kind needs; `None` where it needs nothing.
    ///
    /// # Errors
    /// Why the question cannot be put.
    pub fn prepare(
        question: &QuestionTemplate,
        kind: QuestionKind,
        worktree: &Path,
    ) -> Result<Option<Self>, String> {
        let schema = kind.schema().filter(|_| question.takes_schema_file());
        // A judge resumes nothing: it leaves no trace in a session that worked.
        let home = question
            .own_home
            .as_ref()
            .filter(|_| kind != QuestionKind::Judge);
        if schema.is_none() && home.is_none() {
            return Ok(None);
        }
        let failed =
            |error: std::io::Error| format!("failed to make the files of the question: {error}");
        let folder = temporary_folder(worktree).map_err(failed)?;
        let mut made = QuestionScratch {
            folder,
            schema_file: None,
            own_home: None,
        };
        if let Some(schema) = schema {
            let file = made.folder.path().join("schema.json");
            fs::write(&file, make_schema_strict(schema)).map_err(failed)?;
            made.schema_file = Some(file);
        }
        if let Some(home) = home {
            let settings = load_user_settings(home)?;
            let file = made.folder.path().join("home").join(&home.settings);
            file.parent()
                .map_or(Ok(()), fs::create_dir_all)
                .map_err(failed)?;
            fs::write(&file, settings.to_string()).map_err(failed)?;
            fs::create_dir(made.folder.path().join("empty")).map_err(failed)?;
            made.own_home = Some(made.folder.path().join("home"));
        }
        Ok(Some(made))
    }

    /// The paths for the arguments of the question.
    pub fn places<'a>(&'a self, transcript: Option<&'a Path>) -> QuestionPlaces<'a> {
        QuestionPlaces {
            schema_file: self.schema_file.as_deref(),
            own_home: self.own_home.as_deref(),
            transcript,
        }
    }

    /// The working folder of a question in a home of its own: an empty one, so that it reads and
    /// runs no file of a repository.
    pub fn cwd(&self) -> Option<PathBuf> {
        self.own_home
            .as_ref()
            .map(|_| self.folder.path().join("empty"))
    }
}

/// The settings of the user's that go along, where they log in.
fn load_user_settings(home: &OwnHome) -> Result<Value, String> {
    let environment = ClaudeHome::from_env();
    let variable = |name: &str| environment.variable(name);
    let users = home
        .of_the_user(&variable)
        .ok_or("no home folder is named")?;
    if let Some(lacks) = home.lacks_login(&variable, &|file| users.join(file).exists()) {
        return Err(format!(
            "a question needs a home of its own, which would not be logged in: {lacks}"
        ));
    }
    let file = users.join(&home.settings);
    let mut bytes = Vec::new();
    let read = match fs::metadata(&file) {
        Ok(about) if about.is_file() => fs::File::open(&file)
            .and_then(|opened| opened.take(SETTINGS).read_to_end(&mut bytes))
            .is_ok(),
        _ => false,
    };
    home.settings_of(read.then_some(bytes.as_slice()))
}

/// A new folder of this user alone, outside the work tree wherever temporary files lie.
fn temporary_folder(worktree: &Path) -> std::io::Result<TempDir> {
    let root = fs::canonicalize(worktree).unwrap_or_else(|_| worktree.to_owned());
    let usual = [
        std::env::temp_dir(),
        PathBuf::from("/tmp"),
        PathBuf::from("/var/tmp"),
    ];
    let is_safe = |folder: &PathBuf| {
        root == Path::new("/")
            || fs::canonicalize(folder).is_ok_and(|folder| !folder.starts_with(&root))
    };
    let safe_folder = usual
        .into_iter()
        .find(is_safe)
        .ok_or_else(|| std::io::Error::other("every temporary folder lies in the work tree"))?;
    let private = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new()
        .prefix("watchdog-question-")
        .permissions(private)
        .tempdir_in(safe_folder)
}

/// The schema as services take it that hold an answer to one: every member is required, and there are no others.
fn make_schema_strict(schema: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(schema) else {
        return schema.to_owned();
    };
    make_strict(&mut value);
    value.to_string()
}

fn make_strict(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for bound in ["minimum", "minItems"] {
                members.remove(bound);
            }
            if let Some(names) = members
                .get("properties")
                .and_then(Value::as_object)
                .map(|properties| properties.keys().cloned().collect())
            {
                members.insert(
                    "required".into(),
                    Value::Array(Vec::from_iter(
                        Vec::<String>::into_iter(names).map(Value::String),
                    )),
                );
                members.insert("additionalProperties".into(), Value::Bool(false));
            }
            members.values_mut().for_each(make_strict);
        }
        Value::Array(items) => items.iter_mut().for_each(make_strict),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_prompt::PLAN_SCHEMA;
    use crate::preset::PresetCatalog;
    use crate::prompt::REPLY_SCHEMA;

    fn each_object(value: &Value, look: &mut dyn FnMut(&Value)) {
        if value.get("properties").is_some() {
            look(value);
        }
        match value {
            Value::Object(members) => members.values().for_each(|value| each_object(value, look)),
            Value::Array(items) => items.iter().for_each(|value| each_object(value, look)),
            _ => {}
        }
    }

    #[test]
    fn strict_schema_requires_exactly_its_members() {
        for schema in [REPLY_SCHEMA, PLAN_SCHEMA] {
            let made: Value = serde_json::from_str(&make_schema_strict(schema)).expect("JSON");
            let mut objects = 0;
            each_object(&made, &mut |object| {
                objects += 1;
                let names: Vec<&String> = object["properties"]
                    .as_object()
                    .expect("an object")
                    .keys()
                    .collect();
                let required: Vec<&str> = object["required"]
                    .as_array()
                    .expect("a list")
                    .iter()
                    .filter_map(Value::as_str)
                    .collect();
                assert_eq!(
                    (required, &object["additionalProperties"]),
                    (
                        names.iter().map(|name| name.as_str()).collect(),
                        &Value::Bool(false)
                    )
                );
            });
            assert!(objects > 0 && !made.to_string().contains("min"), "{made}");
        }
    }

    #[test]
    fn question_files_stay_outside_worktree_and_are_removed() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let codex = PresetCatalog::built_in_named("codex").expect("it is built in");
        let question = codex.question.as_ref().expect("it is asked");
        let made = QuestionScratch::prepare(question, QuestionKind::Probe, scratch.path())
            .expect("it is made")
            .expect("it needs a schema");
        let file = made.places(None).schema_file.expect("a schema").to_owned();
        let folder = file.parent().expect("a folder").to_owned();
        assert!(file.is_file() && !file.starts_with(scratch.path()));
        assert_eq!(
            fs::metadata(&folder)
                .expect("it is there")
                .permissions()
                .mode()
                & 0o777,
            0o700
        );
        drop(made);
        assert!(!folder.exists());
        let above = QuestionScratch::prepare(question, QuestionKind::Probe, &std::env::temp_dir());
        assert!(
            above.is_err()
                || above.is_ok_and(|made| made
                    .is_some_and(|made| !made.folder.path().starts_with(std::env::temp_dir())))
        );
        assert!(
            QuestionScratch::prepare(question, QuestionKind::Judge, scratch.path())
                .expect("prose")
                .is_none()
        );
    }
}
