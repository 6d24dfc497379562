//! Guides guessed from interchanges.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use proptest::prelude::*;
use quayline_core::Limits;
use quayline_edi::guide::{CompiledGuide, Guide, GuideSet, NoGuides, parse_guide};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiWriter, EdiWriterOptions, EndOfInput, EnvelopeReader, Event, GenericOptions,
    GuideDocuments, NodeNames, Rules,
};
use quayline_infer::{EdiSamples, GuessedGuide};

fn x12(body: &str) -> String {
    format!(
        "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:~\
         GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~{body}SE*1*0001~GE*1*1~IEA*1*000000001~"
    )
}

fn edifact(body: &str) -> String {
    format!("UNB+UNOC:3+S+R+260401:1200+1'UNH+1+ORDERS:D:96A:UN'{body}UNT+1+1'UNZ+1+1'")
}

fn guess(samples: &[&str]) -> GuessedGuide {
    let mut all = EdiSamples::new(None);
    for sample in samples {
        all.add("sample", sample.as_bytes()).expect("a sample");
    }
    let guessed = all.guide(None).expect("a guide");
    let again = parse_guide("guessed", &guessed.text(), &NoGuides, &Limits::default());
    assert_eq!(again.unwrap_or_else(|findings| panic!("{findings}\n{}", guessed.text())), guessed.guide);
    guessed
}

/// The structure only.
fn check(samples: &[&str], expected: Expect) {
    let guessed = guess(samples);
    assert!(guessed.findings.is_empty(), "{:?}", guessed.findings);
    let text = guessed.text();
    expected.assert_eq(&text[text.find("structure").expect("a structure")..]);
}

/// Converts an interchange to documents by a guide and back. Returns the codes of the errors, and the tags of the segments with the
/// elements that tell segments of one kind apart.
fn again(guide: &Guide, text: &[u8]) -> (Vec<&'static str>, Vec<String>) {
    let set = GuideSet::new([guide.clone()]).unwrap_or_else(|findings| panic!("{findings}"));
    let guides = Some(std::sync::Arc::new(GuideDocuments::new(set, NodeNames::References)));
    let options = GenericOptions { guides: guides.clone(), rules: Rules::Lenient, ..GenericOptions::default() };
    let mut reader = DocumentReader::new(&options);
    let mut writer = EdiWriter::new(EdiWriterOptions { guides, ..EdiWriterOptions::default() });
    let mut pass = reader.over(text, EndOfInput::Yes);
    let mut codes = Vec::new();
    loop {
        let step = pass.read(&mut writer);
        codes.extend(pass.take_faults().map(|fault| fault.error.code().0).filter(|code| *code == "EDI-045"));
        codes.extend(writer.take_errors().iter().map(|error| error.code().0));
        if !matches!(step, DocumentStep::Document { .. }) {
            break;
        }
    }
    writer.finish();
    (codes, segments(writer.bytes()))
}

/// The tags and first elements of the segments inside transactions.
fn segments(text: &[u8]) -> Vec<String> {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut pass = reader.over(text, EndOfInput::Yes);
    let mut all = Vec::new();
    loop {
        match pass.advance() {
            Event::Segment if pass.in_transaction() => {
                let segment = pass.segment();
                let first = segment.element(1).map_or(&[][..], |element| element.raw());
                let text = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
                all.push(format!("{} {}", text(segment.tag()), text(first).trim_start_matches('0')));
            }
            Event::Done | Event::NeedMore => return all,
            _ => {}
        }
    }
}

fn example(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/edi").join(name)).expect("an example")
}

/// The guide was checked against its sample, but not whether the sample converts: EDI-045 rejected both transactions.
#[test]
fn a_sample_converts_by_its_guide() {
    for name in ["835.x12", "850.x12", "orders.edi"] {
        let bytes = example(name);
        let mut samples = EdiSamples::new(None);
        samples.add(name, &bytes).expect("a sample");
        let guessed = samples.guide(None).expect("a guide");
        assert_eq!(guessed.findings, [], "{name}");
        assert!(guessed.text().contains("loop"), "{name}");
        let (codes, written) = again(&guessed.guide, &bytes);
        assert_eq!((codes, written), (vec![], segments(&bytes)), "{name}\n{}", guessed.text());
    }
}

