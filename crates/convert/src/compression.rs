//! gzip and Zstandard around inputs and outputs, as streams.
//!
//! An input is recognized by its first bytes ([`Compression::of_head`]), an output by its name ([`Compression::of_name`]). Members or frames
//! one after another are read as one stream, as `cat a.gz b.gz` makes them. A stream that is cut or damaged is an error at its place, never a
//! shorter input: both formats end with a mark and a checksum.
//!
//! Memory is that of one window: 32 KiB for gzip, at most [`WINDOW_BYTES_MAX`] for Zstandard.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

/// Largest window of a Zstandard frame that is accepted: the limit of `zstd` without `--long`.
pub const WINDOW_BYTES_MAX: u64 = 1 << WINDOW_LOG_MAX;

const WINDOW_LOG_MAX: u32 = 27;

/// Level of gzip: the default of `gzip`.
const GZIP_LEVEL: u32 = 6;

/// Level of Zstandard: the default of `zstd`.
const ZSTD_LEVEL: i32 = 3;

/// Compression of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compression {
    /// gzip, RFC 1952.
    Gzip,
    /// Zstandard, RFC 8878.
    Zstd,
}

impl Compression {
    /// Bytes that [`Compression::of_head`] looks at.
    pub const HEAD_BYTES: usize = 4;

    /// Detects the compression of a file that begins with `head`.
    #[must_use]
    pub fn of_head(head: &[u8]) -> Option<Compression> {
        match head {
            // Deflate is the only method, and the upper bits of the flags are reserved.
            [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0 => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            // A skippable frame, as pzstd writes one before each frame (RFC 8878, 3.1.2).
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// Derives the compression from a file name: `.gz` or `.zst`.
    #[must_use]
    pub fn of_name(name: &Path) -> Option<Compression> {
        let extension = name.extension().and_then(OsStr::to_str)?.to_ascii_lowercase();
        match extension.as_str() {
            "gz" => Some(Compression::Gzip),
            "zst" => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// Returns the extension of such files.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Compression::Gzip => "gz",
            Compression::Zstd => "zst",
        }
    }

    /// Returns a reader of the decompressed content.
    ///
    /// # Errors
    /// The decompressor could not allocate memory.
    pub fn reader(self, reader: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Compression::Gzip => {
                let input = BufReader::with_capacity(64 << 10, reader);
                Box::new(Named(GzipMembers { state: Some(Members::In(GzDecoder::new(input))) }, self))
            }
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(reader)?;
                decoder.window_log_max(WINDOW_LOG_MAX)?;
                Box::new(Named(decoder, self))
            }
        })
    }
}

/// The members of a gzip file. Zeros after the last one are padding, as tapes and data sets of fixed records have it; gzip ignores
/// them too.
struct GzipMembers<R: BufRead> {
    state: Option<Members<R>>,
}

enum Members<R: BufRead> {
    In(GzDecoder<R>),
    Between(R),
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        while let Some(state) = self.state.take() {
            match state {
                Members::In(mut decoder) => match decoder.read(to) {
                    Ok(0) => self.state = Some(Members::Between(decoder.into_inner())),
                    done => {
                        self.state = Some(Members::In(decoder));
                        return done;
                    }
                },
                Members::Between(mut input) => match input.fill_buf() {
                    Ok([]) => {}
                    Ok([0, ..]) => {
                        only_zeros(&mut input)?;
                    }
                    Ok(_) => self.state = Some(Members::In(GzDecoder::new(input))),
                    Err(error) => {
                        self.state = Some(Members::Between(input));
                        return Err(error);
                    }
                },
            }
        }
        Ok(0)
    }
}

/// Reads to the end, where there may be zeros only.
fn only_zeros(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        if bytes.iter().any(|byte| *byte != 0) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "other bytes than a gzip member or zeros follow a member",
            ));
        }
        let read = bytes.len();
        if read == 0 {
            return Ok(());
        }
        input.consume(read);
    }
}

/// A decoder whose errors name the compression format.
struct Named<R>(R, Compression);

impl<R: Read> Read for Named<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => error,
            kind => {
                let name = match self.1 {
                    Compression::Gzip => "gzip",
                    Compression::Zstd => "Zstandard",
                };
                io::Error::new(kind, format!("the {name} stream is cut or damaged: {error}"))
            }
        })
    }
}

/// A writer that compresses.
pub(crate) enum Compressor<W: Write> {
    Gzip(GzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Compressor<W> {
    pub(crate) fn new(out: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            // No name and no time: the same documents give the same bytes.
            Compression::Gzip => Compressor::Gzip(GzEncoder::new(out, flate2::Compression::new(GZIP_LEVEL))),
            Compression::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Compressor::Zstd(encoder)
            }
        })
    }

    pub(crate) fn inner(&self) -> &W {
        match self {
            Compressor::Gzip(encoder) => encoder.get_ref(),
            Compressor::Zstd(encoder) => encoder.get_ref(),
        }
    }

    /// Writes the end, without which readers say that the stream is cut.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Compressor::Gzip(encoder) => encoder.finish(),
            Compressor::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Compressor::Gzip(encoder) => encoder.write(from),
            Compressor::Zstd(encoder) => encoder.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Compressor::Gzip(encoder) => encoder.flush(),
            Compressor::Zstd(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(content: &[u8], compression: Compression) -> Vec<u8> {
        let mut encoder = Compressor::new(Vec::new(), compression).unwrap();
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(packed: Vec<u8>, compression: Compression) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        compression.reader(Box::new(io::Cursor::new(packed)))?.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn members_are_one_stream_and_a_cut_one_is_an_error_wherever_it_ends() {
        let content: Vec<u8> = (0..20_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for compression in [Compression::Gzip, Compression::Zstd] {
            let packed = pack(&content, compression);
            assert_eq!(Compression::of_head(&packed), Some(compression));
            assert!(packed.len() < content.len());
            let twice = [&packed[..], &pack(b"more", compression)].concat();
            assert_eq!(unpack(twice, compression).unwrap(), [&content[..], b"more"].concat());
            for cut in [5, 12, packed.len() / 2, packed.len() - 9, packed.len() - 1] {
                let error = unpack(packed[..cut].to_vec(), compression).unwrap_err();
                assert!(error.to_string().contains("cut or damaged"), "{error}");
            }
            let mut flipped = packed.clone();
            let at = packed.len() - 2;
            flipped[at] ^= 0x40;
            unpack(flipped, compression).unwrap_err();
        }
    }

    #[test]
    fn record_descriptor_words_are_no_gzip() {
        assert_eq!(Compression::of_head(b"\x1f\x8b\0\0data"), None);
        assert_eq!(Compression::of_head(b"\x1f\x8b\x08\xf1"), None);
        assert_eq!(Compression::of_head(b"\x1f\x8b"), None);
        assert_eq!(Compression::of_name(Path::new("A.JSONL.GZ")), Some(Compression::Gzip));
        assert_eq!(Compression::of_name(Path::new("a.zst")), Some(Compression::Zstd));
        assert_eq!(Compression::of_name(Path::new("a.json")), None);
    }
}
