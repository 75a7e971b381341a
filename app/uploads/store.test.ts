import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Failure } from "../ui/failures.ts";
import { allFilesOf, mayBePicture } from "./collect.ts";
import type { SendResult } from "./send.ts";
import type * as StoreModule from "./store.ts";

type Store = typeof StoreModule;
type Upload = StoreModule.Upload;
type Send = (options: {
  name: string;
  scalesDown?: boolean;
  signal: AbortSignal;
}) => SendResult | Promise<SendResult>;

let sendFile: Send;
const sender = () => ({ sendFile: async (options: Parameters<Send>[0]) => sendFile(options) });
vi.mock("./send.ts", () => sender());

const stored = { ok: true, image: { id: "image", width: 1, height: 1 } } as const;
const refused = (code: Failure["code"], details?: Failure["details"]): SendResult => ({
  ok: false,
  failure: { code, message: "", ...(details ? { details } : {}) },
});
const filesNamed = (count: number, bytes = 1) =>
  Array.from({ length: count }, (_, at) => new File([new Uint8Array(bytes)], `${at}.jpg`));

/** What the studio says of itself; null: nothing. */
let ready: number | null;
let looks: number;
let store: Store;
beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  [ready, looks] = [200, 0];
  vi.stubGlobal("fetch", (address: string) => {
    looks += 1;
    return ready === null || address !== "/api/ready"
      ? Promise.reject(new TypeError("Failed to fetch"))
      : Promise.resolve(new Response(null, { status: ready }));
  });
  store = await import("./store.ts");
});
/** Lets all that is under way, and the pauses of this many ms, pass. */
const pass = (ms = 0) => vi.advanceTimersByTimeAsync(ms);
const statesOf = (uploads: readonly Upload[]) =>
  Object.fromEntries(Map.groupBy(uploads, ({ state }) => state));

