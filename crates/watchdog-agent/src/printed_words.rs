//! Looks for words in what a program printed before a pattern does: a pattern takes milliseconds to compile, and most sessions say none of its
//! words. Pure.

/// Whether one of `words`, all in lower case, stands in a text in any case, as a pattern that ignores case would find it.
pub(super) fn contains_any(text: &str, words: &[&str]) -> bool {
    // Beside ASCII, two letters are another case of one in it.
    let text = text
        .replace('ſ', "s")
        .replace('\u{212a}', "k")
        .to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use proptest::string::string_regex;

    use super::*;

    /// Texts that a pattern matches, in small and in capital letters and with both of the letters beside ASCII.
    pub(crate) fn forms_of(pattern: &str) -> impl Strategy<Value = String> + use<> {
        let plain = string_regex(&pattern.replace("\\b", "").replace('$', ""))
            .expect("a pattern that proptest can draw from");
        (plain, 0..3).prop_map(|(text, form)| match form {
            0 => text,
            1 => text.to_uppercase(),
            _ => text.replace('s', "ſ").replace('k', "\u{212a}"),
        })
    }

    #[test]
    fn words_match_in_any_ignored_case() {
        for text in ["a KEY", "a \u{212a}ey", "keys", "monKEY"] {
            assert!(contains_any(text, &["token", "key"]), "{text}");
        }
        assert!(contains_any("acceſſ", &["access"]));
        assert!(!contains_any("a ke y", &["token", "key"]) && !contains_any("key", &[]));
    }
}
