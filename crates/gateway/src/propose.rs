//! A service file for a copybook: a proposal for the user to edit, and a table that shows its effect.

use std::collections::HashSet;

use quayline_charset::{Charset, CodePage};
use quayline_cobol::layout::{Dialect, FieldIndex, FieldKind, Layout};
use quayline_cobol::{FieldRule, Interface, KeyStyle, Policies, RecordPlan, RedefinesPolicy};
use quayline_core::{Fault, Finding, Findings, Limits, NodeId};

use crate::codes;
use crate::record_call::PAGE_PARAMETERS;
use crate::service::{PROGRAM_PLACEHOLDER, gnucobol_options, named_field, single_values, slides};

/// Input of a proposal.
#[derive(Clone, Copy, Debug)]
pub struct Proposed<'a> {
    /// The copybook as the service names it.
    pub copybook: &'a str,
    /// The record, if it was chosen among several.
    pub record: Option<&'a str>,
    /// Code page of the record.
    pub encoding: &'a str,
    /// The dialect by its name.
    pub dialect: &'a str,
    /// Record names of the program's parameters, if it has several. The layout combines all of them.
    pub parameters: &'a [String],
    /// PROGRAM-ID, if it is known.
    pub program: Option<&'a str>,
    /// Source of the program as the service names it, if the project has it.
    pub source: Option<&'a str>,
    /// The source is in free format.
    pub is_free: bool,
}

/// A proposed service.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The service file's text.
    pub file: String,
    /// The table that an editor would show.
    pub rows: Vec<ServiceRow>,
}

/// One row of the table that an editor would show.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServiceRow {
    /// Depth of the field.
    pub depth: usize,
    /// COBOL name.
    pub field: String,
    /// Directions that show it.
    pub include: Include,
    /// Name in JSON.
    pub rename: String,
    /// STRUCT, ARRAY with its bounds and element, or picture and usage.
    pub data_type: String,
    /// Bytes, of all occurrences.
    pub length: usize,
    /// Position from 1; `None` after a table of varying length and inside tables.
    pub start: Option<usize>,
}

/// The directions that show a field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Include {
    /// Requests and answers.
    Both,
    /// Requests alone.
    Request,
    /// Answers alone.
    Response,
    /// Neither.
    No,
}

impl Proposal {
    /// Proposes a service for a program with the name of the record. Top-level groups whose names indicate a direction are used for requests or
    /// responses only.
    ///
    /// # Errors
    /// The code page is unknown, or the record has errors in it.
    pub fn new(layout: &Layout, from: Proposed<'_>) -> Result<Proposal, Findings> {
        let Ok(page) = CodePage::by_name(from.encoding) else {
            let message = format!("`{}` is not a single-byte code page", from.encoding);
            let hint = "write `--encoding ascii` for a program compiled by GnuCOBOL, `cp037` or another EBCDIC page for records of z/OS";
            return Err(Finding::error(codes::VALUE, Fault::Config, message).hint(hint).into());
        };
        let hidden = Hidden::of(layout, from.parameters);
        let (request, response) = (plan(layout, page, &hidden.in_request)?, plan(layout, page, &hidden.in_response)?);
        let file = file(layout, from, &hidden, &provider(layout, from));
        Ok(Proposal { file, rows: rows(layout, &request, &response) })
    }
}

/// Plans the records of one direction.
fn plan(layout: &Layout, page: &'static CodePage, excluded: &[String]) -> Result<RecordPlan, Findings> {
    let rule = |name: &String| FieldRule { field: name.clone(), include: Some(false), ..FieldRule::default() };
    let interface = Interface {
        key_style: KeyStyle::Camel,
        redefines: RedefinesPolicy::Original,
        fields: excluded.iter().map(rule).collect(),
        ..Interface::default()
    };
    RecordPlan::new(layout, &interface, &Policies::default(), Charset::SingleByte(page))
}

/// Fields that one direction leaves out, by unambiguous names.
struct Hidden {
    in_request: Vec<String>,
    in_response: Vec<String>,
}

