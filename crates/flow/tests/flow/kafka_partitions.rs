//! A topic of a broker that refuses one of its partitions.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicI16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quayline_store::queue::{DEAD_LETTER, Message};

use crate::support::{World, until};

/// Errors with which the broker refuses partition 0: of a fetch, and of its offsets.
#[derive(Default)]
struct Refusals {
    fetch: AtomicI16,
    offsets: AtomicI16,
    /// First partition of each fetch.
    first: Mutex<Vec<i32>>,
}

/// Starts a broker whose topic `t` has two partitions with a message each. It knows no more than an input asks for.
fn broker(refusals: &Arc<Refusals>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let refusals = Arc::clone(refusals);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let refusals = Arc::clone(&refusals);
            std::thread::spawn(move || serve(stream, address, &refusals));
        }
    });
    address
}

fn serve(mut stream: TcpStream, address: SocketAddr, refusals: &Refusals) {
    let mut length = [0; 4];
    while stream.read_exact(&mut length).is_ok() {
        let mut request = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut request).expect("a request");
        let mut input = &request[..];
        let (kind, _version, correlation) = (i16(&mut input), i16(&mut input), take(&mut input, 4).to_vec());
        text(&mut input);
        let body = match kind {
            18 => [&[0, 0][..], &5_i32.to_be_bytes(), &[0, 1, 2, 3, 22].map(|kind| [0, kind, 0, 0, 0, 9]).concat()]
                .concat(),
            3 => metadata(address),
            2 => offsets(&mut input, refusals),
            1 => fetched(&mut input, refusals),
            other => panic!("request {other}"),
        };
        let answer = [&u32::try_from(body.len() + 4).expect("short").to_be_bytes()[..], &correlation, &body].concat();
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

fn take<'a>(input: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = input.split_at(count);
    *input = rest;
    taken
}

fn i16(input: &mut &[u8]) -> i16 {
    i16::from_be_bytes(take(input, 2).try_into().expect("two bytes"))
}

fn i32(input: &mut &[u8]) -> i32 {
    i32::from_be_bytes(take(input, 4).try_into().expect("four bytes"))
}

fn i64(input: &mut &[u8]) -> i64 {
    i64::from_be_bytes(take(input, 8).try_into().expect("eight bytes"))
}

fn text(input: &mut &[u8]) {
    let length = i16(input);
    take(input, usize::try_from(length).expect("a length"));
}

/// The list of topics with this list of partitions.
fn topic(partitions: &[Vec<u8>]) -> Vec<u8> {
    let count = u32::try_from(partitions.len()).expect("few").to_be_bytes();
    [&[0, 0, 0, 1, 0, 1, b't'][..], &count, &partitions.concat()].concat()
}

fn metadata(address: SocketAddr) -> Vec<u8> {
    let host = b"127.0.0.1";
    let port = i32::from(address.port()).to_be_bytes();
    let brokers = [&[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 9][..], host, &port, &[0xff, 0xff]].concat();
    let partition = |number| [&[0, 0][..], &[0, 0, 0, number], &[0, 0, 0, 1], &[0; 8]].concat();
    let partitions = [partition(0), partition(1)].concat();
    // No name of the cluster, its controller, and one topic without an error that is not internal.
    let topics = [&[0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, b't', 0, 0, 0, 0, 2][..], &partitions].concat();
    [brokers, topics].concat()
}

fn offsets(input: &mut &[u8], refusals: &Refusals) -> Vec<u8> {
    let _ = (i32(input), i32(input), text(input), i32(input));
    let (partition, time) = (i32(input), i64(input));
    let code = if partition == 0 { refusals.offsets.load(Ordering::Relaxed) } else { 0 };
    let offset = i64::from(time == -1).to_be_bytes();
    topic(&[[&partition.to_be_bytes()[..], &code.to_be_bytes(), &[0; 8], &offset].concat()])
}

fn fetched(input: &mut &[u8], refusals: &Refusals) -> Vec<u8> {
    std::thread::sleep(Duration::from_millis(20));
    let _ = (i32(input), i32(input), i32(input), i32(input), take(input, 1), i32(input), text(input));
    let partitions = (0..i32(input)).map(|_| {
        let (partition, offset, _) = (i32(input), i64(input), i32(input));
        let code = if partition == 0 { refusals.fetch.load(Ordering::Relaxed) } else { 0 };
        let records = if code == 0 && offset == 0 { batch(partition) } else { Vec::new() };
        let length = u32::try_from(records.len()).expect("short").to_be_bytes();
        // Two offsets that the input does not read, and no aborted transactions.
        [&partition.to_be_bytes()[..], &code.to_be_bytes(), &[0; 16], &[0; 4], &length, &records].concat()
    });
    let partitions: Vec<_> = partitions.collect();
    let first = i32::from_be_bytes(*partitions[0].first_chunk().expect("a number"));
    refusals.first.lock().expect("no panic").push(first);
    [&[0; 4][..], &topic(&partitions)].concat()
}

