//! External control numbers: the writer requests each once, and returns the unused ones.

use core::fmt;
use std::sync::{Arc, Mutex};

use quayline_edi::{ControlKey, ControlMark, ControlNumbers, EdiDrafter, EdiWriter, EdiWriterOptions, generic_shape};
use quayline_json::{JsonReader, ReaderOptions};

/// Numbers by partner, as a register has them.
#[derive(Clone, Default)]
struct Register(Arc<Mutex<Vec<String>>>);

impl fmt::Debug for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Register")
    }
}

impl ControlNumbers for Register {
    fn next(&mut self, key: &ControlKey<'_>) -> String {
        let mut asked = self.0.lock().expect("one thread");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        asked.push(format!("{:?} {}>{}", key.level, text(key.sender), text(key.receiver)));
        (1_000 + asked.len()).to_string()
    }

    fn given(&mut self, key: &ControlKey<'_>, number: &[u8]) {
        self.0.lock().expect("one thread").push(format!("{:?} given, {} bytes", key.level, number.len()));
    }

    fn mark(&self) -> ControlMark {
        ControlMark([self.0.lock().expect("one thread").len() as u64, 0, 0])
    }

    fn back_to(&mut self, mark: ControlMark) {
        self.0.lock().expect("one thread").truncate(usize::try_from(mark.0[0]).expect("small"));
    }

    fn boxed(&self) -> Box<dyn ControlNumbers> {
        Box::new(self.clone())
    }
}

fn document(receiver: &str, tag: &str) -> String {
    format!(
        r#"{{"standard":"X12","interchange":{{"sender_qualifier":"ZZ","sender":"A","receiver_qualifier":"ZZ","receiver":"{receiver}","date":"260401","time":"1200","version":"00501"}},"group":{{"functional_id":"PO","sender":"A","receiver":"{receiver}","date":"20260401","time":"1200","agency":"X","version":"005010"}},"transaction":{{"type":"850"}},"segments":[{{"tag":"{tag}","elements":[{{"value":"00"}}]}}]}}"#
    )
}

#[test]
fn numbers_come_from_outside_and_go_back_with_what_is_taken_back() {
    let register = Register::default();
    let mut writer = EdiWriter::with_numbers(EdiWriterOptions::default(), register.boxed());
    let mut drafter = EdiDrafter::new();
    // An invalid tag makes the writer refuse the second document.
    for (receiver, tag, is_good) in [("B", "BEG", true), ("C", "bad", false), ("C", "BEG", true), ("C", "BEG", true)] {
        let text = document(receiver, tag);
        let mut reader = JsonReader::new(&generic_shape(), ReaderOptions::default());
        reader.read(text.as_bytes(), &mut drafter).unwrap_or_else(|fault| panic!("{fault}"));
        let draft = drafter.take(None).expect("a whole one");
        assert_eq!(writer.write(&draft).is_ok(), is_good, "{receiver} {tag}");
    }
    writer.finish();
    let asked = register.0.lock().expect("one thread").join("\n");
    assert_eq!(
        asked,
        "Interchange A>B\nGroup A>B\nTransaction A>B\nInterchange A>C\nGroup A>C\nTransaction A>C\nTransaction A>C"
    );
    let out = String::from_utf8(writer.bytes().to_vec()).expect("text");
    for part in ["*000001001*", "~IEA*1*000001001~", "*000001004*", "~GE*2*1005~", "~ST*850*1007~"] {
        assert!(out.contains(part), "{part} is not in {out}");
    }
}
