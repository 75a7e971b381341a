import { isPresentState } from "../nodes/index.ts";
import type { TurnFigures } from "../leases/index.ts";
import type { KeyReport, ProviderReport } from "../providers/index.ts";
import type { NodeFigures } from "./nodes.ts";
import { type Family, type Sample, seconds, textOf } from "./open-metrics.ts";
import type { Overview } from "./overview.ts";

/** What the text is made of. */
export interface Figures {
  readonly overview: Overview;
  readonly nodes: readonly NodeFigures[];
  readonly providers: readonly ProviderReport[];
  /** Of rooms that this one does not know. */
  readonly others: readonly Family[];
}

/** The figures of queues, nodes, providers, duties and other rooms as OpenMetrics text. All are gauges; a family without samples stays. */
export function metricsText({ overview, nodes, providers, others }: Figures): string {
  const families = [
    ...queueFamilies(overview),
    ...windowFamilies(overview),
    ...nodeFamilies(nodes),
    ...providerFamilies(providers),
    ...dutyFamilies(overview.duties),
    ...others,
  ];
  return [...families.flatMap(textOf), "# EOF", ""].join("\n");
}

function queueFamilies({ queues }: Overview): Family[] {
  const each = (value: (queue: Overview["queues"][number]) => number | null): Sample[] =>
    queues.map((queue) => ({ labels: { queue: queue.queue }, value: value(queue) }));
  return [
    {
      name: "atelier_oldest_waiting_seconds",
      unit: "seconds",
      help: "Age of the job that has waited longest.",
      samples: each(({ oldestWaitingMs }) => seconds(oldestWaitingMs ?? 0)),
    },
    { name: "atelier_jobs_waiting", help: "Jobs in line.", samples: each(({ waiting }) => waiting) },
    { name: "atelier_jobs_running", help: "Jobs on a node.", samples: each(({ running }) => running) },
    {
      name: "atelier_jobs_open",
      help: "Jobs in line and on a node: what an autoscaler follows.",
      samples: each(({ waiting, running }) => waiting + running),
    },
    { name: "atelier_slots", help: "Jobs at once of active nodes.", samples: each(({ slots }) => slots) },
    {
      name: "atelier_jobs_completed_last_hour",
      help: "Jobs that were completed in the last hour.",
      samples: each(({ lastHour }) => lastHour.completed),
    },
    {
      name: "atelier_jobs_failed_last_hour",
      help: "Jobs that failed in the last hour.",
      samples: each(({ lastHour }) => lastHour.failed),
    },
  ];
}

function windowFamilies({ queues, failures, estimate, window }: Overview): Family[] {
  const times = (measure: "waitMs" | "runMs") =>
    queues.flatMap((queue) =>
      (["p50", "p95"] as const).map((part) => ({
        labels: { queue: queue.queue, quantile: part === "p50" ? "0.5" : "0.95", window },
        value: seconds(queue.window[measure][part]),
      })),
    );
  return [
    {
      name: "atelier_wait_seconds",
      unit: "seconds",
      help: "Wait of the jobs that ended in the window.",
      samples: times("waitMs"),
    },
    {
      name: "atelier_run_seconds",
      unit: "seconds",
      help: "Run time of the jobs completed in the window.",
      samples: times("runMs"),
    },
    {
      name: "atelier_failures",
      help: "Jobs that failed in the window, by cause.",
      samples: failures.map(({ code, count }) => ({ labels: { code, window }, value: count })),
    },
    {
      name: "atelier_estimate_within_ratio",
      unit: "ratio",
      help: "Part of the started jobs that started within the promised range.",
      samples: [{ labels: { window }, value: estimate.within }],
    },
    {
      name: "atelier_estimate_error_seconds",
      unit: "seconds",
      help: "Median distance of the wait from the middle of the promised range.",
      samples: [{ labels: { window }, value: seconds(estimate.medianErrorMs) }],
    },
  ];
}

/** During a restart the old node, which drains, and the new one have the same name: only the id tells them apart. */
const labelsOf = ({ id, name }: NodeFigures) => ({ node: name, id });

