//! `quayline partner run`: folders and queues that are watched.
//!
//! A file is claimed by renaming it into `.claimed` beside it, so that nobody works on it twice. It leaves that folder for the archive when
//! everything of it is committed. A run that starts finishes what the last one had claimed. Small files share units of work, as the transactions of one
//! file do; a file that fails undoes what is not committed of those beside it, which are then taken again one by one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use quayline_core::{Fault, Findings};
use quayline_partner::{Again, Desk, DeskLimits, Ledger, ReceiveReport, Release, SAME_FILE, SendReport, SendRequest};

use super::{book, ledger, now_ms, open_store_to_receive, say_received, say_sent, within};
use crate::args::RunArgs;
use crate::console::{Console, shown};
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop, argument};
use crate::interrupt;

/// A folder, and what its files are.
struct Watched {
    folder: PathBuf,
    /// The kind of document to send; `None` for interchanges of partners.
    document: Option<String>,
}

/// A queue, and what its messages are.
struct WatchedQueue {
    queue: String,
    /// As of a folder.
    document: Option<String>,
}

impl WatchedQueue {
    /// Takes what is on the queue; whether all of it was good.
    fn take_all(&self, desk: &mut Desk<'_>, stop: &AtomicBool, console: &Console) -> Result<bool, Stop> {
        let mut is_good = true;
        while !stop.load(Ordering::Relaxed) {
            match &self.document {
                None => {
                    let Some((name, report)) = desk.receive_from(&self.queue)? else { break };
                    say_received(&name, &report, console);
                    is_good &= report.interchanges > 0;
                }
                Some(document) => {
                    let Some((name, report)) = desk.send_from(&self.queue, document)? else { break };
                    say_sent(&name, &report, console);
                    is_good &= report.rejected == 0;
                }
            }
        }
        Ok(is_good)
    }
}

/// Folder of claimed files.
const CLAIMED: &str = ".claimed";

/// Files that share units of work: one sync of the disk for as many small files as a unit has room for.
const FILES_TOGETHER: usize = 64;

/// A file that this process has claimed.
struct ClaimedFile<'w> {
    path: PathBuf,
    /// As of a folder.
    document: Option<&'w str>,
    again: Again,
}

/// What came of a file.
enum Taken {
    Received(ReceiveReport),
    Sent(SendReport),
}

impl ClaimedFile<'_> {
    /// Does the work of the file in the unit of work that is open.
    fn take(&self, desk: &mut Desk<'_>) -> Result<Taken, Findings> {
        let name = shown(&self.path);
        let mut file = fs::File::open(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        let Some(document) = self.document else {
            return desk.receive(&name, &mut file, self.again).map(Taken::Received);
        };
        let request = SendRequest { name: &name, to: None, from: None, document, again: self.again };
        desk.send(&request, &mut file).map(Taken::Sent)
    }
}

/// Where files go, and what stops them.
struct Places<'p> {
    archive: &'p Path,
    rejected: &'p Path,
    stop: &'p AtomicBool,
    console: &'p Console,
}

impl Places<'_> {
    /// Takes files in units of work that they share, and puts them away when all of them is committed; whether all were good. Where one of them fails,
    /// everything that is not committed is undone, and each is taken alone.
    fn take_together(&self, desk: &mut Desk<'_>, files: &mut [ClaimedFile<'_>]) -> Result<bool, Stop> {
        if files.len() < 2 {
            return self.take_alone(desk, files);
        }
        let before = desk.commits();
        let done = desk.together(|desk| {
            let going_on = |_: &&ClaimedFile<'_>| !self.stop.load(Ordering::Relaxed);
            files.iter().take_while(going_on).map(|file| file.take(desk)).collect::<Result<Vec<_>, _>>()
        });
        let taken = match done {
            Ok(taken) => taken,
            // Nothing of them is committed: each is taken alone, and reports its own error.
            Err(_) if desk.commits() == before => return self.take_alone(desk, files),
            // A delivery may be what failed, of a file that is committed. The next run takes up what is claimed.
            Err(Findings(found)) if found.iter().any(|one| one.fault == Fault::Environment) => {
                return Err(Findings(found).into());
            }
            Err(_) => {
                // As after a crash: what is committed of them is not done twice.
                files.iter_mut().for_each(|file| file.again = Again::No);
                return self.take_alone(desk, files);
            }
        };
        let mut is_good = true;
        for (file, taken) in files.iter().zip(taken) {
            is_good &= self.put(file, &taken)?;
        }
        Ok(is_good)
    }

    fn take_alone(&self, desk: &mut Desk<'_>, files: &[ClaimedFile<'_>]) -> Result<bool, Stop> {
        let mut is_good = true;
        for file in files {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            is_good &= match file.take(desk) {
                Ok(taken) => self.put(file, &taken)?,
                Err(Findings(found))
                    if file.document.is_some() && found.iter().all(|one| one.fault != Fault::Environment) =>
                {
                    self.console.findings(&found);
                    put_away(&file.path, self.rejected)?;
                    false
                }
                Err(findings) => return Err(findings.into()),
            };
        }
        Ok(is_good)
    }

    /// Reports what came of a file that is committed, and puts it away; whether it was good.
    fn put(&self, file: &ClaimedFile<'_>, taken: &Taken) -> Result<bool, Stop> {
        let name = shown(&file.path);
        let is_good = match taken {
            Taken::Received(report) => {
                say_received(&name, report, self.console);
                // A file that the last run claimed may be done already, and only not be put away.
                let is_done = file.again == Again::No && report.findings.iter().any(|(_, one)| one.code == SAME_FILE);
                report.interchanges > 0 || is_done
            }
            Taken::Sent(report) => {
                say_sent(&name, report, self.console);
                report.rejected == 0
            }
        };
        put_away(&file.path, if is_good { self.archive } else { self.rejected })?;
        Ok(is_good)
    }
}

