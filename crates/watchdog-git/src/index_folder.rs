//! The index seen folder by folder: which of its entries lie directly in a folder, and which below.

use std::borrow::Cow;
use std::ops::Range;

use gix::index::State;

/// The index entries of one folder, found by name.
pub(super) struct FolderIndexEntries<'i> {
    files: Vec<(Cow<'i, [u8]>, Range<usize>)>,
    folders: Vec<(Cow<'i, [u8]>, Range<usize>)>,
    fold: bool,
}

impl<'i> FolderIndexEntries<'i> {
    /// The children within `span`, all of whose paths begin with the same `prefix` bytes.
    /// With `fold`, names are compared regardless of case, as on file systems that do.
    pub(crate) fn new(index: &'i State, span: Range<usize>, prefix: usize, fold: bool) -> Self {
        let mut children = FolderIndexEntries {
            files: Vec::new(),
            folders: Vec::new(),
            fold,
        };
        let entries = index.entries();
        let mut at = span.start;
        while at < span.end {
            let path: &[u8] = entries[at].path(index);
            let below_prefix = &path[prefix..];
            // Folders follow one upon the other; a file has one entry, or one per side of a conflict.
            let (name, same, list) = match below_prefix.iter().position(|b| *b == b'/') {
                Some(slash) => (
                    &below_prefix[..slash],
                    &path[..=prefix + slash],
                    &mut children.folders,
                ),
                None => (below_prefix, path, &mut children.files),
            };
            let is_folder = same.len() < path.len();
            let later_entries = &entries[at + 1..span.end];
            let end =
                at + 1
                    + match is_folder {
                        true => later_entries
                            .partition_point(|entry| entry.path(index).starts_with(same)),
                        // A file has one entry, a conflict up to three: no need to search.
                        false => later_entries
                            .iter()
                            .take_while(|entry| entry.path(index) == same)
                            .count(),
                    };
            list.push((fold_name(name, fold), at..end));
            at = end;
        }
        // Folders are ordered by their name with a slash behind it, which is not the order of the names.
        children.folders.sort_by(|a, b| a.0.cmp(&b.0));
        if fold {
            children.files.sort_by(|a, b| a.0.cmp(&b.0));
        }
        children
    }

    /// Position of a file's entries in [`FolderIndexEntries::files`].
    pub(crate) fn file(&self, name: &[u8]) -> Option<usize> {
        let name = fold_name(name, self.fold);
        self.files
            .binary_search_by(|(other, _)| other.cmp(&name))
            .ok()
    }

    /// Position of a folder in [`FolderIndexEntries::folders`].
    pub(crate) fn folder(&self, name: &[u8]) -> Option<usize> {
        let name = fold_name(name, self.fold);
        self.folders
            .binary_search_by(|(other, _)| other.cmp(&name))
            .ok()
    }

    /// The index positions of each file's entries.
    pub(crate) fn files(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.files.iter().map(|(_, span)| span.clone())
    }

    /// The index positions below each folder.
    pub(crate) fn folders(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.folders.iter().map(|(_, span)| span.clone())
    }

    /// The index positions of one file's entries.
    pub(crate) fn file_span(&self, at: usize) -> Range<usize> {
        self.files[at].1.clone()
    }

    /// The index positions below one folder.
    pub(crate) fn folder_span(&self, at: usize) -> Range<usize> {
        self.folders[at].1.clone()
    }
}

fn fold_name(name: &[u8], fold: bool) -> Cow<'_, [u8]> {
    if fold {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}
