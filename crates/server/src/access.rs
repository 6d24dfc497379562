//! Authentication and authorization of clients: API keys, tokens, certificates.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use quayline_core::{from_hex, hex};
use quayline_gateway::{KeySet, Operation, Problem, TokenFault, TokenRules};
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use crate::authentication_config::{AuthenticationConfig, JwtConfig};

/// A client that is known.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Identity {
    /// Name for audit and limits.
    pub(crate) name: String,
    pub(crate) roles: Vec<String>,
    /// `key`, `token` or `certificate`.
    pub(crate) how: &'static str,
}

/// Keys and rules that identify clients. Replaced when a file changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    required: bool,
    keys: HashMap<[u8; 32], Key>,
    tokens: Option<Tokens>,
    certificates: std::collections::BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug)]
struct Key {
    identity: Identity,
    expires: Option<u64>,
}

#[derive(Clone, Debug)]
struct Tokens {
    rules: TokenRules,
    /// `None` as long as those of a URL have not been read.
    keys: Option<Arc<KeySet>>,
}

/// Whom an operation lets in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guarded<'a> {
    /// True if everybody may call the operation.
    pub(crate) public: bool,
    /// Roles of which a client needs one; without them, every client that is known may call.
    pub(crate) roles: Option<&'a [String]>,
}

impl<'a> From<&'a Operation> for Guarded<'a> {
    fn from(operation: &'a Operation) -> Self {
        Guarded { public: operation.public, roles: operation.roles.as_deref() }
    }
}

/// Reason for denying a request.
pub(crate) struct Denied {
    pub(crate) problem: Box<Problem>,
    /// True if newer keys of the issuer might permit it.
    pub(crate) renew: bool,
    /// True if the client has exceeded a limit.
    pub(crate) is_limited: bool,
    /// The client, if it is known and may not call the operation.
    pub(crate) identity: Option<Rc<Identity>>,
}

/// Reason why a client is not identified.
pub(crate) enum Unknown {
    Wrong(String),
    /// The token's key may be a new one.
    NewKey,
    /// No key of the issuer is known.
    NoKeys,
}

