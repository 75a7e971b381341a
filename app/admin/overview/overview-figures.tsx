"use client";
import { LiveData } from "../live.tsx";
import { useWindow } from "../parts/window-choice.tsx";
import { useOverview } from "../use-overview.ts";
import { AttentionList } from "../overview.tsx";
import { EstimatePanel } from "./estimate-panel.tsx";
import { FailuresPanel } from "./failures-panel.tsx";
import { QueueTable } from "../queue-table.tsx";
import { ThroughputPanel } from "./throughput-panel.tsx";

/** The state of everything on one page: who waits longest comes first. */
export function OverviewFigures() {
  const query = useOverview(useWindow());
  return (
    <LiveData query={query}>
      {(data) => (
        <div className="flex flex-col gap-9">
          <AttentionList items={data.attention} />
          <QueueTable overview={data} />
          <div className="grid gap-x-12 gap-y-9 wide:grid-cols-[minmax(0,2fr)_minmax(0,1fr)_minmax(0,1fr)]">
            <ThroughputPanel overview={data} />
            <FailuresPanel overview={data} />
            <EstimatePanel overview={data} />
          </div>
        </div>
      )}
    </LiveData>
  );
}
