"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { keptApi, useDeferredRemoval, useHidden } from "../client/removal.ts";
import { DeliveryList } from "../deliveries/delivery-list.tsx";
import { ShownOnce } from "../parts/shown-once.tsx";
import { readNoticeState, showNotice, switchNotices, watchNoticeState } from "../live/notices.ts";
import { Button } from "../ui/button.tsx";
import { Checkbox, Field } from "../ui/fields.tsx";
import { toastDone } from "../ui/toasts.tsx";
import { SettingsSection } from "./section.tsx";

type Endpoint = Awaited<ReturnType<typeof api.webhooks.list.query>>["items"][number];

/** A mutation after which everything about deliveries is read again. */
function useAct<Input, Output>(
  act: (input: Input) => Promise<Output>,
  onDone?: (output: Output, input: Input) => void,
) {
  const queries = useQueryClient();
  const onError = useFailureToast();
  return useMutation({
    mutationFn: act,
    onSuccess: (output, input) => onDone?.(output, input),
    onError,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.deliveries }),
  });
}

interface EndpointRowProps {
  readonly endpoint: Endpoint;
  readonly onSecret: (secret: string) => void;
}

function EndpointRow({ endpoint, onSecret }: EndpointRowProps) {
  const t = useTranslations("settings.webhooks");
  const { id, url, isEnabled, disabledReason, needsNewSecret } = endpoint;
  const test = useAct(
    () => api.webhooks.test.mutate({ id }),
    () => toastDone(t("tested")),
  );
  const rotate = useAct(
    () => api.webhooks.rotate.mutate({ id }),
    ({ secret }) => onSecret(secret),
  );
  const enable = useAct(() => api.webhooks.enable.mutate({ id, isEnabled: !isEnabled }));
  const isBusy = test.isPending || rotate.isPending || enable.isPending;
  const queries = useQueryClient();
  const removeLater = useDeferredRemoval();
  const remove = () =>
    removeLater({
      id,
      title: t("removed"),
      text: t("removedText"),
      send: () => keptApi.webhooks.remove.mutate({ id }),
      onSettled: () => queries.invalidateQueries({ queryKey: keys.deliveries }),
    });
  return (
    <li className="flex flex-col gap-2 py-3">
      <div className="min-w-0">
        <p className="text-sm break-all">{url ?? t("ofJobs")}</p>
        {isEnabled ? null : <p className="text-xs text-warn">{disabledReason ?? t("off")}</p>}
        {needsNewSecret ? <p className="text-xs text-warn">{t("needsNewSecret")}</p> : null}
      </div>
      <div className="flex flex-wrap gap-2">
        {url === null ? null : (
          <>
            <Button
              size="small"
              disabled={isBusy || !isEnabled || needsNewSecret}
              onClick={() => test.mutate(undefined)}
            >
              {t("test")}
            </Button>
            <Button size="small" disabled={isBusy} onClick={() => enable.mutate(undefined)}>
              {t(isEnabled ? "switchOff" : "switchOn")}
            </Button>
          </>
        )}
        <Button size="small" disabled={isBusy} onClick={() => rotate.mutate(undefined)}>
          {t("rotate")}
        </Button>
        <Button size="small" look="danger" disabled={isBusy} onClick={remove}>
          {t("remove")}
        </Button>
      </div>
    </li>
  );
}

