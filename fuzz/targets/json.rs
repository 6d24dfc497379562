//! Any bytes as JSON: what we read is JSON for another reader too, what we write we read back the same, and streams split the same
//! however they are cut.

use quayline_core::{Document, Limits, Occurs, Scalar, Shape};
use quayline_json::{EndOfInput, JsonReader, JsonSplitter, JsonStyle, JsonWriter, ReaderOptions, Split, Unknown};

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, cut, data @ ..] = data else { return };
    let limits = Limits { depth_max: 32, record_bytes_max: 1 << 14, ..Limits::default() };
    let documents = documents(data, &[data.len()], &limits);
    assert_eq!(
        documents,
        self::documents(data, &[usize::from(*cut).min(data.len()), data.len()], &limits),
        "cut at {cut}"
    );

    let shape = shape();
    let unknown = if choice & 1 == 0 { Unknown::Error } else { Unknown::Ignore };
    let mut reader = JsonReader::new(&shape, ReaderOptions { limits, unknown });
    for document in documents.iter().flatten().chain([&data.to_vec()]) {
        let mut read = Document::new();
        if reader.read(document, &mut read).is_err() {
            continue;
        }
        let text = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
        assert!(serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok(), "another reader refuses what we accept");
        let written = write(&shape, &read);
        assert!(
            serde_json::from_slice::<serde::de::IgnoredAny>(&written).is_ok(),
            "another reader refuses what we write"
        );
        let mut again = Document::new();
        reader.read(written.trim_ascii_end(), &mut again).expect("we read what we write");
        assert_eq!(written, write(&shape, &again));
    }
}

/// The documents of a stream whose bytes are known up to each of `ends` in turn, up to the first fault (`None`).
fn documents(data: &[u8], ends: &[usize], limits: &Limits) -> Vec<Option<Vec<u8>>> {
    let mut splitter = JsonSplitter::new(limits);
    let (mut found, mut from) = (Vec::new(), 0);
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        loop {
            let input = &data[from..*known];
            match splitter.split(input, end) {
                Ok(Split::Document { at, consumed }) => {
                    assert!(at.end <= consumed && consumed <= input.len());
                    found.push(Some(input[at].to_vec()));
                    from += consumed;
                }
                Ok(Split::NeedMore { consumed } | Split::Done { consumed }) => {
                    from += consumed;
                    break;
                }
                Err(_) => {
                    found.push(None);
                    return found;
                }
            }
        }
    }
    found
}

fn write(shape: &Shape, document: &Document) -> Vec<u8> {
    let mut writer = JsonWriter::new(shape, JsonStyle::default());
    document.replay(&mut writer);
    writer.bytes().to_vec()
}

fn shape() -> Shape {
    let many = Occurs::Many { min: 0, max: None };
    let mut shape = Shape::builder("D");
    shape.scalar("t", Scalar::Text { chars_max: None }, Occurs::Once);
    shape.scalar("n", Scalar::Decimal { digits: 18, scale: 2, signed: true }, Occurs::Once);
    shape.scalar("f", Scalar::Float64, Occurs::Once);
    shape.scalar("x", Scalar::Bytes { len_max: None }, Occurs::Once);
    shape.scalar("b", Scalar::Bool, Occurs::Once);
    shape.open("g", many);
    shape.scalar("t", Scalar::Text { chars_max: None }, many);
    shape.scalar("n", Scalar::Decimal { digits: 4, scale: 0, signed: false }, many);
    shape.close();
    shape.finish()
}
