//! A PostgreSQL server of its own for a bench, in a scratch folder, as the tests start it.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::Result;

/// A server; dropped, it is stopped and its folder removed.
pub struct FleetServer {
    dir: PathBuf,
    psql: PathBuf,
    pub port: u16,
    /// Held for as long as the server is wanted.
    _held: File,
}

impl FleetServer {
    /// Makes a cluster and starts it.
    pub fn start() -> Result<Self> {
        // The path of a socket must be short, and the server's own user must reach it.
        let dir = Path::new("/tmp").join(format!("watchdog-bench-{}", std::process::id()));
        DirBuilder::new().mode(0o755).create(&dir)?;
        let held = File::create(dir.join("users.lock"))?;
        held.lock_shared()?;
        let done = cluster("start", &dir)?;
        if !done.status.success() {
            return Err(format!("no server: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
        let said = String::from_utf8_lossy(&done.stdout);
        let mut lines = said.lines();
        let psql = lines.next().ok_or("no path of psql")?.into();
        let port = lines.next().ok_or("no port")?.parse()?;
        Ok(FleetServer { dir, psql, port, _held: held })
    }

    /// The address of a database for a role, with TLS and scram.
    pub fn address(&self, role: &str, database: &str) -> String {
        let (port, authority) = (self.port, self.dir.join("tls/ca.crt"));
        let authority = authority.display();
        format!("postgres://{role}:secret%20of%20{role}@localhost:{port}/{database}?sslmode=verify-full&sslrootcert={authority}")
    }

    /// Runs SQL as a superuser, and returns what it printed.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String> {
        let done = Command::new(&self.psql)
            .args(["-qXAt", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database, "-p", &self.port.to_string(), "-h"])
            .arg(self.dir.join("socket"))
            .args(["-c", sql])
            .stdin(Stdio::null())
            .output()?;
        if !done.status.success() {
            return Err(format!("{sql}: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }
}

impl Drop for FleetServer {
    fn drop(&mut self) {
        let _ = cluster("stop", &self.dir);
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn cluster(word: &str, dir: &Path) -> Result<Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/watchdog-fleet/tests/cluster");
    Ok(Command::new(script).arg(word).arg(dir).stdin(Stdio::null()).output()?)
}
