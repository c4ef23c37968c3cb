//! A message by mail, through the `sendmail` that every system's mail server, or its small stand-in, brings.

use std::path::Path;
use std::time::Duration;

use jiff::Zoned;

use super::message::NoticeMessage;
use super::notified_program::{notified_program, run_notified};
use super::send_error::SendError;
use watchdog_process::ProgramRun;

/// The usual places on systems that do not have it in `PATH` of a user, or of cron.
const USUAL: [&str; 3] = [
    "/usr/sbin/sendmail",
    "/usr/lib/sendmail",
    "/usr/local/sbin/sendmail",
];

/// An encoded word has at most 75 characters, of which these are its frame.
const WORD: usize = 75 - "=?UTF-8?Q?".len() - "?=".len();

/// Hands a message to the system's mail server.
///
/// # Errors
/// Fails if there is none, or it refuses.
pub fn send_mail(
    to: &[String],
    message: &NoticeMessage,
    id: &str,
    timeout: Duration,
) -> Result<(), SendError> {
    let text = mail_text(to, message, id, &Zoned::now());
    let mail = |program: &str| {
        run_notified(&ProgramRun {
            stdin: text.clone().into_bytes(),
            ..notified_program([program, "-t", "-i"], timeout)
        })
    };
    let usual = USUAL.iter().copied().find(|path| Path::new(path).is_file());
    match mail("sendmail") {
        Err(error) if error.not_runnable && usual.is_some() => mail(usual.unwrap_or_default()),
        other => other,
    }
    .map_err(|error| error.hint_where_missing("install a mail server, or a small sender such as msmtp-mta, or name a program with `command`"))
}

/// The whole mail. The server adds the sender, whom it alone knows.
fn mail_text(to: &[String], message: &NoticeMessage, id: &str, at: &Zoned) -> String {
    let date = jiff::fmt::rfc2822::to_string(at).unwrap_or_default();
    let id: String = id
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    let host: String = watchdog_system::host_name()
        .unwrap_or_default()
        .trim()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || ".-".contains(*c))
        .collect();
    let host = if host.is_empty() { "localhost" } else { &host };
    let head = [
        format!("To: {}", to.join(",\n ")),
        format!("Subject: {}", header_words(&message.title).join("\n ")),
        format!("Date: {date}"),
        format!("Message-ID: <{id}@{host}>"),
        "Auto-Submitted: auto-generated".into(),
        "MIME-Version: 1.0".into(),
        "Content-Type: text/plain; charset=UTF-8".into(),
        "Content-Transfer-Encoding: quoted-printable".into(),
    ];
    let body = format!("{}\n\n{}\n", message.text, message.command);
    format!("{}\n\n{}", head.join("\n"), quoted_printable(&body))
}

/// A text as the value of a header, in parts that may stand on lines of their own.
pub fn header_words(text: &str) -> Vec<String> {
    let plain = text.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
        && !text.contains("=?")
        && text.len() <= WORD;
    if plain && text.trim() == text {
        return vec![text.to_owned()];
    }
    let mut words = vec![String::new()];
    for c in text.chars() {
        let encoded = encoded(c);
        // A character is never parted.
        if words
            .last()
            .is_some_and(|word| word.len() + encoded.len() > WORD)
        {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push_str(&encoded);
        }
    }
    words
        .into_iter()
        .map(|word| format!("=?UTF-8?Q?{word}?="))
        .collect()
}

/// A character within an encoded word.
fn encoded(c: char) -> String {
    match c {
        ' ' => "_".to_owned(),
        c if c.is_ascii_alphanumeric() || "-.:/,()!*+".contains(c) => c.to_string(),
        c => hex_bytes(c),
    }
}

fn hex_bytes(c: char) -> String {
    let mut bytes = [0; 4];
    let bytes = c.encode_utf8(&mut bytes).bytes();
    bytes.map(|b| format!("={b:02X}")).collect()
}

