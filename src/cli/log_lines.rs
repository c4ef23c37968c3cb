//! The lines of the log, for people or as JSON. Whatever an event holds is masked, cut and made harmless here, once for all.

use std::fmt::{self, Write as _};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use watchdog_facts::display::{cut_text, escape_to_one_line};
use watchdog_facts::secret_shapes::mask_secrets;

use super::args_global::LogFormat;
use super::log_writer::LogWriter;
use super::terminal::escape_control_characters;

/// How much of one value is shown, in bytes.
const LONGEST: usize = 1000;

/// Writes a line to stderr for each event that the filter takes.
pub(super) struct LogLines {
    filter: Targets,
    format: LogFormat,
    colours: bool,
    writer: LogWriter,
    /// Lines that could not be written since the last one that was.
    lost: AtomicU64,
}

/// The fields of an event or a span, in order.
#[derive(Default)]
struct LogFields {
    message: String,
    values: Vec<(&'static str, Value)>,
}

/// A line before it is written.
struct LogLine<'a> {
    level: Level,
    target: &'a str,
    fields: LogFields,
    /// The names of the spans around it, the outermost first, and what they hold.
    spans: Vec<(&'static str, Vec<(&'static str, Value)>)>,
}

impl LogLines {
    /// Lines of what `filter` takes.
    pub(super) fn new(filter: Targets, format: LogFormat) -> Self {
        let colours =
            format == LogFormat::Text && AutoStream::choice(&io::stderr()) != ColorChoice::Never;
        LogLines {
            filter,
            format,
            colours,
            writer: LogWriter::default(),
            lost: AtomicU64::new(0),
        }
    }

    fn write(&self, line: &LogLine<'_>) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let mut text = String::new();
        if lost > 0 {
            let fields = LogFields {
                message: "lines of this log are lost: stderr was full".into(),
                values: vec![("lost", lost.into())],
            };
            text = self.text_of(&LogLine {
                level: Level::WARN,
                target: "watchdog",
                fields,
                spans: Vec::new(),
            });
        }
        text.push_str(&self.text_of(line));
        if !self.writer.write(text.as_bytes()) {
            self.lost.fetch_add(lost + 1, Ordering::Relaxed);
        }
    }

    fn text_of(&self, line: &LogLine<'_>) -> String {
        match self.format {
            LogFormat::Text => line.for_people(self.colours),
            LogFormat::Json => line.for_programs(),
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogLines {
    /// Spans are always kept: whatever is logged within one names it.
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.is_span()
            || self
                .filter
                .would_enable(metadata.target(), metadata.level())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let most = self.filter.iter().map(|(_, level)| level).max();
        Some(most.unwrap_or(LevelFilter::OFF).max(LevelFilter::INFO))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = LogFields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<LogFields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = LogFields::default();
        event.record(&mut fields);
        let around = context
            .event_scope(event)
            .into_iter()
            .flat_map(|scope| scope.from_root());
        let spans = around.map(|span| {
            let values = span
                .extensions()
                .get::<LogFields>()
                .map(|fields| fields.values.clone());
            (span.name(), values.unwrap_or_default())
        });
        let spans = spans.collect();
        let metadata = event.metadata();
        self.write(&LogLine {
            level: *metadata.level(),
            target: metadata.target(),
            fields,
            spans,
        });
    }
}

impl LogLine<'_> {
    /// `12:34:56.789 INFO  decision gives a verdict status=complete … judgement{worktree=… spec=…}`.
    fn for_people(&self, colours: bool) -> String {
        let style = |style: Style| if colours { style } else { Style::new() };
        let dim = style(Style::new().dimmed());
        let level = style(match self.level {
            Level::ERROR | Level::WARN => AnsiColor::Yellow.on_default(),
            Level::INFO => AnsiColor::Green.on_default(),
            _ => AnsiColor::Blue.on_default(),
        });
        let time = jiff::Zoned::now().strftime("%H:%M:%S%.3f").to_string();
        let target = self
            .target
            .strip_prefix("watchdog::")
            .unwrap_or(self.target);
        let message = escape_to_one_line(&self.fields.message);
        let mut text = format!(
            "{dim}{time}{dim:#} {level}{:<5}{level:#} {target:<8} {message}",
            self.level
        );
        for (name, value) in &self.fields.values {
            let _ = write!(text, " {dim}{name}={dim:#}{}", word_of_value(value));
        }
        for (name, values) in &self.spans {
            let span_fields: Vec<String> = values
                .iter()
                .map(|(name, value)| format!("{name}={}", word_of_value(value)))
                .collect();
            let _ = write!(text, " {dim}{name}{{{}}}{dim:#}", span_fields.join(" "));
        }
        text.push('\n');
        text
    }

    /// Writes an object: `timestamp`, `level`, `target`, `message`, `fields`, `span`.
    fn for_programs(&self) -> String {
        let object = |values: &[(&'static str, Value)]| -> serde_json::Map<String, Value> {
            values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect()
        };
        // An inner span says it more exactly.
        let span = self.spans.last().map(|(name, _)| {
            let mut span_fields: serde_json::Map<String, Value> = self
                .spans
                .iter()
                .flat_map(|(_, values)| object(values))
                .collect();
            span_fields.insert("name".into(), (*name).into());
            span_fields
        });
        let line = json!({
            "timestamp": jiff::Timestamp::now().to_string(),
            "level": self.level.as_str(),
            "target": self.target,
            "message": self.fields.message,
            "fields": object(&self.fields.values),
            "span": span,
        });
        escape_control_characters(line.to_string()) + "\n"
    }
}

/// A value as one word of a line for people.
fn word_of_value(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let plain = !text.is_empty()
                && !text
                    .chars()
                    .any(|c| c.is_whitespace() || c == '"' || c == '=');
            let text = if plain {
                text.clone()
            } else {
                format!("\"{}\"", text.replace('"', "\\\""))
            };
            escape_to_one_line(&text)
        }
        other => other.to_string(),
    }
}

