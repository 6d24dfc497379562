//! What is guessed of samples accepts them.

mod edi;
mod text;