impl Hidden {
    /// A group named for a request, or such a field that is a parameter of its own, divides the record. Only then, the names of other fields
    /// count: a field `IN-STOCK` alone does not show a direction.
    fn of(layout: &Layout, parameters: &[String]) -> Hidden {
        let tops = layout.children(FieldIndex::RECORD).filter(|top| {
            let field = layout.field(*top);
            !field.filler && field.redefines.is_none()
        });
        let mut divides = false;
        let tops: Vec<(bool, Option<String>)> = tops
            .map(|top| {
                let field = layout.field(top);
                let asks = field.name.split('-').any(|word| ["REQ", "REQUEST", "INPUT", "IN"].contains(&word));
                divides |= asks && (field.kind == FieldKind::Group || !parameters.is_empty());
                // The shortest unambiguous name; `None` if two fields of the record have one name.
                (asks, [field.name.clone(), layout.path(top)].into_iter().find(|name| layout.named(name) == [top]))
            })
            .collect();
        let names =
            |which: bool| tops.iter().filter(move |(asks, _)| *asks == which).filter_map(|(_, name)| name.clone());
        if divides {
            Hidden { in_request: names(false).collect(), in_response: names(true).collect() }
        } else {
            Hidden { in_request: Vec::new(), in_response: Vec::new() }
        }
    }
}

fn rows(layout: &Layout, request: &RecordPlan, response: &RecordPlan) -> Vec<ServiceRow> {
    let mut rows = Vec::new();
    let mut slides = false;
    let name =
        |plan: &RecordPlan, index| shown_as(layout, plan, index).map(|node| plan.shape().node(node).name.clone());
    for (index, field) in layout.iter().skip(1) {
        let (depth, in_table) = around(layout, index);
        let count = field.occurs.map_or(1, |occurs| occurs.max as usize);
        let (asked, shown) = (name(request, index), name(response, index));
        let include = match (&asked, &shown) {
            (Some(_), Some(_)) => Include::Both,
            (Some(_), None) => Include::Request,
            (None, Some(_)) => Include::Response,
            (None, None) => Include::No,
        };
        let data_type = match (&field.kind, field.occurs) {
            (FieldKind::Group, Some(occurs)) => format!("ARRAY [{}..{}]", occurs.min, occurs.max),
            (FieldKind::Item(_), Some(occurs)) => {
                format!("ARRAY [{}..{}] of {}", occurs.min, occurs.max, field.description)
            }
            (FieldKind::Group, None) => "STRUCT".to_owned(),
            (FieldKind::Item(_), None) => field.description.clone(),
        };
        rows.push(ServiceRow {
            depth,
            field: field.name.clone(),
            include,
            rename: shown.or(asked).unwrap_or_default(),
            data_type,
            length: field.stride * count,
            start: (!slides && !in_table).then_some(field.offset + 1),
        });
        slides |= layout.dialect.odo_slide && field.occurs.is_some_and(|occurs| occurs.depending_on.is_some());
    }
    rows
}

/// Returns the node that shows a field; the content of a group shows the group.
fn shown_as(layout: &Layout, plan: &RecordPlan, index: FieldIndex) -> Option<NodeId> {
    plan.node_of(index).or_else(|| {
        let mut held = layout.children(index).filter_map(|child| shown_as(layout, plan, child));
        held.find_map(|node| plan.shape().node(node).parent)
    })
}

fn around(layout: &Layout, index: FieldIndex) -> (usize, bool) {
    let (mut depth, mut in_table) = (0, false);
    let mut at = layout.field(index).parent;
    while let Some(parent) = at {
        in_table |= layout.field(parent).occurs.is_some();
        at = layout.field(parent).parent;
        depth += usize::from(at.is_some());
    }
    (depth, in_table)
}

