//! Outputs that are not regular files: pipes, links, folders, open files.
//!
//! An output is written under a temporary name and then renamed. A rename replaces the existing file, so it would destroy a pipe, a device or a
//! link.

use expect_test::expect;

use crate::edi::{examples, po};
use crate::world::World;

const VALIDATE: &str = "validate claims.x12 --guide 837p.guide --ack 999 --ack-time 202604011200";

/// Creates a world with the examples and a pipe.
fn with_pipe() -> World {
    let world = examples();
    world.shell("mkfifo pipe").code(0);
    world
}

#[test]
fn a_pipe_stays_a_pipe_and_gets_the_same_bytes() {
    let world = with_pipe();
    world.write("po.x12", po());
    for command in [
        VALIDATE,
        "convert claims.x12 --to jsonl",
        "convert claims.x12 --to parquet",
        "convert orders.edi --to json",
        "convert claims.x12 --to jsonl -j 2",
    ] {
        let output = if command == VALIDATE { "--ack-output" } else { "-o" };
        world.run(&format!("{command} {output} want")).code(0);
        let files = world.files();
        let ran = world.shell(&format!(
            "timeout 60 cat pipe > got & \"$Q\" {command} {output} pipe; code=$?; wait; test -p pipe && exit $code"
        ));
        ran.code(0);
        assert!(!ran.err().contains("partial"), "{}", ran.err());
        assert!(world.read("got") == world.read("want"), "{command}");
        let more: Vec<String> =
            world.files().into_iter().filter(|name| !files.contains(name) && name != "got").collect();
        assert!(more.is_empty(), "{command} left {more:?}");
    }
}

/// The runtime opens `/dev/null` for a descriptor that is closed at the start. So all writes succeeded, and `queue get` deleted its message. Now a
/// function before the runtime notes the state, and all writes fail.
#[test]
fn writes_to_a_standard_output_that_was_closed_fail() {
    let world = examples();
    world.run("queue define IN").code(0);
    world.run("queue put IN claims.x12").code(0);
    world.shell("\"$Q\" queue get IN >&-").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-001]: standard output cannot be written: it was closed when the command started

        hint: redirect standard output to a file, or to /dev/null to discard it
    "#]]);
    assert!(world.run("queue browse IN").code(0).out().contains("backouts 0"));
    for command in ["--help", "completions bash", "inspect claims.x12", "validate claims.x12 --guide 837p.guide --json"]
    {
        let said = world.shell(&format!("\"$Q\" {command} >&-")).code(2).err();
        assert!(
            said.contains("CLI-001") && said.contains("it was closed when the command started"),
            "{command}: {said}"
        );
    }
    for format in ["jsonl", "json", "parquet"] {
        let said = world.shell(&format!("\"$Q\" convert claims.x12 --to {format} >&-")).code(2).err();
        assert!(said.contains("not connected"), "{format}: {said}");
    }
    // Programs such as Python's `subprocess` open it for reading and writing, as the runtime does.
    for discarded in ["> /dev/null", "1<> /dev/null"] {
        world.shell(&format!("\"$Q\" queue browse IN {discarded}")).code(0);
    }
    assert_eq!(world.run("queue get IN").code(0).out().as_bytes(), world.read("claims.x12"));
}

