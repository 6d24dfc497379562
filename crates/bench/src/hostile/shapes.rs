//! The shapes of each format: places of a good file, times units that are repeated there.

use super::Shape;

/// The shapes of one format, and the commands that read it.
#[derive(Clone, Debug)]
pub struct Format {
    /// Name in the bench.
    pub name: &'static str,
    /// Extension of the files.
    pub extension: &'static str,
    /// Commands; the word `FILE` is the file of the shape, `FILE.name` one beside it, `FOLDER/name` one of [`Format::files`].
    pub commands: Vec<Vec<&'static str>>,
    /// Files that the commands name.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// Shapes, at least 40.
    pub shapes: Vec<Shape>,
}

/// A place of a good file: its name, what comes before it and what comes after it.
pub(super) struct Place(pub(super) &'static str, pub(super) Vec<u8>, pub(super) Vec<u8>);

const CLAIMS: &[u8] = include_bytes!("../../../../examples/edi/claims.x12");
const ORDERS: &[u8] = include_bytes!("../../../../examples/edi/orders.edi");
const CLAIMS_GUIDE: &[u8] = include_bytes!("../../../../examples/edi/837p.guide");
const X12_CLAIMS_GUIDE: &[u8] = include_bytes!("../../../../examples/edi/x12-claims.guide");
const ORDERS_GUIDE: &[u8] = include_bytes!("../../../../examples/edi/orders.guide");
const MAP: &[u8] = include_bytes!("../../../../examples/bench/claims.qmap");
const MAP_SHAPE: &[u8] = include_bytes!("../../../../examples/bench/claims.shape");

/// Ten bytes of text, decimal DISPLAY and a counted table, for the formats of record files.
const COPYBOOK: &[u8] = b"       01 R.\n          05 N PIC 9.\n          05 A PIC X(4).\n          05 T OCCURS 0 TO 5 DEPENDING ON N PIC X.\n";
const PLAIN_COPYBOOK: &[u8] = b"       01 R.\n          05 A PIC X(4).\n          05 B PIC 9(4).\n";

/// Returns every format with its shapes.
#[must_use]
pub fn formats() -> Vec<Format> {
    vec![x12(), edifact(), json(), xml(), csv(), rdw(), lines(), copybook(), guide(), map()]
}

/// Places times units.
pub(super) fn shapes(places: &[Place], units: &[&[u8]]) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for Place(place, before, after) in places {
        for unit in units {
            let shown: String =
                unit.iter().take(48).flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from).collect();
            let name = format!("{place}, {shown} repeated");
            shapes.push(Shape { name, before: before.clone(), unit: unit.to_vec(), after: after.clone() });
        }
    }
    shapes
}

/// Cuts a valid file at the first occurrence of `at`.
fn cut(file: &[u8], at: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let place = file.windows(at.len()).position(|window| window == at).unwrap_or(file.len());
    (file[..place].to_vec(), file[place..].to_vec())
}

fn place_at(name: &'static str, file: &[u8], at: &[u8]) -> Place {
    let (before, after) = cut(file, at);
    Place(name, before, after)
}

/// Returns a place after `at`, inside a value.
fn place_in(name: &'static str, file: &[u8], at: &[u8]) -> Place {
    let (mut before, mut after) = cut(file, at);
    before.extend(after.drain(..at.len()));
    Place(name, before, after)
}

