//! Finds what watchdog left of worktrees. Changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::hooks::settings_file::SettingsFile;
use crate::hooks::{HookDialect, hook_text};
use watchdog_git::{FoundWorktree, OwnRef, OwnRefKind, Worktree, WorktreeState, worktrees_of};
use watchdog_store::left_rows::{self, ForgottenOwners};
use watchdog_store::trust::TrustStore;
use watchdog_store::{LocalStore, RecordType, StoreError, baseline::BaselineRecord, figures};
use watchdog_system::read_entries;

use super::leftovers::{ForgetOptions, KeepReason, LeftoverKind, Leftovers, TargetWorktree};
use crate::judge::command_env::CommandEnv;
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::refusal::Refusal;

/// git appends a number to the name of a second worktree with the same folder name; so many are tried.
const NUMBERED: u32 = 20;

/// Finds the leftovers of an order's worktrees.
///
/// # Errors
/// Fails if the repository or the records cannot be read.
pub fn find_leftovers(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    options: &ForgetOptions,
) -> Result<Leftovers, Refusal> {
    let store = open.store.as_ref();
    let refs = open.worktree.own_refs()?;
    let known_worktrees = KnownWorktrees::from_worktree(open, &refs)?;
    let owners = known_worktrees.owners(open, options, &refs)?;
    let mut leftovers = Leftovers {
        worktrees: owners
            .worktrees
            .iter()
            .map(|id| known_worktrees.find_target(id))
            .collect(),
        notes: known_worktrees.unreadable().collect(),
        owners,
        ..Leftovers::default()
    };
    find_hooks(options, &mut leftovers);
    find_records(store, &mut leftovers)?;
    find_trust(command_env, open, &mut leftovers)?;
    choose_refs(open, options, refs, &mut leftovers)?;
    find_files(command_env, &mut leftovers);
    let (gone, staying) = forget_in_submodules(&leftovers, options, false);
    leftovers.add(LeftoverKind::Refs, gone, None);
    leftovers.keep(KeepReason::SoleRefs, staying);
    let of_tasks = command_env.state.task_worktrees();
    let for_tasks = leftovers.worktrees.iter().filter(|worktree| {
        let is_of_task = |root: &PathBuf| root.starts_with(&of_tasks);
        worktree.there && worktree.root.as_ref().is_some_and(is_of_task)
    });
    let for_tasks = for_tasks.count() as u64;
    leftovers.keep(KeepReason::TaskWorktrees, for_tasks);
    Ok(leftovers)
}

/// The refs inside of the submodules of the worktrees that are meant: how many go, and how many stay.
pub(super) fn forget_in_submodules(
    leftovers: &Leftovers,
    options: &ForgetOptions,
    removes: bool,
) -> (u64, u64) {
    let roots = (leftovers.worktrees.iter()).filter_map(|worktree| worktree.root.as_ref());
    let worktrees = roots.filter_map(|root| Worktree::open(root).ok());
    worktrees
        .map(|worktree| worktree.forget_in_submodules(options.snapshots, removes))
        .fold((0, 0), |sum, (gone, staying)| {
            (sum.0 + gone, sum.1 + staying)
        })
}

fn find_records(store: &dyn LocalStore, leftovers: &mut Leftovers) -> Result<(), StoreError> {
    let rows = left_rows::rows_of(store, &leftovers.owners)?;
    let bytes = rows.iter().map(|row| row.bytes).sum();
    let days = figures::days_of(store, &leftovers.owners.worktrees)?;
    leftovers.add(LeftoverKind::Records, rows.len() as u64 + days, Some(bytes));
    for id in leftovers.owners.worktrees.clone() {
        let (count, bytes) = store.events_of(&id)?;
        leftovers.add(LeftoverKind::Events, count, Some(bytes));
    }
    Ok(())
}

/// The worktrees of a repository, as git, refs and records know of them.
struct KnownWorktrees {
    own: String,
    there: BTreeMap<String, FoundWorktree>,
    ids: BTreeSet<String>,
    /// Their folders, from their baselines.
    recorded: HashMap<String, PathBuf>,
    half_forgotten: BTreeSet<String>,
}

