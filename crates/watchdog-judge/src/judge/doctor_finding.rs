//! A finding of the doctor: how it stands, and how to mend it.

use std::path::PathBuf;

use crate::hooks::settings_file::SettingsFile;

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingState {
    /// As it should be.
    Ok,
    /// Worth knowing, and no fault.
    Note,
    /// Not as it should be.
    Wrong,
}

impl FindingState {
    /// The word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            FindingState::Ok => "ok",
            FindingState::Note => "note",
            FindingState::Wrong => "wrong",
        }
    }
}

/// A finding about a single subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The subject.
    pub what: &'static str,
    /// How it stands.
    pub state: FindingState,
    /// The finding.
    pub detail: String,
    /// How to mend it: a command to type, or what to do.
    pub mend: Option<String>,
    /// The mend that `--fix` makes: only to watchdog's own things, and only without loss.
    pub safe: Option<SafeMend>,
    /// What `--fix` did about it.
    pub fixed: Option<String>,
}

impl DoctorFinding {
    /// Whether nothing is wrong with it, or not any more.
    pub fn is_well(&self) -> bool {
        self.state != FindingState::Wrong || self.fixed.is_some()
    }
}

/// Something that can be mended without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SafeMend {
    /// Takes the rights of other users away from these files and folders of watchdog's own.
    Close(Vec<PathBuf>),
    /// Removes lock files whose holders died, unless somebody holds one by now.
    RemoveLocks(Vec<PathBuf>),
    /// Writes the hooks of this version into a settings file.
    WriteHooks {
        /// The file as it was read.
        file: SettingsFile,
        /// Its new text.
        text: String,
    },
}

/// What was found so far, one thing after the other.
#[derive(Debug, Clone, Default)]
pub struct Findings(pub Vec<DoctorFinding>);

impl Findings {
    /// Something that is as it should be.
    pub fn ok(&mut self, what: &'static str, detail: impl Into<String>) {
        self.0.push(DoctorFinding {
            what,
            state: FindingState::Ok,
            detail: detail.into(),
            mend: None,
            safe: None,
            fixed: None,
        });
    }

    /// Something worth knowing, with what could be done.
    pub fn note(&mut self, what: &'static str, detail: impl Into<String>, mend: impl Into<String>) {
        self.add(FindingState::Note, what, detail, mend);
    }

    /// Something that is wrong, with how to mend it.
    pub fn wrong(
        &mut self,
        what: &'static str,
        detail: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.add(FindingState::Wrong, what, detail, mend);
    }

    /// Something in this state, with how to mend it.
    pub fn add(
        &mut self,
        state: FindingState,
        what: &'static str,
        detail: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.0.push(DoctorFinding {
            what,
            state,
            detail: detail.into(),
            mend: Some(mend.into()),
            safe: None,
            fixed: None,
        });
    }

    /// What `--fix` does about the last one.
    pub fn mended_by(&mut self, safe: SafeMend) {
        if let Some(last) = self.0.last_mut() {
            last.safe = Some(safe);
        }
    }
}
