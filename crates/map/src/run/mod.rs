//! Running a plan.

mod calls;
mod emit;
mod eval;
pub(crate) mod fault;
mod fold;
pub(crate) mod mapper;
