//! Arguments: help, typos, odd values.

use expect_test::expect;
use proptest::prelude::*;

use crate::world::World;

/// `quayline help` was not a command, and `envelope release` named only one of the three things that it accepts.
#[test]
fn help_is_a_command_and_an_error_names_every_choice() {
    let world = World::new();
    let help = world.run("help");
    assert!(help.code(0).out().contains("\nStore:\n  file "), "{}", help.out());
    let help = world.run("help file put");
    assert!(help.code(0).out().contains("Usage: quayline file put"), "{}", help.out());
    assert!(help.out().contains("Examples:\n  quayline file put"), "{}", help.out());
    world.run("help nothing").code(2);
    world.run("file help").code(2);
    let missing = world.run("envelope release");
    assert!(missing.code(2).err().contains("<PARTNER|--all|--due>"), "{}", missing.err());
}

/// "invalid digit found in string" and "expected u32" are words of Rust.
#[test]
fn a_wrong_number_is_answered_with_what_is_expected() {
    let world = World::new();
    let max = u64::MAX.to_string() + "0";
    for (arguments, expected) in [
        (
            "partner receive x --commit-interval abc",
            "invalid value 'abc' for '--commit-interval <COUNT>': expected a whole number from 1 to 10,000\n",
        ),
        (
            "partner receive x --commit-interval=0",
            "invalid value '0' for '--commit-interval <COUNT>': expected a whole number from 1 to 10,000\n",
        ),
        ("transaction list -n 5x", "invalid value '5x' for '--count <COUNT>': expected a whole number from 0\n"),
        ("transaction show one", "invalid value 'one' for '<ENTRY>': expected a whole number from 0\n"),
        (&format!("transaction show {max}"), "expected a whole number from 0\n"),
        ("validate x --jobs many", "invalid value 'many' for '--jobs <N>': expected a whole number from 1 to 256\n"),
        ("validate x --ack auto --ack-control ''", "expected a whole number from 1 to 999,999,999\n"),
        ("queue define Q --backout-threshold x", "expected a whole number from 0 to 4,294,967,295\n"),
    ] {
        let ran = world.run(arguments);
        let err = ran.code(2).err();
        assert!(err.contains(expected), "{arguments}: {err}");
        for word in ["digit found", "target type", "from empty string", " is not in "] {
            assert!(!err.contains(word), "{arguments}: {err}");
        }
    }
    world.write("i.toml", "[records]\nby = \"A\"\nskip-first = \"one\"\n");
    world.write("r.cpy", "       01 R.\n          05 A PIC X.\n");
    world.write("r.dat", "A");
    let err = world.run("convert r.dat -c r.cpy -i i.toml -e ascii").code(2).err();
    assert!(err.contains("expected a whole number from 0"), "{err}");
}

