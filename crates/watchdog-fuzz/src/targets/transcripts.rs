//! Transcripts on disk, whole and from any place on.

use watchdog_agent::transcript_read::{WINDOW, read_transcript};

use super::scratch::in_thread;

/// Reads an input as a transcript.
pub fn run(input: &[u8]) {
    let file = in_thread(|folder| folder.path().join("transcript.jsonl"));
    std::fs::write(&file, input).expect("a scratch file can be written");
    let size = input.len() as u64;
    let within =
        |window: u64| read_transcript(&file, window).expect("a file that is there can be read");
    let whole = within(WINDOW);
    assert_eq!(
        within(size),
        whole,
        "a window that holds all of it is no window"
    );
    assert!(
        input.contains(&b'{') || whole.ended.is_none(),
        "only an event tells an end"
    );
    for window in [0, size / 2, size.saturating_sub(1)] {
        let part = within(window);
        if window < size {
            assert_eq!(part.usage.turns, None, "the turns of a part are unknown");
        }
        assert!(
            part.messages.len() <= whole.messages.len() + 1,
            "a part has no more than the whole"
        );
    }
}
