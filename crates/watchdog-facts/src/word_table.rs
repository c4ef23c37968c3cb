//! Enums whose members are stable words for programs: one table gives each its word and its meaning.

/// Defines such an enum, with `ALL`, `as_str` and `Display`.
macro_rules! word_table {
    ($(#[doc = $what:expr])* enum $table:ident; $($(#[doc = $meaning:expr])* $name:ident = $word:literal,)*) => {
        $(#[doc = $what])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $table {
            $($(#[doc = $meaning])* #[serde(rename = $word)] $name,)*
        }

        impl $table {
            /// Every word.
            pub const ALL: &[$table] = &[$($table::$name,)*];

            /// The word used in JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($table::$name => $word,)*
                }
            }
        }

        impl std::fmt::Display for $table {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(super) use word_table;

/// The words in the first column of the tables in a part of a page, sorted.
#[cfg(test)]
pub(super) fn documented_words(part: &str) -> Vec<&str> {
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    let mut words: Vec<&str> = rows
        .flat_map(|row| {
            row.split(" | ")
                .next()
                .unwrap_or_default()
                .split('`')
                .skip(1)
                .step_by(2)
        })
        .collect();
    words.sort_unstable();
    words
}
