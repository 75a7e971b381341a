import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sharedStore } from "../client/leaving.ts";
import { takePath } from "./take-worker.ts";

const source = readFileSync(new URL("../../public/share-worker.js", import.meta.url), "utf8");
const site = "https://studio.test";

interface Share {
  readonly names: readonly string[];
  readonly origin?: string;
  readonly method?: string;
  /** The store is full after so many. */
  readonly room?: number;
}

/** What the worker keeps of a share, by names, and where it leads; null for a request that it leaves to the browser. */
async function share({ names, origin, method = "POST", room = Infinity }: Share) {
  const kept = new Map<string, string>();
  const cache = {
    put: async (address: string, answer: { readonly body: File }) => {
      if (kept.size >= room) throw new DOMException("full", "QuotaExceededError");
      kept.set(address, answer.body.name);
    },
    delete: async (address: string) => kept.delete(address),
  };
  const open = async (name: string) => {
    if (name !== sharedStore) throw new Error("The page of what is shared reads another store.");
    return cache;
  };
  class FakeResponse {
    readonly body: File;
    constructor(body: File) {
      this.body = body;
    }
    static redirect = (to: string) => to;
  }
  const listeners = new Map<string, (event: object) => void>();
  const self = {
    location: { origin: site },
    addEventListener: (type: string, listen: (event: object) => void) => listeners.set(type, listen),
  };
  // oxlint-disable-next-line no-implied-eval, no-new-func -- as a browser runs it
  new Function("self", "caches", "Response", source)(self, { open }, FakeResponse);
  const form = new FormData();
  form.append("title", "words");
  form.append("pictures", "no file");
  for (const name of names) form.append("pictures", new File(["a"], name, { type: "image/png" }));
  const answers: Promise<string>[] = [];
  listeners.get("fetch")?.({
    request: {
      method,
      url: `${site}${takePath}`,
      headers: new Headers(origin === undefined ? {} : { origin }),
      formData: async () => form,
    },
    respondWith: (answer: Promise<string>) => answers.push(answer),
  });
  const [to = null] = await Promise.all(answers);
  return { to, kept: [...kept.values()], addresses: [...kept.keys()] };
}

test("files of a share are kept, whatever they are called, also two of one name; words are not", async () => {
  const names = ["IMG_1.png", "IMG_1.png", "снимка №1.jpg", "a/b?c#d%.png", "\uD800.png"];
  const { to, kept, addresses } = await share({ names });
  expect([to, kept]).toEqual(["/shared", names.with(-1, "\uFFFD.png")]);
  const read = addresses.map((address) =>
    decodeURIComponent(new URL(address, site).pathname.split("/").at(-1) ?? ""),
  );
  expect(read).toEqual(kept);
});

test("a share that does not fit is kept as a whole or not at all, and a form without files is none", async () => {
  const full = await share({ names: ["a.png", "b.png", "c.png"], room: 2 });
  expect([full.to, full.kept]).toEqual(["/shared?lost=room", []]);
  const empty = await share({ names: [] });
  expect([empty.to, empty.kept]).toEqual(["/shared", []]);
});

test.each(["https://other.test", "http://studio.test", "https://studio.test:8443"])(
  "S1 a form of %s is not kept, that of a phone is",
  async (origin) => {
    const names = ["a.png"];
    expect((await share({ names, origin })).kept).toEqual([]);
    for (const own of [undefined, "null", site])
      expect((await share({ names, ...(own === undefined ? {} : { origin: own }) })).kept).toEqual(names);
  },
);

test("the worker answers nothing but what is sent there", async () => {
  for (const method of ["GET", "HEAD"])
    expect(await share({ names: ["a.png"], method })).toEqual({ to: null, kept: [], addresses: [] });
});
