//! Runs every example of `docs/reference/maps.md` and compares the result with the page. `UPDATE_EXPECT=1` writes the results into the page.

use std::path::Path;

use quayline_map::{Absent, SourceOrder};

use crate::support::Case;

/// A fenced block: its label, and the position of its text in the page.
struct Block<'a> {
    label: &'a str,
    start: usize,
    text: &'a str,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut open: Option<(&str, usize)> = None;
    for line in page.split_inclusive('\n') {
        match (open, line.strip_prefix("```")) {
            (None, Some(label)) => open = Some((label.trim(), at + line.len())),
            (Some((label, start)), Some(_)) => {
                found.push(Block { label, start, text: &page[start..at] });
                open = None;
            }
            _ => {}
        }
        at += line.len();
    }
    found
}

#[test]
fn every_example_of_the_page_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/maps.md");
    let page = std::fs::read_to_string(&path).expect("docs/reference/maps.md");
    let (mut source, mut target, mut map, mut input) = ("", "", "", "");
    let mut changes: Vec<(usize, usize, String)> = Vec::new();
    let mut run = 0;
    for block in blocks(&page) {
        let case = Case { source, targets: vec![("order", target, Absent::Refused)], order: SourceOrder::AsShape };
        let shown = match block.label {
            "source" => {
                source = block.text;
                continue;
            }
            "target" => {
                target = block.text;
                continue;
            }
            "qmap" => {
                map = block.text;
                assert_eq!(quayline_map::format_map("t.qmap", map).as_deref(), Ok(map), "the layout of an example");
                continue;
            }
            "input" => {
                input = block.text;
                continue;
            }
            "output" => case.run(map, &[input]),
            "findings" => format!("{}\n", case.findings(map)),
            "plan" => match case.compile(map) {
                Ok(compiled) => compiled.plan.explain(),
                Err(findings) => findings,
            },
            _ => continue,
        };
        run += 1;
        if shown != block.text {
            changes.push((block.start, block.text.len(), shown));
        }
    }
    assert!(run >= 14, "{run} examples");
    if changes.is_empty() {
        return;
    }
    let mut new = page.clone();
    for (start, len, shown) in changes.iter().rev() {
        new.replace_range(*start..start + len, shown);
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, new).expect("docs/reference/maps.md is written");
        return;
    }
    let (start, len, shown) = &changes[0];
    assert_eq!(&page[*start..start + len], shown, "an example of docs/reference/maps.md");
}
