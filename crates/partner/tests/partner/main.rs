//! Receiving, sending, enveloping, acknowledgments and the transaction store, over the in-memory engine and folders of a test.

mod acknowledged;
mod advices;
mod answers;
mod conditions;
mod crash;
mod faults;
mod outputs;
mod queues;
mod receive;
mod record_files;
mod roster;
mod send;
mod store;
mod stored;
mod story;
mod waiting;
mod whole;
mod world;
