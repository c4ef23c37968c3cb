//! `watchdog init`: looks at a project and proposes a first configuration.
//!
//! Reading order: [`facts`] (what was found), `read_project` (the look, with `read_builds`, `folder_reader`, `test_search` and
//! `file_words`; files of other programs by `read_foreign`, `ralph_settings` and `plain_form`), [`proposed`] and [`proposal`] (what fits it, a total function,
//! with `build_checks`), [`file_text`] (the file, read again before it is written), `first_run` (its commands, once each).

mod build_checks;
mod facts;
mod file_text;
mod file_words;
mod first_run;
mod folder_reader;
mod foreign_file;
mod plain_form;
mod proposal;
mod proposed;
mod ralph_settings;
mod read_builds;
mod read_foreign;
mod read_project;
mod test_search;

pub use facts::ProjectFacts;
pub use file_text::file_text;
pub use first_run::{FirstRun, first_run, runnable};
pub use foreign_file::ForeignSetting;
pub use proposal::proposal;
pub use proposed::{ChosenConfig, ConfigProposal, ProposedTakeover};
pub use read_project::{CRON_PATH, is_in_path, read_project};
