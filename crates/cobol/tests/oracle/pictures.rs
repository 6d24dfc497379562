//! Random numeric-edited pictures.

use crate::copybook::Domain;
use crate::random::Random;

/// A picture and its values. Zero suppression, floating strings, insertions in every place, every sign.
pub(crate) fn numeric_edited(random: &mut Random, decimal_comma: bool) -> (String, Domain) {
    loop {
        let made = attempt(random, decimal_comma);
        // A picture of nines with a point at most is numeric-edited only if something is edited in it.
        if made.text.bytes().any(|b| !matches!(b, b'9' | b'V' | b'P' | b'(' | b')' | b'0'..=b'8')) || made.inserts {
            let text = if decimal_comma { made.text.chars().map(swapped).collect() } else { made.text };
            let domain = Domain::Number {
                digits: made.digits,
                scale: i32::try_from(made.scale).expect("small"),
                signed: made.signed,
                binary: None,
                edited: true,
            };
            return (text, domain);
        }
    }
}

fn swapped(c: char) -> char {
    match c {
        '.' => ',',
        ',' => '.',
        other => other,
    }
}

struct Made {
    text: String,
    digits: usize,
    scale: usize,
    signed: bool,
    inserts: bool,
}

fn attempt(random: &mut Random, decimal_comma: bool) -> Made {
    // Digits before the point: suppressed ones, then nines.
    let style = random.pick(&["Z", "Z", "*", "$", "+", "-", "9"]);
    let suppressed = if style == "9" { 0 } else { random.within(1, 9) };
    let fraction = if random.one_in(2) { random.within(1, 5) } else { 0 };
    // GnuCOBOL 3.1.2 does not count a floating currency symbol behind the point as a decimal.
    let all_suppressed = style != "9" && !(style == "$" && fraction > 0) && random.one_in(3);
    let nines = if all_suppressed { 0 } else { random.below(6) + usize::from(style == "9") };
    let mut row: Vec<&str> = Vec::new();
    let floating = matches!(style, "$" | "+" | "-");
    // Of currency symbols alone, GnuCOBOL takes some for fixed ones if there are few or something is between them.
    let plain = style == "$" && nines == 0;
    let suppressed = if plain { suppressed.max(3) } else { suppressed };
    row.extend(std::iter::repeat_n(style, suppressed + usize::from(floating)));
    row.extend(std::iter::repeat_n("9", nines));
    let mut digits = suppressed + nines;
    let mut inserts = false;
    let mut whole = String::new();
    for (i, symbol) in row.iter().enumerate() {
        if i > 0 && !plain {
            // GnuCOBOL does not suppress `0` and `/` among leading zeros, z/OS does: they stand behind a 9 only.
            let nine = row[i - 1] == "9";
            inserts |= insertion(random, &mut whole, 5, nine);
        }
        whole.push_str(symbol);
    }
    let mut text = whole;
    if fraction > 0 {
        text.push(if random.one_in(5) { 'V' } else { '.' });
        for i in 0..fraction {
            // Nor does it print a separator there while it suppresses zeros, or where the point is a comma.
            if i > 0 && !all_suppressed && !decimal_comma {
                inserts |= insertion(random, &mut text, 12, true);
            }
            text.push_str(if all_suppressed { style } else { "9" });
        }
        digits += fraction;
    }
    let mut signed = matches!(style, "+" | "-");
    // An insertion at the very end must not be a comma.
    if random.one_in(12) {
        text.push_str(random.pick(if nines > 0 { &["B", "/", "0"] } else { &["B"] }));
        inserts = true;
    }
    let mut front = String::new();
    if style != "$" && !matches!(style, "+" | "-") && random.one_in(4) {
        front.push('$');
    } else if random.one_in(16) {
        front.push_str(random.pick(&["B", "/", "0"]));
        inserts = true;
    }
    if !signed && random.one_in(2) {
        signed = true;
        // GnuCOBOL 3.1.2 edits a currency sign behind a sign wrongly: `-$9.99` shows 1 as `-$1.00`.
        match random.below(6) {
            0 if !front.contains('$') && style != "$" => front.insert(0, '+'),
            1 if !front.contains('$') && style != "$" => front.insert(0, '-'),
            0 | 1 => signed = false,
            // The last of a floating currency string would be a trailing currency symbol to GnuCOBOL.
            _ if text.trim_end_matches('B').ends_with('$') => signed = false,
            2 => text.push('+'),
            3 => text.push('-'),
            4 => text.push_str("CR"),
            _ => text.push_str("DB"),
        }
    }
    Made { text: compressed(random, &format!("{front}{text}")), digits, scale: fraction, signed, inserts }
}

fn insertion(random: &mut Random, text: &mut String, one_in: usize, any: bool) -> bool {
    if !random.one_in(one_in) {
        return false;
    }
    text.push_str(if any {
        random.pick(&[",", ",", ",", "B", "/", "0", "BB", ",B"])
    } else {
        random.pick(&[",", ",", ",", "B", "BB", ",B"])
    });
    true
}

/// Writes some runs of a symbol with a count.
fn compressed(random: &mut Random, text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        let run = chars[at..].iter().take_while(|c| **c == chars[at]).count();
        if run > 2 && random.one_in(2) {
            out.push_str(&format!("{}({run})", chars[at]));
        } else {
            out.extend(&chars[at..at + run]);
        }
        at += run;
    }
    out
}
