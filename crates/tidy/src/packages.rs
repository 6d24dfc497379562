//! Packages and their edges, as cargo sees them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// One package that is built for this machine.
#[derive(Clone, Debug)]
pub struct Package {
    /// Name as in its manifest.
    pub name: String,
    /// Version as text.
    pub version: String,
    /// Licence expression; empty where the manifest has none.
    pub licence: String,
    /// True for a package of this workspace.
    pub member: bool,
    /// Dependencies in its manifest.
    pub edges: Vec<Edge>,
}

/// One dependency as a manifest names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Edge {
    /// Package it points to.
    pub to: String,
    /// Use of the dependency.
    pub kind: EdgeKind,
}

/// Use of a dependency.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EdgeKind {
    /// The package itself or its build script.
    Normal,
    /// Tests only.
    Test,
}

/// All packages of one manifest's graph.
#[derive(Clone, Debug)]
pub struct Packages(pub Vec<Package>);

impl Packages {
    /// Reads `cargo metadata` of a manifest: the packages that this machine's platform builds, versions as locked.
    ///
    /// # Panics
    /// Cargo does not answer, so nothing can be checked.
    #[must_use]
    pub fn read(manifest: &Path) -> Packages {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let platform = host_platform();
        let answer = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &platform, "--manifest-path"])
            .arg(manifest)
            .output()
            .expect("cargo starts: it started this test");
        assert!(answer.status.success(), "cargo metadata: {}", String::from_utf8(answer.stderr).unwrap_or_default());
        let metadata: Value = serde_json::from_slice(&answer.stdout).expect("cargo metadata writes JSON");
        let members: Vec<&Value> = metadata["workspace_members"].as_array().into_iter().flatten().collect();
        // `packages` holds what the lock file names; `resolve.nodes` what this platform builds.
        let built: Vec<&Value> =
            metadata["resolve"]["nodes"].as_array().into_iter().flatten().map(|node| &node["id"]).collect();
        let packages = metadata["packages"].as_array().into_iter().flatten();
        Packages(
            packages
                .filter(|package| built.contains(&&package["id"]))
                .map(|package| Package::from_json(package, members.contains(&&package["id"])))
                .collect(),
        )
    }
}

impl Package {
    fn from_json(package: &Value, member: bool) -> Package {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let edge = |dependency: &Value| Edge {
            to: text(&dependency["name"]),
            kind: if dependency["kind"] == "dev" { EdgeKind::Test } else { EdgeKind::Normal },
        };
        Package {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: text(&package["license"]),
            member,
            edges: package["dependencies"].as_array().into_iter().flatten().map(edge).collect(),
        }
    }
}

fn host_platform() -> String {
    let answer = Command::new("rustc").arg("-vV").output().expect("rustc starts: it compiled this test");
    let text = String::from_utf8(answer.stdout).unwrap_or_default();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc -vV names its host").to_owned()
}
