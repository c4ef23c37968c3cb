// Shows the figures, and shows them again when a filter changes.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const figures = decode(data);
  const one = (id) => document.getElementById(id);
  const DAY = 86400, begin = Date.parse(data.from) / 1000, lastDay = Math.round((Date.parse(data.to) / 1000 - begin) / DAY);
  const isoDay = (day) => new Date((begin + day * DAY) * 1000).toISOString().slice(0, 10);
  const [whole, money] = [new Intl.NumberFormat("en-US"), new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })];
  const number = (count) => whole.format(count);
  const unknown = "\u2013";
  const percent = (part) => {
    if (part === null) return unknown;
    const hundredths = part * 100;
    if (hundredths > 0 && hundredths < 0.1) return "under 0.1\u00a0%";
    return `${Math.abs(hundredths - Math.round(hundredths)) < 0.05 ? Math.round(hundredths) : hundredths.toFixed(1)}\u00a0%`;
  };
  const dollars = (amount) => (amount === null ? unknown : `$${money.format(amount)}`);
  const time = (seconds) => {
    if (seconds === null) return unknown;
    if (seconds < 90) return `${seconds} s`;
    const minutes = Math.round(seconds / 60);
    return seconds < 5400 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  };
  const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  // A name from outside stands in an element of its own, so that it cannot turn the text beside it.
  const name = (text) => element("bdi", {}, text);
  const put = (id, ...children) => one(id).replaceChildren(...children);
  // A section without figures is left out, with its heading.
  const showSection = (id, isFull) => { one(id).closest("section").hidden = !isFull; };
  const fill = (id, content) => {
    showSection(id, content);
    put(id, ...(content ? [content] : []));
  };
  const agentName = (agent) => agent || "(not known)";
  const nameOf = (index) => data.names[index] || "(not told apart)";

  // `make` turns a row into its cells, and is called for those that are shown.
  function table(label, heads, rows, most, make = (row) => row) {
    if (!rows.length) return null;
    const kind = (head) => (head.bar ? "bar" : head.name ? "name" : "");
    const head = element("tr", {}, ...heads.map((head) => (head.bar ? element("td", { class: "bar" }) : element("th", { scope: "col", class: kind(head) }, head.text))));
    const body = rows.slice(0, most).map(make).map((row) => element("tr", {}, ...row.map((cell, at) => {
      if (heads[at].bar) {
        const fill = element("span", { class: "fill" });
        fill.style.width = `${cell * 100}%`;
        return element("td", { class: "bar", "aria-hidden": "true" }, element("span", { class: "track" }, fill));
      }
      return at === 0 ? element("th", { scope: "row", class: "name" }, cell) : element("td", { class: kind(heads[at]) }, cell);
    })));
    const parts = [element("table", { "aria-label": label }, element("thead", {}, head), element("tbody", {}, ...body))];
    if (rows.length > most) parts.push(element("p", { class: "none" }, `and ${number(rows.length - most)} more`));
    const whole = document.createDocumentFragment();
    whole.append(...parts);
    return whole;
  }

  function list(label, what, counts, others) {
    const rows = [...counts].filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]);
    const largest = rows.length ? rows[0][1] : 0;
    const heads = [{ text: what, name: true }, { text: "Count" }, { bar: true }];
    return table(label, heads, rows.map(([word, count]) => [name(word || others), number(count), count / largest]), 40);
  }

  const charts = new Map();
  const colour = (of) => getComputedStyle(document.documentElement).getPropertyValue(`--${of}`).trim();
  function hatched(of) {
    const tile = element("canvas", { width: 6, height: 6 }), pen = tile.getContext("2d");
    pen.strokeStyle = of;
    pen.lineWidth = 1.6;
    pen.beginPath();
    for (const shift of [-6, 0, 6]) { pen.moveTo(shift, 6); pen.lineTo(shift + 6, 0); }
    pen.stroke();
    return pen.createPattern(tile, "repeat");
  }
  function chart(id, label, times, series, shown) {
    const place = one(id), isFull = series.some((of) => of.values.some(Boolean));
    place.setAttribute("aria-label", label);
    charts.get(id)?.destroy();
    charts.delete(id);
    showSection(id, isFull);
    if (!isFull) return;
    const axis = { stroke: colour("soft"), font: "12px system-ui, sans-serif", ticks: { stroke: colour("line"), width: 1 }, grid: { stroke: colour("line"), width: 1 } };
    const bars = uPlot.paths.bars({ size: [0.72, 40], align: 0 });
    const step = times.length > 1 ? times[1] - times[0] : DAY;
    charts.set(id, new uPlot({
      width: Math.max(200, place.clientWidth), height: 240, tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      cursor: { show: false }, legend: { show: false },
      scales: { x: { time: true, range: [times[0] - step * 0.7, times[times.length - 1] + step * 0.7] }, y: { range: (u, low, high) => [0, Math.max(high * 1.08, shown.least)] } },
      axes: [{ ...axis, grid: { show: false }, values: (u, at) => at.map((at) => (at % DAY ? "" : isoDay((at - begin) / DAY).slice(5))), space: 56, incrs: [1, 2, 7, 14, 28, 56, 112].map((days) => days * DAY) }, { ...axis, size: 76, incrs: shown.whole ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6] : undefined, values: (u, at) => at.map(shown.text) }],
      series: [{}, ...series.map((of) => ({ paths: bars, points: { show: false }, stroke: colour(of.colour), width: 1, fill: of.hatched ? hatched(colour(of.colour)) : colour(of.colour) }))],
    }, [times, ...series.map((of) => of.values)], place));
    place.querySelectorAll("canvas").forEach((canvas) => canvas.setAttribute("aria-hidden", "true"));
  }

  // Longer spans are shown by week, so that a bar can be seen.
  function grouped(found, from, to) {
    const size = to - from + 1 > 120 ? 7 : 1;
    const groups = [];
    for (let day = 0; day <= to - from; day += size) {
      const group = { day: from + day, judged: 0, done: 0, cost: 0, told: 0 };
      for (let at = day; at < day + size && at <= to - from; at++) {
        group.judged += found.judged[at];
        group.done += found.done[at];
        group.cost += found.cost[at];
        group.told += found.costTold[at];
      }
      groups.push(group);
    }
    return { size, groups };
  }

  function choice() {
    const matches = (id) => {
      const text = one(id).value.trim().toLowerCase();
      return data.names.map((_, index) => nameOf(index).toLowerCase().includes(text) ? 1 : 0);
    };
    const [worktree, spec] = [matches("worktree"), matches("spec")];
    const dayOf = (id, otherwise) => {
      const day = Math.round((Date.parse(one(id).value) / 1000 - begin) / DAY);
      return Number.isFinite(day) ? Math.min(Math.max(day, 0), lastDay) : otherwise;
    };
    const from = dayOf("from", 0);
    return { from, to: Math.max(dayOf("to", lastDay), from), reason: one("reason").value, agent: one("agent").value ? one("agent").value.slice(1) : null, works: data.works.map(([path, own]) => worktree[path] && spec[own]) };
  }

  let last = null;
  function show() {
    const chosen = choice();
    last = { chosen, found: sumUp(data, figures, chosen) };
    const { found } = last, { sums } = found, of = (word) => sums.get(word) || 0;
    const sessions = total(countsBelow(sums, "judged/session/")), changes = total(countsBelow(sums, "judged/change/"));
    const judged = sessions + changes, done = found.done.reduce((sum, count) => sum + count, 0);
    const aborts = total(countsBelow(sums, "aborts/")), wentOn = total(countsBelow(sums, "aborts_went_on/")), held = total(countsBelow(sums, "aborts_held/"));
    const asked = ["session", "change", "look"].map((kind) => of(`questions_of/${kind}`));
    const seconds = spread(found.completed.map((each) => each.seconds));
    const cost = of("cost_told") ? of("cost_micros") / 1e6 : null;
    const questionCost = of("question_cost_told") ? of("question_cost_micros") / 1e6 : null;
    const active = [...found.specs.values()].filter((own) => chosen.agent !== null ? own.sessions : own.judged || (!chosen.reason && (own.sessions || own.completed.length)));
    put("shown", `${plural(sessions, "session")} judged in ${plural(active.length, "spec")}, ${isoDay(chosen.from)} to ${isoDay(chosen.to)}${chosen.reason ? `, reason ${chosen.reason}` : ""}${chosen.agent !== null ? `; sessions, tokens and cost of the agent ${agentName(chosen.agent)}, judgements of all` : ""}`);

    const figure = (label, value, more) => element("div", {}, element("dt", {}, label), element("dd", { class: "value" }, value), element("dd", { class: "more" }, more));
    put("key",
      figure("Sessions judged", number(sessions), `${plural(changes, "change")} without one; ${plural(of("looks"), "look")}`),
      figure("Complete", percent(share(done, judged)), `${number(done)} of ${plural(judged, "judgement")}`),
      figure("False aborts", percent(share(wentOn, wentOn + held)), aborts ? `${number(wentOn)} of ${number(wentOn + held)} decided; ${number(aborts - wentOn - held)} undecided` : "no abort"),
      figure("Timeouts", chosen.reason ? unknown : percent(share(of("timeouts"), sessions)), chosen.reason ? "not by reason" : `${number(of("timeouts"))} of ${plural(sessions, "session")}`),
      figure("Rescue success", percent(share(of("rescues_kept"), of("rescues"))), of("rescues") ? `${number(of("rescues_kept"))} of ${number(of("rescues"))} kept everything` : "none was tried"),
      figure("Questions per session", chosen.reason || !sessions ? unknown : ((asked[0] + asked[2]) / sessions).toFixed(2), chosen.reason ? "not by reason" : questionCost === null ? "cost not told" : `${dollars(questionCost)} in all`),
      figure("Time per completed spec", time(seconds.median), seconds.known ? `${time(seconds.p90)} at 90\u00a0%; ${number(seconds.known)} of ${number(found.completed.length)} known` : "not known"),
      figure("Cost of sessions", dollars(cost), `told by ${number(of("cost_told"))} of ${plural(of("sessions_ended"), "session")}`));

    drawCharts();
    fill("table-held", list("What held completions back, by reason", "Reason", heldBack(sums), "other"));
    const unmet = countsBelow(sums, "unmet/");
    put("table-unmet", ...(unmet.size && !chosen.reason ? [list("Checks that were not met", "Check", unmet, "further checks")] : []));
    one("aborts-mean").textContent = `An abort ends work that is not complete. It was false where work went on within ${data.window_days} days; it held where only looks came later. Of the others nothing is known yet.`;
    const aborted = [...countsBelow(sums, "aborts/")].sort((a, b) => b[1] - a[1]).map(([why, count]) => {
      const [went, anew, kept] = ["aborts_went_on/", "aborts_went_on_anew/", "aborts_held/"].map((beginning) => of(beginning + why));
      return [name(why), ...[count, went, anew, kept, count - went - kept].map(number)];
    });
    fill("table-aborts", table("Aborts by reason", [{ text: "Reason", name: true }, { text: "All" }, { text: "False" }, { text: "In a new session" }, { text: "Held" }, { text: "Undecided" }], aborted, 40));
    const strikes = countsBelow(sums, "no_strike/");
    one("strikes-mean").textContent = `The breaker counted ${plural(of("strikes"), "strike")}.${strikes.size ? ` ${plural(total(strikes), "judgement")} that were not complete were no strike, because of:` : ""}`;
    fill("table-strikes", list("Judgements that were no strike", "Because of", strikes, "other"));
    showSection("table-strikes", of("strikes") || strikes.size);
    const per = (part, all) => (all ? (part / all).toFixed(2) : unknown);
    fill("table-questions", table("Questions and rescues", [{ text: "Figure", name: true }, { text: "Value" }], [
      ["Questions", number(asked[0] + asked[1] + asked[2])],
      ["on sessions", number(asked[0])], ["on changes without a session", number(asked[1])], ["of looks", number(asked[2])],
      ["Questions per iteration", per(of("iteration_questions"), of("iterations"))],
      [`Cost, told by ${number(of("question_cost_told"))} of ${plural(of("question_verdicts"), "verdict")}`, dollars(questionCost)],
      ["Rescues tried", number(of("rescues"))], ["Rescues that kept everything", number(of("rescues_kept"))],
      ["Times that a breaker opened", number(of("breaker_trips"))],
    ], 40));
    showSection("table-questions", asked.some(Boolean) || of("rescues") || of("breaker_trips"));
    const agents = [...found.agents].sort((a, b) => (b[1].sessions_ended || 0) - (a[1].sessions_ended || 0));
    fill("table-agents", table("Agents", [{ text: "Agent", name: true }, ...["Sessions", "Tokens read", "Tokens written", "Tokens told by", "Cost", "Cost told by"].map((text) => ({ text }))],
      agents.map(([agent, own]) => {
        const told = (by, word, shown) => (own[by] ? shown(own[word] || 0) : unknown);
        return [name(agentName(agent)), number(own.sessions_ended || 0), told("tokens_told", "input_tokens", number), told("tokens_told", "output_tokens", number), number(own.tokens_told || 0),
          told("cost_told", "cost_micros", (micros) => dollars(micros / 1e6)), number(own.cost_told || 0)];
      }), 40));
    active.sort((a, b) => b.judged - a.judged || b.sessions - a.sessions);
    const cells = (own) => {
      const [path, spec] = data.works[own.work];
      const took = spread(own.completed.map((each) => each.seconds)), paid = spread(own.completed.map((each) => each.dollars));
      const both = (of, shown) => (of.known ? `${shown(of.median)} / ${shown(of.p90)}` : unknown);
      const title = document.createDocumentFragment();
      title.append(name(nameOf(spec)), element("span", { class: "sub" }, name(nameOf(path))));
      return [title, number(own.sessions), number(own.judged), number(own.done), number(own.aborts), number(own.questions), both(took, time), both(paid, dollars), own.told ? dollars(own.micros / 1e6) : unknown];
    };
    fill("table-specs", table("Specs", [{ text: "Spec and worktree", name: true }, ...["Sessions", "Judged", "Complete", "Aborts", "Questions", "Time", "Cost", "Cost in all"].map((text) => ({ text }))], active, 50, cells));
  }

  function heldBack(sums) {
    const counts = new Map();
    for (const beginning of ["judged/session/", "judged/change/"]) {
      for (const [reason, count] of countsBelow(sums, beginning)) {
        if (data.statuses[reason] !== "complete") counts.set(reason, (counts.get(reason) || 0) + count);
      }
    }
    return counts;
  }

  function drawCharts() {
    if (!last) return;
    const { chosen, found } = last, { size, groups } = grouped(found, chosen.from, chosen.to);
    const unit = size === 7 ? "week" : "day";
    document.querySelectorAll(".unit").forEach((place) => (place.textContent = unit));
    const times = groups.map((group) => begin + group.day * DAY), sum = (key) => groups.reduce((all, group) => all + group[key], 0);
    chart("chart-days", `Bars: ${plural(sum("judged"), "judgement")} by ${unit}, ${number(sum("done"))} of them complete. The table below has each ${unit}.`, times,
      [{ values: groups.map((group) => group.judged), colour: "open", hatched: true }, { values: groups.map((group) => group.done), colour: "done" }],
      { least: 4, whole: true, text: number });
    const told = found.sums.get("cost_told") || 0, ended = found.sums.get("sessions_ended") || 0;
    one("cost-told").textContent = `Told by ${number(told)} of ${plural(ended, "session")}${told < ended ? "; what the others cost is not known" : ""}.`;
    chart("chart-cost", `Bars: ${dollars(sum("cost"))} by ${unit}. The table below has each ${unit}.`, times,
      [{ values: groups.map((group) => group.cost), colour: "money" }], { least: 1, text: (amount) => `$${number(amount)}` });
    const newest = [...groups].reverse(), from = unit === "week" ? "Week from" : "Day";
    put("table-days", table(`Judgements by ${unit}`, [{ text: from, name: true }, { text: "Judged" }, { text: "Complete" }, { text: "Not complete" }],
      newest.map((group) => [isoDay(group.day), number(group.judged), number(group.done), number(group.judged - group.done)]), 500));
    put("table-cost", table(`Cost of sessions by ${unit}`, [{ text: from, name: true }, { text: "Cost" }, { text: "Told by" }],
      newest.map((group) => [isoDay(group.day), group.told ? dollars(group.cost) : unknown, plural(group.told, "session")]), 500));
  }

  function begun() {
    one("period").textContent = `${data.from} to ${data.to} (UTC), made ${data.made.replace("T", " ").replace("Z", " UTC")}`;
    put("notes", ...data.notes.map((note) => element("p", { class: "note" }, note)));
    const options = (indexes) => [...new Set(indexes)].map((index) => element("option", { value: nameOf(index) }));
    put("worktrees", ...options(data.works.map(([path]) => path)));
    put("specs", ...options(data.works.map(([, spec]) => spec)).slice(0, 1000));
    const reasons = new Set([...figures.columns.keys()].filter((word) => word.startsWith("judged/")).map((word) => word.split("/")[2]));
    const statuses = new Set([...reasons].map((reason) => data.statuses[reason]).filter(Boolean));
    const group = (label, words) => element("optgroup", { label }, ...[...words].sort().map((word) => element("option", { value: word }, word)));
    one("reason").append(group("Status", statuses), group("Reason", reasons));
    const agents = new Set([...figures.columns.keys()].map(ofAgent).filter((own) => own?.counter === "sessions_ended").map((own) => own.agent));
    one("agent").append(...[...agents].sort().map((agent) => element("option", { value: `=${agent}` }, agentName(agent))));
    for (const id of ["from", "to"]) { one(id).min = data.from; one(id).max = data.to; }
    if (!data.measured_since) put("notes", element("p", { class: "note" }, "Nothing was measured in this period."), ...one("notes").childNodes);
    const form = one("filters");
    form.parentElement.hidden = !data.works.length;
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    // The fields have their first values only after the event.
    form.addEventListener("reset", () => setTimeout(show));
    show();
    let waiting = 0, width = one("figures").clientWidth;
    new ResizeObserver(([{ target }]) => {
      // What a filter shows makes the page higher or lower; only another width needs other charts.
      if (target.clientWidth === width) return;
      width = target.clientWidth;
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(drawCharts);
    }).observe(one("figures"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);
    matchMedia("print").addEventListener("change", drawCharts);
    let closed = [];
    addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details:not([open])")]; closed.forEach((each) => (each.open = true)); drawCharts(); });
    addEventListener("afterprint", () => { closed.forEach((each) => (each.open = false)); drawCharts(); });
  }
  begun();
})();
