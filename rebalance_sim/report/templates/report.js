"use strict";
// Without this script, the page shows the groups that matter most and all details; with it, it finds any group.
document.documentElement.classList.add("js");

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

// The table of all groups: a page of rows at a time.
const PAGE = 25;
const LONGEST_NAME = 64;
const LONGEST_CLUSTER = 24;
const PLACES = {
  cluster: 0, group: 1, severity: 2, kinds: 3, members: 4, partitions: 5, assignor: 6, least: 7, most: 8, lag: 9,
  rebalances: 10, downtime: 11, migration: 12, order: 13, owners: 14, anchor: 15,
};
// Where the search finds each kind of term: the part of the terms, and the lists of a group.
const SCOPES = { topic: ["topics", [0, 1]], client: ["clients", [0]], address: ["clients", [1]], library: ["clients", [2]] };
const EVERYWHERE = [["topics", [0, 1]], ["clients", [0, 1, 2]]];
const SUBSCRIBED = 0;

function count(number) {
  return number === null ? "–" : number.toLocaleString("en-US");
}

function seconds(milliseconds) {
  if (milliseconds === null) return "–";
  const shown = milliseconds / 1000;
  return milliseconds === 0 || milliseconds >= 100
    ? `${shown.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`
    : `${shown.toFixed(3)} s`;
}

