use expect_test::{Expect, expect};

use super::*;

/// The best candidates as text.
fn check(sample: &[u8], expected: Expect) {
    let mut text = String::new();
    for candidate in detect(sample).iter().take(3) {
        let name = candidate.charset.map_or("binary", Charset::name);
        let alike: Vec<_> = candidate.alike.iter().map(|charset| charset.name()).collect();
        text.push_str(&format!("{name} {}", candidate.score));
        match alike.len() {
            0 => {}
            1..5 => text.push_str(&format!(" alike {}", alike.join(" "))),
            n => text.push_str(&format!(" alike {} and {} more", alike[..3].join(" "), n - 3)),
        }
        text.push('\n');
        for evidence in &candidate.evidence {
            text.push_str(&format!("  {evidence}\n"));
        }
    }
    expected.assert_eq(&text);
}

fn encoded(charset: &str, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    Charset::by_name(charset).unwrap().encode_into(text, &mut bytes).unwrap();
    bytes
}

/// The best candidate, and whether the charset is it, alike, or as good.
fn best(sample: &[u8], charset: &str) -> (Option<Charset>, bool) {
    let wanted = Charset::by_name(charset).unwrap();
    let candidates = detect(sample);
    let mut best = candidates.iter().take_while(|candidate| candidate.score == candidates[0].score);
    let found = best.any(|candidate| candidate.charset == Some(wanted) || candidate.alike.contains(&wanted));
    (candidates[0].charset, found)
}

const ENGLISH: &str = "MILLER AND SONS LTD       12 STATION ROAD           LEEDS          0000012345678";

