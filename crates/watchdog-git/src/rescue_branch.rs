//! The branch for the commits of a rescue where the current branch must not get them.

use gix::bstr::ByteSlice;

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::own_refs::list_refs_below;
use super::ref_owner::{git_dirs, new_read_error};
use super::snapshot::spec_for_ref;
use super::verified::peel_tags;
use watchdog_system::{is_missing, read_regular_file};

/// Prefix of these branches below `refs/heads/`.
const PREFIX: &str = "watchdog/rescue/";
/// How many names are tried where a branch is checked out somewhere.
const NAMES: usize = 20;

/// A branch for commits that may not go to the current one, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RescueBranch {
    /// Its name without `refs/heads/`.
    pub name: String,
    /// The commit that it names, hexadecimal; `None` where it is still to be created.
    pub tip: Option<String>,
    /// The tree of that commit, hexadecimal.
    pub tree: Option<String>,
    /// Whether everything that HEAD has is in its history.
    pub holds_head: bool,
    /// The message of its commit, lossy; empty where there is none.
    pub message: String,
    /// Why it has no slashes in its name, for a person.
    pub renamed: Option<String>,
}

impl Worktree {
    /// The branch for a spec: `watchdog/rescue/<spec>`, with a number behind it where that one is checked out
    /// in some worktree and must therefore not move, and without slashes where a branch such as `watchdog` is in the way of its folders.
    ///
    /// # Errors
    /// When refs or commits cannot be read, or every name is taken.
    pub fn rescue_branch(&self, spec: &str) -> Result<RescueBranch, Error> {
        self.refresh()?;
        let (plain, renamed) = self.find_free_name(format!("{PREFIX}{}", spec_for_ref(spec)))?;
        let taken = match &self.served {
            Some(served) => served.checked_out()?,
            None => self.checked_out()?,
        };
        let free = (1..=NAMES)
            .map(|n| {
                if n == 1 {
                    plain.clone()
                } else {
                    format!("{plain}-{n}")
                }
            })
            .find(|name| {
                !taken
                    .iter()
                    .any(|head| head.strip_prefix("refs/heads/") == Some(name))
            });
        let doing = || format!("look at the branch {plain}");
        let Some(name) = free else {
            return Err(Error::read_failure(
                doing(),
                "each of its names is checked out in some worktree",
            ));
        };
        let branch = format!("refs/heads/{name}");
        let existing =
            self.retry_if_refs_moved(|| self.repo.try_find_reference(&branch).with_context(doing))?;
        let Some(mut reference) = existing else {
            return Ok(RescueBranch {
                name,
                tip: None,
                tree: None,
                holds_head: false,
                message: String::new(),
                renamed,
            });
        };
        let tip = (reference.follow_to_object().ok())
            .and_then(|id| peel_tags(&self.repo, id.detach())?.try_into_commit().ok())
            .ok_or_else(|| Error::read_failure(doing(), "it names no commit"))?;
        let message = tip.message_raw_sloppy().to_str_lossy().into_owned();
        let holds_head = match self.head_commit()? {
            None => true,
            Some(head) => {
                let head = head.parse::<gix::ObjectId>().with_context(doing)?;
                let mut beyond = self
                    .repo
                    .rev_walk([head])
                    .with_hidden([tip.id])
                    .all()
                    .with_context(doing)?;
                beyond.next().transpose().with_context(doing)?.is_none()
            }
        };
        let tree = tip.tree_id().with_context(doing)?.to_string();
        Ok(RescueBranch {
            name,
            tip: Some(tip.id.to_string()),
            tree: Some(tree),
            holds_head,
            message,
            renamed,
        })
    }

    /// The name for a branch of ours, without slashes where another branch is in the way of its folders; then the reason, for a person.
    ///
    /// # Errors
    /// When refs cannot be read.
    pub fn find_free_name(&self, name: String) -> Result<(String, Option<String>), Error> {
        let in_the_way = self.retry_if_refs_moved(|| self.branch_in_the_way(&name))?;
        let Some(in_the_way) = in_the_way else {
            return Ok((name, None));
        };
        let free_name = name.replace('/', "-");
        let reason = format!(
            "the branch is called '{free_name}' and not '{name}', because the branch '{in_the_way}' is in the way"
        );
        Ok((free_name, Some(reason)))
    }

    /// A branch whose name is a folder of `name`, or lies below it: git has room for one of both.
    fn branch_in_the_way(&self, name: &str) -> Result<Option<String>, Error> {
        let doing = || format!("look for branches beside {name}");
        for (end, _) in name.match_indices('/') {
            let folder = &name[..end];
            let reference = self
                .repo
                .try_find_reference(&format!("refs/heads/{folder}"));
            if (reference.with_context(doing)?).is_some() {
                return Ok(Some(folder.to_owned()));
            }
        }
        let below = format!("refs/heads/{name}/");
        let inner = list_refs_below(&self.repo, &below)?;
        Ok(inner
            .first()
            .map(|first| first.name().shorten().to_str_lossy().into_owned()))
    }

    /// The branches that HEAD of any worktree of this repository names, whole.
    fn checked_out(&self) -> Result<Vec<String>, Error> {
        let mut branches = Vec::new();
        for git_dir in git_dirs(self.common_dir())?
            .into_iter()
            .chain([self.git_dir().to_owned()])
        {
            let head = git_dir.join("HEAD");
            match read_regular_file(&head, 4096) {
                Ok(text) => branches.extend(
                    text.to_str_lossy()
                        .strip_prefix("ref:")
                        .map(|name| name.trim().to_owned()),
                ),
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(new_read_error(&head, &error)),
            }
        }
        Ok(branches)
    }
}
