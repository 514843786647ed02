// The timeline: a lane per partition with its traffic, windows, anchors and the nodes of the forest.
const LANE = 64, AXIS = 24, BASE = 50, HIGH = 40, LEVELS = 3;
const MARKS = {
  ROOT: (x, y) => `M${x} ${y - 7}L${x + 7} ${y}L${x} ${y + 7}L${x - 7} ${y}Z`,
  UPDATE: (x, y) => `M${x - 5.5} ${y - 5.5}h11v11h-11Z`,
  EXPAND: (x, y) => `M${x - 5.5} ${y}a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0Z`,
};
const STEPS = [60, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000];
const { start: FIRST, end: LAST, lanes: LANES } = graph.trace.timeline;

class Timeline {
  constructor(box) {
    this.box = box;
    this.whole = this.padded(FIRST, LAST);
    this.view = this.whole;
    this.canvas = svg("svg", { role: "img", "aria-label": "Messages, windows and evidence over time" });
    box.append(this.canvas);
    this.active = null;
    this.draw();
    new ResizeObserver(() => this.draw()).observe(box);
    this.canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.onDrag(event));
  }

  padded(start, end) {
    const margin = Math.max((end - start) * 0.02, 60);
    return [start - margin, end + margin];
  }

  x(at) {
    return this.left + ((at - this.view[0]) / (this.view[1] - this.view[0])) * (this.width - this.left - 8);
  }

  zoom(factor, at = (this.view[0] + this.view[1]) / 2) {
    const [start, end] = this.view;
    if (factor < 1 && end - start < 120) return;
    this.show(at - (at - start) * factor, at + (end - at) * factor);
  }

  show(start, end) {
    const span = Math.min(end - start, this.whole[1] - this.whole[0]);
    start = Math.min(Math.max(start, this.whole[0]), this.whole[1] - span);
    this.view = [start, start + span];
    this.draw();
  }

  reveal(at) {
    const [start, end] = this.view;
    if (at < start || at > end) this.show(at - (end - start) / 2, at + (end - start) / 2);
  }

  showAll() { this.show(...this.whole); }

  draw() {
    this.width = Math.max(this.box.clientWidth - 32, 120);
    this.left = this.width < 560 ? 8 : 120;
    const height = LANES.length * LANE + AXIS;
    this.canvas.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.canvas.setAttribute("height", height);
    const clip = svg("clipPath", { id: "plot" });
    clip.append(svg("rect", { x: this.left - 1, y: 0, width: this.width - this.left + 1, height }));
    this.plot = svg("g", { "clip-path": "url(#plot)" });
    this.over = svg("g", { "clip-path": "url(#plot)" });
    this.canvas.replaceChildren(clip, this.plot, this.over);
    this.drawAxis(height);
    LANES.forEach((lane, index) => this.drawLane(lane, index * LANE));
    for (const hit of graph.flat) this.drawAnchor(hit);
    this.levels = this.stack();
    for (const node of graph.nodes) this.drawMark(node);
    this.drawActive();
  }

  drawAxis(height) {
    const span = this.view[1] - this.view[0];
    const room = Math.max(2, Math.floor((this.width - this.left) / 92));
    const step = STEPS.find((size) => span / size <= room) ?? STEPS.at(-1) * Math.ceil(span / STEPS.at(-1) / room);
    const shown = dateFormat(step);
    const shift = offsetAt(this.view[0]);
    for (let at = Math.ceil((this.view[0] + shift) / step) * step - shift; at < this.view[1]; at += step) {
      const x = this.x(at);
      this.plot.append(svg("line", { class: "tick", x1: x, x2: x, y1: 0, y2: height - AXIS + 5 }));
      if (x < this.width - 62) this.plot.append(svg("text", { x: x + 3, y: height - 7 }, shown.format(at * 1000)));
    }
  }

  drawLane(lane, top) {
    const base = top + BASE, part = (LAST > FIRST ? LAST - FIRST : 1) / lane.counts.length;
    const most = Math.max(...lane.counts, 1);
    for (const area of lane.windows) {
      const x = this.x(area.start), width = Math.max(this.x(area.end) - x, 2);
      const made = svg("rect", { class: "window", x, y: top + 3, width, height: BASE - 3, rx: 3 });
      made.append(svg("title", {}, `${plural(area.n_anchors, "anchor")} close together: all of this was read`));
      this.plot.append(made);
    }
    let bars = "";
    lane.counts.forEach((count, i) => {
      if (!count) return;
      const x = this.x(FIRST + i * part), width = Math.max(this.x(FIRST + (i + 1) * part) - x - 0.6, 0.8);
      const height = Math.max(2, Math.sqrt(count / most) * HIGH);
      bars += `M${x.toFixed(1)} ${base}h${width.toFixed(1)}v${-height.toFixed(1)}h${-width.toFixed(1)}Z`;
    });
    this.plot.append(svg("path", { class: "traffic", d: bars }));
    this.plot.append(svg("line", { class: "lane-line", x1: this.left, x2: this.width, y1: base, y2: base }));
    const total = lane.counts.reduce((sum, count) => sum + count, 0);
    this.drawName(lane, total, this.left > 8 ? 0 : this.left + 2, this.left > 8 ? top + 26 : top + 11);
  }

  drawName(lane, total, x, y) {
    const full = lane.kind === "channel" ? `#${lane.name.replace(/^#/, "")}` : lane.name || "no channel";
    const name = svg("text", { class: "lane-name", x, y }, full.length > 16 ? `${full.slice(0, 15)}…` : full);
    name.append(svg("title", {}, `${full}: ${plural(total, "message")}`));
    this.canvas.append(name);
    if (this.left > 8) this.canvas.append(svg("text", { x, y: y + 16 }, plural(total, "message")));
  }

  drawAnchor(hit) {
    const { lane, at } = hit.saying;
    if (lane === null) return;
    const x = this.x(at), y = lane * LANE + BASE + 2;
    this.plot.append(svg("path", { class: "anchor", d: `M${x} ${y}l3.5 7h-7Z` }));
  }

  // Marks that would cover each other go to different levels, as far as there are some.
  stack() {
    const levels = new Map(), ends = LANES.map(() => Array(LEVELS).fill(-Infinity));
    for (const node of graph.nodes.filter((one) => one.saying.lane !== null).sort((a, b) => a.saying.at - b.saying.at)) {
      const x = this.x(node.saying.at), own = ends[node.saying.lane];
      const free = own.findIndex((end) => end < x - 12);
      const level = free >= 0 ? free : own.indexOf(Math.min(...own));
      own[level] = x;
      levels.set(node.number, level);
    }
    return levels;
  }

  point(node) {
    const { lane, at } = node.saying;
    return [this.x(at), (lane ?? 0) * LANE + BASE - 10 - 14 * (this.levels.get(node.number) ?? 0)];
  }

  drawMark(node) {
    if (node.saying.lane === null) return;
    const classes = `mark ${node.relation} ${isFaded(node) ? "dim" : node.state}`;
    const mark = svg("path", { class: classes, d: MARKS[node.relation](...this.point(node)), "data-n": node.number });
    mark.append(svg("title", {}, `[${node.number}] ${node.saying.author}, ${node.saying.time}`));
    this.plot.append(mark);
  }

  // The links of one tree, drawn as arcs; those of all trees at once would be a tangle.
  drawActive() {
    this.over.replaceChildren();
    const active = this.active === null ? null : byNumber.get(this.active);
    if (!active || active.saying.lane === null) return;
    const here = this.x(active.saying.at);
    this.over.append(svg("line", { class: "here", x1: here, x2: here, y1: 0, y2: LANES.length * LANE }));
    const tree = rootOf(active);
    for (const node of graph.nodes) {
      if (node.parent === null || rootOf(node) !== tree) continue;
      const [x1, y1] = this.point(byNumber.get(node.parent)), [x2, y2] = this.point(node);
      const lift = Math.min(26, 8 + Math.abs(x2 - x1) / 10);
      this.over.append(svg("path", { class: `arc ${node.relation}`, d: `M${x1} ${y1}Q${(x1 + x2) / 2} ${Math.min(y1, y2) - lift} ${x2} ${y2}` }));
    }
  }

  activate(number) {
    if (this.active === number) return;
    this.active = number;
    this.drawActive();
  }

  timeAt(event) {
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    return this.view[0] + ((x - this.left) / (this.width - this.left - 8)) * (this.view[1] - this.view[0]);
  }

  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.timeAt(event));
  }

  onDrag(event) {
    if (event.button !== 0 || event.target.closest("[data-n]")) return;
    const from = event.clientX, [start, end] = this.view;
    const scale = (end - start) / (this.width - this.left - 8);
    const move = (moved) => this.show(start - (moved.clientX - from) * scale, end - (moved.clientX - from) * scale);
    const stop = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", stop); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  }
}

function inZone(options) {
  try {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: graph.zone });
  } catch {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
  }
}

function dateFormat(step) {
  if (step >= 7776000) return inZone({ month: "short", year: "numeric" });
  if (step >= 86400) return inZone({ weekday: "short", day: "numeric", month: "short" });
  return inZone({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

// Seconds that the zone is ahead of UTC, so that ticks fall on its midnights.
function offsetAt(at) {
  const fields = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", hourCycle: "h23" };
  const got = Object.fromEntries(inZone(fields).formatToParts(at * 1000).map((part) => [part.type, Number(part.value)]));
  const local = Date.UTC(got.year, got.month - 1, got.day, got.hour, got.minute) / 1000;
  return Math.round((local - at) / 900) * 900;
}
