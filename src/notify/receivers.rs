//! A message in the form that each service reads: escaped by the service's own rules, within its bounds. Pure.
//!
//! By the public documentation of Slack (incoming webhooks), Discord (execute webhook), Telegram (`sendMessage`) and ntfy (publish).

use serde_json::json;

use super::header_text::header_words;
use super::message::NoticeMessage;
use watchdog_core::config::message_template::{MessageForm, OwnTemplate, ReadyForm};

/// What Slack advises at most; it cuts far later.
const SLACK: usize = 3900;
/// Discord refuses longer contents.
const DISCORD: usize = 2000;
/// Telegram refuses longer texts.
const TELEGRAM: usize = 4096;
/// ntfy makes an attachment of what has more bytes.
const NTFY: usize = 4000;
/// Bounds of one value in the user's own template.
const VALUE: usize = 8000;
const TITLE: usize = 250;

/// A POST, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePost {
    /// Where to; the configured address, or without what stands in the body instead.
    pub url: String,
    /// Its bytes.
    pub body: String,
    /// The type of the body.
    pub content_type: &'static str,
    /// Names and values of further header lines.
    pub headers: Vec<(&'static str, String)>,
}

const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The request that brings a message to an address.
pub fn message_post(url: &str, form: &MessageForm, message: &NoticeMessage) -> MessagePost {
    let post = |body: String, content_type| MessagePost {
        url: url.to_owned(),
        body,
        content_type,
        headers: Vec::new(),
    };
    match form {
        MessageForm::Ready(ReadyForm::Slack) => {
            let text = laid_out(message, &escaped(&message.command, slack), SLACK, slack);
            // Else `*`, `_` and backticks in names would vanish into formatting.
            post(json!({"text": text, "mrkdwn": false}).to_string(), JSON)
        }
        MessageForm::Ready(ReadyForm::Discord) => {
            let text = laid_out(
                message,
                &discord_command(&message.command),
                DISCORD,
                discord,
            );
            // No name in it calls anybody, and no address in it is fetched for a preview.
            post(
                json!({"content": text, "allowed_mentions": {"parse": []}, "flags": 4}).to_string(),
                JSON,
            )
        }
        MessageForm::Ready(ReadyForm::Telegram) => {
            let text = laid_out(message, &message.command, TELEGRAM, plain);
            let (url, chat) = telegram_chat(url);
            let body = json!({"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": true}});
            MessagePost {
                url,
                ..post(body.to_string(), JSON)
            }
        }
        MessageForm::Ready(ReadyForm::Ntfy) => {
            let (priority, tag) = if message.needs_person {
                ("high", "warning")
            } else {
                ("default", "dog")
            };
            let title = within(&message.title, TITLE, &UTF16, plain);
            let headers = vec![
                ("title", header_words(&title).join(" ")),
                ("priority", priority.into()),
                ("tags", tag.into()),
            ];
            let body = below_title(message, &message.command, NTFY, &BYTES, plain);
            MessagePost {
                headers,
                ..post(body, PLAIN)
            }
        }
        MessageForm::Own(own) => post(
            filled(own, message),
            if own.is_json() { JSON } else { PLAIN },
        ),
    }
}

fn filled(own: &OwnTemplate, message: &NoticeMessage) -> String {
    own.fill(|name| within(&message.value(name), VALUE, &BYTES, plain))
}

/// How a service counts characters.
type CountOf = fn(char) -> usize;

/// The largest of the ways in which services count: whichever is theirs, it is kept.
const UTF16: CountOf = char::len_utf16;
const BYTES: CountOf = char::len_utf8;

/// How a character is written.
type EscapeOf = fn(char, &mut String);

fn plain(c: char, into: &mut String) {
    into.push(c);
}

fn slack(c: char, into: &mut String) {
    match c {
        '&' => into.push_str("&amp;"),
        '<' => into.push_str("&lt;"),
        '>' => into.push_str("&gt;"),
        c => into.push(c),
    }
}

/// Every mark of Discord's markdown, and what begins a mention or a custom emoji.
fn discord(c: char, into: &mut String) {
    if "\\*_~`|>#[]()<@:-".contains(c) {
        into.push('\\');
    }
    into.push(c);
}

/// A command in a block of code, from which it can be copied as it is.
fn discord_command(command: &str) -> String {
    if command.contains('`') {
        escaped(command, discord)
    } else {
        format!("```\n{command}\n```")
    }
}

fn escaped(text: &str, escape: EscapeOf) -> String {
    within(text, usize::MAX, &UTF16, escape)
}

/// Title, text and command.
fn laid_out(message: &NoticeMessage, command: &str, most: usize, escape: EscapeOf) -> String {
    let title = within(&message.title, TITLE, &UTF16, escape);
    let left = most.saturating_sub(counted(&title, &UTF16) + 1);
    format!(
        "{title}\n{}",
        below_title(message, command, left, &UTF16, escape)
    )
}

/// Text and command; the command whole, or not at all.
fn below_title(
    message: &NoticeMessage,
    command: &str,
    most: usize,
    count: &CountOf,
    escape: EscapeOf,
) -> String {
    let room = counted(command, count) + 2;
    if room > most / 2 {
        return within(&message.text, most, count, escape);
    }
    let text = within(&message.text, most - room, count, escape);
    format!("{text}\n\n{command}")
}

fn counted(text: &str, count: &CountOf) -> usize {
    text.chars().map(count).sum()
}

/// A text, escaped, of at most `most` characters as the service counts them. A cut is marked, and parts neither a character nor its escape.
fn within(text: &str, most: usize, count: &CountOf, escape: EscapeOf) -> String {
    const MARK: char = '…';
    let mut whole = String::with_capacity(text.len().min(most) + 16);
    // Where the mark would have to stand, if the rest does not fit.
    let (mut used, mut cut) = (0, 0);
    let mut one = String::new();
    for c in text.chars() {
        one.clear();
        escape(c, &mut one);
        used += counted(&one, count);
        if used > most {
            whole.truncate(cut);
            whole.push(MARK);
            return whole;
        }
        whole.push_str(&one);
        if used + count(MARK) <= most {
            cut = whole.len();
        }
    }
    whole
}

/// The address without `chat_id`, and the chat: in the body it is certain to be read.
fn telegram_chat(url: &str) -> (String, String) {
    let url = url.split('#').next().unwrap_or_default();
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let is_chat = |pair: &&str| pair.starts_with("chat_id=");
    let chat = query
        .split('&')
        .find(is_chat)
        .and_then(|pair| pair.split_once('='))
        .map_or("", |(_, chat)| chat);
    let rest: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !is_chat(pair))
        .collect();
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!("?{}", rest.join("&"))
    };
    (format!("{path}{rest}"), percent_decoded(chat))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[path = "receivers_tests.rs"]
mod tests;
