//! The table in `docs/reference/acknowledgments.md`: which fault gives which code in which acknowledgment, made of the total match.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use quayline_charset::CodeProblem;
use quayline_edi::acknowledge::AcknowledgmentList;
use quayline_edi::{
    AcknowledgmentCodes, BrokenRule, ContentError, ContentErrorKind, EdiError, Level, RuleSubject, ServiceCharacter,
    Standard, SyntaxLevel,
};

const BEGIN: &str = "<!-- made by the tests: faults -->\n";
const END: &str = "<!-- end -->\n";

/// Returns every error, with each variant that has other codes, and its name in the table.
fn errors() -> Vec<(EdiError, &'static str)> {
    let standard = Standard::X12;
    let mut all = vec![
        (EdiError::Noise { bytes: 1, has_transactions: false }, "bytes between interchanges"),
        (EdiError::NoInterchange, "no interchange in the file"),
        (EdiError::IsaWidth { found: 90 }, "widths of ISA"),
        (EdiError::Header { standard, why: "" }, "header not readable"),
        (delimiter(ServiceCharacter::Element), "element separator not usable"),
        (delimiter(ServiceCharacter::Component), "component separator not usable"),
        (delimiter(ServiceCharacter::Terminator), "segment terminator not usable"),
        (delimiter(ServiceCharacter::Repetition), "repetition separator or release character not usable"),
        (
            EdiError::DelimiterTwice {
                standard,
                first: ServiceCharacter::Element,
                second: ServiceCharacter::Component,
            },
            "two delimiters are the same: that of the second",
        ),
        (EdiError::RepetitionKind, "ISA11 is a letter"),
        (EdiError::StandardsId, "ISA11 is not U"),
        (EdiError::Package, "package"),
        (EdiError::TerminatorMissing { tag: "".into() }, "segment terminator missing"),
        (EdiError::TrailerMerged { tag: "".into() }, "segment terminator missing after a trailer"),
        (EdiError::Syntax { what: "syntax version" }, "syntax identifier or version of UNB"),
        (EdiError::SegmentTooLong { limit: 1 }, "segment too long"),
        (EdiError::TooManyElements { limit: 1 }, "more elements than the limit"),
        (EdiError::Unterminated, "file ends inside a segment"),
        (EdiError::HeaderInside { tag: "".into() }, "interchange cut off inside a segment, another follows"),
        (EdiError::LineBreakInside, "line break in a segment"),
        (EdiError::Nesting, "explicit nesting"),
        (EdiError::BreakBehind, "white space after a terminator"),
        (EdiError::BinaryLength, "length of binary data"),
        (EdiError::BinaryTooLong { declared: 2, limit: 1 }, "binary data too long"),
        (EdiError::BinaryCut { declared: 2, found: 1 }, "file ends in binary data"),
        (EdiError::BinaryEnd, "no terminator after binary data"),
        (EdiError::Tag { standard, bytes: 5 }, "no tag"),
        (EdiError::Empty, "empty segment"),
        (EdiError::Outside { standard }, "segment outside of transactions"),
        (EdiError::Nested { standard, level: Level::Group }, "group in a group"),
        (EdiError::GroupsMixed { standard }, "transaction outside of groups; groups and messages mixed"),
        (EdiError::Characters, "characters"),
        (EdiError::Encoding { charset: "UTF-8" }, "bytes that are not UTF-8"),
        (EdiError::NeedlessRelease, "release character that nothing needs"),
        (EdiError::CodeExtension { problem: CodeProblem::Cut }, "text by code extension"),
        (EdiError::Columns { limit: 50 }, "more elements than columns"),
        (EdiError::NoGuide { standard, asked: "".into(), known: "".into() }, "no guide for the transaction"),
        (EdiError::NotInDocument { together: true }, "no place in the document"),
        (EdiError::ImplementationDiffers, "ST03 and GS08 differ"),
        (EdiError::Repertoire { level: SyntaxLevel::A }, "characters beyond UNOA or UNOB"),
        (
            EdiError::GroupDiffers { transaction: "".into(), expected: "".into() },
            "transaction set in another functional group",
        ),
        (EdiError::MessageDiffers { message: "", group: "" }, "UNH and UNG differ"),
        (EdiError::Controls, "control characters"),
        (EdiError::NoElements, "segment without elements"),
        (
            EdiError::DateWidth { standard, level: Level::Interchange, name: "UNB S004 0017", expected: 6, found: 8 },
            "digits of the date in UNB",
        ),
        (
            EdiError::DateWidth { standard, level: Level::Group, name: "GS04", expected: 8, found: 6 },
            "digits of the date in GS or UNG",
        ),
        (EdiError::ControlZeros { standard, level: Level::Interchange }, "leading zeros of IEA02"),
        (EdiError::ControlZeros { standard, level: Level::Group }, "leading zeros of GE02"),
    ];
    let of = |level, words: [&'static str; 3]| match level {
        Level::Interchange => words[0],
        Level::Group => words[1],
        Level::Transaction => words[2],
    };
    for level in [Level::Interchange, Level::Group, Level::Transaction] {
        let more = [
            (
                EdiError::TrailerMissing { standard, level },
                ["IEA or UNZ missing", "GE or UNE missing", "SE or UNT missing"],
            ),
            (EdiError::TrailerAlone { standard, level }, ["IEA or UNZ alone", "GE or UNE alone", "SE or UNT alone"]),
            (
                EdiError::ControlDiffers { standard, level },
                ["ISA13 and IEA02 differ", "GS06 and GE02 differ", "ST02 and SE02 differ"],
            ),
            (
                EdiError::CountDiffers { standard, level, declared: 1, counted: 2 },
                ["IEA01 or UNZ counts otherwise", "GE01 or UNE counts otherwise", "SE01 or UNT counts otherwise"],
            ),
            (
                EdiError::CountFormat { standard, level, counted: 1 },
                ["IEA01 or UNZ is not a number", "GE01 or UNE is not a number", "SE01 or UNT is not a number"],
            ),
            (EdiError::ControlTwice { standard, level }, ["ISA13 came before", "GS06 came before", "ST02 came before"]),
            (
                EdiError::EnvelopeElements { standard, level, in_trailer: false },
                [
                    "superfluous elements in UNB",
                    "superfluous elements in GS or UNG",
                    "superfluous elements in ST or UNH",
                ],
            ),
        ];
        all.extend(more.into_iter().map(|(error, words)| (error, of(level, words))));
    }
    let fields: [(Level, &[&'static str]); 3] = [
        (
            Level::Interchange,
            &[
                "ISA01", "ISA02", "ISA03", "ISA04", "ISA05", "ISA06", "ISA07", "ISA08", "ISA09", "ISA10", "ISA11",
                "ISA12", "ISA13", "ISA14", "ISA15", "TA101",
            ],
        ),
        (Level::Group, &["GS01", "GS02", "GS03", "GS04", "GS05", "GS06", "GS07", "GS08"]),
        (Level::Transaction, &["ST01", "ST02"]),
    ];
    for (level, names) in fields {
        for name in names {
            all.push((EdiError::FieldMissing { standard, level, name }, name));
            all.push((EdiError::FieldFormat { standard, level, name, expected: "" }, name));
        }
    }
    all.extend(content().into_iter().map(|(kind, words)| {
        let (reference, loops) = ("".into(), "".into());
        (EdiError::Content(Box::new(ContentError { kind, standard, reference, name: None, loops })), words)
    }));
    all
}

fn delimiter(which: ServiceCharacter) -> EdiError {
    EdiError::DelimiterKind { standard: Standard::X12, which, kind: "letter" }
}

fn content() -> Vec<(ContentErrorKind, &'static str)> {
    let rule = |about| ContentErrorKind::Rule(Box::new(BrokenRule { name: "".into(), message: "".into(), about }));
    vec![
        (ContentErrorKind::SegmentUnknown, "unknown tag"),
        (ContentErrorKind::SegmentUndefined, "segment not of this transaction"),
        (ContentErrorKind::SegmentUnexpected, "segment not expected here"),
        (ContentErrorKind::SegmentOutOfSequence, "segment out of order"),
        (ContentErrorKind::SegmentTooMany { max: 1 }, "segment too often"),
        (ContentErrorKind::LoopTooMany { max: 1 }, "loop too often"),
        (ContentErrorKind::SegmentNotUsed, "segment not used by the guide"),
        (ContentErrorKind::SegmentMissing, "segment missing"),
        (ContentErrorKind::LoopMissing { trigger: "".into() }, "loop missing"),
        (ContentErrorKind::Qualifier { listed: false }, "qualifier not a code"),
        (ContentErrorKind::Qualifier { listed: true }, "qualifier not used by the guide"),
        (ContentErrorKind::ElementMissing, "element missing"),
        (ContentErrorKind::Blank, "mandatory element of blanks"),
        (ContentErrorKind::ElementTooShort { min: 2, found: 1 }, "too short"),
        (ContentErrorKind::ElementTooLong { max: 1, found: 2 }, "too long"),
        (ContentErrorKind::Code { listed: false }, "not a code"),
        (ContentErrorKind::Code { listed: true }, "code not used by the guide"),
        (ContentErrorKind::CodeOutOfDate { day: 20_260_401 }, "code not valid on the day"),
        (ContentErrorKind::Characters { expected: "" }, "characters of the data type"),
        (ContentErrorKind::Date { expected: "" }, "date"),
        (ContentErrorKind::Day { form: "" }, "day"),
        (ContentErrorKind::Time { expected: "" }, "time"),
        (ContentErrorKind::ElementNotUsed, "element not used by the guide"),
        (ContentErrorKind::ElementsTooMany { max: 1, found: 2 }, "too many elements"),
        (ContentErrorKind::ComponentsTooMany { max: 1, found: 2 }, "too many components"),
        (ContentErrorKind::RepetitionsTooMany { max: 1, found: 2 }, "too many repetitions"),
        (ContentErrorKind::TrailingSeparators, "separators at the end"),
        (ContentErrorKind::NumberForm { exponent: true }, "number with an exponent or leading zeros"),
        (ContentErrorKind::Required { note: "".into() }, "note requires an element"),
        (ContentErrorKind::Excluded { note: "".into() }, "note excludes an element"),
        (ContentErrorKind::HlNumber { expected: 1 }, "HL01"),
        (ContentErrorKind::HlTwice, "HL01 twice"),
        (ContentErrorKind::HlUnknown, "HL02 unknown"),
        (ContentErrorKind::HlLevel { allowed: None }, "level of HL"),
        (ContentErrorKind::HlParent { expected: None }, "HL02"),
        (ContentErrorKind::HlChild { has: true }, "HL04"),
        (rule(RuleSubject::Value), "rule: a value"),
        (rule(RuleSubject::ElementMissing), "rule: an element missing"),
        (rule(RuleSubject::ElementPresent), "rule: an element too many"),
        (rule(RuleSubject::SegmentMissing), "rule: a segment missing"),
        (rule(RuleSubject::SegmentPresent), "rule: a segment too many"),
    ]
}

/// Formats a code, followed by the differing code of 999 after a slash.
fn cell(base: Option<&str>, implementation: Option<&str>) -> String {
    match (base, implementation) {
        (Some(base), Some(own)) => format!("{base}/{own}"),
        (Some(base), None) => base.to_owned(),
        (None, Some(own)) => format!("/{own}"),
        (None, None) => String::new(),
    }
}

fn row(codes: &AcknowledgmentCodes) -> [String; 6] {
    [
        cell(codes.interchange_note, None),
        cell(codes.group, None),
        cell(codes.transaction, codes.implementation_transaction),
        cell(codes.segment, codes.implementation_segment),
        cell(codes.element, codes.implementation_element),
        cell(codes.contrl, None),
    ]
}

fn table() -> String {
    let mut rows: Vec<(String, Vec<&'static str>, [String; 6])> = Vec::new();
    for (error, words) in errors() {
        let (code, cells) = (error.code().0.to_owned(), row(&error.acknowledgment()));
        match rows.iter_mut().find(|(other, _, same)| *other == code && *same == cells) {
            Some((_, all, _)) => all.push(words),
            None => rows.push((code, vec![words], cells)),
        }
    }
    rows.sort_by(|(a, _, x), (b, _, y)| (a, x[0].is_empty(), x).cmp(&(b, y[0].is_empty(), y)));
    let mut out = String::from(
        "| fault | | TA1 | AK9 | AK5, IK5 | AK3, IK3 | AK4, IK4 | CONTRL |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (code, words, cells) in rows {
        let [ta1, group, set, segment, element, contrl] = cells;
        writeln!(out, "| {code} | {} | {ta1} | {group} | {set} | {segment} | {element} | {contrl} |", words.join(", "))
            .expect("a string");
    }
    out
}

#[test]
fn the_table_of_codes_is_the_match() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/acknowledgments.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the page has the mark");
    let (_, after) = rest.split_once(END).expect("the page has the end");
    let made = format!("{before}{BEGIN}{}{END}{after}", table());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &made).expect("writable");
    } else {
        assert!(page == made, "docs/reference/acknowledgments.md is not of the match; run with UPDATE_EXPECT=1");
    }
}

