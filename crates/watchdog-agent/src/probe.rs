//! A probe: asks an agent about its own state, and classifies the result.
//!
//! The rules, in this order
//! 1. Its deadline passed: `timed_out`, whatever it printed before.
//! 2. It ended well and printed a usable reply: that is the answer, if the expected session gave it.
//! 3. It failed (another exit than 0, or its envelope says error): never an answer, even with a reply in its output;
//!    the text of the error says which failure.
//!
//! Agents answer `--continue` from a fresh session where there is nothing to continue. So without a known session an agent is only
//! probed if a session was recorded beforehand, and where answers name their session, that one must answer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::envelope::{self, ReplyEnvelope};
use super::failure;
use super::preset::AgentPreset;
use super::preset::question::{
    InvocationInputs, ProbeInvocation, QuestionKind, QuestionPlaces, build_invocation,
};
use super::question_scratch::QuestionScratch;
use super::reply::{self, ParsedReply};
use super::session_id::is_session_id;
use super::stream::{StreamFormat, StreamReader, StreamTap, TokenCounts};
use watchdog_core::config::settings::AgentSettings;
use watchdog_facts::display::cut_text;
use watchdog_facts::evidence::{ProbeOutcome, ProcessExit, Reply, ReplyStatus};
use watchdog_facts::verdict::ProbeUsage;
use watchdog_process::OutputReader as _;
use watchdog_process::ProgramPurpose;
use watchdog_process::plain_text::plain_text;
use watchdog_process::program::{FinishedProgram, ProgramRun, StartError};

/// Between TERM and KILL once the deadline passed.
const GRACE: Duration = Duration::from_secs(3);
/// How many bytes of each stream are kept; the tail holds every envelope that [`envelope::read`] parses.
const KEEP: usize = 4 * 1024 * 1024;
/// Bytes of an explanation that are kept.
const WHY: usize = 4096;
/// Options that an old version may lack before we give up.
const FEWER_OPTIONS: usize = 4;

/// A question to an agent.
#[derive(Debug, Clone)]
pub struct ProbeRequest<'a> {
    /// Whom to ask.
    pub settings: &'a AgentSettings,
    /// The agent's preset, or why there is none; ignored for a configured `agent.probe`.
    pub preset: Result<Arc<AgentPreset>, String>,
    /// Another file than the preset's own name in `PATH`; ignored for a configured `agent.probe`.
    pub program: Option<OsString>,
    /// The worktree that it runs in.
    pub worktree: &'a Path,
    /// The session that worked here, where it is known from its output or a hook.
    pub session_id: Option<&'a str>,
    /// The latest session recorded for the worktree ([`super::transcript::latest_session`]).
    pub expected_session: Option<String>,
    /// The known facts of the session that is asked.
    pub probed: ProbeSubject,
    /// Which probe it is, from 1.
    pub number: u32,
    /// The question ([`super::prompt::probe_prompt`]).
    pub prompt: String,
    /// How long it may take.
    pub timeout: Duration,
    /// The instant of asking.
    pub now: Timestamp,
}

/// The known facts of a session before it is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeSubject {
    /// Its transcript.
    pub transcript: Option<PathBuf>,
    /// The tokens that it had spent when it ended, as its program reported them. Programs that report a whole session in the answer to a
    /// question report these with it.
    pub tokens: Option<TokenCounts>,
}

impl ProbeRequest<'_> {
    /// The preset that is asked; `None` where a configured program is.
    fn questioned_preset(&self) -> Option<&AgentPreset> {
        self.preset
            .as_deref()
            .ok()
            .filter(|_| self.settings.probe.is_none())
    }

    /// The session that the question names. If it cannot go to the latest one, it goes to the one
    /// that is expected.
    fn named_session(&self) -> Option<&str> {
        let question = self
            .questioned_preset()
            .and_then(|preset| preset.question.as_ref());
        let by_guess = question.is_none_or(|question| question.latest.is_some());
        self.session_id
            .filter(|id| is_session_id(id))
            .or(self.expected_session.as_deref().filter(|_| !by_guess))
    }

    /// The session that has to answer, if it is known.
    fn session(&self) -> Option<&str> {
        self.session_id
            .filter(|id| is_session_id(id))
            .or(self.expected_session.as_deref())
    }
}

