//! Wire types for clients and operators, by version of the interface.
//!
//! Nothing else in this crate derives `Serialize`, so a renamed field inside breaks no client. OTLP's JSON has its own form, in `otlp`, and documents of
//! OpenAPI are trees of [`quayline_gateway::Json`], because their keys are data.

pub(crate) mod v1;
