import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer, type Server, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  checkRedirect,
  checkUrl,
  isHostEntry,
  isOwnNetwork,
  isPublicAnswer,
  resultHosts,
} from "./public-addresses.ts";
import { isAppError } from "./errors.ts";
import { safeFetch, type SafeFetchOptions } from "./safe-fetch.ts";

/** IPv4 addresses of networks that are not public, in the usual form. */
const private4 = [
  ..."0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.254 127.0.0.1".split(
    " ",
  ),
  ..."127.0.0.53 127.1.2.3 127.255.255.254 168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2".split(
    " ",
  ),
  ..."172.16.0.1 172.20.1.1 172.31.255.254 192.0.0.1 192.0.0.192 192.0.2.1 192.31.196.1".split(" "),
  ..."192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.254 192.175.48.1 198.18.0.1 198.19.255.254".split(" "),
  ..."198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255".split(" "),
];

/** Other spellings of the same: decimal, octal, hexadecimal, short, encoded, of other scripts. */
const spelled4 = [
  ..."2130706433 017700000001 0x7f000001 0x7F.1 127.1 127.0.1 0177.0.0.1 0177.0.0.01 0x7f.0x0.0x0.0x1".split(
    " ",
  ),
  ..."127.0.0.1. 127.1. 0 0x0 0.0 00 3232235521 0xc0a80001 0300.0250.0.1 192.168.1 2852039166".split(" "),
  ..."0xa9fea9fe 0251.0376.0251.0376 169.254.43518 10.1 012.0.0.1 0x0a000001 167772161 1.1.1.1.127.0.0.1".split(
    " ",
  ),
  "%31%32%37.0.0.1",
  "127%2e0%2e0%2e1",
  "１２７.0.0.1",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "127．0．0．1",
  "169｡254｡169｡254",
];

const private6 = [
  ...":: ::1 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::2 100::1 1::1 fc00::1 fd00::1".split(
    " ",
  ),
  ..."fdff:ffff::1 fe80::1 fe80::1%25eth0 fe80::1%eth0 febf::1 fec0::1 ff00::1 ff02::1 ff0e::1".split(" "),
  // IPv4 inside of IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP.
  ..."::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:127.0.0.1 0:0:0:0:0:ffff:127.0.0.1 ::ffff:10.0.0.1".split(" "),
  ..."::ffff:169.254.169.254 ::ffff:8.8.8.8 ::127.0.0.1 ::7f00:1 ::8.8.8.8 ::ffff:0:127.0.0.1".split(" "),
  ..."64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::0a00:1 64:ff9b:1::10.0.0.1 64:ff9b:1::8.8.8.8 2002:7f00:1::1".split(
    " ",
  ),
  ..."2002:a00:1:: 2002:808:808:: 2001:0:7f00:1:: 2001:0:4136:e378:8000:63bf:3fff:fdd2".split(" "),
  ..."2001:10::1 2001:20::1 2001:2::1 2001:db8::1 3fff::1 3ffe::1 5f00::1 2620:4f:8000::1".split(" "),
  "fe80::5efe:127.0.0.1",
];

const names = [
  ..."localhost LOCALHOST localhost.localdomain foo.localhost ip6-localhost printer.local".split(" "),
  ..."metadata metadata.google.internal kubernetes.default.svc.cluster.local nas.lan wiki.corp".split(" "),
  ..."router.home intranet x.intranet db.private x.home.arpa localhost. 127.0.0.1.nip.io. ｌｏｃａｌｈｏｓｔ".split(
    " ",
  ),
];

