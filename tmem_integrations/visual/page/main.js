// What is chosen, and what the keys do. One number is selected, one is under the pointer; both are
// marked wherever they are shown.
const state = { selected: null, hover: null, tab: "message" };
let timeline;

function drawTop() {
  const trees = graph.nodes.filter((node) => node.parent === null).length;
  $("question").textContent = graph.question || "(no question)";
  $("about").append(...graph.about.map(([name, value]) => el("span", {}, `${name} `, el("b", {}, el("bdi", { text: value })))));
  const stages = Object.fromEntries(graph.trace.stages.map((stage) => [stage.stage, stage]));
  const steps = [
    [stages.anchors?.taken, "shares a word", "share a word"], [stages.anchors?.kept, "anchor", "anchors"],
    [stages.episodes?.kept, "episode", "episodes"], [stages.evidence?.taken, "read", "read"],
    [graph.nodes.length, "kept", "kept"], [trees, "tree", "trees"], [graph.n_tokens, "token", "tokens"],
    [graph.trace.llm_calls || undefined, "model call", "model calls"],
  ].filter(([count]) => count !== undefined);
  $("steps").append(...steps.map(([count, one, many]) =>
    el("li", {}, el("b", { text: count.toLocaleString("en") }), ` ${count === 1 ? one : many}`)));
  $("notes").append(...graph.notes.map((note) => el("p", { class: "note", text: note })));
}

const everywhere = (number) => document.querySelectorAll(`[data-n="${number}"]`);

function mark(name, before, after) {
  if (before !== null) everywhere(before).forEach((found) => found.classList.remove(name));
  if (after !== null) everywhere(after).forEach((found) => found.classList.add(name));
}

function hover(number) {
  if (number === state.hover) return;
  mark("hover", state.hover, number);
  state.hover = number;
  timeline.activate(number ?? state.selected);
}

function select(number, { focus = true, scroll = true } = {}) {
  const node = byNumber.get(number);
  if (!node) return;
  const before = state.selected === null ? null : rowOf(state.selected);
  before?.setAttribute("aria-selected", "false");
  before?.setAttribute("tabindex", "-1");
  mark("selected", state.selected, null);
  state.selected = number;
  document.querySelectorAll(".kin").forEach((row) => row.classList.remove("kin"));
  for (let above = node; above.parent !== null; above = byNumber.get(above.parent)) rowOf(above.parent).classList.add("kin");
  const row = rowOf(number);
  row.setAttribute("aria-selected", "true");
  row.setAttribute("tabindex", "0");
  if (focus) row.focus({ preventScroll: true });
  if (scroll) row.scrollIntoView({ block: "nearest" });
  timeline.reveal(node.saying.at);
  timeline.activate(number);
  if (state.tab === "message") drawSide();
  else $("side").querySelector(`[data-n="${number}"]`)?.scrollIntoView({ block: "nearest" });
  mark("selected", null, number);
}

const rowOf = (number) => $("forest").querySelector(`[data-n="${number}"]`);

function drawSide() {
  const parts = state.tab === "text" ? drawText() : state.tab === "flat" ? drawFlat() : drawMessage(byNumber.get(state.selected));
  $("side").replaceChildren(...parts.filter((part) => part !== null));
}

function showTab(name) {
  state.tab = name;
  for (const tab of $("tabs").children) {
    const isShown = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", String(isShown));
    tab.setAttribute("tabindex", isShown ? "0" : "-1");
  }
  drawSide();
  if (state.selected !== null) mark("selected", null, state.selected);
  $("side").scrollTop = 0;
}

function toggleTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
}

function step(by) {
  const at = graph.nodes.findIndex((node) => node.number === state.selected);
  const to = graph.nodes[Math.min(Math.max(at + by, 0), graph.nodes.length - 1)];
  if (to) select(to.number);
}

const KEYS = {
  ArrowDown: () => step(1), j: () => step(1), ArrowUp: () => step(-1), k: () => step(-1),
  ArrowLeft: () => select(byNumber.get(state.selected)?.parent),
  ArrowRight: () => select(graph.nodes.find((node) => node.parent === state.selected)?.number),
  Home: () => step(-Infinity), End: () => step(Infinity),
  Enter: () => rowOf(state.selected)?.classList.toggle("open"),
  1: () => showTab("message"), 2: () => showTab("text"), 3: () => showTab("flat"),
  "+": () => timeline.zoom(0.6), "=": () => timeline.zoom(0.6), "-": () => timeline.zoom(1 / 0.6), 0: () => timeline.showAll(),
  t: toggleTheme, "?": () => $("keys").showModal(),
};

// Keys that have a meaning of their own on buttons, links and in the panel that scrolls.
function isElsewhere(event) {
  const moves = event.key.startsWith("Arrow") || ["Home", "End", "Enter"].includes(event.key);
  return event.ctrlKey || event.metaKey || event.altKey || $("keys").open
    || (moves && event.target.closest("button, a, #side") !== null);
}

function listen() {
  document.addEventListener("keydown", (event) => {
    if (!Object.hasOwn(KEYS, event.key) || isElsewhere(event)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  $("tabs").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const tabs = [...$("tabs").children], at = tabs.findIndex((tab) => tab.dataset.tab === state.tab);
    const to = tabs[(at + by + tabs.length) % tabs.length];
    showTab(to.dataset.tab);
    to.focus();
  });
  document.addEventListener("pointerover", (event) => {
    const found = event.target.closest("[data-n]");
    hover(found ? Number(found.dataset.n) : null);
  });
  document.addEventListener("click", (event) => {
    const found = event.target.closest("[data-n], [data-go]");
    if (!found) return;
    const isRow = found.classList.contains("row");
    const number = Number(found.dataset.go ?? found.dataset.n);
    if (isRow && number === state.selected) found.classList.toggle("open");
    select(number, { focus: isRow || Boolean(found.dataset.go) });
  });
  $("tabs").addEventListener("click", (event) => {
    const tab = event.target.closest("[data-tab]");
    if (tab) showTab(tab.dataset.tab);
  });
  $("theme").addEventListener("click", toggleTheme);
  $("help").addEventListener("click", () => $("keys").showModal());
  $("zoom-in").addEventListener("click", () => timeline.zoom(0.6));
  $("zoom-out").addEventListener("click", () => timeline.zoom(1 / 0.6));
  $("zoom-all").addEventListener("click", () => timeline.showAll());
}

if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.dataset.theme = "dark";
drawTop();
drawForest($("forest"));
timeline = new Timeline($("timeline"));
$("timeline").parentElement.hidden = LANES.length === 0;
listen();
showTab("message");
// What holds now, as the forest knows it, is what most people came for.
const current = graph.nodes.filter((node) => node.state === "current");
const best = current.sort((a, b) => b.saying.at - a.saying.at)[0] ?? graph.nodes[0];
if (best) select(best.number, { focus: false, scroll: false });
