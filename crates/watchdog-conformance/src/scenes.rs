//! The scenes, in the order in which they are played: sessions that end in every way, and the questions about them.

use std::time::Duration;

use serde_json::json;

use super::api_script::{ApiFault, ScriptRule, ScriptedReply};
use super::scene::{ConformanceScene, LoopStep, SceneStep, SessionStep};
use super::scene_agent::TASK;
use super::scene_judges as judges;
use super::scene_stage::SceneSignal;

/// How a question for the agent's state begins.
pub const PROBE: &str = "STATUS PROBE";
/// How a question for a plan of commits begins.
pub const PLAN: &str = "COMMIT PLAN";
/// Where a session is in its tool call, this file is there.
const BEGUN: &str = "half.txt";
/// The commit of every session that commits.
pub const SUBJECT: &str = "work: f";
/// What the prompt of a loop says to a conversation that goes on.
const GO_ON: &str = "Go on from where you are";
/// What a session says before it is resumed.
pub const FIRST_WORDS: &str = "I think about it first.";

/// A session without anything special.
const PLAIN: SessionStep = SessionStep {
    options: &[],
    lacking_options: &[],
    refused: false,
    without_key: false,
    signal: None,
};
const SESSION: SceneStep = SceneStep::Session(PLAIN);
/// A session of which every request fails. An agent that reports it in the end has time for its retries; one that never does is ended.
const FAILING: SceneStep = SceneStep::Session(SessionStep {
    options: &["--timeout", "120s", "--grace", "2s"],
    lacking_options: &["--timeout", "40s", "--grace", "2s"],
    ..PLAIN
});

