//! Tells files that repeat one which is left out as a secret by its name: copies and archives of `.env`. Pure.

use watchdog_git::SecretFile;

use super::secrets::looks_secret;

/// Shorter values are in many files.
const SHORTEST_VALUE: usize = 8;
/// Longer words of small letters are no setting such as `development`.
const LONGEST_WORD: usize = 12;
/// How packed data begins: gzip, bzip2, xz, zstd, 7z and rar.
const PACKED: [&[u8]; 6] = [
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf",
    b"Rar!",
];
/// How an entry of a zip archive begins, and where in it the name is.
const ZIP_ENTRY: &[u8] = b"PK\x03\x04";
const ZIP_NAME: usize = 30;

/// Whether a file is a copy of a secret, has every telling line of one, or is an archive with one in it. `is_new` says whether no commit has the
/// file: a packed archive beside a secret, which cannot be looked into, is then taken for one that has it.
pub(super) fn repeats_secret(
    path: &str,
    content: &[u8],
    is_new: impl Fn() -> bool,
    secrets: &[SecretFile],
) -> bool {
    let folder = |path: &str| path.rfind('/').map_or(0, |slash| slash + 1);
    let is_beside =
        |secret: &SecretFile| secret.path[..folder(&secret.path)] == path[..folder(path)];
    let is_packed = PACKED.iter().any(|start| content.starts_with(start))
        && secrets.iter().any(is_beside)
        && is_new();
    is_packed
        || names_secret_entry(content)
        || secrets
            .iter()
            .any(|secret| holds_every_line(content, &secret.content))
}

/// Whether an archive has an entry with the name of a secret: zip names its entries in plain text.
fn names_secret_entry(content: &[u8]) -> bool {
    if !content.starts_with(ZIP_ENTRY) {
        return false;
    }
    let entries = memchr::memmem::find_iter(content, ZIP_ENTRY);
    let names = entries.filter_map(|at| {
        let length = content.get(at + 26..at + 28)?;
        content.get(
            at + ZIP_NAME..at + ZIP_NAME + usize::from(u16::from_le_bytes([length[0], length[1]])),
        )
    });
    names
        .into_iter()
        .any(|name| looks_secret(&String::from_utf8_lossy(name)))
}

/// Whether a text equals a secret, or has all of its telling lines.
fn holds_every_line(content: &[u8], secret: &[u8]) -> bool {
    if is_unfilled_template(secret) {
        return false;
    }
    let bare = secret.trim_ascii();
    if !bare.is_empty() && content.trim_ascii() == bare {
        return true;
    }
    // A single line tells most files apart; a secret may be a dump of a database, and each file is
    // compared with it.
    let mut telling = split_trimmed_lines(secret)
        .filter(|line| is_telling(line))
        .peekable();
    if telling
        .peek()
        .is_none_or(|first| memchr::memmem::find(content, first).is_none())
    {
        return false;
    }
    let there: std::collections::BTreeSet<&[u8]> = split_trimmed_lines(content).collect();
    telling.all(|line| there.contains(line))
}

/// Whether a template was copied to the secret's name and never filled in: settings alone, none of
/// which has a value of its own.
fn is_unfilled_template(secret: &[u8]) -> bool {
    let mut settings = split_trimmed_lines(secret)
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .peekable();
    settings.peek().is_some() && settings.all(is_unfilled_setting)
}

/// Whether a line is `KEY=` with nothing behind it but a word that asks a person to fill it in.
fn is_unfilled_setting(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    let setting = text.strip_prefix("export ").unwrap_or(&text);
    let Some((key, value)) = setting.split_once('=') else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let value = value.trim().trim_matches(['"', '\'']);
    let is_closed = |open, close| value.starts_with(open) && value.ends_with(close);
    let asks = ["your-", "your_", "placeholder", "changeme", "change-me"];
    !key.is_empty()
        && key.chars().all(is_name)
        && (value.is_empty()
            || is_closed("<", ">")
            || is_closed("${", "}")
            || asks.iter().any(|word| value.contains(word)))
}

/// The lines of a text, trimmed; a tar archive pads its entries with zeros.
fn split_trimmed_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| matches!(byte, b'\n' | b'\r' | 0))
        .map(<[u8]>::trim_ascii)
}

