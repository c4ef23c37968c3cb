//! A message in the form that each service reads: escaped by the service's own rules, within its bounds. Pure.
//!
//! By the public documentation of Slack (incoming webhooks), Discord (execute webhook), Telegram (`sendMessage`) and ntfy (publish).

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::mail::header_words;
use super::message::NoticeMessage;
use watchdog_core::config::message_template::{MessageForm, ReadyForm};

/// Bounds of one value in the user's own template, and of a title.
const VALUE: usize = 8000;
const TITLE: usize = 250;

/// A POST, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePost {
    /// The receiver's address; the configured one, or without the parts that stand in the body
    /// instead.
    pub url: String,
    /// Its bytes.
    pub body: String,
    /// The type of the body.
    pub content_type: &'static str,
    /// Names and values of further header lines.
    pub headers: Vec<(&'static str, String)>,
}

pub const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";

/// How a service whose messages are JSON reads them.
struct JsonMessageForm {
    /// The body with a text and a chat.
    body: fn(text: &Value, chat: &Value) -> String,
    /// Whether the chat of the address goes there.
    has_chat: bool,
    /// The longest text that it takes, in UTF-16 units.
    longest: usize,
    escape: EscapeOf,
    command: fn(&str) -> String,
}

/// It advises this length, and cuts far later. Without `mrkdwn`, as `*`, `_` and backticks in names would vanish into formatting.
const SLACK: JsonMessageForm = JsonMessageForm {
    body: |text, _| format!(r#"{{"mrkdwn":false,"text":{text}}}"#),
    has_chat: false,
    longest: 3900,
    escape: escape_slack,
    command: |command| escape_text(command, escape_slack),
};

/// It refuses longer contents. No name in it calls anybody, and no address in it is fetched for a preview.
const DISCORD: JsonMessageForm = JsonMessageForm {
    body: |text, _| format!(r#"{{"allowed_mentions":{{"parse":[]}},"content":{text},"flags":4}}"#),
    has_chat: false,
    longest: 2000,
    escape: escape_discord,
    command: discord_command,
};

/// It refuses longer texts. The chat stands in the body, where it is certain to be read.
const TELEGRAM: JsonMessageForm = JsonMessageForm {
    body: |text, chat| {
        format!(
            r#"{{"chat_id":{chat},"link_preview_options":{{"is_disabled":true}},"text":{text}}}"#
        )
    },
    has_chat: true,
    longest: 4096,
    escape: push_plain,
    command: str::to_owned,
};

/// ntfy makes an attachment of a text with more bytes.
const NTFY: usize = 4000;

/// The request that brings a message to an address.
pub fn message_post(url: &str, form: &MessageForm, message: &NoticeMessage) -> MessagePost {
    let mut post = MessagePost {
        url: url.to_owned(),
        body: String::new(),
        content_type: JSON,
        headers: Vec::new(),
    };
    let service = match form {
        MessageForm::Ready(ReadyForm::Slack) => SLACK,
        MessageForm::Ready(ReadyForm::Discord) => DISCORD,
        MessageForm::Ready(ReadyForm::Telegram) => TELEGRAM,
        MessageForm::Ready(ReadyForm::Ntfy) => {
            let (priority, tag) = match message.needs_person {
                true => ("high", "warning"),
                false => ("default", "dog"),
            };
            let title = cut_to_limit(&message.title, TITLE, &UTF16, push_plain);
            post.headers = vec![
                ("title", header_words(&title).join(" ")),
                ("priority", priority.into()),
                ("tags", tag.into()),
            ];
            post.body = below_title(message, &message.command, NTFY, &BYTES, push_plain);
            post.content_type = PLAIN;
            return post;
        }
        MessageForm::Own(own) => {
            post.body =
                own.fill(|name| cut_to_limit(&message.value(name), VALUE, &BYTES, push_plain));
            if !own.is_json() {
                post.content_type = PLAIN;
            }
            return post;
        }
    };
    let mut chat = String::new();
    if service.has_chat {
        (post.url, chat) = telegram_chat(url);
    }
    post.body = (service.body)(&laid_out(message, &service).into(), &chat.into());
    post
}

/// How a service counts characters.
type CountOf = fn(char) -> usize;

/// The largest of the ways in which services count: whichever is theirs, it is kept.
const UTF16: CountOf = char::len_utf16;
const BYTES: CountOf = char::len_utf8;

/// How a character is written.
type EscapeOf = fn(char, &mut String);

fn push_plain(c: char, into: &mut String) {
    into.push(c);
}

fn escape_slack(c: char, into: &mut String) {
    match c {
        '&' => into.push_str("&amp;"),
        '<' => into.push_str("&lt;"),
        '>' => into.push_str("&gt;"),
        c => into.push(c),
    }
}

/// Every mark of Discord's markdown, and what begins a mention or a custom emoji.
fn escape_discord(c: char, into: &mut String) {
    if "\\*_~`|>#[]()<@:-".contains(c) {
        into.push('\\');
    }
    into.push(c);
}

/// A command in a block of code, from which it can be copied as it is.
fn discord_command(command: &str) -> String {
    if command.contains('`') {
        escape_text(command, escape_discord)
    } else {
        format!("```\n{command}\n```")
    }
}

fn escape_text(text: &str, escape: EscapeOf) -> String {
    cut_to_limit(text, usize::MAX, &UTF16, escape)
}

/// Title, text and command.
fn laid_out(message: &NoticeMessage, service: &JsonMessageForm) -> String {
    let title = cut_to_limit(&message.title, TITLE, &UTF16, service.escape);
    let room = service
        .longest
        .saturating_sub(count_characters(&title, &UTF16) + 1);
    let command = (service.command)(&message.command);
    let text = below_title(message, &command, room, &UTF16, service.escape);
    format!("{title}\n{text}")
}

/// Text and command; the command whole, or not at all.
fn below_title(
    message: &NoticeMessage,
    command: &str,
    most: usize,
    count: &CountOf,
    escape: EscapeOf,
) -> String {
    let room = count_characters(command, count) + 2;
    if room > most / 2 {
        return cut_to_limit(&message.text, most, count, escape);
    }
    let text = cut_to_limit(&message.text, most - room, count, escape);
    format!("{text}\n\n{command}")
}

fn count_characters(text: &str, count: &CountOf) -> usize {
    text.chars().map(count).sum()
}

/// A text, escaped, of at most `most` characters as the service counts them. A cut is marked, and parts neither a character nor its escape.
fn cut_to_limit(text: &str, most: usize, count: &CountOf, escape: EscapeOf) -> String {
    const MARK: char = '…';
    let mut whole = String::with_capacity(text.len().min(most) + 16);
    // The place for the mark, if the rest does not fit.
    let (mut used, mut cut) = (0, 0);
    let mut escaped = String::new();
    for c in text.chars() {
        escaped.clear();
        escape(c, &mut escaped);
        used += count_characters(&escaped, count);
        if used > most {
            whole.truncate(cut);
            whole.push(MARK);
            return whole;
        }
        whole.push_str(&escaped);
        if used + count(MARK) <= most {
            cut = whole.len();
        }
    }
    whole
}

/// The address without `chat_id`, and the chat.
fn telegram_chat(url: &str) -> (String, String) {
    let url = url.split('#').next().unwrap_or_default();
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let (chats, pairs): (Vec<&str>, Vec<&str>) = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .partition(|pair| pair.starts_with("chat_id="));
    let chat = chats.first().map_or("", |pair| &pair["chat_id=".len()..]);
    let url = match pairs.as_slice() {
        [] => path.to_owned(),
        pairs => format!("{path}?{}", pairs.join("&")),
    };
    (url, percent_decode_str(chat).decode_utf8_lossy().into())
}

#[cfg(test)]
#[path = "receivers_tests.rs"]
mod tests;
