//! From the configuration to checks. An unknown type never gets here: reading the configuration names the nearest one.

use crate::config::settings::{CheckSpec, Criterion};

use super::always::Always;
use super::check::CompletionCheck;
use super::command::CommandCheck;
use super::files::FilesCheck;
use super::git::GitCheck;
use super::group::{CheckTree, Cost};
use super::not_yet::NotYet;

/// The check or group that an entry of the configuration asks for.
pub fn build(spec: &CheckSpec) -> CheckTree {
    match spec {
        CheckSpec::Group { mode, checks } => CheckTree::Group { mode: *mode, members: checks.iter().map(build).collect() },
        CheckSpec::Single { name, criterion } => {
            let (cost, check) = single(criterion);
            CheckTree::Single { name: name.clone(), kind: criterion.kind().to_owned(), cost, check }
        }
    }
}

fn single(criterion: &Criterion) -> (Cost, Box<dyn CompletionCheck>) {
    match criterion {
        Criterion::Command(command) => (Cost::Dear, Box::new(CommandCheck::new(command.clone()))),
        Criterion::Git { min_commits, require_clean } => {
            (Cost::Cheap, Box::new(GitCheck { min_commits: *min_commits, require_clean: *require_clean }))
        }
        Criterion::Files { paths } => (Cost::Cheap, Box::new(FilesCheck::new(paths.clone()))),
        Criterion::Always => (Cost::Vacuous, Box::new(Always)),
        // Known without looking, and it spares the dear ones where all must pass.
        Criterion::NotYet { kind, .. } => (Cost::Cheap, Box::new(NotYet::new(kind.clone()))),
    }
}