/// Formats the rows as a table.
#[must_use]
pub fn service_table(rows: &[ServiceRow]) -> String {
    let cells = |row: &ServiceRow| -> [String; 7] {
        let include = match row.include {
            Include::Both => "yes",
            Include::Request => "request",
            Include::Response => "response",
            Include::No => "no",
        };
        [
            format!("{:width$}{}", "", row.field, width = 2 * row.depth),
            include.to_owned(),
            row.rename.clone(),
            String::new(),
            row.data_type.clone(),
            row.length.to_string(),
            row.start.map_or_else(String::new, |start| start.to_string()),
        ]
    };
    let head = ["field", "include", "rename", "default", "type", "length", "start"].map(str::to_owned);
    let all: Vec<[String; 7]> = core::iter::once(head).chain(rows.iter().map(cells)).collect();
    let widths: [usize; 7] =
        core::array::from_fn(|column| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in &all {
        let line: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn file(layout: &Layout, from: Proposed<'_>, hidden: &Hidden, provider: &str) -> String {
    let list = |key: &str, names: &[String]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        if quoted.is_empty() { String::new() } else { format!("{key} = [{}]\n", quoted.join(", ")) }
    };
    let mut text = "# Proposed by Quayline; docs/reference/gateway.md explains every key.\n".to_owned();
    text.push_str(&format!("copybook = \"{}\"\n", from.copybook));
    if let Some(record) = from.record {
        text.push_str(&format!("record = \"{record}\"\n"));
    }
    text.push_str(&format!("encoding = \"{}\"\n", from.encoding));
    text.push_str(&format!("dialect = \"{}\"\n", from.dialect.to_ascii_lowercase()));
    for parameter in from.parameters {
        text.push_str(&format!("\n[[parameter]]\nrecord = \"{parameter}\"\n"));
    }
    text.push_str(provider);
    for (direction, names) in [("request", &hidden.in_request), ("response", &hidden.in_response)] {
        text.push_str(&format!("\n[{direction}]\nkey-style = \"camel\"\n{}", list("exclude", names)));
    }
    // Other views of storage are shown if they are named.
    let views = layout.iter().filter(|(_, field)| field.redefines.is_some() && !field.filler);
    let views: Vec<String> = views.map(|(index, _)| layout.path(index)).collect();
    if !views.is_empty() {
        text.push_str(&format!("# {}", list("include", &views)));
    }
    for (index, field) in layout.iter() {
        if single_values(field).len() >= 2 && !field.filler {
            let name = [field.name.clone(), layout.path(index)].into_iter().find(|name| layout.named(name) == [index]);
            let Some(name) = name else { continue };
            text.push_str(&format!("\n# [[type]]                         # names of level 88 instead of codes\n# field = \"{name}\"\n# is = \"codes\"\n"));
        }
    }
    text
}

/// Without it, fields that nobody sets hold 0x00, with which a program computes as if it were a number.
const INITIAL_FIELDS: &str = "\n[options]\ninitialize = \"initial\"           # fields that the request does not set: spaces and zeros, not 0x00\n";

/// Returns a GnuCOBOL program if the record can be one's, otherwise a remote service that takes and returns records.
fn provider(layout: &Layout, from: Proposed<'_>) -> String {
    let is_ebcdic = CodePage::by_name(from.encoding).is_ok_and(|page| page.is_ebcdic());
    if is_ebcdic || !from.dialect.eq_ignore_ascii_case("gnucobol") {
        let path = from.program.unwrap_or_default();
        return format!(
            "\n[provider]\nkind = \"http\"                      # the record is posted there, and the answer is one; `program` runs GnuCOBOL\nurl = \"http://127.0.0.1:9000/{path}\"\n{INITIAL_FIELDS}"
        );
    }
    let options = gnucobol_options(&layout.dialect).join(" ");
    let program = from.program.unwrap_or(PROGRAM_PLACEHOLDER);
    let edit =
        if from.program.is_some() { "" } else { "            # a placeholder: write the PROGRAM-ID of your program" };
    // A file with a PROGRAM-ID is the source itself, whatever the case of its name.
    let own = from.program.map(|_| from.copybook.to_owned());
    let source = from.source.map(str::to_owned).or(own).unwrap_or_else(|| format!("{program}.cbl"));
    let mark = if from.source.is_some() { "" } else { "# " };
    let is_free = from.program.is_some() && from.is_free;
    let free = if is_free { "-free " } else { "" };
    let format = format!("{mark}compiler-options = [\"-O2\", \"-std=ibm\", \"-free\"]\n");
    let format = if is_free { format.as_str() } else { "" };
    format!(
        "\n[provider]\nkind = \"program\"\nprogram = \"{program}\"{edit}\n{mark}source = \"{source}\"            # Quayline compiles it as the dialect says; by hand, with the same storage of data:\n# cobc -m -O2 -std=ibm {free}{options} -I . -I copybooks -o modules/{program}.so {source}\n{format}{INITIAL_FIELDS}"
    )
}

/// A record file that is to be an API.
#[derive(Clone, Copy, Debug)]
pub struct ProposedFile<'a> {
    /// The copybook and how its records are stored.
    pub from: Proposed<'a>,
    /// Name of the service and the API.
    pub name: &'a str,
    /// Name of the record file.
    pub file: &'a str,
    /// Field that is the key.
    pub key: &'a str,
    /// Alternate indexes: name and field.
    pub indexes: &'a [(String, String)],
}

/// A service and an API for a record file.
#[derive(Clone, Debug)]
pub struct FileProposal {
    /// Text of the service file.
    pub service: String,
    /// Text of the API file.
    pub api: String,
}

impl FileProposal {
    /// Parses `NAME=FIELD` or `NAME=FIELD:duplicates`. Returns an index, and true if its keys may repeat.
    #[must_use]
    pub fn index(text: &str) -> Option<((String, String), bool)> {
        let (name, field) = text.split_once('=')?;
        let (field, is_repeated) = match field.split_once(':') {
            Some((field, "duplicates")) => (field, true),
            Some(_) => return None,
            None => (field, false),
        };
        (!name.is_empty() && !field.is_empty()).then(|| ((name.to_owned(), field.to_owned()), is_repeated))
    }

    /// Proposes an API that reads, inserts, replaces, updates, deletes and browses the records of a file.
    ///
    /// # Errors
    /// A key or index that is not a field of the copybook, or has no elementary field with a name.
    pub fn new(layout: &Layout, of: ProposedFile<'_>) -> Result<FileProposal, Findings> {
        let key = members(layout, of.key)?;
        let indexes: Vec<(&str, &str, Vec<String>)> = of
            .indexes
            .iter()
            .map(|(name, field)| Ok((name.as_str(), field.as_str(), members(layout, field)?)))
            .collect::<Result<_, Findings>>()?;
        let mut provider = format!("\n[provider]\nkind = \"file\"\nfile = \"{}\"\nkey = \"{}\"\n", of.file, of.key);
        for (name, field, _) in &indexes {
            provider.push_str(&format!("[[provider.index]]\nname = \"{name}\"\nfield = \"{field}\"\n"));
        }
        provider.push_str(
            "\n[options]\ninitialize = \"initial\"           # absent members of a new record: spaces and zeros\n",
        );
        let hidden = Hidden { in_request: Vec::new(), in_response: Vec::new() };
        let mut api = Api { text: String::new(), service: of.name, slides: slides(layout), hides: hides(layout) };
        api.head(of);
        api.operations(&key, &indexes);
        Ok(FileProposal { service: file(layout, of.from, &hidden, &provider), api: api.text })
    }
}

/// A program to propose an API for.
#[derive(Clone, Copy, Debug)]
pub struct ProposedProgram<'a> {
    /// The program and its records.
    pub from: Proposed<'a>,
    /// Name of the service and the API.
    pub name: &'a str,
    /// Method and path of the operation, such as `GET /{article}`: names of fields of the request in braces.
    pub operation: &'a str,
}

