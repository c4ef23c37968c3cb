//! The place of the fleet's server and how to reach it: an address, and the parts that it leaves to
//! libpq's variables.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::fleet_error::FleetError;
use crate::pass_file::{self, PasswordOwner};

/// PostgreSQL's own port.
const DEFAULT_PORT: u16 = 5432;

/// How much of TLS is asked for: libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// No TLS.
    Disable,
    /// TLS if the server offers it; its identity is not checked.
    Prefer,
    /// Always; who answers is not checked, but where certificates of authorities are named.
    Require,
    /// Always, with a certificate of a known authority, whatever host it names.
    VerifyCa,
    /// Always, with a certificate of a known authority for this host.
    VerifyFull,
}

impl TlsMode {
    const ALL: [(&'static str, TlsMode); 5] = [
        ("disable", TlsMode::Disable),
        ("prefer", TlsMode::Prefer),
        ("require", TlsMode::Require),
        ("verify-ca", TlsMode::VerifyCa),
        ("verify-full", TlsMode::VerifyFull),
    ];

    /// libpq's word for it.
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, mode)| *mode == self)
            .map_or("", |(word, _)| word)
    }

    /// The mode of libpq's word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, mode)| *mode)
    }
}

/// A way in: a host and its port. A host that begins with `/` is a folder with a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHost {
    /// A name, an IP address or a folder.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl ServerHost {
    fn is_of_this_machine(&self) -> bool {
        self.host.starts_with('/')
            || self.host == "localhost"
            || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for ServerHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Everything that a connection needs. Its text forms leave the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// Tried in this order; with several, the first that takes writes is used.
    pub hosts: Vec<ServerHost>,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password, where the address or `PGPASSWORD` has one.
    pub password: Option<String>,
    /// The file to look for a password in otherwise, each time anew.
    pub pass_file: Option<PathBuf>,
    /// How much of TLS is asked for.
    pub tls: TlsMode,
    /// A file with certificates of authorities; the system's own are used without.
    pub root_certificates: Option<PathBuf>,
    /// Only a login that is bound to the TLS channel is good enough (`channel_binding=require`).
    pub bound_to_channel: bool,
}

impl ConnectionSettings {
    /// Settings of an address such as `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full`. Each part may be left out and is
    /// then taken from `PGHOST`, `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGDATABASE`, `PGSSLMODE`, `PGSSLROOTCERT` and `PGPASSFILE`, by
    /// `variable`. Without a setting for TLS, it is `verify-full`, and `prefer` on this machine.
    ///
    /// # Errors
    /// Fails if a part cannot be understood, or no host or user is known. No error repeats the
    /// address.
    pub fn from_address(
        address: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, FleetError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let parts = AddressParts::from_address(address)?;
        let hosts = match (parts.hosts, variable("PGHOST")) {
            (Some(hosts), _) => hosts,
            (None, Some(hosts)) => hosts,
            (None, None) => return Err(reject_address("it names no host, and PGHOST is not set")),
        };
        let ports = variable("PGPORT");
        let hosts = hosts_of(&hosts, ports.as_deref())?;
        let user = parts
            .user
            .or_else(|| variable("PGUSER"))
            .or_else(|| variable("USER"))
            .or_else(|| variable("LOGNAME"));
        let user = user.ok_or_else(|| reject_address("it names no user, and PGUSER is not set"))?;
        let database = parts
            .database
            .or_else(|| variable("PGDATABASE"))
            .unwrap_or_else(|| user.clone());
        let is_local = hosts.iter().all(ServerHost::is_of_this_machine);
        let tls = match (parts.tls, variable("PGSSLMODE")) {
            (Some(mode), _) => mode,
            (None, Some(word)) => {
                TlsMode::from_word(&word).ok_or_else(|| FleetError::BadVariable {
                    name: "PGSSLMODE",
                    why: unknown_mode(&word),
                })?
            }
            (None, None) if is_local => TlsMode::Prefer,
            (None, None) => TlsMode::VerifyFull,
        };
        let root_certificates = parts
            .root_certificates
            .or_else(|| variable("PGSSLROOTCERT"))
            .filter(|path| path != "system");
        let pass_file = parts
            .pass_file
            .or_else(|| variable("PGPASSFILE"))
            .map(PathBuf::from);
        let home = || variable("HOME").map(|home| Path::new(&home).join(".pgpass"));
        Ok(ConnectionSettings {
            hosts,
            user,
            database,
            password: parts.password.or_else(|| variable("PGPASSWORD")),
            pass_file: pass_file.or_else(home),
            tls,
            root_certificates: root_certificates.map(PathBuf::from),
            bound_to_channel: parts.bound_to_channel,
        })
    }

