//! Custom checks in TypeScript: run by the real node and deno, with the answers of `custom` and no more permission than to read.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv, assert_parts, fill_line};

/// A handler as agents of another program have them: it counts decisions.
const HANDLER: &str = r#"
interface Summary { iteration: number; detectedActions: { type: string }[]; assistantResponses: string[] }
class DecisionCounter {
  private seen = 0;
  constructor(private readonly target: number) {}
  buildInitialPrompt(): Promise<string> { throw new Error("no prompt is needed here"); }
  setCurrentSummary(summary: Summary): void {
    this.seen += summary.detectedActions.filter((action) => action.type === "decision").length;
  }
  async isFinished(): Promise<boolean> { return this.seen >= this.target; }
  async getVerdictDescription(): Promise<string> { return `${this.seen} of ${this.target} decisions`; }
}
export default function (definition: { behavior: object }, args: Record<string, unknown>): DecisionCounter {
  return new DecisionCounter(Number(args.target ?? 3));
}
"#;

/// The same in the first form, which learns of an iteration with the prompt of the next one.
const FIRST_FORM: &str = r#"
export default function () {
  let seen: number = 0;
  return {
    buildInitialPrompt: async () => "go",
    buildContinuationPrompt: async (done: number, previous?: { detectedActions: unknown[] }) => {
      seen += previous?.detectedActions.length ?? 0;
      return "on";
    },
    isComplete: async () => seen >= 3,
    getCompletionDescription: async () => `${seen} seen`,
  };
}
"#;

/// The program that scripts/test put there.
#[track_caller]
fn installed(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("target/{name}/bin/{name}"));
    assert!(
        program.exists(),
        "{name} is not in {}: run `scripts/test --install-only`, which puts it there",
        program.display()
    );
    program
}

/// An environment in whose PATH this runtime is the only one that reads TypeScript.
fn with(runtime: &str) -> TestEnv {
    let env = TestEnv::new();
    env.install(runtime, &installed(runtime));
    env
}

