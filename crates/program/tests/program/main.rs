//! Real COBOL programs, good and bad, in worker processes. Skipped loudly where GnuCOBOL is not installed.
#![expect(clippy::unwrap_used, clippy::type_complexity, reason = "a test stops at what is wrong")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use quayline_program::{End, Slot, Worker, WorkerSpec, WorkingStorage};

const LENGTH: usize = 100;

/// Compiles a program whose procedure division is `body`; `None` without a compiler.
fn compile(folder: &Path, name: &str, body: &str) -> Option<()> {
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
    compile_source(folder, name, &text)
}

/// Compiles a whole source; `None` without a compiler.
fn compile_source(folder: &Path, name: &str, text: &str) -> Option<()> {
    let source = folder.join(format!("{name}.cbl"));
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
        parameters: Vec::new(),
        slots: 8,
        working_storage: WorkingStorage::Keep,
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
fn a_call_that_has_not_begun_can_be_withdrawn_and_never_runs() {
    let folder = tempfile::tempdir().unwrap();
    // The first call takes long enough for the others to be withdrawn.
    let body = "    IF CALLS = 1\n    CALL 'C$SLEEP' USING 1\n    END-IF.\n    MOVE NUMBER-IN TO NUMBER-OUT.";
    let Some(()) = compile(folder.path(), "SLEEPS", body) else { return };
    let mut worker = Worker::start(&spec(folder.path(), "SLEEPS")).unwrap();
    let slots: Vec<Slot> = (0..4).map(|i| worker.submit(&[format!("{i:08}").as_bytes()]).unwrap()).collect();
    worker.ring();
    let began = Instant::now();
    while worker.running().is_none() {
        assert!(began.elapsed() < Duration::from_secs(20), "the first call did not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!worker.withdraw(slots[0]), "it has begun");
    assert!(worker.withdraw(slots[1]) && worker.withdraw(slots[2]));
    assert!(!worker.withdraw(slots[1]), "once");
    let (done, end) = wait(&mut worker, 4, FOREVER);
    assert_eq!((done.iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), end), (slots.clone(), None));
    let mut area = Vec::new();
    for (slot, expected) in
        slots.iter().zip(["000000000000000000000001", "00000001", "00000002", "000000030000000300000002"])
    {
        area.clear();
        worker.take(*slot, usize::MAX, &mut area);
        assert_eq!(&area[..expected.len()], expected.as_bytes(), "two calls ran, two did not");
        assert!(area[expected.len()..].iter().all(|b| *b == 0));
    }
    // Their slots serve later calls.
    assert_eq!(worker.outstanding(), 0);
    let slot = worker.submit(&[b"00000009"]).unwrap();
    worker.ring();
    assert_eq!(wait(&mut worker, 1, FOREVER).0, [(slot, 0)]);
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

/// The shared memory is descriptor 3 of the worker's process; a shorter file would have ended the server at its next access.
#[test]
fn a_program_cannot_shorten_the_shared_memory() {
    let folder = tempfile::tempdir().unwrap();
    let body = "    CALL 'ftruncate' USING BY VALUE SIZE 4 3 BY VALUE SIZE 8 0\n    MOVE NUMBER-IN TO NUMBER-OUT.";
    let Some(()) = compile(folder.path(), "SHORTENS", body) else { return };
    let mut worker = Worker::start(&spec(folder.path(), "SHORTENS")).unwrap();
    let mut area = Vec::new();
    for n in 1..4 {
        let slot = worker.submit(&[format!("{n:08}").as_bytes()]).unwrap();
        worker.ring();
        assert_eq!(wait(&mut worker, 1, FOREVER), (vec![(slot, -1)], None), "the system refuses it");
        area.clear();
        worker.take(slot, usize::MAX, &mut area);
        assert_eq!(area[8..16], *format!("{n:08}").as_bytes(), "the call has run to its end");
    }
}

/// The limit counts the memory of the program: that of the executable and of libcob made the least limit depend on their sizes, and a worker that had
/// too little said that libcob was not installed.
#[test]
fn memory_beyond_the_limit_is_refused_to_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let source = "IDENTIFICATION DIVISION.
PROGRAM-ID. TAKES.
DATA DIVISION.
WORKING-STORAGE SECTION.
01 P USAGE POINTER.
LINKAGE SECTION.
01 AREA-IN.
   05 NUMBER-IN PIC 9(8).
   05 NUMBER-OUT PIC 9(8).
PROCEDURE DIVISION USING AREA-IN.
    ALLOCATE NUMBER-IN CHARACTERS RETURNING P.
    IF P = NULL
        MOVE 0 TO NUMBER-OUT
    ELSE
        MOVE 1 TO NUMBER-OUT
        FREE P
    END-IF.
    GOBACK.
";
    let Some(()) = compile_source(folder.path(), "TAKES", source) else { return };
    let mut spec = spec(folder.path(), "TAKES");
    spec.memory_bytes_max = 16 << 20;
    for (bytes, is_given) in [(1 << 20, true), (8 << 20, true), (17 << 20, false), (90 << 20, false)] {
        let mut worker = Worker::start(&spec).unwrap();
        worker.submit(&[format!("{bytes:08}").as_bytes()]).unwrap();
        worker.ring();
        let (done, end) = wait(&mut worker, 1, FOREVER);
        // libcob ends the process of a program that it cannot give memory.
        let mut area = Vec::new();
        let has_memory = match done.first() {
            Some((slot, _)) if end.is_none() => {
                worker.take(*slot, 16, &mut area);
                area.ends_with(b"1")
            }
            _ => false,
        };
        assert_eq!(has_memory, is_given, "{bytes}: {end:?}");
    }
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

/// A program that accesses a byte at a distance from its COMMAREA. The COMMAREA holds the distance and the kind of access.
const REACHES: &str = "IDENTIFICATION DIVISION.
PROGRAM-ID. REACHES.
DATA DIVISION.
WORKING-STORAGE SECTION.
01 PLACE USAGE POINTER.
01 NUMBER-OF-PLACE REDEFINES PLACE PIC S9(18) COMP-5.
LINKAGE SECTION.
01 AREA-IN.
   05 HOW PIC X.
   05 DISTANCE PIC S9(11) SIGN LEADING SEPARATE.
   05 FOUND PIC X(20).
   05 MARK PIC X(20).
01 THERE PIC X(20).
PROCEDURE DIVISION USING AREA-IN.
    SET PLACE TO ADDRESS OF AREA-IN.
    ADD DISTANCE TO NUMBER-OF-PLACE.
    IF HOW = 'R' OR HOW = 'W'
       SET ADDRESS OF THERE TO PLACE
       IF HOW = 'R' MOVE THERE TO FOUND ELSE MOVE 'PWNED-BY-ANOTHER-CAL' TO THERE END-IF
    END-IF.
    GOBACK.
";

/// A program wrote 8 KiB beyond its COMMAREA into the next call of its worker's queue, and read it. Now each call sees one private
/// copy, and nothing is mapped around it.
#[test]
fn no_overrun_or_underrun_reaches_another_call() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = compile_source(folder.path(), "REACHES", REACHES) else { return };
    let spec = spec(folder.path(), "REACHES");
    let other = b" +00000000000                    THE-MARK-OF-A-CLIENT";
    let powers = (0..=26).map(|power| 1i64 << power);
    let distances = powers.flat_map(|d| [d, -d]).chain([8192, 8207, -8192, 3 << 12, (1 << 31) - 1, -(1 << 31)]);
    let mut ended = 0;
    for distance in distances {
        for how in ["R", "W"] {
            let mut worker = Worker::start(&spec).unwrap();
            let call = format!("{how}{distance:+012}");
            // A call before it, some calls after it: neighbours on both sides.
            let first = worker.submit(&[other]).unwrap();
            let bad = worker.submit(&[call.as_bytes(), &[b' '; 20], b"MARK-OF-THE-BAD-CALL"]).unwrap();
            let rest: Vec<Slot> = (0..4).map(|_| worker.submit(&[other]).unwrap()).collect();
            worker.ring();
            let (done, end) = wait(&mut worker, 6, FOREVER);
            let mut area = Vec::new();
            for (slot, _) in &done {
                worker.look(*slot, usize::MAX, &mut area);
                if *slot == bad {
                    assert!(
                        area[13..33].iter().all(|b| !b.is_ascii_uppercase()) || distance.abs() < 64,
                        "{how} {distance}: {area:?}"
                    );
                } else {
                    assert_eq!(area[..other.len()], *other, "{how} {distance}");
                }
            }
            if let Some((_, current)) = end {
                ended += 1;
                assert_eq!((current, done.len()), (Some(bad), 1), "{how} {distance}");
                for slot in rest {
                    worker.recall(slot, &mut area);
                    assert_eq!(area, other, "{how} {distance}: a call that had not begun");
                }
            }
            assert_eq!(done[0].0, first);
        }
    }
    assert!(ended > 60, "only {ended} programs were ended");
}

#[test]
fn what_a_program_leaves_before_its_commarea_is_not_there_in_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = compile_source(folder.path(), "REACHES", REACHES) else { return };
    let mut worker = Worker::start(&spec(folder.path(), "REACHES")).unwrap();
    worker.submit(&[b"W-00000000100"]).unwrap();
    let reads = worker.submit(&[b"R-00000000100"]).unwrap();
    worker.ring();
    let (done, end) = wait(&mut worker, 2, FOREVER);
    assert_eq!((done.len(), end), (2, None));
    let mut area = Vec::new();
    worker.look(reads, usize::MAX, &mut area);
    assert_eq!(area[13..33], [0; 20]);
}

/// Keeps a count in its own WORKING-STORAGE, in that of a program in the same module, in one of another module, and in a file that
/// it leaves open.
const COUNTS: &str = "IDENTIFICATION DIVISION.
PROGRAM-ID. COUNTS.
ENVIRONMENT DIVISION.
INPUT-OUTPUT SECTION.
FILE-CONTROL.
    SELECT LOG-FILE ASSIGN TO 'left-open.txt' ORGANIZATION IS LINE SEQUENTIAL FILE STATUS IS LOG-STATUS.
DATA DIVISION.
FILE SECTION.
FD LOG-FILE.
01 LOG-LINE PIC X(10).
WORKING-STORAGE SECTION.
01 LOG-STATUS PIC XX.
01 CALLS PIC 9(4) VALUE 0.
01 SECRET PIC X(10) VALUE 'NONE'.
LINKAGE SECTION.
01 AREA-IN.
   05 MINE PIC 9(4).
   05 BESIDE PIC 9(4).
   05 ELSEWHERE PIC 9(4).
   05 STATUS-OUT PIC XX.
   05 SECRET-IN PIC X(10).
   05 SECRET-OUT PIC X(10).
PROCEDURE DIVISION USING AREA-IN.
    ADD 1 TO CALLS.
    MOVE CALLS TO MINE.
    MOVE SECRET TO SECRET-OUT.
    MOVE SECRET-IN TO SECRET.
    CALL 'IN-SAME' USING BESIDE.
    CALL 'OTHERMOD' USING ELSEWHERE.
    OPEN OUTPUT LOG-FILE.
    MOVE LOG-STATUS TO STATUS-OUT.
    GOBACK.
END PROGRAM COUNTS.
IDENTIFICATION DIVISION.
PROGRAM-ID. IN-SAME.
DATA DIVISION.
WORKING-STORAGE SECTION.
01 CALLS PIC 9(4) VALUE 0.
LINKAGE SECTION.
01 N PIC 9(4).
PROCEDURE DIVISION USING N.
    ADD 1 TO CALLS.
    MOVE CALLS TO N.
    GOBACK.
END PROGRAM IN-SAME.
";

const OTHER_MODULE: &str = "IDENTIFICATION DIVISION.
PROGRAM-ID. OTHERMOD.
DATA DIVISION.
WORKING-STORAGE SECTION.
01 CALLS PIC 9(4) VALUE 0.
LINKAGE SECTION.
01 N PIC 9(4).
PROCEDURE DIVISION USING N.
    ADD 1 TO CALLS.
    MOVE CALLS TO N.
    GOBACK.
END PROGRAM OTHERMOD.
";

/// A client read what the client before it had left in WORKING-STORAGE, in the program and in those that it calls.
#[test]
fn working_storage_is_fresh_in_each_call_or_kept_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = compile_source(folder.path(), "COUNTS", COUNTS) else { return };
    compile_source(folder.path(), "OTHERMOD", OTHER_MODULE).unwrap();
    for storage in [WorkingStorage::Fresh, WorkingStorage::Keep] {
        let mut spec = spec(folder.path(), "COUNTS");
        spec.working_storage = storage;
        spec.work_folder = Some(folder.path().to_owned());
        let mut worker = Worker::start(&spec).unwrap();
        let mut seen = Vec::new();
        for i in 0..4 {
            let slot = worker.submit(&[&[b'0'; 12], b"..", format!("CLIENT-{i}  ").as_bytes()]).unwrap();
            worker.ring();
            let (done, end) = wait(&mut worker, 1, FOREVER);
            assert_eq!((done.len(), end), (1, None));
            let mut area = Vec::new();
            worker.take(slot, usize::MAX, &mut area);
            seen.push(String::from_utf8(area[..34].to_vec()).unwrap());
        }
        let fresh = "00010001000100CLIENT-";
        match storage {
            WorkingStorage::Fresh => {
                for (i, line) in seen.iter().enumerate() {
                    assert_eq!(line, &format!("{fresh}{i}  NONE      "));
                }
            }
            WorkingStorage::Keep => {
                assert_eq!(seen[3], "00040004000441CLIENT-3  CLIENT-2  ", "{seen:?}");
            }
        }
    }
}

