import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { newId } from "@atelier/server/platform";
import {
  endUploads,
  findObject,
  type ImageDisk,
  listObjects,
  openBucket,
  openDisk,
  openLocalDisk,
  openObject,
  probeDisk,
  putAll,
  reasonOfStore,
  removePrefix,
} from "@atelier/server/storage";
import { listOf, startFaultyS3, startS3, type TestS3 } from "./index.ts";

let s3: TestS3;
let folder: string;

beforeAll(async () => {
  [s3, folder] = await Promise.all([startS3(), mkdtemp(path.join(os.tmpdir(), "atelier-disk-"))]);
});
afterAll(async () => {
  await s3.destroy();
  await rm(folder, { recursive: true, force: true });
});

const bucketEnv = () =>
  ({ ...s3.env, S3_PUBLIC_ENDPOINT: undefined, S3_DOWNLOADS: "stream", ATELIER_DATA_DIR: folder }) as const;

async function keysBelow(disk: ImageDisk, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of listObjects(disk, prefix)) keys.push(...page.map(({ key }) => key));
  return keys.toSorted();
}

async function read(disk: ImageDisk, key: string): Promise<Buffer | null> {
  const found = await openObject(disk, key);
  return found && buffer(found.stream);
}

const png = (key: string, bytes: Buffer) => ({ key, bytes, mime: "image/png" });

describe.each(["files", "bucket"] as const)("the image store as %s", (kind) => {
  let disk: ImageDisk;
  beforeAll(async () => {
    disk = kind === "files" ? openLocalDisk(bucketEnv()) : await openBucket(bucketEnv());
  });
  afterAll(() => disk.close());

  test("A16 gives back what was written, with its size, and null for what is not there", async () => {
    const bytes = randomBytes(100_000);
    await putAll(disk, [
      png("users/u/1/original.png", bytes),
      png("users/u/1/preview.webp", Buffer.from("x")),
    ]);
    expect((await read(disk, "users/u/1/original.png"))?.equals(bytes)).toBe(true);
    const found = await findObject(disk, "users/u/1/original.png");
    expect(found?.sizeBytes).toBe(bytes.length);
    expect(Math.abs(Date.now() - (found?.modifiedAt.getTime() ?? 0))).toBeLessThan(60_000);
    expect(await openObject(disk, "users/u/2/original.png")).toBeNull();
    expect(await findObject(disk, "users/u/2/original.png")).toBeNull();
  });

  test("A16 lists by prefix with size and age, and removes one picture without its neighbours", async () => {
    const job = newId();
    for (const at of [1, 10, 2])
      await putAll(disk, [png(`jobs/${job}/1/${at}/original.png`, Buffer.from("xy"))]);
    const prefix = `jobs/${job}`;
    expect(await keysBelow(disk, prefix)).toHaveLength(3);
    for await (const [object] of listObjects(disk, prefix))
      expect(await object?.readMetaData()).toMatchObject({ sizeBytes: 2, modifiedAt: expect.any(Date) });
    await removePrefix(disk, `${prefix}/1/1`);
    expect(await keysBelow(disk, prefix)).toEqual([
      `${prefix}/1/10/original.png`,
      `${prefix}/1/2/original.png`,
    ]);
    await removePrefix(disk, `${prefix}/1/1`);
    expect(await keysBelow(disk, newId())).toEqual([]);
  });

  test("S1 a key that leads out of the store is refused", async () => {
    await expect(putAll(disk, [png("users/../../evil", Buffer.from("x"))])).rejects.toMatchObject({
      code: "storage_unavailable",
    });
  });

  test("O5 the probe leaves nothing behind", async () => {
    await probeDisk(disk);
    expect(await keysBelow(disk, "health")).toEqual([]);
  });
});

