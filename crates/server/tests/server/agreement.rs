//! Agreement with GnuCOBOL: random LINKAGE layouts, served by the settings that `quayline service new` proposes and by other dialect settings.
//! A program compiled with the options of the service displays each value that it received, and returns it unchanged or with the opposite sign.
//!
//! `QUAYLINE_AGREEMENT_LAYOUTS` sets the number of layouts (default 400), `QUAYLINE_AGREEMENT_SEED` the first seed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quayline_cobol::layout::Dialect;
use quayline_core::Limits;
use quayline_gateway::{
    Api, Definitions, Media, OperationLane, Proposal, Proposed, ProviderSpec, Request, Service, layout_of,
};
use quayline_program::{Worker, WorkerSpec, WorkingStorage};

/// Layouts of one program: starting the compiler costs more than a layout.
const BATCH: usize = 50;
/// Rounds of random values for each layout.
const ROUNDS: usize = 3;

/// Lines that are appended to the proposal. Where tables slide, GnuCOBOL 3.1.2 computes wrong places after the second of two tables of varying length
/// in different groups. Such a service is refused, so the returned part is the last of the record, and items follow its table.
const SETTINGS: [&str; 4] = [
    "",
    "dialect-settings = { overpunch = \"ebcdic\" }\n",
    "dialect-settings = { binary-sizes = \"2-4-8\", truncate = \"no\" }\n",
    "dialect-settings = { binary-sizes = \"1-to-8\", native-sizes = \"1-to-8\", binary-order = \"little\", sync = \"no\", odo-slide = \"yes\" }\n",
];

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
        usize::try_from(self.next() % n as u64).unwrap()
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Number { digits: usize, scale: usize, signed: bool, turned: bool },
    Text(usize),
    Float,
    Double,
}

#[derive(Clone)]
enum Entry {
    Item {
        number: usize,
        clauses: String,
        kind: Kind,
    },
    /// A table of fixed length, or one that the counter `C{number}` counts.
    Table {
        number: usize,
        max: usize,
        counted: bool,
        entries: Vec<Entry>,
    },
    Group {
        number: usize,
        entries: Vec<Entry>,
    },
}

/// Content of an item in one round.
enum Value {
    Item { json: String, seen: String, back: String },
    Table(Vec<Vec<Value>>),
    Group(Vec<Value>),
}

struct Case {
    entries: Vec<Entry>,
}

impl Case {
    fn new(random: &mut Random, number: usize, settings: &str) -> Case {
        // Names are unique in the program.
        let mut next = 1000 * (number + 1);
        let count = 3 + random.below(10);
        // A counted table stands in a group here, so what follows must move with its count for both.
        let counted = random.below(4) == 0 && settings.contains("odo-slide");
        // GnuCOBOL 3.1.2 forgets slack bytes before a counted table that something follows, so such a service is refused.
        let mut entries = entries_in(random, &mut next, count, 0, if counted { Sync::No } else { Sync::Allowed });
        if counted {
            let inner = entries_in(random, &mut next, 2, 2, Sync::No);
            // Groups and tables of groups after it are refused in the second part.
            let last =
                entries.iter().rposition(|entry| !matches!(entry, Entry::Item { .. })).map_or(0, |last| last + 1);
            let at = last + random.below(entries.len() + 1 - last);
            entries.insert(at, Entry::Table { number: next, max: 2 + random.below(4), counted: true, entries: inner });
        }
        Case { entries }
    }

    fn copybook(&self, number: usize) -> String {
        let mut text = format!("       01 R{number}.\n           05 REQ-WHICH PIC 9(4).\n");
        for (part, letter) in [("IN-PART", 'I'), ("SEEN-PART", 'S'), ("OUT-PART", 'O')] {
            let _ = writeln!(text, "           05 {part}.");
            declare(&mut text, &self.entries, letter, 10);
        }
        text
    }
}

/// Whether items may be SYNCHRONIZED: in tables the service is refused, since GnuCOBOL puts their slack bytes elsewhere.
#[derive(Clone, Copy, PartialEq)]
enum Sync {
    Allowed,
    No,
}

