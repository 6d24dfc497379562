//! Bodies of requests.

use hyper::body::{Body as _, Incoming};
use quayline_gateway::Problem;

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read_body(mut body: Incoming, limit: usize) -> Result<Vec<u8>, Box<Problem>> {
    let too_large = || Box::new(Problem::too_large(413, "the request's body", limit));
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(frame) = core::future::poll_fn(|cx| core::pin::Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(frame) = frame else { return Err(Box::new(Problem::malformed_body())) };
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}
