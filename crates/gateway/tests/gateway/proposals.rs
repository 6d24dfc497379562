//! The proposal for a copybook is a service that compiles, and its table describes it.

use expect_test::{Expect, expect};
use quayline_cobol::layout::Dialect;
use quayline_core::Limits;
use quayline_gateway::{
    FileProposal, ProgramHead, Proposal, Proposed, ProposedFile, Service, layout_of, layout_of_parameters,
    service_table,
};

/// Returns the proposal for a copybook, which compiles unchanged.
#[track_caller]
fn propose(copybook: &str, record: Option<&str>) -> Proposal {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.cpy");
    std::fs::write(&path, copybook).unwrap();
    let layout = layout_of(&path, record, &Dialect::IBM, &Limits::default()).unwrap();
    let from = Proposed {
        copybook: "order.cpy",
        record,
        encoding: "ascii",
        dialect: "ibm",
        parameters: &[],
        program: None,
        source: None,
        is_free: false,
    };
    let proposal = Proposal::new(&layout, from).unwrap();
    let service = Service::compile("services/order.toml", &proposal.file, folder.path());
    let service = service.unwrap_or_else(|findings| panic!("{findings}\n{}", proposal.file));
    assert_eq!(service.name, "order");
    proposal
}

#[track_caller]
fn table(proposal: &Proposal, expect: Expect) {
    expect.assert_eq(&service_table(&proposal.rows));
}

