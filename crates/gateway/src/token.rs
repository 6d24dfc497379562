//! Tokens that an authorization server signs: JWT (RFC 7519) by keys of a set (RFC 7517).

use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use serde_json::Value;

use crate::encoding::from_base64url;

/// Requirements on a token in addition to its signature.
#[derive(Clone, Debug)]
pub struct TokenRules {
    /// The required issuer.
    pub issuer: String,
    /// Whom it must be for.
    pub audience: String,
    /// The claim with the roles: a list, or words separated by spaces.
    pub roles_claim: String,
    /// Seconds that clocks may differ.
    pub leeway_s: u64,
}

/// The claims of a valid token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TokenClaims {
    /// Subject.
    pub subject: String,
    /// Roles.
    pub roles: Vec<String>,
    /// Time until which the token is valid, including leeway, in seconds since 1970.
    pub until_s: u64,
}

/// Reason why a token is refused. No variant contains any part of the token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TokenFault {
    /// The token is not three parts of base64url, or its header is not a JSON object with `alg`.
    #[error("the token is not a signed JWT")]
    Malformed,
    /// The token has critical extensions (RFC 7515, section 4.1.11), none of which is supported.
    #[error("the token has critical extensions")]
    Critical,
    /// The set has no key of this id and algorithm: the issuer may have made a new one.
    #[error("the issuer's keys have none of the token's id and algorithm")]
    UnknownKey,
    /// No key verifies the signature.
    #[error("no key of the issuer has signed the token")]
    Signature,
    /// `exp` is missing.
    #[error("the token does not expire")]
    NoExpiry,
    /// `exp` is past.
    #[error("the token has expired")]
    Expired,
    /// `nbf` is in the future.
    #[error("the token is not valid yet")]
    NotYet,
    /// `iss` is another.
    #[error("the token has another issuer")]
    Issuer,
    /// `aud` has not ours.
    #[error("the token is for another audience")]
    Audience,
    /// `sub` is missing.
    #[error("the token has no subject")]
    Nobody,
}

/// Keys of an issuer.
#[derive(Debug)]
pub struct KeySet(Vec<TokenKey>);

struct TokenKey {
    id: Option<String>,
    /// Algorithms that it serves: the one that the set names for it, or all of its kind.
    algorithms: Vec<&'static str>,
    public: PublicKey,
}

impl core::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TokenKey").field("id", &self.id).field("algorithms", &self.algorithms).finish_non_exhaustive()
    }
}

enum PublicKey {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    Plain(&'static dyn VerificationAlgorithm, Vec<u8>),
}

/// Maximum length of a token.
const TOKEN_BYTES_MAX: usize = 8 << 10;

impl KeySet {
    /// Parses a set of keys (RFC 7517). Skips keys of unsupported kinds and keys that are not for signatures. The set is empty if an issuer has
    /// withdrawn all other keys.
    ///
    /// # Errors
    /// The fault of the set, without a key.
    pub fn parse(bytes: &[u8]) -> Result<KeySet, &'static str> {
        let set: Value = serde_json::from_slice(bytes).map_err(|_| "it is not JSON")?;
        let all = set["keys"].as_array().ok_or("it has no list `keys`")?;
        Ok(KeySet(all.iter().filter_map(token_key).collect()))
    }