const forms = [
  // Only a name server writes such an address.
  "http://[64:ff9b::8.8.8.8]/",
  ...[...private4, ...spelled4, ...names].map((host) => `http://${host}/`),
  ...private6.map((address) => `http://[${address}]/`),
  ...["127.0.0.1", "[::1]", "169.254.169.254"].flatMap((host) => [
    `https://${host}/`,
    `https://${host}:8443/`,
    `https://${host}:22/`,
    `https://user:secret@${host}/`,
    `https://93.184.215.14@${host}/`,
    `https://${host}\\@93.184.215.14/`,
    `https:${host}/`,
    `https:\\\\${host}\\`,
    `\thttps://${host}/`,
    `//${host}/`,
    `ftp://${host}/`,
    `ws://${host}/`,
    `gopher://${host}:6379/_INFO`,
  ]),
  "https://user@example.com/",
  "https://example.com:22/",
  "https://example.com:3000/",
  "https://example.com:6379/",
  "https://example.com:99999/",
  "https://example.com./",
  "https://",
  "https:///",
  "https://[/",
  "https://[::1/",
  "https://exa mple.com/",
  "https://example.com%00.evil.com/",
  "file:///etc/passwd",
  "data:text/plain,hello",
  "javascript:alert(1)",
  "blob:https://example.com/1",
  "unix:/var/run/docker.sock",
  "about:blank",
  "",
  "example.com",
];

/** Every attempt of this process to connect, whatever its port. */
const attempts: string[] = [];
const record = (message: unknown) => {
  const { socket } = message as { socket: Socket };
  socket.on("connectionAttempt", (address: string, port: number) => attempts.push(`${address} ${port}`));
};
beforeAll(() => subscribe("net.client.socket", record));
afterAll(() => void unsubscribe("net.client.socket", record));
afterEach(() => void attempts.splice(0));

