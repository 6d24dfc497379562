//! Parsing of copybooks, with the errors of the fields of their records.

use quayline_core::{Finding, Findings};

use crate::copybook::{self, Copybook, ParseOptions, SourceText};
use crate::layout::errors_of_fields;

/// Reads a copybook: a fragment, records, or a whole program up to its PROCEDURE DIVISION.
///
/// # Errors
/// All findings at once, including warnings, if at least one is an error. Codes `COB-001` to `COB-044`;
/// `docs/reference/errors/cobol.md` lists them.
///
/// Source: IBM Enterprise COBOL for z/OS 6.4, Language Reference, Data division and Compiler-directing statements; ISO/IEC 1989:2023 for
/// free form and partial-word replacement.
pub fn parse(source: &SourceText, options: &ParseOptions<'_>) -> Result<Copybook, Findings> {
    copybook::read(source, options).map_err(|refused| {
        let mut findings = refused.findings;
        // The same run reports the faults of the next step too, except for entries that already have an error.
        let line = |finding: &Finding| (finding.place.file.clone(), finding.place.line);
        let known: Vec<_> = findings.iter().map(line).collect();
        let more = refused.records.iter().flat_map(errors_of_fields);
        findings.extend(more.filter(|finding| !known.contains(&line(finding))));
        if findings.len() > known.len() {
            findings.sort_by_key(|finding| (line(finding), finding.place.column));
        }
        Findings(findings)
    })
}
