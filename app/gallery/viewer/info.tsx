"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CalendarClock } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { type KeyboardEvent, useEffect, useEffectEvent, useMemo, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { useFailureToast } from "../../ui/failures.ts";
import { keys } from "../../client/queries.ts";
import { keptApi } from "../../client/removal.ts";
import { useSourceImage } from "../../client/source.ts";
import { keepImage } from "../../pictures/actions.tsx";
import { settingsDownloadUrl } from "../../client/urls.ts";
import { DowngradeNote } from "../../jobs/parts.tsx";
import { JobParams } from "../../jobs/placement.tsx";
import { useEngineName, useSayTime } from "../../jobs/text.ts";
import { shownKind } from "../../client/kinds.ts";
import { Stars } from "../../pictures/stars.tsx";
import { TagEditor } from "../../pictures/tag-editor.tsx";
import { Area } from "../../ui/area.tsx";
import { Button } from "../../ui/button.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Field } from "../../ui/fields.tsx";
import { later } from "../../ui/later.tsx";
import { isOfInputMethod } from "../../ui/typed.ts";

const DateDialog = later(async () => (await import("../../pictures/date-dialog.tsx")).DateDialog);

/** The server cuts longer ones. */
const [titleCharacters, descriptionCharacters] = [120, 2_000];

/**
 * Words of a picture that are being changed, and are saved when their field is left, also with the page or for another picture:
 * only what was typed, since others change them, too.
 */
function useWords(saved: string, change: (text: string) => Promise<ImageView>) {
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [typed, setTyped] = useState<string | null>(null);
  const saving = useMutation({
    mutationFn: change,
    onSuccess: async (changed, sent) => {
      await keepImage(queries, changed);
      setTyped((now) => (now?.trim() === sent ? null : now));
      await queries.invalidateQueries({ queryKey: keys.imageLists });
    },
    onError,
  });
  const save = () => {
    if (typed === null) return;
    const text = typed.trim();
    if (text === saved) setTyped(null);
    else if (!saving.isPending || saving.variables !== text) saving.mutate(text);
  };
  const saveLast = useEffectEvent(save);
  // A field that is removed is not left: it hears no blur.
  useEffect(() => {
    const leaving = new AbortController();
    window.addEventListener("pagehide", () => saveLast(), { signal: leaving.signal });
    return () => {
      leaving.abort();
      saveLast();
    };
  }, []);
  return { text: typed ?? saved, setText: setTyped, save };
}

/** A key that leaves the field does nothing else: Escape would close the viewer, and what was written would be lost. */
function leaveBy(keyNames: readonly string[], event: KeyboardEvent<HTMLElement>): void {
  if (!keyNames.includes(event.key) || isOfInputMethod(event.nativeEvent)) return;
  event.stopPropagation();
  event.currentTarget.blur();
}

function DescriptionField({ image: { id, description } }: { readonly image: ImageView }) {
  const t = useTranslations("viewer");
  const { text, setText, save } = useWords(description, (next) =>
    keptApi.images.describe.mutate({ id, description: next }),
  );
  return (
    <Area
      name="description"
      label={t("descriptionLabel")}
      placeholder={t("descriptionHint")}
      maxLength={descriptionCharacters}
      rows={2}
      value={text}
      onChange={setText}
      onBlur={save}
      onKeyDown={(event) => leaveBy(["Escape"], event)}
      className="field-sizing-content max-h-[30dvh]"
    />
  );
}

function TitleField({ image }: { readonly image: ImageView }) {
  const t = useTranslations("viewer");
  const { text, setText, save } = useWords(image.title, (title) =>
    keptApi.images.rename.mutate({ id: image.id, title }),
  );
  return (
    <Field
      name="title"
      label={t("titleLabel")}
      placeholder={t("titleHint")}
      maxLength={titleCharacters}
      value={text}
      onValueChange={setText}
      onBlur={save}
      onKeyDown={(event) => leaveBy(["Enter", "Escape"], event)}
    />
  );
}

function useRows(image: ImageView) {
  const t = useTranslations("viewer");
  const jobs = useTranslations("jobs");
  const format = useFormatter();
  const engineName = useEngineName();
  const say = useSayTime();
  const { job } = useSourceImage(image);
  const moment = (iso: string) => format.dateTime(new Date(iso), { dateStyle: "medium", timeStyle: "short" });
  const rows: Fact[] = [
    [t("facts.size"), t("facts.pixels", { width: image.widthPx, height: image.heightPx })],
    [
      t("facts.file"),
      `${image.mime.replace("image/", "").toUpperCase()}, ${format.number(image.sizeBytes / 1_048_576, { maximumFractionDigits: 1 })} MB`,
    ],
  ];
  if (image.addedAt !== image.createdAt) rows.push([t("facts.taken"), moment(image.createdAt)]);
  rows.push([t(image.kind === null ? "facts.added" : "facts.made"), moment(image.addedAt)]);
  if (job === undefined) return rows;
  rows.push([t("facts.kind"), jobs(`kinds.${shownKind(job)}`)], [t("facts.engine"), engineName(job.engine)]);
  if (job.node !== null) rows.push([t("facts.node"), job.node]);
  if (job.server !== null) rows.push([t("facts.server"), job.server]);
  if (job.startedAt !== null && job.endedAt !== null) {
    const seconds = (Date.parse(job.endedAt) - Date.parse(job.startedAt)) / 1_000;
    rows.push([t("facts.time"), say(seconds, "seconds", 1)]);
  }
  return rows;
}

function ChangeDate({ images }: { readonly images: readonly ImageView[] }) {
  const t = useTranslations("pictures.date");
  const [isOpen, setOpen] = useState(false);
  const showFailure = useFailureToast();
  return (
    <>
      <Button look="quiet" size="small" className="-ms-2.5 self-start" onClick={() => setOpen(true)}>
        <CalendarClock aria-hidden />
        {t("change")}
      </Button>
      <DateDialog
        isWanted={isOpen}
        isShown={isOpen}
        onFailure={(error) => {
          setOpen(false);
          showFailure(error);
        }}
        props={{ images, open: isOpen, onOpenChange: setOpen }}
      />
    </>
  );
}

/** Facts about a picture and about the job that made it. */
export function ViewerInfo({ image }: { readonly image: ImageView }) {
  const t = useTranslations("viewer");
  const rows = useRows(image);
  const images = useMemo(() => [image], [image]);
  const { job } = useSourceImage(image);
  return (
    <aside
      aria-label={t("info")}
      className="max-h-[45dvh] w-full shrink-0 overflow-y-auto border-line p-5 max-wide:border-t wide:max-h-none wide:w-[300px] wide:border-s"
    >
      <TitleField image={image} />
      <div className="mt-3 flex flex-col gap-2">
        <DescriptionField image={image} />
        <Stars images={images} />
        <TagEditor images={images} />
      </div>
      <div className="mt-5">
        <Facts rows={rows} />
        <ChangeDate images={images} />
      </div>
      {job === undefined ? null : (
        <div className="mt-3 flex flex-col">
          <DowngradeNote job={job} />
          <JobParams job={job} />
        </div>
      )}
      {image.jobId === null ? null : (
        <p className="mt-4 flex flex-col items-start gap-2 text-xs pointer-coarse:gap-6.5">
          <Link href={`/jobs/${image.jobId}`} className="touch underline underline-offset-4">
            {t("story")}
          </Link>
          <a
            href={settingsDownloadUrl(image.id)}
            download
            title={t("withSettingsHint")}
            className="touch underline underline-offset-4"
          >
            {t("withSettings")}
          </a>
        </p>
      )}
    </aside>
  );
}
