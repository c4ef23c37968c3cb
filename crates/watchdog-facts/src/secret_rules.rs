//! The rules of secrets: our own, and the published ones of secret_rules.tsv with their licence.
//!
//! Each has words that a text is searched for first, in one pass for all rules, so that the pattern of a rule is compiled only once such a
//! word occurs. scripts/secret-rules makes the table.

use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};

/// The published rules; the licence stands in front.
const PUBLISHED: &str = include_str!("secret_rules.tsv");

/// The name of the rule whose matches need a further test against placeholders.
pub(super) const PASSWORD_IN_ADDRESS: &str = "password-in-address";

/// The name, the words and the pattern of a rule of our own.
type OwnRule = (&'static str, &'static [&'static str], &'static str);

/// The beginnings of Twilio's keys: `sk` alone is in half of all lines.
const TWILIO: [&str; 16] = [
    "sk0", "sk1", "sk2", "sk3", "sk4", "sk5", "sk6", "sk7", "sk8", "sk9", "ska", "skb", "skc",
    "skd", "ske", "skf",
];

/// Secrets in any text. Their order is the order of masks: a text is masked by the first rule that finds a secret there.
const OWN_RULES: [OwnRule; 38] = [
    (
        "aws-access-key-id",
        &["akia", "asia"],
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    ),
    (
        "aws-secret-access-key",
        &["aws"],
        r#"(?i)aws_?secret_?access_?key["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}"#,
    ),
    (
        "anthropic-key",
        &["sk-ant-"],
        r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    ),
    (
        "openai-key",
        &["sk-"],
        r"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}|[A-Za-z0-9]{48}\b)",
    ),
    (
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        r"\bgh[pousr]_[A-Za-z0-9]{36,}",
    ),
    (
        "github-fine-grained-token",
        &["github_pat_"],
        r"\bgithub_pat_[A-Za-z0-9_]{50,}",
    ),
    (
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-",
        ],
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{20,}",
    ),
    ("slack-token", &["xox"], r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    (
        "slack-webhook",
        &["hooks.slack.com"],
        r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}",
    ),
    ("stripe-key", &["k_live_"], r"\b[sr]k_live_[A-Za-z0-9]{16,}"),
    ("google-api-key", &["aiza"], r"\bAIza[0-9A-Za-z_-]{35}"),
    (
        "google-client-secret",
        &["gocspx-"],
        r"\bGOCSPX-[A-Za-z0-9_-]{28}",
    ),
    ("npm-token", &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b"),
    (
        "pypi-token",
        &["pypi-"],
        r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}",
    ),
    (
        "sendgrid-key",
        &["sg."],
        r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b",
    ),
    ("hugging-face-token", &["hf_"], r"\bhf_[A-Za-z0-9]{34,}\b"),
    (
        "digitalocean-token",
        &["_v1_"],
        r"\bdo[opr]_v1_[a-f0-9]{64}\b",
    ),
    (
        "vault-token",
        &["hvs.", "hvb."],
        r"\bhv[sb]\.[A-Za-z0-9_-]{24,}",
    ),
    (
        "telegram-bot-token",
        &[":aa"],
        r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b",
    ),
    (
        "azure-storage-key",
        &["accountkey="],
        r"\bAccountKey=[A-Za-z0-9+/]{80,}={0,2}",
    ),
    (
        "age-secret-key",
        &["age-secret-key-1"],
        r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}",
    ),
    (
        "json-web-token",
        &["eyj"],
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ),
    // Shapes that their services document and the published rules take beside the name of the service only.
    (
        "google-oauth-token",
        &["ya29.", "1//0"],
        r"\b(?:ya29\.[A-Za-z0-9_-]{30,}|1//0[A-Za-z0-9_-]{40,})",
    ),
    ("notion-token", &["secret_"], r"\bsecret_[A-Za-z0-9]{43}\b"),
    (
        "tailscale-token",
        &["tskey-"],
        r"\btskey-[a-z]+-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}",
    ),
    (
        "fly-token",
        &["fo1_", "fm1", "fm2_"],
        r"\b(?:fo1_[A-Za-z0-9_-]{43}|fm(?:1[ar]|2)_[A-Za-z0-9+/=]{100,})",
    ),
    (
        "new-relic-key",
        &["nrak-", "nrii-"],
        r"\bNR(?:AK-[A-Z0-9]{27}|II-[A-Za-z0-9_-]{32})",
    ),
    (
        "doppler-token",
        &["dp."],
        r"\bdp\.(?:ct|st|sa|scim|audit)(?:\.[a-z0-9_-]{2,35})?\.[A-Za-z0-9]{40,44}\b",
    ),
    (
        "discord-bot-token",
        &["discord", "token", "api_key", "apikey"],
        r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
    ),
    (
        "discord-webhook",
        &["/webhooks/"],
        r"\bdiscord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,}",
    ),
    ("twilio-token", &TWILIO, r"\bSK[0-9a-f]{32}\b"),
    ("mailgun-key", &["key-"], r"\bkey-[0-9a-f]{32}\b"),
    (
        "resend-key",
        &["re_"],
        r"\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b",
    ),
    (
        "netlify-token",
        &["nfp_", "nfc_", "nfo_", "nfu_"],
        r"\bnf[pcou]_[A-Za-z0-9]{36}\b",
    ),
    (
        "hubspot-token",
        &["pat-"],
        r"\bpat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    ),
    (
        "airtable-token",
        &["pat"],
        r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b",
    ),
    // The frame alone is in every program that reads keys; only with something in it is it a key.
    (
        "private-key",
        &["private key"],
        r#"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|[\s"'+,]|[A-Za-z-]+: [^\n]{0,200}\n)*[A-Za-z0-9+/]{24,}(?s:.*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|.*\z)"#,
    ),
    // Some writers of JSON put a backslash before each slash.
    (
        PASSWORD_IN_ADDRESS,
        &["://", r":\/\/"],
        r#"\b[A-Za-z][A-Za-z0-9+.-]{1,20}:(?://|\\/\\/)[^\s/:@"'<>`|\\]{0,100}:[^\s/@"'<>`|\\]{3,200}@[A-Za-z0-9\[]"#,
    ),
];

