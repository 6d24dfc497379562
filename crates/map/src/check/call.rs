//! Calls: functions of the language, of the map, and lookups.

use quayline_core::Severity;
use quayline_core::near::{nearest, offer};

use super::types::{Digits, Kind, Ty};
use super::{Local, Lower, Reads, Typed};
use crate::codes;
use crate::date::{Format, FormatError};
use crate::functions::decimal::Mode;
use crate::functions::{Builtin, Gives, SIGNATURES, SPECIAL, Signature, Takes, names};
use crate::plan::{Direction, Expr};
use crate::syntax::ast::{self, ExprKind, Name, Path, Step};
use crate::syntax::text::Span;
use crate::value::Val;

/// Operands of `joined`.
const JOINED_MAX: usize = 64;

impl Lower<'_> {
    pub(crate) fn call(
        &mut self,
        name: &Name,
        arguments: &[ast::Expr],
        field: Option<&Name>,
        span: Span,
    ) -> Option<Typed> {
        if self.lookups.contains_key(&name.text) {
            return self.lookup(name, arguments, field, span);
        }
        if let Some(field) = field {
            self.error(codes::NO_LIST, field.span, format!("`{}` gives one value, which has no fields", name.text))
                .hint = Some("only lookups have fields".to_owned());
            return None;
        }
        if self.functions.contains_key(&name.text) {
            return self.own_function(name, arguments, span);
        }
        if let Some(signature) = SIGNATURES.iter().find(|signature| signature.name == name.text) {
            return self.by_signature(signature, name, arguments, span);
        }
        if SPECIAL.iter().any(|(special, _)| *special == name.text) {
            return self.special(name, arguments, span);
        }
        if self.is_incomplete {
            return None;
        }
        let known: Vec<String> = names()
            .map(str::to_owned)
            .chain(self.functions.keys().cloned())
            .chain(self.lookups.keys().cloned())
            .collect();
        let near = nearest(&name.text, known.iter().map(String::as_str));
        let hint = offer(&near).unwrap_or_else(|| format!("define it: fn {}(a) = …", name.text));
        self.error(codes::UNKNOWN_FUNCTION, name.span, format!("there is no function `{}`", name.text)).hint =
            Some(hint);
        None
    }

    /// Checks the number of operands. Reports a finding and returns `None` if it is outside of `least..=most`.
    pub(super) fn operands(&mut self, name: &Name, form: &str, found: usize, least: usize, most: usize) -> Option<()> {
        if (least..=most).contains(&found) {
            return Some(());
        }
        let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
        self.error(
            codes::OPERANDS,
            name.span,
            format!("`{}` takes {wanted} operand{}, found {found}", name.text, if most == 1 { "" } else { "s" }),
        )
        .hint = Some(format!("its form: {form}"));
        None
    }

    fn by_signature(
        &mut self,
        signature: &Signature,
        name: &Name,
        arguments: &[ast::Expr],
        span: Span,
    ) -> Option<Typed> {
        let many = matches!(signature.function, Builtin::Least | Builtin::Greatest);
        let most = if many { usize::MAX } else { signature.takes.len() };
        self.operands(name, signature.form, arguments.len(), signature.least, most)?;
        let mut parts = Vec::new();
        for (i, argument) in arguments.iter().enumerate() {
            let takes = signature.takes.get(i).or(signature.takes.last()).copied().unwrap_or(Takes::Any);
            let part = self.operand(argument, takes);
            parts.push(part);
        }
        if parts.iter().any(|part| part.ty.is_bad()) {
            return None;
        }
        let first = parts.first().map(|part| part.ty.kind);
        let kind = match signature.gives {
            Gives::SameText => first.unwrap_or(Kind::Bad),
            Gives::TextOfSecond => {
                let own = match first {
                    Some(Kind::Text(max)) => max,
                    _ => None,
                };
                let said = parts.get(1).and_then(|part| self.constant_count(part));
                Kind::Text(match (own, said) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                })
            }
            Gives::Text => Kind::Text(None),
            Gives::TextOf(max) => Kind::Text(Some(max)),
            Gives::Bool => Kind::Bool,
            Gives::Count(digits) => {
                let bound = match (signature.function, parts.last().map(|part| part.ty.kind)) {
                    (Builtin::Length | Builtin::Position, Some(Kind::Text(Some(max)))) => {
                        u16::try_from(max.to_string().len()).ok()
                    }
                    _ => None,
                };
                Kind::Decimal(Digits::integer(bound.unwrap_or(digits)))
            }
            Gives::Date => Kind::Date,
            Gives::Time => Kind::Time,
            Gives::DateTime => Kind::DateTime,
            Gives::Special => self.special_result(signature.function, &parts),
        };
        // A predicate always has a result: for an absent operand it is false.
        let maybe = signature.gives != Gives::Bool && (signature.maybe || parts.iter().any(|part| part.ty.maybe));
        let mut typed = self.builtin(signature.function, &parts, Ty { kind, maybe }, span);
        if matches!(signature.function, Builtin::NewId) {
            typed.reads.bound = true;
        }
        Some(typed)
    }

    fn special_result(&self, function: Builtin, parts: &[Typed]) -> Kind {
        let digits = |at: usize| match parts.get(at).map(|part: &Typed| part.ty.kind) {
            Some(Kind::Decimal(digits)) => Some(digits),
            _ => None,
        };
        let chars = |at: usize| match parts.get(at).map(|part: &Typed| part.ty.kind) {
            Some(Kind::Text(max)) => max,
            _ => None,
        };
        match function {
            Builtin::Substring => {
                let said = parts.get(2).and_then(|part| self.constant_count(part));
                Kind::Text(match (chars(0), said) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                })
            }
            Builtin::Replace => {
                let (whole, what, by) = (chars(0), parts.get(1).and_then(|part| self.constant_chars(part)), chars(2));
                Kind::Text(match (whole, what, by) {
                    (Some(whole), Some(what), Some(by)) if by > what && what > 0 => {
                        whole.checked_mul(by).map(|n| n / what + by)
                    }
                    (whole, _, Some(_)) => whole,
                    _ => None,
                })
            }
            Builtin::PadLeft | Builtin::PadRight => {
                let said = parts.get(1).and_then(|part| self.constant_count(part));
                Kind::Text(said.zip(chars(0)).map(|(said, own)| said.max(own)))
            }
            Builtin::Hex => Kind::Text(match parts.first().map(|part| part.ty.kind) {
                Some(Kind::Bytes(max)) => max.and_then(|max| max.checked_mul(2)),
                Some(Kind::Text(max)) => max.and_then(|max| max.checked_mul(8)),
                _ => None,
            }),
            Builtin::Abs => digits(0).map_or(Kind::Float, |digits| Kind::Decimal(Digits { signed: false, ..digits })),
            Builtin::Sign => Kind::Decimal(Digits { signed: true, ..Digits::integer(1) }),
            Builtin::Least | Builtin::Greatest => {
                let mut all = parts.iter().map(|part| part.ty.kind);
                let first = all.next().unwrap_or(Kind::Bad);
                all.fold(first, |joined, kind| match (joined, kind) {
                    (Kind::Decimal(a), Kind::Decimal(b)) => Kind::Decimal(a.join(b)),
                    _ => Kind::Float,
                })
            }
            Builtin::Remainder => match (digits(0), digits(1)) {
                (Some(a), Some(b)) => Kind::Decimal(Digits { whole: b.whole, signed: a.signed, ..a.join(b) }),
                _ => Kind::Float,
            },
            Builtin::DaysBetween => Kind::Decimal(Digits { signed: true, ..Digits::integer(7) }),
            Builtin::SecondsBetween => Kind::Decimal(Digits { scale: Some(6), signed: true, ..Digits::integer(12) }),
            _ => Kind::Bad,
        }
    }

    pub(super) fn operand(&mut self, argument: &ast::Expr, takes: Takes) -> Typed {
        let typed = match takes {
            Takes::Text => return self.text(argument),
            Takes::Number => return self.number(argument),
            Takes::Exact => return self.exact_number(argument),
            Takes::Count => {
                let typed = self.exact_number(argument);
                if let Expr::Const(Val::Num(n, scale)) = self.exprs[typed.id as usize]
                    && (scale != 0 || !(0..=1_000_000).contains(&n))
                {
                    self.error(codes::OPERAND_VALUE, argument.span, "a count is a whole number from 0 to 1,000,000")
                        .hint = Some("correct it".to_owned());
                    return Typed { ty: Ty::BAD, ..typed };
                }
                return typed;
            }
            _ => self.expression(argument),
        };
        let fits = match takes {
            Takes::Date => typed.ty.kind == Kind::Date,
            Takes::Time => typed.ty.kind == Kind::Time,
            Takes::DateTime => typed.ty.kind == Kind::DateTime,
            _ => true,
        };
        if fits || typed.ty.is_bad() || typed.ty.kind == Kind::Absent {
            return typed;
        }
        let (wanted, hint) = match takes {
            Takes::Date => ("a date", "read it: date(…, \"CCYYMMDD\")"),
            Takes::Time => ("a time", "read it: time(…, \"HHMM\")"),
            _ => ("a date and time", "read it: datetime(…, \"CCYYMMDDHHMM\"), or join both: at-time(date, time)"),
        };
        self.error(codes::TYPE, typed.span, format!("{wanted} is needed here; this is {}", typed.ty.kind)).hint =
            Some(hint.to_owned());
        Typed { ty: Ty::BAD, ..typed }
    }

    /// Checks an expression whose type must be an exact number.
    pub(super) fn exact_number(&mut self, expr: &ast::Expr) -> Typed {
        let typed = self.number(expr);
        if typed.ty.kind != Kind::Float {
            return typed;
        }
        self.error(codes::TYPE, typed.span, "an exact number is needed here; this is a float").hint =
            Some("round it to a number of decimals: round(…, 2)".to_owned());
        Typed { ty: Ty::BAD, ..typed }
    }

    /// Returns the digits of an exact number, or reports a finding if the expression is always absent.
    fn digits_needed(&mut self, typed: &Typed) -> Option<Digits> {
        match typed.ty.kind {
            Kind::Decimal(digits) => Some(digits),
            Kind::Bad => None,
            kind => {
                self.error(codes::TYPE, typed.span, format!("a number is needed here; this is {kind}")).hint =
                    Some("name a number".to_owned());
                None
            }
        }
    }

    fn constant_count(&self, part: &Typed) -> Option<u32> {
        match self.exprs[part.id as usize] {
            Expr::Const(Val::Num(n, 0)) => u32::try_from(n).ok(),
            _ => None,
        }
    }

    fn constant_chars(&self, part: &Typed) -> Option<u32> {
        match (self.exprs[part.id as usize], part.ty.kind) {
            (Expr::Const(_), Kind::Text(chars)) => chars,
            _ => None,
        }
    }

    fn special(&mut self, name: &Name, arguments: &[ast::Expr], span: Span) -> Option<Typed> {
        let form = SPECIAL.iter().find(|(special, _)| *special == name.text).map_or("", |(_, form)| *form);
        match name.text.as_str() {
            "round" => {
                self.operands(name, form, arguments.len(), 2, 3)?;
                self.round(arguments, span)
            }
            "text" => {
                self.operands(name, form, arguments.len(), 1, 1)?;
                Some(self.text(&arguments[0]))
            }
            "number" => {
                self.operands(name, form, arguments.len(), 1, 2)?;
                self.read_number(arguments, span)
            }
            "float" => {
                self.operands(name, form, arguments.len(), 1, 1)?;
                let part = self.expression(&arguments[0]);
                Some(self.builtin(
                    Builtin::ToFloat,
                    std::slice::from_ref(&part),
                    Ty { kind: Kind::Float, maybe: part.ty.maybe },
                    span,
                ))
            }
            "format" => {
                self.operands(name, form, arguments.len(), 2, 2)?;
                self.format(arguments, span)
            }
            "date" | "time" | "datetime" | "is-date" => {
                self.operands(name, form, arguments.len(), 2, 3)?;
                self.read_moment(name, arguments, span)
            }
            "scale" => {
                self.operands(name, form, arguments.len(), 2, 2)?;
                self.scale(arguments, span)
            }
            "fit" => {
                self.operands(name, form, arguments.len(), 3, 3)?;
                self.fit_call(arguments, span)
            }
            "unsigned" => {
                self.operands(name, form, arguments.len(), 1, 1)?;
                let value = self.number(&arguments[0]);
                let Kind::Decimal(own) = value.ty.kind else { return Some(value) };
                // The writer of the value checks the sign; the declared type is trusted here.
                let kind = Kind::Decimal(Digits { signed: false, ..own });
                Some(Typed { ty: Ty { kind, ..value.ty }, span, ..value })
            }
            "joined" => {
                self.operands(name, form, arguments.len(), 3, JOINED_MAX)?;
                let parts: Vec<Typed> = arguments.iter().map(|argument| self.text(argument)).collect();
                Some(self.join_texts(&parts, span))
            }
            "present" => {
                self.operands(name, form, arguments.len(), 1, 1)?;
                self.present(&arguments[0])
            }
            "position" => {
                self.operands(name, form, arguments.len(), 0, 1)?;
                self.position(arguments.first(), span)
            }
            "translate" | "reverse" => {
                self.operands(name, form, arguments.len(), 2, 2)?;
                self.translate(name, arguments, span)
            }
            _ => {
                self.error(codes::OPERANDS, name.span, format!("`{}` goes through a list", name.text)).hint =
                    Some(format!("its form: {form}"));
                None
            }
        }
    }

    fn word(argument: &ast::Expr) -> Option<&Name> {
        match &argument.kind {
            ExprKind::Path(Path { steps, .. }) => match steps.as_slice() {
                [Step { name, select: None, .. }] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    fn round(&mut self, arguments: &[ast::Expr], span: Span) -> Option<Typed> {
        let decimals = self.constant_integer(&arguments[1], -30..=30, "decimals")?;
        let mode = match arguments.get(2) {
            None => Mode::HalfUp,
            Some(argument) => {
                let word = Self::word(argument).map(|name| name.text.clone()).unwrap_or_default();
                let Some(mode) = Mode::by_name(&word) else {
                    let near = offer(&nearest(&word, Mode::NAMES.iter().copied()));
                    self.error(codes::OPERAND_VALUE, argument.span, "unknown rounding mode").hint =
                        Some(near.unwrap_or_else(|| format!("there are {}", Mode::NAMES.join(", "))));
                    return None;
                };
                mode
            }
        };
        let mode = self.constant_value(Val::int(mode as i64), Kind::Decimal(Digits::integer(1)), span);
        let places = self.constant_value(Val::int(decimals), Kind::Decimal(Digits::integer(2)), span);
        let scale = i16::try_from(decimals).unwrap_or(0);
        if let ExprKind::Binary(ast::Binary::Divide, left, right) = &arguments[0].kind {
            let (a, b) = (self.number(left), self.number(right));
            if let Expr::Const(Val::Num(0, _)) = self.exprs[b.id as usize] {
                self.error(codes::OPERAND_VALUE, right.span, "nothing is divided by zero").hint =
                    Some("correct the divisor".to_owned());
                return None;
            }
            if a.ty.kind == Kind::Float || b.ty.kind == Kind::Float {
                let maybe = a.ty.maybe || b.ty.maybe;
                let id = self.expr(Expr::FloatOp(crate::plan::FloatOp::Divide, a.id, b.id));
                let quotient = self.both(id, Ty { kind: Kind::Float, maybe }, a, b, span);
                let ty = Ty { kind: Kind::Decimal(Digits { scale: Some(scale), ..Digits::UNKNOWN }), maybe };
                return Some(self.builtin(Builtin::Round, &[quotient, places, mode], ty, span));
            }
            let (x, y) = (self.digits_needed(&a)?, self.digits_needed(&b)?);
            let whole = x
                .whole
                .zip(y.scale)
                .and_then(|(whole, scale)| u16::try_from(i32::from(whole) + i32::from(scale) + 1).ok());
            let ty = Ty {
                kind: Kind::Decimal(Digits {
                    whole,
                    scale: Some(scale),
                    signed: x.signed || y.signed,
                    sum_of: x.sum_of,
                }),
                maybe: a.ty.maybe || b.ty.maybe,
            };
            return Some(self.builtin(Builtin::Divide, &[a, b, places, mode], ty, span));
        }
        let value = self.number(&arguments[0]);
        let digits = if value.ty.kind == Kind::Float { Digits::UNKNOWN } else { self.digits_needed(&value)? };
        // Rounding up may need one more digit, but only if digits are cut.
        let cuts = digits.scale.is_none_or(|from| from > scale);
        let whole = digits.whole.map(|whole| whole + u16::from(cuts));
        let ty = Ty { kind: Kind::Decimal(Digits { whole, scale: Some(scale), ..digits }), maybe: value.ty.maybe };
        Some(self.builtin(Builtin::Round, &[value, places, mode], ty, span))
    }

    fn constant_integer(
        &mut self,
        argument: &ast::Expr,
        range: core::ops::RangeInclusive<i64>,
        what: &str,
    ) -> Option<i64> {
        if let ExprKind::Number(n) = &argument.kind
            && n.scale == 0
            && let Ok(n) = i64::try_from(n.unscaled)
            && range.contains(&n)
        {
            return Some(n);
        }
        let message = format!("the number of {what} is a constant from {} to {}", range.start(), range.end());
        self.error(codes::OPERAND_VALUE, argument.span, message).hint =
            Some("write a whole number of this range".to_owned());
        None
    }

    fn read_number(&mut self, arguments: &[ast::Expr], span: Span) -> Option<Typed> {
        let value = self.expression(&arguments[0]);
        let digits = match value.ty.kind {
            Kind::Text(_) => Digits::UNKNOWN,
            Kind::Decimal(_) => {
                self.finding(Severity::Note, codes::USELESS, span, "this is a number already").hint =
                    Some("remove `number( )`".to_owned());
                return Some(value);
            }
            Kind::Bad => return None,
            kind => {
                self.error(codes::TYPE, value.span, format!("a number is read from text; this is {kind}")).hint =
                    Some("floats become numbers by round(…, decimals)".to_owned());
                return None;
            }
        };
        let mark = match arguments.get(1) {
            None => '.',
            Some(argument) => match &argument.kind {
                ExprKind::Text(text) if matches!(text.as_str(), "," | ".") => text.chars().next().unwrap_or('.'),
                _ => {
                    self.error(codes::OPERAND_VALUE, argument.span, "the decimal mark is \",\" or \".\"").hint =
                        Some("write number(text, \",\")".to_owned());
                    return None;
                }
            },
        };
        let mark = self.constant_value(Val::int(i64::from(u32::from(mark))), Kind::Decimal(Digits::integer(3)), span);
        let ty = Ty { kind: Kind::Decimal(digits), maybe: value.ty.maybe };
        Some(self.builtin(Builtin::Number, &[value, mark], ty, span))
    }

    fn constant_text<'e>(&mut self, argument: &'e ast::Expr) -> Option<&'e str> {
        if let ExprKind::Text(text) = &argument.kind {
            return Some(text);
        }
        self.error(codes::OPERAND_VALUE, argument.span, "a format is a constant text").hint =
            Some("write it in double quotes: \"CCYYMMDD\"".to_owned());
        None
    }

    fn date_format(&mut self, argument: &ast::Expr, century: i32) -> Option<(u16, Format)> {
        let text = self.constant_text(argument)?.to_owned();
        match Format::parse(&text, century) {
            Ok(format) => Some((self.format_index(format.clone()), format)),
            Err(error) => {
                let message = match error {
                    FormatError::Letter(c) => format!("`{c}` is not part of a date or time"),
                    FormatError::Twice => "a part occurs twice in this format".to_owned(),
                    FormatError::Empty => "the format has no part of a date or time".to_owned(),
                };
                self.error(codes::FORMAT, argument.span, message).hint =
                    Some("parts are CCYY (or YYYY), YY, MM, DD, DDD, HH, MM or NN after HH, SS, and f for each digit of a second".to_owned());
                None
            }
        }
    }

    /// Returns the number of a format among those of the plan.
    pub(super) fn format_index(&mut self, format: Format) -> u16 {
        let at = self.formats.iter().position(|known| *known == format).unwrap_or_else(|| {
            self.formats.push(format);
            self.formats.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    fn format(&mut self, arguments: &[ast::Expr], span: Span) -> Option<Typed> {
        let value = self.expression(&arguments[0]);
        match value.ty.kind {
            Kind::Date | Kind::Time | Kind::DateTime => {
                let (_, format) = self.date_format(&arguments[1], 1950)?;
                let lacks = match value.ty.kind {
                    Kind::Date if format.needs_time() => Some("a time"),
                    Kind::Time if format.needs_date() => Some("a date"),
                    _ => None,
                };
                if let Some(lacks) = lacks {
                    self.error(
                        codes::FORMAT,
                        arguments[1].span,
                        format!("the format requires {lacks}, and the value is {}", value.ty.kind),
                    )
                    .hint = Some("join both: at-time(date, time)".to_owned());
                    return None;
                }
                Some(Typed { span, ..self.formatted(value, format) })
            }
            Kind::Decimal(digits) => {
                let text = self.constant_text(&arguments[1])?.to_owned();
                let Some(picture) = crate::functions::decimal::Picture::parse(&text) else {
                    self.error(codes::FORMAT, arguments[1].span, "this is not a picture of a number").hint =
                        Some("0 is a digit, # a digit that may be missing, one point, one leading - for a sign: \"-00000.00\"".to_owned());
                    return None;
                };
                let holds = u16::from(picture.whole);
                if let Some(whole) = digits.whole
                    && whole > holds
                    && !picture.open
                {
                    self.warning(
                        codes::DIGITS_LOST,
                        arguments[1].span,
                        format!("the picture has {holds} digits, and the number up to {whole}"),
                    )
                    .hint = Some("make it wider".to_owned());
                }
                if let Some(scale) = digits.scale
                    && scale > i16::from(picture.decimals)
                {
                    self.warning(
                        codes::DECIMALS_LOST,
                        arguments[1].span,
                        format!("the picture has {} decimals, and the number up to {scale}", picture.decimals),
                    )
                    .hint = Some(format!("round it first: round(…, {})", picture.decimals));
                }
                // An open picture grows with the number.
                let more = digits.whole.map(|whole| u32::from(whole.saturating_sub(holds)));
                let chars =
                    if picture.open { more.map(|more| picture.width() + more + 1) } else { Some(picture.width()) };
                let val = self.text_constant(&text);
                let picture = self.constant_value(val, Kind::Text(None), span);
                let ty = Ty { kind: Kind::Text(chars), maybe: value.ty.maybe };
                Some(self.builtin(Builtin::FormatNumber, &[value, picture], ty, span))
            }
            Kind::Bad => None,
            kind => {
                self.error(codes::TYPE, value.span, format!("dates, times and numbers have formats; this is {kind}"))
                    .hint = Some("read it first: date(…, \"CCYYMMDD\") or number(…)".to_owned());
                None
            }
        }
    }

    fn read_moment(&mut self, name: &Name, arguments: &[ast::Expr], span: Span) -> Option<Typed> {
        let value = self.text(&arguments[0]);
        let century = match arguments.get(2) {
            Some(argument) => {
                i32::try_from(self.constant_integer(argument, 1..=9900, "the first year")?).unwrap_or(1950)
            }
            None => 0,
        };
        let (_, format) = self.date_format(&arguments[1], 1950)?;
        if format.is_short() && century == 0 {
            self.error(codes::CENTURY, arguments[1].span, "two digits do not tell the century").hint = Some(format!(
                "name the first of the hundred years meant: {}(…, …, 1950) reads 50 to 99 as 19.., 00 to 49 as 20..",
                name.text
            ));
            return None;
        }
        let (index, format) = self.date_format(&arguments[1], if century == 0 { 1950 } else { century })?;
        let (function, kind, lacks) = match name.text.as_str() {
            "date" => (Builtin::ReadDate, Kind::Date, (!format.has_date()).then_some("year, month and day")),
            "time" => (Builtin::ReadTime, Kind::Time, (!format.has_time()).then_some("hours")),
            "datetime" => (
                Builtin::ReadDateTime,
                Kind::DateTime,
                (!format.has_date() || !format.has_time()).then_some("year, month, day and hours"),
            ),
            _ => (Builtin::IsDate, Kind::Bool, None),
        };
        if let Some(lacks) = lacks {
            self.error(codes::FORMAT, arguments[1].span, format!("`{}` needs {lacks} in its format", name.text)).hint =
                Some("date(…, \"CCYYMMDD\"), time(…, \"HHMM\"), datetime(…, \"CCYYMMDDHHMM\")".to_owned());
            return None;
        }
        if let Kind::Text(Some(max)) = value.ty.kind {
            let shortest = format.width_least();
            if usize::try_from(max).unwrap_or(usize::MAX) < shortest {
                self.warning(
                    codes::NEVER,
                    span,
                    format!("the format needs {shortest} characters, and the text has at most {max}"),
                )
                .hint = Some("correct the format".to_owned());
            }
        }
        let maybe = function != Builtin::IsDate && value.ty.maybe;
        let index = self.constant_value(Val::int(index.into()), Kind::Decimal(Digits::integer(5)), span);
        Some(self.builtin(function, &[value, index], Ty { kind, maybe }, span))
    }

    fn scale(&mut self, arguments: &[ast::Expr], span: Span) -> Option<Typed> {
        let value = self.exact_number(&arguments[0]);
        let places = self.constant_integer(&arguments[1], -30..=30, "places")?;
        let digits = self.digits_needed(&value)?;
        let by = i16::try_from(places).unwrap_or(0);
        let moved = |whole: u16| u16::try_from((i32::from(whole) - i32::from(by)).max(0)).ok();
        let kind = Kind::Decimal(Digits {
            whole: digits.whole.and_then(moved),
            scale: digits.scale.map(|scale| scale + by),
            signed: digits.signed,
            sum_of: digits.sum_of.and_then(moved),
        });
        let places = self.constant_value(Val::int(places), Kind::Decimal(Digits::integer(2)), span);
        let ty = Ty { kind, maybe: value.ty.maybe };
        Some(self.builtin(Builtin::Scale, &[value, places], ty, span))
    }

    fn fit_call(&mut self, arguments: &[ast::Expr], span: Span) -> Option<Typed> {
        let value = self.exact_number(&arguments[0]);
        let digits = self.constant_integer(&arguments[1], 1..=38, "digits")?;
        let scale = self.constant_integer(&arguments[2], 0..=38, "decimals")?;
        let own = self.digits_needed(&value)?;
        if scale > digits {
            self.error(codes::OPERAND_VALUE, arguments[2].span, "there are more decimals than digits").hint =
                Some("digits include those before and after the point".to_owned());
            return None;
        }
        let kind = Kind::Decimal(Digits {
            whole: u16::try_from(digits - scale).ok(),
            scale: i16::try_from(scale).ok(),
            signed: own.signed,
            sum_of: None,
        });
        let digits = self.constant_value(Val::int(digits), Kind::Decimal(Digits::integer(2)), span);
        let scale = self.constant_value(Val::int(scale), Kind::Decimal(Digits::integer(2)), span);
        let ty = Ty { kind, maybe: value.ty.maybe };
        Some(self.builtin(Builtin::Fit, &[value, digits, scale], ty, span))
    }

    fn present(&mut self, argument: &ast::Expr) -> Option<Typed> {
        let path = match &argument.kind {
            ExprKind::Path(path) => path.clone(),
            ExprKind::Number(_) => {
                let step = |text: &str| {
                    let name = Name { text: text.to_owned(), span: argument.span };
                    Step { name, select: None, span: argument.span }
                };
                Path { steps: self.slice(argument.span).split('.').map(step).collect(), span: argument.span }
            }
            _ => {
                let mut value = self.expression(argument);
                self.quiet(&mut value);
                if self.is_never_blank(&value) {
                    self.warning(codes::CONSTANT, argument.span, "this always has a value").hint =
                        Some("remove the question".to_owned());
                }
                let id = self.expr(Expr::Present(value.id));
                return Some(Typed { id, ty: Ty::BOOL, ..value });
            }
        };
        let first = &path.steps[0].name.text;
        let local = self.locals[self.locals_from..].iter().any(|local| local.name == *first);
        if local || (first == "envelope" && path.steps.len() == 2) {
            let value = self.expression(argument);
            let id = self.expr(Expr::Present(value.id));
            return Some(Typed { id, ty: Ty::BOOL, ..value });
        }
        self.presence(&path)
    }

    fn position(&mut self, argument: Option<&ast::Expr>, span: Span) -> Option<Typed> {
        let cursor = match argument {
            None => self
                .chain
                .iter()
                .rev()
                .find(|context| context.node != quayline_core::NodeId::ROOT)
                .map(|context| context.cursor),
            Some(argument) => {
                let name = Self::word(argument).map(|name| name.text.clone()).unwrap_or_default();
                let found = self.chain.iter().rev().find(|context| {
                    context.binding.as_ref().is_some_and(|binding| binding.text == name)
                        || self.source.node(context.node).name == name
                });
                found.map(|context| context.cursor)
            }
        };
        let Some(cursor) = cursor else {
            self.error(codes::NO_LOOP, span, "there is no such loop around this").hint =
                Some("use position() inside `for`; position(name) names an enclosing loop".to_owned());
            return None;
        };
        let id = self.expr(Expr::Position(cursor));
        let ty = Ty::new(Kind::Decimal(Digits::integer(9)));
        Some(Typed { id, ty, reads: Reads { places: vec![(cursor, None)], ..Reads::default() }, span })
    }

    fn translate(&mut self, name: &Name, arguments: &[ast::Expr], span: Span) -> Option<Typed> {
        let key = self.text(&arguments[0]);
        let Some(word) = Self::word(&arguments[1]).cloned() else {
            self.error(codes::UNKNOWN_TABLE, arguments[1].span, "a table is named here").hint =
                Some("translate(text, table)".to_owned());
            return None;
        };
        let table = self.table(&word)?;
        let def = &self.tables[&word.text];
        let (key_max, value_max, one_to_one, codes_only) = (def.key_max, def.value_max, def.one_to_one, def.codes);
        if codes_only {
            self.error(
                codes::UNKNOWN_TABLE,
                word.span,
                format!("`{}` is a code list: it has nothing to translate to", word.text),
            )
            .hint = Some("ask whether a code is in it: `… in codes`; or make it a table".to_owned());
            return None;
        }
        let back = name.text == "reverse";
        if back && !one_to_one {
            self.warning(
                codes::AMBIGUOUS,
                word.span,
                format!("several codes of `{}` become the same value, so the way back is not one to one", word.text),
            )
            .hint = Some(
                "the first of them is taken; say of the others that they go one way: \"a\" => \"b\" one-way".to_owned(),
            );
        }
        let direction = if back { Direction::Back } else { Direction::Forward };
        let chars = if back { key_max } else { value_max };
        let id = self.expr(Expr::Table { table, direction, key: key.id, quiet: false });
        // A missing code is a finding, so a value exists whenever the document continues; see `quiet`.
        let maybe = key.ty.maybe;
        Some(Typed { id, ty: Ty { kind: Kind::Text(Some(chars)), maybe }, span, ..key })
    }

    /// Marks a table lookup whose absence is tested by the map, so that a missing code is not a finding.
    pub(crate) fn quiet(&mut self, value: &mut Typed) {
        if let Some(Expr::Table { quiet, .. }) = self.exprs.get_mut(value.id as usize) {
            *quiet = true;
            value.ty.maybe = true;
        }
    }

    /// Inlines a function of the map at its call. Each operand is computed once.
    fn own_function(&mut self, name: &Name, arguments: &[ast::Expr], span: Span) -> Option<Typed> {
        if self.too_deep(name.span, &name.text) {
            return None;
        }
        let (function, used) = self.functions.get_mut(&name.text)?;
        *used = true;
        let function = function.clone();
        let form = format!(
            "{}({})",
            name.text,
            function.parameters.iter().map(|p| p.text.as_str()).collect::<Vec<_>>().join(", "),
        );
        self.operands(name, &form, arguments.len(), function.parameters.len(), function.parameters.len())?;
        let mut reads = Reads::default();
        let mut bound = Vec::new();
        let mut locals = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let typed = self.expression(argument);
            reads.add(&typed.reads);
            let simple = matches!(
                self.exprs[typed.id as usize],
                Expr::Const(_) | Expr::Slot { .. } | Expr::Bound(_) | Expr::Var(_)
            );
            let expr = if simple {
                self.exprs[typed.id as usize]
            } else {
                let var = self.new_var(&parameter.text);
                bound.push((var, typed.id));
                Expr::Bound(var)
            };
            locals.push(Local {
                name: parameter.text.clone(),
                span: parameter.span,
                expr,
                ty: typed.ty,
                reads: typed.reads,
                var: None,
                mutable: false,
                used: true,
            });
        }
        let chain = core::mem::take(&mut self.chain);
        let from = core::mem::replace(&mut self.locals_from, self.locals.len());
        let depth = self.locals.len();
        self.locals.extend(locals);
        self.inlined.push(name.text.clone());
        let body = self.expression(&function.body);
        self.inlined.pop();
        self.locals.truncate(depth);
        self.locals_from = from;
        self.chain = chain;
        if body.ty.is_bad() {
            return None;
        }
        let mut id = body.id;
        for (var, value) in bound.into_iter().rev() {
            id = self.expr(Expr::Bind(var, value, id));
        }
        reads.add(&body.reads);
        Some(Typed { id, ty: body.ty, reads, span })
    }
}
