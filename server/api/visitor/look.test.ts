import vm from "node:vm";
import { expect, test } from "vitest";
import { visitorScript } from "./look.ts";

/** The script in a page that still fills: how often it is replaced when the page is read again with this answer. */
async function replacedAfter(answer: () => Promise<Response>): Promise<number> {
  let replaced = 0;
  const shown = { innerHTML: "two of nine", contains: () => false, replaceWith: () => (replaced += 1) };
  const { promise: looked, resolve } = Promise.withResolvers<() => unknown>();
  vm.runInNewContext(visitorScript, {
    addEventListener: () => undefined,
    location: { pathname: "/l/token" },
    document: {
      addEventListener: () => undefined,
      documentElement: { dataset: {} },
      querySelector: () => shown,
      hidden: false,
    },
    DOMParser: class {
      parseFromString(text: string) {
        return { querySelector: () => (text.includes("<main>") ? { innerHTML: text } : null) };
      }
    },
    fetch: answer,
    setInterval: resolve,
  });
  (await looked)();
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  await new Promise<void>((done) => void setImmediate(done));
  return replaced;
}

const page = (status: number) => () => Promise.resolve(new Response("<main>news</main>", { status }));

test.each([200, 403, 404])("a page that fills shows what it is answered with %i", async (status) => {
  expect(await replacedAfter(page(status))).toBe(1);
});

test.each([429, 500, 502, 503])("a page that fills stays when it is answered with %i", async (status) => {
  expect(await replacedAfter(page(status))).toBe(0);
});

test("a page that fills stays without an answer, and when that ends in the middle", async () => {
  expect(await replacedAfter(() => Promise.reject(new TypeError("no network")))).toBe(0);
  const cut = new ReadableStream({ pull: (controller) => controller.error(new TypeError("cut")) });
  expect(await replacedAfter(() => Promise.resolve(new Response(cut)))).toBe(0);
});
