//! Tools that an agent was refused, and why: a session that could do nothing for that reason is no strike, and for a person.

/// Why an agent could not use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalCause {
    /// A permission was missing, and nobody was there to give it; or a rule denied it.
    Permission,
    /// The program does not offer the tool in this mode.
    NotOffered,
    /// The sandbox lets nothing be written.
    ReadOnly,
    /// The sandbox lets files be written, but not `.git`, so nothing can be committed.
    ReadOnlyGit,
}

impl RefusalCause {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            RefusalCause::Permission => "permission",
            RefusalCause::NotOffered => "not_offered",
            RefusalCause::ReadOnly => "read_only",
            RefusalCause::ReadOnlyGit => "read_only_git",
        }
    }
}

/// A tool that an agent was refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RefusedTool {
    /// Its name, as the program calls it.
    pub tool: String,
    /// Why.
    pub cause: RefusalCause,
}

/// The refusals of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRefusals {
    /// The tools, each once for a cause.
    pub tools: Vec<RefusedTool>,
    /// The option of that very program that allows them, as it is typed; `None` where it is not known.
    pub allow_with: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_uses_its_word_on_verdict_page() {
        let page = include_str!("../../../docs/verdict.md");
        let row = page
            .lines()
            .find(|line| line.starts_with("| `refused_tools`"))
            .expect("the page has the field");
        for (cause, word) in [
            (RefusalCause::Permission, "permission"),
            (RefusalCause::NotOffered, "not_offered"),
            (RefusalCause::ReadOnly, "read_only"),
            (RefusalCause::ReadOnlyGit, "read_only_git"),
        ] {
            assert_eq!(cause.as_str(), word);
            assert!(row.contains(&format!("`{word}`")), "{word}");
        }
    }
}
