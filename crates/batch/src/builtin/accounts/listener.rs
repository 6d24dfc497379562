//! `quayline.chunkTimesListener`: times of reader, processor, writer and chunk as CSV, in nanoseconds.
//!
//! A chunk commits after its listeners ran, and the next chunk waits for the commit. Therefore the commit time of a chunk is in the line of the next
//! chunk, which is where the time was spent. A line covers the time from the end of the preceding chunk to the end of this one.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use quayline_core::system_error_text;

use crate::artifact::{Answer, Injected, Item, Listener};
use crate::context::StepContext;
use crate::error::Thrown;
use crate::record::Times;

/// The columns.
const HEADER: &str =
    "execution,step,partition,chunk,items,read_ns,process_ns,write_ns,chunk_ns,container_ns,commit_ns,wait_ns\n";

pub(in crate::builtin) struct ChunkTimes {
    path: PathBuf,
    /// `execution,step,partition`.
    place: String,
    step: Option<Arc<StepContext>>,
    file: Option<BufWriter<File>>,
    begin: Instant,
    chunk_begin: Instant,
    /// End of the preceding line, and the times of the step at that moment.
    line_begin: Instant,
    before: Times,
    chunk: u64,
    items: usize,
    read_ns: u128,
    process_ns: u128,
    write_ns: u128,
}

impl ChunkTimes {
    pub(in crate::builtin) fn new(with: &Injected) -> Answer<Self> {
        let step = with.step.as_deref();
        let partition = step.and_then(|step| step.partition).map(|number| number.to_string()).unwrap_or_default();
        let place = format!("{},{},{partition}", with.job.execution, step.map_or("", |step| step.step.as_str()));
        let now = Instant::now();
        Ok(ChunkTimes {
            path: with.path("File")?,
            place,
            step: with.step.clone(),
            file: None,
            begin: now,
            chunk_begin: now,
            line_begin: now,
            before: Times::default(),
            chunk: 0,
            items: 0,
            read_ns: 0,
            process_ns: 0,
            write_ns: 0,
        })
    }

    fn io(&self, error: &std::io::Error) -> Thrown {
        let message = format!("{} cannot be written: {}", self.path.display(), system_error_text(error));
        Thrown::of(&["java.io.IOException", "quayline.Environment"], message).hint("check the property File")
    }

    /// Writes a line with one call, so that partitions can share the file.
    fn line(&mut self) -> std::io::Result<()> {
        if self.file.is_none() {
            let file = File::options().create(true).append(true).open(&self.path)?;
            let is_new = file.metadata()?.len() == 0;
            let mut file = BufWriter::with_capacity(8 << 10, file);
            if is_new {
                file.write_all(HEADER.as_bytes())?;
            }
            self.file = Some(file);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let chunk_ns = self.chunk_begin.elapsed().as_nanos();
        let now = Instant::now();
        let times = self.step.as_ref().map(|step| step.times()).unwrap_or_default();
        let (commit_ns, wait_ns) =
            (times.commit_ns.saturating_sub(self.before.commit_ns), times.wait_ns.saturating_sub(self.before.wait_ns));
        let named = self.read_ns + self.process_ns + self.write_ns + u128::from(commit_ns) + u128::from(wait_ns);
        let container_ns = now.duration_since(self.line_begin).as_nanos().saturating_sub(named);
        (self.line_begin, self.before) = (now, times);
        let line = format!(
            "{},{},{},{},{},{},{chunk_ns},{container_ns},{commit_ns},{wait_ns}\n",
            self.place, self.chunk, self.items, self.read_ns, self.process_ns, self.write_ns
        );
        file.write_all(line.as_bytes())?;
        file.flush()
    }
}

impl Listener for ChunkTimes {
    fn before_chunk(&mut self) -> Answer<()> {
        self.chunk_begin = Instant::now();
        (self.items, self.read_ns, self.process_ns, self.write_ns) = (0, 0, 0, 0);
        Ok(())
    }

    fn after_chunk(&mut self) -> Answer<()> {
        self.chunk += 1;
        self.line().map_err(|error| self.io(&error))
    }

    fn before_read(&mut self) -> Answer<()> {
        self.begin = Instant::now();
        Ok(())
    }

    fn after_read(&mut self, _item: &Item) -> Answer<()> {
        self.read_ns += self.begin.elapsed().as_nanos();
        self.items += 1;
        Ok(())
    }

    fn before_process(&mut self, _item: &Item) -> Answer<()> {
        self.begin = Instant::now();
        Ok(())
    }

    fn after_process(&mut self, _item: &Item, _result: Option<&Item>) -> Answer<()> {
        self.process_ns += self.begin.elapsed().as_nanos();
        Ok(())
    }

    fn before_write(&mut self, _items: &[Item]) -> Answer<()> {
        self.begin = Instant::now();
        Ok(())
    }

    fn after_write(&mut self, _items: &[Item]) -> Answer<()> {
        self.write_ns += self.begin.elapsed().as_nanos();
        Ok(())
    }
}
