"use client";
import { ArrowLeft, Download } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useEffect } from "react";
import type { ImageView } from "@atelier/server/images";
import { useImage, useIsGone } from "../client/queries.ts";
import { downloadUrl } from "../client/urls.ts";
import { ShareButton } from "../links/share.tsx";
import { LoadFailed } from "../parts/page-parts.tsx";
import { AiBadge, useImageName } from "../pictures/picture.tsx";
import { buttonStyle, cx } from "../ui/button.tsx";
import { useOriginalKey } from "./held-original.ts";
import { Candidates } from "./document/candidates.tsx";
import { CompareStage } from "./document/compare.tsx";
import { KeepingBanner, KeepingState } from "./document/keeping.tsx";
import { useRuns } from "./document/runs.ts";
import type { OpenEdit } from "./document/state.ts";
import type { EditStore, Keeping } from "./document/store.ts";
import { VersionStrip } from "./document/strip.tsx";
import { useEditState, useMarkHistory, useOpenEdit } from "./document/use-edit.ts";
import { useVersions } from "./document/versions.ts";
import { type ModeSession, takesMarks, useModes } from "./modes/mode-state.ts";
import { ModeStage, useNewBeginning } from "./modes/mode-stage.tsx";
import { EditPanel } from "./panel.tsx";
import { type EditorSession, useEditKeys, useEditor } from "./session.ts";
import { ToolColumn } from "./tools/column.tsx";
import { focusWords } from "./tools/options.tsx";
import { type Selections, useSelections } from "./tools/select.tsx";

interface OpeningFailedProps {
  readonly error: unknown;
  readonly onRetry: () => void;
}

function OpeningFailed(props: OpeningFailedProps) {
  const t = useTranslations("edit");
  return (
    <LoadFailed {...props}>
      <Link href="/gallery" className={buttonStyle()}>
        {t("back")}
      </Link>
    </LoadFailed>
  );
}

interface EditHeaderProps {
  readonly image: ImageView;
  readonly keeping: Keeping;
}

function EditHeader({ image, keeping }: EditHeaderProps) {
  const t = useTranslations("edit");
  const pictures = useTranslations("pictures");
  const name = useImageName(true)(image);
  return (
    <header className="flex h-14 shrink-0 items-center gap-2 border-b border-line px-2 sm:px-3">
      <Link href="/gallery" className={buttonStyle("quiet", "small")}>
        <ArrowLeft aria-hidden />
        {t("back")}
      </Link>
      <p className="min-w-0 flex-1 truncate text-center text-xs text-quiet max-sm:hidden">
        {name}
        <span className="tabular ms-3">
          {pictures("size", { width: image.widthPx, height: image.heightPx })}
        </span>
      </p>
      <span className="flex-1 sm:hidden" />
      <KeepingState keeping={keeping} />
      {image.isAi ? <AiBadge /> : null}
      <ShareButton what={{ imageIds: [image.id] }} look="quiet" />
      <a href={downloadUrl(image.id)} download className={buttonStyle("quiet", "small")}>
        <Download aria-hidden />
        {t("download")}
      </a>
    </header>
  );
}

const room = "stage room -mb-36 flex h-dvh flex-col pb-(--tabs) wide:-mb-16 wide:pb-0";

interface EditKeysProps {
  readonly session: EditorSession;
  readonly selection: Selections | null;
  readonly modes: ModeSession;
}

/** Not at a comparison or at candidates, and not at what a user looks at. */
function EditKeys({ session, selection, modes }: EditKeysProps) {
  const { setTool } = session;
  const can = (means: "clicks" | "box" | "prompt" | "subject") => selection?.can(means) === true;
  useEditKeys(session, {
    ...(can("clicks") || can("box") ? { select: () => setTool("select") } : {}),
    ...(can("subject") ? { subject: () => selection?.subject() } : {}),
    ...(can("prompt")
      ? {
          words: () => {
            setTool("select");
            focusWords();
          },
        }
      : {}),
    crop: () => modes.choose("crop"),
    restore: () => {
      modes.choose("restore");
      setTool("brush");
    },
  });
  useOriginalKey();
  return null;
}

/** The version that the edit began with. */
const firstId = ({ versions, currentId }: OpenEdit) => versions[0]?.imageId ?? currentId;

interface RoomProps {
  readonly store: EditStore;
}

/** The stage of what is shown now: a comparison, the candidates of a run, or the version to work on. */
function EditRoom({ store }: RoomProps) {
  const t = useTranslations("edit");
  const { edit, keeping } = useEditState(store);
  const versions = useVersions(store, edit);
  const session = useEditor(useMarkHistory(store));
  const modes = useModes(store, edit);
  useNewBeginning(modes, versions.currentId);
  const runs = useRuns(store, edit);
  const { data: image, isError, error, refetch } = useImage(versions.currentId);
  const isGone = useIsGone(versions.currentId);
  const { showParent, currentId } = versions;
  useEffect(() => {
    if (isGone) showParent(currentId);
  }, [currentId, isGone, showParent]);
  const selection = useSelections(image, session);
  const hasTools = takesMarks(modes.state.mode);
  /** At a comparison or at candidates, and not at what tools and modes work on. */
  const isLooking = versions.baseId !== null || runs.strip !== null;
  const nameOf = (id: string) =>
    t("version", { number: versions.placed.find(({ imageId }) => imageId === id)?.number ?? 1 });

  // Another read of what is there may fail: the work stays.
  if (image === undefined)
    return isError ? <OpeningFailed error={error} onRetry={() => void refetch()} /> : null;
  const work =
    runs.strip === null ? (
      <ModeStage
        key={image.id}
        image={image}
        session={session}
        selection={selection}
        modes={modes}
        look={store.look}
        originalId={firstId(edit)}
      />
    ) : (
      <Candidates key={runs.strip.jobIds[0]} store={store} run={runs.strip} runs={runs} />
    );
  return (
    <>
      <EditHeader image={image} keeping={keeping} />
      <KeepingBanner store={store} keeping={keeping} />
      {isLooking ? null : <EditKeys session={session} selection={selection} modes={modes} />}
      <div className="flex min-h-0 flex-1 max-wide:flex-col">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          <div className="flex min-h-0 min-w-0 flex-1 max-wide:flex-col-reverse">
            <div
              inert={isLooking || !hasTools}
              className={cx(
                "flex max-wide:*:flex-1 inert:opacity-40",
                (isLooking || !hasTools) && "max-wide:hidden",
              )}
            >
              <ToolColumn session={session} selection={selection} />
            </div>
            {versions.baseId === null ? (
              work
            ) : (
              <CompareStage
                image={image}
                baseId={versions.baseId}
                names={[nameOf(versions.baseId), nameOf(image.id)]}
              />
            )}
          </div>
          <VersionStrip versions={versions} edit={edit} onReopen={runs.reopen} useOf={modes.useOf} />
        </div>
        <div className={cx("contents", isLooking && "max-wide:hidden")}>
          <EditPanel image={image} session={session} selection={selection} modes={modes} run={runs} />
        </div>
      </div>
    </>
  );
}

/** The edit page: stage, tools, panel of actions, and strip of versions. */
export function Editor({ imageId }: { readonly imageId: string }) {
  const t = useTranslations("edit");
  const { store, error, retry } = useOpenEdit(imageId);
  if (error !== null) return <OpeningFailed error={error} onRetry={retry} />;
  return (
    <div className={room}>
      <h1 className="sr-only">{t("title")}</h1>
      {store === null ? null : <EditRoom store={store} />}
    </div>
  );
}
