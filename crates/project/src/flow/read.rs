//! Conversion of TOML into a flow, with checks of every key, value and wire.

use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;
use std::path::Path;

use quayline_core::{Code, Fault, Finding, Findings, Place, nearest};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use super::codes;
use super::kind::{Form, PropertyKind};
use super::{FlowDraft, FlowFile, FlowNode, FlowProperty, NODE_KINDS, PropertyValue, Wire, node_kind};
use crate::user_file::UserFile;

/// Nodes of a flow. A flow of more is not readable at a glance, and a file of more is a mistake.
const NODES_MAX: usize = 1_000;
/// Longest time of one unit of work where the flow does not say it.
const TIME_LIMIT_MS: u64 = 300_000;
const PAGE: &str = "docs/reference/flows.md";

/// The file as serde reads it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowTable {
    title: Option<String>,
    additional_instances: Option<Spanned<u64>>,
    time_limit: Option<Spanned<String>>,
    sync: Option<Spanned<String>>,
    #[serde(default)]
    node: BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Spanned<Raw>>>,
}

/// A value of any type.
#[derive(Clone, Debug)]
enum Raw {
    Text(String),
    Number(i64),
    Flag(bool),
    List(Vec<Spanned<Raw>>),
    Table(BTreeMap<String, Spanned<Raw>>),
    Other,
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true, false, a list or a table")
            }
            fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
                Ok(Raw::Text(text.to_owned()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Raw, E> {
                Ok(Raw::Number(number))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
                Ok(Raw::Other)
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Raw, E> {
                Ok(Raw::Flag(flag))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Raw, A::Error> {
                let mut list = Vec::new();
                while let Some(one) = all.next_element()? {
                    list.push(one);
                }
                Ok(Raw::List(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Raw, A::Error> {
                let mut table = BTreeMap::new();
                while let Some((key, value)) = all.next_entry()? {
                    table.insert(key, value);
                }
                Ok(Raw::Table(table))
            }
        }
        from.deserialize_any(Any)
    }
}

impl Raw {
    fn what(&self) -> &'static str {
        match self {
            Raw::Text(_) => "a text",
            Raw::Number(_) => "a number",
            Raw::Flag(_) => "true or false",
            Raw::List(_) => "a list",
            Raw::Table(_) => "a table",
            Raw::Other => "a value of another type",
        }
    }
}

impl FlowFile {
    /// Reads a flow file.
    ///
    /// # Errors
    /// The file cannot be read; everything that is wrong with it.
    pub fn open(path: &Path) -> Result<FlowFile, Findings> {
        FlowDraft::open(path)?.sound()
    }

    /// Reads the text of a flow file; `name` names it in findings.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<FlowFile, Findings> {
        FlowDraft::parse(name, text)?.sound()
    }
}

impl FlowDraft {
    /// Reads a flow file.
    ///
    /// # Errors
    /// The file cannot be read or is not TOML.
    pub fn open(path: &Path) -> Result<FlowDraft, Findings> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let place = Place { file: Some(name.as_str().into()), ..Place::default() };
            let why = quayline_core::system_error_text(&error);
            let finding = Finding::error(codes::UNREADABLE, Fault::Environment, format!("cannot be read: {why}"));
            Findings(vec![finding.at(place).hint("check the path, and save the file in UTF-8")])
        })?;
        let mut draft = FlowDraft::parse(&name, &text)?;
        draft.file.path = path.to_owned();
        Ok(draft)
    }

    /// Reads the text of a flow file; `name` names it in findings.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn parse(name: &str, text: &str) -> Result<FlowDraft, Findings> {
        let mut file = UserFile::new(name, text);
        let table: FlowTable = file.parse(codes::SYNTAX, PAGE)?;
        let mut reader = Reader { names: Vec::new(), doubtful: Vec::new(), file: &mut file };
        let mut flow = reader.flow(table);
        reader.check(&flow);
        let doubtful = reader.doubtful;
        file.findings.sort_by_key(|finding| (finding.place.line, finding.place.column));
        flow.path = name.into();
        Ok(FlowDraft { file: flow, findings: file.findings, doubtful })
    }

    /// Returns the flow file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn sound(self) -> Result<FlowFile, Findings> {
        if self.findings.is_empty() { Ok(self.file) } else { Err(Findings(self.findings)) }
    }
}

