//! Kinds of work.

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
