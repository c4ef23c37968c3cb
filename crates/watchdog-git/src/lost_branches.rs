//! Keeps the commits of branches and of other HEADs when a session begins, and finds those that it took from every ref: git removes the
//! reflog with a branch.

use std::collections::HashSet;

use gix::ObjectId;
use jiff::Timestamp;
use watchdog_facts::ref_list::RefList;

use super::baseline::HEADS;
use super::error::Error;
use super::open::Worktree;
use super::origin_evidence::OriginEvidence;
use super::own_refs::BRANCH_KEEPER;
use super::ref_owner::head_name;
use super::reflog;
use super::submodule_commits::LeftCommit;

/// The name that these refs have in place of a spec's.
const KEPT_AS: &str = "%branches";

/// More commits are not kept.
const MAX_KEPT: usize = 1_000;

impl Worktree {
    /// Keeps the commits of branches and other HEADs among these refs in one ref, like a judged head. Remotes keep pushed ones.
    ///
    /// # Errors
    /// When refs or objects cannot be read or written.
    pub fn keep_branches(&self, tips: &RefList, at: Timestamp) -> Result<(), Error> {
        let remote_tips = tips
            .iter()
            .filter(|(name, _)| name.starts_with("refs/remotes/"));
        let mut passed: HashSet<&str> = remote_tips.map(|(_, id)| id).collect();
        let local_tips = self.list_local_tips(tips).map(|(_, id)| id);
        let unpushed = local_tips.filter(|id| passed.insert(id)).take(MAX_KEPT);
        let unpushed: Vec<String> = unpushed.map(str::to_owned).collect();
        self.keep_commits_as((KEPT_AS, BRANCH_KEEPER), &unpushed, at)
    }

    /// The branches and HEADs among these refs that are not at the commit of HEAD here, which the baseline's ref keeps.
    fn list_local_tips<'a>(&self, tips: &'a RefList) -> impl Iterator<Item = (&'a str, &'a str)> {
        let own = head_name(self.git_dir(), self.common_dir());
        let head = tips.iter().find(|(name, _)| *name == own);
        tips.iter().filter(move |(name, id)| {
            let is_local = name.starts_with(HEADS) || !name.starts_with("refs/");
            is_local && head.is_none_or(|(_, head)| head != *id)
        })
    }

    /// The commits of recorded branches and HEADs that no ref but ours reaches now, and no amended or rebased commit took the place of. Keeps
    /// them.
    ///
    /// # Errors
    /// When refs or commits cannot be read or written.
    pub fn find_lost_branches(
        &self,
        evidence: &OriginEvidence,
        at: Timestamp,
    ) -> Result<Vec<LeftCommit>, Error> {
        let Some(recorded) = &evidence.refs else {
            return Ok(Vec::new());
        };
        let branches = self.ref_tips_below(HEADS)?;
        let ids: HashSet<&str> = branches.iter().map(|(_, id)| id.as_str()).collect();
        let moved_tips: Vec<(&str, &str)> = (self.list_local_tips(recorded.tips()?))
            .filter(|(_, id)| !ids.contains(id))
            .take(4 * MAX_KEPT)
            .collect();
        let parse = |hex: &str| hex.parse::<ObjectId>().ok();
        let moved_ids = moved_tips.iter().filter_map(|(_, hex)| parse(hex));
        let mut lost_ids = self.find_unreached(moved_ids, &[])?;
        if lost_ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut amended = HashSet::new();
        for (_, log) in self.all_logs()? {
            let entries = reflog::read_entries(&log)?.into_iter();
            amended.extend(entries.filter(|entry| entry.amends).map(|entry| entry.old));
        }
        lost_ids.retain(|id| !amended.contains(id));
        lost_ids.sort();
        lost_ids.truncate(MAX_KEPT);
        let tips: Vec<ObjectId> = branches.iter().filter_map(|(_, hex)| parse(hex)).collect();
        let lost_ids = self.drop_replaced(lost_ids, &tips)?;
        let lost_ids: Vec<String> = lost_ids.iter().map(ToString::to_string).collect();
        self.keep_commits_as((KEPT_AS, BRANCH_KEEPER), &lost_ids, at)?;
        let describe = |id: String| {
            let named = moved_tips.iter().filter(|(_, hex)| *hex == id);
            let (name, _) = named.max_by_key(|(name, _)| name.starts_with(HEADS))?;
            Some(LeftCommit {
                origin: match name.strip_prefix(HEADS) {
                    Some(branch) => format!("branch {branch}"),
                    None => (*name).to_owned(),
                },
                folder: Some(self.root.clone()),
                git_dir: self.git_dir.clone(),
                id,
            })
        };
        Ok(lost_ids.into_iter().filter_map(describe).collect())
    }

    /// Keeps HEAD and the commits of its log that no other ref reaches, and no amended commit took the place of: the removal of this worktree and
    /// its branch would take them. Returns whether HEAD is one, and the others.
    ///
    /// # Errors
    /// When refs or commits cannot be read or written.
    pub fn keep_before_removal(&self, at: Timestamp) -> Result<(bool, Vec<String>), Error> {
        let own_head = head_name(self.git_dir(), self.common_dir());
        let branch = self.branch().map(|branch| format!("{HEADS}{branch}"));
        let own_names = [own_head.as_str(), branch.as_deref().unwrap_or_default()];
        let by_log = self.left_commits()?.into_iter();
        let by_log = by_log.filter_map(|(id, is_amended)| (!is_amended).then_some(id));
        let of_head = self.find_unreached(self.head_id()?.into_iter(), &own_names)?;
        let of_log = self.find_unreached(by_log, &[])?;
        let lost_ids = of_head.iter().chain(&of_log);
        let mut lost_ids: Vec<String> = lost_ids.map(ToString::to_string).collect();
        self.keep_commits_as((KEPT_AS, BRANCH_KEEPER), &lost_ids, at)?;
        Ok((!of_head.is_empty(), lost_ids.split_off(of_head.len())))
    }
}
