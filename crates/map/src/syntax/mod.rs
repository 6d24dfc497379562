//! Parsing of the text to a syntax tree.

pub(crate) mod ast;
mod expression;
pub(crate) mod format;
pub(crate) mod name;
pub(crate) mod parser;
pub(crate) mod text;
pub(crate) mod token;
