import { schema } from "@atelier/server/db";
import type { Services } from "@atelier/server/services";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { addOwner, type TestOwner } from "@atelier/testing/jobs";

export interface JobScene {
  readonly services: Services;
  readonly owner: TestOwner;
}

/**
 * Services on a database of their own and an owner, for the tests of a file: opened before them and closed after. With
 * `isEmptied` each test starts without jobs and nodes and with a new owner.
 */
export function openJobScene({ isEmptied = false } = {}): JobScene {
  let opened: TestServices;
  let owner: TestOwner;
  beforeAll(async () => {
    opened = await createTestServices();
    if (!isEmptied) owner = await addOwner(opened.services);
  });
  beforeEach(async () => {
    if (!isEmptied) return;
    await opened.services.db.delete(schema.jobs);
    await opened.services.db.delete(schema.nodes);
    owner = await addOwner(opened.services);
  });
  afterAll(() => opened.close());
  return {
    get services() {
      return opened.services;
    },
    get owner() {
      return owner;
    },
  };
}
