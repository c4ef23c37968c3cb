//! What must be true after each scene, of an agent that can do what the scene needs, and of one that cannot. Pure.

use serde_json::Value;

use super::http_reply::{INPUT_TOKENS, OUTPUT_TOKENS};
use super::scene::{SceneFacts, SceneFindings};
use super::scene_agent::TASK;
use super::scenes::{FIRST_WORDS, PLAN, PROBE, SUBJECT};

/// Requests that one question may take: the answer, and a few tries of a model that calls tools all the same.
const MOST_REQUESTS_OF_A_QUESTION: usize = 6;

/// For scenes that every agent can play.
pub fn nothing(_: &SceneFacts, _: &mut SceneFindings) {}

fn shown(value: &Value) -> String {
    value.to_string()
}

/// How many questions a step took.
fn probes(facts: &SceneFacts, step: usize) -> usize {
    facts.requests_with(step, PROBE).len()
}

pub fn commit(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["complete/new_commits"]);
    let json = facts.json(0);
    found.that(
        json["evidence"] == "committed",
        "evidence committed",
        shown(&json["evidence"]),
    );
    found.that(
        facts.subjects == [SUBJECT, "start"],
        "one commit of the session",
        facts.subjects.join(", "),
    );
    found.that(
        probes(facts, 0) == 0,
        "no question",
        format!("{} requests with one", probes(facts, 0)),
    );
    found.that(facts.status.is_empty(), "a clean work tree", &facts.status);
    found.nothing_left(facts);
}

pub fn forgets(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["complete/rescued"]);
    found.that(
        facts.subjects.len() == 2 && facts.status.is_empty(),
        "the work in one commit",
        facts.subjects.join(", ") + &facts.status,
    );
    found.that(probes(facts, 0) > 0, "a question", "no request with one");
    found.nothing_left(facts);
}

/// Either nobody is asked: then the work is kept, and nobody says that it is complete. Or the agent is asked in a way that leaves a trace.
/// The verdict says which capability is missing.
pub fn forgets_unasked(facts: &SceneFacts, found: &mut SceneFindings) {
    probed_or_kept(facts, found, forgets);
}

pub fn plan_unasked(facts: &SceneFacts, found: &mut SceneFindings) {
    probed_or_kept(facts, found, plan);
}

fn probed_or_kept(
    facts: &SceneFacts,
    found: &mut SceneFindings,
    judge: fn(&SceneFacts, &mut SceneFindings),
) {
    let json = facts.json(0);
    let said = [&json["notes"], &json["message"]].map(shown).join(" ");
    if probes(facts, 0) > 0 {
        found.that(
            said.contains("agent_lacks"),
            "a note about the trace that the question leaves (agent_lacks)",
            said,
        );
        return judge(facts, found);
    }
    found.not_complete(facts, 0);
    let kept =
        facts.subjects.len() > 1 || facts.files.contains("f.txt") || facts.files.contains("a.txt");
    found.that(kept, "the work is kept", facts.subjects.join(", "));
    let says = said.contains("cannot be asked without a trace");
    found.that(
        says,
        "a verdict that says that this agent cannot be asked without a trace",
        said,
    );
    found.nothing_left(facts);
}

pub fn refused(facts: &SceneFacts, found: &mut SceneFindings) {
    let seen = facts.verdict(0);
    found.that(
        seen.starts_with("review/"),
        "a verdict for a person (review)",
        &seen,
    );
    let json = facts.json(0);
    let said = format!("{} {}", json["message"], json["feedback"]);
    let option = said.contains("--")
        || said.contains("allow")
        || said.contains("sandbox")
        || said.contains("permission");
    found.that(option, "the option that allows the tools", said);
    found.that(
        facts.subjects.len() == 1,
        "no commit",
        facts.subjects.join(", "),
    );
    found.nothing_left(facts);
}

/// Nobody tells that tools were refused: the session comes to nothing, and nobody says that it is complete.
pub fn refused_untold(facts: &SceneFacts, found: &mut SceneFindings) {
    found.not_complete(facts, 0);
    found.that(
        facts.subjects.len() == 1,
        "no commit",
        facts.subjects.join(", "),
    );
    found.nothing_left(facts);
}

pub fn limit(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["waiting/rate_limited"]);
    let retry = &facts.json(0)["retry_at"];
    found.that(
        retry.is_string(),
        "the time when the limit ends",
        shown(retry),
    );
    found.that(
        probes(facts, 0) == 0,
        "no question",
        format!("{} requests with one", probes(facts, 0)),
    );
    found.nothing_left(facts);
}

pub fn limit_open(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["waiting/rate_limited"]);
    found.nothing_left(facts);
}

pub fn overload(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["incomplete/unfinished"]);
    let json = facts.json(0);
    found.that(json["strike"] != true, "no strike", shown(&json["strike"]));
    found.that(
        probes(facts, 0) == 0,
        "no question",
        format!("{} requests with one", probes(facts, 0)),
    );
    found.nothing_left(facts);
}

/// An agent that says nothing of a fault and tries again is ended; the verdict must not call that a success.
pub fn fault_untold(facts: &SceneFacts, found: &mut SceneFindings) {
    found.not_complete(facts, 0);
    found.nothing_left(facts);
}

pub fn login(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["failed/agent_unrunnable"]);
    found.nothing_left(facts);
}

pub fn hang(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["timeout/session_timeout"]);
    let requests_seen = facts.requests.first().map_or(0, Vec::len);
    found.that(
        requests_seen > 0,
        "a session that asked its model",
        format!("{requests_seen} requests"),
    );
    found.nothing_left(facts);
}

