//! Tests of the rules of secrets: the shapes that services document, each published rule by itself, and ordinary files.

use std::path::{Path, PathBuf};

use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::secret_rules::RULES;
use crate::secret_shapes::{LIMIT, find_added_secret, mask_secrets};

/// Random letters of an alphabet, as an issuer of tokens draws them: made here, so that no scanner takes this file for a leak.
fn draw(alphabet: &str, length: usize, seed: &mut u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut next = || {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize
    };
    (0..length)
        .map(|_| letters[next() % letters.len()])
        .collect()
}

const HEX: &str = "0123456789abcdef";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const DIGITS: &str = "0123456789";

/// The documented shapes, part by part: a text, or an alphabet with a length.
const SHAPES: &[(&str, &[(&str, usize)])] = &[
    ("google-oauth-access", &[("ya29.", 0), (ALNUM, 120)]),
    ("google-oauth-refresh", &[("1//0", 0), (ALNUM, 64)]),
    ("google-client-secret", &[("GOCSPX-", 0), (ALNUM, 28)]),
    ("docker-personal", &[("dckr_pat_", 0), (ALNUM, 27)]),
    ("docker-organization", &[("dckr_oat_", 0), (ALNUM, 32)]),
    ("shopify-access", &[("shpat_", 0), (HEX, 32)]),
    ("shopify-shared", &[("shpss_", 0), (HEX, 32)]),
    ("figma", &[("figd_", 0), (ALNUM, 40)]),
    ("linear", &[("lin_api_", 0), (ALNUM, 40)]),
    ("notion", &[("ntn_", 0), (DIGITS, 11), (ALNUM, 35)]),
    ("notion-older", &[("secret_", 0), (ALNUM, 43)]),
    ("sentry-user", &[("sntryu_", 0), (HEX, 64)]),
    (
        "sentry-organization",
        &[
            ("sntrys_eyJpYXQiO", 0),
            (ALNUM, 100),
            ("LCJyZWdpb25fdXJs", 0),
            (ALNUM, 60),
            ("==_", 0),
            (ALNUM, 43),
        ],
    ),
    (
        "tailscale-auth",
        &[("tskey-auth-", 0), (ALNUM, 17), ("-", 0), (ALNUM, 32)],
    ),
    (
        "tailscale-api",
        &[("tskey-api-", 0), (ALNUM, 17), ("-", 0), (ALNUM, 32)],
    ),
    ("atlassian", &[("ATATT3", 0), (ALNUM, 186)]),
    ("groq", &[("gsk_", 0), (ALNUM, 52)]),
    ("xai", &[("xai-", 0), (ALNUM, 80)]),
    ("replicate", &[("r8_", 0), (ALNUM, 37)]),
    ("nvidia", &[("nvapi-", 0), (ALNUM, 64)]),
    ("supabase-management", &[("sbp_", 0), (HEX, 40)]),
    ("supabase-secret", &[("sb_secret_", 0), (ALNUM, 31)]),
    ("planetscale-token", &[("pscale_tkn_", 0), (ALNUM, 43)]),
    ("planetscale-password", &[("pscale_pw_", 0), (ALNUM, 43)]),
    ("databricks", &[("dapi", 0), (HEX, 32)]),
    ("grafana-cloud", &[("glc_eyJv", 0), (ALNUM, 120)]),
    (
        "grafana-service-account",
        &[("glsa_", 0), (ALNUM, 32), ("_", 0), (HEX, 8)],
    ),
    ("fly", &[("FlyV1 fm2_", 0), (ALNUM, 200)]),
    ("fly-one", &[("fo1_", 0), (ALNUM, 43)]),
    ("postman", &[("PMAK-", 0), (HEX, 24), ("-", 0), (HEX, 34)]),
    ("new-relic-user", &[("NRAK-", 0), (UPPER, 27)]),
    ("openrouter", &[("sk-or-v1-", 0), (HEX, 64)]),
    ("rubygems", &[("rubygems_", 0), (HEX, 48)]),
    ("doppler", &[("dp.pt.", 0), (ALNUM, 43)]),
    ("doppler-service", &[("dp.st.dev.", 0), (ALNUM, 43)]),
    (
        "cloudflare-origin",
        &[("v1.0-", 0), (HEX, 24), ("-", 0), (HEX, 146)],
    ),
    (
        "discord-bot",
        &[
            ("DISCORD_BOT=MTE", 0),
            (ALNUM, 23),
            (".G", 0),
            (ALNUM, 5),
            (".", 0),
            (ALNUM, 38),
        ],
    ),
    (
        "discord-webhook",
        &[
            ("https://discord.com/api/webhooks/", 0),
            (DIGITS, 18),
            ("/", 0),
            (ALNUM, 68),
        ],
    ),
    ("twilio", &[("SK", 0), (HEX, 32)]),
    ("mailgun", &[("key-", 0), (HEX, 32)]),
    ("buildkite", &[("bkua_", 0), (HEX, 40)]),
    (
        "circleci",
        &[("CCIPAT_", 0), (ALNUM, 22), ("_", 0), (HEX, 40)],
    ),
    ("1password", &[("ops_eyJ", 0), (ALNUM, 300)]),
    ("vercel", &[("vcp_", 0), (ALNUM, 56)]),
    (
        "pinecone",
        &[("pcsk_", 0), (ALNUM, 5), ("_", 0), (ALNUM, 63)],
    ),
    ("resend", &[("re_", 0), (ALNUM, 8), ("_", 0), (ALNUM, 24)]),
    ("npm", &[("npm_", 0), (ALNUM, 36)]),
    ("terraform", &[(ALNUM, 14), (".atlasv1.", 0), (ALNUM, 67)]),
    ("anthropic", &[("sk-ant-api03-", 0), (ALNUM, 93), ("AA", 0)]),
    (
        "openai-project",
        &[("sk-proj-", 0), (ALNUM, 74), ("T3BlbkFJ", 0), (ALNUM, 74)],
    ),
    ("github", &[("ghp_", 0), (ALNUM, 36)]),
    (
        "github-fine-grained",
        &[("github_pat_", 0), (ALNUM, 22), ("_", 0), (ALNUM, 59)],
    ),
    ("gitlab", &[("glpat-", 0), (ALNUM, 20)]),
    (
        "slack-bot",
        &[
            ("xoxb-", 0),
            (DIGITS, 12),
            ("-", 0),
            (DIGITS, 12),
            ("-", 0),
            (ALNUM, 24),
        ],
    ),
    (
        "slack-app",
        &[
            ("xapp-1-A", 0),
            (UPPER, 10),
            ("-", 0),
            (DIGITS, 13),
            ("-", 0),
            (HEX, 64),
        ],
    ),
    ("stripe", &[("sk_live_", 0), (ALNUM, 24)]),
    ("stripe-restricted", &[("rk_live_", 0), (ALNUM, 24)]),
    (
        "sendgrid",
        &[("SG.", 0), (ALNUM, 22), (".", 0), (ALNUM, 43)],
    ),
    ("hugging-face", &[("hf_", 0), (ALNUM, 34)]),
    ("digitalocean", &[("dop_v1_", 0), (HEX, 64)]),
    ("pypi", &[("pypi-AgEIcHlwaS5vcmc", 0), (ALNUM, 120)]),
    ("perplexity", &[("pplx-", 0), (ALNUM, 48)]),
    ("netlify", &[("nfp_", 0), (ALNUM, 36)]),
    (
        "hubspot",
        &[
            ("pat-na1-", 0),
            (HEX, 8),
            ("-", 0),
            (HEX, 4),
            ("-", 0),
            (HEX, 4),
            ("-", 0),
            (HEX, 4),
            ("-", 0),
            (HEX, 12),
        ],
    ),
    ("pulumi", &[("pul-", 0), (HEX, 40)]),
    (
        "dynatrace",
        &[("dt0c01.", 0), (UPPER, 24), (".", 0), (UPPER, 64)],
    ),
    (
        "langsmith",
        &[("lsv2_pt_", 0), (HEX, 32), ("_", 0), (HEX, 10)],
    ),
    ("square", &[("EAAAl", 0), (ALNUM, 59)]),
    (
        "sendinblue",
        &[("xkeysib-", 0), (HEX, 64), ("-", 0), (LOWER, 16)],
    ),
    ("posthog", &[("phx_", 0), (ALNUM, 43)]),
    ("prefect", &[("pnu_", 0), (LOWER, 36)]),
    ("airtable", &[("pat", 0), (ALNUM, 14), (".", 0), (HEX, 64)]),
    ("heroku", &[("HRKU-AA", 0), (ALNUM, 58)]),
];

