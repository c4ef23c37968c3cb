//! What the text of a Makefile, justfile, checklist or configuration of Python says, as far as a proposal needs it. Pure.

use std::collections::BTreeSet;

/// The targets that rules of a Makefile name.
pub fn make_targets(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with(['\t', '#', ' ', '.'])) {
        let Some((names, rest)) = line.split_once(':') else { continue };
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
    for line in text.lines().filter(|line| !line.starts_with(['\t', '#', ' ', '['])) {
        let Some((head, rest)) = line.split_once(':') else { continue };
        if rest.starts_with('=') {
            continue;
        }
        let mut words = head.trim_start_matches('@').split_whitespace();
        let Some(name) = words.next() else { continue };
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
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
        let bullet = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(['-', '*', '+', '.', ')']);
        let Some(mark) = bullet.trim_start().strip_prefix('[').filter(|_| !in_code && bullet.len() < line.len()) else { continue };
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
    let section = !heads.is_empty() && text.lines().any(|line| line.trim_start().starts_with(heads));
    let named = |line: &str| {
        let line = line.trim().trim_start_matches(['"', '\'']);
        line.strip_prefix("pytest").is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    // A dependency: a line of its own, or one word of a list.
    section || (name.contains("requirements") || name == "pyproject.toml") && text.lines().any(|line| line.split(['[', ',']).any(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_those_of_rules() {
        let text = ".PHONY: test lint\nCC := gcc\nX ::= y\nURL = http://x\nall: build\n\ntest check: build ## runs it\n\techo a: b\n\
                    double:: x\n%.o: %.c\n$(OBJ): x\n# no: comment\n  indented: x\nempty:\n";
        assert_eq!(make_targets(text), ["all", "check", "double", "empty", "test"].map(str::to_owned).into());
        assert_eq!(make_targets("not a makefile at all\n\0\u{fffd}"), BTreeSet::new());
    }

    #[test]
    fn recipes_that_need_an_argument_are_none() {
        let text = "set shell := ['sh', '-c']\nversion := '1'\nalias t := test\n@test: build\n  cargo test\nbench name:\n  x\n\
                    check mode='all' *args: test\n[private]\nhidden:\nplus +files:\n";
        assert_eq!(just_recipes(text), ["check", "hidden", "test"].map(str::to_owned).into());
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
            ("pyproject.toml", "[tool.poetry.dev-dependencies]\npytest = \"^8\"", true),
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
