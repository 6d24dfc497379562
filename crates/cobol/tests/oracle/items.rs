//! Random elementary items: clauses, and the values that they can have by construction.

use crate::copybook::Domain;
use crate::random::Random;

/// Clauses of the enclosing groups and of the program that affect an item.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around {
    pub(crate) usage: Option<&'static str>,
    pub(crate) sign: Option<&'static str>,
    pub(crate) sync_allowed: bool,
    pub(crate) decimal_comma: bool,
}

pub(crate) const COMP: [&str; 5] = ["COMP", "COMPUTATIONAL", "BINARY", "COMP-4", "USAGE IS COMPUTATIONAL-4"];
pub(crate) const PACKED: [&str; 4] = ["COMP-3", "PACKED-DECIMAL", "USAGE COMPUTATIONAL-3", "USAGE IS COMP-3"];
const COMP5: [&str; 2] = ["COMP-5", "USAGE COMPUTATIONAL-5"];

/// A picture string: an item of `n` symbols written out or with a count.
fn repeated(random: &mut Random, symbol: char, n: usize) -> String {
    if n <= 6 && random.one_in(2) {
        return symbol.to_string().repeat(n);
    }
    if n > 2 && random.one_in(6) {
        return format!("{symbol}({}){}", n - 2, symbol.to_string().repeat(2));
    }
    match random.below(12) {
        0 => format!("{symbol}({n:03})"),
        _ => format!("{symbol}({n})"),
    }
}

fn words(clauses: &str) -> Vec<String> {
    clauses.split_whitespace().map(str::to_owned).collect()
}

pub(crate) fn item(random: &mut Random, around: Around) -> (Vec<String>, Domain) {
    if let Some(usage) = around.usage {
        return match usage {
            "DISPLAY" => zoned(random, around),
            "COMP-6" => comp6(random, true),
            "COMP-5" => binary(random, around, &[""], true),
            "COMP-3" => packed(random, &[""]),
            _ => binary(random, around, &[""], false),
        };
    }
    // GnuCOBOL 3.1.2 takes the SIGN of a group for that of text, edited items and pointers too: it adds a byte to some and crashes
    // on others.
    let kinds = if around.sign.is_some() { 22..70 } else { 0..100 };
    match random.within(kinds.start, kinds.end - 1) {
        0..16 => text(random),
        16..22 => text_edited(random),
        22..40 => zoned(random, around),
        40..52 => binary(random, around, &COMP, false),
        52..58 => binary(random, around, &COMP5, true),
        58..70 => packed(random, &PACKED),
        70..73 => comp6(random, false),
        73..77 => float(random, around),
        77..80 => opaque(random, around),
        _ => {
            let (picture, domain) = crate::pictures::numeric_edited(random, around.decimal_comma);
            let mut clauses = picture_clause(random, &picture);
            if !picture.contains('*') && random.one_in(8) {
                clauses.extend(words(random.pick(&["BLANK WHEN ZERO", "BLANK ZERO", "BLANK WHEN ZEROES"])));
            }
            (clauses, domain)
        }
    }
}

pub(crate) fn picture_clause(random: &mut Random, picture: &str) -> Vec<String> {
    let word = random.pick(&["PIC", "PIC", "PIC", "PIC IS", "PICTURE", "PICTURE IS"]);
    let mut clauses = words(word);
    clauses.push(picture.to_owned());
    clauses
}

fn text(random: &mut Random) -> (Vec<String>, Domain) {
    let long = random.one_in(8);
    let n = random.within(1, if long { 200 } else { 24 });
    let alphabetic = random.one_in(6);
    let picture = if alphabetic {
        repeated(random, 'A', n)
    } else if n >= 3 && random.one_in(8) {
        // A mixture is alphanumeric as a whole.
        let a = random.within(1, n - 2);
        let b = random.within(1, n - a - 1);
        format!("{}{}{}", repeated(random, '9', a), repeated(random, 'X', b), repeated(random, 'A', n - a - b))
    } else {
        repeated(random, 'X', n)
    };
    let mut clauses = picture_clause(random, &picture);
    let justified = random.one_in(7);
    if justified {
        clauses.extend(words(random.pick(&["JUST", "JUSTIFIED", "JUST RIGHT", "JUSTIFIED RIGHT"])));
    }
    if random.one_in(8) {
        clauses.extend(words(random.pick(&["DISPLAY", "USAGE DISPLAY", "USAGE IS DISPLAY"])));
    }
    (clauses, Domain::Text { chars: n, justified, alphabetic })
}

fn text_edited(random: &mut Random) -> (Vec<String>, Domain) {
    loop {
        let runs = random.within(2, 6);
        let mut picture = String::new();
        let mut mask = Vec::new();
        for _ in 0..runs {
            let symbol = *b"XXXXA9B0/".get(random.below(9)).expect("below the length");
            let n = random.within(1, 4);
            picture.push_str(&repeated(random, char::from(symbol), n));
            let inserted = match symbol {
                b'B' => Some(' '),
                b'0' => Some('0'),
                b'/' => Some('/'),
                _ => None,
            };
            mask.extend(std::iter::repeat_n(inserted, n));
        }
        if picture.contains('X') && mask.iter().any(Option::is_some) {
            return (picture_clause(random, &picture), Domain::TextEdited { mask });
        }
    }
}

