//! `watchdog fleet join` inside of a repository: proposes its id, and shares it on a person's word.

use crate::cli::failure::CommandFailure;
use crate::cli::prompts::{ask_confirmation, can_ask};
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::escape_to_one_line;
use watchdog_fleet::member::{
    FleetSetting, SharingProposal, keep_shared_repository, shared_repository, sharing_proposal,
};
use watchdog_fleet::wire::fleet_json::SharedRepository;
use watchdog_git::{Worktree, public_address};
use watchdog_judge::judge::command_env::CommandEnv;

/// A person's wish about sharing.
pub(super) struct SharingWish<'a> {
    /// `--repository`, and the id where one was given.
    pub repository: Option<Option<&'a str>>,
    /// `--remote`.
    pub remote: &'a str,
}

/// Shares the repository that the command is about, where there is one and the person wants it.
///
/// # Errors
/// Fails if the person asked for it and it cannot be shared.
pub(super) fn share_repository(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    wish: &SharingWish<'_>,
) -> Result<Option<SharedRepository>, CommandFailure> {
    let worktree = match Worktree::open(&command_env.worktree) {
        Ok(worktree) => worktree,
        Err(_) if wish.repository.is_none() => return Ok(None),
        Err(error) => {
            return Err(CommandFailure::usage(format!(
                "cannot share a repository: {error}"
            )));
        }
    };
    if FleetSetting::from_state_dir(&command_env.state)?.is_none() {
        let failure = CommandFailure::usage(
            "this machine is in no fleet, so that there is nobody to share with",
        );
        return Err(failure.hint("join one first: watchdog fleet join URL --name NAME"));
    }
    let local = worktree.repository_id();
    let proposal = sharing_proposal(&worktree, wish.remote);
    let id = match (wish.repository, &proposal) {
        (None, proposal) => {
            if let Some(shared) = shared_repository(&command_env.state, &local)? {
                return Ok(Some(shared));
            }
            let Some(SharingProposal { id: Some(id), url }) = proposal else {
                return Ok(None);
            };
            let question = format!(
                "Share the tasks of this repository as {id}, over {} ({})?",
                wish.remote,
                public_address(url)
            );
            let can_confirm = !terminal.json && can_ask();
            if !(can_confirm && ask_confirmation(&question, false).unwrap_or(false)) {
                terminal.tell(&format!("this repository is not shared; to share it as {id}: watchdog fleet join --repository"));
                return Ok(None);
            }
            id.clone()
        }
        (Some(_), None) => {
            let remote = escape_to_one_line(wish.remote);
            let failure = CommandFailure::usage(format!(
                "there is no remote '{remote}', over which work could travel"
            ));
            return Err(failure
                .hint("make one with git remote add, or name another one with --remote NAME"));
        }
        (Some(Some(id)), Some(_)) => id.to_owned(),
        (Some(None), Some(SharingProposal { id: Some(id), .. })) => id.clone(),
        (Some(None), Some(SharingProposal { id: None, .. })) => {
            let remote = escape_to_one_line(wish.remote);
            let failure = CommandFailure::usage(format!(
                "the address of remote '{remote}' names no host, so that it proposes no id"
            ));
            return Err(failure
                .hint("give the same id on every machine: watchdog fleet join --repository ID"));
        }
    };
    let Some(SharingProposal { url, .. }) = proposal else {
        return Ok(None);
    };
    let shared = SharedRepository {
        local,
        id,
        remote: wish.remote.to_owned(),
        url,
    };
    keep_shared_repository(&command_env.state, &shared)?;
    Ok(Some(shared))
}

/// A shared repository in words.
pub(super) fn in_words(shared: &SharedRepository) -> String {
    format!(
        "{} over {} ({})",
        shared.id,
        escape_to_one_line(&shared.remote),
        escape_to_one_line(&public_address(&shared.url))
    )
}
