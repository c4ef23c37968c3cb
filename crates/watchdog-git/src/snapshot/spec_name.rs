//! The names of snapshots' refs: where they live, a spec's name as a part of one, and the number at its end; and paths as text.

use crate::path_text::percent_encode;
use gix::bstr::ByteSlice;
use watchdog_facts::display::to_hex;

/// Prefix of all snapshots.
pub(super) const PREFIX: &str = "refs/watchdog/rescue/";

/// Prefix of the private parts of snapshots.
pub(super) const PRIVATE_PREFIX: &str = "refs/watchdog/private/";

/// The longest component of a ref that we make, in bytes; file systems end at 255 and locks need room.
const LONGEST: usize = 180;

/// Makes `spec` usable in a ref. Two specs never share a name; most names stay as they are.
pub(crate) fn for_ref(spec: &str) -> String {
    let bytes = spec.as_bytes();
    let mut out = String::with_capacity(spec.len());
    for (at, c) in spec.char_indices() {
        let before = at.checked_sub(1).map(|i| bytes[i]);
        let after = bytes.get(at + c.len_utf8()).copied();
        let plain = match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '+' | '=' | ',' => {
                !(c == '-' && matches!(before, None | Some(b'/')))
            }
            '.' => {
                let edge = matches!(before, None | Some(b'/' | b'.'))
                    || matches!(after, None | Some(b'/' | b'.'));
                let locks = spec[at..].starts_with(".lock")
                    && matches!(bytes.get(at + 5), None | Some(b'/'));
                !edge && !locks
            }
            '/' => !matches!(before, None | Some(b'/')) && after.is_some(),
            c => !c.is_ascii() && !c.is_control() && c.is_alphanumeric(),
        };
        if plain {
            out.push(c);
        } else {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    if out.is_empty() {
        return "%".into();
    }
    out.split('/')
        .map(shorten_component)
        .collect::<Vec<_>>()
        .join("/")
}

/// Cuts a component that no file system would hold, and keeps it distinct by a hash of the whole.
fn shorten_component(component: &str) -> String {
    use sha2::Digest;
    if component.len() <= LONGEST {
        return component.to_owned();
    }
    let digest = sha2::Sha256::digest(component.as_bytes());
    let hash = to_hex(&digest[..8]);
    let mut end = LONGEST - 20;
    while !component.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}%~{hash}", &component[..end]).replace('~', "-")
}

/// A path as text: itself where it is UTF-8, percent-escaped without loss where it is not.
pub(super) fn path_text(path: &[u8]) -> String {
    match path.to_str() {
        Ok(text) => text.to_owned(),
        Err(_) => percent_encode(path),
    }
}

/// The number that ends a snapshot's name.
pub(super) fn parse_sequence(name: &str) -> u64 {
    name.rsplit_once('-')
        .and_then(|(_, n)| n.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn usual_names_stay_and_odd_ones_become_valid() {
        for (spec, want) in [
            ("auth", "auth"),
            ("spec/auth-2.1", "spec/auth-2.1"),
            ("ünïcode", "ünïcode"),
            ("", "%"),
            ("a b", "a%20b"),
            ("..", "%2E%2E"),
            ("x.lock", "x%2Elock"),
            ("/a//b/", "%2Fa/%2Fb%2F"),
            ("-x", "%2Dx"),
            ("a@{1}", "a%40%7B1%7D"),
            ("50%", "50%25"),
        ] {
            assert_eq!(for_ref(spec), want, "{spec:?}");
        }
    }

    #[test]
    fn non_utf8_paths_are_escaped_without_loss() {
        assert_eq!(path_text(b"a%b"), "a%b");
        assert_eq!(path_text(b"a%\xff/\xc3\xa9"), "a%25%FF/é");
    }

    proptest! {
        #[test]
        fn every_spec_makes_a_valid_ref(spec in "\\PC{0,40}|[./@{}~^:?*\\[\\\\ a-z-]{0,30}|[a-z]{150,400}") {
            let name = format!("{PREFIX}{}/20260101T000000Z-0", for_ref(&spec));
            prop_assert!(gix::validate::reference::name(name.as_str().into()).is_ok(), "{name}");
        }

        #[test]
        fn two_specs_never_share_a_ref(a in "[./a%2-]{0,6}", b in "[./a%2-]{0,6}") {
            prop_assert_eq!(a == b, for_ref(&a) == for_ref(&b));
        }
    }
}
