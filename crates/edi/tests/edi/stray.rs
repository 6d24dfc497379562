//! Bytes between interchanges that are part of none: they are reported, and hide nothing.

use std::time::{Duration, Instant};

use quayline_core::Limits;
use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules};

fn x12(number: u32) -> String {
    format!(
        "ISA*00*          *00*          *ZZ*A              *ZZ*B              *260401*1200*^*00501*{number:09}*0*T*:~\
         GS*PO*A*B*20260401*1200*{number}*X*005010~ST*850*0001~BEG*00*SA*P{number}**20260330~SE*3*0001~GE*1*{number}~IEA*1*{number:09}~"
    )
}

fn edifact(number: u32, una: &str) -> String {
    format!("{una}UNB+UNOC:3+A+B+260401:1200+{number}'UNH+1+ORDERS:D:96A:UN'BGM+220+{number}+9'UNT+3+1'UNZ+1+{number}'")
}

/// Returns the control numbers of the interchanges that were read, and the faults with their bytes.
fn read(text: &str, step: usize) -> (Vec<String>, Vec<String>) {
    let text = text.as_bytes();
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let (mut numbers, mut faults, mut from, mut to) = (Vec::new(), Vec::new(), 0, 0);
    loop {
        to = (to + step).min(text.len());
        let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&text[from..to], end);
        let last = loop {
            let event = pass.advance();
            if event == Event::InterchangeStart {
                numbers.push(
                    pass.interchange().control_number().escape_ascii().to_string().trim_start_matches('0').to_owned(),
                );
            }
            for fault in pass.take_faults() {
                faults.push(format!("{} at {}: {}", fault.error.code(), fault.at.byte.0, fault.error));
            }
            if matches!(event, Event::NeedMore | Event::Done) {
                break event;
            }
        };
        from += pass.consumed();
        if last == Event::Done {
            return (numbers, faults);
        }
    }
}

/// Regression: a letter or digit before ISA or UNB hid the whole interchange, with a warning about bytes outside of an interchange.
#[test]
fn no_byte_before_a_header_hides_an_interchange() {
    let una = "UNA:+.? '";
    let all: [fn(u32) -> String; 3] = [x12, |n| edifact(n, ""), |n| edifact(n, "UNA:+.? '\n")];
    for of in all {
        for debris in ["x", "7", "garbage", "Dear partner, see below: I", "UNISAUNB", "ISAISA", "\n--\nx", "é"] {
            let (first, second) = (of(1), of(2));
            let text = format!("{first}{debris}{second}{}", of(3));
            let (numbers, faults) = read(&text, usize::MAX >> 1);
            assert_eq!(numbers, ["1", "2", "3"], "{debris}: {faults:?}");
            // Only the debris is reported, and nothing of the interchange after it.
            let bytes = debris.trim_start().len();
            assert!(!faults.is_empty(), "{debris}");
            if debris != "ISAISA" {
                let said = format!("{bytes} bytes here are");
                assert!(faults.len() == 1 && (faults[0].contains(&said) || bytes == 1), "{debris}: {faults:?}");
            }
            for step in [1, 7, 64] {
                assert_eq!(read(&text, step).0, numbers, "{debris} in steps of {step}");
            }
            // The only interchange of a file.
            assert_eq!(read(&format!("{debris}{first}"), 9).0, ["1"], "{debris}");
        }
    }
    assert_eq!(read(&format!("x{una}x"), 5).0, Vec::<String>::new());
}

/// Words that contain a tag are not headers, and the time for a file of them is linear in its size.
#[test]
fn words_with_tags_are_passed_over() {
    let word = "xISA*xUNB+UNOxUNA:+.? 'xISA|xUNB+UNOC:3xUNA ";
    assert_eq!(read(&format!("{}{}", word.repeat(3), x12(4)), 11).0, ["4"]);
    let run = |times: usize| {
        let text = word.repeat(times);
        let begun = Instant::now();
        assert_eq!(read(&text, 65_536).0.len(), 0);
        begun.elapsed()
    };
    let (few, many) = (run(2_000), run(16_000));
    assert!(many < few * 24 + Duration::from_millis(200), "8 times the bytes: {few:?}, then {many:?}");
}
