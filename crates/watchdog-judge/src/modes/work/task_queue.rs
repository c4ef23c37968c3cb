//! The queue of tasks of a repository, opened: the files of a work tree, their records, and which copy of a file governs.

use std::sync::Arc;

use crate::tasks::folder::{self, LoadedTask, TaskFolder};
use crate::tasks::task_board::{BoardTask, TaskBoard};
use crate::tasks::task_source::TaskSource;
use crate::wire::task_json::TaskTransition;
use crate::wire::verdict_json::as_json;
use watchdog_core::config::task_file::{TaskFile, TaskStatus, parse_task};
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::evidence::{Degradation, FaultKind, UnreadableFact, WarningCode};
use watchdog_facts::shell_line::{shell_path, shell_word};
use watchdog_git::HistoryPoint;
use watchdog_store::LocalStore;
use watchdog_store::journal::{kind, new_event};
use watchdog_store::task::PinnedFile;
use watchdog_store::task_store::{LocalTasks, TaskStore};
use watchdog_store::trust::{TrustStore, fingerprint_config};

use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::{EffectiveConfig, load_effective};
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::spawn_io::spawn_io;
use crate::notify::delivery::NotificationWorker;
use crate::notify::rules::NotificationRules;

use super::queue_choice::choose_queue;

/// The tasks of a repository, as one work tree has their files.
pub struct TaskQueue {
    /// The work tree.
    pub open: OpenWorktree,
    /// Names the repository in the store.
    pub repository_id: String,
    /// The settings of `completion.json`.
    pub effective: EffectiveConfig,
    /// The files.
    pub folder: TaskFolder,
    /// HEAD of the work tree.
    pub head: HistoryPoint,
    /// The place of the tasks' records, for a person.
    pub source: TaskSource,
    tasks: Arc<dyn TaskStore>,
    trust: TrustStore,
    trusted_hashes: Option<String>,
    notices: NotificationRules,
    notifications: NotificationWorker,
}

/// The copy of a task's file that counts, and whether its commands may run.
#[derive(Debug, Clone)]
pub struct EffectiveTask {
    /// Its content.
    pub task: TaskFile,
    /// How to allow its commands, where they are not.
    pub allow_with: Option<String>,
    /// Warnings for a person.
    pub notes: Vec<Degradation>,
}

impl TaskQueue {
    /// Opens the work tree, the store and the files.
    ///
    /// # Errors
    /// Fails if one of them cannot be read.
    pub fn open(command_env: &CommandEnv) -> Result<Self, UnreadableFact> {
        let open = OpenWorktree::open(command_env)?;
        let head = open.worktree.head()?;
        let effective = load_effective(command_env, &open, None, Some(&head))?;
        let dir = &effective.settings.tasks.dir;
        let folder = folder::read_folder(open.root(), dir).map_err(|error| {
            UnreadableFact::new(
                FaultKind::Config,
                format!("failed to read the tasks in {dir}: {error}"),
            )
        })?;
        let repository_id = open.worktree.repository_id();
        let (tasks, source) = choose_queue(command_env, &open.store, &repository_id)?;
        let notices = NotificationRules::new(effective.settings.notify.clone(), open.root());
        Ok(TaskQueue {
            open,
            repository_id,
            effective,
            folder,
            head,
            source,
            tasks,
            trust: TrustStore::new(&command_env.state),
            trusted_hashes: command_env.trusted.clone(),
            notices,
            notifications: command_env.notifications.clone(),
        })
    }

    /// Returns the command that reopens a complete task.
    pub fn reopen_with(&self, id: &str) -> String {
        self.open
            .commands
            .watchdog(&format!("task set {} pending --reason WHY", shell_word(id)))
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn LocalStore> {
        Arc::clone(&self.open.store)
    }

    /// The records of all tasks, as they are. Writes nothing.
    ///
    /// # Errors
    /// Fails if a record cannot be read.
    pub fn board(&self) -> Result<TaskBoard, UnreadableFact> {
        self.reading()()
    }

    /// As [`TaskQueue::board`], for an event loop: what may wait for a server is in a thread of its own.
    ///
    /// # Errors
    /// As there.
    pub async fn board_beside(&self) -> Result<TaskBoard, UnreadableFact> {
        spawn_io(self.reading()).await
    }

    fn reading(&self) -> impl FnOnce() -> Result<TaskBoard, UnreadableFact> + Send + 'static {
        let (tasks, folder, here) = (Arc::clone(&self.tasks), self.folder.clone(), self.store());
        let (repository_id, is_shared) =
            (self.repository_id.clone(), self.source != TaskSource::Here);
        move || {
            // Shared tasks begin with the status that they had on this machine before.
            let earlier = || {
                if is_shared {
                    LocalTasks::new(here, &repository_id).tasks()
                } else {
                    Ok(Vec::new())
                }
            };
            Ok(TaskBoard::read_tasks(tasks, &folder, earlier, now())?)
        }
    }

