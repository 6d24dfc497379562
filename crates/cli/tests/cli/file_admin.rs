//! `quayline file … --admin` and `/store/files`: records of a store that a server has open.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::queue_admin::{KEY_DIGEST, world};
use crate::queue_serve::Serving;
use crate::world::World;

/// Records of the key-sequenced file: more than two pages.
const RECORDS: u32 = 2_500;

/// A record with a key of 4 bytes, 2 bytes of an index with duplicates, and bytes of every value.
fn record(number: u32) -> Vec<u8> {
    let city = [[0, 0xff], [b'\n', b'"'], [0x40, 0x5c]][number as usize % 3];
    let rest = (0..number % 90).map(|at| (number.wrapping_mul(31).wrapping_add(at * 7) & 0xff) as u8);
    number.to_be_bytes().into_iter().chain(city).chain(rest).collect()
}

/// Defines and loads the same files in a store.
fn load(world: &World, store: &str) {
    let framed = |record: Vec<u8>| {
        let length = u16::try_from(record.len() + 4).expect("a short record");
        [&length.to_be_bytes()[..], &[0, 0], &record].concat()
    };
    world.write("cust.rdw", (0..RECORDS).flat_map(|number| framed(record(number * 2))).collect::<Vec<u8>>());
    world.write("log.rdw", (1..40).flat_map(|number| framed(record(number))).collect::<Vec<u8>>());
    world.write("slots", "ABCD123456EFGH234567IJKL345678");
    for command in [
        "define CUST#1 --record 4-200 --key 0:4 --index CITY=4:2:duplicates",
        "define LOG --organisation esds --record 1-100",
        "define SLOTS --organisation rrds --record 10",
        "load CUST#1 cust.rdw -f rdw",
        "load LOG log.rdw -f rdw",
        "load SLOTS slots",
    ] {
        world.run(&format!("file {command} --store {store}")).code(0);
    }
}

