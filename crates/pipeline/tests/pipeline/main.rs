//! Units through pipelines: bytes in, documents out, without files of data, threads or clocks.

mod documents;
mod formats;
mod revocable;
mod source_limits;
mod support;
mod units;
