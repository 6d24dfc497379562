//! Documents of any format in jobs, and the world of the maps in them.

use std::fmt::Write as _;

use crate::world::World;

fn artifact(element: &str, name: &str, list: &[(&str, &str)]) -> String {
    let properties: String =
        list.iter().map(|(name, value)| format!("<property name=\"{name}\" value=\"{value}\"/>")).collect();
    format!("<{element} ref=\"quayline.{name}\"><properties>{properties}</properties></{element}>")
}

fn job(items: usize, parts: &[String]) -> String {
    format!(
        "<job id=\"t\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><chunk item-count=\"{items}\">{}</chunk></step></job>",
        parts.concat()
    )
}

/// Interchanges are in ISO-8859-1 here.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

const ROWS: &str = "layout = \"csv\"\n[[field]]\nname = \"name\"\n[[field]]\nname = \"amount\"\ntype = \"integer\"\n";
const TO_JSON: &str = "map \"rows\"\nsource \"rows.toml\"\ntarget out \"out.shape\"\nname = name\namount = amount\nday = format(today(), \"CCYYMMDD\")\nid = new-id()\n";
const OUT: &str = "out\n  name text\n  amount decimal(9)\n  day text\n  id text\n";

/// Rows with line ends in quotes and a header, in another order of columns than the shape's.
fn rows(count: usize) -> String {
    (0..count).fold("amount,name\r\n".to_owned(), |mut text, number| {
        let _ = write!(text, "{number},\"a\nb {number}\"\r\n");
        text
    })
}

fn csv_world(count: usize) -> World {
    let xml = job(
        4,
        &[
            artifact("reader", "documentReader", &[("file", "in.csv"), ("map", "m.qmap")]),
            artifact("processor", "mapProcessor", &[("map", "m.qmap")]),
            artifact("writer", "fileWriter", &[("file", "out.jsonl")]),
        ],
    );
    World::with([
        ("in.csv", rows(count).as_bytes()),
        ("rows.toml", ROWS.as_bytes()),
        ("m.qmap", TO_JSON.as_bytes()),
        ("out.shape", OUT.as_bytes()),
        ("job.xml", xml.as_bytes()),
    ])
}

/// Returns the values of a member in each line.
fn values<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let start = format!("\"{name}\":");
    let value =
        |line: &'t str| line.split_once(&start).expect("the member").1.split([',', '}']).next().expect("a value");
    text.lines().map(value).collect()
}

/// A row of CSV is a document, with any line end; a restart continues between two of them. The map's clock is that of the instance, and
/// ids of documents are unique.
#[test]
fn rows_of_csv_go_through_a_map_and_a_restart() {
    let world = csv_world(50);
    // A row that is not a number, with the length of the one that replaces it later.
    let good = rows(50);
    world.write("in.csv", good.replace("\n33,", "\nxx,").as_bytes());
    let failed = world.run("job start job.xml");
    failed.code(1);
    assert!(failed.out().contains("FAILED"), "{}", failed.out());
    let part = String::from_utf8(world.read("out.jsonl.partial")).expect("text");
    assert_eq!(part.lines().count(), 32, "the chunks before the one that failed hold");
    world.write("in.csv", good.as_bytes());
    world.run("job restart 1").code(0);
    let out = String::from_utf8(world.read("out.jsonl")).expect("text");
    assert!(out.starts_with(&part));
    let amounts: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(values(&out, "amount"), amounts);
    assert!(out.contains("\"name\":\"a\\nb 49\""), "{out}");
    let mut ids = values(&out, "id");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 50, "ids of all items differ, also over a restart");
    let mut days = values(&out, "day");
    days.dedup();
    assert_eq!(days.len(), 1);
    assert!(days[0] > "\"20260101", "the clock of the map is that of the job: {}", days[0]);
}

