//! Text forms that lose nothing: names for keys and files, paths that are not UTF-8, hexadecimal digits.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use watchdog_facts::display::to_hex;

/// Percent-escapes every byte that `keep` refuses, and `%` itself.
fn percent_escape(bytes: &[u8], keep: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte != b'%' && byte.is_ascii() && keep(byte) {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A name of letters, digits, `.`, `_` and `-` that no two texts share. Fit for keys; never `.` or `..` alone.
pub(super) fn encode_name(text: &str) -> String {
    let escaped = percent_escape(text.as_bytes(), |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
    });
    match escaped.strip_prefix('.') {
        Some(after_dot) => format!("%2E{after_dot}"),
        None => escaped,
    }
}

/// [`name`], short enough for every file system.
pub(super) fn file_name(text: &str) -> String {
    let name = encode_name(text);
    if name.len() <= 200 {
        name
    } else {
        sha256_hex(&[text.as_bytes()])
    }
}

/// A path as UTF-8 text that [`path_from_text`] turns back into the same bytes.
pub fn path_to_text(path: &Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        out.push_str(&chunk.valid().replace('%', "%25"));
        out.push_str(&percent_escape(chunk.invalid(), |_| false));
    }
    out
}

/// The path that [`path_to_text`] was given.
pub fn path_from_text(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let (mut out, mut i) = (Vec::with_capacity(bytes.len()), 0);
    while i < bytes.len() {
        let digits = bytes
            .get(i + 1..i + 3)
            .and_then(|d| std::str::from_utf8(d).ok());
        match digits.and_then(|d| u8::from_str_radix(d, 16).ok()) {
            Some(byte) if bytes[i] == b'%' => {
                out.push(byte);
                i += 3;
            }
            _ => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

/// A path as [`path_to_text`] writes it, for `#[serde(with)]`.
pub(super) mod path_form {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::path_to_text(path))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        String::deserialize(from).map(|text| super::path_from_text(&text))
    }
}

/// The same where there may be none.
pub(super) mod optional_path_form {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(super::path_to_text).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        let text: Option<String> = Option::deserialize(from)?;
        Ok(text.as_deref().map(super::path_from_text))
    }
}

/// SHA-256 over the parts, each led by its length so that no two lists of parts share a hash, in lower-case hexadecimal digits.
pub(super) fn sha256_hex(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    to_hex(&hasher.finalize())
}

/// The first half of the SHA-256 of a text, in lower-case hexadecimal digits.
pub fn short_hash(text: &str) -> String {
    to_hex(&Sha256::digest(text.as_bytes())[..16])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_plain_and_stay_in_their_directory() {
        for (text, expected) in [
            ("spec/auth", "spec%2Fauth"),
            ("..", "%2E."),
            ("a b", "a%20b"),
            ("é", "%C3%A9"),
            ("%41", "%2541"),
            ("", ""),
        ] {
            assert_eq!(encode_name(text), expected);
        }
        assert_eq!(file_name(&"x".repeat(5000)).len(), 64);
    }

    proptest! {
        #[test]
        fn no_two_texts_share_a_name(a in ".{0,12}", b in ".{0,12}") {
            prop_assert_eq!(a == b, encode_name(&a) == encode_name(&b));
        }

        #[test]
        fn every_path_survives_its_text_form(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let path = PathBuf::from(OsString::from_vec(bytes));
            prop_assert_eq!(path_from_text(&path_to_text(&path)), path);
        }

        #[test]
        fn moving_a_boundary_between_parts_changes_the_hash(text in "[a-z]{4}", at in 1usize..4) {
            let (a, b) = text.as_bytes().split_at(at);
            prop_assert_ne!(sha256_hex(&[a, b]), sha256_hex(&[text.as_bytes(), b""]));
        }
    }
}