/// Every scene.
pub const SCENES: [ConformanceScene; 16] = [
    ConformanceScene {
        name: "commit",
        shows: "a session that commits is complete, and nobody is asked",
        script: commits,
        config: "{}",
        steps: &[SESSION],
        needs: None,
        judge: judges::commit,
        lacks: judges::nothing,
    },
    ConformanceScene {
        name: "forgets",
        shows: "a session that forgets to commit is asked, and its work is rescued",
        script: forgets,
        config: r#"{"rescue": {"mode": "single"}}"#,
        steps: &[SESSION],
        needs: Some("asks_without_trace"),
        judge: judges::forgets,
        lacks: judges::forgets_unasked,
    },
    ConformanceScene {
        name: "refused",
        shows: "a session whose tools are refused is for a person, with the option that allows them",
        script: refused,
        config: "{}",
        steps: &[SceneStep::Session(SessionStep {
            options: &["--timeout", "60s"],
            refused: true,
            ..PLAIN
        })],
        needs: Some("reports_refusals"),
        judge: judges::refused,
        lacks: judges::refused_untold,
    },
    ConformanceScene {
        name: "limit",
        shows: "a usage limit that names its end is waited for until then",
        script: || limited(Some(Duration::from_secs(3 * 3600))),
        config: "{}",
        steps: &[FAILING],
        needs: Some("reports_limit_end"),
        judge: judges::limit,
        lacks: judges::fault_untold,
    },
    ConformanceScene {
        name: "limit-open",
        shows: "a usage limit that names no end is waited for, too",
        script: || limited(None),
        config: "{}",
        steps: &[FAILING],
        needs: Some("reports_limits"),
        judge: judges::limit_open,
        lacks: judges::fault_untold,
    },
    ConformanceScene {
        name: "overload",
        shows: "a service without room is no fault of the session",
        script: || vec![ScriptRule::new(ScriptedReply::Fault(ApiFault::Overloaded)).always()],
        config: "{}",
        steps: &[FAILING],
        needs: Some("reports_overload"),
        judge: judges::overload,
        lacks: judges::fault_untold,
    },
    ConformanceScene {
        name: "login",
        shows: "an agent without a login fails, and a person is told",
        script: || vec![ScriptRule::new(ScriptedReply::Fault(ApiFault::NotLoggedIn)).always()],
        config: "{}",
        steps: &[SceneStep::Session(SessionStep {
            options: &["--timeout", "60s", "--grace", "2s"],
            without_key: true,
            ..PLAIN
        })],
        needs: None,
        judge: judges::login,
        lacks: judges::nothing,
    },
    ConformanceScene {
        name: "hang",
        shows: "a session that hears nothing more is ended with all that it started",
        script: || {
            vec![
                ScriptRule::new(ScriptedReply::Text("late".into()))
                    .after(Duration::from_secs(300))
                    .always(),
            ]
        },
        config: "{}",
        steps: &[SceneStep::Session(SessionStep {
            options: &["--timeout", "40s", "--grace", "2s"],
            ..PLAIN
        })],
        needs: None,
        judge: judges::hang,
        lacks: judges::nothing,
    },
    ConformanceScene {
        name: "background",
        shows: "a process that outlives the session is named, and nothing is complete before it ends",
        script: || works("(setsid sleep 100 >/dev/null 2>&1 </dev/null &) ; echo started"),
        config: "{}",
        steps: &[SceneStep::Session(SessionStep {
            options: &["--child-wait", "1s", "--no-probe"],
            ..PLAIN
        })],
        needs: None,
        judge: judges::background,
        lacks: judges::nothing,
    },
    ConformanceScene {
        name: "term",
        shows: "watchdog that is told to end takes the whole session with it, and keeps its work",
        script: hangs_in_a_tool,
        config: "{}",
        steps: &[SceneStep::Session(SessionStep {
            options: &["--grace", "3s"],
            signal: Some(SceneSignal::Watchdog(BEGUN)),
            ..PLAIN
        })],
        needs: None,
        judge: judges::term,
        lacks: judges::nothing,
    },
    ConformanceScene {
        name: "killed",
        shows: "a session that somebody else ends is no success, whatever its exit code",
        script: hangs_in_a_tool,
        config: r#"{"rescue": {"mode": "single"}}"#,
        steps: &[SceneStep::Session(SessionStep {
            options: &["--end-survivors", "--child-wait", "1s", "--no-probe"],
            signal: Some(SceneSignal::Agent(BEGUN)),
            ..PLAIN
        })],
        needs: None,
        judge: judges::killed,
        lacks: judges::nothing,
    },
    ConformanceScene {
        name: "question",
        shows: "the very session is asked: it knows its history, can do nothing, and keeps no trace",
        script: questioned,
        config: "{}",
        steps: &[SESSION, SceneStep::Watchdog(&["probe"])],
        needs: Some("asks_without_trace"),
        judge: judges::question,
        lacks: judges::question_unasked,
    },
    ConformanceScene {
        name: "resume",
        shows: "a conversation goes on by its id, without the questions between",
        script: resumed,
        config: "{}",
        steps: &[SceneStep::Loop(LoopStep {
            options: &["--continue", "--max-iterations", "2"],
            unasked_options: &["--no-probe"],
        })],
        needs: Some("resumes_by_id"),
        judge: judges::resume,
        lacks: judges::nothing,
    },
    ConformanceScene {
        name: "plan",
        shows: "the agent plans the commits of what it forgot, and watchdog makes them",
        script: planned,
        config: r#"{"rescue": {"mode": "plan"}}"#,
        steps: &[SESSION],
        needs: Some("asks_without_trace"),
        judge: judges::plan,
        lacks: judges::plan_unasked,
    },
    ConformanceScene {
        name: "loop",
        shows: "a loop goes on until its check is met",
        script: one_by_one,
        config: r#"{"checks": [{"type": "command", "name": "two", "run": ["test", "-e", "two.txt"]}]}"#,
        steps: &[SceneStep::Loop(LoopStep {
            options: &["--max-iterations", "3"],
            unasked_options: &[],
        })],
        needs: None,
        judge: judges::looped,
        lacks: judges::nothing,
    },
    ConformanceScene {
        name: "usage",
        shows: "the tokens of a session are those that its API counted",
        script: commits,
        config: "{}",
        steps: &[SceneStep::Loop(LoopStep {
            options: &["--max-iterations", "1"],
            unasked_options: &[],
        })],
        needs: Some("reports_usage"),
        judge: judges::usage,
        lacks: judges::usage_untold,
    },
];

