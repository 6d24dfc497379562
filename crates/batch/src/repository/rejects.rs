//! Items that were skipped and kept.

use super::{Held, Repository, bytes, read};
use crate::error::BatchError;
use crate::record::{ExecutionId, Reject};
use crate::work::{PageOf, Work};

impl Repository {
    /// Keeps items that were skipped, as a part of the unit of work of a chunk. `chunk` is its number in the step execution, which no other chunk that
    /// commits has, whichever process runs it.
    pub(crate) fn put_rejects(
        &self,
        work: &mut dyn Work,
        held: Held,
        chunk: u64,
        rejects: &[Reject],
    ) -> Result<(), BatchError> {
        for (number, reject) in (0_u32..).zip(rejects) {
            let partition = reject.partition.map_or(0, |partition| partition + 1);
            let execution = held.execution.0.to_be_bytes();
            let key = [
                b"r".as_slice(),
                &execution,
                reject.step.as_bytes(),
                &[0],
                &partition.to_be_bytes(),
                &chunk.to_be_bytes(),
                &number.to_be_bytes(),
            ]
            .concat();
            work.put(&key, &bytes(reject))?;
        }
        Ok(())
    }

    /// Items that an execution skipped and kept, each with its place, in the order of steps, partitions and time: up to `count` after a
    /// place. Large items make a page shorter than `count`; only an empty page is the end.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn rejects(
        &self,
        execution: ExecutionId,
        after: Option<&[u8]>,
        count: usize,
    ) -> Result<Vec<(Reject, Vec<u8>)>, BatchError> {
        rejects_of(self.begin()?.as_mut(), execution, after, count)
    }
}

/// Implements [`Repository::rejects`].
pub(crate) fn rejects_of(
    work: &mut dyn Work,
    execution: ExecutionId,
    after: Option<&[u8]>,
    count: usize,
) -> Result<Vec<(Reject, Vec<u8>)>, BatchError> {
    let prefix = [b"r".as_slice(), &execution.0.to_be_bytes()].concat();
    let page = work.page(PageOf { prefix: &prefix, after, newest_first: false, count })?;
    page.into_iter().map(|(key, value)| Ok((read("a reject", &value)?, key))).collect()
}
