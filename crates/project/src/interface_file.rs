//! Reading an interface file.

use std::collections::BTreeMap;
use std::sync::Arc;

use quayline_cobol::{FieldRule, FieldValues, Interface, OriginMembers, RedefinesChoice};
use quayline_core::{Code, DatePattern, Fault, Finding, Findings, Place};
use quayline_frame::Edges;
use serde::Deserialize;
use toml::Spanned;

use crate::codes;
use crate::record_rules::{ChooseBy, Otherwise, RecordRules, RecordType, TypeUse};
use crate::source_text::UserText;
use crate::wire;
use crate::word::Word;

/// An interface file: the visible fields of a record, their names and defaults, and the rules that distinguish record types.
///
/// ```toml
/// wrapper = "CAR100CP"            # an object around the record's fields
/// key-style = "underscore"        # cobol (default), underscore, snake, kebab, camel, pascal
/// fillers = "drop"                # or keep
/// redefines = "original"          # or all (default)
/// exclude = ["REQ-TXN-REQUEST-BLOCK", "CARMODEL-DEALERS"]
/// include = ["REQ-TXN-REQUEST-BLOCK.REQ-TXN-ID"]     # more specific, so it takes precedence
///
/// [rename]
/// "CARMODEL-1-REF" = "Ref"
///
/// [default]                       # when an input document has no such member
/// "REQ-CAR-MODEL" = "ASTRAL"
/// "REQ-MAX-NBR-OF-CARS" = 100
///
/// [[field]]                       # the same settings, one field at a time
/// name = "CUSTOMER.BALANCE"
/// include = true
/// rename = "balance"
/// default = 0
/// values = "names"                # level-88 names in place of the values that they name
/// date = "yyyyMMdd"               # the record's form of a date, which documents show as 2026-01-31
/// null = "zeros"                  # encoding of null: error (default), spaces, zeros, low-values or value
///
/// [[choose]]                      # selects the view of shared storage that a record has
/// storage = "ADDRESS"
/// by = "ADDRESS-KIND"
/// when = { "P" = "POST-BOX", "S" = "STREET-ADDRESS" }
/// otherwise = "ADDRESS"
///
/// record-number = "RECNO"         # a member with the record's number; also parent-number, source-file
/// skip-bytes-first = 128          # bytes before the first record; also skip-bytes-last
///
/// [records]                       # files with several record types
/// by = "REC-TYPE"                 # or { offset = 0, length = 2 }
/// skip-first = 1                  # a header of any content
/// otherwise = "reject"            # or "skip", or the name of a record
/// [[records.type]]
/// record = "CUSTOMER-RECORD"
/// value = "C"
/// [[records.type]]
/// record = "ORDER-RECORD"
/// values = ["O", "P"]
/// parent = "CUSTOMER-RECORD"      # a list in the customer before it
/// [[records.type]]
/// skip = true
/// value = "T"
/// ```
#[derive(Clone, Debug)]
pub struct InterfaceFile {
    /// Selection, names, defaults.
    pub interface: Interface,
    /// Record types, for a file with several.
    pub records: Option<RecordRules>,
    /// Bytes at the ends of a file that are not records.
    pub skip_bytes: SkipBytes,
    /// Places of the names in the file, for findings that need the copybook.
    places: BTreeMap<String, Place>,
}

/// Bytes at the ends of a file that are not records and that reading passes over.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SkipBytes {
    /// Bytes before the first record, at most [`SkipBytes::FIRST_MAX`].
    pub first: u64,
    /// Bytes after the last record, at most [`SkipBytes::LAST_MAX`].
    pub last: usize,
}

impl SkipBytes {
    /// Maximum number of bytes before the first record. A file of rejects has as many fillers.
    pub const FIRST_MAX: u64 = 16 << 20;
    /// Maximum number of bytes after the last record. A reader holds them back until it reaches the end of the file.
    pub const LAST_MAX: usize = 1 << 16;
}

/// The keys of an interface file as a table of another file: the request or the response of a service.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct InterfaceTable(wire::File);

impl core::fmt::Debug for InterfaceTable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("InterfaceTable").finish_non_exhaustive()
    }
}

impl Default for InterfaceFile {
    /// Returns the interface that applies without a file: all fields except fillers, one record type.
    fn default() -> Self {
        InterfaceFile {
            interface: Interface::default(),
            records: None,
            skip_bytes: SkipBytes::default(),
            places: BTreeMap::new(),
        }
    }
}

