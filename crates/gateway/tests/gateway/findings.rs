//! All errors in service and API files are reported together, each with its place.

use crate::world::{GET, SERVICE, World};

#[track_caller]
fn finds(service: &str, api: &str, expected: &[&str]) {
    let Err(text) = World::of(service, api).map(|_| ()) else { panic!("nothing was found: expected {expected:?}") };
    for part in expected {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

#[test]
fn services() {
    finds(&SERVICE.replace("order.cpy", "absent.cpy"), GET, &["GTW-002", "services/orders.toml:2:12", "absent.cpy"]);
    finds(&SERVICE.replace("ascii", "ebcdic-ish"), GET, &["GTW-005", "ebcdic-ish"]);
    finds(&SERVICE.replace("\"canned\"", "\"magic\""), GET, &["GTW-005", "program, canned, http, sql, file or queue"]);
    finds(&SERVICE.replace("file =", "files ="), GET, &["GTW-001", "files", "did you mean `file`?"]);
    for (more, found) in [
        ("url = \"http://x\"", "`url` is not a key of a canned provider, but of http"),
        ("workers = 2", "`workers` is not a key of a canned provider, but of program"),
        ("plain-text = true", "`plain-text` is not a key of a canned provider, but of sql"),
    ] {
        finds(&SERVICE.replace("[provider]\n", &format!("[provider]\n{more}\n")), GET, &["GTW-012", found]);
    }
    let kind = |text: &str| {
        let records = SERVICE.lines().find(|line| line.starts_with("file =")).unwrap_or_default();
        SERVICE.replace("\"canned\"", text).replace(records, "")
    };
    for (text, code, found) in [
        ("\"records\"", "GTW-005", "`records` is now `canned`"),
        ("\"program\"\nprogram = \"X\"\nqueue = 4", "GTW-012", "`queue` is now `slots`"),
        ("\"program\"\nprogram = \"X\"\nworkers = 0\nslots = 65", "GTW-005", "expected 1 to 64, found 65"),
        ("\"program\"\nprogram = \"X\"\ntime-limit-ms = 0", "GTW-005", "expected 1 to 3600000, found 0"),
        ("\"program\"\nprogram = \"X\"\nsource = \"absent.cbl\"", "GTW-002", "the source `absent.cbl` does not exist"),
        (
            "\"program\"\nprogram = \"X\"\nwork-folder = \"absent\"",
            "GTW-002",
            "the work folder `absent` does not exist",
        ),
        ("\"program\"\nprogram = \"X\"\nworking-storage = \"new\"", "GTW-005", "`fresh`, the default, or `keep`"),
        ("\"program\"\nprogram = \"X\"\ncompiler-options = [\"-O2\"]", "GTW-012", "without a `source`"),
        ("\"http\"\nurl = \"ftp://x\"", "GTW-005", "not a URL of a service"),
        ("\"http\"\nurl = \"http://me:pw@x/\"", "GTW-005", "credentials go into `headers`"),
    ] {
        finds(&kind(text), GET, &[code, found]);
    }
    // All slips of one file, those of types and those of meaning apart.
    let slips = SERVICE.replace("ascii\"", "ascii\"\nnmae = \"x\"\nlength = \"long\"").replace("file =", "files =");
    finds(&slips, GET, &["nmae", "did you mean `name`?", "\"long\"", "files"]);
    finds(&format!("{SERVICE}[response.default]\n\"RESP-CODE\" = 1\n"), GET, &["GTW-008", "RESP-CODE"]);
    finds(&SERVICE.replace("[provider]", "length = 10\n[provider]"), GET, &["GTW-010", "`length` is 10"]);
    finds(
        &format!(
            "{SERVICE}[[type]]\nfield = \"RESP-DAY\"\nis = \"date\"\npattern = \"yyyyQQ\"\n[[type]]\nfield = \"REQ\"\nis = \"codes\"\n"
        ),
        GET,
        &["GTW-007", "QQ", "one elementary field"],
    );
    for (field, bounds, found) in [
        ("REQ-NAME", "maximum = 1", "digits"),
        ("REQ-COUNT", "", "`minimum`, `maximum` or both"),
        ("REQ-COUNT", "minimum = 2\nmaximum = 1", "at least 2 and at most 1"),
    ] {
        let hint = format!("{SERVICE}[[type]]\nfield = \"{field}\"\nis = \"range\"\n{bounds}\n");
        finds(&hint, GET, &["GTW-007", found]);
    }
    finds(&format!("{SERVICE}[[counter]]\nlist = \"LINE-ITEM\"\nfield = \"RESP-NOTE\"\n"), GET, &["GTW-009"]);
    finds(&SERVICE.replace("exclude = [\"REQ\"]", "exclude = [\"NOPE\"]"), GET, &["PLN-001", "NOPE"]);
}

#[test]
fn apis() {
    let operation = |more: &str| format!("{GET}{more}");
    finds(SERVICE, &GET.replace("\"orders\"\n", "\"other\"\n"), &["GTW-003", "the services are orders"]);
    finds(SERVICE, &GET.replace("/orders\"", "/orders/{id}\""), &["GTW-011", "`{id}`"]);
    finds(SERVICE, &GET.replace("GET", "FETCH"), &["GTW-005", "GET, POST"]);
    finds(SERVICE, "base-path = \"/v1\"", &["GTW-006"]);
    finds(
        SERVICE,
        &operation("[[operation.parameter]]\nname = \"a\"\nin = \"query\"\nfield = \"RESP-CODE\"\n"),
        &["GTW-003", "not part of the service's request"],
    );
    finds(
        SERVICE,
        &operation("[[operation.parameter]]\nname = \"a\"\nin = \"cookie\"\nfield = \"REQ-NAME\"\n"),
        &["GTW-005", "path, query or header"],
    );
    let twice = "[[operation.parameter]]\nname = \"a\"\nin = \"query\"\nfield = \"REQ-NAME\"\n";
    finds(SERVICE, &operation(&format!("{twice}{}", twice.replace("\"a\"", "\"b\""))), &["GTW-004"]);
    finds(
        SERVICE,
        &operation("[[operation.response]]\nstatus = 200\n[[operation.response]]\nstatus = 404\n"),
        &["GTW-012"],
    );
    finds(
        SERVICE,
        &operation("[[operation.response]]\nstatus = 200\nwhen = [{ field = \"LINE-TEXT\", equals = 1 }]\n"),
        &["GTW-012", "outside of tables"],
    );
    finds(SERVICE, &operation("[[operation.response]]\nstatus = 20\n"), &["GTW-005"]);
    for body in ["", "body = \"problem\"\n"] {
        let response = format!("[[operation.response]]\nstatus = 204\n{body}");
        finds(SERVICE, &operation(&response), &["GTW-005", "an answer with status 204 has no body"]);
    }
    let both =
        format!("{GET}{}", GET.split_once("[[operation]]").map(|(_, rest)| format!("[[operation]]{rest}")).unwrap());
    finds(SERVICE, &both, &["GTW-004", "getV1Orders"]);
}

#[test]
fn constants_are_values_that_their_fields_take() {
    let operation = |more: &str| GET.replace("service = \"orders\"\n", &format!("service = \"orders\"\n{more}"));
    let parameter = |name: &str, place: &str, field: &str, more: &str| {
        operation(&format!(
            "[[operation.parameter]]\nname = \"{name}\"\nin = \"{place}\"\nfield = \"{field}\"\n{more}\n"
        ))
    };
    for (assign, found) in [
        ("\"REQ-COUNT\" = \"abc\"", "`REQ-COUNT` does not take this value"),
        ("\"REQ-COUNT\" = 12345", "`REQ-COUNT` does not take this value"),
        ("\"REQ-NAME\" = \"NINE CHAR\"", "text has 9 characters, field holds 8"),
    ] {
        finds(SERVICE, &operation(&format!("assign = {{ {assign} }}\n")), &["GTW-005", found, "apis/orders.toml:7:"]);
    }
    let typed = format!("{SERVICE}[[type]]\nfield = \"REQ-FLAG\"\nis = \"boolean\"\n");
    finds(&typed, &operation("assign = { \"REQ-FLAG\" = \"Y\" }\n"), &["GTW-005", "expected true or false"]);
    World::new(&typed, &operation("assign = { \"REQ-FLAG\" = true }\n"));
    for (field, more, found) in [
        ("REQ-COUNT", "default = \"abc\"", "expected a number"),
        ("REQ-COUNT", "default = 7\nmaximum = 5", "expected a number at most 5"),
        ("REQ-COUNT", "default = 1.5", "decimals"),
        ("REQ-NAME", "default = \"NINE CHAR\"", "field holds 8"),
    ] {
        finds(SERVICE, &parameter("a", "query", field, more), &["GTW-005", "the default of `a`", found]);
    }
    finds(
        SERVICE,
        &parameter("a", "query", "REQ-COUNT", "minimum = 5\nmaximum = 2"),
        &["GTW-012", "at least 5 and at most 2"],
    );
    for (name, place, found) in [
        ("", "query", "not a valid parameter name"),
        ("a b", "header", "not a valid parameter name"),
        ("Authorization", "header", "is reserved"),
        ("X-API-Key", "header", "is reserved"),
    ] {
        finds(SERVICE, &parameter(name, place, "REQ-NAME", ""), &["GTW-005", found]);
    }
    let both = parameter("a", "query", "REQ-NAME", "");
    let again = "[[operation.parameter]]\nname = \"a\"\nin = \"query\"\nfield = \"REQ-DATE\"\n";
    finds(SERVICE, &format!("{both}{again}"), &["GTW-004", "two parameters have this name"]);
    let assigned =
        both.replace("[[operation.parameter]]", "assign = { \"REQ-NAME\" = \"X\" }\n[[operation.parameter]]");
    finds(SERVICE, &assigned, &["GTW-004", "a parameter sets this field already"]);
    let twice = parameter("a", "path", "REQ-NAME", "").replace("/orders\"", "/orders/{a}/{a}\"");
    finds(SERVICE, &twice, &["GTW-011", "`{a}` twice"]);
    finds(SERVICE, &GET.replace("[[operation]]", "roles = []\n[[operation]]"), &["GTW-012", "no client may call"]);
    let unknown = format!("{GET}[[operation.response]]\nstatus = 200\nexclude = [\"NOPE\"]\n");
    finds(SERVICE, &unknown, &["PLN-001", "hint: names are those of the copybook"]);
}

#[test]
fn what_stands_twice_is_told_with_both_places() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("copybooks/order.cpy", crate::world::COPYBOOK);
    put("services/orders.toml", SERVICE);
    put("services/twin.toml", &format!("name = \"orders\"\n{SERVICE}"));
    let found = quayline_gateway::Definitions::load(folder.path()).unwrap_err().to_string();
    assert!(found.contains("at services/twin.toml:1:8") && found.contains("in services/orders.toml"), "{found}");
    std::fs::remove_file(folder.path().join("services/twin.toml")).unwrap();
    put("apis/one.toml", GET);
    put("apis/two.toml", GET);
    let found = quayline_gateway::Definitions::load(folder.path()).unwrap_err().to_string();
    for part in [
        "two APIs have the base path `/v1`",
        "at apis/two.toml:2:13",
        "two operations have the id `getV1Orders`",
        "two operations are GET /v1/orders",
        "at apis/two.toml:3:1",
        "in apis/one.toml",
    ] {
        assert!(found.contains(part), "`{part}` is not in\n{found}");
    }
}

/// A service read COMP-5, COMP-1 and signs in another way than the compiler of its program stored them, and nothing said so.
#[test]
fn a_service_agrees_with_the_compiler_of_its_program() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.cbl"), "").unwrap();
    let compile = |field: &str, head: &str, provider: &str| {
        let field = field.replace(". ", ".\n          ");
        let copybook = format!(
            "       01 R.\n          05 A PIC X.\n          05 N PIC 9(2).\n          05 F {field}.\n          05 Z PIC X.\n"
        );
        std::fs::write(folder.path().join("r.cpy"), copybook).unwrap();
        let head = if head.contains("encoding") { head.to_owned() } else { format!("encoding = \"ascii\"\n{head}") };
        let text =
            format!("copybook = \"r.cpy\"\n{head}\n[provider]\nkind = \"program\"\nprogram = \"X\"\n{provider}\n");
        quayline_gateway::Service::compile("services/r.toml", &text, folder.path())
    };
    let source = "source = \"x.cbl\"";
    let ibm = "dialect = \"ibm\"";
    for (field, head, provider, expected) in [
        (
            "PIC S9(4) COMP-5",
            ibm,
            source,
            "F (PIC S9(4) COMP-5) is stored high byte first by the service's dialect and stored low byte first",
        ),
        ("PIC 9 COMP-5", ibm, source, "F (PIC 9 COMP-5) has 2 bytes by the service's dialect and 1"),
        (
            "COMP-1",
            ibm,
            source,
            "is a hexadecimal floating-point number by the service's dialect and an IEEE 754 number",
        ),
        ("POINTER", ibm, source, "has 4 bytes by the service's dialect and 8"),
        ("PIC S9(9) COMP-5", "dialect-settings = { native-order = \"big\" }", source, "stored high byte first"),
        (
            "REDEFINES N PIC X(2). 05 T PIC X OCCURS 1 TO 5 DEPENDING ON N",
            "",
            source,
            "what follows T, whose count varies, since F before it",
        ),
        ("PIC S9(9) COMP SYNC. 05 T PIC X OCCURS 1 TO 5 DEPENDING ON N", "", source, "what follows T"),
        (
            "PIC X. 05 W. 10 T PIC X OCCURS 1 TO 5 DEPENDING ON N",
            "",
            source,
            "what follows W moves with the count of W.T",
        ),
        ("OCCURS 2. 10 G PIC X. 10 H PIC S9(4) COMP SYNC", "", source, "F is SYNCHRONIZED in a table"),
        (
            "PIC 9. 05 T PIC X OCCURS 1 TO 5 DEPENDING ON F. 05 W. 10 U PIC X OCCURS 1 TO 5 DEPENDING ON N. 05 Y PIC X",
            ibm,
            source,
            "wrong places for what follows W.U, whose count varies, since that of T before its group varies too",
        ),
        (
            "PIC 9(5) COMP-5",
            "dialect-settings = { binary-sizes = \"1-to-8\" }",
            source,
            "has 4 bytes by the service's dialect and 3",
        ),
        ("PIC S9(3)", ibm, "", "F (PIC S9(3)) has its sign in a digit"),
        ("PIC S9(3) SIGN LEADING", ibm, "", "has its sign in a digit"),
        ("PIC X OCCURS 1 TO 5 DEPENDING ON N", ibm, "", "moves with its count by the dialect"),
        ("PIC 9 COMP", "", "", "has 1 bytes by the service's dialect and 2 with `-std=ibm`"),
        ("PIC X", "encoding = \"cp037\"", source, "is an EBCDIC page"),
        ("PIC X", "encoding = \"cp037\"\ndialect = \"ibm\"", "", "is an EBCDIC page"),
        (
            "PIC X",
            "",
            "source = \"x.cbl\"\ncompiler-options = [\"-std=ibm\", \"-fodoslide\"]",
            "`-fodoslide` contradicts",
        ),
        ("PIC X", "", "source = \"x.cbl\"\ncompiler-options = [\"-fsign=EBCDIC\"]", "`-fsign=EBCDIC` contradicts"),
        ("PIC X", "", "source = \"x.cbl\"\ncompiler-options = [\"-fbinary-size=2-4-8\"]", "`binary-sizes`"),
        ("PIC X", "", "source = \"x.cbl\"\ncompiler-options = [\"-fbinary-comp-1\"]", "contradicts"),
    ] {
        let Err(findings) = compile(field, head, provider) else {
            panic!("{field}, {head}, {provider}: nothing was found")
        };
        let text = findings.to_string();
        assert!(
            text.contains("GTW-013") && text.contains(expected) && text.contains("hint: "),
            "{expected} is not in\n{text}"
        );
    }
    for (field, head, provider) in [
        ("PIC S9(4) COMP-5", "", source),
        ("PIC S9(4) COMP-5", "", ""),
        ("PIC S9(3)", "", ""),
        ("COMP-2", "", ""),
        ("PIC S9(3)", ibm, source),
        ("PIC X OCCURS 1 TO 5 DEPENDING ON N", ibm, source),
        ("PIC X OCCURS 1 TO 5 DEPENDING ON N", "", ""),
        ("PIC S9(3)", "dialect-settings = { overpunch = \"ebcdic\" }", ""),
        ("PIC 9 COMP", "dialect = \"gnucobol\"", ""),
        ("PIC 9 COMP", "dialect-settings = { binary-sizes = \"2-4-8\" }", ""),
        ("PIC 9 COMP", "", source),
        ("PIC X", "", "source = \"x.cbl\"\ncompiler-options = [\"-fsign=ASCII\", \"-O2\"]"),
        // One item right after the second group has its place.
        ("PIC 9. 05 T PIC X OCCURS 1 TO 5 DEPENDING ON F. 05 W. 10 U PIC X OCCURS 1 TO 5 DEPENDING ON N", ibm, source),
    ] {
        compile(field, head, provider).unwrap_or_else(|findings| panic!("{field}, {head}, {provider}: {findings}"));
    }
}

