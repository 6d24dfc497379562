//! Framing: fixed, RDW and BDW, lines, length fields
