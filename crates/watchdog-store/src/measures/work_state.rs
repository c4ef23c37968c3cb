//! The bounded state of a spec's earlier events that measures its next one, and the step from event
//! to event.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use watchdog_facts::verdict::{Reason, Status};

use super::counter_names::{ABORT_WINDOW, VerdictClass, measure};
use super::gains::{CompletedSpec, MeasureGains};
use super::recorded_verdict::VerdictFields;
use crate::counters::{cost_micros, day_of};
use crate::engine::StoredEvent;
use crate::event_kinds as kind;

/// The most aborts of a spec that wait for what comes of them; of more, the oldest stay undecided.
const OPEN_ABORTS: usize = 8;

/// The reasons by which watchdog ends work that was not complete. An agent that stops itself and a person's signal are none.
const ABORTS: [Reason; 6] = [
    Reason::MaxProbes,
    Reason::SessionTimeout,
    Reason::SessionIdle,
    Reason::BudgetExhausted,
    Reason::DeadlineExceeded,
    Reason::MaxIterations,
];

/// Phase of the spec's last session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SessionPhase {
    #[default]
    Unknown,
    Running,
    Ended,
    Judged,
}

/// An abort that waits for what comes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OpenAbort {
    at: Timestamp,
    why: String,
    /// Whether another session began since.
    #[serde(default)]
    anew: bool,
}

/// Sums since the previous completion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct SpanSums {
    sessions: u64,
    timed: u64,
    seconds: u64,
    priced: u64,
    cost_micros: u64,
    questions: u64,
}

/// State of one spec of one worktree between two events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkState {
    /// When its newest event happened.
    at: Option<Timestamp>,
    session: SessionPhase,
    started_at: Option<Timestamp>,
    /// The reason by which watchdog ended the session.
    cut_by: Option<String>,
    /// The state of the last verdict.
    seen: Option<String>,
    complete: bool,
    baseline: Option<String>,
    /// Commits made here since the baseline.
    made: u64,
    /// Whether the breaker opened, and the verdict that opened it is to come.
    tripped: bool,
    /// Whether nothing came since the last abort, so that what says the same again is no second one.
    aborted: bool,
    aborts: Vec<OpenAbort>,
    span: SpanSums,
    /// Questions since the loop or its last iteration.
    unattributed: u64,
}

/// Gathers what one event adds.
struct GainList {
    today: Date,
    gains: MeasureGains,
}

impl GainList {
    fn add(&mut self, word: impl Into<String>, amount: u64) {
        self.gains.counters.push((self.today, word.into(), amount));
    }
}

impl WorkState {
    /// When its newest event happened; `None` = none was taken.
    pub fn last_event_at(&self) -> Option<Timestamp> {
        self.at
    }

    /// Whether events of a kind can change the measures.
    pub fn heeds(kind: &str) -> bool {
        matches!(
            kind,
            kind::BASELINE
                | kind::SESSION_STARTED
                | kind::SESSION_ENDED
                | kind::COMMITS
                | kind::RESCUE
                | kind::VERDICT
                | kind::BREAKER
                | kind::STARTED
                | kind::ITERATION
                | kind::REVIEW
                | kind::LIMIT
        )
    }

