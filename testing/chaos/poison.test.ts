import { expect } from "vitest";
import { forBackends } from "../cases/index.ts";
import { addJob, readJob, untilAll } from "../jobs/index.ts";
import { openScene, supervise } from "./scene.ts";

forBackends(
  "F34 D9 a job that kills its worker fails after three charged tries on %s, and its neighbours complete",
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const beside: string[] = [];
    for (let at = 0; at < 2; at += 1)
      beside.push(await addJob(services, { owner, simulate: { runMs: 400 } }));
    const poison = await addJob(services, { owner, simulate: { die: true } });
    const later: string[] = [];
    for (let at = 0; at < 4; at += 1) later.push(await addJob(services, { owner }));
    const over = new AbortController();
    const starts = supervise(() => scene.startWorker({ name: "node", slots: 3 }), over.signal);
    await untilAll(services, [poison], { statuses: ["failed"], patienceMs: 120_000 });
    const neighbours = await untilAll(services, [...beside, ...later], { statuses: ["completed"] });
    over.abort();
    expect(await starts).toBe(4);
    const failed = await readJob(services, poison);
    expect(failed).toMatchObject({ charged: 3, attempt: 3, errorCode: "worker_lost", runAlone: true });
    expect(failed.errorMessage).toContain("The worker node died");
    const chargedById = new Map(neighbours.map((job) => [job.id, job.charged]));
    // Who ran beside it when it killed for the first time cannot be told from the culprit; never again after that.
    expect(beside.every((id) => (chargedById.get(id) ?? 9) <= 1)).toBe(true);
    expect(later.map((id) => chargedById.get(id))).toEqual(later.map(() => 0));
    expect(await scene.faults()).toEqual([]);
  },
);
