//! Trading partners on the operators' listener: the operations of the commands over HTTP. `docs/reference/partners.md` lists the paths; `openapi`
//! describes them.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use quayline_core::{Fault, Finding, Findings};
use quayline_gateway::decode_path;
use quayline_partner::{
    AdviceOutcome, Again, Book, Desk, DeskLimits, EntryId, Existing, Expected, Filter, Kept, Kind, Ledger, NO_BYTES,
    NO_ENTRY, PLACE, ROSTER, Release, Roster, RosterChange, SAME_FILE, STATE, SendReport, SendRequest, State, Story,
    VERSION, Way, is_partner, over_http, time_of,
};
use quayline_server::{AdminAnswer, AdminDownload, AdminPart, AdminRequest};
use quayline_workload::{Kind as Work, Workload};
use serde_json::{Value, json};

use super::entries::entry_json;
use super::export::{Export, Format};
use super::folders::Watcher;
use super::outbox::file_json;
use super::show::{explanation_json, partner_json, partner_line_json};
use super::{envelope_json, now_ms, openapi, read_book, receive_json, release_json, roster, send_json};
use crate::admin::{Query, answer, elsewhere, raw, wrong};
use crate::console::Console;
use crate::exit::Stop;

/// Default and maximum number of entries on a page.
const PAGE: usize = 50;
const PAGE_MAX: usize = 1_000;

/// Conditions of a search.
const FILTERS: [&str; 13] =
    ["kind", "partner", "state", "way", "document", "guide", "map", "rule", "finding", "number", "field", "from", "to"];

/// Units of work of one request to purge, each over 256 entries: about 100,000 entries.
const PURGE_UNITS: usize = 400;

/// Actions that are counted as work of the class `translation`.
const ACTIONS: [&str; 8] = ["receive", "send", "release", "reprocess", "advise", "resend", "reenvelope", "explain"];

/// The partners of a project, for operators.
pub(crate) struct PartnersPart {
    project: PathBuf,
    ledger: Ledger,
    /// Serializes requests with changes: numbers are taken in order, and no request waits for locks of the store, except for those of flows.
    desk: Mutex<()>,
    /// Partners as they were last read.
    book: Mutex<Option<Arc<Book>>>,
    workload: Arc<Workload>,
}

/// A status with a body.
type Answer = Result<(u16, Value), Findings>;

impl PartnersPart {
    pub(crate) fn new(project: PathBuf, ledger: Ledger, workload: Arc<Workload>) -> Self {
        PartnersPart { project, ledger, desk: Mutex::default(), book: Mutex::default(), workload }
    }

    /// Returns the current partners in files and in the store. Reads them again after a change, so that a change needs no restart. Maps have the
    /// clock and ids of one unit of work, so only one request at a time may run them: [`PartnersPart::desk`].
    fn book(&self) -> Result<Arc<Book>, Findings> {
        let mut kept = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = kept.take_if(|book| !book.is_current(Some(self.ledger.store()))) {
            // Two generations of many partners need twice the memory.
            drop(book);
        }
        match &*kept {
            Some(book) => Ok(Arc::clone(book)),
            None => Ok(Arc::clone(kept.insert(Arc::new(read_book(&self.project, Some(self.ledger.store()))?)))),
        }
    }