impl Unknown {
    fn wrong(why: &str) -> Unknown {
        Unknown::Wrong(why.to_owned())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    #[serde(default)]
    key: Vec<KeyEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct KeyEntry {
    id: String,
    sha256: String,
    #[serde(default)]
    roles: Vec<String>,
    /// Seconds since 1970.
    expires: Option<u64>,
}

/// Cache of valid tokens by their digest: to verify a signature costs more than the rest of a small request.
#[derive(Debug, Default)]
pub(crate) struct TokenCache {
    known: RefCell<HashMap<[u8; 32], Known>>,
}

/// Identity of a client, and the time until which it is valid.
type Known = (Rc<Identity>, u64);

impl Access {
    /// Reads the files that the settings name. `fetched` has the keys of an issuer with a URL.
    ///
    /// # Errors
    /// The file and the problem, without a secret.
    pub(crate) fn load(config: &AuthenticationConfig, fetched: Option<Arc<KeySet>>) -> Result<Access, String> {
        let mut access =
            Access { required: config.required, certificates: config.certificate_roles.clone(), ..Access::default() };
        if let Some(path) = &config.api_keys {
            access.keys = keys(path).map_err(|why| format!("{}: {why}", path.display()))?;
        }
        if let Some(jwt) = &config.jwt {
            let keys = match &jwt.jwks {
                Some(path) => Some(Arc::new(key_set(path).map_err(|why| format!("{}: {why}", path.display()))?)),
                None => fetched,
            };
            access.tokens = Some(Tokens { rules: rules(jwt), keys });
        }
        Ok(access)
    }

    /// Returns true if there are API keys.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Returns the owner of an API key that has not expired. Keys are looked up by digest, so the response time reveals nothing about them.
    pub(crate) fn by_key(&self, key: &str) -> Option<Identity> {
        let found = self.keys.get(&sha256(key.as_bytes()))?;
        found.expires.is_none_or(|at| at > now_s()).then(|| found.identity.clone())
    }

    /// Roles of a certificate's subject.
    pub(crate) fn certificate_roles(&self, name: &str) -> Vec<String> {
        self.certificates.get(name).cloned().unwrap_or_default()
    }

    /// Returns a copy with other keys of the issuer.
    pub(crate) fn with_token_keys(&self, keys: Option<Arc<KeySet>>) -> Access {
        let mut access = self.clone();
        if let Some(tokens) = &mut access.tokens {
            tokens.keys = keys;
        }
        access
    }

    /// Returns the identity of a client that may call the operation.
    ///
    /// # Errors
    /// 401, 403, or 503 if tokens cannot be checked.
    pub(crate) fn check(
        &self,
        operation: Guarded<'_>,
        header: &dyn Fn(&str) -> Option<String>,
        certificate: Option<&str>,
        cache: &TokenCache,
    ) -> Result<Option<Rc<Identity>>, Denied> {
        let identity = self.identify(header, certificate, cache);
        if operation.public {
            // Wrong credentials for a public API are no reason to refuse.
            return Ok(identity.ok().flatten());
        }
        let denied = |problem, renew| Denied { problem, renew, is_limited: false, identity: None };
        let identity = match identity {
            Ok(Some(identity)) => identity,
            // Roles are for somebody, also where the settings require nobody to say who it is.
            Ok(None) if !self.required && operation.roles.is_none() => return Ok(None),
            Ok(None) => return Err(denied(self.unauthenticated("no credentials", false), false)),
            Err(Unknown::Wrong(why)) => {
                let token = header("x-api-key").is_none() && self.tokens.is_some();
                return Err(denied(self.unauthenticated(&why, token), false));
            }
            Err(Unknown::NewKey) => {
                return Err(denied(self.unauthenticated(&TokenFault::UnknownKey.to_string(), true), true));
            }
            Err(Unknown::NoKeys) => return Err(denied(Box::new(Problem::no_token_keys()), true)),
        };
        match operation.roles {
            Some(roles) if !roles.iter().any(|role| identity.roles.contains(role)) => {
                Err(Denied { identity: Some(identity), ..denied(Box::new(Problem::forbidden()), false) })
            }
            _ => Ok(Some(identity)),
        }
    }

    /// Returns the answer for an unauthenticated request. If `wrong_token`, the token of the client is invalid, and the client may get another one
    /// (RFC 6750, section 3.1).
    fn unauthenticated(&self, why: &str, wrong_token: bool) -> Box<Problem> {
        let mut schemes = Vec::new();
        if self.tokens.is_some() {
            schemes.push(if wrong_token { "Bearer error=\"invalid_token\"" } else { "Bearer" });
        }
        if !self.keys.is_empty() || schemes.is_empty() {
            schemes.push("ApiKey realm=\"X-API-Key\"");
        }
        Box::new(Problem::unauthenticated(&schemes.join(", "), why))
    }

    pub(crate) fn identify(
        &self,
        header: &dyn Fn(&str) -> Option<String>,
        certificate: Option<&str>,
        cache: &TokenCache,
    ) -> Result<Option<Rc<Identity>>, Unknown> {
        if let Some(key) = header("x-api-key") {
            let found = self.keys.get(&sha256(key.as_bytes())).ok_or_else(|| Unknown::wrong("no such API key"))?;
            if found.expires.is_some_and(|at| at <= now_s()) {
                return Err(Unknown::wrong("the API key has expired"));
            }
            return Ok(Some(Rc::new(found.identity.clone())));
        }
        if let Some(authorization) = header("authorization") {
            let token = authorization.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let (Some((_, token)), Some(tokens)) = (token, &self.tokens) else {
                return Err(Unknown::wrong("a scheme that is not taken"));
            };
            return cache.check(tokens, token.trim(), now_s()).map(Some);
        }
        if let Some(name) = certificate {
            let roles = self.certificates.get(name).cloned().unwrap_or_default();
            return Ok(Some(Rc::new(Identity { name: name.to_owned(), roles, how: "certificate" })));
        }
        Ok(None)
    }
}

impl TokenCache {
    fn check(&self, tokens: &Tokens, token: &str, now: u64) -> Result<Rc<Identity>, Unknown> {
        const TOKENS_MAX: usize = 1000;
        const TRUSTED_S: u64 = 60;
        let digest = sha256(token.as_bytes());
        let mut known = self.known.borrow_mut();
        if let Some((identity, until)) = known.get(&digest)
            && *until > now
        {
            return Ok(Rc::clone(identity));
        }
        let keys = tokens.keys.as_ref().ok_or(Unknown::NoKeys)?;
        let claims = keys.verify(&tokens.rules, token, now).map_err(|fault| match fault {
            TokenFault::UnknownKey => Unknown::NewKey,
            other => Unknown::Wrong(other.to_string()),
        })?;
        let identity = Rc::new(Identity { name: claims.subject, roles: claims.roles, how: "token" });
        if known.len() >= TOKENS_MAX {
            known.clear();
        }
        known.insert(digest, (Rc::clone(&identity), claims.until_s.min(now + TRUSTED_S)));
        Ok(identity)
    }

    /// Forgets all: keys have changed.
    pub(crate) fn clear(&self) {
        self.known.borrow_mut().clear();
    }
}

fn rules(config: &JwtConfig) -> TokenRules {
    TokenRules {
        issuer: config.issuer.clone(),
        audience: config.audience.clone(),
        roles_claim: config.roles_claim.clone().unwrap_or_else(|| "roles".to_owned()),
        leeway_s: config.leeway_seconds.unwrap_or(60),
    }
}

fn keys(path: &Path) -> Result<HashMap<[u8; 32], Key>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.kind().to_string())?;
    // What stands in the file is secret enough that a message does not quote it.
    let file: KeyFile =
        toml::from_str(&text).map_err(|_| "it is not a list of [[key]] with id, sha256, roles, expires".to_owned())?;
    let mut keys = HashMap::new();
    for entry in file.key {
        let digest: [u8; 32] = from_hex(&entry.sha256)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| format!("the sha256 of key `{}` has not 64 hexadecimal digits", entry.id))?;
        let identity = Identity { name: entry.id, roles: entry.roles, how: "key" };
        keys.insert(digest, Key { identity, expires: entry.expires });
    }
    Ok(keys)
}

/// Keys of an issuer from a file.
fn key_set(path: &Path) -> Result<KeySet, String> {
    let bytes = std::fs::read(path).map_err(|error| error.kind().to_string())?;
    let keys = KeySet::parse(&bytes).map_err(str::to_owned)?;
    if keys.is_empty() { Err("it has no key of a supported kind".to_owned()) } else { Ok(keys) }
}

/// Checks that a file is a valid file of API keys.
pub(crate) fn look_at_keys(path: &Path) -> Result<(), String> {
    keys(path).map(|_| ()).map_err(|why| format!("{}: {why}", path.display()))
}

/// Checks that a file is a valid key set of an issuer.
pub(crate) fn look_at_key_set(path: &Path) -> Result<(), String> {
    key_set(path).map(|_| ()).map_err(|why| format!("{}: {why}", path.display()))
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Returns the digest of an API key in the form of the key file.
#[must_use]
pub fn key_digest(key: &str) -> String {
    hex(&sha256(key.as_bytes()))
}

pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Seconds since 1970 with milliseconds, for the access log.
pub(crate) fn now_text() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:03}", now.as_secs(), now.subsec_millis())
}
