"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { keys } from "../client/queries.ts";
import { shownKind } from "../client/kinds.ts";
import { useConnection } from "./hooks.tsx";
import {
  countInTitle,
  type Ended,
  type Notice,
  readNoticeState,
  showNotice,
  startNotices,
} from "./notices.ts";
import { live } from "./store.ts";
import { openJobStream } from "./stream.ts";
import { startLive } from "./tabs.ts";

/** Appended to a repeated text, because screen readers announce changes only. */
const silentChange = "\u00a0";

/** Announces the end of a job to screen readers. */
function Announcer() {
  const t = useTranslations("jobs");
  const [text, setText] = useState("");
  useEffect(
    () =>
      live.onEnd((job) => {
        const status = job.status === "completed" || job.status === "failed" ? job.status : "cancelled";
        const next = t(`announce.${status}`, { kind: t(`kinds.${shownKind(job)}`) });
        setText((shown) => (shown === next ? next + silentChange : next));
      }),
    [t],
  );
  return (
    <p aria-live="polite" className="sr-only">
      {text}
    </p>
  );
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

/** Holds the live stream while the page is open; refetches data that an ended job or an outage made stale, and says what ends. */
export function Feed() {
  const queries = useQueryClient();
  useNotices();
  useEffect(
    () =>
      startLive({
        store: live,
        open: openJobStream,
        locks: navigator.locks,
        page: document,
      }),
    [],
  );
  useEffect(
    () =>
      live.onEnd((job) => {
        void queries.invalidateQueries({ queryKey: keys.job(job.id) });
        void queries.invalidateQueries({ queryKey: keys.jobLists });
        if (job.status === "completed") void queries.invalidateQueries({ queryKey: keys.imageLists });
      }),
    [queries],
  );
  const isLive = useConnection() === "live";
  useEffect(() => {
    if (!isLive) return;
    void queries.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" });
  }, [isLive, queries]);
  return <Announcer />;
}
