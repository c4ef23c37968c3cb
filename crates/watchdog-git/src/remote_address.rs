//! The address of a remote: the id that names its repository on every machine, and the address without what is secret in it.

use std::path::Path;

use gix::bstr::ByteSlice;
use gix::url::Scheme;
use watchdog_facts::secret_shapes::mask_secrets;

use super::open::Worktree;

/// The longest id of a repository, in bytes.
const LONGEST_ID: usize = 200;

/// Why a text cannot name a repository in a fleet; `None` = it can. A text that could hold a
/// credential cannot.
pub fn why_no_repository_id(id: &str) -> Option<&'static str> {
    let fits = |c: char| {
        c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '~' | '+' | ':' | '[' | ']')
    };
    if id.is_empty() || id.len() > LONGEST_ID {
        Some("it has 1 to 200 bytes")
    } else if id.contains("://") || !id.chars().all(fits) {
        Some(
            "it is HOST/PATH, of letters, digits, '/', '-', '_', '.', '~', '+' and ':', without user and password",
        )
    } else if id.starts_with(['-', '/', '.'])
        || id.ends_with('/')
        || id.split('/').any(|part| matches!(part, "" | "." | ".."))
    {
        Some("no part of it is empty or made of dots, and it begins with no '-'")
    } else if mask_secrets(id) != id {
        Some("it looks like a secret")
    } else {
        None
    }
}

/// The id `host/path` of the repository behind an address; `None` for a local path, and for what cannot be understood: a person names it.
///
/// Scheme, port, user, password and a `.git` at the end are no part of it: one machine may use ssh where another one uses https. The
/// address is to be the one that is configured, before any `url.*.insteadOf`: that is a machine's own way to get there.
pub fn repository_id_of(address: &str) -> Option<String> {
    let address = address.trim();
    let url = gix::url::parse(address.as_bytes().as_bstr()).ok()?;
    if !matches!(
        url.scheme,
        Scheme::Https | Scheme::Http | Scheme::Ssh | Scheme::Git
    ) {
        return None;
    }
    let host = url
        .host
        .as_deref()?
        .trim_start_matches('[')
        .trim_end_matches(']')
        .trim_end_matches('.')
        .to_lowercase();
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    // An scp-like address has its path as it is.
    let path = url.path.to_str().ok()?;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let path = parts.join("/");
    let path = path
        .strip_suffix(".git")
        .unwrap_or(&path)
        .trim_end_matches('/');
    let id = format!("{host}/{path}");
    (!host.is_empty() && !path.is_empty() && why_no_repository_id(&id).is_none()).then_some(id)
}

/// The address as a person may see it: without user and password where it has a password, with secrets masked.
pub fn public_address(address: &str) -> String {
    let shown = match (address.split_once("://"), find_credentials(address)) {
        (Some((scheme, rest)), Some(secret)) => format!(
            "{scheme}://{}",
            rest.get(secret.len() + 1..).unwrap_or_default()
        ),
        _ => address.to_owned(),
    };
    mask_secrets(&shown)
        .chars()
        .filter(|c| !c.is_control())
        .collect()
}

/// A text of git with everything removed that only the address of its remote could have brought: user and password, as written and decoded.
pub fn without_credentials(text: &str, address: &str) -> String {
    let mut text = text.replace(address, &public_address(address));
    if find_credentials(address).is_some() {
        let after_scheme = address.split_once("://").map_or("", |(_, rest)| rest);
        // If a password holds an unescaped `@` or `/`, git may understand another part of it.
        let mut parts: Vec<&str> = after_scheme
            .match_indices('@')
            .map(|(at, _)| &after_scheme[..at])
            .collect();
        parts.reverse();
        for secret in &parts {
            text = text.replace(&format!("{secret}@"), "");
        }
        let url = gix::url::parse(address.as_bytes().as_bstr()).ok();
        let decoded = url
            .iter()
            .flat_map(|url| [url.password.clone(), url.user.clone()])
            .flatten();
        let written = parts.iter().map(|secret| {
            secret
                .split_once(':')
                .map_or(*secret, |(_, password)| password)
                .to_owned()
        });
        // A token may stand in place of the user.
        for word in written
            .chain(decoded)
            .filter(|word| word.len() >= 3 && word != "git")
        {
            text = text.replace(&word, "[secret]");
        }
    }
    mask_secrets(&text).into_owned()
}

/// User and password of a URL, as written; up to the last `@` before the path, as no host has one.
/// An ssh user without a password has none.
fn find_credentials(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A password may hold an unescaped slash: then what is left of the last `@` is no path either.
    let at = rest[..end].rfind('@').or_else(|| rest.rfind('@'))?;
    let secret = &rest[..at];
    let is_ssh_user = scheme.to_ascii_lowercase().contains("ssh") && !secret.contains(':');
    (!is_ssh_user).then_some(secret)
}

