//! Classes, and which class a member belongs to.

use crate::config::{ClassConfig, WorkloadConfig};
use crate::kind::{Kind, kind_of_class, member_of};

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