    /// Takes the next event of this spec, and returns what it adds.
    pub fn take(&mut self, event: &StoredEvent) -> MeasureGains {
        let mut list = GainList {
            today: day_of(event),
            gains: MeasureGains::default(),
        };
        let data = &event.data;
        if !Self::heeds(&event.kind) || data["inner"] == true {
            return list.gains;
        }
        self.at = self.at.max(Some(event.at));
        self.settle_expired(event.at, &mut list);
        match event.kind.as_str() {
            kind::BASELINE => {
                let baseline = data["baseline"].as_str().map(str::to_owned);
                if baseline != self.baseline {
                    (self.baseline, self.made) = (baseline, 0);
                }
            }
            kind::SESSION_STARTED => {
                (self.session, self.started_at, self.cut_by) =
                    (SessionPhase::Running, Some(event.at), None);
                self.aborted = false;
                self.aborts.iter_mut().for_each(|abort| abort.anew = true);
            }
            kind::SESSION_ENDED => self.session_ended(event, &mut list),
            kind::COMMITS => {
                let made = data["made_here"].as_u64().unwrap_or(self.made);
                if made > self.made {
                    self.work_went_on(&mut list);
                }
                self.made = made;
            }
            kind::RESCUE => self.count_rescue(data, &mut list),
            kind::BREAKER => self.tripped |= data["state"] == "open",
            kind::VERDICT => self.count_verdict(event, &mut list),
            kind::STARTED if data["loop"].is_string() => self.unattributed = 0,
            kind::ITERATION => {
                list.add(measure::ITERATION_QUESTIONS, self.unattributed);
                self.unattributed = 0;
            }
            kind::REVIEW | kind::LIMIT if data["loop"].is_string() => {
                if let Some(why) = ABORTS
                    .into_iter()
                    .find(|why| data["reason"] == why.as_str())
                {
                    self.abort(event.at, why.as_str(), &mut list);
                }
            }
            _ => {}
        }
        list.gains.counters.retain(|(_, _, amount)| *amount > 0);
        list.gains
    }

    fn session_ended(&mut self, event: &StoredEvent, list: &mut GainList) {
        let end = event.data["end"].as_str().unwrap_or_default();
        if end == "not started" {
            return;
        }
        if self.session != SessionPhase::Judged {
            self.session = SessionPhase::Ended;
        }
        self.cut_by = match end {
            "timed out" => Some(Reason::SessionTimeout),
            "silent" => Some(Reason::SessionIdle),
            end => ABORTS.into_iter().find(|reason| reason.as_str() == end),
        }
        .map(|reason| reason.as_str().to_owned());
        let usage = &event.data["usage"];
        self.span.sessions += 1;
        if let Some(seconds) = whole_seconds(usage).or_else(|| self.seconds_until(event.at)) {
            self.span.timed += 1;
            self.span.seconds = self.span.seconds.saturating_add(seconds);
            list.add(measure::SESSIONS_TIMED, 1);
            list.add(measure::SESSION_SECONDS, seconds);
        }
        if let Some(micros) = cost_micros(usage) {
            self.span.priced += 1;
            self.span.cost_micros = self.span.cost_micros.saturating_add(micros);
        }
        self.started_at = None;
    }

    fn seconds_until(&self, at: Timestamp) -> Option<u64> {
        u64::try_from(at.duration_since(self.started_at?).as_secs()).ok()
    }

    fn count_rescue(&mut self, data: &Value, list: &mut GainList) {
        let made = data["commits"].as_u64().is_some_and(|commits| commits > 0);
        let lost = data["lost"].as_array().is_some_and(|lost| !lost.is_empty());
        if made {
            self.work_went_on(list);
        }
        if made && data["failed"].is_null() && !lost {
            list.add(measure::RESCUES_KEPT, 1);
        }
    }

    fn count_verdict(&mut self, event: &StoredEvent, list: &mut GainList) {
        let verdict = VerdictFields::new(&event.data);
        let class = self.class_of(&verdict);
        if verdict.questions > 0 {
            list.add(measure::QUESTION_VERDICTS, 1);
            list.add(
                format!("{}{}", measure::QUESTIONS_OF, class.as_str()),
                verdict.questions,
            );
            self.span.questions += verdict.questions;
            self.unattributed += verdict.questions;
        }
        list.add(measure::STRIKES, verdict.strike.into());
        if verdict.is_complete() {
            self.work_went_on(list);
        }
        let tripped = std::mem::take(&mut self.tripped);
        if class == VerdictClass::Repeated {
            list.add(measure::LOOKS, 1);
        } else {
            self.count_judgement(event, &verdict, class, list);
        }
        if tripped {
            self.abort(event.at, Reason::BreakerOpen.as_str(), list);
        } else if class != VerdictClass::Repeated && !verdict.is_complete() {
            let reason = verdict
                .reason
                .filter(|reason| ABORTS.contains(reason))
                .map(|reason| reason.as_str().to_owned());
            let cut_by = self
                .cut_by
                .take()
                .filter(|_| class == VerdictClass::Session);
            if let Some(why) = reason.or(cut_by) {
                self.abort(event.at, &why, list);
            }
        }
        if !verdict.waits() {
            self.seen = Some(verdict.state());
            if matches!(self.session, SessionPhase::Running | SessionPhase::Ended) {
                self.session = SessionPhase::Judged;
            }
        }
    }

