//! Which names look like secrets and which folders like something that a tool can make again.

use watchdog_facts::secret_shapes;
use watchdog_facts::session_work::BULK_FOLDERS;

/// Endings of environment files that are made to be shared.
const SHARED_ENV: [&str; 5] = ["example", "sample", "template", "dist", "schema"];
/// Whole names.
const NAMES: [&str; 26] = [
    ".vault-token",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    "wp-config.php",
    "auth.toml",
    "cookies.sqlite",
    "logins.json",
    "key4.db",
    "dump.sql",
    "oauth_creds.json",
    ".npmrc",
    ".netrc",
    "_netrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".terraformrc",
    "kubeconfig",
    ".kubeconfig",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
];
/// Endings of names.
const ENDINGS: [&str; 15] = [
    ".pem",
    ".key",
    ".p8",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".tfstate",
    ".tfstate.backup",
    ".tfvars",
    ".tfvars.json",
    ".kubeconfig",
    ".ovpn",
];
/// Beginnings of names of private keys.
const KEYS: [&str; 4] = ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"];
/// Endings of `credentials…` and `service-account…` files that hold data and not source.
const DATA: [&str; 9] = [
    "json", "yml", "yaml", "toml", "ini", "cfg", "csv", "txt", "xml",
];
/// Whole paths below a home folder.
const TAILS: [&str; 10] = [
    ".aws/credentials",
    ".kube/config",
    ".docker/config.json",
    ".config/gcloud/application_default_credentials.json",
    ".config/gh/hosts.yml",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".local/share/opencode/auth.json",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
];

/// Endings that editors and people give to a copy.
const COPIES: [&str; 10] = [
    "~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo", ".tmp", ".copy",
];

/// Whether a path names a file that usually holds a secret, or a copy of one.
pub fn looks_secret(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (folder, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
    if is_secret(&path, name) {
        return true;
    }
    let original = original_of(name);
    // An editor's swap file has the name behind a dot of its own.
    let swapped = original
        .strip_prefix('.')
        .filter(|_| name.ends_with(".swp") || name.ends_with(".swo"));
    [Some(original).filter(|original| *original != name), swapped]
        .into_iter()
        .flatten()
        .any(|name| is_secret(&format!("{folder}{name}"), name))
}

/// The name that a copy is one of: `.env~`, `.env.bak`, `#.env#`. Any number of endings.
fn original_of(name: &str) -> &str {
    let mut name = name
        .strip_prefix('#')
        .and_then(|name| name.strip_suffix('#'))
        .unwrap_or(name);
    while let Some(shorter) = COPIES
        .iter()
        .find_map(|copy| name.strip_suffix(copy))
        .filter(|shorter| !shorter.is_empty())
    {
        name = shorter;
    }
    name
}

fn is_secret(path: &str, name: &str) -> bool {
    let holds_data = |stem: &str| match name.strip_prefix(stem) {
        None => false,
        Some(after_stem) => match after_stem.rsplit_once('.') {
            None => {
                after_stem.is_empty()
                    || !after_stem.starts_with(|c: char| c.is_ascii_alphanumeric())
            }
            Some((_, ending)) => DATA.contains(&ending),
        },
    };
    is_env_file(name)
        || holds_data("secrets")
            && !name["secrets".len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
        || NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || KEYS.iter().any(|key| name.starts_with(key)) && !name.ends_with(".pub")
        || holds_data("credentials")
        || holds_data("service-account")
        || holds_data("service_account")
        || TAILS
            .iter()
            .any(|tail| path == *tail || path.ends_with(&format!("/{tail}")))
}

/// The rule that finds a secret in a file that a commit has as `before`: by its content, or by content where its name asks for a second look.
pub(super) fn secret_in(path: &str, before: Option<&[u8]>, after: &[u8]) -> Option<&'static str> {
    let by_shape = secret_shapes::find_added_secret(before, after);
    by_shape.or_else(|| {
        (has_password_property(path, after)
            && !before.is_some_and(|before| has_password_property(path, before)))
        .then_some("password-property")
    })
}

/// Whether the settings of a build name a password: most of such files hold none, and are work.
fn has_password_property(path: &str, content: &[u8]) -> bool {
    if !path
        .rsplit('/')
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case("gradle.properties"))
    {
        return false;
    }
    String::from_utf8_lossy(content)
        .lines()
        .filter_map(|line| line.split_once(['=', ':']))
        .any(|(key, value)| {
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            let names_secret = [
                "password",
                "passwd",
                "secret",
                "token",
                "apikey",
                "api_key",
                "accesskey",
            ]
            .iter()
            .any(|word| key.contains(word));
            names_secret
                && !key.starts_with(['#', '!'])
                && value.len() >= 4
                && !value.starts_with(['$', '@', '<', '%'])
        })
}

/// `.env`, `.env.local` and `prod.env`, but not `.env.example` and `example.env`.
pub(super) fn is_env_file(name: &str) -> bool {
    match name.strip_prefix(".env") {
        Some("") => true,
        Some(after_env) => {
            after_env.starts_with(['.', '-', '_'])
                && !SHARED_ENV.iter().any(|shared| after_env.ends_with(shared))
        }
        None => name.strip_suffix(".env").is_some_and(|stem| {
            !stem.is_empty() && !SHARED_ENV.iter().any(|shared| stem.ends_with(shared))
        }),
    }
}

