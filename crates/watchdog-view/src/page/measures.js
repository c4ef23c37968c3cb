// What chosen cells come to. The same rules as in crates/watchdog-store/src/measures/summary.rs.
function sumUp(data, figures, chosen) {
  const { from, to, works, reason, agent } = chosen;
  const { cellDay, cellWork } = figures;
  const isWhole = from === 0 && (cellDay.length === 0 || to >= cellDay[cellDay.length - 1]), isAll = works.every(Boolean);
  // Cells are in the order of their days.
  const firstOf = (own, day) => {
    let low = 0, high = own.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cellDay[own[middle]] < day) low = middle + 1; else high = middle;
    }
    return low;
  };
  const complete = (name) => data.statuses[name] === "complete";
  const days = to - from + 1;
  const found = {
    sums: new Map(), judged: new Float64Array(days), done: new Float64Array(days), cost: new Float64Array(days), costTold: new Float64Array(days),
    specs: new Map(), completed: [], agents: new Map(),
  };
  const perSpec = { sessions: 0, judged: 0, done: 0, aborts: 0, questions: 0, micros: 0, told: 0 };
  for (const key of Object.keys(perSpec)) perSpec[key] = new Float64Array(data.works.length);
  const keys = { sessions_started: "sessions", aborts: "aborts", questions_of: "questions", cost_micros: "micros", cost_told: "told" };
  const perDay = { micros: found.cost, told: found.costTold };
  const ofSessions = ["sessions_started", "sessions_ended", "cost_micros", "cost_told"];
  for (const [full, column] of figures.columns) {
    const own = ofAgent(full), isChosen = own !== null && own.agent === agent;
    // The figures of the chosen agent's sessions stand in for those of all.
    if (agent !== null && ofSessions.includes(full)) continue;
    const word = isChosen ? own.counter : full;
    const parts = word.split("/");
    const judgement = parts[0] === "judged" ? parts[2] : null;
    if (judgement !== null && reason && reason !== judgement && reason !== data.statuses[judgement]) continue;
    if (parts[0].startsWith("aborts") && reason && reason !== parts[1] && reason !== data.statuses[parts[1]]) continue;
    const key = judgement !== null ? "judged" : isChosen && word === "sessions_ended" ? "sessions" : keys[parts[0]];
    const ofSpec = perSpec[key], ofDay = judgement !== null ? found.judged : perDay[key];
    const isDone = judgement !== null && complete(judgement), { cells: held, counts, byWork, byDay } = column;
    let sum = 0;
    if (isWhole && (isAll || !ofDay)) {
      for (let work = 0; work < works.length; work++) {
        if (!works[work]) continue;
        sum += byWork[work];
        if (ofSpec) ofSpec[work] += byWork[work];
        if (isDone) perSpec.done[work] += byWork[work];
      }
      for (let day = 0; ofDay && day < byDay.length; day++) {
        ofDay[day] += byDay[day];
        if (isDone) found.done[day] += byDay[day];
      }
    } else {
      for (let at = firstOf(held, from), end = firstOf(held, to + 1); at < end; at++) {
        const work = cellWork[held[at]];
        if (!works[work]) continue;
        const count = counts[at], day = cellDay[held[at]] - from;
        sum += count;
        if (ofSpec) ofSpec[work] += count;
        if (ofDay) ofDay[day] += count;
        if (isDone) { found.done[day] += count; perSpec.done[work] += count; }
      }
    }
    if (sum > 0) found.sums.set(word, sum);
    if (sum > 0 && own !== null && (agent === null || isChosen)) {
      if (!found.agents.has(own.agent)) found.agents.set(own.agent, {});
      found.agents.get(own.agent)[own.counter] = sum;
    }
  }
  for (let day = 0; day < days; day++) found.cost[day] /= 1e6;
  const completedOf = new Map();
  for (const one of figures.completed) {
    if (one.day < from || one.day > to || !works[one.work]) continue;
    found.completed.push(one);
    if (!completedOf.has(one.work)) completedOf.set(one.work, []);
    completedOf.get(one.work).push(one);
  }
  for (let work = 0; work < data.works.length; work++) {
    const own = { work, completed: completedOf.get(work) || [] };
    for (const key of Object.keys(perSpec)) own[key] = perSpec[key][work];
    if (own.judged || own.sessions || own.completed.length) found.specs.set(work, own);
  }
  return found;
}

function countsBelow(sums, beginning) {
  const counts = new Map();
  for (const [word, sum] of sums) if (word.startsWith(beginning)) counts.set(word.slice(beginning.length), sum);
  return counts;
}

const total = (counts) => [...counts.values()].reduce((sum, count) => sum + count, 0);
const share = (part, of) => (of > 0 ? part / of : null);

function spread(amounts) {
  // An array of numbers sorts many times faster than one of values.
  const known = Float64Array.from(amounts.filter((amount) => amount !== null)).sort();
  const at = (percent) => (known.length ? known[Math.max(0, Math.ceil((known.length * percent) / 100) - 1)] : null);
  return { median: at(50), p90: at(90), known: known.length };
}
