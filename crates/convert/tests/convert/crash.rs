//! Stops a run at every durability step, resumes it, and compares the output with that of an uninterrupted run.

use std::fs::{self, OpenOptions};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::expect;
use quayline_convert::{Advance, ConvertError, Progress, Rejects, Start, SyncHook, SyncPoint};
use quayline_core::Severity;
use quayline_project::csv::CsvStyle;
use quayline_project::xml::XmlStyle;
use quayline_project::{JsonWrite, SourceFormat, TargetFormat};

use crate::kit::*;

/// Stops at step `at`, counted from 0.
struct StopAt {
    at: usize,
    count: Arc<AtomicUsize>,
}

impl SyncHook for StopAt {
    fn before(&self, _point: SyncPoint) -> io::Result<()> {
        if self.count.fetch_add(1, Ordering::Relaxed) == self.at {
            return Err(io::Error::other("power off"));
        }
        Ok(())
    }
}

/// State of written but unsynced bytes after a stop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unsynced {
    /// They are on the disk.
    Kept,
    /// They are lost. The test does not know where the bytes of the checkpoint end, so garbage replaces the later ones.
    Garbage,
}

/// Returns the same records as text, including rows that do not convert.
fn text_kit(n: u32, format: TargetFormat, from: SourceFormat, to: TargetFormat) -> Kit {
    let made = kit_of(n, "fixed:14", format, 2);
    made.ok();
    let text = made.text("out").replace("12345.17", "x");
    let mut kit = Kit::new(schema(PERSON, ""), text.as_bytes(), from, to);
    kit.lanes = 2;
    kit
}

/// Three blocks.
fn kit(from: &str, to: TargetFormat, lanes: usize) -> Kit {
    kit_of(45_000, from, to, lanes)
}

fn kit_of(n: u32, from: &str, to: TargetFormat, lanes: usize) -> Kit {
    let bodies = (0..n).map(|i| if i % 1_000 == 5 { bad_person(i) } else { person(i) });
    let mut framer =
        quayline_frame::Framer::new(&framing(from), Default::default(), &Default::default()).expect("fits");
    let mut data = Vec::new();
    bodies.for_each(|body| framer.frame(&body, &mut data).expect("fits"));
    framer.finish(&mut data);
    let mut kit = Kit::new(schema(PERSON, ""), &data, records(from), to);
    kit.lanes = lanes;
    kit
}

fn run(kit: &Kit, start: Start, stop_at: usize) -> (Result<quayline_convert::Report, ConvertError>, usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let mut conversion = kit.conversion();
    conversion.checkpoints = Some(kit.checkpoints(start));
    conversion.sync_hook = Some(Box::new(StopAt { at: stop_at, count: Arc::clone(&count) }));
    let result = checked(conversion.run());
    (result, count.load(Ordering::Relaxed))
}

fn spoil(kit: &Kit, unsynced: Unsynced) {
    if matches!(unsynced, Unsynced::Kept) {
        return;
    }
    for name in ["out.partial", "rejects.partial", "rejects.findings.jsonl.partial"] {
        if let Ok(mut file) = OpenOptions::new().append(true).open(kit.path(name)) {
            io::Write::write_all(&mut file, b"{\"record\":1,garbage\0\0\0").expect("appended");
        }
    }
}

/// Stops at the rename of the output, or tries to lock the output there.
struct AtRename {
    partial: std::path::PathBuf,
    stops: bool,
    free: Arc<AtomicUsize>,
}

impl SyncHook for AtRename {
    fn before(&self, point: SyncPoint) -> io::Result<()> {
        if point != SyncPoint::OutputRename {
            return Ok(());
        }
        if self.stops {
            return Err(io::Error::other("power off"));
        }
        let is_free = fs::File::open(&self.partial)?.try_lock().is_ok();
        self.free.store(1 + usize::from(is_free), Ordering::Relaxed);
        Ok(())
    }
}

