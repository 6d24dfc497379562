//! Laws of every encoding: written values are read back, read values are written in their canonical form, and `_preserve` loses nothing.

use proptest::prelude::*;
use quayline_cobol::layout::Dialect;
use quayline_cobol::{BadValue, FieldRule, Interface, Policies, Preserve, RecordDecoder, RecordPlan};
use quayline_core::{NodeId, Sink, Value};
use quayline_json::{JsonStyle, JsonWriter};

use super::{decode, encode, hex, plan};

/// A number's field: its clauses, digits, decimals and whether it has a sign.
#[derive(Clone, Debug)]
struct Numeric {
    clauses: String,
    digits: usize,
    scale: usize,
    signed: bool,
}

fn numeric() -> impl Strategy<Value = Numeric> {
    let usages = prop::sample::select(vec![
        "",
        "SIGN LEADING",
        "SIGN LEADING SEPARATE",
        "SIGN TRAILING SEPARATE",
        "COMP-3",
        "COMP",
        "COMP-5",
        "COMP-6",
        "BLANK WHEN ZERO",
    ]);
    (usages, 1usize..=18, 0usize..=4, any::<bool>()).prop_map(|(usage, digits, scale, signed)| {
        let scale = scale.min(digits);
        let signed = match usage {
            "COMP-6" | "BLANK WHEN ZERO" => false,
            usage if usage.starts_with("SIGN") => true,
            _ => signed,
        };
        let whole = if digits > scale { format!("9({})", digits - scale) } else { String::new() };
        let fraction = if scale > 0 { format!("V9({scale})") } else { String::new() };
        let sign = if signed { "S" } else { "" };
        Numeric { clauses: format!("{sign}{whole}{fraction} {usage}"), digits, scale, signed }
    })
}

fn edited() -> impl Strategy<Value = Numeric> {
    let pictures = [
        ("ZZ,ZZ9.99-", 7, 2, true),
        ("$$$,$$9.99CR", 7, 2, true),
        ("+++,+++.++", 7, 2, true),
        ("-----", 4, 0, true),
        ("***,***.**DB", 8, 2, true),
        ("**,**9", 5, 0, false),
        ("99/99/99", 6, 0, false),
        ("9(3)B9(3)09", 7, 0, false),
        ("+9(4).9", 5, 1, true),
        ("Z(5) BLANK WHEN ZERO", 5, 0, false),
        ("$ZZ,ZZZ.ZZ+", 7, 2, true),
        ("ZZ9V99", 5, 2, false),
    ];
    prop::sample::select(pictures.to_vec()).prop_map(|(clauses, digits, scale, signed)| Numeric {
        clauses: clauses.to_owned(),
        digits,
        scale,
        signed,
    })
}

/// A value of the field, as decimal text with all its decimals.
fn value(field: &Numeric) -> impl Strategy<Value = String> + use<> {
    let Numeric { digits, scale, signed, .. } = *field;
    let limit = 10u64.pow(u32::try_from(digits).expect("at most 18"));
    let magnitude = prop_oneof![4 => 0..limit, 1 => 0..limit.min(10), 1 => Just(0), 1 => Just(limit - 1)];
    (magnitude, any::<bool>()).prop_map(move |(n, minus)| {
        let text = format!("{n:0>width$}", width = scale + 1);
        let (whole, fraction) = text.split_at(text.len() - scale);
        let sign = if minus && signed && n > 0 { "-" } else { "" };
        let point = if scale > 0 { "." } else { "" };
        format!("{sign}{whole}{point}{fraction}")
    })
}

/// Writes JSON, and takes numbers as integers.
struct Integers(JsonWriter);

impl Sink for Integers {
    const PREFERS_INTEGERS: bool = true;

    fn enter(&mut self, node: NodeId) {
        self.0.enter(node);
    }
    fn leave(&mut self, node: NodeId) {
        self.0.leave(node);
    }
    fn open_list(&mut self, node: NodeId) {
        self.0.open_list(node);
    }
    fn close_list(&mut self, node: NodeId) {
        self.0.close_list(node);
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.0.value(node, value);
    }
    fn discard(&mut self) {
        self.0.discard();
    }
}

