// Draws the pictures of the graph: figure.picture holds its nodes and edges as JSON, and room for them.
//
// d3-force computes the places once, before anything is shown, so nothing jumps about. Glyphs and
// letters keep their size when the picture is made larger; a label is shown where it covers no other.
// A link leads around what it does not join: nodes are moved out of its way, and where one is left it bends.
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const REACH = 13; // of a node, for a finger
  const RADIUS = 6;
  const MARGIN = 34;
  const CLEAR = [22, 44]; // between a link and a node it does not join, where there is room: of many nodes, of few
  const TOUCHED = 6; // as near as a link may come to such a node before it bends
  const BENDS = [0.06, 0.1, 0.15, 0.21, 0.28, 0.36, 0.45].flatMap((bend) => [bend, -bend]); // of its length
  const FARTHEST = 120; // that a link bends
  const TURN = 560; // narrower than this, paths run downwards
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  const make = (name, attributes, parent) => {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent?.append(made);
    return made;
  };

  const ruler = document.createElement("canvas").getContext("2d");
  const measure = (text, element) => {
    const style = getComputedStyle(element);
    ruler.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    return ruler.measureText(text).width;
  };
  const fitted = (text, element, most) => {
    const points = [...text.replace(/\s+/gu, " ").trim()];
    const cut = (length) => {
      if (length >= points.length) return points.join("");
      const front = Math.ceil(length * 0.6);
      return `${points.slice(0, front).join("").trimEnd()}…${points.slice(points.length - length + front).join("").trimStart()}`;
    };
    let length = Math.min(points.length, 60);
    while (length > 1 && measure(cut(length), element) > most) length -= 1;
    return cut(length);
  };

  // The nearest place on the way from a to b, from 0 to 1, and how far from it p is, sideways.
  const beside = ([ax, ay], [bx, by], [px, py]) => {
    const dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy || 1;
    const t = Math.min(Math.max(((px - ax) * dx + (py - ay) * dy) / square, 0), 1);
    const x = px - ax - t * dx, y = py - ay - t * dy;
    return {t, x, y, far: Math.sqrt(x * x + y * y)};
  };

  // Whether the way from a to b passes through a box.
  const through = ([ax, ay], [bx, by], [left, top, right, bottom]) => {
    if (Math.max(ax, bx) < left || Math.min(ax, bx) > right || Math.max(ay, by) < top || Math.min(ay, by) > bottom) return false;
    let from = 0, to = 1;
    for (const [start, step, low, high] of [[ax, bx - ax, left, right], [ay, by - ay, top, bottom]]) {
      if (Math.abs(step) < 1e-9) {
        if (start < low || start > high) return false;
      } else {
        const ends = [(low - start) / step, (high - start) / step].sort((a, b) => a - b);
        [from, to] = [Math.max(from, ends[0]), Math.min(to, ends[1])];
      }
    }
    return from < to;
  };

  const draw = (figure) => {
    const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    const stage = figure.querySelector(".stage");
    const signs = [...figure.querySelectorAll(".legend svg")].map((svg) => ({
      colour: svg.getAttribute("class"), shape: svg.firstElementChild.getAttribute("d"),
    }));
    const along = data.drawn === "paths";
    const nodes = data.nodes.map((node) => ({...node, id: node.entity.id, near: new Set()}));
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const links = joined(data.edges, byId);
    const svg = make("svg", {}, stage);
    const under = make("g", {}, svg);
    const middle = make("g", {"aria-hidden": "true"}, svg);
    const over = make("g", {}, svg);
    let width = 0, height = 0, view = {kx: 1, ky: 1, x: 0, y: 0}, fit = view, active = null, simulation = null;

    for (const link of links) {
      link.line = make("path", {class: "link"}, under);
      link.tips = link.ways.map(() => make("path", {class: "tip"}, under));
      link.text = make("text", {class: "said", "text-anchor": "middle"}, middle);
    }
    for (const node of nodes) {
      const {entity} = node;
      node.a = make("a", {class: `node ${signs[node.kind].colour}${node.end ? " end" : ""}`, href: entity.url}, over);
      node.a.setAttribute("aria-label", entity.type ? `${entity.name}, ${entity.type.replaceAll("_", " ")}` : entity.name);
      make("title", {}, node.a).textContent = entity.name;
      node.size = node.end ? 1.35 : 1;
      make("circle", {class: "reach", r: REACH}, node.a);
      if (node.end) make("circle", {class: "ring", r: 12}, node.a);
      make("path", {d: signs[node.kind].shape, transform: `scale(${node.size})`}, node.a);
      node.text = make("text", {dy: "0.33em"}, node.a);
    }

    const look = (node) => { active = node; render(); };
    for (const node of nodes) {
      node.a.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse" && !held) look(node); });
      node.a.addEventListener("pointerleave", () => { if (!held && active === node) look(null); });
      node.a.addEventListener("focus", () => { reveal(node); look(node); });
      node.a.addEventListener("blur", () => { if (active === node) look(null); });
      node.a.addEventListener("dragstart", (event) => event.preventDefault());
    }

    // Places ------------------------------------------------------------------

    const across = () => width >= TURN;

    const lay = () => {
      simulation?.stop();
      const most = Math.min(190, width * 0.45);
      for (const node of nodes) {
        Object.assign(node, {x: undefined, y: undefined, vx: 0, vy: 0, fx: null, fy: null});
        node.labels = [most, most / 2].map((wide) => fitted(node.entity.name, node.text, wide))
          .map((text) => ({text, wide: measure(text, node.text)}));
      }
      for (const link of links) {
        link.text.textContent = fitted(link.said, link.text, most);
        link.wide = measure(link.text.textContent, link.text);
      }
      simulation = d3.forceSimulation(nodes).stop()
        .force("charge", d3.forceManyBody().strength(along ? -260 : -220).distanceMax(500))
        .force("link", d3.forceLink(links).distance((link) => along ? 80 : link.source.end || link.target.end ? 110 : 70)
          .strength((link) => along ? 0.15 : link.source.end || link.target.end ? 0.25 : 0.06))
        .force("collide", d3.forceCollide((node) => node.end ? 24 : 17));
      if (along) {
        const count = [];
        for (const {level} of nodes) count[level] = (count[level] ?? 0) + 1;
        const most = Math.max(...count.filter(Boolean));
        const [room, beside] = across() ? [width, height] : [height, width];
        const step = (room - 2 * MARGIN) / Math.max(1, count.length - 1);
        simulation.force("collide", d3.forceCollide(Math.max(14, Math.min(step / 2.2, 0.42 * beside / most, 60))));
        const [main, other] = across() ? [d3.forceX, d3.forceY] : [d3.forceY, d3.forceX];
        simulation.force("along", main((node) => node.level * step).strength(1))
          .force("beside", other((node) => 0).strength((node) => node.end ? 0.3 : 0.06));
      } else {
        const centre = nodes.find((node) => node.end);
        if (centre) Object.assign(centre, {fx: 0, fy: 0});
        simulation.force("x", d3.forceX().strength(0.04 * Math.min(1, height / width)))
          .force("y", d3.forceY().strength(0.04 * Math.max(1, width / height)));
      }
      simulation.tick(300);
      for (const node of nodes) node.fx = node.fy = null;
      simulation.on("tick", render);
      whole();
      part();
      whole();
    };

    // Moves nodes out of the way of links that do not join them, and apart, as they are seen.
    const part = () => {
      const places = nodes.map(at);
      const index = new Map(nodes.map((node, n) => [node, n]));
      const push = (n, x, y) => {
        if (nodes[n].end) return;
        const [slowX, slowY] = !along ? [1, 1] : across() ? [0.4, 1] : [1, 0.8]; // paths keep their order
        places[n][0] = Math.min(Math.max(places[n][0] + x * slowX, MARGIN), width - MARGIN);
        places[n][1] = Math.min(Math.max(places[n][1] + y * slowY, MARGIN), height - MARGIN);
      };
      const clear = Math.min(Math.max(300 / nodes.length, CLEAR[0]), CLEAR[1]);
      const rounds = Math.min(150, Math.ceil(3e6 / (nodes.length * (links.length + nodes.length))));
      for (let round = 0; round < rounds; round += 1) {
        for (const link of links) {
          const [a, b] = [index.get(link.source), index.get(link.target)];
          for (let n = 0; n < nodes.length; n += 1) {
            if (n === a || n === b) continue;
            const {t, x, y, far} = beside(places[a], places[b], places[n]);
            if (far >= clear || t === 0 || t === 1) continue;
            const [dx, dy] = [places[b][0] - places[a][0], places[b][1] - places[a][1]];
            const length = Math.hypot(dx, dy) || 1, side = x * -dy + y * dx < 0 ? -1 : 1;
            const [ux, uy] = [side * -dy / length, side * dx / length], by = (clear - far) / 4;
            push(n, ux * by, uy * by);
            push(a, -ux * by * (1 - t) / 2, -uy * by * (1 - t) / 2);
            push(b, -ux * by * t / 2, -uy * by * t / 2);
          }
        }
        for (let n = 0; n < nodes.length; n += 1) {
          for (let m = 0; m < n; m += 1) {
            const [x, y] = [places[n][0] - places[m][0], places[n][1] - places[m][1]];
            const far = Math.hypot(x, y) || 1, by = (1.5 * CLEAR[0] - far) / 4;
            if (by <= 0) continue;
            push(n, x / far * by, y / far * by);
            push(m, -x / far * by, -y / far * by);
          }
        }
      }
      nodes.forEach((node, n) => {
        [node.x, node.y] = [(places[n][0] - view.x) / view.kx, (places[n][1] - view.y) / view.ky];
      });
    };

    // The picture fills its stage: it may be drawn out in one direction up to twice as much as in the other.
    const whole = () => {
      const xs = nodes.map((node) => node.x), ys = nodes.map((node) => node.y);
      const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
      const beside = across() ? Math.min(width / 5, 90) : MARGIN;
      const kx = Math.min(1.5, (width - 2 * beside) / Math.max(1, right - left));
      const ky = Math.min(1.5, (height - 2 * MARGIN) / Math.max(1, bottom - top));
      fit = {kx: Math.min(kx, 2 * ky), ky: Math.min(ky, 2 * kx)};
      view = {...fit, x: width / 2 - fit.kx * (left + right) / 2, y: height / 2 - fit.ky * (top + bottom) / 2};
      svg.classList.remove("closer");
      render();
    };

    const zoom = (factor, x = width / 2, y = height / 2) => {
      const by = Math.min(Math.max(factor, fit.kx / view.kx / 2), 8 * fit.kx / view.kx);
      view = {kx: view.kx * by, ky: view.ky * by, x: x - (x - view.x) * by, y: y - (y - view.y) * by};
      svg.classList.toggle("closer", view.kx > fit.kx * 1.01);
      render();
    };

    const reveal = (node) => {
      const [x, y] = at(node);
      view.x += Math.min(Math.max(x, MARGIN), width - MARGIN) - x;
      view.y += Math.min(Math.max(y, MARGIN), height - MARGIN) - y;
    };

    const at = (node) => [view.x + view.kx * node.x, view.y + view.ky * node.y];

    // What is seen --------------------------------------------------------------

    const render = () => {
      const places = new Map(nodes.map((node) => [node, at(node)]));
      const aside = (...some) => active && !some.some((node) => node === active || active.near.has(node) && some.length === 1);
      for (const node of nodes) {
        const [x, y] = places.get(node);
        node.a.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
        node.a.classList.toggle("aside", Boolean(aside(node)));
      }
      for (const link of links) {
        const ends = [places.get(link.source), places.get(link.target)];
        const over = bent(link, ends, places);
        Object.assign(link, {over, points: curve(ends[0], over, ends[1])});
        const leave = (node, [x, y]) => {
          const length = Math.hypot(over[0] - x, over[1] - y) || 1, gap = node.end ? 13 : RADIUS + 2;
          const [ux, uy] = [(over[0] - x) / length, (over[1] - y) / length];
          return [x + ux * gap, y + uy * gap, -ux, -uy];
        };
        const [a, b] = [leave(link.source, ends[0]), leave(link.target, ends[1])];
        const way = [a, over, b].map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
        link.line.setAttribute("d", link.points.length > 2 ? `M${way[0]}Q${way[1]} ${way[2]}` : `M${way[0]}L${way[2]}`);
        link.ways.forEach((forward, index) => {
          const [x, y, dx, dy] = forward ? b : a;
          const [tx, ty] = [x - 6.5 * dx, y - 6.5 * dy];
          link.tips[index].setAttribute("d", `M${x.toFixed(1)} ${y.toFixed(1)}L${(tx - 3 * dy).toFixed(1)} ${(ty + 3 * dx).toFixed(1)}`
            + `L${(tx + 3 * dy).toFixed(1)} ${(ty - 3 * dx).toFixed(1)}Z`);
        });
        const faint = Boolean(active && link.source !== active && link.target !== active);
        for (const part of [link.line, ...link.tips]) part.classList.toggle("aside", faint);
      }
      label(places);
    };

    // The point that a link is drawn towards from both its ends: between them, unless nodes are in its way.
    const bent = (link, [[x1, y1], [x2, y2]], places) => {
      const middle = (bend) => [(x1 + x2) / 2 + bend * (y1 - y2), (y1 + y2) / 2 + bend * (x2 - x1)];
      const length = Math.hypot(x2 - x1, y2 - y1), reach = Math.min(length * BENDS.at(-2), FARTHEST) + 20;
      const others = nodes.filter((node) => {
        if (node === link.source || node === link.target) return false;
        const [x, y] = places.get(node);
        return x > Math.min(x1, x2) - reach && x < Math.max(x1, x2) + reach
          && y > Math.min(y1, y2) - reach && y < Math.max(y1, y2) + reach;
      });
      const touched = (over, most) => { // by how much it comes too near to others
        const points = curve([x1, y1], over, [x2, y2]);
        let much = 0;
        for (const node of others) {
          const enough = TOUCHED + (node.end ? 12 : RADIUS), place = places.get(node);
          let far = enough;
          for (let n = 1; n < points.length; n += 1) far = Math.min(far, beside(points[n - 1], points[n], place).far);
          much += enough - far;
          if (much >= most) break;
        }
        return much;
      };
      let best = middle(0), least = touched(best, Infinity);
      for (const bend of BENDS) {
        if (!least) break;
        const [x, y] = middle(bend);
        if (Math.abs(bend) * length > FARTHEST || x < 4 || y < 4 || x > width - 4 || y > height - 4) continue;
        const over = middle(2 * bend), much = touched(over, least);
        if (much < least) [best, least] = [over, much];
      }
      return best;
    };

    // Points of a link, as many as its bend needs.
    const curve = (a, over, b) => {
      const off = Math.hypot(over[0] - (a[0] + b[0]) / 2, over[1] - (a[1] + b[1]) / 2);
      if (off < 0.5) return [a, b];
      return [...Array(11).keys()].map((n) => on(a, over, b, n / 10));
    };

    const on = (a, over, b, t) => [0, 1].map((i) => (1 - t) ** 2 * a[i] + 2 * t * (1 - t) * over[i] + t * t * b[i]);

    const boxed = (x, y, anchor, wide) => {
      const left = anchor === "start" ? x : anchor === "end" ? x - wide : x - wide / 2;
      return [left - 1, y - 7, left + wide + 1, y + 7];
    };

    // How many links run through a label at this spot.
    const crossed = ([x, y, anchor], wide) => {
      const box = boxed(x, y, anchor, wide);
      return links.filter(({points}) => points.slice(1).some((point, n) => through(points[n], point, box))).length;
    };

    // Labels, the most telling first, each where it covers nothing that is there already.
    const label = (places) => {
      const taken = nodes.map((node) => {
        const [x, y] = places.get(node), r = node.end ? 13 : RADIUS + 1;
        return [x - r, y - r, x + r, y + r];
      });
      const free = ([a, b, c, d]) => a >= 2 && b >= 2 && c <= width - 2 && d <= height - 2
        && !taken.some(([e, f, g, h]) => a < g && c > e && b < h && d > f);
      const put = (wide, spots, forced = false) => {
        for (const [x, y, anchor] of spots) {
          const box = boxed(x, y, anchor, wide);
          if (forced || free(box)) {
            taken.push(box);
            return [x, y, anchor];
          }
        }
        return null;
      };
      const worth = (node) => (node === active ? 1e6 : 0) + (node.end ? 1e5 : 0) + (active?.near.has(node) ? 1e4 : 0) + node.near.size;
      for (const node of [...nodes].sort((a, b) => worth(b) - worth(a) || a.id - b.id)) {
        const [x, y] = places.get(node), r = node.end ? 16 : RADIUS + 4;
        let spot = null;
        for (const {text, wide} of node.labels) {
          const spots = [[x + r, y, "start"], [x - r, y, "end"], [x, y + r + 6, "middle"], [x, y - r - 6, "middle"]];
          if (along && across()) spots.unshift(spots.pop());
          const edge = Math.min(Math.max(x, wide / 2 + 3), width - wide / 2 - 3);
          spots.push([edge, y + r + 6, "middle"], [edge, y - r - 6, "middle"]);
          const forced = spots.at(-2);
          for (const up of [-1, 1]) spots.push([x + r, y + up * r, "start"], [x - r, y + up * r, "end"]);
          const worse = new Map(spots.filter((one) => free(boxed(...one, wide))).map((one) => [one, crossed(one, wide)]));
          spot = put(wide, [...worse.keys()].sort((a, b) => worse.get(a) - worse.get(b)))
            ?? (node === active ? put(wide, [forced], true) : null);
          if (spot) node.text.textContent = text;
          if (spot) break;
        }
        node.text.toggleAttribute("hidden", !spot);
        if (spot) {
          node.text.setAttribute("x", (spot[0] - x).toFixed(1));
          node.text.setAttribute("y", (spot[1] - y).toFixed(1));
          node.text.setAttribute("text-anchor", spot[2]);
        }
      }
      for (const link of links) {
        const speaks = active ? link.source === active || link.target === active : along || links.length <= 12;
        const spots = [0.5, 0.4, 0.6].map((t) => [...on(link.points[0], link.over, link.points.at(-1), t), "middle"]);
        const spot = speaks ? put(link.wide, spots) : null;
        link.text.toggleAttribute("hidden", !spot);
        if (spot) {
          link.text.setAttribute("x", spot[0].toFixed(1));
          link.text.setAttribute("y", (spot[1] + 4).toFixed(1));
        }
      }
    };

    // Hands ---------------------------------------------------------------------

    let held = null, veiled = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button || held) return;
      const a = event.target.closest(".node");
      const node = a && nodes.find((one) => one.a === a);
      veiled = event.pointerType === "touch" && node?.text.hasAttribute("hidden") ? node : null;
      if (!node && active) look(null);
      held = {node, pointer: event.pointerId, x: event.clientX, y: event.clientY, moved: false, from: {...view}, at: node && [node.x, node.y]};
    });
    svg.addEventListener("pointermove", (event) => {
      if (!held || held.pointer !== event.pointerId) return;
      const dx = event.clientX - held.x, dy = event.clientY - held.y;
      if (!held.moved && Math.hypot(dx, dy) < 4) return;
      if (!held.moved) {
        held.moved = true;
        svg.setPointerCapture(event.pointerId);
        svg.classList.add("moving");
        if (held.node && !calm.matches) simulation.alphaTarget(0.15).restart();
      }
      const {node} = held;
      if (node) {
        node.fx = node.x = held.at[0] + dx / view.kx;
        node.fy = node.y = held.at[1] + dy / view.ky;
      } else {
        view.x = held.from.x + dx;
        view.y = held.from.y + dy;
      }
      if (!node || calm.matches) render();
    });
    const drop = (event) => {
      if (!held || held.pointer !== event.pointerId) return;
      svg.classList.remove("moving");
      simulation.alphaTarget(0);
      const {moved} = held;
      held = null;
      // The click that follows a drag opens nothing.
      if (moved) {
        const stop = (click) => { click.preventDefault(); click.stopPropagation(); };
        svg.addEventListener("click", stop, {capture: true, once: true});
        setTimeout(() => svg.removeEventListener("click", stop, {capture: true}), 0);
      }
    };
    addEventListener("pointerup", drop); // also outside, where a press that has not moved yet may end
    addEventListener("pointercancel", drop);
    // The first tap of a finger on a node without a label shows its name, the next opens it.
    svg.addEventListener("click", (event) => {
      if (!veiled || event.target.closest(".node") !== veiled.a) return;
      event.preventDefault();
      look(veiled);
    });
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      zoom(2 ** (-event.deltaY / 200), event.clientX - box.left, event.clientY - box.top);
    }, {passive: false});

    const buttons = document.createElement("div");
    buttons.className = "zoom";
    for (const [sign, said, act] of [["+", "Larger", () => zoom(1.5)], ["−", "Smaller", () => zoom(1 / 1.5)], ["⤢", "The whole picture", () => whole()]]) {
      const button = document.createElement("button");
      Object.assign(button, {type: "button", textContent: sign, title: said});
      button.setAttribute("aria-label", said);
      button.addEventListener("click", act);
      buttons.append(button);
    }
    figure.querySelector("figcaption").append(buttons);

    new ResizeObserver(() => {
      const [w, h] = [stage.clientWidth, stage.clientHeight];
      if (!w || !h || (w === width && h === height)) return;
      [width, height] = [w, h];
      svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
      lay();
      figure.dataset.drawn = "yes";
    }).observe(stage);
  };

  // One link for each pair, however many facts join it; its ways say where arrows go.
  const joined = (edges, byId) => {
    const pairs = new Map();
    for (const {head, relation, tail} of edges) {
      const [a, b] = head < tail ? [head, tail] : [tail, head];
      const source = byId.get(a), target = byId.get(b);
      if (!source || !target || source === target) continue;
      const key = `${a} ${b}`;
      if (!pairs.has(key)) pairs.set(key, {source, target, names: new Set(), directions: new Set()});
      pairs.get(key).names.add(relation.replaceAll("_", " "));
      pairs.get(key).directions.add(head === a);
      source.near.add(target);
      target.near.add(source);
    }
    return [...pairs.values()].map(({source, target, names, directions}) => ({
      source, target, said: [...names].join(", "), ways: [...directions],
    }));
  };

  for (const figure of document.querySelectorAll(".graphrag figure.picture")) draw(figure);
})();
