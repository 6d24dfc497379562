//! `quayline partner`, `transaction`, `interchange` and `envelope`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::world::{Ran, World};

/// Creates a world with the examples in a separate folder: maps name their shapes relative to their own folder.
pub(crate) fn examples() -> World {
    let world = World::new();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), &world.path("."));
    world
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder of the repository") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Runs with arguments, and compares the exit code.
fn ran(world: &World, arguments: &str, code: i32) -> Ran {
    let ran = world.run(arguments);
    ran.code(code);
    ran
}

const P: &str = "--project partners";

#[test]
fn an_order_is_answered_found_and_explained() {
    let world = examples();
    assert!(world.run(&format!("partner check {P}")).code(0).err().contains("no errors"));
    let received = ran(&world, &format!("partner receive {P} edi/850.x12"), 0);
    assert!(received.err().contains("3 transactions, 3 delivered, 1 acknowledgment sent"), "{}", received.err());
    let again = ran(&world, &format!("partner receive {P} edi/850.x12"), 1);
    assert!(again.err().contains("error[PTN-106]: the same bytes were received before"), "{}", again.err());
    let found = ran(&world, &format!("transaction search {P} --field purchase-order=PO4712"), 0);
    assert_eq!(found.out().lines().count(), 1, "{}", found.out());
    assert!(found.out().contains("received  delivered   ALDER  850 005010  0002"), "{}", found.out());
    let entry: u64 = found.out().split_whitespace().next().expect("an entry").parse().expect("a number");
    let shown = ran(&world, &format!("transaction show {entry} {P}"), 0);
    assert!(
        shown.out().contains("purchase-order: PO4712") && shown.out().contains("rule: ALDER/orders"),
        "{}",
        shown.out()
    );
    let bytes = ran(&world, &format!("transaction show {entry} {P} --bytes"), 0);
    assert!(bytes.out().starts_with("ISA*") && bytes.out().contains("PO4712"), "{}", bytes.out());
    let explained = ran(&world, &format!("partner explain {P} edi/850.x12"), 0);
    assert!(explained.out().contains("rule ALDER/orders: yes"), "{}", explained.out());
    assert!(explained.out().contains("usage = both  (own QUAYSIDE)"), "{}", explained.out());
    let csv = ran(&world, &format!("transaction export {P} --csv --received"), 0);
    assert_eq!(csv.out().lines().count(), 6, "a head, an interchange, a group and three documents: {}", csv.out());
    let missing = ran(&world, &format!("transaction show 999 {P}"), 2);
    assert!(missing.err().contains("error[PTN-301]: entry 999 does not exist"), "{}", missing.err());
    // The summary counted duplicates as rejected documents, but `transaction list --state rejected` does not list them.
    let twice = ran(&world, &format!("partner receive {P} edi/850.x12 --again"), 1);
    assert!(twice.err().contains("1 interchange, 3 transactions, 0 delivered, 3 duplicates"), "{}", twice.err());
    let json = ran(&world, &format!("partner receive {P} edi/850.x12 --again --json"), 1).out();
    assert!(json.contains("\"duplicates\":3") && json.contains("\"rejected\":0"), "{json}");
    let listed = ran(&world, &format!("transaction list {P} --state duplicate"), 0);
    assert_eq!(listed.out().lines().count(), 6, "{}", listed.out());
}

#[test]
fn invoices_wait_for_their_envelope() {
    let world = examples();
    let sent = ran(&world, &format!("partner send {P} --document invoice maps/data/invoices.dat"), 0);
    assert!(sent.err().contains("3 documents, 3 waiting, 0 interchanges written"), "{}", sent.err());
    let list = ran(&world, &format!("envelope list {P}"), 0);
    assert!(
        list.out().contains("ALDER X12: 2 documents") && list.out().contains("BIRCH X12: 1 document"),
        "{}",
        list.out()
    );
    world.run(&format!("envelope release {P} --all")).code(0);
    let listed = ran(&world, &format!("transaction list {P} --sent"), 0);
    assert_eq!(listed.out().matches("sent      sent").count(), 3, "{}", listed.out());
    let overdue = ran(&world, &format!("interchange overdue {P} --at 2999-01-01"), 1);
    assert!(overdue.out().contains("expecting"), "{}", overdue.out());
    world.run(&format!("interchange overdue {P}")).code(0);
}

