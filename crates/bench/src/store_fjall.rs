//! fjall with a group commit as the peer of the store: `bench/peers/fjall`, built when it is measured.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Measures durable rewrites of random records per second.
///
/// # Errors
/// The peer cannot be built or run.
pub(crate) fn updates(folder: &Path, records: u64, workers: u64, time: Duration) -> Result<f64, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target/peers");
    let mut build = Command::new("cargo");
    build
        .args(["build", "--release", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("bench/peers/fjall/Cargo.toml"));
    build.env("CARGO_TARGET_DIR", &target);
    match build.output() {
        Ok(built) if built.status.success() => {}
        Ok(built) => return Err(format!("fjall cannot be built: {}", last_line(&built.stderr))),
        Err(error) => return Err(format!("cargo does not run: {error}")),
    }
    // Remove what a stopped run left in the folder.
    let _ = std::fs::remove_dir_all(folder);
    let mut peer = Command::new(target.join("release/fjall-peer"));
    peer.arg(folder).args([records.to_string(), workers.to_string(), time.as_secs().to_string()]);
    let ended = peer.output().map_err(|error| error.to_string());
    let _ = std::fs::remove_dir_all(folder);
    let ended = ended?;
    let rate = std::str::from_utf8(&ended.stdout).ok().and_then(|text| text.trim().parse().ok());
    rate.ok_or_else(|| format!("fjall: {}", last_line(&ended.stderr)))
}

fn last_line(text: &[u8]) -> String {
    let text = std::str::from_utf8(text).unwrap_or("its output is not UTF-8");
    text.lines().last().unwrap_or_default().to_owned()
}
