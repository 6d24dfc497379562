//! Arguments: help, typos, odd values.

use expect_test::expect;
use proptest::prelude::*;

use crate::world::World;

#[test]
fn nothing_at_all_is_answered_with_help() {
    World::new().run("").check(expect![[r#"
        exit 2
        --- stderr
        Moves business records between COBOL files, EDI and JSON, CSV, XML, Parquet and Arrow

        Usage: quayline [OPTIONS] <COMMAND>

        Commands:
          inspect      Shows what a copybook, an EDI file or a data file is
          convert      Converts record files and EDI to JSON, CSV, XML, Parquet or Arrow, and back
          translate    Translates documents by a map
          serve        Serves a project's APIs over HTTP
          service      Proposes the service of a copybook
          measure      Measures what transactions cost on this machine
          validate     Checks X12 and EDIFACT interchanges, and acknowledges them
          guide        Imports, checks and shows guides: what EDI transaction sets and messages may hold
          infer        Guesses a shape from samples of JSON, XML, CSV or EDI
          map          Proposes, checks, tests and formats maps
          completions  Prints the completion script of a shell

        Options:
              --color <WHEN>  When to colour: auto, always or never [default: auto]
              --no-cache      Compile guides and maps anew, and keep nothing
          -h, --help          Print help (see more with '--help')
          -V, --version       Print version

        Run a command with --help for everything about it, with examples.
    "#]]);
}

#[test]
fn version_goes_to_standard_output() {
    World::new().run("--version").check(expect![[r#"
        exit 0
        --- stdout
        quayline 0.1.0
    "#]]);
}

#[test]
fn short_help_is_a_line_an_option() {
    World::new().run("-h").check(expect![[r#"
        exit 0
        --- stdout
        Moves business records between COBOL files, EDI and JSON, CSV, XML, Parquet and Arrow

        Usage: quayline [OPTIONS] <COMMAND>

        Commands:
          inspect      Shows what a copybook, an EDI file or a data file is
          convert      Converts record files and EDI to JSON, CSV, XML, Parquet or Arrow, and back
          translate    Translates documents by a map
          serve        Serves a project's APIs over HTTP
          service      Proposes the service of a copybook
          measure      Measures what transactions cost on this machine
          validate     Checks X12 and EDIFACT interchanges, and acknowledges them
          guide        Imports, checks and shows guides: what EDI transaction sets and messages may hold
          infer        Guesses a shape from samples of JSON, XML, CSV or EDI
          map          Proposes, checks, tests and formats maps
          completions  Prints the completion script of a shell

        Options:
              --color <WHEN>  When to colour: auto, always or never [default: auto]
              --no-cache      Compile guides and maps anew, and keep nothing
          -h, --help          Print help (see more with '--help')
          -V, --version       Print version

        Run a command with --help for everything about it, with examples.
    "#]]);
    World::new().run("inspect -h").check(expect![[r#"
        exit 0
        --- stdout
        Shows what a copybook, an EDI file or a data file is

        Usage: quayline inspect [OPTIONS] <FILE>

        Arguments:
          <FILE>  Copybook, COBOL program, EDI file or data file; `-` is standard input

        Options:
              --copybook <FILE>       Copybook to hold a data file against
              --encoding <PAGE>       Code page to hold the data file against, instead of the proposed ones
              --framing <FRAMING>     Framing to hold the data file against, instead of the proposed ones
              --as <WHAT>             What the file is, if content leaves doubt: copybook, edi or data
              --record <NAME>         Record description to use, where the copybook has several
              --dialect <NAME>        Compiler to follow: ibm, gnucobol or microfocus [default: ibm]
              --set <SETTING=VALUE>   Change one dialect setting, such as sync=8
              --replacing <TEXT=BY>   Text of the copybook to replace, as COPY REPLACING does: :TAG:=CUST
          -I, --include <DIR>         Folder to look for COPY members in, after the copybook's own
              --source-format <FORM>  Columns of the copybook: auto, fixed or free [default: auto]
              --limit <NAME=N>        Bound to change: NAME=N, such as segment-bytes=4M
              --json                  Answer as one JSON object; its schema is in docs/reference/json.md
              --color <WHEN>          When to colour: auto, always or never [default: auto]
              --no-cache              Compile guides and maps anew, and keep nothing
          -h, --help                  Print help (see more with '--help')
    "#]]);
    World::new().run("convert -h").check(expect![[r#"
        exit 0
        --- stdout
        Converts record files and EDI to JSON, CSV, XML, Parquet or Arrow, and back

        Usage: quayline convert [OPTIONS] <INPUT>...

        Arguments:
          <INPUT>...  Files to convert; `-` is standard input

        Options:
              --color <WHEN>  When to colour: auto, always or never [default: auto]
              --no-cache      Compile guides and maps anew, and keep nothing
          -h, --help          Print help (see more with '--help')

        Formats:
          -o, --output <FILE>      File to write; `-` or nothing is standard output
              --split <DIR>        Folder for one file a document, of JSON, XML or EDI
              --from <FORMAT>      Format to read, where content leaves doubt: record, edi, json, csv or xml
              --to <FORMAT>        Format to write: jsonl, json, csv, xml, parquet, arrow, edi or record
              --delimiter <CHAR>   Separator of CSV cells, or `tab`; for .tsv it is a tab [default: ,]
              --no-header          CSV without a first row that names the columns
              --xml-root <NAME>    XML element around all records [default: records]
              --xml-record <NAME>  XML element of one record [default: record]

        EDI:
          -g, --guide <PATH>          Guide for the documents of transactions; or a folder of guides
          -l, --level <LEVEL>         How much to check by guide: envelope, guide, notes or rules
              --output-level <LEVEL>  Level to check written EDI at: none, envelope, guide, notes or rules
              --names <WHICH>         Members by guide: reference (NM103) or name
              --rows                  One document a segment instead of one a transaction
              --page <SIZE>           Bytes from which a transaction is converted in pages [default: 512K]
              --strict                Treat departures from the standards as errors, read or written

        Records:
          -c, --copybook <FILE>       Copybook that describes the records
          -e, --encoding <PAGE>       Code page of records such as cp037, or of EDI that names none
          -f, --framing <FRAMING>     How records stand in the file: fixed, rdw, vb, vbs, lines, layout, ...
              --to-encoding <PAGE>    Code page of the records to write, where it is another
              --to-framing <FRAMING>  How records stand in the file to write, where it is another way
          -i, --interface <FILE>      Interface file that selects, renames and gives defaults
              --record <NAME>         Record description to use, where the copybook has several
              --dialect <NAME>        Compiler to follow: ibm, gnucobol or microfocus [default: ibm]
              --set <SETTING=VALUE>   Change one dialect setting, such as sync=8
              --replacing <TEXT=BY>   Text of the copybook to replace, as COPY REPLACING does: :TAG:=CUST
          -I, --include <DIR>         Folder to look for COPY members in, after the copybook's own
              --source-format <FORM>  Columns of the copybook: auto, fixed or free [default: auto]
              --limit <NAME=N>        Bound to change: NAME=N, such as segment-bytes=4M

        Values:
              --invalid <POLICY>     Bytes that are no value of their field: error, null or raw
              --blank <POLICY>       Numeric fields that hold only spaces: error, null or raw
              --low-values <POLICY>  Numeric fields that hold only binary zeros: error, null or raw
              --trim <WHICH>         Blanks to cut from text: padding, both or keep
              --short <POLICY>       Records shorter than the layout: error, pad or null
              --long <POLICY>        Records longer than the layout: error or accept
              --absent <POLICY>      Members missing in a document: value, initialize, low-values or error
              --null <POLICY>        Null in a document: error, spaces, zeros, low-values or value
              --unknown <POLICY>     Members that the records do not have: error or ignore
              --preserve             Keep what a canonical record would lose, for byte-identical round trips

        Names and numbers:
              --numbers <HOW>      Numbers that JSON readers may corrupt: exact, safe or string
              --key-style <STYLE>  Keys: cobol, underscore, snake, kebab, camel or pascal
              --fillers <WHAT>     FILLER items: drop or keep
              --redefines <WHICH>  Views of redefined storage to show: all or original

        Running:
          -j, --jobs <N>           Threads that convert [default: 1]
              --rejects <FILE>     File for records that do not convert, whole and unchanged
              --max-rejects <N>    Rejected records after which the run stops
              --checkpoint <FILE>  File that holds the state to resume from
              --resume             Go on from the checkpoint of a stopped run
              --stats              Print what was done and what it cost
              --no-progress        No progress bar
              --show-data          Show the content of fields in messages
              --json               Findings and statistics as JSON, one object a line on standard error
    "#]]);
    World::new().run("completions -h").check(expect![[r#"
        exit 0
        --- stdout
        Prints the completion script of a shell

        Usage: quayline completions [OPTIONS] <SHELL>

        Arguments:
          <SHELL>  bash, elvish, fish, powershell or zsh

        Options:
              --color <WHEN>  When to colour: auto, always or never [default: auto]
              --no-cache      Compile guides and maps anew, and keep nothing
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

        hint: make room, or send the output elsewhere with `-o`
    "#]]);
    World::new().shell("\"$Q\" --help > /dev/full").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-001]: standard output cannot be written: no space left on device

        hint: make room, or send the output elsewhere with `-o`
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

    /// Whatever stands on the command line: one of the exit codes, and never ours to blame.
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
