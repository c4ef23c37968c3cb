//! The words by which the agents that watchdog knows are recognised.

use super::AgentWords;

/// Name of the preset, name for people, names of the program, names of packages.
const KNOWN: &[(&str, &str, &[&str], &[&str])] = &[
    ("claude", "Claude Code", &["claude"], &["@anthropic-ai/claude-code"]),
    ("codex", "Codex CLI", &["codex"], &["@openai/codex"]),
    ("gemini", "Gemini CLI", &["gemini"], &["@google/gemini-cli"]),
    ("opencode", "opencode", &["opencode"], &["opencode-ai"]),
    ("qwen", "Qwen Code", &["qwen"], &["@qwen-code/qwen-code"]),
    ("copilot", "GitHub Copilot CLI", &["copilot"], &["@github/copilot"]),
    // Cursor's other name, `agent`, is that of many programs.
    ("cursor", "Cursor CLI", &["cursor-agent"], &[]),
    ("amp", "Amp", &["amp"], &["@sourcegraph/amp"]),
];

/// Those of every agent that is built in.
pub fn known_agents() -> Vec<AgentWords> {
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    KNOWN
        .iter()
        .map(|(agent, title, programs, packages)| AgentWords {
            agent: (*agent).into(),
            title: (*title).into(),
            programs: owned(programs),
            packages: owned(packages),
        })
        .collect()
}
