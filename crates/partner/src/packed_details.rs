//! The stored form of [`Details`] and the partner's name: the members that are not empty, one after another.
//!
//! ```text
//! text    tag, length (varint), UTF-8          tags 1 to 15; that of outputs repeats
//! number  tag, number (varint)                 tags 32 to 43
//! pair    tag, length, UTF-8, length, UTF-8    tag 64: a field; repeats
//! line    tag, milliseconds (varint), length, UTF-8    tag 65: a line of history; repeats
//! finding tag, length, JSON                    tag 66; repeats
//! ```
//! A varint has seven bits in each byte, the lowest first; the highest bit is set if another byte follows. Every entry of every document has this
//! form. JSON took three times the space, most of it for member names. A reader refuses unknown tags.

use crate::details::{Details, HistoryLine};

const PARTNER: u8 = 14;
const OUTPUT: u8 = 15;
const TEST: u8 = 32;
const FIELD: u8 = 64;
const HISTORY: u8 = 65;
const FINDING: u8 = 66;

/// Texts and numbers with their tags.
macro_rules! members {
    ($take:ident) => {
        $take!(
            1 standard, 2 document, 3 version, 4 own, 5 sender, 6 receiver, 7 interchange, 8 group, 9 rule, 10 map, 11 source, 12 guide;
            33 parent, 34 about, 35 replaced_by, 36 answered_by, 37 bytes, 38 transactions, 39 transactions_bad, 40 findings_more, 41 keep_days, 42 kept_bytes,
            43 kept_days
        )
    };
}

/// Appends the form of `details`.
pub(crate) fn put(partner: &str, details: &Details, out: &mut Vec<u8>) {
    macro_rules! put_members {
        ($($text:literal $text_name:ident),*; $($number:literal $number_name:ident),*) => {
            $(if !details.$text_name.is_empty() {
                out.push($text);
                put_text(&details.$text_name, out);
            })*
            $(if details.$number_name != 0 {
                out.push($number);
                put_number(details.$number_name, out);
            })*
        };
    }
    if !partner.is_empty() {
        out.push(PARTNER);
        put_text(partner, out);
    }
    members!(put_members);
    if details.test {
        out.extend_from_slice(&[TEST, 1]);
    }
    for output in &details.outputs {
        out.push(OUTPUT);
        put_text(output, out);
    }
    for (name, value) in &details.fields {
        out.push(FIELD);
        put_text(name, out);
        put_text(value, out);
    }
    for line in &details.history {
        out.push(HISTORY);
        put_number(line.at_ms, out);
        put_text(&line.what, out);
    }
    for finding in &details.findings {
        out.push(FINDING);
        put_text(&serde_json::to_string(finding).expect("a finding is texts"), out);
    }
}

fn put_number(mut number: u64, out: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(number & 0x7f).expect("seven bits");
        number >>= 7;
        if number == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_number(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// Reads the complete `bytes`; `None` if they are not output of [`put`].
pub(crate) fn get(bytes: &[u8]) -> Option<(String, Details)> {
    let (mut partner, mut details) = (String::new(), Details::default());
    let mut rest = bytes;
    while let Some((tag, after)) = rest.split_first() {
        rest = after;
        macro_rules! get_one {
            ($($text:literal $text_name:ident),*; $($number:literal $number_name:ident),*) => {
                match *tag {
                    $($text => details.$text_name = text(&mut rest)?,)*
                    $($number => details.$number_name = number(&mut rest)?,)*
                    PARTNER => partner = text(&mut rest)?,
                    TEST => details.test = number(&mut rest)? == 1,
                    OUTPUT => details.outputs.push(text(&mut rest)?),
                    FIELD => details.fields.push((text(&mut rest)?, text(&mut rest)?)),
                    HISTORY => details.history.push(HistoryLine { at_ms: number(&mut rest)?, what: text(&mut rest)? }),
                    FINDING => details.findings.push(serde_json::from_str(&text(&mut rest)?).ok()?),
                    _ => return None,
                }
            };
        }
        members!(get_one);
    }
    Some((partner, details))
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        number |= bits << shift;
        if (number >> shift) != bits {
            return None;
        }
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(std::str::from_utf8(text).ok()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::StoredFinding;

    fn full() -> Details {
        let mut details = Details {
            standard: "X12".into(),
            document: "850".into(),
            version: "005010".into(),
            own: "US".into(),
            sender: "ZZ:ACME".into(),
            receiver: "14:ÜS".into(),
            interchange: "000000001".into(),
            group: "7".into(),
            test: true,
            parent: 1,
            about: 127,
            replaced_by: 128,
            answered_by: u64::MAX,
            rule: "ACME/orders".into(),
            map: "00112233".into(),
            guide: "850 005010 00112233".into(),
            bytes: 1 << 40,
            transactions: 3,
            transactions_bad: 2,
            source: "in.x12".into(),
            outputs: vec!["queue:IN".into(), "folder/a.json".into()],
            fields: vec![("order".into(), "PO 1".into()), ("ship".into(), "x".repeat(300))],
            findings: vec![StoredFinding {
                code: "EDI-001".into(),
                message: "wrong".into(),
                ..StoredFinding::default()
            }],
            findings_more: 5,
            keep_days: 2_555,
            kept_bytes: 1 << 33,
            kept_days: 90,
            ..Details::default()
        };
        details.happened(1_775_001_600_000, "received");
        details.happened(0, "");
        details
    }

    #[test]
    fn details_come_back_as_they_were() {
        for details in [Details::default(), full()] {
            let mut bytes = Vec::new();
            put("ACME", &details, &mut bytes);
            assert_eq!(get(&bytes), Some(("ACME".to_owned(), details)));
        }
    }

    /// A member that is added to [`Details`] and forgotten here would be lost: JSON, which is derived, knows all of them.
    #[test]
    fn every_member_has_its_part() {
        let json = serde_json::to_value(full()).expect("texts and numbers");
        for name in json.as_object().expect("members").keys() {
            let mut one = json.clone();
            let members = one.as_object_mut().expect("members");
            members.retain(|other, _| other == name);
            let details: Details = serde_json::from_value(one.clone()).expect("one member");
            let mut bytes = Vec::new();
            put("ACME", &details, &mut bytes);
            assert_ne!(details, Details::default(), "{name} must not be empty in this test");
            assert_eq!(get(&bytes), Some(("ACME".to_owned(), details)), "{name}");
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_as_others_but_never_panic() {
        let mut bytes = Vec::new();
        put("ACME", &full(), &mut bytes);
        for end in 0..bytes.len() {
            // A prefix may end between two parts.
            if let Some((_, details)) = get(&bytes[..end]) {
                assert_ne!(details, full(), "{end}");
            }
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                assert_ne!(get(&damaged), Some(("ACME".to_owned(), full())), "byte {at} bit {bit}");
            }
        }
        assert_eq!(get(&[200, 1, 1]), None, "an unknown tag");
        assert_eq!(
            get(&[33, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
            None,
            "a number above 64 bits"
        );
    }
}
