// What the plots of every page have alike: their colours, axes, keys, and that each is drawn when it comes into view.
"use strict";
function plotting(names) {
  const drawn = new Map(), colours = {};
  const swatch = (name) => document.querySelector(`i.${name}`) ?? document.querySelector(`span.${name}`);
  const seconds = (s) => (s < 0.9995 ? `${Math.round(s * 1000)} ms` : `${s.toFixed(1)} s`);
  const axis = { stroke: () => colours.ink, grid: { stroke: () => colours.grid, width: 1 }, ticks: { stroke: () => colours.grid, width: 1 }, font: "12px system-ui, sans-serif" };

  function readColours() {
    for (const name of names) colours[name] = getComputedStyle(swatch(name)).color;
  }

  function recolour() {
    readColours();
    for (const u of drawn.values()) u.redraw(false, true);
  }

  // A plot is read like a slider, by its keys and aloud.
  function keep(place, u, at, label, most) {
    const set = { role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": String(most) };
    for (const [name, value] of Object.entries(set)) place.setAttribute(name, value);
    drawn.set(place, u);
    place.addEventListener("keydown", (event) => step(event, u, at));
  }

  function step(event, u, at) {
    const last = at.length - 1, now = u.cursor.idx ?? 0, far = Math.max(Math.round(last / 10), 1);
    const next = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, PageUp: now + far, PageDown: now - far, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    u.setCursor({ left: u.valToPos(at[Math.min(Math.max(next, 0), last)], "x"), top: 10 }, true, true);
  }

  function say(place, readout, said, value, nothing) {
    const shown = said || readout.dataset.rest;
    if (readout.textContent !== shown) readout.textContent = shown;
    place.setAttribute("aria-valuenow", String(value));
    place.setAttribute("aria-valuetext", said || nothing);
  }

  function begin(draw) {
    document.body.classList.add("drawn");
    const places = document.querySelectorAll(".plot");
    if (!places.length) return;
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
    readColours();
    places.forEach((place) => visible.observe(place));
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", recolour);
    addEventListener("beforeprint", () => places.forEach(once));
  }

  return { colours, seconds, axis, keep, say, begin };
}