function nodeFamilies(nodes: readonly NodeFigures[]): Family[] {
  const live = nodes.filter(({ state }) => isPresentState(state));
  const each = (value: (node: NodeFigures) => number): Sample[] =>
    live.map((node) => ({ labels: labelsOf(node), value: value(node) }));
  const slots = (value: (queue: NodeFigures["queues"][number]) => number): Sample[] =>
    live.flatMap((node) =>
      node.queues.map((queue) => ({
        labels: { ...labelsOf(node), queue: queue.queue },
        value: value(queue),
      })),
    );
  return [
    {
      name: "atelier_node_active",
      help: "1 while it takes jobs.",
      samples: each(({ state, isAway }) => Number(state === "active" && !isAway)),
    },
    {
      name: "atelier_node_beat_age_seconds",
      unit: "seconds",
      help: "Age of the last beat.",
      samples: each(({ seenMs }) => seenMs / 1_000),
    },
    {
      name: "atelier_node_jobs_processed",
      help: "Jobs it completed since it started.",
      samples: each(({ processed }) => processed),
    },
    {
      name: "atelier_node_jobs_failed",
      help: "Tries that failed on it since it started.",
      samples: each(({ failed }) => failed),
    },
    { name: "atelier_node_slots", help: "Jobs at once.", samples: slots((queue) => queue.slots) },
    { name: "atelier_node_slots_used", help: "Jobs it runs.", samples: slots((queue) => queue.used) },
    ...serverFamilies(live),
  ];
}

function serverFamilies(nodes: readonly NodeFigures[]): Family[] {
  const each = (value: (server: NodeFigures["servers"][number]) => number | null): Sample[] =>
    nodes.flatMap((node) =>
      node.servers.map((server) => ({
        labels: { ...labelsOf(node), server: server.label },
        value: value(server),
      })),
    );
  return [
    {
      name: "atelier_server_healthy",
      help: "1 while it can be given jobs.",
      samples: each(({ state }) => Number(state === "healthy")),
    },
    {
      name: "atelier_server_vram_free_bytes",
      unit: "bytes",
      help: "Free memory of its graphics card.",
      samples: each(({ vramFreeBytes }) => vramFreeBytes),
    },
    {
      name: "atelier_server_queue_length",
      help: "Jobs in its own queue.",
      samples: each(({ queueLength }) => queueLength),
    },
  ];
}

function dutyFamilies(duties: readonly TurnFigures[]): Family[] {
  const each = (value: (duty: TurnFigures) => number | null): Sample[] =>
    duties.map((duty) => ({ labels: { duty: duty.name }, value: value(duty) }));
  return [
    {
      name: "atelier_duty_failures_in_a_row",
      help: "Times that recurring work failed since it last succeeded.",
      samples: each(({ failures }) => failures),
    },
    {
      name: "atelier_duty_age_seconds",
      unit: "seconds",
      help: "Time since recurring work last succeeded.",
      samples: each(({ doneAgeMs }) => seconds(doneAgeMs)),
    },
    {
      name: "atelier_duty_took_seconds",
      unit: "seconds",
      help: "How long recurring work took the last time.",
      samples: each(({ tookMs }) => seconds(tookMs)),
    },
  ];
}

function providerFamilies(providers: readonly ProviderReport[]): Family[] {
  const each = (value: (provider: ProviderReport) => number): Sample[] =>
    providers
      .filter(({ hasKey, monthUsd }) => hasKey || monthUsd > 0)
      .map((provider) => ({ labels: { provider: provider.provider }, value: value(provider) }));
  const eachKey = (value: (key: KeyReport) => number): Sample[] =>
    providers
      .filter(({ hasKey }) => hasKey)
      .flatMap(({ provider, keyReports }) =>
        keyReports.map((key) => ({ labels: { provider, key: key.keyId }, value: value(key) })),
      );
  return [
    {
      name: "atelier_provider_runs",
      help: "Runs that a provider has, or may have.",
      samples: each(({ active }) => active),
    },
    {
      name: "atelier_provider_requests_last_minute",
      help: "Requests to a provider in the last minute.",
      samples: each(({ inLastMinute }) => inLastMinute),
    },
    {
      name: "atelier_provider_cooldown_seconds",
      unit: "seconds",
      help: "What is left of the pause of a provider after failures; 0 while one of its keys works.",
      samples: each(({ cooldownLeftMs }) => cooldownLeftMs / 1_000),
    },
    {
      name: "atelier_provider_key_cooldown_seconds",
      unit: "seconds",
      help: "What is left of the pause of one key of a provider.",
      samples: eachKey(({ cooldownLeftMs }) => cooldownLeftMs / 1_000),
    },
    {
      name: "atelier_provider_key_errors_in_a_row",
      help: "Failures of one key of a provider since its last success.",
      samples: eachKey(({ streak }) => streak),
    },
    {
      name: "atelier_provider_spend_today_usd",
      help: "US dollars spent or held since midnight UTC.",
      samples: each(({ dayUsd }) => dayUsd),
    },
    {
      name: "atelier_provider_spend_month_usd",
      help: "US dollars spent or held since the first of the month UTC.",
      samples: each(({ monthUsd }) => monthUsd),
    },
  ];
}