/// Options without an effect in a run were ignored, such as `--null` where nothing is written that could be null.
#[test]
fn options_without_an_effect_are_refused() {
    let world = World::new();
    world.write("r.cpy", "       01 R.\n          05 A PIC X.\n          05 N PIC 9.\n");
    world.write("r.dat", "A1");
    world.write("r.json", "{\"A\":\"A\",\"N\":1}\n");
    world.write("r.csv", "A,N\nA,1\n");
    world.write("o.x12", crate::edi::po());
    let read = "convert r.dat -c r.cpy -e ascii --to jsonl";
    let written = "convert r.json -c r.cpy -e ascii --to record --from json";
    for (run, options) in [
        (
            read,
            &[
                "--null zeros",
                "--absent error",
                "--to-framing rdw",
                "--to-encoding cp037",
                "--delimiter ;",
                "--no-header",
                "--xml-root r",
                "--xml-record r",
                "--rows",
                "--output-level guide",
                "--strict",
                "--page 1M",
                "--store other",
                "--durability buffered",
                "--parent-number P",
            ][..],
        ),
        (
            written,
            &[
                "--strict",
                "--page 1M",
                "--store other",
                "--numbers string",
                "--short pad",
                "--long accept",
                "--skip-bytes-first 1",
                "--skip-bytes-last 1",
            ],
        ),
        ("convert r.dat -c r.cpy -e ascii -o r.parquet", &["--numbers string", "--durability sync"]),
        (
            "convert r.csv -c r.cpy --from csv --to jsonl",
            &["--absent error", "--framing rdw", "--preserve", "--invalid null", "--trim both"],
        ),
        ("convert r.dat -c r.cpy -e ascii --to jsonl", &["--unknown ignore"]),
        (
            "convert o.x12 --to jsonl",
            &[
                "--record R",
                "--dialect gnucobol",
                "--set sync=8",
                "--replacing :A:=B",
                "--include .",
                "--source-format free",
                "--null zeros",
                "--short pad",
                "--key-style snake",
                "--fillers keep",
                "--redefines all",
                "--record-number N",
                "--source-file F",
                "--output-level guide",
                "--skip-bytes-first 1",
                "--invalid null",
                "--blank null",
                "--low-values null",
                "--trim both",
                "--unknown ignore",
            ],
        ),
    ] {
        for option in options {
            let ran = world.run(&format!("{run} {option}"));
            let name = option.split(' ').next().expect("a name");
            let err = ran.code(2).err();
            assert!(
                err.contains(&format!("error[CLI-003]: {name} has no effect on this run, because it applies to "))
                    && err.contains("hint: remove the option"),
                "{run} {option}: {err}"
            );
        }
        assert!(world.run(run).code != Some(2), "{run}");
    }
    world.run(&format!("{read} --numbers string")).code(0);
    assert!(world.run("convert o.x12 --to jsonl --strict --page 1M --numbers string").code != Some(2));
    world.run(&format!("{read} --short pad --long accept --invalid null")).code(0);
    world.run(&format!("{written} --null zeros --absent value --to-framing rdw")).code(0);
    world.run("convert r.csv -c r.cpy --from csv --to jsonl --null zeros --delimiter ,").code(0);
    for (arguments, other) in [
        ("validate o.x12 --ack-control 7", "--ack <KIND>"),
        ("validate o.x12 --ack-time 202604011200", "--ack <KIND>"),
        ("partner explain o.x12 --document 850", "[FILE]"),
        ("partner explain o.x12 --when BEG02=SA", "[FILE]"),
        ("partner explain o.x12 --send", "[FILE]"),
        ("partner run --once --interval 5", "--once"),
    ] {
        let ran = world.run(arguments);
        assert!(ran.code(2).err().contains(other), "{arguments}: {}", ran.err());
    }
}