impl InterfaceFile {
    /// Reads a file's text. `name` is the file as the user named it.
    ///
    /// # Errors
    /// All findings at once, each with its place; for a syntax error only that one.
    pub fn parse(name: &str, text: &str) -> Result<InterfaceFile, Findings> {
        let source = UserText { name: name.into(), text: Arc::from(text) };
        let file: wire::File = toml::from_str(text).map_err(|error| syntax(&source, &error))?;
        InterfaceFile::of_file(source, &file)
    }

    /// Reads an interface that is a table of another file, whose text `source` is.
    ///
    /// # Errors
    /// All findings at once, each with its place.
    pub fn of_table(source: &UserText, table: &InterfaceTable) -> Result<InterfaceFile, Findings> {
        let file = &table.0;
        let spans = [
            ("skip-bytes-first", file.skip_bytes_first.as_ref().map(Spanned::span)),
            ("skip-bytes-last", file.skip_bytes_last.as_ref().map(Spanned::span)),
            ("record-number", file.record_number.as_ref().map(Spanned::span)),
            ("parent-number", file.parent_number.as_ref().map(Spanned::span)),
            ("source-file", file.source_file.as_ref().map(Spanned::span)),
        ];
        let values = file.field.iter().find_map(|field| Some(field.get_ref().values.as_ref()?.span()));
        let spans = spans.into_iter().chain([("values", values)]);
        if let Some((key, span)) = spans.into_iter().find_map(|(key, span)| Some((key, span?))) {
            let message = format!("`{key}` is for the records of files, and a service has none");
            let finding = Finding::error(codes::NOT_OF_A_FILE, Fault::Config, message).at(source.place(&span));
            return Err(finding.hint("leave the key out").into());
        }
        if let Some(date) = file.field.iter().find_map(|field| field.get_ref().date.as_ref()) {
            let message = "`date` is for the records of files, and a service has types";
            let finding = Finding::error(codes::NOT_OF_A_FILE, Fault::Config, message).at(source.place(&date.span()));
            return Err(finding.hint("add a `[[type]]` with `is = \"date\"` and this `pattern`").into());
        }
        InterfaceFile::of_file(source.clone(), file)
    }

    fn of_file(source: UserText, file: &wire::File) -> Result<InterfaceFile, Findings> {
        let mut reader = Reader { source, findings: Vec::new(), places: BTreeMap::new(), rules: Vec::new() };
        let interface = reader.interface(file);
        let records = file.records.as_ref().map(|records| reader.records(records));
        let skip_bytes = reader.skip_bytes(file);
        match reader.findings {
            findings if findings.is_empty() => {
                Ok(InterfaceFile { interface, records, skip_bytes, places: reader.places })
            }
            findings => Err(Findings(findings)),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`InterfaceFile::parse`]; also a file that cannot be read or is not UTF-8.
    pub fn read(path: &std::path::Path) -> Result<InterfaceFile, Findings> {
        let name = path.display().to_string();
        let unreadable = |what: String| {
            Finding::error(codes::UNREADABLE, Fault::Environment, what)
                .at(Place { file: Some(name.as_str().into()), ..Place::default() })
                .hint("check the path and that it is a text file in UTF-8")
        };
        let bytes = std::fs::read(path)
            .map_err(|error| unreadable(format!("cannot read the interface file: {}", error.kind())))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            unreadable(format!("the interface file is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
        })?;
        InterfaceFile::parse(&name, &text)
    }

    /// Returns the place in the file of a field, record or view that it names.
    #[must_use]
    pub fn place_of(&self, named: &str) -> Option<&Place> {
        self.places.get(named)
    }

    /// Returns the place of a path that ends with a field's name, if only one does.
    pub(crate) fn place_of_path(&self, field: &str) -> Option<&Place> {
        let is_of = |path: &str| path.rsplit('.').next() == Some(field);
        let mut paths = self.places.iter().filter(|(path, _)| is_of(path)).map(|(_, place)| place);
        paths.next().filter(|_| paths.next().is_none())
    }
}

struct Reader {
    source: UserText,
    findings: Vec<Finding>,
    places: BTreeMap<String, Place>,
    rules: Vec<FieldRule>,
}

impl Reader {
    fn interface(&mut self, file: &wire::File) -> Interface {
        self.field_rules(file);
        Interface {
            wrapper: file.wrapper.as_ref().map(|text| self.key(text)),
            key_style: file.key_style.map(|word| word.0).unwrap_or_default(),
            prefixes: file.prefix.iter().map(|(from, to)| (self.prefix(from), to.clone())).collect(),
            fillers: file.fillers.map(|word| word.0).unwrap_or_default(),
            redefines: file.redefines.map(|word| word.0).unwrap_or_default(),
            fields: core::mem::take(&mut self.rules),
            choices: file.choose.iter().map(|choose| self.choice(choose)).collect(),
            views: Vec::new(),
            origin: OriginMembers {
                number: file.record_number.as_ref().map(|text| self.key(text)),
                parent: file.parent_number.as_ref().map(|text| self.key(text)),
                file: file.source_file.as_ref().map(|text| self.key(text)),
            },
        }
    }