/// Paths of two APIs or operations that meet, and documents that an operation hides.
#[test]
fn routes_that_collide() {
    let operation = |id: &str, method: &str, path: &str| {
        let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        let fields = ["REQ-NAME", "REQ-COUNT"].into_iter();
        let parameters: String = names
            .zip(fields)
            .map(|(name, field)| {
                format!("[[operation.parameter]]\nname = \"{name}\"\nin = \"path\"\nfield = \"{field}\"\n")
            })
            .collect();
        format!(
            "[[operation]]\nid = \"{id}\"\nmethod = \"{method}\"\npath = \"{path}\"\nservice = \"orders\"\n{parameters}"
        )
    };
    let api = |operations: &[(&str, &str)]| {
        let each = operations.iter().enumerate().map(|(i, (method, path))| operation(&format!("o{i}"), method, path));
        format!("base-path = \"/v1\"\n{}", each.collect::<String>())
    };
    let at = "apis/orders.toml:";
    for (operations, expected) in [
        (&[("GET", "/a/{x}/b"), ("GET", "/a/c/{y}")][..], "GET /v1/a/c/{y} and GET /v1/a/{x}/b have paths in common"),
        (&[("GET", "/{x}/b"), ("PUT", "/{y}/b")], "/v1/{y}/b and /v1/{x}/b are one path with different names"),
        (&[("GET", "/docs")], "GET /v1/docs is an operation and the document of the API"),
        (&[("GET", "/{x}"), ("GET", "/{y}")], "two operations are GET /v1/{y}"),
    ] {
        finds(SERVICE, &api(operations), &["GTW-004", at, expected]);
    }
    let world = World::new(SERVICE, &api(&[("GET", "/a/{x}"), ("GET", "/a/new"), ("PUT", "/{x}"), ("GET", "/{x}")]));
    assert_eq!(world.definitions.at_or_below("/v1").map(|found| found.path.as_str()), Some("/v1/a/{x}"));
    assert!(world.definitions.at_or_below("/queues").is_none());
    // Documents win over parameters, as other texts do.
    let routed = |method: &str, path: &str| format!("{:?}", world.definitions.find(method, path));
    assert_eq!(routed("GET", "/v1/docs"), "Nowhere");
    assert_eq!(routed("PUT", "/v1/docs"), "To(2, [\"docs\"])");
    assert_eq!(routed("GET", "/v1/doc"), "To(3, [\"doc\"])");
    // So they do where only other methods have the path.
    let world = World::new(SERVICE, &api(&[("GET", "/a"), ("PUT", "/{x}")]));
    let routed = |method: &str, path: &str| format!("{:?}", world.definitions.find(method, path));
    assert_eq!(
        (routed("GET", "/v1/docs"), routed("GET", "/v1/x")),
        ("Nowhere".to_owned(), "Methods([\"PUT\"])".to_owned())
    );
}

