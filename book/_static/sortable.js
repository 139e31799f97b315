// Tables of class "sortable" get a button in each heading that sorts their lines by that column.
// Without this script they are just tables. A cell is sorted by its data-sort, a number, if it has
// one, or else by its text; cells with nothing to sort by come last either way.
(function () {
  "use strict";

  const words = new Intl.Collator("en", { numeric: true });

  function key(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    const text = cell.textContent.trim();
    return text === "" || text === "–" ? null : text;
  }

  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : words.compare(a, b);
  }

  function sort(table, heading, buttons) {
    const falling = heading.getAttribute("aria-sort") === "ascending";
    const column = heading.cellIndex, body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, key: key(row, column) }));
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return falling ? compare(b.key, a.key) : compare(a.key, b.key);
    });
    body.append(...rows.map((one) => one.row));
    for (const button of buttons) button.parentElement.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
  }

  function start(table) {
    const headings = [...table.tHead.rows[0].cells];
    const buttons = headings.map((heading) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.onclick = () => sort(table, heading, buttons);
      return button;
    });
  }

  const all = () => document.querySelectorAll("table.sortable").forEach(start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
  else all();
})();
