//! `quayline partner run`, and the same in `quayline serve`: watched folders and queues.
//!
//! A file is claimed by renaming it into `.claimed` in the same folder, so that it is never processed twice. It is moved from there to the archive
//! when it is committed completely. A new run first finishes the files that the preceding one had claimed. Small files share units of work, as the
//! transactions of one file do. A file that fails undoes the uncommitted work of the others, which are then processed one by one.
//!
//! A claim identifies a file: its name in `.claimed` is unique, and the store records under it which part of the file is done. Therefore a run after
//! a crash does not repeat a file, and treats another file with the same bytes as a different one.
//!
//! A failure of one partner does not stop the others. A file or queue that fails is reported, keeps its content, and is processed again in the next
//! round. Unreadable partner files are reported, and the run continues with those of the preceding round. Only errors of the store end it.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use quayline_core::{Fault, Finding, Findings, Severity};
use quayline_partner::{
    Again, Book, Desk, DeskLimits, EntryId, Ledger, NEW_FOLDER, ReceiveReport, Release, SAME_FILE, SendReport,
    SendRequest,
};

use super::{book, ledger, now_ms, open_store_to_receive, say_received, say_sent};
use crate::args::RunArgs;
use crate::console::{Console, shown};
use crate::copybook::unreadable;
use crate::exit::{CLI_INPUT, Exit, Stop, argument};
use crate::interrupt;

/// A folder, and the kind of its files.
struct Watched {
    folder: PathBuf,
    /// The kind of document to send; `None` for interchanges of partners.
    document: Option<String>,
}

/// A queue, and the kind of its messages.
struct WatchedQueue {
    queue: String,
    /// Document name, as for a folder.
    document: Option<String>,
}

impl WatchedQueue {
    /// Processes all messages of the queue. Returns true if all were valid.
    fn take_all(&self, desk: &mut Desk<'_>, stop: &AtomicBool, console: &Console) -> Result<bool, Findings> {
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

/// Maximum number of files that share a unit of work: one sync of the disk for as many small files as a unit has room for.
const FILES_TOGETHER: usize = 64;

/// A file that this process has claimed.
struct ClaimedFile<'w> {
    path: PathBuf,
    /// Document name, as for a folder.
    document: Option<&'w str>,
}

/// Result of processing a file.
enum Taken {
    Received(ReceiveReport),
    Sent(SendReport),
}

impl ClaimedFile<'_> {
    /// Does the work of the file in the unit of work that is open.
    fn take(&self, desk: &mut Desk<'_>) -> Result<Taken, Findings> {
        let name = shown(&self.path);
        let claim = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let again = Again::once(&claim);
        let mut file = fs::File::open(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        let Some(document) = self.document else {
            return desk.receive(&name, &mut file, again).map(Taken::Received);
        };
        let request = SendRequest { name: &name, to: None, from: None, document, again };
        desk.send(&request, &mut file).map(Taken::Sent)
    }
}

/// Last reported findings by subject, so that a round reports only changes.
#[derive(Default)]
struct Reported(HashMap<String, String>);

impl Reported {
    /// Reports findings about a subject, unless the last round did. Without findings, the subject is reset.
    fn report(&mut self, about: &str, findings: &[Finding], console: &Console) {
        let text = Findings(findings.to_vec()).to_string();
        let is_new = self.0.get(about) != Some(&text);
        if findings.is_empty() {
            self.0.remove(about);
        } else if is_new {
            console.findings(findings);
            self.0.insert(about.to_owned(), text);
        }
    }
}

/// Returns true if findings concern the store, without which no work is possible.
fn is_of_store(Findings(found): &Findings) -> bool {
    found.iter().any(|one| one.code.0.starts_with("STO-"))
}

/// Target folders of files, and the stop signal.
struct Places<'p> {
    archive: &'p Path,
    rejected: &'p Path,
    stop: &'p AtomicBool,
    console: &'p Console,
}

