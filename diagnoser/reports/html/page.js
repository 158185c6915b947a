"use strict";
// Draws the charts of this page from the data inside it. No other part of the page needs it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const HEIGHT = 150, DASHES = [[], [6, 4], [2, 3]], STYLES = ["", "dash", "dots"];
  const drawn = new Map();
  let printing = false;

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Numbers as the report writes them: three digits are enough to judge by.
  const short = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6) return (value / 1e6).toFixed(1).replace(/\.0$/, "") + "M";
    if (size >= 1e4) return Math.round(value / 1e3) + "k";
    if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
    return value.toFixed(size >= 10 ? 1 : 2);
  };
  const quantity = (value, unit) => {
    if (value == null) return "–";
    if (unit === "ratio") return short(value * 100) + " %";
    if (unit === "seconds") return value < 1 ? short(value * 1000) + " ms" : short(value) + " s";
    if (unit === "gib") return short(value) + " GiB";
    if (unit === "watts") return short(value) + " W";
    if (unit === "celsius") return short(value) + " °C";
    if (unit === "MHz") return value >= 1000 ? (value / 1000).toFixed(2) + " GHz" : short(value) + " MHz";
    if (unit === "tokens/s") return short(value) + " tok/s";
    return short(value);
  };

  // Times are the log's own clock: read as UTC, so that no viewer's time zone moves them.
  const two = (number) => String(number).padStart(2, "0");
  const moment = (time, clock, days, seconds) => {
    const date = new Date(time * 1000);
    const hours = two(date.getUTCHours()) + ":" + two(date.getUTCMinutes()) + (seconds ? ":" + two(date.getUTCSeconds()) : "");
    return days && clock !== "clock" ? two(date.getUTCMonth() + 1) + "-" + two(date.getUTCDate()) + " " + hours : hours;
  };
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  const splits = (low, high, room) => {
    const most = Math.max(2, Math.floor(room / 76));
    const step = STEPS.find((one) => (high - low) / one <= most) || Math.ceil((high - low) / most / 604800) * 604800;
    const out = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) out.push(at);
    return out;
  };

  function glyph(context, kind, x, top, ratio) {
    const size = 4.5 * ratio;
    context.beginPath();
    if (kind === "preemption") {
      context.moveTo(x - size, top); context.lineTo(x + size, top); context.lineTo(x, top + 1.5 * size);
      context.fill();
    } else if (kind === "error") {
      context.moveTo(x - size * .8, top); context.lineTo(x + size * .8, top + 1.6 * size);
      context.moveTo(x + size * .8, top); context.lineTo(x - size * .8, top + 1.6 * size);
      context.lineWidth = 2 * ratio; context.setLineDash([]); context.stroke();
    } else {
      context.arc(x, top + size * .8, size * .8, 0, 7); context.fill();
    }
  }

  function shades(plot, run) {
    const context = plot.ctx, box = plot.bbox;
    context.save();
    context.beginPath(); context.rect(box.left, box.top, box.width, box.height); context.clip();
    for (const shade of run.shades) {
      const left = plot.valToPos(shade.at[0], "x", true);
      const right = Math.max(plot.valToPos(shade.at[1], "x", true), left + 2 * devicePixelRatio);
      context.fillStyle = color("--shade");
      context.fillRect(left, box.top, right - left, box.height);
    }
    context.restore();
  }

  function marks(plot, run, limit) {
    const context = plot.ctx, box = plot.bbox, ratio = devicePixelRatio;
    const colors = { preemption: color("--violet"), error: color("--critical") };
    context.save();
    for (const mark of run.marks) {
      context.strokeStyle = context.fillStyle = colors[mark.kind] || color("--dim");
      for (const time of mark.at) {
        const x = plot.valToPos(time, "x", true);
        if (x < box.left - 1 || x > box.left + box.width + 1) continue;
        context.globalAlpha = mark.at.length > 12 ? .25 : .5;
        context.lineWidth = ratio; context.setLineDash([2 * ratio, 3 * ratio]);
        context.beginPath(); context.moveTo(x, box.top); context.lineTo(x, box.top + box.height); context.stroke();
        context.globalAlpha = 1;
        glyph(context, mark.kind, x, box.top - 9 * ratio, ratio);
      }
    }
    if (limit != null) {
      const y = plot.valToPos(limit, "y", true);
      context.strokeStyle = context.fillStyle = color("--dim");
      context.globalAlpha = 1; context.lineWidth = ratio; context.setLineDash([5 * ratio, 4 * ratio]);
      context.beginPath(); context.moveTo(box.left, y); context.lineTo(box.left + box.width, y); context.stroke();
      context.font = 11 * ratio + "px system-ui, sans-serif"; context.textAlign = "right";
      const above = y - box.top > 16 * ratio;
      context.textBaseline = above ? "bottom" : "top";
      context.fillText(data.words.limit + " " + short(limit), box.left + box.width - 4 * ratio, y + (above ? -2 : 3) * ratio);
    }
    context.restore();
  }

  // The caption says what each line is, and its value under the cursor or its last one.
  function caption(place, chart, at) {
    place.textContent = "";
    chart.curves.forEach((curve, index) => {
      const item = document.createElement("span");
      if (chart.curves.length > 1) {
        const line = document.createElement("i");
        line.className = "c" + index % 8 + " " + STYLES[index % 3];
        item.append(line);
      }
      const value = at == null ? null : curve.y[at];
      const name = chart.curves.length > 1 ? curve.title + (at == null ? "" : " ") : "";
      const most = () => data.words.most + " " + quantity(Math.max(...curve.y.filter((one) => one != null)), chart.unit);
      item.append(name + (at != null ? quantity(value, chart.unit) : name ? "" : most()));
      place.append(item);
    });
  }

  function build(figure, run, chart, key) {
    const plot = figure.querySelector(".plot"), now = figure.querySelector(".now");
    const text = color("--dim"), grid = color("--grid");
    const days = run.span && run.span[1] - run.span[0] > 86400;
    const seconds = run.span && run.span[1] - run.span[0] < 600;
    const top = Math.max(0, ...chart.curves.map((curve) => Math.max(0, ...curve.y.filter((one) => one != null))));
    const high = chart.unit === "ratio" ? Math.max(1, top) : Math.max(top * 1.08, (chart.limit || 0) * 1.24) || 1;
    const low = Math.min(0, ...chart.curves.map((curve) => Math.min(0, ...curve.y.filter((one) => one != null))));
    const ends = chart.timed && run.span ? run.span : [chart.x[0], chart.x[chart.x.length - 1]];
    const margin = Math.max((ends[1] - ends[0]) * .012, chart.kind === "bars" ? (chart.x[1] - chart.x[0]) / 2 : 0);
    const range = [ends[0] - margin, ends[1] + margin];
    const bars = chart.kind === "bars" ? uPlot.paths.bars({ size: [.7, 40], align: 0 }) : undefined;
    const few = chart.x.length <= 24;
    const made = new uPlot({
      width: Math.max(plot.clientWidth, 120), height: HEIGHT, legend: { show: false }, padding: [12, 22, 0, 0],
      cursor: { y: false, points: { size: 6 }, sync: chart.timed ? { key, setSeries: false, scales: ["x", null] } : undefined, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (_, from, to) => from === chart.x[0] && to === chart.x.at(-1) ? range : [from, to] }, y: { range: [low, high] } },
      axes: [
        { stroke: text, size: 26, gap: 4, font: "11px system-ui, sans-serif", grid: { show: false }, ticks: { stroke: grid, size: 4, width: 1 },
          splits: chart.timed ? (self, _, from, to) => splits(from, to, self.bbox.width / devicePixelRatio) : undefined,
          values: (_, values) => values.map((one) => chart.timed ? moment(one, run.clock, days, seconds) : short(one + 1)), incrs: chart.timed ? undefined : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4, 1e5] },
        { stroke: text, size: 54, gap: 4, font: "11px system-ui, sans-serif", grid: { stroke: grid, width: 1 }, ticks: { show: false }, space: 34,
          values: (_, values) => values.map((one) => chart.unit === "tokens/s" ? short(one) : chart.unit === "seconds" && high >= 1 ? short(one) + " s" : quantity(one, chart.unit)) },
      ],
      series: [{}, ...chart.curves.map((curve, index) => ({
        label: curve.title, stroke: color("--c" + index % 8), width: bars ? 0 : 2, dash: DASHES[index % 3], paths: bars,
        fill: bars ? color("--c0") : undefined, points: { show: few && !bars, size: 5, fill: color("--c" + index % 8) },
      }))],
      hooks: {
        drawClear: [(self) => chart.timed && shades(self, run)],
        draw: [(self) => marks(self, chart.timed ? run : { marks: [] }, chart.limit)],
        setCursor: [(self) => {
          caption(now, chart, self.cursor.idx);
          if (self.cursor.idx != null) {
            const when = document.createElement("span");
            when.textContent = chart.timed ? moment(chart.x[self.cursor.idx], run.clock, days, true) : (chart.medium === "metrics" ? data.words.scrape : data.words.row) + " " + (chart.x[self.cursor.idx] + 1);
            now.prepend(when);
          }
        }],
        setSelect: [(self) => {
          if (self.select.width < 6) return;
          const from = self.posToVal(self.select.left, "x"), to = self.posToVal(self.select.left + self.select.width, "x");
          if (chart.timed) for (const other of drawn.get(run.id)) if (other !== self && other.timed) other.setScale("x", { min: from, max: to });
        }],
      },
    }, [chart.x, ...chart.curves.map((curve) => curve.y)], plot);
    made.timed = chart.timed;
    made.over.addEventListener("dblclick", () => {
      for (const other of drawn.get(run.id)) if (other.timed === chart.timed) other.setScale("x", { min: other.range[0], max: other.range[1] });
    });
    made.range = range;
    caption(now, chart, null);
    return made;
  }

  function draw(section) {
    const run = data.runs.find((one) => String(one.id) === section.dataset.run);
    if (!run || (!section.open && !printing)) return;
    for (const old of drawn.get(run.id) || []) old.destroy();
    drawn.set(run.id, []);
    for (const figure of section.querySelectorAll("figure")) {
      const chart = run.charts.find((one) => one.name === figure.dataset.chart);
      if (chart) drawn.get(run.id).push(build(figure, run, chart, "run" + run.id));
    }
  }

  const sections = [...document.querySelectorAll("details.run")];
  const all = () => sections.forEach(draw);
  for (const section of sections) section.addEventListener("toggle", () => { if (section.open && !drawn.has(Number(section.dataset.run))) draw(section); });
  all();
  dark.addEventListener("change", all);
  let pending = 0;
  addEventListener("resize", () => {
    clearTimeout(pending);
    pending = setTimeout(() => {
      for (const section of sections) for (const [at, plot] of (drawn.get(Number(section.dataset.run)) || []).entries()) {
        const width = section.querySelectorAll(".plot")[at].clientWidth;
        if (width && Math.abs(width - plot.width) > 1) plot.setSize({ width, height: HEIGHT });
      }
    }, 120);
  });

  // A record in the middle of long lines is brought into view.
  for (const proof of document.querySelectorAll("details.proof")) proof.addEventListener("toggle", () => {
    const lines = proof.querySelector(".lines"), hit = lines && lines.querySelector(".hit");
    if (hit && proof.open) lines.scrollTop = hit.offsetTop - lines.offsetTop - 60;
  });

  // On paper the findings are open, with the lines around the proofs of the roots, and drawn in the colours of paper.
  const PAPER = ".below:not([open]), .finding:not(.inner) > .proofs > details.proof:not([open])";
  const opened = [];
  addEventListener("beforeprint", () => {
    printing = true;
    document.documentElement.classList.add("paper");
    for (const one of document.querySelectorAll(PAPER)) { one.open = true; opened.push(one); }
    all();
  });
  addEventListener("afterprint", () => {
    printing = false;
    document.documentElement.classList.remove("paper");
    for (const one of opened.splice(0)) one.open = false;
    all();
  });

  for (const button of document.querySelectorAll(".command button")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(button.nextElementSibling.textContent); } catch { return; }
      const before = button.textContent;
      button.textContent = data.words.copied;
      setTimeout(() => { button.textContent = before; }, 1500);
    });
  }
  document.documentElement.dataset.drawn = String([...drawn.values()].reduce((sum, one) => sum + one.length, 0));
})();