fn judged((env, repo): (&TestEnv, &Repo<'_>), checks: &Value, decisions: usize) -> CommandOutput {
    let config = env
        .write("criteria.json", json!({"checks": checks}).to_string())
        .to_string_lossy()
        .into_owned();
    let summary = |n| json!({"iteration": n, "assistant_responses": ["x"], "detected_actions": [{"type": "decision"}]});
    let context = json!({"schema": 1, "claims_done": true, "summaries": (1..=decisions).map(summary).collect::<Vec<_>>()});
    repo.watchdog_command(&["evaluate", "--json", "--config", &config])
        .stdin(context.to_string())
        .run()
}

#[track_caller]
fn ends(out: &CommandOutput, verdict: &str, words: &str) {
    let found = out.json();
    assert_eq!(
        format!(
            "{}/{}",
            found["status"].as_str().unwrap_or_default(),
            found["reason"].as_str().unwrap_or_default()
        ),
        verdict,
        "{out}"
    );
    assert!(found.to_string().contains(words), "{words} is not in {out}");
}

/// What holds whichever runtime is there.
fn handlers_are_judged(runtime: &str) {
    let env = with(runtime);
    let repo = env.repo();
    repo.write(".agent/a/completion/handler.ts", HANDLER);
    repo.write(".agent/a/completion/first.ts", FIRST_FORM);
    repo.write("script.ts", "const answer: { complete: boolean } = { complete: true };\nconsole.log(JSON.stringify(answer));\n");
    repo.write(
        "library.ts",
        "export class Handler { complete: boolean = true }\n",
    );
    repo.write(
        "broken.ts",
        "export default function () { throw new Error(\"the handler is broken\"); }\n",
    );
    repo.write("torn.ts", "export default function () { return {{{ }\n");
    repo.write("silent.ts", "export default function () { return {}; }\n");
    repo.commit_all("checks");
    repo.watchdog(&["snapshot"]).expect(0);
    let check = |path: &str| json!([{"type": "custom", "run": [path]}]);
    for handler in [
        ".agent/a/completion/handler.ts",
        ".agent/a/completion/first.ts",
    ] {
        ends(
            &judged((&env, &repo), &check(handler), 2),
            "incomplete/checks_unmet",
            "2 ",
        );
        ends(
            &judged((&env, &repo), &check(handler), 3),
            "complete/checks_passed",
            "3 ",
        );
    }
    let stays =
        json!([{"type": "custom", "run": [".agent/a/completion/handler.ts"], "mode": "stream"}]);
    ends(
        &judged((&env, &repo), &stays, 2),
        "incomplete/checks_unmet",
        "2 of 3 decisions",
    );
    ends(
        &judged((&env, &repo), &stays, 3),
        "complete/checks_passed",
        "3 of 3 decisions",
    );
    ends(
        &judged((&env, &repo), &check("script.ts"), 0),
        "complete/checks_passed",
        "",
    );
    ends(
        &judged((&env, &repo), &check("library.ts"), 3),
        "failed/verify_unrunnable",
        "exports no default function",
    );
    ends(
        &judged((&env, &repo), &check("broken.ts"), 3),
        "failed/verify_unrunnable",
        "the handler is broken",
    );
    ends(
        &judged((&env, &repo), &check("torn.ts"), 3),
        "failed/verify_unrunnable",
        "cannot be loaded",
    );
    ends(
        &judged((&env, &repo), &check("silent.ts"), 3),
        "review/verify_failed",
        "answered without `complete`",
    );
    env.assert_nothing_left();
}

#[test]
fn handlers_of_another_program_are_judged_by_node() {
    handlers_are_judged("node");
}

#[test]
fn handlers_of_another_program_are_judged_by_deno() {
    handlers_are_judged("deno");
}

/// Files that try what no check needs.
fn nothing_but_reading_is_permitted(runtime: &str, network: bool) {
    let env = with(runtime);
    let repo = env.repo();
    let outside = env.write("outside/secret.txt", "s3cret");
    repo.write(
        "writes.ts",
        "import { writeFileSync } from \"node:fs\";\nwriteFileSync(\"written.txt\", \"x\");\n",
    );
    repo.write("starts.ts", "import { execFileSync } from \"node:child_process\";\nexecFileSync(\"touch\", [\"started.txt\"]);\n");
    let reads = format!(
        "import {{ readFileSync }} from \"node:fs\";\nconsole.log(readFileSync({:?}, \"utf8\"));\n",
        outside.display().to_string()
    );
    repo.write("reads.ts", reads);
    repo.write("calls.ts", "await fetch(\"http://127.0.0.1:9/\");\n");
    let tried = if network {
        &["writes.ts", "starts.ts", "reads.ts", "calls.ts"][..]
    } else {
        &["writes.ts", "starts.ts", "reads.ts"]
    };
    for path in tried {
        let out = judged(
            (&env, &repo),
            &json!([{"type": "custom", "run": [path]}]),
            0,
        );
        ends(&out, "incomplete/checks_unmet", "ended with exit code 1");
        assert!(!out.stdout.contains("s3cret"), "{out}");
    }
    assert!(
        !repo.path().join("written.txt").exists() && !repo.path().join("started.txt").exists(),
        "nothing is written"
    );
}

#[test]
fn node_check_may_only_read_the_worktree() {
    nothing_but_reading_is_permitted("node", false);
}

#[test]
fn deno_check_may_only_read_the_worktree() {
    nothing_but_reading_is_permitted("deno", true);
}

#[test]
fn missing_typescript_runtime_is_named_for_installation() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("judge.ts", HANDLER);
    let old = env.write("old-node", "#!/bin/sh\necho v20.1.0\n");
    std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("the file is ours");
    env.install("node", &old);
    let out = judged(
        (&env, &repo),
        &json!([{"type": "custom", "run": ["judge.ts"]}]),
        3,
    );
    ends(
        &out,
        "failed/verify_unrunnable",
        "node 20.1.0 does not read TypeScript; install deno, or node 22.6 or newer",
    );
}

#[test]
fn named_agent_description_applies_its_check_handler() {
    let env = with("node");
    let repo = env.repo();
    repo.write(".agent/counter/completion/handler.ts", HANDLER);
    let description = json!({"name": "counter", "runner": {"verdict": {"type": "meta:custom", "config": {"handlerPath": "completion/handler.ts"}}}});
    repo.write(".agent/counter/agent.json", description.to_string());
    repo.commit_all("an agent");
    repo.watchdog(&["snapshot"]).expect(0);
    let summary = json!({"iteration": 1, "detected_actions": [{"type": "decision"}, {"type": "decision"}, {"type": "decision"}]});
    let run = repo.watchdog_command(&fill_line(
        "evaluate --json --config .agent/counter/agent.json",
        &[],
    ));
    ends(
        &run.stdin(json!({"schema": 1, "summaries": [summary]}).to_string())
            .run(),
        "complete/checks_passed",
        "3 of 3 decisions",
    );
}

