//! Errors of the fleet's server, in words that say what happened, why, and what to do next; never with a password.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::error::{DbError, SqlState};
use watchdog_store::StoreError;

use crate::call_deadlines::CALL_DEADLINE;

/// Why the fleet's server could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The address cannot be understood.
    #[error("the server's address cannot be used: {why}")]
    BadAddress {
        /// The fault in it, without the address, which may hold a password.
        why: String,
    },
    /// A variable of the environment has a value that libpq would not take either.
    #[error("{name} cannot be used: {why}")]
    BadVariable {
        /// The variable.
        name: &'static str,
        /// The fault in its value.
        why: String,
    },
    /// The file with passwords may be read by others, so it is not read, as libpq has it.
    #[error("{path} is not read: other users may read it too (mode {mode:o})")]
    OpenPassFile {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A file that was named cannot be read.
    #[error("cannot read {path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error, or what is wrong with its content.
        why: String,
    },
    /// The server did not answer, or the connection broke and could not be made again.
    #[error("cannot reach {server}: {why}")]
    Unreachable {
        /// Host and port.
        server: String,
        /// The system's error.
        why: String,
    },
    /// The server did not answer in time.
    #[error("{server} did not answer within {} s ({doing})", .within.as_secs())]
    Late {
        /// Host and port.
        server: String,
        /// The action, as a verb with its object.
        doing: &'static str,
        /// The deadline.
        within: Duration,
    },
    /// TLS was refused, by the server or by us.
    #[error("no TLS with {server}: {why}")]
    Tls {
        /// Host and port.
        server: String,
        /// Which of both refused, and why.
        why: String,
    },
    /// The server let nobody in with this name and password.
    #[error("{server} refused user '{user}': {why}")]
    Login {
        /// Host and port.
        server: String,
        /// The name.
        user: String,
        /// The server's words, or what was missing.
        why: String,
    },
    /// The server has no such database.
    #[error("{server} has no database '{database}'")]
    NoDatabase {
        /// Host and port.
        server: String,
        /// The name that was asked for.
        database: String,
    },
    /// The server is too old.
    #[error("{server} is PostgreSQL {version}; watchdog needs 15 or later")]
    OldServer {
        /// Host and port.
        server: String,
        /// The server's version.
        version: String,
    },
    /// The database has none of watchdog's tables.
    #[error("database '{database}' of {server} holds no fleet")]
    NoSchema {
        /// Host and port.
        server: String,
        /// The database.
        database: String,
    },
    /// A newer watchdog made the tables.
    #[error("the fleet has format {found}, and this watchdog knows formats up to {newest_format}")]
    NewerSchema {
        /// The format that the database names.
        found: i32,
        /// The newest format that this program knows.
        newest_format: i32,
    },
    /// The tables are those of an earlier program.
    #[error("the fleet has format {found}, and this watchdog needs format {needed_format}")]
    OlderSchema {
        /// The format that the database names.
        found: i32,
        /// The format of this program.
        needed_format: i32,
    },
    /// The role may not do it.
    #[error("failed to {doing}: user '{user}' may not ({why})")]
    NoRight {
        /// The action, as a verb with its object.
        doing: &'static str,
        /// The role.
        user: String,
        /// The server's words.
        why: String,
    },
    /// The server takes no writes, as a standby does.
    #[error("failed to {doing}: {server} is read-only, as a standby is")]
    ReadOnly {
        /// The action, as a verb with its object.
        doing: &'static str,
        /// Host and port.
        server: String,
    },
    /// The server has no room left.
    #[error("failed to {doing}: {server} has no room left ({why})")]
    Full {
        /// The action, as a verb with its object.
        doing: &'static str,
        /// Host and port.
        server: String,
        /// The server's words.
        why: String,
    },
    /// Another machine of the fleet has this name.
    #[error("the fleet has a machine '{name}' already, and it is not this one")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Somebody took this machine out of the fleet.
    #[error("this machine ('{name}') was removed from the fleet")]
    Removed {
        /// Its name there.
        name: String,
    },
    /// The server refused for a reason of its own.
    #[error("failed to {doing} on {server}: {why}")]
    Refused {
        /// The action, as a verb with its object.
        doing: &'static str,
        /// Host and port.
        server: String,
        /// The server's words.
        why: String,
    },
    /// The system gave no thread or socket.
    #[error("cannot begin to talk with the fleet's server: {why}")]
    NoRuntime {
        /// The system's error.
        why: String,
    },
}

