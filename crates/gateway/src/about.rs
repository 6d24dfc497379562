//! The parts of an API's file that only its OpenAPI document shows: publisher, licence, servers, and groups of operations.

use serde::Deserialize;

use crate::Json;

/// Members of an API file that shape the document, not the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    /// URL of the terms of service.
    pub(crate) terms_of_service: String,
    pub(crate) contact: Contact,
    pub(crate) license: License,
    /// URLs in front of the paths, instead of the server that answers the document.
    pub(crate) servers: Vec<String>,
    /// Names of groups with their descriptions, in the order in which pages show them.
    pub(crate) tags: Vec<Tag>,
}

/// The contact for the API (OpenAPI 3.1, section 4.8.3).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Contact {
    name: String,
    url: String,
    email: String,
}

/// The licence of the API (OpenAPI 3.1, section 4.8.4).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct License {
    name: String,
    /// An SPDX expression; instead of `url`.
    identifier: String,
    url: String,
}

/// A group of operations (OpenAPI 3.1, section 4.8.22).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tag {
    name: String,
    #[serde(default)]
    description: String,
}

/// Returns an object of the members with a value; `None` if none has one.
fn members(pairs: &[(&str, &str)]) -> Option<Json> {
    let members: Vec<(String, Json)> = pairs
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| ((*name).to_owned(), Json::text(*value)))
        .collect();
    (!members.is_empty()).then_some(Json::Object(members))
}

impl Contact {
    pub(crate) fn json(&self) -> Option<Json> {
        members(&[("name", &self.name), ("url", &self.url), ("email", &self.email)])
    }
}

impl License {
    pub(crate) fn json(&self) -> Option<Json> {
        members(&[("name", &self.name), ("identifier", &self.identifier), ("url", &self.url)])
    }

    /// Returns a violation of OpenAPI, with the remedy.
    pub(crate) fn wrong(&self) -> Option<(&'static str, &'static str)> {
        if self.name.is_empty() && self.json().is_some() {
            return Some(("the licence has no name", "add `name`, such as \"Apache 2.0\""));
        }
        (!self.identifier.is_empty() && !self.url.is_empty())
            .then_some(("the licence has an identifier and a URL", "keep one of them"))
    }
}

impl About {
    /// Returns the list of servers. `own` is the URL of the server that serves the document.
    pub(crate) fn servers(&self, own: &str) -> Json {
        let urls: Vec<&str> =
            if self.servers.is_empty() { vec![own] } else { self.servers.iter().map(|s| &**s).collect() };
        Json::List(urls.into_iter().map(|url| Json::object([("url", Json::text(url))])).collect())
    }

    /// Returns the tags: those with a description first, followed by those that only operations name. `named` are the
    /// tags of all operations.
    pub(crate) fn tags<'a>(&'a self, named: impl Iterator<Item = &'a String>) -> Option<Json> {
        let mut tags: Vec<(&str, &str)> = self.tags.iter().map(|tag| (&*tag.name, &*tag.description)).collect();
        for name in named {
            if tags.iter().all(|(known, _)| known != name) {
                tags.push((name, ""));
            }
        }
        let json = tags.into_iter().filter_map(|(name, text)| members(&[("name", name), ("description", text)]));
        let json: Vec<Json> = json.collect();
        (!json.is_empty()).then_some(Json::List(json))
    }
}
