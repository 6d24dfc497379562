//! A certificate for the handshakes: self-signed, of a new key, valid for `localhost`. It is trusted by the client of the same process alone.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};

/// A key and its certificate.
pub(crate) struct Certificate {
    /// PKCS #8.
    pub(crate) key: Vec<u8>,
    /// X.509, DER.
    pub(crate) certificate: Vec<u8>,
}

// Tags of DER (X.690, section 8).
const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const GENERAL_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

// Contents of object identifiers.
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// Encodes a DER value with its tag and length.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
    let [high, low] = length.to_be_bytes();
    let mut out = match length {
        0..=0x7f => vec![tag, low],
        0x80..=0xff => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    out.extend_from_slice(content);
    out
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    der(SEQUENCE, &parts.concat())
}

fn bits(content: &[u8]) -> Vec<u8> {
    // No unused bits at the end.
    der(BITS, &[&[0], content].concat())
}

/// Makes a key and its certificate.
pub(crate) fn make() -> Result<Certificate, String> {
    let random = SystemRandom::new();
    let failed = |what: &str| format!("{what} failed");
    let document =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).map_err(|_| failed("making a key"))?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref(), &random)
        .map_err(|_| failed("reading the key"))?;
    let algorithm = sequence(&[der(OBJECT, ECDSA_SHA256)]);
    let name = sequence(&[der(SET, &sequence(&[der(OBJECT, COMMON_NAME), der(UTF8, b"quayline calibrate")]))]);
    let alternative = der(OCTETS, &sequence(&[der(0x82, b"localhost")]));
    let extensions = sequence(&[sequence(&[der(OBJECT, ALTERNATIVE_NAME), alternative])]);
    let body = sequence(&[
        der(0xa0, &der(INTEGER, &[2])),
        der(INTEGER, &[1]),
        algorithm.clone(),
        name.clone(),
        sequence(&[der(UTC_TIME, b"200101000000Z"), der(GENERAL_TIME, b"20991231235959Z")]),
        name,
        sequence(&[sequence(&[der(OBJECT, EC_PUBLIC_KEY), der(OBJECT, P256)]), bits(pair.public_key().as_ref())]),
        der(0xa3, &extensions),
    ]);
    let signature = pair.sign(&random, &body).map_err(|_| failed("signing the certificate"))?;
    let certificate = sequence(&[body, algorithm, bits(signature.as_ref())]);
    Ok(Certificate { key: document.as_ref().to_vec(), certificate })
}
