//! The first failed test, and its message.

use super::counts::pattern;
use super::output::TestFailure;

/// How many lines below the name of a test are searched for its message.
const NEAR: usize = 40;

/// The first test that failed, of whichever runner names one.
pub(super) fn first(lines: &[&str]) -> Option<TestFailure> {
    [
        pytest, unittest, go, cargo, nextest, vitest, jest, mocha, node, rspec, surefire, gradle,
        ctest, dotnet,
    ]
    .iter()
    .find_map(|runner| runner(lines))
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

fn failure(name: String, message: impl Into<String>) -> TestFailure {
    TestFailure {
        name,
        message: message.into(),
    }
}

/// The first line with text.
fn text<'a>(lines: &[&'a str]) -> &'a str {
    lines
        .iter()
        .map(|line| line.trim())
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

/// The first line of an error as most languages write it: its type, a colon, its words.
fn error<'a>(lines: &[&'a str]) -> &'a str {
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

fn cargo(lines: &[&str]) -> Option<TestFailure> {
    if let Some((name, below)) = find_named(lines, pattern!(r"^---- (.+) stdout ----$")) {
        return Some(failure(name, find_panic(below)));
    }
    find_named(lines, pattern!(r"^test (.+) \.\.\. FAILED$")).map(|(name, _)| failure(name, ""))
}

fn nextest(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(
        lines,
        pattern!(
            r"^\s+(?:FAIL|TIMEOUT|SIGABRT|SIGSEGV) \[\s*[\d.]+s\] (?:\(\s*\d+/\d+\) )?(\S.*)$"
        ),
    )?;
    Some(failure(name, find_panic(below)))
}

fn pytest(lines: &[&str]) -> Option<TestFailure> {
    let groups = lines.iter().find_map(|line| {
        pattern!(r"^(?:FAILED|ERROR) (\S+\.py(?:::.*?)?)(?: - (.*))?$").captures(line)
    })?;
    Some(failure(
        groups[1].to_owned(),
        groups.get(2).map_or("", |message| message.as_str()),
    ))
}

fn unittest(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(lines, pattern!(r"^(?:FAIL|ERROR): (\S+ \(.+\))$"))?;
    let end = below
        .iter()
        .position(|line| line.starts_with("===="))
        .unwrap_or(below.len());
    Some(failure(name, error(&below[..end])))
}

fn go(lines: &[&str]) -> Option<TestFailure> {
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
    Some(failure(name, message))
}

fn jest(lines: &[&str]) -> Option<TestFailure> {
    lines
        .iter()
        .find(|line| line.starts_with("Tests:") || line.starts_with("Test Suites:"))?;
    let (name, below) = find_named(lines, pattern!(r"^\s+● (.+)$"))?;
    Some(failure(name, text(below)))
}

fn vitest(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(lines, pattern!(r"^ FAIL  (\S+ > .+|\S+ \[ .+ \])$"))?;
    Some(failure(name, text(below)))
}

/// Mocha writes the suites and the name one below the other, and ends them with a colon.
fn mocha(lines: &[&str]) -> Option<TestFailure> {
    let end = lines
        .iter()
        .position(|line| pattern!(r"^  \d+ failing$").is_match(line))?;
    let (first, below) = find_named(&lines[end..], pattern!(r"^  1\) (.+)$"))?;
    if let Some(name) = first.strip_suffix(':') {
        return Some(failure(name.to_owned(), text(below)));
    }
    let last = below
        .iter()
        .position(|line| line.trim_end().ends_with(':'))?;
    let name = std::iter::once(first.as_str())
        .chain(below[..=last].iter().map(|line| line.trim()))
        .collect::<Vec<_>>()
        .join(" ");
    Some(failure(
        name.trim_end_matches(':').to_owned(),
        text(&below[last + 1..]),
    ))
}

fn node(lines: &[&str]) -> Option<TestFailure> {
    lines
        .iter()
        .find(|line| pattern!(r"^(?:#|ℹ) tests \d+$").is_match(line))?;
    if let Some((name, below)) = find_named(lines, pattern!(r"^\s*not ok \d+ - (.+)$")) {
        let error_text = below
            .iter()
            .find_map(|line| line.trim().strip_prefix("error: "))
            .unwrap_or_default();
        return Some(failure(name, error_text.trim_matches('\'')));
    }
    let list = lines
        .iter()
        .position(|line| *line == "✖ failing tests:")
        .map_or(0, |n| n + 1);
    let (name, below) = find_named(&lines[list..], pattern!(r"^✖ (.+?)(?: \([\d.]+ms\))?$"))?;
    Some(failure(name, text(below)))
}

fn rspec(lines: &[&str]) -> Option<TestFailure> {
    let groups = lines
        .iter()
        .find_map(|line| pattern!(r"^rspec (\S+) # (.+)$").captures(line))?;
    let n = lines
        .iter()
        .position(|line| line.trim_start().starts_with("Failure/Error:"))
        .map_or(lines.len(), |n| n + 1);
    Some(failure(
        format!("{} ({})", &groups[2], &groups[1]),
        text(&lines[n..]),
    ))
}

fn surefire(lines: &[&str]) -> Option<TestFailure> {
    let list = lines.iter().position(|line| {
        pattern!(r"^(?:\[ERROR\] )?(?:Failures|Errors|Failed tests|Tests in error):").is_match(line)
    })?;
    let groups = lines[list..].iter().skip(1).find_map(|line| {
        pattern!(r"^(?:\[ERROR\])?\s+(\S+?:\d+|\S+)(?: (?:» )?(.*))?$").captures(line)
    })?;
    Some(failure(
        groups[1].to_owned(),
        groups.get(2).map_or("", |message| message.as_str()),
    ))
}

fn gradle(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(lines, pattern!(r"^(\S.* > .+) FAILED$"))?;
    Some(failure(name, text(below)))
}

fn ctest(lines: &[&str]) -> Option<TestFailure> {
    let list = lines
        .iter()
        .position(|line| *line == "The following tests FAILED:")?;
    let groups = lines[list..]
        .iter()
        .find_map(|line| pattern!(r"^\s+\d+ - (\S+) \(([^)]*)\)").captures(line))?;
    Some(failure(groups[1].to_owned(), &groups[2]))
}

fn dotnet(lines: &[&str]) -> Option<TestFailure> {
    let (name, below) = find_named(lines, pattern!(r"^\s+Failed (\S.*?) \[[^\]]+\]$"))?;
    let n = below
        .iter()
        .position(|line| line.trim() == "Error Message:")
        .map_or(below.len(), |n| n + 1);
    Some(failure(name, text(&below[n..])))
}
