import { startS3 } from "@atelier/testing/s3";
import { addUser, readSample } from "@atelier/testing/pictures";
import { findProgram, runNode } from "@atelier/testing/processes";
import { createTestServices } from "@atelier/testing/services";
import { processEnv } from "@atelier/testing/worker";
import { checkStore, ingest } from "@atelier/server/images";
import { openBucket } from "@atelier/server/storage";
import { expect, test } from "vitest";

test("A16 pictures move to another store only when no process of the studio is connected", async () => {
  const [opened, s3] = await Promise.all([createTestServices(), startS3()]);
  const { services } = opened;
  await checkStore(services);
  const ownerId = await addUser(services);
  await ingest(services, { ownerId, role: "upload", bytes: await readSample("coffee.png") });
  const copy = async (...flags: string[]) => {
    const args = [...(await findProgram("cli/main.ts")), "storage", "copy", "--to", "bucket", ...flags];
    const run = runNode(args, { ...processEnv(services), ...s3.env });
    return [await run.ended, run.output()];
  };
  expect(await copy("--move")).toEqual([1, expect.stringContaining("Stop web and workers")]);
  expect(await copy()).toEqual([0, expect.stringContaining("3 objects copied")]);
  expect(await checkStore(services)).toBe("own");
  await services.close();
  expect(await copy("--move")).toEqual([0, expect.stringContaining("3 there already")]);
  const bucket = await openBucket({ ...services.env, ...s3.env });
  const again = await opened.openAnother();
  expect(await Promise.all([checkStore(again), checkStore({ ...again, disk: bucket })])).toEqual([
    "other",
    "own",
  ]);
  bucket.close();
  await again.close();
  await opened.close();
  await s3.destroy();
});
