//! A service file to a service.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_charset::{Charset, CodePage};
use quayline_cobol::copybook::{ParseOptions, RecordDescription, SourceText};
use quayline_cobol::layout::{Dialect, Encoding, Field, FieldIndex, FieldKind, Layout, Literal, ZonedSign};
use quayline_cobol::{Absent, BadValue, FieldRule, Interface, KeyStyle, Policies, RecordPlan, RedefinesPolicy, Trim};
use quayline_core::{DatePattern, Finding, Findings, NodeId, NodeKind, Severity};
use quayline_project::{CopyFolders, InterfaceFile, InterfaceTable, UserFile, read_source};
use toml::Spanned;

use super::code_names::as_shown;
use super::joined::joined;
use super::layouts::Records;
use super::provider::provider;
use super::{Options, RequestSide, Service, code_names, gnucobol, slides, typed_shape, wire};
use crate::codes;
use crate::provider::ProviderSpec;
use crate::typed::{Range, Typed};

impl Service {
    /// Compiles a service file's text. `name` is the file as the user names it, `root` the project's folder.
    ///
    /// # Errors
    /// All findings at once: about the file, the copybook and the names in the interfaces.
    pub fn compile(name: &str, text: &str, root: &Path) -> Result<Service, Findings> {
        Service::read(name, text, root, &mut Vec::new())
    }

    /// Compiles a service file's text. Adds the other files that it was read from to `files`, also if they are wrong.
    pub(crate) fn read(name: &str, text: &str, root: &Path, files: &mut Vec<PathBuf>) -> Result<Service, Findings> {
        let mut file = UserFile::new(name, text);
        let wire: wire::File = file.parse(codes::SYNTAX, "docs/reference/gateway.md")?;
        let stem = Path::new(name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let interfaces = [&wire.request_interface, &wire.response_interface].into_iter().flatten();
        files.extend(interfaces.map(|path| root.join(path.get_ref())));
        let Records { mut layout, parts, one_each_way } = Records::of(&mut file, &wire, root, files)?;
        let Some(charset) = charset(&mut file, &wire.encoding) else { return Err(Findings(file.findings)) };
        if wire.provider.get_ref().kind.get_ref() == "program" {
            gnucobol::check_encoding(&mut file, &wire, charset);
        }
        counters(&mut file, &wire, &mut layout);
        let mut request = interface(&mut file, wire.request.as_ref(), wire.request_interface.as_ref(), root);
        let mut response = interface(&mut file, wire.response.as_ref(), wire.response_interface.as_ref(), root);
        if one_each_way {
            let groups: Vec<String> = layout.children(FieldIndex::RECORD).map(|group| layout.path(group)).collect();
            for (interface, other) in [(&mut request, groups.last()), (&mut response, groups.first())] {
                interface.fields.extend(other.map(|field| FieldRule {
                    field: field.clone(),
                    include: Some(false),
                    ..FieldRule::default()
                }));
            }
        }
        for rule in response.fields.iter().filter(|rule| rule.default.is_some()) {
            file.find_in_file(
                codes::RESPONSE_DEFAULT,
                format!("the response has a default for `{}`", rule.field),
                "defaults are for requests; remove it",
            );
        }
        let mut types = types(&mut file, &wire, &layout);
        bound_counters(&layout, wire.options.enforce_minimum_items, &mut types);
        let required: Vec<FieldIndex> =
            wire.required.iter().filter_map(|name| one_field(&mut file, &layout, name)).collect();
        let length = wire.length.as_ref().map_or(layout.length_max, |length| *length.get_ref());
        if let Some(at) = &wire.length
            && length < layout.length_max
        {
            let hint = "leave it out, or give the COMMAREA at least the copybook's length";
            let message = format!("the copybook's record has {} bytes, `length` is {length}", layout.length_max);
            file.find(codes::LENGTH, message, at, hint);
        }
        let mut policies = policies(&wire.options);
        // A program's record is the whole COMMAREA. An answer that is sent has its own length.
        if matches!(wire.provider.get_ref().kind.get_ref().as_str(), "http" | "queue") && length == layout.length_max {
            policies.long = quayline_cobol::LengthMismatch::Error;
        }
        if let (Some(at), false) = (&wire.length, parts.is_empty()) {
            let hint = "leave it out: each record has its own length";
            file.find(codes::RULES, "`length` belongs to a service of one record", at, hint);
        }
        let parameters = if one_each_way { &[][..] } else { &parts };
        let known = Known { layout: &layout, policies: &policies, charset, length, root, parameters };
        let provider = provider(&mut file, &wire, &known);
        if let Some(ProviderSpec::Canned(records)) = &provider {
            files.push(records.file.clone());
        }
        let side = match request_side(&layout, &request, &policies, charset, &types, length) {
            Ok(side) => Some(side),
            Err(findings) => {
                file.findings.extend(findings.0);
                None
            }
        };
        if let Some(side) = &side {
            ambiguous_codes(&mut file, &wire, &layout, &types, side);
        }
        // An answer shows the value of the record, in the range or not.
        types.retain(|(_, typed)| !matches!(typed, Typed::Range(_)));
        let (Some(side), Some(provider)) = (side, provider) else { return Err(Findings(file.findings)) };
        if file.findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(file.findings));
        }
        Ok(Service {
            at: file.text.place(&wire.name.as_ref().map_or(0..0, Spanned::span)),
            name: wire.name.map_or(stem, Spanned::into_inner),
            description: wire.description,
            provider,
            length,
            request_length: parts.first().copied().filter(|_| one_each_way),
            files: files.clone(),
            layout,
            charset,
            policies,
            options: Options {
                omit_empty: wire.options.omit_empty,
                omit_low_values: wire.options.omit_low_values,
                controls_to_spaces: matches!(wire.options.control_characters, wire::Controls::Space),
                refuse_controls: matches!(wire.options.request_control_characters, wire::RequestControls::Refuse),
                lenient_requests: wire.options.lenient_requests,
                round_floats: matches!(wire.options.inexact_floats, wire::InexactFloats::Round),
                enforce_minimum_items: wire.options.enforce_minimum_items,
                enforce_minimum_items_of_answers: wire.options.enforce_minimum_items_of_answers,
            },
            request: Arc::new(side),
            response,
            types,
            required,
        })
    }

    /// Returns the service's record description.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}

