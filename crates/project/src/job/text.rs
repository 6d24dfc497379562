//! Bytes of a job XML as text: by byte order mark, then by the XML declaration, otherwise UTF-8.

use quayline_charset::{Charset, CodePage, Utf16Order};
use quayline_core::{Fault, Finding, Place};

use crate::codes;

/// Bytes in which the XML declaration ends, if there is one.
const DECLARATION_BYTES_MAX: usize = 512;
/// `<?xm` in every EBCDIC page.
const EBCDIC_BEGIN: [u8; 4] = [0x4c, 0x6f, 0xa7, 0x94];

/// Encoding of a file, with its evidence.
struct Found<'b> {
    charset: Charset,
    /// The bytes after a byte order mark.
    bytes: &'b [u8],
    /// Evidence, for messages.
    why: &'static str,
}

/// Decodes the bytes of job XML into text.
///
/// # Errors
/// The declaration names an unknown encoding, or bytes are not characters of the encoding.
pub(super) fn decode(name: &str, bytes: &[u8]) -> Result<String, Box<Finding>> {
    let found = find(name, bytes)?;
    let mut text = Vec::with_capacity(found.bytes.len());
    if let Err(wrong) = found.charset.decode_into(found.bytes, &mut text) {
        let encoding = found.charset.name();
        let message = format!("byte {} of the file is not a character in {encoding}, {}", wrong.offset, found.why);
        // Line ends are one byte in all of them but UTF-16, where the place is that of the file.
        let before = &found.bytes[..wrong.offset.min(found.bytes.len())];
        let line = match found.charset {
            Charset::Utf16(_) => None,
            _ => u32::try_from(1 + before.iter().filter(|byte| **byte == b'\n').count()).ok(),
        };
        let place = Place { file: Some(name.into()), line, ..Place::default() };
        let hint = match found.charset {
            Charset::Utf8 => {
                "save the job XML as UTF-8, or name its encoding in the first line: <?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>"
            }
            _ => "save the job XML in the encoding that it names, or as UTF-8",
        };
        return Err(Box::new(Finding::error(codes::JOB_SYNTAX, Fault::Config, message).at(place).hint(hint)));
    }
    let text = String::from_utf8(text).unwrap_or_default();
    // The line end of EBCDIC is no white space in XML 1.0.
    let is_ebcdic = found.charset.code_page().is_some_and(CodePage::is_ebcdic);
    Ok(if is_ebcdic { text.replace('\u{85}', "\n") } else { text })
}

fn find<'b>(name: &str, bytes: &'b [u8]) -> Result<Found<'b>, Box<Finding>> {
    const MARK: &str = "which its byte order mark says";
    const BEGIN: &str = "with which it begins";
    let big = Charset::Utf16(Utf16Order::BigEndian);
    let little = Charset::Utf16(Utf16Order::LittleEndian);
    let found = |charset, skip: usize, why| Ok(Found { charset, bytes: &bytes[skip..], why });
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => found(Charset::Utf8, 3, MARK),
        [0xfe, 0xff, ..] => found(big, 2, MARK),
        [0xff, 0xfe, ..] => found(little, 2, MARK),
        [0, b'<', ..] => found(big, 0, BEGIN),
        [b'<', 0, ..] => found(little, 0, BEGIN),
        _ => {
            let head = &bytes[..bytes.len().min(DECLARATION_BYTES_MAX)];
            let is_ebcdic = head.starts_with(&EBCDIC_BEGIN);
            let page = if is_ebcdic { CodePage::by_ccsid(37).unwrap_or(CodePage::LATIN1) } else { CodePage::LATIN1 };
            let head: String = head.iter().map(|byte| page.to_char(*byte).unwrap_or(' ')).collect();
            let Some(encoding) = declared(&head) else {
                let charset = if is_ebcdic { Charset::SingleByte(page) } else { Charset::Utf8 };
                return found(charset, 0, "which a job XML has unless it says otherwise");
            };
            let refuse = |message: String, hint: String| {
                let place = Place { file: Some(name.into()), line: Some(1), ..Place::default() };
                Err(Box::new(Finding::error(codes::JOB_SYNTAX, Fault::Config, message).at(place).hint(hint)))
            };
            let charset = match Charset::by_name(encoding) {
                Ok(charset) => charset,
                Err(unknown) => {
                    let near = match unknown.nearest.as_slice() {
                        [] => String::new(),
                        near => format!("did you mean {}? ", near.join(" or ")),
                    };
                    return refuse(
                        format!("the XML declaration names the encoding {}, which is not known", shown(encoding)),
                        format!("{near}save the job XML as UTF-8, and write encoding=\"UTF-8\""),
                    );
                }
            };
            let fits = match charset {
                Charset::Utf16(_) => false,
                Charset::Utf8 => !is_ebcdic,
                Charset::SingleByte(page) => page.is_ebcdic() == is_ebcdic,
            };
            if !fits {
                let is = if is_ebcdic { "EBCDIC" } else { "text with one byte for each letter" };
                return refuse(
                    format!("the XML declaration names the encoding {}, but the file is {is}", shown(encoding)),
                    "write the encoding in which the file is saved, such as UTF-8, or save it in the one that it names"
                        .to_owned(),
                );
            }
            found(charset, 0, "which its XML declaration names")
        }
    }
}