struct Reader<'f> {
    /// Names of the nodes, in the order of the file.
    names: Vec<String>,
    /// Numbers of nodes with wrong or missing properties.
    doubtful: Vec<usize>,
    file: &'f mut UserFile,
}

impl Reader<'_> {
    fn error(&mut self, code: Code, at: &Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        let place = self.file.text.place(at);
        self.file.findings.push(Finding::error(code, Fault::Config, message).at(place).hint(hint));
    }

    fn flow(&mut self, table: FlowTable) -> FlowFile {
        let name = Path::new(&*self.file.text.name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("flow");
        let mut flow = FlowFile {
            name: name.to_owned(),
            path: Path::new("").to_owned(),
            text: self.file.text.clone(),
            title: table.title,
            additional_instances: 0,
            time_limit_ms: TIME_LIMIT_MS,
            syncs_persistent_only: false,
            nodes: Vec::new(),
        };
        if let Some(instances) = table.additional_instances {
            match u32::try_from(*instances.get_ref()) {
                Ok(count) if count <= 256 => flow.additional_instances = count,
                _ => self.error(
                    codes::BAD_VALUE,
                    &instances.span(),
                    "additional_instances is out of range, expected 0 to 256",
                    "an instance that waits holds no thread, so 256 is enough for many clients",
                ),
            }
        }
        if let Some(limit) = table.time_limit {
            match time_ms(limit.get_ref()) {
                Some(limit_ms) if limit_ms > 0 => flow.time_limit_ms = limit_ms,
                _ => self.bad_time(&limit.span()),
            }
        }
        if let Some(sync) = table.sync {
            match sync.get_ref().as_str() {
                "always" => {}
                "persistent" => flow.syncs_persistent_only = true,
                _ => self.error(
                    codes::BAD_VALUE,
                    &sync.span(),
                    "expected `always` or `persistent`",
                    "with `persistent`, a power cut may undo the last messages that are not persistent",
                ),
            }
        }
        let mut nodes: Vec<_> = table.node.into_iter().collect();
        nodes.sort_by_key(|(name, _)| name.span().start);
        if nodes.len() > NODES_MAX {
            self.file.find_in_file(
                codes::BAD_VALUE,
                format!("the flow has {} nodes, at most {NODES_MAX} are allowed", nodes.len()),
                "divide the flow; a queue joins the parts",
            );
            return flow;
        }
        self.names = nodes.iter().map(|(name, _)| name.get_ref().clone()).collect();
        let mut numbers = Vec::new();
        for (name, keys) in nodes {
            let span = name.span();
            let node = self.node(name.into_inner(), span, keys);
            numbers.push(node.is_some().then_some(flow.nodes.len()));
            if let Some((node, is_doubtful)) = node {
                if is_doubtful {
                    self.doubtful.push(flow.nodes.len());
                }
                flow.nodes.push(node);
            }
        }
        if flow.nodes.len() < numbers.len() {
            flow.nodes.iter_mut().for_each(|node| renumber(node, &numbers));
        }
        flow
    }

    /// Returns a node, and whether a property is missing or wrong.
    fn node(
        &mut self,
        name: String,
        span: Range<usize>,
        mut keys: BTreeMap<Spanned<String>, Spanned<Raw>>,
    ) -> Option<(FlowNode, bool)> {
        let at = keys.keys().find(|key| key.get_ref() == "type").cloned();
        let Some(given) = at.and_then(|key| keys.remove(&key)) else {
            self.error(
                codes::MISSING_KEY,
                &span,
                format!("node `{name}` has no type"),
                "write for example: type = \"map\"",
            );
            return None;
        };
        let kind = match given.get_ref() {
            Raw::Text(text) => node_kind(text),
            _ => None,
        };
        let Some(kind) = kind else {
            let found = match given.get_ref() {
                Raw::Text(text) => format!("there is no node type `{text}`"),
                other => format!("the type is {}, expected a text", other.what()),
            };
            let near = match given.get_ref() {
                Raw::Text(text) => nearest(text, NODE_KINDS.iter().map(|kind| kind.name)),
                _ => None,
            };
            let hint = near.map_or_else(|| format!("{PAGE} lists the types"), |near| format!("did you mean `{near}`?"));
            self.error(codes::UNKNOWN_TYPE, &given.span(), found, hint);
            return None;
        };
        let mut node = FlowNode { name, span, kind, properties: Vec::new(), wires: Vec::new() };
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        let mut refused = Vec::new();
        let mut is_doubtful = false;
        for (key, value) in keys {
            is_doubtful |= !self.key(&mut node, &key, &value, &mut refused);
        }
        is_doubtful |= !self.complete(&node, &refused);
        Some((node, is_doubtful))
    }

    /// Takes one key; the name of a property whose value is refused goes to `refused`, so that it is not missing as well. Returns false for a wrong
    /// property.
    fn key(
        &mut self,
        node: &mut FlowNode,
        key: &Spanned<String>,
        value: &Spanned<Raw>,
        refused: &mut Vec<&'static str>,
    ) -> bool {
        let kind = node.kind;
        if let Some(terminal) = kind.terminals.iter().find(|terminal| terminal.name == key.get_ref()) {
            let to = self.nodes(value);
            node.wires.push(Wire { terminal: terminal.name, to });
            return true;
        }
        let Some(property) = kind.properties.iter().find(|property| property.name == key.get_ref()) else {
            let known = kind.terminals.iter().map(|t| t.name).chain(kind.properties.iter().map(|p| p.name));
            let hint = nearest(key.get_ref(), known.clone()).map_or_else(
                || format!("a {} node has {}", kind.name, known.collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("a {} node has no property or terminal `{}`", kind.name, key.get_ref());
            self.error(codes::UNKNOWN_KEY, &key.span(), message, hint);
            return false;
        };
        match self.value(property, value) {
            Some((value, span)) => {
                node.properties.push(FlowProperty { kind: property, value, span });
                true
            }
            None => {
                refused.push(property.name);
                false
            }
        }
    }

    /// Returns the value of a property, if it has the form of that property.
    fn value(&mut self, kind: &'static PropertyKind, given: &Spanned<Raw>) -> Option<(PropertyValue, Range<usize>)> {
        let span = given.span();
        let value = match (kind.form, given.get_ref()) {
            (Form::Text, Raw::Table(table)) => match table.get("from").map(|from| (from.span(), from.get_ref())) {
                Some((at, Raw::Text(text))) if table.len() == 1 => PropertyValue::From(text.clone(), at),
                _ => {
                    let hint = format!("write {} = \"…\", or {}.from = \"EXPRESSION\"", kind.name, kind.name);
                    let message = format!("`{}` is a table without exactly one key `from` with a text", kind.name);
                    self.error(codes::BAD_VALUE, &span, message, hint);
                    return None;
                }
            },
            (Form::Condition | Form::Expression, Raw::Text(text)) => PropertyValue::From(text.clone(), span.clone()),
            (Form::Text | Form::Constant | Form::Shape | Form::Map, Raw::Text(text)) => {
                PropertyValue::Text(text.clone())
            }
            (Form::Number(min, max), Raw::Number(number)) => match u64::try_from(*number) {
                Ok(number) if (min..=max).contains(&number) => PropertyValue::Number(number),
                _ => {
                    let message = format!("`{}` is {number}, expected {min} to {max}", kind.name);
                    self.error(codes::BAD_VALUE, &span, message, kind.help);
                    return None;
                }
            },
            (Form::Flag, Raw::Flag(flag)) => PropertyValue::Flag(*flag),
            (Form::Choice(words), Raw::Text(text)) => match words.iter().find(|word| *word == text) {
                Some(word) => PropertyValue::Text((*word).to_owned()),
                None => {
                    let near = nearest(text, words.iter().copied());
                    let hint = near.map_or_else(|| kind.help.to_owned(), |near| format!("did you mean `{near}`?"));
                    let message = format!("`{}` is `{text}`, expected {}", kind.name, words.join(", "));
                    self.error(codes::BAD_VALUE, &span, message, hint);
                    return None;
                }
            },
            (Form::Time, Raw::Text(text)) => match time_ms(text) {
                Some(time_ms) => PropertyValue::Number(time_ms),
                None => {
                    self.bad_time(&span);
                    return None;
                }
            },
            (Form::Expressions, Raw::List(list)) => {
                let mut all = Vec::new();
                for one in list {
                    let Raw::Text(text) = one.get_ref() else {
                        let message =
                            format!("an entry of `{}` is {}, expected a text", kind.name, one.get_ref().what());
                        self.error(codes::BAD_VALUE, &one.span(), message, kind.help);
                        return None;
                    };
                    all.push((text.clone(), one.span()));
                }
                PropertyValue::Expressions(all)
            }
            (Form::Labels, _) => PropertyValue::Nodes(self.nodes(given)),
            (Form::Cases, Raw::List(list)) => {
                PropertyValue::Cases(list.iter().filter_map(|one| self.case(one)).collect())
            }
            (_, other) => {
                let message = format!("`{}` is {}, expected {}", kind.name, other.what(), expected(kind.form));
                self.error(codes::BAD_VALUE, &span, message, kind.help);
                return None;
            }
        };
        Some((value, span))
    }

    fn case(&mut self, given: &Spanned<Raw>) -> Option<(String, Range<usize>, usize)> {
        if let Raw::Table(table) = given.get_ref()
            && table.len() == 2
            && let (Some(when), Some(to)) = (table.get("when"), table.get("to"))
            && let (Raw::Text(condition), Raw::Text(_)) = (when.get_ref(), to.get_ref())
        {
            let node = self.nodes(to).first().copied()?;
            return Some((condition.clone(), when.span(), node));
        }
        let hint = "write it as: { when = \"CONDITION\", to = \"NODE\" }";
        self.error(codes::BAD_VALUE, &given.span(), "a case needs exactly `when` and `to`, both texts", hint);
        None
    }

    /// Numbers of the nodes that a name or a list of names means.
    fn nodes(&mut self, given: &Spanned<Raw>) -> Vec<usize> {
        match given.get_ref() {
            Raw::Text(name) => match self.names.iter().position(|known| known == name) {
                Some(number) => vec![number],
                None => {
                    let near = nearest(name, self.names.iter().map(String::as_str)).map(str::to_owned);
                    let hint = near.map_or_else(
                        || match name.is_empty() {
                            true => "name a node of the flow".to_owned(),
                            false => format!("define it with [node.{name}], or name another node"),
                        },
                        |near| format!("did you mean `{near}`?"),
                    );
                    self.error(codes::NO_SUCH_NODE, &given.span(), format!("the flow has no node `{name}`"), hint);
                    Vec::new()
                }
            },
            Raw::List(list) => list.iter().flat_map(|one| self.nodes(one)).collect(),
            other => {
                let message = format!("expected the name of a node or a list of names, found {}", other.what());
                self.error(codes::BAD_VALUE, &given.span(), message, "write it as: out = \"next\"");
                Vec::new()
            }
        }
    }

    /// Checks that a node is complete. Returns false if a property is missing.
    fn complete(&mut self, node: &FlowNode, refused: &[&str]) -> bool {
        let mut has_all = true;
        let is_there = |name: &str| node.property(name).is_some() || refused.contains(&name);
        let properties = node.kind.properties.iter().filter(|property| property.is_required);
        for property in properties.filter(|property| !is_there(property.name)) {
            let message = format!("node `{}` has no `{}`: {}", node.name, property.name, property.help);
            let hint = format!("add `{} = …` to [node.{}]", property.name, node.name);
            self.error(codes::MISSING_KEY, &node.span, message, hint);
            has_all = false;
        }
        let terminals = node.kind.terminals.iter().filter(|terminal| terminal.is_required);
        for terminal in terminals.filter(|terminal| !node.wires.iter().any(|wire| wire.terminal == terminal.name)) {
            let message =
                format!("terminal `{}` of node `{}` is not wired: {}", terminal.name, node.name, terminal.help);
            let hint =
                format!("add `{} = \"NODE\"`, or `{} = []` to drop what leaves by it", terminal.name, terminal.name);
            self.error(codes::MISSING_KEY, &node.span, message, hint);
        }
        if refused.is_empty() {
            self.contradictions(node);
        }
        has_all
    }

    fn contradictions(&mut self, node: &FlowNode) {
        let has = |name: &str| node.property(name).is_some();
        let by_key = node.text("order") == Some("by_key");
        let wrong = match node.kind.name {
            "http_input" if !node.flag("open_to_network") && node.text("listen").is_some_and(is_open) => Some((
                "`listen` is an address that other machines reach, and the node has neither TLS nor authentication",
                "listen on 127.0.0.1, or write `open_to_network = true` if that is meant; an API with `[serve.tls]` has both",
            )),
            "http_input" if has("user_header") && node.text("listen").is_some_and(is_open) => Some((
                "`user_header` trusts every client, and `listen` is an address that other machines reach",
                "listen on 127.0.0.1, and let the proxy that sets the header connect to it",
            )),
            "queue_input" if by_key != has("order_key") => {
                Some(("`order = \"by_key\"` and `order_key` belong together", "set both, or neither"))
            }
            "validate" if has("acknowledge") != node.wires.iter().any(|wire| wire.terminal == "acknowledgment") => {
                Some((
                    "`acknowledge` and the terminal `acknowledgment` belong together",
                    "set `acknowledge = \"999\"`, for example, and wire `acknowledgment`",
                ))
            }
            "validate" if has("control_numbers") && !has("acknowledge") => Some((
                "`control_numbers` are those of acknowledgments, and the node makes none",
                "set `acknowledge`, too",
            )),
            "route" if has("cases") == has("label") => {
                Some(("a route has either `cases` or `label`", "set one of them"))
            }
            "route" if has("label") != has("labels") => {
                Some(("`label` and `labels` belong together", "list the nodes that `label` may name in `labels`"))
            }
            "record_read" | "record_delete" if !has("key") && !matches!(node.text("mode"), Some("FIRST" | "LAST")) => {
                Some(("there is no key, and the mode needs one", "set `key`, or `mode = \"FIRST\"`"))
            }
            "queue_input"
                if node.number("commit_count") > Some(1) && !matches!(node.text("order"), None | Some("none")) =>
            {
                Some((
                    "in an order, each message has a unit of work of its own",
                    "leave out `commit_count`, or `order`",
                ))
            }
            "aggregate"
                if !has("count") && !has("last") && node.wires.iter().any(|wire| wire.terminal == "incomplete") =>
            {
                Some((
                    "without `count` or `last`, a group is complete when its time is over, and leaves by `out`",
                    "wire `out`, and leave out `incomplete`",
                ))
            }
            "aggregate" if !has("count") && !has("last") && !has("timeout") => {
                Some(("nothing completes a group", "set `count`, `last` or `timeout`"))
            }
            "aggregate" if !has("timeout") && (has("attempts") || has("backout")) => Some((
                "without `timeout`, a group leaves in the unit of work of its last message, whose failures the input counts",
                "set `timeout`, or leave out `attempts` and `backout`",
            )),
            "aggregate"
                if has("timeout")
                    && (has("count") || has("last"))
                    && !node.wires.iter().any(|wire| wire.terminal == "incomplete") =>
            {
                Some((
                    "a group whose time is over leaves by `incomplete`, which is not wired",
                    "add `incomplete = \"NODE\"`, or `incomplete = []` to drop such groups",
                ))
            }
            "record_input" if matches!(node.text("mode"), Some("LAST")) => Some((
                "a pass begins with the first record or at a key",
                "use `mode = \"KEY_GE\"` with a key, or leave `mode` out",
            )),
            _ => None,
        };
        if let Some((message, hint)) = wrong {
            self.error(codes::CONTRADICTION, &node.span, message, hint);
        }
    }

    /// Inputs, reachability and loops; only if all nodes were read, since wires count them.
    fn check(&mut self, flow: &FlowFile) {
        if flow.nodes.len() != self.names.len() {
            return;
        }
        if !flow.nodes.iter().any(|node| node.kind.is_input) {
            let inputs: Vec<_> = NODE_KINDS.iter().filter(|kind| kind.is_input).map(|kind| kind.name).collect();
            let hint = format!("add a node of type {}", inputs.join(", "));
            self.file.find_in_file(codes::NO_INPUT, "the flow has no input, so no message enters it", hint);
            return;
        }
        let mut reached = vec![false; flow.nodes.len()];
        let mut open: Vec<usize> = (0..flow.nodes.len()).filter(|at| flow.nodes[*at].kind.is_input).collect();
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                open.extend(flow.nodes[at].targets().map(|(_, to)| to));
            }
        }
        for node in flow.nodes.iter().zip(&reached).filter(|(_, reached)| !**reached).map(|(node, _)| node) {
            let message = format!("no wire leads to node `{}`", node.name);
            self.error(codes::NOT_REACHED, &node.span, message, "wire a terminal to it, or remove it");
        }
        for node in &flow.nodes {
            if let Some((terminal, _)) = node.targets().find(|(_, to)| flow.nodes[*to].kind.is_input) {
                let message = format!("`{terminal}` leads to an input, which takes no messages from wires");
                self.error(
                    codes::NO_SUCH_NODE,
                    &node.span,
                    message,
                    "wire it to another node, or put the message on the input's queue",
                );
            }
        }
        if let Some(on_loop) = find_loop(flow) {
            let names: Vec<&str> = on_loop.iter().map(|at| flow.nodes[*at].name.as_str()).collect();
            let message = format!("the wires form a loop: {} and again {}", names.join(", "), names[0]);
            let span = flow.nodes[on_loop[0]].span.clone();
            self.error(
                codes::LOOP,
                &span,
                message,
                "repeat with a split node, or put the message on a queue of an input",
            );
        }
    }

    fn bad_time(&mut self, at: &Range<usize>) {
        self.error(
            codes::BAD_VALUE,
            at,
            "expected a time: a whole number with ms, s, m or h",
            "write it as: \"200ms\", \"5s\", \"2m\" or \"1h\"",
        );
    }
}

