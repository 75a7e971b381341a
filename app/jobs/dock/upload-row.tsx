"use client";
import { CircleAlert, RotateCcw, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useFailureText } from "../../data/use-failure-text.ts";
import { IconButton } from "../../ui/icon-button.tsx";
import { Progress } from "../../ui/progress.tsx";
import { dropUpload, retryUpload, type Upload } from "../../uploads/store.ts";

/** One file on its way up, with cancel, or with the reason why it did not get there. */
export function UploadRow({ upload }: { readonly upload: Upload }) {
  const t = useTranslations("uploads");
  const textOf = useFailureText();
  const failure = upload.failure === null ? null : textOf(upload.failure);
  const name = upload.file.name;
  return (
    <li className="flex items-center gap-3 px-3 py-2">
      {failure === null ? (
        <img
          src={upload.previewUrl}
          alt=""
          className="size-10 shrink-0 rounded-control bg-well object-cover"
        />
      ) : (
        <span className="flex size-10 shrink-0 items-center justify-center rounded-control bg-well">
          <CircleAlert className="size-4 text-fail" aria-hidden />
        </span>
      )}
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className="truncate text-xs font-medium">{name}</p>
        {failure === null ? (
          <Progress value={upload.progress} label={t("progressOf", { name })} />
        ) : (
          <p className="text-xs text-fail">{`${failure.title}. ${failure.advice}`}</p>
        )}
      </div>
      {upload.state === "failed" && !upload.failure?.code.startsWith("upload_") ? (
        <IconButton label={t("retryNamed", { name })} onClick={() => retryUpload(upload.id)}>
          <RotateCcw aria-hidden />
        </IconButton>
      ) : null}
      <IconButton
        label={t(upload.state === "failed" ? "dismissNamed" : "cancelNamed", { name })}
        onClick={() => dropUpload(upload.id)}
      >
        <X aria-hidden />
      </IconButton>
    </li>
  );
}
