import { expect, test, vi } from "vitest";
import { cancelPrompt } from "./cancel-prompt.ts";
import { findPrompt } from "./find-prompt.ts";
import {
  begun,
  endServersAfterAll,
  newInput,
  signal,
  startServer,
  storyOf,
} from "./fixtures/prompt-scene.ts";
import { postPrompt } from "./post.ts";
import { adoptPrompt, runPrompt } from "./run.ts";

endServersAfterAll();

test("F3 F4 a prompt that another process posted is adopted, running or done", async () => {
  const server = await startServer({ stepMs: 50 });
  const { promptId, clientId, graph } = newInput();
  await postPrompt(server, { promptId, clientId, graph }, { signal });
  await begun(server, promptId);
  const seen: string[] = [];
  const onProgress = (_: number, nodeClass: string) => seen.push(nodeClass);
  const files = await adoptPrompt(server, newInput({ promptId, graph, onProgress }));
  expect(files).toHaveLength(1);
  expect(seen).toContain("KSampler");
  expect(await adoptPrompt(server, newInput({ promptId, graph }))).toEqual(files);
  expect(storyOf(server, promptId)).toMatchObject({ posted: 1, finished: 1 });
});

test("F3 a prompt that is gone, stopped or failed is not adopted", async () => {
  const server = await startServer({ stepMs: 50 });
  expect(await adoptPrompt(server, newInput())).toBeNull();
  const stopped = newInput();
  await postPrompt(server, stopped, { signal });
  await begun(server, stopped.promptId);
  await cancelPrompt(server, stopped.promptId, { signal });
  await vi.waitFor(async () =>
    expect((await findPrompt(server, stopped.promptId, { signal })).state).toBe("ended"),
  );
  expect(await adoptPrompt(server, newInput({ promptId: stopped.promptId }))).toBeNull();
});

test("F10 a run that is continued elsewhere leaves its prompt on the server", async () => {
  const server = await startServer({ stepMs: 50 });
  const controller = new AbortController();
  const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
  const run = runPrompt(server, input);
  await begun(server, input.promptId);
  controller.abort(new Error("lost"));
  await expect(run).rejects.toThrow("lost");
  expect(await adoptPrompt(server, newInput({ promptId: input.promptId }))).toHaveLength(1);
  expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1, interrupted: 0 });
});