/// Every command has the same output and exit code as on a store that it opens, and the same effect.
#[test]
fn commands_on_records_print_the_same_at_a_server() {
    let (world, admin) = world("");
    load(&world, "own");
    load(&world, "data");
    world.write("c.cpy", "       01 SLOT.\n          05 NAME PIC X(4).\n          05 AMOUNT PIC 9(6).\n");
    world.write("new", [0, 0, 0, 7, 0, 0xff, 0xfe, 0x00]);
    world.write("other", [0, 0, 0, 7, 0, 0xff, 0x0d, 0x0a, 0x80]);
    world.write("long", [b'x'; 300]);
    world.write("slot", "MNOP456789");
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    let mut codes = Vec::new();
    for command in [
        "facts",
        "facts LOG",
        "facts NONE",
        "get CUST#1 --key-hex 00000008",
        "get CUST#1 --key-hex 00000007",
        "get CUST#1 --key-hex 00000007 --at-least",
        "get CUST#1 --key-hex 00FF --at-least",
        "get CUST#1 --key-hex 0000",
        "get CUST#1 --index CITY --key-hex 00ff",
        "get CUST#1 --index NONE --key x",
        "get CUST#1 --key 12345",
        "get CUST#1 --key-hex 0",
        "get CUST#1 --number 3",
        "get CUST#1",
        "get NONE --key x",
        "get LOG --address 0",
        "get LOG --address 1",
        "get LOG --address 1 --at-least",
        "get SLOTS --number 2",
        "get SLOTS --number 0",
        "get SLOTS --number 2 -c c.cpy -e ascii",
        "get SLOTS --number 2 -c c.cpy",
        "browse CUST#1 -f rdw",
        "browse CUST#1",
        "browse CUST#1 -f rdw -n 2200",
        "browse CUST#1 -f rdw -n 5000",
        "browse CUST#1 -f rdw -n 0",
        "browse CUST#1 -n 0 --key-hex 00FFFFFF",
        "browse CUST#1 -n 0 --key-hex 00000008",
        "browse CUST#1 -n 0 --key 12345",
        "browse CUST#1 -n 0 --number 3",
        "browse CUST#1 -n 0 --index NONE",
        "browse LOG -n 0 --address 3 --reverse",
        "browse NONE -n 0",
        "browse CUST#1 -f rdw -n 1500 --reverse",
        "browse CUST#1 -f rdw -n 1500 --key-hex 0003",
        "browse CUST#1 -f rdw -n 1500 --key-hex 00001000 --reverse",
        "browse CUST#1 -f rdw -n 2500 --index CITY",
        "browse CUST#1 -f rdw -n 2500 --index CITY --reverse",
        "browse CUST#1 -f rdw -n 1200 --index CITY --key-hex 0a22",
        "browse CUST#1 --index CITY --key-hex ffff",
        "browse CUST#1 --index NONE",
        "browse CUST#1 -f nonsense",
        "browse NONE",
        "browse LOG -f rdw --address 5",
        "browse LOG -f rdw --reverse",
        "browse SLOTS --number 2",
        "browse SLOTS -c c.cpy -e ascii",
        "unload CUST#1 -f rdw",
        "unload CUST#1",
        "unload LOG -f rdw",
        "unload SLOTS",
        "unload NONE",
        "put CUST#1 new",
        "put CUST#1 other",
        "put CUST#1 other --replace",
        "get CUST#1 --key-hex 00000007",
        "put CUST#1 long",
        "put LOG slot --replace",
        "put LOG slot",
        "put SLOTS slot",
        "put NONE slot",
        "put SLOTS missing",
        "delete CUST#1 --index CITY --key-hex 00ff",
        "delete CUST#1 --key-hex 00000007",
        "delete CUST#1 --key-hex 00000007",
        "delete CUST#1 --key-hex 0000",
        "delete CUST#1",
        "delete CUST#1 --key x --all",
        "delete SLOTS --number 1",
        "delete LOG --address 0",
        "unload CUST#1 -f rdw",
        "unload SLOTS",
        "unload LOG -f rdw",
    ] {
        let here = world.run(&format!("file {command} --store own"));
        let there = world.run(&format!("file {command} --admin {admin}"));
        assert_eq!(there.err(), here.err(), "{command}");
        assert!(there.stdout == here.stdout, "{command}: {} and {}", there.out(), here.out());
        assert_eq!(there.code, here.code, "{command}");
        codes.push(here.code.expect("a code"));
    }
    for code in [0, 1, 2, 7] {
        assert!(codes.contains(&code), "no command ends with {code}");
    }
    let written = world.run(&format!("file unload CUST#1 -f rdw -o there --admin {admin}")).code(0).err();
    assert_eq!(written, "2500 records unloaded\n");
    assert_eq!(world.run("file unload CUST#1 -f rdw -o here --store own").code(0).err(), written);
    assert_eq!(world.read("there"), world.read("here"));
    let exists = world.run(&format!("file unload CUST#1 -f rdw -o there --admin {admin}")).code(2).err();
    assert!(exists.contains("there exists"), "{exists}");
    // A server refuses what needs the store itself.
    for command in ["unload CUST#1 --salvage", "delete CUST#1 --all"] {
        let refused = world.run(&format!("file {command} --admin {admin}")).code(2).err();
        assert!(refused.contains("stop the server"), "{command}: {refused}");
    }
    world.write("huge", vec![0; (65 << 20) + 1]);
    let huge = world.run(&format!("file put CUST#1 huge --admin {admin}")).code(2).err();
    assert!(huge.contains("at most 68157440"), "{huge}");
    assert_eq!(serving.stop(), Some(0));
    assert_eq!(world.run("file verify CUST#1 --store data").code(0).err(), "records, keys and indexes agree\n");
}

/// Sends a request and returns status and body.
fn request(admin: SocketAddr, method: &str, target: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(admin).expect("the listener accepts");
    let length = body.len();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).expect("it is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
    let status = std::str::from_utf8(&answer[9..12]).ok().and_then(|text| text.parse().ok()).expect("a status");
    (status, answer.split_off(end + 4))
}

fn page(admin: SocketAddr, target: &str) -> (Vec<String>, Option<String>) {
    let (status, body) = request(admin, "GET", target, b"");
    assert_eq!(status, 200, "{target}: {:?}", std::str::from_utf8(&body));
    let page: Value = serde_json::from_slice(&body).expect("JSON");
    let records = page["records"].as_array().expect("records").iter();
    let text = |record: &Value| {
        let bytes = quayline_core::from_hex(record["record"].as_str().expect("digits")).expect("digits");
        String::from_utf8(bytes).expect("text")
    };
    (records.map(text).collect(), page["next"].as_str().map(str::to_owned))
}