describe("A15 many files", () => {
  test.each<[string, Failure["code"], number | null]>([
    ["that cannot be reached", "offline", null],
    ["behind a proxy that does not reach it", "internal", 502],
    ["without its database", "database_unavailable", 503],
  ])("a studio %s is waited for, however long, and asked with pauses that grow", async (_, code, status) => {
    let sent = 0;
    ready = status;
    sendFile = () => {
      sent += 1;
      return ready === 200 ? stored : refused(code);
    };
    store.addUploads(filesNamed(9), () => undefined);
    await pass(600_000);
    expect(statesOf(store.uploadList())["failed"]).toBeUndefined();
    expect([sent, looks < 30]).toEqual([3, true]);
    ready = 200;
    await pass(30_000);
    expect(store.uploadList()).toEqual([]);
    const before = looks;
    await pass(600_000);
    expect(looks).toBe(before);
  });

  test("files wait for a sender whose code does not load, and are sent by it then", async () => {
    ready = null;
    sendFile = () => stored;
    vi.doMock("./send.ts", () => {
      throw new Error("The code did not come.");
    });
    store.addUploads(filesNamed(4), () => undefined);
    await vi.waitFor(() => expect(looks).toBeGreaterThan(0));
    await pass(60_000);
    expect(statesOf(store.uploadList())).toMatchObject({ waiting: { length: 4 } });
    vi.doMock("./send.ts", sender);
    ready = 200;
    await pass(30_000);
    await vi.waitFor(() => expect(store.uploadList()).toEqual([]));
  });

  test("a page whose code the studio lacks by now fails all files at once, and keeps them in the list", async () => {
    vi.doMock("./send.ts", () => {
      throw new Error("404");
    });
    store.addUploads(filesNamed(9), () => undefined);
    await vi.waitFor(() => expect(statesOf(store.uploadList())).toMatchObject({ failed: { length: 9 } }));
    expect(store.uploadList().map(({ failure }) => failure?.code)).toEqual(Array(9).fill("outdated"));
    vi.doMock("./send.ts", sender);
  });

  test("a studio that is away is not asked for once nothing waits", async () => {
    ready = null;
    sendFile = () => refused("offline");
    store.addUploads(filesNamed(9), () => undefined);
    await pass(60_000);
    store.addUpload(new File([new Uint8Array(101 * 1024 ** 2)], "failed.jpg"));
    store.dropUploads(
      store
        .uploadList()
        .filter(({ state }) => state === "waiting")
        .map(({ id }) => id),
    );
    await pass(30_000);
    const before = looks;
    await pass(600_000);
    expect([looks, store.uploadList().length]).toEqual([before, 1]);
  });

  test("2,000 are sent three at a time, and each leaves the list", async () => {
    let [running, most] = [0, 0];
    sendFile = async () => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      return stored;
    };
    let count = 0;
    store.addUploads(filesNamed(2_000), () => (count += 1));
    await pass(5 * 700);
    expect([count, most, store.uploadList()]).toEqual([2_000, 3, []]);
  });

  test("a limit of the minute is waited for as the server asks, and no file fails", async () => {
    let [sent, left] = [0, 200];
    sendFile = () => {
      sent += 1;
      return (left -= 1) >= 0 ? stored : refused("rate_limited", { retryAfterS: 30 });
    };
    let count = 0;
    store.addUploads(filesNamed(300), () => (count += 1));
    await pass(1_000);
    expect([count, sent <= 203]).toEqual([200, true]);
    left = 200;
    await pass(28_000);
    expect(count).toBe(200);
    await pass(2_000);
    expect([count, store.uploadList()]).toEqual([300, []]);
  });

  test("a proxy that limits without a time is asked four times for a file, and no more", async () => {
    let sent = 0;
    sendFile = () => {
      sent += 1;
      return refused("rate_limited");
    };
    store.addUpload(new File(["x"], "refused.jpg"));
    await pass(59_000);
    expect(sent).toBe(1);
    await pass(600_000);
    expect([sent, statesOf(store.uploadList())]).toMatchObject([4, { failed: { length: 1 } }]);
  });

  test("a pause ends although the clock is set back meanwhile", async () => {
    let left = 1;
    sendFile = () => ((left -= 1) >= 0 ? refused("rate_limited", { retryAfterS: 30 }) : stored);
    store.addUpload(new File(["x"], "waiting.jpg"));
    await pass(1_000);
    vi.setSystemTime(Date.now() - 3_600_000);
    await pass(30_000);
    expect(statesOf(store.uploadList())).toMatchObject({ done: { length: 1 } });
  });

  test("a fault of some seconds costs no file; one that stays while the studio is ready fails them, to be sent again at once", async () => {
    let isAway = true;
    sendFile = () => (isAway ? refused("offline") : stored);
    let count = 0;
    store.addUploads(filesNamed(5), () => (count += 1));
    await pass(3_000);
    isAway = false;
    await pass(60_000);
    expect(count).toBe(5);
    isAway = true;
    store.addUploads(filesNamed(4), () => (count += 1));
    await pass(120_000);
    const { failed = [] } = statesOf(store.uploadList());
    expect(failed).toHaveLength(4);
    isAway = false;
    store.retryUploads(failed.map(({ id }) => id));
    await pass();
    expect([count, store.uploadList()]).toEqual([9, []]);
  });

  test("how far all are is known, also when some are given up, fail or come later", async () => {
    const ends: (() => void)[] = [];
    const progress = () => [
      store.uploadList().filter(({ state }) => state !== "done").length,
      store.uploadTotal(),
    ];
    sendFile = () => new Promise((resolve) => ends.push(() => resolve(stored)));
    store.addUploads(filesNamed(20), () => undefined);
    await pass();
    ends.splice(0, 2).forEach((end) => end());
    await pass();
    expect(progress()).toEqual([18, 20]);
    store.dropUploads(
      store
        .uploadList()
        .slice(-5)
        .map(({ id }) => id),
    );
    store.addUploads(filesNamed(3), () => undefined);
    expect(progress()).toEqual([16, 18]);
    store.dropUploads(store.uploadList().map(({ id }) => id));
    store.addUploads(filesNamed(4), () => undefined);
    expect(progress()).toEqual([4, 4]);
  });

  test("a full account stops all at once, and is not asked for each file", async () => {
    let sent = 0;
    sendFile = () => {
      sent += 1;
      return sent > 10 ? refused("storage_quota") : stored;
    };
    store.addUploads(filesNamed(500), () => undefined);
    await pass(1_000);
    const { failed = [], waiting = [] } = statesOf(store.uploadList());
    expect([failed.length, waiting.length, sent <= 13]).toEqual([490, 0, true]);
  });

  test("those that wait can be given up, those that run too", async () => {
    const signals: AbortSignal[] = [];
    sendFile = ({ signal }) => {
      signals.push(signal);
      return new Promise<SendResult>(() => undefined);
    };
    store.addUploads(filesNamed(50), () => undefined);
    await pass();
    store.dropUploads(store.uploadList().map(({ id }) => id));
    expect([store.uploadList(), signals.map(({ aborted }) => aborted)]).toEqual([[], [true, true, true]]);
  });
});

