//! Interchanges of partners.

use quayline_partner::{Again, Book, DeskLimits, EntryId, Filter, Kind, State, Way};

use crate::world::{World, interchange, orders};

#[test]
fn an_order_is_checked_mapped_delivered_acknowledged_and_found() {
    let world = World::new();
    let report = world.receive(&orders(7, &["PO1", "PO2"]));
    assert_eq!((report.transactions, report.delivered, report.acknowledgments), (2, 2, 1), "{report:?}");
    assert!(report.is_good());
    let files = world.files("orders");
    assert_eq!(files.len(), 2);
    assert!(files[0].1.contains(r#""number":"PO1""#), "{files:?}");
    let acknowledgments = world.files("outbox/ACME");
    assert_eq!(acknowledgments.len(), 1);
    let text = &acknowledgments[0].1;
    assert!(text.contains("*ZZ*US             *01*ACME           *") && text.contains("AK1*PO*7*005010~"), "{text}");
    assert!(text.contains("AK9*A*2*2*2~") && text.contains("IEA*1*000000001~"), "{text}");
    let by_field = Filter { field: Some(("order".into(), "PO2".into())), limit: 10, ..Filter::default() };
    let found = world.search(&by_field);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].state, found[0].details.interchange.as_str()), (State::Delivered, "000000007"));
    assert_eq!(found[0].details.rule, "ACME/orders");
    let interchanges = world.entries(Kind::Interchange);
    let received: Vec<_> = interchanges.iter().filter(|entry| entry.way == Way::Received).collect();
    assert_eq!((received.len(), received[0].state, received[0].details.transactions), (1, State::Delivered, 2));
}

#[test]
fn the_same_bytes_are_refused_and_the_same_number_is_answered_as_a_duplicate() {
    let world = World::with("usage = \"both\"\nacknowledge = [\"997\", \"ta1\"]", "");
    world.receive(&orders(7, &["PO1"]));
    let again = world.receive(&orders(7, &["PO1"]));
    assert_eq!(again.findings[0].1.code.0, "PTN-106");
    assert_eq!(world.entries(Kind::Transaction).len(), 1);
    let duplicate = world.receive(&orders(7, &["PO9"]));
    assert_eq!((duplicate.duplicates, duplicate.rejected, duplicate.delivered), (1, 0, 0));
    assert!(!duplicate.is_good());
    let codes: Vec<&str> = duplicate.findings.iter().map(|(_, finding)| finding.code.0).collect();
    assert_eq!(codes, ["PTN-103", "PTN-109"], "what is answered is reported once");
    assert_eq!(world.files("orders").len(), 1);
    let answers = world.files("outbox/ACME");
    assert!(answers.iter().any(|(_, text)| text.contains("TA1*000000007*260401*1200*R*025~")), "{answers:?}");
    let kept = world.search(&Filter { state: Some(State::Duplicate), limit: 10, ..Filter::default() });
    assert_eq!(kept.len(), 3, "the interchange, its group and its document");
    // An interchange without documents counts as one.
    let empty = |number| world.receive(&orders(number, &[]));
    assert!(empty(8).is_good());
    assert_eq!(world.receive(&(orders(8, &[]) + "\n")).duplicates, 1);
    // Said to be received again, the same bytes are a duplicate too.
    assert_eq!(world.receive_again(&orders(7, &["PO1"]), Again::Yes).findings[0].1.code.0, "PTN-103");
}

#[test]
fn missing_numbers_are_a_warning() {
    let world = World::new();
    world.receive(&orders(7, &["PO1"]));
    let report = world.receive(&orders(10, &["PO2"]));
    assert_eq!(report.delivered, 1);
    assert_eq!(report.findings[0].1.code.0, "PTN-104");
    assert!(report.findings[0].1.message.contains("2 interchange numbers are missing before this one: 8 to 9"));
    // An older one that comes late is no gap, nor is the next.
    assert!(world.receive(&orders(8, &["PO3"])).findings.is_empty());
    assert!(world.receive(&orders(11, &["PO4"])).findings.is_empty());
}

