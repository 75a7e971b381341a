"use client";
import { useEffect } from "react";
import { useFailureToast } from "../ui/failures.ts";
import { useLiveJobs } from "../live/hooks.tsx";
import { later } from "../ui/later.tsx";
import { type Upload, useUploads } from "../uploads/store.ts";
import type { PillProps } from "./tray.tsx";

const Tray = later(async () => (await import("./tray.tsx")).Tray);
const PillButton = later(async () => (await import("./tray.tsx")).PillButton);

/** In the frame's side: what runs and what is sent, once there is something. Opens the tray. */
export function JobsPill(props: PillProps) {
  const showFailure = useFailureToast();
  const count = useLiveJobs().length + useUploads().length;
  if (count === 0 && !props.isOpen) return null;
  const className =
    "mb-2 flex min-h-9 w-full items-center gap-3 rounded-control border border-line bg-surface px-2 text-xs font-medium transition-colors duration-120 hover:bg-hover aria-expanded:bg-hover [&_svg]:size-[18px] [&_svg]:shrink-0";
  return <PillButton isWanted onFailure={showFailure} props={{ ...props, className }} />;
}

/** Over the tabs of a phone, which count the jobs themselves: a row of its own for uploads. All that stands on the tabs moves up. */
export function UploadsRow(props: PillProps) {
  const showFailure = useFailureToast();
  if (useUploads().length === 0) return null;
  const className =
    "mx-auto flex h-10 w-full max-w-[480px] items-center justify-center gap-2 px-4 text-xs font-medium [&_svg]:size-4 [&_svg]:shrink-0";
  return (
    <div data-jobs-row className="border-b border-line">
      <PillButton isWanted onFailure={showFailure} props={{ ...props, className }}>
        <div className="h-10" />
      </PillButton>
    </div>
  );
}

/** The browser asks before the page is left while files wait or are sent. */
function useLeaveWarning(uploads: readonly Upload[]): void {
  const isBusy = uploads.some(({ state }) => state === "waiting" || state === "sending");
  useEffect(() => {
    if (!isBusy) return;
    const leaving = new AbortController();
    window.addEventListener("beforeunload", (event) => event.preventDefault(), { signal: leaving.signal });
    return () => leaving.abort();
  }, [isBusy]);
}

/** The tray of jobs and uploads, which opens beside the frame's side or over the tabs. */
export function JobsTray({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const showFailure = useFailureToast();
  useLeaveWarning(useUploads());
  return (
    <Tray
      isWanted={isOpen}
      isShown={isOpen}
      onFailure={(error) => {
        onClose();
        showFailure(error);
      }}
      props={{ onClose }}
    />
  );
}
