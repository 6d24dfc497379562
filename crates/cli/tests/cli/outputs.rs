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

/// Two outputs of one source: JSON lines, and CSV whose rows with one key are one document.
fn two_outputs(documents: impl Iterator<Item = String>) -> World {
    let world = World::new();
    world.write("in.jsonl", documents.collect::<String>());
    world.write("order.shape", "order\n  order text(8)\n  sku text(40)\n");
    let field = |name: &str, more: &str| format!("[[field]]\nname = \"{name}\"\n{more}");
    let columns = field("order", "") + &field("sku", "list = \"lines\"\n");
    world.write("rows.toml", format!("layout = \"csv\"\ngroup-by = [\"order\"]\n{columns}"));
    world.write(
        "m.qmap",
        "source \"order.shape\"\ntarget a \"order.shape\"\ntarget b \"rows.toml\"\n\n\
         make a {\n  order = order\n  sku = sku\n}\nmake b {\n  order = order\n  make lines {\n    sku = sku\n  }\n}\n",
    );
    world
}

/// Regression: if the second output refused a document with the key of the last document of the block before, the checkpoint counted the bytes of the
/// first output, but not its records. The resumed run wrote these documents twice and ended with exit code 0.
#[test]
fn a_lot_that_one_output_refuses_is_not_in_the_checkpoint() {
    // 4,096 documents of 64 bytes are one block.
    let world = two_outputs((0..20_000).map(|n| {
        let key = if n == 12_288 { 12_287 } else { n };
        format!("{{\"order\":\"{key:05}\",\"sku\":\"{n:<37}\"}}\n")
    }));
    assert_eq!(world.read("in.jsonl").len(), 20_000 * 64);
    for (jobs, every) in [(1, "256M"), (3, "1")] {
        let line =
            format!("translate -m m.qmap in.jsonl -o a=a.jsonl -o b=b.csv --checkpoint-every {every} --jobs {jobs}");
        for resume in ["", " --resume", " --resume"] {
            let ran = world.run(&format!("{line}{resume}"));
            assert!(ran.code(2).err().contains("error[FLAT-028]"), "{}", ran.err());
            let text = String::from_utf8(world.read("a.jsonl.partial")).expect("UTF-8");
            let lines: Vec<&str> = text.lines().collect();
            let mut once = lines.clone();
            once.dedup();
            assert!(lines.len() >= 12_288 && lines == once, "{} lines, {} once", lines.len(), once.len());
        }
        assert!(!world.path("a.jsonl").exists() && !world.path("b.csv").exists());
    }
}

/// Regression: each document of the second target replaced one of the first, or a document replaced the input.
#[test]
fn documents_of_a_split_replace_no_file_and_no_other_document() {
    let world = World::new();
    world.write("in.jsonl", "{\"n\":\"1\"}\n{\"n\":\"2\"}\n").write("one.shape", "one\n  n text(4)\n");
    world.write(
        "two.qmap",
        "source \"one.shape\"\ntarget a \"one.shape\"\ntarget b \"one.shape\"\nmake a {\n  n = n\n}\nmake b {\n  n = n\n}\n",
    );
    world.write("one.qmap", "source \"one.shape\"\ntarget a \"one.shape\"\nmake a {\n  n = n\n}\n");
    world.shell("mkdir out; ln -s out link").code(0);
    world.run("translate -m two.qmap in.jsonl --split a=out --split b=link/.").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: documents of two targets would have the same names in link/.

        hint: name a folder for each target
    "#]]);
    assert!(!world.files().iter().any(|name| name.starts_with("out/")), "{:?}", world.files());
    world.run("translate -m two.qmap in.jsonl --split a=out --split b=link --to b=xml").code(0);
    world.shell("rm out/*; cp in.jsonl out/000001.json; cp in.jsonl out/1.json").code(0);
    world.run("translate -m one.qmap out/000001.json --split out").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: out/000001.json has the name of a document of --split

        hint: use an empty folder for the documents
    "#]]);
    assert_eq!(world.read("out/000001.json"), world.read("in.jsonl"));
    world.shell("rm out/000001.json; cp one.qmap out/123456-map.json").code(0);
    world.write("out/one.shape", world.read("one.shape"));
    for (what, line) in [
        ("map", "-m out/123456-map.json in.jsonl"),
        ("rejects", "-m one.qmap in.jsonl --rejects out/000001.json"),
        ("trace", "-m one.qmap in.jsonl --trace out/000001.json"),
        ("profile", "-m one.qmap in.jsonl --profile out/000001.json"),
    ] {
        let ran = world.run(&format!("translate {line} --split link"));
        assert!(ran.code(2).err().contains("has the name of a document of --split"), "{what}: {}", ran.err());
    }
    world.run("translate -m one.qmap out/1.json --split out").code(0);
}

#[test]
fn transactions_of_a_split_do_not_replace_their_input() {
    let world = examples();
    world.shell("mkdir parts; cp orders.edi parts/000001-ORDERS-1.edi; cp orders.guide parts/000002.edi").code(0);
    for line in [
        "convert parts/000001-ORDERS-1.edi --split parts --to edi",
        "convert orders.edi --guide parts/000002.edi --split parts --to edi",
        "convert orders.edi --rejects parts/000009.edi --split parts/ --to edi",
    ] {
        let ran = world.run(line);
        assert!(ran.code(2).err().contains("has the name of a document of --split"), "{}", ran.err());
    }
    assert_eq!(world.read("parts/000001-ORDERS-1.edi"), world.read("orders.edi"));
    assert_eq!(world.read("parts/000002.edi"), world.read("orders.guide"));
    world.run("convert parts/000001-ORDERS-1.edi --split parts").code(0);
}