const LOOKUP: &str = "map \"m\"\nsource \"in.shape\"\ntarget out \"out.shape\"\nlookup names(id: text) -> (name: text(20))\nif not present(names(id).name) { warning \"no name\" code \"N-1\" }\nname = names(id).name ?? \"?\"\n";

/// Numbers that a map or a condition rounds to floats are in the job log.
#[test]
fn numbers_that_processors_round_are_in_the_job_log() {
    let xml = |name: &str, properties: &[(&str, &str)]| {
        job(
            3,
            &[
                artifact("reader", "fileReader", &[("file", "in.jsonl")]),
                artifact("processor", name, properties),
                artifact("writer", "fileWriter", &[("file", &format!("{name}.jsonl"))]),
            ],
        )
    };
    let world = World::with([
        ("in.jsonl", b"{\"F\":0.1,\"D\":0.1}\n{\"F\":16777217,\"D\":0.123456789012}\n" as &[u8]),
        ("in.shape", b"in\n  F float32\n  D float\n"),
        ("m.qmap", b"source \"in.shape\"\ntarget in \"in.shape\"\n\nF = D\nD = D\n"),
        ("map.xml", xml("mapProcessor", &[("map", "m.qmap")]).as_bytes()),
        ("filter.xml", xml("filterProcessor", &[("where", "F &gt; 1"), ("shape", "in.shape")]).as_bytes()),
    ]);
    for (number, job, noted) in [
        (1, "map", "item 2: MAP-225: 1 document has a float with more digits than the 32-bit float F keeps"),
        (2, "filter", "item 2: CNV-042: 1 document has a number with more digits than the float F keeps"),
    ] {
        world.run(&format!("job start {job}.xml")).code(0);
        let log = world.run(&format!("job log {number}")).code(0).out().to_owned();
        assert_eq!(log.matches(noted).count(), 1, "{log}");
    }
}

/// The property `lookups` names tables; warnings of the map are in the job log, the first ten of a code and then their number.
#[test]
fn a_map_in_a_job_has_its_tables_and_its_warnings_are_kept() {
    let xml = |lookup: &[(&str, &str)]| {
        let properties = [&[("map", "m.qmap")], lookup].concat();
        job(
            3,
            &[
                artifact("reader", "fileReader", &[("file", "in.jsonl")]),
                artifact("processor", "mapProcessor", &properties),
                artifact("writer", "fileWriter", &[("file", "out.jsonl")]),
            ],
        )
    };
    let lines = (0..20).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{{\"id\":\"{}\"}}", if number % 4 == 0 { 1 } else { 9 });
        text
    });
    let world = World::with([
        ("in.jsonl", lines.as_bytes()),
        ("in.shape", b"in\n  id text\n" as &[u8]),
        ("out.shape", b"out\n  name text\n"),
        ("m.qmap", LOOKUP.as_bytes()),
        ("names.csv", b"id,name\n1,ADA\n"),
        ("job.xml", xml(&[("lookups", "names=names.csv")]).as_bytes()),
        ("none.xml", xml(&[]).replace("out.jsonl", "none.jsonl").as_bytes()),
        ("wrong.xml", xml(&[("lookups", "names=absent.csv")]).replace("out.jsonl", "wrong.jsonl").as_bytes()),
    ]);
    world.run("job start job.xml").code(0);
    let out = String::from_utf8(world.read("out.jsonl")).expect("text");
    assert_eq!(out.lines().filter(|line| line.contains("ADA")).count(), 5);
    let log = world.run("job log 1").code(0).out().to_owned();
    assert_eq!(log.lines().filter(|line| line.contains(": N-1: no name")).count(), 10, "{log}");
    assert!(log.contains("item 2: MAP-200: N-1: no name") && log.contains("MAP-200 was noted 5 times more"), "{log}");
    let refused = world.run("job start none.xml");
    refused.code(2);
    assert!(refused.err().contains("the map looks up `names`, and no table has that name"), "{}", refused.err());
    let refused = world.run("job start wrong.xml");
    refused.code(1);
    let out = refused.out();
    assert!(out.contains("the table cannot be read") && out.contains("absent.csv"), "{out}");
}