    fn roster(&self) -> Roster<'_> {
        roster::roster(&self.project, Some(self.ledger.store()))
    }

    fn at_desk<T>(&self, work: impl FnOnce(&mut Desk<'_>) -> Result<T, Findings>) -> Result<T, Findings> {
        // A request that panicked has committed nothing incomplete.
        let _alone = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let book = self.book()?;
        let mut desk = Desk::new(&book, &self.ledger, DeskLimits::default(), now_ms)?;
        // Undelivered documents of an earlier request are not a fault of this one.
        desk.take_undelivered();
        let done = work(&mut desk)?;
        let left = desk.take_undelivered();
        if left.is_empty() { Ok(done) } else { Err(Findings(left)) }
    }

    /// Runs one round of a watcher between two requests. The first round reads the partner files.
    pub(super) fn round(
        &self,
        watcher: &mut Watcher,
        book: &mut Option<Book>,
        stop: &AtomicBool,
        console: &Console,
    ) -> Result<(), Stop> {
        let _alone = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current = match book.take() {
            Some(book) => book,
            None => read_book(&self.project, Some(self.ledger.store()))?,
        };
        let done = watcher.round(&mut current, &self.ledger, stop, console);
        *book = Some(current);
        done.map(|_| ())
    }

    fn route(&self, request: &AdminRequest<'_>, parts: &[&str]) -> Option<Answer> {
        let query = match Query::parse(request.query) {
            Ok(query) => query,
            Err(findings) => return Some(Err(findings)),
        };
        Some(match (request.method, parts) {
            ("GET", ["openapi.json"]) => Ok((200, openapi::PATHS.document(request.operator))),
            ("GET", ["partners"]) => self.book().map(|book| {
                (200, json!({ "partners": book.partners().iter().map(partner_line_json).collect::<Vec<_>>() }))
            }),
            ("GET", ["partners", name]) => self.partner(name),
            ("PUT", ["partners", name]) => self.put_partner(name, &query, request),
            ("DELETE", ["partners", name]) => self.remove_partner(name, &query, request),
            ("GET", ["export"]) => self.export(&query),
            ("POST", ["import"]) => self.put("the body".to_owned(), &query, request),
            ("GET", ["changes"]) => query
                .only(&["count"])
                .and_then(|()| query.count())
                .and_then(|count| Ok((200, json!({ "changes": self.roster().changes(count)? })))),
            ("POST", ["explain"]) => self.explain(request.body),
            ("GET", ["entries"]) => self.entries(&query),
            ("POST", ["entries", "purge"]) => self.purge(&query),
            ("GET", ["entries", id]) if *id != "purge" => entry_id(id).and_then(|id| self.entry(id)),
            ("GET", ["entries", id, "story"]) => entry_id(id).and_then(|id| {
                let story = self.at_desk(|desk| desk.story(id))?;
                Ok((200, story_json(&story)))
            }),
            ("POST", ["entries", id, "reprocess"]) => entry_id(id).and_then(|id| self.reprocess(id, request.body)),
            ("POST", ["entries", id, "advise"]) => entry_id(id).and_then(|id| self.advise(id, &query)),
            ("POST", ["entries", id, "resend"]) => entry_id(id).and_then(|id| {
                let place = self.at_desk(|desk| desk.resend(id))?;
                Ok((200, json!({ "entry": id.0, "output": place })))
            }),
            ("POST", ["entries", id, "reenvelope"]) => entry_id(id).and_then(|id| {
                let report = self.at_desk(|desk| desk.reenvelope(id))?;
                Ok((200, send_json(&format!("entry {id}"), &report)))
            }),
            ("GET", ["overdue"]) => self.overdue(&query),
            ("GET", ["outbox"]) => self.outbox(&query),
            ("GET", ["envelopes"]) => self
                .at_desk(|desk| desk.waiting())
                .map(|waiting| (200, json!({ "envelopes": waiting.iter().map(envelope_json).collect::<Vec<_>>() }))),
            ("POST", ["envelopes", "release"]) => self.release(&query),
            ("POST", ["receive"]) => self.receive(&query, request.body),
            ("POST", ["send"]) => self.send(&query, request.body),
            _ => return None,
        })
    }

    fn partner(&self, name: &str) -> Answer {
        let book = self.book()?;
        match book.named(name) {
            Some(number) => Ok((200, partner_json(&book, number))),
            None => Ok(no_partner(name)),
        }
    }

    /// Returns the text of a partner with its version; a partner that does not exist is 404.
    fn text(&self, name: &str) -> AdminAnswer {
        match self.roster().text(name, None) {
            Ok(one) => AdminAnswer {
                version: Some(one.version()),
                ..AdminAnswer::new(200, "application/toml", one.text.into_bytes())
            },
            Err(Findings(found)) if found.iter().all(|one| one.code == ROSTER) => {
                let (status, value) = no_partner(name);
                answer(status, &value)
            }
            Err(findings) => failure(&findings),
        }
    }

    /// Changes partners. Each request and each round reads them, so the change takes effect with the next one.
    fn change(&self, change: &RosterChange<'_>) -> Answer {
        let _alone = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = self.roster().change(change, now_ms())?;
        Ok((200, roster::lines_json(&lines)))
    }

    fn put(&self, source: String, query: &Query, request: &AdminRequest<'_>) -> Answer {
        query.only(&["in"])?;
        let text = std::str::from_utf8(request.body).map_err(|_| {
            wrong("the body is not UTF-8".to_owned(), "send the partner in TOML or JSON, in UTF-8".to_owned())
        })?;
        self.change(&RosterChange {
            put: vec![(source.into(), text.to_owned())],
            remove: Vec::new(),
            existing: Existing::Replaced,
            kept: place(query)?,
            expected: expected(request)?,
            by: &by(request),
        })
    }

    fn put_partner(&self, name: &str, query: &Query, request: &AdminRequest<'_>) -> Answer {
        let source = format!("{name}.toml");
        let text = std::str::from_utf8(request.body).unwrap_or_default();
        is_partner(name, Path::new(&source), text)?;
        self.put(source, query, request)
    }

    fn remove_partner(&self, name: &str, query: &Query, request: &AdminRequest<'_>) -> Answer {
        query.only(&["in"])?;
        let (kept, expected) = (place(query)?, expected(request)?);
        if expected == Expected::Anything
            && let Err(Findings(found)) = self.roster().texts(&[name.to_owned()], kept)
        {
            if found.iter().all(|one| one.code == ROSTER) {
                return Ok(no_partner(name));
            }
            return Err(Findings(found));
        }
        let (put, remove, existing) = (Vec::new(), vec![name.to_owned()], Existing::Refused);
        self.change(&RosterChange { put, remove, existing, kept, expected, by: &by(request) })
    }

    fn export(&self, query: &Query) -> Answer {
        query.only(&["name", "in"])?;
        let names: Vec<String> = query.value("name").map(str::to_owned).into_iter().collect();
        Ok((200, self.roster().export(&names, place(query)?)?))
    }

    fn explain(&self, body: &[u8]) -> Answer {
        // Conditions of rules run here, too.
        let _alone = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.book()?.explain(body)?;
        Ok((200, json!({ "documents": all.iter().map(explanation_json).collect::<Vec<_>>() })))
    }

    fn page(&self, filter: &Filter) -> Answer {
        let mut filter = filter.clone();
        // A page of the store may end without an entry, after it has examined its share.
        let found = loop {
            let found = self.ledger.search(&filter)?;
            match found.next {
                Some(next) if found.entries.is_empty() => filter.after = Some(next),
                _ => break found,
            }
        };
        let next = found.next.map(|place| quayline_core::hex(&place));
        Ok((200, json!({ "entries": found.entries.iter().map(entry_json).collect::<Vec<_>>(), "next": next })))
    }

    fn entries(&self, query: &Query) -> Answer {
        query.only(&[&FILTERS[..], &["count", "after"]].concat())?;
        let filter = query.filter()?;
        self.ledger.check_names(&filter, || self.book().ok())?;
        self.page(&Filter { limit: query.count()?, after: query.place()?, ..filter })
    }

    /// Begins an export. Errors of the first page come before the answer begins.
    fn exported(&self, query: &str) -> Result<AdminDownload, Findings> {
        let query = Query::parse(query)?;
        query.only(&[&FILTERS[..], &["format"]].concat())?;
        let word = query.value("format").unwrap_or(Format::WORDS[0]);
        let hint = || format!("write one of {}", Format::WORDS.join(", "));
        let format = Format::named(word).ok_or_else(|| wrong(format!("`format` is `{word}`"), hint()))?;
        let filter = query.filter()?;
        self.ledger.check_names(&filter, || self.book().ok())?;
        let mut export = Export::new(&self.ledger, filter, format)?;
        let first = export.part()?;
        let rest = export.map(|part| {
            part.map_err(|findings| {
                Console::plain().findings(&findings.0);
                findings.to_string()
            })
        });
        Ok(AdminDownload { media: format.media(), parts: Box::new(first.map(Ok).into_iter().chain(rest)) })
    }

    /// Purges for a bounded number of units of work. Requests at the desk come between two of them.
    fn purge(&self, query: &Query) -> Answer {
        query.only(&["older_than", "after"])?;
        let days = query.value("older_than").map(|text| {
            text.parse().map_err(|_| {
                wrong("`older_than` is not a number of days".to_owned(), "write older_than=365".to_owned())
            })
        });
        let (days, now_ms) = (days.transpose()?, now_ms());
        let place =
            query.place()?.map(|place| <[u8; 8]>::try_from(place).map(u64::from_be_bytes).map_err(|_| no_place()));
        let (mut removed, mut next) = (0, Some(EntryId(place.transpose()?.unwrap_or(0))));
        for _ in 0..PURGE_UNITS {
            let Some(from) = next else { break };
            let _alone = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
            let purged = self.ledger.purge_unit(now_ms, days, from)?;
            removed += purged.removed;
            next = purged.next;
        }
        if next.is_none() {
            // The purge has many units of work, so it does not hold the desk. It keeps a source that Quayline is receiving.
            self.ledger.purge_sources(now_ms, days)?;
        }
        Ok((200, json!({ "removed": removed, "next": next.map(|next| quayline_core::hex(&next.0.to_be_bytes())) })))
    }

    fn overdue(&self, query: &Query) -> Answer {
        query.only(&["at", "count", "after"])?;
        let at = query.time("at")?.unwrap_or_else(now_ms);
        self.page(&Filter {
            state: Some(State::Expecting),
            overdue_at_ms: Some(at),
            limit: query.count()?,
            after: query.place()?,
            ..Filter::default()
        })
    }

    /// Lists files that are committed and not yet written. It needs no desk, which would write them first.
    fn outbox(&self, query: &Query) -> Answer {
        query.only(&["count", "after"])?;
        let page = self.ledger.outbox_page(query.place()?.as_deref(), query.count()?)?;
        let files: Vec<Value> = page.files.iter().map(|file| file_json(&self.project, file)).collect();
        Ok((200, json!({ "files": files, "next": page.next.map(|place| quayline_core::hex(&place)) })))
    }

    fn entry(&self, id: EntryId) -> Answer {
        let unit = self.ledger.begin().map_err(|error| Findings::from(error.finding()))?;
        Ok((200, entry_json(&self.ledger.need(&unit, id)?)))
    }

    /// Returns the bytes of an entry.
    fn bytes(&self, id: &str) -> Result<Vec<u8>, Findings> {
        let id = entry_id(id)?;
        let unit = self.ledger.begin().map_err(|error| Findings::from(error.finding()))?;
        let entry = self.ledger.need(&unit, id)?;
        if entry.details.kept_bytes > ANSWER_BYTES_MAX {
            let message = format!("entry {id} has {} bytes, more than an answer may have", entry.details.kept_bytes);
            let hint = format!("stop the server and write them with `quayline interchange show {id} --bytes`");
            return Err(Finding::error(NO_BYTES, Fault::Caller, message).hint(hint).into());
        }
        let mut all = Vec::new();
        self.ledger.bytes_of(&unit, &entry, &mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }

    fn reprocess(&self, id: EntryId, body: &[u8]) -> Answer {
        let corrected = (!body.is_empty()).then_some(body);
        let done = self.at_desk(|desk| desk.reprocess(id, corrected))?;
        let findings: Vec<Value> = done.findings.iter().map(raw).collect();
        let answer = json!({ "replaces": id.0, "entry": done.entry.0, "state": done.state.name(), "outputs": done.outputs, "findings": findings });
        Ok((200, answer))
    }

    fn advise(&self, id: EntryId, query: &Query) -> Answer {
        query.only(&["outcome", "text"])?;
        let word = query.value("outcome").unwrap_or("rejected");
        let outcome = AdviceOutcome::named(word).ok_or_else(|| {
            wrong(format!("`outcome` is `{word}`"), format!("write one of {}", AdviceOutcome::WORDS.join(", ")))
        })?;
        let texts: Vec<String> = query.value("text").map(str::to_owned).into_iter().collect();
        let advice = self.at_desk(|desk| desk.advise(id, outcome, &texts))?;
        Ok((200, json!({ "entry": id.0, "advice": advice.0 })))
    }

    fn release(&self, query: &Query) -> Answer {
        query.only(&["partner", "due"])?;
        let which = match (query.value("partner"), query.value("due")) {
            (Some(partner), None) => Release::Partner(partner),
            (None, Some("true")) => Release::Due,
            (None, None | Some("false")) => Release::All,
            _ => {
                let hint = "name a partner, or write due=true, or neither for all envelopes";
                return Err(wrong("`partner` and `due` do not fit together".to_owned(), hint.to_owned()));
            }
        };
        let report: SendReport = self.at_desk(|desk| desk.release(&which))?;
        Ok((200, release_json(&report)))
    }

    fn receive(&self, query: &Query, body: &[u8]) -> Answer {
        query.only(&["name", "again"])?;
        let name = query.value("name").unwrap_or("<http>");
        let again = query.again()?;
        let report = self.at_desk(|desk| desk.receive(name, &mut std::io::Cursor::new(body), again))?;
        if report.interchanges == 0 && !report.findings.is_empty() {
            // Nothing was received: the client must not take its document for delivered.
            return Err(Findings(report.findings.into_iter().map(|(_, finding)| finding).collect()));
        }
        Ok((200, receive_json(name, &report)))
    }

    fn send(&self, query: &Query, body: &[u8]) -> Answer {
        query.only(&["name", "again", "document", "to", "from"])?;
        let name = query.value("name").unwrap_or("<http>");
        let request = SendRequest {
            name,
            to: query.value("to"),
            from: query.value("from"),
            document: query.value("document").unwrap_or(""),
            again: query.again()?,
        };
        let report = self.at_desk(|desk| desk.send(&request, &mut std::io::Cursor::new(body)))?;
        Ok((200, send_json(name, &report)))
    }
}

impl AdminPart for PartnersPart {
    fn request(&self, request: &AdminRequest<'_>) -> Option<AdminAnswer> {
        let rest = request.path.strip_prefix("/partner/")?;
        let decoded: Option<Vec<_>> = rest.split('/').map(decode_path).collect();
        let Some(decoded) = decoded else {
            return Some(failure(&wrong("the path is not UTF-8".to_owned(), "encode it".to_owned())));
        };
        let parts: Vec<&str> = decoded.iter().map(|part| &**part).collect();
        if let Some((message, hint)) = openapi::PATHS.unread_body(request) {
            return Some(failure(&wrong(message, hint)));
        }
        if let ("GET", ["entries", id, "bytes"]) = (request.method, parts.as_slice()) {
            return Some(match self.bytes(id) {
                Ok(body) => AdminAnswer::new(200, "application/octet-stream", body),
                Err(findings) => failure(&findings),
            });
        }
        if let ("GET", ["partners", name, "text"]) = (request.method, parts.as_slice()) {
            return Some(self.text(name));
        }
        let action = parts.last().copied().filter(|action| request.method == "POST" && ACTIONS.contains(action));
        let mut turn = action.map(|action| {
            let working = self.workload.join(Work::Translation, Some(action));
            (self.workload.turn(Work::Translation, action), working)
        });
        let Some(routed) = self.route(request, &parts) else { return Some(elsewhere(&openapi::PATHS, request)) };
        if let Some((turn, _)) = &mut turn {
            turn.done(1, u64::from(routed.is_err()));
        }
        Some(match routed {
            Ok((status, mut value)) => {
                over_http(&mut value);
                // One partner is the answer, or what one partner is after its change.
                let version = value.get("version").or_else(|| match value.get("changes")?.as_array()?.as_slice() {
                    [one] => one.get("version"),
                    _ => None,
                });
                let version = version.and_then(Value::as_str).filter(|version| !version.is_empty()).map(str::to_owned);
                AdminAnswer { version, ..answer(status, &value) }
            }
            Err(findings) => failure(&findings),
        })
    }

    fn answer(&self, _method: &str, _path: &str) -> Option<(u16, String)> {
        None
    }

    fn download(&self, request: &AdminRequest<'_>) -> Option<Result<AdminDownload, AdminAnswer>> {
        let is_export = request.path == "/partner/entries/export";
        is_export.then(|| self.exported(request.query).map_err(|findings| failure(&findings)))
    }

    fn metrics(&self) -> String {
        String::new()
    }
}

/// Returns the author of a change, for the record of changes.
fn by(request: &AdminRequest<'_>) -> String {
    request.operator.map_or_else(|| "http".to_owned(), |operator| format!("http {operator}"))
}

/// Returns the place of partners that a request names.
fn place(query: &Query) -> Result<Option<Kept>, Findings> {
    let hint = || format!("write in={}", Kept::WORDS.join(" or in="));
    let named = |word: &str| Kept::named(word).ok_or_else(|| wrong(format!("`in` is `{word}`"), hint()));
    query.value("in").map(named).transpose()
}

/// Creates the finding for an `after` that is not the place of any page.
fn no_place() -> Findings {
    let finding = Finding::error(PLACE, Fault::Caller, "`after` is not the place where a page ends");
    finding.hint("send `next` of the page before").into()
}

fn expected(request: &AdminRequest<'_>) -> Result<Expected, Findings> {
    Expected::of_conditions(request.if_match, request.if_none_match)
}

fn no_partner(name: &str) -> (u16, Value) {
    (404, json!({ "status": "no such partner", "partner": name }))
}

/// Maximum bytes of an interchange in a response. The server keeps the response in memory.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Formats findings with the status for the responsible party.
fn failure(findings: &Findings) -> AdminAnswer {
    let first = findings.first_error();
    let status = match first.map(|finding| (finding.code, finding.fault)) {
        Some((NO_ENTRY, _)) => 404,
        Some((VERSION, _)) => 412,
        Some((NO_BYTES | SAME_FILE | STATE, _)) => 409,
        Some((_, Fault::Caller | Fault::Sender)) => 400,
        Some((_, Fault::Config)) => 422,
        Some((_, Fault::Environment)) => 503,
        _ => 500,
    };
    let mut value = json!({ "findings": findings.0.iter().map(raw).collect::<Vec<_>>() });
    over_http(&mut value);
    answer(status, &value)
}

fn story_json(story: &Story) -> Value {
    let entries = |all: &[quayline_partner::Entry]| all.iter().map(entry_json).collect::<Vec<_>>();
    let segments: Vec<Value> = story
        .segments
        .iter()
        .map(|segment| {
            let findings: Vec<Value> = segment.findings.iter().map(raw).collect();
            json!({ "byte": segment.byte, "text": segment.text, "findings": findings })
        })
        .collect();
    let trace = |trace: &quayline_partner::StoryTrace| {
        let findings: Vec<Value> = trace.findings.iter().map(raw).collect();
        json!({ "map": trace.map, "values": trace.values, "more": trace.more, "findings": findings })
    };
    json!({
        "entry": entry_json(&story.entry), "interchange": story.interchange.as_ref().map(entry_json),
        "answer": story.answer.as_ref().map(entry_json), "before": entries(&story.before), "after": entries(&story.after),
        "checked": story.is_checked, "segments": segments, "segments_more": story.segments_more,
        "elsewhere": story.elsewhere.iter().map(raw).collect::<Vec<_>>(),
        "traces": story.traces.iter().map(trace).collect::<Vec<_>>(),
    })
}

fn entry_id(text: &str) -> Result<EntryId, Findings> {
    let wrong = |_| {
        wrong(format!("`{text}` is not the number of an entry"), "write the number that a search returns".to_owned())
    };
    text.parse().map(EntryId).map_err(wrong)
}

impl Query {
    /// Returns the conditions of a search.
    fn filter(&self) -> Result<Filter, Findings> {
        let one_of = |key: &str, words: &[&str]| {
            let hint = format!("write one of {}", words.join(", "));
            wrong(format!("`{key}` has no such value"), hint)
        };
        let kind = self.value("kind").map(|word| Kind::named(word).ok_or_else(|| one_of("kind", Kind::WORDS)));
        let way = self.value("way").map(|word| Way::named(word).ok_or_else(|| one_of("way", Way::WORDS)));
        let state = self.value("state").map(|word| State::named(word).ok_or_else(|| one_of("state", State::WORDS)));
        let field = self.value("field").map(|text| {
            Filter::field_of(text).ok_or_else(|| {
                wrong("`field` has no `=`".to_owned(), "write it as field=purchase-order=PO4711".to_owned())
            })
        });
        let text = |name: &str| self.value(name).map(str::to_owned);
        Ok(Filter {
            kind: kind.transpose()?,
            way: way.transpose()?,
            state: state.transpose()?,
            field: field.transpose()?,
            partner: text("partner"),
            document: text("document"),
            guide: text("guide"),
            map: text("map"),
            rule: text("rule"),
            finding: text("finding"),
            number: text("number"),
            from_ms: self.time("from")?,
            to_ms: self.time("to")?,
            ..Filter::default()
        })
    }

    fn time(&self, name: &str) -> Result<Option<u64>, Findings> {
        let Some(text) = self.value(name) else { return Ok(None) };
        let hint = "write 2026-04-01 or 2026-04-01T12:00, in UTC";
        time_of(text).map(Some).ok_or_else(|| wrong(format!("`{name}` is not a time"), hint.to_owned()))
    }

    fn count(&self) -> Result<usize, Findings> {
        let Some(text) = self.value("count") else { return Ok(PAGE) };
        text.parse().ok().filter(|count| (1..=PAGE_MAX).contains(count)).ok_or_else(|| {
            wrong("`count` is not a number of entries".to_owned(), format!("write a number from 1 to {PAGE_MAX}"))
        })
    }

    fn place(&self) -> Result<Option<Vec<u8>>, Findings> {
        let Some(text) = self.value("after") else { return Ok(None) };
        quayline_core::from_hex(text).map(Some).ok_or_else(no_place)
    }

    fn again(&self) -> Result<Again, Findings> {
        match self.value("again") {
            None | Some("false") => Ok(Again::No),
            Some("true") => Ok(Again::Yes),
            Some(_) => Err(wrong("`again` is neither true nor false".to_owned(), "write again=true".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use quayline_store::{Access, MemoryEngine, Store, StoreLimits, SystemClock};
    use quayline_workload::WorkloadConfig;

    use super::*;

    /// Regression: every request read all partners, also if it needed none.
    #[test]
    fn partners_are_read_again_only_after_a_change() {
        let project = tempfile::tempdir().expect("a folder");
        let own = "own = true\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"US\"\n";
        let file = project.path().join("partners/us.toml");
        std::fs::create_dir(project.path().join("partners")).expect("a folder");
        std::fs::write(&file, own).expect("a file");
        let engine = Arc::new(MemoryEngine::default());
        let store = Store::open(engine, Arc::new(SystemClock), StoreLimits::default(), Access::Write).expect("a store");
        let ledger = Ledger::open(&store).expect("files");
        let workload = Workload::new(WorkloadConfig::default(), 1);
        let part = PartnersPart::new(project.path().to_owned(), ledger, workload);
        // A file that was changed just now counts as changed.
        let settled = || {
            std::thread::sleep(std::time::Duration::from_millis(250));
            part.book().expect("partners")
        };
        let first = settled();
        assert!(Arc::ptr_eq(&first, &part.book().expect("partners")));
        let listed = |path: &str| part.request(&AdminRequest { method: "GET", path, ..AdminRequest::default() });
        assert_eq!(listed("/partner/partners").expect("an answer").status, 200);
        assert_eq!(listed("/partner/envelopes").expect("an answer").status, 200);
        assert!(Arc::ptr_eq(&first, &part.book().expect("partners")));
        // A changed file, and a partner in the store.
        std::fs::write(&file, own.replace("\"US\"", "\"WE\"")).expect("a file");
        let second = settled();
        assert!(
            !Arc::ptr_eq(&first, &second)
                && second.identified(second.partner(0).identities[0].standard, "ZZ", "WE").is_some()
        );
        let acme = own.replace("own = true", "name = \"ACME\"").replace("\"US\"", "\"ACME\"");
        let put = AdminRequest {
            method: "PUT",
            path: "/partner/partners/ACME",
            query: "in=store",
            body: acme.as_bytes(),
            ..AdminRequest::default()
        };
        assert_eq!(part.request(&put).expect("an answer").status, 200);
        let third = part.book().expect("partners");
        assert!(!Arc::ptr_eq(&second, &third) && third.named("ACME").is_some());
        // Partners that cannot be read are a finding of each request until they can.
        std::fs::write(&file, "own = maybe").expect("a file");
        assert_eq!(listed("/partner/partners").expect("an answer").status, 422);
        std::fs::write(&file, own).expect("a file");
        assert_eq!(listed("/partner/partners").expect("an answer").status, 200);
    }
}
