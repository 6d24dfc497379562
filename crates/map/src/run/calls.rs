//! Evaluation of builtin functions. An absent operand makes the result absent, or false for predicates.

use quayline_core::digest;

use super::emit::quickly_fits;
use super::fault::What;
use super::mapper::Mapper;
use crate::date::{self, DAY};
use crate::functions::decimal::{self, Mode, Picture};
use crate::functions::{Builtin, texts};
use crate::host::{Host, Outputs};
use crate::observe::Observer;
use crate::plan::{Expr, ExprId, Order};
use crate::value::{Bytes, Val};

impl<O: Outputs, H: Host, V: Observer> Mapper<'_, O, H, V> {
    pub(super) fn call(&mut self, function: Builtin, first: u32, count: u32) -> Val {
        let plan = self.plan;
        let parts = &plan.lists[first as usize..(first + count) as usize];
        match self.called(function, parts) {
            Some(val) => val,
            None => match function {
                Builtin::Contains
                | Builtin::StartsWith
                | Builtin::EndsWith
                | Builtin::Like
                | Builtin::IsNumber
                | Builtin::IsDate => Val::Bool(false),
                _ => Val::Absent,
            },
        }
    }

    fn bytes(&mut self, part: ExprId) -> Option<(Bytes, bool)> {
        let val = self.eval(part);
        let text = matches!(val, Val::Text(_));
        self.text_of(val).map(|bytes| (bytes, text))
    }

    /// Evaluates an operand as an integer from 0 to 1,000,000.
    fn count(&mut self, part: ExprId) -> Option<usize> {
        let number = self.number(part)?;
        let (n, scale) = decimal::trimmed(number);
        if scale <= 0
            && (0..=1_000_000).contains(&n)
            && n.checked_mul(decimal::power(scale.unsigned_abs().into())?)? <= 1_000_000
        {
            let n = n * decimal::power(scale.unsigned_abs().into())?;
            return usize::try_from(n).ok();
        }
        self.fault(What::Count, None, None);
        None
    }

    fn part(bytes: Bytes, from: usize, to: usize) -> Bytes {
        let start = bytes.start + u32::try_from(from).unwrap_or(0);
        Bytes { start, len: u32::try_from(to.saturating_sub(from)).unwrap_or(0) }
    }

    fn text_like(bytes: Bytes, text: bool) -> Val {
        if text { Val::Text(bytes) } else { Val::Ascii(bytes) }
    }

    fn called(&mut self, function: Builtin, parts: &[ExprId]) -> Option<Val> {
        match function {
            Builtin::Upper | Builtin::Lower => {
                let (bytes, text) = self.bytes(parts[0])?;
                Some(self.case(bytes, text, function == Builtin::Upper))
            }
            Builtin::Trim | Builtin::TrimStart | Builtin::TrimEnd => {
                let (bytes, text) = self.bytes(parts[0])?;
                let all = self.arena.get(bytes);
                let from = if function == Builtin::TrimEnd { 0 } else { texts::trim_start(all) };
                let to = if function == Builtin::TrimStart { all.len() } else { texts::trim_end(all) };
                Some(Self::text_like(Self::part(bytes, from, to), text))
            }
            Builtin::Left | Builtin::Right => {
                let (bytes, text) = self.bytes(parts[0])?;
                let n = self.count(parts[1])?;
                let all = self.arena.get(bytes);
                let (from, to) = if function == Builtin::Left {
                    (0, texts::char_offset(all, n))
                } else {
                    (texts::char_offset(all, texts::char_count(all).saturating_sub(n)), all.len())
                };
                Some(Self::text_like(Self::part(bytes, from, to), text))
            }
            Builtin::Substring => {
                let (bytes, text) = self.bytes(parts[0])?;
                let from = self.count(parts[1])?;
                let n = match parts.get(2) {
                    Some(part) => self.count(*part)?,
                    None => usize::MAX,
                };
                // Characters are counted from 1, as people count them.
                let Some(from) = from.checked_sub(1) else {
                    self.fault(What::Position, None, None);
                    return None;
                };
                let all = self.arena.get(bytes);
                let (start, end) = (texts::char_offset(all, from), texts::char_offset(all, from.saturating_add(n)));
                Some(Self::text_like(Self::part(bytes, start, end), text))
            }
            Builtin::Length => {
                let (bytes, _) = self.bytes(parts[0])?;
                Some(Val::int(i64::try_from(texts::char_count(self.arena.get(bytes))).unwrap_or(0)))
            }
            Builtin::Squeeze | Builtin::OnlyDigits | Builtin::OnlyLetters | Builtin::Replace | Builtin::Hex => {
                self.rewritten(function, parts)
            }
            Builtin::PadLeft | Builtin::PadRight => self.padded(function, parts),
            Builtin::Repeat => {
                let (bytes, text) = self.bytes(parts[0])?;
                let n = self.count(parts[1])?;
                if n.saturating_mul(bytes.len as usize) > 1_000_000 {
                    self.fault(What::Count, None, None);
                    return None;
                }
                let mark = self.arena.mark();
                for _ in 0..n {
                    self.arena.again(bytes);
                }
                Some(Self::text_like(self.arena.since(mark), text))
            }
            Builtin::Contains | Builtin::StartsWith | Builtin::EndsWith | Builtin::Like => {
                let (a, _) = self.bytes(parts[0])?;
                let (b, _) = self.bytes(parts[1])?;
                let (a, b) = (self.arena.get(a), self.arena.get(b));
                Some(Val::Bool(match function {
                    Builtin::Contains => texts::find(a, b).is_some(),
                    Builtin::StartsWith => a.starts_with(b),
                    Builtin::EndsWith => a.ends_with(b),
                    _ => texts::like(a, b),
                }))
            }
            Builtin::Position => {
                let (part, _) = self.bytes(parts[0])?;
                let (all, _) = self.bytes(parts[1])?;
                let all = self.arena.get(all);
                let at = texts::find(all, self.arena.get(part))?;
                Some(Val::int(i64::try_from(texts::char_count(&all[..at]) + 1).unwrap_or(0)))
            }
            Builtin::Split => {
                let (bytes, text) = self.bytes(parts[0])?;
                let (separator, _) = self.bytes(parts[1])?;
                let n = self.count(parts[2])?;
                if n == 0 {
                    self.fault(What::Position, None, None);
                    return None;
                }
                let all = self.arena.get(bytes);
                let found = texts::split(all, self.arena.get(separator), n)?;
                let from = found.as_ptr() as usize - all.as_ptr() as usize;
                Some(Self::text_like(Self::part(bytes, from, from + found.len()), text))
            }
            Builtin::Round
            | Builtin::Divide
            | Builtin::Abs
            | Builtin::Sign
            | Builtin::Least
            | Builtin::Greatest
            | Builtin::Remainder
            | Builtin::Scale
            | Builtin::Fit => self.computed(function, parts),
            Builtin::Number | Builtin::FormatNumber | Builtin::IsNumber | Builtin::ToFloat => {
                self.converted(function, parts)
            }
            Builtin::Hash | Builtin::Sha256 | Builtin::IdOf | Builtin::NewId => self.digested(function, parts),
            _ => self.moment(function, parts),
        }
    }

    fn case(&mut self, bytes: Bytes, text: bool, upper: bool) -> Val {
        let mark = self.arena.mark();
        let copy = self.arena.again(bytes);
        if !text || self.arena.get(copy).is_ascii() {
            let slice = self.arena.get_mut(copy);
            if upper {
                slice.make_ascii_uppercase()
            } else {
                slice.make_ascii_lowercase()
            }
            return Self::text_like(copy, text);
        }
        let changed = core::str::from_utf8(self.arena.get(copy))
            .map(|text| if upper { text.to_uppercase() } else { text.to_lowercase() });
        match changed {
            Ok(changed) => {
                self.arena.release(mark);
                Val::Text(self.arena.keep(changed.as_bytes()))
            }
            Err(_) => Val::Text(copy),
        }
    }

    fn rewritten(&mut self, function: Builtin, parts: &[ExprId]) -> Option<Val> {
        let mut out = core::mem::take(&mut self.scratch);
        out.clear();
        let mut text = false;
        let done = (|| {
            if function == Builtin::Hex {
                let val = self.eval(parts[0]);
                let bytes = match val {
                    Val::Bytes(bytes) | Val::Raw(bytes) => bytes,
                    val => self.text_of(val)?,
                };
                digest::write_hex(self.arena.get(bytes), &mut out);
                return Some(());
            }
            let (bytes, is_text) = self.bytes(parts[0])?;
            text = is_text;
            match function {
                Builtin::Squeeze => texts::squeeze(self.arena.get(bytes), &mut out),
                Builtin::OnlyDigits => out.extend(self.arena.get(bytes).iter().filter(|byte| byte.is_ascii_digit())),
                Builtin::OnlyLetters => match core::str::from_utf8(self.arena.get(bytes)) {
                    Ok(all) => out.extend(all.chars().filter(|c| c.is_alphabetic()).collect::<String>().into_bytes()),
                    Err(_) => out.extend(self.arena.get(bytes).iter().filter(|byte| byte.is_ascii_alphabetic())),
                },
                _ => {
                    let (what, _) = self.bytes(parts[1])?;
                    // Without a replacement, the part is removed.
                    let by = self.eval(parts[2]);
                    text |= matches!(by, Val::Text(_));
                    let by = self.text_of(by).unwrap_or_default();
                    let (all, what, by) = (self.arena.get(bytes), self.arena.get(what), self.arena.get(by));
                    if texts::replace(all, what, by, self.text_max, &mut out).is_none() {
                        self.fault(What::Text { max: self.text_max }, None, None);
                        return None;
                    }
                }
            }
            Some(())
        })();
        let val = done.map(|()| Self::text_like(self.arena.keep(&out), text));
        self.scratch = out;
        val
    }

    fn padded(&mut self, function: Builtin, parts: &[ExprId]) -> Option<Val> {
        let (bytes, mut text) = self.bytes(parts[0])?;
        let n = self.count(parts[1])?;
        let with = match parts.get(2) {
            Some(part) => {
                let (with, is_text) = self.bytes(*part)?;
                text |= is_text;
                with
            }
            None => self.arena.keep(b" "),
        };
        let missing = n.saturating_sub(texts::char_count(self.arena.get(bytes)));
        if missing == 0 || with.len == 0 {
            return Some(Self::text_like(bytes, text));
        }
        let unit = texts::char_count(self.arena.get(with)).max(1);
        let mark = self.arena.mark();
        if function == Builtin::PadRight {
            self.arena.again(bytes);
        }
        let mut left = missing;
        while left > 0 {
            let piece =
                if left >= unit { with } else { Self::part(with, 0, texts::char_offset(self.arena.get(with), left)) };
            self.arena.again(piece);
            left = left.saturating_sub(unit);
        }
        if function == Builtin::PadLeft {
            self.arena.again(bytes);
        }
        Some(Self::text_like(self.arena.since(mark), text))
    }

    /// Returns a constant that the checker added to the operands.
    fn constant(&mut self, part: ExprId) -> i128 {
        match self.plan.exprs[part as usize] {
            Expr::Const(Val::Num(n, _)) => n,
            _ => match self.eval(part) {
                Val::Num(n, _) => n,
                _ => 0,
            },
        }
    }

    fn exact_result(&mut self, result: Option<(i128, i16)>) -> Option<Val> {
        match result {
            Some((n, scale)) => Some(Val::Num(n, scale)),
            None => {
                self.fault(What::Overflow, None, None);
                None
            }
        }
    }

    fn computed(&mut self, function: Builtin, parts: &[ExprId]) -> Option<Val> {
        match function {
            Builtin::Round => {
                let places = i16::try_from(self.constant(parts[1])).unwrap_or(0);
                let mode = Mode::by_number(self.constant(parts[2]));
                let val = self.eval(parts[0]);
                let number = match val {
                    Val::Float32(_) | Val::Float64(_) => self.exact_float(val)?,
                    val => self.number_value(val, parts[0])?,
                };
                self.exact_result(decimal::round(number, places, mode))
            }
            Builtin::Divide => {
                let a = self.number(parts[0])?;
                let b = self.number(parts[1])?;
                let places = i16::try_from(self.constant(parts[2])).unwrap_or(0);
                let mode = Mode::by_number(self.constant(parts[3]));
                if b.0 == 0 {
                    let source = self.source_of(parts[1]);
                    self.fault(What::ZeroDivisor, None, source);
                    return None;
                }
                self.exact_result(decimal::divide(a, b, places, mode))
            }
            Builtin::Abs | Builtin::Sign => {
                let val = self.eval(parts[0]);
                if let Val::Float32(_) | Val::Float64(_) = val {
                    let x = self.float_value(val, parts[0])?;
                    return Some(if function == Builtin::Abs {
                        Val::Float64(x.abs())
                    } else {
                        Val::int(if x > 0.0 {
                            1
                        } else if x < 0.0 {
                            -1
                        } else {
                            0
                        })
                    });
                }
                let (n, scale) = self.number_value(val, parts[0])?;
                Some(if function == Builtin::Abs { Val::Num(n.abs(), scale) } else { Val::Num(n.signum(), 0) })
            }
            Builtin::Least | Builtin::Greatest => {
                let mut best: Option<Val> = None;
                for part in parts {
                    let val = self.eval(*part);
                    let is_float = |val: &Val| matches!(val, Val::Float32(_) | Val::Float64(_));
                    // A number that is compared with a float is ordered as a float.
                    let order = if is_float(&val) || best.as_ref().is_some_and(is_float) {
                        Order::Float
                    } else {
                        Order::Number
                    };
                    let wanted = if function == Builtin::Least {
                        core::cmp::Ordering::Less
                    } else {
                        core::cmp::Ordering::Greater
                    };
                    let take = match best {
                        None => !val.is_absent(),
                        Some(before) => {
                            !val.is_absent() && self.ordering(order, val, before, *part, *part) == Some(wanted)
                        }
                    };
                    if take {
                        best = Some(val);
                    }
                }
                best
            }
            Builtin::Remainder => {
                let a = self.number(parts[0])?;
                let b = self.number(parts[1])?;
                if b.0 == 0 {
                    self.fault(What::ZeroDivisor, None, None);
                    return None;
                }
                self.exact_result(decimal::remainder(a, b))
            }
            Builtin::Scale => {
                let (n, scale) = self.number(parts[0])?;
                let by = i16::try_from(self.constant(parts[1])).unwrap_or(0);
                Some(Val::Num(n, scale.saturating_add(by)))
            }
            _ => {
                let (digits, scale) = (self.constant(parts[1]), i16::try_from(self.constant(parts[2])).unwrap_or(0));
                let val = self.eval(parts[0]);
                if let (Val::Digits { bytes, scale: own, .. }, Ok(digits)) = (val, u16::try_from(digits))
                    && quickly_fits(bytes, own, digits, scale)
                {
                    return Some(val);
                }
                let number = self.number_value(val, parts[0])?;
                let whole = i32::try_from(digits).unwrap_or(38) - i32::from(scale);
                let found = decimal::whole_digits(number);
                let trimmed = decimal::trimmed(number);
                let source = self.source_of(parts[0]);
                if i64::from(found) > i64::from(whole) {
                    self.fault(What::Digits { whole, found }, None, source);
                    return None;
                }
                if trimmed.1 > scale {
                    self.fault(What::Decimals { scale, found: trimmed.1 }, None, source);
                    return None;
                }
                Some(Val::Num(trimmed.0, trimmed.1))
            }
        }
    }

    /// Returns the exact value of a float's shortest decimal text.
    fn exact_float(&mut self, val: Val) -> Option<(i128, i16)> {
        let text = match val {
            Val::Float32(x) if x.is_finite() => format!("{x}"),
            Val::Float64(x) if x.is_finite() => format!("{x}"),
            _ => {
                self.fault(What::Float, None, None);
                return None;
            }
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let exact = format!("{whole}{fraction}").parse().ok().zip(i16::try_from(fraction.len()).ok());
        if exact.is_none() {
            self.fault(What::Overflow, None, None);
        }
        exact
    }

    fn converted(&mut self, function: Builtin, parts: &[ExprId]) -> Option<Val> {
        match function {
            Builtin::Number => {
                let comma = self.constant(parts[1]) == i128::from(b',');
                let val = self.eval(parts[0]);
                if super::eval::is_blank(val) {
                    return None;
                }
                let (Val::Text(bytes) | Val::Ascii(bytes)) = val else {
                    return self.number_value(val, parts[0]).map(|(n, scale)| Val::Num(n, scale));
                };
                let all = self.arena.get(bytes);
                let (from, to) = (texts::trim_start(all), texts::trim_end(all));
                let mut bytes = Self::part(bytes, from.min(to), to);
                if comma {
                    bytes = self.arena.again(bytes);
                    for byte in self.arena.get_mut(bytes) {
                        *byte = match *byte {
                            b',' => b'.',
                            b'.' => b',',
                            other => other,
                        };
                    }
                }
                self.number_value(Val::Ascii(bytes), parts[0]).map(|(n, scale)| Val::Num(n, scale))
            }
            Builtin::IsNumber => {
                let val = self.eval(parts[0]);
                let val = match val {
                    Val::Text(bytes) | Val::Ascii(bytes) => {
                        let all = self.arena.get(bytes);
                        let (from, to) = (texts::trim_start(all), texts::trim_end(all));
                        Val::Ascii(Self::part(bytes, from.min(to), to))
                    }
                    Val::Float32(x) => return Some(Val::Bool(x.is_finite())),
                    Val::Float64(x) => return Some(Val::Bool(x.is_finite())),
                    val => val,
                };
                Some(Val::Bool(self.exact(val).is_ok()))
            }
            Builtin::ToFloat => {
                let val = self.eval(parts[0]);
                if super::eval::is_blank(val) {
                    return None;
                }
                if val.is_absent() {
                    return None;
                }
                self.float_value(val, parts[0]).map(Val::Float64)
            }
            _ => {
                let number = self.number(parts[0])?;
                let (picture, _) = self.bytes(parts[1])?;
                let picture = core::str::from_utf8(self.arena.get(picture)).ok().and_then(Picture::parse)?;
                match self.arena.written(|out| picture.write(number, out)) {
                    (bytes, Some(())) => Some(Val::Ascii(bytes)),
                    (_, None) => {
                        let source = self.source_of(parts[0]);
                        self.fault(What::Picture, None, source);
                        None
                    }
                }
            }
        }
    }

    fn digested(&mut self, function: Builtin, parts: &[ExprId]) -> Option<Val> {
        if function == Builtin::NewId {
            let id = self.host.id();
            return Some(Val::Ascii(self.arena.written(|out| digest::id(id, 8, out)).0));
        }
        let val = self.eval(parts[0]);
        let bytes = match val {
            Val::Bytes(bytes) | Val::Raw(bytes) => bytes,
            // Dates by their days, so that equal ones agree.
            Val::Date(n) => self.arena.keep(&n.to_be_bytes()),
            Val::Time(n) | Val::DateTime(n) => self.arena.keep(&n.to_be_bytes()),
            // Numbers without the zeros that their source writes after the point, and without a sign of zero.
            Val::Digits { .. } | Val::Num(..) => {
                let (n, scale) = decimal::trimmed(self.number_value(val, parts[0])?);
                self.text_of(Val::Num(n, scale))?
            }
            val => self.text_of(val)?,
        };
        let all = self.arena.get(bytes);
        let (mut long, mut short) = ([0u8; 32], [0u8; 8]);
        if function == Builtin::Hash {
            short = digest::fnv1a(all).to_be_bytes();
        } else {
            long = digest::sha256(all);
        }
        let (bytes, ()) = self.arena.written(|out| match function {
            Builtin::Hash => digest::write_hex(&short, out),
            Builtin::Sha256 => digest::write_hex(&long, out),
            _ => {
                let id: [u8; 16] = long[..16].try_into().expect("the first half of 32 bytes");
                digest::id(id, 8, out);
            }
        });
        Some(Val::Ascii(bytes))
    }

    fn date(&mut self, part: ExprId) -> Option<i32> {
        match self.eval(part) {
            Val::Date(days) => Some(days),
            _ => None,
        }
    }

    fn stamp(&mut self, part: ExprId) -> Option<i64> {
        match self.eval(part) {
            Val::DateTime(micros) => Some(micros),
            _ => None,
        }
    }

    /// Evaluates a number with at most this many decimals, in units of the last decimal. More decimals, or a result beyond 64 bits, are a fault.
    fn exact_units(&mut self, part: ExprId, decimals: i16) -> Option<i64> {
        let number = decimal::trimmed(self.number(part)?);
        if number.1 > decimals {
            let what = if decimals == 0 { What::Whole } else { What::Decimals { scale: decimals, found: number.1 } };
            let source = self.source_of(part);
            self.fault(what, None, source);
            return None;
        }
        let units =
            u32::try_from(decimals - number.1).ok().and_then(decimal::power).and_then(|by| number.0.checked_mul(by));
        let units = units.and_then(|units| i64::try_from(units).ok());
        if units.is_none() {
            self.fault(What::DateRange, None, None);
        }
        units
    }

    fn in_range(&mut self, days: Option<i32>) -> Option<Val> {
        if days.is_none() {
            self.fault(What::DateRange, None, None);
        }
        days.map(Val::Date)
    }

    fn moment(&mut self, function: Builtin, parts: &[ExprId]) -> Option<Val> {
        match function {
            Builtin::ReadDate | Builtin::ReadTime | Builtin::ReadDateTime | Builtin::IsDate => {
                self.read_moment(function, parts)
            }
            Builtin::FormatDate => {
                let val = self.eval(parts[0]);
                let format = usize::try_from(self.constant(parts[1])).unwrap_or(0);
                let (days, micros) = match val {
                    Val::Date(days) => (days, 0),
                    Val::Time(micros) => (0, micros),
                    Val::DateTime(stamp) => (i32::try_from(stamp.div_euclid(DAY)).unwrap_or(0), stamp.rem_euclid(DAY)),
                    _ => return None,
                };
                let format = self.plan.formats.get(format)?;
                let (bytes, ()) = self.arena.written(|out| format.write(days, micros, out));
                Some(if format.is_ascii { Val::Ascii(bytes) } else { Val::Text(bytes) })
            }
            Builtin::AddDays => {
                let days = self.date(parts[0])?;
                let n = self.exact_units(parts[1], 0)?;
                let sum = i64::from(days).checked_add(n).and_then(date::in_range);
                self.in_range(sum)
            }
            Builtin::AddMonths => {
                let days = self.date(parts[0])?;
                let n = self.exact_units(parts[1], 0)?;
                let sum = if n.unsigned_abs() > 120_000 { None } else { date::add_months(days, n) };
                self.in_range(sum)
            }
            Builtin::AddSeconds => {
                let stamp = self.stamp(parts[0])?;
                let n = self.exact_units(parts[1], 6)?;
                let sum = stamp.checked_add(n);
                match sum.filter(|sum| date::in_range(sum.div_euclid(DAY)).is_some()) {
                    Some(sum) => Some(Val::DateTime(sum)),
                    None => {
                        self.fault(What::DateRange, None, None);
                        None
                    }
                }
            }
            Builtin::DaysBetween => {
                let from = self.date(parts[0])?;
                let to = self.date(parts[1])?;
                Some(Val::int(i64::from(to) - i64::from(from)))
            }
            Builtin::SecondsBetween => {
                let from = self.stamp(parts[0])?;
                let to = self.stamp(parts[1])?;
                let (n, scale) = decimal::trimmed(((to - from).into(), 6));
                Some(Val::Num(n, scale))
            }
            Builtin::Year | Builtin::Month | Builtin::Day => {
                let (year, month, day) = date::civil_from_days(self.date(parts[0])?);
                Some(Val::int(i64::from(match function {
                    Builtin::Year => year,
                    Builtin::Month => month,
                    _ => day,
                })))
            }
            // Monday is 1, as in ISO 8601; 1970-01-01 was a Thursday.
            Builtin::Weekday => Some(Val::int((i64::from(self.date(parts[0])?) + 3).rem_euclid(7) + 1)),
            Builtin::MonthEnd => {
                let (year, month, _) = date::civil_from_days(self.date(parts[0])?);
                let last = date::days_from_civil(year, month, date::days_in_month(year, month));
                self.in_range(last)
            }
            Builtin::DateOf => {
                let days = self.stamp(parts[0])?.div_euclid(DAY);
                self.in_range(date::in_range(days))
            }
            Builtin::TimeOf => Some(Val::Time(self.stamp(parts[0])?.rem_euclid(DAY))),
            Builtin::AtTime => {
                let days = self.date(parts[0])?;
                match self.eval(parts[1]) {
                    Val::Time(micros) => Some(Val::DateTime(i64::from(days) * DAY + micros)),
                    _ => None,
                }
            }
            Builtin::Today => {
                let days = date::in_range(self.host.now().div_euclid(DAY));
                self.in_range(days)
            }
            Builtin::Now => {
                let now = self.host.now();
                let days = date::in_range(now.div_euclid(DAY));
                self.in_range(days).map(|_| Val::DateTime(now))
            }
            _ => None,
        }
    }

    fn read_moment(&mut self, function: Builtin, parts: &[ExprId]) -> Option<Val> {
        let val = self.eval(parts[0]);
        if super::eval::is_blank(val) {
            return None;
        }
        let bytes = self.text_of(val)?;
        let format = usize::try_from(self.constant(parts[1])).unwrap_or(0);
        let read = self.plan.formats.get(format)?.read(self.arena.get(bytes));
        if function == Builtin::IsDate {
            return Some(Val::Bool(read.is_some()));
        }
        let Some((days, micros)) = read else {
            let source = self.source_of(parts[0]);
            self.fault(What::NotADate, None, source);
            return None;
        };
        Some(match function {
            Builtin::ReadDate => Val::Date(days),
            Builtin::ReadTime => Val::Time(micros),
            _ => Val::DateTime(i64::from(days) * DAY + micros),
        })
    }
}
