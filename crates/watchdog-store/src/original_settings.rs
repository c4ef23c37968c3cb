//! The settings files as they were before watchdog's hooks came in, so that taking them out gives back every byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::StoreError;
use crate::file::replace_file;
use crate::state_dir::StateDir;
use serde::{Deserialize, Serialize};

/// A file before and after the hooks came in.
#[derive(Debug, Serialize, Deserialize)]
struct OriginalText {
    before: Option<String>,
    after: String,
}

/// The original texts by path. A state directory that cannot be read has none: the hooks are then taken out by an edit.
#[derive(Debug)]
pub struct OriginalSettings<'a> {
    state: &'a StateDir,
    texts: BTreeMap<String, OriginalText>,
}

impl<'a> OriginalSettings<'a> {
    /// Reads them.
    pub fn from_state(state: &'a StateDir) -> Self {
        let bytes = fs::read(state.hook_settings()).unwrap_or_default();
        let texts = serde_json::from_slice(&bytes).unwrap_or_default();
        OriginalSettings { state, texts }
    }

    /// The text before watchdog wrote that of `now`; `None` where somebody changed the file since, or watchdog did not write it.
    pub fn original_text(&self, file: &Path, now: Option<&str>) -> Option<&Option<String>> {
        let original = self.texts.get(&*file.to_string_lossy())?;
        (now == Some(&original.after)).then_some(&original.before)
    }

    /// Notes that watchdog wrote `after` in the place of `before`; without hooks in it there is nothing to give back.
    ///
    /// # Errors
    /// When the state directory cannot be written.
    pub fn note_change(
        &mut self,
        file: &Path,
        before: &Option<String>,
        after: &Option<String>,
    ) -> Result<(), StoreError> {
        let key = file.to_string_lossy().into_owned();
        let before = before.clone();
        match after.clone().filter(|_| after != &before) {
            Some(after) => drop(self.texts.insert(key, OriginalText { before, after })),
            None if self.texts.remove(&key).is_none() => return Ok(()),
            None => {}
        }
        self.state.ensure()?;
        let bytes = serde_json::to_vec(&self.texts).expect("it is text alone");
        replace_file(&self.state.hook_settings(), &bytes)
    }
}
