//! The time to compile a guide grows linearly with its size. Limits bound the parts that could grow faster.

use std::fmt::Write as _;
use std::time::Duration;

use quayline_core::Limits;
use quayline_edi::guide::{CompiledGuide, MemoryGuides, parse_guide};

const HEAD: &str = "guide G\nstandard X12\nversion 005010\ntransaction 850 group PO\nelement 128 AN 1..5\n";

/// Returns tags that no envelope uses.
fn tags() -> impl Iterator<Item = String> {
    let letters = || b'A'..=b'H';
    let ends = move |a: u8| letters().flat_map(move |b| (b'0'..=b'9').map(move |c| [a, b, c]));
    letters().flat_map(ends).map(|tag| tag.iter().map(|byte| char::from(*byte)).collect())
}

/// Returns a guide with places of some tags. Each place has its own qualifier. The compiler compares each pair of places of a tag.
fn qualified(tag_count: usize, places: usize) -> String {
    let mut text = HEAD.to_owned();
    for tag in tags().take(tag_count) {
        let _ = write!(text, "segment {tag}\n  128 M\n");
    }
    text.push_str("structure\n");
    for tag in tags().take(tag_count) {
        for number in 0..places {
            let _ = writeln!(text, "  segment {tag} O 1 where 01 = A{number}");
        }
    }
    text
}

/// Returns a guide with loops. Loops repeat a tag only after all tags are used.
fn loops(count: usize) -> String {
    let names: Vec<String> = tags().collect();
    let mut text = HEAD.to_owned();
    for tag in &names {
        let _ = write!(text, "segment {tag}\n  128 M\n");
    }
    text.push_str("structure\n");
    for number in 0..count {
        let tag = &names[number % names.len()];
        let _ = write!(text, "  loop L{number} O 1\n    segment {tag} M 1\n");
    }
    text
}

/// CPU time of this thread: other tests run beside this one.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("time moves forward")
}

/// Compiles a guide and returns the shortest CPU time of three runs, and the codes of its findings.
fn compiled(text: &str) -> (Duration, Vec<String>) {
    let files = MemoryGuides([].into());
    let guide = parse_guide("g.guide", text, &files, &Limits::default()).expect("it can be read");
    let mut least = Duration::MAX;
    let mut codes = Vec::new();
    for _ in 0..3 {
        let begun = thread_time();
        codes = match CompiledGuide::new(&guide) {
            Ok(_) => Vec::new(),
            Err(findings) => findings.0.iter().map(|finding| finding.code.to_string()).collect(),
        };
        least = least.min(thread_time() - begun);
    }
    (least, codes)
}

/// Regression: 4,000 places of one tag took 167 seconds, because each pair looked through all children of the loop.
#[test]
fn the_time_of_a_guide_grows_with_its_size() {
    let shapes: [(&str, &dyn Fn(usize) -> String); 2] =
        [("qualified", &|size| qualified(size, 1_000)), ("loops", &|size| loops(600 * size))];
    for (name, shape) in shapes {
        let (short, none) = compiled(&shape(2));
        let (long, _) = compiled(&shape(16));
        assert!(none.is_empty(), "{name}: {none:?}");
        let allowed = short * 8 * 3 + Duration::from_millis(250);
        assert!(long < allowed, "{name}: {short:?} for the short one, {long:?} for one of 8 times its size");
    }
}

#[test]
fn a_guide_beyond_its_limits_is_refused() {
    assert_eq!(compiled(&qualified(1, 1_000)).1, Vec::<String>::new());
    assert_eq!(compiled(&qualified(1, 1_001)).1, ["GDE-113"]);
    assert_eq!(compiled(&loops(9_999)).1, Vec::<String>::new());
    assert_eq!(compiled(&loops(10_000)).1, ["GDE-113"]);
}