fn entries_in(random: &mut Random, next: &mut usize, count: usize, depth: usize, sync: Sync) -> Vec<Entry> {
    let mut all = Vec::new();
    for _ in 0..count {
        let number = *next;
        *next += 1;
        let inner = 1 + random.below(3);
        all.push(match random.below(10) {
            0 if depth < 2 => Entry::Group { number, entries: entries_in(random, next, inner, depth + 1, sync) },
            1 if depth < 2 => {
                let max = 1 + random.below(3);
                Entry::Table {
                    number,
                    max,
                    counted: false,
                    entries: entries_in(random, next, inner, depth + 1, Sync::No),
                }
            }
            _ => item(random, number, sync),
        });
    }
    all
}

fn item(random: &mut Random, number: usize, sync: Sync) -> Entry {
    let digits = 1 + random.below(18);
    let scale = if random.below(2) == 0 { 0 } else { random.below(digits.min(9) + 1) };
    let signed = random.below(3) > 0;
    let kind = Kind::Number { digits, scale, signed, turned: signed && random.below(2) == 0 };
    let whole = digits - scale;
    let mut picture = String::from(if signed { "PIC S" } else { "PIC " });
    if whole > 0 {
        let _ = write!(picture, "9({whole})");
    }
    if scale > 0 {
        let _ = write!(picture, "V9({scale})");
    }
    let sync = if sync == Sync::No { "" } else { random.pick(&["", "", " SYNC"]) };
    let sign = if signed {
        random.pick(&["", "", "", " SIGN LEADING", " SIGN LEADING SEPARATE", " SIGN TRAILING SEPARATE"])
    } else {
        ""
    };
    let (clauses, kind) = match random.below(12) {
        0..4 => (format!("{picture}{sign}"), kind),
        4 | 5 => (format!("{picture} COMP{sync}"), kind),
        6 | 7 => (format!("{picture} COMP-5{sync}"), kind),
        8 => (format!("{picture} COMP-3"), kind),
        9 => {
            let n = 1 + random.below(30);
            (format!("PIC X({n})"), Kind::Text(n))
        }
        10 => (format!("COMP-1{sync}"), Kind::Float),
        _ => (format!("COMP-2{sync}"), Kind::Double),
    };
    Entry::Item { number, clauses, kind }
}

fn declare(text: &mut String, entries: &[Entry], letter: char, level: usize) {
    // Columns up to 72 are all that a line has.
    let indent = " ".repeat(11);
    for entry in entries {
        match entry {
            Entry::Item { number, clauses, .. } if letter != 'S' => {
                let _ = writeln!(text, "{indent}{level} {letter}{number} {clauses}.");
            }
            Entry::Item { number, .. } => {
                let _ = writeln!(text, "{indent}{level} S{number} PIC X(40).");
            }
            Entry::Table { number, max, counted, entries } => {
                // The seen part has no counter of its own: its tables have their full length.
                if *counted && letter != 'S' {
                    let _ = writeln!(text, "{indent}{level} {letter}C{number} PIC 9(2).");
                    let _ = writeln!(text, "{indent}{level} {letter}T{number} OCCURS 1 TO {max}");
                    let _ = writeln!(text, "{indent}    DEPENDING ON {letter}C{number}.");
                } else {
                    let _ = writeln!(text, "{indent}{level} {letter}T{number} OCCURS {max}.");
                }
                declare(text, entries, letter, level + 5);
            }
            Entry::Group { number, entries } => {
                let _ = writeln!(text, "{indent}{level} {letter}G{number}.");
                declare(text, entries, letter, level + 5);
            }
        }
    }
}

/// Statements that answer: `at` is the subscripts so far.
fn answer(text: &mut String, entries: &[Entry], at: &[usize]) {
    let subscripts = if at.is_empty() {
        String::new()
    } else {
        format!("({})", at.iter().map(usize::to_string).collect::<Vec<_>>().join(" "))
    };
    for entry in entries {
        match entry {
            Entry::Item { number, kind, .. } => {
                let (i, o, s) = (
                    format!("I{number}{subscripts}"),
                    format!("O{number}{subscripts}"),
                    format!("S{number}{subscripts}"),
                );
                let edited = match kind {
                    Kind::Number { scale, .. } => Some(*scale),
                    Kind::Float | Kind::Double => Some(3),
                    Kind::Text(_) => None,
                };
                let _ = match edited {
                    Some(scale) => writeln!(text, "    MOVE {i} TO E{scale}\n    MOVE E{scale} TO {s}"),
                    None => writeln!(text, "    MOVE {i} TO {s}"),
                };
                let _ = match kind {
                    Kind::Number { turned: true, .. } => writeln!(text, "    COMPUTE {o} = 0 - {i}"),
                    _ => writeln!(text, "    MOVE {i} TO {o}"),
                };
            }
            Entry::Table { number, max, counted, entries } => {
                if *counted {
                    let _ = writeln!(text, "    MOVE IC{number} TO OC{number}");
                }
                for element in 1..=*max {
                    if *counted {
                        let _ = writeln!(text, "    IF IC{number} >= {element}");
                    }
                    answer(text, entries, &[at, &[element]].concat());
                    if *counted {
                        let _ = writeln!(text, "    END-IF");
                    }
                }
            }
            Entry::Group { entries, .. } => answer(text, entries, at),
        }
    }
}

