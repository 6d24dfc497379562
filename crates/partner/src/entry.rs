//! Entries of the transaction store.
//!
//! # Stored form, version 3
//! ```text
//!   0   8  id, high byte first                                                ─ primary key
//!   8   1  kind      9   8  digest of the partner   17   8  time   25  8  id  ─ index `partner`
//!  33   1  state    34   8  due or time   42   1  direction   43   8  context   51  14  number, padded
//!  65   1  where the bytes are; bit 5: the details are encrypted     66   4  length of the details, low byte first
//!  70      details, then bytes, compressed, if they are in the entry
//! ```
//! The index key ends with the id, so it is unique, and a place in an index is also a place to continue a list from.
//!
//! States that need attention and numbers that are looked up have keys in the file of fields, see [`crate::Ledger`]. Version 1 had an index
//! for each. Most entries are delivered documents, which nobody looks up in this way, and every key costs about as much as the entry itself.
//! Version 2 had the partner's name in the index, and details as JSON.

use xxhash_rust::xxh3::xxh3_64;

use crate::details::Details;
use crate::packed_details;

/// Number of an entry, from 1.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct EntryId(pub u64);

impl core::fmt::Display for EntryId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// Kind of object that an entry records.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// An interchange.
    Interchange,
    /// A functional group.
    Group,
    /// A transaction set, a message, or a document to send.
    Transaction,
}

impl Kind {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Kind::Interchange => b'I',
            Kind::Group => b'G',
            Kind::Transaction => b'T',
        }
    }

    const ALL: [Kind; 3] = [Kind::Interchange, Kind::Group, Kind::Transaction];
    /// Every word.
    pub const WORDS: &'static [&'static str] = &["interchange", "group", "transaction"];

    fn of(byte: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.byte() == byte)
    }

    /// Returns the kind with this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// Returns the name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Interchange => "interchange",
            Kind::Group => "group",
            Kind::Transaction => "transaction",
        }
    }
}

/// Direction of an entry.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Way {
    /// The object was received.
    Received,
    /// The object was sent or will be sent.
    Sent,
}

impl Way {
    /// Every word.
    pub const WORDS: &'static [&'static str] = &["received", "sent"];

    /// Returns the direction with this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Way> {
        [Way::Received, Way::Sent].into_iter().find(|way| way.name() == word)
    }

    pub(crate) fn byte(self) -> u8 {
        match self {
            Way::Received => b'R',
            Way::Sent => b'S',
        }
    }

    /// Returns the name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Way::Received => "received",
            Way::Sent => "sent",
        }
    }
}

macro_rules! states {
    ($($(#[$doc:meta])* $variant:ident = $byte:literal $word:literal),* $(,)?) => {
        /// State of an entry.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum State { $($(#[$doc])* $variant),* }

        impl State {
            /// Every word.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            pub(crate) fn byte(self) -> u8 {
                match self { $(State::$variant => $byte),* }
            }

            fn of(byte: u8) -> Option<State> {
                match byte { $($byte => Some(State::$variant),)* _ => None }
            }

            /// Returns the name for people.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(State::$variant => $word),* }
            }

            /// Returns the state with this name.
            #[must_use]
            pub fn named(word: &str) -> Option<State> {
                match word { $($word => Some(State::$variant),)* _ => None }
            }
        }
    };
}

states! {
    /// An interchange that is being received, or whose processing stopped.
    Receiving = b'R' "receiving",
    /// Processed and handed to its delivery.
    Delivered = b'D' "delivered",
    /// Rejected for its findings.
    Rejected = b'X' "rejected",
    /// No partner or no rule matches.
    Unrouted = b'U' "unrouted",
    /// An interchange with this number was processed before.
    Duplicate = b'B' "duplicate",
    /// Waits for its envelope to close.
    Waiting = b'Q' "waiting",
    /// Sent; no acknowledgment is expected.
    Sent = b'S' "sent",
    /// Sent; its acknowledgment has not come.
    Expecting = b'W' "expecting",
    /// The partner accepted it.
    Accepted = b'A' "accepted",
    /// The partner accepted it, with errors.
    AcceptedWithErrors = b'E' "accepted-with-errors",
    /// The partner accepted a part of it.
    PartlyAccepted = b'P' "partly-accepted",
    /// The partner refused it.
    Refused = b'N' "refused",
    /// A later entry replaces it.
    Replaced = b'C' "replaced",
}