/// Without loops, documents had all HL and then all NM1, and no finding said so.
#[test]
fn a_hierarchy_keeps_the_order_of_its_segments() {
    let sample = x12(
        "BHT*0007~HL*1**20*1~NM1*X3~HL*2*1*21*1~NM1*1P~HL*3*2*22*1~NM1*IL~REF*EJ~DMG*D8~HL*4*3*EV*1~UM*HS~DTP*AAH~CRC*07~\
         CR1*X~NM1*PW~N3*A~N4*S~NM1*ND~N3*B~N4*S~HL*5*4*SS*1~SV1*1~HL*6*5*SS*1~SV1*2~HL*7*6*SS*0~SV1*3~",
    );
    let guessed = guess(&[&sample]);
    let (codes, written) = again(&guessed.guide, sample.as_bytes());
    assert_eq!((codes, written), (vec![], segments(sample.as_bytes())), "{}", guessed.text());
}

/// HL04 denies the lower levels that follow, so HL as a loop would be invalid. As a segment it loses its place, which a warning says.
#[test]
fn a_hierarchy_with_wrong_numbers_warns_of_the_lost_order() {
    let sample =
        x12("BHT*0007~HL*1**20*1~NM1*X3~HL*2*1*21*0~NM1*1P~HL*3*2*22*0~NM1*IL~REF*EJ~HL*4*3*22*0~REF*A~NM1*X~");
    let told: Vec<&str> = guess(&[&sample]).findings.iter().map(|finding| finding.code.0).collect();
    assert_eq!(told, ["INF-004", "INF-005"]);
}

/// Returns a capital letter by its number from 0.
fn letter(number: usize) -> char {
    char::from(b'A' + u8::try_from(number).expect("a letter"))
}

/// A guide that does not show the structure was written without a finding.
#[test]
fn a_guide_without_structure_warns_and_keeps_the_order() {
    let tag = |i: usize| format!("A{}{}", letter(i / 26), letter(i % 26));
    let body: String = (0..300).map(|i| format!("{}*{i}~REF*{i}~", tag(i))).collect();
    let sample = x12(&body);
    let guessed = guess(&[&sample]);
    let (codes, written) = again(&guessed.guide, sample.as_bytes());
    assert_eq!((codes, written), (vec![], segments(sample.as_bytes())));
    let told: Vec<&str> = guessed.findings.iter().map(|finding| finding.code.0).collect();
    assert_eq!(told, ["INF-004"], "{:?}", guessed.findings);
}

/// The shortest of several runs: another process may interrupt one.
fn cost(text: &str) -> std::time::Duration {
    let run = || {
        let start = std::time::Instant::now();
        let mut samples = EdiSamples::new(None);
        samples.add("sample", text.as_bytes()).expect("a sample");
        let _ = samples.guide(None);
        start.elapsed()
    };
    (0..3).map(|_| run()).min().expect("three runs")
}

/// The order of segments was kept for each pair of occurrences, and the levels of HL were cloned for each level below.
#[test]
fn samples_take_linear_time() {
    use std::fmt::Write as _;
    let alternating = |count: usize| x12(&"REF*A~DTM*B~REF*C~N9*D~DTM*E~".repeat(count));
    let levels = |count: usize| {
        let mut body = String::new();
        for id in 1..=count {
            let above = if id == 1 { String::new() } else { (id - 1).to_string() };
            write!(body, "HL*{id}*{above}*{id}~").expect("a string");
        }
        x12(&body)
    };
    let tags = |count: usize| {
        let tag = |i: usize| [25 - i / 676 % 26, i / 26 % 26, i % 26].map(letter).iter().collect::<String>();
        let body: String = (0..count).map(|i| format!("{}*1~", tag(i))).collect();
        x12(&body)
    };
    let shapes = [
        ("alternating", 1_000, [alternating(1_000), alternating(4_000)]),
        ("levels", 2_000, [levels(2_000), levels(8_000)]),
        ("tags", 250, [tags(250), tags(1_000)]),
    ];
    for (name, few, [sample, larger]) in shapes {
        let (some, many) = (cost(&sample), cost(&larger));
        let most = some * 8 + std::time::Duration::from_millis(200);
        assert!(many < most, "{name}: {few} {some:?}, four times as many {many:?}");
    }
    let refused = EdiSamples::new(None).add("sample", tags(1_001).as_bytes()).expect_err("too many");
    assert!(refused.to_string().contains("more than 1000 kinds of segments"), "{refused}");
}

