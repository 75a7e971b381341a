"use client";
import { QueryClientProvider } from "@tanstack/react-query";
import { WifiOff } from "lucide-react";
import { type Locale, type Messages, NextIntlClientProvider, useTranslations } from "next-intl";
import { type ReactNode, useState, useSyncExternalStore } from "react";
import { outdated } from "../ui/code.ts";
import { createQueryClient } from "../client/query-client.ts";
import { trustSession } from "../client/session.ts";
import { useConnection } from "../live/hooks.tsx";
import type { Part } from "../parts/more-words.tsx";
import { Button } from "../ui/button.tsx";
import { useSettled } from "../ui/hooks.ts";

function watchNetwork(listener: () => void): () => void {
  const leaving = new AbortController();
  window.addEventListener("online", listener, { signal: leaving.signal });
  window.addEventListener("offline", listener, { signal: leaving.signal });
  return () => leaving.abort();
}

/** A change of networks is no outage. */
const offlineShownAfterMs = 3_000;

/** Whether the browser has been without a network for some seconds; false as soon as it is back. */
function useIsOffline(): boolean {
  const isOnline = useSyncExternalStore(
    watchNetwork,
    () => navigator.onLine,
    () => true,
  );
  const wasOnline = useSettled(isOnline, offlineShownAfterMs);
  return !isOnline && !wasOnline;
}

/** The page is older than the studio. */
function OutdatedNotice() {
  const t = useTranslations("errors.outdated");
  return (
    <div className="pointer-events-auto flex max-w-[min(520px,calc(100vw-32px))] items-center gap-3 rounded-card bg-raised py-2 ps-4 pe-2 shadow-float">
      <div className="min-w-0 flex-1">
        <p className="text-sm font-medium">{t("title")}</p>
        <p className="text-xs text-quiet">{t("advice")}</p>
      </div>
      <Button size="small" onClick={() => window.location.reload()}>
        {t("reload")}
      </Button>
    </div>
  );
}

/**
 * Says that the browser is offline, that live updates are interrupted, or that the page is outdated; the store reports an
 * interruption after three seconds.
 */
export function ConnectionNotice() {
  const t = useTranslations("frame");
  const connection = useConnection();
  const isOffline = useIsOffline();
  const isOutdated = useSyncExternalStore(outdated.watch, outdated.get, () => false);
  return (
    <div role="status" className="pointer-events-none fixed inset-x-0 top-3 z-60 flex justify-center">
      {isOutdated && !isOffline ? (
        <OutdatedNotice />
      ) : isOffline || connection === "reconnecting" ? (
        <p className="flex items-center gap-2 rounded-full bg-raised px-4 py-2 text-xs font-medium shadow-float">
          <WifiOff className="size-4 text-warn" aria-hidden />
          {t(isOffline ? "offline" : "reconnecting")}
        </p>
      ) : null}
    </div>
  );
}

interface ProvidersProps {
  readonly locale: Locale;
  readonly words: Part;
  readonly hasSession: boolean;
  readonly children: ReactNode;
}

function prepare(hasSession: boolean) {
  if (hasSession && typeof window !== "undefined") trustSession();
  return createQueryClient();
}

export function Providers({ locale, words, hasSession, children }: ProvidersProps) {
  const [queryClient] = useState(() => prepare(hasSession));
  return (
    <NextIntlClientProvider
      locale={locale}
      // Safe cast: of the messages those that are used below, which `check` makes sure of.
      messages={words as Messages}
      timeZone={Intl.DateTimeFormat().resolvedOptions().timeZone}
    >
      <QueryClientProvider client={queryClient}>{children}</QueryClientProvider>
    </NextIntlClientProvider>
  );
}
