//! `quayline partner outbox`: files that are committed and not yet written.

use std::fmt::Write as _;
use std::path::Path;

use quayline_partner::OutboxFile;
use serde_json::{Value, json};

use super::{ledger, open_store};
use crate::args::PartnerOutboxArgs;
use crate::console::{Console, shown, write_stdout};
use crate::exit::{Exit, Stop};
use crate::render::count_of;
use crate::store::Missing;

/// Files of a page.
const PAGE: usize = 256;

/// Lists the files. A worker of partners would write them first, so the command works with the store alone.
pub(super) fn outbox(args: &PartnerOutboxArgs, console: &Console) -> Result<Exit, Stop> {
    let opened = open_store(&args.project, Missing::Refuse)?;
    let ledger = ledger(&opened)?;
    let (mut count, mut bytes) = (0, 0);
    let mut after: Option<Vec<u8>> = None;
    loop {
        let page = ledger.outbox_page(after.as_deref(), PAGE)?;
        let mut out = String::new();
        for file in &page.files {
            if args.json {
                let _ = writeln!(out, "{}", file_json(&args.project.project, file));
            } else {
                let path = file.path.as_ref().map(|path| args.project.project.join(path));
                let path = path.as_deref().map_or_else(|| "standard output".to_owned(), shown);
                let _ = writeln!(out, "{path}: {}, entry {}", count_of(file.bytes, "byte"), file.entry);
            }
        }
        write_stdout(out.as_bytes())?;
        count += page.files.len() as u64;
        bytes += page.files.iter().map(|file| file.bytes).sum::<u64>();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    console.line(&match count {
        0 => count_of(0, "file"),
        _ => format!("{}, {}", count_of(count, "file"), count_of(bytes, "byte")),
    });
    opened.close(Exit::Done)
}

/// Formats a file as JSON. Output for standard output has no path.
pub(super) fn file_json(project: &Path, file: &OutboxFile) -> Value {
    let path = file.path.as_ref().map(|path| project.join(path).display().to_string());
    json!({ "path": path, "bytes": file.bytes, "entry": file.entry.0 })
}
