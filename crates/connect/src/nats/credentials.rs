//! NKeys, and credentials of users with a JWT.
//!
//! ```text
//! seed: base32 of  two bytes of prefix (5 bits 'S', 8 bits kind) | 32 bytes | CRC-16 of them
//! key:  base32 of  one byte of prefix (kind)                      | 32 bytes | CRC-16 of them
//! ```
//!
//! The key pair is one of Ed25519. The server sends a nonce, and the client signs it. Source: NATS documentation, "NKeys"; RFC 4648 section 6; RFC 8032.

use std::fmt;
use std::sync::Arc;

use ring::signature::{Ed25519KeyPair, KeyPair as _};

/// Prefix of seeds, in the high five bits.
const SEED: u8 = 18 << 3;
/// Bytes of a key.
const KEY_BYTES: usize = 32;
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Lines around the parts of a file of credentials.
const JWT_LINE: &str = "NATS USER JWT";
const SEED_LINE: &str = "NKEY SEED";

/// The key pair of a user, perhaps with the JWT of its account.
#[derive(Clone)]
pub struct NatsCredentials {
    pair: Arc<Ed25519KeyPair>,
    kind: u8,
    jwt: Option<String>,
}

impl fmt::Debug for NatsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsCredentials").field("public_key", &self.public_key()).finish_non_exhaustive()
    }
}

impl NatsCredentials {
    /// Reads the text of a file of credentials (JWT and seed, as `nsc` writes it), or a seed alone.
    ///
    /// # Errors
    /// A description of the syntax error, without any part of the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (jwt, seed) = match part(text, SEED_LINE) {
            Some(seed) => {
                let jwt = part(text, JWT_LINE).ok_or("it has a seed between lines, but no JWT of a user")?;
                (Some(jwt.to_owned()), seed)
            }
            None => (None, text.trim()),
        };
        let wrong = || "its seed is not one of NKeys: 58 letters and digits that begin with S".to_owned();
        let bytes = from_base32(seed).ok_or_else(wrong)?;
        let (body, crc) = bytes.split_last_chunk::<2>().ok_or_else(wrong)?;
        let [first, second, key @ ..] = body else { return Err(wrong()) };
        if first & 0xf8 != SEED || key.len() != KEY_BYTES {
            return Err(wrong());
        }
        if crc16(body) != u16::from_le_bytes(*crc) {
            return Err("its seed has a wrong checksum: a character is changed".to_owned());
        }
        let pair = Ed25519KeyPair::from_seed_unchecked(key).map_err(|_| wrong())?;
        Ok(NatsCredentials { pair: Arc::new(pair), kind: (first & 7) << 5 | second >> 3, jwt })
    }

    /// Returns the public key in the form that servers and operators use: `U` and further characters for a user.
    #[must_use]
    pub fn public_key(&self) -> String {
        let mut bytes = vec![self.kind];
        bytes.extend_from_slice(self.pair.public_key().as_ref());
        bytes.extend(crc16(&bytes).to_le_bytes());
        to_digits(&bytes, 5, BASE32)
    }

    /// The JWT.
    #[must_use]
    pub fn jwt(&self) -> Option<&str> {
        self.jwt.as_deref()
    }

    /// Signs a nonce and returns the signature in URL-safe base64.
    #[must_use]
    pub fn sign(&self, nonce: &[u8]) -> String {
        to_digits(self.pair.sign(nonce).as_ref(), 6, BASE64_URL)
    }
}

/// Returns the text between the lines `-----BEGIN NAME-----` and `------END NAME------`, where `NAME` ends with `name`.
fn part<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| line.contains("BEGIN ") && line.trim_end_matches('-').ends_with(name))?;
    lines.find(|line| !line.is_empty()).filter(|line| !line.starts_with('-'))
}

/// Digits of some bits each, the first bits first.
fn to_digits(bytes: &[u8], bits: u32, digits: &[u8]) -> String {
    let (mut text, mut rest, mut count) = (String::new(), 0_u32, 0);
    let mask = (1 << bits) - 1;
    for byte in bytes {
        rest = rest << 8 | u32::from(*byte);
        count += 8;
        while count >= bits {
            count -= bits;
            text.push(char::from(digits[(rest >> count & mask) as usize]));
        }
        rest &= (1 << count) - 1;
    }
    if count > 0 {
        text.push(char::from(digits[(rest << (bits - count) & mask) as usize]));
    }
    text
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest, mut count) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes() {
        let value = BASE32.iter().position(|known| *known == digit)?;
        rest = rest << 5 | u32::try_from(value).ok()?;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(rest >> count).ok()?);
            rest &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// Computes a CRC-16 (polynomial 0x1021, initial value 0; XMODEM).
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An example of the documentation of NATS.
    const EXAMPLE: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";

    #[test]
    fn a_seed_has_its_public_key_and_a_damaged_one_is_refused() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        let alone = NatsCredentials::parse(&format!("{EXAMPLE}\n")).expect("a seed");
        assert_eq!(alone.public_key(), "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4");
        assert_eq!(alone.jwt(), None);
        assert!(!format!("{alone:?}").contains(&EXAMPLE[2..20]), "a seed is not shown");
        let file = format!(
            "-----BEGIN NATS USER JWT-----\neyJ0.e30.c2ln\n------END NATS USER JWT------\n\nTHIS IS A SECRET.\n\n\
             -----BEGIN USER NKEY SEED-----\n{EXAMPLE}\n------END USER NKEY SEED------\n"
        );
        let both = NatsCredentials::parse(&file).expect("credentials");
        assert_eq!((both.jwt(), both.public_key()), (Some("eyJ0.e30.c2ln"), alone.public_key()));
        for (text, part) in [
            (EXAMPLE.replace("SSL3", "SSL2"), "wrong checksum"),
            (alone.public_key(), "not one of NKeys"),
            (String::new(), "not one of NKeys"),
            ("SU0".to_owned(), "not one of NKeys"),
            (file.replace("USER JWT", "OTHER"), "no JWT of a user"),
        ] {
            let error = NatsCredentials::parse(&text).expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn digits_are_those_of_the_standard() {
        // RFC 4648, section 10, without padding.
        for (text, digits) in
            [("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("foobar", "MZXW6YTBOI")]
        {
            assert_eq!(to_digits(text.as_bytes(), 5, BASE32), digits);
            assert_eq!(from_base32(digits).as_deref(), Some(text.as_bytes()));
        }
        for (text, digits) in [("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(to_digits(text.as_bytes(), 6, BASE64_URL), digits);
        }
    }
}
