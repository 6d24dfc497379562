//! Reload: the files that it reads, the state that it keeps, and the recompilation of programs.

use std::process::{Command, Stdio};

use crate::world::{RECORDS, Server, project, wait_for};

const OPEN: &str = "reload-seconds = 1\n[serve.authentication]\nrequired = false";

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// One request to the admin listener.
fn admin(port: u16, request: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    all
}

/// A reload that could not read `apis/` took all APIs away, without a word.
#[test]
fn a_folder_that_cannot_be_read_takes_no_api_away() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    project(folder.path(), &format!("{OPEN}\n[serve.admin]\nlisten = \"127.0.0.1:{port}\""), RECORDS, "");
    let server = Server::start(folder);
    let root = server.folder.path();
    let failed = || {
        let metrics = admin(port, "GET /metrics");
        let line = metrics.lines().find(|line| line.starts_with("quayline_reloads_failed_total")).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    for (i, name) in ["apis", "services"].into_iter().enumerate() {
        std::fs::rename(root.join(name), root.join("away")).unwrap();
        wait_for("the finding", || server.log().contains(&format!("{name}/ cannot be read")));
        let count = failed();
        wait_for("another look", || failed() > count);
        assert_eq!(server.get("/v1/echo/x", "").status, 200);
        let ready = admin(port, "GET /ready");
        assert!(ready.starts_with("HTTP/1.1 200") && ready.contains("the old definitions stay in force"), "{ready}");
        assert!(admin(port, "POST /reload").starts_with("HTTP/1.1 422"));
        // What is tried again and again is said once, and once for the operator's own attempt at most.
        assert!(server.log().matches("the old definitions stay in force").count() <= 2 * (i + 1), "{}", server.log());
        std::fs::rename(root.join("away"), root.join(name)).unwrap();
        wait_for("the folder's return", || !admin(port, "GET /ready").contains("reload"));
    }
    // An empty folder is what a volume leaves that is not mounted.
    std::fs::rename(root.join("apis"), root.join("away")).unwrap();
    std::fs::create_dir(root.join("apis")).unwrap();
    wait_for("the finding", || server.log().contains("no API is left in apis/"));
    assert_eq!(server.get("/v1/echo/x", "").status, 200);
}

#[test]
fn definitions_that_did_not_change_are_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path(), OPEN, RECORDS, "");
    // By a relative path, as most people start it.
    let mut command = Command::new(env!("CARGO_BIN_EXE_quayline_serve"));
    let name = folder.path().file_name().unwrap().to_owned();
    command.current_dir(folder.path().parent().unwrap()).arg(name).stderr(Stdio::null());
    let log = std::fs::File::create(folder.path().join("stderr.log")).unwrap();
    let mut process = command.stderr(log).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2500));
    let log = std::fs::read_to_string(folder.path().join("stderr.log")).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(!log.contains("definitions were read again"), "{log}");
}

/// Definitions that named a wrong file outside of the project's folders were refused, and a correction of this file was not noticed.
#[test]
fn a_file_that_only_refused_definitions_name_is_watched() {
    let good = "       01 AREA.\n          05 A PIC X(4).\n";
    let service = "copybook = \"copybooks/DEEP/NEW.cpy\"\nencoding = \"ascii\"\nrequest-interface = \"copybooks/DEEP/i.toml\"\n[provider]\nkind = \"http\"\nurl = \"http://127.0.0.1:9/\"\n";
    let api = "base-path = \"/v2\"\n[[operation]]\nid = \"two\"\nmethod = \"GET\"\npath = \"/two\"\nservice = \"two\"\nassign = { A = \"x\" }\n";
    let folder = tempfile::tempdir().unwrap();
    project(folder.path(), OPEN, RECORDS, "");
    let server = Server::start(folder);
    let root = server.folder.path();
    let (copybook, interface) = (root.join("copybooks/DEEP/NEW.cpy"), root.join("copybooks/DEEP/i.toml"));
    std::fs::create_dir(root.join("copybooks/DEEP")).unwrap();
    let wrong = [
        ("a wrong copybook", good.replace("PIC X(4)", "PIC ?"), ""),
        ("a copybook without a field of the API", good.replace(" A ", " B "), ""),
        ("a wrong interface", good.to_owned(), "nonsense = 1\n"),
    ];
    for (i, (name, area, keys)) in wrong.into_iter().enumerate() {
        std::fs::write(&copybook, area).unwrap();
        std::fs::write(&interface, keys).unwrap();
        std::fs::write(root.join("services/two.toml"), service).unwrap();
        std::fs::write(root.join("apis/two.toml"), format!("{api}description = \"{name}\"\n")).unwrap();
        let refused = || server.log().matches("the old definitions stay in force").count();
        wait_for(name, || refused() > i);
        // Once: files that are watched now are not a change.
        std::thread::sleep(std::time::Duration::from_millis(2500));
        assert_eq!(refused(), i + 1, "{name}: {}", server.log());
        std::fs::write(&copybook, good).unwrap();
        std::fs::write(&interface, "").unwrap();
        wait_for(name, || server.log().matches("definitions were read again").count() == i + 1);
        std::fs::remove_file(root.join("services/two.toml")).unwrap();
        std::fs::remove_file(root.join("apis/two.toml")).unwrap();
        wait_for(name, || server.get("/v2/two", "").status == 404);
    }
}