/// A resumed run checked the length of its output, then unlocked it before the rename.
#[test]
fn an_output_is_locked_until_it_has_its_name() {
    let kit = kit("fixed:14", jsonl(), 1);
    let free = Arc::new(AtomicUsize::new(0));
    for (start, stops) in [(Start::Anew, true), (Start::Resume, false)] {
        let mut conversion = kit.conversion();
        conversion.checkpoints = Some(kit.checkpoints(start));
        let partial = kit.path("out.partial");
        conversion.sync_hook = Some(Box::new(AtRename { partial, stops, free: Arc::clone(&free) }));
        assert_eq!(checked(conversion.run()).is_err(), stops);
    }
    assert_eq!(free.load(Ordering::Relaxed), 1, "0: not renamed, 2: not locked");
}

pub(crate) fn check(kit: &Kit, unsynced: Unsynced) {
    let report = kit.ok();
    let whole: Vec<Vec<u8>> = ["out", "rejects", "rejects.findings.jsonl"].map(|name| kit.bytes(name)).into();
    let (result, steps) = run(kit, Start::Anew, usize::MAX);
    result.unwrap_or_else(|error| panic!("{error}"));
    assert!(steps > 20, "only {steps} steps: the source is too small for this test");
    for stop_at in 0..steps {
        for name in kit.names().iter().filter(|name| *name != "in.dat") {
            fs::remove_file(kit.path(name)).expect("removed");
        }
        let (stopped, _) = run(kit, Start::Anew, stop_at);
        stopped.expect_err("the hook stops it");
        if kit.path("out").exists() {
            assert_eq!(kit.bytes("out"), whole[0], "step {stop_at}: an output under its name is complete");
        } else {
            spoil(kit, unsynced);
        }
        let (resumed, _) = run(kit, Start::Resume, usize::MAX);
        let resumed = resumed.unwrap_or_else(|error| panic!("step {stop_at}: {error}"));
        assert_eq!(resumed.tally, report.tally, "step {stop_at}");
        for (name, whole) in ["out", "rejects", "rejects.findings.jsonl"].iter().zip(&whole) {
            assert!(kit.bytes(name) == *whole, "step {stop_at}: {name} differs, {:?}", kit.to);
        }
        assert_eq!(kit.names(), ["in.dat", "out", "rejects", "rejects.findings.jsonl"], "step {stop_at}");
    }
}

/// A checkpoint before the root element, as a long comment causes, resumed as if inside it, so the root was read as a record. After the root, a
/// run resumed as if the root were open. Now the state of a checkpoint contains the part of the document.
#[test]
fn xml_resumes_in_front_of_its_root_and_behind_it() {
    let xml = XmlStyle::default();
    let comment = format!("<!-- {} -->\n", "a long story, ".repeat(1_000));
    let comments = comment.repeat(40);
    let mut kit = text_kit(3_000, TargetFormat::Xml(xml.clone()), SourceFormat::Xml(xml), jsonl());
    let text = kit.text("in.dat");
    let (declaration, root) = text.split_once('\n').expect("a declaration on a line of its own");
    fs::write(kit.path("in.dat"), format!("{declaration}\n{comments}{root}{comments}")).expect("written");
    kit.lanes = 1;
    check(&kit, Unsynced::Garbage);
}

#[test]
fn json_lines_resume_at_every_step() {
    check(&kit("fixed:14", jsonl(), 1), Unsynced::Kept);
    check(&kit("rdw", jsonl(), 2), Unsynced::Garbage);
}

#[test]
fn a_json_array_resumes_at_every_step() {
    check(&kit("vb", TargetFormat::JsonArray(JsonWrite::default()), 2), Unsynced::Garbage);
}

#[test]
fn records_resume_at_every_step() {
    check(&kit("vbs", TargetFormat::Records(framing("vb")), 2), Unsynced::Garbage);
    check(&kit("mf", TargetFormat::Records(framing("mf")), 1), Unsynced::Kept);
}

