// Beside the forest: one message with its reasons, the text that the model gets, or the flat list.
function drawMessage(node) {
  if (!node) return [el("p", { class: "empty", text: "Choose a message." })];
  const { saying } = node;
  const facts = el("dl", { class: "facts" });
  const fact = (name, value) => {
    if (value !== null && value !== "") facts.append(el("dt", { text: name }), el("dd", {}, value instanceof Node ? value : el("bdi", { text: value })));
  };
  fact("sent", `${saying.time} (${graph.zone})`);
  fact("role", saying.role);
  fact("channel", saying.channel);
  fact("topic", saying.topic);
  fact("label", node.label);
  fact("found as", node.rank === null ? "surroundings of an anchor" : `anchor ${node.rank} of ${graph.flat.length}`);
  fact("hangs from", node.parent === null ? null : jump(node.parent));
  if (node.parent !== null) fact("link", `${node.relation}, ${Math.round(node.confidence * 100)} % sure`);
  fact("id", saying.message_id);
  if (saying.link) fact("source", el("a", { href: saying.link, rel: "noopener noreferrer", target: "_blank", text: saying.link }));
  return [
    headOf(node),
    el("p", { class: "said big", dir: "auto", text: saying.text }),
    el("h2", { text: "Why it is here" }),
    whyOf(node),
    facts,
  ];
}

function jump(number) {
  const parent = byNumber.get(number);
  return el("button", { class: "jump", type: "button", "data-go": number, text: `[${number}] ${parent.saying.author}` });
}

function drawText() {
  const budget = graph.max_tokens === null ? "" : ` of ${graph.max_tokens.toLocaleString("en")}`;
  const copy = el("button", { type: "button", id: "copy", text: "Copy" });
  const text = el("pre", { id: "text" }, ...graph.text.map((part) =>
    el("span", { "data-n": part.number, class: byNumber.get(part.number)?.parent === null ? "first" : "", text: part.text })));
  copy.addEventListener("click", () => copyText(text, copy));
  const share = graph.max_tokens ? Math.min(100, (graph.n_tokens / graph.max_tokens) * 100) : 0;
  return [
    el("div", { class: "spread" },
      el("span", { class: "small", text: `${graph.n_tokens.toLocaleString("en")}${budget} tokens, as the model reads it` }), copy),
    graph.max_tokens ? el("div", { class: "meter" }, el("i", { width: `${share}%` })) : null,
    graph.text.length ? text : el("p", { class: "empty", text: "The model gets no messages." }),
  ];
}

async function copyText(text, button) {
  const all = graph.text.map((part) => part.text).join("\n");
  try {
    await navigator.clipboard.writeText(all);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(text);
    button.textContent = "Selected";
  }
}

function drawFlat() {
  const listed = graph.flat.filter((hit) => hit.number !== null).length;
  const added = graph.nodes.length - listed, best = Math.max(...graph.flat.map((hit) => hit.score), 1e-9);
  const summary = graph.flat.length
    ? `What a plain search finds: ${plural(graph.flat.length, "message")} by shared words, best first. ${listed} of them are in the forest, which adds ${added} that this list does not have.`
    : "A plain search finds nothing.";
  return [
    el("p", { class: "small", text: summary }),
    el("ol", {}, ...graph.flat.map((hit) => el("li", { class: "hit", "data-n": hit.number },
      el("span", { class: "rank", text: hit.rank }),
      el("div", { class: "head" },
        el("bdi", { class: "author", text: hit.saying.author }),
        el("span", { text: hit.saying.time }),
        el("bdi", { text: place(hit.saying) }),
        el("span", { class: "tag old", text: hit.number === null ? "not in the forest" : `[${hit.number}]` })),
      el("p", { class: "said", dir: "auto", text: hit.saying.text }),
      el("div", { class: "score" }, el("i", { width: `${Math.max(0, (hit.score / best) * 100)}%` }))))),
  ];
}
