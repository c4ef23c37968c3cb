import { spawn, spawnSync } from "node:child_process";

// What opencode runs as a command of its own ends when its session rests, so nobody can go on there.
const options = ["--log-level", "--port", "--hostname"];
const words = process.argv.slice(2).filter((word, at, all) => !word.startsWith("-") && !options.includes(all[at - 1]));
const endsAtRest = words[0] === "run";

const told = (event, id, directory, more) =>
  JSON.stringify({ hook_event_name: event, session_id: id, cwd: directory, ...more });

// An answer that is missing, late or no JSON holds nobody.
const ask = (line, input, directory) =>
  new Promise((resolve) => {
    const child = spawn("sh", ["-c", line], { cwd: directory, stdio: ["pipe", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill(), PATIENCE * 1000);
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

export const Watchdog = async ({ client, directory }) => {
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

  const end = (id) => {
    const session = sessions.get(id);
    sessions.delete(id);
    if (!session?.began) return;
    const input = told("SessionEnd", id, directory, { reason: "other" });
    // Synchronous: opencode does not wait for what a plugin still does when it ends.
    spawnSync("sh", ["-c", END], { cwd: directory, input, stdio: ["pipe", "ignore", "ignore"], timeout: 5000 });
  };

  const rest = async (id) => {
    const session = sessions.get(id);
    if (!session?.began || endsAtRest) return;
    const { turn } = session;
    const { data } = await client.session.messages({ path: { id } }).catch(() => ({}));
    const last = data?.findLast((message) => message.info.role === "assistant");
    // The user interrupted it, or its model failed.
    if (last?.info.error) return;
    const said = last?.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
    const input = told("Stop", id, directory, { stop_hook_active: Boolean(session.wasHeld), last_assistant_message: said });
    const answer = await ask(STOP, input, directory);
    if (answer.decision !== "block" || session.turn !== turn) return;
    session.holds = true;
    client.session.prompt({ path: { id }, body: { parts: [{ type: "text", text: answer.reason }] } }).catch(() => {});
  };

  return {
    "chat.message": async ({ sessionID }) => {
      const session = await known(sessionID);
      if (session.isChild) return;
      session.turn += 1;
      session.wasHeld = session.holds;
      session.holds = false;
      if (session.began) return;
      session.began = true;
      const answer = await ask(START, told("SessionStart", sessionID, directory, { source: session.source }), directory);
      session.context = answer.hookSpecificOutput?.additionalContext;
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      const context = sessions.get(sessionID)?.context;
      if (context && !output.system.some((text) => text.includes("title generator"))) output.system.push(context);
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await rest(event.properties.sessionID);
      if (event.type === "session.deleted") end(event.properties.info?.id);
    },
    dispose: async () => [...sessions.keys()].forEach(end),
  };
};
