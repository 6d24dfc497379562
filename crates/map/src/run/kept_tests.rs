//! The bound of what a map keeps of one document.

use quayline_core::{NodeId, NodeKind, Occurs, Scalar, Shape, Sink, Value};

use super::mapper::Mapper;
use crate::{Absent, MapSpec, NoFiles, One, Options, Output, SourceOrder, StillHost, compile};

const NUMBER: Scalar = Scalar::Decimal { digits: 9, scale: 0, signed: false };

/// A group with a list of numbers, and an optional number before or after it.
fn shape(list: &str, is_first: bool) -> Shape {
    let mut builder = Shape::builder("doc");
    if is_first {
        builder.scalar("t", NUMBER, Occurs::Optional);
    }
    builder.open(list, Occurs::Many { min: 0, max: None });
    builder.scalar("n", NUMBER, Occurs::Once);
    builder.close();
    if !is_first {
        builder.scalar("t", NUMBER, Occurs::Optional);
    }
    builder.finish()
}

/// Counts the occurrences that it receives.
#[derive(Default)]
struct Counted(usize);

impl Sink for Counted {
    fn enter(&mut self, node: NodeId) {
        self.0 += usize::from(node != NodeId::ROOT);
    }
    fn leave(&mut self, _: NodeId) {}
    fn open_list(&mut self, _: NodeId) {}
    fn close_list(&mut self, _: NodeId) {}
    fn value(&mut self, _: NodeId, _: Value<'_>) {}
    fn discard(&mut self) {}
}

/// Only the bytes of values counted, so a list of numbers, which need none, took all memory.
#[test]
fn frames_and_recordings_count_as_kept() {
    let (source, target) = (shape("tag", false), shape("row", true));
    let kept = "t = t\nfor tag make row { n = n }\n";
    let recorded = "var s: decimal(9) = 0\nfor tag make row { n = n  set s += n }\nt = s\n";
    let sorted = "t = t\nfor tag sort by n desc make row { n = n }\n";
    for map in [kept, recorded, sorted] {
        let output = Output { name: "out", shape: &target, absent: Absent::Refused };
        let options = Options { order: SourceOrder::AsShape };
        let compiled = compile(&MapSpec::parse("t.qmap", map), &source, &[output], options, &NoFiles);
        let compiled = compiled.unwrap_or_else(|findings| panic!("{findings}"));
        assert!(!compiled.plan.buffers().is_empty(), "{map}");
        let tag = source.child(NodeId::ROOT, "tag").expect("a list");
        let number = source.child(tag, "n").expect("a field");
        assert!(matches!(source.node(number).kind, NodeKind::Scalar(_)));
        for (count, is_too_much) in [(10, false), (20_000, true), (10, false)] {
            let mut mapper = Mapper::new(&compiled.plan, One(Counted::default()), StillHost::default());
            mapper.kept_max = 10_000;
            mapper.enter(NodeId::ROOT);
            mapper.open_list(tag);
            for _ in 0..count {
                mapper.enter(tag);
                mapper.value(number, Value::Int(1, 0));
                mapper.leave(tag);
            }
            mapper.close_list(tag);
            mapper.leave(NodeId::ROOT);
            let outcome = mapper.outcome();
            let codes: Vec<&str> = outcome.findings.iter().map(|finding| finding.code.0).collect();
            assert_eq!(codes.contains(&"MAP-217"), is_too_much, "{map}: {codes:?}");
            assert_eq!(outcome.is_good(), !is_too_much);
            let recorded: usize = mapper.recordings.iter().map(quayline_core::Document::memory).sum();
            assert!(mapper.slots.capacity() * 32 + recorded < 60_000, "{map}");
            let rows = mapper.into_parts().0.0.0;
            assert!(rows == count || is_too_much && rows < 1_000, "{map}: {rows}");
        }
    }
}
