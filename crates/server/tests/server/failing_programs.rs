//! A COBOL program that loops, aborts, overruns its COMMAREA or answers with garbage: a 5xx with a reason, and the next request is served.

use std::process::Command;

use crate::world::{Server, project};

const PROGRAM: &str = "IDENTIFICATION DIVISION.
PROGRAM-ID. ECHOPGM.
DATA DIVISION.
WORKING-STORAGE SECTION.
01 CALLS PIC 9(4) VALUE 0.
01 I PIC 9(9) COMP-5.
01 PLACE USAGE POINTER.
01 SECRET PIC X(20) VALUE 'NOTHING'.
LINKAGE SECTION.
01 ECHO-AREA.
   05 REQ-TEXT  PIC X(20).
   05 REQ-HOW   PIC X(8).
   05 RESP-CODE PIC 9(4).
   05 RESP-TEXT PIC X(3000).
01 BEYOND PIC X(20000).
PROCEDURE DIVISION USING ECHO-AREA.
    ADD 1 TO CALLS.
    MOVE CALLS TO RESP-CODE.
    MOVE REQ-TEXT TO RESP-TEXT.
    EVALUATE REQ-HOW
       WHEN 'LOOP' PERFORM UNTIL CALLS = 0 ADD 1 TO I END-PERFORM
       WHEN 'ABORT' CALL 'abort'
       WHEN 'OVERRUN'
          SET ADDRESS OF BEYOND TO ADDRESS OF ECHO-AREA
          MOVE ALL 'X' TO BEYOND
       WHEN 'POKE'
          SET ADDRESS OF BEYOND TO ADDRESS OF ECHO-AREA
          MOVE ALL 'PWNED ' TO BEYOND(8193:6000)
       WHEN 'PEEK'
          SET ADDRESS OF BEYOND TO ADDRESS OF ECHO-AREA
          MOVE BEYOND(8193:3000) TO RESP-TEXT
       WHEN 'PUT' MOVE REQ-TEXT TO SECRET
       WHEN 'GET' MOVE SECRET TO RESP-TEXT
       WHEN 'STOP' STOP RUN
       WHEN 'MISSING' STOP RUN RETURNING 122
       WHEN 'SHOW' DISPLAY REQ-TEXT
       WHEN 'CHATTER'
          MOVE ALL 'X' TO RESP-TEXT
          PERFORM UNTIL CALLS = 0 DISPLAY RESP-TEXT END-PERFORM
       WHEN 'DRIP'
          PERFORM UNTIL CALLS = 0
             DISPLAY 'DRIP'
             CALL 'fflush' USING BY VALUE 0
             CALL 'usleep' USING BY VALUE 5000
          END-PERFORM
       WHEN 'EAT'
          MOVE 0 TO I
          SET PLACE TO ADDRESS OF CALLS
          PERFORM UNTIL PLACE = NULL OR I >= 2000
             ADD 1 TO I
             ALLOCATE 1000000 CHARACTERS RETURNING PLACE
          END-PERFORM
          MOVE I TO RESP-CODE
          MOVE 0 TO CALLS
       WHEN 'GARBAGE' MOVE LOW-VALUES TO ECHO-AREA MOVE 'SECRET' TO RESP-CODE
    END-EVALUATE.
    GOBACK.
";

fn server(provider: &str) -> Option<Server> {
    server_with("", provider)
}