    /// Returns whether the set has no key to check a token with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks a token (RFC 7515, RFC 7519) at `now_s` seconds since 1970: signature by one of the keys, issuer, audience, times.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn verify(&self, rules: &TokenRules, token: &str, now_s: u64) -> Result<TokenClaims, TokenFault> {
        let malformed = TokenFault::Malformed;
        if token.len() > TOKEN_BYTES_MAX {
            return Err(malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(malformed)?;
        let json = |text: &str| -> Option<Value> { serde_json::from_slice(&from_base64url(text)?).ok() };
        let header = json(header).ok_or(malformed)?;
        let signature = from_base64url(signature).ok_or(malformed)?;
        let algorithm = header["alg"].as_str().ok_or(malformed)?;
        let id = match &header["kid"] {
            Value::Null => None,
            Value::String(id) => Some(id.as_str()),
            _ => return Err(malformed),
        };
        if header.get("crit").is_some() {
            return Err(TokenFault::Critical);
        }
        // The algorithm is the key's; that of the token only has to agree. So `none`, or a public key used as a secret, has no
        // effect. A header's own key (`jwk`, `jku`, `x5c`) is ignored.
        let fits = |key: &&TokenKey| key.algorithms.contains(&algorithm) && (id.is_none() || key.id.as_deref() == id);
        let mut candidates = self.0.iter().filter(fits).peekable();
        if candidates.peek().is_none() {
            return Err(TokenFault::UnknownKey);
        }
        if !candidates.any(|key| key.verify(algorithm, signed.as_bytes(), &signature)) {
            return Err(TokenFault::Signature);
        }
        let claims = json(payload).ok_or(malformed)?;
        let time = |name: &str| match &claims[name] {
            Value::Null => Ok(None),
            value => value.as_f64().filter(|t| *t >= 0.0).map(|t| Some(seconds(t))).ok_or(malformed),
        };
        let until_s = time("exp")?.ok_or(TokenFault::NoExpiry)?.saturating_add(rules.leeway_s);
        if until_s <= now_s {
            return Err(TokenFault::Expired);
        }
        if time("nbf")?.is_some_and(|from| from > now_s.saturating_add(rules.leeway_s)) {
            return Err(TokenFault::NotYet);
        }
        if claims["iss"].as_str() != Some(&rules.issuer) {
            return Err(TokenFault::Issuer);
        }
        let audience = match &claims["aud"] {
            Value::String(one) => *one == rules.audience,
            Value::Array(all) => all.iter().any(|one| one.as_str() == Some(&rules.audience)),
            _ => false,
        };
        if !audience {
            return Err(TokenFault::Audience);
        }
        let roles = match nested(&claims, &rules.roles_claim) {
            Value::String(words) => words.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
            Value::Array(all) => all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        let subject = claims["sub"].as_str().filter(|name| !name.is_empty()).ok_or(TokenFault::Nobody)?.to_owned();
        Ok(TokenClaims { subject, roles, until_s })
    }
}

/// Returns the claim of that name, otherwise the one at the path of its parts between points: `realm_access.roles`.
fn nested<'a>(claims: &'a Value, name: &str) -> &'a Value {
    match claims.get(name) {
        Some(value) => value,
        None => name.split('.').fold(claims, |value, part| &value[part]),
    }
}

