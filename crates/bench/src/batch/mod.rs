//! The job of IBM's paper on Liberty Batch beside the floor: the same SQL with nothing around it.

mod floor;
mod memory;
mod peers;

use quayline_measure::batch::{Load, THREADS, Took, World};

pub use memory::{large_items_memory, peak_memory, unchanged};
pub use peers::{AgainstPeers, Missing, against_peers};

/// Runs the floor of a load.
///
/// # Errors
/// There is no database; those of the database.
pub fn floor(world: &World, load: &Load) -> Result<Took, String> {
    let server = world.server().ok_or("the floor needs a database")?;
    world.fresh()?;
    world.sql(
        "DROP TABLE IF EXISTS floor_ckpt; CREATE TABLE floor_ckpt (id bigint PRIMARY KEY, version bigint NOT NULL, reads bigint, writes bigint, \
         commits bigint, data bytea, updated timestamptz)",
    )?;
    floor::floor(&server.endpoint(), &world.folder().join("accounts.txt"), load, THREADS)
}
