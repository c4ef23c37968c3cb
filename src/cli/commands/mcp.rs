//! `watchdog mcp`: the judge as a server of the Model Context Protocol, over stdin and stdout. It judges as a command does that its session
//! calls: by commits and checks, without a question, a rescue or a record.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError, serve_server};
use rmcp::{ServerHandler, model::Tool};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::cli::failure::{CommandFailure, signal_code};
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_git::Worktree;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::judgement_input::Overrides;
use watchdog_judge::judge::signals::SignalState;
use watchdog_judge::judge::spawn_io::{or_panic, spawn_io};
use watchdog_judge::modes::blocked::report_blocked;
use watchdog_judge::modes::check::{CheckRequest, judge_since_baseline};
use watchdog_judge::wire::verdict_json::Judgement;

use super::runtime::in_runtime;

/// How long programs of checks get to end when the client is gone.
const WIND_UP: Duration = Duration::from_secs(2);

const INSTRUCTIONS: &str = "watchdog judges from git and the configured checks whether the work in this worktree is complete. The same \
    judgement follows the end of the session.";

/// The tools, as the protocol lists them.
const TOOLS: &str = r#"[
  {"name": "check_work", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
   "description": "Judges this worktree now: its commits since the session began, and the configured checks. Returns the verdict as JSON (status, reason, message, feedback, checks). Asks no model, commits nothing."},
  {"name": "what_is_missing", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
   "description": "The same judgement as a short text: what is missing until the work counts as complete."},
  {"name": "report_blocked", "annotations": {"readOnlyHint": false, "destructiveHint": false},
   "description": "For work that cannot go on without a person. The verdict becomes review with this text, people are notified, and the session may stop. It ends with a person's next prompt or a new session.",
   "inputSchema": {"type": "object", "required": ["text"],
                   "properties": {"text": {"type": "string", "description": "what a person must decide or provide"}}}}
]"#;

/// Serves until the client leaves, or a signal comes.
pub fn run_mcp_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
) -> Result<u8, CommandFailure> {
    if io::stdin().is_terminal() {
        terminal.tell("watchdog mcp: waits for an agent that speaks the Model Context Protocol; see watchdog mcp --help");
    }
    let signal = in_runtime(async |signals| {
        let server = JudgeServer {
            command_env: command_env.clone(),
            signals: signals.clone(),
            started_at: read_head(command_env),
            turn: Arc::default(),
        };
        let turn = Arc::clone(&server.turn);
        let served = tokio::select! {
            served = serve_client(server) => served,
            () = signals.wait_for_interrupt() => Ok(()),
        };
        // A judgement that was interrupted still ends the programs of its checks.
        let _ = timeout(WIND_UP, turn.lock()).await;
        served.map(|()| signals.last())
    })??;
    Ok(signal_code(signal))
}

async fn serve_client(server: JudgeServer) -> Result<(), CommandFailure> {
    let pipes = (tokio::io::stdin(), tokio::io::stdout());
    match serve_server(server, pipes).await {
        Ok(running) => {
            let _ = running.waiting().await;
            Ok(())
        }
        // It left before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(
            CommandFailure::usage(format!("the client does not speak MCP: {error}"))
                .hint("have an agent start it: watchdog mcp --help"),
        ),
    }
}

/// The commit at which a session begins that has no recorded baseline.
fn read_head(command_env: &CommandEnv) -> Option<String> {
    let worktree = Worktree::open(&command_env.worktree).ok()?;
    worktree.head().ok()?.to_commit()
}

/// The judge of one worktree, for one client.
struct JudgeServer {
    command_env: CommandEnv,
    signals: SignalState,
    started_at: Option<String>,
    /// Lets judgements come one at a time.
    turn: Arc<Mutex<()>>,
}

impl ServerHandler for JudgeServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("watchdog", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools: Vec<Tool> = serde_json::from_str(TOOLS).expect("the list is JSON");
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = match &*call.name {
            "check_work" => {
                let judgement = self.judge_work(context).await;
                build_result(&judgement, judgement.to_view().to_line())
            }
            "what_is_missing" => {
                let judgement = self.judge_work(context).await;
                build_result(&judgement, describe_missing(&judgement))
            }
            "report_blocked" => {
                let text = call.arguments.as_ref().and_then(|given| given.get("text"));
                self.report(text.and_then(Value::as_str).unwrap_or_default())
                    .await
            }
            unknown => {
                let why = format!("there is no tool '{unknown}'");
                return Err(ErrorData::invalid_params(why, None));
            }
        };
        Ok(result.into())
    }
}

impl JudgeServer {
    /// Judges until the client takes the call back, or leaves.
    async fn judge_work(&self, context: RequestContext<RoleServer>) -> Judgement {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let (command_env, baseline) = (self.command_env.clone(), self.started_at.clone());
        let signals = self.signals.also(context.ct.cancelled_owned());
        // The task goes on where the protocol drops this call.
        let judging = tokio::spawn(async move {
            let _turn = turn;
            let judgement = judge_from_inside(&command_env, None, &signals).await;
            match judgement.verdict.reason {
                Reason::NoBaseline if baseline.is_some() => {
                    judge_from_inside(&command_env, baseline, &signals).await
                }
                _ => judgement,
            }
        });
        or_panic(judging.await)
    }

    async fn report(&self, text: &str) -> CallToolResult {
        if text.trim().is_empty() {
            let why = "text is missing: say what a person must decide or provide";
            return CallToolResult::error(vec![ContentBlock::text(why)]);
        }
        let (command_env, text) = (self.command_env.clone(), text.to_owned());
        let judgement = spawn_io(move || report_blocked(&command_env, &text)).await;
        let answer = match judgement.verdict.status() {
            Status::Review => "recorded: the verdict is review until a person answers".to_owned(),
            _ => format!("not recorded: {}", judgement.verdict.message),
        };
        build_result(&judgement, answer)
    }
}

async fn judge_from_inside(
    command_env: &CommandEnv,
    baseline: Option<String>,
    signals: &SignalState,
) -> Judgement {
    let request = CheckRequest {
        baseline,
        overrides: Overrides {
            from_inside: true,
            ..Overrides::default()
        },
        ..CheckRequest::default()
    };
    judge_since_baseline(command_env, request, signals).await
}

/// A judgement that could not be had is an error of the tool.
fn build_result(judgement: &Judgement, text: String) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    match judgement.verdict.status() {
        Status::Error => CallToolResult::error(content),
        _ => CallToolResult::success(content),
    }
}

fn describe_missing(judgement: &Judgement) -> String {
    let verdict = &judgement.verdict;
    match (&verdict.feedback, verdict.status()) {
        (_, Status::Complete) => format!("nothing is missing: {}", verdict.message),
        (Some(feedback), Status::Incomplete) => feedback.clone(),
        (_, status) => format!(
            "{} ({}): {}",
            status.as_str(),
            verdict.reason.as_str(),
            verdict.message
        ),
    }
}
