// Copy a text, and say whether it worked. Browsers may refuse the clipboard to a page from a file. Then this tries the
// older way; `select` selects the text, so that the reader can copy it by hand if that fails, too.
async function copyText(text, select) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    select();
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
