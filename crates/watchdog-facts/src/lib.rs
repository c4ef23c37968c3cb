//! Facts about a coding agent's work, and conclusions from them: plain values without files, processes, clock or network.
//!
//! Reading order: [`evidence`] (facts, and unreadable facts), [`gate_hooks`] (a repository's own gates), [`verdict`] (the conclusion), [`session_work`] (whose work
//! a change is), [`reply`], [`context`] and [`session_event`] (the agent's own report), [`phase_words`] (the phase that its words name), [`warning_code`] and [`shortage`] (warnings about a verdict),
//! [`left_out_reason`] (why a path was left out), [`ref_list`] (the refs of a repository), [`refused_tool`] (what the agent was not let do), [`display`], [`secret_shapes`], [`secret_members`] and [`shell_line`] (safe display, without secrets; commands to
//! paste).

#![warn(missing_docs, unreachable_pub)]

pub mod agent_source;
pub mod context;
pub mod display;
pub mod evidence;
pub mod gate_hooks;
pub mod held_rescue;
pub mod ignored_files;
pub mod left_out_reason;
pub mod millis;
pub mod patterns;
pub mod phase_words;
pub mod proof;
pub mod ref_list;
pub mod refused_tool;
pub mod reply;
pub mod secret_lines;
pub mod secret_members;
mod secret_rules;
#[cfg(test)]
mod secret_rules_tests;
pub mod secret_shapes;
pub mod session_event;
pub mod session_exit;
pub mod session_work;
pub mod shell_line;
pub mod shortage;
pub mod verdict;
pub mod warning_code;
mod word_table;
pub mod work_beside;
pub mod work_claim;

/// The address of a page of the documentation, which a package of the binary alone does not have.
#[macro_export]
macro_rules! page_address {
    ($page:literal) => {
        concat!(
            "https://github.com/completion-watchdog/completion-watchdog/blob/main/docs/",
            $page
        )
    };
}
