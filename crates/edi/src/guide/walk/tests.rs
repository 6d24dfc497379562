//! Test vectors: a structure in short form, segments, and the place of each.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{Expect, expect};
use quayline_core::Limits;

use super::Walk;
use crate::guide::CompiledGuide;
use crate::guide::model::{
    DataType, Dictionary, ElementDef, ElementOf, ElementUse, Guide, Item, LoopUse, Qualifier, Requirement, SegmentDef,
    SegmentUse,
};
use crate::{Delimiters, EndOfInput, EnvelopeReader, Event, Rules, Standard};

/// Parses a structure with one item in each line and two spaces for each level: `NM1 M 1 01=41|40`, `loop 2000A O *`; `@5` is a position.
pub(crate) fn structure(text: &str) -> Guide {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| (line.len() - line.trim_start().len(), line.trim()))
        .collect();
    let mut dictionary = Dictionary::default();
    let element = ElementDef { name: None, data_type: DataType::Text, min: 1, max: 80, codes: None };
    dictionary.elements.insert("1".to_owned(), element);
    let mut at = 0;
    let base = lines.first().map_or(0, |(indent, _)| *indent);
    let structure = items(&lines, &mut at, base, &mut dictionary);
    Guide {
        name: "TEST".to_owned(),
        title: None,
        standard: Standard::X12,
        version: "005010".to_owned(),
        transaction: "999".to_owned(),
        functional_group: None,
        source: None,
        dictionary,
        structure,
        rules: Vec::new(),
    }
}

fn items(lines: &[(usize, &str)], at: &mut usize, indent: usize, dictionary: &mut Dictionary) -> Vec<Item> {
    let mut made = Vec::new();
    while let Some((own, line)) = lines.get(*at)
        && *own == indent
    {
        *at += 1;
        let mut words: Vec<&str> = line.split(' ').collect();
        let is_loop = words[0] == "loop";
        if is_loop {
            words.remove(0);
        }
        let requirement = match words[1] {
            "M" => Requirement::Mandatory,
            "O" => Requirement::Optional,
            _ => Requirement::NotUsed,
        };
        let max = if words[2] == "*" { None } else { Some(words[2].parse().expect("a number")) };
        let (mut position, mut qualifier) = (0, None);
        for word in &words[3..] {
            if let Some(number) = word.strip_prefix('@') {
                position = number.parse().expect("a number");
            } else if let Some((element, values)) = word.split_once('=') {
                qualifier = Some(Qualifier {
                    element: element.parse().expect("a number"),
                    component: 0,
                    values: values.split('|').map(str::to_owned).collect(),
                });
            }
        }
        if is_loop {
            let items = items(lines, at, indent + 2, dictionary);
            made.push(Item::Loop(LoopUse {
                id: words[0].to_owned(),
                name: None,
                requirement,
                repeat: max,
                position,
                levels: Vec::new(),
                items,
            }));
        } else {
            let usage = ElementUse {
                of: ElementOf::Element("1".to_owned()),
                name: None,
                requirement: Requirement::Optional,
                repeat: Some(1),
            };
            let def = SegmentDef { name: None, elements: vec![usage; 9], notes: Vec::new() };
            dictionary.segments.insert(words[0].to_owned(), def);
            made.push(Item::Segment(SegmentUse {
                tag: words[0].to_owned(),
                id: None,
                name: None,
                requirement,
                max,
                position,
                qualifier,
                changes: Vec::new(),
                notes: None,
            }));
        }
    }
    made
}

