//! Parser from tokens to a map: definitions and statements. It continues after every error and never panics.

use std::sync::Arc;

use quayline_core::{Code, Fault, Finding, Severity};

use super::ast::{
    For, ForBody, Function, Item, Lookup, Name, Part, Path, Pattern, Quote, Reuse, SetOp, SortKey, Step, Stmt,
    StmtKind, Table, TargetPath, TypeName,
};
use super::text::{SourceText, Span};
use super::token::{Kind, Token, tokens};
use crate::codes;

/// Blocks and expressions inside each other. Real maps have ten; every level costs stack.
pub(crate) const DEPTH_MAX: usize = 64;
/// Operators of one statement, for the same reason.
const OPERATORS_MAX: usize = 300;
/// Maximum number of findings for one text; a text with more is not a map.
const FINDINGS_MAX: usize = 200;

/// One text, parsed.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) items: Vec<Item>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) findings: Vec<Finding>,
}

pub(crate) fn parse(source: &Arc<SourceText>, file: u16) -> Parsed {
    if source.text().len() > SourceText::BYTES_MAX {
        let message = format!("the map has {} bytes, more than {}", source.text().len(), SourceText::BYTES_MAX);
        let finding = Finding::error(codes::TOO_LARGE, Fault::Config, message).hint("split it into included maps");
        return Parsed { items: Vec::new(), body: Vec::new(), findings: vec![finding] };
    }
    let all = tokens(source, file);
    let tokens: Vec<Token> = all.into_iter().filter(|token| token.kind != Kind::Comment).collect();
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        depth: 0,
        findings: Vec::new(),
        items: Vec::new(),
        reported: usize::MAX,
        operators: 0,
        unset: None,
    };
    let body = parser.statements(Level::Top);
    Parsed { items: parser.items, body, findings: parser.findings }
}

/// Level of statements. Definitions are allowed only at the top level.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Level {
    Top,
    Block,
}

/// Marks a construct whose parsing stopped at an error that is already reported.
pub(crate) struct Broken;
pub(crate) type Parse<T> = Result<T, Broken>;

pub(crate) struct Parser<'a> {
    pub(crate) source: &'a SourceText,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    findings: Vec<Finding>,
    items: Vec<Item>,
    /// The token of the last report: one fault gives one finding.
    reported: usize,
    /// Operators of this statement so far.
    operators: usize,
    /// The target of the assignment that is being read.
    unset: Option<TargetPath>,
}