    /// The whole of it as one address, WITH the password where there is one: for a file that nobody else may read. Everything is said, so
    /// that [`ConnectionSettings::from_address`] reads the same from it in another environment.
    pub fn secret_address(&self) -> String {
        let hosts: Vec<String> = self
            .hosts
            .iter()
            .map(|server_host| {
                if server_host.host.starts_with('/') {
                    format!("{}:{}", percent_encode(&server_host.host), server_host.port)
                } else {
                    server_host.to_string()
                }
            })
            .collect();
        let password = self
            .password
            .as_deref()
            .map(|password| format!(":{}", percent_encode(password)))
            .unwrap_or_default();
        let mut address = format!(
            "postgres://{}{password}@{}/{}?sslmode={}&sslrootcert={}",
            percent_encode(&self.user),
            hosts.join(","),
            percent_encode(&self.database),
            self.tls.as_str(),
            self.root_certificates.as_ref().map_or_else(
                || "system".into(),
                |path| percent_encode(&path.to_string_lossy())
            ),
        );
        if let Some(path) = &self.pass_file {
            address.push_str(&format!(
                "&passfile={}",
                percent_encode(&path.to_string_lossy())
            ));
        }
        if self.bound_to_channel {
            address.push_str("&channel_binding=require");
        }
        address
    }

    /// The hosts with their ports, for people.
    pub fn server(&self) -> String {
        self.hosts
            .iter()
            .map(ServerHost::to_string)
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Whether no network is in between.
    pub fn is_on_this_machine(&self) -> bool {
        self.hosts.iter().all(ServerHost::is_of_this_machine)
    }

    /// The password for the first host: its own, or that of the file.
    ///
    /// # Errors
    /// Fails if the file is open to others or cannot be read.
    pub fn password(&self) -> Result<Option<String>, FleetError> {
        let (None, Some(file), Some(first)) = (&self.password, &self.pass_file, self.hosts.first())
        else {
            return Ok(self.password.clone());
        };
        let host = if first.host.starts_with('/') {
            "localhost"
        } else {
            &first.host
        };
        pass_file::read_password(
            file,
            PasswordOwner {
                host,
                port: first.port,
                database: &self.database,
                user: &self.user,
            },
        )
    }
}

impl fmt::Display for ConnectionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "postgres://{}@{}/{}?sslmode={}",
            self.user,
            self.server(),
            self.database,
            self.tls.as_str()
        )
    }
}

impl fmt::Debug for ConnectionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionSettings({self})")
    }
}

/// The content of an address.
#[derive(Default)]
struct AddressParts {
    hosts: Option<String>,
    user: Option<String>,
    password: Option<String>,
    database: Option<String>,
    tls: Option<TlsMode>,
    root_certificates: Option<String>,
    pass_file: Option<String>,
    bound_to_channel: bool,
}

impl AddressParts {
    fn from_address(address: &str) -> Result<Self, FleetError> {
        let stripped = address
            .strip_prefix("postgres://")
            .or_else(|| address.strip_prefix("postgresql://"));
        let after_scheme = stripped
            .ok_or_else(|| reject_address("it does not begin with postgres:// or postgresql://"))?;
        if address.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(reject_address(
                "it has a blank or a control character; write it as %20",
            ));
        }
        let (rest, query) = after_scheme.split_once('?').unwrap_or((after_scheme, ""));
        // The last one, so that nothing of a password with an @ is taken for a host, which errors name.
        let (login, rest) = rest
            .rsplit_once('@')
            .map_or((None, rest), |(login, rest)| (Some(login), rest));
        let (hosts, database) = rest.split_once('/').unwrap_or((rest, ""));
        let mut parts = AddressParts {
            hosts: decode_if_given(hosts)?,
            database: decode_if_given(database)?,
            ..AddressParts::default()
        };
        if let Some(login) = login {
            let (user, password) = login
                .split_once(':')
                .map_or((login, None), |(user, password)| (user, Some(password)));
            parts.user = decode_if_given(user)?;
            parts.password = password.map_or(Ok(None), decode_if_given)?;
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| reject_address("a parameter has no value"))?;
            let value = percent_decode(value)?;
            match name {
                "sslmode" => {
                    parts.tls = Some(
                        TlsMode::from_word(&value)
                            .ok_or_else(|| reject_address(&unknown_mode(&value)))?,
                    )
                }
                "sslrootcert" => parts.root_certificates = Some(value),
                "passfile" => parts.pass_file = Some(value),
                "channel_binding" => match value.as_str() {
                    "require" => parts.bound_to_channel = true,
                    "prefer" | "disable" => {}
                    _ => {
                        return Err(reject_address(
                            "channel_binding is none of require, prefer, disable",
                        ));
                    }
                },
                // Each watchdog states or decides these by itself.
                "application_name" | "connect_timeout" | "target_session_attrs" => {}
                other => {
                    return Err(reject_address(&format!(
                        "the parameter '{other}' is not known; sslmode, sslrootcert, passfile and channel_binding are"
                    )));
                }
            }
        }
        Ok(parts)
    }
}

