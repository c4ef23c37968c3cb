//! The figures that the page of `watchdog report --html` holds: names once, counters as columns of small numbers. `report/page/page.js` reads it.

use std::collections::BTreeMap;

use base64::prelude::*;
use jiff::civil::Date;
use serde_json::{Map, Value, json};

use watchdog_facts::display::{cut_text, escape_to_one_line};
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
/// Those of [`WORDS`] that are millionths of a US dollar.
const MONEY: [&str; 2] = [word::COST, word::QUESTION_COST];
/// Millionths in a cent.
const CENT: u64 = 10_000;
const BEGINNINGS: [&str; 9] = [
    word::AGENT,
    measure::JUDGED,
    measure::ABORTS,
    measure::WENT_ON,
    measure::WENT_ON_ANEW,
    measure::HELD,
    measure::QUESTIONS_OF,
    measure::NO_STRIKE,
    measure::UNMET,
];

/// The figures of a page.
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
    /// Notes for a person beside the figures.
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
                let path = self.paths.get(worktree).map_or_else(
                    || {
                        if worktree.is_empty() {
                            String::new()
                        } else {
                            format!("({worktree})")
                        }
                    },
                    Clone::clone,
                );
                [names.number(&path), names.number(spec)]
            })
            .collect();
        let (cells, words) = self.cells(&number);
        let statuses: Map<String, Value> = Reason::ALL
            .iter()
            .map(|reason| (reason.as_str().to_owned(), reason.status().as_str().into()))
            .collect();
        json!({
            "version": 1,
            "made": format!("{:.0}", self.made),
            "from": self.from.to_string(),
            "to": self.to.to_string(),
            "measured_since": self.measured_since.map(|day| day.to_string()),
            "window_days": ABORT_WINDOW.as_secs() / 86_400,
            "statuses": statuses,
            "notes": self.notes.iter().map(|note| shorten_name(note)).collect::<Vec<_>>(),
            "names": names.names,
            "works": works_json,
            "words": words,
            "cells": BASE64_STANDARD.encode(&cells),
            "completed": BASE64_STANDARD.encode(self.completed_column(&number)),
        })
    }

    /// First which specs each day has; then for each word its cells, as the number of cells left out before each, and their counts.
    fn cells(&self, number: &BTreeMap<&WorkName, u64>) -> (Vec<u8>, Vec<String>) {
        let mut columns: BTreeMap<&str, CellColumn> = BTreeMap::new();
        let (mut gaps, mut specs, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        let (mut cell, mut last_day) = (0, self.from);
        for (date, of) in &self.days {
            gaps.push(days_between(last_day, *date));
            specs.push(of.len() as u64);
            last_day = *date;
            let mut last = 0;
            for (work, sums) in of {
                let at = number[work];
                steps.push(at - last);
                last = at;
                for (word, count) in sums.below("") {
                    if WORDS.contains(&word)
                        || BEGINNINGS
                            .iter()
                            .any(|beginning| word.starts_with(beginning))
                    {
                        columns
                            .entry(word)
                            .or_default()
                            .add(cell, count, is_money(word));
                    }
                }
                cell += 1;
            }
        }
        let mut bits = BitColumns::default();
        bits.push_number(self.days.len() as u64);
        bits.push_column(&gaps);
        bits.push_column(&specs);
        bits.push_column(&steps);
        for column in columns.values() {
            bits.push_number(column.gaps.len() as u64);
            bits.push_column(&column.gaps);
            bits.push_column(&column.counts);
        }
        // The names of checks come from outside.
        (bits.bytes, columns.into_keys().map(shorten_name).collect())
    }

    fn completed_column(&self, number: &BTreeMap<&WorkName, u64>) -> Vec<u8> {
        let mut columns: [Vec<u64>; 6] = Default::default();
        let mut last = self.from;
        for (date, spec) in &self.completed {
            let Some(work) = number.get(&(spec.worktree.clone(), spec.spec.clone())) else {
                continue;
            };
            // The number is one more than the known value, so that zero is unknown.
            let [seconds, cents] = [
                spec.seconds,
                spec.cost_micros.map(|micros| (micros + CENT / 2) / CENT),
            ]
            .map(|figure| figure.map_or(0, |amount| amount.saturating_add(1)));
            let row = [
                days_between(last, *date),
                *work,
                spec.sessions,
                seconds,
                cents,
                spec.questions,
            ];
            columns
                .iter_mut()
                .zip(row)
                .for_each(|(column, value)| column.push(value));
            last = *date;
        }
        let mut bits = BitColumns::default();
        bits.push_number(columns[0].len() as u64);
        columns.iter().for_each(|column| bits.push_column(column));
        bits.bytes
    }
}