/// The result of a probe.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeAnswer {
    /// The answer, or why there is none.
    pub outcome: ProbeOutcome,
    /// The session that answered, where its output names it.
    pub session_id: Option<String>,
    /// The cost of the probe.
    pub usage: ProbeUsage,
    /// US dollars of the complete session, where the agent reports those and not the cost of this probe.
    pub session_cost_usd: Option<f64>,
}

/// Asks once, by a function that runs a program. Blocks until the agent answered, failed, or its deadline passed.
pub fn ask_with(
    request: &ProbeRequest<'_>,
    run: &dyn Fn(&ProgramRun) -> Result<FinishedProgram, StartError>,
) -> ProbeAnswer {
    match send_question(request, QuestionKind::Probe, run) {
        Ok(answered) => {
            let (session_id, usage, session_cost_usd) =
                summarize_answer(request, request.probed.tokens, &answered);
            ProbeAnswer {
                outcome: judge_outcome(request, &answered, read_answer),
                session_id,
                usage,
                session_cost_usd,
            }
        }
        Err(unanswered) => ProbeAnswer::without_probe(*unanswered),
    }
}

impl ProbeAnswer {
    /// An outcome without a probe.
    pub fn without_probe(outcome: ProbeOutcome) -> Self {
        ProbeAnswer {
            outcome,
            session_id: None,
            usage: ProbeUsage::default(),
            session_cost_usd: None,
        }
    }
}

/// The answering session, and the cost of the probe. Agents report the total of a resumed session, or of the one that they forked; if
/// the part of this probe is not separate, and what the session had spent before is unknown, its cost is unknown.
fn summarize_answer(
    request: &ProbeRequest<'_>,
    before: Option<TokenCounts>,
    answered: &FinishedQuestion,
) -> (Option<String>, ProbeUsage, Option<f64>) {
    let output = StreamTap::of_preset(
        request
            .questioned_preset()
            .and_then(|preset| preset.stream.as_ref()),
    );
    output.push(&answered.finished.stdout.bytes);
    let summary = output.finish();
    let own = match summary.session_tokens {
        Some(total) => before
            .map(|before| total.beyond(before))
            .map(|own| (Some(own.input), Some(own.output)))
            .unwrap_or_default(),
        None => (summary.usage.input_tokens, summary.usage.output_tokens),
    };
    let usage = ProbeUsage {
        requests: 1,
        input_tokens: own.0,
        output_tokens: own.1,
        cost_usd: summary
            .usage
            .cost_usd
            .filter(|_| !summary.cost_is_of_the_session),
    };
    let named = envelope::read_envelope(&answered.finished.stdout.bytes)
        .and_then(|reply_envelope| reply_envelope.session_id);
    let session_cost = summary
        .session_cost_usd
        .filter(|_| summary.cost_is_of_the_session);
    (
        named.or(summary.session_id).filter(|id| is_session_id(id)),
        usage,
        session_cost,
    )
}

/// Asks for a plan of commits with the same restrictions; `number` counts the attempts. Does not check the answer: it is an object with
/// `commits` in it. Adds the cost to `spent`. Returns a failure like that of a probe, never [`ProbeOutcome::Reply`].
///
/// # Errors
/// The outcome without such an object.
pub fn ask_for_plan(
    request: &ProbeRequest<'_>,
    run: &dyn Fn(&ProgramRun) -> Result<FinishedProgram, StartError>,
    spent: &mut ProbeUsage,
) -> Result<Map<String, Value>, Box<ProbeOutcome>> {
    let answered = send_question(request, QuestionKind::Plan, run)?;
    *spent = spent.plus(summarize_answer(request, request.probed.tokens, &answered).1);
    take_answer(request, &answered, |reply_envelope, stdout, now| {
        reply::object_with("commits", reply_envelope.as_ref(), stdout).map_err(|reading| {
            Box::new(classify_unusable_answer(
                *reading,
                reply_envelope,
                stdout,
                now,
            ))
        })
    })
}

