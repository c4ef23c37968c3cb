"use strict";
// Reads the figures that src/wire/page_json.rs wrote: which specs each day has, then the cells and counts of each word.
function bitReader(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  let at = 0, left = 8, current = bytes[0] || 0;
  const bit = () => {
    if (left === 0) { current = bytes[++at]; left = 8; }
    return (current >> --left) & 1;
  };
  const bits = (count) => {
    let value = 0;
    while (count > 0) {
      if (left === 0) { current = bytes[++at]; left = 8; }
      const taken = Math.min(left, count);
      left -= taken;
      count -= taken;
      value = value * (1 << taken) + ((current >> left) & ((1 << taken) - 1));
    }
    return value;
  };
  const column = (count) => {
    const parameter = bits(6), scale = 2 ** parameter, numbers = new Float64Array(count);
    for (let row = 0; row < count; row++) {
      let quotient = 0;
      while (quotient < 20 && bit()) quotient++;
      numbers[row] = quotient < 20 ? quotient * scale + bits(parameter) : bits(bits(6));
    }
    return numbers;
  };
  return { number: () => bits(40), column };
}

// The counter and the agent of a word of one agent's sessions, "agent/sessions_ended/codex"; an empty name stands for agents that are not known.
function ofAgent(word) {
  if (!word.startsWith("agent/")) return null;
  const [, counter, ...name] = word.split("/");
  return { counter, agent: name.join("/") };
}

function decode(data) {
  const read = bitReader(data.cells);
  const days = read.number(), gaps = read.column(days), specs = read.column(days);
  const cells = specs.reduce((sum, count) => sum + count, 0), steps = read.column(cells);
  const cellDay = new Uint16Array(cells), cellWork = new Uint16Array(cells);
  for (let at = 0, day = 0, cell = 0; at < days; at++) {
    day += gaps[at];
    for (let work = 0, end = cell + specs[at]; cell < end; cell++) {
      work += steps[cell];
      cellDay[cell] = day;
      cellWork[cell] = work;
    }
  }
  const columns = new Map();
  for (const word of data.words) {
    const count = read.number(), skipped = read.column(count), counts = read.column(count), own = new Uint32Array(count);
    const unit = (ofAgent(word)?.counter ?? word).endsWith("cost_micros") ? 10000 : 1;
    for (let at = 0, next = 0; at < count; at++) {
      own[at] = next += skipped[at];
      next++;
      counts[at] = (counts[at] + 1) * unit;
    }
    // What whole worktrees and whole days come to is needed more often than single cells.
    const byWork = new Float64Array(data.works.length), byDay = new Float64Array((cells ? cellDay[cells - 1] : 0) + 1);
    for (let at = 0; at < count; at++) {
      byWork[cellWork[own[at]]] += counts[at];
      byDay[cellDay[own[at]]] += counts[at];
    }
    columns.set(word, { cells: own, counts, byWork, byDay });
  }
  const more = bitReader(data.completed), rows = more.number();
  const [dayGaps, work, sessions, seconds, cents, questions] = Array.from({ length: 6 }, () => more.column(rows));
  const completed = [];
  for (let row = 0, day = 0; row < rows; row++) {
    day += dayGaps[row];
    completed.push({ day, work: work[row], sessions: sessions[row], questions: questions[row],
      seconds: seconds[row] ? seconds[row] - 1 : null, dollars: cents[row] ? (cents[row] - 1) / 100 : null });
  }
  return { cellDay, cellWork, columns, completed };
}
