import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveAnswers } from "@atelier/testing/http";
import { createTestServices } from "@atelier/testing/services";
import { expect, test } from "vitest";
import { checkConnections, finish } from "../doctor/index.ts";
import { inspectEnv, parseConfig } from "../platform/index.ts";
import { handleClients, handleHttp } from "./index.ts";

const names = ["HTTP API", "API of OpenAI", "API of AUTOMATIC1111", "API of IOPaint", "MCP"];

async function look(url: string) {
  const { env } = inspectEnv({ APP_URL: url });
  const asked = { env, config: parseConfig({}), database: Promise.resolve(null), mailTo: null };
  return finish(await checkConnections(asked), env).filter(({ name }) => names.includes(name));
}

test("each API for programs is tried without a key, and what stands before the studio is told", async () => {
  const opened = await createTestServices();
  const { services } = opened;
  const server = createServer((incoming, response) => {
    const { method = "GET", url = "/" } = incoming;
    const request = new Request(`http://localhost${url}`, { method });
    const answer = url.startsWith("/api/v1")
      ? handleHttp(services, request)
      : handleClients(services, request);
    void Promise.resolve(answer).then(async (given) => {
      response.writeHead(given.status, Object.fromEntries(given.headers)).end(await given.text());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const found = await look(`http://127.0.0.1:${port}`);
  expect(found.map(({ state, message }) => `${state} ${message}`)).toEqual(
    ["/api/v1/keys/me", "/v1/models", "/sdapi/v1/options", "/iopaint/api/v1/samplers", "/mcp"].map(
      (path) => `ok ${path} answers, and asks for a key`,
    ),
  );
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const away = await look(`http://127.0.0.1:${port}`);
  expect(away.map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => "warn"));
  const page = await serveAnswers(({ path }) =>
    path === "/mcp"
      ? { status: 404, body: '{"detail":"no such path"}' }
      : { type: "text/html", body: "<title>Sign in</title>" },
  );
  const states = (await look(page.url)).map(({ name, state }) => [name, state]);
  expect(states.slice(0, 4).map(([, state]) => state)).toEqual(["warn", "warn", "warn", "warn"]);
  expect(states.at(-1)).toEqual(["MCP", "fail"]);
  await Promise.all([page.close(), opened.close()]);
});
