//! A PostgreSQL server of a round's own, which can be stopped at once and started again.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};

use crate::support::test_database::scratch_of_servers;

/// The server; dropped, it is stopped and its folder removed.
pub struct OwnServer {
    dir: PathBuf,
    psql: PathBuf,
    pub port: u16,
    /// While it is held, the server is not stopped for want of users.
    _held: File,
}

impl OwnServer {
    /// Makes a cluster and starts it.
    pub fn start(seed: u64) -> Self {
        let dir =
            scratch_of_servers().join(format!("watchdog-proof-{}-{seed}", std::process::id()));
        DirBuilder::new()
            .mode(0o755)
            .create(&dir)
            .expect("a folder of its own");
        let held = File::create(dir.join("users.lock")).expect("a lock file");
        flock(&held, FlockOperation::LockShared).expect("nobody else has it");
        let (psql, port) = call_for_port(&dir, "start");
        let server = OwnServer {
            dir,
            psql,
            port,
            _held: held,
        };
        server.sql("postgres", "CREATE DATABASE fleet OWNER owner");
        server
    }

    /// Ends it as a power cut does: nothing is finished, nothing is told.
    pub fn stop_at_once(&self) {
        self.call("stop-at-once");
    }

    /// Starts it again; it may have another port then.
    pub fn start_again(&mut self) {
        self.port = call_for_port(&self.dir, "start").1;
    }

    /// Gives it a second server that has every commit before it is acknowledged.
    pub fn add_standby(&self) {
        self.call("standby");
    }

    /// Ends the first server at once, and lets the second one take its place.
    pub fn fail_over(&mut self) {
        self.port = call_for_port(&self.dir, "fail-over").1;
    }

    /// The address of its database for a role, through `port`.
    pub fn address(&self, role: &str, port: u16) -> String {
        let authority = self.dir.join("tls/ca.crt");
        let authority = authority.display();
        format!(
            "postgres://{role}:secret%20of%20{role}@localhost:{port}/fleet?sslmode=verify-full&sslrootcert={authority}"
        )
    }

    /// Runs SQL as a superuser, and returns the rows, their columns separated by `|`.
    #[track_caller]
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.try_sql(database, sql)
            .unwrap_or_else(|said| panic!("{sql}: {said}"))
    }

    /// As [`OwnServer::sql`]; what psql said where it failed.
    pub fn try_sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let done = Command::new(&self.psql)
            .args([
                "-qXAt",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "postgres",
                "-d",
                database,
                "-p",
                &self.port.to_string(),
                "-h",
            ])
            .arg(self.dir.join("socket"))
            .args(["-c", sql])
            .stdin(Stdio::null())
            .output()
            .expect("psql runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if done.status.success() {
            Ok(text(&done.stdout))
        } else {
            Err(text(&done.stderr))
        }
    }

    fn call(&self, word: &str) {
        let done = cluster(&self.dir, word);
        assert!(
            done.status.success(),
            "{word}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let _ = cluster(&self.dir, "stop");
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn cluster(dir: &Path, word: &str) -> std::process::Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/watchdog-fleet/tests/cluster");
    Command::new(script)
        .arg(word)
        .arg(dir)
        .stdin(Stdio::null())
        .output()
        .expect("the script runs")
}

fn call_for_port(dir: &Path, word: &str) -> (PathBuf, u16) {
    let done = cluster(dir, word);
    assert!(
        done.status.success(),
        "no server: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let mut lines = said.lines();
    let psql = lines.next().expect("the path of psql").into();
    (
        psql,
        lines
            .next()
            .and_then(|port| port.parse().ok())
            .expect("a port"),
    )
}
