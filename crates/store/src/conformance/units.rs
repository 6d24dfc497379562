//! Units of work: own changes, isolation, locks, order, numbers.

use std::ops::Bound;
use std::sync::mpsc;
use std::time::Duration;

use super::{Check, same, text};
use crate::{Direction, KeyRange, LockWait, Page, PageLimit, Space, Store, StoreError};

const SPACE: Space = Space(16);

pub(super) const CHECKS: &[Check] = &[
    Check { name: "a_unit_sees_its_own_changes_and_others_do_not", run: own_changes },
    Check { name: "a_dropped_unit_changes_nothing", run: dropped },
    Check { name: "pages_merge_own_changes_both_ways", run: pages },
    Check { name: "a_lock_that_is_held_times_out", run: lock_timeout },
    Check { name: "a_lock_is_free_once_the_outcome_is_visible", run: lock_is_freed },
    Check { name: "the_unit_that_closes_a_circle_gets_a_deadlock", run: deadlock },
    Check { name: "numbers_have_no_gaps", run: numbers },
    Check { name: "positions_ascend_and_can_be_waited_for", run: positions },
    Check { name: "one_thread_holds_many_commits_in_flight", run: in_flight },
    Check { name: "a_ticket_is_a_future", run: ticket },
    Check { name: "limits_are_errors_that_name_themselves", run: limits },
    Check { name: "checkpoint_number_and_log_commit_with_a_record", run: together },
    Check { name: "read_modify_write_under_locks_loses_no_update", run: no_lost_update },
    Check { name: "a_load_is_readable_and_refuses_descending_keys", run: load },
];

fn own_changes(store: &Store) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    unit.put(SPACE, b"a", b"1".as_slice()).map_err(text)?;
    same("own put", unit.read(SPACE, b"a").map_err(text)?.as_deref(), Some(b"1".as_slice()))?;
    let other = store.begin().map_err(text)?;
    same("another unit", other.read(SPACE, b"a").map_err(text)?, None)?;
    unit.commit().map_err(text)?;
    same("after the commit", other.read(SPACE, b"a").map_err(text)?.as_deref(), Some(b"1".as_slice()))?;
    let mut unit = store.begin().map_err(text)?;
    unit.delete(SPACE, b"a").map_err(text)?;
    same("own delete", unit.read(SPACE, b"a").map_err(text)?, None)?;
    same("another unit", other.read(SPACE, b"a").map_err(text)?.is_some(), true)?;
    unit.commit().map_err(text)?;
    same("deleted", other.read(SPACE, b"a").map_err(text)?, None)
}

fn dropped(store: &Store) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    unit.put(SPACE, b"a", b"1".as_slice()).map_err(text)?;
    drop(unit);
    same("open units", store.units_open(), 0)?;
    same("locks", store.locks_held(), 0)?;
    same("value", store.begin().map_err(text)?.read(SPACE, b"a").map_err(text)?, None)
}

fn pages(store: &Store) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    for number in 0..50u8 {
        unit.put(SPACE, &[number * 2], [number].as_slice()).map_err(text)?;
        unit.put(Space(SPACE.0 + 1), &[number], b"other space".as_slice()).map_err(text)?;
    }
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    unit.put(SPACE, &[5], b"new".as_slice()).map_err(text)?;
    unit.put(SPACE, &[6], b"changed".as_slice()).map_err(text)?;
    unit.delete(SPACE, &[8]).map_err(text)?;
    unit.put(SPACE, &[200], b"last".as_slice()).map_err(text)?;
    let mut expected: Vec<u8> = (0..50).map(|number| number * 2).filter(|key| *key != 8).chain([5, 200]).collect();
    expected.sort_unstable();
    for direction in [Direction::Forward, Direction::Backward] {
        // Sizes of pages that end by their entries, and of pages that end by their bytes.
        let by_bytes = [1, 7, 12, 30, 31, 100].map(|bytes| PageLimit { entries: 1000, bytes });
        for limit in [1, 2, 3, 1000].map(|entries| PageLimit { entries, bytes: 1 << 20 }).into_iter().chain(by_bytes) {
            let mut found = Vec::new();
            let mut page = Page::default();
            let mut next: Option<Bound<Vec<u8>>> = None;
            loop {
                let range = next.as_ref().map_or(KeyRange::ALL, |bound| KeyRange::ALL.after(direction, bound));
                unit.page(SPACE, range, direction, limit, &mut page).map_err(text)?;
                found.extend(page.iter().map(|(key, _)| key[0]));
                next = page.next.take();
                if next.is_none() {
                    break;
                }
            }
            let mut expected = expected.clone();
            if direction == Direction::Backward {
                expected.reverse();
            }
            same(&format!("keys in pages of {limit:?}"), found, expected)?;
        }
    }
    let mut page = Page::default();
    let range = KeyRange { from: Bound::Included(&[6]), to: Bound::Excluded(&[12]) };
    unit.page(SPACE, range, Direction::Forward, PageLimit::default(), &mut page).map_err(text)?;
    let found: Vec<_> = page.iter().map(|(key, value)| (key[0], value.to_vec())).collect();
    same("a part", found, vec![(6, b"changed".to_vec()), (10, vec![5])])
}

