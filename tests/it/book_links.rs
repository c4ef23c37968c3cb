//! The documentation as Markdown: every link leads somewhere, every page is in the book, every fence says what it is, and what pages quote
//! of the program is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::source_files::sources;

/// The languages of fences: `sh` runs as it stands (`typed_blocks` types it), `text` is shown only.
const LANGUAGES: [&str; 8] = [
    "sh", "text", "json", "markdown", "rust", "ini", "yaml", "toml",
];

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A page: what it can be linked to by, what it links to, and the languages of its fences.
#[derive(Default)]
struct MarkdownPage {
    anchors: BTreeSet<String>,
    headings: Vec<String>,
    links: Vec<String>,
    languages: Vec<String>,
}

/// As GitHub and mdBook make an anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c })
        .collect::<String>()
        .to_lowercase()
}

fn read(path: &Path) -> MarkdownPage {
    let text = fs::read_to_string(path).expect("a page is text");
    let mut page = MarkdownPage::default();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let words = heading.take().expect("it was begun");
                let (name, mut number) = (anchor(&words), 0);
                let mut free = name.clone();
                while !page.anchors.insert(free) {
                    number += 1;
                    free = format!("{name}-{number}");
                }
                page.headings.push(words);
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.into_string())
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                page.languages.push(language.into_string())
            }
            _ => {}
        }
    }
    page
}

/// Every page of the project, by its path from the top.
fn pages() -> BTreeMap<PathBuf, MarkdownPage> {
    let mut found = BTreeMap::new();
    let mut open = vec![top().join("docs")];
    let mut files: Vec<PathBuf> = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "scripts/README.md",
        "SECURITY.md",
    ]
    .iter()
    .map(|name| top().join(name))
    .collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of pages").flatten() {
            match entry.path() {
                path if path.is_dir() => open.push(path),
                path if path.extension().is_some_and(|extension| extension == "md") => {
                    files.push(path)
                }
                _ => {}
            }
        }
    }
    for file in files {
        found.insert(
            file.strip_prefix(top()).expect("below the top").to_owned(),
            read(&file),
        );
    }
    found
}

/// The path that a link leads to, from the top; `None` where it leaves the project.
fn resolved(page: &Path, target: &str) -> Option<PathBuf> {
    let mut path = page.parent().expect("a page is in a folder").to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir if !path.pop() => return None,
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    Some(path)
}

#[test]
fn every_link_leads_to_an_existing_heading() {
    let pages = pages();
    let (mut faults, mut count) = (Vec::new(), 0);
    for (name, page) in &pages {
        let local = page
            .links
            .iter()
            .filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
        for link in local {
            count += 1;
            let (target, fragment) = link.split_once('#').unwrap_or((link, ""));
            let path = if target.is_empty() {
                Some(name.clone())
            } else {
                resolved(name, target)
            };
            match path.filter(|path| top().join(path).exists()) {
                None => faults.push(format!("{}: {link}: there is no such file", name.display())),
                Some(path)
                    if !fragment.is_empty()
                        && !pages
                            .get(&path)
                            .is_some_and(|page| page.anchors.contains(fragment)) =>
                {
                    faults.push(format!(
                        "{}: {link}: there is no such heading",
                        name.display()
                    ));
                }
                Some(_) => {}
            }
        }
    }
    assert!(count > 200, "the links are found: {count}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn book_summary_names_every_page_once() {
    let pages = pages();
    let summary = Path::new("docs/SUMMARY.md");
    let mut named: Vec<PathBuf> = pages[summary]
        .links
        .iter()
        .filter_map(|link| resolved(summary, link))
        .collect();
    named.sort();
    let wanted: Vec<PathBuf> = pages
        .keys()
        .filter(|name| name.starts_with("docs") && *name != summary)
        .cloned()
        .collect();
    assert_eq!(named, wanted);
}

#[test]
fn every_fence_says_what_it_holds() {
    let mut faults = Vec::new();
    for (name, page) in pages() {
        let odd = page
            .languages
            .iter()
            .filter(|language| !LANGUAGES.contains(&language.as_str()));
        faults.extend(odd.map(|language| format!("{}: a fence of '{language}'", name.display())));
        let typed = name.starts_with("docs/recipes")
            || ["README.md", "docs/tutorial.md", "docs/hooks.md"]
                .iter()
                .any(|page| name == Path::new(page));
        if !typed && page.languages.iter().any(|language| language == "sh") {
            faults.push(format!(
                "{}: a fence of 'sh' that no test types; mark it as 'text'",
                name.display()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_explained_message_exists_in_the_program() {
    // A message may be continued on the next line of the source.
    let files = sources(&["src", "crates"]);
    let shipped: String = files.iter().map(|source| source.text.as_str()).collect();
    let said = regex::Regex::new(r"\\\n\s*")
        .expect("a fixed pattern")
        .replace_all(&shipped, "");
    let page = fs::read_to_string(top().join("docs/troubleshooting.md")).expect("a page");
    let messages: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
        .collect();
    assert!(
        messages.len() > 40,
        "the messages are found: {}",
        messages.len()
    );
    let pieces = messages
        .iter()
        .flat_map(|message| message.split('…'))
        .map(|piece| piece.trim_matches([' ', '\'']));
    let missing: Vec<&str> = pieces.filter(|piece| !said.contains(piece)).collect();
    assert!(
        missing.is_empty(),
        "docs/troubleshooting.md explains what no message says: {missing:#?}"
    );
}
