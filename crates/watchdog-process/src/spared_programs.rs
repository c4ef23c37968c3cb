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
    gpg-agent ssh-agent keyboxd scdaemon tpm2daemon dirmngr pinentry* gnome-keyring-d* dbus-daemon dbus-launch dbus-broker*
    dconf-service gvfsd* gvfs-* at-spi* xdg-*-portal* git-credential-* docker-credential-* *[[]mux[]] watchman adb
    *-language-server* *langserver* *[a-z-]lsp *-ls tsserver* typingsInstaller.js vtsls* rust-analyzer* gopls clangd* jdtls* serve-d
    *org.eclipse.jdt.ls* omnisharp* zls intelephense* svelteserver texlab marksman solargraph nixd ccls metals phpactor fsautocomplete
    eslint_d* prettierd dmypy sccache *GradleDaemon *KotlinCompileDaemon *.Mill{Server,Daemon}Main A-server.jar buck2d* VBCSCompiler*
    **/nx/**/src/daemon/server/start.js **/eslint_d/lib/daemon.js
";
/// A program, or the script that it runs, and its first argument.
const PAIRS: &str = "
    git?credential-* git?fsmonitor--daemon git?maintenance git?gc {deno,gleam,pyrefly,taplo,tinymist,dprint}?lsp biome?lsp-proxy
    biome?__run_server dart?language-server {ruff,ty}?server turbo?daemon
";
/// Options of a virtual machine whose value is the next word.
const MACHINE_OPTIONS: &str = "
    -cp -classpath --class-path -p --module-path --add-opens --add-exports --add-modules --add-reads --patch-module
";
/// What runs a server of an editor as a script.
const INTERPRETERS: [&str; 7] = ["node", "bun", "deno", "python", "ruby", "php", "dotnet"];
/// Scripts that start any other program.
const STARTERS: [&str; 6] = ["npm", "npx", "pnpm", "yarn", "corepack", "pip"];

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
        let helpers: HashSet<u32> = (rows.iter().filter(|row| self.is_helper(row)))
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
    pub(super) fn is_helper(&self, row: &ProcessRow) -> bool {
        if self.is_empty() {
            return false;
        }
        let argv = watchdog_system::command_line(row.pid, BYTES).unwrap_or_default();
        let argv: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
        let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
        let called = find_base(argv.first().unwrap_or(&""));
        let bears_configured = |word: &str| self.configured.is_match(find_base(word));
        let mut words = argv.iter().skip(1).filter(|word| !word.starts_with('-'));
        if bears_configured(&row.name)
            || bears_configured(called)
            || words.next().is_some_and(|word| bears_configured(word))
        {
            return true;
        }
        let Some(file) = watchdog_system::program_file(row.pid) else {
            // This one hides from other programs of its user, on every system.
            return row.name == "ssh-agent";
        };
        // A link can give an older file a new name.
        let is_older = |file: &Path| {
            let is_before = |about: fs::Metadata| {
                !about.is_dir() && u64::try_from(about.ctime()).is_ok_and(|at| at < self.since)
            };
            [fs::metadata(file), fs::symlink_metadata(file)]
                .into_iter()
                .all(|about| about.is_ok_and(is_before))
        };
        let program = file.file_name().unwrap_or_default().to_string_lossy();
        let is_older_script = |word: &str| {
            watchdog_system::folder_of(row.pid).is_some_and(|folder| is_older(&folder.join(word)))
        };
        is_older(&file) && self.match_program(&program, &argv, is_older_script)
    }

    /// Whether a program is a known helper by its executable's name, or runs one: a script that is `is_older`.
    fn match_program(&self, program: &str, argv: &[&str], is_older: impl Fn(&str) -> bool) -> bool {
        if program == "java" {
            return self.match_main_class(argv.get(1..).unwrap_or_default(), is_older);
        }
        // These have their part in place of a name.
        let has_title = matches!(program, "git" | "ssh" | "buck2");
        let called = find_base(argv.first().filter(|_| has_title).unwrap_or(&program));
        let is_option = |letter: char| {
            let mut options = argv.iter().filter_map(|word| word.strip_prefix('-'));
            // The letters before the first that takes a value.
            options.any(|word| {
                let letters = word.split(|c: char| "BbcDEeFIiJLlmOopQRSWw".contains(c));
                letters.take(1).any(|letters| letters.contains(letter))
            })
        };
        let runs_command = |word: &&str| {
            let word = word.to_lowercase();
            word.contains("proxycommand") || word.contains("localcommand")
        };
        // A shared connection that runs no command.
        if self.known.is_match(program)
            || self.known.is_match(called)
            || program == "ssh"
                && is_option('M')
                && is_option('N')
                && !argv.iter().any(runs_command)
        {
            return true;
        }
        let mut words = argv.iter().skip(1).filter(|word| !word.starts_with('-'));
        let Some(first) = words.next() else {
            return false;
        };
        let script = find_base(first);
        let next = words.next().map_or("", |word| find_base(word));
        // Any server that speaks with an editor, by an option that such servers have; a starter of others has it for them.
        let speaks = || {
            INTERPRETERS.iter().any(|name| program.starts_with(name))
                && argv.iter().any(|word| ["--stdio", "--lsp"].contains(word))
                && !STARTERS.iter().any(|name| script.starts_with(name))
        };
        self.pairs.is_match(format!("{program} {script}"))
            || is_older(first)
                && (self.known.is_match(script)
                    || self.known.is_match(first)
                    || self.pairs.is_match(format!("{script} {next}"))
                    || speaks())
    }

    /// Whether a virtual machine runs a known class, or a jar, and only from files that are `is_older`.
    fn match_main_class(&self, argv: &[&str], is_older: impl Fn(&str) -> bool) -> bool {
        let (mut words, mut is_known, mut has_file) = (argv.iter(), false, false);
        while let Some(word) = words.next() {
            let is_option = word.starts_with('-');
            // Code by another way than a file that is looked at.
            let brings_code = [
                "@",
                "--class-path=",
                "--module-path=",
                "--patch-module",
                "-Xbootclasspath",
                "-agent",
            ];
            if brings_code.iter().any(|begin| word.starts_with(begin)) {
                return false;
            }
            let takes_value = MACHINE_OPTIONS.split_whitespace().any(|name| name == *word);
            let files = match *word {
                "-jar" => words.as_slice().first().copied().unwrap_or_default(),
                _ if takes_value => words.next().copied().unwrap_or_default(),
                _ => word.strip_prefix("-javaagent:").unwrap_or_default(),
            };
            if !word.starts_with("--add-") && !files.is_empty() {
                has_file = true;
                if !files.split(':').all(&is_older) {
                    return false;
                }
            }
            let names_main = !is_option || word.starts_with("-Declipse.application=");
            is_known |= names_main && self.known.is_match(find_base(word));
            if !is_option {
                break;
            }
        }
        is_known && has_file
    }
}

