//! Remedies over HTTP. A running server has the store open, which refuses the commands that findings recommend.

use serde_json::Value;

/// Commands in remedies and the requests of operators in their place. `{}` is the number of an entry.
const COMMANDS: [(&str, &str); 13] = [
    ("quayline transaction list --received", "GET /partner/entries?way=received"),
    ("quayline transaction list", "GET /partner/entries"),
    ("quayline interchange list", "GET /partner/entries?kind=interchange"),
    ("quayline transaction show", "GET /partner/entries/{}"),
    ("quayline transaction reprocess", "POST /partner/entries/{}/reprocess"),
    ("quayline transaction advise", "POST /partner/entries/{}/advise"),
    ("quayline interchange resend", "POST /partner/entries/{}/resend"),
    ("quayline partner list", "GET /partner/partners"),
    ("quayline partner outbox", "GET /partner/outbox"),
    ("quayline partner import", "POST /partner/import"),
    ("quayline partner explain", "POST /partner/explain"),
    ("quayline partner receive", "POST /partner/receive"),
    ("quayline partner send", "POST /partner/send"),
];

/// Options in remedies and what a request has in their place.
const OPTIONS: [(&str, &str); 7] = [
    ("--again", "`again=true`"),
    ("with --with (over HTTP: in the body)", "in the body"),
    ("with --with", "in the body"),
    ("--in-store", "`in=store`"),
    ("--document", "`document`"),
    ("--to", "`to`"),
    ("--from", "`from`"),
];

/// Rewrites the remedy of each finding in an answer.
pub fn over_http(answer: &mut Value) {
    match answer {
        Value::Object(members) => {
            if members.contains_key("code")
                && let Some(Value::String(hint)) = members.get_mut("hint")
            {
                *hint = rewritten(hint);
            }
            members.values_mut().for_each(over_http);
        }
        Value::Array(all) => all.iter_mut().for_each(over_http),
        _ => {}
    }
}

fn rewritten(hint: &str) -> String {
    let parts = hint.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => OPTIONS.iter().fold(part.to_owned(), |text, (option, parameter)| text.replace(option, parameter)),
        _ => format!("`{}`", request_of(part).unwrap_or_else(|| part.to_owned())),
    });
    parts.collect()
}

/// Returns the request in place of a command, if there is one.
fn request_of(command: &str) -> Option<String> {
    let (request, rest) = COMMANDS.iter().find_map(|(known, request)| Some((request, command.strip_prefix(known)?)))?;
    let (entry, more) = match rest.trim().split_once(' ').unwrap_or((rest.trim(), "")) {
        ("", "") => ("ENTRY", ""),
        (entry, "") => (entry, ""),
        (entry, "--bytes") => (entry, "/bytes"),
        _ => return None,
    };
    (rest.is_empty() || request.contains("{}")).then(|| request.replace("{}", entry) + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: an answer recommended a command that the store refuses while the server runs.
    #[test]
    fn remedies_are_requests() {
        let check = |hint: &str, expected: &str| assert_eq!(rewritten(hint), expected);
        check(
            "list entries with `quayline transaction list`; it may be gone",
            "list entries with `GET /partner/entries`; it may be gone",
        );
        check("`quayline transaction reprocess 12` does it", "`POST /partner/entries/12/reprocess` does it");
        check("`quayline transaction show 7 --bytes` prints it", "`GET /partner/entries/7/bytes` prints it");
        check("nothing changes; --again receives it", "nothing changes; `again=true` receives it");
        check("correct it with --with", "correct it in the body");
        // What has no request stays.
        check(
            "`quayline partner explain --send` and `quayline inspect`",
            "`quayline partner explain --send` and `quayline inspect`",
        );
    }
}
