//! Real COBOL programs, good and bad, in worker processes. Skipped loudly where GnuCOBOL is not installed.
#![expect(clippy::unwrap_used, clippy::type_complexity, reason = "a test stops at what is wrong")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use quayline_program::{End, Slot, Worker, WorkerSpec};

const LENGTH: usize = 100;

/// Compiles a program whose procedure division is `body`; `None` where there is no compiler.
fn compile(folder: &Path, name: &str, body: &str) -> Option<()> {
    let source = folder.join(format!("{name}.cbl"));
    let text = format!(
        "IDENTIFICATION DIVISION.
PROGRAM-ID. {name}.
DATA DIVISION.
WORKING-STORAGE SECTION.
01 CALLS PIC 9(9) COMP-5 VALUE 0.
01 I PIC 9(9) COMP-5.
LINKAGE SECTION.
01 AREA-IN.
   05 NUMBER-IN PIC 9(8).
   05 NUMBER-OUT PIC 9(8).
   05 CALL-NUMBER PIC 9(8).
   05 REST PIC X(9000).
PROCEDURE DIVISION USING AREA-IN.
    ADD 1 TO CALLS.
    MOVE CALLS TO CALL-NUMBER.
{body}
    GOBACK.
"
    );
    std::fs::write(&source, text).unwrap();
    let done = Command::new("cobc")
        .args(["-m", "-free", "-std=ibm", "-o"])
        .arg(folder.join(format!("{name}.so")))
        .arg(&source)
        .output();
    let Ok(done) = done else {
        eprintln!("skipped: {name}: GnuCOBOL (cobc) is not installed");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8(done.stderr).unwrap());
    Some(())
}

fn spec(folder: &Path, program: &str) -> WorkerSpec {
    WorkerSpec {
        program: program.into(),
        folders: vec![folder.to_owned()],
        work_folder: None,
        environment: Vec::new(),
        length: LENGTH,
        slots: 8,
        memory_bytes_max: 512 << 20,
        executable: env!("CARGO_BIN_EXE_quayline_program_worker").into(),
        arguments: Vec::new(),
    }
}

/// Waits for `wanted` completions or the process's end.
fn wait(worker: &mut Worker, wanted: usize, limit: Duration) -> (Vec<(Slot, i32)>, Option<(End, Option<Slot>)>) {
    let began = Instant::now();
    let mut done = Vec::new();
    loop {
        worker.completions(|completion| done.push((completion.slot, completion.return_code)));
        if done.len() >= wanted {
            return (done, None);
        }
        if let Some(end) = worker.end() {
            worker.completions(|completion| done.push((completion.slot, completion.return_code)));
            return (done, Some(end));
        }
        assert!(began.elapsed() < Duration::from_secs(20), "neither done nor ended");
        if worker.running().is_some_and(|(_, ran)| ran > limit) {
            worker.kill();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

const FOREVER: Duration = Duration::from_secs(60);

#[test]
fn calls_are_answered_in_order_and_slots_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let body = "    COMPUTE NUMBER-OUT = NUMBER-IN * 2.\n    MOVE 7 TO RETURN-CODE.";
    let Some(()) = compile(folder.path(), "DOUBLE", body) else { return };
    let mut worker = Worker::start(&spec(folder.path(), "DOUBLE")).unwrap();
    let mut area = Vec::new();
    for round in 0..50u32 {
        let slots: Vec<Slot> =
            (0..8).map(|i| worker.submit(&[format!("{:08}", round * 8 + i).as_bytes(), b"junk"]).unwrap()).collect();
        assert_eq!(worker.submit(&[]), None, "all slots are taken");
        worker.ring();
        let (done, end) = wait(&mut worker, 8, FOREVER);
        assert_eq!(end, None);
        assert_eq!(done.iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), slots);
        for (i, (slot, code)) in (0..).zip(done) {
            worker.look(slot, 8, &mut area);
            assert_eq!(area.len(), 8);
            // What was looked at is not copied again.
            area[0] = b'x';
            worker.take(slot, if i % 2 == 0 { usize::MAX } else { 24 }, &mut area);
            assert_eq!(core::mem::replace(&mut area[0], b'0'), b'x');
            assert_eq!(area.len(), if i % 2 == 0 { LENGTH } else { 24 });
            let n = round * 8 + i;
            assert_eq!(code, 7);
            assert_eq!(area[..24], *format!("{n:08}{:08}{:08}", 2 * n, n + 1).as_bytes());
            assert!(area[24..].iter().all(|b| *b == 0), "what is not given is 0x00, also after other calls");
        }
        assert_eq!(worker.outstanding(), 0);
    }
    assert_eq!(worker.calls_done(), 400);
}

#[test]
fn a_failing_program_says_how_it_failed_and_in_which_call() {
    let folder = tempfile::tempdir().unwrap();
    // The second call fails, so that the first is known to be answered and the third not to have begun.
    let fail = |how: &str| format!("    IF CALLS = 2\n    {how}\n    END-IF.");
    let cases: &[(&str, &str, &dyn Fn(End) -> bool)] = &[
        ("LOOPS", "PERFORM UNTIL CALLS = 0 ADD 1 TO I END-PERFORM", &|end| end == End::TimeLimit),
        ("ABORTS", "CALL 'abort'", &|end| matches!(end, End::Signal(6) | End::Exited(_))),
        ("OVERRUNS", "MOVE ALL 'X' TO REST", &|end| matches!(end, End::Signal(11) | End::Exited(_))),
        ("STOPS", "STOP RUN", &|end| end == End::Exited(0)),
        ("BREAKS", "CALL 'NOSUCHPROGRAM'", &|end| matches!(end, End::Exited(1))),
    ];
    for (name, how, expected) in cases {
        let Some(()) = compile(folder.path(), name, &fail(how)) else { return };
        let mut worker = Worker::start(&spec(folder.path(), name)).unwrap();
        let slots: Vec<Slot> = (0..3).map(|_| worker.submit(&[b"00000001"]).unwrap()).collect();
        worker.ring();
        let (done, end) = wait(&mut worker, 3, Duration::from_millis(300));
        let (end, current) = end.unwrap_or_else(|| panic!("{name} did not end its worker"));
        assert!(expected(end), "{name}: {end:?}: {}", end.reason());
        assert_eq!(current, Some(slots[1]), "{name}");
        assert_eq!(done, [(slots[0], 0)], "{name}: the first call was answered, the third has not begun");
    }
}

#[test]
fn memory_beyond_the_limit_is_refused_to_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let body = "    CALL 'CBL_OC_NANOSLEEP' USING BY VALUE 1.";
    let Some(()) = compile(folder.path(), "SMALL", body) else { return };
    let mut spec = spec(folder.path(), "SMALL");
    spec.memory_bytes_max = 4 << 20;
    let mut worker = Worker::start(&spec).unwrap();
    worker.submit(&[]).unwrap();
    worker.ring();
    let (_, end) = wait(&mut worker, 1, FOREVER);
    assert!(end.is_some(), "libcob alone needs more than 4 MiB of address space");
}

#[test]
fn a_program_that_is_not_there_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    if Command::new("cobc").arg("--version").output().is_err() {
        eprintln!("skipped: a_program_that_is_not_there: GnuCOBOL is not installed");
        return;
    }
    let mut worker = Worker::start(&spec(folder.path(), "ABSENT")).unwrap();
    let (_, end) = wait(&mut worker, 1, FOREVER);
    assert_eq!(end, Some((End::NoProgram, None)));
    assert!(Worker::start(&spec(folder.path(), "../EVIL")).is_err());
}
