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

    /// Notes the text that is about to come in the place of that of `now`; without a text there is no file.
    ///
    /// # Errors
    /// When the state directory cannot be written.
    pub fn note_change(
        &mut self,
        file: &Path,
        now: Option<&str>,
        after: Option<&str>,
    ) -> Result<(), StoreError> {
        let before = match self.original_text(file, now) {
            Some(original) => original.clone(),
            None => now.map(str::to_owned),
        };
        let key = file.to_string_lossy().into_owned();
        match after
            .filter(|_| after != before.as_deref())
            .map(str::to_owned)
        {
            Some(after) => drop(self.texts.insert(key, OriginalText { before, after })),
            None => drop(self.texts.remove(&key)),
        }
        self.state.ensure()?;
        let bytes = serde_json::to_vec(&self.texts).expect("it is text alone");
        replace_file(&self.state.hook_settings(), &bytes)
    }
}