/// Combinations that services with several records refuse.
#[test]
fn records_of_a_service() {
    let folder = tempfile::tempdir().unwrap();
    let text = "       01 A. 05 N PIC 9. 05 T PIC X OCCURS 1 TO 3 DEPENDING ON N.\n       01 B. 05 M PIC X.\n";
    std::fs::write(folder.path().join("r.cpy"), text).unwrap();
    let compile = |head: &str, provider: &str| {
        let text = format!("{head}\nencoding = \"ascii\"\n[provider]\n{provider}\n");
        let tables = head.find("[[").unwrap_or(head.len());
        let text = if tables < head.len() {
            format!("{}encoding = \"ascii\"\n{}[provider]\n{provider}\n", &head[..tables], &head[tables..])
        } else {
            text
        };
        quayline_gateway::Service::compile("services/r.toml", &text, folder.path())
    };
    let program = "kind = \"program\"\nprogram = \"X\"";
    let http = "kind = \"http\"\nurl = \"http://x/\"";
    let parameter = |record: &str| format!("[[parameter]]\nrecord = \"{record}\"\n");
    let two = format!("copybook = \"r.cpy\"\n{}{}", parameter("A"), parameter("B"));
    for (head, provider, expected) in [
        ("", program, "the service names no copybook"),
        (&parameter("A"), program, "write `copybook` here, or once for all parameters"),
        (&two, http, "`[[parameter]]` belongs to a program, and the provider is http"),
        (&format!("record = \"A\"\n{two}"), program, "the records are those of `[[parameter]]`"),
        (&format!("length = 9\n{two}"), program, "`length` belongs to a service of one record"),
        (
            &format!("copybook = \"r.cpy\"\n{}{}", parameter("B"), parameter("B")),
            program,
            "two records have the name B",
        ),
        (
            &format!("dialect-settings = {{ odo-slide = \"yes\" }}\n{two}"),
            &format!("{program}\nsource = \"x.cbl\""),
            "A has a table of varying length, and another record follows it",
        ),
        (&format!("copybook = \"r.cpy\"\n{}", parameter("B").repeat(33)), program, "the program has 33 parameters"),
        (
            "copybook = \"r.cpy\"\nrecord = \"A\"\nresponse-record = \"B\"",
            program,
            "a program provider answers with the record that it got",
        ),
        ("copybook = \"r.cpy\"\nrecord = \"A\"\nresponse-record = \"C\"", http, "the copybook has no record `C`"),
        ("copybook = \"r.cpy\"\nrecord = \"A\"\nresponse-record = \"B\"", http, "A has a table of varying length"),
    ] {
        let Err(findings) = compile(head, provider) else { panic!("nothing was found: {expected}") };
        let text = findings.to_string();
        assert!(text.contains(expected) && text.contains("hint: "), "{expected} is not in\n{text}");
    }
    let named = format!("copybook = \"r.cpy\"\n{}{}name = \"AFTER\"\n", parameter("B"), parameter("B"));
    for head in [&two, &named] {
        compile(head, program).unwrap_or_else(|findings| panic!("{head}: {findings}"));
    }
    let service = compile("copybook = \"r.cpy\"\nrecord = \"B\"\nresponse-record = \"A\"", http).unwrap();
    assert_eq!((service.length, service.request_length), (5, Some(1)));
}

