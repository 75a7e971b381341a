// @module-tag all
import { once } from "node:events";
import { Agent, type IncomingMessage, request as requestPlain } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { createApiKey } from "@atelier/server/accounts";
import { addSpeaker, ask } from "@atelier/server/assistant";
import { proxiedName, type Proxy, startProxy } from "@atelier/testing/proxies";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { startWeb, type Web } from "@atelier/testing/web";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePort } from "../process/tools.ts";

type Options = Omit<RequestOptions, "headers"> & { readonly headers?: Readonly<Record<string, string>> };

const clientAddress = "127.0.0.2";
let fixture: TestServices;
beforeAll(async () => {
  fixture = await createTestServices();
});
afterAll(() => fixture.close());

describe.each(["nginx", "caddy"] as const)("the shipped file of a real %s", (kind) => {
  let web: Web;
  let proxy: Proxy;
  beforeAll(async () => {
    const port = await findFreePort();
    const APP_URL = `https://${proxiedName}:${port}`;
    web = await startWeb(fixture.services, { HOST: "127.0.0.1", APP_URL, TRUSTED_PROXIES: "127.0.0.1" });
    proxy = await startProxy(kind, { port, studioPort: web.port });
  });
  afterAll(async () => {
    await proxy.destroy();
    web.child.kill("SIGKILL");
  });

  const open = (path: string, { headers, ...options }: Options = {}) =>
    request({
      host: "127.0.0.1",
      // Not the address of the proxy, which is trusted.
      localAddress: clientAddress,
      port: proxy.port,
      path,
      servername: proxiedName,
      rejectUnauthorized: false,
      agent: false,
      headers: { host: `${proxiedName}:${proxy.port}`, ...headers },
      ...options,
    });
  const answerTo = async (path: string, options?: Options) => {
    const sent = open(path, options).end();
    const [answer]: IncomingMessage[] = await once(sent, "response");
    if (!answer) throw new Error("no answer");
    return answer;
  };

  test("B7 opens WebSockets and passes their messages", async () => {
    const { services } = fixture;
    const ownerId = await addSpeaker(services.db, kind);
    const { key } = await createApiKey(services, { userId: ownerId, name: "test" });
    const { runId } = await ask(services, { ownerId, text: "What do I like?" });
    await services.db.execute(
      `update assistant_runs set status = 'completed', answer = 'Linen.', ended_at = now(), revision = revision + 1 where id = '${runId}'`,
    );
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      authorization: `Bearer ${key}`,
    };
    const sent = open("/api/ws", { headers }).end();
    const [answer, socket, head]: [IncomingMessage, Duplex, Buffer] = (await once(sent, "upgrade")) as never;
    expect(answer.statusCode).toBe(101);
    let received = String(head);
    for await (const part of socket) {
      received += String(part);
      if (received.includes("}")) break;
    }
    expect(received).toContain(`"request_id":"${runId}"`);
    const refused = open("/api/ws", { headers: { ...headers, authorization: "Bearer nonsense" } }).end();
    const [refusal]: IncomingMessage[] = await once(refused, "response");
    expect(refusal?.statusCode).toBe(401);
    expect((await answerTo("/api/ws")).statusCode).toBe(426);
  });

  test("C2 passes each part of a stream at once", async () => {
    const stream = await answerTo("/api/stream", { headers: { "accept-encoding": "gzip" } });
    const [first]: unknown[] = await once(stream, "data");
    expect(String(first)).toBe("data: first\n\n");
    const rest = text(stream);
    await answerTo("/api/next");
    expect(await rest).toBe("data: second\n\n");
  });

  test("U4 passes an upload of 47 MB whole", async () => {
    const bytes = Buffer.alloc(47 * 1_048_576);
    const sent = open("/api/size", { method: "POST" }).end(bytes);
    const [answer]: IncomingMessage[] = await once(sent, "response");
    expect([answer?.statusCode, answer && (await text(answer))]).toEqual([200, String(bytes.length)]);
  });

  test.each<Record<string, string>>([
    { "x-forwarded-for": "203.0.113.9", "x-real-ip": "203.0.113.9", forwarded: "for=203.0.113.9" },
    { "x-forwarded-for": "203.0.113.9, 198.51.100.7" },
    { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http", "x-forwarded-port": "80" },
  ])("the studio believes nothing that a client says of itself: %o", async (headers) => {
    const seen: unknown = JSON.parse(await text(await answerTo("/api/headers", { headers })));
    expect(JSON.stringify(seen)).not.toMatch(/203\.0\.113|evil|"x-real-ip"|"forwarded"|"x-forwarded-port"/);
    const host = `${proxiedName}:${proxy.port}`;
    const forwarded = { "x-forwarded-for": clientAddress, "x-forwarded-host": host };
    expect(seen).toMatchObject({ host, ...forwarded, "x-forwarded-proto": "https" });
  });

  test("a browser's connection of HTTP/2 keeps host and port, too", async () => {
    const host = `${proxiedName}:${proxy.port}`;
    const session = connectHttp2(`https://127.0.0.1:${proxy.port}`, {
      rejectUnauthorized: false,
      servername: proxiedName,
    });
    const stream = session.request({ ":path": "/api/headers", ":authority": host });
    expect(JSON.parse(await text(stream))).toMatchObject({ host, "x-forwarded-host": host });
    session.close();
  });

  test("an idle connection is closed by the proxy first, so that no request is lost on it", async () => {
    const sent = requestPlain({
      port: web.port,
      path: "/api/next",
      agent: new Agent({ keepAlive: true }),
    }).end();
    const [answer]: IncomingMessage[] = await once(sent, "response");
    const [, seconds] = /timeout=(\d+)/.exec(String(answer?.headers["keep-alive"])) ?? [];
    expect(Number(seconds)).toBeGreaterThan(600);
    sent.destroy();
  });

  test("TRACE is refused", async () => {
    for (const path of ["/", "/api/headers"])
      expect((await answerTo(path, { method: "TRACE" })).statusCode).toBe(405);
  });
});
