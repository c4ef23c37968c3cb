//! The programs that outlive the command which began them by design, and do none of its work: agents of keys, buses, caches, servers of
//! editors and builds. A session's verdict does not wait for them, and `end_survivors` does not end them.
//!
//! A name is the process's own word: the executable or the script must bear it, and be older than the session. What the configuration
//! names is known by any name.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use globset::GlobSet;
use watchdog_facts::patterns::path_globs;
use watchdog_system::ProcessRow;

use super::command_lines::BYTES;

/// Names of programs and scripts, as globs.
const NAMES: &str = "
    gpg-agent ssh-agent keyboxd scdaemon dirmngr gnome-keyring-d* dbus-daemon dbus-launch dbus-broker*
    git-credential-* *[[]mux[]] watchman adb
    *-language-server* *langserver* *[a-z-]lsp *-ls tsserver* typingsInstaller.js vtsls* rust-analyzer* gopls clangd* jdtls*
    *org.eclipse.jdt.ls* omnisharp* zls intelephense* svelteserver texlab marksman solargraph nixd ccls metals phpactor fsautocomplete
    eslint_d* prettierd dmypy sccache *GradleDaemon *KotlinCompileDaemon bazel(*) VBCSCompiler*
";
/// A program and its first argument.
const PAIRS: &str = "
    git?credential-* git?fsmonitor--daemon git?maintenance git?gc {deno,gleam,pyrefly}?lsp biome?lsp-proxy dart?language-server
    {ruff,ty}?server
";
/// What runs a server of an editor as a script.
const INTERPRETERS: [&str; 7] = ["node", "bun", "deno", "python", "ruby", "php", "dotnet"];

/// The helpers that watchdog knows, and those of the configuration.
#[derive(Debug, Clone, Default)]
pub struct SparedPrograms {
    known: GlobSet,
    pairs: GlobSet,
    configured: GlobSet,
    /// When the session begins.
    since: u64,
}

impl SparedPrograms {
    /// The known ones, and `more` of them, for a session that begins now. A glob that is none adds nothing; the configuration refuses it
    /// before.
    pub fn with_known(more: &[String]) -> Self {
        let read_globs = |names: &str| {
            let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
            path_globs(&names).unwrap_or_default()
        };
        SparedPrograms {
            known: read_globs(NAMES),
            pairs: read_globs(PAIRS),
            configured: path_globs(more).unwrap_or_default(),
            since: (SystemTime::now().duration_since(UNIX_EPOCH))
                .map_or(0, |since| since.as_secs()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Removes the helpers and all that descends from one: a server of an editor begins programs of its own.
    pub(super) fn remove_from(&self, rows: &mut Vec<ProcessRow>) {
        let helpers: HashSet<u32> = (rows.iter().filter(|row| self.include(row)))
            .map(|row| row.pid)
            .collect();
        if helpers.is_empty() {
            return;
        }
        let parents: HashMap<u32, u32> = rows.iter().map(|row| (row.pid, row.parent)).collect();
        rows.retain(|row| {
            !std::iter::successors(Some(row.pid), |pid| parents.get(pid).copied())
                .take(parents.len() + 1)
                .any(|pid| helpers.contains(&pid))
        });
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
            [&self.configured; 2],
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
        let globs = [&self.known, &self.pairs];
        // Any server that speaks with an editor, by an option that such servers have.
        let speaks = || argv.iter().any(|word| ["--stdio", "--lsp"].contains(word));
        let is_interpreter = || INTERPRETERS.iter().any(|name| program.starts_with(name));
        let script = || {
            let words = argv.get(1..).unwrap_or_default();
            words.iter().find(|word| !word.starts_with('-'))
        };
        match_name(globs, &[program, called], program, argv, is_script)
            || speaks() && is_interpreter() && script().is_some_and(|word| is_older(word))
    }
}

fn find_base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Whether one of the names, or the first argument that is a script, is among the first of `globs`, or the program with it among the second.
fn match_name(
    [globs, pairs]: [&GlobSet; 2],
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
            pairs.is_match(format!("{program} {base}")) || globs.is_match(base) && is_script(word)
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
            ("node", "node /m/server.js --stdio", true),
            ("node", "node ./server.js --stdio", false),
            ("ruby", "ruby /g/bin/rubocop --lsp", true),
            ("bash", "bash /m/work.sh --stdio", false),
            ("deno", "deno lsp", true),
            ("sh", "sh lsp", false),
            ("sh", "sh ./my-lsp", false),
            ("ruff", "ruff server", true),
            ("terraform-ls", "terraform-ls serve", true),
            ("ocamllsp", "ocamllsp", true),
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
