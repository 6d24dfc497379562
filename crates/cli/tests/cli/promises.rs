//! Sentences of the help texts that no other test held: `crates/tidy/tests/tidy/promises.txt` has the table.

use crate::world::World;

/// Twice the same command with one output: the second is refused, and the file stays as it is.
#[test]
fn proposals_overwrite_no_file() {
    let shape = b"in\n  id text(5)\n";
    let world = World::with([
        ("in.shape", &shape[..]),
        ("a.json", b"{\"id\":\"A\"}\n"),
        ("a.cpy", b"       01 R.\n          05 A PIC X.\n"),
    ]);
    for (command, output) in [
        ("map new --from in.shape --to in.shape -o", "new.qmap"),
        ("infer a.json -o", "new.shape"),
        ("service new a.cpy -o", "new.toml"),
    ] {
        world.run(&format!("{command} {output}")).code(0);
        world.write(output, "of the user");
        let told = world.run(&format!("{command} {output}")).code(2).err();
        assert!(told.contains(output), "{command}: {told}");
        assert_eq!(world.read(output), b"of the user", "{command}");
        // `-` was a file of this name.
        let to_stdout = command.trim_end_matches(" -o");
        let printed = world.run(to_stdout).code(0).out();
        assert!(!printed.is_empty(), "{command}");
        assert_eq!(world.run(&format!("{command} -")).code(0).out(), printed, "{command}");
        assert!(!world.files().contains(&"-".to_owned()), "{command}");
    }
    assert!(!world.files().iter().any(|name| name.ends_with(".partial")), "{:?}", world.files());
}

/// A shorter record, and an index whose keys repeat.
#[test]
fn an_alteration_that_does_not_fit_changes_nothing() {
    let world = World::with([("in", b"0001red  0002red  0003blue " as &[u8])]);
    world.run("file define CUST --record 9 --key 0:4").code(0);
    world.run("file load CUST in").code(0);
    // Facts count reads; their first line has keys and lengths.
    let facts = || world.run("file facts CUST").code(0).out().lines().next().map(str::to_owned);
    let seen = || (facts(), world.run("file unload CUST").code(0).stdout.clone());
    let before = seen();
    assert_eq!(before.1, b"0001red  0002red  0003blue ");
    for change in ["--record 8", "--add-index colour=4:5"] {
        let ran = world.run(&format!("file alter CUST {change}"));
        assert_ne!(ran.code, Some(0), "{change}");
        assert!(ran.err().contains("error[STO-"), "{change}: {}", ran.err());
        assert!(change.starts_with("--record") || ran.err().contains("NAME=OFFSET:LENGTH:duplicates"), "{}", ran.err());
        assert_eq!(seen(), before, "{change}");
    }
    world.run("file alter CUST --add-index colour=4:5:duplicates").code(0);
}

#[test]
fn a_job_ends_with_the_exit_code_of_its_status() {
    let job = |file: &str| {
        format!(
            "<job id=\"copy\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"copy\"><chunk><reader ref=\"quayline.fileReader\"><properties><property name=\"file\" value=\"{file}\"/></properties></reader><writer ref=\"quayline.fileWriter\"><properties><property name=\"file\" value=\"out.txt\"/></properties></writer></chunk></step></job>"
        )
    };
    let world = World::with([("in.txt", b"a\nb\n" as &[u8])]);
    world.write("good.xml", job("in.txt")).write("bad.xml", job("missing.txt"));
    assert!(world.run("job start good.xml").code(0).err().contains("COMPLETED"));
    let failed = world.run("job start bad.xml");
    assert!((failed.out() + &failed.err()).contains("FAILED"), "{}", failed.err());
    failed.code(1);
}