fn x12() -> Format {
    let places = [
        place_at("before the interchange", CLAIMS, b"ISA"),
        place_at("between group and transaction", CLAIMS, b"ST*"),
        place_at("between segments", CLAIMS, b"CLM*"),
        place_in("inside an element", CLAIMS, b"NM1*IL*1*"),
        Place("after the interchange", CLAIMS.to_vec(), Vec::new()),
    ];
    let units: [&[u8]; 16] = [
        b" ",
        b"\n",
        b"\r\n",
        b"\0",
        b"A",
        b"~",
        b"*",
        b":",
        b"^",
        b"\x1b(",
        b"\xc3\xa9",
        b"abcde*1~",
        b"NM1*~",
        b"ST*837*0001*005010X222A1~",
        b"HL*1**20*1~",
        b"LX*1~SV1*HC:99213*40***1~",
    ];
    Format {
        name: "X12",
        extension: "x12",
        commands: vec![
            vec!["convert", "FILE", "--to", "jsonl", "-o", "/dev/null", "--rejects", "FILE.rejects"],
            vec!["convert", "FILE", "--rows", "-j", "2", "--to", "csv", "-o", "/dev/null", "--rejects", "FILE.rejects"],
            vec!["validate", "FILE", "--guide", "FOLDER/837p.guide"],
            vec!["inspect", "FILE"],
        ],
        files: vec![("837p.guide", CLAIMS_GUIDE.to_vec()), ("x12-claims.guide", X12_CLAIMS_GUIDE.to_vec())],
        shapes: shapes(&places, &units),
    }
}

fn edifact() -> Format {
    let places = [
        place_at("before the interchange", ORDERS, b"UN"),
        place_at("between interchange header and message", ORDERS, b"UNH+"),
        place_at("between segments", ORDERS, b"LIN+"),
        place_in("inside an element", ORDERS, b"BGM+220+"),
        Place("after the interchange", ORDERS.to_vec(), Vec::new()),
    ];
    let units: [&[u8]; 14] = [
        b" ",
        b"\n",
        b"\0",
        b"A",
        b"'",
        b"+",
        b":",
        b"?'",
        b"?+",
        b"\x1b$B",
        b"\xe4",
        b"abc+1'",
        b"LIN+1'",
        b"UNH+1+ORDERS:D:96A:UN'",
    ];
    Format {
        name: "EDIFACT",
        extension: "edi",
        commands: vec![
            vec!["convert", "FILE", "--to", "jsonl", "-o", "/dev/null", "--rejects", "FILE.rejects"],
            vec!["convert", "FILE", "--rows", "-j", "2", "--to", "csv", "-o", "/dev/null", "--rejects", "FILE.rejects"],
            vec!["validate", "FILE", "--guide", "FOLDER/orders.guide"],
            vec!["inspect", "FILE"],
        ],
        files: vec![("orders.guide", ORDERS_GUIDE.to_vec())],
        shapes: shapes(&places, &units),
    }
}

fn json() -> Format {
    let places = [
        Place("between documents", b"{\"A\":\"x\",\"B\":1}\n".to_vec(), b"\n{\"A\":\"y\",\"B\":2}\n".to_vec()),
        Place("inside a text", b"{\"A\":\"".to_vec(), b"\",\"B\":1}\n".to_vec()),
        Place("between members", b"{\"A\":\"x\",".to_vec(), b"\"B\":1}\n".to_vec()),
        Place("as a value", b"{\"B\":".to_vec(), b"}\n".to_vec()),
    ];
    let units: [&[u8]; 11] = [
        b" ",
        b"\n",
        b"a",
        b"[",
        b"{\"a\":",
        b"1",
        b"\\",
        b"\\u0041",
        b"\"Z\":1,",
        b"{\"A\":\"x\",\"B\":1}\n",
        b"\xff",
    ];
    Format {
        name: "JSON",
        extension: "jsonl",
        commands: vec![
            record_command(&["--from", "json", "--to", "record", "--encoding", "cp037"]),
            vec!["inspect", "FILE"],
        ],
        files: vec![("r.cpy", PLAIN_COPYBOOK.to_vec())],
        shapes: shapes(&places, &units),
    }
}

