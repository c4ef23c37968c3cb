//! The real Claude Code CLI, pinned, in front of the scripted API: where it is, and the environment that keeps it
//! from talking to anything else.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::command::Run;
use super::{MessagesApi, Repo, Rule, TestEnv};

/// The version that these tests are written against; `scripts/test` installs it.
const VERSION: &str = "2.1.328";

/// An environment in which `claude` is the real CLI and the API behind it is scripted.
pub struct Claude {
    /// The hermetic environment.
    pub env: TestEnv,
    /// The API that answers.
    pub api: MessagesApi,
}

impl Claude {
    /// Starts the API and makes `claude` callable.
    #[track_caller]
    pub fn answering(rules: impl IntoIterator<Item = Rule>) -> Self {
        let mut env = TestEnv::new();
        let api = MessagesApi::start(rules);
        env.install("claude", &program());
        env.set("ANTHROPIC_API_KEY", "test-not-a-key");
        env.set("ANTHROPIC_BASE_URL", api.base_url());
        for name in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
        ] {
            env.set(name, "1");
        }
        Claude { env, api }
    }

    /// `claude` itself, to be run in a repository.
    pub fn command(&self, repo: &Repo<'_>, args: &[&str]) -> Run {
        self.env
            .command(OsString::from("claude"), repo.path())
            .args(args)
    }

    /// The transcripts of all sessions, by path, with their bytes and times of change.
    pub fn transcripts(&self) -> Vec<Transcript> {
        let mut found = Vec::new();
        let projects = self.env.home().join(".claude/projects");
        for folder in fs::read_dir(projects).into_iter().flatten().flatten() {
            for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                if file
                    .path()
                    .extension()
                    .is_some_and(|extension| extension == "jsonl")
                {
                    found.push(Transcript::read(&file.path()));
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }
}

/// One transcript at one moment.
#[derive(PartialEq, Eq, Clone)]
pub struct Transcript {
    /// Where it is; the file's stem is the session's id.
    pub path: PathBuf,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// When it was last written.
    pub written: std::time::SystemTime,
}

impl Transcript {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).expect("a transcript can be read");
        let written = fs::metadata(path)
            .and_then(|data| data.modified())
            .expect("a transcript has a time");
        Transcript {
            path: path.to_owned(),
            bytes,
            written,
        }
    }
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} ({} bytes, {:?})",
            self.path.display(),
            self.bytes.len(),
            self.written
        )
    }
}

/// Where the pinned package has its binary. A missing one fails the test: nothing is skipped in silence.
#[track_caller]
fn program() -> PathBuf {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => panic!("the Claude Code CLI has no package for {other}"),
    };
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!(
        "target/claude-code/node_modules/@anthropic-ai/claude-code-linux-{arch}"
    ));
    let manifest = fs::read_to_string(package.join("package.json")).unwrap_or_default();
    let found = serde_json::from_str::<serde_json::Value>(&manifest)
        .ok()
        .and_then(|json| Some(json["version"].as_str()?.to_string()));
    assert_eq!(
        found.as_deref(),
        Some(VERSION),
        "the Claude Code CLI {VERSION} is not in {}: run `scripts/test --install-only`, which puts it there",
        package.display()
    );
    package.join("claude")
}
