"use client";
import {
  CircleCheck,
  CircleDashed,
  CirclePause,
  CirclePlay,
  CircleX,
  type LucideIcon,
  TriangleAlert,
} from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { ServerFigures } from "@atelier/server/monitoring";
import { api } from "../../client/api.ts";
import { useEngineName } from "../../jobs/text.ts";
import { Button } from "../../ui/button.tsx";
import { useAdminAction } from "../controls.tsx";
import { useSpans, StateChip, type Tone, useAgo } from "../parts.tsx";
import { Cell, wideOnlyCell, Row, Table } from "../table.tsx";

/** Number of needs and models of a server, its last error, and what is missing for the other workflows. */
function ServerNotes({ server }: { readonly server: ServerFigures }) {
  const { needs, missing, tightNeeds, models, lastError } = server;
  const t = useTranslations("admin.servers");
  const lacking = Object.entries(missing);
  return (
    <>
      <span className="block text-quiet" title={needs.join("\n")}>
        {t("canRun", { count: needs.length })}
      </span>
      {lastError === null ? null : <span className="block break-words text-fail">{lastError}</span>}
      {tightNeeds.length === 0 ? null : (
        <span className="block text-quiet" title={tightNeeds.join("\n")}>
          {t("tight", { count: tightNeeds.length })}
        </span>
      )}
      {models.length === 0 ? null : (
        <span className="block text-quiet" title={models.join("\n")}>
          {t("models", { count: models.length })}
        </span>
      )}
      {lacking.length === 0 ? null : (
        <details>
          <summary className="w-fit text-quiet hover:text-ink">
            {t("missing", { count: lacking.length })}
          </summary>
          <ul className="mt-1.5 flex max-w-[68ch] flex-col gap-1">
            {lacking.map(([workflow, what]) => (
              <li key={workflow} className="break-words">
                {workflow}
                <span className="text-quiet">{`: ${what.join(", ")}`}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

const looks: Record<ServerFigures["state"], readonly [LucideIcon, Tone]> = {
  unknown: [CircleDashed, "quiet"],
  healthy: [CircleCheck, "ok"],
  degraded: [TriangleAlert, "warn"],
  down: [CircleX, "fail"],
  draining: [CirclePause, "warn"],
};

function ServerStateChip({ server }: { readonly server: ServerFigures }) {
  const { age } = useSpans();
  const t = useTranslations("admin.servers");
  const state = server.drainRequested && server.state !== "down" ? "draining" : server.state;
  const [icon, tone] = looks[state];
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
      <StateChip icon={icon} tone={tone}>
        {t(`states.${state}`)}
      </StateChip>
      <span className="text-quiet">{t("since", { span: age(server.changedMs) })}</span>
    </span>
  );
}

/** Drains a server, or resumes it. */
function ServerAction({ server: { url, label, drainRequested } }: { readonly server: ServerFigures }) {
  const t = useTranslations("admin.nodes");
  const drain = useAdminAction(() => api.admin.nodes.drainServer.mutate({ url }));
  const resume = useAdminAction(() => api.admin.nodes.resumeServer.mutate({ url }));
  const [name, action, Icon] = drainRequested
    ? ([t("resume"), resume, CirclePlay] as const)
    : ([t("drain"), drain, CirclePause] as const);
  return (
    <Button
      size="small"
      aria-label={drainRequested ? t("resumeNamed", { name: label }) : t("drainNamed", { name: label })}
      disabled={action.isPending}
      onClick={() => action.mutate()}
    >
      <Icon aria-hidden />
      {name}
    </Button>
  );
}

const gibBytes = 1024 ** 3;

/** VRAM in use as text and bar; `CPU` for a server without a graphics card. */
function Memory({ server: { vramTotalBytes, vramFreeBytes, device } }: { readonly server: ServerFigures }) {
  const t = useTranslations("admin.servers");
  if (device === "cpu") return <span className="text-quiet">{t("cpu")}</span>;
  if (vramTotalBytes === null || vramFreeBytes === null) return "–";
  const usedBytes = vramTotalBytes - vramFreeBytes;
  const text = t("vramValue", {
    used: (usedBytes / gibBytes).toFixed(1),
    total: (vramTotalBytes / gibBytes).toFixed(1),
  });
  return (
    <span className="flex flex-col gap-1 md:items-end">
      {text}
      <span aria-hidden className="block h-[3px] w-28 rounded-full bg-line">
        <span
          className="block h-full rounded-full bg-ink"
          style={{ width: `${(usedBytes / vramTotalBytes) * 100}%` }}
        />
      </span>
    </span>
  );
}

/** ComfyUI reports `cuda:0 NVIDIA GeForce RTX 4090 : cudaMallocAsync`; the middle part is the card's name. */
function cardOf(deviceName: string | null): string | undefined {
  return deviceName?.replace(/^\w+:\d+ /, "").replace(/ : \w+$/, "");
}

function ServerRow({ server }: { readonly server: ServerFigures }) {
  const t = useTranslations("admin.servers");
  const engineName = useEngineName();
  const ago = useAgo();
  const device = cardOf(server.deviceName) ?? server.device ?? "–";
  return (
    <Row>
      <Cell label={t("server")} isHead>
        <span className="block font-medium break-all md:min-w-30">{server.label}</span>
        <span className="block text-quiet">{`${engineName(server.engine)} ${server.version ?? ""}`}</span>
        <ServerNotes server={server} />
      </Cell>
      <Cell label={t("state")}>
        <ServerStateChip server={server} />
      </Cell>
      <Cell label={t("device")} className={wideOnlyCell}>
        {device}
      </Cell>
      <Cell label={t("vram")} isNumeric>
        <Memory server={server} />
      </Cell>
      <Cell label={t("queue")} isNumeric>
        {server.queueLength}
      </Cell>
      <Cell label={t("runs")}>
        {server.runningJobId === null ? (
          "–"
        ) : (
          <Link href={`/admin/jobs/${server.runningJobId}`} className="underline underline-offset-4">
            {`…${server.runningJobId.slice(-6)}`}
          </Link>
        )}
      </Cell>
      <Cell label={t("probed")}>{ago(server.probedMs)}</Cell>
      <Cell label="" className="md:text-end">
        <ServerAction server={server} />
      </Cell>
    </Row>
  );
}

/** The servers of a node: state, memory, running job, and what is missing on them. */
export function ServerTable({ servers }: { readonly servers: readonly ServerFigures[] }) {
  const t = useTranslations("admin.servers");
  const nodes = useTranslations("admin.nodes");
  return (
    <div className="mt-6">
      <Table
        caption={nodes("servers")}
        columns={[
          t("server"),
          t("state"),
          t("device"),
          t("vram"),
          t("queue"),
          t("runs"),
          t("probed"),
          t("actions"),
        ]}
        unnamed={7}
        numeric={[3, 4]}
        wideOnly={[2]}
      >
        {servers.map((server) => (
          <ServerRow key={server.url} server={server} />
        ))}
      </Table>
    </div>
  );
}
