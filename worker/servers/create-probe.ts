import type { Need } from "@atelier/server/engines";
import type { Config } from "@atelier/server/platform";
import type { Workflow } from "@atelier/server/workflows";
import { createComfyuiProbe } from "./probes.ts";
import { createIopaintProbe } from "./probe-iopaint.ts";
import type { ServerEntry } from "./server-entry.ts";
import type { ServerProbe } from "./server-probe.ts";

export interface ProbeSettings {
  readonly timing: Pick<Config["timing"], "probeTimeoutMs" | "objectInfoMs">;
  readonly workflows: () => readonly Workflow[];
  readonly awaited: () => ReadonlySet<Need>;
}

export function createProbe(
  entry: Pick<ServerEntry, "found">,
  { timing, workflows, awaited }: ProbeSettings,
): ServerProbe {
  const server = {
    url: entry.found.url,
    // Read at each request: a list may change the credentials.
    get headers() {
      return entry.found.headers;
    },
  };
  const common = { server, timeoutMs: timing.probeTimeoutMs };
  switch (entry.found.engine) {
    case "comfyui":
      return createComfyuiProbe({ ...common, workflows, awaited, objectInfoMs: timing.objectInfoMs });
    case "iopaint":
      return createIopaintProbe(common);
  }
}
