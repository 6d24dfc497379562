//! The licences of everything we build.

use quayline_tidy::{Licence, Packages, root};

/// Licences under which a user may get our binary, with the duty each brings: all but the last three are notices in a text file.
const ALLOWED: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "NCSA",
    "Unicode-3.0",
    "Zlib",
    // No duty at all.
    "0BSD",
    "BSL-1.0",
    "CC0-1.0",
];

#[test]
fn every_dependency_has_an_allowed_licence() {
    let mut wrong = Vec::new();
    let packages = Packages::read(&root().join("Cargo.toml"));
    assert!(packages.0.len() > 10, "cargo metadata lists {} packages", packages.0.len());
    for package in &packages.0 {
        let verdict =
            Licence::parse(&package.licence).map(|licence| licence.is_allowed(&|name: &str| ALLOWED.contains(&name)));
        if verdict != Ok(true) {
            wrong.push(format!("{} {}: licence `{}`", package.name, package.version, package.licence));
        }
    }
    assert!(wrong.is_empty(), "not in the list of licences:\n{}", wrong.join("\n"));
}