/// Digits, point and P of a numeric picture without S, and the scale.
fn decimal_picture(random: &mut Random, digits: usize) -> (String, i32) {
    let scaled = digits < 12 && random.one_in(12);
    if scaled {
        let p = random.within(1, 4);
        // GnuCOBOL 3.1.2 refuses `P(1)PP`.
        let ps = if random.one_in(2) { "P".repeat(p) } else { format!("P({p})") };
        let nines = repeated(random, '9', digits);
        let (digits, p) = (i32::try_from(digits).expect("small"), i32::try_from(p).expect("small"));
        return match random.below(4) {
            0 => (format!("{nines}{ps}"), -p),
            1 => (format!("{nines}{ps}V"), -p),
            2 => (format!("{ps}{nines}"), digits + p),
            _ => (format!("V{ps}{nines}"), digits + p),
        };
    }
    if !random.one_in(3) {
        let v = if random.one_in(20) { "V" } else { "" };
        return (format!("{}{v}", repeated(random, '9', digits)), 0);
    }
    let scale = random.within(1, digits);
    let whole = if digits > scale { repeated(random, '9', digits - scale) } else { String::new() };
    (format!("{whole}V{}", repeated(random, '9', scale)), i32::try_from(scale).expect("small"))
}

fn number(digits: usize, scale: i32, signed: bool, binary: Option<u32>) -> Domain {
    Domain::Number { digits, scale, signed, binary, edited: false }
}

fn zoned(random: &mut Random, around: Around) -> (Vec<String>, Domain) {
    let digits = if random.one_in(10) { random.within(19, 31) } else { random.within(1, 18) };
    let (picture, scale) = decimal_picture(random, digits);
    let signed = around.sign.is_some() && !random.one_in(4) || random.one_in(2);
    let mut clauses = picture_clause(random, &format!("{}{picture}", if signed { "S" } else { "" }));
    if signed && random.one_in(2) {
        clauses.extend(words(random.pick(&[
            "SIGN LEADING",
            "SIGN IS TRAILING",
            "SIGN LEADING SEPARATE",
            "SIGN IS TRAILING SEPARATE CHARACTER",
            "LEADING SEPARATE CHARACTER",
            "TRAILING SEPARATE",
            "SIGN IS LEADING SEPARATE CHARACTER",
        ])));
    } else if !signed && scale == 0 && !picture.contains(['V', 'P']) && random.one_in(6) {
        // With decimals, GnuCOBOL 3.1.2 makes it an edited item in which V takes a byte.
        clauses.extend(words("BLANK WHEN ZERO"));
    }
    (clauses, number(digits, scale, signed, None))
}

/// SYNCHRONIZED somewhere, where it may be.
fn synchronized(random: &mut Random, around: Around, clauses: &mut Vec<String>) {
    if around.sync_allowed && random.one_in(2) {
        clauses.extend(words(random.pick(&["SYNC", "SYNCHRONIZED", "SYNC", "SYNC RIGHT", "SYNCHRONIZED LEFT"])));
    }
}

fn binary(random: &mut Random, around: Around, usages: &[&str], native: bool) -> (Vec<String>, Domain) {
    let digits = random.within(1, 18);
    let (picture, scale) = decimal_picture(random, digits);
    let signed = random.one_in(2);
    let mut clauses = picture_clause(random, &format!("{}{picture}", if signed { "S" } else { "" }));
    clauses.extend(words(random.pick(usages)));
    synchronized(random, around, &mut clauses);
    let bytes = match digits {
        1..=2 => 1,
        3..=4 => 2,
        5..=9 => 4,
        _ => 8,
    };
    (clauses, number(digits, scale, signed, native.then_some(bytes)))
}

fn packed(random: &mut Random, usages: &[&str]) -> (Vec<String>, Domain) {
    let digits = if random.one_in(10) { random.within(19, 31) } else { random.within(1, 18) };
    let (picture, scale) = packed_picture(random, digits);
    let signed = random.one_in(2);
    let mut clauses = picture_clause(random, &format!("{}{picture}", if signed { "S" } else { "" }));
    clauses.extend(words(random.pick(usages)));
    (clauses, number(digits, scale, signed, None))
}

/// GnuCOBOL 3.1.2 counts P as digits of a packed item, but gives them no room.
fn packed_picture(random: &mut Random, digits: usize) -> (String, i32) {
    loop {
        let (picture, scale) = decimal_picture(random, digits);
        if !picture.contains('P') {
            return (picture, scale);
        }
    }
}

fn comp6(random: &mut Random, inherited: bool) -> (Vec<String>, Domain) {
    let digits = random.within(1, 18);
    let (picture, scale) = packed_picture(random, digits);
    let mut clauses = picture_clause(random, &picture);
    if !inherited {
        clauses.extend(words(random.pick(&["COMP-6", "USAGE COMP-6", "COMPUTATIONAL-6"])));
    }
    (clauses, number(digits, scale, false, None))
}

fn float(random: &mut Random, around: Around) -> (Vec<String>, Domain) {
    let double = random.one_in(2);
    let usage = if double { ["COMP-2", "USAGE COMPUTATIONAL-2"] } else { ["COMP-1", "USAGE IS COMP-1"] };
    let mut clauses = words(random.pick(&usage));
    synchronized(random, around, &mut clauses);
    (clauses, Domain::Float { double })
}

fn opaque(random: &mut Random, around: Around) -> (Vec<String>, Domain) {
    let mut clauses = match random.below(4) {
        0 => words("USAGE INDEX"),
        1 => words("POINTER"),
        2 => words("USAGE IS POINTER"),
        _ => {
            let n = random.within(1, 10);
            let picture = repeated(random, 'N', n);
            return (picture_clause(random, &picture), Domain::Opaque);
        }
    };
    synchronized(random, around, &mut clauses);
    (clauses, Domain::Opaque)
}
