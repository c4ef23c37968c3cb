//! CRITERIA. Each type of check has a file; all share a trait, and groups combine them.
//!
//! Reading order: [`check`](CompletionCheck) (the interface), `capabilities` (the system access of a check) and `answers`
//! (its results), one file per type, `context_reader` and `context_writer` (the session's context as JSON), `registry` (from configuration
//! to checks), `group` (their combination). Checks do no IO of their own and know no clock.

mod agent_json;
mod agent_words;
mod always;
mod answers;
mod baseline_failures;
mod canary;
mod capabilities;
mod check;
mod checklist;
mod command;
mod context_messages;
mod context_reader;
mod context_writer;
mod custom;
mod feature_list;
mod feedback;
mod files;
mod gate_files;
mod git;
mod github;
mod group;
mod inner_tests;
mod issue;
mod iterations;
mod json_schema;
mod judge;
mod mentions;
mod named_files;
mod phase;
mod plan;
mod proof;
mod proof_reruns;
mod proof_worth;
mod registry;
mod runners;
mod sensors;
mod side_by_side;
mod signal;
mod sql_result;
mod status_words;
mod strict_json;
mod structured;
mod suite_runs;
mod test_files;
mod test_modules;

#[cfg(test)]
mod canary_tests;
#[cfg(test)]
mod context_tests;
#[cfg(test)]
mod proof_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tree_tests;
mod unusable;

pub use always::AlwaysMet;
pub use answers::{
    BoundedText, CachedPass, CapturedStream, CheckCommandRun, CheckDefinition, CommandOutput,
    CommandRequest, CommandRun, JudgeAnswer, JudgeRequest, LineOutcome, MatchedFile, PushState,
    ResultBeforeWork, TestEdits, TouchedPaths,
};
pub use canary::{Canary, CanaryTest, write_canary};
pub use capabilities::Capabilities;
pub use check::{CheckContext, CheckJudgement, CompletionCheck, JudgedCheck};
pub use command::CommandCheck;
pub use context_reader::{ContextError, MAX_CONTEXT_BYTES, context_from_json, context_from_value};
pub use context_writer::context_to_json;
pub use custom::{CustomCheck, DescribedPrompt, ask_for_prompt};
pub use feature_list::FeatureListCheck;
pub use files::FilesCheck;
pub use gate_files::{GateFile, JudgingFiles, gate_files, resolve_judging_files};
pub use git::GitCheck;
pub use group::{CheckCost, CheckTree, GroupOutcome, describe_checks, evaluate_checks};
pub use inner_tests::{ChangedText, InnerTests, TestIdentity, changed_inner_tests};
pub use issue::IssueCheck;
pub use iterations::IterationsCheck;
pub use judge::JudgeCheck;
pub use named_files::{CriteriaFileNames, list_possible_files};
pub use phase::PhaseCheck;
pub use plan::PlanCheck;
pub use proof::{ProvenPass, prove_pass};
pub use proof_worth::ProofWorth;
pub use registry::{CheckRegistry, build_check_tree};
pub use runners::{GateFilePart, MAX_REPORT_BYTES, named_runner};
pub use sensors::read_sensors;
pub use signal::SignalCheck;
pub use sql_result::SqlResultCheck;
pub use structured::StructuredOutputCheck;
pub use suite_runs::{CanaryRun, CodeBase, RerunTree, SuiteRun, SuiteRunner};
pub use test_files::{find_test_line, is_test_file, test_lines};
pub use test_modules::put_test_modules;
