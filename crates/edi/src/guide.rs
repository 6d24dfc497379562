//! Guides: what a transaction set or message may hold.

mod model;
mod names;
mod text;

pub use model::{
    CodeEntry, CodeList, Codes, CompositeDef, DataType, Dictionary, ElementChange, ElementDef, ElementOf, ElementUse,
    Guide, Item, LoopUse, NoteKind, Qualifier, Requirement, Rule, SegmentDef, SegmentUse, SyntaxNote,
};
pub use names::item_names;
pub use text::{
    GuideResolver, GuideText, MemoryGuides, NoGuides, ResolveError, parse_dictionary, parse_guide, write_dictionary,
    write_guide, write_guide_including,
};
