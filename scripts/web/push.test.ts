import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import path from "node:path";
import { createApiKey } from "@atelier/server/accounts";
import { addSpeaker, ask } from "@atelier/server/assistant";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { processEnv } from "@atelier/testing/worker";
import { afterAll, beforeAll, expect, test } from "vitest";

/** Stands for Next: a server of its own that takes every upgrade, as the development tools do. */
const standIn = `
  import { createServer } from "node:http";
  const server = createServer((_, response) => response.end("page"));
  server.on("upgrade", (_, socket) => socket.end("HTTP/1.1 418 Taken by Next\\r\\nConnection: close\\r\\n\\r\\n"));
  server.listen(0, "127.0.0.1", () => console.log(JSON.stringify(server.address())));
  process.once("SIGTERM", () => server.close(() => process.exit(0)));`;

let fixture: TestServices;
let web: ChildProcess;
let host = "";

beforeAll(async () => {
  fixture = await createTestServices();
  const preload = path.join(import.meta.dirname, "preload.ts");
  web = spawn(process.execPath, [`--import=${preload}`, "--input-type=module", "-e", standIn], {
    env: processEnv(fixture.services),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line]: unknown[] = web.stdout ? await once(web.stdout, "data") : [];
  host = `127.0.0.1:${Object(JSON.parse(String(line))).port}`;
});
afterAll(async () => {
  web.kill("SIGKILL");
  await fixture.close();
});

async function openSocket(key: string) {
  const socket = new WebSocket(`ws://${host}/api/ws`, ["atelier", `bearer.${key}`]);
  const message = new Promise<unknown>((resolve, reject) => {
    socket.addEventListener("message", ({ data }) => resolve(JSON.parse(String(data))));
    socket.addEventListener("error", () => reject(new Error("the socket failed")));
  });
  const closed = new Promise<number>((resolve) =>
    socket.addEventListener("close", ({ code }) => resolve(code)),
  );
  return { message, closed };
}

test("B7 the web port serves sockets beside Next, which keeps all others, and closes them when it stops", async () => {
  const { services } = fixture;
  const ownerId = await addSpeaker(services.db, "Ann");
  const { key } = await createApiKey(services, { userId: ownerId, name: "test" });
  const { runId } = await ask(services, { ownerId, text: "What do I like?" });
  await services.db.execute(
    `update assistant_runs set status = 'completed', answer = 'Linen.', ended_at = now(), revision = revision + 1 where id = '${runId}'`,
  );
  const { message, closed } = await openSocket(key);
  expect(await message).toEqual({ request_id: runId, status: "completed", answer: "Linen." });
  const refused = await openSocket("nonsense");
  await expect(refused.message).rejects.toThrow("the socket failed");
  expect(await (await fetch(`http://${host}/`)).text()).toBe("page");
  const upgrade = { connection: "upgrade", upgrade: "websocket" };
  const [hmr] = await once(
    request(`http://${host}/_next/webpack-hmr`, { headers: upgrade, agent: false }).end(),
    "response",
  );
  expect(hmr.statusCode).toBe(418);
  web.kill("SIGTERM");
  expect(await closed).toBe(1001);
  expect(await once(web, "exit")).toEqual([0, null]);
});
