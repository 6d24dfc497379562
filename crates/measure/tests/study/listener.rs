//! The listener of IBM's paper: its CSV files.

use quayline_measure::batch::{KeptEvents, Listens, Load, Rows, World};

const CHUNK_COLUMNS: &str = "execution,step,partition,chunk,items,read_ns,process_ns,write_ns,chunk_ns,container_ns,commit_ns,wait_ns,\
    read_cpu_ns,process_cpu_ns,write_cpu_ns,chunk_cpu_ns";
const ITEM_COLUMNS: &str = "execution,step,partition,chunk,item,read_ns,read_cpu_ns,process_ns,process_cpu_ns";

/// Returns the numbers of each line after its place, and checks the columns.
fn rows(text: &str, columns: &str) -> Vec<Vec<u64>> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(columns));
    let numbers = |line: &str| line.split(',').skip(3).map(|number| number.parse().expect("a number")).collect();
    lines.map(numbers).collect()
}

#[test]
fn chunks_and_items_have_wall_and_cpu_time() {
    let world = World::memory().unwrap();
    let load = Load {
        records: 95,
        items: 10,
        partitions: 1,
        rows: Rows::None,
        checkpoint_bytes: 16,
        listens: Listens::Items,
        events: KeptEvents::Off,
        object_bytes: 10_000,
        measures: true,
    };
    let took = world.job(&load).unwrap();
    let chunks = std::fs::read_to_string(world.folder().join("times.csv")).unwrap();
    let chunks = rows(&chunks, CHUNK_COLUMNS);
    let sum = |column: usize| chunks.iter().map(|row| row[column]).sum::<u64>();
    assert_eq!((chunks.len(), sum(1)), (10, 95));
    let times = took.times;
    assert_eq!([sum(2), sum(3), sum(4)], [times.read_ns, times.process_ns, times.write_ns]);
    assert_eq!((sum(7), sum(8)), (times.commit_ns, 0), "commit, and nothing waited");
    for row in &chunks {
        assert_eq!(row[2] + row[3] + row[4] + row[6] + row[7] + row[8], row[5], "parts of {row:?}");
        assert!(row[9] + row[10] + row[11] <= row[12] && row[12] > 0, "CPU time of {row:?}");
    }
    let items = std::fs::read_to_string(world.folder().join("items.csv")).unwrap();
    let items = rows(&items, ITEM_COLUMNS);
    assert_eq!(items.iter().map(|row| row[1]).collect::<Vec<_>>(), (1..=95).collect::<Vec<_>>());
    assert_eq!(items.last().map(|row| row[0]), Some(10), "the chunk of the last item");
    assert!(items.iter().all(|row| row[2] > 0 && row[4] > 0), "{items:?}");
}

/// Several partitions append to the same files: the columns are there once, and no line is torn.
#[test]
fn partitions_share_the_files() {
    let world = World::memory().unwrap();
    let load = Load {
        records: 800,
        items: 10,
        partitions: 8,
        rows: Rows::None,
        checkpoint_bytes: 16,
        listens: Listens::Items,
        events: KeptEvents::Off,
        object_bytes: 0,
        measures: true,
    };
    world.job(&load).unwrap();
    let text = std::fs::read_to_string(world.folder().join("items.csv")).unwrap();
    assert_eq!(rows(&text, ITEM_COLUMNS).len(), 800);
    // Each partition ends with a chunk without items.
    let text = std::fs::read_to_string(world.folder().join("times.csv")).unwrap();
    assert_eq!(rows(&text, CHUNK_COLUMNS).len(), 88);
}
