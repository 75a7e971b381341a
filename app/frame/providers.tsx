"use client";
import { QueryClientProvider } from "@tanstack/react-query";
import { WifiOff } from "lucide-react";
import { type Locale, type Messages, NextIntlClientProvider, useTranslations } from "next-intl";
import { type ReactNode, useState, useSyncExternalStore } from "react";
import { createQueryClient } from "../client/query-client.ts";
import { trustSession } from "../client/session.ts";
import { useConnection } from "../live/hooks.tsx";
import type { Part } from "./more-words.tsx";
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

/** Says that the browser is offline or that live updates are interrupted; the store reports an interruption after three seconds. */
export function ConnectionNotice() {
  const t = useTranslations("frame");
  const connection = useConnection();
  const isOffline = useIsOffline();
  return (
    <div role="status" className="pointer-events-none fixed inset-x-0 top-3 z-60 flex justify-center">
      {isOffline || connection === "reconnecting" ? (
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
