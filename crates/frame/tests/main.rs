//! Laws and vectors of framing.

mod check;
mod laws;
mod vectors;
