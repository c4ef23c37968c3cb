//! Which contents look like secrets, and texts without them: tokens that their issuers gave a shape of their own, private keys, passwords in
//! addresses. Pure.
//!
//! The rules are our own: of the embeddable libraries the one that builds missed half of a sample that these find
//! (cloud keys, keys of model services, addresses of databases) and brings 78 crates along; the others need a newer
//! compiler. A rule here needs an unmistakable prefix or frame, so that a rescue does not leave ordinary source behind.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// A shorter text cannot contain both a secret and its keyword.
const SHORTEST: usize = 8;

/// Larger files are not looked through.
pub const LIMIT: u64 = 1 << 20;

/// A rule: its name, for people; lower-case words, one of which is in each of its matches; and its pattern.
type SecretRule = (&'static str, &'static [&'static str], &'static str);

/// Secrets in any text.
const RULES: [SecretRule; 24] = [
    ("aws-access-key-id", &["akia", "asia"], r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("aws-secret-access-key", &["aws"], r#"(?i)aws_?secret_?access_?key["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}"#),
    ("anthropic-key", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-key", &["sk-"], r"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}|[A-Za-z0-9]{48}\b)"),
    ("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"\bgh[pousr]_[A-Za-z0-9]{36,}"),
    ("github-fine-grained-token", &["github_pat_"], r"\bgithub_pat_[A-Za-z0-9_]{50,}"),
    ("gitlab-token", &["gl"], r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{20,}"),
    ("slack-token", &["xox"], r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("slack-webhook", &["hooks.slack.com"], r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}"),
    ("stripe-key", &["k_live_"], r"\b[sr]k_live_[A-Za-z0-9]{16,}"),
    ("google-api-key", &["aiza"], r"\bAIza[0-9A-Za-z_-]{35}"),
    ("google-client-secret", &["gocspx-"], r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    ("npm-token", &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi-token", &["pypi-"], r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}"),
    ("sendgrid-key", &["sg."], r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    ("hugging-face-token", &["hf_"], r"\bhf_[A-Za-z0-9]{34,}\b"),
    ("digitalocean-token", &["_v1_"], r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("vault-token", &["hvs.", "hvb."], r"\bhv[sb]\.[A-Za-z0-9_-]{24,}"),
    ("telegram-bot-token", &[":aa"], r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    ("azure-storage-key", &["accountkey="], r"\bAccountKey=[A-Za-z0-9+/]{80,}={0,2}"),
    ("age-secret-key", &["age-secret-key-1"], r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("json-web-token", &["eyj"], r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    // The frame alone is in every program that reads keys; only with something in it is it a key.
    (
        "private-key",
        &["private key"],
        r#"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|[\s"'+,]|[A-Za-z-]+: [^\n]{0,200}\n)*[A-Za-z0-9+/]{24,}(?s:.*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|.*\z)"#,
    ),
    // Some writers of JSON put a backslash before each slash.
    (
        PASSWORD,
        &["://", r":\/\/"],
        r#"\b[A-Za-z][A-Za-z0-9+.-]{1,20}:(?://|\\/\\/)[^\s/:@"'<>`|\\]{0,100}:[^\s/@"'<>`|\\]{3,200}@[A-Za-z0-9\[]"#,
    ),
];

/// Further patterns to mask in texts. In source these are usually names and examples, so that a rescue ignores them.
const TEXT_RULES: [SecretRule; 3] = [
    ("bearer-token", &["bearer"], r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,4096})"),
    (
        "password",
        &["passw", "pwd", "passphrase"],
        // A list as a whole; in quotes it may have spaces, and quotes of its own behind a backslash. Without upper bounds, which
        // would each be states to compile.
        r#"(?i)(?:password|passwd|passphrase|pwd)["']?\s*[:=]\s*(?:\[\s*["']((?:[^\]\\\n]|\\.){4,})["']\s*\]|(?:\[\s*)?(?:"((?:[^"\\\n]|\\.){4,})"|'((?:[^'\\\n]|\\.){4,})'|["']?([^\s"'`,;&<>()\[\]{}]{4,200})))"#,
    ),
    (
        "token",
        &["token", "secret", "key"],
        r#"(?i)(?:token|secret|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*[:=]\s*(?:\[\s*["']((?:[^\]\\\n]|\\.){16,})["']\s*\]|(?:\[\s*)?["']?([A-Za-z0-9._~+/=-]{16,4096}))"#,
    ),
];

/// The one rule whose matches need a further test against placeholders.
const PASSWORD: &str = "password-in-address";

/// Passwords that documentation and local setups have.
const PLACEHOLDERS: [&str; 14] = [
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
];

/// All of them in one pass, as nearly every file matches none; one by one only after a match.
static ALL: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSetBuilder::new(RULES.map(|(_, _, pattern)| with_more_boundaries(pattern)))
        .unicode(false)
        .size_limit(64 << 20)
        .build()
        .expect("the rules are constants")
});

/// Each is made when it is first needed.
static EACH: LazyLock<Vec<OnceLock<Regex>>> = LazyLock::new(|| RULES.iter().chain(&TEXT_RULES).map(|_| OnceLock::new()).collect());

/// The words of all rules in one pass, large or small, and whose each of them is: a session may print gigabytes.
static WORDS: LazyLock<(AhoCorasick, Vec<usize>)> = LazyLock::new(|| {
    let of_rule = |(n, (_, words, _)): (usize, &'static SecretRule)| words.iter().map(move |word| (*word, n));
    let (words, rules): (Vec<&str>, Vec<usize>) = RULES.iter().chain(&TEXT_RULES).enumerate().flat_map(of_rule).unzip();
    let automaton = AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(words);
    (automaton.expect("the words are constants"), rules)
});

/// The rules of which a word is in the text, in their order.
pub(super) fn due(text: &str) -> Vec<usize> {
    let (words, rules) = &*WORDS;
    let mut is_due = [false; RULES.len() + TEXT_RULES.len()];
    for found in words.find_overlapping_iter(text) {
        is_due[rules[found.pattern().as_usize()]] = true;
    }
    is_due.iter().enumerate().filter_map(|(n, is_due)| is_due.then_some(n)).collect()
}

/// A pattern that begins at the boundary of a word, so that it begins after an escape of a document (`\n`, `\u003d`) and after a colour of a
/// terminal as well: their last letter is none of the word.
fn with_more_boundaries(pattern: &str) -> String {
    let (flags, bare) = pattern.strip_prefix("(?i)").map_or(("", pattern), |bare| ("(?i)", bare));
    match bare.strip_prefix(r"\b") {
        Some(rest) => format!(r"{flags}(?:\b|\\(?:[bfnrt]|u[0-9A-Fa-f]{{4}})|\[[0-9;]*m)({rest})"),
        None => pattern.to_owned(),
    }
}

fn name_of(rule: usize) -> &'static str {
    let (name, ..) = RULES.iter().chain(&TEXT_RULES).nth(rule).expect("rules are counted from these lists");
    name
}

fn each(rule: usize) -> &'static Regex {
    let (_, _, pattern) = RULES.iter().chain(&TEXT_RULES).nth(rule).expect("rules are counted from these lists");
    let build =
        || RegexBuilder::new(&with_more_boundaries(pattern)).unicode(false).size_limit(64 << 20).build().expect("the rules are constants");
    EACH[rule].get_or_init(build)
}

/// The rule that finds a secret in `after` which is not in `before` as well. Decodes UTF-16.
pub fn added(before: Option<&[u8]>, after: &[u8]) -> Option<&'static str> {
    let wide = from_utf16(after);
    added_as_is(before, after).or_else(|| {
        let before = before.map(|before| from_utf16(before).unwrap_or_else(|| before.to_vec()));
        added_as_is(before.as_deref(), &wide?)
    })
}

fn added_as_is(before: Option<&[u8]>, after: &[u8]) -> Option<&'static str> {
    let before = before.unwrap_or_default();
    let known = |secret: &[u8]| before.windows(secret.len()).any(|part| part == secret);
    ALL.matches(after).into_iter().find_map(|rule| {
        let name = RULES[rule].0;
        let mut found = each(rule).captures_iter(after).filter_map(|found| found.iter().flatten().last()).map(|found| found.as_bytes());
        found.any(|secret| !is_placeholder(name, secret) && (before.is_empty() || !known(secret))).then_some(name)
    })
}

/// UTF-16 text as UTF-8. With a byte order mark, or without one where every other byte of its beginning is zero, as in
/// text of Latin letters.
fn from_utf16(bytes: &[u8]) -> Option<Vec<u8>> {
    const MOST_BYTES: usize = 512;
    let head = &bytes[..bytes.len().min(MOST_BYTES)];
    let zeros = |first: usize| head.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let mostly = |zeros: usize| head.len() >= 16 && zeros * 2 * 10 >= head.len() * 7;
    let little = match head {
        [0xff, 0xfe, ..] => true,
        [0xfe, 0xff, ..] => false,
        _ if mostly(zeros(1)) && zeros(0) == 0 => true,
        _ if mostly(zeros(0)) && zeros(1) == 0 => false,
        _ => return None,
    };
    let units = bytes
        .chunks_exact(2)
        .map(|pair| if little { u16::from_le_bytes([pair[0], pair[1]]) } else { u16::from_be_bytes([pair[0], pair[1]]) });
    let text: String = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Some(text.trim_start_matches('\u{feff}').as_bytes().to_vec())
}

/// A text with every secret replaced by the name of its rule. One pass over it where there is none.
pub fn mask(text: &str) -> Cow<'_, str> {
    if text.len() < SHORTEST {
        return Cow::Borrowed(text);
    }
    let mut masked = Cow::Borrowed(text.as_bytes());
    for n in due(text) {
        let name = name_of(n);
        let changed = replaced(each(n), name, &masked).into_owned();
        if changed[..] != masked[..] {
            masked = Cow::Owned(changed);
        }
    }
    match masked {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// What stands for a secret that this rule found.
pub(super) fn shown_for(rule: &str) -> String {
    format!("[secret: {rule}]")
}

/// Replaces each match of the rule, or its group, with the rule's name; keeps placeholders and masked text.
fn replaced<'t>(rule: &Regex, name: &str, text: &'t [u8]) -> Cow<'t, [u8]> {
    let in_prose = TEXT_RULES.iter().any(|(in_prose, ..)| *in_prose == name);
    rule.replace_all(text, |found: &Captures<'_>| {
        let whole = found.get(0).expect("it was found");
        let secret = found.iter().flatten().last().unwrap_or(whole);
        let (before, after) = (secret.start() - whole.start(), secret.end() - whole.start());
        if in_prose && !is_secret_in_text(name, secret.as_bytes()) {
            return whole.as_bytes().to_vec();
        }
        let with = shown_for(name);
        [&whole.as_bytes()[..before], with.as_bytes(), &whole.as_bytes()[after..]].concat()
    })
}

/// Whether a match is a secret, and not a word of a program or of a message.
pub(super) fn is_secret_in_text(rule: &str, found: &[u8]) -> bool {
    let digits = found.iter().any(u8::is_ascii_digit);
    let letters = found.iter().any(u8::is_ascii_alphabetic);
    match rule {
        // A password is of any kind; `password: required` and `password = None` are words about one.
        "password" => {
            let word = String::from_utf8_lossy(found).to_ascii_lowercase();
            let plain =
                ["none", "null", "true", "false", "required", "missing", "incorrect", "invalid", "wrong", "empty", "string", "undefined"];
            let is_masked = word == "secret:" || word.starts_with("[secret: ");
            !is_masked && !word.starts_with(['$', '%', '*', '#']) && !plain.iter().any(|plain| word.starts_with(plain))
        }
        _ => digits && letters,
    }
}

/// Whether a match has the right shape and is a placeholder.
fn is_placeholder(rule: &str, found: &[u8]) -> bool {
    let text = String::from_utf8_lossy(found).to_ascii_lowercase();
    if ["example", "xxxxxx", "000000", "123456789", "placeholder", "your-", "your_"].iter().any(|word| text.contains(word)) {
        return rule != "private-key";
    }
    if rule != PASSWORD {
        return false;
    }
    let text = text.replace(r"\/", "/");
    let Some((user, password)) = text.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')?.0.split_once(':')) else {
        return false;
    };
    user == password
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
            ("aws-access-key-id", format!("key = {}{}", "AKIA", "J5QWERTYUIOPLKJH")),
            ("aws-secret-access-key", format!("AWS_SECRET_ACCESS_KEY={}", long("aB3/", 10))),
            ("anthropic-key", format!("'{}{}'", "sk-ant-", "api03-abcDEF123_abcDEF123")),
            ("openai-key", format!("{}{}", "sk-proj-", long("aB3_", 10))),
            ("openai-key", format!("{}{}", "sk-", long("aB3d", 12))),
            ("github-token", format!("{}{}", "ghp_", long("aB3d", 9))),
            ("github-fine-grained-token", format!("{}{}", "github_pat_", long("aB3d_", 12))),
            ("gitlab-token", format!("{}{}", "glpat-", long("aB3d", 5))),
            ("slack-token", format!("{}{}", "xoxb-", "1234-5678-abcdef")),
            ("slack-webhook", format!("https://hooks.slack.com/services/{}/{}", "T0ABCDEF1/B0ABCDEF1", long("aB3d", 6))),
            ("stripe-key", format!("{}{}", "sk_live_", long("aB3d", 6))),
            ("google-api-key", format!("{}{}", "AIza", long("aB3d_", 7))),
            ("npm-token", format!("{}{}", "npm_", long("aB3d", 9))),
            ("sendgrid-key", format!("SG.{}.{}", "a".repeat(22), "b".repeat(43))),
            ("json-web-token", format!("{}{}.{}.{}", "eyJ", long("aB3d", 4), "eyJ".to_owned() + &long("aB3d", 4), long("aB3d", 4))),
            ("private-key", format!("-----BEGIN RSA {}-----\n{}\n-----END RSA PRIVATE KEY-----", "PRIVATE KEY", long("aB3d", 16))),
            ("private-key", format!("\"-----BEGIN {}-----\\n{}\"", "PRIVATE KEY", long("aB3d", 16))),
            ("private-key", format!("+-----BEGIN OPENSSH {}-----\n+{}\n", "PRIVATE KEY", long("aB3d", 16))),
            ("password-in-address", format!("DB=postgres://app:{}@db.internal:5432/x", "h0rse-staple")),
            ("password-in-address", format!("redis://:{}@cache/0", "h0rse-staple")),
            ("password-in-address", format!(r"postgres:\/\/app:{}@db.internal\/x", "h0rse-staple")),
            ("azure-storage-key", format!("AccountName=x;AccountKey={}==", long("aB3d", 21))),
        ]
    }

    #[test]
    fn tokens_keys_and_passwords_are_found_and_named() {
        for (rule, text) in samples() {
            assert_eq!(added(None, text.as_bytes()), Some(rule), "{text}");
            assert_eq!(added(None, &[b"\xff\x00 ", text.as_bytes(), b"\xfe"].concat()), Some(rule), "{text}");
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
            assert_eq!(added(None, text.as_bytes()), None, "{text}");
            assert!(!mask(text).contains("[secret: private-key]"), "{text}");
        }
    }

    #[test]
    fn what_was_there_before_is_no_news() {
        for (rule, secret) in samples() {
            let old = format!("a = 1\n{secret}\n");
            assert_eq!(added(Some(old.as_bytes()), format!("a = 2\n{secret}\n").as_bytes()), None, "{rule}");
            assert_eq!(added(Some(b"a = 1\n"), old.as_bytes()), Some(rule));
            let ordinary = "fn main() {}\n".repeat(50);
            assert_eq!(added(Some(ordinary.as_bytes()), format!("{ordinary}{secret}\n").as_bytes()), Some(rule), "in a longer file");
        }
        let (one, two) = (format!("{}{}", "ghp_", "a".repeat(36)), format!("{}{}", "ghp_", "b".repeat(36)));
        assert_eq!(added(Some(one.as_bytes()), format!("{one} {two}").as_bytes()), Some("github-token"));
    }

    #[test]
    fn a_secret_is_found_after_an_escape_of_a_document_and_after_a_colour() {
        for (rule, text) in samples() {
            for lead in ["a\\n", "\\t", "\\\\n", "\\u003d", "\x1b[32m", "\\u001b[1;32m", "\\x1b[m"] {
                let text = format!("{lead}{text}");
                assert_eq!(added(None, text.as_bytes()), Some(rule), "{text}");
                let masked = mask(&text);
                assert!(masked.starts_with(lead) && masked.contains(&format!("[secret: {rule}]")), "{masked}");
            }
        }
        assert_eq!(mask("{\"text\":\"a\\nBearer abcDEF123456abcDEF123456\"}"), "{\"text\":\"a\\nBearer [secret: bearer-token]\"}");
        let within_a_word = format!("n{}{}", "ghp_", "aB3d".repeat(9));
        assert_eq!(mask(&within_a_word), within_a_word);
    }

    #[test]
    fn nothing_of_a_secret_is_left_where_it_is_masked() {
        for (rule, text) in samples() {
            let masked = mask(&format!("before\n{text}\nafter")).into_owned();
            assert!(masked.starts_with("before\n") && masked.contains(&format!("[secret: {rule}]")), "{masked}");
            let secret = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_-/+".contains(c)).max_by_key(|part| part.len()).unwrap();
            assert!(!masked.contains(secret), "{masked}");
        }
    }

    #[test]
    fn what_is_spoken_of_as_a_secret_is_masked_and_words_about_secrets_are_not() {
        for (text, secret) in [
            ("DB_PASSWORD=h0rse-staple next", "h0rse-staple"),
            ("password: \"tr0ub4dor&3\"", "tr0ub4dor"),
            ("Authorization: Bearer abcDEF123456abcDEF123456", "abcDEF123456abcDEF123456"),
            ("{\"access_token\": \"a1b2c3d4e5f6a7b8c9d0\"}", "a1b2c3d4e5f6a7b8c9d0"),
            ("client_secret=a1b2c3d4e5f6a7b8c9d0", "a1b2c3d4e5f6a7b8c9d0"),
            ("passphrase = correcthorse", "correcthorse"),
            ("pwd=h0rs", "h0rs"),
            ("password: \"correct horse battery\"", "horse battery"),
            ("password = 'correct horse battery'", "horse battery"),
            (r#"{"password":"a\"staple"}"#, "staple"),
            ("password: [ h0rse-staple ]", "h0rse-staple"),
            (r#"{"password": ["a", "h0rse-staple"]} and on"#, "h0rse-staple"),
            ("tokens are:\n\"token\":['short', 'a1b2c3d4e5f6a7b8c9d0' ]", "a1b2c3d4e5f6a7b8c9d0"),
            ("\"api_key\": [\"a1b2c3d4e5f6a7b8c9d0\"]", "a1b2c3d4e5f6a7b8c9d0"),
        ] {
            let masked = mask(text);
            assert!(!masked.contains(secret) && masked.contains("[secret: "), "{masked}");
            assert_eq!(added(None, text.as_bytes()), None, "a rescue does not go by it: {text}");
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
            assert!(matches!(mask(text), Cow::Borrowed(same) if same == text), "{text}: {}", mask(text));
        }
        for text in ["password=h0rse-staple", "password: \"h0rse staple\"", "password: ['h0rse staple']", "token = [a1b2c3d4e5f6a7b8c9d0]"]
        {
            let once = mask(text).into_owned();
            assert!(once.contains("[secret: ") && mask(&once) == once, "what is masked stays as it is: {once}");
        }
    }

    #[test]
    fn every_rule_has_a_word_that_is_in_all_that_it_finds() {
        for (rule, text) in samples() {
            assert!(mask(&text).contains(&format!("[secret: {rule}]")), "{rule}: {}", mask(&text));
        }
    }

    #[test]
    fn text_in_utf_16_is_read_as_what_it_says() {
        for (rule, text) in samples() {
            let text = format!("name = value\r\n{text}\r\n");
            let wide = |big: bool, mark: &[u8]| {
                let units = text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
                [mark.to_vec(), units.collect()].concat()
            };
            for bytes in [wide(false, b"\xff\xfe"), wide(true, b"\xfe\xff"), wide(false, b""), wide(true, b"")] {
                assert_eq!(added(None, &bytes), Some(rule), "{text}");
                assert_eq!(added(Some(&bytes), &bytes), None, "{text}");
                assert_eq!(added(Some(text.as_bytes()), &bytes), None, "only its encoding changed");
            }
        }
        for bytes in [&b"\xff\xfe"[..], b"\xff\xfea", b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"] {
            assert_eq!(added(None, bytes), None);
        }
    }

    #[test]
    fn text_is_in_utf_16_where_a_mark_says_so_or_most_of_it_looks_so() {
        for (rule, text) in samples() {
            let other_script = format!("{}\n{text}", "密码在这里".repeat(60));
            let wide = |mark: &[u8], to_bytes: fn(u16) -> [u8; 2]| {
                [mark.to_vec(), other_script.encode_utf16().flat_map(to_bytes).collect()].concat()
            };
            for bytes in [wide(b"\xff\xfe", u16::to_le_bytes), wide(b"\xfe\xff", u16::to_be_bytes)] {
                assert_eq!(added(None, &bytes), Some(rule), "{text}");
            }
            let ended_by_nul = format!("{}{text}", "A=b\0".repeat(200));
            let after = [b"\xff\xfe".to_vec(), ended_by_nul.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat();
            assert_eq!(added(Some(ended_by_nul.as_bytes()), &after), None, "only its encoding changed: {text}");
        }
    }

    #[test]
    fn a_long_file_is_looked_through_in_passing_time() {
        let begun = std::time::Instant::now();
        let line = b"let value = compute(\"https://example.com/a\", 1234567890); // -----BEGIN\n";
        assert_eq!(added(None, &line.repeat(LIMIT as usize / line.len())), None);
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
