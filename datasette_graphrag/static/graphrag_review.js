// The keyboard of the review pages. Everything it does is a button that is there without it.
(() => {
  const cards = [...document.querySelectorAll(".graphrag .card")];
  const help = document.querySelector(".graphrag .keys");
  if (help) help.hidden = false;

  const asked = document.getElementById(location.hash.slice(1));
  let at = cards.length === 1 ? 0 : cards.indexOf(asked);
  const go = (to) => {
    if (!cards.length) return;
    at = Math.min(Math.max(to, 0), cards.length - 1);
    cards[at].focus({preventScroll: true});
    cards[at].scrollIntoView({block: cards[at].offsetHeight > innerHeight ? "start" : "nearest"});
  };
  for (const [index, card] of cards.entries()) card.addEventListener("focusin", () => { at = index; });
  if (asked && at >= 0) go(at);

  // Nothing is decided about a card that is not visibly chosen: the first key then only chooses it.
  const within = (selector) => {
    if (at < 0) go(0);
    else return cards[at]?.querySelector(selector);
  };
  const press = (action) => within(`form.decide button[value="${action}"]`)?.click();
  const undo = () => {
    const button = cards[at]?.querySelector("form.decide button[value=undo]");
    (button ?? document.querySelector(".done button[value=undo]"))?.click();
  };
  const does = {
    j: () => go(at + 1),
    k: () => go(at - 1),
    a: () => press("approve"),
    r: () => press("reject"),
    p: () => press("postpone"),
    u: undo,
    m: () => within("select[name=to]")?.focus(),
    x: () => within(".tick")?.click(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (field) {
      if (event.key === "Escape") go(at);
      else if (event.key === "Enter" && field.matches("select[name=to]")) {
        event.preventDefault();
        press("map");
      }
      return;
    }
    if (Object.hasOwn(does, event.key)) {
      event.preventDefault();
      does[event.key]();
    }
  });

  // A second click while the first is under way sends nothing.
  for (const form of document.querySelectorAll(".graphrag form[method=post]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
    });
  }
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  const bulk = document.getElementById("bulk");
  const count = () => {
    const ticked = document.querySelectorAll(".tick:checked").length;
    bulk.classList.toggle("some", ticked > 0);
    bulk.querySelector(".ticked").textContent = ticked ? `${ticked} ticked:` : "Nothing is ticked";
    for (const button of bulk.querySelectorAll("button")) button.disabled = !ticked;
  };
  if (bulk) {
    document.addEventListener("change", (event) => { if (event.target.matches(".tick")) count(); });
    addEventListener("pageshow", count);
    count();
  }
})();
