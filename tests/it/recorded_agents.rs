//! Recorded outputs of the real CLIs, one for each agent and scene, read again: what each says of its session, its end and its usage.
//! `scripts/nightly agents` records them.

use std::fs;
use std::path::{Path, PathBuf};

use completion_watchdog::agent::stream::{SessionSummary, StreamReader};

/// Tokens that the scripted API counts for each request.
const TOKENS: u64 = 120;

/// The recordings by name (`codex-commit`), with their text.
fn recordings() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents");
    let files = fs::read_dir(folder).expect("the recordings are part of the repository").flatten();
    let mut paths: Vec<PathBuf> =
        files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    paths.sort();
    let name = |path: &Path| path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), fs::read_to_string(path).expect("a recording is text"))).collect()
}

fn read(text: &str) -> SessionSummary {
    let mut reader = StreamReader::default();
    // In chunks, as they come from a pipe.
    text.as_bytes().chunks(1000).for_each(|chunk| reader.push(chunk));
    reader.finish()
}

fn tokens(read: &SessionSummary) -> Option<u64> {
    Some(read.usage.input_tokens? + read.usage.output_tokens?)
}

#[test]
fn every_recording_is_the_events_of_a_known_program_and_its_tokens_are_what_the_api_counted() {
    let all = recordings();
    assert!(all.len() >= 20, "only {} recordings", all.len());
    for (name, text) in all {
        let read = read(&text);
        assert!(read.structured, "{name} is not read as events");
        let counted = tokens(&read).unwrap_or(0);
        assert_eq!(counted % TOKENS, 0, "{name}: {counted} tokens, and each request has {TOKENS}");
    }
}

#[test]
fn a_session_that_committed_has_an_id_a_success_and_no_refusal() {
    let all: Vec<_> = recordings().into_iter().filter(|(name, _)| name.ends_with("-commit")).collect();
    assert!(all.len() >= 3, "recordings of the agents");
    for (name, text) in all {
        let read = read(&text);
        assert!(read.session_id.is_some() && read.error.is_none() && read.refused_tools.is_empty(), "{name}: {read:?}");
    }
}
