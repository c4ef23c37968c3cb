//! The name of an agent's preset: a word, or the path of a file that describes the agent.

use std::borrow::Cow;
use std::fmt;

/// The longest word.
const LONGEST_WORD: usize = 64;

/// The name of a preset: one that is built in, a file of the user's own (`my-agent`), or a path that ends in `.json`. Whether there is
/// such a preset is known where it is looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PresetName(Cow<'static, str>);

impl PresetName {
    /// Claude Code.
    pub const CLAUDE: PresetName = PresetName(Cow::Borrowed("claude"));
    /// Codex CLI.
    pub const CODEX: PresetName = PresetName(Cow::Borrowed("codex"));
    /// Gemini CLI.
    pub const GEMINI: PresetName = PresetName(Cow::Borrowed("gemini"));
    /// opencode.
    pub const OPENCODE: PresetName = PresetName(Cow::Borrowed("opencode"));
    /// Qwen Code.
    pub const QWEN: PresetName = PresetName(Cow::Borrowed("qwen"));
    /// GitHub Copilot CLI.
    pub const COPILOT: PresetName = PresetName(Cow::Borrowed("copilot"));
    /// Cursor CLI.
    pub const CURSOR: PresetName = PresetName(Cow::Borrowed("cursor"));
    /// Amp.
    pub const AMP: PresetName = PresetName(Cow::Borrowed("amp"));
    /// The presets that are built in.
    pub const BUILT_IN: [PresetName; 8] = [
        PresetName::CLAUDE,
        PresetName::CODEX,
        PresetName::GEMINI,
        PresetName::OPENCODE,
        PresetName::QWEN,
        PresetName::COPILOT,
        PresetName::CURSOR,
        PresetName::AMP,
    ];

    /// A name as it is written; `None` where it is neither a word of `a` to `z`, digits and `-`, nor a path that ends in `.json`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(built_in) = Self::BUILT_IN
            .into_iter()
            .find(|preset| preset.as_str() == text)
        {
            return Some(built_in);
        }
        let is_word = text.len() <= LONGEST_WORD
            && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let is_path = Self::is_path_text(text) && !text.contains('\0');
        (is_word || is_path).then(|| PresetName(Cow::Owned(text.to_owned())))
    }

    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is built in.
    pub fn is_built_in(&self) -> bool {
        Self::BUILT_IN.contains(self)
    }

    /// Whether it is the path of a file and not a word.
    pub fn is_path(&self) -> bool {
        Self::is_path_text(&self.0)
    }

    fn is_path_text(text: &str) -> bool {
        text.strip_suffix(".json")
            .is_some_and(|stem| !stem.is_empty() && !stem.ends_with('/'))
    }
}

impl fmt::Display for PresetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preset_name_is_word_or_file_path() {
        for text in [
            "claude",
            "opencode",
            "my-agent",
            "2nd",
            "agents/mine.json",
            "/etc/x.json",
            "a.json",
        ] {
            assert_eq!(
                PresetName::parse(text).as_ref().map(PresetName::as_str),
                Some(text)
            );
            assert_eq!(
                PresetName::parse(text)
                    .map(|name| name.to_string())
                    .as_deref(),
                Some(text)
            );
        }
        assert!(PresetName::parse("agents/mine.json").is_some_and(|name| name.is_path()));
        assert!(
            PresetName::parse("json").is_some_and(|name| !name.is_path() && !name.is_built_in())
        );
        for text in [
            "",
            " ",
            "-x",
            "Claude",
            "my_agent",
            "a/b",
            ".json",
            "a/.json",
            "a\0.json",
            &"x".repeat(65),
        ] {
            assert!(PresetName::parse(text).is_none(), "{text:?}");
        }
    }
}
