// Draws the charts from the JSON in #charts, one into each <figure data-chart>.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const HEIGHT = 244, LEFT = 60, RIGHT = 12, TOP = 12, BOTTOM = 28, FLOOR = HEIGHT - BOTTOM;
  const PRINT_WIDTH = 330; // two charts in a row on A4
  const DRAG_MIN = 6; // px; less is a click

  const node = (parent, name, attributes = {}, text = "") => {
    const space = name === "svg" ? SVG : parent.namespaceURI;
    const made = document.createElementNS(space, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.textContent = text;
    parent.append(made);
    return made;
  };

  // Numbers as the tables write them.
  const digits = (value, most = 4) => String(Number(value.toPrecision(most)));
  const scaled = units => value => {
    const i = [1e9, 1e6, 1e3, 0].findIndex(scale => Math.abs(value) >= scale * 0.99995);
    return digits(value / 10 ** (9 - 3 * i)) + units[i];
  };
  const FORMAT = {
    iops: scaled(["G", "M", "k", ""]),
    bandwidth: scaled([" GB/s", " MB/s", " kB/s", " B/s"]),
    latency: scaled([" s", " ms", " us", " ns"]),
  };
  const percent = (x, more) =>
    (100 * (1 - 10 ** -x)).toFixed(Math.max(0, Math.ceil(x - 1e-9) - 2 + more)) + "%";
  const timeUnit = span =>
    [[3600, " h", 10800], [60, " min", 300], [1, " s", 2], [1e-3, " ms", 2e-3], [1e-6, " us", 0]]
      .find(unit => span >= unit[2]);

  // Ticks: 1-2-5 steps; on a log axis the decades, where there are enough of them.
  const linear = (low, high, count) => {
    const rough = (high - low) / count, decade = 10 ** Math.floor(Math.log10(rough));
    const step = decade * [1, 2, 5, 10].find(m => m * decade >= rough * 0.999);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
    return ticks;
  };
  const DIGITS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const spread = (low, high, marks, sign = 1) => {
    const ticks = [];
    for (let decade = Math.floor(low); decade <= high + 1; decade++)
      for (const mark of marks) ticks.push(decade + sign * Math.log10(mark));
    return ticks.filter(t => t >= low - 1e-9 && t <= high + 1e-9).sort((a, b) => a - b);
  };
  const logTicks = (low, high) =>
    [[1], [1, 2, 5]].map(marks => spread(low, high, marks)).find(t => t.length > 2)
    || linear(10 ** low, 10 ** high, 5).map(Math.log10);

  // x of a percentile is -log10 of the share beyond it.
  const AXIS = {
    quantile: {
      // 50% in the place of 0%, which has no room beside it.
      ticks: (low, high) => [[1], [1, 5], [1, 2, 5], DIGITS].map(marks => spread(low, high, marks, -1))
        .find(t => t.length > 3)?.map(t => t || Math.log10(2)) || linear(low, high, 4),
      minor: (low, high) => spread(low, high, DIGITS, -1),
      label: x => percent(x, 0),
      value: x => `${percent(x, 1)} (1 in ${FORMAT.iops(10 ** x)} took longer)`,
    },
    time: {
      ticks: (low, high) => {
        const unit = timeUnit(high - low)[0];
        return linear(low / unit, high / unit, 6).map(t => t * unit);
      },
      minor: () => [],
      label: (x, span, most) => digits(x / timeUnit(span)[0], most) + timeUnit(span)[1],
      value: (x, span) => AXIS.time.label(x, span, 6) + (x < 0 ? ", warm-up" : ""),
    },
  };

  const nearest = (xs, x) => {
    let low = 0, high = xs.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] < x) low = middle + 1; else high = middle;
    }
    return low > 0 && x - xs[low - 1] < xs[low] - x ? low - 1 : low;
  };

  const views = new Map(); // what zooms together
  const charts = [];

  function make(figure, data) {
    const axis = AXIS[data.x], format = FORMAT[data.y], log = data.y === "latency";
    const up = v => log ? Math.log10(Math.max(v, 1)) : v;
    const plot = figure.querySelector(".plot"), caption = figure.querySelector("figcaption");
    const off = new Set(), key = data.x === "time" ? data.group : figure;
    const view = views.get(key) || { range: null, charts: [] };
    // What tells the series apart: each has buttons in the legend.
    const unique = name => [...new Set(data.series.map(s => s[name]))];
    const sides = ["run", "line", "part"].filter(side => unique(side).length > 1);
    const shown = () => data.series.filter(s => !sides.some(side => off.has(side + s[side])));
    const root = node(plot, "svg", { role: "img", tabindex: 0, "aria-label": caption.textContent });
    const tip = node(plot, "div", { class: "tip", role: "status" });
    const legend = node(caption, "div", { class: "legend" });
    let overlay, width, low, high, bottom, top, at = null, drag = null;

    const right = () => width - RIGHT;
    const placeX = x => LEFT + (x - low) / (high - low) * (right() - LEFT);
    const backX = px => low + (px - LEFT) / (right() - LEFT) * (high - low);
    const placeY = u => FLOOR - (u - bottom) / (top - bottom) * (FLOOR - TOP);

    function fit() {
      [low, high] = view.range || data.span || [0, Math.max(...data.series.map(s => s.x[s.x.length - 1]))];
      if (high - low < 1e-9) high = low + 1;
      [bottom, top] = [Infinity, -Infinity];
      for (const s of shown()) s.y.forEach((y, i) => {
        if (y === null || s.x[i] < low || s.x[i] > high) return;
        bottom = Math.min(bottom, up(y));
        top = Math.max(top, up(y));
      });
      if (top < bottom) [bottom, top] = [0, 1];
      // At least a factor of three, or noise would fill the chart.
      const pad = Math.max((top - bottom) * 0.06, (0.5 - (top - bottom)) / 2);
      [bottom, top] = log ? [bottom - pad, top + pad] : [0, top * 1.08 || 1];
    }

    function path(s, from, to) {
      let d = "", open = false;
      for (let i = from; i < to; i++) {
        if (s.y[i] === null) { open = false; continue; }
        const point = placeX(s.x[i]).toFixed(1) + " " + placeY(up(s.y[i])).toFixed(1);
        const alone = !open && (i + 1 >= to || s.y[i + 1] === null);
        if (s.part === "max") d += `M${point}h0`;
        else d += alone ? `M${point}m-3 0h6` : (open ? "L" : "M") + point;
        open = true;
      }
      return d;
    }

    function drawAxes() {
      const vertical = (x, kind) => node(root, "line", { class: kind, x1: x, x2: x, y1: TOP, y2: FLOOR });
      const level = (y, kind) => node(root, "line", { class: kind, x1: LEFT, x2: right(), y1: y, y2: y });
      const begin = Math.min(placeX(0), right());
      if (begin > LEFT) node(root, "rect", { class: "band", x: LEFT, y: TOP, width: begin - LEFT, height: FLOOR - TOP });
      for (const t of axis.minor(low, high)) vertical(placeX(t), "minor");
      if (log && top - bottom < 5) for (const t of spread(bottom, top, DIGITS)) level(placeY(t), "minor");
      for (const t of log ? logTicks(bottom, top) : linear(0, top, 6)) {
        const y = placeY(t);
        level(y, "grid");
        node(root, "text", { x: LEFT - 7, y: y + 4, "text-anchor": "end" }, format(log ? 10 ** t : t));
      }
      level(FLOOR, "axis");
      let free = -Infinity;
      for (const t of axis.ticks(low, high)) {
        vertical(placeX(t), "grid");
        const text = axis.label(t, high - low), half = text.length * 3.4;
        // A label at an end leans inwards, one without room is left out.
        const x = Math.max(LEFT - 20 + half, Math.min(placeX(t), width - half));
        if (x - half < free) continue;
        free = x + half + 6;
        node(root, "text", { x, y: HEIGHT - 8, "text-anchor": "middle" }, text);
      }
    }

    function draw(wanted = width) {
      width = wanted;
      fit();
      root.replaceChildren();
      root.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      drawAxes();
      // An inner svg clips what a zoom leaves outside; a little room keeps line ends whole.
      const box = [LEFT - 3, TOP - 6, right() - LEFT + 6, FLOOR - TOP + 8];
      const inner = node(root, "svg", { x: box[0], y: box[1], width: box[2], height: box[3], viewBox: box.join(" ") });
      for (const s of shown()) {
        const end = s.x.length, few = s.few ?? end, look = `line c${s.colour} d${s.dash} ${s.part || ""}`;
        if (few > 0) node(inner, "path", { class: look, d: path(s, 0, Math.min(few + 1, end)) });
        if (few < end) node(inner, "path", { class: look + " few", d: path(s, few, end) });
      }
      overlay = node(root, "g");
      legend.lastChild.hidden = !view.range;
      point(null);
    }

    // Shows the values at x, or none.
    function point(x) {
      at = x;
      overlay.replaceChildren();
      tip.replaceChildren();
      const found = x === null ? [] : shown().map(s => ({ s, i: nearest(s.x, x) }));
      tip.hidden = !found.length;
      if (tip.hidden) return;
      const far = f => Math.abs(f.s.x[f.i] - x), best = found.reduce((a, b) => far(b) < far(a) ? b : a);
      const place = best.s.x[best.i], px = placeX(place);
      node(overlay, "line", { class: "cursor", x1: px, x2: px, y1: TOP, y2: FLOOR });
      node(tip, "b", {}, axis.value(place, high - low));
      for (const { s, i } of found) {
        const cx = placeX(s.x[i]);
        if (s.y[i] === null || Math.abs(cx - px) > 12) continue;
        node(overlay, "circle", { class: `dot c${s.colour}`, cx, cy: placeY(up(s.y[i])), r: 3.5 });
        const row = node(tip, "div"), name = sides.map(side => s[side]).join(" ");
        node(row, "span", { class: "c" + s.colour }, name || s.line);
        node(row, "b", {}, (i >= s.few ? "~" : "") + format(s.y[i]));
      }
      const left = px < width / 2;
      tip.style.left = left ? `${(px + 12) / width * 100}%` : "auto";
      tip.style.right = left ? "auto" : `${(width - px + 12) / width * 100}%`;
    }

    function zoom(range) {
      view.range = range;
      view.charts.forEach(chart => chart.draw());
    }

    function keys(event) {
      const xs = shown()[0]?.x || [], last = xs.length - 1, i = at === null ? -1 : nearest(xs, at), keep = at;
      const move = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: last }[event.key];
      const half = (high - low) / 2 * { "+": 0.5, "=": 0.5, "-": 2 }[event.key], middle = at ?? (low + high) / 2;
      if (move !== undefined && xs.length) point(xs[Math.max(0, Math.min(last, move))]);
      else if (half) {
        zoom(event.key === "-" && !view.range ? null : [middle - half, middle + half]);
        point(keep);
      } else if (event.key === "Escape") zoom(null);
      else return;
      event.preventDefault();
    }

    function listen() {
      const on = (name, act) => root.addEventListener(name, act);
      const px = event => {
        const box = root.getBoundingClientRect();
        return Math.max(LEFT, Math.min(right(), (event.clientX - box.left) * width / box.width));
      };
      on("pointerdown", event => {
        if (event.button) return;
        drag = px(event);
        if (event.isTrusted) root.setPointerCapture(event.pointerId);
      });
      on("pointermove", event => {
        const x = px(event), wide = Math.abs(x - drag);
        point(backX(x));
        if (drag !== null && wide > DRAG_MIN)
          node(overlay, "rect", { class: "brush", x: Math.min(x, drag), y: TOP, width: wide, height: FLOOR - TOP });
      });
      on("pointerup", event => {
        const ends = [drag, px(event)].sort((a, b) => a - b);
        if (drag !== null && ends[1] - ends[0] > DRAG_MIN) zoom(ends.map(backX));
        drag = null;
      });
      on("pointercancel", () => { drag = null; point(null); });
      on("pointerleave", () => { if (drag === null) point(null); });
      on("blur", () => point(null));
      on("dblclick", () => zoom(null));
      on("keydown", keys);
    }

    function button(side, s) {
      const colour = unique("colour").length === 1 || side === (s.run ? "run" : "line") ? "c" + s.colour : "";
      const look = side === "part" ? s.part : side === "line" ? "d" + s.dash : "";
      const made = node(legend, "button", { type: "button", "aria-pressed": true });
      const sample = node(made, "svg", { viewBox: "0 0 20 8", "aria-hidden": true });
      node(sample, "path", { class: `line ${colour} ${look}`, d: s[side] === "max" ? "M10 4h0" : "M1 4h18" });
      made.append(s[side]);
      made.addEventListener("click", () => {
        const id = side + s[side];
        if (!off.delete(id)) off.add(id);
        made.setAttribute("aria-pressed", !off.has(id));
        draw();
      });
    }

    for (const side of sides)
      for (const value of unique(side)) button(side, data.series.find(s => s[side] === value));
    node(legend, "button", { type: "button", class: "reset" }, "Reset zoom").addEventListener("click", () => zoom(null));
    listen();
    const chart = { draw, plot, width: () => width };
    views.set(key, view);
    view.charts.push(chart);
    charts.push(chart);
  }

  const all = JSON.parse(document.getElementById("charts").textContent);
  for (const figure of document.querySelectorAll("[data-chart]")) make(figure, all[figure.dataset.chart]);

  let printing = false;
  // Reads all widths before it draws, so that the browser lays the page out once.
  const redraw = () => {
    if (printing) return;
    const widths = charts.map(c => Math.max(240, c.plot.clientWidth));
    charts.forEach((c, i) => { if (c.width() !== widths[i]) c.draw(widths[i]); });
  };
  redraw();
  new ResizeObserver(redraw).observe(document.querySelector("main"));
  addEventListener("beforeprint", () => {
    printing = true;
    charts.forEach(c => c.draw(PRINT_WIDTH));
  });
  addEventListener("afterprint", () => {
    printing = false;
    redraw();
  });

  const theme = document.getElementById("theme"), page = document.documentElement.dataset;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const now = page.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    page.theme = now === "dark" ? "light" : "dark";
  });
})();
