//! Which contents look like secrets: tokens that their issuers gave a shape of their own, private keys, passwords in
//! addresses. Pure.
//!
//! The rules are our own: of the embeddable libraries the one that builds missed half of a sample that these find
//! (cloud keys, keys of model services, addresses of databases) and brings 78 crates along; the others need a newer
//! compiler. A rule here needs an unmistakable prefix or frame, so that a rescue does not leave ordinary source behind.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// Larger files are not looked through.
pub(super) const LIMIT: u64 = 1 << 20;

/// The name of each rule, which is told to people, and what it looks for.
const RULES: [(&str, &str); 24] = [
    ("aws-access-key-id", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("aws-secret-access-key", r#"(?i)aws_?secret_?access_?key["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}"#),
    ("anthropic-key", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-key", r"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}|[A-Za-z0-9]{48}\b)"),
    ("github-token", r"\bgh[pousr]_[A-Za-z0-9]{36,}"),
    ("github-fine-grained-token", r"\bgithub_pat_[A-Za-z0-9_]{50,}"),
    ("gitlab-token", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{20,}"),
    ("slack-token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("slack-webhook", r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}"),
    ("stripe-key", r"\b[sr]k_live_[A-Za-z0-9]{16,}"),
    ("google-api-key", r"\bAIza[0-9A-Za-z_-]{35}"),
    ("google-client-secret", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    ("npm-token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi-token", r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}"),
    ("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    ("hugging-face-token", r"\bhf_[A-Za-z0-9]{34,}\b"),
    ("digitalocean-token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("vault-token", r"\bhv[sb]\.[A-Za-z0-9_-]{24,}"),
    ("telegram-bot-token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    ("azure-storage-key", r"\bAccountKey=[A-Za-z0-9+/]{80,}={0,2}"),
    ("age-secret-key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("json-web-token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    // The frame alone is in every program that reads keys; only with something in it is it a key.
    (
        "private-key",
        r#"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|[\s"'+,]|[A-Za-z-]+: [^\n]{0,200}\n)*[A-Za-z0-9+/]{24,}(?s:.*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|.*\z)"#,
    ),
    (PASSWORD, r#"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@"'<>`|\\]{0,100}:[^\s/@"'<>`|\\]{3,200}@[A-Za-z0-9\[]"#),
];

/// The one rule whose matches are told from placeholders by what is in them.
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

/// All of them in one pass, as nearly every file matches none; one by one only where that says so.
static ALL: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSetBuilder::new(RULES.map(|(_, rule)| rule)).unicode(false).size_limit(64 << 20).build().expect("the rules are constants")
});

static EACH: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let build = |rule: &str| RegexBuilder::new(rule).unicode(false).size_limit(64 << 20).build().expect("the rules are constants");
    RULES.iter().map(|(_, rule)| build(rule)).collect()
});

/// The rule that finds a secret in `after` which is not in `before` as well.
pub(super) fn added(before: Option<&[u8]>, after: &[u8]) -> Option<&'static str> {
    let before = before.unwrap_or_default();
    let known = |secret: &[u8]| before.windows(secret.len()).any(|part| part == secret);
    ALL.matches(after).into_iter().find_map(|rule| {
        let name = RULES[rule].0;
        let mut found = EACH[rule].find_iter(after).map(|found| found.as_bytes());
        found.any(|secret| !is_placeholder(name, secret) && (before.is_empty() || !known(secret))).then_some(name)
    })
}

/// A text with every secret replaced by the name of its rule.
pub fn mask(text: &str) -> String {
    let mut masked = text.as_bytes().to_vec();
    for rule in ALL.matches(text.as_bytes()) {
        let with = format!("[secret: {}]", RULES[rule].0);
        masked = EACH[rule].replace_all(&masked, regex::bytes::NoExpand(with.as_bytes())).into_owned();
    }
    String::from_utf8_lossy(&masked).into_owned()
}

/// Whether something of the right shape stands for a secret and is none.
fn is_placeholder(rule: &str, found: &[u8]) -> bool {
    let text = String::from_utf8_lossy(found).to_ascii_lowercase();
    if ["example", "xxxxxx", "000000", "123456789", "placeholder", "your-", "your_"].iter().any(|word| text.contains(word)) {
        return rule != "private-key";
    }
    if rule != PASSWORD {
        return false;
    }
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
            "postgres://postgres:postgres@localhost/db",
            "https://user:${TOKEN}@example.com/",
            "ftp://{user}:{password}@{host}",
            "see https://example.com:8080/a@b",
            "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            "git@github.com:owner/name.git",
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
        }
        let (one, two) = (format!("{}{}", "ghp_", "a".repeat(36)), format!("{}{}", "ghp_", "b".repeat(36)));
        assert_eq!(added(Some(one.as_bytes()), format!("{one} {two}").as_bytes()), Some("github-token"));
    }

    #[test]
    fn nothing_of_a_secret_is_left_where_it_is_masked() {
        for (rule, text) in samples() {
            let masked = mask(&format!("before\n{text}\nafter"));
            assert!(masked.starts_with("before\n") && masked.contains(&format!("[secret: {rule}]")), "{masked}");
            let secret = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_-/+".contains(c)).max_by_key(|part| part.len()).unwrap();
            assert!(!masked.contains(secret), "{masked}");
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
