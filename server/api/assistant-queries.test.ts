import { afterAll, beforeAll, expect, test } from "vitest";
import { testOrigin } from "@atelier/testing/services";
import { type ClientScene, openClientScene } from "./clients/fixtures/scene.ts";

let scene: ClientScene;
beforeAll(async () => void (scene = await openClientScene()));
afterAll(() => scene.close());

async function send(path: string, body?: unknown) {
  const headers = { authorization: `Bearer ${scene.owner.key}`, "content-type": "application/json" };
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await scene.app.fetch(new Request(`${testOrigin}${path}`, init));
  return { status: response.status, body: await response.json() };
}

test("B1 B7 a question is accepted by its id and asked about until it has ended", async () => {
  const asked = await send("/api/query", { query: "What do I like?" });
  expect(asked).toMatchObject({
    status: 202,
    body: { status: "processing", request_id: expect.any(String) },
  });
  const id = String(asked.body.request_id);
  expect(await send(`/api/query/${id}/status`)).toEqual({ status: 200, body: { status: "processing" } });
  await scene.services.db.execute(
    `update assistant_runs set status = 'completed', revision = 2, answer = 'Linen.' where id = '${id}'`,
  );
  expect((await send(`/api/query/${id}/status`)).body).toEqual({ status: "completed", answer: "Linen." });
  await scene.services.db.execute(
    `update assistant_runs set status = 'failed', revision = 3, error_code = 'timeout', error_message = 'Too late.' where id = '${id}'`,
  );
  expect((await send(`/api/query/${id}/status`)).body).toEqual({ status: "failed", error: "Too late." });
});

test("a wrong question and an unknown id get a clear answer", async () => {
  expect((await send("/api/query", {})).status).toBe(400);
  expect((await send("/api/query", { query: "x".repeat(8_001) })).status).toBe(400);
  expect((await send("/api/query", { query: "Hm?", conversation_id: "nonsense" })).status).toBe(404);
  expect((await send("/api/query/nonsense/status")).status).toBe(404);
});