impl LogFields {
    fn push(&mut self, field: &Field, value: Value) {
        self.values.retain(|(name, _)| *name != field.name());
        self.values.push((field.name(), value));
    }

    fn push_text(&mut self, field: &Field, text: &str) {
        // Masked before it is cut: half a secret has no shape.
        let text = cut_text(&mask_secrets(text), LONGEST);
        match field.name() {
            "message" => self.message = text,
            _ => self.push(field, Value::String(text)),
        }
    }
}

impl Visit for LogFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push_text(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push_text(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> LogLine<'static> {
        let values = vec![
            ("status", json!("complete")),
            ("why", json!("two \"words\"\n\u{1b}[31m")),
            ("n", json!(2)),
        ];
        let spans = vec![
            (
                "judgement",
                vec![("worktree", json!("/w")), ("spec", json!("outer"))],
            ),
            ("session", vec![("spec", json!("a b"))]),
        ];
        LogLine {
            level: Level::INFO,
            target: "watchdog::git",
            fields: LogFields {
                message: "read it".into(),
                values,
            },
            spans,
        }
    }

    #[test]
    fn line_for_people_is_single_and_harmless() {
        let text = line().for_people(false);
        let after_time = text
            .split_once(' ')
            .map(|(_, rest)| rest)
            .unwrap_or_default();
        let expected = concat!(
            "INFO  git      read it status=complete why=\"two \\\"words\\\"\\n\\x1b[31m\" n=2",
            " judgement{worktree=/w spec=outer} session{spec=\"a b\"}\n"
        );
        assert_eq!(after_time, expected);
        assert!(line().for_people(true).contains("\u{1b}[32mINFO"));
    }

    #[test]
    fn a_line_for_programs_is_one_object() {
        let text = line().for_programs();
        let object: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (object["level"].as_str(), object["target"].as_str()),
            (Some("INFO"), Some("watchdog::git"))
        );
        assert_eq!(
            object["span"],
            json!({"name": "session", "worktree": "/w", "spec": "a b"})
        );
        assert_eq!(object["fields"]["n"], 2);
        assert!(
            object["timestamp"]
                .as_str()
                .is_some_and(|at| at.parse::<jiff::Timestamp>().is_ok()),
            "{text}"
        );
        assert!(text.ends_with("}\n") && text.lines().count() == 1);
    }
}
