//! A connection to the server, made again after a break. Every call ends within a deadline,
//! whatever the server does.
//!
//! No statement is prepared by name and nothing is set for the session, so that a pooler may give each transaction another session.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;
use tokio_postgres::config::{ChannelBinding, SslMode, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Error};

use crate::call_deadlines::{CALL_DEADLINE, INIT_DEADLINE};
use crate::connection_settings::{ConnectionSettings, TlsMode};
use crate::fleet_error::{FleetError, ServerNames, ends_the_connection};
use crate::table_format::{format_of, require_own_format};
use crate::tls::ServerTls;

/// A host that does not answer within this is skipped for the next.
const CONNECT_DEADLINE: Duration = Duration::from_secs(4);

/// A connection that lay idle for longer is tried before something is sent that must not be sent twice.
const STALE_AFTER: Duration = Duration::from_secs(1);

/// The oldest version that has what the tables need.
const OLDEST_VERSION: u32 = 15;

/// Whether a call may be sent again when its answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Sent twice, it has the effect of once.
    Safe,
    /// It may have been done: whoever called must look.
    Never,
}

/// How a call failed.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// It had no effect.
    Failed(FleetError),
    /// Sent, and no answer came: it may have had its effect.
    Unknown(FleetError),
}

impl From<CallFailure> for FleetError {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::Failed(error) | CallFailure::Unknown(error) => error,
        }
    }
}

/// A value of a statement, with its type: nothing is asked of the server first.
pub(crate) type SqlValue<'a> = (&'a (dyn ToSql + Sync), Type);

/// The connection and state that a call works with.
pub(crate) struct ServerCall<'a> {
    pub(crate) client: &'a mut Client,
    /// Whether this connection is told of new events.
    pub(crate) is_listening: &'a mut bool,
    /// A notification came, or the connection ended.
    pub(crate) woken: &'a Notify,
    may_have_committed: &'a Cell<bool>,
}

impl<'a> ServerCall<'a> {
    /// A transaction begins: until [`CommitMark::committing`] a break means that nothing was done. Without this call, each statement may
    /// have had its effect as soon as it was sent.
    pub(crate) fn before_commit(&self) -> CommitMark<'a> {
        self.may_have_committed.set(false);
        CommitMark(self.may_have_committed)
    }
}

/// The progress of a call in its transaction.
pub(crate) struct CommitMark<'a>(&'a Cell<bool>);

impl CommitMark<'_> {
    /// The commit is sent next.
    pub(crate) fn committing(&self) {
        self.0.set(true);
    }
}

/// The server of a fleet, over one connection of ours.
pub struct FleetServer {
    settings: ConnectionSettings,
    names: ServerNames,
    tls: ServerTls,
    needs_format: bool,
    state: Mutex<ServerState>,
}

struct ServerState {
    runtime: Option<Runtime>,
    open: Option<OpenConnection>,
    /// A pooler refused to pass on what we ask of the session.
    through_pooler: bool,
}

struct OpenConnection {
    client: Client,
    is_listening: bool,
    woken: Arc<Notify>,
    work: JoinHandle<()>,
    used: Instant,
    version: String,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl Drop for ServerState {
    fn drop(&mut self) {
        self.open = None;
        // Waits for nothing, as for a name that is being looked up.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl FleetServer {
    /// A server that is not connected to yet: the first call does that.
    ///
    /// # Errors
    /// Fails if the file of authorities cannot be read, or the system gives no event loop.
    pub fn new(settings: ConnectionSettings) -> Result<Self, FleetError> {
        let tls = ServerTls::new(&settings)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| FleetError::NoRuntime {
                why: error.to_string(),
            })?;
        let names = ServerNames {
            server: settings.server(),
            user: settings.user.clone(),
            database: settings.database.clone(),
        };
        let state = ServerState {
            runtime: Some(runtime),
            open: None,
            through_pooler: false,
        };
        Ok(FleetServer {
            settings,
            names,
            tls,
            needs_format: false,
            state: Mutex::new(state),
        })
    }

    /// Refuses to work with tables of another format than this program's, from the next connection on.
    #[must_use]
    pub fn needing_its_format(mut self) -> Self {
        self.needs_format = true;
        self
    }

    /// Whether the last connection went through a pooler that gives each transaction another session.
    pub fn is_through_pooler(&self) -> bool {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .through_pooler
    }

    /// Whether the last connection is over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_encrypted()
    }