fn lock_timeout(store: &Store) -> Result<(), String> {
    let mut holder = store.begin().map_err(text)?;
    holder.lock(SPACE, b"a", LockWait::No).map_err(text)?;
    let mut other = store.begin().map_err(text)?;
    for wait in [LockWait::No, LockWait::AtMostMs(5)] {
        match other.read_for_update(SPACE, b"a", wait) {
            Err(error @ StoreError::LockTimeout { .. }) => same("status", error.status().digits(), "93")?,
            found => return Err(format!("expected a timeout, found {found:?}")),
        }
    }
    other.read(SPACE, b"a").map_err(|error| format!("a plain read takes no lock: {error}"))?;
    holder.roll_back();
    other.lock(SPACE, b"a", LockWait::No).map_err(text)
}

fn lock_is_freed(store: &Store) -> Result<(), String> {
    let mut first = store.begin().map_err(text)?;
    first.put(SPACE, b"a", b"1".as_slice()).map_err(text)?;
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let mut unit = store.begin()?;
            let value = unit.read_for_update(SPACE, b"a", LockWait::Default)?;
            unit.commit()?;
            Ok::<_, StoreError>(value)
        });
        std::thread::sleep(Duration::from_millis(5));
        first.commit().map_err(text)?;
        let value = second.join().map_err(|_| "a panic".to_owned())?.map_err(text)?;
        same("the second reads what the first wrote", value.as_deref(), Some(b"1".as_slice()))
    })
}

fn deadlock(store: &Store) -> Result<(), String> {
    let (locked, wait_for) = mpsc::channel();
    std::thread::scope(|scope| {
        let mut first = store.begin().map_err(text)?;
        first.lock(SPACE, b"a", LockWait::No).map_err(text)?;
        let second = scope.spawn(move || {
            let mut unit = store.begin()?;
            unit.lock(SPACE, b"b", LockWait::No)?;
            // The receiver is gone only if its check failed.
            let _ = locked.send(());
            unit.lock(SPACE, b"a", LockWait::Default)
        });
        wait_for.recv().map_err(text)?;
        // Either unit may close the cycle, but not both, and neither may wait for its limit.
        let mine = first.lock(SPACE, b"b", LockWait::Default);
        if mine.is_err() {
            first.roll_back();
        }
        let theirs = second.join().map_err(|_| "a panic".to_owned())?;
        let is_deadlock = |outcome: &Result<(), StoreError>| matches!(outcome, Err(StoreError::Deadlock { .. }));
        same("one deadlock", is_deadlock(&mine) ^ is_deadlock(&theirs), true)?;
        same("one goes through", mine.is_ok() ^ theirs.is_ok(), true)
    })
}

fn numbers(store: &Store) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    same("first", unit.next_number("control").map_err(text)?, 1)?;
    same("second", unit.next_number("control").map_err(text)?, 2)?;
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    same("third", unit.next_number("control").map_err(text)?, 3)?;
    unit.roll_back();
    let mut unit = store.begin().map_err(text)?;
    same("third again", unit.next_number("control").map_err(text)?, 3)?;
    same("another", unit.next_number("other").map_err(text)?, 1)
}

fn positions(store: &Store) -> Result<(), String> {
    let mut last = store.position();
    for number in 0..5u8 {
        let mut unit = store.begin().map_err(text)?;
        unit.put(SPACE, b"a", [number].as_slice()).map_err(text)?;
        let position = unit.commit().map_err(text)?;
        if position <= last {
            return Err(format!("position {position} does not follow {last}"));
        }
        store.wait(position).map_err(text)?;
        last = position;
    }
    same("visible", store.position(), last)
}

