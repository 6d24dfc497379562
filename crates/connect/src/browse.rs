//! Links that read messages without taking them: distribution mode `copy`.

use std::collections::VecDeque;

use quayline_amqp::{AmqpError, Attach, LinkId, condition};
use quayline_store::queue::Content;

use crate::client::{Client, amqp_error};
use crate::convert;
use crate::facts::count;
use crate::get::{now_ms, too_long};
use crate::links::{BrowseLink, Link};

/// Messages read at once.
const PAGE: usize = 16;
/// Bytes of messages read at once, not counting the last message. Default 1 MB, in addition to the message of up to 100 MB that is being sent.
const PAGE_BYTES: usize = 1 << 20;

impl Client {
    pub(crate) fn attach_browse(&mut self, id: LinkId, attach: Attach) -> Result<(), AmqpError> {
        let bytes_max = attach.bytes_max();
        let source = attach.source.map(|source| *source).unwrap_or_default();
        if source.filter.is_some() {
            let what = "a browser cannot have filters here; browse without, and select in the program";
            return Err(AmqpError::new(condition::NOT_IMPLEMENTED, what));
        }
        let queue = self.source_queue(&source)?;
        self.endpoint.accept(id, Some(source), attach.target, 0);
        self.links.insert(id, Link::Browse(BrowseLink { queue, bytes_max, after: None, read: VecDeque::new() }));
        self.serve(id);
        Ok(())
    }

    pub(crate) fn serve_browse(&mut self, id: LinkId) {
        loop {
            let Some(Link::Browse(link)) = self.links.get_mut(&id) else { return };
            if !self.endpoint.can_send(id) {
                self.is_starved |= self.endpoint.credit(id) > 0;
                return;
            }
            if link.read.is_empty() {
                let unit = self.shared.store.begin();
                let found = unit
                    .and_then(|unit| link.queue.browse_within(&unit, link.after, PAGE, PAGE_BYTES, Content::Included));
                match found {
                    Ok(found) => {
                        link.after = found.last().map(|last| last.after).or(link.after);
                        link.read.extend(found.into_iter().map(|found| found.message));
                    }
                    Err(error) => return self.endpoint.detach(id, Some(amqp_error(&error))),
                }
            }
            let Some(message) = link.read.pop_front() else {
                if self.endpoint.is_draining(id) {
                    self.endpoint.drained(id);
                }
                return;
            };
            let bytes = convert::to_amqp(&message, now_ms());
            if bytes.len() as u64 > link.bytes_max {
                let error = too_long(bytes.len(), link.bytes_max);
                return self.endpoint.detach(id, Some(error));
            }
            self.endpoint.send(id, bytes);
            count(&self.shared.counters.sent);
        }
    }
}