/// Whether a line is no comment and has a value that no other file has by chance.
fn is_telling(line: &[u8]) -> bool {
    let comments = [&b"#"[..], b"//", b";", b"--"];
    let is_comment = comments.iter().any(|start| line.starts_with(start));
    let value = line
        .iter()
        .position(|byte| matches!(byte, b'=' | b':'))
        .map_or(line, |at| line[at + 1..].trim_ascii());
    let bare = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""))
        .unwrap_or(value);
    let is_word = bare.len() <= LONGEST_WORD && bare.iter().all(u8::is_ascii_lowercase);
    (!is_comment || line.starts_with(b"-----")) && bare.len() >= SHORTEST_VALUE && !is_word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(path: &str, content: &str) -> SecretFile {
        SecretFile {
            path: path.into(),
            content: content.into(),
        }
    }

    #[test]
    fn copies_and_archives_repeat_a_secret() {
        let text = "# of this machine\nNODE_ENV=development\nDB_PASSWORD=h0rse-staple\nexport API=\"s0me.where\"\nPORT=1\n";
        let secrets = [secret(".env", text)];
        let tar = format!(".env\0\0\0ustar\0{text}\0\0\0");
        let zip = |name: &str| {
            [
                &b"PK\x03\x04"[..],
                &[0; 22],
                &[u8::try_from(name.len()).unwrap(), 0, 0, 0],
                name.as_bytes(),
                b"x",
            ]
            .concat()
        };
        for (path, content, is_new, repeats) in [
            ("config.txt", text.as_bytes().to_vec(), true, true),
            (
                "config.txt",
                text.replace('\n', "\r\n").into_bytes(),
                true,
                true,
            ),
            (
                "notes.md",
                format!("My settings:\n\n```\n{text}```\n").into_bytes(),
                true,
                true,
            ),
            ("backup.tar", tar.into_bytes(), true, true),
            ("backup.zip", zip(".env"), true, true),
            ("backup.tgz", b"\x1f\x8b\x08packed".to_vec(), true, true),
            (
                "README.md",
                b"Set NODE_ENV=development and DB_PASSWORD.\nNODE_ENV=development\nPORT=1\n"
                    .to_vec(),
                true,
                false,
            ),
            (
                "half.txt",
                b"DB_PASSWORD=h0rse-staple\n".to_vec(),
                true,
                false,
            ),
            (
                "fixtures/case.tgz",
                b"\x1f\x8b\x08packed".to_vec(),
                true,
                false,
            ),
            ("known.tgz", b"\x1f\x8b\x08packed".to_vec(), false, false),
            ("fonts.zip", zip("fonts/a.ttf"), true, false),
            ("empty.txt", Vec::new(), true, false),
        ] {
            assert_eq!(
                repeats_secret(path, &content, || is_new, &secrets),
                repeats,
                "{path}"
            );
        }
    }

    #[test]
    fn template_without_values_repeats_no_secret() {
        for (text, repeats) in [
            ("# to fill in\nTOKEN=\nexport KEY=\"\"\n\n", false),
            (
                "TOKEN=your-token-here\nPASSWORD=changeme\nHOST=<host>\n",
                false,
            ),
            ("TOKEN=your-token-here\nPASSWORD=h0rse-staple\n", true),
            ("URL=redis://u:h0rse@cache.example.com\n", true),
            ("PIN=4711\n", true),
            ("//npm.example.test/:_authToken=0f8fad5b-d9cb\n", true),
            ("bob:$apr1$h0rse$staple\n", true),
            ("PASSWORD=$h0rse-staple\nTOKEN=000000h0rse\n", true),
            ("# comments alone\n", true),
        ] {
            let secrets = [secret(".env", text)];
            let is_repeated = repeats_secret(".env.example", text.as_bytes(), || true, &secrets);
            assert_eq!(is_repeated, repeats, "{text}");
        }
    }

    #[test]
    fn trivial_secret_is_repeated_by_equal_content_only() {
        let secrets = [secret("a/.env", "A=b\n"), secret("b/.env", "\n")];
        assert!(repeats_secret("x", b"A=b", || true, &secrets));
        assert!(!repeats_secret(
            "x",
            b"first\nA=b\nC=d\n",
            || true,
            &secrets
        ));
        assert!(
            !repeats_secret("x", b"\n", || true, &secrets),
            "an empty secret says nothing"
        );
    }
}
