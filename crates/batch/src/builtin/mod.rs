//! The artifacts that come with Quayline.

mod cobol;
mod command;
mod command_processor;
mod document_reader;
mod file_mapper;
mod file_reader;
mod file_writer;
mod filter;
mod fingerprint;
mod folder;
mod http;
mod limits;
mod map;
mod parquet_reader;
mod parquet_writer;
mod partial;
mod properties;
mod queue;
mod record_file;
mod reject_reader;
mod sql;

use crate::artifact::Registry;

/// Adds the artifacts that come with Quayline: `quayline.fileReader` and the others that `docs/reference/jobs.md` lists.
pub fn register(registry: &mut Registry) {
    crate::external::register(registry);
    properties::declare(registry);
    registry.reader("quayline.fileReader", |with| Ok(Box::new(file_reader::FileReader::new(with)?)));
    registry.reader("quayline.documentReader", |with| Ok(Box::new(document_reader::DocumentReader::new(with)?)));
    registry.reader("quayline.queueReader", |with| Ok(Box::new(queue::QueueReader::new(with)?)));
    registry.reader("quayline.recordFileReader", |with| Ok(Box::new(record_file::RecordFileReader::new(with)?)));
    registry.reader("quayline.rejectReader", |with| Ok(Box::new(reject_reader::RejectReader::new(with)?)));
    registry.writer("quayline.fileWriter", |with| Ok(Box::new(file_writer::FileWriter::new(with)?)));
    registry.writer("quayline.queueWriter", |with| Ok(Box::new(queue::QueueWriter::new(with)?)));
    registry.writer("quayline.recordFileWriter", |with| Ok(Box::new(record_file::RecordFileWriter::new(with)?)));
    registry.mapper("quayline.fileMapper", |with| Ok(Box::new(file_mapper::FileMapper::new(with)?)));
    registry.reader("quayline.sqlReader", |with| Ok(Box::new(sql::SqlReader::new(with)?)));
    registry.writer("quayline.sqlWriter", |with| Ok(Box::new(sql::SqlWriter::new(with)?)));
    registry.batchlet("quayline.sqlBatchlet", |with| Ok(Box::new(sql::SqlBatchlet::new(with)?)));
    registry.processor("quayline.mapProcessor", |with| Ok(Box::new(map::MapProcessor::new(with)?)));
    registry.processor("quayline.filterProcessor", |with| Ok(Box::new(filter::FilterProcessor::new(with)?)));
    registry
        .processor("quayline.commandProcessor", |with| Ok(Box::new(command_processor::CommandProcessor::new(with)?)));
    registry.reader("quayline.folderReader", |with| Ok(Box::new(folder::FolderReader::new(with)?)));
    registry.batchlet("quayline.transferBatchlet", |with| Ok(Box::new(folder::Transfer::new(with)?)));
    registry.processor("quayline.cobolProcessor", |with| Ok(Box::new(cobol::CobolProcessor::new(with)?)));
    registry.batchlet("quayline.cobolBatchlet", |with| Ok(Box::new(cobol::CobolBatchlet::new(with)?)));
    registry.reader("quayline.parquetReader", |with| Ok(Box::new(parquet_reader::ParquetReader::new(with)?)));
    registry.writer("quayline.parquetWriter", |with| Ok(Box::new(parquet_writer::ParquetWriter::new(with)?)));
    registry.processor("quayline.httpProcessor", |with| Ok(Box::new(http::HttpProcessor::new(with)?)));
    registry.batchlet("quayline.commandBatchlet", |with| Ok(Box::new(command::Command::new(with)?)));
}
