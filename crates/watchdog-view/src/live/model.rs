//! The view's state, and a person's choices in it. Pure.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use unicode_width::UnicodeWidthStr as _;

use super::cells::{state_of, worktree_text};
use super::live_data::{
    DetailTab, LiveRowKey, PlannedDeed, RowFacts, RowQuery, SnapshotChoice, TabContent,
};
use crate::attention::AttentionRank;
use crate::overview::{StatusRow, count_rows};
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_judge::judge::live_session::SessionLiveness;

/// The order of the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// The rows that need a person first, as `watchdog status` has it.
    #[default]
    Attention,
    /// By path.
    Worktree,
    /// By the word of the state.
    State,
    /// The last change first.
    Newest,
    /// The session that has run longest first.
    Session,
}

impl ListOrder {
    /// Every order, in the order in which a key goes through them.
    pub const ALL: [ListOrder; 5] = [
        ListOrder::Attention,
        ListOrder::Worktree,
        ListOrder::State,
        ListOrder::Newest,
        ListOrder::Session,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            ListOrder::Attention => "attention",
            ListOrder::Worktree => "worktree",
            ListOrder::State => "state",
            ListOrder::Newest => "newest",
            ListOrder::Session => "session",
        }
    }
}

/// The filters that a key goes through; the first shows everything.
pub const FILTERS: [&str; 8] = [
    "all",
    "needs you",
    "running",
    "stalled",
    "incomplete",
    "complete",
    "not_judged",
    "gone",
];

/// The detail of one worktree.
#[derive(Debug, Clone, PartialEq)]
pub struct DetailPage {
    /// Which worktree.
    pub key: LiveRowKey,
    /// The page.
    pub tab: DetailTab,
    /// The content that was read; without it, the tab is not read yet.
    pub content: Option<TabContent>,
    /// The first line that is shown; at the end while `follow` is on.
    pub scroll: usize,
    /// Whether the last lines are shown, as they come.
    pub follow: bool,
    /// The chosen snapshot.
    pub chosen: usize,
    /// The difference that a snapshot makes, in place of the list; its lines once they are read.
    pub diff: Option<(SnapshotChoice, Option<TabContent>)>,
}

/// The overlay above everything else.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveOverlay {
    /// The keys.
    Help,
    /// The possible actions for a worktree, and the chosen line.
    Menu(Vec<PlannedDeed>, usize),
    /// The action that a confirmation runs; scrolled by so many lines.
    Confirm(Box<PlannedDeed>, usize),
    /// Something is read before it can be confirmed.
    Reading(String),
    /// The outcome of an action, or why there is none; scrolled by so many lines.
    Message(String, Vec<String>, usize),
}

/// The view.
#[derive(Debug, Default)]
pub struct LiveModel {
    /// Now, in the zone of this machine.
    pub now: Zoned,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Whether colours are shown.
    pub colour: bool,
    /// The home folder, which is shown as `~`.
    pub home: Option<PathBuf>,
    /// How commands to type begin.
    pub commands: WorktreeCommands,
    /// The words of `--only`: others are not shown at all.
    pub only: Vec<String>,
    /// Why nothing may be done from here.
    pub no_deeds: Option<String>,
    /// Every worktree, in the order of `watchdog status`.
    pub rows: Vec<StatusRow>,
    /// Whether the records were read once.
    pub loaded: bool,
    /// The facts of them that could not be read.
    pub notes: Vec<String>,
    /// Why they cannot be read now.
    pub store_error: Option<String>,
    /// How sessions are doing.
    pub sessions: HashMap<LiveRowKey, SessionLiveness>,
    /// The facts from git and logs.
    pub facts: HashMap<LiveRowKey, RowFacts>,
    /// How many rows need a person, in how many something runs, and how many have each status.
    pub counts: String,
    /// The folders that most of the listed worktrees have in common, as they are shown.
    pub common: String,
    /// The columns of the screen that the longest listed worktree and spec take.
    pub widest: [u16; 2],
    /// The rows that are shown, by their places in `rows`.
    pub order: Vec<usize>,
    /// The chosen row.
    pub selected: Option<LiveRowKey>,
    /// The first line of the list that is on the screen.
    pub top: usize,
    /// How the list is ordered.
    pub sort: ListOrder,
    /// Which filter is on, of [`FILTERS`].
    pub filter: usize,
    /// The search text.
    pub search: String,
    /// Whether it is being typed.
    pub typing: bool,
    /// The worktree that is shown in detail.
    pub detail: Option<DetailPage>,
    /// The overlay above it.
    pub overlay: Option<LiveOverlay>,
    /// The deed that is being done.
    pub busy: Option<String>,
}

