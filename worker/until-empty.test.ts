import { addJob, addOwner, testQueue } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "@atelier/server/db";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { NodeOffer } from "./offer.ts";
import type { ServerState } from "./servers/index.ts";
import { startUntilEmpty } from "./until-empty.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
  // It waits in the queue, and no worker here offers its need.
  await addJob(opened.services, { owner: await addOwner(opened.services) });
});
afterAll(() => opened.close());

const minutes = (count: number) => count * 60_000;

/** A worker of the test queue; `pass` moves its clock and waits for two looks. */
function start(servers: readonly ServerState["state"][]) {
  const clock = vi.spyOn(performance, "now").mockReturnValue(1_000);
  const state = { servers, needs: ["iopaint/inpaint"], isActive: true, nowMs: 1_000, looks: 0 };
  const end = vi.fn<(cause: string) => void>();
  const offers = () => state.needs.map((need) => ({ need, servers: null }));
  const loop = startUntilEmpty(opened.services, {
    until: { queue: testQueue, waitMs: 30_000 },
    offer: {
      current: () => ({ queues: [{ queue: testQueue, slots: 1, offers: offers() }] }) as unknown as NodeOffer,
    },
    pool: {
      list() {
        state.looks += 1;
        return state.servers.map((each, at) => ({ url: `http://${at}`, state: each }) as ServerState);
      },
    },
    runs: { leases: () => [] },
    consumers: { isActive: () => state.isActive },
    end,
  });
  onTestFinished(async () => {
    clock.mockRestore();
    await loop.stop();
  });
  const look = async () => {
    const before = state.looks;
    loop.wake();
    await vi.waitFor(() => expect(state.looks).toBeGreaterThan(before), 5_000);
  };
  const pass = async (ms: number) => {
    // A look that began before the clock moves must not see it.
    await look();
    state.nowMs += ms;
    clock.mockReturnValue(state.nowMs);
    await look();
    await look();
  };
  return { state, end, pass };
}

describe("a worker for one queue", { concurrent: false }, () => {
  test("S8 waits while a job waits and a server has not answered yet, and no longer than that may load", async () => {
    const { state, end, pass } = start(["healthy", "down"]);
    await pass(minutes(1));
    await pass(minutes(3));
    expect(end).not.toHaveBeenCalled();
    state.servers = ["healthy", "healthy"];
    await pass(1);
    state.servers = ["healthy", "down"];
    await pass(minutes(1));
    expect(end).toHaveBeenCalledWith("empty");
    const dead = start(["healthy", "down"]);
    await dead.pass(minutes(11));
    await dead.pass(minutes(1));
    expect(dead.end).toHaveBeenCalledWith("empty");
  });

  test("S8 a server that is away for a moment after hours does not end it, one that stays away does", async () => {
    const { state, end, pass } = start(["healthy"]);
    for (let count = 0; count < 3; count += 1) {
      state.needs = [];
      await pass(minutes(9));
      state.needs = ["local/upscale", "local/remove_background"];
      await pass(1);
    }
    expect(end).not.toHaveBeenCalledWith("unserved");
    state.needs = [];
    await pass(minutes(11));
    expect(end).toHaveBeenCalledWith("unserved");
  });

  test("S8 ends when it may take no jobs, though one waits", async () => {
    const { state, end, pass } = start(["healthy", "down"]);
    await pass(minutes(1));
    expect(end).not.toHaveBeenCalled();
    state.isActive = false;
    await pass(minutes(1));
    expect(end).toHaveBeenCalledWith("empty");
  });

  test("S8 a job that rests for longer than it waits, as one whose LoRA is away, does not keep it", async () => {
    const rest = (seconds: number) =>
      opened.services.db
        .update(schema.jobs)
        .set({ status: "pending", notBefore: sql`now() + make_interval(secs => ${seconds})` });
    await rest(20);
    const { state, end, pass } = start(["healthy"]);
    state.needs = ["local/upscale"];
    await pass(minutes(1));
    expect(end).not.toHaveBeenCalled();
    await rest(300);
    await pass(minutes(1));
    expect(end).toHaveBeenCalledWith("empty");
  });
});
