//! Addresses of databases.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::tls::{TlsMode, TlsSettings};

/// Address of a database and the credentials for it.
#[derive(Clone, Eq, PartialEq)]
pub struct Endpoint {
    /// Host name, address, or folder of the server's socket.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Name of the database.
    pub database: String,
    /// User.
    pub user: String,
    /// Password, if the server requires one.
    pub password: Option<String>,
    /// Maximum time to open a connection. Default 10 s.
    pub connect_timeout: Duration,
    /// Maximum time for an answer before the connection counts as lost. Default 15 min.
    pub answer_timeout: Duration,
    /// TLS. Default none.
    pub tls: TlsSettings,
}

/// An address that cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{what}")]
pub struct EndpointError {
    /// Description of the error, without the address, which may contain a password.
    pub what: String,
    /// Correct form to write instead.
    pub remedy: String,
}

/// Omits the password from debug output.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

/// Writes the name of the database for messages, without the password.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}:{}/{}", self.user, self.host, self.port, self.database)
    }
}

const FORM: &str = "write postgresql://USER@HOST:PORT/DATABASE";

fn wrong(what: impl Into<String>, remedy: impl Into<String>) -> EndpointError {
    EndpointError { what: what.into(), remedy: remedy.into() }
}

impl Endpoint {
    /// Parses an address in the form of a libpq URI: `postgresql://USER[:PASSWORD]@HOST[:PORT]/DATABASE[?KEY=VALUE&...]`. `?host=/folder` gives the
    /// folder of a socket. Without a password, `PGPASSWORD` or the matching line of the password file (`PGPASSFILE`, `~/.pgpass`) applies.
    ///
    /// # Errors
    /// The text has another form, or an unknown option or TLS mode; or the mode checks certificates and no root certificates were found.
    pub fn parse(text: &str) -> Result<Endpoint, EndpointError> {
        let rest = text.strip_prefix("postgresql://").or_else(|| text.strip_prefix("postgres://"));
        let rest = rest.ok_or_else(|| wrong("the address of a database has no postgresql://", FORM))?;
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (who, whole) = place.rsplit_once('@').unwrap_or(("", place));
        let (server, database) = whole.split_once('/').unwrap_or((whole, ""));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (decoded(user)?, Some(decoded(password)?)),
            None => (decoded(who)?, None),
        };
        let user = if user.is_empty() { std::env::var("PGUSER").unwrap_or_default() } else { user };
        if user.is_empty() {
            return Err(wrong("the address of the database names no user", FORM));
        }
        let (host, port) = match server.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (server, None),
        };
        let port = match port {
            None | Some("") => 5432,
            Some(port) => port.parse().map_err(|_| wrong("the port of the database is not a number", FORM))?,
        };
        let host = decoded(host.trim_start_matches('[').trim_end_matches(']'))?;
        let database = decoded(database)?;
        let mut endpoint = Endpoint {
            host: if host.is_empty() { "127.0.0.1".to_owned() } else { host },
            port,
            database: if database.is_empty() { user.clone() } else { database },
            user,
            password,
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(900),
            tls: TlsSettings::default(),
        };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            endpoint.option(name, &decoded(value)?)?;
        }
        endpoint.find_roots()?;
        if endpoint.password.is_none() {
            endpoint.password = std::env::var("PGPASSWORD").ok().or_else(|| endpoint.of_password_file());
        }
        Ok(endpoint)
    }

    fn option(&mut self, name: &str, value: &str) -> Result<(), EndpointError> {
        let seconds = || {
            let seconds = value.parse().ok().filter(|seconds| *seconds > 0);
            let wrong =
                || wrong(format!("{name} of the database is not a number of seconds"), format!("write {name}=10"));
            seconds.map(Duration::from_secs).ok_or_else(wrong)
        };
        match name {
            "host" => value.clone_into(&mut self.host),
            "connect_timeout" => self.connect_timeout = seconds()?,
            "answer_timeout" => self.answer_timeout = seconds()?,
            "application_name" => {}
            "sslmode" => {
                self.tls.mode = match value {
                    "disable" | "allow" | "prefer" => TlsMode::Off,
                    "require" => TlsMode::Require,
                    "verify-ca" => TlsMode::VerifyCa,
                    "verify-full" => TlsMode::VerifyFull,
                    _ => {
                        let known = "disable, require, verify-ca and verify-full";
                        return Err(wrong(
                            format!("sslmode={value} of the database is not known"),
                            format!("known are {known}"),
                        ));
                    }
                }
            }
            "sslrootcert" => self.tls.roots = (!value.is_empty()).then(|| PathBuf::from(value)),
            _ => {
                let known = "host, connect_timeout, answer_timeout, application_name, sslmode and sslrootcert";
                return Err(wrong(
                    format!("the option {name} of the database is not known"),
                    format!("known are {known}"),
                ));
            }
        }
        Ok(())
    }

    /// Finds the root certificates: `sslrootcert`, otherwise the default file of libpq.
    fn find_roots(&mut self) -> Result<(), EndpointError> {
        let usual = std::env::var_os("PGSSLROOTCERT").map(PathBuf::from);
        let of_home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".postgresql/root.crt"));
        if self.tls.roots.is_none() && self.tls.mode != TlsMode::Off {
            self.tls.roots = usual.or_else(of_home).filter(|path| path.exists());
        }
        if self.tls.roots.is_none() && matches!(self.tls.mode, TlsMode::VerifyCa | TlsMode::VerifyFull) {
            let remedy = "name the file of the certificates that sign the server's with sslrootcert=FILE";
            return Err(wrong("the address of the database checks certificates, but names no roots for them", remedy));
        }
        Ok(())
    }

    /// Returns the password of the first line in the password file that matches this database.
    fn of_password_file(&self) -> Option<String> {
        let path = std::env::var_os("PGPASSFILE").map(PathBuf::from);
        let path = path.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass")))?;
        let text = std::fs::read_to_string(path).ok()?;
        let port = self.port.to_string();
        let wanted = [self.host.as_str(), &port, &self.database, &self.user];
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let [host, port, database, user, password] = fields(line)?;
            let found = [host, port, database, user];
            let is_meant = found.iter().zip(wanted).all(|(found, wanted)| found == "*" || found == wanted);
            is_meant.then_some(password)
        })
    }

    /// Returns true if two addresses refer to the same database.
    #[must_use]
    pub fn is_same_database(&self, other: &Endpoint) -> bool {
        (self.host == other.host || (is_loopback(&self.host) && is_loopback(&other.host)))
            && self.port == other.port
            && self.database == other.database
    }
}

/// Splits a line of the password file. A backslash before a colon or a backslash makes it a part of the field; the last field may have colons without.
fn fields(line: &str) -> Option<[String; 5]> {
    let mut fields: [String; 5] = Default::default();
    let mut at = 0;
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        match next {
            ':' if at < 4 => at += 1,
            '\\' => fields[at].push(rest.next().unwrap_or('\\')),
            other => fields[at].push(other),
        }
    }
    (at == 4).then_some(fields)
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1")
}

/// Decodes percent encoding: `%41` is `A`.
fn decoded(text: &str) -> Result<String, EndpointError> {
    let bad = || {
        wrong("the address of the database has a % that is not followed by two hexadecimal digits", "write %25 for %")
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit =
            || rest.next().and_then(|digit| char::from(digit).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        let (high, low) = (digit().ok_or_else(bad)?, digit().ok_or_else(bad)?);
        bytes.push(high << 4 | low);
    }
    String::from_utf8(bytes).map_err(|_| wrong("the address of the database is not UTF-8", FORM))
}
