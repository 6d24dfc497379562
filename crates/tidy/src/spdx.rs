//! Licence expressions: names with AND, OR and parentheses (SPDX 2.3, annex D).

/// A parsed licence expression.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Licence {
    /// One licence, with its exception where it has one: `Apache-2.0 WITH LLVM-exception`.
    Name(String),
    /// All of these licences apply.
    All(Vec<Licence>),
    /// The user chooses.
    Any(Vec<Licence>),
}

impl Licence {
    /// Parses an expression; `/` between names is cargo's old spelling of OR.
    ///
    /// # Errors
    /// The rest of the text, from the first syntax error.
    pub fn parse(text: &str) -> Result<Licence, String> {
        let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut rest = &words[..];
        let licence = any(&mut rest)?;
        if rest.is_empty() { Ok(licence) } else { Err(rest.join(" ")) }
    }

    /// Returns true if one can use the work under licences that `allowed` accepts.
    pub fn is_allowed(&self, allowed: &impl Fn(&str) -> bool) -> bool {
        match self {
            Licence::Name(name) => allowed(name),
            Licence::All(parts) => parts.iter().all(|part| part.is_allowed(allowed)),
            Licence::Any(parts) => parts.iter().any(|part| part.is_allowed(allowed)),
        }
    }
}

fn any(words: &mut &[&str]) -> Result<Licence, String> {
    joined(words, "OR", all, Licence::Any)
}

fn all(words: &mut &[&str]) -> Result<Licence, String> {
    joined(words, "AND", one, Licence::All)
}

fn joined(
    words: &mut &[&str],
    operator: &str,
    part: fn(&mut &[&str]) -> Result<Licence, String>,
    join: fn(Vec<Licence>) -> Licence,
) -> Result<Licence, String> {
    let mut parts = vec![part(words)?];
    while words.first() == Some(&operator) {
        *words = &words[1..];
        parts.push(part(words)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { join(parts) })
}

fn one(words: &mut &[&str]) -> Result<Licence, String> {
    match **words {
        ["(", ref rest @ ..] => {
            *words = rest;
            let inner = any(words)?;
            match **words {
                [")", ref rest @ ..] => *words = rest,
                _ => return Err(format!("`)` missing before `{}`", words.join(" "))),
            }
            Ok(inner)
        }
        [name, "WITH", exception, ref rest @ ..] => {
            *words = rest;
            Ok(Licence::Name(format!("{name} WITH {exception}")))
        }
        [name, ref rest @ ..] if !matches!(name, "AND" | "OR" | "WITH" | ")") => {
            *words = rest;
            Ok(Licence::Name(name.to_owned()))
        }
        _ => Err(words.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(expression: &str, names: &[&str]) -> bool {
        Licence::parse(expression).unwrap().is_allowed(&|name: &str| names.contains(&name))
    }

    #[test]
    fn or_needs_one_and_needs_all() {
        assert!(allowed("MIT OR GPL-3.0", &["MIT"]));
        assert!(!allowed("MIT AND GPL-3.0", &["MIT"]));
        assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &["Apache-2.0", "Unicode-3.0"]));
        assert!(!allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &["MIT", "Apache-2.0"]));
        assert!(allowed("Unlicense/MIT", &["MIT"]));
    }

    #[test]
    fn an_exception_is_part_of_the_name() {
        assert!(!allowed("GPL-2.0 WITH Classpath-exception-2.0", &["GPL-2.0"]));
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for bad in ["", "MIT OR", "(MIT", "MIT Apache-2.0", "AND"] {
            assert!(Licence::parse(bad).is_err(), "{bad}");
        }
    }
}
