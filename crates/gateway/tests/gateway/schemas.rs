//! The schemas of OpenAPI documents, judged by ajv: random layouts, with values that fit and values with one fault each. A body that the schema
//! accepts is accepted by the gateway, one that it refuses is refused, and every response is valid by its schema.
//!
//! `QUAYLINE_SCHEMA_VALUES` sets the number of values (default 20,000), `QUAYLINE_SCHEMA_SEED` the first seed. Redocly and Spectral read the documents
//! of the same layouts.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use quayline_gateway::{Json, Media, Problem, Security};

use crate::world::World;

/// Values for each layout.
const ROUNDS: usize = 400;

/// SplitMix64: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

/// A copybook with the lines of a service that belong to it.
struct Layout {
    copybook: String,
    types: String,
    required: Vec<String>,
    next: usize,
}

impl Layout {
    fn new(random: &mut Random) -> Layout {
        let mut layout = Layout {
            copybook: "       01 AREA.\n           05 NUMBER PIC S9(5).\n".to_owned(),
            types: String::new(),
            required: Vec::new(),
            next: 0,
        };
        let count = 3 + random.below(8);
        layout.entries(random, count, 0, true);
        layout
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.copybook, "{}{:02} {text}.", " ".repeat(11 + 3 * depth), 5 + 5 * depth);
    }

    fn entries(&mut self, random: &mut Random, count: usize, depth: usize, may_be_required: bool) {
        for _ in 0..count {
            let n = self.next;
            self.next += 1;
            match random.below(10) {
                0 if depth < 2 => {
                    self.line(depth, &format!("G{n}"));
                    let inner = 1 + random.below(3);
                    self.entries(random, inner, depth + 1, may_be_required);
                }
                1 if depth < 2 => {
                    let max = 1 + random.below(4);
                    self.line(depth, &format!("T{n} OCCURS {max}"));
                    let inner = 1 + random.below(3);
                    self.entries(random, inner, depth + 1, false);
                }
                2 if depth < 2 => {
                    let max = 1 + random.below(3);
                    self.line(depth, &format!("L{n} PIC X({}) OCCURS {max}", 1 + random.below(5)));
                }
                _ => self.item(random, n, depth, may_be_required),
            }
        }
    }

    fn item(&mut self, random: &mut Random, n: usize, depth: usize, may_be_required: bool) {
        let digits = 1 + random.below(18);
        let scale = random.below(digits.min(6));
        let signed = random.pick(&["", "S"]);
        let point = |digits: usize, scale: usize| match (digits - scale, scale) {
            (whole, 0) => format!("9({whole})"),
            (whole, scale) => format!("9({whole})V9({scale})"),
        };
        let decimal = point(digits, scale);
        let mut hint = None;
        let clauses = match random.below(17) {
            0 | 1 => format!("PIC X({})", 1 + random.below(12)),
            2 => format!("PIC {signed}{decimal}"),
            3 => format!("PIC {signed}{decimal} COMP-3"),
            4 => format!("PIC {signed}{decimal} COMP"),
            5 => format!("PIC {signed}9({digits}) COMP-5"),
            6 => random.pick(&["COMP-1", "COMP-2"]).to_owned(),
            7 => format!("PIC N({}) USAGE NATIONAL", 1 + random.below(5)),
            8 => format!("PIC U({})", 1 + random.below(5)),
            9 => format!("PIC {}", random.pick(&["XX/XX", "XBX", "X(3)/X", "0XX", "X/X/X"])),
            10 => format!("PIC {signed}9({})P({})", 1 + random.below(5), 1 + random.below(3)),
            11 => format!("PIC {signed}VP(2)9({})", 1 + random.below(4)),
            12 => format!("PIC S{decimal} SIGN {} SEPARATE", random.pick(&["LEADING", "TRAILING"])),
            13 => {
                hint = Some("is = \"digits\"".to_owned());
                format!("PIC 9({digits})")
            }
            14 => {
                let (least, most) = (random.below(9), 9 + random.below(90));
                hint = Some(format!("is = \"range\"\nminimum = {least}\nmaximum = {most}"));
                format!("PIC {signed}9(3) COMP-3")
            }
            15 => {
                let (pattern, picture) =
                    [("yyyyMMdd", "9(8)"), ("yyyy-MM-dd", "X(10)"), ("HHmmss", "9(6)"), ("yyDDD", "9(5)")]
                        [random.below(4)];
                hint = Some(format!("is = \"date\"\npattern = \"{pattern}\""));
                format!("PIC {picture}")
            }
            _ => {
                let codes = random.one_in(2);
                hint = Some(if codes {
                    "is = \"codes\"\nnames = { A = \"active\", B = \"blocked\" }".to_owned()
                } else {
                    "is = \"boolean\"\ntrue = \"Y\"\nfalse = \"N\"".to_owned()
                });
                "PIC X".to_owned()
            }
        };
        self.line(depth, &format!("F{n} {clauses}"));
        if let Some(hint) = hint {
            let _ = writeln!(self.types, "[[type]]\nfield = \"F{n}\"\n{hint}");
        }
        if may_be_required && random.one_in(4) {
            self.required.push(format!("\"F{n}\""));
        }
    }

    fn world(&self, random: &mut Random) -> World {
        let encoding = random.pick(&["ascii", "cp037", "cp1140", "iso-8859-1"]);
        let mut service = format!(
            "copybook = \"order.cpy\"\nencoding = \"{encoding}\"\nrequired = [{}]\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n\
             [options]\ninitialize = \"initial\"\ntrim = \"{}\"\n",
            self.required.join(", "),
            random.pick(&["trailing", "both", "none"]),
        );
        for (option, value) in [
            ("omit-empty", "true"),
            ("omit-low-values", "true"),
            ("request-control-characters", "\"refuse\""),
            ("blank-numbers", "\"null\""),
            ("enforce-minimum-items", "true"),
        ] {
            if random.one_in(4) {
                let _ = writeln!(service, "{option} = {value}");
            }
        }
        service.push_str("[request]\nkey-style = \"camel\"\n[response]\nkey-style = \"camel\"\n");
        service.push_str(&self.types);
        let api = "base-path = \"/v1\"\n\
             [[operation]]\nid = \"write\"\nmethod = \"POST\"\npath = \"/x\"\nservice = \"orders\"\n[operation.body]\n\
             [[operation]]\nid = \"change\"\nmethod = \"PUT\"\npath = \"/x/{number}\"\nservice = \"orders\"\ntags = [\"x\"]\n\
             [[operation.parameter]]\nname = \"number\"\nin = \"path\"\nfield = \"NUMBER\"\n[operation.body]\n\
             [[operation.response]]\nstatus = 422\nwhen = [{ field = \"NUMBER\", equals = 4 }]\nbody = \"problem\"\n\
             [[operation.response]]\nstatus = 200\n\
             [[operation]]\nid = \"read\"\nmethod = \"GET\"\npath = \"/x\"\nservice = \"orders\"\n";
        World::over(&self.copybook, &service, api)
            .unwrap_or_else(|findings| panic!("{findings}\n{}\n{service}", self.copybook))
    }
}

