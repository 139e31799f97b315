// Give each heading of a table of class "sortable" a button that sorts the rows by its column.
// A cell is sorted by the number that its text begins with, or else by the text.
// Empty cells come last in both directions.
(function () {
  "use strict";

  const words = new Intl.Collator("en", { numeric: true });

  function key(row, column) {
    const text = row.cells[column].textContent.trim();
    if (text === "" || text === "–") return null;
    const number = Number.parseFloat(text.replace("−", "-"));
    return Number.isNaN(number) ? text : number;
  }

  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : words.compare(String(a), String(b));
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
