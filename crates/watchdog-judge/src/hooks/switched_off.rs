//! The settings with which an agent runs none of its hooks, or not ours, in the order in which its files count.

use std::fs;
use std::path::{Path, PathBuf};

use jsonc_parser::cst::CstObjectProp;
use serde_json::Value;

use super::HookDialect;
use super::settings_file::SettingsFile;
use super::settings_text::{list_own_names, parse_settings};

/// A setting that keeps an agent from hooks of ours.
pub struct HookSwitch {
    /// How the hooks run again, as one more step of a sentence.
    pub mend: String,
    /// Whether an option or a variable of the agent's can do without the setting.
    pub is_passable: bool,
    /// The key and its value, in a sentence that goes on with the file.
    pub setting: String,
    /// The hooks that it stops, in words.
    pub effect: &'static str,
    /// The file that has it.
    pub file: PathBuf,
}

/// The hooks that Gemini CLI leaves out, by name or command. The lists of all files count.
const LEFT_OUT: &str = "hooksConfig.disabled";

impl HookSwitch {
    fn of_key(key: &str, value: &str, effect: &'static str, file: &Path) -> Self {
        HookSwitch {
            mend: format!("take {key} out of {}", file.display()),
            is_passable: false,
            setting: format!("{key} {value}"),
            effect,
            file: file.to_owned(),
        }
    }
}

/// The switch that counts in the worktree `root`; `None` where hooks run. The first file that has the key decides, but with Copilot CLI
/// each can switch off: that of a user its own hooks (`of_user`) alone.
pub fn find_hook_switch(
    dialect: HookDialect,
    root: Option<&Path>,
    user_file: Option<&Path>,
    of_user: bool,
) -> Option<HookSwitch> {
    // An organization's own settings come first, on Linux and on macOS.
    let (managed, key): (&[&str], _) = match dialect {
        HookDialect::Claude => (
            &[
                "/etc/claude-code",
                "/Library/Application Support/ClaudeCode",
            ],
            "disableAllHooks",
        ),
        HookDialect::Gemini => (
            &["/etc/gemini-cli", "/Library/Application Support/GeminiCli"],
            "hooksConfig.enabled",
        ),
        HookDialect::Qwen => (&["/etc/qwen-code"], "disableAllHooks"),
        HookDialect::Codex => (&[], "features.hooks"),
        HookDialect::Copilot => (&[], "disableAllHooks"),
        HookDialect::Opencode => return None,
    };
    let managed: Vec<(PathBuf, String)> = (managed.iter())
        .flat_map(|folder| list_managed_files(dialect, Path::new(folder)))
        .filter_map(read_settings)
        .collect();
    if let Some(switch) = find_managed_only(&managed) {
        return Some(switch);
    }
    let is_copilot = dialect == HookDialect::Copilot;
    let project_files = match dialect {
        HookDialect::Codex => vec![".codex/config.toml"],
        HookDialect::Copilot => [
            &[
                ".github/copilot/settings.local.json",
                dialect.project_file(),
            ],
            &HookDialect::Claude.project_files()[..],
        ]
        .concat(),
        _ => dialect.project_files().into_iter().rev().collect(),
    };
    let project = root.map(|root| project_files.iter().map(|name| root.join(name)));
    let user_settings = user_file.map(|file| match dialect {
        HookDialect::Codex => file.with_file_name("config.toml"),
        _ => file.to_owned(),
    });
    let counted = user_settings.clone().filter(|_| of_user || !is_copilot);
    let others = project.into_iter().flatten().chain(counted);
    let files: Vec<(PathBuf, String)> = (managed.into_iter())
        .chain(others.filter_map(read_settings))
        .collect();
    let is_off = |value: bool| value == (key == "disableAllHooks");
    let mut values = files
        .iter()
        .filter_map(|(file, text)| Some((file, read_switch(dialect, text, key)?)));
    let decides = match is_copilot {
        true => values.find(|(_, value)| is_off(*value)),
        false => values.next().filter(|(_, value)| is_off(*value)),
    };
    let decides = decides
        .map(|(file, value)| HookSwitch::of_key(key, &format!("is {value}"), "no hook runs", file));
    let is_gemini = dialect == HookDialect::Gemini;
    let left_out = || find_left_out_hook(&files).filter(|_| is_gemini);
    let untrusted =
        || find_missing_trust(dialect, root.filter(|_| !of_user)?, &user_settings?, &files);
    decides.or_else(left_out).or_else(untrusted)
}

fn read_settings(file: PathBuf) -> Option<(PathBuf, String)> {
    let text = SettingsFile::from_path(&file).ok()?.text?;
    Some((file, text))
}

