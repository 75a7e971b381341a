"use client";
import { CircleAlert, ImageIcon, RotateCcw, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { hasOwnAdvice, useFailureText } from "../ui/failures.ts";
import { Button, cx, IconButton } from "../ui/button.tsx";
import { Progress } from "../ui/progress.tsx";
import { canScaleDown, dropUploads, retryUploads, type Upload, useUploadTotal } from "./store.ts";

const mayRetry = ({ failure }: Upload) => failure?.code.startsWith("upload_") !== true;

/** A running upload with Cancel, or the reason for its failure. */
function UploadRow({ upload }: { readonly upload: Upload }) {
  const t = useTranslations("uploads");
  const textOf = useFailureText();
  const failure = upload.failure === null ? null : textOf(upload.failure);
  const { name } = upload.file;
  return (
    <li className="flex items-center gap-3 px-3 py-2">
      {failure === null ? <Preview url={upload.previewUrl} /> : <FailureMark />}
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className="truncate text-xs font-medium">{name}</p>
        {failure === null ? (
          <Progress value={upload.progress} label={t("progressOf", { name })} />
        ) : (
          <p className="text-xs text-fail">{`${failure.title}. ${failure.advice}`}</p>
        )}
        {upload.state === "failed" && canScaleDown(upload) ? (
          <Button
            size="small"
            look="quiet"
            className="-ms-2.5 self-start"
            aria-label={t("scaleDownNamed", { name })}
            onClick={() => retryUploads([upload.id], { scalesDown: true })}
          >
            {t("scaleDown")}
          </Button>
        ) : null}
      </div>
      {upload.state === "failed" && !canScaleDown(upload) && mayRetry(upload) ? (
        <IconButton label={t("retryNamed", { name })} onClick={() => retryUploads([upload.id])}>
          <RotateCcw aria-hidden />
        </IconButton>
      ) : null}
      <IconButton
        label={t(upload.state === "failed" ? "dismissNamed" : "cancelNamed", { name })}
        onClick={() => dropUploads([upload.id])}
      >
        <X aria-hidden />
      </IconButton>
    </li>
  );
}

/** Few browsers show HEIC or TIFF: those get a sign of a picture instead. */
function Preview({ url }: { readonly url: string }) {
  const [isReadable, setReadable] = useState(true);
  const look = "size-10 shrink-0 rounded-control bg-well";
  return isReadable ? (
    <img src={url} alt="" className={cx(look, "object-cover")} onError={() => setReadable(false)} />
  ) : (
    <span className={cx(look, "flex items-center justify-center")}>
      <ImageIcon className="size-4 text-quiet" aria-hidden />
    </span>
  );
}

function FailureMark() {
  return (
    <span className="flex size-10 shrink-0 items-center justify-center rounded-control bg-well">
      <CircleAlert className="size-4 text-fail" aria-hidden />
    </span>
  );
}

/** Failures that are told by the same sentence. */
const reasonOf = ({ failure }: Upload) =>
  failure !== null && hasOwnAdvice(failure) ? failure.message : failure?.code;

const idsOf = (uploads: readonly Upload[]) => uploads.map(({ id }) => id);
const namesShown = 3;

/** Many files that failed for one reason: said once, with what can be done for all of them. */
function FailedGroup({ uploads }: { readonly uploads: readonly Upload[] }) {
  const t = useTranslations("uploads");
  const textOf = useFailureText();
  const [first] = uploads;
  if (!first?.failure) return null;
  const { title, advice } = textOf(first.failure);
  const names = uploads.slice(0, namesShown).map(({ file }) => file.name);
  const scalable = uploads.filter(canScaleDown);
  return (
    <li className="flex items-start gap-3 px-3 py-2">
      <FailureMark />
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className="text-xs font-medium">{t("failedMany", { count: uploads.length })}</p>
        <p className="text-xs text-fail">{`${title}. ${advice}`}</p>
        <p className="truncate text-xs text-quiet">{`${names.join(", ")}, …`}</p>
        <div className="-ms-2.5 flex flex-wrap gap-1">
          {scalable.length > 0 ? (
            <Button
              size="small"
              look="quiet"
              onClick={() => retryUploads(idsOf(scalable), { scalesDown: true })}
            >
              {t("scaleDownAll")}
            </Button>
          ) : mayRetry(first) ? (
            <Button size="small" look="quiet" onClick={() => retryUploads(idsOf(uploads))}>
              {t("retryAll")}
            </Button>
          ) : null}
          <Button size="small" look="quiet" onClick={() => dropUploads(idsOf(uploads))}>
            {t("dismissAll")}
          </Button>
        </div>
      </div>
    </li>
  );
}

/** Fewer than this many that failed for one reason are rows of their own. */
const groupFrom = 4;
/** Of more than this many that wait only the number is shown: on a phone the tray would hide the page. */
const waitingShown = 3;

/** How far a large number of files is, and those that wait given up at once. */
function Rest({ waiting, sending }: Readonly<Record<"waiting" | "sending", readonly Upload[]>>) {
  const t = useTranslations("uploads");
  const total = useUploadTotal();
  const handled = total - waiting.length - sending.length;
  const text = t("handledOf", { handled, total });
  return (
    <li className="flex flex-col gap-1 px-3 py-1">
      <div className="flex items-center justify-between gap-3 text-xs text-quiet">
        <span className="tabular">{text}</span>
        <Button size="small" look="quiet" onClick={() => dropUploads(idsOf(waiting))}>
          {t("cancelWaiting")}
        </Button>
      </div>
      <Progress value={total === 0 ? 0 : handled / total} label={text} />
    </li>
  );
}

/** The uploads of the tray: those that run, those that failed by their reasons, and how many wait. */
export function UploadRows({ uploads }: { readonly uploads: readonly Upload[] }) {
  const t = useTranslations("uploads");
  const of = (state: Upload["state"]) => uploads.filter((upload) => upload.state === state);
  const failed = Map.groupBy(of("failed"), reasonOf);
  const waiting = of("waiting");
  const sending = of("sending");
  const isCounted = waiting.length > waitingShown;
  return (
    <>
      {[...sending, ...of("done"), ...(isCounted ? [] : waiting)].map((upload) => (
        <UploadRow key={upload.id} upload={upload} />
      ))}
      {sending.length === 0 && waiting.length > 0 ? (
        <li className="px-3 py-1 text-xs text-quiet">{t("paused")}</li>
      ) : null}
      {isCounted ? <Rest waiting={waiting} sending={sending} /> : null}
      {[...failed].map(([reason, group]) =>
        group.length < groupFrom ? (
          group.map((upload) => <UploadRow key={upload.id} upload={upload} />)
        ) : (
          <FailedGroup key={reason} uploads={group} />
        ),
      )}
    </>
  );
}