const PROGRAM: &str = "       IDENTIFICATION DIVISION.
       PROGRAM-ID. NUMS.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 E PIC -(9)9.
       LINKAGE SECTION.
       COPY NUMS.
       PROCEDURE DIVISION USING NUMS-AREA.
           MOVE A-NUM TO E MOVE E TO SEEN-A.
           MOVE B-NUM TO E MOVE E TO SEEN-B.
           GOBACK.
";

const OUTER: &str = "       01 NUMS-AREA.
           COPY INNER OF LIB.
          05 SEEN-A PIC X(10).
          05 SEEN-B PIC X(10).
";

fn inner(first: &str, second: &str) -> String {
    format!("          05 {first} PIC S9(9) COMP-5.\n          05 {second} PIC S9(9) COMP.\n")
}

/// A project whose program copies a copybook that copies another, from a folder of copybooks inside of another.
fn numbers() -> Option<tempfile::TempDir> {
    if Command::new("cobc").arg("--version").output().is_err() {
        eprintln!("skipped: a_changed_copybook_recompiles_its_programs: GnuCOBOL (cobc) is not installed");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    project(root, OPEN, RECORDS, "");
    std::fs::create_dir(root.join("copybooks/LIB")).unwrap();
    std::fs::write(root.join("copybooks/NUMS.cpy"), OUTER).unwrap();
    std::fs::write(root.join("copybooks/LIB/INNER.cpy"), inner("A-NUM", "B-NUM")).unwrap();
    std::fs::write(root.join("nums.cbl"), PROGRAM).unwrap();
    let service = "copybook = \"NUMS.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"program\"\nprogram = \"NUMS\"\nsource = \"nums.cbl\"\n[request]\nkey-style = \"camel\"\nexclude = [\"SEEN-A\", \"SEEN-B\"]\n[response]\nkey-style = \"camel\"\n";
    std::fs::write(root.join("services/echo.toml"), service).unwrap();
    let api = "base-path = \"/v1\"\n[[operation]]\nid = \"echo\"\nmethod = \"POST\"\npath = \"/echo\"\nservice = \"echo\"\n[operation.body]\n";
    std::fs::write(root.join("apis/echo.toml"), api).unwrap();
    Some(folder)
}

fn seen(server: &Server) -> String {
    let answer = server.post("/v1/echo", "", r#"{"aNum":7,"bNum":-8}"#);
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    format!(
        "{} {} {}",
        answer.status,
        json["seenA"].as_str().unwrap_or("").trim(),
        json["seenB"].as_str().unwrap_or("").trim()
    )
}

/// Writes a file with an old modification time, as copied or checked-out files may have.
fn write_old(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
    assert!(Command::new("touch").args(["-d", "2001-01-01"]).arg(path).status().unwrap().success());
}

/// Swapping two fields of a copybook gave the program each other's values: it was compiled again only when its source was newer.
#[test]
fn a_changed_copybook_recompiles_its_programs_at_reload_and_at_start() {
    let Some(folder) = numbers() else { return };
    let mut server = Server::start(folder);
    assert_eq!(seen(&server), "200 7 -8", "{}", server.log());
    let path = server.folder.path().join("copybooks/LIB/INNER.cpy");
    write_old(&path, &inner("B-NUM", "A-NUM"));
    let compiled = |server: &Server| server.log().matches("nums.cbl is compiled to").count();
    wait_for("the program", || compiled(&server) == 2);
    wait_for("the definitions", || server.log().contains("definitions were read again"));
    assert_eq!(seen(&server), "200 7 -8");
    // At a start: the copybook is other than the one that the module was made of.
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    write_old(&path, &inner("A-NUM", "B-NUM"));
    let folder = std::mem::replace(&mut server.folder, tempfile::tempdir().unwrap());
    let mut server = Server::start(folder);
    assert_eq!((seen(&server), compiled(&server)), ("200 7 -8".to_owned(), 1), "{}", server.log());
    // And where nothing has changed, nothing is compiled.
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let folder = std::mem::replace(&mut server.folder, tempfile::tempdir().unwrap());
    let server = Server::start(folder);
    assert_eq!((seen(&server), compiled(&server)), ("200 7 -8".to_owned(), 0), "{}", server.log());
}

#[test]
fn a_module_that_is_not_what_its_copybooks_make_is_not_called() {
    let Some(folder) = numbers() else { return };
    let path = folder.path().join("copybooks/LIB/INNER.cpy");
    let mut server = Server::start(folder);
    assert_eq!(seen(&server), "200 7 -8", "{}", server.log());
    // At a reload the old definitions stay with the old program.
    let program = server.folder.path().join("nums.cbl");
    std::fs::write(&program, PROGRAM.replace("MOVE A-NUM", "MOVED A-NUM")).unwrap();
    std::fs::write(&path, inner("B-NUM", "A-NUM")).unwrap();
    wait_for("the finding", || server.log().contains("SRV-005"));
    assert_eq!(seen(&server), "200 7 -8");
    std::fs::write(&program, PROGRAM).unwrap();
    wait_for("the program", || server.log().matches("nums.cbl is compiled to").count() == 2);
    wait_for("its answer", || seen(&server) == "200 7 -8");
    // At a start without the compiler the service cannot be called, and says why; with the copybook of the module it can.
    for (fields, expected) in [(["A-NUM", "B-NUM"], "503  "), (["B-NUM", "A-NUM"], "200 7 -8")] {
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        std::fs::write(&path, inner(fields[0], fields[1])).unwrap();
        let folder = std::mem::replace(&mut server.folder, tempfile::tempdir().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_quayline_serve"));
        command.env("PATH", "/nonexistent");
        server = Server::start_by(command, folder);
        assert_eq!(seen(&server), expected, "{}", server.log());
        assert_eq!(server.log().contains("cobc is not installed"), expected.starts_with("503"), "{}", server.log());
    }
}

/// One client that connected and sent nothing, or half a request, delayed the stop for all of `drain-seconds`. During this time, the server accepted
/// new clients and did not answer them.
#[test]
fn a_stop_waits_for_no_connection_without_a_request() {
    use std::io::Write as _;
    for part in [&b""[..], b"GET /v1/echo/x HTTP/1.1\r\nho"] {
        let mut server = Server::new("drain-seconds = 60\n[serve.authentication]\nrequired = false", "");
        let mut stream = server.connect();
        stream.write_all(part).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let began = std::time::Instant::now();
        server.signal("-TERM");
        wait_for("the line", || server.log().contains("stopping"));
        assert!(std::net::TcpStream::connect(server.address).is_err());
        assert!(server.process.wait().unwrap().success());
        assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
    }
}

/// The server ignored a second signal until `drain-seconds` had passed.
#[test]
fn a_second_signal_ends_requests_in_progress() {
    use std::io::Write as _;
    let settings = "drain-seconds = 60\n[serve.authentication]\nrequired = false\n[serve.limits]\nbody-seconds = 60";
    let mut server = Server::new(settings, "");
    let mut stream = server.connect();
    let head = "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    server.signal("-TERM");
    // Two signals at once count as one, because shells send a signal to a process and to its group.
    server.signal("-TERM");
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert!(server.process.try_wait().unwrap().is_none(), "{}", server.log());
    let began = std::time::Instant::now();
    server.signal("-INT");
    assert!(server.process.wait().unwrap().success());
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
    server.has_logged("a second signal came");
}