/// A service and an API for a program.
#[derive(Clone, Debug)]
pub struct ProgramProposal {
    /// Text of the service file.
    pub service: String,
    /// Text of the API file.
    pub api: String,
}

impl ProgramProposal {
    /// Proposes an API with one operation. Fields of the request become parameters of its path. The others become the body. For a method without a
    /// body, they become query parameters, except those of tables.
    ///
    /// # Errors
    /// Those of [`Proposal::new`], an operation that is not a method and a path, and a name in the path that is not a field of the request.
    pub fn new(layout: &Layout, of: ProposedProgram<'_>) -> Result<ProgramProposal, Findings> {
        let service = Proposal::new(layout, of.from)?.file;
        let wrong = |message: String, hint: String| {
            Findings::from(Finding::error(codes::NO_SUCH, Fault::Config, message).hint(hint))
        };
        let form = || {
            wrong(
                format!("`{}` is not an operation", of.operation),
                "write a method and a path, such as `POST /call` or `GET /{customerId}`".to_owned(),
            )
        };
        let (method, path) = of.operation.split_once(' ').ok_or_else(form)?;
        if !["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method) || !path.starts_with('/') {
            return Err(form());
        }
        let page = CodePage::by_name(of.from.encoding).map_err(|_| form())?;
        let plan = plan(layout, page, &Hidden::of(layout, of.from.parameters).in_request)?;
        let mut fields = leaves(layout, &plan);
        let mut parameters = String::new();
        let mut add = |name: &str, place: &str, field: &str| {
            parameters.push_str(&format!(
                "\n[[operation.parameter]]\nname = \"{name}\"\nin = \"{place}\"\nfield = \"{field}\"\n"
            ));
        };
        for name in path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name) {
            let Some(at) = fields.iter().position(|(known, _)| known == name) else {
                let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                let hint = format!("the request has {}", names.join(", "));
                return Err(wrong(format!("`{name}` of the path is not a field of the request"), hint));
            };
            let (name, field) = fields.remove(at);
            add(&name, "path", &field);
        }
        let has_body = !["GET", "DELETE"].contains(&method);
        if !has_body {
            fields.iter().for_each(|(name, field)| add(name, "query", field));
        }
        let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let id = KeyStyle::Pascal.key(&of.name.chars().map(word).collect::<String>());
        let name = of.name;
        let body = if has_body { "\n[operation.body]\n" } else { "" };
        let api = format!(
            "# Proposed by Quayline; docs/reference/gateway.md explains every key.\ntitle = \"{name}\"\nbase-path = \"/{name}\"\n\n[[operation]]\nid = \"call{id}\"\nmethod = \"{method}\"\npath = \"{path}\"\nservice = \"{name}\"\n{parameters}{body}"
        );
        Ok(ProgramProposal { service, api })
    }
}

