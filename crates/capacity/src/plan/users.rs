//! Users, their weights and the load that they cause on a machine.

use crate::error::{not_negative, positive, within};
use crate::{CapacityUnits, Estimate, ManyServers, Method, ModelError, PerSecond, Seconds, Share, Validity};

/// CPU utilization at which ratings in users are stated.
const RATED_AT: f64 = 0.7;

/// Users of three weights that a machine supports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserRatings {
    /// Typical users.
    pub typical: f64,
    /// Mail and calendar users: two for a typical one.
    pub mail_and_calendar: f64,
    /// Simple users: three for a typical one.
    pub simple: f64,
}

/// Users of each weight for a rating in mail and calendar users.
///
/// # Errors
/// [`ModelError`] for a negative rating.
pub fn user_ratings(mail_and_calendar: f64) -> Result<Estimate<UserRatings>, ModelError> {
    let rating = not_negative("rating in users", mail_and_calendar)?;
    let ratings = UserRatings { typical: rating / 2.0, mail_and_calendar: rating, simple: rating * 1.5 };
    Ok(Estimate::new(Method::UserWeight, Validity::RuleOfSource("stated at 70 % CPU"), ratings))
}

/// Computes the CPU utilization of registered users of a weight, a share of whom is active.
///
/// # Errors
/// [`ModelError`] for a share outside 0 to 1 or a rating that is not positive.
pub fn active_utilization(
    registered: f64,
    concurrency: Share,
    weight: f64,
    rating: CapacityUnits,
) -> Result<Estimate<Share>, ModelError> {
    not_negative("registered users", registered)?;
    within("concurrency", concurrency.0, 0.0, 1.0)?;
    positive("weight of a user", weight)?;
    let active = registered * concurrency.0 * weight;
    let share = RATED_AT * active / positive("rating in users", rating.0)?;
    Ok(Estimate::new(Method::UserWeight, Validity::RuleOfSource("stated at 70 % CPU"), Share(share)))
}

/// Figures derived from users, rate, processors and utilization.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatingPoint {
    /// Transactions a user and minute.
    pub per_user_minute: f64,
    /// CPU time of a transaction.
    pub demand: Seconds,
    /// Rate at which all processors are busy.
    pub most: PerSecond,
    /// Time between two transactions of a user: `N / X`.
    pub cycle: Seconds,
}

/// Applies the operational laws to a measured point.
///
/// # Errors
/// [`ModelError`] for numbers that are not positive.
pub fn operating_point(
    users: f64,
    rate: PerSecond,
    processors: u32,
    utilization: Share,
) -> Result<Estimate<OperatingPoint>, ModelError> {
    positive("users", users)?;
    positive("rate", rate.0)?;
    positive("utilization", utilization.0)?;
    let busy = utilization.0 * positive("processors", f64::from(processors))?;
    let point = OperatingPoint {
        per_user_minute: rate.0 * 60.0 / users,
        demand: Seconds(busy / rate.0),
        most: PerSecond(rate.0 / utilization.0),
        cycle: Seconds(users / rate.0),
    };
    Ok(Estimate::exact(Method::OperationalLaws, point))
}

/// Pace of a user, and the response time that a server must keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserPace {
    /// Time between two requests of a user.
    pub between: Seconds,
    /// Largest mean response time of the server.
    pub response_most: Seconds,
}

impl UserPace {
    /// A user who requests a screen every 15 s, from a server that answers within 1.5 s.
    pub const SCREENS: UserPace = UserPace { between: Seconds(15.0), response_most: Seconds(1.5) };
}

/// Users that a server supports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserLimit {
    /// Largest number of users.
    pub users: u64,
    /// Their requests a second.
    pub rate: PerSecond,
    /// Utilization that they cause.
    pub utilization: Share,
}

/// Halvings of a search for a rate: the digits of a number.
const HALVINGS: u32 = 60;

/// Computes the largest number of users whose requests keep the response time, with `demand` seconds of CPU for each: the rate at which M/M/m reaches the
/// response time, times the pace.
///
/// # Errors
/// [`ModelError`] for a demand, a number of servers or a pace that is not positive.
pub fn user_limit(demand: Seconds, servers: u32, pace: UserPace) -> Result<Estimate<UserLimit>, ModelError> {
    positive("demand", demand.0)?;
    let between = positive("time between requests", pace.between.0)?;
    let most = positive("response time", pace.response_most.0)?;
    let full = positive("servers", f64::from(servers))? / demand.0;
    let (mut kept, mut missed) = (0.0, full);
    for _ in 0..HALVINGS {
        let rate = f64::midpoint(kept, missed);
        let keeps = rate < full && ManyServers::new(servers, PerSecond(rate), demand)?.response().value.0 <= most;
        if keeps { kept = rate } else { missed = rate }
    }
    // The search ends just below the limit, which may be a whole number.
    let users = crate::quantity::count_down(kept * between + 1e-6);
    let limit = UserLimit { users, rate: PerSecond(kept), utilization: Share(kept / full) };
    let text = "pace and response time are the source's; the curve between load and response time is M/M/m";
    Ok(Estimate::new(Method::UserPace, Validity::OurRule(text), limit))
}

/// Computes the gain of one server twice as fast over two servers, as a share of the response time: `1 - (1 + rho) / 2`. The gain shrinks with load.
///
/// # Errors
/// [`ModelError`] for a utilization outside 0 to 1.
pub fn faster_servers_gain(utilization: Share) -> Result<Estimate<Share>, ModelError> {
    let load = within("utilization", utilization.0, 0.0, 1.0)?;
    Ok(Estimate::exact(Method::MMm, Share(1.0 - (1.0 + load) / 2.0)))
}
