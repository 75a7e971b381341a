"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useEffect, useMemo, useRef, useState } from "react";
import type { DuplicateGroup } from "@atelier/server/duplicates";
import { api } from "../../client/api.ts";
import { byCursor, canLoadMore, keys, retryLoad } from "../../client/queries.ts";
import { isBehindDialog } from "../../parts/run-button.tsx";
import { LoadFailed, PageHeader } from "../../parts/page-parts.tsx";
import { Button, buttonStyle } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { isCombined, keyOf } from "../../ui/key-press.ts";
import { useNearEnd } from "../../ui/scrolling.ts";
import { Confirmation } from "../../ui/confirmation.tsx";
import { type Acts, useActs } from "./acts.ts";
import { Group } from "./group.tsx";

const none: readonly DuplicateGroup[] = [];
/** While pictures are still compared in the background. */
const lookAgainMs = 10_000;

function useDuplicates(answered: Acts["answered"]) {
  const query = useInfiniteQuery({
    queryKey: keys.duplicates,
    queryFn: ({ pageParam }) => api.duplicates.list.query({ cursor: pageParam ?? undefined }),
    ...byCursor,
    refetchInterval: ({ state }) => ((state.data?.pages[0]?.waiting ?? 0) > 0 ? lookAgainMs : false),
  });
  const groups = useMemo(
    () => query.data?.pages.flatMap((page) => page.groups).filter(({ id }) => !answered.has(id)) ?? none,
    [query.data, answered],
  );
  return { query, groups, first: query.data?.pages[0] };
}

type OnGroup = (group: DuplicateGroup) => void;

interface KeysInput {
  readonly groups: readonly DuplicateGroup[];
  readonly onMerge: OnGroup;
  readonly onDismiss: OnGroup;
}

function moveTo(group: HTMLElement | undefined): void {
  group?.querySelector<HTMLInputElement>("input:checked")?.focus({ preventScroll: true });
  group?.scrollIntoView({ block: "nearest" });
}

/** `j` and `k` move from group to group; Enter merges the group in which a picture has the focus, `n` dismisses it. */
function useGroupKeys({ groups, onMerge, onDismiss }: KeysInput): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isCombined(event) || event.repeat || isBehindDialog()) return;
      const key = keyOf(event);
      const all = [...document.querySelectorAll<HTMLElement>("[data-group]")];
      const at = all.findIndex((group) => group.contains(document.activeElement));
      if (key === "j") return moveTo(all[at + 1]);
      if (key === "k") return moveTo(all[Math.max(0, at - 1)]);
      const group = groups.find(({ id }) => id === all[at]?.dataset["group"]);
      // A button that has the focus is pressed by Enter.
      if (group === undefined || !(event.target instanceof HTMLInputElement)) return undefined;
      if (key === "Enter") onMerge(group);
      if (key === "n") onDismiss(group);
      return undefined;
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [groups, onMerge, onDismiss]);
}

/** The group behind one that was answered by a key takes the focus. */
function useFocusNext(groups: readonly DuplicateGroup[]) {
  const next = useRef<string | null>(null);
  useEffect(() => {
    if (next.current === null) return;
    const id = CSS.escape(next.current);
    document.querySelector<HTMLInputElement>(`[data-group="${id}"] input:checked`)?.focus();
    next.current = null;
  }, [groups]);
  return (answered: DuplicateGroup) => {
    const at = groups.findIndex(({ id }) => id === answered.id);
    next.current = (groups[at + 1] ?? groups[at - 1])?.id ?? null;
  };
}

interface MergeAllProps {
  readonly total: { readonly groups: number; readonly pictures: number };
  readonly isBusy: boolean;
  readonly onMerge: () => void;
}

function MergeAll({ total, isBusy, onMerge }: MergeAllProps) {
  const t = useTranslations("duplicates");
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button disabled={isBusy} onClick={() => setAsking(true)}>
        {t("mergeAll", { count: total.groups })}
      </Button>
      <Confirmation
        open={isAsking}
        onOpenChange={setAsking}
        title={t("mergeAllTitle", { count: total.groups })}
        keep={t("cancel")}
        confirm={t("mergeAllConfirm", { count: total.pictures - total.groups })}
        onConfirm={() => {
          setAsking(false);
          onMerge();
        }}
      >
        {t("mergeAllText", { kept: total.groups, count: total.pictures - total.groups })}
      </Confirmation>
    </>
  );
}

function Empty({ waiting }: { readonly waiting: number }) {
  const t = useTranslations("duplicates");
  return (
    <EmptyState
      title={t("emptyTitle")}
      text={waiting > 0 ? t("waiting", { count: waiting }) : t("emptyText")}
    >
      <Link href="/gallery" className={buttonStyle("plain")}>
        {t("toGallery")}
      </Link>
    </EmptyState>
  );
}

/** Pictures that look the same, group by group, to keep one of each. */
export function Duplicates() {
  const t = useTranslations("duplicates");
  const acts = useActs();
  const { query, groups, first } = useDuplicates(acts.answered);
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map());
  const end = useNearEnd(() => void query.fetchNextPage(), canLoadMore(query));
  const focusNext = useFocusNext(groups);
  const keptOf = ({ id, keepId, pictures }: DuplicateGroup) =>
    pictures.find((picture) => picture.id === chosen.get(id))?.id ?? keepId;
  const merge = (group: DuplicateGroup) => {
    focusNext(group);
    acts.merge(group, keptOf(group));
  };
  const dismiss = (group: DuplicateGroup) => {
    focusNext(group);
    acts.dismiss(group);
  };
  useGroupKeys({ groups, onMerge: merge, onDismiss: dismiss });
  const isEmpty = first !== undefined && groups.length === 0 && !query.hasNextPage;
  return (
    <>
      <PageHeader title={t("title")}>
        {first === undefined || groups.length === 0 ? null : (
          <MergeAll
            total={first.total}
            isBusy={acts.isMergingAll}
            onMerge={() => acts.mergeAll([...chosen.values()])}
          />
        )}
      </PageHeader>
      <div className="px-4 pb-24 sm:px-6 wide:px-8">
        {isEmpty ? <Empty waiting={first.waiting} /> : null}
        {groups.length === 0 ? null : (
          <div className="pb-4 text-sm text-quiet">
            <p className="max-w-[68ch]">{t("intro")}</p>
            {first !== undefined && first.waiting > 0 ? (
              <p role="status">{t("waiting", { count: first.waiting })}</p>
            ) : null}
          </div>
        )}
        {groups.map((group) => (
          <Group
            key={group.id}
            group={group}
            keepId={keptOf(group)}
            onKeep={(id) => setChosen((before) => new Map([...before, [group.id, id]]))}
            onMerge={() => merge(group)}
            onDismiss={() => dismiss(group)}
          />
        ))}
        <div ref={end} />
        {query.isError ? <LoadFailed error={query.error} onRetry={() => retryLoad(query)} /> : null}
      </div>
    </>
  );
}
