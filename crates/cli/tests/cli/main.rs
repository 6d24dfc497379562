//! What people see of each command: exit code, standard output, standard error.

mod arguments;
mod world;