/// Returns the elementary fields of a request outside tables, by unique parameter name and by name in the layout.
fn leaves(layout: &Layout, plan: &RecordPlan) -> Vec<(String, String)> {
    let items = plan.shape().iter().filter(|(_, node)| node.scalar().is_some());
    let fields = items.filter_map(|(node, _)| plan.field_of(node));
    let fields = fields.filter(|field| !around(layout, *field).1 && layout.field(*field).occurs.is_none());
    let mut found: Vec<(String, String)> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for field in fields {
        let (short, path) = (layout.field(field).name.clone(), layout.path(field));
        let is_unique = layout.named(&short) == [field];
        let name = parameter(if is_unique { &short } else { &path });
        let name = if known.contains(&name) { KeyStyle::Camel.key(&path.replace('.', "-")) } else { name };
        known.insert(name.clone());
        found.push((name, if is_unique { short } else { path }));
    }
    found
}

/// Returns the name of a service and its API: the given one, or `default` in lower case. The name is a file name and a part of a path.
///
/// # Errors
/// A name with other characters.
pub fn service_name(given: Option<&str>, default: &str) -> Result<String, Findings> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match given {
        Some(name) if !name.is_empty() && name.chars().all(allowed) => Ok(name.to_owned()),
        Some(name) => {
            let message = format!("`{name}` is not a name for a service");
            let hint = "write letters, digits, `-` and `_`";
            Err(Finding::error(codes::VALUE, Fault::Config, message).hint(hint).into())
        }
        None => {
            let word = |c: char| if allowed(c) { c.to_ascii_lowercase() } else { '-' };
            Ok(default.chars().map(word).collect())
        }
    }
}

/// Returns the elementary fields of a key in order, with names that identify one field each.
fn members(layout: &Layout, key: &str) -> Result<Vec<String>, Findings> {
    let wrong =
        |message: String, hint: &str| Findings::from(Finding::error(codes::NO_SUCH, Fault::Config, message).hint(hint));
    let index = named_field(layout, key).map_err(|message| {
        wrong(message, "write the field's COBOL name, qualified by its groups where needed: `GROUP.FIELD`")
    })?;
    let inside = (index.0..layout.field(index).subtree_end.0).map(FieldIndex);
    let names: Vec<String> = inside
        .filter(|at| {
            let field = layout.field(*at);
            matches!(field.kind, FieldKind::Item(_)) && !field.filler && field.redefines.is_none()
        })
        .filter_map(|at| {
            [layout.field(at).name.clone(), layout.path(at)].into_iter().find(|name| layout.named(name) == [at])
        })
        .collect();
    if names.is_empty() {
        return Err(wrong(format!("`{key}` has no field with a name"), "name a field that clients can give"));
    }
    Ok(names)
}

