//! Record files and queues that APIs serve. The server runs in this process, so that a test can hold locks and reply to messages.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_gateway::Definitions;
use quayline_server::{Beside, ServeConfig, serve_with, store_misfits};
use quayline_store::queue::{GetWait, Message, QueueDefinition, Select};
use quayline_store::record_file::{AlternateIndex, By, Duplicates, FileDefinition, KeyPlace, Organisation, Relation};
use quayline_store::{Access, LockWait, MemoryEngine, Store, StoreLimits, SystemClock};
use tempfile::TempDir;

use crate::world::{Answer, Ends, read, wait_for};

const COPYBOOK: &str = "
       01 CUSTOMER.
          05 CUST-KEY.
             10 BRANCH  PIC X(2).
             10 CUST-ID PIC 9(4).
          05 NAME       PIC X(8).
          05 TAX-NUMBER PIC 9(4).
          05 SECRET     PIC X(4).
";

const PROVIDER: &str = "[provider]\nkind = \"file\"\nfile = \"CUSTOMER\"\nkey = \"CUST-KEY\"\nwait-limit-ms = 300\n[[provider.index]]\nname = \"NAME\"\nfield = \"NAME\"\n[[provider.index]]\nname = \"TAX\"\nfield = \"TAX-NUMBER\"\n[options]\ninitialize = \"initial\"\n";

fn operation(method: &str, path: &str, more: &str, parameters: &[(&str, &str)]) -> String {
    let place = |name: &str| if path.contains(&format!("{{{name}}}")) { "path" } else { "query" };
    let parameters: String = parameters
        .iter()
        .map(|(name, field)| {
            format!("[[operation.parameter]]\nname = \"{name}\"\nin = \"{}\"\nfield = \"{field}\"\n", place(name))
        })
        .collect();
    format!("[[operation]]\nmethod = \"{method}\"\npath = \"{path}\"\nservice = \"customer\"\n{more}{parameters}")
}

fn api() -> String {
    let key = [("branch", "BRANCH"), ("id", "CUST-ID")];
    let one = "/c/{branch}/{id}";
    [
        "base-path = \"/v1\"\n".to_owned(),
        operation("GET", one, "", &key),
        operation("PUT", one, "", &key),
        operation("PATCH", one, "", &key),
        operation("DELETE", one, "", &key),
        operation("POST", "/c", "", &[]),
        operation("GET", "/c", "action = \"browse\"\npage = { default = 2, most = 5 }\n", &key),
        operation("GET", "/from", "action = \"browse\"\nmatch = \"from\"\n", &key),
        operation("GET", "/named/{name}", "action = \"browse\"\nby = \"NAME\"\n", &[("name", "NAME")]),
        operation(
            "GET",
            "/beginning/{name}",
            "action = \"browse\"\nby = \"NAME\"\nmatch = \"generic\"\n",
            &[("name", "NAME")],
        ),
        operation("GET", "/tax/{tax}", "by = \"TAX\"\n", &[("tax", "TAX-NUMBER")]),
    ]
    .join("\n")
}

struct World {
    store: Store,
    address: SocketAddr,
    admin: SocketAddr,
    folder: TempDir,
}

fn store() -> Store {
    let clock = Arc::new(SystemClock);
    let store = Store::open(Arc::new(MemoryEngine::new()), clock, StoreLimits::default(), Access::Write).unwrap();
    let index = |name: &str, offset, length, duplicates| AlternateIndex {
        name: name.to_owned(),
        place: KeyPlace { offset, length },
        duplicates,
    };
    let mut unit = store.begin().unwrap();
    let definition = FileDefinition {
        name: "CUSTOMER".to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 6 }),
        record_bytes_min: 22,
        record_bytes_max: 30,
        alternates: vec![index("NAME", 6, 8, Duplicates::Allowed), index("TAX", 14, 4, Duplicates::Unique)],
    };
    store.define_file(&mut unit, definition).unwrap();
    for name in ["REQUESTS", "REPLIES", "DEAD.LETTER"] {
        store.define_queue(&mut unit, QueueDefinition::local(name)).unwrap();
    }
    unit.commit().unwrap();
    store
}

/// A server over a project of one service and one API, with this hidden in requests and answers.
fn served(store: &Store, provider: &str, interface: &str, api: &str) -> World {
    served_of(COPYBOOK, store, provider, interface, api)
}

