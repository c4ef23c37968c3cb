//! Tests of the recognition of agents, by tables of command lines that people type and of what only looks like them.

use std::ffi::OsString;

use proptest::prelude::*;

use super::*;

fn words(agent: &str, program: &str, package: &str) -> AgentWords {
    AgentWords {
        agent: agent.into(),
        title: agent.into(),
        dialect: None,
        programs: vec![program.into()],
        packages: vec![package.into()],
    }
}

fn known() -> Vec<AgentWords> {
    vec![
        words("claude", "claude", "@anthropic-ai/claude-code"),
        words("codex", "codex", "@openai/codex"),
        words("gemini", "gemini", "@google/gemini-cli"),
        words("opencode", "opencode", "opencode-ai"),
        words("cursor", "cursor-agent", "cursor-agent"),
    ]
}

fn argv(words: &[&str]) -> Vec<OsString> {
    words.iter().map(Into::into).collect()
}

/// A line as a person would type it behind `--`, cut at its blanks; words in brackets hold blanks.
fn typed(line: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(begin) = rest
        .strip_prefix('[')
        .or(Some(rest))
        .filter(|rest| !rest.is_empty())
    {
        let end = if rest.starts_with('[') {
            begin.find(']')
        } else {
            begin.find(' ')
        }
        .unwrap_or(begin.len());
        words.push(begin[..end].into());
        rest = begin[end..].trim_start_matches(']').trim_start();
    }
    words
}

#[test]
fn an_agent_is_recognised_behind_whatever_starts_it() {
    for (line, agent) in [
        ("codex exec --json -", "codex"),
        ("/opt/tools/bin/codex exec", "codex"),
        ("./node_modules/.bin/codex exec", "codex"),
        ("codex-0.169 exec", "codex"),
        ("codex-v0.169.0-alpha.3 exec", "codex"),
        ("codex-x86_64-unknown-linux-musl exec", "codex"),
        ("opencode-linux-x64 run", "opencode"),
        ("claude.exe -p", "claude"),
        ("cursor-agent -p x", "cursor"),
        ("npx @openai/codex exec", "codex"),
        ("npx -y @openai/codex@0.169.0 exec", "codex"),
        ("npx --yes --package=@openai/codex codex exec", "codex"),
        ("npx -p @google/gemini-cli gemini -p x", "gemini"),
        ("bunx opencode-ai@latest run x", "opencode"),
        ("bun x @openai/codex exec", "codex"),
        ("pnpm dlx @google/gemini-cli -p x", "gemini"),
        ("npm exec -- @google/gemini-cli -p x", "gemini"),
        ("yarn dlx @openai/codex exec", "codex"),
        ("deno run -A npm:@openai/codex@1 exec", "codex"),
        (
            "node /usr/lib/node_modules/@openai/codex/bin/codex.js exec",
            "codex",
        ),
        (
            "node --max-old-space-size=4096 /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js -p",
            "claude",
        ),
        ("node -r ./hook.js tools/codex.js exec", "codex"),
        ("/usr/bin/node /usr/local/bin/gemini -p x", "gemini"),
        ("env A=1 -u B codex exec", "codex"),
        ("nice -n 5 timeout -k 5 30m codex exec", "codex"),
        (
            "timeout --signal=INT 1h env CODEX_HOME=/x codex exec",
            "codex",
        ),
        ("nohup setsid stdbuf -oL claude -p", "claude"),
        ("time codex exec", "codex"),
        ("sh -c [codex exec 'do it' | tee log]", "codex"),
        (
            "bash -lc [cd sub && FOO=1 codex exec 'claude -p' 2>&1 | tee log]",
            "codex",
        ),
        (
            "bash -euo pipefail -c [printf x | claude -p --output-format stream-json | tee out.jsonl]",
            "claude",
        ),
        ("sh -c [exec codex exec -]", "codex"),
        ("sh -c [bash -c \"codex exec x\"]", "codex"),
        ("bash /home/u/bin/codex exec", "codex"),
    ] {
        assert_eq!(
            agents_in_command(&typed(line), &known())
                .one()
                .unwrap_or_default(),
            agent,
            "{line}"
        );
    }
}

#[test]
fn what_only_contains_a_name_is_no_agent() {
    for line in [
        "python3 claude-notes.py",
        "./my-codex-viewer",
        "codexx exec",
        "codex-viewer --port 1",
        "claude-notes",
        "codex-5-viewer",
        "mycodex exec",
        "codex.d/run.sh",
        "/home/codex/bin/agent -p",
        "echo claude",
        "sh -c [echo claude]",
        "sh -c [echo 'codex exec' | tee log]",
        "sh -c [which codex && ls]",
        "sh -c [cat <<EOF\ncodex exec\nEOF\n]",
        "sh -c [while codex exec; do sleep 1; done]",
        "grep -r codex .",
        "git commit -m codex",
        "npx eslint codex",
        "npx @someone/codex exec",
        "npx codex-viewer",
        "node -e [require('codex')] codex",
        "python3 -c claude",
        "node node_modules/@openai/codex-viewer/cli.js",
        "docker run img codex exec",
        "ssh host codex exec",
        "codex --version",
        "sh -c [claude --version; echo ok]",
        "env",
        "timeout 5",
        "sh",
        "sh -c",
        "npx",
        "sh -c ['unclosed codex]",
        "sh -c [echo hi # | codex exec]",
    ] {
        assert_eq!(
            agents_in_command(&typed(line), &known()),
            NamedAgents::None,
            "{line}"
        );
    }
    assert_eq!(agents_in_command(&[], &known()), NamedAgents::None);
}