/// A program that leaves a text wherever a program can, or shows what is there.
const LEAVES: &str = "IDENTIFICATION DIVISION.
PROGRAM-ID. LEAVES.
ENVIRONMENT DIVISION.
INPUT-OUTPUT SECTION.
FILE-CONTROL.
    SELECT STORED ASSIGN TO 'kept.dat' ORGANIZATION RELATIVE ACCESS RANDOM RELATIVE KEY RK FILE STATUS FS.
    SELECT SORTED ASSIGN TO 'sorted.wrk'.
    SELECT HERE ASSIGN TO 'here.dat' ORGANIZATION LINE SEQUENTIAL FILE STATUS FS.
DATA DIVISION.
FILE SECTION.
FD STORED.
01 STORED-RECORD PIC X(10).
SD SORTED.
01 SORTED-RECORD PIC X(10).
FD HERE.
01 HERE-RECORD PIC X(10).
WORKING-STORAGE SECTION.
01 FS PIC XX.
01 RK PIC 9(4) VALUE 1.
01 FOLDER PIC X(5) VALUE '/tmp' & X'00'.
01 LARGE PIC X(2000000).
LINKAGE SECTION.
01 AREA-IN.
   05 WHAT PIC X(4).
   05 TEXT-IN PIC X(10).
   05 OUT-1 PIC X(10).
   05 OUT-2 PIC X(10).
   05 OUT-3 PIC X(10).
   05 OUT-4 PIC X(10).