impl LiveModel {
    /// A view that knows nothing yet.
    pub fn new(now: Zoned, size: (u16, u16), commands: WorktreeCommands) -> Self {
        LiveModel {
            now,
            size,
            commands,
            no_deeds: Some(
                "Who this terminal belongs to was not read yet; try again in a moment.".into(),
            ),
            ..LiveModel::default()
        }
    }

    /// The facts of git and the log about a row.
    pub fn row_facts(&self, row: &StatusRow) -> Option<&RowFacts> {
        self.facts.get(&LiveRowKey::from_row(row))
    }

    /// The row that is chosen in the list.
    pub fn selected_row(&self) -> Option<&StatusRow> {
        self.order
            .get(self.selected_at()?)
            .map(|at| &self.rows[*at])
    }

    /// Its place among the rows that are shown.
    pub fn selected_at(&self) -> Option<usize> {
        let key = self.selected.as_ref()?;
        self.order.iter().position(|at| self.is_row(*at, key))
    }

    /// The row of a key.
    pub fn row(&self, key: &LiveRowKey) -> Option<&StatusRow> {
        (0..self.rows.len())
            .find(|at| self.is_row(*at, key))
            .map(|at| &self.rows[at])
    }

    fn is_row(&self, at: usize, key: &LiveRowKey) -> bool {
        let row = &self.rows[at];
        // Byte by byte: both are what the same row had, and a list may be long.
        row.spec == key.spec && row.worktree.as_os_str() == key.worktree.as_os_str()
    }

    /// Takes new rows, with what is known of their sessions.
    pub fn take_rows(&mut self, rows: Vec<StatusRow>) {
        let was_at = self.selected_at();
        self.order.clear();
        self.rows = rows;
        for row in &mut self.rows {
            if row.session.is_some() && row.seen.is_none() {
                row.live = self.sessions.get(&LiveRowKey::from_row(row)).copied();
            }
        }
        self.loaded = true;
        self.arrange_around(was_at);
    }

    /// Filters, searches and sorts, and keeps what is chosen where it is still shown.
    pub fn arrange(&mut self) {
        self.arrange_around(self.selected_at());
    }

    /// The same; where what was chosen is shown no more, what stands in its place is chosen.
    fn arrange_around(&mut self, was_at: Option<usize>) {
        let mut counts = String::new();
        for (rank, what) in [
            (AttentionRank::Person, "to look at"),
            (AttentionRank::Running, "running"),
        ] {
            let is_it = |row: &&StatusRow| AttentionRank::from_row(row) == rank;
            let count = self.rows.iter().filter(is_it).count();
            if count > 0 {
                counts.push_str(&format!("{count} {what} · "));
            }
        }
        self.counts = counts + &count_rows(&self.rows);
        let words = self.search.to_lowercase();
        let mut order: Vec<usize> = (0..self.rows.len())
            .filter(|at| self.is_shown(&self.rows[*at], &words))
            .collect();
        match self.sort {
            ListOrder::Attention => {
                order.sort_by_key(|at| AttentionRank::from_row(&self.rows[*at]))
            }
            ListOrder::Worktree => {
                order.sort_by(|a, b| self.rows[*a].worktree.cmp(&self.rows[*b].worktree))
            }
            ListOrder::State => order.sort_by_key(|at| state_of(&self.rows[*at])),
            ListOrder::Newest => order.sort_by_key(|at| Reverse(last_change(&self.rows[*at]))),
            ListOrder::Session => order.sort_by_key(|at| {
                self.rows[*at]
                    .session
                    .as_ref()
                    .map_or(Timestamp::MAX, |it| it.started_at)
            }),
        }
        self.order = order;
        self.measure_columns();
        if self.selected_at().is_none() {
            let at = was_at.unwrap_or(0).min(self.order.len().saturating_sub(1));
            self.selected = self
                .order
                .get(at)
                .map(|at| LiveRowKey::from_row(&self.rows[*at]));
        }
        self.keep_in_sight();
    }