/// Returns the placement of each segment, and the faults.
fn walk(guide: Guide, body: &str) -> String {
    let guide = Arc::new(CompiledGuide::new(&guide).expect("the guide is good"));
    let mut walk = Walk::new(Arc::clone(&guide));
    let isa = "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~GS*PO*S*R*20260401*1200*1*X*005010~ST*999*0001~";
    let text = format!("{isa}{}~SE*1*0001~", body.trim().replace(char::is_whitespace, "~"));
    assert_eq!(Delimiters::X12.terminator, b'~');
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
    let mut out = String::new();
    loop {
        match pass.advance() {
            Event::TransactionStart => walk.start(),
            Event::Segment => {
                let segment = pass.segment();
                let placement = walk.segment(&segment);
                let name = segment.raw().escape_ascii().to_string();
                let place = placement.item.map_or("nowhere".to_owned(), |item| {
                    let path = guide.path(item);
                    format!("{}{}{}", path, if path.is_empty() { "" } else { "/" }, guide.item(item).id)
                });
                write!(out, "{name}: {place}").expect("a string");
                if placement.left + placement.entered > 0 {
                    write!(out, " -{} +{}", placement.left, placement.entered).expect("a string");
                }
                if placement.occurrence > 1 {
                    write!(out, " #{}", placement.occurrence).expect("a string");
                }
                out.push('\n');
            }
            Event::TransactionEnd(_) => {
                walk.finish();
                break;
            }
            _ => {}
        }
    }
    for fault in walk.take_faults() {
        writeln!(out, "{} {:?}", fault.at.segment, fault.kind).expect("a string");
    }
    out
}

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(guide: &str, body: &str, expected: Expect) {
    expected.assert_eq(&walk(structure(guide), body));
}

/// The outline of a claim.
pub(crate) const CLAIM: &str = "
BHT M 1
loop 1000A M 1
  NM1 M 1 01=41
  PER M 2
loop 1000B M 1
  NM1 M 1 01=40
loop 2000A M *
  HL M 1 03=20
  PRV O 1
  loop 2010AA M 1
    NM1 M 1 01=85
    N3 M 1
    N4 M 1
    REF M 1 01=EI
    PER O 2
  loop 2000B M *
    HL M 1 03=22
    SBR M 1
    loop 2010BA M 1
      NM1 M 1 01=IL
      N3 O 1
      N4 O 1
      DMG O 1
    loop 2010BB M 1
      NM1 M 1 01=PR
    loop 2300 O 100
      CLM M 1
      DTP O 1 01=431 @10
      DTP O 1 01=435 @10
      REF O 1 01=D9 @20
      REF O 1 01=EA @20
      NTE O 1
      HI M 1
      loop 2310A O 2
        NM1 M 1 01=DN
      loop 2310B O 1
        NM1 M 1 01=82
        PRV O 1
      loop 2310C O 1
        NM1 M 1 01=77
        N3 M 1
        N4 M 1
      loop 2400 M 50
        LX M 1
        SV1 M 1
        DTP M 1 01=472
        REF O 1 01=6R
        loop 2420A O 1
          NM1 M 1 01=82
          PRV O 1
";

const START: &str = "BHT NM1*41 PER NM1*40 HL*1**20*1 PRV NM1*85 N3 N4 REF*EI ";
const SUBSCRIBER: &str = "HL*2*1*22 SBR NM1*IL N3 N4 DMG NM1*PR ";