/// Further patterns to mask in texts. In source these are usually names and examples, so that a rescue ignores them.
const TEXT_RULES: [OwnRule; 3] = [
    (
        "bearer-token",
        &["bearer"],
        r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,4096})",
    ),
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

/// A rule: a name for people, lower-case words one of which is in each match, and a pattern.
pub(super) struct SecretRule {
    pub(super) name: &'static str,
    words: Vec<&'static str>,
    pub(super) pattern: &'static str,
    /// The least entropy of a secret, in bits a byte: less is a placeholder.
    least_entropy: f64,
    /// A secret with fewer digits is text: a name of a program in a list.
    least_digits: usize,
    /// Masks texts only: in source it is usually the name of a secret.
    pub(super) is_for_texts: bool,
    regex: OnceLock<Regex>,
}

impl SecretRule {
    fn own(&(name, words, pattern): &OwnRule, is_for_texts: bool) -> Self {
        let (words, regex) = (words.to_vec(), OnceLock::new());
        SecretRule {
            name,
            words,
            pattern,
            least_entropy: 0.0,
            least_digits: 0,
            is_for_texts,
            regex,
        }
    }

    fn parse_published(line: &'static str) -> Option<Self> {
        let mut columns = line.splitn(5, '\t');
        let (name, entropy, digits) = (columns.next()?, columns.next()?, columns.next()?);
        let (words, pattern) = (columns.next()?.split(' ').collect(), columns.next()?);
        let least_entropy = entropy.parse().ok()?;
        Some(SecretRule {
            name,
            words,
            pattern,
            least_entropy,
            least_digits: digits.parse().ok()?,
            is_for_texts: false,
            regex: OnceLock::new(),
        })
    }

