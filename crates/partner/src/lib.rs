//! Trading partners: rules, receiving, enveloping, acknowledgments and the transaction store.
//!
//! ```text
//!  partners/*.toml, PARTNER.PARTNERS ─▶ Book: identities, rules, settings, maps, guides
//!                      │
//!  file, stdin ─▶ survey ─▶ receive: envelope ─▶ validate ─▶ rule ─▶ map ─▶ deliver (folder, queue)
//!                      │        └─▶ TA1, 997, 999, CONTRL ─▶ numbered ─▶ deliver
//!                      │        └─▶ reports of the partner's acknowledgments ─▶ entries of what was sent
//!  documents ─▶ send: rule ─▶ map ─▶ envelope at once, or wait ─▶ release ─▶ numbered ─▶ deliver
//!                      └── Ledger: entries, fields, bodies, outbox, waiting documents ── one unit of work
//! ```
//!
//! - **One unit of work.** Output, control numbers, acknowledgment, entries and the restart position commit together, some transactions
//!   at a time ([`DeskLimits`]). A transaction is in one unit of work with everything made from it.
//! - **A resumed run reads again and does nothing twice.** After a crash the interchange is read again from its first byte, because an acknowledgment
//!   covers all of it. Committed transactions are validated again, which gives the same findings, but neither mapped nor stored again. The restart
//!   position belongs to the digest of the source, so another file under the same name starts from its beginning.
//! - **A survey comes first.** One pass over the envelopes finds groups and interchanges that their trailers invalidate, so that none of their
//!   transactions is delivered, although the trailer comes last. The same pass computes the digest.
//! - **Everything is kept.** A document that is rejected, or that matches no rule, is an entry with its findings and its bytes.

mod acknowledgment;
mod advice;
mod advice_text;
mod book;
mod checkable;
mod code_sets;
mod codes;
mod compiled_condition;
mod condition;
mod correction;
mod defaults;
mod desk;
mod details;
mod entry;
mod entry_shape;
mod envelope;
mod explain;
mod field_key;
mod interchange;
mod ledger;
mod lent;
mod matching;
mod numbers;
mod outbox;
mod outputs;
mod outside;
mod packed_details;
mod places;
mod purge;
mod queues;
mod receive;
mod receive_report;
mod records;
mod refusal;
mod remedy;
mod resend;
mod revision;
mod roster;
mod rules;
mod seal;
mod search;
mod send;
mod send_other;
mod send_request;
mod send_rule;
mod send_target;
mod source;
mod stored;
mod story;
mod survey;
mod time;
mod unknown;
mod verdict;
mod waiting;
mod watch;
mod whole;
mod work;
mod write;

pub use advice::AdviceOutcome;
pub use book::{Book, Layer, LoadedGuides, LoadedMap, OutputFacts};
pub use codes::{NEW_FOLDER, NO_BYTES, NO_ENTRY, PLACE, ROSTER, SAME_FILE, STATE, VERSION};
pub use desk::{Desk, DeskLimits};
pub use details::{Details, FINDINGS_KEPT_MAX, HistoryLine, StoredFinding};
pub use entry::{Entry, EntryId, Kind, Part, State, Way, context_of};
pub use entry_shape::EntryShape;
pub use explain::Explanation;
pub use ledger::Ledger;
pub use lent::{InUnit, PendingFiles};
pub use outbox::{OutboxFile, OutboxPage};
pub use outputs::{HandedOutput, OutputKind};
pub use purge::Purged;
pub use receive_report::ReceiveReport;
pub use remedy::over_http;
pub use roster::{CHANGES_FILE, Existing, Expected, Kept, Roster, RosterChange, RosterLine, RosterText, is_partner};
pub use rules::{Query, RuleId, RuleIndex};
pub use seal::{STORE_KEY_VARIABLE, StoreKey};
pub use search::{Corrected, Filter, Found};
pub use send_request::{SendReport, SendRequest};
pub use source::{Again, Source};
pub use stored::{has_stored, stored_version};
pub use story::{Story, StorySegment, StoryTrace};
pub use time::{time_of, time_text};
pub use waiting::{Release, Waiting};
