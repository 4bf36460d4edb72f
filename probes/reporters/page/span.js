// Draws each plot over time when it comes into view, from the numbers that the page holds; reads and writes nothing else.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("charts").textContent);
  const looks = { p50: ["tokens", []], p90: ["beats", [7, 4]], p99: ["ends", [2, 4]] }, plain = ["tokens", []];
  const colour = (name) => getComputedStyle(document.querySelector(`i.${name}`)).color;
  const seconds = (s) => (s < 0.9995 ? `${Math.round(s * 1000)} ms` : `${s.toFixed(1)} s`);
  const say = { "s": seconds, "s/token": seconds, "%": (share) => `${Math.round(share)} %` };
  const drawn = new Map();
  let colours;

  function readColours() {
    colours = Object.fromEntries(["tokens", "beats", "ends", "ink", "grid", "mark"].map((name) => [name, colour(name)]));
  }

  const two = (n) => String(n).padStart(2, "0");
  const clock = (date) => `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
  const day = (date) => date.toLocaleDateString("en", { month: "short", day: "2-digit", timeZone: "UTC" });
  function when(at, step) {
    const begin = new Date(at * 1000), end = new Date((at + step) * 1000);
    if (step >= 86400) return day(begin);
    return `${day(begin)} ${clock(begin)}${step ? `-${clock(end)}` : ""}`;
  }

  // A line for each mark, with its number in the list where that has room.
  function marks(u) {
    const { ctx, bbox } = u, small = Math.round(11 * devicePixelRatio);
    let free = -Infinity;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colours.mark;
    const thick = ctx.lineWidth = Math.max(1, Math.round(devicePixelRatio));
    ctx.font = `bold ${small}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    for (const [at, number] of page.marks) {
      const x = Math.round(u.valToPos(at, "x", true)) + (thick % 2) / 2, wide = ctx.measureText(number).width + 6 * devicePixelRatio;
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      if (x < free) continue;
      ctx.fillText(number, x + 3 * devicePixelRatio, bbox.top + small);
      free = x + wide;
    }
    ctx.restore();
  }

  function draw(place) {
    const chart = page.charts[place.dataset.chart], middle = chart.step / 2;
    const at = chart.at.map((begin) => begin + middle), data = [at, ...chart.lines.map(([, values]) => values)];
    const readout = place.nextElementSibling, top = Math.max(...data.slice(1).flat().filter((value) => value !== null), 0);
    const axis = { stroke: () => colours.ink, grid: { stroke: () => colours.grid, width: 1 }, ticks: { stroke: () => colours.grid, width: 1 }, font: "12px system-ui, sans-serif" };
    const u = new uPlot({
      width: place.clientWidth, height: place.clientHeight, legend: { show: false }, pxAlign: 0,
      padding: [8, 24, 0, 0],
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: { key: place.dataset.place } },
      scales: { x: { range: page.span }, y: { range: [0, chart.unit === "%" ? 100 : (top || 1) * 1.12] } },
      axes: [
        { ...axis, size: 28, values: (_, all, __, ___, step) => all.map((s) => (step >= 86400 || s % 86400 === 0 ? day : clock)(new Date(s * 1000))) },
        { ...axis, size: 64, values: (_, all) => all.map(say[chart.unit]) },
      ],
      series: [{}, ...chart.lines.map(([name]) => {
        const [kind, dash] = looks[name] ?? plain;
        return { stroke: () => colours[kind], width: 2, dash, paths: chart.step ? undefined : uPlot.paths.stepped({ align: 1 }), points: { show: true, size: chart.step ? 4 : 8, fill: () => colours[kind] } };
      })],
      hooks: { draw: [marks], setCursor: [(u) => tell(u, place, readout, chart)] },
    }, data, place);
    place.setAttribute("role", "slider");
    place.setAttribute("tabindex", "0");
    place.setAttribute("aria-label", `${place.dataset.label} over time`);
    place.setAttribute("aria-valuemin", "0");
    place.setAttribute("aria-valuemax", String(at.length - 1));
    drawn.set(place, u);
    tell(u, place, readout, chart);
    place.addEventListener("keydown", (event) => step(event, u, at));
  }

  function tell(u, place, readout, chart) {
    const k = u.cursor.idx ?? null;
    let said = "";
    if (k !== null) {
      const known = chart.lines.filter(([, values]) => values[k] !== null).map(([name, values]) => `${name} ${say[chart.unit](values[k])}`);
      said = `${when(chart.at[k], chart.step)} UTC: ${known.length ? known.join(", ") : "nothing measured"}${chart.n[k] ? `, n ${chart.n[k].toLocaleString("en")}` : ""}`;
    }
    const shown = said || readout.dataset.rest;
    if (readout.textContent !== shown) readout.textContent = shown;
    place.setAttribute("aria-valuenow", String(k ?? 0));
    place.setAttribute("aria-valuetext", said || when(page.span[0], 0));
  }

  function step(event, u, at) {
    const last = at.length - 1, now = u.cursor.idx ?? 0, far = Math.max(Math.round(last / 10), 1);
    const next = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, PageUp: now + far, PageDown: now - far, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    u.setCursor({ left: u.valToPos(at[Math.min(Math.max(next, 0), last)], "x"), top: 10 }, true, true);
  }

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.clientWidth) drawn.get(target).setSize({ width: target.clientWidth, height: target.clientHeight });
    }
  });
  function once(place) {
    if (drawn.has(place) || !place.clientWidth) return;
    draw(place);
    resized.observe(place);
  }
  const visible = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) once(target);
  }, { rootMargin: "200px" });

  function recolour() {
    readColours();
    for (const u of drawn.values()) u.redraw(false, true);
  }

  document.body.classList.add("drawn");
  const places = document.querySelectorAll(".plot");
  if (!places.length) return;
  readColours();
  places.forEach((place) => visible.observe(place));
  for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", recolour);
  addEventListener("beforeprint", () => places.forEach(once));
})();