/// A file that changes between two pages: no record that stays is lost or read twice, also among equal keys of an index.
#[test]
fn a_browse_over_pages_continues_while_the_file_changes() {
    let (world, admin) = world("");
    world.run("file define F --record 3 --key 0:2 --index KIND=2:1:duplicates").code(0);
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    let post = |record: &str| assert_eq!(request(admin, "POST", "/store/files/F/records", record.as_bytes()).0, 201);
    let delete =
        |key: &str| assert_eq!(request(admin, "DELETE", &format!("/store/files/F/record?key={key}"), b"").0, 200);
    ["10x", "20x", "30y", "40x", "50x"].into_iter().for_each(post);
    let (first, next) = page(admin, "/store/files/F/records?limit=2");
    assert_eq!(first, ["10x", "20x"]);
    // The last record of the page goes, and others come on both sides of it.
    delete("20");
    ["15x", "25x", "45y"].into_iter().for_each(post);
    let rest = format!("/store/files/F/records?after={}", next.expect("more"));
    assert_eq!(page(admin, &rest), (["25x", "30y", "40x", "45y", "50x"].map(str::to_owned).to_vec(), None));
    // In the order of arrival among equal keys: 10 40 50 15 25.
    let (first, next) = page(admin, "/store/files/F/records?index=KIND&limit=2");
    assert_eq!(first, ["10x", "40x"]);
    delete("40");
    post("05x");
    let rest = format!("/store/files/F/records?index=KIND&limit=4&after={}", next.expect("more"));
    let (second, next) = page(admin, &rest);
    assert_eq!(second, ["50x", "15x", "25x", "05x"]);
    let (last, none) = page(admin, &format!("/store/files/F/records?index=KIND&after={}", next.expect("more")));
    assert_eq!((last.as_slice(), none), (["30y", "45y"].map(str::to_owned).as_slice(), None));
    let (back, next) = page(admin, "/store/files/F/records?order=backward&limit=1");
    assert_eq!(back, ["50x"]);
    delete("50");
    let rest = format!("/store/files/F/records?order=backward&limit=2&after={}", next.expect("more"));
    assert_eq!(page(admin, &rest).0, ["45y", "30y"]);
    assert_eq!(serving.stop(), Some(0));
}

/// Wrong requests have a status and a finding with a remedy.
#[test]
fn wrong_requests_about_records_are_refused() {
    let (world, admin) = world("");
    world.run("file define F --record 3 --key 0:2").code(0);
    world.run("file define R --record 3 --organisation rrds").code(0);
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    assert_eq!(request(admin, "POST", "/store/files/F/records", b"10x").0, 201);
    for (method, target, body, status, told) in [
        ("GET", "F/records?limit=0", "", 400, "`limit` is `0`"),
        ("GET", "F/records?limit=1001", "", 400, "from 1 to 1000"),
        ("GET", "F/records?after=xyz", "", 400, "not the end of a page"),
        ("GET", "F/records?after=", "", 400, "not the end of a page"),
        ("GET", "F/records?after=00&key=10", "", 400, "exclude each other"),
        ("GET", "F/records?order=up", "", 400, "forward or backward"),
        ("GET", "F/records?count=5", "", 400, "unknown parameter `count`"),
        ("GET", "F/records?key=10&key_hex=10", "", 400, "exclude each other"),
        ("GET", "F/records?key=", "", 400, "is empty"),
        ("GET", "F/records?number=many", "", 400, "`number` is `many`"),
        ("GET", "F/records?key=99", "", 404, "STO-013"),
        ("GET", "F/records?index=NONE", "", 404, "STO-023"),
        ("GET", "NONE/records", "", 404, "STO-019"),
        ("GET", "F/records", "body", 400, "has no body"),
        ("GET", "F/record", "", 400, "names no record"),
        ("GET", "F/record?key=99", "", 404, "STO-013"),
        ("GET", "F/record?key=10&relation=less", "", 400, "equal or at-least"),
        ("GET", "F/record?key=123", "", 400, "STO-011"),
        ("GET", "F/record?address=1", "", 400, "STO-021"),
        ("GET", "R/record?number=0", "", 400, "STO-022"),
        ("POST", "F/records", "10y", 409, "STO-012"),
        ("POST", "F/records", "1", 400, "STO-015"),
        ("POST", "NONE/records", "10y", 404, "STO-019"),
        ("PUT", "F/record", "99y", 404, "STO-013"),
        ("PUT", "R/record", "99y", 400, "STO-021"),
        ("DELETE", "F/record", "", 400, "names no record"),
        ("DELETE", "F/record?key=99", "", 404, "STO-013"),
        ("PATCH", "F/record", "10y", 405, "does not support PATCH"),
        ("GET", "F/other", "", 404, "does not exist"),
        ("GET", "NONE/facts", "", 404, "STO-019"),
    ] {
        let (found, answer) = request(admin, method, &format!("/store/files/{target}"), body.as_bytes());
        let text = String::from_utf8(answer).expect("text");
        assert!(found == status && text.contains(told), "{method} {target}: {found} {text}");
        let findings: Value = serde_json::from_str(&text).expect("JSON");
        assert!(findings["findings"][0]["hint"].is_string(), "{method} {target}: {text}");
    }
    assert_eq!(request(admin, "POST", "/store/files/R/records", b"abc").0, 201);
    let (_, numbered) = request(admin, "GET", "/store/files/R/records", b"");
    assert_eq!(numbered, b"{\"records\":[{\"record\":\"616263\",\"number\":1}]}\n");
    assert_eq!(request(admin, "GET", "/store/files/F/record?key=1&relation=at-least", b""), (200, b"10x".to_vec()));
    assert_eq!(request(admin, "PUT", "/store/files/F/record", b"10z").0, 200);
    assert_eq!(page(admin, "/store/files/F/records"), (vec!["10z".to_owned()], None));
    assert_eq!(serving.stop(), Some(0));
}

