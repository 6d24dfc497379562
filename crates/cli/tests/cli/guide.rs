//! `quayline guide`.

use expect_test::expect;

use crate::world::World;

/// A message described by its user.
pub(crate) const MESSAGE: &str = r#"{
  "name": "ORDERS-MINE", "title": "Orders as we take them", "standard": "EDIFACT", "version": "D:96A:UN", "transaction": "ORDERS",
  "elements": { "1001": { "name": "Document", "type": "an", "min": 1, "max": 3, "codes": "1001" },
                "1004": { "name": "Number", "type": "an", "min": 1, "max": 35 },
                "3035": { "name": "Party", "type": "an", "min": 1, "max": 3 } },
  "composites": { "C002": { "components": [ { "element": "1001", "requirement": "mandatory" } ] } },
  "segments": { "BGM": { "name": "Beginning", "elements": [ { "composite": "C002" }, { "element": "1004" } ] },
                "NAD": { "elements": [ { "element": "3035", "requirement": "mandatory" } ] } },
  "codes": { "1001": { "codes": [ "220", "221" ] } },
  "structure": [
    { "segment": "BGM", "requirement": "mandatory", "changes": [ { "element": 2, "requirement": "mandatory", "name": "Our number" } ] },
    { "loop": "SG1", "max": 9, "items": [ { "segment": "NAD", "where": { "element": 1, "values": ["BY"] } } ] },
    { "loop": "SG2", "max": "*", "items": [ { "segment": "NAD", "where": { "element": 1, "values": ["SU", "DP"] } } ] }
  ]
}"#;

