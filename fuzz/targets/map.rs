//! Any text as a map: the parser goes on behind every fault, the layout means the same, and a map that compiles runs, read or kept alike.

use quayline_core::{Document, NodeId, Occurs, Scalar, Shape, Sink, Value};
use quayline_map::{
    Absent, MapPlan, MapSpec, Mapper, NoFiles, One, Options, Output, SourceOrder, StillHost, compile, format_map,
};

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let spec = MapSpec::parse("fuzz.qmap", text);
    for finding in spec.findings() {
        let _ = finding.to_string();
    }
    if let Ok(laid_out) = format_map("fuzz.qmap", text) {
        assert_eq!(format_map("fuzz.qmap", &laid_out).as_ref(), Ok(&laid_out), "the layout changes once");
    }
    let (source, target) = shapes();
    let plan = |order| {
        let outputs = [Output { name: "out", shape: &target, absent: Absent::Refused }];
        compile(&spec, &source, &outputs, Options { order }, &NoFiles).map(|compiled| compiled.plan)
    };
    let (Ok(read), Ok(kept)) = (plan(SourceOrder::AsShape), plan(SourceOrder::Any)) else { return };
    let _ = read.explain();
    let (first, good) = run(&read, &source);
    let (second, also) = run(&kept, &source);
    // Ids are counted as they are asked for.
    if good && also && !text.contains("new-id") {
        assert_eq!(first, second, "read or kept, a document is mapped alike");
    }
}

fn run(plan: &MapPlan, source: &Shape) -> (String, bool) {
    let mut mapper = Mapper::new(plan, One(Document::new()), StillHost::default());
    let mut good = true;
    for _ in 0..2 {
        document(source, &mut mapper);
        let outcome = mapper.outcome();
        good &= outcome.is_good() && outcome.dropped == 0;
        for finding in &outcome.findings {
            let _ = finding.to_string();
        }
    }
    (format!("{:?}", mapper.into_parts().0.0), good)
}

fn shapes() -> (Shape, Shape) {
    let text = |max| Scalar::Text { chars_max: Some(max) };
    let number = Scalar::Decimal { digits: 9, scale: 2, signed: true };
    let many = Occurs::Many { min: 0, max: Some(5) };
    let mut source = Shape::builder("in");
    source.scalar("a", text(10), Occurs::Once);
    source.scalar("b", number.clone(), Occurs::Optional);
    source.open("l", many);
    source.scalar("x", text(10), Occurs::Optional);
    source.scalar("y", number.clone(), Occurs::Once);
    source.open("m", Occurs::Many { min: 0, max: None });
    source.scalar("z", text(8), Occurs::Once);
    source.close();
    source.close();
    source.scalar("t", text(5), many);
    source.scalar("n", Scalar::Float64, Occurs::Optional);
    let mut target = Shape::builder("out");
    target.scalar("a", text(10), Occurs::Once);
    target.scalar("b", number.clone(), Occurs::Optional);
    target.open("g", Occurs::Optional);
    target.scalar("c", text(20), Occurs::Once);
    target.scalar("d", number.clone(), Occurs::Optional);
    target.close();
    target.open("l", Occurs::Many { min: 0, max: Some(9) });
    target.scalar("x", text(10), Occurs::Once);
    target.scalar("y", number, Occurs::Optional);
    target.scalar("t", text(10), many);
    target.close();
    target.scalar("t", text(10), many);
    (source.finish(), target.finish())
}

fn document(shape: &Shape, sink: &mut impl Sink) {
    let child = |node: NodeId, name: &str| shape.child(node, name).expect("a node of the shape");
    let list = child(NodeId::ROOT, "l");
    let (inner, tags) = (child(list, "m"), child(NodeId::ROOT, "t"));
    sink.enter(NodeId::ROOT);
    sink.value(child(NodeId::ROOT, "a"), Value::Ascii(b"20260131"[..].into()));
    sink.value(child(NodeId::ROOT, "b"), Value::Int(1250, 2));
    sink.open_list(list);
    for n in 0..3i64 {
        sink.enter(list);
        if n != 1 {
            sink.value(child(list, "x"), Value::Text("\u{e4}b"[..].as_bytes().into()));
        }
        sink.value(child(list, "y"), Value::Int(n, 0));
        sink.open_list(inner);
        for _ in 0..n {
            sink.enter(inner);
            sink.value(child(inner, "z"), Value::Ascii(b"z"[..].into()));
            sink.leave(inner);
        }
        sink.close_list(inner);
        sink.leave(list);
    }
    sink.close_list(list);
    sink.open_list(tags);
    sink.value(tags, Value::Ascii(b"p"[..].into()));
    sink.value(tags, Value::Ascii(b""[..].into()));
    sink.close_list(tags);
    sink.value(child(NodeId::ROOT, "n"), Value::Float64(0.5));
    sink.leave(NodeId::ROOT);
}
