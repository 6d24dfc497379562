//! Checks across all partner files.

use std::collections::BTreeMap;
use std::path::Path;

use quayline_core::{Fault, Finding, Place};

use super::{Delivery, PartnerFile};
use crate::codes;

/// Findings about several files, and about files that they name. `faulty` are the partners with an error in their text, which may lack identities;
/// a set that is not complete may lack partners.
pub(super) fn together(partners: &[PartnerFile], faulty: &[bool], is_complete: bool, project: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut names: BTreeMap<&str, &PartnerFile> = BTreeMap::new();
    let mut identities = BTreeMap::new();
    for (partner, is_faulty) in partners.iter().zip(faulty) {
        if let Some(other) = names.insert(&partner.name, partner) {
            let message = format!("`{}` is also the name of {}", partner.name, other.path.display());
            findings.push(error(codes::PARTNER_TWICE, message, in_file(partner)).hint("give one of them another name"));
        }
        if partner.identities.is_empty() && !is_faulty {
            let message = "the partner has no identity, so no interchange is from or for it";
            let hint = "add [[identity]] with standard, qualifier and id";
            findings.push(error(codes::PARTNER_VALUE, message, in_file(partner)).hint(hint));
        }
        for identity in &partner.identities {
            let key = (identity.standard.name(), identity.qualifier.as_str(), identity.id.as_str());
            if let Some(other) = identities.insert(key, partner) {
                let message = format!("`{}` has the same identity in {}", other.name, other.path.display());
                let hint = "an interchange must name one partner: correct one of the two identities";
                findings.push(error(codes::PARTNER_TWICE, message, identity.place.clone()).hint(hint));
            }
        }
        if partner.is_own && !partner.agreements.is_empty() {
            let place = partner.agreements[0].place.clone();
            let message = "agreements belong into the partner's file, not into yours";
            findings.push(error(codes::PARTNER_VALUE, message, place).hint("move it"));
        }
    }
    if is_complete && !partners.is_empty() && !partners.iter().any(|partner| partner.is_own) {
        let place = in_file(&partners[0]);
        let message = "no partner file is your own, so Quayline does not know what is addressed to you";
        let hint = "add a file with own = true and your identities";
        findings.push(error(codes::PARTNER_MISSING, message, place).hint(hint));
    }
    for partner in partners {
        for agreement in &partner.agreements {
            if is_complete && !names.get(agreement.with.as_str()).is_some_and(|own| own.is_own) {
                let own = partners.iter().filter(|partner| partner.is_own).map(|partner| partner.name.as_str());
                let hint = match quayline_core::nearest(&agreement.with, own) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "name a file with own = true".to_owned(),
                };
                let message = format!("`{}` is not one of your own files", agreement.with);
                findings.push(error(codes::PARTNER_MISSING, message, agreement.place.clone()).hint(hint));
            }
        }
        let layers = std::iter::once((&partner.settings, in_file(partner)))
            .chain(partner.agreements.iter().map(|one| (&one.settings, one.place.clone())))
            .chain(partner.rules.iter().map(|one| (&one.settings, one.place.clone())));
        for (settings, place) in layers {
            for guide in settings.guides.iter().flatten() {
                missing(&mut findings, project, guide, "guide", &place);
            }
        }
        for rule in &partner.rules {
            for map in &rule.maps {
                missing(&mut findings, project, &map.path, "map", &rule.place);
            }
            if let Some(guide) = rule.condition.as_ref().and_then(|condition| condition.guide.as_ref()) {
                missing(&mut findings, project, guide, "guide", &rule.place);
            }
            let lookups = rule.maps.first().map(|map| &*map.lookups).unwrap_or_default();
            for (_, table) in lookups {
                missing(&mut findings, project, table, "table", &rule.place);
            }
        }
    }
    same_folder(&mut findings, partners);
    let sound = partners.iter().zip(faulty).filter(|(_, is_faulty)| !**is_faulty);
    never_answered(&mut findings, sound.map(|(partner, _)| partner));
    findings
}

/// Warns about acknowledgments that are expected in a standard in which the partner has no identity: they can never arrive.
fn never_answered<'p>(findings: &mut Vec<Finding>, partners: impl Iterator<Item = &'p PartnerFile>) {
    for partner in partners.filter(|partner| !partner.is_own) {
        let layers = std::iter::once((&partner.settings, in_file(partner)))
            .chain(partner.agreements.iter().map(|one| (&one.settings, one.place.clone())))
            .chain(partner.rules.iter().map(|one| (&one.settings, one.place.clone())));
        for (settings, place) in layers {
            for kind in settings.expect.iter().flatten() {
                if partner.identity(kind.standard()).is_none() {
                    let standard = kind.standard().name();
                    let message =
                        format!("`expect` has {kind}, and the partner has no {standard} identity to answer with");
                    let finding = Finding::warning(codes::PARTNER_NEVER, Fault::Config, message).at(place.clone());
                    findings
                        .push(finding.hint("name an acknowledgment of the partner's standard, or add its identity"));
                }
            }
        }
    }
}

/// Refuses delivery into a watched folder, from which the file would enter again. Within the files, only folders for the same
/// purpose can be compared: acknowledgments and documents may share a folder.
fn same_folder(findings: &mut Vec<Finding>, partners: &[PartnerFile]) {
    for partner in partners.iter().filter(|partner| !partner.is_own) {
        let Some(Delivery::Folder(sent)) = &partner.settings.send_to else { continue };
        for rule in &partner.rules {
            for to in rule.deliver.values() {
                if *to == Delivery::Folder(sent.clone()) {
                    let message =
                        format!("rule `{}` delivers into the folder of interchanges to the partner", rule.name);
                    let finding = Finding::warning(codes::PARTNER_VALUE, Fault::Config, message).at(rule.place.clone());
                    findings
                        .push(finding.hint("name another folder, or whatever sends that folder sends these files too"));
                }
            }
        }
    }
}

fn missing(findings: &mut Vec<Finding>, project: &Path, path: &Path, what: &str, place: &Place) {
    if !project.join(path).exists() {
        let message = format!("the {what} {} does not exist", path.display());
        let hint = format!("check the path; it is relative to {}", shown(project));
        findings.push(error(codes::PARTNER_MISSING, message, place.clone()).hint(hint));
    }
}

fn shown(project: &Path) -> String {
    if project.as_os_str().is_empty() { "the project's folder".to_owned() } else { project.display().to_string() }
}

fn in_file(partner: &PartnerFile) -> Place {
    Place { file: Some(partner.path.display().to_string().into()), ..Place::default() }
}

fn error(code: quayline_core::Code, message: impl Into<String>, place: Place) -> Finding {
    Finding::error(code, Fault::Config, message).at(place)
}
