//! Fields by name. Proposals and checks look up each field. A search through all fields for each one would take quadratic time.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{FieldIndex, Layout};

/// Fields of a layout by name and by path. A copy of a layout has an index of its own, because its fields may be changed before the first look-up.
#[derive(Default)]
pub struct NameIndex(OnceLock<Names>);

struct Names {
    /// By COBOL name with hyphens, without fillers, in the order of the layout.
    by_name: HashMap<String, Vec<FieldIndex>>,
    /// By the names from below the record down to the field, joined by `.`.
    by_path: HashMap<String, Vec<FieldIndex>>,
}

impl Clone for NameIndex {
    fn clone(&self) -> Self {
        NameIndex::default()
    }
}

impl core::fmt::Debug for NameIndex {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("NameIndex")
    }
}

impl NameIndex {
    /// Returns the fields with this name, in upper case with hyphens.
    pub(crate) fn with_name(&self, layout: &Layout, name: &str) -> &[FieldIndex] {
        self.names(layout).by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the fields with this whole path, in upper case with hyphens.
    pub(crate) fn with_path(&self, layout: &Layout, path: &str) -> &[FieldIndex] {
        self.names(layout).by_path.get(path).map_or(&[], Vec::as_slice)
    }

    fn names(&self, layout: &Layout) -> &Names {
        self.0.get_or_init(|| {
            let mut names = Names { by_name: HashMap::new(), by_path: HashMap::new() };
            for (index, field) in layout.iter().filter(|(_, field)| !field.filler) {
                names.by_name.entry(field.name.replace('_', "-")).or_default().push(index);
                names.by_path.entry(layout.path(index).replace('_', "-")).or_default().push(index);
            }
            names
        })
    }
}
