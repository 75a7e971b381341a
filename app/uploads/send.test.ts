import { afterEach, expect, test, vi } from "vitest";
import { sendFile } from "./send.ts";

vi.mock("../client/session.ts", () => ({
  ensureGuest: () => Promise.resolve(),
  forgetSession: () => undefined,
}));
afterEach(() => vi.unstubAllGlobals());

const asked: string[] = [];

/** A studio that takes the announcement, behind something that answers the file itself. */
function studioBehind(status: number, body: string): void {
  studioWith("/put/one", () => ({ status, body }));
}

interface Answered {
  readonly status: number;
  readonly body: string;
}

/** One whose files go to this address; `hasHash`: whether the last announcement had the hash of the file. */
function studioWith(url: string, answerOf: (hasHash: boolean) => Answered): void {
  asked.length = 0;
  let hasHash = false;
  vi.stubGlobal("fetch", (address: string, { method, body = null }: RequestInit) => {
    asked.push(`${method} ${address}`);
    if (address.endsWith("/direct") && typeof body === "string")
      hasHash = Object.hasOwn(JSON.parse(body), "sha256");
    return Promise.resolve(Response.json({ id: "one", url, headers: {} }, { status: 201 }));
  });
  class Sending extends EventTarget {
    readonly upload = new EventTarget();
    status = 0;
    responseText = "";
    open(): void {}
    send(): void {
      const { status, body } = answerOf(hasHash);
      [this.status, this.responseText] = [status, body];
      this.dispatchEvent(new Event("load"));
    }
  }
  vi.stubGlobal("XMLHttpRequest", Sending);
}

const { signal } = new AbortController();

test.each([
  [413, "<html><h1>413 Request Entity Too Large</h1></html>", "request_too_large"],
  [413, "", "request_too_large"],
  [429, "slow down", "rate_limited"],
  [502, "<html>Bad gateway</html>", "offline"],
  [413, '{"code":"upload_too_large","detail":"Too large."}', "upload_too_large"],
])("what stands before the studio refuses a file with %i %s", async (status, body, code) => {
  studioBehind(status, body);
  const result = await sendFile({ file: new Blob(["x"]), name: "a.png", signal });
  expect(result).toMatchObject({ ok: false, failure: { code } });
  expect(asked.at(-1)).toBe("DELETE /api/v1/uploads/direct/one");
});

test("a file that the browser cannot read any more is not sent, and is not the network's fault", async () => {
  studioBehind(200, "{}");
  const file = new Blob(["x"]);
  const unreadable = () => Promise.reject(new DOMException("It was changed.", "NotReadableError"));
  vi.spyOn(file, "slice").mockReturnValue(Object.assign(new Blob(), { arrayBuffer: unreadable }));
  expect(await sendFile({ file, name: "a.png", signal })).toMatchObject({
    ok: false,
    failure: { code: "file_unreadable" },
  });
  expect(asked).toEqual([]);
});

test("a bucket that knows no checksums gets the file again without one, and the next one so at once", async () => {
  const put: boolean[] = [];
  studioWith("https://bucket.test/one", (hasHash) => {
    put.push(hasHash);
    return { status: hasHash ? 400 : 200, body: "<Error><Code>InvalidArgument</Code></Error>" };
  });
  for (const name of ["a.png", "b.png"])
    expect(await sendFile({ file: new Blob(["x"]), name, signal })).toMatchObject({ ok: true });
  expect(put).toEqual([true, false, false]);
});
