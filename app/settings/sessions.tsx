"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { api } from "../client/api.ts";
import { useRelativeTime } from "../client/relative-time.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { authClient, signOut } from "../client/session.ts";
import { Button } from "../ui/button.tsx";
import { SettingsSection } from "./section.tsx";

type Session = Awaited<ReturnType<typeof api.account.sessions.query>>["items"][number];

function useDeviceName(): (session: Session) => string {
  const t = useTranslations("settings");
  return ({ browser, system }) =>
    [browser, system].filter((part) => part !== null).join(" · ") || t("deviceUnknown");
}

function DeviceRow({ session }: { readonly session: Session }) {
  const t = useTranslations("settings");
  const format = useFormatter();
  const nameOf = useDeviceName();
  const queries = useQueryClient();
  const onError = useFailureToast();
  const end = useMutation({
    mutationFn: () => api.account.endSession.mutate({ id: session.id }),
    onError,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.sessions }),
  });
  const ago = useRelativeTime();
  const startedAt = new Date(session.startedAt);
  const facts = [
    session.address,
    session.isCurrent ? null : t("deviceUsed", { ago: ago(session.lastUsedAt) }),
    t("deviceStarted", { day: format.dateTime(startedAt, { dateStyle: "medium" }) }),
  ];
  const name = nameOf(session);
  return (
    <li className="flex items-center gap-4 py-2.5">
      <div className="min-w-0 flex-1">
        <p className="text-sm font-medium break-words">
          {name}
          {session.isCurrent ? <span className="font-normal text-ok">{` · ${t("deviceThis")}`}</span> : null}
        </p>
        <p className="tabular text-xs break-words text-quiet">
          {facts.filter((fact) => fact !== null).join(" · ")}
        </p>
      </div>
      {session.isCurrent ? null : (
        <Button
          size="small"
          look="danger"
          disabled={end.isPending}
          aria-label={t("deviceEndNamed", { name })}
          onClick={() => end.mutate()}
        >
          {t("signOut")}
        </Button>
      )}
    </li>
  );
}

function SignOutButtons({ hasOthers }: { readonly hasOthers: boolean }) {
  const t = useTranslations("settings");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const leave = useMutation({
    mutationFn: async (everywhere: boolean) => {
      if (everywhere) await (await authClient()).revokeSessions({ fetchOptions: { throw: true } });
      await signOut();
    },
    onError,
  });
  const endOthers = useMutation({
    mutationFn: () => api.account.endOtherSessions.mutate(),
    onError,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.sessions }),
  });
  const isBusy = leave.isPending || endOthers.isPending;
  return (
    <div className="flex flex-wrap gap-2">
      <Button disabled={isBusy} onClick={() => leave.mutate(false)}>
        {t("signOut")}
      </Button>
      {hasOthers ? (
        <Button disabled={isBusy} onClick={() => endOthers.mutate()}>
          {t("devicesEndOthers")}
        </Button>
      ) : null}
      <Button disabled={isBusy} onClick={() => leave.mutate(true)}>
        {t("signOutEverywhere")}
      </Button>
    </div>
  );
}

/** The devices on which the account is signed in. */
export function SessionsSection() {
  const t = useTranslations("settings");
  const { data } = useQuery({ queryKey: keys.sessions, queryFn: () => api.account.sessions.query() });
  return (
    <SettingsSection id="sessions" title={t("sessions")} text={t("sessionsText")}>
      <div className="flex max-w-[640px] flex-col gap-4">
        {data === undefined ? null : (
          <ul aria-label={t("sessions")} className="divide-y divide-line border-y border-line">
            {data.items.map((session) => (
              <DeviceRow key={session.id} session={session} />
            ))}
          </ul>
        )}
        <SignOutButtons hasOthers={(data?.items.length ?? 0) > 1} />
      </div>
    </SettingsSection>
  );
}
