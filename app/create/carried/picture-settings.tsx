"use client";
import { FileImage } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { useWorkflows } from "../../client/cloud.ts";
import { createForm } from "../form.ts";
import { useListed } from "../listed.tsx";
import { usePresets } from "../library.tsx";
import { useFillForm } from "../requests.ts";
import { useFilePicker, useFileTarget, useUploadBatch } from "../../uploads/drop.tsx";
import { Button } from "../../ui/button.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Dialog } from "../../ui/overlays.tsx";
import { toastDone, toastFailure } from "../../ui/toasts.tsx";
import { fillingOf, type Lack } from "./fill.ts";
import type { FoundSettings } from "@atelier/server/carried";
import { closeSettings, settingsIn, showSettings, useShownSettings } from "../../carried/shown.ts";

function useLackText(title: string | null) {
  const t = useTranslations("carried");
  const workflow = title ?? t("noWorkflow");
  return (lack: Lack): string => {
    switch (lack.what) {
      case "model":
      case "workflow":
        return t(`lacks.${lack.what}`, { name: lack.name, workflow });
      case "loras":
      case "styles":
      case "others":
        return t(`lacks.${lack.what}`, {
          count: lack.names.length,
          names: lack.names.join(", "),
          workflow,
        });
      case "seed":
        return t("lacks.seed");
      case "negativePrompt":
        return t("lacks.negativePrompt", { workflow });
      case "prompt":
        return t("lacks.prompt", { characters: lack.characters });
      case "untaken":
        return t("lacks.untaken", { setting: t(`names.${lack.setting}`), workflow });
      case "unlisted":
        return t("lacks.unlisted", { setting: t(`names.${lack.setting}`), name: lack.name });
      case "moved":
        return t("lacks.moved", { setting: t(`names.${lack.setting}`), from: lack.from, to: lack.to });
    }
  };
}

/** The settings in words; what the file does not say is left out. */
function useFacts({ source, ...found }: FoundSettings): readonly Fact[] {
  const t = useTranslations("carried");
  const { widthPx, heightPx, choice } = found;
  const facts: readonly (readonly [string, string | number | null])[] = [
    [t("from"), t(`sources.${source}`)],
    [t("names.negativePrompt"), found.negativePrompt === "" ? null : found.negativePrompt],
    [t("names.model"), found.model ?? choice?.workflow ?? choice?.model ?? null],
    [t("names.size"), widthPx === null || heightPx === null ? null : `${widthPx} × ${heightPx}`],
    [t("names.sampler"), found.sampler],
    [t("names.scheduler"), found.scheduler],
    [t("names.steps"), found.steps],
    [t("names.guidance"), found.guidance],
    [t("names.styles"), found.styles.length === 0 ? null : found.styles.join(", ")],
    [t("names.seed"), Number.isSafeInteger(found.seed) ? found.seed : null],
    [
      t("names.loras"),
      found.loras.length === 0
        ? null
        : found.loras.map(({ name, weight }) => (weight === null ? name : `${name} (${weight})`)).join(", "),
    ],
  ];
  return facts.flatMap(([name, value]): readonly Fact[] => (value === null ? [] : [[name, String(value)]]));
}

/** What the form would get; `isRead` once it is known what servers list. */
function useFilling(found: FoundSettings) {
  const offered = useWorkflows("text_to_image");
  const styles = usePresets("style").map(({ name }) => name);
  const here = { workflows: offered ?? [], chosenName: createForm.get().workflow, styles };
  // A workflow that takes any checkpoint may have the model; what servers list follows from the one that is used.
  const taking = offered?.find(({ params }) => params.checkpoint !== undefined)?.name ?? null;
  const asked = found.model === null ? null : taking;
  const ofTaking = { [taking ?? ""]: useListed(asked) };
  const used = fillingOf(found, { ...here, listed: ofTaking }).job.workflow;
  const listed = { ...ofTaking, [used ?? ""]: useListed(used) };
  // Before, what servers have would be told as lacking, and left out.
  const isRead = offered !== undefined && [asked, used].every((name) => !name || listed[name] !== undefined);
  return { ...fillingOf(found, { ...here, listed }), offered, isRead };
}

interface PanelProps {
  readonly found: FoundSettings;
  readonly onUsed: () => void;
  /** Null for a file that was chosen for its settings alone. */
  readonly onKeep: (() => void) | null;
}

function Panel({ found, onUsed, onKeep }: PanelProps) {
  const t = useTranslations("carried");
  const { job, title, lacks, offered, isRead } = useFilling(found);
  const fill = useFillForm(offered);
  const facts = useFacts(found);
  const lackText = useLackText(title);
  return (
    <div className="flex flex-col gap-4">
      {found.prompt === "" ? null : (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
        <p tabIndex={0} className="max-h-40 overflow-y-auto text-sm break-words whitespace-pre-wrap">
          {found.prompt}
        </p>
      )}
      <Facts rows={facts} />
      {!isRead || lacks.length === 0 ? null : (
        <section aria-label={t("differs")}>
          <h3 className="mb-1 text-xs font-medium">{t("differs")}</h3>
          <ul className="flex list-disc flex-col gap-1 ps-4 text-xs break-words text-quiet">
            {lacks.map((lack) => (
              <li key={lackText(lack)}>{lackText(lack)}</li>
            ))}
          </ul>
        </section>
      )}
      <div className="flex flex-wrap justify-end gap-2">
        {onKeep === null ? null : <Button onClick={onKeep}>{t("keep")}</Button>}
        <Button
          look="primary"
          disabled={!isRead}
          onClick={() => {
            fill(job);
            onUsed();
          }}
        >
          {t("use")}
        </Button>
      </div>
    </div>
  );
}

/** "Settings of a picture…" of Create: reads what a picture that is chosen or dropped says of how it was made. */
export function PictureSettings() {
  const t = useTranslations("carried");
  const upload = useUploadBatch();
  const shown = useShownSettings();
  const look = useCallback(
    async (file: File, isDropped: boolean) => {
      const found = await settingsIn(file).catch(() => "unreadable" as const);
      if (found === "unreadable") toastFailure(t("unreadable"));
      else if (found !== null) showSettings(found, isDropped ? file : null);
      else {
        toastDone(t(isDropped ? "noneKept" : "none"));
        if (isDropped) upload([file]);
      }
    },
    [t, upload],
  );
  const take = useCallback(
    (files: File[]) => {
      const [file, ...others] = files;
      if (file !== undefined && others.length === 0) void look(file, true);
      else upload(files);
    },
    [look, upload],
  );
  useFileTarget(take);
  const pick = useFilePicker(([file]) => {
    if (file !== undefined) void look(file, false);
  });
  const dropped = shown?.dropped ?? null;
  const keep = () => {
    if (dropped !== null) upload([dropped]);
    closeSettings();
  };
  return (
    <>
      <Button size="small" onClick={() => pick()}>
        <FileImage aria-hidden />
        {t("choose")}
      </Button>
      <Dialog open={shown?.isOpen ?? false} onOpenChange={closeSettings} title={t("title")}>
        {shown === null ? null : (
          <Panel found={shown.found} onUsed={closeSettings} onKeep={dropped === null ? null : keep} />
        )}
      </Dialog>
    </>
  );
}
