// The forest: one row per node; the guides before it are the branches it hangs from.
const MAX_GUIDES = 9;
// Of a deeper chain only so many are drawn, with a count of the others, so that texts keep their width.
const GUIDES_OF_A_DEEP_CHAIN = 2;

function drawForest(into) {
  const children = new Map();
  for (const node of graph.nodes) {
    if (node.parent !== null) children.set(node.parent, [...(children.get(node.parent) ?? []), node.number]);
  }
  const isLast = (node) => children.get(node.parent).at(-1) === node.number;
  let tree = null;
  for (const node of graph.nodes) {
    if (node.parent === null) {
      tree = el("div", { class: "tree", role: "presentation" });
      into.append(tree);
    }
    tree.append(drawRow(node, guidesOf(node, isLast)));
  }
  if (!graph.nodes.length) into.append(el("p", { class: "empty", text: "No evidence." }));
}

function guidesOf(node, isLast) {
  if (node.parent === null) return [];
  const guides = [`${isLast(node) ? "elbow" : "tee"} ${node.relation}`];
  for (let above = byNumber.get(node.parent); above.parent !== null; above = byNumber.get(above.parent)) {
    guides.unshift(isLast(above) ? "" : "pipe");
  }
  return guides;
}

function drawRow(node, guides) {
  const hidden = guides.length > MAX_GUIDES ? guides.length - GUIDES_OF_A_DEEP_CHAIN : 0;
  const row = el("div", {
    class: `row ${node.state}`, role: "treeitem", "data-n": node.number, tabindex: "-1",
    "aria-level": node.depth + 1, "aria-selected": "false",
  });
  if (hidden) row.append(el("span", { class: "more", title: `${hidden} more branches`, text: `+${hidden}` }));
  row.append(...guides.slice(hidden).map((kind) => el("span", { class: `guide ${kind}`, "aria-hidden": "true" })));
  row.append(el("div", { class: "body" }, headOf(node),
    el("p", { class: "said", dir: "auto", text: node.saying.text }),
    whyOf(node)));
  return row;
}

const whyOf = (node) => el("ul", { class: "why" }, ...node.why.map((sentence) => el("li", { text: sentence })));

function headOf(node) {
  const badge = node.parent === null ? BADGES.ROOT : `${BADGES[node.relation]} [${node.parent}]`;
  const head = el("div", { class: "head" },
    el("span", { class: "number", text: `[${node.number}]` }),
    el("span", { class: `tag ${node.relation}`, text: badge }),
    el("bdi", { class: "author", text: node.saying.author }),
    el("span", { text: node.saying.time }),
    el("bdi", { text: place(node.saying) }),
    el("span", { class: `label ${node.label}`, text: node.label }));
  if (node.state === "current") head.append(el("span", { class: "tag now", text: "◀ latest" }));
  else if (node.updated_by.length) {
    head.append(el("span", { class: "tag old", text: `superseded by ${node.updated_by.map((n) => `[${n}]`).join(", ")}` }));
  } else if (isFaded(node)) head.append(el("span", { class: "tag old", text: "superseded" }));
  return head;
}