impl State {
    /// Returns true if entries in this state are indexed by it. The other states are final, and most entries are in one of them.
    pub(crate) fn needs_attention(self) -> bool {
        !matches!(self, State::Delivered | State::Sent | State::Accepted | State::Replaced)
    }
}

/// An entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Number of the entry.
    pub id: EntryId,
    /// Kind of object.
    pub kind: Kind,
    /// The partner, by the name of its file; empty where it is unknown.
    pub partner: String,
    /// Milliseconds since 1970-01-01 UTC when it came or was made.
    pub time_ms: u64,
    /// State of the entry.
    pub state: State,
    /// Milliseconds since 1970 when an expected acknowledgment is overdue; otherwise the time.
    pub due_ms: u64,
    /// Direction.
    pub way: Way,
    /// Digest of the context in which the number is unique: [`context_of`].
    pub context: u64,
    /// Control number.
    pub number: String,
    /// The rest.
    pub details: Details,
}

/// Returns the digest of a context of numbers.
#[must_use]
pub fn context_of(parts: &[&str]) -> u64 {
    xxh3_64(parts.join("\u{1f}").as_bytes())
}

/// Returns the context of the numbers of sent groups: a pair of parties and a standard.
pub(crate) fn group_context(standard: &str, sender: &str, receiver: &str) -> u64 {
    context_of(&["group", standard, sender, receiver])
}

/// Returns the context of the numbers of transactions sent in a group, or in an interchange without groups.
pub(crate) fn transaction_context(standard: &str, sender: &str, receiver: &str, around: &str) -> u64 {
    context_of(&["transaction", standard, sender, receiver, around.trim_start_matches('0')])
}

pub(crate) const NUMBER_BYTES: usize = 14;
/// Offset of the byte that says where the bytes of the entry are.
const BYTES: usize = 65;
/// Bit of that byte: the details are encrypted.
const SEALED_DETAILS: u8 = 0x20;
/// Offset of the details.
const DETAILS: usize = 70;

/// Offset and length of the index key.
pub(crate) const BY_PARTNER: (u32, u32) = (8, 25);
/// Longest record.
pub(crate) const RECORD_BYTES_MAX: u32 = 4 << 20;
pub(crate) const RECORD_BYTES_MIN: u32 = 70;

/// Selects bytes of an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// The bytes as received or sent: a whole interchange that can be processed again.
    Document,
    /// The input of the map, for documents to send.
    Source,
}

impl Part {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Part::Document => 0,
            Part::Source => 1,
        }
    }
}

/// Location of the bytes of an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Bytes {
    /// The bytes are not kept.
    None,
    /// In the entry after the details, for small documents; this saves a key.
    Inside(Part),
    /// In the file of bodies.
    Apart(Part),
}

impl Bytes {
    fn byte(self) -> u8 {
        match self {
            Bytes::None => 0,
            Bytes::Inside(Part::Document) => 1,
            Bytes::Inside(Part::Source) => 2,
            Bytes::Apart(Part::Document) => 3,
            Bytes::Apart(Part::Source) => 4,
        }
    }

    fn of(byte: u8) -> Option<Bytes> {
        [
            Bytes::None,
            Bytes::Inside(Part::Document),
            Bytes::Inside(Part::Source),
            Bytes::Apart(Part::Document),
            Bytes::Apart(Part::Source),
        ]
        .into_iter()
        .find(|one| one.byte() == byte)
    }
}

pub(crate) fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut out = [b' '; N];
    let text = begin_of(text, N);
    out[..text.len()].copy_from_slice(text.as_bytes());
    out
}