/// Leaves out the wires of a node to nodes that could not be read: `numbers` has the new number of each node.
fn renumber(node: &mut FlowNode, numbers: &[Option<usize>]) {
    let known = |to: &[usize]| to.iter().filter_map(|at| numbers[*at]).collect();
    for wire in &mut node.wires {
        wire.to = known(&wire.to);
    }
    for property in &mut node.properties {
        match &mut property.value {
            PropertyValue::Nodes(to) => *to = known(to),
            PropertyValue::Cases(cases) => {
                let all = std::mem::take(cases).into_iter();
                *cases = all.filter_map(|(when, span, to)| Some((when, span, numbers[to]?))).collect();
            }
            _ => {}
        }
    }
}

fn expected(form: Form) -> &'static str {
    match form {
        Form::Text => "a text, or { from = \"EXPRESSION\" }",
        Form::Constant | Form::Shape | Form::Map | Form::Choice(_) | Form::Time => "a text",
        Form::Condition | Form::Expression => "a text with an expression",
        Form::Cases => "a list of cases",
        Form::Expressions => "a list of texts with expressions",
        Form::Labels => "a list of nodes",
        Form::Number(..) => "a whole number",
        Form::Flag => "true or false",
    }
}

/// Returns true if other machines can reach an address. Text that is not an address cannot be listened on.
fn is_open(listen: &str) -> bool {
    listen.parse::<std::net::SocketAddr>().is_ok_and(|address| !address.ip().is_loopback())
}