#[test]
fn rejects_go_to_a_pipe() {
    let world = with_pipe();
    world.write("po.x12", po());
    world.run("convert po.x12 -o want.jsonl --rejects want.x12").code(1);
    world.shell("timeout 60 cat pipe > got & \"$Q\" convert po.x12 -o out.jsonl --rejects pipe; code=$?; wait; test -p pipe && exit $code").check(expect![[r#"
        exit 1
        --- stderr
        error[EDI-033]: SE01 declares 4 segments, counted 3
          at po.x12, byte 221, interchange 1, group 1, transaction 2, segment 3, element 1 (X12.5 and X12.6, control segments)

        hint: write 3, or look for what is missing or superfluous

        1 of 2 transactions rejected: pipe contains the rejected ones, pipe.findings.jsonl the reasons
    "#]]);
    assert_eq!(world.read("got"), world.read("want.x12"));
    assert_eq!(world.read("pipe.findings.jsonl"), world.read("want.x12.findings.jsonl"));
}

#[test]
fn what_is_a_pipe_cannot_be_resumed() {
    let world = with_pipe();
    world.run("convert claims.x12 --to jsonl -o pipe --checkpoint at").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: pipe is not a regular file, so a run that writes it cannot be resumed

        hint: leave --checkpoint and --resume out
    "#]]);
    world.run("convert claims.x12 -o out.jsonl --checkpoint pipe").check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-005]: a run whose checkpoint goes to a stream cannot be resumed

        hint: name a regular file for the checkpoint
    "#]]);
    world.run("convert claims.x12 -o out.jsonl --rejects pipe --checkpoint at").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: pipe is not a regular file, so a run that writes it cannot be resumed

        hint: leave --checkpoint and --resume out
    "#]]);
    world.shell("test -p pipe").code(0);
    assert!(!world.files().iter().any(|name| name.starts_with("out.jsonl") || name == "at"));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let world = with_pipe();
    world.write("many.x12", po().replace("*4*0002", "*3*0002").repeat(20_000));
    world.shell("timeout 60 head -c 10 pipe > got & \"$Q\" convert many.x12 --to jsonl -o pipe; code=$?; wait; test -p pipe && exit $code").check(
        expect![[r#"
            exit 0
        "#]],
    );
}

#[test]
fn a_link_stays_and_the_file_is_replaced() {
    let world = examples();
    world
        .shell("mkdir sub; echo old > sub/real; chmod 600 sub/real; ln -s sub/real link; ln -s sub/new dangling")
        .code(0);
    world.run(&format!("{VALIDATE} --ack-output want")).code(0);
    for (link, file) in [("link", "sub/real"), ("dangling", "sub/new")] {
        world.run(&format!("{VALIDATE} --ack-output {link}")).code(0);
        world.run(&format!("convert claims.x12 --to jsonl -o {link}.jsonl")).code(0);
        world.shell(&format!("test -L {link} && test -f {file} && ! test -L {file}")).code(0);
        assert_eq!(world.read(file), world.read("want"));
    }
    world.shell("stat -c %a sub/real; ls sub").check(expect![[r#"
        exit 0
        --- stdout
        600
        new
        real
    "#]]);
}

#[test]
fn a_link_to_the_output_is_resumed_through() {
    let world = examples();
    world.write("po.x12", po().replace("*4*0002", "*3*0002"));
    world.shell("mkdir sub; ln -s sub/out.jsonl link.jsonl; ln -s sub/at at").code(0);
    world.run("convert po.x12 -o link.jsonl --checkpoint at --resume").code(0);
    world.shell("test -L link.jsonl && test -f sub/out.jsonl; ls sub").check(expect![[r#"
        exit 0
        --- stdout
        out.jsonl
    "#]]);
}

#[test]
fn a_folder_is_refused() {
    let world = examples();
    world.shell("mkdir out").code(0);
    world.run(&format!("{VALIDATE} --ack-output out")).check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-015]: a folder cannot be written as a file
          at out

        hint: name a file in it
    "#]]);
    world.run("convert claims.x12 -o out.jsonl --checkpoint out").check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-015]: a folder cannot be written as a file
          at out

        hint: name a file in it
    "#]]);
    assert_eq!(world.files().len(), examples().files().len() + 1);
}

/// `/dev/stdout` is such a link.
#[test]
fn an_open_file_is_written_where_it_stands() {
    let world = examples();
    world.run(&format!("{VALIDATE} --ack-output want")).code(0);
    world.shell("ln -s /proc/self/fd/1 stdout").code(0);
    let ran = world.shell(&format!("\"$Q\" {VALIDATE} --ack-output stdout | cat"));
    assert_eq!(ran.stdout, world.read("want"));
    world
        .shell(&format!(
            "echo before > got; \"$Q\" {VALIDATE} --ack-output stdout >> got; echo behind >> got; test -L stdout"
        ))
        .code(0);
    assert_eq!(world.read("got"), [b"before\n".as_slice(), &world.read("want"), b"behind\n"].concat());
}

#[test]
fn small_files_go_to_pipes_and_through_links_too() {
    let world = with_pipe();
    world.write("a.cpy", "       01 REC.\n          05 A PIC X(4).\n");
    world.run("service new a.cpy -o want.toml").code(0);
    world.shell("timeout 60 cat pipe > got & \"$Q\" service new a.cpy -o pipe > table; wait; test -p pipe").code(0);
    assert_eq!(world.read("got"), world.read("want.toml"));
    world.shell("ln -s sub.toml link.toml; \"$Q\" service new a.cpy -o link.toml > table; test -L link.toml").code(0);
    assert_eq!(world.read("sub.toml"), world.read("want.toml"));
}