/// `convert` of the file with the copybook `r.cpy`, to nowhere.
fn record_command(options: &[&'static str]) -> Vec<&'static str> {
    let mut words =
        vec!["convert", "FILE", "--copybook", "FOLDER/r.cpy", "-o", "/dev/null", "--rejects", "FILE.rejects"];
    words.extend(options);
    words
}

fn xml() -> Format {
    let start = b"<?xml version=\"1.0\"?>\n<records>".to_vec();
    let places = [
        Place(
            "before the root",
            b"<?xml version=\"1.0\"?>\n".to_vec(),
            b"<records><record><A>x</A><B>1</B></record></records>".to_vec(),
        ),
        Place("between documents", start.clone(), b"<record><A>x</A><B>1</B></record></records>".to_vec()),
        Place("inside a text", [&start[..], b"<record><A>"].concat(), b"</A><B>1</B></record></records>".to_vec()),
        Place("inside a tag", [&start[..], b"<record "].concat(), b"><A>x</A></record></records>".to_vec()),
    ];
    let units: [&[u8]; 12] = [
        b" ",
        b"\n",
        b"a",
        b"<",
        b"&",
        b"&amp;",
        b"<a>",
        b"<!-- -->",
        b"a='1' ",
        b"<![CDATA[x]]>",
        b"<?p x?>",
        b"<record><A>x</A><B>1</B></record>",
    ];
    Format {
        name: "XML",
        extension: "xml",
        commands: vec![
            record_command(&["--from", "xml", "--to", "record", "--encoding", "cp037"]),
            vec!["inspect", "FILE"],
        ],
        files: vec![("r.cpy", PLAIN_COPYBOOK.to_vec())],
        shapes: shapes(&places, &units),
    }
}

fn csv() -> Format {
    let places = [
        Place("between rows", b"A,B\nx,1\n".to_vec(), b"y,2\n".to_vec()),
        Place("inside quotes", b"A,B\n\"".to_vec(), b"\",1\n".to_vec()),
        Place("in the header", b"A,B".to_vec(), b"\nx,1\n".to_vec()),
        Place("inside a cell", b"A,B\nx".to_vec(), b",1\n".to_vec()),
    ];
    let units: [&[u8]; 11] =
        [b" ", b"\n", b"\r", b"\r\n", b"a", b",", b"\"", b"\"\"", b"x,1\n", b"\"x\ny\",1\n", b"\xff"];
    Format {
        name: "CSV",
        extension: "csv",
        commands: vec![
            record_command(&["--from", "csv", "--to", "record", "--encoding", "cp037"]),
            vec!["inspect", "FILE"],
        ],
        files: vec![("r.cpy", PLAIN_COPYBOOK.to_vec())],
        shapes: shapes(&places, &units),
    }
}

fn rdw() -> Format {
    let good = b"\0\x09\0\x001ABCD"[..9].to_vec();
    let places = [
        Place("from the first byte", Vec::new(), good.clone()),
        Place("after a record", good.clone(), good.clone()),
        Place("inside a long record", b"\x7f\xff\0\0".to_vec(), good.clone()),
    ];
    let units: [&[u8]; 14] = [
        b"\0",
        b"\0\x04\0\0",
        b"\0\x05\0\0A",
        b"\0\x09\0\x001ABCD",
        b"\xff",
        b"\x40",
        b"\0\x01\0\0",
        b"\xff\xff\0\0",
        b"\0\x0a\0\x001ABCDE",
        b"\0\x0a\0\x010ABCDE",
        b"\0\x09\0\x02xABCD",
        b"\0\x04",
        b"\x80\0\0\0",
        b"\n",
    ];
    Format {
        name: "RDW",
        extension: "rdw",
        commands: vec![
            record_command(&["--framing", "rdw", "--to", "jsonl", "--encoding", "ascii"]),
            record_command(&["--framing", "rdw", "--to", "jsonl", "--encoding", "ascii", "--short", "pad"]),
            vec!["inspect", "FILE"],
        ],
        files: vec![("r.cpy", COPYBOOK.to_vec())],
        shapes: shapes(&places, &units),
    }
}

fn lines() -> Format {
    let places = [
        Place("from the first byte", Vec::new(), b"\n1ABCDx\n".to_vec()),
        Place("between lines", b"1ABCDx\n".to_vec(), b"1ABCDx\n".to_vec()),
        Place("inside a line", b"1AB".to_vec(), b"x\n1ABCDx\n".to_vec()),
    ];
    let units: [&[u8]; 14] = [
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"A",
        b"1ABCDx\n",
        b"5ABCDxyzvw\n",
        b"9ABCD\n",
        b"\x0c",
        b"\x1a",
        b"\xff",
        b"\0\n",
        b"\x15",
    ];
    Format {
        name: "lines",
        extension: "txt",
        commands: vec![
            record_command(&["--framing", "lines", "--to", "jsonl", "--encoding", "ascii"]),
            record_command(&["--framing", "lines", "--to", "jsonl", "--encoding", "ascii", "-j", "2"]),
            vec!["inspect", "FILE"],
        ],
        files: vec![("r.cpy", COPYBOOK.to_vec())],
        shapes: shapes(&places, &units),
    }
}

fn copybook() -> Format {
    let places = [
        Place("before the record", Vec::new(), b"\n       01 R.\n          05 A PIC X.\n".to_vec()),
        Place("after the record", b"       01 R.\n          05 A PIC X.\n".to_vec(), Vec::new()),
        Place("in a picture", b"       01 R.\n          05 A PIC ".to_vec(), b".\n".to_vec()),
        Place("in a literal", b"       01 R.\n          05 A PIC X VALUE '".to_vec(), b"'.\n".to_vec()),
    ];
    let units: [&[u8]; 12] = [
        b" ",
        b"\n",
        b"\t",
        b"X",
        b"9(",
        b"'",
        b".",
        b"      * comment\n",
        b"          05 A PIC X.\n",
        b"          05 A REDEFINES A PIC X.\n",
        b"       COPY X.\n",
        b"          05 A OCCURS 2.\n",
    ];
    Format {
        name: "copybook",
        extension: "cpy",
        commands: vec![vec!["inspect", "FILE"]],
        files: Vec::new(),
        shapes: shapes(&places, &units),
    }
}

fn guide() -> Format {
    let places = [
        Place("before the guide", Vec::new(), CLAIMS_GUIDE.to_vec()),
        place_at("between parts", CLAIMS_GUIDE, b"\n\n"),
        place_in("inside a line", CLAIMS_GUIDE, b"guide "),
        Place("after the guide", CLAIMS_GUIDE.to_vec(), Vec::new()),
    ];
    let units: [&[u8]; 13] = [
        b" ",
        b"\n",
        b"\t",
        b"{",
        b"}",
        b"# x\n",
        b"segment X M 1\n",
        b"loop L {\n",
        b"\"",
        b"A1 ",
        b"codes A B\n",
        b"  segment REF O 1\n",
        b"  loop 9000 O 1\n    segment N1 M 1\n",
    ];
    Format {
        name: "guide",
        extension: "guide",
        commands: vec![vec!["guide", "check", "FILE"]],
        files: vec![("x12-claims.guide", X12_CLAIMS_GUIDE.to_vec())],
        shapes: shapes(&places, &units),
    }
}

fn map() -> Format {
    // All files of a format are in one folder.
    const ELSEWHERE: &[u8] = b"../edi/";
    let (mut map, rest) = cut(MAP, ELSEWHERE);
    map.extend_from_slice(&rest[ELSEWHERE.len()..]);
    let places = [
        Place("before the map", Vec::new(), map.clone()),
        place_at("between statements", &map, b"\n\n"),
        place_in("inside a header line", &map, b"source "),
        Place("after the map", map, Vec::new()),
    ];
    let units: [&[u8]; 11] = [b" ", b"\n", b"\t", b"(", b"{", b"# x\n", b"a = 1\n", b"x.", b"\"", b"1+", b"if a {\n"];
    Format {
        name: "map",
        extension: "qmap",
        commands: vec![vec!["map", "check", "FILE"]],
        files: vec![
            ("claims.shape", MAP_SHAPE.to_vec()),
            ("837p.guide", CLAIMS_GUIDE.to_vec()),
            ("x12-claims.guide", X12_CLAIMS_GUIDE.to_vec()),
        ],
        shapes: shapes(&places, &units),
    }
}
