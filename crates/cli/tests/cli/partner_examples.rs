//! The projects `examples/exchange` and `examples/payer`: each document by one command.

use std::fs;
use std::path::Path;

use crate::partner::examples;
use crate::world::World;

/// Files of a folder whose names begin with `start`, each as text.
fn files(world: &World, folder: &str, start: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(world.path(folder)) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let begins = |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
    let text = |path: &Path| String::from_utf8(fs::read(path).expect("a file")).unwrap_or_default();
    paths.iter().map(std::path::PathBuf::as_path).filter(begins).map(text).collect()
}

fn run(world: &World, project: &str, command: &str, rest: &str) -> String {
    let ran = world.run(&format!("{command} --project {project} {rest}"));
    ran.code(0);
    ran.err()
}

#[test]
fn an_order_becomes_json_and_a_record_and_is_answered_by_997_and_855() {
    let world = examples();
    let said = run(&world, "exchange", "partner receive", "edi/850.x12");
    assert!(said.contains("3 transactions, 3 delivered, 1 acknowledgment sent"), "{said}");
    assert_eq!(files(&world, "exchange/orders", "ALDER-850").len(), 3);
    assert_eq!(files(&world, "exchange/records", "ALDER-850").len(), 3);
    assert_eq!(files(&world, "exchange/outbox/alder", "ALDER-acknowledgment").len(), 1);
    let answers = files(&world, "exchange/outbox/alder", "ALDER-00");
    assert_eq!(answers.len(), 3);
    assert!(
        answers[0].contains("GS*PR*QUAYSIDE*ALDER*") && answers[0].contains("~BAK*00*AC*PO4711*"),
        "{}",
        answers[0]
    );
    // The answer is found with the order that it answers.
    let shown = world.run("transaction search --project exchange --field purchase-order=PO4711");
    shown.code(0);
    let id: u64 = shown.out().split_whitespace().next().expect("an entry").parse().expect("a number");
    let order = world.run(&format!("transaction show {id} --project exchange --json"));
    assert!(order.out().contains("\"entry "), "the answer's entry is an output: {}", order.out());
    world.write("answer.x12", &answers[0]);
    let checked = world.run("validate answer.x12 --guide edi/855.guide");
    assert!(checked.code(0).err().contains("no findings"), "{}", checked.err());
}

#[test]
fn invoices_leave_as_810_and_invoic_in_delayed_envelopes() {
    let world = examples();
    for document in ["invoice-x12", "invoice-edifact"] {
        let said = run(&world, "exchange", "partner send", &format!("--document {document} maps/data/invoices.dat"));
        assert!(said.contains("3 documents, 3 waiting, 0 interchanges written"), "{said}");
    }
    let said = run(&world, "exchange", "envelope release", "--all");
    assert!(said.contains("4 interchanges written"), "{said}");
    let alder = files(&world, "exchange/outbox/alder", "ALDER-");
    assert_eq!(alder.len(), 2);
    assert!(alder.iter().any(|text| text.contains("~GE*2*1~")), "two invoices in one group: {alder:?}");
    assert!(alder.iter().any(|text| text.contains("'UNZ+2+1'")), "two messages in one interchange: {alder:?}");
}

#[test]
fn orders_become_850_and_go_back() {
    let world = examples();
    run(&world, "exchange", "partner receive", "edi/orders.edi");
    let orders = files(&world, "exchange/orders-x12", "ALDER-ORDERS");
    assert!(orders.len() == 2 && orders.iter().all(|text| text.contains("~ST*850*")), "{orders:?}");
    let back = "--document order-onward --to BIRCH maps/maps/tests/850-orders/back/input.x12";
    run(&world, "exchange", "partner send", back);
    let sent = files(&world, "exchange/outbox/birch", "BIRCH-1-");
    assert!(sent.len() == 1 && sent[0].contains("+ORDERS:D:96A:UN'"), "{sent:?}");
}

#[test]
fn a_cxml_order_leaves_as_850() {
    let world = examples();
    run(&world, "exchange", "partner send", "--document purchase --to BIRCH maps/data/order.cxml.xml");
    let found = world.run("transaction search --project exchange --field purchase-order=AP-2026-0815");
    assert_eq!(found.out().lines().count(), 1, "{}", found.out());
    assert_eq!(fs::read_dir(world.path("exchange/outbox/birch")).expect("a folder").count(), 1);
}

