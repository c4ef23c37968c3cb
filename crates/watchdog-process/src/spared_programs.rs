//! The programs that outlive the command which began them by design, and do none of its work: agents of keys, buses, caches, servers of
//! editors and builds. A session's verdict does not wait for them, and `end_survivors` does not end them.
//!
//! A name is the process's own word. One that borrows it is not waited for; the looks before a rescue commit still see what it writes.

use globset::GlobSet;
use watchdog_facts::patterns::path_globs;
use watchdog_system::ProcessRow;

use super::command_lines::BYTES;

/// Names, as globs; two words are a program and its first argument.
const NAMES: &str = "
    gpg-agent ssh-agent keyboxd scdaemon dirmngr gnome-keyring-d* dbus-daemon dbus-launch dbus-broker*
    git?credential-* git-credential-* git?fsmonitor--daemon git?maintenance git?gc *[[]mux[]] watchman adb
    *-language-server* *langserver* *-lsp tsserver* typingsInstaller.js vtsls* rust-analyzer* gopls pylsp clangd jdtls*
    *org.eclipse.jdt.ls* omnisharp* zls eslint_d* prettierd dmypy sccache
    *GradleDaemon *KotlinCompileDaemon bazel(*) VBCSCompiler*
";

/// The helpers that watchdog knows, and those of the configuration.
#[derive(Debug, Clone, Default)]
pub struct SparedPrograms(GlobSet);

impl SparedPrograms {
    /// The known ones, and `more` of them. A glob that is none adds nothing; the configuration refuses it before.
    pub fn with_known(more: &[String]) -> Self {
        let names = NAMES.split_whitespace().map(str::to_owned);
        let globs: Vec<String> = names.chain(more.iter().cloned()).collect();
        SparedPrograms(path_globs(&globs).unwrap_or_default())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a process bears such a name.
    pub(super) fn include(&self, row: &ProcessRow) -> bool {
        if self.is_empty() {
            return false;
        }
        let argv = watchdog_system::command_line(row.pid, BYTES).unwrap_or_default();
        let argv: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
        let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
        self.match_name(&row.name, &argv)
    }

    fn match_name(&self, name: &str, argv: &[&str]) -> bool {
        let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
        let program = base(argv.first().unwrap_or(&""));
        let arguments = argv.get(1..).unwrap_or_default().iter();
        // A virtual machine has the class behind all of its options.
        let is_machine = program == "java";
        let words = arguments
            .filter(|word| is_machine || !word.starts_with('-'))
            .map(|word| base(word))
            .take(if is_machine { usize::MAX } else { 1 });
        [name.to_owned(), program.clone()]
            .into_iter()
            .chain(words.flat_map(|word| [format!("{program} {word}"), word]))
            .any(|word| self.0.is_match(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_are_known_by_their_names() {
        let spared = SparedPrograms::with_known(&["serve-*".into(), "node proxy.js".into()]);
        for (name, argv, expected) in [
            (
                "gpg-agent",
                "gpg-agent --homedir /h --use-standard-socket --daemon",
                true,
            ),
            ("gpg-agent", "/bin/sh ./gpg-agent", true),
            (
                "git",
                "/usr/lib/git-core/git credential-cache--daemon /h/socket",
                true,
            ),
            (
                "git-credential-",
                "git-credential-cache--daemon /h/socket",
                true,
            ),
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
            ("node", "node proxy.js", true),
            ("node", "node other.js", false),
            ("serve-docs", "serve-docs", true),
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
            assert_eq!(spared.match_name(name, &argv), expected, "{argv:?}");
        }
        // A title is one argument.
        assert!(spared.match_name("ssh", &["ssh: /h/.ssh/cm-git@host:22 [mux]"]));
        assert!(!SparedPrograms::default().match_name("gpg-agent", &["gpg-agent"]));
    }
}
