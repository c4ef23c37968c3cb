//! The events of all machines, as the server has them: the last ones, and what comes. The follower
//! gives out each event once, and leaves out none that the server acknowledged, however often it
//! was away.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use crate::event_stream::{EventFollower, FleetEvent, events_back, newest_position};
use crate::{FleetError, FleetServer};
use jiff::Timestamp;
use watchdog_store::engine::{EventCursor, StoredEvent};

use super::fleet_setting::{FleetSetting, FleetSettingError};
use crate::wire::fleet_copy::of_machine;
use watchdog_judge::clock::pauses;

/// How many events are read at a time.
const BATCH: u32 = 1_000;
/// The longest pause after the server could not be reached.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// An item that a follower receives.
#[derive(Debug)]
pub enum FollowedNews {
    /// Events, in the order of the server, each with its machine in its data.
    Events(Vec<StoredEvent>),
    /// The server cannot be used; it is tried again until it can. Told once.
    Away(FleetError),
    /// It can be used again.
    Back,
    /// It lacks events that were given out: a standby took over that did not have them yet, or an
    /// older state was brought back. The next items are new, and repeated events are left out.
    Lost,
}

/// The events of a fleet.
pub struct FleetJournal {
    server: FleetServer,
    /// Only these machines; empty stands for all.
    machines: Vec<String>,
}

impl FleetJournal {
    /// The events of these machines; no name stands for all of them. Connects to nothing yet.
    ///
    /// # Errors
    /// Fails if the file of authorities cannot be read.
    pub fn new(setting: &FleetSetting, machines: Vec<String>) -> Result<Self, FleetSettingError> {
        Ok(FleetJournal {
            server: setting.server()?.needing_its_format(),
            machines,
        })
    }

    /// The last `n` events that `chosen` takes, oldest first, and the place behind the newest event of all.
    ///
    /// # Errors
    /// Fails if the server cannot be used.
    pub fn last(
        &self,
        n: usize,
        since: Option<Timestamp>,
        chosen: impl Fn(&StoredEvent) -> bool,
    ) -> Result<(Vec<StoredEvent>, EventCursor), FleetError> {
        let end = newest_position(&self.server)?.unwrap_or(EventCursor::START);
        let (mut found, mut left) = (VecDeque::new(), end);
        while found.len() < n && left > EventCursor::START {
            let events = events_back(&self.server, left, since, &self.machines, BATCH)?;
            let Some(first) = events.last() else { break };
            left = EventCursor(first.position.0 - 1);
            let wanted = n - found.len();
            events
                .into_iter()
                .map(name_machine)
                .filter(&chosen)
                .take(wanted)
                .for_each(|event| found.push_front(event));
        }
        Ok((found.into(), end))
    }

    /// Gives out what comes behind a place, until `tell` returns `false`. Blocks.
    pub fn follow(&self, from: EventCursor, mut tell: impl FnMut(FollowedNews) -> bool) {
        let mut follower = EventFollower::new(&self.server, from);
        let (mut failures, mut resumes) = (0, true);
        loop {
            let step = match resumes {
                true => follower
                    .resume()
                    .map(|is_lost| is_lost.then_some(FollowedNews::Lost)),
                false => self.step(&mut follower),
            };
            resumes = step.is_err();
            let news = match step {
                Ok(news) => {
                    let was_away = std::mem::take(&mut failures) > 0;
                    if was_away && !tell(FollowedNews::Back) {
                        return;
                    }
                    news
                }
                Err(error) => {
                    failures += 1;
                    if failures == 1 && !tell(FollowedNews::Away(error)) {
                        return;
                    }
                    thread::sleep(pauses::calculate_pause(failures, LONGEST_PAUSE));
                    None
                }
            };
            if news.is_some_and(|news| !tell(news)) {
                return;
            }
        }
    }

    /// The next events; without any, waits until a look is worth it.
    fn step(&self, follower: &mut EventFollower<'_>) -> Result<Option<FollowedNews>, FleetError> {
        let events = follower.next_events(BATCH)?;
        if events.is_empty() {
            follower.wait()?;
            return Ok(None);
        }
        let is_meant = |fleet_event: &FleetEvent| {
            self.machines.is_empty() || self.machines.contains(&fleet_event.machine)
        };
        Ok(Some(FollowedNews::Events(
            events
                .into_iter()
                .filter(is_meant)
                .map(name_machine)
                .collect(),
        )))
    }
}

fn name_machine(fleet_event: FleetEvent) -> StoredEvent {
    of_machine(fleet_event.event, &fleet_event.machine)
}
