"use client";
import { LiveData } from "../live.tsx";
import { useWindow } from "../parts/window-choice.tsx";
import { useOverview } from "../use-overview.ts";
import { QueueSection } from "./queues.tsx";

export function QueueList() {
  const query = useOverview(useWindow());
  return (
    <LiveData query={query}>
      {(data) => (
        <div className="divide-y divide-line border-y border-line">
          {data.queues.map((queue) => (
            <QueueSection key={queue.queue} queue={queue} window={data.window} />
          ))}
        </div>
      )}
    </LiveData>
  );
}
