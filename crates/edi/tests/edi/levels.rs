//! Characters of the levels UNOA and UNOB.

use quayline_edi::SyntaxLevel;

/// Control characters passed as characters of UNOA and UNOB.
#[test]
fn control_characters_are_in_neither_level() {
    for level in [SyntaxLevel::A, SyntaxLevel::B] {
        assert!(level.has_all(b"AB 12,5\r\n"));
        for byte in (0u8..0x20).chain([0x7f]).filter(|byte| !matches!(byte, b'\r' | b'\n')) {
            assert!(!level.has_all(&[b'A', byte]), "{byte:#04x}");
        }
    }
}
