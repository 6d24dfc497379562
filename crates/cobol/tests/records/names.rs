//! Level-88 names in place of the values that they name.

use proptest::prelude::*;
use quayline_cobol::{BadValue, FieldRule, FieldValues, Interface, Policies, Preserve};

use crate::{decode, ebcdic, encode, plan};

const COPYBOOK: &str = "01 R.
   05 STATUS PIC X.
      88 ACTIVE VALUE 'A'.
      88 LIVE VALUE 'A' 'B'.
      88 CLOSED VALUE 'C'.
   05 CODES PIC S9(3) COMP-3 OCCURS 2.
      88 NOTHING VALUE ZERO.
      88 MINUS-ONE VALUE -1.
   05 PLACE PIC X(5).
      88 FIRST VALUE 'F'.
   05 COUNTER PIC 9.
   05 AMOUNT PIC S9(3)V99.
      88 FREE VALUE ZERO.
";

fn names() -> Interface {
    let rule = FieldRule { field: "R".into(), values: Some(FieldValues::Names), ..FieldRule::default() };
    let plain = FieldRule { field: "AMOUNT".into(), values: Some(FieldValues::Plain), ..FieldRule::default() };
    Interface { fields: vec![rule, plain], ..Interface::default() }
}

#[test]
fn names_are_written_and_read_and_other_values_are_texts() {
    let plan = plan(COPYBOOK, &names(), &Policies::default());
    let both = |record: Vec<u8>, document: &str| {
        assert_eq!(decode(&plan, &record).as_deref(), Ok(document));
        assert_eq!(encode(&plan, document), Ok(record));
    };
    let tail = |place: &str| ebcdic(&format!("{place}70000{{"));
    both(
        [ebcdic("A"), vec![0, 0x0c, 0, 0x1d], tail("F    ")].concat(),
        r#"{"STATUS":"ACTIVE","CODES":["NOTHING","MINUS-ONE"],"PLACE":"FIRST","COUNTER":7,"AMOUNT":0.00}"#,
    );
    both(
        [ebcdic("B"), vec![0x12, 0x3c, 0, 0x0d], tail("LAST ")].concat(),
        r#"{"STATUS":"B","CODES":["123","-0"],"PLACE":"LAST","COUNTER":7,"AMOUNT":0.00}"#,
    );
    // A plain value is read where its name would be written.
    let plainly = encode(&plan, r#"{"STATUS":"C","CODES":["0","-1"],"PLACE":"F","COUNTER":7,"AMOUNT":0}"#);
    assert_eq!(plainly, Ok([ebcdic("C"), vec![0, 0x0c, 0, 0x1d], tail("F    ")].concat()));
    // A text that is the name of another value would come back as that value.
    let told = decode(&plan, &[ebcdic("A"), vec![0, 0x0c, 0, 0x0c], tail("FIRST")].concat()).expect_err("a name");
    assert!(told.starts_with("REC-036 "), "{told}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
    /// Any bytes come back from a document with names, or are refused.
    #[test]
    fn no_name_changes_a_byte(
        status in prop_oneof![Just(0xc1u8), Just(0xc2), Just(0xc3), any::<u8>()],
        codes in prop::collection::vec(prop_oneof![Just([0u8, 0x0c]), Just([0, 0x0f]), Just([0, 0x1d]), any::<[u8; 2]>()], 2),
        place in prop_oneof![Just("F    "), Just("FIRST"), Just("X    ")],
        invalid in prop_oneof![Just(BadValue::Error), Just(BadValue::Null)],
    ) {
        let policies = Policies { invalid, preserve: Preserve::Yes, ..Policies::default() };
        let plan = plan(COPYBOOK, &names(), &policies);
        let record = [vec![status], codes.concat(), ebcdic(place), ebcdic("700000")].concat();
        if let Ok(document) = decode(&plan, &record) {
            prop_assert_eq!(encode(&plan, &document), Ok(record), "{}", document);
        }
    }
}
