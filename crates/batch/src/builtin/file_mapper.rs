//! `quayline.fileMapper`: divides a file into ranges, one for each partition.
//!
//! A range of rows of a Parquet file is two row numbers. A range of lines or of fixed-length records is found by reading its first bytes. In other
//! framings, and in interchanges, an item can be found only from its predecessor, so the mapper reads the file once, with the reader that the
//! partitions use.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;

use quayline_frame::{FramingSpec, LineEnd};

use super::file_reader::{FileReader, io};
use crate::artifact::{Answer, Injected, PartitionMapper, PartitionPlan};
use crate::error::Thrown;

/// Greatest number of partitions, so that a wrong number does not fill the repository.
pub(super) const PARTITIONS_MAX: u64 = 10_000;

/// Possible beginnings of a range.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Boundary {
    /// At a multiple of the record length.
    Every(u64),
    /// After this line end.
    Line(LineEnd),
    /// After the item before.
    Item,
    /// At any row of a Parquet file; ranges are numbers of rows.
    Row,
}

/// Returns the boundary for a framing, or a description of the fault and a remedy.
pub(super) fn boundary_of(framing: &str) -> Result<Boundary, (String, String)> {
    match framing {
        "edi" => return Ok(Boundary::Item),
        "parquet" => return Ok(Boundary::Row),
        _ => {}
    }
    let spec = FramingSpec::parse(framing).map_err(|error| {
        let finding = error.finding();
        let remedy = finding.hint.unwrap_or_else(|| "write a framing such as lines, fixed:80 or rdw".to_owned());
        (format!("is not a framing: {}", finding.message), remedy)
    })?;
    match spec {
        FramingSpec::Fixed { length } => Ok(Boundary::Every(length as u64)),
        FramingSpec::Lines(spec) => Ok(Boundary::Line(spec.end)),
        FramingSpec::MicroFocus => {
            let remedy = "write another framing: the header of a Micro Focus file is needed to read any of its records";
            Err(("cannot be split into ranges".to_owned(), remedy.to_owned()))
        }
        _ => Ok(Boundary::Item),
    }
}

pub(super) struct FileMapper {
    path: PathBuf,
    boundary: Boundary,
    /// Reader of items, if ranges cannot be found without reading them.
    items: Option<FileReader>,
    partitions: u64,
    threads: u32,
}

impl FileMapper {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let framing = with.property("framing").unwrap_or("lines");
        let boundary =
            boundary_of(framing).map_err(|(what, remedy)| Thrown::property(&with.name, "framing", what, remedy))?;
        let items = match boundary {
            Boundary::Item => Some(FileReader::of_file(with.path("file")?, framing)?),
            _ => None,
        };
        let partitions = with.number("partitions", 2)?;
        let threads = u32::try_from(with.number("threads", 0)?).unwrap_or(u32::MAX);
        Ok(FileMapper { path: with.path("file")?, boundary, items, partitions, threads })
    }
}

impl PartitionMapper for FileMapper {
    fn must_repeat(&self) -> bool {
        true
    }

    fn plan(&mut self) -> Answer<PartitionPlan> {
        let file = File::open(&self.path).map_err(|error| io(&self.path, "read", &error))?;
        let length = match self.boundary {
            Boundary::Row => super::parquet_reader::open_at(&self.path, 0)?.0.rows_total().unwrap_or(0),
            _ => file.metadata().map_err(|error| io(&self.path, "read", &error))?.len(),
        };
        let mut reader = BufReader::new(file);
        let mut begins = vec![0];
        if let Some(items) = &mut self.items {
            // The reader keeps its position between two ranges.
            items.begin(None)?;
        }
        for number in 1..self.partitions {
            let about =
                u64::try_from(u128::from(length) * u128::from(number) / u128::from(self.partitions)).unwrap_or(length);
            let begin = match self.boundary {
                Boundary::Every(bytes) => about / bytes.max(1) * bytes,
                Boundary::Row => about,
                Boundary::Item => match &mut self.items {
                    Some(items) => items.boundary_from(about)?,
                    None => length,
                },
                Boundary::Line(_) if about == 0 => 0,
                Boundary::Line(end) => {
                    // Start at the preceding line end, so that a line that begins here is found.
                    let from = about.saturating_sub(end.bytes().len() as u64);
                    reader.seek(SeekFrom::Start(from)).map_err(|error| io(&self.path, "read", &error))?;
                    from + skip_line(&mut reader, end).map_err(|error| io(&self.path, "read", &error))?
                }
            };
            begins.push(begin);
        }
        begins.push(length);
        let range = |(number, range): (usize, &[u64])| -> BTreeMap<String, String> {
            [("number", number as u64), ("from", range[0]), ("to", range[1])]
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_string()))
                .collect()
        };
        // A partition whose range is empty reads nothing: the number of partitions stays that of the job.
        let properties = begins.windows(2).enumerate().map(range).collect();
        Ok(PartitionPlan { properties, threads: self.threads, replaces: false })
    }
}

/// Skips the bytes up to and including the next line end, or up to the end of the file. Returns their number.
fn skip_line(reader: &mut impl BufRead, end: LineEnd) -> std::io::Result<u64> {
    let [first, rest @ ..] = end.bytes() else { unreachable!("a line end has bytes") };
    let mut skipped = reader.skip_until(*first)? as u64;
    // There is at most one further byte, so it is in the buffer.
    while !reader.fill_buf()?.starts_with(rest) && !reader.fill_buf()?.is_empty() {
        skipped += reader.skip_until(*first)? as u64;
    }
    let end = rest.len().min(reader.fill_buf()?.len());
    reader.consume(end);
    Ok(skipped + end as u64)
}
