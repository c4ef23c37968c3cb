//! The measures of a report in words, with bars: one section for each, which begins with its figure and a sentence on what that means.
//! Pure.

use std::collections::BTreeMap;

use watchdog_facts::display::{escape_to_one_line, shorten_text};
use watchdog_store::measures::{
    ABORT_WINDOW, AbortCounts, CompletedSpec, MeasureSummary, Spread, measure,
};
use watchdog_store::tally::{CounterSums, word};
use watchdog_view::amounts::group_thousands;

/// Rows of a list; the others are one row.
const ROWS: usize = 6;
/// Columns of a name in a list.
const NAME: usize = 24;

/// Lines of a section: its head, a sentence, and rows that are not broken.
#[derive(Debug, Default)]
pub struct ReportSection {
    /// The name and the figure.
    pub head: String,
    /// The meaning of the figure.
    pub meaning: String,
    /// Names with counts and bars.
    pub rows: Vec<String>,
}

/// All sections. Bars have at most `room` columns.
pub fn build_sections(
    sums: &CounterSums,
    completed: &[CompletedSpec],
    room: usize,
) -> Vec<ReportSection> {
    let summary = MeasureSummary::new(sums, completed);
    vec![
        build_aborts_section(&summary, room),
        build_timeouts_section(&summary),
        build_rescues_section(&summary),
        build_questions_section(&summary, sums),
        build_completions_section(&summary, completed.len()),
        held_back(&summary, room),
        build_strikes_section(&summary, room),
    ]
}

fn build_section(
    name: &str,
    figure: &str,
    meaning: impl Into<String>,
    rows: Vec<String>,
) -> ReportSection {
    ReportSection {
        head: format!("{name}: {figure}"),
        meaning: meaning.into(),
        rows,
    }
}

fn build_aborts_section(summary: &MeasureSummary, room: usize) -> ReportSection {
    let AbortCounts {
        total,
        went_on,
        in_new_session,
        held,
    } = summary.aborts;
    let figure = match (total, summary.aborts.false_rate()) {
        (0, _) => "none".to_owned(),
        (_, None) => format!("{}, all undecided", group_thousands(total)),
        (_, Some(rate)) => format!(
            "{} of {} decided were false ({})",
            group_thousands(went_on),
            group_thousands(went_on + held),
            format_percent(rate)
        ),
    };
    let days = ABORT_WINDOW.as_secs() / 86_400;
    let mut meaning = format!(
        "An abort ends work that is not complete; it was false where work went on within {days} days"
    );
    if went_on > 0 {
        meaning.push_str(&format!(
            " ({} in a new session)",
            group_thousands(in_new_session)
        ));
    }
    if summary.aborts.count_undecided() > 0 {
        meaning.push_str(&format!(
            "; of {} nothing is known yet",
            group_thousands(summary.aborts.count_undecided())
        ));
    }
    let counts = summary
        .aborts_by_why
        .iter()
        .map(|(why, counts)| (why.clone(), counts.total))
        .collect();
    build_section(
        "Aborts",
        &figure,
        meaning + ".",
        render_counts(&counts, room, "other"),
    )
}

fn build_timeouts_section(summary: &MeasureSummary) -> ReportSection {
    let figure = format_share_of(
        summary.timeouts,
        summary.sessions,
        summary.timeout_rate(),
        "session",
    );
    build_section(
        "Timeouts",
        &figure,
        "Sessions that the breaker counts: every question was spent, or they fell silent or ran out of time.",
        vec![],
    )
}

fn build_rescues_section(summary: &MeasureSummary) -> ReportSection {
    let (tried, kept) = summary.rescues;
    let figure = match tried {
        0 => "none was tried".to_owned(),
        _ => format!(
            "{} of {} kept everything ({})",
            group_thousands(kept),
            group_thousands(tried),
            format_rate(summary.rescue_rate())
        ),
    };
    build_section(
        "Rescues",
        &figure,
        "A rescue succeeds where it makes commits, does not fail, and nothing is lost.",
        vec![],
    )
}

