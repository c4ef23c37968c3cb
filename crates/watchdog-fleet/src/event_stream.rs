//! The events of all machines, each with the machine that it is of: read back from the end, and followed. The table is the truth; a
//! notification only says that a look is worth it.

use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};
use watchdog_store::engine::{EventCursor, StoredEvent};

use crate::call_deadlines::CALL_DEADLINE;
use crate::fleet_error::FleetError;
use crate::server::{FleetServer, Repeat, SqlValue};
use crate::shared_store::stored_event;
use crate::shown_events::ShownEvents;

const NEWEST: &str = "SELECT seq FROM watchdog.event ORDER BY seq DESC LIMIT 1";

const AFTER: &str = "SELECT seq, id, at, worktree, spec, kind, data::text, machine FROM watchdog.event WHERE seq > $1 ORDER BY seq LIMIT $2";

const BACK: &str = "SELECT seq, id, at, worktree, spec, kind, data::text, machine FROM watchdog.event \
     WHERE seq <= $1 AND at >= $2 AND ($3::text[] IS NULL OR machine = ANY($3)) ORDER BY seq DESC LIMIT $4";

/// So many events are read at a time where it is looked whether the server has what was given out.
const KNOWN: u32 = 1_000;

/// Every look is at most so far from the next one where no notification can come.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// With notifications, a poll without one only finds those that got lost.
const POLL_ANYWAY: Duration = Duration::from_secs(5);

/// So many lost ones in a row, and none is to be expected: somebody in between keeps them.
const MOST_UNHEARD: u32 = 2;

/// The oldest instant that the server knows without a special word.
const FIRST: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// An event, and the machine that wrote it down.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetEvent {
    /// Its place among all events of the fleet.
    pub position: EventCursor,
    /// The machine's name in the fleet.
    pub machine: String,
    /// The event on that machine.
    pub event: StoredEvent,
}

fn machine_event(row: &Row) -> Result<FleetEvent, Error> {
    let (seq, event) = stored_event(row)?;
    Ok(FleetEvent {
        position: EventCursor(seq),
        machine: row.try_get(7)?,
        event,
    })
}

/// The place of the newest event; `None` where there is none.
///
/// # Errors
/// Fails if the server cannot be used.
pub fn newest_position(server: &FleetServer) -> Result<Option<EventCursor>, FleetError> {
    let position = server.call("look for the newest event", Repeat::Safe, async |call| {
        let row = call.client.query_typed_opt(NEWEST, &[]).await?;
        row.map(|row| row.try_get(0).map(EventCursor)).transpose()
    })?;
    Ok(position)
}

/// At most `limit` events after a place, in the order of the server.
///
/// # Errors
/// Fails if the server cannot be used.
pub fn events_after(
    server: &FleetServer,
    after: EventCursor,
    limit: u32,
) -> Result<Vec<FleetEvent>, FleetError> {
    let events = server.call("read the events", Repeat::Safe, async |call| {
        let rows = call
            .client
            .query_typed(
                AFTER,
                &[(&after.0, Type::INT8), (&i64::from(limit), Type::INT8)],
            )
            .await?;
        rows.iter().map(machine_event).collect()
    })?;
    Ok(events)
}

/// At most `limit` events up to a place, newest first: those that happened at `since` or later, on one of these machines; no machine stands
/// for every one.
///
/// # Errors
/// Fails if the server cannot be used.
pub fn events_back(
    server: &FleetServer,
    end: EventCursor,
    since: Option<Timestamp>,
    machines: &[String],
    limit: u32,
) -> Result<Vec<FleetEvent>, FleetError> {
    let since = since.map_or(FIRST, |since| since.max(FIRST));
    let machines = (!machines.is_empty()).then_some(machines);
    let events = server.call("read the events", Repeat::Safe, async |call| {
        let values: [SqlValue<'_>; 4] = [
            (&end.0, Type::INT8),
            (&since, Type::TIMESTAMPTZ),
            (&machines, Type::TEXT_ARRAY),
            (&i64::from(limit), Type::INT8),
        ];
        let rows = call.client.query_typed(BACK, &values).await?;
        rows.iter().map(machine_event).collect()
    })?;
    Ok(events)
}

/// Follows the events from a place on.
pub struct EventFollower<'a> {
    server: &'a FleetServer,
    position: EventCursor,
    shown: ShownEvents,
    /// The last wait ended without a notification.
    is_unasked: bool,
    /// How often in a row a look found what should have been notified of.
    unheard: u32,
}