/// Milliseconds of a time such as `5s`.
fn time_ms(text: &str) -> Option<u64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..unit_at].parse().ok()?;
    let unit = match text[unit_at..].trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// Returns the nodes of a cycle of wires, if there is one.
fn find_loop(flow: &FlowFile) -> Option<Vec<usize>> {
    let mut done = vec![false; flow.nodes.len()];
    for start in 0..flow.nodes.len() {
        let targets = |at: usize| flow.nodes[at].targets().map(|(_, to)| to).collect::<Vec<_>>();
        let mut path: Vec<(usize, Vec<usize>)> = vec![(start, targets(start))];
        while let Some((at, rest)) = path.last_mut() {
            let at = *at;
            match rest.pop() {
                Some(next) => {
                    if let Some(from) = path.iter().position(|(known, _)| *known == next) {
                        return Some(path[from..].iter().map(|(at, _)| *at).collect());
                    }
                    if !done[next] {
                        path.push((next, targets(next)));
                    }
                }
                None => {
                    done[at] = true;
                    path.pop();
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_of_a_node_means_two_things() {
        for kind in NODE_KINDS {
            let mut names: Vec<&str> = kind.terminals.iter().map(|terminal| terminal.name).collect();
            names.extend(kind.properties.iter().map(|property| property.name));
            names.push("type");
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", kind.name);
        }
    }

    #[test]
    fn times_have_a_unit() {
        for (text, expected) in
            [("5s", Some(5_000)), ("200ms", Some(200)), ("2m", Some(120_000)), ("5", None), ("s", None), ("1d", None)]
        {
            assert_eq!(time_ms(text), expected, "{text}");
        }
    }
}
