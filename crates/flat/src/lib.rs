//! CSV: a sink that writes and a source that reads