impl KnownWorktrees {
    fn from_worktree(open: &OpenWorktree, refs: &[OwnRef]) -> Result<Self, StoreError> {
        let (store, common_dir) = (open.store.as_ref(), open.worktree.common_dir());
        let there: BTreeMap<String, FoundWorktree> = worktrees_of(common_dir)
            .into_iter()
            .map(|worktree| (worktree.worktree_id(), worktree))
            .collect();
        let repository = open.worktree.repository_id();
        let half_forgotten = left_rows::half_forgotten(store, &repository)?;
        let mut ids: BTreeSet<String> = there.keys().cloned().collect();
        ids.extend(refs.iter().filter_map(|own| own.worktree_id.clone()));
        ids.extend(left_rows::rescued_worktrees(store, &repository)?);
        ids.extend(half_forgotten.iter().cloned());
        ids.insert(open.worktree_id.clone());
        let mut recorded = HashMap::new();
        for (id, _, record) in BaselineRecord::list_rows(store)? {
            let Ok(record) = record else { continue };
            if ids.contains(&id) || was_of(common_dir, &id, &record.worktree) {
                ids.insert(id.clone());
                recorded.insert(id, record.worktree);
            }
        }
        Ok(KnownWorktrees {
            own: open.worktree_id.clone(),
            there,
            ids,
            recorded,
            half_forgotten,
        })
    }

    fn owners(
        &self,
        open: &OpenWorktree,
        options: &ForgetOptions,
        refs: &[OwnRef],
    ) -> Result<ForgottenOwners, StoreError> {
        let repository = open.worktree.repository_id();
        let owners = |worktrees: BTreeSet<String>, whole| ForgottenOwners {
            roots: worktrees
                .iter()
                .filter_map(|id| self.find_target(id).root)
                .collect(),
            worktrees,
            repository: repository.clone(),
            whole,
        };
        if options.all {
            return Ok(owners(self.ids.clone(), true));
        }
        let others: BTreeSet<String> = self
            .ids
            .iter()
            .filter(|id| **id != self.own)
            .cloned()
            .collect();
        let have_refs = refs.iter().any(|own| {
            own.worktree_id
                .as_ref()
                .is_some_and(|id| others.contains(id))
        });
        let half = self.half_forgotten.iter().any(|id| others.contains(id));
        let alone = !have_refs
            && !half
            && left_rows::rows_of(open.store.as_ref(), &owners(others, false))?.is_empty();
        Ok(owners([self.own.clone()].into(), alone))
    }

    /// The worktrees that are there and cannot be read, for a person.
    fn unreadable(&self) -> impl Iterator<Item = String> {
        self.there
            .values()
            .filter_map(|worktree| match &worktree.standing {
                WorktreeState::Broken { why } | WorktreeState::Unlisted { why } => {
                    Some(format!("{}: {why}", worktree.root.display()))
                }
                WorktreeState::There
                | WorktreeState::Gone { .. }
                | WorktreeState::Nothing { .. } => None,
            })
    }

    fn find_target(&self, id: &str) -> TargetWorktree {
        let listed = self.there.get(id);
        // An unreadable worktree is not gone.
        let there =
            listed.is_some_and(|worktree| !matches!(worktree.standing, WorktreeState::Gone { .. }));
        let root = listed
            .map(|worktree| worktree.root.clone())
            .or_else(|| self.recorded.get(id).cloned());
        TargetWorktree {
            id: id.to_owned(),
            root,
            there,
        }
    }
}

/// Whether a recorded worktree that git knows nothing of was one of this repository: its name in the records comes from the shared git
/// directory and from the name that git gave it, which is that of its folder.
fn was_of(common_dir: &Path, id: &str, root: &Path) -> bool {
    let Some(name) = root.file_name() else {
        return false;
    };
    let admin = common_dir.join("worktrees");
    let is_id = |name: &std::ffi::OsStr| {
        let named = FoundWorktree {
            root: root.to_owned(),
            git_dir: admin.join(name),
            common_dir: common_dir.to_owned(),
            standing: WorktreeState::There,
        };
        named.worktree_id() == id
    };
    let numbered = |n: u32| {
        let mut name = name.to_owned();
        name.push(n.to_string());
        name
    };
    is_id(name) || (1..=NUMBERED).any(|n| is_id(&numbered(n)))
}

fn find_hooks(options: &ForgetOptions, leftovers: &mut Leftovers) {
    let roots: Vec<PathBuf> = leftovers
        .worktrees
        .iter()
        .filter(|worktree| worktree.there)
        .filter_map(|worktree| worktree.root.clone())
        .collect();
    for dialect in HookDialect::ALL {
        let users = options
            .user_hooks
            .iter()
            .find(|(of, _)| *of == dialect)
            .map(|(_, path)| path);
        let users_file = users.and_then(|path| path.canonicalize().ok());
        if let Some(text) = users
            .and_then(|path| SettingsFile::from_path(path).ok())
            .and_then(|file| file.text)
        {
            let entries = hook_text::own_entries(dialect, &text, &options.program);
            leftovers.keep(KeepReason::UserHooks, entries);
        }
        for path in roots.iter().flat_map(|root| {
            dialect
                .project_files()
                .into_iter()
                .map(|name| root.join(name))
        }) {
            match SettingsFile::from_path(&path) {
                // Of a home folder that is a worktree.
                Ok(file) if Some(&file.path) == users_file.as_ref() => {}
                Ok(file) => {
                    let own = file.text.as_deref().map_or(0, |text| {
                        hook_text::own_entries(dialect, text, &options.program)
                    });
                    if own > 0 {
                        leftovers.add(LeftoverKind::Hooks, own, None);
                        leftovers.settings.push((dialect, file));
                    }
                }
                Err(error) => leftovers
                    .notes
                    .push(format!("the hooks in it are unknown: {error}")),
            }
        }
    }
}

