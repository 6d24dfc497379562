//! Guides: what a transaction set or message may hold.

mod model;

pub use model::{
    CodeEntry, CodeList, Codes, CompositeDef, DataType, Dictionary, ElementChange, ElementDef, ElementOf, ElementUse,
    Guide, Item, LoopUse, NoteKind, Qualifier, Requirement, Rule, SegmentDef, SegmentUse, SyntaxNote,
};