/// The program ran, so that somebody must be able to see who called it.
#[test]
fn a_request_whose_client_leaves_is_on_record() {
    let Some(server) = server_with("audit = \"audit.jsonl\"\n", "time-limit-ms = 1500") else { return };
    let mut stream = server.connect();
    std::io::Write::write_all(&mut stream, b"GET /v1/echo/LOOP HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(stream);
    let audit = server.folder.path().join("audit.jsonl");
    crate::world::wait_for("the line", || {
        let text = std::fs::read_to_string(&audit).unwrap_or_default();
        text.contains("\"operation\":\"show\"") && text.contains("\"status\":499")
    });
}

fn server_with(serve: &str, provider: &str) -> Option<Server> {
    let folder = tempfile::tempdir().unwrap();
    let provider = format!("kind = \"program\"\nprogram = \"ECHOPGM\"\n{provider}");
    project(folder.path(), &format!("{serve}[serve.authentication]\nrequired = false"), &provider, "");
    std::fs::write(folder.path().join("echo.cbl"), PROGRAM).unwrap();
    let module = folder.path().join("modules/ECHOPGM.so");
    let cobc = Command::new("cobc")
        .args(["-m", "-free", "-std=ibm", "-o"])
        .arg(module)
        .arg(folder.path().join("echo.cbl"))
        .output();
    let Ok(cobc) = cobc else {
        eprintln!("skipped: failing_programs: GnuCOBOL (cobc) is not installed");
        return None;
    };
    assert!(cobc.status.success(), "{}", String::from_utf8(cobc.stderr).unwrap());
    Some(Server::start(folder))
}

#[test]
fn each_failure_is_one_answer_and_the_next_request_is_served() {
    let Some(server) = server("time-limit-ms = 300") else { return };
    let good = || {
        let answer = server.post("/v1/echo", "", r#"{"reqText":"hello"}"#);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.text().contains("\"respText\":\"hello\""));
    };
    good();
    for (how, status, code) in [
        ("LOOP", 504, "GTW-122"),
        ("ABORT", 502, "GTW-121"),
        ("OVERRUN", 502, "GTW-121"),
        ("STOP", 502, "GTW-121"),
        ("GARBAGE", 502, "GTW-120"),
    ] {
        let answer = server.get(&format!("/v1/echo/{how}"), "");
        assert_eq!(answer.status, status, "{how}: {}", answer.text());
        assert!(answer.text().contains(code) && !answer.text().contains("SECRET"), "{how}: {}", answer.text());
        good();
    }
}

#[test]
fn other_calls_survive_a_failing_one() {
    let Some(server) = server("time-limit-ms = 300\nwait-limit-ms = 15000\nworkers = 2") else { return };
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|i| {
                let server = &server;
                scope.spawn(move || {
                    let how = ["FINE", "FINE", "FINE", "ABORT"][i % 4];
                    (0..10).map(|_| (how, server.get(&format!("/v1/echo/{how}"), ""))).collect::<Vec<_>>()
                })
            })
            .collect();
        for caller in callers {
            for (how, answer) in caller.join().unwrap() {
                let expected = if how == "FINE" { 200 } else { 502 };
                assert_eq!(answer.status, expected, "{how}: {}\n{}", answer.text(), server.log());
            }
        }
    });
}

#[test]
fn more_calls_than_wait_are_refused_with_a_time() {
    let Some(server) = server("time-limit-ms = 1500\nwait-limit-ms = 300\nslots = 1") else { return };
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| server.get("/v1/echo/LOOP", "").status);
        std::thread::sleep(std::time::Duration::from_millis(200));
        let callers: Vec<_> = (0..4).map(|_| scope.spawn(|| server.get("/v1/echo/FINE", ""))).collect();
        for caller in callers {
            let answer = caller.join().unwrap();
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert!(answer.header("retry-after").is_some() && answer.text().contains("GTW-123"));
        }
        assert_eq!(looping.join().unwrap(), 504);
    });
}

/// Calls in the slots of a busy worker waited for the calls before them, beyond `wait-limit-ms`.
#[test]
fn a_call_behind_one_that_loops_waits_no_longer_than_its_limit() {
    let Some(server) = server("time-limit-ms = 8000\nwait-limit-ms = 500") else { return };
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| server.get("/v1/echo/LOOP", "").status);
        std::thread::sleep(std::time::Duration::from_millis(300));
        let callers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let began = std::time::Instant::now();
                    (server.get("/v1/echo/FINE", ""), began.elapsed())
                })
            })
            .collect();
        for caller in callers {
            let (answer, waited) = caller.join().unwrap();
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert!(answer.header("retry-after").is_some() && answer.text().contains("GTW-123"));
            assert!(waited < std::time::Duration::from_secs(5), "{waited:?} of a loop of 8 s");
        }
        assert_eq!(looping.join().unwrap(), 504);
    });
    assert_eq!(server.get("/v1/echo/FINE", "").status, 200);
}

#[test]
fn a_program_that_is_not_there_is_503_until_it_is() {
    let folder = tempfile::tempdir().unwrap();
    project(
        folder.path(),
        "reload-seconds = 1\n[serve.authentication]\nrequired = false",
        "kind = \"program\"\nprogram = \"ECHOPGM\"\n",
        "",
    );
    std::fs::write(folder.path().join("echo.cbl"), PROGRAM).unwrap();
    let server = Server::start(folder);
    crate::world::wait_for("the worker's end", || server.get("/v1/echo/FINE", "").text().contains("GTW-124"));
    let module = server.folder.path().join("modules/ECHOPGM.so");
    let cobc = Command::new("cobc")
        .args(["-m", "-free", "-std=ibm", "-o"])
        .arg(module)
        .arg(server.folder.path().join("echo.cbl"))
        .output();
    if cobc.is_err() {
        eprintln!("skipped: a_program_that_is_not_there: GnuCOBOL (cobc) is not installed");
        return;
    }
    crate::world::wait_for("the program", || server.get("/v1/echo/FINE", "").status == 200);
}

