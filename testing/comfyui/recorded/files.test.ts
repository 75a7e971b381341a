import http from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startComfySimulator, type ComfySimulator } from "../start-comfy-simulator.ts";
import { ask, historyOf, post, postGraph, upload, type Heard } from "./client.ts";
import { recordedPart } from "./read-recording.ts";
import { plainPng, recordedGraph } from "./recording.ts";

let simulator: ComfySimulator;

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
    expect(["no image field", ...(await uploadNothing())]).toEqual(recordedPart("upload image").notes.at(-1));
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