    fn class_of(&self, verdict: &VerdictFields<'_>) -> VerdictClass {
        match self.session {
            _ if verdict.waits() => VerdictClass::Repeated,
            SessionPhase::Running | SessionPhase::Ended => VerdictClass::Session,
            _ if verdict.unchanged || self.seen.as_deref() == Some(&*verdict.state()) => {
                VerdictClass::Repeated
            }
            SessionPhase::Unknown | SessionPhase::Judged => VerdictClass::Change,
        }
    }

    fn count_judgement(
        &mut self,
        event: &StoredEvent,
        verdict: &VerdictFields<'_>,
        class: VerdictClass,
        list: &mut GainList,
    ) {
        list.add(
            format!(
                "{}{}/{}",
                measure::JUDGED,
                class.as_str(),
                verdict.reason_word()
            ),
            1,
        );
        if class == VerdictClass::Session
            && verdict.strike
            && verdict.status() == Some(Status::Timeout)
        {
            list.add(measure::TIMEOUTS, 1);
        }
        if !verdict.strike && !verdict.is_complete() {
            let word = |because: &&str| {
                because.len() <= 40
                    && because
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            };
            list.add(
                format!(
                    "{}{}",
                    measure::NO_STRIKE,
                    verdict.not_a_strike_because.filter(word).unwrap_or("other")
                ),
                1,
            );
        }
        for name in &verdict.unmet {
            list.add(format!("{}{name}", measure::UNMET), 1);
        }
        let was_complete = std::mem::replace(&mut self.complete, verdict.is_complete());
        if verdict.is_complete()
            && (self.span.sessions > 0 || class == VerdictClass::Session || !was_complete)
        {
            let span = std::mem::take(&mut self.span);
            list.add(measure::COMPLETIONS, 1);
            let all = |measured: u64, sum: u64| {
                (span.sessions > 0 && measured == span.sessions).then_some(sum)
            };
            list.gains.completed = Some(CompletedSpec {
                worktree: event.worktree.clone(),
                spec: event.spec.clone().unwrap_or_default(),
                sessions: span.sessions,
                seconds: all(span.timed, span.seconds),
                cost_micros: all(span.priced, span.cost_micros),
                questions: span.questions,
            });
        }
    }

    fn abort(&mut self, at: Timestamp, why: &str, list: &mut GainList) {
        if std::mem::replace(&mut self.aborted, true) {
            return;
        }
        list.add(format!("{}{why}", measure::ABORTS), 1);
        if self.aborts.len() == OPEN_ABORTS {
            self.aborts.remove(0);
        }
        self.aborts.push(OpenAbort {
            at,
            why: why.to_owned(),
            anew: false,
        });
    }

    fn work_went_on(&mut self, list: &mut GainList) {
        self.aborted = false;
        for abort in self.aborts.drain(..) {
            let day = day_at(abort.at);
            list.gains
                .counters
                .push((day, format!("{}{}", measure::WENT_ON, abort.why), 1));
            if abort.anew {
                list.gains.counters.push((
                    day,
                    format!("{}{}", measure::WENT_ON_ANEW, abort.why),
                    1,
                ));
            }
        }
    }

    fn settle_expired(&mut self, now: Timestamp, list: &mut GainList) {
        self.aborts.retain(|abort| {
            let open = abort
                .at
                .checked_add(ABORT_WINDOW)
                .is_ok_and(|end| now <= end);
            if !open {
                list.gains.counters.push((
                    day_at(abort.at),
                    format!("{}{}", measure::HELD, abort.why),
                    1,
                ));
            }
            open
        });
    }
}

fn day_at(at: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(at).date()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is no negative number, and saturates"
)]
fn whole_seconds(usage: &Value) -> Option<u64> {
    let seconds = usage["wall_seconds"]
        .as_f64()
        .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)?;
    Some(seconds.round() as u64)
}
