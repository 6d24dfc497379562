//! M/M/m: means and percentiles of the response time.

use super::erlang::erlang_c_of;
use crate::error::{not_negative, positive, within};
use crate::percentile::quantile_of_tail;
use crate::{Estimate, Method, ModelError, PerSecond, Seconds, Share};

/// A station of `m` servers with Poisson arrivals and exponential service, below saturation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManyServers {
    servers: u32,
    arrivals: f64,
    service: f64,
    waits: f64,
}

impl ManyServers {
    /// Checks and keeps the parameters; one server is M/M/1.
    ///
    /// # Errors
    /// [`ModelError::Saturated`] where work arrives as fast as it can be done.
    pub fn new(servers: u32, arrivals: PerSecond, service: Seconds) -> Result<ManyServers, ModelError> {
        positive("number of servers", f64::from(servers))?;
        not_negative("arrival rate", arrivals.0)?;
        positive("service time", service.0)?;
        let offered = arrivals.0 * service.0;
        let utilization = offered / f64::from(servers);
        if utilization >= 1.0 {
            return Err(ModelError::Saturated { station: "the station".to_owned(), utilization });
        }
        let waits = erlang_c_of(servers, offered);
        Ok(ManyServers { servers, arrivals: arrivals.0, service: service.0, waits })
    }

    /// Returns the share of time that a server is busy.
    #[must_use]
    pub fn utilization(&self) -> Share {
        Share(self.arrivals * self.service / f64::from(self.servers))
    }

    /// Returns the share of customers that wait.
    #[must_use]
    pub fn waiting(&self) -> Share {
        Share(self.waits)
    }

    /// Returns the rate at which the queue shrinks while all servers are busy.
    fn drain(&self) -> f64 {
        f64::from(self.servers) / self.service - self.arrivals
    }

    /// Returns the mean response time.
    #[must_use]
    pub fn response(&self) -> Estimate<Seconds> {
        Estimate::exact(Method::MMm, Seconds(self.service + self.waits / self.drain()))
    }

    /// Returns the mean number of customers present.
    #[must_use]
    pub fn present(&self) -> f64 {
        self.arrivals * self.response().value.0
    }

    /// Returns the mean number of customers waiting.
    #[must_use]
    pub fn queued(&self) -> f64 {
        self.arrivals * self.waits / self.drain()
    }

    /// Returns the probability that the station is empty.
    #[must_use]
    pub fn empty(&self) -> Share {
        // Terms a^j / j! relative to that of m servers, from m downwards: the last one is that of nobody present, so its share of the sum
        // is p0. Both shrink together where they grow too large.
        let offered = self.arrivals * self.service;
        if offered <= 0.0 {
            return Share(1.0);
        }
        let mut sum = 1.0 / (1.0 - self.utilization().0);
        let mut term = 1.0_f64;
        for servers in (1..=self.servers).rev() {
            term *= f64::from(servers) / offered;
            sum += term;
            if sum > 1e200 {
                term /= sum;
                sum = 1.0;
            }
        }
        Share(term / sum)
    }

    /// Returns the probability that a response takes longer than `time`.
    #[must_use]
    pub fn tail(&self, time: Seconds) -> f64 {
        let t = time.0.max(0.0);
        let mu = 1.0 / self.service;
        let theta = self.drain();
        let c = self.waits;
        if ((theta - mu) / mu).abs() < 1e-7 {
            // Both rates agree: the sum of two equal exponentials.
            return (1.0 - c) * (-mu * t).exp() + c * (1.0 + mu * t) * (-mu * t).exp();
        }
        (1.0 - c) * (-mu * t).exp() + c * (theta * (-mu * t).exp() - mu * (-theta * t).exp()) / (theta - mu)
    }

    /// Returns the response time that a share of the customers stays below: 0.95 for the 95th percentile.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] for shares outside 0 to 1, 1 excluded.
    pub fn percentile(&self, share: Share) -> Result<Estimate<Seconds>, ModelError> {
        within("share of a percentile", share.0, 0.0, 1.0 - f64::EPSILON)?;
        let time = if self.servers == 1 {
            -self.response().value.0 * (-share.0).ln_1p()
        } else {
            quantile_of_tail(share.0, self.response().value.0, |t| self.tail(Seconds(t)))
        };
        Ok(Estimate::exact(Method::MMm, Seconds(time)))
    }
}
