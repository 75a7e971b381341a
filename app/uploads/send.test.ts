import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type * as send from "./send.ts";

let sendFile: typeof send.sendFile;
/** The module keeps for its lifetime what the bucket takes, so each test loads a fresh copy. */
beforeEach(async () => {
  vi.resetModules();
  ({ sendFile } = await import("./send.ts"));
});

vi.mock("../client/session.ts", () => ({
  ensureGuest: () => Promise.resolve(),
  forgetSession: () => undefined,
}));
afterEach(() => vi.unstubAllGlobals());

const asked: string[] = [];
/** The hash of each announcement. */
const announced: unknown[] = [];

/** A studio that takes the announcement, behind something that answers the file itself. */
function studioBehind(status: number, body: string): void {
  studioWith("/put/one", () => ({ status, body }));
}

interface Answered {
  readonly status: number;
  readonly body: string;
}

/** One whose files go to this address; `hasHash`: whether the bucket is to compare the hash of the last announcement. */
function studioWith(url: string, answerOf: (hasHash: boolean) => Answered): void {
  asked.length = 0;
  announced.length = 0;
  let hasHash = false;
  vi.stubGlobal("fetch", (address: string, { method, body = null }: RequestInit) => {
    asked.push(`${method} ${address}`);
    if (address.endsWith("/direct") && typeof body === "string") {
      const { sha256, unchecked = false } = JSON.parse(body);
      announced.push(sha256);
      hasHash = sha256 !== undefined && !unchecked;
    }
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

test("a line that fell silent ends an upload, however long one that goes on takes", async () => {
  studioBehind(200, "{}");
  let upload = new EventTarget();
  class Silent extends EventTarget {
    readonly upload = (upload = new EventTarget());
    status = 0;
    responseText = "";
    open(): void {}
    send(): void {}
    abort(): void {
      this.dispatchEvent(new Event("abort"));
    }
  }
  vi.stubGlobal("XMLHttpRequest", Silent);
  for (const isSent of [false, true]) {
    const began = Promise.withResolvers<void>();
    vi.spyOn(Silent.prototype, "send").mockImplementationOnce(() => began.resolve());
    const sending = sendFile({ file: new Blob(["x"]), name: "a.png", signal });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      await began.promise;
      let ended = false;
      void sending.then(() => (ended = true));
      for (let part = 0; part < 10; part += 1) {
        await vi.advanceTimersByTimeAsync(100_000);
        upload.dispatchEvent(new Event("progress"));
      }
      if (isSent) upload.dispatchEvent(new Event("load"));
      await vi.advanceTimersByTimeAsync(isSent ? 299_000 : 119_000);
      expect(ended).toBe(false);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await sending).toMatchObject({ ok: false, failure: { code: "offline" } });
    } finally {
      vi.useRealTimers();
    }
  }
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

/** Sends files to such a bucket; whether it was to compare the hash of each. */
async function sendAll(names: readonly string[], answerOf: (hasHash: boolean) => Answered) {
  const put: boolean[] = [];
  studioWith("https://bucket.test/one", (hasHash) => {
    put.push(hasHash);
    return answerOf(hasHash);
  });
  const results = [];
  for (const name of names) results.push(await sendFile({ file: new Blob(["x"]), name, signal }));
  return { put, isSent: results.map(({ ok }) => ok) };
}

const refusalOf = (code: string, message = "") =>
  `<Error><Code>${code}</Code><Message>${message}</Message></Error>`;

test.each([
  [
    400,
    refusalOf("InvalidArgument", "Unsupported header 'x-amz-checksum-sha256' received for this API call."),
  ],
  [400, refusalOf("InvalidRequest", "The algorithm of the checksum is not supported.")],
  [400, refusalOf("NotImplemented")],
  [501, ""],
])(
  "a bucket that knows no checksums (%i %s) gets the file again without one, and the next one so at once",
  async (status, body) => {
    const answerOf = (hasHash: boolean) => (hasHash ? { status, body } : { status: 200, body: "" });
    expect(await sendAll(["a.png", "b.png"], answerOf)).toEqual({
      put: [true, false, false],
      isSent: [true, true],
    });
    // The studio knows the same bytes by it, and compares it at the end.
    expect(new Set(announced)).toEqual(new Set([expect.stringMatching(/^2d711642b726b044/)]));
  },
);

test.each([
  refusalOf("BadDigest", "The SHA256 you specified did not match the calculated checksum."),
  refusalOf(
    "XAmzContentChecksumMismatch",
    "The provided 'x-amz-checksum' header does not match what was computed.",
  ),
  refusalOf("InvalidDigest", "Failed to validate the checksum of the header."),
  refusalOf("RequestTimeout", "Your socket connection to the server was not read from; see the header."),
  refusalOf("EntityTooLarge"),
  "<html>400 Bad Request</html>",
])("a bucket that refuses a file itself gets no file unchecked: 400 %s", async (body) => {
  expect(await sendAll(["a.png", "b.png"], () => ({ status: 400, body }))).toEqual({
    put: [true, true],
    isSent: [false, false],
  });
});

test("a bucket that takes the file without its hash neither is sent the next one's hash", async () => {
  const body = refusalOf("InvalidArgument");
  expect(await sendAll(["a.png", "b.png"], () => ({ status: 400, body }))).toEqual({
    put: [true, false, true, false],
    isSent: [false, false],
  });
});
