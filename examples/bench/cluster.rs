//! A PostgreSQL server of the benchmark's own on loopback, with the fleet's tables in it.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use watchdog_fleet::FleetServer;
use watchdog_fleet::connection_settings::ConnectionSettings;
use watchdog_fleet::migrations::migrate_tables;

use super::Result;

/// Starts and stops it.
const SCRIPT: &str = "crates/watchdog-fleet/tests/cluster";

/// The database, which the role `owner` owns.
const DATABASE: &str = "bench";

/// A running server; it ends with this value.
pub struct BenchCluster {
    folder: tempfile::TempDir,
    psql: PathBuf,
    port: u16,
    pooler: Option<u16>,
    /// While this process has it, the server runs.
    _held: File,
}

impl BenchCluster {
    pub fn start() -> Result<Self> {
        // The path of its socket must be short, and its user must come in.
        let folder = tempfile::Builder::new()
            .prefix("watchdog-bench-")
            .tempdir_in("/tmp")?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let held = File::create(folder.path().join("users.lock"))?;
        flock(&held, FlockOperation::LockShared)?;
        let (psql, port, pooler) = start(folder.path())?;
        let cluster = BenchCluster {
            folder,
            psql,
            port,
            pooler,
            _held: held,
        };
        cluster.sql(
            "postgres",
            &format!("CREATE DATABASE {DATABASE} OWNER owner"),
        )?;
        migrate_tables(
            &FleetServer::new(settings(&cluster.address("owner", port))?)?,
            "worker",
        )?;
        Ok(cluster)
    }

    /// Runs SQL as a superuser, and returns what it printed.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String> {
        let mut command = Command::new(&self.psql);
        command.args([
            "-qXAt",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "postgres",
            "-d",
            database,
            "-c",
            sql,
        ]);
        let done = command
            .arg("-h")
            .arg(self.folder.path().join("socket"))
            .args(["-p", &self.port.to_string()])
            .output()?;
        if !done.status.success() {
            return Err(format!("{sql}: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    /// The same in the fleet's database.
    pub fn fleet_sql(&self, sql: &str) -> Result<String> {
        self.sql(DATABASE, sql)
    }

    fn authority(&self) -> PathBuf {
        self.folder.path().join("tls/ca.crt")
    }

    /// The address of the fleet for a role, with its password and with everything checked.
    pub fn address(&self, role: &str, port: u16) -> String {
        self.address_of(DATABASE, role, port)
    }

    /// The same of another database.
    pub fn address_of(&self, database: &str, role: &str, port: u16) -> String {
        let authority = self.authority();
        let authority = authority.display();
        format!(
            "postgres://{role}:secret%20of%20{role}@localhost:{port}/{database}?sslmode=verify-full&sslrootcert={authority}"
        )
    }

    /// The port of the server itself.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A worker's connection, over TLS, which its first call makes.
    pub fn server(&self) -> Result<Arc<FleetServer>> {
        connection(&self.address("worker", self.port))
    }

    /// A worker's connection through a pooler in transaction mode; `None` where none is installed.
    pub fn pooled_server(&self) -> Result<Option<Arc<FleetServer>>> {
        self.pooler
            .map(|port| connection(&self.address("worker", port)))
            .transpose()
    }

    /// pgbench against the fleet's database, as the worker, with the same TLS and the same settings of the session.
    pub fn pgbench(&self) -> Result<Command> {
        let programs = self.psql.canonicalize()?;
        let beside = programs.with_file_name("pgbench");
        let program = if beside.exists() {
            beside
        } else {
            "pgbench".into()
        };
        let mut command = Command::new(program);
        command.args([
            "--no-vacuum",
            "--protocol=extended",
            "-h",
            "localhost",
            "-U",
            "worker",
            "-p",
            &self.port.to_string(),
        ]);
        command
            .env("PGPASSWORD", "secret of worker")
            .env("PGSSLMODE", "verify-full")
            .env("PGSSLROOTCERT", self.authority());
        command
            .env("PGDATABASE", DATABASE)
            .env("PGGSSENCMODE", "disable");
        command
            .env(
                "PGOPTIONS",
                "-c statement_timeout=10000 -c idle_in_transaction_session_timeout=60000",
            )
            .stdin(Stdio::null());
        Ok(command)
    }

    /// A setting that takes a start of the server.
    pub fn restart_with(&mut self, setting: &str) -> Result<()> {
        self.sql("postgres", &format!("ALTER SYSTEM SET {setting}"))?;
        run("stop", self.folder.path())?;
        (self.psql, self.port, self.pooler) = start(self.folder.path())?;
        Ok(())
    }

    /// The CPU time of the server with all its processes.
    pub fn cpu_seconds(&self) -> Result<f64> {
        let first = fs::read_to_string(self.folder.path().join("data/postmaster.pid"))?;
        let server = first.lines().next().unwrap_or_default().to_owned();
        let mut ticks = 0;
        for process in fs::read_dir("/proc")?.flatten() {
            let Ok(stat) = fs::read_to_string(process.path().join("stat")) else {
                continue;
            };
            let Some((head, tail)) = stat.rsplit_once(") ") else {
                continue;
            };
            let fields: Vec<&str> = tail.split(' ').collect();
            // Those that ended are counted with the first, which waited for them.
            let counted = match head.split(' ').next() == Some(&server) {
                true => 11..15,
                false if fields.get(1) == Some(&server.as_str()) => 11..13,
                false => continue,
            };
            for field in &fields[counted] {
                ticks += field.parse::<u64>()?;
            }
        }
        Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }
}

impl Drop for BenchCluster {
    fn drop(&mut self) {
        let _ = run("stop", self.folder.path());
    }
}

fn connection(address: &str) -> Result<Arc<FleetServer>> {
    Ok(Arc::new(
        FleetServer::new(settings(address)?)?.needing_its_format(),
    ))
}

fn settings(address: &str) -> Result<ConnectionSettings> {
    Ok(ConnectionSettings::from_address(address, &|_| None)?)
}

fn run(what: &str, folder: &Path) -> Result<String> {
    let done = Command::new(SCRIPT)
        .arg(what)
        .arg(folder)
        .stdin(Stdio::null())
        .output()?;
    if !done.status.success() {
        return Err(format!("{SCRIPT} {what}: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn start(folder: &Path) -> Result<(PathBuf, u16, Option<u16>)> {
    let said = run("start", folder)?;
    let mut lines = said.lines();
    let (psql, port) = (
        lines.next().ok_or("no path of psql")?,
        lines.next().ok_or("no port")?,
    );
    Ok((
        psql.into(),
        port.parse()?,
        lines.next().map(str::parse).transpose()?,
    ))
}
