//! The programs that outlive the command which began them by design, and do none of its work: agents of keys, buses, caches, servers of
//! editors and builds. A session's verdict does not wait for them, and `end_survivors` does not end them.
//!
//! A name is the process's own word: the executable or the script must bear it, and be older than the session. What the configuration
//! names is known by any name.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use globset::GlobSet;
use watchdog_facts::patterns::path_globs;
use watchdog_system::ProcessRow;

use super::command_lines::BYTES;

/// Names, as globs; two words are a program and its first argument.
const NAMES: &str = "
    gpg-agent ssh-agent keyboxd scdaemon dirmngr gnome-keyring-d* dbus-daemon dbus-launch dbus-broker*
    git?credential-* git-credential-* git?fsmonitor--daemon git?maintenance git?gc *[[]mux[]] watchman adb
    *-language-server* *langserver* *-lsp tsserver* typingsInstaller.js vtsls* rust-analyzer* gopls pylsp clangd* jdtls*
    *org.eclipse.jdt.ls* omnisharp* zls eslint_d* prettierd dmypy sccache
    *GradleDaemon *KotlinCompileDaemon bazel(*) VBCSCompiler*
";

/// The helpers that watchdog knows, and those of the configuration.
#[derive(Debug, Clone, Default)]
pub struct SparedPrograms {
    known: GlobSet,
    configured: GlobSet,
    /// When the session begins.
    since: u64,
}

impl SparedPrograms {
    /// The known ones, and `more` of them, for a session that begins now. A glob that is none adds nothing; the configuration refuses it
    /// before.
    pub fn with_known(more: &[String]) -> Self {
        let names: Vec<String> = NAMES.split_whitespace().map(str::to_owned).collect();
        SparedPrograms {
            known: path_globs(&names).unwrap_or_default(),
            configured: path_globs(more).unwrap_or_default(),
            since: (SystemTime::now().duration_since(UNIX_EPOCH))
                .map_or(0, |since| since.as_secs()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether a process bears such a name.
    pub(super) fn include(&self, row: &ProcessRow) -> bool {
        if self.is_empty() {
            return false;
        }
        let argv = watchdog_system::command_line(row.pid, BYTES).unwrap_or_default();
        let argv: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
        let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
        let called = find_base(argv.first().unwrap_or(&""));
        if match_name(
            &self.configured,
            &[&row.name, called],
            called,
            &argv,
            |_| true,
        ) {
            return true;
        }
        let Some(file) = watchdog_system::program_file(row.pid) else {
            // This one hides from other programs of its user, on every system.
            return row.name == "ssh-agent";
        };
        let is_older = |file: &Path| {
            fs::metadata(file)
                .is_ok_and(|about| u64::try_from(about.ctime()).is_ok_and(|at| at < self.since))
        };
        let program = file.file_name().unwrap_or_default().to_string_lossy();
        let is_older_script = |word: &str| {
            watchdog_system::folder_of(row.pid).is_some_and(|folder| is_older(&folder.join(word)))
        };
        is_older(&file) && self.match_program(&program, &argv, is_older_script)
    }

    /// Whether a program is a known helper by its executable's name, or runs one: a script that is `is_older`.
    fn match_program(&self, program: &str, argv: &[&str], is_older: impl Fn(&str) -> bool) -> bool {
        // These have their part in place of a name.
        let has_title = matches!(program, "git" | "ssh" | "java");
        let called = find_base(argv.first().filter(|_| has_title).unwrap_or(&program));
        let is_script = |word: &str| program == "java" || is_older(word);
        match_name(&self.known, &[program, called], program, argv, is_script)
    }
}

fn find_base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Whether one of the names, or the first argument that is a script, is among `globs`.
fn match_name(
    globs: &GlobSet,
    names: &[&str],
    program: &str,
    argv: &[&str],
    is_script: impl Fn(&str) -> bool,
) -> bool {
    // A virtual machine has the class behind all of its options.
    let is_machine = program == "java";
    let mut words = (argv.get(1..).unwrap_or_default().iter())
        .filter(|word| is_machine || !word.starts_with('-'))
        .take(if is_machine { usize::MAX } else { 1 });
    names.iter().any(|name| globs.is_match(name))
        || words.any(|word| {
            let base = find_base(word);
            globs.is_match(format!("{program} {base}")) || globs.is_match(base) && is_script(word)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_are_known_by_their_names() {
        let spared = SparedPrograms::with_known(&[]);
        for (program, argv, expected) in [
            (
                "gpg-agent",
                "gpg-agent --homedir /h --use-standard-socket --daemon",
                true,
            ),
            ("sh", "/bin/sh ./gpg-agent", false),
            ("sh", "/bin/sh /opt/gpg-agent", true),
            ("sleep", "ssh-agent 60", false),
            ("sh", "sh -c work;/gpg-agent", false),
            (
                "git",
                "/usr/lib/git-core/git credential-cache--daemon /h/socket",
                true,
            ),
            ("git", "git-credential-cache--daemon /h/socket", true),
            ("git", "git fsmonitor--daemon run --detach", true),
            ("git", "git push origin main", false),
            ("ssh", "ssh host sleep 60", false),
            (
                "node",
                "node --max-old-space-size=3072 /m/typescript/lib/tsserver.js --pipe",
                true,
            ),
            (
                "node",
                "node /m/bin/typescript-language-server --stdio",
                true,
            ),
            ("node", "node server.js gpg-agent", false),
            ("node", "node other.js", false),
            (
                "java",
                "/j/bin/java -Xmx512m -cp /g/gradle-daemon-main.jar org.gradle.launcher.daemon.bootstrap.GradleDaemon 8.5",
                true,
            ),
            ("java", "java -jar app.jar", false),
            ("sleep", "sleep 60", false),
            ("", "", false),
        ] {
            let argv: Vec<&str> = argv.split(' ').collect();
            let is_older = |word: &str| word.starts_with('/');
            assert_eq!(
                spared.match_program(program, &argv, is_older),
                expected,
                "{argv:?}"
            );
        }
        // A title is one argument.
        let title = ["ssh: /h/.ssh/cm-git@host:22 [mux]"];
        assert!(spared.match_program("ssh", &title, |_| false));
    }
}
