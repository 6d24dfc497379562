//! Faults that the comparison with GnuCOBOL found, each as its smallest record.

use expect_test::expect;
use quayline_cobol::{Interface, Policies, Preserve};

use super::{decode, encode, hex, plan, plan_in};

fn ebcdic(text: &str) -> Vec<u8> {
    let page = quayline_charset::CodePage::IBM037;
    text.chars().map(|c| page.from_char(c).expect("in the page")).collect()
}

/// A zero in an item with asterisks kept its sign position (`-` as a space, `CR` as two), and asterisks there were refused on decode. All
/// characters of the item except the decimal point must be asterisks: Language Reference, Zero suppression and replacement editing.
/// Regressions are detected: editing now treats all symbols alike, except the point, decoding recognizes this form before it looks at single
/// symbols, and the pictures with `*` of the comparison with GnuCOBOL include zeros.
#[test]
fn zero_under_asterisks_fills_the_sign_too() {
    for (picture, zero, one) in [
        ("-**,**.**", "******.**", "-****1.00"),
        ("$***.**CR", "****.****", "$**1.00CR"),
        ("**.**+", "**.***", "*1.00-"),
    ] {
        let plan = plan(&format!("01 R.\n 05 A PIC {picture}."), &Interface::default(), &Policies::default());
        for (json, text) in [(r#"{"A":0.00}"#, zero), (r#"{"A":-1.00}"#, one)] {
            assert_eq!(encode(&plan, json), Ok(ebcdic(text)), "{picture}");
            assert_eq!(decode(&plan, &ebcdic(text)).as_deref(), Ok(json), "{picture}");
        }
    }
}

/// A redefinition without visible items (a FILLER) as the last entry of a record made the plan access a node that did not exist. The node
/// after a view was determined before it was known that the view has one; now only for a view with exactly one node. The random copybooks of the
/// comparison contain unnamed redefinitions at the end of groups and of records.
#[test]
fn a_redefinition_may_show_nothing() {
    let plan = plan("01 R.\n 05 A PIC X(2).\n 05 REDEFINES A PIC 9(2).", &Interface::default(), &Policies::default());
    expect![[r#"{"A":"AB"}"#]].assert_eq(&decode(&plan, &ebcdic("AB")).expect("decodes"));
}

/// If a view contained more than its picture allows (text read as COMP), the document of a good record could not be encoded. An earlier view
/// has written the same bytes, and they have the value of the later one, so both agree. Different values are still a conflict, as the last lines
/// check. The comparison decodes and encodes redefinitions of every kind.
#[test]
fn views_of_the_same_bytes_agree_by_value() {
    let copybook = "01 R.\n 05 A PIC X(4).\n 05 B REDEFINES A PIC 9(4) COMP.\n 05 C REDEFINES A PIC XXBX.";
    let plan = plan(copybook, &Interface::default(), &Policies::default());
    let record = ebcdic("AB D");
    let json = decode(&plan, &record).expect("decodes");
    expect![[r#"{"A":"AB D","B":49602,"C":"AB D"}"#]].assert_eq(&json);
    assert_eq!(encode(&plan, &json), Ok(record));
    let other = json.replace("49602", "49603");
    expect![[r#"
        REC-023 $.B: number has 5 digits before the point, field holds 4
    "#]]
    .assert_eq(&encode(&plan, &other).expect_err("a conflict"));
}

/// With `_preserve`, a record with a number beyond its picture was decoded, and its document was then refused. Decoding computed no patch if
/// the canonical encoding failed. Now such a value is left out of the canonical encoding, and encoding takes the preserved bytes if they have the
/// value of the document. A changed value is refused as before, as the last lines check. The law of preserved records and the redefinitions of the
/// comparison include such numbers.
#[test]
fn preserved_bytes_stand_in_for_a_value_without_canonical_ones() {
    let policies = Policies { preserve: Preserve::Yes, ..Policies::default() };
    let plan = plan(
        "01 R.\n 05 N PIC 9.\n 05 T OCCURS 0 TO 3 DEPENDING ON N.\n  10 X PIC X.\n  10 B PIC 9(2) COMP.\n 05 Z PIC X.",
        &Interface::default(),
        &policies,
    );
    let record = hex("f2 c1 ffff c2 0005 c3");
    let json = decode(&plan, &record).expect("decodes");
    expect![[r#"{"N":2,"T":[{"X":"A","B":65535},{"X":"B","B":5}],"Z":"C","_preserve":"/6c205a03;2:ffff"}"#]]
        .assert_eq(&json);
    assert_eq!(encode(&plan, &json), Ok(record));
    expect![[r#"
        REC-023 $.T[0].B: number has 5 digits before the point, field holds 2
    "#]]
    .assert_eq(&encode(&plan, &json.replace("65535", "65534")).expect_err("a value that is not preserved"));
}

/// VALUE of a JUSTIFIED item was moved to the right, but JUSTIFIED has no effect on VALUE: Language Reference, JUSTIFIED clause. The
/// comparison checks the initial storage of a compiled program against the encoding of an empty document, and its copybooks have both clauses.
#[test]
fn value_of_a_justified_item_begins_on_the_left() {
    let layout = super::layout("01 R.\n 05 A PIC X(4) JUSTIFIED VALUE 'AB'.\n 05 B PIC X(4) JUST.");
    let plan = plan_in(&layout, "cp037", &Interface::default(), &Policies::default());
    assert_eq!(encode(&plan, "{}"), Ok(ebcdic("AB      ")));
    assert_eq!(encode(&plan, r#"{"A":"AB"}"#), Ok(ebcdic("  AB    ")));
}
