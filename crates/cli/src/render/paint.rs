//! Colors, on terminals that support them.

/// Meaning that may be shown by color; the text is complete without it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Style {
    /// Errors.
    Error,
    /// Warnings.
    Warning,
    /// Notes and hints.
    Note,
    /// Emphasized text.
    Strong,
    /// Secondary text.
    Faint,
}

/// Paints text or leaves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    color: bool,
}

impl Paint {
    /// Creates a painter, which paints if `color` is true.
    pub(crate) fn new(color: bool) -> Self {
        Paint { color }
    }

    /// Formats the text in a style.
    pub(crate) fn text(self, style: Style, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Error => "1;31",
            Style::Warning => "1;33",
            Style::Note => "1;36",
            Style::Strong => "1",
            Style::Faint => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
