//! Hexadecimal floating point: every decimal number becomes the nearest, and every number that is read comes back as its bytes.

use proptest::prelude::*;
use quayline_cobol::{Interface, Policies, RecordPlan};

use super::{decode, encode, hex, plan, to_hex};

fn item(usage: &str) -> RecordPlan {
    plan(&format!("01 R.\n 05 F {usage}."), &Interface::default(), &Policies::default())
}

fn written(plan: &RecordPlan, number: &str) -> Result<String, String> {
    encode(plan, &format!("{{\"F\":{number}}}")).map(|bytes| to_hex(&bytes))
}

/// A decimal number went through a double, which has 53 bits, so that the last digits were another number's.
#[test]
fn decimal_numbers_become_the_nearest_hexadecimal_number() {
    let long = item("COMP-2");
    for (number, bytes) in [
        ("0", "0000000000000000"),
        ("-0.0", "8000000000000000"),
        ("1", "4110000000000000"),
        ("-118.625", "c276a00000000000"),
        ("0.9", "40e6666666666666"),
        ("\"0.9\"", "40e6666666666666"),
        ("0.90000000000000002220446049250313080847263336181640625", "40e6666666666668"),
        ("9007199254740993", "4e20000000000001"),
        ("72057594037927935", "4effffffffffffff"),
        ("72057594037927935.4", "4effffffffffffff"),
        ("72057594037927935.5", "4f10000000000000"),
        ("1e-90", "0000000000002098"),
        ("7.2370055773322621e75", "7fffffffffffffff"),
    ] {
        assert_eq!(written(&long, number).as_deref(), Ok(bytes), "{number}");
    }
    // A tie that a digit far behind decides.
    let beyond = format!("1.{}1", "0".repeat(900));
    assert_eq!(written(&long, &beyond).as_deref(), Ok("4110000000000000"));
    let tie = format!("72057594037927934.5{}", "0".repeat(500));
    assert_eq!(written(&long, &tie).as_deref(), Ok("4effffffffffffff"));
    let below = format!("72057594037927934.4{}", "9".repeat(500));
    assert_eq!(written(&long, &below).as_deref(), Ok("4efffffffffffffe"));

    let short = item("COMP-1");
    for (number, bytes) in [
        ("0.1", "4019999a"),
        ("16777215", "46ffffff"),
        ("16777215.5", "47100000"),
        // The nearest double is the tie.
        ("16777214.49999999999999999", "46fffffe"),
    ] {
        assert_eq!(written(&short, number).as_deref(), Ok(bytes), "{number}");
    }
}

/// A number without a fraction left became 0 silently.
#[test]
fn a_number_beyond_the_range_is_a_finding() {
    for usage in ["COMP-1", "COMP-2"] {
        let plan = item(usage);
        for number in ["5e-324", "1e-95", "-1e-100", "7.3e75", "-1e300", "1e76"] {
            let told = written(&plan, number).expect_err(number);
            assert!(told.contains("REC-025"), "{usage} {number}: {told}");
        }
        assert_eq!(written(&plan, "0e-400").map(|bytes| bytes.starts_with("00000000")), Ok(true));
    }
}

/// A natural number as decimal digits, the lowest first: slow, and nothing like the code under test.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Plain(Vec<u8>);

impl Plain {
    fn new(n: u64) -> Plain {
        Plain(n.to_string().bytes().rev().map(|digit| digit - b'0').collect())
    }

    fn times(mut self, factor: u32, power: u32) -> Plain {
        for _ in 0..power {
            let mut carry = 0;
            for digit in &mut self.0 {
                carry += u32::from(*digit) * factor;
                *digit = u8::try_from(carry % 10).expect("a digit");
                carry /= 10;
            }
            while carry > 0 {
                self.0.push(u8::try_from(carry % 10).expect("a digit"));
                carry /= 10;
            }
        }
        self
    }

    fn shifted(mut self, places: usize) -> Plain {
        self.0.splice(..0, core::iter::repeat_n(0, places));
        self
    }

    fn plus(&self, other: &Plain) -> Plain {
        let mut carry = 0;
        let mut sum = Vec::new();
        for place in 0..self.0.len().max(other.0.len()) + 1 {
            carry += self.0.get(place).unwrap_or(&0) + other.0.get(place).unwrap_or(&0);
            sum.push(carry % 10);
            carry /= 10;
        }
        Plain(sum)
    }

