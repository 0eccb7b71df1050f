"use strict";
// This script only filters rows; the tables are complete without it.
for (const filter of document.querySelectorAll(".filter")) {
  const input = filter.querySelector("input");
  const output = filter.querySelector("output");
  const rows = [...document.getElementById(input.getAttribute("aria-controls")).rows];
  const texts = rows.map((row) => {
    const links = [...row.querySelectorAll("a.whole")];
    const whole = links.map((link) => document.getElementById(link.hash.slice(1)).textContent);
    return [row.textContent, ...whole].join(" ").toLowerCase();
  });
  filter.hidden = false;
  input.addEventListener("input", () => {
    const query = input.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach((row, index) => {
      row.hidden = !texts[index].includes(query);
      shown += row.hidden ? 0 : 1;
    });
    output.value = query ? `${shown} of ${rows.length} rows` : "";
  });
}