/// Quayline accepted an operation at `/größe`. Every call returned 404, because clients send `/gr%C3%B6%C3%9Fe`.
#[test]
fn paths_that_no_client_can_send_are_found() {
    for (part, hint) in [
        ("größe", "write `gr%C3%B6%C3%9Fe`"),
        ("a b", "write `a%20b`"),
        ("50%", "write `50%25`"),
        ("a\\\\b", "write `a%5Cb`"),
        ("gr%c3%b6n", "write `gr%C3%B6n`"),
        ("%7Ex", "write `~x`"),
        ("%41%2d1", "write `A-1`"),
        ("a%2fb%2", "write `a%2Fb%252`"),
        ("..", "leave it out"),
    ] {
        finds(SERVICE, &GET.replace("\"/orders\"", &format!("\"/{part}/orders\"")), &["GTW-011", hint]);
        finds(SERVICE, &GET.replace("\"/v1\"", &format!("\"/{part}\"")), &["GTW-011", hint]);
    }
    for part in ["gr%C3%B6%C3%9Fe", "a;b=c,d", "~x@y:z", "(a)*!$&'+", "a%2Fb%25"] {
        World::new(SERVICE, &GET.replace("\"/orders\"", &format!("\"/{part}\"")));
    }
    finds(SERVICE, &GET.replace("\"orders\"", "\"odrers\""), &["GTW-003", "the services are orders"]);
}

