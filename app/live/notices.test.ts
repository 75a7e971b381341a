import type { JobView } from "@atelier/server/jobs";
import { afterEach, expect, test, vi } from "vitest";
import { countInTitle, type Ended, startNotices } from "./notices.ts";
import { createLiveStore, type LiveStore } from "./store.ts";

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** What of a document a tab needs. */
class FakePage extends EventTarget {
  visibilityState: "visible" | "hidden" = "hidden";
  title = "Jobs";
  set(state: "visible" | "hidden") {
    this.visibilityState = state;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

const at = "2026-01-01T00:00:00.000Z";

function job(id: string, changes: Partial<JobView>): JobView {
  return { id, kind: "upscale", status: "processing", revision: 1, outputs: [], ...changes } as JobView;
}

function end(store: LiveStore, id: string, changes: Partial<JobView> = {}) {
  store.apply({ type: "jobs", at, jobs: [job(id, { ...changes, status: "processing" })] });
  store.apply({ type: "jobs", at, jobs: [job(id, { status: "completed", ...changes, revision: 2 })] });
}

function answer(store: LiveStore, id: string, status: "responding" | "completed") {
  store.apply({ type: "runs", runs: [{ id, status }] } as unknown as Parameters<LiveStore["apply"]>[0]);
}

function openTab({ isOn = true } = {}) {
  const store = createLiveStore();
  const page = new FakePage();
  const shown: Ended[] = [];
  const decide = vi.fn<() => boolean>(() => isOn);
  const stop = startNotices({
    store,
    locks: navigator.locks,
    page: page as unknown as Document,
    isOn: decide,
    show: (ended) => shown.push(ended),
    collectMs: 20,
  });
  stops.push(stop);
  return { store, page, shown, decide, stop };
}

const holders = async (name: string) =>
  ((await navigator.locks.query()).held ?? []).filter((lock) => lock.name === name).length;
const untilHeld = (name: string, count: number) =>
  vi.waitFor(async () => expect(await holders(name)).toBe(count));

test("D7 what ends while all tabs are hidden is told once by one of them, several ends in one notice", async () => {
  const tabs = [openTab(), openTab()];
  await untilHeld("atelier-notices", 1);
  for (const { store } of tabs) {
    end(store, "one");
    end(store, "two", { status: "failed" });
    answer(store, "run", "responding");
    answer(store, "run", "completed");
  }
  const shown = () => tabs.flatMap((tab) => tab.shown);
  await vi.waitFor(() => expect(shown()).toHaveLength(1));
  expect(shown()[0]?.answers).toEqual(["run"]);
  expect(shown()[0]?.jobs.map(({ id }) => id)).toEqual(["one", "two"]);
});

test("D7 nothing is told while a tab is visible, or the device is not to be told", async () => {
  const [hidden, visible] = [openTab(), openTab()];
  visible.page.set("visible");
  await untilHeld("atelier-visible", 1);
  end(hidden.store, "one");
  end(visible.store, "one");
  await vi.waitFor(() => expect(hidden.decide).toHaveBeenCalledOnce());
  visible.page.set("hidden");
  await untilHeld("atelier-visible", 0);
  end(hidden.store, "two");
  end(visible.store, "two");
  await vi.waitFor(() => expect(hidden.shown).toHaveLength(1));
  expect(hidden.shown[0]?.jobs.map(({ id }) => id)).toEqual(["two"]);
  expect(visible.shown).toEqual([]);
});

test("D7 a device that is not to be told is not", async () => {
  const off = openTab({ isOn: false });
  await untilHeld("atelier-notices", 1);
  end(off.store, "three");
  await vi.waitFor(() => expect(off.decide).toHaveBeenCalledOnce());
  expect(off.shown).toEqual([]);
});

test("D7 a tab that stays takes over the telling; stopped jobs, selections and old answers are no news", async () => {
  const first = openTab();
  await untilHeld("atelier-notices", 1);
  const second = openTab();
  first.stop();
  await vi.waitFor(async () => {
    const { held = [], pending = [] } = await navigator.locks.query();
    expect(
      [held, pending].map((list) => list.filter(({ name }) => name === "atelier-notices").length),
    ).toEqual([1, 0]);
  });
  end(second.store, "stopped", { status: "cancelled" });
  end(second.store, "selection", { kind: "segment" });
  answer(second.store, "old", "completed");
  end(second.store, "news");
  await vi.waitFor(() => expect(second.shown).toHaveLength(1));
  expect(second.shown[0]).toMatchObject({ jobs: [{ id: "news" }], answers: [] });
});

test("D7 the title counts what ended in a hidden tab until it is seen", () => {
  const store = createLiveStore();
  const page = new FakePage();
  stops.push(countInTitle(store, page as unknown as Document));
  end(store, "one");
  end(store, "two");
  expect(page.title).toBe("(2) Jobs");
  page.set("visible");
  expect(page.title).toBe("Jobs");
  end(store, "three");
  expect(page.title).toBe("Jobs");
});
