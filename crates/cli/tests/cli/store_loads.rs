//! Loads that stop and continue, long records, messages with all that belongs to them, restores that are killed, durability.

use std::process::Stdio;
use std::time::{Duration, Instant};

use expect_test::expect;

use crate::world::World;

fn numbered(count: u32) -> Vec<u8> {
    (0..count).flat_map(|number| format!("{number:06}ab").into_bytes()).collect()
}

/// The file was empty, but its deletes were still in memory: the load met the old keys in the tree, and the store took no more commits.
#[test]
fn a_sorted_load_follows_single_deletes() {
    let world = World::with([("one.dat", b"00record".as_slice())]);
    world.run("file define A --record 8 --key 0:2").code(0);
    for _ in 0..3 {
        world.run("file load A one.dat --sorted").code(0);
        assert_eq!(world.run("file get A --key 00").code(0).out(), "00record");
        world.run("file delete A --key 00").code(0);
    }
    world.run("file get A --key 00").code(7);
}

#[test]
fn a_load_that_stops_says_where_and_continues() {
    let mut bad = numbered(6_000);
    bad.truncate(5_500 * 8);
    bad.extend_from_slice(b"short");
    let world = World::with([("bad.dat", bad.as_slice()), ("good.dat", &numbered(6_000))]);
    world.run("file define A --record 8 --key 0:6").code(0);
    world.run("file load A bad.dat").check(expect![[r#"
        exit 1
        --- stderr
        5500 records loaded

        error[FRM-001]: the source ends inside a record: 3 of 8 bytes are missing
          at record 5501, byte 44000

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing

        note[CLI-004]: the load stopped at record 5501 of bad.dat; the records before it are in the file

        hint: after the fix, continue with --skip 5500; to leave that record out, continue with --skip 5501
    "#]]);
    world.run("file load A good.dat --skip 5500").check(expect![[r#"
        exit 0
        --- stderr
        500 records loaded
    "#]]);
    assert_eq!(world.run("file unload A").code(0).stdout, numbered(6_000));
    // A record that the file refuses, in an order that a sorted load refuses.
    world.run("file define B --record 4-8 --key 0:2").code(0);
    world.write("lines.txt", "01 a\n03 b\n02 c\n04 much too long\n05 d\n");
    world.run("file load B lines.txt --framing lines --sorted").check(expect![[r#"
        exit 1
        --- stderr
        2 records loaded

        error[STO-025]: entry 3 of the load has a key that is not above the one before
          at lines.txt, record 3

        hint: sort the input by its key, or load it without the sorted option

        note[CLI-004]: the load stopped at record 3 of lines.txt; the records before it are in the file

        hint: after the fix, continue with --skip 2 and without --sorted; to leave that record out, continue with --skip 3 and without --sorted
    "#]]);
    world.run("file load B lines.txt --framing lines --skip 2").check(expect![[r#"
        exit 1
        --- stderr
        1 record loaded

        error[STO-015]: the record has 16 bytes, expected 4 to 8
          at lines.txt, record 4

        hint: see the allowed lengths with `quayline file facts`

        note[CLI-004]: the load stopped at record 4 of lines.txt; the records before it are in the file

        hint: after the fix, continue with --skip 3; to leave that record out, continue with --skip 4
    "#]]);
    world.run("file load B lines.txt --framing lines --skip 4").check(expect![[r#"
        exit 0
        --- stderr
        1 record loaded
    "#]]);
    world.run("file facts B").check(expect![[r#"
        exit 0
        --- stdout
        B: key-sequenced, key 0:2, records of 4 to 8 bytes
          4 records, 16 bytes, the shortest 4, the longest 4
          2 inserted, 0 updated, 0 deleted, 0 read
          2 lookups: index in memory for 100.0 %, data for 0.0 %
          keys '01' to '05'
    "#]]);
    world.run("file load B lines.txt --framing lines --skip 9").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: lines.txt has 5 records, and --skip leaves out 9

        hint: leave out fewer; nothing was loaded
    "#]]);
}

/// A file may allow records of 100 MiB; loads, unloads and conversions refused those beyond 16 MiB.
#[test]
fn records_as_long_as_the_file_allows_are_loaded_unloaded_and_converted() {
    let record = [b"01".as_slice(), &vec![b'x'; 20 << 20]].concat();
    let world = World::new();
    world.write("in.dat", [record.as_slice(), b"\n"].concat());
    world.run("file define A --record 2-30000000 --key 0:2").code(0);
    world.run("file define B --record 2-30000000 --key 0:2").code(0);
    assert_eq!(world.run("file load A in.dat --framing lines").code(0).err(), "1 record loaded\n");
    world.run("file unload A --framing lines -o out.dat").code(0);
    assert!(world.read("out.dat") == world.read("in.dat"), "the same bytes");
}

#[test]
fn a_message_is_put_and_printed_with_all_that_belongs_to_it() {
    let world = World::with([("m", b"{\"n\":1}".as_slice()), ("bytes", &[0xff, 0x00])]);
    world.run("queue define Q").code(0);
    world
        .run("queue put Q m --id c1f2 --correlation 0a --group 0b --sequence 3 --priority 7 --reply-to R --format JSON --property customer=4711 --property content-type=application/json")
        .check(expect![[r#"
            exit 0
            --- stdout
            c1f200000000000000000000000000000000000000000000
        "#]]);
    world.run("queue put Q bytes --priority 1").code(0);
    let browsed = world.run("queue browse Q --json").code(0).out();
    let lines: Vec<serde_json::Value> =
        browsed.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    assert_eq!((lines.len(), lines[0]["reply_to"].as_str(), lines[1]["bytes"].as_u64()), (2, Some("R"), Some(2)));
    assert!(lines[0].get("content").is_none());
    let mut message: serde_json::Value =
        serde_json::from_str(&world.run("queue get Q --json").code(0).out()).expect("an object");
    assert!(message["put_ms"].take().as_u64().is_some_and(|at| at > 0));
    expect![[r#"
        {
          "backout_count": 0,
          "bytes": 7,
          "content": "{\"n\":1}",
          "correlation_id": "0a0000000000000000000000000000000000000000000000",
          "format": "JSON",
          "group_id": "0b0000000000000000000000000000000000000000000000",
          "group_sequence": 3,
          "message_id": "c1f200000000000000000000000000000000000000000000",
          "persistent": true,
          "priority": 7,
          "properties": {
            "content-type": "application/json",
            "customer": "4711"
          },
          "put_ms": null,
          "reply_to": "R"
        }
    "#]]
    .assert_eq(&format!("{message:#}\n"));
    let message: serde_json::Value =
        serde_json::from_str(&world.run("queue get Q --json").code(0).out()).expect("an object");
    assert_eq!(message["content_hex"], "ff00");
    world.run("queue put Q m --property =x").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --property has no name

        hint: write NAME=VALUE, such as `--property customer=4711`
    "#]]);
    world.run("queue put Q m --property amqp.x=1").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --property: names that begin with amqp. are those of AMQP's own parts of a message

        hint: write NAME=VALUE, such as `--property customer=4711`
    "#]]);
    world.run("queue put Q m --id 00").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --id has zeros only, which is not an id

        hint: write other digits, or leave it out
    "#]]);
    world.run("queue browse Q").check(expect![[r#"
        exit 0
    "#]]);
}

#[test]
fn a_browse_lists_many_messages_page_by_page() {
    let world = World::with([("long", vec![b'x'; 700 << 10].as_slice())]);
    world.run("queue define Q").code(0);
    for _ in 0..5 {
        world.run("queue put Q long").code(0);
    }
    assert_eq!(world.run("queue browse Q -n 4").code(0).out().lines().count(), 4);
    assert_eq!(world.run("queue browse Q").code(0).out().lines().count(), 5);
}

/// Between the two renames of a restore there was no data folder: the next command made an empty store, and the next restore removed the old one.
#[test]
fn a_restore_that_is_killed_leaves_the_old_store_or_the_new_one() {
    let world = World::with([("old.dat", numbered(2_000).as_slice()), ("new.dat", &numbered(3_000))]);
    for (name, file) in [("new", "new.dat"), ("data", "old.dat")] {
        world.run(&format!("file define A --record 8 --key 0:6 --store {name}")).code(0);
        world.run(&format!("file load A {file} --store {name}")).code(0);
    }
    world.run("store save new.save --store new").code(0);
    world.write("data/mine.txt", "not of the store");
    let begun = Instant::now();
    world.run("store restore new.save --store other").code(0);
    let whole = begun.elapsed();
    let (mut old, mut new) = (0, 0);
    for round in 0..30u32 {
        let mut command = world.command(["store", "restore", "new.save", "--replace"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        // Most kills come at the end, when the folders are exchanged.
        std::thread::sleep(whole.mul_f64(0.6) + whole.mul_f64(f64::from(round) / 50.0));
        let _ = child.kill();
        child.wait().expect("ended");
        let unloaded = world.run("file unload A").code(0).stdout.clone();
        match unloaded.len() / 8 {
            2_000 => old += 1,
            3_000 => new += 1,
            count => panic!("round {round}: {count} records"),
        }
        assert_eq!(world.read("data/mine.txt"), b"not of the store", "round {round}");
        if new > 0 {
            // Back to the old one.
            world.run("file delete A --all").code(0);
            world.run("file define A --record 8 --key 0:6").code(0);
            world.run("file load A old.dat").code(0);
            (old, new) = (old + new, 0);
        }
    }
    assert_eq!(old, 30);
    world.run("store check").code(0);
}

/// A folder as a crash between the two renames leaves it.
#[test]
fn a_command_after_an_interrupted_restore_takes_the_old_store_back() {
    let world = World::with([("old.dat", numbered(5).as_slice())]);
    world.run("file define A --record 8 --key 0:6").code(0);
    world.run("file load A old.dat").code(0);
    world.run("store save s").code(0);
    world.run("store restore s --store data.restoring").code(0);
    std::fs::rename(world.path("data"), world.path("data.replaced")).expect("renamed");
    world.run("file define B --record 8 --key 0:6").check(expect![[r#"
        exit 0
        --- stderr
        note[CLI-002]: a restore to data did not end; data holds the store from before the restore

        hint: run the restore again if its store is the one that you need
    "#]]);
    assert_eq!(world.run("file unload A").code(0).stdout, numbered(5));
    world.run("store restore s --replace").code(0);
    assert_eq!(world.files(), ["data", "old.dat", "s"]);
}

#[test]
fn buffered_is_a_choice_of_every_command_and_of_the_environment() {
    let world = World::with([("in.dat", numbered(100).as_slice())]);
    world.run("file define A --record 8 --key 0:6 --durability buffered").code(0);
    world.run("file load A in.dat --durability buffered").code(0);
    assert_eq!(world.shell("QUAYLINE_DURABILITY=buffered $Q file unload A").code(0).stdout, numbered(100));
    world.shell("QUAYLINE_DURABILITY=often $Q file unload A").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: QUAYLINE_DURABILITY is not a durability

        hint: set it to sync or buffered
    "#]]);
    world.run("file facts --store postgresql://me@127.0.0.1:1/x --durability buffered").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --durability does not apply to a store in PostgreSQL

        hint: leave it out, and set `synchronous_commit` of the database to off if you accept to lose its last commits
    "#]]);
    // The option wins.
    world.shell("QUAYLINE_DURABILITY=often $Q file facts A --durability sync").code(0);
}

/// Damage to one record ended every read of its file.
#[test]
fn a_damaged_record_is_named_and_the_others_are_unloaded() {
    let world = World::with([("in.dat", numbered(3_000).as_slice())]);
    world.run("file define A --record 8 --key 0:6").code(0);
    world.run("file load A in.dat --sorted").code(0);
    let mut bytes = world.read("data/store.redb");
    let found: Vec<usize> = (0..bytes.len() - 8).filter(|at| bytes[*at..].starts_with(b"001234ab")).collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at + 7] ^= 1;
    }
    world.write("data/store.redb", &bytes);
    let stopped = world.run("file unload A -o part.dat");
    assert_eq!(stopped.code, Some(2));
    assert!(stopped.err().contains("STO-003"), "{}", stopped.err());
    let salvaged = world.run("file unload A -o rest.dat --salvage");
    assert_eq!(salvaged.code, Some(2));
    let text = salvaged.err();
    assert!(text.contains("the record of A with key '001234'"), "{text}");
    assert!(text.contains("2999 records unloaded"), "{text}");
    let line = text.lines().find(|line| line.contains("with key '001234'")).unwrap_or_default();
    assert!(line.contains("at byte ") && !line.contains("at byte 0:"), "the place is known: {text}");
    let rest = world.read("rest.dat");
    assert!(rest[..1_234 * 8] == numbered(1_234)[..] && rest.len() == 2_999 * 8);
    let verified = world.run("file verify A");
    assert!(verified.err().contains("with key '001234' cannot be read"), "{}", verified.err());
    let checked = world.run("store check");
    assert_eq!(checked.code, Some(2));
    assert!(checked.err().contains("store.redb"), "{}", checked.err());
    // The rest can be loaded again.
    world.run("file define C --record 8 --key 0:6 --store fresh").code(0);
    world.run("file load C rest.dat --store fresh").code(0);
}

/// Unnamed remains of a crash are cleared when the store is opened, at the latest by `store compact`.
#[test]
fn a_deletion_that_is_killed_is_finished_by_the_next_commands() {
    let world = World::with([("in.dat", numbered(60_000).as_slice())]);
    for round in 0..4u64 {
        world.run("file define A --record 8 --key 0:6 --index rest=6:2:duplicates").code(0);
        world.run("file load A in.dat --durability buffered").code(0);
        let mut child = world.command(["file", "delete", "A", "--all"]).spawn().expect("starts");
        std::thread::sleep(Duration::from_millis(30 + 45 * round));
        let _ = child.kill();
        child.wait().expect("ended");
        // Deleted or not, but not in part.
        let facts = world.run("file facts A");
        if facts.code == Some(0) {
            assert!(facts.out().contains("60000 records"), "{}", facts.out());
            world.run("file delete A --all").code(0);
        }
    }
    world.run("store compact").code(0);
    let length = std::fs::metadata(world.path("data/store.redb")).expect("a store").len();
    assert!(length < 4 << 20, "{length} bytes");
}

/// A failure to open files for lack of file handles is an error with its reason, and acknowledged work stays.
#[test]
fn exhausted_file_handles_are_an_error_and_damage_nothing() {
    let world = World::with([("in.dat", numbered(100_000).as_slice())]);
    world.run("file define A --record 8 --key 0:6").code(0);
    let (mut failed, mut done) = (0, 0);
    for handles in (4..16).rev() {
        let ran = world.shell(&format!("ulimit -n {handles}; $Q file load A in.dat --durability buffered"));
        match ran.code {
            // Done, or every record was there before.
            Some(0 | 1) => done += 1,
            Some(2) => {
                failed += 1;
                assert!(ran.err().contains("error[") && ran.err().contains("hint:"), "{handles}: {}", ran.err());
            }
            other => panic!("{handles}: {other:?}: {}", ran.err()),
        }
        assert_eq!(world.run("file verify A").code(0).err(), "records, keys and indexes agree\n");
        let facts = world.run("file facts A").code(0).out();
        assert!(done == 0 || facts.contains("100000 records"), "{facts}");
    }
    assert!(failed > 0 && done > 0, "{failed} {done}");
}

/// Commands that read failed on a folder that they must not write, such as a mounted backup.
#[test]
fn commands_that_read_work_on_a_folder_that_cannot_be_written() {
    let world = World::with([("in.dat", numbered(100).as_slice()), ("m", b"text")]);
    world.run("file define A --record 8 --key 0:6").code(0);
    world.run("file load A in.dat").code(0);
    world.run("queue define Q").code(0);
    world.run("queue put Q m").code(0);
    // Another user with read-only access; everything may be writable for the user who runs the tests.
    let other = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    if world.shell(&format!("chmod -R a+rX . && chmod 755 . && {other} $Q --version")).code != Some(0) {
        eprintln!("skipped: commands_that_read_work_on_a_folder_that_cannot_be_written: no other user");
        return;
    }
    assert_eq!(world.shell(&format!("{other} $Q file get A --key 000007")).code(0).out(), "000007ab");
    assert_eq!(world.shell(&format!("{other} $Q file unload A")).code(0).stdout, numbered(100));
    assert_eq!(world.shell(&format!("{other} $Q queue depth Q")).code(0).out(), "Q  1\n");
    world.shell(&format!("{other} $Q store check")).code(0);
    world.shell("mkdir to && chmod 777 to").code(0);
    world.shell(&format!("{other} $Q store save to/all.save")).code(0);
    world.run("store restore to/all.save --check").code(0);
    let refused = world.shell(&format!("{other} $Q file put A m"));
    assert_eq!(refused.code, Some(2));
    assert!(refused.err().contains("the right to write"), "{}", refused.err());
    world.run("file verify A").code(0);
}

/// Encodes the letters and digits that the test needs in cp037.
fn ebcdic(text: &str) -> Vec<u8> {
    let code = |character: u8| match character {
        b'0'..=b'9' => 0xf0 + (character - b'0'),
        b'A'..=b'I' => 0xc1 + (character - b'A'),
        b'J'..=b'R' => 0xd1 + (character - b'J'),
        b'S'..=b'Z' => 0xe2 + (character - b'S'),
        _ => 0x40,
    };
    text.bytes().map(code).collect()
}

/// A complete EBCDIC file, as a mainframe sends it: 65,145 records of 32 bytes with a packed amount, in key order. Sorted and in any order,
/// with and without an index, the file has the same content, and its facts have the use counts.
#[test]
fn an_ebcdic_file_is_loaded_whole_and_its_facts_say_so() {
    let record = |number: u32| {
        let mut record = ebcdic(&format!("{number:08}CITY {:03}             ", number % 500));
        record.truncate(28);
        let packed = u64::from(number) * 7 % 1_000_000;
        let digits = format!("{packed:07}");
        let nibbles: Vec<u8> = digits.bytes().map(|digit| digit - b'0').chain([0xc]).collect();
        record.extend(nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
        record
    };
    const RECORDS: u32 = 65_145;
    let whole: Vec<u8> = (0..RECORDS).flat_map(record).collect();
    let world = World::with([("master.dat", whole.as_slice())]);
    world.run("file define MASTER --record 32 --key 0:8").code(0);
    let begin = Instant::now();
    assert!(world.run("file load MASTER master.dat --sorted").code(0).err().contains("65145 records loaded"));
    println!(
        "a sorted load of {RECORDS} EBCDIC records took {:.2} s, the start of the process included",
        begin.elapsed().as_secs_f64()
    );
    assert_eq!(world.run("file unload MASTER").code(0).stdout, whole);
    world.run("file define INDEXED --record 32 --key 0:8 --index city=8:8:duplicates").code(0);
    world.run("file load INDEXED master.dat --durability buffered").code(0);
    assert_eq!(world.run("file unload INDEXED").code(0).stdout, whole);
    let twice = world.run("file load INDEXED master.dat --durability buffered").code(1).err();
    assert!(twice.contains("65145 records were not loaded"), "{twice}");
    // The key of EBCDIC digits, and the order of its bytes.
    let found = world.run("file get MASTER --key-hex F0F0F0F4F2F1F9F9").code(0).stdout.clone();
    assert_eq!(found, record(42_199));
    let facts = world.run("file facts MASTER").code(0).out();
    assert!(facts.contains("65145 records, 2084640 bytes"), "{facts}");
    // The load, the complete unload and the get; reading the facts does not count.
    assert!(facts.contains("65145 inserted, 0 updated, 0 deleted, 65146 read"), "{facts}");
    assert!(
        facts.contains("lookups: index in memory for ") && facts.contains("F0F0F0F0F0F0F0F0") || facts.contains("f0f0"),
        "{facts}"
    );
    let again = world.run("file facts MASTER").code(0).out();
    assert!(again.contains("65146 read"), "{again}");
}

#[test]
fn a_deep_queue_reports_itself_once_each_way() {
    let world = World::with([("m.json", b"{}".as_slice())]);
    world.run("queue define EVENTS").code(0);
    world.run("queue define Q --depth-high 3 --depth-low 1 --event-queue EVENTS").code(0);
    let bad = world.run("queue alter Q --depth-low 5").code(2).err();
    assert!(bad.contains("less than the high mark of 3"), "{bad}");
    // Each command is a separate process, whose state begins below the mark.
    for _ in 0..3 {
        world.run("queue put Q m.json").code(0);
    }
    let event = world.run("queue get EVENTS --json").code(0).out();
    assert!(
        event.contains("depth-high") && event.contains("\\\"depth\\\":3") || event.contains("\"depth\":3"),
        "{event}"
    );
    world.run("queue get EVENTS").code(7);
    world.run("queue alter Q --depth-high 0").code(0);
    for _ in 0..3 {
        world.run("queue put Q m.json").code(0);
    }
    world.run("queue get EVENTS").code(7);
}

/// An unload that failed left an empty file with the final name, and the next step said that the file exists.
#[test]
fn an_unload_that_fails_leaves_no_file() {
    let world = World::with([("in.dat", b"0001\nAA0002BBB".as_slice())]);
    world.run("file define N --record 7 --key 0:4").code(0);
    world.run("file load N in.dat").code(0);
    world.run("file unload N --framing lines -o out.lines").code(2);
    assert!(!world.path("out.lines").exists() && !world.path("out.lines.partial").exists());
    world.run("file unload N -o out.lines").code(0);
    assert!(world.run("file unload N -o out.lines").code(2).err().contains("out.lines exists"));
    if cfg!(unix) {
        world.run("file unload N -o /dev/null").code(0);
    }
}

/// Records of different lengths were padded to the longest one in silence, and came back longer.
#[test]
fn an_unload_that_pads_records_says_so() {
    let world = World::with([("lines.txt", b"01\n02ab\n03abcd\n".as_slice())]);
    world.run("file define A --record 2-6 --key 0:2").code(0);
    world.run("file load A lines.txt --framing lines").code(0);
    let unloaded = world.run("file unload A");
    assert_eq!(unloaded.stdout, b"01@@@@02ab@@03abcd");
    assert_eq!(
        unloaded.err(),
        "warning[CLI-008]: 2 records are shorter than 6 bytes and padded with bytes 40 (EBCDIC spaces): their lengths are lost\n\n\
         hint: `--framing rdw` writes the length of each record; `file load` reads it with the same framing\n"
    );
    assert!(world.run("file unload A --salvage").err().contains("warning[CLI-008]: 2 records are"));
    assert!(world.run("file browse A --count 1").err().contains("warning[CLI-008]: 1 record is"));
    let kept = world.run("file unload A --framing rdw -o all.rdw").code(0).err();
    assert_eq!(kept, "3 records unloaded\n");
    world.run("file define B --record 2-6 --key 0:2").code(0);
    world.run("file load B all.rdw --framing rdw").code(0);
    assert_eq!(world.run("file unload B --framing lines").code(0).out(), "01\n02ab\n03abcd\n");
}

/// Regression: every record begins with an empty key, so `--key "$UNSET"` deleted the only record of a file.
#[test]
fn an_empty_key_is_refused() {
    let world = World::with([("r", b"AAAAbbbb".as_slice())]);
    world.run("file define ONE --record 8 --key 0:4").code(0);
    world.run("file put ONE r").code(0);
    for words in [["delete", "--key"], ["get", "--key"], ["browse", "--key"], ["delete", "--key-hex"]] {
        let ran = world.command(["file", words[0], "ONE", words[1], ""]).output().expect("it runs");
        let said = String::from_utf8(ran.stderr).expect("UTF-8");
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("{} is empty", words[1])), "{said}");
    }
    assert_eq!(world.run("file get ONE --key AAAA").code(0).out(), "AAAAbbbb");
}

/// Regressions: a save was readable by everybody, and `-` was a file of that name.
#[test]
fn a_save_is_for_its_owner_and_has_a_name() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::with([("r", b"AAAAbbbb".as_slice())]);
    world.run("file define ONE --record 8 --key 0:4").code(0);
    world.run("store save all.save").code(0);
    let mode = std::fs::metadata(world.path("all.save")).expect("a save").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    for command in ["store save -", "store restore - --store copy"] {
        let said = world.run(command).code(2).err();
        assert!(said.contains("needs a file") && said.contains("./-"), "{said}");
    }
    assert!(!world.files().contains(&"-".to_owned()), "{:?}", world.files());
}

/// The remedy of a run into a file without keys was to run it again, which added the same records a second time.
#[test]
fn the_remedy_for_a_file_without_keys_doubles_no_records() {
    let world = World::new();
    world.write("r.cpy", "       01 R.\n          05 N PIC 9.\n          05 T PIC X OCCURS 0 TO 3 DEPENDING ON N.\n");
    let long = "{\"N\":3,\"T\":[\"a\",\"b\",\"c\"]}\n";
    world.write("late.jsonl", "{\"N\":1,\"T\":[\"a\"]}\n".repeat(6_000) + long);
    world.write("first.jsonl", long);
    world.run("file define LIST --record 1-3 --organisation esds").code(0);
    let ran = world.run("convert late.jsonl -c r.cpy -e ascii -o file:LIST");
    let said = ran.err();
    assert!(said.contains("note[CLI-004]: 5000 records were written to LIST"), "{said}");
    assert!(said.contains("hint: a run adds to the file") && !said.contains("stay as they are"), "{said}");
    let ran = world.run("convert first.jsonl -c r.cpy -e ascii -o file:LIST");
    assert!(ran.err().contains("hint: after the fix, run the command again\n"), "{}", ran.err());
}
