//! Any format to any without a map: streaming, ordered, parallel, resumable.
//!
//! ```text
//! source ──cut──▶ block of whole records ──lane: decode ▶ sink──▶ batch of output, rejects, findings ──in order──▶ target
//! ```
//!
//! * A [`Conversion`] says from where, to where and how; [`Conversion::run`] does it and gives a [`Report`].
//! * Every record is written, rejected or skipped: the [`Tally`](quayline_core::Tally) of the report adds up.
//! * An output file is complete or it is named `.partial`.
//!
//! The public types are in `conversion`, `schema`, `report`, `progress`, `sync` and `error`; they join the build with the codecs.
