//! A provider with different records for requests and answers: it sends the request record alone and appends the answer record.

use std::rc::Rc;
use std::sync::Arc;

use quayline_gateway::{Answered, Outgoing, Provider, Returned};

/// Adapter that extracts the request from the service's record and writes the answer after it.
pub(crate) struct Apart {
    pub(crate) provider: Rc<dyn Provider>,
    /// Bytes of the request.
    pub(crate) request: usize,
}

impl Provider for Apart {
    fn call<'a>(&'a self, record: Outgoing<'_>, traceparent: &dyn Fn() -> String) -> Answered<'a> {
        let mut request = record.to_vec();
        request.truncate(self.request);
        let empty: Arc<[u8]> = Arc::from([]);
        let answered = self.provider.call(Outgoing { front: &request, tail: &empty, tail_used: 0 }, traceparent);
        Box::pin(async move {
            Ok(match answered.await? {
                Returned::Bytes(answer) => {
                    // Conditions and answers may look at the request too.
                    request.resize(self.request, 0);
                    request.extend_from_slice(&answer);
                    Returned::Bytes(request)
                }
                other => other,
            })
        })
    }

    fn ready(&self) -> Result<(), String> {
        self.provider.ready()
    }
}