#[test]
fn plain_ebcdic_leaves_all_pages_open() {
    check(
        &encoded("cp037", ENGLISH),
        expect![[r#"
        IBM037 99 alike IBM1047 IBM500 IBM273 and 21 more
          100 % of the bytes are in runs of EBCDIC letters, digits and blanks, 0 % in such runs of ASCII
          41 % are blanks (0x40), 19 % digits (0xF0 to 0xF9), 0 % below 0x40, which in text are controls
          no byte of the text means different things in the EBCDIC pages, so the sample cannot distinguish them
    "#]],
    );
}

#[test]
fn packed_numbers_beside_the_text_do_not_hide_it() {
    let mut sample = Vec::new();
    for i in 0..200u32 {
        sample.extend(encoded("cp037", "MILLER    4711"));
        sample.extend([0x00, 0x12, 0x34, 0x56, 0x78, 0x9c, 0x00, 0x00]);
        sample.extend(i.to_be_bytes());
        sample.extend([0x01, 0x23, 0x45, 0x67, 0x89, 0x0d]);
    }
    check(
        &sample,
        expect![[r#"
            IBM037 98 alike IBM1047 IBM500 IBM273 and 21 more
              44 % of the bytes are in runs of EBCDIC letters, digits and blanks, 0 % in such runs of ASCII
              13 % are blanks (0x40), 12 % digits (0xF0 to 0xF9), 35 % below 0x40, which in text are controls
              no byte of the text means different things in the EBCDIC pages, so the sample cannot distinguish them
              1084 other bytes on which EBCDIC pages differ are taken for parts of numbers
        "#]],
    );
}

/// Random packed numbers between names and dates; few of them give bytes that look like letters beside text.
#[test]
fn the_digits_of_packed_numbers_do_not_make_a_page() {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for (records, packed) in [(12, 5), (12, 12), (400, 5), (400, 30)] {
        let mut sample = Vec::new();
        for _ in 0..records {
            sample.extend(encoded("cp037", "MILLER      JOHN    20240131"));
            for _ in 0..packed {
                let digits = (0..5).map(|_| u8::try_from(next() % 100).unwrap());
                sample.extend(digits.map(|n| n / 10 * 16 + n % 10));
                sample.push(u8::try_from(next() % 10 * 16 + 12 + next() % 2).unwrap());
            }
            sample.extend(encoded("cp037", "00000471"));
            sample.push(0xc0);
        }
        let first = detect(&sample)[0].charset;
        assert_eq!(first, Some(Charset::SingleByte(CodePage::IBM037)), "{records} records, {packed} numbers each");
    }
}

#[test]
fn a_stray_variant_byte_does_not_prefer_an_uncommon_page() {
    let mut sample = encoded("cp037", &ENGLISH.repeat(40));
    sample.extend([0xd3, 0x9b, 0xc4, 0xa4]);
    sample.extend(encoded("cp037", ENGLISH));
    assert_eq!(detect(&sample)[0].charset, Some(Charset::SingleByte(CodePage::IBM037)));
}

#[test]
fn the_example_file_is_of_the_usual_page() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/accounts/accounts.ebcdic");
    let sample = std::fs::read(path).unwrap();
    assert_eq!(detect(&sample)[0].charset, Some(Charset::SingleByte(CodePage::IBM037)));
}

#[test]
fn german_text_is_recognised_by_its_letters() {
    let text = "MÜLLER UND SÖHNE GMBH     Köln, Königstraße 5      Größe 12, Überweisung an Bürgermeister Schäfer  ";
    check(
        &encoded("cp273", text),
        expect![[r#"
            IBM273 99 alike IBM1141
              89 % of the bytes are in runs of EBCDIC letters, digits and blanks, 0 % in such runs of ASCII
              23 % are blanks (0x40), 3 % digits (0xF0 to 0xF9), 0 % below 0x40, which in text are controls
              bytes on which EBCDIC pages differ: 0x6A is 'ö' (3 times), 0x5A is 'Ü' (2 times), 0xA1 is 'ß' (2 times), 0xC0 is 'ä' (1 times), 0xD0 is 'ü' (1 times), 0xE0 is 'Ö' (1 times)
              the pages named as alike read all of these the same, so the sample cannot tell them apart
            IBM280 49 alike IBM1144
              89 % of the bytes are in runs of EBCDIC letters, digits and blanks, 0 % in such runs of ASCII
              23 % are blanks (0x40), 3 % digits (0xF0 to 0xF9), 0 % below 0x40, which in text are controls
              bytes on which EBCDIC pages differ: 0x6A is 'ò' (3 times), 0x5A is 'é' (2 times), 0xA1 is 'ì' (2 times), 0xC0 is 'à' (1 times), 0xD0 is 'è' (1 times), 0xE0 is 'ç' (1 times)
              the pages named as alike read all of these the same, so the sample cannot tell them apart
            IBM1026 49
              89 % of the bytes are in runs of EBCDIC letters, digits and blanks, 0 % in such runs of ASCII
              23 % are blanks (0x40), 3 % digits (0xF0 to 0xF9), 0 % below 0x40, which in text are controls
              bytes on which EBCDIC pages differ: 0x6A is 'ş' (3 times), 0x5A is 'Ğ' (2 times), 0xA1 is 'ö' (2 times), 0xC0 is 'ç' (1 times), 0xD0 is 'ğ' (1 times), 0xE0 is 'ü' (1 times)
        "#]],
    );
}

#[test]
fn each_language_finds_its_page() {
    let mut wrong = Vec::new();
    for (charset, text) in [
        ("cp273", "MÜLLER UND SÖHNE GMBH     Köln, Königstraße 5      Größe 12, Überweisung"),
        ("cp297", "Société Générale  à Besançon   très élevé  numéro 12   français     hôtel de la gare"),
        ("cp280", "Società italiana   perché così    più   città di Forlì    qualità e quantità"),
        ("cp284", "España señor Muñoz    año 2024  niño   compañía de seguros    mañana"),
        ("cp277", "København  Århus    Sønderjylland  Ærø      smørrebrød på torvet    Blåbærgrød"),
        ("cp278", "Göteborg  Malmö    Åke Öberg     Västerås   kött och mjölk på torget  för år"),
        ("cp871", "Reykjavík  Þingvellir    Sigurður    það er gott veður   Þór og Ægir"),
        ("cp870", "Łódź  Kraków    Gdańsk     zażółć gęślą jaźń    Świętokrzyska 12   Wrocław"),
        ("cp1026", "İstanbul  Çanakkale    Beşiktaş  yağmur    Muğla   Eskişehir   ışık   Doğuş"),
        ("cp1025", "Москва   Санкт-Петербург    Новосибирск   улица Ленина 12    Екатеринбург"),
        ("cp875", "Αθήνα   Θεσσαλονίκη    οδός Ερμού 12     Πάτρα   Ηράκλειο Κρήτης"),
        ("cp037", "hello! john.doe@example.com  [draft]  price $12!  see note #4!  fine! "),
        ("cp1047", "int main(void) { char a[10]; if (x != y) { a[0] = 0; } }  [x] {y} (z)  b[1] = c[2];"),
    ] {
        let (name, found) = best(&encoded(charset, text), charset);
        if !found {
            wrong.push(format!("{charset}: {name:?}"));
        }
    }
    expect![""].assert_eq(&wrong.join("\n"));
}

#[test]
fn ascii_and_its_extensions() {
    check(
        ENGLISH.as_bytes(),
        expect![[r#"
            US-ASCII 99 alike UTF-8 ISO-8859-1 windows-1252
              100 % of the bytes are in runs of ASCII letters, digits and blanks, 0 % in such runs of EBCDIC
              no byte is above 0x7F, so the sample cannot distinguish these sets
        "#]],
    );
    check(
        "Müller GmbH, Köln, 12 Straße, price 5 € and more text".as_bytes(),
        expect![[r#"
            UTF-8 99
              83 % of the bytes are in runs of ASCII letters, digits and blanks, 0 % in such runs of EBCDIC
              bytes above 0x7F form 4 UTF-8 sequences; 0 are outside any
        "#]],
    );
    check(
        &encoded("windows-1252", "Müller GmbH, Köln, 12 Straße, price 5 € and more text"),
        expect![[r#"
            windows-1252 89
              91 % of the bytes are in runs of ASCII letters, digits and blanks, 0 % in such runs of EBCDIC
              1 bytes from 0x80 to 0x9F are letters and signs in windows-1252, controls in ISO-8859-1
            US-ASCII 59
              91 % of the bytes are in runs of ASCII letters, digits and blanks, 0 % in such runs of EBCDIC
              4 bytes above 0x7F are not ASCII; in binary or packed fields they may be right
        "#]],
    );
    check(
        &encoded("latin1", "Müller GmbH, Köln, 12 Straße, and more text"),
        expect![[r#"
            windows-1252 89 alike ISO-8859-1
              91 % of the bytes are in runs of ASCII letters, digits and blanks, 0 % in such runs of EBCDIC
              no byte from 0x80 to 0x9F, so the sample cannot distinguish these sets
            US-ASCII 59
              91 % of the bytes are in runs of ASCII letters, digits and blanks, 0 % in such runs of EBCDIC
              3 bytes above 0x7F are not ASCII; in binary or packed fields they may be right
        "#]],
    );
}

#[test]
fn utf16_is_found_in_both_orders() {
    check(
        &encoded("utf-16be", ENGLISH),
        expect![[r#"
        UTF-16BE 99
          100 % of the bytes are in runs of ASCII letters, digits and blanks with a zero as the first byte of each pair
    "#]],
    );
    assert!(best(&encoded("utf-16le", ENGLISH), "utf-16le").1);
    assert!(best(&encoded("utf-16le", "\u{feff}Ж"), "utf-16le").1);
}

#[test]
fn a_utf8_sequence_cut_by_the_sample_is_no_fault() {
    let text = "Müller GmbH, Köln, Straße";
    let cut = &text.as_bytes()[..text.find('ß').unwrap() + 1];
    assert!(best(cut, "utf-8").1);
}

#[test]
fn random_bytes_are_binary() {
    let mut state = 1u64;
    let sample: Vec<u8> = (0..8192)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        })
        .collect();
    check(
        &sample,
        expect![[r#"
            binary 89
              only 1 % of the bytes are in runs of text in any code
            ISO-8859-1 39
              1 % of the bytes are in runs of ASCII letters, digits and blanks, under 1 % in such runs of EBCDIC
              10 % of the bytes are control characters, which text has not; numeric fields may
              161 bytes are not assigned in windows-1252, so numeric fields hold binary or it is another page
            US-ASCII 24
              1 % of the bytes are in runs of ASCII letters, digits and blanks, under 1 % in such runs of EBCDIC
              10 % of the bytes are control characters, which text has not; numeric fields may
              4124 bytes above 0x7F are not ASCII; in binary or packed fields they may be right
        "#]],
    );
    check(
        &[0; 100],
        expect![[r#"
        binary 100
          only 0 % of the bytes are in runs of text in any code
    "#]],
    );
    assert_eq!(detect(&[]), []);
}