PROCEDURE DIVISION USING AREA-IN.
    IF WHAT = 'SET '
       MOVE TEXT-IN TO STORED-RECORD SORTED-RECORD LARGE(1999991:10)
       DISPLAY 'LEAK' UPON ENVIRONMENT-NAME
       DISPLAY TEXT-IN UPON ENVIRONMENT-VALUE
       CALL 'CBL_CHANGE_DIR' USING FOLDER
    ELSE
       OPEN INPUT STORED
       MOVE STORED-RECORD TO OUT-1
       MOVE SORTED-RECORD TO OUT-2
       ACCEPT OUT-3 FROM ENVIRONMENT 'LEAK'
       MOVE LARGE(1999991:10) TO OUT-4
       OPEN OUTPUT HERE
       MOVE 'here' TO HERE-RECORD
       WRITE HERE-RECORD
       CLOSE HERE
    END-IF.
    GOBACK.
";

/// A client read the record that a program had read for another one from the record area of its file, and the environment and the working
/// directory of the process remained as a call had set them.
#[test]
fn a_call_leaves_nothing_in_record_areas_environment_or_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = compile_source(folder.path(), "LEAVES", LEAVES) else { return };
    for environment in [Vec::new(), vec![("COB_PHYSICAL_CANCEL".to_owned(), "1".to_owned())]] {
        let mut spec = spec(folder.path(), "LEAVES");
        spec.working_storage = WorkingStorage::Fresh;
        spec.work_folder = Some(folder.path().to_owned());
        spec.environment = environment;
        let mut worker = Worker::start(&spec).unwrap();
        for secret in ["ALICE-1234", "BOB-567890", "CAROL-1111"] {
            let mut call = |what: &str| {
                let slot = worker.submit(&[what.as_bytes(), secret.as_bytes(), &[b'.'; 40]]).unwrap();
                worker.ring();
                let (done, end) = wait(&mut worker, 1, FOREVER);
                assert_eq!((done.len(), end), (1, None));
                let mut area = Vec::new();
                worker.take(slot, usize::MAX, &mut area);
                area
            };
            call("SET ");
            let seen = call("GET ");
            assert_eq!(&seen[14..34], &[0; 20], "{:?} {}", spec.environment, seen.escape_ascii());
            assert_eq!(&seen[34..54], &[b' '; 20], "{}", seen.escape_ascii());
            let here = folder.path().join("here.dat");
            assert!(here.exists(), "the call wrote into its work folder");
            std::fs::remove_file(here).unwrap();
        }
    }
}