/// The address with a relative path made absolute from a folder, as git understands it there.
pub fn absolute_address(address: &str, from: &Path) -> String {
    let is_local =
        gix::url::parse(address.as_bytes().as_bstr()).is_ok_and(|url| url.scheme == Scheme::File);
    if !is_local || address.contains("://") || Path::new(address).is_absolute() {
        return address.to_owned();
    }
    let path = from.join(address);
    path.canonicalize()
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

impl Worktree {
    /// The address of a remote as this repository has it configured, no rewriting applied; `None` where there is no such remote.
    pub fn configured_address(&self, remote: &str) -> Option<String> {
        let config = self.repo.config_snapshot();
        let value = config.string(format!("remote.{remote}.url").as_str())?;
        Some(value.to_str_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repository_has_same_id_under_every_address() {
        for address in [
            "https://example.com/team/app.git",
            "https://example.com/team/app",
            "https://example.com/team/app/",
            "https://Example.COM:8443/team/app.git/",
            "https://me:hush@example.com/team/app.git",
            "https://hush@example.com//team/app.git",
            "http://example.com/team/app.git",
            "ssh://git@example.com/team/app.git",
            "ssh://git@example.com:2222/team/app",
            "git://example.com/team/app.git",
            "git@example.com:team/app.git",
            "git@example.com:/team/app.git",
            "example.com:team/app",
            "https://example.com/te%61m/app.git",
        ] {
            assert_eq!(
                repository_id_of(address).as_deref(),
                Some("example.com/team/app"),
                "{address}"
            );
        }
        for (address, id) in [
            (
                "ssh://git@[2001:DB8::1]:22/team/app.git",
                "[2001:db8::1]/team/app",
            ),
            ("https://[::1]/a.git", "[::1]/a"),
            ("ssh://host/~me/app.git", "host/~me/app"),
            ("git@host:~me/app.git", "host/~me/app"),
            ("https://host/Team/App", "host/Team/App"),
        ] {
            assert_eq!(repository_id_of(address).as_deref(), Some(id), "{address}");
        }
    }

    #[test]
    fn local_or_unclear_address_has_no_id() {
        for address in [
            "/srv/git/app.git",
            "../app.git",
            "./a:b",
            "file:///srv/git/app.git",
            "",
            "https://example.com/",
            "https://example.com",
            "https://u:p/w@example.com/team/app",
            "https://example.com/app?private_token=hush",
            "https://example.com/../app",
            "https://example.com/ghp_abcdefghijklmnopqrstuvwxyz0123456789/app",
            "ext::sh -c hush",
            "https://example.com/a b",
        ] {
            assert_eq!(repository_id_of(address), None, "{address}");
        }
    }

    #[test]
    fn nobody_sees_what_is_secret_in_an_address() {
        for (address, shown) in [
            (
                "https://me:hush@example.com/a.git",
                "https://example.com/a.git",
            ),
            (
                "https://hush@example.com/a.git",
                "https://example.com/a.git",
            ),
            (
                "https://me:hu/sh@example.com/a.git",
                "https://example.com/a.git",
            ),
            ("ssh://git@example.com/a.git", "ssh://git@example.com/a.git"),
            ("git@example.com:a.git", "git@example.com:a.git"),
            ("/srv/a.git", "/srv/a.git"),
        ] {
            assert_eq!(public_address(address), shown);
        }
        let git_error = "fatal: unable to access 'https://me:hush@example.com/a.git/': user me:hush@ and hush were refused";
        let told = without_credentials(git_error, "https://me:hush@example.com/a.git");
        assert!(
            !told.contains("hush") && told.contains("https://example.com/a.git"),
            "{told}"
        );
    }

    proptest! {
        #[test]
        fn credentials_appear_neither_in_ids_nor_output(
            user in "[a-z]{0,5}", secret in "S3cret[A-Za-z0-9/:@%?#!.-]{0,12}Q", host in "[a-z.\\[\\]:]{1,8}", path in "[a-z/.:@?]{0,9}",
            scheme in "(https|http|ssh|git|HTTPS|ftp)",
        ) {
            let address = format!("{scheme}://{user}:{secret}@{host}/{path}");
            if let Some(id) = repository_id_of(&address) {
                prop_assert!(!id.to_lowercase().contains("s3cret"), "{id}");
            }
            let shown = public_address(&address);
            prop_assert!(!shown.contains("S3cret"), "{shown}");
            let shown_error = without_credentials(&format!("fatal: could not read from {address}: {user}:{secret}@ was refused"), &address);
            prop_assert!(!shown_error.contains("S3cret"), "{shown_error}");
        }
    }
}
