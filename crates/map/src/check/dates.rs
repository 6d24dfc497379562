//! Dates in text leaves that hold dates in one format.

use quayline_core::{NodeId, Scalar};

use super::target::Goal;
use super::types::{Digits, Kind, Ty};
use super::{Lower, Typed};
use crate::codes;
use crate::date::Format;
use crate::functions::Builtin;
use crate::plan::{Expr, ExprId};
use crate::value::{Val, small};

/// 1999-12-31, and a microsecond before the next day: day, month and year cannot be confused.
const SAMPLE_DAY: i32 = 10_956;
const SAMPLE_MICROS: i64 = 86_399_999_999;

/// Formats that a hint may name for a text leaf, the usual one first.
const USUAL: [&str; 3] = ["CCYYMMDD", "YYYY-MM-DD", "YYMMDD"];

impl Lower<'_> {
    /// Writes a date, or a date and time, in the format of a leaf that holds such texts.
    pub(super) fn as_text_of(&mut self, goal: &Goal, value: Typed) -> Typed {
        let is_moment = match value.ty.kind {
            Kind::Date => false,
            Kind::DateTime => true,
            _ => return value,
        };
        let Some(format) = self.rules.target_dates(goal.output, goal.node).first() else { return value };
        match Format::parse(format, 1950) {
            Ok(format) if format.needs_time() == is_moment => self.formatted(value, format),
            _ => value,
        }
    }

    /// Warns about texts and numbers that are never a date in the format of their leaf, and returns true if it does. Other checks know constants and
    /// formatted dates.
    pub(super) fn is_never_the_date(&mut self, goal: &Goal, value: &Typed, path: &str) -> bool {
        let wanted = self.rules.target_dates(goal.output, goal.node);
        let is_known = matches!(self.exprs[value.id as usize], Expr::Const(_)) || self.samples.contains_key(&value.id);
        let Some(first) = wanted.first().filter(|_| !is_known) else { return false };
        let mut leaves = Vec::new();
        self.copied(value.id, &mut leaves);
        for (leaf, is_whole) in leaves {
            let held = self.rules.source_dates(leaf);
            let is_refused =
                |format: &&str| self.rules.target(goal.output, goal.node, &sample_of_text(format)).is_some();
            if let Some(form) = held.first().filter(|_| held.iter().all(is_refused)) {
                let name = if is_whole { self.slice(value.span).to_owned() } else { self.source.path(leaf) };
                let message =
                    format!("`{path}` holds dates in the form {first}, and `{name}` those in the form {form}");
                self.warning(codes::NOT_ALLOWED, value.span, message).hint =
                    Some(format!("read the date: {}", read_date(&name, form)));
                return true;
            }
        }
        let width = |format: &&str| Format::parse(format, 1950).map_or(0, |format| format.width_least());
        let least = wanted.iter().map(width).min().unwrap_or(0);
        let (why, read) = match value.ty.kind {
            Kind::Text(Some(max)) if (max as usize) < least => {
                (format!("this text has at most {max} characters"), "date(…, \"CCYYMMDD\")")
            }
            Kind::Decimal(_) if wanted.iter().all(|format| format.contains('-')) => {
                ("this is a number".to_owned(), "date(format(…, \"00000000\"), \"CCYYMMDD\")")
            }
            _ => return false,
        };
        let message = format!("`{path}` holds dates in the form {first}, and {why}");
        self.warning(codes::NOT_ALLOWED, value.span, message).hint =
            Some(format!("if it is a date in another form, read it: {read}"));
        true
    }

    /// Adds the source leaves whose text is the value unchanged, each with whether it is the whole value.
    fn copied(&self, value: ExprId, leaves: &mut Vec<(NodeId, bool)>) {
        let mut todo = vec![(value, true)];
        while let Some((id, is_whole)) = todo.pop() {
            match self.exprs[id as usize] {
                Expr::Slot { statement_node, .. } => leaves.push((statement_node, is_whole)),
                Expr::Pick { value, .. } => todo.push((value, is_whole)),
                Expr::Otherwise(a, b) | Expr::If(_, a, b) => todo.extend([(a, false), (b, false)]),
                Expr::Bind(_, _, value) => todo.push((value, false)),
                _ => {}
            }
        }
    }

    /// Returns a format in which a text leaf can hold dates.
    pub(super) fn format_of(&self, goal: &Goal) -> &'static str {
        if let Some(format) = self.rules.target_dates(goal.output, goal.node).first() {
            return format;
        }
        let max = match self.outputs[goal.output].shape.node(goal.node).scalar() {
            Some(Scalar::Text { chars_max: Some(max) }) => *max as usize,
            _ => usize::MAX,
        };
        let fits = |format: &&&str| {
            format.len() <= max && self.rules.target(goal.output, goal.node, &sample_of_text(format)).is_none()
        };
        USUAL.iter().find(fits).unwrap_or(&USUAL[0])
    }

    /// Returns the kind of the values of a leaf that holds dates, or dates with times.
    pub(super) fn held_dates(&self, goal: &Goal) -> Option<Kind> {
        let format = self.rules.target_dates(goal.output, goal.node).first()?;
        let has_time = Format::parse(format, 1950).is_ok_and(|format| format.needs_time());
        Some(if has_time { Kind::DateTime } else { Kind::Date })
    }

    /// Returns how a date, or a date and time, gets into a text leaf.
    pub(super) fn date_hint(&self, goal: &Goal, kind: Kind) -> String {
        match (self.held_dates(goal), kind) {
            (Some(Kind::Date), Kind::DateTime) => "take the date: date-of(…)".to_owned(),
            (Some(Kind::DateTime), Kind::Date) => "add a time: at-time(…, time)".to_owned(),
            _ => format!("write it in a format: format(…, \"{}\")", self.format_of(goal)),
        }
    }

    /// Formats a date or time, and keeps a sample of the text for checks of its target.
    pub(super) fn formatted(&mut self, value: Typed, format: Format) -> Typed {
        let sample = sample(&format);
        let ty = Ty { kind: Kind::Text(Some(small(format.width()))), maybe: value.ty.maybe };
        let span = value.span;
        let index = self.format_index(format);
        let index = self.constant_value(Val::int(index.into()), Kind::Decimal(Digits::integer(5)), span);
        let formatted = self.builtin(Builtin::FormatDate, &[value, index], ty, span);
        self.samples.insert(formatted.id, sample);
        formatted
    }
}

/// Returns the call that reads a date. A two-digit year needs the first of its possible years.
pub(crate) fn read_date(path: &str, format: &str) -> String {
    let is_short = Format::parse(format, 1950).is_ok_and(|format| format.is_short());
    let century = if is_short { ", 1970" } else { "" };
    format!("date({path}, \"{format}\"{century})")
}

/// Returns a text in a format.
fn sample(format: &Format) -> String {
    let mut sample = Vec::new();
    format.write(SAMPLE_DAY, SAMPLE_MICROS, &mut sample);
    String::from_utf8(sample).unwrap_or_default()
}

fn sample_of_text(format: &str) -> String {
    Format::parse(format, 1950).map(|format| sample(&format)).unwrap_or_default()
}
