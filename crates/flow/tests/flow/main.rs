//! Flows over a store: definitions, nodes, order, failures, exactly once.

mod aggregate;
mod amqp;
mod bridge;
mod checks;
mod crash;
mod files;
mod kafka;
mod nats;
mod nodes;
mod order;
mod outside;
mod peers;
mod postgres;
mod robust;
mod support;
