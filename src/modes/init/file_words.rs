//! What the text of a Makefile, justfile, checklist or configuration of Python says, as far as a proposal needs it. Pure.

use std::collections::BTreeSet;

/// The targets that rules of a Makefile name.
pub fn make_targets(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text
        .lines()
        .filter(|line| !line.starts_with(['\t', '#', ' ', '.']))
    {
        let Some((names, rest)) = line.split_once(':') else {
            continue;
        };
        // An assignment: `A := b`, `A ::= b`; and a name with a value, such as `A = b:c`.
        if rest.trim_start_matches(':').starts_with('=') || names.contains(['=', '$', '%']) {
            continue;
        }
        found.extend(names.split_whitespace().map(str::to_owned));
    }
    found
}

/// The recipes of a justfile that can be run without an argument.
pub fn just_recipes(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text
        .lines()
        .filter(|line| !line.starts_with(['\t', '#', ' ', '[']))
    {
        let Some((head, rest)) = line.split_once(':') else {
            continue;
        };
        if rest.starts_with('=') {
            continue;
        }
        let mut words = head.trim_start_matches('@').split_whitespace();
        let Some(name) = words.next() else { continue };
        let is_name = name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        if is_name && words.all(|parameter| parameter.contains('=') || parameter.starts_with('*')) {
            found.insert(name.to_owned());
        }
    }
    found
}

/// How many boxes a markdown list has, and how many of them are open. Those in blocks of code do not count.
pub fn boxes(text: &str) -> (usize, usize) {
    let (mut all, mut open, mut in_code) = (0, 0, false);
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
        }
        let bullet = line
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches(['-', '*', '+', '.', ')']);
        let Some(mark) = bullet
            .trim_start()
            .strip_prefix('[')
            .filter(|_| !in_code && bullet.len() < line.len())
        else {
            continue;
        };
        match mark.chars().next() {
            Some(' ') if mark[1..].starts_with(']') => (all, open) = (all + 1, open + 1),
            Some('x' | 'X') if mark[1..].starts_with(']') => all += 1,
            _ => {}
        }
    }
    (all, open)
}

/// Whether a file of a Python project configures pytest, or asks for it.
pub fn pytest_is_configured(name: &str, text: &str) -> bool {
    let heads = match name {
        "pyproject.toml" => "[tool.pytest",
        "setup.cfg" => "[tool:pytest]",
        "tox.ini" => "[pytest]",
        _ => "",
    };
    let section = !heads.is_empty()
        && text
            .lines()
            .any(|line| line.trim_start().starts_with(heads));
    let named = |line: &str| {
        let line = line.trim().trim_start_matches(['"', '\'']);
        line.strip_prefix("pytest")
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    // A dependency: a line of its own, or one word of a list.
    section
        || (name.contains("requirements") || name == "pyproject.toml")
            && text.lines().any(|line| line.split(['[', ',']).any(named))
}

/// Whether a file of a Python project configures tox.
pub fn tox_is_configured(name: &str, text: &str) -> bool {
    let heads: &[&str] = match name {
        "tox.ini" => &["[tox]", "[testenv"],
        "pyproject.toml" => &["[tool.tox]", "[tool.tox."],
        "setup.cfg" => &["[tox:tox]"],
        "tox.toml" => return true,
        _ => &[],
    };
    text.lines()
        .any(|line| heads.iter().any(|head| line.trim_start().starts_with(head)))
}

/// The session of a `noxfile.py` that runs tests, by its name.
pub fn nox_tests(text: &str) -> Option<String> {
    let mut named: Option<Option<String>> = None;
    let mut sessions = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("@nox.session") || line.starts_with("@session") {
            named = Some(value_of(line, "name"));
        } else if let Some(rest) = line
            .strip_prefix("def ")
            .or_else(|| line.strip_prefix("async def "))
        {
            let function = rest
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
                .unwrap_or_default();
            if let Some(name) = named.take() {
                sessions.insert(name.unwrap_or_else(|| function.to_owned()));
            }
        }
    }
    ["tests", "test", "pytest", "unit"]
        .into_iter()
        .find(|name| sessions.contains(*name))
        .map(str::to_owned)
}

