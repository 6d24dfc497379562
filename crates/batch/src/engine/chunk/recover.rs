//! Recovery of a chunk after a refused commit, a commit of unknown outcome or a rollback.

use std::time::Instant;

use super::{ChunkRun, Order, Place, UnderWay};
use crate::artifact::Answer;
use crate::engine::fault::Remedy;
use crate::engine::step::ns;
use crate::error::{BatchError, Kind, Thrown};
use crate::event;
use crate::record::Counts;
use crate::repository::{PAUSE, PAUSE_MAX};
use crate::work::Work;

impl ChunkRun<'_, '_> {
    /// Continues after a commit that was refused, or when a database that did not answer answers again; otherwise the step fails.
    pub(super) fn recover(&mut self, thrown: Thrown) -> Answer<()> {
        match thrown.kind {
            // The refusal will occur again, this time in the writer.
            Kind::Deferred => {
                if self.confirms {
                    self.judge_refused(Thrown { kind: Kind::Plain, ..thrown })?;
                } else {
                    self.confirms = true;
                    if self.under_way.is_one_by_one {
                        self.one_by_one += self.under_way.read;
                    }
                }
                self.items.clear();
                self.rejects.clear();
                self.take_counts_back(0);
                self.reopen().or_else(|thrown| if thrown.kind == Kind::Lost { self.wait(thrown) } else { Err(thrown) })
            }
            Kind::Lost => self.wait(thrown),
            _ => Err(thrown),
        }
    }

    /// Decides how to continue after the commit of a written chunk was refused, for example by a deferred constraint. A failed commit counts as a
    /// failed write (section 8.2.1.4.1). The items then run one by one, which finds the item at fault.
    fn judge_refused(&mut self, thrown: Thrown) -> Answer<()> {
        let UnderWay { read, written, is_one_by_one } = self.under_way;
        self.is_retrying = is_one_by_one;
        match self.remedy(&thrown, &[]) {
            Remedy::Fail => return Err(thrown),
            Remedy::Skip if written == 0 => return Err(thrown),
            Remedy::Skip if read == 1 => self.refused = Some(thrown),
            Remedy::Skip | Remedy::Retry | Remedy::RollBack => {}
        }
        self.one_by_one += read;
        Ok(())
    }

    fn wait(&mut self, thrown: Thrown) -> Answer<()> {
        let begin = Instant::now();
        let waited = self.wait_since(thrown, begin);
        self.times.wait_ns += ns(begin);
        waited
    }

    fn wait_since(&mut self, thrown: Thrown, begin: Instant) -> Answer<()> {
        let patience = self.run.repository().patience();
        let text = format!("the database does not answer; the step waits for it, at most {} s", patience.as_secs());
        self.run.log_thrown(Some(self.context), &text, &thrown);
        let mut pause = PAUSE;
        loop {
            // A stop ends the wait of this job only.
            if self.job.stop.wait(pause) {
                return Err(Thrown { kind: Kind::Fatal, ..thrown });
            }
            if begin.elapsed() + pause > patience {
                self.run.repository().has_waited();
                return Err(Thrown { kind: Kind::Fatal, ..thrown });
            }
            pause = (pause * 2).min(PAUSE_MAX);
            match self.come_back() {
                Ok(()) => break,
                Err(again) if again.kind == Kind::Lost => {}
                Err(other) => return Err(other),
            }
        }
        self.run.repository().answers();
        let text = format!("the database answers again after {:.1} s", begin.elapsed().as_secs_f64());
        self.run.event(event::LOG, Some(self.context), None, text);
        Ok(())
    }

    /// Restarts at the last durable checkpoint, regardless of the outcome of the commit in progress.
    fn come_back(&mut self) -> Answer<()> {
        let (repository, instance) = (self.run.repository(), self.run.held.instance);
        let durable = match &*self.place {
            Place::Step(_) => repository.step_state(instance, &self.step.id)?.map(|state| state.progress),
            Place::Partition(number, ..) => {
                repository.partition(instance, &self.step.id, *number)?.map(|state| state.progress)
            }
        };
        let durable = durable.unwrap_or_default();
        // Metrics of an earlier execution are not those of this one.
        self.counts = match &self.before {
            Some((before, counts)) if before.has_positions_of(&durable) => *counts,
            None if self.place.progress().has_positions_of(&durable) => self.counts,
            _ => durable.counts,
        };
        self.pending = None;
        self.before = None;
        self.is_uncertain = false;
        // If it was made, the step finds it after all others have completed.
        self.split_off = None;
        self.items.clear();
        *self.place.progress() = durable;
        self.context.set_user_data(self.place.progress().user_data.as_deref().map(<[u8]>::to_vec));
        self.take_counts_back(0);
        // What they had open is of no use any more.
        let _ = self.writer.close(false);
        let _ = self.reader.close();
        self.open_again()
    }

    /// Waits for the commit in progress.
    pub(super) fn settle(&mut self) -> Answer<()> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let begin = self.now();
        let outcome = pending.wait();
        let waited_ns = ns(begin);
        self.times.commit_ns += waited_ns;
        match outcome {
            Ok(()) => {
                self.run.repository().answers();
                self.before = None;
                self.confirms = false;
                if let (Some(made), Place::Partition(number, _, splits)) = (self.split_off.take(), &*self.place) {
                    let text = format!("partition {number} of step {} gives a part to partition {made}", self.step.id);
                    self.run.event(event::LOG, Some(self.context), None, text);
                    (splits.made)(made);
                }
                self.durable(waited_ns)
            }
            Err(error) => {
                self.spans.commit_failed();
                self.split_off = None;
                self.forget_checkpoint();
                self.is_uncertain = matches!(error, BatchError::Lost(_));
                Err(error.into())
            }
        }
    }

    /// Reverts to the preceding checkpoint, because the last one did not become durable.
    fn forget_checkpoint(&mut self) {
        if let Some((progress, counts)) = self.before.take() {
            *self.place.progress() = progress;
            self.counts = counts;
        }
    }

    pub(super) fn roll_back(&mut self, work: Box<dyn Work>, thrown: &Thrown) -> Answer<()> {
        let told = self.listeners.each(|listener| listener.on_chunk_error(thrown));
        drop(work);
        self.items.clear();
        self.rejects.clear();
        let settled = if self.pending.is_some() {
            self.settle()
        } else {
            self.forget_checkpoint();
            Ok(())
        };
        self.take_counts_back(1);
        self.run.log_thrown(Some(self.context), "a chunk is rolled back", thrown);
        settled.and(told)
    }

    /// Resets the counts to those of the last checkpoint: later reads, writes and skips happen again and are counted then.
    pub(super) fn take_counts_back(&mut self, rollbacks: u64) {
        let kept = self.counts;
        self.context.count(|counts| *counts = Counts { rollback: counts.rollback + rollbacks, ..kept });
        self.context.drop_notes();
        self.faults.back_to(kept.read_skip + kept.process_skip + kept.write_skip);
        self.uncounted = 0;
        self.number = kept.read + kept.read_skip;
    }

    fn reopen(&mut self) -> Answer<()> {
        self.writer.close(false)?;
        self.reader.close()?;
        self.open_again()
    }

    /// Opens both at the last checkpoint.
    pub(super) fn open_again(&mut self) -> Answer<()> {
        self.skipped_at = None;
        self.open(Order::WriterFirst)
    }
}
