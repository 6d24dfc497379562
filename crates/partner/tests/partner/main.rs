//! Receiving, sending, enveloping, acknowledgments and the transaction store, over the in-memory engine and folders of a test.

mod answers;
mod crash;
mod queues;
mod receive;
mod send;
mod store;
mod world;
