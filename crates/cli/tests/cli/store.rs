//! `quayline file`, `quayline queue` and `quayline store`.

use std::io::{Read as _, Write as _};

use expect_test::expect;

use crate::world::World;

/// Returns ten records of 8 bytes: a key of 2, a repeated byte, other bytes.
fn records() -> Vec<u8> {
    (0..10).flat_map(|number| format!("{number:02}{}rest5", number % 3).into_bytes()).collect()
}

fn loaded() -> World {
    let world = World::with([("in.dat", records().as_slice())]);
    world.run("file define CUST --record 8 --key 0:2 --index kind=2:1:duplicates").code(0);
    assert_eq!(world.run("file load CUST in.dat").code(0).err(), "10 records loaded\n");
    world
}

#[test]
fn a_file_is_defined_loaded_read_and_unloaded_as_it_was() {
    let world = loaded();
    world.run("file get CUST --key 04").check(expect![[r#"
        exit 0
        --- stdout
        041rest5<no newline>
    "#]]);
    world.run("file get CUST --key 1 --at-least").check(expect![[r#"
        exit 7
        --- stderr
        error[STO-013]: no record of CUST has this key

        hint: no greater key exists either; see the last records with `--reverse` of `quayline file browse`
    "#]]);
    world.run("file browse CUST --index kind --key 1 -n 3 --framing lines").check(expect![[r#"
        exit 0
        --- stdout
        011rest5
        041rest5
        071rest5
    "#]]);
    world.run("file browse CUST --reverse -n 2 --framing lines").check(expect![[r#"
        exit 0
        --- stdout
        090rest5
        082rest5
    "#]]);
    world.run("file unload CUST -o out.dat").check(expect![[r#"
        exit 0
        --- stderr
        10 records unloaded
    "#]]);
    assert_eq!(world.read("out.dat"), records());
    world.run("file facts").check(expect![[r#"
        exit 0
        --- stdout
        CUST: key-sequenced, key 0:2, records of 8 to 8 bytes
          10 records, 80 bytes, the shortest 8, the longest 8
          10 inserted, 0 updated, 0 deleted, 16 read
          20 lookups: index in memory for 100.0 %, data for 100.0 %
          keys '00' to '09'
          index kind 2:1, duplicates: 10 entries
    "#]]);
    world.run("file verify CUST").check(expect![[r#"
        exit 0
        --- stderr
        records, keys and indexes agree
    "#]]);
}

#[test]
fn what_a_file_refuses_is_named_with_its_remedy() {
    let world = loaded();
    world.run("file load CUST in.dat").check(expect![[r#"
        exit 1
        --- stderr
        0 records loaded

        error[STO-012]: a record with this key exists in CUST

        hint: read the record for update and rewrite it, or use another key
        10 records were not loaded, because the file has their keys already; the first is record 1 of the input
    "#]]);
    world.run("file get CUST --key 99").check(expect![[r#"
        exit 7
        --- stderr
        error[STO-013]: no record of CUST has this key

        hint: read the next greater key (`--at-least`, `at-least`, or `KEY_GE` in a flow), or insert the record
    "#]]);
    world.run("file get NONE --key 99").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-019]: no record file NONE

        hint: define the file with `quayline file define`
    "#]]);
    world.run("file get CUST --key 0 --index none").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-023]: CUST has no alternate index none

        hint: see the file's indexes with `quayline file facts`
    "#]]);
    world.run("file get CUST --key-hex F").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --key-hex is not an even number of hexadecimal digits

        hint: write two digits for each byte, such as C1F2
    "#]]);
    world.write("long", b"12345678901");
    world.run("file put CUST long").check(expect![[r#"
        exit 1
        --- stderr
        error[STO-015]: the record has 11 bytes, expected 8

        hint: see the allowed lengths with `quayline file facts`
    "#]]);
    world.run("file define BAD --record 8 --key 7:2").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-024]: the definition of BAD is not usable: the key ends at byte 9, beyond a record of 8 bytes

        hint: correct the definition; `quayline file define --help` and `quayline queue define --help` show its parts
    "#]]);
    world.run("file get CUST --key 0 --store elsewhere").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: elsewhere holds no store

        hint: name its folder with --store, or define a file or queue first
    "#]]);
    assert!(!world.files().contains(&"elsewhere".to_owned()), "no folder is made to read from");
}

/// `--key 0` deleted the first of several records whose keys begin with 0 and reported nothing.
#[test]
fn a_key_of_several_records_deletes_none() {
    let world = loaded();
    for key in ["--key 0", "--index kind --key 1"] {
        let ran = world.run(&format!("file delete CUST {key}"));
        assert!(ran.code(2).err().contains("several records of CUST have this key"), "{}", ran.err());
    }
    assert_eq!(world.run("file unload CUST").code(0).out().as_bytes(), records());
    for operation in ["delete '0'", "delete '1' by kind"] {
        let ran = world.run_with("file run", format!("open CUST\n{operation}\n").as_bytes());
        assert!(ran.code(0).out().ends_with("2 43\n"), "{}", ran.out());
    }
    assert_eq!(world.run("file unload CUST").code(0).out().as_bytes(), records());
    world.run("file delete CUST --key 04").code(0);
    world.run_with("file run", b"open CUST\ndelete 05\n").code(0);
    let left: Vec<u8> =
        records().chunks(8).filter(|record| !matches!(&record[..2], b"04" | b"05")).flatten().copied().collect();
    assert_eq!(world.run("file unload CUST").code(0).out().as_bytes(), left);
}

#[test]
fn a_record_is_put_replaced_and_deleted() {
    let world = loaded();
    world.write("record", b"990rest5");
    world.run("file put CUST record").check(expect![[r#"
        exit 0
    "#]]);
    world.run("file put CUST record").check(expect![[r#"
        exit 1
        --- stderr
        error[STO-012]: a record with this key exists in CUST

        hint: read the record for update and rewrite it, or use another key
    "#]]);
    world.write("record", b"990other");
    world.run("file put CUST record --replace").check(expect![[r#"
        exit 0
    "#]]);
    world.run("file get CUST --key 99").check(expect![[r#"
        exit 0
        --- stdout
        990other<no newline>
    "#]]);
    world.run("file delete CUST --key 99").check(expect![[r#"
        exit 0
    "#]]);
    world.run("file delete CUST --all").check(expect![[r#"
        exit 0
    "#]]);
    world.run("file facts").check(expect![[r#"
        exit 0
    "#]]);
}

#[test]
fn a_sorted_load_takes_ascending_keys_into_an_empty_file() {
    let world = World::with([("in.dat", records().as_slice()), ("wrong.dat", b"02xrest501xrest5")]);
    world.run("file define A --record 8 --key 0:2").check(expect![[r#"
        exit 0
    "#]]);
    world.run("file load A in.dat --sorted").check(expect![[r#"
        exit 0
        --- stderr
        10 records loaded
    "#]]);
    world.run("file load A in.dat --sorted").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-021]: A is key-sequenced, which does not support a sorted load into a file with records

        hint: load it without --sorted
    "#]]);
    world.run("file define B --record 8 --key 0:2").check(expect![[r#"
        exit 0
    "#]]);
    world.run("file load B wrong.dat --sorted").check(expect![[r#"
        exit 1
        --- stderr
        1 record loaded

        error[STO-025]: entry 2 of the load has a key that is not above the one before
          at wrong.dat, record 2

        hint: sort the input by its key, or load it without the sorted option

        note[CLI-004]: the load stopped at record 2 of wrong.dat; the records before it are in the file

        hint: after the fix, continue with --skip 1 and without --sorted; to leave that record out, continue with --skip 2 and without --sorted
    "#]]);
}

#[test]
fn messages_go_through_queues_in_order() {
    let world = World::with([("one", b"first\n".as_slice()), ("two", b"second\n")]);
    world.run("queue define IN --depth-max 2").check(expect![[r#"
        exit 0
    "#]]);
    world.run("queue define OUT").check(expect![[r#"
        exit 0
    "#]]);
    assert_eq!(world.run("queue put IN one --correlation 0a").stdout.len(), 49);
    assert_eq!(world.run("queue put IN two --priority 9").stdout.len(), 49);
    world.run("queue put IN two").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-031]: queue IN is full: 2 messages

        hint: get messages from the queue, or raise its depth limit: quayline queue alter
    "#]]);
    world.run("queue depth").check(expect![[r#"
        exit 0
        --- stdout
        IN  2
        OUT  0
    "#]]);
    world.run("queue get IN --correlation 0a").check(expect![[r#"
        exit 0
        --- stdout
        first
    "#]]);
    world.run("queue move IN OUT").check(expect![[r#"
        exit 0
        --- stderr
        1 message moved
    "#]]);
    world.run("queue get OUT").check(expect![[r#"
        exit 0
        --- stdout
        second
    "#]]);
    world.run("queue get OUT").check(expect![[r#"
        exit 7
        --- stderr
        error[STO-032]: no message of queue OUT fits, waited 0 ms

        hint: see the messages with `quayline queue browse`; in a database, `--wait` waits for a message of another process
    "#]]);
    world.run("queue get NONE").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-030]: no queue NONE

        hint: define the queue with `quayline queue define`
    "#]]);
    world.run("queue put OUT one");
    world.run("queue purge OUT").check(expect![[r#"
        exit 0
        --- stderr
        1 message dropped
    "#]]);
}

/// Returns the peak memory in bytes of a command that exits with 0 and whose output has this length. `wait4` would count the memory of this process,
/// from which the command starts.
fn peak(world: &World, arguments: &str, output_bytes: usize) -> u64 {
    let output = world.path("output");
    let mut command = world.command(arguments.split_whitespace());
    command.stdout(std::fs::File::create(&output).expect("a file")).stdin(std::process::Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let (mut peak, status) = (0, format!("/proc/{}/status", child.id()));
    let ended = loop {
        let ended = child.try_wait().expect("its state");
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) * 1_024);
        match ended {
            Some(ended) => break ended,
            None => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    };
    assert!(ended.success(), "{arguments}: {ended}");
    let length = std::fs::metadata(&output).expect("its output").len();
    assert!(length == output_bytes as u64 || output_bytes == 0, "{arguments}: {length} bytes");
    assert!(peak > 1 << 20, "{arguments}: the system shows no memory");
    peak
}

/// Checks the limits of docs/reference/limits.md, which do not grow with the number of messages.
#[test]
fn messages_of_100_mb_take_bounded_memory() {
    const PARTS: usize = 100;
    let world = World::new();
    let part: Vec<u8> = (0..1_000_000u64).map(|at| u8::try_from((at * at / 7) % 251).unwrap_or(0)).collect();
    let mut file = std::fs::File::create(world.path("long.bin")).expect("a file");
    (0..PARTS).for_each(|_| file.write_all(&part).expect("written"));
    world.run("queue define BIG --message-max 104857600").code(0);
    let mut most = [0u64; 3];
    let mut note = |what: usize, bytes: u64| most[what] = most[what].max(bytes);
    for _ in 0..4 {
        note(0, peak(&world, "queue put BIG long.bin", 0));
        note(2, peak(&world, "queue browse BIG", 0));
        note(2, peak(&world, "queue depth", 0));
    }
    for _ in 0..4 {
        note(1, peak(&world, "queue get BIG", PARTS * part.len()));
        let mut output = std::fs::File::open(world.path("output")).expect("its output");
        let mut read = vec![0; part.len()];
        for _ in 0..PARTS {
            output.read_exact(&mut read).expect("read");
            assert!(read == part, "other content");
        }
    }
    let [put, get, list] = most.map(|bytes| bytes / 1_000_000);
    eprintln!("put {put} MB, get {get} MB, list {list} MB");
    assert!(put <= 250 && get <= 160 && list <= 40, "put {put} MB, get {get} MB, list {list} MB");
    // The long segments of the log are not kept.
    let files = std::fs::read_dir(world.path("data")).expect("the data folder");
    let files = files.map(|entry| entry.expect("an entry").path());
    let log = files.filter(|path| path.extension().is_some_and(|extension| extension == "qls"));
    let bytes: Vec<u64> = log.map(|path| std::fs::metadata(path).expect("a segment").len()).collect();
    assert!(!bytes.is_empty() && bytes.iter().sum::<u64>() < 140_000_000, "{bytes:?}");
}

#[test]
fn the_store_is_checked_and_compacted() {
    let world = loaded();
    world.run("store check").check(expect![[r#"
        exit 0
        --- stderr
        everything that is stored is intact
    "#]]);
    let compacted = world.run("store compact");
    assert!(compacted.err().contains("bytes before"), "{}", compacted.err());
    let facts = world.run("store facts");
    assert!(facts.out().contains("bytes of log not yet in store.redb"), "{}", facts.out());
    let path = world.path("data/store.redb");
    let mut bytes = std::fs::read(&path).expect("the applied store");
    let at = bytes.windows(5).position(|found| found == b"rest5").expect("a record in it");
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let checked = world.run("store check");
    assert!(checked.code(2).err().contains("STO-003"), "{}", checked.err());
}

/// A copybook of the records above and further ones, with a text in place of the other bytes.
const COPYBOOK: &[u8] =
    b"       01  CUST.\n           05  ID    PIC 9(2).\n           05  KIND  PIC 9.\n           05  NOTE  PIC X(5).\n";

#[test]
fn convert_reads_and_writes_record_files() {
    let world = loaded();
    world.write("cust.cpy", COPYBOOK);
    let lines = world.run("convert file:CUST -c cust.cpy -e ascii");
    assert_eq!(lines.code(0).out().lines().count(), 10);
    assert_eq!(lines.out().lines().nth(4), Some(r#"{"ID":4,"KIND":1,"NOTE":"rest5"}"#));
    world.run("file define COPY --record 8 --key 0:2 --index kind=2:1:duplicates").code(0);
    world.run("convert file:CUST -c cust.cpy -e ascii -o file:COPY").check(expect![[r#"
        exit 0
    "#]]);
    world.run("file unload COPY -o copy.dat").code(0);
    assert_eq!(world.read("copy.dat"), records());
    // Identical existing records stay; one with other content is refused.
    world.run("convert file:CUST -c cust.cpy -e ascii -o file:COPY").code(0);
    world.write("more.jsonl", "{\"ID\":50,\"KIND\":7,\"NOTE\":\"new\"}\n{\"ID\":3,\"KIND\":7,\"NOTE\":\"other\"}\n");
    world.run("convert more.jsonl -c cust.cpy -e ascii -o file:COPY").check(expect![[r#"
        exit 1
        --- stderr
        error[STO-012]: a record with this key exists in COPY

        hint: leave the record out of the input or give it another key; to replace records, delete those of the file first

        note[CLI-004]: 0 records were written to COPY before; the failure is at record 2 of the output

        hint: after the fix, run the command again: records that are there already, byte for byte, stay as they are
    "#]]);
    world.run("file get COPY --key 50").check(expect![[r#"
        exit 7
        --- stderr
        error[STO-013]: no record of COPY has this key

        hint: read the next greater key (`--at-least`, `at-least`, or `KEY_GE` in a flow), or insert the record
    "#]]);
    world.run("convert file:CUST -c cust.cpy -e ascii --framing rdw").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --framing does not apply to a record file

        hint: leave --framing out
    "#]]);
    world.run("convert file:NONE -c cust.cpy -e ascii").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-019]: no record file NONE

        hint: define the file with `quayline file define`
    "#]]);
    world.run("convert file:CUST -c cust.cpy -e ascii --to csv -o file:COPY").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --to names another format, and a record file holds records

        hint: leave --to out
    "#]]);
}

/// The compiler, COPY members and replaced texts count for a definition as for `convert`.
#[test]
fn a_definition_follows_the_compiler_and_the_copy_members_of_its_copybook() {
    let copybook = b"       01  CUST.\n           COPY BODY.\n";
    let body = b"           05  :TAG:-ID    PIC X(4).\n           05  :TAG:-COUNT PIC 9(2) COMP.\n";
    let world = World::with([("cust.cpy", copybook.as_slice()), ("members/BODY.cpy", body.as_slice())]);
    let define = "-c cust.cpy -I members --replacing :TAG:=CU --key CU-ID";
    world.run(&format!("file define IBM {define}")).code(0);
    world.run(&format!("file define GNU {define} --dialect gnucobol")).code(0);
    let length = |name: &str| world.run(&format!("file facts {name}")).code(0).out().lines().next().map(str::to_owned);
    assert_eq!(length("IBM").as_deref(), Some("IBM: key-sequenced, key 0:4, records of 6 to 6 bytes"));
    // GnuCOBOL keeps two digits in one byte.
    assert_eq!(length("GNU").as_deref(), Some("GNU: key-sequenced, key 0:4, records of 5 to 5 bytes"));
    let missing = world.run("file define NO -c cust.cpy --key ID");
    assert!(missing.code(2).err().contains("BODY"), "{}", missing.err());
}

/// A key is a field of the copybook, and records are printed as `convert` prints them.
#[test]
fn a_copybook_gives_keys_lengths_and_json() {
    let world = World::with([("in.dat", records().as_slice()), ("cust.cpy", COPYBOOK)]);
    world.run("file define CUST -c cust.cpy --key ID --index kind=KIND:duplicates").code(0);
    world.run("file load CUST in.dat").code(0);
    world.run("file facts CUST").check(expect![[r#"
        exit 0
        --- stdout
        CUST: key-sequenced, key 0:2, records of 8 to 8 bytes
          10 records, 80 bytes, the shortest 8, the longest 8
          10 inserted, 0 updated, 0 deleted, 0 read
          10 lookups: index in memory for 100.0 %, data for 100.0 %
          keys '00' to '09'
          index kind 2:1, duplicates: 10 entries
    "#]]);
    let all = world.run("convert file:CUST -c cust.cpy -e ascii").code(0).out();
    assert_eq!(world.run("file browse CUST -c cust.cpy -e ascii").code(0).out(), all);
    let line = |at: usize| format!("{}\n", all.lines().nth(at).expect("ten lines"));
    assert_eq!(world.run("file get CUST --key 04 -c cust.cpy -e ascii").code(0).out(), line(4));
    let next = "file get CUST --key 035 --at-least -c cust.cpy -e ascii";
    assert!(world.run(next).err().contains("STO-011"));
    let by_kind = world.run("file browse CUST --index kind --key 1 -n 2 -c cust.cpy -e ascii");
    assert_eq!(by_kind.code(0).out(), line(1) + &line(4));
    let last = world.run("file browse CUST --reverse -n 2 -c cust.cpy -e ascii");
    assert_eq!(last.code(0).out(), line(9) + &line(8));
    // Options that exclude each other, and names that the copybook does not have.
    world.run("file get CUST --key 04 -c cust.cpy").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the code page of the records is not named, and it is never guessed

        hint: add, say, --encoding cp037
    "#]]);
    world.run("file browse CUST -c cust.cpy -e ascii --framing lines").code(2);
    world.run("file get CUST --key 04 -e ascii").code(2);
    world.run("file define OTHER -c cust.cpy --key NUMBER").check(expect![[r#"
        exit 2
        --- stderr
        error[GTW-003]: the copybook has no field `NUMBER`

        hint: write the field's COBOL name, qualified by its groups where needed: `GROUP.FIELD`
    "#]]);
    world.run("file define OTHER --key ID").code(2);
    world.run("file define OTHER -c cust.cpy").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: a ksds needs a key

        hint: add --key OFFSET:LENGTH, or --copybook and --key FIELD
    "#]]);
    // A longer record than the copybook's, a place in bytes, and a table of varying length.
    world.run("file define WIDE -c cust.cpy --record 8-20 --key 0:2").code(0);
    let facts = world.run("file facts WIDE").code(0).out();
    assert!(facts.contains("key 0:2, records of 8 to 20 bytes"), "{facts}");
    let table = "       01  R.\n           05  K  PIC X(4).\n           05  N  PIC 9.\n           05  T  PIC X OCCURS 1 TO 9 DEPENDING ON N.\n";
    world.write("two.cpy", format!("{table}       01  S.\n           05  F  PIC X.\n"));
    world.run("file define LINES -c two.cpy --key K").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the copybook describes 2 records and one is needed

        hint: name one with --record-name: R, S
    "#]]);
    world.run("file define LINES -c two.cpy --record-name R --key K").code(0);
    assert!(world.run("file facts LINES").code(0).out().contains("records of 6 to 14 bytes"));
    // A record that the copybook does not fit is the same finding as of `convert`.
    world.write("bad.dat", "xx9rest5");
    world.run("file put CUST bad.dat").code(0);
    let (read, converted) =
        (world.run("file browse CUST -n 20 -c cust.cpy -e ascii"), world.run("convert file:CUST -c cust.cpy -e ascii"));
    assert_eq!((read.code, read.out()), (converted.code, converted.out()));
    assert!(read.err().contains("file:CUST, record 11"), "{}", read.err());
}

/// Returns the second and third line of the facts of a file.
fn counted(world: &World, file: &str) -> String {
    let facts = world.run(&format!("file facts {file}"));
    facts.code(0).out().lines().skip(1).take(2).map(|line| format!("{}\n", line.trim())).collect()
}

/// Records that `convert` and `translate` wrote and read were missing in the facts: they ended without storing the counts.
#[test]
fn records_that_convert_and_translate_write_and_read_are_counted() {
    let world = loaded();
    world.write("cust.cpy", COPYBOOK);
    world.write("card.cpy", "       01  CARD.\n           05  KIND  PIC 9.\n           05  ID    PIC 9(2).\n");
    world.write(
        "cards.qmap",
        "source \"cust.cpy\"\ntarget card \"card.cpy\"\n\nmake card {\n  KIND = KIND\n  ID = ID\n}\n",
    );
    world.write("back.qmap", "source \"card.cpy\"\ntarget cust \"cust.cpy\"\n\nmake cust {\n  ID = ID\n  KIND = KIND\n  NOTE = \"rest5\"\n}\n");
    for define in ["COPY --record 8 --key 0:2", "CARDS --record 3 --key 1:2", "BACK --record 8 --key 0:2"] {
        world.run(&format!("file define {define}")).code(0);
    }
    let read = counted(&world, "CUST");
    assert!(read.contains("10 inserted, 0 updated, 0 deleted, 0 read"), "{read}");
    let lines = world.run("convert file:CUST -c cust.cpy -e ascii");
    world.write("cust.jsonl", lines.code(0).stdout.as_slice());
    world.run("convert cust.jsonl -c cust.cpy -e ascii -o file:COPY").code(0);
    let codes = "--from-encoding ascii --to-encoding ascii";
    world.run(&format!("translate -q -m cards.qmap file:COPY -o file:CARDS {codes}")).code(0);
    world.run(&format!("translate -q -m back.qmap file:CARDS -o file:BACK {codes}")).code(0);
    let all: String = ["CUST", "COPY", "CARDS", "BACK"].map(|file| counted(&world, file)).concat();
    expect![[r#"
        10 records, 80 bytes, the shortest 8, the longest 8
        10 inserted, 0 updated, 0 deleted, 10 read
        10 records, 80 bytes, the shortest 8, the longest 8
        10 inserted, 0 updated, 0 deleted, 10 read
        10 records, 30 bytes, the shortest 3, the longest 3
        10 inserted, 0 updated, 0 deleted, 10 read
        10 records, 80 bytes, the shortest 8, the longest 8
        10 inserted, 0 updated, 0 deleted, 0 read
    "#]]
    .assert_eq(&all);
    assert_eq!(world.run("file unload BACK").code(0).stdout, records());
    assert_eq!(world.run("file get CARDS --key 04").code(0).out(), "104");
    // A failed run keeps the counts of its committed changes and its reads.
    world.write(
        "odd.qmap",
        "source \"cust.cpy\"\ntarget card \"card.cpy\"\n\nmake card {\n  KIND = KIND\n  ID = ID + 95\n}\n",
    );
    let ran = world.run(&format!("translate -q -m odd.qmap file:BACK -o file:CARDS {codes}"));
    assert_ne!(ran.code, Some(0), "{}", ran.err());
    assert!(counted(&world, "BACK").contains("20 read"), "{}", counted(&world, "BACK"));
}

#[test]
fn a_file_is_copied_altered_and_stored_anew() {
    let world = loaded();
    world.run("file copy CUST OTHER").check(expect![[r#"
        exit 0
        --- stderr
        10 records copied
    "#]]);
    world.run("file alter OTHER --add-index rest=3:5:duplicates --drop-index kind --rename LAST").check(expect![[r#"
        exit 0
        --- stderr
        10 records copied
    "#]]);
    world.run("file alter CUST").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: nothing is to be changed

        hint: add --rename, --record, --add-index or --drop-index
    "#]]);
    world.run("file reorganise CUST").check(expect![[r#"
        exit 0
        --- stderr
        10 records reorganised
    "#]]);
    world.run("file preload CUST").check(expect![[r#"
        exit 0
        --- stderr
        10 records read
    "#]]);
    world.run("file facts").check(expect![[r#"
        exit 0
        --- stdout
        CUST: key-sequenced, key 0:2, records of 8 to 8 bytes
          10 records, 80 bytes, the shortest 8, the longest 8
          0 inserted, 0 updated, 0 deleted, 10 read
          1 lookups: index in memory for 100.0 %, data for 100.0 %
          keys '00' to '09'
          index kind 2:1, duplicates: 10 entries
        LAST: key-sequenced, key 0:2, records of 8 to 8 bytes
          10 records, 80 bytes, the shortest 8, the longest 8
          0 inserted, 0 updated, 0 deleted, 0 read
          keys '00' to '09'
          index rest 3:5, duplicates: 10 entries
    "#]]);
    world.run("file browse CUST --index kind --key 1 -n 3 --framing lines").check(expect![[r#"
        exit 0
        --- stdout
        011rest5
        041rest5
        071rest5
    "#]]);
    world.run("file get CUST --key 1 --at-least").check(expect![[r#"
        exit 7
        --- stderr
        error[STO-013]: no record of CUST has this key

        hint: no greater key exists either; see the last records with `--reverse` of `quayline file browse`
    "#]]);
}

#[test]
fn a_save_makes_the_same_store_again() {
    let world = loaded();
    world.write("one", b"first\n");
    world.run("queue define IN").code(0);
    world.run("queue alias INPUT IN").code(0);
    world.run("queue put INPUT one --group 0a --sequence 1").code(0);
    assert!(world.run("store save all.save --compress").code(0).err().contains("entries saved"));
    world.run("file delete CUST --key 04").code(0);
    world.run("store restore all.save").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: data holds a store

        hint: name another folder with --store, or add --replace
    "#]]);
    assert!(world.run("store restore all.save --check").code(0).err().contains("entries intact"));
    assert!(world.run("store restore all.save --store other").code(0).err().contains("entries restored"));
    world.run("store restore all.save --replace").code(0);
    for folder in ["data", "other"] {
        world.run(&format!("file unload CUST -o out-{folder}.dat --store {folder}")).code(0);
        assert_eq!(world.read(&format!("out-{folder}.dat")), records());
        assert_eq!(world.run(&format!("queue get IN --group 0a --store {folder}")).code(0).out(), "first\n");
    }
    let mut bytes = world.read("all.save");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    world.write("all.save", bytes);
    let damaged = world.run("store restore all.save --replace");
    assert!(damaged.code(2).err().contains("STO-034"), "{}", damaged.err());
    world.run("file get CUST --key 04").check(expect![[r#"
        exit 0
        --- stdout
        041rest5<no newline>
    "#]]);
    assert!(
        !world.files().iter().any(|name| name.contains("restoring") || name.contains("replaced")),
        "{:?}",
        world.files()
    );
}

#[test]
fn messages_that_name_no_queue_stay_at_a_retry() {
    let world = World::with([("one", b"first\n".as_slice())]);
    world.run("queue define DEAD.LETTER").code(0);
    world.run("queue put DEAD.LETTER one").code(0);
    world.run("queue retry DEAD.LETTER").check(expect![[r#"
        exit 0
        --- stderr
        0 messages returned
        1 message stays: it does not name a queue on which it failed
    "#]]);
    world.run("queue alias BAD NONE").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-030]: no queue NONE

        hint: define the queue with `quayline queue define`
    "#]]);
}

/// A definition changes while its messages stay; cyclic names are refused, and a faulty definition can be deleted.
#[test]
fn queues_are_altered_and_deleted() {
    let world = World::with([("m", b"text".as_slice())]);
    let queue = |words: &str| {
        let words: Vec<&str> = ["queue"].into_iter().chain(words.split(' ')).collect();
        let output = world.command(words).output().expect("the command");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("UTF-8"))
    };
    let done = |words: &str| {
        let (status, text) = queue(words);
        assert_eq!(status, Some(0), "{words}: {text}");
        text
    };
    let refused = |words: &str, expected: &str| {
        let (status, text) = queue(words);
        assert!(status != Some(0) && text.contains(expected), "{words}: {text}");
    };
    done("define ORDERS --depth-max 1");
    done("put ORDERS m");
    refused("put ORDERS m", "quayline queue alter");
    done("alter ORDERS --depth-max 2");
    done("put ORDERS m");
    refused("put ORDERS m", "STO-031");
    refused("alter ORDERS", "names nothing to change");
    refused("alter ORDERS --alias OTHER", "STO-");
    refused("define EMPTY --depth-max 0", "STO-");
    // An alias of an alias may not lead back.
    refused("define A --alias B", "no queue B");
    done("define B --alias ORDERS");
    done("define A --alias B");
    refused("alter A --alias NONE", "no queue NONE");
    refused("alter A --depth-max 5", "alias or a topic");
    refused("alter B --alias A", "lead back");
    assert!(done("depth").contains("ORDERS"));
    refused("delete ORDERS", "--with-messages");
    done("delete A");
    done("delete ORDERS --with-messages");
    assert!(done("depth").contains("B  leads to ORDERS, which does not exist"));
    refused("get ORDERS", "STO-");
    done("define ORDERS");
    refused("get ORDERS", "STO-");
}

/// Full, too long, expired, unknown and in use: each refusal has a remedy, and nothing is lost.
#[test]
fn what_a_queue_refuses_is_named_with_its_remedy() {
    let world = World::with([("m", b"text".as_slice()), ("long", b"longer than ten".as_slice())]);
    world.run("queue define Q --depth-max 1 --message-max 10").code(0);
    world.run("queue put Q long").check(expect![[r#"
        exit 1
        --- stderr
        error[STO-033]: the message has 15 bytes, queue Q allows 10

        hint: split the message, or raise the queue's message limit
    "#]]);
    world.run("queue put Q m").code(0);
    world.run("queue put Q m").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-031]: queue Q is full: 1 message

        hint: get messages from the queue, or raise its depth limit: quayline queue alter
    "#]]);
    assert_eq!(world.run("queue get Q").code(0).out(), "text");
    world.run("queue put Q m --expiry 1").code(0);
    std::thread::sleep(std::time::Duration::from_millis(5));
    world.run("queue get Q").check(expect![[r#"
        exit 7
        --- stderr
        note[STO-039]: 1 message of queue Q expired and was deleted

        hint: get messages sooner, or put them with a longer expiry or none

        error[STO-032]: no message of queue Q fits, waited 0 ms

        hint: see the messages with `quayline queue browse`; in a database, `--wait` waits for a message of another process
    "#]]);
    assert_eq!(world.run("queue depth Q").code(0).out(), "Q  0\n");
    // A second process does not wait; the first one continues.
    let wait = || {
        let mut command = world.command(["queue", "get", "Q", "--wait", "60"]);
        command.stderr(std::process::Stdio::null()).spawn().expect("it starts")
    };
    let mut waiting = wait();
    let begun = std::time::Instant::now();
    loop {
        // A depth that opened the folder first refused it.
        if waiting.try_wait().expect("a child").is_some() {
            waiting = wait();
        }
        let refused = world.run("queue depth Q");
        if refused.err().contains("STO-005") {
            refused.check(expect![[r#"
                exit 2
                --- stderr
                error[STO-005]: another process has the data folder open
                  at data

                hint: end the other process, or use another data folder; with --admin ADDRESS, `quayline queue`, `quayline file` and `quayline flow define` ask a running server
            "#]]);
            break;
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "the first process never opens the folder");
    }
    waiting.kill().expect("it is ended");
    waiting.wait().expect("it ends");
    world.run("store check").code(0);
}

/// A definition of records of 4 GB was accepted. No such record could be stored, and readers of fixed records would have made room for one.
#[test]
fn definitions_beyond_a_limit_are_refused_with_the_limit() {
    let world = World::new();
    world.run("file define F --record 4000000000 --key 0:8").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-024]: the definition of F is not usable: records of up to 4000000000 bytes, expected at most 104857600 (100 MiB)

        hint: correct the definition; `quayline file define --help` and `quayline queue define --help` show its parts
    "#]]);
    world.run("file define F --record 8-104857600 --key 0:8").code(0);
    world.run("file alter F --record 8-104857601").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-024]: the definition of F is not usable: records of up to 104857601 bytes, expected at most 104857600 (100 MiB)

        hint: correct the definition; `quayline file define --help` and `quayline queue define --help` show its parts
    "#]]);
    world.run("file define G --record 300 --key 0:256").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-024]: the definition of G is not usable: the key has 256 bytes, expected 1 to 255

        hint: correct the definition; `quayline file define --help` and `quayline queue define --help` show its parts
    "#]]);
    world.run("queue define Q --message-max 104857601").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-024]: the definition of Q is not usable: messages of up to 104857601 bytes, expected at most 104857600 (100 MiB)

        hint: correct the definition; `quayline file define --help` and `quayline queue define --help` show its parts
    "#]]);
    world.run("queue define Q --retry 60001").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-024]: the definition of Q is not usable: a pause of 60001 ms before a message comes again, expected at most 60000

        hint: correct the definition; `quayline file define --help` and `quayline queue define --help` show its parts
    "#]]);
    world.run("queue define Q --retry 60000").code(0);
    world.run("queue alter Q --retry 60001").code(2);
}

#[test]
fn what_is_not_there_has_an_exit_code_of_its_own() {
    let world = World::with([("r", b"01".as_slice())]);
    world.run("file define F --record 2 --key 0:2").code(0);
    world.run("file put F r").code(0);
    world.run("file get F --key 02").code(7);
    world.run("file browse F --key 02").code(7);
    world.run("file browse F --key 00").code(0);
    world.run("file delete F --key 02").code(7);
    world.run("file get G --key 02").code(2);
    world.run("queue define Q").code(0);
    world.run("queue get Q --wait 0").code(7);
    world.run("queue get R").code(2);
    world.run("queue get Q --id zz").code(2);
}

/// Only conversions reported line ends that a framing keeps in its records: the store had fewer records than the file had lines.
#[test]
fn a_load_reports_line_ends_in_its_records() {
    let world = World::with([("crlf", &b"aa\r\nbb\ncc\r\ndd\nee\r\n"[..]), ("lf", b"aa\r\nbb\n")]);
    for name in ["A", "B"] {
        world.run(&format!("file define {name} --organisation esds --record 1-80")).code(0);
    }
    world.run("file load A crlf --framing lines:crlf").check(expect![[r#"
        exit 0
        --- stderr
        warning[CNV-038]: 2 records contain an LF without a CR: they may be several lines each; the first is here
          at crlf, record 2

        hint: if some lines end in LF only, use `--framing lines:strip-cr`, which reads both line ends
        3 records loaded
    "#]]);
    let told = world.run("file load B lf --framing lines").code(0).err().to_owned();
    assert!(told.contains("CNV-035") && told.contains("at lf, record 1"), "{told}");
}
