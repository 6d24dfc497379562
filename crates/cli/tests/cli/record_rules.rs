//! Views, rules and record types that say different things about the same bytes.

use crate::world::World;

/// Texts agree with bytes character by character, numbers by value.
#[test]
fn texts_of_two_views_are_not_compared_as_numbers() {
    let text = "       01 R.\n          05 A PIC X(5).\n          05 B REDEFINES A PIC X(5).\n";
    let mixed = "       01 R.\n          05 A PIC 99.\n          05 B REDEFINES A PIC X(2).\n";
    let number = "       01 R.\n          05 A PIC 9(3).\n          05 B REDEFINES A PIC 9(3).\n";
    let world = World::with([("t.cpy", text.as_bytes()), ("m.cpy", mixed.as_bytes()), ("n.cpy", number.as_bytes())]);
    for (copybook, document, agrees) in [
        ("t", r#"{"A":"00012","B":"12"}"#, false),
        ("t", r#"{"A":"12.50","B":"12.5"}"#, false),
        ("t", r#"{"A":"12","B":"00012"}"#, false),
        ("t", r#"{"A":"12","B":"12"}"#, true),
        ("m", r#"{"A":1,"B":"1"}"#, false),
        ("m", r#"{"A":1,"B":"01"}"#, true),
        ("n", r#"{"A":7,"B":7.0}"#, true),
    ] {
        world.write("d.json", document);
        let ran = world.run(&format!("convert d.json -c {copybook}.cpy -f fixed -e ascii -o d.dat"));
        let err = ran.code(if agrees { 0 } else { 1 }).err();
        assert_eq!(err.contains("REC-032"), !agrees, "{document}: {err}");
    }
}

/// Documents of views that show bytes or the names of conditions come back if nobody edits them.
#[test]
fn raw_views_and_named_views_keep_their_bytes() {
    let raw = "       01 R.\n          05 A PIC S9(3).\n          05 B REDEFINES A PIC 9(5) COMP-3.\n";
    let named = "       01 R.\n          05 A PIC S9(2).\n          05 B REDEFINES A PIC X(2).\n             88 TEN VALUE '10'.\n";
    let world = World::with([
        ("raw.cpy", raw.as_bytes()),
        ("named.cpy", named.as_bytes()),
        ("raw.toml", b""),
        ("named.toml", b"[[field]]\nname = \"B\"\nvalues = \"names\"\n"),
        ("raw.dat", b"\xf1\xf2\xf3"),
        ("named.dat", b"\xf1\xf0"),
    ]);
    for (name, options) in [("raw", "--invalid raw"), ("named", "")] {
        let options = format!("-c {name}.cpy -i {name}.toml -e cp037 -f fixed --preserve {options}");
        world.run(&format!("convert {name}.dat {options} -o {name}.jsonl")).code(0);
        world.run(&format!("convert {name}.jsonl {options} -o back.dat")).code(0);
        assert_eq!(world.read("back.dat"), world.read(&format!("{name}.dat")), "{name}");
    }
    // Another text is another value.
    let edited = String::from_utf8(world.read("named.jsonl")).expect("UTF-8").replace("TEN", "11");
    world.write("edited.jsonl", edited);
    let ran = world.run("convert edited.jsonl -c named.cpy -i named.toml -e cp037 -f fixed --preserve -o back.dat");
    assert!(ran.code(1).err().contains("REC-032"), "{}", ran.err());
}

/// Names such as `K` and `R.K` mean the same field, and `1` and `01` the same number.
#[test]
fn rules_that_contradict_each_other_are_refused() {
    let copybook =
        "       01 R.\n          05 K PIC 99.\n          05 V1 PIC 9(3).\n          05 V2 REDEFINES V1 PIC X(3).\n";
    let world = World::with([("r.cpy", copybook.as_bytes()), ("r.dat", b"01123")]);
    let choose =
        |storage: &str, when: &str| format!("[[choose]]\nstorage = \"{storage}\"\nby = \"K\"\nwhen = {when}\n");
    let two = |first: &str, second: &str| format!("{}{}", choose("V1", first), choose("V2", second));
    for (interface, refused) in [
        ("[default]\n\"K\" = 7\n[[field]]\nname = \"R.K\"\ndefault = 8\n".to_owned(), true),
        ("[rename]\n\"K\" = \"x\"\n[[field]]\nname = \"R.K\"\nrename = \"y\"\n".to_owned(), true),
        ("exclude = [\"K\"]\ninclude = [\"R.K\"]\n".to_owned(), true),
        ("[rename]\n\"K\" = \"x\"\n[[field]]\nname = \"R.K\"\ndefault = 8\n".to_owned(), false),
        (two("{ \"1\" = \"V2\" }", "{ \"2\" = \"V1\" }"), true),
        (choose("V1", "{ \"1\" = \"V1\", \"01\" = \"V2\" }"), true),
        (choose("V1", "{ \"1\" = \"V1\", \"02\" = \"V2\" }"), false),
    ] {
        world.write("r.toml", interface.as_bytes());
        let ran = world.run("convert r.dat -c r.cpy -i r.toml -e ascii -f fixed -o r.jsonl");
        let err = ran.code(if refused { 2 } else { 0 }).err();
        assert_eq!(err.contains("PLN-009"), refused, "{interface}{err}");
    }
    // A rule for the field itself wins over one for many fields, in any order.
    for interface in ["exclude = [\"V*\"]\ninclude = [\"V1\"]\n", "include = [\"V1\"]\nexclude = [\"V*\"]\n"] {
        world.write("r.toml", interface.as_bytes());
        world.run("convert r.dat -c r.cpy -i r.toml -e ascii -f fixed -o r.jsonl").code(0);
        assert_eq!(world.read("r.jsonl"), b"{\"K\":1,\"V1\":123}\n", "{interface}");
    }
}

const TYPES: &str = "       01 RA.\n          05 T PIC 9 BLANK WHEN ZERO.\n          05 A PIC X(3).\n       01 RB.\n          05 T PIC 9 BLANK WHEN ZERO.\n          05 A PIC X(3).\n";

#[test]
fn two_types_of_one_number_are_refused() {
    let types = |a: &str, b: &str| {
        format!(
            "[records]\nby = \"T\"\n[[records.type]]\nrecord = \"RA\"\nvalue = {a}\n[[records.type]]\nrecord = \"RB\"\nvalue = {b}\n"
        )
    };
    let world = World::with([("t.cpy", TYPES.as_bytes()), ("t.dat", b"1abc2abc")]);
    world.write("t.toml", types("1", "\"01\""));
    let ran = world.run("convert t.dat -c t.cpy -i t.toml -e ascii -f fixed:4 -o t.jsonl");
    assert!(ran.code(2).err().contains("PRJ-006"), "{}", ran.err());
    world.write("t.toml", types("1", "2"));
    world.run("convert t.dat -c t.cpy -i t.toml -e ascii -f fixed:4 -o t.jsonl").code(0);
}

/// A type is recognised by the bytes that its field reads and writes.
#[test]
fn types_follow_blanks_and_signs_of_their_fields() {
    let types = "[records]\nby = \"T\"\n[[records.type]]\nrecord = \"RA\"\nvalue = 0\n[[records.type]]\nrecord = \"RB\"\nvalue = 1\n";
    let world = World::with([("t.cpy", TYPES.as_bytes()), ("t.toml", types.as_bytes()), ("t.dat", b" abc1abc0abc")]);
    world.run("convert t.dat -c t.cpy -i t.toml -e ascii -f fixed:4 -o t.jsonl").code(0);
    let text = String::from_utf8(world.read("t.jsonl")).expect("UTF-8");
    let begins: Vec<&str> = text.lines().map(|line| &line[..5]).collect();
    assert_eq!(begins, ["{\"RA\"", "{\"RB\"", "{\"RA\""]);
    world.run("convert t.jsonl -c t.cpy -i t.toml -e ascii -f fixed:4 -o back.dat").code(0);
    assert_eq!(world.read("back.dat"), b" abc1abc abc");

    let signed = TYPES.replace("PIC 9 BLANK WHEN ZERO", "PIC S9");
    world.write("s.cpy", signed);
    world.write("s.toml", types.replace("value = 0", "value = -1"));
    for (dialect, byte, is_type) in
        [("ibm", "q", false), ("ibm", "J", true), ("gnucobol", "q", true), ("gnucobol", "J", false)]
    {
        world.write("s.dat", format!("{byte}abc"));
        let ran =
            world.run(&format!("convert s.dat -c s.cpy -i s.toml -e ascii --dialect {dialect} -f fixed:4 -o s.jsonl"));
        let err = ran.code(if is_type { 0 } else { 1 }).err();
        assert_eq!(err.contains("CNV-026"), !is_type, "{dialect} {byte}: {err}");
    }
}