/// Judges a finished program like a probe's, for an answer that is no reply.
fn take_answer<T>(
    request: &ProbeRequest<'_>,
    answered: &FinishedQuestion,
    read: impl FnOnce(Option<ReplyEnvelope>, &[u8], Timestamp) -> Result<T, Box<ProbeOutcome>>,
) -> Result<T, Box<ProbeOutcome>> {
    let mut usable = None;
    let judged = judge_outcome(request, answered, |reply_envelope, stdout, now| {
        match read(reply_envelope, stdout, now) {
            Ok(answer) => {
                usable = Some(answer);
                // A placeholder for "usable" until the answering session is checked.
                ProbeOutcome::Reply(Reply::bare(ReplyStatus::Complete))
            }
            Err(outcome) => *outcome,
        }
    });
    match (judged, usable) {
        (ProbeOutcome::Reply(_), usable) => usable.ok_or_else(|| Box::new(ProbeOutcome::Empty)),
        (other, _) => Err(Box::new(other)),
    }
}

/// Asks for an answer in prose to a question that says everything, of somebody who was not here before: no session is resumed, whatever
/// the request names. Adds its cost to `spent`.
///
/// # Errors
/// How the question ended without an answer; never [`ProbeOutcome::Reply`].
pub fn ask_to_judge(
    request: &ProbeRequest<'_>,
    run: &dyn Fn(&ProgramRun) -> Result<FinishedProgram, StartError>,
    spent: &mut ProbeUsage,
) -> Result<String, Box<ProbeOutcome>> {
    let stranger_is_welcome = ProbeRequest {
        session_id: None,
        expected_session: None,
        ..request.clone()
    };
    let answered = send_question(&stranger_is_welcome, QuestionKind::Judge, run)?;
    // A session that began for this question had no cost before.
    *spent = spent.plus(summarize_answer(request, Some(TokenCounts::default()), &answered).1);
    take_answer(
        &stranger_is_welcome,
        &answered,
        |reply_envelope, stdout, now| {
            let answer_text = read_text(reply_envelope, stdout);
            // A word about a usage limit in the place of an answer.
            match failure::of_short_answer(&answer_text, now) {
                _ if answer_text.trim().is_empty() => Err(Box::new(ProbeOutcome::Empty)),
                Some(failure) => Err(Box::new(failure)),
                None => Ok(answer_text),
            }
        },
    )
}

/// A program that ended by itself, or at its deadline, after a question.
struct FinishedQuestion {
    finished: FinishedProgram,
    stderr: String,
    /// Over all attempts.
    spent: Duration,
    /// Whether it ran in a home of its own, whose login says nothing about the user's.
    own_home: bool,
}

