// Draws each plot when it comes into view, from the numbers that the page holds; reads and writes nothing else.
"use strict";
(() => {
  const columns = JSON.parse(document.getElementById("columns").textContent);
  const { colours, seconds, axis, keep, say, begin } = plotting(["tokens", "beats", "gaps", "lag", "ends", "flaw", "ink", "grid"]);

  // The curve of one answer: seconds on the axis, and how much of it there was.
  function curve(stream, start) {
    const at = [start], tokens = [0];
    let tick = 0, total = 0;
    stream.at.forEach((step, n) => {
      at.push(start + (tick += step) * stream.unit);
      tokens.push((total += stream.tokens[n]));
    });
    at.push(start + stream.end * stream.unit);
    tokens.push(total);
    return [at, tokens];
  }

  function marks(u, stream, start, ending) {
    const { ctx, bbox } = u, x = (tick) => u.valToPos(start + tick * stream.unit, "x", true);
    const small = Math.round(11 * devicePixelRatio);
    ctx.save();
    ctx.font = `${small}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    // A little within its bounds, so that what came between two of them is seen.
    function band([begin, end], fill) {
      const inset = Math.min(devicePixelRatio, (x(end) - x(begin)) / 4);
      ctx.fillStyle = fill;
      ctx.fillRect(x(begin) + inset, bbox.top, x(end) - x(begin) - 2 * inset, bbox.height);
    }
    for (const lag of stream.lags) band(lag, colours.lag);
    for (const [begin, end] of stream.gaps) {
      band([begin, end], colours.gaps);
      const said = `${seconds((end - begin) * stream.unit)} silent`;
      if (ctx.measureText(said).width < x(end) - x(begin)) {
        ctx.fillStyle = colours.ink;
        ctx.fillText(said, (x(begin) + x(end)) / 2, bbox.top + (bbox.height + small) / 2);
      }
    }
    ctx.restore();
    return () => {
      const half = small / 3, floor = bbox.top + bbox.height - half;
      ctx.save();
      ctx.fillStyle = colours.beats;
      let tick = 0;
      for (const step of stream.beats) {
        tick += step;
        ctx.beginPath();
        ctx.moveTo(x(tick) - half, floor);
        ctx.lineTo(x(tick), floor - half);
        ctx.lineTo(x(tick) + half, floor);
        ctx.lineTo(x(tick), floor + half);
        ctx.fill();
      }
      const end = Math.min(x(stream.end), bbox.left + bbox.width - devicePixelRatio);
      ctx.strokeStyle = ctx.fillStyle = { whole: colours.ink, faulty: colours.flaw }[ending] ?? colours.ends;
      ctx.lineWidth = 2 * devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(end, bbox.top);
      ctx.lineTo(end, bbox.top + bbox.height);
      ctx.stroke();
      ctx.font = `bold ${Math.round(1.2 * small)}px system-ui, sans-serif`;
      // Beyond the end nothing is drawn, so there the mark covers nothing, if there is room.
      const room = bbox.left + bbox.width - end > 2 * small, aside = (room ? 4 : -4) * devicePixelRatio;
      ctx.textAlign = room ? "left" : "right";
      ctx.fillText({ whole: "✓", faulty: "!", cut: "✗", ours: "?" }[ending], end + aside, bbox.top + bbox.height / 2);
      ctx.restore();
    };
  }

  function draw(place) {
    const stream = columns[place.dataset.columns], start = Number(place.dataset.start);
    const data = curve(stream, start), span = Number(place.dataset.span), top = Math.max(Number(place.dataset.top), 1);
    const readout = place.nextElementSibling;
    let over;
    const u = new uPlot({
      width: place.clientWidth, height: place.clientHeight, legend: { show: false }, pxAlign: 0,
      padding: [8, 12, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: { key: place.closest(".tracks").id } },
      scales: { x: { time: false, range: [0, span] }, y: { range: [0, top * 1.08] } },
      axes: [{ ...axis, size: 28, values: (_, all) => all.map((s) => `${Number(s.toPrecision(6))} s`) }, { ...axis, size: 52, label: place.dataset.unit + "s", labelSize: 18, labelGap: 0, labelFont: "12px system-ui, sans-serif", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5] }],
      series: [{}, {
        stroke: () => colours.tokens, fill: () => colours.tokens.replace("rgb(", "rgba(").replace(")", ", 0.1)"), width: 2, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }),
      }],
      hooks: {
        drawClear: [(u) => { over = marks(u, stream, start, place.dataset.end); }],
        draw: [() => over()],
        setCursor: [(u) => tell(u, place, readout, data)],
      },
    }, data, place);
    keep(place, u, data[0], `The answer over time, ${place.dataset.label}`, span);
    tell(u, place, readout, data);
  }

  function tell(u, place, readout, [at, tokens]) {
    const n = u.cursor.idx ?? null, unit = place.dataset.unit + (tokens[n] === 1 ? "" : "s");
    const said = n === null ? "" : `${seconds(at[n])}: ${tokens[n].toLocaleString("en")} ${unit}`;
    say(place, readout, said, n === null ? 0 : at[n], "0 s");
  }

  function reveal() {
    const place = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const folded = place && place.closest("details");
    if (folded && !folded.open) {
      folded.open = true;
      place.scrollIntoView();
    }
  }

  begin(draw);
  addEventListener("hashchange", reveal);
  reveal();
})();