fn served_of(copybook: &str, store: &Store, provider: &str, interface: &str, api: &str) -> World {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    for sub in ["services", "apis"] {
        std::fs::create_dir_all(root.join(sub)).unwrap();
    }
    std::fs::write(root.join("customer.cpy"), copybook).unwrap();
    let side = |name: &str| format!("[{name}]\nkey-style = \"camel\"\n{interface}");
    let service =
        format!("copybook = \"customer.cpy\"\nencoding = \"ascii\"\n{provider}{}{}", side("request"), side("response"));
    std::fs::write(root.join("services/customer.toml"), service).unwrap();
    std::fs::write(root.join("apis/customer.toml"), api).unwrap();
    let admin = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = format!(
        "[serve]\nlisten = \"127.0.0.1:0\"\nthreads = 2\n[serve.authentication]\nrequired = false\n[serve.admin]\nlisten = \"{admin}\"\n"
    );
    std::fs::write(root.join("quayline.toml"), settings).unwrap();
    let config = ServeConfig::load(&root).unwrap();
    let definitions = Definitions::load(&root).unwrap_or_else(|findings| panic!("{findings}"));
    assert_eq!(store_misfits(store, &definitions), []);
    let (sender, address) = std::sync::mpsc::channel();
    let beside = Beside { store: Some(store.clone()), ..Beside::default() };
    // It ends with the test's process.
    std::thread::spawn(move || {
        serve_with(config, root, definitions, beside, Box::new(|_| ()), |address| sender.send(address).unwrap())
    });
    World { store: store.clone(), address: address.recv().unwrap(), admin, folder }
}

fn records() -> World {
    served(&store(), PROVIDER, "exclude = [\"SECRET\"]\n", &api())
}

impl World {
    fn call(&self, method: &str, target: &str, headers: &str, body: &str) -> Answer {
        Self::call_at(self.address, method, target, headers, body)
    }

    fn call_at(address: SocketAddr, method: &str, target: &str, headers: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let content = if body.is_empty() {
            String::new()
        } else {
            format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
        };
        stream
            .write_all(
                format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n{content}{headers}\r\n{body}").as_bytes(),
            )
            .unwrap();
        read(&mut stream)
    }

    fn get(&self, target: &str) -> Answer {
        self.call("GET", target, "", "")
    }

    /// Status, and the code of a problem or the body.
    fn told(&self, method: &str, target: &str, headers: &str, body: &str) -> String {
        let answer = self.call(method, target, headers, body);
        let text = answer.text();
        let code = text.split_once("\"code\":\"").map(|(_, rest)| rest[..7].to_owned());
        format!("{} {}", answer.status, code.unwrap_or(text)).trim_end().to_owned()
    }

    fn insert(&self, branch: &str, id: u32, name: &str, tax: u32) -> String {
        let body = format!(
            "{{\"custKey\":{{\"branch\":\"{branch}\",\"custId\":{id}}},\"name\":\"{name}\",\"taxNumber\":{tax}}}"
        );
        self.told("POST", "/v1/c", "", &body)
    }

    fn stored(&self, key: &[u8]) -> Vec<u8> {
        let unit = self.store.begin().unwrap();
        let file = self.store.file(&unit, "CUSTOMER").unwrap();
        file.read(&unit, By::Key(key), Relation::Equal).unwrap().bytes.to_vec()
    }
}

