"use strict";
// Tables are complete without this: it only lets rows be filtered.
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
    const wanted = input.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !texts[place].includes(wanted);
      shown += row.hidden ? 0 : 1;
    });
    output.value = wanted ? `${shown} of ${rows.length} rows` : "";
  });
}
