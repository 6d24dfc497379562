//! Classes, and which class a member belongs to.

use crate::config::{ClassConfig, WorkloadConfig};

/// Kind of work.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// Requests of APIs, by operation.
    Api,
    /// Messages of flows, by flow.
    Flow,
    /// Batch jobs, by job.
    Batch,
    /// Traffic of the partners' part of the listener for operators, by action.
    Translation,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 4] = [Kind::Api, Kind::Flow, Kind::Batch, Kind::Translation];

    /// Returns the name of the class that has all members of this kind by default.
    #[must_use]
    pub fn class_name(self) -> &'static str {
        match self {
            Kind::Api => "api",
            Kind::Flow => "flow",
            Kind::Batch => "batch",
            Kind::Translation => "translation",
        }
    }

    /// Returns the prefix of a member's name in the settings.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Kind::Batch => "job",
            other => other.class_name(),
        }
    }

    /// Returns the counted unit in the plural.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Kind::Api => "requests",
            Kind::Flow => "messages",
            Kind::Batch => "items",
            Kind::Translation => "documents",
        }
    }

    /// Returns the default priority number of the class: 10 (highest) to 89.
    #[must_use]
    pub fn priority(self) -> u8 {
        match self {
            Kind::Api => 20,
            Kind::Flow | Kind::Translation => 22,
            Kind::Batch => 50,
        }
    }
}

/// A class of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Name of the class.
    pub name: String,
    /// Share of all processors that it may use while others work, from 0 to 1; `None` without a bound.
    pub entitlement: Option<f64>,
    /// Share above which time and amount are counted: the entitlement unless the settings say otherwise.
    pub threshold: Option<f64>,
    /// Priority number, 10 (highest) to 89.
    pub priority: u8,
}

/// All classes of a process: those of the settings, followed by one for each kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    all: Vec<Class>,
    /// Patterns in the order of the settings, with the class.
    members: Vec<(Kind, String, usize)>,
    of_kind: [usize; 4],
}

impl Classes {
    /// Creates the classes of the settings. If [`WorkloadConfig::wrong`] refuses the settings, wrong members are left out.
    #[must_use]
    pub fn new(config: &WorkloadConfig) -> Classes {
        let class = |of: &ClassConfig, priority: u8| {
            let share = |percent: f64| percent / 100.0;
            Class {
                name: of.name.clone(),
                entitlement: of.entitlement_percent.map(share),
                threshold: of.threshold_percent.or(of.entitlement_percent).map(share),
                priority: of.priority.unwrap_or(priority),
            }
        };
        let mut all = Vec::new();
        let mut members = Vec::new();
        for of in config.class.iter().filter(|of| kind_of_class(&of.name).is_none()) {
            members.extend(of.members.iter().filter_map(|member| {
                let (kind, name) = member_of(member)?;
                Some((kind, name.to_owned(), all.len()))
            }));
            let kinds = of.members.iter().filter_map(|member| Some(member_of(member)?.0.priority()));
            all.push(class(of, kinds.min().unwrap_or(35)));
        }
        let of_kind = Kind::ALL.map(|kind| {
            let config = config.class.iter().find(|of| of.name == kind.class_name());
            all.push(match config {
                Some(of) => class(of, kind.priority()),
                None => Class {
                    name: kind.class_name().to_owned(),
                    entitlement: None,
                    threshold: None,
                    priority: kind.priority(),
                },
            });
            all.len() - 1
        });
        Classes { all, members, of_kind }
    }

    /// The classes.
    #[must_use]
    pub fn all(&self) -> &[Class] {
        &self.all
    }

    /// Returns the index of a member's class: that of the first matching pattern, otherwise that of its kind.
    #[must_use]
    pub fn of(&self, kind: Kind, name: &str) -> usize {
        let fits = |(of, pattern, _): &&(Kind, String, usize)| {
            *of == kind
                && match pattern.strip_suffix('*') {
                    Some(begin) => name.starts_with(begin),
                    None => name == pattern,
                }
        };
        self.members.iter().find(fits).map_or(self.of_kind[kind as usize], |(_, _, class)| *class)
    }
}

/// Returns the kind whose class has this name.
pub(crate) fn kind_of_class(name: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.class_name() == name)
}

/// Parses kind and pattern of a member in the settings, such as `job:night*`.
pub(crate) fn member_of(text: &str) -> Option<(Kind, &str)> {
    let (prefix, name) = text.split_once(':')?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.prefix() == prefix)?;
    let inner = name.strip_suffix('*').unwrap_or(name);
    (!name.is_empty() && !inner.contains('*')).then_some((kind, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pattern_decides_and_the_kind_has_the_rest() {
        let text = "[[class]]\nname = \"night\"\nmembers = [\"job:settle*\", \"flow:archive\"]\nentitlement-percent = 30\n\
                    [[class]]\nname = \"rest\"\nmembers = [\"job:*\"]\npriority = 60\n[[class]]\nname = \"api\"\npriority = 18\n";
        let config: WorkloadConfig = toml::from_str(text).unwrap();
        assert_eq!(config.wrong(), []);
        let classes = Classes::new(&config);
        let name = |kind, name| classes.all()[classes.of(kind, name)].name.as_str();
        assert_eq!(name(Kind::Batch, "settle-eu"), "night");
        assert_eq!(name(Kind::Batch, "report"), "rest");
        assert_eq!(name(Kind::Flow, "archive"), "night");
        assert_eq!(name(Kind::Flow, "archive2"), "flow");
        assert_eq!(name(Kind::Api, "settle-eu"), "api");
        let priorities: Vec<u8> = classes.all().iter().map(|class| class.priority).collect();
        assert_eq!(priorities, [22, 60, 18, 22, 50, 22]);
        assert_eq!((classes.all()[0].entitlement, classes.all()[0].threshold), (Some(0.3), Some(0.3)));
    }

    #[test]
    fn a_member_has_a_kind_and_at_most_one_star_at_its_end() {
        assert_eq!(member_of("job:night*"), Some((Kind::Batch, "night*")));
        for wrong in ["night", "batch:night", "job:", "job:*night", "job:n*t*", ":x"] {
            assert_eq!(member_of(wrong), None, "{wrong}");
        }
    }
}
