//! Flows over a store: definitions, nodes, order, failures, exactly once.

mod checks;
mod crash;
mod nodes;
mod order;
mod support;