describe("a bucket", () => {
  async function withFaults(
    run: (disk: ImageDisk, faulty: Awaited<ReturnType<typeof startFaultyS3>>) => Promise<void>,
  ) {
    const faulty = await startFaultyS3(s3.env.S3_ENDPOINT);
    const disk = await openBucket({ ...bucketEnv(), S3_ENDPOINT: faulty.endpoint });
    try {
      await run(disk, faulty);
    } finally {
      disk.close();
      await faulty.close();
    }
  }
  const failure = { code: "storage_unavailable" };

  test("A16 an object above 16 MB goes in parts", async () => {
    const bytes = randomBytes(17 * 1024 ** 2);
    await withFaults(async (disk, faulty) => {
      await putAll(disk, [png("users/u/large/original.png", bytes)]);
      expect(faulty.count("POST")).toBe(2);
      expect((await read(disk, "users/u/large/original.png"))?.equals(bytes)).toBe(true);
    });
  });

  test("A16 a bucket that locks its objects takes them, also in parts: each body has its sum once it was asked for", async () => {
    await withFaults(async (disk, faulty) => {
      faulty.inject({ kind: "locked", times: Infinity });
      const large = randomBytes(17 * 1024 ** 2);
      for (const [name, bytes] of [
        ["small", randomBytes(100)],
        ["other", randomBytes(100)],
        ["parts", large],
      ] as const) {
        await putAll(disk, [png(`users/u/${name}/original.png`, bytes)]);
        expect((await read(disk, `users/u/${name}/original.png`))?.equals(bytes)).toBe(true);
      }
      // Once without its sum, then three times two bodies at most.
      expect(faulty.count("PUT")).toBe(5);
      const signed = await disk.driver.signPut("users/u/signed/original.png", {
        mime: "image/png",
        sizeBytes: 1,
        sha256: createHash("sha256").update("x").digest("hex"),
      });
      const sent = await fetch(signed?.url ?? "", {
        method: "PUT",
        headers: signed?.headers ?? {},
        body: "x",
      });
      expect(sent.status).toBe(200);
    });
  });

  test("R5 an upload in parts that nobody ends is ended after a time, and no other", async () => {
    const disk = await openBucket(bucketEnv());
    const { S3_BUCKET: Bucket, S3_ENDPOINT: endpoint, S3_REGION: region } = s3.env;
    const credentials = {
      accessKeyId: s3.env.S3_ACCESS_KEY_ID,
      secretAccessKey: s3.env.S3_SECRET_ACCESS_KEY,
    };
    const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
    const begin = (Key: string) => client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    await begin("users/left/1/original.png");
    await begin("users/left/2/original.png");
    await begin("elsewhere/1");
    const open = async () => {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
      return Uploads.map(({ Key = "" }) => Key).toSorted((a, b) => a.localeCompare(b));
    };
    expect(await endUploads(disk, "users", new Date(Date.now() - 3_600_000))).toBe(0);
    expect(await open()).toHaveLength(3);
    expect(await endUploads(disk, "users", new Date(Date.now() + 3_600_000))).toBe(2);
    expect(await open()).toEqual(["elsewhere/1"]);
    client.destroy();
    disk.close();
  });

  test("R5 an upload that its own process ends meanwhile keeps none of the others", async () => {
    const { S3_BUCKET: Bucket, S3_ENDPOINT: endpoint, S3_REGION: region } = s3.env;
    const credentials = {
      accessKeyId: s3.env.S3_ACCESS_KEY_ID,
      secretAccessKey: s3.env.S3_SECRET_ACCESS_KEY,
    };
    const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
    for (const at of [1, 2])
      await client.send(new CreateMultipartUploadCommand({ Bucket, Key: `jobs/left/${at}` }));
    await withFaults(async (disk, faulty) => {
      const body = `<?xml version="1.0"?><Error><Code>NoSuchUpload</Code></Error>`;
      faulty.inject({ kind: "bare-404", method: "DELETE", body, ofAll: true, times: 1 });
      expect(await endUploads(disk, "jobs", new Date(Date.now() + 3_600_000))).toBe(1);
    });
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: "jobs/" }));
    expect(Uploads).toEqual([]);
    client.destroy();
  });

  test("A16 nobody without a key reads or lists it", async () => {
    const { S3_ENDPOINT, S3_BUCKET } = s3.env;
    const disk = await openDisk(bucketEnv());
    await putAll(disk, [png("users/u/private/original.png", Buffer.from("x"))]);
    disk.close();
    for (const place of ["", "?list-type=2", "/users/u/private/original.png"])
      expect((await fetch(`${S3_ENDPOINT}/${S3_BUCKET}${place}`)).status).toBe(403);
  });

  test("R5 a bucket that does not exist is not a bucket without the object", async () => {
    const disk = await openBucket({ ...bucketEnv(), S3_BUCKET: "elsewhere" });
    await expect(findObject(disk, "users/u/1/original.png")).rejects.toMatchObject(failure);
    await expect(openObject(disk, "users/u/1/original.png")).rejects.toMatchObject(failure);
    disk.close();
  });

  test.each([
    [
      "a bucket that is missing",
      { S3_BUCKET: "elsewhere" },
      /^NoSuchBucket: .+ \(HTTP 404\); create the bucket/,
    ],
    [
      "a wrong secret",
      { S3_SECRET_ACCESS_KEY: "canary-secret" },
      /^SignatureDoesNotMatch: .*correct S3_SECRET/,
    ],
    ["an unknown key", { S3_ACCESS_KEY_ID: "canary-key" }, /^InvalidAccessKeyId: .*correct S3_ACCESS_KEY_ID/],
    ["no server", { S3_ENDPOINT: "http://127.0.0.1:1" }, /ECONNREFUSED/],
  ])("O5 %s is told in the server's own words", async (_what, wrong, words) => {
    const disk = await openBucket({ ...bucketEnv(), ...wrong });
    const error: unknown = await probeDisk(disk).catch((thrown: unknown) => thrown);
    expect(reasonOfStore(error)).toMatch(words);
    expect(reasonOfStore(error)).not.toContain("canary");
    disk.close();
  });

  const xml = (code: string, message: string) =>
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  test.each([
    [
      400,
      xml("AuthorizationHeaderMalformed", "the region is wrong; expecting 'eu-1'"),
      /expecting 'eu-1'.*S3_REGION/,
    ],
    [
      301,
      xml("PermanentRedirect", "use the specified endpoint"),
      /^PermanentRedirect: .*S3_REGION and S3_ENDPOINT/,
    ],
    [403, xml("RequestTimeTooSkewed", "The difference is too large."), /^RequestTimeTooSkewed: .*clock/],
    [
      403,
      xml("AccessDenied", "Key rustfs-canary may not write."),
      /^AccessDenied: Key \*\*\* may not .*rights/,
    ],
    [
      507,
      xml("XMinioStorageFull", "Storage backend has\n reached its minimum."),
      /^XMinioStorageFull: Storage backend .* \(HTTP 507\); make room in the store$/,
    ],
    [403, "", /\(HTTP 403\)$/],
    [200, "<html><body>Welcome</body></html>", /does not return|not one of an S3 server/],
    [404, "<html><body>No such page</body></html>", /HTTP 404/],
  ])(
    "O5 an answer of %d is told with the code, the words and what to change: %s",
    async (status, body, words) => {
      const server = createServer((request, response) => {
        request.resume();
        request.once("end", () =>
          response.writeHead(status, { "content-type": "application/xml" }).end(body),
        );
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const S3_ENDPOINT = `http://127.0.0.1:${Object(server.address()).port}`;
      const disk = await openBucket({ ...bucketEnv(), S3_ENDPOINT, S3_ACCESS_KEY_ID: "rustfs-canary" });
      const error: unknown = await probeDisk(disk).catch((thrown: unknown) => thrown);
      expect(reasonOfStore(error)).toMatch(words);
      disk.close();
      server.close();
    },
  );

  test.each([
    [undefined, "https://s3.invalid/pictures/a.png"],
    [true, "https://s3.invalid/pictures/a.png"],
    [false, "https://pictures.s3.invalid/a.png"],
  ])("A16 with S3_FORCE_PATH_STYLE %s an object has the address %s", async (S3_FORCE_PATH_STYLE, address) => {
    const env = {
      ...bucketEnv(),
      S3_ENDPOINT: "https://s3.invalid",
      S3_BUCKET: "pictures",
      S3_FORCE_PATH_STYLE,
    };
    const disk = await openBucket(env);
    const signed = await disk.driver.signPut("a.png", { mime: "image/png", sizeBytes: 1, sha256: null });
    expect(signed?.url.split("?")[0]).toBe(address);
    const fault: unknown = await probeDisk(disk).catch((thrown: unknown) => thrown);
    expect(reasonOfStore(fault).includes("S3_FORCE_PATH_STYLE=true")).toBe(S3_FORCE_PATH_STYLE === false);
    disk.close();
  });

  test.each([20, -20])(
    "F31 signed links hold although this machine's clock is %d minutes off",
    async (minutes) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      onTestFinished(() => void vi.useRealTimers());
      vi.setSystemTime(Date.now() + minutes * 60_000);
      const disk = await openBucket({ ...bucketEnv(), S3_DOWNLOADS: "link" });
      const key = `users/u/clock${minutes}/original.png`;
      await putAll(disk, [png(key, Buffer.from("before"))]);
      const signed = await disk.driver.signPut(key, { mime: "image/png", sizeBytes: 6, sha256: null });
      const { url = "", headers = {} } = signed ?? {};
      expect((await fetch(url, { method: "PUT", headers, body: "linked" })).status).toBe(200);
      const link = await disk.driver.signGet(key, { mime: "image/png", disposition: "inline" });
      expect(await (await fetch(link ?? "")).text()).toBe("linked");
      disk.close();
    },
  );

  test("F29 a server that answers 503 twice costs nothing", async () => {
    await withFaults(async (disk, faulty) => {
      faulty.inject({ kind: "unavailable", method: "PUT", times: 2 });
      await putAll(disk, [png("users/u/busy/original.png", Buffer.from("busy"))]);
      expect((await read(disk, "users/u/busy/original.png"))?.toString()).toBe("busy");
    });
  });

  test("F29 a write that was acknowledged and is not there is done again under the same key", async () => {
    await withFaults(async (disk, faulty) => {
      faulty.inject({ kind: "lost-write", times: 2 });
      await putAll(disk, [png("users/u/lost/original.png", Buffer.from("lost"))]);
      expect((await read(disk, "users/u/lost/original.png"))?.toString()).toBe("lost");
      expect(faulty.count("PUT")).toBe(3);
    });
  });

  test("F29 R5 a server that loses or damages every write is not believed", async () => {
    await withFaults(async (disk, faulty) => {
      await putAll(disk, [png("users/u/stale/original.png", Buffer.from("before"))]);
      faulty.inject({ kind: "lost-write", times: Infinity });
      await expect(putAll(disk, [png("users/u/never/original.png", Buffer.from("x"))])).rejects.toMatchObject(
        failure,
      );
      // Of the same size, so that only the content tells.
      await expect(
        putAll(disk, [png("users/u/stale/original.png", Buffer.from("after!"))]),
      ).rejects.toMatchObject(failure);
    });
  });

  test("A16 an object whose length a proxy leaves out is written, read and found with its size", async () => {
    await withFaults(async (disk, faulty) => {
      for (const method of ["GET", "HEAD"]) faulty.inject({ kind: "no-length", method, times: Infinity });
      const key = "users/u/unmeasured/original.png";
      await putAll(disk, [png(key, Buffer.from("unmeasured"))]);
      expect(faulty.count("PUT")).toBe(1);
      expect((await read(disk, key))?.toString()).toBe("unmeasured");
      const [opened, found] = [await openObject(disk, key), await findObject(disk, key)];
      opened?.stream.destroy();
      expect([opened?.sizeBytes, found?.sizeBytes]).toEqual([10, 10]);
    });
  });

  test.each([
    ["nothing", ""],
    ["a page", "<html><body>Not found</body></html>"],
  ])(
    "R5 an object that is not there is absent where a 404 holds %s, and a bucket is not",
    async (_what, body) => {
      await withFaults(async (disk, faulty) => {
        for (const method of ["GET", "HEAD"])
          faulty.inject({ kind: "bare-404", method, times: Infinity, body });
        expect(await openObject(disk, "users/u/absent/original.png")).toBeNull();
        expect(await findObject(disk, "users/u/absent/original.png")).toBeNull();
        const elsewhere = { ...bucketEnv(), S3_ENDPOINT: faulty.endpoint, S3_BUCKET: "elsewhere" };
        const missing = await openBucket(elsewhere);
        await expect(openObject(missing, "users/u/absent/original.png")).rejects.toMatchObject(failure);
        missing.close();
      });
    },
  );

  test("R5 an object that the bucket lists is not absent where a 404 without a code says so; one below its name is", async () => {
    await withFaults(async (disk, faulty) => {
      const key = "users/u/hidden/original.png";
      await putAll(disk, [png(key, Buffer.from("hidden"))]);
      for (const method of ["GET", "HEAD"])
        faulty.inject({ kind: "bare-404", method, times: Infinity, body: "", ofAll: true });
      await expect(findObject(disk, key)).rejects.toMatchObject(failure);
      await expect(openObject(disk, key)).rejects.toMatchObject(failure);
      expect(await findObject(disk, "users/u/hidden/original")).toBeNull();
    });
  });

  test("R5 an object that is gone is absent although a list that is behind still has it", async () => {
    await withFaults(async (disk, faulty) => {
      const key = "users/u/removed/original.png";
      await putAll(disk, [png(key, Buffer.from("gone!"))]);
      await removePrefix(disk, "users/u/removed");
      faulty.inject({ kind: "stale-list", keys: [key], times: Infinity });
      expect(await findObject(disk, key)).toBeNull();
      expect(await openObject(disk, key)).toBeNull();
    });
  });

  test("A16 an object has its size where a proxy leaves out lengths and the list is behind", async () => {
    await withFaults(async (disk, faulty) => {
      for (const method of ["GET", "HEAD"]) faulty.inject({ kind: "no-length", method, times: Infinity });
      faulty.inject({ kind: "stale-list", keys: [], times: Infinity });
      const key = "users/u/unlisted/original.png";
      const bytes = randomBytes(70_000);
      await putAll(disk, [png(key, bytes)]);
      expect(faulty.count("PUT")).toBe(1);
      expect((await findObject(disk, key))?.sizeBytes).toBe(70_000);
      const opened = await openObject(disk, key);
      expect(opened?.sizeBytes).toBe(70_000);
      expect(opened && (await buffer(opened.stream)).equals(bytes)).toBe(true);
    });
  });

  test("A16 an object of which nothing says the size is not taken for an empty or an absent one", async () => {
    await withFaults(async (disk, faulty) => {
      const key = "users/u/unsaid/original.png";
      await putAll(disk, [png(key, randomBytes(70_000))]);
      for (const method of ["GET", "HEAD"])
        faulty.inject({ kind: "no-length", method, times: Infinity, noRange: true });
      expect((await findObject(disk, key))?.sizeBytes).toBe(70_000);
      faulty.inject({ kind: "stale-list", keys: [], times: Infinity });
      await expect(findObject(disk, key)).rejects.toMatchObject(failure);
      await expect(openObject(disk, key)).rejects.toMatchObject(failure);
    });
  });

  test.each([
    ["a page", "<html><body>Welcome</body></html>"],
    ["nothing", ""],
  ])(
    "R5 %s in the place of a list is no empty list: nothing counts as absent or removed",
    async (_, body) => {
      await withFaults(async (disk, faulty) => {
        const key = "users/u/unlistable/original.png";
        await putAll(disk, [png(key, Buffer.from("there"))]);
        faulty.inject({ kind: "odd-list", body, times: Infinity });
        await expect(keysBelow(disk, "users/u")).rejects.toMatchObject(failure);
        await expect(removePrefix(disk, "users/u/unlistable")).rejects.toMatchObject(failure);
        faulty.inject({ kind: "bare-404", method: "GET", times: Infinity, body, ofAll: true });
        await expect(openObject(disk, key)).rejects.toMatchObject(failure);
      });
    },
  );

  test("R5 a list that is cut off without its rest is no whole one, and a last part has no next one", async () => {
    await withFaults(async (disk, faulty) => {
      const cut = "<IsTruncated>true</IsTruncated>";
      const named = "<NextContinuationToken>same</NextContinuationToken>";
      for (const rest of [cut, cut + named]) {
        faulty.inject({ kind: "odd-list", body: listOf(["users/a/1"], rest), times: 5 });
        await expect(keysBelow(disk, "users")).rejects.toMatchObject(failure);
      }
      for (const rest of [named, `<IsTruncated>false</IsTruncated>${named}`, "<KeyCount>1</KeyCount>"]) {
        faulty.inject({ kind: "odd-list", body: listOf(["users/a/1"], rest), times: 5 });
        expect(await keysBelow(disk, "users")).toEqual(["users/a/1"]);
      }
    });
  });

  test("R5 a write that the bucket lists and does not give out yet is read again", async () => {
    await withFaults(async (disk, faulty) => {
      const key = "users/u/late/original.png";
      faulty.inject({ kind: "bare-404", method: "GET", times: 1, body: "", ofAll: true });
      await putAll(disk, [png(key, Buffer.from("late"))]);
      expect(faulty.count("PUT")).toBe(2);
      expect((await read(disk, key))?.toString()).toBe("late");
    });
  });

  test("F29 a server killed and started again has every object, and is used again at once", async () => {
    const disk = await openBucket(bucketEnv());
    await putAll(disk, [png("users/u/kept/original.png", Buffer.from("kept"))]);
    await s3.kill9();
    await expect(putAll(disk, [png("users/u/away/original.png", Buffer.from("x"))])).rejects.toMatchObject(
      failure,
    );
    await expect(findObject(disk, "users/u/kept/original.png")).rejects.toMatchObject(failure);
    await s3.start();
    expect((await read(disk, "users/u/kept/original.png"))?.toString()).toBe("kept");
    await putAll(disk, [png("users/u/away/original.png", Buffer.from("x"))]);
    disk.close();
  });
});