/// The settings of an organization in a folder of the system, the first one first.
fn list_managed_files(dialect: HookDialect, folder: &Path) -> Vec<PathBuf> {
    if dialect != HookDialect::Claude {
        return vec![folder.join("settings.json")];
    }
    let parts = fs::read_dir(folder.join("managed-settings.d"));
    let mut parts: Vec<PathBuf> = (parts.into_iter().flatten())
        .filter_map(|part| Some(part.ok()?.path()))
        .filter(|part| part.extension().is_some_and(|end| end == "json"))
        .collect();
    parts.push(folder.join("managed-settings.json"));
    parts.sort_by(|a, b| b.cmp(a));
    parts
}

/// The setting of an organization with which Claude Code runs no hooks but its own.
fn find_managed_only(managed: &[(PathBuf, String)]) -> Option<HookSwitch> {
    managed.iter().find_map(|(file, text)| {
        let settings: Value = serde_json::from_str(text).ok()?;
        let names_hooks = |value: &Value| {
            let surfaces = value.as_array();
            value == true || surfaces.is_some_and(|list| list.iter().any(|name| name == "hooks"))
        };
        let mut keys = ["allowManagedHooksOnly", "strictPluginOnlyCustomization"].into_iter();
        let key = keys.find(|key| names_hooks(&settings[*key]))?;
        let effect = "no hook but those of the organization runs";
        let switch = HookSwitch::of_key(key, "is set", effect, file);
        Some(HookSwitch {
            mend: "ask who manages this machine to name the hooks there".into(),
            ..switch
        })
    })
}

/// Whether the hooks of a project wait for the user to trust its folder.
fn find_missing_trust(
    dialect: HookDialect,
    root: &Path,
    user_settings: &Path,
    files: &[(PathBuf, String)],
) -> Option<HookSwitch> {
    let read =
        |file: &Path| read_settings(file.to_owned()).map_or_else(String::new, |(_, text)| text);
    let (file, is_trusted, mend) = match dialect {
        HookDialect::Codex => {
            let text = read(user_settings);
            // A linked worktree is trusted with the main one.
            let link = fs::read_to_string(root.join(".git")).unwrap_or_default();
            let main = link
                .strip_prefix("gitdir: ")
                .and_then(|link| link.split_once("/.git/"));
            let own = root.to_string_lossy();
            let mut roots = main.map(|(main, _)| main).into_iter().chain([&*own]);
            let is_trusted = roots.any(|root| {
                let key = format!("projects.{root}.trust_level").replace(' ', "");
                read_toml_value(&text, &key).as_deref() == Some("trusted")
            });
            let mend = "start codex here and trust it, or run it with --trust";
            (user_settings.to_owned(), is_trusted, mend)
        }
        HookDialect::Gemini => {
            let file = user_settings.with_file_name("trustedFolders.json");
            // A project cannot switch off what keeps it from running.
            let mut texts = files.iter().filter(|(file, _)| !file.starts_with(root));
            let is_off = texts
                .find_map(|(_, text)| read_switch(dialect, text, "security.folderTrust.enabled"))
                == Some(false);
            let text = read(&file);
            let mend =
                "choose /permissions trust in gemini, or set GEMINI_CLI_TRUST_WORKSPACE=true";
            (file, is_off || is_trusted_folder(&text, root), mend)
        }
        _ => return None,
    };
    (!is_trusted).then(|| HookSwitch {
        mend: mend.into(),
        is_passable: true,
        setting: "this folder is not trusted".into(),
        effect: "no hook of the project runs",
        file,
    })
}

/// Whether Gemini CLI's rules trust a folder: the longest path that it stands in decides.
fn is_trusted_folder(rules: &str, root: &Path) -> bool {
    let rules = parse_settings(HookDialect::Gemini, rules).ok();
    let rules = rules.and_then(|rules| rules.object_value());
    let properties = rules.map_or_else(Vec::new, |rules| rules.properties());
    let read_rule = |rule: &CstObjectProp| {
        let level = rule.value()?.as_string_lit()?.decoded_value().ok()?;
        Some((rule.decoded_name()?, level))
    };
    let applies = |(path, level): &(String, String)| {
        let path = Path::new(path);
        let parent = path.parent().filter(|_| level == "TRUST_PARENT");
        let path = parent.unwrap_or(path);
        root.starts_with(path.canonicalize().as_deref().unwrap_or(path))
    };
    let rules = properties.iter().filter_map(read_rule).filter(applies);
    rules
        .max_by_key(|(path, _)| path.len())
        .is_some_and(|(_, level)| level != "DO_NOT_TRUST")
}

/// The first hook of ours that a list of Gemini CLI leaves out.
fn find_left_out_hook(files: &[(PathBuf, String)]) -> Option<HookSwitch> {
    let own_names: Vec<String> = files
        .iter()
        .flat_map(|(_, text)| list_own_names(HookDialect::Gemini, text))
        .collect();
    files.iter().find_map(|(file, text)| {
        let root = parse_settings(HookDialect::Gemini, text).ok()?;
        let config = root.object_value()?.object_value("hooksConfig")?;
        let names = config.array_value("disabled")?.elements();
        let mut names = names
            .iter()
            .filter_map(|name| name.as_string_lit()?.decoded_value().ok());
        let name = names.find(|name| own_names.contains(name))?;
        let named = format!("names '{name}'");
        let effect = "that hook does not run";
        Some(HookSwitch::of_key(LEFT_OUT, &named, effect, file))
    })
}

