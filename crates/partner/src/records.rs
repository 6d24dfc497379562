//! Record files as sources of documents to send.

use quayline_core::{Fault, Finding, Findings, Limits};
use quayline_frame::{Framer, FramerOptions, FramingSpec};
use quayline_project::SourceFormat;
use quayline_store::StoreError;

use crate::codes;
use crate::desk::{Desk, open_file};
use crate::ledger::of_store;
use crate::send_request::SendRequest;
use crate::send_rule::SendRules;

impl Desk<'_> {
    /// Returns all records of a record file, in the order of its key, as the source of the documents of a request: in the framing of its map.
    ///
    /// # Errors
    /// The file is not defined or too large, the map does not read records, and errors of the store.
    pub fn records_to_send(&mut self, request: &SendRequest<'_>, file: &str) -> Result<Vec<u8>, Findings> {
        let framing = self.framing_of(request)?;
        let most = self.limits.send_bytes_max;
        let ledger = self.ledger;
        // One unit sees the file as it is now.
        let unit = ledger.begin().map_err(of_store)?;
        let file = open_file(ledger, &unit, file)?;
        let longest = usize::try_from(file.definition().record_bytes_max).unwrap_or(usize::MAX);
        let limits = self.book.limits();
        let limits = Limits { record_bytes_max: limits.record_bytes_max.max(longest), ..limits.clone() };
        let options = FramerOptions { record_bytes_max: Some(longest), ..FramerOptions::default() };
        let wrong = |message: String| Findings::from(Finding::error(codes::MAP, Fault::Config, message).hint(FRAMING));
        let mut framer = Framer::new(&framing, options, &limits).map_err(|error| wrong(error.to_string()))?;
        let mut bytes = Vec::new();
        let mut browse = file.browse();
        loop {
            let record = match browse.next(&unit) {
                Ok(record) => record,
                Err(StoreError::EndOfFile { .. }) => break,
                Err(error) => return Err(of_store(error)),
            };
            if let FramingSpec::Fixed { length } = framing
                && length != record.bytes.len()
            {
                let found = record.bytes.len();
                return Err(wrong(format!("a record has {found} bytes, and the layout of the map has {length}")));
            }
            framer.frame(&record.bytes, &mut bytes).map_err(|fault| wrong(fault.finding().message.clone()))?;
            if bytes.len() as u64 > most {
                let message = format!("the records have more than {most} bytes (send_bytes_max)");
                let finding = Finding::error(codes::TOO_LARGE, Fault::Caller, message);
                return Err(finding.hint("keep the documents in several record files").into());
            }
        }
        framer.finish(&mut bytes);
        Ok(bytes)
    }

    /// Returns the framing of the records that the maps of a request read.
    fn framing_of(&self, request: &SendRequest<'_>) -> Result<FramingSpec, Findings> {
        let book = self.book;
        let (own, to) = self.parties(request)?;
        let mut found: Option<FramingSpec> = None;
        for map in &SendRules::of(book, own, to, request.document)?.maps {
            let source = book.map(map).map_err(Clone::clone)?.source.source()?;
            let wrong = |message: String| {
                Findings::from(Finding::error(codes::MAP, Fault::Config, message).hint("name a layout as its source"))
            };
            let SourceFormat::Records(framing) = source else {
                return Err(wrong(format!("the map {} does not read records", map.path.display())));
            };
            if found.as_ref().is_some_and(|known| *known != framing) {
                return Err(wrong("the maps of the rule read records in different framings".to_owned()));
            }
            found = Some(framing);
        }
        found.ok_or_else(|| {
            let message = "a record file holds records, and without a map Quayline sends interchanges unchanged";
            Finding::error(codes::MAP, Fault::Caller, message).hint("name the kind of document with --document").into()
        })
    }
}

const FRAMING: &str = "use a layout whose framing fits the records of the file, such as framing = \"rdw\"";
