// What chosen cells come to. The same rules as in crates/watchdog-store/src/measures/summary.rs.
function sumUp(data, figures, chosen) {
  const { from, to, works, reason } = chosen;
  const cells = figures.cellDay.length;
  const wanted = new Uint8Array(cells);
  for (let cell = 0; cell < cells; cell++) {
    const day = figures.cellDay[cell];
    wanted[cell] = day >= from && day <= to && works[figures.cellWork[cell]] ? 1 : 0;
  }
  const complete = (name) => data.statuses[name] === "complete";
  const days = to - from + 1;
  const found = {
    sums: new Map(), judged: new Float64Array(days), done: new Float64Array(days), cost: new Float64Array(days), costTold: new Float64Array(days),
    specs: new Map(), completed: [],
  };
  const spec = (work) => {
    let own = found.specs.get(work);
    if (!own) found.specs.set(work, (own = { work, sessions: 0, judged: 0, done: 0, aborts: 0, questions: 0, micros: 0, told: 0, completed: [] }));
    return own;
  };
  for (const [word, column] of figures.columns) {
    const parts = word.split("/");
    const judgement = parts[0] === "judged" ? parts[2] : null;
    if (judgement !== null && reason && reason !== judgement && reason !== data.statuses[judgement]) continue;
    if (parts[0].startsWith("aborts") && reason && reason !== parts[1] && reason !== data.statuses[parts[1]]) continue;
    const perSpec = { sessions_started: "sessions", aborts: "aborts", questions_of: "questions", cost_micros: "micros", cost_told: "told" }[parts[0]];
    let sum = 0;
    for (let at = 0; at < column.cells.length; at++) {
      const cell = column.cells[at];
      if (!wanted[cell]) continue;
      const count = column.counts[at], day = figures.cellDay[cell] - from;
      sum += count;
      if (judgement !== null) {
        found.judged[day] += count;
        const own = spec(figures.cellWork[cell]);
        own.judged += count;
        if (complete(judgement)) { found.done[day] += count; own.done += count; }
      } else if (perSpec) {
        spec(figures.cellWork[cell])[perSpec] += count;
        if (perSpec === "micros") found.cost[day] += count / 1e6;
        if (perSpec === "told") found.costTold[day] += count;
      }
    }
    if (sum > 0) found.sums.set(word, sum);
  }
  for (const one of figures.completed) {
    if (one.day < from || one.day > to || !works[one.work]) continue;
    found.completed.push(one);
    spec(one.work).completed.push(one);
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
  const known = amounts.filter((amount) => amount !== null).sort((a, b) => a - b);
  const at = (percent) => (known.length ? known[Math.max(0, Math.ceil((known.length * percent) / 100) - 1)] : null);
  return { median: at(50), p90: at(90), known: known.length };
}
