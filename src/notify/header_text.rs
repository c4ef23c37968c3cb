//! Texts in headers of mail and of HTTP: nothing in them can begin another header, and what is not ASCII is an encoded word (RFC 2047).

/// An encoded word has at most 75 characters, of which these are its frame.
const WORD: usize = 75 - "=?UTF-8?Q?".len() - "?=".len();

/// A text as the value of a header, in parts that may stand on lines of their own.
pub fn header_words(text: &str) -> Vec<String> {
    let plain = text.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
        && !text.contains("=?")
        && text.len() <= WORD;
    if plain && text.trim() == text {
        return vec![text.to_owned()];
    }
    let mut words = vec![String::new()];
    for c in text.chars() {
        let encoded = encoded(c);
        // A character is never parted.
        if words
            .last()
            .is_some_and(|word| word.len() + encoded.len() > WORD)
        {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push_str(&encoded);
        }
    }
    words
        .into_iter()
        .map(|word| format!("=?UTF-8?Q?{word}?="))
        .collect()
}

/// A character within an encoded word.
fn encoded(c: char) -> String {
    match c {
        ' ' => "_".to_owned(),
        c if c.is_ascii_alphanumeric() || "-.:/,()!*+".contains(c) => c.to_string(),
        c => c
            .encode_utf8(&mut [0; 4])
            .bytes()
            .map(|b| format!("={b:02X}"))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_text_stays_and_all_else_is_encoded() {
        assert_eq!(
            header_words("watchdog: a is review"),
            ["watchdog: a is review"]
        );
        assert_eq!(
            header_words("é 🙂\r\nBcc: x"),
            ["=?UTF-8?Q?=C3=A9_=F0=9F=99=82=0D=0ABcc:_x?="]
        );
        assert_eq!(
            header_words("=?UTF-8?Q?x?="),
            ["=?UTF-8?Q?=3D=3FUTF-8=3FQ=3Fx=3F=3D?="]
        );
        assert_eq!(header_words(&"ä".repeat(20)).len(), 2);
    }

    proptest! {
        #[test]
        fn no_part_is_long_or_leaves_its_header(text in any::<String>()) {
            for word in header_words(&text) {
                prop_assert!(word.len() <= 75 && word.bytes().all(|b| b == b' ' || b.is_ascii_graphic()), "{word}");
            }
        }
    }
}
