// Draws each plot over time when it comes into view, from the numbers that the page holds; reads and writes nothing else.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("charts").textContent);
  const looks = { p50: ["tokens", []], p90: ["beats", [7, 4]], p99: ["ends", [2, 4]] }, plain = ["tokens", []];
  const { colours, seconds, axis, keep, say, begin } = plotting(["tokens", "beats", "ends", "ink", "grid", "mark"]);
  const worded = { "s": seconds, "s/token": seconds, "%": (share) => `${Math.round(share)} %` };

  const two = (n) => String(n).padStart(2, "0");
  const clock = (date) => `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
  const day = (date) => date.toLocaleDateString("en", { month: "short", day: "2-digit", timeZone: "UTC" });
  function when(at, step) {
    const begin = new Date(at * 1000), end = new Date((at + step) * 1000);
    if (step >= 86400) return day(begin);
    return `${day(begin)} ${clock(begin)}${step ? `-${clock(end)}` : ""}`;
  }

  // A line for each mark, with its number in the list; those that are too near to each other have one label for all.
  function marks(u) {
    const { ctx, bbox } = u, small = Math.round(11 * devicePixelRatio);
    const labels = [], gap = 6 * devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colours.mark;
    const thick = ctx.lineWidth = Math.max(1, Math.round(devicePixelRatio));
    ctx.font = `bold ${small}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    const wide = ({ first, last }) => ctx.measureText(named(first, last)).width + gap;
    for (const [at, number] of page.marks) {
      const x = Math.round(u.valToPos(at, "x", true)) + (thick % 2) / 2, before = labels.at(-1);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      if (before && x < before.x + wide(before)) before.last = number;
      else labels.push({ x, first: number, last: number });
    }
    for (const label of labels) {
      const room = bbox.left + bbox.width + 24 * devicePixelRatio - wide(label);
      ctx.fillText(named(label.first, label.last), Math.min(label.x + gap / 2, room), bbox.top + small);
    }
    ctx.restore();
  }

  const named = (first, last) => (first === last ? first : `${first}-${last}`);

  function draw(place) {
    const chart = page.charts[place.dataset.chart], middle = chart.step / 2;
    const at = chart.at.map((begin) => begin + middle), data = [at, ...chart.lines.map(([, values]) => values)];
    const readout = place.nextElementSibling, top = Math.max(...data.slice(1).flat().filter((value) => value !== null), 0);
    const u = new uPlot({
      width: place.clientWidth, height: place.clientHeight, legend: { show: false }, pxAlign: 0,
      padding: [8, 24, 0, 0],
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: { key: place.dataset.place } },
      scales: { x: { range: page.span }, y: { range: [0, chart.unit === "%" ? 100 : (top || 1) * 1.12] } },
      axes: [
        { ...axis, size: 28, values: (_, all, __, ___, step) => all.map((s) => (step >= 86400 || s % 86400 === 0 ? day : clock)(new Date(s * 1000))) },
        { ...axis, size: 64, values: (_, all) => all.map(worded[chart.unit]) },
      ],
      series: [{}, ...chart.lines.map(([name]) => {
        const [kind, dash] = looks[name] ?? plain;
        return { stroke: () => colours[kind], width: 2, dash, paths: chart.step ? undefined : uPlot.paths.stepped({ align: 1 }), points: { show: true, size: chart.step ? 4 : 8, fill: () => colours[kind] } };
      })],
      hooks: { draw: [marks], setCursor: [(u) => tell(u, place, readout, chart)] },
    }, data, place);
    keep(place, u, at, `${place.dataset.label} over time`, at.length - 1);
    tell(u, place, readout, chart);
  }

  function tell(u, place, readout, chart) {
    const k = u.cursor.idx ?? null;
    let said = "";
    if (k !== null) {
      const known = chart.lines.filter(([, values]) => values[k] !== null).map(([name, values]) => `${name} ${worded[chart.unit](values[k])}`);
      said = `${when(chart.at[k], chart.step)} UTC: ${known.length ? known.join(", ") : "nothing measured"}${chart.n[k] ? `, n ${chart.n[k].toLocaleString("en")}` : ""}`;
    }
    say(place, readout, said, k ?? 0, when(page.span[0], 0));
  }

  begin(draw);
})();