/// A batch with the number of the partition as its only message.
fn batch(partition: i32) -> Vec<u8> {
    let value = partition.to_string();
    let headers = ["kafka_partition", "kafka_key", "kafka_other"].map(|name| {
        let length = u8::try_from(2 * name.len()).expect("short");
        [&[length][..], name.as_bytes(), &[2, b'x']].concat()
    });
    // Attributes, time, offset, no key, length of the value; then the headers. Lengths are zigzag numbers.
    let record = [&[0, 0, 0, 1, 2][..], value.as_bytes(), &[6], &headers.concat()].concat();
    let record = [&[u8::try_from(2 * record.len()).expect("short")][..], &record].concat();
    let mut rest = vec![0; 2 + 4 + 8 + 8];
    rest.extend([0xff; 8 + 2 + 4]);
    rest.extend([0, 0, 0, 1]);
    rest.extend(record);
    let length = u32::try_from(rest.len() + 9).expect("short").to_be_bytes();
    [&[0; 8][..], &length, &[0xff; 4], &[2], &crc32c(&rest).to_be_bytes(), &rest].concat()
}

fn crc32c(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}

/// An error of one partition ended the reading of all partitions, for as long as the broker returned it.
#[test]
fn a_partition_that_the_broker_refuses_stops_no_other_one() {
    let world = World::new();
    let kept = world.queue("KEPT");
    world.queue(DEAD_LETTER);
    // A damaged disk, and a leader that moved.
    for (fetch, offsets) in [(56, 0), (6, 0), (0, 56)] {
        let refusals = Arc::new(Refusals { fetch: fetch.into(), offsets: offsets.into(), ..Refusals::default() });
        let address = broker(&refusals);
        let engine = world.engine(&format!(
            "[node.get]\ntype = \"kafka_input\"\nserver = \"kafka://{address}\"\ntopic = \"t\"\nout = \"keep\"\n\
             [node.keep]\ntype = \"queue_output\"\nqueue = \"KEPT\"\n"
        ));
        assert_eq!(world.get_text(&kept), "1");
        let expected = format!("partition 0 of topic t: Kafka error {}", fetch + offsets);
        until("the refused partition is reported", || world.errors().contains(&expected));
        refusals.fetch.store(0, Ordering::Relaxed);
        refusals.offsets.store(0, Ordering::Relaxed);
        assert_eq!(world.get_text(&kept), "0");
        until("the node waits no longer", || engine.flows()[0].stats.nodes[0].waits_for().is_none());
        drop(engine);
        assert_eq!(kept.facts().expect("facts").depth, 0);
    }
}

/// A broker fills its answer in the order of the request, and the first partition came first in each. A header of a message set the key that it did not have.
#[test]
fn partitions_come_first_in_turn_and_headers_do_not_replace_the_place_of_a_message() {
    let world = World::new();
    let kept = world.queue("KEPT");
    world.queue(DEAD_LETTER);
    let refusals = Arc::new(Refusals::default());
    let address = broker(&refusals);
    let _engine = world.engine(&format!(
        "[node.get]\ntype = \"kafka_input\"\nserver = \"kafka://{address}\"\ntopic = \"t\"\nout = \"keep\"\n\
         [node.keep]\ntype = \"queue_output\"\nqueue = \"KEPT\"\n"
    ));
    for _ in 0..2 {
        let message = world.get(&kept);
        let mut found: Vec<(&str, &[u8])> =
            message.properties.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        found.retain(|(name, _)| ["kafka_partition", "kafka_key", "kafka_other"].contains(name));
        assert_eq!(found, [("kafka_partition", &message.payload[..]), ("kafka_other", b"x")]);
    }
    until("there are fetches", || refusals.first.lock().expect("no panic").len() > 3);
    let first = refusals.first.lock().expect("no panic");
    assert_ne!(first[1], first[2], "{first:?}");
}

/// The delivery of a message whose outcome was unknown came after those of messages with a lower number. With a new producer id between them, the broker no
/// longer recognized it.
#[test]
fn a_message_whose_delivery_began_is_the_first_after_a_restart() {
    let world = World::new();
    let outbox = world.queue("KAFKA.OUT");
    world.queue("IN");
    for id in 1..4 {
        world.put(&outbox, &Message { id: [id; 24], ..Message::new([id]) });
    }
    // Version, producer, epoch, partition, message.
    let state = [&[1][..], &[0; 8], &[0; 2], &[0; 4], &[2; 24]].concat();
    let mut unit = world.store.begin().expect("a unit");
    unit.put_checkpoint("flow-kafka-out/test/send", &state).expect("a checkpoint");
    unit.commit().expect("a commit");
    let text = "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"send\"\n\
                [node.send]\ntype = \"kafka_output\"\nserver = \"kafka://127.0.0.1:1\"\ntopic = \"t\"\noutbox = \"KAFKA.OUT\"\n";
    let rest = || {
        let unit = world.store.begin().expect("a unit");
        let found = outbox.browse(&unit, None, 9).expect("messages");
        found.iter().map(|found| found.message.id[0]).collect::<Vec<_>>()
    };
    // Its content is not readable and there is no backout queue, so it waits, and those after it.
    let engine = world.engine(text);
    until("the delivery begins", || rest().len() == 2);
    assert_eq!(rest(), [1, 3]);
    assert!(engine.stop("test") && engine.restart("test"));
    until("the delivery begins again", || rest().len() == 2);
    assert_eq!(rest(), [1, 3]);
}
