//! How it is known which agent ran a session.

use serde::{Deserialize, Serialize};

/// How it is known which agent ran a session, and so whose answer about it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentSource {
    /// A person named it: in the command line of the session, or as the agent to run.
    Named,
    /// Its processes show it. A session can start a process under any name.
    Processes,
    /// Its output is that of this agent. A session can print anything.
    Output,
}

impl AgentSource {
    /// Why the word of an agent that is known so is doubted; `None` where it is not.
    pub fn doubt(self) -> Option<&'static str> {
        match self {
            AgentSource::Named => None,
            AgentSource::Processes => {
                Some("its agent is known by the names of its processes alone")
            }
            AgentSource::Output => Some("its agent is known by its own output alone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_persons_word_is_not_doubted() {
        use AgentSource::{Named, Output, Processes};
        for source in [Named, Processes, Output] {
            assert_eq!(source.doubt().is_none(), source == Named);
        }
    }
}