/// The value of a dotted key.
fn read_switch(dialect: HookDialect, text: &str, key: &str) -> Option<bool> {
    if dialect == HookDialect::Codex {
        // Older versions called it otherwise, and the newest still reads that.
        let value = read_toml_value(text, key);
        let value = value.or_else(|| read_toml_value(text, "features.codex_hooks"));
        return value?.parse().ok();
    }
    let mut object = parse_settings(dialect, text).ok()?.object_value()?;
    let (folders, name) = key.rsplit_once('.').unwrap_or(("", key));
    for folder in folders.split_terminator('.') {
        object = object.object_value(folder)?;
    }
    Some(object.get(name)?.value()?.as_boolean_lit()?.value())
}

/// The value of a dotted key in TOML, without quotes and blanks: as a key of its table, or whole.
fn read_toml_value(text: &str, key: &str) -> Option<String> {
    let mut table = String::new();
    text.lines().find_map(|line| {
        let line: String = (line.split('#').next().unwrap_or_default().chars())
            .filter(|letter| !letter.is_whitespace() && !matches!(letter, '"' | '\''))
            .collect();
        if let Some(name) = line.strip_prefix('[') {
            table = format!("{}.", name.trim_end_matches(']'));
        }
        let (name, value) = line.split_once('=')?;
        let (name, value) = match value.strip_prefix('{') {
            // A table on one line.
            Some(inner) => {
                let mut members = inner.trim_end_matches('}').split(',');
                let member = members.find_map(|member| {
                    let (last, value) = member.split_once('=')?;
                    let whole = format!("{table}{name}.{last}");
                    (whole == key).then_some((whole, value))
                });
                member?
            }
            None => (format!("{table}{name}"), value),
        };
        (name == key).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_switch_is_read_in_each_form() {
        for (text, expected) in [
            ("[features]\nhooks = false # off\n", Some(false)),
            ("model = \"x\"\nfeatures.hooks = false\n", Some(false)),
            ("features = { web = true, hooks = false }\n", Some(false)),
            ("[features]\nhooks = true\n", Some(true)),
            ("hooks = false\n[other]\nhooks = false\n", None),
            ("# features.hooks = false\n", None),
        ] {
            let value = read_toml_value(text, "features.hooks");
            let expected = expected.map(|value| value.to_string());
            assert_eq!(value, expected, "{text}");
        }
    }

    #[test]
    fn organization_can_leave_own_hooks_alone() {
        for (text, key) in [
            ("{\"allowManagedHooksOnly\": true}", "allowManagedHooksOnly"),
            (
                "{\"strictPluginOnlyCustomization\": [\"skills\", \"hooks\"]}",
                "strictPluginOnlyCustomization",
            ),
            ("{\"allowManagedHooksOnly\": false}", ""),
            ("{\"strictPluginOnlyCustomization\": [\"skills\"]}", ""),
            ("{", ""),
        ] {
            let switch = find_managed_only(&[("/etc/a.json".into(), text.to_owned())]);
            let setting = switch.map_or_else(String::new, |switch| switch.setting);
            assert_eq!(setting.split(' ').next(), Some(key), "{text}");
        }
        let folder = tempfile::tempdir().expect("a scratch folder");
        let parts = folder.path().join("managed-settings.d");
        fs::create_dir(&parts).expect("it is new");
        for name in ["10.json", "20.json", "a.txt"] {
            fs::write(parts.join(name), "{}").expect("it is new");
        }
        let files = list_managed_files(HookDialect::Claude, folder.path());
        let names: Vec<_> = files.iter().filter_map(|file| file.file_name()).collect();
        assert_eq!(names, ["managed-settings.json", "20.json", "10.json"]);
    }

    #[test]
    fn longest_rule_decides_whether_folder_is_trusted() {
        let root = Path::new("/nowhere/a/b");
        for (rules, expected) in [
            ("{\"/nowhere/a\": \"TRUST_FOLDER\"}", true),
            ("{\"/nowhere/a/c\": \"TRUST_PARENT\"}", true),
            (
                "{\"/nowhere/a\": \"TRUST_FOLDER\", \"/nowhere/a/b\": \"DO_NOT_TRUST\"}",
                false,
            ),
            ("{\"/nowhere/ab\": \"TRUST_FOLDER\"}", false),
            ("", false),
        ] {
            assert_eq!(is_trusted_folder(rules, root), expected, "{rules}");
        }
    }
}