#[test]
fn all_findings_of_a_partner_file_come_at_once() {
    let world = examples();
    world.write(
        "partners/partners/wrong.toml",
        "[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"ALDER\"\n[settings]\nusage = \"prod\"\ndue = \"1x\"\nfields = { \"interchange.security\" = \"SECRET\" }\n[[rule]]\ndirection = \"receive\"\nmap = \"none.qmap\"\ndeliver = \"disk:out\"\n\
         [[rule]]\nname = \"orders\"\ndirection = \"receive\"\ndocument = \"850\"\nversion = \"005010\"\nmap = \"../maps/maps/order-json.qmap\"\ndeliver = \"folder:x\"\nfields = { order = \"BEG88\" }\n\
         [[rule]]\ndirection = \"receive\"\ndocument = \"850\"\nmap = \"../maps/maps/order-json.qmap\"\nwhere = 'BEG.BEG78 = \"SA\"'\ndeliver = \"folder:x\"\n",
    );
    let checked = ran(&world, &format!("partner check {P}"), 2);
    let err = checked.err();
    for expected in [
        "`prod` is not one of production, test, both",
        "`1x` is not a duration",
        "`interchange.security` is a secret",
        "`disk:out` is not a place to deliver to",
        // What other files and this one together get wrong, and the other rules and files.
        "error[PTN-004]: the map none.qmap does not exist",
        "error[PTN-003]: `ALDER` has the same identity",
        "BEG78",
        "error[PTN-020]: the field `order` of rule `orders` reads BEG88, but segment BEG",
    ] {
        assert!(err.contains(expected), "{expected}: {err}");
    }
    assert!(!err.contains("\"SECRET\" is") && !err.contains("no partner file is your own"), "{err}");
    // A file of ours with a wrong value is still ours.
    fs::remove_file(world.path("partners/partners/wrong.toml")).expect("removed");
    let ours = String::from_utf8(world.read("partners/partners/quayside.toml")).expect("text");
    world.write("partners/partners/quayside.toml", ours.replace("usage = \"both\"", "usage = \"prod\""));
    let err = ran(&world, &format!("partner check {P}"), 2).err();
    assert!(err.contains("`prod` is not one of") && !err.contains("PTN-004"), "{err}");
}

/// A search by a name with a typing error said "no entry", as one that finds nothing does.
#[test]
fn a_search_by_an_unknown_name_lists_the_known_ones() {
    let world = examples();
    world.run(&format!("partner receive {P} edi/850.x12")).code(0);
    for (filter, expected) in [
        ("--partner ALDR", "partner `ALDR` does not exist"),
        ("--partner ALDR", "did you mean `ALDER`? the partners are ALDER, BIRCH, QUAYSIDE"),
        ("--rule ALDER/order", "rule `ALDER/order` does not exist"),
        ("--rule ALDER/order", "ALDER/orders"),
        ("--field purchase=1", "business field `purchase` does not exist"),
        ("--field purchase=1", "the business fields are invoice, order, purchase-order"),
    ] {
        for command in ["transaction list", "transaction export", "interchange list"] {
            let err = ran(&world, &format!("{command} {P} {filter}"), 2).err();
            assert!(
                err.contains("error[PTN-021]: the search found no entry") && err.contains(expected),
                "{filter}: {err}"
            );
        }
    }
    for filter in
        ["--partner BIRCH", "--rule QUAYSIDE/invoices", "--field order=1", "--state refused", "--document 999"]
    {
        assert!(ran(&world, &format!("transaction list {P} {filter}"), 0).err().contains("no entry"), "{filter}");
    }
    // Entries outlive their partner.
    fs::remove_file(world.path("partners/partners/alder.toml")).expect("removed");
    assert_ne!(ran(&world, &format!("transaction list {P} --partner ALDER"), 0).out(), "");
    assert!(ran(&world, &format!("transaction list {P} --partner ALDER --sent"), 0).err().contains("no entry"));
    // Searches do not need partners that can be read.
    fs::remove_dir_all(world.path("partners/partners")).expect("removed");
    ran(&world, &format!("transaction list {P} --partner ALDR"), 0);
}

#[test]
fn partners_are_added_exported_imported_and_removed() {
    let world = examples();
    let acme = "# a customer\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"ACME\"\n[settings]\nfields = { \"interchange.acknowledgment_requested\" = \"1\" }\n\
                [[rule]]\ndirection = \"receive\"\ndocument = \"850\"\nmap = \"../maps/maps/order-json.qmap\"\nwhere = 'BEG.BEG02 = \"SA\"'\ndeliver = \"folder:acme\"\n";
    // All findings at once, and nothing is written: a wrong value, a missing map, a wrong expression, an identity of another partner.
    let wrong = acme.replace("[settings]", "[settings]\nusage = \"prod\"").replace("id = \"ACME\"", "id = \"ALDER\"");
    world.write("acme.toml", &wrong);
    let err = ran(&world, &format!("partner add {P} acme.toml"), 2).err();
    assert!(err.contains("acme.toml:7") && err.contains("`prod` is not one of"), "{err}");
    world.write("acme.toml", wrong.replace("usage = \"prod\"\n", "").replace("BEG02 = ", "BEG77 = "));
    let err = ran(&world, &format!("partner add {P} acme.toml"), 2).err();
    assert!(err.contains("has the same identity"), "{err}");
    world.write("acme.toml", acme.replace("BEG02 = ", "BEG77 = "));
    let err = ran(&world, &format!("partner add {P} acme.toml"), 2).err();
    assert!(err.contains("BEG77") && err.contains("acme.toml:"), "{err}");
    // Changes lock their record, so it exists.
    assert!(!world.path("partners/partners/acme.toml").exists());
    assert_eq!(world.read("partners/partners/changes.jsonl"), b"");
    world.write("acme.toml", acme);
    assert!(ran(&world, &format!("partner add {P} acme.toml"), 0).err().contains("acme added"));
    assert_eq!(world.read("partners/partners/acme.toml"), acme.as_bytes(), "with its comments");
    let err = ran(&world, &format!("partner add {P} acme.toml"), 2).err();
    assert!(err.contains("error[PTN-017]: there is a partner `acme` already"), "{err}");
    assert_eq!(ran(&world, &format!("partner export {P} acme --toml"), 0).out(), acme);
    // Exporting and importing gives the same partner, also in another project.
    let before = ran(&world, &format!("partner show {P} acme --json"), 0).out();
    let exported = ran(&world, &format!("partner export {P}"), 0).out();
    world.write("all.json", &exported);
    assert!(ran(&world, &format!("partner import {P} all.json"), 0).err().contains("acme replaced"));
    // JSON has no comments, so the text and its version differ.
    let after = ran(&world, &format!("partner show {P} acme --json"), 0).out();
    let known = |shown: &str| shown.split("\"version\"").next().map(str::to_owned);
    assert_eq!((known(&after), after != before), (known(&before), true));
    assert_eq!(ran(&world, &format!("partner export {P}"), 0).out(), exported);
    assert!(ran(&world, &format!("partner import {P} all.json"), 0).err().contains("acme unchanged"));
    assert!(ran(&world, &format!("partner remove {P} acme"), 0).err().contains("acme removed"));
    let err = ran(&world, &format!("partner remove {P} acme ALDR"), 2).err();
    assert!(err.contains("partner `acme` does not exist") && err.contains("did you mean `ALDER`?"), "{err}");
    let changes = String::from_utf8(world.read("partners/partners/changes.jsonl")).expect("text");
    assert!(
        changes
            .lines()
            .next()
            .is_some_and(|line| line.contains("\"what\":\"added\"") && line.contains("\"by\":\"command\"")),
        "{changes}"
    );
    assert!(changes.lines().last().is_some_and(|line| line.contains("\"what\":\"removed\"")), "{changes}");
    // The last own file cannot be removed.
    let err = ran(&world, &format!("partner remove {P} QUAYSIDE"), 2).err();
    assert!(err.contains("no partner file is your own"), "{err}");
}

