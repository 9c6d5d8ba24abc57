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

  // A browser shows only options that hold what was typed, so what is merely alike says that it is.
  const option = ({entity, alias}, q) => {
    const made = document.createElement("option");
    made.value = entity.name;
    const about = [entity.type.replaceAll("_", " "), alias && `also ${alias}`].filter(Boolean);
    const holds = [entity.name, alias].some((name) => name.toLowerCase().includes(q.toLowerCase()));
    if (!holds) about.push(`like “${q}”`);
    made.label = about.join(", ");
    return made;
  };

  for (const field of form.querySelectorAll("input[type=text]")) {
    if (!field.id.startsWith("end-")) continue;
    const list = document.createElement("datalist");
    list.id = `${field.id}-names`;
    field.after(list);
    field.setAttribute("list", list.id);
    let waiting = 0;
    field.addEventListener("input", (event) => {
      clearTimeout(waiting);
      const q = field.value.trim();
      // Choosing an option replaces the text: nothing has been typed.
      if (!q || q.length > 100 || !event.inputType || event.inputType === "insertReplacementText") return;
      waiting = setTimeout(async () => {
        const names = await ask(q).catch(() => []);
        if (field.value.trim() === q) list.replaceChildren(...names.map((name) => option(name, q)));
      }, 120);
    });
  }
})();
