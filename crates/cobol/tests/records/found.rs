//! Faults that the comparison with GnuCOBOL found, each as its smallest record.

use expect_test::expect;
use quayline_cobol::{Interface, Policies, Preserve};

use super::{decode, encode, hex, plan, plan_in};

fn ebcdic(text: &str) -> Vec<u8> {
    let page = quayline_charset::CodePage::IBM037;
    text.chars().map(|c| page.from_char(c).expect("in the page")).collect()
}

/// A zero under asterisks only kept its sign position (`-` as a space, `CR` as two) and asterisks in it were refused on decode.
/// The whole item is asterisks but for the decimal point: Language Reference, Zero suppression and replacement editing.
/// It cannot come back: editing asks each symbol for its bytes and makes no exception but the point,
/// and decoding knows that form before it looks at symbols one by one;
/// the pictures with `*` of the comparison with GnuCOBOL have zeros among their values.
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

/// A redefinition that shows nothing (a FILLER) as the last entry of a record made the plan look at a node that did not exist.
/// The node behind a view was taken before it was known that the view has one;
/// now it is asked for only where the view made exactly one.
/// It cannot come back: unnamed redefinitions stand in the random copybooks,
/// at the end of groups and of records.
#[test]
fn a_redefinition_may_show_nothing() {
    let plan = plan("01 R.\n 05 A PIC X(2).\n 05 REDEFINES A PIC 9(2).", &Interface::default(), &Policies::default());
    expect![[r#"{"A":"AB"}"#]].assert_eq(&decode(&plan, &ebcdic("AB")).expect("decodes"));
}

/// A view that shows more than its picture holds (text read as COMP) made the document of a good record fail to encode.
/// An earlier view has written the same bytes, and they read as the value that the later one brings:
/// so both agree, and nothing needs to be encoded.
/// Where the values differ it is still a conflict, which the last lines hold.
/// It cannot come back: redefinitions of every kind go there and back in the comparison.
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

/// With `_preserve`, a record whose number is beyond its picture decoded and its document was then refused.
/// Decoding gave up on what is to be preserved where the canonical encoding failed; now such a value is left out of it,
/// and encoding takes the preserved bytes where they read as the value that the document has.
/// A changed value is refused as before, which the last lines hold.
/// It cannot come back: the law of preserved records has such numbers, and so have the redefinitions of the comparison.
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
    expect![[r#"{"N":2,"T":[{"X":"A","B":65535},{"X":"B","B":5}],"Z":"C","_preserve":";2:ffff"}"#]].assert_eq(&json);
    assert_eq!(encode(&plan, &json), Ok(record));
    expect![[r#"
        REC-023 $.T[0].B: number has 5 digits before the point, field holds 2
    "#]]
    .assert_eq(&encode(&plan, &json.replace("65535", "65534")).expect_err("a value that is not preserved"));
}

/// VALUE of a JUSTIFIED item was moved to the right.
/// JUSTIFIED has no effect on what VALUE sets: Language Reference, JUSTIFIED clause.
/// It cannot come back: the comparison takes the storage that a compiled program begins with
/// for what an empty document encodes to,
/// and its copybooks have both clauses.
#[test]
fn value_of_a_justified_item_begins_on_the_left() {
    let layout = super::layout("01 R.\n 05 A PIC X(4) JUSTIFIED VALUE 'AB'.\n 05 B PIC X(4) JUST.");
    let plan = plan_in(&layout, "cp037", &Interface::default(), &Policies::default());
    assert_eq!(encode(&plan, "{}"), Ok(ebcdic("AB      ")));
    assert_eq!(encode(&plan, r#"{"A":"AB"}"#), Ok(ebcdic("  AB    ")));
}
