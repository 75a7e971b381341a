"use client";
import { useTranslations } from "next-intl";
import { useEffect } from "react";
import { LoadFailed } from "../frame/load-failed.tsx";
import { useImage } from "../data/use-image.ts";
import { CompareStage } from "./compare-stage.tsx";
import { EditHeader } from "./edit-header.tsx";
import { HistoryStrip } from "./history-strip.tsx";
import { EditPanel } from "./panel/edit-panel.tsx";
import { EditStage } from "./stage.tsx";
import { ToolColumn } from "./tools.tsx";
import { useEditKeys } from "./use-edit-keys.ts";
import { useEditRun } from "./session.ts";
import { useEditor } from "./use-editor.ts";
import { useVersions } from "./use-versions.ts";

const room =
  "stage room -mb-36 flex h-dvh flex-col pb-[calc(57px+env(safe-area-inset-bottom))] wide:-mb-16 wide:pb-0";

/** A picture on the dark stage, its tools, and every version of it. */
export function Editor({ imageId }: { readonly imageId: string }) {
  const t = useTranslations("edit");
  const versions = useVersions(imageId);
  const session = useEditor();
  useEditKeys(session);
  const { data: image, isError, error, refetch } = useImage(versions.currentId);
  const run = useEditRun(versions, session.history.strokes);
  const { step } = session;
  // What is marked belongs to the version that is in front.
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
                <ToolColumn session={session} />
                {versions.baseId === null ? (
                  <EditStage key={image.id} image={image} session={session} />
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
