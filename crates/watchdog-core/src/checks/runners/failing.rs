//! The first failed test, and its message.

use super::counts::pattern;
use super::output::TestFailure;

/// How many lines below the name of a test are searched for its message.
const NEAR: usize = 40;

/// The first test that failed, of whichever runner names one.
pub(super) fn find_first_failure(lines: &[&str]) -> Option<TestFailure> {
    let finders = [
        find_pytest_failure,
        find_unittest_failure,
        find_go_failure,
        find_cargo_failure,
        find_nextest_failure,
        find_vitest_failure,
        find_jest_failure,
        find_mocha_failure,
        find_node_failure,
        find_rspec_failure,
        find_surefire_failure,
        find_gradle_failure,
        find_ctest_failure,
        find_dotnet_failure,
    ];
    finders.iter().find_map(|find| find(lines)).or_else(|| {
        let (name, n) = list_named_lines(lines).next()?;
        let message = lines.get(n + 1..).map_or("", find_text_line);
        Some(new_failure(name, message))
    })
}

/// The names of all tests that failed, sorted, of the runners that name each. A file that does not build or load is none.
pub(super) fn list_failing_tests(lines: &[&str]) -> Vec<String> {
    let names_file = pattern!(r"_FailedTest|# (?:SKIP|TODO)|^\S*/\S*\.[cm]?[jt]sx?$");
    let mocha = list_mocha_failures(lines).into_iter();
    let mut names: Vec<String> = list_named_lines(lines)
        .chain(mocha)
        .map(|(name, _)| name)
        .filter(|name| !names_file.is_match(name))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The failed tests that have a line each, with the places of these lines.
fn list_named_lines(lines: &[&str]) -> impl Iterator<Item = (String, usize)> {
    // A line that begins a list of tests of one kind, and the lines below it: of failed ones, too, where the first names these.
    let listed = [
        // Minitest
        (
            pattern!(r"^\s*(?:\d+\) )?(?:Failure|Error|Skipped):$"),
            pattern!(r"^([A-Z]\S*#test_.+?)(?: \[[^\]]*\])?:$"),
        ),
        // PHPUnit
        (
            pattern!(r"^There (?:was|were) \d+ .*:$"),
            pattern!(r"^\d+\) (\S+::\S.*)$"),
        ),
    ];
    let patterns = [
        pattern!(r"^test (.+?)(?: - should panic)? \.\.\. FAILED$"),
        pattern!(
            r"^\s+(?:FAIL|TIMEOUT|SIGABRT|SIGSEGV) \[\s*[\d.]+s\] (?:\(\s*\d+/\d+\) )?(\S.*)$"
        ),
        pattern!(r"^(?:FAILED|ERROR) (\S+\.py::.+?)(?: - .*)?$"),
        pattern!(r"^(SUBFAIL.*? \S+\.py::.+?)(?: - .*)?$"),
        pattern!(r"^(?:FAIL|ERROR): (\S+ \(.+[)\]])$"),
        pattern!(r"^\s*--- FAIL: (\S+) \([\d.]+s\)$"),
        pattern!(r"^\s*not ok \d+ (?:- )?(.+)$"),
        pattern!(r"^✖ (.+) \([\d.]+ms\)$"),
        pattern!(r"^\s+● (.+ › .+)$"),
        pattern!(r"^ FAIL  (\S+ > .+)$"),
        pattern!(r"^rspec \S+ # (.+)$"),
        pattern!(r"^(\S.* > .+) FAILED$"),
        pattern!(r"^(?:\[ERROR\] )?(\S+)\s+(?:-- )?Time elapsed: .* <<< (?:FAILURE|ERROR)!$"),
        pattern!(r"^\s+\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Subprocess aborted)\)"),
        pattern!(r"^\s+Failed (\S.*?) \[[^\]]+\]$"),
    ];
    let fails = pattern!(r"(?i)\b(?:failures?|errors?):$");
    let mut is_failed = [false; 2];
    // node's word for a group of tests, which fails with each of them.
    let is_suite = |n: usize| {
        let mut below = lines.iter().skip(n + 1).take(4);
        lines[n].contains("not ok ") && below.any(|line| line.trim() == "type: 'suite'")
    };
    let named = lines.iter().enumerate().filter_map(move |(n, line)| {
        if is_suite(n) {
            return None;
        }
        let mut groups = patterns.iter().find_map(|pattern| pattern.captures(line));
        for ((begin, name), is_failed) in listed.iter().zip(&mut is_failed) {
            if begin.is_match(line) {
                *is_failed = fails.is_match(line);
            }
            groups = groups.or_else(|| name.captures(line).filter(|_| *is_failed));
        }
        Some((groups?[1].trim().to_owned(), n))
    });
    named.collect::<Vec<_>>().into_iter()
}

/// The first line that names a failed test, its name, and the lines below it.
fn find_named<'a, 'b>(
    lines: &'b [&'a str],
    pattern: &regex::Regex,
) -> Option<(String, &'b [&'a str])> {
    lines.iter().enumerate().find_map(|(n, line)| {
        let name = pattern.captures(line)?.get(1)?.as_str().trim().to_owned();
        Some((name, &lines[n + 1..lines.len().min(n + 1 + NEAR)]))
    })
}

