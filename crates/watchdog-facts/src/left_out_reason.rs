//! Why a path was left out of a rescue, a snapshot or a restore. docs/verdict.md has a row for each word, which a test holds.

use super::word_table::word_table;

word_table! {
    /// Why a path was left out, as a word that programs may match.
    enum LeftOutReason;

    /// `rescue.exclude` names it, git does not show it, it is of a folder that tools fill, or it cannot be there beside what stays out.
    Excluded = "excluded",
    /// It is, or is in, a repository of its own, such as a submodule.
    NestedRepository = "nested_repository",
    /// Its name, or new content, looks like a secret.
    Secret = "secret",
    /// It has more than `rescue.max_bytes`, or is a new file beyond `rescue.max_snapshot_bytes`.
    TooLarge = "too_large",
    /// It could not be read.
    Unreadable = "unreadable",
}

impl LeftOutReason {
    /// Whether it stays out for good, so that asking again would change nothing. A file that is too large or unreadable may be the very
    /// work, so that is for a person.
    pub const fn is_on_purpose(self) -> bool {
        matches!(self, LeftOutReason::Secret | LeftOutReason::Excluded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_table::documented_words;

    #[test]
    fn verdict_page_has_exactly_each_left_out_reason() {
        let mut reason_words: Vec<&str> = LeftOutReason::ALL
            .iter()
            .map(|reason| reason.as_str())
            .collect();
        reason_words.sort_unstable();
        let page = include_str!("../../../docs/verdict.md");
        let (_, part) = page
            .split_once("Words in `left_out`")
            .expect("the table is there");
        let (part, _) = part
            .split_once("## The breaker")
            .expect("it ends somewhere");
        assert_eq!(documented_words(part), reason_words);
    }
}