#[test]
fn request_and_response_are_told_apart_by_their_names() {
    let proposal = propose(crate::world::COPYBOOK, None);
    assert!(proposal.file.contains("[request]\nkey-style = \"camel\"\nexclude = [\"RESP\"]"), "{}", proposal.file);
    assert!(proposal.file.contains("exclude = [\"REQ\"]\n# include = [\"RESP.RAW-NUMBER\"]"), "{}", proposal.file);
    assert!(proposal.file.contains("# field = \"RESP-STATE\""), "{}", proposal.file);
    table(
        &proposal,
        expect![[r#"
        field          include   rename      default  type                 length  start
        REQ            request   req                  STRUCT               28      1
          REQ-NAME     request   reqName              PIC X(8)             8       1
          REQ-AMOUNT   request   reqAmount            PIC S9(5)V99 COMP-3  4       9
          REQ-COUNT    request   reqCount             PIC 9(4)             4       13
          REQ-DATE     request   reqDate              PIC X(8)             8       17
          REQ-FLAG     request   reqFlag              PIC X                1       25
          FILLER       no                             PIC X(3)             3       26
        RESP           response  resp                 STRUCT               38      29
          RESP-CODE    response  respCode             PIC S9(4) COMP       2       29
          RESP-STATE   response  respState            PIC X                1       31
          RESP-DAY     response  respDay              PIC 9(8)             8       32
          RESP-NOTE    response  respNote             PIC X(6)             6       40
          RESP-NUMBER  response  respNumber           PIC 9(3)             3       46
          LINE-COUNT   response  lineCount            PIC 9(2)             2       49
          LINE-ITEM    response  lineItem             ARRAY [3..3]         12      51
            LINE-TEXT  response  lineText             PIC X(4)             4
          RAW          response  raw                  PIC X(4)             4       63
          RAW-NUMBER   no                             PIC 9(4)             4       63
    "#]],
    );
}

#[test]
fn names_are_those_that_json_has() {
    let proposal = propose(
        "       01 A.\n          05 CUST-1 PIC X.\n          05 CUST1 PIC X.\n          05 V PIC 9 OCCURS 2.\n",
        None,
    );
    table(
        &proposal,
        expect![[r#"
        field   include  rename   default  type                   length  start
        CUST-1  yes      cust1             PIC X                  1       1
        CUST1   yes      cust1_2           PIC X                  1       2
        V       yes      v                 ARRAY [2..2] of PIC 9  2       3
    "#]],
    );
}

#[test]
fn one_name_in_several_places_is_no_hindrance() {
    let nested = "       01 A.\n          05 REQ-HEAD.\n             10 NAME PIC X.\n          05 RESP-HEAD.\n             10 NAME PIC X.\n          05 NAME PIC X.\n";
    assert!(propose(nested, None).file.contains("exclude = [\"RESP-HEAD\", \"NAME\"]"));
    // Nothing tells these two apart, so no rule names them.
    let twins = "       01 A.\n          05 NAME PIC X.\n          05 NAME PIC X(2).\n          05 REQ.\n             10 ID PIC X.\n";
    table(
        &propose(twins, None),
        expect![[r#"
            field  include  rename  default  type      length  start
            NAME   yes      name             PIC X     1       1
            NAME   yes      name_2           PIC X(2)  2       2
            REQ    request  req              STRUCT    1       4
              ID   request  id               PIC X     1       4
        "#]],
    );
}

/// Regression: a field of a record was taken for the request because of its first word, and hid all others.
#[test]
fn only_groups_are_divided_by_their_names() {
    let stock = "       01 STOCK.\n          05 ARTICLE PIC X(8).\n          05 IN-STOCK PIC 9(5).\n          05 REQ-DATE PIC 9(8).\n";
    assert!(!propose(stock, None).file.contains("exclude"), "{}", propose(stock, None).file);
}

#[test]
fn the_record_and_the_dialect_that_were_chosen_are_in_the_file() {
    let two = "       01 A.\n          05 X PIC X.\n       01 B.\n          05 Y PIC X.\n";
    assert!(propose(two, Some("B")).file.contains("record = \"B\""));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.cpy");
    std::fs::write(&path, two).unwrap();
    let findings = layout_of(&path, None, &Dialect::IBM, &Limits::default()).unwrap_err().to_string();
    assert!(findings.contains("the copybook has 2 records") && findings.contains("--record"), "{findings}");
    let layout = layout_of(&path, Some("A"), &Dialect::IBM, &Limits::default()).unwrap();
    let from = Proposed {
        copybook: "two.cpy",
        record: None,
        encoding: "ascii",
        dialect: "gnucobol",
        parameters: &[],
        program: None,
        source: None,
        is_free: false,
    };
    assert!(Proposal::new(&layout, from).unwrap().file.contains("dialect = \"gnucobol\""));
    let findings = Proposal::new(&layout, Proposed { encoding: "ebcdic-ish", ..from }).unwrap_err().to_string();
    assert!(findings.contains("GTW-005") && findings.contains("--encoding"), "{findings}");
}

#[test]
fn a_proposal_agrees_with_the_compiler_of_the_program_or_names_another_provider() {
    let copybook = "       01 PAY.\n          05 AMT PIC S9(7)V99.\n          05 N PIC S9(4) COMP-5.\n          05 F COMP-1.\n          05 SEEN PIC X(12).\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pay.cpy");
    std::fs::write(&path, copybook).unwrap();
    for (dialect, encoding, kind) in [
        ("gnucobol", "ascii", "program"),
        ("ibm", "ascii", "http"),
        ("ibm", "cp037", "http"),
        ("gnucobol", "cp037", "http"),
        ("microfocus", "ascii", "http"),
    ] {
        let layout = layout_of(&path, None, &Dialect::preset(dialect).unwrap(), &Limits::default()).unwrap();
        let from = Proposed {
            copybook: "pay.cpy",
            record: None,
            encoding,
            dialect,
            parameters: &[],
            program: None,
            source: None,
            is_free: false,
        };
        let file = Proposal::new(&layout, from).unwrap().file;
        assert!(
            file.contains(&format!("kind = \"{kind}\"")) && file.contains(&format!("dialect = \"{dialect}\"")),
            "{file}"
        );
        assert_eq!(file.contains("cobc -m -O2 -std=ibm -fbinary-size=1-2-4-8"), kind == "program", "{file}");
        let compile = |file: &str| Service::compile("services/pay.toml", file, folder.path());
        // A copybook does not name its program. The record's name, cut to eight characters, looked like an error.
        if kind == "program" {
            assert!(file.contains("program = \"PROGRAM-ID\"  ") && !file.contains("\"PAY\""), "{file}");
            let refused = compile(&file).unwrap_err().to_string();
            assert!(refused.contains("GTW-006") && refused.contains("write the program's PROGRAM-ID"), "{refused}");
        }
        let file = file.replace("\"PROGRAM-ID\"", "\"PAYMENTS\"");
        compile(&file).unwrap_or_else(|f| panic!("{f}\n{file}"));
    }
}

/// A program names its parameters itself; the proposal compiles, with a request and a response by their names.
#[test]
fn a_program_with_several_parameters_is_proposed_from_its_source() {
    let source = "       PROGRAM-ID. PRICES.\n       DATA DIVISION.\n       WORKING-STORAGE SECTION.\n       01 W PIC X(9).\n       LINKAGE SECTION.\n       01 ANSWER.\n          05 TOTAL PIC 9(5).\n       01 ORDER-IN.\n          05 PIECES PIC 9(3).\n       PROCEDURE DIVISION USING ORDER-IN ANSWER.\n           GOBACK.\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prices.cbl");
    std::fs::write(&path, source).unwrap();
    let head = ProgramHead::of(source, None).unwrap();
    let parameters = head.using.unwrap();
    let layout = layout_of_parameters(&path, &parameters, &Dialect::GNUCOBOL, &Limits::default()).unwrap();
    let from = Proposed {
        copybook: "prices.cbl",
        record: None,
        encoding: "ascii",
        dialect: "gnucobol",
        parameters: &parameters,
        program: head.program.as_deref(),
        source: None,
        is_free: false,
    };
    let proposal = Proposal::new(&layout, from).unwrap();
    let text = &proposal.file;
    for part in [
        "[[parameter]]\nrecord = \"ORDER-IN\"\n\n[[parameter]]\nrecord = \"ANSWER\"\n",
        "program = \"PRICES\"",
        // The file's own name, not one made of PROGRAM-ID.
        "# source = \"prices.cbl\"",
        "-o modules/PRICES.so prices.cbl\n",
        "[request]\nkey-style = \"camel\"\nexclude = [\"ANSWER\"]",
        "[response]\nkey-style = \"camel\"\nexclude = [\"ORDER-IN\"]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let service = Service::compile("services/prices.toml", text, folder.path());
    let service = service.unwrap_or_else(|findings| panic!("{findings}\n{text}"));
    assert_eq!((service.length, service.request_length), (8, None));
    let quayline_gateway::ProviderSpec::Program(program) = &service.provider else { panic!("{text}") };
    assert_eq!(program.parameters, [3, 5]);
    table(
        &proposal,
        expect![[r#"
            field     include   rename   default  type      length  start
            ORDER-IN  request   orderIn           STRUCT    3       1
              PIECES  request   pieces            PIC 9(3)  3       1
            ANSWER    response  answer            STRUCT    5       4
              TOTAL   response  total             PIC 9(5)  5       4
        "#]],
    );
    assert!(layout_of_parameters(&path, &["NONE".to_owned()], &Dialect::GNUCOBOL, &Limits::default()).is_err());
}

/// A record whose length varies has no place for bytes that requests do not show, so an operation that replaces it would lose them.
#[test]
fn operations_that_would_lose_filler_are_not_proposed() {
    let api = |element: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("order.cpy");
        let copybook = format!(
            "       01 R.\n          05 K PIC X(4).\n          05 N PIC 9.\n          05 LIN OCCURS 0 TO 4 DEPENDING ON N.\n             10 ITEM PIC X(3).\n             10 {element} PIC X(3).\n"
        );
        std::fs::write(&path, copybook).unwrap();
        let layout = layout_of(&path, None, &Dialect::IBM, &Limits::default()).unwrap();
        let from = Proposed {
            copybook: "order.cpy",
            record: None,
            encoding: "ascii",
            dialect: "ibm",
            parameters: &[],
            program: None,
            source: None,
            is_free: false,
        };
        let of = ProposedFile { from, name: "ord", file: "ORD", key: "K", indexes: &[] };
        FileProposal::new(&layout, of).unwrap().api
    };
    assert!(api("NOTE").contains("method = \"PUT\""));
    assert!(
        !api("FILLER").contains("method = \"PUT\"") && api("FILLER").contains("# No PUT and PATCH"),
        "{}",
        api("FILLER")
    );
}
