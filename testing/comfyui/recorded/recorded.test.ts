import http from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isObject, objectOf } from "../options.ts";
import { type ComfySimulator, startComfySimulator } from "../start-comfy-simulator.ts";
import { ask, type Ear, type Heard, historyOf, listenIn, post, postGraph, settle, upload } from "./client.ts";
import {
  noteOf,
  plainPng,
  readRecording,
  recordedGraph,
  recordedPart,
  slowGraph,
  socketGraph,
} from "./recording.ts";

let simulator: ComfySimulator;

async function untilNextMillisecond(): Promise<void> {
  for (const now = Date.now(); Date.now() === now;) await new Promise(setImmediate);
}

describe("files", () => {
  beforeAll(async () => {
    simulator = await startComfySimulator();
  });

  afterAll(() => simulator.close());

  async function uploadMask(): Promise<Heard> {
    const form = new FormData();
    form.set("image", new File([new Uint8Array(await plainPng("white"))], "m.png"));
    form.set("original_ref", JSON.stringify({ filename: "a.png", type: "input", subfolder: "" }));
    form.set("subfolder", "clipspace");
    return ask(`${simulator.url}/upload/mask`, { method: "POST", body: form });
  }

  async function uploadNothing(): Promise<Heard> {
    const form = new FormData();
    form.set("type", "input");
    return ask(`${simulator.url}/upload/image`, { method: "POST", body: form });
  }

  /** A request with a foreign Origin; `fetch` would not send one. */
  function askFrom(origin: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const request = http.get(`${simulator.url}/queue`, { headers: { origin } }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.once("error", reject);
    });
  }

  describe("hold the simulator's answers against the recorded transcript: files", () => {
    it("names uploads as the real server did", async () => {
      const { url } = simulator;
      const [first, other] = [await plainPng("teal"), await plainPng("navy")];
      const told = {
        first: await upload(url, { name: "a.png", bytes: first }),
        "same bytes again": await upload(url, { name: "a.png", bytes: first }),
        "other bytes same name": await upload(url, { name: "a.png", bytes: other }),
        overwrite: await upload(url, { name: "a.png", bytes: other, overwrite: "true" }),
        subfolder: await upload(url, { name: "b.png", bytes: first, subfolder: "job1" }),
        traversal: await upload(url, { name: "b.png", bytes: first, subfolder: "../.." }),
        mask: await uploadMask(),
      };
      const recorded = recordedPart("upload image").notes.slice(0, -1);
      const shown = Object.entries(told).map(([label, [status, body]]) => [
        label,
        [status, typeof body === "string" ? body : spaced(body)],
      ]);
      expect(shown).toEqual(recorded);
      expect(["no image field", ...(await uploadNothing())]).toEqual(
        recordedPart("upload image").notes.at(-1),
      );
      expect(simulator.stats().uploads).toBe(6);
    });

    it("shows files as the real server did", async () => {
      const { promptId } = await postGraph(simulator.url, recordedGraph());
      await historyOf(simulator.url, promptId);
      for (const note of recordedPart("view").notes) {
        const [query, ...wanted] = Array.isArray(note) ? note : [];
        const response = await fetch(`${simulator.url}/view?${String(query)}`);
        const bytes = Buffer.from(await response.arrayBuffer());
        const header = (name: string) => response.headers.get(name);
        // The recorded server's aiohttp named a type for empty bodies too; newer ones do not.
        const type = bytes.length > 0 ? header("content-type") : "application/octet-stream";
        expect([String(query), response.status, type, header("content-disposition")]).toEqual([
          String(query),
          wanted[0],
          wanted[1]["Content-Type"],
          wanted[1]["Content-Disposition"] ?? null,
        ]);
        // Four bytes: a WebP tells its length behind them.
        expect(bytes.subarray(0, 4).toString("hex")).toBe(String(wanted[2]).slice(0, 8));
      }
    });

    it("refuses a page of another host", async () => {
      expect([await askFrom("http://evil.test")]).toEqual(recordedPart("origin mismatch").notes);
      expect(await askFrom(simulator.url)).toBe(200);
    });

    it("forgets history", async () => {
      const { url } = simulator;
      const { promptId } = await postGraph(url, recordedGraph());
      await historyOf(url, promptId);
      const told = [
        await post(`${url}/history`, { delete: [promptId] }),
        await post(`${url}/history`, { clear: true }),
        await ask(`${url}/history`),
      ];
      expect(told).toEqual(recordedPart("history delete/clear").notes);
    });
  });

  /** JSON with the blanks of Python. */
  function spaced(body: unknown): string {
    return JSON.stringify(body).replaceAll('":', '": ').replaceAll(',"', ', "');
  }
});

