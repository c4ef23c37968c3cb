//! The test runner that a command line starts itself, rather than by a script or a file of targets.

use super::counts::pattern;

/// The runner that a line starts; `None` where it starts none that is known, or only asks it for something else than a run.
pub(in super::super) fn named_runner(line: &str) -> Option<&str> {
    let runner = pattern!(concat!(
        r"(?:^|[;&|(]\s*)(?:\w+=\S*\s+)*(?:(?:uv|poetry|pipenv|hatch|rye)\s+run\s+(?:-\S+\s+)*|(?:npx|bunx|pnpm|yarn)\s+(?:exec\s+)?|bundle\s+exec\s+)?",
        r"(?:\S*/)?(?:python[\d.]*\s+(?:-\S+\s+)*?-m\s+)?",
        r"(pytest|py\.test|unittest|go\s+test|cargo\s+(?:\+\S+\s+)?(?:test|nextest\s+run)|node\s+(?:-\S+\s+)*?--test|(?:deno|bun|playwright|mix|swift)\s+test|bats|ava|jasmine|jest|vitest|mocha|rspec|phpunit|ctest)(?:[\s;&|)]|$)"
    ));
    let asks_for_else = pattern!(
        r"\s--(?:no-run|collect-only|co|listTests|list|show-only|dry-run|count|version|help)\b|\s-(?:list|N)\b|vitest\s+(?:list|bench)\b"
    );
    let groups = runner
        .captures(line)
        .filter(|_| !asks_for_else.is_match(line))?;
    groups.get(1).map(|name| name.as_str())
}

/// Whether a line that names tests ran none: a package manager that may lack the script printed nothing, or make only looked.
pub(in super::super) fn runs_no_test(line: &str, is_silent: bool) -> bool {
    let only_looks = pattern!(
        r"(?:^|[;&|(]\s*)g?make\s+(?:[^\s;&|]+\s+)*?(?:-[bBeikrsSRwd]*[nqt][bBeikrsSRwdnqt]*|--(?:question|dry-run|just-print|recon|touch))(?:[\s;&|)]|$)"
    );
    line.contains("test")
        && (is_silent && line.contains("--if-present") || only_looks.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_that_only_looks_runs_no_test() {
        for line in [
            "make -n test",
            "make -kn test",
            "cd a && make --dry-run test",
        ] {
            assert!(runs_no_test(line, false), "{line}");
        }
        for line in [
            "make build && pytest -n auto tests",
            "make deps; go test -timeout 30s ./...",
            "make install && npm test -- -t a",
            "make -Otarget test",
            "make -Ctests test",
            "make -j4 -Oline test",
        ] {
            assert!(!runs_no_test(line, false), "{line}");
        }
    }

    #[test]
    fn runner_is_one_that_the_line_starts() {
        for (line, runner) in [
            ("pytest -q", Some("pytest")),
            ("cd a && CI=1 uv run --frozen pytest", Some("pytest")),
            ("python3 -B -m unittest -q", Some("unittest")),
            (".venv/bin/python -m pytest tests", Some("pytest")),
            ("go test ./...", Some("go test")),
            ("cargo +nightly test --all", Some("cargo +nightly test")),
            ("cargo nextest run", Some("cargo nextest run")),
            (
                "node --no-warnings --test",
                Some("node --no-warnings --test"),
            ),
            ("npx vitest run", Some("vitest")),
            ("node_modules/.bin/jest", Some("jest")),
            ("npx playwright test --ui", Some("playwright test")),
            ("deno test -A", Some("deno test")),
            ("bats --count test", None),
            ("bun run test", None),
            ("pip install pytest", None),
            ("cargo test --no-run", None),
            ("npm test", None),
            ("./pytest-all", None),
            ("sh pytest.sh", None),
        ] {
            assert_eq!(named_runner(line), runner, "{line}");
        }
    }
}