    /// The server's version, in its own words.
    ///
    /// # Errors
    /// Fails if it cannot be reached.
    pub fn version(&self) -> Result<String, FleetError> {
        self.call("reach the server", Repeat::Safe, async |call| {
            call.client.check_connection().await
        })?;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(state
            .open
            .as_ref()
            .map(|open| open.version.clone())
            .unwrap_or_default())
    }

    /// Runs one call within [`CALL_DEADLINE`].
    pub(crate) fn call<T>(
        &self,
        doing: &'static str,
        repeat: Repeat,
        op: impl AsyncFn(&mut ServerCall<'_>) -> Result<T, Error>,
    ) -> Result<T, CallFailure> {
        self.call_within(CALL_DEADLINE, doing, repeat, op)
    }

    /// Runs one call within a deadline, on a connection that is made if need be. `doing` is an infinitive.
    pub(crate) fn call_within<T>(
        &self,
        deadline: Duration,
        doing: &'static str,
        repeat: Repeat,
        op: impl AsyncFn(&mut ServerCall<'_>) -> Result<T, Error>,
    ) -> Result<T, CallFailure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = state.runtime.take().ok_or_else(|| {
            CallFailure::Failed(FleetError::NoRuntime {
                why: "an earlier call ended by a panic".into(),
            })
        })?;
        let may_have_committed = Cell::new(false);
        let done = runtime.block_on(async {
            timeout(
                deadline,
                self.attempts(&mut state, doing, repeat, &may_have_committed, &op),
            )
            .await
        });
        state.runtime = Some(runtime);
        let done = done.unwrap_or_else(|_| {
            state.open = None;
            let error = FleetError::Late {
                server: self.names.server.clone(),
                doing,
                within: deadline,
            };
            Err(if may_have_committed.get() {
                CallFailure::Unknown(error)
            } else {
                CallFailure::Failed(error)
            })
        });
        if let Err(CallFailure::Failed(error) | CallFailure::Unknown(error)) = &done {
            tracing::debug!(target: "watchdog::fleet", action = doing, why = %error, "call to the fleet's server failed");
        }
        done
    }

    async fn attempts<T>(
        &self,
        state: &mut ServerState,
        doing: &'static str,
        repeat: Repeat,
        may_have_committed: &Cell<bool>,
        op: &impl AsyncFn(&mut ServerCall<'_>) -> Result<T, Error>,
    ) -> Result<T, CallFailure> {
        let mut tries_left = 2;
        loop {
            may_have_committed.set(false);
            tries_left -= 1;
            let open = self
                .usable(state, repeat)
                .await
                .map_err(CallFailure::Failed)?;
            may_have_committed.set(true);
            let OpenConnection {
                client,
                is_listening,
                woken,
                ..
            } = &mut *open;
            let error = match op(&mut ServerCall {
                client,
                is_listening,
                woken,
                may_have_committed,
            })
            .await
            {
                Ok(done) => {
                    open.used = Instant::now();
                    return Ok(done);
                }
                Err(error) => error,
            };
            let db_error = error.as_db_error();
            let broke = open.client.is_closed()
                || db_error.map_or_else(|| is_of_the_connection(&error), ends_the_connection);
            let failure = self.names.error(doing, &error);
            if broke {
                state.open = None;
                if may_have_committed.get() && repeat == Repeat::Never {
                    return Err(CallFailure::Unknown(failure));
                }
            }
            // The server undid the whole transaction for the sake of another one.
            let undone = db_error.is_some_and(|refusal| {
                [
                    &SqlState::T_R_SERIALIZATION_FAILURE,
                    &SqlState::T_R_DEADLOCK_DETECTED,
                ]
                .contains(&refusal.code())
            });
            // Of several hosts another one may have become the primary.
            let moved =
                matches!(failure, FleetError::ReadOnly { .. }) && self.settings.hosts.len() > 1;
            if moved {
                state.open = None;
            }
            if !(broke || undone || moved) || tries_left == 0 {
                return Err(CallFailure::Failed(failure));
            }
        }
    }

    /// The open connection, if it still stands; else a new one.
    async fn usable<'s>(
        &self,
        state: &'s mut ServerState,
        repeat: Repeat,
    ) -> Result<&'s mut OpenConnection, FleetError> {
        if let Some(open) = &state.open {
            // Lets the connection see what came while nobody looked: the end of it, above all.
            yield_now().await;
            yield_now().await;
            let stale = repeat == Repeat::Never && open.used.elapsed() > STALE_AFTER;
            if open.client.is_closed() || (stale && open.client.check_connection().await.is_err()) {
                state.open = None;
            }
        }
        if state.open.is_none() {
            state.open = Some(self.connect(&mut state.through_pooler).await?);
        }
        Ok(state.open.as_mut().expect("it was put there"))
    }

