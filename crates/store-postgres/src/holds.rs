//! Locks and claims among processes: the requests of units of work, and the task that sends them to the database in order.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use quayline_store::queue::MessageId;
use quayline_store::shared::{Arrival, ClaimedEntry, Filter, Hold, NO_UNIT, Pause, Reads, Shared, StampSource, Wanted};
use quayline_store::{FullKey, KeyRange, Page, PageLimit, Space, StoreError, UnitId, Value};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_postgres::types::ToSql;

use crate::completions::After;
use crate::hold_wish::{Asked, HoldWish, Told};
use crate::rows::{self, Parameters, Rows, truth};
use crate::session::Session;
use crate::sql::{self, Values};
use crate::state::{State, gone};

/// Interval at which waiting units are woken to try again and retry delays end.
const TICK: Duration = Duration::from_millis(100);
/// Interval at which a process looks for processes that have ended.
const REAP: Duration = Duration::from_millis(500);
/// Steps that are taken from those that wait at once.
const TOGETHER: usize = 16;
/// Maximum number of statements in progress. Further requests wait and are merged: adjacent requests of the same kind become one statement.
const UNDER_WAY: usize = 4;
/// Maximum number of requests merged into one statement.
const MERGED_MAX: usize = 512;

/// Tasks and queues of this process that wait for changes of keys and spaces.
#[derive(Default)]
struct Listeners {
    wakers: Mutex<HashMap<FullKey, Vec<Waker>>>,
    arrivals: Mutex<HashMap<Space, Weak<dyn Arrival>>>,
}

impl Listeners {
    fn wake(&self, key: &FullKey) {
        let wakers = self.wakers.lock().remove(key);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    fn wake_all(&self) {
        let wakers = std::mem::take(&mut *self.wakers.lock());
        wakers.into_values().flatten().for_each(Waker::wake);
    }
}

/// Factor between the time of a search and the time for which Quayline uses the place that it found.
const PLACE_FACTOR: u32 = 100;

/// Place in a range below which a search found no free entry.
struct SearchedTo {
    range: (Vec<u8>, Vec<u8>),
    next: Vec<u8>,
    until: Instant,
}

/// Positions at which claims continue, by space. Without them, each claim would pass over all entries that this process has claimed before, and the
/// time of a unit of work would grow with the square of its number of messages.
///
/// An entry before a position may become free. If this process releases or adds it, or is notified of it, the position is discarded at once. Otherwise
/// it is discarded after 100 ms, or after 100 times the duration of a full search if that is longer. A search that finds nothing after a position starts
/// again at the beginning of the range.
#[derive(Default)]
struct Searched {
    places: HashMap<Space, SearchedTo>,
    /// Number of times that places went. A search that began before says nothing.
    changes: u64,
}

impl Searched {
    fn forget(&mut self, space: Space) {
        self.changes += 1;
        self.places.remove(&space);
    }
}

/// This process's view of the locks and claims of all processes that use the database.
pub(crate) struct Holds {
    pub(crate) process: i32,
    slot: u16,
    opened_ms: u64,
    opened: Instant,
    name: Arc<str>,
    state: Arc<State>,
    wishes: UnboundedSender<HoldWish>,
    listeners: Listeners,
    searched: Mutex<Searched>,
    /// Times until which messages of this process stay claimed. Each goes after its release is sent, so that a later claim comes after the release.
    paused: Mutex<HashMap<(Space, MessageId), Instant>>,
}

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holds").field("process", &self.process).finish_non_exhaustive()
    }
}

impl Holds {
    pub(crate) fn new(
        (process, slot, opened_ms): (i32, u16, u64),
        name: &Arc<str>,
        state: &Arc<State>,
        wishes: UnboundedSender<HoldWish>,
    ) -> Self {
        let (name, state) = (Arc::clone(name), Arc::clone(state));
        let opened = Instant::now();
        let (listeners, searched, paused) = (Listeners::default(), Mutex::default(), Mutex::default());
        Holds { process, slot, opened_ms, opened, name, state, wishes, listeners, searched, paused }
    }