/// Returns the start of a text, at most `most` bytes, without cutting a character.
fn begin_of(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Returns a control number truncated to the stored length. The standards allow at most 14 characters.
pub(crate) fn kept_number(number: &str) -> &str {
    begin_of(number, NUMBER_BYTES).trim_end()
}

impl Entry {
    /// Returns the key of the index `partner` up to the time.
    pub(crate) fn partner_key(kind: Kind, partner: &str, time_ms: Option<u64>) -> Vec<u8> {
        let mut key = vec![kind.byte()];
        key.extend_from_slice(&xxh3_64(partner.as_bytes()).to_be_bytes());
        key.extend(time_ms.into_iter().flat_map(u64::to_be_bytes));
        key
    }

    /// Returns the details and the partner's name in the form that is stored without encryption.
    pub(crate) fn pack_details(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(320);
        packed_details::put(&self.partner, &self.details, &mut out);
        out
    }

    /// Returns the stored form. `details` is the result of [`Entry::pack_details`], and `tail` has the bytes for [`Bytes::Inside`].
    pub(crate) fn encode(&self, details: Packed<'_>, bytes: Bytes, tail: &[u8]) -> Vec<u8> {
        let id = self.id.0.to_be_bytes();
        let (packed, sealed) = match details {
            Packed::Plain(packed) => (packed, 0),
            Packed::Sealed(packed) => (packed, SEALED_DETAILS),
        };
        let mut out = Vec::with_capacity(DETAILS + packed.len() + tail.len());
        out.extend_from_slice(&id);
        out.push(self.kind.byte());
        out.extend_from_slice(&xxh3_64(self.partner.as_bytes()).to_be_bytes());
        out.extend_from_slice(&self.time_ms.to_be_bytes());
        out.extend_from_slice(&id);
        out.push(self.state.byte());
        out.extend_from_slice(&self.due_ms.to_be_bytes());
        out.push(self.way.byte());
        out.extend_from_slice(&self.context.to_be_bytes());
        out.extend_from_slice(&padded::<NUMBER_BYTES>(&self.number));
        out.push(bytes.byte() | sealed);
        out.extend_from_slice(&u32::try_from(packed.len()).unwrap_or(u32::MAX).to_le_bytes());
        debug_assert_eq!(out.len(), DETAILS);
        out.extend_from_slice(packed);
        out.extend_from_slice(tail);
        out
    }

    /// Returns the details of a stored entry.
    pub(crate) fn packed_details(record: &[u8]) -> Option<Packed<'_>> {
        let packed = record.get(DETAILS..end_of_details(record)?)?;
        let is_sealed = record.get(BYTES)? & SEALED_DETAILS != 0;
        Some(if is_sealed { Packed::Sealed(packed) } else { Packed::Plain(packed) })
    }

    /// Decodes an entry from its stored form and the result of [`Entry::pack_details`].
    pub(crate) fn decode(bytes: &[u8], details: &[u8]) -> Option<Entry> {
        let number = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let text = |at: usize, length: usize| {
            Some(std::str::from_utf8(bytes.get(at..at + length)?).ok()?.trim_end().to_owned())
        };
        let (partner, details) = packed_details::get(details)?;
        Some(Entry {
            id: EntryId(number(0)?),
            kind: Kind::of(*bytes.get(8)?)?,
            partner,
            time_ms: number(17)?,
            state: State::of(*bytes.get(33)?)?,
            due_ms: number(34)?,
            way: if *bytes.get(42)? == b'R' { Way::Received } else { Way::Sent },
            context: number(43)?,
            number: text(51, NUMBER_BYTES)?,
            details,
        })
    }

    /// Returns the location of a stored entry's bytes, and the bytes that the entry contains.
    pub(crate) fn bytes_of(record: &[u8]) -> Option<(Bytes, &[u8])> {
        Some((Bytes::of(*record.get(BYTES)? & !SEALED_DETAILS)?, record.get(end_of_details(record)?..)?))
    }
}

/// Details as they are stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Packed<'p> {
    /// Not encrypted.
    Plain(&'p [u8]),
    /// Encrypted.
    Sealed(&'p [u8]),
}

fn end_of_details(record: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(record.get(DETAILS - 4..DETAILS)?.try_into().ok()?);
    DETAILS.checked_add(usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_as_it_was() {
        let mut details = Details { document: "850".to_owned(), bytes: 7, ..Details::default() };
        details.happened(5, "received");
        let entry = Entry {
            id: EntryId(9),
            kind: Kind::Transaction,
            partner: "ACME".to_owned(),
            time_ms: 5,
            state: State::Rejected,
            due_ms: 5,
            way: Way::Received,
            context: context_of(&["1", "2"]),
            number: "0001".to_owned(),
            details,
        };
        let packed = entry.pack_details();
        for details in [Packed::Plain(&packed), Packed::Sealed(&packed)] {
            let bytes = entry.encode(details, Bytes::Inside(Part::Source), b"tail");
            assert_eq!(Entry::bytes_of(&bytes), Some((Bytes::Inside(Part::Source), &b"tail"[..])));
            assert_eq!(Entry::packed_details(&bytes), Some(details));
            assert_eq!(Entry::decode(&bytes, &packed).as_ref(), Some(&entry));
            assert_eq!(Entry::decode(&bytes[..DETAILS - 9], &packed), None);
            assert_eq!(Entry::packed_details(&bytes[..DETAILS + 9]), None);
        }
    }
}