pub(super) fn dialect(file: &mut UserFile, wire: &wire::File) -> Dialect {
    let mut dialect = gnucobol::default_dialect(wire.provider.get_ref().kind.get_ref());
    if let Some(name) = &wire.dialect {
        match Dialect::preset(name.get_ref()) {
            Ok(preset) => dialect = preset,
            Err(error) => {
                file.find(codes::VALUE, error.to_string(), name, "docs/reference/copybooks.md lists dialects")
            }
        }
    }
    for (name, value) in &wire.dialect_settings {
        if let Err(error) = dialect.set(name.get_ref(), value.get_ref()) {
            file.find(codes::VALUE, error.to_string(), value, "docs/reference/copybooks.md lists the settings");
        }
    }
    dialect
}

fn charset(file: &mut UserFile, name: &Spanned<String>) -> Option<Charset> {
    let found = CodePage::by_name(name.get_ref()).ok().map(Charset::SingleByte);
    if found.is_none() {
        let message = format!("`{}` is not a single-byte code page", name.get_ref());
        let hint = "`ascii` for a program compiled by GnuCOBOL, `cp037` or another EBCDIC page for records of z/OS";
        file.find(codes::VALUE, message, name, hint);
    }
    found
}

/// Limits each counter to the size of its table: a request must not make a program read beyond the table. With `enforces_minimum`, a counter is
/// also at least the minimum of its table, because a request may set the counter without the list. Other explicit types remain.
fn bound_counters(layout: &Layout, enforces_minimum: bool, types: &mut Vec<(FieldIndex, Typed)>) {
    let mut bounds: Vec<(FieldIndex, i64, i64)> = Vec::new();
    for occurs in layout.fields.iter().filter_map(|field| field.occurs) {
        let Some(counter) = occurs.depending_on else { continue };
        let (least, most) = (if enforces_minimum { i64::from(occurs.min) } else { 0 }, i64::from(occurs.max));
        match bounds.iter_mut().find(|(known, ..)| *known == counter) {
            Some((_, low, high)) => (*low, *high) = (least.max(*low), most.min(*high)),
            None => bounds.push((counter, least, most)),
        }
    }
    for (counter, least, most) in bounds {
        match types.iter_mut().find(|(known, _)| *known == counter) {
            None => {
                let range = Range { minimum: Some(least), maximum: Some(most) };
                types.push((counter, Typed::Range(range)));
            }
            Some((_, Typed::Range(range))) => {
                range.minimum = range.minimum.max(Some(least));
                range.maximum = Some(range.maximum.map_or(most, |maximum| maximum.min(most)));
            }
            Some(_) => {}
        }
    }
}

