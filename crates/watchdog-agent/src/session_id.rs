//! The ids of agents' sessions: which words may be one, and where events name them. Pure.
//!
//! An id goes into the arguments of a question or of a resumed session, so only words of a fixed form count: none of them can be an
//! option, a path or two words.

use serde_json::Value;

/// The members that name the session of an event: Claude Code, Gemini and Qwen; Codex; opencode; Copilot; Antigravity.
pub(super) const ID_MEMBERS: [&str; 5] = [
    "session_id",
    "thread_id",
    "sessionID",
    "sessionId",
    "conversation_id",
];

/// The same ids as a pattern, for events that are not complete.
pub(super) const ID_PATTERN: &str =
    "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|ses_[0-9A-Za-z]{20,40}";

/// How many letters and digits an id of opencode has.
const OPENCODE: std::ops::RangeInclusive<usize> = 20..=40;

/// Whether a word is the id of a session and safe as an argument: a UUID, or `ses_` and 20 to 40 letters and digits.
pub fn is_session_id(word: &str) -> bool {
    is_uuid(word)
        || word.strip_prefix("ses_").is_some_and(|after_prefix| {
            OPENCODE.contains(&after_prefix.len())
                && after_prefix.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

/// The id that an event names; words of any other form are none.
pub(super) fn named_session(event: &Value) -> Option<&str> {
    ID_MEMBERS
        .into_iter()
        .find_map(|key| event.get(key)?.as_str())
        .filter(|id| is_session_id(id))
}

fn is_uuid(word: &str) -> bool {
    let groups: Vec<&str> = word.split('-').collect();
    groups.len() == 5
        && groups.iter().zip([8, 4, 4, 4, 12]).all(|(group, length)| {
            group.len() == length && group.bytes().all(|b| b.is_ascii_hexdigit())
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const UUID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";
    const OPENCODE_ID: &str = "ses_dfde5e0f2ffeKDNAhfAScDx7E4";

    #[test]
    fn only_uuids_and_opencodes_ids_may_be_arguments() {
        for id in [UUID, "019A2B3C-0000-7000-8000-0123456789AB", OPENCODE_ID] {
            assert!(is_session_id(id), "{id}");
        }
        let (short, long) = (
            format!("ses_{}", "a".repeat(19)),
            format!("ses_{}", "a".repeat(41)),
        );
        let path = format!("ses_{}/../x", "a".repeat(20));
        for word in [
            "",
            "--continue",
            "-r",
            "latest",
            "ses_",
            &short,
            &long,
            &path,
            "ses_aaaaaaaaaa aaaaaaaaaaaa",
            &format!("{UUID}\n"),
        ] {
            assert!(!is_session_id(word), "{word}");
        }
    }

    #[test]
    fn every_program_has_its_own_id_member() {
        for (event, id) in [
            (json!({"session_id": UUID}), Some(UUID)),
            (json!({"thread_id": UUID}), Some(UUID)),
            (json!({"sessionID": OPENCODE_ID}), Some(OPENCODE_ID)),
            (json!({"sessionId": UUID}), Some(UUID)),
            (json!({"conversation_id": UUID}), Some(UUID)),
            (json!({"part": {"sessionID": OPENCODE_ID}}), None),
            (json!({"session_id": "--yolo"}), None),
            (json!({"session_id": 7}), None),
        ] {
            assert_eq!(named_session(&event), id, "{event}");
        }
    }

    proptest! {
        #[test]
        fn session_id_is_never_option_or_path(word in "[-a-zA-Z0-9_/. \\n]{0,60}") {
            prop_assert!(!is_session_id(&word) || !(word.starts_with('-') || word.contains(['/', '.', ' ', '\n'])));
        }
    }
}