    fn ask<T>(&self, wish: impl FnOnce(Sender<Result<T, StoreError>>) -> HoldWish) -> Result<T, StoreError> {
        self.state.healthy()?;
        let (answer, taken) = mpsc::channel();
        self.wishes.send(wish(answer)).map_err(|_| gone(&self.name))?;
        taken.recv().unwrap_or_else(|_| Err(gone(&self.name)))
    }

    fn query(&self, text: String, parameters: Parameters) -> Rows {
        self.ask(|answer| HoldWish::Query { text, parameters, answer })
    }

    fn tell(&self, wish: HoldWish) {
        // Without the connection, everything that this process holds ends anyway.
        let _ = self.wishes.send(wish);
    }

    /// Informs other units and processes that a commit freed keys and added entries.
    pub(crate) fn committed(&self, told: Told) {
        let mut searched = self.searched.lock();
        told.spaces.keys().for_each(|space| searched.forget(*space));
        drop(searched);
        self.tell(HoldWish::Tell(told));
    }

    pub(crate) fn stop(&self) {
        self.tell(HoldWish::Stop);
    }

    /// Ends pauses whose releases were sent.
    fn pauses_end(&self, released: &[(Instant, FullKey, MessageId)]) {
        let mut paused = self.paused.lock();
        for (at, key, id) in released {
            let place = (key.space(), *id);
            // Several messages may have one id; the last pause counts.
            if paused.get(&place).is_some_and(|last| last <= at) {
                paused.remove(&place);
            }
        }
    }
}

