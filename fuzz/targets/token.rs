//! Any token, any set of keys and any certificate: nothing that was not signed by a known key says who a client is.

use std::sync::LazyLock;

use quayline_gateway::{KeySet, TokenRules, common_name};

/// A key whose other half nobody here has.
static KEYS: LazyLock<KeySet> = LazyLock::new(|| {
    KeySet::parse(
        br#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
    )
    .expect("it is right")
});

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let rules = TokenRules {
        issuer: "https://issuer".into(),
        audience: "us".into(),
        roles_claim: "roles".into(),
        leeway_s: u64::from(choice) << 56,
    };
    match choice % 3 {
        0 => {
            if let Ok(token) = std::str::from_utf8(rest) {
                assert!(KEYS.verify(&rules, token, 1_700_000_000).is_err(), "nobody has signed {token}");
            }
        }
        1 => {
            if let Ok(keys) = KeySet::parse(rest) {
                // Keys of any size and form check signatures without falling over.
                let token = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA";
                assert!(keys.verify(&rules, token, 0).is_err());
            }
        }
        _ => {
            let _ = common_name(rest);
        }
    }
}
