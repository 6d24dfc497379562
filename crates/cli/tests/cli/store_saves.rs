//! `quayline store save --parts`: stopped, killed, damaged, continued and restored.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use expect_test::expect;

use crate::world::{Ran, World};

const RECORDS: u32 = 40_000;

/// Returns a record file of some megabytes with limited compressibility.
fn records() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut noise = 0x9e37_79b9_7f4a_7c15u64;
    for number in 0..RECORDS {
        bytes.extend_from_slice(format!("{number:08}").as_bytes());
        for _ in 0..56 {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            bytes.extend_from_slice(&noise.to_le_bytes());
        }
    }
    bytes
}

fn loaded() -> World {
    let world = World::with([("in.dat", records().as_slice())]);
    world.run("file define BIG --record 456 --key 0:8").code(0);
    world.run("file load BIG in.dat --sorted").code(0);
    world
}

fn start(world: &World, arguments: &str) -> Child {
    let mut command = world.command(arguments.split_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// Returns the number of finished parts in the manifest.
fn parts(world: &World, folder: &str) -> usize {
    let manifest = std::fs::read_to_string(world.path(&format!("{folder}/manifest"))).unwrap_or_default();
    manifest.lines().filter(|line| line.starts_with("part ")).count()
}

/// Starts a save and ends it with a signal when it has some parts. Repeats this if the save completed because the machine was busy.
fn cut_short(world: &World, signal: &str) -> Ran {
    for _ in 0..50 {
        let child = start(world, SAVE);
        let begun = Instant::now();
        while parts(world, "saved") < 3 {
            assert!(begun.elapsed() < Duration::from_secs(60), "no part was written");
            std::thread::yield_now();
        }
        // A process that has ended takes no signal.
        let _ = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        let ran = Ran::of(child.wait_with_output().expect("the command ends"));
        let manifest = String::from_utf8(world.read("saved/manifest")).expect("text");
        if manifest.contains("state unfinished") {
            return ran;
        }
        std::fs::remove_dir_all(world.path("saved")).expect("removed");
    }
    panic!("every save came to its end before the signal");
}

const SAVE: &str = "store save saved --parts --part-size 1 --compress --jobs 1";

/// Returns the records of a save after restoring it to a store.
fn restored(world: &World, folder: &str) -> Vec<u8> {
    world.run(&format!("store restore saved --store {folder}")).code(0);
    world.run(&format!("store check --store {folder}")).code(0);
    world.run(&format!("file unload BIG -o {folder}.dat --store {folder}")).code(0);
    world.read(&format!("{folder}.dat"))
}

#[test]
fn a_killed_save_continues_and_keeps_the_parts_that_still_hold() {
    let world = loaded();
    let ran = cut_short(&world, "-KILL");
    assert!(ran.out().is_empty() && ran.err().is_empty(), "{}", ran.err());
    let done = parts(&world, "saved");
    let unfinished = world.run("store restore saved --check");
    assert!(unfinished.code(2).err().contains("STO-034"), "{}", unfinished.err());
    assert!(unfinished.err().contains("continues the save"), "{}", unfinished.err());

    // A record of the second part is changed in the meantime, and a part is damaged.
    let mut expected = records();
    let at = 456 * 3_000;
    expected[at + 8..at + 16].copy_from_slice(b"changed!");
    world.write("record", &expected[at..at + 456]);
    world.run("file put BIG record --replace").code(0);
    let mut part =
        std::fs::read_dir(world.path("saved")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let part = part.find(|path| path.to_string_lossy().contains("part-000003-")).expect("the third part");
    let mut bytes = std::fs::read(&part).expect("its bytes");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&part, bytes).expect("written");

    let ran = world.run(SAVE);
    let err = ran.code(0).err();
    let name = part.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(err.starts_with("warning[STO-034]: the save is not usable at byte "), "{err}");
    assert!(err.contains(&format!("at saved/{name}, byte ")), "{err}");
    // The definitions are in the first part, and every opening of the store changes them.
    let counts = format!("{} parts of the earlier run kept, 2 changed, 1 damaged", done - 3);
    assert!(err.contains(&counts), "{counts}: {err}");
    assert!(restored(&world, "again") == expected, "another content");

    // A complete save is not changed, and damage to any of its parts leaves the store unchanged.
    assert!(world.run(SAVE).code(2).err().contains("error[STO-020]: save saved exists"));
    let mut bytes = std::fs::read(&part).expect("the part that was written again");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&part, bytes).expect("written");
    let refused = world.run("store restore saved --replace");
    assert!(refused.code(2).err().contains(&format!("at saved/{name}, byte ")), "{}", refused.err());
    assert_eq!(world.run("file get BIG --key 00003000").code(0).out().get(8..16), Some("changed!"));
}

#[test]
fn ctrl_c_leaves_a_save_to_continue() {
    let world = loaded();
    let ran = cut_short(&world, "-INT");
    ran.check(expect![[r#"
        exit 3
        --- stderr
        the save is not complete; run the same command again to continue it
    "#]]);
    world.run(SAVE).code(0);
    assert!(restored(&world, "again") == records(), "another content");
}

#[test]
fn a_folder_and_a_file_are_not_confused() {
    let world = loaded();
    std::fs::create_dir(world.path("folder")).expect("a folder");
    world.run("store save folder").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: folder is a folder

        hint: name a file, or add --parts to save to a folder
    "#]]);
    world.run("store restore folder --check").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-034]: the save is not usable at byte 0: the folder has no manifest of a save
          at folder, byte 0

        hint: restore another save; the store itself was not changed
    "#]]);
    std::fs::write(world.path("folder/manifest"), "my ship").expect("a file");
    world.run("store save folder --parts").check(expect![[r#"
        exit 2
        --- stderr
        error[STO-020]: file folder/manifest exists

        hint: use another name, or delete the existing one first
    "#]]);
    world.run("store save in.dat --parts").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: in.dat cannot be used: file exists

        hint: check the path and its permissions
    "#]]);
}

/// A restore to a folder that was missing had no lock: a process that started during the restore created a store there and acknowledged its work, and
/// the restore removed that store.
#[test]
fn no_store_is_created_where_a_restore_runs() {
    let world = World::with([("in.dat", b"00000001ab".as_slice())]);
    world.run("file define A --record 10 --key 0:8").code(0);
    world.run("file load A in.dat").code(0);
    world.run("store save saved").code(0);
    let saved = world.read("saved");
    world.shell("mkfifo pipe").code(0);
    let restore = start(&world, "store restore pipe --store new");
    // The restore reads the save twice: it checks, then loads.
    std::fs::write(world.path("pipe"), &saved).expect("written");
    let begun = Instant::now();
    let wait = |what: &str| {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    };
    // A writer that opens the pipe for a moment would end a read of the restore, so the test looks at its open files instead.
    let has_open = || {
        let files = std::fs::read_dir(format!("/proc/{}/fd", restore.id())).into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file.ends_with("pipe"))
    };
    let mut absent = 0;
    while absent < 5 {
        absent = if has_open() { 0 } else { absent + 1 };
        wait("the check does not end");
    }
    // Possible as soon as the restore waits to open the save again.
    let mut options = std::fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::custom_flags(options.write(true), libc::O_NONBLOCK);
    let mut loading = loop {
        match options.open(world.path("pipe")) {
            Ok(file) => break file,
            Err(_) => wait("the restore does not load"),
        }
    };
    let refused = world.run("file define B --record 8 --key 0:6 --store new");
    let second = world.run("store restore saved --store new");
    std::io::Write::write_all(&mut loading, &saved).expect("written");
    drop(loading);
    let restored = Ran::of(restore.wait_with_output().expect("the restore ends"));
    assert!(restored.code(0).err().contains("entries restored"));
    for ran in [refused, second] {
        assert!(ran.code(2).err().contains("STO-005"), "{}", ran.err());
    }
    assert_eq!(world.run("file unload A --store new").code(0).out(), "00000001ab");
    assert_eq!(world.files(), ["data", "in.dat", "new", "pipe", "saved"]);
}

/// Two saves to one name wrote to one file, and the first to end gave it the final name.
#[test]
fn a_file_gets_one_save_at_a_time() {
    let world = World::new();
    world.run("file define A --record 10 --key 0:8").code(0);
    let other = std::fs::File::create(world.path("all.save.partial")).expect("created");
    std::io::Write::write_all(&mut &other, b"of another process").expect("written");
    other.lock().expect("locked");
    let refused = world.run("store save all.save");
    assert!(refused.code(2).err().contains("another run is writing it"), "{}", refused.err());
    assert_eq!(world.read("all.save.partial"), b"of another process");
    drop(other);
    world.run("store save all.save").code(0);
    world.run("store restore all.save --check").code(0);
    assert_eq!(world.files(), ["all.save", "data"]);
}

/// Regression: the log of a new execution continued that of an execution of the replaced store.
#[test]
fn a_new_execution_has_its_own_log_after_a_restore() {
    let world = World::new();
    for name in ["alpha", "beta"] {
        let job = format!(
            "<job id=\"{name}\" version=\"1.0\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\"><step id=\"s\"><batchlet ref=\"quayline.commandBatchlet\"><properties><property name=\"command\" value=\"true\"/></properties></batchlet></step></job>"
        );
        world.write(&format!("{name}.xml"), job);
    }
    world.run("queue define Q").code(0);
    world.run("store save before").code(0);
    world.run("job start alpha.xml").code(0);
    world.run("store restore before --replace").code(0);
    world.run("job start beta.xml").code(0);
    let log = world.run("job log 1").code(0).out();
    let old = String::from_utf8(world.read("data/job-logs/1.replaced-1.log")).expect("text");
    for log in [log, old] {
        assert_eq!(log.matches("instance/submitted").count(), 1, "{log}");
        assert_eq!(log.matches("ends COMPLETED, exit status COMPLETED").count(), 1, "{log}");
    }
}
