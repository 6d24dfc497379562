//! Control numbers of the interchanges that a flow makes.
//!
//! They are taken in the unit of work of the message, so a message that is rolled back gives its numbers back, and no two instances, threads or
//! runs use one twice. Other units of work with the same numbers wait until this one commits; that is the price of numbers without gaps.

use quayline_pipeline::{NumberKind, has_control_numbers, renumber};
use quayline_store::{LockWait, Space, StoreError};

use crate::failure::Failure;
use crate::pipes::Made;
use crate::run::{Run, Work};

/// Greatest number of an interchange or group of X12 (I12 and 28: nine digits); 1 follows it.
const NUMBER_MAX: u64 = 999_999_999;

impl Run<'_> {
    /// Assigns the next control numbers to the outputs of a map that are interchanges.
    pub(crate) async fn numbered(&self, work: &mut Work, at: usize, mut made: Vec<Made>) -> Result<Vec<Made>, Failure> {
        let Some(map) = &self.flow.nodes[at].map else { return Ok(made) };
        for Made { output, content } in &mut made {
            if has_control_numbers(&map.targets[*output]) {
                self.number(work, at, content).await?;
            }
        }
        Ok(made)
    }

    /// Gives interchanges the next numbers of a node.
    pub(crate) async fn number(&self, work: &mut Work, at: usize, content: &mut Vec<u8>) -> Result<(), Failure> {
        let node = &self.flow.file.nodes[at];
        let name = match node.text("control_numbers") {
            Some(name) => name.to_owned(),
            None => format!("{}.{}", self.name, node.name),
        };
        let names = [format!("flow/{name}/interchanges"), format!("flow/{name}/groups")];
        for name in &names {
            // Waits for the lock without holding the thread; what follows does not wait.
            self.locked(work, |unit| {
                unit.read_for_update(Space::NUMBERS, name.as_bytes(), LockWait::Default).map(drop)
            })
            .await?;
        }
        renumber(content, &mut |kind| -> Result<u64, StoreError> {
            let name = &names[usize::from(kind == NumberKind::Group)];
            let next = work.unit.last_number(name)? % NUMBER_MAX + 1;
            work.unit.set_number(name, next)?;
            Ok(next)
        })?;
        Ok(())
    }
}