fn new_failure(name: String, message: impl Into<String>) -> TestFailure {
    TestFailure {
        name,
        message: message.into(),
    }
}

/// The first line with text.
fn find_text_line<'a>(lines: &[&'a str]) -> &'a str {
    lines
        .iter()
        .map(|line| line.trim())
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

/// The first line of an error as most languages write it: its type, a colon, its words.
fn find_error_line<'a>(lines: &[&'a str]) -> &'a str {
    let is_error = |line: &&str| {
        pattern!(r"^\s*(?:[\w.]*(?:Error|Exception|Failure|Failed)\b[^:]*:|error: )").is_match(line)
    };
    lines
        .iter()
        .find(|line| is_error(line))
        .map(|line| line.trim())
        .unwrap_or_default()
}

/// Finds Rust's panic with its place and message.
fn find_panic(lines: &[&str]) -> String {
    let Some(n) = lines.iter().position(|line| line.contains(" panicked at ")) else {
        return String::new();
    };
    let location = lines[n]
        .rsplit_once(" panicked at ")
        .map_or("", |(_, location)| location)
        .trim_end_matches(':');
    match lines.get(n + 1) {
        Some(message) if !message.starts_with("note:") && !message.trim().is_empty() => {
            format!("{location}: {}", message.trim())
        }
        _ => location.to_owned(),
    }
}

fn find_cargo_failure(lines: &[&str]) -> Option<TestFailure> {
    if let Some((name, below)) = find_named(lines, pattern!(r"^---- (.+) stdout ----$")) {
        return Some(new_failure(name, find_panic(below)));
    }
    find_named(lines, pattern!(r"^test (.+) \.\.\. FAILED$")).map(|(name, _)| new_failure(name, ""))
}

fn find_nextest_failure(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(
        lines,
        pattern!(
            r"^\s+(?:FAIL|TIMEOUT|SIGABRT|SIGSEGV) \[\s*[\d.]+s\] (?:\(\s*\d+/\d+\) )?(\S.*)$"
        ),
    )?;
    Some(new_failure(name, find_panic(below)))
}

fn find_pytest_failure(lines: &[&str]) -> Option<TestFailure> {
    let groups = lines.iter().find_map(|line| {
        pattern!(r"^(?:FAILED|ERROR) (\S+\.py(?:::.*?)?)(?: - (.*))?$").captures(line)
    })?;
    Some(new_failure(
        groups[1].to_owned(),
        groups.get(2).map_or("", |message| message.as_str()),
    ))
}

fn find_unittest_failure(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(lines, pattern!(r"^(?:FAIL|ERROR): (\S+ \(.+\))$"))?;
    let end = below
        .iter()
        .position(|line| line.starts_with("===="))
        .unwrap_or(below.len());
    Some(new_failure(name, find_error_line(&below[..end])))
}

fn find_go_failure(lines: &[&str]) -> Option<TestFailure> {
    let below = |pattern: &regex::Regex| find_named(lines, pattern);
    let (name, next) = below(pattern!(r"^\s+--- FAIL: (\S+) \([\d.]+s\)$"))
        .or_else(|| below(pattern!(r"^--- FAIL: (\S+) \([\d.]+s\)$")))?;
    // With -v the message is above, without it below.
    let at = pattern!(r"^\s+\S+\.go:\d+: ");
    let message = match next.first() {
        Some(line) if at.is_match(line) => line.trim(),
        _ => {
            let n = lines
                .iter()
                .position(|line| line.contains(&format!("--- FAIL: {name} (")))
                .unwrap_or(0);
            lines[..n]
                .last()
                .filter(|line| at.is_match(line))
                .map_or("", |line| line.trim())
        }
    };
    Some(new_failure(name, message))
}

