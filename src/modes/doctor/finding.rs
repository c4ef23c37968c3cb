//! What the doctor found: how it stands, and how to mend it.

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

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// What was looked at.
    pub what: &'static str,
    /// How it stands.
    pub state: FindingState,
    /// What was found.
    pub detail: String,
    /// How to mend it: a command to type, or what to do.
    pub mend: Option<String>,
}

impl DoctorFinding {
    /// Something that is as it should be.
    pub fn ok(what: &'static str, detail: impl Into<String>) -> Self {
        DoctorFinding { what, state: FindingState::Ok, detail: detail.into(), mend: None }
    }

    /// Something worth knowing, with what could be done.
    pub fn note(what: &'static str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        DoctorFinding { state: FindingState::Note, mend: Some(mend.into()), ..Self::ok(what, detail) }
    }

    /// Something that is wrong, with how to mend it.
    pub fn wrong(what: &'static str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        DoctorFinding { state: FindingState::Wrong, mend: Some(mend.into()), ..Self::ok(what, detail) }
    }

    /// Whether nothing is wrong.
    pub fn is_well(&self) -> bool {
        self.state != FindingState::Wrong
    }
}