/// Memory beyond the limit is refused to the program; here it counts how many megabytes it gets. libcob ends a program that gets none.
#[test]
fn a_program_gets_no_more_memory_than_it_may_have() {
    let Some(server) = server("memory-mib = 256") else { return };
    let answer = server.get("/v1/echo/EAT", "");
    let got = serde_json::from_str::<serde_json::Value>(&answer.text()).unwrap()["respCode"].as_u64();
    assert!(
        answer.status == 502 || got.is_some_and(|megabytes| megabytes * 1_000_000 <= 256 << 20),
        "{}",
        answer.text()
    );
    assert_eq!(server.get("/v1/echo/FINE", "").status, 200);
}

/// A call wrote into the next call of its worker's queue, and read it, where it went beyond the page that guarded its COMMAREA.
#[test]
fn one_client_neither_reads_nor_changes_the_call_of_another() {
    let Some(server) = server("wait-limit-ms = 15000") else { return };
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = crate::world::Ends(&over);
        let victims: Vec<_> = (0..3)
            .map(|i| {
                let (server, over) = (&server, &over);
                scope.spawn(move || {
                    let mut answers = 0;
                    while !over.load(std::sync::atomic::Ordering::Relaxed) {
                        let text = format!("client-{i}-secret-{answers}");
                        let answer = server.post("/v1/echo", "", &format!(r#"{{"reqText":"{text}","reqHow":"KEEP"}}"#));
                        assert_eq!(answer.status, 200, "{}", answer.text());
                        assert!(answer.text().contains(&format!("\"respText\":\"{text}\"")), "{}", answer.text());
                        answers += 1;
                    }
                    answers
                })
            })
            .collect();
        for _ in 0..20 {
            for how in ["POKE", "PEEK"] {
                let answer = server.get(&format!("/v1/echo/{how}"), "");
                assert_eq!(answer.status, 502, "{how}: {}", answer.text());
                assert!(!answer.text().contains("secret"), "{how}: {}", answer.text());
            }
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        for victim in victims {
            assert!(victim.join().unwrap() > 5);
        }
    });
}

#[test]
fn working_storage_is_not_shared_by_clients_unless_the_service_says_so() {
    for (provider, seen, calls) in [("", "NOTHING", 1), ("working-storage = \"keep\"", "OF-CLIENT-A", 3)] {
        let Some(server) = server(provider) else { return };
        server.post("/v1/echo", "", r#"{"reqText":"","reqHow":"KEEP"}"#);
        let put = server.post("/v1/echo", "", r#"{"reqText":"OF-CLIENT-A","reqHow":"PUT"}"#);
        assert_eq!(put.status, 200, "{}", put.text());
        let got = server.get("/v1/echo/GET", "");
        assert_eq!(got.text(), format!("{{\"respCode\":{calls},\"respText\":\"{seen}\"}}"));
    }
}

/// After a worker ended at its first call, the server paused up to 5 s before it started the next. Three clients whose calls end the program kept
/// all others waiting, and the others received 503 after five times their limit.
#[test]
fn clients_whose_calls_end_the_program_keep_nobody_waiting() {
    let Some(server) = server("time-limit-ms = 2000\nwait-limit-ms = 4000") else { return };
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = crate::world::Ends(&over);
        for how in ["STOP", "ABORT", "MISSING"] {
            let (server, over) = (&server, &over);
            scope.spawn(move || {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    server.get(&format!("/v1/echo/{how}"), "");
                }
            });
        }
        for _ in 0..20 {
            let answer = server.get("/v1/echo/FINE", "");
            assert_eq!(answer.status, 200, "{}\n{}", answer.text(), server.log());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    });
}

/// The time limit did not apply between the end of a worker and the start of the next one.
#[test]
fn a_call_waits_no_longer_than_its_limit_for_a_worker_that_does_not_come_up() {
    let folder = tempfile::tempdir().unwrap();
    let provider = "kind = \"program\"\nprogram = \"ECHOPGM\"\nwait-limit-ms = 300";
    project(folder.path(), "[serve.authentication]\nrequired = false", provider, "");
    // The module ends its process when libcob loads it.
    let source = folder.path().join("end.c");
    std::fs::write(&source, "#include <unistd.h>\n__attribute__((constructor)) static void end(void) { _exit(9); }\n")
        .unwrap();
    let module = folder.path().join("modules/ECHOPGM.so");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(module).arg(source).status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("skipped: a_call_waits_no_longer_than_its_limit: a C compiler is not installed");
        return;
    }
    let server = Server::start(folder);
    let began = std::time::Instant::now();
    let mut longest = std::time::Duration::ZERO;
    while began.elapsed() < std::time::Duration::from_secs(5) {
        let asked = std::time::Instant::now();
        let answer = server.get("/v1/echo/FINE", "");
        assert!(matches!(answer.status, 502 | 503), "{}", answer.text());
        longest = longest.max(asked.elapsed());
    }
    assert!(longest < std::time::Duration::from_millis(1300), "{longest:?}");
}

