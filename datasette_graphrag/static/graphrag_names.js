// Completes names while they are typed, out of names.json. Without it the fields are plain text fields.
(() => {
  const form = document.querySelector(".graphrag form.ends");
  if (!form) return;
  const known = new Map();

  const ask = async (q) => {
    if (!known.has(q)) {
      const reply = await fetch(`${form.dataset.names}?q=${encodeURIComponent(q)}`);
      known.set(q, reply.ok ? (await reply.json()).names : []);
    }
    return known.get(q);
  };

  const make = (name, attributes, ...inside) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };

  const complete = (field) => {
    const list = make("ul", {id: `${field.id}-names`, class: "completions", role: "listbox", "aria-label": "Names"});
    let names = [], at = -1, waiting = 0;
    list.hidden = true;
    field.after(list);
    for (const [key, value] of Object.entries({role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id}))
      field.setAttribute(key, value);

    const close = () => {
      clearTimeout(waiting);
      list.hidden = true;
      at = -1;
      field.setAttribute("aria-expanded", "false");
      field.removeAttribute("aria-activedescendant");
    };

    const point = (to) => {
      at = (to + names.length + 1) % (names.length + 1);
      if (at === names.length) at = -1; // back in the field
      for (const [index, option] of [...list.children].entries()) option.setAttribute("aria-selected", index === at);
      if (at < 0) field.removeAttribute("aria-activedescendant");
      else field.setAttribute("aria-activedescendant", list.children[at].id);
      list.children[at]?.scrollIntoView({block: "nearest"});
    };

    // What tells entities of one name apart belongs to the name that was chosen, not to one that is typed over it.
    const forget = () => form.elements[`${field.name}_type`]?.remove();

    const choose = ({typed, type}) => {
      forget();
      field.value = typed;
      if (type !== null) field.after(make("input", {type: "hidden", name: `${field.name}_type`, value: type}));
      close();
    };

    const show = (found) => {
      names = found;
      list.replaceChildren(...names.map((name, index) => {
        const {entity, alias} = name;
        const option = make("li", {id: `${list.id}-${index}`, role: "option", "aria-selected": "false"}, make("bdi", {}, entity.name));
        if (alias) option.append(" ", make("span", {class: "alias"}, "also ", make("bdi", {}, alias)));
        if (entity.type) option.append(" ", make("span", {class: "type"}, make("bdi", {}, entity.type.replaceAll("_", " "))));
        option.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
        option.addEventListener("click", () => choose(name));
        return option;
      }));
      at = -1;
      list.hidden = !names.length;
      field.setAttribute("aria-expanded", String(!list.hidden));
    };

    field.addEventListener("input", () => {
      forget();
      clearTimeout(waiting);
      const q = field.value.trim();
      if (!q || q.length > 100) {
        close();
        return;
      }
      waiting = setTimeout(async () => {
        const found = await ask(q).catch(() => []);
        if (field.value.trim() === q && document.activeElement === field) show(found);
      }, 120);
    });
    field.addEventListener("keydown", (event) => {
      if (list.hidden || event.isComposing) return;
      if (event.key === "ArrowDown") point(at + 1);
      else if (event.key === "ArrowUp") point(at < 0 ? names.length - 1 : at - 1);
      else if (event.key === "Enter" && at >= 0) choose(names[at]);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    });
    field.addEventListener("blur", close);
  };

  for (const field of form.querySelectorAll("input[id^=end-]")) complete(field);
})();
