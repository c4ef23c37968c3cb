"use strict";
// Reads the figures that src/wire/page_json.rs wrote: which specs each day has, then one column of counts for each word.
function decode(data) {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const reader = (of) => {
    let at = 0;
    return () => {
      let number = 0, scale = 1;
      for (;;) {
        const byte = of[at++];
        number += (byte & 0x7f) * scale;
        if (byte < 0x80) return number;
        scale *= 128;
      }
    };
  };
  const next = reader(bytes(data.cells));
  const cellDay = [], cellWork = [];
  let day = 0;
  for (let left = next(); left > 0; left--) {
    day += next();
    let work = 0;
    for (let specs = next(); specs > 0; specs--) {
      work += next();
      cellDay.push(day);
      cellWork.push(work);
    }
  }
  const columns = new Map();
  for (const word of data.words) {
    const cells = [], counts = [];
    for (let cell = 0; cell < cellDay.length; ) {
      const count = next();
      if (count === 0) { cell += next(); continue; }
      cells.push(cell++);
      counts.push(count);
    }
    columns.set(word, { cells: Uint32Array.from(cells), counts: Float64Array.from(counts) });
  }
  const completed = [];
  const more = reader(bytes(data.completed));
  day = 0;
  for (let left = more(); left > 0; left--) {
    day += more();
    const [work, sessions, seconds, micros, questions] = [more(), more(), more(), more(), more()];
    completed.push({ day, work, sessions, questions, seconds: seconds ? seconds - 1 : null, dollars: micros ? (micros - 1) / 1e6 : null });
  }
  return { cellDay: Uint16Array.from(cellDay), cellWork: Uint16Array.from(cellWork), columns, completed };
}