impl Parser<'_> {
    fn statements(&mut self, level: Level) -> Vec<Stmt> {
        let mut body = Vec::new();
        loop {
            match self.kind() {
                Kind::End => {
                    return body;
                }
                Kind::Sign("}") if level == Level::Block => return body,
                Kind::Sign("}") => {
                    self.report(codes::EXPECTED, "`}` closes nothing", Some("remove it"));
                    self.next();
                    continue;
                }
                _ => {}
            }
            let began = self.at;
            self.operators = 0;
            let parsed = if level == Level::Top && self.at_item() {
                self.item().map(|()| None)
            } else {
                self.statement().map(Some)
            };
            match parsed {
                Ok(Some(statement)) => body.push(statement),
                Ok(None) => {}
                Err(Broken) => {
                    // Do not also report its target as missing.
                    if let Some(target) = self.unset.take() {
                        let span = target.span;
                        body.push(Stmt { kind: StmtKind::Omit(vec![target]), span });
                    }
                    self.recover(began);
                }
            }
            self.unset = None;
        }
    }

    /// Skips to the next line that may begin a statement. A block in between is skipped as a whole.
    fn recover(&mut self, began: usize) {
        if self.at == began {
            self.next();
        }
        let mut open = 0usize;
        loop {
            let token = self.token();
            match token.kind {
                Kind::End => return,
                Kind::Sign("{") => open += 1,
                Kind::Sign("}") if open == 0 => return,
                Kind::Sign("}") => {
                    open -= 1;
                    if open == 0 {
                        self.next();
                        return;
                    }
                }
                Kind::Word | Kind::Quoted if open == 0 && token.breaks > 0 => return,
                _ => {}
            }
            self.next();
        }
    }

    fn at_item(&self) -> bool {
        if self.kind() != Kind::Word || self.is_assignment() {
            return false;
        }
        matches!(self.word(), "map" | "source" | "target" | "include" | "fn" | "part" | "table" | "codes" | "lookup")
    }

    /// Returns true if the current word begins the path of an assignment, so that any keyword can be a field.
    fn is_assignment(&self) -> bool {
        matches!(self.peek(1).kind, Kind::Sign("=" | "==" | ":" | "." | "+=" | "-=" | "&="))
            || (self.peek(1).kind == Kind::Sign("[") && self.peek(1).span.start == self.token().span.end)
    }

    fn item(&mut self) -> Parse<()> {
        let word = self.word().to_owned();
        self.next();
        let item = match word.as_str() {
            "map" => Item::Title(self.quote("the title of the map")?),
            "source" => self.reference().map(|(name, reference)| Item::Source { name, reference })?,
            "target" => self.reference().map(|(name, reference)| Item::Target { name, reference })?,
            "include" => Item::Include(self.quote("the name of a map to include")?),
            "fn" => self.function()?,
            "part" => {
                let name = self.name("the name of the part")?;
                Item::Part(Part { name, body: self.block()? })
            }
            "table" => self.table(false)?,
            "codes" => self.table(true)?,
            _ => self.lookup()?,
        };
        self.items.push(item);
        Ok(())
    }

    fn reference(&mut self) -> Parse<(Option<Name>, Option<Quote>)> {
        let name = match self.kind() {
            Kind::Word | Kind::Quoted if self.token().breaks == 0 => Some(self.name("a name")?),
            _ => None,
        };
        let quote = if self.kind() == Kind::Text { Some(self.quote("a file")?) } else { None };
        let ends = self.token().breaks > 0 || self.kind() == Kind::End;
        if quote.is_none() && (name.is_none() || !ends) {
            return self.expected("the name of a file in double quotes");
        }
        Ok((name, quote))
    }

    fn function(&mut self) -> Parse<Item> {
        let name = self.name("the name of the function")?;
        let parameters = self.listed("(", ")", |parser| {
            let name = parser.name("a parameter")?;
            let wanted = if parser.take(":") { Some(parser.type_name()?) } else { None };
            Ok((name, wanted))
        })?;
        if self.kind() == Kind::Sign("->") || parameters.iter().any(|(_, wanted)| wanted.is_some()) {
            return self.own_function(name, parameters);
        }
        let parameters = parameters.into_iter().map(|(name, _)| name).collect();
        self.sign("=")?;
        let body = self.expression()?;
        Ok(Item::Function(Function { name, parameters, body }))
    }

    /// Parses `fn name(a: text) -> text(30) cached`, a function that the run connects.
    fn own_function(&mut self, name: Name, parameters: Vec<(Name, Option<TypeName>)>) -> Parse<Item> {
        let mut keys = Vec::new();
        for (parameter, wanted) in parameters {
            let Some(wanted) = wanted else {
                let message = format!("the parameter `{}` has no type", parameter.text);
                let hint = "write `name: text(30)`; if one parameter has a type, all have";
                self.finding(codes::EXPECTED, parameter.span, message, Some(hint));
                return Err(Broken);
            };
            keys.push((parameter, wanted));
        }
        self.sign("->")?;
        let gives = self.type_name()?;
        let reuse = if self.token().breaks == 0 && self.take_word("cached") { Reuse::Cached } else { Reuse::Never };
        let fields = vec![(name.clone(), gives)];
        Ok(Item::Lookup(Lookup { function: Some(reuse), name, keys, fields }))
    }

    fn table(&mut self, is_list: bool) -> Parse<Item> {
        let name = self.name("the name of the table")?;
        let mut table =
            Table { name, codes: is_list, rows: Vec::new(), one_way: Vec::new(), otherwise: None, from: None };
        if self.take_word("from") {
            table.from = Some(self.quote("the name of a file")?);
        } else {
            self.sign("{")?;
            while self.kind() != Kind::Sign("}") {
                if self.take_word("else") {
                    self.take("=>");
                    table.otherwise = Some(self.quote("the value for all others")?);
                } else {
                    let key = self.quote("a code")?;
                    if !is_list && matches!(self.kind(), Kind::Sign("=" | ":" | "->")) {
                        let message = format!("expected `=>`, found {}", self.found());
                        self.report(codes::EXPECTED, &message, Some("a row of a table is written \"a\" => \"b\""));
                        self.next();
                        table.rows.push((key, Some(self.quote("what it becomes")?)));
                        self.take(",");
                        continue;
                    }
                    let value = if self.take("=>") { Some(self.quote("what it becomes")?) } else { None };
                    if value.is_some() && self.take_word("one-way") {
                        table.one_way.push(table.rows.len());
                    }
                    table.rows.push((key, value));
                }
                self.take(",");
            }
            self.sign("}")?;
        }
        if self.is_word("else") && table.from.is_some() {
            self.next();
            table.otherwise = Some(self.quote("the value for all others")?);
        }
        Ok(Item::Table(table))
    }

    fn lookup(&mut self) -> Parse<Item> {
        let name = self.name("the name of the lookup")?;
        let keys = self.listed("(", ")", Parser::typed)?;
        self.sign("->")?;
        let fields = self.listed("(", ")", Parser::typed)?;
        Ok(Item::Lookup(Lookup { function: None, name, keys, fields }))
    }

    fn typed(&mut self) -> Parse<(Name, TypeName)> {
        let name = self.name("a name")?;
        self.sign(":")?;
        Ok((name, self.type_name()?))
    }

    fn type_name(&mut self) -> Parse<TypeName> {
        let name = self.name("a type: text, decimal, bool, date, time, datetime or bytes")?;
        let mut span = name.span;
        let mut arguments = Vec::new();
        if self.kind() == Kind::Sign("(") {
            arguments = self.listed("(", ")", |parser| parser.count("a number of characters or digits"))?;
            span = span.to(self.last());
        }
        Ok(TypeName { name, arguments, span })
    }

    fn block(&mut self) -> Parse<Vec<Stmt>> {
        let open = self.token().span;
        self.sign("{")?;
        self.enter()?;
        let body = self.statements(Level::Block);
        self.depth -= 1;
        if !self.take("}") {
            self.finding(
                codes::OPEN_BLOCK,
                open,
                "this `{` is never closed".to_owned(),
                Some("write `}` where the block ends"),
            );
            self.reported = self.at;
            return Ok(body);
        }
        Ok(body)
    }

    fn statement(&mut self) -> Parse<Stmt> {
        let start = self.token().span;
        if self.kind() == Kind::Quoted
            || (self.kind() == Kind::Word && self.is_assignment())
            || self.kind() == Kind::Number
        {
            return self.assignment();
        }
        let sign = self.source.slice(start);
        if matches!(sign, "," | ";") {
            let message = format!("`{sign}` begins no statement, and none needs it at its end");
            self.report(codes::NO_STATEMENT, &message, Some("remove it: a statement ends where the next one begins"));
            self.next();
            return Ok(Stmt { kind: StmtKind::Omit(Vec::new()), span: start });
        }
        if self.kind() != Kind::Word {
            let message = format!("{} begins no statement", self.found());
            self.report(codes::NO_STATEMENT, &message, Some(STATEMENTS));
            return Err(Broken);
        }
        let word = self.word().to_owned();
        let (kind, span) = match word.as_str() {
            "let" => self.let_statement(start)?,
            "var" => self.var_statement(start)?,
            "set" => self.set_statement(start)?,
            "for" => return self.for_statement(),
            "make" => {
                self.next();
                let target = self.target_path()?;
                let span = start.to(target.span);
                (StmtKind::Make { target, body: self.block()? }, span)
            }
            "if" => self.if_statement(start)?,
            "match" => self.match_statement(start)?,
            "use" => {
                self.next();
                let name = self.name("the name of a part")?;
                let span = start.to(name.span);
                (StmtKind::Use(name), span)
            }
            "error" | "warning" | "note" => self.raise(start, &word)?,
            "drop" => {
                self.next();
                (StmtKind::Drop, start)
            }
            "skip" => {
                self.next();
                (StmtKind::Skip, start)
            }
            "omit" => {
                self.next();
                let mut paths = vec![self.target_path()?];
                while self.take(",") {
                    paths.push(self.target_path()?);
                }
                let span = start.to(self.last());
                (StmtKind::Omit(paths), span)
            }
            _ if self.at_item() => {
                let message = format!("`{word}` is valid only at the top level");
                self.report(codes::MISPLACED, &message, Some("move it out of the block"));
                return Err(Broken);
            }
            _ if self.peek(1).kind == Kind::Sign("{") => {
                let message = format!("`{word}` begins no statement");
                let hint =
                    format!("a block that writes into a group of the target begins with make: make {word} {{ … }}");
                self.report(codes::NO_STATEMENT, &message, Some(&hint));
                let target = self.target_path()?;
                let span = start.to(target.span);
                (StmtKind::Make { target, body: self.block()? }, span)
            }
            _ => {
                let message = format!("`{word}` begins no statement");
                self.report(codes::NO_STATEMENT, &message, Some(STATEMENTS));
                return Err(Broken);
            }
        };
        Ok(Stmt { kind, span })
    }

    fn assignment(&mut self) -> Parse<Stmt> {
        let target = self.target_path()?;
        let start = target.span;
        self.unset = Some(target.clone());
        if let Kind::Sign(sign @ ("+=" | "-=" | "&=")) = self.kind() {
            let message = format!("`{sign}` changes variables, not targets");
            self.report(
                codes::EXPECTED,
                &message,
                Some("a variable is changed by `set name += …`; a target gets its value once, by `=`"),
            );
            return Err(Broken);
        }
        if let Kind::Sign(sign @ (":" | "==")) = self.kind() {
            let message = format!("expected `=` and a value, found `{sign}`");
            self.report(codes::EXPECTED, &message, Some("a target is set by one `=`"));
            self.next();
            self.take("=");
        } else if !self.take("=") {
            return self.expected("`=` and a value");
        }
        if self.token().breaks > 0
            && matches!(self.kind(), Kind::Word | Kind::Quoted)
            && self.peek(1).kind == Kind::Sign("=")
        {
            // The next statement begins here.
            return self.expected("a value");
        }
        let kind = if self.kind() == Kind::Sign("[") {
            let values = self.listed("[", "]", Parser::expression)?;
            StmtKind::AssignList { target, values }
        } else {
            let value = self.expression()?;
            let envelope = target.names.len() == 2 && target.names[0].text == "envelope";
            match target.names.get(1) {
                Some(name) if envelope => StmtKind::Envelope { name: name.clone(), value },
                _ => StmtKind::Assign { target, value },
            }
        };
        Ok(Stmt { kind, span: start.to(self.last()) })
    }

    fn let_statement(&mut self, start: Span) -> Parse<(StmtKind, Span)> {
        self.next();
        let name = self.name("a name")?;
        self.sign("=")?;
        let value = self.expression()?;
        Ok((StmtKind::Let { name, value }, start.to(self.last())))
    }

    fn var_statement(&mut self, start: Span) -> Parse<(StmtKind, Span)> {
        self.next();
        let name = self.name("the name of the variable")?;
        let declared = if self.take(":") { Some(self.type_name()?) } else { None };
        self.sign("=")?;
        let value = self.expression()?;
        Ok((StmtKind::Var { name, declared, value }, start.to(self.last())))
    }

    fn set_statement(&mut self, start: Span) -> Parse<(StmtKind, Span)> {
        self.next();
        let name = self.name("the name of a variable")?;
        let op = match self.kind() {
            Kind::Sign("=") => SetOp::Set,
            Kind::Sign("+=") => SetOp::Add,
            Kind::Sign("-=") => SetOp::Subtract,
            Kind::Sign("&=") => SetOp::Append,
            _ => return self.expected("`=`, `+=`, `-=` or `&=`"),
        };
        self.next();
        let value = self.expression()?;
        Ok((StmtKind::Set { name, op, value }, start.to(self.last())))
    }

    fn for_statement(&mut self) -> Parse<Stmt> {
        let start = self.next().span;
        let named = matches!(self.kind(), Kind::Word | Kind::Quoted)
            && self.peek(1).kind == Kind::Word
            && self.source.slice(self.peek(1).span) == "in";
        let binding = if named {
            let name = self.name("a name")?;
            self.next();
            Some(name)
        } else {
            None
        };
        let path = self.path()?;
        let filter = if self.take_word("where") { Some(self.expression()?) } else { None };
        let sort = if self.take_word("sort") { self.sort_keys()? } else { Vec::new() };
        let limit = if self.take_word("limit") { Some(self.count("a number of occurrences")?) } else { None };
        let make = if self.take_word("make") { Some(self.target_path()?) } else { None };
        let span = start.to(self.last());
        let body = if make.is_some() && self.take("=") {
            ForBody::Value(self.expression()?)
        } else {
            ForBody::Block(self.block()?)
        };
        let kind = StmtKind::For(Box::new(For { binding, path, filter, sort, limit, make, body }));
        Ok(Stmt { kind, span })
    }

    /// Parses the keys after `sort`.
    fn sort_keys(&mut self) -> Parse<Vec<SortKey>> {
        if !self.take_word("by") {
            return self.expected("`by`");
        }
        let mut keys = Vec::new();
        loop {
            let value = self.expression()?;
            let descending = self.take_word("desc");
            if !descending {
                self.take_word("asc");
            }
            keys.push(SortKey { value, descending });
            if !self.take(",") {
                return Ok(keys);
            }
        }
    }

    fn if_statement(&mut self, start: Span) -> Parse<(StmtKind, Span)> {
        self.next();
        let condition = self.expression()?;
        let span = start.to(self.last());
        let mut arms = vec![(condition, self.block()?)];
        let mut otherwise = None;
        while self.take_word("else") {
            if self.take_word("if") {
                let condition = self.expression()?;
                arms.push((condition, self.block()?));
            } else {
                otherwise = Some(self.block()?);
                break;
            }
        }
        Ok((StmtKind::If { arms, otherwise }, span))
    }

    fn match_statement(&mut self, start: Span) -> Parse<(StmtKind, Span)> {
        self.next();
        let subject = self.expression()?;
        let span = start.to(self.last());
        self.sign("{")?;
        self.enter()?;
        let (mut arms, mut otherwise) = (Vec::new(), None);
        while !matches!(self.kind(), Kind::Sign("}") | Kind::End) {
            if self.take_word("else") || self.take_word("_") {
                self.take("=>");
                otherwise = Some(self.arm_body()?);
            } else {
                let patterns = self.patterns()?;
                self.sign("=>")?;
                arms.push((patterns, self.arm_body()?));
            }
            self.take(",");
        }
        self.depth -= 1;
        self.sign("}")?;
        Ok((StmtKind::Match { subject, arms, otherwise }, span))
    }

    /// Parses a block or one statement.
    fn arm_body(&mut self) -> Parse<Vec<Stmt>> {
        if self.kind() == Kind::Sign("{") { self.block() } else { Ok(vec![self.statement()?]) }
    }

    pub(crate) fn patterns(&mut self) -> Parse<Vec<Pattern>> {
        let mut patterns = Vec::new();
        loop {
            let value = self.operand()?;
            if self.take_word("to") {
                patterns.push(Pattern::Range(value, self.operand()?));
            } else {
                patterns.push(Pattern::Value(value));
            }
            if !self.take("|") {
                return Ok(patterns);
            }
        }
    }

    fn raise(&mut self, start: Span, word: &str) -> Parse<(StmtKind, Span)> {
        self.next();
        let severity = match word {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => Severity::Note,
        };
        let message = self.quote("the text of the finding")?;
        let (mut id, mut hint) = (None, None);
        loop {
            if self.take_word("code") {
                id = Some(self.quote("a code of your own")?);
            } else if self.take_word("hint") {
                hint = Some(self.quote("what to do about it")?);
            } else {
                return Ok((StmtKind::Raise { severity, message, id, hint }, start.to(self.last())));
            }
        }
    }

    pub(crate) fn target_path(&mut self) -> Parse<TargetPath> {
        let first = self.name("the path of a target field")?;
        let mut span = first.span;
        let mut names = vec![first];
        while self.take(".") {
            let name = self.name("a name after the point")?;
            span = span.to(name.span);
            names.push(name);
        }
        if self.kind() == Kind::Sign("[") && self.token().breaks == 0 {
            self.report(
                codes::EXPECTED,
                "a target is not chosen by `[ ]`",
                Some("make an occurrence: `make lines { … }` or `for … make lines { … }`"),
            );
            return Err(Broken);
        }
        Ok(TargetPath { names, span })
    }

    pub(crate) fn path(&mut self) -> Parse<Path> {
        let mut steps = match self.digit_steps() {
            Some(steps) => steps,
            None => vec![self.step()?],
        };
        let mut span = steps[0].span.to(steps[steps.len() - 1].span);
        while self.take(".") {
            let step = self.step()?;
            span = span.to(step.span);
            steps.push(step);
        }
        Ok(Path { steps, span })
    }

    /// Parses `2000.2100`, which the lexer read as a number, as a path.
    fn digit_steps(&mut self) -> Option<Vec<Step>> {
        let token = self.token();
        let (first, _) = self.source.slice(token.span).split_once('.').filter(|_| token.kind == Kind::Number)?;
        let point = token.span.start + u32::try_from(first.len()).unwrap_or(0);
        let (before, behind) = (Span { end: point, ..token.span }, Span { start: point + 1, ..token.span });
        self.next();
        let step = |span: Span| {
            let name = Name { text: self.source.slice(span).to_owned(), span };
            Step { name, select: None, span }
        };
        Some(vec![step(before), step(behind)])
    }

    pub(crate) fn listed<T>(
        &mut self,
        open: &'static str,
        close: &'static str,
        mut one: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        self.sign(open)?;
        let mut all = Vec::new();
        while self.kind() != Kind::Sign(close) {
            all.push(one(self)?);
            if !self.take(",") && self.kind() != Kind::Sign(close) {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
        self.sign(close)?;
        Ok(all)
    }

    pub(crate) fn name(&mut self, what: &str) -> Parse<Name> {
        let token = self.token();
        let slice = self.source.slice(token.span);
        let text = match token.kind {
            Kind::Word => slice.to_owned(),
            Kind::Number if slice.bytes().all(|byte| byte.is_ascii_digit()) => slice.to_owned(),
            Kind::Quoted => slice[1..slice.len() - 1].to_owned(),
            _ => return self.expected(what),
        };
        self.next();
        Ok(Name { text, span: token.span })
    }

    pub(crate) fn quote(&mut self, what: &str) -> Parse<Quote> {
        if self.kind() != Kind::Text {
            return self.expected(&format!("{what}, in double quotes"));
        }
        let span = self.next().span;
        Ok(Quote { text: self.unescape(span), span })
    }

    pub(crate) fn count(&mut self, what: &str) -> Parse<u32> {
        let token = self.token();
        let slice = self.source.slice(token.span);
        match slice.parse() {
            Ok(n) if token.kind == Kind::Number => {
                self.next();
                Ok(n)
            }
            _ => self.expected(what),
        }
    }

    pub(crate) fn unescape(&mut self, span: Span) -> String {
        let slice = self.source.slice(span);
        let inner = slice.get(1..slice.len().saturating_sub(1)).unwrap_or_default();
        if !inner.contains('\\') {
            return inner.to_owned();
        }
        let mut text = String::with_capacity(inner.len());
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            if c != '\\' {
                text.push(c);
                continue;
            }
            match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some(c @ ('"' | '\\')) => text.push(c),
                Some('u') => {
                    let digits: String = chars.by_ref().skip_while(|c| *c == '{').take_while(|c| *c != '}').collect();
                    match quayline_core::hex_number(&digits).and_then(char::from_u32) {
                        Some(c) => text.push(c),
                        None => self.finding(
                            codes::BAD_ESCAPE,
                            span,
                            "`\\u{…}` is not a character".to_owned(),
                            Some("write its number in hexadecimal: \\u{e9}"),
                        ),
                    }
                }
                _ => self.finding(
                    codes::BAD_ESCAPE,
                    span,
                    "a backslash precedes a character that is not an escape".to_owned(),
                    Some("write \\\\ for a backslash; \\\" \\n \\t \\r \\u{…} are the others"),
                ),
            }
        }
        text
    }

    pub(crate) fn enter(&mut self) -> Parse<()> {
        if self.depth >= DEPTH_MAX {
            self.report(
                codes::TOO_DEEP,
                &format!("more than {DEPTH_MAX} levels inside each other"),
                Some("give a part of it a name by `part`, `fn` or `let`"),
            );
            // The rest is within the nesting and would only repeat this finding.
            self.at = self.tokens.len() - 1;
            return Err(Broken);
        }
        self.depth += 1;
        Ok(())
    }

    /// Counts an operator. Each one adds a level to the syntax tree.
    pub(crate) fn operator(&mut self) -> Parse<()> {
        self.operators += 1;
        if self.operators <= OPERATORS_MAX {
            return Ok(());
        }
        self.report(
            codes::TOO_DEEP,
            &format!("more than {OPERATORS_MAX} operators in one statement"),
            Some("give parts of it names by `let`"),
        );
        Err(Broken)
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(crate) fn expected<T>(&mut self, what: &str) -> Parse<T> {
        match self.kind() {
            Kind::Open => self.report(
                codes::OPEN_TEXT,
                "the text is not closed on its line",
                Some("close it with the quote that it begins with"),
            ),
            Kind::Stray => {
                let message = format!("{} has no meaning here", self.found());
                self.report(
                    codes::STRAY,
                    &message,
                    Some("remove it; names with other characters than letters, digits, - and _ are in single quotes"),
                );
            }
            _ => {
                let message = format!("expected {what}, found {}", self.found());
                self.report(codes::EXPECTED, &message, None);
            }
        }
        Err(Broken)
    }

    /// Describes the current token for messages.
    pub(crate) fn found(&self) -> String {
        let token = self.token();
        match token.kind {
            Kind::End => "the end of the map".to_owned(),
            Kind::Text => "a text".to_owned(),
            Kind::Open => "a text that is not closed".to_owned(),
            _ => format!("`{}`", self.source.slice(token.span)),
        }
    }

    pub(crate) fn report(&mut self, code: Code, message: &str, hint: Option<&str>) {
        if self.reported != self.at {
            self.reported = self.at;
            self.finding(code, self.token().span, message.to_owned(), hint);
        }
    }

    pub(crate) fn finding(&mut self, code: Code, span: Span, message: String, hint: Option<&str>) {
        if self.findings.len() == FINDINGS_MAX {
            let message = format!("more than {FINDINGS_MAX} findings; later ones are not shown");
            self.findings.push(Finding::error(codes::TOO_MANY, Fault::Config, message).at(self.source.place(span)));
        }
        if self.findings.len() > FINDINGS_MAX {
            return;
        }
        let mut finding = Finding::error(code, Fault::Config, message).at(self.source.place(span));
        finding.hint = hint.map(str::to_owned);
        self.findings.push(finding);
    }

    pub(crate) fn token(&self) -> Token {
        self.peek(0)
    }

    pub(crate) fn peek(&self, ahead: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + ahead).min(last)]
    }

    pub(crate) fn kind(&self) -> Kind {
        self.token().kind
    }

    pub(crate) fn word(&self) -> &str {
        self.source.slice(self.token().span)
    }

    pub(crate) fn next(&mut self) -> Token {
        let token = self.token();
        if self.at < self.tokens.len() - 1 {
            self.at += 1;
        }
        token
    }

    /// Returns the span of the preceding token.
    pub(crate) fn last(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    pub(crate) fn take(&mut self, sign: &'static str) -> bool {
        let here = self.kind() == Kind::Sign(sign);
        if here {
            self.next();
        }
        here
    }

    pub(crate) fn sign(&mut self, sign: &'static str) -> Parse<()> {
        if self.take(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind() == Kind::Word && self.word() == word
    }

    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let here = self.is_word(word) && !self.begins_assignment();
        if here {
            self.next();
        }
        here
    }

    /// Returns true if the word begins a line and is the name of a target field, such as `code = …` after `error "…"`.
    fn begins_assignment(&self) -> bool {
        self.token().breaks > 0 && matches!(self.peek(1).kind, Kind::Sign("=" | "."))
    }
}

const STATEMENTS: &str = "statements are `target.field = value`, let, var, set, for, make, if, match, use, omit, skip, drop, error, warning and note";