fn one_field(clauses: &str) -> RecordPlan {
    plan(&format!("01 R.\n 05 A PIC {clauses}."), &Interface::default(), &Policies::default())
}

/// Text a field of `n` characters can hold without its padding.
fn text(n: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select("AZaz09 -.é{}\"\\ß".chars().collect::<Vec<_>>()), 0..=n)
        .prop_map(|chars| chars.into_iter().collect::<String>().trim_end_matches(' ').to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn numbers_read_back_as_they_were_written(
        (field, value) in prop_oneof![3 => numeric().boxed(), 2 => edited().boxed()]
            .prop_flat_map(|field| { let value = value(&field); (Just(field), value) })
    ) {
        let plan = one_field(&field.clauses);
        let json = format!("{{\"A\":{value}}}");
        let record = encode(&plan, &json).map_err(TestCaseError::fail)?;
        prop_assert_eq!(decode(&plan, &record), Ok(json), "{}", field.clauses);
    }

    #[test]
    fn text_reads_back_as_it_was_written(text in text(12)) {
        for clauses in ["X(12)", "N(12)", "U(12) USAGE UTF-8"] {
            let plan = one_field(clauses);
            let json = format!("{{\"A\":{}}}", serde_json::to_string(&text).expect("text is JSON"));
            let record = encode(&plan, &json).map_err(TestCaseError::fail)?;
            prop_assert_eq!(decode(&plan, &record), Ok(json), "{}", clauses);
        }
    }

    #[test]
    fn packed_numbers_are_written_in_canonical_form(
        digits in 1usize..=18, signed in any::<bool>(),
        nibbles in prop::collection::vec(0u8..=9, 19), pad in 0u8..=15, sign in 0x0au8..=0x0f,
    ) {
        let negative = matches!(sign, 0x0b | 0x0d);
        prop_assume!(signed || !negative);
        let plan = one_field(&format!("{}9({digits}) COMP-3", if signed { "S" } else { "" }));
        let canonical_sign = match (signed, negative) { (false, _) => 0x0f, (true, true) => 0x0d, (true, false) => 0x0c };
        let build = |pad: u8, sign: u8| {
            let mut all: Vec<u8> = if digits % 2 == 0 { vec![pad] } else { Vec::new() };
            all.extend(&nibbles[..digits]);
            all.push(sign);
            all.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<u8>>()
        };
        let json = decode(&plan, &build(pad, sign)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(encode(&plan, &json), Ok(build(0, canonical_sign)));
    }

    #[test]
    fn a_sink_that_prefers_integers_gets_the_same_numbers_and_faults(
        digits in 1usize..=18, scale in 0usize..=4, signed in any::<bool>(), kept in any::<bool>(),
        nibbles in prop::collection::vec(prop_oneof![9 => 0u8..=9, 1 => 0u8..=15], 19), pad in 0u8..=15, sign in 0u8..=15,
    ) {
        let scale = scale.min(digits - 1);
        let clauses = format!("{}9({})V9({scale}) COMP-3", if signed { "S" } else { "" }, digits - scale);
        let clauses = clauses.replace("V9(0)", "");
        let invalid = if kept { BadValue::Raw } else { BadValue::Error };
        let rules = Policies { invalid, ..Policies::default() };
        let plan = plan(&format!("01 R.\n 05 A PIC {clauses}."), &Interface::default(), &rules);
        let mut all: Vec<u8> = if digits % 2 == 0 { vec![pad] } else { Vec::new() };
        all.extend(&nibbles[..digits]);
        all.push(sign);
        let record: Vec<u8> = all.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let mut integers = Integers(JsonWriter::new(plan.shape(), JsonStyle::default()));
        let found = RecordDecoder::new(&plan).decode(&record, &mut integers).map(drop);
        let found = match found {
            Ok(()) => Ok(String::from_utf8(integers.0.bytes().to_vec()).expect("JSON is UTF-8").trim_end().to_owned()),
            Err(faults) => Err(faults.0.iter().map(|f| format!("{} {f}\n", f.kind.code())).collect::<String>()),
        };
        prop_assert_eq!(found, decode(&plan, &record), "{} {:02x?}", clauses, record);
    }

    #[test]
    fn zoned_numbers_are_written_in_canonical_form(
        digits in 1usize..=18, signed in any::<bool>(), leading in any::<bool>(),
        values in prop::collection::vec(0u8..=9, 18), zone in 0x0au8..=0x0f,
    ) {
        let negative = matches!(zone, 0x0b | 0x0d);
        prop_assume!(signed || (!negative && !leading));
        let sign = if leading { " SIGN LEADING" } else { "" };
        let plan = one_field(&format!("{}9({digits}){sign}", if signed { "S" } else { "" }));
        let canonical_zone = match (signed, negative) { (false, _) => 0x0f, (true, true) => 0x0d, (true, false) => 0x0c };
        let build = |zone: u8| {
            let mut bytes: Vec<u8> = values[..digits].iter().map(|d| 0xf0 | d).collect();
            let over = if leading { 0 } else { digits - 1 };
            bytes[over] = zone << 4 | values[over];
            bytes
        };
        let json = decode(&plan, &build(zone)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(encode(&plan, &json), Ok(build(canonical_zone)));
    }

    #[test]
    fn full_range_binaries_and_text_come_back_as_they_are(bytes in prop::collection::vec(any::<u8>(), 27)) {
        let plan = plan(
            "01 R.\n 05 A PIC S9(9) COMP-5.\n 05 B PIC 9(18) COMP-5.\n 05 C PIC S9(4) COMP-5.\n 05 D PIC X(12).\n 05 E PIC X.",
            &Interface::default(), &Policies::default(),
        );
        let json = decode(&plan, &bytes).map_err(TestCaseError::fail)?;
        prop_assert_eq!(encode(&plan, &json), Ok(bytes));
    }

    /// Dirty fillers, slack, signs, unused digits, numbers beyond their pictures, and views that disagree with each other.
    #[test]
    fn preserved_records_come_back_byte_for_byte(record in dirty()) {
        let policies = Policies { preserve: Preserve::Yes, ..Policies::default() };
        let plan = plan(DIRTY, &Interface::default(), &policies);
        let json = decode(&plan, &record).map_err(TestCaseError::fail)?;
        prop_assert_eq!(encode(&plan, &json), Ok(record), "{}", json);
    }
}

pub(super) const DIRTY: &str = "01 R.
 05 N PIC 9 COMP-3.
 05 FILLER PIC X(3).
 05 Z PIC S9(3).
 05 P PIC S9(4) COMP-3.
 05 B PIC 9(4) COMP.
 05 E PIC ZZ9.
 05 S PIC S9(8) COMP SYNC.
 05 ST PIC X(6).
 05 SP REDEFINES ST.
  10 SP1 PIC S9(3) COMP-3.
  10 SP2 PIC 9(4) COMP.
 05 SB REDEFINES ST PIC XX/BXX.
 05 PT PIC S9(5) COMP-3.
 05 PX REDEFINES PT PIC X(3).
 05 T OCCURS 0 TO 4 DEPENDING ON N.
  10 T1 PIC 9(2).
  10 FILLER PIC X.
  10 T2 PIC 9(2) COMP.
  10 T3 REDEFINES T2 PIC XX.
 05 LAST-TEXT PIC X(2).";

/// A record of [`DIRTY`] that decodes.
pub(super) fn dirty() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = |n: usize| prop::collection::vec(any::<u8>(), n);
    let packed = |digits: usize| {
        (prop::collection::vec(0u8..=9, digits), any::<u8>(), 0x0au8..=0x0f).prop_map(move |(digits, pad, sign)| {
            let mut all = if digits.len() % 2 == 0 { vec![pad & 0x0f] } else { Vec::new() };
            all.extend(digits);
            all.push(sign);
            all.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<u8>>()
        })
    };
    let zoned = |n: usize, zones: std::ops::RangeInclusive<u8>| {
        (prop::collection::vec(0u8..=9, n), zones).prop_map(|(digits, zone)| {
            let mut bytes: Vec<u8> = digits.iter().map(|d| 0xf0 | d).collect();
            let last = bytes.len() - 1;
            bytes[last] = bytes[last] & 0x0f | zone << 4;
            bytes
        })
    };
    // Zeros that editing would have suppressed.
    let edited = prop::sample::select(vec!["4040f1", "f0f0f1", "40f0f1", "40f5f2"]).prop_map(hex);
    let row = (zoned(2, 0x0f..=0x0f), any_bytes(3)).prop_map(|(a, b)| [a, b].concat());
    // The first byte behind E is slack in front of S.
    let front = (any_bytes(3), zoned(3, 0x0a..=0x0f), packed(4), any_bytes(2), edited, any_bytes(1), any_bytes(4))
        .prop_map(|(filler, z, p, b, e, slack, s)| [filler, z, p, b, e, slack, s].concat());
    let rows = prop::collection::vec(row, 0..=4);
    (
        front,
        any_bytes(6),
        packed(5),
        rows,
        any_bytes(2),
        any::<bool>(),
        any_bytes(20),
        prop::sample::select(vec![0x0cu8, 0x0f, 0x0e]),
    )
        .prop_map(|(front, st, pt, rows, last, padded, junk, sign)| {
            let count = u8::try_from(rows.len()).expect("at most four");
            let mut record = vec![count << 4 | sign];
            record.extend([front, st, pt, rows.concat(), last].concat());
            if padded {
                // As long as the longest record, as a COMMAREA is.
                record.extend(&junk[..5 * (4 - rows.len())]);
            }
            record
        })
}

/// A sink as one that does not take texts by place.
struct OneByOne<'a>(&'a mut quayline_json::JsonWriter);

