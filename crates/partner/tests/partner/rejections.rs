//! Documents that are delivered, compared with the acknowledgment that their sender gets.

use std::fs;

use quayline_core::Severity;
use quayline_partner::{Again, DeskLimits, Entry, Kind, State, Way};

use crate::world::{World, interchange, orders};

const ANY: &str = "\n[[rule]]\nname = \"any\"\ndirection = \"receive\"\ndeliver = \"folder:any\"\n";

const ALL: &str = "usage = \"both\"\nduplicates = \"accept\"\nacknowledge = [\"997\", \"ta1\", \"contrl\"]\n";

fn world(reject_on: &str) -> World {
    World::with(&format!("{ALL}reject-on = \"{reject_on}\""), ANY)
}

/// Receives `edi`. Returns the answer and the entries that are newer than `before`.
fn received(world: &World, edi: &str, before: &mut u64) -> (String, Vec<Entry>) {
    let _ = fs::remove_dir_all(world.path("outbox"));
    world.receive_again(edi, Again::Yes);
    let answer = world.files("outbox/ACME").into_iter().map(|(_, text)| text).collect();
    let mut entries: Vec<Entry> = [Kind::Interchange, Kind::Group, Kind::Transaction]
        .into_iter()
        .flat_map(|kind| world.entries(kind))
        .filter(|entry| entry.way == Way::Received)
        .collect();
    entries.sort_by_key(|entry| entry.id);
    let new = entries.iter().filter(|entry| entry.id.0 > *before).cloned().collect();
    *before = entries.last().map_or(0, |entry| entry.id.0);
    (answer, new)
}

fn count(entries: &[Entry], kind: Kind, state: State) -> usize {
    entries.iter().filter(|entry| entry.kind == kind && entry.state == state).count()
}

/// Compares what was delivered with the answer.
fn agrees(answer: &str, entries: &[Entry]) -> Result<(), String> {
    let delivered = count(entries, Kind::Transaction, State::Delivered);
    let interchanges = count(entries, Kind::Interchange, State::Delivered);
    let has = |text: &str| answer.matches(text).count();
    let (accepted, documents) = if answer.contains("UNB+") {
        let groups: Vec<&str> = entries
            .iter()
            .filter(|entry| entry.kind == Kind::Group && entry.state == State::Rejected)
            .map(|entry| entry.number.as_str())
            .collect();
        let accepted = answer.split('\'').filter(|one| one.starts_with("UCI+") && one.split('+').nth(4) == Some("7"));
        let accepted = accepted.count();
        let refused_groups =
            answer.split('\'').filter(|one| one.starts_with("UCF+") && one.split('+').nth(4) == Some("4"));
        let refused_groups = refused_groups.count();
        if accepted > 0 && refused_groups != groups.len() {
            return Err(format!("{refused_groups} groups refused, rejected are {groups:?}"));
        }
        let open = |entry: &&Entry| entry.kind == Kind::Transaction && !groups.contains(&entry.details.group.as_str());
        let refused = answer.split('\'').filter(|one| one.starts_with("UCM+")).count();
        (accepted, if accepted > 0 { entries.iter().filter(open).count() - refused } else { 0 })
    } else {
        let ta1 = answer.split('~').filter(|one| one.starts_with("TA1*") && one.split('*').nth(4) != Some("R"));
        (ta1.count(), has("~AK5*A") + has("~AK5*E"))
    };
    if (accepted, documents) == (interchanges, delivered) {
        return Ok(());
    }
    Err(format!(
        "the answer accepts {accepted} interchanges with {documents} documents, delivered are {interchanges} with {delivered}"
    ))
}