/// The same commands keep partners in the store, and every command that reads partners sees them there.
#[test]
fn partners_are_kept_in_the_store_by_command() {
    let world = examples();
    fs::rename(world.path("partners/partners"), world.path("files")).expect("moved");
    let err = ran(&world, &format!("partner receive {P} edi/850.x12"), 2).err();
    assert!(err.contains("PTN-004") && !world.path("partners/data").exists(), "no store for nothing: {err}");
    let added =
        ran(&world, &format!("partner add {P} --in-store files/alder.toml files/birch.toml files/quayside.toml"), 0);
    assert!(added.err().contains("ALDER added in the store"), "{}", added.err());
    assert!(!world.path("partners/partners").exists());
    let checked = ran(&world, &format!("partner check {P}"), 0).err();
    assert!(checked.contains("3 partners with 3 rules, 3 of them in the store: no errors"), "{checked}");
    world.write("partners/quayline.toml", "[serve.partners]\n");
    assert!(ran(&world, "check partners", 0).out().contains("3 partners"));
    assert!(ran(&world, &format!("partner list {P}"), 0).out().contains("; in the store"));
    let shown = ran(&world, &format!("partner show {P} ALDER"), 0).out();
    let version = shown.split("version ").nth(1).and_then(|rest| rest.lines().next()).expect("a version").to_owned();
    assert!(shown.contains("from store:ALDER, version "), "{shown}");
    let explained = ran(&world, &format!("partner explain {P} edi/850.x12"), 0).out();
    assert!(explained.contains("  partner: ALDER  (store:ALDER)\n  own: QUAYSIDE  (store:QUAYSIDE)\n"), "{explained}");
    let received = ran(&world, &format!("partner receive {P} edi/850.x12"), 0);
    assert!(received.err().contains("3 delivered, 1 acknowledgment sent"), "{}", received.err());
    world.run(&format!("partner send {P} --document invoice maps/data/invoices.dat")).code(0);
    assert!(ran(&world, &format!("envelope list {P}"), 0).out().contains("ALDER X12: 2 documents"));
    world.run(&format!("envelope release {P} --all")).code(0);
    // The same bytes come out, and a changed version is detected.
    let alder = String::from_utf8(world.read("files/alder.toml")).expect("text");
    assert_eq!(ran(&world, &format!("partner export {P} --in-store --toml ALDER"), 0).out(), alder);
    world.write("alder.toml", format!("{alder}# changed\n"));
    let import = format!("partner import {P} alder.toml --if-version {version}");
    assert!(ran(&world, &import, 0).err().contains("ALDER replaced in the store"));
    world.write("alder.toml", format!("{alder}# changed again\n"));
    let err = ran(&world, &import, 2).err();
    assert!(err.contains("error[PTN-019]: partner `ALDER` in store:ALDER was changed"), "{err}");
    assert!(ran(&world, &format!("partner remove {P} ALDER --if-version {version}"), 2).err().contains("PTN-019"));
    // A name in both places.
    world.write("partners/partners/alder.toml", &alder);
    for command in
        [format!("partner check {P}"), "check partners".to_owned(), format!("partner receive {P} edi/850.x12")]
    {
        let err = ran(&world, &command, 2).err();
        assert!(
            err.contains("PTN-003") && err.contains("store:ALDER") && err.contains("alder.toml"),
            "{command}: {err}"
        );
    }
    let err = ran(&world, &format!("partner remove {P} ALDER"), 2).err();
    assert!(err.contains("is in partners/partners/alder.toml and in store:ALDER"), "{err}");
    assert!(ran(&world, &format!("partner remove {P} ALDER --in-store"), 0).err().contains("ALDER removed"));
    world.run(&format!("partner check {P}")).code(0);
    let changes = ran(&world, &format!("partner changes {P}"), 0).out();
    let told: Vec<bool> = changes.lines().map(|line| line.contains("\"file\":\"store:")).collect();
    assert_eq!(told, [true; 5], "three added, one replaced, one removed: {changes}");
    assert!(changes.lines().next().is_some_and(|line| line.contains("\"what\":\"removed\"")), "{changes}");
}

