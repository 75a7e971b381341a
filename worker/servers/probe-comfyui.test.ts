import { builtInWorkflows } from "@atelier/server/workflows";
import { afterEach, expect, test } from "vitest";
import { startStandIn, type StandIn } from "./fixtures/stand-in.ts";
import { createComfyuiProbe } from "./probes.ts";

const { signal } = new AbortController();
const need = "comfyui/t2i_sd15";
let server: StandIn;
afterEach(() => server.kill());

const probeOf = ({ url }: StandIn, objectInfoMs: number) =>
  createComfyuiProbe({
    server: { url, headers: {} },
    workflows: () => builtInWorkflows,
    awaited: () => new Set(),
    timeoutMs: 10_000,
    objectInfoMs,
  });

test("A10 a server that failed once to describe its nodes is asked again by the next probe", async () => {
  server = await startStandIn({ objectInfoStatus: 500 });
  const probe = probeOf(server, 60_000);
  expect((await probe.read(signal)).needs).not.toContain(need);
  server.objectInfoStatus = 200;
  expect((await probe.read(signal)).needs).toContain(need);
});

test("A10 what a server said of its nodes holds while it fails to describe them", async () => {
  server = await startStandIn();
  const probe = probeOf(server, 0);
  expect((await probe.read(signal)).needs).toContain(need);
  server.objectInfoStatus = 500;
  expect((await probe.read(signal)).needs).toContain(need);
});
