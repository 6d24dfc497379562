//! Services and APIs as their users see them, without HTTP.

#![expect(
    clippy::unwrap_used,
    clippy::result_large_err,
    reason = "a test stops at what is wrong, and a problem is what it looks at"
)]

mod arrays;
mod code_names;
mod exact_values;
mod findings;
mod floats;
mod lenient;
mod openapi;
mod proposals;
mod record_files;
mod requests;
mod responses;
mod schemas;
mod sql;
mod world;
