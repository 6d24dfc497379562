//! A process that reads and writes files is killed again and again: every file is a message once, and every message a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quayline_store::queue::{GetWait, QueueDefinition, Select};

use crate::crash::open;
use crate::support::{PATIENCE, kills, run, running, until};

const FOLDER: &str = "QUAYLINE_TEST_CRASH_FILES_FOLDER";
/// Files of one round.
const FILES: u32 = 40;

const FLOW: &str = "[node.look]\ntype = \"folder_input\"\nfolder = \"in\"\ninterval = \"1ms\"\nsettle = \"0ms\"\nout = [\"put\", \"file\"]\n\
                    [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n\
                    [node.file]\ntype = \"file_output\"\nfolder = \"out\"\nname.from = 'envelope.file_name & \".\" & envelope.message_id'\n";

/// The child process. Without the variable, this test does nothing.
#[test]
fn child_that_moves_files() {
    let Some(place) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (store, _engine) = open(&place.join("data"));
    let _running = run(&store, &place, FLOW, 1);
    std::fs::write(place.join("running"), "").expect("a file");
    std::thread::sleep(PATIENCE);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.map(|entry| entry.file_name().into_string().expect("a name")).collect()
}

#[test]
fn every_file_is_a_message_and_a_file_once_however_often_the_process_is_killed() {
    let place = tempfile::TempDir::new().expect("a temporary folder");
    let (input, data) = (place.path().join("in"), place.path().join("data"));
    std::fs::create_dir_all(&input).expect("a folder");
    {
        let (store, engine) = open(&data);
        let mut unit = store.begin().expect("a unit");
        store.define_queue(&mut unit, QueueDefinition::local("OUT")).expect("a definition");
        unit.commit().expect("a commit");
        drop(store);
        engine.close().expect("closed");
    }
    let rounds = kills(8);
    let mut seed = 0x5eed_u32;
    let mut interrupted = 0;
    for round in 0..rounds {
        for number in round * FILES..(round + 1) * FILES {
            // Complete when it appears, as `settle` is 0.
            let part = place.path().join("part");
            std::fs::write(&part, format!("content of {number}")).expect("a file");
            std::fs::rename(part, input.join(format!("{number:05}"))).expect("a name");
        }
        let mut child = running("crash_files::child_that_moves_files", FOLDER, place.path());
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(Duration::from_micros(u64::from((seed >> 8) % 100_000)));
        child.kill().expect("kill -9");
        child.wait().expect("the child ended");
        interrupted += u32::from(!names(&input).is_empty());
    }
    let (store, engine) = open(&data);
    let (flows, said) = run(&store, place.path(), FLOW, 1);
    let count = (rounds * FILES) as usize;
    let (done, out) = (input.join("done"), place.path().join("out"));
    // Many kills leave thousands of files, each with a sync or two.
    loop {
        let left = names(&input).len();
        if left == 0 {
            break;
        }
        until("a file is moved", || names(&input).len() < left);
    }
    until("every file is moved", || names(&input).is_empty() && names(&done).len() == count);
    until("every file is written", || names(&out).iter().filter(|name| !name.starts_with('.')).count() == count);
    flows.drain();
    assert!(said.failed.lock().expect("no panic").is_empty());
    let queue = store.queue("OUT").expect("a queue");
    let mut unit = store.begin().expect("a unit");
    let mut contents = BTreeSet::new();
    for _ in 0..count {
        let message = queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
        assert!(contents.insert(message.payload), "a file has two messages");
    }
    assert!(queue.get(&mut unit, Select::First, GetWait::No).is_err(), "a file has two messages");
    unit.commit().expect("a commit");
    for name in names(&out).iter().filter(|name| !name.starts_with('.')) {
        let (number, _) = name.split_once('.').expect("a number and an id");
        let content = std::fs::read_to_string(out.join(name)).expect("a file");
        assert_eq!(content, format!("content of {}", number.parse::<u32>().expect("a number")));
        assert!(contents.remove(content.as_bytes()), "{name} is written twice");
    }
    assert!(contents.is_empty());
    eprintln!("{rounds} kills, {interrupted} of them before all files were moved");
    assert!(interrupted > 0, "a kill interrupts work");
    drop((store, queue));
    engine.close().expect("closed");
}
