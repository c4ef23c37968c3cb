//! Events as lines for people: local times, the day where it changes, whose event it is, and a sentence.
//!
//! The order is that in which events were written. Times that go back are said: a clock was set, or an event was written late.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use unicode_width::UnicodeWidthStr as _;
use watchdog_facts::display::{cut_text, escape_to_one_line};
use watchdog_judge::clock::local_time::{format_day, local_time};
use watchdog_judge::wire::event_sentences::describe_event;
use watchdog_store::engine::StoredEvent;
use watchdog_view::wrapped_text::{without_end, wrap_line};

/// Names are aligned up to this width, so that one long name does not push all sentences away.
const NAME: usize = 24;

/// Events of several processes are written a little out of order; times that go back further are worth a word.
const OUT_OF_ORDER: i64 = 60;

/// How the lines are to look.
#[derive(Debug, Clone)]
pub struct EventLineStyle {
    /// The zone of the times.
    pub zone: TimeZone,
    /// The width of the terminal; `None` in a pipe, where each line is whole and has its day.
    pub room: Option<usize>,
    /// Whether sentences are shown whole in a terminal.
    pub whole: bool,
    /// The folders of worktrees by their ids, where events of several are shown.
    pub worktrees: Option<HashMap<String, PathBuf>>,
    /// Whether events of several machines are shown, each with its machine and folder in its data.
    pub of_fleet: bool,
}

/// Makes the lines, one event after the other.
pub struct EventLines {
    style: EventLineStyle,
    /// The columns of the names.
    width: usize,
    day: Option<Date>,
    last: Option<Timestamp>,
}

impl EventLines {
    /// Lines for events of which these are the first.
    pub fn new<'a>(style: EventLineStyle, first: impl Iterator<Item = &'a StoredEvent>) -> Self {
        let mut lines = EventLines {
            style,
            width: 0,
            day: None,
            last: None,
        };
        lines.width = first
            .map(|event| lines.name(event).width())
            .max()
            .unwrap_or(0)
            .clamp(4, NAME);
        lines
    }

    /// Whether the folder of this event's worktree is to be looked up first.
    pub fn lacks(&self, event: &StoredEvent) -> bool {
        self.style
            .worktrees
            .as_ref()
            .is_some_and(|folders| !folders.contains_key(&event.worktree))
    }

    /// Takes folders that became known.
    pub fn learn(&mut self, worktrees: HashMap<String, PathBuf>) {
        self.style
            .worktrees
            .get_or_insert_default()
            .extend(worktrees);
    }

    /// The lines about the next event.
    pub fn next(&mut self, event: &StoredEvent) -> Vec<String> {
        let at = event.at.to_zoned(self.style.zone.clone());
        let mut lines = Vec::new();
        if let Some(last) = self
            .last
            .filter(|last| event.at.duration_since(*last).as_secs() < -OUT_OF_ORDER)
        {
            let back = back_by(last.duration_since(event.at).as_secs());
            lines.push(format!(
                "  (times go back by {back}: a clock was set, or what follows was written late)"
            ));
        }
        self.last = Some(event.at);
        let clock = |instant: Timestamp| local_time(instant, &at);
        let sentence_text = escape_to_one_line(&describe_event(event, &clock));
        let name = self.name(event);
        let name = format!(
            "{name}{}",
            " ".repeat(self.width.saturating_sub(name.width()))
        );
        let Some(room) = self.style.room else {
            lines.push(format!(
                "{}  {name}  {sentence_text}",
                at.strftime("%Y-%m-%d %H:%M:%S%:z")
            ));
            return lines;
        };
        if self.day.replace(at.date()) != Some(at.date()) {
            lines.push(format_day(at.date()));
        }
        let line = format!("{}  {name}  {sentence_text}", at.strftime("%H:%M:%S"));
        match self.style.whole {
            true => lines.extend(wrap_line(&line, room, 8 + 2 + self.width + 2)),
            false => lines.push(without_end(&line, room)),
        }
        lines
    }

    /// The spec, and of which worktree where several are shown.
    fn name(&self, event: &StoredEvent) -> String {
        let spec = event
            .spec
            .as_deref()
            .map(|spec| cut_text(&escape_to_one_line(spec), 100))
            .unwrap_or_else(|| "-".to_owned());
        let there = |text: &str| escape_to_one_line(&cut_text(text, 100));
        let worktree_folders = self.style.worktrees.as_ref();
        let folder = match worktree_folders
            .and_then(|by_id| by_id.get(&event.worktree))
            .and_then(|path| path.file_name())
        {
            Some(folder) => escape_to_one_line(&folder.to_string_lossy()),
            None if self.style.of_fleet => match event.data["folder"]
                .as_str()
                .and_then(|folder| folder.rsplit('/').next())
            {
                Some(folder) => there(folder),
                None => there(&event.worktree.chars().take(8).collect::<String>()),
            },
            None if worktree_folders.is_none() => return spec,
            None => event.worktree.chars().take(8).collect(),
        };
        let name = if event.spec.is_none() || spec == folder {
            folder
        } else {
            format!("{folder}/{spec}")
        };
        match event.data["machine"]
            .as_str()
            .filter(|_| self.style.of_fleet)
        {
            Some(machine) => format!("{}: {name}", there(machine)),
            None => name,
        }
    }
}

