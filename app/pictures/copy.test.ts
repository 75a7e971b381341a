import { afterEach, expect, test, vi } from "vitest";
import { copyPicture } from "./copy.tsx";

afterEach(() => vi.unstubAllGlobals());

class Item {
  readonly parts: Readonly<Record<string, Promise<Blob>>>;
  constructor(parts: Readonly<Record<string, Promise<Blob>>>) {
    this.parts = parts;
  }
}

/** A browser whose clipboard takes what is read, or refuses. */
function beBrowser(answer: Response, refusal?: Error) {
  const asked: string[] = [];
  const written: (Blob | undefined)[] = [];
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    return Promise.resolve(answer);
  });
  vi.stubGlobal("ClipboardItem", Item);
  const write = async ([item]: readonly Item[]) => {
    if (refusal) throw refusal;
    written.push(await item?.parts["image/png"]);
  };
  vi.stubGlobal("navigator", { clipboard: { write } });
  return { asked, written };
}

test("the original is put on the clipboard as a PNG", async () => {
  const { asked, written } = beBrowser(new Response("png"));
  expect(await copyPicture("one")).toBe(true);
  expect(asked).toEqual([expect.stringMatching(/one\/file\?.*format=png$/)]);
  expect(await written[0]?.text()).toBe("png");
});

test("a browser without a clipboard for pictures, or that refuses, is told apart from a picture that cannot be read", async () => {
  beBrowser(new Response("png"), new Error("NotAllowedError"));
  expect(await copyPicture("one")).toBe(false);
  vi.stubGlobal("navigator", {});
  expect(await copyPicture("one")).toBe(false);
  beBrowser(Response.json({ code: "not_found", message: "gone" }, { status: 404 }));
  await expect(copyPicture("one")).rejects.toMatchObject({ code: "not_found" });
});