    fn skip_bytes(&mut self, file: &wire::File) -> SkipBytes {
        let first = self.at_most("skip-bytes-first", file.skip_bytes_first.as_ref(), SkipBytes::FIRST_MAX);
        let last = self.at_most("skip-bytes-last", file.skip_bytes_last.as_ref(), SkipBytes::LAST_MAX as u64);
        SkipBytes { first, last: usize::try_from(last).unwrap_or(0) }
    }

    /// Returns the number, or 0 with a finding if it is above the limit.
    fn at_most(&mut self, key: &str, number: Option<&Spanned<u64>>, most: u64) -> u64 {
        let Some(number) = number else { return 0 };
        let found = *number.get_ref();
        if found <= most {
            return found;
        }
        let message = format!("`{key}` is {found}, more than {most}");
        let hint = if key.ends_with("first") {
            "cut the beginning of the file off before you convert it"
        } else {
            "cut the end of the file off before you convert it"
        };
        self.find(codes::TOO_MUCH_TO_SKIP, message, number, hint);
        0
    }

    fn field_rules(&mut self, file: &wire::File) {
        for (names, include) in [(&file.include, true), (&file.exclude, false)] {
            for name in names {
                self.rule(name, |rule| set(&mut rule.include, include, "include"));
            }
        }
        for (name, key) in &file.rename {
            let key = self.key(key);
            self.rule(name, |rule| set(&mut rule.rename, key, "rename"));
        }
        for (name, value) in &file.default {
            let text = self.plain(value);
            self.rule(name, |rule| set(&mut rule.default, text, "default"));
        }
        for field in &file.field {
            let field = field.get_ref();
            if let Some(include) = field.include {
                self.rule(&field.name, |rule| set(&mut rule.include, include, "include"));
            }
            if let Some(key) = &field.rename {
                let key = self.key(key);
                self.rule(&field.name, |rule| set(&mut rule.rename, key, "rename"));
            }
            if let Some(value) = &field.default {
                let text = self.plain(value);
                self.rule(&field.name, |rule| set(&mut rule.default, text, "default"));
            }
            if let Some(Word(null)) = field.null {
                self.rule(&field.name, |rule| set(&mut rule.null, null, "null"));
            }
            if let Some(values) = &field.values {
                let Word(values) = *values.get_ref();
                self.rule(&field.name, |rule| set(&mut rule.values, values, "values"));
            }
            if let Some(date) = &field.date {
                match DatePattern::parse(date.get_ref()) {
                    Ok(date) => self.rule(&field.name, |rule| set(&mut rule.date, date, "date")),
                    Err(what) => {
                        let message = format!("`{}` is not a date: {what}", date.get_ref());
                        let hint =
                            "write the date as the record has it, with yyyy or yy, MM and dd, or DDD: `yyyyMMdd`";
                        self.find(codes::DATE_PATTERN, message, date, hint);
                    }
                }
            }
            if let (Some(date), Some(Word(FieldValues::Names))) =
                (&field.date, field.values.as_ref().map(Spanned::get_ref))
            {
                let message = "the field has both `date` and `values = \"names\"`".to_owned();
                self.find(codes::TWO_RULES, message, date, "keep one of them");
            }
        }
    }

    /// Changes the rule for a field; creates the rule if the field has none.
    fn rule(&mut self, name: &Spanned<String>, change: impl FnOnce(&mut FieldRule) -> Result<(), &'static str>) {
        let field = self.name(name);
        let at = self.rules.iter().position(|rule| rule.field == field).unwrap_or_else(|| {
            self.rules.push(FieldRule { field: field.clone(), ..FieldRule::default() });
            self.rules.len() - 1
        });
        if let Err(what) = change(&mut self.rules[at]) {
            self.find(codes::TWO_RULES, format!("`{field}` has two rules for `{what}`"), name, "keep one of them");
        }
    }

