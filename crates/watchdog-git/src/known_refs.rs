//! The refs that were recorded with a baseline, read on first use: a session without a new commit needs none of them, and a
//! repository may have tens of thousands of refs.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use gix::ObjectId;

use super::brought::RecordedTree;
use super::error::Error;
use super::kept_listing::NameListings;

/// A full name of a ref with the object that it named.
pub type RefTip = (String, String);

type RefReader = Box<dyn Fn() -> Result<Vec<RefTip>, String> + Send + Sync>;

/// Full names of refs, each with the object that it named when a baseline was recorded. Clones share what was read.
#[derive(Clone)]
pub struct KnownRefs {
    lazy: Arc<LazyRefs>,
    unclaimed: Option<UnclaimedNames>,
}

/// Names of a repository that no record claims, shared by the judgements of one sweep and kept for
/// a moment: linked worktrees without a record of their own, and branches that no worktree with a
/// record has checked out.
#[derive(Clone, Default)]
pub struct UnclaimedNames(pub(super) Arc<NameListings>);

struct LazyRefs {
    tips: OnceLock<Vec<RefTip>>,
    objects: OnceLock<Vec<ObjectId>>,
    trees: OnceLock<Vec<RecordedTree>>,
    names: OnceLock<Arc<HashSet<String>>>,
    born: NameListings,
    read: Option<RefReader>,
}

impl KnownRefs {
    /// Refs that `read` gets when they are first asked for; its error says why they could not be read.
    pub fn later(read: impl Fn() -> Result<Vec<RefTip>, String> + Send + Sync + 'static) -> Self {
        KnownRefs::with(OnceLock::new(), Some(Box::new(read)))
    }

    fn with(tips: OnceLock<Vec<RefTip>>, read: Option<RefReader>) -> Self {
        let lazy = LazyRefs {
            tips,
            objects: OnceLock::new(),
            trees: OnceLock::new(),
            names: OnceLock::new(),
            born: NameListings::default(),
            read,
        };
        KnownRefs {
            lazy: Arc::new(lazy),
            unclaimed: None,
        }
    }

    /// The same refs, whose judgements share with others what no record claims.
    #[must_use]
    pub fn sharing(self, unclaimed: &UnclaimedNames) -> Self {
        KnownRefs {
            unclaimed: Some(unclaimed.clone()),
            ..self
        }
    }

    /// The refs.
    ///
    /// # Errors
    /// [`Error::Read`] where they cannot be read. The next call tries again.
    pub fn tips(&self) -> Result<&[RefTip], Error> {
        if let Some(tips) = self.lazy.tips.get() {
            return Ok(tips);
        }
        let read = self
            .lazy
            .read
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |read| read());
        let read = read.map_err(|why| Error::Read {
            doing: "read the refs that were recorded with the baseline".to_string(),
            why,
        })?;
        Ok(self.lazy.tips.get_or_init(|| read))
    }

    /// The objects that they named, each once, parsed once for all clones: thousands of refs may name a handful.
    ///
    /// # Errors
    /// As [`KnownRefs::tips`].
    pub(super) fn objects(&self) -> Result<&[ObjectId], Error> {
        if let Some(objects) = self.lazy.objects.get() {
            return Ok(objects);
        }
        let objects = remove_duplicates(
            self.tips()?
                .iter()
                .filter_map(|(_, hex)| ObjectId::from_hex(hex.as_bytes()).ok()),
        );
        Ok(self.lazy.objects.get_or_init(|| objects))
    }

    /// The trees that they lead to, read once for all clones.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn trees(
        &self,
        read: impl FnOnce() -> Result<Vec<RecordedTree>, Error>,
    ) -> Result<&[RecordedTree], Error> {
        if let Some(trees) = self.lazy.trees.get() {
            return Ok(trees);
        }
        let trees = read()?;
        Ok(self.lazy.trees.get_or_init(|| trees))
    }

    /// Their names, made once for all clones.
    ///
    /// # Errors
    /// As [`KnownRefs::tips`].
    pub(super) fn names(&self) -> Result<Arc<HashSet<String>>, Error> {
        if let Some(names) = self.lazy.names.get() {
            return Ok(Arc::clone(names));
        }
        let names = self.tips()?.iter().map(|(name, _)| name.clone()).collect();
        Ok(Arc::clone(self.lazy.names.get_or_init(|| Arc::new(names))))
    }

    /// The last lists of what is not among them, for all clones.
    pub(super) fn born_listings(&self) -> &NameListings {
        &self.lazy.born
    }

    /// The shared names that no record claims.
    pub(super) fn unclaimed_listings(&self) -> Option<&NameListings> {
        self.unclaimed.as_ref().map(|unclaimed| &*unclaimed.0)
    }
}

/// The objects, each once.
pub(super) fn remove_duplicates(objects: impl Iterator<Item = ObjectId>) -> Vec<ObjectId> {
    let mut objects: Vec<ObjectId> = objects.collect();
    objects.sort();
    objects.dedup();
    objects
}

impl From<Vec<RefTip>> for KnownRefs {
    fn from(tips: Vec<RefTip>) -> Self {
        KnownRefs::with(OnceLock::from(tips), None)
    }
}

impl std::fmt::Debug for KnownRefs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("KnownRefs")
            .field(&self.lazy.tips.get())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn refs_are_read_lazily_once_for_all_clones() {
        let reads = Arc::new(AtomicUsize::new(0));
        let known_refs = {
            let reads = Arc::clone(&reads);
            KnownRefs::later(move || match reads.fetch_add(1, Ordering::Relaxed) {
                0 => Err("the disk is busy".to_string()),
                _ => Ok(vec![("refs/heads/main".to_string(), "1".repeat(40))]),
            })
        };
        assert_eq!(reads.load(Ordering::Relaxed), 0);
        let refused = known_refs.tips().unwrap_err().to_string();
        assert!(
            refused.contains("recorded with the baseline") && refused.contains("the disk is busy"),
            "{refused}"
        );
        for shared_refs in [known_refs.clone(), known_refs] {
            assert_eq!(shared_refs.tips().unwrap().len(), 1);
        }
        assert_eq!(reads.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn each_ref_object_is_named_once_without_invalid() {
        let tip = |name: &str, object: &str| (format!("refs/heads/{name}"), object.to_string());
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let known_refs = KnownRefs::from(vec![
            tip("b", &two),
            tip("a", &one),
            tip("c", &two),
            tip("damaged", "2222"),
            tip("empty", ""),
        ]);
        let objects: Vec<_> = known_refs
            .objects()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(objects, [one, two]);
        assert!(
            KnownRefs::later(|| Err("the disk is busy".to_string()))
                .objects()
                .is_err(),
            "unread refs are not refs without objects"
        );
    }
}