#[test]
fn payments_become_rows_in_csv_and_parquet_and_so_does_the_store() {
    let world = examples();
    run(&world, "exchange", "partner receive", "edi/835.x12");
    let rows = files(&world, "exchange/payments", "MUTUALCARE-835");
    assert!(rows.len() == 2 && rows.iter().all(|text| text.starts_with("payment,")), "{rows:?}");
    // One file of each format for each document, with the same rows.
    let mut columns: Vec<_> = fs::read_dir(world.path("exchange/payments-parquet"))
        .expect("a folder")
        .map(|file| file.expect("a file"))
        .collect();
    columns.sort_by_key(std::fs::DirEntry::file_name);
    assert_eq!(columns.len(), 2);
    for (file, rows) in columns.iter().zip(&rows) {
        let path = file.path();
        assert!(path.extension().is_some_and(|extension| extension == "parquet"), "{}", path.display());
        let read = world.run(&format!("convert {} --to csv", path.display()));
        assert_eq!(read.code(0).out().lines().count(), rows.lines().count(), "{}", read.out());
        let cells = |text: &str| text.lines().map(|line| line.split(',').nth(3).map(str::to_owned)).collect::<Vec<_>>();
        assert_eq!(cells(&read.out()), cells(rows), "the claims, after the head");
    }
    // Outside of partners, the extension of the output determines the format.
    world.run("translate --map maps/maps/payments.qmap edi/835.x12 -o payments.parquet").code(0);
    run(&world, "exchange", "transaction export", "--parquet store.parquet");
    let read = world.run("convert store.parquet");
    read.code(0);
    let lines: Vec<serde_json::Value> =
        read.out().lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    let json = world.run("transaction export --project exchange");
    assert_eq!(lines.len(), json.out().lines().count());
    let payment = lines.iter().find(|line| line["document"] == "835").expect("a payment");
    assert_eq!(payment["fields"][0]["name"], "check", "{payment}");
    assert_eq!(payment["state"], "delivered");
}

#[test]
fn claims_become_records_and_are_answered_by_999_and_277() {
    let world = examples();
    run(&world, "payer", "partner receive", "edi/claims.x12");
    assert_eq!(fs::read_dir(world.path("payer/claims")).expect("a folder").count(), 1);
    let sent = files(&world, "payer/outbox/harbour", "HARBOUR-");
    assert!(sent.iter().any(|text| text.contains("ST*999*")), "{sent:?}");
    let answer = sent.iter().find(|text| text.contains("ST*277*")).expect("an answer");
    // The claims are marked as a test, and so is the reply.
    assert!(sent.iter().all(|text| text.contains("*0*T*:~")), "{sent:?}");
    assert!(answer.contains("~STC*A1:19:PR*20260401*WQ*185.5~QTY*90*2~AMT*YU*185.5~HL*3*2*19*1~"), "{answer}");
    assert!(
        answer.contains("~TRN*2*QG1001~STC*A2:20:PR*20260401*WQ*100.5~REF*D9*QG10017~DTP*472*D8*20260331~"),
        "{answer}"
    );
}

/// A claim whose amount is not the sum of its lines is rejected by the 277CA alone: the batch, the 999 and the other claim are accepted.
#[test]
fn a_bad_claim_is_rejected_alone() {
    let world = examples();
    let claims = fs::read_to_string(world.path("edi/claims.x12")).expect("claims");
    fs::write(world.path("edi/bad.x12"), claims.replace("CLM*QG1002*85*", "CLM*QG1002*95*")).expect("written");
    let said = run(&world, "payer", "partner receive", "edi/bad.x12");
    assert!(said.contains("1 delivered"), "{said}");
    let sent = files(&world, "payer/outbox/harbour", "HARBOUR-");
    assert!(sent.iter().any(|text| text.contains("ST*999*") && text.contains("IK5*A~")), "{sent:?}");
    let answer = sent.iter().find(|text| text.contains("ST*277*")).expect("an answer");
    assert!(answer.contains("*WQ*195.5~QTY*90*1~QTY*AA*1~AMT*YU*100.5~AMT*YY*95~"), "{answer}");
    assert!(answer.contains("~TRN*2*QG1001~STC*A2:20:PR*"), "{answer}");
    assert!(answer.contains("~TRN*2*QG1002~STC*A3:400:41*20260401*U*95~"), "{answer}");
    // The record of the good claim only.
    let both = examples();
    run(&both, "payer", "partner receive", "edi/claims.x12");
    let bytes = |world: &World| {
        let files = fs::read_dir(world.path("payer/claims")).expect("a folder");
        files.map(|file| file.expect("an entry").metadata().expect("a file").len()).sum::<u64>()
    };
    assert!(bytes(&world) > 0 && bytes(&world) < bytes(&both), "{} of {}", bytes(&world), bytes(&both));
}
