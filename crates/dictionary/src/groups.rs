//! The functional group (GS01, data element 479) of each transaction set.

/// Returns GS01 for the transaction set identifier ST01, or `None` for sets that are not in the table.
///
/// Source: ASC X12 data element 479, Functional Identifier Code.
pub(crate) fn functional_group(transaction: &str) -> Option<&'static str> {
    GROUPS.iter().find(|(set, _)| *set == transaction).map(|(_, group)| *group)
}

const GROUPS: [(&str, &str); 46] = [
    ("204", "SM"),
    ("210", "IM"),
    ("211", "BL"),
    ("214", "QM"),
    ("270", "HS"),
    ("271", "HB"),
    ("275", "PI"),
    ("276", "HR"),
    ("277", "HN"),
    ("278", "HI"),
    ("810", "IN"),
    ("811", "CI"),
    ("812", "CD"),
    ("816", "OR"),
    ("820", "RA"),
    ("823", "LB"),
    ("824", "AG"),
    ("830", "PS"),
    ("832", "SC"),
    ("834", "BE"),
    ("835", "HP"),
    ("837", "HC"),
    ("840", "RQ"),
    ("843", "RR"),
    ("846", "IB"),
    ("850", "PO"),
    ("852", "PD"),
    ("855", "PR"),
    ("856", "SH"),
    ("860", "PC"),
    ("861", "RC"),
    ("862", "SS"),
    ("864", "TX"),
    ("865", "CA"),
    ("867", "PT"),
    ("869", "RS"),
    ("870", "RS"),
    ("875", "OG"),
    ("880", "GP"),
    ("940", "OW"),
    ("943", "AR"),
    ("944", "RE"),
    ("945", "SW"),
    ("990", "GF"),
    ("997", "FA"),
    ("999", "FA"),
];
