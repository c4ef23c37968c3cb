//! Questions to a person at a terminal, answered with arrow keys, space and enter. The only file that knows `inquire`.

use std::fmt;
use std::io::{IsTerminal as _, stderr, stdin};

use anstream::{AutoStream, ColorChoice};
use inquire::ui::RenderConfig;
use inquire::{Confirm, InquireError, MultiSelect, Select};

use watchdog_facts::display::escape_to_one_line;

/// Lines of a list that are shown at a time.
const PAGE: usize = 14;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum UnansweredPrompt {
    /// Ctrl-C, or Esc.
    #[error("stopped at a question")]
    Stopped,
    /// The terminal cannot be used.
    #[error("failed to ask in this terminal: {0}")]
    Unusable(InquireError),
}

impl From<InquireError> for UnansweredPrompt {
    fn from(error: InquireError) -> Self {
        match error {
            InquireError::OperationCanceled | InquireError::OperationInterrupted => {
                UnansweredPrompt::Stopped
            }
            other => UnansweredPrompt::Unusable(other),
        }
    }
}

/// A line of a list.
struct PromptLine(String);

impl fmt::Display for PromptLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether there is a person who can be asked: questions are written to stderr, and answers come from stdin.
pub fn can_ask() -> bool {
    stdin().is_terminal()
        && stderr().is_terminal()
        && std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

fn render_config<'a>() -> RenderConfig<'a> {
    match AutoStream::choice(&stderr()) {
        ColorChoice::Never => RenderConfig::empty(),
        _ => RenderConfig::default_colored(),
    }
}

fn build_prompt_lines(texts: impl IntoIterator<Item = String>) -> Vec<PromptLine> {
    texts
        .into_iter()
        .map(|text| PromptLine(escape_to_one_line(&text)))
        .collect()
}

/// Which of these; returns their places. `chosen` are those that are chosen at first.
pub fn choose_many(
    question: &str,
    texts: impl IntoIterator<Item = String>,
    chosen: &[usize],
) -> Result<Vec<usize>, UnansweredPrompt> {
    let short = |picked: &[inquire::list_option::ListOption<&PromptLine>]| {
        format!("{} chosen", picked.len())
    };
    let picked = MultiSelect::new(question, build_prompt_lines(texts))
        .with_default(chosen)
        .with_page_size(PAGE)
        .without_filtering()
        .with_formatter(&short)
        .with_help_message("↑↓ move, space choose, enter go on, Ctrl-C leaves all as it is")
        .with_render_config(render_config())
        .raw_prompt()?;
    Ok(picked.into_iter().map(|option| option.index).collect())
}

/// Which one of these; returns its place. The first is where it begins.
pub fn choose_one(
    question: &str,
    texts: impl IntoIterator<Item = String>,
) -> Result<usize, UnansweredPrompt> {
    let picked = Select::new(question, build_prompt_lines(texts))
        .without_filtering()
        .with_help_message("↑↓ move, enter choose, Ctrl-C leaves all as it is")
        .with_render_config(render_config())
        .raw_prompt()?;
    Ok(picked.index)
}

/// Yes or no; enter alone is `usual`.
pub fn ask_confirmation(question: &str, usual: bool) -> Result<bool, UnansweredPrompt> {
    let question = escape_to_one_line(question);
    Ok(Confirm::new(&question)
        .with_default(usual)
        .with_render_config(render_config())
        .prompt()?)
}
