//! Trading partners over HTTP, on the listener for operators of a running server.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::partner::examples;
use crate::world::World;

/// A server that ends with the test.
struct Server {
    child: Child,
    admin: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(world: &World) -> Server {
        Server::start_with(world, "")
    }

    /// Starts a server with additional settings.
    fn start_with(world: &World, more: &str) -> Server {
        Server::start_to(world, more, Stdio::inherit())
    }

    /// Starts a server that writes its log to `log`.
    fn start_to(world: &World, more: &str, log: impl Into<Stdio>) -> Server {
        let free = || TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        let (api, admin) = (free(), free());
        let entry = |id: &str, key: &str, role: &str| {
            let digest = quayline_server::key_digest(key);
            format!("[[key]]\nid = \"{id}\"\nsha256 = \"{digest}\"\nroles = [\"{role}\"]\n")
        };
        world.write("partners/keys.toml", entry("rita", "reader", "auditor") + &entry("karl", "keeper", "operator"));
        world.write(
            "partners/quayline.toml",
            format!(
                "[serve]\nlisten = \"{api}\"\n[serve.authentication]\napi-keys = \"keys.toml\"\n\
                 [serve.admin]\nlisten = \"{admin}\"\nread = [\"auditor\"]\noperate = [\"operator\"]\n{more}"
            ),
        );
        let child = world.command(["serve", "partners"]).stdout(Stdio::null()).stderr(log).spawn().expect("a server");
        let server = Server { child, admin };
        let end = Instant::now() + Duration::from_secs(60);
        while server.ask("GET", "/health", "", b"").is_none_or(|(status, _)| status != 200) {
            assert!(Instant::now() < end, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// Returns status and body; `None` if no server listens.
    fn ask(&self, method: &str, path: &str, key: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
        self.ask_with(method, path, key, "", body).map(|(status, _, body)| (status, body))
    }

    /// Returns status, head and body of a request with further headers, each with its line end.
    fn ask_with(
        &self,
        method: &str,
        path: &str,
        key: &str,
        headers: &str,
        body: &[u8],
    ) -> Option<(u16, String, Vec<u8>)> {
        let mut stream = TcpStream::connect(self.admin).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        let key = if key.is_empty() { String::new() } else { format!("x-api-key: {key}\r\n") };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{key}{headers}content-length: {}\r\n\r\n",
            self.admin,
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&answer[..end]).ok()?.to_owned();
        let status = head.split_ascii_whitespace().nth(1)?.parse().ok()?;
        let body = &answer[end + 4..];
        let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { chunks(body).expect("all chunks").concat() } else { body.to_vec() };
        Some((status, head, body))
    }

    /// Sends an operator's request with further headers. Returns status, tag and body.
    fn tagged(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String, String) {
        let (status, head, body) = self.ask_with(method, path, "keeper", headers, body).expect("an answer");
        let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap_or_default().to_owned();
        (status, tag, String::from_utf8(body).expect("UTF-8"))
    }

    fn json(&self, method: &str, path: &str, body: &[u8], status: u16) -> Value {
        let (found, text) = self.ask(method, path, "keeper", body).expect("an answer");
        assert_eq!(found, status, "{method} {path}: {}", text.escape_ascii());
        serde_json::from_slice(&text).expect("JSON")
    }

    fn get(&self, path: &str) -> Value {
        self.json("GET", path, b"", 200)
    }

    fn post(&self, path: &str, body: &[u8]) -> Value {
        self.json("POST", path, body, 200)
    }
}

/// Returns the chunks of a body; `None` if the last one is missing.
fn chunks(mut body: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).ok()?, 16).ok()?;
        body = &body[end + 2..];
        if length == 0 {
            return Some(all);
        }
        all.push(body.get(..length)?.to_vec());
        body = body.get(length + 2..)?;
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

#[test]
fn partners_are_changed_over_http_without_a_restart() {
    let world = examples();
    let server = Server::start(&world);
    let acme = b"[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"ACME\"\n[[rule]]\ndirection = \"receive\"\ndocument = \"850\"\ndeliver = \"folder:acme\"\n";
    assert_eq!(server.ask("PUT", "/partner/partners/ACME", "reader", acme).expect("an answer").0, 403);
    let order =
        String::from_utf8(world.read("edi/850.x12")).expect("text").replace("ALDER          ", "ACME           ");
    assert_eq!(server.post("/partner/receive?name=early", order.as_bytes())["unrouted"], 3);
    let wrong = server.json("PUT", "/partner/partners/ACME", &acme[..40], 422);
    assert!(wrong["findings"][0]["message"].is_string(), "{wrong}");
    let other = server.json("PUT", "/partner/partners/ACME", b"{\"name\": \"OTHER\"}", 400);
    assert!(other.to_string().contains("the path names `ACME`"), "{other}");
    let put = server.json("PUT", "/partner/partners/ACME", acme, 200);
    assert_eq!(put["changes"][0]["change"], "added", "{put}");
    // The running server knows the partner: send the same order again.
    let received = server.post("/partner/receive?name=late&again=true", order.as_bytes());
    assert_eq!(received["delivered"], 3, "{received}");
    let exported = server.get("/partner/export?name=ACME");
    assert_eq!(exported["partners"][0]["identity"][0]["id"], "ACME", "{exported}");
    let imported = server.post("/partner/import", exported.to_string().as_bytes());
    assert_eq!(imported["changes"][0]["partner"], "ACME", "{imported}");
    // An advice about one of its documents.
    let found = server.get("/partner/entries?state=delivered&kind=transaction&partner=ACME");
    let entry = number(&found["entries"][0]["entry"]);
    let advised = server.post(&format!("/partner/entries/{entry}/advise?text=no+such+item"), b"");
    let advice = server.get(&format!("/partner/entries/{}/story", number(&advised["advice"])));
    assert_eq!(advice["entry"]["document"], "824", "{advice}");
    assert_eq!(server.json("DELETE", "/partner/partners/ACME", b"", 200)["changes"][0]["change"], "removed");
    assert_eq!(server.json("DELETE", "/partner/partners/ACME", b"", 404)["partner"], "ACME");
    let changes = String::from_utf8(world.read("partners/partners/changes.jsonl")).expect("text");
    assert!(changes.lines().all(|line| line.contains("\"by\":\"http karl\"")), "{changes}");
}

/// A partner in the store is like one in a file: it takes effect at once, and two operators do not lose a change.
#[test]
fn partners_in_the_store_are_changed_over_http_without_a_restart() {
    let world = examples();
    let server = Server::start(&world);
    let acme = "# by hand\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"ACME\"\n[[rule]]\ndirection = \"receive\"\ndocument = \"850\"\ndeliver = \"folder:acme\"\n";
    let path = "/partner/partners/ACME";
    let into_store = format!("{path}?in=store");
    let order =
        String::from_utf8(world.read("edi/850.x12")).expect("text").replace("ALDER          ", "ACME           ");
    assert_eq!(server.post("/partner/receive?name=early", order.as_bytes())["unrouted"], 3);
    // Roles: the auditor may read and not write.
    assert_eq!(server.ask("PUT", &into_store, "reader", acme.as_bytes()).expect("an answer").0, 403);
    let wrong = server.json("PUT", "/partner/partners/ACME?in=attic", acme.as_bytes(), 400);
    assert_eq!(wrong["findings"][0]["hint"], "write in=files or in=store", "{wrong}");
    // All findings at once, and nothing is kept.
    let faulty = acme.replace("folder:acme", "disk:acme").replace("[[rule]]", "[settings]\nusage = \"x\"\n[[rule]]");
    let wrong = server.json("PUT", &into_store, faulty.as_bytes(), 422);
    assert_eq!(wrong["findings"].as_array().map(Vec::len), Some(2), "{wrong}");
    assert_eq!(server.tagged("GET", path, "", b"").0, 404);

    let (status, first, _) = server.tagged("PUT", &into_store, "if-none-match: *\r\n", acme.as_bytes());
    assert_eq!((status, first.len()), (200, 34), "{first}");
    assert!(!world.path("partners/partners/ACME.toml").exists());
    assert_eq!(server.tagged("PUT", &into_store, "if-none-match: *\r\n", acme.as_bytes()).0, 412);
    let received = server.post("/partner/receive?name=late&again=true", order.as_bytes());
    assert_eq!(received["delivered"], 3, "{received}");
    let explained = server.post("/partner/explain", order.as_bytes());
    assert_eq!(explained["documents"][0]["partner_source"], "store:ACME", "{explained}");
    let (status, tag, shown) = server.tagged("GET", path, "", b"");
    assert_eq!((status, &tag), (200, &first));
    assert!(shown.contains("\"source\":\"store:ACME\""), "{shown}");
    let (status, tag, text) = server.tagged("GET", &format!("{path}/text"), "", b"");
    assert_eq!((status, &tag, text.as_str()), (200, &first, acme), "the same bytes, with the comment");

    // Two operators have read the same version: the second one learns that it is not the newest.
    let matching = format!("if-match: {first}\r\n");
    let one = acme.replace("by hand", "by one");
    let (status, second, _) = server.tagged("PUT", path, &matching, one.as_bytes());
    assert!(status == 200 && second != first, "{status} {second}");
    let (status, _, body) = server.tagged("PUT", path, &matching, acme.replace("by hand", "by two").as_bytes());
    assert!(status == 412 && body.contains("PTN-019"), "{status} {body}");
    assert_eq!(server.tagged("DELETE", path, &matching, b"").0, 412);
    assert_eq!(server.tagged("GET", &format!("{path}/text"), "", b"").2, one);

    // A name has one place.
    let twice = server.json("PUT", &format!("{path}?in=files"), acme.as_bytes(), 400);
    assert!(twice.to_string().contains("in store:ACME"), "{twice}");
    let twice = server.json("PUT", "/partner/partners/ALDER?in=store", acme.replace("ACME", "ALDER").as_bytes(), 400);
    assert!(twice.to_string().contains("alder.toml"), "{twice}");
    // The store of a running server belongs to it; a command that reads says so and shows the files.
    let listed = world.run("partner list --project partners");
    assert!(listed.code(0).err().contains("the store is in use") && !listed.out().contains("ACME"), "{}", listed.err());
    let exported = server.get("/partner/export?in=store");
    assert_eq!(exported["partners"].as_array().map(Vec::len), Some(1), "{exported}");
    assert_eq!(server.tagged("DELETE", path, &format!("if-match: {second}\r\n"), b"").0, 200);
    assert_eq!(server.tagged("DELETE", path, "", b"").0, 404);
    let gone = server.post("/partner/receive?name=last&again=true", order.as_bytes());
    assert_eq!(gone["unrouted"], 3, "{gone}");
    let changes = server.get("/partner/changes?count=2");
    let told = |at: usize| {
        format!(
            "{} {} {}",
            changes["changes"][at]["what"], changes["changes"][at]["by"], changes["changes"][at]["file"]
        )
    };
    assert_eq!([told(0), told(1)], [r#""removed" "http karl" "store:ACME""#, r#""replaced" "http karl" "store:ACME""#]);
}

/// A flow that runs gets a partner that somebody adds to the store, as it gets a changed file.
#[test]
fn a_running_flow_is_loaded_again_with_a_partner_in_the_store() {
    let world = examples();
    // The partner is in the store only, and the flow names it.
    let alder = world.read("partners/partners/alder.toml");
    std::fs::remove_file(world.path("partners/partners/alder.toml")).expect("a file");
    let birch = String::from_utf8(world.read("partners/partners/birch.toml")).expect("text");
    world.write("birch.toml", &birch);
    std::fs::remove_file(world.path("partners/partners/birch.toml")).expect("a file");
    world.run("partner add --project partners --in-store birch.toml").code(0);
    world.write(
        "partners/flows/orders.toml",
        "title = \"Orders\"\n[node.requests]\ntype = \"http_input\"\nlisten = \"ADDRESS\"\npath = \"/edi\"\nout = \"receive\"\n\
         [node.receive]\ntype = \"partner_receive\"\nout = \"done\"\nrejected = \"left\"\n\
         [node.done]\ntype = \"queue_output\"\nqueue = \"DONE\"\n[node.left]\ntype = \"queue_output\"\nqueue = \"LEFT\"\n",
    );
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let flow = String::from_utf8(world.read("partners/flows/orders.toml")).expect("text");
    world.write("partners/flows/orders.toml", flow.replace("ADDRESS", &free.to_string()));
    let defined = world.run("flow define --project partners");
    defined.code(0);
    assert!(world.run("flow check --project partners").code(0).err().contains("no errors"));
    let server = Server::start(&world);
    let edi = world.read("edi/850.x12");
    let deliver = || {
        let mut stream = TcpStream::connect(free).ok()?;
        let head =
            format!("POST /edi HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", edi.len());
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&edi)).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    let end = Instant::now() + Duration::from_secs(60);
    while deliver().is_none_or(|answer| !answer.starts_with("HTTP/1.1 20")) {
        assert!(Instant::now() < end, "the flow does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    let orders = || std::fs::read_dir(world.path("partners/orders")).map_or(0, |all| all.count());
    assert_eq!(orders(), 0, "the sender is unknown");
    server.json("PUT", "/partner/partners/ALDER?in=store", &alder, 200);
    while orders() == 0 {
        assert!(Instant::now() < end, "the flow does not know the partner");
        deliver();
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_document_is_found_told_corrected_and_sent_again_over_http() {
    let world = examples();
    let server = Server::start(&world);
    // Roles: a request without a key is refused, the auditor may read, the operator may also write.
    let status = |method: &str, path: &str, key: &str| server.ask(method, path, key, b"").expect("an answer").0;
    assert_eq!(status("GET", "/partner/partners", ""), 401);
    assert_eq!(status("GET", "/partner/partners", "wrong"), 401);
    assert_eq!(status("GET", "/partner/partners", "reader"), 200);
    assert_eq!(status("POST", "/partner/envelopes/release", "reader"), 403);
    assert_eq!(status("POST", "/partner/envelopes/release", "keeper"), 200);
    assert_eq!(status("GET", "/health", ""), 200);
    // A refusal has a finding. Only a client that has authenticated learns the roles.
    let refusal = |method: &str, path: &str, key: &str| -> Value {
        serde_json::from_slice(&server.ask(method, path, key, b"").expect("an answer").1).expect("JSON")
    };
    let forbidden = refusal("POST", "/partner/envelopes/release", "reader");
    assert_eq!(forbidden["findings"][0]["code"], "SRV-016", "{forbidden}");
    assert_eq!(forbidden["findings"][0]["hint"], "use a client with the role operator");
    let unknown = refusal("GET", "/partner/partners", "wrong");
    assert_eq!(unknown["findings"][0]["code"], "SRV-015", "{unknown}");
    assert!(!unknown.to_string().contains("operator") && !unknown.to_string().contains("auditor"), "{unknown}");
    // Requests that the paths do not read as they were meant.
    let hint = |method: &str, path: &str, body: &[u8], status: u16| {
        let answer = server.json(method, path, body, status);
        answer["findings"][0]["hint"].as_str().expect("a hint").to_owned()
    };
    for cursor in ["5", "C1F2", "0f"] {
        for search in ["", "&state=rejected", "&partner=ALDER", "&partner=ALDER&kind=group", "&number=5"] {
            let hint = hint("GET", &format!("/partner/entries?after={cursor}{search}"), b"", 400);
            assert!(hint.contains("`next` of the page before"), "{cursor}{search}: {hint}");
        }
    }
    for method in ["DELETE", "GET"] {
        assert_eq!(hint(method, "/partner/entries/purge", b"", 405), "send POST");
    }
    assert_eq!(hint("POST", "/partner/entries/export", b"", 405), "send GET");
    let hint_of_body = hint("POST", "/partner/entries/purge", b"{\"older_than\":0}", 400);
    assert_eq!(hint_of_body, "send parameters in the query, not in a body: older_than, after");
    assert!(hint("GET", "/partner/entries/77", b"", 404).contains("`GET /partner/entries`"));

    // An order with a bad quantity among good ones.
    let good = String::from_utf8(world.read("edi/850.x12")).expect("text");
    let line = good.split('~').find(|segment| segment.trim().starts_with("PO1*")).expect("a line").trim().to_owned();
    let elements: Vec<&str> = line.split('*').collect();
    let wrong = line.replacen(&format!("*{}*", elements[2]), "*X*", 1);
    let report = server.post("/partner/receive?name=orders.x12", good.replacen(&line, &wrong, 1).as_bytes());
    assert_eq!((&report["delivered"], &report["rejected"]), (&2.into(), &1.into()), "{report}");
    // Regression: input that is not an interchange, and repeated bytes, were answered with 200 although they were not received.
    let garbage = server.json("POST", "/partner/receive?name=garbage", b"this is no interchange", 400);
    assert_eq!(garbage["findings"][0]["code"], "PTN-110", "{garbage}");
    let faulty = good.replacen(&line, &wrong, 1);
    let again = server.json("POST", "/partner/receive?name=orders.x12", faulty.as_bytes(), 409);
    assert_eq!(again["findings"][0]["code"], "PTN-106", "{again}");
    let hint = again["findings"][0]["hint"].as_str().expect("a hint");
    assert!(hint.contains("`again=true`") && !hint.contains("--"), "{hint}");
    let rejected = server.get("/partner/entries?state=rejected&kind=transaction&partner=ALDER");
    let entry = number(&rejected["entries"][0]["entry"]);
    assert_eq!(rejected["entries"].as_array().map(Vec::len), Some(1), "{rejected}");

    // The story of the entry has the finding at the segment, and the acknowledgment.
    let story = server.get(&format!("/partner/entries/{entry}/story"));
    let at_fault: Vec<&Value> = story["segments"]
        .as_array()
        .expect("segments")
        .iter()
        .filter(|segment| segment["findings"].as_array().is_some_and(|all| !all.is_empty()))
        .collect();
    assert_eq!(at_fault.len(), 1, "{story}");
    assert_eq!(at_fault[0]["text"].as_str(), Some(wrong.as_str()));
    assert_eq!(story["interchange"]["kind"], "interchange");
    assert_eq!(story["answer"]["document"], "acknowledgment");
    assert_eq!(story["answer"]["about"], story["interchange"]["entry"]);

    // The bytes of the entry are corrected and processed again.
    let (code, bytes) =
        server.ask("GET", &format!("/partner/entries/{entry}/bytes"), "reader", b"").expect("an answer");
    assert_eq!(code, 200);
    let corrected = String::from_utf8(bytes).expect("text").replacen(&wrong, &line, 1);
    let done = server.post(&format!("/partner/entries/{entry}/reprocess"), corrected.as_bytes());
    assert_eq!((&done["state"], &done["replaces"]), (&"delivered".into(), &entry.into()), "{done}");
    let story = server.get(&format!("/partner/entries/{entry}/story"));
    assert_eq!(story["after"][0]["entry"], done["entry"], "{story}");
    let again = server.json("POST", &format!("/partner/entries/{entry}/reprocess"), b"", 409);
    assert_eq!(again["findings"][0]["code"], "PTN-303", "{again}");

    // Pages: all entries, each once, the newest first.
    let mut path = "/partner/entries?count=2".to_owned();
    let mut ids = Vec::new();
    loop {
        let page = server.get(&path);
        let entries = page["entries"].as_array().expect("entries");
        assert!(entries.len() <= 2);
        ids.extend(entries.iter().map(|entry| number(&entry["entry"])));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/partner/entries?count=2&after={next}");
    }
    assert!(ids.len() > 5 && ids.windows(2).all(|pair| pair[0] > pair[1]), "{ids:?}");
    let by_field = server.get("/partner/entries?field=purchase-order%3DPO4712");
    assert_eq!(by_field["entries"].as_array().map(Vec::len), Some(1), "{by_field}");

    // Outbound: documents wait, are released, sent again, and put into a new envelope.
    let invoices = world.read("maps/data/invoices.dat");
    let sent = server.post("/partner/send?document=invoice&name=invoices.dat", &invoices);
    assert_eq!((&sent["waiting"], &sent["interchanges"]), (&3.into(), &0.into()), "{sent}");
    assert_eq!(sent["findings_more"], 0, "{sent}");
    assert_eq!(server.get("/partner/envelopes")["envelopes"].as_array().map(Vec::len), Some(2));
    assert_eq!(server.post("/partner/envelopes/release?partner=ALDER", b"")["interchanges"], 1);
    // Regression: the answer of a release had no findings.
    world.write("partners/outbox/birch", "not a folder");
    let released = server.post("/partner/envelopes/release", b"");
    assert_eq!((&released["interchanges"], &released["findings_more"]), (&1.into(), &0.into()), "{released}");
    assert_eq!(released["findings"][0]["finding"]["code"], "PTN-300", "{released}");
    std::fs::remove_file(world.path("partners/outbox/birch")).expect("removed");
    let overdue = server.get("/partner/overdue?at=2999-01-01");
    assert!(!overdue["entries"].as_array().expect("entries").is_empty());
    let interchanges = server.get("/partner/entries?kind=interchange&way=sent&partner=ALDER");
    let interchange = number(&interchanges["entries"][0]["entry"]);
    let place = server.post(&format!("/partner/entries/{interchange}/resend"), b"");
    assert!(place["output"].as_str().is_some_and(|place| place.ends_with("-again-1.x12")), "{place}");
    assert_eq!(server.post(&format!("/partner/entries/{interchange}/reenvelope"), b"")["sent"], 2);

    // Failures are reported with their reason.
    assert_eq!(server.json("GET", "/partner/entries/9999", b"", 404)["findings"][0]["code"], "PTN-301");
    let unknown = server.json("GET", "/partner/entries?sate=rejected", b"", 400);
    assert_eq!(unknown["findings"][0]["hint"], "did you mean `state`?", "{unknown}");
    server.json("GET", "/partner/entries?state=lost", b"", 400);
    server.json("GET", "/partner/partners/NOBODY", b"", 404);
    assert_eq!(server.get("/partner/partners/ALDER")["rules"][0]["name"], "orders");
    let explained = server.post("/partner/explain", good.as_bytes());
    assert_eq!(explained["documents"][0]["partner"], "ALDER", "{explained}");
}

/// Every operation of the document works, and no other path does.
#[test]
fn the_openapi_document_has_every_path() {
    let world = examples();
    let server = Server::start(&world);
    let document = server.get("/partner/openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            assert!(operation["operationId"].is_string() && operation["responses"]["200"].is_object(), "{path}");
            let path = path.replace("{entry}", "1").replace("{name}", "ALDER");
            let (status, body) = server.ask(&method.to_uppercase(), &path, "keeper", b"").expect("an answer");
            let body = std::str::from_utf8(&body).expect("UTF-8");
            assert!(!body.contains("SRV-014") && (200..500).contains(&status), "{method} {path}: {status} {body}");
            operations += 1;
        }
    }
    assert_eq!(operations, 26);
    for (method, path, expected) in [("POST", "/partner/entries", 405), ("POST", "/partner/entry", 404)] {
        let (status, body) = server.ask(method, path, "keeper", b"").expect("an answer");
        let body = std::str::from_utf8(&body).expect("UTF-8");
        assert!(status == expected && body.contains("SRV-014"), "{status} {body}");
    }
}

/// Regression: without `partner run`, envelopes that were due were not closed, and files were not processed.
#[test]
fn a_server_closes_envelopes_and_watches_folders() {
    let world = examples();
    let file = "partners/partners/quayside.toml";
    let text = String::from_utf8(world.read(file)).expect("text");
    world.write(file, text.replace("age = \"1h\"", "age = \"1s\""));
    world.write("partners/inbox/orders.x12", world.read("edi/850.x12"));
    let log = std::fs::File::create(world.path("serve.log")).expect("a log");
    let settings = "[serve.partners]\ninbox = [\"inbox\", \"inbxo\"]\nsettle-seconds = 0\n";
    let server = Server::start_to(&world, settings, log);
    let invoices = world.read("maps/data/invoices.dat");
    let (status, body) = server.ask("POST", "/partner/send?document=invoice", "keeper", &invoices).expect("an answer");
    assert_eq!((status, body.is_empty()), (200, false));
    let end = Instant::now() + Duration::from_secs(60);
    let names = |folder: &str| std::fs::read_dir(world.path(folder)).map_or(0, |all| all.count());
    while (names("partners/archive"), names("partners/outbox/birch")) != (1, 1) {
        assert!(Instant::now() < end, "nothing is taken, or no envelope closes");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(names("partners/orders"), 3);
    let log = String::from_utf8(world.read("serve.log")).expect("text");
    assert_eq!(log.matches("warning[PTN-308]").count(), 1, "{log}");
    assert!(log.contains("inbxo did not exist"), "{log}");
}

#[test]
fn files_that_wait_are_listed_over_http() {
    let world = examples();
    world.write("partners/orders", "not a folder");
    let server = Server::start(&world);
    assert_eq!(server.get("/partner/outbox"), serde_json::json!({ "files": [], "next": null }));
    let received = server.post("/partner/receive?name=orders.x12", &world.read("edi/850.x12"));
    assert_eq!((&received["delivered"], &received["duplicates"]), (&3.into(), &0.into()), "{received}");
    let finding = &received["findings"][0]["finding"];
    let hint = finding["hint"].as_str().expect("a hint");
    assert!(
        finding["code"] == "PTN-300" && hint.ends_with("`GET /partner/outbox` lists the files that wait"),
        "{hint}"
    );
    let first = server.get("/partner/outbox?count=2");
    let after = first["next"].as_str().expect("a place");
    let second = server.get(&format!("/partner/outbox?count=2&after={after}"));
    assert!(second["next"].is_null(), "{second}");
    let files = [&first, &second].map(|page| page["files"].as_array().expect("files").clone()).concat();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let path = file["path"].as_str().expect("a path");
        let entry = server.get(&format!("/partner/entries/{}", file["entry"]));
        assert!(entry["outputs"][0] == path && number(&file["bytes"]) > 0, "{file} {entry}");
    }
    // A value that is not hexadecimal had another code.
    for path in ["outbox?after=00", "outbox?after=zzz", "entries?after=zzz", "overdue?after=zzz"] {
        let wrong = server.json("GET", &format!("/partner/{path}"), b"", 400);
        assert_eq!(wrong["findings"][0]["code"], "PTN-306", "{path}: {wrong}");
    }
    server.json("GET", "/partner/outbox?state=sent", b"", 400);
    let refused = world.run("partner outbox --project partners");
    refused.code(2);
    assert!(refused.err().contains("STO-005"), "{}", refused.err());
    // The next request that works at the desk, or the next round, writes the files.
    std::fs::remove_file(world.path("partners/orders")).expect("removed");
    server.get("/partner/envelopes");
    assert_eq!(server.get("/partner/outbox")["files"], serde_json::json!([]));
    assert_eq!(std::fs::read_dir(world.path("partners/orders")).expect("a folder").count(), 3);
}

/// Returns each TOML file of a section of the reference, with the path in its first line.
fn files_of_section(title: &str) -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/partners.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let section =
        page.split(&format!("\n## {title}\n")).nth(1).expect("the section").split("\n## ").next().unwrap_or_default();
    let blocks = section.split("```toml\n# ").skip(1);
    let block = |block: &str| {
        let (name, text) = block.split_once('\n').expect("a path");
        (name.to_owned(), text.split("```").next().unwrap_or_default().to_owned())
    };
    blocks.map(block).collect()
}

/// Reads one complete request of a client and answers 200.
fn accepted(listener: &TcpListener) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().expect("a client");
    let mut request = Vec::new();
    loop {
        let mut some = [0; 4_096];
        let count = stream.read(&mut some).expect("a request");
        assert!(count > 0, "the request ends early");
        request.extend_from_slice(&some[..count]);
        let Some(end) = request.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&request[..end]).expect("a head in ASCII").to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        if request.len() >= end + 4 + length.expect("a length") {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").expect("an answer");
            return (head, request.split_off(end + 4));
        }
    }
}

#[test]
fn interchanges_come_and_go_by_http_as_the_reference_shows() {
    let world = examples();
    let theirs = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let ours = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let addressed = |text: &str| {
        let to = theirs.local_addr().expect("an address").to_string();
        text.replace("127.0.0.1:8090", &ours.to_string()).replace("127.0.0.1:8091", &to)
    };
    let files = files_of_section("Interchanges by HTTP");
    let [from, to, settings] = &files[..] else { panic!("three files: {files:?}") };
    for (name, text) in [from, to] {
        world.write(&format!("partners/{name}"), addressed(text));
    }
    assert_eq!(settings.0, "quayline.toml");
    let file = "partners/partners/alder.toml";
    let text = String::from_utf8(world.read(file)).expect("text");
    world.write(
        file,
        text.replace("send-to = \"folder:outbox/alder\"", "send-to = \"queue:TO-ALDER\"\nenvelope = \"immediate\""),
    );
    world.run("flow define --project partners").code(0);
    let _server = Server::start_with(&world, &settings.1);
    let edi = world.read("edi/850.x12");
    // The client repeats its request, but Quayline receives the interchange only once.
    for _ in 0..2 {
        let mut stream = TcpStream::connect(ours).expect("the flow listens");
        let head = format!(
            "POST /edi HTTP/1.1\r\nhost: {ours}\r\nidempotency-key: \"one\"\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            edi.len()
        );
        stream.write_all(head.as_bytes()).expect("a request");
        stream.write_all(&edi).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    }
    let (head, body) = accepted(&theirs);
    assert!(head.starts_with("post /edi ") && head.contains("idempotency-key:"), "{head}");
    let text = String::from_utf8(body).expect("text");
    assert!(text.starts_with("ISA*") && text.contains("~\nST*997*") && text.contains("AK9*A*3*3*3"), "{text}");
    theirs.set_nonblocking(true).expect("a setting");
    std::thread::sleep(Duration::from_secs(1));
    assert!(theirs.accept().is_err(), "nothing else is sent");
    assert_eq!(std::fs::read_dir(world.path("partners/orders")).expect("a folder").count(), 3);
}

/// An export over HTTP has what the command writes, as a stream.
#[test]
fn entries_are_exported_over_http_in_each_format() {
    const ORDERS: usize = 700;
    let world = examples();
    let server = Server::start(&world);
    server.post("/partner/receive?name=many", crate::partner::many(ORDERS).as_bytes());
    server.post("/partner/receive?name=orders", &world.read("edi/850.x12"));
    // Roles: the auditor may read everything.
    let export = |query: &str| {
        let (status, head, body) =
            server.ask_with("GET", &format!("/partner/entries/export{query}"), "reader", "", b"").expect("an answer");
        assert_eq!(status, 200, "{query}: {}", body.escape_ascii());
        (head.to_ascii_lowercase(), body)
    };
    assert_eq!(server.ask("GET", "/partner/entries/export", "", b"").expect("an answer").0, 401);
    let (head, lines) = export("");
    assert!(
        head.contains("content-type: application/x-ndjson") && head.contains("transfer-encoding: chunked"),
        "{head}"
    );
    let text = String::from_utf8(lines.clone()).expect("UTF-8");
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("an entry")).collect();
    // Documents; interchanges and groups; acknowledgments.
    assert_eq!(entries.len(), ORDERS + 3 + 4 + 2);
    assert_eq!(entries[0], server.get(&format!("/partner/entries/{}", number(&entries[0]["entry"]))));
    // A part is a page of the search, so the server's memory does not depend on the number of entries.
    let mut stream = TcpStream::connect(server.admin).expect("the server");
    write!(
        stream,
        "GET /partner/entries/export HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nx-api-key: reader\r\n\r\n",
        server.admin
    )
    .expect("a request");
    let mut raw = Vec::new();
    stream.read_to_end(&mut raw).expect("an answer");
    let end = raw.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let parts = chunks(&raw[end + 4..]).expect("all chunks");
    let of_part = |part: &Vec<u8>| part.split(|byte| *byte == b'\n').count();
    assert!(parts.len() >= 3 && parts.iter().all(|part| of_part(part) <= 257), "{} parts", parts.len());
    // The conditions are those of a search.
    let (_, some) = export("?kind=transaction&partner=ALDER&field=purchase-order%3DPO4712");
    assert_eq!(String::from_utf8(some).expect("UTF-8").lines().count(), 1);
    let (head, csv) = export("?format=csv&way=received");
    assert!(head.contains("content-type: text/csv"), "{head}");
    let (head, parquet) = export("?format=parquet&kind=transaction");
    assert!(head.contains("content-type: application/vnd.apache.parquet"), "{head}");
    world.write("store.parquet", &parquet);
    let read = world.run("convert store.parquet");
    assert_eq!(read.code(0).out().lines().count(), ORDERS + 3);
    assert!(read.out().contains("\"fields\":[{\"name\":\"purchase-order\",\"value\":\"PO4712\"}]"));
    // An export of nothing has the head of its format only.
    let (_, none) = export("?format=csv&from=2099-01-01");
    assert_eq!(none.iter().filter(|byte| **byte == b'\n').count(), 1);
    assert_eq!(export("?from=2099-01-01&partner=ALDER").1, b"");
    // An export, and a page, for a name that nothing has is an error as in the command.
    for path in ["export?partner=ALDR", "export?format=csv&partner=ALDR", "?partner=ALDR"] {
        let path = format!("/partner/entries{}{path}", if path.starts_with('?') { "" } else { "/" });
        let unknown = server.json("GET", &path, b"", 400);
        let finding = &unknown["findings"][0];
        assert_eq!(finding["code"], "PTN-021", "{unknown}");
        assert!(finding["hint"].as_str().is_some_and(|text| text.starts_with("did you mean `ALDER`?")), "{unknown}");
    }
    let rule = server.json("GET", "/partner/entries?rule=nothing", b"", 400);
    assert_eq!(rule["findings"][0]["code"], "PTN-021", "{rule}");
    for (query, hint) in [
        ("?format=xml", "write one of jsonl, csv, parquet"),
        ("?formal=csv", "did you mean `format`?"),
        ("?count=5", "the parameters are"),
        ("?state=lost", "write one of"),
    ] {
        let wrong = server.json("GET", &format!("/partner/entries/export{query}"), b"", 400);
        assert!(wrong["findings"][0]["hint"].as_str().is_some_and(|text| text.starts_with(hint)), "{query}: {wrong}");
    }
    // The command writes the same bytes.
    drop(server);
    let command = |options: &str| world.run(&format!("transaction export --project partners {options}")).code(0).out();
    assert_eq!(command("").as_bytes(), lines);
    assert_eq!(command("--csv --received").as_bytes(), csv);
}

/// A purge over HTTP is in parts, and documents that arrive meanwhile are received.
#[test]
fn entries_are_purged_over_http_while_documents_arrive() {
    let world = examples();
    let server = Server::start(&world);
    let orders = world.read("edi/850.x12");
    assert_eq!(server.post("/partner/receive?name=first", &orders)["delivered"], 3);
    let purge = |query: &str| server.post(&format!("/partner/entries/purge{query}"), b"");
    // Roles: an auditor changes nothing.
    assert_eq!(server.ask("POST", "/partner/entries/purge?older_than=0", "reader", b"").expect("an answer").0, 403);
    let nothing = purge("");
    assert_eq!((&nothing["removed"], &nothing["next"]), (&0.into(), &Value::Null), "nothing is that old: {nothing}");
    for (query, message) in [
        ("?older_than=old", "`older_than` is not a number of days"),
        ("?older=3", "unknown parameter `older`"),
        ("?after=12", "`after` is not the place where a page ends"),
    ] {
        let wrong = server.json("POST", &format!("/partner/entries/purge{query}"), b"", 400);
        assert_eq!(wrong["findings"][0]["message"], message, "{wrong}");
    }
    // From a place on: the first two entries stay.
    let all = server.get("/partner/entries?count=1000")["entries"].as_array().map_or(0, Vec::len);
    assert_eq!(purge("?older_than=0&after=0000000000000003")["removed"], all - 2);
    assert_eq!(purge("?older_than=0")["removed"], 2);
    assert_eq!(server.get("/partner/entries")["entries"].as_array().map(Vec::len), Some(0));
    let again = server.post("/partner/receive?name=again", &orders);
    assert_eq!(again["delivered"], 3, "neither its bytes nor its number came before: {again}");

    let done = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        let purging = scope.spawn(|| {
            let mut removed = 0;
            while !done.load(order) {
                removed += number(&purge("?older_than=0")["removed"]);
            }
            removed + number(&purge("?older_than=0")["removed"])
        });
        let text = String::from_utf8(orders.clone()).expect("text");
        for number in 1..=30 {
            let next = text.replace("000004711", &format!("{:09}", 5_000 + number));
            assert_ne!(next, text);
            let received = server.post(&format!("/partner/receive?name=n{number}"), next.as_bytes());
            assert_eq!(received["delivered"], 3, "{received}");
        }
        done.store(true, order);
        // Each has an interchange, a group, three documents and an acknowledgment of two entries or one.
        assert!(purging.join().expect("purged") >= 30 * 6);
    });
    assert_eq!(std::fs::read_dir(world.path("partners/orders")).expect("a folder").count(), 3 + 3 + 30 * 3);
    assert_eq!(server.get("/partner/entries")["entries"].as_array().map(Vec::len), Some(0));
}