/// A property sets envelope values of interchanges that a job writes; a name without a header field is refused. Control numbers count up in the
/// file, also across a restart.
#[test]
fn interchanges_of_a_job_have_an_envelope_and_numbers() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/maps");
    let map = format!("{examples}/maps/cxml-850.qmap");
    let order = std::fs::read(format!("{examples}/data/order.cxml.xml")).expect("an example");
    let xml = |envelope: &str| {
        job(
            1,
            &[
                artifact("reader", "folderReader", &[("folder", "."), ("name", "*.cxml")]),
                artifact("processor", "mapProcessor", &[("map", &map), ("envelope", envelope)]),
                artifact("writer", "fileWriter", &[("file", "out.x12"), ("framing", "edi"), ("first-number", "7")]),
            ],
        )
    };
    let good = xml("sender=QUAYSIDE|receiver=ALDER");
    let world = World::with([
        ("1.cxml", order.as_slice()),
        ("2.cxml", b"not XML"),
        ("3.cxml", order.as_slice()),
        ("job.xml", good.as_bytes()),
        ("wrong.xml", xml("sender=QUAYSIDE|reciever=ALDER").as_bytes()),
        ("form.xml", xml("QUAYSIDE").as_bytes()),
        ("lines.xml", good.replace("value=\"edi\"", "value=\"lines\"").as_bytes()),
    ]);
    world.run("job start job.xml").code(1);
    world.write("2.cxml", &order);
    world.run("job restart 1").code(0);
    let out = latin1(&world.read("out.x12"));
    let headers: Vec<&str> = out.split("ISA*").skip(1).map(|interchange| &interchange[..102]).collect();
    let numbers: Vec<&str> = headers.iter().map(|header| header.split('*').nth(12).expect("ISA13")).collect();
    assert_eq!(numbers, ["000000007", "000000008", "000000009"], "{out}");
    assert!(headers.iter().all(|header| header.contains("*ZZ*QUAYSIDE       *ZZ*ALDER          *")), "{out}");
    assert!(!out.contains("*700101*"), "the header has the date of the job: {out}");
    assert!(out.contains("GE*1*9~") && out.contains("IEA*1*000000009~"), "{out}");
    world.run("validate out.x12").code(0);
    let wrong = world.run("job start wrong.xml");
    wrong.code(2);
    assert!(wrong.err().contains("no output has a header field `reciever`"), "{}", wrong.err());
    let form = world.run("job check form.xml");
    form.code(2);
    assert!(form.err().contains("`QUAYSIDE`, which is not NAME=VALUE"), "{}", form.err());
    let lines = world.run("job start lines.xml");
    lines.code(2);
    assert!(lines.err().contains("first-number of quayline.fileWriter has no effect"), "{}", lines.err());
}

/// Interchanges on a queue have the numbers of the store: they go on in the next job, and a job that fails leaves no gap.
#[test]
fn interchanges_that_a_job_puts_on_a_queue_are_numbered() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/maps");
    let order = std::fs::read(format!("{examples}/data/order.cxml.xml")).expect("an example");
    let map = [("map", &*format!("{examples}/maps/cxml-850.qmap")), ("envelope", "sender=QUAYSIDE|receiver=ALDER")];
    let xml = job(
        2,
        &[
            artifact("reader", "folderReader", &[("folder", "."), ("name", "*.cxml")]),
            artifact("processor", "mapProcessor", &map),
            artifact("writer", "queueWriter", &[("queue", "OUT"), ("control-numbers", "ALDER")]),
        ],
    );
    let world = World::with([
        ("1.cxml", order.as_slice()),
        ("2.cxml", order.as_slice()),
        ("3.cxml", order.as_slice()),
        ("job.xml", xml.as_bytes()),
    ]);
    world.run("queue define OUT").code(0);
    world.run("job start job.xml").code(0);
    // The chunk whose second item is not XML is rolled back, and returns its number.
    world.write("2.cxml", b"not XML");
    world.run("job start job.xml").code(1);
    world.write("2.cxml", &order);
    world.run("job restart 2").code(0);
    for expected in 1..=6 {
        let message = latin1(world.run("queue get OUT").code(0).out().as_bytes());
        let header: Vec<&str> = message.split('*').collect();
        assert_eq!(header[13], format!("{expected:09}"), "{message}");
        assert!(message.contains(&format!("GE*1*{expected}~")), "{message}");
    }
}

