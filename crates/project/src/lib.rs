//! What a user writes in TOML: interface files
