//! JBeret and Spring Batch with the same job, in Java processes. `bench/peers/batch` has the programs, and explains why the comparison is fair.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use quayline_measure::batch::{Load, Rows, World};

/// Times that each engine runs. The best of two was a matter of luck on a busy machine.
const TURNS: usize = 3;

/// What one run of all engines found, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct AgainstPeers {
    /// The faster of the peers.
    pub peer: f64,
    /// Name of the peer.
    pub name: &'static str,
    /// The other.
    pub other: f64,
    /// Quayline with a statement for each row to delete, sent together.
    pub pipelined: f64,
    /// Quayline with one statement for a chunk.
    pub set: f64,
}

/// Comparison, or the reason why it is missing.
type Found = Result<AgainstPeers, Missing>;

/// Reason for a missing figure.
#[derive(Clone, Debug)]
pub enum Missing {
    /// A program is not installed or cannot be downloaded.
    Peer(String),
    /// A run failed.
    Failed(String),
}

/// Runs both peers and Quayline in turns, once for the process, so that all rows are of the same minute.
pub fn against_peers(load: &Load) -> Result<AgainstPeers, Missing> {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| measure(load)).clone()
}

fn measure(load: &Load) -> Found {
    let class_path = build()?;
    let failed = Missing::Failed;
    let Some(world) = World::database(false).map_err(failed)? else {
        return Err(Missing::Peer("PostgreSQL is not installed".to_owned()));
    };
    let mut seconds: [Vec<f64>; 4] = std::array::from_fn(|_| Vec::new());
    for _ in 0..TURNS {
        for (number, program) in ["JBeretPeer", "SpringPeer"].into_iter().enumerate() {
            world.fresh().map_err(failed)?;
            seconds[number].push(peer(&class_path, program, &world, load).map_err(failed)?);
        }
        for (number, rows) in [(2, Rows::Pipelined), (3, Rows::Set)] {
            let took = world.job(&Load { rows, ..*load }).map_err(failed)?;
            seconds[number].push(took.wall.as_secs_f64());
        }
    }
    // The best of each.
    let [jberet, spring, pipelined, set] = seconds.map(|runs| runs.into_iter().fold(f64::INFINITY, f64::min));
    let (peer, name, other) = if jberet <= spring { (jberet, "JBeret", spring) } else { (spring, "Spring", jberet) };
    Ok(AgainstPeers { peer, name, other, pipelined, set })
}

/// Returns the folder of the sources of this repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles the peers; the class path.
fn build() -> Result<String, Missing> {
    let folder = root().join("target/peers-batch");
    let built = Command::new(root().join("bench/peers/batch/build.sh")).arg(&folder).stdin(Stdio::null()).output();
    let why = match built {
        Ok(output) if output.status.success() => {
            return std::fs::read_to_string(folder.join("classpath")).map_err(|error| Missing::Peer(error.to_string()));
        }
        Ok(output) => {
            let said = text(&output.stderr);
            said.lines().find(|line| !line.trim().is_empty()).unwrap_or("the build failed").trim().to_owned()
        }
        Err(error) => error.to_string(),
    };
    Err(Missing::Peer(format!("JBeret and Spring Batch cannot be built: {why}")))
}

/// Seconds of the step in one of the peers.
fn peer(class_path: &str, program: &str, world: &World, load: &Load) -> Result<f64, String> {
    let server = world.server().ok_or("the peers need a database")?;
    let endpoint = server.endpoint();
    let url = format!(
        "url=jdbc:postgresql://{}:{}/{}?reWriteBatchedInserts=true",
        endpoint.host, endpoint.port, endpoint.database
    );
    let output = Command::new("java")
        .args(["-Xmx1g", "-cp", class_path, program])
        .args([format!("n={}", load.records), format!("ic={}", load.items)])
        .args([format!("checkpoint={}", load.checkpoint_bytes), format!("user={}", endpoint.user), url])
        .arg(format!("file={}", world.folder().join("accounts.txt").display()))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("java: {error}"))?;
    let said = text(&output.stdout);
    result_of(&said).map(|ms| ms / 1e3).ok_or_else(|| {
        let errors = text(&output.stderr);
        let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no result");
        format!("{program}: {last}")
    })
}

/// Formats the output of a program; bytes that are not ASCII are escaped.
fn text(printed: &[u8]) -> String {
    printed.split(|byte| *byte == b'\n').map(|line| line.escape_ascii().to_string()).collect::<Vec<_>>().join("\n")
}

/// Milliseconds of the line `RESULT engine=jberet records=200000 ms=5600.0`.
fn result_of(said: &str) -> Option<f64> {
    let line = said.lines().find_map(|line| line.strip_prefix("RESULT "))?;
    line.split(' ').find_map(|word| word.strip_prefix("ms="))?.parse().ok().filter(|ms| *ms > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_peer_is_a_line() {
        assert_eq!(result_of("noise\nRESULT engine=spring records=200000 ms=5600.5\n"), Some(5_600.5));
        for none in ["", "RESULT engine=spring", "RESULT ms=0", "ms=7"] {
            assert_eq!(result_of(none), None, "{none}");
        }
    }
}
