//! What each crate must never do, as far as its sources show it: the column `never` of the table in `ARCHITECTURE.md`.

use std::collections::BTreeMap;

use quayline_tidy::{EdgeKind, Packages, Table, root, tables, tracked_files};

/// A prohibition that begins a clause of the table, and the forms that break it.
struct Rule {
    clause: &'static str,
    forms: &'static [&'static str],
    /// Crates that it must not depend on.
    edges: &'static [&'static str],
}

const CLOCK: &[&str] = &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now", "Utc::now", "Local::now"];
const FILE: &[&str] = &[
    "File::open",
    "File::create",
    "File::options",
    "OpenOptions",
    "fs::read",
    "fs::write",
    "fs::rename",
    "fs::remove",
    "fs::copy",
];
const SOCKET: &[&str] = &["TcpStream", "TcpListener", "UdpSocket", "UnixStream", "UnixListener"];
const IO: &[&str] = &[
    "std::fs",
    "File::open",
    "File::create",
    "File::options",
    "OpenOptions",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "io::stdin",
    "io::stdout",
    "process::Command",
];
const THREAD: &[&str] = &["thread::spawn", "thread::Builder", "thread::scope"];
const FORMATS: &[&str] = &["cobol", "columnar", "edi", "flat", "frame", "json", "xml"];

const RULES: &[Rule] = &[
    Rule { clause: "does I/O", forms: IO, edges: &[] },
    Rule { clause: "reads a clock", forms: CLOCK, edges: &[] },
    Rule { clause: "knows a clock", forms: CLOCK, edges: &[] },
    Rule { clause: "opens a file", forms: FILE, edges: &["store-embedded"] },
    Rule { clause: "touches a file", forms: FILE, edges: &["store-embedded"] },
    Rule { clause: "opens a socket", forms: SOCKET, edges: &["connect", "postgres", "server"] },
    Rule { clause: "asks the network", forms: SOCKET, edges: &["connect", "postgres", "server"] },
    Rule { clause: "needs the network", forms: SOCKET, edges: &["connect", "postgres", "server"] },
    Rule { clause: "starts a thread", forms: THREAD, edges: &[] },
    Rule { clause: "speaks HTTP", forms: &["hyper::", "axum::", "reqwest::", "ureq::"], edges: &["server"] },
    Rule { clause: "opens a store", forms: &["EmbeddedStore::open"], edges: &["store-embedded", "store-postgres"] },
    Rule { clause: "knows a format", forms: &[], edges: FORMATS },
    Rule { clause: "knows files, queues or formats", forms: &[], edges: FORMATS },
    Rule { clause: "knows of COBOL", forms: &[], edges: &["cobol"] },
    Rule { clause: "knows of copybooks or HTTP", forms: &["hyper::"], edges: &["cobol", "server", "gateway"] },
    Rule { clause: "knows of files, framing or JSON", forms: FILE, edges: &["frame", "json"] },
    Rule { clause: "knows of partners or files", forms: FILE, edges: &["partner"] },
    Rule { clause: "decodes a field", forms: &[], edges: &["cobol"] },
    Rule { clause: "knows a field type", forms: &[], edges: &["cobol"] },
    Rule { clause: "knows a field or a copybook", forms: &[], edges: &["cobol"] },
    Rule { clause: "knows a queue", forms: &[], edges: &["store", "connect"] },
    Rule { clause: "knows a flow, a job or HTTP", forms: &["hyper::"], edges: &["flow", "batch", "server"] },
    Rule { clause: "parses job XML", forms: &["quick_xml::"], edges: &["xml"] },
];

/// Returns the column `never` of each crate, without the clauses that have an exception.
fn clauses() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let table: Table = tables(&text)
        .into_iter()
        .find(|table| table.header == ["crate", "holds", "never"])
        .expect("ARCHITECTURE.md has the table of what crates hold");
    let clauses = |cell: &str| {
        let whole: Vec<&str> = cell.split(';').filter(|clause| !clause.contains("except")).collect();
        whole.join(";")
    };
    let names = |row: &Vec<String>| -> Vec<(String, String)> {
        row[0].split(',').map(|name| (name.trim().to_owned(), clauses(&row[2]))).collect()
    };
    table.rows.iter().flat_map(names).collect()
}

#[test]
fn crates_keep_to_what_they_must_never_do() {
    let packages = Packages::read(&root().join("Cargo.toml"));
    let files = tracked_files();
    let (mut wrong, mut applied) = (Vec::new(), vec![0; RULES.len()]);
    for (name, clauses) in clauses() {
        let package = packages.0.iter().find(|package| package.name == format!("quayline-{name}"));
        let package = package.unwrap_or_else(|| panic!("{name} is in the table, but not a crate"));
        for (rule, applied) in RULES.iter().zip(&mut applied) {
            if !clauses.contains(rule.clause) {
                continue;
            }
            *applied += 1;
            let edges = package.edges.iter().filter(|edge| edge.kind == EdgeKind::Normal);
            for to in edges.filter_map(|edge| edge.to.strip_prefix("quayline-")) {
                if rule.edges.contains(&to) {
                    wrong.push(format!("{name} depends on {to} and never {}", rule.clause));
                }
            }
            let sources = format!("crates/{name}/src/");
            for file in files.iter().filter(|file| file.path.starts_with(&sources)) {
                for (line, form) in broken(&file.path, &file.text, rule.forms) {
                    wrong.push(format!("{}:{line}: `{form}`, and {name} never {}", file.path, rule.clause));
                }
            }
        }
    }
    for (rule, _) in RULES.iter().zip(&applied).filter(|(_, applied)| **applied == 0) {
        wrong.push(format!("no crate of the table never {}: remove the rule", rule.clause));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the lines of a source outside of comments and unit tests that contain one of the forms.
fn broken<'f>(path: &str, text: &str, forms: &[&'f str]) -> Vec<(usize, &'f str)> {
    if path.ends_with("tests.rs") {
        return Vec::new();
    }
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = product.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter_map(|(number, line)| Some((number + 1, *forms.iter().find(|form| line.contains(**form))?))).collect()
}

#[test]
fn a_broken_rule_is_found() {
    let text = "// Instant::now\nlet a = Instant::now();\n#[cfg(test)]\nmod tests {\nlet b = Instant::now();\n";
    assert_eq!(broken("crates/core/src/a.rs", text, CLOCK), [(2, "Instant::now")]);
    assert_eq!(broken("crates/core/src/a/tests.rs", text, CLOCK), []);
}
