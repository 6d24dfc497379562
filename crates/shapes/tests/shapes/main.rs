//! Shapes from files: what they become, and what is told of what they cannot become.

mod cache;
mod docs;
mod json_schema;
mod layouts;
mod support;
mod xsd;
