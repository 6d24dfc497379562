//! Order by key while the process is killed at random.

use std::collections::HashMap;
use std::path::Path;

use quayline_store::Store;
use quayline_store::queue::Message;

use crate::bridge::{Bridge, KEPT, PER_ROUND, all, until_empty};
use crate::support::kills;

const FOLDER: &str = "QUAYLINE_TEST_ORDER_FOLDER";
const KEYS: usize = 17;

/// The child process. Without the variable, this test does nothing.
#[test]
fn child_that_keeps_the_order() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    crate::bridge::child(Path::new(&folder));
}

#[test]
fn messages_of_a_key_stay_in_order_and_are_processed_once_however_often_the_process_is_killed() {
    let text = format!(
        "additional_instances = 63\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\norder = \"by_key\"\n\
         order_key = \"envelope.property_key\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"{KEPT}\"\n"
    );
    let bridge = Bridge::with(&text, "OUT", &["IN"]);
    let mut sent = 0;
    let put = |store: &Store, _| {
        let queue = store.queue("IN").expect("a queue");
        let mut unit = store.begin().expect("a unit");
        for number in sent..sent + 3 * PER_ROUND {
            let properties = vec![("key".to_owned(), (number % KEYS).to_string().into_bytes())];
            let message = Message { properties, ..Message::new(number.to_string()) };
            queue.put(&mut unit, &message).expect("a put");
        }
        sent += 3 * PER_ROUND;
        unit.commit().expect("a commit");
    };
    bridge.kills_of_queues(("order_kills::child_that_keeps_the_order", FOLDER), (kills(8), 8), put, || (), &["IN"]);
    bridge.ends(|store, failed| {
        until_empty(store, &["IN"]);
        assert_eq!(failed(), "");
    });
    let mut last: HashMap<usize, usize> = HashMap::new();
    let kept = bridge.in_store(|store| all(store, KEPT));
    for message in &kept {
        let number = crate::bridge::number(message);
        if let Some(before) = last.insert(number % KEYS, number) {
            assert_eq!(number, before + KEYS, "the next message of the key");
        }
    }
    assert_eq!((kept.len(), last.len()), (sent, KEYS));
}
