//! Flows over a store: definitions, nodes, order, failures, exactly once.

mod acknowledge;
mod aggregate;
mod amqp;
mod bridge;
mod checks;
mod clocks;
mod crash;
mod crash_files;
mod files;
mod ids;
mod kafka;
mod left_files;
mod nats;
mod nodes;
mod order;
mod outside;
mod peers;
mod postgres;
mod processes;
mod requests;
mod robust;
mod sql_rows;
mod support;
mod trading;
mod turns;
