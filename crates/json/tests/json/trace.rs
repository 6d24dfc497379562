//! A sink that writes the events down and holds the source to its contract.

use quayline_core::{Decimal, Digits, NodeId, Shape, Sink, Value};

pub(crate) struct Trace<'a> {
    shape: &'a Shape,
    pub(crate) text: String,
    open: Vec<Open>,
    documents: usize,
}

#[derive(Debug, PartialEq)]
enum Open {
    Group(NodeId, Vec<NodeId>),
    List(NodeId),
}

impl<'a> Trace<'a> {
    pub(crate) fn new(shape: &'a Shape) -> Self {
        Trace { shape, text: String::new(), open: Vec::new(), documents: 0 }
    }

    /// Whether one whole document was received.
    pub(crate) fn is_whole(&self) -> bool {
        self.open.is_empty() && self.documents == 1
    }

    /// Checks that the contract allows `node` here, and writes its name unless it is an element of its list.
    fn stand(&mut self, node: NodeId, opens_list: bool) {
        let many = self.shape.node(node).is_list() && !opens_list;
        match self.open.last_mut() {
            Some(Open::List(list)) => assert!(many && *list == node, "an occurrence stands in its own list"),
            Some(Open::Group(group, seen)) => {
                assert!(!many, "occurrences stand in a list");
                assert_eq!(self.shape.node(node).parent, Some(*group), "a child stands in its parent");
                assert!(!seen.contains(&node), "a child stands once");
                seen.push(node);
                if self.text.ends_with(|c| c != '{') {
                    self.text.push(' ');
                }
                self.text.push_str(&self.shape.node(node).name);
                self.text.push('=');
                return;
            }
            None => assert_eq!(node, NodeId::ROOT),
        }
        if self.text.ends_with(|c| c != '[') && !self.text.is_empty() {
            self.text.push(' ');
        }
    }
}

impl Sink for Trace<'_> {
    fn enter(&mut self, node: NodeId) {
        assert!(self.shape.node(node).scalar().is_none());
        self.stand(node, false);
        self.text.push('{');
        self.open.push(Open::Group(node, Vec::new()));
    }
    fn leave(&mut self, node: NodeId) {
        assert!(matches!(self.open.pop(), Some(Open::Group(group, _)) if group == node));
        self.text.push('}');
        self.documents += usize::from(node == NodeId::ROOT);
    }
    fn open_list(&mut self, node: NodeId) {
        assert!(self.shape.node(node).is_list());
        self.stand(node, true);
        self.text.push('[');
        self.open.push(Open::List(node));
    }
    fn close_list(&mut self, node: NodeId) {
        assert_eq!(self.open.pop(), Some(Open::List(node)));
        self.text.push(']');
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        assert!(self.shape.node(node).scalar().is_some());
        self.stand(node, false);
        self.text.push_str(&show(value));
    }
    fn discard(&mut self) {
        self.text.clear();
        self.documents = 0;
    }
}

/// Shows `Ascii` in single quotes, `Text` in double ones, and decimals as digits, `e` and negated scale; a negative scale appends zeros.
pub(crate) fn show(value: Value<'_>) -> String {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).expect("the source sends UTF-8").to_owned();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let decimal = |digits: &str, negative: bool, scale: i16| {
        let digits = digits.trim_start_matches('0');
        let digits = if digits.is_empty() {
            "0".to_owned()
        } else {
            format!("{digits}{}", "0".repeat((-scale).max(0) as usize))
        };
        let scale = scale.max(0);
        format!("{}{digits}e{}", if negative { "-" } else { "" }, -scale)
    };
    match value {
        Value::Null => "null".to_owned(),
        Value::Text(run) => format!("{:?}", text(run.bytes())),
        Value::Ascii(run) => {
            assert!(run.bytes().iter().all(|byte| matches!(byte, 0x20..=0x7e)), "Ascii is printable");
            format!("'{}'", text(run.bytes()))
        }
        Value::Digits(Digits { digits, negative, scale }) => {
            assert!(digits.len() > 0 && digits.bytes().iter().all(u8::is_ascii_digit), "digits are digits");
            decimal(&text(digits.bytes()), negative, scale)
        }
        Value::Int(n, scale) => decimal(&n.unsigned_abs().to_string(), n < 0, scale),
        Value::Decimal(Decimal { unscaled, scale }) => {
            decimal(&unscaled.unsigned_abs().to_string(), unscaled < 0, scale)
        }
        Value::Float32(float) => format!("{float:?}f32"),
        Value::Float64(float) => format!("{float:?}"),
        Value::Bool(truth) => truth.to_string(),
        Value::Bytes(bytes) => format!("x{}", hex(bytes)),
        Value::Raw(bytes) => format!("raw{}", hex(bytes)),
    }
}
