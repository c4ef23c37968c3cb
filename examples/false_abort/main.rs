//! How often is good work aborted? Simulates 10,000 sessions per policy in virtual time and prints the comparison.
//!
//!   cargo run --release --example false_abort [-- --sessions N --seed N --set RATE=VALUE --no-sensitivity]
//!
//! The sessions are assumptions, in `rates.json` with their reasons; what judges them is the product's own decision machine
//! and breaker. `docs/reliability.md` holds what this prints.

mod simulation;

use simulation::policy::Policy;
use simulation::rates::Rates;
use simulation::tally::{SESSIONS_PER_LOOP, Tally, play, quantile};

fn main() -> Result<(), String> {
    let (mut sessions, mut seed, mut sensitivity) = (10_000, 1, true);
    let mut rates = Rates::read()?;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        let number = |text: String| {
            text.parse::<u64>()
                .map_err(|error| format!("{arg} {text}: {error}"))
        };
        match arg.as_str() {
            "--sessions" => sessions = number(value()?)?,
            "--seed" => seed = number(value()?)?,
            "--set" => rates.set(&value()?)?,
            "--no-sensitivity" => sensitivity = false,
            _ => {
                return Err(format!(
                    "unknown argument {arg}; there are --sessions N, --seed N, --set RATE=VALUE and --no-sensitivity"
                ));
            }
        }
    }
    println!(
        "{sessions} scripted sessions per policy, {SESSIONS_PER_LOOP} per loop, seed {seed}; virtual time\n"
    );
    println!("| | {} |", Policy::ALL.map(Policy::name).join(" | "));
    println!("|---|---|---|---|");
    let tallies = Policy::ALL.map(|policy| play(policy, &rates, seed, sessions));
    for (what, figure) in rows() {
        println!(
            "| {what} | {} |",
            tallies.each_ref().map(figure).join(" | ")
        );
    }
    if sensitivity {
        println!(
            "\n| rate | value | factor | false aborts: streak / original / ours | lost: original / ours | stall to abort, median: original / ours | probes: ours |"
        );
        println!("|---|---|---|---|---|---|---|");
        for name in Rates::NAMES {
            for factor in [0.5, 2.0] {
                let changed = rates.scaled(name, factor);
                let [streak, original, ours] =
                    Policy::ALL.map(|policy| play(policy, &changed, seed, sessions));
                println!(
                    "| {name} | {} | x{factor} | {:.1} % / {:.1} % / {:.1} % | {} / {} | {} / {} | {:.2} |",
                    changed.value(name),
                    streak.false_percent(),
                    original.false_percent(),
                    ours.false_percent(),
                    original.lost,
                    ours.lost,
                    minutes(quantile(&original.stopped, 0.5)),
                    minutes(quantile(&ours.stopped, 0.5)),
                    ours.probes_per_session()
                );
            }
        }
    }
    Ok(())
}

type Figure = fn(&Tally) -> String;

fn rows() -> [(&'static str, Figure); 10] {
    [
        ("loops with a false abort", |t| {
            format!(
                "{:.1} % ({} of {})",
                t.false_percent(),
                t.false_loops,
                t.loops
            )
        }),
        ("false aborts in all", |t| t.false_aborts.to_string()),
        ("pieces of work lost", |t| {
            format!("{} of {}", t.lost, t.work)
        }),
        ("stall to abort, median / 95 % / longest", |t| {
            times(&t.stopped)
        }),
        ("the same, where the session itself hangs", |t| {
            times(&t.hung)
        }),
        ("stalls that only a cap of 30 sessions ended", |t| {
            t.capped.to_string()
        }),
        ("probes per session", |t| {
            format!("{:.2}", t.probes_per_session())
        }),
        ("a person is asked, per session", |t| {
            format!("{:.2} %", t.reviews_percent())
        }),
        ("sessions started into a known usage limit", |t| {
            t.burnt.to_string()
        }),
        ("sessions played", |t| t.sessions.to_string()),
    ]
}

fn times(sorted: &[u64]) -> String {
    let [median, most, longest] = [0.5, 0.95, 1.0].map(|share| minutes(quantile(sorted, share)));
    format!("{median} / {most} / {longest} ({})", sorted.len())
}

fn minutes(time: Option<u64>) -> String {
    time.map_or("none".into(), |seconds| {
        format!("{:.1} min", seconds as f64 / 60.0)
    })
}