    fn choice(&mut self, choose: &Spanned<wire::Choose>) -> RedefinesChoice {
        let whole = choose;
        let choose = choose.get_ref();
        let mut cases: Vec<(Vec<String>, String)> = Vec::new();
        for (value, view) in &choose.when {
            let view = self.name(view);
            let value = value.get_ref().trim().to_owned();
            match cases.iter_mut().find(|(_, known)| *known == view) {
                Some((values, _)) => values.push(value),
                None => cases.push((vec![value], view)),
            }
        }
        if cases.is_empty() {
            self.find(
                codes::INCOMPLETE,
                "`[[choose]]` has no cases".to_owned(),
                whole,
                "name values and views: when = { \"A\" = \"VIEW-A\", \"B\" = \"VIEW-B\" }",
            );
        }
        RedefinesChoice {
            storage: self.name(&choose.storage),
            by: self.name(&choose.by),
            cases,
            otherwise: choose.otherwise.as_ref().map(|view| self.name(view)),
        }
    }

    fn records(&mut self, records: &Spanned<wire::Records>) -> RecordRules {
        let place = self.source.place(&records.span());
        let wire = records.get_ref();
        let by = wire.by.as_ref().map(|by| self.by(by));
        let is_only = is_only_type(wire);
        let mut types: Vec<RecordType> = Vec::new();
        for of_type in &wire.types {
            let found = self.record_type(of_type, &types, by.is_some() || is_only);
            types.push(found);
        }
        if !types.iter().any(|t| matches!(t.uses, TypeUse::Record { .. })) {
            self.find(
                codes::INCOMPLETE,
                "`[records]` names no record".to_owned(),
                records,
                "add a [[records.type]] with `record` and `value` for each record type",
            );
        }
        let otherwise = match wire.otherwise.as_ref().map(|text| (text, text.get_ref().as_str())) {
            None if is_only => Otherwise::Type(0),
            None | Some((_, "reject")) => Otherwise::Reject,
            Some((_, "skip")) => Otherwise::Skip,
            Some((text, name)) => match type_named(&types, name) {
                Some(index) => Otherwise::Type(index),
                None => {
                    self.find(
                        codes::NO_SUCH_TYPE,
                        format!("no [[records.type]] is named `{name}`"),
                        text,
                        "write \"reject\", \"skip\" or the name of a record type of this file",
                    );
                    Otherwise::Reject
                }
            },
        };
        let skip_first = self.at_most("skip-first", wire.skip_first.as_ref(), Edges::SKIP_FIRST_MAX.into());
        let skip_last = self.at_most("skip-last", wire.skip_last.as_ref(), Edges::SKIP_LAST_MAX as u64);
        let number = |number| u32::try_from(number).unwrap_or(0);
        RecordRules { by, skip_first: number(skip_first), skip_last: number(skip_last), otherwise, types, place }
    }

    fn record_type(&mut self, of_type: &Spanned<wire::Type>, before: &[RecordType], has_by: bool) -> RecordType {
        let place = self.source.place(&of_type.span());
        let wire = of_type.get_ref();
        let values: Vec<String> =
            wire.value.iter().chain(&wire.values).map(|v| self.plain(v).trim().to_owned()).collect();
        if wire.by.is_none() && !has_by {
            let hint = "add `by = \"FIELD\"` to [records] or to the type";
            self.find(
                codes::INCOMPLETE,
                "nothing distinguishes records of this type from others".to_owned(),
                of_type,
                hint,
            );
        }
        for value in wire.value.iter().chain(&wire.values) {
            let text = self.plain(value);
            let text = text.trim();
            let same_by = |other: &&RecordType| other.by.is_none() && wire.by.is_none();
            if before.iter().filter(same_by).any(|other| other.values.iter().any(|v| v == text)) {
                self.find(
                    codes::VALUE_TWICE,
                    "this value already identifies an earlier type".to_owned(),
                    value,
                    "give each type values of its own",
                );
            }
        }
        let uses = match (&wire.record, wire.skip) {
            (None, true) => TypeUse::Skip,
            (Some(record), false) => TypeUse::Record {
                record: self.name(record),
                view: wire.view.as_ref().map(|view| self.name(view)),
                rename: wire.rename.as_ref().map(|key| self.key(key)),
                parent: wire.parent.as_ref().and_then(|parent| {
                    let index = type_named(before, parent.get_ref());
                    if index.is_none() {
                        self.find(
                            codes::NO_SUCH_TYPE,
                            format!("no record type before this one is named `{}`", parent.get_ref()),
                            parent,
                            "name a record type above this one; parents come first",
                        );
                    }
                    index
                }),
            },
            (None, false) | (Some(_), true) => {
                let hint = "a type is either a record, `record = \"NAME\"`, or left out, `skip = true`";
                self.find(codes::INCOMPLETE, "a record type needs `record` or `skip = true`".to_owned(), of_type, hint);
                TypeUse::Skip
            }
        };
        RecordType { uses, by: wire.by.as_ref().map(|by| self.by(by)), values, place }
    }