/// Applies `counters`: a counter of a plain OCCURS makes it a table whose length varies but whose storage does not.
fn counters(file: &mut UserFile, wire: &wire::File, layout: &mut Layout) {
    for counter in &wire.counters {
        let counter = counter.get_ref();
        let (Some(list), Some(field)) =
            (one_field(file, layout, &counter.list), one_field(file, layout, &counter.field))
        else {
            continue;
        };
        let real = layout.fields.iter().any(|field| field.occurs.is_some_and(|o| o.depending_on.is_some()));
        let numeric = matches!(
            &layout.field(field).kind,
            FieldKind::Item(
                Encoding::Zoned { .. }
                    | Encoding::Packed { .. }
                    | Encoding::Binary { .. }
                    | Encoding::PackedUnsigned { .. }
            )
        );
        let (Some(occurs), true) = (layout.field(list).occurs, numeric) else {
            file.find(
                codes::COUNTER,
                "a counter needs a table and a number",
                &counter.list,
                "name a field with OCCURS, and a numeric field that counts it",
            );
            continue;
        };
        if field >= list || real && layout.dialect.odo_slide {
            let hint = "the counter must precede its table, and the record must not have its own OCCURS DEPENDING ON";
            file.find(codes::COUNTER, "this table cannot have a counter", &counter.list, hint);
            continue;
        }
        layout.dialect.odo_slide = false;
        layout.fields[list.index()].occurs =
            Some(quayline_cobol::layout::Occurs { depending_on: Some(field), min: 0, ..occurs });
    }
}

fn interface(
    file: &mut UserFile,
    table: Option<&InterfaceTable>,
    other: Option<&Spanned<String>>,
    root: &Path,
) -> Interface {
    let read = match (table, other) {
        (Some(_), Some(at)) => {
            file.find(codes::TWICE, "the interface is here and in another file", at, "keep one of them");
            return Interface::default();
        }
        (Some(table), None) => InterfaceFile::of_table(&file.text, table),
        (None, Some(path)) => InterfaceFile::read(&root.join(path.get_ref())),
        // Without a word about it, the names are those of the original product.
        (None, None) => {
            let mut file = InterfaceFile::default();
            file.interface.key_style = KeyStyle::Underscore;
            Ok(file)
        }
    };
    match read {
        Ok(read) => {
            let mut interface = read.interface;
            // The original shows the original only.
            if interface.redefines == RedefinesPolicy::All && interface.choices.is_empty() {
                interface.redefines = RedefinesPolicy::Original;
            }
            interface
        }
        Err(findings) => {
            file.findings.extend(findings.0);
            Interface::default()
        }
    }
}

pub(super) fn one_field(file: &mut UserFile, layout: &Layout, name: &Spanned<String>) -> Option<FieldIndex> {
    match named_field(layout, name.get_ref()) {
        Ok(field) => Some(field),
        Err(message) => {
            file.find(codes::NO_SUCH, message, name, FIELD_HINT);
            None
        }
    }
}

/// Remedy for a field that is not in the copybook.
pub(super) const FIELD_HINT: &str = "write the field's COBOL name, qualified by its groups where needed: `GROUP.FIELD`";

/// Returns the only field with this name.
pub(crate) fn named_field(layout: &Layout, name: &str) -> Result<FieldIndex, String> {
    match layout.named(name)[..] {
        [field] => Ok(field),
        [] => Err(format!("the copybook has no field `{name}`")),
        _ => Err(format!("`{name}` means several fields")),
    }
}

