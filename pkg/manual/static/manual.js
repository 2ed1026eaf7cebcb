// The search box. The service performs the search. All pages can be read without this script.
"use strict";
{
  const [box, query, count, found] = ["search", "query", "count", "found"].map(id => document.getElementById(id));
  let asking = new AbortController(); // cancels the request for the previous input

  const item = hit => {
    const link = document.createElement("a"), li = document.createElement("li");
    link.href = hit.at;
    link.textContent = hit.text ?? hit.page;
    if (hit.text) {
      const page = document.createElement("small");
      page.textContent = hit.page;
      link.append(page);
    }
    if (hit.excerpt?.some(text => text)) {
      const excerpt = document.createElement("span");
      excerpt.append(...hit.excerpt.map((text, i) => {
        if (i % 2 === 0) return text;
        const mark = document.createElement("mark");
        mark.textContent = text;
        return mark;
      }));
      link.append(excerpt);
    }
    link.addEventListener("click", close);
    li.append(link);
    return li;
  };
  function close() { found.hidden = true; }
  const say = text => {
    const li = document.createElement("li");
    li.textContent = count.textContent = text;
    found.replaceChildren(li);
  };
  async function search() {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    if (!query.value.trim()) {
      count.textContent = "";
      return close();
    }
    try {
      const answer = await fetch(`/docs/search.json?q=${encodeURIComponent(query.value)}`, { signal });
      if (!answer.ok) throw new Error(`the search answered ${answer.status}`);
      const hits = await answer.json();
      if (signal.aborted) return;
      if (hits.length) {
        found.replaceChildren(...hits.map(item));
        count.textContent = `${hits.length} found`;
      } else {
        say("Nothing found");
      }
    } catch {
      if (signal.aborted) return;
      say("The search is not responding. Try again.");
    }
    found.hidden = false;
  }
  let searched = Promise.resolve(); // resolves when the newest search is done
  query.addEventListener("input", () => { searched = search(); });
  query.addEventListener("focus", () => { searched = search(); });
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
    } else if (e.key === "Enter" && document.activeElement === query) {
      searched.then(() => found.querySelector("a")?.click()); // the hits shown may be for an earlier input
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
