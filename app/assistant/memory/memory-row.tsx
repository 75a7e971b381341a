"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, Trash2 } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import type { MemoryView } from "@atelier/server/assistant";
import { api } from "../../client/api.ts";
import { useFailureToast } from "../../ui/failures.ts";
import { keptApi, useDeferredRemoval } from "../../client/removal.ts";
import { Button, IconButton } from "../../ui/button.tsx";

export const memoryKey = ["memories"] as const;

/** Calls the server and reads the list again. */
export function useMemoryAction<Input>(
  act: (input: Input) => Promise<unknown>,
  onDone: (input: Input) => void,
) {
  const queries = useQueryClient();
  const onError = useFailureToast();
  return useMutation({
    mutationFn: act,
    onSuccess: async (_done, input) => {
      onDone(input);
      await queries.invalidateQueries({ queryKey: memoryKey });
    },
    onError,
  });
}

function usePeriod() {
  const format = useFormatter();
  return ({ from, to }: Pick<MemoryView, "from" | "to">) =>
    format.dateTimeRange(new Date(from), new Date(to), { dateStyle: "medium" });
}

/** What the user said that a memory was made of; read when it is opened. */
function Sources({ memory: { id, sourceCount } }: { readonly memory: MemoryView }) {
  const t = useTranslations("memory");
  const { data, refetch } = useQuery({
    queryKey: [...memoryKey, "sources", id],
    queryFn: () => api.memories.sources.query({ id }),
    enabled: false,
  });
  return (
    <details
      className="text-xs text-quiet"
      onToggle={({ currentTarget }) => {
        if (currentTarget.open && data === undefined) void refetch();
      }}
    >
      <summary className="w-fit cursor-pointer rounded-control py-1 hover:text-ink">
        {t("sources", { count: sourceCount })}
      </summary>
      <ul className="mt-1 flex flex-col gap-1.5 border-s border-line ps-3">
        {data?.items.map((source) => (
          <li key={source.id} className="break-words">
            {source.text}
          </li>
        ))}
        {data?.items.length === 0 ? <li>{t("sourcesGone")}</li> : null}
      </ul>
    </details>
  );
}

interface EditProps {
  readonly memory: MemoryView;
  readonly onDone: () => void;
}

function EditMemory({ memory: { id, summary }, onDone }: EditProps) {
  const t = useTranslations("memory");
  const [text, setText] = useState(summary);
  const save = useMemoryAction((next: string) => api.memories.edit.mutate({ id, text: next }), onDone);
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(text);
      }}
    >
      <textarea
        aria-label={t("text")}
        value={text}
        maxLength={2_000}
        rows={3}
        onChange={(event) => setText(event.target.value)}
        className="field-sizing-content w-full rounded-control border border-edge bg-surface px-3 py-2 text-sm"
      />
      <div className="flex gap-2">
        <Button type="submit" size="small" disabled={save.isPending || text.trim() === ""}>
          {t("save")}
        </Button>
        <Button size="small" look="quiet" onClick={onDone}>
          {t("cancel")}
        </Button>
      </div>
    </form>
  );
}

/** One memory: its words, when they were said, what it was made of. */
export function MemoryRow({ memory }: { readonly memory: MemoryView }) {
  const t = useTranslations("memory");
  const period = usePeriod();
  const queries = useQueryClient();
  const [isEdited, setEdited] = useState(false);
  const back = () => setEdited(false);
  const removeLater = useDeferredRemoval();
  const { id } = memory;
  const remove = () =>
    removeLater({
      id,
      title: t("deleted"),
      text: t("deletedText"),
      send: () => keptApi.memories.delete.mutate({ id }),
      onSettled: () => queries.invalidateQueries({ queryKey: memoryKey }),
    });
  return (
    <li className="flex flex-col gap-1.5 border-t border-line py-4">
      <div className="flex items-start justify-between gap-4">
        <p className="tabular pt-1 text-xs text-quiet">
          {period(memory)} · {t(`origins.${memory.origin}`)}
        </p>
        <div className="-mt-1 flex">
          <IconButton label={t("edit")} onClick={() => setEdited(true)}>
            <Pencil aria-hidden />
          </IconButton>
          <IconButton label={t("delete")} onClick={remove}>
            <Trash2 aria-hidden />
          </IconButton>
        </div>
      </div>
      {isEdited ? (
        <EditMemory memory={memory} onDone={back} />
      ) : (
        <p className="measure break-words">{memory.summary}</p>
      )}
      {memory.tags.length > 0 ? <p className="text-xs text-quiet">{memory.tags.join(" · ")}</p> : null}
      {memory.sourceCount > 0 ? <Sources memory={memory} /> : null}
    </li>
  );
}
