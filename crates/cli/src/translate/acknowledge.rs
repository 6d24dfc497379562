//! Acknowledgments of the source during its translation, checked independently. Both read a file; other input is duplicated.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use quayline_convert::{AcknowledgmentFile, AcknowledgmentTarget, ConvertError, Input, Validation, only_standard};
use quayline_edi::acknowledge::{AcknowledgmentOptions, Stamp};
use quayline_edi::{CharacterRules, Rules};
use quayline_pipeline::World;
use quayline_project::EdiRead;

use crate::args::{AckArg, LimitArg, TranslateArgs};
use crate::exit::{Stop, argument};

/// Maximum number of pieces of the source that wait for the acknowledger.
const WAITING: usize = 4;

/// A thread that acknowledges the input of the translation.
pub(super) struct Acknowledging {
    thread: JoinHandle<Result<AcknowledgmentFile, ConvertError>>,
    /// Set if the translation did not read the whole input: then nothing is acknowledged.
    cancel: Arc<AtomicBool>,
}

impl Acknowledging {
    /// Waits for the thread. `good` is true if the translation completed; otherwise the acknowledgments are void.
    pub(super) fn finish(self, good: bool) -> Result<(), Stop> {
        if !good {
            self.cancel.store(true, Ordering::Relaxed);
        }
        match self.thread.join() {
            Ok(_) if !good => Ok(()),
            Ok(Ok(file)) => match file.commit() {
                Ok(_) => Ok(()),
                Err(ConvertError::ClosedPipe) => Err(Stop::ClosedPipe),
                Err(error) => Err(error.findings().into()),
            },
            Ok(Err(ConvertError::ClosedPipe)) => Err(Stop::ClosedPipe),
            Ok(Err(error)) => Err(error.findings().into()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Duplicates the bytes for two readers; the second one limits the pace of the first.
pub(super) fn shared(reader: Box<dyn Read + Send>) -> (Box<dyn Read + Send>, Box<dyn Read + Send>) {
    let (sender, receiver) = sync_channel(WAITING);
    (Box::new(Shared { reader, sender: Some(sender) }), Box::new(Pieces { receiver, piece: Vec::new(), at: 0 }))
}

/// Starts the thread that acknowledges the input of the translation.
pub(super) fn start(
    input: Input,
    read: &EdiRead,
    path: &Path,
    name: &str,
    args: &TranslateArgs,
    world: &World,
) -> Result<Acknowledging, Stop> {
    // The time of the run, so that a resumed run gives the same acknowledgments as an uninterrupted one.
    let stamp = Stamp::from_unix(u64::try_from(world.now / 1_000_000).unwrap_or(0));
    let kind = args.ack.unwrap_or(AckArg::Auto).kind();
    let options = AcknowledgmentOptions::by_name(kind, stamp).expect("a name that it knows");
    let only = only_standard(kind, argument);
    // If all guides are for the other standard, nothing can be acknowledged.
    if let (Some(documents), Some((standard, refusal))) = (&read.guides, &only)
        && documents.guides().is_without(*standard)
    {
        return Err(refusal.clone().into());
    }
    let target = AcknowledgmentTarget::File(path.to_owned());
    let mut file =
        AcknowledgmentFile::create(target, options).map_err(|error| Stop::from(error.findings()))?.only(only);
    let cancel = Arc::new(AtomicBool::new(false));
    let validation = Validation {
        name: name.into(),
        input,
        rules: if args.strict { Rules::Strict } else { Rules::Lenient },
        guides: read.guides.as_ref().map(|documents| Arc::new(documents.guides().clone())),
        level: read.level,
        // The translation reports faults of characters.
        characters: CharacterRules::Unchecked(read.charset),
        lanes: 1,
        limits: LimitArg::limits(&args.limit),
        cancel: Arc::clone(&cancel),
        progress: None,
    };
    let thread = std::thread::spawn(move || {
        // The translation reports the findings.
        validation.run(Some(&mut file), &mut |_| Ok(()))?;
        Ok(file)
    });
    Ok(Acknowledging { thread, cancel })
}

/// A reader whose bytes another gets too.
struct Shared {
    reader: Box<dyn Read + Send>,
    sender: Option<SyncSender<Vec<u8>>>,
}

impl Read for Shared {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(into)?;
        if n == 0 {
            self.sender = None;
        } else if let Some(sender) = &self.sender
            && sender.send(into[..n].to_vec()).is_err()
        {
            // The thread has ended with an error, which is reported when it is joined.
            self.sender = None;
        }
        Ok(n)
    }
}

/// Input of the second reader.
struct Pieces {
    receiver: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match self.receiver.recv() {
                Ok(piece) => (self.piece, self.at) = (piece, 0),
                Err(_) => return Ok(0),
            }
        }
        let n = (self.piece.len() - self.at).min(into.len());
        into[..n].copy_from_slice(&self.piece[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
