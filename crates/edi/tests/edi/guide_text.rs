//! Guide files: content, faults, and the law that writing and reading are inverse.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use quayline_core::{Findings, Limits};
use quayline_edi::Standard;
use quayline_edi::guide::{
    CodeEntry, CodeList, Codes, CompositeDef, DataType, Dictionary, ElementChange, ElementDef, ElementOf, ElementUse,
    Guide, HlLevel, Item, LoopUse, MemoryGuides, NoGuides, NoteKind, Qualifier, Requirement, Rule, SegmentDef,
    SegmentUse, SyntaxNote, item_names, parse_dictionary, parse_guide, write_dictionary, write_guide,
    write_guide_including,
};

/// Returns the guides of `examples/edi` in one folder.
pub(crate) fn examples() -> MemoryGuides {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi");
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("examples/edi is there") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|extension| extension == "guide") {
            let name = path.file_name().expect("has a name").to_string_lossy().into_owned();
            files.insert(name, std::fs::read_to_string(&path).expect("readable"));
        }
    }
    MemoryGuides(files)
}

/// Returns one of the examples.
pub(crate) fn example(name: &str) -> Guide {
    let files = examples();
    parse_guide(name, &files.0[name], &files, &Limits::default()).unwrap_or_else(|findings| panic!("{findings}"))
}

fn parse(text: &str) -> Result<Guide, Findings> {
    parse_guide("a.guide", text, &NoGuides, &Limits::default())
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&parse(text).expect_err("something is wrong").to_string());
}

const SMALL: &str = "\
guide SMALL \"Small\"
standard X12
version 005010
transaction 850 group PO
element 98 ID 2..3 codes 98
element 93 AN 1..60
segment N1
  98 M
  93 O
codes 98
  BY ST
structure
  loop N1 M 10
    segment N1 M 1
";

#[test]
fn examples_are_read_and_come_back() {
    for name in ["837p.guide", "837p-acme.guide", "orders.guide"] {
        let guide = example(name);
        let text = write_guide(&guide);
        let again = parse(&text).unwrap_or_else(|findings| panic!("{findings}"));
        assert_eq!(again, guide, "{name}");
        assert_eq!(write_guide(&again), text, "{name}");
    }
}

#[test]
fn a_guide_written_with_includes_leaves_out_what_they_define() {
    let (files, guide) = (examples(), example("837p.guide"));
    let name = "x12-claims.guide";
    let dictionary = parse_dictionary(name, &files.0[name], &files, &Limits::default()).expect("right");
    let text = write_guide_including(&guide, &[(name, &dictionary)]);
    assert!(!text.contains("element 98 "), "the include has it");
    assert_eq!(parse_guide("x.guide", &text, &files, &Limits::default()), Ok(guide));
    let text = write_dictionary(Some("Claims"), None, &dictionary);
    assert_eq!(parse_dictionary("d.guide", &text, &NoGuides, &Limits::default()), Ok(dictionary));
}

#[test]
fn an_overlay_changes_its_base() {
    let (base, acme) = (example("837p.guide"), example("837p-acme.guide"));
    let claim = |guide: &Guide| {
        let mut items = &guide.structure;
        for id in ["2000A", "2000B", "2300"] {
            let found = items.iter().find_map(|item| match item {
                Item::Loop(inner) if inner.id == id => Some(inner),
                _ => None,
            });
            items = &found.expect("there").items;
        }
        item_names(items)
    };
    let (before, after) = (claim(&base), claim(&acme));
    let gone: Vec<&String> = before.iter().filter(|name| !after.contains(name)).collect();
    let new: Vec<&String> = after.iter().filter(|name| !before.contains(name)).collect();
    assert_eq!((gone, new), (vec![&"CN1".to_owned()], vec![&"REF_ZZ".to_owned()]));
    assert_eq!((acme.version, acme.name), (base.version, "837P-ACME".to_owned()));
    assert_eq!(acme.dictionary.elements["1028"].max, 20);
}

