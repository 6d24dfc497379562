//! Bounds of one connection.

/// Bounds with units. A peer that reaches one gets the condition of the standard and the name of the bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Maximum bytes of an incoming frame. Default 128 KiB: large enough that a copy costs more than a header, small enough for
    /// many connections.
    pub frame_bytes_max: u32,
    /// Highest channel, so sessions less one. Default 255.
    pub channel_max: u16,
    /// Highest handle of a session, so links less one. Default 1,023.
    pub handle_max: u32,
    /// Transfer frames that a session accepts before its window must be renewed. Default 2,048.
    pub incoming_window: u32,
    /// Bytes of messages whose last frame has not arrived, of all links together. Default 128 MiB: one message of 100 MB and some
    /// small ones.
    pub assembly_bytes_max: u64,
    /// Deliveries of a session that the peer has not settled. Default 10,000.
    pub unsettled_max: usize,
    /// Bytes that wait for the socket; beyond them no further message is framed. Default 256 KiB.
    pub output_bytes_high: usize,
    /// Bytes of a link's name. Default 1,024.
    pub name_bytes_max: usize,
    /// The connection ends after this number of milliseconds without a byte. The peer is asked to send a frame at least once in half this
    /// time. Default 120,000.
    pub idle_ms_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame_bytes_max: 128 << 10,
            channel_max: 255,
            handle_max: 1_023,
            incoming_window: 2_048,
            assembly_bytes_max: 128 << 20,
            unsettled_max: 10_000,
            output_bytes_high: 256 << 10,
            name_bytes_max: 1_024,
            idle_ms_max: 120_000,
        }
    }
}
