//! The entries of the stash: recorded and kept with a baseline, and compared at the end.

use std::collections::{BTreeMap, HashSet};

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use jiff::Timestamp;

use super::commit_text::tree_of;
use super::content_ids::content_hash;
use super::error::Error;
use super::known_refs::RefTip;
use super::open::Worktree;
use super::own_refs::STASH_KEEPER;
use super::path_text::escape_path;
use super::reflog;
use super::tree_change::{list_changed_files, read_blob};
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};

/// How many entries of the stash count, newest first.
const MAX_ENTRIES: usize = 1_000;

/// How many of them have their files compared, and how many files there are in all at most.
const MAX_COMPARED: usize = 64;
const MAX_FILES: usize = 2_000;

/// Files above this size, in bytes, are not compared.
const MAX_BLOB: u64 = 16 << 20;

/// Messages above this size, in bytes, are not typed into a command.
const MOST_TYPED: usize = 200;

/// The stash's ref.
const STASH: &str = "refs/stash";

/// The spec of the judged refs that keep entries of the stash. No other spec has its name.
const KEPT_AS: &str = "%stash";

impl Worktree {
    /// The commits of the stash's entries, newest first.
    ///
    /// # Errors
    /// [`Error::Read`] where the reflog of the stash cannot be read.
    pub fn stash_commits(&self) -> Result<Vec<String>, Error> {
        let log = match &self.served {
            Some(served) => (served.all_logs()?.into_iter())
                .find(|(name, _)| name == STASH)
                .map(|(_, log)| log),
            None => Some(self.common_dir().join("logs").join(STASH)),
        };
        let entries = log.map_or(Ok(Vec::new()), |log| reflog::read_entries(&log))?;
        let newest = entries.iter().rev().take(MAX_ENTRIES);
        Ok(newest.map(|entry| entry.new.to_hex().to_string()).collect())
    }

    /// The entries of the stash below the newest one, which its ref names.
    pub(super) fn older_stashes(&self, tips: &[RefTip]) -> Result<Vec<RefTip>, Error> {
        if !tips.iter().any(|(name, _)| name == STASH) {
            return Ok(Vec::new());
        }
        let entries = self.stash_commits()?.into_iter().enumerate().skip(1);
        let named = entries.map(|(at, commit)| (format!("{STASH}@{{{at}}}"), commit));
        Ok(named.collect())
    }

    /// Keeps these entries of the stash in one ref, like a judged head, in place of the refs that keep no other entry.
    ///
    /// # Errors
    /// When refs or objects cannot be read or written.
    pub fn keep_stashes(&self, entries: &[String], at: Timestamp) -> Result<(), Error> {
        self.keep_commits_as((KEPT_AS, STASH_KEEPER), entries, at)
    }

    /// The same for other commits, or in refs of another spec.
    pub(super) fn keep_commits_as(
        &self,
        (spec, message): (&str, &str),
        entries: &[String],
        at: Timestamp,
    ) -> Result<(), Error> {
        if entries.is_empty() {
            return Ok(());
        }
        let entries: Vec<ObjectId> = (entries.iter())
            .filter_map(|hex| hex.parse::<ObjectId>().ok())
            .filter(|id| self.has_object(*id))
            .collect();
        let keeper = self.write_empty_commit(message, &entries, Timestamp::UNIX_EPOCH)?;
        self.keep_judged(spec, &keeper, at)?;
        let mut reached: HashSet<ObjectId> = self.newest_commits(entries.clone()).collect();
        reached.extend(entries);
        let keeps_no_other = |id: ObjectId| {
            self.repo.find_commit(id).is_ok_and(|commit| {
                let mut parents = commit.parent_ids();
                commit.message_raw_sloppy() == message
                    && parents.all(|parent| reached.contains(&parent.detach()))
            })
        };
        let mut replaced = self.refs_below(&self.judged_folder(spec))?;
        let own_end = format!("-{}", &keeper[..12]);
        replaced.retain(|(name, id)| !name.ends_with(&own_end) && keeps_no_other(*id));
        // As for a judged head.
        let _ = self.drop_refs(&replaced);
        Ok(())
    }

