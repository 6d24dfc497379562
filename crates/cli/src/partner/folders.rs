//! `quayline partner run`: folders and queues that are watched.
//!
//! A file is claimed by renaming it into `.claimed` beside it, so that nobody works on it twice. It leaves that folder for the archive when
//! everything of it is committed. A run that starts finishes what the last one had claimed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use quayline_core::Findings;
use quayline_partner::{Again, Desk, DeskLimits, Ledger, Release, SAME_FILE, SendRequest};

use super::{book, ledger, now_ms, open_store, say_received, say_sent, within};
use crate::args::RunArgs;
use crate::console::{Console, shown};
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop, argument};
use crate::interrupt;
use crate::store::Missing;

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
    let opened = open_store(&args.project, Missing::Create)?;
    let ledger = ledger(&opened)?;
    let mut exit = Exit::Done;
    let mut first = true;
    let mut book = book(&args.project, console)?;
    loop {
        let mut work: Vec<(&Watched, PathBuf, Again)> = Vec::new();
        for one in &watched {
            if first {
                for path in files(&one.folder.join(CLAIMED))? {
                    work.push((one, path, Again::No));
                }
            }
            for path in files(&one.folder)? {
                if is_settled(&path, args.settle)
                    && let Some(claimed) = claim(&path, &one.folder)?
                {
                    work.push((one, claimed, Again::Yes));
                }
            }
        }
        first = false;
        // Definitions are read again for each round with work, so a change needs no restart.
        if !work.is_empty() || has_messages(&ledger, &queues)? {
            book = super::book(&args.project, console)?;
        }
        let mut desk = Desk::new(&book, &ledger, DeskLimits::default(), now_ms)?;
        for (one, path, again) in work {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let name = shown(&path);
            let mut file = fs::File::open(&path).map_err(|error| unreadable(&path, &error))?;
            let is_good = match &one.document {
                None => {
                    let report = desk.receive(&name, &mut file, again)?;
                    say_received(&name, &report, console);
                    // A file that the last run claimed may be done already, and only not be put away.
                    let is_done = again == Again::No && report.findings.iter().any(|(_, one)| one.code == SAME_FILE);
                    report.interchanges > 0 || is_done
                }
                Some(document) => {
                    let request = SendRequest { name: &name, to: None, from: None, document, again };
                    match desk.send(&request, &mut file) {
                        Ok(report) => {
                            say_sent(&name, &report, console);
                            report.rejected == 0
                        }
                        Err(findings)
                            if findings.0.iter().all(|one| one.fault != quayline_core::Fault::Environment) =>
                        {
                            console.findings(&findings.0);
                            false
                        }
                        Err(findings) => return Err(findings.into()),
                    }
                }
            };
            if !is_good {
                exit = Exit::Rejected;
            }
            put_away(&path, if is_good { &archive } else { &rejected })?;
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
