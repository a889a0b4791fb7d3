// Copying: of a page from a file, browsers may refuse the clipboard; then the old way, then by hand.

async function copyText(text, button) {
  const said = (words) => {
    byId("said").textContent = words;
    button.textContent = words;
    setTimeout(() => {
      button.textContent = button.dataset.label;
    }, 2000);
  };
  button.dataset.label ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    said("Copied");
  } catch {
    said(copyBySelection(text) ? "Copied" : "Press Ctrl+C");
  }
}

function copyBySelection(text) {
  const area = byId("to-copy");
  area.hidden = false;
  area.value = text;
  area.select();
  const copied = document.execCommand("copy");
  if (copied) area.hidden = true;
  return copied;
}
