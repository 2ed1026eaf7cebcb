// The search of titles and headings. Pages are read without it.
"use strict";
{
  const [box, query, count, found] = ["search", "query", "count", "found"].map(id => document.getElementById(id));
  const most = 12;
  let entries; // a promise of all places, once somebody searches
  const load = () => entries ??= fetch("/docs/search.json").then(r => {
    if (!r.ok) throw new Error(`the index of headings: ${r.status}`);
    return r.json();
  }).catch(err => {
    entries = undefined; // the next letter tries again
    throw err;
  });

  // How well a place fits: the title of a page before a heading, a beginning of a word before its middle. 0: not at all.
  const fit = (e, words) => {
    const text = (e.text ?? e.page).toLowerCase(), whole = `${e.page} ${e.text ?? ""}`.toLowerCase();
    if (!words.every(w => whole.includes(w))) return 0;
    let score = e.text ? 1 : 3;
    for (const w of words) {
      if (text.startsWith(w)) score += 4;
      else if (text.includes(" " + w)) score += 3;
      else if (text.includes(w)) score += 1;
    }
    return score;
  };
  const item = e => {
    const link = document.createElement("a"), li = document.createElement("li");
    link.href = e.at;
    link.textContent = e.text ?? e.page;
    if (e.text) {
      const page = document.createElement("small");
      page.textContent = e.page;
      link.append(page);
    }
    link.addEventListener("click", close);
    li.append(link);
    return li;
  };
  function close() { found.hidden = true; }
  async function search() {
    const asked = query.value, words = asked.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) {
      count.textContent = "";
      return close();
    }
    try {
      const all = await load();
      if (query.value !== asked) return; // another letter has come
      const hits = all.map((e, i) => [fit(e, words), i, e]).filter(([score]) => score > 0).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
      found.replaceChildren(...hits.slice(0, most).map(([, , e]) => item(e)));
      count.textContent = hits.length ? `${hits.length} found` : "Nothing found";
      if (!hits.length) {
        const nothing = document.createElement("li");
        nothing.textContent = "Nothing found";
        found.append(nothing);
      }
    } catch {
      count.textContent = "The search does not answer. Try again.";
      const failed = document.createElement("li");
      failed.textContent = count.textContent;
      found.replaceChildren(failed);
    }
    found.hidden = false;
  }
  query.addEventListener("input", search);
  query.addEventListener("focus", search);
  box.addEventListener("keydown", e => {
    const links = [...found.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    if (e.key === "Escape") {
      close();
      query.focus();
      close(); // focus has opened it again
    } else if (e.key === "ArrowDown" && links.length) {
      (links[at + 1] ?? links[0]).focus();
    } else if (e.key === "ArrowUp" && at >= 0) {
      (links[at - 1] ?? query).focus();
    } else if (e.key === "Enter" && document.activeElement === query && links.length) {
      links[0].click();
    } else {
      return;
    }
    e.preventDefault();
  });
  document.addEventListener("click", e => { if (!box.contains(e.target)) close(); });
  document.addEventListener("keydown", e => {
    if (e.key === "/" && !e.ctrlKey && !e.metaKey && !e.altKey && document.activeElement !== query) {
      e.preventDefault();
      query.focus();
    }
  });
  box.hidden = false;
}