fn find_jest_failure(lines: &[&str]) -> Option<TestFailure> {
    lines
        .iter()
        .find(|line| line.starts_with("Tests:") || line.starts_with("Test Suites:"))?;
    let (name, below) = find_named(lines, pattern!(r"^\s+● (.+)$"))?;
    Some(new_failure(name, find_text_line(below)))
}

fn find_vitest_failure(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(lines, pattern!(r"^ FAIL  (\S+ > .+|\S+ \[ .+ \])$"))?;
    Some(new_failure(name, find_text_line(below)))
}

/// Mocha writes the suites and the name one below the other, and ends them with a colon: the tests, with the places of these ends.
fn list_mocha_failures(lines: &[&str]) -> Vec<(String, usize)> {
    let heading = pattern!(r"^  \d+ failing$");
    let begin = lines.iter().position(|line| heading.is_match(line));
    let mut failures = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for (n, line) in lines.iter().enumerate().skip(begin.unwrap_or(lines.len())) {
        if let Some(first) = pattern!(r"^  \d+\) (.+)$")
            .captures(line)
            .and_then(|groups| groups.get(1))
        {
            words = vec![first.as_str()];
        } else if !words.is_empty() {
            words.push(line.trim());
        }
        if let Some(last) = words.last().and_then(|word| word.strip_suffix(':')) {
            words.pop();
            words.push(last);
            failures.push((words.join(" "), n));
            words.clear();
        }
    }
    failures
}

fn find_mocha_failure(lines: &[&str]) -> Option<TestFailure> {
    let (name, end) = list_mocha_failures(lines).into_iter().next()?;
    Some(new_failure(name, find_text_line(&lines[end + 1..])))
}

fn find_node_failure(lines: &[&str]) -> Option<TestFailure> {
    lines
        .iter()
        .find(|line| pattern!(r"^(?:#|ℹ) tests \d+$").is_match(line))?;
    if let Some((name, below)) = find_named(lines, pattern!(r"^\s*not ok \d+ (?:- )?(.+)$")) {
        let error_text = below
            .iter()
            .find_map(|line| line.trim().strip_prefix("error: "))
            .unwrap_or_default();
        return Some(new_failure(name, error_text.trim_matches('\'')));
    }
    let list = lines
        .iter()
        .position(|line| *line == "✖ failing tests:")
        .map_or(0, |n| n + 1);
    let (name, below) = find_named(&lines[list..], pattern!(r"^✖ (.+?)(?: \([\d.]+ms\))?$"))?;
    Some(new_failure(name, find_text_line(below)))
}

fn find_rspec_failure(lines: &[&str]) -> Option<TestFailure> {
    let groups = lines
        .iter()
        .find_map(|line| pattern!(r"^rspec (\S+) # (.+)$").captures(line))?;
    let n = lines
        .iter()
        .position(|line| line.trim_start().starts_with("Failure/Error:"))
        .map_or(lines.len(), |n| n + 1);
    Some(new_failure(
        format!("{} ({})", &groups[2], &groups[1]),
        find_text_line(&lines[n..]),
    ))
}

fn find_surefire_failure(lines: &[&str]) -> Option<TestFailure> {
    let list = lines.iter().position(|line| {
        pattern!(r"^(?:\[ERROR\] )?(?:Failures|Errors|Failed tests|Tests in error):").is_match(line)
    })?;
    let groups = lines[list..].iter().skip(1).find_map(|line| {
        pattern!(r"^(?:\[ERROR\])?\s+(\S+?:\d+|\S+)(?: (?:» )?(.*))?$").captures(line)
    })?;
    Some(new_failure(
        groups[1].to_owned(),
        groups.get(2).map_or("", |message| message.as_str()),
    ))
}

fn find_gradle_failure(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(lines, pattern!(r"^(\S.* > .+) FAILED$"))?;
    Some(new_failure(name, find_text_line(below)))
}

fn find_ctest_failure(lines: &[&str]) -> Option<TestFailure> {
    let list = lines
        .iter()
        .position(|line| *line == "The following tests FAILED:")?;
    let groups = lines[list..]
        .iter()
        .find_map(|line| pattern!(r"^\s+\d+ - (\S+) \(([^)]*)\)").captures(line))?;
    Some(new_failure(groups[1].to_owned(), &groups[2]))
}

fn find_dotnet_failure(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(lines, pattern!(r"^\s+Failed (\S.*?) \[[^\]]+\]$"))?;
    let n = below
        .iter()
        .position(|line| line.trim() == "Error Message:")
        .map_or(below.len(), |n| n + 1);
    Some(new_failure(name, find_text_line(&below[n..])))
}
