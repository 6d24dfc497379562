//! Arrow and Parquet: a sink that builds columns
