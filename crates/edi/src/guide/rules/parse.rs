//! The language of rules, as `docs/reference/validation.md` describes it.

use core::fmt;

use super::Comparison;
use crate::guide::decimal::Decimal;

/// A rule as written.
#[derive(Clone, Debug)]
pub(super) enum Ast {
    Number(Decimal),
    Text(Box<str>),
    Path(Path),
    Call(&'static str, Vec<Ast>),
    Compare(Comparison, Box<(Ast, Ast)>),
    In(Box<Ast>, Vec<Ast>),
    And(Box<(Ast, Ast)>),
    Or(Box<(Ast, Ast)>),
    Not(Box<Ast>),
    Implies(Box<(Ast, Ast)>),
    Add(Box<(Ast, Ast)>),
    Subtract(Box<(Ast, Ast)>),
    Multiply(Box<(Ast, Ast)>),
}

/// `2400/SV102[SV101-1 = "HC"]`.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) reach: Reach,
    /// Loops, then the segment, element or loop.
    pub(super) names: Vec<String>,
    pub(super) filter: Option<Box<Ast>>,
}

/// Scope of a path without loops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reach {
    /// The loop itself, otherwise anywhere inside it, otherwise an enclosing loop.
    Nearest,
    /// `./`: in the loop itself only.
    Own,
    /// `**/`: anywhere inside.
    All,
}

#[derive(Debug)]
pub(super) struct SyntaxError {
    at: usize,
    expected: &'static str,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the expression is not understood at character {}, expected {}", self.at + 1, self.expected)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Sign(&'static str),
}

/// Functions and the number of their arguments; `None` is any number but none.
const FUNCTIONS: [(&str, Option<usize>); 14] = [
    ("sum", None),
    ("count", None),
    ("min", None),
    ("max", None),
    ("present", Some(1)),
    ("absent", Some(1)),
    ("abs", Some(1)),
    ("round", Some(2)),
    ("length", Some(1)),
    ("from", Some(1)),
    ("until", Some(1)),
    ("default", Some(2)),
    ("day", Some(0)),
    ("npi", Some(1)),
];

/// Brackets in brackets.
const DEPTH_MAX: usize = 64;

/// Words and signs of an expression.
const TOKENS_MAX: usize = 1_000;

pub(super) fn parse(text: &str) -> Result<Ast, SyntaxError> {
    let tokens = tokens(text)?;
    if let Some((_, at)) = tokens.get(TOKENS_MAX) {
        return Err(SyntaxError { at: *at, expected: "a shorter expression" });
    }
    let mut parser = Parser { tokens, at: 0, end: text.chars().count(), depth: 0 };
    let ast = parser.expression()?;
    if parser.at < parser.tokens.len() {
        return Err(parser.expected("an operator or the end"));
    }
    Ok(ast)
}

fn tokens(text: &str) -> Result<Vec<(Token, usize)>, SyntaxError> {
    let chars: Vec<char> = text.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(c) = chars.get(at) {
        let start = at;
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        if *c == '"' {
            let Some(len) = chars[at + 1..].iter().position(|c| *c == '"') else {
                return Err(SyntaxError { at, expected: "a closing quote" });
            };
            tokens.push((Token::Text(chars[at + 1..at + 1 + len].iter().collect()), start));
            at += len + 2;
            continue;
        }
        let begins_word = c.is_ascii_alphanumeric() || (*c == '.' && next == '/') || (*c == '*' && next == '*');
        if begins_word {
            let mut word = String::new();
            while let Some(c) = chars.get(at) {
                let next = chars.get(at + 1).copied().unwrap_or(' ');
                // A hyphen between two digits belongs to a reference: `CLM05-1`.
                let hyphen = *c == '-' && next.is_ascii_digit() && word.ends_with(|c: char| c.is_ascii_digit());
                let star = *c == '*' && (next == '*' || word.ends_with('*'));
                if !c.is_ascii_alphanumeric() && !matches!(c, '/' | '.' | '_') && !hyphen && !star {
                    break;
                }
                word.push(*c);
                at += 1;
            }
            tokens.push((Token::Word(word), start));
            continue;
        }
        let two: String = [*c, next].iter().collect();
        let sign = ["!=", "<=", ">="].into_iter().find(|sign| **sign == two).or_else(|| {
            ["=", "<", ">", "+", "-", "*", "(", ")", "[", "]", "{", "}", ","]
                .into_iter()
                .find(|sign| sign.starts_with(*c))
        });
        let Some(sign) = sign else { return Err(SyntaxError { at, expected: "a path, a value or an operator" }) };
        tokens.push((Token::Sign(sign), start));
        at += sign.len();
    }
    Ok(tokens)
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    end: usize,
    depth: usize,
}