fn build_questions_section(summary: &MeasureSummary, sums: &CounterSums) -> ReportSection {
    let each = |per: Option<f64>, noun: &str| {
        per.map_or_else(
            || format!("unknown per {noun}"),
            |per| format!("{per:.2} per {noun}"),
        )
    };
    let per_session = each(summary.questions_per_session(), "session");
    let figure = format!(
        "{}; {per_session}, {}",
        group_thousands(summary.all_questions()),
        each(summary.questions_per_iteration(), "iteration")
    );
    let with_questions = sums.get_sum(measure::QUESTION_VERDICTS);
    let reported_by = |count: u64| {
        format!(
            "told by {} of {}",
            group_thousands(count),
            plural(with_questions, "judgement")
        )
    };
    let tokens = match sums.get_sum(word::QUESTION_TOKENS_REPORTED) {
        0 => "tokens not told".to_owned(),
        reported => {
            let (read, written) = (
                group_thousands(sums.get_sum(word::QUESTION_TOKENS_IN)),
                group_thousands(sums.get_sum(word::QUESTION_TOKENS_OUT)),
            );
            format!(
                "{read} tokens in, {written} out ({})",
                reported_by(reported)
            )
        }
    };
    let cost = match sums.question_cost_usd() {
        None => "cost not told".to_owned(),
        Some(usd) => format!(
            "${usd:.2} ({})",
            reported_by(sums.get_sum(word::QUESTION_COST_REPORTED))
        ),
    };
    let meaning = match with_questions {
        0 => "Put to agents and models: probes, plans of rescues, judges.".to_owned(),
        _ => {
            format!("Put to agents and models: probes, plans of rescues, judges; {tokens}, {cost}.")
        }
    };
    build_section("Questions", &figure, meaning, vec![])
}

fn build_completions_section(summary: &MeasureSummary, listed: usize) -> ReportSection {
    let spread = |name: &str, spread: Option<Spread>, shown: &dyn Fn(f64) -> String| match spread {
        None => format!("  {name:<10}  unknown"),
        Some(of) => {
            format!(
                "  {name:<10}  {} in the median, {} at 90 % (told by {} of {})",
                shown(of.median),
                shown(of.p90),
                group_thousands(of.count as u64),
                group_thousands(listed as u64)
            )
        }
    };
    let mut rows = Vec::new();
    if summary.completions > 0 {
        rows.push(spread("time", summary.seconds, &rough_time));
        rows.push(spread("cost", summary.cost_micros, &|micros| {
            format!("${:.2}", micros / 1e6)
        }));
        rows.push(spread("sessions", summary.sessions_each, &|sessions| {
            format!("{sessions:.0}")
        }));
    }
    let meaning =
        "What the sessions of a spec took since its previous completion, or since they began.";
    build_section(
        "Completed specs",
        &group_thousands(summary.completions),
        meaning,
        rows,
    )
}

fn held_back(summary: &MeasureSummary, room: usize) -> ReportSection {
    let reasons: BTreeMap<String, u64> = summary
        .held_back()
        .into_iter()
        .map(|(reason, count)| (reason.to_owned(), count))
        .collect();
    let total: u64 = reasons.values().sum();
    let figure = format!(
        "{} of {} not complete",
        group_thousands(total),
        plural(summary.sessions + summary.changes, "judgement")
    );
    let mut rows = render_counts(&reasons, room, "further reasons");
    if !summary.unmet.is_empty() {
        rows.push("  checks that were not met:".to_owned());
        rows.extend(render_counts(&summary.unmet, room, "further checks"));
    }
    build_section(
        "What held completions back",
        &figure,
        "Each session counts once, by the reason of its verdict.",
        rows,
    )
}

fn build_strikes_section(summary: &MeasureSummary, room: usize) -> ReportSection {
    let not_counted: u64 = summary.no_strikes.values().sum();
    let figure = format!(
        "{} counted, {} not",
        group_thousands(summary.strikes),
        group_thousands(not_counted)
    );
    build_section(
        "Strikes",
        &figure,
        "The breaker counts a session that came to nothing; the others were no strike because of:",
        render_counts(&summary.no_strikes, room, "other"),
    )
}

