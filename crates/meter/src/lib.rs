//! Phase clocks, counters and the time-accounting identity
