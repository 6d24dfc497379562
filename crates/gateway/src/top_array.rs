//! Bodies that are a JSON array: the one list that requests or answers show, without the objects around it.
//!
//! ```text
//! shape   {"orderArea":{"line":[…]}}     the list is the only member of the only member
//! body    […]
//! ```
//!
//! A request's array is read inside of these objects, and an answer is written with them and cut: both keep their one way through the gateway.

use quayline_core::{NodeId, NodeKind, Shape};

use crate::Json;

/// The list that a body is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct TopArray {
    /// Names of the members that lead to it.
    path: Vec<String>,
    before: String,
    after: String,
}

impl TopArray {
    /// Finds the only list of a shape in which the other members are hidden. `open` tests for visible leaves or lists. `None` if there is another
    /// visible member.
    pub(crate) fn of(shape: &Shape, open: impl Fn(NodeId) -> bool) -> Option<TopArray> {
        let shows = |node: NodeId| {
            let own = |id: &NodeId| shape.node(*id).is_list() || shape.node(*id).kind != NodeKind::Group;
            let ids = (node.0..shape.node(node).subtree_end.0).map(NodeId);
            ids.filter(own).any(&open)
        };
        let mut path = Vec::new();
        let mut at = NodeId::ROOT;
        while at == NodeId::ROOT || !shape.node(at).is_list() {
            let children = shape.iter().map(|(id, _)| id).filter(|id| shape.node(*id).parent == Some(at) && shows(*id));
            let mut children = children.collect::<Vec<_>>().into_iter();
            let (Some(only), None) = (children.next(), children.next()) else { return None };
            path.push(shape.node(only).name.to_string());
            at = only;
        }
        let before = path.iter().map(|name| format!("{{{}:", Json::text(name.as_str()))).collect();
        let after = "}".repeat(path.len());
        Some(TopArray { path, before, after })
    }

    /// Wraps the array of a request in the objects around it; `None` if the body is not an array.
    pub(crate) fn wrapped(&self, body: &[u8]) -> Option<Vec<u8>> {
        is_array(body).then(|| [self.before.as_bytes(), body, self.after.as_bytes()].concat())
    }

    /// Characters in front of the first of a request's.
    pub(crate) fn column(&self) -> usize {
        self.before.chars().count()
    }

    /// Cuts an answer to its array. One from which the list was left out is empty.
    pub(crate) fn unwrapped(&self, buffer: &mut Vec<u8>, len: usize) -> usize {
        let (first, end) = (self.before.len(), len.saturating_sub(self.after.len()));
        if buffer.starts_with(self.before.as_bytes()) && first <= end {
            buffer.copy_within(first..end, 0);
            return end - first;
        }
        buffer.clear();
        buffer.extend_from_slice(b"[]");
        buffer.len()
    }

    /// Converts a path in the whole document to a path in the array: `$[2].name`.
    pub(crate) fn place(&self, path: &str) -> String {
        let around = format!("$.{}", self.path.join("."));
        path.strip_prefix(&around).map_or_else(|| path.to_owned(), |rest| format!("${rest}"))
    }

    /// Returns true if a name is that of the list or of an object around it, which clients do not see.
    pub(crate) fn hides(&self, name: &str) -> bool {
        self.path.iter().any(|known| known == name)
    }

    /// Extracts the schema of the list from that of the whole document.
    pub(crate) fn schema(&self, whole: Json) -> Json {
        let found = self.path.iter().try_fold(&whole, |schema, name| schema.get("properties")?.get(name));
        found.cloned().unwrap_or(whole)
    }
}

/// Returns true if a text is one array: its first bracket closes at its last character. The content is checked by the reader.
fn is_array(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    if body.first() != Some(&b'[') {
        return false;
    }
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    for (at, byte) in body.iter().enumerate() {
        if in_text {
            in_text = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1 == body.len() && *byte == b']';
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_one_value() {
        for good in ["[]", " [1]\n", r#"["]\"",{"a":[1]}]"#, "[nonsense]"] {
            assert!(is_array(good.as_bytes()), "{good}");
        }
        for bad in ["", "{}", "1", "[", "[1", "[]]", r#"[],"b":1"#, r#"[]},"a":{"b":[]"#, r#"["]"#, "[}"] {
            assert!(!is_array(bad.as_bytes()), "{bad}");
        }
    }
}
