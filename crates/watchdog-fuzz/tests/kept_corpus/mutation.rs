//! What is done to a kept input: bytes cut out, doubled, changed or moved, words of the target's dictionary put in, halves of two inputs joined.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::Index;

/// No mutated input is longer.
const LONGEST: usize = 16 << 10;

/// A kept input and the steps that are done to it.
#[derive(Debug, Clone)]
pub struct Mutation {
    input: Index,
    steps: Vec<MutationStep>,
}

#[derive(Debug, Clone)]
enum MutationStep {
    Cut {
        from: Index,
        length: usize,
    },
    Double {
        from: Index,
        length: usize,
        times: usize,
    },
    Change {
        at: Index,
        byte: u8,
    },
    Flip {
        at: Index,
        bit: u8,
    },
    PutIn {
        at: Index,
        byte: u8,
    },
    PutWord {
        at: Index,
        word: Index,
    },
    Overwrite {
        at: Index,
        word: Index,
    },
    Move {
        from: Index,
        length: usize,
        to: Index,
    },
    Join {
        at: Index,
        other: Index,
        other_at: Index,
    },
    EndAt {
        at: Index,
    },
}

/// Any mutation; most have few steps.
pub fn any_mutation() -> impl Strategy<Value = Mutation> {
    let length = || prop_oneof![3 => 1_usize..8, 2 => 1_usize..64, 1 => 1_usize..1024];
    let index = any::<Index>;
    let step = prop_oneof![
        2 => (index(), length()).prop_map(|(from, length)| MutationStep::Cut { from, length }),
        1 => (index(), length(), 1_usize..6).prop_map(|(from, length, times)| MutationStep::Double { from, length, times }),
        2 => (index(), any::<u8>()).prop_map(|(at, byte)| MutationStep::Change { at, byte }),
        2 => (index(), 0_u8..8).prop_map(|(at, bit)| MutationStep::Flip { at, bit }),
        1 => (index(), any::<u8>()).prop_map(|(at, byte)| MutationStep::PutIn { at, byte }),
        4 => (index(), index()).prop_map(|(at, word)| MutationStep::PutWord { at, word }),
        2 => (index(), index()).prop_map(|(at, word)| MutationStep::Overwrite { at, word }),
        2 => (index(), length(), index()).prop_map(|(from, length, to)| MutationStep::Move { from, length, to }),
        1 => (index(), index(), index()).prop_map(|(at, other, other_at)| MutationStep::Join { at, other, other_at }),
        1 => index().prop_map(|at| MutationStep::EndAt { at }),
    ];
    (index(), prop::collection::vec(step, 1..6))
        .prop_map(|(input, steps)| Mutation { input, steps })
}

impl Mutation {
    /// The mutated input.
    pub fn apply(&self, kept: &[(PathBuf, Vec<u8>)], words: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = kept[self.input.index(kept.len())].1.clone();
        // Of a long one its end, where most readers look.
        bytes.drain(..bytes.len().saturating_sub(LONGEST));
        for step in &self.steps {
            step.apply(&mut bytes, kept, words);
            bytes.truncate(LONGEST);
        }
        bytes
    }
}

impl MutationStep {
    fn apply(&self, bytes: &mut Vec<u8>, kept: &[(PathBuf, Vec<u8>)], words: &[Vec<u8>]) {
        let size = bytes.len();
        let place = |at: &Index| at.index(size + 1);
        let span = |from: &Index, length: usize| place(from)..(place(from) + length).min(size);
        let word = |word: &Index| {
            if words.is_empty() {
                &b"0"[..]
            } else {
                &words[word.index(words.len())]
            }
        };
        match self {
            MutationStep::Cut { from, length } => drop(bytes.drain(span(from, *length))),
            MutationStep::Double {
                from,
                length,
                times,
            } => {
                let span = span(from, *length);
                let more = bytes[span.clone()].repeat(*times);
                bytes.splice(span.end..span.end, more);
            }
            MutationStep::Change { at, byte } if size > 0 => bytes[at.index(size)] = *byte,
            MutationStep::Flip { at, bit } if size > 0 => bytes[at.index(size)] ^= 1 << bit,
            MutationStep::Change { .. } | MutationStep::Flip { .. } => {}
            MutationStep::PutIn { at, byte } => bytes.insert(place(at), *byte),
            MutationStep::PutWord { at, word: put } => {
                bytes.splice(place(at)..place(at), word(put).iter().copied());
            }
            MutationStep::Overwrite { at, word: put } => {
                let word = word(put);
                bytes.splice(span(at, word.len()), word.iter().copied());
            }
            MutationStep::Move { from, length, to } => {
                let moved: Vec<u8> = bytes.drain(span(from, *length)).collect();
                let to = to.index(bytes.len() + 1);
                bytes.splice(to..to, moved);
            }
            MutationStep::Join {
                at,
                other,
                other_at,
            } => {
                let other = &kept[other.index(kept.len())].1;
                bytes.truncate(place(at));
                bytes.extend(
                    other[other_at.index(other.len() + 1)..]
                        .iter()
                        .take(LONGEST),
                );
            }
            MutationStep::EndAt { at } => bytes.truncate(place(at)),
        }
    }
}

/// The words of a dictionary: a line for each, in quotes, with `\"`, `\\` and `\xAB` as escapes.
pub fn dictionary_words(file: &Path) -> Vec<Vec<u8>> {
    let text =
        std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            unquoted(line)
                .unwrap_or_else(|| panic!("{}: no word of a dictionary: {line}", file.display()))
        })
        .collect()
}

fn unquoted(line: &str) -> Option<Vec<u8>> {
    let mut rest = line.strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    let mut word = Vec::new();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            word.push(*first);
            continue;
        }
        match rest {
            [quoted @ (b'"' | b'\\'), after @ ..] => {
                word.push(*quoted);
                rest = after;
            }
            [b'x', high, low, after @ ..] => {
                word.push(u8::from_str_radix(std::str::from_utf8(&[*high, *low]).ok()?, 16).ok()?);
                rest = after;
            }
            _ => return None,
        }
    }
    Some(word)
}

#[test]
fn dictionary_parses_as_in_its_engine() {
    assert_eq!(unquoted(r#""a\"\\\x0ab""#), Some(b"a\"\\\nb".to_vec()));
    assert_eq!((unquoted("a"), unquoted(r#""\n""#)), (None, None));
}
