import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isObject, objectOf } from "../json.ts";
import { startComfySimulator, type ComfySimulator } from "../start-comfy-simulator.ts";
import { ask, historyOf, post, postGraph } from "./client.ts";
import { listenIn, type Ear } from "./listen-in.ts";
import { noteOf, readRecording, recordedPart } from "./read-recording.ts";
import { slowGraph } from "./recording.ts";
import { settle } from "./settle.ts";

const clientId = "e265dcda-60de-4bf3-b608-6d9ad1a8e805";
let simulator: ComfySimulator;
let ear: Ear;

beforeAll(async () => {
  simulator = await startComfySimulator();
  // The recording had fourteen prompts before these.
  for (let count = 0; count < 14; count += 1) await post(`${simulator.url}/prompt`, {});
  ear = await listenIn(simulator.url, clientId);
  await ear.until(({ type }) => type === "status");
  ear.take();
});

afterAll(async () => {
  ear.close();
  await simulator.close();
});

const titles = readRecording().map(({ title }) => title);
const scene = titles.slice(titles.indexOf("slow 1"), titles.indexOf("free"));

/** All that the socket said from the first slow job to the last interrupt. */
function recordedEvents(): unknown[] {
  return scene.flatMap((title) => [...recordedPart(title).socket]);
}

/** Waits until the held node runs. */
async function untilHeld(promptId: string): Promise<void> {
  await ear.until(({ type, data }) => {
    const { node, prompt_id: id } = objectOf(data);
    return type === "executing" && node === "2" && id === promptId;
  });
}

/** Graphs are left out of the recorded queue. */
function withoutGraphs(value: unknown): unknown {
  const rows = (list: unknown) => (Array.isArray(list) ? list.map((row) => withoutGraph(row)) : list);
  const queue = objectOf(value);
  return { queue_running: rows(queue.queue_running), queue_pending: rows(queue.queue_pending) };
}

function withoutGraph(row: unknown): unknown {
  return Array.isArray(row) ? row.map((part, at) => (at === 2 && isObject(part) ? "<prompt>" : part)) : row;
}

describe("hold the simulator's answers against the recorded transcript: queue", () => {
  it("queues, lists, deletes and interrupts as the real server did", async () => {
    const { url } = simulator;
    simulator.inject({ kind: "hold", nodeClass: "ImageBlur", times: 2 });
    const one = await postGraph(url, slowGraph(1), { client_id: clientId });
    await untilHeld(one.promptId);
    const two = await postGraph(url, slowGraph(2), { client_id: clientId, front: true });
    const marked = { extra_pnginfo: { workflow: { id: "wf-9" } } };
    const three = await postGraph(url, slowGraph(3), { client_id: clientId, extra_data: marked });
    const posted = [one, two, three].map(({ heard }) => ["POST /prompt ->", ...heard]);
    const recordedPosts = ["slow 1", "slow 2 (front)", "slow 3"].map((title) => recordedPart(title).notes[0]);
    expect(settle(posted)).toEqual(settle(recordedPosts));

    const [, queue] = await ask(`${url}/queue`);
    expect(settle([withoutGraphs(queue)])).toEqual(settle(recordedPart("GET /queue").notes));
    const jobs = recordedPart("GET /api/jobs?status=pending,in_progress");
    const [, listed] = await ask(`${url}/api/jobs?status=pending,in_progress`);
    expect(settle(listed)).toEqual(settle(jobs.notes[0]));
    expect([await ask(`${url}/api/jobs?status=zzz`)]).toEqual(noteOf(jobs, "bad status"));
    expect([await ask(`${url}/api/jobs/${clientId}`)]).toEqual(noteOf(jobs, "unknown job"));

    const calls = [
      await post(`${url}/queue`, { delete: [three.promptId] }),
      await post(`${url}/interrupt`, { prompt_id: clientId }),
      await post(`${url}/interrupt`, { prompt_id: one.promptId }),
    ];
    simulator.release();
    await ear.untilEnd(one.promptId);
    await untilHeld(two.promptId);
    calls.push(await post(`${url}/interrupt`, {}));
    simulator.release();
    await ear.untilEnd(two.promptId);
    calls.push(await post(`${url}/free`, { unload_models: true, free_memory: true }));
    expect(calls).toEqual(Array.from({ length: 5 }, () => [200, ""]));
    expect(settle(ear.take())).toEqual(settle(recordedEvents()));

    const part = recordedPart("interrupt p1 targeted");
    const { status } = await historyOf(url, one.promptId);
    expect(settle([status])).toEqual(settle(noteOf(part, "p1 history status")));
    const [, job] = await ask(`${url}/api/jobs/${one.promptId}`);
    const recordedJob = noteOf(part, "p1 job");
    const { workflow: _, ...shown } = objectOf(job);
    const { workflow: __, ...wanted } = objectOf(recordedJob[0]);
    expect(settle(shown)).toEqual(settle(wanted));
    expect(simulator.stats().prompts[three.promptId]).toMatchObject({ started: 0, deleted: 1 });
  });

  it("has no route to cancel a job, and answers 405", async () => {
    const [status] = await post(`${simulator.url}/api/jobs/${clientId}/cancel`, {});
    expect(status).toBe(405);
  });
});