    fn by(&mut self, by: &Spanned<wire::By>) -> ChooseBy {
        match by.get_ref() {
            wire::By::Field(name) => {
                let place = self.source.place(&by.span());
                let name = name.trim().to_uppercase();
                self.places.entry(name.clone()).or_insert(place);
                ChooseBy::Field(name)
            }
            wire::By::Bytes(range) => {
                if range.length == 0 {
                    self.find(codes::EMPTY, "`length` is 0".to_owned(), by, "name at least one byte");
                }
                ChooseBy::Bytes { offset: range.offset as usize, length: range.length as usize }
            }
        }
    }

    /// A COBOL name or path: upper case, its place kept.
    fn name(&mut self, text: &Spanned<String>) -> String {
        let name = text.get_ref().trim().to_uppercase();
        if name.is_empty() || name.split('.').any(str::is_empty) {
            self.find(
                codes::EMPTY,
                "a field's name is empty".to_owned(),
                text,
                "write a COBOL name or names joined by points",
            );
        }
        let place = self.source.place(&text.span());
        self.places.entry(name.clone()).or_insert(place);
        name
    }

    /// The beginning of COBOL names: upper case, its place kept.
    fn prefix(&mut self, text: &Spanned<String>) -> String {
        let prefix = self.key(text).to_uppercase();
        let place = self.source.place(&text.span());
        self.places.entry(prefix.clone()).or_insert(place);
        prefix
    }

    /// A key of the other side.
    fn key(&mut self, text: &Spanned<String>) -> String {
        if text.get_ref().is_empty() {
            self.find(codes::EMPTY, "a key is empty".to_owned(), text, "write at least one character");
        }
        text.get_ref().clone()
    }

    fn plain(&self, value: &Spanned<wire::Plain>) -> String {
        match value.get_ref() {
            wire::Plain::Text(text) => text.clone(),
            wire::Plain::Bool(value) => value.to_string(),
            wire::Plain::Int(_) | wire::Plain::Float(_) => {
                let text = self.source.text.get(value.span()).unwrap_or_default().replace('_', "");
                text.trim().strip_prefix('+').unwrap_or(text.trim()).to_owned()
            }
        }
    }

    fn find<T>(&mut self, code: Code, message: String, at: &Spanned<T>, hint: &str) {
        let place = self.source.place(&at.span());
        self.findings.push(Finding::error(code, Fault::Config, message).at(place).hint(hint));
    }
}

/// Returns true if all records between headers and trailers are of one type, so that nothing must distinguish it from others.
fn is_only_type(records: &wire::Records) -> bool {
    let [only] = &records.types[..] else { return false };
    let only = only.get_ref();
    let has_values = only.value.is_some() || !only.values.is_empty();
    records.by.is_none() && records.otherwise.is_none() && only.by.is_none() && !has_values && !only.skip
}

fn type_named(types: &[RecordType], name: &str) -> Option<usize> {
    types.iter().position(|t| match &t.uses {
        TypeUse::Record { record, view, rename, .. } => [Some(record), view.as_ref(), rename.as_ref()]
            .into_iter()
            .flatten()
            .any(|known| known.eq_ignore_ascii_case(name.trim())),
        TypeUse::Skip => false,
    })
}

fn set<T>(slot: &mut Option<T>, value: T, what: &'static str) -> Result<(), &'static str> {
    match slot {
        Some(_) => Err(what),
        None => {
            *slot = Some(value);
            Ok(())
        }
    }
}

fn syntax(source: &UserText, error: &toml::de::Error) -> Finding {
    let message = quayline_core::plain_expectation(&error.message().trim().replace('\n', "; "));
    let finding = Finding::error(codes::SYNTAX, Fault::Config, message);
    match error.span() {
        Some(span) => finding.at(source.place(&span)),
        None => finding.at(Place { file: Some(Arc::clone(&source.name)), ..Place::default() }),
    }
    .hint("docs/reference/interface.md shows every key of an interface file")
}
