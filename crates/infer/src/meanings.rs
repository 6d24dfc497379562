//! Meanings of elements whose names in the dictionaries say little: `Monetary amount` is a claim's charge in one segment and a payment in another.

use quayline_core::{NodeId, Shape};

/// Elements of X12 (order, invoice, claim, payment) and EDIFACT (order, invoice), and their meanings in these messages.
const MEANINGS: &[(&str, &str)] = &[
    ("BEG03", "purchase order number"),
    ("BEG05", "order date"),
    ("BIG01", "invoice date"),
    ("BIG02", "invoice number"),
    ("BIG04", "purchase order number"),
    ("BPR02", "payment amount"),
    ("BPR16", "payment date"),
    ("CLM01", "claim id"),
    ("CLM02", "claim charge amount"),
    ("CLP01", "claim id"),
    ("CLP03", "charge amount"),
    ("CLP04", "paid amount"),
    ("CTT01", "line count"),
    ("CTT02", "hash"),
    ("CUR02", "currency"),
    ("DTP03", "date"),
    ("IT101", "line number"),
    ("IT102", "quantity"),
    ("IT103", "unit"),
    ("IT104", "unit price"),
    ("IT107", "product sku id"),
    ("N102", "name"),
    ("N104", "id"),
    ("N301", "street"),
    ("N401", "city"),
    ("N402", "state"),
    ("N403", "zip"),
    ("NM103", "last name"),
    ("NM104", "first name"),
    ("NM109", "npi id"),
    ("PID05", "description"),
    ("PO101", "line number"),
    ("PO102", "quantity"),
    ("PO103", "unit"),
    ("PO104", "unit price"),
    ("PO107", "product sku id"),
    ("SV101-2", "procedure code"),
    ("SV102", "charge amount"),
    ("SV104", "units"),
    ("SVC01-2", "procedure code"),
    ("SVC02", "charge amount"),
    ("SVC03", "paid amount"),
    ("TDS01", "total amount"),
    ("TRN02", "trace number"),
    ("BGM02", "document order number"),
    ("BGM02-1", "document order number"),
    ("CUX01-2", "currency"),
    ("DTM01-2", "date"),
    ("IMD03-4", "description"),
    ("LIN01", "line number"),
    ("LIN03-1", "product ean id"),
    ("PRI01-2", "price"),
    ("QTY01-2", "quantity"),
];

/// Returns the fields of a guide's documents whose meaning is known, and what it is.
#[must_use]
pub fn meanings(shape: &Shape) -> Vec<(NodeId, &'static str)> {
    let known = |name: &str| MEANINGS.iter().find(|(element, _)| *element == name).map(|(_, meaning)| *meaning);
    let leaves = shape.iter().filter(|(_, node)| node.scalar().is_some());
    leaves.filter_map(|(id, node)| Some((id, known(&node.name)?))).collect()
}