impl Places<'_> {
    /// Processes files in shared units of work, and moves them when all are committed. Returns true if all were valid. If one of them fails,
    /// Quayline undoes all uncommitted work, and processes each uncommitted file alone.
    fn take_together(
        &self,
        desk: &mut Desk<'_>,
        files: &[ClaimedFile<'_>],
        reported: &mut Reported,
    ) -> Result<bool, Stop> {
        if files.len() < 2 {
            return self.take_alone(desk, files, reported);
        }
        // Each result has the number of commits before it: a later commit includes the work of its file.
        let mut taken = Vec::with_capacity(files.len());
        let done = desk.together(|desk| {
            for file in files.iter().take_while(|_| !self.stop.load(Ordering::Relaxed)) {
                let one = file.take(desk)?;
                taken.push((one, desk.commits()));
            }
            Ok(())
        });
        if done.is_err() {
            let commits = desk.commits();
            taken.retain(|(_, before)| *before < commits);
        }
        let (committed, rest) = files.split_at(taken.len());
        let mut is_good = true;
        for (file, (taken, _)) in committed.iter().zip(&taken) {
            is_good &= self.put(file, taken, reported);
        }
        if let Err(findings) = done {
            if rest.is_empty() {
                // All files are committed, and only the store can fail after that.
                return Err(findings.into());
            }
            // Each file reports its own error.
            is_good &= self.take_alone(desk, rest, reported)?;
        }
        Ok(is_good)
    }

    fn take_alone(
        &self,
        desk: &mut Desk<'_>,
        files: &[ClaimedFile<'_>],
        reported: &mut Reported,
    ) -> Result<bool, Stop> {
        let mut is_good = true;
        for file in files {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            is_good &= match file.take(desk) {
                Ok(taken) => self.put(file, &taken, reported),
                Err(findings) if is_of_store(&findings) => return Err(findings.into()),
                Err(Findings(found))
                    if file.document.is_some() && found.iter().all(|one| one.fault != Fault::Environment) =>
                {
                    self.console.findings(&found);
                    self.put_away(file, self.rejected, reported);
                    false
                }
                // The file stays claimed, and the next round processes it again.
                Err(Findings(found)) => {
                    reported.report(&shown(&file.path), &found, self.console);
                    false
                }
            };
        }
        Ok(is_good)
    }

    /// Reports the result of a committed file, and moves it. Returns true if it was valid.
    fn put(&self, file: &ClaimedFile<'_>, taken: &Taken, reported: &mut Reported) -> bool {
        let name = shown(&file.path);
        // Undelivered documents are in the store, so the file is done.
        let is_delivered = |findings: &[(EntryId, Finding)]| {
            !findings.iter().any(|(_, one)| one.fault == Fault::Environment && one.severity == Severity::Error)
        };
        let (is_good, is_delivered) = match taken {
            Taken::Received(report) => {
                // A file that an earlier round claimed may be complete already, and only its move out of `.claimed` is missing.
                let is_done = report.findings.iter().any(|(_, one)| one.code == SAME_FILE);
                if !is_done {
                    say_received(&name, report, self.console);
                }
                (report.interchanges > 0 || is_done, is_delivered(&report.findings))
            }
            Taken::Sent(report) => {
                if !report.repeated {
                    say_sent(&name, report, self.console);
                }
                (report.rejected + report.rejected_before == 0, is_delivered(&report.findings))
            }
        };
        self.put_away(file, if is_good { self.archive } else { self.rejected }, reported) && is_good && is_delivered
    }

    /// Moves a file out of the claimed ones. If that fails, reports it and leaves the file. Returns true if it was moved.
    fn put_away(&self, file: &ClaimedFile<'_>, folder: &Path, reported: &mut Reported) -> bool {
        let done = put_away(&file.path, folder);
        let about = shown(&file.path);
        match done {
            Ok(()) => reported.report(&about, &[], self.console),
            Err(Findings(found)) => {
                reported.report(&about, &found, self.console);
                return false;
            }
        }
        true
    }
}

pub(super) fn run(args: &RunArgs, console: &Console) -> Result<Exit, Stop> {
    let mut send = Vec::new();
    for text in &args.send {
        let (document, folder) = text.split_once('=').filter(|(_, folder)| !folder.is_empty()).ok_or_else(|| {
            argument(format!("`--send {text}` has no `=`")).hint("write it as --send invoice=to-send/invoices")
        })?;
        send.push((document.to_owned(), PathBuf::from(folder)));
    }
    if args.inbox.is_empty() && send.is_empty() {
        return Err(argument("no folder or queue to watch").hint("name one with --inbox or --send").into());
    }
    let places = WatchedPlaces {
        inbox: args.inbox.clone(),
        send,
        archive: args.archive.clone(),
        rejected: args.rejected.clone(),
        settle_seconds: args.settle,
    };
    let mut watcher = Watcher::new(&args.project.project, &places, console)?;
    let stop = interrupt::stop_flag().map_err(Stop::from)?;
    let opened = open_store_to_receive(&args.project)?;
    let ledger = ledger(&opened)?;
    let mut exit = Exit::Done;
    let mut book = book(&args.project, &opened.store, console)?;
    loop {
        if !watcher.round(&mut book, &ledger, &stop, console)? {
            exit = Exit::Rejected;
        }
        if args.once || stop.load(Ordering::Relaxed) {
            break;
        }
        pause(args.interval, &stop);
    }
    opened.close(exit)
}

/// Waits for some seconds, at least one, or until the process is stopped.
pub(super) fn pause(seconds: u64, stop: &AtomicBool) {
    let pause = Duration::from_secs(seconds.max(1));
    let mut waited = Duration::ZERO;
    while waited < pause && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
        waited += Duration::from_millis(100);
    }
}

