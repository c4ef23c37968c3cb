//! Describes an event in a sentence for people: one for each kind. Reads the data that
//! `docs/events.md` describes; what it does not have is
//! left out, and an event that this version does not know is shown as it is.

use std::fmt::Display;

use jiff::Timestamp;
use serde_json::Value;

use super::last_verdict::LastVerdict;
use watchdog_facts::display::{cut_text, name_first, plural};
use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;

/// Bytes of a text that others wrote, and of data that is shown as it is.
const TEXT: usize = 1_000;

/// So many names are shown of a list.
const NAMED: usize = 3;

/// The sentence about an event, as it was written: whoever shows it escapes it. `clock` says an instant as the reader's clock has it.
pub fn describe_event(event: &StoredEvent, clock: &dyn Fn(Timestamp) -> String) -> String {
    let of = EventFacts {
        data: &event.data,
        clock,
    };
    let words = match event.kind.as_str() {
        kind::BASELINE => of.baseline(),
        kind::SESSION_STARTED => of.session_started(),
        kind::SESSION_ENDED => of.session_ended(),
        kind::COMMITS => of.commits(),
        kind::CHANGES => of.changes(),
        kind::SNAPSHOT => of
            .name("ref")
            .map(|id| format!("uncommitted work is kept in snapshot {id}")),
        kind::PROBE => of.probe(),
        kind::CHECK => of.check(),
        kind::RESCUE => of.rescue(),
        kind::RESTORE => of
            .name("snapshot")
            .map(|id| format!("snapshot {id} was brought back")),
        kind::DROPPED => of
            .name("ref")
            .map(|id| format!("a person dropped snapshot {id}")),
        kind::EXPIRED => of.describe_expiry(),
        kind::VERDICT => verdict_sentence(event),
        kind::BREAKER => of.breaker(),
        kind::INTERRUPTED => Some("a signal ended watchdog".to_owned()),
        kind::TRUST => of.person_deed(),
        kind::CRITERIA_CHANGED => of.criteria_changed(),
        kind::DEGRADED => of.text("why").map(|why| format!("warning: {why}")),
        kind::ITERATION => of.iteration(),
        kind::AGENT_CHANGED => of.agent_changed(),
        kind::LIMIT => of.limit(),
        kind::NOTIFY => of.delivery(),
        kind::HOOK => of.hook(),
        kind::ASSIGNED
        | kind::STARTED
        | kind::COMPLETE
        | kind::REVIEW
        | kind::FAILED
        | kind::BLOCKED
        | kind::PENDING => of.task_or_loop(&event.kind),
        _ => None,
    };
    words.unwrap_or_else(|| {
        format!(
            "{}: {}",
            event.kind.replace('_', " "),
            cut_text(&event.data.to_string(), TEXT)
        )
    })
}

fn verdict_sentence(event: &StoredEvent) -> Option<String> {
    let verdict = LastVerdict::new(event, true);
    Some(format!(
        "{} ({}): {}",
        verdict.view.status.as_ref()?,
        verdict.view.reason.as_ref()?,
        cut_text(&verdict.sentence(), TEXT)
    ))
}

/// The data of an event.
struct EventFacts<'a> {
    data: &'a Value,
    clock: &'a dyn Fn(Timestamp) -> String,
}

