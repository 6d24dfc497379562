//! Tables, headers, and definitions that nothing uses.

use std::collections::{HashMap, HashSet};

use quayline_core::{Severity, near};

use super::types::{Kind, Ty};
use super::{Local, Lower, Reads, Resolver, TableDef};
use crate::codes;
use crate::map_spec::MapSpec;
use crate::own_function::{OwnFunction, OwnType};
use crate::plan::{Expr, Row, TablePlan};
use crate::syntax::ast::{self, Item, Quote, Reuse, Table};
use crate::value::small;

/// Rows of one table.
const ROWS_MAX: usize = 1_000_000;

impl Lower<'_> {
    pub(crate) fn define_table(&mut self, table: &Table, resolver: &dyn Resolver) {
        let name = table.name.clone();
        if let Some(first) = self.tables.get(&name.text) {
            let first = first.span;
            self.defined_twice(&name.text, name.span, first);
            return;
        }
        let mut rows: Vec<(String, Option<String>)> = Vec::new();
        if let Some(from) = &table.from {
            self.read_rows(from, table.codes, resolver, &mut rows);
        }
        let of_file = rows.len();
        let mut seen: HashMap<&str, &Quote> = HashMap::new();
        for (key, value) in &table.rows {
            if let Some(first) = seen.get(key.text.as_str()) {
                let line = self.line(first.span);
                self.error(codes::TWICE, key.span, format!("this code is already in line {line}")).hint =
                    Some("remove one of them".to_owned());
            }
            seen.entry(&key.text).or_insert(key);
            match (value, table.codes) {
                (Some(value), true) => {
                    self.error(codes::TABLE_ROW, value.span, "a code list has no second column").hint =
                        Some("write `table` instead of `codes`".to_owned());
                }
                (None, false) => {
                    self.error(codes::TABLE_ROW, key.span, "what does this code become?").hint =
                        Some("write \"a\" => \"b\"; a list without second column begins with `codes`".to_owned());
                }
                _ => {}
            }
            rows.push((key.text.clone(), value.as_ref().map(|value| value.text.clone())));
        }
        if rows.is_empty() && table.from.is_none() {
            self.error(codes::TABLE_ROW, name.span, format!("`{}` has no row", name.text)).hint =
                Some("write its codes, or read them: … from \"file.csv\"".to_owned());
        }
        let chars = |text: &str| small(text.chars().count());
        let key_max = rows.iter().map(|(key, _)| chars(key)).max().unwrap_or(0);
        let values = rows
            .iter()
            .filter_map(|(_, value)| value.as_deref())
            .chain(table.otherwise.as_ref().map(|quote| quote.text.as_str()));
        let value_max = values.map(chars).max().unwrap_or(0);
        let boxed = |text: &str| text.as_bytes().to_vec().into_boxed_slice();
        let mut forward: Vec<Row> =
            rows.iter().map(|(key, value)| (boxed(key), boxed(value.as_deref().unwrap_or_default()))).collect();
        let one_way: HashSet<usize> = table.one_way.iter().map(|at| at + of_file).collect();
        let both_ways = |at: usize| !one_way.contains(&at);
        let mut back: Vec<Row> = forward
            .iter()
            .enumerate()
            .filter(|(at, _)| both_ways(*at))
            .map(|(_, (key, value))| (value.clone(), key.clone()))
            .collect();
        // Stable, so that of several the first in the text is taken.
        forward.sort_by(|a, b| a.0.cmp(&b.0));
        forward.dedup_by(|b, a| a.0 == b.0);
        back.sort_by(|a, b| a.0.cmp(&b.0));
        let all = back.len();
        back.dedup_by(|b, a| a.0 == b.0);
        let one_to_one = back.len() == all;
        let index = u16::try_from(self.table_plans.len()).unwrap_or(u16::MAX);
        self.table_plans.push(TablePlan {
            name: name.text.clone(),
            forward,
            back,
            otherwise: table.otherwise.as_ref().map(|quote| boxed(&quote.text)),
        });
        let def = TableDef { span: name.span, index, codes: table.codes, key_max, value_max, one_to_one, used: false };
        self.tables.insert(name.text, def);
    }

    /// Reads the rows of a file. Each line has a code and a value, separated by a comma, semicolon or tab, whichever occurs first in the file; whole
    /// cells may be quoted as in CSV. Further columns of a code list are its descriptions.
    fn read_rows(
        &mut self,
        from: &Quote,
        codes_only: bool,
        resolver: &dyn Resolver,
        rows: &mut Vec<(String, Option<String>)>,
    ) {
        let text = match resolver.text(&from.text) {
            Ok(text) => text,
            Err(reason) => {
                self.error(codes::NO_FILE, from.span, format!("the table cannot be read: {reason}")).hint =
                    Some("name it relative to the folder of maps".to_owned());
                return;
            }
        };
        let separator = separator_of(&text);
        let mut lines: HashMap<String, u64> = HashMap::new();
        for (number, line) in (1u64..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let cells = match cells(line, separator) {
                Ok(cells) => cells,
                Err(wrong) => {
                    self.error(codes::TABLE_ROW, from.span, format!("line {number} of the file: {wrong}")).hint =
                        Some("put the whole cell between quotes; inside quotes, write a quote twice".to_owned());
                    return;
                }
            };
            let wanted = if codes_only { 1 } else { 2 };
            if cells.len() < wanted || !codes_only && cells.len() > wanted {
                let found = if cells.len() == 1 { "1 cell".to_owned() } else { format!("{} cells", cells.len()) };
                let message = format!("line {number} of the file has {found}, and {wanted} are needed");
                self.error(codes::TABLE_ROW, from.span, message).hint = Some(
                    "write code,value on each line; a value with the separator in it belongs between quotes".to_owned(),
                );
                return;
            }
            if let Some(first) = lines.insert(cells[0].clone(), number) {
                self.error(
                    codes::TWICE,
                    from.span,
                    format!("line {number} of the file has the code of line {first}"),
                )
                .hint = Some("remove one of them".to_owned());
                return;
            }
            if rows.len() >= ROWS_MAX {
                self.error(codes::TOO_LARGE, from.span, format!("the table has more than {ROWS_MAX} rows")).hint =
                    Some("use a lookup".to_owned());
                return;
            }
            let mut cells = cells.into_iter();
            let key = cells.next().unwrap_or_default();
            rows.push((key, if codes_only { None } else { cells.next() }));
        }
    }

    pub(crate) fn check_headers(&mut self, spec: &MapSpec) {
        let mut targets = 0;
        for item in spec.items() {
            let Item::Target { name, .. } = item else { continue };
            targets += 1;
            let Some(name) = name else { continue };
            if !self.outputs.iter().any(|output| output.name == name.text) {
                let known: Vec<&str> = self.outputs.iter().map(|output| output.name).collect();
                let list = known.join(", ");
                let near = near::offer(&near::nearest(&name.text, known.iter().copied()));
                self.error(
                    codes::UNKNOWN_OUTPUT,
                    name.span,
                    format!("no shape is given for the target `{}`", name.text),
                )
                .hint = Some(near.unwrap_or_else(|| format!("there is: {list}")));
            }
        }
        if targets > self.outputs.len() {
            let span = spec.items().iter().rev().find_map(|item| match item {
                Item::Target { name, reference } => {
                    name.as_ref().map(|name| name.span).or(reference.as_ref().map(|quote| quote.span))
                }
                _ => None,
            });
            let message = format!("the map names {targets} targets, and {} shapes are given", self.outputs.len());
            self.error(codes::UNKNOWN_OUTPUT, span.unwrap_or_default(), message).hint =
                Some("give each target its shape".to_owned());
        }
    }

    /// Checks functions that are never called with operands of unknown type. Other functions are checked at their calls.
    pub(crate) fn check_definitions(&mut self) {
        self.is_uncalled = true;
        for name in self.functions.keys().cloned().collect::<Vec<_>>() {
            let Some((function, _)) = self.functions.get(&name) else { continue };
            let function = function.clone();
            let mut known: Vec<&str> = Vec::new();
            for parameter in &function.parameters {
                if known.contains(&parameter.text.as_str()) {
                    self.error(
                        codes::TWICE,
                        parameter.span,
                        format!("the parameter `{}` occurs twice", parameter.text),
                    )
                    .hint = Some("give one of them another name".to_owned());
                }
                known.push(&parameter.text);
            }
            let (before, errors) = (self.locals.len(), self.findings.len());
            for parameter in &function.parameters {
                let local = Local {
                    name: parameter.text.clone(),
                    span: parameter.span,
                    expr: Expr::Absent,
                    ty: Ty { kind: Kind::Bad, maybe: true },
                    reads: Reads::default(),
                    var: None,
                    mutable: false,
                    used: false,
                };
                self.locals.push(local);
            }
            let from = core::mem::replace(&mut self.locals_from, before);
            self.inlined.push(name);
            let _ = self.expression(&function.body);
            self.inlined.pop();
            self.locals_from = from;
            let unused: Vec<_> = self.locals[before..]
                .iter()
                .filter(|local| !local.used)
                .map(|local| (local.name.clone(), local.span))
                .collect();
            self.locals.truncate(before);
            // An error may have hidden the use.
            for (name, span) in unused.into_iter().filter(|_| errors == self.findings.len()).collect::<Vec<_>>() {
                self.warning(codes::UNUSED, span, format!("the parameter `{name}` is never read")).hint =
                    Some("remove it".to_owned());
            }
        }
        self.is_uncalled = false;
        for (_, used) in self.functions.values_mut() {
            *used = false;
        }
        for table in self.tables.values_mut() {
            table.used = false;
        }
        for (_, _, used) in self.lookups.values_mut() {
            *used = false;
        }
        // The types of functions were checked at their definition.
        let of_lookups = self.lookups.values().filter(|(lookup, ..)| lookup.function.is_none());
        for (lookup, ..) in of_lookups.cloned().collect::<Vec<_>>() {
            for (_, wanted) in lookup.keys.iter().chain(&lookup.fields) {
                let _ = self.declared(wanted);
            }
        }
    }

    /// Builds the run-time description of a connected function; `None` for a lookup or a faulty definition.
    pub(crate) fn own_function_plan(&mut self, lookup: &ast::Lookup) -> Option<OwnFunction> {
        let reuse = lookup.function?;
        let mut parameters = Vec::new();
        for (parameter, wanted) in &lookup.keys {
            parameters.push((parameter.text.clone(), self.own_type(wanted)?));
        }
        let gives = self.own_type(&lookup.fields.first()?.1)?;
        Some(OwnFunction { name: lookup.name.text.clone(), parameters, gives, cached: reuse == Reuse::Cached })
    }

    fn own_type(&mut self, name: &ast::TypeName) -> Option<OwnType> {
        Some(match self.declared(name)? {
            Kind::Text(max) => OwnType::Text(max),
            Kind::Decimal(digits) => OwnType::Decimal(digits.whole.zip(digits.scale)),
            Kind::Date => OwnType::Date,
            _ => {
                let message = format!("`{}` cannot pass between a map and a program", self.slice(name.span));
                self.error(codes::TYPE_NAME, name.span, message).hint =
                    Some("types of such functions are text, text(30), decimal, decimal(11, 2) and date".to_owned());
                return None;
            }
        })
    }

    /// Definitions of the map itself that nothing uses; those of included maps are for others too.
    pub(crate) fn check_unused(&mut self) {
        let mut unused: Vec<(&str, String, crate::syntax::text::Span)> = Vec::new();
        unused.extend(
            self.functions
                .iter()
                .filter(|(_, (_, used))| !used)
                .map(|(name, (f, _))| ("function", name.clone(), f.name.span)),
        );
        unused.extend(
            self.parts.iter().filter(|(_, (_, used))| !used).map(|(name, (p, _))| ("part", name.clone(), p.name.span)),
        );
        unused.extend(
            self.tables
                .iter()
                .filter(|(_, table)| !table.used)
                .map(|(name, table)| ("table", name.clone(), table.span)),
        );
        unused.extend(self.lookups.iter().filter(|(_, (_, _, used))| !used).map(|(name, (l, ..))| {
            (if l.function.is_some() { "function" } else { "lookup" }, name.clone(), l.name.span)
        }));
        unused.sort_by_key(|(_, _, span)| span.start);
        // An error may have hidden the use.
        if self.findings.iter().any(|finding| finding.severity == Severity::Error) {
            return;
        }
        for (what, name, span) in unused {
            if span.file == 0 {
                self.finding(Severity::Note, codes::UNUSED, span, format!("the {what} `{name}` is never used")).hint =
                    Some("remove it".to_owned());
            }
        }
    }
}