    /// The records of all tasks, brought up to date.
    ///
    /// # Errors
    /// Fails if a record cannot be read or written.
    pub fn settle_board(&self) -> Result<TaskBoard, UnreadableFact> {
        let mut board = self.board()?;
        self.pin(&mut board)?;
        let changes = board.settle(now())?;
        self.note(&changes);
        Ok(board)
    }

    /// As [`TaskQueue::settle_board`], for an event loop.
    ///
    /// # Errors
    /// As there.
    pub async fn settled_beside(&self) -> Result<TaskBoard, UnreadableFact> {
        let mut board = self.board_beside().await?;
        self.pin(&mut board)?;
        let (board, changes) = spawn_io(move || {
            let changes = board.settle(now())?;
            Ok::<_, UnreadableFact>((board, changes))
        })
        .await?;
        self.note(&changes);
        Ok(board)
    }

    /// Pinned is what would govern now: HEAD's copy, and the work tree's only where that has none.
    fn pin(&self, board: &mut TaskBoard) -> Result<(), UnreadableFact> {
        board.pin(|loaded| {
            let committed = match (&self.head, loaded.relative.to_str()) {
                (HistoryPoint::Commit(commit), Some(path)) => {
                    self.open.worktree.blob_at(commit, path)?
                }
                _ => None,
            };
            let is_this = |bytes: &Vec<u8>| {
                parse_task(bytes, &loaded.relative).is_ok_and(|task| task.id == loaded.task.id)
            };
            Ok::<_, UnreadableFact>(
                committed
                    .filter(is_this)
                    .unwrap_or_else(|| loaded.bytes.clone()),
            )
        })
    }

    /// Writes steps into the journal, each under its task's name, and puts notifications into the outbox. The records are the truth and are
    /// written already, so a failure here changes nothing.
    pub fn note(&self, changes: &[TaskTransition]) {
        let at = now();
        let event_of = |change: &TaskTransition| {
            Some(new_event(
                at,
                &self.open.worktree_id,
                Some(&change.id),
                event_kind(change)?,
                as_json(change),
            ))
        };
        let events: Vec<_> = changes.iter().filter_map(event_of).collect();
        if events.is_empty() {
            return;
        }
        if let Ok(offered) = self.notices.offer(self.open.store.as_ref(), &events, None) {
            self.notifications.deliver(&self.open.store, offered);
        }
        let _ = self.open.store.append(&events, None);
    }