/// Puts a question, with fewer options where an old version lacks some.
fn send_question(
    request: &ProbeRequest<'_>,
    question: QuestionKind,
    run: &dyn Fn(&ProgramRun) -> Result<FinishedProgram, StartError>,
) -> Result<FinishedQuestion, Box<ProbeOutcome>> {
    if let Err(why) = request.preset.as_ref().map_err(Clone::clone)
        && request.settings.probe.is_none()
    {
        return Err(Box::new(ProbeOutcome::NoConversation { why }));
    }
    // The latest session is asked where it is recorded: an agent answers from a new one where there is nothing to go on with.
    let unrecorded = question != QuestionKind::Judge
        && request.questioned_preset().is_some()
        && request.session().is_none();
    let question_template = request
        .questioned_preset()
        .and_then(|preset| preset.question.as_ref());
    let is_known = question == QuestionKind::Judge || request.named_session().is_some();
    let scratch = match question_template.filter(|_| is_known || !unrecorded) {
        Some(template) => match QuestionScratch::prepare(template, question, request.worktree) {
            Ok(scratch) => scratch,
            Err(why) => return Err(Box::new(ProbeOutcome::NoConversation { why })),
        },
        None => None,
    };
    let transcript = request.probed.transcript.as_deref();
    let places = QuestionPlaces {
        transcript,
        ..scratch
            .as_ref()
            .map(|scratch| scratch.places(transcript))
            .unwrap_or_default()
    };
    let built = build_invocation(&InvocationInputs {
        settings: request.settings,
        preset: request.questioned_preset(),
        program: request.program.clone(),
        session_id: request.named_session(),
        question,
        number: request.number,
        prompt: &request.prompt,
        timeout: request.timeout,
        places,
    });
    let title = || {
        request
            .questioned_preset()
            .map_or("the agent", |preset| &preset.title)
    };
    let unaskable = match &built {
        Err(unaskable) if !unrecorded || !unaskable.is_for_want_of_a_session() => {
            Some(unaskable.to_string())
        }
        _ if unrecorded => Some(format!(
            "no session of {} is recorded for {}",
            title(),
            request.worktree.display()
        )),
        _ => None,
    };
    let mut invocation = match (built, unaskable) {
        (Ok(invocation), None) => invocation,
        (_, why) => {
            // A missing program is the better reason: installing it is what helps.
            let usual = request
                .questioned_preset()
                .map_or_else(OsString::new, |preset| preset.program.as_str().into());
            let name = request.program.clone().unwrap_or(usual);
            let version = ProgramRun {
                deadline: request.timeout,
                ..ProgramRun::new([name, "--version".into()], request.worktree)
            };
            if let Err(error) = run(&version) {
                return Err(Box::new(not_started(request, &error)));
            }
            return Err(Box::new(ProbeOutcome::NoConversation {
                why: why.unwrap_or_default(),
            }));
        }
    };
    let mut spent = Duration::ZERO;
    for _ in 0..=FEWER_OPTIONS {
        let cwd = scratch.as_ref().and_then(QuestionScratch::cwd);
        let finished = match run(&build_program_run(
            request,
            &invocation,
            cwd,
            request.timeout.saturating_sub(spent),
        )) {
            Ok(finished) => finished,
            Err(error) => return Err(Box::new(not_started(request, &error))),
        };
        spent += finished.duration;
        let stderr = plain_text(&finished.stderr.bytes).text;
        let failed = !finished.exit.success() && request.settings.probe.is_none();
        let schema = question_template
            .and_then(|question| question.schema.as_ref()?.first())
            .map(String::as_str);
        if let Some(fewer) = schema
            .filter(|_| failed && refuses_a_schema(&finished, &stderr))
            .and_then(|option| invocation.without(option))
        {
            invocation = fewer;
            continue;
        }
        match failure::unknown_option(&stderr).filter(|_| failed) {
            None => {
                return Ok(FinishedQuestion {
                    finished,
                    stderr,
                    spent,
                    own_home: scratch.is_some_and(|scratch| scratch.cwd().is_some()),
                });
            }
            Some(option) => match invocation.without(option) {
                Some(fewer) => invocation = fewer,
                None => {
                    let name = invocation.argv()[0].to_string_lossy().into_owned();
                    let why = format!(
                        "this version of '{name}' does not know {option}, without which a probe could do harm; update it"
                    );
                    return Err(Box::new(ProbeOutcome::Failed { why }));
                }
            },
        }
    }
    Err(Box::new(ProbeOutcome::Failed {
        why: "the agent's program knows too few of the options that a probe needs; update it"
            .into(),
    }))
}

/// Whether the service takes no schema of an answer, or not this one: then the question is put without it.
fn refuses_a_schema(finished: &FinishedProgram, stderr: &str) -> bool {
    const NAMES: [&str; 4] = [
        "response_format",
        "text.format",
        "json_schema",
        "output schema",
    ];
    let printed = plain_text(&finished.stdout.bytes).text;
    [printed.as_str(), stderr]
        .into_iter()
        .any(|text| NAMES.into_iter().any(|name| text.contains(name)))
}