/// Generates a value for a schema, mostly a valid one. `faults`: one of this many leaves is invalid.
fn value(random: &mut Random, schema: &Json, faults: usize) -> Json {
    let faulty = faults > 0 && random.one_in(faults);
    if faulty && random.one_in(3) {
        return match random.below(5) {
            0 => Json::Null,
            1 => Json::Bool(random.one_in(2)),
            2 => Json::text("x"),
            3 => Json::List(Vec::new()),
            _ => Json::int(7),
        };
    }
    let kind = match schema.get("type") {
        Some(Json::Text(kind)) => kind.as_str(),
        other => panic!("type {other:?} in {schema}"),
    };
    match kind {
        "object" => {
            let Some(Json::Object(members)) = schema.get("properties") else { return Json::Object(Vec::new()) };
            let required: Vec<&str> = match schema.get("required") {
                Some(Json::List(names)) => names.iter().map(text_of).collect(),
                _ => Vec::new(),
            };
            let mut object = Vec::new();
            for (name, schema) in members {
                let is_required = required.contains(&name.as_str());
                if if is_required { faulty && random.one_in(2) } else { random.one_in(5) } {
                    continue;
                }
                object.push((name.clone(), value(random, schema, faults)));
            }
            if faulty && random.one_in(2) {
                object.push(("unknownMember".to_owned(), Json::int(1)));
            }
            Json::Object(object)
        }
        "array" => {
            let most = number_of(schema.get("maxItems")).unwrap_or(3);
            let least = number_of(schema.get("minItems")).unwrap_or(0);
            let count = least + random.below(most - least + 1) + if faulty { random.below(2) } else { 0 };
            let items = schema.get("items").unwrap();
            Json::List((0..count).map(|_| value(random, items, faults)).collect())
        }
        "boolean" => Json::Bool(random.one_in(2)),
        "string" => string(random, schema, faulty),
        _ => number(random, schema, faulty),
    }
}

