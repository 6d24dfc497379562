use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use quayline_convert::{Advance, ConvertError, Input, Output, Progress, Rejects, Start};
use quayline_core::Fault;
use quayline_project::{ParquetWrite, TargetFormat};

use crate::kit::*;

/// Takes some bytes, then fails.
struct Broken {
    room: usize,
    kind: io::ErrorKind,
}

impl Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(self.kind.into());
        }
        let n = bytes.len().min(self.room);
        self.room -= n;
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn broken(kit: &Kit, kind: io::ErrorKind, lanes: usize) -> ConvertError {
    let mut conversion = kit.conversion();
    conversion.lanes = lanes;
    conversion.target.output = Output::Stream(Box::new(Broken { room: 100_000, kind }));
    checked(conversion.run()).expect_err("the stream breaks")
}

#[test]
fn a_closed_pipe_is_told_apart() {
    let data: Vec<u8> = (0..100_000).flat_map(person).collect();
    let mut kit = Kit::persons(&data);
    for to in [jsonl(), TargetFormat::ArrowStream, TargetFormat::Parquet(ParquetWrite::default())] {
        kit.to = to;
        for lanes in [1, 3] {
            let error = broken(&kit, io::ErrorKind::BrokenPipe, lanes);
            assert!(matches!(error, ConvertError::ClosedPipe), "{error}");
            assert_eq!(error.fault(), Fault::Environment);
        }
    }
}

