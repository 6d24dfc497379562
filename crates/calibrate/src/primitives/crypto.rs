//! Cryptography: encryption, digests, signatures and random bytes, by length and by threads.

use std::hint::black_box;
use std::time::Duration;

use quayline_capacity::Share;
use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::digest::{SHA256, SHA512, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
};

use crate::run::{Runner, Work};

/// Lengths of inputs.
const LENGTHS: [usize; 3] = [1 << 10, 2 << 10, 60 << 10];
/// Bytes that a batch processes, so that reading the clock costs little.
const BATCH_BYTES: usize = 256 << 10;
/// Signatures of a batch.
const BATCH_SIGNATURES: usize = 8;
/// A key of 2,048 bits as PKCS #8, made for this study and used nowhere else: ring signs with RSA keys and does not make them. Its private part is
/// public, so it protects nothing.
const RSA_KEY: &[u8] = include_bytes!("rsa-2048.pk8");
/// Share of the threads' time without a processor above which figures are not to be trusted.
const DISTURBED_MAX: f64 = 0.5;

/// One operation on one length.
#[derive(Clone, Debug, PartialEq)]
pub struct CryptoRow {
    /// `encrypt`, `decrypt`, `digest`, `sign`, `verify` or `random`.
    pub operation: &'static str,
    /// The algorithm, such as `AES-256-GCM`.
    pub algorithm: &'static str,
    /// Bytes of the input, or of the random bytes.
    pub bytes: usize,
    /// Operations a CPU second on one thread.
    pub one: f64,
    /// Noise of `one`.
    pub spread: Share,
    /// Operations a CPU second of each of all threads.
    pub each: f64,
}

/// Results of the study.
#[derive(Clone, Debug)]
pub struct CryptoStudy {
    /// Threads of the runs with all threads.
    pub threads: u32,
    /// Rows.
    pub rows: Vec<CryptoRow>,
    /// Share of the threads' time in which they were ready and had no processor.
    pub disturbance: Share,
}

