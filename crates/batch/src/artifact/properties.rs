//! Declared properties of artifacts. A job is checked against them before it runs, and each artifact when it is created, with the values that are
//! known only at run time.

use std::collections::BTreeMap;

use quayline_project::job::PropertyFault;

use crate::codes;

/// Allowed values of a property.
#[derive(Clone, Copy)]
pub enum Expected {
    /// Any text.
    Text,
    /// A number of this range; the text names the default.
    Number(u64, u64, &'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A value that the function accepts. Its error is a description of the fault and a remedy.
    Checked(fn(&str) -> Result<(), (String, String)>),
}

/// A property.
#[derive(Clone, Copy)]
pub struct Property {
    /// The name.
    pub name: &'static str,
    /// The value.
    pub expected: Expected,
    /// True if the property must be present and not empty.
    pub is_required: bool,
}

/// Values by name; `None` for a value that is known only at run time.
pub type Given = BTreeMap<String, Option<String>>;

/// A property, the fault of its value, and a remedy.
pub type Wrong = (&'static str, String, String);

/// The properties of an artifact.
#[derive(Clone, Copy)]
pub struct Properties {
    /// Declared properties.
    pub known: &'static [Property],
    /// True if other properties are also accepted.
    pub is_open: bool,
    /// What several properties together must be.
    pub together: Option<fn(&Given) -> Option<Wrong>>,
    /// True if the check of a job creates the artifact, to compile its definitions. Creating it must then have no effect outside.
    pub is_made_by_check: bool,
}

impl Property {
    /// Declares a mandatory property.
    #[must_use]
    pub const fn required(name: &'static str, expected: Expected) -> Self {
        Property { name, expected, is_required: true }
    }

    /// Declares an optional property.
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
        Properties { known, is_open: false, together: None, is_made_by_check: false }
    }

    /// These, and others that the artifact does not look at.
    #[must_use]
    pub const fn and_others(known: &'static [Property]) -> Self {
        Properties { known, is_open: true, together: None, is_made_by_check: false }
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
            // An empty value selects the default.
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
