// Copying: of a page from a file, browsers may refuse the clipboard; then the old way, then by hand.

function copyButton(text, element) {
  const button = h("button", { type: "button", class: "copy" }, "Copy");
  const status = h("span", { role: "status" });
  button.addEventListener("click", async () => {
    const copied = await copy(text, element);
    status.textContent = copied ? "Copied" : "Selected: press Ctrl+C";
  });
  return [button, status];
}

async function copy(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    const exactly = (event) => {
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
    };
    document.addEventListener("copy", exactly);
    const copied = document.execCommand("copy");
    document.removeEventListener("copy", exactly);
    return copied;
  }
}
