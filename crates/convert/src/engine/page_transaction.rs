//! Transactions in pages, which are written whole or not at all.
//!
//! Quayline converts a transaction that is larger than a page before it knows whether the whole transaction is valid. Until then it can undo the
//! output of the pages: it truncates a file, drops the last row groups of a Parquet file, and leaves files of a folder without their names. Output for a
//! stream, or in Arrow format, waits in a spool. Memory therefore does not depend on the length of a transaction.

use core::ops::Range;

use quayline_columnar::{ArrowIpcWriter, ColumnError, ParquetMark};
use quayline_pipeline::{
    Columns, Page, Payload, PipelineError, Revocable, Spool, SpoolFolder, SpoolReader, SpoolWriter,
};

use crate::engine::output::{OutFile, OutputWriter, TextOutput};
use crate::engine::writer::{LotRejects, Writer};
use crate::error::ConvertError;

/// A transaction whose pages are being written.
#[derive(Debug)]
pub(crate) struct PageTransaction {
    /// The output before the transaction; `None` once a page has an error and the output was undone.
    before: Option<OutputMark>,
    /// Documents that its pages became.
    documents: u64,
    /// Bytes of the transaction, if rejects are kept.
    raw: Spool,
}

/// Position of an output.
#[derive(Debug)]
enum OutputMark {
    Text { bytes: u64, drop_first: usize },
    Parquet(ParquetMark),
    Arrow(Box<ArrowIpcWriter<SpoolWriter>>),
}

impl Writer<'_> {
    /// Writes the output of a lot with pages, and the transactions that ended in it.
    pub(crate) fn write_pages(
        &mut self,
        payload: &mut Payload,
        pages: Vec<Page>,
        raw: &[u8],
        rejected: &mut LotRejects,
    ) -> Result<(), ConvertError> {
        let mut at = 0;
        for (number, page) in pages.into_iter().enumerate() {
            if let Some(files) = &mut self.rejects {
                rejected.write_before(number, files)?;
            }
            self.write_part(payload, at..page.output.start)?;
            at = page.output.end;
            self.write_page(payload, page, raw, &mut rejected.bytes)?;
        }
        let end = self.output().end_of(payload);
        self.write_part(payload, at..end)
    }

    fn write_page(
        &mut self,
        payload: &mut Payload,
        page: Page,
        raw: &[u8],
        rejected: &mut Vec<u8>,
    ) -> Result<(), ConvertError> {
        if page.is_first {
            let before = self.revocable().mark()?;
            let before = Some(before);
            self.page_transaction = Some(PageTransaction { before, documents: 0, raw: Spool::default() });
        }
        if page.is_bad {
            self.take_back()?;
        }
        let mut held = self.page_transaction.take().expect("the first page of a transaction comes first");
        if let Some(before) = &mut held.before {
            held.documents += page.documents;
            match before {
                OutputMark::Arrow(beside) => self.output().write_beside(beside, payload, page.output)?,
                _ => self.write_part(payload, page.output)?,
            }
        }
        if self.rejects.is_some() {
            let io = PipelineError::spool(&*self.spool_folder);
            let mut put = |bytes: &[u8]| held.raw.push(bytes, &*self.spool_folder);
            page.front
                .map_or(Ok(()), |mut front| front.read(0, &mut put))
                .and_then(|()| put(&raw[page.raw]))
                .map_err(io)?;
        }
        if page.more {
            self.page_transaction = Some(held);
            return Ok(());
        }
        let tally = &mut self.state.tally;
        if let Some(before) = held.before {
            tally.records_in += 1;
            tally.records_out += 1;
            self.state.documents += held.documents;
            return self.revocable().keep(before);
        }
        tally.records_in += 1;
        tally.records_rejected += 1;
        let Some(files) = &mut self.rejects else { return Ok(()) };
        files.write_long(&page.around, true, held.raw, &[], rejected)
    }

    /// Undoes the written output of the open transaction.
    pub(crate) fn take_back(&mut self) -> Result<(), ConvertError> {
        let Some(mut held) = self.page_transaction.take() else { return Ok(()) };
        if let Some(before) = held.before.take() {
            self.revocable().back_to(before)?;
        }
        self.page_transaction = Some(held);
        Ok(())
    }

    fn write_part(&mut self, payload: &mut Payload, part: Range<usize>) -> Result<(), ConvertError> {
        self.output().write_part(payload, part)
    }

    /// Pages are those of a conversion without a map, which has one output.
    fn output(&mut self) -> &mut OutputWriter {
        &mut self.outputs[0]
    }

    fn revocable(&mut self) -> RevocableOutput<'_> {
        RevocableOutput { writer: &mut self.outputs[0], folder: &self.spool_folder }
    }
}