pub fn background(facts: &SceneFacts, found: &mut SceneFindings) {
    found.not_complete(facts, 0);
    let survivors = &facts.json(0)["survivors"];
    let named = survivors.as_array().is_some_and(|list| !list.is_empty());
    // An agent that ends its background processes itself has none.
    found.that(
        named != facts.left.is_empty(),
        "exactly what still runs in `survivors`",
        format!("{survivors}, {} run", facts.left.len()),
    );
}

pub fn term(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["stopped/interrupted"]);
    found.that(
        facts.files.contains("half.txt"),
        "the unfinished work is kept",
        "half.txt is gone",
    );
    found.nothing_left(facts);
}

pub fn killed(facts: &SceneFacts, found: &mut SceneFindings) {
    found.not_complete(facts, 0);
    found.that(
        facts.files.contains("half.txt"),
        "the unfinished work is kept",
        "half.txt is gone",
    );
    found.nothing_left(facts);
}

pub fn question(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["complete/new_commits"]);
    let probe = facts.json(1);
    let outcome = format!("{} {}", probe["outcome"], probe["reply"]["status"]);
    found.that(
        probe["outcome"] == "reply" && probe["reply"]["status"] == "complete",
        "a reply that says complete",
        outcome,
    );
    let requests_seen = facts.requests_with(1, PROBE);
    found.that(
        requests_seen
            .iter()
            .any(|request| request.body.contains(TASK)),
        "a question to the session that knows its task",
        "it does not know it",
    );
    found.that(
        !facts.files.contains("trace.txt"),
        "no tool that works in a question",
        "it wrote a file",
    );
    found.that(
        facts.status.is_empty(),
        "an untouched work tree",
        &facts.status,
    );
    let requests = facts.requests.get(1).map_or(0, Vec::len);
    found.that(
        requests <= MOST_REQUESTS_OF_A_QUESTION,
        format!("at most {MOST_REQUESTS_OF_A_QUESTION} requests"),
        requests,
    );
    let (before, after) = (&facts.conversations[0], &facts.conversations[1]);
    let changed: Vec<String> = before
        .iter()
        .filter(|(path, print)| after.get(*path) != Some(print))
        .map(|(path, _)| path.display().to_string())
        .collect();
    found.that(
        changed.is_empty(),
        "no change of the session's conversation",
        changed.join(", "),
    );
    found.nothing_left(facts);
}

/// An agent that claims no such question: either nobody is requests_seen, and the outcome says so, or it is asked and nothing came of it but words.
pub fn question_unasked(facts: &SceneFacts, found: &mut SceneFindings) {
    if facts.json(1)["outcome"] == "reply" {
        return question(facts, found);
    }
    found.verdict(facts, 0, &["complete/new_commits"]);
    let outcome = &facts.json(1)["outcome"];
    found.that(outcome != "reply", "no reply", shown(outcome));
    found.that(
        facts.requests.get(1).is_none_or(Vec::is_empty),
        "no request",
        facts.requests.get(1).map_or(0, Vec::len),
    );
    found.that(
        facts.conversations[0] == facts.conversations[1],
        "no change of the session's conversation",
        "it changed",
    );
}

pub fn resume(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["complete/new_commits"]);
    let resumed = facts.requests_with(0, FIRST_WORDS);
    let working: Vec<_> = resumed
        .iter()
        .filter(|request| !request.newest.contains(PROBE) && !request.tools.is_empty())
        .collect();
    found.that(
        !working.is_empty(),
        "a second session that knows the first",
        "no request has both",
    );
    let questions = working
        .iter()
        .filter(|request| request.body.contains(PROBE))
        .count();
    found.that(
        questions == 0,
        "no question in the conversation",
        format!("{questions} requests with one"),
    );
    found.nothing_left(facts);
}

pub fn plan(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["complete/rescued"]);
    let planned = ["feat: add a", "feat: add b"]
        .iter()
        .all(|subject| facts.subjects.iter().any(|one| one == subject));
    found.that(
        planned,
        "the two commits of the plan",
        facts.subjects.join(", "),
    );
    let requests_seen = facts.requests_with(0, PLAN);
    found.that(
        requests_seen
            .iter()
            .any(|request| request.body.contains(TASK)),
        "a plan of the session that knows its task",
        requests_seen.len(),
    );
    found.nothing_left(facts);
}

pub fn looped(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["complete/checks_passed"]);
    let iterations = &facts.json(0)["iterations"];
    found.that(iterations == 2, "two iterations", shown(iterations));
    found.that(
        facts.subjects == ["work: two", "work: one", "start"],
        "a commit of each",
        facts.subjects.join(", "),
    );
    found.nothing_left(facts);
}

pub fn usage(facts: &SceneFacts, found: &mut SceneFindings) {
    found.verdict(facts, 0, &["complete/new_commits"]);
    let requests = facts.requests.first().map_or(&[][..], Vec::as_slice);
    let count = |requests: usize| {
        u64::try_from(requests)
            .unwrap_or(u64::MAX)
            .saturating_mul(INPUT_TOKENS + OUTPUT_TOKENS)
    };
    // A title of the conversation is asked for without tools, and some agents leave it out of their figures.
    let (least, most) = (
        count(
            requests
                .iter()
                .filter(|request| !request.tools.is_empty())
                .count(),
        ),
        count(requests.len()),
    );
    let said = &facts.json(0)["loop"]["spent"]["tokens"];
    let right = said
        .as_u64()
        .is_some_and(|said| (least..=most).contains(&said));
    found.that(right, format!("{least} to {most} tokens"), shown(said));
}

/// An agent that tells no tokens: the loop must not take them for none.
pub fn usage_untold(facts: &SceneFacts, found: &mut SceneFindings) {
    let said = &facts.json(0)["loop"]["spent"]["tokens"];
    found.that(
        said.as_u64().is_none_or(|said| said == 0),
        "no figure of tokens",
        shown(said),
    );
}
