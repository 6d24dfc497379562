//! Stories of documents.

use quayline_partner::{DeskLimits, Entry, EntryId, Kind, State, Story, Way};

use crate::world::{World, interchange, orders};

fn documents(world: &World, way: Way) -> Vec<Entry> {
    world.entries(Kind::Transaction).into_iter().filter(|entry| entry.way == way).collect()
}

fn story(world: &World, id: EntryId) -> Story {
    world.at_desk(DeskLimits::default(), |desk| desk.story(id)).unwrap_or_else(|findings| panic!("{findings}"))
}

#[test]
fn a_story_tells_what_each_statement_of_the_map_writes() {
    let world = World::new();
    let edi = orders(7, &["PO1", "PO2"]);
    world.receive(&edi);
    let entry = &documents(&world, Way::Received)[1];
    let told = story(&world, entry.id);
    let [trace] = &told.traces[..] else { panic!("one map: {told:?}") };
    assert_eq!((trace.map.as_str(), trace.more, trace.findings.len()), ("maps/in.qmap", 0, 0));
    let value = |path: &str| {
        trace.values.iter().find(|value| value["path"] == path).unwrap_or_else(|| panic!("{path}: {trace:?}"))
    };
    let number = value("number");
    assert_eq!(number["statement"], "number = BEG.BEG03");
    assert!(number["map"].as_str().is_some_and(|map| map.ends_with("in.qmap")), "{number}");
    // `byte` is the position of the value in the stored document.
    let from = &number["from"][0];
    let byte = usize::try_from(from["byte"].as_u64().expect("a byte")).expect("a place");
    let text: String = told.segments.iter().map(|segment| format!("{}~", segment.text)).collect();
    assert!(text[byte..].starts_with("PO2"), "{from} {}", &text[byte.saturating_sub(10)..]);
    // `begin` and `end` are the position of the value in the output.
    let (begin, end) = (number["begin"].as_u64().expect("a begin"), number["end"].as_u64().expect("an end"));
    let output =
        world.files("orders").into_iter().find(|(name, _)| name.contains(&entry.id.to_string())).expect("an output").1;
    let written = &output[usize::try_from(begin).expect("a place")..usize::try_from(end).expect("a place")];
    assert_eq!(written, "{\"number\":\"PO2\"", "{output}");
}

#[test]
fn a_map_that_rejects_a_document_says_why_in_its_story() {
    let world = World::new();
    world.write(
        "maps/in.qmap",
        "map \"order to JSON\"\nsource \"../tiny.guide\"\ntarget order \"../order.json\"\nnumber = BEG.BEG03\nif BEG.BEG02 <> \"SA\" {\n  error \"this kind is not taken\"\n}\n",
    );
    world.receive(&interchange(7, "P", &[("PO1", "RO")]));
    let entry = &documents(&world, Way::Received)[0];
    assert_eq!(entry.state, State::Rejected);
    let told = story(&world, entry.id);
    assert_eq!(told.traces.len(), 1);
    assert!(told.traces[0].values.is_empty());
    assert!(told.traces[0].findings[0].message.contains("this kind is not taken"), "{told:?}");
    // The map becomes unreadable.
    world.write("maps/in.qmap", "no map");
    let told = story(&world, entry.id);
    assert!(!told.traces[0].findings.is_empty() && told.traces[0].values.is_empty(), "{told:?}");
}

#[test]
fn a_long_trace_ends_at_its_bound_and_counts_the_rest() {
    let world = World::new();
    world.write(
        "maps/in.qmap",
        "map \"lines to JSON\"\nsource \"../tiny.guide\"\ntarget order \"../lines.shape\"\nfor PO1 make lines {\n  line = PO1.PO101\n}\n",
    );
    world.write("lines.shape", "order\n  lines*\n    line? text(20)\n");
    let count = Story::TRACE_MAX + 500;
    let lines: String = (1..=count).map(|line| format!("PO1*{line}*1*EA*1**VP*X~")).collect();
    let edi = orders(7, &["PO1"]).replace("PO1*1*1*EA*1**VP*X~", &lines);
    let edi = edi.replace("CTT*1~SE*6", &format!("CTT*{count}~SE*{}", count + 5));
    world.receive(&edi);
    let entry = &documents(&world, Way::Received)[0];
    let told = story(&world, entry.id);
    assert_eq!(
        (told.traces[0].values.len(), told.traces[0].more),
        (Story::TRACE_MAX, 500),
        "{:?}",
        entry.details.findings
    );
}