#[test]
fn names_tell_siblings_apart() {
    let guide = example("837p.guide");
    let Some(Item::Loop(level)) = guide.structure.iter().find(|item| matches!(item, Item::Loop(l) if l.id == "2000A"))
    else {
        panic!("there")
    };
    let Some(Item::Loop(billing)) = level.items.iter().find(|item| matches!(item, Item::Loop(l) if l.id == "2010AA"))
    else {
        panic!("there")
    };
    assert_eq!(item_names(&billing.items), ["NM1", "N3", "N4", "REF_EI", "REF_0B", "PER"]);
}

#[test]
fn all_findings_come_at_once() {
    let text = SMALL
        .replace("93 O", "93 Z")
        .replace("98 M\n", "99 M\n")
        .replace("M 10", "M 0")
        .replace("segment N1 M 1", "sgment N1 M 1");
    check(
        &text,
        &expect![[r#"
        error[GDE-007]: element 99 is not defined
          at a.guide:8:3
          |
        8 |   99 M
          |   ^^

        hint: did you mean `93`? Otherwise define it, or include a dictionary that does

        error[GDE-005]: `Z` is not a requirement
          at a.guide:9:6
          |
        9 |   93 Z
          |      ^

        hint: write M (mandatory), O (optional) or N (not used)

        error[GDE-005]: `0` is not the maximum count
          at a.guide:13:13
           |
        13 |   loop N1 M 0
           |             ^

        hint: write a number from 1, or * for any number

        error[GDE-003]: `sgment` is not expected here
          at a.guide:14:5
           |
        14 |     sgment N1 M 1
           |     ^^^^^^

        hint: did you mean `segment`? Known here: segment, loop"#]],
    );
}

/// A generated guide may be one line. Its words are not kept, and its findings do not repeat the line.
#[test]
fn a_very_long_line_and_very_many_lines_are_told_in_linear_time() {
    let head = "guide X \"x\"\nstandard X12\nversion 005010\ntransaction 810 group IN\nstructure\n";
    let took = |text: &str| {
        let begin = std::time::Instant::now();
        let told = parse(text).unwrap_err().to_string();
        assert!(told.len() < 10_000_000, "{} bytes of findings", told.len());
        begin.elapsed().as_secs_f64()
    };
    let line = |count: usize| format!("{head}  segment{}\n", " BIG M".repeat(count));
    let lines = |count: usize| format!("{head}{}", "  sgment BIG M 1\n".repeat(count));
    for shape in [&line as &dyn Fn(usize) -> String, &lines] {
        let (small, large) = (took(&shape(20_000)), took(&shape(320_000)));
        // 16 times the size; a quadratic reader takes 256 times as long.
        assert!(large < 64.0 * small.max(0.01), "{small} s, then {large} s");
    }
}

#[test]
fn findings_of_lines() {
    for (from, to, expected) in [
        (
            "version 005010\n",
            "",
            expect![[r#"
            error[GDE-008]: the guide does not say its version
              at a.guide:1:1
              |
            1 | guide SMALL "Small"
              | ^^^^^

            hint: write `version 005010X222A1` or `version D:96A:UN`"#]],
        ),
        (
            "standard X12",
            "standard x13",
            expect![[r#"
                error[GDE-005]: `x13` is not a standard, expected X12 or EDIFACT
                  at a.guide:2:10
                  |
                2 | standard x13
                  |          ^^^

                hint: form: standard X12, standard EDIFACT"#]],
        ),
        (
            "ID 2..3",
            "ID 3..2",
            expect![[r#"
            error[GDE-005]: `3..2` is not a length
              at a.guide:5:15
              |
            5 | element 98 ID 3..2 codes 98
              |               ^^^^

            hint: write the fewest and the most characters, such as 1..35, or 3 for exactly three"#]],
        ),
        (
            "AN 1..60",
            "AX 1..60",
            expect![[r#"
            error[GDE-005]: `AX` is not a data type
              at a.guide:6:12
              |
            6 | element 93 AX 1..60
              |            ^^

            hint: known are AN ID N0 to N9 R DT TM B (X12), a an n (EDIFACT)"#]],
        ),
        (
            "  93 O",
            "  93 O repeat",
            expect![[r#"
            error[GDE-004]: the number of repetitions is missing
              at a.guide:9:14
              |
            9 |   93 O repeat
              |              ^

            hint: form: [composite|element] ID M|O|N [repeat COUNT|*] ["NAME"]"#]],
        ),
        (
            "  93 O",
            "  93 O superfluous",
            expect![[r#"
            error[GDE-003]: `superfluous` is not expected here
              at a.guide:9:8
              |
            9 |   93 O superfluous
              |        ^^^^^^^^^^^

            hint: form: [composite|element] ID M|O|N [repeat COUNT|*] ["NAME"]"#]],
        ),
        (
            "  93 O",
            "\t93 O",
            expect![[r#"
                error[GDE-001]: the indentation contains a tab
                  at a.guide:9:1
                  |
                9 | 	93 O
                  | ^

                hint: indent with spaces, two a level"#]],
        ),
        (
            "  93 O\n",
            "  93 O\n  notes P0103\n",
            expect![[r#"
            error[GDE-007]: the note names element 3, but there are 2
              at a.guide:10:9
               |
            10 |   notes P0103
               |         ^^^^^

            hint: notes count elements from 1"#]],
        ),
        (
            "  93 O\n",
            "  93 O\n  notes Q0102\n",
            expect![[r#"
            error[GDE-005]: `Q0102` is not a note
              at a.guide:10:9
               |
            10 |   notes Q0102
               |         ^^^^^

            hint: write P0304, R, E, C, L (X12) or D1(3,4) to D7 (EDIFACT), elements by their number from 1"#]],
        ),
        (
            "  BY ST",
            "  BY ST BY",
            expect![[r#"
            error[GDE-006]: code `BY` occurs twice
              at a.guide:11:9
               |
            11 |   BY ST BY
               |         ^^

            hint: remove one of them"#]],
        ),
        (
            "  BY ST",
            "  BY from 20251301",
            expect![[r#"
            error[GDE-005]: `20251301` is not a day
              at a.guide:11:11
               |
            11 |   BY from 20251301
               |           ^^^^^^^^

            hint: write year, month and day: 20260401"#]],
        ),
        (
            "  BY ST",
            "  BY \"Buyer",
            expect![[r#"
            error[GDE-002]: the quotes do not end in this line
              at a.guide:11:6
               |
            11 |   BY "Buyer
               |      ^^^^^^

            hint: write " after the text; \" is a quote in it"#]],
        ),
        (
            "segment N1 M 1",
            "segment N1 M 1 where 01 BY",
            expect![[r#"
            error[GDE-004]: `=` is missing
              at a.guide:14:29
               |
            14 |     segment N1 M 1 where 01 BY
               |                             ^^

            hint: form: segment TAG M|O|N [COUNT|*] ["NAME"] [id NAME] [position NUMBER] [where ELEMENT = VALUE|VALUE]"#]],
        ),
        (
            "segment N1 M 1",
            "segment N1 M 1 where 03 = BY",
            expect![[r#"
            error[GDE-007]: N1 has 2 elements, 03 is not one of them
              at a.guide:14:26
               |
            14 |     segment N1 M 1 where 03 = BY
               |                          ^^

            hint: elements count from 01"#]],
        ),
        (
            "segment N1 M 1",
            "segment N1 M 1\n      01-2 M",
            expect![[r#"
            error[GDE-007]: N101 is not a composite, so it has no component 2
              at a.guide:15:7
               |
            15 |       01-2 M
               |       ^^^^

            hint: leave the component out"#]],
        ),
        (
            "segment N1 M 1",
            "segment N1 M 1\n      01 codes",
            expect![[r#"
            error[GDE-004]: the codes are missing
              at a.guide:15:7
               |
            15 |       01 codes
               |       ^^^^^^^^

            hint: form: ELEMENT[-COMPONENT] [M|O|N] [as TYPE] [MIN..MAX] [repeat COUNT] ["NAME"] [codes list NAME|any|CODE ...]"#]],
        ),
        (
            "segment N1 M 1",
            "loop X O 1\n      segment N1 M 1",
            expect![[r#"
            error[GDE-012]: loop N1 does not begin with a segment
              at a.guide:13:8
               |
            13 |   loop N1 M 10
               |        ^^

            hint: the first segment of a loop opens each repetition: write it first, below the loop"#]],
        ),
        (
            "guide SMALL",
            "include \"x12.guide\"\nguide SMALL",
            expect![[r#"
            error[GDE-009]: `x12.guide` cannot be included: no such file
              at a.guide:1:9
              |
            1 | include "x12.guide"
              |         ^^^^^^^^^^^

            hint: name a file next to this one"#]],
        ),
        (
            "guide SMALL",
            "overlay of \"b.guide\"\nguide SMALL",
            expect![[r#"
            error[GDE-009]: `b.guide` cannot be included: no such file
              at a.guide:1:12
              |
            1 | overlay of "b.guide"
              |            ^^^^^^^^^

            hint: name a file next to this one"#]],
        ),
        (
            "structure",
            "rules\n  rule r at N2\n    true\nstructure",
            expect![[r#"
            error[GDE-007]: loop N2 is not in the structure
              at a.guide:13:13
               |
            13 |   rule r at N2
               |             ^^

            hint: did you mean `N1`?"#]],
        ),
        (
            "structure",
            "changes\n  at N2\n    remove segment X\nstructure",
            expect![[r#"
            error[GDE-008]: there are changes, but no guide that they change
              at a.guide:1:1
              |
            1 | guide SMALL "Small"
              | ^^^^^

            hint: name the guide to change with `overlay of "FILE"`

            error[GDE-013]: the base has no loop N2 here
              at a.guide:13:6
               |
            13 |   at N2
               |      ^^

            hint: did you mean `N1`? There are N1"#]],
        ),
        (
            "guide SMALL \"Small\"\n",
            "",
            expect![[r#"
            error[GDE-008]: the guide does not say that it is one
              at a.guide:1:1
              |
            1 | standard X12
              | ^

            hint: begin it with `guide NAME`; a file that begins with `dictionary` is for includes"#]],
        ),
    ] {
        let text = SMALL.replace(from, to);
        assert_ne!(text, SMALL);
        check(&text, &expected);
    }
}

#[test]
fn findings_of_overlays_and_includes() {
    let mut files = examples();
    files.0.insert("circle.guide".to_owned(), "dictionary\ninclude \"circle.guide\"\n".to_owned());
    files.0.insert("other.guide".to_owned(), "dictionary\nelement 98 AN 1..5\n".to_owned());
    for (text, expected) in [
        (
            "guide A\noverlay of \"837p.guide\"\nchanges\n  at 2300\n    remove segment K3\n",
            expect![[r#"
            error[GDE-013]: there is more than one loop 2300
              at a.guide:4:6
              |
            4 |   at 2300
              |      ^^^^

            hint: write the loops around it too, from the outermost: 2000B/2300"#]],
        ),
        (
            "guide A\noverlay of \"837p.guide\"\nchanges\n  at 2000B/2300\n    remove segment REF_XX\n    change segment CLM\n      25 M\n",
            expect![[r#"
                error[GDE-013]: the base has no segment REF_XX here
                  at a.guide:5:20
                  |
                5 |     remove segment REF_XX
                  |                    ^^^^^^

                hint: did you mean `REF_X4`? There are CLM, DTP_431, DTP_454, DTP_304, DTP_435, DTP_439, PWK, CN1, AMT, REF_4N, REF_F8, REF_G1, REF_9F, REF_D9, REF_EA, REF_X4, NTE, HI, 2310A, 2310B, 2310C, 2320, 2400

                error[GDE-007]: CLM has 20 elements, 25 is not one of them
                  at a.guide:7:7
                  |
                7 |       25 M
                  |       ^^

                hint: elements count from 01"#]],
        ),
        (
            "guide A\noverlay of \"837p.guide\"\nchanges\n  at 2000D\n    remove loop 2300\n",
            expect![[r#"
            error[GDE-013]: the base has no loop 2000D here
              at a.guide:4:6
              |
            4 |   at 2000D
              |      ^^^^^

            hint: did you mean `2000A`? There are 1000A, 1000B, 2000A, 2000B, 2000C, 2010AA, 2010AB, 2010BA, 2010BB, 2010CA, 2300, 2310A, 2310B, 2310C, 2320, 2330A, 2330B, 2400, 2410, 2420A, 2430"#]],
        ),
        (
            "guide A\noverlay of \"837.guide\"\n",
            expect![[r#"
            error[GDE-009]: `837.guide` cannot be included: no such file
              at a.guide:2:12
              |
            2 | overlay of "837.guide"
              |            ^^^^^^^^^^^

            hint: looked for 837.guide"#]],
        ),
        (
            "guide A\noverlay of \"837p.guide\"\ninclude \"circle.guide\"\n",
            expect![[r#"
            error[GDE-010]: `circle.guide` includes itself: a.guide → circle.guide → circle.guide
              at circle.guide:2:9
              |
            2 | include "circle.guide"
              |         ^^^^^^^^^^^^^^

            hint: put what both need into a third file"#]],
        ),
        (
            "guide A\noverlay of \"837p.guide\"\ninclude \"x12-claims.guide\"\ninclude \"other.guide\"\n",
            expect![[r#"
            error[GDE-011]: element 98 of `other.guide` is defined differently by an include before
              at a.guide:4:9
              |
            4 | include "other.guide"
              |         ^^^^^^^^^^^^^

            hint: define it in this file, which goes before all includes"#]],
        ),
        (
            "guide A\noverlay of \"a.guide\"\n",
            expect![[r#"
            error[GDE-010]: `a.guide` includes itself: a.guide → a.guide
              at a.guide:2:12
              |
            2 | overlay of "a.guide"
              |            ^^^^^^^^^

            hint: put what both need into a third file"#]],
        ),
    ] {
        files.0.insert("a.guide".to_owned(), text.to_owned());
        let found = parse_guide("a.guide", text, &files, &Limits::default()).expect_err("wrong").to_string();
        expected.assert_eq(&found);
    }
}

#[test]
fn limits_are_findings() {
    let deep: String = (0..200).map(|n| format!("{}loop L O 1\n", "  ".repeat(n + 1))).collect();
    let text = SMALL.replace("  loop N1 M 10\n    segment N1 M 1\n", &deep);
    let found = parse(&text).expect_err("deep").to_string();
    assert!(found.contains("loops nest deeper than 128"), "{found}");
    let limits = Limits { guide_bytes_max: 100, ..Limits::default() };
    let found = parse_guide("a.guide", SMALL, &NoGuides, &limits).expect_err("long").to_string();
    assert!(found.contains("longer than 100 bytes"), "{found}");
    let many = "what\n".repeat(5_000);
    let found = parse(&many).expect_err("wrong").0;
    assert_eq!(found.len(), 1_001);
}

// Generators of guides with any content.

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Z0-9]{1,4}",
        1 => select(vec!["notes", "any", "list", "from", "top", "#", "a b", "\"", "\\", "a=b", "|", "", "é\u{1}\n", "open", "\u{2028}"])
            .prop_map(str::to_owned),
    ]
}

fn id() -> impl Strategy<Value = String> {
    select(vec!["1", "98", "I01", "C040", "notes", "a b", "#", "any", "S001"]).prop_map(str::to_owned)
}

fn data_type() -> impl Strategy<Value = DataType> {
    select(vec![
        DataType::Text,
        DataType::Identifier,
        DataType::Implied(0),
        DataType::Implied(2),
        DataType::Decimal,
        DataType::Date,
        DataType::Time,
        DataType::Binary,
        DataType::Letters,
        DataType::Alphanumeric,
        DataType::Number,
    ])
}

fn requirement() -> impl Strategy<Value = Requirement> {
    select(vec![Requirement::Mandatory, Requirement::Optional, Requirement::NotUsed])
}

fn note() -> impl Strategy<Value = SyntaxNote> {
    let kind = select(vec![
        NoteKind::AllOrNone,
        NoteKind::OneOrMore,
        NoteKind::OneOrNone,
        NoteKind::ExactlyOne,
        NoteKind::IfFirstThenAll,
        NoteKind::IfFirstThenOne,
        NoteKind::IfFirstThenNone,
    ]);
    (kind, vec(1u8..=2, 1..3)).prop_map(|(kind, elements)| SyntaxNote { kind, elements })
}

fn element_use(of: ElementOf) -> impl Strategy<Value = ElementUse> {
    (Just(of), option::of(text()), requirement(), option::of(1u32..5))
        .prop_map(|(of, name, requirement, repeat)| ElementUse { of, name, requirement, repeat })
}

fn day() -> impl Strategy<Value = Option<u32>> {
    option::of(select(vec![20_260_401, 101, 99_991_231]))
}

fn dictionary() -> impl Strategy<Value = Dictionary> {
    let element = (option::of(text()), data_type(), 0u32..4, 4u32..9, any::<bool>());
    let code = (text(), option::of(text()), day(), day());
    let list = (option::of(text()), vec(code, 0..30), any::<bool>());
    let code_name = text();
    (vec((id(), element), 1..6), text(), vec(list, 1), code_name)
        .prop_map(|(elements, _, mut lists, code_name)| {
            let mut dictionary = Dictionary::default();
            for (id, (name, data_type, min, max, coded)) in elements {
                let codes = coded.then(|| code_name.clone());
                dictionary.elements.insert(id, ElementDef { name, data_type, min, max, codes });
            }
            let (name, codes, open) = lists.remove(0);
            let mut list = CodeList { name, codes: Vec::new(), open };
            for (value, name, from, until) in codes {
                if !list.codes.iter().any(|code| code.value == value) {
                    list.codes.push(CodeEntry { value, name, from, until });
                }
            }
            dictionary.codes.insert(code_name, list);
            dictionary
        })
        .prop_flat_map(|dictionary| {
            let ids: Vec<String> = dictionary.elements.keys().cloned().collect();
            let simple = select(ids).prop_map(ElementOf::Element);
            let components = vec(simple.clone().prop_flat_map(element_use), 2..4);
            let composite = (option::of(text()), components, vec(note(), 0..3));
            let in_segment = prop_oneof![3 => simple, 1 => Just(ElementOf::Composite("C040".to_owned())), 1 => Just(ElementOf::Composite("odd".to_owned()))];
            let elements = vec(in_segment.prop_flat_map(element_use), 2..5);
            let segment = (option::of(text()), elements, vec(note(), 0..3));
            (Just(dictionary), vec(composite, 2), vec((id(), segment), 1..4))
        })
        .prop_map(|(mut dictionary, composites, segments)| {
            for (id, (name, components, notes)) in ["C040", "odd"].into_iter().zip(composites) {
                dictionary.composites.insert(id.to_owned(), CompositeDef { name, components, notes });
            }
            for (tag, (name, elements, notes)) in segments {
                dictionary.segments.insert(tag, SegmentDef { name, elements, notes });
            }
            dictionary
        })
}

fn codes(list: String) -> impl Strategy<Value = Codes> {
    prop_oneof![Just(Codes::Any), Just(Codes::List(list)), vec(text(), 1..40).prop_map(Codes::These)]
}

fn segment_use(dictionary: &Dictionary) -> impl Strategy<Value = SegmentUse> + use<> {
    let list = dictionary.codes.keys().next().cloned().unwrap_or_default();
    let tags: Vec<String> = dictionary.segments.keys().cloned().collect();
    let change = (
        option::of(text()),
        option::of(requirement()),
        (option::of(0u32..3), option::of(3u32..9)),
        option::of(1u32..4),
        option::of(codes(list)),
        option::of(data_type()),
    );
    let qualifier = vec(text(), 1..3).prop_map(|values| Qualifier { element: 1, component: 0, values });
    let rest = (option::of(qualifier), vec(change, 0..3), option::of(vec(note(), 0..3)));
    (select(tags), option::of(text()), option::of(text()), requirement(), option::of(1u32..100), 0u32..3, rest)
        .prop_map(|(tag, id, name, requirement, max, position, (qualifier, changes, notes))| SegmentUse {
            tag,
            id,
            name,
            requirement,
            max,
            position,
            qualifier,
            changes: (1u8..)
                .zip(changes)
                .take(2)
                .map(|(element, (name, requirement, (min, max), repeat, codes, data_type))| ElementChange {
                    element,
                    component: 0,
                    name,
                    requirement,
                    min,
                    max,
                    repeat,
                    codes,
                    data_type,
                })
                .collect(),
            notes,
        })
}

fn items(dictionary: &Dictionary) -> impl Strategy<Value = Vec<Item>> + use<> {
    let segment = segment_use(dictionary).boxed();
    let first = segment.clone().prop_map(Item::Segment);
    let segment = segment.prop_map(Item::Segment);
    let item = segment.prop_recursive(3, 12, 4, move |inner| {
        let level = (text(), any::<bool>(), vec(text(), 0..3));
        let level = level.prop_map(|(code, top, within)| HlLevel { code, top: top || within.is_empty(), within });
        let head = (text(), option::of(text()), requirement(), option::of(1u32..9), 0u32..3, vec(level, 0..3));
        (head, first.clone(), vec(inner, 0..3)).prop_map(
            |((id, name, requirement, repeat, position, levels), first, rest)| {
                let items = core::iter::once(first).chain(rest).collect();
                Item::Loop(LoopUse { id, name, requirement, repeat, position, levels, items })
            },
        )
    });
    vec(item, 0..5)
}

fn guide() -> impl Strategy<Value = Guide> {
    let head = (text(), option::of(text()), any::<bool>(), text(), text(), option::of(text()), option::of(text()));
    let rule = (option::of(text()), any::<bool>(), "[a-z(][a-z0-9 =()#\"]{0,10}[a-z)](\n[a-z]{1,5})?");
    (head, dictionary(), vec(rule, 0..3))
        .prop_flat_map(|(head, dictionary, rules)| (Just(head), items(&dictionary), Just(dictionary), Just(rules)))
        .prop_map(
            |((name, title, x12, version, transaction, functional_group, source), structure, dictionary, rules)| {
                Guide {
                    name,
                    title,
                    standard: if x12 { Standard::X12 } else { Standard::Edifact },
                    version,
                    transaction,
                    functional_group,
                    source,
                    dictionary,
                    structure,
                    rules: (0..)
                        .zip(rules)
                        .map(|(n, (message, warning, expression))| Rule {
                            name: format!("r{n}"),
                            at: String::new(),
                            expression,
                            message,
                            warning,
                        })
                        .collect(),
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_as_the_same(guide in guide()) {
        let text = write_guide(&guide);
        match parse(&text) {
            Ok(again) => prop_assert_eq!(again, guide, "{}", text),
            Err(findings) => prop_assert!(false, "{}\n{}", findings, text),
        }
    }

    #[test]
    fn any_text_gives_a_guide_or_findings(lines in vec("[ ]{0,6}(guide|segment|loop|element|codes|structure|rules|changes|at|add last|x|\"|where|01|=|M|O|[0-9]{1,3}|\\||..)( (M|O|01|=|a|\"b\"|codes|1..3|AN|\"|\\\\|repeat|\\*)){0,4}", 0..30)) {
        let _ = parse(&lines.join("\n"));
    }
}

#[test]
fn codes_come_from_a_file_of_those_who_maintain_them() {
    let text = SMALL.replace("codes 98\n  BY ST\n", "codes 98 \"Party\" open file \"party.csv\"\n  BY ST\n");
    let parse = |csv: &str| {
        let files = MemoryGuides(BTreeMap::from([("party.csv".to_owned(), csv.to_owned())]));
        parse_guide("a.guide", &text, &files, &Limits::default())
    };
    let guide =
        parse("\u{feff}Code,Name,From,Until\r\nSE,\"Seller, or \"\"vendor\"\"\",2003-01-01,20301231\r\n\r\nBT\r\n");
    let list = &guide.unwrap_or_else(|findings| panic!("{findings}")).dictionary.codes["98"];
    let seller = CodeEntry {
        value: "SE".to_owned(),
        name: Some("Seller, or \"vendor\"".to_owned()),
        from: Some(20_030_101),
        until: Some(20_301_231),
    };
    assert!(list.open && list.codes.len() == 4 && list.codes[2] == seller, "{list:?}");
    let wrong = parse("SE,Seller,20031301\nBY\n,x\n\"SE\n").expect_err("four lines are wrong").to_string();
    for told in ["a cell is not a day", "`BY`, which the list has already", "the line has no code", "does not end"] {
        assert!(wrong.contains(told), "{told}: {wrong}");
    }
    assert!(wrong.contains("at party.csv:1:1") && wrong.contains("at party.csv:4:1"), "{wrong}");
    // A missing file, and a file that nothing refers to.
    let told = parse_guide("a.guide", &text, &NoGuides, &Limits::default()).expect_err("no file").to_string();
    assert!(told.contains("error[GDE-009]"), "{told}");
    let told = parse_guide("a.guide", &text.replace("\"party.csv\"", ""), &NoGuides, &Limits::default());
    assert!(told.expect_err("no name").to_string().contains("the name of the file is missing"));
}