fn text(text: &str) -> ScriptedReply {
    ScriptedReply::Text(text.into())
}

/// The first request of the session runs a command line; then it stops.
fn works(line: &str) -> Vec<ScriptRule> {
    vec![
        ScriptRule::new(ScriptedReply::Command(line.into()))
            .when(TASK)
            .with_tools(),
    ]
}

fn commits() -> Vec<ScriptRule> {
    works("echo work > f.txt && git add -A && git commit -qm 'work: f' && echo committed")
}

fn hangs_in_a_tool() -> Vec<ScriptRule> {
    works("echo half > half.txt; tail -f /dev/null")
}

fn reports(status: &str) -> ScriptRule {
    let reply = json!({
        "status": status, "message": "scripted", "agents_active": false, "agents_details": [], "tasks_completed": [],
        "tasks_pending": [], "commits_made": 0, "should_continue": true, "next_action": "none",
    });
    ScriptRule::new(ScriptedReply::Answer(reply))
        .in_history(PROBE)
        .always()
}

fn forgets() -> Vec<ScriptRule> {
    let mut rules = works("echo work > f.txt; echo written");
    rules.push(reports("complete"));
    rules
}

/// Nothing but the commit itself, which every agent can be refused: there is no other work that a verdict would rest on.
fn refused() -> Vec<ScriptRule> {
    let mut rules = works("git commit --allow-empty -qm 'work: f' && echo committed");
    rules.push(reports("working"));
    rules
}

fn limited(reset: Option<Duration>) -> Vec<ScriptRule> {
    let mut rules = works("echo half > half.txt");
    rules.push(ScriptRule::new(ScriptedReply::Fault(ApiFault::UsageLimit(reset))).always());
    rules
}

/// The model uses its tools although it was told not to: nothing may come of it.
fn questioned() -> Vec<ScriptRule> {
    let mut rules = commits();
    rules
        .push(ScriptRule::new(ScriptedReply::Command("echo trace > trace.txt".into())).when(PROBE));
    rules.push(reports("complete"));
    rules
}

/// Says something first and commits when it is asked again; between the two it is asked for its state.
fn resumed() -> Vec<ScriptRule> {
    let commit = ScriptedReply::Command(
        "echo work > f.txt && git add -A && git commit -qm 'work: f' && echo committed".into(),
    );
    vec![
        reports("working"),
        ScriptRule::new(text(FIRST_WORDS)).when(TASK).with_tools(),
        // The prompt that goes on with a conversation does not say the task again; the memory agent of Qwen Code has tools as well.
        ScriptRule::new(commit).when(GO_ON).with_tools(),
    ]
}

fn one_by_one() -> Vec<ScriptRule> {
    let makes = |name: &str| {
        ScriptedReply::Command(format!(
            "echo x > {name}.txt && git add {name}.txt && git commit -qm 'work: {name}'"
        ))
    };
    vec![
        ScriptRule::new(makes("one")).when(TASK).with_tools(),
        ScriptRule::new(text("One is done."))
            .unless(TASK)
            .with_tools(),
        ScriptRule::new(makes("two")).when(TASK).with_tools(),
    ]
}

fn planned() -> Vec<ScriptRule> {
    let mut rules = works("echo a > a.txt; echo b > b.txt; echo written");
    rules.push(reports("complete"));
    let plan = json!({"commits": [
        {"subject": "feat: add a", "body": "", "files": ["a.txt"], "tasks": []},
        {"subject": "feat: add b", "body": "", "files": ["b.txt"], "tasks": []},
    ]});
    rules.insert(
        0,
        ScriptRule::new(ScriptedReply::Answer(plan))
            .when(PLAN)
            .always(),
    );
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scene_has_unique_name_and_object_configuration() {
        for (at, one) in SCENES.iter().enumerate() {
            assert!(
                SCENES[..at].iter().all(|other| other.name != one.name),
                "{}",
                one.name
            );
            assert!(
                serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(one.config)
                    .is_ok(),
                "{}",
                one.name
            );
            assert!(
                !(one.script)().is_empty() && !one.steps.is_empty(),
                "{}",
                one.name
            );
        }
    }
}
