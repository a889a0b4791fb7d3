// Click a heading to sort its table by that column. Click again to reverse the order.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const body = head.closest("table").tBodies[0];
    const column = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[column];
      return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
    };
    const missing = (row) => row.cells[column].dataset.value === "";
    const rows = [...body.rows].sort((a, b) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b);
      const order = key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0;
      return down ? -order : order;
    });
    body.append(...rows);
  });
}
