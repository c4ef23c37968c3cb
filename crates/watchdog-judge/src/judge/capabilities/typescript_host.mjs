// Runs a file of TypeScript that judges the work. A file whose default export is a function makes a handler, which lives as long as this
// program: it is given each iteration once, in turn, asked whether the work is complete, and asked for the prompts. Any other file answers
// by itself. A handler that throws ends the program with 126: a check that could not run.
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";
import process from "node:process";

const path = globalThis.Deno ? Deno.args[0] : process.argv[1];
const loaded = await load();

/** The handler, and its definition and arguments; one object for all requests. */
let handler, definition, args;
/** The iterations that it was given, with its last answer. */
let given = [], answered;
/** Its prompts by the number of their session: each is built once. */
let prompts = new Map();

if (typeof loaded.default === "function") {
  const answer = console.log.bind(console);
  // What a handler prints is no answer.
  for (const level of ["log", "info", "debug"]) console[level] = console.error.bind(console);
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === "") continue;
    try {
      answer(JSON.stringify(await reply(JSON.parse(line))));
    } catch (error) {
      cannotRun(error?.stack, `the handler failed: ${error?.message ?? error}`);
    }
  }
} else if (isLibrary(loaded)) {
  // A library that is loaded ends well and proves nothing.
  cannotRun(`${path} exports no default function that makes a handler, and a script exports nothing`);
}

async function load() {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    const words = /Module not found|could not be parsed|Cannot find (module|package)/;
    const isBroken = error instanceof SyntaxError || /^ERR_(MODULE|UNSUPPORTED|INVALID_TYPESCRIPT)/.test(error?.code ?? "") || words.test(error?.message);
    if (isBroken) cannotRun(`${path} cannot be loaded: ${error.message}`);
    throw error;
  }
}

function cannotRun(...lines) {
  for (const line of lines.filter(Boolean)) console.error(line);
  process.exit(126);
}

/** Whether anything is exported. A script that node takes for a module of the older kind has an empty object as its export. */
function isLibrary(module) {
  const { default: main, "module.exports": _, ...named } = module;
  const isEmpty = (value) =>
    value === undefined || (value !== null && Object.getPrototypeOf(Object(value)) === Object.prototype && Object.keys(value).length === 0);
  return Object.keys(named).length > 0 || !isEmpty(main);
}

async function reply(context) {
  const asked = context.handler ?? {};
  definition ??= asked.definition ?? usualDefinition(context);
  args ??= argumentsOf(definition, asked.args ?? {});
  if (asked.wants === "prompt") return await texts(context);
  return await judge(summariesOf(context));
}

/** What the other program passes: the defaults of the parameters, and what the command line says in their place. */
function argumentsOf(definition, named) {
  const args = {};
  for (const [name, parameter] of Object.entries(definition.parameters ?? {})) {
    if (parameter?.default !== undefined) args[name] = parameter.default;
  }
  for (const [name, text] of Object.entries(named)) {
    const type = definition.parameters?.[name]?.type;
    args[name] = type === "number" ? Number(text) : type === "boolean" ? text === "true" : text;
  }
  return args;
}

function usualDefinition(context) {
  const config = { handlerPath: path };
  return {
    name: context.spec ?? "",
    behavior: { completionType: "custom", completionConfig: config },
    runner: { flow: { prompts: {} }, verdict: { type: "meta:custom", config }, boundaries: {} },
  };
}

async function begin() {
  [handler, given, answered, prompts] = [await loaded.default(definition, args), [], undefined, new Map()];
}

/** The texts for the session of this iteration. */
async function texts(context) {
  if (!handler) await begin();
  for (const summary of (context.summaries ?? []).map(readSummary)) {
    if (summary.iteration > lastGiven()) await give(summary);
  }
  const { text, error } = await promptOf(context.iteration ?? 1);
  if (error) throw error;
  const criteria = await handler.buildCompletionCriteria?.();
  return { prompt: textOf(text), short: textOf(criteria?.short), detailed: textOf(criteria?.detailed) };
}

function textOf(value) {
  return typeof value === "string" && value.trim() !== "" ? value : null;
}