impl Parser {
    fn expected(&self, expected: &'static str) -> SyntaxError {
        SyntaxError { at: self.tokens.get(self.at).map_or(self.end, |(_, at)| *at), expected }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.tokens.get(self.at), Some((Token::Word(this), _)) if this == word)
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some((Token::Sign(this), _)) if *this == sign);
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, sign: &str, expected: &'static str) -> Result<(), SyntaxError> {
        if self.sign(sign) { Ok(()) } else { Err(self.expected(expected)) }
    }

    fn deeper(&mut self) -> Result<(), SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(self.expected("fewer brackets in brackets")) } else { Ok(()) }
    }

    fn expression(&mut self) -> Result<Ast, SyntaxError> {
        self.deeper()?;
        let ast = if self.word("if") {
            let condition = self.expression()?;
            if !self.word("then") {
                return Err(self.expected("`then`"));
            }
            let then = self.expression()?;
            let implied = Ast::Implies(Box::new((condition.clone(), then)));
            if self.word("else") {
                let otherwise = Ast::Or(Box::new((condition, self.expression()?)));
                Ast::And(Box::new((implied, otherwise)))
            } else {
                implied
            }
        } else {
            let first = self.any()?;
            if self.word("implies") { Ast::Implies(Box::new((first, self.expression()?))) } else { first }
        };
        self.depth -= 1;
        Ok(ast)
    }

    fn any(&mut self) -> Result<Ast, SyntaxError> {
        let mut ast = self.all()?;
        while self.word("or") {
            ast = Ast::Or(Box::new((ast, self.all()?)));
        }
        Ok(ast)
    }

    fn all(&mut self) -> Result<Ast, SyntaxError> {
        let mut ast = self.not()?;
        while self.word("and") {
            ast = Ast::And(Box::new((ast, self.not()?)));
        }
        Ok(ast)
    }

    fn not(&mut self) -> Result<Ast, SyntaxError> {
        if self.word("not") {
            self.deeper()?;
            let ast = Ast::Not(Box::new(self.not()?));
            self.depth -= 1;
            return Ok(ast);
        }
        let left = self.terms()?;
        if self.word("in") {
            return Ok(Ast::In(Box::new(left), self.list()?));
        }
        let signs = [
            ("=", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        for (sign, comparison) in signs {
            if self.sign(sign) {
                return Ok(Ast::Compare(comparison, Box::new((left, self.terms()?))));
            }
        }
        Ok(left)
    }

    /// Parses a list such as `{ "A", "B" }`.
    fn list(&mut self) -> Result<Vec<Ast>, SyntaxError> {
        self.need("{", "`{` and values")?;
        let mut values = vec![self.terms()?];
        while self.sign(",") {
            values.push(self.terms()?);
        }
        self.need("}", "`,` or `}`")?;
        Ok(values)
    }

    fn terms(&mut self) -> Result<Ast, SyntaxError> {
        let mut ast = self.factors()?;
        loop {
            if self.sign("+") {
                ast = Ast::Add(Box::new((ast, self.factors()?)));
            } else if self.sign("-") {
                ast = Ast::Subtract(Box::new((ast, self.factors()?)));
            } else {
                return Ok(ast);
            }
        }
    }

    fn factors(&mut self) -> Result<Ast, SyntaxError> {
        let mut ast = self.primary()?;
        while self.sign("*") {
            ast = Ast::Multiply(Box::new((ast, self.primary()?)));
        }
        Ok(ast)
    }

    fn primary(&mut self) -> Result<Ast, SyntaxError> {
        if self.sign("(") {
            let ast = self.expression()?;
            self.need(")", "`)`")?;
            return Ok(ast);
        }
        if self.sign("-") {
            self.deeper()?;
            let ast = Ast::Subtract(Box::new((Ast::Number(Decimal::ZERO), self.primary()?)));
            self.depth -= 1;
            return Ok(ast);
        }
        match self.tokens.get(self.at).cloned() {
            Some((Token::Text(text), _)) => {
                self.at += 1;
                Ok(Ast::Text(text.into()))
            }
            Some((Token::Word(word), _)) => {
                let function = FUNCTIONS.iter().find(|(name, _)| *name == word);
                let behind = self.tokens.get(self.at + 1).map(|(token, _)| token);
                match function {
                    Some((name, arguments)) if behind == Some(&Token::Sign("(")) => {
                        self.at += 2;
                        self.call(name, *arguments)
                    }
                    Some((name @ "day", _)) => {
                        self.at += 1;
                        Ok(Ast::Call(name, Vec::new()))
                    }
                    _ => {
                        if let Some(number) = Decimal::parse(word.as_bytes(), b'.', 0) {
                            self.at += 1;
                            return Ok(Ast::Number(number));
                        }
                        self.path().map(Ast::Path)
                    }
                }
            }
            _ => Err(self.expected("a path, a number, a text in quotes or a function")),
        }
    }

    fn call(&mut self, name: &'static str, arguments: Option<usize>) -> Result<Ast, SyntaxError> {
        let mut given = Vec::new();
        // A loop's id may look like a number.
        let paths = matches!(name, "count" | "present" | "absent");
        while !self.sign(")") {
            if !given.is_empty() {
                self.need(",", "`,` or `)`")?;
            }
            given.push(if paths { Ast::Path(self.path()?) } else { self.expression()? });
        }
        let fits = arguments.map_or(!given.is_empty(), |count| count == given.len());
        if fits { Ok(Ast::Call(name, given)) } else { Err(self.expected("another number of arguments")) }
    }

    fn path(&mut self) -> Result<Path, SyntaxError> {
        let Some((Token::Word(word), _)) = self.tokens.get(self.at).cloned() else {
            return Err(self.expected("a path"));
        };
        let (reach, rest) = if let Some(rest) = word.strip_prefix("./") {
            (Reach::Own, rest)
        } else if let Some(rest) = word.strip_prefix("**/") {
            (Reach::All, rest)
        } else {
            (Reach::Nearest, &*word)
        };
        let names: Vec<String> = rest.split('/').map(str::to_owned).collect();
        let reserved = ["and", "or", "not", "if", "then", "else", "in", "implies"].contains(&rest);
        if names.iter().any(|name| name.is_empty() || name.contains(['*', '.'])) || reserved {
            return Err(self.expected("a path"));
        }
        self.at += 1;
        let filter = if self.sign("[") {
            let filter = self.expression()?;
            self.need("]", "`]`")?;
            Some(Box::new(filter))
        } else {
            None
        };
        Ok(Path { reach, names, filter })
    }
}
