//! `watchdog man`: a page for each command, made from the command line's own definition, and one for `completion.json`, made from
//! docs/configuration.md. Both stay in step with the thing they describe.

use std::fs;
use std::path::Path;

use clap::Command;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use roff::{Inline, Roff, bold, italic, roman};

use crate::cli::args::ManArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use crate::cli::{help, result_output, version};
use watchdog_core::config::nearest_hint;
use watchdog_facts::display::plural;

const CONFIGURATION: &str = include_str!("../../../docs/configuration.md");

/// The name of the page about the configuration.
const CONFIGURATION_PAGE: &str = "completion.json";

/// A page: the section of the manual that it is in, its name, and its text.
struct ManualPage {
    section: u8,
    name: String,
    text: Vec<u8>,
}

/// Prints one page, or writes all of them into a folder.
pub fn run_man_command(terminal: &CommandTerminal, args: &ManArgs) -> Result<u8, CommandFailure> {
    let pages = build_manual_pages().map_err(|error| {
        CommandFailure::usage(format!("failed to make the manual pages: {error}"))
    })?;
    if let Some(dir) = &args.dir {
        let write = |page: &ManualPage| write_into(dir, page);
        pages.iter().try_for_each(write).map_err(|error| {
            let failure = CommandFailure::usage(format!(
                "failed to write the manual pages into {}: {error}",
                dir.display()
            ));
            failure.hint("name a folder that you may write to, such as ~/.local/share/man")
        })?;
        terminal.line(&format!(
            "{} written into {}",
            plural(pages.len() as u64, "page"),
            dir.display()
        ));
        return Ok(0);
    }
    let name = match args.page.join("-") {
        page if page.is_empty() => "watchdog".to_owned(),
        page if page == CONFIGURATION_PAGE || page.starts_with("watchdog") => page,
        page => format!("watchdog-{page}"),
    };
    let Some(page) = pages.iter().find(|page| page.name == name) else {
        let page_names = pages
            .iter()
            .map(|page| page.name.strip_prefix("watchdog-").unwrap_or(&page.name));
        let near = nearest_hint(&args.page.join("-"), page_names);
        return Err(CommandFailure::usage(format!(
            "there is no page '{}'{near}",
            args.page.join(" ")
        ))
        .hint("the commands: watchdog --help"));
    };
    // A reader that went away (a pager that was quit) is no fault of ours.
    let _ = result_output::write_result(&mut std::io::stdout().lock(), &page.text);
    Ok(0)
}

fn write_into(dir: &Path, page: &ManualPage) -> std::io::Result<()> {
    let folder = dir.join(format!("man{}", page.section));
    fs::create_dir_all(&folder)?;
    fs::write(
        folder.join(format!("{}.{}", page.name, page.section)),
        &page.text,
    )
}

fn build_manual_pages() -> std::io::Result<Vec<ManualPage>> {
    let mut whole = all_shown(help::build_arranged_command());
    whole.build();
    let mut pages = vec![configuration_page()?];
    of_command(&whole, &mut pages)?;
    Ok(pages)
}

/// A page has all options with their words, also those that `-h` leaves out.
fn all_shown(command: Command) -> Command {
    command
        .mut_args(|arg| arg.hide_short_help(false))
        .mut_subcommands(all_shown)
}

fn of_command(command: &Command, pages: &mut Vec<ManualPage>) -> std::io::Result<()> {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
        .to_owned();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .manual("watchdog")
        .render(&mut text)?;
    pages.push(ManualPage {
        section: 1,
        name,
        text,
    });
    command
        .get_subcommands()
        .try_for_each(|sub| of_command(sub, pages))
}

/// The page about the configuration, from the Markdown that people read on the web.
fn configuration_page() -> std::io::Result<ManualPage> {
    let mut page = Roff::new();
    page.control(
        "TH",
        [
            CONFIGURATION_PAGE,
            "5",
            "",
            version::format_short_version(),
            "watchdog",
        ],
    );
    page.control("SH", ["NAME"]);
    page.text([roman(
        "completion.json - what watchdog takes for done, whom it asks, and where its limits are",
    )]);
    let mut inline: Vec<Inline> = Vec::new();
    let (mut emphasis, mut in_code, mut cell) = (0_u32, false, 0);
    let end_line = |page: &mut Roff, inline: &mut Vec<Inline>| {
        if !inline.is_empty() {
            page.text(std::mem::take(inline));
        }
    };
    for event in Parser::new_ext(CONFIGURATION, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Paragraph) => _ = page.control("PP", []),
            Event::Start(Tag::Item) => _ = page.control("IP", ["\\(bu", "2"]),
            Event::Start(Tag::CodeBlock(_)) => {
                in_code = true;
                page.control("PP", []);
                page.control("nf", []);
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                cell = 0;
                page.control("TP", []);
            }
            Event::Start(Tag::Strong | Tag::Emphasis) => emphasis += 1,
            Event::End(TagEnd::Strong | TagEnd::Emphasis) => emphasis -= 1,
            Event::End(TagEnd::TableCell) => {
                // The first cell is the tag of the row, the others are its text.
                if cell > 0 {
                    inline.push(roman(". "));
                } else {
                    end_line(&mut page, &mut inline);
                }
                cell += 1;
            }
            Event::End(TagEnd::CodeBlock) => {
                in_code = false;
                end_line(&mut page, &mut inline);
                page.control("fi", []);
            }
            Event::End(TagEnd::Heading(_)) => {
                let words: String = inline.drain(..).map(words_of).collect();
                page.control("SH", [words.to_uppercase().as_str()]);
            }
            Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableHead | TagEnd::TableRow) => {
                end_line(&mut page, &mut inline)
            }
            Event::Text(text) if in_code => {
                text.lines().for_each(|line| _ = page.text([roman(line)]))
            }
            Event::Text(text) if emphasis > 0 => inline.push(italic(text.to_string())),
            Event::Text(text) => inline.push(roman(text.to_string())),
            Event::Code(text) => inline.push(bold(text.to_string())),
            Event::SoftBreak | Event::HardBreak => inline.push(roman(" ")),
            _ => {}
        }
    }
    let mut text = Vec::new();
    page.to_writer(&mut text)?;
    Ok(ManualPage {
        section: 5,
        name: CONFIGURATION_PAGE.to_owned(),
        text,
    })
}

fn words_of(inline: Inline) -> String {
    match inline {
        Inline::Roman(text) | Inline::Bold(text) | Inline::Italic(text) => text,
        Inline::LineBreak => " ".into(),
    }
}