/// Transactions of one interchange are items; a fault between two of them is an exception that a job can skip.
#[test]
fn transactions_of_an_interchange_are_items() {
    let edi = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi");
    let claims = std::fs::read_to_string(format!("{edi}/orders-many.edi")).expect("an example");
    let parts = [
        artifact("reader", "documentReader", &[("file", "in.edi"), ("shape", &format!("{edi}/orders.guide"))]),
        artifact("writer", "fileWriter", &[("file", "out.edi"), ("framing", "none")]),
    ];
    let world = World::with([("in.edi", claims.as_bytes()), ("job.xml", job(1, &parts).as_bytes())]);
    let done = world.run("job start job.xml");
    done.code(0);
    let messages = claims.matches("UNH+").count();
    assert!(messages > 1 && done.out().contains(&format!("READ_COUNT {messages}, WRITE_COUNT {messages}")));
    let out = latin1(&world.read("out.edi"));
    assert_eq!((out.matches("UNB+").count(), out.matches("UNZ+1+").count()), (messages, messages));
}

/// `job check` accepted maps that do not compile, conditions with unknown fields, and programs without a module. The step failed when it began.
#[test]
fn the_check_of_a_job_compiles_its_definitions() {
    let world = World::with([
        ("rows.toml", ROWS.as_bytes()),
        ("out.shape", OUT.as_bytes()),
        ("rows.map", TO_JSON.replace("amount = amount", "amount = amuont").as_bytes()),
    ]);
    std::fs::create_dir(world.path("jobs")).expect("a folder");
    let reader = artifact("reader", "fileReader", &[("file", "rows.csv")]);
    let writer = artifact("writer", "fileWriter", &[("file", "out.jsonl")]);
    let check = |processor: &str, list: &[(&str, &str)]| {
        world.write("jobs/t.xml", job(4, &[reader.clone(), artifact("processor", processor, list), writer.clone()]));
        world.run("job check jobs/t.xml")
    };
    let wrong = check("mapProcessor", &[("map", "rows.map")]);
    assert!(wrong.code(2).err().contains("`amuont`") && wrong.err().contains("rows.map:5:10"), "{}", wrong.err());
    // The whole project names the fault once, and the job does not start.
    let whole = world.run("check");
    assert_eq!(whole.code(2).err().matches("`amuont`").count(), 1, "{}", whole.err());
    world.write("rows.csv", "name,amount\nA,1\n");
    let started = world.run("job start jobs/t.xml");
    assert!(started.code(2).err().contains("rows.map:5:10"), "{}", started.err());
    assert!(!world.path("data").exists(), "a job that is wrong makes no store");
    let missing = check("mapProcessor", &[("map", "raws.map")]);
    assert!(missing.code(2).err().contains("raws.map: cannot be read"), "{}", missing.err());
    assert!(missing.err().contains("at jobs/t.xml:1:"), "{}", missing.err());
    // An earlier step may write the map, so a start only warns.
    let started = world.run("job start jobs/t.xml");
    assert!(started.code(1).err().contains("warning["), "{}", started.err());
    let table = check("mapProcessor", &[("map", "rows.map"), ("lookups", "rates=rates.csv")]);
    assert!(table.code(2).err().contains("error["), "{}", table.err());
    let condition = check("filterProcessor", &[("where", "amount > 1 and nmae = name"), ("shape", "rows.toml")]);
    let line = std::fs::read_to_string(world.path("jobs/t.xml")).expect("the job");
    let column = line.find("nmae").expect("a field") + 1;
    assert!(condition.code(2).err().contains(&format!("at jobs/t.xml:1:{column}")), "{}", condition.err());
    let condition = check("filterProcessor", &[("where", "amount = &quot;x"), ("shape", "rows.toml")]);
    assert!(condition.code(2).err().contains("at jobs/t.xml:1:"), "{}", condition.err());
    let shape = check("filterProcessor", &[("where", "amount > 1"), ("shape", "rows.tml")]);
    assert!(shape.code(2).err().contains("rows.tml"), "{}", shape.err());
    check("filterProcessor", &[("where", "amount > 1"), ("shape", "#{jobParameters['s']}")]).code(0);
    check("filterProcessor", &[("where", "amount > 1"), ("shape", "rows.toml")]).code(0);
    let program = check("cobolProcessor", &[("program", "RATE"), ("length", "4")]);
    assert!(program.code(2).err().contains("RATE.so is not in the program folders: programs"), "{}", program.err());
    std::fs::create_dir(world.path("programs")).expect("a folder");
    world.write("programs/RATE.so", "\0RATES\0");
    let program = check("cobolProcessor", &[("program", "RATE"), ("length", "4")]);
    assert!(program.code(2).err().contains("has no such PROGRAM-ID"), "{}", program.err());
    world.write("programs/RATE.so", "\0RATE\0");
    check("cobolProcessor", &[("program", "rate"), ("length", "4")]).code(0);
    // Faults that only the artifact itself finds.
    let list = [("table", "t"), ("columns", "a"), ("key", "a"), ("mode", "update"), ("database", "postgresql://u@h/d")];
    world.write("sql.xml", job(4, &[reader.clone(), artifact("writer", "sqlWriter", &list)]));
    let update = world.run("job check sql.xml");
    assert!(update.code(2).err().contains("has nothing to update"), "{}", update.err());
}

