//! Laws, on random interchanges and on random bytes.

use proptest::prelude::*;
use quayline_core::{Document, Limits};
use quayline_edi::Rules;

use crate::generic::{documents, documents_and_ranges, json, rewrite};
use crate::trace::trace;

/// Generates text from fragments of interchanges.
pub(crate) fn soup() -> impl Strategy<Value = Vec<u8>> {
    let isa =
        "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:~";
    let words = [
        isa,
        isa,
        "GS*PO*S*R*20260401*1200*1*X*005010~",
        "ST*850*0001~",
        "SE*2*0001~",
        "GE*1*1~",
        "IEA*1*000000001~",
        "REF*A:B^C~",
        "BIN*3*~~~~",
        "BDS*ASC*2*~",
        "UNA:+.? '",
        "UNB+UNOA:3+A+B+990802:1557+1'",
        "UNB+UNOA:4+A+B+19990802:1557+1'",
        "UNB+UNOX:4+A+B+19990802:1557+1'",
        "\u{1b}$B",
        "\u{1b}$B%+\u{1b}(B",
        "\u{1b}-F",
        "\u{1b}(N",
        "UNG+O+S+R+260401:1200+3+UN+D:96A'",
        "UNH+1+ORDERS:D:96A:UN'",
        "FTX+DON?'T??'",
        "UNT+2+1'",
        "UNE+1+3'",
        "UNO+1+A+T+3'",
        "UNO+1+A+T+40'",
        "UNP+3+1'",
        "UNZ+1+1'",
        "\r\n",
        "~",
        "*",
        "'",
        "+",
        "?",
        ":",
        "I",
        "U",
        "ISA",
        "ISX*?~",
        "noise",
        " ",
        "\u{fc}",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..24).prop_map(|words| words.concat().into_bytes())
}

/// Generates canonical interchanges: their documents are written back as the same bytes.
fn canonical() -> impl Strategy<Value = Vec<u8>> {
    let text = prop::string::string_regex("[A-Za-z0-9 .,/?+:'*^~-]{0,12}").expect("a good expression");
    let element = prop::collection::vec(prop::collection::vec(text, 1..3), 1..3);
    let segment = ("[A-Z][A-Z0-9]{1,2}", prop::collection::vec(element, 0..5));
    let transactions = prop::collection::vec(prop::collection::vec(segment, 0..4), 1..4);
    (transactions, any::<bool>(), prop::sample::select(vec!["", "\n", "\r\n"])).prop_map(|(transactions, x12, line_break)| {
        let reserved = ["ISA", "IEA", "GS", "GE", "ST", "SE", "BIN", "BDS", "ISX", "UNA", "UNB", "UNZ", "UNG", "UNE", "UNH", "UNT", "UNO", "UNP"];
        let mut out = String::new();
        let mut put = |segment: &str| out.push_str(&format!("{segment}{}{line_break}", if x12 { '~' } else { '\'' }));
        if x12 {
            put("ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:");
            put("GS*PO*S*R*20260401*1200*1*X*005010");
        } else {
            put("UNB+UNOC:4+S:14+R:14+20260401:1200+7");
        }
        let count = transactions.len();
        for (i, segments) in transactions.into_iter().enumerate() {
            let number = i + 1;
            put(&if x12 { format!("ST*850*{number:04}") } else { format!("UNH+{number}+ORDERS:D:96A:UN") });
            let mut counted = 2;
            for (tag, elements) in segments {
                // Tags of EDIFACT have three characters.
                let tag = if x12 { tag } else { format!("{tag:0<3}") };
                if reserved.contains(&tag.as_str()) {
                    continue;
                }
                counted += 1;
                let mut line = tag;
                for element in elements {
                    line.push(if x12 { '*' } else { '+' });
                    let repetitions: Vec<String> = element
                        .iter()
                        .map(|components| components.iter().map(|text| escape(text, x12)).collect::<Vec<_>>().join(":"))
                        .collect();
                    line.push_str(&repetitions.join(if x12 { "^" } else { "*" }));
                }
                put(&line);
            }
            put(&if x12 { format!("SE*{counted}*{number:04}") } else { format!("UNT+{counted}+{number}") });
        }
        if x12 {
            put(&format!("GE*{count}*1"));
            put("IEA*1*000000001");
        } else {
            put(&format!("UNZ+{count}+7"));
        }
        out.into_bytes()
    })
}

/// Escapes data for an interchange.
fn escape(text: &str, x12: bool) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '*' | ':' | '^' | '~' if x12 => {}
            '+' | ':' | '\'' | '?' | '*' if !x12 => out.extend(['?', c]),
            _ => out.push(c),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_chunking_gives_the_same_events(text in soup(), mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let limits = Limits { segment_bytes_max: 150, segment_elements_max: 20, record_bytes_max: 40, ..Limits::default() };
        let mut cuts: Vec<usize> = cuts.drain(..).map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        let whole = trace(&text, [], &limits, Rules::Lenient);
        prop_assert_eq!(&trace(&text, cuts.iter().copied(), &limits, Rules::Lenient), &whole);
        prop_assert_eq!(&trace(&text, 0..text.len(), &limits, Rules::Lenient), &whole);
        prop_assert_eq!(json(&text, cuts.iter().copied()), json(&text, []));
        let ranges = |cuts: &[usize]| documents_and_ranges(&text, cuts.iter().copied(), &mut Document::new());
        prop_assert_eq!(ranges(&cuts), ranges(&[]));
    }

    #[test]
    fn plain_segments_are_found_as_by_the_careful_way(text in soup(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(text.len() + 1);
        // A window with more elements than the maximum of a segment takes the careful path; no segment here has that many.
        let most = |segment_elements_max| Limits { segment_elements_max, ..Limits::default() };
        let long = [text.clone(), text].concat();
        let careful = trace(&long, [cut], &most(45), Rules::Lenient);
        prop_assert_eq!(&trace(&long, [cut], &most(10_000), Rules::Lenient), &careful);
        prop_assert_eq!(&trace(&long, 0..long.len(), &most(10_000), Rules::Lenient), &careful);
    }

    #[test]
    fn canonical_interchanges_come_back_byte_for_byte(text in canonical()) {
        let mut codes = documents(&text, [], &mut Document::new());
        // Some segments have no elements.
        codes.retain(|code| code != "EDI-026");
        prop_assert_eq!(codes, Vec::<String>::new());
        prop_assert_eq!(rewrite(&text).escape_ascii().to_string(), text.escape_ascii().to_string());
    }
}
