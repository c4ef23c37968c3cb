//! Has git write refs durably. A write counts once git reads it back.

use gix::ObjectId;

use super::mirror::RefValue;
use super::served_worktree::ServedWorktree;
use crate::Error;

impl ServedWorktree {
    /// Creates a ref; `false` where the name is taken.
    pub(crate) fn create(&self, name: &str, id: ObjectId, message: &str) -> Result<bool, Error> {
        let wrote = self.update(&format!("create {name} {id}\n"), message);
        self.refresh()?;
        match (wrote, self.read_value(name)) {
            (Ok(()), Some(RefValue::Object(held))) if held == id => Ok(true),
            (Ok(()), _) => Err(self.unkept(name)),
            (Err(_), Some(_)) => Ok(false),
            (Err(error), None) => Err(error),
        }
    }

    /// Points a ref at an object, whether it was there or not.
    pub(crate) fn set_ref(&self, name: &str, id: ObjectId, message: &str) -> Result<(), Error> {
        self.update(&format!("update {name} {id}\n"), message)?;
        self.refresh()?;
        if self.read_value(name) == Some(RefValue::Object(id)) {
            Ok(())
        } else {
            Err(self.unkept(name))
        }
    }

    /// Deletes a ref, provided that it still names `id`.
    pub(crate) fn delete(&self, name: &str, id: ObjectId) -> Result<(), Error> {
        self.update(&format!("delete {name} {id}\n"), "watchdog: dropped")?;
        self.refresh()
    }

    /// The branches that HEAD of any worktree of this repository names, whole.
    pub(crate) fn checked_out(&self) -> Result<Vec<String>, Error> {
        let git_output = self.git_output(&["worktree", "list", "--porcelain", "-z"], &[])?;
        let branch = |line: &[u8]| {
            Some(String::from_utf8_lossy(line.strip_prefix(b"branch ")?).into_owned())
        };
        Ok(git_output
            .split(|byte| *byte == 0)
            .filter_map(branch)
            .collect())
    }

    fn update(&self, line: &str, message: &str) -> Result<(), Error> {
        self.git_output(
            &["update-ref", "-m", message, "--no-deref", "--stdin"],
            line.as_bytes(),
        )
        .map(drop)
    }

    fn read_value(&self, name: &str) -> Option<RefValue> {
        self.seen.borrow().refs.get(name).cloned()
    }

    fn unkept(&self, name: &str) -> Error {
        self.silence_error(
            &["update-ref"],
            &format!("it wrote {name}, and does not tell of it"),
        )
    }
}
