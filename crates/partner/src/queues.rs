//! Queue sources: getting a message and storing everything made from it are one unit of work.
//!
//! A message is one unit of work regardless of its size, because the first commit removes it. Nothing is lost or repeated after a crash. Content that
//! cannot be processed becomes an entry with its bytes, as for files.

use std::io::Cursor;

use quayline_core::{Fault, Findings};
use quayline_store::StoreError;
use quayline_store::queue::{GetWait, Message, Select};

use crate::desk::{Desk, DeskLimits, open_queue};
use crate::ledger::of_store;
use crate::receive_report::ReceiveReport;
use crate::send_request::{SendReport, SendRequest};
use crate::source::Again;

impl Desk<'_> {
    /// Receives the interchanges of the first message of a queue; `None` where the queue is empty. Returns the name of the message too.
    ///
    /// # Errors
    /// As [`Desk::receive`]. The message is on the queue again.
    pub fn receive_from(&mut self, queue: &str) -> Result<Option<(String, ReceiveReport)>, Findings> {
        self.of_message(queue, |desk, name, bytes| desk.receive(name, &mut Cursor::new(bytes), Again::Yes))
    }

    /// Sends the documents of the first message of a queue; `None` where the queue is empty. Returns the name of the message too. Documents that nothing
    /// can send are an entry with their findings, as those are that the map rejects.
    ///
    /// # Errors
    /// As [`Desk::send`], where the store or a delivery fails. The message is on the queue again.
    pub fn send_from(&mut self, queue: &str, document: &str) -> Result<Option<(String, SendReport)>, Findings> {
        self.of_message(queue, |desk, name, bytes| {
            let request = SendRequest { name, to: None, from: None, document, again: Again::Yes };
            desk.send_or_refuse(&request, &bytes)
        })
    }

    /// Sends documents in a unit of work that the caller ends. Documents that nothing can send become an entry with their findings.
    ///
    /// # Errors
    /// Those of [`Desk::send_from`].
    pub fn send_or_refuse(&mut self, request: &SendRequest<'_>, bytes: &[u8]) -> Result<SendReport, Findings> {
        let mark = self.mark()?;
        match self.send_part(request, &mut Cursor::new(bytes)) {
            // Locks and errors of the store pass; the documents are sent when they have passed.
            Err(Findings(found))
                if found.iter().all(|one| one.fault != Fault::Environment && !one.code.0.starts_with("STO-")) =>
            {
                self.back_to(mark)?;
                self.refuse_source(request, bytes, &found)
            }
            done => done,
        }
    }

    /// Does `work` for a message, in one unit of work with the get.
    fn of_message<T>(
        &mut self,
        queue: &str,
        work: impl FnOnce(&mut Self, &str, Vec<u8>) -> Result<T, Findings>,
    ) -> Result<Option<(String, T)>, Findings> {
        let open = open_queue(self.ledger, queue)?;
        let message = match open.get(self.unit()?, Select::First, GetWait::No) {
            Ok(message) => message,
            Err(StoreError::NoMessage { .. }) => {
                self.roll_back();
                return Ok(None);
            }
            Err(error) => {
                self.roll_back();
                return Err(of_store(error));
            }
        };
        let name = name_of(queue, &message);
        let limits = self.limits;
        self.limits = DeskLimits { unit_transactions_max: usize::MAX, unit_bytes_max: usize::MAX, ..limits };
        let done = self.together(|desk| work(desk, &name, message.payload.to_vec()));
        self.limits = limits;
        done.map(|done| Some((name, done)))
    }
}

/// Returns the source name of a message for entries: the queue and the message id.
fn name_of(queue: &str, message: &Message) -> String {
    let id = quayline_core::hex(&message.id);
    format!("queue:{queue}/{id}")
}
