//! The map language: any shape to any shape, checked before it runs, compiled, mapped page by page.
//!
//! A map (`.qmap`) is read by [`MapSpec::parse`], checked and compiled by [`compile`] against the [`quayline_core::Shape`]s of its source and
//! targets, and run by a [`Mapper`]: a sink that a source drives, and that drives the targets' sinks in target order.
//!
//! ```text
//! text ─▶ tokens ─▶ syntax tree ──┐
//!                                 ├─▶ units: typed, over slots ─▶ ordered ─▶ settled ─▶ MapPlan
//! source shape, target shapes ────┘   (check::statement)          (order)    (settle: which loops stream, code)
//!
//! source ─▶ Mapper: Sink ─▶ frames of slots ─▶ blocks of operations ─▶ Outputs: Sink
//! ```
//!
//! * **Frames.** Each source list that the map uses (and the root) has frames of slots, one frame for each occurrence. A value event is one
//!   table lookup by node and one store. Values that no statement reads are not kept.
//! * **Blocks.** The statements of a loop's body are a block of operations in target order. A block is resumable: it stops before a loop
//!   that is mapped while its list is read, resumes when the list begins, and runs to its end when its occurrence ends. Therefore a
//!   transaction of any size needs the memory of one occurrence, if the order of source and target allows it. [`MapPlan::buffers`] lists the exceptions and
//!   the statement that causes each.
//! * **Choices and folds** (`N1[N101 = "ST"]`, `sum(SV102 for 2400)`) are evaluated while their list is read if possible.
//! * **Values** are 32-byte copies whose bytes are in one arena that is used as a stack; nothing is allocated for each field.
//!
//! The crate does no I/O and reads no clock: see [`Host`].

mod check;
mod codes;
mod date;
mod explain;
mod functions;
mod host;
mod map_spec;
mod observe;
mod own_function;
mod plan;
mod propose;
mod run;
mod stored;
mod syntax;
mod value;

pub use check::{
    Absent, Compiled, LeafRules, NoFiles, NoRules, Options, Output, Resolver, SourceOrder, compile, compile_by,
};
pub use functions::function_forms;
pub use host::{Host, One, Outputs, StillHost};
pub use map_spec::{MapSpec, ShapeReference};
pub use observe::{Coverage, Observer, Unwatched};
pub use own_function::{OwnFunction, OwnType};
pub use plan::{BufferPlan, ColumnType, DeclaredLookup, EmptyItem, MapPlan, StatementId, StatementView};
pub use propose::{Ends, Proposed, propose};
pub use run::mapper::{Mapper, Outcome};
pub use syntax::format::format_map;
