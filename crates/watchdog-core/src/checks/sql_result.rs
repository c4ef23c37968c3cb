//! The type `sql_result`: the last result of a tool has the columns and rows that are wanted.

use serde_json::Value;

use crate::config::settings::SqlResultCriterion;
use watchdog_facts::context::ToolResult;
use watchdog_facts::verdict::Evidence;

use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::feedback::{cut_feedback, one_line};

/// Met when the tool returned these rows.
#[derive(Debug, Clone)]
pub struct SqlResultCheck {
    criterion: SqlResultCriterion,
}

impl SqlResultCheck {
    /// A check of this tool's last result.
    pub fn new(criterion: SqlResultCriterion) -> Self {
        SqlResultCheck { criterion }
    }

    /// Whether a result is the tool's own, also behind a server's name, as in `mcp__db__execute_sql`.
    fn is_of_tool(&self, result: &ToolResult) -> bool {
        let name = result.name.as_deref().unwrap_or_default();
        name == self.criterion.tool
            || name
                .strip_suffix(self.criterion.tool.as_str())
                .is_some_and(|server| server.ends_with("__"))
    }

    /// The mistake in a result, if there is one.
    fn lacks(&self, result: &ToolResult) -> Option<String> {
        let tool = one_line(&self.criterion.tool);
        if result.is_error {
            return Some(format!(
                "`{tool}` failed: {}",
                cut_feedback(one_line(&result.content), 200)
            ));
        }
        let Ok(table) = serde_json::from_str::<Value>(&result.content) else {
            return Some(format!(
                "the last result of `{tool}` is not JSON with `columns` and `rows`"
            ));
        };
        let (Some(columns), Some(rows)) = (
            table.get("columns").and_then(Value::as_array),
            table.get("rows").and_then(Value::as_array),
        ) else {
            return Some(format!(
                "the last result of `{tool}` has no `columns` and `rows`"
            ));
        };
        if let Some(wanted) = &self.criterion.expected_columns {
            let columns: Vec<&str> = columns
                .iter()
                .map(|name| name.as_str().unwrap_or("?"))
                .collect();
            if columns != *wanted {
                let actual = cut_feedback(one_line(&columns.join(", ")), 200);
                return Some(format!(
                    "columns mismatch: `{tool}` must return [{}], and returned [{actual}]",
                    wanted.join(", ")
                ));
            }
        }
        let (rows, wanted) = (rows.len() as u64, self.criterion.min_rows);
        (rows < wanted).then(|| {
            format!("too few rows: `{tool}` must return at least {wanted}, and returned {rows}")
        })
    }
}