/// Watched places. Paths are relative to the project; a queue is `queue:NAME`.
pub(super) struct WatchedPlaces {
    /// Places at which interchanges from partners arrive.
    pub(super) inbox: Vec<PathBuf>,
    /// Places at which documents to send arrive, with their names in rules.
    pub(super) send: Vec<(String, PathBuf)>,
    pub(super) archive: PathBuf,
    pub(super) rejected: PathBuf,
    /// Seconds that a file must be unchanged.
    pub(super) settle_seconds: u64,
}

/// Watches folders and queues, and closes envelopes that are due, round by round.
pub(super) struct Watcher {
    project: PathBuf,
    watched: Vec<Watched>,
    queues: Vec<WatchedQueue>,
    archive: PathBuf,
    rejected: PathBuf,
    settle_seconds: u64,
    reported: Reported,
    /// True if definitions must be read again even without work, because an envelope could not be closed.
    is_stale: bool,
}

impl Watcher {
    /// Creates a watcher, and the watched folders that do not exist. Reports each of these folders, because its name may be wrong.
    pub(super) fn new(project: &Path, places: &WatchedPlaces, console: &Console) -> Result<Watcher, Stop> {
        let mut watched: Vec<Watched> = Vec::new();
        let mut queues: Vec<WatchedQueue> = Vec::new();
        let mut watch = |place: &Path, document: Option<String>| match place
            .to_str()
            .and_then(|text| text.strip_prefix("queue:"))
        {
            Some(queue) => queues.push(WatchedQueue { queue: queue.to_owned(), document }),
            None => watched.push(Watched { folder: project.join(place), document }),
        };
        places.inbox.iter().for_each(|place| watch(place, None));
        places.send.iter().for_each(|(document, place)| watch(place, Some(document.clone())));
        let (archive, rejected) = (project.join(&places.archive), project.join(&places.rejected));
        for one in &watched {
            let claimed = one.folder.join(CLAIMED);
            let is_new = !one.folder.exists();
            fs::create_dir_all(&claimed).map_err(|error| unreadable(&claimed, &error))?;
            if is_new {
                console.findings(&[new_folder(&one.folder)]);
            }
        }
        refuse_shared(&watched, [("archive", &archive), ("rejected", &rejected)])?;
        Ok(Watcher {
            project: project.to_owned(),
            watched,
            queues,
            archive,
            rejected,
            settle_seconds: places.settle_seconds,
            reported: Reported::default(),
            is_stale: false,
        })
    }

    /// Reports findings about a subject, unless the last round did.
    pub(super) fn report(&mut self, about: &str, findings: &[Finding], console: &Console) {
        self.reported.report(about, findings, console);
    }