fn text_of(json: &Json) -> &str {
    let Json::Text(text) = json else { panic!("no text: {json}") };
    text
}

fn number_of(json: Option<&Json>) -> Option<usize> {
    let Some(Json::Number(text)) = json else { return None };
    text.parse().ok()
}

fn string(random: &mut Random, schema: &Json, faulty: bool) -> Json {
    if let Some(Json::List(names)) = schema.get("enum")
        && !faulty
    {
        return names[random.below(names.len())].clone();
    }
    let pattern = schema.get("pattern").map_or("", text_of);
    let digits = |random: &mut Random, n: usize| -> String {
        (0..n).map(|_| char::from(b"0123456789"[random.below(10)])).collect()
    };
    if pattern.starts_with("^[0-9]{1,") {
        let most: usize = pattern.trim_end_matches("}$").rsplit(',').next().unwrap().parse().unwrap();
        let length = if faulty { most + random.below(3) } else { 1 + random.below(most) };
        return Json::Text(digits(random, length));
    }
    if pattern.contains("-02-29)") {
        let (century, most) =
            if faulty { (random.pick(&["00", "18", "20"]), 32) } else { (random.pick(&["19", "20"]), 28) };
        let year = if century == "19" { 50 + random.below(50) } else { random.below(50) };
        return Json::Text(format!("{century}{year:02}-{:02}-{:02}", 1 + random.below(12), 1 + random.below(most)));
    }
    if pattern.contains("[0-5][0-9]") {
        let sixty = if faulty { 66 } else { 60 };
        return Json::Text(format!("{:02}:{:02}:{:02}", random.below(24), random.below(sixty), random.below(sixty)));
    }
    if pattern.contains("(?:") {
        let text: String = (0..random.below(6)).map(|_| random.pick(&["a", "/", " ", "0"])).collect();
        let texts = ["ab/cd", "a b", "abc/d", "0ab", "a/b/c", "", "ab/", text.trim_end()];
        return Json::text(random.pick(&texts));
    }
    let most = number_of(schema.get("maxLength")).unwrap_or(8);
    let length = if faulty { most + random.below(3) } else { random.below(most + 1) };
    let wide = faulty || pattern.is_empty();
    // Some characters take two places of a UTF-16 field, and up to four bytes of UTF-8. No keyword of JSON Schema counts them.
    let is = |picture: &str| schema.get("description").is_some_and(|text| text_of(text).contains(picture));
    let is_utf16 = is(" N(");
    let wide = wide && !(is(" U(") && length > most / 4);
    let length = if is(" U(") && !wide { length.min(most / 2) } else { length };
    let mut text = String::new();
    for _ in 0..length {
        text.push(
            match random.below(if !wide {
                9
            } else if is_utf16 {
                11
            } else {
                12
            }) {
                0 => ' ',
                1..=6 => char::from(b'!' + u8::try_from(random.below(94)).unwrap()),
                7 => random.pick(&["\0", "\u{1f}", "\n", "\t", "\u{7f}", "é", "Z"]).chars().next().unwrap(),
                8 => 'Q',
                9 => char::from_u32(0x80 + u32::try_from(random.below(0x80)).unwrap()).unwrap(),
                10 => char::from_u32(0x20a0 + u32::try_from(random.below(32)).unwrap()).unwrap(),
                _ => char::from_u32(0x1f600 + u32::try_from(random.below(32)).unwrap()).unwrap(),
            },
        );
    }
    // Blanks beyond the end of a field change nothing, so the gateway accepts them.
    if length > most && text.ends_with(' ') {
        text.push('.');
    }
    Json::Text(text)
}

