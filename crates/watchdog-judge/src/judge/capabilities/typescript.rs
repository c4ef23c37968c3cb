//! Runs a custom check that is a file of TypeScript: through deno, else through a node that can read it, with no permission but to read
//! the worktree.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::prelude::*;
use watchdog_core::config::settings::CommandLine;
use watchdog_process::{
    CancelFlag, ProgramPurpose, ProgramRun, SurvivorRule, is_executable, program_in_path,
};
use watchdog_system::open_regular_file;

/// The program that loads the file and gives it the context.
const HOST: &str = include_str!("typescript_host.mjs");

/// How long a node may take to say its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);

/// A program that runs TypeScript.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TypescriptRuntime {
    Deno(PathBuf),
    /// Node, with the options of its version.
    Node(PathBuf, &'static [&'static str]),
}

/// The command that runs a file of TypeScript in place of the file itself.
pub(super) struct HostedCommand {
    pub(super) argv: Vec<OsString>,
    pub(super) env: BTreeMap<OsString, Option<OsString>>,
}

/// How a command line is run below `folder`, where its program is a file of TypeScript; `None` where it is any other, or a file that says
/// itself by what it is run. `root` is what the file may read.
///
/// # Errors
/// Fails if this system cannot run TypeScript, and names the program to install.
pub(super) fn host_typescript(
    line: &CommandLine,
    root: &Path,
    folder: &Path,
    cancel: &CancelFlag,
) -> Result<Option<HostedCommand>, String> {
    let CommandLine::Argv(argv) = line else {
        return Ok(None);
    };
    let Some((program, args)) = argv
        .split_first()
        .filter(|(program, _)| is_typescript(program))
    else {
        return Ok(None);
    };
    // A file that is not there is the system's to name.
    let Ok(file) = folder.join(program).canonicalize() else {
        return Ok(None);
    };
    if runs_by_itself(&file) {
        return Ok(None);
    }
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let runtime = find_runtime(cancel).map_err(|why| format!("{program}: {why}"))?;
    let env = [
        ("DENO_NO_UPDATE_CHECK", "1"),
        ("DENO_NO_PROMPT", "1"),
        ("NO_COLOR", "1"),
    ];
    Ok(Some(HostedCommand {
        argv: build_command(&runtime, &root, &file, args),
        env: env
            .into_iter()
            .map(|(name, value)| (name.into(), Some(value.into())))
            .collect(),
    }))
}

fn is_typescript(program: &str) -> bool {
    [".ts", ".mts"]
        .iter()
        .any(|ending| program.ends_with(ending))
}

/// Whether it may be executed and begins with `#!`.
fn runs_by_itself(file: &Path) -> bool {
    let mut begin = [0; 2];
    is_executable(file)
        && open_regular_file(file)
            .and_then(|mut file| file.read_exact(&mut begin))
            .is_ok()
        && begin == *b"#!"
}

/// Deno, or else a node that is new enough.
fn find_runtime(cancel: &CancelFlag) -> Result<TypescriptRuntime, String> {
    if let Some(deno) = program_in_path("deno") {
        return Ok(TypescriptRuntime::Deno(deno));
    }
    let node = program_in_path("node");
    let version = node.as_ref().and_then(|node| version_of(node, cancel));
    match (node, version.as_deref().and_then(node_options)) {
        (Some(node), Some(options)) => Ok(TypescriptRuntime::Node(node, options)),
        (node, None) => Err(explain_missing_runtime(node.is_some(), version.as_deref())),
        (None, _) => Err(explain_missing_runtime(false, None)),
    }
}

fn explain_missing_runtime(has_node: bool, version: Option<&str>) -> String {
    let problem = match (has_node, version) {
        (false, _) => "neither deno nor node is in PATH".to_owned(),
        (true, Some(version)) => {
            format!("deno is not in PATH, and node {version} does not read TypeScript")
        }
        (true, None) => "deno is not in PATH, and node does not say its version".to_owned(),
    };
    format!("{problem}; install deno, or node 22.6 or newer")
}

/// The version of a node, such as `22.6.0`.
fn version_of(node: &Path, cancel: &CancelFlag) -> Option<String> {
    let mut program = ProgramRun::new(
        [node.as_os_str(), OsStr::new("--version")],
        PathBuf::from("/"),
    );
    program.purpose = ProgramPurpose::Check;
    program.deadline = VERSION_TIMEOUT;
    let (finished, _) = program.run_with(cancel, SurvivorRule::End).ok()?;
    let answer = String::from_utf8(finished.stdout.bytes).ok()?;
    Some(answer.trim().strip_prefix('v')?.to_owned())
}

/// The options with which a node of this version reads TypeScript and may do nothing but read; `None` where it cannot.
fn node_options(version: &str) -> Option<&'static [&'static str]> {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let (major, minor) = (numbers.next()??, numbers.next()??);
    match (major, minor) {
        (..22, _) | (22, ..6) => None,
        (22, 6) => Some(&["--experimental-permission", "--experimental-strip-types"]),
        (22, ..13) | (23, ..5) => Some(&[
            "--experimental-permission",
            "--experimental-transform-types",
        ]),
        (22..26, _) => Some(&["--permission", "--experimental-transform-types"]),
        _ => Some(&["--permission"]),
    }
}

