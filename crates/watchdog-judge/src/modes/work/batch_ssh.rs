//! The ssh command of a person, so that it never asks: no password, no passphrase, no host key.
//!
//! An askpass program that refuses stands in git's environment. It holds for OpenSSH from 8.4 on; `BatchMode` holds for all of them, and says in
//! its error what is missing. A command line that is no known ssh is left as it is: it may take no options.

use std::ffi::OsStr;
use std::path::Path;

use watchdog_facts::shell_line::shell_word;

/// How git is led to ssh: the variables of the environment, and the keys of the person's configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SshSetting<'a> {
    /// `GIT_SSH_COMMAND`.
    pub command: Option<&'a str>,
    /// `core.sshCommand`.
    pub configured: Option<&'a str>,
    /// `GIT_SSH`: a program.
    pub program: Option<&'a str>,
    /// `ssh.variant`.
    pub variant: Option<&'a str>,
}

/// Whether git goes to an address by ssh.
pub(super) fn goes_over_ssh(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, _)) => matches!(
            scheme.to_ascii_lowercase().as_str(),
            "ssh" | "git+ssh" | "ssh+git"
        ),
        // HOST:PATH, where no slash is before the colon.
        None => url
            .split('/')
            .next()
            .is_some_and(|first| first.contains(':')),
    }
}

/// The value for `GIT_SSH_COMMAND` with which it does not ask; `None` = as it is.
pub(super) fn quiet_command(setting: SshSetting<'_>) -> Option<String> {
    let is_set = |text: &&str| !text.trim().is_empty();
    let command = setting
        .command
        .filter(is_set)
        .or(setting.configured.filter(is_set))
        .map(str::to_owned);
    let command = command
        .or_else(|| setting.program.filter(is_set).map(shell_word))
        .unwrap_or_else(|| "ssh".to_owned());
    let program = command
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_matches(['\'', '"']);
    let name = Path::new(program)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    match setting
        .variant
        .map(str::to_ascii_lowercase)
        .as_deref()
        .filter(|variant| *variant != "auto")
        .unwrap_or(name)
    {
        // The first value counts: what the person's own options say stands.
        "ssh" => Some(format!("{command} -o BatchMode=yes")),
        "plink" | "putty" | "tortoiseplink" => Some(format!("{command} -batch")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_ssh_need_it() {
        for (url, expected) in [
            ("ssh://git@h/x", true),
            ("git+ssh://h/x", true),
            ("git@h:team/app.git", true),
            ("h:app", true),
            ("https://h:8443/x", false),
            ("file:///srv/x:y", false),
            ("/srv/x:y", false),
            ("../x", false),
        ] {
            assert_eq!(goes_over_ssh(url), expected, "{url}");
        }
    }

    #[test]
    fn personal_ssh_command_stays_in_batch_mode() {
        let none = SshSetting::default();
        let batch = "-o BatchMode=yes";
        for (setting, expected) in [
            (none, Some(format!("ssh {batch}"))),
            (
                SshSetting {
                    configured: Some("ssh -i ~/.ssh/bot"),
                    ..none
                },
                Some(format!("ssh -i ~/.ssh/bot {batch}")),
            ),
            (
                SshSetting {
                    command: Some("/opt/bin/ssh -4"),
                    configured: Some("ssh -6"),
                    ..none
                },
                Some(format!("/opt/bin/ssh -4 {batch}")),
            ),
            (
                SshSetting {
                    command: Some(" "),
                    configured: Some("ssh -6"),
                    ..none
                },
                Some(format!("ssh -6 {batch}")),
            ),
            (
                SshSetting {
                    program: Some("/opt/my tools/ssh"),
                    ..none
                },
                None,
            ),
            (
                SshSetting {
                    program: Some("/opt/ssh"),
                    ..none
                },
                Some(format!("/opt/ssh {batch}")),
            ),
            (
                SshSetting {
                    configured: Some("'/opt/ssh' -x"),
                    ..none
                },
                Some(format!("'/opt/ssh' -x {batch}")),
            ),
            (
                SshSetting {
                    configured: Some("plink -P 2222"),
                    ..none
                },
                Some("plink -P 2222 -batch".into()),
            ),
            (
                SshSetting {
                    configured: Some("my-ssh"),
                    ..none
                },
                None,
            ),
            (
                SshSetting {
                    configured: Some("my-ssh"),
                    variant: Some("ssh"),
                    ..none
                },
                Some(format!("my-ssh {batch}")),
            ),
            (
                SshSetting {
                    configured: Some("ssh -4"),
                    variant: Some("simple"),
                    ..none
                },
                None,
            ),
            (
                SshSetting {
                    variant: Some("auto"),
                    ..none
                },
                Some(format!("ssh {batch}")),
            ),
        ] {
            assert_eq!(quiet_command(setting), expected, "{setting:?}");
        }
    }
}
