//! The page of `watchdog report --html`: figures of a period and what shows them in a browser, in one file that loads nothing.

use std::collections::BTreeMap;

use base64::prelude::*;
use jiff::Timestamp;
use jiff::civil::Date;
use sha2::{Digest as _, Sha256};

use super::PathFilter;
use super::figures::{first_measured, paths_of, select_worktrees};
use watchdog_judge::wire::page_json::PageFigures;
use watchdog_store::measures::measure;
use watchdog_store::tally::{CounterSums, WorkName};
use watchdog_store::{LocalStore, StoreError, figures};

/// The most specs that a page tells apart: those with the most judgements.
const MOST_WORKS: usize = 2_000;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = concat!(
    include_str!("page/uPlot-1.6.32.min.css"),
    "\n",
    include_str!("page/page.css")
);
const CHARTS: &str = include_str!("page/uPlot-1.6.32.iife.min.js");
const SCRIPT: &str = concat!(
    include_str!("page/decode.js"),
    "\n",
    include_str!("page/measures.js"),
    "\n",
    include_str!("page/page.js")
);

/// Gathers the figures since a day, spec by spec. `tell` is called where that may take a while.
///
/// # Errors
/// When the store cannot be read.
pub fn page_figures(
    store: &dyn LocalStore,
    below: &PathFilter,
    from: Date,
    now: (Timestamp, Date),
    tell: impl FnOnce(),
) -> Result<PageFigures, StoreError> {
    let (made, today) = now;
    let period = figures::up_to_now(store, from, tell)?;
    let meant = select_worktrees(store, below)?;
    let measured_since = first_measured(&period, from, today);
    let mut notes = period.notes;
    let first = measured_since.unwrap_or(today);
    if period.days.keys().any(|date| *date < first) {
        notes.push(format!("not measured before {first}: an older version counted the days before; `watchdog report` has their sums"));
    }
    let (mut days, mut completed) = (BTreeMap::new(), Vec::new());
    // Days that an older version counted have no measures, and shares of a part would be wrong.
    for (date, day) in period
        .days
        .into_iter()
        .filter(|(date, _)| measured_since.is_some_and(|since| since <= *date))
    {
        if day.incomplete {
            notes.push(format!(
                "the figures of {date} are incomplete, as their row could not be read"
            ));
        }
        let is_meant = |id: &str| meant.as_ref().is_none_or(|meant| meant.contains_key(id));
        let mut works: BTreeMap<WorkName, CounterSums> = BTreeMap::new();
        let mut unassigned = day.all;
        for (id, specs) in day.works {
            for (spec, sums) in specs {
                unassigned.subtract(&sums);
                if is_meant(&id) {
                    works.insert((id.clone(), spec), sums);
                }
            }
        }
        if meant.is_none() && !unassigned.is_empty() {
            works.insert(WorkName::default(), unassigned);
        }
        completed.extend(
            day.completed
                .into_iter()
                .filter(|spec| is_meant(&spec.worktree))
                .map(|spec| (date, spec)),
        );
        days.insert(date, works);
    }
    if gather_small_ones(&mut days) {
        notes.push(format!(
            "only the {MOST_WORKS} specs with the most judgements are told apart"
        ));
    }
    let ids = days
        .values()
        .flat_map(BTreeMap::keys)
        .map(|(id, _)| id.clone())
        .filter(|id| !id.is_empty())
        .collect();
    let paths = paths_of(store, meant.as_ref(), ids);
    Ok(PageFigures {
        from: first,
        to: today,
        measured_since,
        made,
        days,
        completed,
        paths,
        notes,
    })
}

/// Joins the specs with the fewest judgements where there are too many.
fn gather_small_ones(days: &mut BTreeMap<Date, BTreeMap<WorkName, CounterSums>>) -> bool {
    let mut judged: BTreeMap<&WorkName, u64> = BTreeMap::new();
    for (work, sums) in days.values().flatten() {
        *judged.entry(work).or_default() += sums
            .below(measure::JUDGED)
            .map(|(_, count)| count)
            .sum::<u64>();
    }
    let mut order: Vec<(u64, WorkName)> = judged
        .into_iter()
        .map(|(work, count)| (count, work.clone()))
        .collect();
    order.sort_by(|first, other| other.cmp(first));
    let small: std::collections::HashSet<WorkName> = order
        .into_iter()
        .skip(MOST_WORKS)
        .map(|(_, work)| work)
        .collect();
    for day in days.values_mut() {
        let gone: Vec<(WorkName, CounterSums)> =
            day.extract_if(.., |work, _| small.contains(work)).collect();
        gone.iter()
            .for_each(|(_, sums)| day.entry(WorkName::default()).or_default().merge(sums));
    }
    !small.is_empty()
}

/// The page with these figures.
pub fn render_page(figures: &PageFigures) -> String {
    // Within a script element only `<` can end or open anything; the line separators are for readers that take the text for a script.
    let data = figures
        .to_json()
        .to_string()
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    let fingerprint = |text: &str| {
        format!(
            "'sha256-{}'",
            BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()))
        )
    };
    let policy = format!(
        "default-src 'none'; script-src {} {}; style-src {}; base-uri 'none'; form-action 'none'",
        fingerprint(CHARTS),
        fingerprint(SCRIPT),
        fingerprint(STYLE)
    );
    let parts = [
        ("{policy}", policy.as_str()),
        ("{style}", STYLE),
        ("{data}", &data),
        ("{charts}", CHARTS),
        ("{script}", SCRIPT),
    ];
    let mut page =
        String::with_capacity(PAGE.len() + STYLE.len() + CHARTS.len() + SCRIPT.len() + data.len());
    let mut template = PAGE;
    for (mark, part) in parts {
        let (before, after) = template
            .split_once(mark)
            .expect("the page has each mark once, in this order");
        page.push_str(before);
        page.push_str(part);
        template = after;
    }
    page.push_str(template);
    page
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