#[test]
fn conditions_of_rules_are_checked_and_explained() {
    let world = examples();
    let text = String::from_utf8(world.read("partners/partners/alder.toml")).expect("text");
    let rule = "[[rule]]\nname = \"many\"\ndirection = \"receive\"\ndocument = \"850\"\nmap = \"../maps/maps/order-json.qmap\"\nwhere = 'WHERE'\ndeliver = \"folder:many\"\n";
    let with = |expression: &str| {
        world.write("partners/partners/alder.toml", &(text.clone() + &rule.replace("WHERE", expression)))
    };
    with("BEG.BEG02 = \"RO\" and BEG.BEG77 = \"1\"");
    for command in ["partner check --project partners", "check partners"] {
        let err = ran(&world, command, 2).err();
        assert!(
            err.contains("alder.toml:") && err.contains("BEG77") && err.contains("where = 'BEG.BEG02"),
            "{command}: {err}"
        );
    }
    with("BEG.BEG03 = \"PO4712\"");
    let explained = ran(&world, &format!("partner explain {P} edi/850.x12"), 0).out();
    assert!(explained.contains("rule ALDER/many: yes"), "{explained}");
    assert!(explained.contains("rule ALDER/many: no, it is not true that BEG.BEG03 = \"PO4712\""), "{explained}");
    let received = ran(&world, &format!("partner receive {P} edi/850.x12"), 0);
    assert!(received.err().contains("3 transactions, 3 delivered"), "{}", received.err());
    let by_rule = ran(&world, &format!("transaction search {P} --field purchase-order=PO4712"), 0);
    assert_eq!(by_rule.out(), "", "the rule that took it has no business fields");
    let shown = ran(&world, &format!("partner show {P} ALDER"), 0).out();
    assert!(shown.contains("rule many: receive 850, where BEG.BEG03 = \"PO4712\""), "{shown}");
}

#[test]
fn a_watched_folder_is_emptied_into_archive_and_rejects() {
    let world = examples();
    world.write("partners/inbox/good.x12", fs::read(world.path("edi/850.x12")).expect("an example"));
    world.write("partners/inbox/bad.txt", "not EDI");
    let done = ran(&world, &format!("partner run {P} --inbox inbox --settle 0 --once"), 1);
    assert!(done.err().contains("3 delivered"), "{}", done.err());
    let names = |folder: &str| fs::read_dir(world.path(folder)).expect("a folder").count();
    assert_eq!((names("partners/archive"), names("partners/rejected"), names("partners/inbox/.claimed")), (1, 1, 0));
    assert_eq!(names("partners/orders"), 3);
}

/// Regression: a folder with a typing error in its name was created without a message, and no file ever arrived there.
#[test]
fn a_watched_folder_that_does_not_exist_is_reported_once() {
    let world = examples();
    fs::create_dir_all(world.path("partners/to-send")).expect("a folder");
    let run = format!("partner run {P} --inbox new/inbxo --send invoice=to-send --settle 0 --once");
    let first = ran(&world, &run, 0).err();
    assert!(first.contains("warning[PTN-308]: the watched folder partners/new/inbxo did not exist"), "{first}");
    assert!(!first.contains("to-send"), "only its `.claimed` is new: {first}");
    assert!(world.path("partners/new/inbxo/.claimed").is_dir() && world.path("partners/to-send/.claimed").is_dir());
    let second = ran(&world, &run, 0).err();
    assert!(!second.contains("PTN-308"), "{second}");
}

/// A file that cannot be sent undoes the work of the files that shared its unit of work. The other files are still sent, exactly once.
#[test]
fn a_file_that_cannot_be_sent_keeps_no_other_back() {
    let world = examples();
    let invoices = fs::read(world.path("maps/data/invoices.dat")).expect("an example");
    for name in ["a", "c"] {
        world.write(&format!("partners/out/{name}.dat"), &invoices);
    }
    world.write("partners/out/b.dat", "no invoice");
    let done = ran(&world, &format!("partner run {P} --send invoice=out --settle 0 --once"), 1);
    assert_eq!(done.err().matches("3 documents, 3 waiting").count(), 2, "{}", done.err());
    let names = |folder: &str| fs::read_dir(world.path(folder)).expect("a folder").count();
    assert_eq!((names("partners/archive"), names("partners/rejected"), names("partners/out/.claimed")), (2, 1, 0));
    let list = ran(&world, &format!("envelope list {P}"), 0);
    assert!(
        list.out().contains("ALDER X12: 4 documents") && list.out().contains("BIRCH X12: 2 documents"),
        "{}",
        list.out()
    );
}

