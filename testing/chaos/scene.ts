import type { Services } from "@atelier/server/services";
import { addOwner, findBrokenInvariants, type TestOwner } from "../jobs/index.ts";
import { createTestServices, type TestServices, type TestServicesOptions } from "../services/index.ts";
import { startTestWorker, type TestWorker, type TestWorkerOptions } from "../worker/index.ts";

/** For tests in real lease times; they are about conditions with bounds of their own, not about this one. */
export const realTimeMs = 150_000;

/** For the tests of one suite that share its scene, while the suites run at once. */
export const oneByOne = { timeout: realTimeMs, concurrent: false } as const;

export const backends = ["postgres", "redis"] as const;

/** A database, a queue, files and one user, of one test alone. */
export interface Scene {
  readonly services: Services;
  readonly opened: TestServices;
  readonly owner: TestOwner;
  /** A worker that ends with the scene at the latest. */
  startWorker(options?: TestWorkerOptions): Promise<TestWorker>;
  /** What is wrong now (R5); empty when all is well. */
  faults(): Promise<string[]>;
}

/** How a test's end is told: `onTestFinished` of its context. */
type OnFinished = (end: () => Promise<void>) => void;

/** Opens a scene for one test; several tests of a file may run at once, each in its own. */
export async function openScene(onFinished: OnFinished, options: TestServicesOptions): Promise<Scene> {
  const opened = await createTestServices(options);
  const { services } = opened;
  const workers: Promise<TestWorker>[] = [];
  onFinished(async () => {
    for (const started of await Promise.allSettled(workers))
      if (started.status === "fulfilled") await started.value.kill9();
    await opened.close();
  });
  return {
    services,
    opened,
    owner: await addOwner(services),
    startWorker(workerOptions) {
      const started = startTestWorker(services, workerOptions);
      workers.push(started);
      return started;
    },
    faults: () => findBrokenInvariants(services),
  };
}