/// The processes that a program had started lived on when its call was stopped, one more for each such call.
#[test]
fn a_program_that_is_stopped_takes_along_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let body = "    CALL 'SYSTEM' USING 'sleep 271 & sleep 271'.";
    let Some(()) = compile(folder.path(), "STARTS", body) else { return };
    let mut worker = Worker::start(&spec(folder.path(), "STARTS")).unwrap();
    let group = worker.id().to_string();
    let members = || -> usize {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let stats = processes.filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
        // State, parent and group follow the name, which is in parentheses.
        stats
            .filter(|stat| {
                let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
                let mut words = rest.split_ascii_whitespace();
                words.next() != Some("Z") && words.nth(1) == Some(&group)
            })
            .count()
    };
    worker.submit(&[b"0000"]).unwrap();
    worker.ring();
    let began = Instant::now();
    while members() < 4 {
        assert!(began.elapsed() < Duration::from_secs(20), "the worker, a shell and two commands");
        std::thread::sleep(Duration::from_millis(5));
    }
    let (_, end) = wait(&mut worker, 1, Duration::ZERO);
    assert_eq!(end.map(|(end, _)| end), Some(End::TimeLimit));
    let began = Instant::now();
    while members() > 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "{} processes live on", members());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A work folder that is missing was "no such file", and the reader had to guess which.
