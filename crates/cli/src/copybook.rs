//! Reading copybooks.
