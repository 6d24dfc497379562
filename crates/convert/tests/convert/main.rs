//! Conversions from file to file.

mod audited;
mod binary;
mod crash;
mod cut_interchanges;
mod edi;
mod ends;
mod families;
mod family_order;
mod gaps;
mod kit;
mod lossless;
mod maps;
mod moments;
mod nothing_in_edi;
mod nothing_in_framings;
mod nothing_missing;
mod outbound;
mod pages;
mod pages_alone;
mod rejects;
mod straight;
mod text;
mod types;