    async fn connect(&self, through_pooler: &mut bool) -> Result<OpenConnection, FleetError> {
        let password = self.settings.password()?;
        self.tls.begin();
        let connected = match self
            .config(password.as_deref(), *through_pooler)
            .connect(self.tls.clone())
            .await
        {
            Err(error) if !*through_pooler && is_refused_by_pooler(&error) => {
                *through_pooler = true;
                self.config(password.as_deref(), true)
                    .connect(self.tls.clone())
                    .await
            }
            other => other,
        };
        let (client, mut connection) =
            connected.map_err(
                |error| match (&password, self.names.error("connect", &error)) {
                    (None, FleetError::Login { server, user, .. }) => FleetError::Login {
                        server,
                        user,
                        why: "no password was given".into(),
                    },
                    (_, error) => error,
                },
            )?;
        let version = connection
            .parameter("server_version")
            .unwrap_or_default()
            .to_owned();
        let woken = Arc::new(Notify::new());
        let work = tokio::spawn({
            let woken = Arc::clone(&woken);
            async move {
                // A caller that waits for an answer learns of a break from the answer.
                while let Some(Ok(message)) =
                    poll_fn(|context| connection.poll_message(context)).await
                {
                    if matches!(message, AsyncMessage::Notification(_)) {
                        woken.notify_one();
                    }
                }
                woken.notify_one();
            }
        });
        let open = OpenConnection {
            client,
            is_listening: false,
            woken,
            work,
            used: Instant::now(),
            version,
        };
        let number: u32 = open
            .version
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|major| major.parse().ok())
            .unwrap_or(0);
        if number < OLDEST_VERSION {
            return Err(FleetError::OldServer {
                server: self.names.server.clone(),
                version: open.version.clone(),
            });
        }
        if self.needs_format {
            self.check_format(&open.client).await?;
        }
        Ok(open)
    }

    async fn check_format(&self, client: &Client) -> Result<(), FleetError> {
        let database_format = format_of(client)
            .await
            .map_err(|error| self.names.error("read the fleet's format", &error))?;
        require_own_format(database_format, &self.settings)
    }

    fn config(&self, password: Option<&str>, through_pooler: bool) -> Config {
        let mut config = Config::new();
        config
            .user(&self.settings.user)
            .dbname(&self.settings.database)
            .application_name("watchdog")
            .connect_timeout(CONNECT_DEADLINE)
            .tcp_user_timeout(CALL_DEADLINE)
            .keepalives_idle(Duration::from_secs(30))
            .keepalives_interval(Duration::from_secs(10))
            .keepalives_retries(3)
            .ssl_mode(match self.settings.tls {
                TlsMode::Disable => SslMode::Disable,
                TlsMode::Prefer => SslMode::Prefer,
                TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
            });
        for host in &self.settings.hosts {
            config.host(&host.host).port(host.port);
        }
        if self.settings.hosts.len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if self.settings.bound_to_channel {
            config.channel_binding(ChannelBinding::Require);
        }
        if let Some(password) = password {
            config.password(password);
        }
        if !through_pooler {
            // The server gives up, too, what we gave up waiting for.
            config.options(format!(
                "-c statement_timeout={} -c idle_in_transaction_session_timeout={}",
                CALL_DEADLINE.as_millis(),
                INIT_DEADLINE.as_millis()
            ));
        }
        config
    }
}

/// Whether a pooler does not pass on what we ask of the session.
fn is_refused_by_pooler(error: &Error) -> bool {
    error
        .as_db_error()
        .is_some_and(|db_error| db_error.message().contains("unsupported startup parameter"))
}

/// Whether no answer can come any more, as opposed to one that could not be understood.
fn is_of_the_connection(error: &Error) -> bool {
    error.is_closed()
        || std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>())
}
