//! Single stations with open arrivals.

mod erlang;
mod general;
mod headroom;
mod limited;
mod many_servers;
mod priority;

pub use erlang::{erlang_b, erlang_c};
pub use general::{Variability, allen_cunneen, single_server_general};
pub use headroom::{Headroom, headroom};
pub use limited::{LimitedQueue, limited_queue};
pub use many_servers::ManyServers;
pub use priority::{Interruption, PriorityClass, priority_responses};

pub(crate) use erlang::erlang_c_of;
