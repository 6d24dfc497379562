//! `quayline.chunkTimesListener`: times of chunks as CSV, in nanoseconds, and of single items if `IterationFile` is given.
//!
//! The engine measures each chunk anyway, and passes the times when the chunk is durable. A chunk that rolls back has no line. With `IterationFile`, the
//! listener times each item itself, so an item costs two more clock readings of both kinds.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use quayline_batch::Thrown;
use quayline_batch::artifact::{Answer, Injected, Item, Listener, Needs};
use quayline_batch::chunk_times::ChunkTimes;
use quayline_batch::context::StepContext;
use quayline_core::system_error_text;
use rustix::time::{ClockId, clock_gettime};

const CHUNK_COLUMNS: &str = "execution,step,partition,chunk,items,read_ns,process_ns,write_ns,chunk_ns,container_ns,commit_ns,wait_ns,\
    read_cpu_ns,process_cpu_ns,write_cpu_ns,chunk_cpu_ns\n";
const ITEM_COLUMNS: &str = "execution,step,partition,chunk,item,read_ns,read_cpu_ns,process_ns,process_cpu_ns\n";

pub(super) struct ChunkTimesListener {
    chunks: Csv,
    items: Option<Csv>,
    needs: Needs,
    /// `execution,step,partition`.
    place: String,
    begin: [u64; 2],
    clock: Instant,
    /// Times of the items of the current chunk, by item: wall and CPU time of the reader, and of the processor.
    current: Vec<[u64; 4]>,
    /// Item that a processor receives next. Processors that take the items of a chunk together begin after the last read.
    processed: usize,
    /// Items of the chunks that are not durable yet, by the number of their chunk.
    under_way: BTreeMap<u64, Vec<[u64; 4]>>,
    step: Option<Arc<StepContext>>,
    number: u64,
}

/// A file to which several partitions append.
struct Csv {
    property: &'static str,
    path: PathBuf,
    columns: &'static str,
    file: Option<File>,
}

impl Csv {
    fn new(property: &'static str, path: PathBuf, columns: &'static str) -> Self {
        Csv { property, path, columns, file: None }
    }

    /// Appends lines with one call, so that partitions can share the file.
    fn append(&mut self, lines: &str) -> Answer<()> {
        let path = &self.path;
        let failed = |error: std::io::Error| io(self.property, path, &error);
        if self.file.is_none() {
            let mut file = File::options().create(true).append(true).open(path).map_err(failed)?;
            // Two partitions may begin at once: only one of them creates the columns.
            file.lock().map_err(failed)?;
            if file.metadata().map_err(failed)?.len() == 0 {
                file.write_all(self.columns.as_bytes()).map_err(failed)?;
            }
            file.unlock().map_err(failed)?;
            self.file = Some(file);
        }
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(lines.as_bytes()).map_err(failed))
    }
}

fn io(property: &str, path: &Path, error: &std::io::Error) -> Thrown {
    let message = format!("{} cannot be written: {}", path.display(), system_error_text(error));
    Thrown::of(&["java.io.IOException", "quayline.Environment"], message).hint(format!("check the property {property}"))
}

impl ChunkTimesListener {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let step = with.step.as_deref();
        let partition = step.and_then(|step| step.partition).map(|number| number.to_string()).unwrap_or_default();
        let items = match with.property("IterationFile") {
            Some(_) => Some(Csv::new("IterationFile", with.path("IterationFile")?, ITEM_COLUMNS)),
            None => None,
        };
        let needs = match (with.property("Writes"), &items) {
            (Some("answered"), _) => Needs::Results,
            (_, Some(_)) => Needs::Items,
            _ => Needs::Chunks,
        };
        Ok(ChunkTimesListener {
            chunks: Csv::new("File", with.path("File")?, CHUNK_COLUMNS),
            items,
            needs,
            place: format!("{},{},{partition}", with.job.execution, step.map_or("", |step| step.step.as_str())),
            begin: [0; 2],
            clock: Instant::now(),
            current: Vec::new(),
            processed: 0,
            under_way: BTreeMap::new(),
            step: with.step.clone(),
            number: 0,
        })
    }

    fn now(&self) -> [u64; 2] {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu_ns = u64::try_from(cpu.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(cpu.tv_nsec).unwrap_or(0);
        [u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX), cpu_ns]
    }

    fn begin(&mut self) -> Answer<()> {
        if self.items.is_some() {
            self.begin = self.now();
        }
        Ok(())
    }

    fn since_begin(&self) -> [u64; 2] {
        let now = self.now();
        [now[0].saturating_sub(self.begin[0]), now[1].saturating_sub(self.begin[1])]
    }
}

impl Listener for ChunkTimesListener {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn takes_times(&self) -> bool {
        true
    }

    fn before_chunk(&mut self) -> Answer<()> {
        self.current.clear();
        self.processed = 0;
        Ok(())
    }

    fn before_read(&mut self) -> Answer<()> {
        self.begin()
    }

    fn after_read(&mut self, _item: &Item) -> Answer<()> {
        if self.items.is_some() {
            let [wall, cpu] = self.since_begin();
            self.current.push([wall, cpu, 0, 0]);
        }
        Ok(())
    }

    fn before_process(&mut self, _item: &Item) -> Answer<()> {
        self.begin()
    }

    fn after_process(&mut self, _item: &Item, _result: Option<&Item>) -> Answer<()> {
        if self.items.is_some() {
            let [wall, cpu] = self.since_begin();
            if let Some(item) = self.current.get_mut(self.processed) {
                (item[2], item[3]) = (wall, cpu);
            }
            self.processed += 1;
        }
        Ok(())
    }

    fn on_skip_process(&mut self, _item: &Item, _thrown: &Thrown) -> Answer<()> {
        self.processed += 1;
        Ok(())
    }

    fn after_chunk(&mut self) -> Answer<()> {
        if let Some(step) = self.step.as_ref().filter(|_| self.items.is_some()) {
            // A chunk that is repeated has the number of the one that rolled back.
            self.under_way.insert(step.counts().commit, std::mem::take(&mut self.current));
        }
        Ok(())
    }

    fn on_chunk_times(&mut self, of: &ChunkTimes) -> Answer<()> {
        let (times, cpu, place) = (&of.times, &of.cpu, &self.place);
        self.chunks.append(&format!(
            "{place},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
            of.chunk,
            of.items,
            times.read_ns,
            times.process_ns,
            times.write_ns,
            times.total_ns,
            times.container_ns(),
            times.commit_ns,
            times.wait_ns,
            cpu.read_ns,
            cpu.process_ns,
            cpu.write_ns,
            cpu.total_ns
        ))?;
        let Some(items) = &mut self.items else { return Ok(()) };
        let mut lines = String::new();
        for [read, read_cpu, process, process_cpu] in self.under_way.remove(&of.chunk).unwrap_or_default() {
            self.number += 1;
            let line = format!("{place},{},{},{read},{read_cpu},{process},{process_cpu}\n", of.chunk, self.number);
            lines.push_str(&line);
        }
        items.append(&lines)
    }
}