#[test]
fn line_with_two_agents_names_no_agent() {
    let several = agents_in_command(
        &argv(&["sh", "-c", "claude -p plan | codex exec -"]),
        &known(),
    );
    assert_eq!(
        several,
        NamedAgents::Several(vec!["claude".into(), "codex".into()])
    );
    assert_eq!(several.one(), None);
    let twice = agents_in_command(
        &argv(&["sh", "-c", "codex exec plan; codex exec do"]),
        &known(),
    );
    assert_eq!(twice.one(), Some("codex"));
    let looked_first = agents_in_command(
        &argv(&["sh", "-c", "claude --version; codex exec do"]),
        &known(),
    );
    assert_eq!(looked_first.one(), Some("codex"));
}

fn process(pid: u32, parent: u32, words: &[&str]) -> ProcessCommand {
    ProcessCommand {
        pid,
        parent,
        argv: argv(words),
    }
}

#[test]
fn child_identifies_wrapper_but_tools_identify_no_agent() {
    let wrapper = process(10, 1, &["/bin/sh", "./work.sh"]);
    let seen = |more: &[ProcessCommand]| {
        let all: Vec<_> = std::iter::once(wrapper.clone())
            .chain(more.iter().cloned())
            .collect();
        agents_in_processes(&all, &known())
    };
    assert_eq!(
        seen(&[process(11, 10, &["git", "commit"])]),
        NamedAgents::None
    );
    assert_eq!(
        seen(&[
            process(11, 10, &["codex", "exec"]),
            process(12, 11, &["bash", "-c", "claude -p x"])
        ])
        .one(),
        Some("codex")
    );
    let through_a_shell = [
        process(12, 11, &["claude"]),
        process(11, 10, &["bash", "x"]),
        process(13, 12, &["codex", "exec"]),
    ];
    assert_eq!(seen(&through_a_shell).one(), Some("claude"));
    assert_eq!(
        seen(&[process(11, 10, &["claude -p --verbose"])]).one(),
        Some("claude"),
        "a title over the arguments"
    );
    let two = [
        process(11, 10, &["codex", "exec"]),
        process(12, 10, &["claude", "-p"]),
    ];
    assert_eq!(
        seen(&two),
        NamedAgents::Several(vec!["claude".into(), "codex".into()])
    );
    let circle = [process(10, 11, &["x"]), process(11, 10, &["y"])];
    assert_eq!(agents_in_processes(&circle, &known()), NamedAgents::None);
}

#[test]
fn two_megabytes_of_arguments_are_read_quickly() {
    let begun = std::time::Instant::now();
    let long = "x".repeat(2 << 20);
    assert_eq!(
        agents_in_command(&argv(&["codex", &long]), &known()).one(),
        Some("codex")
    );
    assert_eq!(
        agents_in_command(
            &argv(&["sh", "-c", &format!("codex exec '{long}'")]),
            &known()
        )
        .one(),
        Some("codex")
    );
    assert_eq!(
        agents_in_command(&argv(&["sh", "-c", &"nice ".repeat(400_000)]), &known()),
        NamedAgents::None
    );
    let many: Vec<OsString> = (0..300_000).map(|_| OsString::from("env")).collect();
    assert_eq!(agents_in_command(&many, &known()), NamedAgents::None);
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
}

proptest! {
    #[test]
    fn no_command_line_makes_it_panic(words in prop::collection::vec(prop_oneof![
        "[ -~\n]{0,20}",
        prop::sample::select(vec!["env", "sh", "-c", "npx", "-p", "--", "timeout", "5", "node", "script", "bun", "x", "codex", "é@"]).prop_map(str::to_owned),
    ], 0..12)) {
        let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        agents_in_command(&argv, &known());
    }

    #[test]
    fn the_arguments_of_an_agent_name_no_other(more in prop::collection::vec("[a-z' |;$(]{1,12}", 0..6)) {
        let argv: Vec<OsString> = std::iter::once("codex".to_owned()).chain(["exec".to_owned()]).chain(more).map(OsString::from).collect();
        let found = agents_in_command(&argv, &known());
        prop_assert_eq!(found.one(), Some("codex"));
    }

    #[test]
    fn letters_around_a_name_make_it_another(before in "[a-z]{0,3}", after in "[a-z.]{0,3}") {
        prop_assume!(!(before.is_empty() && after.is_empty()));
        let found = agents_in_command(&[OsString::from(format!("{before}codex{after}"))], &known());
        prop_assert_eq!(found, NamedAgents::None);
    }
}