/// The largest counts with bars, then one row for all others.
fn render_counts(counts: &BTreeMap<String, u64>, room: usize, others: &str) -> Vec<String> {
    let mut sorted: Vec<(&str, u64)> = counts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    sorted.sort_by_key(|(name, count)| (name.is_empty(), std::cmp::Reverse(*count)));
    let named = if sorted.len() > ROWS {
        ROWS - 1
    } else {
        sorted.len()
    };
    let unlisted = sorted.split_off(named);
    let mut rows: Vec<(String, u64)> = sorted
        .into_iter()
        .map(|(name, count)| {
            (
                if name.is_empty() { others } else { name }.to_owned(),
                count,
            )
        })
        .collect();
    if !unlisted.is_empty() {
        rows.push((
            format!("{} {others}", unlisted.len()),
            unlisted.iter().map(|(_, count)| count).sum(),
        ));
    }
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let row = |(name, count): (String, u64)| {
        let line = format!(
            "  {:<NAME$}  {:>7}  {}",
            escape_to_one_line(&shorten_text(&name, NAME)),
            group_thousands(count),
            draw_bar(count, count, most, room)
        );
        line.trim_end().to_owned()
    };
    rows.into_iter().map(row).collect()
}

fn format_share_of(part: u64, all: u64, rate: Option<f64>, noun: &str) -> String {
    match all {
        0 => format!("no {noun} was judged"),
        _ => format!(
            "{} of {} ({})",
            group_thousands(part),
            plural(all, noun),
            format_rate(rate)
        ),
    }
}

fn plural(count: u64, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        group_thousands(count),
        if count == 1 { "" } else { "s" }
    )
}

fn format_rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "unknown".into(), format_percent)
}

/// `4.2 %`, and no share that is not zero is shown as zero.
fn format_percent(share: f64) -> String {
    match share * 100.0 {
        small if small > 0.0 && small < 0.1 => "under 0.1 %".to_owned(),
        whole if (whole - whole.round()).abs() < 0.05 => format!("{whole:.0} %"),
        broken => format!("{broken:.1} %"),
    }
}

/// A length of time to the minute or so: `40 s`, `12 min`, `3 h 05 min`.
fn rough_time(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round();
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..5_400.0 => format!("{minutes} min"),
        _ => format!("{} h {:02} min", (minutes / 60.0).floor(), minutes % 60.0),
    }
}

