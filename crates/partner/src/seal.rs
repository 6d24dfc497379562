//! Encryption of stored bytes: documents, waiting documents, files for a folder that are not written yet, and the details of entries.
//!
//! ```text
//!  0   1  form: 2
//!  1  12  nonce, random
//! 13      AES-256-GCM of the form and bytes as stored without a key, followed by its tag of 16 bytes
//! ```
//! The key of the record is authenticated with the bytes, so bytes cannot be moved from one entry to another. Index values are not
//! encrypted: kind, digest of the partner, time, state, direction and control number. Business fields are indexed by a keyed digest.

use quayline_core::{Fault, Finding, Findings, system_error_text};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::codes;

/// The key of a transaction store.
pub struct StoreKey {
    key: LessSafeKey,
    /// Key of the digests that index entries.
    fields: hmac::Key,
    /// Digest by which a store recognizes its key. A digest of 64 bits reveals nothing about a random key.
    digest: u64,
    random: SystemRandom,
}

/// Environment variable that has the key of a transaction store.
pub const STORE_KEY_VARIABLE: &str = "QUAYLINE_STORE_KEY";

/// Bytes of a key.
const KEY_BYTES: usize = 32;

impl StoreKey {
    /// Reads a key: 64 hexadecimal digits, with or without white space around them.
    ///
    /// # Errors
    /// A finding that shows nothing of the text.
    pub fn parse(text: &str) -> Result<StoreKey, Findings> {
        let text = text.trim();
        let wrong = || {
            let message =
                format!("the key has {} characters, expected {} hexadecimal digits", text.len(), 2 * KEY_BYTES);
            let hint = format!("make a key with `openssl rand -hex {KEY_BYTES}`, and keep a copy in a safe place");
            Findings::from(Finding::error(codes::KEY, Fault::Config, message).hint(hint))
        };
        let bytes = quayline_core::from_hex(text).ok_or_else(wrong)?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| wrong())?;
        let digest = ring::digest::digest(&ring::digest::SHA256, &[b"quayline store key", &bytes[..]].concat());
        let digest = digest.as_ref().first_chunk::<8>().map_or(0, |first| u64::from_be_bytes(*first));
        let fields = ring::digest::digest(&ring::digest::SHA256, &[b"quayline field key", &bytes[..]].concat());
        let fields = hmac::Key::new(hmac::HMAC_SHA256, fields.as_ref());
        // Zero means that a store has no key.
        Ok(StoreKey { key: LessSafeKey::new(key), fields, digest: digest.max(1), random: SystemRandom::new() })
    }

    /// Reads the key that the environment variable [`STORE_KEY_VARIABLE`] has: hexadecimal digits, or `file:PATH`. `None` if it is not set or empty.
    ///
    /// # Errors
    /// The file cannot be read, and those of [`StoreKey::parse`].
    pub fn from_environment() -> Result<Option<StoreKey>, Findings> {
        let Some(value) = std::env::var_os(STORE_KEY_VARIABLE).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let wrong = |message: String, hint: &str| {
            Findings::from(Finding::error(codes::KEY, Fault::Config, message).hint(hint.to_owned()))
        };
        let value = value.to_str().ok_or_else(|| {
            wrong(format!("{STORE_KEY_VARIABLE} is not text"), "write hexadecimal digits, or file:PATH")
        })?;
        let text = match value.strip_prefix("file:") {
            None => value.to_owned(),
            Some(path) => std::fs::read_to_string(path).map_err(|error| {
                let message = format!("the file of the key cannot be read: {}", system_error_text(&error));
                wrong(message, "check the path in QUAYLINE_STORE_KEY and the permissions of the file")
            })?,
        };
        StoreKey::parse(&text).map(Some)
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// Computes a digest that requires the key.
    pub(crate) fn digest_of(&self, bytes: &[u8]) -> [u8; 16] {
        hmac::sign(&self.fields, bytes).as_ref().first_chunk().copied().expect("HMAC-SHA-256 has 32 bytes")
    }

    /// Encrypts bytes in place of `bytes`; `record` is the key of the record that will hold them.
    pub(crate) fn seal(&self, record: &[u8], mut bytes: Vec<u8>) -> Result<Vec<u8>, Findings> {
        let failed = || {
            let finding = Finding::error(codes::KEY, Fault::Environment, "the system gives no random numbers");
            Findings::from(finding.hint("nothing was stored; correct the cause and run the command again"))
        };
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).map_err(|_| failed())?;
        let mut out = Vec::with_capacity(1 + NONCE_LEN + bytes.len() + AES_256_GCM.tag_len());
        out.push(SEALED);
        out.extend_from_slice(&nonce);
        let sealed =
            self.key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(record), &mut bytes);
        sealed.map_err(|_| failed())?;
        out.extend_from_slice(&bytes);
        Ok(out)
    }

    /// Decrypts the bytes after the form; `None` if anything was changed since they were stored.
    pub(crate) fn open(&self, record: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = rest.to_vec();
        let length =
            self.key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(record), &mut bytes).ok()?.len();
        bytes.truncate(length);
        Some(bytes)
    }
}

/// Form of encrypted bytes.
pub(crate) const SEALED: u8 = 2;

/// Shows nothing of the key.
impl core::fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("StoreKey").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_only_with_their_key_and_record() {
        let key = StoreKey::parse(&"0a".repeat(32)).expect("a key");
        let sealed = key.seal(b"record 1", b"ISA*00".to_vec()).expect("sealed");
        assert!(!sealed.windows(3).any(|part| part == b"ISA"));
        assert_ne!(sealed, key.seal(b"record 1", b"ISA*00".to_vec()).expect("sealed"), "no nonce comes twice");
        assert_eq!(key.open(b"record 1", &sealed[1..]).as_deref(), Some(&b"ISA*00"[..]));
        assert_eq!(key.open(b"record 2", &sealed[1..]), None);
        assert_eq!(StoreKey::parse(&"0b".repeat(32)).expect("a key").open(b"record 1", &sealed[1..]), None);
        for at in 1..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(key.open(b"record 1", &damaged[1..]), None, "byte {at}");
        }
        assert_eq!(key.open(b"record 1", &sealed[1..9]), None);
    }

    #[test]
    fn a_wrong_key_is_described_and_not_shown() {
        for text in ["", "0a", "zz", &"0a".repeat(31), &"0a".repeat(33), &"0g".repeat(32), "ä"] {
            let found = StoreKey::parse(text).expect_err(text).to_string();
            assert!(found.contains("expected 64 hexadecimal digits") && !found.contains("0a0a"), "{found}");
        }
        assert!(StoreKey::parse(&format!(" {}\n", "AF".repeat(32))).is_ok());
    }
}
