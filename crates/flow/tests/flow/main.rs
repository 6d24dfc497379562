//! Flows over a store: definitions, nodes, order, failures, exactly once.

mod aggregate;
mod checks;
mod crash;
mod nats;
mod nodes;
mod order;
mod outside;
mod postgres;
mod robust;
mod support;