/// Returns a bound of a schema in units of its last place, and its number of places.
fn bound(schema: &Json, names: [&str; 2]) -> Option<(i128, usize)> {
    let (name, Json::Number(text)) = names.iter().find_map(|name| Some((*name, schema.get(name)?)))? else {
        return None;
    };
    let places = text.split_once('.').map_or(0, |(_, part)| part.len());
    let n: i128 = text.replace('.', "").parse().unwrap();
    // An exclusive bound is one unit beyond.
    Some((if name.starts_with('e') { n - n.signum() } else { n }, places))
}

fn number(random: &mut Random, schema: &Json, faulty: bool) -> Json {
    let (Some((low, a)), Some((high, b))) =
        (bound(schema, ["minimum", "exclusiveMinimum"]), bound(schema, ["maximum", "exclusiveMaximum"]))
    else {
        let texts = ["0", "1.5", "-2.25", "1e3", "0.1", "-7", "123456789"];
        return Json::Number(random.pick(&texts).to_owned());
    };
    let places = a.max(b);
    let (low, high) =
        (low * 10i128.pow(u32::try_from(places - a).unwrap()), high * 10i128.pow(u32::try_from(places - b).unwrap()));
    let mut n = match random.below(4) {
        0 => low + i128::try_from(random.below(3)).unwrap(),
        1 => high - i128::try_from(random.below(3)).unwrap(),
        2 => i128::try_from(random.below(100)).unwrap(),
        _ => low + (i128::from(random.next()) % (high - low + 1)),
    };
    n = n.clamp(low, high);
    if let Some(step) = number_of(schema.get("multipleOf")) {
        let step = i128::try_from(step).unwrap();
        n = n / step * step;
    }
    if faulty {
        n = match random.below(3) {
            0 => high + 1 + i128::from(random.next() % 1000),
            1 => low - 1 - i128::from(random.next() % 1000),
            _ => n + 1,
        };
    }
    let digits = format!("{:0>width$}", n.unsigned_abs(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    let sign = if n < 0 { "-" } else { "" };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let part = if places > 0 && random.one_in(2) { part.trim_end_matches('0') } else { part };
    let mut text = format!("{sign}{whole}");
    if !part.is_empty() {
        text.push('.');
        text.push_str(part);
    } else if random.one_in(8) {
        text.push_str(random.pick(&[".0", "e0", ".00"]));
    }
    Json::Number(text)
}

/// Returns the folder of the tools that `scripts/openapi-tools.sh` fetches, if Node and the tools are installed.
fn tools(test: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/openapi-tools");
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).status();
    if node.is_ok_and(|status| status.success()) && folder.join("node.fetched").exists() {
        return Some(folder);
    }
    eprintln!("skipped: {test}: the tools for OpenAPI are not fetched, see scripts/openapi-tools.sh");
    None
}

fn from_environment(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn schema<'a>(document: &'a Json, name: &str) -> &'a Json {
    ["components", "schemas", name].iter().fold(document, |json, name| json.get(name).unwrap())
}

/// Returns whether a number of the value is at a bound that a validator's binary floating point rounds.
fn is_rounded(json: &Json, schema: &Json) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(name, value)| {
            schema.get("properties").and_then(|all| all.get(name)).is_some_and(|schema| is_rounded(value, schema))
        }),
        Json::List(items) => {
            schema.get("items").is_some_and(|schema| items.iter().any(|item| is_rounded(item, schema)))
        }
        Json::Number(text) => ["maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"].iter().any(|name| {
            let Some(Json::Number(bound)) = schema.get(name) else { return false };
            let (bound, value): (f64, f64) = (bound.parse().unwrap(), text.parse().unwrap());
            bound == value && text.bytes().filter(u8::is_ascii_digit).count() > 15
        }),
        _ => false,
    }
}