#[test]
fn a_gap_can_hold_interchanges_back() {
    let world = World::with("gaps = \"reject\"\nacknowledge = [\"ta1\"]", "");
    assert!(world.receive(&orders(7, &["PO1"])).is_good());
    let early = world.receive(&orders(9, &["PO3"]));
    assert_eq!((early.delivered, early.rejected), (0, 1), "{early:?}");
    assert_eq!(early.findings[0].1.code.0, "PTN-104");
    let answers: String = world.files("outbox/ACME").into_iter().map(|(_, text)| text).collect();
    assert!(answers.contains("TA1*000000009*260401*1200*R*018~"), "{answers}");
    // It is still too early, also when it comes again; after the missing one it is taken.
    assert_eq!(world.receive_again(&orders(9, &["PO3"]), Again::Yes).delivered, 0);
    assert_eq!(world.receive(&orders(8, &["PO2"])).delivered, 1);
    assert_eq!(world.receive_again(&orders(9, &["PO3"]), Again::Yes).delivered, 1);
    assert_eq!(world.files("orders").len(), 3);
}

/// With `gaps = "ignore"`, nothing told that interchanges were missing, or how many.
#[test]
fn an_ignored_gap_is_a_note_of_the_entry() {
    let world = World::with("gaps = \"ignore\"", "");
    for number in [7, 9, 10, 15] {
        assert!(world.receive(&orders(number, &["PO1"])).findings.is_empty(), "{number}");
    }
    let filter = Filter { kind: Some(Kind::Interchange), limit: 10, ..Filter::default() };
    let mut notes: Vec<String> = world
        .search(&filter)
        .into_iter()
        .flat_map(|entry| entry.details.findings)
        .map(|finding| format!("{} {}: {}", finding.severity, finding.code, finding.message))
        .collect();
    notes.sort();
    let expected = [
        "note PTN-104: 4 interchange numbers are missing before this one: 11 to 14",
        "note PTN-104: the interchange number 8 is missing before this one",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn unknown_senders_receivers_and_wrong_tests_are_named_and_kept() {
    let world = World::with("usage = \"production\"\nacknowledge = [\"ta1\"]", "");
    for (edi, code, state) in [
        (orders(1, &["PO1"]).replace("01*ACME  ", "01*OTHER "), "PTN-100", State::Unrouted),
        (orders(2, &["PO1"]).replace("ZZ*US     ", "ZZ*NOBODY "), "PTN-101", State::Unrouted),
        (interchange(3, "T", &[("PO1", "SA")]), "PTN-102", State::Rejected),
    ] {
        let report = world.receive(&edi);
        assert_eq!(report.delivered, 0, "{code}");
        assert_eq!(report.findings[0].1.code.0, code);
        let kept =
            world.search(&Filter { kind: Some(Kind::Transaction), state: Some(state), limit: 10, ..Filter::default() });
        assert!(!kept.is_empty(), "{code}");
    }
    assert!(world.files("orders").is_empty());
    let answers: String = world.files("outbox/ACME").into_iter().map(|(_, text)| text).collect();
    // The unknown sender has no answer, the others have.
    assert!(!answers.contains("TA1*000000001"), "{answers}");
    assert!(answers.contains("TA1*000000002*260401*1200*R*008~"), "{answers}");
    assert!(answers.contains("TA1*000000003*260401*1200*R*020~"), "{answers}");
}

#[test]
fn a_bad_document_is_rejected_kept_whole_corrected_and_processed_again() {
    let world = World::new();
    let bad =
        orders(7, &["PO1", "PO2"]).replacen("N1*BY*ACME~PO1*1*1*EA*1**VP*X~", "N1*BY*ACME~PO1*1*X*EA*1**VP*X~", 1);
    let report = world.receive(&bad);
    assert_eq!((report.delivered, report.rejected), (1, 1), "{report:?}");
    let answer = &world.files("outbox/ACME")[0].1;
    assert!(answer.contains("AK9*P*2*2*1~"), "{answer}");
    let rejected = world.search(&Filter { state: Some(State::Rejected), limit: 10, ..Filter::default() });
    let entry = &rejected[0];
    assert!(entry.details.findings.iter().any(|finding| finding.severity == "error"), "{entry:?}");
    let ledger = world.ledger();
    let unit = ledger.begin().expect("a unit");
    let kept = ledger.body(&unit, entry.id, quayline_partner::Part::Document).expect("read").expect("kept");
    let kept = String::from_utf8(kept).expect("text");
    assert!(kept.starts_with("ISA*") && kept.contains("PO1*1*X*EA") && kept.ends_with("IEA*1*000000007~"), "{kept}");
    drop(unit);
    let still =
        world.at_desk(quayline_partner::DeskLimits::default(), |desk| desk.reprocess(entry.id, None)).expect("done");
    assert_eq!(still.state, State::Rejected, "nothing changed");
    let corrected = kept.replace("PO1*1*X*EA", "PO1*1*5*EA");
    let done = world.at_desk(quayline_partner::DeskLimits::default(), |desk| {
        desk.reprocess(still.entry, Some(corrected.as_bytes()))
    });
    let done = done.expect("done");
    assert_eq!(done.state, State::Delivered, "{done:?}");
    assert_eq!(world.files("orders").len(), 2);
    let replaced = world.search(&Filter { state: Some(State::Replaced), limit: 10, ..Filter::default() });
    assert_eq!(replaced.len(), 2);
    let twice = world.at_desk(quayline_partner::DeskLimits::default(), |desk| desk.reprocess(entry.id, None));
    assert_eq!(twice.expect_err("replaced").0[0].code.0, "PTN-303");
}

#[test]
fn a_group_that_ends_wrong_delivers_nothing() {
    let world = World::new();
    let report = world.receive(&orders(7, &["PO1", "PO2"]).replace("GE*2*7~", "GE*3*7~"));
    assert_eq!((report.delivered, report.rejected), (0, 2), "{report:?}");
    assert!(world.files("orders").is_empty());
    let answer = &world.files("outbox/ACME")[0].1;
    assert!(answer.contains("AK9*R*3*2*0*5~"), "{answer}");
}

#[test]
fn a_document_that_no_rule_takes_waits_for_one() {
    let world = World::new();
    let invoice = orders(7, &["PO1"]).replace("ST*850*", "ST*855*").replace("GS*PO", "GS*PR");
    world.write(
        "partners/acme.toml",
        &std::fs::read_to_string(world.path("partners/acme.toml"))
            .expect("text")
            .replace("guides = [\"tiny.guide\"]\n", ""),
    );
    let report = world.receive(&invoice);
    assert_eq!((report.unrouted, report.findings[0].1.code.0), (1, "PTN-105"));
    // It is acknowledged all the same.
    assert!(world.files("outbox/ACME")[0].1.contains("AK9*A*1*1*1~"));
    let entry = world.search(&Filter { state: Some(State::Unrouted), limit: 1, ..Filter::default() }).remove(0);
    let text = std::fs::read_to_string(world.path("partners/acme.toml")).expect("text");
    let rule = "\n[[rule]]\nname = \"rest\"\ndirection = \"receive\"\ndeliver = \"folder:rest\"\n";
    world.write("partners/acme.toml", &(text + rule));
    let done =
        world.at_desk(quayline_partner::DeskLimits::default(), |desk| desk.reprocess(entry.id, None)).expect("done");
    assert_eq!(done.state, State::Delivered);
    let files = world.files("rest");
    assert!(files.len() == 1 && files[0].1.contains("ST*855*0001~"), "{files:?}");
}

#[test]
fn content_chooses_the_rule_and_queues_take_output() {
    let rule = "[[rule]]\nname = \"release\"\ndirection = \"receive\"\ndocument = \"850\"\nmap = \"maps/in.qmap\"\ndeliver = \"queue:RELEASES\"\nwhen = { BEG02 = \"RL\" }\n";
    let world = World::with("usage = \"both\"", rule);
    let store = world.store();
    let mut unit = store.begin().expect("a unit");
    store.define_queue(&mut unit, quayline_store::queue::QueueDefinition::local("RELEASES")).expect("a queue");
    unit.commit().expect("committed");
    let edi = interchange(1, "P", &[("PO1", "RL"), ("PO2", "SA")]);
    let mut source = std::io::Cursor::new(edi.into_bytes());
    let limits = quayline_partner::DeskLimits::default();
    let report =
        world.at_desk_over(&store, limits, |desk| desk.receive("in.x12", &mut source, Again::No)).expect("done");
    assert_eq!(report.delivered, 2, "{report:?}");
    assert_eq!(store.queue("RELEASES").expect("a queue").facts().expect("facts").depth, 1);
    assert_eq!(world.files("orders").len(), 1);
}

#[test]
fn a_file_without_an_interchange_is_kept() {
    let world = World::new();
    let report = world.receive("not EDI at all");
    assert_eq!((report.unrouted, report.findings[0].1.code.0), (1, "PTN-110"));
    assert_eq!(world.entries(Kind::Interchange).len(), 1);
}

/// Truncates a source at any place of its second interchange: the first one is processed, and the rest is reported and kept.
#[test]
fn what_is_cut_off_is_told_wherever_it_ends() {
    let (first, second) = (orders(7, &["PO1"]), orders(8, &["PO2"]));
    for length in 1..second.len() {
        let world = World::new();
        let report = world.receive(&format!("{first}{}", &second[..length]));
        if length < "ISA*".len() {
            assert_eq!(report.findings.len(), 1, "{length}: {report:?}");
            continue;
        }
        if length + "~".len() == second.len() {
            // All is there, but for the terminator of the trailer.
            assert!(report.is_good() && report.delivered == 2, "{length}: {report:?}");
            continue;
        }
        assert!(!report.is_good() && report.delivered == 1, "{length}: {report:?}");
        assert!(report.rejected + report.unrouted >= 1, "{length}: {report:?}");
        let (id, _) = report.findings.iter().find(|(id, _)| id.0 != 0).expect("a finding of an entry");
        let kept: u64 =
            world.entries(Kind::Interchange).iter().filter(|entry| entry.id == *id).map(|e| e.details.bytes).sum();
        let is_header = report.unrouted == 1;
        assert!(!is_header || kept == length as u64, "{length}: {kept} bytes are kept");
    }
}

#[test]
fn what_stands_between_interchanges_is_told() {
    let world = World::new();
    let text = format!("From: a mail\r\n{}GARBAGE\n{}\u{1a}", orders(7, &["PO1"]), orders(8, &["PO2"]));
    let report = world.receive(&text);
    assert_eq!((report.delivered, report.is_good()), (2, true), "{report:?}");
    let told: Vec<String> = report.findings.iter().map(|(_, finding)| finding.message.clone()).collect();
    // Control-Z at the end is white space.
    assert!(told.len() == 2 && told[0].starts_with("14 bytes here") && told[1].starts_with("8 bytes here"), "{told:?}");
}

/// A rule names the tables that its maps look up, as the node of a flow does; several maps share them.
#[test]
fn maps_of_rules_look_up_tables() {
    let map = "map \"m\"\nsource \"../tiny.guide\"\ntarget order \"../order.json\"\nlookup kinds(id: text) -> (name: text(20))\nnumber = BEG.BEG03\nkind = kinds(BEG.BEG02).name ?? \"?\"\n";
    let rule = |lookups: &str| {
        format!(
            "[[rule]]\nname = \"kinds\"\ndirection = \"receive\"\ndocument = \"850\"\nmap = [\"maps/in.qmap\", \"maps/kinds.qmap\"]\n{lookups}deliver = \"folder:kinds\"\nwhen = {{ BEG02 = \"SA\" }}\n"
        )
    };
    let world = |lookups: &str| {
        let world = World::with("usage = \"both\"", &rule(lookups));
        world.write("maps/kinds.qmap", map);
        world.write("kinds.csv", "id,name\nSA,stand-alone\n");
        world.write("twice.csv", "id,name\nSA,stand-alone\nSA,other\n");
        world
    };
    let of_maps = world("lookups = \"kinds=kinds.csv\"\n");
    let book = of_maps.book();
    book.check().expect("the table fits");
    let digest = |book: &Book| {
        let rule = &book.partner(book.named("ACME").expect("a partner")).rules[1];
        book.map(&rule.maps[1]).expect("a map").digest
    };
    let before = digest(&book);
    of_maps.write("kinds.csv", "id,name\nSA,alone\n");
    assert_ne!(digest(&of_maps.book()), before, "a changed table is another map");
    of_maps.receive(&interchange(1, "P", &[("PO1", "SA")]));
    let files = of_maps.files("kinds");
    assert!(files.iter().any(|(_, text)| text.contains("\"kind\":\"alone\"")), "{files:?}");
    for (lookups, expected) in [
        ("", "the map looks up `kinds`, and no table has that name"),
        ("lookups = \"kinds=kinds.csv|more=kinds.csv\"\n", "the map does not look up `more`"),
        ("lookups = \"kinds=twice.csv\"\n", "this row has the same keys as line 2"),
    ] {
        let found = world(lookups).book().check().expect_err("refused").to_string();
        assert!(found.contains(expected), "{lookups}: {found}");
    }
    for (lookups, expected) in [
        ("lookups = \"kinds\"\n", "`kinds` is not NAME=FILE"),
        ("lookups = \"kinds=absent.csv\"\n", "the table absent.csv does not exist"),
    ] {
        let world = world(lookups);
        let opened = Book::open(&world.path(""), quayline_project::ShapeOptions::default(), 0, 0);
        let found = opened.err().map(|found| found.to_string()).unwrap_or_default();
        assert!(found.contains(expected), "{lookups}: {found}");
    }
}

/// No program provides functions for maps here, so the rule is refused, instead of each document.
#[test]
fn maps_with_functions_of_programs_are_refused() {
    let world = World::new();
    world.write(
        "maps/in.qmap",
        "map \"m\"\nsource \"../tiny.guide\"\ntarget order \"../order.json\"\nfn rate(id: text) -> text(9)\nnumber = rate(BEG.BEG03)\n",
    );
    let found = world.book().check().expect_err("refused").to_string();
    assert!(
        found.contains("a program computes the function `rate` of the map, and partners run no such programs"),
        "{found}"
    );
}

/// Returns the documents of an unknown sender, which is a partner from now on.
fn unrouted(world: &World, edi: &str) -> Vec<EntryId> {
    assert_eq!(world.receive(edi).delivered, 0);
    world.edit("[settings]", "[[identity]]\nstandard = \"x12\"\nqualifier = \"01\"\nid = \"OTHER\"\n[settings]");
    let filter = Filter { kind: Some(Kind::Transaction), state: Some(State::Unrouted), limit: 9, ..Filter::default() };
    world.search(&filter).into_iter().map(|entry| entry.id).collect()
}

/// The partner repeats an interchange that had no answer: its documents were processed once more.
#[test]
fn an_interchange_whose_documents_are_processed_again_is_a_duplicate_when_it_comes_again() {
    let world = World::new();
    let edi = orders(9, &["PO1", "PO2"]).replace("01*ACME  ", "01*OTHER ");
    let documents = unrouted(&world, &edi);
    let again = |id: EntryId| world.at_desk(DeskLimits::default(), |desk| desk.reprocess(id, None));
    assert_eq!(again(documents[0]).expect("processed").state, State::Delivered);
    let report = world.receive_again(&edi, Again::Yes);
    assert_eq!((report.delivered, report.findings[0].1.code.0), (0, "PTN-103"), "{report:?}");
    assert_eq!(again(documents[1]).expect("processed").state, State::Delivered);
    assert_eq!(world.files("orders").len(), 2);
    let filter = Filter { kind: Some(Kind::Interchange), limit: 9, ..Filter::default() };
    let all = world.search(&filter).into_iter().filter(|entry| entry.way == Way::Received);
    let states: Vec<_> = all.map(|entry| (entry.state, entry.partner)).collect();
    assert_eq!(states, [(State::Delivered, "ACME".to_owned()), (State::Duplicate, "ACME".to_owned())]);
}

/// The other order: the documents of the first copy were processed after those of the second.
#[test]
fn documents_of_an_interchange_that_came_again_are_not_processed_twice() {
    let edi = orders(9, &["PO1"]).replace("01*ACME  ", "01*OTHER ");
    for (policy, is_refused) in [("", true), ("duplicates = \"warn\"", false), ("duplicates = \"accept\"", false)] {
        let world = World::with(&format!("usage = \"both\"\n{policy}"), "");
        let documents = unrouted(&world, &edi);
        assert_eq!(world.receive_again(&edi, Again::Yes).delivered, 1);
        match world.at_desk(DeskLimits::default(), |desk| desk.reprocess(documents[0], None)) {
            Ok(done) => {
                let is_told = done.findings.iter().any(|finding| finding.code.0 == "PTN-103");
                assert_eq!((is_refused, is_told), (false, policy.contains("warn")), "{done:?}");
            }
            Err(found) => {
                assert!(is_refused && found.to_string().contains("came again and is processed, as entry"), "{found}")
            }
        }
        assert_eq!(world.files("orders").len(), 2 - usize::from(is_refused), "{policy}");
    }
}

/// A folder got an empty file and a queue an empty message.
#[test]
fn a_document_that_the_map_drops_is_not_delivered() {
    let world = World::new();
    let map = std::fs::read_to_string(world.path("maps/in.qmap")).expect("a map");
    world.write("maps/in.qmap", &format!("{map}if BEG.BEG03 = \"PO2\" {{\n  drop\n}}\n"));
    let report = world.receive(&orders(7, &["PO1", "PO2", "PO3"]));
    assert_eq!((report.delivered, report.rejected), (3, 0), "{report:?}");
    assert_eq!(world.files("orders").len(), 2);
    let dropped = world.entries(Kind::Transaction).into_iter().find(|entry| entry.details.outputs.is_empty());
    let details = dropped.expect("no output").details;
    assert_eq!(details.findings.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>(), ["CNV-041"]);
}