/// Regression: a file that failed after a commit hid the reports of the files before it, because they were processed again as sources that came before.
#[test]
fn committed_files_are_reported_if_a_later_one_fails() {
    let world = examples();
    let file = "partners/partners/alder.toml";
    let text = String::from_utf8(world.read(file)).expect("text");
    let rule = "\n[[rule]]\nname = \"lost\"\ndirection = \"receive\"\ndocument = \"850\"\nwhen = { BEG03 = \"PO99\" }\ndeliver = \"queue:NOWHERE\"\n";
    world.write(file, text + rule);
    world.write("partners/inbox/a.x12", many(1).replace("PO1*1*1*EA", "PO1*1*X*EA"));
    world.write("partners/inbox/b.x12", many(100).replace("*000000001", "*000000002"));
    let done = ran(&world, &format!("partner run {P} --inbox inbox --settle 0 --once"), 1).err();
    assert!(done.contains("a.x12: 1 interchange, 1 transaction, 0 delivered, 1 rejected"), "{done}");
    assert!(done.contains("queue NOWHERE is not defined"), "{done}");
    let listed = ran(&world, &format!("transaction list {P} --state rejected"), 0);
    assert_eq!(listed.out().lines().count(), 1, "{}", listed.out());
    let names = |folder: &str| fs::read_dir(world.path(folder)).expect("a folder").count();
    assert_eq!((names("partners/archive"), names("partners/inbox/.claimed")), (1, 1));
}

/// Regression: a document too long for its queue, or a full queue, ended each run before the files of other partners were processed.
#[test]
fn a_queue_that_takes_no_message_keeps_no_other_file_back() {
    for (define, alter, finding) in [
        ("--message-max 20", "--message-max 1000000", "queue ORDERS allows 20"),
        ("--depth-max 1", "--depth-max 1000", "queue ORDERS is full"),
    ] {
        let world = examples();
        let file = "partners/partners/alder.toml";
        let text = String::from_utf8(world.read(file)).expect("text");
        let rule = |number: u32| {
            format!(
                "\n[[rule]]\nname = \"long{number}\"\ndirection = \"receive\"\ndocument = \"850\"\nwhen = {{ BEG03 = \"PO{number}\" }}\ndeliver = \"queue:ORDERS\"\n"
            )
        };
        world.write(file, text + &rule(98) + &rule(99));
        ran(&world, &format!("queue define ORDERS --store partners/data {define}"), 0);
        world.write("partners/inbox/a.x12", many(2));
        world.write("partners/inbox/b.x12", many(100).replace("*000000001", "*000000002"));
        world.write("partners/inbox/c.x12", many(3).replace("*000000001", "*000000003"));
        let run = format!("partner run {P} --inbox inbox --settle 0 --once");
        let names = |folder: &str| fs::read_dir(world.path(folder)).expect("a folder").count();
        for _ in 0..2 {
            let done = ran(&world, &run, 1).err();
            assert!(done.contains("PTN-300") && done.contains(finding), "{define}: {done}");
            assert_eq!((names("partners/archive"), names("partners/inbox/.claimed")), (2, 1), "{define}: {done}");
        }
        ran(&world, &format!("queue alter ORDERS --store partners/data {alter}"), 0);
        let done = ran(&world, &run, 0).err();
        assert!(done.contains("b.x12: 1 interchange"), "{define}: {done}");
        assert_eq!((names("partners/archive"), names("partners/inbox/.claimed")), (3, 0), "{define}");
    }
}

/// Regression: a file with rejected documents went to the archive if an earlier run had completed it and not moved it.
#[test]
fn a_completed_file_with_rejected_documents_goes_to_the_rejects() {
    let world = examples();
    fs::remove_file(world.path("partners/partners/birch.toml")).expect("removed");
    let invoices = fs::read(world.path("maps/data/invoices.dat")).expect("an example");
    for count in 1..=2 {
        world.write("partners/out/.claimed/0000000000000001-b.dat", &invoices);
        let done = ran(&world, &format!("partner run {P} --send invoice=out --settle 0 --once"), 1).err();
        assert_eq!(done.contains("3 documents, 2 waiting, 1 rejected"), count == 1, "{done}");
        assert_eq!(fs::read_dir(world.path("partners/rejected")).expect("a folder").count(), count);
        assert!(!world.path("partners/archive").exists());
    }
}

/// A process that was killed leaves a claimed file. The next run took it for another one with the same bytes, and archived it without sending it.
#[test]
fn a_claimed_file_is_not_taken_for_another_one() {
    let world = examples();
    let invoices = fs::read(world.path("maps/data/invoices.dat")).expect("an example");
    world.write("partners/out/a.dat", &invoices);
    ran(&world, &format!("partner run {P} --send invoice=out --settle 0 --once"), 0);
    world.write("partners/out/.claimed/0000000000000001-b.dat", &invoices);
    ran(&world, &format!("partner run {P} --send invoice=out --settle 0 --once"), 0);
    let list = ran(&world, &format!("envelope list {P}"), 0);
    assert!(list.out().contains("ALDER X12: 4 documents"), "{}", list.out());
    // The file is complete, but was not moved out of `.claimed`.
    world.write("partners/out/.claimed/0000000000000001-b.dat", &invoices);
    fs::remove_dir_all(world.path("partners/archive")).expect("removed");
    ran(&world, &format!("partner run {P} --send invoice=out --settle 0 --once"), 0);
    let list = ran(&world, &format!("envelope list {P}"), 0);
    assert!(list.out().contains("ALDER X12: 4 documents"), "{}", list.out());
    assert_eq!(fs::read_dir(world.path("partners/archive")).expect("a folder").count(), 1);
}

