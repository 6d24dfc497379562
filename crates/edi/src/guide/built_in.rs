//! The guides of the usual trade, transport and health care sets that come with Quayline.

use quayline_core::Limits;

use super::acknowledgments::acknowledgment_text;
use super::{Guide, GuideResolver, GuideText, ResolveError, parse_guide};

/// Prefix of the name of a built-in guide, in place of the path of a guide file: `builtin:850-004010`.
pub const BUILT_IN: &str = "builtin:";

/// A guide that comes with Quayline.
#[derive(Debug)]
pub struct BuiltInGuide {
    /// Name: transaction set and version.
    pub name: &'static str,
    text: &'static str,
}

impl BuiltInGuide {
    const fn new(name: &'static str, text: &'static str) -> Self {
        BuiltInGuide { name, text }
    }

    /// Returns the text of its file.
    #[must_use]
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Reads it.
    ///
    /// # Panics
    /// Never: a test reads them all.
    #[must_use]
    pub fn read(&self) -> Guide {
        let read = parse_guide(&format!("{BUILT_IN}{}", self.name), self.text, &BuiltInFiles, &Limits::default());
        read.expect("the guides that come with Quayline are right")
    }
}

/// Returns the built-in guides by name, without those of acknowledgments.
#[must_use]
pub fn built_in_guides() -> &'static [BuiltInGuide] {
    const { &GUIDES }
}

/// Resolver of built-in guides and dictionaries by the names in include and overlay lines: `builtin:NAME`, or NAME inside another of them.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInFiles;

impl GuideResolver for BuiltInFiles {
    fn read(&self, name: &str, _from: &str) -> Result<GuideText, ResolveError> {
        let plain = name.strip_prefix(BUILT_IN).unwrap_or(name);
        let plain = plain.strip_suffix(".guide").unwrap_or(plain);
        let guide = GUIDES.iter().find(|guide| guide.name == plain).map(|guide| guide.text);
        let dictionary = || DICTIONARIES.iter().find(|(known, _)| *known == plain).map(|(_, text)| *text);
        match guide.or_else(dictionary).or_else(|| acknowledgment_text(plain)) {
            Some(text) => Ok(GuideText { name: format!("{BUILT_IN}{plain}"), text: text.to_owned() }),
            None => Err(ResolveError::NotFound { tried: vec![format!("{BUILT_IN}{plain}")] }),
        }
    }
}

/// Dictionaries that the guides include.
const DICTIONARIES: [(&str, &str); 3] = [
    ("x12-004010", include_str!("../../guides/standard/x12-004010.guide")),
    ("x12-005010-health", include_str!("../../guides/standard/x12-005010-health.guide")),
    ("x12-005010", include_str!("../../guides/standard/x12-005010.guide")),
];

const GUIDES: [BuiltInGuide; 40] = [
    BuiltInGuide::new("204-004010", include_str!("../../guides/standard/204-004010.guide")),
    BuiltInGuide::new("204-005010", include_str!("../../guides/standard/204-005010.guide")),
    BuiltInGuide::new("210-004010", include_str!("../../guides/standard/210-004010.guide")),
    BuiltInGuide::new("210-005010", include_str!("../../guides/standard/210-005010.guide")),
    BuiltInGuide::new("214-004010", include_str!("../../guides/standard/214-004010.guide")),
    BuiltInGuide::new("214-005010", include_str!("../../guides/standard/214-005010.guide")),
    BuiltInGuide::new("270-005010X279", include_str!("../../guides/standard/270-005010X279.guide")),
    BuiltInGuide::new("271-005010X279", include_str!("../../guides/standard/271-005010X279.guide")),
    BuiltInGuide::new("276-005010X212", include_str!("../../guides/standard/276-005010X212.guide")),
    BuiltInGuide::new("277-005010X212", include_str!("../../guides/standard/277-005010X212.guide")),
    BuiltInGuide::new("278-005010X217", include_str!("../../guides/standard/278-005010X217.guide")),
    BuiltInGuide::new("810-004010", include_str!("../../guides/standard/810-004010.guide")),
    BuiltInGuide::new("810-005010", include_str!("../../guides/standard/810-005010.guide")),
    BuiltInGuide::new("820-004010", include_str!("../../guides/standard/820-004010.guide")),
    BuiltInGuide::new("820-005010", include_str!("../../guides/standard/820-005010.guide")),
    BuiltInGuide::new("830-004010", include_str!("../../guides/standard/830-004010.guide")),
    BuiltInGuide::new("830-005010", include_str!("../../guides/standard/830-005010.guide")),
    BuiltInGuide::new("832-004010", include_str!("../../guides/standard/832-004010.guide")),
    BuiltInGuide::new("832-005010", include_str!("../../guides/standard/832-005010.guide")),
    BuiltInGuide::new("837-005010X224", include_str!("../../guides/standard/837-005010X224.guide")),
    BuiltInGuide::new("846-004010", include_str!("../../guides/standard/846-004010.guide")),
    BuiltInGuide::new("846-005010", include_str!("../../guides/standard/846-005010.guide")),
    BuiltInGuide::new("850-004010", include_str!("../../guides/standard/850-004010.guide")),
    BuiltInGuide::new("850-005010", include_str!("../../guides/standard/850-005010.guide")),
    BuiltInGuide::new("855-004010", include_str!("../../guides/standard/855-004010.guide")),
    BuiltInGuide::new("855-005010", include_str!("../../guides/standard/855-005010.guide")),
    BuiltInGuide::new("856-004010", include_str!("../../guides/standard/856-004010.guide")),
    BuiltInGuide::new("856-005010", include_str!("../../guides/standard/856-005010.guide")),
    BuiltInGuide::new("860-004010", include_str!("../../guides/standard/860-004010.guide")),
    BuiltInGuide::new("860-005010", include_str!("../../guides/standard/860-005010.guide")),
    BuiltInGuide::new("862-004010", include_str!("../../guides/standard/862-004010.guide")),
    BuiltInGuide::new("862-005010", include_str!("../../guides/standard/862-005010.guide")),
    BuiltInGuide::new("864-004010", include_str!("../../guides/standard/864-004010.guide")),
    BuiltInGuide::new("864-005010", include_str!("../../guides/standard/864-005010.guide")),
    BuiltInGuide::new("940-004010", include_str!("../../guides/standard/940-004010.guide")),
    BuiltInGuide::new("940-005010", include_str!("../../guides/standard/940-005010.guide")),
    BuiltInGuide::new("945-004010", include_str!("../../guides/standard/945-004010.guide")),
    BuiltInGuide::new("945-005010", include_str!("../../guides/standard/945-005010.guide")),
    BuiltInGuide::new("990-004010", include_str!("../../guides/standard/990-004010.guide")),
    BuiltInGuide::new("990-005010", include_str!("../../guides/standard/990-005010.guide")),
];
