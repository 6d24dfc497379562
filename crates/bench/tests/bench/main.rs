//! The data that programs here make, and the sizes that they give.

mod committed_files;
mod dealership;
