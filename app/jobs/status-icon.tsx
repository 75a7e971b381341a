import type { JobView } from "@atelier/server/jobs";
import { Ban, CircleAlert, CircleCheck, Clock, LoaderCircle, type LucideIcon } from "lucide-react";
import { cx } from "../ui/cx.ts";

interface Look {
  readonly icon: LucideIcon;
  readonly style: string;
}

const looks: Record<JobView["status"], Look> = {
  pending: { icon: Clock, style: "text-quiet" },
  queued: { icon: Clock, style: "text-quiet" },
  waiting_for_engine: { icon: LoaderCircle, style: "text-info" },
  processing: { icon: LoaderCircle, style: "text-info" },
  completed: { icon: CircleCheck, style: "text-ok" },
  failed: { icon: CircleAlert, style: "text-fail" },
  cancelled: { icon: Ban, style: "text-quiet" },
};

/** Always stands beside the words for the same status. */
export function StatusIcon({ status }: { readonly status: JobView["status"] }) {
  const { icon: Icon, style } = looks[status];
  const spins = status === "processing" || status === "waiting_for_engine";
  return (
    <Icon
      aria-hidden
      className={cx("size-4 shrink-0", style, spins && "animate-spin motion-reduce:animate-none")}
    />
  );
}
