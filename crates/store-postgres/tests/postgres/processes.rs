//! Effects of one process on a file or queue that another one uses, and a connection that is lost during a commit.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use quayline_store::queue::{Message, QueueDefinition};
use quayline_store::record_file::{By, FileChange, FileDefinition, KeyPlace, Organisation, RecordFile, Relation};
use quayline_store::{
    Access, Clock, Direction, Engine as _, KeyRange, Page, PageLimit, Space, Store, StoreError, StoreLimits,
    SystemClock,
};
use quayline_store_postgres::{Endpoint, PostgresEngine};

use crate::{Server, store};

fn definition(name: &str) -> FileDefinition {
    FileDefinition {
        name: name.to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 4 }),
        record_bytes_min: 4,
        record_bytes_max: 40,
        alternates: Vec::new(),
    }
}

fn insert(store: &Store, file: &RecordFile, number: u32) -> Result<(), StoreError> {
    let mut unit = store.begin()?;
    file.insert(&mut unit, &number.to_be_bytes())?;
    unit.commit().map(|_| ())
}

fn opened(store: &Store, name: &str) -> Result<RecordFile, StoreError> {
    store.file(&store.begin()?, name)
}

/// A change of a file copied its records while another process wrote: what that one had acknowledged went to the old records and was gone with them.
pub(crate) fn a_file_in_use(server: &Server) {
    let one = store(server.empty("files"));
    let mut unit = one.begin().unwrap();
    one.define_file(&mut unit, definition("F")).unwrap();
    unit.commit().unwrap();
    let other = store(PostgresEngine::open(server.database("files")).unwrap());
    let there = opened(&other, "F").unwrap();
    insert(&other, &there, 1).unwrap();
    let wider = || FileChange { record_bytes: Some((4, 80)), ..FileChange::default() };
    let refused = [
        one.alter_file("F", FileChange::default()).err(),
        one.alter_file("F", wider()).err(),
        one.copy_file("F", definition("COPY")).err(),
        one.delete_file("F").err(),
    ];
    for error in refused {
        assert!(matches!(&error, Some(StoreError::FileInUse { file }) if file == "F"), "{error:?}");
    }
    insert(&other, &there, 2).unwrap();
    drop((there, other));
    // Nobody uses it now.
    assert_eq!(one.alter_file("F", wider()).unwrap(), 2);

    // Writers that open the file while it is changed, again and again: they wait, and no record is lost.
    drop(one);
    let writer = store(PostgresEngine::open(server.database("files")).unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let changing = std::thread::spawn({
        let (database, stop) = (server.database("files"), Arc::clone(&stop));
        move || {
            let mut changed = 0;
            while !stop.load(Ordering::SeqCst) {
                let store = store(PostgresEngine::open(database.clone()).unwrap());
                match store.alter_file("F", FileChange::default()) {
                    Ok(_) => changed += 1,
                    Err(StoreError::FileInUse { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            changed
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    let file = opened(&writer, "F").unwrap();
    for number in 10..60 {
        insert(&writer, &file, number).unwrap();
    }
    drop((file, writer));
    let mut begin = 60;
    for _ in 0..6 {
        let writer = store(PostgresEngine::open(server.database("files")).unwrap());
        let file = opened(&writer, "F").unwrap();
        insert(&writer, &file, begin).unwrap();
        begin += 1;
        drop((file, writer));
        std::thread::sleep(Duration::from_millis(60));
    }
    stop.store(true, Ordering::SeqCst);
    let changed = changing.join().unwrap();
    assert!(changed > 0, "the file was changed in between");
    let last = store(PostgresEngine::open(server.database("files")).unwrap());
    let file = opened(&last, "F").unwrap();
    let unit = last.begin().unwrap();
    for number in [1, 2].into_iter().chain(10..begin) {
        let found = file.read(&unit, By::Key(&number.to_be_bytes()), Relation::Equal);
        assert!(found.is_ok(), "record {number}, acknowledged, after {changed} changes: {found:?}");
    }
}

/// A second process took a queue that the first had just defined for one that nobody uses.
pub(crate) fn a_queue_just_defined(server: &Server) {
    let one = store(server.empty("defined"));
    let other = store(PostgresEngine::open(server.database("defined")).unwrap());
    let mut unit = one.begin().unwrap();
    one.define_queue(&mut unit, QueueDefinition::local("T")).unwrap();
    unit.commit().unwrap();
    let refused = other.delete_queue("T");
    assert!(matches!(refused, Err(StoreError::QueueInUse { .. })), "{refused:?}");
    let mut unit = one.begin().unwrap();
    one.queue("T").unwrap().put(&mut unit, &Message::new(*b"x")).unwrap();
    unit.commit().unwrap();
    drop(one);
    other.delete_queue("T").unwrap();
}

/// Regression: every process searches for ended processes twice a second, and awaited the answer to that search alone. A long answer before it blocked
/// the connection, and every process that used the database waited forever.
pub(crate) fn long_answers_beside_the_look_for_ended_processes(server: &Server) {
    const ENTRIES: u32 = 400;
    const SPACE: Space = Space(40);
    let engine = Arc::new(server.empty("answers"));
    let shared = engine.shared().expect("several processes may open it");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = Store::open(engine, clock, StoreLimits::default(), Access::Write).unwrap();
    let mut unit = store.begin().unwrap();
    for number in 0..ENTRIES {
        unit.put(SPACE, &number.to_be_bytes(), vec![7; 2_000]).unwrap();
    }
    unit.commit().unwrap();
    let (done, ended) = mpsc::channel();
    for _ in 0..2 {
        let (shared, done) = (Arc::clone(&shared), done.clone());
        std::thread::spawn(move || {
            let (begin, mut page) = (Instant::now(), Page::default());
            let limit = PageLimit { entries: 1_000, bytes: 4 << 20 };
            while begin.elapsed() < Duration::from_secs(3) {
                shared.free_page(SPACE, KeyRange::ALL, None, limit, &mut page).unwrap();
                assert_eq!(page.len(), ENTRIES as usize);
            }
            done.send(()).unwrap();
        });
    }
    for _ in 0..2 {
        if ended.recv_timeout(Duration::from_secs(30)).is_err() {
            // Dropping the store would wait for the blocked connection.
            std::mem::forget(store);
            panic!("answers stopped coming");
        }
    }
}

/// Regression: a page that ended by its bytes was the last one if its records, without the four bytes of the space in each key, were below the limit.
pub(crate) fn pages_that_end_by_their_bytes(server: &Server) {
    const ENTRIES: u32 = 300;
    let engine = Arc::new(server.empty("pages"));
    let shared = engine.shared().expect("several processes may open it");
    let limit = PageLimit { entries: 1_000, bytes: 4_096 };
    let all = |read: &mut dyn FnMut(KeyRange<'_>, &mut Page)| {
        let (mut next, mut page, mut count) = (None, Page::default(), 0);
        loop {
            let range = next.as_ref().map_or(KeyRange::ALL, |next| KeyRange::ALL.after(Direction::Forward, next));
            read(range, &mut page);
            count += page.len();
            next = page.next.take();
            if next.is_none() {
                return count;
            }
        }
    };
    for bytes in 4..200 {
        let space = Space(1_000 + bytes);
        let mut numbers = 0..ENTRIES;
        let loaded = engine.load(space, &mut |key, value| {
            let number = numbers.next();
            *key = number.unwrap_or_default().to_be_bytes().to_vec();
            *value = vec![7; bytes as usize - 4];
            Ok(number.is_some())
        });
        assert_eq!(loaded.unwrap(), u64::from(ENTRIES));
        let found = all(&mut |range, page| engine.page(space, range, Direction::Forward, limit, page).unwrap());
        let free = all(&mut |range, page| shared.free_page(space, range, None, limit, page).unwrap());
        assert_eq!((found, free), (ENTRIES as usize, ENTRIES as usize), "records of {bytes} bytes");
    }
}

/// Passes bytes on, and once, after a COMMIT went to the server, loses the connection before the answer.
fn proxy(port: u16, lose: &Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    let lose = Arc::clone(lose);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let is_lost = Arc::new(AtomicBool::new(false));
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn({
                let (lose, is_lost) = (Arc::clone(&lose), Arc::clone(&is_lost));
                move || {
                    let mut bytes = [0; 64 << 10];
                    while let Ok(count) = from.read(&mut bytes)
                        && count > 0
                    {
                        let has_commit = bytes[..count].windows(7).any(|part| part == b"COMMIT\0");
                        if has_commit && lose.swap(false, Ordering::SeqCst) {
                            is_lost.store(true, Ordering::SeqCst);
                        }
                        if to.write_all(&bytes[..count]).is_err() {
                            break;
                        }
                        if is_lost.load(Ordering::SeqCst) {
                            // The server has time to do it.
                            std::thread::sleep(Duration::from_millis(500));
                            break;
                        }
                    }
                    let _ = from.shutdown(Shutdown::Both);
                    let _ = to.shutdown(Shutdown::Both);
                }
            });
            let (mut from, mut to) = (server, client);
            std::thread::spawn(move || {
                let mut bytes = [0; 64 << 10];
                while let Ok(count) = from.read(&mut bytes)
                    && count > 0
                {
                    if !is_lost.load(Ordering::SeqCst) && to.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    });
    own
}

/// The error of a commit whose answer was lost said that the unit of work did not happen.
pub(crate) fn a_commit_without_an_answer(server: &Server) {
    drop(server.empty("unknown"));
    let lose = Arc::new(AtomicBool::new(false));
    let port = proxy(server.port, &lose);
    let database = format!("postgresql://quay:s3cret%20word@127.0.0.1:{port}/unknown");
    let through = store(PostgresEngine::open(Endpoint::parse(&database).unwrap()).unwrap());
    let put = |key: &[u8]| {
        let mut unit = through.begin()?;
        unit.put(Space(20), key, b"x".as_slice())?;
        unit.commit()
    };
    put(b"before").unwrap();
    lose.store(true, Ordering::SeqCst);
    let lost = put(b"lost");
    assert!(matches!(lost, Err(StoreError::Unknown { .. })), "{lost:?}");
    let begin = Instant::now();
    let refused = put(b"after");
    assert!(matches!(refused, Err(StoreError::Poisoned { .. })), "{refused:?}");
    assert!(begin.elapsed() < Duration::from_secs(5));
    let again = store(PostgresEngine::open(server.database("unknown")).unwrap());
    let unit = again.begin().unwrap();
    for (key, is_there) in [(b"before".as_slice(), true), (b"lost", true), (b"after", false)] {
        assert_eq!(unit.read(Space(20), key).unwrap().is_some(), is_there);
    }
    // A statement that the server refuses did not happen, and the error says so.
    let refusing = store(server.empty("refused"));
    assert!(server.sql_in("refused", "ALTER TABLE quayline.entries ADD CHECK (octet_length(value) < 1000)"));
    let mut unit = refusing.begin().unwrap();
    unit.put(Space(20), b"long", vec![7; 2_000]).unwrap();
    let refused = unit.commit();
    assert!(matches!(refused, Err(StoreError::Io { .. })), "{refused:?}");
}

/// A database of the first version: entries and a position, nothing that several processes share.
pub(crate) fn a_database_of_version_1(server: &Server) {
    drop(server.empty("first"));
    let back = "DROP TABLE quayline.holds, quayline.waits, quayline.processes; DROP SEQUENCE quayline.process_numbers; \
        DELETE FROM quayline.meta WHERE name = 'opened_ms'; UPDATE quayline.meta SET value = 1 WHERE name = 'version'; \
        INSERT INTO quayline.entries VALUES ('\\x0000001461', '\\x62'); UPDATE quayline.meta SET value = 9 WHERE name = 'position'";
    assert!(server.sql_in("first", back), "the tables of version 1");
    // Two processes at once: one migrates, and the other waits for it.
    let stores: Vec<Store> = std::thread::scope(|scope| {
        let threads = [(); 2]
            .map(|()| scope.spawn(|| store(PostgresEngine::open(server.database("first")).expect("it migrates"))));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (number, store) in stores.iter().enumerate() {
        let mut unit = store.begin().unwrap();
        assert_eq!(unit.read(Space(20), b"a").unwrap().as_deref(), Some(b"b".as_slice()));
        unit.put(Space(20), &[u8::try_from(number).unwrap()], b"new".as_slice()).unwrap();
        assert!(unit.commit().unwrap().0 > 9);
        assert!(store.engine().check().unwrap().is_empty());
    }
    drop(stores);
    assert!(server.sql_in("first", "UPDATE quayline.meta SET value = 99 WHERE name = 'version'"));
    let newer = PostgresEngine::open(server.database("first")).err();
    assert!(matches!(newer, Some(StoreError::Version { found: 99, known: 2, .. })), "{newer:?}");
}