#[test]
fn loops_are_told_apart_by_qualifiers() {
    check(
        CLAIM,
        &format!(
            "{START}{SUBSCRIBER}CLM DTP*435 DTP*431 REF*EA REF*D9 HI NM1*82 LX SV1 DTP*472 NM1*82 LX SV1 DTP*472 CLM HI NM1*77 N3 N4 LX SV1 DTP*472 {SUBSCRIBER}HL*1**20*1 NM1*85 N3 N4 REF*EI {SUBSCRIBER}"
        ),
        expect![[r#"
            BHT: BHT
            NM1*41: 1000A/NM1 -0 +1
            PER: 1000A/PER
            NM1*40: 1000B/NM1 -1 +1
            HL*1**20*1: 2000A/HL -1 +1
            PRV: 2000A/PRV
            NM1*85: 2000A/2010AA/NM1 -0 +1
            N3: 2000A/2010AA/N3
            N4: 2000A/2010AA/N4
            REF*EI: 2000A/2010AA/REF
            HL*2*1*22: 2000A/2000B/HL -1 +1
            SBR: 2000A/2000B/SBR
            NM1*IL: 2000A/2000B/2010BA/NM1 -0 +1
            N3: 2000A/2000B/2010BA/N3
            N4: 2000A/2000B/2010BA/N4
            DMG: 2000A/2000B/2010BA/DMG
            NM1*PR: 2000A/2000B/2010BB/NM1 -1 +1
            CLM: 2000A/2000B/2300/CLM -1 +1
            DTP*435: 2000A/2000B/2300/DTP
            DTP*431: 2000A/2000B/2300/DTP
            REF*EA: 2000A/2000B/2300/REF
            REF*D9: 2000A/2000B/2300/REF
            HI: 2000A/2000B/2300/HI
            NM1*82: 2000A/2000B/2300/2310B/NM1 -0 +1
            LX: 2000A/2000B/2300/2400/LX -1 +1
            SV1: 2000A/2000B/2300/2400/SV1
            DTP*472: 2000A/2000B/2300/2400/DTP
            NM1*82: 2000A/2000B/2300/2400/2420A/NM1 -0 +1
            LX: 2000A/2000B/2300/2400/LX -2 +1 #2
            SV1: 2000A/2000B/2300/2400/SV1
            DTP*472: 2000A/2000B/2300/2400/DTP
            CLM: 2000A/2000B/2300/CLM -2 +1 #2
            HI: 2000A/2000B/2300/HI
            NM1*77: 2000A/2000B/2300/2310C/NM1 -0 +1
            N3: 2000A/2000B/2300/2310C/N3
            N4: 2000A/2000B/2300/2310C/N4
            LX: 2000A/2000B/2300/2400/LX -1 +1
            SV1: 2000A/2000B/2300/2400/SV1
            DTP*472: 2000A/2000B/2300/2400/DTP
            HL*2*1*22: 2000A/2000B/HL -3 +1 #2
            SBR: 2000A/2000B/SBR
            NM1*IL: 2000A/2000B/2010BA/NM1 -0 +1
            N3: 2000A/2000B/2010BA/N3
            N4: 2000A/2000B/2010BA/N4
            DMG: 2000A/2000B/2010BA/DMG
            NM1*PR: 2000A/2000B/2010BB/NM1 -1 +1
            HL*1**20*1: 2000A/HL -3 +1 #2
            NM1*85: 2000A/2010AA/NM1 -0 +1
            N3: 2000A/2010AA/N3
            N4: 2000A/2010AA/N4
            REF*EI: 2000A/2010AA/REF
            HL*2*1*22: 2000A/2000B/HL -1 +1
            SBR: 2000A/2000B/SBR
            NM1*IL: 2000A/2000B/2010BA/NM1 -0 +1
            N3: 2000A/2000B/2010BA/N3
            N4: 2000A/2000B/2010BA/N4
            DMG: 2000A/2000B/2010BA/DMG
            NM1*PR: 2000A/2000B/2010BB/NM1 -1 +1
        "#]],
    );
}

/// Checks only the findings of a claim with one fault.
#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check_faults(body: &str, expected: Expect) {
    let all = walk(structure(CLAIM), body);
    let faults: Vec<&str> = all.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
    expected.assert_eq(&faults.join("\n"));
}

const CLAIM_LINES: &str =
    "CLM DTP*431 REF*D9 HI NM1*DN NM1*82 PRV NM1*77 N3 N4 LX SV1 DTP*472 REF*6R LX SV1 DTP*472 NM1*82 PRV ";

#[test]
fn one_fault_is_told_once() {
    let good = format!("{START}{SUBSCRIBER}{CLAIM_LINES}{SUBSCRIBER}{CLAIM_LINES}");
    check_faults(&good, expect![[""]]);
    let mut out = String::new();
    let segments: Vec<&str> = good.trim().split(' ').collect();
    let faults = |segments: &[&str]| {
        let all = walk(structure(CLAIM), &segments.join(" "));
        let faults: Vec<String> =
            all.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned).collect();
        faults.join("; ")
    };
    for i in 0..segments.len() {
        let mut mutant = segments.clone();
        mutant.remove(i);
        writeln!(out, "{:2} without {}: {}", i + 2, segments[i], faults(&mutant)).expect("a string");
    }
    for i in 0..segments.len() - 1 {
        let mut mutant = segments.clone();
        mutant.swap(i, i + 1);
        writeln!(out, "{:2} swapped {} {}: {}", i + 2, segments[i], segments[i + 1], faults(&mutant))
            .expect("a string");
    }
    for i in 0..segments.len() {
        let mut mutant = segments.clone();
        mutant.insert(i, segments[i]);
        writeln!(out, "{:2} twice {}: {}", i + 2, segments[i], faults(&mutant)).expect("a string");
    }
    for i in 0..segments.len() {
        let mut mutant = segments.clone();
        mutant[i] = "ZZZ*1";
        writeln!(out, "{:2} misspelt {}: {}", i + 2, segments[i], faults(&mutant)).expect("a string");
    }
    for i in 0..segments.len() {
        if !segments[i].contains('*') {
            continue;
        }
        let mut mutant = segments.clone();
        let wrong = format!("{}*ZZ*ZZ*ZZ", segments[i].split('*').next().expect("a tag"));
        mutant[i] = &wrong;
        writeln!(out, "{:2} qualifier {}: {}", i + 2, segments[i], faults(&mutant)).expect("a string");
    }
    for i in 0..segments.len() {
        for inserted in ["SV1", "N3", "LX", "NM1*82", "HI"] {
            let mut mutant = segments.clone();
            mutant.insert(i, inserted);
            writeln!(out, "{:2} {} before {}: {}", i + 2, inserted, segments[i], faults(&mutant)).expect("a string");
        }
    }
    let many: Vec<&str> = out.lines().filter(|line| line.contains(';') || line.ends_with(": ")).collect();
    expect![[r#"
         7 without PRV: 
        15 without N3: 
        16 without N4: 
        17 without DMG: 
        20 without DTP*431: 
        21 without REF*D9: 
        23 without NM1*DN: 
        25 without PRV: 
        32 without REF*6R: 
        37 without PRV: 
        41 without N3: 
        42 without N4: 
        43 without DMG: 
        46 without DTP*431: 
        47 without REF*D9: 
        49 without NM1*DN: 
        51 without PRV: 
        58 without REF*6R: 
        63 without PRV: 
         4 twice PER: 
        23 twice NM1*DN: 
        49 twice NM1*DN: 
        24 LX before NM1*82: 27 OutOfSequence(ItemId(40)); 25 Missing(ItemId(45)); 25 Missing(ItemId(46))
        32 LX before REF*6R: 33 Missing(ItemId(45)); 33 Missing(ItemId(46))
        33 NM1*82 before LX: 
        36 LX before NM1*82: 37 Missing(ItemId(45)); 37 Missing(ItemId(46))
        38 LX before HL*2*1*22: 39 Missing(ItemId(45)); 39 Missing(ItemId(46))
        50 LX before NM1*82: 53 OutOfSequence(ItemId(40)); 51 Missing(ItemId(45)); 51 Missing(ItemId(46))
        58 LX before REF*6R: 59 Missing(ItemId(45)); 59 Missing(ItemId(46))
        59 NM1*82 before LX: 
        62 LX before NM1*82: 63 Missing(ItemId(45)); 63 Missing(ItemId(46))"#]]
    .assert_eq(&many.join("\n"));
}