describe("queue", () => {
  const clientId = "e265dcda-60de-4bf3-b608-6d9ad1a8e805";
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
      // The list of jobs is sorted by milliseconds.
      await untilNextMillisecond();
      const two = await postGraph(url, slowGraph(2), { client_id: clientId, front: true });
      const marked = { extra_pnginfo: { workflow: { id: "wf-9" } } };
      await untilNextMillisecond();
      const three = await postGraph(url, slowGraph(3), { client_id: clientId, extra_data: marked });
      const posted = [one, two, three].map(({ heard }) => ["POST /prompt ->", ...heard]);
      const recordedPosts = ["slow 1", "slow 2 (front)", "slow 3"].map(
        (title) => recordedPart(title).notes[0],
      );
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
});

describe("validation", () => {
  beforeAll(async () => {
    simulator = await startComfySimulator({ models: {} });
    await upload(simulator.url, { name: "a.png", bytes: await plainPng("teal") });
  });

  afterAll(() => simulator.close());

  const scale = { image: ["1", 0], upscale_method: "lanczos", width: 128, height: 96 };
  const blur = { image: ["2", 0], blur_radius: 3, sigma: 1 };
  const checkpoint = {
    "1": { class_type: "CheckpointLoaderSimple", inputs: { ckpt_name: "sdxl.safetensors" } },
    "2": { class_type: "CLIPTextEncode", inputs: { text: "p", clip: ["1", 1] } },
    "3": { class_type: "EmptyLatentImage", inputs: { width: 512, height: 512, batch_size: 1 } },
    "5": {
      class_type: "KSampler",
      inputs: {
        model: ["1", 0],
        positive: ["2", 0],
        negative: ["2", 0],
        latent_image: ["3", 0],
        seed: 1,
        steps: 1,
        cfg: 1,
        sampler_name: "euler",
        scheduler: "normal",
        denoise: 1,
      },
    },
    "6": { class_type: "VAEDecode", inputs: { samples: ["5", 0], vae: ["1", 2] } },
    "7": { class_type: "SaveImage", inputs: { images: ["6", 0], filename_prefix: "x" } },
  };

  const { "4": _save, "5": _preview, ...withoutOutputs } = recordedGraph();

  const refused: readonly (readonly [title: string, graph: unknown])[] = [
    ["unknown class", recordedGraph({ "3": { class_type: "NoSuchNode", inputs: {} } })],
    ["missing class_type", recordedGraph({ "3": { inputs: blur } })],
    [
      "missing input + too big",
      recordedGraph({ "3": { class_type: "ImageBlur", inputs: { image: ["2", 0], blur_radius: 99 } } }),
    ],
    ["not in list", recordedGraph({ "2": { class_type: "ImageScale", inputs: { ...scale, crop: "zzz" } } })],
    [
      "missing input file",
      recordedGraph({ "1": { class_type: "LoadImage", inputs: { image: "nope.png" } } }),
    ],
    ["missing checkpoint", checkpoint],
    ["no outputs", withoutOutputs],
    [
      "type mismatch",
      recordedGraph({ "3": { class_type: "ImageBlur", inputs: { ...blur, image: ["1", 1] } } }),
    ],
    [
      "dangling link",
      recordedGraph({ "3": { class_type: "ImageBlur", inputs: { ...blur, image: ["77", 0] } } }),
    ],
  ];

  describe("hold the simulator's answers against the recorded transcript: validation", () => {
    it.each(refused)("refuses: %s", async (title, graph) => {
      const { heard } = await postGraph(simulator.url, graph);
      expect(settle(["POST /prompt ->", ...heard])).toEqual(settle(recordedPart(title).notes[0]));
    });

    it("refuses a body without a prompt", async () => {
      const heard = await post(`${simulator.url}/prompt`, { client_id: "x" });
      expect(heard).toEqual(recordedPart("no prompt").notes[0]);
    });

    it("is in trouble over a body that is not JSON", async () => {
      const heard = await ask(`${simulator.url}/prompt`, { method: "POST", body: "{" });
      expect(heard).toEqual(recordedPart("invalid json").notes[0]);
    });

    it("counts every refusal and starts nothing", () => {
      expect(simulator.stats()).toMatchObject({ refused: 10, prompts: {} });
    });
  });
});

describe("recorded", () => {
  const clientId = "e265dcda-60de-4bf3-b608-6d9ad1a8e805";
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
      const shorten = (text: string) =>
        text.replaceAll(/Error code 12 \(Cannot alloca[^"]*/g, "Error code 12");
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
});
