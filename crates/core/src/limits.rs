//! Named bounds. Every buffer, depth and retry has one, and an error that reaches a bound names it, so the user knows which one to
//! raise.

/// Bounds, each with its unit, default and reason.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Bytes of one record or one document. Default 16 MiB: z/OS records end at 32,760 bytes, spanned ones at a few megabytes.
    pub record_bytes_max: usize,
    /// Bytes of one line without its terminator. Default 16 MiB: a JSON document of a large record is one line.
    pub line_bytes_max: usize,
    /// Bytes of one EDI segment without binary data, which `record_bytes_max` bounds. Default 1 MiB: real segments have a few
    /// hundred bytes, those with repeated composites a few thousand.
    pub segment_bytes_max: usize,
    /// Elements of one EDI segment. Default 10,000: the standards number elements with two digits.
    pub segment_elements_max: usize,
    /// Depth of nested objects and arrays in JSON or elements in XML. Default 128: COBOL has 49 levels.
    pub depth_max: usize,
    /// Fields of one layout. Default 100,000.
    pub fields_max: usize,
    /// Columns of a flattened table. Default 20,000: a wider one is a mistaken OCCURS.
    pub columns_max: usize,
    /// Findings kept in full in one run; later ones are only counted. Default 1,000.
    pub findings_max: usize,
    /// Depth of nested COPY statements, and of includes in guides. Default 64.
    pub copy_depth_max: usize,
    /// Bytes of a copybook after expansion. Default 16 MiB.
    pub copybook_bytes_max: usize,
    /// Bytes of a guide with everything that it includes. Default 64 MiB: all of one X12 version has about 5 MB.
    pub guide_bytes_max: usize,
    /// Keys of CSV documents of several rows that are remembered, to find those that come back. Default 1,048,576, which take 16 MiB.
    pub groups_max: usize,
    /// Bytes of one text that a map makes. Default 16 MiB, as a record: no target holds more.
    pub map_text_bytes_max: usize,
}

impl Limits {
    /// The names that users write in `--limit segment-bytes=N`: those of the fields without `_max`.
    pub const NAMES: [&'static str; 13] = [
        "record-bytes",
        "line-bytes",
        "segment-bytes",
        "segment-elements",
        "depth",
        "fields",
        "columns",
        "findings",
        "copy-depth",
        "copybook-bytes",
        "guide-bytes",
        "groups",
        "map-text-bytes",
    ];

    /// Returns the bound of one of [`Limits::NAMES`], or `None` for another name.
    pub fn by_name(&mut self, name: &str) -> Option<&mut usize> {
        Some(match name {
            "record-bytes" => &mut self.record_bytes_max,
            "line-bytes" => &mut self.line_bytes_max,
            "segment-bytes" => &mut self.segment_bytes_max,
            "segment-elements" => &mut self.segment_elements_max,
            "depth" => &mut self.depth_max,
            "fields" => &mut self.fields_max,
            "columns" => &mut self.columns_max,
            "findings" => &mut self.findings_max,
            "copy-depth" => &mut self.copy_depth_max,
            "copybook-bytes" => &mut self.copybook_bytes_max,
            "guide-bytes" => &mut self.guide_bytes_max,
            "groups" => &mut self.groups_max,
            "map-text-bytes" => &mut self.map_text_bytes_max,
            _ => return None,
        })
    }

    /// Reads a number with one of the units K, M and G, which are powers of 1,024. Returns `None` for 0, for another text, and for a number that is too
    /// large.
    #[must_use]
    pub fn number_of(text: &str) -> Option<usize> {
        let digits = text.trim_end_matches(['K', 'M', 'G']);
        let unit: usize = match &text[digits.len()..] {
            "" => 1,
            "K" => 1 << 10,
            "M" => 1 << 20,
            "G" => 1 << 30,
            _ => return None,
        };
        let number: usize = digits.parse().ok()?;
        number.checked_mul(unit).filter(|number| *number > 0)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            record_bytes_max: 16 << 20,
            line_bytes_max: 16 << 20,
            segment_bytes_max: 1 << 20,
            segment_elements_max: 10_000,
            depth_max: 128,
            fields_max: 100_000,
            columns_max: 20_000,
            findings_max: 1_000,
            copy_depth_max: 64,
            copybook_bytes_max: 16 << 20,
            guide_bytes_max: 64 << 20,
            groups_max: 1 << 20,
            map_text_bytes_max: 16 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound of keys was 1,000,000, and the reference said 1,048,576.
    #[test]
    fn defaults_are_those_of_the_reference() {
        let reference = include_str!("../../../docs/reference/limits.md");
        let mut limits = Limits::default();
        for name in Limits::NAMES {
            let named = format!("`{name}`");
            let row = reference.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
            let row = row.into_iter().find(|cells| cells.get(3).is_some_and(|cell| cell.contains(&named)));
            let cell = row.unwrap_or_else(|| panic!("{name} has a row"))[2].to_owned();
            let (digits, unit) = cell.split_once(' ').unwrap_or((&cell, ""));
            let number: usize = digits.replace(',', "").parse().expect("a number");
            let unit = if unit == "MiB" { 1 << 20 } else { 1 };
            assert_eq!(*limits.by_name(name).expect("it is named"), number * unit, "{name}");
        }
    }

    #[test]
    fn every_bound_has_a_name_of_its_own() {
        let mut limits = Limits::default();
        for (i, name) in Limits::NAMES.iter().enumerate() {
            *limits.by_name(name).expect("it is named") = i;
        }
        let text = format!("{limits:?}");
        for (i, name) in Limits::NAMES.iter().enumerate() {
            assert!(text.contains(&format!("{}_max: {i}", name.replace('-', "_"))), "{name}: {text}");
        }
        assert_eq!(limits.by_name("record_bytes_max"), None);
    }
}
