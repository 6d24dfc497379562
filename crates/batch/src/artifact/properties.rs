//! Which properties an artifact has. A job is checked against them before it runs, and each artifact when it is made, with the values that only a
//! run knows.

use std::collections::BTreeMap;

use quayline_project::job::PropertyFault;

use crate::codes;

/// What a value must be.
#[derive(Clone, Copy)]
pub enum Expected {
    /// Any text.
    Text,
    /// A number of this range; the text names the default.
    Number(u64, u64, &'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// What a function accepts; otherwise it says what is wrong and what to do.
    Checked(fn(&str) -> Result<(), (String, String)>),
}

/// A property.
#[derive(Clone, Copy)]
pub struct Property {
    /// The name.
    pub name: &'static str,
    /// The value.
    pub expected: Expected,
    /// Whether it must be there, and not be empty.
    pub is_required: bool,
}

/// Values by name. A value that only a run knows is `None`.
pub type Given = BTreeMap<String, Option<String>>;

/// A property, what is wrong with it, and what to do.
pub type Wrong = (&'static str, String, String);

/// The properties of an artifact.
#[derive(Clone, Copy)]
pub struct Properties {
    /// Those that it knows.
    pub known: &'static [Property],
    /// Whether it takes any others too.
    pub is_open: bool,
    /// What several properties together must be.
    pub together: Option<fn(&Given) -> Option<Wrong>>,
}

impl Property {
    /// A property that must be there.
    #[must_use]
    pub const fn required(name: &'static str, expected: Expected) -> Self {
        Property { name, expected, is_required: true }
    }

    /// A property that may be left out.
    #[must_use]
    pub const fn optional(name: &'static str, expected: Expected) -> Self {
        Property { name, expected, is_required: false }
    }

    fn wrong(&self, value: &str) -> Option<(String, String)> {
        match self.expected {
            Expected::Text => None,
            Expected::Number(least, most, default) => match value.parse::<u64>() {
                Err(_) => Some(("is not a number".to_owned(), format!("write digits; the default is {default}"))),
                Ok(number) if !(least..=most).contains(&number) => {
                    Some(("is out of range".to_owned(), format!("write a number from {least} to {most}")))
                }
                Ok(_) => None,
            },
            Expected::OneOf(words) => (!words.contains(&value)).then(|| {
                let (last, first) = words.split_last().unwrap_or((&"", &[]));
                ("is not known".to_owned(), format!("write {} or {last}", first.join(", ")))
            }),
            Expected::Checked(check) => check(value).err(),
        }
    }
}

impl Properties {
    /// These and no others.
    #[must_use]
    pub const fn only(known: &'static [Property]) -> Self {
        Properties { known, is_open: false, together: None }
    }

    /// These, and others that the artifact does not look at.
    #[must_use]
    pub const fn and_others(known: &'static [Property]) -> Self {
        Properties { known, is_open: true, together: None }
    }

    /// Everything that is wrong with the properties of one use.
    pub(super) fn faults(&self, artifact: &str, given: &Given) -> Vec<PropertyFault> {
        let fault = |name: &str, is_name, what: String, remedy| PropertyFault {
            code: codes::PROPERTY,
            name: name.to_owned(),
            is_name,
            message: format!("property {name} of {artifact} {what}"),
            remedy,
        };
        let mut faults = Vec::new();
        for name in given.keys().filter(|_| !self.is_open) {
            if !self.known.iter().any(|known| known.name == name) {
                let names: Vec<&str> = self.known.iter().map(|known| known.name).collect();
                let remedy = match names.as_slice() {
                    [] => format!("{artifact} has no properties: remove it"),
                    names => format!("the properties of {artifact} are {}", names.join(", ")),
                };
                faults.push(fault(name, true, "is not known".to_owned(), remedy));
            }
        }
        for known in self.known {
            let value = given.get(known.name);
            let is_missing = value.is_none_or(|value| value.as_ref().is_some_and(String::is_empty));
            if is_missing && known.is_required {
                let remedy =
                    format!("add <property name=\"{}\" value=\"...\"/> to the properties of {artifact}", known.name);
                faults.push(fault(known.name, false, "is missing or empty".to_owned(), remedy));
            }
            // What is empty takes the default.
            if let Some(Some(value)) = value
                && !value.is_empty()
                && let Some((what, remedy)) = known.wrong(value)
            {
                faults.push(fault(known.name, false, what, remedy));
            }
        }
        if faults.is_empty()
            && let Some((name, what, remedy)) = self.together.and_then(|together| together(given))
        {
            faults.push(fault(name, false, what, remedy));
        }
        faults
    }
}
