//! Metrics in the text format of Prometheus, version 0.0.4: what the node exporter's textfile collector and every scraper read. See
//! `docs/report.md`.

use std::fmt::Write as _;

/// Whether the values of a metric only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// They go up and down.
    Gauge,
    /// They only grow, but for a fresh start; the name ends with `_total`.
    Counter,
}

/// A metric with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSeries {
    /// The name, with its unit at the end.
    pub name: &'static str,
    /// Its meaning, in a sentence.
    pub help: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// The values, each with labels of its own. An unknown value has no sample.
    pub samples: Vec<MetricSample>,
}

/// A single value.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSample {
    /// Names and values of its labels.
    pub labels: Vec<(&'static str, String)>,
    /// The value, in base units: seconds, dollars, counts.
    pub value: f64,
}

impl MetricSeries {
    /// A gauge without samples.
    pub fn gauge(name: &'static str, help: &'static str) -> Self {
        MetricSeries {
            name,
            help,
            kind: MetricKind::Gauge,
            samples: Vec::new(),
        }
    }

    /// A counter without samples.
    pub fn counter(name: &'static str, help: &'static str) -> Self {
        MetricSeries {
            name,
            help,
            kind: MetricKind::Counter,
            samples: Vec::new(),
        }
    }

    /// Adds a sample.
    pub fn add(&mut self, labels: &[(&'static str, &str)], value: f64) {
        let labels = labels
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        self.samples.push(MetricSample { labels, value });
    }

    /// The same with one sample.
    pub fn with(mut self, labels: &[(&'static str, &str)], value: f64) -> Self {
        self.add(labels, value);
        self
    }
}

/// The text of these metrics. A metric without samples is left out.
pub fn metrics_text(series: &[MetricSeries]) -> String {
    let mut text = String::new();
    for metric in series.iter().filter(|metric| !metric.samples.is_empty()) {
        let kind = match metric.kind {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter => "counter",
        };
        let help = metric.help.replace('\\', "\\\\").replace('\n', "\\n");
        writeln!(
            text,
            "# HELP {} {help}\n# TYPE {} {kind}",
            metric.name, metric.name
        )
        .expect("a text takes everything");
        for sample in &metric.samples {
            text.push_str(metric.name);
            for (at, (name, value)) in sample.labels.iter().enumerate() {
                let opening = if at == 0 { '{' } else { ',' };
                write!(text, "{opening}{name}=\"{}\"", escape_label(value))
                    .expect("a text takes everything");
            }
            let closing = if sample.labels.is_empty() { "" } else { "}" };
            writeln!(text, "{closing} {}", sample.value).expect("a text takes everything");
        }
    }
    text
}

/// The value of a label: the format itself escapes three characters; what could steer a terminal that shows the file is escaped as well.
fn escape_label(value: &str) -> String {
    let shown = watchdog_facts::display::escape_for_display(value);
    shown
        .replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::super::metrics_text::*;

    #[test]
    fn metrics_carry_help_type_and_escaped_labels() {
        let mut worktrees = MetricSeries::gauge("watchdog_worktrees", "How many.\nBy \\ status.");
        worktrees.add(&[], 3.0);
        worktrees.add(&[("worktree", "/a \"b\"\\c\nd"), ("spec", "日本")], 0.25);
        let nothing = MetricSeries::counter("watchdog_nothing_total", "Nothing.");
        let sum = MetricSeries::counter("watchdog_tokens_total", "Tokens.")
            .with(&[("direction", "input")], 1_700_000_000_123.0);
        let text = "# HELP watchdog_worktrees How many.\\nBy \\\\ status.\n# TYPE watchdog_worktrees gauge\nwatchdog_worktrees 3\n\
                    watchdog_worktrees{worktree=\"/a \\\"b\\\"\\\\c\\nd\",spec=\"日本\"} 0.25\n\
                    # HELP watchdog_tokens_total Tokens.\n# TYPE watchdog_tokens_total counter\n\
                    watchdog_tokens_total{direction=\"input\"} 1700000000123\n";
        assert_eq!(metrics_text(&[worktrees, nothing, sum]), text);
    }
}
