//! Paths as text without loss: git's paths are bytes, JSON's strings are UTF-8.

use std::borrow::Cow;

use gix::bstr::BString;

/// A path as text that [`unescape_path`] turns back into the same bytes.
///
/// UTF-8 stays as it is. In a path that is not UTF-8 every stray byte becomes `%XX` and `%` becomes
/// `%25`; so it does in a UTF-8 path that would otherwise read like such an escape.
pub fn escape_path(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) if !reads_as_escape(path) => text.to_string(),
        _ => percent_encode(path),
    }
}

/// Every stray byte as `%XX`, and `%` as `%25`.
pub(crate) fn percent_encode(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len() + 8);
    for chunk in path.utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The path of a name in a folder; an empty folder is the root.
pub(crate) fn join_path(folder: &[u8], name: &[u8]) -> BString {
    let mut path = BString::from(folder);
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// The bytes of a path that [`escape_path`] made into text.
pub fn unescape_path(text: &str) -> Vec<u8> {
    if reads_as_escape(text.as_bytes()) {
        percent_decode(text.as_bytes()).into_owned()
    } else {
        text.as_bytes().to_vec()
    }
}

/// Whether decoding, once or repeatedly, leads to bytes that are not UTF-8: only such text is an escape,
/// so that ordinary names with a `%` in them stay as they are.
fn reads_as_escape(text: &[u8]) -> bool {
    let mut text = Cow::Borrowed(text);
    loop {
        let decoded = percent_decode(&text);
        if decoded.len() == text.len() {
            return false;
        }
        if std::str::from_utf8(&decoded).is_err() {
            return true;
        }
        text = Cow::Owned(decoded.into_owned());
    }
}

/// Replaces each `%XX` (upper case) by its byte.
pub(super) fn percent_decode(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'%') {
        return Cow::Borrowed(text);
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    let mut decoded = Vec::with_capacity(text.len());
    let mut remaining = text;
    while let Some((&first, after)) = remaining.split_first() {
        if let (b'%', [high, low, ..]) = (first, after)
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            decoded.push(high << 4 | low);
            remaining = &after[2..];
        } else {
            decoded.push(first);
            remaining = after;
        }
    }
    Cow::Owned(decoded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_is_not_utf8_is_escaped() {
        for (path, text) in [
            (&b"src/main.rs"[..], "src/main.rs"),
            ("naïve/日本.txt".as_bytes(), "naïve/日本.txt"),
            (b"100%", "100%"),
            (b"a%20b", "a%20b"),
            (b"line\nbreak", "line\nbreak"),
            (b"caf\xe9", "caf%E9"),
            (b"50%\xff", "50%25%FF"),
            (b"a%FFb", "a%25FFb"),
            (b"a%25FFb", "a%2525FFb"),
        ] {
            assert_eq!(escape_path(path), text);
            assert_eq!(unescape_path(text), path);
        }
    }

    proptest! {
        #[test]
        fn every_path_round_trips_with_a_unique_text(
            a in proptest::collection::vec(prop_oneof![Just(b'%'), Just(b'2'), Just(b'5'), Just(b'F'), any::<u8>()], 0..12),
            b in proptest::collection::vec(prop_oneof![Just(b'%'), Just(b'2'), Just(b'5'), Just(b'F'), any::<u8>()], 0..12),
        ) {
            prop_assert_eq!(&unescape_path(&escape_path(&a)), &a);
            prop_assert_eq!(a == b, escape_path(&a) == escape_path(&b));
        }
    }
}
