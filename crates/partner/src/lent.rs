//! The unit of work of a caller: nodes of flows receive and send in the unit of work of their message.
//!
//! The worker neither commits nor drops such a unit. Files are in the outbox of the store, and the caller has them written after its commit. Another
//! worker may find them in the outbox first, so both lock them there before they write.

use std::mem;

use quayline_core::{Finding, Findings};
use quayline_store::Unit;

use crate::desk::{Desk, DeskLimits, Outgoing, Written};
use crate::ledger::{Ledger, of_store};
use crate::outputs::{HandedOutput, OutputKind, Outputs};

/// Result of work in the unit of work of a caller.
#[derive(Debug)]
pub struct InUnit<T> {
    /// Result of the work.
    pub done: T,
    /// Output for the caller.
    pub outputs: Vec<HandedOutput>,
    /// Files to write after the commit.
    pub files: PendingFiles,
}

/// Files of a unit of work that commits elsewhere. Without [`PendingFiles::write`], the next worker writes them.
#[derive(Debug)]
pub struct PendingFiles {
    ledger: Ledger,
    files: Vec<Outgoing>,
}

impl PendingFiles {
    /// Returns true if the unit of work has no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes the files, after the commit of their unit of work. Returns findings about files that cannot be written; these stay in the store.
    #[must_use]
    pub fn write(mut self) -> Vec<Finding> {
        match self.write_all() {
            Ok(findings) => findings,
            Err(Findings(findings)) => findings,
        }
    }

    fn write_all(&mut self) -> Result<Vec<Finding>, Findings> {
        let mut unit = self.ledger.begin().map_err(of_store)?;
        let mut written = Written::default();
        written.write_locked(&self.ledger, &mut unit, mem::take(&mut self.files), &mut Outputs::Nobody)?;
        unit.commit().map_err(of_store)?;
        Ok(written.take_undelivered())
    }
}

impl Desk<'_> {
    /// Does `work` in a unit of work of the caller, who commits it or rolls it back. If the work fails, its changes are undone and the unit stays usable.
    /// The caller takes output of these `kinds`.
    ///
    /// If the unit does not wait for locks ([`Unit::wake_for_locks`]), the findings have the code of
    /// [`LockTimeout`](quayline_store::StoreError::LockTimeout) while another unit has a lock. The caller then repeats the call.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn in_unit<T>(
        &mut self,
        unit: &mut Unit,
        kinds: &[OutputKind],
        work: impl FnOnce(&mut Self) -> Result<T, Findings>,
    ) -> Result<InUnit<T>, Findings> {
        // The desk owns its unit, so the caller has an empty one meanwhile.
        let spare = self.ledger.begin().map_err(of_store)?;
        let mut lent = mem::replace(unit, spare);
        let mark = lent.mark();
        let limits = self.limits;
        self.limits = DeskLimits { unit_transactions_max: usize::MAX, unit_bytes_max: usize::MAX, ..limits };
        let outputs = mem::replace(&mut self.outputs, Outputs::Caller(kinds.to_vec(), Vec::new()));
        self.lend(lent);
        let done = self.take_ids_ahead().and_then(|()| work(self));
        let (mut lent, files) = self.give_back();
        self.limits = limits;
        let outputs = mem::replace(&mut self.outputs, outputs);
        if done.is_err() {
            lent.back_to(mark);
        }
        *unit = lent;
        let done = done?;
        let outputs = if let Outputs::Caller(_, handed) = outputs { handed } else { Vec::new() };
        Ok(InUnit { done, outputs, files: PendingFiles { ledger: self.ledger.clone(), files } })
    }
}
