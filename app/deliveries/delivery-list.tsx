"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, Clock, LoaderCircle, type LucideIcon, Send } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { useFailureToast } from "../ui/failures.ts";
import { Button, cx } from "../ui/button.tsx";
import { toastDone } from "../ui/toasts.tsx";

type Delivery = Awaited<ReturnType<typeof api.deliveries.list.query>>["items"][number];

const looks: Record<Delivery["state"], readonly [LucideIcon, string]> = {
  waiting: [Clock, "text-quiet"],
  sending: [LoaderCircle, "text-info"],
  delivered: [CircleCheck, "text-ok"],
  failed: [CircleAlert, "text-fail"],
};

interface Asking {
  readonly id: string;
  /** Of all users, for admins. */
  readonly isAdmin: boolean;
}

/** The history of a delivery. */
function Attempts({ id, isAdmin }: Asking) {
  const t = useTranslations("deliveries");
  const format = useFormatter();
  const { data } = useQuery({
    queryKey: keys.deliveryAttempts(id),
    queryFn: () =>
      isAdmin ? api.admin.deliveries.attempts.query({ id }) : api.deliveries.attempts.query({ id }),
  });
  return (
    <ol aria-busy={data === undefined} className="tabular mt-2 flex flex-col gap-1 text-xs text-quiet">
      {data?.items.map((attempt) => (
        <li key={attempt.number} className="flex flex-wrap gap-x-3">
          <span>
            {format.dateTime(new Date(attempt.startedAt), { dateStyle: "medium", timeStyle: "medium" })}
          </span>
          <span>{t(`outcomes.${attempt.outcome}`)}</span>
          {attempt.status === null ? null : <span>{attempt.status}</span>}
          {attempt.error === null ? null : <span className="break-words">{attempt.error}</span>}
        </li>
      ))}
    </ol>
  );
}

/** Sends a delivery once more. */
function Redeliver({ id, isAdmin }: Asking) {
  const t = useTranslations("deliveries");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const { mutate, isPending } = useMutation({
    mutationFn: () =>
      isAdmin ? api.admin.deliveries.redeliver.mutate({ id }) : api.deliveries.redeliver.mutate({ id }),
    onSuccess: () => toastDone(t("redelivered")),
    onError: showFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.deliveries }),
  });
  return (
    <Button size="small" disabled={isPending} onClick={() => mutate()}>
      <Send aria-hidden />
      {t("redeliver")}
    </Button>
  );
}

interface RowProps {
  readonly delivery: Delivery & { readonly ownerName?: string };
  readonly isAdmin: boolean;
}

function DeliveryRow({ delivery, isAdmin }: RowProps) {
  const t = useTranslations("deliveries");
  const format = useFormatter();
  const [isOpen, setOpen] = useState(false);
  const { id, state, channel, receiver, event, attempts, lastError, nextAttemptAt, ownerName } = delivery;
  const [Icon, tone] = looks[state];
  const time = (iso: string) => format.dateTime(new Date(iso), { dateStyle: "medium", timeStyle: "short" });
  return (
    <li className="py-3">
      <div className="flex gap-4 max-sm:flex-col max-sm:gap-2 sm:items-start">
        <div className="min-w-0 flex-1">
          <p className={cx("flex items-center gap-1.5 text-xs font-medium", tone)}>
            <Icon aria-hidden className="size-3.5 shrink-0" />
            {t(`states.${state}`)}
          </p>
          <p className="mt-0.5 truncate text-sm">
            {`${t(`channels.${channel}`)}: ${receiver}`}
            {ownerName === undefined ? null : <span className="text-quiet">{` · ${ownerName}`}</span>}
          </p>
          <p className="tabular text-xs text-quiet">
            {[
              t(`events.${event.replace(".", "_") as "job_completed"}`),
              time(delivery.createdAt),
              t("attempts", { count: attempts }),
              nextAttemptAt === null ? null : t("next", { time: time(nextAttemptAt) }),
              lastError,
            ]
              .filter(Boolean)
              .join(" · ")}
          </p>
          {isOpen ? <Attempts id={id} isAdmin={isAdmin} /> : null}
        </div>
        <div className="flex gap-2">
          <Button size="small" look="quiet" aria-expanded={isOpen} onClick={() => setOpen((open) => !open)}>
            {t("history")}
          </Button>
          {event === "account.changed" && !isAdmin ? null : <Redeliver id={id} isAdmin={isAdmin} />}
        </div>
      </div>
    </li>
  );
}

interface ListProps {
  readonly label: string;
  readonly items: readonly RowProps["delivery"][];
  readonly isAdmin?: boolean;
}

/** Deliveries with their state and history, each of which can be sent once more. */
export function DeliveryList({ label, items, isAdmin = false }: ListProps) {
  return (
    <ul aria-label={label} className="divide-y divide-line border-y border-line">
      {items.map((delivery) => (
        <DeliveryRow key={delivery.id} delivery={delivery} isAdmin={isAdmin} />
      ))}
    </ul>
  );
}
