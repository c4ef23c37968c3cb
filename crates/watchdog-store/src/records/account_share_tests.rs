//! However machines die and answers are lost, what is held and spent of a day's shares is never more than the budget.

use proptest::prelude::*;

use super::*;

const MOST: f64 = 10.0;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// The server's half, as its function has it.
#[derive(Debug, Default)]
struct ServerAccount {
    day: i64,
    drawn: f64,
}

impl ServerAccount {
    fn draw(&mut self, day: i64, wanted: f64, owed: f64, share_day: &str) -> DrawnShare {
        if day > self.day {
            (self.day, self.drawn) = (day, 0.0);
        }
        if share_day == self.day.to_string() {
            self.drawn += owed;
        }
        let usd = wanted.min(MOST - self.drawn).max(0.0);
        self.drawn += usd;
        DrawnShare {
            most_usd: MOST,
            day: self.day.to_string(),
            ends_at: at((self.day + 1) * 100),
            usd,
        }
    }

    fn take_back(&mut self, given: f64, day: &str) {
        if day == self.day.to_string() {
            self.drawn = (self.drawn - given).max(0.0);
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Draw {
        machine: usize,
        wanted: f64,
        is_lost: bool,
    },
    Hold {
        machine: usize,
        most: f64,
    },
    /// A session ends with a part of what it held, or is killed and never settled.
    End {
        machine: usize,
        part: f64,
        is_killed: bool,
    },
    GiveUp {
        machine: usize,
        arrives: bool,
    },
    Tomorrow,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let machine = 0..3_usize;
    let step = prop_oneof![
        4 => (machine.clone(), 0.0..4.0, any::<bool>()).prop_map(|(machine, wanted, is_lost)| Step::Draw { machine, wanted, is_lost }),
        4 => (machine.clone(), 0.0..3.0).prop_map(|(machine, most)| Step::Hold { machine, most }),
        4 => (machine.clone(), 0.0..=1.0, any::<bool>()).prop_map(|(machine, part, is_killed)| Step::End { machine, part, is_killed }),
        2 => (machine, any::<bool>()).prop_map(|(machine, arrives)| Step::GiveUp { machine, arrives }),
        1 => Just(Step::Tomorrow),
    ];
    proptest::collection::vec(step, 1..80)
}

proptest! {
    #[test]
    fn no_day_costs_more_than_the_budget_whoever_dies_and_whatever_answer_is_lost(steps in steps()) {
        let mut server = ServerAccount::default();
        let mut shares = vec![AccountShare::default(); 3];
        let mut sessions: Vec<Vec<HeldShare>> = vec![Vec::new(); 3];
        let (mut day, mut cost) = (1, 0.0);
        for step in steps {
            let now = at(day * 100 + 50);
            match step {
                Step::Draw { machine, wanted, is_lost } => {
                    let share = &mut shares[machine];
                    let owed = share.owed_usd();
                    let given = server.draw(day, wanted, owed, &share.day);
                    if !is_lost {
                        share.draw(&given, owed);
                    }
                }
                Step::Hold { machine, most } => {
                    let share = &mut shares[machine];
                    let usd = share.hold(most, now);
                    if usd > 0.0 {
                        // It costs at most what it holds; it may already have.
                        cost += usd;
                        sessions[machine].push(HeldShare { usd, day: share.day.clone() });
                    }
                }
                Step::End { machine, part, is_killed } => {
                    let Some(held) = sessions[machine].pop().filter(|_| !is_killed) else { continue };
                    if held.day == day.to_string() {
                        cost -= held.usd * (1.0 - part);
                        shares[machine].settle(&held.day, held.usd, held.usd * part);
                    }
                }
                Step::GiveUp { machine, arrives } => {
                    let share = &mut shares[machine];
                    let (given, of) = (share.give_up(now), share.day.clone());
                    if arrives {
                        server.take_back(given, &of);
                    }
                }
                Step::Tomorrow => (day, cost) = (day + 1, 0.0),
            }
            prop_assert!(cost <= MOST + 1e-6, "{cost} on day {day}");
        }
    }
}

#[test]
fn nothing_is_spent_of_a_day_that_is_over_and_what_a_session_spent_beyond_its_part_is_owed() {
    let mut share = AccountShare::default();
    assert_eq!(
        (share.hold(1.0, at(0)), share.free_usd(at(0))),
        (0.0, 0.0),
        "nothing was drawn"
    );
    share.draw(
        &DrawnShare {
            most_usd: 10.0,
            day: "1".into(),
            ends_at: at(100),
            usd: 2.0,
        },
        0.0,
    );
    assert_eq!(share.hold(1.5, at(1)), 1.5);
    share.settle("1", 1.5, 3.0);
    assert_eq!((share.free_usd(at(1)), share.owed_usd()), (0.0, 1.0));
    share.draw(
        &DrawnShare {
            most_usd: 10.0,
            day: "1".into(),
            ends_at: at(100),
            usd: 2.0,
        },
        1.0,
    );
    assert_eq!(
        (
            share.free_usd(at(1)),
            share.free_usd(at(100)),
            share.owed_usd()
        ),
        (2.0, 0.0, 0.0)
    );
}