    /// Runs one round. Returns true if everything was valid.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn round(
        &mut self,
        book: &mut Book,
        ledger: &Ledger,
        stop: &AtomicBool,
        console: &Console,
    ) -> Result<bool, Stop> {
        let mut is_good = true;
        let reported = &mut self.reported;
        let mut work: Vec<ClaimedFile<'_>> = Vec::new();
        let documents = self.watched.iter().map(|one| &one.document).chain(self.queues.iter().map(|one| &one.document));
        let mut names: Vec<&str> = documents.flatten().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let unknown: Vec<(&str, Finding)> =
            names.into_iter().filter_map(|name| Some((name, book.unknown_document(name)?))).collect();
        let is_known = |document: &Option<String>| !unknown.iter().any(|(name, _)| Some(*name) == document.as_deref());
        let found: Vec<Finding> = unknown.iter().map(|(_, finding)| finding.clone()).collect();
        reported.report("documents to send", &found, console);
        is_good &= found.is_empty();
        for one in self.watched.iter().filter(|one| is_known(&one.document)) {
            let about = shown(&one.folder);
            match claimed(one, self.settle_seconds) {
                Ok((files, odd)) => {
                    let document = one.document.as_deref();
                    work.extend(files.into_iter().map(|path| ClaimedFile { path, document }));
                    is_good &= odd.is_empty();
                    reported.report(&about, &odd, console);
                }
                Err(Findings(found)) => {
                    reported.report(&about, &found, console);
                    is_good = false;
                }
            }
        }
        // Definitions are read again for each round with work, so a change needs no restart. A file that is being saved does not block the round.
        let is_changed = quayline_partner::stored_version(ledger.store()).ok() != book.stored_version();
        if self.is_stale || !unknown.is_empty() || is_changed || !work.is_empty() || has_messages(ledger, &self.queues)
        {
            let found = match super::read_book(&self.project, Some(ledger.store())) {
                Ok(new) => {
                    let warnings = new.findings().to_vec();
                    *book = new;
                    warnings
                }
                Err(Findings(found)) => {
                    is_good = false;
                    found
                }
            };
            reported.report("partners", &found, console);
        }
        let mut desk = Desk::new(book, ledger, DeskLimits::default(), now_ms)?;
        let left = desk.take_undelivered();
        reported.report("deliveries", &left, console);
        is_good &= left.is_empty();
        let places = Places { archive: &self.archive, rejected: &self.rejected, stop, console };
        for some in work.chunks(FILES_TOGETHER) {
            is_good &= places.take_together(&mut desk, some, reported)?;
        }
        for queue in self.queues.iter().filter(|queue| is_known(&queue.document)) {
            let about = format!("queue:{}", queue.queue);
            match queue.take_all(&mut desk, stop, console) {
                Ok(was_good) => {
                    reported.report(&about, &[], console);
                    is_good &= was_good;
                }
                Err(findings) if is_of_store(&findings) => return Err(findings.into()),
                Err(Findings(found)) => {
                    reported.report(&about, &found, console);
                    is_good = false;
                }
            }
        }
        let report = desk.release(&Release::Due)?;
        if report.interchanges > 0 {
            console.line(&format!("{} envelopes closed", report.interchanges));
        }
        let found: Vec<Finding> = report.findings.into_iter().map(|(_, finding)| finding).collect();
        reported.report("envelopes", &found, console);
        self.is_stale = !found.is_empty();
        Ok(is_good && !found.iter().any(super::is_error))
    }
}

/// Returns the warning about a watched folder that did not exist.
fn new_folder(folder: &Path) -> Finding {
    let message = format!("the watched folder {} did not exist", shown(folder));
    let finding = Finding::warning(NEW_FOLDER, Fault::Config, message);
    finding.hint("Quayline created it; if its name is wrong, correct the name and remove the folder")
}

