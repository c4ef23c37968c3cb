//! One attempt to bring events to a receiver, whichever kind it is.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::desktop::show_on_desktop;
use super::mail::send_mail;
use super::message::NoticeMessage;
use super::notified_program::{NotifiedProgram, run_notified};
use super::receivers::message_post;
pub use super::send_error::SendError;
use super::webhook::{PostError, WebhookPost, post};
use watchdog_core::config::settings::NotifyTarget;
use watchdog_facts::shell_line::WorktreeCommands;

/// Brings events to a receiver. Programs and bare addresses are sent the first alone: they have one call for each. `commands`
/// name the records that a message is about.
///
/// # Errors
/// Where they did not arrive.
pub fn send(
    to: &NotifyTarget,
    events: &[&Value],
    commands: &WorktreeCommands,
    timeout: Duration,
) -> Result<(), SendError> {
    let Some(first) = events.first() else {
        return Ok(());
    };
    let word = |key: &str| first[key].as_str().unwrap_or_default();
    match to {
        NotifyTarget::Url(url) => {
            let headers = [
                ("x-watchdog-event", word("kind")),
                ("x-watchdog-delivery", word("id")),
            ];
            let body = first.to_string();
            post_it(&WebhookPost {
                url,
                body: body.as_bytes(),
                content_type: "application/json",
                headers: &headers,
                timeout,
            })
        }
        NotifyTarget::Command(argv) => {
            let path = word("path");
            let cwd = if Path::new(path).is_dir() { path } else { "/" };
            let argv = argv.iter().map(OsString::from).collect();
            run_notified(NotifiedProgram {
                argv,
                stdin: first.to_string().into_bytes(),
                timeout,
                cwd: cwd.into(),
                env: variables(first),
            })
        }
        NotifyTarget::Service { url, form } => {
            let message = NoticeMessage::about(events, commands);
            let service = message_post(url, form, &message);
            let headers: Vec<(&str, &str)> = service
                .headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let body = service.body.as_bytes();
            post_it(&WebhookPost {
                url: &service.url,
                body,
                content_type: service.content_type,
                headers: &headers,
                timeout,
            })
        }
        NotifyTarget::Desktop => show_on_desktop(&NoticeMessage::about(events, commands), timeout),
        NotifyTarget::Mail(to) => {
            let id = match events {
                [one] => one["id"].as_str().unwrap_or_default().to_owned(),
                several => format!("{}-{}", word("id"), several.len()),
            };
            send_mail(to, &NoticeMessage::about(events, commands), &id, timeout)
        }
    }
}

fn post_it(it: &WebhookPost<'_>) -> Result<(), SendError> {
    post(it).map_err(|error| {
        let failed = SendError::new(error.to_string());
        match error {
            PostError::Refused {
                code: 401 | 403 | 404 | 410,
                ..
            } => failed.hint("check the address and the token in it"),
            PostError::Refused {
                code: 300..=399, ..
            } => failed.hint("redirects are not followed; name the address that it leads to"),
            PostError::Refused {
                code: 400 | 413 | 415 | 422,
                ..
            } => failed.hint("check that `template` is the one of this service"),
            PostError::Refused { code: 429, .. } => {
                failed.hint("too much was sent there; try again later")
            }
            PostError::Refused { .. } => {
                failed.hint("the server has a fault of its own; try again later")
            }
            PostError::Unreachable(_) => failed
                .hint("check the host's name and the network; proxies are those of HTTPS_PROXY"),
        }
    })
}

/// The receiver without possible secrets: the arguments of a program, and all that follows the host of an address, are left out.
pub fn recipient(to: &NotifyTarget) -> String {
    match to {
        NotifyTarget::Command(argv) => argv.first().cloned().unwrap_or_default(),
        NotifyTarget::Url(url) | NotifyTarget::Service { url, .. } => origin(url).to_owned(),
        NotifyTarget::Desktop => "desktop".to_owned(),
        NotifyTarget::Mail(to) => format!("mail to {}", to.join(", ")),
    }
}

/// Scheme and host of an address, without credentials before an `@`.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| host + at);
    match url[host..end].rfind('@') {
        Some(at) => &url[host + at + 1..end],
        None => &url[..end],
    }
}

/// The environment variables for a program, beside the event on its stdin.
fn variables(event: &Value) -> BTreeMap<OsString, Option<OsString>> {
    let text = |value: &Value| value.as_str().map(OsString::from);
    [
        ("WATCHDOG_EVENT", text(&event["kind"])),
        ("WATCHDOG_STATUS", text(&event["data"]["status"])),
        ("WATCHDOG_REASON", text(&event["data"]["reason"])),
        ("WATCHDOG_WORKTREE", text(&event["path"])),
        ("WATCHDOG_SPEC", text(&event["spec"])),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_an_address_stay_out_of_the_journal() {
        for (url, expected) in [
            (
                "https://hooks.example.invalid/services/T0/SECRET",
                "https://hooks.example.invalid",
            ),
            (
                "https://api.telegram.org/bot1:SECRET/sendMessage?chat_id=1",
                "https://api.telegram.org",
            ),
            ("http://user:SECRET@host:8080/x", "host:8080"),
            ("http://host?token=SECRET", "http://host"),
            ("http://host", "http://host"),
        ] {
            assert_eq!(recipient(&NotifyTarget::Url(url.into())), expected);
        }
        assert_eq!(
            recipient(&NotifyTarget::Command(vec![
                "curl".into(),
                "-u me:SECRET".into()
            ])),
            "curl"
        );
    }
}
