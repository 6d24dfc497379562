//! Guides: the allowed content of a transaction set or message.

mod acknowledgments;
mod balances;
mod built_in;
pub(crate) mod code_set;
pub(crate) mod compile;
pub(crate) mod decimal;
mod model;
mod names;
pub(crate) mod rules;
mod set;
mod text;
pub(crate) mod walk;

pub use acknowledgments::{acknowledgment_guide, acknowledgment_guides};
pub use balances::with_balances;
pub use built_in::{BUILT_IN, BuiltInFiles, BuiltInGuide, built_in_guides};
pub use compile::{Ambiguity, CompiledGuide, CompiledItem, ItemId, ItemKind};
pub use model::{
    CodeEntry, CodeList, Codes, CompositeDef, DataType, Dictionary, ElementChange, ElementDef, ElementOf, ElementUse,
    Guide, HlLevel, Item, LoopUse, NoteKind, Qualifier, Requirement, Rule, SegmentDef, SegmentUse, SyntaxNote,
};
pub use names::item_names;
pub use set::{Asked, GuideSet};
pub use text::{
    GuideResolver, GuideText, MemoryGuides, NoGuides, ResolveError, parse_dictionary, parse_guide, write_dictionary,
    write_guide, write_guide_including,
};
pub use walk::{Placement, Walk};