/// Returns the encoding that an XML declaration names.
fn declared(head: &str) -> Option<&str> {
    let declaration = head.strip_prefix("<?xml")?;
    let declaration = &declaration[..declaration.find("?>")?];
    let rest = declaration[declaration.find("encoding")? + "encoding".len()..].trim_start();
    let rest = rest.strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next().filter(|name| !name.is_empty())
}

/// Returns a name for a message: without control characters, truncated.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "<job id=\"Überweisung\"/>";

    fn with(encoding: &str) -> String {
        format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>\n{BODY}")
    }

    fn bytes(text: &str, charset: &str, mark: &[u8]) -> Vec<u8> {
        let mut bytes = mark.to_vec();
        Charset::by_name(charset).unwrap().encode_into(text, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn marks_and_declarations_name_the_encoding() {
        let utf16 = with("UTF-16");
        for (charset, mark) in [("UTF-16BE", [0xfe, 0xff]), ("UTF-16LE", [0xff, 0xfe])] {
            for mark in [mark.as_slice(), &[]] {
                assert_eq!(decode("a", &bytes(&utf16, charset, mark)).unwrap(), utf16, "{charset} {mark:?}");
                assert_eq!(decode("a", &bytes(BODY, charset, mark)).unwrap(), BODY, "{charset} {mark:?}");
            }
        }
        for name in ["ISO-8859-1", "iso-8859-1", "latin1", "windows-1252", "ISO-8859-15"] {
            let text = with(name);
            assert_eq!(decode("a", &bytes(&text, name, &[])).unwrap(), text);
        }
        for name in ["IBM037", "IBM-1047", "cp273"] {
            let text = with(name);
            assert_eq!(decode("a", &bytes(&text, name, &[])).unwrap(), text);
        }
        assert_eq!(decode("a", &bytes(BODY, "UTF-8", &[0xef, 0xbb, 0xbf])).unwrap(), BODY);
        assert_eq!(decode("a", BODY.as_bytes()).unwrap(), BODY);
        let ascii = "<?xml version='1.0' encoding='US-ASCII'?><job/>";
        assert_eq!(decode("a", ascii.as_bytes()).unwrap(), ascii);
    }

    #[test]
    fn what_does_not_fit_names_the_line_and_the_remedy() {
        let refused = |bytes: &[u8]| {
            let finding = *decode("a.xml", bytes).unwrap_err();
            (finding.place.line, finding.message, finding.hint.unwrap_or_default())
        };
        let (line, message, hint) = refused(&bytes(&format!("\n\n{BODY}"), "ISO-8859-1", &[]));
        assert_eq!(line, Some(3));
        assert_eq!(
            message,
            "byte 11 of the file is not a character in UTF-8, which a job XML has unless it says otherwise"
        );
        assert!(hint.contains("encoding=\"ISO-8859-1\""), "{hint}");
        let (line, message, _) = refused(&bytes(&with("UTF-8"), "ISO-8859-1", &[]));
        assert!(line == Some(2) && message.ends_with("in UTF-8, which its XML declaration names"), "{message}");
        let (line, message, hint) = refused(with("UTF-16").as_bytes());
        assert!(line == Some(1) && message.contains("names the encoding UTF-16, but the file is text"), "{message}");
        assert!(hint.contains("UTF-8"), "{hint}");
        let (_, message, hint) = refused(with("KLINGON").as_bytes());
        assert!(message.contains("KLINGON, which is not known") && hint.contains("UTF-8"), "{message} {hint}");
        let (_, message, _) = refused(&[0xfe, 0xff, 0, b'<', 0xd8, 0x00]);
        assert!(message.contains("UTF-16BE, which its byte order mark says"), "{message}");
    }
}
