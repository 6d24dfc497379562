//! A data folder that is only read. All writes of the engine during recovery and work are kept in memory.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::medium::{Medium, MediumFile, OpenMode};

/// Unit in bytes of copying from the underlying file at the first write.
const BLOCK: usize = 4096;

/// A folder whose changes are in memory. Nothing in the underlying folder is written, not even its lock file, so it may be on a read-only medium. When a
/// snapshot is requested, memory holds the changes that are in the log and not in the applied store.
#[derive(Debug)]
pub struct Overlay {
    below: Arc<dyn Medium>,
    /// Opened files; `None` for removed names.
    files: Mutex<BTreeMap<String, Option<Arc<OverlayFile>>>>,
}

impl Overlay {
    /// Reads a folder.
    #[must_use]
    pub fn new(below: Arc<dyn Medium>) -> Self {
        Overlay { below, files: Mutex::default() }
    }

    fn missing(name: &str) -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, format!("{name} does not exist"))
    }
}

impl Medium for Overlay {
    fn name(&self) -> String {
        self.below.name()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let files = self.files.lock();
        let mut names: Vec<String> = self.below.list()?.into_iter().filter(|name| !files.contains_key(name)).collect();
        names.extend(files.iter().filter(|(_, file)| file.is_some()).map(|(name, _)| name.clone()));
        Ok(names)
    }

    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn MediumFile>> {
        let mut files = self.files.lock();
        let file = match files.get(name) {
            Some(Some(file)) => Arc::clone(file),
            Some(None) if mode == OpenMode::Create => Arc::new(OverlayFile::empty()),
            Some(None) => return Err(Overlay::missing(name)),
            None => match self.below.open(name, OpenMode::Read) {
                Ok(below) => Arc::new(OverlayFile::over(below)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound && mode == OpenMode::Create => {
                    Arc::new(OverlayFile::empty())
                }
                Err(error) => return Err(error),
            },
        };
        files.insert(name.to_owned(), Some(Arc::clone(&file)));
        Ok(file)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.open(from, OpenMode::Write)?;
        let mut files = self.files.lock();
        let file = files.insert(from.to_owned(), None).flatten();
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.open(name, OpenMode::Write)?;
        self.files.lock().insert(name.to_owned(), None);
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.below.lock_to_read()
    }
}

#[derive(Debug)]
struct OverlayFile {
    below: Option<Arc<dyn MediumFile>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    length: u64,
    /// Bytes of the file below that still count.
    below_length: u64,
    blocks: HashMap<u64, Box<[u8]>>,
}

impl OverlayFile {
    fn empty() -> Self {
        OverlayFile { below: None, state: Mutex::default() }
    }

    fn over(below: Arc<dyn MediumFile>) -> io::Result<Self> {
        let length = below.len()?;
        let state = State { length, below_length: length, blocks: HashMap::new() };
        Ok(OverlayFile { below: Some(below), state: Mutex::new(state) })
    }

    /// Fills a part of a block from the underlying file, and with zeros after its end.
    fn read_below(&self, state: &State, at: u64, into: &mut [u8]) -> io::Result<()> {
        let count =
            usize::try_from(state.below_length.saturating_sub(at)).map_or(into.len(), |left| left.min(into.len()));
        let (there, after) = into.split_at_mut(count);
        after.fill(0);
        match &self.below {
            Some(below) if !there.is_empty() => below.read(at, there),
            _ => Ok(()),
        }
    }
}

/// Returns the blocks of a range: number, offset in the block, bytes.
fn blocks(at: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let place = at + done as u64;
        let offset = usize::try_from(place % BLOCK as u64).unwrap_or(0);
        let count = (BLOCK - offset).min(length - done);
        done += count;
        (count > 0).then_some((place / BLOCK as u64, offset, count))
    })
}

impl MediumFile for OverlayFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().length)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        if length < state.length {
            state.below_length = state.below_length.min(length);
            state.blocks.retain(|number, _| number * (BLOCK as u64) < length);
            let offset = usize::try_from(length % BLOCK as u64).unwrap_or(0);
            if let Some(block) = state.blocks.get_mut(&(length / BLOCK as u64)) {
                block[offset..].fill(0);
            }
        }
        state.length = length;
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let state = self.state.lock();
        if at.saturating_add(into.len() as u64) > state.length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let mut done = 0;
        for (number, offset, count) in blocks(at, into.len()) {
            let part = &mut into[done..done + count];
            match state.blocks.get(&number) {
                Some(block) => part.copy_from_slice(&block[offset..offset + count]),
                None => self.read_below(&state, at + done as u64, part)?,
            }
            done += count;
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        let mut done = 0;
        for (number, offset, count) in blocks(at, bytes.len()) {
            if !state.blocks.contains_key(&number) {
                let mut block = vec![0; BLOCK].into_boxed_slice();
                self.read_below(&state, number * BLOCK as u64, &mut block)?;
                state.blocks.insert(number, block);
            }
            if let Some(block) = state.blocks.get_mut(&number) {
                block[offset..offset + count].copy_from_slice(&bytes[done..done + count]);
            }
            done += count;
        }
        state.length = state.length.max(at + bytes.len() as u64);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