/// The text of an API file.
struct Api<'a> {
    text: String,
    service: &'a str,
    /// True if positions in the record depend on counters.
    slides: bool,
    /// True if the record has bytes that no request shows.
    hides: bool,
}

impl Api<'_> {
    fn head(&mut self, of: ProposedFile<'_>) {
        self.text = format!(
            "# Proposed by Quayline; docs/reference/gateway.md explains every key.\ntitle = \"Records of {}\"\nbase-path = \"/{}\"\n",
            of.file, of.name
        );
    }

    fn operation(&mut self, action: &str, method: &str, path: &str, more: &str, parameters: (&str, &[String])) {
        let words = |text: &str| KeyStyle::Pascal.key(&text.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        let (first, rest) = action.split_once('-').unwrap_or((action, ""));
        let id = format!("{first}{}{}", words(self.service), words(rest));
        self.text.push_str(&format!(
            "\n[[operation]]\nid = \"{id}\"\nmethod = \"{method}\"\npath = \"{path}\"\nservice = \"{}\"\naction = \"{first}\"\n{more}",
            self.service
        ));
        let (place, fields) = parameters;
        for field in fields {
            let name = key_parameter(field);
            self.text.push_str(&format!(
                "[[operation.parameter]]\nname = \"{name}\"\nin = \"{place}\"\nfield = \"{field}\"\n"
            ));
        }
    }

    fn operations(&mut self, key: &[String], indexes: &[(&str, &str, Vec<String>)]) {
        let one = format!("/records{}", path_of(key));
        self.operation(
            "browse",
            "GET",
            "/records",
            "match = \"from\"                    # records from a key on; equal and generic are the others\n",
            ("query", key),
        );
        for (name, _, fields) in indexes {
            let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
            let path: String = name.chars().map(word).collect();
            let by = format!("by = \"{name}\"\n");
            let (action, path) = (format!("browse-by-{path}"), format!("/by-{path}{}", path_of(fields)));
            self.operation(&action, "GET", &path, &by, ("path", fields));
        }
        self.operation("read", "GET", &one, "", ("path", key));
        self.operation("insert", "POST", "/records", "", ("path", &[]));
        if self.slides && self.hides {
            self.text.push_str(
                "\n# No PUT and PATCH: requests do not show FILLER, and a table of varying length moves it.\n",
            );
        } else {
            self.operation("replace", "PUT", &one, "", ("path", key));
        }
        if !self.slides {
            self.operation("update", "PATCH", &one, "", ("path", key));
        }
        self.operation("delete", "DELETE", &one, "", ("path", key));
    }
}

/// Returns true if a record has bytes that no request shows: FILLER and slack.
fn hides(layout: &Layout) -> bool {
    layout.iter().any(|(_, field)| {
        let is_filler = field.filler && field.redefines.is_none() && matches!(field.kind, FieldKind::Item(_));
        is_filler || field.slack_before > 0 || field.stride > field.size
    })
}

fn parameter(field: &str) -> String {
    KeyStyle::Camel.key(field.rsplit('.').next().unwrap_or(field))
}

fn path_of(fields: &[String]) -> String {
    fields.iter().map(|field| format!("/{{{}}}", key_parameter(field))).collect()
}

/// Returns the name of the parameter for a field of a key, which is not one of the parameters of every browse.
fn key_parameter(field: &str) -> String {
    let name = parameter(field);
    if PAGE_PARAMETERS.contains(&name.as_str()) { format!("{name}Key") } else { name }
}

/// Reads the layout of a copybook's only or named record, as a service would, within `limits`.
///
/// # Errors
/// The findings of the copybook, or that it has several records.
pub fn layout_of(
    path: &std::path::Path,
    record: Option<&str>,
    dialect: &Dialect,
    limits: &Limits,
) -> Result<Layout, Findings> {
    crate::service::layout_at(path, &[], record, dialect, limits)
}

/// Reads the layout of the parameters of a program, which are records of one source or copybook, one after another.
///
/// # Errors
/// The faults of the copybook, and a record that it does not have.
pub fn layout_of_parameters(
    path: &std::path::Path,
    parameters: &[String],
    dialect: &Dialect,
    limits: &Limits,
) -> Result<Layout, Findings> {
    crate::service::layout_of_records(path, &[], parameters, dialect, limits)
}
