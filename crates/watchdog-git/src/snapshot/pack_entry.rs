//! Encodes one object for a pack: its header, and its content as a zlib stream, stored where it does not compress.

use std::io::{self, Read};

use gix::objs::Kind as ObjectKind;
use gix::odb::pack::data::entry::Header;
use gix::zlib::stream::deflate::{Compress, FlushCompress};
use gix::zlib::{Compression, Status};

/// Content up to this size is compressed without a sample of it: what does not compress costs little.
const SAMPLED_FROM: usize = 64 << 10;
/// How much of larger content is sampled.
const SAMPLE: usize = 32 << 10;
/// A sample that shrinks by one part in so many has the whole compressed.
const SAVED: usize = 20;
/// A piece of compressed output.
const PIECE: usize = 32 << 10;

/// Compresses objects one after the other, with the memory of one.
pub(super) struct EntryEncoder {
    fast: Compress,
    /// Made when the first content does not compress.
    stored: Option<Compress>,
    piece: Vec<u8>,
}

/// Takes what an entry consists of, piece by piece.
type EntryBytes<'a> = &'a mut dyn FnMut(&[u8]) -> io::Result<()>;

impl EntryEncoder {
    pub(super) fn new() -> Self {
        EntryEncoder {
            fast: Compress::new(Compression::BEST_SPEED),
            stored: None,
            piece: vec![0; PIECE],
        }
    }

    /// Hands the entry of `content` to `out`.
    pub(super) fn whole(
        &mut self,
        kind: ObjectKind,
        content: &[u8],
        out: EntryBytes<'_>,
    ) -> io::Result<()> {
        write_header(kind, content.len() as u64, out)?;
        let sample = (content.len() > SAMPLED_FROM).then(|| sample_of(content));
        let (compress, piece) = self.compressor(sample.as_deref())?;
        compress_into(compress, piece, content, FlushCompress::Finish, out)
    }

    /// Hands the entry of a blob of `size` bytes to `out`, and each of its pieces to `seen` first. `begin` is a part of the content that says
    /// whether it compresses.
    pub(super) fn stream(
        &mut self,
        size: u64,
        begin: &[u8],
        from: &mut dyn Read,
        seen: &mut dyn FnMut(&[u8]),
        out: EntryBytes<'_>,
    ) -> io::Result<()> {
        write_header(ObjectKind::Blob, size, out)?;
        let (compress, piece) = self.compressor(Some(begin))?;
        let mut buffer = vec![0; 1 << 17];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => return compress_into(compress, piece, &[], FlushCompress::Finish, out),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            seen(&buffer[..read]);
            compress_into(compress, piece, &buffer[..read], FlushCompress::None, out)?;
        }
    }

    /// The compressor for content with this sample, ready for a new stream.
    fn compressor(&mut self, sample: Option<&[u8]>) -> io::Result<(&mut Compress, &mut [u8])> {
        if let Some(sample) = sample {
            self.fast.reset();
            let mut saved = 0;
            compress_into(
                &mut self.fast,
                &mut self.piece,
                sample,
                FlushCompress::Finish,
                &mut |bytes| {
                    saved += bytes.len();
                    Ok(())
                },
            )?;
            if saved + sample.len() / SAVED >= sample.len() {
                let stored = self
                    .stored
                    .get_or_insert_with(|| Compress::new(Compression::NONE));
                stored.reset();
                return Ok((stored, &mut self.piece));
            }
        }
        self.fast.reset();
        Ok((&mut self.fast, &mut self.piece))
    }
}

fn write_header(kind: ObjectKind, size: u64, out: EntryBytes<'_>) -> io::Result<()> {
    let header = match kind {
        ObjectKind::Blob => Header::Blob,
        ObjectKind::Tree => Header::Tree,
        ObjectKind::Commit => Header::Commit,
        ObjectKind::Tag => Header::Tag,
    };
    let mut bytes = Vec::with_capacity(10);
    header.write_to(size, &mut bytes)?;
    out(&bytes)
}

/// A piece from the beginning, the middle and the end of large content: an archive may begin with text.
fn sample_of(content: &[u8]) -> Vec<u8> {
    let part = SAMPLE / 3;
    let middle = content.len() / 2;
    [
        &content[..part],
        &content[middle..middle + part],
        &content[content.len() - part..],
    ]
    .concat()
}

fn compress_into(
    compress: &mut Compress,
    piece: &mut [u8],
    mut input: &[u8],
    flush: FlushCompress,
    out: EntryBytes<'_>,
) -> io::Result<()> {
    loop {
        let (read, written) = (compress.total_in(), compress.total_out());
        let status = compress
            .compress(input, piece, flush)
            .map_err(io::Error::other)?;
        let (read, written) = (
            (compress.total_in() - read) as usize,
            (compress.total_out() - written) as usize,
        );
        input = &input[read..];
        if written > 0 {
            out(&piece[..written])?;
        }
        match flush {
            FlushCompress::Finish if status == Status::StreamEnd => return Ok(()),
            FlushCompress::Finish if read == 0 && written == 0 => {
                return Err(io::Error::other("the compressor makes no progress"));
            }
            FlushCompress::Finish => {}
            _ if input.is_empty() && written < piece.len() => return Ok(()),
            _ if read == 0 && written == 0 => return Ok(()),
            _ => {}
        }
    }
}
