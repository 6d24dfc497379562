//! Tests of the embedded engine: what every engine passes, and what the disk may do to it.

mod backpressure;
mod compact;
mod conformance;
mod crash;
mod damage;
mod failing;
mod gnucobol;
mod kill;
mod queues;
mod reading;
mod save;
mod support;
mod whole_files;