/// A role of `read` reads records, and only a role of `operate` changes them.
#[test]
fn records_need_the_roles_of_the_listener() {
    let (world, admin) = world("api-keys = \"keys.toml\"\n");
    let settings = String::from_utf8(world.read("quayline.toml")).expect("text");
    world.write(
        "quayline.toml",
        settings.replace("[serve.queues", "read = [\"looks\"]\noperate = [\"acts\"]\n[serve.queues"),
    );
    world.write("keys.toml", format!("[[key]]\nid = \"clerk\"\nsha256 = \"{KEY_DIGEST}\"\nroles = [\"looks\"]\n"));
    world.write("r", "10x");
    world.run("file define F --record 3 --key 0:2").code(0);
    world.run("file put F r").code(0);
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    let run = |command: &str, key: &str| {
        let words = format!("file {command} --admin {admin}");
        let done = world.command(words.split_whitespace()).env("QUAYLINE_ADMIN_KEY", key).output().expect("it runs");
        (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).expect("text"))
    };
    for command in ["get F --key 10", "browse F", "unload F", "facts F", "put F r --replace", "delete F --key 10"] {
        let (code, told) = run(command, "");
        assert!(code == Some(2) && told.contains("SRV-015"), "{command}: {told}");
    }
    for command in ["get F --key 10", "browse F", "unload F"] {
        assert_eq!(run(command, "operator-key"), (Some(0), "10x".to_owned()), "{command}");
    }
    assert_eq!(run("facts F", "operator-key").0, Some(0));
    for command in ["put F r --replace", "put F r", "delete F --key 10"] {
        let (code, told) = run(command, "operator-key");
        assert!(code == Some(2) && told.contains("SRV-016") && told.contains("acts"), "{command}: {told}");
    }
    assert_eq!(serving.stop(), Some(0));
}

/// Regression: `--index` had no effect with a place in the file, and the message for `--add-index` named another option.
#[test]
fn options_about_an_index_are_named() {
    let (world, _) = world("");
    load(&world, "own");
    for (command, message) in [
        ("get LOG --index CITY --address 0", "--index has no effect with --address"),
        ("browse SLOTS --index CITY --number 1", "--index has no effect with --number"),
        ("alter CUST#1 --add-index bad", "--add-index has no name"),
        ("define NEW --record 4-200 --key 0:4 --index bad", "--index has no name"),
    ] {
        let found = world.run(&format!("file {command} --store own")).code(2).err();
        assert!(found.contains(message), "{command}: {found}");
    }
}