/// Keys from the first, up to but without the second.
fn half_open(space: Space, range: KeyRange<'_>) -> (Vec<u8>, Vec<u8>) {
    let after = |key: FullKey| [key.bytes(), &[0]].concat();
    let (from, to) = range.full(space);
    let from = match from {
        Bound::Included(key) => key.bytes().to_vec(),
        Bound::Excluded(key) => after(key),
        Bound::Unbounded => Vec::new(),
    };
    let to = match to {
        Bound::Included(key) => after(key),
        Bound::Excluded(key) => key.bytes().to_vec(),
        // No space has a greater number, and none of this engine is that long.
        Bound::Unbounded => vec![0xff; 2048],
    };
    (from, to)
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn with_filter(mut parameters: Parameters, filter: Option<Filter<'_>>) -> (Values, Parameters) {
    let Some(filter) = filter else { return (Values::Any, parameters) };
    parameters.push(Box::new(i32::try_from(filter.offset + 1).unwrap_or(i32::MAX)));
    parameters.push(Box::new(filter.bytes.to_vec()));
    (Values::Filtered, parameters)
}

fn unit_number(unit: UnitId) -> i64 {
    i64::try_from(unit.0).unwrap_or(i64::MAX)
}

/// Spaces are below the units in the table of waits.
fn space_number(space: Space) -> i64 {
    -1 - i64::from(space.0)
}

impl Shared for Holds {
    fn stamps(&self) -> StampSource {
        // The time of the database passed on since it answered.
        let passed = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(0);
        StampSource::new(self.slot, self.opened_ms + passed)
    }

    fn hold(&self, unit: UnitId, key: &FullKey, reads: Reads) -> Result<Hold, StoreError> {
        self.ask(|answer| HoldWish::Hold(Asked { unit, key: key.clone(), reads, answer }))
    }

    fn release(&self, unit: UnitId, keys: Vec<FullKey>) {
        self.tell(HoldWish::Release { unit, keys });
    }

    fn give_back(&self, key: FullKey, beside: Option<(FullKey, Value)>, pause: Option<Pause>) {
        self.searched.lock().forget(key.space());
        let at = pause.map(|pause| (Instant::now() + Duration::from_millis(pause.ms), pause.id));
        if let Some((at, id)) = at {
            let mut paused = self.paused.lock();
            let last = paused.entry((key.space(), id)).or_insert(at);
            *last = at.max(*last);
        }
        self.tell(HoldWish::GiveBack { key, beside, at });
    }

    fn end_pauses(&self, space: Space) {
        self.searched.lock().forget(space);
        self.paused.lock().retain(|(paused, _), _| *paused != space);
        self.tell(HoldWish::EndPauses(space));
    }

    fn paused_until(&self, space: Space, id: &MessageId) -> Option<Instant> {
        self.paused.lock().get(&(space, *id)).map(|at| *at + TICK)
    }

    fn waits(&self, unit: UnitId, key: &FullKey) -> Result<bool, StoreError> {
        self.ask(|answer| HoldWish::Waits { unit, key: key.clone(), answer })
    }

    fn waits_no_more(&self, unit: UnitId) {
        self.tell(HoldWish::WaitsNoMore { unit });
    }

    fn wake_when(&self, key: &FullKey, waker: &Waker) {
        let mut wakers = self.listeners.wakers.lock();
        let known = wakers.entry(key.clone()).or_default();
        if !known.iter().any(|known| known.will_wake(waker)) {
            known.push(waker.clone());
        }
    }

    fn claim(&self, wanted: &Wanted<'_>) -> Result<Vec<ClaimedEntry>, StoreError> {
        let range = half_open(wanted.space, wanted.range);
        let (changes, place) = {
            let mut searched = self.searched.lock();
            let now = Instant::now();
            let place = searched.places.remove(&wanted.space);
            let place = place.filter(|place| wanted.filter.is_none() && place.range == range && place.until > now);
            (searched.changes, place)
        };
        let (mut from, mut until) = place.map_or((range.0.clone(), None), |place| (place.next, Some(place.until)));
        loop {
            let began = Instant::now();
            let beside = wanted.beside.0.to_be_bytes().to_vec();
            let parameters: Parameters = vec![
                Box::new(from.clone()),
                Box::new(range.1.clone()),
                Box::new(number(wanted.count)),
                Box::new(self.process),
                Box::new(beside),
            ];
            let (values, parameters) = with_filter(parameters, wanted.filter);
            let rows = self.query(sql::claim(values), parameters)?;
            let claimed: Vec<ClaimedEntry> = rows.iter().filter_map(claimed).collect();
            if rows.is_empty() && until.take().is_some() {
                from.clone_from(&range.0);
                continue;
            }
            let last = rows.last().filter(|_| wanted.filter.is_none()).and_then(|row| row.try_get::<_, &[u8]>(0).ok());
            let mut searched = self.searched.lock();
            if let Some(last) = last
                && searched.changes == changes
            {
                let next = [last, &[0]].concat();
                let until = until.unwrap_or_else(|| Instant::now() + TICK.max(began.elapsed() * PLACE_FACTOR));
                searched.places.insert(wanted.space, SearchedTo { range: range.clone(), next, until });
            }
            drop(searched);
            if !claimed.is_empty() || rows.is_empty() {
                return Ok(claimed);
            }
            // Other processes claimed all of them at the same time; the next look does not see those.
        }
    }

    fn free_page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        filter: Option<Filter<'_>>,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError> {
        page.clear();
        if range.is_empty() {
            return Ok(());
        }
        let (from, to) = half_open(space, range);
        let entries = limit.entries.max(1);
        let parameters: Parameters =
            vec![Box::new(from), Box::new(to), Box::new(number(entries)), Box::new(number(limit.bytes.max(1)))];
        let (values, parameters) = with_filter(parameters, filter);
        let rows = self.query(sql::free_page(values), parameters)?;
        rows::fill(page, &rows, entries, limit.bytes);
        Ok(())
    }

    fn count(&self, space: Space) -> Result<u64, StoreError> {
        let (from, to) = half_open(space, KeyRange::ALL);
        let rows = self.query(sql::COUNT.to_owned(), vec![Box::new(from), Box::new(to)])?;
        let count = rows.first().and_then(|row| row.try_get::<_, i64>(0).ok());
        Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
    }

    fn watch(&self, space: Space, arrival: Weak<dyn Arrival>) -> Result<(), StoreError> {
        self.listeners.arrivals.lock().insert(space, arrival);
        let key = space.0.to_be_bytes().to_vec();
        let parameters: Parameters = vec![Box::new(self.process), Box::new(space_number(space)), Box::new(key)];
        self.query(sql::WAIT.to_owned(), parameters).map(|_| ())
    }

    fn is_watched(&self, space: Space) -> Result<bool, StoreError> {
        // A process that was killed a moment ago uses nothing.
        self.query(sql::REAP.to_owned(), vec![Box::new(self.process), Box::new(sql::PROCESS_CLASS)])?;
        let key = space.0.to_be_bytes().to_vec();
        let rows = self.query(sql::IS_WATCHED.to_owned(), vec![Box::new(key), Box::new(self.process)])?;
        Ok(truth(&rows))
    }
}