fn types(file: &mut UserFile, wire: &wire::File, layout: &Layout) -> Vec<(FieldIndex, Typed)> {
    let mut types: Vec<(FieldIndex, Typed)> = Vec::new();
    for hint in &wire.types {
        let hint = hint.get_ref();
        let Some(index) = one_field(file, layout, &hint.field) else { continue };
        let field = layout.field(index);
        if matches!(field.kind, FieldKind::Group) || types.iter().any(|(known, _)| *known == index) {
            file.find(
                codes::TYPE,
                "a type belongs to one elementary field, once",
                &hint.field,
                "name an elementary field",
            );
            continue;
        }
        let typed = match hint.is.get_ref().as_str() {
            "boolean" => boolean(field, hint),
            "date" => match &hint.pattern {
                Some(pattern) => {
                    let is_text =
                        matches!(field.kind, FieldKind::Item(Encoding::Text { .. } | Encoding::TextEdited { .. }));
                    DatePattern::parse(pattern.get_ref()).map(|pattern| Typed::Date(pattern.of_number(!is_text)))
                }
                None => Err("a date needs a pattern, such as `pattern = \"yyyyMMdd\"`".to_owned()),
            },
            "codes" => code_names::codes(field, hint),
            "range" => range(field, hint),
            "digits" => digits(field),
            other => Err(format!("`{other}` is not one of boolean, date, codes, range, digits")),
        };
        match typed {
            Ok(typed) => types.push((index, typed)),
            Err(message) => file.find(codes::TYPE, message, &hint.is, "docs/reference/gateway.md, Types"),
        }
    }
    types
}

/// Reports names that requests cannot use, because they belong to several codes.
fn ambiguous_codes(
    file: &mut UserFile,
    wire: &wire::File,
    layout: &Layout,
    types: &[(FieldIndex, Typed)],
    side: &RequestSide,
) {
    let hints =
        wire.types.iter().filter_map(|hint| Some((named_field(layout, hint.get_ref().field.get_ref()).ok()?, hint)));
    for (index, hint, message) in code_names::ambiguous(types, hints) {
        if side.plan.node_of(index).is_some() {
            let field = &hint.get_ref().field;
            let remedy = "choose the code with `write = { name = \"code\" }`, give each code its own name with `names`, or exclude the field from [request]";
            file.find(codes::TYPE, message, field, remedy);
        }
    }
}

fn boolean(field: &Field, hint: &wire::TypeHint) -> Result<Typed, String> {
    if let (Some(yes), Some(no)) = (&hint.yes, &hint.no) {
        return different(as_shown(field, yes.get_ref()), as_shown(field, no.get_ref()));
    }
    match single_values(field)[..] {
        [(_, ref yes), (_, ref no)] if hint.yes.is_none() && hint.no.is_none() => {
            different(as_shown(field, yes), as_shown(field, no))
        }
        _ => Err("a boolean needs `true` and `false`, or exactly two level-88 names with one value each".to_owned()),
    }
}

/// Returns the truth value of two texts as the record shows them.
fn different(yes: String, no: String) -> Result<Typed, String> {
    if yes == no {
        return Err(format!("`true` and `false` are the same value of the field, `{yes}`"));
    }
    Ok(Typed::Boolean { yes, no })
}

/// Treats an unsigned whole number as text of all its digits.
fn digits(field: &Field) -> Result<Typed, String> {
    match &field.kind {
        FieldKind::Item(
            Encoding::Zoned { digits, scale: 0, sign: ZonedSign::Unsigned, .. }
            | Encoding::Packed { digits, scale: 0, signed: false }
            | Encoding::PackedUnsigned { digits, scale: 0 }
            | Encoding::Binary { digits: digits @ 1.., scale: 0, signed: false, .. },
        ) => Ok(Typed::Digits(usize::from(*digits))),
        _ => Err("digits belong to a number without sign and decimal places".to_owned()),
    }
}

fn range(field: &Field, hint: &wire::TypeHint) -> Result<Typed, String> {
    let FieldKind::Item(
        Encoding::Zoned { .. } | Encoding::Packed { .. } | Encoding::PackedUnsigned { .. } | Encoding::Binary { .. },
    ) = field.kind
    else {
        return Err("a range belongs to a field of digits".to_owned());
    };
    match (hint.minimum, hint.maximum) {
        (None, None) => Err("a range needs `minimum`, `maximum` or both".to_owned()),
        (Some(low), Some(high)) if low > high => Err(format!("no number is at least {low} and at most {high}")),
        (minimum, maximum) => Ok(Typed::Range(Range { minimum, maximum })),
    }
}

