//! The rules of the two pages that the product was made from, by their numbers there, and the places of the document that they cite.

use std::path::PathBuf;

use quayline_capacity::advice::rules;

/// Rules of the document's first half (R) and of its second (b), each with the codes that carry it. A rule of the pages that is a behaviour of the
/// product has the code that finds a system without it.
#[rustfmt::skip]
const CARRIED: &[(&str, &[&str])] = &[
    ("R1", &["class-above-target", "class-above-threshold-at-times"]),
    ("R2", &["sustained-overload"]),
    ("R3", &["entitlement-share-shrank"]),
    ("R4", &["compute-heavy-choice", "memory-heavy-choice"]),
    ("R5", &["operator-below-workloads"]),
    ("R6", &["batch-priority-outside-regulator"]),
    ("R7", &["single-job-throttled"]),
    ("R8", &["scans-share-a-pool"]),
    ("R9", &["read-cache"]),
    ("R10", &["split-batch"]),
    ("R11", &["many-opens"]),
    ("R12", &["preload"]),
    ("R13", &["small-remote-sends"]),
    ("R14", &["selection-without-statistics"]),
    ("R15", &["statistics-in-foreground"]),
    ("R16", &["too-many-partitions", "selections-cross-partitions"]),
    ("R17", &["vector-index", "ordered-index"]),
    ("R18", &["commit-interval"]),
    ("R19", &["commit-without-need", "trigger-opens-for-commit"]),
    ("R20", &["recovery-tuning-busy", "recovery-evaluation-busy", "recovery-sweep-busy", "recovery-target-missed"]),
    ("R21", &["index-always-protected"]),
    ("R22", &["recovery-protection-off"]),
    ("R23", &["varying-index-key", "spill-too-large"]),
    ("R24", &["varying-data-in-fixed-receiver"]),
    ("R25", &["indexes-slow-inserts", "reuse-with-blocked-load"]),
    ("R26", &["reuse-off-and-deletes"]),
    ("R27", &["trigger-opens-files", "trigger-opens-for-commit"]),
    ("R28", &["delete-all-row-by-row"]),
    ("R29", &["partition-key-updated", "small-file-partitioned"]),
    ("R30", &["distributed-commit"]),
    ("R31", &["frames-below-largest", "transfer-buffers", "buffers-for-small-files", "large-frames-with-errors"]),
    ("R32", &["sends-in-pieces"]),
    ("R33", &["interactive-line", "interface-busy"]),
    ("R34", &["short-connections", "tls-without-reuse"]),
    ("R35", &["idle-keepalive-threads"]),
    ("R36", &["diagnostics-in-production"]),
    ("R37", &["cacheable-answers"]),
    ("R38", &["program-start-per-request"]),
    ("R39", &["interpreted-maps"]),
    ("R40", &["deep-paths"]),
    ("R41", &["two-phase-for-one-manager", "shared-connections-exhausted"]),
    ("R42", &["cache-hit-ratio", "cache-too-large", "diagnostics-in-production"]),
    ("R43", &["compress-slow-line", "compression-on-lan"]),
    ("R44", &["all-rows-fetched"]),
    ("R45", &["validation-of-trusted-partner"]),
    ("R46", &["schema-fetched"]),
    ("R47", &["recovery-for-replayable"]),
    ("R48", &["audit-queue-depth"]),
    ("R49", &["single-threaded-listener", "threaded-listener-for-idle-connections"]),
    ("R50", &["slow-for-the-user"]),
    ("R51", &["sized-on-average"]),
    ("R52", &["checks-in-programs"]),
    ("b1", &["run-too-short", "single-stream-test", "test-machine-too-small"]),
    ("b2", &["cold-and-warm-mixed"]),
    ("b3", &["unequal-fill", "unequal-states"]),
    ("b4", &["statistics-overhead"]),
    ("b5", &["process-per-message"]),
    ("b6", &["object-churn"]),
    ("b7", &["exceptions-on-normal-path"]),
    ("b8", &["recompiled-definitions"]),
    ("b9", &["eager-compilation"]),
    ("b10", &["heap-above-pool", "heap-faults"]),
    ("b11", &["code-page-share"]),
    ("b12", &["two-formats-of-one-payload"]),
    ("b13", &["decimals-as-floats"]),
    ("b14", &["statement-not-prepared", "statement-prepared-for-one-run", "statement-prepared-again"]),
    ("b15", &["autocommit-in-batch"]),
    ("b16", &["isolation-too-high"]),
    ("b17", &["row-at-a-time"]),
    ("b18", &["unmapped-columns"]),
    ("b19", &["small-blocks", "large-blocks-for-random"]),
    ("b20", &["connection-per-request", "close-as-a-request", "prefetch-off", "prefetch-while-scrolling"]),
    ("b21", &["shared-package-locks"]),
    ("b22", &["pool-faults", "buffer-pool-displaces-pages", "buffer-pool-too-small"]),
    ("b23", &["max-cache-under-contention", "small-cache-without-contention"]),
    ("b24", &["threads-at-limit"]),
    ("b25", &["pool-too-large"]),
    ("b26", &["queue-grows"]),
    ("b27", &["few-delivery-threads"]),
    ("b28", &["route-per-message"]),
    ("b29", &["persistent-without-need"]),
    ("b30", &["log-shares-disk"]),
    ("b31", &["rollover-pause"]),
    ("b32", &["open-units-of-work"]),
    ("b33", &["full-mesh"]),
    ("b34", &["queue-pool-paging"]),
    ("b35", &["mixed-traffic-classes"]),
    ("b36", &["costly-options-unused"]),
    ("b37", &["tls-without-reuse", "full-handshakes-limit", "offload-for-resumed", "client-authentication-everywhere"]),
    ("b38", &["single-threaded-signing"]),
    ("b39", &["host-without-headroom", "disk-above-42"]),
    ("b40", &["large-guest"]),
    ("b41", &["dominant-object", "small-objects-in-one-stream", "uneven-streams"]),
    ("b42", &["streams-without-feed"]),
    ("b43", &["window-by-save"]),
    ("b44", &["compression-per-stream"]),
    ("b45", &["mtu-mismatch", "duplex-mismatch"]),
    ("b46", &["replicate-everything"]),
];