#[test]
fn text_resumes_at_every_step() {
    let (csv, xml) = (CsvStyle::default(), XmlStyle::default());
    let array = TargetFormat::JsonArray(JsonWrite::default());
    check(
        &text_kit(40_000, TargetFormat::Csv(csv), SourceFormat::Csv(csv), TargetFormat::Xml(xml.clone())),
        Unsynced::Garbage,
    );
    check(
        &text_kit(13_000, TargetFormat::Xml(xml.clone()), SourceFormat::Xml(xml), TargetFormat::Csv(csv)),
        Unsynced::Garbage,
    );
    check(&text_kit(19_000, array, JSON, TargetFormat::Records(framing("rdw"))), Unsynced::Kept);
}

/// Stops twice: the second time while resuming.
#[test]
fn a_resumed_run_can_be_stopped_again() {
    let kit = kit("fixed:14", jsonl(), 1);
    kit.ok();
    let whole = kit.bytes("out");
    fs::remove_file(kit.path("out")).expect("removed");
    let (_, steps) = run(&kit, Start::Anew, usize::MAX);
    for first in (0..steps).step_by(5) {
        run(&kit, Start::Anew, first).0.expect_err("stopped");
        for second in (0..steps).step_by(7) {
            if let (Ok(_), _) = run(&kit, Start::Resume, second) {
                break;
            }
        }
        run(&kit, Start::Resume, usize::MAX).0.unwrap_or_else(|error| panic!("{error}"));
        assert!(kit.bytes("out") == whole, "stopped at {first}");
    }
}

#[test]
fn a_cancelled_run_resumes_where_it_was() {
    struct Cancel(Arc<std::sync::atomic::AtomicBool>, AtomicUsize);
    impl Progress for Cancel {
        fn advance(&self, _at: Advance) {
            if self.1.fetch_add(1, Ordering::Relaxed) == 1 {
                self.0.store(true, Ordering::Relaxed);
            }
        }
    }
    let kit = kit("fixed:14", jsonl(), 2);
    kit.ok();
    let whole = kit.bytes("out");
    let mut conversion = kit.conversion();
    // Far apart: only the cancel writes one.
    let mut checkpoints = kit.checkpoints(Start::Anew);
    checkpoints.every_bytes = u64::MAX;
    conversion.checkpoints = Some(checkpoints);
    conversion.progress = Some(Box::new(Cancel(Arc::clone(&conversion.cancel), AtomicUsize::new(0))));
    let error = checked(conversion.run()).expect_err("cancelled");
    let ConvertError::Stopped(stopped) = &error else { panic!("{error}") };
    assert!(stopped.next.0 > 1 && stopped.checkpoint.is_some());
    assert!(said(&kit, &error).contains("continue with --resume; the checkpoint is out.checkpoint"), "{error}");
    let (resumed, _) = run(&kit, Start::Resume, usize::MAX);
    let resumed = resumed.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(resumed.resumed_at, Some(stopped.next));
    assert!(resumed.source_bytes < kit.bytes("in.dat").len() as u64);
    assert!(kit.bytes("out") == whole);
}

#[test]
fn more_rejects_may_be_allowed_on_resume() {
    let kit = kit("fixed:14", jsonl(), 1);
    kit.ok();
    let whole = kit.bytes("out");
    let mut conversion = kit.conversion();
    conversion.checkpoints = Some(kit.checkpoints(Start::Anew));
    conversion.rejects = Rejects::File { path: kit.path("rejects"), max: Some(20) };
    checked(conversion.run()).expect_err("45 records are bad");
    let (resumed, _) = run(&kit, Start::Resume, usize::MAX);
    assert_eq!(resumed.unwrap_or_else(|error| panic!("{error}")).tally.records_rejected, 45);
    assert!(kit.bytes("out") == whole);
}

