// Chat text reaches the page through text nodes and attribute values only, never as markup.
const graph = JSON.parse(document.getElementById("graph").textContent);
const byNumber = new Map(graph.nodes.map((node) => [node.number, node]));
const SVG = "http://www.w3.org/2000/svg";
const BADGES = { ROOT: "◆ start", UPDATE: "↻ updates", EXPAND: "+ expands" };

const $ = (id) => document.getElementById(id);

function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name === "width") made.style.width = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function svg(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const isFaded = (node) => node.state === "superseded" || node.state === "updating";

function rootOf(node) {
  while (node.parent !== null) node = byNumber.get(node.parent);
  return node.number;
}

function place(saying) {
  const channel = saying.channel === null ? null : `#${saying.channel.replace(/^#/, "")}`;
  return [channel, saying.topic].filter((part) => part !== null).join(" · ");
}
