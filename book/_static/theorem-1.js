// The curve g(h) of theorem 1 for chosen C and d_intra, drawn as SVG. No library, nothing loaded.
(function () {
  "use strict";

  // g along d = d_intra / h, eq. (9); the notebook derives it and a test compares the two.
  function g(h, classes, intra) {
    const root = ((classes * intra + classes - 1) * h - intra) / ((classes - 1) * (intra + h));
    return root * root;
  }

  // Units are pixels: the figure is as wide as its box, so that its text is as large as the page's.
  const HEIGHT = 300, LEFT = 40, RIGHT = 12, TOP = 14, BOTTOM = 46;
  const y = (value) => HEIGHT - BOTTOM - value * (HEIGHT - TOP - BOTTOM);

  function element(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function start(box) {
    const classes = box.querySelector("[name=classes]");
    const intra = box.querySelector("[name=intra]");
    const said = box.querySelector("output");
    const plot = box.querySelector(".plot");
    const width = Math.max(plot.clientWidth, 200);
    const x = (h) => LEFT + h * (width - LEFT - RIGHT);
    const svg = element("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
    const title = element("title", {}, "");
    svg.append(title);
    for (const tick of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
      svg.append(
        element("line", { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick), class: "grid" }),
        element("text", { x: LEFT - 8, y: y(tick) + 5, "text-anchor": "end" }, tick),
        element("text", { x: x(tick), y: HEIGHT - 26, "text-anchor": "middle" }, tick),
      );
    }
    svg.append(
      element("text", { x: x(0.5), y: HEIGHT - 6, "text-anchor": "middle" }, "homophily h"),
      element("text", { x: LEFT + 6, y: TOP + 14 }, "g(h)"),
    );
    const least = element("line", { y1: y(0), y2: y(1), class: "least" });
    const curve = element("polyline", { class: "curve" });
    svg.append(least, curve);
    plot.replaceChildren(svg);

    function draw() {
      const c = Number(classes.value), k = Number(intra.value), at = k / (c * k + c - 1);
      const points = [];
      for (let i = 0; i <= 400; i++) {
        const h = i / 400;
        points.push(`${x(h).toFixed(2)},${y(g(h, c, k)).toFixed(2)}`);
      }
      curve.setAttribute("points", points.join(" "));
      least.setAttribute("x1", x(at));
      least.setAttribute("x2", x(at));
      box.querySelector("[data-of=classes]").textContent = c;
      box.querySelector("[data-of=intra]").textContent = k;
      const text = `g is least, and zero, at h = ${k}/${c * k + c - 1} ≈ ${at.toFixed(3)}, ` +
        `where a node has d = ${c * k + c - 1} neighbours.`;
      said.textContent = text;
      title.textContent = `The curve g(h) for C = ${c} and d_intra = ${k}. ${text}`;
    }

    classes.oninput = intra.oninput = draw;
    draw();
  }

  function all() {
    document.querySelectorAll(".theorem-1").forEach(start);
  }

  window.addEventListener("resize", all);

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
  else all();
})();
