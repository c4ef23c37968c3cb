//! A database of its own for each test, on a real server that the tests of a run share and that ends with the last of them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};

/// The server, held for the life of this process.
struct SharedServer {
    dir: PathBuf,
    psql: PathBuf,
    port: u16,
    pooler: Option<u16>,
    /// While any process has it, the server runs.
    _held: File,
}

static SERVER: OnceLock<SharedServer> = OnceLock::new();
static DATABASES: AtomicU32 = AtomicU32::new(0);

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|top| top.join("crates/watchdog-fleet/tests/cluster"))
        .find(|path| path.exists())
        .expect("the script of the server")
}

/// Where servers have their folders: in memory where the tests' scratch files are, as a database is a thousand files. The path is short, as that
/// of a socket must be, and a server's own user reaches it.
pub fn scratch_of_servers() -> &'static Path {
    let memory = Path::new("/dev/shm");
    let in_memory =
        std::env::var_os("TMPDIR").is_some_and(|folder| Path::new(&folder).starts_with(memory));
    if in_memory { memory } else { Path::new("/tmp") }
}

fn lock_file(path: &Path) -> File {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .expect("a lock file")
}

fn server() -> &'static SharedServer {
    SERVER.get_or_init(|| {
        let script = script();
        // One for each checkout and user.
        let mut name: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in script.as_os_str().as_encoded_bytes() {
            name = (name ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
        let user = rustix::process::getuid().as_raw();
        let dir = scratch_of_servers().join(format!("watchdog-postgres-{user}-{name:x}"));
        match DirBuilder::new().mode(0o755).create(&dir) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                panic!("{}: {error}", dir.display())
            }
            _ => {}
        }
        let meta = fs::symlink_metadata(&dir).expect("the folder");
        assert!(
            meta.is_dir() && meta.uid() == user,
            "{} is somebody else's",
            dir.display()
        );
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("the folder's mode");
        let held = lock_file(&dir.join("users.lock"));
        flock(&held, FlockOperation::LockShared).expect("the lock of the users");
        let start = lock_file(&dir.join("start.lock"));
        flock(&start, FlockOperation::LockExclusive).expect("the lock of the start");
        let done = Command::new(&script)
            .arg("start")
            .arg(&dir)
            .stdin(Stdio::null())
            .output()
            .expect("the script runs");
        assert!(
            done.status.success(),
            "no server: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let (psql, ports) = said.split_once('\n').expect("a path and ports");
        let ports: Vec<u16> = ports
            .lines()
            .map(|line| line.parse().expect("a port"))
            .collect();
        SharedServer {
            dir,
            psql: psql.into(),
            port: ports[0],
            pooler: ports.get(1).copied(),
            _held: held,
        }
    })
}

/// An empty database that belongs to the role `owner`. The roles `owner`, `worker`, `nobody` and `plain` (without TLS) have the password
/// `secret of ROLE`.
pub struct TestDatabase {
    pub name: String,
}

impl TestDatabase {
    pub fn new() -> Self {
        let name = format!(
            "t_{}_{}",
            std::process::id(),
            DATABASES.fetch_add(1, Ordering::Relaxed)
        );
        psql(
            "postgres",
            &format!("CREATE DATABASE {name} OWNER owner STRATEGY wal_log"),
        );
        TestDatabase { name }
    }

    /// The address for a role, without a password, with everything checked.
    pub fn address(&self, role: &str) -> String {
        format!(
            "postgres://{role}@localhost:{}/{}?sslmode=verify-full&sslrootcert={}",
            self.port(),
            self.name,
            self.authority().display()
        )
    }

    /// The address with the password in it.
    pub fn full_address(&self, role: &str) -> String {
        self.address(role)
            .replacen('@', &format!(":secret%20of%20{role}@"), 1)
    }

    /// [`TestDatabase::full_address`] by another port.
    pub fn address_by(&self, role: &str, port: u16) -> String {
        let (own, other) = (format!(":{}/", self.port()), format!(":{port}/"));
        self.full_address(role).replacen(&own, &other, 1)
    }

    /// [`TestDatabase::full_address`] through a pooler in transaction mode; `None` where none is installed.
    pub fn pooler_address(&self, role: &str) -> Option<String> {
        Some(self.address_by(role, server().pooler?))
    }

    pub fn port(&self) -> u16 {
        server().port
    }

    /// The certificate of the authority that signed the server's, for `localhost` and `127.0.0.1`.
    pub fn authority(&self) -> PathBuf {
        server().dir.join("tls/ca.crt")
    }

    /// Another authority.
    pub fn other_authority(&self) -> PathBuf {
        server().dir.join("tls/other-ca.crt")
    }

    /// Runs SQL as a superuser, and returns what it printed.
    #[track_caller]
    pub fn sql(&self, sql: &str) -> String {
        psql(&self.name, sql)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // What is left is dropped at the next start.
        let _ = psql_command(
            "postgres",
            &format!("DROP DATABASE {} WITH (FORCE)", self.name),
        )
        .output();
    }
}

fn psql_command(database: &str, sql: &str) -> Command {
    let server = server();
    let mut command = Command::new(&server.psql);
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
    command
        .arg("-h")
        .arg(server.dir.join("socket"))
        .args(["-p", &server.port.to_string()])
        .stdin(Stdio::null());
    command
}

#[track_caller]
fn psql(database: &str, sql: &str) -> String {
    let done = psql_command(database, sql).output().expect("psql runs");
    assert!(
        done.status.success(),
        "{sql}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}