    /// Measures the paths and specs that are listed. The folders of the middle half are common ones, so that a few worktrees elsewhere change
    /// no cut.
    fn measure_columns(&mut self) {
        let rows = self.order.iter().map(|at| &self.rows[*at]);
        let texts = |row| (worktree_text(self, row), escape_to_one_line(&row.spec));
        let (mut paths, specs): (Vec<_>, Vec<_>) = rows.map(texts).unzip();
        let widest = [&paths, &specs].map(|texts| {
            let widest = texts.iter().map(|text| text.width()).max();
            u16::try_from(widest.unwrap_or(0)).unwrap_or(u16::MAX)
        });
        paths.sort_unstable();
        let text = |quarter: usize| paths.get(paths.len() * quarter / 4).map_or("", |path| path);
        let (first, last) = (Path::new(text(1)), Path::new(text(3)));
        let mut folders = first.ancestors().skip(1);
        let common = folders.find(|folder| last.starts_with(folder));
        let common = common.map(|folder| folder.display().to_string());
        (self.common, self.widest) = (common.unwrap_or_default(), widest);
    }

    fn is_shown(&self, row: &StatusRow, words: &str) -> bool {
        let filter = match FILTERS[self.filter] {
            "all" => true,
            "needs you" => row.needs_person(),
            word => row.words().contains(&word),
        };
        let matches_words = || {
            let has = |text: &str| text.to_lowercase().contains(words);
            has(&worktree_text(self, row))
                || has(&row.spec)
                || has(&state_of(row))
                || row.branch.as_deref().is_some_and(has)
        };
        row.is_one_of(&self.only) && filter && (words.is_empty() || matches_words())
    }

    /// Moves the list so that the chosen row is on the screen.
    pub fn keep_in_sight(&mut self) {
        let room = self.list_height();
        let at = self.selected_at().unwrap_or(0);
        self.top = self
            .top
            .min(at)
            .max((at + 1).saturating_sub(room))
            .min(self.order.len().saturating_sub(room));
    }

    /// Lines of the list that fit on the screen.
    pub fn list_height(&self) -> usize {
        usize::from(self.size.1)
            .saturating_sub(2 + usize::from(self.footer_height()))
            .max(1)
    }

    /// Lines below the list: what is known of the chosen row, where there is room for that, and the keys.
    pub fn footer_height(&self) -> u16 {
        match self.size.1 {
            0..=8 => 1,
            9..=15 => 2,
            _ => 4,
        }
    }

    /// Returns the queries that the rows on the screen need.
    pub fn queries(&self) -> Vec<RowQuery> {
        let query = |row: &StatusRow| RowQuery {
            key: LiveRowKey::from_row(row),
            baseline: row.baseline.clone(),
            readable: !row.gone && row.broken.is_none(),
            runs: row.runs(),
            log: row.session.as_ref().and_then(|session| session.log.clone()),
            agent: row
                .session
                .as_ref()
                .map(|session| (session.agent.clone(), session.read_as.clone()))
                .unwrap_or_default(),
            has_fallback: row
                .looped
                .as_ref()
                .is_some_and(|looped| looped.standing.agents.len() > 1),
            changed: last_change(row),
        };
        let shown = self
            .order
            .iter()
            .skip(self.top)
            .take(self.list_height())
            .map(|at| &self.rows[*at]);
        // No git and no log of another machine can be read.
        shown
            .filter(|row| row.machine.is_none())
            .map(query)
            .collect()
    }

    /// How long a time has passed since then.
    pub fn since(&self, at: Timestamp) -> Duration {
        Duration::try_from(self.now.timestamp().duration_since(at)).unwrap_or_default()
    }
}

/// When a row changed last, as far as its records tell.
pub fn last_change(row: &StatusRow) -> Timestamp {
    let judged = row.judged_at();
    row.session
        .as_ref()
        .map_or(judged, |session| session.started_at.max(judged))
}
