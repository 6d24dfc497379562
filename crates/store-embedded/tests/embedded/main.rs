//! Tests of the embedded engine: the tests of every engine, and failures of the disk.

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