function shortened(name, longest = LONGEST_NAME) {
  if (name.length <= longest) return name;
  const end = longest / 2;
  return `${name.slice(0, longest - end - 1)}…${name.slice(-end)}`;
}

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function groupTable(data) {
  const body = document.getElementById("group-rows");
  const severalClusters = data.clusters.length > 1;
  const groups = data.rows.map((cells, index) => {
    const group = { index };
    for (const [name, place] of Object.entries(PLACES)) group[name] = cells[place];
    group.cluster = data.clusters[group.cluster];
    group.assignor = group.assignor === null ? null : data.assignors[group.assignor];
    group.migration = data.migrations[group.migration];
    group.owners = data.owners[group.owners];
    group.kinds = group.kinds.map((kind) => data.kinds[kind]);
    group.text = [group.group, severalClusters ? group.cluster : "", group.assignor || "", group.owners, ...group.kinds]
      .join("\n").toLowerCase();
    group.terms = { topics: data.terms.topics.rows[index], clients: data.terms.clients.rows[index] };
    return group;
  });
  const controls = Object.fromEntries(
    ["search", "scope", "severity", "kind", "migration", "reset-filters", "found-groups", "previous", "next", "shown-rows",
      "only-topic", "capped"].map((id) => [id, document.getElementById(`filter-${id}`) || document.getElementById(id)]),
  );
  const state = { sort: null, descending: false, page: 0, found: groups, topics: null };

  function termsLike(part, query) {
    const [{ texts }, low] = [data.terms[part], query.toLowerCase()];
    return new Set([...texts.keys()].filter((number) => texts[number].toLowerCase().includes(low)));
  }

  // The topics that a query names: the whole name of one is this topic alone.
  function topicsLike(query) {
    const whole = data.terms.topics.texts.indexOf(query);
    return whole >= 0 ? new Set([whole]) : termsLike("topics", query);
  }

  function hasTerm(group, part, places, numbers) {
    const lists = group.terms[part];
    return lists !== null && places.some((place) => lists[place].some((number) => numbers.has(number)));
  }

  // Returns whether a group has a query in the terms of a scope or, without one, anywhere.
  function matching(scope, query) {
    const low = query.toLowerCase();
    const wanted = (scope ? [SCOPES[scope]] : EVERYWHERE).map(([part, places]) => [
      part, places, scope === "topic" ? topicsLike(query) : termsLike(part, query),
    ]);
    return (group) => !query || (!scope && group.text.includes(low))
      || wanted.some(([part, places, numbers]) => hasTerm(group, part, places, numbers));
  }

  function cell(label, text, classes) {
    const all = text === "–" ? `${classes || ""} none` : classes;
    return element("td", { "data-label": label, ...(all ? { class: all } : {}) }, text);
  }

  function nameOf(group) {
    const name = element("bdi", { class: "name", title: group.group }, shortened(group.group));
    const link = element("a", { class: "group-link", href: group.anchor ? `#${group.anchor}` : "#group-other" }, name);
    if (!group.anchor) link.dataset.index = group.index;
    const made = cell("group", link);
    if (state.topics && !hasTerm(group, "topics", [SUBSCRIBED], state.topics)) {
      made.append(" ", element("span", { class: "tag" }, "committed offsets only"));
    }
    if (severalClusters) made.append(element("span", { class: "muted" }, ` (${shortened(group.cluster, LONGEST_CLUSTER)})`));
    return made;
  }

  function findingOf(group) {
    const severity = group.severity || "ok";
    const badge = element("span", { class: `badge ${severity}` },
      severity === "ok" ? "OK" : severity[0].toUpperCase() + severity.slice(1));
    const made = cell("finding", badge);
    made.append(` ${group.kinds[0] || ""}`);
    if (group.kinds.length > 1) {
      made.append(element("span", { class: "muted", title: group.kinds.slice(1).join(", ") },
        ` +${group.kinds.length - 1}`));
    }
    return made;
  }

  function rowOf(group) {
    const balance = group.most === null ? "–"
      : group.least === group.most ? count(group.most) : `${count(group.least)}–${count(group.most)}`;
    const assignor = cell("assignor", group.assignor === null ? "–" : element("bdi", { class: "name" }, group.assignor));
    return element("tr", {}, nameOf(group), findingOf(group), cell("members", count(group.members), "n"),
      cell("partitions", count(group.partitions), "n"), assignor, cell("per member", balance, "n"),
      cell("lag", count(group.lag), "n"), cell("rebalances (simulated)", count(group.rebalances), "n simulated"),
      cell("downtime (simulated)", seconds(group.downtime), "n simulated"), cell("migration", group.order === null ? group.migration || "–" : `${group.migration}, order\u00a0${count(group.order)}`));
  }

  function show() {
    const first = state.page * PAGE;
    body.replaceChildren(...state.found.slice(first, first + PAGE).map(rowOf));
    const last = Math.min(first + PAGE, state.found.length);
    controls["shown-rows"].textContent = last ? `${count(first + 1)}–${count(last)} of ${count(state.found.length)}` : "";
    controls.previous.disabled = state.page === 0;
    controls.next.disabled = last >= state.found.length;
  }

  const KEYS = [
    (group) => group.group, (group) => group.index, (group) => group.members, (group) => group.partitions,
    (group) => group.assignor, (group) => (group.most === null ? null : group.most - group.least),
    (group) => group.lag, (group) => group.rebalances, (group) => group.downtime,
    (group) => `${group.migration} ${String(group.order || 0).padStart(9, "0")}`,
  ];

  function ordered(found) {
    if (state.sort === null) return found;
    const key = KEYS[state.sort];
    const sign = state.descending ? -1 : 1;
    return [...found].sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      if (a === b) return one.index - other.index;
      if (a === null) return 1;
      if (b === null) return -1;
      return (a < b ? -1 : 1) * sign;
    });
  }

  function update() {
    const [query, scope] = [controls.search.value.trim(), controls.scope.value];
    const matches = matching(scope, query);
    state.topics = scope === "topic" && query ? topicsLike(query) : null;
    const [severity, kind, migration] = ["severity", "kind", "migration"].map((name) => controls[name].value);
    const found = groups.filter((group) => matches(group)
      && (!severity || (group.severity || "none") === severity)
      && (!kind || group.kinds.includes(kind))
      && (!migration || group.migration === migration));
    state.found = ordered(found);
    state.page = 0;
    const all = `${count(groups.length)} ${groups.length === 1 ? "group" : "groups"}`;
    controls["found-groups"].value = found.length === groups.length ? all : `${count(found.length)} of ${all}`;
    const isTopic = !scope && query && data.terms.topics.texts.includes(query);
    controls["only-topic"].parentElement.hidden = !isTopic;
    controls["only-topic"].textContent = isTopic ? `Show only the groups that consume topic ${shortened(query)}` : "";
    show();
  }

  function searchTopic(topic) {
    controls["reset-filters"].click();
    controls.search.value = topic;
    controls.scope.value = "topic";
    update();
  }

  // What the search does not know: terms for which the page has no room.
  function capped() {
    const [topics, clients] = ["topics", "clients"].map((part) => groups.filter(({ terms }) => terms[part] === null
      || terms[part].at(-1) > 0).length);
    const missing = [topics ? `some topics of ${count(topics)}` : "",
      clients ? `some client ids, hosts or libraries of ${count(clients)}` : ""].filter(Boolean).join(" and ");
    controls.capped.hidden = !missing;
    controls.capped.textContent = `The page has no room for ${missing} of these groups: the table verdicts has more.`;
  }

  const heads = [...document.querySelectorAll("#group-table thead tr:last-child th")];
  heads.forEach((head, place) => {
    const button = element("button", { type: "button", title: head.title }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      state.descending = state.sort === place ? !state.descending : numeric;
      state.sort = place;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      update();
    });
  });
  for (const [name, values] of [["kind", data.kinds], ["migration", data.migrations]]) {
    controls[name].append(...[...values].sort().filter(Boolean).map((value) => element("option", { value }, value)));
  }
  controls.search.addEventListener("input", update);
  controls["only-topic"].addEventListener("click", () => searchTopic(controls.search.value.trim()));
  for (const name of ["scope", "severity", "kind", "migration"]) controls[name].addEventListener("change", update);
  controls["reset-filters"].addEventListener("click", () => {
    for (const name of ["search", "scope", "severity", "kind", "migration"]) controls[name].value = "";
    update();
  });
  for (const [name, step] of [["previous", -1], ["next", 1]]) {
    controls[name].addEventListener("click", () => {
      state.page += step;
      show();
    });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-kind], a[data-index], a[data-topic]");
    if (link === null) return;
    if (link.dataset.kind) {
      controls["reset-filters"].click();
      controls.kind.value = link.dataset.kind;
      update();
    } else if (link.dataset.topic) {
      searchTopic(link.dataset.topic);
    } else {
      showOther(groups[link.dataset.index]);
    }
  });
  document.querySelector(".controls").hidden = false;
  capped();
  document.querySelector(".pages").hidden = groups.length <= PAGE;
  update();
}