impl quayline_core::Sink for OneByOne<'_> {
    fn enter(&mut self, node: quayline_core::NodeId) {
        self.0.enter(node);
    }
    fn leave(&mut self, node: quayline_core::NodeId) {
        self.0.leave(node);
    }
    fn open_list(&mut self, node: quayline_core::NodeId) {
        self.0.open_list(node);
    }
    fn close_list(&mut self, node: quayline_core::NodeId) {
        self.0.close_list(node);
    }
    fn value(&mut self, node: quayline_core::NodeId, value: quayline_core::Value<'_>) {
        self.0.value(node, value);
    }
    fn discard(&mut self) {
        self.0.discard();
    }
}

proptest! {
    /// Short texts are the same JSON whether they come one by one or many at once, and from a buffer that is read where it is.
    #[test]
    fn texts_are_the_same_by_place(
        bytes in prop::collection::vec(prop::sample::select(b"AZ09  \"\\\t\x00\xe4~".to_vec()), 8 + 3 * 60),
        occurs in 0u32..=3,
        cut in 0usize..4,
    ) {
        let long = "A-NAME-THAT-IS-LONGER-THAN-ALL-OTHER";
        let copybook = format!(
            "01 R.\n 05 N PIC 9(8).\n 05 T OCCURS 0 TO 3 TIMES DEPENDING ON N.\n  10 A PIC X.\n  10 B PIC X(16).\n  10 {long} PIC X(5).\n  10 C PIC X(20).\n  10 D PIC X(15).\n  10 E PIC X(3)."
        );
        let policies = Policies { short: Some(quayline_cobol::ShortRecord::Null), ..Policies::default() };
        let plan = super::plan_in(&super::layout(&copybook), "latin1", &Interface::default(), &policies);
        let mut record = bytes;
        record[..8].copy_from_slice(format!("{occurs:08}").as_bytes());
        record.truncate(8 + 60 * occurs as usize - cut * usize::from(occurs > 0));
        let mut texts = Vec::new();
        for way in 0..3 {
            let mut writer = quayline_json::JsonWriter::new(plan.shape(), quayline_json::JsonStyle::default());
            let mut decoder = quayline_cobol::RecordDecoder::new(&plan);
            let whole = record.clone();
            let done = match way {
                0 => decoder.decode(&record, &mut OneByOne(&mut writer)),
                1 => decoder.decode(&record, &mut writer),
                _ => decoder.decode_in_place(&mut record, &mut writer),
            };
            prop_assert_eq!(&whole, &record);
            texts.push((done.map_err(|faults| faults.0.len()), writer.bytes().to_vec()));
        }
        prop_assert_eq!(&texts[0], &texts[1]);
        prop_assert_eq!(&texts[0], &texts[2]);
    }
}