/// The digest covers the ends of the source, so a change in between is a warning, by the time of the file.
#[test]
fn a_source_that_was_written_after_the_stop_is_a_warning() {
    let kit = kit("fixed:14", jsonl(), 1);
    run(&kit, Start::Anew, 12).0.expect_err("stopped");
    let mut changed = kit.bytes("in.dat");
    let middle = changed.len() / 2;
    changed.swap(middle, middle + 14);
    fs::write(kit.path("in.dat"), &changed).expect("written");
    let report = run(&kit, Start::Resume, usize::MAX).0.unwrap_or_else(|error| panic!("{error}"));
    // The others are about bad records of the source.
    let warned = |report: &quayline_convert::Report| {
        let of_source = report.findings.iter().filter(|finding| finding.code.to_string() == "CNV-044");
        of_source.map(|finding| finding.severity).collect::<Vec<_>>()
    };
    assert_eq!(warned(&report), [Severity::Warning]);
    // A resumed run of an unchanged source is silent.
    let whole =
        run(&kit, Start::Anew, usize::MAX).0.map(|_| kit.bytes("out")).unwrap_or_else(|error| panic!("{error}"));
    fs::remove_file(kit.path("out")).expect("removed");
    run(&kit, Start::Anew, 12).0.expect_err("stopped");
    let report = run(&kit, Start::Resume, usize::MAX).0.unwrap_or_else(|error| panic!("{error}"));
    assert!(warned(&report).is_empty() && kit.bytes("out") == whole, "{:?}", report.findings);
}