/// Regression: one folder that could not be written failed every command, and a missing secret ended the release of all envelopes.
#[test]
fn one_partner_does_not_stop_the_others() {
    let world = examples();
    world.write("partners/inbox/good.x12", fs::read(world.path("edi/850.x12")).expect("an example"));
    world.write("partners/orders", "not a folder");
    let done = ran(&world, &format!("partner run {P} --inbox inbox --settle 0 --once"), 1);
    assert!(done.err().contains("3 delivered") && done.err().contains("error[PTN-300]"), "{}", done.err());
    assert_eq!(fs::read_dir(world.path("partners/archive")).expect("a folder").count(), 1);
    let file = "partners/partners/alder.toml";
    let text = String::from_utf8(world.read(file)).expect("text");
    let secret = "[settings]\nfields = { \"interchange.authorization\" = \"env:NO_SUCH_VALUE\" }";
    world.write(file, text.replacen("[settings]", secret, 1));
    let sent = ran(&world, &format!("partner send {P} --document invoice maps/data/invoices.dat"), 1);
    assert!(sent.err().contains("3 documents, 3 waiting"), "{}", sent.err());
    fs::remove_file(world.path("partners/orders")).expect("removed");
    let released = ran(&world, &format!("envelope release {P} --all"), 1);
    assert!(
        released.err().contains("error[PTN-012]") && released.err().contains("1 interchange written"),
        "{}",
        released.err()
    );
    assert_eq!(
        fs::read_dir(world.path("partners/orders")).expect("a folder").count(),
        3,
        "delivered by the next command"
    );
    let long = world.shell(&format!("NO_SUCH_VALUE=eleven-char $Q envelope release {P} --all"));
    long.code(1);
    assert!(long.err().contains("error[PTN-012]: the value of ISA02 must be at most 10 characters"), "{}", long.err());
    world.shell(&format!("NO_SUCH_VALUE=ten-chars- $Q envelope release {P} --all")).code(0);
    let sent = fs::read_dir(world.path("partners/outbox/alder")).expect("a folder");
    let isa: Vec<u8> = sent.flat_map(|file| fs::read(file.expect("an entry").path()).expect("a file")).collect();
    assert!(isa.escape_ascii().to_string().contains("ISA*00*ten-chars-*00*"), "{}", isa.escape_ascii());
}

#[test]
fn files_that_wait_are_listed_and_not_written() {
    let world = examples();
    world.write("partners/orders", "not a folder");
    let received = ran(&world, &format!("partner receive {P} edi/850.x12"), 1).err();
    assert!(received.contains("`quayline partner outbox` lists the files that wait"), "{received}");
    let outbox = format!("partner outbox {P}");
    let listed = ran(&world, &outbox, 0);
    let (out, err) = (listed.out(), listed.err());
    assert_eq!(out.lines().count(), 3, "{out}");
    assert!(out.lines().all(|line| line.starts_with("partners/orders/ALDER-850-")), "{out}");
    fs::remove_file(world.path("partners/orders")).expect("removed");
    let json = ran(&world, &format!("{outbox} --json"), 0).out();
    let mut bytes = 0;
    for (line, text) in json.lines().zip(out.lines()) {
        let file: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let (path, entry) = (file["path"].as_str().expect("a path"), &file["entry"]);
        assert_eq!(text.replace(',', ""), format!("{path}: {} bytes entry {entry}", file["bytes"]));
        let shown = ran(&world, &format!("transaction show {entry} {P}"), 0).out();
        assert!(shown.contains(path), "{shown}");
        bytes += file["bytes"].as_u64().expect("a number");
    }
    assert_eq!(err.replace(',', ""), format!("3 files {bytes} bytes\n"));
    assert!(!world.path("partners/orders").exists(), "a list writes nothing");
    // The next command has another working directory.
    world.shell("cd partners && $Q envelope list").code(0);
    assert!(!world.path("partners/partners/orders").exists());
    let empty = ran(&world, &outbox, 0);
    assert_eq!((empty.out().as_str(), empty.err().as_str()), ("", "0 files\n"));
    let written = fs::read_dir(world.path("partners/orders")).expect("a folder").flatten();
    assert_eq!(written.map(|file| file.metadata().expect("a file").len()).sum::<u64>(), bytes);
}

/// Returns an interchange with many orders.
pub(crate) fn many(orders: usize) -> String {
    let mut text = "ISA*00*          *00*          *ZZ*ALDER          *ZZ*QUAYSIDE       *260401*1200*^*00501*000000001*0*P*:~GS*PO*ALDER*QUAYSIDE*20260401*1200*1*X*005010~".to_owned();
    for order in 1..=orders {
        text.push_str(&format!(
            "ST*850*{order:04}~BEG*00*SA*PO{order}**20260401~CUR*BY*USD~N1*BY*ALDER*92*10042~PO1*1*1*EA*1**VP*X~CTT*1~SE*7*{order:04}~"
        ));
    }
    text + &format!("GE*{orders}*1~IEA*1*000000001~")
}

