//! Which events of an output are read: those of every dialect, of one, or those that the rules of a user's own preset speak of.

use std::sync::Arc;

use serde_json::Value;

use super::dialect::StreamDialect;
use super::event_reader::{apply_dialect_event, take_any};
use super::session_fold::SessionFold;
use super::stream_rules::{StreamFormat, StreamRules};

/// Which events a reader knows.
#[derive(Debug, Clone, Default)]
pub(super) enum ReaderFormat {
    /// Those of every dialect.
    #[default]
    Any,
    /// Those of one dialect.
    Dialect(StreamDialect),
    /// Those that these rules speak of, and no others.
    Rules(Arc<StreamRules>),
    /// The same, and those of every dialect that no rule speaks of: nobody knows whose output it is.
    RulesOrAny(Arc<StreamRules>),
}

/// Whose event was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakenEvent {
    /// A rule speaks of it.
    ByRule,
    /// An event of this dialect.
    OfDialect(StreamDialect),
}

impl TakenEvent {
    /// Its dialect; `None` where a rule speaks of it.
    pub fn dialect(self) -> Option<StreamDialect> {
        match self {
            TakenEvent::ByRule => None,
            TakenEvent::OfDialect(dialect) => Some(dialect),
        }
    }
}

impl From<&StreamFormat> for ReaderFormat {
    fn from(format: &StreamFormat) -> Self {
        match format {
            StreamFormat::Dialect(dialect) => ReaderFormat::Dialect(*dialect),
            StreamFormat::Rules(rules) => ReaderFormat::Rules(Arc::new(rules.clone())),
        }
    }
}

impl ReaderFormat {
    /// For an output that may be of any program: the rules of this block are read as well.
    pub fn of_anyone(configured: Option<&StreamFormat>) -> Self {
        match configured {
            Some(StreamFormat::Rules(rules)) => ReaderFormat::RulesOrAny(Arc::new(rules.clone())),
            Some(StreamFormat::Dialect(_)) | None => ReaderFormat::Any,
        }
    }

    /// The rules, where there are any.
    pub fn rules(&self) -> Option<&StreamRules> {
        match self {
            ReaderFormat::Rules(rules) | ReaderFormat::RulesOrAny(rules) => Some(rules),
            ReaderFormat::Any | ReaderFormat::Dialect(_) => None,
        }
    }

    /// Takes an event; `None` for one that is not read here.
    pub fn take(&self, gathered: &mut SessionFold, event: &Value) -> Option<TakenEvent> {
        let by_rule = |rules: &StreamRules, gathered: &mut SessionFold| {
            rules.take(gathered, event).then_some(TakenEvent::ByRule)
        };
        match self {
            ReaderFormat::Any => take_any(gathered, event).map(TakenEvent::OfDialect),
            ReaderFormat::Dialect(dialect) => apply_dialect_event(*dialect, gathered, event)
                .then_some(TakenEvent::OfDialect(*dialect)),
            ReaderFormat::Rules(rules) => by_rule(rules, gathered),
            ReaderFormat::RulesOrAny(rules) => by_rule(rules, gathered)
                .or_else(|| take_any(gathered, event).map(TakenEvent::OfDialect)),
        }
    }

    /// Whether an event of this kind is believed wherever it stands, as a person said that the program prints such.
    pub fn believes(&self, taken: TakenEvent) -> bool {
        match self {
            ReaderFormat::Any => false,
            ReaderFormat::Dialect(_) | ReaderFormat::Rules(_) => true,
            ReaderFormat::RulesOrAny(_) => taken == TakenEvent::ByRule,
        }
    }
}
