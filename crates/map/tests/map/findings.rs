//! What the checker finds.
