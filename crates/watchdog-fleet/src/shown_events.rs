//! The events that a follower gave out last, so that it sees when its server lacks some of it: a
//! standby took over that did not have everything yet, or an older state was brought back. A lost
//! event comes again from its machine, under another number.

use std::collections::{HashSet, VecDeque};

use watchdog_store::engine::EventCursor;

/// So many are remembered: more than a standby is behind.
const MOST: usize = 10_000;

/// The events that were given out last.
#[derive(Debug, Default)]
pub(crate) struct ShownEvents {
    /// Position and id, in the order of the server.
    shown: VecDeque<(EventCursor, String)>,
    /// Those that the server lost since.
    lost: HashSet<String>,
}

impl ShownEvents {
    /// Takes an event that the server has; `false` where it was given out before the server lost it.
    pub(crate) fn take(&mut self, position: EventCursor, id: &str) -> bool {
        if self.shown.len() == MOST {
            self.shown.pop_front();
        }
        self.shown.push_back((position, id.to_owned()));
        !self.lost.remove(id)
    }

    /// The oldest that is remembered.
    pub(crate) fn first(&self) -> Option<EventCursor> {
        self.shown.front().map(|(position, _)| *position)
    }

    /// The newest one, with its id.
    pub(crate) fn last(&self) -> Option<(EventCursor, &str)> {
        self.shown
            .back()
            .map(|(position, id)| (*position, id.as_str()))
    }

    /// How many of the oldest ones, but for the first `known`, stand on the server, whose events from there on are these. A server writes
    /// them in one order: behind the first that is another one, nothing is as it was.
    pub(crate) fn standing<'a>(
        &self,
        skipped: usize,
        on_server: impl IntoIterator<Item = (EventCursor, &'a str)>,
    ) -> usize {
        let shown = self
            .shown
            .iter()
            .skip(skipped)
            .map(|(position, id)| (*position, id.as_str()));
        shown
            .zip(on_server)
            .take_while(|(shown, on_server)| shown == on_server)
            .count()
    }

    /// Notes that the server has only the `standing` oldest ones. Returns the position of the newest of them.
    pub(crate) fn lose_behind(&mut self, standing: usize) -> Option<EventCursor> {
        let lost = self.shown.split_off(standing.min(self.shown.len()));
        self.lost.extend(lost.into_iter().map(|(_, id)| id));
        self.last().map(|(position, _)| position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ids: &[(i64, &str)]) -> ShownEvents {
        let mut shown = ShownEvents::default();
        for (position, id) in ids {
            assert!(shown.take(EventCursor(*position), id), "{id} is new");
        }
        shown
    }

    fn at<'a>(events: &[(i64, &'a str)]) -> Vec<(EventCursor, &'a str)> {
        events
            .iter()
            .map(|(position, id)| (EventCursor(*position), *id))
            .collect()
    }

    #[test]
    fn standing_events_end_at_first_difference() {
        let shown = taken(&[(3, "a"), (5, "b"), (6, "c")]);
        let table: [(&[(i64, &str)], usize); 5] = [
            (&[(3, "a"), (5, "b"), (6, "c"), (7, "d")], 3),
            (&[(3, "a"), (5, "b")], 2),
            (&[(3, "a"), (5, "x"), (6, "c")], 1),
            (&[(3, "a"), (6, "b")], 1),
            (&[], 0),
        ];
        for (on_server, standing) in table {
            assert_eq!(shown.standing(0, at(on_server)), standing, "{on_server:?}");
        }
    }

    #[test]
    fn repeated_event_after_loss_is_skipped_once() {
        let mut shown = taken(&[(1, "a"), (2, "b"), (3, "c")]);
        assert_eq!(shown.lose_behind(1), Some(EventCursor(1)));
        assert!(shown.take(EventCursor(2), "new"));
        assert!(!shown.take(EventCursor(3), "c"));
        assert!(!shown.take(EventCursor(4), "b"));
        assert_eq!(shown.standing(1, at(&[(2, "new"), (3, "c"), (4, "b")])), 3);
        assert_eq!(shown.lose_behind(0), None);
        assert!(
            !shown.take(EventCursor(1), "new"),
            "a second loss is a loss as well"
        );
    }

    #[test]
    fn only_newest_ten_thousand_events_are_remembered() {
        let mut shown = ShownEvents::default();
        for position in 0..MOST as i64 + 5 {
            shown.take(EventCursor(position), &position.to_string());
        }
        assert_eq!(
            (shown.first(), shown.shown.len()),
            (Some(EventCursor(5)), MOST)
        );
    }
}