#[test]
fn a_work_folder_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(folder.path(), "ANY");
    spec.work_folder = Some(folder.path().join("missing"));
    let told = Worker::start(&spec).unwrap_err().to_string();
    assert!(told.contains("work folder") && told.contains("missing"), "{told}");
}

#[test]
fn cancelled_programs_take_no_more_memory_with_each_call() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = compile_source(folder.path(), "OTHERMOD", OTHER_MODULE) else { return };
    let mut spec = spec(folder.path(), "OTHERMOD");
    spec.working_storage = WorkingStorage::Fresh;
    let mut worker = Worker::start(&spec).unwrap();
    let resident = |worker: &Worker| -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", worker.id())).unwrap();
        text.split(' ').nth(1).unwrap().parse().unwrap()
    };
    let mut at = [0; 2];
    for half in &mut at {
        for _ in 0..2500 {
            let slots: Vec<Slot> = (0..8).map(|_| worker.submit(&[b"0000"]).unwrap()).collect();
            worker.ring();
            wait(&mut worker, slots.len(), FOREVER);
            slots.into_iter().for_each(|slot| worker.release(slot));
        }
        *half = resident(&worker);
    }
    assert!(at[1] <= at[0] + 64, "pages after 20,000 and 40,000 calls: {at:?}");
}