#[test]
fn what_comes_again_with_others_between_begins_a_loop() {
    check(
        &[&x12("BEG*00*NE*1**20260401~REF*DP*1~REF*CO*2~N1*BY*A~N3*X~N1*ST*B~N3*Y~N4*C*ST~\
             PO1*1*10*EA*1.5~PID*F****a~PO1*2*5*EA*22.25~PID*F****b~PID*F****c~PO1*3*100*CA*1~CTT*3~")],
        expect![[r#"
            structure
              segment BEG M 1
              segment REF M *
              loop N1 M *
                segment N1 M 1
                segment N3 M 1
              segment N4 M 1
              loop PO1 M *
                segment PO1 M 1
                segment PID O *
              segment CTT M 1
        "#]],
    );
}

#[test]
fn of_two_loops_the_one_that_is_less_often_alone_is_the_outer_one() {
    check(
        &[&x12("BEG*00~N1*BY*A~N3*X~N1*ST*B~PO1*1~N1*SF*C~N3*Z~PO1*2~N1*SF*D~PO1*3~N1*SF*D~CTT*3~")],
        expect![[r#"
            structure
              segment BEG M 1
              loop N1 M *
                segment N1 M 1
                segment N3 O 1
              loop PO1 M *
                segment PO1 M 1
                segment N1 M 1
                segment N3 O 1
              segment CTT M 1
        "#]],
    );
}

#[test]
fn levels_of_a_hierarchy_stand_in_each_other() {
    check(
        &[&x12(
            "BHT*0019~NM1*41*2*A~NM1*40*2*B~HL*1**20*1~NM1*85*2*C~N3*X~HL*2*1*22*0~SBR*P~NM1*IL*1*D~CLM*1*5~LX*1~SV1*X~LX*2~SV1*Y~\
             HL*3*1*22*1~NM1*IL*1*E~HL*4*3*23*0~PAT*19~CLM*2*7~LX*1~SV1*Z~",
        )],
        expect![[r#"
            structure
              segment BHT M 1
              segment NM1 M *
              loop HL20 O * position 3
                segment HL M 1 where 03 = 20
                segment NM1 M 1
                segment N3 M 1
                loop HL22 O * position 10000
                  segment HL M 1 where 03 = 22
                  segment SBR O 1
                  segment NM1 M 1
                  segment CLM O 1
                  loop LX O *
                    segment LX M 1
                    segment SV1 M 1
                  loop HL23 O * position 10000
                    segment HL M 1 where 03 = 23
                    segment PAT M 1
                    segment CLM M 1
                    segment LX M 1
                    segment SV1 M 1
        "#]],
    );
}

#[test]
fn edifact_and_orders_that_differ() {
    check(
        &[
            &edifact(
                "BGM+220+1+9'DTM+137:20260401:102'NAD+BY+1::9'RFF+VA:1'NAD+SU+2::9'LIN+1++1:EN'QTY+21:5'LIN+2++2:EN'QTY+21:7'UNS+S'CNT+2:2'",
            ),
            &edifact("BGM+220+2+9'NAD+BY+1::9'DTM+137:20260402:102'LIN+1++1:EN'QTY+21:5'UNS+S'CNT+2:1'"),
        ],
        expect![[r#"
            structure
              segment BGM M 1
              segment DTM M * position 2
              loop NAD M * position 2
                segment NAD M 1
                segment RFF O 1
              loop LIN M *
                segment LIN M 1
                segment QTY M 1
              segment UNS M 1
              segment CNT M 1
        "#]],
    );
}

#[test]
fn elements_have_types_lengths_and_codes() {
    let guessed = guess(&[&x12(
        "BEG*00*NE*4711**20260401~N1*BY*Müller~N1*ST*B~PO1*1*10*EA*1.5**VP:7~PO1*2*500*EA*22.25~PO1*3*1*CA*1~REF*A^B^C~",
    )]);
    let text = guessed.text();
    expect![[r#"
        # Guessed from 1 transaction; look at each line.
        guide 850
        standard X12
        version 005010
        transaction 850 group PO

        element BEG01 ID 2 codes BEG01
        element BEG02 ID 2 codes BEG02
        element BEG03 AN 1..10
        element BEG04 AN 1..80
        element BEG05 DT 8
        element N101 ID 2 codes N101
        element N102 AN 1..10
        element PO101 AN 1..3
        element PO102 R 1..7
        element PO103 ID 2 codes PO103
        element PO104 R 1..8
        element PO105 AN 1..80
        element PO106-1 ID 2 codes PO106-1
        element PO106-2 AN 1..3
        element REF01 ID 1 codes REF01

        composite PO106
          PO106-1 M
          PO106-2 M

        segment BEG
          BEG01 M
          BEG02 M
          BEG03 M
          BEG04 O
          BEG05 M

        segment N1
          N101 M
          N102 M

        segment PO1
          PO101 M
          PO102 M
          PO103 M
          PO104 M
          PO105 O
          composite PO106 O

        segment REF
          REF01 M repeat *

        codes BEG01
          00

        codes BEG02
          NE

        codes N101
          BY ST

        codes PO103
          CA EA

        codes PO106-1
          VP

        codes REF01
          A B C

    "#]]
    .assert_eq(&text[..text.find("structure").expect("a structure")]);
}

#[test]
fn samples_of_several_kinds_are_told() {
    let mut samples = EdiSamples::new(None);
    samples.add("a", x12("BEG*00~").as_bytes()).expect("a sample");
    samples.add("b", edifact("BGM+220'").as_bytes()).expect("a sample");
    expect![[r#"
        error[INF-003]: the samples hold 850 005010, ORDERS D:96A:UN, and a guide is for one of them

        hint: choose one: --only 850"#]]
    .assert_eq(&samples.guide(None).expect_err("two kinds").to_string());
    let mut samples = EdiSamples::new(Some("ORDERS"));
    samples.add("a", x12("BEG*00~").as_bytes()).expect("another type is passed over");
    samples.add("b", edifact("BGM+220'").as_bytes()).expect("a sample");
    assert_eq!(samples.guide(Some("mine")).expect("a guide").guide.name, "mine");
    expect![[r#"
        error[INF-001]: no sample holds a transaction 810

        hint: `quayline inspect` shows what a file contains"#]]
    .assert_eq(&EdiSamples::new(Some("810")).guide(None).expect_err("nothing").to_string());
}

#[test]
fn empty_transactions_give_no_guide() {
    let mut samples = EdiSamples::new(None);
    samples.add("a", x12("").as_bytes()).expect("a sample");
    expect![[r#"
        error[INF-001]: the transactions of the samples have no segments

        hint: take samples that hold data"#]]
    .assert_eq(&samples.guide(None).expect_err("nothing").to_string());
}

/// Regression: the guide of a sample with more elements or components than a guide can have was one that Quayline refuses.
#[test]
fn a_sample_with_too_many_elements_is_refused() {
    for separator in ["*", ":"] {
        let body = |count: usize| format!("BEG*00~REF*{}~", vec!["1"; count].join(separator));
        assert!(guess(&[&x12(&body(255))]).text().contains("REF01"));
        let refused = EdiSamples::new(None).add("wide", x12(&body(256)).as_bytes()).expect_err("too wide").to_string();
        assert!(refused.contains("INF-001") && refused.contains("a segment REF has more than 255"), "{refused}");
        assert!(refused.contains("at wide:1"), "{refused}");
    }
}

#[test]
fn envelopes_inside_transactions_give_no_guide() {
    for inside in ["ISA*00~BEG*00~", "BEG*00~IEA*1*1~BEG*00~", "ST~BEG*00~", "BEG*00~GS*PO~", "UNH+1~BEG*00~"] {
        let mut samples = EdiSamples::new(None);
        let _ = samples.add("a", x12(inside).as_bytes());
        match samples.guide(None) {
            Ok(guessed) => assert!(CompiledGuide::new(&guessed.guide).is_ok(), "{inside}: {}", guessed.text()),
            Err(findings) => assert!(findings.to_string().contains("INF-00"), "{inside}: {findings}"),
        }
    }
}

#[test]
fn an_interchange_inside_a_transaction_ends_it() {
    let whole = x12("BEG*00~REF*A*1~REF*B*2~REF*C*3~");
    let cut = &whole[..whole.find("SE*").expect("a trailer")];
    let mut samples = EdiSamples::new(None);
    samples.add("a", format!("{cut}{whole}").as_bytes()).expect("a sample");
    assert_eq!(samples.guide(None).expect("a guide").transactions, 2);
}

/// The guide inferred from each available real sample accepts the sample.
#[test]
fn real_samples_keep_to_their_guides() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = std::env::var_os("QUAYLINE_CORPUS").map_or_else(|| root.join("../shared"), PathBuf::from);
    let mut folders = vec![root.join("examples/edi")];
    for folder in ["data/x12", "data/edifact"] {
        let folder = corpus.join(folder);
        if folder.is_dir() {
            folders.push(folder);
        } else {
            eprintln!("skipped: real_samples_keep_to_their_guides: {} is not there", folder.display());
        }
    }
    let (mut all, mut flat, mut lossy) = (0, Vec::new(), Vec::new());
    for folder in folders {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let bytes = std::fs::read(entry.path()).expect("a file");
            if !EdiSamples::begins(&bytes) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let mut samples = EdiSamples::new(None);
            if samples.add(&name, &bytes).is_err() {
                continue;
            }
            let Ok(guessed) = samples.guide(None) else { continue };
            let told: Vec<&str> = guessed.findings.iter().map(|finding| finding.code.0).collect();
            let known = told.is_empty() || told == ["INF-004"] || told == ["INF-004", "INF-005"];
            assert!(known, "{name}: {:?}\n{}", guessed.findings, guessed.text());
            if told.len() < 2 {
                let (codes, written) = again(&guessed.guide, &bytes);
                assert_eq!((codes, written), (vec![], segments(&bytes)), "{name}\n{}", guessed.text());
            } else {
                lossy.push(name.clone());
            }
            let again = parse_guide("guessed", &guessed.text(), &NoGuides, &Limits::default()).expect("what we write");
            assert_eq!(again, guessed.guide, "{name}");
            all += 1;
            if !told.is_empty() {
                flat.push(name);
            }
        }
    }
    assert!(all > 5, "{all}");
    assert!(lossy.len() * 20 <= all, "a conversion loses the order: {lossy:?}");
    assert!(flat.len() * 10 <= all, "without loops: {flat:?}");
}

/// Segments of few kinds, so that they repeat in every way.
fn transaction() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just(String::new()),
        "[A-Z0-9]{1,4}",
        "-?[0-9]{1,6}(\\.[0-9]{1,3})?",
        "[ -)+-9;-\\]_a-}]{1,40}"
            .prop_filter("blanks alone break X12.6 under any guide", |value| !value.trim().is_empty()),
        Just("20260401".to_owned()),
        "[A-Z]{2}:[0-9]{1,3}(:[a-z]{1,5})?",
        "[A-Z]{2}\\^[0-9]{1,3}",
    ];
    let values = proptest::collection::vec(value, 1..5)
        .prop_filter("a segment without elements breaks X12.6 too", |values| values.iter().any(|one| !one.is_empty()));
    let segment = (0usize..6, values).prop_map(|(tag, values)| {
        let tag = ["BEG", "REF", "N1", "PO1", "PID", "CTT"][tag];
        let mut text = tag.to_owned();
        for value in values {
            text.push('*');
            text.push_str(&value);
        }
        text.push('~');
        text
    });
    proptest::collection::vec(segment, 1..30).prop_map(|segments| segments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_sample_keeps_to_its_guide(bodies in proptest::collection::vec(transaction(), 1..4)) {
        let samples: Vec<String> = bodies.iter().map(|body| x12(body)).collect();
        let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
        let guessed = guess(&samples);
        let told: Vec<&str> = guessed.findings.iter().map(|finding| finding.code.0).collect();
        prop_assert!(told.is_empty() || told == ["INF-004"], "{:?}\n{}", guessed.findings, guessed.text());
        for sample in samples {
            let tags = |all: Vec<String>| all.iter().map(|one| one[..2].to_owned()).collect::<Vec<_>>();
            let (codes, written) = again(&guessed.guide, sample.as_bytes());
            prop_assert_eq!((codes, tags(written)), (vec![], tags(segments(sample.as_bytes()))), "{}", guessed.text());
        }
    }

    #[test]
    fn any_bytes_behind_a_header_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut text = x12("").into_bytes();
        let at = text.len() / 2;
        text.splice(at..at, bytes);
        let mut samples = EdiSamples::new(None);
        if samples.add("any", &text).is_ok() && let Ok(guessed) = samples.guide(None) {
            prop_assert!(!guessed.text().is_empty());
        }
    }
}