fn build_program_run(
    request: &ProbeRequest<'_>,
    invocation: &ProbeInvocation,
    cwd: Option<PathBuf>,
    deadline: Duration,
) -> ProgramRun {
    let cwd = cwd.unwrap_or_else(|| request.worktree.to_owned());
    ProgramRun {
        env: invocation.env.clone(),
        stdin: invocation.stdin.clone(),
        deadline,
        grace: GRACE,
        keep: KEEP,
        purpose: ProgramPurpose::Agent,
        ..ProgramRun::new(invocation.argv(), cwd)
    }
}

fn not_started(request: &ProbeRequest<'_>, error: &StartError) -> ProbeOutcome {
    let why = error.to_string();
    let not_there = match error {
        StartError::NotRunnable { .. } => true,
        StartError::Shortage { .. } => false,
        StartError::System { source, .. } => {
            use std::io::ErrorKind::{NotFound, PermissionDenied};
            // A worktree that is gone gives the same error as a program that is.
            matches!(source.kind(), NotFound | PermissionDenied) && request.worktree.is_dir()
        }
    };
    if not_there {
        ProbeOutcome::NotInstalled { why }
    } else {
        ProbeOutcome::Failed { why }
    }
}

/// Judges a finished program; `read` parses the output of a successful one.
fn judge_outcome(
    request: &ProbeRequest<'_>,
    answered: &FinishedQuestion,
    read: impl FnOnce(Option<ReplyEnvelope>, &[u8], Timestamp) -> ProbeOutcome,
) -> ProbeOutcome {
    match classify_outcome(request, answered, read) {
        // The user's own home may well be logged in.
        ProbeOutcome::NotLoggedIn { why } if answered.own_home => ProbeOutcome::NoConversation {
            why: format!(
                "the question was put in a home of its own, which is not logged in: {why}"
            ),
        },
        outcome => outcome,
    }
}

fn classify_outcome(
    request: &ProbeRequest<'_>,
    answered: &FinishedQuestion,
    read: impl FnOnce(Option<ReplyEnvelope>, &[u8], Timestamp) -> ProbeOutcome,
) -> ProbeOutcome {
    let FinishedQuestion {
        finished,
        stderr,
        spent,
        ..
    } = answered;
    if finished.timed_out {
        return ProbeOutcome::TimedOut;
    }
    // "In 5 minutes" counts from when it was said.
    let now = request
        .now
        .saturating_add(SignedDuration::try_from(*spent).unwrap_or_default())
        .unwrap_or(request.now);
    let reply_envelope = found_in(request, finished);
    if let Some(error_envelope) = reply_envelope
        .as_ref()
        .filter(|candidate| candidate.is_error)
    {
        return match failure::of_envelope(error_envelope, now) {
            ProbeOutcome::Failed { why } => build_failure(finished.exit, &[&why, stderr]),
            other => other,
        };
    }
    if !finished.exit.success() {
        let printed = plain_text(&finished.stdout.bytes).text;
        return classify_failed_program(request, finished.exit, &printed, stderr, now);
    }
    let stranger = reject_other_session(request, reply_envelope.as_ref());
    match read(reply_envelope, &finished.stdout.bytes, now) {
        ProbeOutcome::Reply(reply) => stranger.unwrap_or(ProbeOutcome::Reply(reply)),
        other => other,
    }
}

/// Finds the agent's reply in its own structure: by the rules of its preset, or as a known program;
/// an error may be on stderr alone.
fn found_in(request: &ProbeRequest<'_>, finished: &FinishedProgram) -> Option<ReplyEnvelope> {
    let stdout = &finished.stdout.bytes;
    match request
        .questioned_preset()
        .and_then(|preset| preset.stream.as_ref())
    {
        Some(format @ StreamFormat::Rules(_)) => {
            let mut reader = StreamReader::with_format(format);
            reader.push(stdout);
            ReplyEnvelope::of_summary(&reader.finish())
        }
        _ if stdout.trim_ascii().is_empty() => envelope::error_at_the_end(&finished.stderr.bytes),
        _ => envelope::read_envelope(stdout),
    }
}

