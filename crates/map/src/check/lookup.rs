//! Lookups, and the types that a map declares.

use quayline_core::near::{nearest, offer};

use super::types::{Digits, Kind, Ty};
use super::{Lower, Reads, Typed};
use crate::codes;
use crate::functions::Takes;
use crate::plan::Expr;
use crate::syntax::ast::{self, Name};
use crate::syntax::text::Span;

impl Lower<'_> {
    pub(super) fn lookup(
        &mut self,
        name: &Name,
        arguments: &[ast::Expr],
        field: Option<&Name>,
        span: Span,
    ) -> Option<Typed> {
        let (lookup, index, used) = self.lookups.get_mut(&name.text)?;
        *used = true;
        let (lookup, index) = (lookup.clone(), *index);
        let form = format!(
            "{}({}){}",
            name.text,
            lookup.keys.iter().map(|(key, _)| key.text.as_str()).collect::<Vec<_>>().join(", "),
            if lookup.function.is_some() { "" } else { ".field" }
        );
        self.operands(name, &form, arguments.len(), lookup.keys.len(), lookup.keys.len())?;
        let mut parts = Vec::new();
        for ((_, wanted), argument) in lookup.keys.iter().zip(arguments) {
            let part = match wanted.name.text.as_str() {
                "decimal" => self.exact_number(argument),
                "date" => self.operand(argument, Takes::Date),
                _ => self.text(argument),
            };
            parts.push(part);
        }
        if let (Some(field), Some(_)) = (field, lookup.function) {
            self.error(codes::NO_LIST, field.span, format!("`{}` gives one value, which has no fields", name.text))
                .hint = Some("only lookups have fields".to_owned());
            return None;
        }
        let fields = || lookup.fields.iter().map(|(field, _)| field.text.as_str());
        let field = field.or_else(|| lookup.function.and_then(|_| lookup.fields.first().map(|(name, _)| name)));
        let Some(field) = field else {
            let list: Vec<&str> = fields().collect();
            self.error(codes::UNKNOWN_FIELD, span, format!("`{}` gives several fields: which one?", name.text)).hint =
                Some(format!("write .{} after it", list.join(" or .")));
            return None;
        };
        let Some(at) = fields().position(|known| known == field.text) else {
            let near = offer(&nearest(&field.text, fields()));
            let list: Vec<&str> = fields().collect();
            self.error(codes::UNKNOWN_FIELD, field.span, format!("`{}` has no field `{}`", name.text, field.text))
                .hint = Some(near.unwrap_or_else(|| format!("there is {}", list.join(", "))));
            return None;
        };
        let kind = self.declared(&lookup.fields[at].1)?;
        let (first, count) = self.list(&parts);
        let field = u16::try_from(at).unwrap_or(u16::MAX);
        let id = self.expr(Expr::Lookup { lookup: index, field, first, count });
        let mut reads = Reads::default();
        for part in &parts {
            reads.add(&part.reads);
        }
        reads.bound = true;
        Some(Typed { id, ty: Ty { kind, maybe: true }, reads, span })
    }

    /// Resolves a type name in the map, and reports an unknown one.
    pub(crate) fn declared(&mut self, name: &ast::TypeName) -> Option<Kind> {
        let n = |at: usize| name.arguments.get(at).copied();
        let kind = match (name.name.text.as_str(), name.arguments.len()) {
            ("text", 0 | 1) => Kind::Text(n(0)),
            ("decimal", 0) => Kind::Decimal(Digits::UNKNOWN),
            ("decimal", 1 | 2) => {
                let (digits, scale) = (n(0).unwrap_or(38), n(1).unwrap_or(0));
                if digits == 0 || digits > 38 || scale > digits {
                    self.error(
                        codes::TYPE_NAME,
                        name.span,
                        "a decimal has 1 to 38 digits, and no more decimals than digits",
                    )
                    .hint = Some("decimal(11, 2) has nine digits before the point and two after it".to_owned());
                    return None;
                }
                Kind::Decimal(Digits {
                    whole: u16::try_from(digits - scale).ok(),
                    scale: i16::try_from(scale).ok(),
                    signed: true,
                    sum_of: None,
                })
            }
            ("bool", 0) => Kind::Bool,
            ("date", 0) => Kind::Date,
            ("time", 0) => Kind::Time,
            ("datetime", 0) => Kind::DateTime,
            ("bytes", 0 | 1) => Kind::Bytes(n(0)),
            _ => {
                self.error(codes::TYPE_NAME, name.span, format!("`{}` is not a type", self.slice(name.span))).hint =
                    Some(
                        "types are text, text(30), decimal, decimal(11, 2), bool, date, time, datetime, bytes"
                            .to_owned(),
                    );
                return None;
            }
        };
        Some(kind)
    }
}
