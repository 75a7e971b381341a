import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import pino from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { boundedSource, createDiscovery } from "./discovery.ts";
import { createSources } from "./sources/index.ts";

describe("bounded source", () => {
  test("F20 a source that heeds no signal is given up in time; the next call waits for the same read", async () => {
    const { signal } = new AbortController();
    const answers = [Promise.withResolvers<never[]>(), Promise.withResolvers<never[]>()];
    let reads = 0;
    const read = boundedSource({ name: "deaf", read: () => answers[reads++]?.promise ?? never }, 50);
    const timeout = { name: "TimeoutError" };
    await expect(read(signal)).rejects.toMatchObject(timeout);
    await expect(read(signal)).rejects.toMatchObject(timeout);
    expect(reads).toBe(1);
    const last = read(signal);
    answers[0]?.resolve([]);
    expect(await last).toEqual({ servers: [], refused: [] });
    answers[1]?.resolve([]);
    await read(signal);
    expect(reads).toBe(2);
  });

  const never = new Promise<never>(() => undefined);
});

describe("discovery", () => {
  interface Answer {
    status?: number;
    body: string;
    etag?: string;
    location?: string;
  }

  let answer: Answer | "hang";
  let asked: { url?: string; etag?: string; origin?: string; authorization?: string }[];
  let statuses: number[];
  let server: http.Server;
  let base: string;
  let folder: string;

  beforeEach(async () => {
    [asked, statuses] = [[], []];
    server = http.createServer((request, response) => {
      const { "if-none-match": etag, origin, authorization } = request.headers;
      asked.push({ url: request.url, etag, origin, authorization });
      if (answer === "hang") return;
      const status = answer.etag && answer.etag === etag ? 304 : (answer.status ?? 200);
      statuses.push(status);
      response
        .writeHead(status, {
          ...(answer.etag ? { etag: answer.etag } : {}),
          ...(answer.location ? { location: answer.location } : {}),
        })
        .end(status === 304 ? "" : answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    folder = await mkdtemp(path.join(os.tmpdir(), "atelier-discovery-"));
  });

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });

  /** What does not answer for so long hangs. */
  const hangMs = 1_000;

  function open(
    env: Partial<Record<"COMFYUI_URLS" | "COMFYUI_DISCOVERY" | "IOPAINT_URLS", string[]>> & {
      SERVER_HEADERS?: string;
    },
    timeoutMs = 30_000,
  ) {
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => lines.push(line) });
    const none = { COMFYUI_URLS: [], COMFYUI_DISCOVERY: [], IOPAINT_URLS: [] };
    const { sources, problems } = createSources({ ...none, ...env });
    const discovery = createDiscovery({ sources, log, timeoutMs });
    return { lines, problems, read: () => discovery.read(new AbortController().signal) };
  }

  const list = (...servers: unknown[]) => JSON.stringify({ version: 1, servers });
  const urls = (found: readonly { url: string }[]) => found.map(({ url }) => url);

  test("A10 a JSON list over HTTP is asked for by its ETag and answered from memory while it is the same", async () => {
    answer = {
      etag: '"one"',
      body: list(
        { id: "gpu1", url: "/comfy/gpu1", weight: 2, tags: ["flux"] },
        { id: "gpu2", url: "http://me:secret@gpu2:8188/", drain: true },
        "gpu3:8188",
        `${base.replace("//", "//me:secret@")}/own`,
        { url: "http://paint:8080", engine: "iopaint" },
      ),
    };
    const { read } = open({ COMFYUI_DISCOVERY: [`${base.replace("//", "//who:what@")}/backends.json`] });
    const first = await read();
    const plain = { engine: "comfyui", headers: {}, query: "", weight: 1, isBackup: false, isDrained: false };
    const sources = [`${base}/backends.json`];
    const authorization = `Basic ${Buffer.from("me:secret").toString("base64")}`;
    const who = `Basic ${Buffer.from("who:what").toString("base64")}`;
    expect(first).toEqual([
      { ...plain, url: `${base}/comfy/gpu1`, weight: 2, headers: { authorization: who }, sources },
      { ...plain, url: "http://gpu2:8188", isDrained: true, headers: { authorization }, sources },
      { ...plain, url: "http://gpu3:8188", sources },
      { ...plain, url: `${base}/own`, headers: { authorization }, sources },
      { ...plain, url: "http://paint:8080", engine: "iopaint", sources },
    ]);
    expect(await read()).toEqual(first);
    expect(statuses).toEqual([200, 304]);
    expect(asked.map(({ etag }) => etag)).toEqual([undefined, '"one"']);
    expect(asked.every(({ origin, authorization }) => origin === undefined && authorization === who)).toBe(
      true,
    );
    answer = { etag: '"two"', body: list("gpu3:8188") };
    expect(urls(await read())).toEqual(["http://gpu3:8188"]);
  });

  test.each<[string, Answer | "hang"]>([
    ["answers 502 with HTML", { status: 502, body: "<html>Bad Gateway</html>" }],
    ["is no JSON", { body: '{"servers": [' }],
    ["has another form", { body: '{"servers": [{"address": 1}]}' }],
    ["has a wrong address", { body: list("ftp://gpu") }],
    ["has a second version", { body: '{"version": 2, "servers": []}' }],
    ["is endless", { body: `{"servers": [${" ".repeat(2_000_000)}]}` }],
    ["never answers", "hang"],
  ])("A10 the last good list holds while its source %s, which is logged once", async (_, fault) => {
    answer = { body: list("gpu1:8188") };
    const given = { COMFYUI_DISCOVERY: [`${base}/backends.json`] };
    const { read, lines } = open(given, fault === "hang" ? hangMs : undefined);
    await expect.poll(async () => urls(await read())).toEqual(["http://gpu1:8188"]);
    // Of a read that took longer than a hang may.
    lines.length = 0;
    answer = fault;
    expect(urls(await read())).toEqual(["http://gpu1:8188"]);
    expect(urls(await read())).toEqual(["http://gpu1:8188"]);
    expect(lines).toHaveLength(1);
    answer = { body: list() };
    await expect.poll(() => read()).toEqual([]);
  });

  test("A10 a list that leads elsewhere by a redirect is not followed there", async () => {
    answer = { status: 302, location: `${base}/elsewhere`, body: list("gpu1:8188") };
    const { read, lines } = open({ COMFYUI_DISCOVERY: [`${base}/backends.json`] });
    expect(await read()).toEqual([]);
    expect(asked.map(({ url }) => url)).toEqual(["/backends.json"]);
    expect(lines.join()).toContain("HTTP 302");
  });

  test("A10 the query of a list's address is sent and shown nowhere", async () => {
    answer = { body: list("gpu1:8188") };
    const { read, lines } = open({
      COMFYUI_DISCOVERY: [`${base}/list?token=hush`, `nginx-plus:${base}/plus?token=hush`],
    });
    expect(await read()).toMatchObject([{ url: "http://gpu1:8188", sources: [`${base}/list`] }]);
    expect(new Set(asked.map(({ url }) => url))).toEqual(new Set(["/list?token=hush", "/plus?token=hush"]));
    expect(lines).toHaveLength(1);
    expect(lines.join()).not.toContain("hush");
  });

  test("A10 an entry that cannot be read costs nobody the others; it is logged once, without its credentials", async () => {
    const bad = [{ address: 1 }, "ftp://me:hush@gpu", { url: "gpu3:8188", weight: -1 }];
    answer = { body: list("gpu1:8188", ...bad, "gpu2:8188") };
    const { read, lines } = open({ COMFYUI_DISCOVERY: [base] });
    for (let times = 0; times < 2; times++)
      expect(urls(await read())).toEqual(["http://gpu1:8188", "http://gpu2:8188"]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/entry 2: url: .*entry 3: Not an address.*entry 4: weight: /);
    expect(lines[0]).not.toContain("hush");
  });

  test("A10 a broken list with an ETag is read again although nothing changed", async () => {
    answer = { etag: '"x"', body: "{}" };
    const { read } = open({ COMFYUI_DISCOVERY: [base] });
    await read();
    await read();
    expect(asked.map(({ etag }) => etag)).toEqual([undefined, undefined]);
  });

  test("A10 an nginx file is read again each time; while it is damaged or gone its last list holds", async () => {
    const file = path.join(folder, "comfy.conf");
    const { read } = open({ COMFYUI_DISCOVERY: [`nginx:${file}#comfy?prefix=comfy/`] });
    expect(await read()).toEqual([]);
    await writeFile(
      file,
      "upstream x { server 10.0.0.9; } upstream comfy { server 10.0.0.1:8188 weight=2; server localhost:8188 backup; }",
    );
    const both = [
      { url: "http://10.0.0.1:8188/comfy", weight: 2, isBackup: false, sources: [`nginx:${file}#comfy`] },
      { url: "http://localhost:8188/comfy", weight: 1, isBackup: true },
    ];
    expect(await read()).toMatchObject(both);
    await writeFile(file, "upstream comfy { server 10.0.0.1:81");
    expect(await read()).toMatchObject(both);
    await writeFile(file, "upstream another { server 10.0.0.1; }");
    expect(await read()).toMatchObject(both);
    await rm(file);
    expect(await read()).toMatchObject(both);
    await writeFile(file, "upstream comfy { server 10.0.0.2; }");
    expect(urls(await read())).toEqual(["http://10.0.0.2/comfy"]);
  });

  test("F20 a file that hangs holds up no other source and is read when it can be", async () => {
    const file = path.join(folder, "pipe.conf");
    // Whoever opens a pipe that nobody writes to waits without end.
    execFileSync("mkfifo", [file]);
    answer = { body: list("gpu1:8188") };
    const { read, lines } = open({ COMFYUI_DISCOVERY: [`nginx:${file}`, base] }, hangMs);
    for (let times = 0; times < 2; times++)
      await expect.poll(async () => urls(await read())).toEqual(["http://gpu1:8188"]);
    expect(lines.filter((line) => line.includes(file))).toHaveLength(1);
    await writeFile(file, "upstream comfy { server 10.0.0.1:8188; }");
    await rm(file);
    await writeFile(file, "upstream comfy { server 10.0.0.2:8188; }");
    const piped = /^http:\/\/10\.0\.0\.[12]:8188$/;
    await expect.poll(async () => urls(await read())).toContainEqual(expect.stringMatching(piped));
  });

  test("A10 the API of NGINX Plus is read; what it keeps from its clients drains", async () => {
    const peer = (server: string, state: string, more = {}) => ({
      id: 1,
      name: server,
      server,
      state,
      ...more,
    });
    answer = {
      body: JSON.stringify({
        peers: [
          peer("10.0.0.1:8188", "up", { weight: 5, backup: false }),
          peer("10.0.0.2:8188", "unavail", { backup: true }),
          peer("10.0.0.3:8188", "draining"),
          peer("10.0.0.4:8188", "down"),
          peer("unix:/run/comfy.sock", "up"),
          peer("no address", "up"),
          { server: 5 },
        ],
        zone: "comfy",
      }),
    };
    const { read } = open({ COMFYUI_DISCOVERY: [`nginx-plus:${base}/api/9/http/upstreams/comfy`] });
    const found = await read();
    expect(found.map(({ url, weight, isBackup, isDrained }) => [url, weight, isBackup, isDrained])).toEqual([
      ["http://10.0.0.1:8188", 5, false, false],
      ["http://10.0.0.2:8188", 1, true, false],
      ["http://10.0.0.3:8188", 1, false, true],
      ["http://10.0.0.4:8188", 1, false, true],
    ]);
  });

  test("A10 lists are merged by address, each server with all its sources", async () => {
    answer = {
      body: list({ url: "http://gpu1:8188/", weight: 4 }, { url: "http://gpu2:8188", drain: true }),
    };
    const { read } = open({
      COMFYUI_URLS: ["me:secret@gpu1:8188", "gpu2:8188", "gpu2:8188"],
      COMFYUI_DISCOVERY: [base],
      IOPAINT_URLS: ["paint:8080"],
    });
    const found = await read();
    expect(found.map(({ url, sources, weight, isDrained }) => [url, sources, weight, isDrained])).toEqual([
      ["http://gpu1:8188", ["COMFYUI_URLS", base], 4, false],
      ["http://gpu2:8188", ["COMFYUI_URLS", base], 1, true],
      ["http://paint:8080", ["IOPAINT_URLS"], 1, false],
    ]);
    expect(found[0]?.headers).toHaveProperty("authorization");
  });

  test.each(["gpu1:8188", "nginx:", "nginx:/x?scheme=ftp", "nginx-plus:ftp://x"])(
    "A10 the discovery entry %s is one problem, and the other entries work",
    async (entry) => {
      const { problems, read } = open({
        COMFYUI_DISCOVERY: [entry],
        COMFYUI_URLS: ["two words", "gpu1:8188"],
      });
      expect(problems).toEqual([
        { what: "COMFYUI_URLS", reason: "Not an address of a server: two words" },
        { what: "COMFYUI_DISCOVERY", reason: expect.any(String) },
      ]);
      expect(urls(await read())).toEqual(["http://gpu1:8188"]);
    },
  );

  const headersFor = (given: Record<string, Record<string, string>>) => JSON.stringify(given);

  test("A10 headers are given by address: the longest path wins, and no other host gets them", async () => {
    const { read, problems } = open({
      SERVER_HEADERS: headersFor({
        "https://gpu.lan": { "X-API-Key": "one", Cookie: "a=1; b=2" },
        "https://gpu.lan/comfy/2": { "x-api-key": "two", Authorization: "Bearer three" },
        "10.0.0.1:8188": { Authorization: "Bearer four" },
      }),
      COMFYUI_URLS: [
        "https://gpu.lan/comfy/1",
        "https://me:secret@gpu.lan/comfy/2?token=a%2Fb",
        "https://gpu.lan/comfy/22",
        "http://gpu.lan/comfy/2",
        "https://gpu.lan.evil.example/comfy/2",
        "10.0.0.1:81",
      ],
      IOPAINT_URLS: ["10.0.0.1:8188"],
    });
    const cookie = "a=1; b=2";
    expect(problems).toEqual([]);
    expect((await read()).map(({ headers, query }) => [headers, query])).toEqual([
      [{ "x-api-key": "one", cookie }, ""],
      [{ "x-api-key": "two", cookie, authorization: "Bearer three" }, "token=a%2Fb"],
      [{ "x-api-key": "one", cookie }, ""],
      [{}, ""],
      [{}, ""],
      [{}, ""],
      [{ authorization: "Bearer four" }, ""],
    ]);
  });

  test("A10 lists give headers and queries too, and are asked with their own", async () => {
    answer = {
      body: list(
        { url: "http://gpu1:8188?token=t1", headers: { "X-Key": "k1" } },
        { url: "/own" },
        { url: "gpu2:8188", headers: { "X-Key": "line\nbreak" } },
      ),
    };
    const file = path.join(folder, "comfy.conf");
    await writeFile(file, "upstream comfy { server 10.0.0.1:8188; }");
    const { read, lines } = open({
      SERVER_HEADERS: headersFor({ [base]: { Authorization: "Bearer list" } }),
      COMFYUI_DISCOVERY: [`${base}/backends.json?access=t0`, `nginx:${file}#comfy?query=token%3Dt2`],
    });
    const found = await read();
    expect(asked).toMatchObject([{ url: "/backends.json?access=t0", authorization: "Bearer list" }]);
    expect(found.map(({ url, headers, query }) => [url, headers, query])).toEqual([
      ["http://gpu1:8188", { "x-key": "k1" }, "token=t1"],
      [`${base}/own`, { authorization: "Bearer list" }, ""],
      ["http://10.0.0.1:8188", {}, "token=t2"],
    ]);
    expect(found.flatMap(({ sources }) => sources).join()).not.toMatch(/t0|t2/);
    expect(lines.join()).toContain("has a value for X-Key that no header can hold");
    expect(lines.join()).not.toMatch(/t0|t1|t2|k1|break|Bearer/);
  });

  test.each([
    ["{", "must be a JSON object"],
    ['{"gpu:8188":"Bearer secret"}', "must be a JSON object"],
    [headersFor({ "two words": { "X-Key": "secret" } }), "Not an address of a server: two words"],
    [headersFor({ "me:secret@gpu?key=secret": { "Bad Name": "secret" } }), "whose name HTTP does not allow"],
    [headersFor({ "gpu:8188": { "X-Key": "sec\r\nret" } }), "has a value for X-Key"],
    [headersFor({ "gpu:8188": { "Content-Length": "1" } }), "which each request sets itself"],
  ])("A10 the headers %s are one problem that tells no value", (text, reason) => {
    const { problems } = open({ SERVER_HEADERS: text, COMFYUI_URLS: ["gpu1:8188"] });
    expect(problems).toEqual([{ what: "SERVER_HEADERS", reason: expect.stringContaining(reason) }]);
    expect(problems[0]?.reason).not.toContain("sec");
  });
});
