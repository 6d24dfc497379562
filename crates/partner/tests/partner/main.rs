//! Receiving, sending, enveloping, acknowledgments and the transaction store, over the in-memory engine and folders of a test.

mod acknowledged;
mod advices;
mod agreements;
mod answers;
mod bad_input;
mod conditions;
mod crash;
mod faults;
mod file_names;
mod outbox;
mod outputs;
mod queues;
mod receive;
mod record_files;
mod rejections;
mod retention;
mod revision;
mod roster;
mod send;
mod store;
mod stored;
mod story;
mod waiting;
mod whole;
mod workers;
mod world;
