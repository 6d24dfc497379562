//! What people see of each command: exit code, standard output, standard error.

mod arguments;
mod bad_input;
mod capacity;
mod carddemo;
mod convert;
mod edi;
mod fmt;
mod golden;
mod guide;
mod hostile;
mod inspect;
mod interrupted;
mod jobs;
mod json_docs;
mod maps;
mod outbound;
mod outbound_law;
mod outputs;
mod probes;
mod serve;
mod store;
mod translate;
mod validate;
mod world;
mod xml_schemas;
