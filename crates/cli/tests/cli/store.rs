//! `quayline file`, `quayline queue` and `quayline store`.

use expect_test::expect;

use crate::world::World;

/// Ten records of 8 bytes: a key of 2, a repeated byte, a rest.
fn records() -> Vec<u8> {
    (0..10).flat_map(|number| format!("{number:02}{}rest5", number % 3).into_bytes()).collect()
}

fn loaded() -> World {
    let world = World::with([("in.dat", records().as_slice())]);
    world.run("file define CUST --record 8 --key 0:2 --index kind=2:1:duplicates").check(expect![[r#""#]]);
    world.run("file load CUST in.dat").check(expect![[r#""#]]);
    world
}

#[test]
fn a_file_is_defined_loaded_read_and_unloaded_as_it_was() {
    let world = loaded();
    world.run("file get CUST --key 04").check(expect![[r#""#]]);
    world.run("file get CUST --key 1 --at-least").check(expect![[r#""#]]);
    world.run("file browse CUST --index kind --key 1 -n 3 --framing lines").check(expect![[r#""#]]);
    world.run("file browse CUST --reverse -n 2 --framing lines").check(expect![[r#""#]]);
    world.run("file unload CUST -o out.dat").check(expect![[r#""#]]);
    assert_eq!(world.read("out.dat"), records());
    world.run("file facts").check(expect![[r#""#]]);
    world.run("file verify CUST").check(expect![[r#""#]]);
}

#[test]
fn what_a_file_refuses_is_named_with_its_remedy() {
    let world = loaded();
    world.run("file load CUST in.dat").check(expect![[r#""#]]);
    world.run("file get CUST --key 99").check(expect![[r#""#]]);
    world.run("file get NONE --key 99").check(expect![[r#""#]]);
    world.run("file get CUST --key 0 --index none").check(expect![[r#""#]]);
    world.run("file get CUST --key-hex F").check(expect![[r#""#]]);
    world.write("long", b"12345678901");
    world.run("file put CUST long").check(expect![[r#""#]]);
    world.run("file define BAD --record 8 --key 7:2").check(expect![[r#""#]]);
    world.run("file get CUST --key 0 --store elsewhere").check(expect![[r#""#]]);
    assert!(!world.files().contains(&"elsewhere".to_owned()), "no folder is made to read from");
}

#[test]
fn a_record_is_put_replaced_and_deleted() {
    let world = loaded();
    world.write("record", b"990rest5");
    world.run("file put CUST record").check(expect![[r#""#]]);
    world.run("file put CUST record").check(expect![[r#""#]]);
    world.write("record", b"990other");
    world.run("file put CUST record --replace").check(expect![[r#""#]]);
    world.run("file get CUST --key 99").check(expect![[r#""#]]);
    world.run("file delete CUST --key 99").check(expect![[r#""#]]);
    world.run("file delete CUST --all").check(expect![[r#""#]]);
    world.run("file facts").check(expect![[r#""#]]);
}

#[test]
fn a_sorted_load_takes_ascending_keys_into_an_empty_file() {
    let world = World::with([("in.dat", records().as_slice()), ("wrong.dat", b"02xrest501xrest5")]);
    world.run("file define A --record 8 --key 0:2").check(expect![[r#""#]]);
    world.run("file load A in.dat --sorted").check(expect![[r#""#]]);
    world.run("file load A in.dat --sorted").check(expect![[r#""#]]);
    world.run("file define B --record 8 --key 0:2").check(expect![[r#""#]]);
    world.run("file load B wrong.dat --sorted").check(expect![[r#""#]]);
}

#[test]
fn messages_go_through_queues_in_order() {
    let world = World::with([("one", b"first\n".as_slice()), ("two", b"second\n")]);
    world.run("queue define IN --depth-max 2").check(expect![[r#""#]]);
    world.run("queue define OUT").check(expect![[r#""#]]);
    assert_eq!(world.run("queue put IN one --correlation 0a").stdout.len(), 49);
    assert_eq!(world.run("queue put IN two --priority 9").stdout.len(), 49);
    world.run("queue put IN two").check(expect![[r#""#]]);
    world.run("queue depth").check(expect![[r#""#]]);
    world.run("queue get IN --correlation 0a").check(expect![[r#""#]]);
    world.run("queue move IN OUT").check(expect![[r#""#]]);
    world.run("queue get OUT").check(expect![[r#""#]]);
    world.run("queue get OUT").check(expect![[r#""#]]);
    world.run("queue get NONE").check(expect![[r#""#]]);
    world.run("queue put OUT one");
    world.run("queue purge OUT").check(expect![[r#""#]]);
}

#[test]
fn the_store_is_checked_and_compacted() {
    let world = loaded();
    world.run("store check").check(expect![[r#""#]]);
    let compacted = world.run("store compact");
    assert!(compacted.err().contains("bytes before"), "{}", compacted.err());
    let facts = world.run("store facts");
    assert!(facts.out().contains("bytes of the log to apply"), "{}", facts.out());
    let path = world.path("data/store.redb");
    let mut bytes = std::fs::read(&path).expect("the applied store");
    let at = bytes.windows(5).position(|found| found == b"rest5").expect("a record in it");
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let checked = world.run("store check");
    assert!(checked.err().contains("STO-003") && checked.err().contains("checksum"), "{}", checked.err());
}
