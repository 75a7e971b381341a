import { type BatchWithJobs, getBatch, submitBatch } from "@atelier/server/batches";
import type { Services } from "@atelier/server/services";
import { addOwner, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, beforeEach } from "vitest";

interface Submitting {
  readonly submitter: { readonly userId: string; readonly isGuest: boolean };
  readonly signal: AbortSignal;
}

export interface BatchScene {
  readonly services: Services;
  readonly openAnother: TestServices["openAnother"];
  /** A new one for each test. */
  readonly owner: TestOwner;
  /** As the owner. */
  readonly as: Submitting;
  readonly send: (input: object, idempotencyKey?: string) => ReturnType<typeof submitBatch>;
  readonly open: (id: string) => Promise<BatchWithJobs>;
}

export const submitting = (userId: string): Submitting => ({
  submitter: { userId, isGuest: false },
  signal: new AbortController().signal,
});

/** Services on a database of their own for the batches of a file, opened before its tests and closed after them. */
export function openBatchScene(): BatchScene {
  let opened: TestServices;
  let owner: TestOwner;
  beforeAll(async () => {
    opened = await createTestServices();
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    owner = await addOwner(opened.services);
  });
  return {
    get services() {
      return opened.services;
    },
    openAnother: () => opened.openAnother(),
    get owner() {
      return owner;
    },
    get as() {
      return submitting(owner.userId);
    },
    send: (input, idempotencyKey) =>
      submitBatch(opened.services, input, { ...submitting(owner.userId), idempotencyKey }),
    open: (id) => getBatch(opened.services, { ownerId: owner.userId, id }),
  };
}
