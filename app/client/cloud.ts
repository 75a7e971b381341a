"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback, useSyncExternalStore } from "react";
import type { JobKind } from "@atelier/server/engines";
import type { SubmitInput } from "@atelier/server/jobs";
import { draftKeys, readDraft, writeDraft } from "./leaving.ts";
import { api } from "./api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys, type OfferedWorkflow, useAllWorkflows, useMe } from "./queries.ts";
import { createListeners } from "../ui/listeners.ts";

const listeners = createListeners();
let stored: boolean | null = null;

/** "Only on our own machines": the user's choice for the next jobs, of this browser. */
export const ownOnly = {
  get: (): boolean => {
    stored ??= typeof window !== "undefined" && readDraft(draftKeys.ownOnly) === "true";
    return stored;
  },
  set: (isOn: boolean): void => {
    stored = isOn;
    writeDraft(draftKeys.ownOnly, String(isOn));
    listeners.notify();
  },
  watch: listeners.watch,
};

/** Whether the next jobs stay on the studio's own machines. */
export function useOwnOnly(): boolean {
  return useSyncExternalStore(ownOnly.watch, ownOnly.get, () => false);
}

/** The request with the choice of the user. It is a part of the request: another choice needs another idempotency key. */
export function withOwnOnly<Request extends SubmitInput>(request: Request): Request {
  return ownOnly.get() ? { ...request, ownOnly: true } : request;
}

/** The workflows of one kind, with the models of providers unless the next jobs stay on own machines. */
export function useWorkflows(kind: JobKind): readonly OfferedWorkflow[] | undefined {
  const isOwnOnly = useOwnOnly();
  const policy = useCloudPolicy();
  const stays = isOwnOnly || (policy && (policy.own ?? policy.studio)) === "own_only";
  return useAllWorkflows()?.filter((one) => one.kind === kind && (one.cloud === null || !stays));
}

/** Whether the user may use providers; guests may not, since they cost money. */
export function useMayUseCloud(): boolean {
  const me = useMe();
  return me !== undefined && me !== null && !me.isGuest;
}

/** When providers are used for the user's jobs; undefined until loaded, and for guests. */
export function useCloudPolicy() {
  const enabled = useMayUseCloud();
  const { data } = useQuery({
    queryKey: keys.cloudPolicy,
    queryFn: () => api.cloud.policy.query(),
    enabled,
    staleTime: Infinity,
  });
  return data;
}

type OwnPolicy = NonNullable<ReturnType<typeof useCloudPolicy>>["own"];

export function useSetCloudPolicy() {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  return useMutation({
    mutationFn: (policy: OwnPolicy) => api.cloud.setPolicy.mutate({ policy }),
    onError: showFailure,
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: keys.cloudPolicy });
      await queries.invalidateQueries({ queryKey: keys.estimates });
    },
  });
}

const spendMs = 30_000;

/** The user's spend of this day and month, and the caps. */
export function useCloudSpend() {
  const enabled = useMayUseCloud();
  const { data } = useQuery({
    queryKey: keys.cloudSpend,
    queryFn: () => api.cloud.spend.query(),
    enabled,
    staleTime: spendMs,
    refetchInterval: spendMs,
  });
  return data;
}

interface SpendAndCaps {
  readonly dayUsd: number;
  readonly monthUsd: number;
  readonly dailyUsd: number | null;
  readonly monthlyUsd: number | null;
}

export interface NearCap {
  readonly period: "day" | "month";
  readonly spentUsd: number;
  readonly capUsd: number;
  readonly isReached: boolean;
}

const warnFrom = 0.8;

/** Whether nothing more may be bought. Sums of prices are binary fractions, so one may be a little below its cap. */
export const isCapReached = (spentUsd: number, capUsd: number): boolean => spentUsd + 1e-6 >= capUsd;

/** The caps of which 80 % or more is spent. */
export function nearCaps({ dayUsd, monthUsd, dailyUsd, monthlyUsd }: SpendAndCaps): readonly NearCap[] {
  const caps = [
    { period: "day", spentUsd: dayUsd, capUsd: dailyUsd },
    { period: "month", spentUsd: monthUsd, capUsd: monthlyUsd },
  ] as const;
  return caps.flatMap(({ period, spentUsd, capUsd }) =>
    capUsd === null || spentUsd < capUsd * warnFrom
      ? []
      : [{ period, spentUsd, capUsd, isReached: isCapReached(spentUsd, capUsd) }],
  );
}

type NameList = "providers" | "states" | "reasons";

/** The text of a provider, of the state of an attempt or of an error class; the name itself where there is no text. */
export function useCloudNames(): (list: NameList, name: string) => string {
  const t = useTranslations("cloud");
  return useCallback(
    (list, name) => {
      const key = `${list}.${name}` as "states.failed";
      return t.has(key) ? t(key) : name;
    },
    [t],
  );
}
