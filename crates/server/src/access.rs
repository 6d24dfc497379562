//! Who a client is: API keys, tokens, certificates.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use quayline_gateway::{Operation, Problem};
use ring::digest::{SHA256, digest};
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde_json::Value;

use crate::config::{AuthenticationConfig, JwtConfig};
use crate::encoding::{from_base64url, hex};

/// A client that is known.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Identity {
    /// Name for audit and limits.
    pub(crate) name: String,
    pub(crate) roles: Vec<String>,
    /// `key`, `token` or `certificate`.
    pub(crate) how: &'static str,
}

/// What proves who a client is. Made anew when a file changes.
#[derive(Debug, Default)]
pub(crate) struct Access {
    required: bool,
    keys: HashMap<[u8; 32], Key>,
    tokens: Option<Tokens>,
    certificates: std::collections::BTreeMap<String, Vec<String>>,
}

#[derive(Debug)]
struct Key {
    identity: Identity,
    expires: Option<u64>,
}

#[derive(Debug)]
struct Tokens {
    config: JwtConfig,
    keys: Vec<TokenKey>,
}

struct TokenKey {
    id: Option<String>,
    algorithm: &'static str,
    public: PublicKey,
}

impl core::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TokenKey").field("id", &self.id).field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

enum PublicKey {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    Plain(&'static dyn VerificationAlgorithm, Vec<u8>),
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

/// Tokens that were found good lately, by their digest: a signature costs more than all the rest of a small request.
#[derive(Debug, Default)]
pub(crate) struct TokenCache {
    known: RefCell<HashMap<[u8; 32], Known>>,
}

/// Who it is, and until when that may be believed.
type Known = (Rc<Identity>, u64);

impl Access {
    /// Reads what the settings name.
    ///
    /// # Errors
    /// The file and what is wrong with it, without a secret.
    pub(crate) fn load(config: &AuthenticationConfig) -> Result<Access, String> {
        let mut access =
            Access { required: config.required, certificates: config.certificate_roles.clone(), ..Access::default() };
        if let Some(path) = &config.api_keys {
            access.keys = keys(path).map_err(|why| format!("{}: {why}", path.display()))?;
        }
        if let Some(jwt) = &config.jwt {
            let keys = jwks(&jwt.jwks).map_err(|why| format!("{}: {why}", jwt.jwks.display()))?;
            access.tokens = Some(Tokens { config: jwt.clone(), keys });
        }
        Ok(access)
    }

    /// Whether the client may call the operation, and who it is.
    ///
    /// # Errors
    /// 401 or 403.
    pub(crate) fn check(
        &self,
        operation: &Operation,
        header: &dyn Fn(&str) -> Option<String>,
        certificate: Option<&str>,
        cache: &TokenCache,
    ) -> Result<Option<Rc<Identity>>, Box<Problem>> {
        let identity = self.identify(header, certificate, cache);
        if operation.public {
            // Wrong credentials for a public API are no reason to refuse.
            return Ok(identity.ok().flatten());
        }
        let identity = match identity {
            Ok(Some(identity)) => identity,
            // Roles are for somebody, also where the settings require nobody to say who it is.
            Ok(None) if !self.required && operation.roles.is_none() => return Ok(None),
            Ok(None) => return Err(self.unauthenticated("no credentials")),
            Err(why) => return Err(self.unauthenticated(why)),
        };
        match &operation.roles {
            Some(roles) if !roles.iter().any(|role| identity.roles.contains(role)) => {
                Err(Box::new(Problem::forbidden()))
            }
            _ => Ok(Some(identity)),
        }
    }

    fn unauthenticated(&self, why: &str) -> Box<Problem> {
        let mut schemes = Vec::new();
        if self.tokens.is_some() {
            schemes.push("Bearer");
        }
        if !self.keys.is_empty() || schemes.is_empty() {
            schemes.push("ApiKey realm=\"X-API-Key\"");
        }
        Box::new(Problem::unauthenticated(&schemes.join(", "), why))
    }

    fn identify(
        &self,
        header: &dyn Fn(&str) -> Option<String>,
        certificate: Option<&str>,
        cache: &TokenCache,
    ) -> Result<Option<Rc<Identity>>, &'static str> {
        let now = now_s();
        if let Some(key) = header("x-api-key") {
            let found = self.keys.get(&sha256(key.as_bytes())).ok_or("no such API key")?;
            if found.expires.is_some_and(|at| at <= now) {
                return Err("the API key has expired");
            }
            return Ok(Some(Rc::new(found.identity.clone())));
        }
        if let Some(authorization) = header("authorization") {
            let token = authorization.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let (Some((_, token)), Some(tokens)) = (token, &self.tokens) else {
                return Err("a scheme that is not taken");
            };
            return cache.check(tokens, token.trim(), now).map(Some);
        }
        if let Some(name) = certificate {
            let roles = self.certificates.get(name).cloned().unwrap_or_default();
            return Ok(Some(Rc::new(Identity { name: name.to_owned(), roles, how: "certificate" })));
        }
        Ok(None)
    }
}

impl TokenCache {
    fn check(&self, tokens: &Tokens, token: &str, now: u64) -> Result<Rc<Identity>, &'static str> {
        const TOKENS_MAX: usize = 1000;
        const TRUSTED_S: u64 = 60;
        let digest = sha256(token.as_bytes());
        let mut known = self.known.borrow_mut();
        if let Some((identity, until)) = known.get(&digest)
            && *until > now
        {
            return Ok(Rc::clone(identity));
        }
        let (identity, expires) = tokens.verify(token, now)?;
        let identity = Rc::new(identity);
        if known.len() >= TOKENS_MAX {
            known.clear();
        }
        known.insert(digest, (Rc::clone(&identity), expires.min(now + TRUSTED_S)));
        Ok(identity)
    }

