//! Output of the splitter for a text, as lines, for any division of the text.

use std::fmt::Write as _;

use quayline_core::{Limits, Severity};
use quayline_edi::{EndOfInput, Pass, Rules, SegmentSplitter, Step};

/// Events and faults when the bytes are known up to each of `ends` in turn.
pub(crate) fn trace(text: &[u8], ends: impl IntoIterator<Item = usize>, limits: &Limits, rules: Rules) -> String {
    let mut splitter = SegmentSplitter::new(limits, rules);
    let mut out = String::new();
    let mut from = 0;
    let mut done = false;
    for known in ends.into_iter().chain([text.len()]) {
        let end = if known == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        if done {
            continue;
        }
        let mut pass = splitter.over(&text[from..known], end);
        loop {
            let step = pass.advance();
            assert!(from + pass.consumed() <= known);
            let line = match step {
                Step::Interchange => {
                    let d = *pass.splitter().delimiters();
                    let optional =
                        |byte: Option<u8>| byte.map_or_else(|| "no".to_owned(), |byte| byte.escape_ascii().to_string());
                    Some(format!(
                        "{} {} {} {} repetition {} release {} decimal {}",
                        d.standard.name(),
                        d.element.escape_ascii(),
                        d.component.escape_ascii(),
                        d.terminator.escape_ascii(),
                        optional(d.repetition),
                        optional(d.release),
                        d.decimal_mark as char
                    ))
                }
                Step::Segment => Some(segment(&pass)),
                Step::NeedMore | Step::Done => None,
            };
            for fault in pass.splitter().take_faults() {
                let word = if fault.severity == Severity::Error { "error" } else { "warning" };
                writeln!(out, "{word} {} at {} ({}): {}", fault.error.code(), fault.at.byte, fault.at, fault.error)
                    .expect("a string");
            }
            if let Some(line) = line {
                out.push_str(&line);
                out.push('\n');
            }
            match step {
                Step::NeedMore => {
                    assert_eq!(end, EndOfInput::No, "more is asked for at the end");
                    break;
                }
                Step::Done => {
                    assert_eq!(end, EndOfInput::Yes);
                    done = true;
                    break;
                }
                _ => {}
            }
        }
        from += pass.finish();
    }
    assert!(done);
    out
}

fn segment(pass: &Pass<'_>) -> String {
    let segment = pass.segment();
    let at = pass.position();
    let mut line = format!("{} {}@{}", at.segment, segment.tag().escape_ascii(), at.byte);
    let mut scratch = Vec::new();
    for element in segment.elements() {
        line.push_str(" |");
        let repetitions = element.repetitions().count();
        for (r, repetition) in element.repetitions().enumerate() {
            line.push_str(if r > 0 { " ^ " } else { "" });
            for (c, component) in repetition.components().enumerate() {
                line.push_str(if c > 0 { " : " } else { "" });
                write!(line, "{}", component.data(&mut scratch).bytes().escape_ascii()).expect("a string");
            }
        }
        assert_eq!(element.is_simple(), repetitions == 1 && element.components().count() == 1);
    }
    assert_eq!(segment.len(), segment.elements().count());
    line
}

/// Returns the trace of a text after comparing it whole, byte by byte, and cut at every position.
pub(crate) fn trace_all_ways(text: &[u8], limits: &Limits, rules: Rules) -> String {
    let whole = trace(text, [], limits, rules);
    assert_eq!(whole, trace(text, 0..text.len(), limits, rules), "byte by byte");
    for cut in 0..=text.len() {
        assert_eq!(whole, trace(text, [cut], limits, rules), "cut at {cut}");
    }
    whole
}
