//! The words and figures of a row, each fit for a terminal. Pure.

use super::live_data::{RowFacts, ShownFact};
use super::model::LiveModel;
use crate::amounts::format_age;
use crate::attention::{AttentionRank, assess_attention};
use crate::overview::StatusRow;
use crate::progress_text::{format_clock, format_dollars};
use crate::wrapped_text::below_home;
use watchdog_core::decision::breaker::BreakerState;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::verdict::Status;
use watchdog_judge::judge::live_session::SessionActivity;

/// Stands for what is not known, or not there.
const UNKNOWN: &str = "–";
/// Stands for what a machine of the fleet does not share.
const NOT_SHARED: &str = "·";
/// Stands for what could not be read.
const UNREADABLE: &str = "?";

/// The sign of a rank: what a row is about is never told by colour alone.
pub fn choose_sign(rank: AttentionRank) -> char {
    match rank {
        AttentionRank::Person => '!',
        AttentionRank::Resume => '~',
        AttentionRank::Running => '*',
        AttentionRank::Next => '-',
        AttentionRank::NotJudged => ' ',
        AttentionRank::Complete => '+',
        AttentionRank::Gone => 'x',
    }
}

/// The state in a word or two.
pub fn state_of(row: &StatusRow) -> String {
    if row.gone {
        "gone".into()
    } else if row.broken.is_some() {
        "broken".into()
    } else if row.silent().is_some() {
        "silent".into()
    } else if row.is_stalled() {
        "stalled".into()
    } else if row
        .live
        .is_some_and(|live| live.doing == SessionActivity::Waiting)
    {
        "waiting".into()
    } else if let Some(looped) = row.looped.as_ref().filter(|_| row.loops()) {
        let of = looped
            .at_most
            .map(|most| format!("/{most}"))
            .unwrap_or_default();
        format!("loop {}{of}", looped.iteration())
    } else if row.is_idle() && AttentionRank::from_row(row) == AttentionRank::Running {
        "idle".into()
    } else if row.session.is_some() && !row.is_idle() {
        "running".into()
    } else if row.holder.is_some() {
        "busy".into()
    } else if AttentionRank::from_row(row) == AttentionRank::Resume {
        "interrupted".into()
    } else {
        row.judged_status()
            .map_or("not judged", Status::as_str)
            .into()
    }
}

/// The path of its worktree, with `~` for the home folder.
pub fn worktree_text(model: &LiveModel, row: &StatusRow) -> String {
    let path = row.worktree.display().to_string();
    let short = model
        .home
        .as_deref()
        .and_then(|home| below_home(&path, home));
    escape_to_one_line(&short.unwrap_or(path))
}

/// How long its session has run.
pub fn session_text(model: &LiveModel, row: &StatusRow) -> String {
    row.session.as_ref().map_or_else(
        || UNKNOWN.into(),
        |session| format_clock(model.since(session.started_at)),
    )
}

/// How many commits came since the baseline.
pub fn commits_text(model: &LiveModel, row: &StatusRow) -> String {
    let facts = model.row_facts(row).filter(|_| !row.is_unrecorded);
    count_text(row, facts.map(|facts| &facts.commits))
}

/// How many paths are not committed.
pub fn unsaved_text(model: &LiveModel, row: &StatusRow) -> String {
    count_text(row, model.row_facts(row).map(|facts| &facts.unsaved))
}

fn count_text(row: &StatusRow, fact: Option<&ShownFact<u64>>) -> String {
    match fact {
        _ if row.machine.is_some() => NOT_SHARED.into(),
        Some(ShownFact::Known(count)) => count.to_string(),
        Some(ShownFact::Unreadable) => UNREADABLE.into(),
        Some(ShownFact::Unknown) | None => UNKNOWN.into(),
    }
}

/// Describes the cost of its loop and its session, as far as that was reported.
pub fn cost_text(model: &LiveModel, row: &StatusRow) -> String {
    if row.machine.is_some() {
        return NOT_SHARED.into();
    }
    let session = model.row_facts(row).map(|facts| &facts.cost);
    let looped = row
        .looped
        .as_ref()
        .map(|looped| looped.standing.spent.cost_usd)
        .filter(|spent| *spent > 0.0);
    match (session, looped) {
        (Some(ShownFact::Known(cost)), Some(spent)) if row.session.is_some() => {
            format_dollars(cost + spent)
        }
        (_, Some(spent)) => format_dollars(spent),
        (Some(ShownFact::Known(cost)), None) => format_dollars(*cost),
        (Some(ShownFact::Unreadable), None) => UNREADABLE.into(),
        _ => UNKNOWN.into(),
    }
}

/// Its breaker in few characters.
pub fn breaker_text(row: &StatusRow) -> String {
    let breaker = &row.breaker;
    match breaker.state {
        BreakerState::Open => "open".into(),
        BreakerState::HalfOpen => "trial".into(),
        BreakerState::Closed if breaker.strikes == 0 => "ok".into(),
        BreakerState::Closed => breaker.limit.map_or_else(
            || breaker.strikes.to_string(),
            |limit| format!("{}/{limit}", breaker.strikes),
        ),
    }
}

/// Returns the session's last line.
pub fn last_line_text(model: &LiveModel, row: &StatusRow) -> String {
    if row.machine.is_some() {
        return NOT_SHARED.into();
    }
    let facts = model.row_facts(row);
    facts.map_or_else(String::new, |facts| {
        escape_to_one_line(facts.last_line.trim())
    })
}

/// The agent of the session that runs, and the last change of the agent; `None` where neither is known.
fn agent_text(row: &StatusRow, facts: Option<&RowFacts>) -> Option<String> {
    let runs = row
        .session
        .as_ref()
        .and_then(|session| session.agent.as_ref())
        .map(|agent| format!("session of {agent}"));
    let change = facts.and_then(|facts| facts.agent_change.clone());
    let sentences = [runs, change]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ");
    (!sentences.is_empty()).then(|| escape_to_one_line(&sentences))
}

/// In sentences: what is known of a row beyond its cells, what needs a person first.
pub fn describe_row(model: &LiveModel, row: &StatusRow) -> Vec<String> {
    let row_attention = assess_attention(row, &model.commands, &model.now);
    let mut lines = Vec::new();
    if !row_attention.why.is_empty() {
        lines.push(row_attention.why);
    }
    if let Some(command) = row_attention.command {
        lines.push(format!("type: {command}"));
    }
    lines.extend(agent_text(row, model.row_facts(row)));
    if let Some(verdict) = row.last_judgement().filter(|_| !row.gone) {
        let reason = (verdict.view.reason.as_deref())
            .map(|reason| format!(" ({})", escape_to_one_line(reason)))
            .unwrap_or_default();
        let status = verdict.status.map_or("unknown", Status::as_str);
        lines.push(format!(
            "last verdict: {status}{reason}, {}",
            format_age(verdict.at, model.now.timestamp())
        ));
    }
    lines
}
