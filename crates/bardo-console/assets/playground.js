// The playground: one request in any dialect to one model, or to two side by side.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const { usd, count, ms, make, say } = window.bardo;
  const form = document.getElementById("play");
  const $ = (query, from = document) => from.querySelector(query);
  const csrf = $("meta[name=csrf]").content;
  const arms = Object.fromEntries(["a", "b"].map((name) => [name, $(`[data-arm=${name}]`)]));
  let running = [];
  let language = "curl";

  const PATHS = { chat: "/v1/chat/completions", messages: "/v1/messages", responses: "/v1/responses" };
  const value = (name) => form.elements[name].value.trim();

  // The body of the request, as a client would write it.
  const body = (model) => {
    const [system, prompt, dialect] = ["system", "prompt", "dialect"].map(value);
    const max = Number(value("max")) || 1024;
    const request = { model };
    if (dialect === "messages") {
      request.max_tokens = max;
      if (system) request.system = system;
      request.messages = [{ role: "user", content: prompt }];
    } else if (dialect === "responses") {
      request.max_output_tokens = max;
      if (system) request.instructions = system;
      request.input = prompt;
    } else {
      request.max_tokens = max;
      request.messages = [...(system ? [{ role: "system", content: system }] : []), { role: "user", content: prompt }];
    }
    if (value("temperature") !== "") request.temperature = Number(value("temperature"));
    if (form.elements.stream.checked) request.stream = true;
    const hints = {};
    if (value("subsystem")) hints.subsystem = value("subsystem");
    if (form.elements.cache.checked) hints.cache = "default";
    if (Object.keys(hints).length) request.bardo = hints;
    return request;
  };

  const headers = (more = {}) => {
    const key = value("key");
    const all = { "content-type": "application/json", "x-csrf-token": csrf, ...more };
    if (key) all.authorization = `Bearer ${key}`;
    if (value("dialect") === "messages") all["anthropic-version"] = "2023-06-01";
    return all;
  };

  // Text and thinking in a piece of a stream, or in a whole answer.
  const words = (data) => {
    const delta = data.choices?.[0]?.delta ?? data.choices?.[0]?.message;
    if (delta) return { text: delta.content, thinking: delta.reasoning_content ?? delta.reasoning };
    if (data.type === "content_block_delta") return { text: data.delta.text, thinking: data.delta.thinking };
    if (data.type === "response.output_text.delta") return { text: data.delta };
    if (data.type?.startsWith("response.reasoning") && data.type.endsWith(".delta")) return { thinking: data.delta };
    if (Array.isArray(data.content)) {
      const of = (kind, name) => data.content.filter((part) => part.type === kind).map((part) => part[name]).join("");
      return { text: of("text", "text"), thinking: of("thinking", "thinking") };
    }
    if (Array.isArray(data.output)) {
      return { text: data.output.flatMap((item) => item.content ?? []).map((part) => part.text ?? "").join("") };
    }
    return {};
  };

  const failure = (data) => data.error?.message ?? (data.type === "error" ? JSON.stringify(data) : null) ?? (data.type === "response.failed" ? data.response?.error?.message : null);

  const show = (arm, { text, thinking }) => {
    const output = $("[data-output]", arm);
    for (const [part, name] of [[thinking, "thinking"], [text, "answer"]]) {
      if (!part) continue;
      let last = output.lastElementChild;
      if (last?.className !== name) output.append(last = make("span", { className: name }));
      last.append(part);
    }
  };

  const fact = (name, text) => make("span", { textContent: `${name}: ${text}` });

  const run = async (name, model, stop) => {
    const arm = arms[name];
    const output = $("[data-output]", arm);
    const meta = $("[data-meta]", arm);
    $("[data-name]", arm).textContent = model;
    output.replaceChildren();
    meta.replaceChildren("waiting…");
    const started = performance.now();
    let first = null;
    let figures = null;
    let answer;
    const told = (data) => {
      const error = failure(data);
      if (error) output.append(make("span", { className: "badge bad", textContent: "error" }), ` ${error}`);
      const found = words(data);
      if ((found.text || found.thinking) && first === null) first = performance.now() - started;
      show(arm, found);
    };
    try {
      answer = await fetch(`/console/api${PATHS[value("dialect")]}`, { method: "POST", headers: headers(), body: JSON.stringify(body(model)), signal: stop.signal });
      if (answer.headers.get("content-type")?.startsWith("text/event-stream")) {
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
          const { done, value: piece } = await reader.read();
          if (done) break;
          rest += piece;
          const lines = rest.split("\n");
          rest = lines.pop();
          for (const line of lines) {
            if (line.startsWith(": bardo ")) figures = JSON.parse(line.slice(8));
            if (!line.startsWith("data:") || line.includes("[DONE]")) continue;
            try { told(JSON.parse(line.slice(5))); } catch { /* not every line is JSON */ }
          }
        }
      } else {
        const text = await answer.text();
        try { told(JSON.parse(text)); } catch { output.append(text); }
      }
    } catch (error) {
      output.append(make("span", { className: "badge warn", textContent: error.name === "AbortError" ? "stopped" : String(error) }));
    }
    const head = (header) => answer?.headers.get(header);
    const id = figures?.request_id ?? head("x-request-id");
    const cost = figures?.cost ?? head("x-bardo-cost");
    const facts = [];
    if (answer && !answer.ok) facts.push(fact("Status", answer.status));
    if (head("x-bardo-provider") || figures) facts.push(fact("Provider", figures?.provider ?? head("x-bardo-provider")), fact("Model", figures?.model ?? head("x-bardo-model")));
    if (cost != null) facts.push(fact("Cost", usd(Number(cost))));
    if (figures) facts.push(fact("Tokens", `${count(figures.input_tokens ?? 0)} in, ${count(figures.output_tokens ?? 0)} out`));
    if (head("x-bardo-cache")) facts.push(fact("Cache", figures?.cache ?? head("x-bardo-cache")));
    if (first !== null) facts.push(fact("First token", ms(first)));
    facts.push(fact("Total", ms(performance.now() - started)));
    if (id && answer?.ok) facts.push(make("a", { href: `/console/requests/${encodeURIComponent(id)}`, textContent: "Receipt" }));
    meta.replaceChildren(...facts);
  };

  const models = () => [["a", value("a")], ["b", value("b")]].filter(([, model]) => model);

  const busy = (on) => {
    $("[data-run]").disabled = on;
    $("[data-stop]").disabled = !on;
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    running = models().map(() => new AbortController());
    busy(true);
    say("Sending");
    await Promise.all(models().map(([name, model], index) => run(name, model, running[index])));
    busy(false);
    say("The answer is complete");
  });
  form.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") form.requestSubmit($("[data-run]"));
  });
  $("[data-stop]").addEventListener("click", () => running.forEach((one) => one.abort()));

  $("[data-explain-play]").addEventListener("click", async () => {
    const place = $("[data-explained-play]");
    const answer = await fetch("/console/api/v1/route/explain", { method: "POST", headers: headers({ accept: "text/plain" }), body: JSON.stringify(body(value("a"))) }).catch((error) => error);
    place.textContent = answer instanceof Response ? await answer.text() : String(answer);
    place.parentElement.hidden = false;
    place.scrollIntoView({ block: "nearest" });
  });

  // ---- the request as code
  const indent = (text, by) => text.replace(/\n/g, `\n${" ".repeat(by)}`);
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const python = (data) => JSON.stringify(data, null, 4).replace(/: true\b/g, ": True").replace(/: false\b/g, ": False").replace(/: null\b/g, ": None");
  const CODE = {
    curl: (url, request) => [
      `curl -N ${url} \\`,
      '  -H "Authorization: Bearer $BARDO_KEY" \\',
      ...(value("dialect") === "messages" ? ['  -H "anthropic-version: 2023-06-01" \\'] : []),
      '  -H "Content-Type: application/json" \\',
      `  -d ${quoted(JSON.stringify(request, null, 2))}`,
    ].join("\n"),
    python: (url, request) => `import os\nimport requests  # pip install requests\n\nanswer = requests.post(\n    "${url}",\n    headers={"Authorization": f"Bearer {os.environ['BARDO_KEY']}"},\n    json=${indent(python(request), 4)},\n    stream=True,\n)\nfor line in answer.iter_lines(decode_unicode=True):\n    print(line)\n`,
    js: (url, request) => `const answer = await fetch("${url}", {\n  method: "POST",\n  headers: {\n    authorization: \`Bearer \${process.env.BARDO_KEY}\`,\n    "content-type": "application/json",\n  },\n  body: JSON.stringify(${indent(JSON.stringify(request, null, 2), 2)}),\n});\nfor await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {\n  process.stdout.write(piece);\n}\n`,
  };
  const code = () => {
    $("[data-code]").textContent = CODE[language](form.dataset.base + PATHS[value("dialect")], body(value("a")));
    arms.b.hidden = !value("b");
  };
  const tabs = [...document.querySelectorAll("[data-language]")];
  const choose = (tab) => {
    language = tab.dataset.language;
    for (const one of tabs) {
      one.setAttribute("aria-selected", String(one === tab));
      one.tabIndex = one === tab ? 0 : -1;
    }
    document.getElementById("play-code").setAttribute("aria-labelledby", tab.id);
    code();
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(index + step + tabs.length) % tabs.length];
      choose(next);
      next.focus();
    });
  });
  form.addEventListener("input", code);
  choose(tabs[0]);
});