#[test]
fn a_checkpoint_of_something_else_is_refused() {
    let kit = kit("fixed:14", jsonl(), 1);
    run(&kit, Start::Anew, 12).0.expect_err("stopped");
    let refused = |change: &dyn Fn(&mut quayline_convert::Conversion)| {
        let mut conversion = kit.conversion();
        conversion.checkpoints = Some(kit.checkpoints(Start::Resume));
        change(&mut conversion);
        said(&kit, &checked(conversion.run()).expect_err("refused"))
    };
    expect![[r#"
        error[CNV-007]: the run began with another copybook, interface file or other settings
          at out.checkpoint

        hint: resume with the settings of that run, or run again without --resume"#]]
    .assert_eq(&refused(&|c| {
        if let Some(checkpoints) = &mut c.checkpoints {
            checkpoints.definitions = 8;
        }
    }));
    let original = kit.bytes("in.dat");
    let mut changed = original.clone();
    changed[0] ^= 1;
    fs::write(kit.path("in.dat"), &changed).expect("written");
    expect![[r#"
        error[CNV-006]: the source has other bytes than when the run began
          at out.checkpoint

        hint: resume with the source of that run, or run again without --resume"#]]
    .assert_eq(&refused(&|_| {}));
    fs::write(kit.path("in.dat"), &original[14..]).expect("written");
    expect![[r#"
        error[CNV-006]: the source had 630000 bytes when the run began, now it has 629986
          at out.checkpoint

        hint: resume with the source of that run, or run again without --resume"#]]
    .assert_eq(&refused(&|_| {}));
    fs::write(kit.path("in.dat"), &original).expect("written");
    let checkpoint = kit.text("out.checkpoint");
    fs::write(kit.path("out.checkpoint"), &checkpoint[..checkpoint.len() - 5]).expect("written");
    expect![[r#"
        error[CNV-008]: checkpoint is torn: its closing hash does not match
          at out.checkpoint

        hint: delete it and convert again"#]]
    .assert_eq(&refused(&|_| {}));
    fs::write(kit.path("out.checkpoint"), &checkpoint).expect("written");
    OpenOptions::new().write(true).open(kit.path("out.partial")).and_then(|f| f.set_len(10)).expect("cut");
    let said = refused(&|_| {});
    assert!(said.contains("CNV-009") && said.contains("but it has 10"), "{said}");
}

/// Environment variable that passes the folder of the run to the child process.
const FOLDER: &str = "QUAYLINE_CRASH_FOLDER";

/// Not a separate test: the child process of the next test runs it.
#[test]
fn child_process_that_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let kit = kit("rdw", TargetFormat::JsonArray(JsonWrite::default()), 2);
    let mut conversion = kit.conversion();
    let folder = std::path::Path::new(&folder);
    conversion.source.input = quayline_convert::Input::File(folder.join("in.dat"));
    conversion.target.output = quayline_convert::Output::File(folder.join("out"));
    conversion.rejects = Rejects::File { path: folder.join("rejects"), max: None };
    let start = if folder.join("out.checkpoint").exists() { Start::Resume } else { Start::Anew };
    let checkpoints = kit.checkpoints(start);
    conversion.checkpoints = Some(quayline_convert::Checkpoints { path: folder.join("out.checkpoint"), ..checkpoints });
    checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
}

/// SIGKILL at any time, repeatedly: the last, uninterrupted run completes the same bytes.
#[test]
fn a_killed_process_resumes() {
    let kit = kit("rdw", TargetFormat::JsonArray(JsonWrite::default()), 2);
    kit.ok();
    let whole = kit.bytes("out");
    let rejects = kit.bytes("rejects");
    // A child that is killed cannot remove its temporary files.
    let scratch = tempfile::tempdir().expect("a folder");
    let this = std::env::current_exe().expect("this test has a path");
    let child = || {
        std::process::Command::new(&this)
            .args(["--exact", "crash::child_process_that_is_killed"])
            .env("TMPDIR", scratch.path())
            .env(FOLDER, kit.folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("starts")
    };
    for name in ["out", "rejects", "rejects.findings.jsonl"] {
        fs::remove_file(kit.path(name)).expect("removed");
    }
    let mut killed = 0;
    for round in 1..=40 {
        let mut running = child();
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < round * 3 && running.try_wait().expect("a child").is_none() {
            std::thread::yield_now();
        }
        // A process that has ended by itself is not killed; its exit code says whether it was right.
        if running.try_wait().expect("a child").is_none() {
            running.kill().expect("killed");
            killed += 1;
        }
        let status = running.wait().expect("a child");
        assert!(status.success() || status.code().is_none(), "{status}");
        if kit.path("out").exists() {
            break;
        }
    }
    assert!(killed > 0, "no round was short enough");
    assert!(child().wait().expect("a child").success());
    assert!(kit.bytes("out") == whole && kit.bytes("rejects") == rejects);
}

/// Regression: a resumed run did not know of an error that rejects nothing if it occurs before the checkpoint: its exit code was 0.
#[test]
fn errors_before_the_checkpoint_count_after_a_resume() {
    let text: String = (1..=4_000)
        .map(|n| {
            let declared = if n == 1 { 2 } else { 1 };
            format!(
                "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*{n:09}*0*T*:~\
                 GS*PO*S*R*20260401*1200*{n}*X*005010~ST*850*0001~BEG*00*SA*P{n}**20260401~SE*3*0001~GE*{declared}*{n}~IEA*1*{n:09}~"
            )
        })
        .collect();
    let from = SourceFormat::Edi(quayline_project::EdiRead::default());
    let kit = Kit::new(Arc::new(quayline_project::Schema::edi()), text.as_bytes(), from, jsonl());
    let whole = kit.ok();
    assert_eq!((whole.errors, whole.errors_before, whole.tally.records_rejected), (1, 0, 0), "{:?}", whole.findings);
    let (result, steps) = run(&kit, Start::Anew, usize::MAX);
    assert_eq!(result.expect("not stopped").errors, 1);
    // The last steps are those after the conversion: only names are missing there.
    for stop_at in [steps / 2, steps - 8, steps - 1] {
        run(&kit, Start::Anew, stop_at).0.expect_err("the hook stops it");
        let (result, _) = run(&kit, Start::Resume, usize::MAX);
        let resumed = result.unwrap_or_else(|error| panic!("{error}"));
        assert!(resumed.resumed_at.is_some_and(|at| at.0 > 1), "step {stop_at} of {steps}: {:?}", resumed.resumed_at);
        assert_eq!((resumed.errors, resumed.errors_before), (1, 1), "step {stop_at} of {steps}");
        assert_eq!((resumed.tally, resumed.records_before > 0), (whole.tally, true));
    }
}