/// The settings of jobs were read at the start of a job only.
#[test]
fn checks_read_the_settings_of_jobs() {
    let world = World::with([("in.txt", b"one\n".as_slice()), ("jobs/settings.toml", b"retain-days = 0\n")]);
    let reader = artifact("reader", "fileReader", &[("file", "in.txt")]);
    let writer = artifact("writer", "fileWriter", &[("file", "out.txt")]);
    world.write("jobs/t.xml", job(4, &[reader, writer]));
    for command in ["job check jobs/t.xml", "check", "job start jobs/t.xml"] {
        let told = world.run(command).code(2).err();
        assert!(told.contains("`retain-days` is 0") && told.contains("jobs/settings.toml:1:15"), "{command}: {told}");
    }
    world.write("jobs/settings.toml", "retain-days = 5\n");
    world.run("job check jobs/t.xml").code(0);
    world.run("check").code(0);
}

/// Checkpoint data that is larger than the job says is in the job log.
#[test]
fn checkpoint_data_has_a_least_size() {
    let world = World::with([("in.txt", b"one\ntwo\n".as_slice())]);
    let reader = [("FileName", "in.txt"), ("NumRecords", "4"), ("ReaderCheckpointDataSize", "3")];
    let parts =
        [artifact("reader", "accountReader", &reader), artifact("writer", "fileWriter", &[("file", "out.txt")])];
    world.write("job.xml", job(2, &parts));
    world.run("job start job.xml").code(0);
    let log = world.run("job log 1").out();
    let note = "ReaderCheckpointDataSize is 3, but quayline.accountReader needs 16 bytes of checkpoint data";
    assert_eq!(log.matches(note).count(), 1, "{log}");
}
