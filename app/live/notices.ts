import type { JobView } from "@atelier/server/jobs";
import { readDraft, writeDraft } from "../client/leaving.ts";
import { hasEnded, type LiveStore } from "./store.ts";
import { createListeners } from "../ui/listeners.ts";

/** What ended while nobody looked at the studio. */
export interface Ended {
  readonly jobs: readonly JobView[];
  /** Ids of questions that the assistant has answered. */
  readonly answers: readonly string[];
}

type Visible = Pick<Document, "visibilityState" | "addEventListener" | "removeEventListener">;

interface StartOptions {
  readonly store: LiveStore;
  readonly locks: LockManager;
  readonly page: Visible;
  /** Whether this device is to be told now. */
  readonly isOn: () => boolean;
  readonly show: (ended: Ended) => void;
  /** Several ends within this time make one notice. */
  readonly collectMs?: number;
}

const visibleLock = "atelier-visible";
const noticeLock = "atelier-notices";
const usualCollectMs = 1_500;

/** Holds a lock of all visible tabs while this one is visible, by which hidden tabs know that somebody looks. */
function shareVisibility({ locks, page }: Pick<StartOptions, "locks" | "page">): () => void {
  let held: AbortController | null = null;
  const update = () => {
    const isVisible = page.visibilityState === "visible";
    if (isVisible === (held !== null)) return;
    held?.abort();
    held = isVisible ? holdUntilAborted(locks, { name: visibleLock, mode: "shared" }) : null;
  };
  update();
  page.addEventListener("visibilitychange", update);
  return () => {
    page.removeEventListener("visibilitychange", update);
    held?.abort();
  };
}

interface Hold {
  readonly name: string;
  readonly mode: LockMode;
  readonly onHeld?: () => void;
}

function holdUntilAborted(locks: LockManager, { name, mode, onHeld }: Hold): AbortController {
  const leaving = new AbortController();
  const { signal } = leaving;
  const hold = () => {
    onHeld?.();
    return new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  };
  locks.request(name, { mode, signal }, hold).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return leaving;
}

/** Selections end within the editor; a job that its user stopped is no news. */
const isNews = ({ kind, status }: JobView) => kind !== "segment" && status !== "cancelled";

/**
 * Tells of jobs and answers that end while every tab of the studio is hidden: each once, by the one tab that holds the
 * lock. Returns a stop function.
 */
export function startNotices(options: StartOptions): () => void {
  const { store, locks, isOn, show, collectMs = usualCollectMs } = options;
  const stopSharing = shareVisibility(options);
  let isTeller = false;
  const turn = holdUntilAborted(locks, {
    name: noticeLock,
    mode: "exclusive",
    onHeld: () => (isTeller = true),
  });
  const jobs = new Map<string, JobView>();
  const answers = new Set<string>();
  const asked = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function tell(): Promise<void> {
    timer = undefined;
    const ended = { jobs: [...jobs.values()], answers: [...answers] };
    jobs.clear();
    answers.clear();
    const { held = [] } = await locks.query();
    if (!isOn() || held.some(({ name }) => name === visibleLock)) return;
    show(ended);
  }
  function collect(): void {
    if (isTeller) timer ??= setTimeout(() => void tell(), collectMs);
    else {
      jobs.clear();
      answers.clear();
    }
  }
  const stopJobs = store.onEnd((job) => {
    if (!isNews(job)) return;
    jobs.set(job.id, job);
    collect();
  });
  const stopQuestions = store.onQuestions((update) => {
    if (update.type !== "runs") return;
    for (const { id, status } of update.runs) {
      const isOver = status === "completed" || status === "failed";
      if (!isOver) asked.add(id);
      else if (asked.delete(id)) answers.add(id);
    }
    if (answers.size > 0) collect();
  });
  return () => {
    clearTimeout(timer);
    stopJobs();
    stopQuestions();
    stopSharing();
    turn.abort();
  };
}

/** Writes the number of jobs that ended while this tab was hidden before its title, until it is seen. Returns a stop function. */
export function countInTitle(store: LiveStore, page: Visible & Pick<Document, "title">): () => void {
  let unseen = 0;
  const prefix = () => `(${unseen}) `;
  const clear = () => {
    if (page.title.startsWith(prefix())) page.title = page.title.slice(prefix().length);
    unseen = 0;
  };
  const onVisibility = () => {
    if (page.visibilityState === "visible" && unseen > 0) clear();
  };
  const stop = store.onEnd((job) => {
    if (page.visibilityState === "visible" || !isNews(job) || !hasEnded(job)) return;
    const next = unseen + 1;
    if (unseen > 0) clear();
    unseen = next;
    page.title = `${prefix()}${page.title}`;
  });
  page.addEventListener("visibilitychange", onVisibility);
  return () => {
    stop();
    page.removeEventListener("visibilitychange", onVisibility);
    if (unseen > 0) clear();
  };
}

/** `blocked`: the user, or the browser, refuses them for this site. `unsupported` also where a page may not show any. */
export type NoticeState = "unsupported" | "blocked" | "off" | "on";

const storageKey = "atelier-notices";

export function readNoticeState(): NoticeState {
  if (typeof Notification === "undefined" || typeof navigator === "undefined" || !("locks" in navigator))
    return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  const isOn = readDraft(storageKey) === "on" && Notification.permission === "granted";
  return isOn ? "on" : "off";
}

const listeners = createListeners();

export function watchNoticeState(listener: () => void): () => void {
  const forget = listeners.watch(listener);
  window.addEventListener("storage", listener);
  return () => {
    forget();
    window.removeEventListener("storage", listener);
  };
}

/** Switches notices of this device on or off; asks the browser first, which only a click of the user may. */
export async function switchNotices(isOn: boolean): Promise<void> {
  if (isOn && Notification.permission === "default") await Notification.requestPermission();
  writeDraft(storageKey, isOn ? "on" : "off");
  listeners.notify();
}

export interface Notice {
  readonly title: string;
  readonly body: string;
  /** A later notice of the same tag replaces it. */
  readonly tag: string;
  readonly onClick?: () => void;
}

/** False where the browser lets only service workers show them, as on phones. */
export function showNotice({ title, body, tag, onClick }: Notice): boolean {
  try {
    const notification = new Notification(title, { body, tag, icon: "/icon.svg" });
    notification.addEventListener("click", () => {
      window.focus();
      notification.close();
      onClick?.();
    });
    return true;
  } catch {
    return false;
  }
}
