//! Frames of real records without a terminal, for the benchmark alone.

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::draw::draw_view;
use super::input::LiveInput;
use super::model::LiveModel;
use super::update::update_model;
use crate::PathFilter;
use crate::overview::gather_overview;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_judge::clock::{local_now, now};
use watchdog_store::{StateDir, StoreError, open_store};

/// A view of real records that is drawn into memory.
pub struct FrameBench {
    model: LiveModel,
    terminal: Terminal<TestBackend>,
}

impl FrameBench {
    /// Reads the records of a state directory for a terminal of this size.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    pub fn open(state: &StateDir, (columns, rows): (u16, u16)) -> Result<Self, StoreError> {
        let status_overview = gather_overview(
            open_store(state)?.as_ref(),
            state,
            &PathFilter::default(),
            now(),
        )?;
        let mut model = LiveModel::new(local_now(), (columns, rows), WorktreeCommands::default());
        model.colour = true;
        update_model(
            &mut model,
            LiveInput::Rows(status_overview.rows, status_overview.notes),
        );
        let Ok(terminal) = Terminal::new(TestBackend::new(columns, rows));
        Ok(FrameBench { model, terminal })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.model.rows.len()
    }

    /// Measures a key: the view takes it, and draws the cells that changed.
    pub fn scroll(&mut self) {
        update_model(&mut self.model, LiveInput::Key(KeyCode::PageDown));
        if self.model.selected_at() == Some(self.model.order.len().saturating_sub(1)) {
            update_model(&mut self.model, LiveInput::Key(KeyCode::Home));
        }
        let model = &self.model;
        let Ok(_) = self
            .terminal
            .draw(|frame| draw_view(model, frame.area(), frame.buffer_mut()));
    }
}
