import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { objectOf } from "../json.ts";
import { startComfySimulator, type ComfySimulator } from "../start-comfy-simulator.ts";
import { ask, historyOf, post, postGraph, upload } from "./client.ts";
import { listenIn, type Ear } from "./listen-in.ts";
import { noteOf, recordedPart } from "./read-recording.ts";
import { plainPng, recordedGraph, socketGraph } from "./recording.ts";
import { settle } from "./settle.ts";

const clientId = "e265dcda-60de-4bf3-b608-6d9ad1a8e805";
let simulator: ComfySimulator;
let ear: Ear;
let firstId = "";

beforeAll(async () => {
  simulator = await startComfySimulator({ models: {} });
  ear = await listenIn(simulator.url, clientId);
});

afterAll(async () => {
  ear.close();
  await simulator.close();
});

/** Runs a graph to its end; answers what the post and the socket said. */
async function run(graph: unknown) {
  const { promptId, heard } = await postGraph(simulator.url, graph, { client_id: clientId });
  await ear.untilEnd(promptId);
  return { promptId, said: { posted: ["POST /prompt ->", ...heard], socket: ear.take() } };
}

function recordedRun(title: string) {
  const { notes, socket } = recordedPart(title);
  return { posted: notes[0], socket };
}

describe("hold the simulator's answers against the recorded transcript: jobs", () => {
  it("greets a socket", async () => {
    await ear.until(({ type }) => type === "status");
    expect(settle(ear.take())).toEqual(settle(recordedPart("connect").socket));
  });

  it("runs a job: events in order, history, job", async () => {
    await upload(simulator.url, { name: "a.png", bytes: await plainPng("teal") });
    const { promptId, said } = await run(recordedGraph());
    firstId = promptId;
    expect(settle(said)).toEqual(settle(recordedRun("success")));
    const [, history] = await ask(`${simulator.url}/history/${promptId}`);
    expect(settle([history])).toEqual(settle(recordedPart("history of success").notes));
    const [, job] = await ask(`${simulator.url}/api/jobs/${promptId}`);
    expect(settle([job])).toEqual(settle(recordedPart("job of success").notes));
  });

  it("runs the same graph again from its cache, with the earlier file's name", async () => {
    const { promptId, said } = await run(recordedGraph());
    const part = recordedPart("same graph again (cached)");
    expect(settle(said)).toEqual(settle({ posted: part.notes[0], socket: part.socket }));
    const { outputs, status } = await historyOf(simulator.url, promptId);
    const shown = ["outputs", outputs, objectOf(status).messages];
    expect(settle([shown])).toEqual(settle(part.notes.slice(1)));
    expect(simulator.stats().prompts[firstId]).toMatchObject({ posted: 1, started: 1, finished: 1 });
  });

  it("answers the feature flags", async () => {
    ear.socket.send(JSON.stringify({ type: "feature_flags", data: { supports_preview_metadata: true } }));
    await ear.until(({ type }) => type === "feature_flags");
    expect(ear.take()).toEqual(recordedPart("feature flags").socket);
  });

  it("tells of an error at run time", async () => {
    // The recording refused ten prompts before this one: the counter rises on those too.
    for (let count = 0; count < 10; count += 1) await post(`${simulator.url}/prompt`, {});
    await upload(simulator.url, { name: "corrupt.png", bytes: Buffer.from("no picture") });
    const corrupt = { class_type: "LoadImage", inputs: { image: "corrupt.png" } };
    const { promptId, said } = await run(recordedGraph({ "1": corrupt }));
    expect(settle(said)).toEqual(settle(recordedRun("runtime error")));
    const part = recordedPart("runtime error");
    const { status } = await historyOf(simulator.url, promptId);
    expect(settle([status])).toEqual(settle(noteOf(part, "history status")));
    const [, job] = await ask(`${simulator.url}/api/jobs/${promptId}`);
    const [wanted] = noteOf(part, "job");
    expect(Object.keys(objectOf(job)).toSorted()).toEqual(Object.keys(objectOf(wanted)).toSorted());
  });

  it("tells of an allocation that fails on a CPU", async () => {
    const graph = {
      "1": {
        class_type: "EmptyImage",
        inputs: { width: 16_384, height: 16_384, batch_size: 4096, color: 0 },
      },
      "2": { class_type: "PreviewImage", inputs: { images: ["1", 0] } },
    };
    const { said } = await run(graph);
    // The recording shortened this one message.
    const shorten = (text: string) => text.replaceAll(/Error code 12 \(Cannot alloca[^"]*/g, "Error code 12");
    const short = (value: unknown): unknown => JSON.parse(shorten(JSON.stringify(settle(value))));
    expect(short(said)).toEqual(short(recordedRun("allocation failure on CPU")));
  });

  it("sends whole pictures with their metadata to a client that asked for it", async () => {
    for (let count = 14; count < 17; count += 1) await post(`${simulator.url}/prompt`, {});
    const { said } = await run(socketGraph(1));
    const { notes, socket } = recordedPart("SaveImageWebsocket (client has supports_preview_metadata)");
    // The last three messages are the statuses of the plain client's job.
    expect(settle(said)).toEqual(settle({ posted: notes[0], socket: socket.slice(0, -3) }));
  });

  it("sends them without to a client that did not, and tells others the queue only", async () => {
    const before = ear.heard.length;
    const plain = await listenIn(simulator.url, "plain2");
    const { promptId } = await postGraph(simulator.url, socketGraph(2), { client_id: "plain2" });
    await plain.untilEnd(promptId);
    const [heard] = recordedPart("SaveImageWebsocket plain client").notes;
    expect(settle(plain.take())).toEqual(settle(heard));
    const { socket } = recordedPart("SaveImageWebsocket (client has supports_preview_metadata)");
    await expect.poll(() => ear.heard.length).toBe(before + 3);
    expect(settle(ear.take())).toEqual(settle(socket.slice(-3)));
    plain.close();
  });
});
