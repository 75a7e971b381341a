"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { LoadFailed } from "../parts/page-parts.tsx";
import { Button, buttonStyle } from "../ui/button.tsx";
import { Checkbox } from "../ui/fields.tsx";
import { Confirmation } from "../ui/confirmation.tsx";
import { toastDone } from "../ui/toasts.tsx";
import { SettingsSection } from "./section.tsx";

interface LinkedProps {
  readonly name: string;
  readonly linkedAt: string;
  readonly onUnlinked: () => void;
}

/** The linked chat; unlinking asks first, because it drops what is still to be sent there. */
function LinkedChat({ name, linkedAt, onUnlinked }: LinkedProps) {
  const t = useTranslations("telegram");
  const format = useFormatter();
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [isAsking, setAsking] = useState(false);
  const unlink = useMutation({
    mutationFn: () => api.telegram.unlink.mutate(),
    onSuccess: () => {
      toastDone(t("unlinked"));
      onUnlinked();
      return queries.invalidateQueries({ queryKey: keys.telegram });
    },
    onError,
  });
  const day = format.dateTime(new Date(linkedAt), { dateStyle: "medium" });
  return (
    <div className="flex max-w-[640px] flex-wrap items-center justify-between gap-4">
      <p className="min-w-0 text-sm">{t("linked", { name, day })}</p>
      <Button size="small" look="danger" disabled={unlink.isPending} onClick={() => setAsking(true)}>
        {t("unlink")}
      </Button>
      <Confirmation
        open={isAsking}
        onOpenChange={setAsking}
        title={t("unlinkQuestion", { name })}
        keep={t("unlinkCancel")}
        confirm={t("unlinkConfirm")}
        onConfirm={() => {
          setAsking(false);
          unlink.mutate();
        }}
      >
        {t("unlinkText")}
      </Confirmation>
    </div>
  );
}

/** Whether the chat also gets the results of jobs that were started on the website. */
function AllResults() {
  const t = useTranslations("telegram");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const { data } = useQuery({
    queryKey: keys.notifications,
    queryFn: () => api.notifications.list.query(),
  });
  const set = useMutation({
    mutationFn: (isOn: boolean) => api.notifications.set.mutate({ channel: "telegram", isOn }),
    onError,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.deliveries }),
  });
  const telegram = data?.items.find(({ channel }) => channel === "telegram");
  if (telegram === undefined) return null;
  return (
    <Checkbox checked={telegram.isOn} onChange={(isOn) => set.mutate(isOn)}>
      {t("allResults")}
    </Checkbox>
  );
}

interface DeepLink {
  readonly url: string;
  readonly expiresAt: string;
}

interface LinkFormProps {
  readonly link: DeepLink | null;
  readonly onLink: (link: DeepLink) => void;
}

function LinkForm({ link, onLink }: LinkFormProps) {
  const t = useTranslations("telegram");
  const format = useFormatter();
  const onError = useFailureToast();
  const make = useMutation({
    mutationFn: () => api.telegram.createLink.mutate(),
    onSuccess: onLink,
    onError,
  });
  return (
    <div className="flex max-w-[420px] flex-col items-start gap-4">
      {link === null ? (
        <p className="text-sm text-quiet">{t("notLinked")}</p>
      ) : (
        <p role="status" className="text-sm">
          {t("opened", { time: format.dateTime(new Date(link.expiresAt), { timeStyle: "short" }) })}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {link === null ? null : (
          <a href={link.url} target="_blank" rel="noreferrer" className={buttonStyle("primary")}>
            {t("open")}
          </a>
        )}
        <Button disabled={make.isPending} onClick={() => make.mutate()}>
          {link === null ? t("make") : t("again")}
        </Button>
      </div>
    </div>
  );
}

/** How often the page looks whether the chat was confirmed, while a link is open. */
const lookMs = 3_000;

/** The link to a chat with the studio's bot; nothing where the studio has none. */
export function TelegramSection() {
  const t = useTranslations("telegram");
  const [link, setLink] = useState<DeepLink | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: keys.telegram,
    queryFn: () => api.telegram.state.query(),
    refetchInterval: ({ state }) => (link !== null && !state.data?.link ? lookMs : false),
  });
  // Most studios have no bot, so nothing is shown before it is known.
  if (data === undefined ? error === null : !data.isOffered) return null;
  return (
    <SettingsSection id="telegram" title={t("title")} text={t("text")}>
      {data === undefined ? (
        <LoadFailed error={error} onRetry={() => void refetch()} />
      ) : data.link ? (
        <div className="flex flex-col gap-4">
          <LinkedChat {...data.link} onUnlinked={() => setLink(null)} />
          <AllResults />
        </div>
      ) : (
        <LinkForm link={link} onLink={setLink} />
      )}
    </SettingsSection>
  );
}