/// Returns the first separator of a file that is outside of quotes.
fn separator_of(text: &str) -> char {
    // A quote opens a cell only at its start. Two quotes inside a quoted cell are one quote character.
    let (mut is_quoted, mut is_start, mut is_after_quote) = (false, true, false);
    let mut separators = text.chars().filter(|c| {
        if is_quoted {
            is_quoted = *c != '"';
            is_after_quote = !is_quoted;
            return false;
        }
        is_quoted = *c == '"' && (is_start || is_after_quote);
        is_after_quote = false;
        let separates = !is_quoted && matches!(c, ',' | ';' | '\t');
        is_start = separates || *c == '\n';
        separates
    });
    separators.next().unwrap_or(',')
}

/// Splits a line into cells. A quote inside a cell is an ordinary character.
fn cells(line: &str, separator: char) -> Result<Vec<String>, &'static str> {
    let mut cells = vec![String::new()];
    let (mut is_quoted, mut is_over) = (false, false);
    let mut chars = line.trim_end_matches('\r').chars().peekable();
    while let Some(c) = chars.next() {
        let last = cells.len() - 1;
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cells[last].push('"');
            }
            '"' if is_quoted => (is_quoted, is_over) = (false, true),
            '"' if cells[last].is_empty() && !is_over => is_quoted = true,
            _ if c == separator && !is_quoted => {
                is_over = false;
                cells.push(String::new());
            }
            _ if is_over => return Err("text follows the quote that ends a cell"),
            _ => cells[last].push(c),
        }
    }
    if is_quoted { Err("a quote does not end in the line") } else { Ok(cells) }
}

#[cfg(test)]
mod tests {
    use super::{cells, separator_of};

    #[test]
    fn cells_of_table_files_keep_what_is_in_them() {
        assert_eq!(cells("A;1,5", ';').unwrap(), ["A", "1,5"]);
        assert_eq!(cells("C,6\" tube", ',').unwrap(), ["C", "6\" tube"]);
        assert_eq!(cells("\"a,b\",\"x \"\"y\"\"\"\r", ',').unwrap(), ["a,b", "x \"y\""]);
        assert_eq!([separator_of("A;1,5"), separator_of("\"a,b\";c"), separator_of("A")], [';', ';', ',']);
        // A quote inside an unquoted cell is a character. Two quotes inside a quoted cell are one quote character.
        assert_eq!(separator_of("6\" tube;T6"), ';');
        assert_eq!(separator_of("\"a\"\"b,c\";d"), ';');
        assert_eq!(
            [separator_of("\"\";b,c"), separator_of("\"\"\"a,b\"\"\"\tc"), separator_of("a\n\"b,c\";d")],
            [';', '\t', ';']
        );
        assert!(cells("\"a\"b,c", ',').is_err() && cells("\"a,b", ',').is_err());
    }
}