impl<'a> EventFollower<'a> {
    /// Streams the events behind `position`.
    pub fn new(server: &'a FleetServer, position: EventCursor) -> Self {
        EventFollower {
            server,
            position,
            shown: ShownEvents::default(),
            is_unasked: false,
            unheard: 0,
        }
    }

    /// Looks whether the server has what was given out. If it lacks some, goes back to the newest
    /// that it has and returns `true`: the events written since follow, without those given out
    /// already. To be called first, and after each break.
    ///
    /// # Errors
    /// Fails if the server cannot be used: to be called again.
    pub fn resume(&mut self) -> Result<bool, FleetError> {
        let Some(((last, id), first)) = self.shown.last().zip(self.shown.first()) else {
            return self.begin();
        };
        let before = |position: EventCursor| EventCursor(position.0 - 1);
        let is_it =
            |fleet_event: &FleetEvent| fleet_event.position == last && fleet_event.event.id == id;
        if events_after(self.server, before(last), 1)?
            .first()
            .is_some_and(is_it)
        {
            return Ok(false);
        }
        let older = events_back(self.server, before(first), None, &[], 1)?
            .first()
            .map(|fleet_event| fleet_event.position);
        let (mut standing, mut read) = (0, before(first));
        let newer = loop {
            let events = events_after(self.server, read, KNOWN)?;
            let standing_count = self.shown.standing(
                standing,
                events
                    .iter()
                    .map(|fleet_event| (fleet_event.position, fleet_event.event.id.as_str())),
            );
            standing += standing_count;
            match events.last() {
                Some(last) if standing_count == events.len() => read = last.position,
                _ => {
                    break events
                        .get(standing_count)
                        .map(|fleet_event| fleet_event.position);
                }
            }
        };
        // If all remembered events went for their age, the server lost none.
        let is_lost = standing > 0 || older.is_some() || newer.is_some_and(|newer| newer <= last);
        self.position = self
            .shown
            .lose_behind(standing)
            .or(older)
            .unwrap_or(EventCursor::START);
        Ok(is_lost)
    }

    /// Remembers the events before the place that is followed from.
    fn begin(&mut self) -> Result<bool, FleetError> {
        let before = events_back(self.server, self.position, None, &[], KNOWN)?;
        for fleet_event in before.iter().rev() {
            self.shown.take(fleet_event.position, &fleet_event.event.id);
        }
        let newest = self.shown.last().map(|(position, _)| position);
        let is_lost = newest.is_some_and(|newest| newest < self.position);
        self.position = newest.unwrap_or(EventCursor::START);
        Ok(is_lost)
    }

    /// The next events, at most `limit`; empty where there are none yet.
    ///
    /// # Errors
    /// Fails if the server cannot be used: the next call reads from the same place.
    pub fn next_events(&mut self, limit: u32) -> Result<Vec<FleetEvent>, FleetError> {
        loop {
            let mut events = events_after(self.server, self.position, limit)?;
            let Some(last) = events.last() else {
                return Ok(events);
            };
            self.position = last.position;
            self.unheard += u32::from(std::mem::take(&mut self.is_unasked));
            events
                .retain(|fleet_event| self.shown.take(fleet_event.position, &fleet_event.event.id));
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }

    /// Waits until a look is worth it: for a notification on a connection of our own, a second behind a pooler.
    ///
    /// # Errors
    /// Fails if the server cannot be used.
    pub fn wait(&mut self) -> Result<(), FleetError> {
        if self.unheard >= MOST_UNHEARD || self.server.is_through_pooler() {
            thread::sleep(POLL_EVERY);
            return Ok(());
        }
        self.is_unasked = !self.server.wait_for_notice(POLL_ANYWAY)?;
        if !self.is_unasked {
            self.unheard = 0;
        }
        Ok(())
    }
}

impl FleetServer {
    /// Waits until somebody wrote events, for `at_most`; `false` where nobody said so. The first call on a connection returns at once, as
    /// events may have been written before it listened.
    fn wait_for_notice(&self, at_most: Duration) -> Result<bool, FleetError> {
        let is_notified = self.call_within(
            at_most + CALL_DEADLINE,
            "wait for events",
            Repeat::Safe,
            async |call| {
                if !*call.is_listening {
                    call.client.batch_execute("LISTEN watchdog_event").await?;
                    *call.is_listening = true;
                    return Ok(true);
                }
                Ok(timeout(at_most, call.woken.notified()).await.is_ok())
            },
        )?;
        Ok(is_notified)
    }
}
