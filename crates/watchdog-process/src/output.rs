//! Output of any length in a bounded part of memory.

use super::program::BoundedOutput;

/// The last bytes of a stream.
#[derive(Debug, Clone, Default)]
pub struct OutputTail {
    limit: usize,
    ring: Vec<u8>,
    /// Index of the oldest byte, once the ring is full.
    oldest: usize,
    total: u64,
}

impl OutputTail {
    /// Keeps the last `limit` bytes.
    pub fn new(limit: usize) -> Self {
        OutputTail {
            limit,
            ..OutputTail::default()
        }
    }

    /// Appends; drops the oldest bytes beyond the limit.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let (grow, wrap) = bytes.split_at((self.limit - self.ring.len()).min(bytes.len()));
        self.ring.extend_from_slice(grow);
        if wrap.is_empty() {
            return;
        }
        let (to_end, to_front) = wrap.split_at((self.limit - self.oldest).min(wrap.len()));
        self.ring[self.oldest..self.oldest + to_end.len()].copy_from_slice(to_end);
        self.ring[..to_front.len()].copy_from_slice(to_front);
        self.oldest = (self.oldest + wrap.len()) % self.limit;
    }

    /// How many bytes were ever pushed.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The bytes, oldest first.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.ring.rotate_left(self.oldest);
        self.ring
    }
}

/// The first and the last bytes of a stream; all of it while it is short.
#[derive(Debug, Clone, Default)]
pub struct HeadTail {
    head_limit: usize,
    head: Vec<u8>,
    tail: OutputTail,
}

impl HeadTail {
    /// Keeps `keep` bytes: one half from the beginning, the other from the end.
    pub fn new(keep: usize) -> Self {
        HeadTail {
            head_limit: keep / 2,
            head: Vec::new(),
            tail: OutputTail::new(keep - keep / 2),
        }
    }

    /// Appends; drops bytes from the middle beyond the limit.
    pub fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at((self.head_limit - self.head.len()).min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.push(rest);
    }

    /// The kept bytes, in order, with the number of bytes dropped between the two halves.
    pub fn into_kept(self) -> BoundedOutput {
        let total = self.tail.total();
        let (mut bytes, tail) = (self.head, self.tail.into_bytes());
        bytes.extend_from_slice(&tail);
        BoundedOutput {
            dropped: total - tail.len() as u64,
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tail_is_the_end_of_pushed_output(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20), limit in 0_usize..64) {
            let mut tail = OutputTail::new(limit);
            chunks.iter().for_each(|chunk| tail.push(chunk));
            let all = chunks.concat();
            prop_assert_eq!(tail.total(), all.len() as u64);
            prop_assert!(tail.ring.len() <= limit);
            prop_assert_eq!(tail.into_bytes(), all[all.len().saturating_sub(limit)..].to_vec());
        }

        #[test]
        fn head_and_tail_report_every_dropped_byte(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20), keep in 0_usize..64) {
            let mut both = HeadTail::new(keep);
            chunks.iter().for_each(|chunk| both.push(chunk));
            let all = chunks.concat();
            let both_ends = both.into_kept();
            prop_assert_eq!(both_ends.bytes.len() as u64 + both_ends.dropped, all.len() as u64);
            if all.len() <= keep {
                prop_assert_eq!(both_ends.bytes, all);
            } else {
                prop_assert_eq!(both_ends.bytes.len(), keep);
                prop_assert_eq!(&both_ends.bytes[..keep / 2], &all[..keep / 2]);
                prop_assert_eq!(&both_ends.bytes[keep / 2..], &all[all.len() - (keep - keep / 2)..]);
            }
        }
    }
}