/// A handler of the documented interface. It counts in a field, and its prompts name the process that it lives in.
const DOCUMENTED: &str = r#"
import process from "node:process";
interface Summary {
  iteration: number; assistantResponses: string[]; detectedActions: { type: string }[]; toolsUsed: string[]; errors: string[];
}
interface Definition { name: string; parameters: Record<string, { default?: unknown }> }
class DecisionHandler {
  readonly type = "custom";
  private decisions = 0;
  constructor(private readonly definition: Definition, private readonly args: Record<string, unknown>) {}
  async buildInitialPrompt(args: Record<string, unknown>): Promise<string> {
    return `Decide about ${args.topic} for ${this.definition.name} in ${process.pid}.`;
  }
  async buildContinuationPrompt(iteration: number, summaries: Summary[]): Promise<string> {
    return `Session ${iteration} after ${summaries.length}, ${this.decisions} decisions in ${process.pid}: ${summaries[0].assistantResponses}`;
  }
  buildCompletionCriteria(): { short: string; detailed: string } {
    return { short: "decisions", detailed: "two decisions, each in a block of its own" };
  }
  async isComplete(summary: Summary): Promise<boolean> {
    console.log("a handler may print");
    this.decisions += summary.detectedActions.filter((action) => action.type === "decision").length;
    return this.decisions >= Number(this.args.target);
  }
  async getCompletionDescription(summary: Summary): Promise<string> {
    return `${this.decisions} of ${this.args.target} decisions after ${summary.iteration}`;
  }
}
export default (definition: Definition, args: Record<string, unknown>) => new DecisionHandler(definition, args);
"#;

/// A session that keeps its prompt, commits, and says one decision.
const DECIDES: &str = "cp \"$WATCHDOG_PROMPT_FILE\" ../prompt-$WATCHDOG_ITERATION; echo x > n$WATCHDOG_ITERATION; git add .; \
                       git commit -q -m n; printf 'chosen\\n```\\n{\"type\": \"decision\"}\\n```\\n'";

fn write_agent(repo: &Repo<'_>, handler: &str) {
    let description = json!({
        "version": "1.0.0", "name": "decider", "displayName": "Decider", "description": "decides", "prompts": {}, "logging": {},
        "parameters": {"topic": {"type": "string", "default": "coffee"}, "target": {"type": "number", "default": 2}},
        "behavior": {"completionType": "custom", "completionConfig": {"handlerPath": "completion/handler.ts"}},
    });
    repo.write(".agent/decider/agent.json", description.to_string());
    repo.write(".agent/decider/completion/handler.ts", handler);
    repo.commit_all("an agent");
}

fn looped(repo: &Repo<'_>) -> CommandOutput {
    let args = fill_line(
        "loop --json --config .agent/decider/agent.json --max-iterations 4 --no-probe --var topic=tea",
        &[],
    );
    repo.watchdog(&[&args[..], &["--", "sh", "-c", DECIDES]].concat())
}

fn handler_lives_through_a_loop(runtime: &str) {
    let env = with(runtime);
    let repo = env.repo();
    write_agent(&repo, DOCUMENTED);
    let out = looped(&repo);
    ends(&out, "complete/checks_passed", "2 of 2 decisions after 2");
    out.assert_has("message", "2 of 2 decisions after 2");
    let prompt = |n: u32| {
        std::fs::read_to_string(repo.path().join(format!("../prompt-{n}")))
            .expect("the session kept it")
    };
    assert!(
        prompt(1).starts_with("Decide about tea for decider in "),
        "{}",
        prompt(1)
    );
    assert_parts(&prompt(1), &["two decisions, each in a block of its own"]);
    assert!(
        prompt(2).starts_with("Session 2 after 1, 1 decisions in ") && prompt(2).contains("chosen"),
        "{}",
        prompt(2)
    );
    let process = |n: u32| {
        prompt(n).split(" in ").nth(1).map(|rest| {
            rest.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        })
    };
    assert_eq!(process(1), process(2), "one program lives through the loop");
    env.assert_nothing_left();
}

#[test]
fn documented_handler_lives_through_a_loop_with_node() {
    handler_lives_through_a_loop("node");
}

#[test]
fn documented_handler_lives_through_a_loop_with_deno() {
    handler_lives_through_a_loop("deno");
}

#[test]
fn handler_that_throws_ends_the_loop() {
    let of_prompt = "export default () => ({ buildInitialPrompt: async () => { throw new Error(\"no prompt\"); } });\n";
    let of_check =
        "export default () => ({ isComplete: async () => { throw new Error(\"no answer\"); } });\n";
    for (handler, words, sessions) in [(of_prompt, "no prompt", 0), (of_check, "no answer", 1)] {
        let env = with("node");
        let repo = env.repo();
        write_agent(&repo, handler);
        let out = looped(&repo).expect(15);
        ends(&out, "failed/verify_unrunnable", words);
        let ran = (1..5)
            .filter(|n| repo.path().join(format!("../prompt-{n}")).exists())
            .count();
        assert_eq!(ran, sessions, "{out}");
    }
}