/// Texts that differ from `segments` in one place: segments left out, repeated, exchanged, put in, cut off or changed.
fn variants(segments: &[&str], end: char, separator: char, stray: &[&str]) -> Vec<String> {
    let join = |all: &[String]| all.iter().map(|one| format!("{one}{end}")).collect::<String>();
    let own: Vec<String> = segments.iter().map(|one| (*one).to_owned()).collect();
    let mut texts = vec![join(&own)];
    for at in 0..own.len() {
        let with = |change: &dyn Fn(&mut Vec<String>)| {
            let mut all = own.clone();
            change(&mut all);
            join(&all)
        };
        texts.push(with(&|all| drop(all.remove(at))));
        texts.push(with(&|all| all.insert(at, own[at].clone())));
        texts.push(with(&|all| all.truncate(at)));
        texts.push(with(&|all| all[at].push_str(&format!("{separator}X"))));
        texts.push(with(&|all| all[at].push('\u{1}')));
        texts.push(with(&|all| all[at].insert(3.min(own[at].len()), 'x')));
        if at > 0 {
            texts.push(with(&|all| all.swap(at - 1, at)));
        }
        for stray in stray {
            texts.push(with(&|all| all.insert(at, (*stray).to_owned())));
        }
        // ISA has fixed widths, and a change of the parties makes another partner of it.
        let elements: Vec<&str> = own[at].split(separator).collect();
        for element in 1..elements.len() {
            for value in ["", "!", "00001"] {
                let mut elements = elements.clone();
                let padded = format!("{value:<width$}", width = elements[element].len());
                elements[element] = if at == 0 && end == '~' { &padded[..elements[element].len()] } else { value };
                let text = elements.join(&separator.to_string());
                texts.push(with(&|all| all[at].clone_from(&text)));
            }
        }
    }
    let whole = join(&own);
    for cut in (whole.len() - 60..whole.len()).step_by(3) {
        texts.push(whole[..cut].to_owned());
        texts.push(format!("{}{whole}", &whole[..cut]));
    }
    for cut in 0..segments.len() {
        texts.push(format!("{}\r\n{whole}", join(&own[..=cut]).trim_end_matches(end)));
    }
    texts
}

/// Two tables decided what an acknowledgment rejects and what is delivered, and differed.
fn check_all(texts: &[String]) {
    let mut wrong = Vec::new();
    for reject_on in ["error", "warning"] {
        let (mut world, mut before) = (self::world(reject_on), 0);
        let (mut all, mut some) = (0, 0);
        for (number, text) in texts.iter().enumerate() {
            if number % 100 == 99 {
                (world, before) = (self::world(reject_on), 0);
            }
            let (answer, entries) = received(&world, text, &mut before);
            if answer.is_empty() {
                continue;
            }
            all += 1;
            some += usize::from(count(&entries, Kind::Interchange, State::Delivered) == 0);
            if let Err(why) = agrees(&answer, &entries) {
                wrong.push(format!("{reject_on}: {why}\n  {}\n  {}", text.escape_debug(), answer.escape_debug()));
            }
        }
        assert!(some > all / 10 && some < all, "{some} of {all} are rejected");
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), texts.len(), wrong.join("\n"));
}

/// `partner receive` delivered documents of interchanges that its own TA1 rejected, and refused them as duplicates when they came again.
#[test]
fn a_rejected_interchange_delivers_nothing() {
    for (from, to) in [
        // A segment, a trailer and a transaction outside of groups, a trailer without its terminator, and a date of GS that is none.
        ("~IEA*", "~REF*AB*1~IEA*"),
        ("~GE*1*7~", "~SE*6*0001~GE*1*7~"),
        ("~IEA*", "~GE*1*7~IEA*"),
        ("~GS*PO", "~ST*850*0001~SE*2*0001~GS*PO"),
        ("*20260401*1200*7*X", "*20261301*1200*7*X"),
    ] {
        let world = world("error");
        let edi = orders(7, &["PO1"]).replacen(from, to, 1);
        let (answer, entries) = received(&world, &edi, &mut 0);
        assert!(answer.contains("TA1*000000007*260401*1200*R*024~"), "{to}: {answer}");
        assert_eq!(count(&entries, Kind::Transaction, State::Delivered), 0, "{to}: {entries:?}");
        assert_eq!(count(&entries, Kind::Interchange, State::Rejected), 1, "{to}: {entries:?}");
        // The corrected interchange is no duplicate.
        let world = World::with(&format!("{}\nreject-on = \"error\"", ALL.replace("accept", "reject")), "");
        let report = world.receive(&edi);
        assert_eq!(report.delivered, 0, "{to}: {report:?}");
        let report = world.receive(&orders(7, &["PO1"]));
        assert_eq!((report.delivered, report.duplicates), (1, 0), "{to}: {report:?}");
    }
}

