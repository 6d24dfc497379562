//! `quayline api new`, and the resulting behavior of `quayline serve`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use expect_test::expect;

use crate::world::World;

const COPYBOOK: &str = "       01 CUSTOMER.\n          05 CUSTOMER-ID PIC 9(6).\n          05 CITY PIC X(10).\n          05 BALANCE PIC S9(5)V99 COMP-3.\n";

const NEW: &str =
    "api new customer.cpy --file CUSTOMER --key CUSTOMER-ID --encoding cp037 --index CITY=CITY:duplicates";

const OPEN: &str = "[serve]\nlisten = \"127.0.0.1:0\"\n[serve.authentication]\nrequired = false\n";

struct Serving {
    child: Child,
    address: SocketAddr,
}

impl Serving {
    fn start(world: &World) -> Serving {
        let mut child = world.command(["serve"]).stderr(Stdio::piped()).spawn().expect("the command starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("listening on ")?.parse().ok());
        std::thread::spawn(move || lines.for_each(drop));
        Serving { child, address: address.expect("an address") }
    }

    /// Returns head and body of a response, over a connection that ends with it.
    fn call(&self, method: &str, target: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address).expect("the server accepts");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        let length = body.len();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head[9..12].to_owned(), body.to_owned())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // The process is killed, as by a crash.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn one_command_makes_an_api_of_a_copybook() {
    let world = World::with([("customer.cpy", COPYBOOK.as_bytes()), ("quayline.toml", OPEN.as_bytes())]);
    world.run(NEW).check(expect![[r#"
        exit 0
        --- stdout
        ./services/customer.toml
        ./apis/customer.toml
        --- stderr
        the record file CUSTOMER is defined in ./data, empty

        next: quayline serve .; [serve.authentication] of quayline.toml says how clients authenticate
    "#]]);
    world.run("serve --check").check(expect![[r#"
        exit 0
        --- stderr
        1 service, 1 API, 7 operations: no findings
    "#]]);
    assert!(world.run("check").code(0).out().contains("1 service, 1 API: no findings"));
    let serving = Serving::start(&world);
    let one = r#"{"customerId":42,"city":"BERLIN","balance":-12.50}"#;
    let told = |answer: (String, String)| format!("{} {}", answer.0, answer.1);
    assert_eq!(told(serving.call("POST", "/customer/records", one)), format!("201 {one}"));
    assert_eq!(serving.call("POST", "/customer/records", one).0, "409");
    let page = format!("200 {{\"items\":[{one}]}}");
    assert_eq!(told(serving.call("GET", "/customer/by-city/BERLIN", "")), page);
    let (status, document) = serving.call("GET", "/customer/openapi.json", "");
    assert_eq!(status, "200");
    for part in ["\"/customer/records/{customerId}\"", "\"If-Match\"", "\"ETag\"", "\"next\"", "\"409\"", "\"412\""] {
        assert!(document.contains(part), "{part}: {document}");
    }
    // Acknowledged changes are durable, however the server ends.
    drop(serving);
    let record = world.shell("$Q file get CUSTOMER --key-hex F0F0F0F0F4F2 | od -An -v -tx1 | tr -d ' \n'");
    assert_eq!(record.out(), "f0f0f0f0f4f2c2c5d9d3c9d540404040".to_owned() + "0001250d");
    let serving = Serving::start(&world);
    assert_eq!(told(serving.call("GET", "/customer/records/42", "")), format!("200 {one}"));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let world = World::with([("customer.cpy", COPYBOOK.as_bytes())]);
    for (arguments, told) in [
        ("--file CUSTOMER --key NOWHERE", "the copybook has no field `NOWHERE`"),
        ("--file CUSTOMER --key CUSTOMER-ID --index CITY", "--index is not an index"),
        ("--file CUSTOMER --key CUSTOMER-ID --name a/b", "`a/b` is not a name for a service"),
        ("--file CUSTOMER --key CUSTOMER-ID --encoding nothing", "`nothing` is not a single-byte code page"),
    ] {
        let ran = world.run(&format!("api new customer.cpy {arguments}"));
        assert!(ran.code(2).err().contains(told), "{told}: {}", ran.err());
    }
    assert_eq!(world.files(), ["customer.cpy"]);
    // An existing file must match, and keeps its definition.
    world.run("file define CUSTOMER --record 20 --key 0:5").code(0);
    let ran = world.run("api new customer.cpy --file CUSTOMER --key CUSTOMER-ID");
    assert!(
        ran.code(2).err().contains("its key has 5 bytes at offset 0, the field CUSTOMER-ID has 6"),
        "{}",
        ran.err()
    );
    world.run("file delete CUSTOMER --all").code(0);
    world.run("file define CUSTOMER --record 20 --key 0:6").code(0);
    let made = world.run("api new customer.cpy --file CUSTOMER --key CUSTOMER-ID");
    assert!(made.code(0).err().contains("is as it was"), "{}", made.err());
    let again = world.run("api new customer.cpy --file CUSTOMER --key CUSTOMER-ID");
    assert!(again.code(2).err().contains("services/customer.toml already exists"), "{}", again.err());
    // The check before a start examines the store.
    world.write("quayline.toml", OPEN);
    world.run("file delete CUSTOMER --all").code(0);
    let checked = world.run("serve --check");
    let hint = "error[SRV-008]: no record file CUSTOMER\n  at services/customer.toml\n\nhint: define it with `quayline file define CUSTOMER --record 20 --key 0:6`";
    assert!(checked.code(2).err().contains(hint), "{}", checked.err());
    // Regression: the command left out the indexes, and the file that it defined did not fit.
    let service =
        world.read("services/customer.toml").escape_ascii().to_string().replace("\\n", "\n").replace("\\\"", "\"");
    let with_index =
        service.replacen("[options]", "[[provider.index]]\nname = \"CITY\"\nfield = \"CITY\"\n[options]", 1);
    assert_ne!(with_index, service);
    world.write("services/customer.toml", &with_index);
    let command = "file define CUSTOMER --record 20 --key 0:6 --index CITY=6:10";
    let checked = world.run("serve --check");
    let hint =
        format!("hint: define it with `quayline {command}`; if keys of an index may repeat, add `:duplicates` to it");
    assert!(checked.code(2).err().contains(&hint), "{}", checked.err());
    world.run(command).code(0);
    world.run("serve --check").code(0);
}

const PRICES: &str = "       IDENTIFICATION DIVISION.
       PROGRAM-ID. PRICES.
       DATA DIVISION.
       LINKAGE SECTION.
       01 ORDER-IN.
          05 ARTICLE PIC X(8).
          05 QUANTITY PIC 9(4).
       01 PRICE-OUT.
          05 AMOUNT PIC 9(7)V99.
       PROCEDURE DIVISION USING ORDER-IN PRICE-OUT.
           COMPUTE AMOUNT = QUANTITY * 0.25
           GOBACK.
";

/// A program's API had to be written from nothing.
#[test]
fn one_command_makes_an_api_of_a_program() {
    let world = World::with([("elsewhere/PRICES.cbl", PRICES.as_bytes()), ("quayline.toml", OPEN.as_bytes())]);
    world.run("api new elsewhere/PRICES.cbl").check(expect![[r#"
        exit 0
        --- stdout
        ./services/prices.toml
        ./apis/prices.toml
        --- stderr
        next: quayline serve .; [serve.authentication] of quayline.toml says how clients authenticate
    "#]]);
    world.run("api new elsewhere/PRICES.cbl --name lookup --operation").code(2);
    let get = ["api", "new", "elsewhere/PRICES.cbl", "--name", "lookup", "--operation", "GET /{article}"];
    let done = crate::world::Ran::of(world.command(get).output().expect("it runs"));
    done.code(0);
    if std::process::Command::new("cobc").arg("--version").output().is_err() {
        return eprintln!("skipped in part: one_command_makes_an_api_of_a_program: GnuCOBOL (cobc) is not installed");
    }
    world.run("serve --check").check(expect![[r#"
        exit 0
        --- stderr
        2 services, 2 APIs, 2 operations: no findings
    "#]]);
    let serving = Serving::start(&world);
    let (status, body) = serving.call("POST", "/prices/call", r#"{"orderIn":{"article":"BOLT","quantity":10}}"#);
    assert_eq!((status.as_str(), body == r#"{"priceOut":{"amount":2.50}}"#), ("200", true), "{body}");
    let (status, body) = serving.call("GET", "/lookup/BOLT?quantity=8", "");
    assert_eq!((status.as_str(), body.contains(r#""amount":2.00"#)), ("200", true), "{body}");
    let (status, document) = serving.call("GET", "/lookup/openapi.json", "");
    assert!(status == "200" && document.contains("\"/lookup/{article}\"") && document.contains("callLookup"));
}

/// Regression: the service named the program in capitals and did not compile free format, so that each call was a 503.
#[test]
fn a_program_in_free_format_keeps_the_case_of_its_name() {
    let free: String = PRICES.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    let free = free.replace("PRICES", "rates").to_lowercase().replace("program-id.", "program-id. ");
    let world = World::with([("rates.cbl", free.as_bytes()), ("quayline.toml", OPEN.as_bytes())]);
    world.run("api new rates.cbl").code(0);
    let service = String::from_utf8(world.read("services/rates.toml")).expect("a text");
    assert!(service.contains("program = \"rates\"") && service.contains("\"-free\"]"), "{service}");
    if std::process::Command::new("cobc").arg("--version").output().is_err() {
        let name = "a_program_in_free_format_keeps_the_case_of_its_name";
        return eprintln!("skipped in part: {name}: GnuCOBOL (cobc) is not installed");
    }
    world.run("serve --check").code(0);
    let serving = Serving::start(&world);
    let (status, body) = serving.call("POST", "/rates/call", r#"{"orderIn":{"article":"bolt","quantity":10}}"#);
    assert_eq!((status.as_str(), body == r#"{"priceOut":{"amount":2.50}}"#), ("200", true), "{body}");
}

#[test]
fn what_is_no_operation_or_no_program_is_refused() {
    let world = World::with([("PRICES.cbl", PRICES.as_bytes()), ("customer.cpy", COPYBOOK.as_bytes())]);
    let run = |words: &[&str]| crate::world::Ran::of(world.command(words.iter()).output().expect("it runs"));
    for (words, told) in [
        (&["PRICES.cbl", "--operation", "FETCH /x"][..], "`FETCH /x` is not an operation"),
        (&["PRICES.cbl", "--operation", "GET /{colour}"], "`colour` of the path is not a field of the request"),
        (&["PRICES.cbl", "--key", "ARTICLE"], "--file <NAME>"),
        (&["PRICES.cbl", "--file", "X", "--key", "ARTICLE", "--program", "X"], "cannot be used with"),
        (&["customer.cpy"], "customer.cpy is not the source of a program"),
    ] {
        let ran = run(&[&["api", "new"], words].concat());
        assert!(ran.err().contains(told), "{words:?}: {}", ran.err());
        ran.code(2);
    }
    assert_eq!(world.files(), ["PRICES.cbl", "customer.cpy"]);
    // A copybook and a module that exists.
    run(&["api", "new", "customer.cpy", "--program", "CUST", "--encoding", "ascii"]).code(0);
    assert!(world.read("services/cust.toml").windows(16).any(|part| part == b"program = \"CUST\""));
}

const QUOTE: &str = "       IDENTIFICATION DIVISION.
       PROGRAM-ID. QUOTE.
       DATA DIVISION.
       LINKAGE SECTION.
       COPY \"quote.cpy\".
       PROCEDURE DIVISION USING QUOTE-AREA.
           COPY STEPS.
           GOBACK.
";
const QUOTE_AREA: &str = "       01 QUOTE-AREA.\n          05 REQUEST.\n             10 AGE PIC 9(3).\n          05 RESPONSE.\n             10 PREMIUM PIC 9(5)V99.\n";

/// Regression: the members beside a source were not found, the project's folder and settings had to exist, and a failure left folders.
#[test]
fn a_source_takes_its_copy_members_into_a_new_project() {
    let files: [(&str, &[u8]); 3] = [
        ("src/QUOTE.cbl", QUOTE.as_bytes()),
        ("src/quote.cpy", QUOTE_AREA.as_bytes()),
        ("src/STEPS.cpy", b"           COMPUTE PREMIUM = AGE * 1.5.\n"),
    ];
    let world = World::with(files);
    world.run("api new src/QUOTE.cbl --project deep/proj").check(expect![[r#"
        exit 0
        --- stdout
        deep/proj/programs/QUOTE.cbl
        deep/proj/copybooks/STEPS.cpy
        deep/proj/copybooks/quote.cpy
        deep/proj/services/quote.toml
        deep/proj/apis/quote.toml
        deep/proj/quayline.toml
        --- stderr
        next: choose under [serve.authentication] of deep/proj/quayline.toml how clients authenticate; then quayline serve deep/proj
    "#]]);
    // The command said that the API can be served, and each call was a 503.
    let ibm = world.run("api new src/QUOTE.cbl --project remote --dialect ibm");
    let told =
        ibm.code(0).err().contains("write the address of the program into [provider] of remote/services/quote.toml");
    assert!(told, "{}", ibm.err());
    let settings = String::from_utf8(world.read("deep/proj/quayline.toml")).expect("a text");
    let checked = world.run("serve --check deep/proj");
    if std::process::Command::new("cobc").arg("--version").output().is_ok() {
        checked.check(expect![[r#"
            exit 2
            --- stderr
            error[SRV-007]: 1 of 1 operations need authentication, and none is configured: every call of them is a 401
              at quayline.toml

            hint: add to [serve.authentication] `api-keys`, `jwt` or client certificates; for tests on this machine, `required = false`
        "#]]);
        world.write("deep/proj/quayline.toml", settings.replace("# required", "required"));
        world.run("serve --check deep/proj").check(expect![[r#"
            exit 0
            --- stderr
            1 service, 1 API, 1 operation: no findings
        "#]]);
    } else {
        eprintln!(
            "skipped in part: a_source_takes_its_copy_members_into_a_new_project: GnuCOBOL (cobc) is not installed"
        );
    }
    // A member of the project that differs is not replaced.
    world.write("other/copybooks/quote.cpy", "       01 OTHER PIC X.\n");
    world.run("api new src/QUOTE.cbl --project other").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: other/copybooks/quote.cpy already exists, and is not src/quote.cpy

        hint: name the copybook of the project, or rename one of them
    "#]]);
    let left = std::fs::read_dir(world.path("other")).expect("the project").count();
    assert_eq!(left, 1, "the copybooks alone");
}

#[test]
fn a_member_that_is_nowhere_is_named_where_it_was_searched_and_leaves_nothing() {
    let world = World::with([("src/QUOTE.cbl", QUOTE.as_bytes())]);
    let ran = world.run("api new src/QUOTE.cbl --project proj");
    ran.check(expect![[r#"
        exit 2
        --- stderr
        error[COB-010]: COPY member quote.cpy is not in the library
          at src/QUOTE.cbl:5:8
          |
        5 |        COPY "quote.cpy".
          |        ^^^^^^^^^^^^^^^^

        hint: looked for src/quote.cpy, proj/copybooks/quote.cpy, proj/quote.cpy; put the file in the folder of src/QUOTE.cbl
    "#]]);
    assert_eq!(world.files(), ["src"]);
    // A service of the project looks in other folders.
    world.write("proj/programs/QUOTE.cbl", QUOTE);
    world.write("proj/services/quote.toml", "copybook = \"programs/QUOTE.cbl\"\nrecord = \"QUOTE-AREA\"\nencoding = \"ascii\"\n[provider]\nkind = \"program\"\nprogram = \"QUOTE\"\n");
    world.write(
        "proj/apis/quote.toml",
        "base-path = \"/q\"\n[[operation]]\nmethod = \"POST\"\npath = \"/\"\nservice = \"quote\"\n[operation.body]\n",
    );
    let ran = world.run("serve --check proj");
    assert!(ran.code(2).err().contains("put the file in the project's folder `copybooks`"), "{}", ran.err());
}

/// Regression: the finding named a quayline.toml that the project did not have, and no check named a text that is the name of a field.
#[test]
fn a_check_says_that_the_settings_are_missing_and_warns_of_a_detail_that_names_a_field() {
    let service =
        "copybook = \"quote.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n";
    let api = "base-path = \"/q\"\n[[operation]]\nmethod = \"POST\"\npath = \"/call\"\nservice = \"quote\"\n[operation.body]\n[[operation.response]]\nstatus = 422\nbody = \"problem\"\ndetail = \"PREMIUM\"\n";
    let files: [(&str, &[u8]); 4] = [
        ("copybooks/quote.cpy", QUOTE_AREA.as_bytes()),
        ("services/quote.toml", service.as_bytes()),
        ("apis/quote.toml", api.as_bytes()),
        ("records.dat", b"0000000000"),
    ];
    World::with(files).run("serve --check").check(expect![[r#"
        exit 2
        --- stderr
        warning[GTW-014]: `detail` is the text `PREMIUM`, and not the value of the field with this name
          at apis/quote.toml:7:1
          |
        7 | [[operation.response]]
          | ^^^^^^^^^^^^^^^^^^^^^^

        hint: to answer with the field, write `body = "answer"` and no `detail`; otherwise write a sentence for people
        error[SRV-007]: 1 of 1 operations need authentication, and none is configured: every call of them is a 401

        hint: the project has no quayline.toml: write this file in the project's folder, with the table [serve.authentication] and in it `api-keys`, `jwt` or client certificates; for tests on this machine, `required = false`
    "#]]);
}

/// The proposal was refused for a parameter that every browse has, and the remedy named a file that was not written.
#[test]
fn a_key_with_the_name_of_a_parameter_of_pages_gets_another_parameter() {
    let world = World::with([(
        "lim.cpy",
        "       01  R1.\n           05  LIMIT     PIC 9(4).\n           05  AFTER     PIC X(4).\n".as_bytes(),
    )]);
    world
        .run("api new lim.cpy --file LIM --key LIMIT --index A=AFTER:duplicates --encoding cp037 --project lim")
        .code(0);
    let api = String::from_utf8(world.read("lim/apis/lim.toml")).expect("UTF-8");
    assert!(api.contains("path = \"/records/{limitKey}\"") && api.contains("name = \"afterKey\""), "{api}");
    // Only the authentication is missing.
    let checked = world.run("serve --check lim").err();
    assert!(checked.contains("SRV-007") && !checked.contains("GTW-"), "{checked}");
}