/// Whether a word counts millionths of a US dollar, of all agents or of one.
fn is_money(word: &str) -> bool {
    let of_agent = word
        .strip_prefix(word::AGENT)
        .and_then(|after_agent| after_agent.split_once('/'))
        .map(|(counter, _)| counter);
    MONEY.contains(&of_agent.unwrap_or(word))
}

/// The counts of a word that are not zero.
#[derive(Default)]
struct CellColumn {
    gaps: Vec<u64>,
    counts: Vec<u64>,
    next: u64,
    /// Millionths that are not in a cent yet.
    carried: u64,
}

impl CellColumn {
    /// Money is held in cents: what one cell leaves over goes into the next, so that sums are right to the cent.
    fn add(&mut self, cell: u64, count: u64, is_money: bool) {
        let count = if is_money {
            let micros = count.saturating_add(self.carried);
            self.carried = micros % CENT;
            micros / CENT
        } else {
            count
        };
        if count > 0 {
            self.gaps.push(cell - self.next);
            self.counts.push(count - 1);
            self.next = cell + 1;
        }
    }
}

/// Columns of numbers by Rice's code, each with the parameter that fits its mean. `report/page/decode.js` reads it.
#[derive(Default)]
struct BitColumns {
    bytes: Vec<u8>,
    /// Bits of the last byte that are taken; 0 = it is full.
    taken: u32,
}

impl BitColumns {
    /// The longest quotient in unary; a number with a longer one stands as it is, after its length.
    const LONGEST: u64 = 20;

    fn push_bits(&mut self, value: u64, count: u32) {
        for at in (0..count).rev() {
            if self.taken == 0 {
                self.bytes.push(0);
            }
            let last = self
                .bytes
                .last_mut()
                .expect("one was just pushed, or has room");
            *last |= ((value >> at & 1) as u8) << (7 - self.taken);
            self.taken = (self.taken + 1) % 8;
        }
    }

    /// A number beside the columns.
    fn push_number(&mut self, number: u64) {
        self.push_bits(number, 40);
    }

    fn push_column(&mut self, numbers: &[u64]) {
        let mean = numbers
            .iter()
            .map(|number| u128::from(*number))
            .sum::<u128>()
            / numbers.len().max(1) as u128;
        let parameter = mean.checked_ilog2().unwrap_or(0).min(40);
        self.push_bits(parameter.into(), 6);
        for number in numbers {
            let quotient = number >> parameter;
            if quotient < Self::LONGEST {
                self.push_bits((1 << (quotient + 1)) - 2, quotient as u32 + 1);
                self.push_bits(*number, parameter);
            } else {
                // A script's numbers have 53 bits.
                let number = (*number).min((1 << 53) - 1);
                let length = number.checked_ilog2().map_or(0, |log| log + 1);
                self.push_bits((1 << Self::LONGEST) - 1, Self::LONGEST as u32);
                self.push_bits(length.into(), 6);
                self.push_bits(number, length);
            }
        }
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
        self.names.push(shorten_name(name));
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

fn shorten_name(name: &str) -> String {
    cut_text(&escape_to_one_line(name), LONGEST_NAME)
}

fn days_between(from: Date, to: Date) -> u64 {
    u64::try_from((to - from).get_days()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_columns_pack_small_numbers_tightly() {
        let bytes = |numbers: &[u64]| {
            let mut bits = BitColumns::default();
            bits.push_column(numbers);
            bits.bytes
        };
        // Six bits of parameter 0, then 0, 0, 1 and 2 in unary.
        assert_eq!(bytes(&[0, 0, 1, 2]), [0b0000_0000, 0b1011_0000]);
        assert_eq!(bytes(&[0; 800]).len(), 101);
        let odd = [&[0; 99][..], &[1 << 50]].concat();
        assert!(
            bytes(&odd).len() < 1_000,
            "one large number does not blow up the others"
        );
    }

    #[test]
    fn money_sums_are_exact_to_the_cent() {
        let mut column = CellColumn::default();
        (0..1_000).for_each(|cell| column.add(cell, 3_333, true));
        let cents: u64 = column.counts.iter().map(|count| count + 1).sum();
        assert_eq!(cents, 333);
    }
}