/** Counts the connections that arrive at this machine. */
let canary: Server;
let port: number;
let arrived = 0;
beforeAll(async () => {
  canary = createServer((socket) => {
    arrived += 1;
    socket.resume().end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  await new Promise<void>((resolve) => canary.listen(0, "127.0.0.1", resolve));
  port = (canary.address() as { port: number }).port;
});
afterAll(() => new Promise<void>((resolve) => void canary.close(() => resolve())));

const bounds = () => ({ signal: new AbortController().signal, timeoutMs: 5_000, maxBytes: 1_000 });
const everyName = (address: string) => () =>
  Promise.resolve([{ address, family: address.includes(":") ? 6 : 4 }]);

/** What a fetch of a URL throws. */
const codeOf = async (url: string, more: Partial<SafeFetchOptions>) => {
  const thrown: unknown = await safeFetch(url, { ...bounds(), ...more }).catch((error: unknown) => error);
  return `${isAppError(thrown) ? thrown.code : String(thrown)} ${url}`;
};

describe("S4 private addresses", () => {
  test(`at least 120 forms are refused without a connection (${forms.length})`, async () => {
    expect(new Set(forms).size).toBeGreaterThanOrEqual(120);
    const codes = await Promise.all(
      forms.map((form) => codeOf(form, { allowHttp: true, resolve: everyName("127.0.0.1") })),
    );
    expect(codes).toEqual(forms.map((form) => `url_refused ${form}`));
    expect(attempts).toEqual([]);
  });

  test("a public name that leads to a private address is refused, whatever its other addresses are", async () => {
    const others = [...private4, ...private6.filter((address) => !address.includes("%25"))];
    const codes = await Promise.all(
      others.map((address) => {
        const one = { address, family: address.includes(":") ? 6 : 4 };
        const found = [{ address: "93.184.215.14", family: 4 }, one];
        return codeOf(`https://example.com/${address}`, { resolve: () => Promise.resolve(found) });
      }),
    );
    expect(codes).toEqual(others.map((address) => `url_refused https://example.com/${address}`));
    expect(attempts).toEqual([]);
  });

  test("an IPv4 host that a network with IPv6 alone reaches through NAT64 is as public as its address", () => {
    const reached = ["64:ff9b::8.8.8.8", "64:ff9b::5db8:d70e", "0064:FF9B:0:0:0:0:0808:0808"];
    const translated = private4.map((address) => `64:ff9b::${address}`);
    const others = ["64:ff9b::", "64:ff9b::1", "64:ff9b::1:808:808", "64:ff9b::8.8.8.8%1", ...private6];
    expect([...reached, ...translated, ...others].filter(isPublicAnswer)).toEqual(reached);
  });

  test("a name that changes its address between two questions reaches no private one", async () => {
    const answers = ["93.184.215.14", "127.0.0.1"];
    let asked = 0;
    const controller = new AbortController();
    const resolve = () => {
      const address = answers[Math.min(asked, 1)] ?? "";
      asked += 1;
      // The first connection goes to the public address that was checked; nothing listens for it here.
      if (asked === 1) setImmediate(() => controller.abort());
      return Promise.resolve([{ address, family: 4 }]);
    };
    const first = { ...bounds(), signal: controller.signal, allowHttp: true, resolve };
    await expect(safeFetch("http://rebind.example.com:8080/", first)).rejects.toMatchObject({
      name: "AbortError",
    });
    const second = { ...bounds(), allowHttp: true, resolve };
    await expect(safeFetch("http://rebind.example.com:8080/", second)).rejects.toMatchObject({
      code: "url_refused",
    });
    expect(asked).toBe(2);
    expect(attempts.filter((attempt) => !attempt.startsWith("93.184.215.14"))).toEqual([]);
    expect(arrived).toBe(0);
  });

  test("public addresses and names pass", () => {
    const hosts = [
      "93.184.215.14",
      "172.32.0.1",
      "100.128.0.1",
      "[2606:4700::1111]",
      "example.com",
      "localhost.org",
    ];
    for (const host of hosts) expect(checkUrl(`https://${host}/a?b#c`, {}).protocol).toBe("https:");
    expect(() => checkUrl("http://example.com/", {})).toThrow(/only https/);
  });

  test("a host that the operator allows is reached, at its port alone if one is named", async () => {
    const url = `http://127.0.0.1:${port}/`;
    const reached = await safeFetch(url, { ...bounds(), allowPrivate: [`127.0.0.1:${port}`] });
    expect([reached.status, reached.body.toString()]).toEqual([200, "ok"]);
    expect(attempts).toEqual([`127.0.0.1 ${port}`]);
    const named = { ...bounds(), allowPrivate: ["nas.lan"], resolve: everyName("127.0.0.1") };
    expect((await safeFetch(`http://NAS.lan:${port}/`, named)).status).toBe(200);
    const others = [`127.0.0.1:${port + 1}`, "127.0.0.2", "10.0.0.1", "localhost"];
    await expect(safeFetch(url, { ...bounds(), allowPrivate: others })).rejects.toMatchObject({
      code: "url_refused",
    });
    arrived = 0;
  });

  test("a setting names hosts, with a port or without", () => {
    const entries = [
      "nas.lan",
      "nas.lan:8080",
      "10.0.0.5",
      "10.0.0.5:80",
      "fd00::1",
      "[fd00::1]",
      "[fd00::1]:8080",
    ];
    expect(entries.filter((entry) => !isHostEntry(entry))).toEqual([]);
    const wrong = [
      "http://nas.lan",
      "nas.lan/x",
      "*",
      "nas lan",
      "nas.lan:",
      "nas.lan:99999",
      "user@nas.lan",
    ];
    expect(wrong.filter(isHostEntry)).toEqual([]);
  });

  test("a redirect leads neither from https to http nor to a private address", () => {
    const from = new URL("https://example.com/a/b");
    expect(checkRedirect("../c", from, {}).href).toBe("https://example.com/c");
    expect(checkRedirect("//example.org/c", from, {}).href).toBe("https://example.org/c");
    expect(() => checkRedirect("http://example.com/", from, { allowHttp: true })).toThrow(/https to http/);
    expect(() => checkRedirect("http://nas.lan/", from, { allowPrivate: ["nas.lan"] })).toThrow(
      /https to http/,
    );
    for (const form of forms.filter((text) => text.startsWith("http://")))
      expect(() => checkRedirect(form, from, { allowHttp: true })).toThrow(/not allowed/);
  });
});

test("M6 results of a public API come from public hosts, those of an own server from its own port", () => {
  const named = ["cdn.lan:9000"];
  const mayFetch = (base: string, url: string) => {
    try {
      return Boolean(checkUrl(url, { allowPrivate: resultHosts(base, named) }));
    } catch {
      return false;
    }
  };
  const publicApi = "https://api.replicate.com/v1";
  expect(mayFetch(publicApi, "https://replicate.delivery/a.png")).toBe(true);
  const refused = [
    "http://replicate.delivery/a.png",
    "http://api.replicate.com/a.png",
    "https://10.0.0.1/a.png",
    "https://127.0.0.1/a.png",
    "https://cdn.lan:9000/a.png",
    "http://cdn.lan:9000/a.png",
    "https://api.replicate.com:5432/a.png",
    "https://[::1]/a.png",
  ];
  for (const url of refused) expect([url, mayFetch(publicApi, url)]).toEqual([url, false]);
  const own = [
    ["http://127.0.0.1:4550/v1", "http://127.0.0.1:4550/a.png"],
    ["http://localai.lan/v1", "http://localai.lan/a.png"],
    ["https://localai.lan/v1", "https://localai.lan/a.png"],
    ["http://[::1]:8080", "http://[::1]:8080/a.png"],
    ["http://127.0.0.1:4550/v1", "http://cdn.lan:9000/a.png"],
    ["http://127.0.0.1:4550/v1", "https://replicate.delivery/a.png"],
  ] as const;
  for (const [base, url] of own) expect([url, mayFetch(base, url)]).toEqual([url, true]);
  const others = [
    ["http://127.0.0.1:4550/v1", "http://127.0.0.1:4590/a.png"],
    ["http://127.0.0.1:4550/v1", "http://2130706433:4590/a.png"],
    ["http://127.0.0.1:4550/v1", "http://127.0.0.1/a.png"],
    ["http://localai.lan/v1", "http://localai.lan:5432/a.png"],
    ["https://localai.lan/v1", "https://localai.lan:6379/a.png"],
    ["https://localai.lan/v1", "http://localai.lan/a.png"],
    ["http://127.0.0.1:4550/v1", "http://localhost:4550/a.png"],
    ["http://127.0.0.1:4550/v1", "http://replicate.delivery/a.png"],
  ] as const;
  for (const [base, url] of others) expect([url, mayFetch(base, url)]).toEqual([url, false]);
  // A name that the operator's own name server leads into the house: it has to be named.
  expect(resultHosts("https://cdn.lan:9000", named)).toContain("cdn.lan:9000");
});

test("own network: this computer, private addresses, names that only a network knows, and hosts of the operator", () => {
  const named = ["gpu.example.com:8000", "203.0.113.7"];
  const own = [
    "http://127.0.0.1:11434/v1",
    "http://localhost:11434/v1",
    "http://LOCALHOST.:11434/v1",
    "http://[::1]:8080",
    "http://[fd12::5]:8080",
    "http://192.168.1.20:1234/v1",
    "http://0x7f000001/v1",
    "http://ollama:11434/v1",
    "http://host.docker.internal:11434/v1",
    "http://tower.lan/v1",
    "https://gpu.example.com:8000/v1",
    "http://203.0.113.7/v1",
  ];
  const others = [
    "https://api.openai.com/v1",
    "https://openrouter.ai/api/v1",
    "https://localhost.example.com/v1",
    "https://gpu.example.com/v1",
    "http://8.8.8.8/v1",
    "http://[2606:4700::1111]/v1",
    "https://127.0.0.1.nip.io/v1",
  ];
  for (const url of own) expect([url, isOwnNetwork(url, named)]).toEqual([url, true]);
  for (const url of others) expect([url, isOwnNetwork(url, named)]).toEqual([url, false]);
});
