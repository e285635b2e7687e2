// What pages do in the browser: theme, charts, command palette, live feed, copying, confirmation.
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (query, from = document) => from.querySelector(query);
  const $$ = (query, from = document) => [...from.querySelectorAll(query)];
  const make = (name, members = {}, ...children) => {
    const element = Object.assign(document.createElement(name), members);
    element.append(...children);
    return element;
  };

  // ---- theme: before the first paint
  const THEMES = ["system", "light", "dark"];
  const stored = () => {
    try { return localStorage.getItem("bardo-theme") || "system"; } catch { return "system"; }
  };
  const wear = (theme) => {
    if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme;
  };
  wear(stored());

  const themeSwitch = () => {
    const button = $("[data-theme-switch]");
    if (!button) return;
    const show = () => { button.textContent = `Theme: ${stored()}`; };
    button.addEventListener("click", () => {
      const next = THEMES[(THEMES.indexOf(stored()) + 1) % THEMES.length];
      try { localStorage.setItem("bardo-theme", next); } catch { /* it lasts for this page */ }
      wear(next);
      show();
      drawCharts(document, true);
    });
    show();
  };

  // ---- figures
  const usd = (number) => {
    const size = Math.abs(number);
    if (size === 0) return "$0";
    if (size >= 1) return "$" + number.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    return "$" + number.toFixed(size >= 0.01 ? 4 : 6).replace(/0+$/, "");
  };
  const count = (number) => {
    for (const [unit, letter] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]]) {
      if (Math.abs(number) >= unit) return +(number / unit).toPrecision(3) + letter;
    }
    return String(+number.toFixed(2));
  };
  const ms = (number) => (number >= 1000 ? +(number / 1000).toPrecision(3) + " s" : Math.round(number) + " ms");
  const WORDS = { usd, count, ms, percent: (number) => +number.toFixed(1) + "%" };
  const two = (number) => String(number).padStart(2, "0");
  const clock = (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const stamp = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(date)}`;

  const times = (from) => {
    for (const element of $$("time[data-ms]", from)) {
      const date = new Date(Number(element.dataset.ms));
      element.title = date.toISOString();
      element.dateTime = date.toISOString();
      element.textContent = stamp(date);
    }
  };

  // ---- charts
  const color = (name) => {
    const probe = make("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const faint = (text) => text.replace(/^rgb\((.*)\)$/, "rgba($1, 0.16)");

  // Bars stand on those before; what is drawn is the sum, what is told is the part.
  const stacked = (series) => {
    const below = [];
    return series.map((one) => {
      if (one.kind !== "bars") return one.values;
      return one.values.map((value, index) => (below[index] = (below[index] || 0) + (value || 0)));
    });
  };

  const draw = (element) => {
    const { unit, x, series } = JSON.parse(element.dataset.chart);
    const words = WORDS[unit];
    const order = series.map((_, index) => index);
    const sums = stacked(series);
    // The highest stack is drawn first.
    order.sort((a, b) => (series[a].kind === "bars" && series[b].kind === "bars" ? b - a : 0));
    const muted = color("--muted");
    const line = color("--line");
    const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const day = (date) => `${two(date.getMonth() + 1)}-${two(date.getDate())}`;
    const moment = (date, step) => (step >= 86400 || (date.getHours() === 0 && date.getMinutes() === 0) ? day(date) : `${two(date.getHours())}:${two(date.getMinutes())}`);
    const dates = { ...axis, space: 64, size: 26, values: (_, ticks, _axis, _space, step) => ticks.map((tick) => moment(new Date(tick * 1000), step)) };
    const tip = make("div", { className: "plot-tip", hidden: true });
    const rows = order.map((index) => {
      const stroke = color(`--c${index % 5}`);
      const { label, kind } = series[index];
      if (kind === "bars") {
        return { label, stroke, fill: stroke, width: 0, paths: uPlot.paths.bars({ size: [0.7, 40], radius: 0.1 }), points: { show: false } };
      }
      return { label, stroke, width: 1.6, fill: kind === "area" ? faint(stroke) : undefined, points: { show: series[index].values.filter((value) => value != null).length < 4, size: 5, fill: stroke }, spanGaps: false };
    });
    const options = {
      width: element.clientWidth,
      height: element.clientHeight,
      legend: { show: false },
      padding: [8, 6, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] } },
      axes: [dates, { ...axis, size: 54, values: (_, ticks) => ticks.map(words) }],
      series: [{}, ...rows],
      hooks: {
        setCursor: [(plot) => {
          const at = plot.cursor.idx;
          tip.hidden = at == null || plot.cursor.left < 0;
          if (tip.hidden) return;
          const lines = series.map((one) => `${one.label}: ${one.values[at] == null ? "–" : words(one.values[at])}`);
          tip.textContent = [stamp(new Date(x[at] * 1000)), ...lines].join("\n");
          const left = plot.cursor.left + 66;
          tip.style.top = "6px";
          tip.style.left = `${Math.max(0, left + tip.offsetWidth > element.clientWidth ? left - tip.offsetWidth - 24 : left)}px`;
        }],
      },
    };
    element.replaceChildren();
    const plot = new uPlot(options, [x, ...order.map((index) => sums[index])], element);
    element.append(tip);
    element.plot = plot;
  };

  const resized = typeof ResizeObserver === "undefined" ? null : new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.plot && target.clientWidth !== target.plot.width) {
        target.plot.setSize({ width: target.clientWidth, height: target.clientHeight });
      }
    }
  });

  const drawCharts = (from, again = false) => {
    if (typeof uPlot === "undefined") return;
    for (const element of $$("[data-chart]", from)) {
      if (element.plot && !again) continue;
      element.plot?.destroy();
      draw(element);
      resized?.observe(element);
    }
  };

  // ---- words for screen readers
  const say = (text) => {
    const place = $("#said");
    if (place) place.textContent = text;
  };

  // ---- copying
  const copying = () => document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = button.dataset.copy ? document.getElementById(button.dataset.copy) : button.parentElement.querySelector("code");
    const text = source.value ?? source.textContent;
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(source);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Press Ctrl+C";
    }
    say(button.textContent);
    setTimeout(() => { button.textContent = before; }, 1600);
  });

  // ---- confirmation
  const confirming = () => document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.dataset.confirm || form.dataset.confirmed) return;
    event.preventDefault();
    const submitter = event.submitter;
    const dialog = make("dialog");
    dialog.setAttribute("aria-label", "Confirm");
    const yes = make("button", { className: "danger", textContent: submitter?.textContent || "Continue", type: "button" });
    const no = make("button", { textContent: "Cancel", type: "button" });
    dialog.append(make("div", { className: "dialog-body" }, make("p", { textContent: form.dataset.confirm }), make("p", { className: "row" }, yes, no)));
    document.body.append(dialog);
    no.addEventListener("click", () => dialog.close());
    yes.addEventListener("click", () => { form.dataset.confirmed = "yes"; dialog.close(); form.requestSubmit(submitter); });
    dialog.addEventListener("close", () => { dialog.remove(); submitter?.focus(); });
    dialog.showModal();
    no.focus();
  });

  // ---- command palette
  const palette = () => {
    const dialog = $("#palette");
    if (!dialog) return;
    const query = $("#palette-query");
    const list = $("#palette-found");
    const pages = $$("nav a[data-words]").map((link) => ({
      label: link.textContent, href: link.getAttribute("href"), words: `${link.textContent} ${link.dataset.words}`.toLowerCase(), kind: "page",
    }));
    let chosen = 0;
    let found = [];
    let asked = 0;
    const show = () => {
      chosen = Math.min(chosen, Math.max(found.length - 1, 0));
      list.replaceChildren(...found.map((one, index) => {
        const row = make("li", { id: `palette-${index}` }, make("span", { textContent: one.label }), make("span", { className: "kind", textContent: one.kind }));
        row.addEventListener("click", () => { location.href = one.href; });
        row.setAttribute("role", "option");
        row.setAttribute("aria-selected", String(index === chosen));
        return row;
      }));
      query.setAttribute("aria-activedescendant", found.length ? `palette-${chosen}` : "");
      $(`#palette-${chosen}`)?.scrollIntoView({ block: "nearest" });
    };
    const search = async () => {
      const text = query.value.trim();
      const parts = text.toLowerCase().split(/\s+/).filter(Boolean);
      found = pages.filter((page) => parts.every((part) => page.words.includes(part)));
      if (text) found.push({ label: `Find “${text}” in requests`, href: `/console/requests?q=${encodeURIComponent(text)}`, kind: "search" });
      chosen = 0;
      show();
      if (text.length < 2) return;
      const mine = ++asked;
      const answer = await fetch(`/console/search?q=${encodeURIComponent(text)}`).catch(() => null);
      if (mine !== asked || !answer?.ok) return;
      found = [...found.slice(0, -1), ...(await answer.json()).found, found.at(-1)];
      show();
    };
    const open = () => {
      if (dialog.open) return;
      query.value = "";
      dialog.showModal();
      search();
      query.focus();
    };
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); open(); }
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); open(); }
    });
    $$("[data-palette]").forEach((button) => button.addEventListener("click", open));
    query.addEventListener("input", search);
    query.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && found.length) { event.preventDefault(); chosen = (chosen + step + found.length) % found.length; show(); }
      // The browser would empty the field first.
      if (event.key === "Escape") { event.preventDefault(); dialog.close(); }
      if (event.key === "Enter" && found[chosen]) { event.preventDefault(); location.href = found[chosen].href; }
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  };

  // ---- the live feed
  const OUTCOMES = { finished: "good", aborted: "warn", failed: "bad", unknown: "bad" };
  const live = () => {
    const body = $("[data-live]");
    if (!body) return;
    const state = $("[data-live-state]");
    const empty = $("[data-live-empty]");
    const source = new EventSource(body.dataset.live);
    const mark = (on, words) => { state.textContent = words; state.classList.toggle("on", on); };
    source.onopen = () => mark(true, "connected");
    source.onerror = () => mark(false, "disconnected; trying again");
    const row = (event) => {
      const one = JSON.parse(event.data);
      const cell = (content, name = "") => make("td", { className: name }, content);
      const link = make("a", { href: `/console/requests/${encodeURIComponent(one.id)}`, textContent: clock(new Date(one.at_ms)) });
      const badge = make("span", { className: `badge ${OUTCOMES[one.status] || ""}`, textContent: one.cache === "hash" || one.cache === "semantic" ? "cached" : one.status });
      const model = make("td", {}, one.model);
      if (one.subsystem) model.append(make("span", { className: "note", textContent: one.subsystem }));
      body.prepend(make("tr", {}, cell(link), cell(badge), model, cell(one.provider, "wide"), cell(one.tokens == null ? "–" : count(one.tokens), "num"), cell(ms(one.ms), "num"), cell(one.cost == null ? "–" : usd(Number(one.cost)), "num")));
      while (body.rows.length > 25) body.lastElementChild.remove();
      empty.hidden = true;
    };
    source.addEventListener("request", row);
    source.addEventListener("lost", (event) => mark(true, `connected; ${JSON.parse(event.data).lost} events were skipped`));
    addEventListener("pagehide", () => source.close());
  };

  // ---- waiting for the first request of a key
  const waiting = () => {
    const place = $("[data-wait-key]");
    if (!place) return;
    const source = new EventSource("/console/live");
    source.addEventListener("request", (event) => {
      const one = JSON.parse(event.data);
      if (place.dataset.waitKey && one.key !== place.dataset.waitKey) return;
      place.classList.add("received");
      const link = make("a", { href: `/console/requests/${encodeURIComponent(one.id)}`, textContent: "See the request" });
      $("[data-wait-words]", place).replaceChildren(`Received: ${one.model}, ${one.status}, ${ms(one.ms)}. `, link);
      say("Your first request was received");
      source.close();
    });
    addEventListener("pagehide", () => source.close());
  };

  // The key of an input in the texts to copy.
  const filling = () => {
    const input = $("[data-fill-key]");
    if (!input) return;
    const texts = $$("[data-holds-key]").map((place) => [place, place.textContent]);
    const fill = () => {
      const key = input.value.trim() || "bardo_sk_…";
      for (const [place, text] of texts) place.textContent = text.replaceAll("bardo_sk_…", key);
      for (const place of $$("[data-key]")) place.textContent = key;
    };
    input.addEventListener("input", fill);
    fill();
  };

  const menu = () => {
    const button = $("[data-menu]");
    button?.addEventListener("click", () => {
      const open = $("#nav").classList.toggle("open");
      button.setAttribute("aria-expanded", String(open));
    });
  };

  // Sliders and selects that send their form when they change.
  const sending = () => document.addEventListener("change", (event) => {
    if (event.target.matches("[data-send]")) event.target.form.requestSubmit();
  });
  const sliders = (from) => {
    for (const slider of $$("input[type=range][data-shows]", from)) {
      const place = document.getElementById(slider.dataset.shows);
      const show = () => { place.textContent = slider.value; };
      slider.addEventListener("input", show);
      show();
    }
  };

  // A request that is explained with the caller's key, which stays in this page.
  const explaining = () => document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.dataset.explain) return;
    event.preventDefault();
    const place = document.getElementById(form.dataset.explained);
    const key = form.elements.key?.value.trim();
    const headers = { "content-type": "application/json", accept: "text/plain", "x-csrf-token": $("meta[name=csrf]").content };
    if (key) headers.authorization = `Bearer ${key}`;
    const answer = await fetch(form.dataset.explain, { method: "POST", headers, body: form.elements.body.value }).catch((error) => error);
    place.hidden = false;
    place.textContent = answer instanceof Response ? await answer.text() : String(answer);
  });

  const arrive = (from) => { times(from); drawCharts(from); sliders(from); };
  document.addEventListener("DOMContentLoaded", () => {
    themeSwitch(); menu(); palette(); copying(); confirming(); sending(); explaining(); live(); waiting(); filling(); arrive(document);
    document.addEventListener("htmx:afterSettle", (event) => arrive(event.target.parentElement || document));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawCharts(document, true));
  });
  window.bardo = { usd, count, ms, make, say };
})();