fn reject_address(why: &str) -> FleetError {
    FleetError::BadAddress {
        why: why.to_owned(),
    }
}

fn unknown_mode(word: &str) -> String {
    let mode_words: Vec<&str> = TlsMode::ALL.iter().map(|(word, _)| *word).collect();
    format!(
        "sslmode '{}' is none of {}",
        word.escape_debug(),
        mode_words.join(", ")
    )
}

fn decode_if_given(text: &str) -> Result<Option<String>, FleetError> {
    if text.is_empty() {
        Ok(None)
    } else {
        percent_decode(text).map(Some)
    }
}

/// Everything but letters, digits and `-._` as `%41`.
fn percent_encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// `%41` as `A`.
fn percent_decode(text: &str) -> Result<String, FleetError> {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let digits = text
                .get(at + 1..at + 3)
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            out.push(digits.filter(|byte| *byte != 0).ok_or_else(|| {
                reject_address(
                    "a % in it is not followed by two hexadecimal digits; write % as %25",
                )
            })?);
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    String::from_utf8(out).map_err(|_| reject_address("it is not UTF-8"))
}

/// `a,b:6432,[::1]:1` as hosts; `ports` are those of `PGPORT`, for hosts that name none.
fn hosts_of(text: &str, ports: Option<&str>) -> Result<Vec<ServerHost>, FleetError> {
    let ports: Vec<&str> = ports
        .map(|ports| ports.split(',').collect())
        .unwrap_or_default();
    let mut hosts = Vec::new();
    for (index, one) in text.split(',').enumerate() {
        let (host, port) = match one.strip_prefix('[') {
            Some(after_bracket) => {
                let (host, port) = after_bracket
                    .split_once(']')
                    .ok_or_else(|| reject_address("an IP address in [ ] is not closed"))?;
                (host, port.strip_prefix(':'))
            }
            // A folder may have a colon in its name; a port is a number.
            None if one.starts_with('/') => match one.rsplit_once(':') {
                Some((folder, port)) if port.parse::<u16>().is_ok() => (folder, Some(port)),
                _ => (one, None),
            },
            None => one
                .split_once(':')
                .map_or((one, None), |(host, port)| (host, Some(port))),
        };
        let (port, fault) = match (port, ports.get(index).or(ports.first())) {
            (Some(port), _) => (
                port.parse(),
                reject_address("a port is no number from 1 to 65535"),
            ),
            (None, Some(port)) => (
                port.parse(),
                FleetError::BadVariable {
                    name: "PGPORT",
                    why: "it is no number from 1 to 65535".into(),
                },
            ),
            (None, None) => (Ok(DEFAULT_PORT), reject_address("")),
        };
        if host.is_empty() {
            return Err(reject_address("it has an empty host"));
        }
        hosts.push(ServerHost {
            host: host.to_owned(),
            port: port.ok().filter(|port| *port != 0).ok_or(fault)?,
        });
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(
        address: &str,
        variables: &[(&str, &str)],
    ) -> Result<ConnectionSettings, FleetError> {
        ConnectionSettings::from_address(address, &|name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn environment_fills_gaps_of_the_address() {
        let all = [
            ("PGHOST", "other"),
            ("PGPORT", "6432"),
            ("PGUSER", "worker"),
            ("PGPASSWORD", "from env"),
            ("PGDATABASE", "fleet"),
            ("PGSSLMODE", "require"),
            ("PGSSLROOTCERT", "/ca.pem"),
            ("PGPASSFILE", "/pass"),
        ];
        for (address, variables, expected, password) in [
            (
                "postgres://me:a%40b@db.example:7000/x?sslmode=verify-ca",
                &all[..],
                "postgres://me@db.example:7000/x?sslmode=verify-ca",
                Some("a@b"),
            ),
            (
                "postgresql://",
                &all,
                "postgres://worker@other:6432/fleet?sslmode=require",
                Some("from env"),
            ),
            (
                "postgres://db.example",
                &[("USER", "me")],
                "postgres://me@db.example:5432/me?sslmode=verify-full",
                None,
            ),
            (
                "postgres://me@localhost/x",
                &[],
                "postgres://me@localhost:5432/x?sslmode=prefer",
                None,
            ),
            (
                "postgres://me@127.0.0.2,[::1]:6/x",
                &[],
                "postgres://me@127.0.0.2:5432,[::1]:6/x?sslmode=prefer",
                None,
            ),
            (
                "postgres://me@localhost,db.example/x",
                &[],
                "postgres://me@localhost:5432,db.example:5432/x?sslmode=verify-full",
                None,
            ),
            (
                "postgres://me@%2Frun%2Fpg/x",
                &[],
                "postgres://me@/run/pg:5432/x?sslmode=prefer",
                None,
            ),
            (
                "postgres://me:p@ss/w@h/x?application_name=y",
                &[],
                "postgres://me@h:5432/x?sslmode=verify-full",
                Some("p@ss/w"),
            ),
        ] {
            let connection =
                settings(address, variables).unwrap_or_else(|error| panic!("{address}: {error}"));
            assert_eq!(
                (
                    connection.to_string().as_str(),
                    connection.password.as_deref()
                ),
                (expected, password),
                "{address}"
            );
        }
        let connection = settings("postgres://", &all).unwrap();
        assert_eq!(
            (connection.root_certificates, connection.pass_file),
            (Some("/ca.pem".into()), Some("/pass".into()))
        );
        assert_eq!(
            settings(
                "postgres://h?sslrootcert=system",
                &[("PGUSER", "u"), ("HOME", "/h")]
            )
            .unwrap()
            .root_certificates,
            None
        );
    }

    #[test]
    fn invalid_address_is_refused_without_repeating_it() {
        for (address, why) in [
            ("mysql://me:hush@h/x", "does not begin"),
            ("postgres://me:hush@h:0/x", "a port"),
            ("postgres://me:hush@h:port/x", "a port"),
            ("postgres://me:hush%4@h/x", "two hexadecimal digits"),
            ("postgres://me:hush%00@h/x", "two hexadecimal digits"),
            (
                "postgres://me:hush@h/x?sslmode=maybe",
                "is none of disable, prefer",
            ),
            ("postgres://me:hush@h/x?sslkey=k", "'sslkey' is not known"),
            ("postgres://me:hush@h,,i/x", "an empty host"),
            ("postgres://me:hush@/x", "names no host"),
            ("postgres://me:hush@[::1/x", "not closed"),
            ("postgres://me:hush hush@h/x", "a blank"),
            ("postgres://h/x", "names no user"),
        ] {
            let error = settings(address, &[]).unwrap_err();
            assert!(
                error.to_string().contains(why)
                    && !format!("{error:?}{error}{}", error.hint()).contains("hush"),
                "{address}: {error}"
            );
        }
        for (name, value) in [("PGPORT", "x"), ("PGSSLMODE", "on")] {
            let error = settings("postgres://me@h/x", &[(name, value)]).unwrap_err();
            assert!(
                matches!(error, FleetError::BadVariable { name: named, .. } if named == name),
                "{error}"
            );
        }
    }

    #[test]
    fn secret_address_round_trips_in_any_environment() {
        let odd = "postgres://m%40e:p%3A%2F%3F%23%26%25ss@%2Frun%2Fpg,db.example:7000,[::1]/x%2Fy?sslmode=verify-ca&sslrootcert=/a%20b.pem&passfile=/p&channel_binding=require";
        let variables = [
            ("PGPASSWORD", "other"),
            ("PGSSLMODE", "disable"),
            ("PGSSLROOTCERT", "/other"),
            ("PGPASSFILE", "/other"),
            ("PGPORT", "9"),
        ];
        for address in [odd, "postgres://me@db.example/x?sslrootcert=system"] {
            let connection = settings(address, &[("HOME", "/h")]).unwrap();
            assert_eq!(
                settings(
                    &connection.secret_address(),
                    &variables[usize::from(connection.password.is_none())..]
                )
                .unwrap(),
                connection,
                "{address}"
            );
        }
    }

    #[test]
    fn settings_text_never_contains_the_password() {
        let connection = settings("postgres://me:hush@h/x", &[]).unwrap();
        assert!(!format!("{connection} {connection:?}").contains("hush"));
    }
}
