//! Flow files: nodes with properties and wires, read from TOML.
//!
//! ```text
//! flows/orders.toml ─▶ FlowFile: nodes with type, properties (with places) and wires (by number of the node)
//! ```
//!
//! Everything is checked that needs no other file: types, keys, values, wires, reachability, loops. Shapes, maps and expressions are compiled by
//! the crate that runs flows.

mod codes;
mod kind;
mod read;

use core::ops::Range;
use std::path::PathBuf;

use quayline_core::Finding;

use crate::UserText;

pub use kind::{Form as PropertyForm, NODE_KINDS, NodeKind, PropertyKind, Terminal, node_kind};

/// A flow file whose own text is sound.
#[derive(Clone, Debug)]
pub struct FlowFile {
    /// Name of the flow: that of the file.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Text of the file, for places.
    pub text: UserText,
    /// One line for people.
    pub title: Option<String>,
    /// Units of work beside the first one that the flow may have open at once, 0 to 256.
    pub additional_instances: u32,
    /// Longest time of one unit of work in milliseconds.
    pub time_limit_ms: u64,
    /// True if units of work with only non-persistent messages commit without a sync.
    pub syncs_persistent_only: bool,
    /// Nodes in the order of the file. The inputs are first in no special way.
    pub nodes: Vec<FlowNode>,
}

/// A flow file that may have errors.
#[derive(Clone, Debug)]
pub struct FlowDraft {
    /// The parts of the file that could be read. Nodes of an unknown type are missing, and so are the wires to them.
    pub file: FlowFile,
    /// The errors.
    pub findings: Vec<Finding>,
    /// Numbers of the nodes with wrong or missing properties.
    pub doubtful: Vec<usize>,
}

/// A node.
#[derive(Clone, Debug)]
pub struct FlowNode {
    /// Name of the node.
    pub name: String,
    /// Place of the name.
    pub span: Range<usize>,
    /// Type of the node.
    pub kind: &'static NodeKind,
    /// The properties that are set.
    pub properties: Vec<FlowProperty>,
    /// Wires that leave the node.
    pub wires: Vec<Wire>,
}

/// A property that is set.
#[derive(Clone, Debug)]
pub struct FlowProperty {
    /// Kind of the property.
    pub kind: &'static PropertyKind,
    /// Value of the property.
    pub value: PropertyValue,
    /// Place of the value.
    pub span: Range<usize>,
}

/// The value of a property.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PropertyValue {
    /// A text that is the same for all messages.
    Text(String),
    /// An expression, and where its text begins.
    From(String, Range<usize>),
    /// Expressions, and where their texts begin.
    Expressions(Vec<(String, Range<usize>)>),
    /// A number; times are in milliseconds.
    Number(u64),
    /// True or false.
    Flag(bool),
    /// Nodes, by number.
    Nodes(Vec<usize>),
    /// Cases: condition, where it is, and the node by number.
    Cases(Vec<(String, Range<usize>, usize)>),
}

/// A wire from a terminal to one or more nodes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wire {
    /// The terminal.
    pub terminal: &'static str,
    /// Numbers of the nodes, in the order in which they get the message.
    pub to: Vec<usize>,
}

impl FlowNode {
    /// Returns the value of a property.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&FlowProperty> {
        self.properties.iter().find(|property| property.kind.name == name)
    }

    /// Returns a text that is the same for all messages.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.property(name)?.value {
            PropertyValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a number, or a time in milliseconds.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        match &self.property(name)?.value {
            PropertyValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns true if a flag is set.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.property(name).map(|property| &property.value), Some(PropertyValue::Flag(true)))
    }

    /// Returns the nodes to which a terminal is wired.
    #[must_use]
    pub fn wire(&self, terminal: &str) -> &[usize] {
        self.wires.iter().find(|wire| wire.terminal == terminal).map_or(&[], |wire| &wire.to)
    }

    /// Returns true if the flow file names a terminal, also with an empty list, which drops what leaves there.
    #[must_use]
    pub fn is_wired(&self, terminal: &str) -> bool {
        self.wires.iter().any(|wire| wire.terminal == terminal)
    }

    /// Iterates over the nodes that messages can reach from here, with the terminal or property.
    pub fn targets(&self) -> impl Iterator<Item = (&str, usize)> {
        let wires = self.wires.iter().flat_map(|wire| wire.to.iter().map(|to| (wire.terminal, *to)));
        let properties = self.properties.iter().flat_map(|property| {
            let to: Vec<usize> = match &property.value {
                PropertyValue::Nodes(nodes) => nodes.clone(),
                PropertyValue::Cases(cases) => cases.iter().map(|(_, _, to)| *to).collect(),
                _ => Vec::new(),
            };
            to.into_iter().map(|to| (property.kind.name, to))
        });
        wires.chain(properties)
    }
}
