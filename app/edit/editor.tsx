"use client";
import { ArrowLeft, Columns2, Download } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useEffect, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { useImage } from "../client/queries.ts";
import { downloadUrl, imageUrl } from "../client/remix.ts";
import { LoadFailed } from "../parts/page-parts.tsx";
import { CompareSlider } from "../pictures/compare-slider.tsx";
import { AiBadge, useImageName } from "../pictures/picture.tsx";
import { Button, buttonStyle } from "../ui/button.tsx";
import { fitBox, useBoxSize } from "../ui/hooks.ts";
import { EditPanel } from "./panel.tsx";
import { useSelectByClick } from "./select-by-click.tsx";
import { useEditKeys, useEditor, useEditRun, useVersions, type VersionHistory } from "./session.ts";
import { EditStage } from "./stage.tsx";
import { ToolColumn } from "./tools.tsx";

interface Props {
  readonly image: ImageView;
  readonly baseId: string;
}

/** Compares two versions with a slider. */
function CompareStage({ image, baseId }: Props) {
  const t = useTranslations("edit");
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const size = fitBox(useBoxSize(box), image);
  return (
    <div className="min-h-0 min-w-0 flex-1 p-6">
      <div ref={setBox} className="flex size-full items-center justify-center">
        <div style={size}>
          <CompareSlider
            beforeUrl={imageUrl(baseId, "preview")}
            afterUrl={imageUrl(image.id, "preview")}
            afterAlt={t("pictureAlt")}
            className="checker size-full"
          />
        </div>
      </div>
    </div>
  );
}

function EditHeader({ image }: { readonly image: ImageView }) {
  const t = useTranslations("edit");
  const pictures = useTranslations("pictures");
  const name = useImageName()(image);
  return (
    <header className="flex h-14 shrink-0 items-center gap-2 border-b border-line px-2 sm:px-3">
      <Link href="/gallery" className={buttonStyle("quiet", "small")}>
        <ArrowLeft aria-hidden />
        {t("back")}
      </Link>
      <p className="min-w-0 flex-1 truncate text-center text-xs text-quiet max-sm:hidden">
        {name}
        <span className="tabular ml-3">
          {pictures("size", { width: image.widthPx, height: image.heightPx })}
        </span>
      </p>
      <span className="flex-1 sm:hidden" />
      {image.isAi ? <AiBadge /> : null}
      <a href={downloadUrl(image.id)} download className={buttonStyle("quiet", "small")}>
        <Download aria-hidden />
        {t("download")}
      </a>
    </header>
  );
}

/** The strip with every version of this session, and "Compare". */
function HistoryStrip({ versions }: { readonly versions: VersionHistory }) {
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

const room =
  "stage room -mb-36 flex h-dvh flex-col pb-[calc(57px+env(safe-area-inset-bottom))] wide:-mb-16 wide:pb-0";

/** The edit page: stage, tools, panel of actions, and strip of versions. */
export function Editor({ imageId }: { readonly imageId: string }) {
  const t = useTranslations("edit");
  const versions = useVersions(imageId);
  const session = useEditor();
  const { data: image, isError, error, refetch } = useImage(versions.currentId);
  const selection = useSelectByClick(image, session);
  useEditKeys(session, selection !== null);
  const run = useEditRun(versions, session.history.marks);
  const { step } = session;
  // The mask belongs to the version on the stage.
  useEffect(() => step({ type: "clear" }), [step, versions.currentId]);

  if (isError) return <LoadFailed error={error} onRetry={() => void refetch()} />;
  return (
    <div className={room}>
      <h1 className="sr-only">{t("title")}</h1>
      {image === undefined ? null : (
        <>
          <EditHeader image={image} />
          <div className="flex min-h-0 flex-1 max-wide:flex-col">
            <div className="flex min-h-0 min-w-0 flex-1 flex-col">
              <div className="flex min-h-0 min-w-0 flex-1 max-wide:flex-col-reverse">
                <ToolColumn session={session} canSelect={selection !== null} />
                {versions.baseId === null ? (
                  <EditStage key={image.id} image={image} session={session} selection={selection} />
                ) : (
                  <CompareStage image={image} baseId={versions.baseId} />
                )}
              </div>
              <HistoryStrip versions={versions} />
            </div>
            <EditPanel image={image} session={session} run={run} />
          </div>
        </>
      )}
    </div>
  );
}
