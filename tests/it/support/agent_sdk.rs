//! The Claude Agent SDK for Python, pinned: where it is, and the interpreter that it was installed for.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The version that these tests are written against; `scripts/test` installs it.
const VERSION: &str = "0.2.184";

/// An installed SDK.
pub struct AgentSdk {
    /// The Python that it was installed for.
    pub interpreter: OsString,
    /// What goes into `PYTHONPATH`.
    pub packages: PathBuf,
}

impl AgentSdk {
    /// The pinned SDK. A missing one fails the test: nothing is skipped in silence.
    #[track_caller]
    pub fn installed() -> Self {
        let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/agent-sdk");
        let installed = packages
            .join(format!("claude_agent_sdk-{VERSION}.dist-info"))
            .is_dir();
        let interpreter = fs::read_to_string(packages.join("interpreter"))
            .ok()
            .filter(|_| installed);
        let interpreter = interpreter.unwrap_or_else(|| {
            panic!(
                "the Claude Agent SDK {VERSION} is not in {}: run `scripts/test --install-only`, which puts it there",
                packages.display()
            )
        });
        AgentSdk {
            interpreter: interpreter.trim().into(),
            packages,
        }
    }
}
