"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { GripVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, useState } from "react";
import { api } from "../../client/api.ts";
import { useFailureToast } from "../../client/failures.ts";
import { cx } from "../../ui/button.tsx";

type Chain = Awaited<ReturnType<typeof api.admin.cloud.providers.query>>["chains"][number];
type Name = Chain["providers"][number];

const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** The list with the item at `from` moved to `to`. */
function moved(names: readonly Name[], from: number, to: number): Name[] {
  const rest = names.filter((_, at) => at !== from);
  const item = names[from];
  return item === undefined ? rest : [...rest.slice(0, to), item, ...rest.slice(to)];
}

/** Stores an order; until the next reading of the page the new one is shown. */
function useOrder(chain: Chain) {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const [wanted, setWanted] = useState<readonly Name[] | null>(null);
  const { mutate } = useMutation({
    mutationFn: (providers: readonly Name[]) =>
      api.admin.cloud.order.mutate({ model: chain.model, providers: [...providers] }),
    onError: showFailure,
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: ["admin", "providers"] });
      setWanted(null);
    },
  });
  const names = wanted ?? chain.providers;
  const move = (from: number, to: number): boolean => {
    if (to < 0 || to >= names.length || to === from) return false;
    const next = moved(names, from, to);
    setWanted(next);
    mutate(next);
    return true;
  };
  return { names, move };
}

/** The providers of one model in their order; moved by dragging or with the arrow keys. */
function ChainLine({ chain }: { readonly chain: Chain }) {
  const t = useTranslations("admin.providers");
  const jobs = useTranslations("jobs");
  const { names, move } = useOrder(chain);
  const [dragged, setDragged] = useState<number | null>(null);
  const [said, setSaid] = useState("");
  const moveTo = (from: number, to: number) => {
    if (move(from, to)) setSaid(t("moved", { name: names[from] ?? "", place: to + 1, count: names.length }));
  };
  const press = (event: KeyboardEvent, from: number) => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    moveTo(from, from + step);
  };
  return (
    <li className="grid gap-x-6 gap-y-2 py-3 md:grid-cols-[240px_minmax(0,1fr)] md:items-center">
      <div className="min-w-0">
        <p className="text-sm">{chain.title}</p>
        <p className="text-xs text-quiet">{jobs(`kinds.${chain.kind}` as "kinds.upscale")}</p>
      </div>
      <ol className="flex flex-wrap gap-2">
        {names.map((name, at) => (
          <li key={name}>
            <button
              type="button"
              draggable
              onDragStart={() => setDragged(at)}
              onDragEnd={() => setDragged(null)}
              onDragOver={(event) => event.preventDefault()}
              onDrop={() => dragged !== null && moveTo(dragged, at)}
              aria-label={t("place", { name, place: at + 1, count: names.length })}
              onKeyDown={(event) => press(event, at)}
              className={cx(
                "flex h-9 cursor-grab items-center gap-1.5 rounded-control border border-line bg-surface pr-3 pl-1.5 text-sm hover:bg-hover active:cursor-grabbing",
                dragged === at && "opacity-45",
              )}
            >
              <GripVertical aria-hidden className="size-4 text-quiet" />
              <span className="tabular text-xs text-quiet">{at + 1}</span>
              {name}
            </button>
          </li>
        ))}
      </ol>
      <p aria-live="polite" className="sr-only">
        {said}
      </p>
    </li>
  );
}

/** The chains of the models that several providers offer. */
export function Chains({ chains }: { readonly chains: readonly Chain[] }) {
  return (
    <ul className="divide-y divide-line border-y border-line">
      {chains.map((chain) => (
        <ChainLine key={chain.model} chain={chain} />
      ))}
    </ul>
  );
}