/// Two tables of texts with other fields before, between and after them, some of which the interface leaves out.
const TABLES: &str = "01 R.
 05 N PIC 9.
 05 M PIC 9.
 05 H PIC X(5).
 05 T OCCURS 0 TO 5 TIMES DEPENDING ON N.
  10 OUT-A PIC X(3).
  10 A PIC X(4).
  10 B PIC X(20).
 05 G PIC X(6).
 05 V PIC 99.
 05 U OCCURS 0 TO 4 TIMES DEPENDING ON M.
  10 C PIC X(2).
  10 OUT-D PIC X(3).
  10 D PIC X(3).
  10 OUT-E PIC X.
 05 W OCCURS 2.
  10 E PIC X.
  10 F PIC X(100).
 05 Z PIC X(7).";

proptest! {
    /// Rows that are taken together give the same JSON as rows taken one by one, for any code page, number of occurrences and previous record.
    #[test]
    fn tables_of_texts_are_the_same_by_rows(
        bytes in prop::collection::vec(prop::sample::select(b"AZ09   \"\x00~".to_vec()), 2 * 420),
        clean in any::<bool>(),
        counts in prop::collection::vec((0usize..=5, 0usize..=4), 2),
        left_out in any::<bool>(),
        slides in any::<bool>(),
        page in prop::sample::select(vec!["ascii", "latin1", "cp037"]),
        cut in prop_oneof![3 => Just(0usize), 1 => 1usize..300],
    ) {
        let dialect = Dialect { odo_slide: slides, ..Dialect::IBM };
        let layout = super::layout_with(TABLES, &dialect);
        let rule = |field: &str| FieldRule { field: field.into(), include: Some(!left_out), ..FieldRule::default() };
        let interface = Interface { fields: ["OUT-A", "OUT-D", "OUT-E"].map(rule).to_vec(), ..Interface::default() };
        let policies = Policies { invalid: BadValue::Null, ..Policies::default() };
        let plan = super::plan_in(&layout, page, &interface, &policies);
        let charset = quayline_charset::Charset::by_name(page).expect("known");
        let mut by_rows = quayline_cobol::RecordDecoder::new(&plan);
        for (half, (n, m)) in bytes.chunks(420).zip(counts) {
            let text: String = half.iter().map(|byte| char::from(if clean { (*byte).clamp(b' ', b'Z') } else { *byte })).collect();
            let text = if clean { text.replace('"', " ") } else { text };
            let mut record = Vec::new();
            charset.encode_into(&format!("{n}{m}{text}"), &mut record).expect("in the page");
            let short = if slides { 27 * (5 - n) + 9 * (4 - m) } else { 0 };
let full: usize = 2 + 5 + 27 * 5 + 6 + 2 + 9 * 4 + 202 + 7;
            record.truncate((full - short).saturating_sub(cut));
            let mut texts = Vec::new();
            for one_by_one in [true, false] {
                let mut writer = quayline_json::JsonWriter::new(plan.shape(), quayline_json::JsonStyle::default());
                let done = if one_by_one {
                    quayline_cobol::RecordDecoder::new(&plan).decode(&record, &mut OneByOne(&mut writer))
                } else {
                    by_rows.decode_in_place(&mut record.clone(), &mut writer)
                };
                texts.push((done.map_err(|faults| faults.0), writer.bytes().to_vec()));
            }
            prop_assert_eq!(&texts[0], &texts[1]);
        }
    }
}
