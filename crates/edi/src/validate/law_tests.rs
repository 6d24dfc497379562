//! The fast answer and the careful one agree.

use std::sync::Arc;

use proptest::prelude::*;
use quayline_core::Limits;

use super::element::{Numbers, Settings};
use super::explain::Explanation;
use super::segment::is_quickly_right;
use crate::delimiters::Standard;
use crate::guide::compile::ItemId;
use crate::guide::{CompiledGuide, MemoryGuides, parse_guide};
use crate::{EndOfInput, Rules, SegmentSplitter, Step};

const GUIDE: &str = "guide LAW
standard X12
version 005010
transaction 999

element 1 AN 1..5
element 2 ID 2..3 codes C
element 3 R 1..6
element 4 N2 1..4
element 5 DT 6..8
element 6 TM 4..8
element 1250 ID 2..3
element 1251 AN 1..35
composite C900
  2 M
  1 O
  3 O
  notes P0203
codes C
  AB
  CD until 20200101
  E
segment AAA
  1 M
  2 O
  3 O
  4 O
  5 O
  6 O
  C900 O repeat 2
  1250 O
  1251 O
  1 N
  notes P0203 E0405 C0603 R0102
structure
  segment AAA O *
";

fn compiled() -> Arc<CompiledGuide> {
    let guide = parse_guide("law.guide", GUIDE, &MemoryGuides::default(), &Limits::default());
    let guide = guide.unwrap_or_else(|findings| panic!("{findings}"));
    Arc::new(CompiledGuide::new(&guide).unwrap_or_else(|findings| panic!("{findings}")))
}

/// Returns whether the quick check accepts the segment `AAA` with these elements, and its number of findings.
fn both(guide: &CompiledGuide, elements: &str) -> (bool, usize) {
    let isa =
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~";
    let text = format!("{isa}AAA{elements}~");
    let mut splitter = SegmentSplitter::new(&Limits::default(), Rules::Lenient);
    let mut pass = splitter.over(text.as_bytes(), EndOfInput::Yes);
    loop {
        let step = pass.advance();
        assert_ne!(step, Step::Done, "the segment is there");
        if step != Step::Segment || pass.segment().tag() != b"AAA" {
            continue;
        }
        let segment = pass.segment();
        let layout = guide.layouts.of_item[ItemId(1).index()];
        let settings = Settings {
            day: Some(20_260_401),
            numbers: Numbers { mark: b'.', standard: Standard::X12 },
            single_byte: false,
        };
        let quick = is_quickly_right(&guide.layouts, layout, &segment, settings);
        let mut faults = Vec::new();
        Explanation { tables: &guide.layouts, layout, segment: &segment, settings, notes: true }.explain(&mut faults);
        return (quick, faults.len());
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        1 => "[A-E]{1,6}",
        1 => "-?[0-9]{1,7}",
        1 => "-?[0-9]{1,4}[.,]?[0-9]{0,3}E?",
        1 => prop_oneof![Just("AB"), Just("CD"), Just("E "), Just("D8"), Just("RD8"), Just("TM")].prop_map(str::to_owned),
        1 => prop_oneof![Just("20240229"), Just("20230229"), Just("240101"), Just("2359"), Just("20240101-20240131")]
            .prop_map(str::to_owned),
        1 => "(AB|CD|)(:[A-C1-3]{0,2}){0,3}",
        1 => "AB(:A:1)?\\^AB",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]
    #[test]
    fn the_fast_answer_is_the_careful_one(elements in proptest::collection::vec(value(), 0..12)) {
        let guide = compiled();
        let text: String = elements.iter().map(|element| format!("*{element}")).collect();
        let (quick, faults) = both(&guide, &text);
        // Repetitions and codes with blanks are left to the careful answer.
        let left = text.contains('^') || text.contains("E ");
        prop_assert!(quick == (faults == 0) || (left && !quick), "{text}: quickly {quick}, {faults} findings");
    }
}
