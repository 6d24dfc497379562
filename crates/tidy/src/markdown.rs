//! The two parts of Markdown that carry data here: pipe tables and fenced code blocks.

/// A pipe table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Table {
    /// Cells of the header row, trimmed.
    pub header: Vec<String>,
    /// Cells of the body rows, trimmed; each row has as many as the header.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Index of the column with this header.
    #[must_use]
    pub fn column(&self, header: &str) -> Option<usize> {
        self.header.iter().position(|cell| cell == header)
    }
}

/// A fenced code block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CodeBlock {
    /// Text after the opening fence.
    pub language: String,
    /// Line of the opening fence, from 1.
    pub line: usize,
    /// The text between the fences.
    pub text: String,
}

/// Returns all pipe tables of a text, in order.
#[must_use]
pub fn tables(text: &str) -> Vec<Table> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at + 1 < lines.len() {
        if !(lines[at].starts_with('|') && lines[at + 1].starts_with("|--")) {
            at += 1;
            continue;
        }
        let header = cells(lines[at]);
        let body = lines[at + 2..].iter().take_while(|line| line.starts_with('|'));
        let rows: Vec<Vec<String>> = body.map(|line| cells(line)).collect();
        at += 2 + rows.len();
        found.push(Table { rows: rows.into_iter().filter(|row| row.len() == header.len()).collect(), header });
    }
    found
}

/// Returns all fenced code blocks of a text, in order.
#[must_use]
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut found = Vec::new();
    let mut open: Option<CodeBlock> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some(CodeBlock { language: language.trim().to_owned(), line: number, text: String::new() });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

/// Returns the anchors of a text's headings, as GitHub makes them: lower case, dashes for blanks, no other punctuation.
#[must_use]
pub fn anchors(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if fenced || !line.starts_with('#') {
            continue;
        }
        let heading = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        found.push(heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_')).collect());
    }
    found
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_header_and_rows() {
        let found = tables("text\n\n| a | b |\n|---|---|\n| 1 | x y |\n| 2 | |\n\nmore");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].column("b"), Some(1));
        assert_eq!(found[0].rows, [["1", "x y"], ["2", ""]]);
    }

    #[test]
    fn an_anchor_is_the_heading_without_punctuation() {
        assert_eq!(anchors("# A b\n## `[records]`: types\n```\n# no\n```\n"), ["a-b", "records-types"]);
    }

    #[test]
    fn a_code_block_gives_language_line_and_text() {
        let found = code_blocks("a\n```sh\nls\n```\n```\nx\n```\n");
        assert_eq!(found[0], CodeBlock { language: "sh".into(), line: 2, text: "ls\n".into() });
        assert_eq!(found[1].language, "");
    }
}