/// Returns the level-88 names of a field that have one value.
pub(crate) fn single_values(field: &Field) -> Vec<(String, String)> {
    let text = |literal: &Literal| match literal {
        Literal::Text(text) | Literal::Number(text) => Some(text.trim_end().to_owned()),
        _ => None,
    };
    let single = |values: &[(Literal, Option<Literal>)]| match values {
        [(value, None)] => text(value),
        _ => None,
    };
    field.conditions.iter().filter_map(|c| Some((c.name.clone(), single(&c.values)?))).collect()
}

/// Context of a provider's specification, in addition to its table.
pub(super) struct Known<'a> {
    pub(super) layout: &'a Layout,
    pub(super) policies: &'a Policies,
    pub(super) charset: Charset,
    pub(super) length: usize,
    pub(super) root: &'a Path,
    /// Bytes of each parameter of a program with several.
    pub(super) parameters: &'a [usize],
}

fn policies(options: &wire::Options) -> Policies {
    let null_if = |yes: bool| if yes { BadValue::Null } else { BadValue::Error };
    Policies {
        absent: match options.initialize {
            wire::Initialize::LowValues => Absent::LowValues,
            wire::Initialize::Initial => Absent::Initialize,
            wire::Initialize::Value => Absent::Value,
        },
        trim: match options.trim {
            wire::Trim::Trailing => Trim::Padding,
            wire::Trim::Both => Trim::Both,
            wire::Trim::None => Trim::Keep,
        },
        blank: null_if(matches!(options.blank_numbers, wire::Blank::Null)),
        low_values: null_if(options.omit_low_values),
        // A provider's record has the service's length, which may be more than the copybook's.
        long: quayline_cobol::LengthMismatch::Accept,
        ..Policies::default()
    }
}

/// Compiles the request side. Only the front of the record that a client can set is encoded for each request; the rest is constant.
pub(crate) fn request_side(
    layout: &Layout,
    interface: &Interface,
    policies: &Policies,
    charset: Charset,
    types: &[(FieldIndex, Typed)],
    length: usize,
) -> Result<RequestSide, Findings> {
    let whole = RecordPlan::new(layout, interface, policies, charset)?;
    let mut tail = whole.initial().to_vec();
    tail.resize(length, 0);
    let reach = whole.shape().iter().filter(|(_, node)| node.kind != NodeKind::Group || node.is_list());
    let reach = reach.filter_map(|(id, _)| whole.field_of(id)).map(|index| {
        let field = layout.field(index);
        field.offset + field.size.max(field.occurs.map_or(0, |occurs| occurs.max as usize * field.stride))
    });
    let reach = reach.max().unwrap_or(0);
    // Fields after a sliding table have no fixed place, so those that requests hide are encoded too.
    let plan = match front(layout, reach).filter(|front| !slides(front)) {
        Some(front) => {
            let kept = |name: &str| !front.named(name).is_empty();
            let mut interface = interface.clone();
            interface.fields.retain(|rule| kept(&rule.field));
            interface.choices.retain(|choice| kept(&choice.storage));
            let plan = RecordPlan::new(&front, &interface, policies, charset)?;
            // Groups after the front that show nothing would be members of the whole, so either the shapes are equal or the whole
            // is used.
            if plan.shape() == whole.shape() { plan } else { whole }
        }
        None => whole,
    };
    tail.drain(..plan.length_max().min(tail.len()));
    if slides(plan.layout()) {
        // After a sliding table nothing has a fixed place: the unused part of the record stays 0x00.
        tail.clear();
    }
    let (shape, typed) = typed_shape(&plan, types);
    let mut defaults: HashMap<FieldIndex, &str> = HashMap::new();
    for rule in &interface.fields {
        let Some(default) = &rule.default else { continue };
        if let [field] = plan.layout().named(&rule.field)[..] {
            defaults.entry(field).or_insert(default);
        }
    }
    let default = |node: NodeId| Some((*defaults.get(&plan.field_of(node)?)?).to_owned());
    let defaults = shape.iter().map(|(node, _)| default(node)).collect();
    let tail_used = tail.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    Ok(RequestSide { plan, shape, typed, defaults, tail: tail.into(), tail_used })
}