/// The text in lines of at most 76 ASCII characters, which every mail server carries unchanged.
fn quoted_printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.lines() {
        let mut width = 0;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let is_last = chars.peek().is_none();
            let mut piece = encode_character(c, width == 0, is_last);
            if width + piece.len() > 75 {
                out.push_str("=\n");
                width = 0;
                piece = encode_character(c, true, is_last);
            }
            width += piece.len();
            out.push_str(&piece);
        }
        out.push('\n');
    }
    out
}

/// A character of a line. Some servers change a space at its end, and `From ` or a lone dot at its beginning.
fn encode_character(c: char, is_first: bool, is_last: bool) -> String {
    let at_risk = (c == ' ' && is_last) || (is_first && (c == '.' || c == 'F'));
    match c {
        ' '..='~' if c != '=' && !at_risk => c.to_string(),
        c => hex_bytes(c),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use watchdog_facts::shell_line::WorktreeCommands;

    /// Reads quoted-printable text.
    fn read(text: &str) -> String {
        let joined = text.replace("=\n", "");
        let mut bytes = Vec::new();
        let mut encoded = joined.bytes();
        while let Some(b) = encoded.next() {
            if b == b'=' {
                let hex = [encoded.next().unwrap(), encoded.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
            } else {
                bytes.push(b);
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn plain_text_stays_and_all_else_is_encoded() {
        assert_eq!(
            header_words("watchdog: a is review"),
            ["watchdog: a is review"]
        );
        assert_eq!(
            header_words("é 🙂\r\nBcc: x"),
            ["=?UTF-8?Q?=C3=A9_=F0=9F=99=82=0D=0ABcc:_x?="]
        );
        assert_eq!(
            header_words("=?UTF-8?Q?x?="),
            ["=?UTF-8?Q?=3D=3FUTF-8=3FQ=3Fx=3F=3D?="]
        );
        assert_eq!(header_words(&"ä".repeat(20)).len(), 2);
    }

    #[test]
    fn mail_subject_and_body_cannot_break_out() {
        let event = serde_json::json!({"kind": "verdict", "path": "/w", "spec": "é\nBcc: x@y", "data": {"message": "From a\n.\n"}});
        let message = NoticeMessage::about(&[&event], &WorktreeCommands::default());
        let at = Zoned::new(jiff::Timestamp::UNIX_EPOCH, jiff::tz::TimeZone::UTC);
        let mail = mail_text(&["a@b".into(), "c@d".into()], &message, "00-1\n2", &at);
        let (head, body) = mail.split_once("\n\n").unwrap();
        assert!(
            head.starts_with(
                "To: a@b,\n c@d\nSubject: =?UTF-8?Q?watchdog:_=C3=A9=5CnBcc:_x=40y_in_w"
            ),
            "{head}"
        );
        assert!(
            head.contains("\nDate: Thu, 1 Jan 1970 00:00:00 +0000\nMessage-ID: <00-12@"),
            "{head}"
        );
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        assert!(
            read(body).starts_with("From a\\n.\nin /w\n\nwatchdog "),
            "{body}"
        );
    }

    proptest! {
        #[test]
        fn no_part_is_long_or_leaves_its_header(text in any::<String>()) {
            for word in header_words(&text) {
                prop_assert!(word.len() <= 75 && word.bytes().all(|b| b == b' ' || b.is_ascii_graphic()), "{word}");
            }
        }

        #[test]
        fn any_text_survives_mail_in_short_lines(text in "([^\r]|[ =.F\n]){0,300}") {
            let quoted = quoted_printable(&text);
            prop_assert!(quoted.lines().all(|line| line.len() <= 76 && line.is_ascii() && !line.starts_with('.') && !line.ends_with(' ')));
            let lines = text.lines().map(|line| format!("{line}\n")).collect::<String>();
            prop_assert_eq!(read(&quoted), lines);
        }
    }
}
