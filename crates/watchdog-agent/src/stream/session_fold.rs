//! Folds the events of a session in bounded memory, and summarizes them.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use serde_json::Value;

use super::dialect::StreamDialect;
use super::fields::{cut_middle, get_text};
use super::figures::{TokenCounts, UsageSums};
use super::todo::TodoList;
use super::tool_input::input_summary;
use crate::session_id::is_session_id;
use watchdog_facts::context::{
    AgentTodoPlan, ContextMessage, SessionContext, SessionUsage, ToolResult,
};
use watchdog_facts::refused_tool::{RefusalCause, RefusedTool};
use watchdog_facts::session_event::SessionEvent;

/// Messages that are kept, the newest.
const MESSAGES: usize = 200;
/// Bytes of their texts together.
const MESSAGE_BYTES: usize = 1 << 20;
/// Bytes of one of them.
const MESSAGE: usize = 32 << 10;
/// Bytes of the last text.
const OUTPUT: usize = 256 << 10;
/// Background tasks that are kept.
const TASKS: usize = 100;
/// Refused tools whose names are kept.
const REFUSED: usize = 20;
/// Calls whose tool's name is remembered.
const CALLS: usize = 64;
/// Bytes of a call that is shown while it runs.
const SHOWN_CALL: usize = 300;

/// The summary of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionSummary {
    /// Whether its output was the events of a known program. Otherwise it is plain text, and figures are unknown.
    pub structured: bool,
    /// Whose events they are, where a reader in code knows them.
    pub dialect: Option<StreamDialect>,
    /// Whether its events were those that the rules of a user's own preset speak of.
    pub ruled: bool,
    /// The program's own name for the session, in a form that may be an argument.
    pub session_id: Option<String>,
    /// The reported usage of this run of the session, without wall time.
    pub usage: SessionUsage,
    /// Tokens of the session, earlier runs of it included, where its program reports those and not this run's.
    pub session_tokens: Option<TokenCounts>,
    /// US dollars of the session, earlier runs of it included.
    pub session_cost_usd: Option<f64>,
    /// Whether [`SessionUsage::cost_usd`] is that of the session, because the program did not report this run's separately.
    pub cost_is_of_the_session: bool,
    /// The agent's last text.
    pub output: Option<String>,
    /// The answer that followed a requested schema.
    pub structured_output: Option<Value>,
    /// The agent's prompt, where it was reported.
    pub prompt: Option<String>,
    /// Why the model stopped, such as `end_turn`.
    pub stop_reason: Option<String>,
    /// How the program says that it ended, such as `completed`, `error_max_turns` or `api_error`; `None` before its last event.
    pub ended: Option<String>,
    /// The message of the error that ended it.
    pub error: Option<String>,
    /// The HTTP status of the service, where that was the error.
    pub error_status: Option<u64>,
    /// Whether its program always prints a last event, so that an exit code of 0 without one is no success.
    pub expects_end: bool,
    /// Whether its program prints that it sends a request again, so that 0 retries are none.
    pub prints_retries: bool,
    /// How often the agent retried a request to the service, and why the last time.
    pub retries: u64,
    /// The last reason to ask the service again, such as `overloaded (529)`.
    pub last_retry: Option<String>,
    /// When the usage limit that refused the session ends.
    pub limit_ends: Option<Timestamp>,
    /// The tools that the program refused to the agent, each once.
    pub refused_tools: Vec<RefusedTool>,
    /// The agent's own list of tasks.
    pub plan: Option<AgentTodoPlan>,
    /// The newest messages and results of tools, oldest first, each cut.
    pub messages: Vec<ContextMessage>,
    /// The background tasks that still run, by the program's report.
    pub background_tasks: Vec<Value>,
    /// Tools that were called and have not answered.
    pub unanswered: Vec<String>,
    /// Events that were too long to be read.
    pub passed_over: u64,
}

impl SessionSummary {
    /// Whether the program reported an end, and no error: the only end that an exit code of 0 confirms.
    pub fn reports_success(&self) -> bool {
        self.ended.is_some() && self.error.is_none()
    }

    /// How often a request was sent again; `None` where the program does not print that.
    pub fn known_retries(&self) -> Option<u64> {
        (self.prints_retries || self.retries > 0).then_some(self.retries)
    }

    /// The same as checks see it.
    pub fn context(&self) -> SessionContext {
        SessionContext {
            tentative_output: self.structured_output.clone(),
            output: self.output.clone(),
            plan: self.plan.clone(),
            messages: self.messages.clone(),
            usage: self.usage,
            background_tasks: self.background_tasks.clone(),
            stop_reason: self.stop_reason.clone(),
            prompt: self.prompt.clone(),
            ..SessionContext::default()
        }
    }
}