/// Rules of the page on models and measurement, by section.
const OF_MODELS: &[(&str, &str)] = &[
    ("0.3 demands on a busy machine", "demands-under-contention"),
    ("2.5 coordinated omission", "stalls-hide-requests"),
    ("2.6 peak of scalability", "beyond-scalability-peak"),
    ("2.8 superlinearity", "not-streaming"),
    ("2.8 checkpoint interval", "checkpoint-too-often"),
    ("2.8 headroom by Erlang C", "below-percentile-headroom"),
    ("3.3 a blocked step is not the bottleneck", "blocked-by-the-next-step"),
    ("3.3 accounting identity", "unaccounted-time"),
];

const DOCUMENT: &str = "IBM iSeries Performance Capabilities Reference V5R3, ";

/// First lines of the chapters 1 to 15 of the document, and its end.
const CHAPTERS: [u32; 16] =
    [65, 118, 1196, 1320, 2572, 2971, 4607, 5327, 6027, 6085, 6326, 7400, 7515, 8068, 8292, 9112];

/// Words of the document at the line that a rule cites, or within the next three.
const WORDS: &[(&str, &str)] = &[
    ("class-above-target", "below about 70% of the threshold"),
    ("sustained-overload", "CPI1479"),
    ("batch-priority-outside-regulator", "value of 35 or less"),
    ("single-job-throttled", "only a single interactive job"),
    ("recovery-sweep-busy", "JORECRA"),
    ("recovery-protection-off", "NOT be turned off"),
    ("index-always-protected", "show up at the top"),
    ("window-by-save", "69 135 150 176"),
    ("spill-too-large", "70-100%"),
    ("large-frames-with-errors", "errors are common"),
    ("buffers-for-small-files", "10K"),
    ("interactive-line", "below 30%"),
    ("tls-without-reuse", "hit of 3x or more"),
    ("recovery-for-replayable", "approximately 50% overhead"),
    ("audit-queue-depth", "Management Central Audit Queue"),
    ("run-too-short", "at least 15 minutes"),
    ("test-machine-too-small", "processor performance"),
    ("eager-compilation", "default number"),
    ("statement-prepared-for-one-run", "only one time"),
    ("statement-prepared-again", "inside of loops"),
    ("pool-too-large", "1-2% of the number of active"),
    ("few-delivery-threads", "twice as many"),
    ("queue-pool-paging", "paging occurring in the memory pools"),
    ("persistent-without-need", "use significantly less CPU"),
    ("offload-for-resumed", "265 cached"),
    ("disk-above-42", "below 42 per cent"),
    ("host-without-headroom", "0.1 CPUs in the host"),
    ("dominant-object", "one Large Database File"),
];

