//! A program of the user's as the judge: the prompt on its stdin, its answer on its stdout.

use crate::checks::{Capabilities as _, CommandRequest, CommandRun, JudgeAnswer, JudgeRequest};
use crate::config::settings::CommandLine;
use crate::decision::display::bounded;
use crate::decision::evidence::Exit;

use super::Outside;

/// Bytes of an answer that are looked at: its first line decides.
const ANSWER: usize = 64 << 10;

/// Asks the program once.
pub(super) fn ask(outside: &Outside<'_>, line: &CommandLine, request: &JudgeRequest<'_>) -> JudgeAnswer {
    let mut command = CommandRequest::new(line, request.timeout);
    command.stdin = request.prompt.as_bytes();
    match outside.run_command(&command) {
        CommandRun::Unrunnable { why } => JudgeAnswer::Unrunnable { why },
        CommandRun::TimedOut { .. } => JudgeAnswer::TimedOut,
        CommandRun::Finished { exit: exit @ Exit::Code(126 | 127), output } => {
            JudgeAnswer::Unrunnable { why: said(&format!("it ended with {exit}"), &output.stderr.tail) }
        }
        CommandRun::Finished { exit, output } if !exit.success() => {
            JudgeAnswer::Failed { why: said(&format!("it ended with {exit}"), &output.stderr.tail) }
        }
        CommandRun::Finished { output, .. } => {
            let mut bytes = output.stdout.head;
            if output.stdout.dropped == 0 {
                bytes.extend(output.stdout.tail);
            }
            bytes.truncate(ANSWER);
            JudgeAnswer::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}

fn said(how: &str, stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    match text.trim().lines().last() {
        Some(last) => format!("{how}: {}", bounded(last, 500)),
        None => how.to_owned(),
    }
}