#[test]
fn a_killed_run_continues_without_loss_or_repetition() {
    const ORDERS: usize = 60;
    let world = examples();
    world.write("many.x12", many(ORDERS));
    let arguments = ["partner", "receive", "--project", "partners", "--commit-interval", "1", "many.x12"];
    let mut kills = 0;
    // Later and later, so that some kills come before the first commit and some after the last.
    for attempt in 0..200_u64 {
        let mut child =
            world.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(attempt * 7 % 90 + attempt * 3));
        match child.try_wait().expect("a child") {
            Some(_) => break,
            None => {
                child.kill().expect("killed");
                child.wait().expect("ended");
                kills += 1;
            }
        }
    }
    assert!(kills > 0, "the run was too fast to be killed");
    world.run(&format!("partner receive {P} --commit-interval 1 many.x12"));
    let names =
        fs::read_dir(world.path("partners/orders")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let delivered: Vec<_> =
        names.filter(|path| !path.file_name().expect("a name").to_string_lossy().starts_with('.')).collect();
    assert_eq!(delivered.len(), ORDERS, "after {kills} kills");
    let mut numbers: Vec<String> = delivered.iter().map(|path| fs::read_to_string(path).expect("text")).collect();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), ORDERS, "each order once");
    let listed = ran(&world, &format!("transaction list {P} -n 1000"), 0);
    assert_eq!(listed.out().lines().count(), ORDERS);
    let answers = fs::read_dir(world.path("partners/outbox/alder")).expect("a folder").count();
    assert_eq!(answers, 1, "one acknowledgment");
}

/// Standard input and output: a document and its acknowledgment leave by standard output, and nothing else does.
#[test]
fn an_interchange_from_standard_input_is_answered_on_standard_output() {
    let world = examples();
    let file = "partners/partners/alder.toml";
    let text = String::from_utf8(world.read(file)).expect("text");
    let text = text.replacen("deliver = \"folder:orders\"", "deliver = \"output\"", 1);
    world.write(file, text.replace("send-to =", "acknowledge-to = \"output\"\nsend-to ="));
    let received = world.run_with(&format!("partner receive {P} -"), &world.read("edi/850.x12"));
    received.code(0);
    assert!(received.err().contains("<stdin>: 1 interchange, 3 transactions, 3 delivered"), "{}", received.err());
    let out = received.out();
    let (orders, answer) = out.split_at(out.find("ISA*").expect("an acknowledgment"));
    assert!(orders.starts_with('{') && orders.contains("PO4712"), "{orders}");
    assert!(answer.contains("AK9*A*3*3*3"), "{answer}");
    assert!(!world.path("partners/orders").exists() && !world.path("partners/outbox/alder").exists());
    // A run of folders has no caller: the document is rejected and kept, and a command takes it.
    world.write(
        "partners/inbox/again.x12",
        String::from_utf8(world.read("edi/850.x12")).expect("text").replace("000004711", "000004712"),
    );
    let watched = ran(&world, &format!("partner run {P} --inbox inbox --settle 0 --once"), 1);
    assert!(
        watched.err().contains("the acknowledgment goes to `output`, and nothing takes output here"),
        "{}",
        watched.err()
    );
    assert_eq!(watched.out(), "");
}

/// A segment without its terminator is two segments for partners, too.
#[test]
fn partners_check_as_validate_does() {
    let world = examples();
    let file = "partners/partners/alder.toml";
    let text = String::from_utf8(world.read(file)).expect("text");
    world.write(file, text.replace("send-to =", "acknowledge-to = \"output\"\nsend-to ="));
    let order = many(2).replacen("10042~PO1", "10042PO1", 1);
    world.write("faulty.x12", &order);
    let checked = world.run("validate faulty.x12 --guide edi/850.guide --ack 997 --ack-output -");
    let received = world.run_with(&format!("partner receive {P} -"), order.as_bytes());
    let answer = |text: String| -> Vec<String> {
        let segments = text.split('~').map(|segment| segment.trim().to_owned());
        segments.filter(|segment| segment.starts_with("AK")).collect()
    };
    let (by_validate, by_partner) = (answer(checked.out()), answer(received.out()));
    assert!(by_validate.iter().any(|segment| segment.starts_with("AK3*N1*4")), "{by_validate:?}\n{}", checked.err());
    assert_eq!(by_validate, by_partner, "{}\n{}", checked.err(), received.err());
}

/// Invoices of billing, in a record file in the order in which they were written.
#[test]
fn the_records_of_a_record_file_are_sent() {
    let world = examples();
    let store = "--store partners/data";
    world.run(&format!("file define BILLING --organisation esds --record 1-200 {store}")).code(0);
    let loaded = ran(&world, &format!("file load BILLING maps/data/invoices.dat --framing rdw {store}"), 0);
    assert!(loaded.err().contains("records loaded"), "{}", loaded.err());
    let sent = ran(&world, &format!("partner send {P} --document invoice file:BILLING"), 0);
    assert!(sent.err().contains("file:BILLING: 3 documents, 3 waiting, 0 interchanges written"), "{}", sent.err());
    let again = ran(&world, &format!("partner send {P} --document invoice file:BILLING"), 1);
    assert!(again.err().contains("error[PTN-106]: the same bytes were sent before"), "{}", again.err());
    let other = ran(&world, &format!("partner send {P} --document invoice file:NOTHING"), 2);
    assert!(other.err().contains("record file NOTHING is not defined"), "{}", other.err());
}