#[test]
fn each_documented_shape_is_a_secret() {
    let mut seed = 40;
    let mut missed = Vec::new();
    for (service, parts) in SHAPES {
        let token: String = parts
            .iter()
            .map(|(text, length)| {
                if *length == 0 {
                    (*text).to_owned()
                } else {
                    draw(text, *length, &mut seed)
                }
            })
            .collect();
        for text in [
            format!("{token}\n"),
            format!("api_key: {token}\n"),
            format!("  token = \"{token}\",\n"),
            format!("[{token}]"),
        ] {
            if find_added_secret(None, text.as_bytes()).is_none() {
                missed.push(format!("{service}: {text}"));
            }
            if mask_secrets(&text).contains(&token) {
                missed.push(format!("{service} is not masked: {text}"));
            }
        }
    }
    assert_eq!(missed, Vec::<String>::new());
}

/// Rules of texts that the generator below cannot draw: it knows no end of a text, and no upper case that a part asks for.
const NOT_DRAWN: &[&str] = &[
    "discord-bot-token",
    "private-key",
    "password-in-address",
    "asaas-api-token",
    "azure-ad-client-secret",
    "buildkite-service-token",
    "dropbox-long-lived-api-token",
    "facebook-access-token",
    "gcp-application-default-credentials",
    "github-fine-grained-pat",
    "gitlab-incoming-mail-address-token",
    "ionic-personal-access-token",
    "jwt",
    "mailchimp-api-key",
    "miro-access-token",
    "openshift-user-token",
    "ovh-application-secret",
    "perplexity-api-key",
    "salesforce-access-token.1",
    "sentry-org-token",
    "slack-app-token",
    "slack-config-access-token",
    "slack-legacy-token",
    "slack-session-cookie",
    "slack-session-token",
    "slack-webhook-url",
    "tableau-personal-access-token.1",
    "twilio-api-key",
    "bearer-token",
    "password",
    "token",
];

