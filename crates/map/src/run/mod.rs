//! Running a plan.

mod calls;
pub(crate) mod date;
mod emit;
mod eval;
pub(crate) mod fault;
mod fold;
pub(crate) mod mapper;
pub(crate) mod value;