    /// The compiled pattern.
    pub(super) fn regex(&self) -> &Regex {
        let build = |pattern: &str| {
            RegexBuilder::new(pattern)
                .unicode(false)
                .size_limit(64 << 20)
                .build()
        };
        self.regex.get_or_init(|| {
            build(&with_more_boundaries(self.pattern)).expect("the rules are constants")
        })
    }

    /// Whether a match of the pattern is random enough for a secret.
    pub(super) fn is_random(&self, secret: &[u8]) -> bool {
        let digits = secret.iter().filter(|byte| byte.is_ascii_digit()).count();
        digits >= self.least_digits
            && (self.least_entropy == 0.0 || measure_entropy(secret) >= self.least_entropy)
    }
}

/// Shannon's entropy, in bits a byte.
fn measure_entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    bytes
        .iter()
        .for_each(|byte| counts[usize::from(*byte)] += 1);
    let share = |count: u32| f64::from(count) / bytes.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| -share(*count) * share(*count).log2())
        .sum()
}

/// All rules in the order in which they are tried.
pub(super) static RULES: LazyLock<Vec<SecretRule>> = LazyLock::new(|| {
    let published = PUBLISHED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(SecretRule::parse_published);
    let own = OWN_RULES.iter().map(|rule| SecretRule::own(rule, false));
    own.chain(published)
        .chain(TEXT_RULES.iter().map(|rule| SecretRule::own(rule, true)))
        .collect()
});

/// The shortest word of a rule: so many letters lead to the words that begin with them.
const START: usize = 3;

/// The words of all rules by their beginning. Made in less time than an automaton, which a short command would build for one line.
struct WordTable {
    /// The position of each beginning in `words`; zero, where no word is, for most of them.
    starts: Vec<u16>,
    words: Vec<Vec<(&'static [u8], usize)>>,
}

static WORDS: LazyLock<WordTable> = LazyLock::new(|| {
    let mut table = WordTable {
        starts: vec![0; 1 << (5 * START)],
        words: vec![Vec::new()],
    };
    let words = RULES
        .iter()
        .enumerate()
        .flat_map(|(n, rule)| rule.words.iter().map(move |word| (word.as_bytes(), n)));
    for (word, n) in words {
        let group = &mut table.starts[start_of(word)];
        if *group == 0 {
            *group = u16::try_from(table.words.len()).expect("the words are few");
            table.words.push(Vec::new());
        }
        table.words[usize::from(*group)].push((word, n));
    }
    table
});

/// The first letters of a text as a number, large and small ones alike: five bits of each.
fn start_of(text: &[u8]) -> usize {
    text.iter()
        .take(START)
        .fold(0, |number, byte| number << 5 | usize::from(byte & 31))
}

/// The rules of which a word is in the text, in their order.
pub(super) fn find_due_rules(text: &[u8]) -> Vec<&'static SecretRule> {
    let table = &*WORDS;
    let mut is_due = Vec::new();
    for (at, start) in text.windows(START).enumerate() {
        let group = table.starts[start_of(start)];
        if group == 0 {
            continue;
        }
        for (word, n) in &table.words[usize::from(group)] {
            if text
                .get(at..at + word.len())
                .is_some_and(|part| part.eq_ignore_ascii_case(word))
            {
                is_due.resize(RULES.len(), false);
                is_due[*n] = true;
            }
        }
    }
    is_due
        .iter()
        .zip(RULES.iter())
        .filter_map(|(is_due, rule)| is_due.then_some(rule))
        .collect()
}

/// A pattern that begins at the boundary of a word, so that it begins after an escape of a document (`\n`, `\u003d`) and after a colour of a
/// terminal as well: their last letter is none of the word.
fn with_more_boundaries(pattern: &str) -> String {
    let (flags, bare) = pattern
        .strip_prefix("(?i)")
        .map_or(("", pattern), |bare| ("(?i)", bare));
    match bare.strip_prefix(r"\b") {
        Some(pattern_end) => {
            format!(r"{flags}(?:\b|\\(?:[bfnrt]|u[0-9A-Fa-f]{{4}})|\[[0-9;]*m)({pattern_end})")
        }
        None => pattern.to_owned(),
    }
}
