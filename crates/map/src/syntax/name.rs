//! Names of fields as a map writes them.

use quayline_core::{NodeId, Shape};

use super::token::is_plain_name;

/// Words with another meaning at the position of a path.
const RESERVED: [&str; 14] =
    ["if", "match", "true", "false", "absent", "not", "then", "else", "where", "make", "and", "or", "in", "for"];

/// Returns a name as a map writes it.
pub(crate) fn quoted_name(name: &str) -> String {
    if is_plain_name(name) && !RESERVED.contains(&name) { name.to_owned() } else { format!("'{name}'") }
}

/// Returns true if a map can write the name, in quotes if necessary.
pub(crate) fn is_nameable(name: &str) -> bool {
    !name.chars().any(|c| c == '\'' || c.is_control())
}

/// Returns the path of a node below another one, as a map writes it.
pub(crate) fn quoted_path(shape: &Shape, from: NodeId, to: NodeId) -> String {
    let around = core::iter::successors(Some(to), |at| shape.node(*at).parent);
    let mut names: Vec<String> =
        around.take_while(|at| *at != from).map(|at| quoted_name(&shape.node(at).name)).collect();
    names.reverse();
    names.join(".")
}