pub(super) fn run(args: &RunArgs, console: &Console) -> Result<Exit, Stop> {
    let mut watched: Vec<Watched> = Vec::new();
    let mut queues: Vec<WatchedQueue> = Vec::new();
    let mut watch =
        |place: &Path, document: Option<String>| match place.to_str().and_then(|text| text.strip_prefix("queue:")) {
            Some(queue) => queues.push(WatchedQueue { queue: queue.to_owned(), document }),
            None => watched.push(Watched { folder: within(&args.project, place), document }),
        };
    args.inbox.iter().for_each(|place| watch(place, None));
    for text in &args.send {
        let (document, folder) = text.split_once('=').filter(|(_, folder)| !folder.is_empty()).ok_or_else(|| {
            argument(format!("`--send {text}` has no `=`")).hint("write it as --send invoice=to-send/invoices")
        })?;
        watch(Path::new(folder), Some(document.to_owned()));
    }
    if watched.is_empty() && queues.is_empty() {
        return Err(argument("no folder or queue to watch").hint("name one with --inbox or --send").into());
    }
    for one in &watched {
        let claimed = one.folder.join(CLAIMED);
        fs::create_dir_all(&claimed).map_err(|error| unreadable(&claimed, &error))?;
    }
    let (archive, rejected) = (within(&args.project, &args.archive), within(&args.project, &args.rejected));
    let stop = interrupt::stop_flag().map_err(Stop::from)?;
    let opened = open_store_to_receive(&args.project)?;
    let ledger = ledger(&opened)?;
    let mut exit = Exit::Done;
    let mut first = true;
    let mut book = book(&args.project, console)?;
    loop {
        let mut work: Vec<ClaimedFile<'_>> = Vec::new();
        for one in &watched {
            let document = one.document.as_deref();
            if first {
                for path in files(&one.folder.join(CLAIMED))? {
                    work.push(ClaimedFile { path, document, again: Again::No });
                }
            }
            for path in files(&one.folder)? {
                if is_settled(&path, args.settle)
                    && let Some(path) = claim(&path, &one.folder)?
                {
                    work.push(ClaimedFile { path, document, again: Again::Yes });
                }
            }
        }
        first = false;
        // Definitions are read again for each round with work, so a change needs no restart.
        if !work.is_empty() || has_messages(&ledger, &queues)? {
            book = super::book(&args.project, console)?;
        }
        let mut desk = Desk::new(&book, &ledger, DeskLimits::default(), now_ms)?;
        let places = Places { archive: &archive, rejected: &rejected, stop: &stop, console };
        for some in work.chunks_mut(FILES_TOGETHER) {
            if !places.take_together(&mut desk, some)? {
                exit = Exit::Rejected;
            }
        }
        for queue in &queues {
            if !queue.take_all(&mut desk, &stop, console)? {
                exit = Exit::Rejected;
            }
        }
        let report = desk.release(&Release::Due)?;
        if report.interchanges > 0 {
            console.line(&format!("{} envelopes closed", report.interchanges));
        }
        drop(desk);
        if args.once || stop.load(Ordering::Relaxed) {
            break;
        }
        let pause = Duration::from_secs(args.interval.max(1));
        let mut waited = Duration::ZERO;
        while waited < pause && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
            waited += Duration::from_millis(100);
        }
    }
    opened.close(exit)
}

/// Whether a message waits on one of the queues.
fn has_messages(ledger: &Ledger, queues: &[WatchedQueue]) -> Result<bool, Stop> {
    for one in queues {
        let queue = ledger.store().queue(&one.queue).map_err(|error| Stop::from(Findings::from(error.finding())))?;
        if queue.facts().map_err(|error| Stop::from(Findings::from(error.finding())))?.depth > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The files of a folder by name; hidden ones are left out.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
        let path = entry.map_err(|error| unreadable(folder, &error))?.path();
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && path.is_file() {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// Whether a file has been unchanged for some seconds, so that nobody still writes it.
fn is_settled(path: &Path, seconds: u64) -> bool {
    let age = fs::metadata(path)
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_some_and(|age| age.as_secs() >= seconds)
}

/// Claims a file; `None` where another process was faster.
fn claim(path: &Path, folder: &Path) -> Result<Option<PathBuf>, Stop> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let claimed = folder.join(CLAIMED).join(format!("{:013}-{name}", now_ms()));
    match fs::rename(path, &claimed) {
        Ok(()) => Ok(Some(claimed)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error).into()),
    }
}

/// Moves a file out of the claimed ones, within one file system or by a copy.
fn put_away(path: &Path, folder: &Path) -> Result<(), Stop> {
    fs::create_dir_all(folder).map_err(|error| unreadable(folder, &error))?;
    let to = folder.join(path.file_name().unwrap_or_default());
    match fs::rename(path, &to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            fs::copy(path, &to).and_then(|_| fs::remove_file(path)).map_err(|error| unreadable(&to, &error).into())
        }
        done => done.map_err(|error| unreadable(&to, &error).into()),
    }
}