#[test]
fn each_published_rule_finds_its_pattern() {
    let bare = [
        (r"\b", ""),
        ("|$)", ")"),
        ("(?i)", ""),
        ("(?i:", "(?:"),
        ("(?-i:", "(?:"),
        (r"[^\w+/=-]", "[ ,]"),
        (r"\w", "A-Za-z0-9_"),
        (r"\s", " "),
    ];
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let mut missed = Vec::new();
    for rule in RULES.iter() {
        rule.regex();
        let pattern = bare
            .iter()
            .fold(rule.pattern.to_owned(), |pattern, (part, with)| {
                pattern.replace(part, with)
            });
        let has_secret = string_regex(&pattern).is_ok_and(|texts| {
            (0..30).any(|_| {
                texts
                    .new_tree(&mut runner)
                    .is_ok_and(|text| find_added_secret(None, text.current().as_bytes()).is_some())
            })
        });
        if !has_secret {
            missed.push(rule.name);
        }
    }
    assert_eq!(missed, NOT_DRAWN);
    assert!(
        RULES.len() > 400,
        "the published rules are there: {}",
        RULES.len()
    );
}

fn visit_files(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind)
                if kind.is_dir()
                    && !matches!(entry.file_name().to_str(), Some("target" | ".git")) =>
            {
                visit_files(&entry.path(), visit)
            }
            Ok(kind) if kind.is_file() => visit(&entry.path()),
            _ => {}
        }
    }
}

/// Reads the files of this workspace, or of the folder that `WATCHDOG_ORDINARY_FILES` names: the long form.
#[test]
fn ordinary_files_have_no_secret() {
    let given = std::env::var_os("WATCHDOG_ORDINARY_FILES").map(PathBuf::from);
    let folder = given
        .clone()
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let (mut files, mut secrets) = (0, Vec::new());
    visit_files(&folder, &mut |path| {
        if let Ok(bytes) = std::fs::read(path)
            && bytes.len() as u64 <= LIMIT
        {
            files += 1;
            secrets.extend(
                find_added_secret(None, &bytes).map(|rule| format!("{rule} {}", path.display())),
            );
        }
    });
    println!(
        "{} of {files} files look like a secret:\n{}",
        secrets.len(),
        secrets.join("\n")
    );
    assert!(files > 0, "{}", folder.display());
    // Our own tests have addresses with passwords, and the table of rules has beginnings of secrets.
    let is_expected = |secret: &&String| {
        given.is_none()
            && (secret.starts_with("password-in-address ") || secret.ends_with("secret_rules.tsv"))
    };
    let unexpected: Vec<&String> = secrets
        .iter()
        .filter(|secret| !is_expected(secret))
        .collect();
    let most = if given.is_some() { files / 1000 } else { 0 };
    assert!(unexpected.len() <= most, "{unexpected:#?}");
}