#[test]
fn every_rule_of_the_pages_has_a_code() {
    let of = |letter: char, most: usize| (1..=most).map(move |number| format!("{letter}{number}"));
    assert!(of('R', 52).chain(of('b', 46)).eq(CARRIED.iter().map(|(id, _)| (*id).to_owned())), "each number once");
    for (id, codes) in CARRIED {
        assert!(!codes.is_empty(), "{id}");
        for code in *codes {
            assert!(rules().any(|rule| rule.code == *code), "{id}: no rule has the code {code}");
        }
    }
    for (section, code) in OF_MODELS {
        assert!(rules().any(|rule| rule.code == *code), "{section}: no rule has the code {code}");
    }
    for rule in rules() {
        let of_pages = CARRIED.iter().any(|(_, codes)| codes.contains(&rule.code));
        let of_models = OF_MODELS.iter().any(|(_, code)| *code == rule.code);
        assert!(of_pages != of_models, "{} is a rule of one of them", rule.code);
        assert_eq!(of_pages, rule.source.starts_with(DOCUMENT), "{}: {}", rule.code, rule.source);
    }
}

/// Chapters and lines of a source.
fn places(source: &str) -> Vec<(usize, u32)> {
    let Some(places) = source.strip_prefix(DOCUMENT) else { return Vec::new() };
    let place = |text: &str| {
        let (chapter, line) = text.strip_prefix("ch. ")?.split_once(", line ")?;
        Some((chapter.parse().ok()?, line.parse().ok()?))
    };
    let places = places.strip_suffix(", not followed").unwrap_or(places);
    places.split(" and ").map(|text| place(text).unwrap_or_else(|| panic!("{source}: {text}"))).collect()
}

#[test]
fn every_source_is_a_line_of_its_chapter() {
    let mut cited = 0;
    for rule in rules() {
        for (chapter, line) in places(rule.source) {
            let lines = CHAPTERS[chapter - 1]..CHAPTERS[chapter];
            assert!(lines.contains(&line), "{}: line {line} is not in chapter {chapter}", rule.code);
            cited += 1;
        }
    }
    assert!(cited >= 98, "{cited} lines");
}

#[test]
fn the_lines_say_what_the_rules_cite() {
    let corpus = std::env::var_os("QUAYLINE_CORPUS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let entries = std::fs::read_dir(corpus.join("seeds")).into_iter().flatten().filter_map(Result::ok);
    let file = entries
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("004_")));
    let Some(text) = file.and_then(|file| std::fs::read_to_string(file).ok()) else {
        eprintln!("skipped: the_lines_say_what_the_rules_cite: the document is not in {}", corpus.display());
        return;
    };
    let lines: Vec<&str> = text.lines().collect();
    for (number, first) in (1_usize..).zip(&CHAPTERS[..15]) {
        let title = lines[*first as usize - 1];
        assert!(title.trim_start().starts_with(&format!("Chapter {number}.")), "line {first}: {title}");
    }
    for rule in rules() {
        for (_, line) in places(rule.source) {
            assert!(!lines[line as usize - 1].trim().is_empty(), "{}: line {line} is blank", rule.code);
        }
    }
    for (code, words) in WORDS {
        let rule = rules().find(|rule| rule.code == *code).unwrap_or_else(|| panic!("no rule {code}"));
        let (_, line) = places(rule.source)[0];
        let at = line as usize - 1;
        let cited = lines[at..(at + 4).min(lines.len())].join(" ");
        assert!(cited.contains(words), "{code}: line {line} has no \"{words}\": {cited}");
    }
}