fn claimed(row: &tokio_postgres::Row) -> Option<ClaimedEntry> {
    if !row.try_get::<_, bool>(3).ok()? {
        return None;
    }
    let value: &[u8] = row.try_get(1).ok()?;
    let beside: Option<&[u8]> = row.try_get(2).ok()?;
    let key = row.try_get::<_, &[u8]>(0).ok()?.get(4..)?.to_vec();
    Some(ClaimedEntry { key, value: Value::from(value), beside: beside.map(Value::from) })
}

/// Statements of one round, in order. Adjacent requests of the same kind become one statement.
enum Step {
    Hold(Vec<Asked>),
    Release { keys: Vec<FullKey>, units: Vec<UnitId> },
    Beside { keys: Vec<Vec<u8>>, values: Vec<Value> },
    Waits { unit: UnitId, key: FullKey, answer: Sender<Result<bool, StoreError>> },
    WaitsNoMore { unit: UnitId },
    Query { text: String, parameters: Parameters, answer: Sender<Rows> },
    Tell(Told),
}

fn add_step(steps: &mut Vec<Step>, wish: HoldWish) {
    match (wish, steps.last_mut()) {
        (HoldWish::Hold(asked), Some(Step::Hold(all))) if all.len() < MERGED_MAX => all.push(asked),
        (HoldWish::Hold(asked), _) => steps.push(Step::Hold(vec![asked])),
        (HoldWish::Release { unit, keys: more }, Some(Step::Release { keys, units })) if keys.len() < MERGED_MAX => {
            units.extend(std::iter::repeat_n(unit, more.len()));
            keys.extend(more);
        }
        (HoldWish::Release { unit, keys }, _) => {
            let units = vec![unit; keys.len()];
            steps.push(Step::Release { keys, units });
        }
        (HoldWish::Waits { unit, key, answer }, _) => steps.push(Step::Waits { unit, key, answer }),
        (HoldWish::WaitsNoMore { unit }, _) => steps.push(Step::WaitsNoMore { unit }),
        (HoldWish::Query { text, parameters, answer }, _) => steps.push(Step::Query { text, parameters, answer }),
        (HoldWish::Tell(more), Some(Step::Tell(told))) => told.add(more),
        (HoldWish::Tell(told), _) => steps.push(Step::Tell(told)),
        // Taken apart by the caller.
        (HoldWish::GiveBack { .. } | HoldWish::EndPauses(_) | HoldWish::Heard(_) | HoldWish::Stop, _) => {}
    }
}

/// The task of the connection of holds.
pub(crate) struct Holder {
    pub(crate) holds: Arc<Holds>,
    pub(crate) session: Rc<Session>,
    pub(crate) after: Sender<After>,
    /// Reports that the connection is lost.
    pub(crate) lost: Box<dyn Fn(StoreError)>,
}