#[test]
fn a_description_is_imported_checked_and_shown() {
    let world = World::with([("mine.json", MESSAGE.as_bytes())]);
    world.run("guide import mine.json -o guides").check(expect![[r#"
        exit 0
        --- stdout
        1 guide written to guides
    "#]]);
    world.run("guide check guides/ORDERS-MINE.guide").check(expect![[r#"
        exit 0
        --- stdout
        guides/ORDERS-MINE.guide: 3 segments in 2 loops, every place can be distinguished from the others
    "#]]);
    world.run("guide show guides/ORDERS-MINE.guide --elements").check(expect![[r#"
        exit 0
        --- stdout
        ORDERS-MINE  Orders as we take them
        EDIFACT D:96A:UN, message ORDERS

        BGM               M      1  Beginning
          BGM01           O      1    C002
            BGM01-1       M      1  Document  1001 an 1..3  220 221
          BGM02           M      1  Our number  1004 an 1..35
        SG1               O      9
          NAD 01 = BY     O      1
            NAD01         M      1  Party  3035 an 1..3
        SG2               O      *
          NAD 01 = SU|DP  O      1
            NAD01         M      1  Party  3035 an 1..3
    "#]]);
    // The output of `show --json` can be imported again.
    let shown = world.run("guide show guides/ORDERS-MINE.guide --json").code(0).stdout.clone();
    world.write("again.json", &shown).run("guide import again.json -o again --json").check(expect![[r#"
        exit 0
        --- stdout
        {
          "schema": "quayline.guide-import/1",
          "guides": [
            {
              "file": "again/ORDERS-MINE.guide",
              "guide": "ORDERS-MINE",
              "title": "Orders as we take them"
            }
          ]
        }
    "#]]);
    assert_eq!(
        std::fs::read(world.path("guides/ORDERS-MINE.guide")).expect("written"),
        std::fs::read(world.path("again/ORDERS-MINE.guide")).expect("written")
    );
}

#[test]
fn places_that_cannot_be_told_apart_are_named() {
    let message = MESSAGE.replace(r#""where": { "element": 1, "values": ["SU", "DP"] }"#, r#""name": "Any party""#);
    let world = World::with([(
        "mine.json",
        message.replace(r#", "where": { "element": 1, "values": ["BY"] }"#, "").as_bytes(),
    )]);
    world.run("guide import mine.json -o .").code(0);
    world.run("guide check ORDERS-MINE.guide").check(expect![[r#"
        exit 0
        --- stdout
        ORDERS-MINE.guide: 3 segments in 2 loops, 1 place cannot be distinguished from another
        --- stderr
        warning[GDE-110]: SG2/NAD cannot be distinguished from SG1/NAD: neither NAD has a qualifier or codes that the other does not have; in `BGM NAD` the last NAD counts as the latter
          at ORDERS-MINE.guide, SG2/NAD

        hint: give each a qualifier that the other does not have (`where 01 = …`)
    "#]]);
    world.run("guide check ORDERS-MINE.guide --json").check(expect![[r#"
        exit 0
        --- stdout
        {
          "schema": "quayline.guide-check/1",
          "files": [
            {
              "file": "ORDERS-MINE.guide",
              "segments": 3,
              "loops": 2,
              "errors": 0,
              "warnings": 1,
              "ambiguities": 1
            }
          ]
        }
        --- stderr
        {"schema":"quayline.finding/1","code":"GDE-110","severity":"warning","fault":"config","message":"SG2/NAD cannot be distinguished from SG1/NAD: neither NAD has a qualifier or codes that the other does not have; in `BGM NAD` the last NAD counts as the latter","file":"ORDERS-MINE.guide","path":"SG2/NAD","hint":"give each a qualifier that the other does not have (`where 01 = …`)"}
    "#]]);
}

/// Regression: the list had guides of acknowledgments that `builtin:` did not name.
#[test]
fn each_listed_guide_has_its_name() {
    let world = World::new();
    let list = world.run("guide list").code(0).out();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"999-X231A1") && names.contains(&"CONTRL-4"), "{list}");
    for name in names {
        let shown = world.run(&format!("guide show builtin:{name}"));
        assert!(shown.code(0).out().starts_with(&format!("{name} ")), "{name}: {}", shown.out());
    }
}

/// Regression: a code list with other line ends was one code, and days such as 30 February were days.
#[test]
fn code_lists_have_real_days_and_lines() {
    let world = World::new();
    let guide = |of: &str| {
        format!(
            "guide G\nstandard X12\nversion 005010\ntransaction 850\nelement 1 ID 1..3 codes L\n{of}segment AAA\n  1 M\nstructure\n  segment AAA M 1\n"
        )
    };
    for (codes, list, wrong) in [
        ("codes L file \"l.csv\"\n", "A,one,2026-02-30\n", "a cell is not a day"),
        ("codes L file \"l.csv\"\n", "A\rB\r", "the code has a control character"),
        ("codes L\n  A \"one\" from 20260231\n", "", "`20260231` is not a day"),
        ("codes L\n  A \"one\" from 20270229\n", "", "`20270229` is not a day"),
    ] {
        world.write("l.csv", list).write("g.guide", guide(codes));
        let checked = world.run("guide check g.guide");
        let out = checked.out() + &checked.err();
        assert!(checked.code != Some(0) && out.contains(wrong), "{codes}: {out}");
    }
    world.write("l.csv", "A,one,2028-02-29\r\nB\r\n").write("g.guide", guide("codes L file \"l.csv\"\n"));
    world.run("guide check g.guide").code(0);
}

/// Regression: code lists alone gave no guide and exit code 0, and a byte order mark was not JSON.
#[test]
fn code_lists_alone_are_refused_and_a_byte_order_mark_is_not() {
    let world = World::new();
    let lists = "<data_elements><data_element id=\"1001\"><code id=\"1\" desc=\"One\"/></data_element></data_elements>";
    world.write("codes.xml", lists);
    let ran = world.run("guide import codes.xml -o guides");
    assert!(ran.code(2).err().contains("the file has code lists, but no messages"), "{}", ran.err());
    world.write("mine.json", MESSAGE).run("guide import mine.json -o plain").code(0);
    world.write("mine.json", format!("\u{feff}{MESSAGE}")).run("guide import mine.json -o marked").code(0);
    assert_eq!(world.read("marked/ORDERS-MINE.guide"), world.read("plain/ORDERS-MINE.guide"));
}

#[test]
fn mistakes_are_told() {
    let world =
        World::with([("mine.json", MESSAGE.as_bytes()), ("x.txt", b"hello"), ("bad.guide", b"guide X\nnonsense 1\n")]);
    world.run("guide import x.txt -o .").check(expect![[r#"
        exit 2
        --- stderr
        error[DIC-003]: none of the forms of dictionaries that can be imported
          at x.txt

        hint: `docs/guides/import-guides.md` lists them, and how to fetch the open ones
    "#]]);
    world.run("guide import nowhere -o .").check(expect![[r#"
        exit 2
        --- stderr
        error[DIC-001]: no such file or folder
          at nowhere
    "#]]);
    world.run("guide import mine.json -o . --only INVOIC").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --only INVOIC: none of the sources has such a guide

        hint: name a guide (837-005010X222A1) or a transaction (837)
    "#]]);
    world.run("guide check bad.guide nowhere.guide").check(expect![[r#"
        exit 2
        --- stdout
        bad.guide: 2 errors
        nowhere.guide: 1 error
        --- stderr
        error[GDE-008]: the guide does not say its standard
          at bad.guide:1:1
          |
        1 | guide X
          | ^^^^^

        hint: write `standard X12` or `standard EDIFACT`

        error[GDE-003]: `nonsense` is not expected here
          at bad.guide:2:1
          |
        2 | nonsense 1
          | ^^^^^^^^

        hint: known here: guide, dictionary, standard, version, transaction, source, include, overlay, element, composite, segment, codes, structure, changes, rules

        error[CLI-002]: nowhere.guide cannot be read: no such file or directory
    "#]]);
}

#[test]
fn built_in_guides_are_listed_shown_and_used() {
    let order = concat!(
        "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*U*00401*000000001*0*T*:~",
        "GS*PO*S*R*20260401*1200*1*X*004010~ST*850*0001~BEG*00*SA*1**20260401~PO1*1*5*EA*1.5~CTT*1~SE*5*0001~GE*1*1~IEA*1*000000001~"
    );
    let world = World::with([("good.x12", order.as_bytes()), ("bad.x12", order.replace("*5*EA", "*x*EA").as_bytes())]);
    let text = |command: &str| String::from_utf8(world.run(command).code(0).stdout.clone()).expect("text");
    let listed = text("guide list");
    for name in ["850-004010", "820-005010", "945-005010", "271-005010X279", "837-005010X224"] {
        let named = listed.lines().any(|line| line.split_whitespace().next() == Some(name));
        assert!(named, "{name} is not in\n{listed}");
    }
    let json = text("guide list --json");
    assert!(json.contains("quayline.guide-list/1") && json.contains("\"version\": \"005010X217\""), "{json}");
    world.run("guide show builtin:990-004010").check(expect![[r#"
        exit 0
        --- stdout
        990-004010  Response to a load tender
        X12 004010, transaction 990, group GF
        from written for Quayline from facts of ASC X12 004010: order, requirement and number of segments and loops

        B1     M      1  Start of a response to a tender
        N9     O      1  Reference
        G62    O      6  Date or time
        N7     O     10  Equipment
        L9     O     40
        V9     O     10
        K1     O     10
        S5     O    999
          S5   M      1  Stop
          N9   O     10  Reference
          G62  O     10  Date or time
          K1   O     10
    "#]]);
    world.run("guide check builtin:850-005010").check(expect![[r#"
        exit 0
        --- stdout
        builtin:850-005010: 205 segments in 32 loops, every place can be distinguished from the others
    "#]]);
    world.run("validate good.x12 -g builtin:").check(expect![[r#"
        exit 0
        --- stderr
        good.x12: 1 transaction in 1 interchange, checked by guide 850-004010: no findings
    "#]]);
    world.run("validate bad.x12 -g builtin:").check(expect![[r#"
        exit 1
        --- stdout
        error[EDI-116]: PO102 (Quantity ordered) in loop PO1 has invalid characters, expected a number: digits, a decimal mark, a minus sign before them
          at bad.x12, byte 175, interchange 1, group 1, transaction 1, segment 3, element 2 (X12.6, data element types and lengths)

        hint: write a number: digits, a decimal mark, a minus sign before them
        --- stderr
        bad.x12: 1 transaction in 1 interchange, checked by guide 850-004010: 1 error, 0 warnings, 1 of the transactions with errors
    "#]]);
    world.run("validate good.x12 -g builtin:851-004010").check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-013]: the guide cannot be read: no guide of this name comes with Quayline
          at builtin:851-004010

        hint: `quayline guide list` shows the guides that come with Quayline
    "#]]);
    world.run("validate good.x12 -g builtin:850-004010 -g builtin:balances").check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-013]: none of the guides is for a transaction that has balances
          at builtin:balances

        hint: also name a guide for 835 or 837 (professional, institutional or dental claims)
    "#]]);
}

#[test]
fn balances_are_rules_of_the_users_guide() {
    let world = World::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi");
    let payment = std::fs::read_to_string(format!("{root}/835.x12")).expect("an example");
    let payment = world.write("835.x12", &payment);
    let wrong = std::fs::read_to_string(format!("{root}/835.x12")).expect("an example");
    let at = wrong.find("SVC*").expect("a line");
    let amount = at + wrong[at..].match_indices('*').nth(2).expect("SVC03").0 + 1;
    let wrong = format!("{}9{}", &wrong[..amount], &wrong[amount..]);
    payment.write("wrong.x12", &wrong);
    for name in ["835.guide", "x12-claims.guide"] {
        payment.write(name, std::fs::read_to_string(format!("{root}/{name}")).expect("an example"));
    }
    payment.run("validate 835.x12 -g 835.guide -g builtin:balances").check(expect![[r#"
        exit 0
        --- stderr
        835.x12: 2 transactions in 1 interchange, checked by guide 835+balances: no findings
    "#]]);
    payment.run("validate wrong.x12 -g 835.guide -g builtin:balances").check(expect![[r#"
        exit 1
        --- stdout
        error[EDI-130]: the line's payment and adjustments are not its charge (line-balance) in loop 2000/2100/2110
          at wrong.x12, byte 644, interchange 1, group 1, transaction 1, segment 17, element 2 (the implementation guide)

        hint: the rule is in the guide's `rules`
        --- stderr
        wrong.x12: 2 transactions in 1 interchange, checked by guide 835+balances: 1 error, 0 warnings, 1 of the transactions with errors
    "#]]);
}

/// Regression: the name in a description chose the folder of the guide.
#[test]
fn a_guide_stays_in_the_folder_of_the_import() {
    let world = World::new();
    for name in ["../evil", "/tmp/evil", "a/b", "", ".hidden", "a\\u000ab", "a\\\\b"] {
        let text = MESSAGE.replacen("ORDERS-MINE", name, 1);
        let ran = world.write("a.json", text).run("guide import a.json -o guides");
        assert!(ran.code(2).err().contains("error[DIC-010]"), "{name}: {}", ran.err());
        assert!(!world.path("guides").exists() && !world.path("evil.guide").exists());
    }
}

/// Regression: the second of two guides with one name replaced the file of the first.
#[test]
fn guides_of_one_import_have_their_own_names() {
    let world = World::new();
    world.write("a.json", format!("[{MESSAGE},{}]", MESSAGE.replacen("\"ORDERS\"", "\"ORDRSP\"", 1)));
    let ran = world.run("guide import a.json -o guides");
    let err = ran.code(2).err();
    assert!(
        err.contains("error[DIC-010]: two guides have the name ORDERS-MINE: ORDERS of D:96A:UN and ORDRSP"),
        "{err}"
    );
    assert!(!world.path("guides").exists());
}

/// Regression: an import said nothing of a guide that `guide check` refuses.
#[test]
fn an_import_shows_the_errors_of_its_guides() {
    let world = World::new();
    let other = |from: &str, to: &str| MESSAGE.replacen(from, to, 1);
    let wrong = [
        (other("\"element\": 2, \"req", "\"element\": 5, \"req"), "GDE-007", "guides/ORDERS-MINE.guide:25:5"),
        (other("[\"SU\", \"DP\"]", "[]"), "GDE-004", "guides/ORDERS-MINE.guide:29:31"),
        (other("\"SG2\"", "\"SG1\""), "GDE-106", "guides/ORDERS-MINE.guide"),
    ];
    for (text, code, place) in wrong {
        let ran = world.write("a.json", text).run("guide import a.json -o guides");
        let err = ran.code(2).err();
        assert!(err.contains(&format!("error[{code}]")) && err.contains(place), "{err}");
        assert!(ran.out().contains("1 guide written to guides"), "{}", ran.out());
    }
}
