//! Bad input, case by case: Quayline reports each case with a code, keeps all bytes, and a search finds them.

use quayline_partner::{Entry, Filter, Kind, State};

use crate::world::{World, interchange, orders};

struct Case {
    name: &'static str,
    /// Settings of the partner in addition.
    settings: &'static str,
    /// Interchanges that came before.
    before: Vec<String>,
    edi: String,
    /// The code that names it.
    code: &'static str,
    /// State of the entry that has the finding.
    state: State,
    /// Documents that are delivered nevertheless.
    delivered: u64,
}

/// An interchange with one document of another version than the guide and the rule know.
fn of_version(version: &str) -> String {
    orders(7, &["PO1"]).replace("*X*005010~", &format!("*X*{version}~"))
}

fn answer(number: u32, body: &str) -> String {
    format!(
        "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*{number:09}*0*P*:~\
         GS*FA*ACME*US*20260401*1200*{number}*X*005010~ST*997*0001~{body}SE*4*0001~GE*1*{number}~IEA*1*{number:09}~"
    )
}

fn cases() -> Vec<Case> {
    let case = |name, edi, code, state| Case { name, settings: "", before: Vec::new(), edi, code, state, delivered: 0 };
    vec![
        case("unknown sender", orders(7, &["PO1"]).replace("01*ACME  ", "01*OTHER "), "PTN-100", State::Unrouted),
        case("unknown receiver", orders(7, &["PO1"]).replace("ZZ*US     ", "ZZ*NOBODY "), "PTN-101", State::Unrouted),
        case("version without a guide", of_version("009999"), "EDI-044", State::Rejected),
        Case {
            settings: "validate = \"envelope\"",
            ..case("version without a rule", of_version("009999"), "PTN-105", State::Unrouted)
        },
        case("test for production", interchange(7, "T", &[("PO1", "SA")]), "PTN-102", State::Rejected),
        Case {
            settings: "usage = \"test\"",
            ..case("production for test", orders(7, &["PO1"]), "PTN-102", State::Rejected)
        },
        Case {
            before: vec![orders(7, &["PO0"])],
            ..case("duplicate", orders(7, &["PO1"]), "PTN-103", State::Duplicate)
        },
        Case {
            before: vec![orders(4, &["PO0"])],
            delivered: 1,
            ..case("gap, reported", orders(7, &["PO1"]), "PTN-104", State::Delivered)
        },
        Case {
            settings: "gaps = \"reject\"",
            before: vec![orders(4, &["PO0"])],
            ..case("gap, refused", orders(7, &["PO1"]), "PTN-104", State::Rejected)
        },
        Case {
            delivered: 1,
            ..case(
                "acknowledgment for what was never sent",
                answer(7, "AK1*PO*77~AK9*A*1*1*1~"),
                "PTN-107",
                State::Delivered,
            )
        },
    ]
}

/// Returns the stored bytes of all entries, where there are any.
fn bytes_of(world: &World, entries: &[Entry]) -> String {
    let ledger = world.ledger();
    let unit = ledger.begin().expect("a unit");
    let mut all = Vec::new();
    for entry in entries {
        let visit = &mut |bytes: &[u8]| {
            all.extend_from_slice(bytes);
            Ok(())
        };
        // A group has no bytes of its own, and an accepted interchange has those of its documents.
        let _ = ledger.bytes_of(&unit, entry, visit);
    }
    String::from_utf8(all).expect("text")
}

#[test]
fn bad_input_is_named_kept_and_found_again() {
    for Case { name, settings, before, edi, code, state, delivered } in cases() {
        let usage = if settings.contains("usage") { "" } else { "usage = \"production\"\n" };
        let world = World::with(&format!("{usage}{settings}"), "");
        world.edit("document = \"850\"\n", "document = \"850\"\nversion = \"005010\"\n");
        for earlier in &before {
            assert_eq!(world.receive(earlier).delivered, 1, "{name}");
        }
        let report = world.receive(&edi);
        assert_eq!(report.delivered, delivered, "{name}: {report:?}");
        let finding = report.findings.iter().find(|(_, finding)| finding.code.0 == code);
        let (id, finding) = finding.unwrap_or_else(|| panic!("{name}: {report:?}"));
        assert!(!finding.message.is_empty() && finding.hint.is_some(), "{name}: {finding:?}");
        // By the code, the control number and the state; each finds the entry of the report.
        let with = |filter: Filter| world.search(&Filter { limit: 100, ..filter });
        let by_code = with(Filter { finding: Some(code.into()), ..Filter::default() });
        let by_number = with(Filter { number: Some("7".into()), ..Filter::default() });
        let by_state = with(Filter { state: Some(state), ..Filter::default() });
        for (how, found) in [("code", &by_code), ("number", &by_number), ("state", &by_state)] {
            assert!(found.iter().any(|entry| entry.id == *id), "{name}: by {how}: {id} in {found:?}");
        }
        assert!(by_code.iter().any(|entry| entry.id == *id && entry.state == state), "{name}: {by_code:?}");
        // The document is there, byte by byte.
        let body = &edi[edi.find("ST*").expect("a header")..edi.find("GE*").expect("a trailer")];
        let kept = bytes_of(&world, &by_number);
        assert!(kept.contains(body), "{name}: {kept}");
    }
}

/// A folder on a full disk: the document is processed, its entry is found, and the file follows when there is room. Where the store itself is full,
/// `crash.rs` ends each commit.
#[test]
fn output_for_a_full_disk_is_named_kept_and_found_again() {
    let world = World::new();
    world.write("orders", "not a folder");
    let report = world.receive(&orders(7, &["PO1"]));
    let finding = report.findings.iter().find(|(_, finding)| finding.code.0 == "PTN-300");
    assert!(finding.is_some_and(|(_, one)| one.hint.as_deref().is_some_and(|hint| hint.contains("nothing is lost"))));
    let field = Filter { field: Some(("order".into(), "PO1".into())), limit: 10, ..Filter::default() };
    let found = world.search(&field);
    assert_eq!((found.len(), found[0].kind, found[0].state), (1, Kind::Transaction, State::Delivered));
    assert!(found[0].details.outputs.iter().any(|output| output.contains("orders")), "{found:?}");
    std::fs::remove_file(world.path("orders")).expect("removed");
    world.receive(&orders(8, &["PO2"]));
    assert_eq!(world.files("orders").len(), 2);
}