fn back_by(seconds: i64) -> String {
    match seconds {
        ..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The zone of the times: that of this machine, or UTC.
pub fn choose_time_zone(utc: bool) -> TimeZone {
    if utc {
        TimeZone::UTC
    } else {
        Zoned::now().time_zone().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use watchdog_store::journal::new_event;

    fn style(room: Option<usize>) -> EventLineStyle {
        EventLineStyle {
            zone: TimeZone::fixed(jiff::tz::offset(2)),
            room,
            whole: false,
            worktrees: None,
            of_fleet: false,
        }
    }

    fn lines(style: EventLineStyle, events: &[StoredEvent]) -> Vec<String> {
        let mut lines = EventLines::new(style, events.iter());
        events.iter().flat_map(|event| lines.next(event)).collect()
    }

    fn degraded(at: &str, spec: Option<&str>, why: &str) -> StoredEvent {
        new_event(
            at.parse().unwrap(),
            "3f0c77aa99",
            spec,
            "degraded",
            json!({ "why": why }),
        )
    }

    #[test]
    fn terminal_shows_day_changes_and_backward_times() {
        let events = [
            degraded("2026-03-04T21:59:00Z", Some("auth"), "one"),
            degraded(
                "2026-03-04T22:00:00Z",
                None,
                "a rather long sentence that has no room there",
            ),
            degraded("2026-03-04T20:00:00Z", Some("日本"), "three"),
            degraded("2026-03-04T19:59:30Z", Some("日本"), "four"),
        ];
        let expected = [
            "Wednesday, 2026-03-04",
            "23:59:00  auth  warning: one",
            "Thursday, 2026-03-05",
            "00:00:00  -     warning: a rather long…",
            "  (times go back by 2 h: a clock was set, or what follows was written late)",
            "Wednesday, 2026-03-04",
            "22:00:00  日本  warning: three",
            "21:59:30  日本  warning: four",
        ];
        assert_eq!(lines(style(Some(40)), &events), expected);
    }

    #[test]
    fn pipe_gets_whole_lines_with_day_and_zone() {
        let why = "x ".repeat(200);
        let event_lines = lines(
            style(None),
            &[degraded("2026-03-04T21:59:00Z", Some("a\u{1b}[2J"), &why)],
        );
        assert_eq!(
            event_lines,
            [format!(
                "2026-03-04 23:59:00+02:00  a\\x1b[2J  warning: {}",
                why.trim()
            )]
        );
    }

    #[test]
    fn of_several_worktrees_each_line_says_which() {
        let worktrees = HashMap::from([("3f0c77aa99".to_owned(), PathBuf::from("/home/me/shop"))]);
        let other_event = StoredEvent {
            worktree: "0123456789ab".into(),
            ..degraded("2026-03-04T21:59:00Z", None, "x")
        };
        let events = [
            degraded("2026-03-04T21:59:00Z", Some("auth"), "x"),
            degraded("2026-03-04T21:59:00Z", Some("shop"), "x"),
            other_event,
        ];
        let event_lines = lines(
            EventLineStyle {
                worktrees: Some(worktrees),
                ..style(Some(80))
            },
            &events,
        );
        assert_eq!(
            event_lines[1..],
            [
                "23:59:00  shop/auth  warning: x",
                "23:59:00  shop       warning: x",
                "23:59:00  01234567   warning: x"
            ]
        );
    }

    #[test]
    fn lines_of_several_machines_are_named_and_harmless() {
        let of = |data| {
            new_event(
                "2026-03-04T21:59:00Z".parse().unwrap(),
                "3f0c77aa99",
                Some("auth"),
                "interrupted",
                data,
            )
        };
        let events = [
            of(json!({"machine": "build-1", "folder": "/home/me/shop"})),
            of(json!({"machine": "build-2", "folder": null})),
            of(json!({"machine": "\u{1b}[2J", "folder": "/x/\u{1b}]0;y"})),
        ];
        let event_lines = lines(
            EventLineStyle {
                of_fleet: true,
                ..style(Some(80))
            },
            &events,
        );
        let sentence_text = "a signal ended watchdog";
        let expected = [
            "build-1: shop/auth    ",
            "build-2: 3f0c77aa/auth",
            "\\x1b[2J: \\x1b]0;y/auth",
        ];
        assert_eq!(
            event_lines[1..],
            expected.map(|name| format!("23:59:00  {name}  {sentence_text}"))
        );
    }

    #[test]
    fn whole_sentence_continues_below() {
        let events = [degraded(
            "2026-03-04T21:59:00Z",
            Some("auth"),
            "a rather long sentence that goes on",
        )];
        let event_lines = lines(
            EventLineStyle {
                whole: true,
                ..style(Some(40))
            },
            &events,
        );
        assert_eq!(
            event_lines[1..],
            [
                "23:59:00  auth  warning: a rather long",
                "                sentence that goes on"
            ]
        );
    }
}
