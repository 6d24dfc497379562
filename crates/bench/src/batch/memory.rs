//! Memory of the job as a command, and a reader whose position never changes.

use std::ffi::OsString;
use std::path::Path;

use quayline_batch::Work;
use quayline_batch::artifact::{Answer, Item, Reader};
use quayline_measure::batch::{Load, Took, World, job_xml};

use crate::process;

/// Reads numbers; its position is the same bytes for ever, as that of a reader that keeps a table.
struct Constant {
    left: u64,
    position: Vec<u8>,
}

impl Constant {
    fn new(bytes: usize, count: u64) -> Self {
        Constant { left: count, position: vec![7; bytes] }
    }
}

impl Reader for Constant {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        Ok(())
    }

    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Item>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some(vec![b'a'; 20]))
    }

    fn checkpoint(&mut self) -> Answer<Option<Vec<u8>>> {
        Ok(Some(self.position.clone()))
    }
}

/// Largest memory of `quayline job start` with a load, in bytes.
///
/// # Errors
/// The command does not end with 0.
pub fn peak_memory(quayline: &Path, this: &Path, world: &World, load: &Load) -> Result<u64, String> {
    let server = world.server().ok_or("the job needs a database")?;
    world.fresh()?;
    let job = world.folder().join("accounts.xml");
    std::fs::write(&job, job_xml(load)).map_err(|error| error.to_string())?;
    let command: Vec<OsString> = vec![
        quayline.into(),
        "job".into(),
        "start".into(),
        job.into(),
        "--repository".into(),
        server.url().into(),
        "--store".into(),
        world.folder().join("store").into(),
    ];
    Ok(process::run(this, &command, None)?.peak_bytes)
}

/// A job whose reader has a position of `bytes` bytes that never changes: what a checkpoint costs that says what the one before did.
///
/// # Errors
/// Those of the job.
pub fn unchanged(world: &World, bytes: usize, chunks: u64) -> Result<Took, String> {
    let xml = "<job id=\"accounts\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"step\"><chunk item-count=\"10\">\
               <reader ref=\"constant\"/><writer ref=\"quayline.accountWriter\"><properties><property name=\"Deletes\" value=\"none\"/>\
               <property name=\"WriterCheckpointDataSize\" value=\"16\"/></properties></writer></chunk></step></job>";
    world.run(xml, &mut |registry| {
        registry.reader("constant", move |_| Ok(Box::new(Constant::new(bytes, chunks * 10))));
    })
}