#[test]
fn a_record_is_inserted_read_changed_and_deleted_with_the_status_of_its_file() {
    let world = records();
    let shown = |id: u32, name: &str, tax: u32| {
        format!(r#"{{"custKey":{{"branch":"B1","custId":{id}}},"name":"{name}","taxNumber":{tax}}}"#)
    };
    // A `fields` that no response has is refused before the record is added.
    let body = r#"{"custKey":{"branch":"B1","custId":7},"name":"ADA"}"#;
    assert_eq!(world.told("POST", "/v1/c?fields=nam", "", body), "400 GTW-106");
    assert_eq!(world.told("GET", "/v1/c/B1/7", "", ""), "404 GTW-128");
    assert_eq!(world.insert("B1", 7, "ADA", 1), format!("201 {}", shown(7, "ADA", 1)));
    assert_eq!(world.stored(b"B10007"), b"B10007ADA     0001    ");
    assert_eq!(world.insert("B1", 7, "EVE", 2), "409 GTW-130", "the key exists");
    assert_eq!(world.insert("B1", 8, "EVE", 1), "409 GTW-130", "the unique key of an index exists");
    assert_eq!(world.told("GET", "/v1/c/B1/7", "", ""), format!("200 {}", shown(7, "ADA", 1)));
    assert_eq!(world.told("GET", "/v1/c/B1/8", "", ""), "404 GTW-128");
    assert_eq!(world.told("GET", "/v1/tax/1?fields=name", "", ""), r#"200 {"name":"ADA"}"#);
    assert_eq!(world.told("GET", "/v1/tax/9", "", ""), "404 GTW-128");
    assert_eq!(world.told("PATCH", "/v1/c/B1/7", "", r#"{"name":"BOB"}"#), format!("200 {}", shown(7, "BOB", 1)));
    assert_eq!(world.told("PUT", "/v1/c/B1/7", "", r#"{"taxNumber":5}"#), format!("200 {}", shown(7, "", 5)));
    assert_eq!(world.told("PUT", "/v1/c/B1/8", "", r#"{"taxNumber":6}"#), "404 GTW-128");
    // The key is in the path; a body that has it would contradict it.
    assert_eq!(world.told("PUT", "/v1/c/B1/7", "", r#"{"custKey":{"branch":"B2"}}"#), "400 GTW-103");
    assert_eq!(world.told("POST", "/v1/c", "", r#"{"name":"X"}"#), "400 GTW-103", "a new record has its key");
    assert_eq!(world.told("DELETE", "/v1/c/B1/7", "", ""), "204");
    assert_eq!(world.told("DELETE", "/v1/c/B1/7", "", ""), "404 GTW-128");
    assert_eq!((world.store.units_open(), world.store.locks_held()), (0, 0));
}

/// 201 without `Location` (RFC 9110, section 15.3.2): a client had to know how the API builds its paths.
#[test]
fn an_added_record_says_where_it_is_read() {
    let world = records();
    for (branch, id, expected) in
        [("B1", 7, "/v1/c/B1/7"), ("a/", 30, "/v1/c/a%2F/30"), ("\u{e9}", 0, "/v1/c/%C3%A9/0")]
    {
        let body = format!("{{\"custKey\":{{\"branch\":\"{branch}\",\"custId\":{id}}},\"taxNumber\":{id}}}");
        let answer = world.call("POST", "/v1/c", "", &body);
        if branch == "\u{e9}" {
            assert_eq!(answer.status, 400, "not a character of the record's code page");
            continue;
        }
        assert_eq!((answer.status, answer.header("location")), (201, Some(expected)), "{}", answer.text());
        assert_eq!(world.get(expected).text(), answer.text());
    }
    // A key that no path can say has none.
    for (branch, tax) in [("", 9), (".", 10), ("..", 11)] {
        let body = format!("{{\"custKey\":{{\"branch\":\"{branch}\",\"custId\":1}},\"taxNumber\":{tax}}}");
        let answer = world.call("POST", "/v1/c", "", &body);
        assert_eq!((answer.status, answer.header("location")), (201, None), "{branch}");
    }
    assert_eq!(world.get("/v1/c/B1/7").header("location"), None);
    let document = world.get("/v1/openapi.json").text();
    assert_eq!(document.matches("\"Location\"").count(), 1, "the 201 of POST");
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    for (method, statuses) in
        [("get", &["304", "404", "412"][..]), ("put", &["404", "412"]), ("delete", &["404", "412"])]
    {
        let responses = &document["paths"]["/v1/c/{branch}/{id}"][method]["responses"];
        assert!(statuses.iter().all(|status| responses.get(status).is_some()), "{method}: {responses}");
    }
}

/// An update built only from the visible fields would blank the fields that the API hides, and truncate a longer record.
#[test]
fn what_an_api_hides_is_kept() {
    let world = records();
    let mut unit = world.store.begin().unwrap();
    let file = world.store.file(&unit, "CUSTOMER").unwrap();
    file.insert(&mut unit, b"B10007ADA     0001KEEPand more").unwrap();
    unit.commit().unwrap();
    assert_eq!(world.call("PUT", "/v1/c/B1/7", "", r#"{"name":"BOB","taxNumber":2}"#).status, 200);
    assert_eq!(world.stored(b"B10007"), b"B10007BOB     0002KEEPand more");
    assert_eq!(world.call("PATCH", "/v1/c/B1/7", "", r#"{"taxNumber":3}"#).status, 200);
    assert_eq!(world.stored(b"B10007"), b"B10007BOB     0003KEEPand more");
}

/// A change was stored that made the record unreadable; each later request for it got 502. The selector of the request chose the view.
#[test]
fn a_change_that_no_answer_could_show_is_not_stored() {
    let views = COPYBOOK.replace(
        "05 SECRET     PIC X(4).",
        "05 KIND PIC X.\n          05 RAW PIC X(3).\n          05 NUM REDEFINES RAW PIC 9(3).",
    );
    let choose = "choose = [{ storage = \"RAW\", by = \"KIND\", when = { N = \"NUM\", R = \"RAW\" } }]\n";
    let world = served_of(&views, &store(), PROVIDER, choose, &api());
    let body = |id: u32, more: &str| {
        format!("{{\"custKey\":{{\"branch\":\"B1\",\"custId\":{id}}},\"taxNumber\":{id},{more}}}")
    };
    let shown = |id: u32, more: &str| {
        body(id, &format!("\"name\":\"\",{more}"))
            .replace(&format!("\"taxNumber\":{id},\"name\":\"\","), &format!("\"name\":\"\",\"taxNumber\":{id},"))
    };
    let number = r#""kind":"N","num":12"#;
    assert_eq!(world.told("POST", "/v1/c", "", &body(7, number)), format!("201 {}", shown(7, number)));
    // No view for the selector.
    assert_eq!(world.told("POST", "/v1/c", "", &body(8, r#""kind":"Q""#)), "400 GTW-103");
    assert_eq!(world.told("GET", "/v1/c/B1/8", "", ""), "404 GTW-128");
    for change in [r#"{"raw":"abc"}"#, r#"{"raw":"123"}"#, r#"{"kind":"Q"}"#] {
        assert_eq!(world.told("PATCH", "/v1/c/B1/7", "", change), "400 GTW-103", "{change}");
        assert_eq!(world.stored(b"B10007"), b"B10007        0007N012", "{change}");
    }
    let changed = shown(7, r#""kind":"N","num":13"#);
    assert_eq!(world.told("PATCH", "/v1/c/B1/7", "", r#"{"num":13}"#), format!("200 {changed}"));
    assert_eq!(world.told("PUT", "/v1/c/B1/7", "", r#"{"kind":"N","raw":"abc"}"#), "400 GTW-103");
    assert_eq!(world.told("GET", "/v1/c/B1/7", "", ""), format!("200 {changed}"));
    // The same with bytes after the record of the copybook.
    let mut unit = world.store.begin().unwrap();
    world.store.file(&unit, "CUSTOMER").unwrap().insert(&mut unit, b"B10009        0009N007more").unwrap();
    unit.commit().unwrap();
    assert_eq!(world.told("PATCH", "/v1/c/B1/9", "", r#"{"kind":"Q"}"#), "400 GTW-103");
    assert_eq!(
        world.told("PATCH", "/v1/c/B1/9", "", r#"{"num":8}"#),
        format!("200 {}", shown(9, r#""kind":"N","num":8"#))
    );
    assert_eq!(world.stored(b"B10009"), b"B10009        0009N008more");
}

#[test]
fn a_change_can_depend_on_the_record_that_the_client_has_seen() {
    let world = records();
    world.insert("B1", 7, "ADA", 1);
    let tag = |answer: &Answer| answer.header("etag").unwrap().to_owned();
    let first = tag(&world.get("/v1/c/B1/7"));
    let condition = |name: &str, tag: &str| format!("{name}: {tag}\r\n");
    let xml = world.call("GET", "/v1/c/B1/7", "accept: application/xml\r\n", "");
    assert_ne!(tag(&xml), first, "two forms have two tags");
    assert_eq!(world.told("GET", "/v1/c/B1/7", &condition("if-none-match", &first), ""), "304");
    let patch = |headers: &str, body: &str| world.call("PATCH", "/v1/c/B1/7", headers, body);
    let second = patch(&condition("if-match", &tag(&xml)), r#"{"name":"BOB"}"#);
    assert_eq!(second.status, 200);
    assert_eq!(tag(&second), tag(&world.get("/v1/c/B1/7")), "the answer to a change has the record's tag");
    assert_eq!(patch(&condition("if-match", &first), r#"{"name":"EVE"}"#).status, 412);
    assert_eq!(world.told("DELETE", "/v1/c/B1/7", &condition("if-match", &first), ""), "412 GTW-129");
    assert_eq!(world.told("DELETE", "/v1/c/B1/9", &condition("if-match", "*"), ""), "412 GTW-129");
    assert_eq!(patch("if-none-match: *\r\n", r#"{"name":"EVE"}"#).status, 412);
    assert_eq!(world.stored(b"B10007"), b"B10007BOB     0001    ");
    assert_eq!(world.told("DELETE", "/v1/c/B1/7", &condition("if-match", &tag(&second)), ""), "204");
}

/// With the tag of the XML form, a client that accepts JSON got 304 and kept XML.
#[test]
fn a_known_form_of_a_record_is_a_304_and_no_other() {
    let world = records();
    world.insert("B1", 7, "ADA", 1);
    let read_of = |world: &World, target: &str, accept: &str, known: &str| {
        let condition = if known.is_empty() { String::new() } else { format!("if-none-match: {known}\r\n") };
        world.call("GET", target, &format!("accept: application/{accept}\r\n{condition}"), "")
    };
    let read = |target: &str, accept: &str, known: &str| read_of(&world, target, accept, known);
    let target = "/v1/c/B1/7";
    let tag = |answer: &Answer| answer.header("etag").unwrap().to_owned();
    let (json, xml) = (tag(&read(target, "json", "")), tag(&read(target, "xml", "")));
    for (accept, known, status) in [
        ("json", json.clone(), 304),
        ("json", xml.clone(), 200),
        ("xml", xml.clone(), 304),
        ("xml", json.clone(), 200),
        ("json", format!("{xml}, W/{json}"), 304),
        ("json", "*".to_owned(), 304),
        ("json", format!("{}-gzip\"", json.trim_end_matches('"')), 200),
    ] {
        let answer = read(target, accept, &known);
        assert_eq!(answer.status, status, "{accept} {known}");
        let own = if accept == "xml" { &xml } else { &json };
        assert_eq!(&tag(&answer), own, "{accept} {known}");
    }
    let zipped = format!("{}-gzip\"", json.trim_end_matches('"'));
    let answer = world.call("GET", target, &format!("accept-encoding: gzip\r\nif-none-match: {zipped}\r\n"), "");
    assert_eq!((answer.status, tag(&answer)), (304, zipped));
    // Sent as JSON although the client accepts XML only, because the response that fits has no XML form.
    let responses = "[[operation.response]]\nstatus = 200\nwhen = [{ field = \"TAX-NUMBER\", equals = 1 }]\n[[operation.response]]\nstatus = 200\nexclude = [\"SECRET\"]\n";
    let api = format!(
        "base-path = \"/v1\"\n{}{responses}",
        operation("GET", "/c/{branch}/{id}", "", &[("branch", "BRANCH"), ("id", "CUST-ID")])
    );
    let other = served(&world.store, PROVIDER, "rename = { SECRET = \"a b\", TAX-NUMBER = \"a_x0020_b\" }\n", &api);
    let shown = read_of(&other, target, "xml", "");
    assert_eq!((shown.status, shown.header("content-type")), (200, Some("application/json")));
    assert_eq!(tag(&shown), json);
    assert_eq!(read_of(&other, target, "xml", &xml).status, 200);
    assert_eq!(read_of(&other, target, "xml", &json).status, 304);
}

/// Each client reads, adds one and writes if nobody wrote since; what is lost would be missing in the sum.
#[test]
fn no_update_is_lost_between_clients() {
    const CLIENTS: u32 = 4;
    const ROUNDS: u32 = 10;
    let world = records();
    world.insert("B1", 7, "SUM", 0);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut done = 0;
                while done < ROUNDS {
                    let seen = world.get("/v1/c/B1/7");
                    let text = seen.text();
                    let (_, rest) = text.split_once("\"taxNumber\":").unwrap();
                    let number: u32 = rest.trim_end_matches('}').parse().unwrap();
                    let headers = format!("if-match: {}\r\n", seen.header("etag").unwrap());
                    let body = format!("{{\"taxNumber\":{}}}", number + 1);
                    match world.call("PATCH", "/v1/c/B1/7", &headers, &body).status {
                        200 => done += 1,
                        412 | 503 => {}
                        other => panic!("{other}"),
                    }
                }
            });
        }
    });
    assert!(world.get("/v1/c/B1/7").text().ends_with(&format!("\"taxNumber\":{}}}", CLIENTS * ROUNDS)));
}

#[test]
fn a_request_waits_for_a_record_that_another_unit_of_work_holds() {
    let world = records();
    world.insert("B1", 7, "ADA", 1);
    let hold = || {
        let mut unit = world.store.begin().unwrap();
        let file = world.store.file(&unit, "CUSTOMER").unwrap();
        let read = file.read_for_update(&mut unit, By::Key(b"B10007"), Relation::Equal, LockWait::No).unwrap();
        (unit, file, read)
    };
    let (unit, ..) = hold();
    let held = world.call("PATCH", "/v1/c/B1/7", "", r#"{"name":"BOB"}"#);
    assert_eq!((held.status, held.header("retry-after")), (503, Some("1")));
    assert!(held.text().contains("GTW-131"), "{}", held.text());
    // Readers wait for nobody.
    assert_eq!(world.get("/v1/c/B1/7").status, 200);
    drop(unit);
    // One that is released in time is changed, whoever changed it before.
    let (mut unit, file, read) = hold();
    file.rewrite(&mut unit, &read, b"B10007ADA     0001KEEP").unwrap();
    let answered = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.call("PATCH", "/v1/c/B1/7", "", r#"{"name":"BOB"}"#).status);
        wait_for("the request", || world.store.units_open() > 1);
        unit.commit().unwrap();
        waiting.join().unwrap()
    });
    // On a machine that stands still longer than the wait limit, the record was not free in time.
    assert!(answered == 200 || answered == 503, "{answered}");
    let name: &[u8] = if answered == 200 { b"BOB" } else { b"ADA" };
    assert_eq!(world.stored(b"B10007"), [b"B10007", name, b"     0001KEEP"].concat());
    assert_eq!((world.store.units_open(), world.store.locks_held()), (0, 0));
}

#[test]
fn a_browse_is_read_page_by_page() {
    let world = records();
    for (branch, id, name) in
        [("B1", 1, "SMITH"), ("B1", 2, "SMITHSON"), ("B1", 3, "SMITH"), ("B2", 1, "SMITH"), ("B2", 2, "WEBER")]
    {
        let tax = id + if branch == "B1" { 0 } else { 100 };
        assert!(world.insert(branch, id, name, tax).starts_with("201"));
    }
    let ids = |target: &str| {
        let answer = world.get(target);
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        let text = answer.text();
        let next = text.split_once("\"next\":\"").map(|(_, rest)| rest.trim_end_matches("\"}").to_owned());
        let all: Vec<String> = text
            .split("\"branch\":\"")
            .skip(1)
            .map(|part| part.replace("\",\"custId\":", "").split('}').next().unwrap().to_owned())
            .collect();
        (all.join(" "), next)
    };
    let (page, next) = ids("/v1/c");
    assert_eq!(page, "B11 B12");
    let (page, next) = ids(&format!("/v1/c?after={}", next.unwrap()));
    assert_eq!(page, "B13 B21");
    // What is deleted meanwhile does not matter: neither the last record of a page nor the next one.
    assert_eq!(world.told("DELETE", "/v1/c/B2/1", "", ""), "204");
    assert_eq!(ids(&format!("/v1/c?after={}&limit=5", next.unwrap())), ("B22".to_owned(), None));
    world.insert("B2", 1, "SMITH", 101);
    assert_eq!(ids("/v1/c?branch=B1&limit=5"), ("B11 B12 B13".to_owned(), None));
    assert_eq!(ids("/v1/c?branch=B1&limit=3"), ("B11 B12 B13".to_owned(), None), "a full last page has no next");
    assert_eq!(ids("/v1/from?branch=B1&id=3").0, "B13 B21 B22");
    assert_eq!(ids("/v1/named/SMITH").0, "B11 B13 B21");
    assert_eq!(ids("/v1/beginning/SMITH").0, "B11 B13 B21 B12");
    let (page, next) = ids("/v1/named/SMITH?limit=2");
    assert_eq!(page, "B11 B13");
    let next = next.unwrap();
    assert_eq!(ids(&format!("/v1/named/SMITH?after={next}")).0, "B21");
    // A token of one operation says nothing to another.
    assert_eq!(world.told("GET", &format!("/v1/c?after={next}"), "", ""), "400 GTW-102");
    assert_eq!(ids("/v1/named/NOBODY"), (String::new(), None));
    assert_eq!(world.told("GET", "/v1/c?id=3", "", ""), "400 GTW-102", "the first part of the key is missing");
    assert_eq!(world.told("GET", "/v1/c?limit=6", "", ""), "400 GTW-102");
    assert_eq!(world.told("GET", "/v1/c", "accept: application/xml\r\n", ""), "406 GTW-105");
}

/// A token of one city was a place in another, and a token with other characters at its end was accepted: the page was wrong, without an error.
#[test]
fn a_token_continues_the_request_that_it_comes_from_and_no_other() {
    let world = records();
    for (branch, id, name) in [("B1", 1, "ADA"), ("B1", 2, "ADA"), ("B2", 1, "BOB"), ("B2", 2, "BOB"), ("B3", 1, "ADA")]
    {
        assert!(world.insert(branch, id, name, id + 100 * u32::from(branch.as_bytes()[1])).starts_with("201"));
    }
    let token = |target: &str| {
        let text = world.get(target).text().to_owned();
        let (_, rest) = text.split_once("\"next\":\"").unwrap_or_else(|| panic!("{target}: {text}"));
        rest.trim_end_matches("\"}").to_owned()
    };
    let told = |target: String| world.told("GET", &target, "", "");
    let (ada, one, all) = (token("/v1/named/ADA?limit=1"), token("/v1/c?branch=B1&limit=1"), token("/v1/c?limit=1"));
    assert_eq!(ada.len(), token("/v1/named/BOB?limit=1").len());
    for (target, token) in [
        ("/v1/named/BOB?", &ada),
        ("/v1/beginning/ADA?", &ada),
        ("/v1/c?branch=B2&", &one),
        ("/v1/c?", &one),
        ("/v1/c?branch=B1&id=1&", &one),
        ("/v1/c?branch=B1&", &all),
        ("/v1/from?branch=B1&", &one),
    ] {
        let refused = world.get(&format!("{target}after={token}"));
        assert_eq!(refused.status, 400, "{target}");
        assert!(refused.text().contains("omit `after`"), "{}", refused.text());
    }
    for (target, token) in [("/v1/named/ADA?limit=2&", &ada), ("/v1/c?branch=B1&fields=name&", &one), ("/v1/c?", &all)]
    {
        assert!(told(format!("{target}after={token}")).starts_with("200 "), "{target}");
        for at in 0..token.len() {
            let other = if &token[at..=at] == "A" { "B" } else { "A" };
            let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
            assert_eq!(told(format!("{target}after={changed}")), "400 GTW-102", "{target} {at}");
        }
        for end in ["A", "AAAA", "=", ".", "%20", "-"] {
            assert_eq!(told(format!("{target}after={token}{end}")), "400 GTW-102", "{target} {end}");
        }
        assert_eq!(told(format!("{target}after={}", &token[..token.len() - 4])), "400 GTW-102", "{target}");
        assert_eq!(told(format!("{target}after=")), "400 GTW-102", "{target}");
    }
}

#[test]
fn a_file_that_is_not_what_the_service_says_is_found_and_answers_nothing() {
    let store = store();
    let other = PROVIDER.replace("key = \"CUST-KEY\"", "key = \"BRANCH\"");
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("services")).unwrap();
    std::fs::write(folder.path().join("customer.cpy"), COPYBOOK).unwrap();
    for (name, provider) in [
        ("a", other.as_str()),
        ("b", "[provider]\nkind = \"file\"\nfile = \"NOWHERE\"\nkey = \"CUST-KEY\"\n"),
        ("c", "[provider]\nkind = \"queue\"\nqueue = \"REQUESTS\"\nreply-queue = \"NOWHERE\"\n"),
    ] {
        let service = format!("copybook = \"customer.cpy\"\nencoding = \"ascii\"\n{provider}");
        std::fs::write(folder.path().join(format!("services/{name}.toml")), service).unwrap();
    }
    let findings = store_misfits(&store, &Definitions::load(folder.path()).unwrap());
    let found: Vec<String> = findings.iter().map(ToString::to_string).collect();
    for part in [
        "its key has 6 bytes at offset 0, the field BRANCH has 2 at offset 0",
        "`quayline file define NOWHERE --record 22 --key 0:6`",
        "`quayline queue define NOWHERE`",
    ] {
        assert_eq!(found.iter().filter(|found| found.contains(part)).count(), 1, "{part}: {found:?}");
    }
    assert_eq!(findings.len(), 3);
}

/// A reload took a copybook that the record file does not fit, and every request that worked before was a 503 from then on.
#[test]
fn a_reload_that_does_not_fit_the_record_file_changes_nothing() {
    let world = records();
    world.insert("B1", 7, "ADA", 1);
    let path = world.folder.path().join("customer.cpy");
    let reload = |copybook: &str| {
        std::fs::write(&path, copybook).unwrap();
        let answer = World::call_at(world.admin, "POST", "/reload", "", "");
        (answer.status, answer.text())
    };
    let (status, text) = reload(&COPYBOOK.replace("PIC X(4).", "PIC X(14)."));
    assert!(status == 422 && text.contains("those of the copybook 32 to 32"), "{status} {text}");
    assert_eq!(world.get("/v1/c/B1/7").status, 200);
    // One that fits is taken.
    let (status, text) = reload(&COPYBOOK.replace("PIC X(4).", "PIC X(12)."));
    assert_eq!(status, 200, "{text}");
    wait_for("the new definitions", || world.insert("B1", 8, "BOB", 2).starts_with("201"));
    assert_eq!(world.stored(b"B10008").len(), 30);
}

fn queue_api(provider: &str, store: &Store) -> World {
    let provider =
        format!("[provider]\nkind = \"queue\"\nqueue = \"REQUESTS\"\n{provider}[options]\ninitialize = \"initial\"\n");
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/c\"\nservice = \"customer\"\n[operation.body]\n";
    served(store, &provider, "", api)
}

const BODY: &str = r#"{"custKey":{"branch":"B1","custId":7},"name":"ADA"}"#;

#[test]
fn a_request_becomes_a_message_that_is_there_when_the_answer_is() {
    let store = store();
    let world = queue_api("priority = 7\nformat = \"CUST\"\n", &store);
    let answer = world.call("POST", "/v1/c", "", BODY);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let mut unit = store.begin().unwrap();
    let message = store.queue("REQUESTS").unwrap().get(&mut unit, Select::First, GetWait::No).unwrap();
    let id: String = message.id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(answer.text(), format!("{{\"messageId\":\"{id}\"}}"));
    assert_eq!((message.payload.as_slice(), message.priority), (&b"B10007ADA     0000    "[..], 7));
    assert_eq!((message.format.as_str(), message.reply_to.as_str(), message.expires_ms), ("CUST", "", 0));
    unit.roll_back();
    assert_eq!(world.call("POST", "/v1/c", "", r#"{"name":7}"#).status, 400);
    assert_eq!(store.queue("REQUESTS").unwrap().facts().unwrap().depth, 1);
}

/// Every client gets the reply to its own request, however they arrive.
#[test]
fn a_request_waits_for_its_reply() {
    let store = store();
    let world = queue_api("reply-queue = \"REPLIES\"\ntime-limit-ms = 20000\n", &store);
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&stopped);
        scope.spawn(|| {
            let (requests, replies) = (store.queue("REQUESTS").unwrap(), store.queue("REPLIES").unwrap());
            while !stopped.load(Ordering::Relaxed) {
                let mut unit = store.begin().unwrap();
                let mut all = Vec::new();
                while let Ok(message) = requests.get(&mut unit, Select::First, GetWait::AtMostMs(20)) {
                    all.push(message);
                }
                // The last request is answered first.
                for message in all.into_iter().rev() {
                    assert_eq!(message.reply_to, "REPLIES");
                    assert!(message.expires_ms > 0, "nobody works at it when its client has gone");
                    let mut payload = message.payload;
                    payload[18..].copy_from_slice(b"DONE");
                    let reply = Message { correlation: message.id, ..Message::new(payload) };
                    replies.put(&mut unit, &reply).unwrap();
                }
                unit.commit().unwrap();
            }
        });
        let clients: Vec<_> = (1..=8)
            .map(|id| {
                let world = &world;
                scope.spawn(move || {
                    let body = BODY.replace(":7", &format!(":{id}"));
                    let answer = world.call("POST", "/v1/c", "", &body);
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    let expected = format!("\"custId\":{id}}},\"name\":\"ADA\",\"taxNumber\":0,\"secret\":\"DONE\"}}");
                    assert!(answer.text().ends_with(&expected), "{}", answer.text());
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    assert_eq!(store.queue("REPLIES").unwrap().facts().unwrap().depth, 0);
}

/// A reply longer than the copybook's record was truncated and answered with 200, without a report.
#[test]
fn a_reply_longer_than_the_record_is_a_502_and_kept() {
    let store = store();
    let world = queue_api("reply-queue = \"REPLIES\"\ntime-limit-ms = 20000\n", &store);
    let answer = std::thread::scope(|scope| {
        let client = scope.spawn(|| world.call("POST", "/v1/c", "", BODY));
        let mut unit = store.begin().unwrap();
        let requests = store.queue("REQUESTS").unwrap();
        let message = requests.get(&mut unit, Select::First, GetWait::AtMostMs(10_000)).unwrap();
        let payload = [message.payload.as_slice(), b"!"].concat();
        let reply = Message { correlation: message.id, ..Message::new(payload) };
        store.queue("REPLIES").unwrap().put(&mut unit, &reply).unwrap();
        unit.commit().unwrap();
        client.join().unwrap()
    });
    assert!(answer.status == 502 && answer.text().contains("GTW-120"), "{}", answer.text());
    assert_eq!(store.queue("REPLIES").unwrap().facts().unwrap().depth, 0);
    let mut unit = store.begin().unwrap();
    let kept = store.queue("DEAD.LETTER").unwrap().get(&mut unit, Select::First, GetWait::No).unwrap();
    assert_eq!(kept.payload, b"B10007ADA     0000    !");
    assert_eq!(kept.reason, "the reply has 23 bytes, the record of the service at most 22");
}

/// A reply that comes too late would stay on the queue for ever, and fill it.
#[test]
fn a_late_reply_is_moved_away_with_its_reason() {
    let store = store();
    let world = queue_api("reply-queue = \"REPLIES\"\ntime-limit-ms = 100\nexpires-ms = 60000\n", &store);
    let began = Instant::now();
    let answer = world.call("POST", "/v1/c", "", BODY);
    assert!(answer.status == 504 && answer.text().contains("GTW-134"), "{}", answer.text());
    assert!(began.elapsed() >= Duration::from_millis(100));
    let mut unit = store.begin().unwrap();
    let message = store.queue("REQUESTS").unwrap().get(&mut unit, Select::First, GetWait::No).unwrap();
    let replies = store.queue("REPLIES").unwrap();
    replies.put(&mut unit, &Message { correlation: message.id, ..Message::new(message.payload) }).unwrap();
    // One that belongs to nobody here stays.
    replies.put(&mut unit, &Message { correlation: [9; 24], ..Message::new(*b"other") }).unwrap();
    unit.commit().unwrap();
    let dead = store.queue("DEAD.LETTER").unwrap();
    wait_for("the late reply", || dead.facts().unwrap().depth == 1);
    let mut unit = store.begin().unwrap();
    let moved = dead.get(&mut unit, Select::First, GetWait::No).unwrap();
    assert_eq!(
        (moved.correlation, moved.reason.as_str()),
        (message.id, "the request that it replies to waits no more")
    );
    wait_for("the queue", || replies.facts().unwrap().depth == 1);
}