    /// Forgets all: keys have changed.
    pub(crate) fn clear(&self) {
        self.known.borrow_mut().clear();
    }
}

impl Tokens {
    /// Checks a token (RFC 7515, RFC 7519): signature by a key of the issuer, issuer, audience, times.
    fn verify(&self, token: &str, now: u64) -> Result<(Identity, u64), &'static str> {
        const TOKEN_BYTES_MAX: usize = 8 << 10;
        let malformed = "the token is no signed JWT";
        if token.len() > TOKEN_BYTES_MAX {
            return Err(malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(malformed)?;
        let json = |text: &str| -> Option<Value> { serde_json::from_slice(&from_base64url(text)?).ok() };
        let header = json(header).ok_or(malformed)?;
        let signature = from_base64url(signature).ok_or(malformed)?;
        let (algorithm, id) = (header["alg"].as_str().ok_or(malformed)?, header["kid"].as_str());
        if header.get("crit").is_some() {
            return Err("the token has critical extensions");
        }
        // The algorithm is the key's; what the token says only has to agree. So `none`, or a public key used as a secret, lead nowhere.
        let fits = |key: &&TokenKey| key.algorithm == algorithm && (id.is_none() || key.id.as_deref() == id);
        let good = self.keys.iter().filter(fits).any(|key| key.verify(signed.as_bytes(), &signature));
        if !good {
            return Err("no key of the issuer has signed the token");
        }
        let claims = json(payload).ok_or(malformed)?;
        let leeway = self.config.leeway_seconds.unwrap_or(60);
        let time = |name: &str| claims[name].as_f64().filter(|t| *t >= 0.0).map(seconds);
        let expires = time("exp").ok_or("the token does not expire")?;
        if expires.saturating_add(leeway) <= now {
            return Err("the token has expired");
        }
        if time("nbf").is_some_and(|from| from > now + leeway) {
            return Err("the token is not valid yet");
        }
        if claims["iss"].as_str() != Some(&self.config.issuer) {
            return Err("the token has another issuer");
        }
        let audience = match &claims["aud"] {
            Value::String(one) => *one == self.config.audience,
            Value::Array(all) => all.iter().any(|one| one.as_str() == Some(&self.config.audience)),
            _ => false,
        };
        if !audience {
            return Err("the token is for another audience");
        }
        let roles = match &claims[self.config.roles_claim.as_deref().unwrap_or("roles")] {
            Value::String(words) => words.split(' ').map(str::to_owned).collect(),
            Value::Array(all) => all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        let name = claims["sub"].as_str().ok_or("the token names nobody")?.to_owned();
        Ok((Identity { name, roles, how: "token" }, expires.saturating_add(leeway)))
    }
}

impl TokenKey {
    fn verify(&self, message: &[u8], signed: &[u8]) -> bool {
        let rsa = |algorithm: &'static signature::RsaParameters, n: &[u8], e: &[u8]| {
            signature::RsaPublicKeyComponents { n, e }.verify(algorithm, message, signed).is_ok()
        };
        match (&self.public, self.algorithm) {
            (PublicKey::Rsa { n, e }, "RS256") => rsa(&signature::RSA_PKCS1_2048_8192_SHA256, n, e),
            (PublicKey::Rsa { n, e }, "RS384") => rsa(&signature::RSA_PKCS1_2048_8192_SHA384, n, e),
            (PublicKey::Rsa { n, e }, "RS512") => rsa(&signature::RSA_PKCS1_2048_8192_SHA512, n, e),
            (PublicKey::Rsa { n, e }, "PS256") => rsa(&signature::RSA_PSS_2048_8192_SHA256, n, e),
            (PublicKey::Rsa { .. }, _) => false,
            (PublicKey::Plain(algorithm, bytes), _) => {
                UnparsedPublicKey::new(*algorithm, bytes).verify(message, signed).is_ok()
            }
        }
    }
}

fn keys(path: &Path) -> Result<HashMap<[u8; 32], Key>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.kind().to_string())?;
    // What stands in the file is secret enough that a message does not quote it.
    let file: KeyFile =
        toml::from_str(&text).map_err(|_| "it is no list of [[key]] with id, sha256, roles, expires".to_owned())?;
    let mut keys = HashMap::new();
    for entry in file.key {
        let digest: [u8; 32] = crate::encoding::from_hex(&entry.sha256)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| format!("the sha256 of key `{}` has not 64 hexadecimal digits", entry.id))?;
        let identity = Identity { name: entry.id, roles: entry.roles, how: "key" };
        keys.insert(digest, Key { identity, expires: entry.expires });
    }
    Ok(keys)
}