/// Folders whose name alone proves nothing, with what lies in them when a tool made them.
const BULK_IF: [(&str, &[&str]); 3] = [
    (
        "target",
        &[
            "CACHEDIR.TAG",
            ".rustc_info.json",
            "debug/",
            "release/",
            "classes/",
            "maven-status/",
        ],
    ),
    ("venv", &["pyvenv.cfg"]),
    ("env", &["pyvenv.cfg"]),
];

/// Folders that tools fetch or generate, for files that git ignores: no further evidence is needed.
const MADE: [&str; 8] = [
    "target", "venv", "env", "vendor", "dist", "build", "out", ".git",
];

/// Whether an ignored file lies in a folder that a tool filled.
pub(super) fn in_generated_folder(path: &str) -> bool {
    let mut folders = path.split('/');
    folders.next_back();
    folders.any(|name| BULK_FOLDERS.contains(&name) || MADE.contains(&name))
}

/// The generated folder that contains `path`, if there is one. `exists` returns whether a path, or
/// with a final slash any path below it, is among the untracked ones.
pub(super) fn bulk_folder(path: &str, exists: impl Fn(&str) -> bool) -> Option<&str> {
    let mut start = 0;
    while let Some(length) = path[start..].find('/') {
        let (name, folder) = (&path[start..start + length], &path[..start + length]);
        let marked = BULK_IF.iter().any(|(bulk, marks)| {
            *bulk == name && marks.iter().any(|mark| exists(&format!("{folder}/{mark}")))
        });
        if BULK_FOLDERS.contains(&name) || marked {
            return Some(folder);
        }
        start += length + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_source() {
        for secret in [
            ".env",
            ".env.local",
            "a/.env.production",
            "server.pem",
            "deep/tls.KEY",
            "id_rsa",
            "id_ed25519_work",
            ".npmrc",
            "x/.netrc",
            "credentials",
            "credentials.json",
            "credentials-prod.yml",
            "credentials-prod",
            "service_account_ci",
            "prod.tfstate",
            "cert.p12",
            "kubeconfig",
            ".kube/config",
            "home/.aws/credentials",
            "service-account.json",
            ".env~",
            "a/.env.bak",
            ".env.local.orig",
            ".env.swp",
            "a/..env.swp",
            ".secrets.toml.swp",
            "#.env#",
            "prod.env",
            "deploy/staging.env",
            "prod.env.bak~",
            "secrets.toml",
            "secrets.prod.yaml",
            "secrets.json.old",
            "id_rsa.bak",
            "server.pem.orig",
            "home/.aws/credentials.bak",
            "prod.tfvars",
            "infra/terraform.auto.tfvars.json",
            "AuthKey_ABC123DEFG.p8",
            "site/wp-config.php",
            ".m2/settings.xml",
            "home/.codex/auth.json",
            ".vault-token",
            "home/.gradle/gradle.properties",
            "fly/auth.toml",
            "profile/cookies.sqlite",
            "backup/dump.sql",
        ] {
            assert!(looks_secret(secret), "{secret}");
        }
        for open in [
            ".env.example",
            ".env.sample",
            ".envrc",
            "environment.ts",
            "src/credentials.rs",
            "credentials_test.go",
            "id_rsa.pub",
            "keyboard.rs",
            "monkey",
            "src/key.rs",
            "credentialsform.tsx",
            "credentialstore",
            "service-accounts",
            "env",
            "public.gpg",
            "example.env",
            "main.rs~",
            "notes.bak",
            "a.swp",
            "secrets.rs",
            "src/secrets/mod.rs",
            "secretsauce.json",
            "variables.tf",
            "wp-config-sample.php",
            "settings.xml",
            "android/gradle.properties",
            "src/auth.json",
            "schema.sql",
            "settings.gradle",
            "~",
        ] {
            assert!(!looks_secret(open), "{open}");
        }
    }

    #[test]
    fn build_settings_with_a_password_are_secret() {
        for (path, text, is_secret) in [
            (
                "gradle.properties",
                "signing.keyId=1\nossrhPassword=h0rse-staple\n",
                true,
            ),
            (
                "app/gradle.properties",
                "sonatypeToken : h0rse-staple\n",
                true,
            ),
            (
                "gradle.properties",
                "org.gradle.jvmargs=-Xmx2g\nversion=1.2.3\n",
                false,
            ),
            (
                "gradle.properties",
                "# ossrhPassword=h0rse-staple\nossrhPassword=$PASSWORD\n",
                false,
            ),
            ("messages.properties", "password=Enter a password\n", false),
        ] {
            assert_eq!(
                secret_in(path, None, text.as_bytes()).is_some(),
                is_secret,
                "{path}: {text}"
            );
            assert_eq!(
                secret_in(path, Some(text.as_bytes()), text.as_bytes()),
                None,
                "it was committed before: {text}"
            );
        }
    }

    #[test]
    fn tool_folders_are_distinguished_from_personal_ones() {
        let all = [
            "target/debug/x",
            "src/target/main.c",
            "web/node_modules/left-pad/index.js",
            "venv/pyvenv.cfg",
        ];
        let exists = |wanted: &str| {
            all.iter()
                .any(|p| *p == wanted || wanted.ends_with('/') && p.starts_with(wanted))
        };
        assert_eq!(bulk_folder("target/debug/x", exists), Some("target"));
        assert_eq!(bulk_folder("src/target/main.c", exists), None);
        assert_eq!(
            bulk_folder("web/node_modules/left-pad/index.js", exists),
            Some("web/node_modules")
        );
        assert_eq!(bulk_folder("venv/lib/x.py", exists), Some("venv"));
        assert_eq!(
            bulk_folder("node_modules", exists),
            None,
            "a file of that name is no folder"
        );
    }
}