/// `####..`: the done ones, then the others of all, where `most` fill the room.
pub fn draw_bar(all: u64, done: u64, most: u64, room: usize) -> String {
    if all == 0 || room == 0 {
        return String::new();
    }
    let wide = u64::try_from(room).unwrap_or(0);
    let columns = |count: u64| u128::from(count) * u128::from(wide) / u128::from(most.max(1));
    let whole = usize::try_from(columns(all)).unwrap_or(room).max(1);
    let first = usize::try_from(columns(done))
        .unwrap_or(room)
        .min(whole)
        .max(usize::from(done == all));
    format!("{}{}", "#".repeat(first), ".".repeat(whole - first))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn sums(counts: &[(&str, u64)]) -> CounterSums {
        serde_json::from_value(
            counts
                .iter()
                .map(|(word, count)| ((*word).to_owned(), json!(count)))
                .collect(),
        )
        .unwrap()
    }

    fn shown(counts: &[(&str, u64)], completed: &[CompletedSpec]) -> String {
        let text = |section: ReportSection| {
            [
                vec![section.head, format!("  {}", section.meaning)],
                section.rows,
            ]
            .concat()
            .join("\n")
        };
        build_sections(&sums(counts), completed, 20)
            .into_iter()
            .map(text)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn report_sections_state_known_and_unknown_facts() {
        let spec = |seconds, cost_micros| CompletedSpec {
            worktree: "w".into(),
            spec: "s".into(),
            sessions: 2,
            seconds: Some(seconds),
            cost_micros,
            questions: 0,
        };
        let counts = [
            ("judged/session/new_commits", 30),
            ("judged/session/checks_unmet", 8),
            ("judged/change/working", 2),
            ("looks", 763),
            ("aborts/max_probes", 3),
            ("aborts/session_idle", 1),
            ("aborts_went_on/max_probes", 1),
            ("aborts_went_on_anew/max_probes", 1),
            ("aborts_held/session_idle", 1),
            ("timeouts", 1),
            ("rescues", 4),
            ("rescues_kept", 3),
            ("questions_of/session", 9),
            ("questions_of/look", 10),
            ("iterations", 10),
            ("iteration_questions", 5),
            ("question_verdicts", 7),
            ("question_cost_micros", 310_000),
            ("question_cost_told", 6),
            ("completions", 3),
            ("unmet/cargo test", 7),
            ("unmet/a \u{1b}[31m very long name of a check indeed", 1),
            ("unmet/", 1),
            ("strikes", 2),
            ("no_strike/incomplete", 8),
        ];
        expect![[r#"
            Aborts: 1 of 2 decided were false (50 %)
              An abort ends work that is not complete; it was false where work went on within 7 days (1 in a new session); of 2 nothing is known yet.
              max_probes                      3  ####################
              session_idle                    1  ######
            Timeouts: 1 of 38 sessions (2.6 %)
              Sessions that the breaker counts: every question was spent, or they fell silent or ran out of time.
            Rescues: 3 of 4 kept everything (75 %)
              A rescue succeeds where it makes commits, does not fail, and nothing is lost.
            Questions: 19; 0.50 per session, 0.50 per iteration
              Put to agents and models: probes, plans of rescues, judges; tokens not told, $0.31 (told by 6 of 7 judgements).
            Completed specs: 3
              What the sessions of a spec took since its previous completion, or since they began.
              time        2 h 00 min in the median, 2 h 00 min at 90 % (told by 1 of 1)
              cost        unknown
              sessions    2 in the median, 2 at 90 % (told by 1 of 1)
            What held completions back: 10 of 40 judgements not complete
              Each session counts once, by the reason of its verdict.
              checks_unmet                    8  ####################
              working                         2  #####
              checks that were not met:
              cargo test                      7  ####################
              a \x1b[31m very long name…        1  ##
              further checks                  1  ##
            Strikes: 2 counted, 8 not
              The breaker counts a session that came to nothing; the others were no strike because of:
              incomplete                      8  ####################"#]]
        .assert_eq(&shown(&counts, &[spec(7_200, None)]));
    }

    #[test]
    fn nothing_counted_is_said_in_words() {
        let text = shown(&[], &[]);
        for phrase in [
            "Aborts: none",
            "no session was judged",
            "none was tried",
            "unknown per session",
            "Completed specs: 0",
        ] {
            assert!(text.contains(phrase), "{phrase}: {text}");
        }
        assert!(!text.contains('%') && !text.contains("NaN"), "{text}");
    }

    #[test]
    fn duration_is_rounded_by_its_length() {
        for (seconds, shown) in [
            (0.0, "0 s"),
            (89.0, "89 s"),
            (90.0, "2 min"),
            (5_399.0, "90 min"),
            (11_101.0, "3 h 05 min"),
            (90_000.0, "25 h 00 min"),
        ] {
            assert_eq!(rough_time(seconds), shown, "{seconds}");
        }
    }

    #[test]
    fn what_is_undecided_has_no_rate() {
        assert!(shown(&[("aborts/max_probes", 2)], &[]).contains("Aborts: 2, all undecided"));
    }

    #[test]
    fn bar_fills_at_maximum_and_shows_minimum() {
        for (all, complete, most, room, expected) in [
            (10, 10, 10, 10, "##########"),
            (10, 5, 10, 10, "#####....."),
            (1, 0, 1000, 10, "."),
            (1, 1, 1000, 10, "#"),
            (0, 0, 10, 10, ""),
            (5, 5, 10, 0, ""),
            (u64::MAX, 0, u64::MAX, 8, "........"),
        ] {
            assert_eq!(
                draw_bar(all, complete, most, room),
                expected,
                "{all} {complete} {most} {room}"
            );
        }
    }
}