/// Keys of an issuer (RFC 7517); those of kinds that are not known are passed over.
fn jwks(path: &Path) -> Result<Vec<TokenKey>, String> {
    key_set(&std::fs::read(path).map_err(|error| error.kind().to_string())?)
}

fn key_set(bytes: &[u8]) -> Result<Vec<TokenKey>, String> {
    let set: Value = serde_json::from_slice(bytes).map_err(|_| "it is no JSON".to_owned())?;
    let mut keys = Vec::new();
    for key in set["keys"].as_array().ok_or("it has no list `keys`")? {
        // A key for encryption signs nothing (RFC 7517, section 4.2).
        if key["use"].as_str().is_some_and(|use_| use_ != "sig") {
            continue;
        }
        let part = |name: &str| key[name].as_str().and_then(from_base64url);
        let said = key["alg"].as_str();
        let point = || -> Option<Vec<u8>> { Some([vec![4], part("x")?, part("y")?].concat()) };
        let (algorithm, public) = match (key["kty"].as_str(), key["crv"].as_str()) {
            (Some("RSA"), _) => {
                let known = ["RS256", "RS384", "RS512", "PS256"].into_iter().find(|name| said == Some(name));
                let (Some(n), Some(e)) = (part("n"), part("e")) else { continue };
                (if said.is_none() { Some("RS256") } else { known }, PublicKey::Rsa { n, e })
            }
            (Some("EC"), Some("P-256")) => {
                let Some(point) = point() else { continue };
                (Some("ES256"), PublicKey::Plain(&signature::ECDSA_P256_SHA256_FIXED, point))
            }
            (Some("EC"), Some("P-384")) => {
                let Some(point) = point() else { continue };
                (Some("ES384"), PublicKey::Plain(&signature::ECDSA_P384_SHA384_FIXED, point))
            }
            (Some("OKP"), Some("Ed25519")) => {
                let Some(x) = part("x") else { continue };
                (Some("EdDSA"), PublicKey::Plain(&signature::ED25519, x))
            }
            _ => continue,
        };
        if let Some(algorithm) = algorithm {
            keys.push(TokenKey { id: key["kid"].as_str().map(str::to_owned), algorithm, public });
        }
    }
    if keys.is_empty() { Err("it has no key of a kind that is known".to_owned()) } else { Ok(keys) }
}

/// For fuzz targets: what has no other way in from outside.
#[doc(hidden)]
pub mod fuzzing {
    use super::{JwtConfig, Tokens};