fn find_base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
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
            (
                "java",
                "java -cp /g/a.jar:work.jar org.gradle.launcher.daemon.bootstrap.GradleDaemon",
                false,
            ),
            (
                "java",
                "java -jar /m/app.jar org.gradle.launcher.daemon.bootstrap.GradleDaemon",
                false,
            ),
            (
                "java",
                "bazel(w) --add-opens java.base/java.nio=ALL-UNNAMED -Xverify:none -jar /c/install/5e/A-server.jar --max_idle_secs=9",
                true,
            ),
            ("java", "bazel(w) -jar work.jar", false),
            (
                "java",
                "java -cp /m/a.jar:/m/b.jar mill.daemon.MillDaemonMain /w/out",
                true,
            ),
            // As nx 24, turbo 2.11 and biome 2 start them.
            (
                "node",
                "/usr/bin/node /w/node_modules/nx/dist/src/daemon/server/start.js",
                true,
            ),
            ("node", "node /w/node_modules/nx/bin/nx.js run-many", false),
            ("turbo", "/m/bin/turbo --skip-infer daemon", true),
            ("turbo", "/m/bin/turbo run build", false),
            ("node", "node /m/.bin/biome lsp-proxy", true),
            ("node", "node ./biome lsp-proxy", false),
            ("biome", "/m/biome __run_server --stop-on-disconnect", true),
            ("biome", "/m/biome check", false),
            ("node", "node /m/npm-cli.js run work --stdio", false),
            ("buck2", "buck2d[w] --isolation-dir v2 daemon", true),
            ("buck2", "buck2 --isolation-dir v2 build", false),
            ("pinentry-curses", "pinentry --display :0", true),
            (
                "gvfsd-fuse",
                "/usr/libexec/gvfsd-fuse /run/user/1/gvfs -f",
                true,
            ),
            ("docker-credential-pass", "docker-credential-pass get", true),
            ("serve-d", "serve-d --require workspaces", true),
            ("ssh", "ssh -fNM -S /h/cm host", true),
            ("ssh", "ssh -M -S /h/cm host sleep 60", false),
            (
                "ssh",
                "ssh -oControlMaster=yes -oNoHostAuthenticationForLocalhost=no host work",
                false,
            ),
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
