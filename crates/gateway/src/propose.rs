//! A service file for a copybook: a proposal for the user to edit, and a table that shows its effect.

use quayline_charset::{Charset, CodePage};
use quayline_cobol::layout::{Dialect, FieldIndex, FieldKind, Layout};
use quayline_cobol::{FieldRule, Interface, KeyStyle, Policies, RecordPlan, RedefinesPolicy};
use quayline_core::{Fault, Finding, Findings, Limits, NodeId};

use crate::codes;
use crate::service::{gnucobol_options, node_of, single_values};

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
    /// Proposes a service for a program with the name of the record. Top-level groups whose names say so are for requests or
    /// responses only.
    ///
    /// # Errors
    /// An unknown code page, and the faults of the record in it.
    pub fn new(layout: &Layout, from: Proposed<'_>) -> Result<Proposal, Findings> {
        let Ok(page) = CodePage::by_name(from.encoding) else {
            let message = format!("`{}` is no single-byte code page", from.encoding);
            let hint = "write `--encoding ascii` for a program compiled by GnuCOBOL, `cp037` or another EBCDIC page for records of z/OS";
            return Err(Finding::error(codes::VALUE, Fault::Config, message).hint(hint).into());
        };
        let hidden = Hidden::of(layout);
        let plan = |excluded: &[String]| {
            let rule = |name: &String| FieldRule { field: name.clone(), include: Some(false), ..FieldRule::default() };
            let interface = Interface {
                key_style: KeyStyle::Camel,
                redefines: RedefinesPolicy::Original,
                fields: excluded.iter().map(rule).collect(),
                ..Interface::default()
            };
            RecordPlan::new(layout, &interface, &Policies::default(), Charset::SingleByte(page))
        };
        let (request, response) = (plan(&hidden.in_request)?, plan(&hidden.in_response)?);
        Ok(Proposal { file: file(layout, from, &hidden), rows: rows(layout, &request, &response) })
    }
}

/// Fields that one direction leaves out, by unambiguous names.
struct Hidden {
    in_request: Vec<String>,
    in_response: Vec<String>,
}

impl Hidden {
    fn of(layout: &Layout) -> Hidden {
        let tops = layout.children(FieldIndex::RECORD).filter(|top| {
            let field = layout.field(*top);
            !field.filler && field.redefines.is_none()
        });
        let tops: Vec<(bool, Option<String>)> = tops
            .map(|top| {
                let field = layout.field(top);
                let asks = field.name.split('-').any(|word| ["REQ", "REQUEST", "INPUT", "IN"].contains(&word));
                // The shortest unambiguous name; `None` if two fields of the record have one name.
                (asks, [field.name.clone(), layout.path(top)].into_iter().find(|name| layout.named(name) == [top]))
            })
            .collect();
        let names =
            |which: bool| tops.iter().filter(move |(asks, _)| *asks == which).filter_map(|(_, name)| name.clone());
        if tops.iter().any(|(asks, _)| *asks) {
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
    node_of(plan, index).or_else(|| {
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

/// The rows as a table.
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

fn file(layout: &Layout, from: Proposed<'_>, hidden: &Hidden) -> String {
    let program: String =
        layout.field(FieldIndex::RECORD).name.chars().filter(|c| c.is_ascii_alphanumeric()).take(8).collect();
    let list = |key: &str, names: &[String]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        if quoted.is_empty() { String::new() } else { format!("{key} = [{}]\n", quoted.join(", ")) }
    };
    let mut text = "# Proposed by `quayline service new`; docs/reference/gateway.md explains every key.\n".to_owned();
    text.push_str(&format!("copybook = \"{}\"\n", from.copybook));
    if let Some(record) = from.record {
        text.push_str(&format!("record = \"{record}\"\n"));
    }
    text.push_str(&format!("encoding = \"{}\"\n", from.encoding));
    text.push_str(&format!("dialect = \"{}\"\n", from.dialect.to_ascii_lowercase()));
    text.push_str(&provider(layout, from, &program));
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

/// Returns a GnuCOBOL program if the record can be one's, otherwise a remote service that takes and returns records.
fn provider(layout: &Layout, from: Proposed<'_>, program: &str) -> String {
    let is_ebcdic = CodePage::by_name(from.encoding).is_ok_and(|page| page.is_ebcdic());
    if is_ebcdic || !from.dialect.eq_ignore_ascii_case("gnucobol") {
        return format!(
            "\n[provider]\nkind = \"http\"                      # the record is posted there, and the answer is one; `program` runs GnuCOBOL\nurl = \"http://127.0.0.1:9000/{program}\"\n"
        );
    }
    let options = gnucobol_options(&layout.dialect).join(" ");
    format!(
        "\n[provider]\nkind = \"program\"\nprogram = \"{program}\"\n# source = \"{program}.cbl\"            # Quayline compiles it as the dialect says; by hand, with the same storage of data:\n# cobc -m -O2 -std=ibm {options} -o modules/{program}.so {program}.cbl\n"
    )
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
