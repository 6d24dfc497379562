//! Colours, where a terminal has them.

/// A meaning that may be shown by colour; the text says the same without.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Style {
    /// Errors.
    Error,
    /// Warnings.
    Warning,
    /// Notes and hints.
    Note,
    /// What the eye looks for.
    Strong,
    /// What it may skip.
    Faint,
}

/// Paints text or leaves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    color: bool,
}

impl Paint {
    /// Paints where `color` says so.
    pub(crate) fn new(color: bool) -> Self {
        Paint { color }
    }

    /// The text in a style.
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
