import { spawn, spawnSync } from "node:child_process";

// What opencode runs as a command of its own ends when its session rests, so nobody can go on there.
const options = ["--log-level", "--port", "--hostname"];
const words = process.argv.slice(2).filter((word, at, all) => !word.startsWith("-") && !options.includes(all[at - 1]));
const endsAtRest = words[0] === "run";

// An answer that is missing, late or no JSON holds nobody.
const ask = (line, input, cwd, seconds) =>
  new Promise((resolve) => {
    const child = spawn("sh", ["-c", line], { cwd, stdio: ["pipe", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill(), seconds * 1000);
    let output = "";
    child.stdout.on("data", (piece) => (output += piece));
    child.stdin.on("error", () => {});
    child.on("error", () => resolve({}));
    child.on("close", () => {
      clearTimeout(timer);
      try {
        resolve(JSON.parse(output) ?? {});
      } catch {
        resolve({});
      }
    });
    child.stdin.end(input);
  });

const join = (parts) => parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
const end = (exit) => (exit ? `\nExit Code: ${exit}` : "");

// A call as Gemini CLI writes it.
const call = ({ callID: id, tool: name, state: { status, input: args, output = "", metadata } }) => {
  const exit = name === "bash" ? metadata?.exit : 0;
  const result = [{ functionResponse: { response: { output: output.slice(-4000) + end(exit) } } }];
  return { id, name, args, status: status === "completed" && exit === 0 ? "success" : "error", result };
};

export const Watchdog = async ({ client, directory: cwd }) => {
  const loaded = Date.now();
  const sessions = new Map();

  const known = async (id) => {
    if (!sessions.has(id)) {
      const found = await client.session.get({ path: { id } }).catch(() => ({}));
      const { parentID, time } = found.data ?? {};
      sessions.set(id, { isChild: Boolean(parentID), source: (time?.created ?? 0) >= loaded ? "startup" : "resume", turn: 0 });
    }
    return sessions.get(id);
  };

  // Tells what the session said and did so far, and gives the answer.
  const tell = async (line, hook_event_name, id, more, seconds = 15) => {
    const { data } = await client.session.messages({ path: { id } }).catch(() => ({}));
    const last = data?.findLast((message) => message.info.role === "assistant");
    // The user interrupted it, or its model failed.
    if (last?.info.error && line === STOP) return {};
    const calls = data?.flatMap((message) => message.parts).filter((part) => part.type === "tool");
    const session = { transcript: calls && { cwd, toolCalls: calls.map(call) }, last_assistant_message: last && join(last.parts) };
    const answer = await ask(line, JSON.stringify({ hook_event_name, session_id: id, cwd, ...session, ...more }), cwd, seconds);
    return { ...answer, ...answer.hookSpecificOutput };
  };

  const finish = (id) => {
    const session = sessions.get(id);
    sessions.delete(id);
    if (!session?.began) return;
    const input = JSON.stringify({ hook_event_name: "SessionEnd", session_id: id, cwd, reason: "other" });
    // Synchronous: opencode does not wait for what a plugin still does when it ends.
    spawnSync("sh", ["-c", END], { cwd, input, stdio: ["pipe", "ignore", "ignore"], timeout: 5000 });
  };

  const rest = async (id) => {
    const session = sessions.get(id);
    if (!session?.began || endsAtRest) return;
    const { turn } = session;
    const answer = await tell(STOP, "Stop", id, { stop_hook_active: Boolean(session.wasHeld) }, PATIENCE);
    if (answer.decision !== "block" || session.turn !== turn) return;
    session.holds = true;
    client.session.prompt({ path: { id }, body: { parts: [{ type: "text", text: answer.reason }] } }).catch(() => {});
  };

  return {
    "chat.message": async ({ sessionID }, { parts }) => {
      const session = await known(sessionID);
      if (session.isChild) return;
      session.turn += 1;
      session.wasHeld = session.holds;
      session.holds = false;
      if (!session.began) {
        session.began = true;
        session.context = (await tell(START, "SessionStart", sessionID, { source: session.source })).additionalContext;
      }
      const last = parts.at(-1);
      if (session.wasHeld || !last) return;
      const { additionalContext: text } = await tell(PROMPT, "UserPromptSubmit", sessionID, { prompt: join(parts) });
      // By its id it is the last one in the list of parts as well.
      if (text) parts.push({ id: `${last.id}w`, messageID: last.messageID, sessionID, type: "text", synthetic: true, text });
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      const context = sessions.get(sessionID)?.context;
      if (context && !output.system.some((text) => text.includes("title generator"))) output.system.push(context);
    },
    "tool.execute.after": async ({ tool, sessionID, args }, output) => {
      const exit = output.metadata?.exit;
      if (tool !== "bash" || !Number.isInteger(exit) || !sessions.get(sessionID)?.began) return;
      const more = { tool_input: args, tool_response: { llmContent: end(exit) } };
      const { additionalContext: text } = await tell(TOOL, "PostToolUse", sessionID, more);
      if (text) output.output += `\n${text}`;
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await rest(event.properties.sessionID);
      if (event.type === "session.deleted") finish(event.properties.info?.id);
    },
    dispose: async () => [...sessions.keys()].forEach(finish),
  };
};
