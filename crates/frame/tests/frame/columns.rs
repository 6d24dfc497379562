//! Framings that `detect` got wrong: long records with text, and files that were cut or padded.

use quayline_frame::detect;

/// Generates records with a number of eight digits, words and blanks, in EBCDIC.
fn words(length: usize, records: usize, seed: u64) -> Vec<u8> {
    const WORDS: [&str; 8] = ["THE", "DELIVERY", "WAREHOUSE", "TO", "A", "CUSTOMER", "PAID", "ON"];
    let mut state = 88_172_645_463_325_252 ^ seed;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below).unwrap()
    };
    let ebcdic = |byte: u8| match byte {
        b'0'..=b'9' => byte + 0xc0,
        b'A'..=b'I' => byte + 0x80,
        b'J'..=b'R' => byte + 0x87,
        b'S'..=b'Z' => byte + 0x8f,
        _ => 0x40,
    };
    let mut file = Vec::new();
    for i in 0..records {
        let mut record = format!("{:08}", i * 37);
        let text = length * (30 + next(40)) / 100;
        while record.len() < text {
            record += WORDS[next(8)];
            record.push(' ');
        }
        file.extend(format!("{record:<length$}").bytes().take(length).map(ebcdic));
    }
    file
}

fn first(file: &[u8]) -> String {
    let found = detect(file, Some(file.len() as u64), None);
    found.first().map_or("none".to_owned(), |first| format!("{} {:.2}", first.spec, first.score))
}

/// `fixed:5` was proposed with 90 of 100 for records of 1,000 bytes: words and blanks repeat at many distances.
#[test]
fn a_long_text_does_not_hide_the_length() {
    for length in [80, 150, 200, 333, 500, 1_000, 2_000, 4_000] {
        for (records, seed) in [(40, 1), (100, 2), (23, 3)] {
            let file = words(length, records, seed);
            let found = first(&file);
            let (spec, score) = found.split_once(' ').unwrap();
            assert_eq!(spec, format!("fixed:{length}"), "{records} records");
            assert!(score.parse::<f64>().unwrap() > 0.8, "{records} records: {found}");
        }
    }
}

/// Text without records has no short length.
#[test]
fn words_alone_have_no_tiny_length() {
    let text: Vec<u8> = words(4_000, 30, 7).chunks(4_000).flat_map(|record| record[8..1_200].to_vec()).collect();
    let found = detect(&text, Some(text.len() as u64), None);
    assert!(found.iter().all(|candidate| candidate.score < 0.5), "{found:?}");
    let carriage_returns: Vec<u8> =
        (0..300).flat_map(|i| format!("{i:06} CUSTOMER {} END\r", "ABC".repeat(i % 7)).into_bytes()).collect();
    let found = detect(&carriage_returns, Some(carriage_returns.len() as u64), None);
    assert!(found.iter().all(|candidate| candidate.score < 0.5), "{found:?}");
}

fn rdw(records: usize) -> Vec<u8> {
    let mut file = Vec::new();
    for i in 0..records {
        let body = format!("{i:06}{}", "X".repeat(i % 40));
        file.extend(u16::try_from(body.len() + 4).unwrap().to_be_bytes());
        file.extend([0, 0]);
        file.extend(body.bytes());
    }
    file
}

/// A chain of 299 lengths counted for nothing when the last record was cut off.
#[test]
fn a_file_that_was_cut_keeps_its_framing() {
    let whole = rdw(300);
    let cut = &whole[..whole.len() - 3];
    let found = detect(cut, Some(cut.len() as u64), None);
    assert!(found[0].spec.to_string() == "rdw" && found[0].score > 0.8, "{found:?}");
    let ends = format!("the file ends at byte {}", cut.len());
    assert!(
        found[0].evidence.iter().any(|text| text.contains("record 300, which begins at byte") && text.contains(&ends))
    );
    let padded = [whole.as_slice(), &[0; 100]].concat();
    let found = detect(&padded, Some(padded.len() as u64), None);
    assert!(found[0].spec.to_string() == "rdw" && found[0].score > 0.8, "{found:?}");
    assert!(found[0].evidence.iter().any(|text| text.starts_with("the last 100 bytes")), "{found:?}");
}

/// A fifth of the bytes of these lines are letters of Latin-1.
#[test]
fn lines_with_letters_above_ascii_are_lines() {
    let lines: Vec<u8> =
        (0..100).flat_map(|i| [format!("{i:03} M").as_bytes(), b"\xfcller, K\xf6ln, \xe9t\xe9\n"].concat()).collect();
    assert_eq!(first(&lines[..lines.len() - 1]), "lines 0.97");
    let lines: Vec<u8> =
        (0..100).flat_map(|i| [format!("{i} M").as_bytes(), b"\xfcller, K\xf6ln, \xe9t\xe9\n"].concat()).collect();
    assert_eq!(first(&lines), "lines 0.94");
}