/// The guide was ignored, so invalid data became rows without a finding.
#[test]
fn a_guide_for_rows_is_refused() {
    let world = World::new();
    world.write("o.x12", crate::edi::po());
    for options in ["--rows -o o.csv", "--level rules --rows -o o.csv", "--names name --rows --to jsonl"] {
        world.run(&format!("convert o.x12 --guide builtin:850-005010 {options}")).check(expect![[r#"
            exit 2
            --- stderr
            error[CLI-003]: --guide has no effect with --rows, because no guide checks or names segments in rows

            hint: `quayline validate` checks by guide: leave out --guide, --level and --names here, or leave out --rows
        "#]]);
    }
    assert!(!world.path("o.csv").exists());
    world.run("convert o.x12 --rows -o o.csv --rejects bad.x12").code(1);
}

/// The last value of a name won, and the others were lost.
#[test]
fn a_name_with_two_values_is_refused() {
    let world = World::new();
    world
        .write("m.qmap", "map \"m\"\nsource \"s.shape\"\ntarget \"s.shape\"\na = a\n")
        .write("s.shape", "s\n  a text(3)\n");
    world
        .write("in.json", "{\"a\":\"x\"}\n")
        .write("j.xml", "<job id=\"j\" version=\"1.0\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\"/>");
    world.run("queue define Q").code(0);
    for (arguments, option) in [
        ("queue put Q in.json --property a=1 --property b=2 --property a=3", "--property"),
        ("job start j.xml -p a=1 -p a=1", "--param"),
        ("translate --map m.qmap in.json --lookup a=x.csv --lookup a=y.csv", "--lookup"),
    ] {
        let told = world.run(arguments).code(2).err();
        assert!(told.contains(&format!("error[CLI-003]: {option} gives `a` two values")), "{arguments}: {told}");
    }
}

#[test]
fn nothing_at_all_is_answered_with_help() {
    World::new().run("").check(expect![[r#"
        exit 2
        --- stderr
        Convert, check and translate COBOL record files and EDI, and serve COBOL programs as REST APIs

        Usage: quayline [OPTIONS] <COMMAND>

        Data:
          inspect       Show what a copybook, an EDI file or a data file contains
          convert       Convert record files and EDI to JSON, CSV, XML, Parquet or Arrow, and back
          translate     Translate documents with a map
          validate      Check X12 and EDIFACT interchanges, and acknowledge them

        Descriptions of data:
          infer         Guess a shape from samples of JSON, XML, CSV or EDI
          guide         Import, check and show guides, which describe EDI transaction sets and messages
          map           Propose, check, test and format maps

        Projects and servers:
          new           Write a small, complete project to start from
          check         Compile everything in a project and report all faults at once
          service       Propose a service for a copybook
          api           Make a REST API of a record file
          serve         Serve a project: APIs, message flows, jobs, queues and trading partners
          flow          Check, show and run message flows
          job           Run Jakarta Batch jobs: check, start, restart, stop and list them

        Trading partners:
          partner       Receive from and send to trading partners
          transaction   Find, show and reprocess documents of trading partners
          interchange   Find and show interchanges of trading partners, and send them again
          envelope      List and release delayed envelopes

        Store:
          file          Define, load, read and change keyed, entry-sequenced and relative record files
          queue         Define queues, and put, get and list messages
          store         Check, compact, save and restore the store

        Cost and capacity:
          measure       Measure the cost of transactions on this machine
          profile       Show what transactions cost, and make a model of them for `predict`
          predict       Predict throughput and response times for a number of users
          size          Find the smallest machine for a mix of workloads
          calibrate     Rate this machine, compare profiles, and project costs to another machine
          advise        Print the rules of advice that apply to a server, a class of work, or measured values
          report        Report what the classes of work of a server did, interval by interval
          check-report  Check figures of a performance report against the laws that they must obey
          selftest      Check the capacity models against published results

        Other:
          completions   Print the completion script for a shell
          help          Print the help of a command, as in `quayline help file put`

        Options:
              --color <WHEN>  When to colour: auto, always or never [default: auto]
              --no-cache      Compile guides and maps without the cache
          -h, --help          Print help (see more with '--help')
          -V, --version       Print version

        Run a command with --help for every detail and examples.
    "#]]);
}

#[test]
fn version_goes_to_standard_output() {
    World::new().run("-V").check(expect![[r#"
        exit 0
        --- stdout
        quayline 0.1.0
    "#]]);
}

#[test]
fn the_long_version_names_commit_platform_and_features() {
    let ran = World::new().run("--version");
    let text = std::str::from_utf8(&ran.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[0], "quayline 0.1.0");
    for (line, name) in lines[1..].iter().zip(["commit", "platform", "features"]) {
        let value = line.strip_prefix(name).map(str::trim).unwrap_or_default();
        assert!(!value.is_empty(), "{line}");
    }
    assert!(lines[3].ends_with("stores: embedded, postgresql"), "{}", lines[3]);
}

#[test]
fn short_help_is_a_line_an_option() {
    World::new().run("-h").check(expect![[r#"
        exit 0
        --- stdout
        Convert, check and translate COBOL record files and EDI, and serve COBOL programs as REST APIs

        Usage: quayline [OPTIONS] <COMMAND>

        Data:
          inspect       Show what a copybook, an EDI file or a data file contains
          convert       Convert record files and EDI to JSON, CSV, XML, Parquet or Arrow, and back
          translate     Translate documents with a map
          validate      Check X12 and EDIFACT interchanges, and acknowledge them

        Descriptions of data:
          infer         Guess a shape from samples of JSON, XML, CSV or EDI
          guide         Import, check and show guides, which describe EDI transaction sets and messages
          map           Propose, check, test and format maps

        Projects and servers:
          new           Write a small, complete project to start from
          check         Compile everything in a project and report all faults at once
          service       Propose a service for a copybook
          api           Make a REST API of a record file
          serve         Serve a project: APIs, message flows, jobs, queues and trading partners
          flow          Check, show and run message flows
          job           Run Jakarta Batch jobs: check, start, restart, stop and list them

        Trading partners:
          partner       Receive from and send to trading partners
          transaction   Find, show and reprocess documents of trading partners
          interchange   Find and show interchanges of trading partners, and send them again
          envelope      List and release delayed envelopes

        Store:
          file          Define, load, read and change keyed, entry-sequenced and relative record files
          queue         Define queues, and put, get and list messages
          store         Check, compact, save and restore the store

        Cost and capacity:
          measure       Measure the cost of transactions on this machine
          profile       Show what transactions cost, and make a model of them for `predict`
          predict       Predict throughput and response times for a number of users
          size          Find the smallest machine for a mix of workloads
          calibrate     Rate this machine, compare profiles, and project costs to another machine
          advise        Print the rules of advice that apply to a server, a class of work, or measured values
          report        Report what the classes of work of a server did, interval by interval
          check-report  Check figures of a performance report against the laws that they must obey
          selftest      Check the capacity models against published results

        Other:
          completions   Print the completion script for a shell
          help          Print the help of a command, as in `quayline help file put`

        Options:
              --color <WHEN>  When to colour: auto, always or never [default: auto]
              --no-cache      Compile guides and maps without the cache
          -h, --help          Print help (see more with '--help')
          -V, --version       Print version

        Run a command with --help for every detail and examples.
    "#]]);
    World::new().run("inspect -h").check(expect![[r#"
        exit 0
        --- stdout
        Show what a copybook, an EDI file or a data file contains

        Usage: quayline inspect [OPTIONS] <FILE>

        Arguments:
          <FILE>  Copybook, COBOL program, EDI file or data file; `-` is standard input

        Options:
              --copybook <FILE>       Copybook to test on a data file
              --encoding <PAGE>       Code page to test instead of the proposed ones
              --framing <FRAMING>     Framing to test instead of the proposed ones
              --as <WHAT>             Kind of file, if the content is ambiguous: copybook, edi or data
              --record <NAME>         Record description to use, if the copybook has several
              --dialect <NAME>        Compiler to follow: ibm, gnucobol or microfocus [default: ibm]
              --set <SETTING=VALUE>   Change one dialect setting, such as sync=8
              --replacing <TEXT=BY>   Replace text of the copybook, as COPY REPLACING does: :TAG:=CUST
          -I, --include <DIR>         Folder for COPY members, searched after the copybook's own
              --source-format <FORM>  Columns of the copybook: auto, fixed or free [default: auto]
              --limit <NAME=N>        Change a limit: NAME=N, such as segment-bytes=4M
              --json                  Print one JSON object; docs/reference/json.md describes it
              --color <WHEN>          When to colour: auto, always or never [default: auto]
              --no-cache              Compile guides and maps without the cache
          -h, --help                  Print help (see more with '--help')
    "#]]);
    World::new().run("convert -h").check(expect![[r#"
        exit 0
        --- stdout
        Convert record files and EDI to JSON, CSV, XML, Parquet or Arrow, and back

        Usage: quayline convert [OPTIONS] <INPUT>...

        Arguments:
          <INPUT>...  Files to convert; `-` is standard input

        Options:
              --color <WHEN>  When to colour: auto, always or never [default: auto]
              --no-cache      Compile guides and maps without the cache
          -h, --help          Print help (see more with '--help')

        Formats:
          -o, --output <FILE>      File to write; `-` or nothing is standard output
              --split <DIR>        Write one JSON, XML or EDI file for each document to this folder
              --from <FORMAT>      Format to read, if unclear: record, edi, json, csv, xml, parquet or arrow
              --to <FORMAT>        Format to write: jsonl, json, csv, xml, parquet, arrow, edi or record
              --compress <HOW>     Compress the output: gzip, zstd or none
              --decompress <WHEN>  Decompress the input: auto or none
              --delimiter <CHAR>   Separator of CSV cells, or `tab` [default: comma, or tab for .tsv]
              --no-header          Read or write CSV without a header row
              --xml-root <NAME>    XML element around all records [default: records]
              --xml-record <NAME>  XML element of one record [default: record]

        EDI:
          -g, --guide <PATH>          Guide for transactions, or a folder of guides
          -l, --level <LEVEL>         How much to check by guide: envelope, guide, notes or rules
              --output-level <LEVEL>  Level to check written EDI at: none, envelope, guide, notes or rules
              --names <WHICH>         Names of members by guide: reference (NM103) or name
              --rows                  Make one document for each segment instead of each transaction
              --page <SIZE>           Size above which a transaction is converted in pages [default: 512K]
              --strict                Treat departures from the standards as errors, read or written

        Records:
          -c, --copybook <FILE>       Copybook that describes the records
              --skip-bytes-first <N>  Bytes before the first record that are not a record, at most 16777216
              --skip-bytes-last <N>   Bytes after the last record that are not a record, at most 65536
              --by-type               Write one file for each record type to the folder --output
          -e, --encoding <PAGE>       Code page of records, such as cp037, or of EDI that names no set
          -f, --framing <FRAMING>     Framing of the records: fixed, rdw, vb, vbs, lines, layout, ...
              --to-encoding <PAGE>    Code page of the output records, if different
              --to-framing <FRAMING>  Framing of the output records, if different
          -i, --interface <FILE>      Interface file that selects and renames fields and sets defaults
              --store <DIR>           Data folder of the store, or address of its database [default: data]
              --durability <WHEN>     When a unit of work counts as done: sync or buffered [default: sync]
              --record <NAME>         Record description to use, if the copybook has several
              --dialect <NAME>        Compiler to follow: ibm, gnucobol or microfocus [default: ibm]
              --set <SETTING=VALUE>   Change one dialect setting, such as sync=8
              --replacing <TEXT=BY>   Replace text of the copybook, as COPY REPLACING does: :TAG:=CUST
          -I, --include <DIR>         Folder for COPY members, searched after the copybook's own
              --source-format <FORM>  Columns of the copybook: auto, fixed or free [default: auto]
              --limit <NAME=N>        Change a limit: NAME=N, such as segment-bytes=4M

        Values:
              --invalid <POLICY>     Bytes that are not a value of their field: error, null or raw
              --blank <POLICY>       Numeric fields that hold only spaces: error, null or raw
              --low-values <POLICY>  Numeric fields that hold only binary zeros: error, null or raw
              --trim <WHICH>         Blanks to cut from text: padding, both, keep or nul
              --short <POLICY>       Records shorter than the layout: error, pad or null
              --long <POLICY>        Records longer than the layout: error or accept
              --absent <POLICY>      Members missing in a document: value, initialize, low-values or error
              --null <POLICY>        Null in a document: error, spaces, zeros, low-values or value
              --unknown <POLICY>     Members that the records do not have: error or ignore
              --preserve             Preserve non-canonical bytes for byte-identical round trips

        Names and numbers:
              --numbers <HOW>         Numbers that JSON readers may corrupt: exact, safe or string
              --key-style <STYLE>     Keys: cobol, underscore, snake, kebab, camel or pascal
              --fillers <WHAT>        FILLER items: drop or keep
              --redefines <WHICH>     Views of redefined storage to show: all or original
              --record-number <NAME>  Add a member with the number of each record
              --parent-number <NAME>  Add a member with the number of the parent record
              --source-file <NAME>    Add a member with the name of the input

        Running:
          -j, --jobs <N>           Number of threads [default: 1]
              --rejects <FILE>     File for records that do not convert, whole and unchanged
              --max-rejects <N>    Stop after N rejected records
              --checkpoint <FILE>  File that holds the state to resume from
              --resume             Continue from the checkpoint of a stopped run
              --stats              Print statistics: records, bytes, time and memory
              --profile <FILE>     Write the cost of a record by phase, for `quayline profile`
              --no-progress        Show no progress bar
              --show-data          Show the content of fields in messages
              --json               Print findings and statistics as JSON lines on standard error
    "#]]);
    World::new().run("completions -h").check(expect![[r#"
        exit 0
        --- stdout
        Print the completion script for a shell

        Usage: quayline completions [OPTIONS] <SHELL>

        Arguments:
          <SHELL>  bash, elvish, fish, powershell or zsh

        Options:
              --color <WHEN>  When to colour: auto, always or never [default: auto]
              --no-cache      Compile guides and maps without the cache
          -h, --help          Print help (see more with '--help')
    "#]]);
}

#[test]
fn typos_get_a_suggestion() {
    let world = World::new();
    world.run("convrt a.dat").check(expect![[r#"
        exit 2
        --- stderr
        error: unrecognized subcommand 'convrt'

          tip: a similar subcommand exists: 'convert'

        Usage: quayline [OPTIONS] <COMMAND>

        For more information, try '--help'.
    "#]]);
    world.run("convert a.dat --enconding cp037").check(expect![[r#"
        exit 2
        --- stderr
        error: unexpected argument '--enconding' found

          tip: a similar argument exists: '--encoding'

        Usage: quayline convert --encoding <PAGE> <INPUT>...

        For more information, try '--help'.
    "#]]);
    world.run("convert a.dat --to jsonlines").check(expect![[r#"
        exit 2
        --- stderr
        error: invalid value 'jsonlines' for '--to <FORMAT>'
          [possible values: jsonl, json, csv, xml, parquet, arrow, arrow-stream, record, edi]

          tip: a similar value exists: 'jsonl'

        For more information, try '--help'.
    "#]]);
}

#[test]
fn completions_are_made_for_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = World::new().run(&format!("completions {shell}"));
        ran.code(0);
        assert!(ran.out().contains("quayline"), "{shell}");
        assert!(ran.out().contains("inspect"), "{shell}");
        assert!(ran.stderr.is_empty(), "{shell}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_said() {
    World::new().shell("\"$Q\" completions bash > /dev/full").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-001]: standard output cannot be written: no space left on device

        hint: make room, or redirect standard output elsewhere
    "#]]);
    World::new().shell("\"$Q\" --help > /dev/full").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-001]: standard output cannot be written: no space left on device

        hint: make room, or redirect standard output elsewhere
    "#]]);
}

#[test]
fn a_closed_pipe_is_quiet() {
    World::new().shell("\"$Q\" completions bash | head -c 1; \"$Q\" --help | true").check(expect![[r#"
        exit 0
        --- stdout
        _<no newline>
    "#]]);
}

#[test]
fn a_closed_standard_error_changes_no_exit_code() {
    World::new().shell("\"$Q\" convrt 2>&-").code(2);
    World::new().shell("\"$Q\" inspect nothing.cpy 2>&-").code(2);
}

const WORDS: [&str; 46] = [
    "inspect",
    "convert",
    "completions",
    "bash",
    "a.cpy",
    "a.dat",
    "a.json",
    "missing",
    "-",
    "",
    "--",
    "\u{1b}[31m",
    "ü\n",
    "-o",
    "out.jsonl",
    "out.dat",
    "out.parquet",
    "/dev/null",
    "/",
    ".",
    "--copybook",
    "--encoding",
    "cp037",
    "utf-8",
    "nope",
    "--framing",
    "fixed:0",
    "rdw:le,adjust=-99999999999999999999",
    "lines",
    "length:size=99",
    "--to",
    "record",
    "csv",
    "--from",
    "--record",
    "--set",
    "sync=8",
    "sync",
    "--dialect=gnucobol",
    "-j",
    "99999999999999999999",
    "--resume",
    "--stats",
    "--json",
    "-h",
    "--rejects=out.bad",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any command line ends with one of the exit codes, and never with an internal error.
    #[test]
    fn odd_arguments_never_panic(words in proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..9)) {
        let world = World::with([
            ("a.cpy", &b"       01 R.\n          05 A PIC X(2).\n          05 N PIC 9(3) COMP-3.\n"[..]),
            ("a.dat", &b"\xc1\xc2\x12\x3c\xc3\xc4\x00\x0c"[..]),
            ("a.json", &b"{\"A\":\"AB\",\"N\":1}\n"[..]),
        ]);
        let ran = world.command(&words).stdin(std::process::Stdio::null()).output().expect("the command runs");
        let stderr = ran.stderr.escape_ascii().to_string();
        prop_assert!(matches!(ran.status.code(), Some(0..=3)), "{words:?} gave {:?}\n{stderr}", ran.status.code());
        prop_assert!(ran.status.code() == Some(0) || !ran.stderr.is_empty(), "{words:?} says nothing");
        prop_assert!(!stderr.contains("\\x1b"), "{words:?} writes an escape to the terminal");
    }
}