impl TokenKey {
    /// Checks a signature by one of its algorithms.
    fn verify(&self, algorithm: &str, message: &[u8], signed: &[u8]) -> bool {
        let rsa = |algorithm: &'static signature::RsaParameters, n: &[u8], e: &[u8]| {
            signature::RsaPublicKeyComponents { n, e }.verify(algorithm, message, signed).is_ok()
        };
        match (&self.public, algorithm) {
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

fn token_key(key: &Value) -> Option<TokenKey> {
    // A key for encryption signs nothing (RFC 7517, section 4.2).
    if key["use"].as_str().is_some_and(|use_| use_ != "sig") {
        return None;
    }
    let part = |name: &str| key[name].as_str().and_then(from_base64url);
    let said = key["alg"].as_str();
    let point = || -> Option<Vec<u8>> { Some([vec![4], part("x")?, part("y")?].concat()) };
    let (algorithms, public) = match (key["kty"].as_str(), key["crv"].as_str()) {
        (Some("RSA"), _) => {
            // `alg` is optional (RFC 7517, section 4.4): without it, the key serves each of its kind.
            let mut known = vec!["RS256", "RS384", "RS512", "PS256"];
            known.retain(|name| said.is_none_or(|said| said == *name));
            if known.is_empty() {
                return None;
            }
            (known, PublicKey::Rsa { n: part("n")?, e: part("e")? })
        }
        (Some("EC"), Some("P-256")) => (vec!["ES256"], PublicKey::Plain(&signature::ECDSA_P256_SHA256_FIXED, point()?)),
        (Some("EC"), Some("P-384")) => (vec!["ES384"], PublicKey::Plain(&signature::ECDSA_P384_SHA384_FIXED, point()?)),
        (Some("OKP"), Some("Ed25519")) => (vec!["EdDSA"], PublicKey::Plain(&signature::ED25519, part("x")?)),
        _ => return None,
    };
    Some(TokenKey { id: key["kid"].as_str().map(str::to_owned), algorithms, public })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; a time beyond u64 is one that never comes"
)]
fn seconds(time: f64) -> u64 {
    time as u64
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{Ed25519KeyPair, KeyPair as _};

    use super::*;
    use crate::encoding::to_base64url;

    fn issuer() -> (Ed25519KeyPair, KeySet) {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
        let x = to_base64url(pair.public_key().as_ref());
        let set = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"k","x":"{x}"}}]}}"#);
        (pair, KeySet::parse(set.as_bytes()).unwrap())
    }

    fn rules(leeway_s: u64) -> TokenRules {
        TokenRules { issuer: "https://issuer".into(), audience: "us".into(), roles_claim: "roles".into(), leeway_s }
    }

    fn sign(pair: &Ed25519KeyPair, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", to_base64url(header.as_bytes()), to_base64url(claims.as_bytes()));
        let signature = to_base64url(pair.sign(signed.as_bytes()).as_ref());
        format!("{signed}.{signature}")
    }

    const HEADER: &str = r#"{"alg":"EdDSA","kid":"k"}"#;
    const GOOD: &str = r#"{"iss":"https://issuer","aud":"us","exp":2000,"sub":"shop"}"#;

    #[test]
    fn a_good_token_names_its_client_and_roles() {
        let (pair, keys) = issuer();
        let claims =
            r#"{"iss":"https://issuer","aud":["x","us"],"exp":2000,"nbf":900,"sub":"shop","roles":["reader"]}"#;
        let found = keys.verify(&rules(0), &sign(&pair, HEADER, claims), 1000).unwrap();
        assert_eq!(found, TokenClaims { subject: "shop".into(), roles: vec!["reader".into()], until_s: 2000 });
        let words = claims.replace("[\"reader\"]", "\"reader  clerk\"");
        assert_eq!(keys.verify(&rules(0), &sign(&pair, HEADER, &words), 1000).unwrap().roles, ["reader", "clerk"]);
    }

    /// A key without `alg` served RS256 alone, so tokens by other algorithms of the same issuer were refused.
    #[test]
    fn a_key_that_names_no_algorithm_serves_all_of_its_kind() {
        let (pair, _) = issuer();
        let outcome = |member: &str, algorithm: &str| {
            let set = format!(r#"{{"keys":[{{"kty":"RSA","kid":"k","n":"AQAB","e":"AQAB"{member}}}]}}"#);
            let header = HEADER.replace("EdDSA", algorithm);
            KeySet::parse(set.as_bytes()).unwrap().verify(&rules(0), &sign(&pair, &header, GOOD), 1000).unwrap_err()
        };
        for algorithm in ["RS256", "RS384", "RS512", "PS256"] {
            // The key is tried; that it did not sign this is another matter.
            assert_eq!(outcome("", algorithm), TokenFault::Signature, "{algorithm}");
            let only = outcome(r#","alg":"RS384""#, algorithm);
            assert_eq!(only == TokenFault::Signature, algorithm == "RS384", "{algorithm}: {only}");
        }
        for algorithm in ["none", "HS256", "ES256"] {
            assert_eq!(outcome("", algorithm), TokenFault::UnknownKey, "{algorithm}");
        }
    }

    #[test]
    fn the_claim_with_roles_may_be_nested_and_may_have_points_in_its_name() {
        let (pair, keys) = issuer();
        let roles = |name: &str, member: &str| {
            let rules = TokenRules { roles_claim: name.into(), ..rules(0) };
            let claims = GOOD.replace("\"sub\"", &format!("{member},\"sub\""));
            keys.verify(&rules, &sign(&pair, HEADER, &claims), 1000).unwrap().roles
        };
        let nested = r#""realm_access":{"roles":["reader"]}"#;
        assert_eq!(roles("realm_access.roles", nested), ["reader"]);
        assert_eq!(roles("https://our.example/roles", r#""https://our.example/roles":["clerk"]"#), ["clerk"]);
        assert_eq!(roles("realm_access.roles", r#""realm_access":"roles""#), Vec::<String>::new());
        assert_eq!(roles("realm_access.roles.none", nested), Vec::<String>::new());
    }

    #[test]
    fn everything_else_is_refused() {
        let (pair, keys) = issuer();
        let refuse = |header: &str, claims: &str, now: u64| {
            keys.verify(&rules(0), &sign(&pair, header, claims), now).unwrap_err()
        };
        assert_eq!(refuse(HEADER, GOOD, 2000), TokenFault::Expired);
        assert_eq!(refuse(HEADER, &GOOD.replace("2000", "2000,\"nbf\":1500"), 1000), TokenFault::NotYet);
        assert_eq!(refuse(HEADER, &GOOD.replace("2000", "2000,\"nbf\":\"soon\""), 1000), TokenFault::Malformed);
        assert_eq!(refuse(HEADER, &GOOD.replace("2000", "\"never\""), 1000), TokenFault::Malformed);
        assert_eq!(refuse(HEADER, &GOOD.replace("2000", "-1"), 1000), TokenFault::Malformed);
        assert_eq!(refuse(HEADER, &GOOD.replace("\"us\"", "\"them\""), 1000), TokenFault::Audience);
        assert_eq!(refuse(HEADER, &GOOD.replace("\"us\"", "{\"us\":1}"), 1000), TokenFault::Audience);
        assert_eq!(refuse(HEADER, &GOOD.replace("issuer", "other"), 1000), TokenFault::Issuer);
        assert_eq!(refuse(HEADER, &GOOD.replace("\"exp\":2000,", ""), 1000), TokenFault::NoExpiry);
        assert_eq!(refuse(HEADER, &GOOD.replace("sub", "bus"), 1000), TokenFault::Nobody);
        assert_eq!(refuse(HEADER, &GOOD.replace("shop", ""), 1000), TokenFault::Nobody);
        let stranger = r#"{"alg":"EdDSA","jwk":{"kty":"OKP"},"jku":"https://evil/keys"}"#;
        let (other, _) = issuer();
        assert_eq!(keys.verify(&rules(0), &sign(&other, stranger, GOOD), 1000), Err(TokenFault::Signature));
        assert_eq!(keys.verify(&rules(0), &sign(&other, HEADER, GOOD), 1000), Err(TokenFault::Signature));
        for header in [
            r#"{"alg":"none"}"#,
            r#"{"alg":"None","kid":"k"}"#,
            r#"{"alg":"HS256","kid":"k"}"#,
            r#"{"alg":"eddsa","kid":"k"}"#,
            r#"{"alg":"EdDSA","kid":"other"}"#,
            r#"{"alg":"EdDSA","kid":"../k"}"#,
            r#"{"alg":"EdDSA","kid":""}"#,
        ] {
            assert_eq!(refuse(header, GOOD, 1000), TokenFault::UnknownKey, "{header}");
        }
        for header in [r#"{"alg":"EdDSA","kid":["k"]}"#, r#"{"alg":["EdDSA"]}"#, r#"{"kid":"k"}"#, "[]", "null", "x"] {
            assert_eq!(refuse(header, GOOD, 1000), TokenFault::Malformed, "{header}");
        }
        assert_eq!(refuse(r#"{"alg":"EdDSA","crit":["exp"]}"#, GOOD, 1000), TokenFault::Critical);
        let token = sign(&pair, HEADER, GOOD);
        let forged =
            token.replacen(&to_base64url(GOOD.as_bytes()), &to_base64url(GOOD.replace("shop", "boss").as_bytes()), 1);
        assert_eq!(keys.verify(&rules(0), &forged, 1000), Err(TokenFault::Signature));
        let unsigned = token.rsplit_once('.').unwrap().0;
        assert!(keys.verify(&rules(0), &format!("{unsigned}."), 1000).is_err());
        for junk in ["", "a", "a.b", "a.b.c", "...", &"x".repeat(9000), &format!("{token}.x"), &format!("{token}=")] {
            assert!(keys.verify(&rules(0), junk, 1000).is_err(), "{junk}");
        }
    }

    #[test]
    fn clocks_may_differ_by_the_leeway_and_no_more() {
        let (pair, keys) = issuer();
        let token = sign(&pair, HEADER, &GOOD.replace("2000", "2000,\"nbf\":1000"));
        let at = |leeway: u64, now: u64| keys.verify(&rules(leeway), &token, now).map(|claims| claims.until_s);
        assert_eq!((at(60, 2059), at(60, 2060)), (Ok(2060), Err(TokenFault::Expired)));
        assert_eq!((at(60, 940), at(60, 939)), (Ok(2060), Err(TokenFault::NotYet)));
        // No sum overflows, whatever the token or the settings contain.
        assert_eq!(at(u64::MAX, 5), Ok(u64::MAX));
        let forever = sign(&pair, HEADER, &GOOD.replace("2000", "1e300"));
        assert_eq!(keys.verify(&rules(60), &forever, u64::MAX - 1).map(|claims| claims.until_s), Ok(u64::MAX));
    }

    #[test]
    fn a_set_has_keys_that_sign() {
        let why = |text: &str| KeySet::parse(text.as_bytes()).map(|set| set.0.len());
        assert_eq!(why("{"), Err("it is not JSON"));
        assert_eq!(why("[]"), Err("it has no list `keys`"));
        let key = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#;
        assert_eq!(why(&format!("{{\"keys\":[{key}}},{{\"kty\":\"oct\",\"k\":\"AAAA\"}}]}}")), Ok(1));
        assert_eq!(why(&format!("{{\"keys\":[{key},\"use\":\"enc\"}}]}}")), Ok(0));
        assert_eq!(why(r#"{"keys":[{"kty":"RSA","alg":"RS1","n":"AQ","e":"AQ"}]}"#), Ok(0));
        assert_eq!(why(r#"{"keys":[]}"#), Ok(0));
    }
}
