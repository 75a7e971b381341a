import { createHash, generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { inAll } from "@atelier/testing/cases";
import { addImage, addOwner } from "@atelier/testing/jobs";
import { readRow, readSample } from "@atelier/testing/pictures";
import { readByOthers } from "@atelier/testing/provenance";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { type InputRole, type JobKind, jobKinds, needOf } from "../engines.ts";
import { checkStore, ingest, openFile, readAs, storeOutput, type StoredOutput } from "../images/index.ts";
import { type Config, newId, openSealed, parseConfig } from "../platform/index.ts";
import { consentFor, digitalSourceTypes, isConsentStored } from "../safety.ts";
import type { Services } from "../services.ts";
import { findMark } from "../watermark/index.ts";
import { makeSigningPair, readSigner } from "./certificate.ts";
import { identify, instanceIdOf, markOf, signCopy, signResult } from "./index.ts";
import { signPicture } from "./sign.ts";
import { findSigner, trySigner } from "./signing-key.ts";

let opened: TestServices;
let services: Services;
let ownerId: string;
let sample: Buffer;

beforeAll(async () => {
  opened = await createTestServices();
  ({ services } = opened);
  ownerId = (await addOwner(services)).userId;
  sample = await sharp(await readSample("chelsea.png"))
    .resize(450)
    .png()
    .toBuffer();
});
afterAll(() => opened.close());

interface Made extends StoredOutput {
  readonly bytes: Buffer;
}

/** A job with these inputs and its stored result, as a worker leaves them. */
async function make(
  kind: JobKind,
  inputs: Partial<Record<InputRole, string>> = {},
  nothingGenerated = false,
  config: Config = services.config,
): Promise<Made> {
  const jobId = newId();
  const need = needOf({ engine: "comfyui", kind, workflow: "fine-flow" });
  await services.db.insert(schema.jobs).values({
    id: jobId,
    ownerId,
    kind,
    status: "completed",
    tier: 1,
    params: { prompt: "a secret wish" },
    queue: "cpu-light",
    engine: "comfyui",
    need,
  });
  for (const [role, imageId] of Object.entries(inputs))
    await services.db.insert(schema.jobInputs).values({ jobId, role: role as InputRole, imageId });
  const file = path.join(services.env.ATELIER_DATA_DIR, newId());
  await writeFile(file, sample);
  const stored = await storeOutput(
    { ...services, config },
    {
      ownerId,
      jobId,
      attempt: 1,
      kind,
      nothingGenerated,
      position: 0,
      path: file,
      mime: "image/png",
    },
  );
  const { id, storageKey, ...row } = stored;
  await services.db.insert(schema.images).values({ ...row, id, storageKey, ownerId, role: "result", jobId });
  return { ...stored, bytes: Buffer.from(await services.disk.getBytes(`${storageKey}/original.png`)) };
}

const pixelsOf = (bytes: Buffer) => sharp(bytes).raw().toBuffer();

const vocabulary = "http://cv.iptc.org/newscodes/digitalsourcetype";

async function readValid(bytes: Buffer) {
  const read = await readByOthers(bytes, "png");
  if (!read) throw new Error("no manifest");
  return read;
}

describe("S8 a result says how it was made, as another reader of C2PA finds", () => {
  test.each(jobKinds)("%s", async (kind) => {
    const image = await addImage(services, ownerId);
    const inputs = kind === "text_to_image" ? {} : { image };
    const { bytes, id } = await make(kind, inputs);
    const { active, actions, ...read } = await readValid(bytes);
    expect(read).toMatchObject({ state: "Valid", failures: ["signingCredential.untrusted"] });
    expect(active).toMatchObject({
      instance_id: `xmp:iid:${id}`,
      claim_generator_info: [{ name: "Atelier", version: expect.any(String) }],
      signature_info: { alg: "Es256" },
    });
    const main = actions.filter(({ action }) => action !== "c2pa.watermarked.unbound").at(-1);
    expect(main).toMatchObject({
      digitalSourceType: digitalSourceTypes[kind],
      softwareAgent: { name: "comfyui/fine-flow" },
      parameters: { "atelier.kind": kind },
    });
    expect(Math.abs(Date.parse(String(main?.when)) - Date.now())).toBeLessThan(60_000);
    const isMade = kind === "text_to_image" || kind === "segment";
    expect(actions[0]?.action).toBe(isMade ? "c2pa.created" : "c2pa.opened");
    const ingredients = (active.ingredients ?? []).map((one) => one.instance_id);
    expect(ingredients).toEqual(Object.values(inputs).map((input) => `xmp:iid:${input}`));
    expect(bytes.includes("a secret wish")).toBe(false);
  });

  test("what a provider says of its own picture is kept in ours", async () => {
    const plain = sample;
    const story = { instanceId: "xmp:iid:of-a-provider", mime: "image/png", madeAt: new Date() };
    const digitalSourceType = `${vocabulary}/trainedAlgorithmicMedia`;
    const steps = [{ action: "c2pa.created", agent: "a provider", digitalSourceType }];
    const signer = await readSigner(await makeSigningPair());
    sample = await signPicture(plain, { ...story, ingredients: [], steps }, signer);
    try {
      const { bytes, id } = await make("text_to_image");
      const { state, active, manifests } = await readValid(bytes);
      expect(state).toBe("Valid");
      expect(active.instance_id).toBe(`xmp:iid:${id}`);
      expect(active.ingredients).toMatchObject([{ relationship: "componentOf" }]);
      expect(Object.values(manifests).map((one) => one.instance_id)).toContain("xmp:iid:of-a-provider");
      const owner = { userId: ownerId, isAdmin: false };
      expect(await identify(services, owner, { bytes, picture: bytes })).toMatchObject({
        isOurs: true,
        record: { imageId: id },
      });
    } finally {
      sample = plain;
    }
  });

  test("what a person did to an upload is no work of AI", async () => {
    const image = await addImage(services, ownerId);
    const { bytes } = await make("crop", { image }, true);
    const read = await readByOthers(bytes, "png");
    expect(read?.actions.map(({ action }) => action)).toEqual(["c2pa.opened", "c2pa.cropped"]);
    expect(read?.actions[1]?.digitalSourceType).toBe(`${vocabulary}/humanEdits`);
  });

  test("the pictures that it was made of keep their manifests through several steps", async () => {
    const first = await make("text_to_image");
    const second = await make("edit", { image: first.id, reference: first.id });
    const third = await make("crop", { image: second.id });
    const read = await readByOthers(third.bytes, "png");
    expect(read?.state).toBe("Valid");
    expect(
      Object.values(read?.manifests ?? {})
        .map((one) => one.instance_id)
        .toSorted(),
    ).toEqual([first, second, third].map(({ id }) => `xmp:iid:${id}`).toSorted());
    expect(read?.active.ingredients).toMatchObject([
      {
        relationship: "parentOf",
        description: `SHA-256 ${second.storedSha256}`,
        active_manifest: expect.any(String),
      },
    ]);
  });

  test("garments and references are inputs, what is painted back a part, and a mask is none", async () => {
    const [person, garment, mask] = await Promise.all([1, 2, 3].map(() => addImage(services, ownerId)));
    const { bytes } = await make("outfit_change", {
      person: person ?? "",
      garment: garment ?? "",
      mask: mask ?? "",
    });
    const read = await readByOthers(bytes, "png");
    const found = read?.active.ingredients?.map(
      ({ relationship, instance_id: id }) => `${relationship} ${id}`,
    );
    expect(found?.toSorted()).toEqual([`inputTo xmp:iid:${garment}`, `parentOf xmp:iid:${person}`]);
  });
});

test("the hash of a result is that of the signed file, and changed pixels are found out", async () => {
  const { bytes, storedSha256, sizeBytes } = await make("text_to_image");
  expect(bytes.length).toBe(sizeBytes);
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(storedSha256);
  const changed = Buffer.from(bytes);
  const at = changed.lastIndexOf("IDAT") + 100;
  changed.writeUInt8((changed[at] ?? 0) ^ 1, at);
  expect(await readByOthers(changed, "png")).toMatchObject({
    state: "Invalid",
    failures: expect.arrayContaining(["assertion.dataHash.mismatch"]),
  });
});

test("of two that store the same result at once each has a valid file of its own", async () => {
  const made = await Promise.all([make("text_to_image"), make("text_to_image")]);
  for (const { bytes } of made) expect((await readByOthers(bytes, "png"))?.state).toBe("Valid");
});

test.each([
  ["whose story cannot be told is as it was", new Error("away"), null],
  ["that was given up is none", new DOMException("given up", "AbortError"), "AbortError"],
])("a result %s", async (_name, error, thrown) => {
  const fail = () => {
    throw error;
  };
  const db = Object.create(services.db, { select: { value: fail } }) as Services["db"];
  const made = {
    id: newId(),
    jobId: newId(),
    kind: "edit" as const,
    mime: "image/png",
    nothingGenerated: false,
    isMarked: false,
    madeFile: { path: path.join(services.env.ATELIER_DATA_DIR, "none"), mime: "image/png" },
    inputFiles: {},
    keyOf: () => "",
  };
  const told = await signResult({ ...services, db }, sample, made).catch(({ name }: Error) => name);
  expect(told).toBe(thrown ?? sample);
});

describe("the watermark", () => {
  test("is in what AI made from nothing or as a whole, and the manifest says so", async () => {
    for (const kind of ["text_to_image", "edit"] as const) {
      const { bytes, id } = await make(kind);
      expect((await findMark(bytes))?.id).toBe(markOf(id));
      expect((await readValid(bytes)).actions.at(-1)).toMatchObject({ action: "c2pa.watermarked.unbound" });
    }
  });

  const unchanged = jobKinds.filter((one) => one !== "text_to_image" && one !== "edit");
  test.each(unchanged)("is not in what must not be changed: %s", inAll, async (kind) => {
    const { bytes } = await make(kind);
    // Where not one pixel differs there is no mark; to search for one takes a second.
    expect((await pixelsOf(bytes)).equals(await pixelsOf(sample))).toBe(true);
    expect((await readValid(bytes)).actions.at(-1)?.action).not.toBe("c2pa.watermarked.unbound");
  });

  test("can be switched for each kind", async () => {
    const config = parseConfig({ provenance: { watermark: ["upscale"] } });
    const { bytes, id } = await make("upscale", {}, false, config);
    expect((await findMark(bytes))?.id).toBe(markOf(id));
    expect(await findMark((await make("text_to_image", {}, false, config)).bytes)).toBeNull();
  });
});

describe("on its way out a picture keeps its manifest", () => {
  test.each(["jpeg", "webp", "png"] as const)("as %s", async (format) => {
    const { id } = await make("text_to_image");
    const bytes = await readAs(services, { ownerId, id }, format);
    const read = await readByOthers(bytes, format);
    expect(read?.state).toBe("Valid");
    const all = Object.values(read?.manifests ?? {}).map((one) => one.instance_id);
    expect(all).toContain(`xmp:iid:${id}`);
    expect(read?.actions.map(({ action }) => action)).toEqual(
      format === "png" ? ["c2pa.created", "c2pa.watermarked.unbound"] : ["c2pa.opened", "c2pa.transcoded"],
    );
  });

  test("with its settings in the file, which are in it as well", async () => {
    const { id } = await make("text_to_image");
    const texts = [{ keyword: "parameters", text: "a wish, Steps: 20" }];
    const { headers, body } = await openFile(services, { ownerId, id, variant: "original", texts });
    const bytes = body ? await buffer(body) : Buffer.alloc(0);
    expect(headers["content-length"]).toBe(String(bytes.length));
    expect((await sharp(bytes).metadata()).comments).toContainEqual(texts[0]);
    const read = await readByOthers(bytes, "png");
    expect(read?.state).toBe("Valid");
    expect(read?.active.ingredients?.[0]?.instance_id).toBe(`xmp:iid:${id}`);
    const head = await openFile(services, { ownerId, id, variant: "original", texts, isHead: true });
    expect(head.body).toBeNull();
    expect(Math.abs(Number(head.headers["content-length"]) - bytes.length)).toBeLessThan(8);
  });
});

describe("an upload keeps the manifest that it came with", () => {
  test.each(["jpeg", "webp", "png"] as const)("of a %s, and what is made of it too", async (format) => {
    const { id } = await make("text_to_image");
    const sent = await readAs(services, { ownerId, id }, format);
    const upload = await ingest(services, { ownerId, role: "upload", bytes: sent, name: "picture" });
    const { body } = await openFile(services, { ownerId, id: upload.id, variant: "original" });
    const stored = body ? await buffer(body) : Buffer.alloc(0);
    const read = await readByOthers(stored, format);
    expect(read?.state).toBe("Valid");
    expect(read?.actions.map(({ action }) => action)).toEqual(["c2pa.opened", "c2pa.transcoded"]);
    const edited = await make("edit", { image: upload.id });
    const all = Object.values((await readByOthers(edited.bytes, "png"))?.manifests ?? {});
    expect(all.map((one) => one.instance_id)).toContain(`xmp:iid:${id}`);
    expect(await ingest(services, { ownerId, role: "upload", bytes: sent, name: "picture" })).toMatchObject({
      id: upload.id,
      created: false,
    });
  });

  test.each(["light", "heavy"] as const)(
    "and its name and consent when its lost file is made anew, of a %s one",
    async (weight) => {
      const { id: madeId } = await make("text_to_image");
      const made = await readAs(services, { ownerId, id: madeId }, "png");
      const wide = await sharp({ create: { width: 3_100, height: 3_100, channels: 3, background: "teal" } })
        .png()
        .toBuffer();
      const source = { bytes: made, mime: "image/png", instanceId: instanceIdOf(madeId), sha256: "" };
      const copy = {
        instanceId: instanceIdOf(newId()),
        mime: "image/png",
        action: "c2pa.transcoded",
      } as const;
      const bytes = weight === "light" ? made : await signCopy(services, wide, { ...copy, source });
      const owner = (await addOwner(services)).userId;
      const upload = { ownerId: owner, role: "upload", bytes, name: "picture" } as const;
      const { id } = await ingest(services, upload);
      expect(await checkStore(services)).toBe("own");
      const before = await readRow(services, id);
      const photo = { ...consentFor(before.storedSha256), ownerId: owner };
      await services.db.insert(schema.consents).values(photo);
      await services.disk.delete(`${before.storageKey}/original.png`);
      expect(await ingest(services, upload)).toMatchObject({ id, created: false });
      const after = await readRow(services, id);
      expect(after.storageKey).not.toBe(before.storageKey);
      const stored = Buffer.from(await services.disk.getBytes(`${after.storageKey}/original.png`));
      const asking = { userId: owner, isAdmin: false };
      expect(await identify(services, asking, { bytes: stored, picture: null })).toMatchObject({
        statement: { state: "valid", isOwnSigner: true },
        record: { imageId: id },
      });
      expect(await isConsentStored(services.db, { ownerId: owner, storedSha256: after.storedSha256 })).toBe(
        true,
      );
    },
  );

  test("but one without gets none, nor does one whose manifest cannot be read", async () => {
    const { bytes } = await make("text_to_image");
    const broken = Buffer.from(bytes);
    broken.fill(0, broken.indexOf("jumb"), broken.indexOf("jumb") + 40);
    for (const sent of [sample, broken]) {
      const { id } = await ingest(services, { ownerId, role: "upload", bytes: sent, name: "picture" });
      const { body } = await openFile(services, { ownerId, id, variant: "original" });
      expect(await readByOthers(body ? await buffer(body) : Buffer.alloc(0), "png")).toBeNull();
    }
  });
});

describe("the key of the studio", () => {
  test("is one, however many processes need it first, and is stored sealed", async () => {
    const others = await createTestServices();
    try {
      // Each call is a process of its own: nothing is kept between them.
      const views = Array.from({ length: 6 }, () => ({
        env: others.services.env,
        db: Object.create(others.services.db) as typeof others.services.db,
      }));
      const signers = await Promise.all(views.map((view) => findSigner(view)));
      expect(new Set(signers.map((signer) => signer?.fingerprint)).size).toBe(1);
      const rows = await others.services.db.select().from(schema.signingKeys);
      expect(rows).toHaveLength(1);
      const [row] = rows;
      expect(row?.sealedKey).toMatch(/^sealed:/);
      const purpose = { purpose: "signing keys", context: `signing_keys/${row?.fingerprint}` };
      expect(openSealed(others.services.env, purpose, row?.sealedKey ?? "")).toContain("PRIVATE KEY");
      expect(openSealed({ AUTH_SECRET: "x".repeat(40) }, purpose, row?.sealedKey ?? "")).toBeNull();
    } finally {
      await others.close();
    }
  });

  const withEnv = (env: Partial<Services["env"]>) => ({
    env: { ...services.env, ...env },
    db: Object.create(services.db) as Services["db"],
  });

  test("is missing where AUTH_SECRET is not set", async () => {
    expect(await findSigner(withEnv({ AUTH_SECRET: undefined }))).toBeNull();
  });

  test("of the studio's own signs whatever the clock said when it was made", async () => {
    for (const made of ["1970-01-01", "2031-05-05"]) {
      vi.useFakeTimers({ toFake: ["Date"], now: new Date(made) });
      const pair = await makeSigningPair().finally(() => vi.useRealTimers());
      const signer = await readSigner(pair);
      expect([made, await trySigner(signer)]).toEqual([made, true]);
    }
  });

  test("of the studio's own signs also while the clock is before its time", async () => {
    const view = withEnv({});
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("1970-01-02") });
    try {
      expect(await findSigner(view)).not.toBeNull();
    } finally {
      vi.useRealTimers();
    }
  });

  test("signs no more once its certificate has ended", async () => {
    const { key, certificates } = await makeSigningPair();
    const view = withEnv({ SIGNING_KEY: key, SIGNING_CERTIFICATES: certificates });
    expect(await findSigner(view)).not.toBeNull();
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2090-01-01") });
    try {
      await expect(findSigner(view)).rejects.toThrow(/ended/);
    } finally {
      vi.useRealTimers();
    }
  });

  test("can be the operator's, as text or as files", async () => {
    const pair = await makeSigningPair();
    const file = path.join(services.env.ATELIER_DATA_DIR, "chain.pem");
    await writeFile(file, pair.certificates);
    const signer = await findSigner(
      withEnv({ SIGNING_KEY: pair.key.replaceAll("\n", String.raw`\n`), SIGNING_CERTIFICATES: file }),
    );
    expect(signer?.certificates).toBe(pair.certificates);
    const rows = await services.db.select().from(schema.signingKeys);
    expect(rows.find(({ fingerprint }) => fingerprint === signer?.fingerprint)).toMatchObject({
      sealedKey: null,
    });
  });

  test.each([
    [
      "of another certificate",
      async () => ({ ...(await makeSigningPair()), key: (await makeSigningPair()).key }),
      /another key/,
    ],
    [
      "of a curve that C2PA does not know",
      async () => ({
        ...(await makeSigningPair()),
        key: generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey.export({
          type: "pkcs8",
          format: "pem",
        }),
      }),
      /P-256/,
    ],
    [
      "below another first certificate",
      async () => {
        const { certificates, key } = await makeSigningPair();
        return { certificates: certificates.split(/(?<=END CERTIFICATE-----)\s*/)[1] ?? "", key };
      },
      /another key/,
    ],
    ["that is no key", async () => ({ ...(await makeSigningPair()), key: "-----BEGIN nonsense" }), /PEM/],
    [
      "in a file that is not there",
      async () => ({ ...(await makeSigningPair()), key: "/nowhere/key.pem" }),
      /SIGNING_KEY/,
    ],
  ])("is refused with the reason when it is one %s", async (_name, pair, reason) => {
    const { certificates, key } = await pair();
    await expect(
      findSigner(withEnv({ SIGNING_KEY: String(key), SIGNING_CERTIFICATES: certificates })),
    ).rejects.toThrow(reason);
  });
});