impl CompletionCheck for SqlResultCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        let results = context
            .session
            .messages
            .iter()
            .rev()
            .filter_map(|message| message.tool_result.as_ref());
        let Some(last) = results.into_iter().find(|result| self.is_of_tool(result)) else {
            return CheckJudgement::Unmet {
                feedback: format!(
                    "no `{}` result is known; call it",
                    one_line(&self.criterion.tool)
                ),
            };
        };
        match self.lacks(last) {
            // The session's own output is the agent's claim.
            None => CheckJudgement::PassWith {
                evidence: if context.session.from_host {
                    Evidence::Verified
                } else {
                    Evidence::Claimed
                },
                summary: format!(
                    "the last result of `{}` has the rows that are wanted",
                    one_line(&self.criterion.tool)
                ),
            },
            Some(feedback) => CheckJudgement::Unmet { feedback },
        }
    }

    fn description(&self) -> String {
        let columns = self
            .criterion
            .expected_columns
            .as_ref()
            .map(|names| format!(" with the columns {}", names.join(", ")))
            .unwrap_or_default();
        format!(
            "the last call of `{}` returns at least {} rows{columns}",
            one_line(&self.criterion.tool),
            self.criterion.min_rows
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;
    use watchdog_facts::context::{ContextMessage, SessionContext};
    use watchdog_facts::evidence::CheckOutcome;

    fn result(name: Option<&str>, content: &str) -> ContextMessage {
        let tool_result = ToolResult {
            name: name.map(str::to_owned),
            content: content.into(),
            ..ToolResult::default()
        };
        ContextMessage {
            role: "tool".into(),
            text: None,
            tool_result: Some(tool_result),
        }
    }

    fn judge(
        columns: Option<&[&str]>,
        min_rows: u64,
        messages: Vec<ContextMessage>,
    ) -> CheckJudgement {
        let expected_columns =
            columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let criterion = SqlResultCriterion {
            tool: "execute_sql".into(),
            expected_columns,
            min_rows,
        };
        let session = SessionContext {
            messages,
            from_host: true,
            ..SessionContext::default()
        };
        SqlResultCheck::new(criterion)
            .check(&CheckContext::new(&Fake::default()).with_session(&session))
    }

    const TWO: &str = r#"{"columns": ["id", "name"], "rows": [[1, "a"], [2, "b"]]}"#;

    #[test]
    fn columns_count_by_name_case_and_order() {
        let of = |columns| judge(columns, 1, vec![result(Some("execute_sql"), TWO)]);
        let summary = "the last result of `execute_sql` has the rows that are wanted".to_owned();
        let met = CheckJudgement::PassWith {
            evidence: Evidence::Verified,
            summary,
        };
        assert_eq!(of(None), met);
        assert_eq!(of(Some(&["id", "name"])), met);
        for columns in [&["name", "id"][..], &["ID", "name"], &["id"], &[]] {
            let judged = of(Some(columns));
            assert!(
                judged.feedback().contains("columns mismatch")
                    && judged.evidence() == Evidence::None,
                "{judged:?}"
            );
        }
    }

    #[test]
    fn result_in_session_output_is_agents_word() {
        let criterion = SqlResultCriterion {
            tool: "execute_sql".into(),
            expected_columns: None,
            min_rows: 1,
        };
        for (from_host, evidence) in [(true, Evidence::Verified), (false, Evidence::Claimed)] {
            let session = SessionContext {
                messages: vec![result(Some("execute_sql"), TWO)],
                from_host,
                ..SessionContext::default()
            };
            let judged = SqlResultCheck::new(criterion.clone())
                .check(&CheckContext::new(&Fake::default()).with_session(&session));
            assert_eq!(
                (judged.outcome(), judged.evidence()),
                (CheckOutcome::Pass, evidence)
            );
        }
    }

    #[test]
    fn empty_result_passes_only_with_zero_required_rows() {
        let empty = || {
            vec![result(
                Some("execute_sql"),
                r#"{"columns": [], "rows": []}"#,
            )]
        };
        assert_eq!(judge(None, 0, empty()).evidence(), Evidence::Verified);
        assert!(judge(None, 1, empty()).feedback().contains("too few rows"));
        assert!(
            judge(None, 3, vec![result(Some("execute_sql"), TWO)])
                .feedback()
                .contains("and returned 2")
        );
    }

    #[test]
    fn the_last_result_of_this_very_tool_counts() {
        let of = |messages| judge(None, 1, messages).outcome();
        use watchdog_facts::evidence::CheckOutcome::{Pass, Unmet};
        let empty = r#"{"columns": [], "rows": []}"#;
        assert_eq!(
            of(vec![
                result(Some("execute_sql"), empty),
                result(Some("mcp__db__execute_sql"), TWO)
            ]),
            Pass
        );
        assert_eq!(
            of(vec![
                result(Some("execute_sql"), TWO),
                result(Some("execute_sql"), empty)
            ]),
            Unmet
        );
        for name in [Some("other"), Some("not_execute_sql"), None] {
            let judged = judge(None, 1, vec![result(name, TWO)]);
            assert!(
                judged.feedback().contains("no `execute_sql` result"),
                "{judged:?}"
            );
        }
        for content in [
            "",
            "3 rows",
            "[]",
            r#"{"rows": []}"#,
            r#"{"columns": 1, "rows": []}"#,
        ] {
            assert_eq!(
                of(vec![result(Some("execute_sql"), content)]),
                Unmet,
                "{content}"
            );
        }
        let mut failed = result(Some("execute_sql"), TWO);
        failed.tool_result.as_mut().expect("it is one").is_error = true;
        assert_eq!(of(vec![failed]), Unmet);
    }
}
