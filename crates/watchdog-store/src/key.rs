//! Names of rows and leases, the same for every engine.

use super::codec;

/// The name of a row or of a lease: a kind and its parts, such as `baseline/<worktree>/<spec>`.
///
/// Parts may hold any text; they are escaped so that no two lists of parts share a key. Ordered byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey(String);

impl RowKey {
    /// The key of `parts` among those of `kind`. `kind` is one of our own words.
    pub fn new(kind: &str, parts: &[&str]) -> Self {
        let mut text = codec::encode_name(kind);
        for part in parts {
            text.push('/');
            text.push_str(&codec::encode_name(part));
        }
        RowKey(text)
    }

    /// The prefix that all keys of `kind` share whose first parts are `parts`, for [`super::SharedStore::list`].
    pub fn prefix(kind: &str, parts: &[&str]) -> String {
        format!("{}/", RowKey::new(kind, parts).0)
    }

    /// For engines: a key as it was stored.
    pub fn from_stored(text: String) -> Self {
        RowKey(text)
    }

    /// For engines: the text to store. ASCII, without blanks and control characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first part, as it was given to [`RowKey::new`].
    pub fn first_part(&self) -> String {
        let first = self.0.split('/').nth(1).unwrap_or_default();
        codec::path_from_text(first).to_string_lossy().into_owned()
    }

    /// The last part, as it was given to [`RowKey::new`].
    pub fn last_part(&self) -> String {
        let last = self.0.rsplit('/').next().unwrap_or_default();
        codec::path_from_text(last).to_string_lossy().into_owned()
    }
}

impl std::fmt::Display for RowKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slash_in_key_part_does_not_split_it() {
        assert_ne!(
            RowKey::new("baseline", &["wt", "a/b"]),
            RowKey::new("baseline", &["wt", "a", "b"])
        );
        assert!(
            !RowKey::new("baseline", &["wt2", "a"])
                .as_str()
                .starts_with(&RowKey::prefix("baseline", &["wt"]))
        );
        assert_eq!(
            RowKey::new("baseline", &["wt", "spec/ü 1"]).last_part(),
            "spec/ü 1"
        );
        assert_eq!(
            RowKey::new("baseline", &["w/t", "spec/ü 1"]).first_part(),
            "w/t"
        );
    }
}
