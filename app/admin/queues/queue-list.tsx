"use client";
import { LoadFailed } from "../../frame/load-failed.tsx";
import { Loading } from "../parts/loading.tsx";
import { useWindow } from "../parts/window-choice.tsx";
import { useOverview } from "../use-overview.ts";
import { QueueSection } from "./queue-section.tsx";

export function QueueList() {
  const { data, error, refetch } = useOverview(useWindow());
  if (data === undefined)
    return error === null ? <Loading /> : <LoadFailed error={error} onRetry={() => void refetch()} />;
  return (
    <div className="divide-y divide-line border-y border-line">
      {data.queues.map((queue) => (
        <QueueSection key={queue.queue} queue={queue} window={data.window} />
      ))}
    </div>
  );
}