/// `serve --check` passed conditions that no answer fulfils, so that the response was never sent.
#[test]
fn conditions_that_never_hold() {
    let copybook = "
       01 A.
          05 ZONED  PIC S9(4).
          05 PLAIN  PIC 9(4).
          05 PACKED PIC S9(3)V99 COMP-3.
          05 BIN    PIC S9(4) COMP.
          05 TENS   PIC 9(3)PP.
          05 LONG   PIC 9(18)V9(9).
          05 TXT    PIC X(3).
          05 NAT    PIC N(2).
          05 FLT    COMP-2.
";
    let service = |options: &str| {
        format!(
            "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[options]\n{options}\n"
        )
    };
    let found = |options: &str, field: &str, test: &str| {
        let api = format!(
            "{GET}response = [{{ status = 404, when = [{{ field = \"{field}\", {test} }}], body = \"none\" }}, {{ status = 200 }}]\n"
        );
        World::over(copybook, &service(options), &api).err()
    };
    for (field, test, why) in [
        ("ZONED", "equals = 99999", "`99999` is not a value of ZONED"),
        ("ZONED", "equals = \"x\"", "`x` is not a value of ZONED"),
        ("ZONED", "equals = true", "`true` is not a value"),
        ("ZONED", "equals = \"\"", "`` is not a value"),
        ("ZONED", "equals = 1.5", "`1.5` is not a value"),
        ("ZONED", "one-of = []", "the list of values is empty"),
        ("ZONED", "one-of = [10000, \"y\"]", "none of the values is one of ZONED"),
        ("ZONED", "at-least = 10000", "`10000` is beyond the values of ZONED"),
        ("ZONED", "at-least = \"x\"", "`x` is not a number to compare with"),
        ("PLAIN", "equals = -1", "`-1` is not a value"),
        ("PLAIN", "at-most = -1", "`-1` is beyond"),
        ("PACKED", "equals = 1.234", "`1.234` is not a value"),
        ("PACKED", "equals = 1000", "`1000` is not a value"),
        ("BIN", "equals = 99999", "`99999` is not a value"),
        ("TENS", "equals = 150", "`150` is not a value"),
        ("TXT", "equals = \"ABCD\"", "`ABCD` is not a value"),
        ("TXT", "equals = 1234", "`1234` is not a value"),
        ("NAT", "equals = \"ABC\"", "`ABC` is not a value"),
    ] {
        let text = found("", field, test).unwrap_or_else(|| panic!("nothing was found: {field} {test}"));
        assert!(
            text.contains("GTW-012") && text.contains("never holds") && text.contains(why),
            "{field} {test}: {text}"
        );
    }
    for (options, field, test) in [
        ("", "ZONED", "equals = -9999"),
        ("", "ZONED", "equals = \"0004\""),
        ("", "ZONED", "equals = 4.0"),
        ("", "ZONED", "one-of = [4, 99999]"),
        ("", "ZONED", "not = 99999"),
        ("", "ZONED", "at-most = -9999"),
        ("blank-numbers = \"null\"", "ZONED", "equals = \"\""),
        ("", "PLAIN", "at-least = 0"),
        ("", "PACKED", "equals = 999.99"),
        ("", "PACKED", "equals = \"-1.230\""),
        ("", "BIN", "equals = 32767"),
        ("", "TENS", "equals = 99900"),
        ("", "LONG", "equals = \"999999999999999999.999999999\""),
        ("", "TXT", "equals = \"ABC  \""),
        ("", "TXT", "equals = 8"),
        ("", "TXT", "equals = \"0008\""),
        ("", "TXT", "equals = \"100.0\""),
        ("", "TXT", "equals = \"-01\""),
        ("", "TXT", "at-least = 5"),
        ("", "TXT", "equals = \"\""),
        ("", "NAT", "equals = \"AB\""),
        ("", "FLT", "equals = 1.5"),
    ] {
        assert_eq!(found(options, field, test), None, "{field} {test}");
    }
}

/// A client could not call an operation that omits a required field: each request was a 400.
#[test]
fn a_required_field_is_not_omitted() {
    let service = SERVICE.replace("[provider]", "required = [\"REQ-AMOUNT\"]\n[provider]");
    let api = |more: &str| {
        format!(
            "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/x\"\nservice = \"orders\"\n{more}[operation.body]\n"
        )
    };
    for omit in ["omit = [\"REQ-AMOUNT\"]\n", "omit = [\"REQ\"]\n"] {
        finds(&service, &api(omit), &["GTW-012", "REQ-AMOUNT, and no request of this operation can have it"]);
    }
    let assigned = api("omit = [\"REQ\"]\nassign = { \"REQ-AMOUNT\" = 1 }\n");
    assert!(World::new(&service, &assigned).record("POST", "/v1/x", "{}").is_ok());
}