/// Parses the output of a successful agent, as a probe would: for output that exists already.
pub fn read_output(stdout: &[u8], now: Timestamp) -> ProbeOutcome {
    match envelope::read_envelope(stdout) {
        Some(error_envelope) if error_envelope.is_error => {
            failure::of_envelope(&error_envelope, now)
        }
        found => read_answer(found, stdout, now),
    }
}

fn read_answer(
    reply_envelope: Option<ReplyEnvelope>,
    stdout: &[u8],
    now: Timestamp,
) -> ProbeOutcome {
    let reading = match &reply_envelope {
        Some(structured) => reply::from_envelope(structured),
        None => reply::read_reply(stdout),
    };
    match reading {
        ParsedReply::Reply(reply) => ProbeOutcome::Reply(reply),
        other => classify_unusable_answer(other, reply_envelope, stdout, now),
    }
}

/// The text of an answer, in the agent's own structure or as it is printed.
fn read_text(reply_envelope: Option<ReplyEnvelope>, stdout: &[u8]) -> String {
    match reply_envelope {
        Some(structured) => structured.text.unwrap_or_default(),
        None => plain_text(stdout).text,
    }
}

/// An output without an answer: a short text may still contain the cause.
fn classify_unusable_answer(
    reading: ParsedReply,
    reply_envelope: Option<ReplyEnvelope>,
    stdout: &[u8],
    now: Timestamp,
) -> ProbeOutcome {
    match reading {
        ParsedReply::Reply(_) | ParsedReply::Empty => ProbeOutcome::Empty,
        ParsedReply::Unreadable { why } => {
            let answer_text = read_text(reply_envelope, stdout);
            failure::of_short_answer(&answer_text, now).unwrap_or(ProbeOutcome::Unreadable { why })
        }
    }
}

/// The outcome if another session answered than the expected one.
fn reject_other_session(
    request: &ProbeRequest<'_>,
    reply_envelope: Option<&ReplyEnvelope>,
) -> Option<ProbeOutcome> {
    let names_itself = request
        .questioned_preset()
        .and_then(|preset| preset.question.as_ref())
        .is_some_and(|question| question.answers_under_its_id);
    let expected = request.session().filter(|_| names_itself)?;
    let answered = reply_envelope?.session_id.as_deref()?;
    (answered != expected).then(|| ProbeOutcome::NoConversation {
        why: format!(
            "session {answered} answered, which is not {expected}: it knows nothing of the work"
        ),
    })
}

/// Judges a program that failed without an envelope.
fn classify_failed_program(
    request: &ProbeRequest<'_>,
    exit: ProcessExit,
    stdout: &str,
    stderr: &str,
    now: Timestamp,
) -> ProbeOutcome {
    // A shell's way to say that there is no such program, or that it may not be executed.
    if request.settings.probe.is_some() && matches!(exit, ProcessExit::Code(126 | 127)) {
        let ProbeOutcome::Failed { why } = build_failure(exit, &[stderr, stdout]) else {
            return ProbeOutcome::Empty;
        };
        return ProbeOutcome::NotInstalled { why };
    }
    [stderr, stdout]
        .into_iter()
        .find_map(|text| {
            failure::of_text(
                &text[text.ceil_char_boundary(text.len().saturating_sub(WHY))..],
                now,
            )
        })
        .unwrap_or_else(|| build_failure(exit, &[stderr, stdout]))
}

/// A failure of no known kind, with the exit and the end of the first text that says anything.
fn build_failure(exit: ProcessExit, texts: &[&str]) -> ProbeOutcome {
    let first_text = texts
        .iter()
        .map(|text| text.trim())
        .find(|text| !text.is_empty())
        .unwrap_or("it printed nothing");
    let tail =
        &first_text[first_text.ceil_char_boundary(first_text.len().saturating_sub(WHY - 100))..];
    ProbeOutcome::Failed {
        why: cut_text(
            &format!("the agent's program ended with {exit}: {tail}"),
            WHY,
        ),
    }
}
