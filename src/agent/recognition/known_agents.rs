//! The words by which the agents that watchdog knows are recognised.

use super::AgentWords;

/// Name of the preset, names of the program, names of packages.
const KNOWN: &[(&str, &[&str], &[&str])] = &[
    ("claude", &["claude"], &["@anthropic-ai/claude-code"]),
    ("codex", &["codex"], &["@openai/codex"]),
    ("gemini", &["gemini"], &["@google/gemini-cli"]),
    ("opencode", &["opencode"], &["opencode-ai"]),
    ("qwen", &["qwen"], &["@qwen-code/qwen-code"]),
    ("copilot", &["copilot"], &["@github/copilot"]),
    // Cursor's other name, `agent`, is that of many programs.
    ("cursor", &["cursor-agent"], &[]),
    ("amp", &["amp"], &["@sourcegraph/amp"]),
];

/// Those of every agent that is built in.
pub fn known_agents() -> Vec<AgentWords> {
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    KNOWN
        .iter()
        .map(|(agent, programs, packages)| AgentWords { agent: (*agent).into(), programs: owned(programs), packages: owned(packages) })
        .collect()
}
