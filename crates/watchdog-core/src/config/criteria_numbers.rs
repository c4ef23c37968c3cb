//! Numbers that a criterion lacks because the program it was written for has them on its command line. Pure.

use std::collections::BTreeMap;

use super::settings::{CheckKind, CheckSpec};

/// Names by which a command line gives these numbers.
pub const NUMBER_NAMES: [&str; 2] = ["issue", "project"];

/// Numbers of GitHub that the command line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CriteriaNumbers {
    /// The issue of each check that names neither an issue nor a pull request.
    pub issue: Option<u64>,
    /// The project of each check of a phase that names none.
    pub project: Option<u64>,
}

impl CriteriaNumbers {
    /// Of named values, those that are numbers of these names. Other values are for prompts alone.
    pub fn of_values(values: &BTreeMap<String, String>) -> Self {
        let number = |name: &str| {
            values
                .get(name)?
                .parse()
                .ok()
                .filter(|number| (1..=u64::from(u32::MAX)).contains(number))
        };
        let [issue, project] = NUMBER_NAMES.map(number);
        CriteriaNumbers { issue, project }
    }

    /// Puts the numbers in where they are lacking. A number that the file has stays: a command line fills a criterion and replaces none.
    pub fn fill(&self, checks: &mut [CheckSpec]) {
        for check in checks {
            match check {
                CheckSpec::Group { checks, .. } => self.fill(checks),
                CheckSpec::Single {
                    criterion: CheckKind::Issue(issue),
                    ..
                } if issue.pull_request.is_none() => {
                    issue.number = issue.number.or(self.issue);
                }
                CheckSpec::Single {
                    criterion: CheckKind::Phase(phase),
                    ..
                } => phase.project = phase.project.or(self.project),
                CheckSpec::Single { .. } => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::testing::reads;
    use super::*;

    fn filled(file: &str, values: &[(&str, &str)]) -> Vec<(Option<u64>, Option<u64>)> {
        fn flat(checks: &[CheckSpec], into: &mut Vec<(Option<u64>, Option<u64>)>) {
            for check in checks {
                match check {
                    CheckSpec::Group { checks, .. } => flat(checks, into),
                    CheckSpec::Single {
                        criterion: CheckKind::Issue(issue),
                        ..
                    } => into.push((issue.number, issue.pull_request)),
                    CheckSpec::Single {
                        criterion: CheckKind::Phase(phase),
                        ..
                    } => into.push((phase.project, None)),
                    CheckSpec::Single { .. } => {}
                }
            }
        }
        let mut checks = reads(file).checks;
        let values = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        CriteriaNumbers::of_values(&values).fill(&mut checks);
        let mut numbers = Vec::new();
        flat(&checks, &mut numbers);
        numbers
    }

    #[test]
    fn number_fills_gaps_without_replacing_file_values() {
        const ISSUE: &str = r#"{"behavior": {"completionType": "issue"}}"#;
        assert_eq!(
            filled(ISSUE, &[("issue", "7"), ("project", "3")]),
            [(Some(7), None)]
        );
        assert_eq!(
            filled(
                r#"{"behavior": {"completionType": "project"}}"#,
                &[("issue", "7"), ("project", "3")]
            ),
            [(Some(3), None)]
        );
        assert_eq!(
            filled(
                r#"{"checks": [{"type": "issue", "number": 1}]}"#,
                &[("issue", "7")]
            ),
            [(Some(1), None)]
        );
        assert_eq!(
            filled(
                r#"{"checks": [{"type": "issue", "pull_request": 2}]}"#,
                &[("issue", "7")]
            ),
            [(None, Some(2))]
        );
        let within = r#"{"name": "a", "runner": {"verdict": {"type": "meta:composite", "config": {"operator": "or", "conditions": [
            {"type": "poll:state", "config": {"resourceType": "github-issue"}}, {"type": "detect:keyword", "config": {"verdictKeyword": "D"}}]}}}}"#;
        assert_eq!(filled(within, &[("issue", "7")]), [(Some(7), None)]);
        for value in ["0", "-1", "x", "", "7 ", "99999999999"] {
            assert_eq!(
                filled(ISSUE, &[("issue", value)]),
                [(None, None)],
                "{value}"
            );
        }
    }
}