/// Refuses a folder that is watched twice, and one that is both watched and a target of processed files, which would come back in each round.
fn refuse_shared(watched: &[Watched], targets: [(&str, &PathBuf); 2]) -> Result<(), Stop> {
    // A target that does not exist is no watched folder: those were made before.
    let real = |folder: &Path| fs::canonicalize(folder).ok();
    for (at, one) in watched.iter().enumerate() {
        let folder = real(&one.folder);
        if let Some((name, _)) = targets.iter().find(|(_, target)| folder.is_some() && real(target) == folder) {
            let finding = argument(format!("{} is watched and takes files too, as `{name}`", shown(&one.folder)));
            return Err(finding
                .hint(format!("name another folder with --{name}, or `{name}` in [serve.partners]"))
                .into());
        }
        if watched[..at].iter().any(|before| folder.is_some() && real(&before.folder) == folder) {
            let finding = argument(format!("{} is watched twice", shown(&one.folder)));
            return Err(finding.hint("name each folder once").into());
        }
    }
    Ok(())
}

/// Claimed files, and findings about what cannot be claimed.
type ClaimedPaths = (Vec<PathBuf>, Vec<Finding>);

/// Returns the claimed files of a folder: those that an earlier run or round did not finish, then newly claimed ones.
fn claimed(one: &Watched, settle_seconds: u64) -> Result<ClaimedPaths, Findings> {
    let (mut all, mut odd) = files(&one.folder.join(CLAIMED))?;
    let (new, links) = files(&one.folder)?;
    odd.extend(links);
    for path in new {
        if !is_settled(&path, settle_seconds) {
            continue;
        }
        // A file that cannot be moved does not stop the others.
        match claim(&path, &one.folder) {
            Ok(path) => all.extend(path),
            Err(findings) => odd.extend(findings.0),
        }
    }
    Ok((all, odd))
}

/// Returns true if one of the queues has a message; an unreadable queue counts as having some.
fn has_messages(ledger: &Ledger, queues: &[WatchedQueue]) -> bool {
    queues.iter().any(|one| {
        let depth = ledger.store().queue(&one.queue).and_then(|queue| queue.facts()).map(|facts| facts.depth);
        depth.map_or(true, |depth| depth > 0)
    })
}

/// Returns the files of a folder by name, without hidden ones, and a finding for each symbolic link. A claim moves a file, and a link that was moved may
/// lead to nothing.
fn files(folder: &Path) -> Result<ClaimedPaths, Findings> {
    let (mut all, mut links) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
        let path = entry.map_err(|error| unreadable(folder, &error))?.path();
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => links.push(path),
            Ok(meta) if meta.is_file() => all.push(path),
            _ => {}
        }
    }
    all.sort();
    links.sort();
    let refused = links.into_iter().map(|link| {
        let finding =
            Finding::error(CLI_INPUT, Fault::Environment, format!("{} is a symbolic link and stays", shown(&link)));
        finding.hint("replace it with the file itself")
    });
    Ok((all, refused.collect()))
}

/// Returns true if a file has been unchanged for some seconds, so that it is not being written.
fn is_settled(path: &Path, seconds: u64) -> bool {
    let age = fs::metadata(path)
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_some_and(|age| age.as_secs() >= seconds)
}

/// Bytes of a file's name that its name as a claimed file keeps: file systems allow 255, and the number and its hyphen need 17.
const NAME_BYTES_MAX: usize = 238;

/// Claims a file; `None` if another process was faster.
fn claim(path: &Path, folder: &Path) -> Result<Option<PathBuf>, Findings> {
    let mut name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
    let claimed = folder.join(CLAIMED).join(format!("{:016}-{name}", claim_number()));
    match fs::rename(path, &claimed) {
        Ok(()) => Ok(Some(claimed)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error).into()),
    }
}

/// Returns a unique claim number: microseconds since 1970, greater than all earlier ones.
fn claim_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
    let next = |last: u64| Some(now.max(last + 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or_else(|last| last);
    now.max(last + 1)
}

/// Moves a file out of the claimed ones, within one file system or by a copy. A file of the same name stays.
fn put_away(path: &Path, folder: &Path) -> Result<(), Findings> {
    fs::create_dir_all(folder).map_err(|error| unreadable(folder, &error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut to = folder.join(&name);
    let mut number = 1;
    while to.exists() {
        number += 1;
        to = folder.join(format!("{name}.{number}"));
    }
    match fs::rename(path, &to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            fs::copy(path, &to).and_then(|_| fs::remove_file(path)).map_err(|error| unreadable(&to, &error).into())
        }
        done => done.map_err(|error| unreadable(&to, &error).into()),
    }
}
