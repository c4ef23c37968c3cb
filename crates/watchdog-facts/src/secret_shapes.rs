//! Which contents look like secrets, and texts without them: tokens that their issuers gave a shape of their own, private keys, passwords in
//! addresses. Pure.
//!
//! A rule (`secret_rules`) needs an unmistakable prefix or frame, so that a rescue does not leave ordinary source behind.

use std::borrow::Cow;

use regex::bytes::Captures;

use super::secret_rules::{PASSWORD_IN_ADDRESS, SecretRule, find_due_rules};

/// A shorter text cannot contain both a secret and its keyword.
const SHORTEST: usize = 8;

/// Larger files are not looked through.
pub const LIMIT: u64 = 1 << 20;

/// Passwords that documentation and local setups have.
const PLACEHOLDERS: [&str; 18] = [
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "changeme",
    "change-me",
    "example",
    "postgres",
    "mysql",
    "root",
    "guest",
    "admin",
    "test",
    "foo",
    "bar",
    "baz",
    "foobar",
];

/// The rule that finds a secret in `after` which is not in `before` as well. Decodes UTF-16.
pub fn find_added_secret(before: Option<&[u8]>, after: &[u8]) -> Option<&'static str> {
    let wide = from_utf16(after);
    added_as_is(before, after).or_else(|| {
        let before = before.map(|before| from_utf16(before).unwrap_or_else(|| before.to_vec()));
        added_as_is(before.as_deref(), &wide?)
    })
}

fn added_as_is(before: Option<&[u8]>, after: &[u8]) -> Option<&'static str> {
    let before = before.unwrap_or_default();
    let was_there = |secret: &[u8]| before.windows(secret.len()).any(|part| part == secret);
    let rules = find_due_rules(after)
        .into_iter()
        .filter(|rule| !rule.is_for_texts);
    rules.into_iter().find_map(|rule| {
        let mut secrets = rule
            .regex()
            .captures_iter(after)
            .filter_map(|groups| groups.iter().flatten().last())
            .map(|group| group.as_bytes());
        let is_new = |secret: &[u8]| before.is_empty() || !was_there(secret);
        secrets
            .any(|secret| {
                rule.is_random(secret) && !is_placeholder(rule.name, secret) && is_new(secret)
            })
            .then_some(rule.name)
    })
}

/// UTF-16 text as UTF-8. With a byte order mark, or without one where every other byte of its beginning is zero, as in
/// text of Latin letters.
fn from_utf16(bytes: &[u8]) -> Option<Vec<u8>> {
    const MOST_BYTES: usize = 512;
    let head = &bytes[..bytes.len().min(MOST_BYTES)];
    let zeros = |first: usize| {
        head.iter()
            .skip(first)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let mostly = |zeros: usize| head.len() >= 16 && zeros * 2 * 10 >= head.len() * 7;
    let little = match head {
        [0xff, 0xfe, ..] => true,
        [0xfe, 0xff, ..] => false,
        _ if mostly(zeros(1)) && zeros(0) == 0 => true,
        _ if mostly(zeros(0)) && zeros(1) == 0 => false,
        _ => return None,
    };
    let units = bytes.chunks_exact(2).map(|pair| {
        if little {
            u16::from_le_bytes([pair[0], pair[1]])
        } else {
            u16::from_be_bytes([pair[0], pair[1]])
        }
    });
    let text: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Some(text.trim_start_matches('\u{feff}').as_bytes().to_vec())
}

/// A text with every secret replaced by the name of its rule. A text without secrets takes one
/// pass.
pub fn mask_secrets(text: &str) -> Cow<'_, str> {
    if text.len() < SHORTEST {
        return Cow::Borrowed(text);
    }
    let mut masked = Cow::Borrowed(text.as_bytes());
    for rule in find_due_rules(text.as_bytes()) {
        let changed = mask_rule(rule, &masked).into_owned();
        if changed[..] != masked[..] {
            masked = Cow::Owned(changed);
        }
    }
    match masked {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// The replacement of a secret that this rule found.
pub(super) fn shown_for(rule: &str) -> String {
    format!("[secret: {rule}]")
}

/// Replaces each match of the rule, or its group, with the rule's name; keeps placeholders and masked text.
fn mask_rule<'t>(rule: &SecretRule, text: &'t [u8]) -> Cow<'t, [u8]> {
    rule.regex().replace_all(text, |groups: &Captures<'_>| {
        let whole = groups.get(0).expect("it was found");
        let secret = groups.iter().flatten().last().unwrap_or(whole);
        let (before, after) = (secret.start() - whole.start(), secret.end() - whole.start());
        if !rule.is_random(secret.as_bytes())
            || rule.is_for_texts && !is_secret_in_text(rule.name, secret.as_bytes())
        {
            return whole.as_bytes().to_vec();
        }
        let with = shown_for(rule.name);
        [
            &whole.as_bytes()[..before],
            with.as_bytes(),
            &whole.as_bytes()[after..],
        ]
        .concat()
    })
}