fn program(name: &str, cases: &[Case]) -> String {
    let mut text = format!(
        "IDENTIFICATION DIVISION.\nPROGRAM-ID. {name}.\nDATA DIVISION.\nWORKING-STORAGE SECTION.\n01 E0 PIC -(18)9.\n"
    );
    for scale in 1..=9 {
        let _ = writeln!(text, "01 E{scale} PIC -(18)9.9({scale}).");
    }
    text.push_str("LINKAGE SECTION.\n01 ANY-AREA.\n   05 ANY-WHICH PIC 9(4).\n");
    for number in 0..cases.len() {
        // Copybooks are in fixed form, the program is in free form.
        let _ = writeln!(
            text,
            ">>SOURCE FORMAT IS FIXED\n       COPY \"{name}-{number}.cpy\".\n      >>SOURCE FORMAT IS FREE"
        );
    }
    text.push_str("PROCEDURE DIVISION USING ANY-AREA.\n    EVALUATE ANY-WHICH\n");
    for number in 0..cases.len() {
        let _ = writeln!(text, "    WHEN {number} SET ADDRESS OF R{number} TO ADDRESS OF ANY-AREA PERFORM P{number}");
    }
    text.push_str("    END-EVALUATE\n    GOBACK.\n");
    for (number, case) in cases.iter().enumerate() {
        let _ = writeln!(text, "P{number}.\n    INITIALIZE SEEN-PART OF R{number}");
        answer(&mut text, &case.entries, &[]);
        text.push_str("    CONTINUE.\n");
    }
    text
}

fn values(random: &mut Random, entries: &[Entry]) -> Vec<Value> {
    entries
        .iter()
        .map(|entry| match entry {
            Entry::Item { kind, .. } => value(random, *kind),
            Entry::Group { entries, .. } => Value::Group(values(random, entries)),
            Entry::Table { max, counted, entries, .. } => {
                let count = if *counted { 1 + random.below(*max) } else { *max };
                Value::Table((0..count).map(|_| values(random, entries)).collect())
            }
        })
        .collect()
}