    /// Digits with the highest first, all numbers with the same count.
    fn key(&self) -> Vec<u8> {
        let mut digits = self.0.clone();
        digits.resize(600, 0);
        digits.reverse();
        digits
    }
}

/// The value of a word without its sign, times 16^78.
fn scaled(word: u64, bits: u32) -> Plain {
    let fraction = word & ((1 << bits) - 1);
    let biased = u32::try_from(word >> bits).expect("an exponent");
    Plain::new(fraction << (56 - bits)).times(16, biased)
}

/// Checks that no neighbour of `word` is nearer to `digits × 10^exponent`.
fn check(digits: &str, exponent: i32, word: u64, bits: u32) -> Result<(), TestCaseError> {
    let least = 1 << (bits - 4);
    let (biased, fraction) = (word >> bits, word & ((1 << bits) - 1));
    prop_assert!(fraction >= least || biased == 0, "{word:x} is not normalised");
    let next = if fraction == (1 << bits) - 1 { (biased + 1) << bits | least } else { word + 1 };
    let previous = if fraction == least && biased > 0 { (biased << bits) - 1 } else { word - 1 };
    let places = usize::try_from(-exponent.min(0)).expect("positive");
    let number = Plain(digits.bytes().rev().map(|digit| digit - b'0').collect());
    let number = number.shifted(usize::try_from(exponent.max(0)).expect("positive")).times(16, 78);
    let twice = number.plus(&number).key();
    let half = |other: u64| scaled(word, bits).plus(&scaled(other, bits)).shifted(places).key();
    prop_assert!(twice < half(next), "{digits}e{exponent}: {next:x} is nearer than {word:x}");
    prop_assert!(twice >= half(previous), "{digits}e{exponent}: {previous:x} is nearer than {word:x}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_neighbour_is_nearer(digits in "[1-9][0-9]{0,40}", magnitude in -92i32..76) {
        let exponent = magnitude - i32::try_from(digits.len()).expect("short");
        for (usage, bits) in [("COMP-2", 56), ("COMP-1", 24)] {
            if bits == 24 && magnitude < -82 {
                continue;
            }
            let bytes = written(&item(usage), &format!("{digits}e{exponent}"));
            let bytes = bytes.map_err(TestCaseError::fail)?;
            check(&digits, exponent, u64::from_str_radix(&bytes, 16).expect("hexadecimal"), bits)?;
        }
    }

    #[test]
    fn an_integer_near_the_last_bit_is_nearest(n in 1u64 << 50..1 << 60) {
        let bytes = written(&item("COMP-2"), &n.to_string()).map_err(TestCaseError::fail)?;
        check(&n.to_string(), 0, u64::from_str_radix(&bytes, 16).expect("hexadecimal"), 56)?;
    }

    /// Numbers with few bits, with the 53 of a double, and with all 56.
    #[test]
    fn a_number_that_is_read_is_written_as_its_bytes(word: u64, zeros in 0u32..54, lead in 1u64..16) {
        let plan = item("COMP-2");
        for zeros in [0, 3, zeros] {
            let fraction = lead << 52 | word & 0x000f_ffff_ffff_ffff & (u64::MAX << zeros);
            let bytes = format!("{:016x}", word & 0xff00_0000_0000_0000 | fraction);
            let json = decode(&plan, &hex(&bytes)).map_err(TestCaseError::fail)?;
            let back = encode(&plan, &json).map(|bytes| to_hex(&bytes));
            prop_assert_eq!(back, Ok(bytes), "{}", json);
        }
        let bytes = format!("{:08x}", word & 0xff00_0000 | lead << 20 | word & 0x000f_ffff);
        let plan = item("COMP-1");
        let json = decode(&plan, &hex(&bytes)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(encode(&plan, &json).map(|bytes| to_hex(&bytes)), Ok(bytes), "{}", json);
    }
}

/// Text has the fewest digits that identify the number.
#[test]
fn a_number_is_read_as_short_text() {
    let plan = item("COMP-2");
    for (bytes, text) in [
        ("40e6666666666666", "0.9"),
        ("40e6666666666668", "0.90000000000000002"),
        ("4effffffffffffff", "72057594037927935"),
        ("c0e6666666666666", "-0.9"),
        ("4110000000000000", "1.0"),
        ("413243f6a8885a31", "3.1415926535897933"),
    ] {
        assert_eq!(decode(&plan, &hex(bytes)), Ok(format!("{{\"F\":{text}}}")), "{bytes}");
    }
}