#[test]
fn every_error_is_in_the_table_and_every_code_in_its_list() {
    let errors = errors();
    let told: BTreeSet<&str> = errors.iter().map(|(error, _)| error.code().0).collect();
    let page = include_str!("../../../../docs/reference/errors/edi.md");
    // EDI-050 to EDI-069 are of writing documents.
    let documented = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.get(..7))
        .filter(|code| code.starts_with("EDI-") && !("EDI-050".."EDI-070").contains(code));
    let missing: Vec<&str> = documented.filter(|code| !told.contains(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for (error, words) in &errors {
        let codes = error.acknowledgment();
        let each = [
            (AcknowledgmentList::InterchangeNote, codes.interchange_note),
            (AcknowledgmentList::Group, codes.group),
            (AcknowledgmentList::Transaction, codes.transaction),
            (AcknowledgmentList::ImplementationTransaction, codes.implementation_transaction.or(codes.transaction)),
            (AcknowledgmentList::Segment, codes.segment),
            (AcknowledgmentList::ImplementationSegment, codes.implementation_segment.or(codes.segment)),
            (AcknowledgmentList::Element, codes.element),
            (AcknowledgmentList::ImplementationElement, codes.implementation_element.or(codes.element)),
            (AcknowledgmentList::SyntaxError, codes.contrl),
        ];
        for (list, code) in each {
            let known = code.is_none_or(|code| list.words(code).is_some());
            assert!(known, "{words}: {code:?} is not in {}", list.data_element());
        }
        // An acknowledgment can express every error in the content of a transaction.
        if matches!(error, EdiError::Content(_)) {
            assert!(codes.transaction.is_some() && codes.contrl.is_some(), "{words}");
        }
    }
}
