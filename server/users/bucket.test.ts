import { buffer } from "node:stream/consumers";
import { addImage } from "@atelier/testing/jobs";
import { addUser } from "@atelier/testing/pictures";
import { startS3, type TestS3 } from "@atelier/testing/s3";
import { createTestServices, openOwner, type TestServices } from "@atelier/testing/services";
import { readZip } from "@atelier/testing/zip";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listObjects } from "../storage/index.ts";
import { deleteUser, openExport } from "./index.ts";

let s3: TestS3;
let fixture: TestServices;

beforeAll(async () => {
  s3 = await startS3();
  fixture = await createTestServices({ env: { ...s3.env, S3_BUCKET: await s3.addBucket() } });
});
afterAll(async () => {
  await fixture.close();
  await s3.destroy();
});

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for (const root of ["users", "jobs", "incoming"])
    for await (const page of listObjects(fixture.services.disk, root))
      found.push(...page.map(({ key }) => key));
  return found;
}

test("D9 export and deletion of a user whose pictures are in a bucket", async () => {
  const { services } = fixture;
  const email = "leaving@example.com";
  const owner = await openOwner(services, email);
  const { userId } = owner.caller;
  for (let count = 0; count < 3; count += 1) await addImage(services, userId);
  await services.disk.put(`incoming/${owner.uploadId}/file`, "sent");
  const kept = await addImage(services, await addUser(services));

  const { signal } = new AbortController();
  const files = readZip(
    await buffer(await openExport(services, { userId, signal, isAllowed: () => Promise.resolve(true) })),
  );
  expect([...files.keys()].filter((name) => name.startsWith("uploads/"))).toHaveLength(4);

  expect(await deleteUser(services, { userId, adminId: null, confirm: email })).toEqual({ isGone: true });
  const left = await keys();
  expect(left).toHaveLength(3);
  for (const key of left) expect(key).toContain(kept);
});