/// The quoted value of a keyword argument on a line of Python.
fn value_of(line: &str, key: &str) -> Option<String> {
    let after = line.split(['(', ',']).find_map(|part| {
        part.trim_start()
            .strip_prefix(key)?
            .trim_start()
            .strip_prefix('=')
    })?;
    let quote = after
        .trim_start()
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\''))?;
    after.split(quote).nth(1).map(str::to_owned)
}

/// The texts of an array in a table of TOML, such as `members` of `[workspace]`. It may go over several lines.
pub fn toml_list(text: &str, table: &str, key: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    while let Some(line) = lines.next() {
        if line.starts_with('[') {
            inside = line == format!("[{table}]");
        } else if let Some(first) = line
            .strip_prefix(key)
            .and_then(|rest| rest.trim_start().strip_prefix('='))
            .filter(|_| inside)
        {
            let mut list = first.to_owned();
            while !list.contains(']') {
                let Some(line) = lines.next() else {
                    return Vec::new();
                };
                list.push_str(line);
            }
            return quoted_texts(list.split(']').next().unwrap_or_default());
        }
    }
    Vec::new()
}

/// The patterns of `packages` in a `pnpm-workspace.yaml`.
pub fn pnpm_members(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("packages:"));
    let entries = lines
        .skip(1)
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map_while(|line| {
            let entry = line.strip_prefix('-')?.trim();
            let quote = entry.chars().next().filter(|c| matches!(c, '"' | '\''));
            Some(
                quote
                    .map_or_else(
                        || entry.split(" #").next(),
                        |quote| entry.split(quote).nth(1),
                    )
                    .unwrap_or_default()
                    .trim()
                    .to_owned(),
            )
        });
    entries.filter(|entry| !entry.is_empty()).collect()
}