fn value(random: &mut Random, kind: Kind) -> Value {
    match kind {
        Kind::Number { digits, scale, signed, turned } => {
            let used = 1 + random.below(digits);
            let units = random.next() % 10u64.pow(u32::try_from(used).unwrap());
            let minus = signed && units > 0 && random.below(2) == 0;
            let text = |minus: bool| {
                let digits = format!("{units:0width$}", width = scale + 1);
                let (whole, part) = digits.split_at(digits.len() - scale);
                format!("{}{whole}{}{part}", if minus { "-" } else { "" }, if scale > 0 { "." } else { "" })
            };
            let width = if scale > 0 { 20 + scale } else { 19 };
            let back = text(minus != (turned && units > 0));
            Value::Item { json: text(minus), seen: format!("\"{:>width$}\"", text(minus)), back }
        }
        Kind::Text(n) => {
            let len = 1 + random.below(n);
            let letters: String = (0..len).map(|_| random.pick(&["A", "b", "7", "-", "Z"])).collect();
            let text = format!("\"{letters}\"");
            Value::Item { json: text.clone(), seen: text.clone(), back: text }
        }
        Kind::Float | Kind::Double => {
            let eighths = 2 * random.below(40_000) + 1;
            let sign = random.pick(&["", "-"]);
            let text = format!("{sign}{}", eighths as f64 / 8.0);
            Value::Item {
                seen: format!("\"{:>23}\"", format!("{sign}{:.3}", eighths as f64 / 8.0)),
                back: text.clone(),
                json: text,
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    In,
    Out,
    Seen,
}

/// The members of a part as JSON.
fn json(text: &mut String, entries: &[Entry], values: &[Value], part: Part) {
    let letter = match part {
        Part::In => 'i',
        Part::Out => 'o',
        Part::Seen => 's',
    };
    text.push('{');
    for (n, (entry, value)) in entries.iter().zip(values).enumerate() {
        if n > 0 {
            text.push(',');
        }
        match (entry, value) {
            (Entry::Item { number, .. }, Value::Item { json, seen, back }) => {
                let shown = [json, back, seen][part as usize];
                let _ = write!(text, "\"{letter}{number}\":{shown}");
            }
            (Entry::Group { number, entries }, Value::Group(values)) => {
                let _ = write!(text, "\"{letter}g{number}\":");
                json(text, entries, values, part);
            }
            (Entry::Table { number, max, counted, entries }, Value::Table(rows)) => {
                if *counted && part == Part::Out {
                    let _ = write!(text, "\"oc{number}\":{},", rows.len());
                }
                let _ = write!(text, "\"{letter}t{number}\":[");
                for (n, row) in rows.iter().enumerate() {
                    if n > 0 {
                        text.push(',');
                    }
                    json(text, entries, row, part);
                }
                if *counted && part == Part::Seen {
                    for _ in rows.len()..*max {
                        text.push(',');
                        blank(text, entries);
                    }
                }
                text.push(']');
            }
            _ => unreachable!("values are made for their entries"),
        }
    }
    text.push('}');
}

/// A row of the seen part that the program has left blank.
fn blank(text: &mut String, entries: &[Entry]) {
    text.push('{');
    for (n, entry) in entries.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        match entry {
            Entry::Item { number, .. } => {
                let _ = write!(text, "\"s{number}\":\"\"");
            }
            _ => unreachable!("a counted table has items only"),
        }
    }
    text.push('}');
}

/// A service by the proposal for a copybook, with a source and more settings.
fn service(folder: &Path, name: &str, number: usize, settings: &str) -> Arc<Service> {
    let copybook = format!("{name}-{number}.cpy");
    let layout = layout_of(&folder.join(&copybook), None, &Dialect::GNUCOBOL, &Limits::default()).unwrap();
    let from = Proposed {
        copybook: &copybook,
        record: None,
        encoding: "ascii",
        dialect: "gnucobol",
        parameters: &[],
        program: None,
        source: None,
        is_free: false,
    };
    let file = Proposal::new(&layout, from).unwrap().file;
    let file = file.replace("\n[provider]", &format!("{settings}\n[provider]"));
    let file = file.replace(
        // The proposal's placeholder; its remark follows the options.
        "program = \"PROGRAM-ID\"",
        &format!("program = \"{name}\"\nsource = \"{name}.cbl\"\ncompiler-options = [\"-std=ibm\", \"-free\"]"),
    );
    Arc::new(
        Service::compile("services/case.toml", &file, folder).unwrap_or_else(|findings| panic!("{findings}\n{file}")),
    )
}

/// Compiles one program for some layouts and compares all rounds; returns disagreements.
fn batch(folder: &Path, seed: u64, batch: usize, count: usize) -> Vec<String> {
    let mut random = Random(seed.wrapping_add(batch as u64 * 7919));
    let settings = SETTINGS[batch % SETTINGS.len()];
    let name = format!("AGREE{batch}");
    let cases: Vec<Case> = (0..count).map(|number| Case::new(&mut random, number, settings)).collect();
    for (number, case) in cases.iter().enumerate() {
        std::fs::write(folder.join(format!("{name}-{number}.cpy")), case.copybook(number)).unwrap();
    }
    let source = folder.join(format!("{name}.cbl"));
    std::fs::write(&source, program(&name, &cases)).unwrap();
    let services: Vec<Arc<Service>> = (0..count).map(|number| service(folder, &name, number, settings)).collect();
    let ProviderSpec::Program(spec) = &services[0].provider else { panic!("a program was proposed") };
    let options = &spec.source.as_ref().unwrap().options;
    let done = Command::new("cobc").arg("-m").args(options).arg(&source).current_dir(folder).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{name}: {}", said.lines().take(20).collect::<Vec<_>>().join("\n"));
    let length = services.iter().map(|service| service.length).max().unwrap();
    let mut worker = Worker::start(&WorkerSpec {
        program: name.clone(),
        folders: vec![folder.to_owned()],
        work_folder: None,
        environment: Vec::new(),
        length,
        parameters: Vec::new(),
        slots: 1,
        working_storage: WorkingStorage::Fresh,
        memory_bytes_max: 512 << 20,
        executable: PathBuf::from(env!("CARGO_BIN_EXE_quayline_serve")),
        arguments: Vec::new(),
    })
    .unwrap();
    let mut wrong = Vec::new();
    for (number, (case, service)) in cases.iter().zip(services).enumerate() {
        let api = "base-path = \"/v\"\n[[operation]]\nid = \"x\"\nmethod = \"POST\"\npath = \"/x\"\nservice = \"case\"\n[operation.body]\n";
        let api = Api::compile("apis/a.toml", api, std::slice::from_ref(&service)).unwrap_or_else(|f| panic!("{f}"));
        let definitions = Definitions::new(vec![Arc::clone(&service)], vec![Arc::new(api)]).unwrap();
        let operation = &definitions.operations[0];
        let mut lane = OperationLane::new(operation);
        for round in 0..ROUNDS {
            let values = values(&mut random, &case.entries);
            let mut body = format!("{{\"reqWhich\":{number},\"inPart\":");
            json(&mut body, &case.entries, &values, Part::In);
            body.push('}');
            let mut expected = "{\"seenPart\":".to_owned();
            json(&mut expected, &case.entries, &values, Part::Seen);
            expected.push_str(",\"outPart\":");
            json(&mut expected, &case.entries, &values, Part::Out);
            expected.push('}');
            let found = ask(&mut worker, operation, &mut lane, &body, service.length);
            if found.as_deref() != Ok(expected.as_str()) {
                let found = found.unwrap_or_else(|why| why);
                let copybook = case.copybook(number);
                wrong.push(format!("{name}, layout {number}, round {round}, {settings}{copybook}request  {body}\nexpected {expected}\nfound    {found}"));
                break;
            }
        }
    }
    wrong
}

fn ask(
    worker: &mut Worker,
    operation: &quayline_gateway::Operation,
    lane: &mut OperationLane,
    body: &str,
    length: usize,
) -> Result<String, String> {
    let request = Request {
        path_values: &[],
        query: "",
        header: &|_| None,
        body: body.as_bytes(),
        media_type: Some("application/json"),
    };
    let record = lane.record(operation, &request).map_err(|problem| format!("{problem:?}"))?.to_vec();
    let slot = worker.submit(&[&record]).ok_or("no slot")?;
    worker.ring();
    let began = Instant::now();
    let mut done = 0;
    while done == 0 {
        worker.completions(|_| done += 1);
        if let Some((end, _)) = worker.end() {
            return Err(end.reason());
        }
        assert!(began.elapsed() < Duration::from_secs(20), "the program does not answer");
        std::thread::yield_now();
    }
    let mut record = Vec::new();
    worker.take(slot, length, &mut record);
    let answer = lane.answer(operation, &mut record, Media::Json, None, Vec::new());
    let answer = answer.map_err(|problem| format!("{problem:?}"))?;
    String::from_utf8(answer.buffer[..answer.len].to_vec()).map_err(|error| error.to_string())
}

/// By default, a program read -12.34 as 12.30: the service used the dialect of IBM, the compiler that of GnuCOBOL.
#[test]
fn programs_see_and_give_what_requests_and_answers_say() {
    if Command::new("cobc").arg("--version").output().is_err() {
        eprintln!("skipped: programs_see_and_give_what_requests_and_answers_say: GnuCOBOL (cobc) is not installed");
        return;
    }
    let setting = |name: &str| std::env::var(name).ok().map(|text| text.parse::<usize>().unwrap());
    let layouts = setting("QUAYLINE_AGREEMENT_LAYOUTS").unwrap_or(400);
    let seed = setting("QUAYLINE_AGREEMENT_SEED").unwrap_or(20_261_122) as u64;
    let folder = tempfile::tempdir().unwrap();
    let batches = layouts.div_ceil(BATCH);
    let next = AtomicUsize::new(0);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..std::thread::available_parallelism().map_or(1, usize::from))
            .map(|_| {
                scope.spawn(|| {
                    let mut wrong = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= batches {
                            return wrong;
                        }
                        let count = BATCH.min(layouts - number * BATCH);
                        wrong.extend(batch(folder.path(), seed, number, count));
                    }
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let shown: Vec<&str> = wrong.iter().take(5).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {layouts} layouts disagree:\n{}", wrong.len(), shown.join("\n\n"));
}