function quoted(name) {
  return /^[\w./@%+=:-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\"'\"'")}'`;
}

function showOther(group) {
  document.getElementById("group-other").hidden = false;
  document.getElementById("group-other-title").textContent = shortened(group.group);
  const command = document.getElementById("other-command");
  // Only the placeholder: the folder of the run may contain the same word. In a notebook, a call has it as a string.
  command.textContent = command.dataset.command
    .replace(/( --groups )NAME( --out page)$/,
      (_, before, after) => `${before.trimEnd()}${group.group.startsWith("-") ? "=" : " "}${quoted(group.group)}${after}`)
    .replace(/^show\(audited, "NAME"\)$/, () => `show(audited, ${JSON.stringify(group.group)})`);
}

function follow() {
  const target = location.hash.startsWith("#group-") ? document.getElementById(location.hash.slice(1)) : null;
  const title = target && target.querySelector("h3");
  const details = document.getElementById("details");
  if (details) details.classList.toggle("details-open", title !== null);
  if (title) title.focus({ preventScroll: true });
}

// The full text of a shortened name is in a list that is folded; not all browsers open it.
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details");
  if (folded) folded.open = true;
}

addEventListener("hashchange", unfold);
unfold();

const data = document.getElementById("group-data");
if (data) {
  groupTable(JSON.parse(data.textContent));
  addEventListener("hashchange", follow);
  follow();
}
