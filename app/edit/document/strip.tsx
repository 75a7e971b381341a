"use client";
import { useQuery } from "@tanstack/react-query";
import { Columns2, CornerDownRight, ImageOff, Info, Layers } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useImage, useIsGone } from "../../client/queries.ts";
import { makingQuery } from "../../client/source.ts";
import { imageUrl } from "../../client/urls.ts";
import { Button, cx, IconButton } from "../../ui/button.tsx";
import { useFailureToast } from "../../ui/failures.ts";
import { later } from "../../ui/later.tsx";
import type { OpenEdit } from "./state.ts";
import type { PlacedVersion, Versions } from "./versions.ts";

interface VersionButtonProps {
  readonly version: PlacedVersion;
  readonly versions: Versions;
}

function VersionButton({ version, versions }: VersionButtonProps) {
  const t = useTranslations("edit");
  const { currentId, baseId, choose } = versions;
  const { imageId, number, branchOf, isOnPath } = version;
  const name = t("version", { number });
  // Deleted in the gallery: its place in the tree stays.
  const [hasFailed, setFailed] = useState(false);
  const isGone = useIsGone(hasFailed ? imageId : null);
  return (
    <>
      {branchOf === null ? null : (
        <span aria-hidden className="tabular flex items-center gap-0.5 pe-1 ps-2 text-[11px] text-quiet">
          {branchOf}
          <CornerDownRight className="size-3.5" />
        </span>
      )}
      <button
        type="button"
        aria-label={branchOf === null ? name : t("versionOf", { number, of: branchOf })}
        aria-current={imageId === currentId ? "true" : undefined}
        aria-pressed={baseId === null ? undefined : imageId === baseId}
        disabled={isGone}
        onClick={() => choose(imageId)}
        className={cx(
          "relative block size-13 shrink-0 overflow-hidden rounded-control ring-1 ring-line transition duration-120 hover:opacity-100 hover:ring-ink aria-[current=true]:ring-2 aria-[current=true]:ring-accent aria-pressed:ring-2 aria-pressed:ring-ink",
          isOnPath || imageId === baseId ? "" : "opacity-60",
        )}
      >
        {isGone ? (
          <ImageOff aria-label={t("versionGone")} className="m-auto size-5 text-quiet" />
        ) : (
          <img
            src={imageUrl(imageId, "thumbnail")}
            alt=""
            onError={() => setFailed(true)}
            className="size-full object-cover"
          />
        )}
        <span
          aria-hidden
          className="tabular absolute inset-e-0.5 bottom-0.5 rounded-[3px] bg-black/65 px-1 text-[11px] leading-4 text-white"
        >
          {number}
        </span>
      </button>
    </>
  );
}

const VersionSettings = later(async () => (await import("./version-settings.tsx")).VersionSettings);

interface SettingsButtonProps {
  readonly imageId: string;
  readonly useOf: (job: JobView) => (() => void) | null;
}

/** Shows with what the version on the stage was made; nothing for an upload, and for a job that is no more. */
function SettingsButton({ imageId, useOf }: SettingsButtonProps) {
  const t = useTranslations("edit.run");
  const showFailure = useFailureToast();
  const [isOpen, setOpen] = useState(false);
  const { data: image } = useImage(imageId);
  const { data: job } = useQuery(makingQuery({ jobId: image?.jobId ?? null }));
  if (job === undefined) return null;
  return (
    <>
      <IconButton label={t("ofVersion")} side="top" onClick={() => setOpen(true)}>
        <Info aria-hidden />
      </IconButton>
      <VersionSettings
        isWanted={isOpen}
        onFailure={showFailure}
        props={{ job, isOpen, onClose: () => setOpen(false), onUse: useOf(job) }}
      />
    </>
  );
}

interface VersionStripProps {
  readonly versions: Versions;
  readonly edit: OpenEdit;
  /** Shows the candidates of a run again, named by its first job. */
  readonly onReopen: (jobId: string) => void;
  /** Sets the mode to what a job ran with; null where there is no such mode. */
  readonly useOf: SettingsButtonProps["useOf"];
}

/** The tree of versions, and "Compare". */
export function VersionStrip({ versions, edit, onReopen, useOf }: VersionStripProps) {
  const t = useTranslations("edit");
  const { placed, currentId, baseId, toggleCompare } = versions;
  const taken = edit.runs.findLast(
    ({ acceptedId, keptIds, jobIds }) =>
      jobIds.length > 1 && (acceptedId === currentId || keptIds.includes(currentId)),
  );
  const [takenJobId] = taken?.jobIds ?? [];
  if (placed.length < 2) return null;
  return (
    <div className="flex h-[76px] shrink-0 items-center gap-3 border-t border-line px-3">
      <ol aria-label={t("versions")} className="no-scrollbar flex min-w-0 flex-1 gap-2 overflow-x-auto p-1">
        {placed.map((version) => (
          <li key={version.imageId} className="flex shrink-0 items-center">
            <VersionButton version={version} versions={versions} />
          </li>
        ))}
      </ol>
      {baseId === null ? null : <p className="hidden text-xs text-quiet sm:block">{t("compareHint")}</p>}
      {baseId === null ? <SettingsButton key={currentId} imageId={currentId} useOf={useOf} /> : null}
      {takenJobId === undefined || baseId !== null ? null : (
        <IconButton
          label={t("candidatesAgain", { count: taken?.jobIds.length ?? 0 })}
          side="top"
          onClick={() => onReopen(takenJobId)}
        >
          <Layers aria-hidden />
        </IconButton>
      )}
      <Button size="small" aria-pressed={baseId !== null} onClick={toggleCompare}>
        <Columns2 aria-hidden />
        <span className="max-sm:sr-only">{t(baseId === null ? "compare" : "stopComparing")}</span>
      </Button>
    </div>
  );
}
