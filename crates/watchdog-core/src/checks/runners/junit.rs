//! Figures from a JUnit XML file, as nearly every runner can write one.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use watchdog_facts::evidence::TestCounts;

/// A larger file is no report that a person could read.
pub const MAX_REPORT_BYTES: u64 = 64 << 20;

/// Elements inside of each other at most.
const MAX_DEPTH: usize = 64;

/// Counts the test cases of a report. Ignores the sums in its attributes: only the cases prove that a test ran.
///
/// # Errors
/// The reason why it is no report, for a person.
pub(in super::super) fn counts_in_report(bytes: &[u8]) -> Result<TestCounts, String> {
    // Names of elements are ASCII, so that any encoding of the rest will do.
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::from_str(&text);
    let (mut counts, mut depth, mut root, mut case) = (TestCounts::default(), 0_usize, false, None);
    loop {
        match reader
            .read_event()
            .map_err(|error| format!("it is no XML: {error}"))?
        {
            Event::Start(element) => {
                enter_element(&element, depth, &mut root, &mut case, &mut counts)?;
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(format!(
                        "more than {MAX_DEPTH} elements stand inside of each other"
                    ));
                }
            }
            Event::Empty(element) => {
                enter_element(&element, depth, &mut root, &mut case, &mut counts)?;
                if element.local_name().as_ref() == "testcase" {
                    finish_testcase(&mut case, &mut counts);
                }
            }
            Event::End(element) => {
                depth = depth.saturating_sub(1);
                if element.local_name().as_ref() == "testcase" {
                    finish_testcase(&mut case, &mut counts);
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match (root, depth) {
        (true, 0) => Ok(counts),
        (true, _) => Err("it ends in the middle".into()),
        (false, _) => Err("it has neither `testsuites` nor `testsuite`".into()),
    }
}

/// The result of a test case, by its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JunitCase {
    Passed,
    Failed,
    Skipped,
}

fn enter_element(
    element: &BytesStart<'_>,
    depth: usize,
    root: &mut bool,
    case: &mut Option<JunitCase>,
    counts: &mut TestCounts,
) -> Result<(), String> {
    let name = element.local_name();
    match name.as_ref() {
        // A nested element changes nothing: without a root nothing stands inside.
        "testsuites" | "testsuite" => *root = true,
        other if depth == 0 => {
            return Err(format!(
                "its first element is `{}`",
                other.chars().take(100).collect::<String>()
            ));
        }
        "testcase" => {
            finish_testcase(case, counts);
            *case = Some(JunitCase::Passed);
        }
        "failure" | "error" if case.is_some() => *case = Some(JunitCase::Failed),
        "skipped" if *case == Some(JunitCase::Passed) => *case = Some(JunitCase::Skipped),
        _ => {}
    }
    Ok(())
}

fn finish_testcase(case: &mut Option<JunitCase>, counts: &mut TestCounts) {
    match case.take() {
        Some(JunitCase::Skipped) => counts.skipped += 1,
        Some(how) => {
            counts.ran += 1;
            counts.failed += u64::from(how == JunitCase::Failed);
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(xml: &str, ran: u64, failed: u64, skipped: u64) {
        assert_eq!(
            counts_in_report(xml.as_bytes()),
            Ok(TestCounts {
                ran,
                failed,
                skipped
            }),
            "{xml}"
        );
    }

    #[test]
    fn the_cases_of_a_report_are_counted() {
        let cases = r#"<testcase name="a"/><testcase name="b"><failure message="no">at x</failure></testcase><testcase name="c"><skipped/></testcase>"#;
        reads(
            &format!(
                r#"<?xml version="1.0"?><testsuites><testsuite tests="99">{cases}</testsuite></testsuites>"#
            ),
            2,
            1,
            1,
        );
        reads(
            &format!(
                r#"<testsuite name="s"><properties/>{cases}<system-out><![CDATA[<testcase/>]]></system-out></testsuite>"#
            ),
            2,
            1,
            1,
        );
        reads(
            r#"<testsuites><testsuite><testcase><error/></testcase></testsuite><testsuite><testcase/></testsuite></testsuites>"#,
            2,
            1,
            0,
        );
        reads(
            "<testsuite><testcase><properties></properties><failure>x</failure></testcase></testsuite>",
            1,
            1,
            0,
        );
        reads(
            "<testsuite><error/><skipped/><testcase/></testsuite>",
            1,
            0,
            0,
        );
        reads(
            "<testsuite><testcase><failure/><skipped/></testcase></testsuite>",
            1,
            1,
            0,
        );
        reads("<testsuites/>", 0, 0, 0);
        reads(
            &format!(
                "<testsuite>{}{}</testsuite>",
                "<a>".repeat(63),
                "</a>".repeat(63)
            ),
            0,
            0,
            0,
        );
        reads("<testsuite tests=\"5\"></testsuite>", 0, 0, 0);
    }

    #[test]
    fn what_is_no_report_says_why() {
        let deep = format!("<testsuite>{}", "<a>".repeat(1_000_000));
        let one_deeper = format!(
            "<testsuite>{}{}</testsuite>",
            "<a>".repeat(64),
            "</a>".repeat(64)
        );
        for (text, words) in [
            ("", "neither"),
            ("ok 12 tests", "neither"),
            ("<html><testcase/></html>", "first element is `html`"),
            ("<testsuite><testcase>", "in the middle"),
            ("<testsuite><testcase></testsuite>", "no XML"),
            (
                one_deeper.as_str(),
                "more than 64 elements stand inside of each other",
            ),
            (deep.as_str(), "inside of each other"),
        ] {
            let why = counts_in_report(text.as_bytes()).unwrap_err();
            assert!(why.contains(words), "{text:.40}: {why}");
        }
    }
}