/// Returns the layout up to the first top-level field at or after `reach`; `None` if that is the whole layout.
fn front(layout: &Layout, reach: usize) -> Option<Layout> {
    let cut = layout
        .children(FieldIndex::RECORD)
        .filter(|child| layout.field(*child).redefines.is_none())
        .find(|child| layout.field(*child).offset >= reach && child.0 > 1)?;
    let length = layout.field(cut).offset;
    let mut front = layout.clone();
    front.fields.truncate(cut.index());
    let depends = |field: &Field| field.occurs.is_some_and(|o| o.depending_on.is_some_and(|counter| counter >= cut));
    if front.fields.iter().any(depends) || front.fields.is_empty() {
        return None;
    }
    front.fields[0].subtree_end = cut;
    front.fields[0].size = length;
    front.fields[0].stride = length;
    front.renames.clear();
    front.length_max = length;
    front.length_min = front.length_min.min(length);
    Some(front)
}

/// Adds the name of the file to findings about the whole file.
pub(crate) fn in_file(mut findings: Findings, name: &str) -> Vec<Finding> {
    for finding in &mut findings.0 {
        if finding.place.file.is_none() {
            finding.place.file = Some(name.into());
        }
    }
    findings.0
}

/// Returns the layout of a copybook's only record, or of the named one.
pub(crate) fn layout_at(
    path: &Path,
    folders: &[PathBuf],
    record: Option<&str>,
    dialect: &Dialect,
    limits: &quayline_core::Limits,
) -> Result<Layout, Findings> {
    let records = records_at(path, folders, dialect, limits)?;
    Layout::build(record_of(path, &records, record, "record")?, dialect)
}

/// Returns the combined layout of several records of a copybook.
pub(crate) fn layout_of_records(
    path: &Path,
    folders: &[PathBuf],
    names: &[String],
    dialect: &Dialect,
    limits: &quayline_core::Limits,
) -> Result<Layout, Findings> {
    let records = records_at(path, folders, dialect, limits)?;
    let layouts = names.iter().map(|name| Layout::build(record_of(path, &records, Some(name), "parameter")?, dialect));
    let layouts: Vec<Layout> = layouts.collect::<Result<_, Findings>>()?;
    joined("PARAMETERS", layouts).ok_or_else(|| {
        at_path(path, codes::INCOMPLETE, "no parameter is named".to_owned(), "name the records".to_owned())
    })
}

fn at_path(path: &Path, code: quayline_core::Code, message: String, hint: String) -> Findings {
    let place = quayline_core::Place { file: Some(path.display().to_string().into()), ..Default::default() };
    Findings::from(Finding::error(code, quayline_core::Fault::Config, message).at(place).hint(hint))
}

fn records_at(
    path: &Path,
    folders: &[PathBuf],
    dialect: &Dialect,
    limits: &quayline_core::Limits,
) -> Result<Vec<RecordDescription>, Findings> {
    let text = read_source(path).map_err(|error| {
        let message = format!("the copybook cannot be read: {}", error.kind());
        at_path(path, codes::UNREADABLE, message, "check its path".to_owned())
    })?;
    let beside = path.parent().map(Path::to_owned);
    let library = CopyFolders::new(beside.into_iter().chain(folders.iter().cloned()).collect());
    let picture = dialect.picture_settings();
    let copy_remedy = &format!("put the file in the folder of {}", path.display());
    let options = ParseOptions { library: &library, copy_remedy, limits, picture: &picture, ..ParseOptions::default() };
    Ok(quayline_cobol::parse(&SourceText::new(path.display().to_string(), text), &options)?.records)
}

/// Returns the only record, or the one that the option `--{option}` names.
fn record_of<'r>(
    path: &Path,
    records: &'r [RecordDescription],
    record: Option<&str>,
    option: &str,
) -> Result<&'r RecordDescription, Findings> {
    let names: Vec<&str> = records.iter().map(|record| record.name()).collect();
    let found = match (record, records) {
        (None, [one]) => Some(one),
        (Some(name), records) => records.iter().find(|record| record.name().eq_ignore_ascii_case(name)),
        (None, _) => None,
    };
    found.ok_or_else(|| {
        let (code, message) = match record {
            Some(name) => (codes::NO_SUCH, format!("the copybook has no record `{name}`")),
            None => (codes::INCOMPLETE, format!("the copybook has {} records", names.len())),
        };
        at_path(path, code, message, format!("write `--{option}` and one of {}", names.join(", ")))
    })
}
