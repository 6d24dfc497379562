//! Any format to any without a map: streaming, ordered, parallel, resumable
