//! Memory of the job as a command, and jobs whose reader has a position that never changes.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use quayline_measure::batch::{Load, Moves, Positioned, Took, World, job_xml};

use crate::process;

/// Returns the peak memory of `quayline job start` with a load, in bytes.
///
/// # Errors
/// The command does not exit with 0, or errors of the database.
pub fn peak_memory(quayline: &Path, this: &Path, world: &World, load: &Load) -> Result<u64, String> {
    world.fresh()?;
    let store = world.folder().join("store");
    // Remove the store of the previous run.
    let _ = std::fs::remove_dir_all(&store);
    let job = world.folder().join("accounts.xml");
    std::fs::write(&job, job_xml(load)).map_err(|error| error.to_string())?;
    let mut command: Vec<OsString> =
        vec![quayline.into(), "job".into(), "start".into(), job.into(), "--store".into(), store.into()];
    if let Some(server) = world.server() {
        command.extend(["--repository".into(), server.url().into()]);
    }
    Ok(process::run(this, &command, None)?.peak_bytes)
}

/// Returns the peak memory, in bytes, of a job that copies lines of 100 kB at item-count 1,000, with its repository in a store.
///
/// # Errors
/// The command does not exit with 0, or errors of the disk.
pub fn large_items_memory(quayline: &Path, this: &Path) -> Result<u64, String> {
    const LINES: usize = 2_000;
    const BYTES: usize = 100_000;
    let folder = std::env::temp_dir().join(format!("quayline-items-{}", std::process::id()));
    let written = || -> std::io::Result<()> {
        std::fs::create_dir_all(&folder)?;
        let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join("in.txt"))?);
        let mut line = vec![b'x'; BYTES];
        line[BYTES - 1] = b'\n';
        (0..LINES).try_for_each(|_| file.write_all(&line))?;
        file.flush()
    };
    let run = || -> Result<u64, String> {
        written().map_err(|error| error.to_string())?;
        let property =
            |name: &str, value: &str| format!("<properties><property name=\"{name}\" value=\"{value}\"/></properties>");
        let xml = format!(
            "<job id=\"large\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"copy\"><chunk item-count=\"1000\">\
             <reader ref=\"quayline.fileReader\">{}</reader><writer ref=\"quayline.fileWriter\">{}</writer></chunk></step></job>",
            property("file", "in.txt"),
            property("file", "out.txt")
        );
        let job = folder.join("large.xml");
        std::fs::write(&job, xml).map_err(|error| error.to_string())?;
        let store = folder.join("store");
        let command: Vec<OsString> =
            vec![quayline.into(), "job".into(), "start".into(), job.into(), "--store".into(), store.into()];
        let peak = process::run(this, &command, None)?.peak_bytes;
        let length = std::fs::metadata(folder.join("out.txt")).map_err(|error| error.to_string())?.len();
        if length == (LINES * BYTES) as u64 { Ok(peak) } else { Err(format!("{length} bytes came out")) }
    };
    let peak = run();
    // Also remove the files of a failed run.
    let _ = std::fs::remove_dir_all(&folder);
    peak
}

/// Runs a job whose reader has an unchanged position of `bytes` bytes, to measure the cost of checkpoints equal to the preceding ones.
///
/// # Errors
/// Errors of the job.
pub fn unchanged(world: &World, bytes: usize, chunks: u64, moves: Moves) -> Result<Took, String> {
    let xml = "<job id=\"accounts\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"step\"><chunk item-count=\"10\">\
               <reader ref=\"constant\"/><writer ref=\"quayline.accountWriter\"><properties><property name=\"Deletes\" value=\"none\"/>\
               <property name=\"WriterCheckpointDataSize\" value=\"16\"/></properties></writer></chunk></step></job>";
    world.run(xml, &mut |registry| {
        registry.reader("constant", move |_| Ok(Box::new(Positioned::new(bytes, chunks * 10, moves))));
    })
}