#[derive(Clone, Copy)]
enum Operation {
    Encrypt(&'static Algorithm),
    Decrypt(&'static Algorithm),
    Digest(&'static ring::digest::Algorithm),
    SignEcdsa,
    VerifyEcdsa,
    SignEd25519,
    VerifyEd25519,
    SignRsa,
    VerifyRsa,
    Random,
}

const OPERATIONS: [(&str, &str, Operation); 13] = [
    ("encrypt", "AES-128-GCM", Operation::Encrypt(&AES_128_GCM)),
    ("encrypt", "AES-256-GCM", Operation::Encrypt(&AES_256_GCM)),
    ("encrypt", "ChaCha20-Poly1305", Operation::Encrypt(&CHACHA20_POLY1305)),
    ("decrypt", "AES-256-GCM", Operation::Decrypt(&AES_256_GCM)),
    ("digest", "SHA256", Operation::Digest(&SHA256)),
    ("digest", "SHA512", Operation::Digest(&SHA512)),
    ("sign", "ECDSA P-256", Operation::SignEcdsa),
    ("verify", "ECDSA P-256", Operation::VerifyEcdsa),
    ("sign", "Ed25519", Operation::SignEd25519),
    ("verify", "Ed25519", Operation::VerifyEd25519),
    ("sign", "RSA 2048", Operation::SignRsa),
    ("verify", "RSA 2048", Operation::VerifyRsa),
    ("random", "system", Operation::Random),
];

impl Operation {
    /// Returns the input lengths. A signature hashes its input first, so one length is enough.
    fn lengths(self) -> &'static [usize] {
        match self {
            Operation::Encrypt(_) | Operation::Decrypt(_) | Operation::Digest(_) | Operation::Random => &LENGTHS,
            _ => &LENGTHS[..1],
        }
    }
}

impl CryptoStudy {
    /// Runs every operation on one thread and on `threads`, each for the given time. `say` receives the name of each.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn run(threads: u32, time: Duration, say: &mut dyn FnMut(&str)) -> Result<CryptoStudy, String> {
        let mut runner = Runner::new(time);
        let mut rows = Vec::new();
        for (operation, algorithm, kind) in OPERATIONS {
            say(&format!("{operation} {algorithm}"));
            for bytes in kind.lengths().iter().copied() {
                let prepare = || prepared(kind, bytes);
                let one = runner.measure(true, 1, &prepare)?;
                let each = if threads > 1 { runner.measure(true, threads, &prepare)? } else { one };
                rows.push(CryptoRow {
                    operation,
                    algorithm,
                    bytes,
                    one: one.rate,
                    spread: one.spread,
                    each: each.rate,
                });
            }
        }
        Ok(CryptoStudy { threads, rows, disturbance: runner.disturbance() })
    }

    /// Converts the study into a report of kind `crypto`.
    #[must_use]
    pub fn report(&self) -> Report {
        let name = |row: &CryptoRow| format!("{} {}, {} bytes", row.operation, row.algorithm, row.bytes);
        let cells = |row: &CryptoRow| {
            // A signature is of a digest: its bytes a second say nothing.
            let moves = !matches!(row.operation, "sign" | "verify");
            vec![
                Cell::Text(name(row)),
                Cell::Number(row.one),
                Cell::Number(1e6 / row.one),
                Cell::Number(row.each),
                Cell::Number(row.each * f64::from(self.threads)),
                if moves { Cell::Number(row.one * row.bytes as f64 / 1e6) } else { Cell::Empty },
                Cell::Number(row.spread.percent()),
            ]
        };
        let disturbed = self.disturbance.0 > DISTURBED_MAX;
        let percent = self.disturbance.percent();
        Report {
            kind: "crypto".to_owned(),
            title: "Cryptography: operations by length and threads".to_owned(),
            verdict: if disturbed { Verdict::Untrustworthy } else { Verdict::Good },
            summary: format!("Threads had no processor for {percent:.0} % of the time in which they could have run."),
            conditions: vec![("threads of the study".to_owned(), self.threads.to_string())],
            sections: vec![Section {
                id: "operations".to_owned(),
                title: "Operations".to_owned(),
                notes: vec![
                    "Rates are operations a CPU second of a thread. `All threads` is that of each of them, times their number. \
                     RSA signatures are those of PKCS #1 version 1.5 with SHA-256."
                        .to_owned(),
                ],
                picture: Some(Picture::Bars {
                    across: "CPU time of an operation, µs".to_owned(),
                    rows: self.rows.iter().map(name).collect(),
                    series: vec![("one thread".to_owned(), self.rows.iter().map(|row| 1e6 / row.one).collect())],
                }),
                table: Table {
                    columns: vec![
                        Column::new("operation", ""),
                        Column::higher("one thread", "1/s"),
                        Column::lower("CPU time", "µs"),
                        Column::higher("each of all threads", "1/s"),
                        Column::new("all threads", "1/s"),
                        Column::new("one thread", "MB/s"),
                        Column::new("spread", "%"),
                    ],
                    rows: self.rows.iter().map(cells).collect(),
                },
            }],
        }
    }
}

type OneMore = Box<dyn FnMut() -> Result<(), String>>;

struct Repeat {
    count: usize,
    operation: OneMore,
}

impl Work for Repeat {
    fn batch(&mut self) -> Result<u64, String> {
        for _ in 0..self.count {
            (self.operation)()?;
        }
        Ok(self.count as u64)
    }
}

/// Prepares an operation for the calling thread.
fn prepared(kind: Operation, bytes: usize) -> Result<Box<dyn Work>, String> {
    let by_bytes = (BATCH_BYTES / bytes).max(1);
    let count = match kind {
        Operation::Encrypt(_) | Operation::Decrypt(_) | Operation::Digest(_) | Operation::Random => by_bytes,
        _ => BATCH_SIGNATURES,
    };
    let message = vec![b'm'; bytes];
    let random = SystemRandom::new();
    let operation: OneMore = match kind {
        Operation::Encrypt(algorithm) => {
            let key = key(algorithm)?;
            let mut text = message;
            let mut number = 0u64;
            Box::new(move || {
                number += 1;
                // The text is encrypted again and again: its content does not matter to the time.
                let sealed = key.seal_in_place_separate_tag(nonce(number), Aad::empty(), black_box(&mut text));
                let _ = black_box(sealed.map_err(|_| "encrypting failed")?);
                Ok(())
            })
        }
        Operation::Decrypt(algorithm) => {
            let key = key(algorithm)?;
            let mut sealed = message;
            key.seal_in_place_append_tag(nonce(1), Aad::empty(), &mut sealed).map_err(|_| "encrypting failed")?;
            let mut text = sealed.clone();
            Box::new(move || {
                // Decryption works in place, so each needs a copy, which costs a few percent of it.
                text.copy_from_slice(&sealed);
                let opened = key.open_in_place(nonce(1), Aad::empty(), black_box(&mut text));
                black_box(opened.map_err(|_| "decrypting failed")?);
                Ok(())
            })
        }
        Operation::Digest(algorithm) => Box::new(move || {
            black_box(digest(algorithm, black_box(&message)));
            Ok(())
        }),
        Operation::SignEcdsa => {
            let pair = ecdsa(&random)?;
            Box::new(move || {
                black_box(pair.sign(&random, black_box(&message)).map_err(|_| "signing failed")?);
                Ok(())
            })
        }
        Operation::VerifyEcdsa => {
            let pair = ecdsa(&random)?;
            let signature = pair.sign(&random, &message).map_err(|_| "signing failed")?;
            let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, pair.public_key().as_ref().to_vec());
            Box::new(move || {
                Ok(public.verify(black_box(&message), signature.as_ref()).map_err(|_| "a wrong signature")?)
            })
        }
        Operation::SignEd25519 => {
            let pair = ed25519(&random)?;
            Box::new(move || {
                black_box(pair.sign(black_box(&message)));
                Ok(())
            })
        }
        Operation::VerifyEd25519 => {
            let pair = ed25519(&random)?;
            let signature = pair.sign(&message);
            let public = UnparsedPublicKey::new(&ED25519, pair.public_key().as_ref().to_vec());
            Box::new(move || {
                Ok(public.verify(black_box(&message), signature.as_ref()).map_err(|_| "a wrong signature")?)
            })
        }
        Operation::SignRsa => {
            let pair = rsa()?;
            let mut signature = vec![0; pair.public().modulus_len()];
            Box::new(move || {
                let signed = pair.sign(&RSA_PKCS1_SHA256, &random, black_box(&message), &mut signature);
                signed.map_err(|_| "signing failed")?;
                black_box(&signature);
                Ok(())
            })
        }
        Operation::VerifyRsa => {
            let pair = rsa()?;
            let mut signature = vec![0; pair.public().modulus_len()];
            pair.sign(&RSA_PKCS1_SHA256, &random, &message, &mut signature).map_err(|_| "signing failed")?;
            let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public().as_ref().to_vec());
            Box::new(move || Ok(public.verify(black_box(&message), &signature).map_err(|_| "a wrong signature")?))
        }
        Operation::Random => {
            let mut out = message;
            Box::new(move || Ok(random.fill(black_box(&mut out)).map_err(|_| "no random bytes")?))
        }
    };
    Ok(Box::new(Repeat { count, operation }))
}

fn key(algorithm: &'static Algorithm) -> Result<LessSafeKey, String> {
    let unbound = UnboundKey::new(algorithm, &vec![7; algorithm.key_len()]).map_err(|_| "making a key failed")?;
    Ok(LessSafeKey::new(unbound))
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

fn ecdsa(random: &SystemRandom) -> Result<EcdsaKeyPair, String> {
    let failed = "making a key failed";
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, random).map_err(|_| failed)?;
    Ok(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref(), random).map_err(|_| failed)?)
}

fn ed25519(random: &SystemRandom) -> Result<Ed25519KeyPair, String> {
    let document = Ed25519KeyPair::generate_pkcs8(random).map_err(|_| "making a key failed")?;
    Ok(Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(|_| "making a key failed")?)
}

fn rsa() -> Result<RsaKeyPair, String> {
    RsaKeyPair::from_pkcs8(RSA_KEY).map_err(|error| format!("the key for RSA cannot be used: {error}"))
}