    /// The copy of a task's file in force: that of the commit at which the task first began (HEAD until then), so that no agent changes its
    /// own criteria; that of the work tree only where that commit has none.
    ///
    /// # Errors
    /// Fails if the commit, or its copy, cannot be read.
    pub fn load_effective_task(&self, entry: &BoardTask) -> Result<EffectiveTask, UnreadableFact> {
        let LoadedTask {
            relative, bytes, ..
        } = &entry.loaded;
        let commit = entry.begun_at(&self.head).to_commit();
        if let (Some(begun), Some(pinned)) = (&commit, &entry.record.pinned)
            && entry.record.baseline.is_some()
            && !self.open.worktree.has_commit(begun)
        {
            return self.pinned_remotely(pinned);
        }
        let committed = match (&commit, relative.to_str()) {
            (Some(commit), Some(path)) => self.open.worktree.blob_at(commit, path)?,
            _ => None,
        };
        let mut notes = Vec::new();
        if entry.gone {
            let name = escape_to_one_line(&relative.display().to_string());
            let detail = format!(
                "{name} is gone, and the task stays open as it was; bring the file back, or close it with: {}",
                self.open.commands.watchdog(&format!(
                    "task set {} complete --reason WHY",
                    shell_word(entry.id())
                ))
            );
            notes.push(Degradation::new(WarningCode::CriteriaChanged, detail));
            let task = entry.loaded.task.clone();
            let allow_with = if task.commands().is_empty() {
                None
            } else {
                self.wanted_trust(relative, bytes, None)?
            };
            return Ok(EffectiveTask {
                task,
                allow_with,
                notes,
            });
        }
        let (mut task, mut bytes, commit) = match committed {
            Some(committed) if committed != *bytes => {
                let short: String = commit
                    .iter()
                    .flat_map(|commit| commit.chars().take(12))
                    .collect();
                let name = escape_to_one_line(&relative.display().to_string());
                let detail = format!(
                    "{name} differs from that of {short}, which governs: commit the change before the task is begun"
                );
                notes.push(Degradation::new(WarningCode::CriteriaChanged, detail));
                let task = parse_task(&committed, relative).map_err(|error| UnreadableFact {
                    kind: FaultKind::Config,
                    why: format!("{error} (as {short} has it)"),
                    hint: Some("commit the file as it should be".into()),
                })?;
                (task, committed, commit)
            }
            _ => (entry.loaded.task.clone(), bytes.clone(), None),
        };
        let pinned = entry.record.pinned.as_ref();
        if let Some((text, pinned)) = pinned.and_then(|pinned| {
            Some((
                &pinned.text,
                parse_task(pinned.text.as_bytes(), relative).ok()?,
            ))
        }) && (&pinned.checks, pinned.mode) != (&task.checks, task.mode)
        {
            let name = escape_to_one_line(&relative.display().to_string());
            let detail = format!(
                "the criteria of {name} differ from those that the task was first seen with, which govern; accept the new ones with: {}",
                self.open
                    .commands
                    .watchdog(&format!("trust {}", shell_path(relative)))
            );
            notes.push(Degradation::new(WarningCode::CriteriaChanged, detail));
            (task.checks, task.mode) = (pinned.checks, pinned.mode);
            bytes = text.clone().into_bytes();
        }
        let allow_with = if task.commands().is_empty() {
            None
        } else {
            self.wanted_trust(relative, &bytes, commit.as_deref())?
        };
        Ok(EffectiveTask {
            task,
            allow_with,
            notes,
        })
    }

    /// The task as it was pinned, where another machine began it at a commit that is not in this clone.
    fn pinned_remotely(&self, pinned: &PinnedFile) -> Result<EffectiveTask, UnreadableFact> {
        let relative = std::path::Path::new(&pinned.path);
        let task = parse_task(pinned.text.as_bytes(), relative).map_err(|error| {
            UnreadableFact::new(FaultKind::Config, format!("{error} (as it is recorded)"))
        })?;
        let is_free = task.commands().is_empty();
        let allow_with = if is_free {
            None
        } else {
            self.wanted_trust(relative, pinned.text.as_bytes(), None)?
        };
        Ok(EffectiveTask {
            task,
            allow_with,
            notes: Vec::new(),
        })
    }

    fn wanted_trust(
        &self,
        relative: &std::path::Path,
        bytes: &[u8],
        commit: Option<&str>,
    ) -> Result<Option<String>, UnreadableFact> {
        let hash = fingerprint_config(&self.repository_id, relative, bytes);
        if self
            .trust
            .is_trusted(&hash, self.trusted_hashes.as_deref())?
        {
            return Ok(None);
        }
        let rev = commit
            .map(|commit| format!(" --rev {}", &commit[..commit.len().min(12)]))
            .unwrap_or_default();
        Ok(Some(
            self.open
                .commands
                .watchdog(&format!("trust {}{rev}", shell_path(relative))),
        ))
    }
}

fn event_kind(change: &TaskTransition) -> Option<&'static str> {
    Some(match (change.from, change.to) {
        (None, _) => return None,
        (Some(from), to) if from == to => return None,
        (_, TaskStatus::Assigned) => kind::ASSIGNED,
        (_, TaskStatus::InProgress) => kind::STARTED,
        (_, TaskStatus::Complete) => kind::COMPLETE,
        (_, TaskStatus::Review) => kind::REVIEW,
        (_, TaskStatus::Failed) => kind::FAILED,
        (_, TaskStatus::Blocked) => kind::BLOCKED,
        (_, TaskStatus::Pending) => kind::PENDING,
    })
}
