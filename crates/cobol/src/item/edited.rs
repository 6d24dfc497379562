//! Writing numeric-edited fields.

use crate::layout::{EditSymbol, EditedPicture};

/// Writes the characters of `digits` (one for each digit position of the picture) under `picture`; CR and DB are two characters.
///
/// Source: IBM Enterprise COBOL for z/OS, Language Reference, PICTURE clause editing.
pub(super) fn edit(picture: &EditedPicture, digits: &[u8], negative: bool, out: &mut Vec<char>) {
    use EditSymbol::{
        Asterisk, Blank, Credit, Currency, Debit, Digit, FloatCurrency, FloatMinus, FloatPlus, ImpliedPoint,
        InsertZero, Minus, Plus, Point, Scaling, Separator, Slash, Zero,
    };
    out.clear();
    let cells: usize = picture.symbols.iter().map(|s| s.bytes()).sum();
    let zero = digits.iter().all(|d| *d == b'0');
    let has_digit = picture.symbols.contains(&Digit);
    if zero && (picture.blank_when_zero || !has_digit) {
        if picture.symbols.contains(&Asterisk) && !picture.blank_when_zero {
            // The whole item is asterisks, signs and currency too, but for the decimal point.
            for symbol in &picture.symbols {
                match symbol {
                    Point => out.push(picture.decimal_point),
                    other => out.extend(core::iter::repeat_n('*', other.bytes())),
                }
            }
        } else {
            out.resize(cells, ' ');
        }
        return;
    }
    let mut digits = digits.iter().map(|d| char::from(*d));
    // While leading zeros are suppressed: their replacement.
    let mut fill: Option<char> = None;
    let mut suppressing = true;
    // Cell and character of a floating symbol that has not found its place yet.
    let mut float: Option<(usize, char)> = None;
    for symbol in &picture.symbols {
        let active = suppressing && fill.is_some();
        let stop = |out: &mut Vec<char>, suppressing: &mut bool, float: &mut Option<(usize, char)>| {
            if *suppressing && let Some((cell, c)) = float.take() {
                out[cell] = c;
            }
            *suppressing = false;
        };
        match symbol {
            Digit => {
                stop(out, &mut suppressing, &mut float);
                out.extend(digits.next());
            }
            Zero | Asterisk => {
                let with = if *symbol == Zero { ' ' } else { '*' };
                fill = Some(with);
                match digits.next() {
                    Some('0') if suppressing => out.push(with),
                    digit => {
                        suppressing = false;
                        out.extend(digit);
                    }
                }
            }
            FloatCurrency | FloatPlus | FloatMinus => {
                let c = match symbol {
                    FloatCurrency => picture.currency,
                    FloatPlus if !negative => '+',
                    _ if negative => '-',
                    _ => ' ',
                };
                if fill.is_none() {
                    fill = Some(' ');
                    float = Some((out.len(), c));
                    out.push(' ');
                    continue;
                }
                match digits.next() {
                    Some('0') if suppressing => {
                        float = Some((out.len(), c));
                        out.push(' ');
                    }
                    digit => {
                        stop(out, &mut suppressing, &mut float);
                        out.extend(digit);
                    }
                }
            }
            Point => {
                stop(out, &mut suppressing, &mut float);
                out.push(picture.decimal_point);
            }
            ImpliedPoint => stop(out, &mut suppressing, &mut float),
            Scaling => {}
            Separator | Blank | InsertZero | Slash => match fill.filter(|_| active) {
                Some(with) => {
                    if let Some((_, c)) = float {
                        float = Some((out.len(), c));
                    }
                    out.push(with);
                }
                None => out.push(match symbol {
                    Separator => {
                        if picture.decimal_point == ',' {
                            '.'
                        } else {
                            ','
                        }
                    }
                    InsertZero => '0',
                    Slash => '/',
                    _ => ' ',
                }),
            },
            Currency => out.push(picture.currency),
            Plus => out.push(if negative { '-' } else { '+' }),
            Minus => out.push(if negative { '-' } else { ' ' }),
            Credit => out.extend(if negative { ['C', 'R'] } else { [' ', ' '] }),
            Debit => out.extend(if negative { ['D', 'B'] } else { [' ', ' '] }),
        }
    }
}