/// With `reject-on = "warning"`, a warning about an envelope rejected it in the acknowledgment only.
#[test]
fn a_warning_about_an_envelope_rejects_what_the_answer_rejects() {
    let order = orders(7, &["PO1"]);
    for (from, to, answered) in [
        ("~GE*1*7~", "~GE*1*007~", "~AK9*R*1*1*0*4~"),
        ("~GE*1*7~", "~GE*1*7*X~", "TA1*000000007*260401*1200*R*024~"),
        ("~IEA*1*000000007~", "~IEA*1*7~", "TA1*000000007*260401*1200*R*001~"),
    ] {
        let edi = order.replace(from, to);
        let (answer, entries) = received(&world("warning"), &edi, &mut 0);
        assert!(answer.contains(answered), "{to}: {answer}");
        assert_eq!(count(&entries, Kind::Transaction, State::Delivered), 0, "{to}: {entries:?}");
        // By default, a warning rejects nothing.
        let (answer, entries) = received(&world("error"), &edi, &mut 0);
        assert!(answer.contains("*A*000~"), "{to}: {answer}");
        assert_eq!(count(&entries, Kind::Transaction, State::Delivered), 1, "{to}: {entries:?}");
    }
}

#[test]
fn what_x12_answers_accept_is_delivered() {
    let text = interchange(7, "P", &[("PO1", "SA"), ("PO2", "SA")]);
    let second = interchange(8, "P", &[("PO3", "SA")]);
    // Two groups.
    let group = &second[second.find("GS*").expect("a group")..second.find("IEA*").expect("a trailer")];
    let text = text.replace("IEA*1*", &format!("{group}IEA*2*"));
    let segments: Vec<&str> = text.split_terminator('~').collect();
    check_all(&variants(&segments, '~', '*', &["REF*AB*1", "SE*6*0001", "GE*1*7", "ab", "", "NTE"]));
}

#[test]
fn what_contrl_accepts_is_delivered() {
    let unb = "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+7";
    let messages = "UNH+1+ORDERS:D:96A:UN'BGM+220+A1+9'UNT+3+1'UNH+2+ORDERS:D:96A:UN'BGM+220+A2+9'UNT+3+2";
    let group = |number: u32| format!("UNG+ORDERS+A:14+B:14+260401:1200+{number}+UN+D:96A'{messages}'UNE+2+{number}");
    for text in [format!("{unb}'{messages}'UNZ+2+7"), format!("{unb}'{}'{}'UNZ+2+7", group(1), group(2))] {
        let segments: Vec<&str> = text.split('\'').collect();
        check_all(&variants(&segments, '\'', '+', &["FTX+AAA", "UNT+3+1", "UNE+2+1", "ab", "", "NAD"]));
    }
}

/// Regression: the remedy of PTN-109 was to reprocess the document, which rejected it again for the header of its group.
#[test]
fn a_document_in_a_rejected_group_is_processed_again_all_the_same() {
    let world = world("error");
    let edi = interchange(7, "P", &[("PO1", "SA"), ("PO2", "XX")]).replacen("*US*20260401*", "*US*20261301*", 1);
    let report = world.receive(&edi);
    assert_eq!((report.delivered, report.rejected), (0, 2), "{report:?}");
    let entries = world.entries(Kind::Transaction);
    assert!(entries[0].details.findings.iter().any(|finding| finding.code == "PTN-109"), "{:?}", entries[0]);
    let done = world.at_desk(DeskLimits::default(), |desk| desk.reprocess(entries[0].id, None)).expect("processed");
    assert_eq!(done.state, State::Delivered, "{:?}", done.findings);
    let of_header: Vec<_> = done.findings.iter().filter(|finding| finding.message.contains("GS04")).collect();
    assert!(of_header.len() == 1 && of_header[0].severity == Severity::Warning, "{:?}", done.findings);
    // The document itself is still checked.
    let done = world.at_desk(DeskLimits::default(), |desk| desk.reprocess(entries[1].id, None)).expect("processed");
    assert_eq!(done.state, State::Rejected, "{:?}", done.findings);
}
