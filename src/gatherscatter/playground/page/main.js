// From the address to the page and back.

// Carry out a change of the state and show the form again.
function change(edit) {
  edit();
  showPicker();
  showInputs();
  showAttributes();
  changed();
}

// The reader has changed the state.
function changed() {
  recompute();
  announce();
  clearTimeout(addressing);
  addressing = setTimeout(keepAddress, 200); // browsers refuse one that changes with every key
}

let addressing = 0;

function keepAddress() {
  history.replaceState(null, "", `#${fragmentOf(state)}`);
}

function copyLink(event) {
  keepAddress();
  copy(location.href, event.target);
}

// Copy a text, and say on the button whether it worked. A field holds the text if the reader must copy it by hand.
async function copy(text, button) {
  const field = byId("to-copy");
  const select = () => {
    field.hidden = false;
    field.value = text;
    field.select();
  };
  const copied = await copyText(text, select);
  if (copied) field.hidden = true;
  button.dataset.label ??= button.textContent;
  byId("said").textContent = button.textContent = copied ? "Copied" : "Press Ctrl+C";
  setTimeout(() => {
    button.textContent = button.dataset.label;
  }, 2000);
}

// Show the call that a fragment describes: a link, an example. An invalid fragment does not change the page.
function take(fragment) {
  byId("link-mistake").textContent = "";
  try {
    const next = stateOf(fragment);
    change(() => {
      state = next;
    });
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    byId("link-mistake").textContent = `This link can't be shown: ${error.message}.`;
  }
}

const START = "onnx.GatherND";

function start() {
  fillOperators();
  const asked = location.hash.slice(1);
  take(firstExample(table.ops.findLast((row) => familyName(row) === START)));
  if (asked) take(asked); // over the first example, if it makes sense
  addEventListener("hashchange", followAddress);
  byId("copy-link").addEventListener("click", copyLink);
  byId("copy-python").addEventListener("click", (event) => copy(byId("python").textContent, event.target));
  const count = () => view.plan?.groups.length ?? 0;
  byId("step").addEventListener("input", (event) => goTo(Number(event.target.value)));
  byId("back").addEventListener("click", () => goTo(view.step === null ? count() - 1 : Math.max(view.step - 1, 0)));
  byId("forth").addEventListener("click", () => goTo(view.step === null ? 1 : Math.min(view.step + 1, count())));
  byId("all").addEventListener("click", () => goTo(null));
  for (const type of ["pointerover", "pointerleave"]) byId("picture").addEventListener(type, point);
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) < 1) return;
    width = entry.contentRect.width;
    drawPicture();
  }).observe(byId("picture"));
}

// For tests: show the fragment of a link, and read the answer of the page.
window.playground = {
  show: take,
  fragment: () => fragmentOf(state),
  answer() {
    if (view.fault) return { error: view.fault instanceof Fault ? view.fault.kind : null, text: view.fault.message };
    const { type, shape, values } = view.result;
    return { type, shape, values: values.map((element) => elementText(type, element)) };
  },
};

function followAddress() {
  const fragment = location.hash.slice(1);
  if (fragment && fragment !== fragmentOf(state)) take(fragment);
}

start();