#[test]
fn what_schemas_accept_the_gateway_accepts_and_nothing_else() {
    const NAME: &str = "what_schemas_accept_the_gateway_accepts_and_nothing_else";
    let Some(tools) = tools(NAME) else { return };
    let values = from_environment("QUAYLINE_SCHEMA_VALUES", 20_000);
    let seed = from_environment("QUAYLINE_SCHEMA_SEED", 1) as u64;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/openapi-tools/ajv.mjs");
    let mut node =
        Command::new("node").arg(script).arg(&tools).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufWriter::new(node.stdin.take().unwrap());
    let (mut made, mut accepted, mut refused, mut answered) = (0, 0, 0, 0);
    let mut copybooks = Vec::new();
    for number in 0.. {
        if made >= values {
            break;
        }
        let mut random = Random(seed.wrapping_mul(1_000_003) + number);
        let layout = Layout::new(&mut random);
        let world = layout.world(&mut random);
        copybooks.push(layout.copybook);
        let document = world.definitions.apis[0].openapi("/", Security::default());
        let (request, response) = (schema(&document, "WriteRequest"), schema(&document, "WriteResult"));
        writeln!(lines, "schema\tq{number}\t{request}\nschema\ts{number}\t{response}").unwrap();
        for round in 0..ROUNDS {
            // Half of the values are meant to fit; the others have about one fault.
            let body = value(&mut random, request, if round % 2 == 0 { 0 } else { 12 });
            let told = world.record_bytes("POST", "/v1/x", &body.to_string());
            made += 1;
            // No schema can say which numbers a float keeps, so these bodies are valid for it.
            let is_inexact = |problem: &Problem| {
                !problem.errors.is_empty() && problem.errors.iter().all(|error| error.rule == "REC-049")
            };
            let verdict = if told.as_ref().map_or_else(is_inexact, |_| true) { "ok" } else { "no" };
            if !is_rounded(&body, request) {
                writeln!(lines, "value\tq{number}\t{verdict}\t{body}").unwrap();
            }
            let Ok(mut record) = told else {
                refused += 1;
                continue;
            };
            accepted += 1;
            if random.one_in(3) {
                let at = random.below(record.len());
                record[at] = random.next().to_le_bytes()[0];
            }
            if let Ok((200, answer)) = world.answer(&record, "/v1/x", Media::Json) {
                writeln!(lines, "value\ts{number}\tok\t{answer}").unwrap();
                answered += 1;
            }
        }
    }
    drop(lines);
    let done = node.wait_with_output().unwrap();
    let told = String::from_utf8(done.stdout).unwrap();
    let summary = told.lines().last().unwrap_or_default().to_owned();
    eprintln!("{made} bodies: {accepted} accepted, {refused} refused; {answered} responses. ajv: {summary}");
    let disagreement = |line: &str| {
        let number: usize = line[1..].split('\t').next()?.parse().ok()?;
        Some(format!("{line}\n{}", copybooks.get(number)?))
    };
    let told: Vec<String> = told.lines().filter_map(disagreement).collect();
    assert!(done.status.success() && told.is_empty(), "{}", told.join("\n"));
    assert!(accepted > made / 3 && refused > made / 10 && answered > made / 4, "{accepted} {refused} {answered}");
}

/// Documents of random layouts, with parameters, several responses and each form of authentication.
#[test]
fn linters_find_no_error_in_documents_of_random_layouts() {
    let Some(tools) = tools("linters_find_no_error_in_documents_of_random_layouts") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for number in 0..12u64 {
        let mut random = Random(0x51ab_0000 + number);
        let layout = Layout::new(&mut random);
        let world = layout.world(&mut random);
        let bit = |n: u64| number >> n & 1 == 1;
        let security = Security { api_key: bit(0), bearer: bit(1), mutual_tls: bit(2) };
        let file = folder.path().join(format!("api-{number}.json"));
        std::fs::write(&file, world.definitions.apis[0].openapi("/", security).pretty()).unwrap();
        files.push(file);
    }
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/openapi-tools");
    for (tool, options) in [("redocly", "--format=codeframe --config"), ("spectral", "--quiet --ruleset")] {
        let mut command = Command::new("node");
        command.arg(tools.join("node_modules/.bin").join(tool)).arg("lint").args(options.split(' '));
        let config = rules.join(format!("{tool}.yaml"));
        let done = command.arg(config).args(&files).env("REDOCLY_TELEMETRY", "off").output().unwrap();
        let told = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        assert!(done.status.success(), "{tool}: {told}");
    }
}