test("A5 one that is too large is offered to be scaled down, once", async () => {
  const asked: (boolean | undefined)[] = [];
  sendFile = ({ scalesDown }) => {
    asked.push(scalesDown);
    return refused("upload_too_many_pixels");
  };
  const id = store.addUpload(new File(["x"], "wide.jpg"));
  await pass();
  const first = store.uploadList()[0];
  expect(first && store.canScaleDown(first)).toBe(true);
  store.retryUploads([id], { scalesDown: true });
  await pass();
  const second = store.uploadList()[0];
  expect([asked, second && store.canScaleDown(second)]).toEqual([[false, true], false]);
});

test.each([
  ["IMG_0001.HEIC", "", true],
  ["IMG_0001.heic", "image/heic", true],
  ["no extension", "", true],
  ["scan.tif", "image/tiff", true],
  ["wrong.txt.jpg", "image/jpeg", true],
  ["DSC_1.NEF", "", true],
  [".DS_Store", "", false],
  ["._IMG_0001.JPG", "image/jpeg", false],
  ["Thumbs.db", "", false],
  ["IMG_0001.MOV", "video/quicktime", false],
  ["IMG_0001.AAE", "", false],
  ["notes.pdf", "application/pdf", false],
])("of a folder %s (%s) is sent: %s", (name, type, isSent) => {
  expect(mayBePicture({ name, type, size: 9 })).toBe(isSent);
});

test("of folders within folders all files are found, and none of the system's own folders", async () => {
  const file = (name: string) => ({
    name,
    isFile: true,
    isDirectory: false,
    file: (done: (file: File) => void) => done(new File(["x"], name)),
  });
  const folder = (name: string, ...inside: readonly object[]) => {
    const parts = [inside.slice(0, 1), inside.slice(1), []];
    const readEntries = (done: (some: readonly object[]) => void) => done(parts.shift() ?? []);
    return { name, isFile: false, isDirectory: true, createReader: () => ({ readEntries }) };
  };
  const system = [folder("@eaDir", file("thumb.jpg")), folder(".trash", file("old.jpg"))];
  const dropped = folder("DCIM", folder("100APPLE", file("a.jpg"), file("b.heic")), ...system, file("c.jpg"));
  const items = [{ kind: "file", webkitGetAsEntry: () => dropped }];
  // Safe cast: the parts of a DataTransfer that are read.
  const data = { items, files: [new File([], "DCIM")] } as unknown as DataTransfer;
  expect((await allFilesOf(data)).map(({ name }) => name)).toEqual(["a.jpg", "b.heic", "c.jpg"]);
});
