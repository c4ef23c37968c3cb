//! watchdog's own records about the origin of commits. They outrank everything that a session can write into the repository.

use std::collections::HashSet;
use std::sync::Arc;

use super::error::Error;
use super::known_refs::KnownRefs;
use watchdog_facts::session_work::ContentIds;

type FactReader<T> = Arc<dyn Fn() -> Result<T, String> + Send + Sync>;

/// A commit that a rescue made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RescuedCommit {
    /// Full hexadecimal object name.
    pub id: String,
    /// The patch id of its change, the same after a rebase; `None` where the change was too large.
    pub patch: Option<String>,
    /// The name of its author, author date and subject.
    pub authored: String,
}

/// The content that was there when a baseline was recorded, beside what its refs name.
#[derive(Debug, Clone, Default)]
pub struct ContentAtBaseline {
    /// When it was recorded.
    pub at: Option<jiff::Timestamp>,
    /// The inherited files.
    pub inherited: ContentIds,
    /// The commits that HEAD ([`Worktree::left_behind`](crate::Worktree::left_behind)) and those of submodules had left behind.
    pub left_behind: Vec<String>,
    /// The entries of the stash, newest first, where they were recorded.
    pub stashes: Option<Vec<String>>,
    /// The committer of what git commits there ([`Worktree::committer`](crate::Worktree::committer)).
    pub committer: Option<String>,
}

/// watchdog's records about the origin of commits.
#[derive(Clone, Default)]
pub struct OriginEvidence {
    /// The refs of the moment when the baseline was recorded.
    pub refs: Option<KnownRefs>,
    pub(super) edge: Option<Arc<ContentAtBaseline>>,
    rescued: Option<FactReader<Vec<RescuedCommit>>>,
    recorded_worktrees: Option<FactReader<HashSet<String>>>,
}

impl OriginEvidence {
    /// The same for another baseline, of which only the refs are recorded.
    #[must_use]
    pub fn with_refs(self, refs: Option<KnownRefs>) -> Self {
        OriginEvidence {
            refs,
            edge: None,
            ..self
        }
    }

    /// Adds the content that was there when the baseline was recorded.
    #[must_use]
    pub fn with_content(self, content: ContentAtBaseline) -> Self {
        OriginEvidence {
            edge: Some(Arc::new(content)),
            ..self
        }
    }

    /// Adds a reader for the ids of the worktrees with a record of their own: commits made there are the work of their sessions.
    #[must_use]
    pub fn with_recorded_worktrees(
        self,
        read: impl Fn() -> Result<HashSet<String>, String> + Send + Sync + 'static,
    ) -> Self {
        OriginEvidence {
            recorded_worktrees: Some(Arc::new(read)),
            ..self
        }
    }

    /// Adds a reader for the commits that rescues made. It is called each time: the last rescue may be a moment old.
    pub fn with_rescued(
        self,
        read: impl Fn() -> Result<Vec<RescuedCommit>, String> + Send + Sync + 'static,
    ) -> Self {
        OriginEvidence {
            rescued: Some(Arc::new(read)),
            ..self
        }
    }

    pub(super) fn recorded_worktrees(&self) -> Result<HashSet<String>, Error> {
        read_fact(
            self.recorded_worktrees.as_ref(),
            "read which worktrees have a baseline",
        )
    }

    pub(super) fn read_rescued_commits(&self) -> Result<Vec<RescuedCommit>, Error> {
        read_fact(self.rescued.as_ref(), "read which commits a rescue made")
    }
}

impl From<Option<&KnownRefs>> for OriginEvidence {
    fn from(refs: Option<&KnownRefs>) -> Self {
        OriginEvidence {
            refs: refs.cloned(),
            ..OriginEvidence::default()
        }
    }
}

impl std::fmt::Debug for OriginEvidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OriginEvidence")
            .field("refs", &self.refs)
            .finish_non_exhaustive()
    }
}

fn read_fact<T: Default>(read: Option<&FactReader<T>>, doing: &str) -> Result<T, Error> {
    read.map_or_else(|| Ok(T::default()), |read| read())
        .map_err(|why| Error::read_failure(doing.to_string(), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_refs_replace_only_the_first_refs() {
        let refs = |name: &str| KnownRefs::from(vec![(name.to_string(), "1".repeat(40))]);
        let rescued = RescuedCommit {
            id: "2".repeat(40),
            patch: None,
            authored: "somebody".to_string(),
        };
        let (first, worktrees) = (rescued.clone(), HashSet::from(["there".to_string()]));
        let ids = worktrees.clone();
        let evidence = OriginEvidence::from(Some(&refs("refs/heads/first")))
            .with_rescued(move || Ok(vec![first.clone()]))
            .with_recorded_worktrees(move || Ok(ids.clone()));
        let with_other_refs = evidence.clone().with_refs(Some(refs("refs/heads/other")));
        assert_eq!(
            (with_other_refs
                .refs
                .as_ref()
                .unwrap()
                .tips()
                .unwrap()
                .iter())
            .next(),
            Some(("refs/heads/other", &*"1".repeat(40)))
        );
        assert_eq!(
            (
                with_other_refs.read_rescued_commits().unwrap(),
                with_other_refs.recorded_worktrees().unwrap()
            ),
            (vec![rescued], worktrees)
        );
        assert!(evidence.with_refs(None).refs.is_none());
    }
}