/// An output, and the folder of a spool in which it waits if it cannot be cut.
struct RevocableOutput<'w> {
    writer: &'w mut OutputWriter,
    folder: &'w SpoolFolder,
}

impl Revocable for RevocableOutput<'_> {
    type Mark = OutputMark;
    type Error = ConvertError;

    fn mark(&mut self) -> Result<OutputMark, ConvertError> {
        match self.writer {
            OutputWriter::Text(output) => Ok(output.hold(self.folder)),
            OutputWriter::Edi(output) => Ok(output.text().hold(self.folder)),
            OutputWriter::Parquet(output) => {
                let mark = output.with(|writer| writer.mark())?;
                output.with(|writer| {
                    writer.output().hold(self.folder);
                    Ok(())
                })?;
                Ok(OutputMark::Parquet(mark))
            }
            OutputWriter::Arrow(output) => {
                let out = SpoolWriter { spool: Spool::default(), folder: SpoolFolder::clone(self.folder) };
                Ok(OutputMark::Arrow(Box::new(output.with(|writer| writer.beside(out))?)))
            }
        }
    }

    fn back_to(&mut self, mark: OutputMark) -> Result<(), ConvertError> {
        match (&mut *self.writer, mark) {
            (OutputWriter::Text(output), OutputMark::Text { bytes, drop_first }) => output.back_to(bytes, drop_first),
            (OutputWriter::Edi(output), OutputMark::Text { bytes, .. }) => output.text().back_to(bytes, 0),
            (OutputWriter::Parquet(output), OutputMark::Parquet(mark)) => {
                output.with(|writer| writer.back_to(mark)?.back_to(mark.bytes()).map_err(ColumnError::Output))
            }
            // Nothing of it is in the output.
            (OutputWriter::Arrow(_), OutputMark::Arrow(_)) => Ok(()),
            _ => unreachable!("a mark is of its own output"),
        }
    }

    fn keep(&mut self, mark: OutputMark) -> Result<(), ConvertError> {
        match (&mut *self.writer, mark) {
            (OutputWriter::Text(output), _) => output.release(),
            (OutputWriter::Edi(output), _) => output.text().release(),
            (OutputWriter::Parquet(output), _) => {
                output.with(|writer| writer.settle()?.release().map_err(ColumnError::Output))
            }
            (OutputWriter::Arrow(output), OutputMark::Arrow(beside)) => output.with(|writer| {
                let (held, _) = beside.finish()?;
                writer.append(SpoolReader::new(held.spool))
            }),
            (OutputWriter::Arrow(_), _) => unreachable!("a mark is of its own output"),
        }
    }
}

impl OutputWriter {
    /// Returns the end of a payload in the unit of [`quayline_pipeline::Page::output`].
    fn end_of(&self, payload: &Payload) -> usize {
        match self {
            OutputWriter::Parquet(_) | OutputWriter::Arrow(_) => payload.columns.len(),
            OutputWriter::Text(output) if matches!(output.out, OutFile::Folder(_)) => payload.cuts.len(),
            OutputWriter::Edi(output) if output.is_split() => payload.cuts.len(),
            OutputWriter::Text(_) | OutputWriter::Edi(_) => payload.len,
        }
    }

    /// Writes a part of a payload.
    fn write_part(&mut self, payload: &mut Payload, part: Range<usize>) -> Result<(), ConvertError> {
        match self {
            OutputWriter::Text(output) => output.put_part(payload, part),
            OutputWriter::Edi(output) => output.put_part(payload, part),
            OutputWriter::Parquet(_) | OutputWriter::Arrow(_) => {
                payload.columns[part].iter_mut().try_for_each(|columns| self.write_columns(columns.take()))
            }
        }
    }

    /// Keeps batches beside the output.
    fn write_beside(
        &mut self,
        beside: &mut ArrowIpcWriter<SpoolWriter>,
        payload: &mut Payload,
        part: Range<usize>,
    ) -> Result<(), ConvertError> {
        let OutputWriter::Arrow(output) = self else { unreachable!("only batches stand beside their output") };
        payload.columns[part].iter_mut().try_for_each(|columns| match columns.take() {
            Columns::Batch(batch) => output.with(|_| beside.write(&batch)),
            _ => unreachable!("lanes make the columns of their output"),
        })
    }
}

impl TextOutput {
    fn hold(&mut self, folder: &SpoolFolder) -> OutputMark {
        let mark = OutputMark::Text { bytes: self.out.bytes(), drop_first: self.drop_first };
        self.out.hold(folder);
        mark
    }

    fn release(&mut self) -> Result<(), ConvertError> {
        self.out.release().map_err(|error| self.out.error(error))
    }

    fn back_to(&mut self, bytes: u64, drop_first: usize) -> Result<(), ConvertError> {
        self.drop_first = drop_first;
        self.out.back_to(bytes).map_err(|error| self.out.error(error))
    }
}