impl EventFacts<'_> {
    fn text(&self, key: &str) -> Option<String> {
        text_in(self.data, key)
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.data[key].as_u64()
    }

    fn is(&self, key: &str) -> bool {
        self.data[key] == true
    }

    fn at(&self, key: &str) -> Option<String> {
        self.data[key].as_str()?.parse().ok().map(self.clock)
    }

    /// The last part of the name of a ref: the id of a snapshot.
    fn name(&self, key: &str) -> Option<String> {
        self.text(key)
            .map(|name| name.rsplit('/').next().unwrap_or_default().to_owned())
    }

    /// The first figures of a commit's name.
    fn commit(&self, key: &str) -> Option<String> {
        self.text(key).map(|name| name.chars().take(10).collect())
    }

    fn baseline(&self) -> Option<String> {
        Some(match self.commit("baseline")?.as_str() {
            "unborn" => "a baseline was recorded, before the first commit".to_owned(),
            commit => format!("a baseline was recorded at {commit}"),
        })
    }

    fn session_started(&self) -> Option<String> {
        let pid = self
            .number("pid")
            .map(|pid| format!(" (process {pid})"))
            .unwrap_or_default();
        if self.data["by"] == "hook" {
            let inner = if self.is("inner") {
                ", inside of another one"
            } else {
                ""
            };
            return Some(format!("a session started{inner}{pid}, as its hook says"));
        }
        let Some(argv) = self.data["argv"].as_array() else {
            // A command line does not leave its machine.
            let agent = led_by(": ", self.text("agent"));
            return Some(format!("a session started{pid}{agent}"));
        };
        let words = argv
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" ");
        Some(format!(
            "a session started{pid}: {}",
            cut_text(&words, TEXT)
        ))
    }

    fn session_ended(&self) -> Option<String> {
        let end = self.text("end");
        if self.data["by"] == "hook" {
            let inner = if self.is("inner") {
                ", inside of another one"
            } else {
                ""
            };
            let end = led_by(": ", end);
            return Some(format!("a session ended{inner}, as its hook says{end}"));
        }
        let usage = &self.data["usage"];
        let figures = [
            usage["wall_seconds"]
                .as_f64()
                .map(|seconds| format!("after {}", time_in_words(seconds))),
            usage["turns"].as_u64().map(|turns| plural(turns, "turn")),
            match (
                usage["input_tokens"].as_u64(),
                usage["output_tokens"].as_u64(),
            ) {
                (None, None) => None,
                (input, output) => Some(format!(
                    "{} tokens",
                    input.unwrap_or(0) + output.unwrap_or(0)
                )),
            },
            usage["cost_usd"].as_f64().map(|cost| format!("${cost:.2}")),
            self.number("survivors")
                .filter(|count| *count > 0)
                .map(|count| format!("{count} of its processes still running")),
        ];
        let figures: String = figures
            .into_iter()
            .flatten()
            .map(|figure| format!(", {figure}"))
            .collect();
        Some(format!("the session ended: {}{figures}", end?))
    }

    fn commits(&self) -> Option<String> {
        let (new, made_here) = (self.number("new_commits")?, self.number("made_here"));
        if new == 0 {
            return Some("no new commit".to_owned());
        }
        let net = match self.number("brought") {
            _ if self.data["net_change"] == false => ", and nothing differs by them",
            Some(1..) => ", only with content that was there before",
            _ => "",
        };
        let made = made_here
            .map(|made| format!(", {made} made here"))
            .unwrap_or_default();
        Some(format!("{}{made}{net}", plural(new, "new commit")))
    }

    fn changes(&self) -> Option<String> {
        let kinds = ["staged", "unstaged", "untracked", "conflicted"];
        let counts: Vec<(u64, &str)> = kinds
            .iter()
            .filter_map(|kind| Some((self.number(kind)?, *kind)))
            .collect();
        let total: u64 = counts.iter().map(|(count, _)| count).sum();
        let parts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, kind)| format!("{count} {kind}"))
            .collect();
        match (counts.is_empty(), total) {
            (true, _) => None,
            (_, 0) => Some("nothing is uncommitted".to_owned()),
            (_, total) => Some(format!(
                "{}: {}",
                plural(total, "uncommitted change"),
                parts.join(", ")
            )),
        }
    }

    fn probe(&self) -> Option<String> {
        let reply = &self.data["reply"];
        let disputed = led_by("; disputed: ", self.text("disputed"));
        if let Some(status) = text_in(reply, "status") {
            let message = led_by(": ", text_in(reply, "message"));
            return Some(format!(
                "the agent was asked, and answered {status}{message}{disputed}"
            ));
        }
        let why = led_by(": ", self.text("why"));
        let again = led_by("; again at ", self.at("retry_at"));
        if self.data["outcome"] == "reply" && reply.is_null() {
            return Some(
                "the agent was asked, and answered; what it said stays on its machine".to_owned(),
            );
        }
        Some(format!(
            "the agent was asked, without an answer: {}{why}{again}",
            self.words("outcome")?
        ))
    }

    fn check(&self) -> Option<String> {
        let outcome = match self.text("outcome")?.as_str() {
            "pass" => "passed".to_owned(),
            "unmet" => "is not met".to_owned(),
            "waiting" => "waits".to_owned(),
            "failed" => "ran without a result".to_owned(),
            "timed_out" => "took too long".to_owned(),
            "unrunnable" => "cannot be run".to_owned(),
            other => other.replace('_', " "),
        };
        Some(format!("check '{}' {outcome}", self.text("name")?))
    }

    fn rescue(&self) -> Option<String> {
        let lost = self.data["lost"].as_array().map_or(0, Vec::len);
        let left_out = self.data["left_out"].as_array().map_or(0, Vec::len);
        let commits = match &self.data["commits"] {
            Value::Array(commits) => commits.len() as u64,
            count => count.as_u64()?,
        };
        let mut words = match (self.text("failed"), commits) {
            (Some(why), _) => format!("the rescue failed: {why}"),
            (None, _) if self.is("failed") => {
                "the rescue failed; why stays on its machine".to_owned()
            }
            (None, 0) => "the rescue had nothing to commit".to_owned(),
            (None, count) => format!("the rescue made {}", plural(count, "commit")),
        };
        if let Some(branch) = self.text("branch") {
            words.push_str(&format!(", on branch {branch}"));
        }
        if lost > 0 {
            words.push_str(&format!(
                "; {} could not be proved to be safe",
                plural(lost as u64, "path")
            ));
        }
        if left_out > 0 {
            words.push_str(&format!("; {} left out", plural(left_out as u64, "path")));
        }
        Some(words)
    }

    fn describe_expiry(&self) -> Option<String> {
        let age = self
            .number("older_than_days")
            .map(|days| format!(" older than {}", plural(days, "day")))
            .unwrap_or_default();
        let count = self.number("count")?;
        Some(format!(
            "{}{age} {} deleted",
            plural(count, "snapshot"),
            if count == 1 { "was" } else { "were" }
        ))
    }

    fn breaker(&self) -> Option<String> {
        let strikes = match (self.number("strikes"), self.number("limit")) {
            (Some(strikes), Some(limit)) => format!(": {strikes} of {limit} strikes"),
            (Some(strikes), None) => format!(": {}", plural(strikes, "strike")),
            (None, _) => String::new(),
        };
        let until = led_by("; one trial is let through at ", self.at("open_until"));
        let why = led_by("; ", self.text("why"));
        Some(format!(
            "the breaker is {}{strikes}{until}{why}",
            self.text("state")?.replace('_', "-")
        ))
    }

    fn person_deed(&self) -> Option<String> {
        if let Some(spec) = self.text("from_session") {
            let outcome = if self.is("refused") {
                "was refused"
            } else {
                "was allowed"
            };
            return Some(format!(
                "{} from inside of the session of '{spec}' {outcome}",
                self.text("command")?
            ));
        }
        if let Some(spec) = self
            .text("spec")
            .filter(|_| self.data["accepted"].is_string())
        {
            return Some(format!(
                "a person accepted the criteria of {} for '{spec}'",
                self.commit("accepted")?
            ));
        }
        let path = self.text("path")?;
        Some(match self.data["revoked"].is_u64() {
            true => format!("a person revoked the trust in {path}"),
            false => format!("a person trusted {path}"),
        })
    }

    fn criteria_changed(&self) -> Option<String> {
        if let (None, Some(total)) = (
            self.data.get("guarded"),
            self.number("guarded_total").filter(|total| *total > 0),
        ) {
            return Some(format!(
                "{} that say what done means changed since the anchor",
                plural(total, "file")
            ));
        }
        let list = |key: &str| -> Vec<&str> {
            self.data[key]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect()
        };
        let mut names = list("guarded");
        names.extend(list("named"));
        let named = name_first(&names, NAMED);
        (!names.is_empty())
            .then(|| format!("files that say what done means changed since the anchor: {named}"))
    }

    fn iteration(&self) -> Option<String> {
        let length = self.data["duration_ms"]
            .as_f64()
            .map(|millis| format!(" after {}", time_in_words(millis / 1e3)));
        let message = led_by(": ", self.text("message"));
        let (status, reason) = (self.text("status")?, self.text("reason")?);
        Some(format!(
            "iteration {} ended{}: {status} ({reason}){message}",
            self.number("iteration")?,
            length.unwrap_or_default()
        ))
    }

    fn agent_changed(&self) -> Option<String> {
        let until = led_by(", until ", self.at("until"));
        Some(format!(
            "{} takes over from {} ({}){until}",
            self.text("to")?,
            self.text("from")?,
            self.words("why")?
        ))
    }

    fn limit(&self) -> Option<String> {
        if let Some(pause) = self.words("pause") {
            return Some(format!(
                "the loop pauses until {} ({pause})",
                self.at("until")?
            ));
        }
        if self.data["loop"].is_string() {
            return self.loop_ended("a limit");
        }
        let why = led_by(": ", self.text("why"));
        let again = led_by("; again at ", self.at("retry_at"));
        Some(format!(
            "a limit was met, {}{why}{again}",
            self.words("reason")?
        ))
    }

    fn delivery(&self) -> Option<String> {
        let (of, to) = (self.words("kind")?, self.text("to")?);
        if self.is("delivered") {
            return Some(format!("{to} was told of the event '{of}'"));
        }
        let attempts = led_by(
            " after ",
            self.number("attempts")
                .map(|count| plural(count, "attempt")),
        );
        Some(format!(
            "{to} could not be told of the event '{of}'{attempts}: {}",
            self.text("why")?
        ))
    }

    fn hook(&self) -> Option<String> {
        let event = self.text("event")?;
        let message = self.text("message").filter(|message| !message.is_empty());
        let message = message
            .map(|message| format!(": {}", message.trim_start_matches("watchdog: ")))
            .unwrap_or_default();
        let times = match (self.number("held"), self.number("most")) {
            (Some(held), Some(most)) => format!(" (held {held} times before, at most {most})"),
            _ => String::new(),
        };
        Some(match self.text("answer")?.as_str() {
            "held" => format!("hook {event} held the agent{times}{message}"),
            _ => format!("hook {event} let the agent go{message}"),
        })
    }

    fn task_or_loop(&self, event: &str) -> Option<String> {
        let Some(task) = self.text("task") else {
            return match event {
                kind::STARTED if self.is("resumed") => Some("the loop was resumed".to_owned()),
                kind::STARTED => {
                    let most = self
                        .number("max_iterations")
                        .map(|most| format!(", at most {}", plural(most, "iteration")));
                    self.text("loop")
                        .map(|_| format!("a loop started{}", most.unwrap_or_default()))
                }
                _ => self.loop_ended(event),
            };
        };
        let reason = led_by(": ", self.text("reason"));
        let agent = self.text("agent");
        Some(match (event, agent) {
            (kind::ASSIGNED, Some(agent)) => format!("task {task} was given to {agent}{reason}"),
            (kind::ASSIGNED, None) => format!("task {task} was given to an agent{reason}"),
            (kind::STARTED, _) => format!("work on task {task} began{reason}"),
            (kind::BLOCKED, _) => format!("task {task} is blocked{reason}"),
            (kind::PENDING, _) => format!("task {task} is pending again{reason}"),
            (kind::COMPLETE, _) => format!("task {task} is complete{reason}"),
            (kind::REVIEW, _) => format!("task {task} needs a person{reason}"),
            (_, _) => format!("task {task} failed{reason}"),
        })
    }

    fn loop_ended(&self, by: &str) -> Option<String> {
        let count = led_by(
            " after ",
            self.number("iterations")
                .map(|count| plural(count, "iteration")),
        );
        let message = led_by(": ", self.text("message"));
        Some(format!(
            "the loop ended{count} with {by} ({}){message}",
            self.text("reason")?
        ))
    }

    fn words(&self, key: &str) -> Option<String> {
        self.text(key).map(|word| word.replace('_', " "))
    }
}

/// A length of time, as exactly as a person wants it.
fn time_in_words(seconds: f64) -> String {
    match seconds {
        ..60.0 => format!("{seconds:.0} s"),
        60.0..3600.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// The words of what is there; none without it.
fn led_by(lead: &str, value: Option<impl Display>) -> String {
    value
        .map(|value| format!("{lead}{value}"))
        .unwrap_or_default()
}

fn text_in(of: &Value, key: &str) -> Option<String> {
    of[key]
        .as_str()
        .map(|text| cut_text(text.trim(), TEXT))
        .filter(|text| !text.is_empty())
}

#[cfg(test)]
#[path = "event_sentences_tests.rs"]
mod tests;
