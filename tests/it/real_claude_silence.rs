//! The real Claude Code CLI when the model's stream stalls: the session is ended for its silence, and nothing of it runs on.

use std::time::Duration;

use serde_json::json;

use crate::real_claude::{cut_off, probes_say};
use crate::support::{Claude, Rule};

const FOR_EVER: Duration = Duration::from_secs(3600);

fn stalled() -> Rule {
    Rule::text("I am thinking about it.")
        .stall(FOR_EVER)
        .when_offered("Bash")
        .always()
}

#[test]
fn stalled_stream_work_is_rescued_as_incomplete() {
    let work = || {
        Rule::bash("echo half > half.txt")
            .when_offered("Bash")
            .when_last_user("MAIN TASK")
    };
    let its_work_is_done = |claude: &Claude| claude.api.messages().len() > 1;
    cut_off(
        "--idle-timeout",
        || [work(), stalled(), probes_say("complete")],
        its_work_is_done,
        |repo, out| {
            let out = out.expect(10);
            out.assert_verdict(
                "incomplete/unfinished",
                json!({"rescued": true, "probes_used": 0}),
            );
            out.assert_has("message", "silent");
            assert_eq!(repo.file_in("HEAD", "half.txt").as_deref(), Some("half\n"));
        },
    );
}