fn in_flight(store: &Store) -> Result<(), String> {
    const COUNT: u64 = 300;
    let (send, receive) = mpsc::channel();
    for number in 0..COUNT {
        let mut unit = store.begin().map_err(text)?;
        unit.put(SPACE, &number.to_be_bytes(), b"x".as_slice()).map_err(text)?;
        let send = send.clone();
        unit.submit_with(Box::new(move |outcome| {
            // The receiver is gone only if the check failed.
            let _ = send.send(outcome.is_ok());
        }));
    }
    for _ in 0..COUNT {
        let outcome = receive.recv_timeout(Duration::from_secs(30)).map_err(text)?;
        same("committed", outcome, true)?;
    }
    let unit = store.begin().map_err(text)?;
    for number in 0..COUNT {
        same("there", unit.read(SPACE, &number.to_be_bytes()).map_err(text)?.is_some(), true)?;
    }
    same("locks", store.locks_held(), 0)
}

fn ticket(store: &Store) -> Result<(), String> {
    use std::future::Future as _;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake};

    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut unit = store.begin().map_err(text)?;
    unit.put(SPACE, b"a", b"1".as_slice()).map_err(text)?;
    let mut ticket = std::pin::pin!(unit.submit());
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let position = loop {
        match ticket.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => break outcome.map_err(text)?,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(10)),
        }
    };
    same("visible", store.position() >= position, true)
}

fn limits(store: &Store) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    let long = vec![0; store.limits().key_bytes_max + 1];
    let error = unit.put(SPACE, &long, b"".as_slice()).err().ok_or("a long key is refused")?;
    same("status of a long key", error.status().digits(), "44")?;
    let long = vec![0; store.limits().value_bytes_max + 1];
    let error = unit.put(SPACE, b"a", long).err().ok_or("a long value is refused")?;
    same("status of a long value", error.status().digits(), "44")?;
    same("nothing was changed", unit.read(SPACE, b"a").map_err(text)?, None)
}

fn together(store: &Store) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    unit.put(SPACE, b"record", b"1".as_slice()).map_err(text)?;
    unit.put_checkpoint("job", b"state").map_err(text)?;
    let number = unit.next_number("control").map_err(text)?;
    let first = unit.append_log(b"entry 1").map_err(text)?;
    let second = unit.append_log(b"entry 2").map_err(text)?;
    same("log order", first < second, true)?;
    unit.commit().map_err(text)?;
    let unit = store.begin().map_err(text)?;
    same("checkpoint", unit.checkpoint("job").map_err(text)?.as_deref(), Some(b"state".as_slice()))?;
    same("number", unit.last_number("control").map_err(text)?, number)?;
    let mut page = Page::default();
    unit.page(Space::LOG, KeyRange::ALL, Direction::Forward, PageLimit::default(), &mut page).map_err(text)?;
    let entries: Vec<_> = page.iter().map(|(_, value)| value.to_vec()).collect();
    same("log", entries, vec![b"entry 1".to_vec(), b"entry 2".to_vec()])
}

fn no_lost_update(store: &Store) -> Result<(), String> {
    const WORKERS: u64 = 4;
    const EACH: u64 = 50;
    let add = || -> Result<(), StoreError> {
        let mut unit = store.begin()?;
        unit.next_number("shared")?;
        unit.commit().map(|_| ())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(move || (0..EACH).try_for_each(|_| add()))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a panic".to_owned())?.map_err(text))
    })?;
    same("sum", store.begin().map_err(text)?.last_number("shared").map_err(text)?, WORKERS * EACH)
}

fn load(store: &Store) -> Result<(), String> {
    let engine = store.engine();
    let mut left = 2_000u64;
    let mut source = |key: &mut Vec<u8>, value: &mut Vec<u8>| {
        if left == 0 {
            return Ok(false);
        }
        key.clear();
        key.extend_from_slice(&(2_000 - left).to_be_bytes());
        value.clear();
        value.push(7);
        left -= 1;
        Ok(true)
    };
    same("loaded", engine.load(Space(40), &mut source).map_err(text)?, 2_000)?;
    let unit = store.begin().map_err(text)?;
    same("first", unit.read(Space(40), &0u64.to_be_bytes()).map_err(text)?.is_some(), true)?;
    same("last", unit.read(Space(40), &1_999u64.to_be_bytes()).map_err(text)?.is_some(), true)?;
    let mut keys = [2u8, 1].into_iter();
    let mut source = |key: &mut Vec<u8>, _: &mut Vec<u8>| {
        key.clear();
        key.extend(keys.next());
        Ok(!key.is_empty())
    };
    match engine.load(Space(41), &mut source) {
        Err(StoreError::NotAscending { entry: 2 }) => Ok(()),
        found => Err(format!("expected an error for entry 2, found {found:?}")),
    }
}
