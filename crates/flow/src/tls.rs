//! Certificates that nodes name.

use std::path::Path;

use quayline_connect::ClientTls;
use quayline_project::FlowNode;

/// Checks the certificates of a node. Returns the wrong property and the reason.
pub(crate) fn check(node: &FlowNode, root: &Path, is_encrypted: bool) -> Option<(&'static str, String)> {
    for (property, other) in [("certificate", "private_key"), ("private_key", "certificate")] {
        if node.text(property).is_some() && node.text(other).is_none() {
            return Some((property, format!("`{other}` is missing")));
        }
    }
    let property = ["authorities", "certificate"].into_iter().find(|property| node.text(property).is_some())?;
    if !is_encrypted {
        return Some((property, "certificates need a server with TLS".to_owned()));
    }
    load(node, root).err().map(|why| (property, why))
}

/// Loads the certificates of a node.
pub(crate) fn load(node: &FlowNode, root: &Path) -> Result<ClientTls, String> {
    let path = |property: &str| node.text(property).map(|path| root.join(path));
    let (certificate, key) = (path("certificate"), path("private_key"));
    let certificate = certificate.as_deref().zip(key.as_deref());
    ClientTls::from_files(path("authorities").as_deref(), certificate)
}