/// The state of the fold.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionFold {
    /// The fields of the summary that its events report.
    pub reported: SessionSummary,
    pub figures: UsageSums,
    pub todo: TodoList,
    /// Tokens of sessions before this run, by their ids.
    pub earlier: HashMap<String, TokenCounts>,
    last_text: Option<String>,
    /// The message that `said` belongs to.
    saying: Option<String>,
    messages: VecDeque<ContextMessage>,
    message_bytes: usize,
    background: Vec<Value>,
    /// Calls without an answer: id, tool, and the tool with its target.
    calls: VecDeque<(String, String, String)>,
    /// Commands that began and have not ended, by id, as background tasks.
    commands: VecDeque<(String, Value)>,
    /// The events since they were last taken; without it, the caller does not ask for them.
    recorded: Option<Vec<SessionEvent>>,
}

impl SessionFold {
    /// A fold that also records what happens, for [`SessionFold::take_events`].
    pub fn recording() -> Self {
        SessionFold {
            recorded: Some(Vec::new()),
            ..SessionFold::default()
        }
    }

    /// Returns the events since the last call.
    pub fn take_events(&mut self) -> Vec<SessionEvent> {
        self.recorded
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Something happened that only a record of everything has.
    pub fn note(&mut self, event: impl FnOnce() -> SessionEvent) {
        if let Some(recorded) = &mut self.recorded {
            recorded.push(event());
        }
    }

    /// The program named its session.
    pub fn session(&mut self, id: Option<&str>) {
        if let Some(id) =
            id.filter(|id| is_session_id(id) && self.reported.session_id.as_deref() != Some(id))
        {
            self.reported.session_id = Some(id.to_owned());
            if let Some(earlier) = self.earlier.get(id) {
                self.figures.continues(*earlier);
            }
            self.note(|| SessionEvent::Named {
                session_id: id.to_owned(),
            });
        }
    }

    /// Something went wrong, which the session may survive.
    pub fn fails(&mut self, message: String, status: Option<u64>) {
        (self.reported.error, self.reported.error_status) = (Some(message), status);
    }

    /// The session went on, or ended well: no earlier error counts.
    pub fn recovers(&mut self) {
        (self.reported.error, self.reported.error_status) = (None, None);
    }

    /// The program asks the agent's service again.
    pub fn retries_for(&mut self, why: String) {
        self.reported.retries += 1;
        self.note(|| SessionEvent::Retried { why: why.clone() });
        self.reported.last_retry = Some(why);
    }

    /// The agent said something, in the message of this name where messages have names.
    pub fn says(&mut self, text: &str, message: Option<&str>) {
        if text.is_empty() {
            return;
        }
        self.note(|| SessionEvent::Said {
            text: text.to_owned(),
        });
        self.keep_said(text, message);
    }

    fn keep_said(&mut self, text: &str, message: Option<&str>) {
        let goes_on = message.is_some() && self.saying.as_deref() == message;
        match &mut self.last_text {
            Some(text_so_far) if goes_on => {
                text_so_far.push('\n');
                text_so_far.push_str(text);
                if text_so_far.len() > OUTPUT {
                    *text_so_far = cut_middle(text_so_far, OUTPUT);
                }
            }
            said => *said = Some(cut_middle(text, OUTPUT)),
        }
        self.saying = message.map(|id| cut_middle(id, 100));
        self.keep(ContextMessage {
            role: "assistant".into(),
            text: Some(cut_middle(text, MESSAGE)),
            tool_result: None,
        });
    }

    /// A part of the agent's text, as it arrives.
    pub fn says_more(&mut self, part: &str) {
        const STREAMED: &str = "streamed";
        if part.is_empty() {
            return;
        }
        if self.saying.as_deref() != Some(STREAMED) {
            self.note(|| SessionEvent::Said {
                text: part.to_owned(),
            });
            self.keep_said(part, Some(STREAMED));
            return;
        }
        self.note(|| SessionEvent::SaidPart {
            text: part.to_owned(),
        });
        let text_so_far = self.last_text.get_or_insert_default();
        text_so_far.push_str(part);
        // Cut seldom, so that a long text does not cost its length for each part of it.
        if text_so_far.len() > 2 * OUTPUT {
            *text_so_far = cut_middle(text_so_far, OUTPUT);
        }
        if let Some(last) = self
            .messages
            .back_mut()
            .filter(|last| last.role == "assistant")
            && let Some(text) = &mut last.text
            && text.len() < MESSAGE
        {
            self.message_bytes += part.len();
            text.push_str(part);
        }
    }

    /// The agent's text is complete; further text is another one.
    pub fn said_it(&mut self) {
        self.saying = None;
    }

    /// The last text as the program itself gives it.
    pub fn answers(&mut self, text: &str) {
        if !text.trim().is_empty() {
            let text_so_far = self.last_text.as_deref().unwrap_or_default().trim_end();
            if self.recorded.is_some() && !text_so_far.ends_with(cut_middle(text, OUTPUT).trim()) {
                self.note(|| SessionEvent::Said {
                    text: text.to_owned(),
                });
            }
            self.last_text = Some(cut_middle(text, OUTPUT));
        }
        self.saying = None;
    }

    /// A message from anyone but the agent.
    pub fn add_message(&mut self, role: &str, text: &str) {
        self.saying = None;
        if !text.is_empty() {
            self.note(|| SessionEvent::Message {
                role: role.into(),
                text: text.to_owned(),
            });
            self.keep(ContextMessage {
                role: role.into(),
                text: Some(cut_middle(text, MESSAGE)),
                tool_result: None,
            });
        }
    }

    /// The agent called a tool.
    pub fn calls(&mut self, id: &str, tool: &str, input: &Value) {
        self.saying = None;
        self.note(|| SessionEvent::Called {
            tool: cut_middle(tool, 100),
            input: input_summary(input),
        });
        self.todo.record_call(id, tool, input);
        if self.calls.len() == CALLS {
            self.calls.pop_front();
        }
        let words = format!("{tool} {}", input_summary(input));
        let shown = cut_middle(words.trim(), SHOWN_CALL);
        self.calls
            .push_back((cut_middle(id, 100), cut_middle(tool, 100), shown));
    }

    /// The program refused the agent a call of this tool for want of a permission.
    pub fn refuses(&mut self, tool: &str) {
        self.refuses_for(tool, RefusalCause::Permission);
    }

    /// The program refused the agent a call of this tool.
    pub fn refuses_for(&mut self, tool: &str, cause: RefusalCause) {
        let refused = RefusedTool {
            tool: cut_middle(tool, 100),
            cause,
        };
        if self.reported.refused_tools.len() < REFUSED
            && !tool.is_empty()
            && !self.reported.refused_tools.contains(&refused)
        {
            self.note(|| SessionEvent::Refused {
                tool: refused.tool.clone(),
            });
            self.reported.refused_tools.push(refused);
        }
    }

    /// The program refused the agent the call of this id.
    pub fn refuses_call(&mut self, id: &str, cause: RefusalCause) {
        let tool = self
            .calls
            .iter()
            .find(|(call, ..)| call == id)
            .map(|(_, tool, _)| tool.clone());
        self.refuses_for(tool.as_deref().unwrap_or("a tool"), cause);
    }

    /// Whether this call was seen, and no answer to it.
    pub fn waits_for(&self, id: &str) -> bool {
        self.calls.iter().any(|(call, ..)| call == id)
    }

    /// A command of the agent began, which may outlive its turn; `task` is what it then is.
    pub fn begins_command(&mut self, id: &str, task: Value) {
        if self.commands.len() < CALLS && !self.commands.iter().any(|(known, _)| known == id) {
            self.commands.push_back((cut_middle(id, 100), task));
        }
    }

    /// The turn is over: commands that have not ended run in the background.
    pub fn leaves_commands(&mut self) {
        for (_, task) in std::mem::take(&mut self.commands) {
            self.runs_too(task);
        }
    }

    /// A tool gave its result. `told` is the program's further data about it, beside its text.
    pub fn returns(&mut self, id: &str, content: &str, is_error: bool, reported: Option<&Value>) {
        self.todo.record_result(id, is_error, content, reported);
        self.commands.retain(|(command, _)| command != id);
        let at = self.calls.iter().position(|(call, ..)| call == id);
        let name = at
            .and_then(|at| self.calls.remove(at))
            .map(|(_, name, _)| name);
        self.note(|| SessionEvent::Returned {
            tool: name.clone(),
            content: content.to_owned(),
            is_error,
        });
        let result = ToolResult {
            id: Some(cut_middle(id, 100)),
            name,
            content: cut_middle(content, MESSAGE),
            is_error,
        };
        self.keep(ContextMessage {
            role: "tool".into(),
            text: None,
            tool_result: Some(result),
        });
    }

    fn keep(&mut self, message: ContextMessage) {
        self.message_bytes += count_message_bytes(&message);
        self.messages.push_back(message);
        while self.messages.len() > MESSAGES
            || (self.message_bytes > MESSAGE_BYTES && self.messages.len() > 1)
        {
            let old = self.messages.pop_front();
            self.message_bytes = self
                .message_bytes
                .saturating_sub(old.as_ref().map_or(0, count_message_bytes));
        }
    }

    /// These run in the background, and no others.
    pub fn runs(&mut self, tasks: impl Iterator<Item = Value>) {
        let now: Vec<Value> = tasks.take(TASKS).collect();
        let before = std::mem::replace(&mut self.background, now);
        if self.recorded.is_some() {
            let is_among = |task: &Value, all: &[Value]| {
                all.iter()
                    .any(|listed_task| listed_task.get("id") == task.get("id"))
            };
            let ended = before
                .iter()
                .filter(|task| !is_among(task, &self.background))
                .map(|task| SessionEvent::TaskEnded {
                    what: name_of(task),
                });
            let begun = self
                .background
                .iter()
                .filter(|task| !is_among(task, &before))
                .map(|task| SessionEvent::TaskBegan {
                    what: name_of(task),
                });
            let changes: Vec<SessionEvent> = ended.chain(begun).collect();
            self.recorded.get_or_insert_default().extend(changes);
        }
    }

    /// This runs in the background as well.
    pub fn runs_too(&mut self, task: Value) {
        if self.background.len() < TASKS
            && !self
                .background
                .iter()
                .any(|listed_task| listed_task.get("id") == task.get("id"))
        {
            self.note(|| SessionEvent::TaskBegan {
                what: name_of(&task),
            });
            self.background.push(task);
        }
    }

    /// A background task ended.
    pub fn ran(&mut self, id: &str) {
        let is_it = |task: &Value| get_text(task, "id") == Some(id);
        if let Some(ended) = self
            .background
            .iter()
            .find(|task| is_it(task))
            .filter(|_| self.recorded.is_some())
        {
            let what = name_of(ended);
            self.note(|| SessionEvent::TaskEnded { what });
        }
        self.background.retain(|task| !is_it(task));
    }

    /// How many background tasks run.
    pub fn running(&self) -> usize {
        self.background.len()
    }

    /// The last text so far.
    pub fn last_text(&self) -> Option<&str> {
        self.last_text.as_deref()
    }

    /// The program's own name for the session.
    pub fn session_id(&self) -> Option<&str> {
        self.reported.session_id.as_deref()
    }

    /// Tools that were called and have not answered yet.
    pub fn list_open_calls(&self) -> Vec<String> {
        self.calls.iter().map(|(_, tool, _)| tool.clone()).collect()
    }

    /// The last of them with its target, in one line.
    pub fn describe_open_call(&self) -> String {
        let last = self.calls.back().map(|(.., shown)| shown.clone());
        last.unwrap_or_default()
    }

    /// The turn is over: no call is answered any more.
    pub fn is_over(&mut self) {
        self.calls.clear();
    }

    /// All of it.
    pub fn summary(&self) -> SessionSummary {
        let dialect = self.reported.dialect;
        SessionSummary {
            structured: true,
            expects_end: dialect.is_some_and(StreamDialect::always_reports_its_end),
            prints_retries: dialect.is_some_and(StreamDialect::reports_retries),
            session_tokens: self.figures.session_total(),
            usage: self.figures.usage(),
            session_cost_usd: self.figures.session_cost(),
            cost_is_of_the_session: self.figures.cost_is_of_the_session(),
            output: self
                .last_text
                .as_deref()
                .map(|last_text| cut_middle(last_text, OUTPUT)),
            plan: self.todo.plan(),
            messages: self.messages.iter().cloned().collect(),
            background_tasks: self.background.clone(),
            unanswered: self.list_open_calls(),
            ..self.reported.clone()
        }
    }
}

/// A background task in a few words.
fn name_of(task: &Value) -> String {
    let words = ["description", "type", "id"]
        .into_iter()
        .find_map(|key| get_text(task, key).filter(|word| !word.is_empty()));
    cut_middle(words.unwrap_or("a task"), 500)
}

fn count_message_bytes(message: &ContextMessage) -> usize {
    message.text.as_ref().map_or(0, String::len)
        + message
            .tool_result
            .as_ref()
            .map_or(0, |result| result.content.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_messages_are_kept_within_bounds() {
        let mut gathered = SessionFold::default();
        for at in 0..2000 {
            gathered.add_message("user", &format!("{at} {}", "x".repeat(40_000)));
            gathered.says_more(&"y".repeat(10_000));
        }
        let reported = gathered.summary();
        let bytes: usize = reported.messages.iter().map(count_message_bytes).sum();
        assert!(
            bytes <= MESSAGE_BYTES && reported.messages.len() <= MESSAGES,
            "{bytes}"
        );
        assert!(reported.messages.iter().any(|message| {
            message
                .text
                .as_deref()
                .is_some_and(|text| text.starts_with("1999 "))
        }));
    }

    #[test]
    fn a_text_in_parts_is_one_text() {
        let mut gathered = SessionFold::default();
        gathered.says_more("al");
        gathered.says_more("l done");
        assert_eq!(gathered.last_text(), Some("all done"));
        gathered.said_it();
        gathered.says_more("next");
        assert_eq!(gathered.last_text(), Some("next"));
        assert_eq!(gathered.summary().messages.len(), 2);
    }
}