/// What stands between quotes, in order.
fn quoted_texts(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.find(['"', '\'']).map(|at| rest.split_at(at)) {
        let quote = &after[..1];
        let Some((inner, behind)) = after[1..].split_once(quote) else {
            break;
        };
        found.push(inner.to_owned());
        rest = behind;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tox_is_configured_by_its_own_sections() {
        for (name, text, expected) in [
            ("tox.ini", "[tox]\nenvlist = py312\n", true),
            ("tox.ini", "[testenv:unit]\ncommands = pytest\n", true),
            ("tox.ini", "[flake8]\nmax-line-length = 99\n", false),
            ("pyproject.toml", "[tool.tox]\nlegacy_tox_ini = ''\n", true),
            ("pyproject.toml", "[tool.tox.env_run_base]\n", true),
            ("pyproject.toml", "[tool.toxic]\n", false),
            ("setup.cfg", "[tox:tox]\n", true),
            ("tox.toml", "", true),
            ("requirements.txt", "[tox]", false),
        ] {
            assert_eq!(tox_is_configured(name, text), expected, "{name}: {text}");
        }
    }

    #[test]
    fn the_session_of_nox_that_tests_is_known_by_its_name() {
        for (text, expected) in [
            (
                "import nox\n@nox.session\ndef tests(session):\n    pass\n",
                Some("tests"),
            ),
            (
                "@nox.session(python=['3.11', '3.12'])\ndef test(session):\n",
                Some("test"),
            ),
            (
                "@nox.session(name=\"unit\", reuse_venv=True)\ndef _run(session):\n",
                Some("unit"),
            ),
            (
                "@session(name = 'pytest')\n@parametrize('a', [1])\ndef x(session):\n",
                Some("pytest"),
            ),
            (
                "@nox.session\ndef lint(session):\ndef tests(session):\n",
                None,
            ),
            ("@nox.session(name='lint')\ndef tests(session):\n", None),
            ("def tests(session):\n", None),
            ("", None),
        ] {
            assert_eq!(nox_tests(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn members_of_workspaces_are_read_from_toml_and_yaml() {
        let toml = "[package]\nexclude = ['no']\n[workspace] # all\nmembers = [\"a\", 'b/*', # one more\n  \"c\",\n]\nexclude = []\n\
                    exclude2 = ['z']\n[profile.dev]\nmembers = ['d']\n";
        assert_eq!(toml_list(toml, "workspace", "members"), ["a", "b/*", "c"]);
        assert_eq!(toml_list(toml, "workspace", "exclude"), [""; 0]);
        assert_eq!(toml_list(toml, "package", "exclude"), ["no"]);
        assert_eq!(
            toml_list("[workspace]\nexclude = [\"open", "workspace", "exclude"),
            [""; 0]
        );
        let yaml = "# x\npackages:\n  # all\n  - 'packages/*'\n  - \"apps/**\" # deep\n  - plain # one\n  - '!**/test/**'\n\ncatalog:\n  - no\n";
        assert_eq!(
            pnpm_members(yaml),
            ["packages/*", "apps/**", "plain", "!**/test/**"]
        );
        assert_eq!(pnpm_members("onlyBuiltDependencies:\n  - x\n"), [""; 0]);
    }

    #[test]
    fn targets_are_those_of_rules() {
        let text = ".PHONY: test lint\nCC := gcc\nX ::= y\nURL = http://x\nall: build\n\ntest check: build ## runs it\n\techo a: b\n\
                    double:: x\n%.o: %.c\n$(OBJ): x\n# no: comment\n  indented: x\nempty:\n";
        assert_eq!(
            make_targets(text),
            ["all", "check", "double", "empty", "test"]
                .map(str::to_owned)
                .into()
        );
        assert_eq!(
            make_targets("not a makefile at all\n\0\u{fffd}"),
            BTreeSet::new()
        );
    }

    #[test]
    fn recipes_that_need_an_argument_are_none() {
        let text = "set shell := ['sh', '-c']\nversion := '1'\nalias t := test\n@test: build\n  cargo test\nbench name:\n  x\n\
                    check mode='all' *args: test\n[private]\nhidden:\nplus +files:\n";
        assert_eq!(
            just_recipes(text),
            ["check", "hidden", "test"].map(str::to_owned).into()
        );
    }

    #[test]
    fn boxes_are_counted_outside_of_code() {
        let text = "# Tasks\n- [ ] a\n- [x] b\n  * [X] c\n1. [ ] d\n[ ] no bullet\n- [link](x)\n```\n- [ ] code\n```\n- [-] odd\n";
        assert_eq!(boxes(text), (4, 2));
        assert_eq!(boxes(""), (0, 0));
    }

    #[test]
    fn pytest_is_asked_for_by_section_or_dependency() {
        for (name, text, expected) in [
            ("pyproject.toml", "[tool.pytest.ini_options]\n", true),
            ("pyproject.toml", "dev = [\"pytest>=8\"]", true),
            ("pyproject.toml", "dev = [\"ruff\", \"pytest\"]", true),
            (
                "pyproject.toml",
                "[tool.poetry.dev-dependencies]\npytest = \"^8\"",
                true,
            ),
            ("pyproject.toml", "dev = [\"pytest_mock_only\"]", false),
            ("pyproject.toml", "[project]\nname = 'x'", false),
            ("requirements-dev.txt", "pytest==8.0\n", true),
            ("requirements.txt", "requests\n", false),
            ("setup.cfg", "[tool:pytest]\n", true),
            ("tox.ini", "[pytest]\n", true),
            ("tox.ini", "[testenv]\ndeps = pytest\n", false),
        ] {
            assert_eq!(pytest_is_configured(name, text), expected, "{name}: {text}");
        }
    }
}