/// Whether a match is a secret, and not a word of a program or of a message.
pub(super) fn is_secret_in_text(rule: &str, candidate: &[u8]) -> bool {
    let digits = candidate.iter().any(u8::is_ascii_digit);
    let letters = candidate.iter().any(u8::is_ascii_alphabetic);
    match rule {
        // A password is of any kind; `password: required` and `password = None` are words about one.
        "password" => {
            let word = String::from_utf8_lossy(candidate).to_ascii_lowercase();
            let plain = [
                "none",
                "null",
                "true",
                "false",
                "required",
                "missing",
                "incorrect",
                "invalid",
                "wrong",
                "empty",
                "string",
                "undefined",
            ];
            let is_masked = word == "secret:" || word.starts_with("[secret: ");
            !is_masked
                && !word.starts_with(['$', '%', '*', '#'])
                && !plain.iter().any(|plain| word.starts_with(plain))
        }
        _ => digits && letters,
    }
}

fn has_placeholder_part(text: &str) -> bool {
    let parts = [
        "example",
        "xxxxxx",
        "000000",
        "123456789",
        "placeholder",
        "your-",
        "your_",
    ];
    parts.iter().any(|part| text.contains(part))
}

/// Whether a match has the right shape and is a placeholder.
fn is_placeholder(rule: &str, candidate: &[u8]) -> bool {
    let text = String::from_utf8_lossy(candidate).to_ascii_lowercase();
    if has_placeholder_part(&text) {
        return rule != "private-key";
    }
    if rule != PASSWORD_IN_ADDRESS {
        return false;
    }
    let text = text.replace(r"\/", "/");
    let parts = text
        .split_once("://")
        .and_then(|(_, address)| address.rsplit_once('@'));
    let Some(((user, password), host)) =
        parts.and_then(|(login, host)| Some((login.split_once(':')?, host)))
    else {
        return false;
    };
    user == password
        || host.starts_with('l')
            && ["pass", "password"]
                .iter()
                .any(|end| password.ends_with(end))
        || PLACEHOLDERS.contains(&password)
        || password.starts_with(['$', '{', '%', '*', '(', '[', '#'])
        || password.chars().all(|c| c == 'x' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples, put together here so that no scanner takes this file for a leak.
    fn samples() -> Vec<(&'static str, String)> {
        let long = |unit: &str, n: usize| unit.repeat(n);
        vec![
            (
                "aws-access-key-id",
                format!("key = {}{}", "AKIA", "J5QWERTYUIOPLKJH"),
            ),
            (
                "aws-secret-access-key",
                format!("AWS_SECRET_ACCESS_KEY={}", long("aB3/", 10)),
            ),
            (
                "anthropic-key",
                format!("'{}{}'", "sk-ant-", "api03-abcDEF123_abcDEF123"),
            ),
            ("openai-key", format!("{}{}", "sk-proj-", long("aB3_", 10))),
            ("openai-key", format!("{}{}", "sk-", long("aB3d", 12))),
            ("github-token", format!("{}{}", "ghp_", long("aB3d", 9))),
            (
                "github-fine-grained-token",
                format!("{}{}", "github_pat_", long("aB3d_", 12)),
            ),
            ("gitlab-token", format!("{}{}", "glpat-", long("aB3d", 5))),
            ("slack-token", format!("{}{}", "xoxb-", "1234-5678-abcdef")),
            (
                "slack-webhook",
                format!(
                    "https://hooks.slack.com/services/{}/{}",
                    "T0ABCDEF1/B0ABCDEF1",
                    long("aB3d", 6)
                ),
            ),
            ("stripe-key", format!("{}{}", "sk_live_", long("aB3d", 6))),
            ("google-api-key", format!("{}{}", "AIza", long("aB3d_", 7))),
            ("npm-token", format!("{}{}", "npm_", long("aB3d", 9))),
            (
                "sendgrid-key",
                format!("SG.{}.{}", "a".repeat(22), "b".repeat(43)),
            ),
            (
                "json-web-token",
                format!(
                    "{}{}.{}.{}",
                    "eyJ",
                    long("aB3d", 4),
                    "eyJ".to_owned() + &long("aB3d", 4),
                    long("aB3d", 4)
                ),
            ),
            (
                "private-key",
                format!(
                    "-----BEGIN RSA {}-----\n{}\n-----END RSA PRIVATE KEY-----",
                    "PRIVATE KEY",
                    long("aB3d", 16)
                ),
            ),
            (
                "private-key",
                format!(
                    "\"-----BEGIN {}-----\\n{}\"",
                    "PRIVATE KEY",
                    long("aB3d", 16)
                ),
            ),
            (
                "private-key",
                format!(
                    "+-----BEGIN OPENSSH {}-----\n+{}\n",
                    "PRIVATE KEY",
                    long("aB3d", 16)
                ),
            ),
            (
                "password-in-address",
                format!("DB=postgres://app:{}@db.internal:5432/x", "h0rse-staple"),
            ),
            (
                "password-in-address",
                format!("redis://:{}@cache/0", "h0rse-staple"),
            ),
            (
                "password-in-address",
                format!(r"postgres:\/\/app:{}@db.internal\/x", "h0rse-staple"),
            ),
            (
                "azure-storage-key",
                format!("AccountName=x;AccountKey={}==", long("aB3d", 21)),
            ),
        ]
    }

    #[test]
    fn tokens_keys_and_passwords_are_found_and_named() {
        for (rule, text) in samples() {
            assert_eq!(
                find_added_secret(None, text.as_bytes()),
                Some(rule),
                "{text}"
            );
            assert_eq!(
                find_added_secret(None, &[b"\xff\x00 ", text.as_bytes(), b"\xfe"].concat()),
                Some(rule),
                "{text}"
            );
        }
    }

    #[test]
    fn ordinary_source_is_no_secret() {
        for text in [
            "fn main() { println!(\"sk-learn\"); }",
            "if line.starts_with(\"-----BEGIN RSA PRIVATE KEY-----\") { read() }",
            "const RULE: &str = r\"\\bAKIA[0-9A-Z]{16}\\b\";",
            "postgres://user:password@localhost/db",
            r"postgres:\/\/user:password@localhost\/db",
            "postgres://postgres:postgres@localhost/db",
            "https://user:${TOKEN}@example.com/",
            "ftp://{user}:{password}@{host}",
            "see https://example.com:8080/a@b",
            "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            "git@github.com:owner/name.git",
            "postgres://app:xxx@db.internal/x",
            "postgres://app:...@db.internal/x",
        ] {
            assert_eq!(find_added_secret(None, text.as_bytes()), None, "{text}");
            assert!(
                !mask_secrets(text).contains("[secret: private-key]"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_was_there_before_is_no_news() {
        for (rule, secret) in samples() {
            let old = format!("a = 1\n{secret}\n");
            assert_eq!(
                find_added_secret(
                    Some(old.as_bytes()),
                    format!("a = 2\n{secret}\n").as_bytes()
                ),
                None,
                "{rule}"
            );
            assert_eq!(
                find_added_secret(Some(b"a = 1\n"), old.as_bytes()),
                Some(rule)
            );
            let ordinary = "fn main() {}\n".repeat(50);
            assert_eq!(
                find_added_secret(
                    Some(ordinary.as_bytes()),
                    format!("{ordinary}{secret}\n").as_bytes()
                ),
                Some(rule),
                "in a longer file"
            );
        }
        let (one, two) = (
            format!("{}{}", "ghp_", "a".repeat(36)),
            format!("{}{}", "ghp_", "b".repeat(36)),
        );
        assert_eq!(
            find_added_secret(Some(one.as_bytes()), format!("{one} {two}").as_bytes()),
            Some("github-token")
        );
    }

    #[test]
    fn secret_is_found_after_escapes_and_colours() {
        for (rule, text) in samples() {
            for lead in [
                "a\\n",
                "\\t",
                "\\\\n",
                "\\u003d",
                "\x1b[32m",
                "\\u001b[1;32m",
                "\\x1b[m",
            ] {
                let text = format!("{lead}{text}");
                assert_eq!(
                    find_added_secret(None, text.as_bytes()),
                    Some(rule),
                    "{text}"
                );
                let masked = mask_secrets(&text);
                assert!(
                    masked.starts_with(lead) && masked.contains(&format!("[secret: {rule}]")),
                    "{masked}"
                );
            }
        }
        assert_eq!(
            mask_secrets("{\"text\":\"a\\nBearer abcDEF123456abcDEF123456\"}"),
            "{\"text\":\"a\\nBearer [secret: bearer-token]\"}"
        );
        let within_a_word = format!("n{}{}", "ghp_", "aB3d".repeat(9));
        assert_eq!(mask_secrets(&within_a_word), within_a_word);
    }

    #[test]
    fn masking_leaves_no_part_of_a_secret() {
        for (rule, text) in samples() {
            let masked = mask_secrets(&format!("before\n{text}\nafter")).into_owned();
            assert!(
                masked.starts_with("before\n") && masked.contains(&format!("[secret: {rule}]")),
                "{masked}"
            );
            let secret = text
                .split(|c: char| !c.is_ascii_alphanumeric() && !"_-/+".contains(c))
                .max_by_key(|part| part.len())
                .unwrap();
            assert!(!masked.contains(secret), "{masked}");
        }
    }

    #[test]
    fn declared_secrets_are_masked_but_not_prose() {
        for (text, secret) in [
            ("DB_PASSWORD=h0rse-staple next", "h0rse-staple"),
            ("password: \"tr0ub4dor&3\"", "tr0ub4dor"),
            (
                "Authorization: Bearer abcDEF123456abcDEF123456",
                "abcDEF123456abcDEF123456",
            ),
            (
                "{\"access_token\": \"a1b2c3d4e5f6a7b8c9d0\"}",
                "a1b2c3d4e5f6a7b8c9d0",
            ),
            ("client_secret=a1b2c3d4e5f6a7b8c9d0", "a1b2c3d4e5f6a7b8c9d0"),
            ("passphrase = correcthorse", "correcthorse"),
            ("pwd=h0rs", "h0rs"),
            ("password: \"correct horse battery\"", "horse battery"),
            ("password = 'correct horse battery'", "horse battery"),
            (r#"{"password":"a\"staple"}"#, "staple"),
            ("password: [ h0rse-staple ]", "h0rse-staple"),
            (
                r#"{"password": ["a", "h0rse-staple"]} and on"#,
                "h0rse-staple",
            ),
            (
                "tokens are:\n\"token\":['short', 'a1b2c3d4e5f6a7b8c9d0' ]",
                "a1b2c3d4e5f6a7b8c9d0",
            ),
            (
                "\"api_key\": [\"a1b2c3d4e5f6a7b8c9d0\"]",
                "a1b2c3d4e5f6a7b8c9d0",
            ),
        ] {
            let masked = mask_secrets(text);
            assert!(
                !masked.contains(secret) && masked.contains("[secret: "),
                "{masked}"
            );
            assert_eq!(
                find_added_secret(None, text.as_bytes()),
                None,
                "a rescue does not go by it: {text}"
            );
        }
        for text in [
            "password: required",
            "password: [\"required\", \"string\"]",
            "unexpected token: identifier",
            "error: password is wrong",
            "the bearer of bad news",
            "key = compute(value)",
            "PASSWORD=$DB_PASSWORD",
            "test tokens::secret::keys ... ok",
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904 and 019a7e2c-0000-7000-8000-000000000001",
        ] {
            assert!(
                matches!(mask_secrets(text), Cow::Borrowed(same) if same == text),
                "{text}: {}",
                mask_secrets(text)
            );
        }
        for text in [
            "password=h0rse-staple",
            "password: \"h0rse staple\"",
            "password: ['h0rse staple']",
            "token = [a1b2c3d4e5f6a7b8c9d0]",
        ] {
            let once = mask_secrets(text).into_owned();
            assert!(
                once.contains("[secret: ") && mask_secrets(&once) == once,
                "what is masked stays as it is: {once}"
            );
        }
    }

    #[test]
    fn every_rule_has_a_word_in_its_matches() {
        for (rule, text) in samples() {
            assert!(
                mask_secrets(&text).contains(&format!("[secret: {rule}]")),
                "{rule}: {}",
                mask_secrets(&text)
            );
        }
    }

    #[test]
    fn utf_16_text_is_decoded_and_searched() {
        for (rule, text) in samples() {
            let text = format!("name = value\r\n{text}\r\n");
            let wide = |big: bool, mark: &[u8]| {
                let units = text.encode_utf16().flat_map(|unit| {
                    if big {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    }
                });
                [mark.to_vec(), units.collect()].concat()
            };
            for bytes in [
                wide(false, b"\xff\xfe"),
                wide(true, b"\xfe\xff"),
                wide(false, b""),
                wide(true, b""),
            ] {
                assert_eq!(find_added_secret(None, &bytes), Some(rule), "{text}");
                assert_eq!(find_added_secret(Some(&bytes), &bytes), None, "{text}");
                assert_eq!(
                    find_added_secret(Some(text.as_bytes()), &bytes),
                    None,
                    "only its encoding changed"
                );
            }
        }
        for bytes in [
            &b"\xff\xfe"[..],
            b"\xff\xfea",
            b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        ] {
            assert_eq!(find_added_secret(None, bytes), None);
        }
    }

    #[test]
    fn utf_16_is_detected_by_mark_or_majority() {
        for (rule, text) in samples() {
            let other_script = format!("{}\n{text}", "密码在这里".repeat(60));
            let wide = |mark: &[u8], to_bytes: fn(u16) -> [u8; 2]| {
                [
                    mark.to_vec(),
                    other_script.encode_utf16().flat_map(to_bytes).collect(),
                ]
                .concat()
            };
            for bytes in [
                wide(b"\xff\xfe", u16::to_le_bytes),
                wide(b"\xfe\xff", u16::to_be_bytes),
            ] {
                assert_eq!(find_added_secret(None, &bytes), Some(rule), "{text}");
            }
            let ended_by_nul = format!("{}{text}", "A=b\0".repeat(200));
            let after = [
                b"\xff\xfe".to_vec(),
                ended_by_nul
                    .encode_utf16()
                    .flat_map(u16::to_le_bytes)
                    .collect(),
            ]
            .concat();
            assert_eq!(
                find_added_secret(Some(ended_by_nul.as_bytes()), &after),
                None,
                "only its encoding changed: {text}"
            );
        }
    }

    #[test]
    fn long_file_is_searched_in_reasonable_time() {
        let begun = std::time::Instant::now();
        let line = b"let value = compute(\"https://example.com/a\", 1234567890); // -----BEGIN\n";
        assert_eq!(
            find_added_secret(None, &line.repeat(LIMIT as usize / line.len())),
            None
        );
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(20),
            "{:?}",
            begun.elapsed()
        );
    }
}
