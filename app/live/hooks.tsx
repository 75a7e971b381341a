"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { followAccountChange } from "../client/leaving.ts";
import {
  countInTitle,
  type Ended,
  type Notice,
  readNoticeState,
  showNotice,
  startNotices,
} from "./notices.ts";
import { type Connection, hasEnded, live } from "./store.ts";
import { openJobStream } from "./stream.ts";
import { startLive } from "./tabs.ts";

const nothing = () => undefined;

/** One job as it changes; fetched once when the stream has not reported it. */
export function useJob(id: string | null) {
  const watch = useCallback((listener: () => void) => live.watchJob(id ?? "", listener), [id]);
  const job = useSyncExternalStore(watch, () => live.job(id ?? ""), nothing);
  const { data, isError } = useQuery({
    queryKey: keys.job(id ?? ""),
    queryFn: () => api.jobs.get.query({ id: id ?? "" }),
    enabled: id !== null && job === undefined,
    staleTime: Infinity,
  });
  useEffect(() => {
    if (data !== undefined) live.put(data);
  }, [data]);
  return { job, isMissing: isError && job === undefined };
}

/** The progress of a running job; undefined before the engine's first report. */
export function useProgress(id: string) {
  const watch = useCallback((listener: () => void) => live.watchJob(id, listener), [id]);
  return useSyncExternalStore(watch, () => live.progress(id), nothing);
}

const none: readonly JobView[] = [];

/** Jobs that are open, or that ended while this browser watched; newest first. Selections show on their picture alone. */
export function useLiveJobs(): readonly JobView[] {
  const jobs = useSyncExternalStore(live.watchList, live.list, () => none);
  return useMemo(() => jobs.filter(({ kind }) => kind !== "segment"), [jobs]);
}

/** How many live jobs have not ended. */
export function useOpenJobCount(): number {
  return useLiveJobs().filter((job) => !hasEnded(job)).length;
}

export function useConnection(): Connection {
  return useSyncExternalStore(live.watchList, live.connection, () => "connecting");
}

/** What a notice says: kinds and numbers, never prompts or pictures, since others may see the screen. */
function useNoticeText(): (ended: Ended) => Notice {
  const t = useTranslations("notices");
  const kinds = useTranslations("jobs.kinds");
  const router = useRouter();
  return ({ jobs, answers }) => {
    const [job] = jobs;
    const body = t("open");
    const tag = "atelier-ended";
    const open = (path: string) => () => router.push(path);
    if (!job) return { title: t("answered"), body, tag, onClick: open("/assistant") };
    const failed = jobs.filter(({ status }) => status === "failed").length;
    const done = jobs.length - failed;
    const also = answers.length > 0 ? `${t("answered")}. ${body}` : body;
    if (jobs.length > 1)
      return {
        title: t("many", { done, failed, both: String(done > 0 && failed > 0) }),
        body: also,
        tag,
        onClick: open("/jobs"),
      };
    const title = t(failed > 0 ? "failed" : "done", { kind: kinds(job.kind) });
    return { title, body: also, tag: `atelier-${job.id}`, onClick: open(`/jobs/${job.id}`) };
  };
}

/** Tells of what ends while the studio is not in view: by notices of the browser, if wanted, and in the title. */
function useNotices(): void {
  const textOf = useNoticeText();
  const latest = useRef(textOf);
  useEffect(() => {
    latest.current = textOf;
  });
  useEffect(() => countInTitle(live, document), []);
  useEffect(() => {
    if (readNoticeState() === "unsupported") return;
    return startNotices({
      store: live,
      locks: navigator.locks,
      page: document,
      isOn: () => readNoticeState() === "on",
      show: (ended) => void showNotice(latest.current(ended)),
    });
  }, []);
}

/** Holds the live stream while the page is open; refetches data that an ended job or an outage made stale. */
export function LiveConnection() {
  const queries = useQueryClient();
  useNotices();
  useEffect(
    () =>
      startLive({
        store: live,
        open: openJobStream,
        onAccountChange: followAccountChange,
        locks: navigator.locks,
      }),
    [],
  );
  useEffect(
    () =>
      live.onEnd((job) => {
        void queries.invalidateQueries({ queryKey: keys.job(job.id) });
        void queries.invalidateQueries({ queryKey: ["jobs", "list"] });
        if (job.status === "completed") void queries.invalidateQueries({ queryKey: ["images", "list"] });
      }),
    [queries],
  );
  const isLive = useConnection() === "live";
  useEffect(() => {
    if (!isLive) return;
    void queries.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" });
  }, [isLive, queries]);
  return null;
}