fn build_command(
    runtime: &TypescriptRuntime,
    root: &Path,
    file: &Path,
    args: &[String],
) -> Vec<OsString> {
    // A file outside of the worktree is read, and what lies beside it.
    let beside = file.parent().filter(|folder| !folder.starts_with(root));
    let readable: Vec<&Path> = std::iter::once(root).chain(beside).collect();
    let mut argv: Vec<OsString> = match runtime {
        TypescriptRuntime::Deno(deno) => {
            let fixed = [
                "run",
                "--quiet",
                "--no-prompt",
                "--no-lock",
                "--cached-only",
                "--allow-env=WATCHDOG_SPEC",
            ];
            let mut argv: Vec<OsString> = std::iter::once(deno.into())
                .chain(fixed.map(Into::into))
                .collect();
            // Of a path with a comma in it, deno would make two.
            argv.extend(readable.iter().map(|path| {
                format_option("--allow-read=", path, |byte| {
                    if byte == b',' { b",," } else { &[] }
                })
            }));
            argv.push(
                format!(
                    "data:application/javascript;base64,{}",
                    BASE64_STANDARD.encode(HOST)
                )
                .into(),
            );
            argv
        }
        TypescriptRuntime::Node(node, options) => {
            let mut argv: Vec<OsString> = vec![node.into(), "--no-warnings".into()];
            argv.extend(options.iter().map(OsString::from));
            argv.extend(
                readable
                    .iter()
                    .map(|path| format_option("--allow-fs-read=", &path.join(""), |_| &[])),
            );
            argv.extend(["--input-type=module", "-e", HOST].map(Into::into));
            argv
        }
    };
    argv.push(file.into());
    argv.extend(args.iter().map(Into::into));
    argv
}

/// An option with a path as its value; `escape` says what stands for a byte, nothing where it stands for itself.
fn format_option(name: &str, path: &Path, escape: fn(u8) -> &'static [u8]) -> OsString {
    let mut bytes = name.as_bytes().to_vec();
    for byte in path.as_os_str().as_bytes() {
        match escape(*byte) {
            [] => bytes.push(*byte),
            escaped => bytes.extend(escaped),
        }
    }
    OsStr::from_bytes(&bytes).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn node_gets_the_options_of_its_version() {
        for (version, wanted) in [
            ("18.0.0", None),
            ("20.20.2", None),
            ("22.5.1", None),
            (
                "22.6.0",
                Some("--experimental-permission --experimental-strip-types"),
            ),
            (
                "22.7.0",
                Some("--experimental-permission --experimental-transform-types"),
            ),
            (
                "22.13.0",
                Some("--permission --experimental-transform-types"),
            ),
            (
                "23.4.0",
                Some("--experimental-permission --experimental-transform-types"),
            ),
            (
                "23.5.0-nightly",
                Some("--permission --experimental-transform-types"),
            ),
            (
                "24.1.0",
                Some("--permission --experimental-transform-types"),
            ),
            ("26.0.0", Some("--permission")),
            ("", None),
            ("22", None),
            ("x.y.z", None),
        ] {
            assert_eq!(
                node_options(version).map(|options| options.join(" ")),
                wanted.map(str::to_owned),
                "{version}"
            );
        }
    }

    #[test]
    fn missing_runtime_message_names_program_to_install() {
        assert_eq!(
            explain_missing_runtime(false, None),
            "neither deno nor node is in PATH; install deno, or node 22.6 or newer"
        );
        assert!(explain_missing_runtime(true, Some("20.20.2")).starts_with(
            "deno is not in PATH, and node 20.20.2 does not read TypeScript; install deno"
        ));
    }

    #[test]
    fn runtime_may_only_read_the_worktree() {
        let root = Path::new("/w,1");
        let shown = |runtime: &TypescriptRuntime, file: &str| -> String {
            let argv = build_command(runtime, root, Path::new(file), &["more".into()]);
            argv.iter()
                .filter(|arg| arg.len() < 200)
                .map(|arg| arg.to_string_lossy())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let deno = TypescriptRuntime::Deno("/bin/deno".into());
        assert_eq!(
            shown(&deno, "/w,1/a.ts"),
            "/bin/deno run --quiet --no-prompt --no-lock --cached-only --allow-env=WATCHDOG_SPEC --allow-read=/w,,1 /w,1/a.ts more"
        );
        let node = TypescriptRuntime::Node("/bin/node".into(), &["--permission"]);
        assert_eq!(
            shown(&node, "/else/a.ts"),
            "/bin/node --no-warnings --permission --allow-fs-read=/w,1/ --allow-fs-read=/else/ --input-type=module -e /else/a.ts more"
        );
    }

    #[test]
    fn file_with_shebang_runs_by_its_interpreter() {
        let scratch = tempfile::tempdir().expect("a folder");
        let file = scratch.path().join("a.ts");
        let mut answers = Vec::new();
        for (text, mode) in [
            ("#!/bin/sh\n", 0o644),
            ("#!/bin/sh\n", 0o755),
            ("export default 1", 0o755),
            ("", 0o755),
        ] {
            std::fs::write(&file, text).expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("set");
            answers.push(runs_by_itself(&file));
        }
        assert_eq!(answers, [false, true, false, false]);
        let hosted = |argv: &[&str]| {
            let line = CommandLine::Argv(argv.iter().map(|arg| (*arg).to_owned()).collect());
            host_typescript(&line, scratch.path(), scratch.path(), &CancelFlag::new())
                .map(|command| command.is_some())
        };
        assert_eq!(
            hosted(&["python3", "a.ts"]),
            Ok(false),
            "only the program itself"
        );
        assert_eq!(
            hosted(&["missing.ts"]),
            Ok(false),
            "what is not there is the system's to name"
        );
    }
}