impl FleetError {
    /// The remedy, for a person.
    pub fn hint(&self) -> String {
        match self {
            FleetError::BadAddress { .. } => "write it as postgres://USER@HOST:PORT/DATABASE".into(),
            FleetError::BadVariable { name, .. } => format!("correct {name}, or unset it"),
            FleetError::OpenPassFile { .. } => "close it with: chmod 600 on that file".into(),
            FleetError::File { .. } => "see whether it is there and yours to read".into(),
            FleetError::Unreachable { .. } | FleetError::Late { .. } => {
                "see whether the server runs and this machine may reach it; what happened meanwhile is kept here".into()
            }
            FleetError::Tls { .. } => {
                "name the authority that signed the server's certificate with PGSSLROOTCERT; sslmode=require gives up the check of who it is"
                    .into()
            }
            FleetError::Login { .. } => "give the password in PGPASSWORD, in the file of PGPASSFILE (0600), or in the address".into(),
            FleetError::NoDatabase { .. } => "have it made with: createdb; or name another in the address".into(),
            FleetError::OldServer { .. } => "use a server of version 15 or later".into(),
            FleetError::NoSchema { .. } => "have its owner run: watchdog fleet init URL".into(),
            FleetError::NewerSchema { .. } => "use the newer watchdog that made it; nothing was changed".into(),
            FleetError::OlderSchema { .. } => "have its owner run with this version: watchdog fleet init URL".into(),
            FleetError::NoRight { .. } => "see which rights are needed: watchdog fleet init --print-sql".into(),
            FleetError::ReadOnly { .. } => "name the primary server in the address, or several hosts of which one is it".into(),
            FleetError::Full { .. } => "free some space there; what happened meanwhile is kept here".into(),
            FleetError::NameTaken { .. } => "choose another name, or have that machine leave with: watchdog fleet leave".into(),
            FleetError::Removed { .. } => "join again with: watchdog fleet join URL --name NAME; or forget it with: watchdog fleet leave".into(),
            FleetError::Refused { .. } => "see the server's log".into(),
            FleetError::NoRuntime { .. } => "see how many processes and files this user may have: ulimit -a".into(),
        }
    }
}

impl From<FleetError> for StoreError {
    fn from(error: FleetError) -> Self {
        StoreError::Shared {
            why: error.to_string(),
            remedy: error.hint(),
        }
    }
}

/// Whom an error is about.
#[derive(Debug, Clone)]
pub(crate) struct ServerNames {
    /// Host and port.
    pub(crate) server: String,
    /// The role.
    pub(crate) user: String,
    /// The database.
    pub(crate) database: String,
}

impl ServerNames {
    /// Sorts an error of the driver by what a person can do about it.
    pub(crate) fn error(&self, doing: &'static str, error: &tokio_postgres::Error) -> FleetError {
        match error.as_db_error() {
            Some(db_error) => self.refusal(doing, db_error),
            None => self.broken(doing, error),
        }
    }

    fn refusal(&self, doing: &'static str, db_error: &DbError) -> FleetError {
        let (server, user) = (self.server.clone(), self.user.clone());
        let why = one_line(db_error.message());
        let code = db_error.code();
        if *code == SqlState::INVALID_PASSWORD
            || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        {
            // Without TLS, `pg_hba.conf` may have no line for us: the same code.
            if why.contains("no encryption") {
                return FleetError::Tls { server, why };
            }
            return FleetError::Login { server, user, why };
        }
        if *code == SqlState::INVALID_CATALOG_NAME {
            return FleetError::NoDatabase {
                server,
                database: self.database.clone(),
            };
        }
        if *code == SqlState::INSUFFICIENT_PRIVILEGE {
            return FleetError::NoRight { doing, user, why };
        }
        if *code == SqlState::UNDEFINED_TABLE
            || *code == SqlState::INVALID_SCHEMA_NAME
            || *code == SqlState::UNDEFINED_FUNCTION
        {
            return FleetError::NoSchema {
                server,
                database: self.database.clone(),
            };
        }
        if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
            return FleetError::ReadOnly { doing, server };
        }
        if *code == SqlState::QUERY_CANCELED || *code == SqlState::LOCK_NOT_AVAILABLE {
            return FleetError::Late {
                server,
                doing,
                within: CALL_DEADLINE,
            };
        }
        if *code == SqlState::DISK_FULL || *code == SqlState::OUT_OF_MEMORY {
            return FleetError::Full { doing, server, why };
        }
        if ends_the_connection(db_error) {
            return FleetError::Unreachable { server, why };
        }
        FleetError::Refused { doing, server, why }
    }

    fn broken(&self, doing: &'static str, error: &tokio_postgres::Error) -> FleetError {
        let server = self.server.clone();
        let kind = error.to_string();
        let cause = describe_root_cause(error);
        // The driver's words where none of several hosts takes writes.
        if cause.contains("does not allow writes") {
            return FleetError::ReadOnly { doing, server };
        }
        if kind.contains("TLS handshake") || is_tls(error) {
            return FleetError::Tls {
                server,
                why: if cause == kind { kind } else { cause },
            };
        }
        if kind.contains("authentication") || cause.contains("password missing") {
            return FleetError::Login {
                server,
                user: self.user.clone(),
                why: cause,
            };
        }
        FleetError::Unreachable { server, why: cause }
    }
}

/// Whether the server said it while it closed the connection: it shuts down, starts, or has no place.
pub(crate) fn ends_the_connection(db_error: &DbError) -> bool {
    let code = db_error.code().code();
    code.starts_with("57P")
        || code.starts_with("08")
        || code == "53300"
        || matches!(db_error.severity(), "FATAL" | "PANIC")
}

fn is_tls(error: &tokio_postgres::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.downcast_ref::<rustls::Error>().is_some()
            || error
                .downcast_ref::<std::io::Error>()
                .and_then(std::io::Error::get_ref)
                .is_some_and(|inner| inner.is::<rustls::Error>())
        {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The last of a chain of causes, which says most.
fn describe_root_cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    one_line(&last.to_string())
}

/// A server's words may come from anybody who answers on that port.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(300)
        .collect()
}
