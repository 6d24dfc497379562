//! Code pages: EBCDIC, ASCII, Latin-1, Windows-1252, UTF-8, UTF-16; SIMD translation and scanning
