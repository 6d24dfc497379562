//! What can be checked of partners with errors.

use std::path::Path;

use quayline_core::Place;
use quayline_project::partner::{PartnerFile, RuleMap, Settings};

/// Removes what cannot be checked from partners with errors: rules with an error in their text, and rules and settings that name a missing file. The
/// errors are known, and their consequences would only repeat them. Returns the maps of the removed rules, which can be checked alone.
pub(crate) fn leave_checkable(partners: &mut [PartnerFile], project: &Path) -> Vec<(RuleMap, Place)> {
    let exists = |path: &Path| project.join(path).exists();
    let has_guides = |settings: &Settings| settings.guides.iter().flatten().all(|guide| exists(guide));
    let has_map = |map: &RuleMap| exists(&map.path) && map.lookups.iter().all(|(_, table)| exists(table));
    let mut maps = Vec::new();
    for partner in partners {
        let agreements = partner.agreements.iter_mut().map(|one| &mut one.settings);
        for settings in std::iter::once(&mut partner.settings).chain(agreements) {
            if !has_guides(settings) {
                *settings = Settings::default().shared();
            }
        }
        partner.rules.retain(|rule| {
            let guide = rule.condition.as_ref().and_then(|condition| condition.guide.as_ref());
            let is_sound = !rule.has_errors
                && has_guides(&rule.settings)
                && rule.maps.iter().all(has_map)
                && guide.is_none_or(|guide| exists(guide));
            if !is_sound {
                maps.extend(rule.maps.iter().filter(|map| has_map(map)).map(|map| (map.clone(), rule.place.clone())));
            }
            is_sound
        });
    }
    maps
}
