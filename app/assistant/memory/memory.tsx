"use client";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { api } from "../../client/api.ts";
import { useFailureToast } from "../../ui/failures.ts";
import { useHidden } from "../../client/removal.ts";
import { saveFile } from "../../client/save.ts";
import { LoadFailed } from "../../parts/page-parts.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { Checkbox, Field } from "../../ui/fields.tsx";
import { useSettled } from "../../ui/hooks.ts";
import { Dialog } from "../../ui/overlays.tsx";
import { toastDone } from "../../ui/toasts.tsx";
import { memoryKey, MemoryRow, useMemoryAction } from "./memory-row.tsx";

/** Writes something down that is to be remembered. */
function AddMemory() {
  const t = useTranslations("memory");
  const [text, setText] = useState("");
  const add = useMemoryAction(
    (next: string) => api.memories.add.mutate({ text: next }),
    // What was typed meanwhile stays.
    (sent) => setText((now) => (now === sent ? "" : now)),
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "") add.mutate(text);
  };
  return (
    <form onSubmit={submit} className="flex items-end gap-2">
      <div className="min-w-0 flex-1">
        <Field
          name="memory"
          label={t("add")}
          placeholder={t("addHint")}
          value={text}
          maxLength={2_000}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <Button
        type="submit"
        className="h-10 pointer-coarse:h-11"
        disabled={add.isPending || text.trim() === ""}
      >
        {t("addButton")}
      </Button>
    </form>
  );
}

function Pause() {
  const t = useTranslations("memory");
  const { data } = useQuery({
    queryKey: [...memoryKey, "paused"],
    queryFn: () => api.memories.isPaused.query(),
  });
  const pause = useMemoryAction(
    (isPaused: boolean) => api.memories.pause.mutate({ isPaused }),
    () => undefined,
  );
  return (
    <Checkbox
      checked={data?.isPaused ?? false}
      disabled={data === undefined || pause.isPending}
      onChange={(isPaused) => pause.mutate(isPaused)}
    >
      {t("pause")}
    </Checkbox>
  );
}

/** Saves all memories as a JSON file. */
function ExportButton() {
  const t = useTranslations("memory");
  const onFailure = useFailureToast();
  const save = async () => {
    const { items } = await api.memories.export.query();
    const url = URL.createObjectURL(new Blob([JSON.stringify(items, null, 2)], { type: "application/json" }));
    saveFile(url, "memories.json");
    URL.revokeObjectURL(url);
  };
  return (
    <Button size="small" onClick={() => void save().catch(onFailure)}>
      <Download aria-hidden />
      {t("export")}
    </Button>
  );
}

/** The server asks for this word; people type the one of their language. */
const confirmWord = "forget";

/** Removes everything, after the word was typed. */
function ForgetButton() {
  const t = useTranslations("memory");
  const [isOpen, setOpen] = useState(false);
  const [word, setWord] = useState("");
  const wanted = t("forgetTyped");
  const forget = useMemoryAction(
    () => api.memories.forget.mutate({ confirm: confirmWord }),
    () => {
      setOpen(false);
      setWord("");
      toastDone(t("forgotten"));
    },
  );
  return (
    <>
      <Button size="small" look="danger" onClick={() => setOpen(true)}>
        {t("forget")}
      </Button>
      <Dialog open={isOpen} onOpenChange={setOpen} title={t("forgetTitle")}>
        <div className="flex flex-col gap-4">
          <p className="text-sm text-quiet">{t("forgetText")}</p>
          <Field
            name="confirm"
            label={t("forgetWord", { word: wanted })}
            value={word}
            autoComplete="off"
            onChange={(event) => setWord(event.target.value)}
          />
          <Button
            look="danger"
            disabled={word.trim().toLowerCase() !== wanted || forget.isPending}
            onClick={() => forget.mutate(undefined)}
          >
            {t("forget")}
          </Button>
        </div>
      </Dialog>
    </>
  );
}

const searchMs = 300;

/** What the assistant remembers of the user: to be read, searched, corrected, deleted, paused and forgotten. */
export function Memory() {
  const t = useTranslations("memory");
  const [text, setText] = useState("");
  const search = useSettled(text.trim(), searchMs);
  const query = useInfiniteQuery({
    queryKey: [...memoryKey, "list", search],
    queryFn: ({ pageParam }) =>
      api.memories.list.query({
        ...(search === "" ? {} : { search }),
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  const hidden = useHidden();
  const items = query.data?.pages.flatMap((page) => page.items).filter(({ id }) => !hidden.has(id));
  return (
    <div className="flex max-w-[1760px] flex-col gap-6 px-4 sm:px-6 wide:grid wide:grid-cols-[minmax(0,1fr)_320px] wide:grid-rows-[auto_1fr] wide:items-start wide:gap-x-14 wide:px-8">
      <div className="flex flex-col gap-6 wide:col-start-2 wide:row-start-1">
        <p className="measure text-sm text-quiet">{t("intro")}</p>
        <Pause />
        <AddMemory />
      </div>
      <div className="flex min-w-0 flex-col gap-6 wide:col-start-1 wide:row-span-2 wide:row-start-1">
        <Field
          name="search"
          type="search"
          label={t("search")}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {query.error === null ? null : (
          <LoadFailed error={query.error} onRetry={() => void query.refetch()} />
        )}
        {items?.length === 0 ? (
          <EmptyState title={t("emptyTitle")} text={search === "" ? t("emptyText") : t("emptySearch")} />
        ) : (
          <ul className="gap-x-14 xl:grid xl:grid-cols-2">
            {items?.map((memory) => (
              <MemoryRow key={memory.id} memory={memory} />
            ))}
          </ul>
        )}
        {query.hasNextPage ? (
          <Button
            className="self-start"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {t("more")}
          </Button>
        ) : null}
      </div>
      {items?.length === 0 && search === "" ? null : (
        <div className="flex flex-wrap gap-2 border-t border-line pt-5 wide:col-start-2 wide:row-start-2">
          <ExportButton />
          <ForgetButton />
        </div>
      )}
    </div>
  );
}