    /// The content ids that files have in these entries of the stash, where those changed them, by path.
    pub fn stashed_contents(&self, entries: &[String]) -> BTreeMap<String, Vec<String>> {
        let mut contents: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut files = 0;
        for hex in entries.iter().take(MAX_COMPARED) {
            if files >= MAX_FILES {
                break;
            }
            // An unreadable entry brings nothing.
            let mut read_files = self.read_stashed_files(hex).unwrap_or_default();
            read_files.truncate(MAX_FILES - files);
            files += read_files.len();
            for (path, id) in read_files {
                contents.entry(path).or_default().push(id);
            }
        }
        contents
    }

    /// The changed files of an entry, those of its index and the untracked ones included.
    fn read_stashed_files(&self, hex: &str) -> Result<Vec<(String, String)>, Error> {
        let entry = self.find_commit(hex, || format!("read the stash entry {hex}"))?;
        let id = entry.id;
        let parents: Vec<ObjectId> = entry.parent_ids().map(gix::Id::detach).collect();
        let Some((base, others)) = parents.split_first() else {
            return Ok(Vec::new());
        };
        let (base, empty) = (tree_of(&self.repo, *base)?, ObjectId::empty_tree(id.kind()));
        let mut ids = Vec::new();
        for (at, commit) in [&id].into_iter().chain(others).enumerate() {
            let before = if at < 2 { base } else { empty };
            for file in list_changed_files(&self.repo, before, tree_of(&self.repo, *commit)?)? {
                if ids.len() >= MAX_FILES {
                    return Ok(ids);
                }
                let Some((mode, blob)) = file.new.filter(|(mode, _)| !mode.is_commit()) else {
                    continue;
                };
                let Some(bytes) = read_blob(self, blob, MAX_BLOB)? else {
                    continue;
                };
                let kind = match mode.kind() {
                    gix::objs::tree::EntryKind::Link => 'l',
                    gix::objs::tree::EntryKind::BlobExecutable => 'x',
                    _ => 'f',
                };
                let path = escape_path(&file.path);
                ids.push((path.clone(), format!("{kind}{}", content_hash(&bytes))));
                if bytes.contains(&b'\n') && self.writes_crlf() {
                    let on_disk = content_hash(&bytes.replace("\n", "\r\n"));
                    ids.push((path, format!("{kind}{on_disk}")));
                }
            }
        }
        Ok(ids)
    }

    fn writes_crlf(&self) -> bool {
        let config = self.repo.config_snapshot();
        config.boolean("core.autocrlf") == Some(true)
    }

    /// The entries of `recorded` that are gone, oldest first, and the entries that came since.
    pub(super) fn compare_stashes(
        &self,
        recorded: &[String],
    ) -> Result<(Vec<String>, Vec<String>), Error> {
        let now = self.stash_commits()?;
        let lost = (recorded.iter().rev()).filter(|entry| !now.contains(entry));
        let is_there = |hex: &str| hex.parse::<ObjectId>().is_ok_and(|id| self.has_object(id));
        let new = (now.iter()).filter(|entry| !recorded.contains(entry) && is_there(entry));
        Ok((lost.cloned().collect(), new.cloned().collect()))
    }

    /// The first line of an entry, `WIP on main: 1234567 subject` or `On main: message`.
    pub(super) fn stash_message(&self, hex: &str) -> String {
        let message = self.read_stash_message(hex);
        let line = message.lines().next().unwrap_or_default();
        line.to_str_lossy().trim().to_owned()
    }

    fn read_stash_message(&self, hex: &str) -> BString {
        let commit = self.find_commit(hex, || "read a stash entry").ok();
        commit.map_or("stash".into(), |commit| {
            commit.message_raw_sloppy().trim().into()
        })
    }

    /// The command that puts an entry back with its message, which git writes as one line: by its text, or as git reads it.
    pub(super) fn describe_stash_restore(&self, hex: &str) -> String {
        let git = WorktreeCommands::at(self.root());
        let message = self.read_stash_message(hex);
        let text = message.to_str().ok().filter(|text| !text.contains('\n'));
        let word = match text.filter(|text| text.len() <= MOST_TYPED) {
            Some(text) => shell_word(text),
            None => format!("\"$({})\"", git.git(&format!("log -1 --format=%B {hex}"))),
        };
        git.git(&format!("stash store -m {word} {hex}"))
    }
}
