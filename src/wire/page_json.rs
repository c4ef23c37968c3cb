//! The figures that the page of `watchdog report --html` holds: names once, counters as columns of small numbers. `report/page/page.js` reads it.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde_json::{Map, Value, json};

use watchdog_facts::display::{bounded, escape_to_one_line};
use watchdog_facts::verdict::Reason;
use watchdog_store::measures::{ABORT_WINDOW, CompletedSpec, measure};
use watchdog_store::tally::{CounterSums, WorkName, word};

/// The longest name that a page shows, in bytes.
const LONGEST_NAME: usize = 200;

/// Words that a page has, beside those that begin with one of [`BEGINNINGS`].
const WORDS: [&str; 16] = [
    word::STARTED,
    word::ENDED,
    word::ITERATIONS,
    word::RESCUES,
    word::COST,
    word::COST_REPORTED,
    word::QUESTION_COST,
    word::QUESTION_COST_REPORTED,
    measure::LOOKS,
    measure::RESCUES_KEPT,
    measure::QUESTION_VERDICTS,
    measure::ITERATION_QUESTIONS,
    measure::TIMEOUTS,
    measure::STRIKES,
    measure::COMPLETIONS,
    word::TRIPS,
];
const BEGINNINGS: [&str; 8] = [
    measure::JUDGED,
    measure::ABORTS,
    measure::WENT_ON,
    measure::WENT_ON_ANEW,
    measure::HELD,
    measure::QUESTIONS_OF,
    measure::NO_STRIKE,
    measure::UNMET,
];

/// What a page is made of.
#[derive(Debug)]
pub struct PageFigures {
    /// The first day, by UTC.
    pub from: Date,
    /// Today, by UTC.
    pub to: Date,
    /// The first day of the period with measures.
    pub measured_since: Option<Date>,
    /// When it was made.
    pub made: jiff::Timestamp,
    /// By day and spec. An empty worktree stands for those that are not told apart.
    pub days: BTreeMap<Date, BTreeMap<WorkName, CounterSums>>,
    /// Specs that became complete, by day.
    pub completed: Vec<(Date, CompletedSpec)>,
    /// The folders of worktrees, where they are known.
    pub paths: BTreeMap<String, String>,
    /// What a person should know beside the figures.
    pub notes: Vec<String>,
}

impl PageFigures {
    /// The object that the page's script reads.
    pub fn to_json(&self) -> Value {
        let mut names = NameTable::default();
        let mut works: Vec<&WorkName> = self.days.values().flat_map(BTreeMap::keys).collect();
        works.sort_unstable();
        works.dedup();
        let number: BTreeMap<&WorkName, u64> = works.iter().copied().zip(0..).collect();
        let works_json: Vec<[u64; 2]> = (works.iter())
            .map(|(worktree, spec)| {
                let path = self
                    .paths
                    .get(worktree)
                    .map_or_else(|| if worktree.is_empty() { String::new() } else { format!("({worktree})") }, Clone::clone);
                [names.number(&path), names.number(spec)]
            })
            .collect();
        let (cells, words) = self.cells(&number);
        let statuses: Map<String, Value> =
            Reason::ALL.iter().map(|reason| (reason.as_str().to_owned(), json!(reason.status().as_str()))).collect();
        json!({
            "version": 1,
            "made": format!("{:.0}", self.made),
            "from": self.from.to_string(),
            "to": self.to.to_string(),
            "measured_since": self.measured_since.map(|day| day.to_string()),
            "window_days": ABORT_WINDOW.as_secs() / 86_400,
            "statuses": statuses,
            "notes": self.notes.iter().map(|note| shown(note)).collect::<Vec<_>>(),
            "names": names.names,
            "works": works_json,
            "words": words,
            "cells": base64(&cells),
            "completed": base64(&self.completed_column(&number)),
        })
    }

    /// First how many specs each day has, and which; then a column for each word: a count of each cell, and for counts of zero how many
    /// there are in a row.
    fn cells(&self, number: &BTreeMap<&WorkName, u64>) -> (Vec<u8>, Vec<String>) {
        let mut bytes = Vec::new();
        let mut columns: BTreeMap<&str, Vec<(usize, u64)>> = BTreeMap::new();
        let mut cell = 0;
        put(&mut bytes, self.days.len() as u64);
        let mut last_day = self.from;
        for (date, of) in &self.days {
            put(&mut bytes, days_between(last_day, *date));
            put(&mut bytes, of.len() as u64);
            last_day = *date;
            let mut last = 0;
            for (work, sums) in of {
                let at = number[work];
                put(&mut bytes, at - last);
                last = at;
                for (word, count) in sums.below("") {
                    let wanted = WORDS.contains(&word) || BEGINNINGS.iter().any(|beginning| word.starts_with(beginning));
                    if wanted && count > 0 {
                        columns.entry(word).or_default().push((cell, count));
                    }
                }
                cell += 1;
            }
        }
        for column in columns.values() {
            let mut next = 0;
            for (at, count) in column.iter().copied().chain([(cell, 0)]) {
                if at > next {
                    put(&mut bytes, 0);
                    put(&mut bytes, (at - next) as u64);
                }
                if count > 0 {
                    put(&mut bytes, count);
                }
                next = at + 1;
            }
        }
        // The names of checks come from outside.
        (bytes, columns.into_keys().map(shown).collect())
    }

    fn completed_column(&self, number: &BTreeMap<&WorkName, u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let known: Vec<_> = (self.completed.iter())
            .filter_map(|(date, spec)| Some((date, spec, *number.get(&(spec.worktree.clone(), spec.spec.clone()))?)))
            .collect();
        put(&mut bytes, known.len() as u64);
        let mut last = self.from;
        for (date, spec, work) in known {
            put(&mut bytes, days_between(last, *date));
            last = *date;
            for value in [
                work,
                spec.sessions,
                spec.seconds.map_or(0, |known| known.saturating_add(1)),
                spec.cost_micros.map_or(0, |known| known.saturating_add(1)),
                spec.questions,
            ] {
                put(&mut bytes, value);
            }
        }
        bytes
    }
}

/// Names, each once.
#[derive(Default)]
struct NameTable {
    names: Vec<String>,
    numbers: BTreeMap<String, u64>,
}

impl NameTable {
    fn number(&mut self, name: &str) -> u64 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u64;
        self.names.push(shown(name));
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

fn shown(name: &str) -> String {
    bounded(&escape_to_one_line(name), LONGEST_NAME)
}

fn days_between(from: Date, to: Date) -> u64 {
    u64::try_from((to - from).get_days()).unwrap_or(0)
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Base64 of RFC 4648, for the content policy's fingerprints and for what scripts decode.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = group >> (18 - 6 * digit) & 63;
            text.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (plain, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("\u{ff}\u{fe}", "w7/Dvg==")]
        {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }

    #[test]
    fn small_numbers_take_one_byte() {
        let bytes = |number| {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            bytes
        };
        assert_eq!((bytes(0), bytes(127), bytes(128)), (vec![0], vec![127], vec![0x80, 1]));
        assert_eq!(bytes(u64::MAX).len(), 10);
    }
}
