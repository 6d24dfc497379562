//! Size check of a cache of definitions.

use crate::error::not_negative;
use crate::{Estimate, Method, ModelError, Share, Validity};

/// Share of the accesses that a cache should answer.
const HIT_SHARE: f64 = 0.9;

/// Verdict on a cache from its counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CacheVerdict {
    /// At least 90 % of the accesses are hits.
    Enough,
    /// Every miss was a first access, so the cache is warming up and its size is not at fault.
    Warming,
    /// Definitions are read again because they were dropped: enlarge the cache.
    TooSmall,
    /// The cache has had no access yet.
    Unused,
}

/// Computes the hit share of a definition cache and its verdict, from its entries, limit, hits and misses.
///
/// # Errors
/// [`ModelError`] for negative counts.
pub fn definition_cache(
    entries: f64,
    limit: f64,
    hits: f64,
    misses: f64,
) -> Result<Estimate<(Share, CacheVerdict)>, ModelError> {
    for count in [entries, limit, hits, misses] {
        not_negative("counter", count)?;
    }
    let asked = hits + misses;
    let share = if asked > 0.0 { hits / asked } else { 0.0 };
    let verdict = if asked == 0.0 {
        CacheVerdict::Unused
    } else if share >= HIT_SHARE {
        CacheVerdict::Enough
    } else if misses <= entries && entries < limit {
        CacheVerdict::Warming
    } else {
        CacheVerdict::TooSmall
    };
    let text = "90 % is the source's objective; first accesses are left out of it by us";
    Ok(Estimate::new(Method::DefinitionCache, Validity::OurRule(text), (Share(share), verdict)))
}