impl Holder {
    /// Serves requests in order until the engine shuts down.
    pub(crate) async fn serve(self, mut wishes: UnboundedReceiver<HoldWish>) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut reaped = Instant::now();
        let mut paused: Vec<(Instant, FullKey, MessageId)> = Vec::new();
        let is_reaping = Cell::new(false);
        let mut under_way: FuturesUnordered<LocalBoxFuture<'_, ()>> = FuturesUnordered::new();
        loop {
            let mut steps = Vec::new();
            let mut is_last = false;
            let mut next = tokio::select! {
                wish = wishes.recv(), if under_way.len() < UNDER_WAY => match wish {
                    Some(wish) => Some(wish),
                    None => return,
                },
                Some(()) = under_way.next() => None,
                _ = tick.tick() => {
                    self.holds.listeners.wake_all();
                    if self.holds.state.healthy().is_err() {
                        // No notification comes any more. Gets that wait look again, and report the loss.
                        self.heard("*");
                    }
                    if reaped.elapsed() >= REAP && !is_reaping.replace(true) {
                        reaped = Instant::now();
                        // Polled with the other statements. tokio-postgres stops reading when nobody takes a long answer, and the answer to this
                        // search may come after such an answer.
                        under_way.push(Box::pin(async {
                            self.reap().await;
                            is_reaping.set(false);
                        }));
                    }
                    None
                }
            };
            while let Some(wish) = next {
                match wish {
                    HoldWish::GiveBack { key, beside, at } => {
                        if let Some((key, value)) = beside {
                            steps.push(Step::Beside { keys: vec![key.bytes().to_vec()], values: vec![value] });
                        }
                        match at {
                            Some((at, id)) => paused.push((at, key, id)),
                            None => add_step(&mut steps, HoldWish::Release { unit: NO_UNIT, keys: vec![key] }),
                        }
                    }
                    HoldWish::EndPauses(space) => {
                        let ended = paused.extract_if(.., |(_, key, _)| key.space() == space);
                        let keys: Vec<FullKey> = ended.map(|(_, key, _)| key).collect();
                        if !keys.is_empty() {
                            add_step(&mut steps, HoldWish::Release { unit: NO_UNIT, keys });
                        }
                    }
                    HoldWish::Heard(text) => self.heard(&text),
                    HoldWish::Stop => is_last = true,
                    wish => add_step(&mut steps, wish),
                }
                next = if steps.len() < TOGETHER && !is_last { wishes.try_recv().ok() } else { None };
            }
            let now = Instant::now();
            let due: Vec<_> = paused.extract_if(.., |(at, ..)| *at <= now).collect();
            if !due.is_empty() {
                let keys = due.iter().map(|(_, key, _)| key.clone()).collect();
                add_step(&mut steps, HoldWish::Release { unit: NO_UNIT, keys });
            }
            // Sent now and in this order, each before the one after; the answers come later.
            for step in steps {
                let mut step: LocalBoxFuture<'_, ()> = Box::pin(self.step(step));
                let sent = std::future::poll_fn(|context| Poll::Ready(step.as_mut().poll(context)));
                if sent.await.is_pending() {
                    under_way.push(step);
                }
            }
            self.holds.pauses_end(&due);
            if is_last {
                while under_way.next().await.is_some() {}
                let _ = self.session.query(sql::LEAVE, &[&self.holds.process]).await;
                return;
            }
        }
    }

    async fn reap(&self) {
        let done = self.session.query(sql::REAP, &[&self.holds.process, &sql::PROCESS_CLASS]).await;
        if let Err(error) = done {
            (self.lost)(error);
        }
    }

    async fn step(&self, step: Step) {
        let process = self.holds.process;
        match step {
            Step::Hold(asked) => self.hold(asked).await,
            Step::Release { keys, units } => self.release(&keys, &units).await,
            Step::Beside { keys, values } => {
                let values: Vec<&[u8]> = values.iter().map(|value| &**value).collect();
                let _ = self.noted(self.session.query(sql::PUT, &[&keys, &values]).await);
            }
            Step::Waits { unit, key, answer } => {
                let number = unit_number(unit);
                let parameters: [&(dyn ToSql + Sync); 3] = [&process, &number, &key.bytes()];
                let published = self.session.query(sql::WAIT, &parameters);
                let circle = self.session.query(sql::CIRCLE, &parameters);
                let (published, circle) = tokio::join!(biased; published, circle);
                let outcome = published.and(circle).map(|rows| truth(&rows));
                let _ = answer.send(self.noted(outcome));
            }
            Step::WaitsNoMore { unit } => {
                let _ = self.noted(self.session.query(sql::UNWAIT, &[&process, &unit_number(unit)]).await);
            }
            Step::Query { text, parameters, answer } => {
                let parameters: Vec<&(dyn ToSql + Sync)> =
                    parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)).collect();
                let rows = self.session.query(&text, &parameters).await;
                let _ = answer.send(self.noted(rows));
            }
            Step::Tell(told) => self.tell(&told).await,
        }
    }

    /// Locks keys and reads the requested values. The second statement begins after the first has ended, so it sees the commits of the previous
    /// holders, and only the current holders can change the keys next.
    async fn hold(&self, asked: Vec<Asked>) {
        let keys: Vec<&[u8]> = asked.iter().map(|asked| asked.key.bytes()).collect();
        let units: Vec<i64> = asked.iter().map(|asked| unit_number(asked.unit)).collect();
        let read: Vec<&[u8]> =
            asked.iter().filter(|asked| asked.reads == Reads::Value).map(|asked| asked.key.bytes()).collect();
        let parameters: [&(dyn ToSql + Sync); 3] = [&keys, &units, &self.holds.process];
        let wanted: [&(dyn ToSql + Sync); 1] = [&read];
        let hold = self.session.query(sql::HOLD, &parameters);
        let values =
            async { if read.is_empty() { Ok(Vec::new()) } else { self.session.query(sql::GET_ALL, &wanted).await } };
        let outcome = tokio::join!(biased; hold, values);
        let outcome = self.noted(outcome.0.and_then(|held| outcome.1.map(|values| (held, values))));
        let (held, values) = match outcome {
            Ok(rows) => rows,
            Err(error) => {
                asked.into_iter().for_each(|asked| drop(asked.answer.send(Err(error.clone()))));
                return;
            }
        };
        let held: HashSet<&[u8]> = held.iter().filter_map(|row| row.try_get(0).ok()).collect();
        let values: HashMap<&[u8], &[u8]> =
            values.iter().filter_map(|row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?))).collect();
        for Asked { key, reads, answer, .. } in asked {
            let hold = match reads {
                _ if !held.contains(key.bytes()) => Hold::Refused,
                Reads::Nothing => Hold::Taken,
                Reads::Value => Hold::Read(values.get(key.bytes()).map(|value| Value::from(*value))),
            };
            // Who asked may be gone.
            let _ = answer.send(Ok(hold));
        }
    }

    async fn release(&self, keys: &[FullKey], units: &[UnitId]) {
        let bytes: Vec<&[u8]> = keys.iter().map(FullKey::bytes).collect();
        let numbers: Vec<i64> = units.iter().map(|unit| unit_number(*unit)).collect();
        let released = self.session.query(sql::RELEASE, &[&bytes, &numbers, &self.holds.process]).await;
        if self.noted(released).is_err() {
            return;
        }
        let mut told = Told::default();
        for (key, unit) in keys.iter().zip(units) {
            if *unit == NO_UNIT {
                *told.spaces.entry(key.space()).or_default() += 1;
            } else {
                told.keys.push(key.bytes().to_vec());
            }
        }
        for (space, count) in &told.spaces {
            self.arrived(*space, u64::try_from(*count).unwrap_or(0));
        }
        self.tell(&told).await;
    }

    async fn tell(&self, told: &Told) {
        let spaces: Vec<Vec<u8>> = told.spaces.keys().map(|space| space.0.to_be_bytes().to_vec()).collect();
        let counts: Vec<i64> = told.spaces.values().copied().collect();
        let parameters: [&(dyn ToSql + Sync); 4] = [&told.keys, &spaces, &counts, &self.holds.process];
        let _ = self.noted(self.session.query(sql::TELL, &parameters).await);
    }

    /// Handles a notification of another process: `*` means everything, `k` precedes a key, `s` precedes a space with a count.
    fn heard(&self, text: &str) {
        if text == "*" {
            self.holds.listeners.wake_all();
            let spaces: Vec<Space> = self.holds.listeners.arrivals.lock().keys().copied().collect();
            spaces.into_iter().for_each(|space| self.arrived(space, u64::MAX));
        } else if let Some(key) = text.strip_prefix('k').and_then(from_hex).and_then(|key| FullKey::from_bytes(&key)) {
            self.holds.listeners.wake(&key);
        } else if let Some((space, count)) = text.strip_prefix('s').and_then(|text| text.split_once(':'))
            && let (Ok(space), Ok(count)) = (u32::from_str_radix(space, 16), count.parse())
        {
            self.arrived(Space(space), count);
        }
    }

    fn arrived(&self, space: Space, count: u64) {
        self.holds.searched.lock().forget(space);
        let arrival = self.holds.listeners.arrivals.lock().get(&space).and_then(Weak::upgrade);
        if let Some(arrival) = arrival {
            // Not here: a get may hold the queue while it waits for this thread.
            let _ = self.after.send(After::Arrived(arrival, count));
        }
    }

    fn noted<T>(&self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        outcome.inspect_err(|error| (self.lost)(error.clone()))
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