/// Regression: a link in the inbox was claimed and lost sight of, an archive that is watched came back in each round, and files for a rule with another
/// name went to `rejected`.
#[test]
fn a_watched_folder_takes_files_that_a_rule_can_take_and_no_links() {
    let world = examples();
    world.write("partners/inbox/.keep", "");
    std::os::unix::fs::symlink("../../edi/850.x12", world.path("partners/inbox/link.x12")).expect("a link");
    for _ in 0..2 {
        let done = ran(&world, &format!("partner run {P} --inbox inbox --settle 0 --once"), 1);
        assert!(done.err().contains("link.x12 is a symbolic link and stays"), "{}", done.err());
    }
    assert!(world.path("partners/inbox/link.x12").exists());
    for (options, what) in [
        ("--inbox inbox --archive inbox", "is watched and takes files too, as `archive`"),
        ("--inbox inbox --rejected inbox/../inbox", "is watched and takes files too, as `rejected`"),
        ("--inbox inbox --send invoice=inbox", "is watched twice"),
    ] {
        let done = ran(&world, &format!("partner run {P} {options} --settle 0 --once"), 2);
        assert!(done.err().contains(what), "{}", done.err());
    }
    let invoices = fs::read(world.path("maps/data/invoices.dat")).expect("an example");
    world.write("partners/out/a.dat", &invoices);
    let done = ran(&world, &format!("partner run {P} --send invoices=out --settle 0 --once"), 1);
    assert!(done.err().contains("error[PTN-105]") && done.err().contains("did you mean `invoice`?"), "{}", done.err());
    assert!(world.path("partners/out/a.dat").exists() && !world.path("partners/rejected").exists());
    let done = ran(&world, &format!("partner run {P} --send invoice=out --settle 0 --once"), 0);
    assert!(done.err().contains("3 documents"), "{}", done.err());
}

/// A name of more than 238 bytes has no room for the number of a claim, and no file of the folder was processed any more.
#[test]
fn a_file_with_a_long_name_stops_no_other() {
    let world = examples();
    let order = fs::read(world.path("edi/850.x12")).expect("an example");
    let long = format!("{}.x12", "ä".repeat(120));
    world.write(&format!("partners/inbox/{long}"), &order);
    world.write("partners/inbox/b.x12", "no EDI");
    let done = ran(&world, &format!("partner run {P} --inbox inbox --settle 0 --once"), 1);
    assert!(done.err().contains("3 delivered"), "{}", done.err());
    let left = fs::read_dir(world.path("partners/inbox")).expect("a folder").filter_map(Result::ok);
    let left: Vec<_> = left.filter(|entry| entry.path().is_file()).map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Content was lost if standard output was closed at the start: the write to it succeeded.
#[test]
fn content_waits_while_standard_output_is_closed() {
    let party = |name: &str| {
        format!("name = \"{name}\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"{name}\"\n")
    };
    let us = format!("own = true\n{}[settings]\nusage = \"both\"\n", party("US"));
    let rule = "[settings]\nacknowledge = [\"997\"]\nsend-to = \"output\"\n[[rule]]\nname = \"orders\"\ndirection = \"receive\"\ndocument = \"850\"\ndeliver = \"output\"\n";
    let acme = format!("{}{rule}", party("ACME"));
    let order = "ISA*00*          *00*          *ZZ*ACME           *ZZ*US             *260401*1200*^*00501*000000001*0*P*:~\
                 GS*PO*ACME*US*20260401*1200*1*X*005010~ST*850*0001~BEG*00*SA*PO4711**20260401~PO1*1*10*EA*1.00**VP*A~\
                 CTT*1~SE*5*0001~GE*1*1~IEA*1*000000001~";
    let other = order.replace("000000001", "000000002").replace("PO4711", "PO4712");
    let world = World::with([
        ("partners/us.toml", us.as_bytes()),
        ("partners/acme.toml", acme.as_bytes()),
        ("one.x12", order.as_bytes()),
        ("other.x12", other.as_bytes()),
    ]);
    let said = world.shell("\"$Q\" partner receive one.x12 >&-").code(2).err();
    assert!(said.contains("standard output cannot be written") && said.contains("nothing is lost"), "{said}");
    let got = world.run("partner receive other.x12").code(0).out();
    let numbers = ["PO4711", "PO4712"].map(|number| got.matches(number).count());
    assert!(numbers == [1, 1] && got.matches("ST*997*").count() == 2, "{got}");
}

/// The remedy for findings that are not printed named rejected entries, of which there were none.
#[test]
fn warnings_that_are_not_printed_are_found_by_their_code() {
    let world = examples();
    let order = String::from_utf8(world.read("edi/850.x12")).expect("text");
    let number = order.split('*').nth(13).expect("ISA13").to_owned();
    // Every second number is missing.
    let orders: Vec<u8> =
        (0..120).flat_map(|at| order.replace(&number, &format!("{:09}", 2 * at + 1)).into_bytes()).collect();
    world.write("orders.x12", orders);
    let said = ran(&world, &format!("partner receive {P} orders.x12"), 0).err();
    assert!(
        said.contains("more findings; `quayline interchange list` and") && said.contains("`--finding PTN-104`"),
        "{said}"
    );
    let found = ran(&world, &format!("interchange list {P} --finding PTN-104 -n 1000"), 0);
    assert_eq!(found.out().lines().count(), 119);
}
