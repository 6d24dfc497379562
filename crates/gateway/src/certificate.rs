//! Reading of a client's certificate, whose trust was decided before.

/// Extracts the common name of a certificate's subject (X.509: `tbsCertificate.subject`, attribute 2.5.4.3) from its DER form.
#[must_use]
pub fn common_name(certificate: &[u8]) -> Option<String> {
    const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
    let (_, whole, _) = element(certificate)?;
    let (_, body, _) = element(whole)?;
    let mut rest = body;
    // version [0], serialNumber, signature, issuer, validity, subject
    let (tag, _, behind) = element(rest)?;
    if tag == 0xa0 {
        rest = behind;
    }
    for _ in 0..4 {
        rest = element(rest)?.2;
    }
    let (_, mut names, _) = element(rest)?;
    while !names.is_empty() {
        let (_, set, behind) = element(names)?;
        names = behind;
        let (_, pair, _) = element(set)?;
        let (_, kind, value) = element(pair)?;
        if kind == COMMON_NAME {
            let (_, text, _) = element(value)?;
            return String::from_utf8(text.to_vec()).ok().filter(|name| !name.is_empty());
        }
    }
    None
}

/// Returns tag and content of the first DER element, and the rest.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (digits.iter().fold(0usize, |n, digit| n << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, behind) = rest.split_at_checked(length)?;
    Some((*tag, content, behind))
}
