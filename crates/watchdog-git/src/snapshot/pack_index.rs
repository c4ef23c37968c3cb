//! The index of a pack, version 2: where each object begins in it. Pure.

use std::io::{self, Write};

use gix::ObjectId;

/// An object of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PackEntry {
    pub id: ObjectId,
    /// Offset of its entry.
    pub offset: u64,
    /// Of the entry as it is in the pack.
    pub crc32: u32,
    /// Of its content.
    pub size: u64,
}

/// Offsets from here on are in a table of their own.
const LARGE: u64 = 1 << 31;

/// Writes the index of a pack with this checksum. `objects` must be sorted by their id.
pub(super) fn write_index(
    objects: &[PackEntry],
    pack: ObjectId,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = HashedOutput {
        hasher: gix::hash::hasher(pack.kind()),
        out,
    };
    out.write_bytes(b"\xfftOc")?;
    out.write_bytes(&2_u32.to_be_bytes())?;
    let mut fan_out = [0_u32; 256];
    for object in objects {
        fan_out[usize::from(object.id.first_byte())] += 1;
    }
    let mut sum = 0;
    for count in fan_out {
        sum += count;
        out.write_bytes(&sum.to_be_bytes())?;
    }
    for object in objects {
        out.write_bytes(object.id.as_slice())?;
    }
    for object in objects {
        out.write_bytes(&object.crc32.to_be_bytes())?;
    }
    let mut large: Vec<u64> = Vec::new();
    for object in objects {
        let offset = match u32::try_from(object.offset)
            .ok()
            .filter(|_| object.offset < LARGE)
        {
            Some(offset) => offset,
            None => {
                large.push(object.offset);
                u32::try_from(large.len() - 1).map_err(io::Error::other)? | (1 << 31)
            }
        };
        out.write_bytes(&offset.to_be_bytes())?;
    }
    for offset in large {
        out.write_bytes(&offset.to_be_bytes())?;
    }
    out.write_bytes(pack.as_slice())?;
    let HashedOutput { hasher, out } = out;
    out.write_all(hasher.try_finalize().map_err(io::Error::other)?.as_slice())
}

struct HashedOutput<'a> {
    hasher: gix::hash::Hasher,
    out: &'a mut dyn Write,
}

impl HashedOutput<'_> {
    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.out.write_all(bytes)
    }
}