#[test]
fn a_full_disk_leaves_a_partial_output() {
    let data: Vec<u8> = (0..100_000).flat_map(person).collect();
    let kit = Kit::persons(&data);
    let error = broken(&kit, io::ErrorKind::StorageFull, 2);
    assert_eq!(error.fault(), Fault::Environment);
    expect![[r#"
        error[CNV-001]: cannot write: no storage space
          at <output>

        hint: free space where the output goes"#]]
    .assert_eq(&said(&kit, &error));
}

/// Somebody who may write to the folder could otherwise have us write anywhere.
#[test]
fn a_link_under_the_partial_name_is_not_followed() {
    let data: Vec<u8> = (0..10).flat_map(person).collect();
    let kit = Kit::persons(&data);
    std::fs::write(kit.path("other"), "precious").expect("written");
    std::os::unix::fs::symlink("other", kit.path("out.partial")).expect("made");
    let error = kit.run().expect_err("refused");
    expect![[r#"
        error[CNV-001]: cannot create: something is there that is not a regular file
          at out.partial

        hint: remove it, or name a file elsewhere"#]]
    .assert_eq(&said(&kit, &error));
    assert_eq!(std::fs::read(kit.path("other")).expect("there"), b"precious");
    assert!(!kit.path("out").exists());
}

#[test]
fn a_source_that_is_not_there_is_said() {
    let kit = Kit::persons(b"");
    let mut conversion = kit.conversion();
    conversion.source.input = Input::File(kit.path("nope"));
    let error = checked(conversion.run()).expect_err("no such file");
    expect![[r#"
        error[CNV-001]: cannot open: no such file or directory
          at nope

        hint: check the path"#]]
    .assert_eq(&said(&kit, &error));
    assert_eq!(kit.names(), ["in.dat"]);
}

#[test]
fn a_reader_that_fails_ends_the_run() {
    struct Fails(usize);
    impl io::Read for Fails {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("the line is dead"));
            }
            let n = self.0.min(buf.len());
            buf[..n].fill(0xf1);
            self.0 -= n;
            Ok(n)
        }
    }
    let kit = Kit::persons(b"");
    for lanes in [1, 3] {
        let mut conversion = kit.conversion();
        conversion.lanes = lanes;
        conversion.source.input = Input::Stream(Box::new(Fails(1_000_000)));
        let error = checked(conversion.run()).expect_err("the reader fails");
        assert!(error.to_string().contains("cannot read: the line is dead"), "{error}");
    }
}

#[test]
fn two_ends_are_never_one_file() {
    let kit = Kit::persons(&person(1));
    let mut conversion = kit.conversion();
    conversion.target.output = Output::File(kit.path("in.dat"));
    let error = checked(conversion.run()).expect_err("output over source");
    expect![[r#"
        error[CNV-012]: the source and the output are one file
          at in.dat

        hint: name another file"#]]
    .assert_eq(&said(&kit, &error));
    let mut conversion = kit.conversion();
    conversion.rejects = Rejects::File { path: kit.path("out"), max: None };
    assert!(checked(conversion.run()).expect_err("rejects over output").to_string().contains("CNV-012"));
    assert_eq!(kit.bytes("in.dat"), person(1));
}

#[test]
fn two_runs_do_not_write_one_output() {
    let kit = Kit::persons(&person(1));
    let held = std::fs::File::create(kit.path("out.partial")).expect("made");
    held.lock().expect("locked");
    let error = kit.run().expect_err("another run has it");
    assert!(error.to_string().contains("another run is writing it"), "{error}");
    drop(held);
    kit.ok();
}

#[test]
fn checkpoints_need_files_that_can_be_continued() {
    let mut kit = Kit::persons(&person(1));
    let refused = |kit: &Kit, change: &dyn Fn(&mut quayline_convert::Conversion)| {
        let mut conversion = kit.conversion();
        conversion.checkpoints = Some(kit.checkpoints(Start::Anew));
        change(&mut conversion);
        said(kit, &checked(conversion.run()).expect_err("not resumable"))
    };
    expect![[r#"
        error[CNV-005]: a source that is a stream cannot be resumed

        hint: name a regular file, or leave checkpoints out"#]]
    .assert_eq(&refused(&kit, &|c| c.source.input = Input::Stream(Box::new(io::empty()))));
    expect![[r#"
        error[CNV-005]: output to a stream cannot be resumed

        hint: name an output file, or leave checkpoints out"#]]
    .assert_eq(&refused(&kit, &|c| c.target.output = Output::Stream(Box::new(io::sink()))));
    kit.to = TargetFormat::ArrowFile;
    expect![[r#"
        error[CNV-005]: a Parquet or Arrow output cannot be resumed

        hint: such a file is written in one go; leave checkpoints out, or convert to JSON lines, CSV, XML or records"#]]
    .assert_eq(&refused(&kit, &|_| {}));
    assert_eq!(kit.names(), ["in.dat"]);
}

#[test]
fn progress_is_told_after_every_block_and_cancel_is_heard() {
    struct Watch {
        seen: Arc<Mutex<Vec<Advance>>>,
        cancel: Arc<std::sync::atomic::AtomicBool>,
        stop_at: usize,
    }
    impl Progress for Watch {
        fn advance(&self, at: Advance) {
            let mut seen = self.seen.lock().expect("no panic");
            seen.push(at);
            if seen.len() == self.stop_at {
                self.cancel.store(true, Ordering::Relaxed);
            }
        }
    }
    let data: Vec<u8> = (0..200_000).flat_map(person).collect();
    let kit = Kit::persons(&data);
    for (stop_at, blocks) in [(usize::MAX, 11), (3, 3)] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut conversion = kit.conversion();
        let cancel = Arc::clone(&conversion.cancel);
        conversion.progress = Some(Box::new(Watch { seen: Arc::clone(&seen), cancel, stop_at }));
        let result = checked(conversion.run());
        let seen = seen.lock().expect("no panic");
        assert_eq!(seen.len(), blocks);
        assert!(seen.is_sorted_by_key(|at| (at.source_bytes, at.records, at.output_bytes)));
        assert!(seen.iter().all(|at| at.source_bytes_total == Some(data.len() as u64)));
        match result {
            Ok(_) => assert_eq!(seen.last().map(|at| at.records), Some(200_000)),
            Err(error) => {
                assert!(matches!(error, ConvertError::Stopped(_)), "{error}");
                expect![[r#"
                    error[CNV-002]: stopped before record 56173: out.partial is not complete

                    hint: run it again from the start; outputs of lines or records resume if the run has a checkpoint"#]]
                .assert_eq(&said(&kit, &error));
            }
        }
    }
}
