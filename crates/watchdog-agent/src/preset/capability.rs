//! The capabilities of an agent, by name: facts of its preset that a verdict relies on instead of
//! assuming them. Pure.

use serde::Deserialize;

/// Something that an agent can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentCapability {
    /// A question changes neither the transcript of the session nor which session is the latest.
    AsksWithoutTrace,
    /// A question is put without tools.
    AsksWithoutTools,
    /// A question runs nothing that the repository brings along.
    AsksWithoutProjectCode,
    /// A session can be resumed by its id.
    ResumesById,
    /// The answer to a question follows a schema.
    SchemaAnswers,
    /// The output counts tokens.
    ReportsUsage,
    /// The output names a price.
    ReportsCost,
    /// The output names tools that were refused.
    ReportsRefusals,
    /// The output tells of a usage limit.
    ReportsLimits,
    /// The output says when a usage limit ends.
    ReportsLimitEnd,
    /// The output tells of a service without room.
    ReportsOverload,
    /// A hook can keep it at work.
    Holds,
    /// The session that the preset starts may commit.
    CommitsByDefault,
}

impl AgentCapability {
    /// Every capability, in the order in which they are shown.
    pub const ALL: [AgentCapability; 13] = [
        AgentCapability::AsksWithoutTrace,
        AgentCapability::AsksWithoutTools,
        AgentCapability::AsksWithoutProjectCode,
        AgentCapability::ResumesById,
        AgentCapability::SchemaAnswers,
        AgentCapability::ReportsUsage,
        AgentCapability::ReportsCost,
        AgentCapability::ReportsRefusals,
        AgentCapability::ReportsLimits,
        AgentCapability::ReportsLimitEnd,
        AgentCapability::ReportsOverload,
        AgentCapability::Holds,
        AgentCapability::CommitsByDefault,
    ];

    /// The word in a preset and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            AgentCapability::AsksWithoutTrace => "asks_without_trace",
            AgentCapability::AsksWithoutTools => "asks_without_tools",
            AgentCapability::AsksWithoutProjectCode => "asks_without_project_code",
            AgentCapability::ResumesById => "resumes_by_id",
            AgentCapability::SchemaAnswers => "schema_answers",
            AgentCapability::ReportsUsage => "reports_usage",
            AgentCapability::ReportsCost => "reports_cost",
            AgentCapability::ReportsRefusals => "reports_refusals",
            AgentCapability::ReportsLimits => "reports_limits",
            AgentCapability::ReportsLimitEnd => "reports_limit_end",
            AgentCapability::ReportsOverload => "reports_overload",
            AgentCapability::Holds => "holds",
            AgentCapability::CommitsByDefault => "commits_by_default",
        }
    }

    /// The meaning of an agent having it or lacking it, as a sentence.
    pub fn sentence(self, has: bool) -> &'static str {
        match (self, has) {
            (AgentCapability::AsksWithoutTrace, true) => {
                "a question leaves the session that worked as it was"
            }
            (AgentCapability::AsksWithoutTrace, false) => {
                "no question about its state leaves the session that worked as it was"
            }
            (AgentCapability::AsksWithoutTools, true) => "a question is put without tools",
            (AgentCapability::AsksWithoutTools, false) => "some tools stay available in a question",
            (AgentCapability::AsksWithoutProjectCode, true) => {
                "a question runs nothing that the repository brings along"
            }
            (AgentCapability::AsksWithoutProjectCode, false) => {
                "a question may run hooks, servers or plugins of the repository"
            }
            (AgentCapability::ResumesById, true) => "a session is resumed by its id",
            (AgentCapability::ResumesById, false) => "only the latest session can be resumed",
            (AgentCapability::SchemaAnswers, true) => "answers follow a schema",
            (AgentCapability::SchemaAnswers, false) => "answers are read out of its text",
            (AgentCapability::ReportsUsage, true) => "tokens are counted",
            (AgentCapability::ReportsUsage, false) => "tokens are unknown",
            (AgentCapability::ReportsCost, true) => "the price is reported",
            (AgentCapability::ReportsCost, false) => "the price is unknown",
            (AgentCapability::ReportsRefusals, true) => "tools that were refused are reported",
            (AgentCapability::ReportsRefusals, false) => {
                "a refused tool may go unreported, so that a session which left nothing may have been refused its tools"
            }
            (AgentCapability::ReportsLimits, true) => "a usage limit is reported",
            (AgentCapability::ReportsLimits, false) => "a usage limit may look like silence",
            (AgentCapability::ReportsLimitEnd, true) => "when a usage limit ends is reported",
            (AgentCapability::ReportsLimitEnd, false) => "when a usage limit ends is not reported",
            (AgentCapability::ReportsOverload, true) => "a service without room is reported",
            (AgentCapability::ReportsOverload, false) => {
                "a service without room may look like silence"
            }
            (AgentCapability::Holds, true) => "a hook can keep it at work",
            (AgentCapability::Holds, false) => "no hook can keep it at work; `watchdog loop` can",
            (AgentCapability::CommitsByDefault, true) => {
                "the session that the preset starts may commit"
            }
            (AgentCapability::CommitsByDefault, false) => {
                "the session that the preset starts cannot commit; rescue commits its work"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capability_reads_and_writes_one_word() {
        for capability in AgentCapability::ALL {
            let read = serde_json::from_value::<AgentCapability>(capability.as_str().into());
            assert_eq!(read.expect("it is a word of a preset"), capability);
            assert_ne!(capability.sentence(true), capability.sentence(false));
        }
    }
}