    const KEYS: &[u8] =
        br#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    /// Checks a token against one key, whose other half nobody here has.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn token(token: &str) -> Result<(), &'static str> {
        let config = JwtConfig {
            issuer: "https://issuer".into(),
            audience: "us".into(),
            jwks: "jwks.json".into(),
            roles_claim: None,
            leeway_seconds: None,
        };
        let keys = super::key_set(KEYS).map_err(|_| "the key is not read")?;
        Tokens { config, keys }.verify(token, 1_700_000_000).map(|_| ())
    }

    /// Reads a set of keys.
    pub fn key_set(bytes: &[u8]) {
        let _ = super::key_set(bytes).map(|keys| keys.len());
    }

    /// Reads the name in a certificate.
    pub fn certificate(bytes: &[u8]) {
        let _ = crate::tls::common_name(bytes);
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// The digest of an API key as the key file has it.
#[must_use]
pub fn key_digest(key: &str) -> String {
    hex(&sha256(key.as_bytes()))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; a time beyond u64 is one that never comes"
)]
fn seconds(time: f64) -> u64 {
    time as u64
}

pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{Ed25519KeyPair, KeyPair as _};

    use super::*;
    use crate::encoding::to_base64url;

    fn tokens() -> (Ed25519KeyPair, Tokens) {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jwks.json");
        let x = to_base64url(pair.public_key().as_ref());
        std::fs::write(&path, format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"k","x":"{x}"}}]}}"#)).unwrap();
        let config = JwtConfig {
            issuer: "https://issuer".into(),
            audience: "us".into(),
            jwks: path.clone(),
            roles_claim: None,
            leeway_seconds: Some(0),
        };
        let keys = jwks(&path).unwrap();
        (pair, Tokens { config, keys })
    }

    fn sign(pair: &Ed25519KeyPair, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", to_base64url(header.as_bytes()), to_base64url(claims.as_bytes()));
        let signature = to_base64url(pair.sign(signed.as_bytes()).as_ref());
        format!("{signed}.{signature}")
    }

    const HEADER: &str = r#"{"alg":"EdDSA","kid":"k"}"#;

    #[test]
    fn a_good_token_names_its_client_and_roles() {
        let (pair, tokens) = tokens();
        let claims =
            r#"{"iss":"https://issuer","aud":["x","us"],"exp":2000,"nbf":900,"sub":"shop","roles":["reader"]}"#;
        let (identity, expires) = tokens.verify(&sign(&pair, HEADER, claims), 1000).unwrap();
        assert_eq!(identity, Identity { name: "shop".into(), roles: vec!["reader".into()], how: "token" });
        assert_eq!(expires, 2000);
    }

    #[test]
    fn everything_else_is_refused() {
        let (pair, tokens) = tokens();
        let good = r#"{"iss":"https://issuer","aud":"us","exp":2000,"sub":"shop"}"#;
        let refuse =
            |header: &str, claims: &str, now: u64| tokens.verify(&sign(&pair, header, claims), now).unwrap_err();
        assert_eq!(refuse(HEADER, good, 2000), "the token has expired");
        assert_eq!(refuse(HEADER, &good.replace("2000", "2000,\"nbf\":1500"), 1000), "the token is not valid yet");
        assert_eq!(refuse(HEADER, &good.replace("\"us\"", "\"them\""), 1000), "the token is for another audience");
        assert_eq!(refuse(HEADER, &good.replace("issuer", "other"), 1000), "the token has another issuer");
        assert_eq!(refuse(HEADER, &good.replace("\"exp\":2000,", ""), 1000), "the token does not expire");
        assert_eq!(refuse(HEADER, &good.replace("sub", "bus"), 1000), "the token names nobody");
        for header in [r#"{"alg":"none"}"#, r#"{"alg":"HS256","kid":"k"}"#, r#"{"alg":"EdDSA","kid":"other"}"#] {
            assert_eq!(refuse(header, good, 1000), "no key of the issuer has signed the token");
        }
        let (stranger, _) = self::tokens();
        assert!(tokens.verify(&sign(&stranger, HEADER, good), 1000).is_err());
        let token = sign(&pair, HEADER, good);
        let forged =
            token.replacen(&to_base64url(good.as_bytes()), &to_base64url(good.replace("shop", "boss").as_bytes()), 1);
        assert!(tokens.verify(&forged, 1000).is_err());
        for junk in ["", "a", "a.b", "a.b.c", "...", &"x".repeat(9000)] {
            assert!(tokens.verify(junk, 1000).is_err(), "{junk}");
        }
    }
}