async function judge(summaries) {
  if (summaries.length === 0) {
    // Nothing happened yet: what it is asked now is no iteration of a handler that counts.
    const fresh = await loaded.default(definition, args);
    return await answerOf(fresh, await complete(fresh, { ...readSummary({}), iteration: 0 }), undefined);
  }
  const last = summaries.at(-1);
  const isAgain = last.iteration === lastGiven();
  if (isAgain && JSON.stringify(last) === JSON.stringify(given.at(-1))) return answered;
  if (!handler || last.iteration <= lastGiven()) await begin();
  for (const summary of summaries.filter((summary) => summary.iteration > lastGiven())) await give(summary);
  return answered;
}

function lastGiven() {
  return given.at(-1)?.iteration ?? 0;
}

/** Gives the handler an iteration that ended, and keeps its answer. */
async function give(summary) {
  await promptOf(summary.iteration);
  given.push(summary);
  handler.setCurrentIteration?.(summary.iteration);
  handler.setCurrentSummary?.(summary);
  let done = await complete(handler, summary);
  if (done === false && learnsFromPrompts()) {
    // A handler of the first form learns of an iteration with the prompt of the next one.
    await promptOf(summary.iteration + 1);
    done = await complete(handler, summary);
  }
  answered = await answerOf(handler, done, summary);
}

async function complete(of, summary) {
  const ask = of.isFinished ?? of.isComplete;
  return typeof ask === "function" ? await ask.call(of, summary) : undefined;
}

async function answerOf(of, complete, summary) {
  const describe = of.getVerdictDescription ?? of.getCompletionDescription;
  const said = typeof describe === "function" ? await describe.call(of, summary) : undefined;
  return { complete, feedback: typeof said === "string" ? said : undefined };
}

function learnsFromPrompts() {
  return !handler.setCurrentSummary && !handler.isFinished && handler.isComplete?.length === 0;
}

/** The prompt of a session, built once; an error is kept for whoever needs the prompt. */
async function promptOf(iteration) {
  if (!prompts.has(iteration)) {
    let built;
    try {
      built = { text: iteration <= 1 ? await handler.buildInitialPrompt?.(args) : await handler.buildContinuationPrompt?.(...continuation(iteration)) };
    } catch (error) {
      built = { error };
    }
    prompts.set(iteration, built);
  }
  return prompts.get(iteration);
}

function continuation(iteration) {
  const last = given.at(-1);
  if (handler.setCurrentSummary || handler.isFinished) return [iteration - 1, last];
  // Handlers of the first form read the list as its last summary, and count what is done.
  return [learnsFromPrompts() ? iteration - 1 : iteration, Object.assign([...given], last)];
}

/** The iterations of a context, oldest first; the one that just ended is told by its messages. */
function summariesOf(context) {
  const known = (context.summaries ?? []).map(readSummary).map((summary, at) => ({ ...summary, iteration: summary.iteration ?? at + 1 }));
  const messages = context.messages ?? [];
  const iteration = context.iteration ?? known.length + 1;
  const isOver = context.output != null || messages.length > 0 || context.handler !== undefined && context.iteration != null;
  if (known.length > 0 && (context.iteration == null || !isOver || known.some((summary) => summary.iteration === iteration))) return known;
  if (!isOver) return known;
  const results = messages.map((message) => message.tool_result).filter(Boolean);
  const spoken = messages.filter((message) => message.role === "assistant" && message.text).map((message) => message.text);
  const responses = spoken.length > 0 ? spoken : context.output != null ? [context.output] : [];
  const current = {
    iteration,
    assistantResponses: responses,
    detectedActions: responses.flatMap(actionsIn),
    toolsUsed: [...new Set(results.map((result) => result.name).filter(Boolean))],
    errors: results.filter((result) => result.is_error).map((result) => result.content),
  };
  return [...known, current];
}

function readSummary(summary) {
  return {
    iteration: summary.iteration ?? undefined,
    assistantResponses: summary.assistant_responses ?? [],
    detectedActions: summary.detected_actions ?? [],
    toolsUsed: summary.tools_used ?? [],
    errors: summary.errors ?? [],
  };
}

/** The actions in a text: objects with a type, in fenced blocks; where the definition names their fence, in those alone. */
function actionsIn(text) {
  const fence = definition.actions?.outputFormat;
  const blocks = [...text.matchAll(/^[ \t]*```+[ \t]*([\w.-]*)[^\n`]*\n([^]*?)^[ \t]*```/gm)];
  return blocks.filter(([, word]) => !fence || word === fence).flatMap(([, , content]) => {
    try {
      const value = JSON.parse(content);
      return [value].flat().filter((action) => typeof action?.type === "string");
    } catch {
      return [];
    }
  });
}
