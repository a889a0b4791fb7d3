// A cell that is pointed at, or reached by touch, shows its partners. The slider walks through the steps.
// `root` contains the explanation. It can be an element or the document, which the arrow keys concern.

function walkThrough(root, steps) {
  const pictures = [...root.querySelectorAll(".picture svg")]; // for wide and for narrow screens
  const all = (selector) => pictures.flatMap((svg) => [...svg.querySelectorAll(selector)]);
  const cells = all("g.cell");
  const moves = all(".move");
  const values = all("text.value[data-array]");
  const keyOf = ({ dataset }) => `${dataset.array}|${dataset.at}`;
  const small = all("text.was");
  const final = new Map(values.map((text) => [keyOf(text), text.textContent]));

  function light(cell) {
    const numbers = new Set(cell ? cell.dataset.moves.split(" ").filter(Boolean) : []);
    for (const other of cells) {
      other.classList.toggle("partner", numbers.size > 0 && other.dataset.moves.split(" ").some((n) => numbers.has(n)));
    }
    for (const svg of pictures) svg.classList.toggle("lit", numbers.size > 0);
    for (const move of moves) move.classList.toggle("shown", numbers.has(move.dataset.move));
  }
  for (const svg of pictures) {
    svg.addEventListener("pointerover", (event) => light(event.target.closest("g.cell")));
    svg.addEventListener("pointerleave", () => light(null));
  }

  const walk = root.querySelector(".walk");
  if (!walk || !steps.list.length) return;
  const slider = walk.querySelector("input");
  const [first, back, next, last] = walk.querySelectorAll("button");
  const say = root.querySelector(".say");
  const items = [...root.querySelectorAll(".trace li")];
  const count = steps.list.length;

  function setTexts(now) {
    const texts = new Map(now === null ? final : [...final, ...Object.entries(steps.start)]);
    for (let n = 0; now !== null && n < now; n += 1) {
      for (const [key, text] of Object.entries(steps.list[n].after)) texts.set(key, text);
    }
    for (const text of values) text.textContent = texts.get(keyOf(text));
    for (const element of small) element.style.visibility = now === null || now === count ? "" : "hidden";
  }

  // An element that no step has written yet.
  function mark(cell, isPending) {
    cell.classList.toggle("pending", isPending);
    for (const text of values) if (keyOf(text) === keyOf(cell)) text.classList.toggle("pending", isPending);
  }

  function show(now) {
    slider.value = now;
    slider.setAttribute("aria-valuetext", now ? `step ${now} of ${count}` : "before the first step");
    for (const svg of pictures) svg.classList.add("walking");
    setTexts(now);
    for (const move of moves) {
      const number = Number(move.dataset.move);
      move.classList.toggle("now", number === now);
      move.classList.toggle("done", number < now);
    }
    const numbers = String(now);
    for (const cell of cells) {
      const own = cell.dataset.moves.split(" ").filter(Boolean);
      cell.classList.toggle("partner", own.includes(numbers));
      const isOutput = cell.dataset.array === "output" && own.length > 0;
      mark(cell, isOutput && own.every((n) => Number(n) > now));
    }
    items.forEach((item, n) => {
      if (n + 1 === now) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    const list = items[0] && items[0].parentElement;
    if (now > 0 && list) list.scrollTop = items[now - 1].offsetTop - list.offsetTop - 40;
    say.textContent = now ? `${now} of ${count}: ${steps.list[now - 1].text}` : steps.before;
    first.disabled = back.disabled = now === 0;
    next.disabled = last.disabled = now === count;
  }

  walk.hidden = false;
  slider.max = count;
  slider.addEventListener("input", () => show(Number(slider.value)));
  first.addEventListener("click", () => show(0));
  back.addEventListener("click", () => show(Math.max(0, Number(slider.value) - 1)));
  next.addEventListener("click", () => show(Math.min(count, Number(slider.value) + 1)));
  last.addEventListener("click", () => show(count));
  walk.querySelector(".all").addEventListener("click", () => {
    slider.value = count;
    for (const svg of pictures) svg.classList.remove("walking");
    setTexts(null);
    for (const cell of cells) {
      cell.classList.remove("partner");
      mark(cell, false);
    }
    for (const item of items) item.removeAttribute("aria-current");
    say.textContent = steps.whole;
    first.disabled = back.disabled = false;
    next.disabled = last.disabled = true;
  });
  root.addEventListener("keydown", (event) => {
    if (event.target === slider || event.ctrlKey || event.metaKey || event.altKey) return;
    const turn = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!turn) return;
    event.preventDefault();
    show(Math.min(count, Math.max(0, Number(slider.value) + turn)));
  });
  slider.value = count;
  say.textContent = steps.whole;
  next.disabled = last.disabled = true;
}
