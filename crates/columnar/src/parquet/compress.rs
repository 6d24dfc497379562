//! Compression of pages.

use snap::raw::{Encoder, max_compress_len};

use crate::parquet::Codec;

/// Compresses pages, or only wraps them if compression does not pay.
#[derive(Debug)]
pub(crate) struct Compressor {
    codec: Codec,
    snappy: Encoder,
    scratch: Vec<u8>,
}

/// Bytes of each sample of a page.
const SAMPLE_BYTES: usize = 4096;
/// Pages below this are compressed without a sample.
const SAMPLED_BYTES_MIN: usize = 8 * SAMPLE_BYTES;
/// Longest literal: the maximum of Snappy's own compressor, so that every reader accepts it.
const LITERAL_BYTES_MAX: usize = 1 << 16;

impl Compressor {
    pub(crate) fn new(codec: Codec) -> Self {
        Compressor { codec, snappy: Encoder::new(), scratch: Vec::new() }
    }

    pub(crate) fn compress(&mut self, body: &[u8]) -> Vec<u8> {
        if self.codec == Codec::Uncompressed {
            return body.to_vec();
        }
        if body.len() >= SAMPLED_BYTES_MIN && !self.pays(body) {
            return literals(body);
        }
        let len = self.snappy(body);
        self.scratch[..len].to_vec()
    }

    /// Returns whether two samples shrink by an eighth.
    fn pays(&mut self, body: &[u8]) -> bool {
        let parts = [body.len() / 3, body.len() * 2 / 3];
        let len: usize = parts.iter().map(|start| self.snappy(&body[*start..start + SAMPLE_BYTES])).sum();
        len < 2 * SAMPLE_BYTES / 8 * 7
    }

    /// Compresses to the scratch buffer and returns the length of the stream there.
    fn snappy(&mut self, bytes: &[u8]) -> usize {
        let room = max_compress_len(bytes.len());
        if self.scratch.len() < room {
            self.scratch.resize(room, 0);
        }
        self.snappy.compress(bytes, &mut self.scratch).expect("pages are far below 4 GiB and the room suffices")
    }
}

impl Clone for Compressor {
    fn clone(&self) -> Self {
        Compressor::new(self.codec)
    }
}

/// Writes a Snappy stream that consists of literals only.
///
/// Source: google/snappy, format_description.txt: the length as a varint, then literals. A tag of `61 << 2` has the literal's
/// length less one in the next two bytes, low byte first.
fn literals(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 16 + body.len().div_ceil(LITERAL_BYTES_MAX) * 3);
    let mut len = body.len();
    while len >= 0x80 {
        out.push(len.to_le_bytes()[0] | 0x80);
        len >>= 7;
    }
    out.push(len.to_le_bytes()[0]);
    for literal in body.chunks(LITERAL_BYTES_MAX) {
        let [low, high, ..] = (literal.len() - 1).to_le_bytes();
        out.extend_from_slice(&[61 << 2, low, high]);
        out.extend_from_slice(literal);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_read_back_whether_they_shrink_or_not() {
        let mut random = 1u64;
        let noise: Vec<u8> = core::iter::repeat_with(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            random.to_be_bytes()[0]
        })
        .take(300_000)
        .collect();
        let mut compressor = Compressor::new(Codec::Snappy);
        for len in [0, 1, 127, 128, 4096, 32_767, 32_768, 65_536, 65_537, 131_072, 300_000] {
            for body in [&noise[..len], &vec![7; len][..]] {
                let stream = compressor.compress(body);
                assert_eq!(snap::raw::Decoder::new().decompress_vec(&stream).unwrap(), body);
                assert_eq!(snap::raw::Decoder::new().decompress_vec(&literals(body)).unwrap(), body);
            }
        }
        assert_eq!(compressor.compress(&noise).len(), literals(&noise).len());
        assert!(compressor.compress(&vec![7; 300_000]).len() < 20_000);
        assert_eq!(Compressor::new(Codec::Uncompressed).compress(&noise), noise);
    }
}