/// A client could send text that forged lines of the log and contained control codes for the operator's terminal.
#[test]
fn what_a_program_displays_has_its_name_and_no_control_characters() {
    let Some(server) = server("") else { return };
    let body = r#"{"reqText":"a\n401 fake\u001b[31m","reqHow":"SHOW"}"#;
    assert_eq!(server.post("/v1/echo", "", body).status, 200);
    crate::world::wait_for("the lines", || server.log().contains("401 fake"));
    let log = server.log();
    assert!(log.contains("program ECHOPGM displays: a\n"), "{log}");
    assert!(log.contains("program ECHOPGM displays: 401 fake\\u{1b}[31m"), "{log}");
    assert!(!log.contains('\u{1b}') && !log.lines().any(|line| line.starts_with("401")), "{log}");
}

/// A program that displayed every few milliseconds ran without end, because the server checked its time limit only while it displayed nothing. A
/// program that displayed all the time stopped every connection of its thread.
#[test]
fn a_program_that_displays_without_end_meets_its_limit_and_stops_nobody() {
    let Some(server) = server("time-limit-ms = 500\nworkers = 2") else { return };
    for how in ["DRIP", "CHATTER"] {
        std::thread::scope(|scope| {
            let displaying = scope.spawn(|| {
                let began = std::time::Instant::now();
                (server.get(&format!("/v1/echo/{how}"), ""), began.elapsed())
            });
            std::thread::sleep(std::time::Duration::from_millis(100));
            let began = std::time::Instant::now();
            // The other worker, by the same thread of the server.
            for _ in 0..3 {
                let answer = server.get("/v1/echo/FINE", "");
                assert_eq!(answer.status, 200, "{how}: {}", answer.text());
            }
            assert!(!displaying.is_finished(), "{how}: {:?}", began.elapsed());
            let (answer, took) = displaying.join().unwrap();
            assert!(answer.status == 504 && answer.text().contains("GTW-122"), "{how}: {}", answer.text());
            assert!(took < std::time::Duration::from_secs(5), "{how}: {took:?}");
        });
    }
    crate::world::wait_for("the count", || server.log().contains("displayed lines were left out"));
    let log = server.log();
    let count = |text: &str| log.lines().filter(|line| line.starts_with(text)).count();
    assert!(count("program ECHOPGM displays: DRIP") > 10, "{log}");
    let chatter = count("program ECHOPGM displays: XXX");
    assert!((1..=1000).contains(&chatter), "{chatter}");
}

/// The server threads wrote the lines of programs, and waited for the reader of the log.
#[test]
fn a_reader_of_the_log_that_does_not_read_stops_no_request() {
    let Some(first) = server("time-limit-ms = 500\nworkers = 2") else { return };
    // The same project, with a pipe without a reader as standard error.
    let folder = tempfile::tempdir().unwrap();
    let provider = "kind = \"program\"\nprogram = \"ECHOPGM\"\ntime-limit-ms = 500\nworkers = 2";
    project(folder.path(), "access-log = \"stderr\"\n[serve.authentication]\nrequired = false", provider, "");
    let module = "modules/ECHOPGM.so";
    std::fs::copy(first.folder.path().join(module), folder.path().join(module)).unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let held = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" \"$1\" 2>\"$1/pipe\"", env!("CARGO_BIN_EXE_quayline_serve")]);
    let server = Server::start_by(shell, folder);
    // A pipe holds less than two hundred lines of 1 KiB.
    for _ in 0..3 {
        assert_eq!(server.get("/v1/echo/CHATTER", "").status, 504);
        assert_eq!(server.get("/v1/echo/FINE", "").status, 200);
    }
    let began = std::time::Instant::now();
    server.signal("-TERM");
    let mut server = server;
    crate::world::wait_for("the end", || server.process.try_wait().unwrap().is_some());
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    drop(held);
}

#[test]
fn the_log_names_the_request_at_which_a_program_ended() {
    let Some(server) = server("") else { return };
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let answer = server.get("/v1/echo/STOP", &format!("traceparent: 00-{trace}-b7ad6b7169203331-01\r\n"));
    assert_eq!(answer.status, 502);
    crate::world::wait_for("the line", || server.log().contains(&format!("502 GTW-121 request {trace}: the program")));
}

/// Attempts to start a worker whose module is missing filled the log.
#[test]
fn a_missing_module_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let provider = "kind = \"program\"\nprogram = \"ECHOPGM\"\n";
    project(folder.path(), "[serve.authentication]\nrequired = false", provider, "");
    let server = Server::start(folder);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    let log = server.log();
    let lines = log.lines().filter(|line| line.contains("ECHOPGM")).count();
    assert!((1..=2).contains(&lines), "{log}");
}
