//! The tasks and their dependencies as a picture, for Graphviz and for Mermaid.

use std::fmt::Write as _;

use super::dependencies::DependencyNode;
use watchdog_core::config::task_file::TaskStatus;

/// A task to be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskGraphNode {
    /// Its id, status and dependencies.
    pub link: DependencyNode,
    /// Its title.
    pub title: String,
}

fn choose_colour(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "#ffffff",
        TaskStatus::Blocked => "#d9d9d9",
        TaskStatus::Assigned | TaskStatus::InProgress => "#cfe2ff",
        TaskStatus::Review => "#fff3cd",
        TaskStatus::Failed => "#f8d7da",
        TaskStatus::Complete => "#d1e7dd",
    }
}

/// As Graphviz reads it: `watchdog task list --format dot | dot -Tsvg`. An arrow leads from what comes first to what waits for it.
pub fn render_dot(nodes: &[TaskGraphNode]) -> String {
    // Titles are untrusted text: a quote or a backslash would end the label.
    let quoted = |text: &str| {
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace(char::is_control, " ")
    };
    let mut text =
        String::from("digraph tasks {\n  rankdir=LR;\n  node [shape=box, style=filled];\n");
    for node in nodes {
        let (id, title) = (quoted(&node.link.id), quoted(&node.title));
        let (status, fill) = (node.link.status.as_str(), choose_colour(node.link.status));
        let _ = writeln!(
            text,
            "  \"{id}\" [label=\"{id}\\n{title}\\n{status}\", fillcolor=\"{fill}\"];"
        );
    }
    for missing in find_missing_ids(nodes) {
        let _ = writeln!(
            text,
            "  \"{0}\" [label=\"{0}\\nnot found\", style=dashed];",
            quoted(missing)
        );
    }
    for (before, after) in list_edges(nodes) {
        let _ = writeln!(text, "  \"{}\" -> \"{}\";", quoted(before), quoted(after));
    }
    text.push_str("}\n");
    text
}

/// As Mermaid reads it, such as in a README on GitHub.
pub fn render_mermaid(nodes: &[TaskGraphNode]) -> String {
    // Mermaid knows no escapes but those of HTML; anything that is no plain word goes in by its number.
    let quoted = |text: &str| {
        text.chars().fold(String::new(), |mut shown, c| {
            match c {
                c if c.is_alphanumeric() || " .,:;-_/()+'".contains(c) => shown.push(c),
                c if c.is_control() => shown.push(' '),
                c => {
                    let _ = write!(shown, "#{};", u32::from(c));
                }
            }
            shown
        })
    };
    let mut text = String::from("graph LR\n");
    // Ids may hold what Mermaid reads as its own syntax, so nodes have numbers.
    let number = |id: &str| nodes.iter().position(|node| node.link.id == id);
    let missing = find_missing_ids(nodes);
    let name = |id: &str| match number(id) {
        Some(n) => format!("t{n}"),
        None => format!(
            "m{}",
            missing
                .iter()
                .position(|missing| *missing == id)
                .unwrap_or_default()
        ),
    };
    for node in nodes {
        let (id, title, status) = (
            quoted(&node.link.id),
            quoted(&node.title),
            node.link.status.as_str(),
        );
        let _ = writeln!(
            text,
            "  {}[\"{id}: {title}<br/>{status}\"]",
            name(&node.link.id)
        );
        let _ = writeln!(
            text,
            "  style {} fill:{}",
            name(&node.link.id),
            choose_colour(node.link.status)
        );
    }
    for id in &missing {
        let _ = writeln!(text, "  {}[\"{}<br/>not found\"]", name(id), quoted(id));
    }
    for (before, after) in list_edges(nodes) {
        let _ = writeln!(text, "  {} --> {}", name(before), name(after));
    }
    text
}

fn list_edges(nodes: &[TaskGraphNode]) -> impl Iterator<Item = (&str, &str)> {
    nodes.iter().flat_map(|node| {
        node.link
            .depends_on
            .iter()
            .map(move |before| (before.as_str(), node.link.id.as_str()))
    })
}

fn find_missing_ids(nodes: &[TaskGraphNode]) -> Vec<&str> {
    let mut missing: Vec<&str> = list_edges(nodes)
        .map(|(before, _)| before)
        .filter(|id| nodes.iter().all(|node| node.link.id != *id))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn nodes() -> Vec<TaskGraphNode> {
        let node = |id: &str, title: &str, status, wanted: &[&str]| TaskGraphNode {
            link: DependencyNode {
                id: id.into(),
                status,
                depends_on: wanted.iter().map(ToString::to_string).collect(),
            },
            title: title.into(),
        };
        vec![
            node(
                "T1",
                "The \"schema\"\nand [more]",
                TaskStatus::Complete,
                &[],
            ),
            node("T2", "Login", TaskStatus::Blocked, &["T1", "NOPE"]),
        ]
    }

    #[test]
    fn graphviz_sees_ids_titles_statuses_and_arrows() {
        expect![[r##"
            digraph tasks {
              rankdir=LR;
              node [shape=box, style=filled];
              "T1" [label="T1\nThe \"schema\" and [more]\ncomplete", fillcolor="#d1e7dd"];
              "T2" [label="T2\nLogin\nblocked", fillcolor="#d9d9d9"];
              "NOPE" [label="NOPE\nnot found", style=dashed];
              "T1" -> "T2";
              "NOPE" -> "T2";
            }
        "##]]
        .assert_eq(&render_dot(&nodes()));
    }

    #[test]
    fn mermaid_graph_escapes_all_syntax() {
        expect![[r##"
            graph LR
              t0["T1: The #34;schema#34; and #91;more#93;<br/>complete"]
              style t0 fill:#d1e7dd
              t1["T2: Login<br/>blocked"]
              style t1 fill:#d9d9d9
              m0["NOPE<br/>not found"]
              t0 --> t1
              m0 --> t1
        "##]]
        .assert_eq(&render_mermaid(&nodes()));
    }
}