/// A program with three parameters that writes beyond one of them on request.
const PARTS: &str = "IDENTIFICATION DIVISION.
PROGRAM-ID. PARTS.
DATA DIVISION.
WORKING-STORAGE SECTION.
01 PLACE USAGE POINTER.
01 NUMBER-OF-PLACE REDEFINES PLACE PIC S9(18) COMP-5.
LINKAGE SECTION.
01 FIRST-PART.
   05 A PIC 9(5).
   05 DISTANCE PIC S9(11) SIGN LEADING SEPARATE.
01 SECOND-PART PIC 9(7).
01 THIRD-PART.
   05 SUM-OF-BOTH PIC 9(8).
   05 BULK PIC X(9000).
01 THERE PIC X.
PROCEDURE DIVISION USING FIRST-PART SECOND-PART THIRD-PART.
    ADD A SECOND-PART GIVING SUM-OF-BOTH.
    ADD 1 TO SECOND-PART.
    MOVE ALL 'x' TO BULK.
    IF DISTANCE NOT = 0
       SET PLACE TO ADDRESS OF SECOND-PART
       ADD DISTANCE TO NUMBER-OF-PLACE
       SET ADDRESS OF THERE TO PLACE
       MOVE '!' TO THERE
    END-IF.
    GOBACK.
";

/// Parameters of one call are as far from each other as from those of other calls.
#[test]
fn a_program_has_several_parameters_and_none_reaches_another() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = compile_source(folder.path(), "PARTS", PARTS) else { return };
    let parameters = vec![17, 7, 9008];
    let spec = WorkerSpec { length: parameters.iter().sum(), parameters, ..spec(folder.path(), "PARTS") };
    let expected = [b"00040+000000000000000003".as_slice(), b"00000042", &[b'x'; 9000]].concat();
    let mut area = Vec::new();
    for distance in (0..=26).map(|power| 1i64 << power).flat_map(|d| [d, -d]).chain([0, 7, 4089, -4089, -4090]) {
        let mut worker = Worker::start(&spec).unwrap();
        let bad = format!("00040{distance:+012}0000002");
        let slots = [bad.as_str(), "00040+000000000000000002"].map(|call| worker.submit(&[call.as_bytes()]).unwrap());
        worker.ring();
        let (done, end) = wait(&mut worker, 2, FOREVER);
        // The second parameter ends at the end of its page: any byte behind it, and any before the page, belongs to nobody.
        let inside = (-4089..7).contains(&distance);
        assert_eq!(
            (end.map(|(_, current)| current), done.len()),
            if inside { (None, 2) } else { (Some(Some(slots[0])), 0) },
            "{distance}"
        );
        for (slot, _) in done {
            worker.look(slot, usize::MAX, &mut area);
            let has_mark = slot == slots[0] && (0..7).contains(&distance) && distance != 0;
            assert_eq!(area[5..17] == expected[5..17], slot == slots[1] || distance == 0);
            assert_eq!((&area[..5], &area[24..]), (&expected[..5], &expected[24..]), "{distance}");
            assert_eq!(area[17..24] == expected[17..24], !has_mark, "{distance}");
            area.clear();
        }
    }
    for wrong in [vec![17, 7], vec![1; 9032]] {
        assert!(Worker::start(&WorkerSpec { parameters: wrong, ..spec.clone() }).is_err());
    }
}