/** Addresses that get a webhook at the end of each job, and what was sent. */
export function WebhooksSection() {
  const t = useTranslations("settings.webhooks");
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState<string | null>(null);
  const { data } = useQuery({
    queryKey: keys.endpoints,
    queryFn: () => api.webhooks.list.query(),
  });
  const log = useQuery({
    queryKey: keys.deliveryLog,
    queryFn: () => api.deliveries.list.query({ limit: 10 }),
    refetchInterval: 5_000,
  });
  const create = useAct(
    (address: string) => api.webhooks.create.mutate({ url: address }),
    (made, sent) => {
      setSecret(made.secret);
      // What was typed meanwhile stays.
      setUrl((now) => (now.trim() === sent ? "" : now));
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate(url.trim());
  };
  const items = log.data?.items ?? [];
  const hidden = useHidden();
  const endpoints = data?.items.filter(({ id }) => !hidden.has(id)) ?? [];
  return (
    <SettingsSection id="webhooks" title={t("title")} text={t("text")}>
      <div className="flex max-w-[640px] flex-col gap-5">
        <form onSubmit={submit} className="flex items-end gap-2">
          <div className="min-w-0 flex-1">
            <Field
              name="webhook-url"
              label={t("url")}
              placeholder="https://example.org/atelier"
              autoComplete="off"
              required
              maxLength={2_000}
              value={url}
              onValueChange={setUrl}
            />
          </div>
          <Button
            type="submit"
            className="h-10 pointer-coarse:h-11"
            disabled={create.isPending || url.trim() === ""}
          >
            {t("add")}
          </Button>
        </form>
        {secret === null ? null : (
          <ShownOnce text={t("shownOnce")} value={secret} onDone={() => setSecret(null)} />
        )}
        {endpoints.length === 0 ? null : (
          <ul aria-label={t("title")} className="divide-y divide-line border-y border-line">
            {endpoints.map((endpoint) => (
              <EndpointRow key={endpoint.id} endpoint={endpoint} onSecret={setSecret} />
            ))}
          </ul>
        )}
        {items.length === 0 ? null : (
          <details>
            <summary className="text-xs text-quiet hover:text-ink">{t("log")}</summary>
            <div className="mt-3">
              <DeliveryList label={t("log")} items={items} />
            </div>
          </details>
        )}
      </div>
    </SettingsSection>
  );
}

/** E-mail at the end of a job; hidden where the studio sends none. */
export function EmailSection() {
  const t = useTranslations("settings.email");
  const [code, setCode] = useState("");
  const { data } = useQuery({
    queryKey: keys.notifications,
    queryFn: () => api.notifications.list.query(),
  });
  const request = useAct(() => api.notifications.requestEmailCode.mutate());
  const confirm = useAct(
    () => api.notifications.confirmEmail.mutate({ code: code.trim() }),
    () => setCode(""),
  );
  const set = useAct((isOn: boolean) => api.notifications.set.mutate({ channel: "email", isOn }));
  const email = data?.items.find(({ channel }) => channel === "email");
  if (email === undefined) return null;
  return (
    <SettingsSection id="email" title={t("title")} text={t("text")}>
      <div className="flex max-w-[420px] flex-col gap-4">
        {email.codeSentTo === null ? null : (
          <form
            className="flex flex-col gap-3"
            onSubmit={(event) => {
              event.preventDefault();
              confirm.mutate(undefined);
            }}
          >
            <p className="text-sm">{t("codeSent", { address: email.codeSentTo })}</p>
            <div className="flex items-end gap-2">
              <Field
                name="email-code"
                label={t("code")}
                inputMode="numeric"
                autoComplete="one-time-code"
                maxLength={6}
                value={code}
                onValueChange={setCode}
              />
              <Button
                type="submit"
                className="h-10 pointer-coarse:h-11"
                disabled={confirm.isPending || code.trim().length < 6}
              >
                {t("confirm")}
              </Button>
            </div>
          </form>
        )}
        {email.target === null ? (
          <Button
            size={email.codeSentTo === null ? "medium" : "small"}
            className="self-start"
            disabled={request.isPending}
            onClick={() => request.mutate(undefined)}
          >
            {t(email.codeSentTo === null ? "sendCode" : "sendAgain")}
          </Button>
        ) : (
          <Checkbox checked={email.isOn} onChange={(isOn) => set.mutate(isOn)}>
            {t("on", { address: email.target })}
          </Checkbox>
        )}
      </div>
    </SettingsSection>
  );
}

/** Notifications of this browser: off until the user asks for them here. */
export function NoticesSection() {
  const t = useTranslations("notices");
  // Only the browser knows it; a click before it does would be lost.
  const state = useSyncExternalStore(watchNoticeState, readNoticeState, () => "unknown" as const);
  const [hasFailed, setFailed] = useState(false);
  const test = () =>
    setFailed(!showNotice({ title: t("testTitle"), body: t("testBody"), tag: "atelier-test" }));
  const problem =
    state === "blocked" || state === "unsupported" ? t(state) : hasFailed ? t("failedToShow") : null;
  return (
    <SettingsSection id="notices" title={t("title")} text={t("text")}>
      <div className="flex flex-col items-start gap-3">
        <Checkbox
          checked={state === "on"}
          disabled={state !== "on" && state !== "off"}
          onChange={(isOn) => void switchNotices(isOn)}
        >
          {t("switch")}
        </Checkbox>
        {state === "on" ? (
          <Button size="small" onClick={test}>
            {t("test")}
          </Button>
        ) : null}
        <p role="status" className="max-w-[60ch] text-xs text-warn empty:hidden">
          {problem}
        </p>
      </div>
    </SettingsSection>
  );
}