fn find_trust(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    leftovers: &mut Leftovers,
) -> Result<(), StoreError> {
    let grants = TrustStore::new(&command_env.state).list()?;
    let ours = grants
        .into_iter()
        .filter(|grant| grant.repository == open.worktree.common_dir());
    if leftovers.owners.whole {
        leftovers.grants = ours.map(|grant| grant.hash).collect();
        leftovers.add(LeftoverKind::Trust, leftovers.grants.len() as u64, None);
    } else {
        let tasks = left_rows::tasks_of(open.store.as_ref(), &leftovers.owners.repository)?;
        leftovers.keep(KeepReason::OtherWorktrees, ours.count() as u64 + tasks);
    }
    Ok(())
}

fn choose_refs(
    open: &OpenWorktree,
    options: &ForgetOptions,
    refs: Vec<OwnRef>,
    leftovers: &mut Leftovers,
) -> Result<(), Refusal> {
    let meant = leftovers.owners.worktrees.clone();
    let of_meant = |own: &OwnRef| {
        own.worktree_id
            .as_ref()
            .is_some_and(|id| meant.contains(id))
    };
    let root = open.root().to_string_lossy().into_owned();
    let summaries = open.worktree.snapshots(None)?;
    let sizes: HashMap<&str, u64> = summaries
        .iter()
        .map(|info| (info.name.as_str(), info.bytes))
        .collect();
    let of_this: HashSet<&str> = summaries
        .iter()
        .filter(|info| options.all || info.worktree == root)
        .map(|info| info.name.as_str())
        .collect();
    let is_meant = |name: &str| options.all || of_this.contains(name);
    let sole = if options.snapshots {
        HashSet::new()
    } else {
        open.worktree
            .sole_keepers(&refs.iter().filter(|own| of_meant(own)).collect::<Vec<_>>())?
    };
    let mut chosen = Vec::new();
    for own in refs {
        let (kind, remove) = match own.kind {
            OwnRefKind::Baseline | OwnRefKind::Anchor | OwnRefKind::JudgedHead => {
                (LeftoverKind::Refs, of_meant(&own))
            }
            OwnRefKind::Snapshot => {
                if !is_meant(&own.name) {
                    leftovers.keep(KeepReason::OtherWorktrees, 1);
                } else if !options.snapshots {
                    leftovers.keep(KeepReason::Snapshots, 1);
                }
                (
                    LeftoverKind::Snapshots,
                    options.snapshots && is_meant(&own.name),
                )
            }
            OwnRefKind::PrivatePart => {
                let of = own.name.replacen("/private/", "/rescue/", 1);
                (LeftoverKind::Snapshots, options.snapshots && is_meant(&of))
            }
            OwnRefKind::Unknown => (LeftoverKind::Refs, options.all && options.snapshots),
        };
        if remove && sole.contains(&own.name) {
            leftovers.keep(KeepReason::SoleRefs, 1);
        } else if remove {
            leftovers.add(kind, 1, sizes.get(own.name.as_str()).copied());
            chosen.push(own);
        }
    }
    // Snapshots first, then their private parts: a snapshot without its private part would be broken, and cannot be restored in parts.
    chosen.sort_by_key(|own| own.kind);
    leftovers.refs = chosen;
    Ok(())
}

fn find_files(command_env: &CommandEnv, leftovers: &mut Leftovers) {
    for id in leftovers.owners.worktrees.clone() {
        let folder = command_env.state.logs().join(&id);
        match read_entries(&folder, usize::MAX) {
            Ok(entries) => leftovers
                .files
                .extend(entries.into_iter().map(|entry| entry.path())),
            Err(error) => leftovers.notes.push(format!(
                "the logs in {} stay, as they cannot be listed: {error}",
                folder.display()
            )),
        }
        let prompt = command_env.state.prompt_file(&id);
        leftovers
            .files
            .extend(Some(prompt).filter(|path| path.exists()));
    }
    let sizes = leftovers
        .files
        .iter()
        .map(|path| fs::metadata(path).map_or(0, |meta| meta.len()));
    let bytes = sizes.sum();
    leftovers.add(
        LeftoverKind::Files,
        leftovers.files.len() as u64,
        Some(bytes),
    );
}
