//! Helpers shared by the parts of the operators' listener: parameters of a request, responses.

use quayline_core::{Finding, Findings};
use quayline_gateway::{decode_query, percent_encoded};
use quayline_server::{AdminAnswer, AdminRequest, OperatorPaths};
use serde_json::{Value, json};

use crate::exit::argument;
use crate::render::finding_json;

/// The parameters of a request.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Result<Query, Findings> {
        let mut all = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decode_query(name), decode_query(value)) else {
                return Err(wrong(
                    "a parameter is not percent-encoded UTF-8".to_owned(),
                    "encode parameters".to_owned(),
                ));
            };
            all.push((name.into_owned(), value.into_owned()));
        }
        Ok(Query(all))
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Names and values.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Formats the parameters with another value of one of them.
    pub(crate) fn with(&self, name: &str, value: &str) -> String {
        let others = self.pairs().filter(|(known, _)| *known != name);
        let all: Vec<String> = others
            .chain(std::iter::once((name, value)))
            .map(|(name, value)| format!("{}={}", percent_encoded(name), percent_encoded(value)))
            .collect();
        all.join("&")
    }

    /// Refuses parameters that would have no effect, and those that are given twice. A name that ends with `*` is all that begin so.
    pub(crate) fn only(&self, names: &[&str]) -> Result<(), Findings> {
        let is_known = |name: &str| {
            names.iter().any(|known| match known.strip_suffix('*') {
                Some(begin) => name.len() > begin.len() && name.starts_with(begin),
                None => *known == name,
            })
        };
        for (at, (name, _)) in self.0.iter().enumerate() {
            if !is_known(name) {
                let hint = match quayline_core::nearest(name, names.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("the parameters are {}", names.join(", ")),
                };
                return Err(wrong(format!("unknown parameter `{name}`"), hint));
            }
            if self.0[..at].iter().any(|(known, _)| known == name) {
                return Err(wrong(format!("`{name}` is given twice"), "remove one of them".to_owned()));
            }
        }
        Ok(())
    }
}

/// Creates a JSON response with a status.
pub(crate) fn answer(status: u16, value: &Value) -> AdminAnswer {
    AdminAnswer::new(status, "application/json", format!("{value}\n").into_bytes())
}

/// Returns a finding as a JSON value.
pub(crate) fn raw(finding: &Finding) -> Value {
    serde_json::from_str(&finding_json(finding)).unwrap_or_default()
}

/// Returns the answer to a request that matches no operation: 404, or 405 with the methods of the path (RFC 9110, section 15.5.6).
pub(crate) fn elsewhere(paths: &OperatorPaths, request: &AdminRequest<'_>) -> AdminAnswer {
    let (finding, allow) = paths.elsewhere(request);
    let status = if allow.is_some() { 405 } else { 404 };
    AdminAnswer { allow, ..answer(status, &json!({ "findings": [raw(&finding)] })) }
}

/// Creates the finding for an invalid request.
pub(crate) fn wrong(message: String, hint: String) -> Findings {
    argument(message).hint(hint).into()
}
