"use client";
import { Columns2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { imageUrl } from "../data/image-url.ts";
import { Button } from "../ui/button.tsx";
import type { VersionHistory } from "./use-versions.ts";

/** Every version of this session; two can be laid over each other. */
export function HistoryStrip({ versions }: { readonly versions: VersionHistory }) {
  const t = useTranslations("edit");
  const { ids, currentId, baseId, choose, toggleCompare } = versions;
  if (ids.length < 2) return null;
  return (
    <div className="flex h-[76px] shrink-0 items-center gap-3 border-t border-line px-3">
      <ol aria-label={t("versions")} className="no-scrollbar flex min-w-0 flex-1 gap-2 overflow-x-auto p-1">
        {ids.map((id, index) => (
          <li key={id}>
            <button
              type="button"
              aria-label={t("version", { number: index + 1 })}
              aria-current={id === currentId ? "true" : undefined}
              aria-pressed={baseId === null ? undefined : id === baseId}
              onClick={() => choose(id)}
              className="relative block size-13 overflow-hidden rounded-control ring-1 ring-line transition duration-120 hover:ring-ink aria-[current=true]:ring-2 aria-[current=true]:ring-accent aria-pressed:ring-2 aria-pressed:ring-ink"
            >
              <img src={imageUrl(id, "thumbnail")} alt="" className="size-full object-cover" />
              <span
                aria-hidden
                className="tabular absolute right-0.5 bottom-0.5 rounded-[3px] bg-black/65 px-1 text-[11px] leading-4 text-white"
              >
                {index + 1}
              </span>
            </button>
          </li>
        ))}
      </ol>
      {baseId === null ? null : <p className="hidden text-xs text-quiet sm:block">{t("compareHint")}</p>}
      <Button size="small" aria-pressed={baseId !== null} onClick={toggleCompare}>
        <Columns2 aria-hidden />
        {t(baseId === null ? "compare" : "stopComparing")}
      </Button>
    </div>
  );
}
