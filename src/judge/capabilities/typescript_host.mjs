// Runs a file of TypeScript that judges the work. A file whose default export is a function makes a handler, which is given each iteration
// in turn and asked whether it is finished. Any other file answers by itself.
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";
import process from "node:process";

const path = globalThis.Deno ? Deno.args[0] : process.argv[1];
const loaded = await import(pathToFileURL(path).href);

if (typeof loaded.default === "function") {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() !== "") console.log(JSON.stringify(await judge(JSON.parse(line))));
  }
} else if (isLibrary(loaded)) {
  // A library that is loaded ends well and proves nothing.
  console.error(`${path} exports no default function that makes a handler, and a script exports nothing`);
  process.exit(126);
}

/** Whether anything is exported. A script that node takes for a module of the older kind has an empty object as its export. */
function isLibrary(module) {
  const { default: main, "module.exports": _, ...named } = module;
  const isEmpty = (value) =>
    value === undefined || (value !== null && Object.getPrototypeOf(Object(value)) === Object.prototype && Object.keys(value).length === 0);
  return Object.keys(named).length > 0 || !isEmpty(main);
}

async function judge(context) {
  const config = { handlerPath: path };
  const definition = {
    name: context.spec ?? "",
    behavior: { completionType: "custom", completionConfig: config },
    runner: { flow: { prompts: {} }, verdict: { type: "meta:custom", config }, boundaries: {} },
  };
  const handler = await loaded.default(definition, {});
  const finished = async () => {
    const ask = handler.isFinished ?? handler.isComplete;
    return typeof ask === "function" ? await ask.call(handler) : undefined;
  };
  const summaries = summariesOf(context);
  await prompted(() => handler.buildInitialPrompt?.());
  let complete = summaries.length === 0 ? await finished() : undefined;
  for (const [at, summary] of summaries.entries()) {
    if (at > 0) await prompted(() => handler.buildContinuationPrompt?.(at, summaries[at - 1]));
    handler.setCurrentIteration?.(summary.iteration);
    handler.setCurrentSummary?.(summary);
    complete = await finished();
  }
  if (complete === false && summaries.length > 0 && !handler.setCurrentSummary) {
    // A handler of the first form learns of an iteration with the prompt of the next one.
    await prompted(() => handler.buildContinuationPrompt?.(summaries.length, summaries.at(-1)));
    complete = await finished();
  }
  const describe = handler.getVerdictDescription ?? handler.getCompletionDescription;
  const said = typeof describe === "function" ? await describe.call(handler) : undefined;
  return { complete, feedback: typeof said === "string" ? said : undefined };
}

function summariesOf(context) {
  const known = context.summaries ?? [];
  const last = { iteration: context.iteration ?? 1, assistant_responses: [context.output ?? ""] };
  return (known.length > 0 || context.output == null ? known : [last]).map((summary) => ({
    iteration: summary.iteration,
    assistantResponses: summary.assistant_responses ?? [],
    detectedActions: summary.detected_actions ?? [],
    toolsUsed: [],
    errors: [],
  }));
}

/** A prompt is sent to nobody here, so that one that cannot be made is no fault. */
async function prompted(build) {
  try {
    await build();
  } catch {
    // See above.
  }
}
