//! Expressions.
//!
//! From loosest to tightest: `or`, `and`, `not`, comparisons and `in`, `??`, `&`, `+ -`, `* /`, unary `-`.

use quayline_core::Decimal;

use super::ast::{Binary, Expr, ExprKind, Name, Path, Select, Set, Step, Unary};
use super::parser::{Broken, Parse, Parser};
use super::text::Span;
use super::token::Kind;
use crate::codes;
use crate::date;

impl Parser<'_> {
    pub(crate) fn expression(&mut self) -> Parse<Expr> {
        self.enter()?;
        let parsed = self.or();
        self.leave();
        parsed
    }

    fn or(&mut self) -> Parse<Expr> {
        let mut left = self.and()?;
        while self.take_word("or") {
            self.operator()?;
            left = join(Binary::Or, left, self.and()?);
        }
        Ok(left)
    }

    fn and(&mut self) -> Parse<Expr> {
        let mut left = self.not()?;
        while self.take_word("and") {
            self.operator()?;
            left = join(Binary::And, left, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Parse<Expr> {
        let start = self.token().span;
        if !self.take_word("not") {
            return self.comparison();
        }
        self.enter()?;
        let inner = self.not();
        self.leave();
        let inner = inner?;
        let span = start.to(inner.span);
        Ok(Expr { kind: ExprKind::Unary(Unary::Not, Box::new(inner)), span })
    }

    fn comparison(&mut self) -> Parse<Expr> {
        let left = self.otherwise()?;
        let negated = self.is_word("not") && self.source.slice(self.peek(1).span) == "in";
        if negated {
            self.next();
        }
        if self.take_word("in") {
            return self.in_set(left, negated);
        }
        let op = match self.kind() {
            Kind::Sign("=") if self.token().breaks == 0 => Binary::Equal,
            Kind::Sign("!=" | "<>") => Binary::Unequal,
            Kind::Sign("<") => Binary::Less,
            Kind::Sign("<=") => Binary::LessEqual,
            Kind::Sign(">") => Binary::Greater,
            Kind::Sign(">=") => Binary::GreaterEqual,
            Kind::Sign("==") => {
                self.report(codes::EXPECTED, "`==` is written `=` here", Some("write one `=`"));
                Binary::Equal
            }
            _ => return Ok(left),
        };
        self.next();
        let right = self.otherwise()?;
        if matches!(self.kind(), Kind::Sign("=" | "!=" | "<>" | "<" | "<=" | ">" | ">=")) && self.token().breaks == 0 {
            self.report(
                codes::EXPECTED,
                "comparisons do not follow each other",
                Some("join them by `and`: `a < b and b < c`"),
            );
            return Err(Broken);
        }
        Ok(join(op, left, right))
    }

    fn in_set(&mut self, left: Expr, negated: bool) -> Parse<Expr> {
        let set = if self.kind() == Kind::Sign("(") {
            Set::Values(self.listed("(", ")", Parser::expression)?)
        } else {
            Set::Table(self.name("a list of values in parentheses, or the name of a table or code list")?)
        };
        let span = left.span.to(self.last());
        Ok(Expr { kind: ExprKind::In { value: Box::new(left), set, negated }, span })
    }

    fn otherwise(&mut self) -> Parse<Expr> {
        let left = self.concat()?;
        if !self.take("??") {
            return Ok(left);
        }
        // The operator is right-associative: `a ?? b ?? c` takes the first present value.
        self.enter()?;
        let right = self.otherwise();
        self.leave();
        Ok(join(Binary::Otherwise, left, right?))
    }

    fn concat(&mut self) -> Parse<Expr> {
        let mut left = self.sum()?;
        while self.take("&") {
            self.operator()?;
            left = join(Binary::Concat, left, self.sum()?);
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parse<Expr> {
        let mut left = self.product()?;
        loop {
            let op = match self.kind() {
                Kind::Sign("+") => Binary::Add,
                Kind::Sign("-") => Binary::Subtract,
                _ => return Ok(left),
            };
            let sign = self.next().span;
            self.operator()?;
            let right = self.product()?;
            let plain = |expr: &Expr| matches!(expr.kind, ExprKind::Number(_));
            if op == Binary::Subtract
                && plain(&left)
                && plain(&right)
                && left.span.end == sign.start
                && sign.end == right.span.start
            {
                let message = "digits with dashes between them are neither a date nor a difference".to_owned();
                let hint = "a date is written 2026-01-31; a subtraction has blanks around its sign";
                self.finding(codes::BAD_DATE, left.span.to(right.span), message, Some(hint));
            }
            left = join(op, left, right);
        }
    }

    fn product(&mut self) -> Parse<Expr> {
        let mut left = self.unary()?;
        loop {
            let op = match self.kind() {
                Kind::Sign("*") => Binary::Multiply,
                Kind::Sign("/") => Binary::Divide,
                _ => return Ok(left),
            };
            self.next();
            self.operator()?;
            left = join(op, left, self.unary()?);
        }
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.token().span;
        if !self.take("-") {
            return self.operand();
        }
        self.enter()?;
        let inner = self.unary();
        self.leave();
        let inner = inner?;
        let span = start.to(inner.span);
        if let ExprKind::Number(n) = inner.kind {
            return Ok(Expr { kind: ExprKind::Number(Decimal { unscaled: -n.unscaled, ..n }), span });
        }
        Ok(Expr { kind: ExprKind::Unary(Unary::Minus, Box::new(inner)), span })
    }

    pub(crate) fn operand(&mut self) -> Parse<Expr> {
        let token = self.token();
        let span = token.span;
        match token.kind {
            Kind::Text => {
                self.next();
                let text = self.unescape(span);
                Ok(Expr { kind: ExprKind::Text(text), span })
            }
            Kind::Number => {
                self.next();
                let kind = self.number(span);
                Ok(Expr { kind, span })
            }
            Kind::Date => {
                self.next();
                let kind = self.date(span);
                Ok(Expr { kind, span })
            }
            Kind::Sign("(") => {
                self.next();
                let inner = self.expression()?;
                self.sign(")")?;
                Ok(Expr { kind: inner.kind, span: span.to(self.last()) })
            }
            Kind::Sign("-") => self.unary(),
            Kind::Word if !self.is_call() && self.peek(1).kind != Kind::Sign(".") => match self.word() {
                "if" => self.if_expression(),
                "match" => self.match_expression(),
                word @ ("true" | "false") => {
                    let value = word == "true";
                    self.next();
                    Ok(Expr { kind: ExprKind::Bool(value), span })
                }
                "absent" => {
                    self.next();
                    Ok(Expr { kind: ExprKind::Absent, span })
                }
                "then" | "else" | "where" | "make" => self.expected("a value"),
                _ => self.path_expression(),
            },
            Kind::Word if self.is_call() && matches!(self.word(), "if" | "match") => {
                if self.word() == "if" {
                    self.if_expression()
                } else {
                    self.match_expression()
                }
            }
            Kind::Word if self.is_call() => self.call(),
            Kind::Word | Kind::Quoted => self.path_expression(),
            _ => self.expected("a value"),
        }
    }

    fn is_call(&self) -> bool {
        let open = self.peek(1);
        open.kind == Kind::Sign("(") && open.span.start == self.token().span.end
    }

    fn path_expression(&mut self) -> Parse<Expr> {
        let path = self.path()?;
        let span = path.span;
        Ok(Expr { kind: ExprKind::Path(path), span })
    }

    pub(crate) fn step(&mut self) -> Parse<Step> {
        let name = self.name("a path")?;
        let mut span = name.span;
        let mut select = None;
        if self.kind() == Kind::Sign("[") && self.token().span.start == name.span.end {
            self.next();
            select = Some(self.select()?);
            self.sign("]")?;
            span = span.to(self.last());
        }
        Ok(Step { name, select, span })
    }

    fn select(&mut self) -> Parse<Select> {
        let closes = self.peek(1).kind == Kind::Sign("]");
        match self.kind() {
            Kind::Number if closes => Ok(Select::Index(self.count("the number of an occurrence, from 0")?)),
            Kind::Word if closes && self.word() == "first" => {
                self.next();
                Ok(Select::First)
            }
            Kind::Word if closes && self.word() == "last" => {
                self.next();
                Ok(Select::Last)
            }
            _ => Ok(Select::Where(Box::new(self.expression()?))),
        }
    }

    fn call(&mut self) -> Parse<Expr> {
        let start = self.token().span;
        let name = self.name("a function")?;
        if matches!(name.text.as_str(), "count" | "sum" | "min" | "max" | "any" | "all" | "join") {
            return self.aggregate_or_call(start, name);
        }
        let arguments = self.listed("(", ")", Parser::expression)?;
        let field = if self.take(".") { Some(self.name("a field of the lookup")?) } else { None };
        Ok(Expr { kind: ExprKind::Call { name, arguments, field }, span: start.to(self.last()) })
    }

    /// Parses `count(PATH where …)` and `sum(VALUE for PATH where …)`; `min(a, b)` is a plain call.
    fn aggregate_or_call(&mut self, start: Span, name: Name) -> Parse<Expr> {
        self.sign("(")?;
        if name.text == "count" {
            let path = self.path()?;
            let filter = self.filter()?;
            self.sign(")")?;
            let kind = ExprKind::Aggregate { name, value: None, path, filter, separator: None };
            return Ok(Expr { kind, span: start.to(self.last()) });
        }
        let first = self.expression()?;
        if self.take_word("for") {
            let path: Path = self.path()?;
            let filter = self.filter()?;
            let separator = if self.take(",") { Some(Box::new(self.expression()?)) } else { None };
            self.sign(")")?;
            let kind = ExprKind::Aggregate { name, value: Some(Box::new(first)), path, filter, separator };
            return Ok(Expr { kind, span: start.to(self.last()) });
        }
        let mut arguments = vec![first];
        while self.take(",") {
            arguments.push(self.expression()?);
        }
        self.sign(")")?;
        Ok(Expr { kind: ExprKind::Call { name, arguments, field: None }, span: start.to(self.last()) })
    }

    fn filter(&mut self) -> Parse<Option<Box<Expr>>> {
        Ok(if self.take_word("where") { Some(Box::new(self.expression()?)) } else { None })
    }

    fn if_expression(&mut self) -> Parse<Expr> {
        let start = self.next().span;
        let condition = Box::new(self.expression()?);
        if !self.take_word("then") {
            return self.expected("`then` and a value");
        }
        let then = Box::new(self.expression()?);
        let otherwise = if self.take_word("else") { Some(Box::new(self.expression()?)) } else { None };
        Ok(Expr { kind: ExprKind::If { condition, then, otherwise }, span: start.to(self.last()) })
    }

    fn match_expression(&mut self) -> Parse<Expr> {
        let start = self.next().span;
        let subject = Box::new(self.expression()?);
        self.sign("{")?;
        let (mut arms, mut otherwise) = (Vec::new(), None);
        while !matches!(self.kind(), Kind::Sign("}") | Kind::End) {
            if self.take_word("else") || self.take_word("_") {
                self.take("=>");
                otherwise = Some(Box::new(self.expression()?));
            } else {
                let patterns = self.patterns()?;
                self.sign("=>")?;
                arms.push((patterns, self.expression()?));
            }
            if !self.take(",") && self.token().breaks == 0 {
                break;
            }
        }
        self.sign("}")?;
        Ok(Expr { kind: ExprKind::Match { subject, arms, otherwise }, span: start.to(self.last()) })
    }

    fn number(&mut self, span: Span) -> ExprKind {
        let slice = self.source.slice(span);
        let (whole, fraction) = slice.split_once('.').unwrap_or((slice, ""));
        let digits = format!("{whole}{fraction}");
        match (digits.parse::<i128>(), i16::try_from(fraction.len())) {
            (Ok(unscaled), Ok(scale)) if digits.trim_start_matches('0').len() <= 38 => {
                ExprKind::Number(Decimal { unscaled, scale })
            }
            _ => {
                self.finding(
                    codes::BAD_NUMBER,
                    span,
                    "the number has more than 38 digits".to_owned(),
                    Some("38 digits are exact; write fewer"),
                );
                ExprKind::Bad
            }
        }
    }

    fn date(&mut self, span: Span) -> ExprKind {
        let slice = self.source.slice(span);
        let part = |range: core::ops::Range<usize>| slice.get(range).and_then(|digits| digits.parse::<i32>().ok());
        let days = match (part(0..4), part(5..7), part(8..10)) {
            (Some(year), Some(month), Some(day)) => date::days_from_civil(year, month, day),
            _ => None,
        };
        match days {
            Some(days) => ExprKind::Date(days),
            None => {
                self.finding(
                    codes::BAD_DATE,
                    span,
                    "there is no such day".to_owned(),
                    Some("a date is written YEAR-MONTH-DAY: 2026-01-31"),
                );
                ExprKind::Bad
            }
        }
    }
}

fn join(op: Binary, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}
