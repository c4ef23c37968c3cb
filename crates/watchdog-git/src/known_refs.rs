//! The refs that were recorded with a baseline, read on first use: a session without a new commit needs none of them, and a
//! repository may have tens of thousands of refs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use gix::ObjectId;
use watchdog_facts::ref_list::RefList;

use super::brought::RecordedTree;
use super::error::Error;
use super::kept_listing::NameListings;

/// A full name of a ref with the object that it named.
pub type RefTip = (String, String);

type RefReader = Box<dyn Fn() -> Result<RefList, String> + Send + Sync>;

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
pub struct UnclaimedNames(Arc<(NameListings, Mutex<FirstRecord>)>);

/// The last repository, and the recorded refs that its first judgement compared with.
type FirstRecord = (PathBuf, Weak<LazyRefs>);

#[derive(Default)]
struct LazyRefs {
    tips: OnceLock<Arc<RefList>>,
    objects: OnceLock<Vec<ObjectId>>,
    trees: OnceLock<Vec<RecordedTree>>,
    born: NameListings,
    read: Option<RefReader>,
}

impl KnownRefs {
    /// Refs that `read` gets when they are first asked for; its error says why they could not be read.
    pub fn later(read: impl Fn() -> Result<RefList, String> + Send + Sync + 'static) -> Self {
        KnownRefs::from(LazyRefs {
            read: Some(Box::new(read)),
            ..LazyRefs::default()
        })
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
    pub fn tips(&self) -> Result<&Arc<RefList>, Error> {
        get_or_try(&self.lazy.tips, || {
            let read = self.lazy.read.as_ref();
            let tips = read.map_or_else(|| Ok(RefList::default()), |read| read());
            tips.map(Arc::new).map_err(|why| {
                Error::read_failure("read the refs that were recorded with the baseline", why)
            })
        })
    }

    /// The objects that they named, each once, parsed once for all clones: thousands of refs may name a handful.
    ///
    /// # Errors
    /// As [`KnownRefs::tips`].
    pub(super) fn objects(&self) -> Result<&[ObjectId], Error> {
        get_or_try(&self.lazy.objects, || {
            let tips = self.tips()?.iter();
            let ids = tips.filter_map(|(_, hex)| hex.parse::<ObjectId>().ok());
            Ok(remove_duplicates(ids))
        })
        .map(Vec::as_slice)
    }

    /// The trees that they lead to, read once for all clones.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn trees(
        &self,
        read: impl FnOnce() -> Result<Vec<RecordedTree>, Error>,
    ) -> Result<&[RecordedTree], Error> {
        get_or_try(&self.lazy.trees, read).map(Vec::as_slice)
    }

    /// The last lists of what is not among them, for all clones.
    pub(super) fn born_listings(&self) -> &NameListings {
        &self.lazy.born
    }

    /// The shared names that no record claims; `None` where judgements of this repository compared with these refs alone so far: to know
    /// them, the HEAD of each worktree is read.
    pub(super) fn unclaimed_listings(&self, common_dir: &Path) -> Option<&NameListings> {
        let (listings, first) = &*self.unclaimed.as_ref()?.0;
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.0 != common_dir {
            *first = (common_dir.to_owned(), Arc::downgrade(&self.lazy));
        }
        (first.1.as_ptr() != Arc::as_ptr(&self.lazy)).then_some(listings)
    }
}

/// The value of a cell. `read` fills an empty one; the next call repeats a failed reading.
fn get_or_try<T>(cell: &OnceLock<T>, read: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = read()?;
    Ok(cell.get_or_init(|| value))
}

/// The objects, each once.
pub(super) fn remove_duplicates(objects: impl Iterator<Item = ObjectId>) -> Vec<ObjectId> {
    let mut objects: Vec<ObjectId> = objects.collect();
    objects.sort();
    objects.dedup();
    objects
}

impl From<LazyRefs> for KnownRefs {
    fn from(lazy: LazyRefs) -> Self {
        KnownRefs {
            lazy: Arc::new(lazy),
            unclaimed: None,
        }
    }
}

impl From<RefList> for KnownRefs {
    fn from(tips: RefList) -> Self {
        KnownRefs::from(LazyRefs {
            tips: OnceLock::from(Arc::new(tips)),
            ..LazyRefs::default()
        })
    }
}

impl From<Vec<RefTip>> for KnownRefs {
    fn from(tips: Vec<RefTip>) -> Self {
        RefList::from_iter(tips).into()
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
                _ => Ok([("refs/heads/main", "1".repeat(40))].into_iter().collect()),
            })
        };
        assert_eq!(reads.load(Ordering::Relaxed), 0);
        let refused = known_refs.tips().unwrap_err().to_string();
        assert!(
            refused.contains("recorded with the baseline") && refused.contains("the disk is busy"),
            "{refused}"
        );
        for shared_refs in [known_refs.clone(), known_refs] {
            assert_eq!(shared_refs.tips().unwrap().iter().count(), 1);
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
